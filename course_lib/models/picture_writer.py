"""The capstone's model: pictures in, captions out, made of parts that a learner may replace one by one."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from course_lib import decoding
from course_lib.attention import scaled_dot_product_attention
from course_lib.blocks import FeedForward
from course_lib.convolution import ConvFeatures
from course_lib.losses import token_losses
from course_lib.masks import causal_mask
from course_lib.multi_head import merge_heads, split_heads
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
    scores: torch.Tensor, targets: torch.Tensor, counts: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the mean loss () of the steps that count, and the losses (batch, time), 0 where they do not: 09.2.

    >>> mean, losses = loss_at_every_step(torch.zeros(1, 2, 4), torch.tensor([[3, 0]]), torch.tensor([[True, False]]))
    >>> mean, losses
    (tensor(1.3863), tensor([[1.3863, 0.0000]]))
    """
    losses = token_losses(scores, targets).where(counts, 0.0)  # (batch, time)
    return losses.sum() / counts.sum(), losses


def beam_search(
    next_log_probabilities: Callable, prompt: torch.Tensor, end: int, width: int, longest: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the words (longest,) after prompt (time,) that a beam finds, and their log probability (): 09.4.

    >>> even = lambda words: torch.full((len(words), 3), 1 / 3).log()
    >>> beam_search(even, torch.tensor([0]), end=2, width=3, longest=4)
    (tensor([2, 2, 2, 2]), tensor(-1.0986))
    """
    best = decoding.beam_search(next_log_probabilities, prompt.unsqueeze(0), end, width, longest)[0]
    words = [*best.tokens, *[end] * (longest - len(best.tokens))]
    return torch.tensor(words, device=prompt.device), torch.tensor(best.log_probability)


@dataclass(frozen=True)
class Parts:
    """What a picture writer is made of; the library's versions by default, or a learner's, by the name of the exercise.

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
    """A part `layer_norm` with the gain and the bias that belong to one place of the model."""

    def __init__(self, d_model: int, parts: Parts):
        super().__init__()
        self.parts = parts
        self.gain = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the normalised inputs (..., d_model)."""
        return self.parts.layer_norm(inputs=inputs, gain=self.gain, bias=self.bias, epsilon=EPSILON)


class WriterBlock(nn.Module):
    """A block of the decoder: the words read each other, then the picture, then each vector is worked on alone."""

    def __init__(self, d_model: int, heads: int, d_hidden: int, parts: Parts):
        super().__init__()
        self.heads, self.parts = heads, parts
        self.self_attention_norm = Norm(d_model, parts)
        self.to_query = nn.Linear(d_model, d_model)
        self.to_key = nn.Linear(d_model, d_model)
        self.to_value = nn.Linear(d_model, d_model)
        self.to_output = nn.Linear(d_model, d_model)
        self.cross_attention_norm = Norm(d_model, parts)
        self.cross_attention = parts.CrossAttention(d_model=d_model, d_memory=d_model, d_key=d_model)
        self.feed_forward_norm = Norm(d_model, parts)
        self.feed_forward = parts.FeedForward(d_model=d_model, d_hidden=d_hidden)

    def read_words(self, vectors: torch.Tensor) -> torch.Tensor:
        """Let each of vectors (batch, time, d_model) read itself and those before it: (batch, time, d_model)."""
        query, key, value = (
            self.parts.split_heads(vectors=project(vectors), heads=self.heads)  # (batch, heads, time, d_head)
            for project in (self.to_query, self.to_key, self.to_value)
        )
        mask = causal_mask(vectors.shape[1]).to(vectors.device)  # (time, time)
        found, _ = self.parts.scaled_dot_product_attention(query=query, key=key, value=value, mask=mask)
        return self.to_output(self.parts.merge_heads(vectors=found))  # (batch, time, d_model)

    def remember(self, memory: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the keys and the values of memory (batch, location, d_model), which do not depend on the words."""
        return self.cross_attention.to_key(memory), self.cross_attention.to_value(memory)

    def forward(
        self,
        vectors: torch.Tensor,
        memory: torch.Tensor | tuple[torch.Tensor, torch.Tensor],
        present: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return vectors (batch, time, d_model) and the weights (batch, time, location) with which they read.

        `memory` is (batch, location, d_model), read by the part `CrossAttention`, or what `remember` made of it, read
        by the part `scaled_dot_product_attention`. `present` (batch, location) is True where there is picture.
        """
        vectors = vectors + self.read_words(self.self_attention_norm(vectors))
        asking = self.cross_attention_norm(vectors)  # (batch, time, d_model)
        if isinstance(memory, tuple):
            query, (key, value) = self.cross_attention.to_query(asking), memory
            mask = present.unsqueeze(1).expand(-1, query.shape[1], -1)  # (batch, time, location)
            found, weights = self.parts.scaled_dot_product_attention(query=query, key=key, value=value, mask=mask)
        else:
            found, weights = self.cross_attention(vectors=asking, memory=memory, present=present)
        vectors = vectors + found
        return vectors + self.feed_forward(inputs=self.feed_forward_norm(vectors)), weights


class PictureWriter(nn.Module):
    """Convolutional features and a pre-norm transformer decoder that reads them, made of `parts`.

    The names of the parameters do not depend on the parts, so that the weights of one writer load into another.

    >>> model = PictureWriter(vocabulary=12)
    >>> scores, weights = model(torch.zeros(2, 3, 32, 32), torch.zeros(2, 6, dtype=torch.long))
    >>> scores.shape, weights.shape
    (torch.Size([2, 6, 12]), torch.Size([2, 6, 64]))
    """

    def __init__(
        self,
        vocabulary: int,
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
            "vocabulary": vocabulary,
            "d_model": d_model,
            "heads": heads,
            "layers": layers,
            "d_hidden": d_hidden,
        }
        self.read_picture = ConvFeatures(d_model)
        self.embed = nn.Embedding(vocabulary, d_model)
        self.blocks = nn.ModuleList(WriterBlock(d_model, heads, d_hidden, self.parts) for _ in range(layers))
        self.norm = Norm(d_model, self.parts)
        self.to_scores = nn.Linear(d_model, vocabulary)

    def forward(
        self, images: torch.Tensor, words: torch.Tensor, present: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return scores (batch, time, vocabulary) and weights (batch, time, location) under given last words.

        `images` is (batch, 3, height, width); `words` (batch, time) holds, for each step, the word before it. Where
        `present` (batch, location) is False, there is no picture but padding. The weights are the mean of those with
        which the blocks read the picture.
        """
        sizes = check_shape(images, "batch 3 height width", "images")
        check_shape(words, "batch time", "words", batch=sizes["batch"])
        memory = self.read_picture(images)  # (batch, location, d_model)
        if present is None:
            present = torch.ones(memory.shape[:2], dtype=torch.bool, device=memory.device)  # (batch, location)
        return self.decode(words, [memory] * len(self.blocks), present)

    def decode(self, words: torch.Tensor, memories: list, present: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return what `forward` does, where each block reads its own of `memories`: see `WriterBlock.forward`."""
        codes = self.parts.sinusoidal_positions(time=words.shape[1], d_model=self.d_model)  # (time, d_model)
        vectors = self.embed(words) + codes.to(self.embed.weight)  # (batch, time, d_model)
        looks = []
        for block, memory in zip(self.blocks, memories, strict=True):
            vectors, weights = block(vectors, memory, present)  # (batch, time, d_model), (batch, time, location)
            looks.append(weights)
        return self.to_scores(self.norm(vectors)), torch.stack(looks).mean(dim=0)

    def loss(self, images: torch.Tensor, targets: torch.Tensor, start: int, padding: int) -> torch.Tensor:
        """Return the mean loss () of writing targets (batch, time), which end with the end mark, then `padding`."""
        words, counts = self.parts.shift_right(targets=targets, start=start, padding=padding)
        scores, _ = self(images, words)  # (batch, time, vocabulary)
        mean, _ = self.parts.loss_at_every_step(scores=scores, targets=targets, counts=counts)
        return mean

    @torch.no_grad()
    def writer(self, images: torch.Tensor, cached: bool = True) -> Callable[[torch.Tensor], torch.Tensor]:
        """Return a function that scores the next word (batch, vocabulary) after words (batch, time), for decoding.

        The images (batch, 3, height, width) are read once; one image serves any number of rows of words: a beam.
        `cached` keeps the keys and values of the memory too; without it, the part `CrossAttention` makes them anew at
        each word, and the answers are the same.
        """
        memory = self.read_picture(images)  # (batch, location, d_model)
        memories = [block.remember(memory) if cached else memory for block in self.blocks]

        @torch.no_grad()
        def next_scores(words: torch.Tensor) -> torch.Tensor:
            rows = len(words)
            present = torch.ones(rows, memory.shape[1], dtype=torch.bool, device=memory.device)  # (batch, location)
            shared = [
                tuple(each.expand(rows, -1, -1) for each in kept) if cached else kept.expand(rows, -1, -1)
                for kept in memories
            ]
            return self.decode(words, shared, present)[0][:, -1]  # (batch, vocabulary)

        return next_scores

    @torch.no_grad()
    def write(self, image: torch.Tensor, start: int, end: int, width: int, longest: int) -> torch.Tensor:
        """Return the caption (longest,) that the part `beam_search` finds for one image (3, height, width)."""
        next_scores = self.writer(image.unsqueeze(0), cached=False)
        words, _ = self.parts.beam_search(
            next_log_probabilities=lambda words: next_scores(words).log_softmax(dim=-1),
            prompt=torch.tensor([start], device=image.device),
            end=end,
            width=width,
            longest=longest,
        )
        return words
