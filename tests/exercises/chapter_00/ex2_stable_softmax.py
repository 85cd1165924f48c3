"""Right answers to 00.2 that are written in other ways."""

import torch


def softmax_by_log_sum_exp(scores, temperature):
    scaled = scores / temperature
    return (scaled - scaled.logsumexp(-1, keepdim=True)).exp()


def softmax_in_double(scores, temperature):
    scaled = scores.double() / temperature
    grown = torch.exp(scaled - scaled.max(-1, keepdim=True).values)
    return (grown / grown.sum(-1, keepdim=True)).to(scores.dtype)


def softmax_row_by_row(scores, temperature):
    rows = scores.reshape(-1, scores.shape[-1])
    answers = []
    for row in rows:
        grown = ((row - row.max()) / temperature).exp()
        answers.append(grown / grown.sum())
    return torch.stack(answers).reshape(scores.shape)


def softmax_by_differences(scores, temperature):
    # One over the sum of exp(difference): no division of one exponential by another.
    return 1 / ((scores[..., None, :] - scores[..., :, None]) / temperature).exp().sum(-1)
