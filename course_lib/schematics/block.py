"""The transformer block in both orders, with its numbers; and what four blocks leave of a difference."""

import torch

from course_lib.attention import scaled_dot_product_attention
from course_lib.data.running_example import TOKENS, W_K, W_O, W_Q, W_V, X
from course_lib.diagrams import Arrow, Diagram, Group, Part, arrow, beside, box, bracket, number, text
from course_lib.diagrams.matrices import CELL, SHADE
from course_lib.diagrams.svg import line_of_text, rectangle, short
from course_lib.multi_head import merge_heads, split_heads
from course_lib.normalisation import layer_norm_step_by_step

W_1 = torch.tensor([[1.0, 0, 0, -1], [0, 1, 1, 0], [0, 1, 0, 1], [0, 0, -1, 1]])  # (d_hidden, d_model)
W_2 = torch.tensor([[1.0, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0]])  # (d_model, d_hidden)
FOLLOWED = TOKENS.index("itself")
NAMES = {"norm": "layer norm", "attention": "self-attention", "feed_forward": "feed-forward"}
SIGNS = ("①", "②", "③", "④", "⑤", "⑥⑦", "⑧")  # the steps of the pencil, in pre-norm
CELL_OF_VECTOR, STEP = 50, 18  # pixels: width of an entry; between what stands above one another
VECTOR, LINE_AT, BRANCH = 4 * CELL_OF_VECTOR, 20, 42  # width of a vector; where the stream runs; where branches begin
UNIT, BLOCKS, ADDED = 26, 4, 0.5  # pixels for a length of 1; how many blocks; what a sublayer adds, in lengths
APART = 0.1  # how far a position is from the mean of all at first, in lengths


def _steps_of_both_orders() -> dict[str, list[tuple[str, torch.Tensor]]]:
    """Return, for "pre" and "post", what is done and what comes out of it, (token, d_model), from the input on.

    Attention has the two heads of Chapter 6; gains are 1 and biases 0.

    >>> [name for name, _ in _steps_of_both_orders()["post"]]
    ['input', 'attention', '+', 'norm', 'feed_forward', '+', 'norm']
    """

    def attention(vectors: torch.Tensor) -> torch.Tensor:
        query, key, value = (split_heads(vectors @ weight.T, heads=2) for weight in (W_Q, W_K, W_V))
        return merge_heads(scaled_dot_product_attention(query, key, value)[0]) @ W_O.T

    def feed_forward(vectors: torch.Tensor) -> torch.Tensor:
        return (vectors @ W_1.T).relu() @ W_2.T

    def norm(vectors: torch.Tensor) -> torch.Tensor:
        return layer_norm_step_by_step(vectors, torch.ones(4), torch.zeros(4))

    done = {}
    for order in ("pre", "post"):
        stream, steps = X, [("input", X)]
        for name, sublayer in (("attention", attention), ("feed_forward", feed_forward)):
            if order == "pre":
                steps.append(("norm", norm(stream)))
                steps.append((name, sublayer(steps[-1][1])))
                stream = stream + steps[-1][1]
                steps.append(("+", stream))
            else:
                steps.append((name, sublayer(stream)))
                steps.append(("+", stream + steps[-1][1]))
                stream = norm(steps[-1][1])
                steps.append(("norm", stream))
        done[order] = steps
    return done


def pre_and_post_norm() -> Diagram:
    """Draw Chapter 8: the block in both orders, with the vector of "itself" after every step.

    >>> drawn = pre_and_post_norm().svg()
    >>> drawn.count(">layer norm<"), drawn.count(">+<")
    (4, 4)
    """
    done = _steps_of_both_orders()

    def tower(order: str) -> Group:
        """Return a block, upward: the stream as one straight line at the left, with what stands on it; the branches.

        What stands on the residual stream has its colour: in post-norm the norms, too.
        """
        steps: list[tuple[Part, bool]] = []  # each box and each vector, and whether it stands on the stream
        notes: list[Part] = []
        height = 0.0
        for (name, vectors), sign in zip(done[order], SIGNS, strict=True):
            on_stream = name in ("input", "+") or (name == "norm" and order == "post")
            left, role = (0.0, "memory") if on_stream else (BRANCH, "plain")
            if name != "input":
                step = _plus() if name == "+" else box(NAMES[name], role, 130)
                middle = LINE_AT if name == "+" else left + (step.width if on_stream else VECTOR) / 2
                height -= step.height + STEP
                steps.append((step.move(middle - step.width / 2, height), on_stream))
            row = _vector(vectors[FOLLOWED], role)
            height -= row.height + (STEP if name != "input" else 0)
            steps.append((row.move(left, height), on_stream))
            if order == "pre":
                notes.append(text(sign).right_of(row, 4))
        drawn: list[Part | Arrow] = []
        last = steps[0][0]  # the last one on the stream so far
        for (one, from_stream), (other, to_stream) in zip(steps, steps[1:], strict=False):
            if to_stream:
                bottom, top = last.bounds[1], other.bounds[3]
                drawn.append(_stream(bottom - top).move(LINE_AT, top))
                last = other
            if from_stream and not to_stream:
                start = Part(0, 0).move(other.middle[0], one.bounds[1])
                drawn += [start, arrow(start, other, sides=("top", "bottom"))]
            elif not from_stream:
                drawn.append(arrow(one, other, sides=("top", "right" if to_stream else "bottom")))
        name = text(f"x of “{TOKENS[FOLLOWED]}”").below(steps[0][0], 4)
        whole = Group([name, *(part for part, _ in steps), *notes, *drawn])
        return Group([whole, text(f"{order}-norm", strong=True).above(steps[-1][0], 14)])

    def legend() -> list[Part]:
        swatch = Part(26, 16, rectangle(0, 0, 26, 16, "memory", 0.25, 0.8))
        return [swatch, text("on the residual stream\n(grey: on a branch)").right_of(swatch, 8)]

    def arrangement(side_by_side: bool) -> list[Part | Arrow]:
        """Return both towers with the legend below."""
        left, right = tower("pre"), tower("post")
        if side_by_side:
            right.right_of(left, 50)
            right.move(0, left.bounds[3] - right.bounds[3])  # both begin on one level
        else:
            right.below(left, 50)
        return [left, right, Group(legend()).below(Group([left, right]), 16)]

    def read_out(order: str) -> str:
        values = done[order][-1][1][FOLLOWED].tolist()
        return ", ".join(map(number, values[:-1])) + f" and {number(values[-1])}"

    return Diagram(
        "The transformer block with the norm before, and after, each sublayer",
        "Two towers, to be read from below. In each, the residual stream is a straight line upward from the vector of "
        "“itself”, 1, 0, 0 and 2. Two branches leave it, through self-attention and through feed-forward, and each "
        "ends in a plus sign on the line. Left, pre-norm: a layer norm begins each branch, and on the line stand only "
        f"sums. The output is {read_out('pre')}. Right, post-norm: a layer norm stands on the line after each plus "
        f"sign, so that the stream itself passes through it. The output is {read_out('post')}.",
        arrangement(side_by_side=True),
        narrow=arrangement(side_by_side=False),
    )


def residual_stream_of_four_blocks() -> Diagram:
    """Draw Chapter 8: which part of the stream still differs between positions, after each sublayer.

    Each sublayer adds the same vector to all positions, in the direction of their mean, and of the length `ADDED`.

    >>> residual_stream_of_four_blocks().description.split(". ")[-1]
    'In post-norm it is 6.7, 4.4 and so on, 0.4 at the end.'
    """
    after = range(2 * BLOCKS + 1)  # sublayers
    lengths = {"pre": [1 + ADDED * each for each in after], "post": [1.0 for _ in after]}
    first = {"pre": [1.0 for _ in after], "post": [(1 + ADDED) ** -each for each in after]}
    apart = {
        order: [APART * one / all_ for one, all_ in zip(first[order], lengths[order], strict=True)] for order in lengths
    }

    def lane(order: str, width: float, gap: float) -> Group:
        """Return a bar for the stream after each sublayer, with what added to it above and what is left below."""
        bars = []
        for position in after:
            length, part = lengths[order][position] * UNIT, first[order][position] * UNIT
            drawn = rectangle(0, 0, width, length, "memory", 0.08, 0.7)
            drawn += rectangle(0, length - part, width, part, "memory", 0.75, 0.9)
            bars.append(Part(width, length, drawn))
        row = beside(*bars, gap=gap)
        for one in bars:  # they stand on one line
            one.move(0, bars[0].bounds[3] - one.bounds[3])
        above, below = [], []
        for position, one in enumerate(bars):
            name = "+A" if position % 2 else "+FF"
            above.append(text(name if position else "x").above(one, 3))
            below.append(text(_percent(apart[order][position])).below(one, 3))
        brackets = [
            bracket(Group(below[2 * block + 1 : 2 * block + 3]), "bottom", f"block {block + 1}")
            for block in range(BLOCKS)
        ]
        drawn_lane = Group([row, *above, *below, *brackets])
        words = "no norm on the stream" if order == "pre" else "a norm after each sum"
        title = text(f"{order}-norm: {words}", strong=True).above(drawn_lane, 10, align="start")
        return Group([drawn_lane, title])

    def legend() -> Part:
        drawn, lines = (
            "",
            (
                (0.75, "what is left of the input x"),
                (0.08, "what the sublayers added"),
                (None, "number: the part that differs, in percent"),
            ),
        )
        for at, (shade, words) in enumerate(lines):
            drawn += rectangle(0, 22 * at + 2, 26, 16, "memory", shade, 0.9) if shade else ""
            drawn += line_of_text(34, 22 * at + 15, words, "start")
        return Part(34 + max(text(words).width for _, words in lines), 22 * len(lines), drawn)

    def arrangement(width: float, gap: float) -> list[Part | Arrow]:
        """Return both lanes, one above the other, and the legend."""
        above, below = lane("pre", width, gap), lane("post", width, gap)
        below.below(above, 28, align="start")
        return [above, below, legend().below(Group([above, below]), 16, align="start")]

    def ends(order: str) -> str:
        first, second, *_, last = map(_percent, apart[order][1:])
        return f"{first}, {second} and so on, {last} at the end"

    return Diagram(
        "The residual stream through four blocks, in pre-norm and in post-norm",
        "Two rows of nine bars: the length of the stream before four blocks and after each of their eight sublayers, "
        "A for attention and FF for feed-forward. A dark part of each bar is what is left of the input. The number "
        "below is the part that differs between positions, in percent. In pre-norm the bars grow and the dark part "
        f"stays as it is. The number is {ends('pre')}. In post-norm every bar is as long as the first, and the dark "
        f"part shrinks. In post-norm it is {ends('post')}.",
        arrangement(width=40, gap=24),
        narrow=arrangement(width=28, gap=9),
    )


def _percent(fraction: float) -> str:
    """Write a fraction in percent with one decimal, as narrow as a bar.

    >>> _percent(2 / 30)
    '6.7'
    """
    return f"{100 * fraction:.1f}"


def _vector(entries: torch.Tensor, role: str) -> Part:
    """Draw a vector as a row whose entries have one width in the whole drawing."""
    drawn, largest = "", float(entries.abs().max())
    for at, entry in enumerate(entries.tolist()):
        shade = 0.04 + SHADE * abs(entry) / largest
        drawn += rectangle(at * CELL_OF_VECTOR, 0, CELL_OF_VECTOR, CELL, role, shade, 0.55)
        drawn += line_of_text((at + 0.5) * CELL_OF_VECTOR, CELL / 2 + 5, number(entry))
    return Part(CELL_OF_VECTOR * len(entries), CELL, drawn)


def _stream(length: float) -> Part:
    """Draw a piece of the residual stream, upward."""
    line = f'<path class="line" d="M0 {short(length)}V7" style="stroke:var(--memory);stroke-width:4px"/>'
    return Part(0, length, line + '<polygon points="0,1 5,10 -5,10" style="fill:var(--memory)"/>')


def _plus() -> Part:
    return Part(24, 24, rectangle(0, 0, 24, 24, "memory", 0.12, 1, 1.6, 12) + line_of_text(12, 17, "+"))
