"""A cache of keys and values that grows by one row a step, one row of scores in two tiles, and two kinds of memory."""

import torch

from course_lib.attention import scaled_dot_product_attention
from course_lib.data.running_example import TOKENS, K, Q, V
from course_lib.diagrams import Arrow, Diagram, Group, Part, arrow, beside, column, frame, matrix, text
from course_lib.diagrams.svg import lines_of_text, rectangle, text_height, xy
from course_lib.masks import causal_mask

SCALE = Q.shape[-1] ** -0.5
SEES = TOKENS.index("sees")
TILE = 2  # keys, and queries, of a tile
POSITIONS, WIDTH, SQUARE = 8192, 64, 64  # of the page's example: queries and keys, entries, side of a tile
FAST = 192 * 1024  # bytes in a processor of an A100: Dao et al. (2022)
LANE, SHAFT = 42, 22  # pixels: from one arrow between the memories to the next, and width of that of a whole matrix
SLOW_END, FAST_START, FAST_END = 54, 144, 246  # pixels: where the boxes in the memories end and begin


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
        cells("", "", f"{m_1:g} → {m_2:g}", factor * z_1, factor * u_1),
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


def slow_and_fast_memory() -> Diagram:
    """Draw Chapter 13: what plain attention moves between the two memories of a GPU, and what attention in tiles moves.

    >>> print(slow_and_fast_memory().description[-51:])
    516 MiB are moved, and the slow memory holds 8 MiB.
    """
    q, k, v, y = torch.empty(4, POSITIONS, WIDTH, device="meta")  # (position, d) each: sizes without numbers
    s = q @ k.mT  # (query, key), as large as A
    tile = q[:SQUARE] @ k[:SQUARE].mT  # (query, key)
    m, z, u = tile.amax(dim=-1), tile.sum(dim=-1), tile @ v[:SQUARE]  # (query,), (query,), (query, d)
    parts_of_three = [each[:SQUARE] for each in (q, k, v)]  # (position, d) each
    running, inputs = _bytes(m, z, u), _bytes(*parts_of_three)
    assert running + inputs + _bytes(tile) <= FAST < SQUARE * POSITIONS * s.element_size()
    times = POSITIONS // SQUARE  # K and V are read once for each tile of queries
    kept = _bytes(q, k, v, y, s, s), _bytes(q, k, v, y)
    moved = _bytes(q, k, v, y) + 4 * _bytes(s), _bytes(q, y) + times * _bytes(k, v)
    many, one, all_scores = f"{POSITIONS:,}", _size(_bytes(q)), _size(_bytes(s))

    def flow(role: str, lane: float, up: bool, moves: int) -> Part:
        """Return an arrow between the memories, as wide as what it moves, but never too thin to be seen."""
        return _flow(role, lane, up, max(1.6, SHAFT * moves / _bytes(s)))

    def half(title: str, slow: list[Part], fast: list[Part | Arrow], flows: list[Part], which: int) -> Group:
        """Return both memories and the arrows between them, with a title above and the sums below."""
        name = text(f"fast memory: {_size(FAST)}", strong=True)
        name.move(2, FAST_END + 6)
        inside = [name, *(part for part in fast if isinstance(part, Part))]
        above, below = frame(slow, "slow memory of the GPU, MiB", 8), frame(inside, space=8)
        sums = text(f"moved: {_size(moved[which])}\nkept in slow memory: {_size(kept[which])}").below(below, 8)
        head = text(title, strong=True).above(above, 6)
        return Group([above, below, *slow, *fast, *flows, name, sums, head])

    def plain() -> Group:
        slow = [
            _block(f"{name}\n{size.split()[0]}", role, lane, lanes, 0, SLOW_END)
            for name, role, lane, lanes, size in (
                ("Q", "query", 0, 1, one),
                ("K", "key", 1, 1, one),
                ("S", "weight", 2, 2, all_scores),
                ("A", "weight", 4, 2, all_scores),
                ("V", "value", 6, 1, one),
                ("Y", "value", 7, 1, one),
            )
        ]
        fast = [
            _block(name, "plain", lane, lanes, FAST_START, FAST_END)
            for name, lane, lanes in (("S = Q Kᵀ / √d", 0, 3), ("A =\nsoftmax\nof S", 3, 2), ("Y = A V", 5, 3))
        ]
        flows = [flow("weight", lane, lane in (2, 4), _bytes(s)) for lane in (2, 3, 4, 5)]
        thin = ((0, "query"), (1, "key"), (6, "value"), (7, "value"))
        flows += [flow(role, lane, lane == 7, _bytes(q)) for lane, role in thin]
        return half("plain attention", slow, fast, flows, 0)

    def in_tiles() -> Group:
        lanes = (("Q", "query", 0), ("K", "key", 1.2), ("V", "value", 3.4), ("Y", "value", 5.8))
        slow = [_block(f"{name}\n{one.split()[0]}", role, lane, 1, 0, SLOW_END) for name, role, lane in lanes]
        middle = (FAST_START + FAST_END) / 2
        tiles = _block(f"tiles of Q, K, V: {_size(inputs)}", "plain", 0, 4.4, FAST_START, middle - 20)
        scores = _block(
            f"one tile of scores\n{SQUARE} × {SQUARE}: {_size(_bytes(tile))}", "weight", 0, 4.4, middle + 3, FAST_END
        )
        sums = _block(f"m, z, u\n{_size(running)}", "plain", 5.15, 1.65, FAST_START, FAST_END)
        level = Part(0, 0).move(sums.bounds[0], scores.middle[1])
        flows = [flow("query", 0, False, _bytes(q)), flow("value", 5.8, True, _bytes(y))]
        flows += [flow(role, lane, False, times * _bytes(k)) for _, role, lane in lanes[1:3]]
        for _, role, lane in lanes[1:3]:
            again = text(f"{times} ×", role)
            again.move((lane + 1) * LANE, 100 - again.height / 2)
            flows.append(again)
        inner = [arrow(tiles, scores, sides=("bottom", "top")), arrow(scores, level, sides=("right", "left"))]
        return half("in tiles", slow, [tiles, scores, sums, level, *inner], flows, 1)

    def with_legend(drawn: Part, separator: str) -> list[Part]:
        legend = f"Q, K, V, Y: {many} × {WIDTH}{separator}S, A: {many} × {many}\n"
        return [drawn, text(f"{legend}thick arrow: {all_scores} moved; thin arrow: {one}").below(drawn, 14)]

    return Diagram(
        "What attention moves between the slow and the fast memory",
        f"Two halves, for {POSITIONS:,} positions with {WIDTH} entries. In each, the slow memory of the GPU is above, "
        f"the fast memory of a processor, {_size(FAST)}, below. Left, plain attention: the slow memory holds Q, K, V "
        f"and Y, {one} each, and the matrices S and A, {all_scores} each. Thick arrows show that S is written "
        f"and read, and A is written and read. {_size(moved[0])} are moved, and the slow memory holds "
        f"{_size(kept[0])}. Right, in tiles: the fast memory holds tiles of Q, K and V, {_size(inputs)}, one tile of "
        f"{SQUARE} by {SQUARE} scores, {_size(_bytes(tile))}, and m, z and u, {_size(running)}. Q goes in once, Y out "
        f"once; K and V go in {times} times, once for each tile of queries. Scores and weights never leave. "
        f"{_size(moved[1])} are moved, and the slow memory holds {_size(kept[1])}.",
        with_legend(beside(plain(), in_tiles(), gap=20), "; "),
        narrow=with_legend(column(plain(), in_tiles(), gap=26), "\n"),
    )


def _bytes(*tensors: torch.Tensor) -> int:
    return sum(each.nbytes for each in tensors)


def _size(of: int) -> str:
    """Write a number of bytes in KiB of 1,024 bytes, or in MiB of 1,024 KiB.

    >>> _size(524_288 * 4), _size(4096 * 4)
    ('2 MiB', '16 KiB')
    """
    return f"{of / 2**20:,.0f} MiB" if of >= 2**20 else f"{of / 2**10:g} KiB"


def _block(label: str, role: str, lane: float, lanes: float, top: float, bottom: float) -> Part:
    """Return a box that is so many lanes wide."""
    width, height = lanes * LANE - 3, bottom - top
    words = lines_of_text(width / 2, (height - text_height(label)) / 2 + 15, label)
    return Part(width, height, rectangle(0, 0, width, height, role, 0.12, 1, 1.6, 5) + words).move(
        lane * LANE + 1.5, top
    )


def _flow(role: str, lane: float, up: bool, shaft: float) -> Part:
    """Return an arrow in the middle of a lane, from one memory to the other."""
    length, edge, tip = FAST_START - SLOW_END - 6, shaft / 2 + 3.5, 13 if shaft > 3 else 9
    corners = [(-shaft / 2, 0), (-shaft / 2, length - tip), (-edge, length - tip), (0, length)]
    corners += [(-x, y) for x, y in reversed(corners[:-1])]
    points = " ".join(xy(x + edge, length - y if up else y) for x, y in corners)
    drawn = f'<polygon points="{points}" style="fill:var(--{role})"/>'
    return Part(2 * edge, length, drawn).move((lane + 0.5) * LANE - edge, SLOW_END + 3)


def _left(part: Part) -> float:
    """Return where the first matrix of a group begins."""
    return part.bounds[0]
