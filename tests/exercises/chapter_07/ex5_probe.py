"""Right answers to 07.5 that are written in other ways."""

import torch


def probe_projecting(inputs, targets):
    return inputs @ torch.linalg.pinv(inputs) @ targets


def probe_by_svd(inputs, targets):
    left, sizes, _ = torch.linalg.svd(inputs.double(), full_matrices=False)
    left = left[:, sizes > 1e-6 * sizes.max()]
    return (left @ (left.T @ targets.double())).float()


def probe_target_by_target(inputs, targets):
    columns = [torch.linalg.lstsq(inputs, column[:, None]).solution for column in targets.T]
    return torch.cat([inputs @ column for column in columns], dim=1)


def probe_by_gram_schmidt(inputs, targets):
    prediction, directions = torch.zeros_like(targets, dtype=torch.float64), []
    for column in inputs.double().T:
        rest = column.clone()
        for direction in directions * 2:
            rest -= (rest @ direction) * direction
        if rest.norm() > 1e-6 * column.norm():
            directions.append(rest / rest.norm())
            prediction += torch.outer(directions[-1], directions[-1] @ targets.double())
    return prediction.float()


def separable_by_ranks(words, positions):
    rank = torch.linalg.matrix_rank
    return bool(rank(torch.cat([words, positions]), rtol=1e-4) == rank(words, rtol=1e-4) + rank(positions, rtol=1e-4))


def separable_by_the_matrix_itself(words, positions):
    tables = torch.vstack((words, positions))
    wanted = torch.vstack((words, 0 * positions))
    matrix = torch.linalg.pinv(tables) @ wanted
    return torch.allclose(words @ matrix, words, atol=1e-4) and (positions @ matrix).abs().max().item() < 1e-4


def separable_by_the_smallest_angle(words, positions):
    spans = []
    for table in (words, positions):
        _, sizes, right = torch.linalg.svd(table.double(), full_matrices=False)
        spans.append(right[sizes > 1e-5 * sizes.max()])
    return torch.linalg.matrix_norm(spans[0] @ spans[1].T, 2) < 1 - 1e-9


def separable_by_lstsq(words, positions):
    tables = torch.cat([words, positions])
    wanted = torch.cat([words, torch.zeros_like(positions)])
    missed = wanted - tables @ torch.linalg.lstsq(tables, wanted).solution
    return bool(missed.norm() < 1e-3)
