"""12.5: a simple classifier, and the learning curve by which models are compared."""

import torch
from torch.nn.functional import one_hot

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import both, differs, equals, inputs_unchanged, not_moved_by, on
from course_lib.grading.exercise import Case, Check, Exercise, Given, Property, Task
from course_lib.grading.problem import Problem


def class_distances(features, labels, questions):
    """The classes that were seen, and the squared distance of each question from the mean of each."""
    classes, number = labels.unique(return_inverse=True)
    belongs = one_hot(number, len(classes)).to(features.dtype)  # (examples, classes)
    means = belongs.T @ features / belongs.sum(0)[:, None]  # (classes, d)
    return classes, (questions[:, None] - means).square().sum(-1)


def nearest_mean(features, labels, questions):
    """The class whose mean is nearest."""
    classes, distances = class_distances(features, labels, questions)
    return classes[distances.argmin(1)]


def draw_examples(generator: torch.Generator) -> Case:
    """Draw examples of up to four classes and questions about them, none of which lies between two means."""
    while True:
        examples, d, questions = (
            least + size for least, size in zip((3, 0, 3), sizes(generator, 9, 3, 7), strict=True)
        )
        case = {
            "features": normal(generator, examples, d) + 1,
            "labels": torch.randint(4, (examples,), generator=generator),
            "questions": 1.5 * normal(generator, questions, d) + 1,
        }
        gaps = class_distances(**case)[1].sort(1).values.diff()
        if gaps.numel() and bool((gaps > 1e-3).all()):
            return case


def all_seen(case: Case) -> Case:
    """Let every class from 0 on be seen."""
    return case | {"labels": case["labels"].unique(return_inverse=True)[1]}


def some_not_seen(case: Case) -> Case:
    """Let class 0, and others between, have no example."""
    return case | {"labels": 2 * all_seen(case)["labels"] + 1}


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


def accuracy_by_number(classifier, features, labels, held_out, held_out_labels, order, numbers):
    """The fraction of right answers after the first ones of the order, around the mean of these."""
    accuracies = []
    for number in numbers.tolist():
        seen = order[:number]
        mean = features[seen].mean(0)
        right = classifier(features[seen] - mean, labels[seen], held_out - mean) == held_out_labels
        accuracies.append(right.float().mean())
    return torch.stack(accuracies)


def draw_parts(generator: torch.Generator) -> Case:
    """Draw examples of three classes, some held out, an order, and growing numbers, most often less than all."""
    examples, d, tests = (least + size for least, size in zip((4, 1, 3), sizes(generator, 6, 3, 5), strict=True))
    labels, targets = (torch.randint(3, (number,), generator=generator) for number in (examples, tests))
    order = torch.randperm(examples, generator=generator)
    # Two classes from the start: by one alone, least squares around zero would be left with nothing but rounding.
    labels[order[1]] = (labels[order[0]] + 1 + torch.randint(2, (), generator=generator)) % 3
    middles = normal(generator, 3, d) + 2
    # On a grid, so that every order of summation gives the same mean, and questions beside it, so that none is a tie.
    features, held_out = (
        ((middles[each] + normal(generator, len(each), d)) * 1024).round() / 1024 for each in (labels, targets)
    )
    picked = torch.randperm(examples - 2, generator=generator)[: 1 + sizes(generator, 3)[0]]
    return {
        "classifier": LEAST_SQUARES,
        "features": features,
        "labels": labels,
        "held_out": held_out + 0.4142 / 1024,
        "held_out_labels": targets,
        "order": order,
        "numbers": picked.sort().values + 2,
    }


def not_yet_seen_changed(case: Case) -> Case:
    """Change all examples that are never seen, features and labels."""
    never = case["order"][case["numbers"][-1] :]
    features, labels = case["features"].clone(), case["labels"].clone()
    features[never], labels[never] = 20 - 7 * features[never], (labels[never] + 1) % 3
    return case | {"features": features, "labels": labels}


def each_alone(case: Case):
    """The accuracy of all that is held out is made of that of the first and that of the rest."""
    case = case | {"numbers": case["numbers"][:1]}
    parts = [
        case | {name: case[name][part] for name in ("held_out", "held_out_labels")}
        for part in (slice(1), slice(1, None))
    ]
    whole, first, rest = (reply.value for reply in (yield [case, *parts]))
    tests = len(case["held_out"])
    mean = (first + (tests - 1) * rest) / tests
    if not differs(whole, mean).any():
        return None
    told = "the mean over the first held-out example alone and the rest: no example may change how another is answered"
    return Problem("value", case, where="the accuracy on all that is held out", got=whole, expected=mean, note=told)


def on_with(classifier: Given, check: Check) -> Check:
    """The check holds with another classifier."""
    return on(lambda case: case | {"classifier": classifier}, check)


NEAREST_MISTAKES = """
a mean of zeros for nothing => a class without an example is never the answer
- classes = labels.unique()
- means = torch.stack([features[labels == each].mean(dim=0) for each in classes])
+ classes = torch.arange(int(labels.max()) + 1)
+ groups = [features[labels == each] for each in classes]
+ means = torch.stack([group.sum(dim=0) / max(len(group), 1) for group in groups])
a class without an example has the mean 0 here, and is the answer for every question near 0; it has no mean at all:
compare with those of the seen classes

nothing divided by nothing => a class without an example is never the answer
- classes = labels.unique()
+ classes = torch.arange(int(labels.max()) + 1)
a class without an example has nan for its mean, and `argmin` takes nan for the least: it is the answer to every
question; compare with the means of the seen classes

as many as there are => a class without an example is never the answer
- classes = labels.unique()
- means = torch.stack([features[labels == each].mean(dim=0) for each in classes])
- distances = (questions[:, None] - means).square().sum(dim=-1)
+ classes = torch.arange(len(labels.unique()))
+ means = torch.stack([features[labels == each].mean(dim=0) for each in classes])
+ distances = (questions[:, None] - means).square().sum(dim=-1).nan_to_num(nan=float("inf"))
this takes the number of different labels for the labels themselves, 0, 1 and so on: where one of them has no example,
others are never tried; `labels.unique()` holds those that have one

counted, not named => a class without an example is never the answer
- return classes[distances.argmin(dim=1)]
+ return distances.argmin(dim=1)
this tells which of the *seen* classes it is, counted from 0; asked is its label: look it up in `labels.unique()`

the farthest => the class with the nearest mean
+ return classes[distances.argmax(dim=1)]
this takes the class whose mean is farthest away

sums for means => the class with the nearest mean
- means = torch.stack([features[labels == each].mean(dim=0) for each in classes])
+ means = torch.stack([features[labels == each].sum(dim=0) for each in classes])
this compares with the sum of each class; the more examples there are, the farther off it lies: divide by their number

the nearest example => the class with the nearest mean
- distances = (questions[:, None] - means).square().sum(dim=-1)
- return classes[distances.argmin(dim=1)]
+ distances = (questions[:, None] - features).square().sum(dim=-1)
+ return labels[distances.argmin(dim=1)]
this answers with the label of the nearest *example*; asked is the nearest class *mean*

the first of each class => the class with the nearest mean
- means = torch.stack([features[labels == each].mean(dim=0) for each in classes])
+ means = torch.stack([features[labels == each][0] for each in classes])
this compares with the first example of each class; take the mean of all of them

dot product => the class with the nearest mean
- distances = (questions[:, None] - means).square().sum(dim=-1)
+ distances = -questions @ means.T
this takes the greatest dot product with a mean, which a long mean wins from afar; asked is the least distance

the half left out => the class with the nearest mean
+ distances = means.square().sum(dim=-1) - questions @ means.T
this takes the square of the mean less the dot product once; the square of a difference has the dot product *twice*:
subtract 2 * questions @ means.T

the angle => the class with the nearest mean
+ distances = -torch.cosine_similarity(questions[:, None], means, dim=-1)
this takes the mean in the most similar direction, however far it is; asked is the least distance

differences that cancel => the class with the nearest mean
+ distances = (questions[:, None] - means).sum(dim=-1).abs()
this adds the differences up before it squares them or takes the absolute value, and those above zero and those below
cancel: square each one first

absolute differences => the class with the nearest mean
+ distances = (questions[:, None] - means).abs().sum(dim=-1)
this adds up the absolute differences, the way along the streets; asked is the straight one: square them

the distance itself => the class with the nearest mean
- return classes[distances.argmin(dim=1)]
+ return distances.amin(dim=1)
this is how far the nearest mean is; asked is whose it is: `argmin`, not `amin`
"""

ACCURACY_MISTAKES = """
order ignored => the first ones of the order are learned from
- seen = order[:number]
+ seen = torch.arange(number)
this takes the first ones as they stand in the file; files are often sorted by class: take the first ones of `order`

order turned inside out => the first ones of the order are learned from
+ seen = order.argsort()[:number]
this takes the positions at which the first examples stand in the order; `order[:number]` are the examples themselves

the last ones => the first ones of the order are learned from
+ seen = order[-number:]
this takes the last ones of the order

new ones each time => the first ones of the order are learned from
- for number in numbers.tolist():
- seen = order[:number]
+ for before, number in zip([0, *numbers.tolist()], numbers.tolist()):
+     seen = order[before:number]
this learns only from those that were added since the number before; the subsets are nested: what was seen stays seen

all of them each time => the first ones of the order are learned from
- seen = order[:number]
+ seen = order
this learns from all examples whatever the number is, and the curve is flat

one too few => the first ones of the order are learned from
+ seen = order[: number - 1]
this learns from one example less than the number says

one too many => the first ones of the order are learned from
+ seen = order[: number + 1]
this learns from one example more than the number says

labels not shuffled => the first ones of the order are learned from
- answers = classifier(features[seen] - mean, labels[seen], held_out - mean)
+ answers = classifier(features[seen] - mean, labels[:number], held_out - mean)
the examples are taken in the order that is given, and their labels as they stand in the file, so that examples get the
labels of others: take both by the same numbers

features not shuffled => the first ones of the order are learned from
- mean = features[seen].mean(dim=0)
- answers = classifier(features[seen] - mean, labels[seen], held_out - mean)
+ mean = features[:number].mean(dim=0)
+ answers = classifier(features[:number] - mean, labels[seen], held_out - mean)
the labels are taken in the order that is given, and the features as they stand in the file, so that examples get the
labels of others: take both by the same numbers

held-out part learned from => the first ones of the order are learned from
- answers = classifier(features[seen] - mean, labels[seen], held_out - mean)
+ examples, names = torch.cat([features[seen], held_out]), torch.cat([labels[seen], held_out_labels])
+ answers = classifier(examples - mean, names, held_out - mean)
the classifier was shown the held-out examples with their labels: the accuracy is that of somebody who has read the
answers

tested on what was seen => the first ones of the order are learned from
- answers = classifier(features[seen] - mean, labels[seen], held_out - mean)
- accuracies.append((answers == held_out_labels).float().mean())
+ answers = classifier(features[seen] - mean, labels[seen], features[seen] - mean)
+ accuracies.append((answers == labels[seen]).float().mean())
this is the accuracy on the examples that were learned from; ask about what was held out

tested on all examples => the first ones of the order are learned from
+ answers = classifier(features[seen] - mean, labels[seen], features - mean)
+ accuracies.append((answers == labels).float().mean())
this is the accuracy on all training examples, seen or not; ask about what was held out

not centred => the mean of the seen examples is subtracted
- mean = features[seen].mean(dim=0)
+ mean = 0.0
no mean was subtracted; least squares without a constant needs features around zero

held-out part not centred => the mean of the seen examples is subtracted
- answers = classifier(features[seen] - mean, labels[seen], held_out - mean)
+ answers = classifier(features[seen] - mean, labels[seen], held_out)
the mean was subtracted from the seen examples alone; subtract the same vector from the held-out examples too

one mean after the other => the mean of the seen examples is subtracted
+ held_out = held_out - mean
+ answers = classifier(features[seen] - mean, labels[seen], held_out)
`held_out` is overwritten in the loop, so that from the second number on the means before are subtracted as well: give
the difference another name

centred by all examples => what has not been seen yet changes nothing
- mean = features[seen].mean(dim=0)
+ mean = features.mean(dim=0)
this subtracts the mean of all training examples, also of those that are not seen yet: with few examples it is not known

each part by its own mean => what is held out is answered one by one
- answers = classifier(features[seen] - mean, labels[seen], held_out - mean)
+ answers = classifier(features[seen] - mean, labels[seen], held_out - held_out.mean(dim=0))
the held-out part was centred by its own mean, and each of its examples is answered with the help of the others:
subtract the mean of the *seen* examples

centred by everything => what is held out is answered one by one
- mean = features[seen].mean(dim=0)
+ mean = torch.cat([features, held_out]).mean(dim=0)
this subtracts the mean of training and held-out examples together: the held-out part leaks in before anything is
learned

centred by seen and held-out => what is held out is answered one by one
+ mean = torch.cat([features[seen], held_out]).mean(dim=0)
this subtracts the mean of the seen and the held-out examples together; the held-out ones must not count

one mean for all features => the mean of the seen examples is subtracted
+ mean = features[seen].mean()
this subtracts one number, the mean of all features of all examples; every feature has its own: average along axis 0

counted => the accuracy for each number
- accuracies.append((answers == held_out_labels).float().mean())
+ accuracies.append((answers == held_out_labels).float().sum())
this is how many answers are right; asked is their fraction: divide by the number of questions

percent => the accuracy for each number
+ accuracies.append(100 * (answers == held_out_labels).float().mean())
these are percent; asked is the fraction, a number between 0 and 1

the fraction that is wrong => the accuracy for each number
+ accuracies.append((answers != held_out_labels).float().mean())
this is the fraction of wrong answers
"""

EXERCISE = Exercise(
    title="Accuracy by number of examples",
    difficulty=3,
    minutes=35,
    tasks=(
        Task(
            function="nearest_mean",
            parameters=("features", "labels", "questions"),
            returns="the label of the nearest class mean for each question, shape (questions,)",
            cases=draw_examples,
            examples=(
                {
                    "features": torch.tensor([[0.0], [10.0], [4.0]]),
                    "labels": torch.tensor([1, 3, 1]),
                    "questions": torch.tensor([[5.0], [7.0]]),
                },
            ),
            edges=(
                # One example, one question.
                {
                    "features": torch.tensor([[2.0, 1.0]]),
                    "labels": torch.tensor([3]),
                    "questions": torch.tensor([[7.0, -5.0]]),
                },
                # One class of several examples.
                {
                    "features": torch.tensor([[0.0], [4.0]]),
                    "labels": torch.tensor([2, 2]),
                    "questions": torch.tensor([[1.0], [9.0], [2.0]]),
                },
                # The nearest example is of another class than the nearest mean; a question that is a mean.
                {
                    "features": torch.tensor([[0.0], [10.0], [8.0]]),
                    "labels": torch.tensor([1, 1, 0]),
                    "questions": torch.tensor([[9.5], [5.0], [0.5]]),
                },
            ),
            reference=nearest_mean,
            properties=(
                Property("the class with the nearest mean", 2, both(on(all_seen, equals()), inputs_unchanged)),
                Property("a class without an example is never the answer", 1, on(some_not_seen, equals())),
            ),
            mistakes=NEAREST_MISTAKES,
        ),
        Task(
            function="accuracy_by_number",
            parameters=("classifier", "features", "labels", "held_out", "held_out_labels", "order", "numbers"),
            returns="the fraction of right answers on what is held out, for each number of examples, shape (numbers,)",
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
            edges=(
                {  # one number, all examples
                    "classifier": NEAREST,
                    "features": torch.tensor([[0.0], [9.0]]),
                    "labels": torch.tensor([0, 2]),
                    "held_out": torch.tensor([[1.0], [8.0], [6.0]]),
                    "held_out_labels": torch.tensor([0, 2, 0]),
                    "order": torch.tensor([1, 0]),
                    "numbers": torch.tensor([2]),
                },
                {  # equal examples
                    "classifier": SIDE,
                    "features": torch.tensor([[4.0, 1.0], [4.0, 1.0], [1.0, 1.0]]),
                    "labels": torch.tensor([1, 1, 0]),
                    "held_out": torch.tensor([[3.5, 0.0], [5.0, 0.0]]),
                    "held_out_labels": torch.tensor([1, 1]),
                    "order": torch.tensor([1, 0, 2]),
                    "numbers": torch.tensor([2, 3]),
                },
            ),
            reference=accuracy_by_number,
            properties=(
                Property("the first ones of the order are learned from", 1, on_with(NEAREST, equals())),
                Property("the mean of the seen examples is subtracted", 1, on_with(SIDE, equals())),
                Property(
                    "what has not been seen yet changes nothing",
                    1,
                    not_moved_by(
                        not_yet_seen_changed, "the examples that are never seen changed", lambda accuracies: accuracies
                    ),
                ),
                Property("what is held out is answered one by one", 1, each_alone),
                Property("the accuracy for each number", 2, both(equals(), inputs_unchanged)),
            ),
            mistakes=ACCURACY_MISTAKES,
        ),
    ),
    hints=(
        "For every number that is computed from data, ask: from which examples, and would somebody who has only the "
        "seen ones know it?",
        "For the classifier make a list of the classes that were seen, `labels.unique()`, and one mean for each. For "
        "the curve loop over the numbers: pick the seen examples, compute their mean, subtract it on both sides, let "
        "the classifier answer, compare.",
        "`distances.argmin(dim=1)` counts the means, and indexing the seen classes by it gives labels. In the curve, "
        "`order[:number]` picks the examples; the mean is that of `features[seen]` along axis 0, and the same vector "
        "is subtracted from `held_out`. `(... == held_out_labels).float().mean()` is a fraction.",
    ),
)
