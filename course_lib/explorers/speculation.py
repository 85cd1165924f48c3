"""Speculative decoding, step by step: what a draft model proposes, and what a large model makes of it."""

from collections.abc import Callable, Sequence
from html import escape
from itertools import islice, zip_longest
from math import floor, log10
from typing import NamedTuple

import torch
from IPython.display import HTML

from course_lib import speculative
from course_lib.decoding import NextTokenLogits
from course_lib.explorers.markup import bar, explorer, table
from course_lib.speculative import LastLogits, speculative_rounds

HEAD = ("", "token", "q", "p", "min(1, p/q)", "drawn", "kept")
KEY = (("kept", "drafted and kept"), ("large", "written by the large model"), ("rejected", "rejected or dropped"))


class Draft(NamedTuple):
    """A token that a draft model proposed with probability q, which is p with the large model, and a random number.

    It is kept where `drawn`, uniform from 0 to 1, is below min(1, p / q); None where one before it was rejected.
    """

    token: str
    q: float
    p: float
    drawn: float | None


class Round(NamedTuple):
    """The drafts of one round, and the token that the large model writes: in place of the first that it rejects, or
    after the last.
    """

    drafts: Sequence[Draft]
    token: str


def explore_speculation(prompt: str, rounds: Sequence[Round]) -> HTML:
    """Return an explorer in which the reader steps through speculative decoding, draft by draft.

    A round is (drafts, token), a draft (token, q, p, drawn), as in `Round` and `Draft`; plain tuples do. The tokens are
    joined as they are, so that words bring their spaces. The explorer shows how each token is drafted, how one call of
    the large model gives p for all of them, which are kept, what the large model writes itself, and how many of its
    calls that took. It begins at the end of the first round. Raises ValueError without a round, for a round without a
    draft, and for probabilities and numbers outside of 0 to 1; q must be larger than 0, since it was drawn.

    >>> rounds = [((("c", 0.5, 0.25, 0.4), ("a", 0.6, 0.3, 0.7), ("r", 0.9, 0.9, 0.1)), "u")]
    >>> shown = explore_speculation("the ", rounds).data
    >>> [shown.count(f"<td>{each}</td>") for each in ("yes", "no", "dropped")]
    [1, 1, 1]
    >>> '<td colspan="5">drawn from the positive part of p − q, in place of draft 2</td>' in shown
    True
    """
    rounds = [Round([Draft(*draft) for draft in drafts], token) for drafts, token in rounds]
    if not rounds or not all(each.drafts for each in rounds):
        raise ValueError(f"`rounds` is {rounds!r}, expected at least one round, each with at least one draft")
    for each in (draft for one in rounds for draft in one.drafts):
        if not (0 < each.q <= 1 and 0 <= each.p <= 1 and (each.drawn is None or 0 <= each.drawn <= 1)):
            raise ValueError(f"a draft is {each}, expected q above 0 and at most 1, and p and drawn from 0 to 1")
    judged = [_judged(each.drafts) for each in rounds]
    drafts, (kept, first) = max(len(each.drafts) for each in rounds), (judged[0].count(True), rounds[0])
    rows = []
    for place in range(drafts):  # one that this round does not have stays empty
        cells = 6 * ["<td></td>"]
        if place < len(first.drafts):
            token, q, p, drawn = first.drafts[place]
            said = {True: "yes", False: "no", None: "dropped"}[judged[0][place]]
            judge = (
                [_acceptance(min(1, p / q), drawn), f"<td>{drawn:.2f}</td>"]
                if judged[0][place] is not None
                else cells[:2]
            )
            cells = [f"<td>{escape(_name(token))}</td>", _bar(q), _bar(p), *judge, f"<td>{said}</td>"]
        rows.append([f"draft {1 + place}", *cells])
    source = "drawn from p, after the last draft"
    if kept < len(first.drafts):
        source = f"drawn from the positive part of p − q, in place of draft {1 + kept}"
    rows.append(["large model", f"<td>{escape(_name(first.token))}</td>", f'<td colspan="5">{source}</td>'])
    counts = [
        ["tokens written", *2 * [f"<td>{kept + 1}</td>"]],
        ["calls of the large model", "<td>1</td>", f"<td>{kept + 1}</td>"],
        ["drafts kept", f"<td>{kept} of {len(first.drafts)}</td>", "<td></td>"],
    ]
    figure = f'<p class="shaded">{_text(prompt, first, judged[0])}</p>'
    key = " ".join(f'<span class="{look}">{words}</span>' for look, words in KEY)
    figure += f'<p class="key">{key}</p>'
    figure += table(HEAD, rows, "Round 1: q is the probability with the draft model, p with the large one")
    figure += table(["so far", "speculative", "large model alone"], counts, "What it took")
    data = {
        "prompt": prompt,
        "rounds": [
            {"drafts": [[*draft, kept] for draft, kept in zip(each.drafts, verdicts, strict=True)], "token": each.token}
            for each, verdicts in zip(rounds, judged, strict=True)
        ],
    }
    return explorer("speculation", data, figure, "step through it, draft by draft")


def record_speculation(
    draft_logits: NextTokenLogits,
    last_logits: LastLogits,
    prompt: torch.Tensor,
    rounds: int,
    generator: torch.Generator,
    name: Callable[[int], str],
    drafts: int = 4,
    temperature: float = 1.0,
) -> list[Round]:
    """Write on from `prompt` (1, time) by speculative decoding, and return what `explore_speculation` shows.

    The arguments are those of `course_lib.speculative.speculative_rounds`, of which these are the first `rounds`;
    `name(token)` is what a token is called. Raises ValueError for less than one round, and as it does.

    >>> counts_up = lambda tokens, last: torch.nn.functional.one_hot(tokens[:, -last:] + 1, 10).float()
    >>> counts_to_four = lambda tokens: torch.nn.functional.one_hot((tokens[:, -1] + 1) % 5, 10).float()
    >>> prompt, generator = torch.tensor([[1]]), torch.Generator().manual_seed(0)
    >>> (first,) = record_speculation(counts_to_four, counts_up, prompt, 1, generator, str, temperature=0)
    >>> [(draft.token, draft.q, draft.p) for draft in first.drafts], first.token
    ([('2', 1.0, 1.0), ('3', 1.0, 1.0), ('4', 1.0, 1.0), ('0', 1.0, 0.0)], '5')
    """
    if rounds < 1:
        raise ValueError(f"`rounds` is {rounds}, expected at least 1")
    room = rounds * (drafts + 1)  # so that no round is cut short
    made = speculative_rounds(draft_logits, last_logits, prompt, room, generator, drafts, temperature)
    return [_named(each, name) for each in islice(made, rounds)]


def _named(made: speculative.Round, name: Callable[[int], str]) -> Round:
    """Return what is shown of a round: its tokens by their names, and for each guess both probabilities."""
    drafts = [
        Draft(name(guess), q[guess].item(), p[guess].item(), None if number is None else number.item())
        for guess, q, p, number in zip_longest(made.guesses.tolist(), made.small, made.large[:-1], made.drawn)
    ]
    return Round(drafts, name(made.new[-1].item()))


def _judged(drafts: Sequence[Draft]) -> list[bool | None]:
    """Return for each draft whether it is kept; None where one before it was rejected, so that nobody asks.

    >>> _judged([Draft("a", 0.5, 0.5, 0.99), Draft("b", 0.5, 0.1, 0.2), Draft("c", 0.5, 0.5, 0.1)])
    [True, False, None]
    """
    verdicts: list[bool | None] = []
    for draft in drafts:
        asked = all(verdicts)
        verdicts.append(draft.drawn < min(1, draft.p / draft.q) if asked else None)
    return verdicts


def _acceptance(chance: float, drawn: float) -> str:
    """Return a cell with the probability that a draft is kept, and on its bar a tick at the number that was drawn."""
    cell = _bar(chance)
    return cell.replace('class="bar" style="', f'class="bar with-tick" style="--tick: {drawn:.4f}; ')


def _bar(share: float) -> str:
    """Return a bar and its number; where that is small, with two digits that count, so that p / q can be tried.

    >>> [_bar(share)[40:-5] for share in (0.5, 0.056, 0.00123, 0.0)]
    ['0.50', '0.056', '0.0012', '0.00']
    """
    small = 0 < share < 0.1
    return bar(share, f"{share:.{1 - floor(log10(share))}f}" if small else f"{share:.2f}")


def _name(token: str) -> str:
    """Return how a token is called in a cell."""
    return {" ": "space", "\n": "new line"}.get(token, token)


def _text(prompt: str, first: Round, verdicts: Sequence[bool | None]) -> str:
    """Return the text after the first round: what was kept, what was rejected, and what the large model wrote."""
    drafts = zip(first.drafts, verdicts, strict=True)
    looks = [("kept" if verdict else "rejected", draft.token) for draft, verdict in drafts]
    looks.insert(verdicts.count(True), ("large", first.token))
    spans = (f'<span class="{look}">{escape(token)}</span>' for look, token in looks)
    return f"<span>{escape(prompt)}</span>{''.join(spans)}"
