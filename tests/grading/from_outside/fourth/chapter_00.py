# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110


import torch
import torch.nn.functional as F
from einops import einsum, rearrange, reduce

# 00.1 channels_last


def channels_last__wrong_transpose_one_three(images):
    """Exchanges channel and width, so that height and width are exchanged as well."""
    return images.transpose(1, 3)


def channels_last__wrong_squeezed(images):
    """Drops every axis of length 1, because the examples leave them out."""
    return images.permute(0, 2, 3, 1).squeeze()


# 00.1 side_by_side


def side_by_side__wrong_width_before_batch(images):
    """Lets the batch run fastest, so that the columns of the pictures alternate."""
    return rearrange(images, "batch channel height width -> channel height (width batch)")


def side_by_side__wrong_two_pictures_only(images):
    """Takes only the first two pictures of the batch, as in the example."""
    return torch.cat([images[0], images[min(1, len(images) - 1)]], dim=2)


# 00.1 average_pool


def average_pool__wrong_split_order(images):
    """Splits the axes the wrong way round and averages pixels that are half a picture apart."""
    return reduce(images, "b c (h2 h) (w2 w) -> b c h w", "mean", h2=2, w2=2)


def average_pool__wrong_four_in_a_row(images):
    """Averages four numbers that lie behind each other in memory, not a square."""
    batch, channel, height, width = images.shape
    return images.reshape(batch, channel, height // 2, width // 2, 4).mean(dim=-1)


def average_pool__right_strided_slices(images):
    """Right: adds the four corners of all squares as strided slices."""
    upper = images[:, :, 0::2, 0::2] + images[:, :, 0::2, 1::2]
    lower = images[:, :, 1::2, 0::2] + images[:, :, 1::2, 1::2]
    return (upper + lower) / 4


def average_pool__right_convolution(images):
    """Right: a convolution of every channel by itself with a kernel of quarters and stride 2."""
    batch, channel, height, width = images.shape
    kernel = torch.full((1, 1, 2, 2), 0.25)
    pooled = F.conv2d(images.reshape(batch * channel, 1, height, width), kernel, stride=2)
    return pooled.reshape(batch, channel, height // 2, width // 2)


# 00.1 interleave


def interleave__wrong_stack_last_axis(left, right):
    """Stacks behind the features, which is right only where d is 1."""
    batch, time, d = left.shape
    return torch.stack([left, right], dim=-1).reshape(batch, 2 * time, d)


def interleave__right_strided_writing(left, right):
    """Right: writes both sequences into every second place of a fresh tensor."""
    batch, time, d = left.shape
    result = left.new_empty(batch, 2 * time, d)
    result[:, 0::2] = left
    result[:, 1::2] = right
    return result


# 00.1 repeat_query


def repeat_query__wrong_tiled_over_batch(query, locations):
    """Tiles the whole batch and then reshapes, so that queries of other pictures get in."""
    batch, d = query.shape
    return query.repeat(locations, 1).reshape(batch, locations, d)


# 00.1 dot_products


def dot_products__wrong_sums_over_other_pictures(query, key):
    """Gives the keys another name for the batch, so it sums over the keys of all pictures."""
    return einsum(query, key, "batch query d, other key d -> batch query key")


def dot_products__right_broadcast(query, key):
    """Right: multiplies all pairs by broadcasting and sums over the features."""
    return (query.unsqueeze(2) * key.unsqueeze(1)).sum(dim=3)


# 00.2 softmax


def softmax__wrong_overflow(scores, temperature):
    """Subtracts no maximum, so large scores overflow to nan."""
    powers = torch.exp(scores / temperature)
    return powers / powers.sum(dim=-1, keepdim=True)


def softmax__wrong_global_maximum(scores, temperature):
    """Subtracts the maximum of the whole tensor, so rows far below it become 0 / 0."""
    powers = torch.exp((scores - scores.max()) / temperature)
    return powers / powers.sum(dim=-1, keepdim=True)


def softmax__wrong_in_place(scores, temperature):
    """Subtracts the maximum in place and so changes the scores of the caller."""
    scores -= scores.amax(dim=-1, keepdim=True)
    powers = torch.exp(scores / temperature)
    return powers / powers.sum(dim=-1, keepdim=True)


def softmax__wrong_clamped(scores, temperature):
    """Clamps the scores against overflow, so that all large scores count as equal."""
    powers = torch.exp((scores / temperature).clamp(-80, 80))
    return powers / powers.sum(dim=-1, keepdim=True)


def softmax__wrong_torch_module(scores, temperature):
    """Uses torch's own softmax, which is forbidden here."""
    return torch.nn.Softmax(dim=-1)(scores / temperature)


def softmax__right_pairwise_differences(scores, temperature):
    """Right: one over the sum of exp of all differences, where an overflow gives the weight 0."""
    differences = (scores[..., None, :] - scores[..., :, None]) / temperature
    return 1 / differences.exp().sum(dim=-1)


def softmax__right_logsumexp(scores, temperature):
    """Right: exp of the shifted score less the logsumexp of the shifted row."""
    largest = scores.max(dim=-1, keepdim=True).values
    shifted = (scores - largest) / temperature
    return torch.exp(shifted - torch.logsumexp(shifted, dim=-1, keepdim=True))


# 00.3 softmax_jacobian


def softmax_jacobian__wrong_one_row_only(weights):
    """Works for a single vector only, since diag and outer know no leading axes."""
    return torch.diag(weights) - torch.outer(weights, weights)


def softmax_jacobian__wrong_softmax_again(weights):
    """Takes the argument for scores and puts it through a softmax first."""
    powers = torch.exp(weights)
    p = powers / powers.sum(dim=-1, keepdim=True)
    return torch.diag_embed(p) - p[..., :, None] * p[..., None, :]


def softmax_jacobian__wrong_broadcast(weights):
    """Forgets the second new axis, so with leading axes the rows of other vectors get in."""
    return torch.diag_embed(weights) - weights[..., None] * weights


def softmax_jacobian__wrong_unsqueezes_argument(weights):
    """Adds the axis with unsqueeze_ and so changes the shape of the caller's weights."""
    diagonal = torch.diag_embed(weights)
    row = weights.clone().unsqueeze(-2)
    return diagonal - weights.unsqueeze_(-1) * row


def softmax_jacobian__right_identity_minus_p(weights):
    """Right: p_i times (1 if i is j, else 0, less p_j)."""
    identity = torch.eye(weights.shape[-1])
    return weights.unsqueeze(-1) * (identity - weights.unsqueeze(-2))


def softmax_jacobian__right_autograd(weights):
    """Right: autograd row by row on the logarithms of the weights, which are valid scores."""

    def own_softmax(scores):
        powers = torch.exp(scores)
        return powers / powers.sum()

    n = weights.shape[-1]
    rows = [torch.autograd.functional.jacobian(own_softmax, row.log()) for row in weights.reshape(-1, n)]
    return torch.stack(rows).reshape(*weights.shape, n)


# 00.4 masked_mean


def masked_mean__wrong_nan_for_empty(values, mask):
    """Divides 0 by 0 in a row where no position counts."""
    return (values * mask[..., None]).sum(dim=1) / mask.sum(dim=1, keepdim=True)


def masked_mean__wrong_total_minus_padding(values, mask):
    """Subtracts the padding from the total, so that huge values of the padding swallow the rest."""
    padding = (values * (~mask)[..., None]).sum(dim=1)
    counts = mask.sum(dim=1, keepdim=True).clamp(min=1)
    return (values.sum(dim=1) - padding) / counts


def masked_mean__wrong_counts_nonzero(values, mask):
    """Counts the entries that are not zero, though a zero that is visible counts as well."""
    kept = values * mask[..., None]
    return kept.sum(dim=1) / (kept != 0).sum(dim=1).clamp(min=1)


def masked_mean__wrong_floor_division(values, mask):
    """Divides with // and cuts off the fraction."""
    total = (values * mask.unsqueeze(-1)).sum(1)
    return total // mask.sum(1, keepdim=True).clamp(min=1)


def masked_mean__right_nanmean(values, mask):
    """Right: turns the padding into nan, takes nanmean, and makes zeros of empty rows."""
    hidden = values.masked_fill(~mask[..., None], float("nan"))
    return hidden.nanmean(dim=1).nan_to_num(nan=0.0)


def masked_mean__right_loop(values, mask):
    """Right: a loop over the batch that picks the visible rows."""
    means = []
    for rows, keep in zip(values, mask):
        if keep.any():
            means.append(rows[keep].mean(dim=0))
        else:
            means.append(torch.zeros(values.shape[2]))
    return torch.stack(means)
