"""Where a run computes: the processor, an NVIDIA GPU (cuda) or the graphics of a Mac (mps)."""

import torch

from course_lib.project import CourseError
from course_lib.ranks import world_size

DEVICES = ("cuda", "mps", "cpu")  # the fastest first
WHAT_IS_MISSING = {"cuda": "torch finds no GPU here", "mps": "torch finds no graphics of a Mac here"}


def available() -> list[str]:
    """Return the devices of this machine that can be trained on, the fastest first."""
    alone = world_size() == 1  # several processes have no way to add up what they hold on mps
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available() and alone, "cpu": True}
    return [device for device in DEVICES if there[device]]


def choose(wanted: str | None = None) -> str:
    """Return the device that is wanted, by default the fastest; raises CourseError for one that is not to be had."""
    there = available()
    if wanted is None:
        return there[0]
    if wanted not in there:
        reason = WHAT_IS_MISSING.get(wanted, "there is none of that name")
        if wanted == "mps" and world_size() > 1:
            reason = "several processes cannot share the graphics of a Mac"
        raise CourseError(f"`--device` is {wanted!r}, but {reason}: expected one of {', '.join(there)}")
    return wanted


def start_draws(device: str) -> None:
    """Start what a device draws on its own with the seed that torch's own generator began with.

    `Training` does so at each step for the processor and for cuda.
    """
    if device == "mps":
        torch.mps.manual_seed(torch.initial_seed())
