"""The trained model of Chapter 9 in the page: it translates what the reader types, token by token."""

import re

import torch
from IPython.display import HTML

from course_lib.data.number_names import END, START, VOCABULARY, names, spelled
from course_lib.decoding import greedy_decode
from course_lib.explorers.markup import explorer, table
from course_lib.explorers.weights import check_parts, packed
from course_lib.inspection import record_attention
from course_lib.models.encoder_decoder import EncoderDecoder

LONGEST = 20  # tokens


@torch.no_grad()
def explore_translation(model: EncoderDecoder, number: int) -> HTML:
    """Return an explorer in which the reader types a number below a million and the model writes its German name.

    The page holds the weights of `model` in 16 bits each. It begins with `number`. Raises ValueError for a model with a
    part that the page does not compute.

    >>> shown = explore_translation(EncoderDecoder(len(VOCABULARY)), 49)
    >>> '<th scope="col"><span>forty</span></th><th scope="col"><span>nine</span></th>' in shown.data
    True
    """
    check_parts(model)
    pair = names(torch.tensor([number]))
    prompt = torch.full((1, 1), START)  # (1, 1)
    written = greedy_decode(model.next_token_scorer(pair.source), prompt, END, LONGEST)  # (1, 1 + m)
    with record_attention(model) as maps:
        model(pair.source, written[:, :-1])
    across = torch.stack([maps[name] for name in maps if "cross_attention" in name])  # (layer, 1, head, m, n)
    rows = [
        [VOCABULARY[token], *(f'<td style="--weight-here: {weight:.3f}"></td>' for weight in row)]
        for token, row in zip(written[0, 1:], across.mean(dim=(0, 2))[0].tolist(), strict=True)
    ]
    words = spelled(pair.source[0]).split()
    figure = table(["", *words], rows, f"{number:,}: weights, to write each German token, of the English words")
    figure = re.sub(r'(<th scope="col">)(.*?)(</th>)', r"\1<span>\2</span>\3", figure)  # a span can be turned
    data = {
        "number": number,
        "vocabulary": VOCABULARY,
        "heads": model.encoder[0].attention.heads,
        "longest": LONGEST,
        "weights": packed(model.state_dict()),
    }
    return explorer("translation", data, figure, "type a number, and watch the German name grow token by token")
