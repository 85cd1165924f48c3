"""One vector for a whole sequence, whatever its length: an average or a maximum over the tokens that are there."""

import torch

from course_lib.shapes import check_shape


def mean_pool(vectors: torch.Tensor, present: torch.Tensor) -> torch.Tensor:
    """Return the mean (batch, d) of the vectors (batch, time, d) where `present` (batch, time) is True.

    Raises ValueError where the shapes do not fit and for a sequence with no token at all, TypeError unless `present` is
    boolean.

    >>> vectors = torch.tensor([[[2.0], [4.0], [99.0]]])
    >>> mean_pool(vectors, torch.tensor([[True, True, False]]))
    tensor([[3.]])
    """
    _check_present(vectors, present)
    total = vectors.masked_fill(~present.unsqueeze(-1), 0.0).sum(dim=1)  # (batch, d)
    return total / present.sum(dim=1, keepdim=True)  # (batch, d)


def max_pool(vectors: torch.Tensor, present: torch.Tensor) -> torch.Tensor:
    """Return the largest value (batch, d) of each feature of the vectors (batch, time, d) where `present` is True.

    Errors as in `mean_pool`.

    >>> vectors = torch.tensor([[[-2.0], [-4.0], [0.0]]])
    >>> max_pool(vectors, torch.tensor([[True, True, False]]))
    tensor([[-2.]])
    """
    _check_present(vectors, present)
    return vectors.masked_fill(~present.unsqueeze(-1), -torch.inf).amax(dim=1)  # (batch, d)


def _check_present(vectors: torch.Tensor, present: torch.Tensor) -> None:
    sizes = check_shape(vectors, "batch time d", "vectors")
    check_shape(present, "batch time", "present", batch=sizes["batch"], time=sizes["time"])
    if present.dtype != torch.bool:
        raise TypeError(f"`present` is of {present.dtype}, expected torch.bool, True where there is a token")
    if not present.any(dim=1).all():
        raise ValueError("`present` has a row without a token, expected at least one in each: nothing has no average")
