"""A captioner that looks at the picture again before every word, after Xu et al. (2015)."""

import torch
from torch import nn

from course_lib.attention import AdditiveAttention
from course_lib.convolution import ConvFeatures
from course_lib.decoding import greedy_decode
from course_lib.recurrence import LSTMCell
from course_lib.shapes import check_shape


class CaptionDecoder(nn.Module):
    """Write a caption word by word; before each word, read the features of the picture through `attention`.

    At each step the memory takes in the last word and what was seen last, its hidden state asks the picture as a query,
    and hidden state and answer together give the logits of the next word. `attention` is any module with the signature
    of `AdditiveAttention`.
    """

    def __init__(self, vocab_size: int, d_feature: int, d_hidden: int, d_word: int, attention: nn.Module):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, d_word)
        self.start_state = nn.Linear(d_feature, 2 * d_hidden)
        self.cell = LSTMCell(d_word + d_feature, d_hidden)
        self.attention = attention
        self.to_logits = nn.Linear(d_hidden + d_feature, vocab_size)

    def start(self, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the first (hidden, memory, context), each (batch, ...), from a glance: the mean of the features."""
        glance = features.mean(dim=1)  # (batch, d_feature)
        hidden, memory = self.start_state(glance).chunk(2, dim=-1)  # each (batch, d_hidden)
        return hidden.tanh(), memory, glance

    def step(self, word: torch.Tensor, state: tuple, features: torch.Tensor) -> tuple:
        """Return the logits of the next word (batch, vocab), the weights (batch, location) and the next state.

        `word` is (batch,), the index of the last word; `state` comes from `start` or from the step before.
        """
        hidden, memory, context = state
        seen = torch.cat([self.embed(word), context], dim=-1)  # (batch, d_word + d_feature)
        hidden, memory = self.cell(seen, (hidden, memory))  # each (batch, d_hidden)
        context, weights = self.attention(hidden, features, features)  # (batch, d_feature), (batch, location)
        logits = self.to_logits(torch.cat([hidden, context], dim=-1))  # (batch, vocab)
        return logits, weights, (hidden, memory, context)


class Captioner(nn.Module):
    """Pictures in, captions out: convolutional features and a decoder that attends to them.

    `attention` defaults to `AdditiveAttention`; an experiment or a learner passes another module.

    >>> captioner = Captioner(vocab_size=12)
    >>> logits, weights = captioner(torch.zeros(2, 3, 32, 32), torch.zeros(2, 6, dtype=torch.long))
    >>> logits.shape, weights.shape
    (torch.Size([2, 6, 12]), torch.Size([2, 6, 64]))
    """

    def __init__(
        self,
        vocab_size: int,
        d_feature: int = 64,
        d_hidden: int = 96,
        d_word: int = 32,
        attention: nn.Module | None = None,
    ):
        super().__init__()
        self.encoder = ConvFeatures(d_feature)
        if attention is None:
            attention = AdditiveAttention(d_query=d_hidden, d_key=d_feature, d_hidden=64)
        self.decoder = CaptionDecoder(vocab_size, d_feature, d_hidden, d_word, attention)

    def forward(self, images: torch.Tensor, words: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return logits (batch, time, vocab) and weights (batch, time, location) where `words` are given.

        `images` is (batch, 3, H, W); `words` (batch, time) holds, for each step, the word before it. This is teacher
        forcing: the model is asked for the next word after the right words, whatever it would have said itself.
        """
        sizes = check_shape(images, "batch 3 height width", "images")
        check_shape(words, "batch time", "words", batch=sizes["batch"])
        features = self.encoder(images)  # (batch, location, d_feature)
        state = self.decoder.start(features)
        logits, weights = [], []
        for word in words.unbind(dim=1):
            step_logits, step_weights, state = self.decoder.step(word, state, features)
            logits.append(step_logits)
            weights.append(step_weights)
        return torch.stack(logits, dim=1), torch.stack(weights, dim=1)

    @torch.no_grad()
    def greedy_decode(self, images: torch.Tensor, start: int, length: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the captions that the model writes itself, (batch, length), and its weights (batch, length, location).

        Each step takes the word with the largest logit and feeds it back; `start` is the index of the first input.
        """
        features = self.encoder(images)  # (batch, location, d_feature)
        state = self.decoder.start(features)
        weights = []

        def next_token_logits(written: torch.Tensor) -> torch.Tensor:
            nonlocal state
            logits, step_weights, state = self.decoder.step(written[:, -1], state, features)
            weights.append(step_weights)
            return logits

        prompt = torch.full((len(images), 1), start, device=images.device)  # (batch, 1)
        written = greedy_decode(next_token_logits, prompt, end=None, max_length=length)[:, 1:]  # (batch, length)
        return written, torch.stack(weights, dim=1)
