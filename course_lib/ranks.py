"""Several processes that train one model: who am I, how many are we, what do we have together?

Without `torch.distributed`, there is one process, of rank 0.
"""

import torch
from torch import distributed


def rank() -> int:
    """Return the number of this process, from 0.

    >>> rank()
    0
    """
    return distributed.get_rank() if _together() else 0


def world_size() -> int:
    """Return how many processes there are.

    >>> world_size()
    1
    """
    return distributed.get_world_size() if _together() else 1


def sum_over_ranks(tensor: torch.Tensor) -> torch.Tensor:
    """Return the sum of what every process passes, the same in all of them; all must call this at the same point.

    >>> sum_over_ranks(torch.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    if not _together():
        return tensor
    total = tensor.clone()
    distributed.all_reduce(total)
    return total


def _together() -> bool:
    return distributed.is_available() and distributed.is_initialized()
