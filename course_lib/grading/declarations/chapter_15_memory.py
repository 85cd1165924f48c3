"""Exercise 15.1, a picture becomes a memory: patches in colour, and two codes that say where each was."""

from collections.abc import Callable

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.drawing import normal, sizes
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import answer_like, both, difference, equals, gradients_equal, inputs_unchanged, on
from course_lib.grading.wording import describe_case


def blocks(images, size):
    """Pictures as (batch, channels, rows, row in the patch, columns, column in the patch)."""
    return images.unflatten(3, (-1, size)).unflatten(2, (-1, size))


def patches(images, size, order=(0, 2, 4, 1, 3, 5)):
    """Patches (batch, rows * columns, channels * size * size); `order` is a way to go wrong."""
    return blocks(images, size).permute(order).flatten(3).flatten(1, 2)


def places(images, size, codes, first=0, second=1):
    """Codes (rows * columns, d_model): that of the row (0) or of the column (1) in the first half and the second."""
    rows, columns = images.shape[2] // size, images.shape[3] // size
    index = torch.arange(rows).repeat_interleave(columns), torch.arange(columns).repeat(rows)
    return torch.cat([codes[index[first]], codes[index[second]]], 1)


def by(cut: Callable = patches, say_where: Callable = places) -> Callable:
    """Return the answer with patches cut(images, size) and codes say_where(images, size, codes)."""
    return lambda images, size, weight, codes: cut(images, size) @ weight.mT + say_where(images, size, codes)


picture_memory = by()


def features_first(images, size, weight, codes):
    """The features before the locations."""
    return picture_memory(images, size, weight, codes).mT


def one_number(images, size, codes):
    """One code for each location, by its number in reading order, in both halves."""
    index = torch.arange(images.shape[2] // size * (images.shape[3] // size))
    return codes[index].repeat(1, 2)


def columns_first(images, size, weight, codes):
    """Down the first column, then down the second."""
    rows = images.shape[2] // size
    return picture_memory(images, size, weight, codes).unflatten(1, (rows, -1)).transpose(1, 2).flatten(1, 2)


def without_moving(images, size):
    """The pixels in the order in which they are stored, in pieces as long as a patch."""
    return images.reshape(len(images), -1, images.shape[1] * size * size)


def patches_of_every_nth(images, size):
    """Patches of pixels that lie apart."""
    split = images.unflatten(3, (size, -1)).unflatten(2, (size, -1))  # (batch, channels, size, rows, size, columns)
    return split.permute(0, 3, 5, 1, 2, 4).flatten(3).flatten(1, 2)


def detached(images, size, weight, codes):
    """The right numbers, without a way back."""
    return picture_memory(images, size, weight, codes).detach()


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


def knows_its_patch_alone(call: Call, case: Case) -> str | None:
    """Turn the sign of one patch: the memory of every other location stays as it is, and that of this one does not."""
    before, _ = answer_like(picture_memory, call, case)
    size, columns = case["size"], case["images"].shape[3] // case["size"]
    for place in sorted({0, before.shape[1] // 2, before.shape[1] - 1}):
        row, column = divmod(place, columns)
        images = case["images"].clone()
        images[:, :, row * size : (row + 1) * size, column * size : (column + 1) * size] *= -1
        after = call(case | {"images": images})
        others = torch.arange(before.shape[1]) != place
        where = f"{describe_case(case)}, then other pixels in row {row} and column {column} of the patches"
        if after.shape != before.shape or difference(after[:, others], before[:, others]):
            return f"{where}: locations other than {place} moved"
        if torch.equal(after[:, place], before[:, place]):
            return f"{where}: location {place} did not move"
    return None


def without(name: str) -> Callable[[Case], Case]:
    """Set an argument to zeros."""
    return lambda case: case | {name: torch.zeros_like(case[name])}


ALONE = "each location knows its own patch, and no other"
PIXELS = "the pixels of the patch, times the weight"
PLACES = "the code of the row in the first half, of the column in the second"
GRADIENTS = "gradients reach pixels, weight and codes"

PICTURE_MEMORY = Exercise(
    id="15.1",
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
            ),
            reference=picture_memory,
            properties=(
                Property(ALONE, 2, knows_its_patch_alone),
                Property(PIXELS, 2, on(without("codes"), equals(picture_memory, 1e-4))),
                Property(PLACES, 3, both(on(without("weight"), equals(picture_memory)), inputs_unchanged)),
                Property(GRADIENTS, 1, gradients_equal(picture_memory), only_when_right=True),
            ),
            misconceptions=(
                Misconception(
                    "pixels not moved",
                    "this cuts the pixels in the order in which they are stored, with `reshape` or `view` alone: a "
                    "piece is then a strip of one row, or of one colour, and no patch; split height and width into "
                    "patch and pixel first, then bring the axes into order",
                    by(cut=without_moving),
                    breaks=ALONE,
                ),
                Misconception(
                    "features before locations",
                    "this is (batch, d_model, location), as `unfold` and convolutions have it; the decoder reads rows, "
                    "(batch, location, d_model)",
                    features_first,
                    breaks=ALONE,
                ),
                Misconception(
                    "columns first",
                    "the locations run down the columns; they are counted in reading order, all of the first row of "
                    "patches, then the second",
                    columns_first,
                    breaks=ALONE,
                ),
                Misconception(
                    "colour last",
                    "inside a patch the pixels stand in the order row, column, colour; the weight expects all pixels "
                    "of the first colour, then of the second: channel, row, column",
                    by(cut=lambda images, size: patches(images, size, (0, 2, 4, 3, 5, 1))),
                    breaks=PIXELS,
                ),
                Misconception(
                    "patch on its side",
                    "inside a patch the pixels run down the columns; the weight expects channel, row, column",
                    by(cut=lambda images, size: patches(images, size, (0, 2, 4, 1, 5, 3))),
                    breaks=PIXELS,
                ),
                Misconception(
                    "pixel and patch exchanged",
                    "this takes every so-many-th pixel for a patch: when the height is split, the patch comes first "
                    "and the pixel inside it second, `(rows size)` and not `(size rows)`",
                    by(cut=patches_of_every_nth),
                    breaks=ALONE,
                ),
                Misconception(
                    "halves exchanged",
                    "the code of the column stands in the first half and that of the row in the second",
                    by(say_where=lambda images, size, codes: places(images, size, codes, 1, 0)),
                    breaks=PLACES,
                ),
                Misconception(
                    "rows alone",
                    "both halves hold the code of the row: patches side by side cannot be told apart",
                    by(say_where=lambda images, size, codes: places(images, size, codes, 0, 0)),
                    breaks=PLACES,
                ),
                Misconception(
                    "columns alone",
                    "both halves hold the code of the column: patches one above the other cannot be told apart",
                    by(say_where=lambda images, size, codes: places(images, size, codes, 1, 1)),
                    breaks=PLACES,
                ),
                Misconception(
                    "one number for a place",
                    "this numbers the patches in reading order and gives both halves the code of that number, as if "
                    "the picture were one long line; row and column have a half each",
                    by(say_where=one_number),
                    breaks=PLACES,
                ),
                Misconception(
                    "no places",
                    "no code was added: attention reads a set, and a memory without places cannot say what is above",
                    by(say_where=lambda images, size, codes: 0.0),
                    breaks=PLACES,
                ),
                Misconception(
                    "counted from one",
                    "the first row and the first column have the number 0; this takes the codes from the number 1 on",
                    by(say_where=lambda images, size, codes: places(images, size, codes.roll(-1, 0))),
                    breaks=PLACES,
                ),
                Misconception(
                    "no way back",
                    "the numbers are right, and the gradient is lost: `.detach()`, `.data`, `.tolist()` and "
                    "`torch.tensor(...)` cut a result off from what it was made of",
                    detached,
                    breaks=GRADIENTS,
                ),
            ),
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
