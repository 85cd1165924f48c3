"""Exercise 10.1, masked pooling: one vector made of the tokens that are present, by their mean or their maximum."""

import torch

from course_lib.grading.declarations.chapter_10_mean import (
    ABSENT,
    CUT,
    EMPTY,
    GRADIENTS,
    MEAN_POOLING,
    OVER_FEATURES,
    PREFIX,
    TURNED,
    WHOLE_BATCH,
    absent,
    draw_padded,
    filled,
    first_ones,
    gradients,
    infinite_padding,
    mean_pooling,
    multiplied,
    overwritten,
    zeros_for_nothing,
)
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import both, equals, inputs_unchanged, on


def max_pooling(vectors, present):
    """The greatest of what is present, feature by feature, zeros for nothing."""
    greatest = vectors.masked_fill(absent(present), -torch.inf).amax(1)
    return greatest.masked_fill(~present.any(1, keepdim=True), 0)


def all_below_zero(case: Case) -> Case:
    """Take all below zero, and let all be present."""
    return {"vectors": -case["vectors"].abs() - 0.1, "present": torch.ones_like(case["present"])}


def far_below_zero(case: Case) -> Case:
    """Take what is present so far below zero that no number which people write down is below it."""
    vectors = 1e12 * (-case["vectors"].abs() - 0.1)
    return case | {"vectors": torch.where(absent(case["present"]), case["vectors"], vectors)}


def longest_vector(vectors, present):
    """One vector, chosen as a whole."""
    chosen = vectors.norm(dim=-1).masked_fill(~present, -1).argmax(1)
    return vectors[torch.arange(len(vectors)), chosen].masked_fill(~present.any(1, keepdim=True), 0)


def farthest_from_zero(vectors, present):
    """By the absolute value, with its sign."""
    chosen = filled(vectors, present).abs().argmax(1, keepdim=True)
    return filled(vectors, present).gather(1, chosen)[:, 0]


MAX, BELOW = "of each feature the greatest among what is present", "features below zero, however far"

MAX_POOLING = Task(
    function="max_pooling",
    parameters=("vectors", "present"),
    returns="of each feature the greatest number among the vectors that are present, shape (batch, d_model)",
    cases=draw_padded,
    examples=MEAN_POOLING.examples,
    reference=max_pooling,
    properties=(
        Property(MAX, 1, both(equals(max_pooling), inputs_unchanged)),
        Property(BELOW, 1, both(on(all_below_zero, equals(max_pooling)), on(far_below_zero, equals(max_pooling)))),
        Property(ABSENT, 1, on(infinite_padding, equals(max_pooling))),
        Property(EMPTY, 1, zeros_for_nothing(max_pooling)),
        Property(GRADIENTS, 1, gradients(max_pooling)),
    ),
    misconceptions=(
        Misconception(
            "mask ignored",
            "this is the plain maximum over time: `present` was not used",
            lambda vectors, present: vectors.amax(1),
            breaks=MAX,
        ),
        *(
            Misconception(
                f"zeros compete, {said}",
                "padding was made zero, and where all that is present lies below zero, the padding wins the maximum; "
                "fill with `-torch.inf`, which loses to everything",
                lambda vectors, present, kept=kept: kept(vectors, present).amax(1),
                breaks=BELOW,
            )
            for said, kept in (("filled in", filled), ("by a product", multiplied))
        ),
        Misconception(
            "started from zero",
            "this begins with zero as the greatest so far, or cuts off below zero: no answer can be negative then; "
            "begin with `-torch.inf`",
            lambda vectors, present: max_pooling(vectors, present).clamp(min=0),
            breaks=BELOW,
        ),
        Misconception(
            "minus infinity for nothing",
            "a row without a token keeps the filling, minus infinity, and every score made of it is lost; give zeros "
            "where `present` has no True",
            lambda vectors, present: vectors.masked_fill(absent(present), -torch.inf).amax(1),
            breaks=EMPTY,
        ),
        Misconception(
            "minus infinity, times nothing",
            "a row without a token is multiplied by 0 behind the maximum, and 0 times minus infinity is nan; replace "
            "it, by `masked_fill` or `torch.where`",
            lambda vectors, present: (
                vectors.masked_fill(absent(present), -torch.inf).amax(1) * present.any(1, keepdim=True)
            ),
            breaks=EMPTY,
        ),
        Misconception(
            "minus infinity added",
            "this adds minus infinity to what is absent, and where that is infinite itself, the sum is nan; replace "
            "it, by `masked_fill` or `torch.where`",
            lambda vectors, present: (
                (vectors + torch.zeros(present.shape).masked_fill(~present, -torch.inf)[..., None])
                .amax(1)
                .masked_fill(~present.any(1, keepdim=True), 0)
            ),
            breaks=ABSENT,
        ),
        Misconception(
            "the lowest number for nothing",
            "a row without a token keeps the filling, the lowest number that float32 has; give zeros where `present` "
            "has no True",
            lambda vectors, present: vectors.masked_fill(absent(present), torch.finfo(torch.float32).min).amax(1),
            breaks=EMPTY,
        ),
        *(
            wrong
            for low in (-10.0, -100.0, -1000.0, -1e4, -1e5, -1e6, -1e8, -1e9, -1e10)
            for wrong in (
                Misconception(
                    f"filled with {low:g}",
                    f"this fills padding with {low:g}, and a feature may lie below that: padding wins then, and a row "
                    f"without a token gives {low:g}; minus infinity loses to everything, and an empty row needs care "
                    "of its own",
                    lambda vectors, present, low=low: vectors.masked_fill(absent(present), low).amax(1),
                    breaks=BELOW,
                ),
                Misconception(
                    f"filled with {low:g}, zeros for nothing",
                    f"this fills padding with {low:g}, and a feature may lie below that: padding wins then; minus "
                    "infinity loses to everything",
                    lambda vectors, present, low=low: (
                        vectors.masked_fill(absent(present), low).amax(1) * present.any(1, keepdim=True)
                    ),
                    breaks=BELOW,
                ),
            )
        ),
        *(
            Misconception(
                f"lowered by {low:g}",
                "this takes a great number off what is absent, and what is absent may be greater still: replace it, "
                "by `masked_fill` or `torch.where`",
                lambda vectors, present, low=low: (vectors - low * absent(present)).amax(1),
                breaks=ABSENT,
            )
            for low in (1e4, 1e6, 1e9)
        ),
        Misconception(
            "mask turned round",
            TURNED,
            lambda vectors, present: max_pooling(vectors, ~present),
            breaks=MAX,
        ),
        Misconception(
            "one maximum for the batch",
            WHOLE_BATCH,
            lambda vectors, present: vectors[present].amax(0),
            breaks=MAX,
        ),
        Misconception(
            "one vector chosen",
            "this picks one vector as a whole, the longest; the maximum is taken of each feature by itself, and its "
            "entries may come from different tokens",
            longest_vector,
            breaks=MAX,
        ),
        Misconception(
            "farthest from zero",
            "this takes the number farthest from zero; -3 is not greater than 1",
            farthest_from_zero,
            breaks=MAX,
        ),
        Misconception(
            "the least",
            "this is the minimum",
            lambda vectors, present: -max_pooling(-vectors, present),
            breaks=MAX,
        ),
        Misconception(
            "a mean",
            "this is the mean again; the maximum is asked for",
            mean_pooling,
            breaks=MAX,
        ),
        Misconception(
            "where it stands",
            "this tells at which place the greatest number stands; asked is the number: `.values`, not `.indices`",
            lambda vectors, present: vectors.masked_fill(absent(present), -torch.inf).argmax(1),
            breaks=MAX,
        ),
        Misconception(
            "the first ones",
            PREFIX,
            lambda vectors, present: max_pooling(vectors, first_ones(present)),
            breaks=MAX,
        ),
        Misconception(
            "along the features",
            f"this is the maximum {OVER_FEATURES}",
            lambda vectors, present: vectors.amax(-1),
            breaks=MAX,
        ),
        Misconception(
            "vectors overwritten",
            "this writes into the caller's own tensor (`vectors[~present] = ...`); `masked_fill` makes a new one",
            overwritten(-torch.inf, max_pooling),
            breaks=MAX,
        ),
        Misconception(
            "gradient lost",
            CUT,
            lambda vectors, present: max_pooling(vectors, present).detach(),
            breaks=GRADIENTS,
        ),
    ),
)

POOLING = Exercise(
    id="10.1",
    title="Masked pooling",
    difficulty=2,
    minutes=25,
    tasks=(MEAN_POOLING, MAX_POOLING),
    hints=(
        "What must padding be replaced by so that a sum does not feel it, and by what so that a maximum does not? What "
        "is left then in a row in which everything was replaced?",
        "Give the mask an axis for the features, and replace what is absent in a new tensor: by 0 for the mean, by "
        "minus infinity for the maximum. For the mean divide by the number of tokens, or by 1 where there is none; "
        "behind the maximum replace the rows that have no token.",
        "`vectors.masked_fill(~present[..., None], ...)` replaces, for both. The divisor is "
        "`present.sum(dim=1, keepdim=True)`, kept from 0 by `clamp`; the rows that have a token are "
        "`present.any(dim=1, keepdim=True)`.",
    ),
)
