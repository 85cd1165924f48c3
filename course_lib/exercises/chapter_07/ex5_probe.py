"""07.5: add or concatenate, what a linear probe can read, and when a sum can be taken apart."""

import torch

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import Check, both, equals, inputs_unchanged, on
from course_lib.grading.exercise import Case, Exercise, Property, Question, Task
from course_lib.grading.problem import Problem


def probe(inputs, targets):
    """Predictions of the linear map without bias that has the least squared error."""
    return inputs @ (torch.linalg.pinv(inputs) @ targets)


def draw_samples(generator: torch.Generator) -> Case:
    """Draw more samples than columns; neither has the mean 0."""
    columns, more, targets = sizes(generator, 3, 4, 3)
    samples = 2 * columns + more
    return {"inputs": normal(generator, samples, columns) + 0.5, "targets": normal(generator, samples, targets) + 0.5}


def with_few_samples(case: Case) -> Case:
    """Exchange rows and columns, and put more columns before: any targets can then be hit, in more than one way.

    Not where the columns are multiples of one: beside others, torch.linalg.lstsq, a right answer, now and then finds
    too small a rank.
    """
    if torch.linalg.matrix_rank(case["inputs"]) < min(case["inputs"].shape):
        return case
    inputs = case["inputs"].T[: len(case["targets"])]
    return {"inputs": torch.cat([torch.eye(len(inputs)), inputs], 1), "targets": case["targets"][: len(inputs)]}


def separable(words, positions):
    """Whether the two spans have nothing but 0 in common."""
    rank = torch.linalg.matrix_rank
    return rank(torch.cat([words, positions])) == rank(words) + rank(positions)


# In all tables below, those singular values that are not 0 by construction are about 1. What counts as 0 is then no
# question of the last digit, on which torch.linalg.lstsq gives two answers to one question.


def orthonormal(rows: torch.Tensor, width: int) -> torch.Tensor:
    """Return `width` rows of length 1 at right angles, made of the numbers in so many rows and columns."""
    return torch.linalg.qr(rows[:width, :width].T).Q.T.contiguous()


def leaning(rows: torch.Tensor, vocab_size: int) -> Case:
    """Return the first rows as words, and the rest as positions that all lean towards the first word."""
    return {"words": rows[:vocab_size], "positions": rows[vocab_size:] + rows[:1] / 2}


def draw_tables(generator: torch.Generator) -> Case:
    """Draw two tables with room to spare: the rows of both are independent, and far from orthogonal."""
    vocab_size, time, spare = sizes(generator, 3, 3, 2)
    rows = orthonormal(normal(generator, vocab_size + time, vocab_size + time), vocab_size + time)
    return leaning(torch.cat([rows, normal(generator, vocab_size + time, spare)], 1), vocab_size)


def made_of(case: Case, width: int) -> torch.Tensor:
    """Return orthonormal rows that are new with every case."""
    return orthonormal(torch.cat(list(case.values())), width)


def roomy(case: Case) -> Case:
    """Return tables as `draw_tables` draws them, in place of the example that cannot be taken apart."""
    return leaning(made_of(case, sum(map(len, case.values()))), len(case["words"]))


def itself(case: Case) -> Case:
    """Return the case."""
    return case


def at_right_angles(case: Case) -> Case:
    """Make every row orthogonal to every other: separable, and plainly so."""
    words, positions = map(len, case.values())
    rows = made_of(case, words + positions)
    return {"words": rows[:words], "positions": rows[words:]}


def narrowed(case: Case) -> Case:
    """Let one of the tables fill the space, so that the other is within it: not separable."""
    words, positions = (max(2, len(table)) for table in case.values())
    rows = made_of(case, max(words, positions))
    return {"words": rows[:words], "positions": rows[-positions:] + rows[:1] / 2}


def repeated(case: Case) -> Case:
    """Repeat rows, negative and doubled, until there are more than columns: as separable as before."""
    words, positions = map(len, case.values())
    tables = leaning(made_of(case, words + positions), words)
    return {name: torch.cat([table, -table, 2 * table]) for name, table in tables.items()}


def tight(case: Case) -> Case:
    """Make one position a mixture of words, equal to none, in a space that the others fill: not separable."""
    words, positions = map(len, case.values())
    rows = made_of(case, words + positions - 1)
    shared = rows[:1] + rows[words - 1 : words] / 2
    return {"words": rows[:words], "positions": torch.cat([shared, rows[words:] + rows[:1] / 2])}


def sharing(case: Case) -> Case:
    """Add empty columns to that: not separable, for all the room."""
    return {name: torch.nn.functional.pad(table, (0, 2)) for name, table in tight(case).items()}


def tells(*questions: tuple) -> Check:
    """The answer is right about what each change makes of the case; each check has a True and a False."""

    def check(case: Case):
        drawn = case if separable(**case) else roomy(case)
        replies = yield [Question(change(drawn), expected=torch.tensor(truth)) for change, truth, _ in questions]
        for (_, truth, what), reply in zip(questions, replies, strict=True):
            if bool(reply.value) != truth:
                return Problem("value", reply.arguments, where=what, got=bool(reply.value), expected=truth)
        return None

    return check


APART = (itself, True, "all rows of both tables independent, every position leaning towards a word")
UPRIGHT = (at_right_angles, True, "all rows orthogonal")
NARROW = (narrowed, False, "too narrow for both tables")
TIGHT = (tight, False, "too narrow for both tables by one column")
REPEATED = (repeated, True, "independent tables, each with its rows three times, as they are, negative and doubled")
SHARED = (sharing, False, "one position is a linear combination of words, and there are empty columns")


PROBE_MISTAKES = """
the map itself => the predictions of the best linear map
- return inputs @ fitted
+ return fitted
this returns the map, (d, d_target); return its predictions: multiply the inputs by it

what is left over => the predictions of the best linear map
+ return targets - inputs @ fitted
these are the residuals, targets minus predictions; return the predictions

the targets themselves => the predictions of the best linear map
+ return targets
these are the targets; a prediction is made from the inputs and may be wrong

no inverse => the predictions of the best linear map
- fitted = torch.linalg.pinv(inputs) @ targets
+ fitted = inputs.T @ targets
this multiplies by the transpose of the inputs where the (pseudo-)inverse belongs; the two agree only where the columns
are orthogonal and of length 1

one divisor for all columns => the predictions of the best linear map
+ fitted = inputs.T @ targets / inputs.square().sum()
this divides by the sum of all squares, which is right for a single column; for more columns the least squares need the
products of the columns with each other too

ridge regression (0.1) => the predictions of the best linear map
+ fitted = torch.linalg.solve(inputs.T @ inputs + 0.1 * torch.eye(inputs.shape[1]), inputs.T @ targets)
this adds a number to the diagonal of `inputs.T @ inputs`, which makes a ridge regression; its squared error is not the
smallest, and the pseudo-inverse needs no such number

ridge regression (0.01) => the predictions of the best linear map
+ fitted = torch.linalg.solve(inputs.T @ inputs + 0.01 * torch.eye(inputs.shape[1]), inputs.T @ targets)

ridge regression (0.001) => the predictions of the best linear map
+ fitted = torch.linalg.solve(inputs.T @ inputs + 0.001 * torch.eye(inputs.shape[1]), inputs.T @ targets)

with a bias => the predictions of the best linear map
+ inputs = torch.cat([inputs, torch.ones(len(inputs), 1)], dim=1)
+ fitted = torch.linalg.pinv(inputs) @ targets
this fits a bias as well, a column of ones, or the means subtracted before; the map has no bias here

the wrong way round => the predictions of the best linear map
- fitted = torch.linalg.pinv(inputs) @ targets
- return inputs @ fitted
+ fitted = torch.linalg.pinv(targets) @ inputs
+ return targets @ fitted
this predicts the inputs from the targets: in `lstsq(a, b)` the inputs come first

the inverse of the textbook => predicts any targets where there are more columns than samples, and only there
- fitted = torch.linalg.pinv(inputs) @ targets
+ fitted = torch.linalg.inv(inputs.T @ inputs) @ inputs.T @ targets
this inverts `inputs.T @ inputs`, which has no inverse where columns repeat each other or are more than the samples, as
in every wide space with few words; `torch.linalg.pinv` does not need it

the driver gels => the predictions of the best linear map
+ fitted = torch.linalg.lstsq(inputs, targets, driver="gels").solution
the driver gels assumes that no column is a combination of others; `driver="gelsd"` and the pseudo-inverse do not

projected on Q => the predictions of the best linear map
- fitted = torch.linalg.pinv(inputs) @ targets
- return inputs @ fitted
+ directions, _ = torch.linalg.qr(inputs)
+ return directions @ (directions.T @ targets)
this projects the targets on all columns of the Q of a QR decomposition; where columns of the inputs depend on each
other, Q has directions that the inputs do not have

few samples taken to be independent => the predictions of the best linear map
+ return targets if len(inputs) <= inputs.shape[1] else inputs @ torch.linalg.pinv(inputs) @ targets
this returns the targets where there are no more samples than columns; two equal samples with different targets cannot
both be hit: fit the map there too

first half of the samples (rounded up) => the predictions of the best linear map
- fitted = torch.linalg.pinv(inputs) @ targets
+ half = (len(inputs) + 1) // 2
+ fitted = torch.linalg.pinv(inputs[:half]) @ targets[:half]
this fits the map to the first half of the samples; here it is fitted to all of them

first half of the samples (rounded down) => the predictions of the best linear map
+ half = len(inputs) // 2
+ fitted = torch.linalg.pinv(inputs[:half]) @ targets[:half]
"""

SEPARABLE_MISTAKES = """
orthogonality => tells enough dimensions from too few, for any angles
- return torch.allclose(probe(inputs, targets), targets, atol=1e-4)
+ return bool((words @ positions.T).abs().max() < 1e-4)
this asks whether every word is orthogonal to every position, which is more than is needed: a matrix can keep the one
and erase the other also where they are not orthogonal

rows counted => counts what is independent, not rows
+ return len(inputs) <= inputs.shape[1]
this compares the number of rows with the width; rows that are linear combinations of others need no dimension, and
rows that do fit may still share a direction: compare the ranks

every row independent => counts what is independent, not rows
+ return bool(torch.linalg.matrix_rank(inputs) == len(inputs))
this asks that all rows of both tables be independent of each other; within a table they may be combinations of others,
as long as no combination of words is one of positions

ranks that fit the width => sees a direction that both tables share
+ rank = torch.linalg.matrix_rank
+ return bool(rank(words) + rank(positions) <= inputs.shape[1])
this asks whether both ranks fit into the width; there may be room to spare, and the two share a direction all the same:
compare with the rank of both tables together

the whole space filled => tells enough dimensions from too few, for any angles
+ return bool(torch.linalg.matrix_rank(inputs) == inputs.shape[1])
this asks whether both tables together span the whole space; they may leave room, and may fill it and overlap

full rank => tells enough dimensions from too few, for any angles
+ return bool(torch.linalg.matrix_rank(inputs) == min(inputs.shape))
this asks whether both tables together have the greatest rank that their shape allows, which two tables in too narrow a
space have; compare with the sum of the ranks that each has by itself

read from the sums => sees a direction that both tables share
- inputs = torch.cat([words, positions])
- targets = torch.cat([words, torch.zeros_like(positions)])
+ inputs = (words[:, None] + positions).flatten(0, 1)
+ targets = words.repeat_interleave(len(positions), dim=0)
this asks whether words can be predicted from the sums; the question is whether a matrix keeps each word and erases each
position *by itself*, which needs one direction more: the probe's inputs are the words and the positions, not their sums

the rank of the sums => tells enough dimensions from too few, for any angles
- return torch.allclose(probe(inputs, targets), targets, atol=1e-4)
+ rank, sums = torch.linalg.matrix_rank, (words[:, None] + positions).flatten(0, 1)
+ return bool(rank(sums) == rank(words) + rank(positions))
this looks at the rank of all sums of a word and a position, which is one less than that of both tables together as a
rule; stack the tables themselves, row under row

any new direction => sees a direction that both tables share
+ rank = torch.linalg.matrix_rank
+ return bool(rank(inputs) > rank(words))
this asks whether the positions add any direction to the words; no combination of positions may be one of words

each position by itself => sees a direction that both tables share
+ kept = probe(words.T, positions.T).T
+ return bool(((positions - kept).norm(dim=1) > 1e-4).all())
this asks whether each position by itself is a combination of words; a combination of several positions may be one too

accepts everything => tells enough dimensions from too few, for any angles
+ return True
this accepts every pair of tables; so does a test that no two sums are equal, that no row stands in both tables, or that
a map finds the words in the *words*: the same matrix must erase the positions

rejects everything => tells enough dimensions from too few, for any angles
+ return False
this accepts no pair of tables; where predictions are compared by `==`, or nearly so, rounding is the reason: allow a
difference of 1e-4

each position by itself, zeros left out => sees a direction that both tables share
- inputs = torch.cat([words, positions])
- targets = torch.cat([words, torch.zeros_like(positions)])
- return torch.allclose(probe(inputs, targets), targets, atol=1e-4)
+ inside = (positions - probe(words.T, positions.T).T).norm(dim=1) <= 1e-4
+ return not bool((inside & positions.any(dim=1)).any())
this asks whether each position by itself is a combination of words; a combination of several positions may be one too
"""

EXERCISE = Exercise(
    title="Add or concatenate, by a probe",
    difficulty=3,
    minutes=35,
    tasks=(
        Task(
            function="probe",
            parameters=("inputs", "targets"),
            returns="the predictions of the best linear map, shape (samples, d_target)",
            cases=draw_samples,
            examples=({"inputs": torch.tensor([[1.0], [1.0], [2.0]]), "targets": torch.tensor([[1.0], [3.0], [4.0]])},),
            edges=(
                {"inputs": torch.tensor([[2.0]]), "targets": torch.tensor([[3.0, -1.0]])},  # one sample, one column
                {"inputs": torch.tensor([[1.0, 2.0]]), "targets": torch.tensor([[3.0]])},  # one sample
                {
                    "inputs": torch.tensor([[1.0, 2.0], [3.0, -1.0]]),
                    "targets": torch.tensor([[1.0, 0.0], [-2.0, 4.0]]),
                },  # as many samples as columns
                {
                    "inputs": torch.tensor([[1.0, 1.0, 2.0], [2.0, 2.0, 4.0], [-1.0, -1.0, -2.0], [3.0, 3.0, 6.0]]),
                    "targets": torch.tensor([[1.0], [0.0], [2.0], [4.0]]),
                },  # columns that are multiples of one
                {
                    "inputs": torch.tensor([[1.0, 2.0, -1.0], [1.0, 2.0, -1.0]]),
                    "targets": torch.tensor([[1.0, 5.0], [3.0, -1.0]]),
                },  # fewer samples than columns, but equal ones: their targets cannot both be hit
                {
                    "inputs": torch.tensor([[1.0, 30.0], [2.0, -30.0], [1.0, 60.0]]),
                    "targets": torch.tensor([[3.0], [5.0], [-2.0]]),
                },  # columns of different sizes, which small steps downhill take long to fit
            ),
            reference=probe,
            properties=(
                Property("the predictions of the best linear map", 2, both(equals(), inputs_unchanged)),
                Property(
                    "predicts any targets where there are more columns than samples, and only there",
                    2,
                    both(equals(), on(with_few_samples, equals())),
                ),
            ),
            mistakes=PROBE_MISTAKES,
        ),
        Task(
            function="separable",
            parameters=("words", "positions"),
            returns="True where one matrix keeps every word and erases every position, else False",
            cases=draw_tables,
            examples=(
                {
                    "words": torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
                    "positions": torch.tensor([[1.0, 1.0, 1.0]]),
                },
                {
                    "words": torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
                    "positions": torch.tensor([[1.0, 1.0, 0.0]]),
                },
            ),
            edges=(
                # No position is a combination of words, but the difference of both is.
                {
                    "words": torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]),
                    "positions": torch.tensor([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0]]),
                },
                {
                    "words": torch.tensor([[1.0, 0.0]]),
                    "positions": torch.tensor([[1.0, 1.0]]),
                },  # one word, one position
                {"words": torch.tensor([[1.0, 2.0]]), "positions": torch.tensor([[-2.0, -4.0]])},  # a multiple of it
                {
                    "words": torch.tensor([[1.0, 0.0, 0.0]]),
                    "positions": torch.tensor([[0.0, 1.0, 0.0], [1.0, 1.0, 0.0]]),
                },  # neither position is a combination of words, but their difference is
                {
                    "words": torch.tensor([[1.0, 0.0, 1.0]]),
                    "positions": torch.tensor([[0.0, 0.0, 0.0], [0.0, 1.0, 1.0]]),
                },  # a position of zeros is erased by every matrix
            ),
            reference=separable,
            properties=(
                Property(
                    "tells enough dimensions from too few, for any angles", 1, tells(UPRIGHT, APART, NARROW, TIGHT)
                ),
                Property("counts what is independent, not rows", 1, tells(REPEATED, NARROW)),
                Property("sees a direction that both tables share", 2, both(equals(), tells(SHARED))),
            ),
            mistakes=SEPARABLE_MISTAKES,
        ),
    ),
    hints=(
        "For `probe`, the first part: this is least squares, for which torch.linalg has a call. For `separable`, the "
        "second part: what would the probe have to predict for a word, and what for a position?",
        "For `probe`: the predictions are the inputs times the map that the pseudo-inverse finds. For `separable`: "
        "give the probe all words and all positions as inputs, and as targets the words and zeros: are they "
        "predicted? Or compare three ranks.",
        "For `probe`: the map is `torch.linalg.pinv(inputs) @ targets`. For `separable`: the inputs "
        "`torch.cat([words, positions])` and the targets `torch.cat([words, torch.zeros_like(positions)])`, compared "
        "with the predictions by `torch.allclose` with `atol=1e-4`.",
    ),
)
