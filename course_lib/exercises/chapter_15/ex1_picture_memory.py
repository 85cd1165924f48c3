"""15.1: patches in colour become a memory, with a two-dimensional positional encoding."""

from collections.abc import Callable

import torch

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import both, differs, equals, gradients_equal, inputs_unchanged, on
from course_lib.grading.exercise import Case, Exercise, Property, Task
from course_lib.grading.problem import Problem


def picture_memory(images, size, weight, codes):
    """Patches in reading order, projected, with the code of the row in the first half and of the column in the second.

    Splitting gives (batch, channels, rows, row in the patch, columns, column in the patch).
    """
    split = images.unflatten(3, (-1, size)).unflatten(2, (-1, size))
    rows, columns = split.shape[2], split.shape[4]
    patches = split.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)  # (batch, rows * columns, channels * size**2)
    row, column = torch.arange(rows).repeat_interleave(columns), torch.arange(columns).repeat(rows)
    return patches @ weight.mT + torch.cat([codes[row], codes[column]], 1)


def draw_pictures(generator: torch.Generator) -> Case:
    """Draw pictures of few patches, the weight of the projection, and codes, more than there are rows or columns."""
    batch, channels, size, rows, columns, half = sizes(generator, 3, 3, 3, 3, 4, 3)
    spare = sizes(generator, 3)[0]
    return {
        "images": normal(generator, batch, channels, rows * size, columns * size),
        "size": size,
        "weight": normal(generator, 2 * half, channels * size * size),
        "codes": normal(generator, rows * columns + spare, half),
    }


def knows_its_patch_alone(case: Case):
    """Turn the sign of one patch: the memory of every other location stays as it is, and that of this one does not."""
    size, (height, width) = case["size"], case["images"].shape[2:]
    count, columns = height * width // size**2, width // size
    locations, changed = sorted({0, 1 % count, count // 2, count - 1}), []
    for row, column in (divmod(location, columns) for location in locations):
        images = case["images"].clone()
        images[:, :, row * size : (row + 1) * size, column * size : (column + 1) * size] *= -1
        changed.append(case | {"images": images})
    before, *replies = yield [case, *changed]
    for location, reply in zip(locations, replies, strict=True):
        row, column = divmod(location, columns)
        after = f"other pixels in row {row} and column {column} of the patches"
        others, where = torch.arange(count) != location, f"the memory of locations other than {location}"
        kept, got = before.value[:, others], reply.value[:, others]
        if differs(got, kept).any():
            return Problem("moved", case, after=after, where=where, got=(got - kept).abs().max().item(), expected=0)
        if torch.equal(reply.value[:, location], before.value[:, location]):
            said = {"got": "the vector from before", "expected": "another one"}
            return Problem("value", case, after=after, where=f"location {location}", **said)
    return None


def without(name: str) -> Callable[[Case], Case]:
    """Set an argument to zeros."""
    return lambda case: case | {name: torch.zeros_like(case[name])}


MISTAKES = """
pixels not moved => each location knows its own patch, and no other
- patches = rearrange(
- images, "batch channel (row y) (column x) -> batch (row column) (channel y x)", y=size, x=size
- )
+ patches = images.reshape(len(images), -1, images.shape[1] * size * size)
this cuts the pixels in the order in which they are stored, with `reshape` or `view` alone: a piece is then a strip of
one row, or of one colour, and no patch; split height and width into patch and pixel first, then bring the axes into
order

features before locations => each location knows its own patch, and no other
- return patches @ weight.T + torch.cat([of_rows, of_columns], dim=-1)
+ return (patches @ weight.T + torch.cat([of_rows, of_columns], dim=-1)).mT
this is (batch, d_model, location), as `unfold` and convolutions have it; the decoder reads rows, (batch, location,
d_model)

columns first => each location knows its own patch, and no other
+ memory = patches @ weight.T + torch.cat([of_rows, of_columns], dim=-1)
+ return rearrange(memory, "batch (row column) d -> batch (column row) d", row=rows)
the locations run down the columns; they are counted in reading order, all of the first row of patches, then the second

colour last => the pixels of the patch, times the weight
- images, "batch channel (row y) (column x) -> batch (row column) (channel y x)", y=size, x=size
+ images, "batch channel (row y) (column x) -> batch (row column) (y x channel)", y=size, x=size
inside a patch the pixels stand in the order row, column, colour; the weight expects all pixels of the first colour,
then of the second: channel, row, column

patch on its side => the pixels of the patch, times the weight
+ images, "batch channel (row y) (column x) -> batch (row column) (channel x y)", y=size, x=size
inside a patch the pixels run down the columns; the weight expects channel, row, column

pixel and patch exchanged => each location knows its own patch, and no other
+ images, "batch channel (y row) (x column) -> batch (row column) (channel y x)", y=size, x=size
this takes every so-many-th pixel for a patch: when the height is split, the patch comes first and the pixel inside it
second, `(rows size)` and not `(size rows)`

halves exchanged => the code of the row in the first half, of the column in the second
- return patches @ weight.T + torch.cat([of_rows, of_columns], dim=-1)
+ return patches @ weight.T + torch.cat([of_columns, of_rows], dim=-1)
the code of the column stands in the first half and that of the row in the second

rows alone => the code of the row in the first half, of the column in the second
+ return patches @ weight.T + torch.cat([of_rows, of_rows], dim=-1)
both halves hold the code of the row: patches side by side cannot be told apart

columns alone => the code of the row in the first half, of the column in the second
+ return patches @ weight.T + torch.cat([of_columns, of_columns], dim=-1)
both halves hold the code of the column: patches one above the other cannot be told apart

one number for a location => the code of the row in the first half, of the column in the second
+ return patches @ weight.T + codes[: rows * columns].repeat(1, 2)
this is a one-dimensional positional encoding: it numbers the patches in reading order and gives both halves the code of
that number; row and column have a half each

no positional encoding => the code of the row in the first half, of the column in the second
+ return patches @ weight.T
no positional encoding was added: attention reads a set, and a memory without locations cannot say what is above

counted from one => the code of the row in the first half, of the column in the second
- of_rows = codes[:rows].repeat_interleave(columns, dim=0)
- of_columns = codes[:columns].repeat(rows, 1)
+ of_rows = codes[1 : rows + 1].repeat_interleave(columns, dim=0)
+ of_columns = codes[1 : columns + 1].repeat(rows, 1)
the first row and the first column have the number 0; this takes the codes from the number 1 on

no way back => gradients reach pixels, weight and codes
- return patches @ weight.T + torch.cat([of_rows, of_columns], dim=-1)
+ return (patches @ weight.T + torch.cat([of_rows, of_columns], dim=-1)).detach()
the numbers are right, and the gradient is lost: `.detach()`, `.data`, `.tolist()` and `torch.tensor(...)` cut a result
off from what it was made of

numbers divided by the rows => the code of the row in the first half, of the column in the second
- of_rows = codes[:rows].repeat_interleave(columns, dim=0)
- of_columns = codes[:columns].repeat(rows, 1)
+ number = torch.arange(rows * columns)
+ of_rows, of_columns = codes[number // rows], codes[number % rows]
this divides the number of a patch by how many *rows* there are; a row holds `columns` patches, so divide by that (in a
square picture both are the same)

codes by turns => the code of the row in the first half, of the column in the second
- return patches @ weight.T + torch.cat([of_rows, of_columns], dim=-1)
+ return patches @ weight.T + torch.stack([of_rows, of_columns], dim=-1).flatten(1)
the entries of the two codes go by turns, row, column, row and so on; the code of the row fills the first half and that
of the column the second: `torch.cat`
"""

EXERCISE = Exercise(
    title="A picture becomes a memory",
    difficulty=2,
    minutes=25,
    tasks=(
        Task(
            function="picture_memory",
            parameters=("images", "size", "weight", "codes"),
            returns="one vector for each patch, shape (batch, rows * columns, d_model)",
            cases=draw_pictures,
            examples=(
                {
                    "images": torch.tensor([[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]]]),
                    "size": 2,
                    "weight": torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]),
                    "codes": torch.tensor([[10.0], [20.0], [30.0]]),
                },
                {  # two colours: channel, row, column is another order than row, column, channel
                    "images": torch.tensor([[[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]]),
                    "size": 2,
                    "weight": torch.eye(8)[[1, 4]],
                    "codes": torch.tensor([[10.0], [20.0]]),
                },
            ),
            edges=(
                {  # one patch of one pixel, two pictures
                    "images": torch.tensor([[[[2.0]]], [[[-3.0]]]]),
                    "size": 1,
                    "weight": torch.tensor([[1.0], [-2.0]]),
                    "codes": torch.tensor([[0.5]]),
                },
                {  # one column, no more codes than patches
                    "images": torch.tensor([[[[1.0], [2.0], [3.0]]]]),
                    "size": 1,
                    "weight": torch.tensor([[1.0], [-2.0], [0.5], [3.0]]),
                    "codes": torch.tensor([[10.0, 1.0], [20.0, 2.0], [30.0, 3.0]]),
                },
                {  # two rows of three
                    "images": torch.tensor([[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]]),
                    "size": 1,
                    "weight": torch.tensor([[1.0], [-2.0]]),
                    "codes": torch.tensor([[10.0], [20.0], [30.0], [40.0], [50.0], [60.0]]),
                },
            ),
            reference=picture_memory,
            properties=(
                Property("each location knows its own patch, and no other", 2, knows_its_patch_alone),
                Property("the pixels of the patch, times the weight", 2, on(without("codes"), equals(1e-4))),
                Property(
                    "the code of the row in the first half, of the column in the second",
                    3,
                    both(on(without("weight"), equals()), inputs_unchanged),
                ),
                Property("gradients reach pixels, weight and codes", 1, gradients_equal(), only_when_right=True),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "How many patches are there from top to bottom, how many from left to right, and which number has the patch in "
        "row r and column c when they are counted in reading order?",
        "Split height into (row, pixel) and width into (column, pixel), so that there are six axes; bring them into "
        "the order batch, row, column, channel, pixel, pixel, and merge. Project. Then two codes for each location: "
        "each row's repeated for all of its columns, and all columns' repeated for each row.",
        'With einops the patches are `rearrange(images, "b c (r y) (q x) -> b (r q) (c y x)", y=size, x=size)`; the '
        "codes of the rows are `codes[:rows].repeat_interleave(columns, dim=0)`, those of the columns use `.repeat`, "
        "and `torch.cat` along the last axis joins the halves.",
    ),
)
