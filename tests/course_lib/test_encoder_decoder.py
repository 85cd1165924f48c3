import pytest
import torch

from course_lib.models.encoder_decoder import EncoderDecoder


@pytest.fixture
def model():
    torch.manual_seed(0)
    return EncoderDecoder(vocab_size=11, d_model=8, heads=2, layers=2, d_hidden=16).double().eval()


def tokens(*shape, seed=0):
    return torch.randint(3, 11, shape, generator=torch.Generator().manual_seed(seed))


def test_every_source_token_reaches_every_word(model):
    source, words = tokens(1, 4), tokens(1, 3, seed=1)
    before = model(source, words)
    for place in range(4):
        changed = source.clone()
        changed[0, place] = 3 + (changed[0, place] - 2) % 8
        assert ((model(changed, words) - before).abs().amax(dim=-1) > 1e-9).all()


def test_no_word_sees_the_words_after_it(model):
    source, words = tokens(2, 4), tokens(2, 5, seed=1)
    before = model(source, words)
    for place in range(5):
        changed = words.clone()
        changed[:, place] = 3 + (changed[:, place] - 2) % 8
        moved = (model(source, changed) - before).abs().amax(dim=(0, 2))
        assert (moved[:place] == 0).all() and (moved[place:] > 1e-9).all()


def test_padding_of_the_source_has_no_influence(model):
    source, words = tokens(2, 4), tokens(2, 3, seed=1)
    padded = torch.cat([source, torch.zeros(2, 3, dtype=torch.long)], dim=1)
    torch.testing.assert_close(model(padded, words), model(source, words), rtol=0, atol=1e-12)


def test_step_by_step_gives_the_scores_of_all_steps_at_once(model):
    source, words = tokens(3, 4), tokens(3, 5, seed=1)
    at_once, next_token_logits = model(source, words), model.next_token_scorer(source)
    for step in range(5):
        torch.testing.assert_close(next_token_logits(words[:, : step + 1]), at_once[:, step], rtol=0, atol=1e-12)


def test_one_source_serves_many_rows_of_words(model):
    source, words = tokens(1, 4), tokens(3, 2, seed=1)
    torch.testing.assert_close(
        model.next_token_scorer(source)(words), model.next_token_scorer(source.expand(3, -1))(words)
    )


def test_one_table_serves_both_sides_and_the_output(model):
    names = [name for name, each in model.named_parameters() if 11 in each.shape]
    assert names == ["embed.table"]


def test_dropout_works_in_training_only():
    model = EncoderDecoder(vocab_size=11, dropout=0.5)
    source, words = tokens(1, 4), tokens(1, 3)
    assert not torch.equal(model(source, words), model(source, words))
    model.eval()
    assert torch.equal(model(source, words), model(source, words))


def test_dropout_reaches_every_road():
    """When everything is dropped, neither a word nor the source comes through to the logits."""
    model = EncoderDecoder(vocab_size=11, dropout=1.0)
    assert (model.encode(tokens(2, 4)) == 0).all() and (model(tokens(2, 4), tokens(2, 3)) == 0).all()
