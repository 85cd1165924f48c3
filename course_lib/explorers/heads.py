"""Heads side by side: where each looks, what it adds to the output, and what is left without it."""

from collections.abc import Sequence

import torch
from IPython.display import HTML

from course_lib.attention import scaled_dot_product_attention
from course_lib.diagrams import number
from course_lib.explorers.markup import bar, explorer, table
from course_lib.multi_head import split_heads
from course_lib.shapes import check_shape


def explore_heads(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    to_output: torch.Tensor,
    names: Sequence[str],
    heads: int = 2,
) -> HTML:
    """Return an explorer in which the reader sees the weights of a head, and switches heads and W_o off.

    query, key and value are (token, d_model), as they are before the split, to_output is W_o, (d_model, d_model), with
    a name for each token. One row of the output is taken apart: what the heads found, side by side, what each adds
    through its columns of W_o, and the sum. It begins with the first head and the last token. Raises ValueError for
    another number of names, or where heads do not divide the width.

    >>> eye = torch.eye(4)
    >>> shown = explore_heads(0 * eye, eye, eye, eye, ["the", "cat", "sees", "itself"])
    >>> shown.data.count(">0.25<")  # 16 weights; 4 entries side by side, added, and in the sum
    28
    """
    sizes = check_shape(query, "token d_model", "query")
    check_shape(key, "token d_model", "key", **sizes)
    check_shape(value, "token d_model", "value", **sizes)
    check_shape(to_output, "d_model d_model", "to_output", d_model=sizes["d_model"])
    if len(names) != sizes["token"]:
        raise ValueError(f"`names` has {len(names)}, expected {sizes['token']}: one for each row of `query`")
    split = [split_heads(each.double(), heads) for each in (query, key, value)]  # (heads, token, d_head) each
    found, weights = scaled_dot_product_attention(*split)  # (heads, token, d_head), (heads, token, token)
    columns = to_output.double().chunk(heads, dim=1)  # (d_model, d_head) for each head
    added = torch.stack([each @ own.T for each, own in zip(found, columns, strict=True)])  # (heads, token, d_model)
    looks = [[name, *map(bar, row)] for name, row in zip(names, weights[0].tolist(), strict=True)]
    parts = [
        ("side by side", found[:, -1].flatten()),
        *((f"head {1 + head} adds", each[-1]) for head, each in enumerate(added)),
        ("output", added[:, -1].sum(dim=0)),
    ]
    rows = [[name, *(f"<td>{number(entry)}</td>" for entry in part.tolist())] for name, part in parts]
    entries = [str(1 + entry) for entry in range(sizes["d_model"])]
    figure = table(["", *names], looks, "Weights of head 1")
    figure += table(["entry", *entries], rows, f"The output of “{names[-1]}”")
    data = {
        "names": list(names),
        "weights": weights.round(decimals=6).tolist(),
        "found": found.round(decimals=6).tolist(),
        "to_output": to_output.tolist(),
    }
    sentence = "choose a head and a token, switch heads off, and leave out W_o"
    return explorer("heads", data, figure, sentence)
