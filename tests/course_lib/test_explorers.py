"""What an explorer refuses; what it shows stands in tests/book/test_explorers_rendered.py."""

import re
from base64 import b64decode
from functools import partial
from itertools import product

import numpy
import pytest
import torch
from torch import nn
from torch.nn.functional import gelu

from course_lib.blocks import FeedForward, SwiGLU, TransformerBlock
from course_lib.data import number_names
from course_lib.data.negations import VOCABULARY
from course_lib.data.python_reference import CHARACTERS
from course_lib.embedding import TokenEmbedding
from course_lib.explorers.cache import explore_cache
from course_lib.explorers.captions import explore_captions
from course_lib.explorers.heads import explore_heads
from course_lib.explorers.hiding import explore_hiding
from course_lib.explorers.induction import explore_induction
from course_lib.explorers.looking import explore_looking
from course_lib.explorers.orders import steps_until_learned
from course_lib.explorers.orders_table import DEPTHS, LEARNING_RATES, ORDERS, SEEDS, measure, read_table
from course_lib.explorers.permutation import explore_permutation
from course_lib.explorers.positions import explore_positions
from course_lib.explorers.routing import explore_routing
from course_lib.explorers.speculation import explore_speculation, record_speculation
from course_lib.explorers.text import explore_text
from course_lib.explorers.translation import explore_translation
from course_lib.explorers.weights import check_parts, packed
from course_lib.models.attention_only import AttentionOnly
from course_lib.models.caption_transformer import CaptionTransformer, Parts
from course_lib.models.classifier import SequenceClassifier
from course_lib.models.encoder_decoder import EncoderDecoder
from course_lib.models.language_model import LanguageModel, learned_positions
from course_lib.multi_head import MultiHeadAttention
from course_lib.normalisation import LayerNorm, RMSNorm
from course_lib.positions import DistanceBiasedAttention, Rotation, rotary_attention, rotary_frequencies
from course_lib.sinks import GatedAttention
from course_lib.speculative import speculative_decode


@pytest.mark.parametrize("locations", [3, 9])
def test_locations_that_do_not_tile_the_picture_are_refused(locations):
    weights = torch.full((1, 1, locations), 1 / locations)
    with pytest.raises(ValueError, match=f"{locations} locations are no square grid over an image with a side of 4"):
        explore_looking(torch.zeros(1, 3, 4, 4), [["red"]], weights)


def unpacked(entry):
    kind = "<f2" if "half" in entry else "<i2"
    numbers = numpy.frombuffer(b64decode(entry.get("half", entry.get("whole"))), kind).astype("float64")
    return torch.tensor(numbers * entry.get("unit", 1)).view(entry["shape"])


def test_what_float16_holds_is_packed_without_loss_and_the_rest_nearly():
    exact, other = torch.randn(2, 7, 30).unbind()
    exact = exact.half().float()
    exact[0, :3] = torch.tensor([0.0, 2.0**-24, -65504.0])  # zero, one that is subnormal, the largest
    result = packed({"a.weight": exact, "b.weight": other, "c.bias": torch.zeros(3)})
    assert "half" in result["a.weight"] and "half" in result["c.bias"] and "whole" in result["b.weight"]
    torch.testing.assert_close(unpacked(result["a.weight"]), exact.half().double(), atol=0, rtol=0)
    largest = other.abs().max().item()
    torch.testing.assert_close(unpacked(result["b.weight"]), other.double(), atol=largest / 65_000, rtol=0)


@pytest.mark.parametrize(
    ("changes", "arguments", "words"),
    [
        ({}, {"prompt": ""}, "`prompt` has 0 characters, expected 1 to 8"),
        ({}, {"prompt": "123456789"}, "`prompt` has 9 characters, expected 1 to 8"),
        ({}, {"layer": 3}, "`layer` is 3 and `head` 1, expected 1 to 2 and 1 to 4"),
        ({}, {"head": 0}, "`layer` is 1 and `head` 0, expected 1 to 2 and 1 to 4"),
        ({"vocab_size": 7}, {}, "must have rotary positions and the 96 characters"),
        ({"make_positions": learned_positions}, {}, "must have rotary positions and the 96 characters"),
        ({"make_embedding": partial(TokenEmbedding, positions=False)}, {}, "must have one table, an nn.Embedding"),
        ({"make_unembed": partial(nn.Linear, bias=False)}, {}, "must have one table, an nn.Embedding"),
        ({"rotate": None}, {}, "blocks.0.attention, a module MultiHeadAttention"),
        ({"rotate": Rotation(rotary_frequencies(16, 500_000))}, {}, "blocks.0.attention, a module MultiHeadAttention"),
        ({"attend": rotary_attention}, {}, "blocks.0.attention, a module MultiHeadAttention"),
        ({"make_attention": partial(MultiHeadAttention, key_value_heads=2)}, {}, "blocks.0.attention, a module Multi"),
        ({"make_attention": partial(MultiHeadAttention, normalise_heads=RMSNorm)}, {}, "blocks.0.attention, a module"),
        ({"make_attention": GatedAttention}, {}, "blocks.0.attention, a module GatedAttention"),
        ({"norm": "post"}, {}, "blocks.0, a module TransformerBlock"),
        ({"norm": None}, {}, "blocks.0, a module TransformerBlock"),
        ({"make_norm": RMSNorm}, {}, "blocks.0.attention_norm, a module RMSNorm"),
        ({"make_norm": partial(LayerNorm, epsilon=1e-3)}, {}, "blocks.0.attention_norm, a module LayerNorm"),
        ({"make_feed_forward": SwiGLU}, {}, "blocks.0.feed_forward, a module SwiGLU"),
        ({"make_feed_forward": partial(FeedForward, activation=gelu)}, {}, "blocks.0.feed_forward, a module FeedForw"),
    ],
)
def test_a_text_that_cannot_be_explored_is_refused(changes, arguments, words):
    model = LanguageModel(**{"vocab_size": len(CHARACTERS), "max_length": 8} | changes)
    with pytest.raises(ValueError, match=words):
        explore_text(model, **{"prompt": "if x"} | arguments)


def test_a_model_of_other_parts_is_refused_only_where_the_page_computes_something_else():
    """What it computes stands in tests/book/test_explorers_rendered.py; without biases, it is a part of that."""
    without_bias = partial(MultiHeadAttention, bias=False)
    explore_text(LanguageModel(len(CHARACTERS), 8, dropout=0.1, make_attention=without_bias), "if x")
    block = TransformerBlock(8, 2, 16, residual=False)
    with pytest.raises(ValueError, match="does not compute: 0, a module TransformerBlock"):
        check_parts(nn.Sequential(block))


@pytest.mark.parametrize(
    ("explore", "make", "where"),
    [
        (lambda model: explore_hiding(model, torch.ones(1, 4, dtype=torch.long)), SequenceClassifier, "blocks.0."),
        (lambda model: explore_induction(model, "abc"), AttentionOnly, "attentions.0"),
        (lambda model: explore_translation(model, 49), EncoderDecoder, "encoder.0."),
    ],
)
def test_an_attention_that_the_page_does_not_compute_is_refused(explore, make, where):
    sizes = {
        SequenceClassifier: {"vocab_size": len(VOCABULARY), "classes": 2},
        AttentionOnly: {"vocab_size": 8, "max_length": 8},
        EncoderDecoder: {"vocab_size": len(number_names.VOCABULARY)},
    }[make]
    explore(make(**sizes))
    with pytest.raises(ValueError, match=f"does not compute: {where}.*a module MultiHeadAttention"):
        explore(make(**sizes, attend=DistanceBiasedAttention(heads=4, reach=2)))


def test_signs_of_a_text_are_markup_nowhere():
    shown = explore_text(LanguageModel(vocab_size=len(CHARACTERS), max_length=8), "a<b&\n").data
    assert all(f">{sign}</span>" in shown for sign in ("&lt;", "&amp;", "⏎\n"))


@pytest.mark.parametrize("changes", [{"pool": "max"}, {"padding": -1}, {"vocab_size": 9}, {"classes": 3}])
def test_a_classifier_of_something_else_is_refused(changes):
    model = SequenceClassifier(**{"vocab_size": len(VOCABULARY), "classes": 2} | changes)
    with pytest.raises(ValueError, match=f"expected 'mean', 0, {len(VOCABULARY)} and 2"):
        explore_hiding(model, torch.ones(1, 4, dtype=torch.long))


@pytest.mark.parametrize("prompt", [0, 3])
def test_a_decode_without_two_steps_after_its_prompt_is_refused(prompt):
    with pytest.raises(ValueError, match=f"`prompt` is {prompt}, expected 1 to 2"):
        explore_cache("abcd", prompt, d_model=8, heads=2)


@pytest.mark.parametrize("sequence", ["", "abcabcabc", "ab c", "xyz"])
def test_a_sequence_of_no_tokens_or_too_many_is_refused(sequence):
    with pytest.raises(ValueError, match=f"`sequence` is '{sequence}', expected 1 to 8 letters of abcdefgh"):
        explore_induction(AttentionOnly(vocab_size=8, max_length=8), sequence)


def test_a_model_with_more_tokens_than_letters_is_refused():
    with pytest.raises(ValueError, match="37 tokens, expected at most 36"):
        explore_induction(AttentionOnly(vocab_size=37, max_length=8), "ab")


def test_outlines_are_where_an_earlier_copy_stands_before_the_key():
    shown = explore_induction(AttentionOnly(vocab_size=8, max_length=8), "abcabb").data
    cells = re.findall(r"<i(?: class=\"(\w+)\")? style", shown)  # (query, key), row by row
    outlined = [divmod(number, 6) for number, look in enumerate(cells) if look == "match"]
    assert len(cells) == 36 and outlined == [(3, 1), (4, 2), (5, 2), (5, 5)]
    assert cells.count("future") == 15


@pytest.mark.parametrize("caption", ["red circle", "circle red above blue square", "red circle below blue square"])
def test_a_scene_that_is_none_is_refused(caption):
    with pytest.raises(ValueError, match="expected colour, shape, relation, colour and shape"):
        explore_captions(CaptionTransformer(vocab_size=12).eval(), caption)


def test_a_captioner_that_the_page_cannot_compute_is_refused():
    other = CaptionTransformer(vocab_size=12, parts=Parts(merge_heads=lambda vectors: vectors.flatten(2))).eval()
    with pytest.raises(ValueError, match="made of other parts"):
        explore_captions(other)
    with pytest.raises(ValueError, match="in training mode"):
        explore_captions(CaptionTransformer(vocab_size=12))


def test_the_table_of_orders_is_what_a_training_gives():
    rows = read_table()
    kinds = [(row["order"], row["depth"], row["learning_rate"]) for row in rows]
    assert kinds == list(product(ORDERS, DEPTHS, LEARNING_RATES))
    assert {(len(row["losses"]), *map(len, row["losses"])) for row in rows} == {(len(SEEDS), 15, 15, 15)}
    for order in ORDERS:  # processors round differently, and a training enlarges it: the first 20 steps
        kept = rows[kinds.index((order, 2, 0.01))]["losses"][1]
        assert measure(order, 2, 0.01, seed=1)[:2] == pytest.approx(kept[:2], abs=0.02)


def test_the_table_of_orders_says_what_chapter_8_says():
    steps = {
        (row["order"], row["depth"], row["learning_rate"]): [*map(steps_until_learned, row["losses"])]
        for row in read_table()
    }
    never = [None] * 3
    pre, post, deep, light = ORDERS
    assert [steps[post, 16, rate] == never for rate in LEARNING_RATES] == [False, True, True]
    assert [steps[deep, 16, rate] == never for rate in LEARNING_RATES] == [False, False, True]
    assert all(None not in steps[order, *rest] for order in (pre, light) for rest in product(DEPTHS, LEARNING_RATES))
    assert steps[light, 16, 0.01] == steps[deep, 16, 0.01] == [30, 30, 30]
    assert steps[pre, 16, 0.01] == [40, 50, 40]


def test_a_bias_of_too_few_positions_or_of_other_shape_is_refused():
    tokens, weights = torch.eye(2), torch.eye(2)
    with pytest.raises(ValueError, match="`bias` has 7 positions, expected at least 8"):
        explore_positions(tokens, weights, weights, torch.zeros(7, 7))
    with pytest.raises(ValueError, match=r"`bias` has shape \(8, 9\)"):
        explore_positions(tokens, weights, weights, torch.zeros(8, 9))
    with pytest.raises(ValueError, match=r"`to_key` has shape \(3, 2\)"):
        explore_positions(tokens, weights, torch.zeros(3, 2), torch.zeros(8, 8))


@pytest.mark.parametrize("rounds", [[], [((), "a")], [((("a", 0.5, 0.5, 0.5),), "b"), ((), "c")]])
def test_a_speculation_without_drafts_is_refused(rounds):
    with pytest.raises(ValueError, match="expected at least one round, each with at least one draft"):
        explore_speculation("", rounds)


@pytest.mark.parametrize("numbers", [(0.0, 0.5, 0.5), (0.5, 1.1, 0.5), (1.1, 0.5, 0.5), (0.5, 0.5, -0.1)])
def test_a_draft_with_a_probability_that_is_none_is_refused(numbers):
    with pytest.raises(ValueError, match="expected q above 0 and at most 1, and p and drawn from 0 to 1"):
        explore_speculation("", [((("a", *numbers),), "b")])


def test_tokens_of_a_speculation_are_markup_nowhere():
    shown = explore_speculation("<i>", [((("<b>", 0.5, 0.5, 0.5), ("\n", 0.5, 0.5, 0.5)), "</script>")]).data
    assert "<b>" not in shown.split("</script>", 1)[1] and "<td>new line</td>" in shown
    assert shown.count("</script>") == 1 and "<td>&lt;/script&gt;</td>" in shown and "<td>&lt;b&gt;</td>" in shown


@pytest.mark.parametrize(
    ("tokens", "routings", "words"),
    [
        ("", {"with": [[]]}, "0 tokens and 1 trainings, expected at least one"),
        ("ab", {}, "2 tokens and 0 trainings, expected at least one"),
        ("ab", {"with": []}, "expected at least one, each with layers"),
        ("ab", {"with": [2 * [[(0, 1.0)]]], "without": 2 * [2 * [[(0, 1.0)]]]}, "expected the same number of layers"),
        ("abc", {"with": [2 * [[(0, 1.0)]]]}, "layer 1 'with' has 2 tokens, expected 3"),
        (
            "ab",
            {"with": [2 * [[(0, 1.0)]], [[(3, 1.0)], [(4, 1.0)]]]},
            "layer 2 'with' has experts .4., expected 0 to 3",
        ),
    ],
)
def test_a_routing_that_does_not_fit_is_refused(tokens, routings, words):
    with pytest.raises(ValueError, match=words):
        explore_routing(tokens, routings, experts=4)


def test_what_is_recorded_is_what_speculative_decoding_writes():
    small, large = torch.tensor([[0.0, 1.0, 2.0], [1.0, 0.0, -1.0]])  # logits (vocab,)
    models = (lambda tokens: small[None], lambda tokens, last: large.expand(1, last, 3))
    for seed in range(20):
        first, second = (torch.Generator().manual_seed(seed) for _ in range(2))
        written = [0]
        for drafts, token in record_speculation(*models, torch.tensor([[0]]), 3, first, str):
            kept = [draft.drawn is not None and draft.drawn < draft.p / draft.q for draft in drafts]
            written += [int(draft.token) for draft in drafts[: (kept + [False]).index(False)]] + [int(token)]
        due = speculative_decode(*models, torch.tensor([[0]]), 15, second).tokens[0].tolist()
        assert written == due[: len(written)] and len(written) > 3


def test_what_is_recorded_can_be_explored_and_continues_where_a_round_ended():
    small, large = (
        LanguageModel(vocab_size=8, max_length=64, d_model=16, heads=2, layers=layers).eval() for layers in (1, 2)
    )
    scorers = small.last_logits_scorer(), large.last_logits_scorer()
    prompt, read = torch.tensor([[3, 1]]), []

    def last_logits(tokens, last):
        read.append(tokens[0].tolist())
        return scorers[1](tokens, last)

    generator = torch.Generator().manual_seed(1)
    rounds = record_speculation(lambda tokens: scorers[0](tokens, 1)[:, -1], last_logits, prompt, 5, generator, str)
    assert len(rounds) == len(read) == 5
    text = prompt[0].tolist()
    for (drafts, token), tokens in zip(rounds, read, strict=True):
        assert tokens == [*text, *(int(draft.token) for draft in drafts)]
        verdicts = [draft.drawn is not None and draft.drawn < min(1, draft.p / draft.q) for draft in drafts]
        text = [*tokens[: len(text) + (verdicts + [False]).index(False)], int(token)]
    assert "speculation-explorer" in explore_speculation("31", rounds).data
    with pytest.raises(ValueError, match="`drafts` is 0, expected at least 1"):
        record_speculation(lambda tokens: tokens, last_logits, prompt, 1, generator, str, drafts=0)


@pytest.mark.parametrize(
    ("names", "features", "words"),
    [(["the"], "ab", "`names` has 1, expected 2"), (["the", "cat"], "abc", "`features` has 3, expected 2")],
)
def test_tokens_and_columns_without_a_name_are_refused(names, features, words):
    with pytest.raises(ValueError, match=words):
        explore_permutation(torch.eye(2), names, features)


@pytest.mark.parametrize(
    ("names", "heads", "words"), [(["the"], 2, "`names` has 1, expected 4"), ("abcd", 3, "3"), ("abcd", 0, "0")]
)
def test_heads_that_do_not_fit_are_refused(names, heads, words):
    with pytest.raises(ValueError, match=words):
        explore_heads(*torch.eye(4).expand(4, 4, 4), names, heads)
