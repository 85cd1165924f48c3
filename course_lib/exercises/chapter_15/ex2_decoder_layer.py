"""15.2: a decoder layer in pre-norm of three sublayers that are handed over, each with its norm."""

import torch

from course_lib.exercises.chapter_08.ex3_both_orders import FEED_FORWARDS, NORMS, TOLERANCE
from course_lib.exercises.chapter_08.ex3_both_orders import SILENT as SILENT_FEED_FORWARD
from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import both, differs, equals, inputs_unchanged, of_output, on
from course_lib.grading.exercise import Case, Exercise, Given, Property, Question, Task
from course_lib.grading.problem import Problem

SELF_ATTENTIONS = (
    Given(
        "self-attention",
        "lambda vectors, mask: (vectors @ vectors.mT).masked_fill(~mask, float('-inf')).softmax(-1) @ vectors",
    ),
    Given("the mean of what may be read", "lambda vectors, mask: mask.float() @ vectors / mask.sum(-1, keepdim=True)"),
)
CROSS_ATTENTIONS = (
    Given(
        "attention to the memory",
        "lambda vectors, memory: (lambda weights: (weights @ memory, weights))((vectors @ memory.mT).softmax(-1))",
    ),
    Given(
        "attention to the running sums of the memory",
        "lambda vectors, memory: (lambda weights: (weights @ memory.flip(-1), weights))"
        "((vectors @ memory.cumsum(-1).mT / 2).softmax(-1))",
    ),
)
DOUBLED = Given("twice what it reads", "lambda vectors: 2 * vectors")
PARAMETERS = (
    *("vectors", "memory", "self_attention", "cross_attention", "feed_forward"),
    *("self_norm", "cross_norm", "feed_forward_norm"),
)


def decoder_layer(
    vectors, memory, self_attention, cross_attention, feed_forward, self_norm, cross_norm, feed_forward_norm
):
    """Each sublayer reads a normalised copy, the memory is read as it is."""
    mask = torch.ones(vectors.shape[1], vectors.shape[1], dtype=torch.bool).tril()
    spoken = vectors + self_attention(self_norm(vectors), mask)
    found, weights = cross_attention(cross_norm(spoken), memory)
    return spoken + found + feed_forward(feed_forward_norm(spoken + found)), weights


def draw_layer(generator: torch.Generator) -> Case:
    """Draw words and a memory, sublayers of each kind, and three norms that differ."""
    batch, time, locations, d_model = (
        least + size for least, size in zip((0, 1, 1, 2), sizes(generator, 3, 4, 4, 3), strict=True)
    )
    norms = [NORMS[each] for each in torch.randperm(len(NORMS), generator=generator).tolist()]
    sublayers = [
        kinds[int(torch.randint(len(kinds), (), generator=generator))]
        for kinds in (SELF_ATTENTIONS, CROSS_ATTENTIONS, FEED_FORWARDS)
    ]
    drawn = (2 * normal(generator, batch, time, d_model), normal(generator, batch, locations, d_model))
    return dict(zip(PARAMETERS, (*drawn, *sublayers, *norms), strict=True))


def sees_no_later_word(case: Case):
    """Replace the vectors from each position on: what comes out before it stays."""
    changed = []
    for position in range(1, case["vectors"].shape[1]):
        vectors = case["vectors"].clone()
        vectors[:, position:] = 3 - 2 * vectors[:, position:]
        changed.append(case | {"vectors": vectors})
    before, *replies = yield [Question(each, output=0) for each in (case, *changed)]
    for position, reply in enumerate(replies, start=1):
        kept, got = before.value[0][:, :position], reply.value[0][:, :position]
        if differs(got, kept).any():
            after, where = f"other words from position {position} on", f"the output before position {position}"
            return Problem("moved", case, after=after, where=where, got=(got - kept).abs().max().item(), expected=0)
    return None


def silent(case: Case) -> Case:
    """Let all three sublayers return zeros."""
    silent_cross = Given(
        "zeros, with even weights",
        "lambda vectors, memory: (torch.zeros_like(vectors), "
        "torch.ones_like(vectors[..., :1]).expand(-1, -1, memory.shape[1]) / memory.shape[1])",
    )
    return case | {
        "self_attention": Given("zeros", "lambda vectors, mask: torch.zeros_like(vectors)"),
        "cross_attention": silent_cross,
        "feed_forward": SILENT_FEED_FORWARD,
    }


MISTAKES = """
no mask => no word sees a later one
- mask = torch.ones(time, time, dtype=torch.bool).tril()
+ mask = torch.ones(time, time, dtype=torch.bool)
self-attention was allowed to read every position: a word would see those that are still to be written; its mask is True
at and below the diagonal, and False above it

mask turned round => no word sees a later one
+ mask = torch.ones(time, time, dtype=torch.bool).triu()
this mask is True above the diagonal: each word reads itself and the words to come; row t is True at the positions 0 to
t, as `tril` leaves it

true for hidden => no word sees a later one
+ mask = torch.ones(time, time, dtype=torch.bool).triu(diagonal=1)
this mask says what is *hidden*; True means that a position may be read

itself hidden => three sublayers in their order, each added to the residual stream
+ mask = torch.ones(time, time, dtype=torch.bool).tril(diagonal=-1)
this mask hides the word itself too, and leaves the first word nothing to read: the diagonal is True

post-norm => sublayers that return zeros hand the vectors on as they were
- stream = vectors + self_attention(self_norm(vectors), mask)
- found, weights = cross_attention(cross_norm(stream), memory)
- stream = stream + found
- return stream + feed_forward(feed_forward_norm(stream)), weights
+ stream = self_norm(vectors + self_attention(vectors, mask))
+ found, weights = cross_attention(stream, memory)
+ stream = cross_norm(stream + found)
+ return feed_forward_norm(stream + feed_forward(stream)), weights
this is post-norm, `norm(x + sublayer(x))`; in pre-norm the sublayer reads a normalised copy, and the sum is left as it
is

the norms on the residual stream => sublayers that return zeros hand the vectors on as they were
+ stream = self_norm(vectors)
+ stream = cross_norm(stream + self_attention(stream, mask))
+ found, weights = cross_attention(stream, memory)
+ stream = feed_forward_norm(stream + found)
+ return stream + feed_forward(stream), weights
the normalised vectors were carried on, `x = norm(x)` and then `x + sublayer(x)`: only the sublayer reads the copy, and
the sum begins with the vectors as they were

a norm at the end => sublayers that return zeros hand the vectors on as they were
- return stream + feed_forward(feed_forward_norm(stream)), weights
+ return feed_forward_norm(stream + feed_forward(feed_forward_norm(stream))), weights
what leaves the layer was normalised once more; a stack has one such norm, after its last layer

norms behind the sublayers => sublayers that return zeros hand the vectors on as they were
- stream = vectors + self_attention(self_norm(vectors), mask)
- found, weights = cross_attention(cross_norm(stream), memory)
- stream = stream + found
- return stream + feed_forward(feed_forward_norm(stream)), weights
+ stream = vectors + self_norm(self_attention(vectors, mask))
+ found, weights = cross_attention(stream, memory)
+ stream = stream + cross_norm(found)
+ return stream + feed_forward_norm(feed_forward(stream)), weights
what the sublayers return is normalised here, `x + norm(sublayer(x))`; in pre-norm what they *read* is normalised

norm behind the feed-forward layer => three sublayers in their order, each added to the residual stream
- return stream + feed_forward(feed_forward_norm(stream)), weights
+ return stream + feed_forward_norm(feed_forward(stream)), weights
what the feed-forward layer returns is normalised here, `x + norm(sublayer(x))`; in pre-norm what it *reads* is
normalised

the picture first => cross-attention comes second: it reads normalised words and the memory as it is
- stream = vectors + self_attention(self_norm(vectors), mask)
- found, weights = cross_attention(cross_norm(stream), memory)
- stream = stream + found
+ found, weights = cross_attention(cross_norm(vectors), memory)
+ stream = vectors + found
+ stream = stream + self_attention(self_norm(stream), mask)
cross-attention comes before self-attention here: first each word reads the words before it, and then the picture

the feed-forward layer second => three sublayers in their order, each added to the residual stream
- found, weights = cross_attention(cross_norm(stream), memory)
- stream = stream + found
- return stream + feed_forward(feed_forward_norm(stream)), weights
+ stream = stream + feed_forward(feed_forward_norm(stream))
+ found, weights = cross_attention(cross_norm(stream), memory)
+ return stream + found, weights
the feed-forward layer comes before cross-attention here: it works on what both kinds of attention have gathered, and so
comes last

side by side => cross-attention comes second: it reads normalised words and the memory as it is
- stream = vectors + self_attention(self_norm(vectors), mask)
- found, weights = cross_attention(cross_norm(stream), memory)
- stream = stream + found
- return stream + feed_forward(feed_forward_norm(stream)), weights
+ found, weights = cross_attention(cross_norm(vectors), memory)
+ stream = vectors + self_attention(self_norm(vectors), mask) + found
+ return stream + feed_forward(feed_forward_norm(vectors)), weights
all three sublayers read the layer's input; each is to read what the one before it left

the memory normalised => cross-attention comes second: it reads normalised words and the memory as it is
- found, weights = cross_attention(cross_norm(stream), memory)
+ found, weights = cross_attention(cross_norm(stream), cross_norm(memory))
the memory was normalised too: it is read as it is; the norm belongs to the residual stream

queries without a norm => cross-attention comes second: it reads normalised words and the memory as it is
+ found, weights = cross_attention(stream, memory)
`cross_norm` was not used: the queries to the picture come from the normalised copy of the residual stream

no norm for self-attention => three sublayers in their order, each added to the residual stream
- stream = vectors + self_attention(self_norm(vectors), mask)
+ stream = vectors + self_attention(vectors, mask)
`self_norm` was not used: self-attention reads a normalised copy too

no norm for the feed-forward layer => three sublayers in their order, each added to the residual stream
- return stream + feed_forward(feed_forward_norm(stream)), weights
+ return stream + feed_forward(stream), weights
`feed_forward_norm` was not used: the feed-forward layer reads a normalised copy too

one norm for all => cross-attention comes second: it reads normalised words and the memory as it is
- time = vectors.shape[1]
+ time = vectors.shape[1]
+ cross_norm = feed_forward_norm = self_norm
`self_norm` was used three times: each sublayer has a norm of its own, with its own gain and bias

two norms exchanged => cross-attention comes second: it reads normalised words and the memory as it is
+ time = vectors.shape[1]
+ cross_norm, feed_forward_norm = feed_forward_norm, cross_norm
`cross_norm` and `feed_forward_norm` were exchanged

first norms exchanged => cross-attention comes second: it reads normalised words and the memory as it is
+ time = vectors.shape[1]
+ self_norm, cross_norm = cross_norm, self_norm
`self_norm` and `cross_norm` were exchanged

no residual around cross-attention => three sublayers in their order, each added to the residual stream
- found, weights = cross_attention(cross_norm(stream), memory)
- stream = stream + found
+ stream, weights = cross_attention(cross_norm(stream), memory)
what cross-attention returns replaces the vectors; it is to be added to them

no residual around self-attention => cross-attention comes second: it reads normalised words and the memory as it is
- stream = vectors + self_attention(self_norm(vectors), mask)
+ stream = self_attention(self_norm(vectors), mask)
what self-attention returns replaces the vectors; it is to be added to them

no residual around the feed-forward layer => three sublayers in their order, each added to the residual stream
- return stream + feed_forward(feed_forward_norm(stream)), weights
+ return feed_forward(feed_forward_norm(stream)), weights
what the feed-forward layer returns replaces the vectors; it is to be added to them

second sum from the inputs => three sublayers in their order, each added to the residual stream
- stream = stream + found
+ stream = vectors + found
the second sum begins again with the layer's input, and what self-attention added is lost; it begins with the result
of the first

weights first => three sublayers in their order, each added to the residual stream
- return stream + feed_forward(feed_forward_norm(stream)), weights
+ return weights, stream + feed_forward(feed_forward_norm(stream))
this returns (weights, output); the output comes first

added in place => three sublayers in their order, each added to the residual stream
- stream = vectors + self_attention(self_norm(vectors), mask)
+ vectors += self_attention(self_norm(vectors), mask)
+ stream = vectors
`vectors += ...` writes the sum over the caller's own vectors; `vectors = vectors + ...` makes a new tensor

one norm for both kinds of attention => cross-attention comes second: it reads normalised words and the memory as it is
- found, weights = cross_attention(cross_norm(stream), memory)
+ found, weights = cross_attention(self_norm(stream), memory)
`self_norm` was used before cross-attention too, and `cross_norm` not at all; each sublayer has a norm of its own
"""

EXERCISE = Exercise(
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
                    "self_attention": Given(
                        "the sum of what may be read", "lambda vectors, mask: mask.float() @ vectors"
                    ),
                    "cross_attention": Given(
                        "all weight on the first location",
                        "lambda vectors, memory: (memory[:, :1].expand(-1, vectors.shape[1], -1).clone(), "
                        "torch.nn.functional.pad(torch.ones_like(vectors[..., :1]), (0, memory.shape[1] - 1)))",
                    ),
                    "feed_forward": DOUBLED,
                    "self_norm": DOUBLED,
                    "cross_norm": DOUBLED,
                    "feed_forward_norm": Given("one subtracted", "lambda vectors: vectors - 1"),
                },
            ),
            edges=(
                {  # one word, one location, two captions
                    "vectors": torch.tensor([[[1.0, 0.0, 3.0]], [[0.0, 2.0, -1.0]]]),
                    "memory": torch.tensor([[[5.0, 0.0, 1.0]], [[-1.0, 2.0, 3.0]]]),
                    "self_attention": SELF_ATTENTIONS[1],
                    "cross_attention": CROSS_ATTENTIONS[0],
                    "feed_forward": FEED_FORWARDS[0],
                    "self_norm": NORMS[1],
                    "cross_norm": NORMS[2],
                    "feed_forward_norm": NORMS[0],
                },
                {  # as many words as locations and features
                    "vectors": torch.tensor([[[1.0, -2.0], [0.0, 3.0]]]),
                    "memory": torch.tensor([[[5.0, 0.0], [-1.0, 2.0]]]),
                    "self_attention": SELF_ATTENTIONS[0],
                    "cross_attention": CROSS_ATTENTIONS[1],
                    "feed_forward": FEED_FORWARDS[1],
                    "self_norm": NORMS[2],
                    "cross_norm": NORMS[0],
                    "feed_forward_norm": NORMS[1],
                },
            ),
            reference=decoder_layer,
            properties=(
                Property("no word sees a later one", 2, sees_no_later_word),
                Property(
                    "sublayers that return zeros hand the vectors on as they were",
                    1,
                    on(silent, of_output(0, equals(TOLERANCE))),
                ),
                Property(
                    "cross-attention comes second: it reads normalised words and the memory as it is",
                    2,
                    of_output(1, equals(TOLERANCE)),
                ),
                Property(
                    "three sublayers in their order, each added to the residual stream",
                    3,
                    of_output(0, both(equals(TOLERANCE), inputs_unchanged)),
                ),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "Draw the residual stream of the words as one line with three additions on it. What does each of the three "
        "sublayers read, and which of them must not look ahead?",
        "A mask (time, time), True at and below the diagonal. Then three times: normalise a copy of the residual "
        "stream with the sublayer's own norm, let the sublayer read it, add what it returns. Cross-attention reads "
        "the memory, too, and returns a pair: keep its weights.",
        "`torch.ones(time, time, dtype=torch.bool).tril()` is the mask; the second sublayer is "
        "`found, weights = cross_attention(..., memory)` with the normalised residual stream in the gap, after which "
        "`found` is added to the stream.",
    ),
)
