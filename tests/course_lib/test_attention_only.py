import pytest
import torch

from course_lib.inspection import ablate_heads
from course_lib.models.attention_only import AttentionOnly


def model(layers=2):
    torch.manual_seed(0)
    return AttentionOnly(vocab_size=13, max_length=9, d_model=16, heads=2, layers=layers).double().eval()


def test_no_place_sees_what_comes_after_it():
    made, tokens = model(), torch.randint(13, (2, 6))
    for place in range(6):
        changed = tokens.clone()
        changed[:, place] = (changed[:, place] + 1) % 13
        moved = (made(changed) - made(tokens)).abs().amax(dim=(0, 2))
        assert (moved[:place] == 0).all() and (moved[place:] > 1e-9).all()


def test_the_stream_is_a_sum_of_what_the_heads_say():
    made, tokens = model(), torch.randint(13, (2, 6))
    stages = made.stream(tokens)
    assert stages.shape == (3, 2, 6, 16)
    torch.testing.assert_close(stages[0], made.embed(tokens) + made.positions[:6])
    for layer in range(2):
        name = f"attentions.{layer}"
        changes = []
        for silent in ([1], [0], [0, 1]):
            with ablate_heads(made, {name: silent}):
                changes.append(made.stream(tokens)[layer + 1] - stages[layer])
        first, second, bias = changes  # each of the first two with the bias
        torch.testing.assert_close(bias, made.attentions[layer].to_output.bias.expand_as(bias))
        torch.testing.assert_close(stages[layer + 1] - stages[layer], first + second - bias)
    torch.testing.assert_close(made.to_logits(stages[-1]), made(tokens))


def test_order_is_known_from_the_positions():
    tokens = torch.tensor([[1, 2, 3, 4]])
    swapped = torch.tensor([[2, 1, 3, 4]])
    assert (model()(tokens)[:, -1] - model()(swapped)[:, -1]).abs().max() > 1e-4


def test_too_long_a_text_is_refused():
    with pytest.raises(ValueError, match="10 positions, expected at most `max_length`, 9"):
        model()(torch.zeros(1, 10, dtype=torch.long))
