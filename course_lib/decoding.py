"""Writing: from the logits of the next token to a whole sequence.

Every function here asks a function `next_token_logits`, which takes the tokens so far, (batch, time), and
returns the logits of the token that comes next, (batch, vocab). Which model that is, and what else it reads, is not
decided here: a model's `next_token_scorer` returns such a function, which keeps what it has read in a cache.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from course_lib.shapes import check_shape

NextTokenLogits = Callable[[torch.Tensor], torch.Tensor]


@torch.no_grad()
def greedy_decode(
    next_token_logits: NextTokenLogits, prompt: torch.Tensor, end: int | None, max_length: int
) -> torch.Tensor:
    """Write on from `prompt` (batch, time), each time with the token of the largest logit: (batch, time + new).

    A row is finished when it has written `end`, if there is one; it is filled with `end` until all rows are, or until
    `max_length` tokens are written.

    >>> counts_up = lambda tokens: torch.nn.functional.one_hot(tokens[:, -1] + 1, 9).float()
    >>> greedy_decode(counts_up, torch.tensor([[2], [5]]), end=6, max_length=10)
    tensor([[2, 3, 4, 5, 6],
            [5, 6, 6, 6, 6]])
    """
    return _write(next_token_logits, prompt, max_length, end, lambda logits: logits.argmax(dim=-1))


@torch.no_grad()
def generate(
    next_token_logits: NextTokenLogits,
    prompt: torch.Tensor,
    max_length: int,
    generator: torch.Generator,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    end: int | None = None,
    min_p: float | None = None,
) -> torch.Tensor:
    """Write on from `prompt` (batch, time), each time with a token drawn at random: (batch, time + new).

    `sampling_probabilities` says how likely each token is. The rest is as in `greedy_decode`; without `end`, every row
    gets `max_length` tokens.

    >>> even = lambda tokens: torch.zeros(len(tokens), 4)
    >>> generate(even, torch.tensor([[0]]), max_length=6, generator=torch.Generator().manual_seed(0)).shape
    torch.Size([1, 7])
    """

    def draw(logits: torch.Tensor) -> torch.Tensor:
        probabilities = sampling_probabilities(logits, temperature, top_k, top_p, min_p)  # (batch, vocab)
        return torch.multinomial(probabilities, 1, generator=generator).squeeze(-1)  # (batch,)

    return _write(next_token_logits, prompt, max_length, end, draw)


def sampling_probabilities(
    logits: torch.Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
) -> torch.Tensor:
    """Turn logits (..., vocab) into the probabilities (..., vocab) from which the next token is drawn.

    Logits are divided by `temperature` (0: all for the largest). Of the probabilities that follow, `top_k` keeps the k
    largest (Fan, Lewis and Dauphin, 2018), `top_p` the smallest number of the largest that have together at least this
    share (Holtzman et al., 2020), `min_p` those that are at least this share of the largest one (Nguyen et al., 2024);
    what is kept is scaled to sum to 1. Of equal ones, `top_k` and `top_p` keep those with the lower index. Raises
    ValueError for a temperature below 0, a k below 1, and a share that is not above 0 and at most 1.

    >>> logits = torch.tensor([0.5, 0.3, 0.2]).log()
    >>> sampling_probabilities(logits, top_k=2)
    tensor([0.6250, 0.3750, 0.0000])
    >>> sampling_probabilities(logits, top_p=0.5)
    tensor([1., 0., 0.])
    >>> sampling_probabilities(logits, min_p=0.5)
    tensor([0.6250, 0.3750, 0.0000])
    """
    if not temperature >= 0:
        raise ValueError(f"`temperature` is {temperature}, expected 0 or more")
    if top_k is not None and top_k < 1:
        raise ValueError(f"`top_k` is {top_k}, expected at least 1")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"`top_p` is {top_p}, expected a share above 0 and at most 1")
    if min_p is not None and not 0 < min_p <= 1:
        raise ValueError(f"`min_p` is {min_p}, expected a share above 0 and at most 1")
    if temperature == 0:
        best = logits.argmax(dim=-1, keepdim=True)  # (..., 1)
        return torch.zeros_like(logits).scatter(-1, best, 1.0)  # (..., vocab)
    probabilities = (logits / temperature).softmax(dim=-1)  # (..., vocab)
    largest, order = probabilities.sort(dim=-1, descending=True, stable=True)  # each (..., vocab)
    if top_k is not None:
        largest[..., top_k:] = 0
        largest = largest / largest.sum(dim=-1, keepdim=True)
    if top_p is not None:
        before = largest.cumsum(dim=-1) - largest  # (..., vocab): what those in front have together
        largest = largest.masked_fill(before >= top_p, 0.0)
        largest = largest / largest.sum(dim=-1, keepdim=True)
    if min_p is not None:
        largest = largest.masked_fill(largest < min_p * largest[..., :1], 0.0)
        largest = largest / largest.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probabilities).scatter(-1, order, largest)  # back in the order of the vocabulary


def repetition_penalty(next_token_logits: NextTokenLogits, penalty: float) -> NextTokenLogits:
    """Return `next_token_logits` with lower logits for all tokens that stand in the text so far, the prompt included.

    Where a logit is positive it is divided by the penalty, else it is multiplied, which lowers it as well. After Keskar
    et al. (2019), who divide. Raises ValueError for a penalty below 1.

    >>> even = lambda tokens: torch.tensor([[1.0, 1.0, -1.0, -1.0]])
    >>> repetition_penalty(even, penalty=2.0)(torch.tensor([[1, 2]]))
    tensor([[ 1.0000,  0.5000, -2.0000, -1.0000]])
    """
    if not penalty >= 1:
        raise ValueError(f"`penalty` is {penalty}, expected 1 or more")

    def penalised(tokens: torch.Tensor) -> torch.Tensor:
        logits = next_token_logits(tokens)  # (batch, vocab)
        written = logits.gather(-1, tokens)  # (batch, time)
        lower = torch.where(written > 0, written / penalty, written * penalty)  # (batch, time)
        return logits.scatter(-1, tokens, lower)  # (batch, vocab): what stands there twice gets the same logit twice

    return penalised


@dataclass(frozen=True)
class Candidate:
    """One sequence that a beam has found: its tokens after the prompt, and the logarithm of its probability."""

    tokens: tuple[int, ...]
    log_probability: float


@torch.no_grad()
def beam_search(
    next_token_logits: NextTokenLogits, prompt: torch.Tensor, end: int, width: int, max_length: int
) -> list[Candidate]:
    """Return up to `width` sequences after `prompt` (1, time), the most probable first.

    At each step every unfinished sequence is continued by every token, and of all that come of it, and of those that
    had finished before, the `width` most probable are kept. A sequence is finished when it ends with `end` or has
    `max_length` tokens. With a width of 1 this is greedy decoding; with one that drops nothing it finds the most
    probable sequence of all. Sums of logarithms favour short sequences; nothing is done about it here. The method is
    older than neural networks; in translation see Sutskever, Vinyals and Le (2014). Raises ValueError for a width below
    1.

    >>> even = lambda tokens: torch.zeros(len(tokens), 3)
    >>> beam_search(even, torch.tensor([[0]]), end=2, width=1, max_length=4)
    [Candidate(tokens=(0, 0, 0, 0), log_probability=-4.39...)]
    """
    if width < 1:
        raise ValueError(f"`width` is {width}, expected at least 1")
    check_shape(prompt, "1 time", "prompt")
    beam = [Candidate((), 0.0)]
    for _ in range(max_length):
        growing = [candidate for candidate in beam if candidate.tokens[-1:] != (end,)]
        if not growing:
            break
        written = torch.tensor([candidate.tokens for candidate in growing], dtype=torch.long, device=prompt.device)
        tokens = torch.cat([prompt.expand(len(growing), -1), written], dim=1)  # (growing, time + new)
        log_probabilities = next_token_logits(tokens).double().log_softmax(dim=-1)  # (growing, vocab)
        # No continuation beyond the first `width` of one sequence can be among the first `width` of all.
        best = log_probabilities.topk(min(width, log_probabilities.shape[-1]), dim=-1)  # (growing, width)
        continued = [
            Candidate((*candidate.tokens, token), candidate.log_probability + log_probability)
            for candidate, values, tokens in zip(growing, best.values.tolist(), best.indices.tolist(), strict=True)
            for log_probability, token in zip(values, tokens, strict=True)
        ]
        finished = [candidate for candidate in beam if candidate.tokens[-1:] == (end,)]
        beam = sorted(finished + continued, key=lambda candidate: -candidate.log_probability)[:width]
    return beam


def _write(
    next_token_logits: NextTokenLogits,
    prompt: torch.Tensor,
    max_length: int,
    end: int | None,
    choose: Callable[[torch.Tensor], torch.Tensor],
) -> torch.Tensor:
    """Write on from `prompt` (batch, time) with what `choose` makes of the logits (batch, vocab)."""
    check_shape(prompt, "batch time", "prompt")
    tokens = prompt
    finished = torch.zeros(len(prompt), dtype=torch.bool, device=prompt.device)  # (batch,)
    for _ in range(max_length):
        token = choose(next_token_logits(tokens))  # (batch,)
        if end is not None:
            token = token.masked_fill(finished, end)
            finished = finished | (token == end)
        tokens = torch.cat([tokens, token.unsqueeze(1)], dim=1)  # (batch, time + 1)
        if finished.all():
            break
    return tokens
