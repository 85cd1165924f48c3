"""14.2: zero ablation and mean ablation of some heads of multi-head attention."""

import torch

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import both, equals, inputs_unchanged, on
from course_lib.grading.exercise import Case, Exercise, Property, Task


def output_of(found, output_weight, output_bias):
    """The heads merged, and the output projection of them."""
    return found.transpose(1, 2).flatten(2) @ output_weight.T + output_bias


def zero_ablation(found, output_weight, output_bias, ablated):
    """The output with zeros for what ablated heads found."""
    return output_of(found.masked_fill(ablated[:, None, None], 0), output_weight, output_bias)


def mean_ablation(found, output_weight, output_bias, ablated):
    """The output with their mean for what ablated heads found."""
    means = found.mean((0, 2), keepdim=True)
    return output_of(torch.where(ablated[:, None, None], means, found), output_weight, output_bias)


def draw_heads(generator: torch.Generator) -> Case:
    """Draw what heads found, some of them ablated and, where there are two or more, some not."""
    batch, heads, time, d_head, other = sizes(generator, 3, 4, 4, 3, 6)
    square = sizes(generator, 2)[0] == 1
    d_model = heads * d_head if square else other
    order, [count] = torch.randperm(heads, generator=generator), sizes(generator, max(1, heads - 1))
    return {
        "found": normal(generator, batch, heads, time, d_head) + 0.5,
        "output_weight": normal(generator, d_model, heads * d_head),
        "output_bias": normal(generator, d_model) + 1,
        "ablated": torch.zeros(heads, dtype=torch.bool).index_fill(0, order[:count], True),
    }


def all_ablated(case: Case) -> Case:
    """Ablate every head."""
    return case | {"ablated": torch.ones_like(case["ablated"])}


def none_ablated(case: Case) -> Case:
    """Ablate no head."""
    return case | {"ablated": torch.zeros_like(case["ablated"])}


def steady(case: Case) -> Case:
    """Let the ablated heads find the same at every position of every example."""
    found = case["found"]
    return case | {"found": torch.where(case["ablated"][:, None, None], found[:1, :, :1], found)}


BY_HAND = {
    "found": torch.tensor([[[[1.0], [3.0]], [[2.0], [4.0]]]]),
    "output_weight": torch.tensor([[1.0, 1.0], [0.0, 2.0]]),
    "output_bias": torch.tensor([10.0, 0.0]),
    "ablated": torch.tensor([False, True]),
}
ANOTHER = BY_HAND | {
    "found": torch.tensor([[[[1.0], [3.0]], [[2.0], [4.0]]], [[[5.0], [0.0]], [[7.0], [-1.0]]]]),
    "ablated": torch.tensor([True, False]),
}

EDGES = (
    {  # one head of width one, one position, two examples: all is ablated
        "found": torch.tensor([[[[1.0]]], [[[3.0]]]]),
        "output_weight": torch.tensor([[2.0]]),
        "output_bias": torch.tensor([10.0]),
        "ablated": torch.tensor([True]),
    },
    {  # one position of one example is its own mean; one feature comes out
        "found": torch.tensor([[[[1.0, 4.0]], [[2.0, -3.0]]]]),
        "output_weight": torch.tensor([[1.0, 2.0, -1.0, 0.5]]),
        "output_bias": torch.tensor([0.5]),
        "ablated": torch.tensor([False, True]),
    },
)

ZERO_MISTAKES = """
turned round => the other heads come through, and nothing else
- kept = found.masked_fill(ablated[:, None, None], 0.0)
+ kept = found.masked_fill(~ablated[:, None, None], 0.0)
this ablates the other heads: `ablated` is True for the heads that are replaced

ablated ignored => the other heads come through, and nothing else
+ kept = found
`ablated` was not used: this is the output with every head

no bias => with every head ablated the bias is left
- return merged @ output_weight.T + output_bias
+ return merged @ output_weight.T
the bias is missing, or was taken off with the ablated heads; it belongs to no head, and stays

merged by reshape => the other heads come through, and nothing else
- merged = kept.transpose(1, 2).flatten(2)
+ merged = kept.reshape(found.shape[0], found.shape[2], -1)
the heads are merged by a `reshape` alone, which leaves the numbers in their order and mixes positions with heads; bring
`time` before `heads` first, `found.transpose(1, 2)`

merged by turns => the other heads come through, and nothing else
+ merged = kept.movedim(1, 3).flatten(2)
the heads are merged with their numbers by turns, head 0, head 1, head 0 and so on; in a merged vector all numbers of
the first head come first

weight not transposed => the other heads come through, and nothing else
- return merged @ output_weight.T + output_bias
+ return merged @ output_weight + output_bias
this multiplies by `output_weight` as it lies there; it is (out, in), as in a linear layer: multiply by its transpose

every head's bias => with every head ablated the bias is left
+ return merged @ output_weight.T + (~ablated).sum() * output_bias
this adds the bias once for every head that is kept; it is added once, after the heads are summed

nothing left => with every head ablated the bias is left
+ return (merged @ output_weight.T + output_bias) * (~ablated).any()
where all heads are ablated the output is 0 here, and the bias is gone with them; it belongs to no head and stays

a fraction of the bias => with every head ablated the bias is left
+ return merged @ output_weight.T + (~ablated).float().mean() * output_bias
the bias goes down with the fraction of the heads that are kept; it belongs to no head and stays as it is

made up for => the other heads come through, and nothing else
- kept = found.masked_fill(ablated[:, None, None], 0.0)
+ kept = found.masked_fill(ablated[:, None, None], 0.0) * (len(ablated) / (~ablated).sum())
what is left is multiplied to make up for the ablated heads, as dropout does; an ablation leaves the other heads as they
were

truth values as numbers => the other heads come through, and nothing else
+ kept = found.clone()
+ kept[:, ablated.long().clamp(max=len(ablated) - 1)] = 0.0
`ablated` is used as if it held the numbers of heads: True and False became 1 and 0, the second head and the first; it
is a mask, for `masked_fill` or `found[:, ablated]`

the mean => the other heads come through, and nothing else
+ kept = torch.where(ablated[:, None, None], found.mean(dim=(0, 2), keepdim=True), found)
this is a mean ablation, the second half of the exercise; this one asks for zeros

overwritten => what the heads found is left as it was
+ kept = found.masked_fill_(ablated[:, None, None], 0.0)
this writes zeros into the caller's own tensor, and from then on the head is ablated for good; make a new one
(`torch.where`, `masked_fill` or a `clone()`)

made up for, none by none => the other heads come through, and nothing else
- kept = found.masked_fill(ablated[:, None, None], 0.0)
+ kept = found.masked_fill(ablated[:, None, None], 0.0) * (len(ablated) / (~ablated).sum().clamp(min=1))
what is left is multiplied to make up for the ablated heads, as dropout does; an ablation leaves the other heads as they
were

the mask by turns => the other heads come through, and nothing else
- kept = found.masked_fill(ablated[:, None, None], 0.0)
- merged = kept.transpose(1, 2).flatten(2)
+ merged = found.transpose(1, 2).flatten(2) * ~ablated.repeat(found.shape[3])
this repeats the mask as a whole, head 0, head 1, head 0 and so on; in a merged vector all numbers of the first head
come first: `ablated.repeat_interleave(d_head)`, or mask before the heads are merged
"""

MEAN_MISTAKES = """
turned round => the mean in place of an ablated head
- replaced = torch.where(ablated[:, None, None], means, found)
+ replaced = torch.where(~ablated[:, None, None], means, found)
this ablates the other heads: `ablated` is True for the heads that are replaced

ablated ignored => the mean in place of an ablated head
+ replaced = found
`ablated` was not used: this is the output with every head

no bias => with every head ablated, every position gets the same
- return merged @ output_weight.T + output_bias
+ return merged @ output_weight.T
the bias is missing, or was taken off with the ablated heads; it belongs to no head, and stays

merged by reshape => the mean in place of an ablated head
- merged = replaced.transpose(1, 2).flatten(2)
+ merged = replaced.reshape(found.shape[0], found.shape[2], -1)
the heads are merged by a `reshape` alone, which leaves the numbers in their order and mixes positions with heads; bring
`time` before `heads` first, `found.transpose(1, 2)`

merged by turns => the mean in place of an ablated head
+ merged = replaced.movedim(1, 3).flatten(2)
the heads are merged with their numbers by turns, head 0, head 1, head 0 and so on; in a merged vector all numbers of
the first head come first

weight not transposed => the mean in place of an ablated head
- return merged @ output_weight.T + output_bias
+ return merged @ output_weight + output_bias
this multiplies by `output_weight` as it lies there; it is (out, in), as in a linear layer: multiply by its transpose

zeros => a head that is the same everywhere may be ablated
- replaced = torch.where(ablated[:, None, None], means, found)
+ replaced = found.masked_fill(ablated[:, None, None], 0.0)
this is a zero ablation; put the mean of the head in place of the zeros

every example by itself => with every head ablated, every position gets the same
- means = found.mean(dim=(0, 2), keepdim=True)
+ means = found.mean(dim=2, keepdim=True)
the mean runs over the positions of each example by itself, and still tells the examples apart; take it over the batch
too

every position by itself => with every head ablated, every position gets the same
+ means = found.mean(dim=0, keepdim=True)
the mean runs over the examples at each position by itself, and still tells the positions apart; take it over the time
too

one number for a head => a head that is the same everywhere may be ablated
+ means = found.mean(dim=(0, 2, 3), keepdim=True)
the mean runs over the entries of the vectors as well, so that a head has one number in all of them; a mean has the
shape (d_head,) for each head

one mean for all heads => a head that is the same everywhere may be ablated
+ means = found.mean(dim=(0, 1, 2), keepdim=True)
the mean runs over the heads as well; every head has a mean of its own

the mean of the others at this position => a head that is the same everywhere may be ablated
+ means = found.mean(dim=1, keepdim=True)
this puts the mean of all heads at the same position in place of an ablated head; asked is its own mean, over examples
and positions

one mean for the ablated => with every head ablated, every position gets the same
+ means = found[:, ablated].mean(dim=(0, 1, 2))
all ablated heads get the mean that they have together; every head has a mean of its own

all heads at once => the mean in place of an ablated head
- replaced = torch.where(ablated[:, None, None], means, found)
+ replaced = torch.where(ablated.any(), means, found)
as soon as one head is ablated all heads get their means here; those that are not ablated keep what they found

the mean of the output => the mean in place of an ablated head
- means = found.mean(dim=(0, 2), keepdim=True)
- replaced = torch.where(ablated[:, None, None], means, found)
- merged = replaced.transpose(1, 2).flatten(2)
- return merged @ output_weight.T + output_bias
+ output = found.transpose(1, 2).flatten(2) @ output_weight.T + output_bias
+ return output.mean(dim=(0, 1)).repeat(len(found), found.shape[2], 1)
this is the mean of the whole output; only what ablated heads found is replaced by its mean

overwritten => the mean in place of an ablated head
- replaced = torch.where(ablated[:, None, None], means, found)
+ replaced = found.copy_(torch.where(ablated[:, None, None], means, found))
this writes means into the caller's own tensor, and from then on the head is ablated for good; make a new one
(`torch.where`, `masked_fill` or a `clone()`)
"""

EXERCISE = Exercise(
    title="Ablation",
    difficulty=2,
    minutes=25,
    tasks=(
        Task(
            function="zero_ablation",
            parameters=("found", "output_weight", "output_bias", "ablated"),
            returns="the output with zeros for what the ablated heads found, shape (batch, time, d_model)",
            cases=draw_heads,
            examples=(BY_HAND, ANOTHER),
            edges=(*EDGES,),
            reference=zero_ablation,
            properties=(
                Property(
                    "the other heads come through, and nothing else", 2, both(equals(), on(none_ablated, equals()))
                ),
                Property("with every head ablated the bias is left", 1, on(all_ablated, equals())),
                Property("what the heads found is left as it was", 1, inputs_unchanged),
            ),
            mistakes=ZERO_MISTAKES,
        ),
        Task(
            function="mean_ablation",
            parameters=("found", "output_weight", "output_bias", "ablated"),
            returns="the output with its mean for what an ablated head found, shape (batch, time, d_model)",
            cases=draw_heads,
            examples=(BY_HAND, ANOTHER),
            edges=(*EDGES,),
            reference=mean_ablation,
            properties=(
                Property(
                    "the mean in place of an ablated head",
                    2,
                    both(both(equals(), on(none_ablated, equals())), inputs_unchanged),
                ),
                Property("with every head ablated, every position gets the same", 1, on(all_ablated, equals())),
                Property("a head that is the same everywhere may be ablated", 1, on(steady, equals())),
            ),
            mistakes=MEAN_MISTAKES,
        ),
    ),
    hints=(
        "Where does a head still have a stretch of its own: before the heads are merged, or after? And to which "
        "head does the bias belong?",
        "Replace what ablated heads found, in a new tensor; bring time before heads and join the last two axes; "
        "multiply by the transposed weight and add the bias. The mean has an axis for the heads and one for d_head, "
        "and no other that is longer than 1.",
        "`ablated[:, None, None]` lies along the heads of (batch, heads, time, d_head), so `masked_fill` or "
        "`torch.where` can use it. The means are `found.mean(dim=(0, 2), keepdim=True)`, and "
        "`transpose(1, 2)` before `flatten(2)` merges.",
    ),
)
