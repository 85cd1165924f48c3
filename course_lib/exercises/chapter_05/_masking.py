"""What the exercises of chapter 05 share: cases, masks, and scores so far apart that no finite number hides one.

Chapters 06 and 09 use it too.
"""

import torch

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import differs
from course_lib.grading.exercise import Case
from course_lib.grading.problem import Problem

FAR = 1e30  # a gap between scores that no finite number put for a hidden score survives, unless it is as large
FAR_APART = (
    "the last key hidden alone, its dot products with queries 0, 2, ... made 1e30, those of the other keys with "
    "queries 1, 3, ... -3e30 and less"
)


def scaled_scores(query, key):
    """Dot products over the root of the width of the keys."""
    return query @ key.mT / key.shape[-1] ** 0.5


def masked_softmax(scores, mask):
    """Softmax along the last axis with minus infinity where the mask hides."""
    return scores.masked_fill(~mask, -torch.inf).softmax(-1)


def seen_or_lost(case: Case, weights: torch.Tensor, hidden: torch.Tensor, after: str) -> Problem | None:
    """Say so where something hidden has a weight, or where what is not hidden has lost its own."""
    seen = weights[hidden.expand(weights.shape)]
    if (seen != 0).any():  # so that nan counts
        got = seen[seen != 0][0].item()
        return Problem("value", case, after=after, where="a hidden weight", got=got, expected="exactly 0")
    sums = weights.sum(-1)
    wrong = differs(sums, torch.tensor(1.0))
    if not wrong.any():
        return None
    return Problem("value", case, after=after, where="the sum of a row", got=sums[wrong][0].item(), expected=1.0)


def draw_mask(generator: torch.Generator, query: int, key: int) -> torch.Tensor:
    """Draw which keys a query may attend to: something in every row, and not everything in the first."""
    mask = torch.rand(query, key, generator=generator) < 0.5
    seen = torch.randint(key, (query,), generator=generator)
    mask[torch.arange(query), seen] = True
    mask[0, (seen[0] + 1) % key] = False
    return mask


def draw_attention(generator: torch.Generator, *leading: int) -> Case:
    """Draw queries, keys and values of three widths, behind the axes `leading`, and a mask."""
    query, key, d_key, d_value = sizes(generator, 4, 5, 5, 5, least=2)
    return {
        "query": normal(generator, *leading, query, d_key),
        "key": normal(generator, *leading, key, d_key),
        "value": normal(generator, *leading, key, d_value),
        "mask": draw_mask(generator, query, key),
    }


def far_apart(case: Case) -> Case:
    """Hide the last key from every query, show all others, and put the scores of both far apart.

    For every other query, from the first on, the hidden key is far above the rest. For the queries between them the
    rest is far below zero, each key lower than the one before: all the weight is then on the first, so that no right
    way of writing a softmax has to add numbers too far apart. Divided by the root of any width that is drawn, they
    are still below -1e30, so that adding that to a hidden score does not hide it.
    """
    query, key, mask = case["query"].clone(), case["key"].clone(), torch.ones_like(case["mask"])
    mask[:, -1] = False
    query[..., :2] = 0.0
    query[..., ::2, 0] = query[..., 1::2, 1] = 1.0
    key[..., -1, 0] = FAR
    key[..., :-1, 1] = -FAR * torch.arange(3, key.shape[-2] + 2)
    return case | {"query": query, "key": key, "mask": mask}


# Edge cases of attention under a mask: axes of size one, equal keys.
OF_SIZE_ONE = (
    {  # one query and one value wide, in a batch of two
        "query": torch.tensor([[[1.0, 0.0]], [[0.0, 2.0]]]),
        "key": torch.tensor([[[1.0, 1.0], [0.0, 2.0]], [[3.0, 0.0], [1.0, 1.0]]]),
        "value": torch.tensor([[[1.0], [2.0]], [[3.0], [4.0]]]),
        "mask": torch.tensor([[False, True]]),
    },
    {  # one example, equal keys, a single key left to each query
        "query": torch.tensor([[[1.0, 0.0], [-2.0, 1.0]]]),
        "key": torch.tensor([[[3.0, 1.0], [3.0, 1.0]]]),
        "value": torch.tensor([[[1.0], [2.0]]]),
        "mask": torch.tensor([[True, False], [False, True]]),
    },
)
# Visible scores far below the hidden one: a number such as -100 does not hide it.
ALL_LOW = {
    "query": torch.tensor([[[1.0, 0.0, 0.0, 0.0]]]),
    "key": torch.tensor([[[-600.0, 0.0, 0.0, 0.0], [-602.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]]),
    "value": torch.tensor([[[4.0], [8.0], [100.0]]]),
    "mask": torch.tensor([[True, True, False]]),
}
