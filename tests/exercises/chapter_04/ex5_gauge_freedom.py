"""Right answers to 04.5 that are written in other ways."""

import torch


def other_weights_by_solving(query_weight, key_weight, change):
    return torch.matmul(change, query_weight), torch.linalg.solve(change.T, key_weight)


def other_weights_by_columns(query_weight, key_weight, change):
    # The keys as columns on the other side: W_k of the inputs, then the inverse from the right.
    return torch.einsum("ij,jd->id", change, query_weight), (key_weight.T @ torch.inverse(change)).T


def other_weights_by_singular_values(query_weight, key_weight, change):
    left, stretch, right = torch.linalg.svd(change.double())
    return change @ query_weight, (left @ torch.diag(1 / stretch) @ right @ key_weight.double()).float()


def other_weights_by_least_squares(query_weight, key_weight, change):
    # Not from the inverse at all: whatever keys give the old scores, by least squares.
    queries = change @ query_weight
    keys = torch.linalg.pinv(queries.T.double()) @ (query_weight.T @ key_weight).double()
    return queries, keys.float()
