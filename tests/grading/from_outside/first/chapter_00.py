# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501

import torch
from einops import rearrange, reduce, repeat
from torch.func import vmap

# ---------------------------------------------------------------- channels_last


def channels_last__wrong_transpose_1_3(images):
    """transpose(1, 3) swaps channel and width, so you get (batch, width, height, channel): every picture lies on its side."""
    return images.transpose(1, 3)


def channels_last__wrong_reshape(images):
    """reshape only renames the axes, it doesn't move the numbers; you need a permutation."""
    b, c, h, w = images.shape
    return images.reshape(b, h, w, c)


def channels_last__wrong_bare_squeeze(images):
    """squeeze() throws away every axis of size one, also the batch or the channel."""
    return images.permute(0, 2, 3, 1).squeeze()


def channels_last__right_by_stack_of_channels(images):
    planes = [images[:, c] for c in range(images.shape[1])]
    return torch.stack(planes, dim=-1)


# ---------------------------------------------------------------- side_by_side


def side_by_side__wrong_width_outside(images):
    """Inside the brackets the right axis runs fastest, so (width batch) mixes columns of the pictures: it must be (batch width)."""
    return rearrange(images, "b c h w -> c h (w b)")


def side_by_side__wrong_stacked_downwards(images):
    """The pictures stand one below the other instead of side by side."""
    return torch.cat(list(images), dim=1)


def side_by_side__wrong_plain_reshape(images):
    """A reshape without moving the batch axis first cuts rows of one picture together instead of rows of different pictures."""
    b, c, h, w = images.shape
    return images.reshape(c, h, b * w)


def side_by_side__wrong_last_first(images):
    """The loop puts each new picture on the left, so the order is reversed."""
    wide = images[0]
    for i in range(1, images.shape[0]):
        wide = torch.cat([images[i], wide], dim=2)
    return wide


def side_by_side__right_by_fill_in(images):
    batch, channel, height, width = images.shape
    wide = torch.empty(channel, height, batch * width, dtype=images.dtype)
    for b in range(batch):
        wide[:, :, b * width : (b + 1) * width] = images[b]
    return wide


# ---------------------------------------------------------------- average_pool


def average_pool__wrong_sum(images):
    """This is the sum of the four pixels, not the mean."""
    return reduce(images, "b c (h h2) (w w2) -> b c h w", "sum", h2=2, w2=2)


def average_pool__wrong_quarters(images):
    """In (h2 h) the small axis runs slowest, so you average pixels half a picture apart and not neighbours."""
    return reduce(images, "b c (h2 h) (w2 w) -> b c h w", "mean", h2=2, w2=2)


def average_pool__wrong_stride_one(images):
    """With stride 1 the squares overlap; the squares have to stand next to each other."""
    return torch.nn.functional.avg_pool2d(images, 2, stride=1)


def average_pool__wrong_divides_in_place(images):
    """images /= 4 changes the picture of the caller."""
    images /= 4
    return images[:, :, ::2, ::2] + images[:, :, 1::2, ::2] + images[:, :, ::2, 1::2] + images[:, :, 1::2, 1::2]


def average_pool__right_by_strided_slices(images):
    up = images[..., 0::2, :]
    down = images[..., 1::2, :]
    rows = up + (down - up) / 2
    return torch.lerp(rows[..., 0::2], rows[..., 1::2], 0.5)


# ---------------------------------------------------------------- interleave


def interleave__wrong_cat(left, right):
    """This puts the whole right sequence behind the left one, not in turn."""
    return torch.cat([left, right], dim=1)


def interleave__wrong_features(left, right):
    """You stack along the feature axis and reshape wrongly: right only if d is 1, else the features of left and right get mixed."""
    b, t, d = left.shape
    return torch.stack([left, right], dim=-1).reshape(b, 2 * t, d)


def interleave__wrong_right_first(left, right):
    """The sequence must begin with left; here right comes first."""
    return rearrange([right, left], "s b t d -> b (t s) d")


def interleave__wrong_mixes_the_batch(left, right):
    """After the transpose time stands before the batch, so the reshape takes vectors of other sequences: right only for a batch of one."""
    b, t, d = left.shape
    both = torch.stack([left, right])
    return both.transpose(0, 2).reshape(b, 2 * t, d)


def interleave__right_by_double_loop(left, right):
    out = []
    for b in range(left.shape[0]):
        turns = [vector for pair in zip(left[b], right[b]) for vector in pair]
        out.append(torch.stack(turns))
    return torch.stack(out)


# ---------------------------------------------------------------- repeat_query


def repeat_query__wrong_axis(query, locations):
    """The new axis must be the second one; here the repeated axis is in front of the batch."""
    return query.expand(locations, *query.shape)


def repeat_query__wrong_reshape_after_repeat(query, locations):
    """repeat(locations, 1) lists the whole batch again and again, so after the reshape the queries of different pictures are mixed."""
    b, d = query.shape
    return query.repeat(locations, 1).reshape(b, locations, d)


def repeat_query__wrong_always_three(query, locations):
    """The number of locations is written in as 3 from the example."""
    return repeat(query, "b d -> b l d", l=3)


def repeat_query__wrong_repeats_features(query, locations):
    """You repeated each number along d (locations times) and then cut, so a row holds copies of numbers and not the vector."""
    b, d = query.shape
    return query.repeat_interleave(locations, dim=1).view(b, locations, d)


def repeat_query__right_by_vstack_of_copies(query, locations):
    return torch.stack([torch.vstack([q] * locations) for q in query])


# ---------------------------------------------------------------- dot_products


def dot_products__wrong_across_pictures(query, key):
    """The batch of the key has another letter in your einsum and is summed away: queries meet keys of all pictures."""
    return torch.einsum("bqd,ckd->bqk", query, key)


def dot_products__wrong_key_first(query, key):
    """You got (batch, key, query), the transpose of what is asked."""
    return key @ query.transpose(1, 2)


def dot_products__wrong_reshape_for_transpose(query, key):
    """key.reshape(...) doesn't transpose, it mixes features of different keys."""
    b, k, d = key.shape
    return query @ key.reshape(b, d, k)


def dot_products__wrong_cosine(query, key):
    """You normalized the vectors; that is the cosine similarity, not the dot product."""
    q = torch.nn.functional.normalize(query, dim=-1)
    k = torch.nn.functional.normalize(key, dim=-1)
    return q @ k.mT


def dot_products__right_by_nested_vmap(query, key):
    one_query = vmap(torch.dot, in_dims=(None, 0))
    one_picture = vmap(one_query, in_dims=(0, None))
    return vmap(one_picture)(query, key)


# ---------------------------------------------------------------- softmax


def softmax__wrong_no_shift(scores, temperature):
    """Right formula, but exp of ten thousand overflows to inf and inf / inf is nan: subtract the maximum of each row first."""
    e = torch.exp(scores / temperature)
    return e / e.sum(dim=-1, keepdim=True)


def softmax__wrong_global_max(scores, temperature):
    """You subtract the maximum of the whole tensor; a row far below it underflows to 0 / 0. Take the maximum of each row."""
    s = scores / temperature
    s = s - s.max()
    e = s.exp()
    return e / e.sum(-1, keepdim=True)


def softmax__wrong_axis_zero(scores, temperature):
    """The sum runs over the first axis instead of the last one."""
    s = (scores - scores.amax(dim=0, keepdim=True)) / temperature
    e = s.exp()
    return e / e.sum(dim=0, keepdim=True)


def softmax__wrong_multiplies_temperature(scores, temperature):
    """You multiply by the temperature, but the formula divides by it."""
    s = scores * temperature
    e = torch.exp(s - s.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


def softmax__wrong_in_place(scores, temperature):
    """-= works in place and changes the caller's scores."""
    scores -= scores.amax(dim=-1, keepdim=True)
    e = torch.exp(scores / temperature)
    return e / e.sum(dim=-1, keepdim=True)


def softmax__wrong_temperature_after_exp(scores, temperature):
    """The temperature divides the exponentials instead of the scores, so it cancels and has no effect."""
    e = torch.exp(scores - scores.amax(-1, keepdim=True)) / temperature
    return e / e.sum(-1, keepdim=True)


def softmax__right_by_pairwise_differences(scores, temperature):
    s = scores.double() / temperature
    differences = s.unsqueeze(-2) - s.unsqueeze(-1)
    return (1 / differences.exp().sum(dim=-1)).to(scores.dtype)


def softmax__right_by_logsumexp(scores, temperature):
    s = scores / temperature
    s = s - s.max(dim=-1, keepdim=True).values
    return torch.exp(s - torch.logsumexp(s, dim=-1, keepdim=True))


# ---------------------------------------------------------------- softmax_jacobian


def softmax_jacobian__wrong_sign(weights):
    """The sign is the wrong way round: a weight grows when its own score grows."""
    return weights[..., :, None] * weights[..., None, :] - torch.diag_embed(weights)


def softmax_jacobian__wrong_no_cross_terms(weights):
    """Only the diagonal p(1 - p); the other weights change too, by -p_i p_j."""
    return torch.diag_embed(weights * (1 - weights))


def softmax_jacobian__wrong_takes_softmax_again(weights):
    """The argument already is the softmax; you apply it a second time."""
    p = torch.softmax(weights, dim=-1)
    return torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)


def softmax_jacobian__wrong_same_product_on_diagonal(weights):
    """On the diagonal you have p_i instead of p_i - p_i squared: the product must also be subtracted there."""
    outer = weights[..., :, None] * weights[..., None, :]
    n = weights.shape[-1]
    off = outer * (1 - torch.eye(n, dtype=weights.dtype))
    return torch.diag_embed(weights) - off


def softmax_jacobian__right_by_vmap_over_unit_vectors(weights):
    n = weights.shape[-1]
    flat = weights.reshape(-1, n)

    def push(p):
        # J v = p * (v - <p, v>) for each unit vector v; a column each
        def column(v):
            return p * (v - p @ v)

        return vmap(column, out_dims=1)(torch.eye(n, dtype=p.dtype))

    return vmap(push)(flat).reshape(*weights.shape, n)


def softmax_jacobian__right_by_filling_entries(weights):
    n = weights.shape[-1]
    jacobian = torch.zeros(*weights.shape, n, dtype=weights.dtype)
    for i in range(n):
        for j in range(n):
            delta = 1.0 if i == j else 0.0
            jacobian[..., i, j] = weights[..., i] * (delta - weights[..., j])
    return jacobian


# ---------------------------------------------------------------- masked_mean


def masked_mean__wrong_divides_by_time(values, mask):
    """The padding is out of the sum but still counted in the mean: divide by the number of True, not by time."""
    return (values * mask[..., None]).mean(dim=1)


def masked_mean__wrong_nan_for_empty(values, mask):
    """A row without any position that counts gives 0 / 0 = nan; it should be zeros."""
    m = mask[:, :, None].float()
    return (values * m).sum(1) / m.sum(1)


def masked_mean__wrong_counts_plus_one(values, mask):
    """+ 1 avoids the division by zero but makes every other mean too small; use clamp(min=1)."""
    m = mask.unsqueeze(-1)
    return (values * m).sum(1) / (m.sum(1) + 1)


def masked_mean__wrong_in_place(values, mask):
    """values[~mask] = 0 destroys the values of the caller."""
    values[~mask] = 0
    return values.sum(1) / mask.sum(1, keepdim=True).clamp(min=1)


def masked_mean__wrong_selects_nonzero(values, mask):
    """A position that counts may hold the value 0: you count nonzero values instead of True."""
    kept = values * mask[..., None]
    return kept.sum(1) / (kept != 0).sum(1).clamp(min=1)


def masked_mean__wrong_count_over_batch(values, mask):
    """The count is one number for the whole batch, but every row has its own count."""
    total = torch.einsum("btd,bt->bd", values, mask.to(values.dtype))
    return total / mask.sum().clamp(min=1)


def masked_mean__right_by_list_of_means(values, mask):
    rows = []
    for v, m in zip(values, mask):
        kept = v[m]
        rows.append(kept.mean(0) if len(kept) else torch.zeros(v.shape[-1], dtype=v.dtype))
    return torch.stack(rows)
