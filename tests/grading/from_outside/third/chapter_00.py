# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110

import torch
from einops import einsum, rearrange, reduce, repeat


def channels_last__wrong_transpose_1_3(images):
    """Exchanges channel and width only, so height and width come out in the wrong order."""
    return images.transpose(1, 3)


def channels_last__wrong_reshape(images):
    """Reshapes to the wanted shape and moves no axis, so the numbers are in the wrong places."""
    b, c, h, w = images.shape
    return images.reshape(b, h, w, c)


def channels_last__right_stack_of_channels(images):
    """Takes the channels apart and stacks them along a new last axis."""
    return torch.stack(images.unbind(1), dim=-1)


def side_by_side__wrong_interleaved(images):
    """Writes (w b) and not (b w), so the columns of the pictures alternate."""
    return rearrange(images, "b c h w -> c h (w b)")


def side_by_side__wrong_reshape_after_permute(images):
    """Brings the channel in front but not the height before the batch, so the reshape tears the rows apart."""
    b, c, h, w = images.shape
    return images.permute(1, 0, 2, 3).reshape(c, h, b * w)


def average_pool__wrong_outer_factor(images):
    """Has the 2 of the height on the outer side, (p h), so it averages rows that are half a picture apart."""
    return reduce(images, "b c (p h) (w q) -> b c h w", "mean", p=2, q=2)


def average_pool__wrong_in_place(images):
    """Adds into a slice of the images, which is a view, so the caller's images change."""
    out = images[:, :, ::2, ::2]
    out += images[:, :, 1::2, ::2]
    out += images[:, :, ::2, 1::2]
    out += images[:, :, 1::2, 1::2]
    return out / 4


def average_pool__right_slices(images):
    """Four strided slices and their mean, no reshape at all."""
    corners = [images[:, :, i::2, j::2] for i in (0, 1) for j in (0, 1)]
    return torch.stack(corners).mean(0)


def interleave__wrong_stack_last(left, right):
    """Stacks along the last axis, so for d > 1 the features alternate and not the vectors."""
    b, t, d = left.shape
    return torch.stack([left, right], dim=-1).reshape(b, 2 * t, d)


def interleave__wrong_concatenated(left, right):
    """Puts the pair in front of the time, (p t), which is all of left and then all of right."""
    return rearrange([left, right], "p b t d -> b (p t) d")


def interleave__right_repeat_and_overwrite(left, right):
    """Repeats every left vector twice and overwrites every second one."""
    out = left.repeat_interleave(2, dim=1)
    out[:, 1::2] = right
    return out


def repeat_query__wrong_repeat_then_reshape(query, locations):
    """Repeats the whole batch and cuts it anew, so a picture gets the queries of others."""
    b, d = query.shape
    return query.repeat(locations, 1).reshape(b, locations, d)


def repeat_query__wrong_three(query, locations):
    """Uses the 3 of the example and not the argument."""
    return repeat(query, "b d -> b l d", l=3)


def repeat_query__right_index(query, locations):
    """Indexes a new axis of length 1 with as many zeros as there are locations."""
    return query[:, None][:, torch.zeros(locations, dtype=torch.long)]


def dot_products__wrong_sum_over_batches(query, key):
    """Gives the batch of the keys another letter, so the products with the keys of all pictures are summed."""
    return einsum(query, key, "b q d, c k d -> b q k")


def dot_products__wrong_reshape_for_transpose(query, key):
    """Reshapes the keys to (d, key), which does not transpose them."""
    b, k, d = key.shape
    return query @ key.reshape(b, d, k)


def softmax__wrong_global_max(scores, temperature):
    """Subtracts the greatest score of the whole tensor, so rows far below it become 0 / 0."""
    scores = scores / temperature
    powers = (scores - scores.max()).exp()
    return powers / powers.sum(-1, keepdim=True)


def softmax__wrong_clamped(scores, temperature):
    """Clamps the scores so that exp stays finite, and makes different large scores equal."""
    powers = torch.exp((scores / temperature).clamp(-80, 80))
    return powers / powers.sum(-1, keepdim=True)


def softmax__right_differences(scores, temperature):
    """One over the sum of exp of all differences; an overflow to infinity gives the right 0."""
    differences = (scores[..., None, :] - scores[..., :, None]) / temperature
    return 1 / differences.exp().sum(-1)


def softmax_jacobian__wrong_two_classes(weights):
    """Has -p_i (1 - p_i) beside the diagonal, which is right only for two weights."""
    n = weights.shape[-1]
    slope = (weights * (1 - weights))[..., None]
    return slope * (2 * torch.eye(n) - 1)


def softmax_jacobian__wrong_flattened(weights):
    """Flattens the leading axes and does not restore them."""
    p = weights.reshape(-1, weights.shape[-1])
    return (torch.diag_embed(p) - p[:, :, None] * p[:, None, :]).squeeze(0)


def masked_mean__wrong_empty_row(values, mask):
    """Divides by a count of 0 where no position counts, which gives nan."""
    mask = mask[:, :, None]
    return (values * mask).sum(1) / mask.sum(1)


def masked_mean__wrong_writes_zeros(values, mask):
    """Writes the zeros into the caller's values."""
    values[~mask] = 0
    return values.sum(1) / mask.sum(1, keepdim=True).clamp(min=1)


def masked_mean__right_row_by_row(values, mask):
    """Selects the rows of each sentence that count and takes their sum and their number."""
    rows = [v[m] for v, m in zip(values, mask)]
    return torch.stack([row.sum(0) / max(len(row), 1) for row in rows])
