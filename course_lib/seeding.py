"""Where randomness starts, so that a run can be repeated."""

import os

import torch


def course_seed() -> int:
    """Return the seed of this run: the environment variable COURSE_SEED, or 0.

    `course claims` executes every chapter under several seeds by setting it. Raises ValueError when it is no integer.

    >>> course_seed()
    0
    """
    text = os.environ.get("COURSE_SEED", "0")
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"COURSE_SEED must be an integer, not {text!r}") from None


def start_reproducibly(seed: int) -> None:
    """Seed torch and make it repeat itself to the last bit on one machine.

    One thread and deterministic algorithms: the order in which numbers are added is then always the same. Another
    processor may still round differently, which is why chapters claim inequalities.

    >>> start_reproducibly(0)
    >>> first = torch.rand(3)
    >>> start_reproducibly(0)
    >>> torch.equal(first, torch.rand(3))
    True
    """
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True)
    # torch would also overwrite fresh memory with NaN, at a twentieth of the time; the course reads no fresh memory.
    torch.utils.deterministic.fill_uninitialized_memory = False
    torch.set_num_threads(1)
