"""04.2: self-attention whose queries, keys and values are three projections of the inputs."""

import torch

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import both, equals, gradients_equal, inputs_unchanged, not_moved_by, on
from course_lib.grading.exercise import Case, Exercise, Property, Task


def self_attention(d_model, d_key, d_value, state, inputs):
    """Softmax of the dot products of queries and keys, and the average of the values."""
    query, key, value = (inputs @ state[f"{layer}.weight"].mT for layer in ("to_query", "to_key", "to_value"))
    return (query @ key.mT).softmax(-1) @ value


def draw_module(generator: torch.Generator) -> Case:
    """Draw weights that do not saturate the softmax, and inputs; in half of the cases, all sizes are equal."""
    batch, time, d_model, d_key, d_value = sizes(generator, 4, 4, 4, 4, 4, least=2)
    if torch.rand((), generator=generator) < 0.5:  # where torch does not notice which axis is which
        batch = time = d_model = d_key = d_value = sizes(generator, 3, least=2)[0]
    widths = {"to_query": d_key, "to_key": d_key, "to_value": d_value}
    return {
        "d_model": d_model,
        "d_key": d_key,
        "d_value": d_value,
        "state": {f"{layer}.weight": normal(generator, width, d_model) / 2 for layer, width in widths.items()},
        "inputs": normal(generator, batch, time, d_model),
    }


def alone(case: Case) -> Case:
    """Keep the first vector of every sequence."""
    return case | {"inputs": case["inputs"][:, :1].clone()}


def other_last_sequence(case: Case) -> Case:
    """Replace the last sequence of the batch."""
    inputs = case["inputs"].clone()
    inputs[-1] = 1 - inputs[-1].flip(0)
    return case | {"inputs": inputs}


MISTAKES = """
softmax over the queries => every query averages the values by its own weights
- weights = scores.softmax(dim=-1)
+ weights = scores.softmax(dim=1)
this is a softmax over the queries: the queries compete for each key; the weights of one query sum to one over the keys,
the last axis of scores (batch, query, key)

softmax over the batch => one sequence has no influence on another
+ weights = scores.softmax(dim=0)
this is a softmax over the batch: the same position of different sequences competes

softmax forgotten => a vector alone receives its own value
+ weights = scores
this weighs the values by the scores themselves: the softmax is missing

divided by the width's root => every query averages the values by its own weights
+ weights = (scores / query.shape[-1] ** 0.5).softmax(dim=-1)
this divides the scores by the square root of d_key: that is chapter 5; here there is no scale

keys not transposed => every query averages the values by its own weights
- scores = einsum(query, key, "batch query d, batch key d -> batch query key")
+ scores = query @ key
`query @ key` sums the width of a query against the positions of the keys; a dot product sums width against width,
`query @ key.transpose(1, 2)`

all axes turned round => every query averages the values by its own weights
+ scores = query @ key.permute(2, 1, 0)
`.T` on three axes reverses all of them, the batch as well; exchange only the last two, `key.transpose(1, 2)`

first two axes exchanged => every query averages the values by its own weights
+ scores = query @ key.transpose(0, 1)
`transpose(0, 1)` exchanges the batch with the positions; the keys and their width are axes 1 and 2

reshape for transpose => every query averages the values by its own weights
+ scores = query @ key.reshape(key.mT.shape)
`reshape` can give the shape (batch, d_key, key) and moves no number, it only cuts the rows elsewhere;
`key.transpose(1, 2)` exchanges the axes

keys for values => a vector alone receives its own value
- return weights @ value
+ return weights @ key
this averages the keys: keys are compared, values are returned

queries and keys exchanged => every query averages the values by its own weights
- scores = einsum(query, key, "batch query d, batch key d -> batch query key")
+ scores = key @ query.mT
here the keys are in the role of the queries: row i of the scores belongs to query i

one sequence for all => one sequence has no influence on another
- value = self.to_value(inputs)
+ value = self.to_value(inputs).flatten(0, 1)
+ query, key = query.flatten(0, 1), key.flatten(0, 1)
+ return ((query @ key.T).softmax(dim=-1) @ value).view(*inputs.shape[:2], -1)
here every query reads the keys of all sequences of the batch: the batch has to stay an axis

the first sequence for all => every query averages the values by its own weights
- query = self.to_query(inputs)
+ query, inputs = self.to_query(inputs), inputs[:1].expand(inputs.shape)
here all sequences read the keys and values of the first one; every sequence attends to its own

later places left out => every query averages the values by its own weights
- weights = scores.softmax(dim=-1)
+ later = torch.ones(scores.shape[1:], dtype=torch.bool).triu(diagonal=1)
+ weights = scores.masked_fill(later, float("-inf")).softmax(dim=-1)
this hides later vectors, as a causal mask does; there is no mask here, and every vector attends to all

inputs for values => a vector alone receives its own value
- return weights @ value
+ return weights @ inputs
this averages the inputs: `to_value` was not used

one projection for queries and keys => every query averages the values by its own weights
- key = self.to_key(inputs)
+ key = self.to_query(inputs)
this compares the queries with each other: `to_key` was not used

no projection for queries and keys => every query averages the values by its own weights
- query = self.to_query(inputs)
- key = self.to_key(inputs)
+ query, key = inputs, inputs
this compares the inputs themselves, as in chapter 3: `to_query` and `to_key` were not used

gradient cut => gradients reach the inputs and all three layers
- return weights @ value
+ return (weights @ value).detach()
the numbers are right and the gradient is not: somewhere a tensor was cut out of the graph (`.detach()`, `.data`,
`torch.no_grad()`), and what lies before the cut cannot learn

weights without a gradient => gradients reach the inputs and all three layers
- weights = scores.softmax(dim=-1)
+ weights = scores.softmax(dim=-1).detach()
the numbers are right, but no gradient goes back through the weights (`.detach()`, `torch.no_grad()`), so `to_query` and
`to_key` cannot learn

itself left out => a vector alone receives its own value
- weights = scores.softmax(dim=-1)
+ itself = torch.eye(scores.shape[-1], dtype=torch.bool)
+ weights = scores.masked_fill(itself, float("-inf")).softmax(dim=-1)
this hides each vector from itself; every vector attends to all vectors of its sequence, its own included

every axis of length 1 dropped => every query averages the values by its own weights
- return weights @ value
+ return (weights @ value).squeeze()
`squeeze()` without an axis removes every axis of length 1, also the batch or the time; the answer always has three axes
"""

EXERCISE = Exercise(
    title="Three projections",
    difficulty=2,
    minutes=25,
    tasks=(
        Task(
            function="SelfAttention",
            parameters=("inputs",),
            returns="one output for each vector of each sequence, shape (batch, time, d_value)",
            cases=draw_module,
            examples=(
                {
                    "d_model": 2,
                    "d_key": 1,
                    "d_value": 1,
                    "state": {
                        "to_query.weight": torch.tensor([[1.0986, 0.0]]),
                        "to_key.weight": torch.tensor([[0.0, 1.0]]),
                        "to_value.weight": torch.tensor([[4.0, 8.0]]),
                    },
                    "inputs": torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]),
                },
            ),
            edges=(
                {
                    "d_model": 1,
                    "d_key": 1,
                    "d_value": 1,
                    "state": {
                        "to_query.weight": torch.tensor([[2.0]]),
                        "to_key.weight": torch.tensor([[1.0]]),
                        "to_value.weight": torch.tensor([[-3.0]]),
                    },
                    "inputs": torch.tensor([[[1.0]], [[2.0]]]),
                },  # one vector, one feature, a batch of two
                {
                    "d_model": 2,
                    "d_key": 1,
                    "d_value": 1,
                    "state": {
                        "to_query.weight": torch.tensor([[2.0, 0.0]]),
                        "to_key.weight": torch.tensor([[1.0, -1.0]]),
                        "to_value.weight": torch.tensor([[0.5, 3.0]]),
                    },
                    "inputs": torch.tensor([[[1.0, 0.0], [1.0, 0.0]]]),
                },  # one sequence of two equal vectors, keys and values one wide
                {
                    "d_model": 2,
                    "d_key": 1,
                    "d_value": 3,
                    "state": {
                        "to_query.weight": torch.tensor([[2.0, 0.0]]),
                        "to_key.weight": torch.tensor([[1.0, -1.0]]),
                        "to_value.weight": torch.tensor([[0.5, 3.0], [1.0, 0.0], [0.0, -2.0]]),
                    },
                    "inputs": torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]),
                },  # three widths, so that none can be taken for another
            ),
            reference=self_attention,
            properties=(
                Property("a vector alone receives its own value", 1, on(alone, equals())),
                Property(
                    "one sequence has no influence on another",
                    1,
                    not_moved_by(other_last_sequence, "the last sequence of the batch replaced", lambda out: out[:-1]),
                ),
                Property("every query averages the values by its own weights", 3, both(equals(), inputs_unchanged)),
                Property("gradients reach the inputs and all three layers", 2, gradients_equal()),
            ),
            mistakes=MISTAKES,
            constructor=("d_model", "d_key", "d_value"),
        ),
    ),
    hints=(
        "What does each of the three layers make of `inputs`, and in which shape? Which two of them must have the same "
        "width?",
        "In `__init__`, make the three layers. In `forward`, apply each to the inputs; the scores are all dot products "
        "of a query with a key of the same sequence, (batch, query, key); softmax over the keys; then a batched "
        "product with the values.",
        "Each layer is a `nn.Linear(d_model, ..., bias=False)`. Of `query`, `key` and `value`, the scores are "
        "`query @ key.transpose(1, 2)`, and the keys are their last axis.",
    ),
)
