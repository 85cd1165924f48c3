"""Three models from one block, the masks of three families, what a mask does to one token, an image as a sequence."""

from collections import Counter
from fractions import Fraction
from functools import cache
from math import log

import torch

from course_lib.data import number_names, number_pairs
from course_lib.data import patch_example as image
from course_lib.data.running_example import SOURCE_TOKENS, TOKENS, K, Q, V
from course_lib.diagrams import (
    Arrow,
    Diagram,
    Group,
    Part,
    arrow,
    beside,
    box,
    bracket,
    column,
    frame,
    matrix,
    number,
    text,
)
from course_lib.diagrams.matrices import CELL
from course_lib.masks import causal_mask, masked_softmax
from course_lib.models.vision_transformer import patchify

DOWN, UP, ACROSS = ("bottom", "top"), ("top", "bottom"), ("right", "left")
HEIGHT_OF_BLOCKS = 184  # pixels: room for the grid of five tokens and its name
SEES = TOKENS.index("sees")
PAIR, GAP, CLUE = ("sixty", "eight", "|", "acht", "und", "sechzig"), 1, 3  # what is hidden, what gives it away


def three_models_from_one_block() -> Diagram:
    """Draw Chapter 12: what goes into BERT, GPT-2 and ViT, who may attend to whom, and what is predicted.

    >>> three_models_from_one_block().svg().count("✓")  # 16, 10 and 25
    51
    """
    n, gap = len(TOKENS), TOKENS.index("cat")
    pixels = image.IMAGE[0, 0]  # (height, width)
    hidden = (*TOKENS[:gap], "<mask>", *TOKENS[gap + 1 :])
    patch_names = ("class", *map(str, range(1, 5)))

    def cells(words: tuple[str, ...], asked: int | None = None, gap: float = 4) -> Group:
        """Return one cell for each token; where the prediction is `asked`, in another colour."""
        roles = ["query" if place == asked else "plain" for place in range(len(words))]
        return beside(*(matrix([[word]], role) for word, role in zip(words, roles, strict=True)), gap=gap)

    def panel(name: str, task: str, source: Part, inputs: Group, mask: torch.Tensor, outputs: dict[int, str]) -> Group:
        """Return the source, its tokens, the blocks and what is predicted at some positions, from below to above."""
        ticks = matrix([["✓" if allowed else "" for allowed in row] for row in mask.tolist()], "weight", mask=mask)
        label = text("blocks, no mask" if mask.all() else "blocks, causal mask").above(ticks, 4)
        label.move(ticks.middle[0] - label.middle[0], 0)
        inside = Group([ticks, label])
        blocks = frame([Part(inputs.bounds[2] - inputs.bounds[0], HEIGHT_OF_BLOCKS)], space=0).above(inputs, 26)
        source.below(inputs, 26)
        heading = column(text(name, strong=True), text(task), gap=2).above(blocks, 26 + CELL + 10)
        for part in (blocks, source, inside, *heading.parts):
            part.move(inputs.middle[0] - part.middle[0], 0)
        inside.move(0, blocks.middle[1] - (inside.bounds[1] + inside.bounds[3]) / 2)
        reads = [arrow(source, inputs, sides=UP), arrow(inputs, blocks, sides=UP)]
        predictions = []
        for place, word in outputs.items():
            cell, edge = matrix([[word]], "value").above(blocks, 26), Part(0, 0).above(blocks, 0)
            for part in (cell, edge):  # both above their own token
                part.move(inputs.parts[place].middle[0] - part.middle[0], 0)
            predictions += [cell, edge, arrow(edge, cell, role="value", sides=UP)]
        return Group([inputs, blocks, inside, source, heading, *reads, *predictions])

    def panels() -> list[Group]:
        squares = [matrix(pixels[y : y + 2, x : x + 2]) for y in (0, 2) for x in (0, 2)]
        cut = column(*(beside(*squares[start : start + 2], gap=6) for start in (0, 2)), gap=6)
        sentence = f"“{' '.join(TOKENS)}”"
        everything, every_patch = (torch.ones(size, size, dtype=torch.bool) for size in (n, len(patch_names)))
        each_next = dict(enumerate((*TOKENS[1:], ".")))
        return [
            panel("BERT", "predicts hidden words", text(sentence), cells(hidden, gap), everything, {gap: TOKENS[gap]}),
            panel("GPT-2", "predicts the next word", text(sentence), cells(TOKENS, gap=14), causal_mask(n), each_next),
            panel("ViT", "predicts one label", cut, cells(patch_names, 0), every_patch, {0: "seven"}),
        ]

    wide = beside(*panels(), gap=26)
    for group in wide.parts[1:]:  # their tokens stand level
        group.move(0, wide.parts[0].parts[0].middle[1] - group.parts[0].middle[1])
    return Diagram(
        "BERT, GPT-2 and ViT: three models from one block",
        "Three panels, each read from below: the input, its tokens, the blocks with a grid of who may attend to whom, "
        f"and what is predicted. BERT: one word of “{' '.join(TOKENS)}” is replaced by <mask>; no mask, 16 ticks; "
        f"predicted is “{TOKENS[gap]}”, above the gap. GPT-2: the same text; causal mask, 10 ticks; at each position "
        "the next word is predicted. ViT: an image of four by four pixels, cut into four patches, with a class token "
        "in front; no mask, 25 ticks; predicted is “seven”, above the class token.",
        [wide],
        narrow=[column(*panels(), gap=34)],
    )


def masks_of_three_families() -> Diagram:
    """Draw Chapter 12: the masks of an encoder, of a decoder and of both together.

    >>> masks_of_three_families().svg().count("✓")  # 16, 10, and 9 + 12 + 10
    57
    """
    n, m = len(TOKENS), len(SOURCE_TOKENS)
    everything, causal = torch.ones(n, n, dtype=torch.bool), causal_mask(n)  # (query, key) each

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

    wide = beside(*families(names=False), gap=34)
    for family in wide.parts[1:]:
        family.move(0, wide.parts[0].body[1] - family.body[1])
    return Diagram(
        "Encoder-only, decoder-only, encoder–decoder: who may attend to whom",
        "Grids with a row for each query and a column for each key. A tick says that the query may attend to the key; "
        "what is hidden is hatched. Encoder-only: four tokens, all 16 ticks. Decoder-only: ticks on and below the "
        "diagonal, 10 of 16. Encoder–decoder: three grids; the encoder's three tokens attend to each other, 9 ticks; "
        "the decoder's four tokens attend to all three of the encoder, 12 ticks, by cross-attention, and to "
        "themselves by a causal mask, 10 ticks.",
        [wide],
        narrow=[column(*families(names=True), gap=26)],
    )


def one_token_under_two_masks() -> Diagram:
    """Draw Chapter 12: one token's way through attention, without a mask and with the causal mask.

    >>> [one_token_under_two_masks().svg().count(f">{output}<") for output in ("1.35", "2.00")]
    [1, 1]
    """
    scores = (Q @ K.T / Q.shape[-1] ** 0.5)[SEES : SEES + 1]  # (1, key)
    masks = torch.ones(1, len(TOKENS), dtype=torch.bool), causal_mask(len(TOKENS))[SEES : SEES + 1]  # (1, key) each
    names = ("scores", "exponentials", "weights", "output")

    def numbers(mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the exponentials (1, key), the weights (1, key) and the output (1, d_v)."""
        weights = masked_softmax(scores, mask)
        return scores.exp().masked_fill(~mask, 0), weights, weights @ V

    def panel(mask: torch.Tensor, title: str, named: bool) -> Group:
        """Return the four rows below one another, with an arrow from each to the next."""
        exponentials, weights, output = numbers(mask)
        rounded = [[f"{each:.1f}".removesuffix(".0") for each in exponentials[0].tolist()]]  # as a pencil writes them
        by_key = [
            matrix(row, "weight", "", [name] if named else [], TOKENS, mask)
            for row, name in zip((scores, rounded, weights), names, strict=False)
        ]
        rows = [*by_key, matrix(output, "value", "", names[3:] if named else ())]
        column(*rows, gap=40)
        for row in rows:
            row.move(rows[0].middle[0] - row.middle[0], 0)
        steps = ("exp", f"÷ {exponentials.sum().item():.1f}", "× V")
        arrows = [arrow(one, other, step, sides=DOWN) for one, other, step in zip(rows, rows[1:], steps, strict=False)]
        heading = text(title, strong=True).above(rows[0], 8)
        heading.move(rows[0].middle[0] - heading.middle[0], 0)
        return Group([*rows, *arrows, heading])

    def panels(narrow: bool) -> tuple[Group, Group]:
        return panel(masks[0], "encoder-only:\nno mask", True), panel(masks[1], "decoder-only:\ncausal mask", narrow)

    def values() -> Part:
        return matrix(V, "value", "V", TOKENS)

    wide = beside(*panels(narrow=False), values(), gap=16)
    wide.parts[2].move(0, wide.parts[0].bounds[3] - wide.parts[2].bounds[3])
    outputs = [numbers(mask)[-1][0] for mask in masks]
    return Diagram(
        "One token's way through attention, without a mask and with the causal mask",
        "Two panels, each with four rows for “sees”. Left, no mask: the scores 1, 2, 0 and 3, their exponentials, the "
        f"weights {_listed(numbers(masks[0])[1][0])}, and the output {_listed(outputs[0])}. Right, causal mask: the "
        f"score of “itself” is hidden, the weights are {_listed(numbers(masks[1])[1][0, : SEES + 1])} and 0, and the "
        f"output is {_listed(outputs[1])}. Beside them stand the values V of the four tokens.",
        [wide],
        narrow=[column(*panels(narrow=True), values(), gap=34)],
    )


def hidden_word_from_both_sides() -> Diagram:
    """Draw Chapter 12: one word is hidden and predicted, without a mask and with the causal mask.

    >>> hidden_word_from_both_sides().svg().count(">&lt;mask&gt;<")
    2
    """
    hidden = PAIR[GAP]
    masks = torch.ones(len(PAIR), dtype=torch.bool), causal_mask(len(PAIR))[GAP]  # (key,) each
    cases = [(seen, _what_fits_the_gap(seen)) for seen in masks]

    def panel(causal: bool) -> Group:
        """Return the text, the loss, the prediction, the blocks and the input, below one another."""
        seen, fitting = cases[causal]
        probability = Fraction(fitting[hidden], fitting.total())
        name = "causal mask" if causal else "no mask"

        def row(words: tuple[str, ...], roles: dict[int, str], shown: torch.Tensor) -> Group:
            cells = [
                matrix([[word]], roles.get(place, "plain"), mask=[[shown[place]]]) for place, word in enumerate(words)
            ]
            return beside(*cells, gap=4)

        whole = row(PAIR, {GAP: "value"}, torch.ones_like(seen))
        given = (*PAIR[:GAP], "<mask>", *PAIR[GAP + 1 :])
        inputs = row(given, {GAP: "query", **({} if causal else {CLUE: "key"})}, seen)
        for cell, other in zip(whole.parts, inputs.parts, strict=True):  # each word above its place in the input
            cell.move(other.middle[0] - cell.middle[0], 0)
        loss = box(f"loss −ln p̂({hidden})\n= −ln({probability}) = {number(-log(probability))}")
        predicted = box(f"p̂({hidden}) = {probability}", "value")
        blocks = frame([Part(inputs.bounds[2] - inputs.bounds[0], 84)], space=0)
        column(whole, loss, predicted, blocks, inputs, gap=34)
        for part in (loss, predicted):
            part.move(inputs.parts[GAP].middle[0] - part.middle[0], 0)
        for part in (whole, blocks):
            part.move(inputs.bounds[0] - part.bounds[0], 0)
        label = text(f"blocks, {name}", strong=True)
        label.move(blocks.bounds[2] - 10 - label.bounds[2], blocks.bounds[1] + 6 - label.bounds[1])
        words = [each for each in number_pairs.VOCABULARY if each in fitting]
        fits = text(
            f"{len(words)} words fit:\n{words[0]}, …, {words[-1]}" if words[1:] else f"1 word fits:\n{words[0]}"
        )
        fits.right_of(predicted, 10)
        before = bracket(Group(inputs.parts[: GAP + 1]), "bottom", "read")
        later = "not read: stands\nafter the gap" if causal else f"read, too: “{PAIR[CLUE]}”\nmeans “{hidden}”"
        after = bracket(Group(inputs.parts[GAP + 1 :]), "bottom", later)
        names = [text("text").above(whole, 4, "start"), text(f"input: <mask> in place of “{hidden}”").below(after, 2)]
        names[1].move(inputs.middle[0] - names[1].middle[0], 0)
        title = text(f"{name}: {'left side only' if causal else 'both sides'}", strong=True).above(names[0], 2)
        title.move(inputs.middle[0] - title.middle[0], 0)
        reads = [
            arrow(cell, predicted, role="key" if place == CLUE else "plain", sides=UP)
            for place, cell in enumerate(inputs.parts)
            if seen[place]
        ]
        return Group(
            [
                *(title, *names, *whole.parts, loss, predicted, fits, blocks, label, *inputs.parts, before, after),
                *reads,
                arrow(whole.parts[GAP], loss, "target", "value", DOWN),
                arrow(predicted, loss, role="value", sides=UP),
            ]
        )

    of_both, of_left = (Fraction(fitting[hidden], fitting.total()) for _, fitting in cases)
    return Diagram(
        "A hidden word, predicted from both sides or from the left alone",
        f"Two panels, each read from below. The text is “{' '.join(PAIR)}”; in the input, “{hidden}” is replaced by "
        f"<mask>. Left, no mask: arrows lead from all {len(PAIR)} tokens of the input, on both sides of the gap, "
        f"through the blocks to one prediction above the gap. One word fits, because “{PAIR[CLUE]}” is read: the "
        f"probability of “{hidden}” is {of_both}, and the loss {number(-log(of_both))}. Right, causal mask: "
        f"the {len(PAIR) - GAP - 1} tokens after the gap are hatched and have no arrow. {len(cases[1][1])} words fit "
        f"after “{PAIR[0]}”: the probability is {of_left}, and the loss {number(-log(of_left))}.",
        [beside(panel(causal=False), panel(causal=True), gap=34)],
        narrow=[column(panel(causal=False), panel(causal=True), gap=34)],
    )


def image_as_a_sequence() -> Diagram:
    """Draw Chapter 12: an image is cut into patches, which become vectors after a class token, with positions.

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
        label = text("vectors, after\nthe class token", strong=True).below(of["patches"], 6, align="start").move(66, 0)
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


@cache
def _all_pairs() -> list[tuple[str, ...]]:
    """Return the tokens of every number below 10,000 as a number pair."""
    names = number_names.names(torch.arange(number_pairs.LARGEST + 1))

    def words(half: list[int]) -> list[str]:
        return [number_names.VOCABULARY[each] for each in half if each > number_names.END]

    halves = zip(names.source.tolist(), names.target.tolist(), strict=True)
    return [(*words(english), "|", *words(german)) for english, german in halves]


def _what_fits_the_gap(seen: torch.Tensor) -> Counter:
    """Count the words in the gap of PAIR, over all number pairs that agree with it where it is seen.

    seen: (key,), True where a token is read. A pair that is read whole has also the length of PAIR. The bar is not
    counted, because only words are hidden.
    """
    fitting = Counter()
    for pair in _all_pairs():
        agrees = all(pair[k : k + 1] == PAIR[k : k + 1] for k in range(len(PAIR)) if seen[k] and k != GAP)
        if agrees and pair[GAP] != "|" and (len(pair) == len(PAIR) or not seen[-1]):
            fitting[pair[GAP]] += 1
    return fitting


def _listed(weights: torch.Tensor) -> str:
    return ", ".join(f"{weight:.2f}" for weight in weights.tolist())
