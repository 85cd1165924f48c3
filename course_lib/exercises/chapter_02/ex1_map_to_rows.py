"""02.1: a feature map becomes one row for each pixel."""

import torch

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import both, equals, inputs_unchanged
from course_lib.grading.exercise import Case, Exercise, Property, Task
from course_lib.grading.problem import Problem


def map_to_rows(feature_map):
    """One row of features for each pixel."""
    return feature_map.flatten(2).transpose(1, 2)


def draw_feature_map(generator: torch.Generator) -> Case:
    """Draw a feature map with at least two of everything."""
    return {"feature_map": normal(generator, *sizes(generator, 3, 4, 4, 4, least=2))}


def moves_one_row(case: Case):
    """Change the pixel in the first row and second column of the map; exactly one row of the answer may move."""
    feature_map = case["feature_map"].clone()
    feature_map[:, :, 0, 1] += 1
    before, after = yield [case, {"feature_map": feature_map}]
    rows = (before.value != after.value).any(-1).sum(1)
    if (rows == 1).all():
        return None
    said = {"after": "the pixel [0, 1] changed", "where": "rows that moved"}
    return Problem("value", case, got=rows[rows != 1][0].item(), expected=1, **said)


MISTAKES = """
reshape alone => changing one pixel changes one row
- return rearrange(feature_map, "batch feature height width -> batch (height width) feature")
+ return feature_map.reshape(len(feature_map), -1, feature_map.shape[1])
this is what `reshape` gives without moving the feature axis to the end: each row holds numbers of several
pixels instead of all features of one

column by column => pixels in reading order
+ return rearrange(feature_map, "batch feature height width -> batch (width height) feature")
this reads the picture column by column, `(width height)`; reading order is `(height width)`

features first => pixels in reading order
+ return rearrange(feature_map, "batch feature height width -> batch feature (height width)")
this leaves the features before the pixels: the last two axes are still to be exchanged

pictures mixed => pixels in reading order
- return rearrange(feature_map, "batch feature height width -> batch (height width) feature")
+ rows = rearrange(feature_map, "batch feature height width -> height width batch feature")
+ return rows.reshape(len(feature_map), -1, feature_map.shape[1])
this puts the batch behind the pixels and then reshapes, so that rows of several pictures are mixed; the batch stays the
first axis

every axis of length 1 dropped => pixels in reading order
+ return rearrange(feature_map, "batch feature height width -> batch (height width) feature").squeeze()
`squeeze()` without an axis removes every axis of length 1, also the batch or the features; the answer always has three
axes
"""

EXERCISE = Exercise(
    title="Map to rows",
    difficulty=1,
    minutes=10,
    tasks=(
        Task(
            function="map_to_rows",
            parameters=("feature_map",),
            returns="one row for each pixel, shape (batch, height * width, d_feature)",
            cases=draw_feature_map,
            examples=({"feature_map": torch.tensor([[[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]])},),
            edges=(
                {"feature_map": torch.tensor([[[[1.0, 2.0]]], [[[3.0, 4.0]]]])},  # one feature, one line
                {"feature_map": torch.tensor([[[[1.0, 2.0]], [[3.0, 4.0]]]])},  # one picture, one line
            ),
            reference=map_to_rows,
            properties=(
                Property("changing one pixel changes one row", 1, moves_one_row),
                Property("pixels in reading order", 2, both(equals(), inputs_unchanged)),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "Which axis has to be last, so that a row is everything that is known about one pixel?",
        "Move the features to the end, and join height and width into one axis in which the width runs fastest.",
        "`rearrange(feature_map, 'batch feature height width -> batch (height width) feature')`.",
    ),
)
