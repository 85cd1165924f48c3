"""Right answers to 03.2 that are written in other ways."""

import torch


def batched_self_attention_by_bmm(inputs):
    weights = torch.softmax(torch.bmm(inputs, inputs.transpose(1, 2)), dim=2)
    return torch.bmm(weights, inputs), weights


def batched_self_attention_in_double(inputs):
    scores = torch.einsum("bqd,bkd->bqk", inputs.double(), inputs.double())
    grown = (scores - scores.amax(2, keepdim=True)).exp()
    weights = grown / grown.sum(2, keepdim=True)
    return torch.einsum("bqk,bkd->bqd", weights, inputs.double()).float(), weights.float()


def batched_self_attention_sequence_by_sequence(inputs):
    outputs, weights = [], []
    for sequence in inputs:
        weights.append((sequence @ sequence.T).softmax(1))
        outputs.append(weights[-1] @ sequence)
    return torch.stack(outputs), torch.stack(weights)


def batched_self_attention_by_broadcasting(inputs):
    weights = (inputs[:, :, None] * inputs[:, None]).sum(-1).softmax(-1)
    return (weights[..., None] * inputs[:, None]).sum(2), weights
