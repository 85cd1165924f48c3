"""Random sizes and tensors for cases: every draw comes from the generator that the judging seeds."""

import torch


def sizes(generator: torch.Generator, *greatest: int, least: int = 1) -> list[int]:
    """Draw one size for each entry of `greatest`, from `least` up to and including it.

    >>> sizes(torch.Generator(), 1, 1)
    [1, 1]
    """
    return [int(torch.randint(least, most + 1, (), generator=generator)) for most in greatest]


def normal(generator: torch.Generator, *shape: int) -> torch.Tensor:
    """Draw independent normal numbers."""
    return torch.randn(*shape, generator=generator)


def probabilities(generator: torch.Generator, *shape: int) -> torch.Tensor:
    """Draw positive numbers that sum to one along the last axis, far enough from equal."""
    return (2 * normal(generator, *shape)).softmax(-1)


def uniform(generator: torch.Generator, least: float, greatest: float) -> float:
    """Draw one number between two bounds."""
    return least + (greatest - least) * float(torch.rand((), generator=generator))
