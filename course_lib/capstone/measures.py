"""What can be measured of a caption transformer: what it writes, what moves its logits, and what it costs."""

from collections.abc import Callable

import torch

from course_lib.capstone.practice import PADDING
from course_lib.costs import count_multiply_adds
from course_lib.data import scenes
from course_lib.decoding import greedy_decode
from course_lib.models.caption_transformer import CaptionTransformer

MAX_LENGTH = scenes.CAPTION_LENGTH - 1
MOVED = 1e-4  # what moves by less is rounding


@torch.no_grad()
def write_captions(model: CaptionTransformer, images: torch.Tensor, cached: bool = False) -> torch.Tensor:
    """Return the captions (scene, 6) that greedy decoding finds for images (scene, 3, 32, 32).

    By default all parts are asked as they are; `cached` keeps the keys of the picture, and asks `CrossAttention` for
    its layers only.
    """
    prompt = torch.full((len(images), 1), scenes.START, device=images.device)
    written = greedy_decode(model.next_token_scorer(images, cached), prompt, scenes.END, MAX_LENGTH)[:, 1:]
    return torch.nn.functional.pad(written, (0, MAX_LENGTH - written.shape[1]), value=scenes.END)  # (scene, 6)


def exact_rate(written: torch.Tensor, test: scenes.Scenes) -> float:
    """Return the share of captions `written` (scene, 6) of which all words are right."""
    return (written == test.captions[: len(written), 1:]).all(dim=1).float().mean().item()


@torch.no_grad()
def causal_leak(model: CaptionTransformer, test: scenes.Scenes) -> float:
    """Return how far a logit moves when only words that come later are replaced: 0 where none is seen."""
    words = test.captions[:, :-1]  # (scene, 6)
    before = model(test.images, words)[0]  # (scene, 6, vocab)
    leaks = []
    for step in range(1, words.shape[1]):
        changed = words.clone()
        changed[:, step:] = (changed[:, step:] + 3) % len(scenes.VOCABULARY)
        leaks.append((model(test.images, changed)[0] - before)[:, :step].abs().max())
    return torch.stack(leaks).max().item()


@torch.no_grad()
def picture_padding_leak(model: CaptionTransformer, test: scenes.Scenes) -> float:
    """Return how far a logit moves when pixels change in the last column of locations, which is said to be padding.

    The window of a location reaches above it and to its left, so those pixels are seen from there and nowhere else.
    """
    words = test.captions[:, :-1]  # (scene, 6)
    side = scenes.SIDE // 4
    present = (torch.arange(side**2) % side < side - 1).expand(len(words), -1)  # (scene, location)
    changed = test.images.clone()
    changed[..., -4:] = 1 - changed[..., -4:].flip(0)
    gap = model(changed, words, present)[0] - model(test.images, words, present)[0]
    return gap.abs().max().item()


@torch.no_grad()
def word_padding_leak(model: CaptionTransformer, test: scenes.Scenes) -> float:
    """Return how far the loss moves when every target gets two positions of padding."""
    targets = test.captions[:, 1:]  # (scene, 6)
    longer = torch.nn.functional.pad(targets, (0, 2), value=PADDING)  # (scene, 8)
    losses = [model.loss(test.images, each, scenes.START, PADDING) for each in (targets, longer)]
    return (losses[1] - losses[0]).abs().item()


@torch.no_grad()
def cache_gap(model: CaptionTransformer, test: scenes.Scenes) -> float:
    """Return how far `next_token_scorer`, with and without kept keys, is from the logits of the whole model."""
    words = test.captions[:, :-1]  # (scene, 6)
    logits = model(test.images, words)[0]  # (scene, 6, vocab)
    scorers = [model.next_token_scorer(test.images, cached) for cached in (False, True)]
    gaps = [(scorer(words[:, : t + 1]) - logits[:, t]).abs().max() for scorer in scorers for t in range(MAX_LENGTH)]
    return torch.stack(gaps).max().item()


@torch.no_grad()
def operations(model: CaptionTransformer, image: torch.Tensor) -> dict[str, int]:
    """Return how many multiplications torch's products take to write the caption of one image (3, 32, 32).

    "anew": the whole model for each word. "picture once": the memory is kept. "keys once": all keys and values, too.
    """
    images = image.unsqueeze(0)  # (1, 3, 32, 32)
    words = torch.full((1, MAX_LENGTH), scenes.START)  # any six words: what they are does not change the count

    def anew() -> None:
        for time in range(1, MAX_LENGTH + 1):
            model(images, words[:, :time])

    def with_scorer(cached: bool) -> None:
        next_token_logits = model.next_token_scorer(images, cached)
        for time in range(1, MAX_LENGTH + 1):
            next_token_logits(words[:, :time])

    ways: dict[str, Callable[[], None]] = {
        "anew": anew,
        "picture once": lambda: with_scorer(cached=False),
        "keys once": lambda: with_scorer(cached=True),
    }
    return {name: count_multiply_adds(way) for name, way in ways.items()}
