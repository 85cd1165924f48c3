"""How good a model of text is: the bits that it needs for a character of a text it has never seen."""

import math
from collections.abc import Iterator

import torch

from course_lib.losses import token_losses
from course_lib.models.language_model import LanguageModel
from course_lib.shapes import check_shape

TOGETHER = 8192  # tokens that are read at once


@torch.no_grad()
def bits_per_character(
    model: LanguageModel, tokens: torch.Tensor, stride: int | None = None, characters: int | None = None
) -> float:
    """Return the mean of minus the base-2 logarithm of what each of tokens (characters,) but the first was given.

    The model reads the text through windows of its `max_length` tokens, each `stride` further on than the one before,
    and answers in each for the last `stride` tokens, so that every one is predicted once, with at least `max_length` -
    stride tokens before it; only the first window answers for all. By default the stride is half of `max_length`. Where
    a token is not one character, `characters` says for how many all tokens but the first stand. The model is left in
    the mode in which it came. Raises ValueError for less than two tokens and for a stride below 1 or above
    `max_length`.

    >>> model = LanguageModel(vocab_size=8, max_length=4)
    >>> _ = torch.nn.init.zeros_(model.embed.weight)  # all 8 tokens are as likely
    >>> round(bits_per_character(model, torch.arange(8)), 4)
    3.0
    """
    number = check_shape(tokens, "characters", "tokens")["characters"]
    stride = max(1, model.max_length // 2) if stride is None else stride
    if number < 2:
        raise ValueError(f"`tokens` has {number} entries, expected at least 2: the first one is not predicted")
    if not 1 <= stride <= model.max_length:
        raise ValueError(
            f"`stride` is {stride}, expected 1 to {model.max_length}, the longest text that the model reads"
        )
    mode, device = model.training, next(model.parameters()).device
    model.eval()
    total = torch.zeros((), dtype=torch.float64)
    for window, counted in _windows(tokens, model.max_length, stride):
        losses = token_losses(model(window[:, :-1].to(device)), window[:, 1:].to(device))  # (window, time)
        total += losses[:, -counted:].cpu().double().sum()  # in this order: not every device has float64
    model.train(mode)
    return total.item() / math.log(2) / (characters or number - 1)


def _windows(tokens: torch.Tensor, max_length: int, stride: int) -> Iterator[tuple[torch.Tensor, int]]:
    """Yield windows (window, time + 1) of tokens (characters,), and how many of the last predictions count in each."""
    first = tokens[: max_length + 1]  # (time + 1,): what is read, and one more to predict
    yield first.unsqueeze(0), len(first) - 1
    rest = tokens[stride:]
    if len(rest) > max_length:
        whole = rest.unfold(0, max_length + 1, stride)  # (window, max_length + 1)
        for some in whole.split(max(1, TOGETHER // max_length)):
            yield some, stride
        rest = rest[len(whole) * stride :]
    already = max_length - stride  # predictions of the last window that an earlier one has made
    if len(tokens) > max_length + 1 and len(rest) - 1 > already:
        yield rest.unsqueeze(0), len(rest) - 1 - already
