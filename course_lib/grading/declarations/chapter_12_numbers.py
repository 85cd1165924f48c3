"""Exercise 12.5, accuracy by number of examples: a simple classifier, and the curve by which models are compared."""

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.chapter_12_nearest import NEAREST_MEAN
from course_lib.grading.declarations.drawing import normal, sizes
from course_lib.grading.exercise import Case, Exercise, Given, Misconception, Property, Task
from course_lib.grading.judges import both, difference, equals, inputs_unchanged, not_moved_by, on
from course_lib.grading.wording import describe, describe_case

LEAST_SQUARES = Given(
    "least squares",
    "lambda features, labels, questions: (questions @ torch.linalg.solve("
    "features.mT @ features + torch.eye(features.shape[1]), "
    "features.mT @ torch.nn.functional.one_hot(labels, 3).float())).argmax(1)",
)
NEAREST = Given(
    "the nearest example",
    "lambda features, labels, questions: labels[(questions[:, None] - features).square().sum(-1).argmin(1)]",
)
SIDE = Given(
    "1 where the first feature is above zero", "lambda features, labels, questions: (questions[:, 0] > 0).long()"
)


def seen_in_order(order, number, before):
    """The first `number` of the order."""
    return order[:number]


def mean_of_seen(features, seen, held_out):
    """What is taken off: first from the examples, then from what is held out."""
    middle = features[seen].mean(0)
    return middle, middle


def share(right):
    """The share of truth values that are True."""
    return right.float().mean()


def curve(seen_by=seen_in_order, centre=mean_of_seen, count=share, tested=None, taught=None):
    """Return the accuracies by other examples, another centre, another count, or another test."""

    def answer(classifier, features, labels, held_out, held_out_labels, order, numbers):
        accuracies, before = [], 0
        for number in numbers.tolist():
            seen = seen_by(order, number, before)
            own, other = centre(features, seen, held_out)
            examples, names = features[seen] - own, labels[seen]
            questions, due = held_out - other, held_out_labels
            if tested:
                questions, due = tested(features - own, labels, seen)
            if taught:
                examples, names = torch.cat([examples, held_out - other]), torch.cat([names, held_out_labels])
            accuracies.append(count(classifier(examples, names, questions) == due))
            before = number
        return torch.stack(accuracies)

    return answer


accuracy_by_number = curve()


def draw_parts(generator: torch.Generator) -> Case:
    """Draw examples of three classes, some held out, an order, and growing numbers, most often less than all."""
    examples, d, tests = (least + size for least, size in zip((4, 1, 3), sizes(generator, 6, 3, 5), strict=True))
    labels, due = (torch.randint(3, (number,), generator=generator) for number in (examples, tests))
    order = torch.randperm(examples, generator=generator)
    # Two classes from the start: by one alone, least squares around zero would be left with nothing but rounding.
    labels[order[1]] = (labels[order[0]] + 1 + torch.randint(2, (), generator=generator)) % 3
    middles = normal(generator, 3, d) + 2
    # On a grid, so that every order of summation gives the same mean, and questions beside it, so that none is a tie.
    features, held_out = (
        ((middles[each] + normal(generator, len(each), d)) * 1024).round() / 1024 for each in (labels, due)
    )
    picked = torch.randperm(examples - 2, generator=generator)[: 1 + sizes(generator, 3)[0]]
    return {
        "classifier": LEAST_SQUARES,
        "features": features,
        "labels": labels,
        "held_out": held_out + 0.4142 / 1024,
        "held_out_labels": due,
        "order": order,
        "numbers": picked.sort().values + 2,
    }


def not_yet_seen_changed(case: Case) -> Case:
    """Change all examples that are never seen, features and labels."""
    never = case["order"][case["numbers"][-1] :]
    features, labels = case["features"].clone(), case["labels"].clone()
    features[never], labels[never] = 20 - 7 * features[never], (labels[never] + 1) % 3
    return case | {"features": features, "labels": labels}


def only(places: slice, case: Case) -> Case:
    """Leave some of what is held out."""
    return case | {name: case[name][places] for name in ("held_out", "held_out_labels")}


def each_alone(call: Call, case: Case) -> str | None:
    """The accuracy of all that is held out is made of that of the first and that of the rest."""
    case = case | {"numbers": case["numbers"][:1]}
    whole, first, rest = (call(only(each, case)) for each in (slice(None), slice(1), slice(1, None)))
    tests = len(case["held_out"])
    if not first.shape == rest.shape == whole.shape == (1,):
        return f"{describe_case(case)}: the shape of the answer changed with what is held out"
    if difference(whole, (first + (tests - 1) * rest) / tests) is None:
        return None
    return (
        f"{describe_case(case)}: with the first held-out example alone came {describe(first)}, with the other "
        f"{tests - 1} came {describe(rest)}, with all {tests} came {describe(whole)}, which is not their mean: what is "
        "held out has a say in how it is answered"
    )


def on_with(classifier: Given, judge):
    """The judgement holds with another classifier."""
    return on(lambda case: case | {"classifier": classifier}, judge)


def centred_by(own, other):
    """Return what is taken off both parts, each a function of (features, seen, held_out)."""
    return lambda *case: (own(*case), other(*case))


def zero(features, seen, held_out):
    """Nothing is taken off."""
    return torch.zeros(features.shape[1])


FIRST, CENTRE, NEVER_SEEN, ALONE, SHARE = (
    "the first ones of the order are learned from",
    "the mean of the seen examples is taken off",
    "what has not been seen yet changes nothing",
    "what is held out is answered one by one",
    "the accuracy for each number",
)

ACCURACY = Task(
    function="accuracy_by_number",
    parameters=("classifier", "features", "labels", "held_out", "held_out_labels", "order", "numbers"),
    returns="the share of right answers on what is held out, for each number of examples, shape (numbers,)",
    cases=draw_parts,
    examples=(
        {
            "classifier": SIDE,
            "features": torch.tensor([[0.0], [9.0], [6.0], [2.0]]),
            "labels": torch.tensor([0, 1, 1, 0]),
            "held_out": torch.tensor([[3.0], [5.0], [8.0]]),
            "held_out_labels": torch.tensor([0, 1, 1]),
            "order": torch.tensor([3, 0, 2, 1]),
            "numbers": torch.tensor([2, 3]),
        },
    ),
    reference=accuracy_by_number,
    properties=(
        Property(FIRST, 1, on_with(NEAREST, equals(accuracy_by_number))),
        Property(CENTRE, 1, on_with(SIDE, equals(accuracy_by_number))),
        Property(
            NEVER_SEEN,
            1,
            not_moved_by(
                not_yet_seen_changed, "the examples that are never seen changed", accuracy_by_number, lambda each: each
            ),
        ),
        Property(ALONE, 1, each_alone),
        Property(SHARE, 2, both(equals(accuracy_by_number), inputs_unchanged)),
    ),
    misconceptions=(
        Misconception(
            "order ignored",
            "this takes the first ones as they stand in the file; files are often sorted by class: take the first ones "
            "of `order`",
            curve(lambda order, number, before: torch.arange(number)),
            breaks=FIRST,
        ),
        Misconception(
            "order turned inside out",
            "this takes the places at which the first examples stand in the order; `order[:number]` are the examples "
            "themselves",
            curve(lambda order, number, before: order.argsort()[:number]),
            breaks=FIRST,
        ),
        Misconception(
            "the last ones",
            "this takes the last ones of the order",
            curve(lambda order, number, before: order[-number:]),
            breaks=FIRST,
        ),
        Misconception(
            "new ones each time",
            "this learns only from those that were added since the number before; the subsets are nested: what was "
            "seen stays seen",
            curve(lambda order, number, before: order[before:number]),
            breaks=FIRST,
        ),
        Misconception(
            "all of them each time",
            "this learns from all examples whatever the number is, and the curve is flat",
            curve(lambda order, number, before: order),
            breaks=FIRST,
        ),
        Misconception(
            "one too few",
            "this learns from one example less than the number says",
            curve(lambda order, number, before: order[: number - 1]),
            breaks=FIRST,
        ),
        Misconception(
            "one too many",
            "this learns from one example more than the number says",
            curve(lambda order, number, before: order[: number + 1]),
            breaks=FIRST,
        ),
        Misconception(
            "held-out part learned from",
            "the classifier was shown the held-out examples with their labels: the accuracy is that of somebody who "
            "has read the answers",
            curve(taught=True),
            breaks=FIRST,
        ),
        Misconception(
            "tested on what was seen",
            "this is the accuracy on the examples that were learned from; ask about what was held out",
            curve(tested=lambda features, labels, seen: (features[seen], labels[seen])),
            breaks=FIRST,
        ),
        Misconception(
            "tested on all examples",
            "this is the accuracy on all training examples, seen or not; ask about what was held out",
            curve(tested=lambda features, labels, seen: (features, labels)),
            breaks=FIRST,
        ),
        Misconception(
            "not centred",
            "no mean was taken off; least squares without a constant needs features around zero",
            curve(centre=centred_by(zero, zero)),
            breaks=CENTRE,
        ),
        Misconception(
            "held-out part not centred",
            "the mean was taken off the seen examples alone; what is held out must be moved by the same vector, or it "
            "lies elsewhere",
            curve(centre=centred_by(lambda features, seen, held_out: features[seen].mean(0), zero)),
            breaks=CENTRE,
        ),
        Misconception(
            "centred by all examples",
            "this takes off the mean of all training examples, also of those that are not seen yet: with few examples "
            "nobody knows it",
            curve(centre=lambda features, seen, held_out: (features.mean(0), features.mean(0))),
            breaks=NEVER_SEEN,
        ),
        Misconception(
            "each part by its own mean",
            "the held-out part was centred by its own mean, and each of its examples is answered with the help of the "
            "others: take off the mean of the *seen* examples",
            curve(centre=lambda features, seen, held_out: (features[seen].mean(0), held_out.mean(0))),
            breaks=ALONE,
        ),
        Misconception(
            "centred by everything",
            "this takes off the mean of training and held-out examples together: the held-out part leaks in before "
            "anything is learned",
            curve(centre=lambda features, seen, held_out: (torch.cat([features, held_out]).mean(0),) * 2),
            breaks=ALONE,
        ),
        Misconception(
            "centred by seen and held-out",
            "this takes off the mean of the seen and the held-out examples together; the held-out ones have no say",
            curve(centre=lambda features, seen, held_out: (torch.cat([features[seen], held_out]).mean(0),) * 2),
            breaks=ALONE,
        ),
        Misconception(
            "one mean for all features",
            "this takes off one number, the mean of all features of all examples; every feature has its own: average "
            "along axis 0",
            curve(centre=lambda features, seen, held_out: (features[seen].mean(),) * 2),
            breaks=CENTRE,
        ),
        Misconception(
            "counted",
            "this is how many answers are right; asked is their share: divide by the number of questions",
            curve(count=lambda right: right.float().sum()),
            breaks=SHARE,
        ),
        Misconception(
            "percent",
            "these are percent; asked is the share, a number between 0 and 1",
            curve(count=lambda right: 100 * share(right)),
            breaks=SHARE,
        ),
        Misconception(
            "the share that is wrong",
            "this is the share of wrong answers",
            curve(count=lambda right: share(~right)),
            breaks=SHARE,
        ),
    ),
)

NUMBERS = Exercise(
    id="12.5",
    title="Accuracy by number of examples",
    difficulty=3,
    minutes=35,
    tasks=(NEAREST_MEAN, ACCURACY),
    hints=(
        "For every number that is computed from data, ask: from which examples, and would somebody who has only the "
        "seen ones know it?",
        "For the classifier make a list of the classes that were seen, `labels.unique()`, and one mean for each. For "
        "the curve loop over the numbers: pick the seen examples, their mean, take it off on both sides, let the "
        "classifier answer, compare.",
        "`distances.argmin(dim=1)` counts the means, and indexing the seen classes by it gives labels. In the curve, "
        "`order[:number]` picks the examples; the mean is that of `features[seen]` along axis 0, and the same vector "
        "is taken off `held_out`. `(... == held_out_labels).float().mean()` is a share.",
    ),
)
