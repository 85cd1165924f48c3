"""Speculative decoding: a small model writes ahead, and a large one reads what it wrote in a single call.

A large model takes about as long for a few positions as for one, because most of the time goes into reading its
weights. So it need not be asked for each token: it judges several guesses at once, and what is written has exactly the
probabilities that it would have with the large model alone.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch

from course_lib.decoding import NextTokenLogits, sampling_probabilities
from course_lib.shapes import check_shape

LastLogits = Callable[[torch.Tensor, int], torch.Tensor]


class Round(NamedTuple):
    """One call of the large model: what was guessed, and what became of it.

    guesses (guesses,); `small` (guesses, vocab), the probabilities from which each was drawn; `large`
    (guesses + 1, vocab), those of the large model for the same places and for the one after them. `drawn` (asked,) are
    the numbers from 0 to 1 that decided, one for each guess up to the first that was rejected: a guess is kept where
    its number is below `acceptance`. So many are `kept`, and `new` (new,) is what is written: these and the token of
    the large model, up to the end token.
    """

    guesses: torch.Tensor
    small: torch.Tensor
    large: torch.Tensor
    drawn: list[torch.Tensor]
    kept: int
    new: torch.Tensor


@torch.no_grad()
def speculative_rounds(
    draft_logits: NextTokenLogits,
    last_logits: LastLogits,
    prompt: torch.Tensor,
    max_length: int,
    generator: torch.Generator,
    drafts: int = 4,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    end: int | None = None,
    min_p: float | None = None,
) -> Iterator[Round]:
    """Write on from `prompt` (1, time), up to `max_length` tokens or the token `end`, and yield each round.

    The small model is `draft_logits`, a function as everywhere in `course_lib.decoding`. The large one is
    `last_logits(tokens, last)`: from tokens (1, time), the logits (1, last, vocab) of what follows each of the `last`
    positions. A `LanguageModel` gives both, by `last_logits_scorer()`, which keeps what stays after a draft that was
    rejected: as small model, `lambda tokens: last_logits(tokens, 1)[:, -1]`. In each round the small model draws
    `drafts` tokens, and the large one keeps those up to the first that it rejects, and adds one of its own. Both draw
    as `sampling_probabilities` says, with the same `temperature`, `top_k`, `top_p` and `min_p`.

    A token that has the probability q with the small model and p with the large one is accepted with min(1, p / q). In
    place of one that is rejected, a token is drawn from the positive part of p - q, of which the small model gave too
    little. Both together draw from p. After Leviathan, Kalman and Matias (2023) and Chen et al. (2023). Raises
    ValueError for less than one draft, and as `sampling_probabilities` does.

    >>> counts_up = lambda tokens, last: torch.nn.functional.one_hot(tokens[:, -last:] + 1, 10).float()
    >>> counts_to_four = lambda tokens: torch.nn.functional.one_hot((tokens[:, -1] + 1) % 5, 10).float()
    >>> rounds = speculative_rounds(counts_to_four, counts_up, torch.tensor([[1]]), 5, torch.Generator(), temperature=0)
    >>> [(each.guesses.tolist(), each.kept, each.new.tolist()) for each in rounds]
    [([2, 3, 4, 0], 3, [2, 3, 4, 5]), ([], 0, [6])]
    """
    check_shape(prompt, "1 time", "prompt")
    if drafts < 1:
        raise ValueError(f"`drafts` is {drafts}, expected at least 1")

    def probabilities(logits: torch.Tensor) -> torch.Tensor:
        # In float64, in which p and q sum to 1 so closely that of two that differ something is left of p - q.
        return sampling_probabilities(logits.double(), temperature, top_k, top_p, min_p)  # (1, ..., vocab)

    tokens, longest = prompt, prompt.shape[1] + max_length
    while tokens.shape[1] < longest:
        guessed, small = tokens, []  # (1, time + guesses), and for each guess (1, vocab)
        for _ in range(min(drafts, longest - tokens.shape[1] - 1)):  # one place is for a token of the large model
            small.append(probabilities(draft_logits(guessed)))
            token = torch.multinomial(small[-1], 1, generator=generator)  # (1, 1)
            guessed = torch.cat([guessed, token], dim=1)
            if token.item() == end:
                break
        logits = last_logits(guessed, len(small) + 1)  # (1, guesses + 1, vocab)
        check_shape(logits, "1 last vocab", "last_logits(tokens, last)", last=len(small) + 1)
        large = probabilities(logits)[0]  # (guesses + 1, vocab)
        guesses = guessed[0, tokens.shape[1] :]  # (guesses,)
        small = torch.cat(small) if small else large[:0]  # (guesses, vocab)
        drawn, kept, token = _judge(guesses, small, large, generator)
        new = torch.cat([guesses[:kept], token])  # (new,)
        finished = end is not None and bool((new == end).any())
        if finished:
            new = new[: (new == end).int().argmax() + 1]
        yield Round(guesses, small, large, drawn, kept, new)
        if finished:
            return
        tokens = torch.cat([tokens, new.unsqueeze(0)], dim=1)  # (1, time + new)


@dataclass(frozen=True)
class Speculation:
    """What was written, and what it took.

    `tokens` (1, time + new) begin with the prompt. The small model `drafted` so many tokens, of which so many were
    `accepted`, in so many `calls` of the large model.
    """

    tokens: torch.Tensor
    drafted: int
    accepted: int
    calls: int


def speculative_decode(
    draft_logits: NextTokenLogits,
    last_logits: LastLogits,
    prompt: torch.Tensor,
    max_length: int,
    generator: torch.Generator,
    **settings: float | None,
) -> Speculation:
    """Write on from `prompt` (1, time) as `generate` does with a large model, which is called less often.

    The rounds of `speculative_rounds`, put together: that function says what the arguments are, which `settings` there
    are beside them, how a round goes, and which errors are raised.

    >>> counts_up = lambda tokens, last: torch.nn.functional.one_hot(tokens[:, -last:] + 1, 10).float()
    >>> counts_to_four = lambda tokens: torch.nn.functional.one_hot((tokens[:, -1] + 1) % 5, 10).float()
    >>> speculative_decode(counts_to_four, counts_up, torch.tensor([[1]]), 5, torch.Generator(), temperature=0)
    Speculation(tokens=tensor([[1, 2, 3, 4, 5, 6]]), drafted=4, accepted=3, calls=2)
    """
    tokens, drafted, accepted, calls = prompt, 0, 0, 0
    for each in speculative_rounds(draft_logits, last_logits, prompt, max_length, generator, **settings):
        drafted, accepted, calls = drafted + len(each.guesses), accepted + each.kept, calls + 1
        tokens = torch.cat([tokens, each.new.unsqueeze(0)], dim=1)  # (1, time + new)
    return Speculation(tokens, drafted, accepted, calls)


def acceptance(guess: int | torch.Tensor, small: torch.Tensor, large: torch.Tensor) -> torch.Tensor:
    """Return the probability () with which a guess is kept, of the probabilities (vocab,) of both models.

    >>> acceptance(0, small=torch.tensor([0.5, 0.5]), large=torch.tensor([0.1, 0.9]))
    tensor(0.2000)
    """
    return (large[guess] / small[guess]).clamp(max=1)


def _judge(
    guesses: torch.Tensor, small: torch.Tensor, large: torch.Tensor, generator: torch.Generator
) -> tuple[list[torch.Tensor], int, torch.Tensor]:
    """Return what was drawn, how many of the guesses are kept, from the first on, and the token (1,) that follows them.

    The arguments are those of a `Round`.
    """
    drawn = []
    for place, (guess, q, p) in enumerate(zip(guesses, small, large[:-1], strict=True)):
        drawn.append(torch.rand((), dtype=torch.float64, generator=generator))
        if not drawn[-1] < acceptance(guess, q, p):
            rest = (p - q).clamp(min=0)  # (vocab,): need not sum to 1, for `multinomial` divides by the sum
            return drawn, place, torch.multinomial(rest, 1, generator=generator)
    return drawn, len(guesses), torch.multinomial(large[-1], 1, generator=generator)
