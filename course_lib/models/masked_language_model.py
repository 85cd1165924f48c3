"""A model that fills gaps: some tokens are hidden, and it says what they were, from what stands on both sides."""

from collections.abc import Callable
from functools import partial

import torch
from torch import nn
from torch.nn.functional import gelu

from course_lib.attention import scaled_dot_product_attention
from course_lib.blocks import FeedForward, TransformerBlock
from course_lib.masks import token_padding_mask
from course_lib.normalisation import LayerNorm
from course_lib.shapes import check_shape

HIDDEN, RANDOM = 0.8, 0.1  # fractions of the selected tokens; the rest stays as it is
INIT_STD = 0.02  # standard deviation of the tables' first entries


def mask_tokens(
    tokens: torch.Tensor,
    generator: torch.Generator,
    vocab_size: int,
    mask_id: int,
    first_word: int,
    mask_rate: float = 0.15,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Select tokens to predict, each with probability `mask_rate`: return inputs (batch, time), and which are selected.

    Of the selected ones, 80 % become `mask_id`, 10 % a random word and 10 % stay, so that no token can be trusted.
    Tokens (batch, time) below `first_word` are special: they are never selected, and no random word is one of them.
    After Devlin et al. (2019). Raises ValueError for a `mask_rate` that is not from 0 to 1.

    >>> tokens = torch.arange(2, 12).unsqueeze(0)
    >>> generator = torch.Generator().manual_seed(1)
    >>> inputs, selected = mask_tokens(tokens, generator, 12, mask_id=1, first_word=2, mask_rate=0.5)
    >>> bool((inputs == tokens)[~selected].all())
    True
    """
    check_shape(tokens, "batch time", "tokens")
    if not 0 <= mask_rate <= 1:
        raise ValueError(f"`mask_rate` is {mask_rate}, expected from 0 to 1")
    shape = tokens.shape  # (batch, time), as of all tensors below
    selection = torch.rand(shape, generator=generator)
    corruption = torch.rand(shape, generator=generator)
    replacements = torch.randint(first_word, vocab_size, shape, generator=generator)
    selected = (selection < mask_rate) & (tokens >= first_word)
    inputs = torch.where(selected & (corruption < HIDDEN), mask_id, tokens)
    inputs = torch.where(selected & (corruption >= 1 - RANDOM), replacements, inputs)
    return inputs, selected


class MaskedLanguageModel(nn.Module):
    """Give the logits of every token at every position of a text in which some tokens are hidden.

    Every position reads all others, except `padding`. With `causal`, it reads only those before it: the control of
    Chapter 12. The layout is that of BERT (Devlin et al., 2019) for texts of one segment: learned positions, a
    normalisation after every sum, GELU, and an output that is the table of token vectors behind one more layer.

    >>> model = MaskedLanguageModel(vocab_size=67, max_length=15)
    >>> model(torch.ones(2, 12, dtype=torch.long)).shape
    torch.Size([2, 12, 67])
    """

    def __init__(
        self,
        vocab_size: int,
        max_length: int,
        d_model: int = 64,
        heads: int = 4,
        layers: int = 2,
        d_hidden: int = 128,
        causal: bool = False,
        padding: int = 0,
        attend: Callable = scaled_dot_product_attention,
    ):
        super().__init__()
        self.causal, self.padding = causal, padding
        self.embed = nn.Embedding(vocab_size, d_model)
        self.positions = nn.Parameter(INIT_STD * torch.randn(max_length, d_model))
        nn.init.normal_(self.embed.weight, std=INIT_STD)
        self.embed_norm = LayerNorm(d_model)
        make_feed_forward = partial(FeedForward, activation=gelu)
        self.blocks = nn.ModuleList(
            TransformerBlock(d_model, heads, d_hidden, norm="post", attend=attend, make_feed_forward=make_feed_forward)
            for _ in range(layers)
        )
        self.to_guess = nn.Linear(d_model, d_model)
        self.guess_norm = LayerNorm(d_model)
        self.logit_bias = nn.Parameter(torch.zeros(vocab_size))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return logits (batch, time, vocab) of what stands at each position of tokens (batch, time).

        Raises ValueError for more than `max_length` tokens.
        """
        time = check_shape(tokens, "batch time", "tokens")["time"]
        if time > len(self.positions):
            raise ValueError(f"`tokens` has {time} positions, expected at most `max_length`, {len(self.positions)}")
        mask = token_padding_mask(tokens, self.padding)  # (batch, 1, time)
        vectors = self.embed_norm(self.embed(tokens) + self.positions[:time])  # (batch, time, d_model)
        for block in self.blocks:
            vectors = block(vectors, mask=mask, causal=self.causal)  # (batch, time, d_model)
        guesses = self.guess_norm(gelu(self.to_guess(vectors)))  # (batch, time, d_model)
        return guesses @ self.embed.weight.T + self.logit_bias  # (batch, time, vocab)
