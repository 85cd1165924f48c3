"""14.1: the scores of previous-token heads and of induction heads."""

import torch

from course_lib.exercises.drawing import probabilities, sizes
from course_lib.grading.checks import both, equals, inputs_unchanged, not_moved_by, on
from course_lib.grading.exercise import Case, Exercise, Property, Task


def previous_token_score(weights):
    """The mean along the diagonal below the main one, over the batch too."""
    return weights.diagonal(-1, 2, 3).mean((0, 2))


def draw_weights(generator: torch.Generator) -> Case:
    """Draw weights of several heads, of two positions or more."""
    batch, heads = sizes(generator, 3, 4)
    [time] = sizes(generator, 6, least=2)
    return {"weights": probabilities(generator, batch, heads, time, time)}


def looking_back(case: Case) -> Case:
    """Let the first head look at the position before and nowhere else; the first position has but itself."""
    weights = case["weights"].clone()
    time = weights.shape[2]
    weights[:, 0] = torch.eye(time)[(torch.arange(time) - 1).clamp(min=0)]
    return {"weights": weights}


def induction_score(weights, periods):
    """The mean along a diagonal of each example, without its first entry, which has seen nothing twice."""
    pairs = zip(weights, periods.tolist(), strict=True)
    return torch.cat([each.diagonal(1 - period, 1, 2)[:, 1:] for each, period in pairs], 1).mean(1)


def draw_repeats(generator: torch.Generator) -> Case:
    """Draw weights, and for each row a period that leaves two positions or more."""
    batch, heads = sizes(generator, 4, 3)
    [time] = sizes(generator, 8, least=4)
    return {
        "weights": probabilities(generator, batch, heads, time, time),
        "periods": torch.randint(2, time - 1, (batch,), generator=generator),
    }


def one_period(case: Case) -> Case:
    """Give every row the period of the first."""
    return case | {"periods": case["periods"][:1].repeat(len(case["periods"]))}


def other_beginnings(case: Case) -> Case:
    """Turn the weights of all positions before the first repetition by one key."""
    late = torch.arange(case["weights"].shape[2]) >= case["periods"][:, None]  # (batch, time)
    return case | {"weights": case["weights"].where(late[:, None, :, None], case["weights"].roll(1, 3))}


def without_repetition(case: Case) -> Case:
    """Add a row whose period is all of its length."""
    weights = torch.cat([case["weights"], case["weights"][:1].flip(2)])
    return {"weights": weights, "periods": torch.cat([case["periods"], torch.tensor([weights.shape[2]])])}


# Five positions, of which the last two repeat the first two: A B C A B.
BY_HAND = torch.tensor(
    [
        [1.0, 0.0, 0.0, 0.0, 0.0],
        [0.5, 0.5, 0.0, 0.0, 0.0],
        [0.25, 0.25, 0.5, 0.0, 0.0],
        [0.0, 0.75, 0.25, 0.0, 0.0],
        [0.125, 0.0, 0.25, 0.5, 0.125],
    ]
)[None, None]

PREVIOUS_MISTAKES = """
the position after => the mean weight on the position before, head by head
- before = weights.diagonal(offset=-1, dim1=-2, dim2=-1)
+ before = weights.diagonal(offset=1, dim1=-2, dim2=-1)
these are weights on the position *after*, at (i, i + 1), or query and key are exchanged: in `weights[b, h, i, j]`
position i reads, and j is what it reads

the position itself => the mean weight on the position before, head by head
+ before = weights.diagonal(offset=0, dim1=-2, dim2=-1)
this is the weight that each position gives to itself; the one before it stands one column to the left

the position itself, but for the first => the mean weight on the position before, head by head
- before = weights.diagonal(offset=-1, dim1=-2, dim2=-1)
+ before = weights.diagonal(offset=0, dim1=-2, dim2=-1)[..., 1:]

divided by all positions => a previous-token head scores 1
- return before.mean(dim=(0, 2))
+ return before.sum(dim=2).mean(dim=0) / weights.shape[2]
the sum is divided by all positions; the first has none before it and does not count, so time - 1 are left

the last position before the first => a previous-token head scores 1
+ return (before.sum(dim=2) + weights[:, :, 0, -1]).mean(dim=0) / weights.shape[2]
position 0 counts here with the index 0 - 1 = -1, which Python reads as the *last* position; begin at position 1

the last position added => the mean weight on the position before, head by head
+ return (before.sum(dim=2) + weights[:, :, 0, -1]).mean(dim=0) / before.shape[2]

the first position with itself => the mean weight on the position before, head by head
+ return (before.sum(dim=2) + weights[:, :, 0, 0]).mean(dim=0) / weights.shape[2]
position 0 counts here with its weight on itself, as if that were the position before; begin at position 1

a sum => a previous-token head scores 1
+ return before.sum(dim=2).mean(dim=0)
this adds the weights up along the sequence, so that it grows with the length; take their mean

a sum over everything => a previous-token head scores 1
+ return before.sum(dim=(0, 2))
this adds the weights up over batch and sequence; take their mean

heads together => the mean weight on the position before, head by head
+ return before.mean()
this is one number for all heads together; every head has a score of its own, shape (heads,)

heads together, one number for each => the mean weight on the position before, head by head
+ return before.mean().expand(weights.shape[1])
every head has the mean of all heads here; every head has a score of its own

examples apart => the mean weight on the position before, head by head
+ return before.mean(dim=2)
this keeps the examples apart; the mean runs over the batch as well, and shape (heads,) is left

the first example => the mean weight on the position before, head by head
+ return before[0].mean(dim=1)
this looks at the first example alone; the mean runs over the whole batch

positions counted => the mean weight on the position before, head by head
+ return (before >= weights[:, :, 1:].amax(dim=3)).float().mean(dim=(0, 2))
this counts the positions at which the weight asked for is the greatest of its row; asked is the mean weight

the greatest => the mean weight on the position before, head by head
+ return before.amax(dim=(0, 2))
this is the greatest of the weights on the position before; asked is their mean

heads for examples => the mean weight on the position before, head by head
- return before.mean(dim=(0, 2))
+ return before.mean(dim=(1, 2))
this takes the first axis for that of the heads and averages over the second; the axes are (batch, heads, time, time)
"""

SCORED_MISTAKES = """
the earlier copy itself => the mean weight after the earlier copy, head by head
- total = total + example[:, i, i - period + 1]
+ total = total + example[:, i, i - period]
this is the weight on i - period, the earlier copy of the same token; what is to be said next stands one position after
that copy, at i - period + 1

before the earlier copy => the mean weight after the earlier copy, head by head
+ total = total + example[:, i, i - period - 1]
this is the weight on i - period - 1, the position *before* the earlier copy; asked is the one after it, i - period + 1

two positions after => the mean weight after the earlier copy, head by head
+ total = total + example[:, i, i - period + 2]
this is the weight on i - period + 2, two positions after the earlier copy; asked is i - period + 1

the position before => the mean weight after the earlier copy, head by head
+ total = total + example[:, i, i - 1]
this is the weight on i - 1, which is the previous-token score at the positions that count; how far an induction head
looks back depends on the period of the example

every position, wrapped => positions before the first repetition do not count
- for i in range(period, time):
+ for i in range(time):
all positions count here, also those before the period, whose index i - period + 1 is below 0 and is read from the end;
only positions i >= period have seen their token a period ago

every position, held at 0 => positions before the first repetition do not count
- for i in range(period, time):
- total = total + example[:, i, i - period + 1]
+ for i in range(time):
+     total = total + example[:, i, max(i - period + 1, 0)]
all positions count here, and those before the period are credited with their weight on position 0; only positions
i >= period count

one position too early => positions before the first repetition do not count
- for i in range(period, time):
+ for i in range(period - 1, time):
this begins at i = period - 1, the last position of the first segment, where nothing has been repeated yet; begin at
i = period

one position too late => the mean weight after the earlier copy, head by head
+ for i in range(period + 1, time):
this begins after i = period, which is the first position that has seen its token before; count it too (`>=`)

one position too late, all at once => the mean weight after the earlier copy, head by head
- total, count = 0.0, 0
- for example, period in zip(weights, periods.tolist()):
- for i in range(period, time):
- total = total + example[:, i, i - period + 1]
- count += 1
- return total / count
+ pairs = zip(weights, periods.tolist())
+ late = torch.cat([example.diagonal(1 - period, dim1=1, dim2=2)[:, 2:] for example, period in pairs], dim=1)
+ return late.sum(dim=1) / late.shape[1]

one position too late, and nothing divided by 1 => the mean weight after the earlier copy, head by head
+ pairs = zip(weights, periods.tolist())
+ late = torch.cat([example.diagonal(1 - period, dim1=1, dim2=2)[:, 2:] for example, period in pairs], dim=1)
+ return late.sum(dim=1) / max(1, late.shape[1])

divided by all positions => the mean weight after the earlier copy, head by head
- return total / count
+ return total / (len(weights) * time)
the sum is divided by all positions; divide by how many count, those from the period on

a sum => the mean weight after the earlier copy, head by head
+ return total
this adds the weights up; divide by how many positions count

the mean of the rows' means => the score is right, too, where an example repeats nothing, which adds nothing
- total, count = 0.0, 0
- for example, period in zip(weights, periods.tolist()):
- for i in range(period, time):
- total = total + example[:, i, i - period + 1]
- count += 1
- return total / count
+ pairs = zip(weights, periods.tolist())
+ means = [example.diagonal(1 - period, dim1=1, dim2=2)[:, 1:].mean(dim=1) for example, period in pairs]
+ return torch.stack(means).mean(dim=0)
this takes the mean of each example and then the mean of those, so that one with few positions counts as much as one
with many, and one with none gives 0 / 0; add up over all examples first, then divide

the mean of the rows' means, empty rows as 0 => each example has its own period, and all positions count the same
+ pairs = zip(weights, periods.tolist())
+ means = [example.diagonal(1 - period, dim1=1, dim2=2)[:, 1:].mean(dim=1) for example, period in pairs]
+ return torch.stack(means).nan_to_num().mean(dim=0)
this takes the mean of each example and then the mean of those, so that one with few positions counts as much as one
with many, and one with none as a score of 0; add up over all examples first, then divide

the examples' means, empty ones left out => each example has its own period, and all positions count the same
+ pairs = zip(weights, periods.tolist())
+ means = [example.diagonal(1 - period, dim1=1, dim2=2)[:, 1:].mean(dim=1) for example, period in pairs]
+ return torch.stack(means).nanmean(dim=0)
this takes the mean of each example and then the mean of those, so that an example with few positions counts as much as
one with many; add up over all examples first, then divide

an empty mean => the score is right, too, where an example repeats nothing, which adds nothing
+ pairs = zip(weights, periods.tolist())
+ means = [example.diagonal(1 - period, dim1=1, dim2=2)[:, 1:].mean(dim=1) for example, period in pairs]
+ counts = time - periods
+ return (torch.stack(means) * counts[:, None]).sum(dim=0) / counts.sum()
the mean of an example that repeats nothing is 0 / 0 here, nan, which stays nan when it is weighed by 0: add up over all
examples first, then divide

the period of the first row => each example has its own period, and all positions count the same
- for example, period in zip(weights, periods.tolist()):
+ for example, period in zip(weights, periods[:1].tolist() * len(weights)):
this takes the period of the first example for all; every example has its own

turned round => the mean weight after the earlier copy, head by head
- total = total + example[:, i, i - period + 1]
+ total = total + example[:, i - period + 1, i]
query and key are exchanged: in `weights[b, h, i, j]` position i reads, and j is what it reads

heads together => the mean weight after the earlier copy, head by head
- return total / count
+ return total.mean() / count
this is one number for all heads together; every head has a score of its own, shape (heads,)

heads together, one number for each => the mean weight after the earlier copy, head by head
+ return (total.mean() / count).expand(weights.shape[1])
every head has the mean of all heads here; every head has a score of its own

examples apart => the mean weight after the earlier copy, head by head
- total, count = 0.0, 0
- for example, period in zip(weights, periods.tolist()):
- for i in range(period, time):
- total = total + example[:, i, i - period + 1]
- count += 1
- return total / count
+ pairs = zip(weights, periods.tolist())
+ means = [example.diagonal(1 - period, dim1=1, dim2=2)[:, 1:].mean(dim=1) for example, period in pairs]
+ return torch.stack(means)
this keeps the examples apart; the mean runs over the batch as well, and shape (heads,) is left

positions counted => the mean weight after the earlier copy, head by head
- total = total + example[:, i, i - period + 1]
+ total = total + (example[:, i, i - period + 1] >= example[:, i].amax(dim=1)).float()
this counts the positions at which the weight asked for is the greatest of its row; asked is the mean weight
"""

EXERCISE = Exercise(
    title="Induction score",
    difficulty=2,
    minutes=30,
    tasks=(
        Task(
            function="previous_token_score",
            parameters=("weights",),
            returns="the mean weight that a position gives to the one before it, shape (heads,)",
            cases=draw_weights,
            examples=({"weights": BY_HAND},),
            edges=(
                {
                    "weights": torch.tensor([[[[1.0, 0.0], [0.25, 0.75]]], [[[1.0, 0.0], [0.5, 0.5]]]])
                },  # one position has another before
                {
                    "weights": torch.tensor([[[[0.5, 0.5], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]]])
                },  # all, and nothing; no mask
            ),
            reference=previous_token_score,
            properties=(
                Property("the mean weight on the position before, head by head", 2, both(equals(), inputs_unchanged)),
                Property(
                    "a previous-token head scores 1",
                    1,
                    on(looking_back, equals()),
                ),
            ),
            mistakes=PREVIOUS_MISTAKES,
        ),
        Task(
            function="induction_score",
            parameters=("weights", "periods"),
            returns="the mean weight that position i, from the period on, gives to i - period + 1, shape (heads,)",
            cases=draw_repeats,
            examples=(
                {"weights": BY_HAND, "periods": torch.tensor([3])},
                # Two periods, and so two numbers of positions that count.
                {"weights": torch.cat([BY_HAND, BY_HAND.flip(3)]), "periods": torch.tensor([3, 2])},
            ),
            edges=(
                # The longest period that repeats something: one position; and the shortest row.
                {"weights": BY_HAND, "periods": torch.tensor([4])},
                {"weights": BY_HAND[..., :3, :3], "periods": torch.tensor([2])},
                # One example repeats nothing, the other one position.
                {"weights": torch.cat([BY_HAND, BY_HAND.flip(3)]), "periods": torch.tensor([4, 5])},
            ),
            reference=induction_score,
            properties=(
                Property(
                    "the mean weight after the earlier copy, head by head",
                    2,
                    both(on(one_period, equals()), inputs_unchanged),
                ),
                Property(
                    "positions before the first repetition do not count",
                    1,
                    not_moved_by(
                        other_beginnings,
                        "other weights at the positions before the first repetition",
                        lambda answer: answer,
                    ),
                ),
                Property("each example has its own period, and all positions count the same", 2, equals()),
                Property(
                    "the score is right, too, where an example repeats nothing, which adds nothing",
                    1,
                    on(without_repetition, equals()),
                ),
            ),
            mistakes=SCORED_MISTAKES,
        ),
    ),
    hints=(
        "Write out the positions of `A B C A B`, period 3. Which position does an induction head look at from each of "
        "them, so that it finds what came next the last time? Which positions have nothing to find yet?",
        "Previous-token score: the entries (i, i - 1) for i from 1 on, averaged over batch and positions. Induction "
        "score: go through the rows of the batch, and in each through the positions from its period on; add up the "
        "weights, count the positions, and divide once at the end.",
        "In row b the positions are `range(int(periods[b]), time)`, and `weights[b, :, i, ...]` is what all heads give "
        "at once; the key is i less the period plus one. `torch.diagonal` with an offset of -1 finds the position "
        "before.",
    ),
)
