"""02.5: the gradient of hard attention, estimated from one sample."""

import torch

from course_lib.exercises.drawing import normal, sizes, uniform
from course_lib.grading.checks import difference, equals, inputs_unchanged, sums_to
from course_lib.grading.exercise import Case, Exercise, Property, Task


def hard_attention_gradient(scores, index, reward, baseline):
    """Advantage times (one-hot minus softmax)."""
    return (reward - baseline)[:, None] * (torch.nn.functional.one_hot(index, scores.shape[1]) - scores.softmax(1))


def draw_sample(generator: torch.Generator) -> Case:
    """Draw scores, a sampled location, a reward and a baseline."""
    batch, location = sizes(generator, 4, 5, least=2)
    return {
        "scores": normal(generator, batch, location),
        "index": torch.randint(location, (batch,), generator=generator),
        "reward": normal(generator, batch),
        "baseline": uniform(generator, 0.5, 2.0),
    }


def unbiased(case: Case):
    """The mean of the estimate over the location that is sampled is autograd's gradient of the expected reward.

    Every location of every picture is one row of a single call: the mean is a sum and no sample is drawn.
    """
    batch, location = case["scores"].shape
    rewards = torch.linspace(-1, 1, location) * case["reward"][:, None] + torch.arange(location) / 2
    every = {
        "scores": case["scores"].repeat_interleave(location, 0),
        "index": torch.arange(location).repeat(batch),
        "reward": rewards.flatten(),
        "baseline": case["baseline"],
    }
    reply = yield every
    estimates = reply.value.view(batch, location, location)
    scores = case["scores"].clone().requires_grad_()
    with torch.enable_grad():
        weights = scores.softmax(1)
        (gradient,) = torch.autograd.grad((weights * rewards).sum(), scores)
    mean = (weights.detach()[:, None] @ estimates)[:, 0]
    return difference(every, mean, gradient, where="weighted by the softmax and summed over index")


MISTAKES = """
weights not taken off => each row sums to zero
- return advantage * (sampled - scores.softmax(dim=1))
+ return advantage * sampled
this changes the score of the sampled location alone: minus softmax(scores) is missing

one-hot without a width => the estimate from one sample
- sampled = torch.nn.functional.one_hot(index, num_classes=scores.shape[1])
+ sampled = torch.nn.functional.one_hot(index)
`one_hot(index)` is only as wide as the largest index of the batch plus 1; `num_classes=scores.shape[1]` makes it
(batch, location)

sign turned => unbiased, whatever the baseline
- return advantage * (sampled - scores.softmax(dim=1))
+ return advantage * (scores.softmax(dim=1) - sampled)
this is the negative: a reward above the baseline must raise the score of the sampled location

baseline added => the estimate from one sample
- advantage = rearrange(reward - baseline, "batch -> batch 1")
+ advantage = rearrange(reward + baseline, "batch -> batch 1")
this adds the baseline to the reward; it is subtracted

baseline ignored => the estimate from one sample
+ advantage = rearrange(reward, "batch -> batch 1")
this leaves the baseline out: right on average, but not the estimate of the statement

probability counted twice => unbiased, whatever the baseline
- return advantage * (sampled - scores.softmax(dim=1))
+ weights = scores.softmax(dim=1)
+ return advantage * (sampled - weights) * weights.gather(1, rearrange(index, "batch -> batch 1"))
this multiplies by the probability of the sample; sampling has already counted it

scores for weights => each row sums to zero
+ return advantage * (sampled - scores)
this subtracts the scores instead of their softmax

the sampled score alone => each row sums to zero
+ return advantage * sampled * (1 - scores.softmax(dim=1))
this is the derivative by the score of the sampled location, and 0 elsewhere; log p has a derivative by every score

divided by the batch => the estimate from one sample
+ return advantage * (sampled - scores.softmax(dim=1)) / len(scores)
this divides by the size of the batch, as `mean()` does before `backward()`; every row has an estimate of its own

baseline for the sampled location alone => the estimate from one sample
+ return advantage * sampled - rearrange(reward, "batch -> batch 1") * scores.softmax(dim=1)
this subtracts the baseline from the reward for the sampled location alone; the same difference multiplies the whole row

scores overwritten => inputs unchanged
+ return advantage * (sampled - scores.sub_(scores.amax(dim=1, keepdim=True)).softmax(dim=1))
this subtracts the maximum from the caller's scores in place (`scores -= ...`)

baseline subtracted from the estimate => each row sums to zero
- advantage = rearrange(reward - baseline, "batch -> batch 1")
- return advantage * (sampled - scores.softmax(dim=1))
+ return rearrange(reward, "batch -> batch 1") * (sampled - scores.softmax(dim=1)) - baseline
this subtracts the baseline from the finished estimate; it is subtracted from the reward, before the product

locations of all pictures => each row sums to zero
- sampled = torch.nn.functional.one_hot(index, num_classes=scores.shape[1])
+ sampled = torch.zeros_like(scores)
+ sampled[:, index] = 1
`[:, index]` picks the sampled locations of all pictures in every row; each row has one location of its own:
`[torch.arange(len(index)), index]`, or `one_hot`

the best location => the estimate from one sample
+ sampled = torch.nn.functional.one_hot(scores.argmax(dim=1), num_classes=scores.shape[1])
this takes the location with the largest score for the one that was sampled; `index` says which one was sampled

advantage without an axis => the estimate from one sample
- advantage = rearrange(reward - baseline, "batch -> batch 1")
+ advantage = reward - baseline
`reward`, (batch,), was laid on (batch, location) as it is, and its batch met the locations; give it an axis for them,
`reward[:, None]`

one-hot filled up in front => the estimate from one sample
- sampled = torch.nn.functional.one_hot(index, num_classes=scores.shape[1])
+ sampled = torch.nn.functional.one_hot(index)
+ sampled = torch.nn.functional.pad(sampled, (scores.shape[1] - sampled.shape[1], 0))
`one_hot(index)` is only as wide as the largest index of the batch plus 1, and here the missing columns are put in
front, so that the 1 stands at another location; `num_classes=scores.shape[1]` makes it (batch, location)
"""

EXERCISE = Exercise(
    title="The gradient of hard attention",
    difficulty=4,
    minutes=40,
    tasks=(
        Task(
            function="hard_attention_gradient",
            parameters=("scores", "index", "reward", "baseline"),
            returns="the estimate of the gradient with respect to the scores, shape (batch, location)",
            cases=draw_sample,
            examples=(
                {
                    "scores": torch.tensor([[0.0, 3.0], [1.0, 0.0]]).log1p(),
                    "index": torch.tensor([0, 0]),
                    "reward": torch.tensor([3.0, 2.0]),
                    "baseline": 1.0,
                },
            ),
            edges=(
                {
                    "scores": torch.tensor([[1.0], [2.0]]),
                    "index": torch.tensor([0, 0]),
                    "reward": torch.tensor([3.0, -1.0]),
                    "baseline": 1.0,
                },  # one location
                {
                    "scores": torch.tensor([[0.0, 3.0, 0.0]]),
                    "index": torch.tensor([1]),
                    "reward": torch.tensor([1.0]),
                    "baseline": 0.5,
                },  # one picture
                {
                    "scores": torch.tensor([[0.0, 1.0], [2.0, 2.0]]),
                    "index": torch.tensor([1, 1]),
                    "reward": torch.tensor([2.0, 0.0]),
                    "baseline": 2.0,
                },  # a reward equal to the baseline; a reward of 0; a tie
            ),
            reference=hard_attention_gradient,
            properties=(
                Property("the estimate from one sample", 3, equals()),
                Property("unbiased, whatever the baseline", 3, unbiased),
                Property("each row sums to zero", 1, sums_to(0)),
                Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "log p of the sampled location is its score minus the logarithm of a sum. What is the derivative with respect "
        "to that score itself, and to any other? The example shows both.",
        "The gradient of log softmax(scores)[index] with respect to the scores is one_hot(index) - softmax(scores). "
        "Multiply it by the difference between reward and baseline.",
        "`advantage = (reward - baseline)[:, None]`, shape (batch, 1); it multiplies "
        "`one_hot(index, scores.shape[1]) - scores.softmax(dim=1)`.",
    ),
)
