"""00.1: six puzzles in the notation of einops."""

import torch

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import both, equals, inputs_unchanged
from course_lib.grading.exercise import Case, Exercise, Property, Task


def puzzle(signature: str, **declared) -> Task:
    """Declare one puzzle: its signature is "function: parameter parameter", and one property says it all."""
    function, *parameters = signature.replace(":", "").split()
    properties = (Property("every number in its place", 2, both(equals(), inputs_unchanged)),)
    return Task(function=function, parameters=tuple(parameters), properties=properties, **declared)


def draw_images(generator: torch.Generator) -> Case:
    """Draw pictures whose sizes differ or agree by chance."""
    return {"images": normal(generator, *sizes(generator, 4, 4, 5, 5, least=2))}


def draw_even_images(generator: torch.Generator) -> Case:
    """Draw pictures of even height and width."""
    batch, channel, height, width = sizes(generator, 3, 3, 3, 3, least=2)
    return {"images": normal(generator, batch, channel, 2 * height, 2 * width)}


def draw_pair(generator: torch.Generator) -> Case:
    """Draw two sequences of one shape."""
    shape = sizes(generator, 3, 4, 4, least=2)
    return {"left": normal(generator, *shape), "right": normal(generator, *shape)}


def draw_query(generator: torch.Generator) -> Case:
    """Draw queries and a number of locations."""
    batch, d, locations = sizes(generator, 4, 4, 5, least=2)
    return {"query": normal(generator, batch, d), "locations": locations}


def draw_query_and_key(generator: torch.Generator) -> Case:
    """Draw queries and keys of one width."""
    batch, query, key, d = sizes(generator, 3, 4, 4, 5, least=2)
    return {"query": normal(generator, batch, query, d), "key": normal(generator, batch, key, d)}


EXERCISE = Exercise(
    title="Six einops puzzles",
    difficulty=1,
    minutes=25,
    tasks=(
        puzzle(
            "channels_last: images",
            returns="the same pictures, shape (batch, height, width, channel)",
            cases=draw_images,
            examples=({"images": torch.arange(4.0).reshape(1, 2, 1, 2)},),
            edges=(
                {"images": torch.tensor([[[[1.0]]], [[[2.0]]]])},  # sizes of one
                {"images": torch.tensor([[[[1.0], [2.0]], [[3.0], [4.0]]]])},  # one picture, one column
                {"images": torch.arange(10.0).reshape(1, 5, 1, 2)},  # more channels than red, green and blue
            ),
            reference=lambda images: images.permute(0, 2, 3, 1),
            mistakes="""
            reshaped => every number in its place
            - return rearrange(images, "batch channel height width -> batch height width channel")
            + return images.reshape(images.shape[0], *images.shape[2:], images.shape[1])
            this is what `reshape` gives: it keeps the order in memory and only cuts it elsewhere

            turned over => every number in its place
            + return rearrange(images, "batch channel height width -> batch width height channel")
            this has height and width exchanged as well: the pictures lie on their side

            every axis of length 1 dropped => every number in its place
            + return rearrange(images, "batch channel height width -> batch height width channel").squeeze()
            `squeeze()` without an axis removes every axis of length 1, also the batch or the channel; all four axes
            stay

            last axis dropped where it has length 1 => every number in its place
            - return rearrange(images, "batch channel height width -> batch height width channel")
            + return rearrange(images, "batch channel height width -> batch height width channel").squeeze(-1)
            this drops the channel axis of pictures with one channel; all four axes stay
            """,
        ),
        puzzle(
            "side_by_side: images",
            returns="one wide picture, shape (channel, height, batch * width)",
            cases=draw_images,
            examples=({"images": torch.arange(8.0).reshape(2, 1, 2, 2)},),  # of one channel: 0 1 / 2 3 and 4 5 / 6 7
            edges=(
                {"images": torch.tensor([[[[1.0]]], [[[2.0]]]])},  # pixels alone
                {"images": torch.tensor([[[[1.0], [2.0]]]])},  # one picture, one column
            ),
            reference=lambda images: torch.cat(list(images), dim=-1),
            mistakes="""
            columns dealt out => every number in its place
            - return rearrange(images, "batch channel height width -> channel height (batch width)")
            + return rearrange(images, "batch channel height width -> channel height (width batch)")
            this deals one column of each picture in turn, `(width batch)`; `(batch width)` keeps each whole

            reshaped => every number in its place
            + return images.reshape(*images.shape[1:3], -1)
            this is what `reshape` gives: it reads picture after picture; the rows of one lie side by side

            stacked => every number in its place
            + return rearrange(images, "batch channel height width -> channel (batch height) width")
            this puts the pictures one below the other: the batch went into the height

            last picture first => every number in its place
            + return torch.cat(list(images.flip(0)), dim=-1)
            this puts the last picture on the left; the first picture belongs there

            height before the batch => every number in its place
            - return rearrange(images, "batch channel height width -> channel height (batch width)")
            + return images.transpose(0, 1).reshape(*images.shape[1:3], -1)
            this moves the batch behind the channel, but in front of the height, and then reshapes, so that rows of
            several pictures are mixed; the batch belongs beside the width, `(batch width)`

            every axis of length 1 dropped (1) => every number in its place
            + return torch.cat(list(images), dim=-1).squeeze()
            `squeeze()` without an axis removes every axis of length 1, also the batch, the channel or the height; the
            answer always has three axes

            every axis of length 1 dropped (2) => every number in its place
            + return torch.cat(list(images.squeeze()), dim=-1)
            """,
        ),
        puzzle(
            "average_pool: images",
            returns="the mean of each 2 x 2 square, shape (batch, channel, height / 2, width / 2)",
            cases=draw_even_images,
            examples=({"images": torch.tensor([[[[1.0, 3.0, 0.0, 4.0], [5.0, 7.0, 0.0, 0.0]]]])},),
            edges=(
                {
                    "images": torch.tensor([[[[1.0, 2.0], [3.0, 6.0]]], [[[0.0, 4.0], [0.0, 0.0]]]])
                },  # one square, one channel
                {
                    "images": torch.tensor([[[[1.0, 3.0]], [[-2.0, 4.0]]]]).repeat_interleave(2, 2)
                },  # one picture of one square
            ),
            reference=lambda images: torch.nn.functional.avg_pool2d(images, 2),
            mistakes="""
            largest => every number in its place
            - return reduce(images, squares, "mean", two=2, also_two=2)
            + return reduce(images, squares, "max", two=2, also_two=2)
            this is the largest of each square (max pooling), not the mean

            far apart => every number in its place
            - squares = "batch channel (height two) (width also_two) -> batch channel height width"
            + squares = "batch channel (two height) (also_two width) -> batch channel height width"
            this averages pixels that lie half a picture apart: `(two height)` where `(height two)` is meant

            subsampled => every number in its place
            - return reduce(images, squares, "mean", two=2, also_two=2)
            + return images[:, :, ::2, ::2]
            this keeps the upper left pixel of each square and forgets the other three

            summed => every number in its place
            + return reduce(images, squares, "sum", two=2, also_two=2)
            this is the sum of each square: four times the mean

            overlapping squares => every number in its place
            + return torch.nn.functional.avg_pool2d(images, 2, stride=1)
            here a new square begins at every pixel, so the squares overlap; they have to stand side by side

            images overwritten => every number in its place
            + images /= 4
            + return reduce(images, squares, "sum", two=2, also_two=2)
            the means are right, but the caller's pictures were changed in place, as by `images /= 4`; make a new tensor

            every second column => every number in its place
            - squares = "batch channel (height two) (width also_two) -> batch channel height width"
            - return reduce(images, squares, "mean", two=2, also_two=2)
            + return (images[:, :, 0::2, 0::2] + images[:, :, 1::2, 0::2]) / 2
            this averages two rows and then keeps every second column; the mean is that of all four pixels of a square

            every second row => every number in its place
            + return (images[:, :, 0::2, 0::2] + images[:, :, 0::2, 1::2]) / 2
            this averages two columns and then keeps every second row; the mean is that of all four pixels of a square
            """,
        ),
        puzzle(
            "interleave: left right",
            returns="left 0, right 0, left 1, right 1, ..., shape (batch, 2 * time, d)",
            cases=draw_pair,
            examples=({"left": torch.tensor([[[1.0], [2.0]]]), "right": torch.tensor([[[10.0], [20.0]]])},),
            edges=(
                {
                    "left": torch.tensor([[[1.0]], [[2.0]]]),
                    "right": torch.tensor([[[3.0]], [[4.0]]]),
                },  # one step, one feature
                {
                    "left": torch.tensor([[[1.0], [2.0]]]),
                    "right": torch.tensor([[[3.0], [4.0]]]),
                },  # one pair, one feature
            ),
            reference=lambda left, right: torch.stack([left, right], dim=2).flatten(1, 2),
            mistakes="""
            one after the other => every number in its place
            - return rearrange([left, right], "side batch time d -> batch (time side) d")
            + return rearrange([left, right], "side batch time d -> batch (side time) d")
            this is all of `left` and then all of `right`: `(side time)` where `(time side)` is meant

            right first => every number in its place
            + return rearrange([right, left], "side batch time d -> batch (time side) d")
            this begins with `right`

            numbers in turn => every number in its place
            + return torch.stack([left, right], dim=-1).reshape(len(left), -1, left.shape[-1])
            here single numbers of left and right come in turn; whole vectors are to come in turn

            time before the batch => every number in its place
            + return torch.stack([left, right]).transpose(0, 2).reshape(len(left), -1, left.shape[-1])
            this puts time before the batch and then reshapes, so that a sequence gets vectors of other sequences;
            the batch has to stay the first axis

            last pair missing => every number in its place
            - return rearrange([left, right], "side batch time d -> batch (time side) d")
            + vectors = rearrange([left, right], "side batch time d -> batch (time side) d")
            + vectors[:, -2:] = 0
            + return vectors
            the last two vectors stay zero: the loop ends one step early; `range(time)` ends at time - 1 by itself

            right from back to front => every number in its place
            + return rearrange([left, right.flip(1)], "side batch time d -> batch (time side) d")
            this takes the vectors of `right` from the last to the first, as `pop()` takes them from a list

            left tiled => every number in its place
            + vectors = left.repeat(1, 2, 1)
            + vectors[:, 1::2] = right
            + return vectors
            `repeat` puts all of `left` behind itself, so that every second of its vectors is overwritten;
            `repeat_interleave` repeats each vector on the spot
            """,
        ),
        puzzle(
            "repeat_query: query locations",
            returns="the query once for each location, shape (batch, locations, d)",
            cases=draw_query,
            examples=({"query": torch.tensor([[1.0, 2.0], [3.0, 4.0]]), "locations": 3},),
            edges=(
                {"query": torch.tensor([[1.0], [2.0]]), "locations": 1},  # one location, one feature
                {"query": torch.tensor([[3.0]]), "locations": 2},  # one query
            ),
            reference=lambda query, locations: query[:, None].expand(-1, locations, -1),
            mistakes="""
            queries mixed => every number in its place
            - return repeat(query, "batch d -> batch location d", location=locations)
            + return query.repeat(locations, 1).reshape(len(query), locations, -1)
            this repeats the whole batch and cuts it anew, so that one picture is given another's query

            numbers repeated => every number in its place
            + return query.repeat_interleave(locations, dim=1).reshape(len(query), locations, -1)
            this repeats each number `locations` times in place; the whole vector is to be repeated

            locations first => every number in its place
            + return repeat(query, "batch d -> location batch d", location=locations)
            this has the locations before the batch

            three times => every number in its place
            + return repeat(query, "batch d -> batch location d", location=3)
            this repeats the query three times, as in the example; `locations` says how many times
            """,
        ),
        puzzle(
            "dot_products: query key",
            returns="the dot product of each query with each key, shape (batch, query, key)",
            cases=draw_query_and_key,
            examples=(
                {"query": torch.tensor([[[1.0, 2.0], [0.0, 1.0]]]), "key": torch.tensor([[[3.0, 4.0], [1.0, 0.0]]])},
            ),
            edges=(
                {
                    "query": torch.tensor([[[1.0]], [[2.0]]]),
                    "key": torch.tensor([[[3.0]], [[4.0]]]),
                },  # one of each, in a batch
                {
                    "query": torch.tensor([[[1.0], [2.0]]]),
                    "key": torch.tensor([[[3.0]]]),
                },  # two queries, one key, one wide
            ),
            reference=lambda query, key: query @ key.transpose(1, 2),
            mistakes="""
            keys by queries => every number in its place
            - return einsum(query, key, "batch query d, batch key d -> batch query key")
            + return einsum(query, key, "batch query d, batch key d -> batch key query")
            this has the keys along the rows: the last two axes are exchanged

            batches mixed => every number in its place
            + return einsum(query, key, "batch query d, batch2 key d -> batch query key")
            this sums over the batch too: `batch` must stand on the right of the arrow and on both inputs

            scaled => every number in its place
            + return einsum(query, key, "batch query d, batch key d -> batch query key") / query.shape[-1] ** 0.5
            this divides by the square root of d, which the transformer does and this puzzle does not

            reshaped => every number in its place
            + return query @ key.reshape(len(key), key.shape[2], key.shape[1])
            `reshape` gives the keys the right shape and moves no number, so that features of several keys are mixed;
            exchange the last two axes of the keys

            cosine => every number in its place
            + return torch.nn.functional.normalize(query, dim=-1) @ torch.nn.functional.normalize(key, dim=-1).mT
            this divides the vectors by their norms, which gives a cosine; the dot product has no such division
            """,
        ),
    ),
    hints=(
        "Write the axes of the input on the left of the arrow and those of the output on the right, in full words.",
        "Round brackets join axes or split one; inside them the axis on the right runs fastest. Draw where number 1 of "
        "the example goes, and see which axis has to run fastest for that.",
        "`rearrange` moves numbers, `reduce` makes fewer of them, `repeat` more, `einsum` multiplies and sums. The "
        "least usual line is that of interleave: `rearrange([left, right], 'side batch time d -> ...')` takes the list "
        "for one more axis, in front; on the right, `side` goes into brackets with `time`. In which order?",
    ),
)
