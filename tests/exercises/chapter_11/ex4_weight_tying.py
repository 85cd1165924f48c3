"""Right answers to 11.4 that are written in other ways."""

import torch
from einops import einsum
from torch import nn
from torch.nn import functional


class _OneTable(nn.Module):
    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.table = nn.Parameter(torch.randn(vocab_size, d_model))


class TiedModel_by_functional(_OneTable):
    def forward(self, tokens, body):
        return functional.linear(body(functional.embedding(tokens, self.table)), self.table)


class TiedModel_by_one_hot(_OneTable):
    def forward(self, tokens, body):
        embedded = functional.one_hot(tokens, self.table.shape[0]).to(self.table.dtype) @ self.table
        return einsum(body(embedded), self.table, "batch time d, vocabulary d -> batch time vocabulary")


class TiedModel_token_by_token(nn.Module):
    """The logits one token of the vocabulary at a time."""

    def __init__(self, vocab_size: int, d_model: int):
        super().__init__()
        self.register_parameter("table", nn.Parameter(torch.empty(vocab_size, d_model).normal_()))

    def forward(self, tokens, body):
        rows = self.table.index_select(0, tokens.reshape(-1))
        vectors = body(rows.reshape(*tokens.shape, -1))
        return torch.stack([(vectors * row).sum(-1) for row in self.table], dim=-1)


def table_gradients_position_by_position(tokens, embedded_gradient, vectors, logit_gradient):
    """Position by position."""
    by_embedding = torch.zeros(logit_gradient.shape[-1], vectors.shape[-1])
    by_output = torch.zeros_like(by_embedding)
    for sequence in range(tokens.shape[0]):
        for position in range(tokens.shape[1]):
            by_embedding[tokens[sequence, position]] += embedded_gradient[sequence, position]
            by_output += torch.outer(logit_gradient[sequence, position], vectors[sequence, position])
    return by_embedding, by_output


def table_gradients_by_one_hot(tokens, embedded_gradient, vectors, logit_gradient):
    stands = functional.one_hot(tokens, num_classes=logit_gradient.size(2)).float()
    return tuple(
        einsum(rows, values, "batch time vocabulary, batch time d -> vocabulary d")
        for rows, values in ((stands, embedded_gradient), (logit_gradient, vectors))
    )


def table_gradients_by_autograd(tokens, embedded_gradient, vectors, logit_gradient):
    """By autograd, with a table for each end."""
    table_in, table_out = (
        torch.zeros(logit_gradient.shape[-1], vectors.shape[-1], requires_grad=True) for _ in range(2)
    )
    total = (table_in[tokens] * embedded_gradient).sum() + (vectors @ table_out.T * logit_gradient).sum()
    return torch.autograd.grad(total, (table_in, table_out))


def table_gradients_by_index_put(tokens, embedded_gradient, vectors, logit_gradient):
    """Written by index, in the way that adds."""
    by_embedding = vectors.new_zeros(logit_gradient.shape[-1], vectors.shape[-1])
    by_embedding.index_put_((tokens,), embedded_gradient, accumulate=True)
    return by_embedding, (logit_gradient.mT @ vectors).sum(0)
