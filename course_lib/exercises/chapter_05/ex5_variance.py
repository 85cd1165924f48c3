"""05.5: the variance of dot products by simulation."""

from functools import cache

import torch

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import both, difference, inputs_unchanged
from course_lib.grading.exercise import Case, Check, Exercise, Property, Task
from course_lib.grading.problem import Problem

SAMPLES, WIDTHS, MARGIN = 2000, (4, 64), 0.15


def score_variances(query, key):
    """Unbiased variance of the dot products, and of the scaled ones."""
    products = (query * key).sum(-1)
    return torch.stack([products.var(), (products / key.shape[-1] ** 0.5).var()])


def draw_pairs(generator: torch.Generator) -> Case:
    """Draw pairs of a query and a key, away from zero, so that their products have a mean."""
    shape = sizes(generator, 6, 6, least=2)  # (samples, d_key)
    return {name: normal(generator, *shape) + 0.5 for name in ("query", "key")}


def entry(number: int) -> Check:
    """One of the two numbers alone is right."""

    def check(case: Case):
        reply = yield case
        where = f"the {('first', 'second')[number]} number of the answer"
        return difference(case, reply.value[number], reply.expected[number], where=where)

    return check


@cache
def simulation(d_key: int) -> Case:
    """Draw many pairs of independent normal numbers: always the same, so this is asked once."""
    generator = torch.Generator().manual_seed(d_key)
    return {name: normal(generator, SAMPLES, d_key) for name in ("query", "key")}


def grows_as_the_width(case: Case):
    """For independent normal numbers the variance is near d_key, and scaled near 1."""
    replies = yield [simulation(d_key) for d_key in WIDTHS]
    for d_key, reply in zip(WIDTHS, replies, strict=True):
        for got, near, name in zip(reply.value.tolist(), (d_key, 1), ("dot products", "scaled ones"), strict=True):
            if not abs(got - near) <= MARGIN * near:
                pairs = f"{SAMPLES} pairs of independent normal numbers, d_key = {d_key}"
                where = f"the variance of the {name} of {pairs}"
                return Problem("value", where=where, got=got, expected=f"{near} within {MARGIN:.0%}")
    return None


MISTAKES = """
every query with every key => the variance of the dot products
- products = einsum(query, key, "samples d_key, samples d_key -> samples")
+ products = query @ key.T
this takes the dot product of every query with every key; query i belongs to key i alone, so there is one number for
each pair

summed over the samples => near d_key and near 1 for independent normal numbers
+ products = einsum(query, key, "samples d_key, samples d_key -> d_key")
this sums the products over the samples; a dot product sums over d_key, the last axis

not summed => near d_key and near 1 for independent normal numbers
+ products = query * key
this is the variance of the products of single entries: they are to be summed over d_key first

mean for sum => the variance of the dot products
+ products = (query * key).mean(dim=-1)
this averages the d_key products; a dot product is their sum

divided by samples => the variance of the dot products
- return torch.stack([products.var(), scaled.var()])
+ return torch.stack([products.var(correction=0), scaled.var(correction=0)])
this is the variance divided by the number of samples (`correction=0`); the unbiased one divides by one less

mean not taken off => the variance of the dot products
+ return torch.stack([products.square().mean(), scaled.square().mean()])
this averages the squares; a variance subtracts the mean before it squares

mean not taken off, one less => the variance of the dot products
+ return torch.stack([each.square().sum() / (len(query) - 1) for each in (products, scaled)])

standard deviation => the variance of the dot products
+ return torch.stack([products.std(), scaled.std()])
these are standard deviations, the roots of the variances

the variance divided by the root => the variance of the scaled dot products
+ return torch.stack([products.var(), products.var() / query.shape[-1] ** 0.5])
this divides the variance by the root of d_key; the scores are divided by it, which divides their variance by its
square, d_key

width for its root => the variance of the scaled dot products
- scaled = products / query.shape[-1] ** 0.5
+ scaled = products / query.shape[-1]
this divides the scores by d_key: their variance falls to 1 / d_key; divide by its root

both scaled => the variance of the dot products
- scaled = products / query.shape[-1] ** 0.5
+ products = products / query.shape[-1] ** 0.5
+ scaled = products / query.shape[-1] ** 0.5
the first number is the variance of the dot products as they are; here they were scaled before, and for the second
number once more

root of the samples => the variance of the scaled dot products
+ scaled = products / len(query) ** 0.5
this divides by the root of the number of samples, `len(query)`; d_key is the last size

what the theory says => the variance of the dot products
- return torch.stack([products.var(), scaled.var()])
+ return torch.tensor([float(query.shape[-1]), 1.0])
these are d_key and 1, what the theory says for many pairs; compute the variances of the pairs that are given

d_key times the variance of the entries => the variance of the dot products
+ entries = (query * key).var()
+ return torch.stack([query.shape[-1] * entries, entries])
this multiplies the variance of the single products by d_key, as the theory says for many pairs; compute the dot
products and take their variance

variances of the products added up => the variance of the dot products
- return torch.stack([products.var(), scaled.var()])
+ plain = (query * key).var(dim=0).sum()
+ return torch.stack([plain, plain / query.shape[-1]])
this adds up the variances of the single products, as if these were independent of each other; compute the dot products
and take their variance
"""

EXERCISE = Exercise(
    title="The variance by simulation",
    difficulty=1,
    minutes=15,
    tasks=(
        Task(
            function="score_variances",
            parameters=("query", "key"),
            returns="two variances, of the dot products and of the scaled ones, shape (2,)",
            cases=draw_pairs,
            examples=(
                {"query": torch.ones(2, 4), "key": torch.tensor([[1.0, 1.0, 1.0, 1.0], [1.0, -1.0, 1.0, -1.0]])},
            ),
            edges=(
                {"query": torch.tensor([[1.0], [2.0]]), "key": torch.tensor([[3.0], [-1.0]])},  # one wide
                {"query": torch.ones(2, 2), "key": torch.ones(2, 2)},  # equal products: no variance
            ),
            reference=score_variances,
            properties=(
                Property("the variance of the dot products", 2, both(entry(0), inputs_unchanged)),
                Property("the variance of the scaled dot products", 2, entry(1)),
                Property("near d_key and near 1 for independent normal numbers", 1, grows_as_the_width),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "How many numbers are there to take a variance of: one for each pair, or one for each entry?",
        "Multiply entry by entry and sum over d_key, which leaves (samples,). Its variance is the first number; divide "
        "those dot products by the root of d_key and take the variance again.",
        "`products = (query * key).sum(dim=-1)`; a tensor's `.var()` is unbiased; two numbers become one tensor by "
        "`torch.stack`.",
    ),
)
