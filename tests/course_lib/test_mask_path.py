"""One path for masks: from `causal` and padding down to torch's fused kernel, or to a learner's function."""

import ast
from collections import Counter

import pytest
import torch
from torch.nn import functional

from course_lib.attention import scaled_dot_product_attention
from course_lib.blocks import TransformerBlock
from course_lib.inspection import record_attention
from course_lib.masks import left_padding_mask, token_padding_mask
from course_lib.models.attention_only import AttentionOnly
from course_lib.models.caption_transformer import CaptionTransformer, Parts
from course_lib.models.classifier import SequenceClassifier
from course_lib.models.encoder_decoder import EncoderDecoder
from course_lib.models.language_model import LanguageModel, learned_positions
from course_lib.models.masked_language_model import MaskedLanguageModel
from course_lib.models.vision_transformer import VisionTransformer
from course_lib.multi_head import MultiHeadAttention
from course_lib.project import root

TOKENS = torch.tensor([[3, 4, 5, 6, 7], [8, 9, 1, 0, 0]])  # 0 is padding
SMALL = {"d_model": 8, "heads": 2, "layers": 2}
IMAGES = torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))


def captioner(attend=scaled_dot_product_attention):
    return CaptionTransformer(11, Parts(scaled_dot_product_attention=attend), **SMALL)


def padded_on_the_left(model):
    return model(TOKENS.flip(1), starts=torch.tensor([0, 2]))


# How a model is made, with an attention; what is asked of it; the attention that it has by default; and the calls of
# the kernel in one forward pass, (is_causal, whether a mask is handed over): how many there are of each kind.
MODELS = {
    "attention only": (
        lambda **how: AttentionOnly(11, 9, **SMALL, **how),
        lambda model: model(TOKENS),
        {(True, False): 2},
    ),
    "language model": (
        lambda **how: LanguageModel(11, 9, **SMALL, **how),
        lambda model: model(TOKENS),
        {(True, False): 2},
    ),
    "language model, learned positions": (
        lambda **how: LanguageModel(11, 9, **SMALL, **how, make_positions=learned_positions, rotate=None),
        lambda model: model(TOKENS),
        {(True, False): 2},
    ),
    "language model, padded on the left": (
        lambda **how: LanguageModel(11, 9, **SMALL, **how),
        padded_on_the_left,
        {(False, True): 2},
    ),
    "masked language model": (
        lambda **how: MaskedLanguageModel(11, 9, **SMALL, **how),
        lambda model: model(TOKENS),
        {(False, True): 2},
    ),
    "masked language model, causal": (
        lambda **how: MaskedLanguageModel(11, 9, **SMALL, causal=True, **how),
        lambda model: model(TOKENS),
        {(False, True): 2},
    ),
    "encoder and decoder": (
        lambda **how: EncoderDecoder(11, **SMALL, **how),
        lambda model: model(TOKENS, TOKENS[:, :4]),
        {(False, True): 4, (True, False): 2},
    ),
    "classifier": (
        lambda **how: SequenceClassifier(11, 3, **SMALL, **how),
        lambda model: model(TOKENS),
        {(False, True): 2},
    ),
    "vision transformer": (
        lambda **how: VisionTransformer(channels=3, side=32, patch=8, **SMALL, **how),
        lambda model: model(IMAGES.to(next(model.parameters()).dtype)),
        {(False, False): 2},
    ),
    "caption transformer": (
        captioner,
        lambda model: model(IMAGES.to(next(model.parameters()).dtype), TOKENS)[0],
        {(True, False): 2},
    ),
}
each_model = pytest.mark.parametrize(("make", "ask", "calls"), MODELS.values(), ids=MODELS)


@pytest.fixture
def kernel(monkeypatch):
    """Count the calls of torch's kernel by (is_causal, whether a mask is handed over)."""
    seen, real = Counter(), functional.scaled_dot_product_attention

    def spy(query, key, value, attn_mask=None, is_causal=False):
        seen[is_causal, attn_mask is not None] += 1
        return real(query, key, value, attn_mask=attn_mask, is_causal=is_causal)

    monkeypatch.setattr(functional, "scaled_dot_product_attention", spy)
    return seen


@each_model
def test_training_reaches_the_fused_kernel_and_where_it_can_its_own_causal_mode(make, ask, calls, kernel):
    ask(make().train()).sum().backward()
    assert kernel == calls


@each_model
def test_a_function_that_no_kernel_is_known_for_enters_by_argument_and_gives_the_same(make, ask, calls, kernel):
    torch.manual_seed(0)
    asked = []

    def by_hand(query, key, value, mask=None):
        asked.append(mask)
        return scaled_dot_product_attention(query, key, value, mask)

    fused, explicit = make().double(), make(attend=by_hand).double()
    explicit.load_state_dict(fused.state_dict())
    outputs = ask(fused), ask(explicit)
    assert len(asked) == sum(calls.values()) == sum(kernel.values())
    torch.testing.assert_close(*outputs)
    direction = torch.randn_like(outputs[0])
    gradients = [
        torch.autograd.grad((output * direction).sum(), list(model.parameters()), materialize_grads=True)
        for output, model in zip(outputs, (fused, explicit), strict=True)
    ]
    for name, mine, theirs in zip(dict(fused.named_parameters()), *gradients, strict=True):
        torch.testing.assert_close(mine, theirs, msg=lambda text, name=name: f"{name}: {text}")


@each_model
def test_whoever_records_gets_the_weights_and_the_same_outputs(make, ask, calls, kernel):
    model = make().eval()
    expected = ask(model)
    kernel.clear()
    with record_attention(model) as maps:
        torch.testing.assert_close(ask(model), expected, rtol=1e-4, atol=1e-5)
    assert not kernel and len(maps) == sum(calls.values())
    for weights in maps.values():
        rows = weights.sum(dim=-1)  # 0 where a query may attend to nothing
        assert ((rows - 1).abs().minimum(rows) < 1e-5).all()
    ask(model)
    assert kernel == calls


def test_a_block_hides_the_future_by_its_flag_as_by_a_mask():
    torch.manual_seed(0)
    block, inputs = TransformerBlock(8, 2, 16).double(), torch.randn(2, 5, 8, dtype=torch.float64)
    causal = torch.tensor([[key <= query for key in range(5)] for query in range(5)])
    hidden = token_padding_mask(TOKENS, 0)
    torch.testing.assert_close(block(inputs, causal=True), block(inputs, mask=causal))
    torch.testing.assert_close(block(inputs, mask=hidden, causal=True), block(inputs, mask=hidden & causal))
    assert (block(inputs, causal=True) - block(inputs)).abs().max() > 0.01


@pytest.mark.parametrize("need_weights", [False, True])
def test_with_more_keys_than_queries_the_queries_are_the_last(need_weights):
    torch.manual_seed(0)
    attention, inputs = MultiHeadAttention(8, 2).double(), torch.randn(2, 6, 8, dtype=torch.float64)
    whole, _ = attention(inputs, causal=True)
    for new in (1, 2, 6):
        key, value = attention.project_memory(inputs)
        last, _ = attention.attend_to(inputs[:, -new:], key, value, None, True, need_weights)
        torch.testing.assert_close(last, whole[:, -new:])


def test_a_mask_may_have_the_keys_alone():
    torch.manual_seed(0)
    attention, inputs = MultiHeadAttention(8, 2).double(), torch.randn(2, 3, 8, dtype=torch.float64)
    mask = torch.tensor([True, False, True])
    torch.testing.assert_close(*(attention(inputs, mask=mask, need_weights=need)[0] for need in (True, False)))


def test_padding_is_hidden_wherever_it_stands():
    assert token_padding_mask(torch.tensor([[0, 4, 0, 5]]), 0).tolist() == [[[False, True, False, True]]]
    assert left_padding_mask(torch.tensor([3, 0]), time=4).tolist() == [[[False] * 3 + [True]], [[True] * 4]]
    with pytest.raises(ValueError, match="`tokens` has shape"):
        token_padding_mask(torch.zeros(3), 0)
    with pytest.raises(ValueError, match="`starts` has shape"):
        left_padding_mask(torch.zeros(1, 3), 4)


# ---------------------------------------------------------------- masks are made in one module


def hand_made_masks(source: str) -> list[int]:
    """Return the lines on which a mask is made: a triangle, or tokens compared with padding."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute | ast.Name):
            name = node.attr if isinstance(node, ast.Attribute) else node.id
            if name in ("tril", "triu", "causal_mask"):
                lines.append(node.lineno)
        elif isinstance(node, ast.Compare) and not any(isinstance(each, ast.Is | ast.IsNot) for each in node.ops):
            sides = [ast.unparse(side).lower() for side in (node.left, *node.comparators)]
            if any("padding" in side or "starts" in side for side in sides):
                lines.append(node.lineno)
    return lines


def test_what_is_a_mask_made_by_hand_is_recognised():
    assert hand_made_masks("mask = torch.ones(3, 3).tril()") == [1]
    assert hand_made_masks("x = 1\nmask = causal_mask(3) & torch.triu(y)") == [2, 2]
    assert hand_made_masks("mask = (words != self.padding).unsqueeze(1)") == [1]
    assert hand_made_masks("mask = columns >= starts[:, None]") == [1]
    assert hand_made_masks("rows = None if starts is None else starts[origin]") == []
    assert hand_made_masks("mask = token_padding_mask(words, self.padding)") == []


def test_no_model_makes_a_mask():
    folder = root() / "course_lib"
    files = [*sorted((folder / "models").glob("*.py")), *(folder / f"{name}.py" for name in ("blocks", "multi_head"))]
    files += [folder / f"{name}.py" for name in ("cache", "fused_attention", "inspection", "decoding", "positions")]
    found = {file.name: lines for file in files if (lines := hand_made_masks(file.read_text(encoding="utf-8")))}
    # The part of exercise 09.2 says which steps of a loss count.
    [(name, [line])] = found.items()
    text = (folder / "models" / name).read_text(encoding="utf-8").splitlines()[line - 1]
    assert name == "caption_transformer.py" and text.endswith("targets != padding")
