"""The block of 2017 beside today's, and how a router sends tokens to experts."""

import torch

from course_lib.data.running_example import TOKENS, X
from course_lib.diagrams import Arrow, Diagram, Group, Part, arrow, beside, box, matrix, number, text
from course_lib.diagrams.svg import hatch, line_of_text, lines_of_text, rectangle, text_height, text_width
from course_lib.mixture import Router, count_choices

HEADS, GROUPS = 4, 2  # heads of queries, and today as many of keys and values
WIDTH, STREAM, FIRST, LAST = 332, 63, 100, 326  # pixels: a half, its residual stream, and where its branches are
FEED_FORWARD, SQUARE, ROW, GAP = 140, 15, 28, 15  # pixels
DOWN = ("bottom", "top")
BADGE, DRAWN = 18, 0.96  # pixels; how wide a text is, in parts of its largest width
COLOURS = {  # one for each letter: none is that of queries, keys or values
    "A": "light-dark(#a8123e, #ff93a8)",
    "B": "light-dark(#006a75, #6fd6e0)",
    "C": "light-dark(#6d5600, #e3c65a)",
    "D": "light-dark(#222832, #ced6dd)",
    "E": "light-dark(#6a2c91, #d3a8f5)",
}
CHANGES = {  # by letter: in 2017, and today
    "A": ("LayerNorm after +", "RMSNorm before"),
    "B": ("ReLU network", "SwiGLU, or experts"),
    "C": ("sinusoids, added", "RoPE, which rotates"),
    "D": ("4 keys, 4 values", "2 keys, 2 values"),
    "E": ("no norm of Q and K", "QK-norm"),
}

W_ROUTER = torch.tensor([[2.0, -1, -1, 0], [-1, 1, 2, 1], [0, 0, 1, 2], [1, 0, 0, -1]])  # (expert, d_model)
CHOSEN, FOLLOWED = 2, TOKENS.index("sees")
MADE = torch.tensor([[2.0, 0, 1, 0], [0, 4, 1, 0]])  # (chosen, d_model): what its two experts make of "sees"


def todays_block_beside_2017() -> Diagram:
    """Draw Chapter 16: the block of 2017 and today's at one scale; a table at the top says what was exchanged for what.

    On a telephone, today's stands alone, and dashed parts stand where 2017 had a part that is gone.

    >>> drawn = todays_block_beside_2017().svg()
    >>> drawn.count(">LayerNorm<"), drawn.count(">RMSNorm<"), drawn.count("causal softmax attention<")
    (2, 3, 2)
    """

    def arrangement(side_by_side: bool) -> list[Part | Arrow]:
        """Return the table with the legend, and below it both halves, or that of today with what is gone since 2017."""
        exchanged = _exchanges()
        signs = [
            _entry(_box("", 34, 20), "grey: as in 2017"),
            _entry(_band(20), "residual stream"),
            _entry(_head("1 2", "key", 2 * SQUARE + 2), "read by heads 1 and 2" if side_by_side else "for heads 1, 2"),
            _entry(
                Part(34, 20, _own("D", _edge(34, 20, 0, True))),
                "no part stands here" if side_by_side else "2017, gone today",
            ),
        ]
        if side_by_side:
            for above, below in zip(signs, signs[1:], strict=False):
                below.below(above, 6, align="start")
            others = Group(signs).right_of(exchanged, 40)
            drawn = beside(_half(today=False), _half(today=True), gap=16)
        else:
            grey, stream, head, dashed = signs
            grey.below(exchanged, 12, align="start")
            stream.right_of(grey, 24)
            dashed.below(grey, 6, align="start")
            head.right_of(dashed, 10)
            others = Group(signs)
            drawn = _half(today=True, alone=True)
        legend = Group([exchanged, others])
        return [legend, drawn.below(legend, 26 if side_by_side else 18, align="start")]

    return Diagram(
        "The block of 2017 and the block of today",
        "Two towers, to be read from below. Through each runs the residual stream, from the embedding of the tokens "
        "through N blocks to the logits. Each block has two branches, causal softmax attention with its output "
        "projection and a feed-forward network, which are added to the stream. Five things differ. They have a letter "
        "and a colour, and stand in a table at the top. "
        "A: in 2017 a LayerNorm stands on the stream after each sum; today an RMSNorm stands on each branch, before "
        "its linear map, and one more above the last block, before the logits. B: ReLU between two linear maps, 4d "
        "wide, became SwiGLU, 8d/3 wide, in which a gate is multiplied; or a router that chooses experts. C: sinusoids "
        "added to the tokens became RoPE, which rotates queries and keys. "
        f"D: {HEADS} queries with {HEADS} keys and {HEADS} values became {HEADS} queries with {GROUPS} keys and "
        f"{GROUPS} values, each read by {HEADS // GROUPS} heads. E: queries and keys are normalised, which 2017 did "
        "not do. A dashed frame stands where one of the two has no part.",
        arrangement(side_by_side=True),
        narrow=arrangement(side_by_side=False),
    )


@torch.no_grad()
def routing_to_experts() -> Diagram:
    """Draw Chapter 16: a router's logits, the two largest as shares, and the sum of what two experts make of a token.

    >>> routing_to_experts().description[-63:]
    'Times 0.88 and 0.12, the sum is the output 1.76, 0.48, 1 and 0.'
    """
    router = Router(d_model=X.shape[1], experts=len(W_ROUTER), chosen=CHOSEN)
    router.to_logits.weight.copy_(W_ROUTER)
    logits, chosen, shares = router(X)  # (token, expert), and twice (token, chosen)
    table = torch.zeros_like(logits).scatter(-1, chosen, shares)  # (token, expert)
    output = shares[FOLLOWED] @ MADE  # (d_model,)
    experts = [f"E_{1 + expert}" for expert in range(len(W_ROUTER))]
    loads = count_choices(chosen, len(experts))  # (expert,)
    most, least = loads.argmax().item(), loads.argmin().item()
    word = f"“{TOKENS[FOLLOWED]}”"
    weights = [number(share) for share in shares[FOLLOWED].tolist()]
    notes = f"{experts[0]} to {experts[-1]}: the experts\nhatched: not computed\n"
    notes += f"{experts[most]} computes {loads[most]} tokens,\n{experts[least]} computes {loads[least]}"

    def arrangement(wide: bool) -> list[Part | Arrow]:
        """Return vectors and router, then logits, then shares, then the sum for one token."""
        vectors, weight = (
            matrix(X, title="X", rows=TOKENS, highlight=FOLLOWED),
            matrix(W_ROUTER.T, title="W_r", columns=experts),
        )
        scores = matrix(logits, "plain", "logits", TOKENS, experts, highlight=FOLLOWED)
        part = matrix(table, "weight", "shares", TOKENS, experts, table > 0, FOLLOWED)
        inputs = Group([vectors, weight.right_of(vectors, 26 if wide else 10)])
        terms = []
        for sign, share, expert, row in zip(("", "+"), weights, chosen[FOLLOWED], MADE, strict=False):
            made = matrix(row.unsqueeze(0), "value", experts[expert])
            terms.append(beside(text(f"{sign} {share} ×".strip(), "weight", strong=True), made, gap=8))
        result = matrix(output.unsqueeze(0), "value", "output", highlight=0)
        terms.append(beside(text("="), result, gap=8))
        legend = text(notes)
        if wide:
            scores.right_of(inputs, 86)
            part.below(scores, 62)
            legend.left_of(part, 24)
            total = beside(*terms, gap=12).below(part, 62)
            total.move(part.middle[0] - result.middle[0], 0)
        else:
            scores.below(inputs, 56)
            part.below(scores, 62)
            for one, other in zip(terms, terms[1:], strict=False):
                other.below(one, 14)
                other.move(one.parts[1].body[0] - other.parts[1].body[0], 0)
            total = Group(terms).below(legend.below(part, 14), 56)
        return [
            *(inputs, scores, part, legend, total),
            arrow(inputs, scores, "X W_r"),
            arrow(scores, part, f"softmax of the\n{CHOSEN} largest", sides=DOWN),
            arrow(part if wide else legend, result if wide else total, f"the row of {word}", sides=DOWN),
        ]

    def read_out(values: torch.Tensor) -> str:
        *first, last = map(number, values.tolist())
        return f"{', '.join(first)} and {last}"

    chosen_by = "; ".join(
        f"{token}: {' and '.join(str(1 + each) for each in pair)}"
        for token, pair in zip(TOKENS, chosen.tolist(), strict=True)
    )
    return Diagram(
        "A router sends each token to two of four experts",
        f"Four tokens, each a vector of {X.shape[1]} entries, times the router's matrix give a logit for each of "
        f"{len(experts)} experts. The {CHOSEN} largest of a row are kept, and their softmax gives the shares. The "
        f"experts chosen are, {chosen_by}. The other cells are hatched, since these experts never compute these "
        f"tokens. {word} has the logits {read_out(logits[FOLLOWED])}. Its two experts give {read_out(MADE[0])}, and "
        f"{read_out(MADE[1])}. Times {' and '.join(weights)}, the sum is the output {read_out(output)}.",
        arrangement(wide=True),
        narrow=arrangement(wide=False),
    )


def _exchanges() -> Group:
    """Return a table: for each letter, what stood there in 2017 and what stands there today."""
    rows: list[Part] = []
    second = BADGE + 5 + max(DRAWN * text_width(before) for before, _ in CHANGES.values()) + 28
    for row, (letter, (before, after)) in enumerate([("", ("2017", "today")), *CHANGES.items()]):
        look = "" if letter else "strong"
        drawn = line_of_text(BADGE + 5, 15, before, "start", look) + line_of_text(second, 15, after, "start", look)
        if letter:
            badge = f'<g transform="translate(0 {10 - BADGE / 2:g})">{_badge(letter).drawn}</g>'
            drawn += badge + line_of_text(second - 14, 15, "→")
        rows.append(Part(second + DRAWN * text_width(after, not letter), 20, drawn).move(0, 26 * row))
    return Group(rows)


def _half(today: bool, alone: bool = False) -> Group:
    """Return the block of 2017 or of today, with what is below and above it; the stream goes up.

    Where today's stands `alone`, it has dashed parts where those of 2017 stood that are gone.
    """
    middle = (FIRST + LAST) / 2
    networks = FIRST + FEED_FORWARD / 2 if today else middle  # today, there is another network beside it
    embedding = _place(box("token\nembedding", width=100), STREAM, 0)
    added = _place(_plus(), STREAM, embedding.bounds[1] - GAP)
    bottom = added.bounds[1] - 12  # of the frame around the block
    parts: list[Part | Arrow] = [embedding]

    # Attention, from the branch to the sum.
    branch = bottom - 14
    norm = _place(_changed("A", "RMSNorm", 110), middle, branch - GAP - 2)
    linear = _place(_box("linear", LAST - FIRST), middle, norm.bounds[1] - GAP)
    heads, at = _heads(today, linear.bounds[1] - GAP)
    span = 144
    normed = _place(
        _changed("E", "QK-norm" if today else "no norm", span, not today), FIRST + span / 2, heads.bounds[1] - GAP
    )
    rotated = _place(_changed("C", "RoPE", span), FIRST + span / 2, normed.bounds[1] - GAP)
    attention = _place(_box("causal softmax attention", LAST - FIRST, 34), middle, rotated.bounds[1] - GAP)
    projection = _place(_box("linear: output projection", LAST - FIRST), middle, attention.bounds[1] - GAP)
    first_sum = _place(_plus(), STREAM, projection.middle[1] + 12)
    parts += [linear, heads, normed, attention, projection, first_sum]
    parts += [arrow(attention, projection), arrow(projection, first_sum, sides=("left", "right"))]
    parts += [_up(x, linear, heads) for x in at]
    parts += [_up(at[2], heads, attention), *([rotated] if today else [])]
    path = [heads, normed, rotated, attention] if today else [heads, normed, attention]
    parts += [_up(x, one, other) for one, other in zip(path, path[1:], strict=False) for x in at[:2]]
    parts += _branch(branch, norm if today else linear)
    if today:
        parts += [norm, arrow(norm, linear)]

    # The feed-forward network, from the branch to the sum.
    gone = ROW + GAP + 2 if alone else 0  # a dashed part stands on the stream before its branch leaves
    norm_2 = _place(_changed("A", "RMSNorm", 110), networks, first_sum.bounds[1] - 16 - GAP - gone)
    network, last_linear = _network(today, networks, norm_2.bounds[1] - GAP - 2)
    second_sum = _place(_plus(), STREAM, last_linear.middle[1] + 12)
    over = network.bounds[1] - 12  # where the path of the experts runs over the network
    above = (first_sum.bounds[1] - GAP - 2, over - 6 if alone else second_sum.bounds[1] - GAP - 2)
    after = [_place(_changed("A", "LayerNorm", 114, alone), STREAM, each) for each in above]
    parts += [network, second_sum, arrow(last_linear, second_sum, sides=("left", "right"))]
    if today:
        parts += [*_branch(first_sum.bounds[1] - 16 - gone, norm_2), norm_2, arrow(norm_2, network)]
        experts = _place(_experts(network), LAST - 40, network.bounds[3])
        joins = Part(0, 0).move(STREAM + 12, second_sum.middle[1] - 6)  # the sum, from above on the right
        parts += [experts, joins, arrow(norm_2, experts, sides=("right", "bottom"))]
        parts += [arrow(experts, joins, sides=("top", "top"), reach=8)]
    else:
        parts += [*_branch(after[0].bounds[1] - 14, network), *after]

    # The stream, the frame, and what stands above and below it.
    top = min(after[1].bounds[1] - 16, over - 26)
    last_norm = _place(_changed("A", "RMSNorm", 114), STREAM, top - 12)
    logits = _place(box("linear:\nlogits", width=100), STREAM, last_norm.bounds[1] - GAP)
    frame = Part(WIDTH, bottom - top, rectangle(0, 0, WIDTH, bottom - top, "plain", 0.04, 1, 1.4, 12))
    frame.move(0, top)
    blocks = text("N blocks", strong=True).move(0, top + 6)
    blocks.move(LAST - 6 - blocks.bounds[2], 0)
    title = text("today" if today else "2017", strong=True)
    title.move(middle - title.middle[0], logits.middle[1] - title.middle[1])
    if today:
        gone_norms = after if alone else []
        on_stream = [embedding, first_sum, *gone_norms[:1], second_sum, *gone_norms[1:], last_norm, logits]
        nothing = _changed("C", "sinusoids" if alone else "nothing is added", LAST - FIRST, True)
        parts += [nothing.move(FIRST, added.middle[1] - nothing.middle[1]), *gone_norms, last_norm]
    else:
        on_stream = [embedding, added, first_sum, after[0], second_sum, after[1], logits]
        sinusoids = _changed("C", "sinusoids", LAST - FIRST)
        parts += [added, sinusoids.move(FIRST, added.middle[1] - sinusoids.middle[1]), arrow(sinusoids, added)]
    pairs = list(zip(on_stream, on_stream[1:], strict=False))
    bands = [_band(lower.bounds[1] - upper.bounds[3]) for lower, upper in pairs]
    for band, (_, upper) in zip(bands, pairs, strict=True):
        band.move(STREAM - band.middle[0], upper.bounds[3] - band.bounds[1])
    arrows = [arrow(lower, upper) for lower, upper in pairs]
    return Group([frame, *bands, *parts, logits, title, blocks, *arrows])


def _heads(today: bool, bottom: float) -> tuple[Group, list[float]]:
    """Return the heads of queries, keys and values, and where the middle of each kind is."""
    width = HEADS * SQUARE + (HEADS - 1) * 2
    x = {"queries": FIRST, "keys": FIRST + width + 12, "values": LAST - 4 - width}
    parts: list[Part] = []
    for name, role in (("queries", "query"), ("keys", "key"), ("values", "value")):
        shared = HEADS // GROUPS if today and name != "queries" else 1
        each = shared * SQUARE + (shared - 1) * 2
        for first in range(0, HEADS, shared):
            words = " ".join(str(1 + head) for head in range(first, first + shared))
            parts.append(_head(words, role, each).move(x[name] + first * (SQUARE + 2), bottom - 46))
        label = text(name, role)
        if name == "keys":
            label = beside(_badge("D"), label, gap=3)
        parts.append(label.move(x[name] + width / 2 - (label.bounds[0] + label.bounds[2]) / 2, bottom - 24))
    left, wide = x["keys"] - 5, LAST - x["keys"] + 6
    around = Part(wide, 50, _own("D", _edge(wide, 50, 0.04)))
    return Group([around.move(left, bottom - 50), *parts]), [start + width / 2 for start in x.values()]


def _head(heads: str, role: str, width: float) -> Part:
    """Return a small box with the numbers of the heads that use it."""
    drawn = rectangle(0, 0, width, 20, role, 0.2, 1, 1.2, 2) + line_of_text(width / 2, 15, heads)
    return Part(width, 20, drawn)


def _network(today: bool, middle: float, bottom: float) -> tuple[Group, Part]:
    """Return the feed-forward network in its frame, and its last linear map."""
    left, half = middle - FEED_FORWARD / 2, (FEED_FORWARD - 24) / 2
    inside: list[Part | Arrow] = []
    if today:
        gate = _place(_box("linear", half, letter="B"), left + 8 + half / 2, bottom - 8)
        value = _place(_box("linear", half), left + 16 + 1.5 * half, bottom - 8)
        silu = _place(_box("gate:\nSiLU", half, 46, "B"), gate.middle[0], gate.bounds[1] - GAP)
        times = _place(_plus("×", "B"), value.middle[0], silu.middle[1] + 12)
        last = _place(_box("linear", FEED_FORWARD - 16), middle, silu.bounds[1] - GAP)
        inside = [gate, value, silu, times, last, arrow(gate, silu), arrow(value, times), arrow(silu, times)]
        inside.append(_up(times.middle[0], times, last))
        name = "SwiGLU, 8d/3"
    else:
        first = _place(_box("linear", FEED_FORWARD - 16), middle, bottom - 8)
        relu = _place(_box("ReLU", FEED_FORWARD - 16, 46, "B"), middle, first.bounds[1] - GAP)
        last = _place(_box("linear", FEED_FORWARD - 16), middle, relu.bounds[1] - GAP)
        inside = [first, relu, last, arrow(first, relu), arrow(relu, last)]
        name = "ReLU, 4d"
    top = last.bounds[1] - 30
    edge = Part(FEED_FORWARD, bottom - top, _own("B", _edge(FEED_FORWARD, bottom - top, 0.06))).move(left, top)
    title = _entry(_badge("B"), name)
    title.move(middle - (title.bounds[0] + title.bounds[2]) / 2, top + 6 - title.bounds[1])
    return Group([edge, title, *inside]), last


def _experts(network: Group) -> Part:
    """Return the alternative to a feed-forward network, as high as it: a router above which experts stand."""
    width, height = 80, network.bounds[3] - network.bounds[1]
    router = _box("router", width - 16, letter="B")
    router.move(8, height - 8 - ROW)
    squares, arrows = [], []
    for expert in range(HEADS):
        chosen = expert in (0, 2)
        drawn = rectangle(0, 0, SQUARE, 46, "exchanged", 0.2 if chosen else 0, 1, 1.2, 2)
        square = Part(SQUARE, 46, _own("B", drawn + ("" if chosen else hatch(0, 0, SQUARE, 46, "exchanged"))))
        squares.append(square.move(7 + expert * (SQUARE + 2), height - 8 - ROW - GAP - 46))
        if chosen:
            arrows.append(_up(square.middle[0], router, square))
    words = lines_of_text(width / 2, 45, "experts\n(SwiGLU)")
    title = _entry(_badge("B"), "or").move(20, 6)
    edge = Part(width, height, _own("B", _edge(width, height, 0.06)) + words)
    return Group([edge, title, router, *squares, *arrows])


def _place(part: Part, x: float, bottom: float) -> Part:
    """Move a part: its middle above x, its lower edge at `bottom`."""
    left, _, right, lower = part.bounds
    return part.move(x - (left + right) / 2, bottom - lower)


def _up(x: float, start: Part, end: Part) -> Group:
    """Return an arrow straight up at x, from one part to another."""
    lower, upper = Part(0, 0).move(x, start.bounds[1]), Part(0, 0).move(x, end.bounds[3])
    return Group([lower, upper, arrow(lower, upper, sides=("top", "bottom"))])


def _branch(level: float, end: Part) -> list[Part | Arrow]:
    """Return the place where a branch leaves the stream, and the arrow that leads it to a part from below."""
    dot = Part(0, 0, '<circle r="3" style="fill:var(--ink)"/>').move(STREAM, level)
    return [dot, arrow(dot, end, sides=("right", "bottom"))]


def _box(label: str, width: float, height: float = ROW, letter: str = "") -> Part:
    """Return a box: grey for what nobody exchanged, or in the colour of the letter of an exchange."""
    first = height / 2 + 5 - (text_height(label) - 20) / 2
    edge = rectangle(0, 0, width, height, "exchanged" if letter else "plain", 0.14, 1, 1.6, 7)
    return Part(width, height, (_own(letter, edge) if letter else edge) + lines_of_text(width / 2, first, label))


def _changed(letter: str, label: str, width: float, missing: bool = False) -> Part:
    """Return a box for what was exchanged, with its letter; dashed where nothing stands."""
    start = max(5, (width - BADGE - 4 - DRAWN * text_width(label)) / 2)
    words = line_of_text(start + BADGE + 4, ROW / 2 + 5, label, "start")
    badge = f'<g transform="translate({start:g} {(ROW - BADGE) / 2:g})">{_badge(letter).drawn}</g>'
    return Part(width, ROW, _own(letter, _edge(width, ROW, 0 if missing else 0.14, missing)) + words + badge)


def _badge(letter: str) -> Part:
    """Return a letter on a disc in the colour of its role."""
    words = line_of_text(BADGE / 2, BADGE / 2 + 5, letter, look="strong", role="paper")
    return Part(BADGE, BADGE, _own(letter, rectangle(0, 0, BADGE, BADGE, "exchanged", 1, 1, 1, BADGE / 2)) + words)


def _entry(sign: Part, words: str) -> Part:
    """Return a sign, such as a badge, with words after it."""
    x, height = sign.width + 5, max(20, sign.height)
    drawn = f'<g transform="translate(0 {(height - sign.height) / 2:g})">{sign.drawn}</g>'
    return Part(x + DRAWN * text_width(words), height, drawn + line_of_text(x, height / 2 + 5, words, "start"))


def _edge(width: float, height: float, fill: float, dashed: bool = False) -> str:
    return rectangle(0, 0, width, height, "exchanged", fill, 1, 1.8, 7, dashed)


def _own(letter: str, drawn: str) -> str:
    """Return SVG in which the colour of what was exchanged is that of its role."""
    return f'<g style="--exchanged:{COLOURS[letter]}">{drawn}</g>'


def _plus(sign: str = "+", letter: str = "") -> Part:
    edge = rectangle(0, 0, 24, 24, "exchanged" if letter else "plain", 0.14, 1, 1.6, 12)
    return Part(24, 24, (_own(letter, edge) if letter else edge) + line_of_text(12, 17, sign))


def _band(length: float) -> Part:
    """Return a stretch of the residual stream."""
    return Part(12, length, rectangle(0, 0, 12, length, "plain", 0.25, 0))
