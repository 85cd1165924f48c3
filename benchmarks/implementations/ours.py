"""The course's own code, as its chapters and `course train` use it.

Rotary positions, ReLU, a table that is input and output. Its layers have biases.
"""

import torch
from torch import nn

from benchmarks.implementations import PADDING, START, Sizes, Trainable, Translator
from course_lib.decoding import greedy_decode
from course_lib.losses import token_losses
from course_lib.models.encoder_decoder import EncoderDecoder
from course_lib.models.language_model import LanguageModel
from course_lib.multi_head import MultiHeadAttention


def attention_layer(sizes: Sizes) -> nn.Module:
    """Return the layer by the fused kernel."""
    layer = MultiHeadAttention(sizes.width, sizes.heads)
    return lambda inputs: layer(inputs, causal=True, need_weights=False)[0]


def attention_layer_with_weights(sizes: Sizes) -> nn.Module:
    """Return the layer that makes its weights, too."""
    layer = MultiHeadAttention(sizes.width, sizes.heads)
    return lambda inputs: layer(inputs, causal=True)[0]


def model(sizes: Sizes) -> LanguageModel:
    """Return the language model itself."""
    return LanguageModel(sizes.vocab, sizes.context, sizes.width, sizes.heads, sizes.layers)


def language_model(sizes: Sizes) -> Trainable:
    """Return the language model with its loss."""
    made = model(sizes)
    return Trainable(made, lambda tokens, targets: token_losses(made(tokens), targets).mean())


def talkative(module: nn.Module, last_norm: nn.Module) -> nn.Module:
    """Return the model with weights for which its tokens depend on what it has read.

    Untrained, it would repeat one token: its table is the output, too, and a vector is most like itself. Random gains
    of the last normalisation and larger weights of what sublayers add change that, and so equal texts mean something.
    """
    nn.init.normal_(last_norm.gain)
    for name, parameter in module.named_parameters():
        if name.endswith(("contract.weight", "to_output.weight")):
            nn.init.normal_(parameter, std=3 * parameter.shape[1] ** -0.5)
    return module.eval()


def writing_model(sizes: Sizes) -> LanguageModel:
    """Return a language model to write with."""
    made = model(sizes)
    return talkative(made, made.norm)


def writer(sizes: Sizes):
    """Return a function that writes with the cache."""
    made = writing_model(sizes)
    return lambda prompt, length: greedy_decode(made.next_token_scorer(), prompt, None, length)


def writer_without_cache(sizes: Sizes):
    """Return a function that reads everything anew for each token: the specification of the cache."""
    made = writing_model(sizes)
    return lambda prompt, length: greedy_decode(made.next_token_logits, prompt, None, length)


def encoder_decoder(sizes: Sizes) -> Translator:
    """Return the encoder and decoder with its loss and its way to write."""
    made = EncoderDecoder(sizes.vocab, sizes.width, sizes.heads, sizes.layers, sizes.hidden, padding=PADDING)

    def loss(source: torch.Tensor, words: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        present = targets != PADDING  # (batch, m)
        return token_losses(made(source, words), targets).masked_fill(~present, 0.0).sum() / present.sum()

    def write(source: torch.Tensor, length: int, cached: bool = True) -> torch.Tensor:
        prompt = torch.full((len(source), 1), START)  # (batch, 1)
        with torch.no_grad():
            scorer = made.next_token_scorer(source, cached=cached)
        return greedy_decode(scorer, prompt, None, length)[:, 1:]

    return Translator(made, loss, write)
