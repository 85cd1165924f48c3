"""Where a captioner looked, word by word."""

from collections.abc import Sequence
from html import escape

import torch
from einops import rearrange, repeat
from IPython.display import HTML

from course_lib.explorers.markup import explorer
from course_lib.explorers.pictures import picture
from course_lib.shapes import check_shape

DARK = 0.18  # the light on a location without weight, as in looking_explorer.js


def explore_looking(images: torch.Tensor, captions: Sequence[Sequence[str]], weights: torch.Tensor) -> HTML:
    """Return an explorer in which the reader chooses a word and sees where the captioner looked.

    `images` is (scene, 3, side, side) from 0 to 1, `captions` the words of each scene, `weights` (scene, word,
    location) on a square grid whose side divides that of the image; another number of locations is a ValueError.
    Without script, the first picture stands there, and beside it the same picture as lit for the first word of its
    caption.

    >>> shown = explore_looking(torch.zeros(1, 3, 4, 4), [["red"]], torch.full((1, 1, 4), 0.25))
    >>> '"words": ["red"], "weights": [[0.25, 0.25, 0.25, 0.25]]' in shown.data
    True
    >>> shown.data.count("<img"), "<figcaption>“red”</figcaption>" in shown.data
    (2, True)
    """
    sizes = check_shape(images, "scene 3 side side", "images")
    places = check_shape(weights, "scene word location", "weights", scene=sizes["scene"])["location"]
    if sizes["side"] % places**0.5:  # no whole number, or one that leaves a rest
        raise ValueError(f"{places} locations are no square grid over an image with a side of {sizes['side']} pixels")
    scenes = []
    for image, caption, rows in zip(images, captions, weights, strict=True):
        pixels = (255 * rearrange(image.clamp(0, 1), "rgb y x -> (y x rgb)")).round().int().tolist()
        rounded = [[round(weight, 3) for weight in row] for row in rows[: len(caption)].tolist()]
        scenes.append({"side": sizes["side"], "pixels": pixels, "words": list(caption), "weights": rounded})
    word = escape(captions[0][0])
    figure = _captioned(images[0], "the picture", "A picture with two objects") + _captioned(
        _lit(images[0], weights[0, 0]), f"“{word}”", f"The picture as lit when the captioner wrote “{word}”"
    )
    return explorer("looking", scenes, figure, "choose a word, and see where the captioner looks")


def _lit(image: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Return the image (3, side, side) under the light of weights (location,), the largest at full light."""
    across = round(len(weights) ** 0.5)
    height = image.shape[-1] // across
    light = repeat(weights / weights.max(), "(y x) -> (y down) (x right)", y=across, down=height, right=height)
    return image * (DARK + (1 - DARK) * light)


def _captioned(image: torch.Tensor, caption: str, alternative: str) -> str:
    """Return an image (3, side, side) with a caption below it, in HTML."""
    shown = picture(image, alternative)
    return f'<figure style="display: inline-block; margin: 0.4rem">{shown}<figcaption>{caption}</figcaption></figure>'
