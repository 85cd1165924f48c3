"""Multi-head attention on the running example: two heads of width 2, W_o, and what the wrong split does."""

import torch

from course_lib.attention import scaled_dot_product_attention
from course_lib.data.running_example import TOKENS, W_O, K, Q, V, X
from course_lib.diagrams import Arrow, Diagram, Group, Part, arrow, beside, column, frame, matrix, text
from course_lib.diagrams.matrices import CELL
from course_lib.diagrams.pieces import PIECE, pieces
from course_lib.diagrams.svg import rectangle
from course_lib.multi_head import merge_heads, split_heads

HEADS = 2
DOWN = ("bottom", "top")
LAST = len(TOKENS) - 1  # "itself", the row that the chapter follows
NUMBERS = "₁₂"
CUT = "stroke:var(--ink);stroke-width:3px"  # the line between two heads
BRACKET = "fill:none;stroke:var(--ink);stroke-width:1.5px"


def two_heads_step_by_step() -> Diagram:
    """Draw Chapter 6: X gives Q, K and V; each head attends with its columns; the averages meet the transpose of W_o.

    >>> print(two_heads_step_by_step().description[-84:])
    “itself” reads “cat” with head 1 (weight 0.73) and “sees” with head 2 (weight 0.76).
    """
    query, key, value = (split_heads(each, HEADS) for each in (Q, K, V))  # (head, time, d_head)
    found, weights = scaled_dot_product_attention(query, key, value)  # (head, time, d_head), (head, time, time)
    joined = merge_heads(found)  # (time, d_model)
    output = joined @ W_O.T  # (time, d_model)

    def whole(gap: float, named: bool) -> tuple[Group, list[Part], list[Part | Arrow]]:
        """Return Q, K and V side by side, the line between the heads in each, and X above with its arrows."""
        drawn = [
            matrix(each, role, name, TOKENS if named and name == "Q" else (), highlight=LAST if name == "Q" else None)
            for each, role, name in ((Q, "query", "Q"), (K, "key", "K"), (V, "value", "V"))
        ]
        beside(*drawn, gap=gap)
        x = matrix(X, "plain", "X", TOKENS if named else (), highlight=LAST).above(drawn[1], 48)
        made: list[Part | Arrow] = [
            arrow(x, each, f"W_{name}\u200bᵀ" if named else "", role, DOWN)
            for each, name, role in zip(drawn, "qkv", ("query", "key", "value"), strict=True)
        ]
        if not named:  # no room at the arrows
            made.append(text("\n".join(f"{name.upper()} = X W_{name}\u200bᵀ" for name in "qkv")).right_of(x, 14))
        return Group(drawn), [_cut(each) for each in drawn], [x, *made]

    def head(number: int, named: bool) -> tuple[Group, Part]:
        """Return the frame of one head with all that is in it, and its output."""
        sign = NUMBERS[number]
        parts = [
            matrix(each[number], role, f"{name}{sign}", highlight=LAST if name == "Q" else None)
            for each, role, name in ((query, "query", "Q"), (key, "key", "K"), (value, "value", "V"))
        ]
        q, k, v = parts
        three = beside(q, k, v, gap=18)
        a = matrix(weights[number], "weight", f"A{sign}", TOKENS if named else (), TOKENS, highlight=LAST)
        a.below(three, 34)
        a.move(three.bounds[0] - a.bounds[0], 0)
        y = matrix(found[number], "value", f"Y{sign}", highlight=LAST).right_of(a, 16)
        y.move(max(0.0, v.middle[0] - y.middle[0]), 0)
        arrows = [
            arrow(q, a, role="query", sides=DOWN),
            arrow(k, a, role="key", sides=DOWN),
            arrow(a, y, role="weight"),
            arrow(v, y, role="value", sides=DOWN),
        ]
        inside = Group([*parts, a, y, *arrows])
        first = 1 + number * Q.shape[1] // HEADS
        return Group([frame([inside], f"head {number + 1}: columns {first} and {first + 1}", 10), inside]), y

    def last(gap: float, narrow: bool) -> tuple[Group, Part, Part]:
        """Return [Y₁ Y₂] × W_oᵀ = Y; the concatenation; and the output."""
        both = matrix(joined, "value", "[Y₁ Y₂]", () if narrow else TOKENS, highlight=LAST)
        w_o = matrix(W_O.T, title="W_o\u200bᵀ").right_of(both, gap)
        times = text("×").right_of(both, 0)
        times.move((both.body[2] + w_o.body[0]) / 2 - times.middle[0], 0)
        y = matrix(output, "value", "Y", highlight=LAST)
        equals = text("=")
        if narrow:
            y.below(both, 40)
            equals.move(y.body[0] - 20 - equals.middle[0], (y.body[1] + y.body[3]) / 2 - equals.middle[1])
        else:
            y.right_of(w_o, gap)
            equals.right_of(w_o, 0).move((w_o.body[2] + y.body[0]) / 2 - equals.width / 2 - w_o.bounds[2], 0)
        left, top, right, bottom = w_o.body
        column_ = Part(CELL, bottom - top, rectangle(0, 0, CELL, bottom - top, "ink", 0, 1, 2.5, 3))
        column_.move(right - CELL, top)
        across = Part(right - left, 0, f'<path class="line" d="M0 0H{right - left}" style="{CUT}"/>')
        across.move(left, (top + bottom) / 2)
        return Group([both, _cut(both), times, w_o, across, column_, equals, y]), both, y

    def parts(narrow: bool) -> list[Part | Arrow]:
        three, cuts, before = whole(6 if narrow else 30, named=not narrow)
        (one, first), (other, second) = (head(number, named=number == 0 and not narrow) for number in range(HEADS))
        end, both, _ = last(28 if narrow else 34, narrow)
        heads = column(one, other, gap=34) if narrow else beside(one, other, gap=8)
        top = Group([three, *cuts, *before])
        top.move(0, heads.bounds[1] - 46 - top.bounds[3])
        top.move(heads.middle[0] - three.middle[0], 0)
        left, right = three.parts[0].body[0], three.parts[-1].body[2]
        bracket = f'<path class="line" d="M0 0V6H{right - left}V0" style="{BRACKET}"/>'
        around = Part(right - left, 6, bracket)  # all three are split
        around.move(left, three.bounds[3] + 3)
        end.below(heads, 50)
        if narrow:
            end.move(heads.bounds[0] - end.bounds[0], 0)
        drawn: list[Part | Arrow] = [*top.parts, around, one, other, end]
        if narrow:
            note = text(f"rows of all: {', '.join(TOKENS)}").above(top, 10)
            under = Part(0, 0).move(both.middle[0], heads.bounds[3])
            drawn += [note, arrow(around, one, "split", sides=DOWN)]
            drawn += [under, arrow(under, both, "concatenate Y₁ and Y₂", "value", DOWN)]
        else:
            drawn += [arrow(around, one, "split", sides=DOWN), arrow(around, other, "split", sides=DOWN)]
            drawn += [arrow(first, both, "", "value", DOWN), arrow(second, both, "concatenate", "value", DOWN)]
        return drawn

    return Diagram(
        "Multi-head attention, step by step, with two heads",
        "X, a row of four numbers for each of the four tokens, is projected to Q, K and V, each 4 by 4. They are cut "
        "into two halves of two columns. Head 1 gets the columns 1 and 2 of all three, head 2 the columns 3 and 4. "
        "Each head has its own 4 by 4 weights A and its own output, 4 by 2. The two outputs side by side are 4 by 4. "
        "Multiplied by the transpose of W_o, which is drawn, they are the output Y. The last row is framed: “itself” "
        f"reads “cat” with head 1 (weight {weights[0, LAST, 1]:.2f}) and “sees” with head 2 (weight "
        f"{weights[1, LAST, 2]:.2f}).",
        parts(narrow=False),
        narrow=parts(narrow=True),
    )


def right_and_wrong_halves() -> Diagram:
    """Draw Chapter 6: which words each of two heads reads, after the right split and after the wrong one.

    >>> print(right_and_wrong_halves().description[-73:])
    Head 1 reads the, the, cat and cat; head 2 sees, sees, itself and itself.
    """
    time, d_model = Q.shape
    places = torch.arange(time * d_model).reshape(time, d_model)  # (time, d_model): each number's own place
    splits = {"split": split_heads(places, HEADS), "view": places.view(HEADS, time, -1)}  # (head, position, d_head)

    def panel(name: str, verdict: str) -> Group:
        """Return the vectors, cut into halves in the shade of their head, and below what each head reads."""
        split = splits[name]
        owner = torch.empty(time * d_model, dtype=torch.long)  # the head that gets each number
        for head, own in enumerate(split):
            owner[own.flatten()] = head
        halves = owner.reshape(time, HEADS, -1)[..., 0].tolist()  # (time, half): both numbers have the same head
        numbers = [[" ".join(f"{entry:g}" for entry in half) for half in row.chunk(HEADS)] for row in Q]  # (time, half)
        table = pieces(halves, numbers)
        words = [
            text(token).left_of(table, 8).move(0, (row - (time - 1) / 2) * CELL) for row, token in enumerate(TOKENS)
        ]
        strips, titles = [], []
        for head, own in enumerate(split):
            read = [TOKENS[first // d_model] for first in own[:, 0].tolist()]
            strips.append(pieces([[head] * time], [read]).below(strips[-1] if strips else table, 10 if strips else 54))
            titles.append(text(f"head {head + 1} reads").left_of(strips[-1], 8))
        positions = [
            text(f"{1 + place}").above(strips[0], 2).move((place - (time - 1) / 2) * PIECE, 0) for place in range(time)
        ]
        label = text("position").above(strips[0], 2)
        label.move(titles[0].bounds[2] - label.bounds[2], 0)
        title = text(verdict, strong=True).above(table, 12)
        return Group([title, table, *words, *strips, *titles, *positions, label])

    def panels() -> tuple[Group, Group]:
        return (
            panel("split", "✓ right split: each head\ngets a half of every word"),
            panel("view", "✗ wrong split: each head\ngets two whole words"),
        )

    left, right = panels()
    right.right_of(left, 30)
    above, below = panels()
    below.below(above, 40)
    listed = {
        name: "; ".join(
            f"{'Head' if head == 0 else 'head'} {head + 1}{' reads' if head == 0 else ''} "
            + ", ".join(TOKENS[first // d_model] for first in own[:-1, 0].tolist())
            + f" and {TOKENS[own[-1, 0] // d_model]}"
            for head, own in enumerate(split)
        )
        for name, split in splits.items()
    }
    return Diagram(
        "What two heads read after the right split, and after the wrong one",
        "Two tables with the four words in rows, each vector in two halves of two numbers, in the shade of the head "
        "that gets them. Below, for each head, the words that stand at its positions 1 to 4. Left, the right split: "
        f"the left halves are head 1's, the right halves head 2's. {listed['split']}. Right, the wrong split: the "
        f"upper two rows are head 1's, the lower two head 2's. {listed['view']}.",
        [left, right],
        narrow=[above, below],
    )


def _cut(drawn: Part) -> Part:
    """Return the line between the columns of two heads, where the matrix stands now."""
    left, top, right, bottom = drawn.body
    line = f'<path class="line" d="M0 0V{bottom - top}" style="{CUT}"/>'
    return Part(0, bottom - top, line).move((left + right) / 2, top)
