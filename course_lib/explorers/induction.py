"""A model of attention alone in the page: type a sequence that repeats, and see the stripe of an induction head."""

from string import ascii_lowercase, digits

import torch
from IPython.display import HTML

from course_lib.explorers.markup import bar, explorer, table
from course_lib.explorers.weights import check_parts, packed
from course_lib.inspection import record_attention
from course_lib.models.attention_only import AttentionOnly

LETTERS = ascii_lowercase + digits
ROWS = 5  # letters that the table of probabilities names
# The map is nothing without its look, so this goes where the map goes: also to where the book's style sheets are not.
MAP = """
.induction-explorer .map { display: grid; justify-content: center; margin-bottom: 0.6rem;
  grid-template-columns: repeat(calc(var(--cells) + 1), minmax(0, 1.5rem)) }
.induction-explorer .map > * { aspect-ratio: 1; min-width: 0; box-sizing: border-box }
.induction-explorer .map b { display: flex; align-items: center; justify-content: center;
  font: 400 0.85rem / 0 var(--pst-font-family-monospace, monospace) }
.induction-explorer .map i { border: 1px solid color-mix(in srgb, var(--ink) 12%, transparent);
  background: color-mix(in srgb, var(--weight) calc(100% * var(--weight-here)), transparent) }
.induction-explorer .map .future { border-color: transparent }
.induction-explorer .map .match { border: 2px solid var(--key) }
"""


@torch.no_grad()
def explore_induction(model: AttentionOnly, sequence: str) -> HTML:
    """Return an explorer in which the reader types letters and sees the attention map of a head, and what comes next.

    The tokens of `model` are named a, b, c, ..., z, 0, 1, ...: as many as there are. In the map, outlines mark where an
    induction head looks: at each position whose predecessor is the query's own letter. For each head, a table says how
    much of its weight goes there, as the mean over the queries that have such a position. The explorer begins with
    `sequence` and with the head that has the largest share, and the page holds the weights of the model in 16 bits
    each. Raises ValueError for a sequence that is empty, longer than what the model reads, or has letters that are none
    of its tokens, and for a model that has more than 36 tokens, or a part that the page does not compute.

    >>> shown = explore_induction(AttentionOnly(vocab_size=32, max_length=40), "catca")
    >>> shown.data.count('class="match"'), "Layer" in shown.data
    (2, True)
    """
    vocab_size, heads = len(model.embed.weight), model.attentions[0].heads
    letters = LETTERS[:vocab_size]
    if vocab_size > len(LETTERS):
        raise ValueError(f"`model` has {vocab_size} tokens, expected at most {len(LETTERS)}")
    if not 1 <= len(sequence) <= len(model.positions) or set(sequence) - set(letters):
        raise ValueError(f"`sequence` is {sequence!r}, expected 1 to {len(model.positions)} letters of {letters}")
    check_parts(model)
    tokens = torch.tensor([letters.index(each) for each in sequence])  # (time,)
    with record_attention(model) as maps:
        probabilities = model(tokens.unsqueeze(0))[0, -1].softmax(dim=-1)  # (vocab,)
    weights = torch.stack([maps[f"attentions.{layer}"][0] for layer in range(len(model.attentions))])
    outlined = _outlined(tokens)  # (time, time)
    repeats = outlined.any(dim=1)  # (time,)
    given = (weights * outlined).sum(dim=(-2, -1)) / repeats.sum().clamp(min=1)  # (layer, head)
    layer, head = divmod(given.argmax().item(), heads)
    best = probabilities.argsort(descending=True, stable=True)[:ROWS].tolist()
    figure = _map(sequence, weights[layer, head], outlined, f"Layer {layer + 1}, head {head + 1}")
    figure += '<div class="two-tables">' + table(
        ["", *(f"head {1 + each}" for each in range(heads))],
        [[f"layer {1 + each}", *map(bar, row)] for each, row in enumerate(given.tolist())],
        "Weight on the outlined cells",
    )
    rows = [[letters[token], bar(probabilities[token].item())] for token in best]
    figure += table(["next letter", "probability"], rows, "After the last letter") + "</div>"
    data = {
        "sequence": sequence,
        "letters": letters,
        "heads": heads,
        "longest": len(model.positions),
        "begin": [layer, head],
        "weights": packed({name: each for name, each in model.state_dict().items() if name != "positions"}),
    }
    return explorer("induction", data, figure, "type a sequence that repeats itself, and choose a layer and a head")


def _outlined(tokens: torch.Tensor) -> torch.Tensor:
    """Return for each query of tokens (time,) which keys follow an earlier token like its own: (time, time)."""
    same = (tokens[:, None] == tokens[None, :]).tril(diagonal=-1)  # (query, key): the same letter, earlier
    return same.roll(1, dims=1)  # one position on; the last column of `same` is empty


def _map(sequence: str, weights: torch.Tensor, outlined: torch.Tensor, name: str) -> str:
    """Return weights (query, key) as a square of cells with letters beside and above it."""
    caption = (
        f"{name}: a row for each query, a column for each key. Outlined: what follows an earlier copy of the query."
    )
    cells = ["<b></b>", *(f"<b>{letter}</b>" for letter in sequence)]
    for query, letter in enumerate(sequence):
        cells.append(f"<b>{letter}</b>")
        for key, weight in enumerate(weights[query].tolist()):
            look = ' class="match"' if outlined[query, key] else ' class="future"' if key > query else ""
            cells.append(f'<i{look} style="--weight-here: {weight:.3f}"></i>')
    grid = f'<div class="map" role="img" aria-label="{caption}" style="--cells: {len(sequence)}">{"".join(cells)}</div>'
    return f'<style>{MAP}</style><p class="map-name">{caption}</p>{grid}'
