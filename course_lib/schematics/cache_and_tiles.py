"""A cache of keys and values that grows by one row a step, and one row of scores that is read in two tiles."""

import torch

from course_lib.attention import scaled_dot_product_attention
from course_lib.data.running_example import TOKENS, K, Q, V
from course_lib.diagrams import Diagram, Group, Part, beside, column, matrix, text
from course_lib.masks import causal_mask

SCALE = Q.shape[-1] ** -0.5
SEES = TOKENS.index("sees")
TILE = 2  # keys, and queries, of a tile


def growing_cache() -> Diagram:
    """Draw Chapter 13: four steps of decoding, in each of which one query reads all keys and values so far.

    >>> print(growing_cache().description[-75:])
    weights of its four keys are 0.01, 0.66, 0.24, 0.09, and its output is Y_4.
    """
    output, weights = scaled_dot_product_attention(Q, K, V, causal_mask(len(TOKENS)))  # (query, d_value), (query, key)
    last = ", ".join(f"{weight:.2f}" for weight in weights[-1].tolist())

    def step(number: int) -> tuple[Part, ...]:
        """Return what the step with this number computes and reads, counted from 1."""
        seen, new = slice(number), number - 1
        return (
            matrix(Q[[new]], "query", f"q_{number}"),
            matrix(K[seen], "key", "K", TOKENS[seen], highlight=new),
            matrix(V[seen], "value", "V", highlight=new),
            matrix(weights[new, seen, None], "weight", columns=["A"]),
            matrix(output[[new]], "value", f"y_{number}"),
        )

    def head(number: int) -> Part:
        return text(f"step {number}: “{TOKENS[number - 1]}”", strong=True)

    wide, narrow = [], []
    for number in range(1, len(TOKENS) + 1):
        query, key, value, weight, found = step(number)
        row = beside(query, key, value, weight, found, gap=14)
        wide.append(Group([row, head(number).above(query, 4)]))
        query, key, value, weight, found = step(number)
        read = beside(key, value, weight, gap=10)
        query.above(key, 12)
        found.below(value, 12)
        narrow.append(Group([head(number).above(query, 4), query, read, found]))
    for parts, gap in ((wide, 18), (narrow, 26)):
        for before, part in zip(parts, parts[1:], strict=False):
            part.below(before, gap)
            part.move(_left(before) - _left(part), 0)
    return Diagram(
        "A cache of keys and values grows by one row a step",
        "Four steps, one for each token of “the cat sees itself”. In each step one query, one key and one value are "
        "computed. The key and the value, framed, are put below those of the steps before, so that K and V have one, "
        "two, three and four rows. The query meets all keys that are there, the weights A stand beside the values, and "
        f"their average is the output. In step 4 the query of “itself” is 0, 2, 2, 3, the weights of its four keys are "
        f"{last}, and its output is Y_4.",
        wide,
        narrow=narrow,
    )


def softmax_in_two_tiles() -> Diagram:
    """Draw Chapter 13: the scores in four tiles, and the running maximum, sum and values of the row of “sees”.

    >>> print(softmax_in_two_tiles().description[-64:])
    Divided by the sum, they are the output: 1.35, 1.37, 0.06, 1.12.
    """
    scores = SCALE * Q @ K.T  # (query, key)
    row = scores[SEES]  # (key,)
    first, second = row.split(TILE)  # (key,), (key,)
    m_1, m_2 = first.max(), row.max()
    e_1, e_2 = (first - m_1).exp(), (second - m_2).exp()  # (key,), (key,)
    factor = (m_1 - m_2).exp()
    z_1, u_1 = e_1.sum(), e_1 @ V[:TILE]  # (), (d_value,)
    z_2, u_2 = e_2.sum(), e_2 @ V[TILE:]  # (), (d_value,)
    z, u = factor * z_1 + z_2, factor * u_1 + u_2  # (), (d_value,)

    def cells(*parts: torch.Tensor | float | str) -> list[list[float | str]]:
        """Return a column of the table."""
        return [entry for part in parts for entry in (part.flatten().tolist() if torch.is_tensor(part) else [part])]

    columns = [
        cells(e_1, m_1, z_1, u_1),
        cells("", "", m_2, factor * z_1, factor * u_1),
        cells(e_2, m_2, z_2, u_2),
        cells("", "", m_2, z, u),
        cells("", "", "", "", u / z),
    ]
    table = [list(entries) for entries in zip(*columns, strict=True)]
    names = ["tile 1", f"× {factor:.2f}", "tile 2", "sum", f"÷ {z:.2f}"]

    def parts(values_below: bool) -> list[Part]:
        tiles = [
            [
                matrix(
                    scores[i : i + TILE, j : j + TILE],
                    "weight",
                    rows=TOKENS[i : i + TILE] if j == 0 else (),
                    columns=TOKENS[j : j + TILE],
                    highlight=SEES - i if i <= SEES < i + TILE else None,
                )
                for j in range(0, len(TOKENS), TILE)
            ]
            for i in range(0, len(TOKENS), TILE)
        ]
        above, below = (beside(*each, gap=8) for each in tiles)
        below.below(above, 8)
        for upper, lower in zip(*tiles, strict=True):
            lower.move(upper.middle[0] - lower.middle[0], 0)
        of_scores = Group([above, below])
        of_scores = Group([of_scores, text("scores ÷ 2, in tiles", "weight", strong=True).above(of_scores, 4)])
        of_values = column(
            *(matrix(V[i : i + TILE], "value", rows=TOKENS[i : i + TILE]) for i in range(0, len(TOKENS), TILE)), gap=8
        )
        of_values = Group([of_values, text("V, in tiles", "value", strong=True).above(of_values, 4)])
        running = matrix(table, "weight", rows=["e₁", "e₂", "m", "z", "u₁", "u₂", "u₃", "u₄"], columns=names)
        running = Group([running, text("the row of “sees”", strong=True).above(running, 4)])
        if values_below:
            return [column(of_scores, of_values, running, gap=22)]
        upper = Group([of_scores, of_values.right_of(of_scores, 30)])
        of_values.move(0, of_scores.bounds[3] - of_values.bounds[3])
        return [column(upper, running, gap=22)]

    return Diagram(
        "One row of a softmax, read in two tiles",
        "The scores of four queries and four keys, cut into four tiles of two by two, and the values in two tiles. The "
        "row of “sees”, framed, has the scores 1 and 2 in the first tile, 0 and 3 in the second. Below, a table is "
        "filled from left to right: after tile 1 the maximum m is 2, the sum z of the exponentials "
        f"{z_1:.2f}. The maximum grows to 3, so sum and values are multiplied by {factor:.2f}. Tile 2 adds {z_2:.2f} "
        f"to the sum, which is {z:.2f}. The weighted values u are added up in the same way. Divided by the sum, they "
        f"are the output: {', '.join(f'{entry:.2f}' for entry in (u / z).tolist())}.",
        parts(values_below=False),
        narrow=parts(values_below=True),
    )


def _left(part: Part) -> float:
    """Return where the first matrix of a group begins."""
    return part.bounds[0]
