"""A captioner that looks at the picture again before every word, after Xu et al. (2015)."""

import torch
from torch import nn

from course_lib.attention import AdditiveAttention
from course_lib.convolution import ConvFeatures
from course_lib.recurrence import LSTMCell
from course_lib.shapes import check_shape


class CaptionDecoder(nn.Module):
    """Write a caption word by word; before each word, read the features of the picture through `attention`.

    At each step the memory takes in the last word and what was seen last, its hidden state asks the picture as a query,
    and hidden state and answer together score the next word. `attention` is any module with the signature of
    `AdditiveAttention`.
    """

    def __init__(self, vocabulary: int, d_feature: int, d_hidden: int, d_word: int, attention: nn.Module):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, d_word)
        self.start_state = nn.Linear(d_feature, 2 * d_hidden)
        self.cell = LSTMCell(d_word + d_feature, d_hidden)
        self.attention = attention
        self.score_words = nn.Linear(d_hidden + d_feature, vocabulary)

    def start(self, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the first (hidden, memory, context), each (batch, ...), from a glance: the mean of the features."""
        glance = features.mean(dim=1)  # (batch, d_feature)
        hidden, memory = self.start_state(glance).chunk(2, dim=-1)  # each (batch, d_hidden)
        return hidden.tanh(), memory, glance

    def step(self, word: torch.Tensor, state: tuple, features: torch.Tensor) -> tuple:
        """Return the scores of the next word (batch, vocabulary), the weights (batch, location) and the next state.

        `word` is (batch,), the index of the last word; `state` comes from `start` or from the step before.
        """
        hidden, memory, context = state
        seen = torch.cat([self.embed(word), context], dim=-1)  # (batch, d_word + d_feature)
        hidden, memory = self.cell(seen, (hidden, memory))  # each (batch, d_hidden)
        context, weights = self.attention(hidden, features, features)  # (batch, d_feature), (batch, location)
        scores = self.score_words(torch.cat([hidden, context], dim=-1))  # (batch, vocabulary)
        return scores, weights, (hidden, memory, context)


class Captioner(nn.Module):
    """Pictures in, captions out: convolutional features and a decoder that attends to them.

    `attention` defaults to `AdditiveAttention`; an experiment or a learner passes another module.

    >>> captioner = Captioner(vocabulary=12)
    >>> scores, weights = captioner(torch.zeros(2, 3, 32, 32), torch.zeros(2, 6, dtype=torch.long))
    >>> scores.shape, weights.shape
    (torch.Size([2, 6, 12]), torch.Size([2, 6, 64]))
    """

    def __init__(
        self,
        vocabulary: int,
        d_feature: int = 64,
        d_hidden: int = 96,
        d_word: int = 32,
        attention: nn.Module | None = None,
    ):
        super().__init__()
        self.read = ConvFeatures(d_feature)
        if attention is None:
            attention = AdditiveAttention(d_query=d_hidden, d_key=d_feature, d_hidden=64)
        self.decoder = CaptionDecoder(vocabulary, d_feature, d_hidden, d_word, attention)

    def forward(self, images: torch.Tensor, words: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return scores (batch, time, vocabulary) and weights (batch, time, location) under given last words.

        `images` is (batch, 3, H, W); `words` (batch, time) holds, for each step, the word before it. This is teacher
        forcing: the model is asked for the next word after the right words, whatever it would have said itself.
        """
        sizes = check_shape(images, "batch 3 height width", "images")
        check_shape(words, "batch time", "words", batch=sizes["batch"])
        features = self.read(images)  # (batch, location, d_feature)
        state = self.decoder.start(features)
        scores, weights = [], []
        for word in words.unbind(dim=1):
            step_scores, step_weights, state = self.decoder.step(word, state, features)
            scores.append(step_scores)
            weights.append(step_weights)
        return torch.stack(scores, dim=1), torch.stack(weights, dim=1)

    @torch.no_grad()
    def write(self, images: torch.Tensor, start: int, length: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the captions that the model writes itself, (batch, length), and its weights (batch, length, location).

        Each step takes the word with the largest score and feeds it back; `start` is the index of the first input.
        """
        features = self.read(images)  # (batch, location, d_feature)
        state = self.decoder.start(features)
        word = torch.full((len(images),), start, device=images.device)  # (batch,)
        written, weights = [], []
        for _ in range(length):
            scores, step_weights, state = self.decoder.step(word, state, features)
            word = scores.argmax(dim=-1)  # (batch,)
            written.append(word)
            weights.append(step_weights)
        return torch.stack(written, dim=1), torch.stack(weights, dim=1)
