import math

import pytest
import torch

from course_lib.evaluation import bits_per_character
from course_lib.models.language_model import LanguageModel


def model_of(max_length):
    model = LanguageModel(vocab_size=7, max_length=max_length, d_model=8, heads=2, layers=1)
    torch.nn.init.normal_(model.embed.weight)
    return model


@pytest.mark.parametrize("max_length", [1, 4, 5])
@pytest.mark.parametrize("length", [2, 4, 5, 6, 9, 10, 17])
def test_every_token_is_predicted_once_with_enough_before_it(max_length, length):
    model, tokens = model_of(max_length), torch.randint(7, (length,))
    for stride in range(1, max_length + 1):
        nats = 0.0
        for place in range(1, length):
            window = math.ceil(max(0, place - max_length) / stride) * stride  # the first that reaches as far
            logits = model(tokens[window:place].unsqueeze(0))[0, -1]
            nats -= logits.log_softmax(dim=-1)[tokens[place]].item()
        expected = nats / math.log(2) / (length - 1)
        assert bits_per_character(model, tokens, stride) == pytest.approx(expected, abs=1e-5)


def test_half_the_context_is_the_stride_and_the_mode_stays():
    model, tokens = model_of(6).train(), torch.randint(7, (40,))
    assert bits_per_character(model, tokens) == bits_per_character(model, tokens, stride=3)
    assert model.training


def test_tokens_may_stand_for_several_characters():
    model, tokens = model_of(4), torch.randint(7, (11,))
    assert bits_per_character(model, tokens, characters=40) == pytest.approx(bits_per_character(model, tokens) / 4)


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="`tokens` has 1 entries"):
        bits_per_character(model_of(4), torch.tensor([3]))
    for stride in (0, 5):
        with pytest.raises(ValueError, match=f"`stride` is {stride}, expected 1 to 4"):
            bits_per_character(model_of(4), torch.arange(5), stride)
