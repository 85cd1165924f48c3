"""Verdicts on models for exercise 09.3: how the three are reached, rightly and wrongly, and how they are judged."""

from collections.abc import Callable, Iterable

import torch
from torch.nn.functional import pad

from course_lib.grading.call import Call
from course_lib.grading.declarations.chapter_09_models import VOCABULARY
from course_lib.grading.exercise import Case, Given
from course_lib.grading.judges import Judge
from course_lib.grading.wording import describe_case, describe_kind

SAME = 1e-4  # what the statement takes for rounding
Model = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
Gap = Callable[[torch.Tensor], torch.Tensor]


def another(tokens: torch.Tensor) -> torch.Tensor:
    """Return other words than these."""
    return 1 + tokens % (VOCABULARY - 1)


def largest(gaps: torch.Tensor) -> torch.Tensor:
    """Return the largest movement; none where nothing is looked at."""
    return gaps.abs().max() if gaps.numel() else torch.tensor(0.0)


def cancelling(gaps: torch.Tensor) -> torch.Tensor:
    """Return the mean movement, in which those up and those down cancel."""
    return gaps.mean().abs() if gaps.numel() else torch.tensor(0.0)


def most_probable(scores: torch.Tensor) -> torch.Tensor:
    """Return the word with the largest score at every step, as a number."""
    return scores.argmax(-1, keepdim=True).float()


def verdict(gaps: Iterable[torch.Tensor], tolerance: float = SAME) -> torch.Tensor:
    """Return whether nothing moved."""
    return torch.tensor(all(bool(gap <= tolerance) for gap in gaps))


def turned(answer: Callable) -> Callable:
    """Return the opposite verdict."""
    return lambda **named: ~answer(**named)


# ---------------------------------------------------------------- the future

# Of the number of steps: which words are replaced, and which steps are then looked at.
Steps = Callable[[int], list[tuple[slice, slice]]]


def all_cuts(time: int) -> list[tuple[slice, slice]]:
    """Return every cut: what comes from it on is replaced, what comes before it is looked at."""
    return [(slice(step, None), slice(step)) for step in range(1, time)]


def by_cuts(
    cuts: Steps = all_cuts,
    change: Callable[[torch.Tensor], torch.Tensor] = another,
    far: Gap = largest,
    see: Gap = torch.clone,
    tolerance: float = SAME,
    source_too: bool = False,
) -> Callable:
    """Return the test of causality that replaces words by `change` at these cuts, and compares see(scores)."""

    def test(model, source, words):
        before, gaps = see(model(source, words)), []
        for replaced, looked_at in cuts(words.shape[1]):
            other = words.clone()
            other[:, replaced] = change(words[:, replaced])
            after = see(model(another(source) if source_too else source, other))
            gaps.append(far((after - before)[:, looked_at]))
        return verdict(gaps, tolerance)

    return test


hides_the_future = by_cuts()


def how_far_the_future_reaches(model, source, words):
    """The movement when the last word is replaced."""
    other = words.clone()
    other[:, -1] = another(words[:, -1])
    return largest((model(source, other) - model(source, words))[:, :-1])


# ---------------------------------------------------------------- the source


def by_places(
    change: Callable[[torch.Tensor], torch.Tensor] = another,
    far: Gap = largest,
    see: Gap = torch.clone,
    tolerance: float = SAME,
    look: Callable[[torch.Tensor, int], torch.Tensor] = lambda gaps, row: gaps[row],
    enough: Callable[[list], bool] = all,
    sentences: int | None = None,
) -> Callable:
    """Return the test that replaces one word of the source at a time, and looks at look(movements, row)."""

    def test(model, source, words):
        before, moved = see(model(source, words)), []
        for row, place in source[:sentences].nonzero().tolist():
            other = source.clone()
            other[row, place] = change(source[row, place])
            moved.append(bool(far(look(see(model(other, words)) - before, row)) > tolerance))
        return torch.tensor(enough(moved))

    return test


reads_the_source = by_places()


def one_column_at_a_time(model, source, words):
    """The same place replaced in all sentences that have a word there."""
    before = model(source, words)
    for place in range(source.shape[1]):
        other, there = source.clone(), source[:, place] != 0
        other[:, place] = torch.where(there, another(source[:, place]), 0)
        moved = (model(other, words) - before).abs().amax((1, 2)) > SAME
        if not moved[there].all():
            return torch.tensor(False)
    return torch.tensor(True)


def whole_source(change: Callable[[torch.Tensor], torch.Tensor]) -> Callable:
    """Return the test that replaces all of the source at once, by `change`, and wants every sentence to move."""

    def test(model, source, words):
        moved = (model(change(source), words) - model(source, words)).abs().amax((1, 2)) > SAME
        return moved.all()

    return test


def words_replaced(model, source, words):
    """The target's words replaced in place of the source's."""
    return largest(model(source, another(words)) - model(source, words)) > SAME


def how_far_the_source_reaches(model, source, words):
    """The movement when all of the source is replaced."""
    return largest(model(another(source), words) - model(source, words))


# ---------------------------------------------------------------- the padding


def by_sources(
    change: Callable[[torch.Tensor], torch.Tensor] = lambda source: pad(source, (0, 2)),
    far: Gap = largest,
    see: Gap = torch.clone,
    tolerance: float = SAME,
) -> Callable:
    """Return the test that compares with what comes of change(source), by default with padding added."""

    def test(model, source, words):
        return verdict([far(see(model(change(source), words)) - see(model(source, words)))], tolerance)

    return test


ignores_the_padding = by_sources()


def padded_words(model, source, words):
    """Padding added to the target's words, and the scores for it cut off again."""
    return verdict([largest(model(source, pad(words, (0, 2)))[:, : words.shape[1]] - model(source, words))])


def how_far_the_padding_reaches(model, source, words):
    """The movement when padding is added."""
    return largest(model(pad(source, (0, 2)), words) - model(source, words))


# ---------------------------------------------------------------- judging


def tells_apart(faulty: set[Given], *models: Given) -> Judge:
    """The verdict is True, on the model of the case and on each of `models`, but for those that are `faulty`.

    All are asked before the first is judged: what a test says of the others tells one mistake from another. A batch of
    three is for the model of the case alone: it takes long, and would tell no more of the others than a batch of two.
    """

    def judge(call: Call, case: Case) -> str | None:
        others = models if len(case["source"]) == 2 else ()
        questions = [case, *(case | {"model": model} for model in others)]
        for asked, answer in [(each, call(each)) for each in questions]:
            if answer.shape or answer.dtype != torch.bool:
                return f"{describe_case(asked)}: came {describe_kind(answer)}, expected True or False"
            if bool(answer) == (asked["model"] in faulty):
                return f"{describe_case(asked)}: came {bool(answer)}, expected {not bool(answer)}"
        return None

    return judge
