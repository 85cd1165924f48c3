"""The drawn mechanism of Chapter 2: one step of a captioner, computed from its small example."""

from course_lib.attention import DotAttention
from course_lib.data.image_example import FEATURE_NAMES, FEATURES, QUERY
from course_lib.diagrams import Arrow, Diagram, Part, arrow, box, matrix

NUMBERS = ("1", "2", "3", "4")  # of the locations


def one_step_of_the_captioner() -> Diagram:
    """Draw Chapter 2: locations become keys, the decoder's query meets them, and the context leads to the next word.

    >>> "the blue square, gets 0.64" in one_step_of_the_captioner().description
    True
    """
    read = FEATURES.unsqueeze(0)  # (1, location, feature)
    context, weights = DotAttention()(QUERY.unsqueeze(0), read, read)  # (1, feature), (1, location)
    scores = (FEATURES @ QUERY).unsqueeze(0)  # (1, location)

    def steps() -> dict[str, Part]:
        return {
            "picture": matrix([["1: red ●", "2: blue ■"], ["3: –", "4: –"]], title="picture"),
            "features": matrix(FEATURES, "key", "X: keys and values", NUMBERS, FEATURE_NAMES),
            "query": matrix(QUERY.unsqueeze(0), "query", "q = h_t"),
            "scores": matrix(scores, "weight", "scores", columns=NUMBERS),
            "weights": matrix(weights, "weight", "weights", columns=NUMBERS),
            "average": box("average of\nthe values", "value"),
            "context": matrix(context, "value", "context c_t", columns=FEATURE_NAMES),
            "word": box("logits from h_t and c_t\nnext word: “blue”"),
            "lstm": box("LSTM\nreads “beside”", "memory"),
        }

    def arrows(picture, features, query, scores, weights, average, context, word, lstm) -> list[Arrow]:
        return [
            arrow(picture, features, "CNN"),
            arrow(features, scores, role="key", sides=("bottom", "top")),
            arrow(lstm, query, role="query", sides=("top", "bottom")),
            arrow(query, scores, role="query"),
            arrow(weights, average, role="weight", sides=("bottom", "top")),
            arrow(context, word, role="value", sides=("bottom", "top")),
        ]

    wide = steps()
    wide["features"].right_of(wide["picture"], 46)
    wide["scores"].below(wide["features"], 44)
    wide["query"].left_of(wide["scores"], 106)
    wide["weights"].right_of(wide["scores"], 72)
    wide["context"].below(wide["scores"], 40)
    wide["average"].below(wide["weights"], 40)
    wide["average"].move(0, wide["context"].middle[1] - wide["average"].middle[1])
    wide["lstm"].below(wide["query"], 40)
    wide["lstm"].move(0, wide["context"].middle[1] - wide["lstm"].middle[1])
    wide["word"].below(wide["context"], 30)
    around = wide["weights"].bounds[2] - wide["average"].bounds[2] + 14
    loop = [
        arrow(wide["scores"], wide["weights"], "softmax", "weight"),
        arrow(wide["features"], wide["average"], role="value", sides=("right", "right"), reach=around),
        arrow(wide["average"], wide["context"], role="value"),
        arrow(wide["context"], wide["lstm"], role="value", sides=("left", "right")),
        arrow(wide["word"], wide["lstm"], "next step", sides=("left", "bottom")),
    ]

    narrow = steps()
    narrow["features"].below(narrow["picture"], 36)
    narrow["scores"].below(narrow["features"], 44).move(56, 0)
    narrow["query"].left_of(narrow["scores"], 16)
    narrow["weights"].below(narrow["scores"], 40)
    narrow["average"].below(narrow["weights"], 30)
    narrow["lstm"].below(narrow["query"], 40)
    narrow["lstm"].move(0, narrow["average"].middle[1] - narrow["lstm"].middle[1])
    narrow["context"].below(narrow["average"], 30).move(-56, 0)
    narrow["word"].below(narrow["context"], 30)
    around = narrow["features"].bounds[2] - narrow["average"].bounds[2] + 10
    narrow_loop = [
        arrow(narrow["scores"], narrow["weights"], "softmax", "weight", ("bottom", "top")),
        arrow(narrow["features"], narrow["average"], role="value", sides=("right", "right"), reach=around),
        arrow(narrow["average"], narrow["context"], role="value", sides=("bottom", "top")),
        arrow(narrow["context"], narrow["lstm"], role="value", sides=("left", "left"), reach=8),
        arrow(narrow["word"], narrow["lstm"], sides=("left", "left"), reach=18),
    ]
    return Diagram(
        "One step of the captioner, with four locations",
        "A picture of two by two locations goes through a convolutional network and becomes X, four numbers for each "
        "location. The hidden state of an LSTM, which has read the word “beside”, is the query. The dot products of "
        f"the query with the rows of X are the scores {', '.join(f'{each:.0f}' for each in scores[0])}; a softmax "
        f"makes them weights: location 2, the blue square, gets {weights[0, 1]:.2f}. The average of the rows of X with "
        "these weights is the context. Hidden state and context give the logits of the next word, “blue”. Word and "
        "context go back into the LSTM for the next step.",
        [*wide.values(), *arrows(**wide), *loop],
        narrow=[*narrow.values(), *arrows(**narrow), *narrow_loop],
    )
