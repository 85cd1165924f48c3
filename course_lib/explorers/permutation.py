"""Tokens in any order: what a permutation does to the weights and the outputs of self-attention."""

from collections.abc import Sequence

import torch
from IPython.display import HTML

from course_lib.attention import simple_self_attention
from course_lib.diagrams import number
from course_lib.explorers.markup import bar, explorer, table
from course_lib.shapes import check_shape


def explore_permutation(inputs: torch.Tensor, names: Sequence[str], features: Sequence[str]) -> HTML:
    """Return an explorer in which the reader exchanges tokens and sees weights and outputs follow, or not.

    inputs is (token, d_model), with a name for each token, and one of `features` for each column. The reader also
    chooses whether a token may read those after it: where it may not, the outputs no longer follow. Raises ValueError
    for another number of names or features.

    >>> shown = explore_permutation(torch.eye(2), ["the", "cat"], ["thing", "living"])
    >>> shown.data.count(">0.73<")  # twice as a weight, twice as an entry of the output
    4
    """
    sizes = check_shape(inputs, "token d_model", "inputs")
    if len(names) != sizes["token"]:
        raise ValueError(f"`names` has {len(names)}, expected {sizes['token']}: one for each row of `inputs`")
    if len(features) != sizes["d_model"]:
        raise ValueError(
            f"`features` has {len(features)}, expected {sizes['d_model']}: one for each column of `inputs`"
        )
    output, weights = simple_self_attention(inputs)  # (token, d_model), (token, token)
    shares = [[name, *map(bar, row)] for name, row in zip(names, weights.tolist(), strict=True)]
    entries = [
        [name, *(f"<td>{number(entry)}</td>" for entry in row)]
        for name, row in zip(names, output.tolist(), strict=True)
    ]
    figure = table(["", *names], shares, "Weights A") + table(["", *features], entries, "Output Y")
    sentence = "exchange two tokens, and see whether their weights and outputs follow, also with a mask"
    return explorer("permutation", {"inputs": inputs.tolist(), "names": list(names)}, figure, sentence)
