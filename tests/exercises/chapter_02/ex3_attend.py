"""Right answers to 02.3 that are written in other ways."""

import torch


def attend_by_unsqueeze(weights, values):
    return (weights.unsqueeze(-1) * values).sum(dim=1)


def attend_picture_by_picture(weights, values):
    return torch.stack([sum(w * v for w, v in zip(*pair, strict=True)) for pair in zip(weights, values, strict=True)])


def attend_by_bmm_in_double(weights, values):
    return torch.bmm(weights.double().unsqueeze(1), values.double()).squeeze(1).float()
