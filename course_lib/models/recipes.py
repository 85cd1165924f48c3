"""Two language models of exchanged parts: the transformer of 2017, and that of today."""

from functools import partial

from course_lib.blocks import SwiGLU, gated_d_hidden
from course_lib.embedding import TokenEmbedding
from course_lib.models.language_model import LanguageModel
from course_lib.multi_head import MultiHeadAttention
from course_lib.normalisation import RMSNorm
from course_lib.positions import sinusoidal_positions


def language_model_of_2017(
    vocab_size: int, max_length: int, d_model: int = 64, heads: int = 4, layers: int = 2, dropout: float = 0.0
) -> LanguageModel:
    """Return a language model of the parts of 2017: a decoder that reads no memory.

    LayerNorm stands after each sum, the feed-forward networks have ReLU, and sinusoids are added to the vectors of the
    tokens, which are multiplied by the root of d_model. After Vaswani et al. (2017).

    >>> language_model_of_2017(vocab_size=96, max_length=32).blocks[0].norm
    'post'
    """
    return LanguageModel(
        vocab_size,
        max_length,
        d_model,
        heads,
        layers,
        dropout=dropout,
        norm="post",
        make_embedding=partial(TokenEmbedding, positions=False),
        make_positions=sinusoidal_positions,
        rotate=None,
    )


def todays_language_model(
    vocab_size: int, max_length: int, d_model: int = 64, heads: int = 4, layers: int = 2, dropout: float = 0.0
) -> LanguageModel:
    """Return a language model of today's parts, with as many weights as `LanguageModel` has.

    RMSNorm stands before each sublayer, the feed-forward networks are SwiGLU of 8/3 of d_model, queries and keys are
    rotated by their positions, and nothing has a bias. After Touvron et al. (2023).

    >>> language_model = todays_language_model(vocab_size=96, max_length=32)
    >>> [name for name, _ in language_model.named_parameters() if "bias" in name]
    []
    """
    return LanguageModel(
        vocab_size,
        max_length,
        d_model,
        heads,
        layers,
        d_hidden=gated_d_hidden(4 * d_model),
        dropout=dropout,
        make_norm=RMSNorm,
        make_attention=partial(MultiHeadAttention, bias=False),
        make_feed_forward=SwiGLU,
    )


RECIPES = {"2017": language_model_of_2017, "today": todays_language_model}


def make_language_model(
    vocab_size: int,
    max_length: int,
    d_model: int = 64,
    heads: int = 4,
    layers: int = 2,
    dropout: float = 0.0,
    recipe: str | None = None,
) -> LanguageModel:
    """Return the language model of a recipe by its name, a key of RECIPES, or the one that needs none.

    Raises ValueError for another name.

    >>> make_language_model(vocab_size=96, max_length=32, recipe="2017").blocks[0].norm
    'post'
    """
    if recipe is not None and recipe not in RECIPES:
        raise ValueError(f"`recipe` is {recipe!r}, expected one of {', '.join(RECIPES)}, or None")
    make = LanguageModel if recipe is None else RECIPES[recipe]
    return make(vocab_size, max_length, d_model, heads, layers, dropout=dropout)
