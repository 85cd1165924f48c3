"""Scores become weights: divided by a power of d_k, and masked before the softmax or after it."""

import torch
from IPython.display import HTML

from course_lib.attention import scaled_dot_product_attention
from course_lib.diagrams import number
from course_lib.explorers.markup import bar, explorer, table
from course_lib.masks import causal_mask
from course_lib.shapes import check_shape


def explore_masking(query: torch.Tensor, key: torch.Tensor) -> HTML:
    """Return an explorer in which the reader chooses d_k, the scale and the place of the mask.

    query and key are (token, d_key); the explorer has the scores of their first 1, 4, 16, ... entries, and begins with
    4 of them, scaled, and with a fault to find: masked after the softmax, so that rows sum to less than 1. The reader
    may change the last token (its query and its key get the opposite sign) and sees which weights move. Raises
    ValueError where d_key is not a power of 4.

    >>> shown = explore_masking(torch.zeros(2, 16), torch.zeros(2, 16))
    >>> '"widths": [1, 4, 16]' in shown.data and shown.data.count(">0.50<") == 3
    True
    """
    sizes = check_shape(query, "token d_key", "query")
    check_shape(key, "token d_key", "key", **sizes)
    widths = [1]
    while widths[-1] < sizes["d_key"]:
        widths.append(4 * widths[-1])
    if widths[-1] != sizes["d_key"]:
        raise ValueError(f"d_key is {sizes['d_key']}, expected a power of 4: 1, 4, 16, ...")
    exact_query, exact_key = query.double(), key.double()  # so that every processor rounds to the same four digits
    scores = [exact_query[:, :width] @ exact_key[:, :width].T for width in widths]  # (token, token) each
    first = widths[min(1, len(widths) - 1)]  # 4, where there are so many
    _, unmasked = scaled_dot_product_attention(query[:, :first], key[:, :first], key)  # (token, token)
    allowed = causal_mask(sizes["token"])  # (token, token)
    tokens = [str(1 + token) for token in range(sizes["token"])]
    rows = [
        [token, *map(_cell, row, may_read), f'<td class="sum">{number(sum(row))}</td>']
        for token, row, may_read in zip(tokens, (unmasked * allowed).tolist(), allowed.tolist(), strict=True)
    ]
    figure = table(["", *tokens, "sum"], rows, "Weights: a row for each query, a column for each key")
    rounded = [[[round(score, 4) for score in row] for row in each.tolist()] for each in scores]
    sentence = "choose d_k, what the scores are divided by, and where the mask comes, and change the last token"
    return explorer("masking", {"widths": widths, "scores": rounded}, figure, sentence)


def _cell(weight: float, may_read: bool) -> str:
    return bar(weight) if may_read else bar(weight).replace('"bar"', '"bar hidden-key"')
