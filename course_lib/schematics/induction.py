"""Two heads that compose into an induction head, on five positions of three words of the running example."""

import torch

from course_lib.data.running_example import TOKENS
from course_lib.diagrams import Arrow, Diagram, Part, arrow, bracket, frame, matrix, number, text
from course_lib.masks import causal_mask, masked_softmax

WORDS = TOKENS[:3]  # the, cat, sees
ROW = (0, 1, 2, 0, 1)  # the cat sees the cat
SCORE = 4.0  # of a position that a head looks for; all others have 0
SEES, LAST = 2, 4  # the positions that the page follows with a pencil


def induction_head() -> Diagram:
    """Draw Chapter 14: a head of layer 1 writes the previous token into the stream, a head of layer 2 reads it there.

    >>> print(induction_head().description[-77:])
    The last position gives 0.92 to position 2, and its next token is sees, 0.92.
    """
    heads = _two_heads()
    mask = causal_mask(len(ROW))  # (query, key)
    positions = [f"{position}" for position in range(len(ROW))]
    rows = [f"{position} {WORDS[word]}" for position, word in enumerate(ROW)]

    def parts(names: list[str]) -> dict[str, Part]:
        """Return the matrices; only the first has names of rows where the others stand beside it."""
        return {
            "token": matrix(heads["token"], "value", "token", rows, WORDS, highlight=LAST),
            "first": matrix(heads["first"], "weight", "layer 1", names, positions, mask, SEES),
            "previous": matrix(heads["previous"], "key", "previous", names, WORDS, highlight=SEES),
            "scores": matrix(heads["scores"][LAST:], "plain", f"scores of {rows[LAST]}", columns=positions),
            "second": matrix(heads["second"], "weight", "layer 2", names, positions, mask, LAST),
            "next": matrix(heads["next"], "value", "next", names, WORDS, highlight=LAST),
        }

    def rules() -> tuple[Part, Part]:
        return (
            text("score 4 for the position\nbefore, 0 for all others"),
            text("score: 4 × token of the query\n· previous of the key"),
        )

    wide = parts([])
    wide["previous"].right_of(wide["token"], 92)
    wide["next"].right_of(wide["previous"], 92)
    of_first, of_second = rules()
    wide["first"].below(wide["token"], 84)
    wide["first"].move((wide["token"].middle[0] + wide["previous"].middle[0]) / 2 - wide["first"].middle[0], 0)
    of_first.below(wide["first"], 8)
    wide["scores"].below(wide["first"], 24)
    wide["scores"].move((wide["previous"].middle[0] + wide["next"].middle[0]) / 2 - wide["scores"].middle[0], 0)
    wide["second"].below(wide["scores"], 34)
    wide["second"].move(wide["scores"].middle[0] - wide["second"].middle[0], 0)
    asked = text("query", "query", strong=True).left_of(wide["scores"], 60).move(0, -14)
    passed_on = text("value", "value", strong=True).left_of(wide["second"], 60).move(0, -14)
    of_second.left_of(wide["scores"], 12).move(0, 34)
    all_tokens, same_tokens = (bracket(wide["token"], side, "") for side in ("right", "left"))
    left, bottom = same_tokens.bounds[0] + 6, same_tokens.bounds[3]  # the line to layer 2 goes on from the bracket
    leaves = [_point(wide["token"].middle[0], wide["token"].bounds[3] + 2), _point(left, bottom - 4)]
    stream = frame([same_tokens, wide["token"], wide["previous"], wide["next"]], "residual stream", 10)

    narrow = parts(rows)
    turned = rules()
    top, bottom = narrow["token"].body[1::2]
    height = (bottom - top) / len(ROW)
    beside = [_point(narrow["token"].bounds[2] + 6, bottom - back * height) for back in (0.5, 2.5)]
    named = text("query", "query", strong=True), text("value", "value", strong=True)
    for each, point in zip(named, beside, strict=True):
        each.right_of(point, 4).move(0, -10)
    narrow["first"].below(narrow["token"], 40)
    turned[0].below(narrow["first"], 6)
    narrow["previous"].below(turned[0], 40)
    narrow["previous"].move(narrow["first"].middle[0] - narrow["previous"].middle[0], 0)
    turned[1].below(narrow["previous"], 40)
    narrow["scores"].below(turned[1], 8)
    narrow["scores"].move(narrow["first"].middle[0] - narrow["scores"].middle[0], 0)
    narrow["second"].below(narrow["scores"], 34)
    narrow["next"].below(narrow["second"], 40)
    narrow["next"].move(narrow["second"].middle[0] - narrow["next"].middle[0], 0)

    def arrows(drawn: dict[str, Part], leaves: list[Part], sides: list[tuple[str, str]], reach: int) -> list[Arrow]:
        """Return the arrows; those of query and value of layer 2 begin at two points beside the tokens."""
        ends = [
            (leaves[0], drawn["scores"], "", "query"),
            (leaves[1], drawn["second"], "", "value"),
            (drawn["scores"], drawn["second"], "softmax", "weight"),
            (drawn["second"], drawn["next"], "weights\n× token", "weight"),
        ]
        return [
            arrow(start, end, label, role, side, reach + 12 * (role == "value"))
            for (start, end, label, role), side in zip(ends, sides, strict=True)
        ]

    down = ("bottom", "top")
    across = [("bottom", "left"), ("bottom", "left"), down, ("right", "bottom")]
    along = [("right", "right"), ("right", "right"), down, down]
    given = heads["second"][LAST, SEES]
    return Diagram(
        "Two heads compose into an induction head",
        "Five positions hold the words the, cat, sees, the, cat. The residual stream has three parts for each of them: "
        "the token, the previous token, and the next token. The head of layer 1 gives the position before a score of "
        "4, and all others 0; it reads the tokens there and writes them into the part “previous”: at position 2, which "
        f"holds sees, that is {heads['previous'][SEES, 1]:.2f} for cat. The head of layer 2 compares the token of a "
        "query with the part “previous” of each key, and writes the token that it finds into the part “next”. The last "
        f"position has the scores {', '.join(map(number, heads['scores'][LAST].tolist()))}. "
        f"The last position gives {given:.2f} to position {SEES}, and its next token is {WORDS[2]}, "
        f"{heads['next'][LAST, 2]:.2f}.",
        [
            *(stream, *wide.values(), all_tokens, same_tokens, of_first, of_second, asked, passed_on),
            arrow(all_tokens, wide["first"], "value", "value", ("right", "top"), 12),
            arrow(wide["first"], wide["previous"], "weights\n× token", "weight", ("right", "bottom"), 12),
            arrow(wide["previous"], wide["scores"], "key", "key", ("right", "top"), 12),
            *arrows(wide, leaves, across, 12),
        ],
        narrow=[
            *(*narrow.values(), *turned, *named),
            arrow(narrow["token"], narrow["first"], "value", "value", down),
            arrow(turned[0], narrow["previous"], "weights\n× token", "weight", down),
            arrow(narrow["previous"], turned[1], "key", "key", down),
            *arrows(narrow, beside, along, 40),
        ],
    )


def _point(x: float, y: float) -> Part:
    """Return a part without a size, where a line begins."""
    return Part(0, 0).move(x, y)


def _two_heads() -> dict[str, torch.Tensor]:
    """Return the three parts of the stream, (position, word), and the weights of the two heads, (query, key)."""
    token = torch.eye(len(WORDS))[list(ROW)]  # (position, word)
    mask = causal_mask(len(ROW))  # (query, key)
    first = masked_softmax(SCORE * torch.ones(len(ROW) - 1).diag(-1), mask)  # (query, key)
    previous = first @ token  # (position, word)
    scores = SCORE * token @ previous.T  # (query, key)
    second = masked_softmax(scores, mask)  # (query, key)
    layer_2 = {"scores": scores, "second": second, "next": second @ token}
    return {"token": token, "first": first, "previous": previous, **layer_2}
