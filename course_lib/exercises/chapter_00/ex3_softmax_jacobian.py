"""00.3: how each weight follows each score."""

import torch

from course_lib.exercises.drawing import probabilities, sizes
from course_lib.grading.checks import both, equals, inputs_unchanged, sums_to
from course_lib.grading.exercise import Case, Exercise, Property, Task


def softmax_jacobian(weights):
    """diag(p) minus p times its transpose."""
    return torch.diag_embed(weights) - weights[..., :, None] * weights[..., None, :]


def draw_weights(generator: torch.Generator) -> Case:
    """Draw weights with one to three axes."""
    axes = int(torch.randint(1, 4, (), generator=generator))
    return {"weights": probabilities(generator, *sizes(generator, *[4] * axes, least=2))}


MISTAKES = """
only the diagonal => rows sum to zero
- return torch.diag_embed(weights) - products
+ return torch.diag_embed(weights * (1 - weights))
this has p (1 - p) on the diagonal and 0 elsewhere, as if one score moved only its own weight; the others must give way

a vector => the derivative of each weight by each score
+ return weights * (1 - weights)
this is p (1 - p), the derivative of a sigmoid: one number for each weight, where each weight depends on all n scores

sign turned => the derivative of each weight by each score
+ return products - torch.diag_embed(weights)
this is the negative: raising a score must raise its own weight

no product => rows sum to zero
+ return torch.diag_embed(weights)
this is diag(p) alone: the term - p_i p_j, by which the weights compete, is missing

added for subtracted => rows sum to zero
+ return torch.diag_embed(weights) + products
this adds the products p_i p_j; they are subtracted: what one weight gains, the others lose

one vector only (1) => the derivative of each weight by each score
+ return weights.diag() - weights.outer(weights)
this is right for one vector of n weights, as `torch.outer`, `torch.diag`, `.T` and `[:, None]` are; any leading axes
must work, (..., n): use `torch.diag_embed`, and new axes counted from the end, `[..., :, None]`

one vector only (2) => the derivative of each weight by each score
+ return weights.diag() - products

one vector only (3) => the derivative of each weight by each score
+ return weights.diag() - weights[:, None] * weights[None]

one vector only (4) => the derivative of each weight by each score
+ return torch.diag_embed(weights) - weights[:, None] * weights[None]

one vector only (5) => the derivative of each weight by each score
+ return torch.diag_embed(weights) - weights[..., None] @ weights[..., None].T

identity for diag(p) => rows sum to zero
+ return torch.eye(weights.shape[-1]) - products
this has 1 on the diagonal before the product is subtracted; p belongs there

softmax once more => the derivative of each weight by each score
- products = weights[..., :, None] * weights[..., None, :]
+ weights = weights.softmax(dim=-1)
+ products = weights[..., :, None] * weights[..., None, :]
this takes the softmax of the weights, which come from a softmax already; use the weights as they are

no product on the diagonal => rows sum to zero
+ products = weights[..., :, None] * weights[..., None, :] * (1 - torch.eye(weights.shape[-1]))
this subtracts the products p_i p_j off the diagonal only; they are subtracted on the diagonal too

1 for each pair => rows sum to zero
- return torch.diag_embed(weights) - products
+ return weights[..., :, None] - products
this has p_i (1 - p_j) everywhere; the 1 belongs on the diagonal only, and p_i (0 - p_j) elsewhere

one new axis only => the derivative of each weight by each score
- products = weights[..., :, None] * weights[..., None, :]
+ products = weights[..., :, None] * weights
`weights` without a new axis of its own meets the rows of other examples where there are leading axes;
`weights[..., None, :]` keeps each with its own

divided by the weight => rows sum to zero
- products = weights[..., :, None] * weights[..., None, :]
- return torch.diag_embed(weights) - products
+ products = weights[..., :, None] * weights[..., None, :]
+ return products * (torch.eye(weights.shape[-1]) / weights[..., None, :] - 1)
this divides by the weights, and a weight may be 0, which gives 0 times infinity, nan; the diagonal is p - p * p, and
needs no division

one weight twice off the diagonal => rows sum to zero
- products = weights[..., :, None] * weights[..., None, :]
- return torch.diag_embed(weights) - products
+ squares = (weights * weights)[..., :, None].expand(*weights.shape, weights.shape[-1])
+ return torch.diag_embed(weights) - squares
off the diagonal this has minus p_i squared, the same weight twice; it is minus p_i p_j, a product of two different
weights, `weights[..., :, None] * weights[..., None, :]`

the sign lost off the diagonal => rows sum to zero
+ products = weights[..., :, None] * weights[..., None, :]
+ return (torch.diag_embed(weights) - products).abs()
off the diagonal the minus is missing: a greater score of one takes weight from the others, - p_i p_j
"""

EXERCISE = Exercise(
    title="The Jacobian of the softmax",
    difficulty=2,
    minutes=20,
    tasks=(
        Task(
            function="softmax_jacobian",
            parameters=("weights",),
            returns="the derivative of each weight by each score, shape (..., n, n)",
            cases=draw_weights,
            examples=({"weights": torch.tensor([0.25, 0.75])}, {"weights": torch.tensor([[0.5, 0.5], [0.2, 0.8]])}),
            edges=(
                {"weights": torch.tensor([[1.0], [1.0]])},  # a single weight never changes
                {"weights": torch.tensor([[0.0, 1.0]])},  # one row, a weight of 0
                {
                    "weights": torch.tensor([[[0.5, 0.5]], [[0.25, 0.75]]])
                },  # two leading axes, one of them of one; a tie
            ),
            reference=softmax_jacobian,
            properties=(
                Property("rows sum to zero", 1, sums_to(0)),
                Property("the derivative of each weight by each score", 3, both(equals(), inputs_unchanged)),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "If one score rises, what happens to its own weight, and what to the others, so that they still sum to one?",
        "Build two tensors of shape (..., n, n): one with the weights on the diagonal, one with every product "
        "p_i p_j. Subtract the second from the first.",
        "`torch.diag_embed(weights)` is the first; for the second give the weights a new last axis and a new last but "
        "one axis, `weights[..., :, None] * weights[..., None, :]`.",
    ),
)
