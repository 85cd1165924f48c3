"""Cross-attention for exercise 09.1: right, wrong in parts that can be exchanged, and its cases and judges."""

from collections.abc import Callable

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.chapter_05_attention import HIDDEN, masked_softmax, moved, scaled_scores
from course_lib.grading.declarations.drawing import normal, sizes
from course_lib.grading.exercise import Case
from course_lib.grading.judges import answer_like
from course_lib.grading.wording import describe, describe_case

LAYERS = "to_query", "to_key", "to_value"

# ---------------------------------------------------------------- cases


def draw_module(generator: torch.Generator) -> Case:
    """Draw parameters, what asks, what is read and which of it is there.

    In half of the cases all sizes are the same, so that torch does not complain of one axis taken for another.
    """
    batch, time, places, d_model, d_memory, d_key = sizes(generator, 3, 4, 5, 4, 4, 5, least=2)
    if torch.rand((), generator=generator) < 0.5:
        batch = time = places = d_model = d_memory = d_key = sizes(generator, 3, least=2)[0]
    state = {}
    for layer, wide, narrow in zip(LAYERS, (d_model, d_memory, d_memory), (d_key, d_key, d_model), strict=True):
        state[f"{layer}.weight"] = 1.4 * normal(generator, narrow, wide) / wide**0.5
        state[f"{layer}.bias"] = normal(generator, narrow) / 2
    lengths = torch.randint(1, places + 1, (batch,), generator=generator)
    lengths[0] = torch.randint(1, places, (), generator=generator)  # something is padding
    return {
        "d_model": d_model,
        "d_memory": d_memory,
        "d_key": d_key,
        "state": state,
        "vectors": normal(generator, batch, time, d_model),
        "memory": normal(generator, batch, places, d_memory),
        "present": torch.arange(places) < lengths[:, None],
    }


# ---------------------------------------------------------------- right and wrong answers


def linear(state, layer, vectors):
    """Apply one of the linear layers."""
    return vectors @ state[f"{layer}.weight"].mT + state[f"{layer}.bias"]


def room(present):
    """What is present, (batch, n), with an axis for the queries."""
    return present[:, None]


def weigh(query, key, present):
    """Softmax of the scaled scores of what is present."""
    return masked_softmax(scaled_scores(query, key), room(present))


def by(weigh: Callable = weigh, layers=LAYERS, sources=("vectors", "memory", "memory")) -> Callable:
    """Return cross-attention with weigh(query, key, present), made by these layers of these arguments."""

    def attention(d_model, d_memory, d_key, state, vectors, memory, present):
        given = {"vectors": vectors, "memory": memory}
        query, key, value = (linear(state, layer, given[each]) for layer, each in zip(layers, sources, strict=True))
        weights = weigh(query, key, present)
        return weights @ value, weights

    return attention


cross_attention = by()


def by_scores(change: Callable[..., torch.Tensor]) -> Callable:
    """Return cross-attention whose weights are change(scaled scores, present)."""
    return by(lambda query, key, present: change(scaled_scores(query, key), present))


def scaled_by(factor: Callable[..., float]) -> Callable:
    """Return cross-attention whose dot products are multiplied by factor(query (batch, time, d_key), key)."""
    return by(lambda query, key, present: masked_softmax(query @ key.mT * factor(query, key), room(present)))


def then(change: Callable) -> Callable:
    """Return right cross-attention of whose output and weights `change(output, weights, case)` makes something else."""
    return lambda **named: change(*cross_attention(**named), named)


def memory_for_values(d_model, d_memory, d_key, state, vectors, memory, present):
    """The memory as it is for values."""
    weights = cross_attention(d_model, d_memory, d_key, state, vectors, memory, present)[1]
    return weights @ memory, weights


def scores_returned(d_model, d_memory, d_key, state, vectors, memory, present):
    """The right output, and the scores in place of the weights."""
    output = cross_attention(d_model, d_memory, d_key, state, vectors, memory, present)[0]
    return output, scaled_scores(linear(state, "to_query", vectors), linear(state, "to_key", memory))


def causal(scores, present):
    """Only the first places for the first words, as if the source were being written too."""
    return scores.masked_fill(~(room(present) & torch.ones_like(scores, dtype=torch.bool).tril()), HIDDEN).softmax(-1)


# ---------------------------------------------------------------- judges


def padding_weighs_nothing(call: Call, case: Case) -> str | None:
    """Padding has the weight 0 to the last digit; the call is seen through the weights."""
    weights = answer_like(cross_attention, call, case)[0]
    wrong = ~room(case["present"]).expand(weights.shape) & (weights != 0)  # so that nan counts
    if not wrong.any():
        return None
    sentence, word, place = wrong.nonzero()[0].tolist()
    return (
        f"{describe_case(case)}: in example {sentence}, the weight of source place {place}, which is padding, at "
        f"target place {word} came {describe(weights[wrong][0].item())}, expected exactly 0"
    )


def padding_moves_nothing(call: Call, case: Case) -> str | None:
    """Put other vectors, a thousand times as large, where padding is: nothing moves."""
    memory = torch.where(case["present"][..., None], case["memory"], 1000 * (1 + case["memory"]))
    before, after = call(case), call(case | {"memory": memory})
    for one, other, name in zip(before, after, ("output", "weights"), strict=True):
        if one.shape != other.shape or (found := moved(one, other)):
            found = "changed its shape" if one.shape != other.shape else found
            return f"{describe_case(case)}, then vectors a thousand times as large in the padding: {name} {found}"
    return None
