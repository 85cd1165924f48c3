"""Scores that are scaled and masked, why the mask comes first, two masks together, and what Chapter 5 trains on."""

from collections.abc import Sequence

import torch

from course_lib.attention import scaled_dot_product_attention
from course_lib.data.look_ups import draw_look_ups
from course_lib.data.running_example import TOKENS, K, Q, V
from course_lib.diagrams import (
    Arrow,
    Diagram,
    Group,
    Part,
    arrow,
    beside,
    box,
    column,
    matrix,
    number,
    text,
)
from course_lib.diagrams.svg import rectangle
from course_lib.masks import causal_mask, masked_softmax, padding_mask

SCALE = Q.shape[-1] ** -0.5
SEES = TOKENS.index("sees")
DOWN, ACROSS = ("bottom", "top"), ("right", "left")
PALEST, DARKEST = 0.1, 0.37  # the shades of positive scores: negative ones are nearly white


def mask_before_softmax() -> Diagram:
    """Draw Chapter 5: scores are scaled, hidden above the diagonal, made weights, and average the values.

    >>> print(mask_before_softmax().description[-77:])
    The row of “sees” is framed: it gives 0.67 of its weight to cat, 0 to itself.
    """
    scores, mask = Q @ K.T, causal_mask(len(TOKENS))  # (query, key), (query, key)
    scaled = SCALE * scores  # (query, key)
    output, weights = scaled_dot_product_attention(Q, K, V, mask)  # (query, d_value), (query, key)

    def steps(rows: tuple[str, ...]) -> dict[str, Part]:
        """Return all matrices; Y has names of rows where it does not stand beside the weights."""
        return {
            "q": matrix(Q, "query", "Q", TOKENS, highlight=SEES),
            "k": matrix(K, "key", "K", TOKENS),
            "v": matrix(V, "value", "V", TOKENS),
            "scores": matrix(scores, "weight", "dot products Q Kᵀ", TOKENS, TOKENS, highlight=SEES),
            "scaled": matrix(scaled, "weight", "scaled", TOKENS, TOKENS, highlight=SEES),
            "hidden": matrix(scaled.where(mask, -torch.inf), "weight", "masked", TOKENS, TOKENS, mask, SEES),
            "weights": _with_sums(weights, "weights A", mask, TOKENS, SEES, TOKENS),
            "y": matrix(output, "value", "Y = A V", rows, highlight=SEES),
        }

    def arrows(parts: dict[str, Part], *others: Arrow) -> list[Arrow]:
        return [
            arrow(parts["scores"], parts["scaled"], "÷ √d_k = ÷ 2", sides=DOWN),
            arrow(parts["scaled"], parts["hidden"], "mask", sides=DOWN),
            arrow(parts["hidden"], _matrix_of(parts["weights"]), "softmax", sides=DOWN),
            *others,
        ]

    names = ("scores", "scaled", "hidden", "weights")

    wide = steps(rows=())
    wide["k"].below(wide["q"], 14, align="start")
    wide["scores"].right_of(Group([wide["q"], wide["k"]]), 22)
    for before, name in zip(names, names[1:], strict=False):
        _set_below(wide[name], wide[before], 42)
    wide["y"].right_of(wide["weights"], 44)
    wide["v"].left_of(wide["weights"], 24)
    wide["v"].move(wide["k"].middle[0] - wide["v"].middle[0], 0)
    beside_steps = [
        text(words).right_of(wide[name], 22)
        for name, words in (
            ("scores", "the query of “sees”\nwith each of the four keys"),
            ("scaled", "half of each dot product"),
            ("hidden", "“itself” comes after “sees”:\nits 3 becomes −∞"),
        )
    ]
    across = [
        arrow(wide["q"], wide["scores"], role="query", sides=ACROSS),
        arrow(wide["k"], wide["scores"], role="key", sides=ACROSS),
        arrow(wide["weights"], wide["y"], role="weight", sides=ACROSS),
        arrow(wide["v"], wide["y"], role="value", sides=("bottom", "bottom"), reach=16),
    ]

    narrow = steps(rows=TOKENS)
    pair = beside(narrow["q"], narrow["k"], gap=12)
    narrow["scores"].below(pair, 40)
    narrow["scores"].move(pair.bounds[0] - narrow["scores"].bounds[0], 0)
    for before, name in zip(names, names[1:], strict=False):
        _set_below(narrow[name], narrow[before], 46)
    narrow["v"].below(narrow["weights"], 40)
    narrow["v"].move(_matrix_of(narrow["weights"]).middle[0] - narrow["v"].middle[0], 0)
    narrow["y"].below(narrow["v"], 40)
    around = [
        arrow(narrow["q"], narrow["scores"], role="query", sides=DOWN),
        arrow(narrow["k"], narrow["scores"], role="key", sides=DOWN),
        arrow(narrow["weights"], narrow["y"], role="weight", sides=("right", "right"), reach=10),
        arrow(narrow["v"], narrow["y"], role="value", sides=DOWN),
    ]
    return Diagram(
        "Scaled and masked attention, step by step, on four tokens",
        "Q times K transposed gives the dot products of the four tokens, which are divided by the root of d_k, 2. What "
        "stands above the diagonal becomes minus infinity. A softmax of each row makes weights: 0 for keys of the "
        "future, and each row sums to 1. The weights average the values V: that is Y. The row of “sees” is framed: it "
        f"gives {number(weights[SEES, 1].item())} of its weight to cat, {number(weights[SEES, 3].item())} to itself.",
        [*wide.values(), *beside_steps, *arrows(wide, *across)],
        narrow=[*narrow.values(), *arrows(narrow, *around)],
    )


def one_hot_or_spread() -> Diagram:
    """Draw Chapter 5: the scores of one random query of 256 entries with six random keys, also divided by 16.

    >>> print(one_hot_or_spread().description[-74:])
    not divided, they are 0, 0, 1, 0, 0, 0: one key has nearly all the weight.
    """
    generator = torch.Generator().manual_seed(0)
    query = torch.randn(256, generator=generator)
    keys = torch.randn(6, 256, generator=generator)  # (key, d_key)
    dots = (keys.double() @ query.double()).float()  # (key,): every processor rounds to the same two digits
    scores = torch.stack([dots / 16, dots])  # (case, key)
    # Rounded, so that 0 and 1 are written in one way, whether they are exact or nearly so.
    weights = torch.softmax(scores, dim=-1).round(decimals=2)  # (case, key)
    names, cases = [f"key {1 + each}" for each in range(6)], ["divided by 16", "not divided"]

    def arranged(turned: bool) -> list[Part | Arrow]:
        if turned:  # a row for each key
            rows, columns = names, ["÷ 16", "not ÷"]
            above, below = _signed(scores.T, "scores", rows, columns), weights.T
        else:
            rows, columns = cases, names
            above, below = _signed(scores, "scores", rows, columns), weights
        made = matrix(below, "weight", "weights", rows, columns).below(above, 38)
        made.move(_matrix_of(above).middle[0] - made.middle[0], 0)
        return [above, made, arrow(_matrix_of(above), made, "softmax", sides=DOWN)]

    first, second = (", ".join(map(number, row)) for row in weights.tolist())
    return Diagram(
        "Scores of 256 products: a one-hot softmax, or a spread one",
        f"One random query with 256 entries and six random keys. Divided by 16, the scores are {_listed(scores[0])}; "
        f"not divided, they are {_listed(scores[1])}. A larger positive score is darker, a negative one is white. "
        f"Divided by 16, the weights are {first}; not divided, they are {second}: one key has nearly all the weight.",
        arranged(turned=False),
        narrow=arranged(turned=True),
    )


def leak_of_a_late_mask() -> Diagram:
    """Draw Chapter 5: one score of the future is changed, once for each order of mask and softmax.

    >>> print(leak_of_a_late_mask().description[-69:])
    masked too late, their sum changes from 0.36 to 0.92: that is a leak.
    """
    mask = causal_mask(len(TOKENS))[SEES].expand(2, -1)  # (case, key)
    scaled = (SCALE * Q @ K.T)[SEES].repeat(2, 1)  # (case, key)
    scaled[1, -1] = 0.0
    first = masked_softmax(scaled, mask)  # (case, key)
    every = torch.softmax(scaled, dim=-1)  # (case, key)
    late = every.where(mask, 0.0)  # (case, key)
    rows = [f"itself: {number(score)}" for score in scaled[:, -1].tolist()]

    def parts(others: list[str]) -> tuple[Part, Group, Group, Group]:
        return (
            matrix(scaled, "weight", "scaled, “sees”", rows, TOKENS),
            _with_sums(first, "✓ masked first", mask, others, columns=TOKENS),
            _with_sums(every, "softmax of all", None, rows, columns=TOKENS),
            _with_sums(late, "✗ masked late", mask, others, columns=TOKENS),
        )

    start, above, middle, below = parts([])
    above.right_of(start, 150)
    _set_below(middle, start, 46)
    below.right_of(middle, 40)
    below.move(_matrix_of(above).middle[0] - _matrix_of(below).middle[0], 0)
    wide = [
        arrow(start, _matrix_of(above), "mask,\nthen softmax", sides=ACROSS),
        arrow(start, _matrix_of(middle), "softmax", sides=DOWN),
        arrow(middle, _matrix_of(below), "mask", sides=ACROSS),
    ]
    small, first_small, every_small, late_small = parts(rows)
    for before, after in ((small, first_small), (first_small, every_small), (every_small, late_small)):
        _set_below(after, before, 54)
    narrow = [
        arrow(small, _matrix_of(first_small), "mask,\nthen softmax", sides=DOWN),
        arrow(small, every_small, sides=("right", "right"), reach=24),
        arrow(_matrix_of(every_small), _matrix_of(late_small), "mask", sides=DOWN),
    ]
    return Diagram(
        "Masked too late, the weights of the past depend on the future",
        "The row of scaled scores of “sees”, twice: once as it is, with 3 for the hidden token “itself”, and once with "
        f"0 in its place. Masked first, the weights are {_listed(first[0])} in both cases. A softmax of all four "
        f"scores gives {_listed(every[0])} with 3 and {_listed(every[1])} with 0. The mask then "
        "removes the last weight. The first three tokens are the same in both cases; "
        f"masked too late, their sum changes from {late[0].sum():.2f} to {late[1].sum():.2f}: that is a leak.",
        [start, above, middle, below, *wide],
        narrow=[small, first_small, every_small, late_small, *narrow],
    )


def causal_and_padding() -> Diagram:
    """Draw Chapter 5: the causal mask, the padding mask of a sentence of three words in five positions, and both."""
    words = ("the", "cat", "sees", "pad", "pad")
    no_future = causal_mask(5)  # (query, key)
    no_padding = padding_mask(torch.tensor([3]), time=5)[0].expand(5, 5)  # (query, key)

    def shown(mask: torch.Tensor, name: str) -> Part:
        ticks = [["✓" if allowed else "" for allowed in row] for row in mask.tolist()]
        return matrix(ticks, "weight", name, words, words, mask)

    def three() -> list[Part]:
        return [shown(no_future, "causal"), shown(no_padding, "padding"), shown(no_future & no_padding, "both")]

    def sign(words: str, before: Part) -> Part:
        return text(words, strong=True).left_of(before, 20)

    one, other, both = three()
    other.right_of(one, 64)
    both.below(other, 22)
    above, middle, below = three()
    return Diagram(
        "A causal mask and a padding mask, combined",
        "Three grids of five queries, in rows, and five keys, in columns, for the sentence “the cat sees” and two "
        "positions of padding. A tick says that a query may read a key; what is hidden is hatched. The causal mask has "
        "ticks on and below the diagonal. The padding mask has ticks in the first three columns. Both together have "
        "ticks on and below the diagonal of the first three columns.",
        [one, other, both, sign("&", other), sign("=", both)],
        narrow=[column(above, text("&", strong=True), middle, text("=", strong=True), below, gap=12)],
    )


def one_look_up() -> Diagram:
    """Draw Chapter 5: sixteen pairs of symbols, a question, and its answer.

    >>> one_look_up().description[-54:]
    'The pair 18 : 52 has 18 in front, so the answer is 52.'
    """
    drawn = draw_look_ups(1, torch.Generator().manual_seed(0))
    pairs = list(zip(drawn.first[0].tolist(), drawn.second[0].tolist(), strict=True))
    asked, answer = drawn.asked.item(), drawn.answers.item()

    def parts() -> tuple[Part, Group, Part, Part]:
        boxes = [box(f"{first} : {second}", "key" if first == asked else "plain", width=74) for first, second in pairs]
        rows = [beside(*boxes[start : start + 4], gap=8) for start in range(0, len(boxes), 4)]
        found = next(each for each, (first, _) in zip(boxes, pairs, strict=True) if first == asked)
        return (
            box(f"question\n{asked}", "query", width=84),
            column(*rows, gap=8),
            box(f"answer\n{answer}", "value", 84),
            found,
        )

    question, shown, reply, _ = parts()
    reply.right_of(shown.right_of(question, 44), 44)
    question_above, shown_below, reply_below, _ = parts()
    reply_below.below(shown_below.below(question_above, 30), 30)
    return Diagram(
        "One look-up: sixteen pairs, one question",
        f"Sixteen pairs of symbols: {', '.join(f'{first} : {second}' for first, second in pairs)}. The question is "
        f"{asked}. The pair {asked} : {answer} has {asked} in front, so the answer is {answer}.",
        [question, shown, reply, arrow(question, shown, role="query"), arrow(shown, reply, role="value")],
        narrow=[
            *(question_above, shown_below, reply_below),
            *(arrow(question_above, shown_below, role="query"), arrow(shown_below, reply_below, role="value")),
        ],
    )


def _signed(scores: torch.Tensor, title: str, rows: Sequence[str], columns: Sequence[str]) -> Group:
    """Draw scores (row, column): a larger positive one is darker, the negative ones are white."""
    written = [[number(score) for score in row] for row in scores.tolist()]
    drawn = matrix(written, "weight", title, rows, columns)
    left, top, right, bottom = drawn.body
    width, height = (right - left) / scores.shape[1], (bottom - top) / len(scores)
    shades = []
    for i, j in (scores > 0).nonzero().tolist():
        shade = PALEST + (DARKEST - PALEST) * (scores[i, j] / scores.max()).item()
        cell = Part(width, height, rectangle(0, 0, width, height, "weight", shade, 0))
        shades.append(cell.move(left + j * width, top + i * height))
    return Group([drawn, *shades])


def _with_sums(
    weights: torch.Tensor,
    title: str,
    mask: torch.Tensor | None,
    rows: Sequence[str],
    framed: int | None = None,
    columns: Sequence[str] = (),
) -> Group:
    """Draw weights with the sum of each row beside them."""
    sums = matrix(weights.sum(dim=-1, keepdim=True), columns=["sum"])
    return beside(matrix(weights, "weight", title, rows, columns, mask, framed), sums, gap=6)


def _matrix_of(part: Part) -> Part:
    """Return the matrix of a group in which its sums stand beside it."""
    return part.parts[0] if isinstance(part, Group) else part


def _set_below(part: Part, other: Part, gap: float) -> None:
    """Move a matrix below another one, or its group, so that the middles of the matrices are over one another."""
    part.below(other, gap)
    part.move(_matrix_of(other).middle[0] - _matrix_of(part).middle[0], 0)


def _listed(weights: torch.Tensor) -> str:
    return ", ".join(f"{weight:.2f}" for weight in weights.tolist())
