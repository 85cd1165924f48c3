"""Small random checkpoints of the published layouts, made by `transformers`, compute here what they compute there."""

import json

import pytest
import torch
from safetensors.torch import save_file

from course_lib.models import published
from course_lib.models.published import BERT, GPT2, LLAMA, from_bert, from_gpt2, from_llama
from course_lib.positions import rotary_frequencies
from course_lib.project import CourseError

TABLES = ("word", "position", "token_type")
transformers = pytest.importorskip("transformers")


@pytest.fixture
def gpt2():
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=23, n_positions=12, n_embd=16, n_layer=3, n_head=4, bos_token_id=0, eos_token_id=0
    )
    return shaken(transformers.GPT2LMHeadModel(config))


@pytest.fixture
def bert():
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=23,
        max_position_embeddings=12,
        hidden_size=16,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=40,
    )
    return shaken(transformers.BertForMaskedLM(config))


TODAYS = {  # what the three differ in, and an epsilon, a base and a width of heads that are nobody's default
    "llama": {},
    "qwen2": {},
    "qwen3": {"head_dim": 6},
}


def todays(family, **changes):
    """A small model of one of today's families: four heads that share two keys and values."""
    torch.manual_seed(0)
    settings = {
        "vocab_size": 23,
        "hidden_size": 16,
        "intermediate_size": 40,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 12,
        "rope_theta": 500_000.0,
        "rms_norm_eps": 0.03,
        "bos_token_id": 0,
        "eos_token_id": 0,
    }
    config = transformers.AutoConfig.for_model(family, **settings | TODAYS[family] | changes)
    return shaken(transformers.AutoModelForCausalLM.from_config(config), size=0.6)


def shaken(model, size=0.3):
    """Give every parameter random entries: as they begin, biases are all 0, and a lost one would not be seen."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * size)
    return model.eval()


def test_gpt2_gives_the_same_logits(gpt2):
    ours, tokens = from_gpt2(gpt2.state_dict(), heads=4), torch.randint(23, (2, 9))
    assert gpt2(tokens).logits.std() > 0.5
    torch.testing.assert_close(ours(tokens), gpt2(tokens).logits, atol=1e-4, rtol=0)
    # With the cache, and left padding, as well.
    padded = torch.cat([torch.zeros(2, 3, dtype=torch.long), tokens], dim=1)
    logits = ours.next_token_scorer(torch.tensor([3, 3]))(padded)
    torch.testing.assert_close(logits, gpt2(tokens).logits[:, -1], atol=1e-4, rtol=0)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("family", TODAYS)
def test_todays_families_give_the_same_logits(family, tied):
    theirs, tokens = todays(family, tie_word_embeddings=tied), torch.randint(23, (2, 9))
    ours, expected = from_llama(theirs.state_dict(), theirs.config.to_dict()), theirs(tokens).logits
    assert expected.std() > 0.5
    torch.testing.assert_close(ours(tokens), expected, atol=1e-4, rtol=0)
    assert (ours.unembed is None) == tied and ours.max_length == 12
    # At every position with the cache, which holds the keys and values of two heads, and with left padding, as well.
    padded = torch.cat([torch.zeros(2, 3, dtype=torch.long), tokens], dim=1)
    scorer, starts = ours.next_token_scorer(), torch.tensor([3, 3])
    scorer_of_padded = ours.next_token_scorer(starts)
    for time in range(1, 10):
        for logits in (scorer(tokens[:, :time]), scorer_of_padded(padded[:, : 3 + time])):
            torch.testing.assert_close(logits, expected[:, time - 1], atol=1e-4, rtol=0)
    torch.testing.assert_close(ours(padded, starts)[:, 3:], expected, atol=1e-4, rtol=0)


def test_llama_with_biases_and_wide_heads_and_older_files():
    theirs, tokens = todays("llama", attention_bias=True, head_dim=10), torch.randint(23, (2, 9))
    settings = theirs.config.to_dict()
    # Files before 2025 have the base of the rotations among the other settings, and the angles of some as a tensor.
    settings |= {"rope_theta": settings.pop("rope_parameters")["rope_theta"], "rope_scaling": None}
    tensors = {name.removeprefix("model."): each for name, each in theirs.state_dict().items()}
    tensors["layers.0.self_attn.rotary_emb.inv_freq"] = torch.ones(5)
    torch.testing.assert_close(from_llama(tensors, settings)(tokens), theirs(tokens).logits, atol=1e-4, rtol=0)


def test_the_rotations_of_llama_3_1_are_slowed_to_read_further():
    slowed = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    slowed |= {"original_max_position_embeddings": 64, "rope_theta": 500.0}
    theirs, tokens = todays("llama", head_dim=10, rope_parameters=slowed), torch.randint(23, (2, 12))
    settings = theirs.config.to_dict()
    expected = theirs(tokens).logits
    torch.testing.assert_close(from_llama(theirs.state_dict(), settings)(tokens), expected, atol=1e-4, rtol=0)
    settings["rope_parameters"] = {"rope_type": "default", "rope_theta": 500.0}
    assert (from_llama(theirs.state_dict(), settings)(tokens) - expected).abs().max() > 0.1
    # One pair of each kind: of the five, some stay, some are slowed, and one is between.
    rotations = 64 * rotary_frequencies(10, 500.0) / (2 * torch.pi)
    assert (rotations > 4).any() and (rotations < 1).any() and ((rotations > 1) & (rotations < 4)).any()


def test_the_first_llama_says_no_base_of_its_rotations_and_means_10_000():
    theirs, tokens = todays("llama", rope_theta=10_000.0), torch.randint(23, (2, 9))
    settings = {name: each for name, each in theirs.config.to_dict().items() if "rope" not in name}
    ours = from_llama(theirs.state_dict(), settings)
    torch.testing.assert_close(ours(tokens), theirs(tokens).logits, atol=1e-4, rtol=0)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"rope_scaling": {"rope_type": "llama3"}}, "no 'original_max_position_embeddings'"),
        ({"rope_scaling": {"type": "linear", "factor": 2.0}}, "rope_type 'linear', expected 'default'"),
        ({"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4}}, "rope_type 'yarn', expected 'default'"),
        ({"hidden_act": "gelu"}, "hidden_act 'gelu', expected 'silu'"),
        ({"use_sliding_window": True}, "use_sliding_window True, expected False"),
        ({"num_attention_heads": 3}, "num_attention_heads 3, expected a number that divides 16"),
        ({"num_attention_heads": 0}, "num_attention_heads 0, expected a number that divides 16"),
    ],
)
def test_what_is_not_computed_here_is_refused(changes, sentence):
    theirs = todays("llama")
    settings = {name: each for name, each in theirs.config.to_dict().items() if "rope" not in name}
    with pytest.raises(ValueError, match=f"`settings` has {sentence}"):
        from_llama(theirs.state_dict(), settings | changes)


@pytest.mark.parametrize("name", ["num_attention_heads", "rms_norm_eps", "max_position_embeddings"])
def test_a_setting_that_is_missing_is_named(name):
    theirs = todays("llama")
    settings = {each: value for each, value in theirs.config.to_dict().items() if each != name}
    with pytest.raises(ValueError, match=f"`settings` has no '{name}'"):
        from_llama(theirs.state_dict(), settings)


def test_tensors_of_todays_families_that_do_not_fit_are_named():
    theirs = todays("llama")
    tensors, settings = theirs.state_dict(), theirs.config.to_dict()
    gate = "model.layers.1.mlp.gate_proj"
    with pytest.raises(ValueError, match="unembed.weight is missing"):
        from_llama({name: each for name, each in tensors.items() if "lm_head" not in name}, settings)
    with pytest.raises(ValueError, match="blocks.1.feed_forward.gate.weight is missing"):
        from_llama({name: each for name, each in tensors.items() if gate not in name}, settings)
    with pytest.raises(ValueError, match="blocks.1.feed_forward.gate.bias has no place here"):
        from_llama(tensors | {f"{gate}.bias": torch.zeros(40)}, settings)
    with pytest.raises(ValueError, match=r"to_value.weight has shape \(16, 16\), expected \(8, 16\)"):
        from_llama(tensors | {"model.layers.0.self_attn.v_proj.weight": torch.zeros(16, 16)}, settings)


def test_bert_gives_the_same_logits_also_where_there_is_padding(bert):
    ours, tokens = from_bert(bert.state_dict(), heads=4), torch.randint(1, 23, (2, 9))
    tokens[1, 6:] = 0
    theirs = bert(tokens, attention_mask=(tokens != 0).long()).logits
    assert theirs.std() > 0.5
    torch.testing.assert_close(ours(tokens)[0], theirs[0], atol=1e-4, rtol=0)
    torch.testing.assert_close(ours(tokens)[1, :6], theirs[1, :6], atol=1e-4, rtol=0)


def test_quiet_vectors_are_normalised_as_there(bert):
    """Entries of a thousandth: what is added to their variance must be the published number."""
    with torch.no_grad():
        for table in (bert.bert.embeddings.get_parameter(f"{name}_embeddings.weight") for name in TABLES):
            table *= 1e-3
    # The table is the output, too, and makes the logits as small: in float64 they can be told apart all the same.
    ours, theirs, tokens = from_bert(bert.state_dict(), heads=4).double(), bert.double(), torch.randint(1, 23, (2, 9))
    torch.testing.assert_close(ours(tokens), theirs(tokens).logits, atol=1e-9, rtol=0)


def test_the_tables_name_every_tensor_that_is_needed(gpt2, bert):
    """No entry of the documented mapping is idle: without it, the model cannot be filled."""
    qwen3 = todays("qwen3")  # has all that Llama has, and more
    for names, convert, tensors, how in (
        (GPT2, from_gpt2, gpt2.state_dict(), 4),
        (BERT, from_bert, bert.state_dict(), 4),
        (LLAMA, from_llama, qwen3.state_dict(), qwen3.config.to_dict()),
    ):
        for theirs in list(names):
            taken = names.pop(theirs)
            try:
                with pytest.raises(ValueError, match=r"has no place here|unembed.weight is missing"):
                    convert(tensors, how)
            finally:
                names[theirs] = taken


def test_older_files_say_gamma_and_beta_and_carry_more(gpt2, bert):
    tokens = torch.randint(1, 23, (1, 5))
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): each
        for name, each in bert.state_dict().items()
    }
    old |= {"bert.pooler.dense.weight": torch.zeros(16, 16), "cls.seq_relationship.bias": torch.zeros(2)}
    torch.testing.assert_close(from_bert(old, heads=4)(tokens), bert(tokens).logits, atol=1e-4, rtol=0)
    old = {name.removeprefix("transformer."): each for name, each in gpt2.state_dict().items()}
    del old["lm_head.weight"]
    old["h.0.attn.bias"] = torch.ones(1, 1, 12, 12)
    torch.testing.assert_close(from_gpt2(old, heads=4)(tokens), gpt2(tokens).logits, atol=1e-4, rtol=0)


def test_what_does_not_fit_is_named(gpt2):
    tensors = gpt2.state_dict()
    with pytest.raises(ValueError, match="has no 'wpe.weight'"):
        from_gpt2({name: each for name, each in tensors.items() if "wpe" not in name}, heads=4)
    with pytest.raises(ValueError, match="has no 'h.0.mlp.c_fc.weight'"):
        from_gpt2({name: each for name, each in tensors.items() if ".h." not in name}, heads=4)
    with pytest.raises(ValueError, match="blocks.1.feed_forward.expand.bias is missing"):
        from_gpt2({name: each for name, each in tensors.items() if "h.1.mlp.c_fc.bias" not in name}, heads=4)
    with pytest.raises(ValueError, match="'transformer.adapter.weight'|'adapter.weight', which has no place"):
        from_gpt2(tensors | {"adapter.weight": torch.zeros(2)}, heads=4)
    with pytest.raises(ValueError, match=r"norm.gain has shape \(5,\), expected \(16,\)"):
        from_gpt2(tensors | {"transformer.ln_f.weight": torch.zeros(5)}, heads=4)


@pytest.mark.parametrize("family", ["gpt2", "bert", *TODAYS])
def test_a_folder_is_loaded_as_it_was_downloaded(tmp_path, family, request):
    theirs = todays(family) if family in TODAYS else request.getfixturevalue(family)
    theirs.save_pretrained(tmp_path)
    tokens = torch.randint(1, 23, (2, 7))
    torch.testing.assert_close(published.load(tmp_path)(tokens), theirs(tokens).logits, atol=1e-4, rtol=0)


def test_a_folder_that_holds_something_else_is_one_clear_sentence(tmp_path):
    with pytest.raises(CourseError, match="holds no published model"):
        published.load(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "t5"}))
    (tmp_path / "model.safetensors").write_bytes(b"no tensors")
    with pytest.raises(CourseError, match="holds no published model"):
        published.load(tmp_path)
    save_file({"a": torch.zeros(1)}, tmp_path / "model.safetensors")
    with pytest.raises(CourseError, match="family 't5', expected 'gpt2', 'bert', 'llama', 'qwen2' or 'qwen3'"):
        published.load(tmp_path)
    for settings in ([], {}, {"model_type": "gpt2"}, {"model_type": "gpt2", "n_head": 2}, {"model_type": "qwen2"}):
        (tmp_path / "config.json").write_text(json.dumps(settings))
        with pytest.raises(CourseError, match="holds no published model"):
            published.load(tmp_path)
