"""Attention with queries, keys and values: what each is made of, step by step, across sequences, with one matrix."""

import torch

from course_lib.attention import scaled_dot_product_attention
from course_lib.data.running_example import (
    FEATURES,
    MEMORY,
    SOURCE_TOKENS,
    TOKENS,
    W_K,
    W_Q,
    W_V,
    K,
    Q,
    V,
    X,
)
from course_lib.diagrams import Arrow, Diagram, Group, Part, arrow, beside, box, bracket, column, matrix, shape_of, text
from course_lib.diagrams.svg import rectangle

DOWN = ("bottom", "top")
LAST = len(TOKENS) - 1  # "itself", the row that the chapter follows


def token_of_three_parts() -> Diagram:
    """Draw Chapter 4: a query reads the request of a token, a key the name of another one, a value its content.

    >>> token_of_three_parts().size[0] <= 688
    True
    """

    def strip(name: str, request: str, content: int) -> list[Part]:
        parts = (f"name\n{name}", "key"), (f"request\n{request}", "query"), (f"content\n{content}", "value")
        return [box(words, role, width=84) for words, role in parts]

    def added(parts: list[Part]) -> Group:
        """Place the three beside each other, with plus signs between them: a sum, not a longer vector."""
        first, second, third = parts
        return beside(first, text("+", strong=True), second, text("+", strong=True), third, gap=6)

    def parts(narrow: bool) -> list[Part | Arrow]:
        asks, asked = strip("z", "t", 9), strip("t", "h", 4)
        first, second = added(asks), added(asked)
        heading = text("token z: the sum of three vectors", strong=True).above(first, 8)
        query = box("query of z\n“I ask t”", "query").below(asks[1], 44)
        key, value = box("key of t\n“I am t”", "key", width=92), box("value of t\n“I hold 4”", "value", width=92)
        other = text("token t", strong=True)
        if narrow:
            second.below(first, 290)
        else:
            second.right_of(first, 64)
        key.move(asked[0].middle[0] - key.middle[0], 0)
        value.move(asked[2].middle[0] - value.middle[0], 0)
        if narrow:
            for made in (key, value):
                made.move(0, second.bounds[1] - 44 - made.bounds[3])
            other.below(second, 8)
            score = arrow(query, key, "score large: t = t", "weight", DOWN)
        else:
            for made in (key, value):
                made.move(0, query.bounds[1] - made.bounds[1])
            other.above(second, 8)
            score = arrow(query, key, "score large:\nt = t", "weight", ("right", "left"))
        up = ("top", "bottom") if narrow else DOWN
        return [
            *(heading, first, other, second, query, key, value, score),
            arrow(asks[1], query, "W_q", "query", DOWN),
            arrow(asked[0], key, "W_k", "key", up),
            arrow(asked[2], value, "W_v", "value", up),
        ]

    return Diagram(
        "What query, key and value have to read",
        "Two tokens, each the sum of three vectors: name, request and content. Token z has the name z, the request t "
        "and the content 9; token t has the name t, the request h and the content 4. W_q reads the request of z and "
        "makes the query, “I ask t”. W_k reads the name of t and makes the key, “I am t”. Both say t, so the score is "
        "large. W_v reads the content of t and makes the value, “I hold 4”.",
        parts(narrow=False),
        narrow=parts(narrow=True),
    )


def cycle_of_three() -> Diagram:
    """Draw Chapter 4: with symmetric scores, three tokens that ask each other in a cycle do not all find whom they ask.

    >>> cycle_of_three().size[0] <= 688
    True
    """

    def parts(narrow: bool) -> list[Part | Arrow]:
        z, t, h = (box(f"{one} asks {other}", width=80) for one, other in ("zt", "th", "hz"))
        beside(z, t, gap=110)
        h.below(Group([z, t]), 62)
        arrows = [
            arrow(z, t, "score 5", "weight", ("right", "left")),
            arrow(t, h, "score 3", "weight", ("bottom", "right")),
            arrow(h, z, "score 4", "weight", ("left", "bottom")),
        ]
        found = text(
            "z: 5 with t, 4 with h: finds t ✓\nh: 4 with z, 3 with t: finds z ✓\nt: 5 with z, 3 with h: finds z ✗"
        )
        cycle = Group([z, t, h, *arrows])
        return [cycle, found.below(cycle, 16) if narrow else found.right_of(cycle, 36)]

    return Diagram(
        "A cycle of three tokens with symmetric scores",
        "Three tokens in a triangle: z asks t, t asks h, and h asks z. Each pair has one score: 5 for z and t, 3 for t "
        "and h, 4 for h and z. The largest score of z is 5, with t, which z asks. The largest of h is 4, with z, which "
        "h asks. But the largest of t is 5, with z, although t asks h.",
        parts(narrow=False),
        narrow=parts(narrow=True),
    )


def attention_step_by_step() -> Diagram:
    """Draw Chapter 4: X becomes Q, K and V, queries meet keys, a softmax makes weights, the weights average the values.

    >>> print(attention_step_by_step().description[-54:])
    is framed: “itself” gives 0.66 of its weight to “cat”.
    """
    output, weights = scaled_dot_product_attention(Q, K, V)
    products = Q @ K.T  # (query, key)
    scores = Q.shape[-1] ** -0.5 * products  # (query, key)

    def steps(narrow: bool) -> dict[str, Part]:
        """Return all matrices: beside W, a narrow drawing has room for first letters only."""
        rows = TOKENS if narrow else ()  # wide, each stands beside a matrix with the same rows
        added = [_added(weight) for weight in (W_Q, W_K, W_V)]
        letters = [_initials(names) for names in added]
        beside_w, over_w = (letters, _initials(FEATURES)) if narrow else (added, ())
        return {
            "x": matrix(X, title="X", rows=TOKENS, columns=FEATURES, highlight=LAST),
            "w_q": matrix(W_Q, "query", "W_q", beside_w[0], over_w),
            "w_k": matrix(W_K, "key", "W_k", beside_w[1], over_w),
            "w_v": matrix(W_V, "value", "W_v", beside_w[2], over_w),
            "q": matrix(Q, "query", "Q", TOKENS, letters[0], highlight=LAST),
            "k": matrix(K, "key", "K", TOKENS, letters[1]),
            "v": matrix(V, "value", "V", TOKENS, letters[2]),
            "p": matrix(products, "weight", "dot products Q Kᵀ", TOKENS, TOKENS, highlight=LAST),
            "s": matrix(scores, "weight", "scores", rows, TOKENS, highlight=LAST),
            "a": matrix(weights, "weight", "weights A", TOKENS, TOKENS, highlight=LAST),
            "y": matrix(output, "value", "Y = A V", rows, letters[2], highlight=LAST),
        }

    def finish(x, w_q, w_k, w_v, q, k, v, p, s, a, y, others: list[Part | Arrow]) -> list[Part | Arrow]:
        """Return all parts, with the arrows that both arrangements draw, and the others."""
        return [
            *(x, w_q, w_k, w_v, q, k, v, p, s, a, y),
            *(arrow(x, weight, role=role, sides=DOWN) for role, weight in (("query", w_q), ("key", w_k))),
            arrow(w_q, q, "X W_q\u200bᵀ", "query", DOWN),
            arrow(w_k, k, "X W_k\u200bᵀ", "key", DOWN),
            arrow(q, p, role="query", sides=DOWN),
            arrow(k, p, role="key", sides=DOWN),
            arrow(v, y, role="value", sides=DOWN),
            *others,
        ]

    wide = steps(narrow=False)
    wide["s"].right_of(wide["p"], 43)
    wide["a"].below(wide["s"], 44)
    wide["a"].move(wide["s"].middle[0] - wide["a"].middle[0], 0)
    wide["y"].right_of(wide["a"], 25)
    upper = Group([wide["p"], wide["s"]])
    middles = {"q": wide["p"].middle[0] + 18, "k": wide["y"].middle[0] - 224, "v": wide["y"].middle[0]}
    for name, middle in middles.items():  # so far apart that the names of the rows of each W have room
        wide[name].above(upper, 44).move(middle - wide[name].middle[0], 0)
        weight = wide[f"w_{name}"].above(wide[name], 34)
        weight.move(wide[name].middle[0] - weight.middle[0], 0)
    wide["x"].above(wide["w_k"], 40)
    by_hand = text(
        "W_q, W_k, W_v: chosen by\nhand (a network learns\nthem). Left of each row:\n"
        "the features that it adds.\nOver Q, K, V and Y:\ntheir first letters,\nla = living+action"
    )
    around = [
        arrow(wide["x"], wide["w_v"], role="value", sides=DOWN),
        arrow(wide["w_v"], wide["v"], "X W_v\u200bᵀ", "value", DOWN),
        arrow(wide["p"], wide["s"], "× ½", "weight", ("right", "left")),
        arrow(wide["s"], wide["a"], "softmax of each row", "weight", DOWN),
        arrow(wide["a"], wide["y"], role="weight"),
        bracket(wide["x"], "right", "a row for\neach token"),
        by_hand.left_of(wide["x"], 24),
        text(f"the framed row: “itself”\ngives “cat” the weight {weights[LAST, 1]:.2f}").left_of(wide["a"], 24),
    ]

    narrow = steps(narrow=True)
    pair = beside(narrow["q"], narrow["k"], gap=12)
    for name in ("q", "k"):
        narrow[f"w_{name}"].above(narrow[name], 36)
    narrow["x"].above(Group([narrow["w_q"], narrow["w_k"]]), 40)
    narrow["p"].below(pair, 36)
    narrow["s"].below(narrow["p"], 34)
    narrow["a"].below(narrow["s"], 44)
    x_again = box("X (4 × 4), as above").below(narrow["a"], 30)
    narrow["y"].below(narrow["v"].below(narrow["w_v"].below(x_again, 30), 36), 36)
    lane = Group([x_again, narrow["w_v"], narrow["v"], narrow["y"]])
    lane.move(narrow["q"].body[0] - narrow["y"].body[0], 0)
    letters = ", ".join(f"{letter}: {name}" for letter, name in zip(_initials(FEATURES), FEATURES, strict=True))
    above = text(
        "W_q, W_k, W_v: chosen by hand (a\nnetwork learns them). Left of each row:\n"
        "the features that it adds, by first letters.\n"
        f"They stand over Q, K, V and Y, too.\n{letters}"
    ).above(narrow["x"], 14)
    down = [
        x_again,  # an arrow from X itself would have to pass six other matrices
        arrow(x_again, narrow["w_v"], role="value", sides=DOWN),
        arrow(narrow["w_v"], narrow["v"], "X W_v\u200bᵀ", "value", DOWN),
        arrow(narrow["p"], narrow["s"], "× ½", "weight", DOWN),
        arrow(narrow["s"], narrow["a"], "softmax of\neach row", "weight", DOWN),
        arrow(narrow["a"], narrow["y"], role="weight", sides=("right", "right"), reach=20),
        above,
    ]
    return Diagram(
        "Attention, step by step, on four tokens",
        "X has a row for each of the four tokens and a column for each feature: thing, living, action, refers. "
        "Multiplied by the transposes of W_q, W_k and W_v, which are chosen by hand, it becomes Q, K and V, each 4 by "
        "4. Q times K transposed gives a dot product for each query and key. Half of it is the score, and a softmax of "
        "each row turns the scores into the weights A. A times V is the output Y. The last row is framed: "
        f"“itself” gives {weights[LAST, 1]:.2f} of its weight to “cat”.",
        finish(**wide, others=around),
        narrow=finish(**narrow, others=down),
    )


def _added(weight: torch.Tensor) -> list[str]:
    """Say for each row of a matrix of zeros and ones which features it adds up.

    >>> _added(W_K)
    ['refers', 'thing', 'thing', 'action']
    """
    return ["+".join(name for name, entry in zip(FEATURES, row, strict=True) if entry) for row in weight.tolist()]


def _initials(names: list[str]) -> list[str]:
    """Shorten each name to first letters, so that it fits over a column.

    >>> _initials(["living+action", "refers"])
    ['la', 'r']
    """
    return ["".join(word[0] for word in name.split("+")) for name in names]


def self_and_cross_attention() -> Diagram:
    """Draw Chapter 4: the same layer twice; only the place where keys and values come from differs.

    >>> self_and_cross_attention().size[0] <= 688
    True
    """

    def panels() -> tuple[Group, Group]:
        return (
            _panel("self-attention: K and V from X", X, TOKENS),
            _panel("cross-attention: K and V from Z", MEMORY, SOURCE_TOKENS, numbers=True),
        )

    left, right = panels()
    right.move(left.bounds[2] + 24 - right.bounds[0], left.bounds[1] - right.bounds[1])
    return Diagram(
        "Self-attention and cross-attention",
        "First, self-attention: queries, keys and values are all made from X, and the weights are 4 by 4. Second, "
        "cross-attention: queries are made from X, but keys and values from the memory Z, which has three rows. The "
        "weights are 4 by 3, a row for each query and a column for each row of the memory; the output has four rows.",
        [left, right],
        narrow=[column(*panels(), gap=48)],
    )


def scores_of_one_and_two_matrices() -> Diagram:
    """Draw Chapter 4: with one matrix for queries and keys, the scores are symmetric.

    >>> scores_of_one_and_two_matrices().size[0] <= 688
    True
    """

    def panels() -> tuple[Group, Group]:
        return (
            _scores("two matrices", "Q Kᵀ", Q @ K.T, "every token finds another one"),
            _scores("one matrix for both", "Q Qᵀ", Q @ Q.T, "all but “sees” find “itself”"),
        )

    return Diagram(
        "Scores of two matrices and of one",
        "Two matrices of dot products of the four tokens; the largest entry of each row is framed. With W_q and W_k, "
        "“the” and “itself” have it with the key of “cat”, “cat” with “sees”, and “sees” with “itself”. With W_q in "
        "both roles the matrix is symmetric. Its diagonal is 3, 5, 8 and 17. “the” and “cat” have the largest entry "
        "with “itself”, “sees” and “itself” with themselves.",
        [beside(*panels(), gap=48)],
        narrow=[column(*panels(), gap=36)],
    )


def _scores(heading: str, title: str, scores: torch.Tensor, note: str) -> Group:
    """Draw scores (query, key), the largest of each row framed, between a heading and a note."""
    drawn = matrix(scores, "weight", title, TOKENS, TOKENS)
    left, top, right, bottom = drawn.body
    width, height = (right - left) / scores.shape[1], (bottom - top) / len(scores)
    frames = [
        Part(width, height, rectangle(0, 0, width, height, "ink", 0, 1, 2.5, 3)).move(
            left + int(winner) * width, top + row * height
        )
        for row, winner in enumerate(scores.argmax(dim=1))
    ]
    return Group([text(heading, strong=True).above(drawn, 10), drawn, *frames, text(note).below(drawn, 6)])


def _panel(name: str, memory: torch.Tensor, tokens: tuple[str, ...], numbers: bool = False) -> Group:
    """Draw how the queries of X read a memory (n, d_model), which may be X itself, on demand with its numbers."""
    key, value = memory @ W_K.T, memory @ W_V.T  # (n, d_key), (n, d_value)
    output, weights = scaled_dot_product_attention(Q, key, value)  # (time, d_value), (time, n)
    width = 52 if numbers else 76
    q = box(f"Q\n{shape_of(Q)}", "query", width=width)
    if numbers:  # the names of the rows stand before K; V, close to it, has the same rows
        k = matrix(key, "key", "K", tokens, _initials(_added(W_K)))
        v = matrix(value, "value", "V", columns=_initials(_added(W_V)))
    else:
        k, v = (
            box(f"{letter}\n{shape_of(made)}", role, width=width)
            for letter, made, role in (("K", key, "key"), ("V", value, "value"))
        )
    three = Group([beside(q, k, gap=12), v.right_of(k, 8)]) if numbers else beside(q, k, v, gap=28)
    x = box(f"X\n{shape_of(X)}", width=width).above(q if numbers else three, 48)
    read = matrix(memory, "memory", "Z", tokens, _initials(FEATURES)).above(Group([k, v]), 48) if numbers else x
    if numbers:
        x.move(0, read.middle[1] - x.middle[1])
    heading = text(name, strong=True).above(three, 16)
    heading.move(0, read.bounds[1] - three.bounds[1])
    a = matrix(weights, "weight", "A", TOKENS, tokens).below(three, 40)
    a.move(three.bounds[0] - a.bounds[0], 0)
    y = box(f"Y = A V\n{shape_of(output)}", "value").below(a, 32)
    arrows = [arrow(q, a, role="query", sides=DOWN), arrow(k, a, role="key", sides=DOWN), arrow(a, y, role="weight")]
    arrows += [arrow(v, y, role="value", sides=("bottom", "right")), *_projections(x, q, read, k, v)]
    return Group([heading, x, *([] if read is x else [read]), three, a, y, *arrows])


def _projections(x: Part, q: Part, read: Part, k: Part, v: Part) -> list[Arrow]:
    """Return the arrows from what asks to the queries, and from what is read to the keys and the values."""
    ways = ((x, q, "W_q", "query"), (read, k, "W_k", "key"), (read, v, "W_v", "value"))
    return [arrow(start, end, label, role, DOWN) for start, end, label, role in ways]
