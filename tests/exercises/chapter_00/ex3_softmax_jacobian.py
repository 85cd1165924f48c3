"""Right answers to 00.3 that are written in other ways."""

import torch


def softmax_jacobian_factored(weights):
    return weights[..., :, None] * (torch.eye(weights.shape[-1]) - weights[..., None, :])


def softmax_jacobian_by_loops(weights):
    n = weights.shape[-1]
    jacobian = torch.zeros(*weights.shape, n)
    for i in range(n):
        for j in range(n):
            jacobian[..., i, j] = weights[..., i] * (int(i == j) - weights[..., j])
    return jacobian


def softmax_jacobian_by_einsum_in_double(weights):
    wide = weights.double()
    return (torch.diag_embed(wide) - torch.einsum("...i,...j->...ij", wide, wide)).float()


def softmax_jacobian_by_autograd(weights):
    # By autograd: the logarithm of the weights is one set of scores that gives them.
    rows = weights.reshape(-1, weights.shape[-1])
    jacobians = [torch.autograd.functional.jacobian(lambda s: s.softmax(-1), row.log()) for row in rows]
    return torch.stack(jacobians).reshape(*weights.shape, weights.shape[-1])
