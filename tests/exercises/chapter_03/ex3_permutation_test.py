"""Right answers to 03.3 that are written in other ways."""

import itertools

import torch


def is_equivariant_by_random_orders(layer, inputs):
    for _ in range(10):
        order = torch.randperm(inputs.shape[1])
        if not torch.allclose(layer(inputs[:, order]), layer(inputs)[:, order], atol=1e-4):
            return False
    return True


def is_equivariant_by_all_swaps(layer, inputs):
    output = layer(inputs)
    for one, other in itertools.combinations(range(inputs.shape[1]), 2):
        order = list(range(inputs.shape[1]))
        order[one], order[other] = other, one
        if (layer(inputs[:, order]) - output[:, order]).abs().max() > 1e-3:
            return False
    return True


def is_equivariant_by_putting_back(layer, inputs):
    generator = torch.Generator().manual_seed(1)
    gaps = []
    for _ in range(12):
        order = torch.randperm(inputs.shape[1], generator=generator)
        put_back = layer(inputs[:, order])[:, order.argsort()]
        gaps.append((put_back - layer(inputs)).abs().max())
    return torch.stack(gaps).max() < 1e-5


def is_equivariant_on_inputs_of_its_own(layer, inputs):
    inputs = torch.randn(2, 6, inputs.shape[2], dtype=torch.float64)
    orders = [[1, 0, 2, 3, 4, 5], [0, 2, 1, 3, 4, 5], [0, 1, 2, 3, 5, 4], [5, 0, 1, 2, 3, 4]]
    return all(torch.allclose(layer(inputs[:, order]), layer(inputs)[:, order]) for order in orders)


def is_equivariant_by_permutation_matrices(layer, inputs):
    gap = 0.0
    for start in range(inputs.shape[1] - 1):
        swap = torch.eye(inputs.shape[1])
        swap[[start, start + 1]] = swap[[start + 1, start]]
        gap = max(gap, (layer(swap @ inputs) - swap @ layer(inputs)).abs().max().item())
    return gap < 1e-4
