"""Right answers to 08.2 that are written in other ways."""

import torch
from einops import einsum
from torch import nn
from torch.nn import functional


class _TwoLayers(nn.Module):
    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.expand = nn.Linear(d_model, d_hidden)
        self.contract = nn.Linear(d_hidden, d_model)


class FeedForward_by_torch(_TwoLayers):
    def forward(self, inputs):
        return self.contract(functional.relu(self.expand(inputs), inplace=True))


class FeedForward_position_by_position(_TwoLayers):
    def forward(self, inputs):
        rows = []
        for sequence in inputs:
            for vector in sequence:
                wide = self.expand.weight @ vector + self.expand.bias
                wide = torch.where(wide > 0, wide, torch.zeros_like(wide))
                rows.append(self.contract.weight @ wide + self.contract.bias)
        return torch.stack(rows).reshape(inputs.shape)


class FeedForward_by_einsum(nn.Module):
    """Parts in another order, an activation of its own, and a dropout of nothing."""

    def __init__(self, d_model: int, d_hidden: int):
        super().__init__()
        self.contract = nn.Linear(in_features=d_hidden, out_features=d_model)
        self.activation, self.dropout = nn.ReLU(), nn.Dropout(0.0)
        self.expand = nn.Linear(in_features=d_model, out_features=d_hidden)

    def forward(self, inputs):
        wide = einsum(inputs, self.expand.weight, "batch time d, hidden d -> batch time hidden") + self.expand.bias
        return self.contract(self.dropout(self.activation(wide)))


class FeedForward_in_double(_TwoLayers):
    def forward(self, inputs):
        flat = inputs.flatten(0, 1).double()
        wide = torch.addmm(self.expand.bias.double(), flat, self.expand.weight.double().T).clamp(min=0)
        contract = wide @ self.contract.weight.double().T + self.contract.bias.double()
        return contract.float().unflatten(0, inputs.shape[:2])
