"""Exercise 14.2, ablation: what multi-head attention puts out when some of its heads say nothing."""

from collections.abc import Callable

import torch

from course_lib.grading.declarations.drawing import normal, sizes
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import both, equals, inputs_unchanged, on

Heads = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def merge(found):
    """Heads side by side, (batch, time, heads * d_head)."""
    return found.transpose(1, 2).flatten(2)


def whole(found, output_weight, output_bias):
    """The output with every head."""
    return merge(found) @ output_weight.T + output_bias


def after(change: Heads, join: Callable[[torch.Tensor], torch.Tensor] = merge) -> Callable[..., torch.Tensor]:
    """Return the output after `change(found, silent)`."""
    return lambda found, output_weight, output_bias, silent: join(change(found, silent)) @ output_weight.T + output_bias


def silenced(found, silent):
    """Zeros for what silent heads found."""
    return found.masked_fill(silent[:, None, None], 0)


def averaged(found, silent):
    """The mean over examples and places for what silent heads found."""
    return torch.where(silent[:, None, None], found.mean((0, 2), keepdim=True), found)


def mean_along(*axes: int) -> Heads:
    """Return the replacement by a mean along other axes."""
    return lambda found, silent: torch.where(silent[:, None, None], found.mean(axes, keepdim=True), found)


def mean_of_the_silent(found, silent):
    """One mean for all heads that are silent."""
    return torch.where(silent[:, None, None], found[:, silent].mean((0, 1, 2)), found)


def zero_ablation(found, output_weight, output_bias, silent):
    """The output with zeros for what silent heads found."""
    return whole(silenced(found, silent), output_weight, output_bias)


def mean_ablation(found, output_weight, output_bias, silent):
    """The output with their mean for what silent heads found."""
    return whole(averaged(found, silent), output_weight, output_bias)


def as_numbers(found, silent):
    """True and False taken for the numbers 1 and 0 of heads."""
    index = silent.long().clamp(max=found.shape[1] - 1)
    numbers = torch.zeros_like(silent).index_fill(0, index, True)
    return silenced(found, numbers)


def scaled_up(found, silent):
    """What is left, multiplied so as to make up for the rest."""
    return silenced(found, silent) * (len(silent) / (~silent).sum())


def overwritten(change: Heads) -> Callable[..., torch.Tensor]:
    """Return the output, with the change made in the caller's tensor."""

    def answer(found, output_weight, output_bias, silent):
        found.copy_(change(found, silent))
        return whole(found, output_weight, output_bias)

    return answer


def untransposed(change: Heads) -> Callable[..., torch.Tensor]:
    """Return the output by the weight as it lies there."""
    return lambda found, output_weight, output_bias, silent: merge(change(found, silent)) @ output_weight + output_bias


def without_bias(change: Heads) -> Callable[..., torch.Tensor]:
    """Return the output without bias."""
    return lambda found, output_weight, output_bias, silent: merge(change(found, silent)) @ output_weight.T


def bias_of_every_head(found, output_weight, output_bias, silent):
    """Each head that speaks brings the bias along."""
    return zero_ablation(found, output_weight, (~silent).sum() * output_bias, silent)


def bias_of_the_share(found, output_weight, output_bias, silent):
    """The bias goes down with the heads."""
    return zero_ablation(found, output_weight, (~silent).float().mean() * output_bias, silent)


def mean_of_the_output(found, output_weight, output_bias, silent):
    """The mean of the whole output at every place."""
    output = whole(found, output_weight, output_bias)
    return output.mean((0, 1), keepdim=True).expand_as(output).clone()


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
    """Let the silent heads find the same at every place of every example."""
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

REST, BIAS = "the heads that speak come through, and nothing else", "with every head silent the bias is left"
LEFT = "what the heads found is left as it was"
MEANS, SAME = "a silent head says its mean", "with every head silent, every place gets the same"
STEADY = "to silence a head that always says the same changes nothing"

TURNED = "this silences the heads that should speak: `silent` is True for those that should not"
IGNORED = "`silent` was not used: this is the output with every head"
NO_BIAS = "the bias is missing, or was taken off with the silent heads; it belongs to no head, and stays"
BY_VIEW = (
    "the heads are merged by a `reshape` alone, which leaves the numbers in their order and mixes places with heads; "
    "bring `time` before `heads` first, `found.transpose(1, 2)`"
)
BY_TURNS = (
    "the heads are merged with their numbers by turns, head 0, head 1, head 0 and so on; in a merged vector all "
    "numbers of the first head come first"
)
UNTRANSPOSED = (
    "this multiplies by `output_weight` as it lies there; it is (out, in), as in a linear layer: multiply by its "
    "transpose"
)


def written(value: str) -> str:
    """Say that the caller's tensor was overwritten."""
    return (
        f"this writes {value} into the caller's own tensor, and from then on the head is silent for good; make a new "
        "one (`torch.where`, `masked_fill` or a `clone()`)"
    )


def shared(change: Heads, breaks: str) -> tuple[Misconception, ...]:
    """The ways of going wrong on the way to the output, whatever silent heads say."""
    return (
        Misconception("turned round", TURNED, after(lambda found, silent: change(found, ~silent)), breaks),
        Misconception("silent ignored", IGNORED, after(lambda found, silent: found), breaks),
        Misconception("no bias", NO_BIAS, without_bias(change), BIAS if breaks == REST else SAME),
        Misconception(
            "merged by reshape",
            BY_VIEW,
            after(change, lambda found: found.reshape(found.shape[0], found.shape[2], -1)),
            breaks,
        ),
        Misconception("merged by turns", BY_TURNS, after(change, lambda found: found.movedim(1, 3).flatten(2)), breaks),
        Misconception("weight not transposed", UNTRANSPOSED, untransposed(change), breaks),
    )


ZERO = Task(
    function="zero_ablation",
    parameters=("found", "output_weight", "output_bias", "silent"),
    returns="the output in which silent heads say nothing, shape (batch, time, d_model)",
    cases=draw_heads,
    examples=(BY_HAND, ANOTHER),
    reference=zero_ablation,
    properties=(
        Property(REST, 2, both(equals(zero_ablation), on(all_speak, equals(zero_ablation)))),
        Property(BIAS, 1, on(all_silent, equals(zero_ablation))),
        Property(LEFT, 1, inputs_unchanged),
    ),
    misconceptions=(
        *shared(silenced, REST),
        Misconception(
            "every head's bias",
            "this adds the bias once for every head that speaks; it is added once, after the heads are summed",
            bias_of_every_head,
            breaks=BIAS,
        ),
        Misconception(
            "a share of the bias",
            "the bias goes down with the share of the heads that speak; it belongs to no head and stays as it is",
            bias_of_the_share,
            breaks=BIAS,
        ),
        Misconception(
            "made up for",
            "what is left is multiplied to make up for the silent heads, as dropout does; an ablation leaves the other "
            "heads as they were",
            after(scaled_up),
            breaks=REST,
        ),
        Misconception(
            "truth values as numbers",
            "`silent` is used as if it held the numbers of heads: True and False became 1 and 0, the second head and "
            "the first; it is a mask, for `masked_fill` or `found[:, silent]`",
            after(as_numbers),
            breaks=REST,
        ),
        Misconception(
            "the mean",
            "silent heads say their mean here; that is the second half of the exercise, this one asks for zeros",
            mean_ablation,
            breaks=REST,
        ),
        Misconception("overwritten", written("zeros"), overwritten(silenced), breaks=LEFT),
    ),
)

MEAN = Task(
    function="mean_ablation",
    parameters=("found", "output_weight", "output_bias", "silent"),
    returns="the output in which a silent head says its mean everywhere, shape (batch, time, d_model)",
    cases=draw_heads,
    examples=(BY_HAND, ANOTHER),
    reference=mean_ablation,
    properties=(
        Property(MEANS, 2, both(both(equals(mean_ablation), on(all_speak, equals(mean_ablation))), inputs_unchanged)),
        Property(SAME, 1, on(all_silent, equals(mean_ablation))),
        Property(STEADY, 1, on(steady, equals(mean_ablation))),
    ),
    misconceptions=(
        *shared(averaged, MEANS),
        Misconception(
            "zeros",
            "silent heads say 0 here; put their mean in its place",
            zero_ablation,
            breaks=STEADY,
        ),
        Misconception(
            "every example by itself",
            "the mean runs over the places of each example by itself, and still tells the examples apart; take it over "
            "the batch too",
            after(mean_along(2)),
            breaks=SAME,
        ),
        Misconception(
            "every place by itself",
            "the mean runs over the examples at each place by itself, and still tells the places apart; take it over "
            "the time too",
            after(mean_along(0)),
            breaks=SAME,
        ),
        Misconception(
            "one number for a head",
            "the mean runs over the entries of the vectors as well, so that a head says one number in all of them; a "
            "mean has the shape (d_head,) for each head",
            after(mean_along(0, 2, 3)),
            breaks=STEADY,
        ),
        Misconception(
            "one mean for all heads",
            "the mean runs over the heads as well; every head has a mean of its own",
            after(mean_along(0, 1, 2)),
            breaks=STEADY,
        ),
        Misconception(
            "the mean of the others at this place",
            "a silent head says the mean of all heads at the same place here; asked is its own mean, over examples and "
            "places",
            after(mean_along(1)),
            breaks=STEADY,
        ),
        Misconception(
            "one mean for the silent",
            "all silent heads say the mean that they have together; every head has a mean of its own",
            lambda found, output_weight, output_bias, silent: (
                after(mean_of_the_silent)(found, output_weight, output_bias, silent)
                if silent.any()
                else whole(found, output_weight, output_bias)
            ),
            breaks=SAME,
        ),
        Misconception(
            "the mean of the output",
            "this is the mean of the whole output; only what silent heads found is replaced by its mean",
            mean_of_the_output,
            breaks=MEANS,
        ),
        Misconception("overwritten", written("means"), overwritten(averaged), breaks=MEANS),
    ),
)

ABLATION = Exercise(
    id="14.2",
    title="Ablation",
    difficulty=2,
    minutes=25,
    tasks=(ZERO, MEAN),
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
