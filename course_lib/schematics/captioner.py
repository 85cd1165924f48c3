"""The drawn mechanism of Chapter 2: one step of a captioner, computed from its small example."""

from collections.abc import Sequence

import torch

from course_lib.attention import DotAttention
from course_lib.data.image_example import FEATURE_NAMES, FEATURES, LOCATIONS, QUERY, TO_LOGITS, WORDS
from course_lib.data.scenes import COLOURS
from course_lib.diagrams import Arrow, Diagram, Part, arrow, box, bracket, matrix, text
from course_lib.diagrams.svg import LINE, line_of_text, lines_of_text, rectangle, short, text_height, text_width

NUMBERS = ("1", "2", "3", "4")  # of the locations
CELL = 58  # pixels: side of one location of the drawn picture


def one_step_of_the_captioner() -> Diagram:
    """Draw Chapter 2: locations become keys, the decoder's query meets them, and the context leads to the next word.

    >>> "the blue square, gets 0.64" in one_step_of_the_captioner().description
    True
    """
    read = FEATURES.unsqueeze(0)  # (1, location, feature)
    context, weights = DotAttention()(QUERY.unsqueeze(0), read, read)  # (1, feature), (1, location)
    scores = (FEATURES @ QUERY).unsqueeze(0)  # (1, location)
    logits = torch.cat([QUERY.unsqueeze(0), context], dim=-1) @ TO_LOGITS.T  # (1, word)
    word = WORDS[logits.argmax()]

    def steps() -> dict[str, Part]:
        return {
            "picture": _picture(),
            "features": matrix(FEATURES, "key", "X: keys and values", NUMBERS, FEATURE_NAMES),
            "lstm": box("LSTM now:\nhas read\n“beside”", "memory"),
            "last": _last_context(),
            "query": _vector(QUERY, "query", "query h_t"),
            "scores": _vector(scores[0], "weight", "scores", NUMBERS),
            "weights": _vector(weights[0], "weight", "weights", NUMBERS),
            "average": box("average of\nthe values", "value"),
            "context": _vector(context[0], "value", "context c_t", FEATURE_NAMES),
            "adds": box("O [h_t; c_t]"),
            "logits": _vector(logits[0], title="logits", columns=WORDS),
            "word": box(f"next\nword:\n“{word}”"),
            "next": _pale_box(f"LSTM, next step:\nreads “{word}” and c_t", "memory"),
        }

    def arrows(features, last, lstm, query, scores, weights, average, context, **_) -> list[Arrow]:
        return [
            arrow(last, lstm, role="weight", sides=("bottom", "top")),
            arrow(lstm, query, role="query"),
            arrow(features, scores, "dot products", "key", ("bottom", "top")),
            arrow(query, scores, role="query", sides=("right", "left")),
            arrow(weights, average, role="weight", sides=("bottom", "top")),
            arrow(average, context, role="value", sides=("bottom", "top")),
        ]

    wide = steps()
    wide["query"].right_of(wide["lstm"], 22)
    wide["scores"].right_of(wide["query"], 20)
    wide["weights"].right_of(wide["scores"], 80)
    wide["features"].above(wide["scores"], 44)
    wide["picture"].left_of(wide["features"], 84)
    wide["last"].above(wide["lstm"], 20)
    wide["average"].below(wide["weights"], 34)
    wide["context"].below(wide["average"], 34)
    wide["context"].move(min(0, wide["weights"].bounds[2] - wide["context"].bounds[2]), 0)
    level = wide["context"].middle[1]
    wide["adds"].below(wide["query"]).move(0, level - wide["adds"].middle[1])
    wide["logits"].below(wide["adds"], 46)
    wide["word"].left_of(wide["logits"], 20)
    wide["next"].below(wide["word"], 40, "start")
    loop = [
        arrow(wide["picture"], wide["features"], "encoder"),
        arrow(wide["scores"], wide["weights"], "softmax", "weight"),
        *_all_rows_to(wide["average"], wide["features"], wide["weights"].bounds[2] + 10),
        arrow(wide["query"], wide["adds"], "h_t", "query", ("bottom", "top")),
        arrow(wide["context"], wide["adds"], "c_t", "value"),
        arrow(wide["adds"], wide["logits"], sides=("bottom", "top")),
        arrow(wide["logits"], wide["word"]),
        arrow(wide["word"], wide["next"], sides=("bottom", "top")),
        arrow(wide["context"], wide["next"], "c_t", "value", ("bottom", "right")),
        arrow(wide["lstm"], wide["next"], "state", "memory", ("left", "left"), 9),
    ]

    narrow = steps()
    narrow["features"].below(narrow["picture"], 40)
    narrow["scores"].below(narrow["features"], 130).move(50, 0)
    narrow["query"].left_of(narrow["scores"], 16)
    narrow["lstm"].above(narrow["query"], 26)
    narrow["last"].above(narrow["lstm"], 18)
    narrow["weights"].below(narrow["scores"], 40)
    narrow["average"].below(narrow["weights"], 30)
    narrow["context"].below(narrow["average"], 30).move(-50, 0)
    narrow["adds"].below(narrow["context"], 30)
    narrow["logits"].below(narrow["adds"], 28)
    narrow["word"].below(narrow["logits"], 30)
    narrow["next"].below(narrow["word"], 30)
    left = narrow["query"].bounds[0]
    narrow["state"] = text("state", "memory", strong=True).left_of(narrow["word"], 58)
    narrow_loop = [
        arrow(narrow["picture"], narrow["features"], "encoder", sides=("bottom", "top")),
        arrow(narrow["scores"], narrow["weights"], "softmax", "weight", ("bottom", "top")),
        *_all_rows_to(narrow["average"], narrow["features"], narrow["features"].bounds[2] + 18),
        arrow(narrow["query"], narrow["adds"], role="query", sides=("left", "left"), reach=6),
        arrow(narrow["context"], narrow["adds"], role="value", sides=("bottom", "top")),
        arrow(narrow["adds"], narrow["logits"], sides=("bottom", "top")),
        arrow(narrow["logits"], narrow["word"], sides=("bottom", "top")),
        arrow(narrow["word"], narrow["next"], sides=("bottom", "top")),
        arrow(narrow["context"], narrow["next"], role="value", sides=("right", "right"), reach=8),
        arrow(
            narrow["lstm"],
            narrow["next"],
            role="memory",
            sides=("left", "left"),
            reach=narrow["lstm"].bounds[0] - left + 16,
        ),
    ]
    return Diagram(
        "One step of the captioner, with four locations",
        "A picture of two by two locations, a red circle at location 1, a blue square at location 2 and nothing at 3 "
        "and 4, goes through an encoder and becomes X, four numbers for each location. The hidden state h_t of an "
        "LSTM, which has read the word “beside” and the last context, is the query. The dot products of the query with "
        "the rows of X are "
        f"the scores {', '.join(f'{each:.0f}' for each in scores[0])}; a softmax makes them weights: location 2, the "
        f"{LOCATIONS[1]}, gets {weights[0, 1]:.2f}. The average of the rows of X with these weights is the context "
        f"c_t. The matrix O adds state and context and gives the logits "
        f"{_named(logits[0].tolist())}. The next word is “{word}”. This "
        "word, the context and the hidden state go into the next step of the LSTM.",
        [*wide.values(), *arrows(**wide), *loop],
        narrow=[*narrow.values(), *arrows(**narrow), *narrow_loop],
    )


def _all_rows_to(end: Part, start: Part, right: float) -> tuple[Part, Arrow]:
    """Put a bracket around the rows of `start`, and lead an arrow from it to `end`, along a line at `right`."""
    rows = bracket(start, "right", "")
    reach = right - max(rows.bounds[2], end.bounds[2])
    return rows, arrow(rows, end, role="value", sides=("right", "right"), reach=reach)


def _vector(values: torch.Tensor, role: str = "plain", title: str = "", columns: Sequence[str] = ()) -> Part:
    """Draw a vector as a row, its shape written as torch writes it."""
    row = matrix(values.unsqueeze(0), role, title, columns=columns)
    row.drawn = row.drawn.replace(f"(1 × {len(values)})", f"({len(values)},)")
    return row


def _last_context() -> Part:
    """Write c with the index t − 1."""
    label = text("c_t-x")
    label.drawn = label.drawn.replace(">t<", ">t−1<").replace("-x", "")
    return label


def _named(logits: list[float]) -> str:
    return ", ".join(f"{value:.2f} for “{word}”" for word, value in zip(WORDS, logits, strict=True))


def _picture() -> Part:
    """Draw the picture of the example: a grid of two by two, each location with its number."""
    top, middle, radius = LINE + 4, CELL / 2 + 5, 16
    drawn = [line_of_text(CELL, 14, "picture", look="strong")]
    for index, number in enumerate(NUMBERS):
        x, y = index % 2 * CELL, top + index // 2 * CELL
        drawn.append(rectangle(x, y, CELL, CELL, "plain", 0.04, 0.55))
        drawn.append(line_of_text(x + 9, y + 16, number))
    red, blue = (f"fill:rgb({','.join(f'{255 * each:.0f}' for each in COLOURS[name])})" for name in ("red", "blue"))
    drawn.append(f'<circle cx="{short(middle)}" cy="{short(top + middle)}" r="{radius}" style="{red}"/>')
    corner = f'x="{short(CELL + middle - radius)}" y="{short(top + middle - radius)}"'
    drawn.append(f'<rect {corner} width="{2 * radius}" height="{2 * radius}" style="{blue}"/>')
    return Part(2 * CELL, top + 2 * CELL, "".join(drawn), (0, top, 0, 0))


def _pale_box(label: str, role: str) -> Part:
    """Draw a box with a dashed edge: what happens in the next step."""
    width, height = text_width(label) + 20, text_height(label) + 14
    edge = rectangle(0, 0, width, height, role, 0.04, 0.8, 1.6, 7, dashed=True)
    return Part(width, height, edge + lines_of_text(width / 2, 21, label))
