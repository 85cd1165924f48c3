"""The drawn mechanism of Chapter 1: an encoder and a decoder with one vector between them, and with attention.

The encoder is small enough for a pencil: its state is h = tanh(x + ½ h'), where h' is the state before, so that each of
its numbers is a feature of the running example. The first state of the decoder, QUERY, is chosen by hand.
"""

from collections.abc import Sequence

import torch

from course_lib.attention import DotAttention
from course_lib.data.running_example import FEATURES, SOURCE_TOKENS, TOKENS, X
from course_lib.diagrams import Arrow, Diagram, Group, Part, arrow, beside, box, bracket, matrix, text

QUERY = torch.tensor([1.0, 1, -1, -1])  # (d_hidden,): asks for what is a thing and living, no action, no pointer
DOWN = ("bottom", "top")
WAY = 104  # pixels from the encoder to the decoder, where they stand side by side


def _encode() -> torch.Tensor:
    """Return the four states of the small encoder (time, d_hidden).

    >>> _encode()[-1]
    tensor([0.8408, 0.1797, 0.4479, 0.9699])
    """
    hidden, states = torch.zeros(len(FEATURES)), []
    for each in X:
        hidden = torch.tanh(each + hidden / 2)
        states.append(hidden)
    return torch.stack(states)


STATES = _encode()  # (time, d_hidden)


def one_vector_or_attention() -> Diagram:
    """Draw Chapter 1: encoder and decoder unrolled, first with one vector between them, then with every state read.

    >>> one_vector_or_attention().description[-68:]
    '“cat” gets 0.68, and 0.58 of its feature living reaches the context.'
    """
    states = STATES
    memory = states.unsqueeze(0)  # (1, time, d_hidden)
    context, weights = DotAttention()(QUERY.unsqueeze(0), memory, memory)  # (1, d_hidden), (1, time)
    scores = states @ QUERY  # (time,)

    def arrangement(narrow: bool) -> list[Part | Arrow]:
        first, second = _one_vector(states, narrow), _attention(states, scores, weights[0], context, narrow)
        second.below(first, 64)
        second.move(first.bounds[0] - second.bounds[0], 0)
        titles = [text("One vector: the decoder gets h_4 only", strong=True).above(first, 14)]
        titles += [text("Attention: every step reads all states", strong=True).above(second, 14)]
        for title in titles:
            title.move(first.bounds[0] - title.bounds[0], 0)
        return [first, second, *titles]

    cat, living = TOKENS.index("cat"), FEATURES.index("living")
    return Diagram(
        "An encoder and a decoder, with one vector between them and with attention",
        "Above, an encoder reads the, cat, sees, itself. After each token it has a state of four numbers, h_1 to h_4, "
        "made from the token and the state before. An arrow leads from h_4 alone to the first state of the "
        "decoder, s_0, and on to s_1, s_2 and s_3, which write feles, se, videt; each step reads the word before. "
        "Below, the same encoder and decoder. The first state of the decoder, 1, 1, −1, −1, is the query. Each of the "
        "four states has a score with it, and a softmax makes the scores weights. Arrows lead from all four weights to "
        "the context c_1, the average of the states with these weights, and from there to the input of the first step "
        "of the decoder. Its other steps have contexts of their own. In h_4 the feature living "
        f"has shrunk to {states[-1, living]:.2f}. The state of "
        f"“cat” gets {weights[0, cat]:.2f}, and {context[0, living]:.2f} of its feature living reaches the context.",
        arrangement(narrow=False),
        narrow=arrangement(narrow=True),
    )


def _one_vector(states: torch.Tensor, narrow: bool) -> Group:
    """Draw the encoder, the decoder, and the one way between them."""
    encoder, columns, names = _encoder(states, narrow)
    first = box("s_0", "query", 46)
    decoder, _ = _decoder(first, ("<start>", *SOURCE_TOKENS[:-1]), narrow)
    if narrow:
        vector = text("one vector", "memory", strong=True).below(names[0], 14)
        vector.move(encoder.bounds[0] - vector.bounds[0], 0)
        decoder.below(vector, 4)
        decoder.move(encoder.bounds[0] + 50 - decoder.bounds[0], 0)
        way = [vector, arrow(names[-1], vector, role="memory", sides=("bottom", "right"))]
        way += [arrow(vector, first, role="memory", sides=("bottom", "left"))]
    else:
        decoder.right_of(columns[-1], WAY)
        decoder.move(0, columns[-1].middle[1] - first.middle[1])
        way = [arrow(columns[-1], first, "one vector", role="memory")]
    return Group([encoder, decoder, *way])


def _attention(
    states: torch.Tensor, scores: torch.Tensor, weights: torch.Tensor, context: torch.Tensor, narrow: bool
) -> Group:
    """Draw the encoder, the scores and weights of its states, their average, and the decoder."""
    encoder, columns, names = _encoder(states, narrow)
    score = _cells("score", scores, names, 22)
    weight = _cells("weight", weights, score, 30)
    all_scores = bracket(Group(score), "right", "")
    softmax = text("softmax", "weight", strong=True).right_of(weight[-1], 8)
    softmax.move(0, (score[-1].bounds[3] + weight[-1].bounds[1]) / 2 - softmax.middle[1])
    query = matrix(QUERY.unsqueeze(1), "query").right_of(columns[-1], 34 if narrow else WAY)
    asks = text("query\ns_0", "query", strong=True).below(query, 2)
    average = matrix(context, "value", "context c_1", columns=FEATURES).below(weight[1], 50)
    average.drawn = average.drawn.replace("(1 × 4)", "(4,)")
    # The query is the decoder's first state. On a narrow page the decoder has a row of its own, with s_0 once more.
    first = box("s_0", "query", 46) if narrow else query
    inputs = [f"{word}\nand c_{number}" for number, word in enumerate(("<start>", *SOURCE_TOKENS[:-1]), 1)]
    decoder, read = _decoder(first, inputs, narrow)
    if narrow:
        average.move(columns[0].bounds[0] + 20 - average.bounds[0], 0)
        decoder.below(average, 24)
        decoder.move(average.bounds[0] - decoder.bounds[0], 0)
        used = arrow(average, read, role="value", sides=("left", "left"), reach=14)
    else:
        average.move(columns[0].body[0] - average.bounds[0], 0)
        used = arrow(average, read, role="value", sides=("right", "bottom"))
    arrows = [arrow(name, cell, role="memory", sides=DOWN) for name, cell in zip(names, score, strict=True)]
    arrows += [arrow(one, other, role="weight", sides=DOWN) for one, other in zip(score, weight, strict=True)]
    arrows += [arrow(each, average, role="value", sides=DOWN) for each in weight]
    label = "" if narrow else "first state"  # a narrow page has no room for it
    arrows += [arrow(columns[-1], query, label, role="memory"), used]
    arrows += [arrow(asks, all_scores, role="query", sides=("bottom", "right"))]
    apart = [query] if narrow else []  # else the decoder contains it
    return Group([encoder, *score, *weight, all_scores, softmax, *apart, asks, average, decoder, *arrows])


def _cells(name: str, values: torch.Tensor, above: list[Part], gap: float) -> list[Part]:
    """Return a cell for each value, each below one of the parts; the name of all stands before the first."""
    cells = [
        matrix([[value]], "weight", rows=() if number else (name,)) for number, value in enumerate(values.tolist())
    ]
    return [cell.below(part, gap) for cell, part in zip(cells, above, strict=True)]


def _encoder(states: torch.Tensor, narrow: bool) -> tuple[Group, list[Part], list[Part]]:
    """Return the encoder, its states as columns of numbers, and their names below them."""
    columns = [
        matrix(state.unsqueeze(1), "memory", rows=() if number else FEATURES) for number, state in enumerate(states)
    ]
    row = beside(*columns, gap=16 if narrow else 26)
    tokens = [text(token).above(each, 24) for token, each in zip(TOKENS, columns, strict=True)]
    names = [text(f"h_{number + 1}", "memory", True).below(each, 2) for number, each in enumerate(columns)]
    arrows = [arrow(token, each, sides=DOWN) for token, each in zip(tokens, columns, strict=True)]
    arrows += [
        arrow(one, other, role="memory", sides=("right", "left"))
        for one, other in zip(columns, columns[1:], strict=False)
    ]
    return Group([row, *tokens, *names, *arrows]), columns, names


def _decoder(first: Part, inputs: Sequence[str], narrow: bool) -> tuple[Group, Part]:
    """Return the decoder, from its first state on, and the input of its first step; each step writes a token."""
    steps = [box(f"s_{number}", "query", 46) for number in (1, 2, 3)]
    gap = 20 if narrow else 24
    for before, step in zip((first, *steps), steps, strict=False):
        step.right_of(before, gap)
    words = [text(word).above(each, 24) for word, each in zip(SOURCE_TOKENS, steps, strict=True)]
    read = [text(word).below(each, 24) for word, each in zip(inputs, steps, strict=True)]
    arrows = [
        *(arrow(one, other, role="query") for one, other in zip((first, *steps), steps, strict=False)),
        *(arrow(step, word, sides=("top", "bottom")) for step, word in zip(steps, words, strict=True)),
        *(arrow(word, step, sides=("top", "bottom")) for word, step in zip(read, steps, strict=True)),
    ]
    return Group([first, *steps, *words, *read, *arrows]), read[0]
