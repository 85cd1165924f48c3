"""Of exercise 12.4: a model that reads from the left is made to read from the right."""

import torch

from course_lib.grading.declarations.drawing import sizes
from course_lib.grading.exercise import Case, Given, Misconception, Property, Task
from course_lib.grading.judges import both, equals, inputs_unchanged, not_moved_by, on

COUNTS = Given(
    "how often each token has come so far",
    "lambda tokens: torch.nn.functional.one_hot(tokens, 7).float().cumsum(1)",
)
LATEST_TWICE = Given(
    "how often each token has come so far, the latest counted twice, times the place",
    "lambda tokens: (lambda said: (said.cumsum(1) + said) * torch.arange(tokens.shape[1])[:, None])"
    "(torch.nn.functional.one_hot(tokens, 7).float())",
)


def mirrored(before, after):
    """Return the answer that turns the tokens by `before` and the scores by `after`."""
    return lambda model, tokens: after(model(before(tokens)))


def as_it_is(tensor):
    """Nothing is turned."""
    return tensor


def along(*axes: int):
    """Return a mirror."""
    return lambda tensor: tensor.flip(axes)


read_from_the_right = mirrored(along(1), along(1))


def draw_model_and_text(generator: torch.Generator) -> Case:
    """Draw a batch of texts for a model that reads from the left."""
    batch, time = sizes(generator, 4, 7)
    return {"model": COUNTS, "tokens": torch.randint(7, (batch, 1 + time), generator=generator)}


def first_word_changed(case: Case) -> Case:
    """Put another word at the left end of every text."""
    first = (case["tokens"][:, :1] + 3) % 7
    return case | {"tokens": torch.cat([first, case["tokens"][:, 1:]], 1)}


BLIND, SCORES, PLACES = (
    "no place reads what stands at its left",
    "the scores, each at its own place",
    "the scores of a model to which order and place matter",
)

FROM_THE_RIGHT = Task(
    function="read_from_the_right",
    parameters=("model", "tokens"),
    returns="the scores of the model when it reads from the right, shape (batch, time, vocabulary)",
    cases=draw_model_and_text,
    examples=({"model": COUNTS, "tokens": torch.tensor([[2, 0, 0]])},),
    reference=read_from_the_right,
    properties=(
        Property(
            BLIND,
            1,
            not_moved_by(
                first_word_changed,
                "the first word changed",
                read_from_the_right,
                lambda scores: scores[:, 1:],
            ),
        ),
        Property(SCORES, 1, both(equals(read_from_the_right), inputs_unchanged)),
        Property(PLACES, 1, on(lambda case: case | {"model": LATEST_TWICE}, equals(read_from_the_right))),
    ),
    misconceptions=(
        Misconception(
            "read from the left",
            "this is the model as it is, which reads from the left; if something was turned round, it was another "
            "axis than time, which is axis 1",
            mirrored(as_it_is, as_it_is),
            breaks=BLIND,
        ),
        Misconception(
            "scores not turned back",
            "the text was turned round and the scores were not: those of the last word stand at the first place; turn "
            "them back",
            mirrored(along(1), as_it_is),
            breaks=SCORES,
        ),
        Misconception(
            "only the scores turned",
            "the model read the text from the left, and its scores were mirrored; the *text* is to be turned round "
            "before the model reads it, and the scores behind it",
            mirrored(as_it_is, along(1)),
            breaks=SCORES,
        ),
        Misconception(
            "another axis of the scores",
            "the scores were mirrored along the vocabulary; axis 1 is time: `flip(1)`",
            mirrored(along(1), along(2)),
            breaks=SCORES,
        ),
        Misconception(
            "all axes of the scores",
            "the scores were mirrored along every axis, the vocabulary too; axis 1 is time: `flip(1)`",
            mirrored(along(1), along(0, 1, 2)),
            breaks=SCORES,
        ),
        Misconception(
            "the batch turned as well",
            "the texts were put in another order too (`flip(0, 1)`), and the scores of one stand in the row of "
            "another; axis 1 is time",
            mirrored(along(0, 1), along(1)),
            breaks=SCORES,
        ),
        Misconception(
            "time and vocabulary",
            "the scores were mirrored along time and along the vocabulary; only time was turned round before",
            mirrored(along(1), along(1, 2)),
            breaks=SCORES,
        ),
        Misconception(
            "the rest of the text, from the left",
            "at each place the model has read the right words, those from this place on, and in the wrong order, from "
            "the left: turn the text round before it reads",
            lambda model, tokens: torch.stack(
                [model(tokens[:, place:])[:, -1] for place in range(tokens.shape[1])], dim=1
            ),
            breaks=PLACES,
        ),
        Misconception(
            "what comes behind, from the left",
            "this takes the model's whole account less what it has read from the left; that is right of a model that "
            "counts, and of no other: let the model read the text turned round",
            lambda model, tokens: (
                model(tokens)[:, -1:]
                - model(tokens)
                + model(tokens).diff(dim=1, prepend=torch.zeros_like(model(tokens)[:, :1]))
            ),
            breaks=PLACES,
        ),
    ),
)
