"""04.3: attention from one set of vectors to another."""

import torch

from course_lib.exercises.chapter_04._examples import tensors
from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import both, equals, inputs_unchanged, not_moved_by
from course_lib.grading.exercise import Case, Exercise, Property, Task


def cross_attention(vectors, memory, query_weight, key_weight, value_weight):
    """Queries of the vectors, keys and values of the memory."""
    scores = (vectors @ query_weight.mT) @ (memory @ key_weight.mT).mT
    return scores.softmax(-1) @ (memory @ value_weight.mT)


def draw_vectors_and_memory(generator: torch.Generator) -> Case:
    """Draw vectors, a memory and weights; in half of the cases, all sizes are equal, as in 04.2."""
    batch, query, key, d_model, d_memory, d_key, d_value = sizes(generator, *[4] * 7, least=2)
    if torch.rand((), generator=generator) < 0.5:
        batch = query = key = d_model = d_memory = d_key = d_value = sizes(generator, 3, least=2)[0]
    return {
        "vectors": normal(generator, batch, query, d_model),
        "memory": normal(generator, batch, key, d_memory),
        "query_weight": normal(generator, d_key, d_model) / 2,
        "key_weight": normal(generator, d_key, d_memory) / 2,
        "value_weight": normal(generator, d_value, d_memory) / 2,
    }


def other_last_vector(case: Case) -> Case:
    """Replace the last of the vectors."""
    vectors = case["vectors"].clone()
    vectors[:, -1] = 2 - vectors[:, -1]
    return case | {"vectors": vectors}


def reversed_memory(case: Case) -> Case:
    """Reverse the order of the memory."""
    return case | {"memory": case["memory"].flip(1)}


MISTAKES = """
softmax over the queries => one query has no influence on another
- weights = scores.softmax(dim=-1)
+ weights = scores.softmax(dim=1)
this is a softmax over the queries: the queries compete for each key; the weights of one query sum to one over the keys,
the last axis of scores (batch, query, key)

softmax over the batch => queries from `vectors`, keys and values from `memory`
+ weights = scores.softmax(dim=0)
this is a softmax over the batch: the same position of different sequences competes

softmax forgotten => queries from `vectors`, keys and values from `memory`
+ weights = scores
this weighs the values by the scores themselves: the softmax is missing

no guard against overflow => queries from `vectors`, keys and values from `memory`
+ weights = scores.exp() / scores.exp().sum(dim=-1, keepdim=True)
this takes exp of the dot products as they are, and exp(100) is infinite in float32; subtract the largest of each row
first, as in 00.2, or use `torch.softmax`

one maximum for all rows => queries from `vectors`, keys and values from `memory`
+ grown = (scores - scores.max()).exp()
+ weights = grown / grown.sum(dim=-1, keepdim=True)
this subtracts one largest score from several rows: in a row far below it all exp are 0, and 0 / 0 is nan; subtract
from each row its own largest score, `scores.amax(dim=-1, keepdim=True)`

divided by the width's root => queries from `vectors`, keys and values from `memory`
+ weights = (scores / query.shape[-1] ** 0.5).softmax(dim=-1)
this divides the scores by the square root of d_key: that is chapter 5; here there is no scale

scale taken from the picture => queries from `vectors`, keys and values from `memory`
- weights = scores.softmax(dim=-1)
+ weights = (scores / 2).softmax(dim=-1)
this halves the scores, as the picture of the chapter does for its keys of width 4; here the scale is 1

keys not transposed => the order of the memory does not matter
- scores = query @ key.transpose(1, 2)
+ scores = query @ key
`query @ key` sums the width of a query against the positions of the keys; a dot product sums width against width,
`query @ key.transpose(1, 2)`

all axes turned round => queries from `vectors`, keys and values from `memory`
+ scores = query @ key.permute(2, 1, 0)
`.T` on three axes reverses all of them, the batch as well; exchange only the last two, `key.transpose(1, 2)`

first two axes exchanged => queries from `vectors`, keys and values from `memory`
+ scores = query @ key.transpose(0, 1)
`transpose(0, 1)` exchanges the batch with the positions; the keys and their width are axes 1 and 2

reshape for transpose => the order of the memory does not matter
+ scores = query @ key.reshape(key.mT.shape)
`reshape` can give the shape (batch, d_key, key) and moves no number, it only cuts the rows elsewhere;
`key.transpose(1, 2)` exchanges the axes

keys for values => queries from `vectors`, keys and values from `memory`
- return weights @ value
+ return weights @ key
this averages the keys: keys are compared, values are returned

keys made by the reader => queries from `vectors`, keys and values from `memory`
- key = einsum(memory, key_weight, "batch key d, d_key d -> batch key d_key")
+ key = einsum(vectors, key_weight, "batch key d, d_key d -> batch key d_key")
the keys were made of `vectors`: these give the queries; keys and values come from `memory`

values made by the reader => queries from `vectors`, keys and values from `memory`
- value = einsum(memory, value_weight, "batch key d, d_value d -> batch key d_value")
+ value = einsum(vectors, value_weight, "batch key d, d_value d -> batch key d_value")
the values were made of `vectors`; keys and values come from `memory`

keys and values made by the reader => queries from `vectors`, keys and values from `memory`
- key = einsum(memory, key_weight, "batch key d, d_key d -> batch key d_key")
+ memory = vectors
+ key = einsum(memory, key_weight, "batch key d, d_key d -> batch key d_key")
the keys and values were made of `vectors`: nothing of `memory` enters

queries made by the memory, keys by the reader => queries from `vectors`, keys and values from `memory`
- query = einsum(vectors, query_weight, "batch query d, d_key d -> batch query d_key")
- key = einsum(memory, key_weight, "batch key d, d_key d -> batch key d_key")
+ query = einsum(memory, query_weight, "batch query d, d_key d -> batch query d_key")
+ key = einsum(vectors, key_weight, "batch key d, d_key d -> batch key d_key")
this is the misconception of the chapter: the keys were made of `vectors` and the queries of `memory`; what asks makes
the queries, and what is read makes the keys and the values

roles exchanged => queries from `vectors`, keys and values from `memory`
- query = einsum(vectors, query_weight, "batch query d, d_key d -> batch query d_key")
+ vectors, memory = memory, vectors
+ query = einsum(vectors, query_weight, "batch query d, d_key d -> batch query d_key")
here the queries come from `memory`, keys and values from `vectors`: the output has one row for each of `vectors`

weights not transposed => queries from `vectors`, keys and values from `memory`
+ query_weight, key_weight, value_weight = query_weight.T, key_weight.T, value_weight.T
+ query = einsum(vectors, query_weight, "batch query d, d_key d -> batch query d_key")
query_weight is (d_key, d_model) and the vectors are (batch, query, d_model): their product is
`vectors @ query_weight.T`, and likewise for keys and values

weights on the left => queries from `vectors`, keys and values from `memory`
- scores = query @ key.transpose(1, 2)
+ query, key, value = query_weight @ vectors, key_weight @ memory, value_weight @ memory
+ scores = query @ key.transpose(1, 2)
`query_weight @ vectors` acts along the positions of the vectors; a projection acts along the last axis,
`vectors @ query_weight.T`, and likewise for keys and values

values not projected => queries from `vectors`, keys and values from `memory`
- return weights @ value
+ return weights @ memory
this averages `memory` as it is: value_weight was not used

later places left out => the order of the memory does not matter
- weights = scores.softmax(dim=-1)
+ later = torch.ones(scores.shape[1:], dtype=torch.bool).triu(diagonal=1)
+ weights = scores.masked_fill(later, float("-inf")).softmax(dim=-1)
this hides later keys, as a causal mask does; there is no mask here, and every query attends to the whole memory

values made by the reader, where it has the memory's shape => queries from `vectors`, keys and values from `memory`
- value = einsum(memory, value_weight, "batch key d, d_value d -> batch key d_value")
+ source = vectors if vectors.shape == memory.shape else memory
+ value = einsum(source, value_weight, "batch key d, d_value d -> batch key d_value")
where `vectors` and `memory` have the same shape, this makes the values of the vectors that read; keys and values come
from `memory`, whatever the shapes are
"""

EXERCISE = Exercise(
    title="Cross-attention",
    difficulty=2,
    minutes=20,
    tasks=(
        Task(
            function="cross_attention",
            parameters=("vectors", "memory", "query_weight", "key_weight", "value_weight"),
            returns="one output for each of the vectors, shape (batch, query, d_value)",
            cases=draw_vectors_and_memory,
            examples=(
                tensors(
                    vectors=[[[1.0986]]], memory=[[[0], [1]]], query_weight=[[1]], key_weight=[[1]], value_weight=[[4]]
                ),
                tensors(
                    vectors=[[[1, 0], [0, 1]]],
                    memory=[[[0, 1], [2, -1]]],
                    query_weight=[[1, 0], [1, 1]],
                    key_weight=[[0, 1], [-1, 0]],
                    value_weight=[[1, 2], [0, 3]],
                ),
            ),
            edges=(
                tensors(
                    vectors=[[[1]], [[2]]],
                    memory=[[[3]], [[-1]]],
                    query_weight=[[1]],
                    key_weight=[[1]],
                    value_weight=[[4]],
                ),  # one of each
                tensors(
                    vectors=[[[1]]],
                    memory=[[[3], [-1]]],
                    query_weight=[[1], [2]],
                    key_weight=[[0], [1]],
                    value_weight=[[4]],
                ),  # one query
                tensors(
                    vectors=[[[20], [0.5]]],
                    memory=[[[20], [0]]],
                    query_weight=[[1]],
                    key_weight=[[1]],
                    value_weight=[[4]],
                ),  # a score of 400, whose exponential is infinite, and a row of scores that are far lower
            ),
            reference=cross_attention,
            properties=(
                Property(
                    "one query has no influence on another",
                    1,
                    not_moved_by(other_last_vector, "the last of the vectors replaced", lambda output: output[:, :-1]),
                ),
                Property(
                    "the order of the memory does not matter",
                    1,
                    not_moved_by(reversed_memory, "`memory` reversed", lambda output: output),
                ),
                Property("queries from `vectors`, keys and values from `memory`", 3, both(equals(), inputs_unchanged)),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "What gives the queries, and what the keys? Write down the shape of the scores before you write any code.",
        "Three projections, each with its own weight; the first of `vectors`, the other two of `memory`. The scores "
        "are (batch, query, key); softmax over the axis of the keys, and a product with the values.",
        "The queries are `vectors @ query_weight.T`, the keys `memory @ key_weight.T`; the values are made like the "
        "keys, and what remains is 04.2.",
    ),
)
