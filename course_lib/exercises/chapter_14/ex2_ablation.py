"""14.2: what multi-head attention puts out when some of its heads say nothing."""

import torch

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import both, equals, inputs_unchanged, on
from course_lib.grading.exercise import Case, Exercise, Property, Task


def output_of(found, output_weight, output_bias):
    """The heads merged, and what the last linear layer makes of them."""
    return found.transpose(1, 2).flatten(2) @ output_weight.T + output_bias


def zero_ablation(found, output_weight, output_bias, silent):
    """The output with zeros for what silent heads found."""
    return output_of(found.masked_fill(silent[:, None, None], 0), output_weight, output_bias)


def mean_ablation(found, output_weight, output_bias, silent):
    """The output with their mean for what silent heads found."""
    means = found.mean((0, 2), keepdim=True)
    return output_of(torch.where(silent[:, None, None], means, found), output_weight, output_bias)


def draw_heads(generator: torch.Generator) -> Case:
    """Draw what heads found, some of them silent and, where there are two or more, some not."""
    batch, heads, time, d_head, other = sizes(generator, 3, 4, 4, 3, 6)
    square = sizes(generator, 2)[0] == 1
    d_model = heads * d_head if square else other
    order, [count] = torch.randperm(heads, generator=generator), sizes(generator, max(1, heads - 1))
    return {
        "found": normal(generator, batch, heads, time, d_head) + 0.5,
        "output_weight": normal(generator, d_model, heads * d_head),
        "output_bias": normal(generator, d_model) + 1,
        "silent": torch.zeros(heads, dtype=torch.bool).index_fill(0, order[:count], True),
    }


def all_silent(case: Case) -> Case:
    """Let no head speak."""
    return case | {"silent": torch.ones_like(case["silent"])}


def all_speak(case: Case) -> Case:
    """Let every head speak."""
    return case | {"silent": torch.zeros_like(case["silent"])}


def steady(case: Case) -> Case:
    """Let the silent heads find the same at every position of every example."""
    found = case["found"]
    return case | {"found": torch.where(case["silent"][:, None, None], found[:1, :, :1], found)}


BY_HAND = {
    "found": torch.tensor([[[[1.0], [3.0]], [[2.0], [4.0]]]]),
    "output_weight": torch.tensor([[1.0, 1.0], [0.0, 2.0]]),
    "output_bias": torch.tensor([10.0, 0.0]),
    "silent": torch.tensor([False, True]),
}
ANOTHER = BY_HAND | {
    "found": torch.tensor([[[[1.0], [3.0]], [[2.0], [4.0]]], [[[5.0], [0.0]], [[7.0], [-1.0]]]]),
    "silent": torch.tensor([True, False]),
}

ZERO_MISTAKES = """
turned round => the heads that speak come through, and nothing else
- left = found.masked_fill(silent[:, None, None], 0.0)
+ left = found.masked_fill(~silent[:, None, None], 0.0)
this silences the heads that should speak: `silent` is True for those that should not

silent ignored => the heads that speak come through, and nothing else
+ left = found
`silent` was not used: this is the output with every head

no bias => with every head silent the bias is left
- return merged @ output_weight.T + output_bias
+ return merged @ output_weight.T
the bias is missing, or was taken off with the silent heads; it belongs to no head, and stays

merged by reshape => the heads that speak come through, and nothing else
- merged = left.transpose(1, 2).flatten(2)
+ merged = left.reshape(found.shape[0], found.shape[2], -1)
the heads are merged by a `reshape` alone, which leaves the numbers in their order and mixes positions with heads; bring
`time` before `heads` first, `found.transpose(1, 2)`

merged by turns => the heads that speak come through, and nothing else
+ merged = left.movedim(1, 3).flatten(2)
the heads are merged with their numbers by turns, head 0, head 1, head 0 and so on; in a merged vector all numbers of
the first head come first

weight not transposed => the heads that speak come through, and nothing else
- return merged @ output_weight.T + output_bias
+ return merged @ output_weight + output_bias
this multiplies by `output_weight` as it lies there; it is (out, in), as in a linear layer: multiply by its transpose

every head's bias => with every head silent the bias is left
+ return merged @ output_weight.T + (~silent).sum() * output_bias
this adds the bias once for every head that speaks; it is added once, after the heads are summed

a share of the bias => with every head silent the bias is left
+ return merged @ output_weight.T + (~silent).float().mean() * output_bias
the bias goes down with the fraction of the heads that speak; it belongs to no head and stays as it is

made up for => the heads that speak come through, and nothing else
- left = found.masked_fill(silent[:, None, None], 0.0)
+ left = found.masked_fill(silent[:, None, None], 0.0) * (len(silent) / (~silent).sum())
what is left is multiplied to make up for the silent heads, as dropout does; an ablation leaves the other heads as they
were

truth values as numbers => the heads that speak come through, and nothing else
+ left = found.clone()
+ left[:, silent.long().clamp(max=len(silent) - 1)] = 0.0
`silent` is used as if it held the numbers of heads: True and False became 1 and 0, the second head and the first; it is
a mask, for `masked_fill` or `found[:, silent]`

the mean => the heads that speak come through, and nothing else
+ left = torch.where(silent[:, None, None], found.mean(dim=(0, 2), keepdim=True), found)
silent heads say their mean here; that is the second half of the exercise, this one asks for zeros

overwritten => what the heads found is left as it was
+ left = found.masked_fill_(silent[:, None, None], 0.0)
this writes zeros into the caller's own tensor, and from then on the head is silent for good; make a new one
(`torch.where`, `masked_fill` or a `clone()`)
"""

MEAN_MISTAKES = """
turned round => a silent head says its mean
- said = torch.where(silent[:, None, None], means, found)
+ said = torch.where(~silent[:, None, None], means, found)
this silences the heads that should speak: `silent` is True for those that should not

silent ignored => a silent head says its mean
+ said = found
`silent` was not used: this is the output with every head

no bias => with every head silent, every place gets the same
- return merged @ output_weight.T + output_bias
+ return merged @ output_weight.T
the bias is missing, or was taken off with the silent heads; it belongs to no head, and stays

merged by reshape => a silent head says its mean
- merged = said.transpose(1, 2).flatten(2)
+ merged = said.reshape(found.shape[0], found.shape[2], -1)
the heads are merged by a `reshape` alone, which leaves the numbers in their order and mixes positions with heads; bring
`time` before `heads` first, `found.transpose(1, 2)`

merged by turns => a silent head says its mean
+ merged = said.movedim(1, 3).flatten(2)
the heads are merged with their numbers by turns, head 0, head 1, head 0 and so on; in a merged vector all numbers of
the first head come first

weight not transposed => a silent head says its mean
- return merged @ output_weight.T + output_bias
+ return merged @ output_weight + output_bias
this multiplies by `output_weight` as it lies there; it is (out, in), as in a linear layer: multiply by its transpose

zeros => to silence a head that always says the same changes nothing
- said = torch.where(silent[:, None, None], means, found)
+ said = found.masked_fill(silent[:, None, None], 0.0)
silent heads say 0 here; put their mean in its place

every example by itself => with every head silent, every place gets the same
- means = found.mean(dim=(0, 2), keepdim=True)
+ means = found.mean(dim=2, keepdim=True)
the mean runs over the positions of each example by itself, and still tells the examples apart; take it over the batch
too

every place by itself => with every head silent, every place gets the same
+ means = found.mean(dim=0, keepdim=True)
the mean runs over the examples at each position by itself, and still tells the positions apart; take it over the time
too

one number for a head => to silence a head that always says the same changes nothing
+ means = found.mean(dim=(0, 2, 3), keepdim=True)
the mean runs over the entries of the vectors as well, so that a head says one number in all of them; a mean has the
shape (d_head,) for each head

one mean for all heads => to silence a head that always says the same changes nothing
+ means = found.mean(dim=(0, 1, 2), keepdim=True)
the mean runs over the heads as well; every head has a mean of its own

the mean of the others at this place => to silence a head that always says the same changes nothing
+ means = found.mean(dim=1, keepdim=True)
a silent head says the mean of all heads at the same position here; asked is its own mean, over examples and positions

one mean for the silent => with every head silent, every place gets the same
+ means = found[:, silent].mean(dim=(0, 1, 2))
all silent heads say the mean that they have together; every head has a mean of its own

the mean of the output => a silent head says its mean
- means = found.mean(dim=(0, 2), keepdim=True)
- said = torch.where(silent[:, None, None], means, found)
- merged = said.transpose(1, 2).flatten(2)
- return merged @ output_weight.T + output_bias
+ output = found.transpose(1, 2).flatten(2) @ output_weight.T + output_bias
+ return output.mean(dim=(0, 1)).repeat(len(found), found.shape[2], 1)
this is the mean of the whole output; only what silent heads found is replaced by its mean

overwritten => a silent head says its mean
- said = torch.where(silent[:, None, None], means, found)
+ said = found.copy_(torch.where(silent[:, None, None], means, found))
this writes means into the caller's own tensor, and from then on the head is silent for good; make a new one
(`torch.where`, `masked_fill` or a `clone()`)
"""

EXERCISE = Exercise(
    title="Ablation",
    difficulty=2,
    minutes=25,
    tasks=(
        Task(
            function="zero_ablation",
            parameters=("found", "output_weight", "output_bias", "silent"),
            returns="the output in which silent heads say nothing, shape (batch, time, d_model)",
            cases=draw_heads,
            examples=(BY_HAND, ANOTHER),
            reference=zero_ablation,
            properties=(
                Property(
                    "the heads that speak come through, and nothing else", 2, both(equals(), on(all_speak, equals()))
                ),
                Property("with every head silent the bias is left", 1, on(all_silent, equals())),
                Property("what the heads found is left as it was", 1, inputs_unchanged),
            ),
            mistakes=ZERO_MISTAKES,
        ),
        Task(
            function="mean_ablation",
            parameters=("found", "output_weight", "output_bias", "silent"),
            returns="the output in which a silent head says its mean everywhere, shape (batch, time, d_model)",
            cases=draw_heads,
            examples=(BY_HAND, ANOTHER),
            reference=mean_ablation,
            properties=(
                Property(
                    "a silent head says its mean",
                    2,
                    both(both(equals(), on(all_speak, equals())), inputs_unchanged),
                ),
                Property("with every head silent, every place gets the same", 1, on(all_silent, equals())),
                Property("to silence a head that always says the same changes nothing", 1, on(steady, equals())),
            ),
            mistakes=MEAN_MISTAKES,
        ),
    ),
    hints=(
        "Where does a head still have a stretch of its own: before the heads are merged, or behind? And to whom does "
        "the bias belong?",
        "Replace what silent heads found, in a new tensor; bring time before heads and join the last two axes; "
        "multiply by the transposed weight and add the bias. The mean has an axis for the heads and one for d_head, "
        "and no other that is longer than 1.",
        "`silent[:, None, None]` lies along the heads of (batch, heads, time, d_head), so `masked_fill` or "
        "`torch.where` can use it. The means are `found.mean(dim=(0, 2), keepdim=True)`, and "
        "`transpose(1, 2)` before `flatten(2)` merges.",
    ),
)
