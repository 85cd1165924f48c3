"""Exercise 12.3, class token or mean: a place of its own for the answer, or the average of all patches."""

import torch
from torch.nn.functional import linear

from course_lib.grading.declarations.drawing import normal, sizes
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import both, equals, gradients_equal, inputs_unchanged, not_moved_by, of_output, on

# ---------------------------------------------------------------- the module


def built(make):
    """Return what `make(token, positions, vectors)` makes of the parameters, as a function of a case."""

    def function(patches, d_model, state, vectors):
        return make(state["token"], state["positions"], vectors)

    return function


def in_front(token, vectors):
    """The token before the patches of every picture."""
    return torch.cat([token.expand(len(vectors), 1, -1), vectors], 1)


class_token = built(lambda token, positions, vectors: in_front(token, vectors) + positions)


def draw_patches(generator: torch.Generator) -> Case:
    """Draw parameters, and a batch of vectors of patches."""
    batch, patches, d_model = sizes(generator, 4, 5, 6)
    state = {"token": normal(generator, d_model), "positions": normal(generator, patches + 1, d_model)}
    vectors = normal(generator, batch, patches, d_model)
    return {"patches": patches, "d_model": d_model, "state": state, "vectors": vectors}


def no_positions(case: Case) -> Case:
    """Leave token and patches."""
    return case | {"state": case["state"] | {"positions": torch.zeros_like(case["state"]["positions"])}}


def in_the_first_picture(token, positions, vectors):
    """The token where it was written, zeros in all other pictures."""
    first = torch.cat([token[None, None], torch.zeros_like(vectors[1:, :1])])
    return torch.cat([first, vectors], 1) + positions


FRONT, PLACES, GRADIENTS = (
    "the class token stands before the patches of every picture",
    "every place has its own position, the first one belongs to the class token",
    "the gradients arrive at token, positions and patches",
)

TOKEN = Task(
    function="ClassToken",
    parameters=("vectors",),
    returns="the class token and the patches, positions added, shape (batch, patches + 1, d_model)",
    cases=draw_patches,
    examples=(
        {
            "patches": 2,
            "d_model": 2,
            "state": {
                "token": torch.tensor([9.0, 8.0]),
                "positions": torch.tensor([[0.1, 0.1], [0.2, 0.2], [0.3, 0.3]]),
            },
            "vectors": torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]),
        },
    ),
    reference=class_token,
    properties=(
        Property(FRONT, 2, on(no_positions, equals(class_token))),
        Property(PLACES, 1, both(equals(class_token), inputs_unchanged)),
        Property(GRADIENTS, 1, gradients_equal(class_token)),
    ),
    misconceptions=(
        Misconception(
            "at the end",
            "the class token stands behind the patches; it comes before them, at place 0",
            built(
                lambda token, positions, vectors: torch.cat([vectors, token.expand(len(vectors), 1, -1)], 1) + positions
            ),
            breaks=FRONT,
        ),
        Misconception(
            "added to every patch",
            "this adds the class token to every patch; it is a place of its own, so that there is one place more",
            built(lambda token, positions, vectors: vectors + token + positions[1:]),
            breaks=FRONT,
        ),
        Misconception(
            "added, and the mean in front",
            "the first place holds the mean of the patches; the class token is learned, the same for all pictures "
            "before the first block, and gathers from the patches by attention",
            built(lambda token, positions, vectors: in_front(vectors.mean(1, keepdim=True), vectors) + positions),
            breaks=FRONT,
        ),
        Misconception(
            "zeros in front",
            "zeros stand in front in place of the learned token: use `self.token`",
            built(lambda token, positions, vectors: in_front(0 * token, vectors) + positions),
            breaks=FRONT,
        ),
        Misconception(
            "in the first picture alone",
            "only the first picture of the batch gets the class token; every picture gets the same one",
            built(in_the_first_picture),
            breaks=FRONT,
        ),
        Misconception(
            "a patch given up",
            "the class token takes the place of the first patch; it is one place more, and no patch is lost",
            built(lambda token, positions, vectors: in_front(token, vectors[:, 1:]) + positions[:-1]),
            breaks=FRONT,
        ),
        Misconception(
            "without positions",
            "no positions were added: the patches would be a set, and nobody knew which one lay above which",
            built(lambda token, positions, vectors: in_front(token, vectors)),
            breaks=PLACES,
        ),
        Misconception(
            "no position for the class token",
            "the class token got no position; row 0 of `positions` belongs to it",
            built(lambda token, positions, vectors: in_front(token, vectors + positions[1:])),
            breaks=PLACES,
        ),
        Misconception(
            "positions counted from the first patch",
            "the first patch got row 0 of `positions`, which belongs to the class token, and the class token none; put "
            "the token in front first, and add all rows then",
            built(lambda token, positions, vectors: in_front(token, vectors + positions[:-1])),
            breaks=PLACES,
        ),
        Misconception(
            "the last position for the class token",
            "the class token got the last row of `positions`; it stands first, so row 0 belongs to it",
            built(lambda token, positions, vectors: in_front(token, vectors) + positions.roll(1, 0)),
            breaks=PLACES,
        ),
        Misconception(
            "one position for all",
            "every place got row 0 of `positions`; place i gets row i",
            built(lambda token, positions, vectors: in_front(token, vectors) + positions[:1]),
            breaks=PLACES,
        ),
        Misconception(
            "cut off",
            "the numbers are right, and no gradient arrives at the token or at the positions (`.data`, `.detach()`, "
            "`torch.tensor(...)`): they could never learn",
            built(lambda token, positions, vectors: in_front(token.detach(), vectors) + positions),
            breaks=GRADIENTS,
        ),
    ),
    constructor=("patches", "d_model"),
)

# ---------------------------------------------------------------- two ways to read


def read_by(first, second):
    """Return the scores of `first(vectors)` and those of `second(vectors)`."""

    def answer(vectors, weight, bias):
        return linear(first(vectors), weight, bias), linear(second(vectors), weight, bias)

    return answer


def own_place(vectors):
    """The class token, as it left the last block."""
    return vectors[:, 0]


def mean_of_patches(vectors):
    """All places but the first."""
    return vectors[:, 1:].mean(1)


class_or_mean = read_by(own_place, mean_of_patches)


def draw_vectors(generator: torch.Generator) -> Case:
    """Draw what leaves the last block, and a layer that reads it; at times as many classes as features."""
    batch, patches, d_model, classes = sizes(generator, 4, 5, 5, 5)
    if torch.rand((), generator=generator) < 0.3:  # where torch does not notice which axis is which
        classes = d_model
    vectors, weight, bias = (
        normal(generator, *shape) for shape in ((batch, patches + 1, d_model), (classes, d_model), (classes,))
    )
    return {"vectors": vectors, "weight": weight, "bias": bias}


def class_token_moved(case: Case) -> Case:
    """Move the class token's vector far away."""
    return case | {"vectors": torch.cat([case["vectors"][:, :1] * 8 + 4, case["vectors"][:, 1:]], 1)}


def patches_moved(case: Case) -> Case:
    """Move the vectors of all patches far away."""
    return case | {"vectors": torch.cat([case["vectors"][:, :1], case["vectors"][:, 1:] * 8 + 4], 1)}


BY_CLASS, BY_MEAN, WITHOUT = (
    "the scores of the class token",
    "the scores of the mean",
    "each reading is blind to what the other one reads",
)


def blind(call, case):
    """The class token moves no mean, and the patches move no class token."""
    by_class = not_moved_by(patches_moved, "the patches moved far away", class_or_mean, lambda scores: scores)
    by_mean = not_moved_by(class_token_moved, "the class token moved far away", class_or_mean, lambda scores: scores)
    return of_output(0, by_class)(call, case) or of_output(1, by_mean)(call, case)


CLASS_OR_MEAN = Task(
    function="class_or_mean",
    parameters=("vectors", "weight", "bias"),
    returns="the scores of the class token and those of the mean of the patches, each of shape (batch, classes)",
    cases=draw_vectors,
    examples=(
        {
            "vectors": torch.tensor([[[1.0, 0.0], [2.0, 2.0], [4.0, 6.0]]]),
            "weight": torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
            "bias": torch.tensor([0.0, 0.0, 10.0]),
        },
    ),
    reference=class_or_mean,
    properties=(
        Property(BY_CLASS, 1, of_output(0, equals(class_or_mean))),
        Property(BY_MEAN, 1, both(of_output(1, equals(class_or_mean)), inputs_unchanged)),
        Property(WITHOUT, 1, blind),
    ),
    misconceptions=(
        Misconception(
            "mean with the class token",
            "this mean has the class token in it; the mean of the *patches* begins at place 1",
            read_by(own_place, lambda vectors: vectors.mean(1)),
            breaks=WITHOUT,
        ),
        Misconception(
            "divided by one too many",
            "this adds the patches up and divides by the number of places, the class token counted; divide by the "
            "number of patches",
            read_by(own_place, lambda vectors: vectors[:, 1:].sum(1) / vectors.shape[1]),
            breaks=BY_MEAN,
        ),
        Misconception(
            "class token taken for the last place",
            "this reads the last place, which is a patch, and averages the others: the class token is place 0",
            read_by(lambda vectors: vectors[:, -1], lambda vectors: vectors[:, :-1].mean(1)),
            breaks=BY_CLASS,
        ),
        Misconception(
            "last place read",
            "this reads the last place, as one would of a model that reads from the left; the class token is place 0",
            read_by(lambda vectors: vectors[:, -1], mean_of_patches),
            breaks=BY_CLASS,
        ),
        Misconception(
            "first patch read",
            "this reads place 1, the first patch; the class token is place 0",
            read_by(lambda vectors: vectors[:, 1], mean_of_patches),
            breaks=BY_CLASS,
        ),
        Misconception(
            "first picture read",
            "this reads all places of the first picture, `vectors[0]`; asked is the first place of every picture",
            read_by(lambda vectors: vectors[0], mean_of_patches),
            breaks=BY_CLASS,
        ),
        Misconception(
            "exchanged",
            "the two are exchanged: the scores of the class token come first",
            read_by(mean_of_patches, own_place),
            breaks=BY_CLASS,
        ),
        Misconception(
            "the mean twice",
            "both are the mean; the first is to be read at the class token alone",
            read_by(mean_of_patches, mean_of_patches),
            breaks=WITHOUT,
        ),
        Misconception(
            "sum of the patches",
            "this is the sum of the patches; a picture of more patches would have greater scores: take the mean",
            read_by(own_place, lambda vectors: vectors[:, 1:].sum(1)),
            breaks=BY_MEAN,
        ),
        Misconception(
            "greatest of the patches",
            "this takes of each feature the greatest number; asked is the mean",
            read_by(own_place, lambda vectors: vectors[:, 1:].amax(1)),
            breaks=BY_MEAN,
        ),
        Misconception(
            "mean over the batch",
            "this averages over pictures (dim=0); the patches of one picture are axis 1",
            read_by(own_place, lambda vectors: vectors[:, 1:].mean(0)),
            breaks=BY_MEAN,
        ),
        Misconception(
            "scores of every patch",
            "these are the scores of each patch by itself, still to be averaged",
            read_by(own_place, lambda vectors: vectors[:, 1:]),
            breaks=BY_MEAN,
        ),
        Misconception(
            "without the bias",
            "the bias was left out",
            lambda vectors, weight, bias: class_or_mean(vectors, weight, 0 * bias),
            breaks=BY_CLASS,
        ),
        Misconception(
            "weight not turned",
            "this multiplies by `weight` as it is, (classes, d_model); a row of it belongs to a class: `weight.T`, or "
            "`torch.nn.functional.linear`",
            lambda vectors, weight, bias: tuple(
                each @ weight + bias for each in (own_place(vectors), mean_of_patches(vectors))
            ),
            breaks=BY_CLASS,
        ),
        Misconception(
            "probabilities",
            "these are probabilities; asked are the scores, before the softmax",
            lambda **case: tuple(each.softmax(-1) for each in class_or_mean(**case)),
            breaks=BY_CLASS,
        ),
    ),
    outputs=("by_class", "by_mean"),
)

READING = Exercise(
    id="12.3",
    title="Class token or mean",
    difficulty=2,
    minutes=25,
    tasks=(TOKEN, CLASS_OR_MEAN),
    hints=(
        "There is one token, and there are as many pictures as the batch is long. What shape must the token have to be "
        "laid before the patches, and how many places are there then?",
        "Give the token axes for batch and place, stretch it over the batch, lay it before the patches along axis 1, "
        "and add all positions then, so that row i meets place i. For reading, split the places in the first and the "
        "rest before anything is averaged.",
        "`self.token.expand(...)` takes the three sizes batch, 1 and d_model, and `torch.cat([..., ...], dim=1)` "
        "joins. When reading, `vectors[:, 0]` is one half, and the mean along axis 1 of `vectors[:, 1:]` the "
        "other; the same weight and bias serve both.",
    ),
)
