"""12.3: a class token, or mean pooling over all patches."""

import torch
from torch.nn.functional import linear

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import both, equals, gradients_equal, inputs_unchanged, not_moved_by, of_output, on
from course_lib.grading.exercise import Case, Exercise, Property, Task


def class_token(patches, d_model, state, vectors):
    """The token before the patches of every image, and the positions of all."""
    return torch.cat([state["token"].expand(len(vectors), 1, -1), vectors], 1) + state["positions"]


def draw_patches(generator: torch.Generator) -> Case:
    """Draw parameters, and a batch of vectors of patches."""
    batch, patches, d_model = sizes(generator, 4, 5, 6)
    state = {"token": normal(generator, d_model), "positions": normal(generator, patches + 1, d_model)}
    vectors = normal(generator, batch, patches, d_model)
    return {"patches": patches, "d_model": d_model, "state": state, "vectors": vectors}


def no_positions(case: Case) -> Case:
    """Leave token and patches."""
    return case | {"state": case["state"] | {"positions": torch.zeros_like(case["state"]["positions"])}}


def class_or_mean(vectors, weight, bias):
    """The logits of the class token and of the mean of the patches."""
    return linear(vectors[:, 0], weight, bias), linear(vectors[:, 1:].mean(1), weight, bias)


def draw_vectors(generator: torch.Generator) -> Case:
    """Draw the output of the last block, and a linear layer; at times as many classes as features."""
    batch, patches, d_model, classes = sizes(generator, 4, 5, 5, 5)
    if torch.rand((), generator=generator) < 0.3:  # where torch does not notice which axis is which
        classes = d_model
    shapes = {"vectors": (batch, patches + 1, d_model), "weight": (classes, d_model), "bias": (classes,)}
    return {name: normal(generator, *shape) for name, shape in shapes.items()}


def class_token_moved(case: Case) -> Case:
    """Move the class token's vector far away."""
    return case | {"vectors": torch.cat([case["vectors"][:, :1] * 8 + 4, case["vectors"][:, 1:]], 1)}


def patches_moved(case: Case) -> Case:
    """Move the vectors of all patches far away."""
    return case | {"vectors": torch.cat([case["vectors"][:, :1], case["vectors"][:, 1:] * 8 + 4], 1)}


blind = both(  # the class token moves no mean, and the patches move no class token
    of_output(0, not_moved_by(patches_moved, "the patches moved far away", lambda logits: logits)),
    of_output(1, not_moved_by(class_token_moved, "the class token moved far away", lambda logits: logits)),
)


TOKEN_MISTAKES = """
at the end => the class token stands before the patches of every image
- return torch.cat([first, vectors], dim=1) + self.positions
+ return torch.cat([vectors, first], dim=1) + self.positions
the class token stands behind the patches; it comes before them, at position 0

added to every patch => the class token stands before the patches of every image
+ return vectors + first + self.positions[1:]
this adds the class token to every patch; it is a position of its own, so that there is one position more

added, and the mean in front => the class token stands before the patches of every image
- first = self.token.expand(len(vectors), 1, -1)
+ first = vectors.mean(dim=1, keepdim=True)
the first position holds the mean of the patches; the class token is learned, the same for all images before the first
block, and gathers from the patches by attention

zeros in front => the class token stands before the patches of every image
+ first = torch.zeros_like(vectors[:, :1])
zeros stand in front in place of the learned token: use `self.token`

in the first picture alone => the class token stands before the patches of every image
+ first = torch.cat([self.token[None, None], torch.zeros_like(vectors[1:, :1])])
only the first image of the batch gets the class token; every image gets the same one

a patch given up => the class token stands before the patches of every image
- return torch.cat([first, vectors], dim=1) + self.positions
+ return torch.cat([first, vectors[:, 1:]], dim=1) + self.positions[:-1]
the class token takes the position of the first patch; it is one position more, and no patch is lost

without positions => every vector has its own position, the first one belongs to the class token
+ return torch.cat([first, vectors], dim=1)
no positions were added: the patches would be a set, and the model could not tell which one lies above which

no position for the class token => every vector has its own position, the first one belongs to the class token
+ return torch.cat([first, vectors + self.positions[1:]], dim=1)
the class token got no position; row 0 of `positions` belongs to it

positions counted from the first patch => every vector has its own position, the first one belongs to the class token
+ return torch.cat([first, vectors + self.positions[:-1]], dim=1)
the first patch got row 0 of `positions`, which belongs to the class token, and the class token none; put the token in
front first, and add all rows then

the last position for the class token => every vector has its own position, the first one belongs to the class token
+ return torch.cat([first, vectors], dim=1) + self.positions.roll(1, 0)
the class token got the last row of `positions`; it stands first, so row 0 belongs to it

one position for all => every vector has its own position, the first one belongs to the class token
+ return torch.cat([first, vectors], dim=1) + self.positions[:1]
every position got row 0 of `positions`; position i gets row i

cut off => the gradients arrive at token, positions and patches
- first = self.token.expand(len(vectors), 1, -1)
+ first = self.token.detach().expand(len(vectors), 1, -1)
the numbers are right, and no gradient arrives at the token or at the positions (`.data`, `.detach()`,
`torch.tensor(...)`): they could never learn

a batch of one => the class token stands before the patches of every image
- first = self.token.expand(len(vectors), 1, -1)
+ first = self.token[None, None]
the class token has a batch of one here, and `cat` then fails for more images; every image of the batch needs its own
copy in front
"""

READING_MISTAKES = """
mean with the class token => each reading is blind to what the other one reads
- own, mean = vectors[:, 0], vectors[:, 1:].mean(dim=1)
+ own, mean = vectors[:, 0], vectors.mean(dim=1)
this mean has the class token in it; the mean of the *patches* begins at position 1

divided by one too many => the logits of the mean
+ own, mean = vectors[:, 0], vectors[:, 1:].sum(dim=1) / vectors.shape[1]
this adds the patches up and divides by the number of positions, the class token counted; divide by the number of
patches

class token taken for the last position => the logits of the class token
+ own, mean = vectors[:, -1], vectors[:, :-1].mean(dim=1)
this reads the last position, which is a patch, and averages the others: the class token is position 0

last position read => the logits of the class token
+ own, mean = vectors[:, -1], vectors[:, 1:].mean(dim=1)
this reads the last position, as one would of a causal model; the class token is position 0

first patch read => the logits of the class token
+ own, mean = vectors[:, 1], vectors[:, 1:].mean(dim=1)
this reads position 1, the first patch; the class token is position 0

first picture read => the logits of the class token
+ own, mean = vectors[0], vectors[:, 1:].mean(dim=1)
this reads all positions of the first image, `vectors[0]`; asked is the first position of every image

exchanged => the logits of the class token
+ own, mean = vectors[:, 1:].mean(dim=1), vectors[:, 0]
the two are exchanged: the logits of the class token come first

the mean twice => each reading is blind to what the other one reads
+ own = mean = vectors[:, 1:].mean(dim=1)
both are the mean; the first is to be read at the class token alone

sum of the patches => the logits of the mean
+ own, mean = vectors[:, 0], vectors[:, 1:].sum(dim=1)
this is the sum of the patches; an image of more patches would have greater logits: take the mean

greatest of the patches => the logits of the mean
+ own, mean = vectors[:, 0], vectors[:, 1:].amax(dim=1)
this takes of each feature the greatest number; asked is the mean

mean over the batch => the logits of the mean
+ own, mean = vectors[:, 0], vectors[:, 1:].mean(dim=0)
this averages over images (dim=0); the patches of one image are axis 1

mean over batch and patches => the logits of the mean
+ own, mean = vectors[:, 0], vectors[:, 1:].mean(dim=(0, 1)).expand(len(vectors), -1)
this averages over the images as well, so that all of them get the same logits: average along axis 1 alone

logits of every patch => the logits of the mean
+ own, mean = vectors[:, 0], vectors[:, 1:]
these are the logits of each patch by itself, still to be averaged

without the bias => the logits of the class token
- return own @ weight.T + bias, mean @ weight.T + bias
+ return own @ weight.T, mean @ weight.T
the bias was left out

weight not turned => the logits of the class token
+ return own @ weight + bias, mean @ weight + bias
this multiplies by `weight` as it is, (classes, d_model); a row of it belongs to a class: `weight.T`, or
`torch.nn.functional.linear`

probabilities => the logits of the class token
+ return (own @ weight.T + bias).softmax(dim=-1), (mean @ weight.T + bias).softmax(dim=-1)
these are probabilities; asked are the logits, before the softmax

squeezed => the logits of the class token
- return own @ weight.T + bias, mean @ weight.T + bias
+ return (own @ weight.T + bias).squeeze(), (mean @ weight.T + bias).squeeze()
`squeeze()` without an axis drops every axis of size one, and a batch of one image or a single class is lost too; drop
the axis of the positions alone

logits divided by one too many => the logits of the mean
+ logits = vectors @ weight.T + bias
+ return logits[:, 0], logits[:, 1:].sum(dim=1) / logits.shape[1]
this adds the logits of the patches up and divides by the number of positions, the class token counted; divide by the
number of patches
"""

EXERCISE = Exercise(
    title="Class token or mean",
    difficulty=2,
    minutes=25,
    tasks=(
        Task(
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
            edges=(
                {  # one patch of one feature, two images
                    "patches": 1,
                    "d_model": 1,
                    "state": {"token": torch.tensor([3.0]), "positions": torch.tensor([[0.5], [-1.0]])},
                    "vectors": torch.tensor([[[2.0]], [[-4.0]]]),
                },
                {  # as many patches and one as features and images
                    "patches": 1,
                    "d_model": 2,
                    "state": {"token": torch.tensor([3.0, 1.0]), "positions": torch.tensor([[0.5, -1.0], [2.0, 0.25]])},
                    "vectors": torch.tensor([[[2.0, 5.0]], [[-4.0, 1.0]]]),
                },
            ),
            reference=class_token,
            properties=(
                Property("the class token stands before the patches of every image", 2, on(no_positions, equals())),
                Property(
                    "every vector has its own position, the first one belongs to the class token",
                    1,
                    both(equals(), inputs_unchanged),
                ),
                Property("the gradients arrive at token, positions and patches", 1, gradients_equal()),
            ),
            mistakes=TOKEN_MISTAKES,
            constructor=("patches", "d_model"),
        ),
        Task(
            function="class_or_mean",
            parameters=("vectors", "weight", "bias"),
            returns="the logits of the class token and those of the mean of the patches, each of shape "
            "(batch, classes)",
            cases=draw_vectors,
            examples=(
                {
                    "vectors": torch.tensor([[[1.0, 0.0], [2.0, 2.0], [4.0, 6.0]]]),
                    "weight": torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
                    "bias": torch.tensor([0.0, 0.0, 10.0]),
                },
            ),
            edges=(
                {  # one patch, one feature, one class, two images
                    "vectors": torch.tensor([[[2.0], [5.0]], [[-1.0], [3.0]]]),
                    "weight": torch.tensor([[2.0]]),
                    "bias": torch.tensor([0.5]),
                },
                {  # vectors of zeros are patches, too
                    "vectors": torch.tensor([[[1.0, 2.0], [0.0, 0.0], [4.0, 6.0]]]),
                    "weight": torch.tensor([[1.0, -1.0]]),
                    "bias": torch.tensor([1.0]),
                },
            ),
            reference=class_or_mean,
            properties=(
                Property("the logits of the class token", 1, of_output(0, equals())),
                Property("the logits of the mean", 1, of_output(1, both(equals(), inputs_unchanged))),
                Property("each reading is blind to what the other one reads", 1, blind),
            ),
            mistakes=READING_MISTAKES,
            outputs=("by_class", "by_mean"),
        ),
    ),
    hints=(
        "There is one token, and there are as many images as the batch is long. What shape must the token have to be "
        "laid before the patches, and how many positions are there then?",
        "Give the token axes for batch and position, stretch it over the batch, lay it before the patches along axis "
        "1, and add all positions then, so that row i meets position i. For reading, split the positions in the first "
        "and the rest before anything is averaged.",
        "`self.token.expand(...)` takes the three sizes batch, 1 and d_model, and `torch.cat([..., ...], dim=1)` "
        "joins. When reading, `vectors[:, 0]` is one half, and the mean along axis 1 of `vectors[:, 1:]` the "
        "other; the same weight and bias serve both.",
    ),
)
