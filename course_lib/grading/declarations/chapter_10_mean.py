"""The first half of exercise 10.1, the mean over the tokens that are present; what a maximum needs too."""

from collections.abc import Callable

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.drawing import normal, sizes
from course_lib.grading.exercise import Case, Misconception, Property, Task
from course_lib.grading.judges import (
    Judge,
    answer_like,
    both,
    difference,
    equals,
    gradients_equal,
    inputs_unchanged,
    on,
)
from course_lib.grading.wording import describe_case


def absent(present: torch.Tensor) -> torch.Tensor:
    """Give the opposite of a mask an axis for the features."""
    return ~present[..., None]


def mean_pooling(vectors, present):
    """Sum of what is present over how much it is, zeros for nothing."""
    return vectors.masked_fill(absent(present), 0).sum(1) / present.sum(1, keepdim=True).clamp(min=1)


def draw_padded(generator: torch.Generator) -> Case:
    """Draw vectors, of which in every row something is present, and in the first not all; some of these are zero."""
    batch, time, d_model = sizes(generator, 4, 5, 5)
    time += 1
    vectors, present = 2 * normal(generator, batch, time, d_model), torch.zeros(batch, time, dtype=torch.bool)
    for row in range(batch):
        order, [count] = torch.randperm(time, generator=generator), sizes(generator, time - (row == 0))
        present[row, order[:count]] = True
        if count > 1:
            vectors[row, order[0]] = 0
    return {"vectors": vectors, "present": present}


def infinite_padding(case: Case) -> Case:
    """Make every other feature of what is absent infinite, the others minus infinite."""
    signs = torch.where(torch.arange(case["vectors"].shape[2]) % 2 == 0, torch.inf, -torch.inf)
    return case | {"vectors": torch.where(absent(case["present"]), signs, case["vectors"])}


def nothing_in_row_0(case: Case) -> Case:
    """Leave the first row without a token."""
    return case | {"present": case["present"] & (torch.arange(len(case["present"])) > 0)[:, None]}


def with_an_empty_row(case: Case) -> Case:
    """Add a row without a token to the others, which carry a gradient however a batch is put together."""
    nothing = torch.zeros_like(case["present"][:1])
    return {
        "vectors": torch.cat([case["vectors"][:1], case["vectors"]]),
        "present": torch.cat([nothing, case["present"]]),
    }


def zeros_for_nothing(reference: Callable[..., torch.Tensor]) -> Judge:
    """Empty the first row and look at that row alone: the pooling of the others is another property."""

    def judge(call: Call, case: Case) -> str | None:
        emptied = nothing_in_row_0(case)
        answer, expected = answer_like(reference, call, emptied)
        found = difference(answer[0], expected[0])
        return f"{describe_case(emptied)}: for row 0, in which nothing is present, {found}" if found else None

    return judge


def gradients(reference: Callable[..., torch.Tensor]) -> Judge:
    """The gradients are right, and finite where a row is empty."""
    return both(gradients_equal(reference), on(with_an_empty_row, gradients_equal(reference)))


def first_ones(present: torch.Tensor) -> torch.Tensor:
    """As many as are present, from the left."""
    return torch.arange(present.shape[1]) < present.sum(1, keepdim=True)


def overwritten(filling: float, pool: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Return the pooling that writes into the caller's vectors."""

    def answer(vectors, present):
        copy = vectors.clone()
        vectors[~present] = filling
        return pool(copy, present)

    return answer


def filled(vectors, present):
    """Zeros where nothing is."""
    return vectors.masked_fill(absent(present), 0)


def multiplied(vectors, present):
    """A product with zeros and ones."""
    return vectors * present[..., None]


MEAN = "the mean of the vectors that are present"
ABSENT, EMPTY = "what is absent counts for nothing, be it infinite", "a row without a token gives zeros"
GRADIENTS = "gradients, also where a row is empty"

CUT = "the numbers are right and the gradient is not: a tensor was cut out of the graph (`.detach()`, `.item()`)"
OVER_FEATURES = "of each vector by itself, along its features; to pool is to go along `time`, axis 1"
WHOLE_BATCH = (
    "`vectors[present]` puts the tokens of all sequences into one row, and they are pooled together; every sequence is "
    "pooled by itself"
)
PREFIX = (
    "this takes as many vectors from the left as are present; padding may stand anywhere, and the mask says where: "
    "select with `present` itself"
)
TURNED = "this pools what is absent: `present` is True where a token stands"

MEAN_POOLING = Task(
    function="mean_pooling",
    parameters=("vectors", "present"),
    returns="the mean of the vectors that are present, shape (batch, d_model)",
    cases=draw_padded,
    examples=(
        {
            "vectors": torch.tensor([[[-1.0, -4.0], [-3.0, -2.0], [7.0, 7.0]]]),
            "present": torch.tensor([[True, True, False]]),
        },
        {
            "vectors": torch.tensor([[[9.0], [-2.0], [0.0]], [[5.0], [5.0], [5.0]]]),
            "present": torch.tensor([[False, True, True], [False, False, False]]),
        },
    ),
    reference=mean_pooling,
    properties=(
        Property(MEAN, 2, both(equals(mean_pooling), inputs_unchanged)),
        Property(ABSENT, 1, on(infinite_padding, equals(mean_pooling))),
        Property(EMPTY, 1, zeros_for_nothing(mean_pooling)),
        Property(GRADIENTS, 1, gradients(mean_pooling)),
    ),
    misconceptions=(
        Misconception(
            "mask ignored",
            "this is the plain mean over time: `present` was not used",
            lambda vectors, present: vectors.mean(1),
            breaks=MEAN,
        ),
        Misconception(
            "0 times infinity",
            "this multiplies by the mask, and 0 times infinity is nan: what is absent must be replaced, by "
            "`masked_fill` or `torch.where`, not multiplied",
            lambda vectors, present: multiplied(vectors, present).sum(1) / present.sum(1, keepdim=True).clamp(min=1),
            breaks=ABSENT,
        ),
        Misconception(
            "0 times infinity, mended",
            "this multiplies by the mask, 0 times infinity is nan, and `nan_to_num` makes 0 of the mean in which it "
            "stands; what is absent must be replaced, by `masked_fill` or `torch.where`, not multiplied",
            lambda vectors, present: (multiplied(vectors, present).sum(1) / present.sum(1, keepdim=True)).nan_to_num(0),
            breaks=ABSENT,
        ),
        Misconception(
            "one mean for the batch",
            WHOLE_BATCH,
            lambda vectors, present: vectors[present].mean(0),
            breaks=MEAN,
        ),
        *(
            Misconception(
                f"no keepdim{said}{divided}",
                "the counts have the shape (batch,) here and are laid along the features; `keepdim=True` leaves "
                "(batch, 1), one count for each row",
                lambda vectors, present, kept=kept, least=least: (
                    kept(vectors, present).sum(1) / present.sum(1).clamp(min=least)
                ),
                breaks=MEAN,
            )
            for said, kept in (("", filled), (", by a product", multiplied))
            for divided, least in (("", 1), (" and 0 / 0", 0))
        ),
        *(
            wrong
            for said, kept in (("", filled), (", by a product", multiplied))
            for wrong in (
                Misconception(
                    f"divided by the length{said}",
                    "this divides by the whole length, padding included; divide by how many are present",
                    lambda vectors, present, kept=kept: kept(vectors, present).mean(1),
                    breaks=MEAN,
                ),
                Misconception(
                    f"zero divided by zero{said}",
                    "this divides by the count even where it is 0, and 0 / 0 is nan",
                    lambda vectors, present, kept=kept: kept(vectors, present).sum(1) / present.sum(1, keepdim=True),
                    breaks=EMPTY,
                ),
                Misconception(
                    f"counted over the batch{said}",
                    "this divides by how many are present in the whole batch; every sequence has a count of its own",
                    lambda vectors, present, kept=kept: kept(vectors, present).sum(1) / present.sum().clamp(min=1),
                    breaks=MEAN,
                ),
                Misconception(
                    f"vectors of zeros not counted{said}",
                    "this leaves vectors of zeros out of the count, as if they were padding; `present` says what "
                    "counts, and a vector of zeros that is present pulls the mean towards zero",
                    lambda vectors, present, kept=kept: (
                        kept(vectors, present).sum(1)
                        / (present & (vectors != 0).any(-1)).sum(1, keepdim=True).clamp(min=1)
                    ),
                    breaks=MEAN,
                ),
                Misconception(
                    f"a sum{said}",
                    "this is the sum: it grows with the length of the sequence; divide by how many are present",
                    lambda vectors, present, kept=kept: kept(vectors, present).sum(1),
                    breaks=MEAN,
                ),
            )
        ),
        Misconception(
            "mask turned round",
            TURNED,
            lambda vectors, present: mean_pooling(vectors, ~present),
            breaks=MEAN,
        ),
        Misconception(
            "the first ones",
            PREFIX,
            lambda vectors, present: mean_pooling(vectors, first_ones(present)),
            breaks=MEAN,
        ),
        Misconception(
            "along the features",
            f"this is the mean {OVER_FEATURES}",
            lambda vectors, present: vectors.mean(-1),
            breaks=MEAN,
        ),
        Misconception(
            "vectors overwritten",
            "this writes zeros into the caller's own tensor (`vectors[~present] = 0`); `masked_fill` makes a new one",
            overwritten(0, mean_pooling),
            breaks=MEAN,
        ),
        Misconception(
            "gradient lost",
            CUT,
            lambda vectors, present: mean_pooling(vectors, present).detach(),
            breaks=GRADIENTS,
        ),
    ),
)
