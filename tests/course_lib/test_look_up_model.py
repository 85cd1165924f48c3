"""The model of Chapter 4: three embeddings, one attention, one linear map."""

import torch

from course_lib.attention import SelfAttention
from course_lib.models.look_up import LookUpModel


def test_the_logits_are_those_of_what_attention_makes_of_the_sum_of_three_embeddings():
    torch.manual_seed(0)
    attention = SelfAttention(8, d_key=4, d_value=5)
    model = LookUpModel(attention, names=6, contents=3, d_model=8, d_value=5)
    names, requests, contents = torch.tensor([[[0, 5, 2]], [[5, 2, 0]], [[1, 1, 2]]])  # each (set, token)
    inputs = torch.stack(
        [
            model.name.weight[names[0, token]]
            + model.request.weight[requests[0, token]]
            + model.content.weight[contents[0, token]]
            for token in range(3)
        ]
    )  # (token, d_model)
    output, expected = attention(inputs)  # (token, d_value), (token, token)
    logits, weights = model(names, requests, contents)
    torch.testing.assert_close(logits[0], model.to_logits(output))
    torch.testing.assert_close(weights[0], expected)
