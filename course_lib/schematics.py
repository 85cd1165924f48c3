"""The drawn mechanisms of the book, each a function: all numbers in them are computed from the running example."""

import torch

from course_lib.attention import scaled_dot_product_attention
from course_lib.data.running_example import MEMORY, SOURCE_TOKENS, TOKENS, W_K, W_O, W_V, K, Q, V, X
from course_lib.diagrams import (
    Arrow,
    Diagram,
    Group,
    Part,
    arrow,
    beside,
    box,
    bracket,
    column,
    frame,
    matrix,
    point,
    stack,
    text,
)
from course_lib.masks import causal_mask, masked_softmax

SCALE = Q.shape[-1] ** -0.5


def attention_step_by_step() -> Diagram:
    """Draw Chapter 4: X becomes Q, K and V, queries meet keys, a softmax makes weights, the weights average the values.

    >>> "W_q" in attention_step_by_step().description
    True
    """
    output, weights = scaled_dot_product_attention(Q, K, V)
    last = len(TOKENS) - 1

    def steps(all_names: bool) -> dict[str, Part]:
        return {
            "x": matrix(X, title="X", rows=TOKENS, highlight=last),
            "q": matrix(Q, "query", "Q", highlight=last),
            "k": matrix(K, "key", "K"),
            "v": matrix(V, "value", "V"),
            "s": matrix(Q @ K.T, "weight", "Q Kᵀ", TOKENS, TOKENS if all_names else (), highlight=last),
            "a": matrix(weights, "weight", "A", TOKENS if all_names else (), TOKENS, highlight=last),
            "y": matrix(output, "value", "Y = A V", TOKENS if all_names else (), highlight=last),
        }

    def arrows(x, q, k, v, s, a, y, to_output: tuple[str, str]) -> list[Arrow]:
        down = ("bottom", "top")
        return [
            arrow(x, q, "W_q", "query", down),
            arrow(x, k, "W_k", "key", down),
            arrow(x, v, "W_v", "value", down),
            arrow(q, s, role="query", sides=down),
            arrow(k, s, role="key", sides=down),
            arrow(s, a, "÷ √4\nsoftmax", "weight"),
            arrow(v, y, role="value", sides=to_output),
            arrow(a, y, role="weight"),
        ]

    wide = steps(all_names=False)
    beside(wide["s"], wide["a"], wide["y"], gap=78)
    wide["q"].above(wide["s"], 44)
    wide["k"].above(wide["a"], 44).move(0, wide["q"].top - wide["k"].top)
    wide["v"].above(wide["y"], 44).move(0, wide["q"].top - wide["v"].top)
    wide["x"].above(wide["k"], 44)
    narrow = steps(all_names=True)
    three = beside(narrow["q"], narrow["k"], narrow["v"], gap=7)
    narrow["x"].above(three, 44)
    narrow["s"].below(narrow["q"], 36)
    narrow["s"].move(three.bounds[0] - narrow["s"].left, 0)
    for name, before in (("a", "s"), ("y", "a")):
        narrow[name].below(narrow[before], 52)
    return Diagram(
        "Attention, step by step, on four tokens",
        "X, with a row for each of the four tokens, is multiplied by W_q, W_k and W_v and becomes Q, K and V, each 4 by 4. "
        "Q times K transposed gives a score for each query and key. Divided by the root of d_k, which is 2, and passed "
        "through a softmax by row, the scores become the weights A. A times V is the output Y. The last row is framed: "
        f"“itself” gives {weights[last, 1]:.2f} of its weight to “cat”.",
        [*wide.values(), *arrows(**wide, to_output=("bottom", "top"))],
        narrow=[*narrow.values(), *arrows(**narrow, to_output=("bottom", "right"))],
    )


def self_and_cross_attention() -> Diagram:
    """Draw Chapter 4: the same machine twice; only the place where keys and values come from differs.

    >>> self_and_cross_attention().size[0] < 690
    True
    """

    def panel(name: str, memory: torch.Tensor | None, tokens: tuple[str, ...], letter: str) -> Group:
        read = X if memory is None else memory
        key, value = read @ W_K.T, read @ W_V.T
        _, weights = scaled_dot_product_attention(Q, key, value)
        own = box(f"X\n{_shape(X)}", width=76)
        other = own if memory is None else box(f"M\n{_shape(memory)}", "memory", width=76)
        projections = beside(
            box(f"Q\n{_shape(Q)}", "query", width=76),
            box(f"K\n{_shape(key)}", "key", width=76),
            box(f"V\n{_shape(value)}", "value", width=76),
            gap=28,
        )
        q, k, v = projections.parts
        if memory is None:
            own.above(projections, 48)
        else:
            other.above(beside(k, v, gap=28), 48)
            own.above(q, 48)
        heading = text(name, strong=True).above(Group([own, other]), 14)
        heading.move(projections.middle[0] - heading.middle[0], 0)
        grid = matrix(weights, "weight", "A", TOKENS, tokens).below(projections, 40)
        grid.move(q.middle[0] - grid.bounds[0] - 62, 0)
        result = box(f"Y = A V\n{_shape(weights @ value)}", "value").below(grid, 32)
        down = ("bottom", "top")
        lines = [arrow(own, q, "W_q", "query", down), arrow(other, k, "W_k", "key", down)]
        lines += [arrow(other, v, "W_v", "value", down), arrow(q, grid, role="query", sides=down)]
        lines += [arrow(k, grid, role="key", sides=down), arrow(grid, result, role="weight")]
        lines += [arrow(v, result, role="value", sides=("bottom", "right"))]
        return Group([heading, own, *([other] if other is not own else []), q, k, v, grid, result, *lines])

    def panels() -> tuple[Group, Group]:
        return (
            panel("self-attention: K and V from X", None, TOKENS, "X"),
            panel("cross-attention: K and V from M", MEMORY, SOURCE_TOKENS, "M"),
        )

    left, right = panels()
    right.move(left.bounds[2] + 36 - right.bounds[0], 0)
    upper, lower = panels()
    column(upper, lower, gap=48)
    return Diagram(
        "Self-attention and cross-attention",
        "Left, self-attention: queries, keys and values are all made from X, and the weights are 4 by 4. Right, "
        "cross-attention: queries are made from X, but keys and values from the memory M, which has three rows. The "
        "weights are 4 by 3, a row for each query and a column for each row of the memory; the output has four rows.",
        [left, right],
        narrow=[upper, lower],
    )


def masking() -> Diagram:
    """Draw Chapter 5: scores are scaled, hidden above the diagonal, and made weights; and the wrong order beside it."""
    scores, mask = Q @ K.T, causal_mask(len(TOKENS))  # (query, key), (query, key)
    scaled = SCALE * scores  # (query, key)
    hidden = scaled.where(mask, -torch.inf)  # (query, key)
    right = masked_softmax(scaled, mask)  # (query, key)
    every = torch.softmax(scaled, dim=-1)  # (query, key)
    wrong = every.where(mask, 0.0)  # (query, key)

    def steps() -> dict[str, Part]:
        def with_sums(weights: torch.Tensor, title: str, shown: torch.Tensor | None) -> Group:
            sums = matrix(weights.sum(dim=-1, keepdim=True), columns=["sum"])
            return beside(matrix(weights, "weight", title, TOKENS, TOKENS, shown), sums, gap=6)

        return {
            "scores": matrix(scores, "weight", "scores Q Kᵀ", TOKENS, TOKENS),
            "scaled": matrix(scaled, "weight", "scaled", TOKENS, TOKENS),
            "hidden": matrix(hidden, "weight", "masked", TOKENS, TOKENS, mask),
            "right": with_sums(right, "weights A", mask),
            "every": with_sums(every, "softmax of all", None),
            "wrong": with_sums(wrong, "masked too late", mask),
        }

    def arrows(parts: dict[str, Part], second_way: Arrow) -> list[Arrow]:
        return [
            arrow(parts["scores"], parts["scaled"], "÷ √d_k\n= ÷ 2"),
            arrow(parts["scaled"], parts["hidden"], "mask", sides=("bottom", "top")),
            second_way,
            arrow(parts["hidden"], parts["right"].parts[0], "softmax"),
            arrow(parts["every"].parts[0], parts["wrong"].parts[0], "mask"),
        ]

    early, late = "✓ mask, then softmax:\neach row sums to 1", "✗ softmax, then mask:\nthree rows sum to less"
    wide, narrow = steps(), steps()
    wide["scaled"].right_of(wide["scores"], 92)
    for first, others in (("scores", ("hidden", "right")), ("scaled", ("every", "wrong"))):
        wide[others[0]].below(wide[first], 64, align="start")
        wide[others[1]].below(wide[others[0]], 46, align="start")
    verdicts = [text(early, strong=True).below(wide["right"], 12), text(late, strong=True).below(wide["wrong"], 12)]
    names = ("scores", "scaled", "hidden", "right", "every", "wrong")
    for before, name in zip(names, names[1:], strict=False):
        narrow[name].below(narrow[before], 56 if name != "every" else 76, align="start")
    around = arrow(narrow["scaled"], narrow["every"], sides=("right", "right"), reach=14)
    turned = [text(early, strong=True).below(narrow["right"], 10), text(late, strong=True).below(narrow["wrong"], 10)]
    return Diagram(
        "The mask belongs before the softmax",
        "The scores of the four tokens are divided by the root of d_k, which is 2. Then there are two ways. On the first, "
        "what stands above the diagonal becomes minus infinity, and a softmax makes weights: 0 for all keys of the "
        "future, and each row sums to 1. On the second, the softmax comes first and the weights of the future are "
        f"removed after it: the rows sum to {', '.join(f'{total:.2f}' for total in wrong.sum(dim=-1))}.",
        [*wide.values(), *verdicts, *arrows(wide, arrow(wide["scaled"], wide["every"].parts[0], "softmax"))],
        narrow=[*narrow.values(), *turned, *arrows(narrow, around)],
    )


def transformer() -> Diagram:
    """Draw Chapter 9: encoder and decoder as in Vaswani et al. (2017), normalised after each sum, without dropout.

    >>> "× 6" in transformer().svg()
    True
    """

    def tower(tokens: str, shape: str, sublayers: list[tuple[str, str]], width: float, reach: float) -> Group:
        """Return tokens, embedding, sublayers, each with its sum, and arrows: upward, and around each sublayer."""
        parts = [text(tokens), box("embedding\n+ positions", width=width)]
        for label, role in sublayers:
            parts += [box(label, role, width), box("add & norm", width=width)]
        stack(*parts[:2])
        parts[2].above(parts[1], 52)
        stack(*parts[2:])
        labels = {1: (shape, "plain"), 3: ("Q", "query")} if len(sublayers) == 3 else {1: (shape, "plain")}
        upward = [arrow(parts[n], parts[n + 1], *labels.get(n, ())) for n in range(len(parts) - 1)]
        sides = ("left", "right", "left")
        around = [
            arrow(parts[2 * n + 1], parts[2 * n + 3], sides=(sides[n], sides[n]), reach=reach)
            for n in range(len(sublayers))
        ]
        return Group([*parts, *upward, *around])

    def arrangement(width: float, reach: float, space: float, gap: float) -> list[Part | Arrow]:
        attention, last = ("self-attention", "query"), ("feed-forward", "plain")
        layers = [("masked\nself-attention", "query"), ("cross-attention", "memory"), last]
        encoder = tower(" ".join(SOURCE_TOKENS), _shape(MEMORY), [attention, last], width, reach)
        decoder = tower(" ".join(("<start>", *TOKENS[:-1])), _shape(X), layers, width, reach)
        decoder.move(encoder.bounds[2] + gap - decoder.bounds[0], encoder.bounds[3] - decoder.bounds[3])
        blocks = [
            frame(encoder.parts[2:6], "× 6", space=space),
            frame(decoder.parts[2:8], "× 6", space=space),
        ]
        memory = box(f"memory M\n{_shape(MEMORY)}", "memory", width - 22).above(encoder.parts[5], space + 44)
        output = box("linear", width=width).above(decoder.parts[7], space + 44)
        top = stack(output, box("softmax", width=width), text(" ".join(TOKENS)))
        return [
            *blocks,
            encoder,
            decoder,
            text("encoder", strong=True).below(encoder.parts[0], 4),
            text("decoder", strong=True).below(decoder.parts[0], 4),
            memory,
            text("K, V", "memory", strong=True).right_of(memory, 5).move(0, -14),
            top,
            arrow(encoder.parts[5], memory),
            arrow(decoder.parts[7], output),
            arrow(memory, decoder.parts[4], role="memory", sides=("right", "left")),
        ]

    return Diagram(
        "The transformer of 2017: encoder and decoder",
        "Left, the encoder. From below: the source tokens, an embedding with positions, then six blocks of self-attention "
        "and a feed-forward network; around each of these runs a residual connection, and the sum is normalised. What "
        "comes out is the memory. Right, the decoder: the tokens written so far, an embedding with positions, then six "
        "blocks of masked self-attention, cross-attention, whose keys and values come from the memory, and a "
        "feed-forward network. A linear layer and a softmax give the probabilities of the next token at each position.",
        arrangement(170, 20, 36, 90),
        narrow=arrangement(122, 11, 19, 28),
    )


def shift_right() -> Diagram:
    """Draw Chapter 9: the decoder's input is its target, shifted to the right by one, behind a start token."""
    words = ("<start>", *TOKENS)
    rows, arrows = [], []
    for step in range(1, len(words)):
        name = text(f"step {step}")
        inputs = [matrix([[word]]) for word in words[:step]]
        target = matrix([[words[step]]], highlight=0)
        row = beside(name, *inputs, target, gap=18)
        arrows.append(arrow(inputs[-1], target))
        if rows:
            row.below(rows[-1], 24, align="start")
            arrows.append(arrow(rows[-1].parts[-1], inputs[-1]))
        rows.append(row)
    legend = text("framed: the target of each step").below(Group(rows), 16)
    return Diagram(
        "Shifted to the right: inputs and targets of the decoder",
        "A staircase. In step 1 the decoder is given the start token and has to predict “the”. In each further step it is "
        "given what it had to predict in the step before, too: the start token and “the”, for “cat”, and so on. In "
        "training all steps are made at once, with a causal mask.",
        [*rows, legend, *arrows],
    )


def _shape(tensor: torch.Tensor) -> str:
    return " × ".join(map(str, tensor.shape))
