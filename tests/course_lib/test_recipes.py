"""The whole models of 2017 and of today: held to torch's layers and to Llama."""

import pytest
import torch
from torch import nn

from course_lib.losses import token_losses
from course_lib.models.language_model import LanguageModel
from course_lib.models.recipes import language_model_of_2017, make_language_model, todays_language_model
from course_lib.torch_conversion import to_torch
from tests.course_lib.parameters import start_anywhere

SIZES = {"vocab_size": 13, "max_length": 9, "d_model": 12, "heads": 2, "layers": 3}
each_recipe = pytest.mark.parametrize("make", [language_model_of_2017, todays_language_model])
TOKENS = torch.randint(13, (2, 7), generator=torch.Generator().manual_seed(0))


def model(make, **how):
    torch.manual_seed(0)
    return start_anywhere(make(**SIZES, **how)).double().eval()


def test_the_model_of_2017_is_the_layers_of_torch_between_one_table():
    ours = model(language_model_of_2017)
    position, pair = torch.arange(7.0, dtype=torch.float64)[:, None], torch.arange(6)
    angle = position / 10_000 ** (2 * pair / 12)  # (time, pair)
    codes = torch.zeros(7, 12, dtype=torch.float64)
    codes[:, 0::2], codes[:, 1::2] = angle.sin(), angle.cos()
    vectors = ours.embed.weight[TOKENS] * 12**0.5 + codes
    hidden = nn.Transformer.generate_square_subsequent_mask(7, dtype=torch.float64)
    for block in ours.blocks:
        theirs = to_torch(block)
        assert not theirs.norm_first
        vectors = theirs(vectors, src_mask=hidden)
    torch.testing.assert_close(ours(TOKENS), vectors @ ours.embed.weight.T, rtol=1e-5, atol=1e-5)  # codes in float32


def halves(weight, heads):
    """Rows in Llama's order: of each head the first of every pair that is turned, then the second of every pair."""
    return weight.view(heads, -1, 2, weight.shape[1]).transpose(1, 2).reshape(weight.shape)


def test_today_s_model_is_llama():
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    ours = model(todays_language_model)
    configuration = llama.LlamaConfig(
        vocab_size=13,
        hidden_size=12,
        intermediate_size=32,
        num_hidden_layers=3,
        num_attention_heads=2,
        max_position_embeddings=9,
        rms_norm_eps=1e-6,
        rope_theta=10_000.0,
        tie_word_embeddings=True,
    )
    theirs = llama.LlamaForCausalLM(configuration).double().eval()
    names = {"model.embed_tokens.weight": ours.embed.weight, "model.norm.weight": ours.norm.gain}
    for number, block in enumerate(ours.blocks):
        attention, network = block.attention, block.feed_forward
        names |= {
            f"model.layers.{number}.{name}.weight": weight
            for name, weight in {
                "input_layernorm": block.attention_norm.gain,
                "self_attn.q_proj": halves(attention.to_query.weight, 2),
                "self_attn.k_proj": halves(attention.to_key.weight, 2),
                "self_attn.v_proj": attention.to_value.weight,
                "self_attn.o_proj": attention.to_output.weight,
                "post_attention_layernorm": block.feed_forward_norm.gain,
                "mlp.gate_proj": network.gate.weight,
                "mlp.up_proj": network.expand.weight,
                "mlp.down_proj": network.contract.weight,
            }.items()
        }
    loaded = theirs.load_state_dict(names, strict=False)
    assert not loaded.unexpected_keys and loaded.missing_keys in ([], ["lm_head.weight"])
    assert sum(each.numel() for each in ours.parameters()) == sum(each.numel() for each in theirs.parameters())
    with torch.no_grad():
        # Their angles are computed in float32.
        torch.testing.assert_close(ours(TOKENS), theirs(TOKENS).logits, rtol=1e-4, atol=1e-4)


@each_recipe
def test_both_have_as_many_weights_as_the_default(make):
    def matrices(language_model):
        return sum(each.numel() for each in language_model.parameters() if each.dim() > 1)

    assert matrices(make(**SIZES)) == matrices(LanguageModel(**SIZES))


def test_nothing_in_today_s_model_has_a_bias():
    assert not [name for name, _ in todays_language_model(**SIZES).named_parameters() if "bias" in name]


@each_recipe
def test_a_writer_with_a_cache_scores_alike(make):
    language_model, starts = model(make), torch.tensor([0, 2])
    tokens = torch.randint(13, (2, 12), generator=torch.Generator().manual_seed(1))
    writer, padded = language_model.next_token_scorer(), language_model.next_token_scorer(starts)
    for time in range(4, 13):  # from the tenth token on, all positions move
        for scorer, how in ((writer, {}), (padded, {"starts": starts})):
            expected = language_model.next_token_logits(tokens[:, :time], **how)
            torch.testing.assert_close(scorer(tokens[:, :time]), expected)


@each_recipe
def test_it_learns_and_drops_out(make):
    torch.manual_seed(0)
    language_model = make(**SIZES, dropout=0.1)
    assert not torch.equal(language_model(TOKENS), language_model(TOKENS))
    optimiser = torch.optim.Adam(language_model.parameters(), lr=0.01)
    losses = []
    for _ in range(60):
        loss = token_losses(language_model(TOKENS[:, :-1]), TOKENS[:, 1:]).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[0] > 2 and losses[-1] < 1


@pytest.mark.parametrize(
    ("recipe", "make"), [(None, LanguageModel), ("2017", language_model_of_2017), ("today", todays_language_model)]
)
def test_a_recipe_is_made_by_its_name(recipe, make):
    torch.manual_seed(0)
    expected = make(**SIZES, dropout=0.1)
    torch.manual_seed(0)
    found = make_language_model(**SIZES, dropout=0.1, recipe=recipe)
    assert repr(found) == repr(expected) and found.max_length == 9
    torch.testing.assert_close(found.state_dict(), expected.state_dict(), rtol=0, atol=0)


def test_another_recipe_is_named():
    with pytest.raises(ValueError, match="`recipe` is '2018', expected one of 2017, today, or None"):
        make_language_model(**SIZES, recipe="2018")
