"""Exercise 15.2, one layer of the decoder: three sublayers that are handed over, each with its norm, in pre-norm."""

from collections.abc import Callable

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.chapter_08_orders import FEED_FORWARDS, NORMS, ROOM
from course_lib.grading.declarations.chapter_08_orders import SILENT as SILENT_FEED_FORWARD
from course_lib.grading.declarations.chapter_15_orders import (
    BY_SUMS,
    CROSS_ATTENTION,
    DOUBLED,
    FIRST_OF_MEMORY,
    MEAN_SO_FAR,
    PARAMETERS,
    SELF_ATTENTION,
    SHIFTED_DOWN,
    SILENT_CROSS,
    SILENT_SELF,
    SUM_SO_FAR,
    added_in_place,
    by,
    cross_first,
    cross_sum_from_inputs,
    decoder_layer,
    feed_before_cross,
    no_cross_residual,
    no_feed_residual,
    no_self_residual,
    norm_at_the_end,
    norms_on_the_road,
    post_norm,
    pre_norm,
    side_by_side,
    so_far,
    with_norms,
)
from course_lib.grading.declarations.drawing import normal, sizes
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import answer_like, both, difference, equals, inputs_unchanged, of_output, on
from course_lib.grading.wording import describe_case


def draw_layer(generator: torch.Generator) -> Case:
    """Draw words and a memory, sublayers of each kind, and three norms that differ."""
    batch, time, locations, d_model = (
        least + size for least, size in zip((0, 1, 1, 2), sizes(generator, 3, 4, 4, 3), strict=True)
    )
    norms = [NORMS[each] for each in torch.randperm(len(NORMS), generator=generator).tolist()]
    self_attention, cross_attention, feed_forward = (
        kinds[int(torch.randint(len(kinds), (), generator=generator))]
        for kinds in ((SELF_ATTENTION, MEAN_SO_FAR), (CROSS_ATTENTION, BY_SUMS), FEED_FORWARDS)
    )
    drawn = (2 * normal(generator, batch, time, d_model), normal(generator, batch, locations, d_model))
    return dict(zip(PARAMETERS, (*drawn, self_attention, cross_attention, feed_forward, *norms), strict=True))


def sees_no_later_word(call: Call, case: Case) -> str | None:
    """Replace the vectors from each place on: what comes out before it stays."""
    before = answer_like(decoder_layer, _First(call), case)[0]
    for place in range(1, before.shape[1]):
        vectors = case["vectors"].clone()
        vectors[:, place:] = 3 - 2 * vectors[:, place:]
        after = call(case | {"vectors": vectors})[0]
        if after.shape != before.shape or difference(after[:, :place], before[:, :place]):
            return (
                f"{describe_case(case)}, then other words from place {place} on: the output before place {place} moved"
            )
    return None


class _First:
    """A call seen through its output."""

    def __init__(self, call: Call):
        self._call = call

    def __call__(self, arguments: Case) -> torch.Tensor:
        return self._call(arguments)[0]

    def expected(self, reference: Callable, arguments: Case) -> torch.Tensor:
        return self._call.expected(reference, arguments)[0]


def silent(case: Case) -> Case:
    """Let all three sublayers return zeros."""
    quiet = {"self_attention": SILENT_SELF, "cross_attention": SILENT_CROSS, "feed_forward": SILENT_FEED_FORWARD}
    return case | quiet


FUTURE = "no word sees a later one"
SILENCE = "sublayers that return zeros hand the vectors on as they were"
WEIGHTS = "the picture is asked second: normalised words ask, the memory is read as it is"
OUTPUT = "three sublayers in their order, each added to the road"

DECODER_LAYER = Exercise(
    id="15.2",
    title="One layer of the decoder",
    difficulty=3,
    minutes=30,
    tasks=(
        Task(
            function="decoder_layer",
            parameters=PARAMETERS,
            returns="what leaves the layer, shape (batch, time, d_model), and the weights of the cross-attention, "
            "shape (batch, time, n)",
            outputs=("output", "weights"),
            cases=draw_layer,
            examples=(
                {
                    "vectors": torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]),
                    "memory": torch.tensor([[[5.0, 0.0], [9.0, 9.0], [7.0, 7.0]]]),
                    "self_attention": SUM_SO_FAR,
                    "cross_attention": FIRST_OF_MEMORY,
                    "feed_forward": DOUBLED,
                    "self_norm": DOUBLED,
                    "cross_norm": DOUBLED,
                    "feed_forward_norm": SHIFTED_DOWN,
                },
            ),
            reference=decoder_layer,
            properties=(
                Property(FUTURE, 2, sees_no_later_word),
                Property(SILENCE, 1, on(silent, of_output(0, equals(decoder_layer, ROOM)))),
                Property(WEIGHTS, 2, of_output(1, equals(decoder_layer, ROOM))),
                Property(OUTPUT, 3, both(of_output(0, equals(decoder_layer, ROOM)), inputs_unchanged)),
            ),
            misconceptions=(
                Misconception(
                    "no mask",
                    "self-attention was allowed to read every place: a word would see those that are still to be "
                    "written; its mask is True at and below the diagonal, and False above it",
                    by(mask=lambda time: torch.ones(time, time, dtype=torch.bool)),
                    breaks=FUTURE,
                ),
                Misconception(
                    "mask turned round",
                    "this mask is True above the diagonal: each word reads itself and the words to come; row t is True "
                    "at the places 0 to t, as `tril` leaves it",
                    by(mask=lambda time: so_far(time).mT),
                    breaks=FUTURE,
                ),
                Misconception(
                    "true for hidden",
                    "this mask says what is *hidden*; True means that a place may be read",
                    by(mask=lambda time: ~so_far(time)),
                    breaks=FUTURE,
                ),
                Misconception(
                    "itself hidden",
                    "this mask hides the word itself too, and leaves the first word nothing to read: the diagonal is "
                    "True",
                    by(mask=lambda time: so_far(time).tril(-1)),
                    breaks=OUTPUT,
                ),
                Misconception(
                    "post-norm",
                    "this is post-norm, `norm(x + sublayer(x))`; in pre-norm the sublayer reads a normalised copy, and "
                    "the sum is left as it is",
                    by(post_norm),
                    breaks=SILENCE,
                ),
                Misconception(
                    "the norms on the road",
                    "the normalised vectors were carried on, `x = norm(x)` and then `x + sublayer(x)`: only the "
                    "sublayer reads the copy, and the sum begins with the vectors as they were",
                    by(norms_on_the_road),
                    breaks=SILENCE,
                ),
                Misconception(
                    "a norm at the end",
                    "what leaves the layer was normalised once more; a stack has one such norm, after its last layer",
                    by(norm_at_the_end),
                    breaks=SILENCE,
                ),
                Misconception(
                    "the picture first",
                    "cross-attention comes before self-attention here: first each word gathers what was said, and then "
                    "it asks the picture",
                    by(cross_first),
                    breaks=WEIGHTS,
                ),
                Misconception(
                    "the feed-forward layer second",
                    "the feed-forward layer comes before cross-attention here: it works on what both kinds of "
                    "attention have gathered, and so comes last",
                    by(feed_before_cross),
                    breaks=OUTPUT,
                ),
                Misconception(
                    "side by side",
                    "all three sublayers read the layer's input; each is to read what the one before it left",
                    by(side_by_side),
                    breaks=WEIGHTS,
                ),
                Misconception(
                    "the memory normalised",
                    "the memory was normalised too: it is read as it is; the norm belongs to the road",
                    by(
                        lambda x, m, a, c, f, n, o, p, mask: pre_norm(
                            x, m, a, lambda words, memory: c(words, o(memory)), f, n, o, p, mask
                        )
                    ),
                    breaks=WEIGHTS,
                ),
                Misconception(
                    "words ask without a norm",
                    "`cross_norm` was not used: what asks the picture is the normalised copy of the road",
                    with_norms(lambda n, o, p: (n, torch.clone, p)),
                    breaks=WEIGHTS,
                ),
                Misconception(
                    "no norm for self-attention",
                    "`self_norm` was not used: self-attention reads a normalised copy too",
                    with_norms(lambda n, o, p: (torch.clone, o, p)),
                    breaks=OUTPUT,
                ),
                Misconception(
                    "no norm for the feed-forward layer",
                    "`feed_forward_norm` was not used: the feed-forward layer reads a normalised copy too",
                    with_norms(lambda n, o, p: (n, o, torch.clone)),
                    breaks=OUTPUT,
                ),
                Misconception(
                    "one norm for all",
                    "`self_norm` was used three times: each sublayer has a norm of its own, with its own gain and bias",
                    with_norms(lambda n, o, p: (n, n, n)),
                    breaks=WEIGHTS,
                ),
                Misconception(
                    "two norms exchanged",
                    "`cross_norm` and `feed_forward_norm` were exchanged",
                    with_norms(lambda n, o, p: (n, p, o)),
                    breaks=WEIGHTS,
                ),
                Misconception(
                    "first norms exchanged",
                    "`self_norm` and `cross_norm` were exchanged",
                    with_norms(lambda n, o, p: (o, n, p)),
                    breaks=WEIGHTS,
                ),
                Misconception(
                    "no residual around cross-attention",
                    "what the picture answered replaces the words; it is to be added to them",
                    by(no_cross_residual),
                    breaks=OUTPUT,
                ),
                Misconception(
                    "no residual around self-attention",
                    "what self-attention returns replaces the vectors; it is to be added to them",
                    by(no_self_residual),
                    breaks=WEIGHTS,
                ),
                Misconception(
                    "no residual around the feed-forward layer",
                    "what the feed-forward layer returns replaces the vectors; it is to be added to them",
                    by(no_feed_residual),
                    breaks=OUTPUT,
                ),
                Misconception(
                    "second sum from the inputs",
                    "the second sum begins again with the layer's input, and what self-attention added is lost on the "
                    "road; it begins with the result of the first",
                    by(cross_sum_from_inputs),
                    breaks=OUTPUT,
                ),
                Misconception(
                    "weights first",
                    "this returns (weights, output); the output comes first",
                    lambda **named: decoder_layer(**named)[::-1],
                    breaks=OUTPUT,
                ),
                Misconception(
                    "added in place",
                    "`vectors += ...` writes the sum over the caller's own vectors; `vectors = vectors + ...` makes a "
                    "new tensor",
                    added_in_place,
                    breaks=OUTPUT,
                ),
            ),
        ),
    ),
    hints=(
        "Draw the road of the words as one line with three additions on it. What does each of the three sublayers "
        "read, and which of them must not look ahead?",
        "A mask (time, time), True at and below the diagonal. Then three times: normalise a copy of the road with "
        "the sublayer's own norm, let the sublayer read it, add what it returns. Cross-attention reads the memory "
        "besides, and gives a pair: keep its weights.",
        "`torch.ones(time, time, dtype=torch.bool).tril()` is the mask; the second sublayer is "
        "`found, weights = cross_attention(..., memory)` with the normalised road in the gap, after which `found` is "
        "added to the road.",
    ),
)
