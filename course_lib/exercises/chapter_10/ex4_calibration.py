"""10.4: the reliability curve, the error that is read from it, and a temperature."""

import torch

from course_lib.exercises.drawing import normal, sizes, uniform
from course_lib.grading.checks import both, equals, inputs_unchanged, of_output, on
from course_lib.grading.exercise import Case, Exercise, Property, Task


def bin_of(confidences, bins):
    """The bin of every confidence, where a bin has its upper edge and not its lower one."""
    return (confidences * bins).ceil() - 1


def confidence_and_hit(probabilities, labels):
    """Confidence of the chosen class, and whether it is right."""
    return probabilities.amax(1), probabilities.argmax(1) == labels


def reliability_curve(probabilities, labels, bins, bin_of=bin_of, read=confidence_and_hit):
    """Mean confidence, accuracy and fraction of the examples of each bin, zeros for an empty one."""
    confidences, right = read(probabilities, labels)
    in_bin = (bin_of(confidences, bins)[:, None] == torch.arange(bins)).to(confidences.dtype)  # (example, bin)
    counts = in_bin.sum(0)
    confidence = (in_bin * confidences[:, None]).sum(0) / counts.clamp(min=1)
    accuracy = (in_bin * right[:, None]).sum(0) / counts.clamp(min=1)
    return confidence, accuracy, counts / len(confidences)


def calibration_error(probabilities, labels, bins, **made):
    """The gaps of the curve, weighted."""
    confidence, accuracy, weight = reliability_curve(probabilities, labels, bins, **made)
    return (weight * (accuracy - confidence).abs()).sum()


def error(**made):
    """Return the error of a curve that has another `bin_of`, or that reads other confidences and hits."""
    return lambda probabilities, labels, bins: calibration_error(probabilities, labels, bins, **made)


def draw_predictions(generator: torch.Generator) -> Case:
    """Draw probabilities whose greatest one is well inside a bin, and labels that agree with it more often than not."""
    classes, bins, examples = (least + size for least, size in zip((1, 0, 2), sizes(generator, 3, 7, 12), strict=True))
    probabilities, labels = torch.zeros(examples, classes), torch.zeros(examples, dtype=torch.long)
    for row in range(examples):
        greatest = 0.0
        while greatest < 1 / classes + 0.03:
            [number] = sizes(generator, bins)
            greatest = (number - uniform(generator, 0.2, 0.8)) / bins
        others = (1 - greatest) * normal(generator, classes - 1).softmax(0)
        if others.max() > greatest - 0.02:
            others = torch.full((classes - 1,), (1 - greatest) / (classes - 1))
        [winner, label] = sizes(generator, classes, classes)
        probabilities[row] = torch.cat([others[: winner - 1], torch.tensor([greatest]), others[winner - 1 :]])
        labels[row] = (winner if uniform(generator, 0, 1) < 0.5 else label) - 1
    return {"probabilities": probabilities, "labels": labels, "bins": bins}


def on_the_edges(case: Case) -> Case:
    """Put confidences on the edges of four bins, which are exact in binary, and between them."""
    greatest = torch.tensor([0.5, 0.625, 0.75, 0.875, 1.0])
    probabilities = torch.stack([greatest, (1 - greatest) / 2, (1 - greatest) / 2], 1)
    labels = torch.tensor([0, 1, 0, 2, 1])
    turned = case["labels"][:1] % 3  # another class wins in another case
    return {"probabilities": probabilities.roll(int(turned), dims=1), "labels": (labels + turned) % 3, "bins": 4}


def over_and_underconfident(case: Case) -> Case:
    """Make predictions whose gaps cancel: of 0.6 all are right, of 0.9 a half."""
    greatest = torch.tensor([0.6, 0.6, 0.9, 0.9, 0.6, 0.6, 0.9, 0.9])
    winner = torch.tensor([0, 1, 0, 1, 1, 0, 0, 1])
    if case["labels"][0] == 0:
        winner = 1 - winner
    probabilities = torch.where(winner[:, None] == torch.arange(2), greatest[:, None], 1 - greatest[:, None])
    wrong = torch.tensor([0, 0, 1, 0, 0, 0, 0, 1])
    return {"probabilities": probabilities, "labels": (winner + wrong) % 2, "bins": 5 + len(case["labels"]) % 3}


def losses(logits, labels, temperatures):
    """The mean loss at each temperature (candidate,)."""
    logarithms = (logits / temperatures[:, None, None]).log_softmax(-1)  # (candidate, example, classes)
    return -logarithms[:, torch.arange(len(labels)), labels].mean(1)


def best_temperature(logits, labels, temperatures):
    """The one of least loss."""
    return temperatures[losses(logits, labels, temperatures).argmin()]


def draw_logits(generator: torch.Generator) -> Case:
    """Draw logits, labels that they predict now and then, and temperatures of which one is clearly best."""
    while True:
        examples, classes, candidates = sizes(generator, 9, 3, 4)
        logits = uniform(generator, 1, 4) * normal(generator, examples, classes + 1)
        labels = torch.randint(classes + 1, (examples,), generator=generator)
        labels = torch.where(torch.rand(examples, generator=generator) < 0.6, logits.argmax(1), labels)
        temperatures = (1.2 * normal(generator, candidates + 2)).exp()
        least = losses(logits, labels, temperatures).sort().values
        if least[1] - least[0] > 1e-3:
            return {"logits": logits, "labels": labels, "temperatures": temperatures}


def one_far_wrong(case: Case) -> Case:
    """Make the logits great, and the first example wrong by so much that its label keeps no probability in float32."""
    logits = 10 * case["logits"]
    logits[0, case["labels"][0]] -= 200 * float(case["temperatures"].max())
    temperatures = case["temperatures"].sort().values
    return case | {"logits": logits, "temperatures": torch.cat([temperatures[:1] / 2, temperatures])}


EXAMPLES = (
    {
        "probabilities": torch.tensor([[0.1, 0.9], [0.6, 0.4], [0.3, 0.7], [0.2, 0.8]]),
        "labels": torch.tensor([1, 1, 1, 0]),
        "bins": 4,
    },
    {"probabilities": torch.tensor([[0.25, 0.5, 0.25], [0.0, 0.0, 1.0]]), "labels": torch.tensor([1, 2]), "bins": 2},
)

# Bins whose edges are exact in float32.
EDGES = (
    {"probabilities": torch.tensor([[0.25, 0.75]]), "labels": torch.tensor([0]), "bins": 1},  # one example, one bin
    {"probabilities": torch.tensor([[1.0], [1.0]]), "labels": torch.tensor([0, 0]), "bins": 2},  # one class
    {  # confidences on edges; an empty bin between two that are not
        "probabilities": torch.tensor(
            [[0.25, 0.1875, 0.1875, 0.1875, 0.1875], [0.5, 0.5 - 0.125, 0.125, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0]]
        ),
        "labels": torch.tensor([0, 1, 4]),
        "bins": 4,
    },
)

CURVE_MISTAKES = """
lower edges, 1 in the last bin => a bin has its upper edge, and not its lower one
- fallen = torch.ceil(confidences * bins).long() - 1
+ fallen = (confidences * bins).floor().clamp(max=bins - 1)
a bin holds its upper edge and not its lower one; this does it the other way round, as rounding down does: round
`confidence * bins` *up*, and take 1 off

lower edges, 1 in no bin => a bin has its upper edge, and not its lower one
+ fallen = (confidences * bins).floor()
a bin holds its upper edge and not its lower one; this does it the other way round, as rounding down does: round
`confidence * bins` *up*, and take 1 off; and a confidence of 1 falls out of all bins

no edges => a bin has its upper edge, and not its lower one
+ fallen = (confidences * bins).floor().where((confidences * bins).frac() > 0, -1)
this leaves out what lies on an edge (`>` and `<`); a bin holds its upper edge

confidence in the label => the mean confidence of each bin
- confidences, chosen = probabilities.max(dim=1)
+ confidences, chosen = probabilities[torch.arange(len(labels)), labels], probabilities.argmax(dim=1)
this takes the probability of the class that is true; the confidence is that of the class which is *chosen*, right or
wrong

class 1 only => the mean confidence of each bin
- confidences, chosen = probabilities.max(dim=1)
- right = (chosen == labels).float()
+ confidences, right = probabilities[:, 1], (labels == 1).float()
this takes the probability of class 1 and asks how often class 1 is true; the confidence is that of the class which is
chosen, and it is right where that class is true

errors for hits => the accuracy of each bin
- right = (chosen == labels).float()
+ right = (chosen != labels).float()
this counts errors; the accuracy counts the examples that are right

the probability of the rest => the mean confidence of each bin
- confidences, chosen = probabilities.max(dim=1)
+ confidences, chosen = probabilities.amin(dim=1), probabilities.argmax(dim=1)
this takes the smallest probability; the confidence is the greatest one of a row

nan for an empty bin => the mean confidence of each bin
- inside = fallen == number
- if inside.any():
-     confidence[number] = confidences[inside].mean()
-     accuracy[number] = right[inside].mean()
-     fraction[number] = inside.float().mean()
+ inside = fallen == number
+ confidence[number] = confidences[inside].mean()
+ accuracy[number] = right[inside].mean()
+ fraction[number] = inside.float().mean()
an empty bin divides 0 by 0, which is nan; it is to have zeros

lower edges, 1 in the last bin, and nan => the mean confidence of each bin
+ inside = (confidences * bins).floor().clamp(max=bins - 1) == number
+ confidence[number] = confidences[inside].mean()
+ accuracy[number] = right[inside].mean()
+ fraction[number] = inside.float().mean()
an empty bin divides 0 by 0, which is nan; it is to have zeros; and a bin holds its upper edge and not its lower one;
this does it the other way round, as rounding down does: round `confidence * bins` *up*, and take 1 off

lower edges, 1 in no bin, and nan => the mean confidence of each bin
+ inside = (confidences * bins).floor() == number
+ confidence[number] = confidences[inside].mean()
+ accuracy[number] = right[inside].mean()
+ fraction[number] = inside.float().mean()
an empty bin divides 0 by 0, which is nan; it is to have zeros; and a bin holds its upper edge and not its lower one;
this does it the other way round, as rounding down does: round `confidence * bins` *up*, and take 1 off; and a
confidence of 1 falls out of all bins

no edges, and nan => the mean confidence of each bin
+ inside = (number < confidences * bins) & (confidences * bins < number + 1)
+ confidence[number] = confidences[inside].mean()
+ accuracy[number] = right[inside].mean()
+ fraction[number] = inside.float().mean()
an empty bin divides 0 by 0, which is nan; it is to have zeros; and this leaves out what lies on an edge (`>` and `<`);
a bin holds its upper edge

the middle of a bin => the mean confidence of each bin
- confidence[number] = confidences[inside].mean()
+ confidence[number] = (number + 0.5) / bins
this puts the middle of the bin for its confidence; take the mean of the confidences that fell into it

the middle of every bin => the mean confidence of each bin
- return confidence, accuracy, fraction
+ return (torch.arange(bins) + 0.5) / bins, accuracy, fraction
this puts the middle of the bin for its confidence, also where the bin is empty; take the mean of the confidences that
fell into it

divided by all examples => the accuracy of each bin
+ return confidence * fraction, accuracy * fraction, fraction
this divides the sums of a bin by the number of all examples; divide by how many fell into the bin

right in this bin, of all that is right => the accuracy of each bin
- accuracy[number] = right[inside].mean()
+ accuracy[number] = right[inside].sum() / right.sum().clamp(min=1)
this tells which fraction of the right answers fell into the bin; asked is which fraction of the bin is right

counts for shares => the fraction of each bin
- fraction[number] = inside.float().mean()
+ fraction[number] = inside.sum()
this counts the examples of each bin; divide by the number of all examples

accuracy before confidence => the mean confidence of each bin
- return confidence, accuracy, fraction
+ return accuracy, confidence, fraction
accuracy and confidence are exchanged: the confidence comes first

as many in each bin => the fraction of each bin
- fallen = torch.ceil(confidences * bins).long() - 1
+ fallen = confidences.argsort(stable=True).argsort(stable=True) * bins // len(labels)
this gives every bin the same number of examples; the bins here are of the same width, from 0 to 1

bins from one half, rounded up => the fraction of each bin
+ fallen = ((confidences - 0.5) * 2 * bins).ceil() - 1
this cuts the range from one half to 1 into bins, as the chapter did for two classes; here they go from 0 to 1

bins from one half, rounded down => the fraction of each bin
+ fallen = ((confidences - 0.5) * 2 * bins).long().clamp(max=bins - 1)

bins over the range => the fraction of each bin
+ least, greatest = confidences.min(), confidences.max()
+ fallen = ((confidences - least) / (greatest - least) * bins).long().clamp(max=bins - 1)
this cuts the range from the least to the greatest confidence into bins; they go from 0 to 1

one bin on => the fraction of each bin
+ fallen = torch.ceil(confidences * bins).long()
every bin is one further than it should be: the confidences from 0 to 1 / bins belong to bin 0

rounded to the nearest edge => the fraction of each bin
+ fallen = (confidences * bins).round().long()
this rounds to the nearest edge, so that the bins begin in the middle; round up, and take 1 off

confidence in the label, 0 in the first bin => the mean confidence of each bin
- confidences, chosen = probabilities.max(dim=1)
- right = (chosen == labels).float()
- fallen = torch.ceil(confidences * bins).long() - 1
+ confidences = probabilities[torch.arange(len(labels)), labels]
+ right = (probabilities.argmax(dim=1) == labels).float()
+ fallen = (torch.ceil(confidences * bins).long() - 1).clamp(min=0)
this takes the probability of the class that is true; the confidence is that of the class which is *chosen*, right or
wrong

both edges => a bin has its upper edge, and not its lower one
- inside = fallen == number
+ inside = (number <= confidences * bins) & (confidences * bins <= number + 1)
here both edges belong to a bin, so that a confidence on an edge is counted in two bins; a bin holds its upper edge and
not its lower one

bins from one half, rounded up, the first for what is below => the fraction of each bin
- fallen = torch.ceil(confidences * bins).long() - 1
+ fallen = (((confidences - 0.5) * 2 * bins).ceil() - 1).clamp(min=0)
this cuts the range from one half to 1 into bins, as the chapter did for two classes; here they go from 0 to 1

right ones divided by all examples => the accuracy of each bin
- return confidence, accuracy, fraction
+ return confidence, accuracy * fraction, fraction
the right answers of a bin are divided by the number of all examples; divide them by how many fell into the bin
"""

ERROR_MISTAKES = """
absolute value of the whole => overconfidence in one bin does not make up for underconfidence in another
- return (fraction * (accuracy - confidence).abs()).sum()
+ return (fraction * (accuracy - confidence)).sum().abs()
this takes the absolute value of the sum, or uses no bins at all: gaps above and below cancel; take the absolute value
in each bin

no absolute value => overconfidence in one bin does not make up for underconfidence in another
+ return (fraction * (accuracy - confidence)).sum()
no absolute value is taken, and gaps above and below cancel

no absolute value, turned round => overconfidence in one bin does not make up for underconfidence in another
+ return (fraction * (confidence - accuracy)).sum()

bins weigh the same => the gaps of the bins, weighted by their fractions
+ return (accuracy - confidence).abs().mean()
this is the mean over all bins, empty ones included; a bin weighs as much as the fraction of the examples that fell into
it

bins that are not empty weigh the same => the gaps of the bins, weighted by their fractions
+ return (accuracy - confidence).abs().sum() / (fraction > 0).sum()
this is the mean over the bins that are not empty; a bin weighs as much as the fraction of the examples that fell into
it

a sum without weights => the gaps of the bins, weighted by their fractions
+ return (accuracy - confidence).abs().sum()
this adds the gaps up without weights; each is weighted by the fraction of the examples in its bin

weighted by counts => the gaps of the bins, weighted by their fractions
+ return (fraction * len(labels) * (accuracy - confidence).abs()).sum()
this weights the gaps by counts; divide by the number of all examples

the greatest gap => the gaps of the bins, weighted by their fractions
+ return (accuracy - confidence).abs().max()
this is the greatest gap (the maximum calibration error); the expected one is their average

squares => the gaps of the bins, weighted by their fractions
+ return (fraction * (accuracy - confidence).square()).sum()
this squares the gaps; the absolute value is asked for

root of the squares => the gaps of the bins, weighted by their fractions
+ return (fraction * (accuracy - confidence).square()).sum().sqrt()
this is the root of the mean square; the mean of the absolute gaps is asked for

example by example => the gaps of the bins, weighted by their fractions
+ confidences, chosen = probabilities.max(dim=1)
+ return (confidences - (chosen == labels).float()).abs().mean()
this takes the absolute value for each example, which is right or wrong and never 0.8 right; average over a bin first,
then take the absolute value

the middle of a bin => the gaps of the bins, weighted by their fractions
+ return (fraction * (accuracy - (torch.arange(bins) + 0.5) / bins).abs()).sum()
this puts the middle of a bin for its confidence; take the mean of the confidences that fell into it

as many in each bin => the gaps of the bins, weighted by their fractions
= error(bin_of=lambda each, bins: each.argsort(stable=True).argsort(stable=True) * bins // len(each))
this gives every bin the same number of examples; the bins here are of the same width, from 0 to 1

nan => the gaps of the bins, weighted by their fractions
+ return (fraction * (accuracy - confidence).abs().where(fraction > 0, torch.nan)).sum()
an empty bin divides 0 by 0, and one nan makes the whole sum nan; an empty bin is to weigh nothing

the accuracy => the gaps of the bins, weighted by their fractions
+ return (probabilities.argmax(dim=1) == labels).float().mean()
this is the accuracy; asked is how far confidence and accuracy are apart

lower edges, 1 in the last bin => a bin has its upper edge, and not its lower one
= error(bin_of=lambda confidences, bins: (confidences * bins).floor().clamp(max=bins - 1))
a bin holds its upper edge and not its lower one; this does it the other way round, as rounding down does: round
`confidence * bins` *up*, and take 1 off

lower edges, 1 in no bin => a bin has its upper edge, and not its lower one
= error(bin_of=lambda confidences, bins: (confidences * bins).floor())
a bin holds its upper edge and not its lower one; this does it the other way round, as rounding down does: round
`confidence * bins` *up*, and take 1 off; and a confidence of 1 falls out of all bins

no edges => a bin has its upper edge, and not its lower one
= error(bin_of=lambda confidences, bins: bin_of(confidences, bins).where((confidences * bins).frac() > 0, -1))
this leaves out what lies on an edge (`>` and `<`); a bin holds its upper edge

confidence in the label => the gaps of the bins, weighted by their fractions
= error(read=lambda each, labels: (each.gather(1, labels[:, None])[:, 0], each.argmax(1) == labels))
this takes the probability of the class that is true; the confidence is that of the class which is *chosen*, right or
wrong

class 1 only => the gaps of the bins, weighted by their fractions
= error(read=lambda each, labels: (each[:, 1], labels == 1))
this takes the probability of class 1 and asks how often class 1 is true; the confidence is that of the class which is
chosen, and it is right where that class is true

errors for hits => the gaps of the bins, weighted by their fractions
- confidence, accuracy, fraction = reliability_curve(probabilities, labels, bins)
+ confidence, accuracy, fraction = reliability_curve(probabilities, labels, bins)
+ accuracy = (1 - accuracy).where(fraction > 0, 0.0)
this counts errors; the accuracy counts the examples that are right

ten bins => the gaps of the bins, weighted by their fractions
- confidence, accuracy, fraction = reliability_curve(probabilities, labels, bins)
+ confidence, accuracy, fraction = reliability_curve(probabilities, labels, 10)
this always takes ten bins, whatever `bins` says

ten bins, in double => the gaps of the bins, weighted by their fractions
= lambda probabilities, labels, bins: calibration_error(probabilities.double(), labels, 10).float()
this always takes ten bins, whatever `bins` says
"""

TEMPERATURE_MISTAKES = """
multiplied => the temperature of least loss
- logarithms = (logits / temperature).log_softmax(dim=1)
+ logarithms = (logits * temperature).log_softmax(dim=1)
this multiplies the logits by the temperature; they are divided by it

logarithm of a softmax => also where a label keeps no probability that float32 can hold
+ logarithms = (logits / temperature).softmax(dim=1).log()
this takes the logarithm of a probability that float32 rounds to 0, and every temperature has an infinite loss;
`log_softmax` takes both steps at once

the greatest loss => the temperature of least loss
- return temperatures[torch.stack(losses).argmin()]
+ return temperatures[torch.stack(losses).argmax()]
this is the temperature of the greatest loss: the sign is missing in front of the logarithm, or `argmax` stands for
`argmin`

the index => the temperature of least loss
+ return torch.stack(losses).argmin()
this is the index of the best temperature; return the temperature

the least loss => the temperature of least loss
+ return torch.stack(losses).min()
this is the least loss; return the temperature that has it

probabilities without a logarithm => the temperature of least loss
- logarithms = (logits / temperature).log_softmax(dim=1)
+ logarithms = (logits / temperature).softmax(dim=1)
this maximises the mean probability of the labels, or gives probabilities to `cross_entropy`, which takes a softmax of
its own; the loss is the mean of minus the *logarithm* of the probability, taken once

the chosen class => the temperature of least loss
- losses.append(-logarithms[torch.arange(len(labels)), labels].mean())
+ losses.append(-logarithms.amax(dim=1).mean())
this takes the loss of the class that the classifier chooses; take that of the label

accuracy => the temperature of least loss
- return temperatures[torch.stack(losses).argmin()]
+ return temperatures[0]
this looks for the greatest accuracy; a temperature never changes which logit is greatest, so that all are alike and the
first is returned

probabilities that are not below 1e-8 => also where a label keeps no probability that float32 can hold
- logarithms = (logits / temperature).log_softmax(dim=1)
+ logarithms = (logits / temperature).softmax(dim=1).clamp(min=1e-8).log()
this makes small probabilities larger (at least 1e-8, or so) before the logarithm, and labels that are much less likely
then cost no more; `log_softmax` needs no such bound

one axis too many => the temperature of least loss
- return temperatures[torch.stack(losses).argmin()]
+ return temperatures[torch.stack(losses).argmin()][None]
the temperature is right, in a tensor with an axis of size one; asked is a tensor without axes

divided in place => the temperature of least loss
- logarithms = (logits / temperature).log_softmax(dim=1)
+ logits /= temperature
+ logarithms = logits.log_softmax(dim=1)
`logits /= temperature` divides the caller's own logits, and each temperature works on what the one before has left;
`logits / temperature` makes new ones

the first rise ends the search => the temperature of least loss
- return temperatures[torch.stack(losses).argmin()]
+ rises = [number for number in range(1, len(losses)) if losses[number] > losses[number - 1]]
+ return temperatures[rises[0] - 1 if rises else -1]
this stops where the loss rises for the first time, but the temperatures need not be in order; compare all of them
"""

EXERCISE = Exercise(
    title="Calibration",
    difficulty=2,
    minutes=35,
    tasks=(
        Task(
            function="reliability_curve",
            parameters=("probabilities", "labels", "bins"),
            returns="mean confidence, accuracy and fraction of each bin, each of shape (bins,)",
            cases=draw_predictions,
            examples=EXAMPLES,
            edges=(*EDGES,),
            reference=reliability_curve,
            properties=(
                Property("the mean confidence of each bin", 1, of_output(0, both(equals(), inputs_unchanged))),
                Property("the accuracy of each bin", 1, of_output(1, equals())),
                Property("the fraction of each bin", 1, of_output(2, equals())),
                Property(
                    "a bin has its upper edge, and not its lower one",
                    1,
                    on(on_the_edges, both(of_output(2, equals()), of_output(0, equals()))),
                ),
            ),
            mistakes=CURVE_MISTAKES,
            outputs=("confidence", "accuracy", "fraction"),
        ),
        Task(
            function="calibration_error",
            parameters=("probabilities", "labels", "bins"),
            returns="the expected calibration error, a tensor of shape ()",
            cases=draw_predictions,
            examples=EXAMPLES,
            edges=(*EDGES,),
            reference=calibration_error,
            properties=(
                Property("the gaps of the bins, weighted by their fractions", 2, both(equals(), inputs_unchanged)),
                Property(
                    "overconfidence in one bin does not make up for underconfidence in another",
                    1,
                    on(over_and_underconfident, equals()),
                ),
                Property("a bin has its upper edge, and not its lower one", 1, on(on_the_edges, equals())),
            ),
            mistakes=ERROR_MISTAKES,
        ),
        Task(
            function="best_temperature",
            parameters=("logits", "labels", "temperatures"),
            returns="the one of `temperatures` with the least mean loss, a tensor of shape ()",
            cases=draw_logits,
            examples=(
                {
                    "logits": torch.tensor([[2.0, 0.0], [2.0, 0.0], [2.0, 0.0], [2.0, 0.0]]),
                    "labels": torch.tensor([0, 0, 1, 0]),
                    "temperatures": torch.tensor([0.5, 1.0, 2.0, 8.0]),
                },
                {  # found by search: nearly every known mistake chooses another temperature here
                    "logits": torch.tensor([[6.0, 2.0, 3.0], [3.0, 5.0, 4.0], [4.0, 6.0, 4.0], [6.0, 3.0, 6.0]]),
                    "labels": torch.tensor([0, 2, 2, 2]),
                    "temperatures": torch.tensor([8.0, 0.25, 4.0, 2.0, 0.5, 1.0]),
                },
            ),
            edges=(
                # One candidate, one example.
                {
                    "logits": torch.tensor([[2.0, 0.0]]),
                    "labels": torch.tensor([1]),
                    "temperatures": torch.tensor([0.5]),
                },
                # One example, which is right: the least temperature, in the middle.
                {
                    "logits": torch.tensor([[2.0, 0.0, 1.0]]),
                    "labels": torch.tensor([0]),
                    "temperatures": torch.tensor([2.0, 1.0, 4.0]),
                },
            ),
            reference=best_temperature,
            properties=(
                Property("the temperature of least loss", 1, both(equals(), inputs_unchanged)),
                Property(
                    "also where a label keeps no probability that float32 can hold", 1, on(one_far_wrong, equals())
                ),
            ),
            mistakes=TEMPERATURE_MISTAKES,
        ),
    ),
    hints=(
        "Which of the numbers of a row is the confidence, and when was the classifier right? In which bin is a "
        "confidence of 1, and to which of its two neighbours does an edge between bins belong?",
        "Take maximum and argmax of each row. Multiply the confidence by the number of bins, round up, take 1 off: "
        "that is its bin. For each bin that is not empty, average the confidences, and the right answers as 1 and the "
        "others as 0. For the error, weight the absolute gap of each bin by its fraction. For the temperature, compute "
        "the mean loss at each candidate.",
        "`torch.ceil` rounds up, `.long()` makes whole numbers of it, and `fallen == number` tells what "
        "fell into one bin. The error sums the fractions times `.abs()` of the gaps. Of the divided logits take "
        "`.log_softmax(dim=1)`; `[torch.arange(len(labels)), labels]` picks the entry of the label in each row.",
    ),
)
