"""03.4: a receptive field by perturbation; a layer is handed over, and the answer says what it sees."""

from collections.abc import Callable

import torch

from course_lib.exercises.chapter_03.ex3_permutation_test import EACH_BY_ITSELF, RUNNING_MEAN, SELF_ATTENTION
from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import Check, both, difference, inputs_unchanged
from course_lib.grading.exercise import Case, Exercise, Given, Property, Task

WINDOW = Given(
    "the mean of a window of three", "lambda inputs: torch.nn.functional.avg_pool1d(inputs.T, 3, stride=1, padding=1).T"
)
WINDOW_ON_WINDOW = Given(
    "two windows of three, one on the other",
    "lambda inputs: torch.nn.functional.avg_pool1d("
    "torch.nn.functional.avg_pool1d(inputs.T, 3, stride=1, padding=1).tanh(), 3, stride=1, padding=1).T",
)
BACK_TO_FRONT = Given("the sequence from back to front", "lambda inputs: inputs.flip(0)")
OWN_FIRST_ALL_LAST = Given(
    "each first feature, and the running sum of the last",
    "lambda inputs: torch.stack([inputs[:, 0].tanh(), inputs[:, -1].cumsum(0)], 1)",
)
FEATURES_COMPARED = Given(
    "the difference of the two features, from back to front", "lambda inputs: (inputs[:, :1] - inputs[:, 1:]).flip(0)"
)
WITH_ITS_OPPOSITE = Given(
    "the first feature, and its opposite", "lambda inputs: torch.stack([inputs[:, 0], -inputs[:, 0]], 1)"
)
ALL_AND_OWN_LAST = Given(
    "the running sum of the last feature, and that feature",
    "lambda inputs: torch.stack([inputs[:, -1].cumsum(0), inputs[:, -1]], 1)",
)


def inputs_that_matter(layer, inputs, position):
    """True where a change of one input moves the output at `position`.

    To each feature another number is added, for layers that see only how features differ.
    """
    before, moved = layer(inputs)[position], []
    for time in range(len(inputs)):
        changed = inputs.clone()
        changed[time] += torch.linspace(1, 2, inputs.shape[-1])
        moved.append(bool((layer(changed)[position] != before).any()))
    return torch.tensor(moved)


def draw_sequence_and_position(generator: torch.Generator) -> Case:
    """Draw a sequence, short enough for all to be shown, and a position; the checks exchange the layer."""
    time, d = (least + size for least, size in zip((3, 1), sizes(generator, 4, 2), strict=True))
    position = int(torch.randint(time, (), generator=generator))
    # Small, so that self-attention gives every position a weight that can be seen.
    return {"layer": WINDOW, "inputs": normal(generator, time, d) / 2, "position": position}


def with_a_vector_of_zeros(case: Case) -> Case:
    """Put a vector of zeros where the layer looks."""
    inputs = case["inputs"].clone()
    inputs[case["position"]] = 0
    return case | {"inputs": inputs}


def with_two_features(case: Case) -> Case:
    """Give every vector two features, in 64ths: with 1 added to both, their difference is the same to the last bit."""
    first = case["inputs"][:, :1]
    return case | {"inputs": (64 * torch.cat([first, first.cos()], 1)).round() / 64}


def sees(*layers: Given, change: Callable[[Case], Case] = lambda case: case) -> Check:
    """The answer is the reference's for every one of these layers."""

    def check(case: Case):
        replies = yield [change(case if layer is case["layer"] else case | {"layer": layer}) for layer in layers]
        for reply in replies:
            if problem := difference(reply.arguments, reply.value, reply.expected):
                return problem
        return None

    return check


MISTAKES = """
the question turned round => a running mean reads the past
- perturbed[index] += torch.linspace(1, 2, inputs.shape[1])
- moved[index] = (layer(perturbed)[position] != before).any()
+ perturbed[position] += torch.linspace(1, 2, inputs.shape[1])
+ moved[index] = (layer(perturbed) != layer(inputs))[index].any()
this changes the input at `position` and tells which outputs change; the question is which inputs change the output at
`position`

any output => a window of three, and two of them stacked
- moved[index] = (layer(perturbed)[position] != before).any()
+ moved[index] = (layer(perturbed) != layer(inputs)).any()
this tells whether any output changed; only the output at `position` counts

each output by its own input => layers that read one position, and one that reads all
+ moved[index] = (layer(perturbed) != layer(inputs))[index].any()
this changes one input and looks at the output of the same position; look at `position` each time

change upon change => a window of three, and two of them stacked
- for index in range(len(inputs)):
- perturbed = inputs.clone()
+ perturbed = inputs.clone()
+ for index in range(len(inputs)):
the changes pile up: an input that was changed once stays changed when the next is tried; start each time from a fresh
`inputs.clone()`

change upon change, in the caller's inputs => a window of three, and two of them stacked
- perturbed = inputs.clone()
+ perturbed = inputs
the changes pile up in the caller's own inputs; start each time from a fresh `inputs.clone()`

turned into its opposite => a window of three, and two of them stacked
- moved[index] = (layer(perturbed)[position] != before).any()
+ moved[index] = (layer(perturbed)[position] == before).all()
this is True where the output did not change

how far => a window of three, and two of them stacked
- moved = torch.zeros(len(inputs), dtype=torch.bool)
- for index in range(len(inputs)):
- perturbed = inputs.clone()
- perturbed[index] += torch.linspace(1, 2, inputs.shape[1])
- moved[index] = (layer(perturbed)[position] != before).any()
+ moved = torch.zeros(len(inputs))
+ for index in range(len(inputs)):
+     perturbed = inputs.clone()
+     perturbed[index] += torch.linspace(1, 2, inputs.shape[1])
+     moved[index] = (layer(perturbed)[position] - before).abs().max()
this tells how much the output changed; the question is whether it changed, True or False

a nudge lost in rounding => a window of three, and two of them stacked
- perturbed[index] += torch.linspace(1, 2, inputs.shape[1])
+ perturbed[index] += 1e-9
the change is so small that float32, or the tolerance of the comparison, swallows it; a layer may be perturbed boldly:
add `torch.linspace(1, 2, d)`

a nudge of a millionth => every feature counts, of the input and of the output
+ perturbed[index] += 1e-6
this adds a millionth, the same to every feature: the output of a layer that uses only how the features differ does not
change, and float32 may round other changes away; add `torch.linspace(1, 2, d)`

the same to every feature => every feature counts, of the input and of the output
+ perturbed[index] += 1
this adds the same number to every feature, and the output of a layer that uses only how the features differ does not
change; add a different number to each, `torch.linspace(1, 2, d)`

first feature changed => every feature counts, of the input and of the output
+ perturbed[index, 0] += 1
this changes the first feature of an input alone; a layer may read another one

first feature looked at => every feature counts, of the input and of the output
- moved[index] = (layer(perturbed)[position] != before).any()
+ moved[index] = layer(perturbed)[position, 0] != before[0]
this looks at the first feature of the output alone; another one may have changed

movements that cancel => every feature counts, of the input and of the output
+ moved[index] = (layer(perturbed)[position] - before).sum() != 0
this sums the changes of the features, and where one rises as another falls they cancel; ask whether any feature
changed: `(after != before).any()`

all features must move => every feature counts, of the input and of the output
+ moved[index] = (layer(perturbed)[position] != before).all()
this is True where *every* feature of the output changed; one is enough: `any`, not `all`

zeroed or multiplied => a vector of zeros has an influence too
- perturbed[index] += torch.linspace(1, 2, inputs.shape[1])
+ perturbed[index] = 0
this sets an input to zero, or multiplies it, and where it is zero already nothing changes; add something instead

added and taken off again => inputs unchanged
- perturbed = inputs.clone()
- perturbed[index] += torch.linspace(1, 2, inputs.shape[1])
- moved[index] = (layer(perturbed)[position] != before).any()
+ inputs[index] += torch.linspace(1, 2, inputs.shape[1])
+ moved[index] = ((layer(inputs)[position] - before).abs() > 1e-5).any()
+ inputs[index] -= torch.linspace(1, 2, inputs.shape[1])
this adds to the caller's inputs and subtracts again, which leaves them rounded otherwise; change a copy,
`inputs.clone()`

only what comes before => layers that read one position, and one that reads all
- for index in range(len(inputs)):
+ for index in range(position + 1):
this tries no position behind `position`; a layer may read those as well: try all positions of the inputs

change that begins at zero => a window of three, and two of them stacked
- perturbed[index] += torch.linspace(1, 2, inputs.shape[1])
+ perturbed[index] += torch.linspace(0, 1, inputs.shape[1])
`torch.linspace(0, 1, d)` begins with 0, so the first feature, perhaps the only one, does not change; add
`torch.linspace(1, 2, d)`

added and taken off again, any movement => a window of three, and two of them stacked
- perturbed = inputs.clone()
- perturbed[index] += torch.linspace(1, 2, inputs.shape[1])
- moved[index] = (layer(perturbed)[position] != before).any()
+ inputs[index] += torch.linspace(1, 2, inputs.shape[1])
+ moved[index] = (layer(inputs)[position] != before).any()
+ inputs[index] -= torch.linspace(1, 2, inputs.shape[1])
this adds to the caller's inputs and subtracts again, which leaves them rounded otherwise, and the next input seems to
have an influence; change a copy, `inputs.clone()`
"""

EXERCISE = Exercise(
    title="Receptive field by perturbation",
    difficulty=3,
    minutes=25,
    tasks=(
        Task(
            function="inputs_that_matter",
            parameters=("layer", "inputs", "position"),
            returns="True for each input that can change the output at `position`, shape (time,) of bool",
            cases=draw_sequence_and_position,
            examples=(
                {"layer": WINDOW, "inputs": torch.tensor([[0.3], [0.6], [0.9], [1.2]]), "position": 0},
                {
                    "layer": WINDOW,
                    "inputs": torch.tensor([[0.5, 0.1], [0.2, 1.0], [0.3, 0.5], [1.0, 0.2], [0.7, 0.4]]),
                    "position": 3,
                },
            ),
            edges=(
                {"layer": WINDOW, "inputs": torch.tensor([[0.5, 0.25]]), "position": 0},  # one position
                {
                    "layer": WINDOW,
                    "inputs": torch.tensor([[0.5], [0.25], [0.5]]),
                    "position": 2,
                },  # one feature, the last position
            ),
            reference=inputs_that_matter,
            properties=(
                Property("a window of three, and two of them stacked", 2, sees(WINDOW, WINDOW_ON_WINDOW)),
                Property("a running mean reads the past", 1, sees(RUNNING_MEAN)),
                Property(
                    "layers that read one position, and one that reads all",
                    1,
                    sees(BACK_TO_FRONT, EACH_BY_ITSELF, SELF_ATTENTION),
                ),
                Property(
                    "every feature counts, of the input and of the output",
                    1,
                    both(
                        sees(OWN_FIRST_ALL_LAST, ALL_AND_OWN_LAST, WITH_ITS_OPPOSITE),
                        sees(FEATURES_COMPARED, change=with_two_features),
                    ),
                ),
                Property("a vector of zeros has an influence too", 1, sees(WINDOW, change=with_a_vector_of_zeros)),
                Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "Change one input and nothing else: what do you compare with what?",
        "Keep the output at `position` for the inputs as they are. For each position, take a fresh copy of the inputs, "
        "add `torch.linspace(1, 2, d)` to the vector at that position, call the layer, and see whether any feature at "
        "`position` changed.",
        "`changed = inputs.clone()`, then `changed[index] += torch.linspace(1, 2, inputs.shape[1])`; the entry is "
        "`(layer(changed)[position] != before).any()`, and `torch.stack` makes one tensor of the entries.",
    ),
)
