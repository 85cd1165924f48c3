"""13.1: the online softmax, block by block, and two halves that are merged."""

from collections.abc import Callable

import torch

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import both, difference, equals, inputs_unchanged, of_output, on
from course_lib.grading.exercise import Case, Exercise, Property, Task

NEVER = -torch.inf
first_output, second_output, third_output = (of_output(number, equals()) for number in range(3))


def moved_by(steps: float, *names: str) -> Callable[[Case], Case]:
    """Return the change that moves these scores, in steps that are exact so far away."""
    return lambda case: case | {name: (16 * case[name]).round() / 16 + steps for name in names}


def add_piece(maximum, total, scores):
    """The greatest score, and the sum of all exponentials measured from it."""
    new = torch.maximum(maximum, scores.amax(-1))
    return new, total * (maximum - new).exp() + (scores - new[:, None]).exp().sum(-1)


def draw_block(generator: torch.Generator) -> Case:
    """Draw a block of scores, some of them hidden, for rows of which some have seen nothing yet."""
    batch, block, before = sizes(generator, 4, 5, 4)
    seen, scores = 2 * normal(generator, batch, before), 2 * normal(generator, batch, block)
    scores[torch.rand(batch, block, generator=generator) < 0.2] = NEVER
    scores[:, 0] = torch.where(scores.amax(-1) == NEVER, 0.5, scores[:, 0])
    maximum = seen.amax(-1)
    total, fresh = (seen - maximum[:, None]).exp().sum(-1), torch.rand(batch, generator=generator) < 0.3
    return {"maximum": maximum.where(~fresh, NEVER), "total": total.where(~fresh, 0.0), "scores": scores}


def hidden_block(case: Case) -> Case:
    """Hide the whole block, from rows that have seen something."""
    maximum = case["maximum"].where(case["maximum"] != NEVER, 0.25)
    total = case["total"].where(case["total"] != 0, 1.0)
    return {"maximum": maximum, "total": total, "scores": torch.full_like(case["scores"], NEVER)}


def block_by_block(case: Case):
    """Each column of the scores as a block of its own, after what is right for those before it."""
    first, *others = case["scores"].split(1, dim=1)
    asked, state = [], (case["maximum"], case["total"])
    for column in (first.clamp(min=-9.0), *others):  # a row that has seen nothing needs a first score
        asked.append({"maximum": state[0], "total": state[1], "scores": column})
        state = add_piece(**asked[-1])
    for reply in (yield asked):
        for name, got, expected in zip(("maximum", "total"), reply.value, reply.expected, strict=True):
            if problem := difference(reply.arguments, got, expected, where=f"{name}, one score after the other"):
                return problem
    return None


BLOCK_MISTAKES = """
sum not rescaled => the sum is measured from the new maximum
- rescaled = total * torch.exp(maximum - new)
+ rescaled = total
the old sum was measured from the old maximum and is added as it is; multiply it by exp(old maximum - new maximum) first

rescaled the wrong way round => the sum is measured from the new maximum
+ rescaled = total * torch.exp(new - maximum)
this multiplies the old sum by exp(new maximum - old maximum); the maximum has grown, so the sum measured from it
shrinks: exp(old - new), never above 1

block measured from its own maximum => the sum is measured from the new maximum
- exponentials = torch.exp(scores - rearrange(new, "batch -> batch 1"))
+ exponentials = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
the exponentials of the block are measured from the maximum of the block alone; where the old maximum was greater they
come out too large: measure them from the new maximum

block measured from its own maximum, then put right => a block that is hidden as a whole changes nothing
+ own = scores.amax(dim=-1, keepdim=True)
+ exponentials = torch.exp(scores - own) * torch.exp(own - rearrange(new, "batch -> batch 1"))
this measures the block from its own maximum and rescales afterwards; where all of the block is hidden that is -inf less
-inf, which is nan: take the new maximum off at once

block measured from the old maximum => the sum is measured from the new maximum
+ exponentials = torch.exp(scores - rearrange(maximum, "batch -> batch 1"))
the exponentials of the block are measured from the old maximum, which knows nothing of the block: they can be of any
size, and infinite where nothing was seen before

block alone => one score after the other gives what all at once give
- new = torch.maximum(maximum, scores.amax(dim=-1))
- rescaled = total * torch.exp(maximum - new)
+ new = scores.amax(dim=-1)
+ rescaled = 0.0
this is the maximum and the sum of the block alone; what was seen before belongs to both

maximum of the block => the maximum is the greatest score so far
- new = torch.maximum(maximum, scores.amax(dim=-1))
+ new = scores.amax(dim=-1)
the new maximum is that of the block alone; where the old one was greater it has to stay

old maximum kept => the maximum is the greatest score so far
+ new = maximum
the maximum stays at what it was before the block; it grows where the block has a greater score

one maximum for all rows => the maximum is the greatest score so far
+ new = torch.maximum(maximum, scores.amax()).amax().expand_as(maximum)
this takes one maximum for all rows of the batch: each row has its own (`amax(-1)`)

one maximum for the whole block => the maximum is the greatest score so far
+ new = torch.maximum(maximum, scores.max())
this takes the greatest score of the block for all rows (`scores.max()`): each row has its own, `scores.amax(dim=-1)`

maximum along the batch => the maximum is the greatest score so far
+ new = torch.maximum(maximum, scores.amax(dim=0))
this takes the maximum along the batch, `amax(0)`; the scores of one row stand along the last axis

exponentials without a maximum => scores around 10,000, and around -10,000
- rescaled = total * torch.exp(maximum - new)
- exponentials = torch.exp(scores - rearrange(new, "batch -> batch 1"))
+ rescaled = total * torch.exp(maximum) / torch.exp(new)
+ exponentials = torch.exp(scores) / torch.exp(rearrange(new, "batch -> batch 1"))
this takes exponentials of the scores as they are and divides afterwards: at 10,000 they are infinite, at -10,000 all
are 0; take the maximum off before exp

a number for minus infinity => scores around 10,000, and around -10,000
- new = torch.maximum(maximum, scores.amax(dim=-1))
+ scores = scores.masked_fill(scores.isinf(), -1e4)
+ new = torch.maximum(maximum, scores.amax(dim=-1))
this puts a number such as -10,000 for a hidden score, which is hidden no longer where the others are as small: leave
minus infinity, whose exponential is 0

exponentials of the scores => the sum is measured from the new maximum
- rescaled = total * torch.exp(maximum - new)
- exponentials = torch.exp(scores - rearrange(new, "batch -> batch 1"))
+ rescaled = total
+ exponentials = torch.exp(scores)
the sum is to hold exp(score - maximum), not exp(score): the old one holds the first

logarithm of the sum => the sum is measured from the new maximum
- return new, rescaled + exponentials.sum(dim=-1)
+ return new, new + torch.log(rescaled + exponentials.sum(dim=-1))
this returns maximum + ln(sum) in place of the sum; asked is the sum of exp(score - maximum)

by the logarithm of the sum => scores around 10,000, and around -10,000
+ before = rearrange(maximum + torch.log(total), "batch -> batch 1")
+ return new, torch.exp(torch.cat([before, scores], dim=1).logsumexp(dim=1) - new)
this goes by way of `logsumexp` of the scores as they are: a number near 10,000 is rounded to a thousandth in float32,
and exp makes an error of a thousandth of that; take the new maximum off first

mean of the block => the sum is measured from the new maximum
+ return new, rescaled + exponentials.mean(dim=-1)
the exponentials of the block are averaged; the denominator of a softmax is their sum

the two exchanged => the maximum is the greatest score so far
+ return rescaled + exponentials.sum(dim=-1), new
this returns (sum, maximum); the maximum comes first

sum changed in place => the maximum is the greatest score so far
- rescaled = total * torch.exp(maximum - new)
+ rescaled = total.mul_(torch.exp(maximum - new))
`total *= ...` changes the caller's own sum; `total * ...` makes a new one

maximum and sum changed in place => the maximum is the greatest score so far
- return new, rescaled + exponentials.sum(dim=-1)
+ return maximum.copy_(new), total.copy_(rescaled + exponentials.sum(dim=-1))
both answers are right, and the caller's own maximum and sum were changed on the way; make new tensors

scores changed in place => the maximum is the greatest score so far
- exponentials = torch.exp(scores - rearrange(new, "batch -> batch 1"))
+ exponentials = torch.exp(scores.sub_(rearrange(new, "batch -> batch 1")))
`scores -= ...` changes the caller's own scores; `scores - ...` makes new ones

exponentials without a maximum, one sum divided => scores around 10,000, and around -10,000
- rescaled = total * torch.exp(maximum - new)
- exponentials = torch.exp(scores - rearrange(new, "batch -> batch 1"))
- return new, rescaled + exponentials.sum(dim=-1)
+ return new, (total * torch.exp(maximum) + torch.exp(scores).sum(dim=-1)) * torch.exp(-new)
this takes exponentials of the scores as they are and sets them off against the maximum afterwards: at 10,000 they are
infinite, at -10,000 all are 0; take the maximum off before exp
"""

BLOCK = both(first_output, second_output)


def merge_halves(maximum, total, output, other_maximum, other_total, other_output):
    """Both sums measured from the greater maximum; each output weighed by its sum."""
    new = torch.maximum(maximum, other_maximum)
    one, other = total * (maximum - new).exp(), other_total * (other_maximum - new).exp()
    mixed = one[:, None] * output + other[:, None] * other_output
    return new, one + other, mixed / (one + other)[:, None]


def draw_halves(generator: torch.Generator) -> Case:
    """Draw what two halves of the keys gave."""
    batch, d_value = sizes(generator, 4, 5)
    case = {}
    for name, keys in zip(("", "other_"), sizes(generator, 4, 4), strict=True):
        scores, values = 2 * normal(generator, batch, keys), normal(generator, batch, keys, d_value)
        maximum = scores.amax(-1)
        total = (scores - maximum[:, None]).exp().sum(-1)
        output = (scores.softmax(-1)[..., None] * values).sum(1)
        case |= {f"{name}maximum": maximum, f"{name}total": total, f"{name}output": output}
    return case


def empty(which: str, full: str) -> Callable[[Case], Case]:
    """Return the change after which one half has seen no key, and the other one has."""

    def change(case: Case) -> Case:
        return case | {
            f"{which}maximum": torch.full_like(case[f"{which}maximum"], NEVER),
            f"{which}total": torch.zeros_like(case[f"{which}total"]),
            f"{which}output": torch.zeros_like(case[f"{which}output"]),
            f"{full}maximum": case[f"{full}maximum"].clamp(min=-99),
            f"{full}total": case[f"{full}total"].clamp(min=1),
        }

    return change


MERGE_MISTAKES = """
mean of both outputs => the output is the average over all keys
- weight = rearrange(first / (first + second), "batch -> batch 1")
+ weight = 0.5
this is the plain mean of both outputs: a half weighs as much as its exponentials, measured from one and the same
maximum

weighed by sums as they came => the output is the average over all keys
+ weight = rearrange(total / (total + other_total), "batch -> batch 1")
the outputs are weighed by the sums as they came, measured from two different maxima; rescale both to the new one first

sums as they came => maximum and sum of both halves together
- first = total * torch.exp(maximum - new)
- second = other_total * torch.exp(other_maximum - new)
+ first, second = total, other_total
both sums are used as they came, measured from two different maxima; multiply each by exp(its maximum - new maximum)
first

only one sum rescaled => maximum and sum of both halves together
- second = other_total * torch.exp(other_maximum - new)
+ second = other_total
the other half's sum is not rescaled: where the first half has the greater maximum, the other's sum shrinks

measured from the other maximum => maximum and sum of both halves together
- first = total * torch.exp(maximum - new)
- second = other_total * torch.exp(other_maximum - new)
+ first = total * torch.exp(maximum - other_maximum)
+ second = other_total
both sums are measured from the other half's maximum, and the greater of the two is returned: sum and maximum do not
belong together

measured from the other maximum, then put right => a half that has seen no key changes nothing
+ first = total * torch.exp(maximum - other_maximum) * torch.exp(other_maximum - new)
+ second = other_total * torch.exp(other_maximum - new)
both sums are measured from the other half's maximum and brought to the new one afterwards: if the other half is empty
that is infinite; measure from the greater of the two at once

measured from the first maximum, then put right => a half that has seen no key changes nothing
- first = total * torch.exp(maximum - new)
- second = other_total * torch.exp(other_maximum - new)
- weight = rearrange(first / (first + second), "batch -> batch 1")
- return new, first + second, weight * output + (1 - weight) * other_output
+ second = other_total * torch.exp(other_maximum - maximum)
+ mixed = total[:, None] * output + second[:, None] * other_output
+ return new, (total + second) * torch.exp(maximum - new), mixed / (total + second)[:, None]
both sums are measured from the first half's maximum and brought to the new one afterwards: if the first half is empty,
or far below, that is infinite; measure from the greater of the two at once

one empty row for all => maximum and sum of both halves together
- return new, first + second, weight * output + (1 - weight) * other_output
+ if maximum.isinf().any():
+     return other_maximum.clone(), other_total.clone(), other_output.clone()
+ if other_maximum.isinf().any():
+     return maximum.clone(), total.clone(), output.clone()
+ return new, first + second, weight * output + (1 - weight) * other_output
if a half has seen no key in one row, the other half is returned for all rows: each row has its own maxima, and exp
gives an empty half the weight 0 by itself

weighed by the maxima alone => the output is the average over all keys
- weight = rearrange(first / (first + second), "batch -> batch 1")
+ weight = torch.stack([maximum, other_maximum], dim=-1).softmax(dim=-1)[:, :1]
the outputs are weighed by the exponentials of the maxima alone, as though each half had one key: the sums belong in the
weights

weighed by the maxima, divided by the sums => the output is the average over all keys
- return new, first + second, weight * output + (1 - weight) * other_output
+ mixed = torch.exp(maximum - new)[:, None] * output + torch.exp(other_maximum - new)[:, None] * other_output
+ return new, first + second, mixed / (first + second)[:, None]
the outputs are weighed by the exponentials of the maxima alone, and then divided by the sum of both: each was divided
by its own sum before, which has to be multiplied in again

by logarithms of the sums => maxima around 10,000, and around -10,000
+ logarithms = torch.stack([maximum + total.log(), other_maximum + other_total.log()], dim=-1)  # (batch, 2)
+ weight = logarithms.softmax(dim=-1)[:, :1]
+ return new, torch.exp(logarithms.logsumexp(dim=-1) - new), weight * output + (1 - weight) * other_output
this goes by way of maximum + ln(sum): a number near 10,000 is rounded to a thousandth in float32, and exp makes an
error of a thousandth of that; take the new maximum off first

by logarithms of the sums, added => maxima around 10,000, and around -10,000
- return new, first + second, weight * output + (1 - weight) * other_output
+ one, other = maximum + total.log(), other_maximum + other_total.log()  # (batch,)
+ whole = torch.logaddexp(one, other)
+ mixed = torch.exp(one - whole)[:, None] * output + torch.exp(other - whole)[:, None] * other_output
+ return new, torch.exp(whole - new), mixed
this goes by way of maximum + ln(sum): a number near 10,000 is rounded to a thousandth in float32, and exp makes an
error of a thousandth of that; take the new maximum off first

outputs not divided => the output is the average over all keys
+ return new, first + second, first[:, None] * output + second[:, None] * other_output
the outputs are multiplied by their sums and never divided by the sum of both

outputs divided once more => the output is the average over all keys
+ return new, first + second, (output + other_output) / (first + second)[:, None]
the outputs were averages already, divided by their own sums: multiply each by its sum again before both are added

weights exchanged => the output is the average over all keys
+ return new, first + second, (1 - weight) * output + weight * other_output
each output is weighed by the sum of the other half

maxima added => maximum and sum of both halves together
+ return maximum + other_maximum, first + second, weight * output + (1 - weight) * other_output
the maximum of both halves is the greater of the two maxima, not their sum

exponentials without a maximum => maxima around 10,000, and around -10,000
- first = total * torch.exp(maximum - new)
- second = other_total * torch.exp(other_maximum - new)
+ first = total * torch.exp(maximum) / torch.exp(new)
+ second = other_total * torch.exp(other_maximum) / torch.exp(new)
this takes exponentials of the maxima as they are: at 10,000 they are infinite, at -10,000 they are 0; take the new
maximum off first

axis missing => the output is the average over all keys
- weight = rearrange(first / (first + second), "batch -> batch 1")
+ weight = first / (first + second)
sums of shape (batch,) meet outputs of shape (batch, d_value) at the wrong axis: `[:, None]` gives them one for the
entries

output changed in place => maximum and sum of both halves together
- return new, first + second, weight * output + (1 - weight) * other_output
+ return new, first + second, output.mul_(weight).add_((1 - weight) * other_output)
this multiplies the caller's own output in place; make a new one
"""

MERGED = both(second_output, third_output)
MAXIMA = "maximum", "other_maximum"

EXERCISE = Exercise(
    title="Online softmax",
    difficulty=2,
    minutes=30,
    tasks=(
        Task(
            function="add_piece",
            parameters=("maximum", "total", "scores"),
            returns="the maximum and the sum of all scores so far, both of shape (batch,)",
            outputs=("maximum", "total"),
            cases=draw_block,
            examples=(
                {
                    "maximum": torch.tensor([1.3863]),
                    "total": torch.tensor([1.25]),
                    "scores": torch.tensor([[2.0794, 0.6931]]),
                },
                {
                    "maximum": torch.tensor([NEVER, 3.0]),
                    "total": torch.tensor([0.0, 2.0]),
                    "scores": torch.tensor([[0.6931, 0.0], [NEVER, 3.0]]),
                },
            ),
            edges=(
                # One score, which is the maximum again; and one where nothing was read before.
                {"maximum": torch.tensor([2.0]), "total": torch.tensor([1.5]), "scores": torch.tensor([[2.0]])},
                {"maximum": torch.tensor([NEVER]), "total": torch.tensor([0.0]), "scores": torch.tensor([[-3.0]])},
                # Rows that rise by 200, fall by 200, and see nothing.
                {
                    "maximum": torch.tensor([-100.0, 100.0, 5.0]),
                    "total": torch.tensor([2.0, 1.0, 3.0]),
                    "scores": torch.tensor([[100.0, 99.0], [-100.0, NEVER], [NEVER, NEVER]]),
                },
            ),
            reference=add_piece,
            properties=(
                Property("the maximum is the greatest score so far", 1, both(first_output, inputs_unchanged)),
                Property("the sum is measured from the new maximum", 1, second_output),
                Property(
                    "scores around 10,000, and around -10,000",
                    1,
                    both(*(on(moved_by(steps, "maximum", "scores"), BLOCK) for steps in (1e4, -1e4))),
                ),
                Property("a block that is hidden as a whole changes nothing", 1, on(hidden_block, BLOCK)),
                Property("one score after the other gives what all at once give", 1, block_by_block),
            ),
            mistakes=BLOCK_MISTAKES,
        ),
        Task(
            function="merge_halves",
            parameters=("maximum", "total", "output", "other_maximum", "other_total", "other_output"),
            returns="maximum and sum of both halves, of shape (batch,), and their output, of shape (batch, d_value)",
            outputs=("maximum", "total", "output"),
            cases=draw_halves,
            examples=(
                {
                    "maximum": torch.tensor([0.6931]),
                    "total": torch.tensor([1.5]),
                    "output": torch.tensor([[4.0]]),
                    "other_maximum": torch.tensor([0.0]),
                    "other_total": torch.tensor([1.0]),
                    "other_output": torch.tensor([[8.0]]),
                },
                {
                    "maximum": torch.tensor([2.0, NEVER]),
                    "total": torch.tensor([1.0, 0.0]),
                    "output": torch.tensor([[1.0, 0.0, 3.0], [0.0, 0.0, 0.0]]),
                    "other_maximum": torch.tensor([2.0, 1.0]),
                    "other_total": torch.tensor([3.0, 2.0]),
                    "other_output": torch.tensor([[5.0, 4.0, 3.0], [7.0, 6.0, 5.0]]),
                },
            ),
            edges=(
                {  # equal maxima, a single row
                    "maximum": torch.tensor([1.0]),
                    "total": torch.tensor([1.0]),
                    "output": torch.tensor([[4.0, 1.0]]),
                    "other_maximum": torch.tensor([1.0]),
                    "other_total": torch.tensor([3.0]),
                    "other_output": torch.tensor([[8.0, -1.0]]),
                },
                {  # one half that weighs nothing beside the other, each the other's in another row
                    "maximum": torch.tensor([100.0, -100.0, NEVER]),
                    "total": torch.tensor([2.0, 1.0, 0.0]),
                    "output": torch.tensor([[4.0], [-3.0], [0.0]]),
                    "other_maximum": torch.tensor([-100.0, 100.0, -5.0]),
                    "other_total": torch.tensor([1.0, 2.0, 1.0]),
                    "other_output": torch.tensor([[8.0], [5.0], [7.0]]),
                },
            ),
            reference=merge_halves,
            properties=(
                Property(
                    "maximum and sum of both halves together",
                    1,
                    both(both(first_output, second_output), inputs_unchanged),
                ),
                Property("the output is the average over all keys", 1, third_output),
                Property(
                    "maxima around 10,000, and around -10,000",
                    1,
                    both(*(on(moved_by(steps, *MAXIMA), MERGED) for steps in (1e4, -1e4))),
                ),
                Property(
                    "a half that has seen no key changes nothing",
                    1,
                    both(on(empty("", "other_"), MERGED), on(empty("other_", ""), MERGED)),
                ),
            ),
            mistakes=MERGE_MISTAKES,
        ),
    ),
    hints=(
        "The sum holds exponentials measured from a maximum. If the maximum grows, what has to be done to a sum that "
        "was measured from the old one, so that nothing has to be read again?",
        "First the new maximum. Then the old sum times the exponential of old maximum minus new maximum (a factor of "
        "at most 1; 0 where nothing was seen), then the exponentials of the block, measured from the new one. Two "
        "halves: rescale both sums so, and let each half weigh by its rescaled sum.",
        "`torch.maximum(maximum, scores.amax(dim=-1))` is the new maximum, and `scores - new[:, None]` what goes into "
        "exp. For halves, "
        "`total * torch.exp(maximum - new)` is how much the first weighs, and the other alike; both are divided by "
        "their sum, and `[:, None]` gives them an axis for the entries of the values.",
    ),
)
