"""09.1: the decoder asks, the encoder's memory is read, its padding is hidden."""

import torch

from course_lib.data import running_example
from course_lib.exercises.chapter_05._masking import masked_softmax
from course_lib.exercises.drawing import normal, sizes
from course_lib.exercises.operators import ATTENTION
from course_lib.grading.checks import both, equals, gradients_equal, inputs_unchanged, moved, of_output, sums_to
from course_lib.grading.exercise import Case, Exercise, Property, Task
from course_lib.grading.problem import Problem


def cross_attention(d_model, d_memory, d_key, state, vectors, memory, present):
    """Attention of the vectors to what is present in the memory."""

    def linear(layer, vectors):
        return vectors @ state[f"{layer}.weight"].mT + state[f"{layer}.bias"]

    scores = linear("to_query", vectors) @ linear("to_key", memory).mT / d_key**0.5
    weights = masked_softmax(scores, present[:, None])
    return weights @ linear("to_value", memory), weights


def draw_module(generator: torch.Generator) -> Case:
    """Draw parameters, what asks, what is read and which of it is there.

    In half of the cases all sizes are the same, so that torch does not complain of one axis taken for another.
    """
    batch, time, positions, d_model, d_memory, d_key = sizes(generator, 3, 4, 5, 4, 4, 5, least=2)
    if torch.rand((), generator=generator) < 0.5:
        batch = time = positions = d_model = d_memory = d_key = sizes(generator, 3, least=2)[0]
    state = {}
    layers = ("to_query", d_model, d_key), ("to_key", d_memory, d_key), ("to_value", d_memory, d_model)
    for layer, d_in, d_out in layers:
        state[f"{layer}.weight"] = 1.4 * normal(generator, d_out, d_in) / d_in**0.5
        state[f"{layer}.bias"] = normal(generator, d_out) / 2
    lengths = torch.randint(1, positions + 1, (batch,), generator=generator)
    lengths[0] = torch.randint(1, positions, (), generator=generator)  # something is padding
    return {
        "d_model": d_model,
        "d_memory": d_memory,
        "d_key": d_key,
        "state": state,
        "vectors": normal(generator, batch, time, d_model),
        "memory": normal(generator, batch, positions, d_memory),
        "present": torch.arange(positions) < lengths[:, None],
    }


def padding_weighs_nothing(case: Case):
    """Padding has the weight 0 to the last digit; the answer is seen through the weights."""
    weights = (yield case).value
    wrong = ~case["present"][:, None].expand(weights.shape) & (weights != 0)  # so that nan counts
    if not wrong.any():
        return None
    where = f"the weight of padding at {wrong.nonzero()[0].tolist()}"
    return Problem("value", case, where=where, got=weights[wrong][0].item(), expected="exactly 0")


def padding_moves_nothing(case: Case):
    """Put other vectors, a thousand times as large, where padding is: nothing moves."""
    memory = torch.where(case["present"][..., None], case["memory"], 1000 * (1 + case["memory"]))
    before, after = yield [case, case | {"memory": memory}]
    for name, one, other in zip(("output", "weights"), before.value, after.value, strict=True):
        if problem := moved(case, one, other, after="vectors a thousand times as large in the padding", where=name):
            return problem
    return None


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
    "memory": torch.tensor([[[1.0, 0.0], [2.0, 1.0], [9.0, 9.0]]]),
    "present": torch.tensor([[True, True, False]]),
}
TWO_SENTENCES = BY_HAND | {
    "vectors": BY_HAND["vectors"].repeat(2, 1, 1),
    "memory": BY_HAND["memory"][:, :2].repeat(2, 1, 1),
    "present": torch.tensor([[True, False], [True, True]]),
}
# Three rows of memory, four vectors that read it: the picture of the chapter.
RUNNING_EXAMPLE = {
    "d_model": 4,
    "d_memory": 4,
    "d_key": 4,
    "state": {
        "to_query.weight": running_example.W_Q,
        "to_query.bias": torch.zeros(4),
        "to_key.weight": running_example.W_K,
        "to_key.bias": torch.zeros(4),
        "to_value.weight": running_example.W_V,
        "to_value.bias": torch.zeros(4),
    },
    "vectors": running_example.X.unsqueeze(0),
    "memory": running_example.MEMORY.unsqueeze(0),
    "present": torch.ones(1, len(running_example.SOURCE_TOKENS), dtype=torch.bool),
}

MISTAKES = """
keys made by the decoder => the weights: queries of the decoder, keys of the memory
- key, value = self.to_key(memory), self.to_value(memory)
+ key, value = self.to_key(vectors), self.to_value(memory)
the keys were made of `vectors`, and so the words of the target were compared with each other; the decoder asks, and
keys and values come from `memory`

values made by the decoder => the output averages values made of the memory
+ key, value = self.to_key(memory), self.to_value(vectors)
the values were made of `vectors`: the decoder would be told what it knows already; keys and values come from `memory`

self-attention => the weights: queries of the decoder, keys of the memory
+ key, value = self.to_key(vectors), self.to_value(vectors)
`memory` was not read at all: queries, keys and values were made of `vectors`, which is self-attention; keys and values
come from `memory`

self-attention of the memory => the weights: queries of the decoder, keys of the memory
- query = self.to_query(vectors)
+ query = self.to_query(memory)
`vectors` were not used: queries, keys and values were all made of `memory`; the queries come from the decoder, one for
each position of the target

roles exchanged => the weights: queries of the decoder, keys of the memory
- query = self.to_query(vectors)
- key, value = self.to_key(memory), self.to_value(memory)
+ query = self.to_query(memory)
+ key, value = self.to_key(vectors), self.to_value(vectors)
here the memory asks and the decoder is read; the output has one row for each position of the *target*, so the queries
come from `vectors`

padding read => what is padding has exactly no influence
- weights = scores.masked_fill(~allowed, float("-inf")).softmax(dim=-1)
+ weights = scores.softmax(dim=-1)
every position of the source was read, padding too: `present` was not used

mask turned round (-inf) => what is padding has exactly no influence
+ weights = scores.masked_fill(allowed, float("-inf")).softmax(dim=-1)
this hides the words and reads the padding: `present` is True where a word stands, and the fill goes where `~present` is
True

mask turned round (-1000000000.0) => what is padding has exactly no influence
+ weights = scores.masked_fill(allowed, -1e9).softmax(dim=-1)

mask without an axis for the queries => what is padding has exactly no influence
- allowed = rearrange(present, "batch n -> batch 1 n")
+ allowed = present
`present`, (batch, n), was laid on scores (batch, time, n) as it is, and its batch met their time: where both are
equally many nobody complains, and target position t is hidden the padding of sentence t; `present[:, None, :]` makes
room for the queries

queries hidden for keys (-inf) => what is padding has exactly no influence
+ allowed = rearrange(present, "batch n -> batch n 1")
`present[:, :, None]` hides rows, as if positions of the target were padding; it is positions of the source that are to
be hidden, columns of the scores: `present[:, None, :]`

queries hidden for keys (-1000000000.0) => what is padding has exactly no influence
- allowed = rearrange(present, "batch n -> batch 1 n")
- weights = scores.masked_fill(~allowed, float("-inf")).softmax(dim=-1)
+ allowed = rearrange(present, "batch n -> batch n 1")
+ weights = scores.masked_fill(~allowed, -1e9).softmax(dim=-1)

causal mask on the source => the weights: queries of the decoder, keys of the memory
- allowed = rearrange(present, "batch n -> batch 1 n")
+ allowed = rearrange(present, "batch n -> batch 1 n") & torch.ones_like(scores, dtype=torch.bool).tril()
this hides source positions after t from target position t; the source is known from the start, and every target
position may read all of it: the causal mask belongs to the decoder's self-attention

mask after the softmax => the weights of each target position sum to one
- weights = scores.masked_fill(~allowed, float("-inf")).softmax(dim=-1)
+ weights = scores.softmax(dim=-1) * allowed
this sets weights to zero after the softmax: the padding has already taken its weight, and the rest sums to less than
one; hide the scores, before the softmax

mask after the softmax, divided by the sum => what is padding has exactly no influence
+ weights = scores.softmax(dim=-1) * allowed
+ weights = weights / weights.sum(dim=-1, keepdim=True)
this masks after the softmax and divides by what is left: where padding scores far above the words nothing is left to
divide; hide the scores, before the softmax

memory set to zero => what is padding has exactly no influence
- key, value = self.to_key(memory), self.to_value(memory)
- scores = einsum(query, key, "batch time d, batch n d -> batch time n") / query.shape[-1] ** 0.5
- allowed = rearrange(present, "batch n -> batch 1 n")
- weights = scores.masked_fill(~allowed, float("-inf")).softmax(dim=-1)
+ memory = memory * present[:, :, None]
+ key, value = self.to_key(memory), self.to_value(memory)
+ weights = (query @ key.mT / query.shape[-1] ** 0.5).softmax(dim=-1)
this sets the padding of the memory to zeros and hides no score: a key made of zeros is the bias, and takes some weight
like any other; hide the scores

zero for a score => what is padding has exactly no influence
- weights = scores.masked_fill(~allowed, float("-inf")).softmax(dim=-1)
+ weights = (scores * allowed).softmax(dim=-1)
this sets the scores of padding to 0, as a product with the mask does: a score of 0 is not hidden, since exp(0) is 1;
only minus infinity gets no weight

nan from 0 times infinity => the weights of each target position sum to one
+ weights = (scores + ~allowed * float("-inf")).softmax(dim=-1)
this multiplies the mask by minus infinity, and 0 times infinity is nan; `masked_fill` or `torch.where` put it only
where it belongs

softmax over the queries => the weights of each target position sum to one
+ weights = scores.masked_fill(~allowed, float("-inf")).softmax(dim=1)
this is a softmax over the target positions (dim=1), which then compete for a source word; the source words compete,
along the last axis

no scale => the weights: queries of the decoder, keys of the memory
- scores = einsum(query, key, "batch time d, batch n d -> batch time n") / query.shape[-1] ** 0.5
+ scores = einsum(query, key, "batch time d, batch n d -> batch time n")
this is the softmax of the bare dot products: each is still to be divided by the root of d_key

width for its root => the weights: queries of the decoder, keys of the memory
+ scores = einsum(query, key, "batch time d, batch n d -> batch time n") / query.shape[-1]
this divides by d_key; the spread of a dot product is the root of d_key

number of places => the weights: queries of the decoder, keys of the memory
+ scores = einsum(query, key, "batch time d, batch n d -> batch time n") / key.shape[1] ** 0.5
this divides by the root of the number of positions that are read; a dot product has d_key terms, however many positions
there are

number of targets => the weights: queries of the decoder, keys of the memory
+ scores = einsum(query, key, "batch time d, batch n d -> batch time n") / query.shape[1] ** 0.5
this divides by the root of the number of target positions; a dot product has d_key terms

scaled by d_model => the weights: queries of the decoder, keys of the memory
+ scores = einsum(query, key, "batch time d, batch n d -> batch time n") / vectors.shape[-1] ** 0.5
this divides by the root of d_model; a dot product of a query and a key has d_key terms

scaled by d_memory => the weights: queries of the decoder, keys of the memory
+ scores = einsum(query, key, "batch time d, batch n d -> batch time n") / memory.shape[-1] ** 0.5
this divides by the root of d_memory; a dot product of a query and a key has d_key terms

to_key for to_value => the output averages values made of the memory
- key, value = self.to_key(memory), self.to_value(memory)
+ key, value = self.to_key(memory), self.to_key(memory)
`to_value` was not used, and `to_key` twice: look at the lines that were copied

to_value for to_key => the weights: queries of the decoder, keys of the memory
+ key, value = self.to_value(memory), self.to_value(memory)
`to_key` was not used, and `to_value` twice: look at the lines that were copied

to_query for to_key => the weights: queries of the decoder, keys of the memory
+ key, value = self.to_query(memory), self.to_value(memory)
`to_key` was not used, and `to_query` twice: look at the lines that were copied

to_key for to_query => the weights: queries of the decoder, keys of the memory
- query = self.to_query(vectors)
+ query = self.to_key(vectors)
`to_query` was not used, and `to_key` twice: look at the lines that were copied

keys and values exchanged => the weights: queries of the decoder, keys of the memory
- key, value = self.to_key(memory), self.to_value(memory)
+ key, value = self.to_value(memory), self.to_key(memory)
`to_value` made what is compared and `to_key` what is averaged: the two were exchanged

memory for values => the output averages values made of the memory
- return weights @ value, weights
+ return weights @ memory, weights
the weights were laid on `memory` as it is: `to_value` was not used

vectors added => the output averages values made of the memory
+ return weights @ value + vectors, weights
this adds `vectors` to the output; that is the residual, and the block's to do

weights first => the output averages values made of the memory
+ return weights, weights @ value
this returns (weights, output); the output comes first

scores returned => the weights of each target position sum to one
+ return weights @ value, scores
the output is right, but what came with it are the scores, before the softmax; asked for are the weights

no way back => gradients reach both sides and all three layers
+ return (weights @ value).detach(), weights
the values are right, but the gradient is not: somewhere the graph is cut, as by `.detach()`, `.data` or
`torch.no_grad()`, and what lies before the cut cannot learn

lowered by 100 => what is padding has exactly no influence
- weights = scores.masked_fill(~allowed, float("-inf")).softmax(dim=-1)
+ weights = (scores - 100.0 * ~allowed).softmax(dim=-1)
this takes a number off the scores of padding, and where those scores are large the padding still gets a weight; only
minus infinity gets none

lowered by 10,000 => what is padding has exactly no influence
+ weights = (scores - 10000.0 * ~allowed).softmax(dim=-1)
"""

EXERCISE = Exercise(
    title="Cross-attention",
    difficulty=2,
    minutes=25,
    forbidden=ATTENTION,
    tasks=(
        Task(
            function="CrossAttention",
            parameters=("vectors", "memory", "present"),
            returns="the output, shape (batch, time, d_model), and the weights, shape (batch, time, n)",
            outputs=("output", "weights"),
            constructor=("d_model", "d_memory", "d_key"),
            cases=draw_module,
            examples=(BY_HAND, TWO_SENTENCES, RUNNING_EXAMPLE),
            edges=(
                BY_HAND
                | {  # one position of the target and one of the source, two sentences
                    "vectors": torch.tensor([[[1.0986]], [[-2.0]]]),
                    "memory": torch.tensor([[[1.0, 0.0]], [[2.0, 1.0]]]),
                    "present": torch.tensor([[True], [True]]),
                },
                BY_HAND  # padding in front and between; equal keys
                | {"memory": BY_HAND["memory"] - 1, "present": torch.tensor([[False, True, False]])},
                BY_HAND  # three widths and two lengths, so that none can be taken for another
                | {
                    "d_key": 4,
                    "vectors": torch.tensor([[[1.0986], [0.0], [-1.0], [0.5], [2.0]]]),
                    "state": BY_HAND["state"]
                    | {
                        "to_query.weight": torch.tensor([[1.0], [0.0], [2.0], [0.0]]),
                        "to_query.bias": torch.tensor([0.0, 1.0, 0.0, 0.0]),
                        "to_key.weight": torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.0, 0.5], [1.0, 1.0]]),
                        "to_key.bias": torch.zeros(4),
                    },
                },
                BY_HAND  # scores far apart
                | {"vectors": torch.tensor([[[300.0], [-300.0]]]), "present": torch.tensor([[True, True, True]])},
            ),
            reference=cross_attention,
            properties=(
                Property("the weights of each target position sum to one", 1, of_output(1, sums_to(1))),
                Property(
                    "what is padding has exactly no influence",
                    2,
                    both(of_output(1, padding_weighs_nothing), padding_moves_nothing),
                ),
                Property("the weights: queries of the decoder, keys of the memory", 2, of_output(1, equals())),
                Property(
                    "the output averages values made of the memory", 2, of_output(0, both(equals(), inputs_unchanged))
                ),
                Property("gradients reach both sides and all three layers", 1, gradients_equal(), only_when_right=True),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "The output has one row for each position of the target, and every weight falls on a position of the source. "
        "From which of the two sides must the queries therefore come, and from which the keys and values?",
        "Three projections: `vectors` to queries, `memory` to keys and to values. Scores (batch, time, n), divided by "
        "the root of d_key; minus infinity where the source is padding, for every query alike; a softmax over the "
        "source; the average of the values.",
        "The scores are `query @ key.transpose(1, 2) / key.shape[-1] ** 0.5`; `present[:, None, :]` is (batch, 1, n), "
        'and `masked_fill(~..., float("-inf"))` hides.',
    ),
)
