"""Two ways to find a faulty part, with numbers: one suspect among right parts, and one right part among suspects."""

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import pairwise

from course_lib.diagrams import Arrow, Diagram, Group, Part, arrow, box, column, text

NAMES = ("+ 1", "× 2", "square")
RIGHT = (lambda number: number + 1, lambda number: 2 * number, lambda number: number**2)
SUSPECTS = (RIGHT[0], lambda number: 3 * number, RIGHT[2])
FAULTY, START = 1, 2  # which of the suspects is faulty; the number that goes in


def insertion() -> Diagram:
    """Draw Chapter 15: three models, each with one suspect among right parts.

    >>> insertion().description.split(" give ")[1]
    '36, 81, 36. One result is wrong, that of the model with suspect part 2.'
    """
    return _three_models(
        "Insertion",
        "one suspect among right parts",
        suspects_alone=True,
        said="One result is wrong, that of the model with suspect part 2.",
    )


def exchange() -> Diagram:
    """Draw Chapter 15: three models, each with one right part among suspects.

    >>> exchange().description.split(" give ")[1]
    '81, 36, 81. One result is right, that of the model in which part 2 was right.'
    """
    return _three_models(
        "Exchange",
        "one right part among suspects",
        suspects_alone=False,
        said="One result is right, that of the model in which part 2 was right.",
    )


def _three_models(name: str, words: str, suspects_alone: bool, said: str) -> Diagram:
    """Draw the models in each of which one part comes from elsewhere, with what they compute."""
    wanted = _computed(RIGHT)
    results = []
    for place in range(3):
        one, rest = (SUSPECTS, RIGHT) if suspects_alone else (RIGHT, SUSPECTS)
        results.append(_computed([one[at] if at == place else rest[at] for at in range(3)]))

    def row(place: int, wide: bool) -> Group:
        """Return one model, from its input to its result."""
        drawn = [text(str(START))]
        for at in range(3):
            suspect = (at == place) == suspects_alone
            operation = "× 3" if suspect and at == FAULTY else NAMES[at]
            label = f"p_{at + 1}{'' if suspect else '★'}\n{operation}"
            drawn.append(box(label, "memory" if suspect else "plain", 84 if wide else 58))
        result = results[place]
        found = (result != wanted) == suspects_alone
        judged = f"{result} {'=' if result == wanted else '≠'} {wanted}"
        drawn.append(text(f"{judged}:\np_{place + 1} faulty" if found else judged, strong=found))
        for before, after in pairwise(drawn):
            after.right_of(before, 28 if wide else 14)
        return Group([*drawn, *(arrow(*pair, sides=("right", "left")) for pair in pairwise(drawn))])

    def arrangement(wide: bool) -> list[Part | Arrow]:
        rows = column(*(row(place, wide) for place in range(3)), gap=16)
        for each in rows.parts:  # results differ in width
            each.move(rows.bounds[0] - each.bounds[0], 0)
        title = text(f"{name}: {words}", strong=True).above(rows, 12, align="start")
        legend = text(f"purple: suspect\n★: known to be right\n{wanted}: the right result")
        return [rows, title, legend.below(rows, 16, align="start")]

    return Diagram(
        f"{name} with three parts, of which the second is faulty",
        f"The parts add 1, double and square; from {START} they make {wanted}. The suspected second part multiplies by "
        f"3. Three models, each with {words}, give {', '.join(map(str, results))}. {said}",
        arrangement(wide=True),
        narrow=arrangement(wide=False),
    )


def _computed(model: Sequence[Callable[[int], int]]) -> int:
    """Return what three parts make of the number `START`, one after another."""
    return reduce(lambda number, part: part(number), model, START)
