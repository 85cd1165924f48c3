"""Where positions enter attention, the sinusoids of the running example, and two arrows that keep their angle."""

from math import atan2, cos, sin

import torch

from course_lib.data.running_example import TOKENS, K, Q, X
from course_lib.diagrams import Arrow, Diagram, Group, Part, arrow, beside, box, column, matrix, number, text
from course_lib.diagrams.svg import LINE, line_of_text, rectangle, text_width, xy
from course_lib.positions import rotate_by_position, sinusoidal_positions

CAT, SEES, ITSELF = (TOKENS.index(token) for token in ("cat", "sees", "itself"))
RADIUS, UNIT = 66, 26  # pixels: of a dial, and of the length 1
PLACES = ((1, 3), (2, 4), (3, 5))  # of "cat" and "itself": the sentence as it is, and after one and two more words
ADDED = "① sinusoids,\nlearned positions:\na vector for each\nposition is added"
TURNED = "② RoPE: queries\nand keys are\nturned by their\nposition"
BIASED = "③ ALiBi, relative\nposition bias:\na number for each\noffset is added"


def where_positions_enter() -> Diagram:
    """Draw Chapter 7: the way from tokens to weights, and the three places at which a position can enter.

    >>> print(where_positions_enter().description[-40:])
    on the offset of the key from the query.
    """

    def parts(narrow: bool) -> list[Part | Arrow]:
        tokens, sums = box("tokens X", width=92), _place("X + P", "memory")
        q, k = box("Q", "query", 46), box("K", "key", 46)
        turned_q, turned_k = _place("Q turned", "query"), _place("K turned", "key")
        scores, weights = (box(words, "weight", 92) for words in ("scores", "weights A"))
        biased = _place("scores + b", "weight")
        kinds = [text(words) for words in (ADDED, TURNED, BIASED)]
        if narrow:
            both, turned = beside(q, k, gap=58), beside(turned_q, turned_k, gap=12)
            column(tokens, sums, both, turned, scores, biased, weights, gap=34)
            down = ("bottom", "top")
            ways = [(tokens, sums), (sums, q), (sums, k), (q, turned_q), (k, turned_k), (turned_q, scores)]
            ways += [(turned_k, scores), (scores, biased), (biased, weights)]
            for kind, place in zip(kinds, (sums, turned, biased), strict=True):
                kind.right_of(place, 14)
                kind.move(turned.bounds[2] + 14 - kind.bounds[0], 0)
            return [
                *(tokens, sums, q, k, turned_q, turned_k, scores, biased, weights, *kinds),
                *(arrow(start, end, sides=down) for start, end in ways),
            ]
        both, turned = column(q, k, gap=22), column(turned_q, turned_k, gap=22)
        beside(tokens, sums, both, turned, scores, gap=26)
        biased.right_of(scores, 26)
        weights.below(biased, 34)
        ways = [(tokens, sums), (sums, q), (sums, k), (q, turned_q), (k, turned_k), (turned_q, scores)]
        ways += [(turned_k, scores), (scores, biased)]
        for kind, place in zip(kinds, (sums, turned, biased), strict=True):
            kind.above(turned, 18)
            kind.move(place.middle[0] - kind.middle[0], 0)
        return [
            *(tokens, sums, q, k, turned_q, turned_k, scores, biased, weights, *kinds),
            *(arrow(start, end, sides=("right", "left")) for start, end in ways),
            arrow(biased, weights, "softmax", sides=("bottom", "top")),
        ]

    return Diagram(
        "Where each kind of position encoding enters attention",
        "Boxes from the tokens X over queries Q and keys K to scores and weights A. At three places, which are dashed, "
        "positions can enter, and a model uses one of them. First, a vector for each position is added to each token: "
        "sinusoids or learned positions. Second, queries and keys are turned by their position: RoPE. Third, a number "
        "is added to each score: ALiBi or a relative position bias. "
        "It depends on the offset of the key from the query.",
        parts(narrow=False),
        narrow=parts(narrow=True),
    )


def _place(label: str, role: str) -> Part:
    """Draw a box with a dashed edge: a place that only some models use."""
    width, height = max(92, text_width(label) + 20), LINE + 14
    edge = rectangle(0, 0, width, height, role, 0.12, 1, 1.6, 7, dashed=True)
    return Part(width, height, edge + line_of_text(width / 2, 21, label))


def sinusoids_are_added() -> Diagram:
    """Draw Chapter 7: each token of the running example, plus the sinusoids of its position.

    >>> print(sinusoids_are_added().description[-39:])
    0.91, −0.42, 0.02 and 1.00 are its row.
    """
    positions = sinusoidal_positions(len(TOKENS), X.shape[1])  # (time, d_model)
    waves = ["sin i", "cos i", "sin.01i", "cos.01i"]
    numbered = [f"{position} {token}" for position, token in enumerate(TOKENS)]

    def three(rows: list[str]) -> tuple[Part, Part, Part]:
        return (
            matrix(X, title="X", rows=numbered, highlight=SEES),
            matrix(positions, "memory", "P", rows=rows, columns=waves, highlight=SEES),
            matrix(X + positions, title="X + P", rows=rows, highlight=SEES),
        )

    x, p, total = three([])
    plus, equals = text("+", strong=True), text("=", strong=True)
    beside(x, plus, p, equals, total, gap=5)
    small = three(numbered)
    column(*small, gap=28)
    signs = [text("+", strong=True).below(small[0], 3), text("=", strong=True).below(small[1], 3)]
    row = ", ".join(number(entry) for entry in positions[SEES, :3].tolist())
    return Diagram(
        "Sinusoids are added to the tokens",
        "Three matrices of four rows and four columns: the tokens X, the sinusoids P, and their sum. The columns of P "
        "are the sine and the cosine of the position i, and the sine and the cosine of 0.01 i. The first two change "
        "fast from row to row, the last two hardly change. The row of “sees” at position 2 is framed: "
        f"{row} and {number(positions[SEES, 3].item())} are its row.",
        [x, plus, p, equals, total],
        narrow=[*small, *signs],
    )


def arrows_keep_their_angle() -> Diagram:
    """Draw Chapter 7: the first pair of a query and of a key, turned by their positions, at three pairs of positions.

    >>> arrows_keep_their_angle().description[-61:]
    'In all three the angle is 2 radians and the product is −1.66.'
    """
    query, key = Q[ITSELF, :2], K[CAT, :2]  # (2,), the first pair of entries of each

    def dial(name: str, at_key: int | None, at_query: int | None) -> Group:
        turned_key, turned_query = _at(key, at_key), _at(query, at_query)
        product = torch.dot(turned_query, turned_key).item()
        together = (
            at_query is None or at_key is None
        )  # one arrow over the other: the lower one is wider, its letter on the other side
        drawn = _circle() + _arrow_of(turned_query, "query", "q", wide=together)
        drawn += _arrow_of(turned_key, "key", "k", across=12 if together else -12)
        face = Part(2 * RADIUS, 2 * RADIUS, drawn)
        angle = "angle 0" if together else f"angle {at_query - at_key} rad"
        return Group([face, text(name).above(face, 6), text(f"{angle}\nq · k = {number(product)}").below(face, 6)])

    def dials() -> list[Group]:
        return [
            dial("not turned", None, None),
            *(dial(f"cat at {j}, itself at {i}", j, i) for j, i in PLACES),
        ]

    wide, narrow = dials(), dials()
    above, below = beside(*narrow[:2], gap=36), beside(*narrow[2:], gap=36)
    below.below(above, 22)
    turned = torch.dot(_at(query, 3), _at(key, 1)).item()
    return Diagram(
        "Two arrows turn and keep the angle between them",
        "Four circles with two arrows each: the first pair of entries of the query of “itself” and of the key of "
        "“cat”. "
        "Not turned, both are (0, 2) and point the same way: their product is 4. In the other three circles each is "
        "turned by as many radians as its position, 1 and 3, 2 and 4, 3 and 5. "
        f"In all three the angle is 2 radians and the product is {number(turned)}.",
        [beside(*wide, gap=30)],
        narrow=[above, below],
    )


def _at(vector: torch.Tensor, position: int | None) -> torch.Tensor:
    """Return a pair (2,) turned by its position."""
    return vector if position is None else rotate_by_position(vector[None], start=position)[0]


def _circle() -> str:
    """Return a dial with its two axes."""
    style = "stroke:var(--plain);stroke-opacity:.45"
    axes = f"M0 {RADIUS}H{2 * RADIUS}M{RADIUS} 0V{2 * RADIUS}"
    return (
        f'<circle cx="{RADIUS}" cy="{RADIUS}" r="{RADIUS}" class="line" style="{style}"/>'
        f'<path d="{axes}" class="line" style="{style};stroke-dasharray:3 4"/>'
    )


def _arrow_of(pair: torch.Tensor, role: str, letter: str, wide: bool = False, across: float = -12) -> str:
    """Return an arrow from the middle of a dial, its letter `across` so many pixels to its right."""
    angle = atan2(pair[1], pair[0])
    right, down = UNIT * pair[0].item(), -UNIT * pair[1].item()
    tip = RADIUS + right, RADIUS + down
    corners = [(tip[0] - 9 * cos(angle + turn), tip[1] + 9 * sin(angle + turn)) for turn in (0.4, -0.4)]
    head = "L".join(xy(*point) for point in (tip, *corners))
    x, y = RADIUS + 0.6 * right + across * sin(angle), RADIUS + 0.6 * down + across * cos(angle) + 5
    return (
        f'<path class="line" d="M{xy(RADIUS, RADIUS)}L{xy(*tip)}" '
        f'style="stroke:var(--{role});stroke-width:{6 if wide else 2.6}px"/>'
        f'<path d="M{head}Z" style="fill:var(--{role})"/>' + line_of_text(x, y, letter, look="strong", role=role)
    )
