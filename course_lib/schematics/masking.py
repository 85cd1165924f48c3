"""Scores that are scaled and masked, and why the mask comes first."""

import torch

from course_lib.data.running_example import TOKENS, K, Q
from course_lib.diagrams import Arrow, Diagram, Group, Part, arrow, beside, matrix, text
from course_lib.masks import causal_mask, masked_softmax

SCALE = Q.shape[-1] ** -0.5


def mask_before_softmax() -> Diagram:
    """Draw Chapter 5: scores are scaled, hidden above the diagonal, and made weights; and the wrong order beside it."""
    scores, mask = Q @ K.T, causal_mask(len(TOKENS))  # (query, key), (query, key)
    scaled = SCALE * scores  # (query, key)
    hidden = scaled.where(mask, -torch.inf)  # (query, key)
    right = masked_softmax(scaled, mask)  # (query, key)
    every = torch.softmax(scaled, dim=-1)  # (query, key)
    wrong = every.where(mask, 0.0)  # (query, key)

    def steps() -> dict[str, Part]:
        def with_sums(weights: torch.Tensor, title: str, shown: torch.Tensor | None) -> Group:
            sums = matrix(weights.sum(dim=-1, keepdim=True), columns=["sum"])
            return beside(matrix(weights, "weight", title, TOKENS, TOKENS, shown), sums, gap=6)

        return {
            "scores": matrix(scores, "weight", "scores Q Kᵀ", TOKENS, TOKENS),
            "scaled": matrix(scaled, "weight", "scaled", TOKENS, TOKENS),
            "hidden": matrix(hidden, "weight", "masked", TOKENS, TOKENS, mask),
            "right": with_sums(right, "weights A", mask),
            "every": with_sums(every, "softmax of all", None),
            "wrong": with_sums(wrong, "masked too late", mask),
        }

    def arrows(parts: dict[str, Part], second_way: Arrow) -> list[Arrow]:
        return [
            arrow(parts["scores"], parts["scaled"], "÷ √d_k\n= ÷ 2"),
            arrow(parts["scaled"], parts["hidden"], "mask", sides=("bottom", "top")),
            second_way,
            arrow(parts["hidden"], parts["right"].parts[0], "softmax"),
            arrow(parts["every"].parts[0], parts["wrong"].parts[0], "mask"),
        ]

    early, late = "✓ mask, then softmax:\neach row sums to 1", "✗ softmax, then mask:\nnot every row sums to 1"
    wide, narrow = steps(), steps()
    wide["scaled"].right_of(wide["scores"], 92)
    for first, others in (("scores", ("hidden", "right")), ("scaled", ("every", "wrong"))):
        wide[others[0]].below(wide[first], 64, align="start")
        wide[others[1]].below(wide[others[0]], 46, align="start")
    verdicts = [text(early, strong=True).below(wide["right"], 12), text(late, strong=True).below(wide["wrong"], 12)]
    names = ("scores", "scaled", "hidden", "right", "every", "wrong")
    for before, name in zip(names, names[1:], strict=False):
        narrow[name].below(narrow[before], 56 if name != "every" else 76, align="start")
    around = arrow(narrow["scaled"], narrow["every"], sides=("right", "right"), reach=14)
    turned = [text(early, strong=True).below(narrow["right"], 10), text(late, strong=True).below(narrow["wrong"], 10)]
    return Diagram(
        "The mask belongs before the softmax",
        "The scores of the four tokens are divided by the root of d_k, which is 2. Then there are two ways. On the "
        "first, what stands above the diagonal becomes minus infinity, and a softmax makes weights: 0 for keys of the "
        "future, and each row sums to 1. On the second, the softmax comes first and the weights of the future are "
        f"removed after it: the rows sum to {', '.join(f'{total:.2f}' for total in wrong.sum(dim=-1))}.",
        [*wide.values(), *verdicts, *arrows(wide, arrow(wide["scaled"], wide["every"].parts[0], "softmax"))],
        narrow=[*narrow.values(), *turned, *arrows(narrow, around)],
    )
