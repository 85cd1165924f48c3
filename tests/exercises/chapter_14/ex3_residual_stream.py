"""Right answers to 14.3 that are written in other ways."""

import torch


def direct_contributions_part_by_part(parts, gain, bias, epsilon, logit_weight, logit_bias):
    """Part by part, with the square written out."""
    stream = sum(parts)
    variance = ((stream - stream.mean(-1, keepdim=True)) ** 2).mean(-1, keepdim=True)
    rows = []
    for part in parts:
        normed = (part - part.mean(-1, keepdim=True)) / torch.sqrt(variance + epsilon)
        rows.append(torch.nn.functional.linear(normed * gain, logit_weight))
    return torch.stack(rows), torch.nn.functional.linear(bias, logit_weight, logit_bias)


def direct_contributions_by_one_matrix(parts, gain, bias, epsilon, logit_weight, logit_bias):
    """One matrix for what is linear: the centring, the gain and the output layer."""
    d_model = len(gain)
    centring = torch.eye(d_model) - 1 / d_model
    read = (logit_weight * gain) @ centring  # (vocab, d_model)
    root = torch.sqrt(parts.sum(0).var(-1, unbiased=False) + epsilon)
    return torch.einsum("pbtd,vd->pbtv", parts, read) / root[..., None], (logit_weight * bias).sum(1) + logit_bias


def direct_contributions_as_derivatives(parts, gain, bias, epsilon, logit_weight, logit_bias):
    """The derivative of the logits along each part, with the root held fixed by hand."""
    stream = parts.sum(0)
    root = (stream.double().var(-1, correction=0, keepdim=True) + epsilon).sqrt()

    def logits(vectors):
        centred = vectors.double() - vectors.double().mean(-1, keepdim=True)
        return (centred / root * gain + bias) @ logit_weight.double().T + logit_bias

    nothing = logits(torch.zeros_like(stream))
    contributions = torch.stack([logits(part) - nothing for part in parts])
    return contributions.float(), nothing[0, 0].float()
