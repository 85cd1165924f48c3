"""Published weights in this course's models: which of their names, and in which shape, is which of ours.

GPT-2 (Radford et al., 2019) is a `LanguageModel` with learned positions, BERT (Devlin et al., 2019) a
`MaskedLanguageModel`. Llama (Touvron et al., 2023; Grattafiori et al., 2024) is a `LanguageModel` of today's parts, and
so are Qwen2 (Yang et al., 2024) and Qwen3 (Yang et al., 2025). The names are those of the files that the package
`transformers` reads.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn
from torch.nn.functional import gelu

from course_lib.blocks import FeedForward, SwiGLU
from course_lib.models.language_model import LanguageModel, learned_positions
from course_lib.models.masked_language_model import MaskedLanguageModel
from course_lib.multi_head import MultiHeadAttention
from course_lib.normalisation import LayerNorm, RMSNorm
from course_lib.positions import ROTARY_BASE, Rotation, rotary_frequencies
from course_lib.project import CourseError

Tensors = Mapping[str, torch.Tensor]

# Theirs on the left, ours on the right; N is the number of a layer. A linear layer stands for its weight and its bias.
GPT2 = {
    "wte.weight": "embed.weight",
    "wpe.weight": "positions",
    "ln_f": "norm",
    "h.N.ln_1": "blocks.N.attention_norm",
    "h.N.attn.c_attn": "blocks.N.attention.{to_query,to_key,to_value}",  # side by side in one matrix
    "h.N.attn.c_proj": "blocks.N.attention.to_output",
    "h.N.ln_2": "blocks.N.feed_forward_norm",
    "h.N.mlp.c_fc": "blocks.N.feed_forward.expand",
    "h.N.mlp.c_proj": "blocks.N.feed_forward.contract",
}
BERT = {
    "embeddings.word_embeddings.weight": "embed.weight",
    "embeddings.position_embeddings.weight": "positions",  # plus the vector of the first segment
    "embeddings.LayerNorm": "embed_norm",
    "encoder.layer.N.attention.self.query": "blocks.N.attention.to_query",
    "encoder.layer.N.attention.self.key": "blocks.N.attention.to_key",
    "encoder.layer.N.attention.self.value": "blocks.N.attention.to_value",
    "encoder.layer.N.attention.output.dense": "blocks.N.attention.to_output",
    "encoder.layer.N.attention.output.LayerNorm": "blocks.N.attention_norm",
    "encoder.layer.N.intermediate.dense": "blocks.N.feed_forward.expand",
    "encoder.layer.N.output.dense": "blocks.N.feed_forward.contract",
    "encoder.layer.N.output.LayerNorm": "blocks.N.feed_forward_norm",
    "cls.predictions.transform.dense": "to_guess",
    "cls.predictions.transform.LayerNorm": "guess_norm",
    "cls.predictions.bias": "logit_bias",
}
LLAMA = {
    "embed_tokens.weight": "embed.weight",
    "layers.N.input_layernorm": "blocks.N.attention_norm",
    "layers.N.self_attn.q_proj": "blocks.N.attention.to_query",  # the entries of each head in another order
    "layers.N.self_attn.q_norm": "blocks.N.attention.query_norm",  # Qwen3 only; the order likewise
    "layers.N.self_attn.k_proj": "blocks.N.attention.to_key",
    "layers.N.self_attn.k_norm": "blocks.N.attention.key_norm",
    "layers.N.self_attn.v_proj": "blocks.N.attention.to_value",
    "layers.N.self_attn.o_proj": "blocks.N.attention.to_output",
    "layers.N.post_attention_layernorm": "blocks.N.feed_forward_norm",
    "layers.N.mlp.gate_proj": "blocks.N.feed_forward.gate",
    "layers.N.mlp.up_proj": "blocks.N.feed_forward.expand",
    "layers.N.mlp.down_proj": "blocks.N.feed_forward.contract",
    "norm": "norm",
    "lm_head.weight": "unembed.weight",  # where the output has a table of its own
}
SEGMENTS = "embeddings.token_type_embeddings.weight"
# Masks and angles that older files carry, copies of the table, and what BERT needs for pairs of sentences only.
NOT_NEEDED = re.compile(
    r"h\.\d+\.attn\.(bias|masked_bias)|layers\.\d+\.self_attn\.rotary_emb\.inv_freq"
    r"|lm_head\.weight|cls\.predictions\.decoder\.(weight|bias)|cls\.seq_relationship\..*|pooler\..*|embeddings\.position_ids"
)


def from_gpt2(tensors: Tensors, heads: int) -> LanguageModel:
    """Return a LanguageModel that computes what GPT-2 with these tensors does.

    `tensors` are named as in the published files, with or without "transformer." in front. GPT-2 keeps the matrices of
    its linear layers (in, out), the transpose of torch's, and queries, keys and values in one of them. Raises
    ValueError for a tensor that is missing, has no place here, or has another shape than it should.
    """
    tensors = _without_prefix(tensors, "transformer.")
    vocab_size, d_model = _shape(tensors, "wte.weight")
    max_length, _ = _shape(tensors, "wpe.weight")
    ours = LanguageModel(
        vocab_size,
        max_length,
        d_model,
        heads,
        layers=_layers(tensors, r"h\.(\d+)\."),
        d_hidden=_shape(tensors, "h.0.mlp.c_fc.weight")[1],
        make_feed_forward=partial(FeedForward, activation=partial(gelu, approximate="tanh")),
        make_positions=learned_positions,
        rotate=None,
    )
    turned = {name: each.T if re.search(r"c_\w+\.weight$", name) else each for name, each in tensors.items()}
    return _filled(ours, turned, GPT2)


def from_bert(tensors: Tensors, heads: int) -> MaskedLanguageModel:
    """Return a MaskedLanguageModel that computes what BERT with these tensors does for texts of one segment.

    `tensors` are named as in the published files, with or without "bert." in front, gains and biases of normalisations
    also as "gamma" and "beta". The vector that BERT adds to every token of the first segment is added to the positions.
    Errors are those of `from_gpt2`.
    """
    tensors = _without_prefix(tensors, "bert.")
    tensors = {name.replace(".gamma", ".weight").replace(".beta", ".bias"): each for name, each in tensors.items()}
    vocab_size, d_model = _shape(tensors, "embeddings.word_embeddings.weight")
    max_length, _ = _shape(tensors, "embeddings.position_embeddings.weight")
    ours = MaskedLanguageModel(
        vocab_size,
        max_length,
        d_model,
        heads,
        layers=_layers(tensors, r"encoder\.layer\.(\d+)\."),
        d_hidden=_shape(tensors, "encoder.layer.0.intermediate.dense.weight")[0],
    )
    for module in ours.modules():
        if isinstance(module, LayerNorm):
            module.epsilon = 1e-12
    _shape(tensors, SEGMENTS)
    segments = tensors.pop(SEGMENTS)  # (2, d_model)
    positions = "embeddings.position_embeddings.weight"
    return _filled(ours, tensors | {positions: tensors[positions] + segments[0]}, BERT)


def from_llama(tensors: Tensors, settings: Mapping[str, Any]) -> LanguageModel:
    """Return a LanguageModel that computes what Llama, Qwen2 or Qwen3 with these tensors and settings does.

    `tensors` are named as in the published files, with or without "model." in front; `settings` are those of the file
    `config.json`. Errors are those of `from_gpt2`, and ValueError for a setting that is missing, or that asks for what
    is not computed here: rotations that are slowed otherwise than those of Llama 3.1, another activation than SiLU, or
    layers that read the last positions only.
    """
    tensors = _without_prefix(tensors, "model.")
    rope = settings.get("rope_parameters") or settings.get("rope_scaling") or {}  # the name since 2025, and before
    rope_type = rope.get("rope_type", rope.get("type", "default"))
    for name, found, computed in (
        ("rope_type", rope_type, "llama3" if rope_type == "llama3" else "default"),
        ("hidden_act", settings.get("hidden_act", "silu"), "silu"),
        ("use_sliding_window", settings.get("use_sliding_window", False), False),
    ):
        if found != computed:
            raise ValueError(f"`settings` has {name} {found!r}, expected {computed!r}: nothing else is computed here")
    vocab_size, d_model = _shape(tensors, "embed_tokens.weight")
    heads, tied = _setting(settings, "num_attention_heads"), settings.get("tie_word_embeddings", False)
    rows = _shape(tensors, "layers.0.self_attn.q_proj.weight")[0]
    if heads < 1 or rows % heads:
        raise ValueError(f"`settings` has num_attention_heads {heads}, expected a number that divides {rows}, the rows")
    d_head = rows // heads
    make_norm = partial(RMSNorm, epsilon=_setting(settings, "rms_norm_eps"))
    biased = "layers.0.self_attn.q_proj.bias" in tensors
    frequencies = rotary_frequencies(d_head, rope.get("rope_theta", settings.get("rope_theta", ROTARY_BASE)))
    ours = LanguageModel(
        vocab_size,
        _setting(settings, "max_position_embeddings"),
        d_model,
        heads,
        layers=_layers(tensors, r"layers\.(\d+)\."),
        d_hidden=_shape(tensors, "layers.0.mlp.gate_proj.weight")[0],
        make_norm=make_norm,
        make_attention=partial(
            MultiHeadAttention,
            d_head=d_head,
            key_value_heads=_shape(tensors, "layers.0.self_attn.k_proj.weight")[0] // d_head,
            normalise_heads=make_norm if "layers.0.self_attn.q_norm.weight" in tensors else None,
            bias=biased,
        ),
        make_feed_forward=SwiGLU,
        make_unembed=None if tied else partial(nn.Linear, bias=False),
        rotate=Rotation(_slowed(frequencies, rope) if rope_type == "llama3" else frequencies),
    )
    if tied:
        tensors.pop("lm_head.weight", None)  # a copy of the other table
    turned = {
        name: _neighbours(each, d_head) if re.search(r"\.self_attn\.[qk]_(proj|norm)\.", name) else each
        for name, each in tensors.items()
    }
    if biased:  # Qwen2 has no bias where our attention has its fourth: zeros add nothing
        zeros = {f"layers.{layer}.self_attn.o_proj.bias": torch.zeros(d_model) for layer in range(len(ours.blocks))}
        turned = zeros | turned
    return _filled(ours, turned, LLAMA)


def load(folder: Path | str) -> LanguageModel | MaskedLanguageModel:
    """Return the model in `folder`: its weights in `model.safetensors`, its number of heads in `config.json`.

    Such a folder comes of `hf download openai-community/gpt2 model.safetensors config.json tokenizer.json --local-dir
    gpt2`, and likewise `google-bert/bert-base-uncased` and `HuggingFaceTB/SmolLM2-135M`, which has the layout of Llama.
    Raises CourseError where a file is not there or broken, or is of another family.
    """
    try:
        settings = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
        tensors = load_file(Path(folder) / "model.safetensors")
        family = settings["model_type"]
        if family == "gpt2":
            return from_gpt2(tensors, settings["n_head"]).eval()
        if family == "bert":
            return from_bert(tensors, settings["num_attention_heads"]).eval()
        if family in ("llama", "qwen2", "qwen3"):
            return from_llama(tensors, settings).eval()
    except (OSError, ValueError, TypeError, KeyError, SafetensorError) as error:
        raise CourseError(f"{folder} holds no published model: {error}") from error
    raise CourseError(
        f"{folder} holds a model of the family {family!r}, expected 'gpt2', 'bert', 'llama', 'qwen2' or 'qwen3'"
    )


def _without_prefix(tensors: Tensors, prefix: str) -> dict[str, torch.Tensor]:
    return {name.removeprefix(prefix): each for name, each in tensors.items()}


def _shape(tensors: Tensors, name: str) -> torch.Size:
    if name not in tensors:
        raise ValueError(f"`tensors` has no {name!r}")
    return tensors[name].shape


def _setting(settings: Mapping[str, Any], name: str) -> Any:
    if name not in settings:
        raise ValueError(f"`settings` has no {name!r}")
    return settings[name]


def _slowed(frequencies: torch.Tensor, rope: Mapping[str, Any]) -> torch.Tensor:
    """Return frequencies (width / 2,) as Llama 3.1 has them, which reads further than it was first trained to.

    A pair stays that made `high_freq_factor` rotations or more over the length of the first training; one that made
    `low_freq_factor` or fewer is slowed by the factor. Between them, the share that stays grows with the rotations. So
    it is YaRN (`yarn_frequencies`) by the formula of its paper, with other limits and without its scale.
    """
    rotations = _setting(rope, "original_max_position_embeddings") * frequencies / (2 * math.pi)  # (width / 2,)
    low, high = _setting(rope, "low_freq_factor"), _setting(rope, "high_freq_factor")
    share = ((rotations - low) / (high - low)).clamp(0, 1)  # (width / 2,): 0 at `low` rotations, 1 at `high`
    return torch.lerp(frequencies / _setting(rope, "factor"), frequencies, share)


def _neighbours(rows: torch.Tensor, d_head: int) -> torch.Tensor:
    """Return rows (heads * d_head, ...) with the two entries of each pair that is turned side by side, in every head.

    These files turn entry i of a head together with entry i + d_head / 2, this course, as Su et al. (2021), entry 2i
    with entry 2i + 1. The angles are the same. A dot product of a query and a key does not depend on the order of their
    entries, if both have the same: so the rows that make these entries change places, and nothing else does.
    """
    halves = rows.unflatten(0, (-1, 2, d_head // 2))  # (heads, 2, d_head / 2, ...)
    return halves.transpose(1, 2).flatten(0, 2)  # (heads * d_head, ...)


def _layers(tensors: Tensors, pattern: str) -> int:
    return 1 + max((int(found[1]) for name in tensors if (found := re.match(pattern, name))), default=-1)


@torch.no_grad()
def _filled(ours: nn.Module, tensors: Tensors, names: Mapping[str, str]) -> nn.Module:
    """Copy every tensor to its place in `ours`, as `names` says."""
    state: dict[str, torch.Tensor] = {}
    for name, tensor in tensors.items():
        if name in names or not NOT_NEEDED.fullmatch(name):
            places = _places(name, names)
            state |= zip(places, tensor.chunk(len(places)), strict=True)
    own = ours.state_dict()
    faults = [f"{name} is missing" for name in own if name not in state]
    faults += [
        f"{name} has shape {tuple(each.shape)}, expected {tuple(own[name].shape)}"
        for name, each in state.items()
        if name in own and each.shape != own[name].shape
    ]
    faults += [f"{name} has no place here" for name in state if name not in own]
    if faults:
        raise ValueError(f"`tensors` do not fit: {'; '.join(faults[:3])}")
    ours.load_state_dict(state)
    return ours


def _places(theirs: str, names: Mapping[str, str]) -> Iterable[str]:
    """Return our name, or our three names, of the parameter `theirs`."""
    layer = re.search(r"\.(\d+)\.", theirs)
    general = re.sub(r"\.\d+\.", ".N.", theirs, count=1)
    module, _, kind = general.rpartition(".")
    if general in names:
        place = names[general]
    elif module in names:
        # Our normalisations call their stretch a gain.
        place = f"{names[module]}.{'gain' if kind == 'weight' and 'norm' in names[module].split('.')[-1] else kind}"
    else:
        raise ValueError(f"`tensors` has {theirs!r}, which has no place here")
    place = place.replace(".N.", f".{layer[1]}.") if layer else place
    if "{" not in place:
        return [place]
    before, between, after = re.split(r"[{}]", place)
    return [f"{before}{each}{after}" for each in between.split(",")]
