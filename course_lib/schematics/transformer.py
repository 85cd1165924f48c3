"""Encoder and decoder, whole; our block; how the memory is read; what the decoder is given; and what waits for what."""

from collections.abc import Sequence

from course_lib.attention import scaled_dot_product_attention
from course_lib.data.running_example import MEMORY, SOURCE_TOKENS, TOKENS, W_K, W_V, Q, X
from course_lib.diagrams import (
    Arrow,
    Diagram,
    Group,
    Part,
    arrow,
    beside,
    box,
    bracket,
    frame,
    matrix,
    shape_of,
    stack,
    text,
)
from course_lib.masks import causal_mask

START, END = "<start>", "<end>"
GIVEN, WRITTEN = (START, *TOKENS), (*TOKENS, END)  # what the decoder reads at each position, and what it has to write
DOWN = ("bottom", "top")


def encoder_and_decoder() -> Diagram:
    """Draw Chapter 9: encoder and decoder as in Vaswani et al. (2017), normalised after each sum, without dropout.

    >>> "× 6" in encoder_and_decoder().svg()
    True
    """

    n, m, d = len(SOURCE_TOKENS), len(TOKENS) + 1, X.shape[1]  # source tokens, positions of the target, d_model

    def beside_arrow(shape: str, part: Part, place: str) -> Part:
        """Return a shape, to the right of the arrow that leaves or meets a part in its middle."""
        words = text(shape, strong=True)
        getattr(words, place)(part, 5)
        return words.move(part.middle[0] + 10 - words.bounds[0], 0)

    def tower(tokens: str, length: int, sublayers: list[tuple[str, str]], size: dict[str, float]) -> Group:
        """Return tokens, embedding, sublayers, each followed by its sum; arrows upward, and around each sublayer."""
        parts = [text(tokens), box("embedding\n+ positions", width=size["width"])]
        for label, role in sublayers:
            parts += [box(label, role, size["width"]), box("add & norm", width=size["width"])]
        stack(*parts[:2])
        parts[2].above(parts[1], size["space"] + 30)
        stack(*parts[2:])
        branch = _dot().below(parts[2], size["space"] / 2)  # inside of the frame: each of the six blocks has it
        shape = beside_arrow(f"{length} × {d}", parts[1], "above")
        labels = {4: (f"Q {length} × {d}", "query")} if len(sublayers) == 3 else {}  # into the cross-attention
        upward = [arrow(parts[n - 1], parts[n], *labels.get(n, ())) for n in range(1, len(parts))]
        around = [
            arrow(parts[2 * n + 1] if n else branch, parts[2 * n + 3], sides=(side, side), reach=size["reach"])
            for n, side in zip(range(len(sublayers)), ("left", "right", "left"), strict=False)
        ]
        return Group([*parts, branch, shape, *upward, *around])

    def arrangement(source_text: str, target_text: str, output_text: str, **size: float) -> list[Part | Arrow]:
        """Return all parts: boxes `width` wide, lines around a sublayer `reach` and frames `space` outside of them."""
        attention, last = ("multi-head\nself-attention", "plain"), ("feed-forward", "plain")
        masked = ("masked\nmulti-head\nself-attention", "plain")
        across = (f"multi-head\ncross-attention\nweights {m} × {n}", "memory")
        encoder = tower(source_text, n, [attention, last], size)
        decoder = tower(target_text, m, [masked, across, last], size)
        decoder.move(encoder.bounds[2] + size["gap"] - decoder.bounds[0], encoder.bounds[3] - decoder.bounds[3])
        source, *_, encoded = encoder.parts[:6]
        target, _, _, _, reads, *_, decoded = decoder.parts[:8]
        memory = box("memory Z", "memory", size["width"] - 22).above(encoded, size["space"] + 52)
        output = box("linear", width=size["width"]).above(decoded, size["space"] + 52)
        probabilities = box("softmax", width=size["width"])
        return [
            frame(encoder.parts[2:6], "× 6", size["space"]),
            frame(decoder.parts[2:8], "× 6", size["space"]),
            encoder,
            decoder,
            text("encoder", strong=True).below(source, 4),
            text("decoder", strong=True).below(target, 4),
            memory,
            text(f"K, V, each\n{shape_of(MEMORY)}", "memory", strong=True).above(memory, 6),
            text("arrow around a layer:\nresidual connection").above(memory, 60),
            stack(output, probabilities, text(output_text)),
            beside_arrow(shape_of(MEMORY), memory, "below"),
            beside_arrow(f"{m} × {d}", output, "below"),
            beside_arrow(f"{m} × vocab", output, "above"),
            arrow(encoded, memory),
            arrow(decoded, output),
            arrow(memory, reads, role="memory", sides=("right", "left")),
        ]

    return Diagram(
        "The transformer of 2017: encoder and decoder",
        "Left, the encoder. From below: the source tokens, an embedding with positions, then six blocks of "
        "self-attention and a feed-forward network. Around each of these runs a residual connection, and the sum is "
        "normalised. What comes out is the memory. Right, the decoder: the tokens written so far, an embedding with "
        "positions, then six blocks of masked self-attention, cross-attention, whose keys and values come from the "
        "memory, and a feed-forward network. A linear layer and a softmax give the probabilities of the next token at "
        "each position.",
        arrangement(
            " ".join(SOURCE_TOKENS),
            " ".join((START, *TOKENS)),
            " ".join((*TOKENS, END)),
            width=170,
            reach=20,
            space=36,
            gap=90,
        ),
        narrow=arrangement(
            " ".join(SOURCE_TOKENS[:2]) + "\n" + SOURCE_TOKENS[2],
            " ".join((START, *TOKENS[:2])) + "\n" + " ".join(TOKENS[2:]),
            " ".join(TOKENS[:3]) + "\n" + " ".join((*TOKENS[3:], END)),
            width=119,
            reach=11,
            space=19,
            gap=18,
        ),
    )


def cross_attention_step_by_step() -> Diagram:
    """Draw Chapter 9: the four vectors of the target read the three of the memory; the row "cat" is framed.

    >>> print(cross_attention_step_by_step().description[-65:])
    to write “sees”, the decoder gives 0.58 of the weight to “videt”.
    """
    key, value = MEMORY @ W_K.T, MEMORY @ W_V.T  # (source, d_key), (source, d_value)
    output, weights = scaled_dot_product_attention(Q, key, value)  # (time, d_value), (time, source)
    cat, videt = TOKENS.index("cat"), SOURCE_TOKENS.index("videt")

    def parts(**names: Sequence[str]) -> dict[str, Part]:
        """Return all matrices; a row has the name of the token read; `names` are those of the divided scores."""
        return {
            "x": matrix(X, title="X", rows=TOKENS, highlight=cat),
            "z": matrix(MEMORY, "memory", "Z", rows=SOURCE_TOKENS),
            "q": matrix(Q, "query", "Q", rows=TOKENS, highlight=cat),
            "k": matrix(key, "key", "K", rows=SOURCE_TOKENS),
            "v": matrix(value, "value", "V", rows=SOURCE_TOKENS),
            "s": matrix(Q @ key.T, "weight", "Q Kᵀ", TOKENS, SOURCE_TOKENS, highlight=cat),
            "t": matrix(Q @ key.T / 2, "weight", "Q Kᵀ / 2", highlight=cat, **names),
            "a": matrix(weights, "weight", "A", TOKENS, SOURCE_TOKENS, highlight=cat),
            "y": matrix(output, "value", "Y = A V", TOKENS, highlight=cat),
        }

    def finish(x, z, q, k, v, s, t, a, y, narrow: bool) -> list[Part | Arrow]:
        """Return all matrices and the arrows between them; where it is `narrow`, V stands below K."""
        if narrow:
            all_rows = v
            label = text("W_v", "value", strong=True).below(k, 22)
            label.move(k.bounds[2] - label.bounds[2], 0)
            of_values = [label, arrow(z, v, role="value", sides=("right", "right"), reach=4)]
        else:
            all_rows = bracket(v, "right", "")
            of_values = [all_rows, arrow(z, v, "W_v", "value", DOWN)]
        return [
            *(x, z, q, k, v, s, t, a, y),
            *of_values,
            arrow(x, q, "W_q", "query", DOWN),
            arrow(z, k, "W_k", "key", DOWN),
            arrow(q, s, role="query", sides=DOWN),
            arrow(k, s, role="key", sides=("bottom", "right") if narrow else DOWN),
            arrow(s, t, "÷ √4", "weight"),
            arrow(t, a, "softmax", "weight"),
            arrow(a, y, role="weight"),
            arrow(all_rows, y, role="value", sides=("bottom" if narrow else "right", "right"), reach=6),
        ]

    # Beside each other, the three matrices share their rows' names; below each other, those of their columns.
    wide, narrow = parts(columns=SOURCE_TOKENS), parts(rows=TOKENS)
    beside(wide["s"], wide["t"], gap=44)
    wide["a"].right_of(wide["t"], 74)
    wide["y"].below(wide["a"], 40)
    wide["q"].above(wide["s"], 44)
    wide["x"].above(wide["q"], 44)
    for column, above in (("t", "k"), ("a", "v")):
        wide[above].right_of(wide["q"])
        wide[above].move(wide[column].middle[0] - wide[above].middle[0], 0)
    wide["z"].above(Group([wide["k"], wide["v"]]), 44)
    wide["z"].move(0, wide["x"].body[1] - wide["z"].body[1])
    for before, after, gap in (("x", "q", 44), ("q", "s", 44), ("s", "t", 46), ("t", "a", 46), ("a", "y", 40)):
        narrow[after].below(narrow[before], gap)
    first = narrow["s"].body[0] - 54
    for left, right in (("x", "z"), ("q", "k"), ("t", "v")):
        narrow[right].right_of(narrow[left], align="start")
        narrow[right].move(first + 337 - narrow[right].bounds[2], 0)
    for part in ("x", "q", "y"):  # as far from Z, K and the arrow of the values as there is room
        narrow[part].move(first - narrow[part].bounds[0], 0)
    return Diagram(
        "Cross-attention, step by step: four target vectors read three rows of memory",
        "X has a row for each of the four tokens that were read: the, cat, sees, itself. It becomes the queries Q. "
        "The memory Z has three rows, for feles, se and videt, and becomes the keys K and the values V. Q times K "
        "transposed is 4 by 3, a score for each query and key. Divided by the root of 4, and passed through a softmax "
        "by row, the scores become the weights A. A times V is the output, 4 by 4. In all matrices of the target, a "
        "row has the name of the token just read. The row “cat”, which writes “sees”, is framed: its scores 2, 2 and "
        "4 become 1, 1 and 2, and "
        f"to write “sees”, the decoder gives {weights[cat, videt]:.2f} of the weight to “videt”.",
        finish(**wide, narrow=False),
        narrow=finish(**narrow, narrow=True),
    )


def decoder_block_before_norm() -> Diagram:
    """Draw Chapter 9: the block of our decoder, normalised before each sublayer, with the names that its code has."""
    sublayers = ("attention", "cross_attention", "feed_forward")
    roles = {"cross_attention": "memory"}

    def arrangement(gap: float, width: float, wraps: bool) -> list[Part | Arrow]:
        """Return the residual stream, upward, and beside it the branches, in boxes of one width; a name may wrap."""
        parts, drawn = [text("x", strong=True)], []
        for name in sublayers:
            branch, total = _dot(), box("+")
            branch.above(parts[-1], 32)
            total.above(branch, 54 if wraps else 46)
            norm = box(f"{name}\n_norm" if wraps and name == "cross_attention" else f"{name}_norm", width=width)
            sublayer = box(name, roles.get(name, "plain"), width)
            norm.right_of(branch, gap)
            sublayer.right_of(total, gap)
            norm.move(sublayer.middle[0] - norm.middle[0], 0)
            drawn += [arrow(parts[-1], total), arrow(branch, norm), arrow(norm, sublayer, sides=("top", "bottom"))]
            drawn += [arrow(sublayer, total, sides=("left", "right"))]
            if name == "attention":
                drawn += [text("causal\nmask").right_of(sublayer, 10)]
            if name == "cross_attention":
                memory = box("memory", "memory").right_of(sublayer, gap)
                drawn += [memory, arrow(memory, sublayer, "K, V" if not wraps else "", "memory", ("left", "right"))]
            parts += [total]
            drawn += [branch, norm, sublayer]
        result = text("x, for the next block", strong=True).above(parts[-1], 30, align="start")
        result.move(parts[-1].middle[0] - result.bounds[0] - 5, 0)
        top = Part(0, 0).above(parts[-1], 30)
        return [*parts, result, top, *drawn, arrow(parts[-1], top)]

    return Diagram(
        "The block of our decoder: a norm before each sublayer",
        "From below to the top runs the residual stream x. Three times a branch leaves it to the right, goes through a "
        "normalisation and a sublayer, and is added to the stream again. The sublayers are attention, which is causal, "
        "cross_attention, whose keys and values come from the memory, and feed_forward. No norm stands on the stream.",
        arrangement(gap=60, width=176, wraps=False),
        narrow=arrangement(gap=24, width=134, wraps=True),
    )


def shift_right() -> Diagram:
    """Draw Chapter 9: the decoder's input is its target, shifted to the right by one, behind a start token; the mask.

    >>> shift_right().svg().count("✓")  # the five positions may read 1, 2, 3, 4 and 5 given tokens
    15
    """
    mask = causal_mask(len(GIVEN))  # (position, given)
    allowed = [["✓" if entry else "" for entry in row] for row in mask.tolist()]

    def arrangement(width: float, gap: float, named: bool) -> list[Part | Arrow]:
        """Return two rows of boxes, an arrow for each token, and below them the mask."""
        given, written = (
            [box(word, width=max(width, text(other).width + 20)) for word, other in zip(words, others, strict=True)]
            for words, others in ((GIVEN, WRITTEN), (WRITTEN, GIVEN))
        )
        above, below = beside(*given, gap=gap), beside(*written, gap=gap)
        below.below(above, 58)
        for one, other in zip(given, written, strict=True):
            other.move(one.middle[0] - other.middle[0], 0)
        labels = [text("given", strong=True), text("to predict", strong=True)]
        for label, row, name in zip(labels, (given, written), ("above", "below"), strict=True):
            if named:
                label.left_of(row[0], 12)
            else:
                getattr(label, name)(row[0], 4, align="start")
        arrows = [arrow(one, other, sides=("top", "bottom")) for one, other in zip(written, given[1:], strict=False)]
        shown = matrix(allowed, "weight", "causal mask", GIVEN, GIVEN if named else (), mask)
        shown.below(Group([above, below, *labels]), 30)
        answers = matrix([[word] for word in WRITTEN], columns=["to predict"]).right_of(shown, 18)
        answers.move(0, shown.bounds[3] - answers.bounds[3])
        return [above, below, *labels, shown, answers, *arrows]

    return Diagram(
        "Shifted to the right: inputs and targets of the decoder, and its causal mask",
        "Two rows of five tokens. Given: the start token, the, cat, sees, itself. To predict: the, cat, sees, itself, "
        "the end token. An arrow leads from each token that is to be predicted to the same token among the given ones, "
        "one place further to the right. Below stands the causal mask, 5 by 5, a row and a column for each given "
        "token: the first row has one check mark, the second two, the last five; the rest is hatched. Beside each row "
        "stands the token that it has to predict: the row “the” predicts “cat”.",
        arrangement(width=84, gap=10, named=True),
        narrow=arrangement(width=0, gap=3, named=False),
    )


def greedy_decoding_step_by_step() -> Diagram:
    """Draw Chapter 9: what the decoder has written becomes its input, token by token."""
    words = (*GIVEN, END)

    def staircase(named: bool, gap: float) -> list[Part | Arrow]:
        """Return a row for each token that is written, with its number in front, and what the frames mean."""
        rows, arrows = [], []
        for position in range(1, len(words)):
            inputs = [matrix([[word]]) for word in words[:position]]
            written = matrix([[words[position]]], highlight=0)
            row = beside(text(f"position {position}" if named else f"{position}"), *inputs, written, gap=gap)
            arrows.append(arrow(inputs[-1], written))
            if rows:
                row.below(rows[-1], 24, align="start")
                arrows.append(arrow(rows[-1].parts[-1], inputs[-1]))
            rows.append(row)
        legend = text("framed: what the network writes").below(Group(rows), 16)
        return [*rows, legend, *arrows]

    return Diagram(
        "Greedy decoding: what is written is read next",
        "A staircase. At position 1 the decoder is given the start token and writes “the”. At each further position it "
        "is given what it wrote before, too: an arrow leads down from each written token to the input of the next row. "
        "So the rows are made one after the other, until the network writes the end token.",
        staircase(named=True, gap=13),
        narrow=staircase(named=False, gap=8),
    )


def chain_and_layers() -> Diagram:
    """Draw Chapter 9: which of four tokens' vectors waits for which, in a recurrent network and in two layers."""

    def chain() -> Group:
        states = [box(str(number), width=44) for number in range(1, 5)]
        row = beside(*states, gap=26)
        words = _tokens_below(states, 26)
        arrows = [
            arrow(one, other)
            for one, other in [*zip(states, states[1:], strict=False), *zip(words, states, strict=True)]
        ]
        return Group([row, *words, *arrows])

    def layers() -> Group:
        first, second = ([box(str(number), width=44) for _ in range(4)] for number in (1, 2))
        below, above = beside(*first, gap=26), beside(*second, gap=26)
        above.above(below, 64)
        words = _tokens_below(first, 64)
        arrows = [
            arrow(read[j], reads[i], sides=("top", "bottom"))
            for read, reads in ((words, first), (first, second))
            for i in range(len(reads))
            for j in range(i + 1)
        ]
        return Group([below, above, *words, *arrows])

    def arrangement(side_by_side: bool) -> list[Part | Arrow]:
        """Return both graphs with their titles."""
        left, right = chain(), layers()
        if side_by_side:
            right.right_of(left, 70)
            right.move(0, left.bounds[3] - right.bounds[3])
        else:
            right.below(left, 80)
        titles = [text("RNN: 4 states, one after the other", strong=True).above(left, 12)]
        titles += [text("2 layers of causal self-attention", strong=True).above(right, 12)]
        return [left, right, *titles]

    return Diagram(
        "What waits for what: a recurrent network and two layers of self-attention",
        "Left, a recurrent network with four tokens: four states in a row, numbered 1 to 4, with an arrow from each to "
        "the next. Right, two layers of causal self-attention over the same four tokens: the four vectors of the first "
        "layer all have the number 1, those of the second all have the number 2, and arrows lead to each vector from "
        "what is below it at its own and earlier positions: tokens below the first layer, the first below the second.",
        arrangement(side_by_side=True),
        narrow=arrangement(side_by_side=False),
    )


def _tokens_below(boxes: list[Part], gap: float) -> list[Part]:
    """Return four tokens, each below one of the boxes."""
    return [text(word).below(each, gap) for word, each in zip(TOKENS, boxes, strict=True)]


def _dot() -> Part:
    """Return the place where a line branches off; it has no size, so that the line begins at its middle."""
    return Part(0, 0, '<circle r="3" style="fill:var(--ink)"/>')
