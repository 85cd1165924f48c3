"""05.4: each of five functions is attention but for one line."""

import torch

from course_lib.exercises.chapter_05._masking import (
    ALL_LOW,
    FAR_APART,
    OF_SIZE_ONE,
    draw_attention,
    far_apart,
    masked_softmax,
    scaled_scores,
)
from course_lib.exercises.drawing import sizes
from course_lib.exercises.operators import ATTENTION
from course_lib.grading.checks import difference, equals, inputs_unchanged
from course_lib.grading.exercise import Case, Exercise, Property, Task


def attention(query, key, value, mask):
    """The attention that all five are meant to compute."""
    return masked_softmax(scaled_scores(query, key), mask) @ value


def draw_batch(generator: torch.Generator) -> Case:
    """Draw a case with a batch."""
    return draw_attention(generator, *sizes(generator, 3, least=2))


def right_across_gaps(case: Case):
    """A hidden key has no part in the output, however far its scores are from those of the others."""
    reply = yield far_apart(case)
    return difference(case, reply.value, reply.expected, after=FAR_APART)


def suspect(name: str, mistakes: str, points: int, *more: Property) -> Task:
    """Return the task of repairing one of them; what is verified of all gives `points`."""
    return Task(
        function=name,
        parameters=("query", "key", "value", "mask"),
        returns="the output of scaled dot-product attention, shape (batch, query, d_value)",
        cases=draw_batch,
        examples=(
            {
                "query": torch.tensor([[[2.0, 0.0, 0.0, 0.0]]]),
                "key": torch.tensor([[[1.0986, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [5.0, 5.0, 5.0, 5.0]]]),
                "value": torch.tensor([[[4.0], [8.0], [100.0]]]),
                "mask": torch.tensor([[True, True, False]]),
            },
        ),
        edges=(*OF_SIZE_ONE, ALL_LOW),
        reference=attention,
        properties=(Property("the output is that of attention", points, equals()), *more),
        mistakes=mistakes,
    )


FIRST_MISTAKES = """
the first bug => the output is that of attention
- weights = scores.softmax(dim=-1)
+ weights = scores.softmax(dim=1)
this is still the version with the bug: give it one query, two equal keys with the values 0 and 2, and a mask that
allows both, and instead of their mean 1 it returns their sum 2

over the batch => the output is that of attention
+ weights = scores.softmax(dim=0)
now the examples of the batch compete with each other; the keys are to compete for each query

number of keys in the scale => the output is that of attention
- scores = query @ key.transpose(1, 2) / key.shape[2] ** 0.5
+ scores = query @ key.transpose(1, 2) / key.shape[1] ** 0.5
now the scores are divided by the root of the number of keys; divide by the root of d_key

over the batch, nan to 0 => the output is that of attention
- weights = scores.softmax(dim=-1)
+ weights = scores.softmax(dim=0).nan_to_num()
now the examples of the batch compete with each other; the keys are to compete for each query

divided by the sum of the row => the output is that of attention
+ weights = scores.softmax(dim=1)
+ weights = weights / weights.sum(dim=-1, keepdim=True)
this keeps the softmax over the queries and divides its rows by their sums, which gives other weights than a softmax
over the keys

divided by the sum of the row, nan to 0 => the output is that of attention
+ weights = scores.softmax(dim=1).nan_to_num()
+ weights = weights / weights.sum(dim=-1, keepdim=True)

over queries and keys => the output is that of attention
+ weights = scores.flatten(1).softmax(dim=1).view(scores.shape)
this is one softmax over the queries and keys of an example together; each row is to sum to one
"""

SECOND_MISTAKES = """
the second bug => the output is that of attention
- scores = scores * key.shape[-1] ** -0.5
+ scores = scores * value.shape[-1] ** -0.5
this is still the version with the bug: it is right where values are as wide as keys; try values that are wider

no scale => the output is that of attention
- scores = scores * key.shape[-1] ** -0.5
now nothing is scaled; the division by the root of d_key has to stay

width for its root => the output is that of attention
+ scores = scores / key.shape[-1]
now the scores are divided by d_key; divide by its root

number of keys in the scale => the output is that of attention
+ scores = scores * key.shape[-2] ** -0.5
now the scores are divided by the root of the number of keys; divide by the root of d_key

number of queries in the scale => the output is that of attention
+ scores = scores * query.shape[-2] ** -0.5
now the scores are divided by the root of the number of queries; divide by the root of d_key

multiplied by the root => the output is that of attention
+ scores = scores * key.shape[-1] ** 0.5
now the scores are multiplied by the root of d_key; divide by it

always halved => the output is that of attention
+ scores = scores * 0.5
now the scores are halved, which is right where d_key is 4, as in the example; the scale depends on the width of a key
"""

THIRD_MISTAKES = """
the third bug => the output is that of attention
- columns = rearrange(key, "batch keys width -> batch width keys") / width**0.5
+ columns = key.reshape(batch, width, keys) / width**0.5
this is still the version with the bug: it is right for a single key, and for keys of a single number; try the two keys
`1 2` and `3 4`

no scale => the output is that of attention
+ columns = rearrange(key, "batch keys width -> batch width keys")
now nothing is scaled; the division by the root of d_key has to stay

number of keys in the scale => the output is that of attention
+ columns = rearrange(key, "batch keys width -> batch width keys") / keys**0.5
now the scores are divided by the root of the number of keys; divide by the root of d_key
"""

FOURTH_MISTAKES = """
the fourth bug => the output is that of attention
- weights = torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1)
+ weights = torch.softmax(scores, dim=-1)
+ weights = weights.masked_fill(~mask, 0.0)
this is still the version with the bug: give it two equal keys with the value 1 each and hide one of them, and it
returns 0.5

divided by the sum => the output is right also where scores differ by 1e30
+ weights = torch.softmax(scores, dim=-1) * mask
+ weights = weights / weights.sum(dim=-1, keepdim=True)
this repairs the sum afterwards; give the hidden key a score far above the others, and nothing is left to divide by:
0 / 0 is nan

-1e9 put in => the output is right also where scores differ by 1e30
+ weights = torch.softmax(scores.masked_fill(~mask, -1e9), dim=-1)
a large finite number such as -1e9 hides a key only while no other score is lower

-1e9 added => the output is right also where scores differ by 1e30
+ weights = torch.softmax(scores - 1e9 * ~mask, dim=-1)
this adds a large finite number such as -1e9 to a hidden score, and a hidden score of 1e30 is still the largest; put
minus infinity in its place

zero for a score => the output is that of attention
+ weights = torch.softmax(scores * mask, dim=-1)
now the score of a hidden key is 0, and exp(0) is 1: the key keeps some weight

softmax twice => the output is that of attention
+ weights = torch.softmax(scores, dim=-1)
+ weights = torch.softmax(weights.masked_fill(~mask, float("-inf")), dim=-1)
now the softmax is taken twice, the second time of weights; hide scores, and take one softmax

the smallest score less 10 put in => the output is right also where scores differ by 1e30
- weights = torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1)
+ weights = torch.softmax(scores.masked_fill(~mask, scores.min().item() - 10), dim=-1)
this puts in a number a little below the smallest score: exp(-10) is still a weight where the scores lie close together,
and where they are huge the 10 is rounded away; minus infinity gets none
"""

FIFTH_MISTAKES = """
the fifth bug => inputs unchanged
- query = query / query.shape[-1] ** 0.5
+ query /= query.shape[-1] ** 0.5
the answer is right, but this still writes to a tensor of the caller; look at all four arguments before and after the
call

no scale => the output is that of attention
- query = query / query.shape[-1] ** 0.5
now nothing is scaled; the division by the root of d_key has to stay
"""

EXERCISE = Exercise(
    title="Find five bugs",
    difficulty=3,
    minutes=35,
    forbidden=ATTENTION,
    tasks=(
        suspect("first_suspect", FIRST_MISTAKES, 2),
        suspect("second_suspect", SECOND_MISTAKES, 2),
        suspect("third_suspect", THIRD_MISTAKES, 2),
        suspect(
            "fourth_suspect",
            FOURTH_MISTAKES,
            1,
            Property("the output is right also where scores differ by 1e30", 1, right_across_gaps),
        ),
        suspect(
            "fifth_suspect", FIFTH_MISTAKES, 1, Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True)
        ),
    ),
    hints=(
        "None of the five stops with an error, so look for what has the right shape and the wrong meaning. Which small "
        "inputs would tell? One query; two equal keys; a mask that hides nothing; values of another width than the "
        "keys; the same call twice.",
        "For each line ask: along which axis does this run, which size does it take, does it move numbers or only "
        "rename axes, does it come before or after the softmax, and whose tensor does it write to?",
        "In the order of the five: the axis of the softmax; the width in the scale; how the keys are transposed; where "
        "the mask is applied; the operator with which the queries are scaled.",
    ),
)
