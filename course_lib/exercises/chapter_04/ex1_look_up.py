"""04.1: a soft look-up in a dictionary."""

import torch

from course_lib.data import running_example
from course_lib.exercises.chapter_04._examples import tensors
from course_lib.exercises.drawing import normal, sizes, uniform
from course_lib.grading.checks import equals, inputs_unchanged, on
from course_lib.grading.exercise import Case, Exercise, Property, Task

ITSELF = running_example.Q[running_example.TOKENS.index("itself")]  # (d_key,): the query that the chapter follows


def look_up(query, key, value, scale):
    """Softmax of the scaled dot products, and the average of the values."""
    return (scale * (key @ query)).softmax(0) @ value


def draw_dictionary(generator: torch.Generator) -> Case:
    """Draw one query, a few keys with their values, and a scale."""
    n, d_key, d_value = sizes(generator, 5, 4, 4, least=2)
    return {
        "query": normal(generator, d_key),
        "key": normal(generator, n, d_key),
        "value": normal(generator, n, d_value),
        "scale": uniform(generator, 0.3, 3.0),
    }


def far_apart(case: Case) -> Case:
    """Make the scores 0, 1, 2, ... in the order that they had, and scale by 1,000: the weights are exactly one-hot."""
    query, key = torch.zeros_like(case["query"]), case["key"].clone()
    query[0] = 1
    key[:, 0] = (case["key"] @ case["query"]).argsort().argsort()
    return case | {"query": query, "key": key, "scale": 1000.0}


def equal_keys(case: Case) -> Case:
    """Give every entry of the dictionary the first key."""
    return case | {"key": case["key"][:1].repeat(len(case["key"]), 1)}


MISTAKES = """
scale forgotten => at a large scale the best value
- scores = einsum(key, query, "n d_key, d_key -> n") * scale
+ scores = einsum(key, query, "n d_key, d_key -> n")
this is the look-up at scale 1: `scale` was not used

divided by the scale => at a large scale the best value
+ scores = einsum(key, query, "n d_key, d_key -> n") / scale
this divides the scores by the scale, as one does by a temperature; the scale multiplies them

scaled too late => equal keys give the mean of the values
- scores = einsum(key, query, "n d_key, d_key -> n") * scale
- weights = scores.softmax(dim=0)
+ scores = einsum(key, query, "n d_key, d_key -> n")
+ weights = scores.softmax(dim=0) * scale
this multiplies the weights by the scale, after the softmax: they sum to the scale and not to one

the best key only => equal keys give the mean of the values
- return einsum(weights, value, "n, n d_value -> d_value")
+ return value[scores.argmax()]
this returns the value of the best key and drops the rest: a hard look-up

softmax forgotten => equal keys give the mean of the values
- weights = scores.softmax(dim=0)
+ weights = scores
this weighs the values by the scores themselves: the softmax is missing

divided by the sum => at a large scale the best value
+ weights = scores / scores.sum()
this divides the scores by their sum: where the sum is near 0 the weights explode, and scores below 0 give weights below
0; exp comes first

no guard against overflow => at a large scale the best value
+ weights = scores.exp() / scores.exp().sum()
this is exp(scores) over their sum: exp(1000) is infinite; `softmax` subtracts the maximum first

mean for sum => equal keys give the mean of the values
- return einsum(weights, value, "n, n d_value -> d_value")
+ return einsum(weights, value, "n, n d_value -> d_value") / len(key)
this divides by the number of keys after weighting; the weights already sum to one

not summed => the average of the values by softmax weights
+ return weights[:, None] * value
these are the weighted values, one row for each key, before they are summed

every axis of length 1 dropped => the average of the values by softmax weights
+ return (weights[None] @ value).squeeze()
`squeeze()` without an axis removes every axis of length 1, also that of the values where they have one entry; the
answer always has the shape (d_value,)

shares without an axis for the width => the average of the values by softmax weights
+ return (weights * value).sum(dim=0)
weights (n,) times value (n, d_value) pairs weights with columns; `weights[:, None]` or `weights @ value` with rows

keys returned => the average of the values by softmax weights
+ return weights @ key
this is the average of the keys: keys are compared, values are returned

summed over the keys => the average of the values by softmax weights
- scores = einsum(key, query, "n d_key, d_key -> n") * scale
+ scores = query @ key * scale
`query @ key` sums over the keys, one number for each column; `key @ query` sums over the width, one number for each key

cosine instead of dot product => the average of the values by softmax weights
- scores = einsum(key, query, "n d_key, d_key -> n") * scale
+ scores = scale * (key @ query) / (key.norm(dim=1) * query.norm())
this divides each dot product by the two norms, which makes it a cosine: then a long key has no advantage

key overwritten => inputs unchanged
- scores = einsum(key, query, "n d_key, d_key -> n") * scale
+ key *= scale * query
+ scores = key.sum(dim=1)
this multiplies the caller's keys in place (`key *= ...`)

cosine, also with a norm of 0 => the average of the values by softmax weights
- scores = einsum(key, query, "n d_key, d_key -> n") * scale
+ normalize = torch.nn.functional.normalize
+ scores = scale * (normalize(key, dim=1) @ normalize(query, dim=0))
this brings query and keys to the length 1 first (`normalize`, `cosine_similarity`), so that a long key has no
advantage; the score is the dot product of the two as they are

a scale of 0 taken for none => the average of the values by softmax weights
- scores = einsum(key, query, "n d_key, d_key -> n") * scale
+ scores = einsum(key, query, "n d_key, d_key -> n") * (scale or key.shape[-1] ** -0.5)
`scale or ...` takes 0 for a scale that was not given; 0 is a number like any other, and makes all weights equal

the best key only, where the scale is large => equal keys give the mean of the values
- return einsum(weights, value, "n, n d_value -> d_value")
+ return value[scores.argmax()] if scale >= 20 else einsum(weights, value, "n, n d_value -> d_value")
at a large scale this returns the value of one best key; keys that score the same share the weight at any scale
"""

EXERCISE = Exercise(
    title="Look-up",
    difficulty=1,
    minutes=10,
    tasks=(
        Task(
            function="look_up",
            parameters=("query", "key", "value", "scale"),
            returns="the average of the values, shape (d_value,)",
            cases=draw_dictionary,
            examples=(
                tensors(query=[1, 0], key=[[1, 0], [0, 1]], value=[[8], [4]]) | {"scale": 1.0986},
                tensors(query=[2], key=[[1], [1], [0]], value=[[0], [6], [9]]) | {"scale": 50.0},
                {"query": ITSELF, "key": running_example.K, "value": running_example.V, "scale": 0.5},
            ),
            edges=(
                tensors(query=[2], key=[[1]], value=[[3]]) | {"scale": 1.0},  # one of everything
                tensors(query=[1, 0], key=[[1, 0], [0, 1]], value=[[8], [4]])
                | {"scale": 0.0},  # a scale of 0: the mean
            ),
            reference=look_up,
            properties=(
                Property("the average of the values by softmax weights", 2, equals()),
                Property("at a large scale the best value", 2, on(far_apart, equals())),
                Property("equal keys give the mean of the values", 1, on(equal_keys, equals())),
                Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "Which of the three is compared with the query, and which is returned? How many scores are there?",
        "One dot product for each key makes scores of shape (n,); multiply them by the scale; softmax; then sum the "
        "values, each times its weight.",
        "`scores = scale * (key @ query)`, shape (n,); their softmax is a row of weights, and a row times the matrix "
        "`value` is the weighted sum.",
    ),
)
