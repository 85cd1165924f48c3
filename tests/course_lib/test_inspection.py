import pytest
import torch

from course_lib.blocks import TransformerBlock
from course_lib.inspection import (
    ablate_heads,
    induction_score,
    logit_lens,
    previous_token_score,
    record_attention,
)
from course_lib.models.attention_only import AttentionOnly
from course_lib.models.language_model import LanguageModel
from course_lib.multi_head import MultiHeadAttention


def test_it_records_what_the_attention_returned():
    block = TransformerBlock(d_model=8, heads=2, d_hidden=16, d_memory=6).eval()
    inputs, memory = torch.randn(3, 5, 8), torch.randn(3, 7, 6)
    with record_attention(block) as maps:
        block(inputs, memory)
    assert {name: tuple(each.shape) for name, each in maps.items()} == {
        "attention": (3, 2, 5, 5),
        "cross_attention": (3, 2, 5, 7),
    }
    weights = block.attention(block.attention_norm(inputs))[1]
    assert torch.equal(maps["attention"], weights) and not maps["attention"].requires_grad


def test_nothing_is_left_behind_even_after_an_error():
    block = TransformerBlock(d_model=8, heads=2, d_hidden=16)
    with pytest.raises(ValueError), record_attention(block) as maps:
        block(torch.randn(3, 5, 7))
    block(torch.randn(3, 5, 8))
    assert not maps and not block.attention._forward_hooks


@pytest.mark.parametrize("silent", [[0], [2], [0, 1], []])
def test_a_silent_head_adds_nothing_and_the_others_what_they_did(silent):
    torch.manual_seed(0)
    attention, inputs = MultiHeadAttention(12, 3).double(), torch.randn(2, 5, 12, dtype=torch.float64)
    maps = attention.to_query, attention.to_key, attention.to_value
    split = [project(inputs).unflatten(-1, (3, 4)).transpose(1, 2) for project in maps]  # each (batch, heads, t, d)
    found, _ = attention.attend(*split)
    weight = attention.to_output.weight.unflatten(1, (3, 4))  # (d_model, heads, d_head)
    parts = torch.einsum("bhtd,mhd->bhtm", found, weight)
    expected = sum(parts[:, head] for head in range(3) if head not in silent) + attention.to_output.bias
    with ablate_heads(attention, {"": silent}):
        torch.testing.assert_close(attention(inputs)[0], expected)
    torch.testing.assert_close(attention(inputs)[0], parts.sum(dim=1) + attention.to_output.bias)


def test_ablation_ends_even_after_an_error_and_leaves_the_weights():
    model, tokens = AttentionOnly(7, 9), torch.zeros(1, 4, dtype=torch.long)
    before = model(tokens)
    with pytest.raises(RuntimeError, match="stop"), ablate_heads(model, {"attentions.0": [0], "attentions.1": [1]}):
        assert not torch.equal(model(tokens), before)
        raise RuntimeError("stop")
    assert torch.equal(model(tokens), before)


def test_wrong_names_and_heads_are_told():
    model = AttentionOnly(7, 9)
    with (
        pytest.raises(ValueError, match="'blocks.0', expected one of attentions.0, attentions.1"),
        ablate_heads(model, {"blocks.0": [0]}),
    ):
        pass
    with (
        pytest.raises(ValueError, match=r"`heads` of 'attentions.0' is \[2\], expected numbers below 2"),
        ablate_heads(model, {"attentions.0": [2]}),
    ):
        pass


def test_scores_of_heads_are_those_of_loops():
    weights = torch.rand(3, 2, 9, 9, generator=torch.Generator().manual_seed(0)).softmax(dim=-1)
    periods = torch.tensor([3, 5, 8])
    for head in range(2):
        given = [weights[row, head, t, t - p + 1] for row, p in enumerate(periods.tolist()) for t in range(p, 9)]
        assert induction_score(weights, periods)[head].item() == pytest.approx(sum(given).item() / len(given))
        before = [weights[row, head, t, t - 1] for row in range(3) for t in range(1, 9)]
        assert previous_token_score(weights)[head].item() == pytest.approx(sum(before).item() / len(before))
    with pytest.raises(ValueError, match="expected numbers from 1 to 8"):
        induction_score(weights, torch.tensor([3, 5, 9]))
    with pytest.raises(ValueError, match="`periods` has shape"):
        induction_score(weights, torch.tensor([3]))


@pytest.mark.parametrize("model", [AttentionOnly(7, 9, layers=3), LanguageModel(7, 9, layers=3)])
def test_the_lens_ends_with_the_model_itself_and_begins_with_the_embedding(model):
    tokens = torch.randint(7, (2, 5))
    logits = logit_lens(model, tokens)
    assert logits.shape == (4, 2, 5, 7) and torch.equal(logits[-1], model(tokens)) and not logits.requires_grad
    embedded = model.embed(tokens) + (model.positions[:5] if isinstance(model, AttentionOnly) else 0)
    torch.testing.assert_close(logits[0], model.to_logits(embedded))
    parts = model.attentions if isinstance(model, AttentionOnly) else model.blocks
    del parts[2]  # a model of two layers, whose output layer reads what stood behind the second
    if isinstance(model, AttentionOnly):
        del model.norms[2]
    torch.testing.assert_close(logits[2], model(tokens))
