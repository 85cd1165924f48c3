"""The capstone's model: pictures in, captions out, made of parts that a learner may replace one by one."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from course_lib import decoding
from course_lib.attention import scaled_dot_product_attention
from course_lib.blocks import Block, FeedForward
from course_lib.cache import BlockCache, CachedDecoder, KeyValueCache
from course_lib.convolution import ConvFeatures
from course_lib.losses import token_losses
from course_lib.multi_head import MultiHeadAttention, merge_heads, split_heads
from course_lib.positions import sinusoidal_positions
from course_lib.shapes import check_shape

EPSILON = 1e-5  # what layer normalisation adds to the variance


def layer_norm(inputs: torch.Tensor, gain: torch.Tensor, bias: torch.Tensor, epsilon: float) -> torch.Tensor:
    """Return inputs (..., d_model) with mean 0 and variance 1, times gain (d_model,), plus bias (d_model,): 08.1.

    >>> layer_norm(torch.tensor([[1.0, 3.0]]), gain=torch.tensor([2.0, 2.0]), bias=torch.tensor([0.0, 1.0]), epsilon=0)
    tensor([[-2.,  3.]])
    """
    return nn.functional.layer_norm(inputs, gain.shape, gain, bias, epsilon)


class CrossAttention(nn.Module):
    """One head with which vectors read a memory: exercise 09.1.

    >>> attention = CrossAttention(d_model=8, d_memory=6, d_key=4)
    >>> output, weights = attention(torch.zeros(2, 5, 8), torch.zeros(2, 9, 6), torch.ones(2, 9, dtype=torch.bool))
    >>> output.shape, weights.shape
    (torch.Size([2, 5, 8]), torch.Size([2, 5, 9]))
    """

    def __init__(self, d_model: int, d_memory: int, d_key: int):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_key)
        self.to_key = nn.Linear(d_memory, d_key)
        self.to_value = nn.Linear(d_memory, d_model)

    def forward(
        self, vectors: torch.Tensor, memory: torch.Tensor, present: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the output (batch, time, d_model) and the weights (batch, time, n) of vectors that read memory.

        `vectors` is (batch, time, d_model), `memory` (batch, n, d_memory), `present` (batch, n), True where the memory
        holds something to read.
        """
        key, value = self.to_key(memory), self.to_value(memory)  # (batch, n, d_key), (batch, n, d_model)
        return scaled_dot_product_attention(self.to_query(vectors), key, value, present.unsqueeze(1))


def shift_right(targets: torch.Tensor, start: int, padding: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return what the decoder reads when it has to write targets (batch, time), and which steps count: 09.2.

    >>> words, counts = shift_right(torch.tensor([[7, 9, 2], [8, 2, 0]]), start=1, padding=0)
    >>> words
    tensor([[1, 7, 9],
            [1, 8, 2]])
    >>> counts.int()
    tensor([[1, 1, 1],
            [1, 1, 0]], dtype=torch.int32)
    """
    first = torch.full_like(targets[:, :1], start)  # (batch, 1)
    return torch.cat([first, targets[:, :-1]], dim=1), targets != padding


def loss_at_every_step(
    logits: torch.Tensor, targets: torch.Tensor, counts: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the mean loss () of the steps that count, and the losses (batch, time), 0 where they do not: 09.2.

    >>> mean, losses = loss_at_every_step(torch.zeros(1, 2, 4), torch.tensor([[3, 0]]), torch.tensor([[True, False]]))
    >>> mean, losses
    (tensor(1.3863), tensor([[1.3863, 0.0000]]))
    """
    losses = token_losses(logits, targets).where(counts, 0.0)  # (batch, time)
    return losses.sum() / counts.sum(), losses


def beam_search(
    next_log_probabilities: Callable, prompt: torch.Tensor, end: int, width: int, max_length: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the words (max_length,) after prompt (time,) that a beam finds, and their log probability (): 09.4.

    >>> even = lambda words: torch.full((len(words), 3), 1 / 3).log()
    >>> beam_search(even, torch.tensor([0]), end=2, width=3, max_length=4)
    (tensor([2, 2, 2, 2]), tensor(-1.0986))
    """
    best = decoding.beam_search(next_log_probabilities, prompt.unsqueeze(0), end, width, max_length)[0]
    words = [*best.tokens, *[end] * (max_length - len(best.tokens))]
    return torch.tensor(words, device=prompt.device), torch.tensor(best.log_probability)


@dataclass(frozen=True)
class Parts:
    """What a `CaptionTransformer` is made of: the library's versions by default, or a learner's, by their names.

    Each has the arguments and the answer that its exercise asks for, and is called with its arguments by name.

    >>> Parts(merge_heads=lambda vectors: vectors.transpose(1, 2).flatten(2)).split_heads.__name__
    'split_heads'
    """

    scaled_dot_product_attention: Callable = scaled_dot_product_attention  # 05.1
    split_heads: Callable = split_heads  # 06.1
    merge_heads: Callable = merge_heads  # 06.1
    sinusoidal_positions: Callable = sinusoidal_positions  # 07.1
    layer_norm: Callable = layer_norm  # 08.1
    FeedForward: Callable = FeedForward  # 08.2
    CrossAttention: Callable = CrossAttention  # 09.1
    shift_right: Callable = shift_right  # 09.2
    loss_at_every_step: Callable = loss_at_every_step  # 09.2
    beam_search: Callable = beam_search  # 09.4


class Norm(nn.Module):
    """A part `layer_norm` with the gain and the bias that belong to one layer of the model."""

    def __init__(self, d_model: int, parts: Parts):
        super().__init__()
        self.parts = parts
        self.gain = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the normalised inputs (..., d_model)."""
        return self.parts.layer_norm(inputs=inputs, gain=self.gain, bias=self.bias, epsilon=EPSILON)


class SelfAttentionOfParts(MultiHeadAttention):
    """Multi-head self-attention of which the parts split and merge the heads, and attend."""

    def __init__(self, d_model: int, heads: int, parts: Parts):
        super().__init__(d_model, heads, attend=_by_name(parts.scaled_dot_product_attention))
        self.parts = parts

    def split(self, vectors: torch.Tensor) -> torch.Tensor:
        """Return vectors (batch, time, heads * d_head) as (batch, heads, time, d_head)."""
        return self.parts.split_heads(vectors=vectors, heads=self.heads)

    def merge(self, vectors: torch.Tensor) -> torch.Tensor:
        """Return vectors (batch, heads, time, d_head) as (batch, time, heads * d_head)."""
        return self.parts.merge_heads(vectors=vectors)


class CrossAttentionOfParts(nn.Module):
    """The part `CrossAttention` with the arguments that a block gives; with a cache, only its layers are asked."""

    def __init__(self, d_model: int, parts: Parts):
        super().__init__()
        self.part = parts.CrossAttention(d_model=d_model, d_memory=d_model, d_key=d_model)
        self.attend = _by_name(parts.scaled_dot_product_attention)

    def forward(
        self,
        inputs: torch.Tensor,
        memory: torch.Tensor,
        mask: torch.Tensor | None = None,
        cache: KeyValueCache | None = None,
        need_weights: bool = True,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return what inputs (batch, time, d_model) read, and the weights (batch, time, location), needed or not.

        `memory` is (batch, location, d_model), `mask` (batch, 1, location).
        """
        if mask is None:
            mask = torch.ones(len(memory), 1, memory.shape[1], dtype=torch.bool, device=memory.device)
        if cache is None:
            return self.part(vectors=inputs, memory=memory, present=mask.squeeze(1))
        if not cache.length:
            cache.append(self.part.to_key(memory).unsqueeze(1), self.part.to_value(memory).unsqueeze(1))  # one head
        key, value = (each.squeeze(1) for each in cache.contents)  # each (batch, location, d_model)
        mask = mask.expand(-1, inputs.shape[1], -1)  # (batch, time, location)
        return self.attend(self.part.to_query(inputs), key, value, mask)


class DecoderBlock(Block):
    """A block of the decoder: the words read each other, then the picture, then each vector is worked on alone."""

    def __init__(self, d_model: int, heads: int, d_hidden: int, parts: Parts):
        super().__init__()
        self.attention = SelfAttentionOfParts(d_model, heads, parts)
        self.attention_norm = Norm(d_model, parts)
        self.cross_attention = CrossAttentionOfParts(d_model, parts)
        self.cross_attention_norm = Norm(d_model, parts)
        self.feed_forward = parts.FeedForward(d_model=d_model, d_hidden=d_hidden)
        self.feed_forward_norm = Norm(d_model, parts)
        self.dropout = nn.Identity()

    def forward(self, vectors: torch.Tensor, memory: torch.Tensor, **how) -> tuple[torch.Tensor, torch.Tensor]:
        """Return vectors (batch, time, d_model) and the weights (batch, time, location) with which they read.

        `how` is what else `Block.steps` takes.
        """
        return self.steps(vectors, memory, causal=True, need_weights=True, **how)


def _by_name(attend: Callable) -> Callable:
    """Return a part that is called with its arguments by name; the library's own is left as it is, and so known."""
    if attend is scaled_dot_product_attention:
        return attend
    return lambda query, key, value, mask: attend(query=query, key=key, value=value, mask=mask)


class CaptionTransformer(nn.Module):
    """Convolutional features and a pre-norm transformer decoder that reads them, made of `parts`.

    The names of the parameters do not depend on the parts, so that the weights of one model load into another.

    >>> model = CaptionTransformer(vocab_size=12)
    >>> logits, weights = model(torch.zeros(2, 3, 32, 32), torch.zeros(2, 6, dtype=torch.long))
    >>> logits.shape, weights.shape
    (torch.Size([2, 6, 12]), torch.Size([2, 6, 64]))
    """

    def __init__(
        self,
        vocab_size: int,
        parts: Parts | None = None,
        d_model: int = 64,
        heads: int = 4,
        layers: int = 2,
        d_hidden: int = 128,
    ):
        super().__init__()
        self.parts = Parts() if parts is None else parts
        self.d_model = d_model
        self.configuration = {
            "vocab_size": vocab_size,
            "d_model": d_model,
            "heads": heads,
            "layers": layers,
            "d_hidden": d_hidden,
        }
        self.encoder = ConvFeatures(d_model)
        self.embed = nn.Embedding(vocab_size, d_model)
        self.blocks = nn.ModuleList(DecoderBlock(d_model, heads, d_hidden, self.parts) for _ in range(layers))
        self.norm = Norm(d_model, self.parts)
        self.to_logits = nn.Linear(d_model, vocab_size)

    def forward(
        self, images: torch.Tensor, words: torch.Tensor, present: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return logits (batch, time, vocab) and weights (batch, time, location) under given last words.

        `images` is (batch, 3, height, width); `words` (batch, time) holds, for each step, the word before it. Where
        `present` (batch, location) is False, there is no picture but padding. The weights are the mean of those with
        which the blocks read the picture.
        """
        sizes = check_shape(images, "batch 3 height width", "images")
        check_shape(words, "batch time", "words", batch=sizes["batch"])
        memory = self.encoder(images)  # (batch, location, d_model)
        return self.decode(words, memory, None if present is None else present.unsqueeze(1))

    def decode(
        self,
        words: torch.Tensor,
        memory: torch.Tensor,
        memory_mask: torch.Tensor | None = None,
        caches: list[BlockCache] | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return what `forward` does, of words (batch, time) that read memory (batch, location, d_model).

        `memory_mask` is (batch, 1, location). With `caches`, one for each block, the words stand behind those that the
        caches have seen.
        """
        before = caches[0].length if caches else 0
        codes = self.parts.sinusoidal_positions(time=before + words.shape[1], d_model=self.d_model)[before:]
        vectors = self.embed(words) + codes.to(self.embed.weight)  # (batch, time, d_model)
        looks = []
        for number, block in enumerate(self.blocks):
            cache = caches[number] if caches else None
            vectors, weights = block(vectors, memory, memory_mask=memory_mask, cache=cache)  # (batch, time, d_model)
            looks.append(weights)  # (batch, time, location)
        return self.to_logits(self.norm(vectors)), torch.stack(looks).mean(dim=0)

    def loss(self, images: torch.Tensor, targets: torch.Tensor, start: int, padding: int) -> torch.Tensor:
        """Return the mean loss () of writing targets (batch, time), which end with the end mark, then `padding`."""
        words, counts = self.parts.shift_right(targets=targets, start=start, padding=padding)
        logits, _ = self(images, words)  # (batch, time, vocab)
        mean, _ = self.parts.loss_at_every_step(logits=logits, targets=targets, counts=counts)
        return mean

    @torch.no_grad()
    def next_token_scorer(self, images: torch.Tensor, cached: bool = True) -> Callable[[torch.Tensor], torch.Tensor]:
        """Return a function from words (batch, time) to the logits of the next one (batch, vocab), for decoding.

        The images (batch, 3, height, width) are read once; one image serves any number of rows of words: a beam.
        `cached` keeps the keys and values of the words and of the memory too; without it, the part `CrossAttention`
        makes them anew at each word, and the answers are the same.
        """
        memory = self.encoder(images)  # (batch, location, d_model)

        @torch.no_grad()
        def read(words: torch.Tensor, caches: list[BlockCache] | None, origin: torch.Tensor) -> torch.Tensor:
            rows = origin if len(memory) > 1 else torch.zeros_like(origin)  # (batch,): each row's picture
            return self.decode(words, memory[rows], caches=caches)[0][:, -1]  # (batch, vocab)

        if cached:
            return CachedDecoder(read, len(self.blocks))
        return lambda words: read(words, None, torch.arange(len(words), device=words.device))

    @torch.no_grad()
    def beam_decode(self, image: torch.Tensor, start: int, end: int, width: int, max_length: int) -> torch.Tensor:
        """Return the caption (max_length,) that the part `beam_search` finds for one image (3, height, width)."""
        next_token_logits = self.next_token_scorer(image.unsqueeze(0), cached=False)
        words, _ = self.parts.beam_search(
            next_log_probabilities=lambda words: next_token_logits(words).log_softmax(dim=-1),
            prompt=torch.tensor([start], device=image.device),
            end=end,
            width=width,
            max_length=max_length,
        )
        return words
