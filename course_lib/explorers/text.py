"""The language model that comes with the course in the page: it reads what is typed, and writes on."""

from html import escape

import torch
from IPython.display import HTML
from torch import nn

from course_lib.data.python_reference import CHARACTERS, encode
from course_lib.explorers.markup import bar, explorer, table
from course_lib.explorers.weights import check_parts, packed
from course_lib.inspection import record_attention
from course_lib.models.language_model import LanguageModel
from course_lib.positions import rotate_by_position

ROWS = 10  # characters that the table names
NAMES = {" ": "space", "\n": "new line"}


@torch.no_grad()
def explore_text(model: LanguageModel, prompt: str, layer: int = 1, head: int = 1) -> HTML:
    """Return an explorer in which `model` reads what the reader types and writes on, character by character.

    The reader chooses temperature, top-k and top-p, and a layer and a head (numbered from 1), whose attention weights
    of the last position shade the text. The explorer begins with `prompt`, and the page holds the weights of the model
    in 16 bits each. Raises ValueError for an empty prompt, for one that is longer than what the model reads, for a
    layer or a head that it has not, and for a model that has other characters, positions other than rotations, or
    another part that the page does not compute.

    >>> model = LanguageModel(vocab_size=len(CHARACTERS), max_length=8)
    >>> shown = explore_text(model, "if x")
    >>> '<tr><th scope="row">all others</th><td class="bar"' in shown.data, "Layer 1, head 1" in shown.data
    (True, True)
    """
    heads, layers = model.blocks[0].attention.heads, len(model.blocks)
    if model.positions is not None or len(model.embed.weight) != len(CHARACTERS):
        raise ValueError(f"`model` must have rotary positions and the {len(CHARACTERS)} characters of python_reference")
    if type(model.embed) is not nn.Embedding or model.unembed is not None:
        raise ValueError("`model` must have one table, an nn.Embedding, for its tokens and for its output")
    check_parts(model, rotate_by_position)
    if not 1 <= len(prompt) <= model.max_length:
        raise ValueError(f"`prompt` has {len(prompt)} characters, expected 1 to {model.max_length}")
    if not (1 <= layer <= layers and 1 <= head <= heads):
        raise ValueError(f"`layer` is {layer} and `head` {head}, expected 1 to {layers} and 1 to {heads}")
    with record_attention(model) as maps:
        probabilities = model(encode(prompt).unsqueeze(0))[0, -1].softmax(dim=-1)  # (vocab,)
    weights = maps[f"blocks.{layer - 1}.attention"][0, head - 1, -1]  # (time,)
    best = probabilities.argsort(descending=True, stable=True)[:ROWS].tolist()
    named = [(NAMES.get(CHARACTERS[token], CHARACTERS[token]), probabilities[token].item()) for token in best]
    rows = [[name, bar(share), bar(share)] for name, share in [*named, ("all others", 1 - sum(s for _, s in named))]]
    head_of_table = ["character", "model", "after the settings"]
    figure = _shaded(prompt, weights, f"Layer {layer}, head {head}: what the last character reads")
    figure += table(head_of_table, rows, "Probabilities of the next character")
    data = {
        "prompt": prompt,
        "characters": "".join(CHARACTERS),
        "heads": heads,
        "longest": model.max_length,
        "begin": [layer - 1, head - 1],
        "weights": packed(model.state_dict()),
    }
    sentence = "type a text, choose temperature, top-k, top-p, a layer and a head, and let the model write on"
    return explorer("text", data, figure, sentence)


def _shaded(text: str, weights: torch.Tensor, caption: str) -> str:
    """Return a text whose characters lie on a ground as dark as their weights (time,), the largest darkest."""
    shades = (weights / weights.max()).tolist()
    marks = [
        f'<span style="--weight-here: {shade:.3f}">{escape("⏎" + sign if sign == chr(10) else sign)}</span>'
        for sign, shade in zip(text, shades, strict=True)
    ]
    # A screen reader would spell it; the line below says what is to be seen.
    return (
        f'<p class="map-name">{caption}</p><div class="shaded" role="img" aria-label="{caption}">{"".join(marks)}</div>'
    )
