"""12.2: an image as a sequence of squares, and the sequence as an image."""

import torch

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import both, difference, equals, inputs_unchanged, on
from course_lib.grading.exercise import Case, Exercise, Property, Task

# What does the whole work inside torch.
UNFOLDING = {
    "aten::im2col": "torch's unfold",
    "aten::col2im": "torch's fold",
    "aten::pixel_unshuffle": "torch's pixel_unshuffle",
    "aten::pixel_shuffle": "torch's pixel_shuffle",
}


def patchify(images, size):
    """Squares that do not overlap, row by row."""
    squares = images.unfold(2, size, size).unfold(3, size, size)  # (batch, channels, rows, columns, size, size)
    return squares.permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)


def unpatchify(patches, size, channels, height, width):
    """The way back."""
    squares = patches.reshape(len(patches), height // size, width // size, channels, size, size)
    return squares.permute(0, 3, 1, 4, 2, 5).reshape(len(patches), channels, height, width)


def draw_images(generator: torch.Generator) -> Case:
    """Draw images that are as often wide as high, and now and then a single patch."""
    batch, channels, size, rows, columns = sizes(generator, 3, 3, 3, 4, 4)
    return {"images": normal(generator, batch, channels, rows * size, columns * size), "size": size}


def same_squares(case: Case):
    """Every patch holds the numbers of its square, in whatever order."""
    reply = yield case
    got, expected = (each.sort(-1).values for each in (reply.value, reply.expected))
    return difference(case, got, expected, where="the numbers of each patch, sorted")


def draw_patches(generator: torch.Generator) -> Case:
    """Draw the patches of such images."""
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
    sides = {"height": case["height"] // size, "width": case["width"] // size}
    return case | {"patches": case["patches"][..., :: size * size], "size": 1} | sides


PATCHIFY_MISTAKES = """
cut as it lies in memory => every patch is a square of the image, row by row
- pattern = "batch channels (rows i) (columns j) -> batch (rows columns) (channels i j)"
- return rearrange(images, pattern, i=size, j=size)
+ batch, channels, height, width = images.shape
+ return images.reshape(batch, height * width // size**2, channels * size**2)
this cuts the numbers in the order in which they lie in memory, parts of rows: `reshape` moves no axis; split height
and width in two axes each, and bring the two that count patches to the front

pixels that lie apart => every patch is a square of the image, row by row
- pattern = "batch channels (rows i) (columns j) -> batch (rows columns) (channels i j)"
+ pattern = "batch channels (i rows) (j columns) -> batch (rows columns) (channels i j)"
this takes pixels that lie far apart into one patch: of the two axes that height is split into, the number of patches
comes first and the size second

column by column => every patch is a square of the image, row by row
+ pattern = "batch channels (rows i) (columns j) -> batch (columns rows) (channels i j)"
the patches run down the columns; they are to run along the rows, as one reads

each channel a patch => every patch is a square of the image, row by row
+ pattern = "batch channels (rows i) (columns j) -> batch (channels rows columns) (i j)"
this makes a patch of every channel by itself, channels times too many; a patch holds its square in all channels

channels left in front => every patch is a square of the image, row by row
- pattern = "batch channels (rows i) (columns j) -> batch (rows columns) (channels i j)"
- return rearrange(images, pattern, i=size, j=size)
+ pattern = "batch channels (rows i) (columns j) -> batch channels rows columns i j"
+ squares = rearrange(images, pattern, i=size, j=size)
+ return squares.reshape(len(images), -1, images.shape[1] * size * size)
the axis of the channels still stands before those that count patches, and `reshape` then mixes the channels of one
patch with those of others: move it behind them first

patches last => every patch is a square of the image, row by row
- pattern = "batch channels (rows i) (columns j) -> batch (rows columns) (channels i j)"
+ pattern = "batch channels (rows i) (columns j) -> batch (channels i j) (rows columns)"
the last two axes are exchanged: (batch, patches, numbers) is asked for, one row for each patch

rows and columns kept apart => every patch is a square of the image, row by row
+ pattern = "batch channels (rows i) (columns j) -> batch rows columns (channels i j)"
this keeps an axis for the rows of patches and one for their columns; a transformer reads one sequence: lay both axes
together

numbers kept apart => every patch is a square of the image, row by row
+ pattern = "batch channels (rows i) (columns j) -> batch (rows columns) channels i j"
this keeps the axes of channel, row and column within a patch; each patch is to be one vector

a loop over a square => every patch is a square of the image, row by row
- pattern = "batch channels (rows i) (columns j) -> batch (rows columns) (channels i j)"
- return rearrange(images, pattern, i=size, j=size)
+ starts = range(0, images.shape[2], size)
+ squares = [images[:, :, i : i + size, j : j + size].flatten(1) for i in starts for j in starts]
+ return torch.stack(squares, dim=1)
this takes the height for the width as well, and stops or goes wrong where an image is wider than high: there are
`height // size` rows of patches and `width // size` columns

as if pictures were square => every patch is a square of the image, row by row
- return rearrange(images, pattern, i=size, j=size)
+ rows = images.shape[2] // size
+ return rearrange(images, pattern, rows=rows, i=size, columns=rows, j=size)
this takes the height for the width as well, and stops or goes wrong where an image is wider than high: there are
`height // size` rows of patches and `width // size` columns

height and width exchanged => every patch is a square of the image, row by row
+ batch, channels, width, height = images.shape
+ return rearrange(images.reshape(batch, channels, height, width), pattern, i=size, j=size)
this takes the third axis for the width; the order is (batch, channels, height, width)

overlapping => every patch is a square of the image, row by row
- pattern = "batch channels (rows i) (columns j) -> batch (rows columns) (channels i j)"
- return rearrange(images, pattern, i=size, j=size)
+ squares = images.unfold(2, size, 1).unfold(3, size, 1)
+ return rearrange(squares, "batch channels rows columns i j -> batch (rows columns) (channels i j)")
these squares overlap: a new one begins at every pixel; the next one is to begin where the last one ended, `size` pixels
on

channels last => within a patch: channel by channel, each row by row
- pattern = "batch channels (rows i) (columns j) -> batch (rows columns) (channels i j)"
+ pattern = "batch channels (rows i) (columns j) -> batch (rows columns) (i j channels)"
within a patch this runs through the channels of a pixel first; asked is the whole square of the first channel, then
that of the second

channels in the middle => within a patch: channel by channel, each row by row
+ pattern = "batch channels (rows i) (columns j) -> batch (rows columns) (i channels j)"
within a patch this takes the channels row by row; asked is the whole square of the first channel, then that of the
second

columns first within a patch => within a patch: channel by channel, each row by row
+ pattern = "batch channels (rows i) (columns j) -> batch (rows columns) (channels j i)"
within a patch this runs down the columns, as if the square were mirrored in its diagonal; run along the rows
"""

UNPATCHIFY_MISTAKES = """
laid as it lies in memory => every pixel at its location
- return images.reshape(-1, channels, height, width)
+ return patches.reshape(-1, channels, height, width)
this lays the numbers out in the order in which they lie in memory, so that a patch fills parts of rows: `reshape`
moves no axis; bring the axis of the rows of patches beside that of the rows within

rows not interleaved => every pixel at its location
- images = squares.permute(0, 3, 1, 4, 2, 5)
+ images = squares.permute(0, 3, 1, 2, 4, 5)
this brings the channels to the front and leaves the axes that count patches side by side; in the height the rows of
patches are followed by the rows *within* a patch, and the width likewise

interleaved the wrong way => every pixel at its location
+ images = squares.permute(0, 3, 4, 1, 5, 2)
this lays the rows within a patch before the rows of patches, so that the pixels of one patch are scattered; the greater
step comes first

column by column => patches of one pixel: laid row by row
- squares = patches.reshape(len(patches), rows, columns, channels, size, size)
+ squares = patches.reshape(len(patches), columns, rows, channels, size, size).transpose(1, 2)
this lays the patches down the columns; they run along the rows

as many rows as columns => patches of one pixel: laid row by row
- rows, columns = height // size, width // size
+ rows = columns = int(patches.shape[1] ** 0.5)
+ height = width = rows * size
this takes the square root of the number of patches for the number of rows; six patches have none, and four may stand
side by side: divide `height` and `width` by `size`

rows for columns => every pixel at its location
- squares = patches.reshape(len(patches), rows, columns, channels, size, size)
- images = squares.permute(0, 3, 1, 4, 2, 5)
+ rows, columns = columns, rows
+ images = patches.reshape(len(patches), rows, columns, channels, size, size).permute(0, 3, 1, 4, 2, 5)
this exchanges the numbers of rows and columns of patches, which shows wherever they differ: there are `height // size`
rows and `width // size` columns

rows for columns, and the picture on its side => every pixel at its location
- squares = patches.reshape(len(patches), rows, columns, channels, size, size)
- images = squares.permute(0, 3, 1, 4, 2, 5)
- return images.reshape(-1, channels, height, width)
+ squares = patches.reshape(len(patches), columns, rows, channels, size, size)
+ return squares.permute(0, 3, 1, 4, 2, 5).reshape(-1, channels, width, height)

the batch behind the patches => every pixel at its location
- squares = patches.reshape(len(patches), rows, columns, channels, size, size)
- images = squares.permute(0, 3, 1, 4, 2, 5)
+ squares = patches.reshape(rows, columns, len(patches), channels, size, size)
+ images = squares.permute(2, 3, 0, 4, 1, 5)
this splits the patches off in front of the batch, and each image gets patches of others: the batch is the first axis,
and `reshape` must leave it there

picture on its side => patches of one pixel: laid row by row
- return images.reshape(-1, channels, height, width)
+ return images.reshape(-1, channels, height, width).mT
height and width are exchanged: (batch, channels, height, width) is asked for

channels behind => patches of one pixel: laid row by row
+ return images.reshape(-1, channels, height, width).permute(0, 2, 3, 1)
the channels are the last axis, as plotting wants them; (batch, channels, height, width) is asked for

channels last within a patch => a single patch: its channels, each row by row
- squares = patches.reshape(len(patches), rows, columns, channels, size, size)
+ squares = patches.reshape(len(patches), rows, columns, size, size, channels).permute(0, 1, 2, 5, 3, 4)
this takes the numbers of a patch pixel by pixel; they come channel by channel, each a whole square

columns first within a patch => a single patch: its channels, each row by row
- images = squares.permute(0, 3, 1, 4, 2, 5)
+ images = squares.permute(0, 3, 1, 5, 2, 4)
within a patch this runs down the columns, which mirrors every patch in its diagonal; they come row by row

rows by the square root => patches of one pixel: laid row by row
- rows, columns = height // size, width // size
- squares = patches.reshape(len(patches), rows, columns, channels, size, size)
- images = squares.permute(0, 3, 1, 4, 2, 5)
- return images.reshape(-1, channels, height, width)
+ rows = int(patches.shape[1] ** 0.5)
+ columns = patches.shape[1] // rows
+ squares = patches.reshape(len(patches), rows, columns, channels, size, size)
+ return squares.permute(0, 3, 1, 4, 2, 5).reshape(-1, channels, rows * size, columns * size)
this takes the square root of the number of patches for the number of rows; a picture need not be square: divide
`height` and `width` by `size`
"""

EXERCISE = Exercise(
    title="Patchify and back",
    difficulty=2,
    minutes=25,
    tasks=(
        Task(
            function="patchify",
            parameters=("images", "size"),
            returns="the patches, each as one vector, shape (batch, patches, channels * size * size)",
            cases=draw_images,
            examples=(
                {"images": torch.tensor([[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]]]), "size": 2},
                {"images": torch.tensor([[[[1.0], [2.0], [3.0]], [[4.0], [5.0], [6.0]]]]), "size": 1},
                {"images": torch.arange(16.0).reshape(1, 1, 4, 4), "size": 2},  # as wide as high
            ),
            edges=(
                {"images": torch.tensor([[[[2.0]]], [[[3.0]]]]), "size": 1},  # one pixel, two images
                {"images": torch.arange(8.0).reshape(1, 2, 2, 2), "size": 2},  # one patch, two channels
                {"images": torch.arange(8.0).reshape(1, 1, 4, 2), "size": 2},  # one column of patches
            ),
            reference=patchify,
            properties=(
                Property("every patch is a square of the image, row by row", 2, same_squares),
                Property("within a patch: channel by channel, each row by row", 2, both(equals(), inputs_unchanged)),
            ),
            mistakes=PATCHIFY_MISTAKES,
        ),
        Task(
            function="unpatchify",
            parameters=("patches", "size", "channels", "height", "width"),
            returns="the images, shape (batch, channels, height, width)",
            cases=draw_patches,
            examples=(
                {"patches": torch.tensor([[[1.0, 2.0, 5.0, 6.0], [3.0, 4.0, 7.0, 8.0]]])}
                | {"size": 2, "channels": 1, "height": 2, "width": 4},
            ),
            edges=(
                {
                    "patches": torch.tensor([[[2.0]], [[3.0]]]),
                    "size": 1,
                    "channels": 1,
                    "height": 1,
                    "width": 1,
                },  # one pixel
                {
                    "patches": torch.arange(8.0).reshape(1, 1, 8),
                    "size": 2,
                    "channels": 2,
                    "height": 2,
                    "width": 2,
                },  # one patch
                {
                    "patches": torch.arange(8.0).reshape(1, 2, 4),
                    "size": 2,
                    "channels": 1,
                    "height": 4,
                    "width": 2,
                },  # one column
            ),
            reference=unpatchify,
            properties=(
                Property("patches of one pixel: laid row by row", 1, on(one_pixel_each, equals())),
                Property("a single patch: its channels, each row by row", 1, on(one_patch, equals())),
                Property("every pixel at its location", 2, both(equals(), inputs_unchanged)),
            ),
            mistakes=UNPATCHIFY_MISTAKES,
        ),
    ),
    hints=(
        "A row of the image runs through several patches. Which two numbers tell where it stands: which row of "
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
