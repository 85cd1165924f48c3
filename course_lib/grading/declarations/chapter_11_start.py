"""Exercise 11.2, ln V at the start: what scores cost that know nothing, and a table that is quiet enough."""

import math

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.drawing import normal, sizes, uniform
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import ROUNDING, answer_like, both, equals, inputs_unchanged, on
from course_lib.grading.wording import describe, describe_case

# ---------------------------------------------------------------- the loss of scores that know nothing


def expected_first_loss(scores):
    """The loss, averaged over all targets there could be."""
    return scores.logsumexp(-1) - scores.mean(-1)


def draw_scores(generator: torch.Generator) -> Case:
    """Draw scores with one to three axes."""
    axes = int(torch.randint(1, 4, (), generator=generator))
    scores = normal(generator, *sizes(generator, *[4] * (axes - 1)), *sizes(generator, 7, least=2))
    return {"scores": uniform(generator, 0.5, 2.0) * scores}


def even(case: Case) -> Case:
    """Give every token the score 10."""
    return {"scores": torch.full_like(case["scores"], 10)}


def one_moved(by: float):
    """Return the change that moves the score of the last token."""

    def change(case: Case) -> Case:
        scores = case["scores"].clone()
        scores[..., -1] += by
        return {"scores": scores}

    return change


def unguarded(scores):
    """The sum of the exponentials, whatever their size."""
    return scores.exp().sum(-1).log() - scores.mean(-1)


EVEN, LOSS, FAR = (
    "even scores cost ln V",
    "the mean over all targets",
    "a score 1,000 below the others, or above: finite and right",
)

FIRST_LOSS = Task(
    function="expected_first_loss",
    parameters=("scores",),
    returns="the loss averaged over all targets, one number for each row of scores, shape (...)",
    cases=draw_scores,
    examples=(
        {"scores": torch.tensor([[0.0, 0.0, 0.0], [0.6931, 0.0, 0.0]])},
        {"scores": torch.tensor([1.0986, 0.0])},
    ),
    reference=expected_first_loss,
    properties=(
        Property(EVEN, 1, on(even, equals(expected_first_loss))),
        Property(LOSS, 2, both(equals(expected_first_loss), inputs_unchanged)),
        Property(
            FAR,
            1,
            both(
                on(one_moved(-1000.0), equals(expected_first_loss)), on(one_moved(1000.0), equals(expected_first_loss))
            ),
        ),
    ),
    misconceptions=(
        Misconception(
            "ln V whatever the scores",
            "this is ln V whatever the scores are; so is minus the logarithm of the *mean* probability, for "
            "probabilities always average 1/V: first the logarithm of each, then their mean",
            lambda scores: torch.full(scores.shape[:-1], math.log(scores.shape[-1])),
            breaks=LOSS,
        ),
        Misconception(
            "entropy",
            "this weighs each loss by the probability that the model itself gives (the entropy); the text does not ask "
            "what the model thinks: here every token is due equally often",
            lambda scores: -(scores.softmax(-1) * scores.log_softmax(-1)).sum(-1),
            breaks=LOSS,
        ),
        Misconception(
            "only the excess over ln V",
            "this is what the loss exceeds ln V by; the loss itself is asked for",
            lambda scores: expected_first_loss(scores) - math.log(scores.shape[-1]),
            breaks=EVEN,
        ),
        Misconception(
            "in bits",
            "this is in bits; ln V is in nats, as the loss of a training run is: the natural logarithm",
            lambda scores: expected_first_loss(scores) / math.log(2),
            breaks=EVEN,
        ),
        Misconception(
            "summed over the targets",
            "this is the sum over the targets; each of the V is due once in V cases: take the mean",
            lambda scores: expected_first_loss(scores) * scores.shape[-1],
            breaks=EVEN,
        ),
        Misconception(
            "mean score not taken off",
            "this is the log-sum-exp alone, and a constant added to all scores would change it; the score of the "
            "target is taken off, on average the mean score",
            lambda scores: scores.logsumexp(-1),
            breaks=EVEN,
        ),
        Misconception(
            "the first target only",
            "this is the loss where the first token is due; average over all V",
            lambda scores: -scores.log_softmax(-1)[..., 0],
            breaks=LOSS,
        ),
        Misconception(
            "the best target only",
            "this is the loss where the token with the greatest score is due; average over all V, for the scores know "
            "nothing of the text",
            lambda scores: -scores.log_softmax(-1).amax(-1),
            breaks=LOSS,
        ),
        Misconception(
            "perplexity",
            "this is the exponential of the loss, the perplexity, which is V for even scores; asked is the loss",
            lambda scores: expected_first_loss(scores).exp(),
            breaks=EVEN,
        ),
        Misconception(
            "sign turned",
            "this is below zero: it is the mean logarithm of the probabilities, and the loss is minus that",
            lambda scores: -expected_first_loss(scores),
            breaks=EVEN,
        ),
        Misconception(
            "not averaged",
            "these are the losses of all targets, (..., V), still to be averaged along the last axis",
            lambda scores: -scores.log_softmax(-1),
            breaks=LOSS,
        ),
        Misconception(
            "one number for all rows",
            "this averages over the rows as well; each row of scores has a number of its own",
            lambda scores: expected_first_loss(scores).mean(),
            breaks=LOSS,
        ),
        Misconception(
            "softmax twice",
            "this takes the softmax twice: `cross_entropy`, `log_softmax` and `logsumexp` want scores, not "
            "probabilities",
            lambda scores: expected_first_loss(scores.softmax(-1)),
            breaks=LOSS,
        ),
        Misconception(
            "overflow",
            "the exponential of a great score overflows to infinity: `torch.logsumexp` and `log_softmax` take the "
            "greatest off first",
            unguarded,
            breaks=FAR,
        ),
        Misconception(
            "softmax, then its logarithm",
            "this takes the softmax and then its logarithm: a probability that is rounded to 0 has the logarithm minus "
            "infinity; `log_softmax` never forms it",
            lambda scores: -scores.softmax(-1).log().mean(-1),
            breaks=FAR,
        ),
    ),
)

# ---------------------------------------------------------------- a table that is quiet enough


def spread(scores):
    """The biased variance of the scores of each vector, averaged over the vectors."""
    return scores.var(-1, correction=0).mean()


def scaled_by(factor):
    """Return the answer that multiplies the table by `factor(scores, surplus)`."""
    return lambda table, vectors, surplus: table * factor(vectors @ table.T, surplus)


quiet_table = scaled_by(lambda scores, surplus: (2 * surplus / spread(scores)).sqrt())


def draw_table(generator: torch.Generator) -> Case:
    """Draw a table that is loud, vectors of no particular size, and what the loss may have too much."""
    vocabulary, d_model = sizes(generator, 7, 5, least=2)
    batch, time = sizes(generator, 3, 4)
    return {
        "table": uniform(generator, 1, 3) * normal(generator, vocabulary, d_model),
        "vectors": uniform(generator, 0.5, 2) * normal(generator, batch, time, d_model) + 0.5,
        "surplus": uniform(generator, 0.05, 0.4),
    }


def one_factor(call: Call, case: Case) -> str | None:
    """Every entry of the table multiplied by the same number above zero."""
    answer, _ = answer_like(quiet_table, call, case)
    table = case["table"]
    factor = (answer * table).sum() / table.square().sum()
    if factor > 0 and ((answer - factor * table).abs() <= 1e-4 * factor * table.abs().max()).all():
        return None
    ratios = (answer / table).flatten()
    low, high = (describe(each.item()) for each in (ratios.min(), ratios.max()))
    return (
        f"{describe_case(case)}: entries were multiplied by numbers from {low} to {high}, expected one number above "
        "zero for all"
    )


def as_loud_as_allowed(call: Call, case: Case) -> str | None:
    """The scores have twice the surplus as their variance."""
    answer, _ = answer_like(quiet_table, call, case)
    came, due = spread(case["vectors"] @ answer.T), 2 * case["surplus"]
    if abs(came - due) <= 20 * ROUNDING * due:
        return None
    return (
        f"{describe_case(case)}: with the table that came the scores have the variance {describe(came.item())}, "
        f"expected {describe(due)}, twice the surplus"
    )


def in_place(table, vectors, surplus):
    """The caller's table scaled."""
    table *= (2 * surplus / spread(vectors @ table.T)).sqrt()
    return table


ONE_FACTOR, VARIANCE, UNCHANGED = (
    "the table is scaled, all of it by one number",
    "the variance of the scores is twice the surplus",
    "inputs unchanged",
)


def wrong(name: str, said: str, factor, breaks: str = VARIANCE) -> Misconception:
    """Another factor."""
    return Misconception(name, said, scaled_by(factor), breaks=breaks)


QUIET = Task(
    function="quiet_table",
    parameters=("table", "vectors", "surplus"),
    returns="the table, scaled by one number, shape (vocabulary, d_model)",
    cases=draw_table,
    examples=(
        {
            "table": torch.tensor([[4.0, 0.0], [0.0, 2.0]]),
            "vectors": torch.tensor([[[1.0, 0.0], [0.0, 4.0]]]),
            "surplus": 0.2,
        },
    ),
    reference=quiet_table,
    properties=(
        Property(ONE_FACTOR, 1, one_factor),
        Property(VARIANCE, 2, as_loud_as_allowed),
        Property(UNCHANGED, 1, inputs_unchanged, only_when_right=True),
    ),
    misconceptions=(
        wrong(
            "no root",
            "this multiplies by the quotient of the two variances; a factor on the scores enters their variance "
            "*squared*, so its root is needed",
            lambda scores, surplus: 2 * surplus / spread(scores),
        ),
        wrong(
            "the surplus as variance",
            "this makes the surplus itself the variance, and half of the surplus is left unused: the loss rises by "
            "*half* the variance",
            lambda scores, surplus: (surplus / spread(scores)).sqrt(),
        ),
        wrong(
            "half the surplus as variance",
            "this makes half the surplus the variance: the surplus is half the variance, so the variance is *twice* "
            "the surplus",
            lambda scores, surplus: (surplus / 2 / spread(scores)).sqrt(),
        ),
        wrong(
            "the surplus as standard deviation",
            "this makes twice the surplus the *standard deviation*; it is to be the variance, the square of that",
            lambda scores, surplus: 2 * surplus / spread(scores).sqrt(),
        ),
        wrong(
            "upside down",
            "this factor is upside down: louder scores need a smaller one",
            lambda scores, surplus: (spread(scores) / (2 * surplus)).sqrt(),
        ),
        wrong(
            "unbiased variance",
            "this divides the squares by V - 1 (`var` without `correction=0`); the V scores are all there are, so the "
            "sum is divided by V",
            lambda scores, surplus: (2 * surplus / scores.var(-1).mean()).sqrt(),
        ),
        wrong(
            "one variance for all scores",
            "this takes one variance of all scores of all vectors; what differs from vector to vector and is the same "
            "for all tokens does not reach the softmax: a variance for each vector, along the vocabulary, then a mean",
            lambda scores, surplus: (2 * surplus / scores.var(correction=0)).sqrt(),
        ),
        wrong(
            "mean of the squares",
            "this averages the squares of the scores without taking their mean off; a constant added to all scores of "
            "a vector costs nothing",
            lambda scores, surplus: (2 * surplus / scores.square().mean()).sqrt(),
        ),
        wrong(
            "mean of the standard deviations",
            "this averages standard deviations over the vectors; the surplus is half the mean of the *variances*: take "
            "the root after the mean",
            lambda scores, surplus: math.sqrt(2 * surplus) / scores.std(-1, correction=0).mean(),
        ),
        wrong(
            "variance along time",
            "this is the variance along time; the softmax runs along the vocabulary, and so does the variance that "
            "counts, dim=-1",
            lambda scores, surplus: (2 * surplus / scores.var(1, correction=0).mean()).sqrt(),
        ),
        wrong(
            "all zeros",
            "a table of zeros costs exactly ln V, and lets no gradient through to the vectors: the table is to be "
            "scaled, and to keep the surplus that is asked for",
            lambda scores, surplus: 0,
            breaks=ONE_FACTOR,
        ),
        Misconception(
            "by the width alone",
            "this sets the spread of the table from its width, as if the vectors had entries of variance 1; measure "
            "the scores that these vectors give",
            lambda table, vectors, surplus: table * math.sqrt(2 * surplus / table.shape[1]) / table.std(correction=0),
            breaks=VARIANCE,
        ),
        Misconception(
            "every row by itself",
            "every row of the table was given a factor of its own; one number is to scale the whole table",
            lambda table, vectors, surplus: (
                table / table.norm(dim=1, keepdim=True) * math.sqrt(2 * surplus / table.shape[1])
            ),
            breaks=ONE_FACTOR,
        ),
        Misconception(
            "in place",
            "`table *= ...` scales the caller's own table; `table * ...` makes a new one",
            in_place,
            breaks=UNCHANGED,
        ),
    ),
)

START = Exercise(
    id="11.2",
    title="ln V at the start",
    difficulty=2,
    minutes=30,
    tasks=(FIRST_LOSS, QUIET),
    hints=(
        "If the scores know nothing of the text, any token may be due. What is the mean of the V losses? And if all "
        "scores are multiplied by c, by what is their variance multiplied?",
        "The loss where token i is due is the log-sum-exp of the scores less score i: average over i. For the table, "
        "compute the scores, their variance along the vocabulary for each vector, and the mean of these; find the "
        "factor that makes it twice the surplus.",
        "`torch.logsumexp(scores, dim=-1)` has the shape of the answer, and so has the mean score. With "
        "`vectors @ table.T` and `var(dim=-1, correction=0)`, averaged to the number v, the factor is the root of "
        "twice the surplus over v.",
    ),
)
