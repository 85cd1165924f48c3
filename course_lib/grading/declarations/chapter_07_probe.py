"""Exercise 07.5, add or concatenate: what a linear probe can read, and when a sum can be taken apart."""

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.drawing import normal, sizes
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import Judge, both, equals, inputs_unchanged, on
from course_lib.grading.wording import describe_case, describe_kind

# ---------------------------------------------------------------- the probe


def probe(inputs, targets):
    """Predictions of the linear map without bias that has the least squared error."""
    return inputs @ (torch.linalg.pinv(inputs) @ targets)


def normal_equations(inputs, targets):
    """The textbook's inverse, which is there only where the columns are independent."""
    return inputs @ torch.linalg.inv(inputs.T @ inputs) @ inputs.T @ targets


def with_bias(inputs, targets):
    """A column of ones beside the inputs."""
    return probe(torch.cat([inputs, torch.ones(len(inputs), 1)], 1), targets)


def draw_samples(generator: torch.Generator) -> Case:
    """Draw more samples than columns; neither has the mean 0."""
    columns, more, targets = sizes(generator, 3, 4, 3)
    samples = 2 * columns + more
    return {"inputs": normal(generator, samples, columns) + 0.5, "targets": normal(generator, samples, targets) + 0.5}


def with_few_samples(case: Case) -> Case:
    """Exchange rows and columns, and put more columns before: any targets can then be hit, in more than one way."""
    inputs = case["inputs"].T
    return {"inputs": torch.cat([torch.eye(len(inputs)), inputs], 1), "targets": case["targets"][: len(inputs)]}


BEST = "the predictions of the best linear map"
FEW = "hits everything where columns outnumber the samples, and only there"

# ---------------------------------------------------------------- sums that can be taken apart


def rank(table):
    """How many rows are independent."""
    return torch.linalg.matrix_rank(table)


def separable(words, positions):
    """Whether the two spans have nothing but 0 in common."""
    return rank(torch.cat([words, positions])) == rank(words) + rank(positions)


def rank_of_the_sums(words, positions):
    """The ranks compared with that of all sums."""
    return rank((words[:, None] + positions).flatten(0, 1)) == rank(words) + rank(positions)


def read_from_the_sums(words, positions):
    """Whether a probe finds each word in its sum with each position."""
    sums = (words[:, None] + positions).flatten(0, 1)
    targets = words.repeat_interleave(len(positions), 0)
    return truth(torch.allclose(probe(sums, targets), targets, atol=1e-4))


def truth(value):
    """A truth value as a tensor."""
    return torch.tensor(bool(value))


# In all tables below, those singular values that are not 0 by construction are about 1. What counts as 0 is then no
# question of the last digit, on which torch.linalg.lstsq gives two answers to one question.


def orthonormal(rows: torch.Tensor, width: int) -> torch.Tensor:
    """Return `width` rows of length 1 at right angles, made of the numbers in so many rows and columns."""
    return torch.linalg.qr(rows[:width, :width].T).Q.T.contiguous()


def leaning(rows: torch.Tensor, vocabulary: int) -> Case:
    """Return the first rows as words, and the rest as positions that all lean towards the first word."""
    return {"words": rows[:vocabulary], "positions": rows[vocabulary:] + rows[:1] / 2}


def draw_tables(generator: torch.Generator) -> Case:
    """Draw two tables with room to spare: the rows of both are independent, and far from orthogonal."""
    vocabulary, time, spare = sizes(generator, 3, 3, 2)
    rows = orthonormal(normal(generator, vocabulary + time, vocabulary + time), vocabulary + time)
    return leaning(torch.cat([rows, normal(generator, vocabulary + time, spare)], 1), vocabulary)


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


def tells(*questions: tuple) -> Judge:
    """The answer is right about what each change makes of the case; each judgement has a True and a False."""

    def judge(call: Call, case: Case) -> str | None:
        drawn = case if call.expected(separable, case) else roomy(case)
        asked = [(change(drawn), due, what) for change, due, what in questions]
        for tables, due, what, answer in [(*each, call(each[0])) for each in asked]:
            if answer.shape or answer.dtype != torch.bool:
                return f"{describe_case(tables)}: came {describe_kind(answer)}, expected True or False"
            if bool(answer) != due:
                return f"{describe_case(tables)}, {what}: came {bool(answer)}, expected {due}"
        return None

    return judge


APART = (itself, True, "all rows of both tables independent, every position leaning towards a word")
UPRIGHT = (at_right_angles, True, "all rows orthogonal")
NARROW = (narrowed, False, "too narrow for both tables")
TIGHT = (tight, False, "too narrow for both tables by one column")
REPEATED = (repeated, True, "independent tables, each with its rows three times, as they are, negative and doubled")
SHARED = (sharing, False, "one position is a mixture of words, and there are empty columns")

ROOM = "tells enough room from too little, whatever the angles"
ROWS = "counts what is independent, not rows"
COMMON = "sees a direction that both tables share"

PROBE = Exercise(
    id="07.5",
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
            reference=probe,
            properties=(
                Property(BEST, 2, both(equals(probe), inputs_unchanged)),
                Property(FEW, 2, both(equals(probe), on(with_few_samples, equals(probe)))),
            ),
            misconceptions=(
                Misconception(
                    "the map itself",
                    "this returns the map, (d, d_target); asked are its predictions: multiply the inputs by it",
                    lambda inputs, targets: torch.linalg.pinv(inputs) @ targets,
                    breaks=BEST,
                ),
                Misconception(
                    "what is left over",
                    "this is what the map does not explain, targets less predictions; asked are the predictions",
                    lambda inputs, targets: targets - probe(inputs, targets),
                    breaks=BEST,
                ),
                Misconception(
                    "the targets themselves",
                    "these are the targets; a prediction comes from the inputs and may miss",
                    lambda inputs, targets: targets,
                    breaks=BEST,
                ),
                Misconception(
                    "no inverse",
                    "this multiplies by the transpose of the inputs where the (pseudo-)inverse belongs; the two agree "
                    "only where the columns are orthogonal and of length 1",
                    lambda inputs, targets: inputs @ (inputs.T @ targets),
                    breaks=BEST,
                ),
                Misconception(
                    "with a bias",
                    "this fits a bias as well, a column of ones, or the means taken off before; the map asked for has "
                    "none",
                    with_bias,
                    breaks=BEST,
                ),
                Misconception(
                    "the wrong way round",
                    "this predicts the inputs from the targets: in `lstsq(a, b)` the inputs come first",
                    lambda inputs, targets: probe(targets, inputs),
                    breaks=BEST,
                ),
                Misconception(
                    "the inverse of the textbook",
                    "this inverts `inputs.T @ inputs`, which has no inverse where columns repeat each other or are "
                    "more than the samples, as in every wide space with few words; `torch.linalg.pinv` does without it",
                    normal_equations,
                    breaks=FEW,
                ),
            ),
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
            reference=separable,
            properties=(
                Property(ROOM, 1, tells(UPRIGHT, APART, NARROW, TIGHT)),
                Property(ROWS, 1, tells(REPEATED, NARROW)),
                Property(COMMON, 2, both(equals(separable), tells(SHARED))),
            ),
            misconceptions=(
                Misconception(
                    "orthogonality",
                    "this asks whether every word is orthogonal to every position, which is more than is needed: a "
                    "matrix can keep the one and erase the other also where they lean towards each other",
                    lambda words, positions: truth((words @ positions.T).abs().max() < 1e-4),
                    breaks=ROOM,
                ),
                Misconception(
                    "rows counted",
                    "this compares the number of rows with the width; rows that are mixtures of others need no room, "
                    "and rows that do fit may still share a direction: it is the ranks that count",
                    lambda words, positions: truth(len(words) + len(positions) <= words.shape[1]),
                    breaks=ROWS,
                ),
                Misconception(
                    "every row independent",
                    "this asks that all rows of both tables be independent of each other; within a table they may be "
                    "mixtures of others, as long as no mixture of words is one of positions",
                    lambda words, positions: truth(rank(torch.cat([words, positions])) == len(words) + len(positions)),
                    breaks=ROWS,
                ),
                Misconception(
                    "ranks that fit the width",
                    "this asks whether both ranks fit into the width; there may be room to spare, and the two share a "
                    "direction all the same: compare with the rank of both tables together",
                    lambda words, positions: truth(rank(words) + rank(positions) <= words.shape[1]),
                    breaks=COMMON,
                ),
                Misconception(
                    "the whole space filled",
                    "this asks whether both tables together span the whole space; they may leave room, and may fill it "
                    "and overlap",
                    lambda words, positions: truth(rank(torch.cat([words, positions])) == words.shape[1]),
                    breaks=ROOM,
                ),
                Misconception(
                    "full rank",
                    "this asks whether both tables together have the greatest rank that their shape allows, which two "
                    "tables in too narrow a space have; compare with the sum of the ranks that each has by itself",
                    lambda words, positions: truth(
                        rank(torch.cat([words, positions])) == min(torch.cat([words, positions]).shape)
                    ),
                    breaks=ROOM,
                ),
                Misconception(
                    "read from the sums",
                    "this asks whether words can be read from the sums that there are; asked is a matrix that keeps "
                    "each word and erases each position *by itself*, which needs one direction more: the probe's "
                    "inputs are the words and the positions, not their sums",
                    read_from_the_sums,
                    breaks=COMMON,
                ),
                Misconception(
                    "the rank of the sums",
                    "this looks at the rank of all sums of a word and a position, which is one less than that of both "
                    "tables together as a rule; stack the tables themselves, row under row",
                    rank_of_the_sums,
                    breaks=ROOM,
                ),
                Misconception(
                    "accepts everything",
                    "this accepts every pair of tables; so does a test that no two sums are equal, that no row stands "
                    "in both tables, or that a map finds the words in the *words*: the same matrix must erase the "
                    "positions",
                    lambda words, positions: truth(True),
                    breaks=ROOM,
                ),
                Misconception(
                    "rejects everything",
                    "this accepts no pair of tables; where predictions are compared by `==`, or nearly so, rounding is "
                    "the reason: allow a difference of 1e-4",
                    lambda words, positions: truth(False),
                    breaks=ROOM,
                ),
            ),
        ),
    ),
    hints=(
        "The first part is least squares, for which torch.linalg has a call. For the second: what would the probe have "
        "to give for a word, and what for a position?",
        "The predictions are the inputs times the map that the pseudo-inverse finds. Then give the probe all words and "
        "all positions as inputs, and as targets the words and zeros: does it hit them? Or compare three ranks.",
        "The map is `torch.linalg.pinv(inputs) @ targets`. For the tables, the inputs `torch.cat([words, positions])` "
        "and the targets `torch.cat([words, torch.zeros_like(positions)])`, compared with the predictions by "
        "`torch.allclose` with `atol=1e-4`.",
    ),
)
