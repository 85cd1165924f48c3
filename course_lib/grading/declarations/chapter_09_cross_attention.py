"""Exercise 09.1, cross-attention: the decoder asks, the encoder's memory is read, its padding is hidden."""

import torch

from course_lib.grading.declarations.chapter_05_attention import HIDDEN, scaled_up_again
from course_lib.grading.declarations.chapter_09_attention import (
    by,
    by_scores,
    causal,
    cross_attention,
    draw_module,
    memory_for_values,
    padding_moves_nothing,
    padding_weighs_nothing,
    room,
    scaled_by,
    scores_returned,
    then,
)
from course_lib.grading.declarations.operators import ATTENTION as FUSED_ATTENTION
from course_lib.grading.exercise import Exercise, Misconception, Property, Task
from course_lib.grading.judges import both, equals, gradients_equal, inputs_unchanged, of_output, sums_to

SUMS = "the weights of each target place sum to one"
PADDING = "what is padding has exactly no influence"
WEIGHTS = "the decoder asks, the memory answers: weights of queries and keys"
OUTPUT = "the output averages values made of the memory"
GRADIENTS = "gradients reach both sides and all three layers"

BY_HAND = {
    "d_model": 1,
    "d_memory": 2,
    "d_key": 1,
    "state": {
        "to_query.weight": torch.tensor([[1.0]]),
        "to_query.bias": torch.tensor([0.0]),
        "to_key.weight": torch.tensor([[0.0, 1.0]]),
        "to_key.bias": torch.tensor([0.0]),
        "to_value.weight": torch.tensor([[4.0, 0.0]]),
        "to_value.bias": torch.tensor([2.0]),
    },
    "vectors": torch.tensor([[[1.0986], [0.0]]]),
}

CROSS_ATTENTION = Exercise(
    id="09.1",
    title="Cross-attention",
    difficulty=2,
    minutes=25,
    forbidden=FUSED_ATTENTION,
    tasks=(
        Task(
            function="CrossAttention",
            parameters=("vectors", "memory", "present"),
            returns="the output, shape (batch, time, d_model), and the weights, shape (batch, time, n)",
            outputs=("output", "weights"),
            constructor=("d_model", "d_memory", "d_key"),
            cases=draw_module,
            examples=(
                BY_HAND
                | {
                    "memory": torch.tensor([[[1.0, 0.0], [2.0, 1.0], [9.0, 9.0]]]),
                    "present": torch.tensor([[True, True, False]]),
                },
                BY_HAND
                | {
                    "vectors": torch.tensor([[[1.0986], [0.0]]] * 2),
                    "memory": torch.tensor([[[1.0, 0.0], [2.0, 1.0]]] * 2),
                    "present": torch.tensor([[True, False], [True, True]]),
                },
            ),
            reference=cross_attention,
            properties=(
                Property(SUMS, 1, of_output(1, sums_to(1, cross_attention))),
                Property(PADDING, 2, both(of_output(1, padding_weighs_nothing), padding_moves_nothing)),
                Property(WEIGHTS, 2, of_output(1, equals(cross_attention))),
                Property(OUTPUT, 2, both(of_output(0, equals(cross_attention)), inputs_unchanged)),
                Property(GRADIENTS, 1, gradients_equal(cross_attention), only_when_right=True),
            ),
            misconceptions=(
                Misconception(
                    "keys made by the decoder",
                    "the keys were made of `vectors`, and so the words of the target were compared with each other; "
                    "the decoder asks, and keys and values come from `memory`",
                    by(sources=("vectors", "vectors", "memory")),
                    breaks=WEIGHTS,
                ),
                Misconception(
                    "values made by the decoder",
                    "the values were made of `vectors`: the decoder would be told what it knows already; keys and "
                    "values come from `memory`",
                    by(sources=("vectors", "memory", "vectors")),
                    breaks=OUTPUT,
                ),
                Misconception(
                    "self-attention",
                    "`memory` was not read at all: queries, keys and values were made of `vectors`, which is "
                    "self-attention; keys and values come from `memory`",
                    by(sources=("vectors", "vectors", "vectors")),
                    breaks=WEIGHTS,
                ),
                Misconception(
                    "self-attention of the memory",
                    "`vectors` were not used: queries, keys and values were all made of `memory`; the queries come "
                    "from the decoder, one for each place of the target",
                    by(sources=("memory", "memory", "memory")),
                    breaks=WEIGHTS,
                ),
                Misconception(
                    "roles exchanged",
                    "here the memory asks and the decoder is read; the output has one row for each place of the "
                    "*target*, so the queries come from `vectors`",
                    by(sources=("memory", "vectors", "vectors")),
                    breaks=WEIGHTS,
                ),
                Misconception(
                    "padding read",
                    "every place of the source was read, padding too: `present` was not used",
                    by_scores(lambda scores, present: scores.softmax(-1)),
                    breaks=PADDING,
                ),
                *(
                    Misconception(
                        f"mask turned round ({fill})",
                        "this hides the words and reads the padding: `present` is True where a word stands, and the "
                        "fill goes where `~present` is True",
                        by_scores(
                            lambda scores, present, fill=fill: scores.masked_fill(room(present), fill).softmax(-1)
                        ),
                        breaks=PADDING,
                    )
                    for fill in (HIDDEN, -1e9)
                ),
                Misconception(
                    "mask without an axis for the queries",
                    "`present`, (batch, n), was laid on scores (batch, time, n) as it is, and its batch met their "
                    "time: where both are equally many nobody complains, and target place t is hidden the padding of "
                    "sentence t; `present[:, None, :]` makes room for the queries",
                    by_scores(lambda scores, present: scores.masked_fill(~present, HIDDEN).softmax(-1)),
                    breaks=PADDING,
                ),
                *(
                    Misconception(
                        f"queries hidden for keys ({fill})",
                        "`present[:, :, None]` hides rows, as if places of the target were padding; it is places of "
                        "the source that are to be hidden, columns of the scores: `present[:, None, :]`",
                        by_scores(
                            lambda scores, present, fill=fill: scores.masked_fill(~present[..., None], fill).softmax(-1)
                        ),
                        breaks=PADDING,
                    )
                    for fill in (HIDDEN, -1e9)
                ),
                Misconception(
                    "causal mask on the source",
                    "this hides source places after t from target place t; the source is known from the start, and "
                    "every target place may read all of it: the causal mask belongs to the decoder's self-attention",
                    by_scores(causal),
                    breaks=WEIGHTS,
                ),
                Misconception(
                    "mask after the softmax",
                    "this sets weights to zero after the softmax: the padding has already taken its share, and the "
                    "rest sums to less than one; hide the scores, before the softmax",
                    by_scores(lambda scores, present: scores.softmax(-1) * room(present)),
                    breaks=SUMS,
                ),
                Misconception(
                    "mask after the softmax, divided by the sum",
                    "this masks after the softmax and divides by what is left: where padding scores far above the "
                    "words nothing is left to divide; hide the scores, before the softmax",
                    by_scores(lambda scores, present: scaled_up_again(scores.softmax(-1), room(present))),
                    breaks=PADDING,
                ),
                Misconception(
                    "memory set to zero",
                    "this sets the padding of the memory to zeros and hides no score: a key made of zeros is the bias, "
                    "and takes a share like any other; hide the scores",
                    lambda memory, present, **named: by_scores(lambda scores, present: scores.softmax(-1))(
                        memory=memory * present[..., None], present=present, **named
                    ),
                    breaks=PADDING,
                ),
                Misconception(
                    "zero for a score",
                    "this multiplies the scores by the mask: a score of 0 is not hidden, since exp(0) is 1; only minus "
                    "infinity gets no weight",
                    by_scores(lambda scores, present: (scores * room(present)).softmax(-1)),
                    breaks=PADDING,
                ),
                Misconception(
                    "nan from 0 times infinity",
                    "this multiplies the mask by minus infinity, and 0 times infinity is nan; `masked_fill` or "
                    "`torch.where` put it only where it belongs",
                    by_scores(lambda scores, present: (scores + ~room(present) * HIDDEN).softmax(-1)),
                    breaks=SUMS,
                ),
                Misconception(
                    "softmax over the queries",
                    "this is a softmax over the target places (dim=1), which then compete for a source word; the "
                    "source words compete, along the last axis",
                    by_scores(lambda scores, present: scores.masked_fill(~room(present), HIDDEN).softmax(1)),
                    breaks=SUMS,
                ),
                *(
                    Misconception(name, sentence, scaled_by(factor), breaks=WEIGHTS)
                    for name, sentence, factor in (
                        (
                            "no scale",
                            "this is the softmax of the bare dot products: each is still to be divided by the root of "
                            "d_key",
                            lambda query, key: 1.0,
                        ),
                        (
                            "width for its root",
                            "this divides by d_key; the spread of a dot product is the root of d_key",
                            lambda query, key: 1 / key.shape[-1],
                        ),
                        (
                            "number of places",
                            "this divides by the root of the number of places that are read; a dot product has d_key "
                            "terms, however many places there are",
                            lambda query, key: key.shape[1] ** -0.5,
                        ),
                        (
                            "number of targets",
                            "this divides by the root of the number of target places; a dot product has d_key terms",
                            lambda query, key: query.shape[1] ** -0.5,
                        ),
                    )
                ),
                *(
                    Misconception(
                        f"scaled by {width}",
                        f"this divides by the root of {width}; a dot product of a query and a key has d_key terms",
                        lambda width=width, **named: scaled_by(lambda query, key: named[width] ** -0.5)(**named),
                        breaks=WEIGHTS,
                    )
                    for width in ("d_model", "d_memory")
                ),
                *(
                    Misconception(
                        f"{right} for {left}",
                        f"`{left}` was not used, and `{right}` twice: look at the lines that were copied",
                        by(layers=layers),
                        breaks=OUTPUT if left == "to_value" else WEIGHTS,
                    )
                    for left, right, layers in (
                        ("to_value", "to_key", ("to_query", "to_key", "to_key")),
                        ("to_key", "to_value", ("to_query", "to_value", "to_value")),
                        ("to_key", "to_query", ("to_query", "to_query", "to_value")),
                        ("to_query", "to_key", ("to_key", "to_key", "to_value")),
                    )
                ),
                Misconception(
                    "keys and values exchanged",
                    "`to_value` made what is compared and `to_key` what is averaged: the two were exchanged",
                    by(layers=("to_query", "to_value", "to_key")),
                    breaks=WEIGHTS,
                ),
                Misconception(
                    "memory for values",
                    "the weights were laid on `memory` as it is: `to_value` was not used",
                    memory_for_values,
                    breaks=OUTPUT,
                ),
                Misconception(
                    "vectors added",
                    "this adds `vectors` to the output; that is the residual, and the block's to do",
                    then(lambda output, weights, case: (output + case["vectors"], weights)),
                    breaks=OUTPUT,
                ),
                Misconception(
                    "weights first",
                    "this returns (weights, output); the output comes first",
                    then(lambda output, weights, case: (weights, output)),
                    breaks=OUTPUT,
                ),
                Misconception(
                    "scores returned",
                    "the output is right, but what came with it are the scores, before the softmax; asked for are the "
                    "weights",
                    scores_returned,
                    breaks=SUMS,
                ),
                Misconception(
                    "no way back",
                    "the values are right, but the gradient is not: somewhere the graph is cut, as by `.detach()`, "
                    "`.data` or `torch.no_grad()`, and what lies before the cut cannot learn",
                    then(lambda output, weights, case: (output.detach(), weights)),
                    breaks=GRADIENTS,
                ),
            ),
        ),
    ),
    hints=(
        "The output has one row for each place of the target, and every weight falls on a place of the source. Which "
        "of the two sides can therefore bring the queries, and which the keys and values?",
        "Three projections: `vectors` to queries, `memory` to keys and to values. Scores (batch, time, n), divided by "
        "the root of d_key; minus infinity where the source is padding, for every query alike; a softmax over the "
        "source; the average of the values.",
        "The scores are `query @ key.transpose(1, 2) / key.shape[-1] ** 0.5`; `present[:, None, :]` is (batch, 1, n), "
        'and `masked_fill(~..., float("-inf"))` hides.',
    ),
)
