"""Model FLOPs utilisation (Chowdhery et al., 2023): the share of the processor's peak that a training step uses."""

import torch

from benchmarks.implementations import Sizes
from benchmarks.measuring import Candidate

SIDE = 1024  # rows and columns of the matrices of the peak; measured in the same rounds as the steps


def matrix_product(side: int = SIDE, device: str = "cpu", dtype: torch.dtype = torch.float32) -> Candidate:
    """Return what is as fast as this processor gets: one large product of matrices, on one thread or one GPU."""
    one, other, product = (torch.randn(side, side, device=device, dtype=dtype) for _ in range(3))
    return Candidate(f"a product of matrices of {side} by {side}", lambda: torch.mm(one, other, out=product))


def utilisation(
    parameters: int, sizes: Sizes, batch: int, time: int, step: float, peak: float, side: int = SIDE
) -> float:
    """Return the share of the peak that a step of `step` seconds uses, where the product took `peak` seconds.

    A step needs 6 operations for each parameter and token: 2 on the way forward and 4 on the way back. Attention needs
    12 · layers · width · time for each token if every position reads every other one; under a causal mask, half.

    >>> sizes = Sizes(vocab=96, width=192, heads=6, layers=4, context=512)
    >>> utilisation(1_800_000, sizes, batch=8, time=128, step=1.0, peak=1.0) > 5
    True
    """
    tokens = batch * time
    needed = 6 * parameters * tokens + 6 * sizes.layers * sizes.width * time * tokens
    return (needed / step) / (2 * side**3 / peak)
