"""Self-attention without parameters: for one token, for all tokens at once, and with the rows permuted."""

from collections.abc import Sequence

import torch

from course_lib.attention import simple_self_attention
from course_lib.data.running_example import FEATURES, TOKENS, X
from course_lib.diagrams import Arrow, Diagram, Group, Part, arrow, column, matrix, number, text

LAST = len(TOKENS) - 1  # "itself", the row that the chapter follows
ORDER = (3, 2, 0, 1)  # "itself sees the cat"
DOWN, ACROSS, BACK = ("bottom", "top"), ("right", "left"), ("left", "right")


def self_attention_of_one_token() -> Diagram:
    """Draw Chapter 3: the row of one token is the query, all rows are the keys, and all rows are the values.

    >>> print(self_attention_of_one_token().description[-63:])
    The average of the values is the output 0.99, 0.05, 0.01, 1.85.
    """
    scores = X @ X[LAST : LAST + 1].T  # (key, 1)
    output, every = simple_self_attention(X)  # (time, d_model), (query, key)
    weights = every[LAST : LAST + 1].T  # (key, 1)

    def arranged(columns: Sequence[str], rows: Sequence[str], gap: float, words: tuple[str, str]) -> list[Part | Arrow]:
        products, softmax = words
        query = matrix(X[LAST : LAST + 1], "query", "query: “itself”", (), FEATURES)
        keys = matrix(X, "key", "keys: X", TOKENS, columns).below(query, 40)
        score = matrix(scores, "weight", "scores", rows).right_of(keys, gap)
        values = matrix(X, "value", "values: X", TOKENS, columns).below(keys, 52)
        weight = matrix(weights, "weight", "weights", rows).right_of(values, gap)
        weight.move(score.middle[0] - weight.middle[0], 0)
        y = matrix(output[LAST : LAST + 1], "value", "output: “itself”", (), FEATURES).below(values, 40)
        return [
            *(query, keys, score, weight, values, y),
            arrow(query, keys, role="query", sides=DOWN),
            arrow(keys, score, products, sides=ACROSS),
            arrow(score, weight, softmax, "weight", DOWN),
            arrow(weight, values, "times", "weight", BACK),
            arrow(values, y, "sum", "value", DOWN),
        ]

    listed = [", ".join(map(number, each.flatten().tolist())) for each in (scores, weights, output[LAST])]
    return Diagram(
        "Self-attention of one token",
        "The row of “itself” in X is the query. The four rows of X are the keys, and once more the values. The dot "
        f"products of the query with the keys are the scores {listed[0]}. A softmax turns them into the weights "
        f"{listed[1]}. The average of the values is the output {listed[2]}.",
        arranged(FEATURES, TOKENS, 116, ("dot products", "softmax")),
        narrow=arranged((), (), 55, ("dot\nproduct", "soft-\nmax")),
    )


def self_attention_without_parameters() -> Diagram:
    """Draw Chapter 3: X becomes X Xᵀ, a softmax makes weights of it, and the weights average the rows of X.

    >>> print(self_attention_without_parameters().description[-68:])
    is framed: “itself” gives 0.90 of its weight to itself, 0.05 to cat.
    """
    output, weights = simple_self_attention(X)  # (time, d_model), (time, time)

    def steps() -> tuple[Part, Part, Part, Part]:
        return (
            matrix(X, "plain", "X", TOKENS, FEATURES, highlight=LAST),
            matrix(X @ X.T, "weight", "scores X Xᵀ", TOKENS, TOKENS, highlight=LAST),
            matrix(weights, "weight", "weights A", TOKENS, TOKENS, highlight=LAST),
            matrix(output, "value", "Y = A X", TOKENS, FEATURES, highlight=LAST),
        )

    x, scores, a, y = steps()
    scores.right_of(x, 116)
    a.below(scores, 56)
    y.left_of(a, 104)
    y.move(x.middle[0] - y.middle[0], 0)
    roles = text("Each row of X is query, key and value at once.").above(Group([x, scores]), 12)
    wide = [
        *(x, scores, a, y, roles),
        arrow(x, scores, "dot products"),
        arrow(scores, a, "softmax of\neach row", "weight", DOWN),
        arrow(a, y, "averages X", "weight"),
        arrow(x, y, sides=DOWN),
    ]
    x, scores, a, y = drawn = steps()
    column(*drawn, gap=46)
    narrow_roles = text("Each row of X is query, key\nand value at once.").above(x, 12)
    return Diagram(
        "Self-attention without parameters, for all four tokens at once",
        "X has a row for each of the four tokens and a column for each feature: thing, living, action, refers. X times "
        "its transpose gives a score for each pair of tokens. A softmax of each row turns the scores into the weights "
        "A. A times X is the output Y. The last row "
        f"is framed: “itself” gives {weights[LAST, LAST]:.2f} of its weight to itself, {weights[LAST, 1]:.2f} to cat.",
        wide,
        narrow=[
            *drawn,
            narrow_roles,
            arrow(x, scores, "dot products", sides=DOWN),
            arrow(scores, a, "softmax of each row", "weight", DOWN),
            arrow(a, y, "averages X", "weight", DOWN),
        ],
    )


def self_attention_of_permuted_rows() -> Diagram:
    """Draw Chapter 3: the same four tokens in two orders; weights and outputs move with their tokens.

    >>> print(self_attention_of_permuted_rows().description[-80:])
    The framed row belongs to “itself” in both panels, and its numbers are the same.
    """
    permuted = X[list(ORDER)]  # (time, d_model)
    names = tuple(TOKENS[index] for index in ORDER)

    def panel(inputs: torch.Tensor, tokens: tuple[str, ...], mark: str) -> Group:
        output, weights = simple_self_attention(inputs)  # (time, d_model), (time, time)
        framed = tokens.index("itself")
        x = matrix(inputs, "plain", f"{mark}X", tokens, highlight=framed)
        a = matrix(weights, "weight", f"{mark}A{mark and 'Pᵀ'}", tokens, tokens, highlight=framed)
        y = matrix(output, "value", f"{mark}Y", tokens, highlight=framed)
        column(x, a, y, gap=34)
        heading = text(" ".join(tokens), strong=True).above(x, 10)
        heading.move(a.middle[0] - heading.middle[0], 0)
        return Group([heading, x, a, y, arrow(x, a, sides=DOWN), arrow(a, y, role="weight", sides=DOWN)])

    def panels() -> tuple[Group, Group]:
        return panel(X, TOKENS, ""), panel(permuted, names, "P")

    first, second = panels()
    second.right_of(first, 128)
    words = ("permute rows", "permute rows\nand columns", "permute rows")
    levels = zip(first.parts[1:4], second.parts[1:4], words, strict=True)
    across: list[Arrow] = [arrow(before, after, label, sides=ACROSS) for before, after, label in levels]
    return Diagram(
        "The rows permuted: the outputs are permuted in the same way",
        "Two panels, each with the input, the weights and the output of self-attention. First, the tokens in the order "
        f"{' '.join(TOKENS)}. Second, in the order {' '.join(names)}. The rows of the input are permuted, the rows and "
        "columns of the weights, and the rows of the output: every number has moved with its token, and no number is "
        "new. The framed row belongs to “itself” in both panels, and its numbers are the same.",
        [first, second, *across],
        narrow=[column(*panels(), gap=40)],
    )
