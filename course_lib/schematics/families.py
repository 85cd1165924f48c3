"""The masks of three families of models, what a mask does to one row of weights, and an image as a sequence."""

import torch

from course_lib.data import patch_example as image
from course_lib.data.running_example import SOURCE_TOKENS, TOKENS, K, Q
from course_lib.diagrams import Arrow, Diagram, Group, Part, arrow, beside, column, matrix, text
from course_lib.masks import causal_mask, masked_softmax
from course_lib.models.vision_transformer import patchify

DOWN, ACROSS = ("bottom", "top"), ("right", "left")
SEES = TOKENS.index("sees")


def masks_of_three_families() -> Diagram:
    """Draw Chapter 12: the masks of an encoder, of a decoder and of both together, and one row of weights.

    >>> masks_of_three_families().svg().count("✓")  # 16, 10, and 9 + 12 + 10
    57
    """
    n, m = len(TOKENS), len(SOURCE_TOKENS)
    everything, causal = torch.ones(n, n, dtype=torch.bool), causal_mask(n)  # (query, key) each
    scaled = Q @ K.T / Q.shape[-1] ** 0.5  # (query, key)
    weights = torch.stack([masked_softmax(scaled, mask)[SEES] for mask in (everything, causal)])  # (mask, key)
    hidden = torch.stack([everything[SEES], causal[SEES]])  # (mask, key)

    def ticks(mask: torch.Tensor, role: str, rows: tuple[str, ...], columns: tuple[str, ...]) -> Part:
        cells = [["✓" if allowed else "" for allowed in row] for row in mask.tolist()]
        return matrix(cells, role, rows=rows, columns=columns, mask=mask)

    def numbers(length: int) -> tuple[str, ...]:
        return tuple(str(number) for number in range(1, length + 1))

    def named(grid: Part, name: str, models: str) -> Group:
        title, example = text(name, strong=True).above(grid, 26), text(models).above(grid, 6)
        return Group([grid, title, example])

    def families(names: bool) -> list[Group]:
        """Return three grids, the second with `names` of its rows where it does not stand beside the first."""
        rows = tuple(f"{word} {position}" for position, word in enumerate(TOKENS, start=1))
        source = tuple(f"{word} {position}" for position, word in enumerate(SOURCE_TOKENS, start=1))
        self_source = ticks(torch.ones(m, m, dtype=torch.bool), "weight", source, numbers(m))
        across = ticks(torch.ones(n, m, dtype=torch.bool), "memory", rows, ())
        own = ticks(causal, "weight", (), ())
        across.below(self_source, 8)
        across.move(self_source.body[0] - across.body[0], 0)
        own.right_of(across, 8)
        kinds = [
            text("encoder:\nself-attention").right_of(self_source, 8),
            text("cross-\nattention", "memory").below(across, 4),
            text("causal self-\nattention").below(own, 4),
        ]
        both = Group([self_source, across, own, *kinds])
        return [
            named(ticks(everything, "weight", rows, numbers(n)), "encoder-only", "BERT, ViT"),
            named(ticks(causal, "weight", rows if names else (), numbers(n)), "decoder-only", "GPT-2"),
            named(both, "encoder–decoder", "T5"),
        ]

    def one_row() -> tuple[Part, Part]:
        before = matrix(scaled[SEES : SEES + 1], "weight", "scaled scores of “sees”", ("sees",), TOKENS)
        after = matrix(weights, "weight", "weights of “sees”", ("encoder-only", "decoder-only"), (), hidden)
        return before, after

    wide = beside(*families(names=False), gap=34)
    for family in wide.parts[1:]:
        family.move(0, wide.parts[0].body[1] - family.body[1])
    before, after = one_row()
    before.below(wide, 26, align="start")
    after.right_of(before, 100)
    after.move(0, before.body[3] - after.body[3] + 14)

    narrow = column(*families(names=True), gap=26)
    first, second = one_row()
    first.below(narrow, 26)
    second.below(first, 40)
    second.move(first.middle[0] - second.middle[0], 0)
    return Diagram(
        "Encoder-only, decoder-only, encoder–decoder: who may attend to whom",
        "Grids with a row for each query and a column for each key. A tick says that the query may attend to the key; "
        "what is hidden is hatched. Encoder-only: four tokens, all 16 ticks. Decoder-only: ticks on and below the "
        "diagonal, 10 of 16. Encoder–decoder: three grids; the encoder's three tokens attend to each other, 9 ticks; "
        "the decoder's four tokens attend to all three of the encoder, 12 ticks, by cross-attention, and to "
        "themselves by a causal mask, 10 ticks. Below, the row of “sees”: its scaled scores 1, 2, 0 and 3 become the "
        f"weights {_listed(weights[0])} without a mask, and {_listed(weights[1])} with the causal mask.",
        [wide, before, after, arrow(before, after, "softmax", "weight", ACROSS)],
        narrow=[narrow, first, second, arrow(first, second, "softmax", "weight", DOWN)],
    )


def image_as_a_sequence() -> Diagram:
    """Draw Chapter 12: an image is cut into patches, which become vectors behind a class token, with positions.

    >>> print(image_as_a_sequence().description[-54:])
    the positions are added. The row of patch 2 is framed.
    """
    pixels = image.IMAGE[0, 0]  # (height, width)
    patches = patchify(image.IMAGE, 2)[0]  # (patch, pixel)
    vectors = patches @ image.TO_VECTOR.T  # (patch, d_model)
    tokens = torch.cat([image.CLASS_TOKEN, vectors])  # (1 + patches, d_model)
    names = [f"patch {each}" for each in range(1, 5)]
    with_class, framed = ["class", *names], 1

    def parts() -> dict[str, Part]:
        squares = [matrix(pixels[y : y + 2, x : x + 2]) for y in (0, 2) for x in (0, 2)]
        rows = [beside(*squares[start : start + 2], gap=6) for start in (0, 2)]
        cut = column(*rows, gap=6)
        title = text("image (4 × 4)", strong=True).above(cut, 6)
        return {
            "image": Group([cut, title]),
            "patches": matrix(patches, "plain", "patches", names, highlight=framed),
            "e": matrix(image.TO_VECTOR.T, "plain", "Eᵀ", (), ("ink", "r − l")),
            "tokens": matrix(tokens, "value", "c, E x_i", with_class, highlight=framed + 1),
            "p": matrix(image.POSITIONS, "plain", "P", highlight=framed + 1),
            "x": matrix(tokens + image.POSITIONS, "value", "X_0", (), highlight=framed + 1),
        }

    def finish(of: dict[str, Part], first: tuple[str, str]) -> list[Part | Arrow]:
        """Place the product to the right of the patches, the sum below them; return all parts, signs and arrows."""
        times = text("×", strong=True).right_of(of["patches"], 10)
        of["e"].right_of(times, 10)
        of["tokens"].below(of["patches"], 54, align="start")
        plus = text("+", strong=True).right_of(of["tokens"], 1)
        of["p"].right_of(plus, 1)
        equals = text("=", strong=True).right_of(of["p"], 2)
        of["x"].right_of(equals, 2)
        label = text("vectors, behind\nthe class token", strong=True).below(of["patches"], 6, align="start").move(66, 0)
        arrows = [arrow(of["image"], of["patches"], "cut", sides=first), arrow(of["patches"], of["tokens"], sides=DOWN)]
        return [*of.values(), times, plus, equals, label, *arrows]

    wide, small = parts(), parts()
    wide["patches"].right_of(wide["image"], 60)
    small["patches"].below(small["image"], 40)
    return Diagram(
        "Patches as tokens: an image becomes a sequence of vectors",
        "An image of four by four pixels is cut into four patches of two by two. Written as rows, they are a matrix "
        "of 4 by 4. Times E transposed, each becomes a vector of two numbers: its ink, and the ink on its right less "
        "that on its left. The class token is put before them, and the positions are added. The row of patch 2 is "
        "framed.",
        finish(wide, ACROSS),
        narrow=finish(small, DOWN),
    )


def _listed(weights: torch.Tensor) -> str:
    return ", ".join(f"{weight:.2f}" for weight in weights.tolist())
