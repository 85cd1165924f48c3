"""Scores that are scaled and masked, why the mask comes first, two masks together, and what Chapter 5 trains on."""

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
from course_lib.masks import causal_mask, masked_softmax, padding_mask

SCALE = Q.shape[-1] ** -0.5
SEES = TOKENS.index("sees")
DOWN, ACROSS = ("bottom", "top"), ("right", "left")


def mask_before_softmax() -> Diagram:
    """Draw Chapter 5: scores are scaled, hidden above the diagonal, made weights and average the values; beside that,
    the wrong order.
    """
    scores, mask = Q @ K.T, causal_mask(len(TOKENS))  # (query, key), (query, key)
    scaled = SCALE * scores  # (query, key)
    hidden = scaled.where(mask, -torch.inf)  # (query, key)
    output, right = scaled_dot_product_attention(Q, K, V, mask)  # (query, d_value), (query, key)
    every = torch.softmax(scaled, dim=-1)  # (query, key)
    wrong = every.where(mask, 0.0)  # (query, key)

    def steps(names: bool) -> dict[str, Part]:
        """Return all matrices; the wrong way has names of rows of its own where it does not stand beside the right."""
        rows = TOKENS if names else ()

        def with_sums(weights: torch.Tensor, title: str, shown: torch.Tensor | None, rows: tuple[str, ...]) -> Group:
            sums = matrix(weights.sum(dim=-1, keepdim=True), columns=["sum"])
            return beside(matrix(weights, "weight", title, rows, (), shown, SEES), sums, gap=6)

        return {
            "q": matrix(Q, "query", "Q", TOKENS, highlight=SEES),
            "k": matrix(K, "key", "K", TOKENS),
            "v": matrix(V, "value", "V", TOKENS),
            "scores": matrix(scores, "weight", "scores Q Kᵀ", TOKENS, TOKENS, highlight=SEES),
            "scaled": matrix(scaled, "weight", "scaled", TOKENS, highlight=SEES),
            "hidden": matrix(hidden, "weight", "masked", TOKENS, mask=mask, highlight=SEES),
            "right": with_sums(right, "weights A", mask, TOKENS),
            "y": matrix(output, "value", "Y = A V", rows, highlight=SEES),
            "every": with_sums(every, "softmax", None, rows),
            "wrong": with_sums(wrong, "masked late", mask, rows),
        }

    def arrows(parts: dict[str, Part], *others: Arrow) -> list[Arrow]:
        return [
            arrow(parts["scores"], parts["scaled"], "÷ √d_k = ÷ 2", sides=DOWN),
            arrow(parts["scaled"], parts["hidden"], "mask", sides=DOWN),
            arrow(parts["hidden"], _matrix_of(parts["right"]), "softmax", sides=DOWN),
            arrow(_matrix_of(parts["every"]), _matrix_of(parts["wrong"]), "mask", sides=DOWN),
            *others,
        ]

    early, late = "✓ mask, then softmax:\neach row sums to 1", "✗ softmax, then mask:\nnot every row sums to 1"
    names = ("scores", "scaled", "hidden", "right")

    wide = steps(names=False)
    wide["k"].below(wide["q"], 14, align="start")
    both = Group([wide["q"], wide["k"]])
    wide["scores"].right_of(both, 22)
    for before, name in zip(names, names[1:], strict=False):
        _set_below(wide[name], wide[before], 42 if name != "right" else 66)
    wide["every"].right_of(wide["scaled"], 80)
    wide["every"].move(0, wide["scaled"].middle[1] - wide["every"].middle[1])
    _set_below(wide["wrong"], wide["every"], 42)
    wide["y"].right_of(wide["right"], 44)
    wide["v"].left_of(wide["right"], 24)
    wide["v"].move(wide["k"].middle[0] - wide["v"].middle[0], 0)
    verdicts = [
        text(early, strong=True).below(_matrix_of(wide["right"]), 34),
        text(late, strong=True).below(_matrix_of(wide["wrong"]), 10),
    ]
    across = [
        arrow(wide["q"], wide["scores"], role="query", sides=ACROSS),
        arrow(wide["k"], wide["scores"], role="key", sides=ACROSS),
        arrow(wide["scaled"], _matrix_of(wide["every"]), "softmax", sides=ACROSS),
        arrow(wide["right"], wide["y"], role="weight", sides=ACROSS),
        arrow(wide["v"], wide["y"], role="value", sides=("bottom", "bottom"), reach=16),
    ]

    narrow = steps(names=True)
    pair = beside(narrow["q"], narrow["k"], gap=12)
    narrow["scores"].below(pair, 40)
    narrow["scores"].move(pair.bounds[0] - narrow["scores"].bounds[0], 0)
    for before, name in zip(names, names[1:], strict=False):
        _set_below(narrow[name], narrow[before], 46)
    narrow["v"].below(narrow["right"], 66)
    narrow["v"].move(_matrix_of(narrow["right"]).middle[0] - narrow["v"].middle[0], 0)
    narrow["y"].below(narrow["v"], 40)
    _set_below(narrow["every"], narrow["y"], 60)
    _set_below(narrow["wrong"], narrow["every"], 46)
    turned = [
        text(early, strong=True).below(_matrix_of(narrow["right"]), 10),
        text(late, strong=True).below(_matrix_of(narrow["wrong"]), 10),
    ]
    around = [
        arrow(narrow["q"], narrow["scores"], role="query", sides=DOWN),
        arrow(narrow["k"], narrow["scores"], role="key", sides=DOWN),
        arrow(narrow["right"], narrow["y"], role="weight", sides=("right", "right"), reach=10),
        arrow(narrow["v"], narrow["y"], role="value", sides=DOWN),
        arrow(narrow["scaled"], narrow["every"], sides=("right", "right"), reach=24),
    ]
    return Diagram(
        "The mask belongs before the softmax",
        "Q times K transposed gives the scores of the four tokens, which are divided by the root of d_k, 2. Then there "
        "are two ways. On the first, what stands above the diagonal becomes minus infinity, and a softmax makes "
        "weights: 0 for keys of the future, and each row sums to 1. The weights average the values V: that is Y. On "
        "the second way the softmax comes first, and the weights of the future are removed after it: the rows sum to "
        f"{', '.join(f'{total:.2f}' for total in wrong.sum(dim=-1))}. The row of “sees” is framed everywhere.",
        [*wide.values(), *verdicts, *arrows(wide, *across)],
        narrow=[*narrow.values(), *turned, *arrows(narrow, *around)],
    )


def one_hot_or_spread() -> Diagram:
    """Draw Chapter 5: the scores of one random query of 256 entries with six random keys, also divided by 16.

    >>> print(one_hot_or_spread().description[-68:])
    derivatives are 0.00, 0.00, 0.00, 0.00, 0.00, 0.00: it is saturated.
    """
    generator = torch.Generator().manual_seed(0)
    query = torch.randn(256, generator=generator)
    keys = torch.randn(6, 256, generator=generator)  # (key, d_key)
    dots = (keys.double() @ query.double()).float()  # (key,): every processor rounds to the same two digits
    scores = torch.stack([dots / 16, dots])  # (case, key)
    weights = torch.softmax(scores, dim=-1)  # (case, key)
    derivatives = weights * (1 - weights)  # (case, key)
    names, cases = [f"key {1 + each}" for each in range(6)], ["divided by 16", "not divided"]
    titles = ("scores", "weights α", "α (1 − α)")

    def parts(turned: bool) -> list[Part]:
        if turned:  # a row for each key
            short = ["÷ 16", "not ÷"]
            return [
                matrix(each.T, "weight", title, names, short)
                for each, title in zip((scores, weights, derivatives), titles, strict=True)
            ]
        return [
            matrix(each, "weight", title, cases, names)
            for each, title in zip((scores, weights, derivatives), titles, strict=True)
        ]

    wide, narrow = parts(turned=False), parts(turned=True)
    column(*wide, gap=38)
    column(*narrow, gap=38)

    def arrows(drawn: list[Part]) -> list[Arrow]:
        return [arrow(drawn[0], drawn[1], "softmax", sides=DOWN), arrow(drawn[1], drawn[2], "derivative", sides=DOWN)]

    return Diagram(
        "Scores of 256 products: a one-hot softmax, or a spread one",
        f"One random query with 256 entries and six random keys. Divided by 16, the scores are {_listed(scores[0])}, "
        f"the weights {_listed(weights[0])}, and the derivatives α (1 − α) are {_listed(derivatives[0])}. Not divided, "
        f"the scores are {_listed(scores[1])}, the weights {_listed(weights[1])}, and the derivatives are "
        f"{_listed(derivatives[1])}: it is saturated.",
        [*wide, *arrows(wide)],
        narrow=[*narrow, *arrows(narrow)],
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
    late = torch.softmax(scaled, dim=-1).where(mask, 0.0)  # (case, key)
    rows = [f"itself: {number(score)}" for score in scaled[:, -1].tolist()]

    def with_sums(weights: torch.Tensor, title: str, rows: list[str]) -> Group:
        sums = matrix(weights.sum(dim=-1, keepdim=True), columns=["sum"])
        return beside(matrix(weights, "weight", title, rows, TOKENS, mask), sums, gap=6)

    def parts(rows: list[str]) -> tuple[Part, Group, Group]:
        start = matrix(scaled, "weight", "scaled, row “sees”", rows, TOKENS)
        return start, with_sums(first, "✓ masked first", rows), with_sums(late, "✗ masked late", rows)

    def arrows(start: Part, above: Group, below: Group, sides: list[tuple[str, str]]) -> list[Arrow]:
        return [arrow(start, each.parts[0], sides=side) for each, side in zip((above, below), sides, strict=True)]

    start, above, below = parts(rows)
    below.below(above, 22, align="start")
    start.left_of(Group([above, below]), 34)
    small, first_small, late_small = parts(rows)
    first_small.below(small, 30, align="start")
    late_small.below(first_small, 22, align="start")
    return Diagram(
        "Masked too late, the weights of the past depend on the future",
        "The row of scaled scores of “sees”, twice: once as it is, with 3 for the hidden token “itself”, and once with "
        f"0 in its place. Masked first, the weights are {_listed(first[0])} in both cases. Masked too late, they are "
        f"{_listed(late[0])} with 3 and {_listed(late[1])} with 0. The first three tokens are the same in both cases; "
        f"masked too late, their sum changes from {late[0].sum():.2f} to {late[1].sum():.2f}: that is a leak.",
        [start, above, below, *arrows(start, above, below, [("right", "left")] * 2)],
        narrow=[small, first_small, late_small],
    )


def causal_and_padding() -> Diagram:
    """Draw Chapter 5: the causal mask, the padding mask of a sentence of three words in five positions, and both."""
    words = ("the", "cat", "sees", "▢", "▢")
    no_future = causal_mask(5)  # (query, key)
    no_padding = padding_mask(torch.tensor([3]), time=5)[0].expand(5, 5)  # (query, key)
    rows = [f"{word} {position}" for position, word in enumerate(words, start=1)]

    def shown(mask: torch.Tensor, name: str, rows: list[str]) -> Part:
        ticks = [["✓" if allowed else "" for allowed in row] for row in mask.tolist()]
        return matrix(ticks, "weight", name, rows, [str(position) for position in range(1, 6)], mask)

    def three(first: list[str], others: list[str]) -> list[Part]:
        return [
            shown(no_future, "causal", first),
            shown(no_padding, "padding", others),
            shown(no_future & no_padding, "both", others),
        ]

    one, other, both = three(rows, [])
    both.right_of(other.right_of(one, 44), 44)
    signs = [text(sign, strong=True).right_of(part, 12) for sign, part in (("&", one), ("=", other))]
    return Diagram(
        "A causal mask and a padding mask, combined",
        "Three grids of five queries, in rows, and five keys, in columns, for the sentence “the cat sees” and two "
        "positions of padding. A tick says that a query may read a key; what is hidden is hatched. The causal mask has "
        "ticks on and below the diagonal. The padding mask has ticks in the first three columns. Both together have "
        "ticks on and below the diagonal of the first three columns.",
        [one, other, both, *signs],
        narrow=[column(*three(rows, rows), gap=22)],
    )


def one_look_up() -> Diagram:
    """Draw Chapter 5: sixteen pairs of symbols, a question, and its answer.

    >>> one_look_up().description[-54:]
    'The pair 18 : 52 has 18 in front, so the answer is 52.'
    """
    drawn = draw_look_ups(1, torch.Generator().manual_seed(0))
    pairs = list(zip(drawn.keys[0].tolist(), drawn.values[0].tolist(), strict=True))
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


def _matrix_of(part: Part) -> Part:
    """Return the matrix of a group in which its sums stand beside it."""
    return part.parts[0] if isinstance(part, Group) else part


def _set_below(part: Part, other: Part, gap: float) -> None:
    """Move a matrix below another one, or its group, so that the middles of the matrices are over one another."""
    part.below(other, gap)
    part.move(_matrix_of(other).middle[0] - _matrix_of(part).middle[0], 0)


def _listed(weights: torch.Tensor) -> str:
    return ", ".join(f"{weight:.2f}" for weight in weights.tolist())
