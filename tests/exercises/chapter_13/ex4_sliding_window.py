"""Right answers to 13.4 that are written in other ways."""

import itertools

import torch


def window_mask_by_two_triangles(query, key, window):
    ones = torch.ones(query, key, dtype=torch.bool)
    return ones.tril(key - query) & ones.triu(key - query - window + 1)


def window_mask_row_by_row(query, key, window):
    mask = torch.zeros(query, key, dtype=torch.bool)
    for row in range(query):
        own = key - query + row
        mask[row, max(0, own - window + 1) : own + 1] = True
    return mask


def window_mask_by_last_rows(query, key, window):
    own = torch.arange(key)
    square = (own[None] <= own[:, None]) & (own[None] > own[:, None] - window)
    return square[-query:]


def reach_through_layers_by_the_sum_of_steps(windows, time):
    back = torch.arange(time)[:, None] - torch.arange(time)[None]
    return (back >= 0) & (back <= (windows.sum() - len(windows)))


def reach_through_layers_by_sets(windows, time):
    rows = []
    for position in range(time):
        reached = {position}
        for window in reversed(windows.tolist()):
            reached = {each - step for each, step in itertools.product(reached, range(window)) if each >= step}
        rows.append([each in reached for each in range(time)])
    return torch.tensor(rows)


def reach_through_layers_by_gradients(windows, time):
    inputs = torch.ones(time, requires_grad=True)
    vectors = inputs
    for window in windows:
        back = torch.arange(time)[:, None] - torch.arange(time)
        vectors = ((back >= 0) & (back < window)).float() @ vectors
    return torch.stack([torch.autograd.grad(each, inputs, retain_graph=True)[0] > 0 for each in vectors])
