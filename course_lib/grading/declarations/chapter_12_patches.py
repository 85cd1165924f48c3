"""Exercise 12.2, patchify and back: a picture as a sequence of squares, and the sequence as a picture."""

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.drawing import normal, sizes
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import answer_like, both, difference, equals, inputs_unchanged, on
from course_lib.grading.wording import describe_case

# What does the whole work inside torch.
UNFOLDING = {
    "aten::im2col": "torch's unfold",
    "aten::col2im": "torch's fold",
    "aten::pixel_unshuffle": "torch's pixel_unshuffle",
    "aten::pixel_shuffle": "torch's pixel_shuffle",
}

# ---------------------------------------------------------------- cut


def in_squares(images, size):
    """The axes (batch, channels, rows, size, columns, size), where rows and columns count patches."""
    batch, channels, height, width = images.shape
    return images.reshape(batch, channels, height // size, size, width // size, size)


def cut_by(*axes: int):
    """Return the cutting with the axes of `in_squares` in another order; the first three are laid together."""

    def answer(images, size):
        return in_squares(images, size).permute(axes).flatten(3).flatten(1, 2)

    return answer


patchify = cut_by(0, 2, 4, 1, 3, 5)


def draw_images(generator: torch.Generator) -> Case:
    """Draw pictures that are as often wide as high, and now and then a single patch."""
    batch, channels, size, rows, columns = sizes(generator, 3, 3, 3, 4, 4)
    return {"images": normal(generator, batch, channels, rows * size, columns * size), "size": size}


def same_squares(call: Call, case: Case) -> str | None:
    """Every patch holds the numbers of its square, in whatever order."""
    answer, expected = answer_like(patchify, call, case)
    found = difference(answer.sort(-1).values, expected.sort(-1).values)
    return f"{describe_case(case)}: the numbers of each patch, sorted: {found}" if found else None


def cut_as_they_lie(images, size):
    """Numbers in the order of the memory."""
    batch, channels, height, width = images.shape
    return images.reshape(batch, height * width // size**2, channels * size**2)


def every_so_many(images, size):
    """Patches of pixels that lie apart."""
    batch, channels, height, width = images.shape
    apart = images.reshape(batch, channels, size, height // size, size, width // size)
    return apart.permute(0, 3, 5, 1, 2, 4).flatten(3).flatten(1, 2)


def as_if_square(images, size):
    """As many columns as rows."""
    batch, channels, height, _ = images.shape
    rows = height // size
    return images.reshape(batch, channels, rows, size, rows, size).permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)


def sides_exchanged(images, size):
    """The shape read as (batch, channels, width, height)."""
    batch, channels, width, height = images.shape
    cut = images.reshape(batch, channels, height // size, size, width // size, size)
    return cut.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)


def overlapping(images, size):
    """Squares that begin at every pixel."""
    windows = images.unfold(2, size, 1).unfold(3, size, 1)  # (batch, channels, rows, columns, size, size)
    return windows.permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)


SQUARES, INSIDE = (
    "every patch is a square of the picture, row by row",
    "within a patch: channel by channel, each row by row",
)

PATCHIFY = Task(
    function="patchify",
    parameters=("images", "size"),
    returns="the patches, each as one vector, shape (batch, patches, channels * size * size)",
    cases=draw_images,
    examples=(
        {"images": torch.tensor([[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]]]), "size": 2},
        {"images": torch.tensor([[[[1.0], [2.0], [3.0]], [[4.0], [5.0], [6.0]]]]), "size": 1},
    ),
    reference=patchify,
    properties=(
        Property(SQUARES, 2, same_squares),
        Property(INSIDE, 2, both(equals(patchify), inputs_unchanged)),
    ),
    misconceptions=(
        Misconception(
            "cut as it lies in memory",
            "this cuts the numbers in the order in which they lie in memory, pieces of rows: `reshape` "
            "moves no axis; split height and width in two axes each, and bring the two that count patches to the front",
            cut_as_they_lie,
            breaks=SQUARES,
        ),
        Misconception(
            "pixels that lie apart",
            "this takes pixels that lie far apart into one patch: of the two axes that height is split into, the "
            "number of patches comes first and the size second",
            every_so_many,
            breaks=SQUARES,
        ),
        Misconception(
            "column by column",
            "the patches run down the columns; they are to run along the rows, as one reads",
            cut_by(0, 4, 2, 1, 3, 5),
            breaks=SQUARES,
        ),
        Misconception(
            "each channel a patch",
            "this makes a patch of every channel by itself, channels times too many; a patch holds its square in all "
            "channels",
            lambda images, size: in_squares(images, size).permute(0, 1, 2, 4, 3, 5).flatten(4).flatten(1, 3),
            breaks=SQUARES,
        ),
        Misconception(
            "channels left in front",
            "the axis of the channels still stands before those that count patches, and `reshape` then mixes the "
            "channels of one patch with those of others: move it behind them first",
            lambda images, size: (
                in_squares(images, size)
                .permute(0, 1, 2, 4, 3, 5)
                .reshape(len(images), -1, images.shape[1] * size * size)
            ),
            breaks=SQUARES,
        ),
        Misconception(
            "patches last",
            "the last two axes are exchanged: (batch, patches, numbers) is asked for, one row for each patch",
            lambda images, size: patchify(images, size).mT,
            breaks=SQUARES,
        ),
        Misconception(
            "rows and columns kept apart",
            "this keeps an axis for the rows of patches and one for their columns; a transformer reads one sequence: "
            "lay both axes together",
            lambda images, size: in_squares(images, size).permute(0, 2, 4, 1, 3, 5).flatten(3),
            breaks=SQUARES,
        ),
        Misconception(
            "numbers kept apart",
            "this keeps the axes of channel, row and column within a patch; each patch is to be one vector",
            lambda images, size: in_squares(images, size).permute(0, 2, 4, 1, 3, 5).flatten(1, 2),
            breaks=SQUARES,
        ),
        Misconception(
            "as if pictures were square",
            "this takes the height for the width as well, and stops or goes wrong where a picture is wider than high: "
            "there are `height // size` rows of patches and `width // size` columns",
            as_if_square,
            breaks=SQUARES,
        ),
        Misconception(
            "height and width exchanged",
            "this takes the third axis for the width; the order is (batch, channels, height, width)",
            sides_exchanged,
            breaks=SQUARES,
        ),
        Misconception(
            "overlapping",
            "these squares overlap: a new one begins at every pixel; the next one is to begin where the last one "
            "ended, `size` pixels on",
            overlapping,
            breaks=SQUARES,
        ),
        Misconception(
            "channels last",
            "within a patch this runs through the channels of a pixel first; asked is the whole square of the first "
            "channel, then that of the second",
            cut_by(0, 2, 4, 3, 5, 1),
            breaks=INSIDE,
        ),
        Misconception(
            "channels in the middle",
            "within a patch this takes the channels row by row; asked is the whole square of the first channel, then "
            "that of the second",
            cut_by(0, 2, 4, 3, 1, 5),
            breaks=INSIDE,
        ),
        Misconception(
            "columns first within a patch",
            "within a patch this runs down the columns, as if the square were mirrored in its diagonal; run along the "
            "rows",
            cut_by(0, 2, 4, 1, 5, 3),
            breaks=INSIDE,
        ),
    ),
)

# ---------------------------------------------------------------- and back


def laid_by(*axes: int):
    """Return the laying with the axes (batch, rows, columns, channels, size, size) in another order."""

    def answer(patches, size, channels, height, width):
        squares = patches.reshape(len(patches), height // size, width // size, channels, size, size)
        return squares.permute(axes).reshape(len(patches), channels, height, width)

    return answer


unpatchify = laid_by(0, 3, 1, 4, 2, 5)


def draw_patches(generator: torch.Generator) -> Case:
    """Draw the patches of such pictures."""
    case = draw_images(generator)
    _, channels, height, width = case["images"].shape
    sides = {"channels": channels, "height": height, "width": width}
    return {"patches": normal(generator, *patchify(**case).shape), "size": case["size"]} | sides


def one_patch(case: Case) -> Case:
    """Leave one patch."""
    return case | {"patches": case["patches"][:, :1], "height": case["size"], "width": case["size"]}


def one_pixel_each(case: Case) -> Case:
    """Leave one pixel of each patch."""
    size = case["size"]
    return case | {
        "patches": case["patches"][..., :: size * size],
        "size": 1,
        "height": case["height"] // size,
        "width": case["width"] // size,
    }


def rows_from(change):
    """Return the laying of patches whose axes `change(patches, size, channels, rows, columns)` has made."""

    def answer(patches, size, channels, height, width):
        squares = change(patches, size, channels, height // size, width // size)
        return squares.permute(0, 3, 1, 4, 2, 5).reshape(len(patches), channels, height, width)

    return answer


def square_root(patches, size, channels, height, width):
    """As many rows as columns, by the number of patches."""
    side = int(patches.shape[1] ** 0.5)
    squares = patches.reshape(len(patches), side, side, channels, size, size)
    return squares.permute(0, 3, 1, 4, 2, 5).reshape(len(patches), channels, side * size, side * size)


PIXELS, ONE, BACK = (
    "patches of one pixel: laid row by row",
    "a single patch: its channels, each row by row",
    "every pixel in its place",
)

UNPATCHIFY = Task(
    function="unpatchify",
    parameters=("patches", "size", "channels", "height", "width"),
    returns="the pictures, shape (batch, channels, height, width)",
    cases=draw_patches,
    examples=(
        {
            "patches": torch.tensor([[[1.0, 2.0, 5.0, 6.0], [3.0, 4.0, 7.0, 8.0]]]),
            "size": 2,
            "channels": 1,
            "height": 2,
            "width": 4,
        },
    ),
    reference=unpatchify,
    properties=(
        Property(PIXELS, 1, on(one_pixel_each, equals(unpatchify))),
        Property(ONE, 1, on(one_patch, equals(unpatchify))),
        Property(BACK, 2, both(equals(unpatchify), inputs_unchanged)),
    ),
    misconceptions=(
        Misconception(
            "laid as it lies in memory",
            "this lays the numbers out in the order in which they lie in memory, so that a patch fills pieces of rows: "
            "`reshape` moves no axis; bring the axis of the rows of patches beside that of the rows within",
            lambda patches, size, channels, height, width: patches.reshape(len(patches), channels, height, width),
            breaks=BACK,
        ),
        Misconception(
            "rows not interleaved",
            "this brings the channels to the front and leaves the axes that count patches side by side; in the height "
            "the rows of patches are followed by the rows *within* a patch, and the width likewise",
            laid_by(0, 3, 1, 2, 4, 5),
            breaks=BACK,
        ),
        Misconception(
            "interleaved the wrong way",
            "this lays the rows within a patch before the rows of patches, so that the pixels of one patch are "
            "scattered; the greater step comes first",
            laid_by(0, 3, 4, 1, 5, 2),
            breaks=BACK,
        ),
        Misconception(
            "column by column",
            "this lays the patches down the columns; they run along the rows",
            rows_from(
                lambda patches, size, channels, rows, columns: patches.reshape(
                    len(patches), columns, rows, channels, size, size
                ).transpose(1, 2)
            ),
            breaks=PIXELS,
        ),
        Misconception(
            "as many rows as columns",
            "this takes the square root of the number of patches for the number of rows; six patches have none, and "
            "four may stand side by side: divide `height` and `width` by `size`",
            square_root,
            breaks=PIXELS,
        ),
        Misconception(
            "picture on its side",
            "height and width are exchanged: (batch, channels, height, width) is asked for",
            lambda **case: unpatchify(**case).mT,
            breaks=PIXELS,
        ),
        Misconception(
            "channels behind",
            "the channels are the last axis, as plotting wants them; (batch, channels, height, width) is asked for",
            lambda **case: unpatchify(**case).permute(0, 2, 3, 1),
            breaks=PIXELS,
        ),
        Misconception(
            "channels last within a patch",
            "this takes the numbers of a patch pixel by pixel; they come channel by channel, each a whole square",
            rows_from(
                lambda patches, size, channels, rows, columns: patches.reshape(
                    len(patches), rows, columns, size, size, channels
                ).permute(0, 1, 2, 5, 3, 4)
            ),
            breaks=ONE,
        ),
        Misconception(
            "columns first within a patch",
            "within a patch this runs down the columns, which mirrors every patch in its diagonal; they come row by "
            "row",
            laid_by(0, 3, 1, 5, 2, 4),
            breaks=ONE,
        ),
    ),
)

PATCHES = Exercise(
    id="12.2",
    title="Patchify and back",
    difficulty=2,
    minutes=25,
    tasks=(PATCHIFY, UNPATCHIFY),
    hints=(
        "A row of the picture runs through several patches. Which two numbers tell where it stands: which row of "
        "patches, and which row within the patch?",
        "Split height and width in two axes each, so that there are six in all; bring them into the order in which "
        "they are to be read; lay together what becomes one axis. The way back takes the same steps in the opposite "
        "order.",
        "After `images.reshape(batch, channels, rows, size, columns, size)` the axes are wanted in the order batch, "
        "rows, columns, channels, and the two sizes: `permute` with their numbers. Or say it all to einops, whose "
        "`rearrange` splits, moves and joins in one pattern: `(rows i)` is an axis made of two.",
    ),
    forbidden=UNFOLDING,
)
