"""Multi-head attention for exercise 06.2: right, wrong in parts that can be exchanged, and its cases and judges."""

from collections.abc import Callable

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.chapter_05_attention import (
    HIDDEN,
    draw_mask,
    masked_softmax,
    scaled_scores,
    seen_or_lost,
)
from course_lib.grading.declarations.chapter_06_split import (
    four_sizes,
    merge,
    split,
)
from course_lib.grading.declarations.drawing import normal
from course_lib.grading.exercise import Case
from course_lib.grading.judges import answer_like
from course_lib.grading.wording import describe, describe_case

LAYERS = "to_query", "to_key", "to_value", "to_output"

# ---------------------------------------------------------------- right and wrong answers


def linear(state, layer, vectors):
    """Apply one of the linear layers."""
    return vectors @ state[f"{layer}.weight"].mT + state[f"{layer}.bias"]


def hide(scores, mask):
    """Softmax along the last axis of scores (batch, heads, time, time), where the mask lets it."""
    return masked_softmax(scores, room(mask))


def hide_with(fill: float, room: Callable, turned: bool = False) -> Callable:
    """Return weights with `fill` for hidden scores, by a mask for which room(mask) makes room for the heads."""
    return lambda query, key, mask: scaled_scores(query, key).masked_fill(room(mask) == turned, fill).softmax(-1)


def room(mask):
    """A mask (..., time, time) with an axis for the heads."""
    return mask.unsqueeze(-3)


def weigh(query, key, mask):
    """Weights of every head."""
    return hide(scaled_scores(query, key), mask)


def by(weigh: Callable = weigh, split: Callable = split, merge: Callable = merge, layers=LAYERS) -> Callable:
    """Return multi-head attention whose weights are weigh(query, key, mask), with another cut, or of other layers."""

    def attention(d_model, heads, state, inputs, mask):
        query, key, value = (split(linear(state, layer, inputs), heads) for layer in layers[:3])
        weights = weigh(query, key, mask)
        return linear(state, layers[3], merge(weights @ value)), weights

    return attention


attention = by()


def scaled_by(factor: Callable[..., float]) -> Callable:
    """Return attention whose dot products are multiplied by factor(query), queries (batch, heads, time, d_head)."""
    return by(lambda query, key, mask: hide(query @ key.mT * factor(query), mask))


def among_heads(move_back: bool) -> Callable:
    """Return attention in which the axis of the heads stays behind the time: the heads of one time attend."""
    return by(
        split=lambda vectors, heads: split(vectors, heads).transpose(1, 2),
        merge=lambda found: found.transpose(1, 2).flatten(2) if move_back else found.flatten(2),
    )


def one_head(d_model, heads, state, inputs, mask):
    """Attention of a single head as wide as the inputs."""
    query, key, value = (linear(state, layer, inputs) for layer in LAYERS[:3])
    weights = masked_softmax(scaled_scores(query, key), mask)
    return linear(state, "to_output", weights @ value), weights


def not_joined(d_model, heads, state, inputs, mask):
    """What the heads found, side by side, without the last layer."""
    query, key, value = (split(linear(state, layer, inputs), heads) for layer in LAYERS[:3])
    weights = weigh(query, key, mask)
    return merge(weights @ value), weights


def inputs_for_values(d_model, heads, state, inputs, mask):
    """Weights of queries and keys, laid on the inputs."""
    query, key = (split(linear(state, layer, inputs), heads) for layer in LAYERS[:2])
    weights = weigh(query, key, mask)
    return linear(state, "to_output", merge(weights @ split(inputs, heads))), weights


def residual(inputs, **named):
    """The inputs added to the output."""
    output, weights = attention(inputs=inputs, **named)
    return output + inputs, weights


def scores_returned(d_model, heads, state, inputs, mask, mask_them):
    """The output, and the scores in place of the weights."""
    query, key = (split(linear(state, layer, inputs), heads) for layer in LAYERS[:2])
    scores = scaled_scores(query, key)
    masked = scores.masked_fill(~room(mask), HIDDEN)
    return attention(d_model, heads, state, inputs, mask)[0], masked if mask_them else scores


def alike(mix: Callable) -> Callable:
    """Return something of each head, (batch, heads, time, time), mixed over the heads and given to all of them."""
    return lambda each: mix(each, 1, keepdim=True).expand(each.shape)


def then(change: Callable) -> Callable:
    """Return right attention whose output and weights `change` makes something else of."""
    return lambda **named: change(*attention(**named))


# ---------------------------------------------------------------- cases and judges


def draw_module(generator: torch.Generator) -> Case:
    """Draw parameters, inputs, and a mask with a batch or without.

    In a third of the cases all sizes are different, in a third all are the same, in a third there are as many examples
    as heads, so that a mask without an axis for the heads is laid on the wrong axis and nobody complains.
    """
    batch, heads, time, d_head = four_sizes(generator)
    if time == 1:  # then a mask would have nothing to hide
        batch, time = time, batch
    if torch.rand((), generator=generator) < 0.5:
        batch = heads
    d_model = heads * d_head
    state = {}
    for layer in LAYERS:
        state[f"{layer}.weight"] = 1.4 * normal(generator, d_model, d_model) / d_model**0.5
        state[f"{layer}.bias"] = normal(generator, d_model) / 2
    masks = [draw_mask(generator, time, time) for _ in range(batch)]
    mask = masks[0] if torch.rand((), generator=generator) < 0.4 else torch.stack(masks)
    return {
        "d_model": d_model,
        "heads": heads,
        "state": state,
        "inputs": normal(generator, batch, time, d_model),
        "mask": mask,
    }


def hidden_weigh_nothing(call: Call, case: Case) -> str | None:
    """What the mask hides has the weight 0 to the last digit; the call is seen through the weights."""
    weights = answer_like(attention, call, case)[0]
    hidden = ~case["mask"].unsqueeze(-3).expand(weights.shape)
    wrong = hidden & (weights != 0)  # so that nan counts
    if not wrong.any():
        return None
    batch, head, query, key = wrong.nonzero()[0].tolist()
    return (
        f"{describe_case(case)}: in example {batch}, head {head}, the weight of key {key}, hidden from query {query}, "
        f"came {describe(weights[wrong][0].item())}, expected exactly 0"
    )


def far_apart(case: Case) -> Case:
    """Hide the last time from all, and put its score far above, and all others far below, whatever the heads are."""
    state, inputs, mask = dict(case["state"]), torch.zeros_like(case["inputs"]), torch.ones_like(case["mask"])
    mask[..., -1] = False
    inputs[:, -1, 0] = 1.0
    for layer, weight, bias in (("to_query", 0.0, 1e5), ("to_key", 2e5, -1e5)):
        state[f"{layer}.weight"] = torch.zeros_like(state[f"{layer}.weight"])
        state[f"{layer}.weight"][:, 0] = weight
        state[f"{layer}.bias"] = torch.full_like(state[f"{layer}.bias"], bias)
    return case | {"state": state, "inputs": inputs, "mask": mask}


def hides_across_gaps(call: Call, case: Case) -> str | None:
    """A hidden key has no weight, however far its scores are from those of the others."""
    far = far_apart(case)
    weights = answer_like(attention, call, far)[0]
    if found := seen_or_lost(weights, ~far["mask"].unsqueeze(-3)):
        told = "the last time hidden from all, its scores 1e10 and more, all others -1e10 and less"
        return f"{describe_case(far)}, {told}: {found}"
    return None
