"""Right answers to 08.3 that are written in other ways."""

import torch


def transformer_block_written_out(inputs, attention, feed_forward, attention_norm, feed_forward_norm, order):
    if order == "pre":
        gathered = inputs + attention(attention_norm(inputs))
        return gathered + feed_forward(feed_forward_norm(gathered))
    gathered = attention_norm(inputs + attention(inputs))
    return feed_forward_norm(gathered + feed_forward(gathered))


def transformer_block_in_place_on_a_copy(inputs, attention, feed_forward, attention_norm, feed_forward_norm, order):
    """In position, on a copy."""
    before, after = (lambda norm, x: norm(x), lambda norm, x: x)[:: 1 if order == "pre" else -1]
    road = inputs.clone()
    road += attention(before(attention_norm, road))
    road = after(attention_norm, road).clone()
    road += feed_forward(before(feed_forward_norm, road))
    return after(feed_forward_norm, road)


def transformer_block_in_double(inputs, attention, feed_forward, attention_norm, feed_forward_norm, order):
    """In double."""

    def wrap(road, sublayer, norm):
        return {"pre": lambda: road + sublayer(norm(road)), "post": lambda: norm(torch.add(road, sublayer(road)))}[
            order
        ]()

    return wrap(wrap(inputs.double(), attention, attention_norm), feed_forward, feed_forward_norm).float()


def transformer_block_sequence_by_sequence(inputs, attention, feed_forward, attention_norm, feed_forward_norm, order):
    """One sequence of the batch at a time."""
    rows = []
    for one in inputs.split(1):
        for sublayer, norm in zip((attention, feed_forward), (attention_norm, feed_forward_norm), strict=True):
            one = sublayer(norm(one)) + one if order == "pre" else norm(sublayer(one) + one)
        rows.append(one)
    return torch.cat(rows)
