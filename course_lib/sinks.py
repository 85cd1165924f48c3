"""Sinks and gates: two ways for a head to say that it found nothing.

The weights of a softmax sum to 1, so a head must read something, also where nothing concerns it. Trained heads then
look at a position that says little, mostly the first one (Xiao et al., 2024).
"""

import torch
from torch import nn
from torch.nn import functional

from course_lib.attention import attend, check_attend
from course_lib.masks import check_mask
from course_lib.multi_head import MultiHeadAttention
from course_lib.shapes import check_shape


class SinkAttention(nn.Module):
    """Scaled dot-product attention with one more key for each head, that has a learned score and no value.

    What the empty key takes of the weights is lost, so that those of the other keys sum to less than 1. Its score is
    the same for every query. It begins at 0, and a softmax with a 0 more among its scores is the "softmax off by one"
    of Miller (2023), 1 being exp 0; at -inf it would be the softmax itself. After Agarwal et al. (2025), the models
    gpt-oss. Give it to `MultiHeadAttention` as `attend`.

    >>> attention, query = SinkAttention(heads=1), torch.zeros(1, 1, 1, 4)  # (batch, heads, query, d_key)
    >>> key = value = torch.ones(1, 1, 3, 4)
    >>> output, weights = attention(query, key, value)
    >>> weights.detach()
    tensor([[[[0.2500, 0.2500, 0.2500]]]])
    """

    def __init__(self, heads: int):
        super().__init__()
        self.score = nn.Parameter(torch.zeros(heads))

    def forward(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return output and weights in the shapes of `attend`, with an axis of heads before the queries.

        The weights are those of the keys that came. Errors are those of `attend`, and ValueError for another number of
        heads.
        """
        check_shape(query, "... heads query d_key", "query", heads=len(self.score))
        check_attend(query, key, value)
        keys = key.shape[-2]
        if mask is not None:
            check_mask(mask, torch.Size([*query.shape[:-1], keys]))
            mask = functional.pad(mask.expand(*mask.shape[:-1], keys), (0, 1), value=True)  # (..., query, key + 1)
        key, value = (functional.pad(each, (0, 0, 0, 1)) for each in (key, value))  # (..., key + 1, d): zeros behind
        bias = functional.pad(self.score[:, None, None], (keys, 0))  # (heads, 1, key + 1): the score stands last
        output, weights = attend(query, key, value, mask, scale=query.shape[-1] ** -0.5, bias=bias)
        return output, weights[..., :keys]


class GatedAttention(MultiHeadAttention):
    """Multi-head attention of which the inputs decide, for every entry, how much of what heads found is let through.

    Each entry is multiplied by a number from 0 to 1, the sigmoid of a linear map of the inputs, before the last linear
    map. Arguments, shapes and errors are those of `MultiHeadAttention`. After Qiu et al. (2025).

    >>> attention = GatedAttention(d_model=8, heads=2)
    >>> output, weights = attention(torch.zeros(3, 5, 8))
    >>> output.shape, weights.shape
    (torch.Size([3, 5, 8]), torch.Size([3, 2, 5, 5]))
    """

    def __init__(self, d_model: int, heads: int, **arguments):
        super().__init__(d_model, heads, **arguments)
        self.to_gate = nn.Linear(d_model, self.heads * self.d_head, bias=False)

    def read_out(self, found: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
        """Return the output (batch, query, d_model) of what heads found for the inputs, gated by the inputs."""
        gate = self.to_gate(inputs).sigmoid()  # (batch, query, heads * d_head)
        return self.to_output(gate * self.merge(found))  # (batch, query, d_model)
