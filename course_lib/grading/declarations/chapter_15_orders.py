"""Layers of a decoder for exercise 15.2: sublayers that are handed over, and the ways to put them together."""

from collections.abc import Callable

import torch

from course_lib.grading.exercise import Given

SELF_ATTENTION = Given(
    "self-attention",
    "lambda vectors, mask: (vectors @ vectors.mT).masked_fill(~mask, float('-inf')).softmax(-1) @ vectors",
)
MEAN_SO_FAR = Given(
    "the mean of what may be read", "lambda vectors, mask: mask.float() @ vectors / mask.sum(-1, keepdim=True)"
)
CROSS_ATTENTION = Given(
    "attention to the memory",
    "lambda vectors, memory: (lambda weights: (weights @ memory, weights))((vectors @ memory.mT).softmax(-1))",
)
BY_SUMS = Given(
    "attention to the running sums of the memory",
    "lambda vectors, memory: (lambda weights: (weights @ memory.flip(-1), weights))"
    "((vectors @ memory.cumsum(-1).mT / 2).softmax(-1))",
)
SUM_SO_FAR = Given("the sum of what may be read", "lambda vectors, mask: mask.float() @ vectors")
FIRST_OF_MEMORY = Given(
    "all weight on the first location",
    "lambda vectors, memory: (memory[:, :1].expand(-1, vectors.shape[1], -1).clone(), "
    "torch.nn.functional.pad(torch.ones_like(vectors[..., :1]), (0, memory.shape[1] - 1)))",
)
DOUBLED = Given("twice what it reads", "lambda vectors: 2 * vectors")
SILENT_SELF = Given("zeros", "lambda vectors, mask: torch.zeros_like(vectors)")
SILENT_CROSS = Given(
    "zeros, with even weights",
    "lambda vectors, memory: (torch.zeros_like(vectors), "
    "torch.ones_like(vectors[..., :1]).expand(-1, -1, memory.shape[1]) / memory.shape[1])",
)
SHIFTED_DOWN = Given("one subtracted", "lambda vectors: vectors - 1")

# A layer is built of the road, the memory, the three sublayers, their norms, and the mask.
PARAMETERS = (
    "vectors",
    "memory",
    "self_attention",
    "cross_attention",
    "feed_forward",
    "self_norm",
    "cross_norm",
    "feed_forward_norm",
)


def so_far(time):
    """True where a place may be read: its own and those before."""
    return torch.ones(time, time, dtype=torch.bool).tril()


def pre_norm(x, memory, attend, cross, feed, norm, cross_norm, feed_norm, mask):
    """Each sublayer reads a normalised copy, the memory is read as it is."""
    x = x + attend(norm(x), mask)
    found, weights = cross(cross_norm(x), memory)
    x = x + found
    return x + feed(feed_norm(x)), weights


def by(layer: Callable = pre_norm, mask: Callable = so_far) -> Callable:
    """Return the answer that does `layer` with mask(time)."""
    return lambda vectors, **others: layer(vectors, *(others[name] for name in PARAMETERS[1:]), mask(vectors.shape[1]))


decoder_layer = by()


def post_norm(x, memory, attend, cross, feed, norm, cross_norm, feed_norm, mask):
    """Every sum normalised."""
    x = norm(x + attend(x, mask))
    found, weights = cross(x, memory)
    x = cross_norm(x + found)
    return feed_norm(x + feed(x)), weights


def cross_first(x, memory, attend, cross, feed, norm, cross_norm, feed_norm, mask):
    """The picture before the words."""
    found, weights = cross(cross_norm(x), memory)
    x = x + found
    x = x + attend(norm(x), mask)
    return x + feed(feed_norm(x)), weights


def feed_before_cross(x, memory, attend, cross, feed, norm, cross_norm, feed_norm, mask):
    """The feed-forward layer second."""
    x = x + attend(norm(x), mask)
    x = x + feed(feed_norm(x))
    found, weights = cross(cross_norm(x), memory)
    return x + found, weights


def side_by_side(x, memory, attend, cross, feed, norm, cross_norm, feed_norm, mask):
    """All three read the layer's input."""
    found, weights = cross(cross_norm(x), memory)
    return x + attend(norm(x), mask) + found + feed(feed_norm(x)), weights


def no_cross_residual(x, memory, attend, cross, feed, norm, cross_norm, feed_norm, mask):
    """What the picture answers in place of the words."""
    x = x + attend(norm(x), mask)
    x, weights = cross(cross_norm(x), memory)
    return x + feed(feed_norm(x)), weights


def no_self_residual(x, memory, attend, cross, feed, norm, cross_norm, feed_norm, mask):
    """What self-attention returns in place of the vectors."""
    return pre_norm(attend(norm(x), mask), memory, zeros, cross, feed, norm, cross_norm, feed_norm, mask)


def no_feed_residual(x, memory, attend, cross, feed, norm, cross_norm, feed_norm, mask):
    """What the feed-forward layer returns in place of the vectors."""
    x = x + attend(norm(x), mask)
    found, weights = cross(cross_norm(x), memory)
    return feed(feed_norm(x + found)), weights


def cross_sum_from_inputs(x, memory, attend, cross, feed, norm, cross_norm, feed_norm, mask):
    """The second sum begins with the layer's input."""
    found, weights = cross(cross_norm(x + attend(norm(x), mask)), memory)
    x = x + found
    return x + feed(feed_norm(x)), weights


def norms_on_the_road(x, memory, attend, cross, feed, norm, cross_norm, feed_norm, mask):
    """The normalised vectors carried on."""
    x = norm(x)
    x = x + attend(x, mask)
    x = cross_norm(x)
    found, weights = cross(x, memory)
    x = feed_norm(x + found)
    return x + feed(x), weights


def norm_at_the_end(x, *others):
    """Pre-norm, and the last norm once more."""
    output, weights = pre_norm(x, *others)
    return others[-2](output), weights


def added_in_place(vectors, **others):
    """The sums written over the caller's vectors."""
    output, weights = decoder_layer(vectors, **others)
    vectors += others["self_attention"](others["self_norm"](vectors), so_far(vectors.shape[1]))
    return output, weights


def zeros(x, mask):
    """A silent sublayer."""
    return torch.zeros_like(x)


def with_norms(change: Callable) -> Callable:
    """Return pre-norm with the three norms change(self_norm, cross_norm, feed_forward_norm)."""
    return by(lambda x, m, a, c, f, n, o, p, mask: pre_norm(x, m, a, c, f, *change(n, o, p), mask))
