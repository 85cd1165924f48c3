"""Attention with queries, keys and values: step by step, and from one sequence to another."""

import torch

from course_lib.attention import scaled_dot_product_attention
from course_lib.data.running_example import MEMORY, SOURCE_TOKENS, TOKENS, W_K, W_V, K, Q, V, X
from course_lib.diagrams import Arrow, Diagram, Group, Part, arrow, beside, box, bracket, column, matrix, shape_of, text

DOWN = ("bottom", "top")


def attention_step_by_step() -> Diagram:
    """Draw Chapter 4: X becomes Q, K and V, queries meet keys, a softmax makes weights, the weights average the values.

    >>> print(attention_step_by_step().description[-54:])
    is framed: “itself” gives 0.66 of its weight to “cat”.
    """
    output, weights = scaled_dot_product_attention(Q, K, V)
    last = len(TOKENS) - 1

    def steps(names: bool) -> dict[str, Part]:
        """Return all matrices, with names of rows and columns also where a wide drawing has them beside or above."""
        rows, columns = (TOKENS, TOKENS) if names else ((), ())
        return {
            "x": matrix(X, title="X", rows=TOKENS, highlight=last),
            "q": matrix(Q, "query", "Q", highlight=last),
            "k": matrix(K, "key", "K"),
            "v": matrix(V, "value", "V"),
            "s": matrix(Q @ K.T, "weight", "Q Kᵀ", TOKENS, columns, highlight=last),
            "a": matrix(weights, "weight", "A", rows, TOKENS, highlight=last),
            "y": matrix(output, "value", "Y = A V", rows, highlight=last),
        }

    def finish(x, q, k, v, s, a, y, v_meets: str) -> list[Part | Arrow]:
        return [
            *(x, q, k, v, s, a, y),
            bracket(x, "right", "a row for\neach token"),
            *_projections(x, q, x, k, v),
            arrow(q, s, role="query", sides=DOWN),
            arrow(k, s, role="key", sides=DOWN),
            arrow(s, a, "÷ √4\nsoftmax", "weight"),
            arrow(a, y, role="weight"),
            arrow(v, y, role="value", sides=("bottom", v_meets)),
        ]

    wide = steps(names=False)
    beside(wide["s"], wide["a"], wide["y"], gap=78)
    wide["q"].above(wide["s"], 44)
    for name, lower in (("k", "a"), ("v", "y")):
        wide[name].right_of(wide["q"]).move(wide[lower].middle[0] - wide[name].middle[0], 0)
    wide["x"].above(wide["k"], 44)
    narrow = steps(names=True)
    three = beside(narrow["q"], narrow["k"], narrow["v"], gap=7)
    narrow["x"].above(three, 44)
    narrow["s"].below(three, 36)
    narrow["s"].move(three.bounds[0] - narrow["s"].bounds[0], 0)
    narrow["a"].below(narrow["s"], 52)
    narrow["y"].below(narrow["a"], 52)
    return Diagram(
        "Attention, step by step, on four tokens",
        "X has a row for each of the four tokens. Multiplied by W_q, W_k and W_v, it becomes Q, K and V, each 4 by 4. "
        "Q times K transposed gives a score for each query and key. Divided by the root of d_k, which is 2, and passed "
        "through a softmax by row, the scores become the weights A. A times V is the output Y. The last row is framed: "
        f"“itself” gives {weights[last, 1]:.2f} of its weight to “cat”.",
        finish(**wide, v_meets="top"),
        narrow=finish(**narrow, v_meets="right"),
    )


def self_and_cross_attention() -> Diagram:
    """Draw Chapter 4: the same machine twice; only the place where keys and values come from differs.

    >>> self_and_cross_attention().size
    (660, 480)
    """

    def panels() -> tuple[Group, Group]:
        return _panel("self-attention: K and V from X", X, TOKENS), _panel(
            "cross-attention: K and V from Z", MEMORY, SOURCE_TOKENS
        )

    left, right = panels()
    right.move(left.bounds[2] + 36 - right.bounds[0], 0)
    return Diagram(
        "Self-attention and cross-attention",
        "First, self-attention: queries, keys and values are all made from X, and the weights are 4 by 4. Second, "
        "cross-attention: queries are made from X, but keys and values from the memory Z, which has three rows. The "
        "weights are 4 by 3, a row for each query and a column for each row of the memory; the output has four rows.",
        [left, right],
        narrow=[column(*panels(), gap=48)],
    )


def _panel(name: str, memory: torch.Tensor, tokens: tuple[str, ...]) -> Group:
    """Draw how the queries of X read a memory (n, d_model), which may be X itself."""
    key, value = memory @ W_K.T, memory @ W_V.T  # (n, d_key), (n, d_value)
    output, weights = scaled_dot_product_attention(Q, key, value)  # (time, d_value), (time, n)
    parts = [(Q, "query", "Q"), (key, "key", "K"), (value, "value", "V")]
    q, k, v = (box(f"{letter}\n{shape_of(tensor)}", role, width=76) for tensor, role, letter in parts)
    three = beside(q, k, v, gap=28)
    x = box(f"X\n{shape_of(X)}", width=76).above(three if memory is X else q, 48)
    read = x if memory is X else box(f"Z\n{shape_of(memory)}", "memory", width=76).above(Group([k, v]), 48)
    heading = text(name, strong=True).above(three, 116)
    a = matrix(weights, "weight", "A", TOKENS, tokens).below(three, 40)
    a.move(q.bounds[0] - 24 - a.bounds[0], 0)
    y = box(f"Y = A V\n{shape_of(output)}", "value").below(a, 32)
    arrows = [arrow(q, a, role="query", sides=DOWN), arrow(k, a, role="key", sides=DOWN), arrow(a, y, role="weight")]
    arrows += [arrow(v, y, role="value", sides=("bottom", "right")), *_projections(x, q, read, k, v)]
    return Group([heading, x, *([] if read is x else [read]), three, a, y, *arrows])


def _projections(x: Part, q: Part, read: Part, k: Part, v: Part) -> list[Arrow]:
    """Return the arrows from what asks to the queries, and from what is read to the keys and the values."""
    ways = ((x, q, "W_q", "query"), (read, k, "W_k", "key"), (read, v, "W_v", "value"))
    return [arrow(start, end, label, role, DOWN) for start, end, label, role in ways]
