"""How a sequence becomes one decision: attention and the mean leave padding out, and positions tell twins apart."""

import torch

from course_lib.attention import scaled_dot_product_attention
from course_lib.data.running_example import W_K, W_Q, W_V, X
from course_lib.diagrams import Arrow, Diagram, Group, Part, arrow, beside, column, frame, matrix, number, text
from course_lib.masks import token_padding_mask
from course_lib.pooling import mean_pool

WORDS = ("the", "cat", "sees", "▢")
CLASSES = ("thing", "action")
W_CLASSES = torch.tensor([[1.0, 0, 0, 0], [0, 0, 1, 0]])  # (class, d_value)
TWINS = (("good", "but", "not", "bad"), ("bad", "but", "not", "good"))
VECTORS = {"good": [2.0, 0], "but": [0.0, 1], "not": [1.0, 1], "bad": [0.0, 2]}
POSITIONS = torch.tensor([[0.0, 0], [1, 0], [2, 0], [3, 0]])  # (time, d_model)
DOWN, ACROSS = ("bottom", "top"), ("right", "left")


def masked_mean_step_by_step() -> Diagram:
    """Draw Chapter 10: three words and padding go through attention, are averaged without the padding, and classified.

    >>> print(masked_mean_step_by_step().description[-71:])
    W_c turns it into the logits 1.43, 0.71, and a softmax into 0.67, 0.33.
    """
    mask = token_padding_mask(torch.tensor([[1, 1, 1, 0]]), padding=0)  # (batch, 1, time)
    present = mask[:, 0]  # (batch, time)
    inputs = X * present[0].unsqueeze(1)  # (time, d_model): the padding, whatever it holds, is not shown
    output, weights = scaled_dot_product_attention(inputs @ W_Q.T, inputs @ W_K.T, inputs @ W_V.T, mask[0])
    pooled = mean_pool(output.unsqueeze(0), present)  # (1, d_value)
    logits = pooled @ W_CLASSES.T  # (1, class)
    probabilities = logits.softmax(dim=-1)  # (1, class)
    rows_that_count = present.T.expand(-1, 4)  # (time, d_model)

    def parts(names: bool) -> dict[str, Part]:
        """Return all matrices; where they do not stand side by side, each has names of rows."""
        rows = WORDS if names else ()
        return {
            "x": matrix(inputs, "plain", "X", WORDS, mask=rows_that_count),
            "a": matrix(weights, "weight", "weights A", rows, WORDS, rows_that_count & present),
            "y": matrix(output, "value", "Y = A V", rows, mask=rows_that_count),
            "mean": matrix(pooled, "value", "mean ȳ"),
            "w": matrix(W_CLASSES, "plain", "W_c", CLASSES),
            "u": matrix(logits, "plain", "logits u", columns=CLASSES),
            "p": matrix(probabilities, "plain", "p", columns=CLASSES),
        }

    def arrows(drawn: dict[str, Part], across: tuple[str, str], back: tuple[str, str]) -> list[Arrow]:
        return [
            arrow(drawn["a"], drawn["y"], sides=across),
            arrow(drawn["y"], drawn["mean"], "masked mean: ÷ 3", sides=DOWN),
            arrow(drawn["w"], drawn["u"]),
            arrow(drawn["u"], drawn["p"], "softmax", sides=back),
        ]

    wide, narrow = parts(names=False), parts(names=True)
    wide["a"].right_of(wide["x"], 44)
    wide["y"].right_of(wide["a"], 44)
    wide["mean"].below(wide["y"], 62)
    wide["u"].left_of(wide["mean"], 74)
    wide["p"].left_of(wide["u"], 80)
    wide["w"].below(wide["u"], 24)
    narrow["a"].below(narrow["x"], 46)
    narrow["y"].below(narrow["a"], 40)
    narrow["mean"].below(narrow["y"], 46)
    narrow["w"].below(narrow["mean"], 46)
    narrow["u"].below(narrow["w"], 36)
    narrow["p"].below(narrow["u"], 46)
    return Diagram(
        "Three words and a position of padding become two logits",
        "X has a row for each of the, cat, sees and one of padding, which is hatched. In the weights A, 4 by 4, the "
        "column of the padding is hatched: no word reads it. A times V is Y, in which its row is hatched. "
        f"The mean of the other three rows is {_listed(pooled)}. W_c turns it into the logits {_listed(logits)}, and a "
        f"softmax into {_listed(probabilities)}.",
        [
            *wide.values(),
            frame([wide["a"], wide["y"]], "blocks (here: one layer of attention)"),
            arrow(wide["x"], wide["a"]),
            arrow(wide["mean"], wide["u"], "ȳ W_c\u200bᵀ"),
            *arrows(wide, ACROSS, ("left", "right")),
        ],
        narrow=[
            *narrow.values(),
            arrow(narrow["x"], narrow["a"], "blocks: attention", sides=DOWN),
            arrow(narrow["mean"], narrow["w"], "ȳ W_c\u200bᵀ", sides=DOWN),
            *arrows(narrow, DOWN, DOWN),
        ],
    )


def twins_with_and_without_positions() -> Diagram:
    """Draw Chapter 10: twins go through attention and are averaged, without positions and with them.

    >>> print(twins_with_and_without_positions().description[-37:])
    the means: 2.90, 1.57 and 3.64, 0.53.
    """

    def computed(words: tuple[str, ...], positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the input, which is queries, keys and values, and the output (time, d_model), and its mean."""
        x = torch.tensor([VECTORS[word] for word in words]) + positions
        output, _ = scaled_dot_product_attention(x, x, x)
        return x, output, output.mean(dim=0, keepdim=True)

    cases = [[computed(words, positions) for words in TWINS] for positions in (0 * POSITIONS, POSITIONS)]

    def panel(with_positions: bool) -> Group:
        columns = []
        for words, (x, output, mean) in zip(TWINS, cases[with_positions], strict=True):
            framed = words.index("good")
            before = matrix(x, "plain", "X + P" if with_positions else "X", words, highlight=framed)
            after = matrix(output, "value", "Y", words, highlight=framed).below(before, 36)
            average = matrix(mean, "value", "mean ȳ").below(after, 36)
            title = text(" ".join(words), strong=True).above(before, 8)
            title.move(after.bounds[0] - title.bounds[0], 0)
            arrows = [arrow(before, after, sides=DOWN), arrow(after, average, sides=DOWN)]
            columns.append(Group([before, after, average, title, *arrows]))
        both = beside(*columns, gap=14)
        (before, after, average), (*_, other) = (each.parts[:3] for each in columns)
        same = torch.allclose(*(mean for *_, mean in cases[with_positions]))
        between = (before.middle[0] + other.middle[0]) / 2
        signs = [
            (text("attention", strong=True), (before.bounds[3] + after.bounds[1]) / 2),
            (text("mean", strong=True), (after.bounds[3] + average.bounds[1]) / 2),
            (text("=" if same else "≠", strong=True), average.middle[1]),
        ]
        for sign, height in signs:
            sign.move(between - sign.middle[0], height - sign.middle[1])
        told = text(
            "same mean:\nalways the same logits" if same else "different means:\nthe logits can differ", strong=True
        ).below(average, 10)
        told.move(between - told.middle[0], 0)
        inner = Group([both, *(sign for sign, _ in signs), told])
        name = f"with positions (+ {added})" if with_positions else "without positions"
        return Group([frame([inner], name, 8), inner])

    added = ", ".join(map(number, POSITIONS[:, 0].tolist()))
    without, known = ([mean for *_, mean in case] for case in cases)
    return Diagram(
        "Twins without positions and with positions",
        f"Two panels with two columns each, for the reviews “{' '.join(TWINS[0])}” and “{' '.join(TWINS[1])}”. From "
        "above: the input, a row of two numbers for each word, the output of attention, and its mean. The row of "
        "“good” is framed. Without positions, both reviews have the same input rows and the same output rows, but the "
        f"first and the last have changed places: the mean is {_listed(without[0])} in both. With positions, "
        f"{added} are added to the first numbers of the rows. Now the output rows differ, and so do the means: "
        f"{_listed(known[0])} and {_listed(known[1])}.",
        [beside(panel(False), panel(True), gap=14)],
        narrow=[column(panel(False), panel(True), gap=20)],
    )


def _listed(row: torch.Tensor) -> str:
    return ", ".join(number(each) for each in row.flatten().tolist())
