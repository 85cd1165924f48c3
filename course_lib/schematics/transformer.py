"""Encoder and decoder, whole; how the decoder reads the memory, step by step; and what the decoder is given."""

from course_lib.attention import scaled_dot_product_attention
from course_lib.data.running_example import MEMORY, SOURCE_TOKENS, TOKENS, W_K, W_V, Q, X
from course_lib.diagrams import Arrow, Diagram, Group, Part, arrow, beside, box, frame, matrix, shape_of, stack, text

START, END = "<start>", "<end>"
DOWN = ("bottom", "top")


def encoder_and_decoder() -> Diagram:
    """Draw Chapter 9: encoder and decoder as in Vaswani et al. (2017), normalised after each sum, without dropout.

    >>> "× 6" in encoder_and_decoder().svg()
    True
    """

    n, m, d = len(SOURCE_TOKENS), len(TOKENS) + 1, X.shape[1]  # source tokens, positions of the target, d_model

    def tower(tokens: str, length: int, sublayers: list[tuple[str, str]], size: dict[str, float]) -> Group:
        """Return tokens, embedding, sublayers, each followed by its sum; arrows upward, and around each sublayer."""
        parts = [text(tokens), box(f"embedding\n+ positions\n{length} × {d}", width=size["width"])]
        for label, role in sublayers:
            parts += [box(label, role, size["width"]), box("add & norm", width=size["width"])]
        stack(*parts[:2])
        parts[2].above(parts[1], size["space"] + 14)
        stack(*parts[2:])
        branch = _dot().below(parts[2], size["space"] / 2)  # inside of the frame: each of the six blocks has it
        labels = {4: ("Q", "query")} if len(sublayers) == 3 else {}  # into the cross-attention
        upward = [arrow(parts[n - 1], parts[n], *labels.get(n, ())) for n in range(1, len(parts))]
        around = [
            arrow(parts[2 * n + 1] if n else branch, parts[2 * n + 3], sides=(side, side), reach=size["reach"])
            for n, side in zip(range(len(sublayers)), ("left", "right", "left"), strict=False)
        ]
        return Group([*parts, branch, *upward, *around])

    def arrangement(source_text: str, target_text: str, output_text: str, **size: float) -> list[Part | Arrow]:
        """Return all parts: boxes `width` wide, lines around a sublayer `reach` and frames `space` outside of them."""
        attention, last = ("multi-head\nself-attention", "query"), ("feed-forward", "plain")
        masked = ("masked\nmulti-head\nself-attention", "query")
        across = (f"multi-head\ncross-attention\n{m} × {n}", "memory")
        encoder = tower(source_text, n, [attention, last], size)
        decoder = tower(target_text, m, [masked, across, last], size)
        decoder.move(encoder.bounds[2] + size["gap"] - decoder.bounds[0], encoder.bounds[3] - decoder.bounds[3])
        source, *_, encoded = encoder.parts[:6]
        target, _, _, _, reads, *_, decoded = decoder.parts[:8]
        memory = box(f"memory Z\n{shape_of(MEMORY)}", "memory", size["width"] - 22).above(encoded, size["space"] + 44)
        output = box("linear", width=size["width"]).above(decoded, size["space"] + 44)
        probabilities = box(f"softmax\n{m} × vocab", width=size["width"])
        return [
            frame(encoder.parts[2:6], "× 6", size["space"]),
            frame(decoder.parts[2:8], "× 6", size["space"]),
            encoder,
            decoder,
            text("encoder", strong=True).below(source, 4),
            text("decoder", strong=True).below(target, 4),
            memory,
            text("K, V", "memory", strong=True).right_of(memory, 5).move(0, -14),
            text("arrow around a layer:\nresidual connection").above(memory, 60),
            stack(output, probabilities, text(output_text)),
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
            width=122,
            reach=11,
            space=19,
            gap=22,
        ),
    )


def cross_attention_step_by_step() -> Diagram:
    """Draw Chapter 9: the four vectors of the target read the three of the memory; the row of "cat" is framed.

    >>> print(cross_attention_step_by_step().description[-64:])
    “cat” gives 0.58 of its weight to “videt”, the source of “sees”.
    """
    key, value = MEMORY @ W_K.T, MEMORY @ W_V.T  # (source, d_key), (source, d_value)
    output, weights = scaled_dot_product_attention(Q, key, value)  # (time, d_value), (time, source)
    cat, videt = TOKENS.index("cat"), SOURCE_TOKENS.index("videt")

    def parts() -> dict[str, Part]:
        """Return all matrices; each row has the name of its token."""
        return {
            "x": matrix(X, title="X", rows=TOKENS, highlight=cat),
            "z": matrix(MEMORY, "memory", "Z", rows=SOURCE_TOKENS),
            "q": matrix(Q, "query", "Q", rows=TOKENS, highlight=cat),
            "k": matrix(key, "key", "K", rows=SOURCE_TOKENS),
            "v": matrix(value, "value", "V", rows=SOURCE_TOKENS),
            "s": matrix(Q @ key.T, "weight", "Q Kᵀ", TOKENS, SOURCE_TOKENS, highlight=cat),
            "t": matrix(Q @ key.T / 2, "weight", "Q Kᵀ / 2", TOKENS, highlight=cat),  # columns as before and after
            "a": matrix(weights, "weight", "A", TOKENS, SOURCE_TOKENS, highlight=cat),
            "y": matrix(output, "value", "Y = A V", TOKENS, highlight=cat),
        }

    def finish(x, z, q, k, v, s, t, a, y, narrow: bool) -> list[Part | Arrow]:
        """Return all matrices and the arrows between them; where it is `narrow`, V stands below K."""
        to_value = [arrow(z, v, "W_v", "value", DOWN)]
        if narrow:
            label = text("W_v", "value", strong=True).below(k, 22)
            label.move(k.bounds[2] - label.bounds[2], 0)
            to_value = [label, arrow(z, v, role="value", sides=("right", "right"), reach=4)]
        return [
            *(x, z, q, k, v, s, t, a, y),
            *to_value,
            arrow(x, q, "W_q", "query", DOWN),
            arrow(z, k, "W_k", "key", DOWN),
            arrow(q, s, role="query", sides=DOWN),
            arrow(k, s, role="key", sides=("bottom", "right") if narrow else DOWN),
            arrow(s, t, "÷ √4", "weight"),
            arrow(t, a, "softmax", "weight"),
            arrow(a, y, role="weight"),
            arrow(v, y, role="value", sides=("bottom" if narrow else "right", "right"), reach=6),
        ]

    wide, narrow = parts(), parts()
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
    for left, right in (("x", "z"), ("q", "k"), ("t", "v")):
        narrow[right].right_of(narrow[left], align="start")
        narrow[right].move(narrow["y"].bounds[0] + 338 - narrow[right].bounds[2], 0)
    for part in ("x", "q"):  # as far from Z and K as there is room
        narrow[part].move(narrow["y"].bounds[0] - narrow[part].bounds[0], 0)
    return Diagram(
        "Cross-attention, step by step: four target vectors read three rows of memory",
        "X has a row for each of four steps, named by the token that was just read. It becomes the queries Q. The "
        "memory Z has three rows, for feles, se and videt, and becomes the keys K and the values V. Q times K "
        "transposed is 4 by 3, a score for each query and key. Divided by the root of 4, and passed through a softmax "
        "by row, the scores become the weights A. A times V is the output, 4 by 4. The row of “cat” is framed: its "
        "scores 2, 2 and 4 become 1, 1 "
        f"and 2, and “cat” gives {weights[cat, videt]:.2f} of its weight to “videt”, the source of “sees”.",
        finish(**wide, narrow=False),
        narrow=finish(**narrow, narrow=True),
    )


def shift_right() -> Diagram:
    """Draw Chapter 9: the decoder's input is its target, shifted to the right by one, behind a start token."""
    words = (START, *TOKENS, END)

    def staircase(named: bool, gap: float) -> list[Part | Arrow]:
        """Return a row for each step, with its number in front, and what the frames mean."""
        rows, arrows = [], []
        for step in range(1, len(words)):
            inputs = [matrix([[word]]) for word in words[:step]]
            target = matrix([[words[step]]], highlight=0)
            row = beside(text(f"step {step}" if named else f"{step}"), *inputs, target, gap=gap)
            arrows.append(arrow(inputs[-1], target))
            if rows:
                row.below(rows[-1], 24, align="start")
                arrows.append(arrow(rows[-1].parts[-1], inputs[-1]))
            rows.append(row)
        legend = text("framed: the target of each step").below(Group(rows), 16)
        return [*rows, legend, *arrows]

    return Diagram(
        "Shifted to the right: inputs and targets of the decoder",
        "A staircase. In step 1 the decoder is given the start token and has to predict “the”. In each further step it "
        "is given what it had to predict in the step before, too: the start token and “the”, for “cat”, and so on, "
        "until it has to predict the end token. In training all steps are made at once, with a causal mask.",
        staircase(named=True, gap=15),
        narrow=staircase(named=False, gap=8),
    )


def _dot() -> Part:
    """Return the place where a line branches off; it has no size, so that the line begins at its middle."""
    return Part(0, 0, '<circle r="3" style="fill:var(--ink)"/>')
