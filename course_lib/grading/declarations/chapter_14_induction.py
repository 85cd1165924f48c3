"""Exercise 14.1, the induction score: two numbers that say of a head what its stripes show."""

import torch

from course_lib.grading.declarations.drawing import shares, sizes
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import both, equals, inputs_unchanged, not_moved_by, on

# ---------------------------------------------------------------- the place before


def previous_token_score(weights):
    """The mean along the diagonal below the main one, over the batch too."""
    return below(weights).mean((0, 2))


def below(weights):
    """The weight that each place but the first gives to the one before it, (batch, heads, time - 1)."""
    return weights.diagonal(-1, 2, 3)


def draw_weights(generator: torch.Generator) -> Case:
    """Draw weights of several heads, of two places or more."""
    batch, heads = sizes(generator, 3, 4)
    [time] = sizes(generator, 6, least=2)
    return {"weights": shares(generator, batch, heads, time, time)}


def looking_back(case: Case) -> Case:
    """Let the first head look at the place before it and nowhere else; the first place has but itself."""
    weights = case["weights"].clone()
    time = weights.shape[2]
    weights[:, 0] = torch.eye(time)[(torch.arange(time) - 1).clamp(min=0)]
    return {"weights": weights}


# Five places, of which the last two repeat the first two: A B C A B.
BY_HAND = torch.tensor(
    [
        [1.0, 0.0, 0.0, 0.0, 0.0],
        [0.5, 0.5, 0.0, 0.0, 0.0],
        [0.25, 0.25, 0.5, 0.0, 0.0],
        [0.0, 0.75, 0.25, 0.0, 0.0],
        [0.125, 0.0, 0.25, 0.5, 0.125],
    ]
)[None, None]

BEFORE = "the mean weight on the place before, head by head"
ONE = "a head that looks at the place before, and nowhere else, scores 1"

ONE_FOR_ALL = "this is one number for all heads together; every head has a score of its own, shape (heads,)"
EACH_EXAMPLE = "this keeps the examples apart; the mean runs over the batch as well, and shape (heads,) is left"
COUNTED = "this counts the places at which the weight asked for is the greatest of its row; asked is the mean weight"
TURNED = "query and key are exchanged: in `weights[b, h, i, j]` place i reads, and j is what it reads"

PREVIOUS = Task(
    function="previous_token_score",
    parameters=("weights",),
    returns="the mean weight that a place gives to the one before it, shape (heads,)",
    cases=draw_weights,
    examples=({"weights": BY_HAND},),
    reference=previous_token_score,
    properties=(
        Property(BEFORE, 2, both(equals(previous_token_score), inputs_unchanged)),
        Property(ONE, 1, on(looking_back, equals(previous_token_score))),
    ),
    misconceptions=(
        Misconception(
            "the place behind",
            f"these are weights on the place *behind*, at (i, i + 1), or {TURNED}",
            lambda weights: weights.diagonal(1, 2, 3).mean((0, 2)),
            breaks=BEFORE,
        ),
        Misconception(
            "the place itself",
            "this is the weight that each place gives to itself; the one before it stands one column to the left",
            lambda weights: weights.diagonal(0, 2, 3).mean((0, 2)),
            breaks=BEFORE,
        ),
        Misconception(
            "divided by all places",
            "the sum is divided by all places; the first has none before it and does not count, so time - 1 are left",
            lambda weights: below(weights).sum(2).mean(0) / weights.shape[2],
            breaks=ONE,
        ),
        Misconception(
            "the last place before the first",
            "place 0 counts here with the index 0 - 1 = -1, which Python reads as the *last* place; begin at place 1",
            lambda weights: (below(weights).sum(2) + weights[:, :, 0, -1]).mean(0) / weights.shape[2],
            breaks=ONE,
        ),
        Misconception(
            "the first place with itself",
            "place 0 counts here with its weight on itself, as if that were the place before; begin at place 1",
            lambda weights: (below(weights).sum(2) + weights[:, :, 0, 0]).mean(0) / weights.shape[2],
            breaks=BEFORE,
        ),
        Misconception(
            "a sum",
            "this adds the weights up along the sequence, so that it grows with the length; take their mean",
            lambda weights: below(weights).sum(2).mean(0),
            breaks=ONE,
        ),
        Misconception(
            "a sum over everything",
            "this adds the weights up over batch and sequence; take their mean",
            lambda weights: below(weights).sum((0, 2)),
            breaks=ONE,
        ),
        Misconception("heads together", ONE_FOR_ALL, lambda weights: below(weights).mean(), breaks=BEFORE),
        Misconception("examples apart", EACH_EXAMPLE, lambda weights: below(weights).mean(2), breaks=BEFORE),
        Misconception(
            "the first example",
            "this looks at the first example alone; the mean runs over the whole batch",
            lambda weights: below(weights)[0].mean(1),
            breaks=BEFORE,
        ),
        Misconception(
            "places counted",
            COUNTED,
            lambda weights: (below(weights) >= weights[:, :, 1:].amax(3)).float().mean((0, 2)),
            breaks=BEFORE,
        ),
        Misconception(
            "the greatest",
            "this is the greatest of the weights on the place before; asked is their mean",
            lambda weights: below(weights).amax((0, 2)),
            breaks=BEFORE,
        ),
    ),
)

# ---------------------------------------------------------------- the place behind the last occurrence


def picked(weights, periods, step=1):
    """The weight that each place i gives to i - period + step, (batch, heads, time); indices wrap, as Python's do."""
    heads, time = weights.shape[1:3]
    targets = (torch.arange(time) - periods[:, None] + step) % time  # (batch, time)
    return weights.gather(3, targets[:, None, :, None].expand(-1, heads, -1, 1))[..., 0]


def counted(weights, periods, later=0):
    """Which places have a period or more before them, (batch, 1, time)."""
    return (torch.arange(weights.shape[2]) >= periods[:, None] + later)[:, None]


def induction_score(weights, periods):
    """The mean of what is picked, over all places that count."""
    return averaged()(weights, periods)


def averaged(step=1, later=0):
    """The mean of what is picked elsewhere, or of other places."""

    def answer(weights, periods):
        counts = counted(weights, periods, later)
        return (picked(weights, periods, step) * counts).sum((0, 2)) / counts.sum()

    return answer


def of_rows(least):
    """The mean of the means of the rows."""

    def answer(weights, periods):
        counts = counted(weights, periods)
        return ((picked(weights, periods) * counts).sum(2) / counts.sum(2).clamp(min=least)).mean(0)

    return answer


def examples_apart(weights, periods):
    """A score for every example."""
    counts = counted(weights, periods)
    return (picked(weights, periods) * counts).sum(2) / counts.sum(2)


def places_counted(weights, periods):
    """How often the place asked for has the greatest weight."""
    counts = counted(weights, periods)
    return ((picked(weights, periods) >= weights.amax(3)) & counts).sum((0, 2)) / counts.sum()


def previous_at_repeats(weights, periods):
    """The place before, at the places that count."""
    counts = counted(weights, periods)[:, :, 1:]
    return (below(weights) * counts).sum((0, 2)) / counts.sum()


def first_place_for_all_that_is_before(weights, periods):
    """Targets held at 0, every place counted."""
    late = counted(weights, periods)
    return torch.where(late | ~counted(weights, periods, -1), clamped(weights, periods), picked(weights, periods)).mean(
        (0, 2)
    )


def clamped(weights, periods):
    """What is picked, with place 0 for all that lies before it."""
    before = torch.arange(weights.shape[2]) < periods[:, None] - 1
    return torch.where(before[:, None], weights[..., 0], picked(weights, periods))


def draw_repeats(generator: torch.Generator) -> Case:
    """Draw weights, and for each row a period that leaves two places or more."""
    batch, heads = sizes(generator, 4, 3)
    [time] = sizes(generator, 8, least=4)
    return {
        "weights": shares(generator, batch, heads, time, time),
        "periods": torch.randint(2, time - 1, (batch,), generator=generator),
    }


def one_period(case: Case) -> Case:
    """Give every row the period of the first."""
    return case | {"periods": case["periods"][:1].repeat(len(case["periods"]))}


def other_beginnings(case: Case) -> Case:
    """Turn the weights of all places before the first repetition by one key."""
    late = counted(**case)[..., None]
    return case | {"weights": torch.where(late, case["weights"], case["weights"].roll(1, 3))}


def without_repetition(case: Case) -> Case:
    """Add a row whose period is all of its length."""
    weights = torch.cat([case["weights"], case["weights"][:1].flip(2)])
    return {"weights": weights, "periods": torch.cat([case["periods"], torch.tensor([weights.shape[2]])])}


SCORE = "the mean weight on the place behind the earlier copy, head by head"
LATE = "places before the first repetition do not count"
OWN = "every example has a period of its own, and every place that counts counts the same"
NONE = "the score is right, too, where an example repeats nothing, which adds nothing"

SCORED = Task(
    function="induction_score",
    parameters=("weights", "periods"),
    returns="the mean weight that place i, from the period on, gives to i - period + 1, shape (heads,)",
    cases=draw_repeats,
    examples=({"weights": BY_HAND, "periods": torch.tensor([3])},),
    reference=induction_score,
    properties=(
        Property(SCORE, 2, both(on(one_period, equals(induction_score)), inputs_unchanged)),
        Property(
            LATE,
            1,
            not_moved_by(
                other_beginnings,
                "other weights at the places before the first repetition",
                induction_score,
                lambda answer: answer,
            ),
        ),
        Property(OWN, 2, equals(induction_score)),
        Property(NONE, 1, on(without_repetition, equals(induction_score))),
    ),
    misconceptions=(
        Misconception(
            "the earlier copy itself",
            "this is the weight on i - period, the earlier copy of the same token; what is to be said next stands one "
            "place behind that copy, at i - period + 1",
            averaged(step=0),
            breaks=SCORE,
        ),
        Misconception(
            "before the earlier copy",
            "this is the weight on i - period - 1, the place *before* the earlier copy; asked is the one behind it, "
            "i - period + 1",
            averaged(step=-1),
            breaks=SCORE,
        ),
        Misconception(
            "two places behind",
            "this is the weight on i - period + 2, two places behind the earlier copy; asked is i - period + 1",
            averaged(step=2),
            breaks=SCORE,
        ),
        Misconception(
            "the place before",
            "this is the weight on i - 1, which is the previous-token score at the places that count; how far an "
            "induction head looks back depends on the period of the example",
            previous_at_repeats,
            breaks=SCORE,
        ),
        Misconception(
            "every place, wrapped",
            "all places count here, also those before the period, whose index i - period + 1 is below 0 and is read "
            "from the end; only places i >= period have seen their token a period ago",
            lambda weights, periods: picked(weights, periods).mean((0, 2)),
            breaks=LATE,
        ),
        Misconception(
            "every place, held at 0",
            "all places count here, and those before the period are credited with their weight on place 0; only "
            "places i >= period count",
            first_place_for_all_that_is_before,
            breaks=LATE,
        ),
        Misconception(
            "one place too early",
            "this begins at i = period - 1, the last place of the first segment, where nothing has been repeated yet; "
            "begin at i = period",
            averaged(later=-1),
            breaks=LATE,
        ),
        Misconception(
            "one place too late",
            "this begins behind i = period, which is the first place that has seen its token before; count it too "
            "(`>=`)",
            averaged(later=1),
            breaks=SCORE,
        ),
        Misconception(
            "divided by all places",
            "the sum is divided by all places; divide by how many count, those from the period on",
            lambda weights, periods: (picked(weights, periods) * counted(weights, periods)).mean((0, 2)),
            breaks=SCORE,
        ),
        Misconception(
            "a sum",
            "this adds the weights up; divide by how many places count",
            lambda weights, periods: (picked(weights, periods) * counted(weights, periods)).sum((0, 2)),
            breaks=SCORE,
        ),
        Misconception(
            "the mean of the rows' means",
            "this takes the mean of each example and then the mean of those, so that one with few places counts as "
            "much as one with many, and one with none gives 0 / 0; add up over all examples first, then divide",
            of_rows(least=0),
            breaks=NONE,
        ),
        Misconception(
            "the mean of the rows' means, empty rows as 0",
            "this takes the mean of each example and then the mean of those, so that one with few places counts as "
            "much as one with many, and one with none as a score of 0; add up over all examples first, then divide",
            of_rows(least=1),
            breaks=OWN,
        ),
        Misconception(
            "the mean of the examples' means, empty ones left out",
            "this takes the mean of each example and then the mean of those, so that an example with few places counts "
            "as much as one with many; add up over all examples first, then divide",
            lambda weights, periods: examples_apart(weights, periods).nanmean(0),
            breaks=OWN,
        ),
        Misconception(
            "the period of the first row",
            "this takes the period of the first example for all; every example has its own",
            lambda weights, periods: induction_score(weights, periods[:1].expand(len(periods))),
            breaks=OWN,
        ),
        Misconception(
            "turned round",
            TURNED,
            lambda weights, periods: induction_score(weights.mT, periods),
            breaks=SCORE,
        ),
        Misconception(
            "heads together",
            ONE_FOR_ALL,
            lambda weights, periods: induction_score(weights, periods).mean(),
            breaks=SCORE,
        ),
        Misconception("examples apart", EACH_EXAMPLE, examples_apart, breaks=SCORE),
        Misconception("places counted", COUNTED, places_counted, breaks=SCORE),
    ),
)

INDUCTION = Exercise(
    id="14.1",
    title="Induction score",
    difficulty=2,
    minutes=30,
    tasks=(PREVIOUS, SCORED),
    hints=(
        "Write out the places of `A B C A B`, period 3. Which place looks where, if the model is to say what came "
        "next the last time? Which places cannot know yet?",
        "For the place before: the entries (i, i - 1) for i from 1 on, averaged over batch and places. For the other "
        "score, go through the rows of the batch, and in each through the places from its period on; add up the "
        "weights, count the places, and divide once at the end.",
        "In row b the places are `range(int(periods[b]), time)`, and `weights[b, :, i, ...]` is what all heads give at "
        "once; the key is i less the period plus one. `torch.diagonal` with an offset of -1 finds the place before.",
    ),
)
