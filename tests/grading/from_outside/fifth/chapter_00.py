# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110
import torch
from einops import rearrange, reduce


def channels_last__wrong_width_first(images):
    """Moves the channels to the end, but exchanges height and width on the way."""
    return images.permute(0, 3, 2, 1)


def channels_last__wrong_squeezed(images):
    """Drops every axis of length 1, because the examples are printed without them."""
    return rearrange(images, "b c h w -> b h w c").squeeze()


def channels_last__right_stacked(images):
    """Right: takes the channels apart and stacks them along a new last axis."""
    return torch.stack(list(images.unbind(1)), dim=-1)


def side_by_side__wrong_reshape(images):
    """Only reshapes, which keeps the numbers in the order of the batch and mixes rows of different pictures."""
    batch, channel, height, width = images.shape
    return images.reshape(channel, height, batch * width)


def side_by_side__wrong_columns_woven(images):
    """Lets the batch run fastest, so that columns of the pictures take turns."""
    return rearrange(images, "b c h w -> c h (w b)")


def side_by_side__right_cat(images):
    """Right: glues the pictures together one after the other along the width."""
    wide = images[0]
    for picture in images[1:]:
        wide = torch.cat([wide, picture], dim=2)
    return wide


def average_pool__wrong_every_second(images):
    """Averages along the height only, and then keeps every second column."""
    rows = (images[:, :, 0::2] + images[:, :, 1::2]) / 2
    return rows[:, :, :, ::2]


def average_pool__wrong_far_apart(images):
    """Splits height and width with the 2 in front, so it averages pixels half a picture apart."""
    return reduce(images, "b c (two h) (zwei w) -> b c h w", "mean", two=2, zwei=2)


def average_pool__right_four_slices(images):
    """Right: adds the four corners of all squares as slices and divides by 4."""
    top = images[..., 0::2, 0::2] + images[..., 0::2, 1::2]
    bottom = images[..., 1::2, 0::2] + images[..., 1::2, 1::2]
    return (top + bottom) / 4


def interleave__wrong_features_woven(left, right):
    """Weaves the numbers of two vectors into each other, which is seen only where d is more than 1."""
    batch, time, d = left.shape
    return torch.stack([left, right], dim=-1).reshape(batch, 2 * time, d)


def interleave__wrong_right_first(left, right):
    """Begins with right."""
    return rearrange([right, left], "side b t d -> b (t side) d")


def interleave__right_slices(left, right):
    """Right: fills the even places of a fresh tensor with left and the odd ones with right."""
    result = torch.zeros(left.shape[0], 2 * left.shape[1], left.shape[2])
    result[:, 0::2, :] = left
    result[:, 1::2, :] = right
    return result


def repeat_query__wrong_batch_woven(query, locations):
    """Repeats the whole batch and then reshapes, so that the queries of different pictures get mixed."""
    batch, d = query.shape
    return query.repeat(locations, 1).reshape(batch, locations, d)


def repeat_query__wrong_entries_repeated(query, locations):
    """Repeats every entry and not the query, so that a row holds one entry several times."""
    batch, d = query.shape
    return query.repeat_interleave(locations, dim=1).reshape(batch, locations, d)


def repeat_query__right_row_index(query, locations):
    """Right: repeats the rows and cuts the result into pictures."""
    batch, d = query.shape
    rows = torch.arange(batch).repeat_interleave(locations)
    return query[rows].reshape(batch, locations, d)


def dot_products__wrong_all_pictures(query, key):
    """Gives the batches different letters, so the keys of all pictures are summed."""
    return torch.einsum("bqd,ckd->bqk", query, key)


def dot_products__wrong_keys_in_rows(query, key):
    """Returns (batch, key, query)."""
    return key @ query.transpose(1, 2)


def dot_products__right_broadcast(query, key):
    """Right: multiplies every pair by broadcasting and sums over the features."""
    return (query.unsqueeze(2) * key.unsqueeze(1)).sum(dim=3)


def softmax__wrong_one_maximum(scores, temperature):
    """Subtracts the maximum of the whole tensor, so a row far below the others becomes 0 / 0."""
    e = torch.exp((scores - scores.max()) / temperature)
    return e / e.sum(dim=-1, keepdim=True)


def softmax__wrong_mean_subtracted(scores, temperature):
    """Subtracts the mean of a row and not its maximum, which still overflows where one score is far above the mean."""
    e = torch.exp((scores - scores.mean(dim=-1, keepdim=True)) / temperature)
    return e / e.sum(dim=-1, keepdim=True)


def softmax__wrong_clamped(scores, temperature):
    """Clamps large scores to avoid overflow, so different large scores get equal weights."""
    e = torch.exp((scores / temperature).clamp(-80, 80))
    return e / e.sum(-1, keepdim=True)


def softmax__wrong_sum_forgets_temperature(scores, temperature):
    """Divides by a sum in which the temperature is missing, so rows do not sum to one unless it is 1."""
    m = scores.max(dim=-1, keepdim=True).values
    return torch.exp((scores - m) / temperature) / torch.exp(scores - m).sum(dim=-1, keepdim=True)


def softmax__wrong_in_place(scores, temperature):
    """Shifts and divides the caller's scores in place."""
    scores -= scores.amax(dim=-1, keepdim=True)
    scores /= temperature
    e = scores.exp()
    return e / e.sum(dim=-1, keepdim=True)


def softmax__right_all_differences(scores, temperature):
    """Right: one over the sum of the exponentials of all differences, where an infinite sum gives the weight 0."""
    differences = (scores[..., None, :] - scores[..., :, None]) / temperature
    return 1 / differences.exp().sum(dim=-1)


def softmax__right_logsumexp(scores, temperature):
    """Right: shifts each row by its maximum and subtracts the logsumexp before it exponentiates."""
    x = (scores - scores.max(-1, keepdim=True)[0]) / temperature
    return torch.exp(x - torch.logsumexp(x, -1, keepdim=True))


def softmax_jacobian__wrong_positive_outside(weights):
    """Forgets the minus sign outside the diagonal."""
    product = weights[..., :, None] * weights[..., None, :]
    return torch.where(
        torch.eye(weights.shape[-1], dtype=torch.bool),
        torch.diag_embed(weights) - product,
        product,
    )


def softmax_jacobian__wrong_zero_weights(weights):
    """Takes the factor p_i p_j out and so divides by the weight, which gives nan for a weight of 0."""
    eye = torch.eye(weights.shape[-1])
    outer = torch.einsum("...i,...j->...ij", weights, weights)
    return outer * (eye / weights[..., None, :] - 1)


def softmax_jacobian__wrong_row_squared(weights):
    """Uses p_i twice outside the diagonal where p_i p_j is meant."""
    p = weights.unsqueeze(-1)
    return p * (torch.eye(weights.shape[-1]) - p)


def softmax_jacobian__right_loops(weights):
    """Right: fills the matrix entry by entry with p_i (1 - p_i) and -p_i p_j."""
    n = weights.shape[-1]
    jacobian = torch.zeros(*weights.shape, n)
    for i in range(n):
        for j in range(n):
            delta = 1.0 if i == j else 0.0
            jacobian[..., i, j] = weights[..., i] * (delta - weights[..., j])
    return jacobian


def masked_mean__wrong_divides_by_time(values, mask):
    """Divides by the length with the padding, not by the number of positions that count."""
    return (values * mask.unsqueeze(-1)).mean(dim=1)


def masked_mean__wrong_nan_when_empty(values, mask):
    """Divides 0 by 0 in a row in which no position counts."""
    m = mask[:, :, None].float()
    return (values * m).sum(1) / m.sum(1)


def masked_mean__wrong_counts_nonzero(values, mask):
    """Counts the entries that are not 0 after masking, so a value of 0 that counts is left out of the count."""
    kept = values.masked_fill(~mask[..., None], 0.0)
    count = (kept != 0).sum(dim=1).clamp(min=1)
    return kept.sum(dim=1) / count


def masked_mean__wrong_padding_subtracted(values, mask):
    """Subtracts the sum of the padding from the sum of everything, in which large padding swallows the values."""
    padding = (values * (~mask)[..., None]).sum(1)
    count = mask.sum(1, keepdim=True).clamp(min=1)
    return (values.sum(1) - padding) / count


def masked_mean__right_row_by_row(values, mask):
    """Right: picks the positions that count in each sentence and takes their mean, and zeros where there is none."""
    result = []
    for v, m in zip(values, mask):
        if m.any():
            result.append(v[m].mean(dim=0))
        else:
            result.append(torch.zeros(v.shape[1]))
    return torch.stack(result)
