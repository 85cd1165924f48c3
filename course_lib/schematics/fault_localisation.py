"""Two ways to find a faulty part, with numbers: one suspect among right parts, and one right part among suspects."""

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import pairwise

from course_lib.diagrams import Arrow, Diagram, Group, Part, arrow, box, column, text


def insertion_and_exchange() -> Diagram:
    """Draw Chapter 15: three models for each of two ways to find the faulty one among three parts.

    >>> insertion_and_exchange().description[-65:]
    'One result is right, that of the model in which part 2 was right.'
    """
    names = ("+ 1", "× 2", "square")
    right = (lambda number: number + 1, lambda number: 2 * number, lambda number: number**2)
    suspects = (right[0], lambda number: 3 * number, right[2])
    faulty, start = 1, 2

    def computed(model: Sequence[Callable[[int], int]]) -> int:
        """Return what these three parts make of the number `start`, one after another."""
        return reduce(lambda number, part: part(number), model, start)

    wanted = computed(right)

    def models(insertion: bool) -> list[int]:
        """Return the results of three models, in each of which one part comes from elsewhere."""
        one, rest = (suspects, right) if insertion else (right, suspects)
        return [computed([one[at] if at == place else rest[at] for at in range(3)]) for place in range(3)]

    def row(place: int, insertion: bool) -> Group:
        """Return one model, from its input to its result."""
        drawn = [text(str(start))]
        for at in range(3):
            suspect = (at == place) == insertion
            name = "× 3" if suspect and at == faulty else names[at]
            drawn.append(box(f"p_{at + 1}{'' if suspect else '★'}\n{name}", "memory" if suspect else "plain", 58))
        result = models(insertion)[place]
        found = (result != wanted) == insertion
        words = f"{result} {'=' if result == wanted else '≠'} {wanted}"
        drawn.append(text(f"{words}:\np_{place + 1} faulty" if found else words, strong=found))
        for before, after in pairwise(drawn):
            after.right_of(before, 14)
        return Group([*drawn, *(arrow(*pair, sides=("right", "left")) for pair in pairwise(drawn))])

    def panel(insertion: bool) -> Group:
        words = "one suspect among right parts" if insertion else "one right part among suspects"
        rows = column(*(row(place, insertion) for place in range(3)), gap=16)
        for each in rows.parts:  # results differ in width
            each.move(rows.bounds[0] - each.bounds[0], 0)
        title = text(f"{'Insertion' if insertion else 'Exchange'}:\n{words}", strong=True)
        return Group([rows, title.above(rows, 12, align="start")])

    def arrangement(wide: bool) -> list[Part | Arrow]:
        first, second = panel(insertion=True), panel(insertion=False)
        if wide:
            second.right_of(first, 26, align="start")
        else:
            second.below(first, 30, align="start")
        legend = text(f"purple: suspect\n★: known to be right\n{wanted}: the right result")
        return [first, second, legend.below(Group([first, second]), 18, align="start")]

    inserted, exchanged = (", ".join(map(str, models(way))) for way in (True, False))
    return Diagram(
        "Insertion and exchange with three parts, of which the second is faulty",
        f"The parts add 1, double and square; from {start} they make {wanted}. The suspected second part multiplies by "
        f"3. Insertion: three models, each with one suspect among right parts, give {inserted}. One result is wrong, "
        "that of the model with the suspected part 2. Exchange: three models, each with one right part among "
        f"suspects, give {exchanged}. One result is right, that of the model in which part 2 was right.",
        arrangement(wide=True),
        narrow=arrangement(wide=False),
    )
