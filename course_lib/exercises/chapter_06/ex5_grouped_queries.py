"""06.5: several heads share keys and values."""

import torch

from course_lib.exercises.chapter_05._masking import scaled_scores
from course_lib.exercises.chapter_06._heads import four_sizes
from course_lib.exercises.drawing import normal, sizes
from course_lib.exercises.operators import ATTENTION
from course_lib.grading.checks import both, differs, equals, inputs_unchanged, on
from course_lib.grading.exercise import Case, Exercise, Property, Task
from course_lib.grading.problem import Problem


def grouped(query, key, value):
    """Attention of every head, each group written once for each of its heads."""
    key, value = (each.repeat_interleave(query.shape[1] // key.shape[1], 1) for each in (key, value))
    return scaled_scores(query, key).softmax(-1) @ value


def draw_groups(generator: torch.Generator) -> Case:
    """Draw groups of keys and values, and from one to three heads for each of them, or as many as there are groups."""
    batch, groups, time, d_head = four_sizes(generator)
    (each,) = sizes(generator, 3)
    if torch.rand((), generator=generator) < 0.3:
        each = min(groups, 3)
    return {
        "query": 1.5 * normal(generator, batch, groups * each, time, d_head),
        "key": 1.5 * normal(generator, batch, groups, time, d_head),
        "value": normal(generator, batch, groups, time, d_head),
    }


def plain(case: Case) -> Case:
    """Keep as many heads as there are groups."""
    return case | {"query": case["query"][:, : case["key"].shape[1]].clone()}


def one_group(case: Case) -> Case:
    """Keep the first group."""
    return case | {name: case[name][:, :1].clone() for name in ("key", "value")}


def reads_its_own_group(case: Case):
    """Replace keys and values of the last group: the heads of all other groups may not move."""
    last = case["key"].shape[1] - 1
    each = case["query"].shape[1] // (last + 1)
    key, value = case["key"].clone(), case["value"].clone()
    key[:, -1], value[:, -1] = 1 - key[:, -1], value[:, -1] + 3
    before, after = (reply.value for reply in (yield [case, case | {"key": key, "value": value}]))
    for head in range(each * last):
        if differs(after[:, head], before[:, head]).any():
            said = {
                "after": f"keys and values of group {last} replaced",
                "where": f"head {head}, of group {head // each},",
            }
            got = (after[:, head] - before[:, head]).abs().max().item()
            return Problem("moved", case, got=got, expected=0, **said)
    return None


MISTAKES = """
tiled => a head reads its own group and no other
- key = key.repeat_interleave(each, dim=1)
- value = value.repeat_interleave(each, dim=1)
+ key, value = key.repeat(1, each, 1, 1), value.repeat(1, each, 1, 1)
this gives the groups to the heads in turn, group 0 to head 0, group 1 to head 1, and begins again: that is what
`repeat` (or `torch.cat`, or the heads cut as `(each groups)`) does; neighbouring heads share a group, and
`repeat_interleave` repeats each one several times before the next

keys tiled, values not => a head reads its own group and no other
- key = key.repeat_interleave(each, dim=1)
+ key = key.repeat(1, each, 1, 1)
keys and values were handed out in two different orders: each head compares with the keys of one group and reads the
values of another; both follow one order, and here the keys have the wrong one

values tiled, keys not => a head reads its own group and no other
- value = value.repeat_interleave(each, dim=1)
+ value = value.repeat(1, each, 1, 1)
keys and values were handed out in two different orders: each head compares with the keys of one group and reads the
values of another; both follow one order, and here the values have the wrong one

first group for all => as many groups as heads: plain multi-head attention
- key = key.repeat_interleave(each, dim=1)
- value = value.repeat_interleave(each, dim=1)
+ key, value = key[:, :1], value[:, :1]
every head reads the first group: the others were not used

not handed out => the output, for any number of groups
- key = key.repeat_interleave(each, dim=1)
- value = value.repeat_interleave(each, dim=1)
heads and groups are different in number, and torch broadcasts an axis by itself (and by `expand`) only from length 1;
each group has to be repeated heads // groups times

still in groups => the output, for any number of groups
- return scores.softmax(dim=-1) @ value
+ return (scores.softmax(dim=-1) @ value).unflatten(1, (-1, each))
this is (batch, groups, heads of a group, time, d_head); the two axes behind the batch are still to be joined,
`flatten(1, 2)`

as often as there are groups => as many groups as heads: plain multi-head attention
- each = query.shape[1] // key.shape[1]
+ each = key.shape[1]
this repeats each group as often as there are *groups*; a group is needed once for each of its heads, heads // groups
times

head number over number of groups => as many groups as heads: plain multi-head attention
- key = key.repeat_interleave(each, dim=1)
- value = value.repeat_interleave(each, dim=1)
+ group = [head // key.shape[1] for head in range(query.shape[1])]
+ key, value = key[:, group], value[:, group]
head i was given group `i // groups`; a group has heads // groups heads, so it is `i // (heads // groups)`

along the wrong axis => the output, for any number of groups
+ key = key.repeat_interleave(each, dim=2).reshape(query.shape)
+ value = value.repeat_interleave(each, dim=2).reshape(query.shape)
this repeats along time or width and then cuts by `view` or `reshape`: the shape is right, and different positions
are mixed; what is to be repeated are the groups, axis 1

backwards => a head reads its own group and no other
+ key = key.flip(1).repeat_interleave(each, dim=1)
+ value = value.flip(1).repeat_interleave(each, dim=1)
the first heads read the last group; the order of heads and groups is the same

queries averaged => one group: all heads read the same keys and values
+ query = query.unflatten(1, (-1, each)).mean(dim=2)
this averages the queries of a group and returns one output a group; it is keys and values that are shared, each head
keeps its own queries

no scale => as many groups as heads: plain multi-head attention
- scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
+ scores = query @ key.transpose(-2, -1)
this is the softmax of the bare dot products: each is still to be divided by the root of d_head

width for its root => as many groups as heads: plain multi-head attention
+ scores = query @ key.transpose(-2, -1) / query.shape[-1]
this divides by d_head; the spread of a dot product is the root of d_head

scaled by all heads together => as many groups as heads: plain multi-head attention
+ scores = query @ key.transpose(-2, -1) / (query.shape[1] * query.shape[-1]) ** 0.5
this divides by the root of heads * d_head; the dot product of one head has d_head terms

scaled by the time => as many groups as heads: plain multi-head attention
+ scores = query @ key.transpose(-2, -1) / query.shape[2] ** 0.5
this divides by the root of the number of positions; d_head is the last size

softmax over the queries => as many groups as heads: plain multi-head attention
- return scores.softmax(dim=-1) @ value
+ return scores.softmax(dim=-2) @ value
this is a softmax over the queries (dim=-2); the keys are to compete for each query, dim=-1

softmax over the heads => as many groups as heads: plain multi-head attention
+ return scores.softmax(dim=1) @ value
this is a softmax over the heads (dim=1); the keys are to compete for each query, dim=-1

the future hidden => as many groups as heads: plain multi-head attention
+ future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(diagonal=1)
+ return scores.masked_fill(future, float("-inf")).softmax(dim=-1) @ value
this hides the future; there is no mask here, every position reads every other

keys read => as many groups as heads: plain multi-head attention
+ return scores.softmax(dim=-1) @ key
this averages the keys: keys are compared, values are read

mean of the groups => as many groups as heads: plain multi-head attention
- key = key.repeat_interleave(each, dim=1)
- value = value.repeat_interleave(each, dim=1)
+ key, value = key.mean(dim=1, keepdim=True), value.mean(dim=1, keepdim=True)
this averages keys and values over the groups, one group for all heads; each group has keys and values of its own

softmax over the heads of a group => one group: all heads read the same keys and values
- return scores.softmax(dim=-1) @ value
+ weights = rearrange(scores, "b (groups each) q k -> b groups q (each k)", each=each).softmax(dim=-1)
+ return rearrange(weights, "b groups q (each k) -> b (groups each) q k", each=each) @ value
this is one softmax over all the heads of a group; each head has weights of its own, which sum to one

head number over number of groups, the last group for the rest => as many groups as heads: plain multi-head attention
- key = key.repeat_interleave(each, dim=1)
- value = value.repeat_interleave(each, dim=1)
+ group = [min(head // key.shape[1], key.shape[1] - 1) for head in range(query.shape[1])]
+ key, value = key[:, group], value[:, group]
head i was given group `i // groups`, and the last group where there is no such group; a group has heads // groups
heads, so it is `i // (heads // groups)`
"""

EXERCISE = Exercise(
    title="Grouped-query attention",
    difficulty=3,
    minutes=25,
    forbidden=ATTENTION,
    tasks=(
        Task(
            function="grouped_query_attention",
            parameters=("query", "key", "value"),
            returns="the output of each head, shape (batch, heads, time, d_head)",
            cases=draw_groups,
            examples=(
                {
                    "query": torch.tensor([[[[1.0], [0.0]], [[0.0], [1.0]], [[1.0], [0.0]], [[0.0], [2.0]]]]),
                    "key": torch.tensor([[[[1.0986], [0.0]], [[0.0], [1.0986]]]]),
                    "value": torch.tensor([[[[8.0], [4.0]], [[0.0], [20.0]]]]),
                },
            ),
            edges=(
                {  # one group, one position, one wide, in a batch of two
                    "query": torch.tensor([[[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]]]),
                    "key": torch.tensor([[[[1.0]]], [[[2.0]]]]),
                    "value": torch.tensor([[[[5.0]]], [[[6.0]]]]),
                },
                {  # a group for each head, one position, one wide, one example
                    "query": torch.tensor([[[[1.0]], [[2.0]]]]),
                    "key": torch.tensor([[[[1.0]], [[-2.0]]]]),
                    "value": torch.tensor([[[[5.0]], [[6.0]]]]),
                },
                {  # one group for three heads, scores far apart
                    "query": torch.tensor([[[[1.0], [0.0]], [[-30.0], [30.0]], [[2.0], [1.0]]]]),
                    "key": torch.tensor([[[[3.0], [-3.0]]]]),
                    "value": torch.tensor([[[[5.0], [-6.0]]]]),
                },
            ),
            reference=grouped,
            properties=(
                Property("as many groups as heads: plain multi-head attention", 1, on(plain, equals())),
                Property("one group: all heads read the same keys and values", 1, on(one_group, equals())),
                Property("a head reads its own group and no other", 2, reads_its_own_group),
                Property("the output, for any number of groups", 2, both(equals(), inputs_unchanged)),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "With six heads and two groups, which heads read group 0? Write down the number of the group below each head.",
        "Make keys and values as many as there are heads, each group repeated heads // groups times before the next. "
        "Then compute the attention of every head by itself. Or cut the heads in two axes, (groups, heads of a "
        "group), and give keys and values an axis of length 1 that broadcasts.",
        "`key.repeat_interleave(query.shape[1] // key.shape[1], dim=1)` has one row of keys for each head. Then the "
        "scores, the root of `query.shape[-1]`, a softmax over the last axis, a product with the values "
        "repeated alike.",
    ),
)
