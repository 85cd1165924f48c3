"""From one sequence to another: an encoder, a decoder, and what passes between them."""

import torch
from torch import nn

from course_lib.attention import AdditiveAttention, DotAttention
from course_lib.decoding import greedy_decode
from course_lib.recurrence import GRUCell, unroll
from course_lib.shapes import check_shape


class Seq2Seq(nn.Module):
    """Read a sequence with one recurrent network, the encoder, and write another with a second one, the decoder.

    Without `attention`, all that the decoder learns of the source is one vector of `d_hidden` entries, the encoder's
    last state (Sutskever, Vinyals and Le, 2014; Cho et al., 2014). With "additive" or "dot" scores the decoder also
    averages all of the encoder's states anew before every word (Bahdanau, Cho and Bengio, 2015; Luong, Pham and
    Manning, 2015); an experiment may pass another module with the signature of `AdditiveAttention`. A `bidirectional`
    encoder reads from both ends with half of the state each.

    >>> model = Seq2Seq(vocab_size=21, attention="additive")
    >>> logits, weights = model(torch.zeros(2, 7, dtype=torch.long), torch.zeros(2, 5, dtype=torch.long))
    >>> logits.shape, weights.shape
    (torch.Size([2, 5, 21]), torch.Size([2, 5, 7]))
    """

    def __init__(
        self,
        vocab_size: int,
        attention: str | nn.Module | None = None,
        bidirectional: bool = True,
        d_hidden: int = 64,
        d_word: int = 32,
    ):
        super().__init__()
        if isinstance(attention, str):
            if attention not in ("additive", "dot"):
                raise ValueError(f'`attention` is {attention!r}, expected "additive", "dot", a module or None')
            attention = AdditiveAttention(d_hidden, d_hidden, d_hidden) if attention == "additive" else DotAttention()
        if bidirectional and d_hidden % 2:
            raise ValueError(f"`d_hidden` is {d_hidden}, expected an even number: half of it for each direction")
        self.attention = attention
        self.embed = nn.Embedding(vocab_size, d_word)
        d_forward = d_hidden // 2 if bidirectional else d_hidden
        self.encoder_forward = GRUCell(d_word, d_forward)
        self.encoder_backward = GRUCell(d_word, d_forward) if bidirectional else None
        self.hand_over = nn.Linear(d_hidden, d_hidden)
        d_context = 0 if attention is None else d_hidden
        self.cell = GRUCell(d_word + d_context, d_hidden)
        self.to_logits = nn.Linear(d_hidden + d_context, vocab_size)

    def encode(self, source: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the encoder's states (batch, n, d_hidden) and the decoder's first state (batch, d_hidden)."""
        check_shape(source, "batch n", "source")
        embedded = self.embed(source)  # (batch, n, d_word)
        states = unroll(self.encoder_forward, embedded)  # (batch, n, d_forward)
        last = states[:, -1]  # (batch, d_forward)
        if self.encoder_backward is not None:
            backward = unroll(self.encoder_backward, embedded.flip(1)).flip(1)  # (batch, n, d_forward)
            # Each direction has read everything at its own end.
            last = torch.cat([last, backward[:, 0]], dim=-1)  # (batch, d_hidden)
            states = torch.cat([states, backward], dim=-1)  # (batch, n, d_hidden)
        return states, self.hand_over(last).tanh()

    def step(
        self, word: torch.Tensor, hidden: torch.Tensor, states: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor]:
        """Return the logits of the next word (batch, vocab), the weights (batch, n) and the next hidden state.

        `word` (batch,) is the last word, `hidden` (batch, d_hidden) the state, which is the query; `states` is what
        `encode` returned. Without attention the weights are None.
        """
        seen = self.embed(word)  # (batch, d_word)
        if self.attention is None:
            hidden = self.cell(seen, hidden)  # (batch, d_hidden)
            return self.to_logits(hidden), None, hidden
        context, weights = self.attention(hidden, states, states)  # (batch, d_hidden), (batch, n)
        hidden = self.cell(torch.cat([seen, context], dim=-1), hidden)  # (batch, d_hidden)
        return self.to_logits(torch.cat([hidden, context], dim=-1)), weights, hidden

    def forward(self, source: torch.Tensor, words: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return logits (batch, time, vocab) and weights (batch, time, n), or None, under given last words.

        `source` is (batch, n); `words` (batch, time) holds, for each step, the word before it: teacher forcing.
        """
        states, hidden = self.encode(source)
        check_shape(words, "batch time", "words", batch=len(source))
        logits, weights = [], []
        for word in words.unbind(dim=1):
            step_logits, step_weights, hidden = self.step(word, hidden, states)
            logits.append(step_logits)
            weights.append(step_weights)
        return torch.stack(logits, dim=1), None if self.attention is None else torch.stack(weights, dim=1)

    @torch.no_grad()
    def greedy_decode(self, source: torch.Tensor, start: int, length: int) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return what the model writes itself, (batch, length), and its weights (batch, length, n), or None.

        Each step takes the word with the largest logit and feeds it back; `start` is the index of the first input.
        """
        states, hidden = self.encode(source)
        weights = []

        def next_token_logits(written: torch.Tensor) -> torch.Tensor:
            nonlocal hidden
            logits, step_weights, hidden = self.step(written[:, -1], hidden, states)
            weights.append(step_weights)
            return logits

        prompt = torch.full((len(source), 1), start, device=source.device)  # (batch, 1)
        written = greedy_decode(next_token_logits, prompt, end=None, max_length=length)[:, 1:]  # (batch, length)
        return written, None if self.attention is None else torch.stack(weights, dim=1)
