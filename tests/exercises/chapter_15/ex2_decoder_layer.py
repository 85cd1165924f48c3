"""Right answers to 15.2 that are written in other ways."""

import torch


def decoder_layer_with_a_name_for_each_step(
    vectors, memory, self_attention, cross_attention, feed_forward, self_norm, cross_norm, feed_forward_norm
):
    """One name for each step."""
    positions = torch.arange(vectors.shape[1])
    mask = positions[None, :] <= positions[:, None]
    spoken = vectors + self_attention(self_norm(vectors), mask)
    seen, weights = cross_attention(cross_norm(spoken), memory)
    both = spoken + seen
    return both + feed_forward(feed_forward_norm(both)), weights


def decoder_layer_by_a_loop_over_the_sublayers(
    vectors, memory, self_attention, cross_attention, feed_forward, self_norm, cross_norm, feed_forward_norm
):
    """A loop over the sublayers."""
    time, kept = vectors.shape[1], []
    mask = ~torch.ones(time, time).triu(diagonal=1).bool()

    def look(words):
        found, weights = cross_attention(words, memory)
        kept.append(weights)
        return found

    sublayers = (lambda words: self_attention(words, mask), look, feed_forward)
    for sublayer, norm in zip(sublayers, (self_norm, cross_norm, feed_forward_norm), strict=True):
        vectors = vectors + sublayer(norm(vectors))
    return vectors, kept[0]


def decoder_layer_on_a_copy(
    vectors, memory, self_attention, cross_attention, feed_forward, self_norm, cross_norm, feed_forward_norm
):
    """Sums of all that was added, on a copy, and a mask with an axis for the batch."""
    stream = vectors.clone()
    mask = torch.tensor([[[key <= query for key in range(stream.shape[1])] for query in range(stream.shape[1])]])
    stream += self_attention(self_norm(stream), mask)
    found, weights = cross_attention(cross_norm(stream), memory)
    stream += found
    stream += feed_forward(feed_forward_norm(stream))
    return stream, weights
