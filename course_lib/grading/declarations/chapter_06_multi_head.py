"""Exercise 06.2, multi-head attention."""

from functools import partial

import torch

from course_lib.grading.declarations.chapter_05_attention import HIDDEN, scaled_scores, scaled_up_again
from course_lib.grading.declarations.chapter_06_attention import (
    alike,
    among_heads,
    attention,
    by,
    draw_module,
    hidden_weigh_nothing,
    hide,
    hide_with,
    hides_across_gaps,
    inputs_for_values,
    not_joined,
    one_head,
    residual,
    room,
    scaled_by,
    scores_returned,
    then,
    weigh,
)
from course_lib.grading.declarations.chapter_06_split import (
    merge_by_turns,
    merge_by_view,
    split_by_turns,
    split_by_view,
)
from course_lib.grading.declarations.operators import ATTENTION as FUSED_ATTENTION
from course_lib.grading.exercise import Exercise, Misconception, Property, Task
from course_lib.grading.judges import both, equals, gradients_equal, inputs_unchanged, of_output, sums_to

SUMS = "the weights of each query sum to one, in every head"
HIDES = "what the mask hides has weight exactly 0, in every head"
WEIGHTS = "the weights of each head are those of its own queries and keys"
OUTPUT = "the output joins what the heads found"
GAPS = "hidden weights are exactly 0, also where scores differ by 1e10"
GRADIENTS = "gradients reach the inputs and all four layers"

BY_HAND = {
    "d_model": 2,
    "heads": 2,
    "state": {
        "to_query.weight": torch.tensor([[1.0986, 0.0], [0.0, 0.0]]),
        "to_query.bias": torch.tensor([0.0, 1.0986]),
        "to_key.weight": torch.tensor([[0.0, 1.0], [1.0, 0.0]]),
        "to_key.bias": torch.tensor([0.0, 0.0]),
        "to_value.weight": torch.tensor([[4.0, 8.0], [0.0, 4.0]]),
        "to_value.bias": torch.tensor([0.0, 0.0]),
        "to_output.weight": torch.tensor([[1.0, 1.0], [1.0, -1.0]]),
        "to_output.bias": torch.tensor([0.0, 10.0]),
    },
}

MULTI_HEAD = Exercise(
    id="06.2",
    title="Multi-head attention",
    difficulty=3,
    minutes=40,
    forbidden=FUSED_ATTENTION,
    tasks=(
        Task(
            function="MultiHeadAttention",
            parameters=("inputs", "mask"),
            returns="the output, shape (batch, time, d_model), and the weights, shape (batch, heads, time, time)",
            outputs=("output", "weights"),
            constructor=("d_model", "heads"),
            cases=draw_module,
            examples=(
                BY_HAND | {"inputs": torch.eye(2)[None], "mask": torch.tensor([[True, True], [False, True]])},
                BY_HAND
                | {
                    "inputs": torch.eye(2).repeat(2, 1, 1),
                    "mask": torch.tensor([[[True, True], [False, True]], [[True, False], [True, True]]]),
                },
            ),
            reference=attention,
            properties=(
                Property(SUMS, 1, of_output(1, sums_to(1, attention))),
                Property(HIDES, 2, of_output(1, hidden_weigh_nothing)),
                Property(WEIGHTS, 2, of_output(1, equals(attention))),
                Property(OUTPUT, 2, both(of_output(0, equals(attention)), inputs_unchanged)),
                Property(GAPS, 1, of_output(1, hides_across_gaps)),
                Property(GRADIENTS, 2, gradients_equal(attention), only_when_right=True),
            ),
            misconceptions=(
                *(
                    Misconception(name, sentence, scaled_by(factor), breaks=WEIGHTS)
                    for name, sentence, factor in (
                        (
                            "no scale",
                            "this is the softmax of the bare dot products: each is still to be divided by the root of "
                            "d_head",
                            lambda query: 1.0,
                        ),
                        (
                            "scaled by d_model",
                            "this divides by the root of d_model; the dot product of one head has d_head terms, so "
                            "the root of d_head, d_model // heads, is its spread",
                            lambda query: (query.shape[1] * query.shape[3]) ** -0.5,
                        ),
                        (
                            "width for its root",
                            "this divides by d_head; the spread of a dot product is the root of d_head",
                            lambda query: 1 / query.shape[3],
                        ),
                        (
                            "scaled by the heads",
                            "this divides by the root of the number of heads; a dot product has d_head terms",
                            lambda query: query.shape[1] ** -0.5,
                        ),
                        (
                            "scaled by the time",
                            "this divides by the root of the number of times; d_head is the last size of the queries",
                            lambda query: query.shape[2] ** -0.5,
                        ),
                    )
                ),
                *(
                    Misconception(
                        f"mask without an axis for the heads ({fill})",
                        "the mask has no axis for the heads (none, or one in front, `mask[None]`): a mask (batch, "
                        "time, time) then meets scores (batch, heads, time, time) with its batch on their heads; where "
                        "both are equally many nobody complains, and head i is hidden what example i should be; "
                        "`mask.unsqueeze(-3)` makes room for the heads",
                        by(hide_with(fill, lambda mask: mask)),
                        breaks=HIDES,
                    )
                    for fill in (HIDDEN, -1e9)
                ),
                *(
                    Misconception(
                        f"axis for the heads counted from the front ({fill})",
                        "`mask[:, None]`, or `unsqueeze(1)`, makes room for the heads only in a mask that has a batch; "
                        "of (time, time) it makes (time, 1, time); counted from the end, `mask.unsqueeze(-3)`, it is "
                        "right for both",
                        by(hide_with(fill, lambda mask: mask.unsqueeze(1))),
                        breaks=HIDES,
                    )
                    for fill in (HIDDEN, -1e9)
                ),
                *(
                    Misconception(
                        f"mask turned round ({fill})",
                        "this hides what may be attended to: True means allowed; the fill goes where `~mask` is True",
                        by(hide_with(fill, room, turned=True)),
                        breaks=HIDES,
                    )
                    for fill in (HIDDEN, -1e9)
                ),
                Misconception(
                    "mask transposed",
                    "this lays the mask on with its last two axes exchanged: a row of it says what one query may see",
                    by(lambda query, key, mask: hide(scaled_scores(query, key), mask.mT)),
                    breaks=HIDES,
                ),
                Misconception(
                    "mask ignored",
                    "every time attends to every other: the mask was not used",
                    by(lambda query, key, mask: scaled_scores(query, key).softmax(-1)),
                    breaks=HIDES,
                ),
                Misconception(
                    "mask for the first head alone",
                    "this masks the first head and lets the others see everything; the mask holds for every head",
                    by(
                        lambda query, key, mask: torch.cat(
                            (weigh(query[:, :1], key[:, :1], mask), scaled_scores(query, key)[:, 1:].softmax(-1)), 1
                        )
                    ),
                    breaks=HIDES,
                ),
                Misconception(
                    "mask after the softmax",
                    "this masks after the softmax: what is hidden has already taken its share, and the rest sums to "
                    "less than one",
                    by(lambda query, key, mask: scaled_scores(query, key).softmax(-1) * room(mask)),
                    breaks=SUMS,
                ),
                Misconception(
                    "mask after the softmax, divided by the sum",
                    "this masks after the softmax and divides by what is left: where a hidden score is far above the "
                    "others nothing is left to divide; mask the scores, before the softmax",
                    by(lambda query, key, mask: scaled_up_again(scaled_scores(query, key).softmax(-1), room(mask))),
                    breaks=GAPS,
                ),
                Misconception(
                    "-1e9 put in",
                    "this puts a large finite number such as -1e9 for a hidden score, or adds it: where all others are "
                    'lower still, it wins the whole weight; `float("-inf")` never does',
                    by(hide_with(-1e9, room)),
                    breaks=GAPS,
                ),
                Misconception(
                    "nan from 0 times infinity",
                    "this multiplies the mask by minus infinity, and 0 times infinity is nan; `masked_fill` or "
                    "`torch.where` put it only where it belongs",
                    by(lambda query, key, mask: (scaled_scores(query, key) + ~room(mask) * HIDDEN).softmax(-1)),
                    breaks=SUMS,
                ),
                Misconception(
                    "zero for a score",
                    "this multiplies the scores by the mask: a score of 0 is not hidden, since exp(0) is 1; only minus "
                    "infinity gets no weight",
                    by(lambda query, key, mask: (scaled_scores(query, key) * room(mask)).softmax(-1)),
                    breaks=HIDES,
                ),
                Misconception(
                    "softmax over the queries",
                    "this is a softmax over the queries (dim=-2): they compete for a key; the keys are to compete for "
                    "each query, along the last axis",
                    by(lambda query, key, mask: scaled_scores(query, key).masked_fill(~room(mask), HIDDEN).softmax(-2)),
                    breaks=SUMS,
                ),
                Misconception(
                    "softmax over the heads",
                    "this is a softmax over the heads (dim=1): they compete for each pair of times; with a fourth "
                    "axis, that of the keys is dim=-1",
                    by(lambda query, key, mask: scaled_scores(query, key).masked_fill(~room(mask), HIDDEN).softmax(1)),
                    breaks=SUMS,
                ),
                *(
                    Misconception(
                        f"attention among the heads, heads moved back: {move_back}",
                        "here the heads of one time attend to each other: behind the cut they are still the last but "
                        "one axis, (batch, time, heads, d_head), where the times should be; exchange the two, "
                        "`transpose(1, 2)`, before the dot products",
                        among_heads(move_back),
                        breaks=WEIGHTS,
                    )
                    for move_back in (False, True)
                ),
                Misconception(
                    "cut and joined by view",
                    "`view(batch, heads, time, d_head)` moves no number: the first head gets whole vectors of the "
                    "first times, and joining by `view` puts it all back as if nothing had happened; cut the last axis "
                    "in two, then exchange heads and time, as in 06.1",
                    by(split=split_by_view, merge=merge_by_view),
                    breaks=WEIGHTS,
                ),
                Misconception(
                    "cut by view",
                    "`view(batch, heads, time, d_head)` moves no number: the first head gets whole vectors of the "
                    "first times; cut the last axis in two, then exchange heads and time, as in 06.1",
                    by(split=split_by_view),
                    breaks=WEIGHTS,
                ),
                Misconception(
                    "joined without moving the axis back",
                    "the weights are right, and `reshape` joined the wrong axes: what the heads found is (batch, "
                    "heads, time, d_head), and heads and time are to be exchanged before they are joined, as in 06.1",
                    by(merge=merge_by_view),
                    breaks=OUTPUT,
                ),
                Misconception(
                    "heads as the fast axis",
                    "this deals the numbers of a query out to the heads in turn; a head has d_head numbers side by "
                    'side, "(heads d_head)", as in 06.1',
                    by(split=split_by_turns, merge=merge_by_turns),
                    breaks=WEIGHTS,
                ),
                Misconception(
                    "joined with heads as the fast axis",
                    "the weights are right, and the heads were joined one number from each in turn; they are to stand "
                    'side by side, "(heads d_head)", as they were cut',
                    by(merge=merge_by_turns),
                    breaks=OUTPUT,
                ),
                Misconception(
                    "keys reshaped",
                    "`reshape` can give the keys the shape of their transpose and moves no number, it only cuts them "
                    "elsewhere; exchange the last two axes, `key.transpose(-2, -1)`",
                    by(lambda query, key, mask: weigh(query, key.reshape(key.mT.shape).mT, mask)),
                    breaks=WEIGHTS,
                ),
                Misconception(
                    "one head",
                    "this is attention with a single head, as wide as the inputs: queries, keys and values are to be "
                    "cut into heads, and every head has weights of its own",
                    one_head,
                    breaks=WEIGHTS,
                ),
                Misconception(
                    "to_output forgotten",
                    "this is what the heads found, side by side; `to_output` was not used, and nothing mixes the heads",
                    not_joined,
                    breaks=OUTPUT,
                ),
                Misconception(
                    "weights averaged",
                    "this averages the weights over the heads, as torch's own module does unless it is told not to; "
                    "asked for are those of each head, (batch, heads, time, time)",
                    then(lambda output, weights: (output, weights.mean(1))),
                    breaks=WEIGHTS,
                ),
                Misconception(
                    "all heads with the mean of the weights",
                    "this averages the weights over the heads before the values are read: then all heads look in the "
                    "same places, and one would do",
                    by(lambda query, key, mask: alike(torch.mean)(weigh(query, key, mask))),
                    breaks=WEIGHTS,
                ),
                Misconception(
                    "all heads with the sum of the scores",
                    "this adds the scores of all heads up before the softmax, so that all heads look in the same "
                    "places: each head is to have a softmax of its own",
                    by(lambda query, key, mask: hide(alike(torch.sum)(scaled_scores(query, key)), mask)),
                    breaks=WEIGHTS,
                ),
                Misconception(
                    "queries and keys exchanged",
                    "here the keys ask and the queries answer: row i of the scores belongs to query i",
                    by(lambda query, key, mask: weigh(key, query, mask)),
                    breaks=WEIGHTS,
                ),
                *(
                    Misconception(
                        f"{layers} for the four layers",
                        f"`{left}` was not used, and `{right}` twice: look at the lines that were copied",
                        by(layers=layers),
                        breaks=OUTPUT if left in ("to_value", "to_output") else WEIGHTS,
                    )
                    for left, right, layers in (
                        ("to_query", "to_key", ("to_key", "to_key", "to_value", "to_output")),
                        ("to_key", "to_query", ("to_query", "to_query", "to_value", "to_output")),
                        ("to_value", "to_key", ("to_query", "to_key", "to_key", "to_output")),
                        ("to_output", "to_value", ("to_query", "to_key", "to_value", "to_value")),
                    )
                ),
                Misconception(
                    "inputs for values",
                    "this lays the weights on the inputs: `to_value` was not used",
                    inputs_for_values,
                    breaks=OUTPUT,
                ),
                Misconception(
                    "inputs added",
                    "this adds the inputs to the output; that is a residual connection, and has no place here",
                    residual,
                    breaks=OUTPUT,
                ),
                Misconception(
                    "weights first",
                    "this returns (weights, output); the output comes first",
                    then(lambda output, weights: (weights, output)),
                    breaks=OUTPUT,
                ),
                *(
                    Misconception(
                        f"{which} scores returned",
                        "the output is right, but what came with it are the scores, before the softmax; asked for are "
                        "the weights",
                        partial(scores_returned, mask_them=which == "masked"),
                        breaks=SUMS,
                    )
                    for which in ("masked", "bare")
                ),
                Misconception(
                    "no way back",
                    "the values are right, but the gradient is not: somewhere the graph is cut, as by `.detach()`, "
                    "`.data` or `torch.no_grad()`, and what lies before the cut cannot learn",
                    then(lambda output, weights: (output.detach(), weights)),
                    breaks=GRADIENTS,
                ),
            ),
        ),
    ),
    hints=(
        "How would one head do it, in Chapter 5? Which of its lines change when there is one more axis, and which do "
        "not notice?",
        "Project the inputs three times; cut each of the three into heads, (batch, heads, time, d_head); attend, with "
        "the root of d_head and with an axis for the heads in the mask; join what the heads found; project it.",
        "A function of 06.1 that you trust may be called here. With `query`, `key` and `value` cut, the scores are "
        "`query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5`; `mask.unsqueeze(-3)` has room for the heads whether "
        "it has a batch or not; `self.to_output` comes last.",
    ),
)
