"""The least that a loop with a cache has to do, with the weights of our models: how fast writing can be from Python.

No checks, no modules, no masks but that of the source's padding, one token at a time, caches of their full length from
the beginning. It writes the same tokens as our own loop, or the row stops.
"""

import torch
from torch.nn import functional

from benchmarks.implementations import START, Sizes, ours
from course_lib.embedding import TokenEmbedding
from course_lib.models.encoder_decoder import EncoderDecoder
from course_lib.positions import angles, sinusoidal_positions


def writer(sizes: Sizes):
    """Return a function that writes on from a prompt (1, time) as our language model does."""
    model = ours.writing_model(sizes)
    angle = angles(torch.arange(sizes.context), sizes.width // sizes.heads)  # (context, d_head / 2)
    cosine, sine = angle.cos().float(), angle.sin().float()

    @torch.inference_mode()
    def write(prompt: torch.Tensor, length: int) -> torch.Tensor:
        caches = [Cache(prompt, sizes) for _ in model.blocks]
        tokens = prompt[0].tolist()
        for position in range(len(tokens) + length - 1):
            vector = model.embed.weight[tokens[position]].unsqueeze(0)  # (batch = 1, width)
            turn = cosine[position], sine[position]
            for block, cache in zip(model.blocks, caches, strict=True):
                vector = vector + own_attention(block, vector, cache, position, turn)
                vector = vector + feed_forward(block, vector)
            if position >= prompt.shape[1] - 1:
                logits = normalised(model.norm, vector) @ model.embed.weight.T  # (1, vocab)
                tokens.append(int(logits.argmax()))
        return torch.tensor([tokens])

    return write


def translator(sizes: Sizes, model: EncoderDecoder):
    """Return a function that writes for a source (batch, n) as this encoder and decoder of ours does."""
    table: TokenEmbedding = model.embed
    codes = sinusoidal_positions(sizes.context, sizes.width)  # (context, width)

    @torch.inference_mode()
    def write(source: torch.Tensor, length: int) -> torch.Tensor:
        memory, mask = model.encode(source), model.memory_mask(source).unsqueeze(1)  # (batch, 1, 1, n)
        caches = [Cache(source, sizes) for _ in model.decoder]
        memories = [
            tuple(
                each(memory).unflatten(-1, (sizes.heads, -1)).transpose(1, 2)  # (batch, heads, n, d_head)
                for each in (block.cross_attention.to_key, block.cross_attention.to_value)
            )
            for block in model.decoder
        ]
        words = [torch.full((len(source),), START)]  # each (batch,)
        for position in range(length):
            vector = table.table[words[-1]] * sizes.width**0.5 + codes[position]  # (batch, width)
            for block, cache, (key, value) in zip(model.decoder, caches, memories, strict=True):
                vector = vector + own_attention(block, vector, cache, position)
                query = split(
                    linear(block.cross_attention.to_query, normalised(block.cross_attention_norm, vector)), sizes
                )
                found = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
                vector = vector + linear(block.cross_attention.to_output, found.flatten(1))
                vector = vector + feed_forward(block, vector)
            logits = normalised(model.decoder_norm, vector) @ table.table.T  # (batch, vocab)
            words.append(logits.argmax(-1))
        return torch.stack(words[1:], dim=1)

    return write


class Cache:
    """Keys and values (batch, heads, context, d_head) of one block."""

    def __init__(self, rows: torch.Tensor, sizes: Sizes):
        self.sizes = sizes
        shape = len(rows), sizes.heads, sizes.context, sizes.width // sizes.heads
        self.key, self.value = torch.empty(shape), torch.empty(shape)


def own_attention(block, vector: torch.Tensor, cache: Cache, position: int, turn=None) -> torch.Tensor:
    """Return what self-attention adds to vectors (batch, width) at `position`; `turn` is its cosine and sine."""
    attention, normal = block.attention, normalised(block.attention_norm, vector)  # (batch, width)
    query, key, value = (
        split(linear(each, normal), cache.sizes)  # (batch, heads, 1, d_head)
        for each in (attention.to_query, attention.to_key, attention.to_value)
    )
    if turn is not None:
        query, key = rotated(query, *turn), rotated(key, *turn)
    cache.key[:, :, position], cache.value[:, :, position] = key[:, :, 0], value[:, :, 0]
    end = position + 1
    found = functional.scaled_dot_product_attention(query, cache.key[:, :, :end], cache.value[:, :, :end])
    return linear(attention.to_output, found.flatten(1))  # (batch, width)


def feed_forward(block, vector: torch.Tensor) -> torch.Tensor:
    """Return what the feed-forward network adds to vectors (batch, width)."""
    hidden = linear(block.feed_forward.expand, normalised(block.feed_forward_norm, vector)).relu()  # (batch, hidden)
    return linear(block.feed_forward.contract, hidden)


def linear(layer, vector: torch.Tensor) -> torch.Tensor:
    """Apply a linear layer without calling a module."""
    return functional.linear(vector, layer.weight, layer.bias)


def normalised(norm, vector: torch.Tensor) -> torch.Tensor:
    """Apply a layer normalisation by torch's function."""
    return functional.layer_norm(vector, norm.gain.shape, norm.gain, norm.bias, norm.epsilon)


def split(vector: torch.Tensor, sizes: Sizes) -> torch.Tensor:
    """Return vectors (batch, width) as (batch, heads, 1, d_head)."""
    return vector.view(len(vector), sizes.heads, 1, -1)


def rotated(vector: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
    """Return vectors (..., d_head) with each pair of neighbours turned."""
    first, second = vector[..., 0::2], vector[..., 1::2]
    return torch.stack([first * cosine - second * sine, first * sine + second * cosine], dim=-1).flatten(-2)
