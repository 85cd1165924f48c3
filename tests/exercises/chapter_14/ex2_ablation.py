"""Right answers to 14.2 that are written in other ways."""

import torch


def zero_ablation_as_a_sum_of_heads(found, output_weight, output_bias, ablated):
    """A sum of heads."""
    batch, heads, time, d_head = found.shape
    output = output_bias.expand(batch, time, -1).clone()
    for head in range(heads):
        if not ablated[head]:
            output += found[:, head] @ output_weight[:, head * d_head : (head + 1) * d_head].T
    return output


def zero_ablation_by_zeros_in_the_weight(found, output_weight, output_bias, ablated):
    """Zeros in the columns of the weight."""
    columns = ablated.repeat_interleave(found.shape[3])
    merged = found.permute(0, 2, 1, 3).reshape(found.shape[0], found.shape[2], -1)
    return torch.nn.functional.linear(merged, output_weight.masked_fill(columns, 0), output_bias)


def zero_ablation_by_einsum(found, output_weight, output_bias, ablated):
    weight = output_weight.view(len(output_bias), found.shape[1], found.shape[3])
    kept = (~ablated).float()
    return torch.einsum("bhti,ohi,h->bto", found, weight, kept) + output_bias


def zero_ablation_in_a_copy(found, output_weight, output_bias, ablated):
    copy = found.clone()
    copy[:, ablated] = 0
    merged = torch.cat(list(copy.unbind(1)), dim=-1)
    return merged @ output_weight.mT + output_bias


def mean_ablation_as_a_sum_of_heads(found, output_weight, output_bias, ablated):
    """The mean of what each ablated head adds to the output."""
    batch, heads, time, d_head = found.shape
    output = torch.zeros(batch, time, len(output_bias)) + output_bias
    for head in range(heads):
        given = found[:, head] @ output_weight[:, head * d_head : (head + 1) * d_head].T
        output = output + (given.mean((0, 1)) if ablated[head] else given)
    return output


def mean_ablation_in_a_copy(found, output_weight, output_bias, ablated):
    copy = found.clone()
    for head in ablated.nonzero()[:, 0].tolist():
        copy[:, head] = found[:, head].flatten(0, 1).mean(0)
    merged = copy.transpose(1, 2).reshape(found.shape[0], found.shape[2], -1)
    return torch.nn.functional.linear(merged, output_weight, output_bias)


def mean_ablation_by_deviations_from_the_mean(found, output_weight, output_bias, ablated):
    """Deviations from the mean, 0 where a head is ablated."""
    means = torch.einsum("bhti->hi", found) / (found.shape[0] * found.shape[2])
    means = means[None, :, None]
    said = means + (found - means) * (~ablated)[None, :, None, None]
    weight = output_weight.unflatten(1, (found.shape[1], found.shape[3]))
    return torch.einsum("bhti,ohi->bto", said, weight) + output_bias
