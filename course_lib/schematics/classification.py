"""How a sequence becomes one decision: attention hides the padding as a key, the masked mean leaves its vector out."""

import torch

from course_lib.attention import scaled_dot_product_attention
from course_lib.data.running_example import W_K, W_Q, W_V, X
from course_lib.diagrams import Arrow, Diagram, Part, arrow, frame, matrix, number
from course_lib.masks import token_padding_mask
from course_lib.pooling import mean_pool

WORDS = ("the", "cat", "sees", "▢")
CLASSES = ("thing", "action")
W_CLASSES = torch.tensor([[1.0, 0, 0, 0], [0, 0, 1, 0]])  # (class, d_value)
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
            arrow(wide["mean"], wide["u"], "W_c ȳ"),
            *arrows(wide, ACROSS, ("left", "right")),
        ],
        narrow=[
            *narrow.values(),
            arrow(narrow["x"], narrow["a"], "blocks: attention", sides=DOWN),
            arrow(narrow["mean"], narrow["w"], "W_c ȳ", sides=DOWN),
            *arrows(narrow, DOWN, DOWN),
        ],
    )


def _listed(row: torch.Tensor) -> str:
    return ", ".join(number(each) for each in row.flatten().tolist())
