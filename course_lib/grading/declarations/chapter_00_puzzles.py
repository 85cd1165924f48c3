"""Exercise 00.1, six puzzles in the notation of einops."""

from collections.abc import Callable

import torch
from einops import rearrange, reduce, repeat

from course_lib.grading.declarations.drawing import normal, sizes
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import both, equals, inputs_unchanged


def puzzle(
    reference: Callable[..., torch.Tensor],
    parameters: str,
    returns: str,
    cases: Callable[[torch.Generator], Case],
    example: Case,
    misconceptions: dict[str, tuple[str, Callable[..., torch.Tensor]]],
) -> Task:
    """Declare one puzzle: its reference carries the name that the learner writes, and one property says it all."""
    place = "every number in its place"
    return Task(
        function=reference.__name__,
        parameters=tuple(parameters.split()),
        returns=returns,
        cases=cases,
        examples=(example,),
        reference=reference,
        properties=(Property(place, 2, both(equals(reference), inputs_unchanged)),),
        misconceptions=tuple(
            Misconception(name, sentence, implementation, breaks=place)
            for name, (sentence, implementation) in misconceptions.items()
        ),
    )


def channels_last(images):
    """Move the channels to the end."""
    return images.permute(0, 2, 3, 1)


def side_by_side(images):
    """Lay the pictures of a batch in one row."""
    return torch.cat(list(images), dim=-1)


def average_pool(images):
    """Average each square of 2 x 2 pixels."""
    return torch.nn.functional.avg_pool2d(images, 2)


def interleave(left, right):
    """Take from `left` and `right` in turn."""
    return torch.stack([left, right], dim=2).flatten(1, 2)


def repeat_query(query, locations):
    """Give every location the same query."""
    return query[:, None].expand(-1, locations, -1)


def dot_products(query, key):
    """Compare each query with each key."""
    return query @ key.transpose(1, 2)


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


PICTURES = torch.arange(8.0).reshape(2, 1, 2, 2)  # two pictures of one channel: 0 1 / 2 3 and 4 5 / 6 7

PUZZLES = Exercise(
    id="00.1",
    title="Six einops puzzles",
    difficulty=1,
    minutes=25,
    tasks=(
        puzzle(
            channels_last,
            "images",
            "the same pictures, shape (batch, height, width, channel)",
            draw_images,
            {"images": torch.arange(4.0).reshape(1, 2, 1, 2)},
            {
                "reshaped": (
                    "this is what `reshape` gives: it keeps the order in memory and only cuts it elsewhere",
                    lambda images: images.reshape(images.shape[0], *images.shape[2:], images.shape[1]),
                ),
                "turned over": (
                    "this has height and width exchanged as well: the pictures lie on their side",
                    lambda images: images.transpose(1, 3),
                ),
            },
        ),
        puzzle(
            side_by_side,
            "images",
            "one wide picture, shape (channel, height, batch * width)",
            draw_images,
            {"images": PICTURES},
            {
                "columns dealt out": (
                    "this deals one column of each picture in turn, `(width batch)`; `(batch width)` keeps each whole",
                    lambda images: rearrange(images, "batch channel height width -> channel height (width batch)"),
                ),
                "reshaped": (
                    "this is what `reshape` gives: it reads picture after picture; the rows of one lie side by side",
                    lambda images: images.reshape(*images.shape[1:3], -1),
                ),
                "stacked": (
                    "this puts the pictures one below the other: the batch went into the height",
                    lambda images: rearrange(images, "batch channel height width -> channel (batch height) width"),
                ),
            },
        ),
        puzzle(
            average_pool,
            "images",
            "the mean of each 2 x 2 square, shape (batch, channel, height / 2, width / 2)",
            draw_even_images,
            {"images": torch.tensor([[[[1.0, 3.0, 0.0, 4.0], [5.0, 7.0, 0.0, 0.0]]]])},
            {
                "largest": (
                    "this is the largest of each square (max pooling), not the mean",
                    lambda images: torch.nn.functional.max_pool2d(images, 2),
                ),
                "far apart": (
                    "this averages pixels that lie half a picture apart: `(two height)` where `(height two)` is meant",
                    lambda images: reduce(images, "b c (i height) (j width) -> b c height width", "mean", i=2, j=2),
                ),
                "subsampled": (
                    "this keeps the upper left pixel of each square and forgets the other three",
                    lambda images: images[:, :, ::2, ::2],
                ),
                "summed": (
                    "this is the sum of each square: four times the mean",
                    lambda images: reduce(images, "b c (height i) (width j) -> b c height width", "sum", i=2, j=2),
                ),
            },
        ),
        puzzle(
            interleave,
            "left right",
            "left 0, right 0, left 1, right 1, ..., shape (batch, 2 * time, d)",
            draw_pair,
            {"left": torch.tensor([[[1.0], [2.0]]]), "right": torch.tensor([[[10.0], [20.0]]])},
            {
                "one after the other": (
                    "this is all of `left` and then all of `right`: `(side time)` where `(time side)` is meant",
                    lambda left, right: torch.cat([left, right], dim=1),
                ),
                "right first": (
                    "this begins with `right`",
                    lambda left, right: interleave(right, left),
                ),
            },
        ),
        puzzle(
            repeat_query,
            "query locations",
            "the query once for each location, shape (batch, locations, d)",
            draw_query,
            {"query": torch.tensor([[1.0, 2.0], [3.0, 4.0]]), "locations": 3},
            {
                "queries mixed": (
                    "this repeats the whole batch and cuts it anew, so that one picture is given another's query",
                    lambda query, locations: query.repeat(locations, 1).reshape(len(query), locations, -1),
                ),
                "numbers repeated": (
                    "this repeats each number `locations` times in place; the whole vector is to be repeated",
                    lambda query, locations: query.repeat_interleave(locations, 1).reshape(len(query), locations, -1),
                ),
                "locations first": (
                    "this has the locations before the batch",
                    lambda query, locations: repeat(query, "batch d -> location batch d", location=locations),
                ),
            },
        ),
        puzzle(
            dot_products,
            "query key",
            "the dot product of each query with each key, shape (batch, query, key)",
            draw_query_and_key,
            {"query": torch.tensor([[[1.0, 2.0], [0.0, 1.0]]]), "key": torch.tensor([[[3.0, 4.0], [1.0, 0.0]]])},
            {
                "keys by queries": (
                    "this has the keys along the rows: the last two axes are exchanged",
                    lambda query, key: key @ query.transpose(1, 2),
                ),
                "batches mixed": (
                    "this sums over the batch too: `batch` must stand on the right of the arrow and on both inputs",
                    lambda query, key: torch.einsum("bqd,ckd->bqk", query, key),
                ),
                "scaled": (
                    "this divides by the square root of d, which the transformer does and this puzzle does not",
                    lambda query, key: dot_products(query, key) / query.shape[-1] ** 0.5,
                ),
            },
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
