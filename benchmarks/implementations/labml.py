"""labml's annotated implementations (2020): time before batch, attention written out, untied tables; no cache."""

import torch

from benchmarks.implementations import PADDING, START, Sizes, Translator
from benchmarks.implementations.torch_modules import mean_loss
from benchmarks.peers import module


def encoder_decoder(sizes: Sizes) -> Translator:
    """Return its encoder and decoder with fixed positions."""
    project = module("labml", "labml_nn.transformers")
    models = module("labml", "labml_nn.transformers.models")
    feed_forward = module("labml", "labml_nn.transformers.feed_forward").FeedForward

    def attention():
        return project.MultiHeadAttention(sizes.heads, sizes.width, dropout_prob=0.0)

    def layer(source_attention=None):
        return project.TransformerLayer(
            d_model=sizes.width,
            self_attn=attention(),
            src_attn=source_attention,
            feed_forward=feed_forward(sizes.width, sizes.hidden, dropout=0.0),
            dropout_prob=0.0,
        )

    made = project.EncoderDecoder(
        project.Encoder(layer(), sizes.layers),
        project.Decoder(layer(attention()), sizes.layers),
        models.EmbeddingsWithPositionalEncoding(sizes.width, sizes.vocab, sizes.context),
        models.EmbeddingsWithPositionalEncoding(sizes.width, sizes.vocab, sizes.context),
        project.Generator(sizes.vocab, sizes.width),
    )

    def hidden(source):
        return (source != PADDING)[None]  # (1, n, batch): every query sees the same keys

    def causal(time):
        return torch.ones(time, time, dtype=torch.bool).tril()[:, :, None]  # (time, time, 1)

    def loss(source, words, targets):
        source, words = source.T, words.T  # (n, batch), (m, batch)
        vectors = made(source, words, hidden(source), causal(len(words)))  # (m, batch, width)
        return mean_loss(made.generator(vectors), targets.T)

    @torch.inference_mode()
    def write(source, length):
        source = source.T  # (n, batch)
        memory = made.encode(source, hidden(source))  # (n, batch, width)
        words = torch.full((1, source.shape[1]), START)  # (1, batch)
        for _ in range(length):
            vectors = made.decode(memory, hidden(source), words, causal(len(words)))  # (time, batch, width)
            words = torch.cat([words, made.generator(vectors[-1:]).argmax(-1)])
        return words[1:].T

    return Translator(made, loss, write)
