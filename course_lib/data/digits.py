"""Handwritten digits, eight by eight pixels: 1,797 small pictures that scikit-learn carries with it."""

from dataclasses import dataclass
from functools import cache

import torch
from sklearn.datasets import load_digits

TRAINING = 1_437  # of 1,797 pictures
BRIGHTEST = 16


@dataclass(frozen=True)
class Digits:
    """A set of pictures with what they show.

    images: (picture, 1, 8, 8), from 0 (paper) to 1 (ink). labels: (picture,), the digit.
    """

    images: torch.Tensor
    labels: torch.Tensor

    def __len__(self) -> int:
        return len(self.images)


def digits(held_out: bool = False) -> Digits:
    """Return the pictures for training, or those held out; the two are the same on every machine.

    They come from Alpaydin and Kaynak's Optical Recognition of Handwritten Digits (1998) in the UCI repository, where
    scikit-learn took its test set.

    >>> len(digits()), len(digits(held_out=True)), digits().images.shape[1:]
    (1437, 360, torch.Size([1, 8, 8]))
    """
    images, labels = _shuffled()
    chosen = slice(TRAINING, None) if held_out else slice(TRAINING)
    return Digits(images[chosen], labels[chosen])


def describe() -> None:
    """Print what the set holds and ten pictures in letters.

    >>> describe()  # doctest: +ELLIPSIS
    digits: 1437 pictures of 8 x 8 pixels to train with, 360 held out
    ...
    """
    print(f"digits: {TRAINING} pictures of 8 x 8 pixels to train with, {len(digits(held_out=True))} held out")
    first = digits()
    for picture, label in zip(first.images[:10, 0], first.labels[:10], strict=True):
        print(f"  {label}")
        for row in picture:
            print("    " + "".join(" .:oO@"[int(5 * ink)] for ink in row.tolist()).rstrip())


@cache
def _shuffled() -> tuple[torch.Tensor, torch.Tensor]:
    """Return all images and labels in one random order: neighbours in the file are by the same hand."""
    loaded = load_digits()
    order = torch.randperm(len(loaded.target), generator=torch.Generator().manual_seed(0))  # (picture,)
    images = torch.tensor(loaded.images, dtype=torch.float32).unsqueeze(1) / BRIGHTEST  # (picture, 1, 8, 8)
    return images[order], torch.tensor(loaded.target)[order]
