"""11.2: what logits cost that know nothing, and a table that makes them small enough."""

import torch

from course_lib.exercises.drawing import normal, sizes, uniform
from course_lib.grading.checks import ROUNDING, both, equals, inputs_unchanged, on
from course_lib.grading.exercise import Case, Exercise, Property, Task
from course_lib.grading.problem import Problem


def expected_first_loss(logits):
    """The loss, averaged over all targets there could be."""
    return logits.logsumexp(-1) - logits.mean(-1)


def draw_logits(generator: torch.Generator) -> Case:
    """Draw logits with one to three axes."""
    axes = int(torch.randint(1, 4, (), generator=generator))
    logits = normal(generator, *sizes(generator, *[4] * (axes - 1)), *sizes(generator, 7, least=2))
    return {"logits": uniform(generator, 0.5, 2.0) * logits}


def even(case: Case) -> Case:
    """Give every token the logit 10."""
    return {"logits": torch.full_like(case["logits"], 10)}


def one_moved(by: float):
    """Return the change that moves the logit of the last token."""

    def change(case: Case) -> Case:
        logits = case["logits"].clone()
        logits[..., -1] += by
        return {"logits": logits}

    return change


FIRST_LOSS_MISTAKES = """
ln V whatever the scores => the mean over all targets
- return losses.mean(dim=-1)
+ return torch.full(logits.shape[:-1], math.log(logits.shape[-1]))
this is ln V whatever the logits are; so is minus the logarithm of the *mean* probability, for probabilities always
average 1/V: first the logarithm of each, then their mean

entropy => the mean over all targets
+ return (logits.softmax(dim=-1) * losses).sum(dim=-1)
this weights each loss by the probability that the model itself gives (the entropy); the text does not ask what the
model thinks: here every token is the target equally often

only the excess over ln V => equal logits give the loss ln V
+ return losses.mean(dim=-1) - math.log(logits.shape[-1])
this is what the loss exceeds ln V by; the loss itself is asked for

in bits => equal logits give the loss ln V
+ return losses.mean(dim=-1) / math.log(2)
this is in bits; ln V is in nats, as the loss of a training run is: the natural logarithm

summed over the targets => equal logits give the loss ln V
+ return losses.sum(dim=-1)
this is the sum over the targets; each of the V is the target once in V cases: take the mean

mean score not taken off => equal logits give the loss ln V
+ return logits.logsumexp(dim=-1)
this is the log-sum-exp alone, and a constant added to all logits would change it; the logit of the target is taken off,
on average the mean logit

the first target only => the mean over all targets
+ return losses[..., 0]
this is the loss where the first token is the target; average over all V

the best target only => the mean over all targets
+ return losses.amin(dim=-1)
this is the loss where the token with the greatest logit is the target; average over all V, for the logits know nothing
of the text

perplexity => equal logits give the loss ln V
+ return losses.mean(dim=-1).exp()
this is the exponential of the loss, the perplexity, which is V for equal logits; asked is the loss

sign turned => equal logits give the loss ln V
+ return -losses.mean(dim=-1)
this is below zero: it is the mean logarithm of the probabilities, and the loss is minus that

not averaged => the mean over all targets
+ return losses
these are the losses of all targets, (..., V), still to be averaged along the last axis

one number for all rows => the mean over all targets
+ return losses.mean()
this averages over the rows as well; each row of logits has a number of its own

softmax twice => the mean over all targets
- losses = -torch.log_softmax(logits, dim=-1)
+ losses = -torch.log_softmax(logits.softmax(dim=-1), dim=-1)
this takes the softmax twice: `cross_entropy`, `log_softmax` and `logsumexp` want logits, not probabilities

overflow => a logit 1,000 below the others, or above: finite and right
+ losses = logits.exp().sum(dim=-1, keepdim=True).log() - logits
the exponential of a great logit overflows to infinity: `torch.logsumexp` and `log_softmax` take the greatest off first

softmax, then its logarithm => a logit 1,000 below the others, or above: finite and right
+ losses = -logits.softmax(dim=-1).log()
this takes the softmax and then its logarithm: a probability that is rounded to 0 has the logarithm minus infinity;
`log_softmax` never forms it

half the variance added => the mean over all targets
- return losses.mean(dim=-1)
+ return math.log(logits.shape[-1]) + logits.var(dim=-1, correction=0) / 2
this is ln V and half the variance of the logits, which is nearly right where they differ little; take the mean of the
losses themselves

kept above a small number => a logit 1,000 below the others, or above: finite and right
- losses = -torch.log_softmax(logits, dim=-1)
+ losses = -torch.softmax(logits, dim=-1).clamp(min=1e-10).log()
this keeps the probabilities above a small number before the logarithm, and then no target can cost more than the
logarithm of that number; `log_softmax` needs no guard
"""

FIRST_LOSS = Task(
    function="expected_first_loss",
    parameters=("logits",),
    returns="the loss averaged over all targets, one number for each row of logits, shape (...)",
    cases=draw_logits,
    examples=(
        {"logits": torch.tensor([[0.0, 0.0, 0.0], [0.6931, 0.0, 0.0]])},
        {"logits": torch.tensor([1.0986, 0.0])},
    ),
    edges=(
        {"logits": torch.tensor([[[0.0, 1.0986]], [[2.0, -1.0]]])},  # an axis of size one
        {"logits": torch.tensor([[3.0], [-1.0]])},  # a single token, which costs nothing
        {"logits": torch.tensor([[1.0, 1.0, 1.0], [9.0, 0.0, -9.0]])},  # a row of equal logits beside another
    ),
    reference=expected_first_loss,
    properties=(
        Property("equal logits give the loss ln V", 1, on(even, equals())),
        Property("the mean over all targets", 2, both(equals(), inputs_unchanged)),
        Property(
            "a logit 1,000 below the others, or above: finite and right",
            1,
            both(on(one_moved(-1000.0), equals()), on(one_moved(1000.0), equals())),
        ),
    ),
    mistakes=FIRST_LOSS_MISTAKES,
)


def mean_variance(logits):
    """The biased variance of the logits of each vector, averaged over the vectors."""
    return logits.var(-1, correction=0).mean()


def scale_table(table, vectors, surplus):
    """The table, scaled so that the variance of the logits is twice the surplus."""
    return table * (2 * surplus / mean_variance(vectors @ table.T)).sqrt()


def draw_table(generator: torch.Generator) -> Case:
    """Draw a table that is too large, vectors of no particular size, and what the loss may have too much."""
    vocab_size, d_model = sizes(generator, 7, 5, least=2)
    batch, time = sizes(generator, 3, 4)
    return {
        "table": uniform(generator, 1, 3) * normal(generator, vocab_size, d_model),
        "vectors": uniform(generator, 0.5, 2) * normal(generator, batch, time, d_model) + 0.5,
        "surplus": uniform(generator, 0.05, 0.4),
    }


def one_factor(case: Case):
    """Every entry of the table is multiplied by the same number above zero."""
    reply, table = (yield case), case["table"]
    factor = (reply.value * table).sum() / table.square().sum()
    if factor > 0 and ((reply.value - factor * table).abs() <= 1e-4 * factor * table.abs().max()).all():
        return None
    ratios = (reply.value / table)[table != 0]
    got = f"numbers from {ratios.min().item():.4g} to {ratios.max().item():.4g}"
    return Problem("value", case, where="the factors of the entries", got=got, expected="one number above zero for all")


def variance_allowed(case: Case):
    """The logits have twice the surplus as their variance."""
    reply = yield case
    got, expected = mean_variance(case["vectors"] @ reply.value.T).item(), 2 * case["surplus"]
    if abs(got - expected) <= 20 * ROUNDING * expected:
        return None
    where = "the variance of the logits with this table"
    return Problem("value", case, where=where, got=got, expected=expected, note="which is twice the surplus")


SCALING_MISTAKES = """
no root => the variance of the logits is twice the surplus
- return table * torch.sqrt(2 * surplus / variance)
+ return table * (2 * surplus / variance)
this multiplies by the quotient of the two variances; a factor on the logits enters their variance *squared*, so its
root is needed

the surplus as variance => the variance of the logits is twice the surplus
+ return table * torch.sqrt(surplus / variance)
this makes the surplus itself the variance, and half of the surplus is left unused: the loss rises by *half* the
variance

half the surplus as variance => the variance of the logits is twice the surplus
+ return table * torch.sqrt(surplus / 2 / variance)
this makes half the surplus the variance: the surplus is half the variance, so the variance is *twice* the surplus

the surplus as standard deviation => the variance of the logits is twice the surplus
+ return table * 2 * surplus / torch.sqrt(variance)
this makes twice the surplus the *standard deviation*; it is to be the variance, the square of that

upside down => the variance of the logits is twice the surplus
+ return table * torch.sqrt(variance / (2 * surplus))
this factor is upside down: larger logits need a smaller one

unbiased variance => the variance of the logits is twice the surplus
- variance = logits.var(dim=-1, correction=0).mean()
+ variance = logits.var(dim=-1).mean()
this divides the squares by V - 1 (`var` without `correction=0`); the V logits are all there are, so the sum is divided
by V

one variance for all scores => the variance of the logits is twice the surplus
+ variance = logits.var(correction=0)
this takes one variance of all logits of all vectors; what differs from vector to vector and is the same for all tokens
does not reach the softmax: a variance for each vector, along the vocabulary, then a mean

mean of the squares => the variance of the logits is twice the surplus
+ variance = logits.square().mean()
this averages the squares of the logits without taking their mean off; a constant added to all logits of a vector costs
nothing

mean of the standard deviations => the variance of the logits is twice the surplus
+ variance = logits.std(dim=-1, correction=0).mean() ** 2
this averages standard deviations over the vectors; the surplus is half the mean of the *variances*: take the root after
the mean

variance along time => the variance of the logits is twice the surplus
+ variance = logits.var(dim=1, correction=0).mean()
this is the variance along time; the softmax runs along the vocabulary, and so does the variance that counts, dim=-1

all zeros => the table is scaled, all of it by one number
- return table * torch.sqrt(2 * surplus / variance)
+ return table * 0
a table of zeros costs exactly ln V, and lets no gradient through to the vectors: the table is to be scaled, and to keep
the surplus that is asked for

by the width alone => the variance of the logits is twice the surplus
+ return table * math.sqrt(2 * surplus / table.shape[1]) / table.std(correction=0)
this sets the size of the table from its width, as if the vectors had entries of variance 1; measure the logits that
these vectors give

every row by itself => the table is scaled, all of it by one number
+ return table / table.norm(dim=1, keepdim=True) * math.sqrt(2 * surplus / table.shape[1])
every row of the table was given a factor of its own; one number is to scale the whole table

in place => inputs unchanged
+ table *= torch.sqrt(2 * surplus / variance)
+ return table
`table *= ...` scales the caller's own table; `table * ...` makes a new one
"""

SCALING = Task(
    function="scale_table",
    parameters=("table", "vectors", "surplus"),
    returns="the table, scaled by one number, shape (vocab, d_model)",
    cases=draw_table,
    examples=(
        {
            "table": torch.tensor([[4.0, 0.0], [0.0, 2.0]]),
            "vectors": torch.tensor([[[1.0, 0.0], [0.0, 4.0]]]),
            "surplus": 0.2,
        },
    ),
    edges=(
        # A single feature, one vector.
        {"table": torch.tensor([[4.0], [-2.0]]), "vectors": torch.tensor([[[3.0]]]), "surplus": 0.1},
        # A vector of zeros, whose logits have no variance, counts in the mean.
        {
            "table": torch.tensor([[4.0, 0.0], [0.0, 2.0]]),
            "vectors": torch.tensor([[[1.0, 2.0]], [[0.0, 0.0]], [[-1.0, 3.0]]]),
            "surplus": 0.2,
        },
    ),
    reference=scale_table,
    properties=(
        Property("the table is scaled, all of it by one number", 1, one_factor),
        Property("the variance of the logits is twice the surplus", 2, variance_allowed),
        Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
    ),
    mistakes=SCALING_MISTAKES,
)

EXERCISE = Exercise(
    title="ln V at the start",
    difficulty=2,
    minutes=30,
    tasks=(FIRST_LOSS, SCALING),
    hints=(
        "If the logits know nothing of the text, any token may be the target. What is the mean of the V losses? And if "
        "all logits are multiplied by c, by what is their variance multiplied?",
        "The loss where token i is the target is the log-sum-exp of the logits less logit i: average over i. For the "
        "table, compute the logits, their variance along the vocabulary for each vector, and the mean of these; find "
        "the factor that makes it twice the surplus.",
        "`torch.logsumexp(logits, dim=-1)` has the shape of the answer, and so has the mean logit. With "
        "`vectors @ table.T` and `var(dim=-1, correction=0)`, averaged to the number v, the factor is the root of "
        "twice the surplus over v.",
    ),
)
