"""Right answers to 05.5 that are written in other ways."""

import math

import torch


def score_variances_in_double(query, key):
    products = torch.einsum("sd,sd->s", query.double(), key.double())
    return torch.stack([products.var(), products.var() / key.shape[1]]).float()


def score_variances_by_deviations(query, key):
    samples, width = query.shape
    products = torch.stack([torch.dot(q, k) for q, k in zip(query, key, strict=True)])
    both = torch.stack([products, products / math.sqrt(width)])
    deviations = both - both.mean(1, keepdim=True)
    return deviations.square().sum(1) / (samples - 1)


def score_variances_by_matrix_products(query, key):
    products = (query[:, None, :] @ key[:, :, None]).flatten()
    scaled = ((query / key.shape[1] ** 0.5)[:, None, :] @ key[:, :, None]).flatten()
    return torch.tensor([torch.std(products) ** 2, torch.cov(scaled)])
