"""Where a captioner looked, word by word."""

from collections.abc import Sequence

import torch
from einops import rearrange
from IPython.display import HTML

from course_lib.explorers.markup import explorer
from course_lib.shapes import check_shape


def explore_looking(images: torch.Tensor, captions: Sequence[Sequence[str]], weights: torch.Tensor) -> HTML:
    """Return an explorer in which the reader chooses a word and sees where the captioner looked.

    `images` is (scene, 3, side, side) from 0 to 1, `captions` the words of each scene, `weights` (scene, word,
    location) on a square grid.

    >>> shown = explore_looking(torch.zeros(1, 3, 4, 4), [["red"]], torch.full((1, 1, 4), 0.25))
    >>> '"words": ["red"], "weights": [[0.25, 0.25, 0.25, 0.25]]' in shown.data
    True
    """
    sizes = check_shape(images, "scene 3 side side", "images")
    check_shape(weights, "scene word location", "weights", scene=sizes["scene"])
    scenes = []
    for image, caption, rows in zip(images, captions, weights, strict=True):
        pixels = (255 * rearrange(image.clamp(0, 1), "rgb y x -> (y x rgb)")).round().int().tolist()
        rounded = [[round(weight, 3) for weight in row] for row in rows[: len(caption)].tolist()]
        scenes.append({"side": sizes["side"], "pixels": pixels, "words": list(caption), "weights": rounded})
    return explorer("looking", scenes, "", "choose a word, and see where the captioner looks")
