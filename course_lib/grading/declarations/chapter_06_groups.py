"""Exercise 06.5, grouped-query attention."""

from collections.abc import Callable

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.chapter_05_attention import masked_softmax, scaled_scores
from course_lib.grading.declarations.chapter_06_split import four_sizes
from course_lib.grading.declarations.drawing import normal, sizes
from course_lib.grading.declarations.operators import ATTENTION as FUSED_ATTENTION
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import answer_like, both, difference, equals, inputs_unchanged, on
from course_lib.grading.wording import describe_case


def in_turn(groups, heads):
    """Give every group to as many heads, one beside the other."""
    return groups.repeat_interleave(heads // groups.shape[1], 1)


def tiled(groups, heads):
    """Lay all groups down once, then all of them again."""
    return groups.repeat(1, heads // groups.shape[1], 1, 1)


def first_for_all(groups, heads):
    """Give every head the first group."""
    return groups[:, :1].repeat(1, heads, 1, 1)


def as_they_are(groups, heads):
    """One for each head only where there are as many groups as heads."""
    return groups


def as_often_as_groups(groups, heads):
    """Repeat each group as often as there are groups."""
    return groups.repeat_interleave(groups.shape[1], 1)


def head_by_number_of_groups(groups, heads):
    """Give head i the group i // groups."""
    return groups[:, [head // groups.shape[1] for head in range(heads)]]


def along_the_time(groups, heads):
    """Repeat every key where it stands in time, and cut the row of all numbers into heads."""
    batch, number, time, d_head = groups.shape
    return groups.repeat_interleave(heads // number, 2).reshape(batch, heads, time, d_head)


def backwards(groups, heads):
    """The last group to the first heads."""
    return in_turn(groups.flip(1), heads)


def read(query, key, value):
    """Let every head read its own keys and values."""
    return scaled_scores(query, key).softmax(-1) @ value


def with_copies(keys: Callable = in_turn, values: Callable = in_turn, read: Callable = read) -> Callable:
    """Return attention in which these functions hand keys and values out to the heads."""

    def attention(query, key, value):
        heads = query.shape[1]
        return read(query, keys(key, heads), values(value, heads))

    return attention


grouped = with_copies()


def scaled_by(factor: Callable[..., float]) -> Callable:
    """Return attention whose dot products are multiplied by factor(query)."""
    return with_copies(read=lambda query, key, value: (query @ key.mT * factor(query)).softmax(-1) @ value)


def heads_averaged(query, key, value):
    """One query for each group: the mean of its heads."""
    return read(query.unflatten(1, (key.shape[1], -1)).mean(2), key, value)


# ---------------------------------------------------------------- cases and judges


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


def reads_its_own_group(call: Call, case: Case) -> str | None:
    """Replace keys and values of the last group: the heads of all other groups may not move."""
    groups = case["key"].shape[1]
    others = case["query"].shape[1] // groups * (groups - 1)
    key, value = case["key"].clone(), case["value"].clone()
    key[:, -1], value[:, -1] = 1 - key[:, -1], value[:, -1] + 3
    before = answer_like(grouped, call, case)[0]
    after = answer_like(grouped, call, case | {"key": key, "value": value})[0]
    for head in range(others):
        if difference(after[:, head], before[:, head]):
            told = f"keys and values of group {groups - 1} replaced"
            moved = (after[:, head] - before[:, head]).abs().max().item()
            own = head // (case["query"].shape[1] // groups)
            return f"{describe_case(case)}, then {told}: head {head}, of group {own}, moved by {moved:.2g}, expected 0"
    return None


PLAIN = "as many groups as heads: plain multi-head attention"
ONE = "one group: all heads read the same keys and values"
OWN = "a head reads its own group and no other"
OUTPUT = "the output, for any number of groups"

GROUPED = Exercise(
    id="06.5",
    title="Grouped-query attention",
    difficulty=3,
    minutes=25,
    forbidden=FUSED_ATTENTION,
    tasks=(
        Task(
            function="grouped_query_attention",
            parameters=("query", "key", "value"),
            returns="what each head found, shape (batch, heads, time, d_head)",
            cases=draw_groups,
            examples=(
                {
                    "query": torch.tensor([[[[1.0], [0.0]], [[0.0], [1.0]], [[1.0], [0.0]], [[0.0], [2.0]]]]),
                    "key": torch.tensor([[[[1.0986], [0.0]], [[0.0], [1.0986]]]]),
                    "value": torch.tensor([[[[8.0], [4.0]], [[0.0], [20.0]]]]),
                },
            ),
            reference=grouped,
            properties=(
                Property(PLAIN, 1, on(plain, equals(grouped))),
                Property(ONE, 1, on(one_group, equals(grouped))),
                Property(OWN, 2, reads_its_own_group),
                Property(OUTPUT, 2, both(equals(grouped), inputs_unchanged)),
            ),
            misconceptions=(
                Misconception(
                    "tiled",
                    "this hands the groups out in turn, head 0 to group 0, head 1 to group 1, and begins again: that "
                    "is what `repeat` (or `torch.cat`, or the heads cut as `(each groups)`) does; heads side by side "
                    "share a group, and `repeat_interleave` writes each one several times before the next",
                    with_copies(tiled, tiled),
                    breaks=OWN,
                ),
                Misconception(
                    "keys tiled, values not",
                    "keys and values were handed out in two different orders: each head compares with the keys of one "
                    "group and reads the values of another; `repeat_interleave` for both",
                    with_copies(tiled, in_turn),
                    breaks=OWN,
                ),
                Misconception(
                    "values tiled, keys not",
                    "keys and values were handed out in two different orders: each head compares with the keys of one "
                    "group and reads the values of another; `repeat_interleave` for both (this is the other way round)",
                    with_copies(in_turn, tiled),
                    breaks=OWN,
                ),
                Misconception(
                    "first group for all",
                    "every head reads the first group: the others were not used",
                    with_copies(first_for_all, first_for_all),
                    breaks=PLAIN,
                ),
                Misconception(
                    "not handed out",
                    "heads and groups are different in number, and torch stretches an axis by itself (and by `expand`) "
                    "only from length 1; each group has to be repeated heads // groups times",
                    with_copies(as_they_are, as_they_are),
                    breaks=OUTPUT,
                ),
                Misconception(
                    "still in groups",
                    "this is (batch, groups, heads of a group, time, d_head); the two axes behind the "
                    "batch are still to be joined, `flatten(1, 2)`",
                    lambda query, key, value: grouped(query, key, value).unflatten(1, (key.shape[1], -1)),
                    breaks=OUTPUT,
                ),
                Misconception(
                    "as often as there are groups",
                    "this repeats each group as often as there are *groups*; a group is needed once for each of its "
                    "heads, heads // groups times",
                    with_copies(as_often_as_groups, as_often_as_groups),
                    breaks=PLAIN,
                ),
                Misconception(
                    "head number over number of groups",
                    "head i was given group `i // groups`; a group has heads // groups heads, so it is "
                    "`i // (heads // groups)`",
                    with_copies(head_by_number_of_groups, head_by_number_of_groups),
                    breaks=PLAIN,
                ),
                Misconception(
                    "along the wrong axis",
                    "this repeats along time or width and then cuts by `view` or `reshape`: the shape is right, and "
                    "different times are mixed; what is to be repeated are the groups, axis 1",
                    with_copies(along_the_time, along_the_time),
                    breaks=OUTPUT,
                ),
                Misconception(
                    "backwards",
                    "the first heads read the last group; the order of heads and groups is the same",
                    with_copies(backwards, backwards),
                    breaks=OWN,
                ),
                Misconception(
                    "queries averaged",
                    "this averages the queries of a group and returns one output a group; it is keys and values that "
                    "are shared, each head keeps its own queries",
                    heads_averaged,
                    breaks=ONE,
                ),
                *(
                    Misconception(name, sentence, scaled_by(factor), breaks=PLAIN)
                    for name, sentence, factor in (
                        (
                            "no scale",
                            "this is the softmax of the bare dot products: each is still to be divided by the root of "
                            "d_head",
                            lambda query: 1.0,
                        ),
                        (
                            "width for its root",
                            "this divides by d_head; the spread of a dot product is the root of d_head",
                            lambda query: 1 / query.shape[-1],
                        ),
                        (
                            "scaled by all heads together",
                            "this divides by the root of heads * d_head; the dot product of one head has d_head terms",
                            lambda query: (query.shape[1] * query.shape[-1]) ** -0.5,
                        ),
                        (
                            "scaled by the time",
                            "this divides by the root of the number of times; d_head is the last size",
                            lambda query: query.shape[2] ** -0.5,
                        ),
                    )
                ),
                Misconception(
                    "softmax over the queries",
                    "this is a softmax over the queries (dim=-2); the keys are to compete for each query, dim=-1",
                    with_copies(read=lambda query, key, value: scaled_scores(query, key).softmax(-2) @ value),
                    breaks=PLAIN,
                ),
                Misconception(
                    "softmax over the heads",
                    "this is a softmax over the heads (dim=1); the keys are to compete for each query, dim=-1",
                    with_copies(read=lambda query, key, value: scaled_scores(query, key).softmax(1) @ value),
                    breaks=PLAIN,
                ),
                Misconception(
                    "the future hidden",
                    "this hides the future; there is no mask here, every time reads every other",
                    with_copies(
                        read=lambda query, key, value: (
                            masked_softmax(
                                scaled_scores(query, key),
                                torch.ones(query.shape[2], query.shape[2], dtype=torch.bool).tril(),
                            )
                            @ value
                        )
                    ),
                    breaks=PLAIN,
                ),
                Misconception(
                    "keys read",
                    "this averages the keys: keys are compared, values are read",
                    lambda query, key, value: grouped(query, key, key),
                    breaks=PLAIN,
                ),
            ),
        ),
    ),
    hints=(
        "With six heads and two groups, which heads read group 0? Write down the number of the group below each head.",
        "Make keys and values as many as there are heads, each group written heads // groups times before the next one "
        "comes; from there on it is the attention of every head by itself. Or cut the heads in two axes, (groups, "
        "heads of a group), and give keys and values an axis of length 1 that stretches.",
        "`key.repeat_interleave(query.shape[1] // key.shape[1], dim=1)` has one row of keys for each head. Then the "
        "scores, the root of `query.shape[-1]`, a softmax over the last axis, a product with the values "
        "repeated alike.",
    ),
)
