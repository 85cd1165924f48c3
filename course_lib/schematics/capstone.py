"""The captioner of Chapter 15: its parts, one step of it with numbers, and the split of which one is wrong."""

import torch

from course_lib.attention import scaled_dot_product_attention
from course_lib.data.image_example import FEATURE_NAMES, FEATURES, QUERY, TO_LOGITS, WORDS
from course_lib.diagrams import Arrow, Diagram, Group, Part, arrow, box, frame, matrix, shape_of, text
from course_lib.diagrams.matrices import CELL
from course_lib.diagrams.pieces import PIECE, pieces
from course_lib.models.caption_transformer import CaptionTransformer
from course_lib.multi_head import split_heads

CAPTION = ("red", "circle", "beside", "blue", "square")
NUMBERS = ("1", "2", "3", "4")  # of the locations
UP = ("top", "bottom")
DOWN = ("bottom", "top")
READ = ("<start>", *CAPTION)
HEADS = 4


def captioner_of_parts() -> Diagram:
    """Draw Chapter 15: the captioner whole, with a mark at each part that can be exchanged.

    >>> "◆ cross-attention" in captioner_of_parts().svg()
    True
    """
    model = CaptionTransformer(vocab_size=12)
    layers, d, words = model.configuration["layers"], model.d_model, len(CAPTION) + 1
    with torch.no_grad():
        logits, weights = model(torch.zeros(1, 3, 32, 32), torch.zeros(1, words, dtype=torch.long))
    n = weights.shape[2]

    def arrangement(width: float, gap: float, space: float, short: bool) -> list[Part | Arrow]:
        """Return all parts: sublayers `width` wide, `gap` pixels from the residual stream and from the memory."""
        embedding = box("embedding" if short else "embedding of each word")
        start = box("+").above(embedding, 30)
        positions = box("◆ sinusoidal\nencoding" if short else "◆ sinusoidal encoding").left_of(start, 18)
        stream, drawn, below = [embedding, start], [], positions
        heads = "causal self-\nattention:\n◆ split ◆ attend\n◆ merge"
        for name, role in (
            (heads if short else "causal self-attention:\n◆ split ◆ attend ◆ merge", "plain"),
            ("◆ cross-attention", "memory"),
            ("◆ feed-forward", "plain"),
        ):
            norm = box("◆ layer norm", width=width).above(below, 30 if below is positions else 20)
            norm.move(start.middle[0] - gap - width - norm.bounds[0], 0)
            sublayer = below = box(name, role, width).above(norm, 20)
            branch, total = _dot(), box("+")
            branch.move(start.middle[0], norm.middle[1])
            total.above(start, 0).move(0, sublayer.middle[1] - total.middle[1])
            drawn += [branch, norm, sublayer, total, arrow(stream[-1], total, sides=UP), arrow(branch, norm)]
            drawn += [arrow(norm, sublayer, sides=UP), arrow(sublayer, total, sides=("right", "left"))]
            stream.append(total)
            if role == "memory":
                memory = box(f"memory Z\n{n} × {d}", "memory").left_of(sublayer, 20 if short else gap + 14)
                reads = arrow(memory, sublayer, "" if short else "K, V", "memory", ("right", "left"))
        inside = [part for part in drawn if isinstance(part, Part)]
        block = frame(inside, f"× {layers}: decoder layer", space)
        last = box("◆ layer norm").above(stream[-1], space + 44)
        output = box(f"linear: logits\n{shape_of(logits[0])}").above(last, 20)
        decoding = box("next word:\ngreedy or\n◆ beam search").above(output, 20)
        read = ("<start>", *CAPTION)
        lines = (read[:2], read[2:4], read[4:]) if short else (read[:3], read[3:])
        given = text("\n".join([f"{words} words read:", *map(" ".join, lines), "(in training:", "◆ shift right)"]))
        given.below(embedding, 24)
        convolutions = box("CNN\n(Ch. 2)" if short else "CNN (Chapter 2)").below(memory, 34)
        picture = box("picture\n3×32×32" if short else "picture\n3 × 32 × 32").below(convolutions, 24)
        training = box("in training:\n◆ loss").left_of(output, 26)
        for part in (convolutions, picture) if short else ():
            part.move(memory.bounds[2] - part.bounds[2], 0)
        parts = [given, embedding, start, positions, last, output, decoding, memory, convolutions, picture]
        chain = [given, embedding, start], [stream[-1], last, output, decoding]
        upward = [arrow(one, next, sides=UP) for row in chain for one, next in zip(row, row[1:], strict=False)]
        arrows = [
            *upward,
            reads,
            arrow(positions, start, sides=("right", "left")),
            arrow(output, training),
            arrow(picture, convolutions, sides=UP),
            arrow(convolutions, memory, sides=UP),
        ]
        return [block, *drawn, *parts, training, *arrows]

    return Diagram(
        "The captioner, with a mark at each of the ten parts that can be exchanged",
        "Left, from below: a picture, 3 by 32 by 32, goes through a convolutional network, whose feature map becomes "
        f"the rows of the memory Z, {n} by {d}. Right, from below: the words read so far, in training the targets "
        f"shifted to the right, get an embedding and the sinusoidal encoding. Then come {layers} decoder layers. Each "
        "adds to the residual stream three times, always behind a layer norm: causal self-attention, which splits "
        "vectors into heads, attends, and merges the heads; cross-attention, which reads the memory; and a "
        "feed-forward layer. After a last layer norm a linear layer gives the logits. In training they go with the "
        "targets into the loss. In writing, greedy decoding or beam search takes the next word. Ten parts have the "
        "mark ◆: shift right, encoding, layer norm, splitting, attending, merging, cross-attention, feed-forward "
        "layer, loss and beam search.",
        arrangement(width=198, gap=56, space=14, short=False),
        narrow=arrangement(width=128, gap=36, space=7, short=True),
    )


def one_word_reads_the_picture() -> Diagram:
    """Draw Chapter 15: the vector of the word "beside" reads four locations, and what it reads is added to it.

    >>> "location 2 gets 0.46" in one_word_reads_the_picture().description
    True
    """
    x = QUERY.unsqueeze(0)  # (1, d)
    read, weights = scaled_dot_product_attention(x, FEATURES, FEATURES)  # (1, d), (1, location)
    scores = x @ FEATURES.T  # (1, location)
    logits = (x + read) @ TO_LOGITS[:, : x.shape[1]].T  # (1, word)
    word = WORDS[logits.argmax()]

    def parts() -> dict[str, Part]:
        return {
            "x": matrix(x, "query", "x: “beside”", columns=FEATURE_NAMES),
            "z": matrix(FEATURES, "memory", "Z: keys and values", NUMBERS, FEATURE_NAMES),
            "s": matrix(scores, "weight", "scores", columns=NUMBERS),
            "t": matrix(scores / x.shape[1] ** 0.5, "weight", "scores / 2", columns=NUMBERS),
            "a": matrix(weights, "weight", "weights", columns=NUMBERS),
            "y": matrix(read, "value", "read: weights · Z", columns=FEATURE_NAMES),
            "total": matrix(x + read, title="x + read", columns=FEATURE_NAMES),
            "u": matrix(logits, title="logits", columns=WORDS),
        }

    def finish(x, z, s, t, a, y, total, u, side: str) -> list[Part | Arrow]:
        """Place all below Z; return them with their arrows, of which those of x leave it on this side."""
        for before, after in ((z, s), (s, t), (t, a), (a, y), (y, total), (total, u)):
            after.below(before, 34)
        return [
            *(x, z, s, t, a, y, total, u),
            arrow(z, s, role="key", sides=DOWN),
            arrow(s, t, "÷ √4", "weight", DOWN),
            arrow(t, a, "softmax", "weight", DOWN),
            arrow(a, y, role="weight", sides=DOWN),
            arrow(y, total, "+", "value", DOWN),
            arrow(total, u, sides=DOWN),
            arrow(z, y, role="value", sides=("right", "right"), reach=10),
            arrow(x, s, role="query", sides=(side, "left"), reach=24),
            arrow(x, total, sides=(side, "left"), reach=24),
        ]

    wide, narrow = parts(), parts()
    wide["x"].left_of(wide["z"], 30)
    narrow["x"].above(narrow["z"], 22)
    narrow["x"].move(narrow["z"].body[0] - narrow["x"].body[0], 0)
    return Diagram(
        "One word reads the picture: cross-attention and the residual connection, with numbers",
        "The vector x of the word “beside”, 1, 1, 0, 1, is the query. The memory Z has a row for each of four "
        "locations: a red circle, a blue square and two empty ones. The scores are 2, 3, 0 and 1; divided by the root "
        f"of 4 and passed through a softmax, they become weights, and location 2 gets {weights[0, 1]:.2f}. The rows of "
        "Z, averaged with these weights, are what is read. It is added to x, and the logits "
        f"{', '.join(f'{each:.2f}' for each in logits[0])} of {', '.join(WORDS)} say that the next word is “{word}”.",
        finish(**wide, side="bottom"),
        narrow=finish(**narrow, side="left"),
    )


def right_and_wrong_split() -> Diagram:
    """Draw Chapter 15: the vectors of words cut into heads, and the `reshape` that cuts in reading order.

    >>> print(right_and_wrong_split().description[-76:])
    2, 4 and 5: the causal mask does not hide these later words from position 1.
    """
    time, width = len(READ), CaptionTransformer(vocab_size=12).d_model
    place = torch.arange(time * width).reshape(time, width)  # (time, width): each number's own place
    right = split_heads(place, HEADS)  # (head, position, d_head)
    wrong = place.reshape(HEADS, time, width // HEADS)  # (head, position, d_head)

    def first_position(split: torch.Tensor) -> list[int]:
        """Return, for each head, the word from which its position 1 comes, counted from 1."""
        return [1 + row for row in (split[:, 0, 0] // width).tolist()]

    def panel(split: torch.Tensor, verdict: str, above: bool) -> Group:
        """Return the table, cut this way, and below it what position 1 of each head is; heads named above or beside."""
        head, position = _owners(split)
        labels = [["1 ✗" if at == 1 < row else str(at) for at in of] for row, of in enumerate(position, start=1)]
        table = pieces(head, labels, [[at == 1 for at in of] for of in position])
        words = [text(word.strip("<>")) for word in READ]
        for row, word in enumerate(words):
            word.left_of(table, 8).move(0, (row - (time - 1) / 2) * CELL)
        names = [text(f"head {1 + each}") for each in range(HEADS)]
        for each, name in enumerate(names):
            if above:
                name.above(table, 2).move((each - (HEADS - 1) / 2) * PIECE, 0)
            else:  # level with its pieces of the last column
                rows = [row for row in range(time) if head[row][-1] == each]
                name.right_of(table, 6).move(0, (sum(rows) / len(rows) - (time - 1) / 2) * CELL)
        came_from = first_position(split)
        got = pieces([list(range(HEADS))], [[READ[word - 1].strip("<>") for word in came_from]]).below(table, 62)
        columns = [text(f"head {1 + each}") for each in range(HEADS)]
        for each, name in enumerate(columns):
            name.above(got, 2).move((each - (HEADS - 1) / 2) * PIECE, 0)
        label = text("position 1\ngets from").left_of(got, 8)
        title = text(verdict, strong=True).above(table, 32)
        drawn = [table, *words, *names, got, *columns, label, title]
        drawn.append(arrow(table, Group(columns), "framed pieces", sides=DOWN))
        later = [f"“{READ[word - 1]}”" for word in came_from if word > 1]
        says = "✓ its own word:\nposition 1 may read it"
        if later:
            says = f"✗ {', '.join(later[:-1])} and {later[-1]} come later:\nthe mask does not hide them"
        note = text(says).below(got, 28)
        signs = [each for each, word in enumerate(came_from) if word > 1 or not later]
        for each in signs:
            x = got.bounds[0] + (each + 0.5) * PIECE
            end, start = (Part(0, 0).move(x, y) for y in (got.bounds[3], note.bounds[1]))
            drawn += [start, end, arrow(start, end, sides=UP)]
        drawn.append(note)
        return Group(drawn)

    def panels() -> tuple[Group, Group]:
        return (
            panel(right, "✓ right: each head\ngets a strip of each word", above=True),
            panel(wrong, "✗ wrong reshape: the same\nnumbers in reading order", above=False),
        )

    size = width // HEADS
    below = f"one cell: {size} numbers of the vector of a word\n"
    below += "number: the position that gets the cell\n"
    below += "✗: for position 1, but from a later word"
    one, other = panels()
    other.right_of(one, 22).move(0, one.body[1] - other.body[1])
    both = Group([one, other])
    first, second = panels()
    second.below(first, 36)
    second.move(first.body[0] - second.body[0], 0)
    stacked = Group([first, second])
    *some, latest = [str(word) for word in first_position(wrong) if word > 1]
    return Diagram(
        "The right split into heads, and the reshape that cuts in reading order",
        f"Two tables with a row for each of {time} words, {', '.join(READ)}, and {HEADS} pieces of {size} "
        "numbers in a row. Each piece has the shade of its head and the number of the position for which this head "
        "takes it. Left, the right split: each head gets one column, a piece of every word, and the numbers in a row "
        "are all that of the word. Right, the wrong reshape: each head gets the same count of pieces in reading order, "
        f"a row and a half, numbered 1 to {time}. What position 1 gets is framed: left, four pieces of word 1; right, "
        f"pieces of word {first_position(wrong)[0]} and of words {', '.join(some)} and {latest}: the causal mask does "
        "not hide these later words from position 1.",
        [both, text(below).below(both, 16)],
        narrow=[stacked, text(below).below(stacked, 16)],
    )


def _owners(split: torch.Tensor) -> tuple[list[list[int]], list[list[int]]]:
    """Return of each piece (word, piece) of the vectors the head and the position, counted from 1, that get it."""
    heads, time, size = split.shape
    pieces = (split // size).amin(dim=-1)  # (head, position): which piece, in reading order
    assert torch.equal(pieces, (split // size).amax(dim=-1))  # no position gets parts of two pieces
    order = pieces.flatten().argsort().reshape(time, heads)  # (word, piece)
    return (order // time).tolist(), (order % time + 1).tolist()


def _dot() -> Part:
    """Return the place where a line branches off; it has no size, so that the line begins at its middle."""
    return Part(0, 0, '<circle r="3" style="fill:var(--ink)"/>')
