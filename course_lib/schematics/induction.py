"""Two heads that compose into an induction head, on five positions of three words of the running example."""

import torch

from course_lib.data.running_example import TOKENS
from course_lib.diagrams import Arrow, Diagram, Part, arrow, bracket, frame, matrix, text
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
            "token": matrix(heads["token"], "value", "token", rows, WORDS),
            "first": matrix(heads["first"], "weight", "layer 1", names, positions, mask, SEES),
            "previous": matrix(heads["previous"], "key", "previous", names, WORDS, highlight=SEES),
            "second": matrix(heads["second"], "weight", "layer 2", names, positions, mask, LAST),
            "next": matrix(heads["next"], "value", "next", names, WORDS, highlight=LAST),
        }

    def rules() -> tuple[Part, Part]:
        return (
            text("score 4 for the position\nbefore, 0 for all others"),
            text("score: 4 × token of the query\n· previous of the key"),
        )

    wide = parts([])
    wide["previous"].right_of(wide["token"], 104)
    wide["next"].right_of(wide["previous"], 104)
    for name, left, right, above in (
        ("first", "token", "previous", "token"),
        ("second", "previous", "next", "first"),
    ):
        wide[name].below(wide[above], 84 if name == "first" else 24)
        wide[name].move((wide[left].middle[0] + wide[right].middle[0]) / 2 - wide[name].middle[0], 0)
    of_first, of_second = rules()
    of_first.below(wide["first"], 8)
    of_second.below(wide["second"], 8)
    asked = text("query, value", "query", strong=True).left_of(wide["second"], 60)
    asked.move(0, -14)
    all_tokens = bracket(wide["token"], "right", "")
    stream = frame([wide["token"], wide["previous"], wide["next"]], "residual stream", 10)

    narrow = parts(rows)
    turned = rules()
    asked_above = text("query, value", "query", strong=True).right_of(narrow["token"], 6)
    asked_above.move(0, -14)
    narrow["first"].below(narrow["token"], 40)
    turned[0].below(narrow["first"], 6)
    narrow["previous"].below(turned[0], 40)
    narrow["previous"].move(narrow["first"].middle[0] - narrow["previous"].middle[0], 0)
    narrow["second"].below(narrow["previous"], 40)
    turned[1].below(narrow["second"], 6)
    narrow["next"].below(turned[1], 40)
    narrow["next"].move(narrow["second"].middle[0] - narrow["next"].middle[0], 0)

    def arrows(drawn: dict[str, Part], sides: list[tuple[str, str]], starts: tuple[Part, Part, Part]) -> list[Arrow]:
        ends = [
            (starts[0], drawn["first"], "value", "value"),
            (starts[1], drawn["previous"], "writes", "weight"),
            (drawn["previous"], drawn["second"], "key", "key"),
            (drawn["token"], drawn["second"], "", "query"),
            (starts[2], drawn["next"], "writes", "weight"),
        ]
        return [
            arrow(start, end, label, role, side, 12)
            for (start, end, label, role), side in zip(ends, sides, strict=True)
        ]

    across = [("right", "top"), ("right", "bottom"), ("right", "top"), ("bottom", "left"), ("right", "bottom")]
    down = ("bottom", "top")
    given = heads["second"][LAST, SEES]
    return Diagram(
        "Two heads compose into an induction head",
        "Five positions hold the words the, cat, sees, the, cat. The residual stream has three parts for each of them: "
        "the token, the previous token, and the next token. The head of layer 1 gives the position before a score of "
        "4, and all others 0; it reads the tokens there and writes them into the part “previous”: at position 2, which "
        f"holds sees, that is {heads['previous'][SEES, 1]:.2f} for cat. The head of layer 2 compares the token of a "
        "query with the part “previous” of each key, and writes the token that it finds into the part “next”. The last "
        f"position gives {given:.2f} to position {SEES}, and its next token is {WORDS[2]}, "
        f"{heads['next'][LAST, 2]:.2f}.",
        [
            *(stream, *wide.values(), all_tokens, of_first, of_second, asked),
            *arrows(wide, across, (all_tokens, wide["first"], wide["second"])),
        ],
        narrow=[
            *narrow.values(),
            *turned,
            asked_above,
            *arrows(narrow, [down, down, down, ("right", "right"), down], (narrow["token"], *turned)),
        ],
    )


def _two_heads() -> dict[str, torch.Tensor]:
    """Return the three parts of the stream, (position, word), and the weights of the two heads, (query, key)."""
    token = torch.eye(len(WORDS))[list(ROW)]  # (position, word)
    mask = causal_mask(len(ROW))  # (query, key)
    first = masked_softmax(SCORE * torch.ones(len(ROW) - 1).diag(-1), mask)  # (query, key)
    previous = first @ token  # (position, word)
    second = masked_softmax(SCORE * token @ previous.T, mask)  # (query, key)
    return {"token": token, "first": first, "previous": previous, "second": second, "next": second @ token}
