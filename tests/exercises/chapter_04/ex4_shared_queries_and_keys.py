"""Right answers to 04.4 that are written in other ways."""

import torch


def split_scores_by_permute(inputs, query_weight, key_weight):
    scores = inputs @ query_weight.T @ key_weight @ inputs.mT
    symmetric = 0.5 * (scores + scores.permute(0, 2, 1))
    return symmetric, scores - symmetric


def split_scores_by_one_product(inputs, query_weight, key_weight):
    form = query_weight.T @ key_weight
    return tuple(inputs @ ((form + sign * form.T) / 2) @ inputs.transpose(1, 2) for sign in (1, -1))


def split_scores_in_double(inputs, query_weight, key_weight):
    query, key = inputs.double() @ query_weight.double().T, inputs.double() @ key_weight.double().T
    batch, time, _ = inputs.shape
    symmetric, antisymmetric = torch.zeros(2, batch, time, time, dtype=torch.float64)
    for i in range(time):
        for j in range(time):
            there, back = (query[:, i] * key[:, j]).sum(1), (query[:, j] * key[:, i]).sum(1)
            symmetric[:, i, j], antisymmetric[:, i, j] = (there + back) / 2, (there - back) / 2
    return symmetric.float(), antisymmetric.float()
