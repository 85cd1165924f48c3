"""The soft argmax: from scores to shares of one whole, and how the shares move when a score moves."""

import torch

from course_lib.shapes import check_shape


def softmax_step_by_step(scores: torch.Tensor, temperature: float = 1.0) -> torch.Tensor:
    """Turn scores (..., n) into weights (..., n): never negative, summing to one, larger where the score is larger.

    As `temperature` falls to 0 the weights approach the one-hot argmax (shared evenly among ties); as it grows they
    approach 1/n. The largest score is subtracted first, which changes no weight and keeps every exponential at or below
    1. A score of -inf gets weight 0; where all scores are -inf there is nothing to share, and the weights are nan.
    Raises ValueError for a temperature that is not positive. After Bridle (1990).

    >>> softmax_step_by_step(torch.tensor([1.0, 2.0, 3.0]))
    tensor([0.0900, 0.2447, 0.6652])
    >>> softmax_step_by_step(torch.tensor([1.0, 2.0, 3.0]), temperature=0.1)
    tensor([2.0611e-09, 4.5398e-05, 9.9995e-01])
    """
    _check(scores, temperature)
    below_the_largest = scores - scores.amax(dim=-1, keepdim=True)  # (..., n)
    exponentials = (below_the_largest / temperature).exp()  # (..., n)
    return exponentials / exponentials.sum(dim=-1, keepdim=True)  # (..., n)


def softmax(scores: torch.Tensor, temperature: float = 1.0) -> torch.Tensor:
    """Turn scores (..., n) into weights as `softmax_step_by_step` does, by torch's kernel.

    The kernel computes the same in one pass, and keeps the weights alone for the backward pass. Raises ValueError for a
    temperature that is not positive.

    >>> softmax(torch.tensor([1.0, 2.0, 3.0]))
    tensor([0.0900, 0.2447, 0.6652])
    """
    _check(scores, temperature)
    if temperature != 1:
        # The difference first: a low temperature would divide large scores out of what a float can hold.
        scores = (scores - scores.amax(dim=-1, keepdim=True)) / temperature  # (..., n)
    return scores.softmax(dim=-1)  # (..., n)


def softmax_jacobian(weights: torch.Tensor) -> torch.Tensor:
    """Return the derivative of softmax weights (..., n) by their scores: diag(p) - p pᵀ, shape (..., n, n).

    Entry (i, j) says how weight i moves when score j moves, at temperature 1; divide by any other temperature. It
    needs the weights alone, not the scores. Rows and columns sum to 0: what one weight gains, the others lose.

    >>> softmax_jacobian(torch.tensor([0.5, 0.5]))
    tensor([[ 0.2500, -0.2500],
            [-0.2500,  0.2500]])
    """
    check_shape(weights, "... n", "weights")
    outer_product = weights.unsqueeze(-1) * weights.unsqueeze(-2)  # (..., n, n)
    return torch.diag_embed(weights) - outer_product  # (..., n, n)


def _check(scores: torch.Tensor, temperature: float) -> None:
    """Raise ValueError unless there is an axis to share along, and a positive temperature."""
    check_shape(scores, "... n", "scores")
    if not temperature > 0:
        raise ValueError(f"`temperature` is {temperature}, expected a positive number")
