import math
from functools import partial

import pytest
import torch

from course_lib.attention import attend
from course_lib.blocks import SwiGLU
from course_lib.embedding import TokenEmbedding
from course_lib.losses import token_losses
from course_lib.masks import causal_mask
from course_lib.models.language_model import LanguageModel, learned_positions
from course_lib.multi_head import MultiHeadAttention
from course_lib.normalisation import RMSNorm
from course_lib.positions import sinusoidal_positions
from tests.course_lib.parameters import start_anywhere


def model(**arguments):
    torch.manual_seed(0)
    return LanguageModel(vocab_size=13, max_length=8, d_model=16, heads=2, **arguments).double().eval()


EXCHANGED = {
    "own parts": {},
    "post": {"norm": "post"},
    "no normalisation": {"norm": None},
    "RMSNorm": {"make_norm": RMSNorm},
    "SwiGLU": {"make_feed_forward": SwiGLU, "d_hidden": 43},
    "attention": {"make_attention": partial(MultiHeadAttention, d_head=6)},
    "embedding": {"make_embedding": partial(TokenEmbedding, positions=False)},
    "learned positions": {"make_positions": learned_positions, "rotate": None},
    "sinusoids": {"make_positions": sinusoidal_positions, "rotate": None},
    "no positions": {"rotate": None},
}
each_part = pytest.mark.parametrize("parts", EXCHANGED.values(), ids=EXCHANGED)


def by_hand(language_model, tokens):
    """The model as a formula, from its parts, of which the blocks are held to theirs elsewhere."""
    vectors = language_model.embed(tokens)
    if language_model.positions is not None:
        vectors = vectors + language_model.positions[: tokens.shape[1]]
    for block in language_model.blocks:
        vectors = block(vectors, mask=causal_mask(tokens.shape[1]))
    if language_model.blocks[0].norm == "pre":
        vectors = language_model.norm(vectors)
    return torch.einsum("btd,vd->btv", vectors, language_model.embed.weight)


@each_part
def test_with_any_part_exchanged_it_is_its_formula(parts):
    language_model, tokens = start_anywhere(model(**parts)), torch.randint(13, (2, 6))
    torch.testing.assert_close(language_model(tokens), by_hand(language_model, tokens))


@each_part
def test_with_any_part_exchanged_a_writer_with_a_cache_scores_alike(parts):
    language_model, tokens = start_anywhere(model(**parts)), torch.randint(13, (3, 11))
    writer, starts = language_model.next_token_scorer(), torch.tensor([0, 2, 1])
    padded = language_model.next_token_scorer(starts)
    for time in range(4, 12):  # from the ninth token on, all positions move
        expected = language_model.next_token_logits(tokens[:, :time])
        torch.testing.assert_close(writer(tokens[:, :time]), expected)
        expected = language_model.next_token_logits(tokens[:, :time], starts)
        torch.testing.assert_close(padded(tokens[:, :time]), expected)


@each_part
def test_with_any_part_exchanged_a_text_is_read_alike_wherever_it_begins(parts):
    language_model, tokens = start_anywhere(model(**parts)), torch.randint(13, (2, 5))
    moved = torch.cat([torch.zeros(2, 2, dtype=torch.long), tokens], dim=1)
    torch.testing.assert_close(language_model(moved, torch.tensor([2, 2]))[:, 2:], language_model(tokens))


def test_only_positions_that_are_learned_are_trained_and_kept():
    learned, fixed = model(**EXCHANGED["learned positions"]), model(**EXCHANGED["sinusoids"])
    assert "positions" in learned.state_dict() and "positions" in dict(learned.named_parameters())
    assert "positions" not in fixed.state_dict() and "positions" not in dict(fixed.named_parameters())
    torch.testing.assert_close(fixed.positions, sinusoidal_positions(8, 16).double())
    assert model().positions is None


def test_the_parts_are_told_to_every_block():
    parts = {"norm": "post", "make_norm": RMSNorm, "make_feed_forward": SwiGLU, "rotate": None}
    language_model = model(layers=3, **parts, **EXCHANGED["attention"], **EXCHANGED["embedding"])
    assert isinstance(language_model.embed, TokenEmbedding) and len(language_model.blocks) == 3
    for block in language_model.blocks:
        assert (block.norm, block.attention.rotate, block.attention.d_head) == ("post", None, 6)
        assert isinstance(block.attention_norm, RMSNorm) and isinstance(block.feed_forward, SwiGLU)
    assert isinstance(model(make_norm=RMSNorm).norm, RMSNorm)
    assert not list(language_model.norm.parameters())  # a last block that normalises after its sum is the end


@each_part
def test_no_place_sees_what_comes_after_it(parts):
    language_model, tokens = model(**parts), torch.randint(13, (2, 6))
    before = language_model(tokens)
    for place in range(6):
        changed = tokens.clone()
        changed[:, place] = (changed[:, place] + 1) % 13
        moved = (language_model(changed) - before).abs().amax(dim=(0, 2))
        assert (moved[:place] == 0).all() and (moved[place:] > 1e-9).all()


def test_an_attention_that_ignores_its_mask_leaks():
    leaking = model(attend=lambda query, key, value, mask: attend(query, key, value))
    tokens = torch.randint(13, (1, 6))
    changed = tokens.clone()
    changed[:, -1] = (changed[:, -1] + 1) % 13
    assert (leaking(changed) - leaking(tokens))[:, 0].abs().max() > 1e-9


def test_it_begins_with_nearly_even_probabilities():
    torch.manual_seed(0)
    untrained = LanguageModel(vocab_size=96, max_length=64, d_model=64)
    tokens = torch.randint(96, (8, 65))
    loss = token_losses(untrained(tokens[:, :-1]), tokens[:, 1:]).mean().item()
    assert abs(loss - math.log(96)) < 0.03


def test_table_and_output_are_one():
    names = [name for name, each in model().named_parameters() if 13 in each.shape]
    assert names == ["embed.weight"]


def test_the_next_token_is_scored_from_the_last_tokens_that_fit():
    language_model, tokens = model(), torch.randint(13, (2, 20))
    torch.testing.assert_close(language_model.next_token_logits(tokens), language_model(tokens[:, 12:])[:, -1])
    torch.testing.assert_close(language_model.next_token_logits(tokens[:, :3]), language_model(tokens[:, :3])[:, -1])
    with pytest.raises(ValueError, match="20 positions, expected at most `max_length`, 8"):
        language_model(tokens)


def test_dropout_works_in_training_only():
    language_model, tokens = model(dropout=0.5), torch.randint(13, (1, 6))
    assert torch.equal(language_model(tokens), language_model(tokens))
    language_model.train()
    assert not torch.equal(language_model(tokens), language_model(tokens))


def test_dropout_reaches_every_road():
    assert (model(dropout=1.0).train()(torch.randint(13, (1, 6))) == 0).all()
