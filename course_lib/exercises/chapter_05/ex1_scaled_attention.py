"""05.1: scaled dot-product attention."""

import torch
from torch.nn.functional import scaled_dot_product_attention as attention_of_torch

from course_lib.data import running_example
from course_lib.exercises.chapter_05._masking import FAR_APART, OF_SIZE_ONE, draw_attention, far_apart, seen_or_lost
from course_lib.exercises.drawing import sizes
from course_lib.exercises.operators import ATTENTION
from course_lib.exercises.responding import opposite, responds_to
from course_lib.grading.checks import both, equals, gradients_equal, inputs_unchanged, moved, of_output, sums_to
from course_lib.grading.exercise import Case, Exercise, Property, Task
from course_lib.masks import causal_mask


def scaled_dot_product_attention(query, key, value, mask):
    """The output by torch's own attention; with the identity for values, the same gives the weights."""
    identity = torch.eye(key.shape[-2]).expand(*key.shape[:-1], key.shape[-2])
    return attention_of_torch(query, key, value, mask), attention_of_torch(query, key, identity, mask)


def draw_with_leading_axes(generator: torch.Generator) -> Case:
    """Draw a case with no leading axis, one or two."""
    axes = int(torch.randint(3, (), generator=generator))
    return draw_attention(generator, *sizes(generator, *[3] * axes))


def ignores_hidden_keys(case: Case):
    """Replace the key, and its value, that is hidden from most queries: for those neither weights nor output move."""
    number = int(case["mask"].sum(0).argmin())
    blind = ~case["mask"][:, number]
    key, value = case["key"].clone(), case["value"].clone()
    key[..., number, :] = 3 - key[..., number, :]
    value[..., number, :] += 5
    before, after = yield [case, case | {"key": key, "value": value}]
    told = f"key and value {number} replaced, hidden from query {int(blind.nonzero()[0])}"
    for one, other, name in zip(before.value, after.value, ("output", "weights"), strict=True):
        if problem := moved(case, one[..., blind, :], other[..., blind, :], after=told, where=name):
            return problem
    return None


def opposite_query(case: Case) -> Case | None:
    """Turn every query round, where some query sees several keys, and several are hidden from some: weights move."""
    seen, hidden = case["mask"].sum(-1), (~case["mask"]).sum(-1)
    return case | {"query": opposite(case["query"])} if seen.max() > 1 and hidden.max() > 1 else None


RESPONDS = of_output(1, responds_to(opposite_query, "every query turned into its opposite"))


def hides_across_gaps(case: Case):
    """A hidden key has no weight, however far its scores are from those of the others."""
    far = far_apart(case)
    reply = yield far
    return seen_or_lost(case, reply.value, ~far["mask"], after=FAR_APART)


MISTAKES = """
no scale => the weights are the softmax of the scaled scores
- scores = query @ key.transpose(-2, -1) / d_key**0.5
+ scores = query @ key.transpose(-2, -1)
this is the softmax of the bare dot products: each is still to be divided by the root of d_key

width for its root => the weights are the softmax of the scaled scores
+ scores = query @ key.transpose(-2, -1) / d_key
this divides by d_key; the variance of a dot product is d_key, and its standard deviation the root of that

multiplied by the root => the weights are the softmax of the scaled scores
+ scores = query @ key.transpose(-2, -1) * d_key**0.5
this multiplies by the root of d_key, which makes the weights still sharper; divide by it

width of the values => the weights are the softmax of the scaled scores
+ scores = query @ key.transpose(-2, -1) / value.shape[-1] ** 0.5
this divides by the root of d_value; a dot product has d_key terms, however wide the values are

number of keys => the weights are the softmax of the scaled scores
+ scores = query @ key.transpose(-2, -1) / key.shape[-2] ** 0.5
this divides by the root of the number of keys, `key.shape[-2]`; d_key is `key.shape[-1]`

scaled after the softmax => the weights of each query sum to one
- scores = query @ key.transpose(-2, -1) / d_key**0.5
- allowed = scores.masked_fill(~mask, float("-inf"))
- weights = torch.softmax(allowed, dim=-1)
+ scores = query @ key.transpose(-2, -1)
+ allowed = scores.masked_fill(~mask, float("-inf"))
+ weights = torch.softmax(allowed, dim=-1) / d_key**0.5
this divides the weights by the root of d_key; the scores are divided, before the softmax

softmax over the queries => the weights of each query sum to one
- weights = torch.softmax(allowed, dim=-1)
+ weights = torch.softmax(allowed, dim=-2)
this is a softmax over the queries (dim=-2): they compete for a key; the keys are to compete for each query, along the
last axis

mask turned round (-inf) => a hidden key has exactly no influence
- allowed = scores.masked_fill(~mask, float("-inf"))
+ allowed = scores.masked_fill(mask, float("-inf"))
this hides what may be attended to: True means allowed; the fill goes where `~mask` is True

mask turned round (-1000000000.0) => a hidden key has exactly no influence
+ allowed = scores.masked_fill(mask, -1e9)

mask ignored => a hidden key has exactly no influence
+ allowed = scores
this attends to every key: the mask was not used

mask after the softmax => the weights of each query sum to one
- allowed = scores.masked_fill(~mask, float("-inf"))
- weights = torch.softmax(allowed, dim=-1)
+ weights = torch.softmax(scores, dim=-1) * mask
this is what masking after the softmax gives: hidden keys have already taken part of the weight, and the rest sums to
less than one

mask after the softmax, divided by the sum and 0.0 => hidden weights are exactly 0, also where scores differ by 1e30
+ weights = torch.softmax(scores, dim=-1) * mask
+ weights = weights / weights.sum(dim=-1, keepdim=True)
this masks after the softmax and divides by what is left: where a hidden score is far above the others, nothing is left
to divide; mask the scores, before the softmax

mask after the softmax, divided by the sum and 1e-09 => hidden weights are exactly 0, also where scores differ by 1e30
+ weights = torch.softmax(scores, dim=-1) * mask
+ weights = weights / (weights.sum(dim=-1, keepdim=True) + 1e-9)

zero for a score => a hidden key has exactly no influence
- allowed = scores.masked_fill(~mask, float("-inf"))
+ allowed = scores * mask
this sets the hidden scores to 0: a score of 0 is not hidden, since exp(0) is 1; only minus infinity gets no weight

-1e9 put in => hidden weights are exactly 0, also where scores differ by 1e30
+ allowed = scores.masked_fill(~mask, -1e9)
this puts a large finite number such as -1e9 for a hidden score, or adds -1e30 to it: where all others are lower still,
it gets the whole weight; `float("-inf")` never does

-1e9 added => hidden weights are exactly 0, also where scores differ by 1e30
+ allowed = scores - 1e9 * ~mask
this adds a large finite number such as -1e9 to a hidden score: a hidden score of 1e30 still gets weight;
`float("-inf")` leaves none

nan from 0 times infinity => the weights of each query sum to one
+ allowed = scores + ~mask * float("-inf")
this multiplies the mask by minus infinity, and 0 times infinity is nan; `masked_fill` or `torch.where` put it only
where it belongs

transposed by key.T => the weights are the softmax of the scaled scores
- scores = query @ key.transpose(-2, -1) / d_key**0.5
+ scores = query @ key.permute(*range(key.dim())[::-1]) / d_key**0.5
`key.T` is right for one number of axes only; exchange the last two of (..., key, d_key), whatever stands before them:
`.mT` or `transpose(-2, -1)`

transposed by key.transpose(0, 1) => the weights are the softmax of the scaled scores
+ scores = query @ key.transpose(0, 1) / d_key**0.5
`key.transpose(0, 1)` is right for one number of axes only; exchange the last two of (..., key, d_key), whatever stands
before them: `.mT` or `transpose(-2, -1)`

transposed by key.transpose(1, 2) => the weights are the softmax of the scaled scores
+ scores = query @ key.transpose(1, 2) / d_key**0.5
`key.transpose(1, 2)` is right for one number of axes only; exchange the last two of (..., key, d_key), whatever stands
before them: `.mT` or `transpose(-2, -1)`

width counted from the front => the weights are the softmax of the scaled scores
- d_key = key.shape[-1]
+ d_key = key.shape[1]
`key.shape[1]` is the width of a key only if there are no leading axes; counted from the end it is always
`key.shape[-1]`

softmax along axis 1 => the weights of each query sum to one
- weights = torch.softmax(allowed, dim=-1)
+ weights = torch.softmax(allowed, dim=1)
`dim=1` is the axis of the keys only if there are no leading axes; counted from the end it is always `dim=-1`

keys read => the output is the weighted sum of the values
- return weights @ value, weights
+ return weights @ key, weights
this averages the keys: keys are compared, values are averaged

weights first => the output is the weighted sum of the values
+ return weights, weights @ value
this returns (weights, output); the output comes first

no way back => the gradients are right
- weights = torch.softmax(allowed, dim=-1)
+ weights = torch.softmax(allowed, dim=-1).detach()
the output is right, but the gradient does not flow back through it: somewhere the graph is cut, as by `.detach()`,
`.data`, `.item()`, `torch.tensor(...)` or `torch.no_grad()`

query overwritten => inputs unchanged
- scores = query @ key.transpose(-2, -1) / d_key**0.5
+ query /= d_key**0.5
+ scores = query @ key.transpose(-2, -1)
this divides the caller's queries in place (`query /= ...`): a second call would scale them again
"""

EXERCISE = Exercise(
    title="Scaled dot-product attention",
    difficulty=2,
    minutes=25,
    forbidden=ATTENTION,
    tasks=(
        Task(
            function="scaled_dot_product_attention",
            parameters=("query", "key", "value", "mask"),
            returns="the output, shape (..., query, d_value), and the weights, shape (..., query, key)",
            outputs=("output", "weights"),
            cases=draw_with_leading_axes,
            examples=(
                {
                    "query": torch.tensor([[2.0, 0.0, 0.0, 0.0]]),
                    "key": torch.tensor([[1.0986, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [5.0, 5.0, 5.0, 5.0]]),
                    "value": torch.tensor([[4.0], [8.0], [100.0]]),
                    "mask": torch.tensor([[True, True, False]]),
                },
                {
                    "query": torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]),
                    "key": torch.tensor([[[1.5537, 2.0], [0.0, 1.0]]]),
                    "value": torch.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]]),
                    "mask": torch.tensor([[True, True], [False, True]]),
                },
                {
                    "query": running_example.Q,
                    "key": running_example.K,
                    "value": running_example.V,
                    "mask": causal_mask(len(running_example.TOKENS)),
                },
            ),
            edges=OF_SIZE_ONE,
            reference=scaled_dot_product_attention,
            properties=(
                Property("the weights of each query sum to one", 1, both(of_output(1, sums_to(1)), RESPONDS)),
                Property("the weights are the softmax of the scaled scores", 2, of_output(1, equals())),
                Property("the output is the weighted sum of the values", 2, of_output(0, equals())),
                Property("a hidden key has exactly no influence", 2, both(ignores_hidden_keys, RESPONDS)),
                Property(
                    "hidden weights are exactly 0, also where scores differ by 1e30",
                    1,
                    both(of_output(1, hides_across_gaps), RESPONDS),
                ),
                Property("the gradients are right", 1, gradients_equal(), only_when_right=True),
                Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "Four steps: compare, scale, mask, average. Which two axes of `key` have to be exchanged, so that every query "
        "meets every key? And what must a score be for exp to make exactly 0 of it?",
        "Scores (..., query, key) from `query` and the transposed `key`; divide by the root of the last size of `key`; "
        "put minus infinity where `mask` is False; softmax over the keys; a product with `value`.",
        "`key.transpose(-2, -1)` transposes behind any leading axes, `key.shape[-1] ** 0.5` is the root, and "
        '`scores.masked_fill(~mask, float("-inf"))` hides; the rest is one softmax and one `@`.',
    ),
)
