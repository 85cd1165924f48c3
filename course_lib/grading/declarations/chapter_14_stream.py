"""Exercise 14.3, the residual stream sums to the logits: what each part adds to the scores by itself."""

from collections.abc import Callable

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.drawing import normal, sizes, uniform
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import (
    ROUNDING,
    Judge,
    answer_like,
    both,
    difference,
    equals,
    inputs_unchanged,
    of_output,
)
from course_lib.grading.wording import describe_case


def centre(vectors):
    """Vectors less the mean of their entries."""
    return vectors - vectors.mean(-1, keepdim=True)


def root_of(stream, epsilon):
    """What the layer norm divides a stream by, (batch, time, 1)."""
    return (stream.var(-1, keepdim=True, correction=0) + epsilon).sqrt()


def scores_of(stream, gain, bias, epsilon, score_weight, score_bias):
    """What a model says of a stream: layer norm, then the output layer."""
    normed = centre(stream) / root_of(stream, epsilon) * gain + bias
    return normed @ score_weight.T + score_bias


def nobody(bias, score_weight, score_bias):
    """What both biases add, (vocabulary,)."""
    return score_weight @ bias + score_bias


def divided(
    by: Callable[[torch.Tensor, float], torch.Tensor], centred: Callable[[torch.Tensor], torch.Tensor] = centre
) -> Callable[..., tuple]:
    """Return the contributions with parts centred in some way, and divided by `by(parts, epsilon)`."""

    def answer(parts, gain, bias, epsilon, score_weight, score_bias):
        contributions = centred(parts) / by(parts, epsilon) * gain @ score_weight.T
        return contributions, nobody(bias, score_weight, score_bias)

    return answer


def whole_root(parts, epsilon):
    """The root of the whole stream."""
    return root_of(parts.sum(0), epsilon)


direct_contributions = divided(whole_root)


def instead(measure: Callable[..., torch.Tensor]) -> Callable[..., tuple]:
    """Return another measure of the parts, `measure(parts, say)` where `say` makes scores of a stream."""

    def answer(parts, gain, bias, epsilon, score_weight, score_bias):
        def say(stream):
            return scores_of(stream, gain, bias, epsilon, score_weight, score_bias)

        return measure(parts, say), nobody(bias, score_weight, score_bias)

    return answer


def left_out(parts, say):
    """The scores of all less those of all but one."""
    return say(parts.sum(0)) - torch.stack([say(parts.sum(0) - part) for part in parts])


def gained(parts, say):
    """What the lens says after each part, less what it said before."""
    lens = say(torch.cat([torch.zeros_like(parts[:1]), parts.cumsum(0)]))
    return lens[1:] - lens[:-1]


def constant_as(measure: Callable[..., torch.Tensor]) -> Callable[..., tuple]:
    """Return another constant, `measure(gain, bias, score_weight, score_bias)`."""
    return lambda parts, gain, bias, epsilon, score_weight, score_bias: (
        direct_contributions(parts, gain, bias, epsilon, score_weight, score_bias)[0],
        measure(gain, bias, score_weight, score_bias),
    )


def constant_shared(parts, gain, bias, epsilon, score_weight, score_bias):
    """An equal share of the constant for each part."""
    contributions, constant = direct_contributions(parts, gain, bias, epsilon, score_weight, score_bias)
    return contributions + constant / len(parts), torch.zeros_like(constant)


def constant_twice(parts, gain, bias, epsilon, score_weight, score_bias):
    """The constant in each part, and once more."""
    contributions, constant = direct_contributions(parts, gain, bias, epsilon, score_weight, score_bias)
    return contributions + constant, constant


def norm_bias_in_parts(shared: bool, once_more: bool) -> Callable[..., tuple]:
    """Return contributions with the layer norm's bias in every part, whole or shared out."""

    def answer(parts, gain, bias, epsilon, score_weight, score_bias):
        contributions, constant = direct_contributions(parts, gain, bias, epsilon, score_weight, score_bias)
        said = score_weight @ bias / (len(parts) if shared else 1)
        return contributions + said, constant if once_more else score_bias.clone()

    return answer


def overwritten(parts, gain, bias, epsilon, score_weight, score_bias):
    """Centred in the caller's tensor."""
    answer = direct_contributions(parts, gain, bias, epsilon, score_weight, score_bias)
    parts -= parts.mean(-1, keepdim=True)
    return answer


def draw_stream(generator: torch.Generator) -> Case:
    """Draw the parts of a stream, a layer norm and an output layer."""
    number, batch, time = sizes(generator, 4, 3, 3)
    d_model, vocabulary = sizes(generator, 5, 6, least=2)
    return {
        "parts": 2 * normal(generator, number, batch, time, d_model) + 0.5,
        "gain": normal(generator, d_model) + 1,
        "bias": normal(generator, d_model),
        "epsilon": round(uniform(generator, 0.2, 1.0), 3),
        "score_weight": normal(generator, vocabulary, d_model),
        "score_bias": normal(generator, vocabulary),
    }


def of_both(call: Call, case: Case) -> list[torch.Tensor]:
    """Return both answers, which have the right shapes, or raise NoAnswer."""
    came: list[torch.Tensor] = []
    for number in (0, 1):
        of_output(number, lambda part, asked: came.append(answer_like(direct_contributions, part, asked)[0]))(
            call, case
        )
    return came


def sum_to_the_scores(call: Call, case: Case) -> str | None:
    """All contributions and the constant are the scores of the whole stream."""
    contributions, constant = of_both(call, case)
    due = scores_of(case["parts"].sum(0), **{name: each for name, each in case.items() if name != "parts"})
    found = difference(contributions.sum(0) + constant, due, 5 * ROUNDING)
    return f"{describe_case(case)}: of the sums of all contributions and the constant, {found}" if found else None


def level_part_says_nothing(level: float) -> Judge:
    """A part of which all features are equal, put before the others, has contributions of 0."""

    def judge(call: Call, case: Case) -> str | None:
        more = case | {"parts": torch.cat([torch.full_like(case["parts"][:1], level), case["parts"]])}
        said = of_both(call, more)[0][0]  # (batch, time, vocabulary)
        found = difference(said, torch.zeros_like(said))
        return f"{describe_case(more)}: for part 0, which is {level:g} in every feature, {found}" if found else None

    return judge


SUM = "contributions and constant sum to the scores"
PARTS = "each part has its own contribution, under the scale of the whole stream"
CONSTANT = "the constant is what both biases add"
NOTHING = "a part that is equal in all features, or 0, contributes nothing"

NOT_CENTRED = (
    "the mean is not taken off the parts; the layer norm takes it off the stream, and the mean of a sum is the sum of "
    "the means: take off every part its own"
)

BIAS_IN_PARTS = (
    "the bias of the layer norm is added to the parts, whole or in equal shares; it belongs to no part: let it go "
    "through `score_weight` once, in the constant"
)

STREAM = Exercise(
    id="14.3",
    title="The residual stream sums to the logits",
    difficulty=3,
    minutes=35,
    tasks=(
        Task(
            function="direct_contributions",
            parameters=("parts", "gain", "bias", "epsilon", "score_weight", "score_bias"),
            returns="what each part adds to the scores, shape (parts, batch, time, vocabulary), and what no part adds, "
            "shape (vocabulary,)",
            outputs=("contributions", "constant"),
            cases=draw_stream,
            examples=(
                {
                    "parts": torch.tensor([[6.0, 0.0], [-1.0, 1.0]])[:, None, None],
                    "gain": torch.tensor([2.0, 1.0]),
                    "bias": torch.tensor([0.0, 1.0]),
                    "epsilon": 0.0,
                    "score_weight": torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]),
                    "score_bias": torch.tensor([0.5, 0.0, 0.0]),
                },
            ),
            reference=direct_contributions,
            properties=(
                Property(SUM, 2, sum_to_the_scores),
                Property(PARTS, 3, both(of_output(0, equals(direct_contributions)), inputs_unchanged)),
                Property(CONSTANT, 1, of_output(1, equals(direct_contributions))),
                Property(NOTHING, 1, both(level_part_says_nothing(3.0), level_part_says_nothing(0.0))),
            ),
            misconceptions=(
                Misconception(
                    "every part by its own scale",
                    "each part is divided by its own root, so that a small part counts as much as a large one and the "
                    "sum is not that of the scores; one root, that of the whole stream, divides them all",
                    divided(root_of),
                    breaks=SUM,
                ),
                Misconception(
                    "every part as a stream",
                    "each part goes through the layer norm by itself, as if it were the whole stream; the scale is "
                    "that of the sum, and the biases belong to none of them",
                    instead(lambda parts, say: say(parts)),
                    breaks=SUM,
                ),
                Misconception(
                    "the stream so far",
                    "these are the scores of the sum of the parts so far, which is the logit lens; asked is what each "
                    "part adds to the scores at the end, under the scale that the whole stream has there",
                    instead(lambda parts, say: say(parts.cumsum(0))),
                    breaks=SUM,
                ),
                Misconception(
                    "what the lens gains",
                    "this is by how much the logit lens moves with each part; that sums to the scores as well, but the "
                    "scale is another one after each part: hold it fixed at that of the whole stream",
                    instead(gained),
                    breaks=PARTS,
                ),
                Misconception(
                    "the part left out",
                    "these are the scores of the stream less those of the stream without the part: an ablation, in "
                    "which the scale changes too, and which does not sum to the scores; hold the scale fixed",
                    instead(left_out),
                    breaks=SUM,
                ),
                Misconception(
                    "no layer norm",
                    "the parts go through the output layer as they are; the layer norm stands before it: take the mean "
                    "off, divide by the root of the whole stream, multiply by the gain",
                    lambda parts, gain, bias, epsilon, score_weight, score_bias: (
                        parts @ score_weight.T,
                        nobody(bias, score_weight, score_bias),
                    ),
                    breaks=SUM,
                ),
                Misconception("mean left on", NOT_CENTRED, divided(whole_root, lambda parts: parts), breaks=SUM),
                Misconception(
                    "the stream's mean from every part",
                    "the mean of the whole stream is taken off every part, as often as there are parts; take off every "
                    "part its own mean",
                    divided(whole_root, lambda parts: parts - parts.sum(0).mean(-1, keepdim=True)),
                    breaks=SUM,
                ),
                Misconception(
                    "the mean in equal shares",
                    "the mean of the stream is taken off the parts in equal shares; the sum is right, but a part that "
                    "lifts all features alike then seems to say something: take off every part its own mean",
                    divided(whole_root, lambda parts: parts - parts.sum(0).mean(-1, keepdim=True) / len(parts)),
                    breaks=NOTHING,
                ),
                Misconception(
                    "no epsilon",
                    "epsilon is missing under the root",
                    divided(lambda parts, epsilon: root_of(parts.sum(0), 0.0)),
                    breaks=SUM,
                ),
                Misconception(
                    "epsilon behind the root",
                    "epsilon is added to the root; it stands under it, beside the variance",
                    divided(lambda parts, epsilon: root_of(parts.sum(0), 0.0) + epsilon),
                    breaks=SUM,
                ),
                Misconception(
                    "no root",
                    "this divides by the variance; divide by its root",
                    divided(lambda parts, epsilon: whole_root(parts, epsilon) ** 2),
                    breaks=SUM,
                ),
                Misconception(
                    "d_model less one",
                    "the variance is divided by d_model - 1, which is what torch's `var` and `std` do unless told "
                    "`correction=0`; a layer norm divides by d_model",
                    divided(lambda parts, epsilon: (parts.sum(0).var(-1, keepdim=True) + epsilon).sqrt()),
                    breaks=SUM,
                ),
                Misconception(
                    "std as torch takes it",
                    "`std` divides by d_model - 1 unless told `correction=0`, and epsilon stands under the root, "
                    "beside the variance, not behind it",
                    divided(lambda parts, epsilon: parts.sum(0).std(-1, keepdim=True) + epsilon),
                    breaks=SUM,
                ),
                Misconception(
                    "root of the summed variances",
                    "the variance is taken of every part and added up; parts lean towards each other or away, so take "
                    "it of their sum",
                    divided(lambda parts, epsilon: (parts.var(-1, keepdim=True, correction=0).sum(0) + epsilon).sqrt()),
                    breaks=SUM,
                ),
                Misconception(
                    "no gain",
                    "the gain is missing: it multiplies each feature behind the division, in every part",
                    lambda gain, **named: direct_contributions(gain=torch.ones_like(gain), **named),
                    breaks=SUM,
                ),
                Misconception(
                    "no bias of the norm",
                    "the bias of the layer norm is missing in the constant; it goes through `score_weight`, too",
                    constant_as(lambda gain, bias, score_weight, score_bias: score_bias.clone()),
                    breaks=CONSTANT,
                ),
                Misconception(
                    "no bias of the scores",
                    "`score_bias` is missing in the constant",
                    constant_as(lambda gain, bias, score_weight, score_bias: score_weight @ bias),
                    breaks=CONSTANT,
                ),
                Misconception(
                    "gain on the bias",
                    "the gain multiplies the bias of the layer norm as well; it is added behind the gain",
                    constant_as(lambda gain, bias, score_weight, score_bias: score_weight @ (gain * bias) + score_bias),
                    breaks=CONSTANT,
                ),
                Misconception(
                    "the constant in shares",
                    "the biases are handed out to the parts in equal shares; they belong to none, and stand by "
                    "themselves in the constant",
                    constant_shared,
                    breaks=PARTS,
                ),
                Misconception(
                    "the constant in every part",
                    "the biases are added to every part, and counted as often as there are parts; they stand by "
                    "themselves in the constant",
                    constant_twice,
                    breaks=SUM,
                ),
                Misconception("norm's bias in parts", BIAS_IN_PARTS, norm_bias_in_parts(False, False), breaks=SUM),
                Misconception("norm's bias twice", BIAS_IN_PARTS, norm_bias_in_parts(False, True), breaks=SUM),
                Misconception("norm's bias in shares", BIAS_IN_PARTS, norm_bias_in_parts(True, False), breaks=PARTS),
                Misconception(
                    "overwritten",
                    "`parts -= ...` takes the mean off in the caller's own tensor; `parts - ...` makes a new one",
                    overwritten,
                    breaks=PARTS,
                ),
            ),
        ),
    ),
    hints=(
        "The layer norm takes a mean off, divides, multiplies by the gain and adds a bias. Which of these four may be "
        "done to every part by itself, and which must know the whole stream?",
        "Sum the parts, and compute from the sum the one number that a place is divided by. Then take off every part "
        "its own mean, divide by that number, multiply by the gain and go through the transposed output weight. What "
        "both biases add is left over: it is the same for all places.",
        "The root is that of `stream.var(dim=-1, correction=0, keepdim=True) + epsilon`, with the sum of the parts for "
        "`stream`; its shape (batch, time, 1) fits all parts. The constant is `score_weight @ bias` and one more term.",
    ),
)
