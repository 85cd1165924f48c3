import math

import pytest
import torch

from course_lib.attention import attend
from course_lib.losses import token_losses
from course_lib.models.language_model import LanguageModel


def model(**arguments):
    torch.manual_seed(0)
    return LanguageModel(vocab_size=13, max_length=8, d_model=16, heads=2, **arguments).double().eval()


def test_no_place_sees_what_comes_after_it():
    language_model, tokens = model(), torch.randint(13, (2, 6))
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
