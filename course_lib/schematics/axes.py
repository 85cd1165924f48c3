"""Axes and memory: exchanged or cut anew; the loops of an einsum; what broadcasting repeats; the axis of a softmax."""

from collections.abc import Sequence

import torch

from course_lib.data.running_example import TOKENS, K, Q
from course_lib.diagrams import Arrow, Diagram, Group, Part, arrow, beside, bracket, column, matrix, number, text
from course_lib.diagrams.matrices import CELL
from course_lib.diagrams.pieces import SHADES, pieces
from course_lib.diagrams.svg import line_of_text, rectangle

VECTORS = torch.arange(12).reshape(2, 3, 2)  # (batch, time, d_model): each number is its own place in memory
READERS = ("sees", "itself")  # whose queries meet the four keys
READ = TOKENS.index("cat")  # the key of the framed product
TABLE = torch.arange(1, 10).reshape(3, 3)  # (batch, time)
OF_SENTENCES = torch.tensor([10, 20, 30])  # (batch,): one number for each sentence
PATTERN = "query d, key d -> query key"
DOWN = ("bottom", "top")


def transpose_against_reshape() -> Diagram:
    """Draw Chapter 0: two sentences of three tokens in memory; their axes exchanged; the memory cut anew.

    >>> print(transpose_against_reshape().description[-89:])
    The first row holds 0 1 and 2 3, both of sentence 1; the second one 4 5 and 6 7, of both.
    """
    batch, time, width = VECTORS.shape
    owner = torch.arange(batch)[:, None].expand(batch, time)  # (batch, time): the sentence of each token
    exchanged, cut = VECTORS.transpose(0, 1), VECTORS.reshape(time, batch, width)  # (time, batch, d_model)
    sentences, times = (
        [f"{axis} {at + 1}" for at in range(size)] for axis, size in (("sentence", batch), ("time", time))
    )

    def table(vectors: torch.Tensor, whose: torch.Tensor, title: str, rows: Sequence[str], shape: str) -> Group:
        """Return a table of tokens in the shade of their sentence, with a title, names of its rows, and its shape."""
        cells = pieces(whose.tolist(), [[" ".join(map(str, token)) for token in row] for row in vectors.tolist()])
        middle = (len(rows) - 1) / 2
        names = [text(name).left_of(cells, 8).move(0, (row - middle) * CELL) for row, name in enumerate(rows)]
        return Group([cells, *names, text(title, strong=True).above(cells, 6), text(shape).below(cells, 4)])

    def memory() -> Group:
        """Return the numbers in the order of memory, the sentences above, and below where `reshape` cuts."""
        drawn, of_all = "", owner.flatten().repeat_interleave(width).tolist()
        for at, (value, head) in enumerate(zip(VECTORS.flatten().tolist(), of_all, strict=True)):
            drawn += rectangle(at * CELL, 0, CELL, CELL, "plain", SHADES[head], 0.5)
            drawn += line_of_text((at + 0.5) * CELL, CELL / 2 + 5, str(value))
        strip = Part(len(of_all) * CELL, CELL, drawn)
        parts: list[Part] = [strip]
        for names, side in ((sentences, "top"), ([f"row {at + 1} ✗" for at in range(time)], "bottom")):
            length = strip.width / len(names)
            for at, name in enumerate(names):
                parts.append(bracket(Part(length - 8, CELL).move(at * length + 4, 0), side, name))
        return Group([*parts, text("in memory, one number after the other", strong=True).above(Group(parts), 4)])

    def all_parts(narrow: bool) -> list[Part | Arrow]:
        start = table(VECTORS, owner, "tokens", sentences, f"(batch {batch}, time {time}, d_model {width})")
        strip = memory()
        right = table(exchanged, owner.T, "✓ transpose:\naxes exchanged", times, f"({time}, {batch}, {width})")
        wrong = table(cut, owner.reshape(time, batch), "✗ reshape:\nmemory cut", times, f"({time}, {batch}, {width})")
        right_and_wrong = beside(right, wrong, gap=14 if narrow else 90)
        if narrow:
            strip.below(start, 24)
            right_and_wrong.below(strip, 30)
        else:
            strip.right_of(start, 36)
            right_and_wrong.below(Group([start, strip]), 34)
        for part in (start, right_and_wrong) if narrow else (right_and_wrong,):
            left, _, end, _ = (strip if narrow else Group([start, strip])).bounds
            part.move((left + end) / 2 - (part.bounds[0] + part.bounds[2]) / 2, 0)
        return [start, strip, right, wrong]

    def row(tokens: torch.Tensor) -> str:
        return " and ".join(" ".join(map(str, token)) for token in tokens.tolist())

    return Diagram(
        "Exchanging two axes, and a reshape to the same shape",
        f"Two sentences of three tokens, each a vector of two numbers: {row(VECTORS[0])}; {row(VECTORS[1])}. In memory "
        "the twelve numbers stand in one row, sentence 1 first. Below, two tables with a row for each time and a "
        "column for each sentence. Transpose exchanges the axes: the rows are "
        f"{'; '.join(map(row, exchanged))}, so that each column is one sentence. Reshape cuts the memory into three "
        f"rows of four numbers. The first row holds {row(cut[0])}, both of sentence 1; the second one {row(cut[1])}, "
        "of both.",
        all_parts(narrow=False),
        narrow=all_parts(narrow=True),
    )


def einsum_as_loops() -> Diagram:
    """Draw Chapter 0: each of two queries meets each of four keys, and d is summed.

    >>> print(einsum_as_loops().description[-50:])
    The framed one: 0 · 0 + 2 · 2 + 2 · 2 + 3 · 0 = 8.
    """
    queries = Q[[TOKENS.index(token) for token in READERS]]  # (query, d)
    products = torch.einsum("id,jd->ij", queries, K)  # (query, key)
    last = len(READERS) - 1
    pairs = list(zip(queries[last].tolist(), K[READ].tolist(), strict=True))
    terms = " + ".join(f"{number(one)} · {number(other)}" for one, other in pairs)
    result = number(products[last, READ].item())

    def parts(narrow: bool) -> list[Part | Arrow]:
        above = matrix(queries, "query", "queries", READERS, highlight=last)
        below = matrix(K, "key", "keys", TOKENS, highlight=READ).below(above, 16)
        below.move(above.body[0] - below.body[0], 0)  # the entries that are multiplied stand over one another
        shared = bracket(below, "bottom", "d: summed")
        left = Group([above, below, shared])
        table = matrix(products, "plain", "products", READERS, TOKENS)
        wide = (table.body[2] - table.body[0]) / len(TOKENS)
        framed = Part(wide + 2, CELL + 2, rectangle(0, 0, wide + 2, CELL + 2, "ink", 0, 1, 2.5, 3))
        framed.move(table.body[0] + READ * wide - 1, table.body[1] + last * CELL - 1)
        words = text(f"“{READERS[last]}” with “{TOKENS[READ]}”:\n{terms} = {result}").below(table, 14)
        right = Group([table, framed, words])
        if narrow:
            right.below(left, 52)
            right.move(left.bounds[0] - right.bounds[0], 0)
        else:
            right.right_of(left, 96)
        under = Part(0, 0).move(table.middle[0], left.bounds[3])
        lead = [under, arrow(under, table, "sum over d", sides=DOWN)] if narrow else [arrow(left, right, "sum over d")]
        pattern = text(f"einsum: {PATTERN}", strong=True).above(left, 14)
        pattern.move(Group([left, right]).bounds[0] - pattern.bounds[0], 0)
        return [pattern, left, right, *lead]

    return Diagram(
        "The einsum of queries and keys",
        f"Two queries, of {' and '.join(READERS)}, stand above four keys, of {', '.join(TOKENS)}; each is a row of "
        "four numbers. A table has a row for each query and a column for each key. Each of its numbers is a sum of "
        f"four products. The rows are {' and '.join(', '.join(map(number, row)) for row in products.tolist())}. The "
        f"framed one: {terms} = {result}.",
        parts(narrow=False),
        narrow=parts(narrow=True),
    )


def broadcasting_two_ways() -> Diagram:
    """Draw Chapter 0: three numbers, one for each sentence, are repeated along the wrong axis and along the right one.

    >>> print(broadcasting_two_ways().description[-45:])
    The sums are 11 12 13, 24 25 26 and 37 38 39.
    """
    as_row, as_column = (OF_SENTENCES.expand(3, 3), OF_SENTENCES[:, None].expand(3, 3))  # (batch, time)

    def panel(repeated: torch.Tensor, title: str, along: int) -> Group:
        """Return x + v = sum; what v is before it is repeated has a frame."""
        drawn = [matrix(TABLE), text("+"), matrix(repeated), text("="), matrix(TABLE + repeated)]
        row = beside(*drawn, gap=7)
        left, top, right, bottom = drawn[2].body
        width, height = (right - left, CELL) if along == 1 else (CELL, bottom - top)
        framed = Part(width, height, rectangle(0, 0, width, height, "ink", 0, 1, 2.5, 3)).move(left, top)
        names = [
            text(name, strong=True).above(part, 3) for name, part in zip(("x", "v", "sum"), drawn[::2], strict=True)
        ]
        inside = Group([row, framed, *names])
        return Group([inside, text(title, strong=True).above(inside, 8)])

    def panels() -> tuple[Group, Group]:
        return (
            panel(as_row, "✗ x + v, v of shape (3):\nrepeated for each sentence", 1),
            panel(as_column, "✓ x + v, v of shape (3, 1):\nrepeated for each time", 0),
        )

    def rows(values: torch.Tensor) -> str:
        *most, last = (" ".join(map(str, row)) for row in values.tolist())
        return f"{', '.join(most)} and {last}"

    return Diagram(
        "Broadcasting a number for each sentence along two axes",
        f"x is a table with a row for each of three sentences and a column for each of three times: {rows(TABLE)}. v "
        "has a number for each sentence: 10, 20 and 30. Left, v has the shape 3: torch takes it as a row and repeats "
        f"it downward, so that each time gets a number. The sums are {rows(TABLE + as_row)}. Right, v has the shape 3 "
        "by 1: it is a column, and is repeated to the right, so that each sentence gets its own number. The sums are "
        f"{rows(TABLE + as_column)}.",
        [beside(*panels(), gap=56)],
        narrow=[column(*panels(), gap=30)],
    )


def softmax_along_two_axes() -> Diagram:
    """Draw Chapter 0: the softmax of a table along the keys, so that its rows sum to 1, and along the queries.

    >>> print(softmax_along_two_axes().description[-81:])
    Its columns sum to 1, 1, 1 and 1, but its rows do not: they sum to 1.63 and 2.37.
    """
    scores = Q[[TOKENS.index(token) for token in READERS]] @ K.T / 2  # (query, key)
    right, wrong = scores.softmax(dim=-1), scores.softmax(dim=0)  # (query, key), (query, key)

    def framed(drawn: Part, last: bool) -> Part:
        """Return a frame around what one softmax works on: the last row, or the column of the key of the example."""
        left, top, end, bottom = drawn.body
        wide = (end - left) / len(TOKENS)
        width, height = (end - left, CELL) if last else (wide, bottom - top)
        frame = Part(width + 2, height + 2, rectangle(0, 0, width + 2, height + 2, "ink", 0, 1, 2.5, 3))
        return frame.move(left - 1 if last else left + READ * wide - 1, bottom - height - 1 if last else top - 1)

    def with_sums(weights: torch.Tensor, title: str, along_keys: bool) -> Group:
        """Return the weights, the sum of each row at their right, and the sum of each column below the wrong ones."""
        drawn = matrix(weights, "weight", rows=READERS, columns=TOKENS)
        sums = matrix(weights.sum(dim=-1, keepdim=True), columns=["sum ✓" if along_keys else "sum ✗"])
        parts = [drawn, sums.right_of(drawn, 8), framed(drawn, along_keys)]
        sums.move(0, drawn.body[1] - sums.body[1])
        if not along_keys:
            wide = (drawn.body[2] - drawn.body[0]) / len(TOKENS)
            for at, total in enumerate(weights.sum(dim=0).tolist()):
                under = text(number(total)).below(drawn, 4)
                parts.append(under.move(drawn.body[0] + (at + 0.5) * wide - under.middle[0], 0))
            parts.append(text("sum").below(drawn, 4))
            parts[-1].move(drawn.body[0] - 8 - parts[-1].bounds[2], 0)
        inside = Group(parts)
        return Group([inside, text(title, strong=True).above(inside, 6)])

    def all_parts(narrow: bool) -> list[Part | Arrow]:
        start = matrix(scores, "plain", "scores", READERS, TOKENS)
        keys = with_sums(right, "✓ dim=-1: a softmax of each row", along_keys=True)
        queries = with_sums(wrong, "✗ dim=0: a softmax of each column", along_keys=False)
        if narrow:
            column(start, keys, queries, gap=28)
            for group in (keys, queries):
                group.move(start.bounds[0] - group.bounds[0], 0)
            return [start, keys, queries]
        both = beside(keys, queries, gap=44)
        queries.move(0, keys.bounds[1] - queries.bounds[1])
        start.above(both, 40)
        return [start, keys, queries, *(arrow(start, end.parts[1], sides=DOWN) for end in (keys, queries))]

    def listed(values: torch.Tensor) -> str:
        *most, last = map(number, values.tolist())
        return f"{', '.join(most)} and {last}"

    return Diagram(
        "A softmax along the keys, and along the queries",
        f"A table of scores has a row for each query, of {' and '.join(READERS)}, and a column for each key, of "
        f"{', '.join(TOKENS)}: {'; '.join(map(listed, scores))}. With dim=-1, a softmax works on each row: the weights "
        f"are {'; '.join(map(listed, right))}, and the rows sum to {listed(right.sum(dim=-1))}. With dim=0, it works "
        f"on each column: the weights are {'; '.join(map(listed, wrong))}. Its columns sum to "
        f"{listed(wrong.sum(dim=0))}, but its rows do not: they sum to {listed(wrong.sum(dim=-1))}.",
        all_parts(narrow=False),
        narrow=all_parts(narrow=True),
    )
