"""Encoder and decoder, whole, and what the decoder is given."""

from course_lib.data.running_example import MEMORY, SOURCE_TOKENS, TOKENS, X
from course_lib.diagrams import Arrow, Diagram, Group, Part, arrow, beside, box, frame, matrix, shape_of, stack, text


def encoder_and_decoder() -> Diagram:
    """Draw Chapter 9: encoder and decoder as in Vaswani et al. (2017), normalised after each sum, without dropout.

    >>> "× 6" in encoder_and_decoder().svg()
    True
    """

    def tower(tokens: str, shape: str, sublayers: list[tuple[str, str]], size: dict[str, float]) -> Group:
        """Return tokens, embedding, sublayers, each followed by its sum; arrows upward, and around each sublayer."""
        parts = [text(tokens), box(f"embedding\n+ positions\n{shape}", width=size["width"])]
        for label, role in sublayers:
            parts += [box(label, role, size["width"]), box("add & norm", width=size["width"])]
        stack(*parts[:2])
        parts[2].above(parts[1], size["space"] + 14)
        stack(*parts[2:])
        labels = {4: ("Q", "query")} if len(sublayers) == 3 else {}  # into the cross-attention
        upward = [arrow(parts[n - 1], parts[n], *labels.get(n, ())) for n in range(1, len(parts))]
        around = [
            arrow(parts[2 * n + 1], parts[2 * n + 3], sides=(side, side), reach=size["reach"])
            for n, side in zip(range(len(sublayers)), ("left", "right", "left"), strict=False)
        ]
        return Group([*parts, *upward, *around])

    def arrangement(**size: float) -> list[Part | Arrow]:
        """Return all parts: boxes `width` wide, lines around a sublayer `reach` and frames `space` outside of them."""
        attention, last = ("self-attention", "query"), ("feed-forward", "plain")
        layers = [("masked\nself-attention", "query"), ("cross-attention", "memory"), last]
        encoder = tower(" ".join(SOURCE_TOKENS), shape_of(MEMORY), [attention, last], size)
        decoder = tower(" ".join(("<start>", *TOKENS[:-1])), shape_of(X), layers, size)
        decoder.move(encoder.bounds[2] + size["gap"] - decoder.bounds[0], encoder.bounds[3] - decoder.bounds[3])
        source, *_, encoded = encoder.parts[:6]
        target, _, _, _, reads, *_, decoded = decoder.parts[:8]
        memory = box(f"memory Z\n{shape_of(MEMORY)}", "memory", size["width"] - 22).above(encoded, size["space"] + 44)
        output = box("linear", width=size["width"]).above(decoded, size["space"] + 44)
        probabilities = box(f"softmax\n{len(TOKENS)} × vocab", width=size["width"])
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
            stack(output, probabilities, text(" ".join(TOKENS))),
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
        arrangement(width=170, reach=20, space=36, gap=90),
        narrow=arrangement(width=122, reach=11, space=19, gap=22),
    )


def shift_right() -> Diagram:
    """Draw Chapter 9: the decoder's input is its target, shifted to the right by one, behind a start token."""
    words = ("<start>", *TOKENS)
    rows, arrows = [], []
    for step in range(1, len(words)):
        name = text(f"step {step}")
        inputs = [matrix([[word]]) for word in words[:step]]
        target = matrix([[words[step]]], highlight=0)
        row = beside(name, *inputs, target, gap=15)
        arrows.append(arrow(inputs[-1], target))
        if rows:
            row.below(rows[-1], 24, align="start")
            arrows.append(arrow(rows[-1].parts[-1], inputs[-1]))
        rows.append(row)
    legend = text("framed: the target of each step").below(Group(rows), 16)
    return Diagram(
        "Shifted to the right: inputs and targets of the decoder",
        "A staircase. In step 1 the decoder is given the start token and has to predict “the”. In each further step it "
        "is given what it had to predict in the step before, too: the start token and “the”, for “cat”, and so on. In "
        "training all steps are made at once, with a causal mask.",
        [*rows, legend, *arrows],
    )
