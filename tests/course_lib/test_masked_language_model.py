import pytest
import torch

from course_lib.models.masked_language_model import MaskedLanguageModel, mask_tokens

MASK, FIRST_WORD, VOCABULARY = 1, 3, 40


def draw(number=400, time=50):
    return torch.randint(VOCABULARY, (number, time), generator=torch.Generator().manual_seed(0))


def masked(tokens, **arguments):
    return mask_tokens(tokens, torch.Generator().manual_seed(1), VOCABULARY, MASK, FIRST_WORD, **arguments)


def test_special_tokens_are_neither_selected_nor_drawn():
    tokens = draw()
    inputs, selected = masked(tokens, mask_rate=1.0)
    assert torch.equal(selected, tokens >= FIRST_WORD)
    changed = selected & (inputs != tokens) & (inputs != MASK)
    assert inputs[changed].min() >= FIRST_WORD and inputs[changed].max() == VOCABULARY - 1


def test_what_is_not_selected_stays_and_the_tokens_themselves_too():
    tokens = draw()
    before = tokens.clone()
    inputs, selected = masked(tokens)
    assert torch.equal(inputs[~selected], tokens[~selected]) and torch.equal(tokens, before)


def test_the_masking_rate_is_15_percent_and_of_these_80_10_10():
    tokens = draw()
    words = tokens >= FIRST_WORD
    inputs, selected = masked(tokens)
    rate = selected[words].double().mean().item()
    assert abs(rate - 0.15) < 5 * (0.15 * 0.85 / words.sum().item()) ** 0.5
    number, hidden = selected.sum().item(), (inputs[selected] == MASK).double().mean().item()
    kept = (inputs[selected] == tokens[selected]).double().mean().item()
    # One in 37 random words is the one that stood there.
    assert abs(hidden - 0.8) < 5 * (0.8 * 0.2 / number) ** 0.5
    assert abs(kept - (0.1 + 0.1 / 37)) < 5 * (0.1 * 0.9 / number) ** 0.5


@pytest.mark.parametrize("mask_rate", [-0.1, 1.1, float("nan")])
def test_a_masking_rate_is_from_0_to_1(mask_rate):
    with pytest.raises(ValueError, match="`mask_rate`"):
        masked(draw(2, 3), mask_rate=mask_rate)


def model(**arguments):
    torch.manual_seed(0)
    made = MaskedLanguageModel(VOCABULARY, max_length=10, d_model=16, heads=2, d_hidden=24, **arguments).double().eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(0.5 * torch.randn_like(parameter))
    return made


def moved(made, tokens, position):
    changed = tokens.clone()
    changed[:, position] = 3 + (changed[:, position] - 2) % (VOCABULARY - 3)
    return (made(changed) - made(tokens)).abs().amax(dim=(0, 2)) > 0


def test_every_position_reads_both_sides_and_the_causal_one_only_the_left():
    tokens = torch.randint(FIRST_WORD, VOCABULARY, (2, 7))
    for position in range(7):
        assert moved(model(), tokens, position).all()
        assert moved(model(causal=True), tokens, position).tolist() == [query >= position for query in range(7)]


@pytest.mark.parametrize("causal", [False, True])
def test_padding_is_not_read(causal):
    tokens = torch.randint(FIRST_WORD, VOCABULARY, (2, 5))
    padded = torch.cat([tokens, torch.zeros(2, 4, dtype=torch.long)], dim=1)
    torch.testing.assert_close(model(causal=causal)(padded)[:, :5], model(causal=causal)(tokens))


def test_table_and_output_are_one():
    shapes = [tuple(each.shape) for each in model().parameters() if VOCABULARY in each.shape]
    assert sorted(shapes) == [(VOCABULARY,), (VOCABULARY, 16)]


def test_too_long_a_text_is_refused():
    with pytest.raises(ValueError, match="11 positions, expected at most `max_length`, 10"):
        model()(torch.ones(1, 11, dtype=torch.long))
