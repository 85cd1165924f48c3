import html
import json
import re
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file

from course_lib import capstone
from course_lib.attention import scaled_dot_product_attention
from course_lib.capstone.pictures import save_report_card
from course_lib.data import scenes
from course_lib.models.caption_transformer import CaptionTransformer, CrossAttention, Parts, loss_at_every_step

EXACT = "exact captions, fresh scenes"


@pytest.fixture(scope="module")
def card():
    return capstone.report_card(capstone.load_caption_transformer(), seed=5)


def card_of(**parts):
    """The report card of the trained weights with other parts, on few scenes."""
    return capstone.report_card(capstone.load_caption_transformer(Parts(**parts)), seed=5, number=50)


def failing(card):
    return [measure.name for measure in card.measures if not measure.holds]


def test_the_reference_solution_passes(card):
    assert card.passed and not failing(card)
    assert card[EXACT] >= 0.98
    assert str(card).endswith("all that is demanded holds")


def test_the_reference_weights_are_small_and_say_how_they_were_made():
    weights = capstone.REFERENCE.with_suffix(".safetensors")
    assert weights.stat().st_size <= 1_000_000
    assert {str(tensor.dtype) for tensor in load_file(weights).values()} == {"torch.float16", "torch.int64"}
    facts = json.loads(capstone.REFERENCE.with_suffix(".json").read_text(encoding="utf-8"))
    assert facts["command"].startswith("python -m course_lib.capstone --steps")
    assert facts["report_card"][EXACT] >= 0.98


def test_captions_of_other_pictures_are_not_exact():
    model, test = capstone.load_caption_transformer(), capstone.fresh_scenes(200, seed=5)
    assert capstone.exact_rate(capstone.write_captions(model, test.images), test) >= 0.95
    assert capstone.exact_rate(capstone.write_captions(model, test.images.roll(1, dims=0)), test) <= 0.1


def test_a_leaking_mask_is_seen():
    def unmasked(query, key, value, mask):
        return scaled_dot_product_attention(query, key, value)

    failed = failing(card_of(scaled_dot_product_attention=unmasked))
    assert "a later word moves a logit by" in failed and "writing word by word moves a logit by" in failed


def test_a_writer_that_does_not_look_fails():
    class Blindfold(CrossAttention):
        def forward(self, vectors, memory, present):
            output, weights = super().forward(vectors, memory, present)
            return 0 * output, torch.full_like(weights, 1 / weights.shape[-1])

    card = card_of(CrossAttention=Blindfold)
    assert {EXACT, "pointing: first colour", "pointing: second colour"} <= set(failing(card))
    assert card[EXACT] <= 0.1


def test_padding_that_is_read_is_seen():
    class Careless(CrossAttention):
        def forward(self, vectors, memory, present):
            return super().forward(vectors, memory, torch.ones_like(present))

    assert failing(card_of(CrossAttention=Careless)) == ["padding of the picture moves a logit by"]


def test_padding_that_is_paid_for_is_seen():
    def paid(logits, targets, counts):
        return loss_at_every_step(logits, targets, torch.ones_like(counts))

    assert failing(card_of(loss_at_every_step=paid)) == ["padding of the words moves the loss by"]


def test_a_beam_that_is_wrong_is_seen():
    def stops_at_once(next_log_probabilities, prompt, end, width, max_length):
        return torch.full((max_length,), end), torch.tensor(0.0)

    assert failing(card_of(beam_search=stops_at_once)) == ["exact captions, beam of 3, 40 scenes"]


def test_training_shows_seen_combinations_only_and_repeats_itself(monkeypatch):
    drawn, make_scenes = [], scenes.make_scenes

    def recording(number, seed, combinations):
        drawn.append((seed, combinations))
        return make_scenes(number, seed, combinations)

    monkeypatch.setattr(scenes, "make_scenes", recording)
    trained = []
    for _ in range(2):
        torch.manual_seed(0)
        model = CaptionTransformer(len(scenes.VOCABULARY), d_model=16, heads=2, d_hidden=16)
        trained.append(capstone.train_caption_transformer(model, steps=3, seed=2, number=70))
        assert not model.training
    assert trained[0] == trained[1] and len(trained[0]) == 3
    assert {combinations for _, combinations in drawn} == {scenes.SEEN}
    capstone.fresh_scenes(2, seed=2), capstone.unseen_scenes(2, seed=2)
    assert [seed for seed, _ in drawn] == [21, 21, 22, 23]
    assert drawn[-1][1] == scenes.UNSEEN


def test_training_reads_the_parts():
    def nothing(logits, targets, counts):
        return 0 * logits.sum(), logits.sum(dim=-1)

    model = CaptionTransformer(
        len(scenes.VOCABULARY), Parts(loss_at_every_step=nothing), d_model=16, heads=2, d_hidden=16
    )
    assert capstone.train_caption_transformer(model, steps=2, number=70) == [0, 0]


def test_weights_come_back_into_a_model_of_other_parts(tmp_path):
    model = CaptionTransformer(len(scenes.VOCABULARY), d_model=16, heads=2, layers=1, d_hidden=24)
    model(torch.rand(4, 3, 32, 32), torch.zeros(4, 2, dtype=torch.long))  # moves what batch normalisation keeps
    capstone.save_caption_transformer(model.eval(), tmp_path / "new" / "mine", command="by hand")
    again = capstone.load_caption_transformer(
        replace(Parts(), merge_heads=Parts().merge_heads), tmp_path / "new" / "mine"
    )
    images, words = torch.rand(2, 3, 32, 32), torch.zeros(2, 6, dtype=torch.long)
    with torch.no_grad():
        torch.testing.assert_close(again(images, words)[0], model(images, words)[0], rtol=0, atol=0.01)
    assert again.configuration == model.configuration and not again.training


def test_multiplications_are_those_of_the_formula():
    counts = capstone.operations(capstone.load_caption_transformer(), torch.zeros(3, 32, 32))
    picture = 16 * 16 * 24 * 27 + 8 * 8 * 48 * 216 + 64 * 48 * 64 + 64 * 2 * 64
    keys = 2 * 64 * (64 * 64 + 64 * 64)
    words = sum(
        2 * (4 * t * 64 * 64 + 2 * t * t * 64 + t * 64 * 64 + 2 * t * 64 * 64 + 2 * t * 64 * 128) + t * 64 * 12
        for t in range(1, 7)
    )
    words_once = sum(
        2 * (4 * 64 * 64 + 2 * t * 64 + 64 * 64 + 2 * 64 * 64 + 2 * 64 * 128) + 64 * 12 for t in range(1, 7)
    )
    assert counts == {
        "anew": 6 * (picture + keys) + words,
        "picture once": picture + 6 * keys + words,
        "keys once": picture + keys + words_once,
    }


def test_the_card_shows_right_and_wrong_captions_and_where_the_writer_looked(card):
    assert len(card.examples) == 6
    assert {example.right for example in card.examples} == {True, False}
    for example in card.examples:
        assert example.right == (example.written == example.shows)
        torch.testing.assert_close(example.weights.sum(dim=-1), torch.ones(6))


def test_the_file_fetches_nothing(card, tmp_path):
    save_report_card(card, tmp_path / "card.html")
    page = (tmp_path / "card.html").read_text(encoding="utf-8")
    assert "data:image/png;base64," in page and "Passed: all that is demanded holds." in page
    assert not re.search(r"https?:|<script|<link", page)
    assert all(html.escape(measure.name) in page for measure in card.measures)


@pytest.mark.parametrize(
    ("value", "bounds", "holds"),
    [(0.95, {"at_least": 0.95}, True), (0.94, {"at_least": 0.95}, False), (2, {"at_most": 1}, False)]
    + [(float("nan"), {"at_least": 0}, False), (float("nan"), {}, True)],
)
def test_a_line_holds_or_fails(value, bounds, holds):
    assert capstone.Measure("line", value, **bounds).holds is holds
