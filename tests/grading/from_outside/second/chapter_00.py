# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501

import math

import numpy as np
import torch
import torch.nn.functional as F
from einops import einsum, rearrange, reduce, repeat

# ---------------------------------------------------------------- channels_last


def channels_last__wrong_reshape(images):
    """reshape only cuts the same row of numbers anew and moves no axis, so the channels land in the wrong pixels."""
    b, c, h, w = images.shape
    return images.reshape(b, h, w, c)


def channels_last__wrong_swapped_axes(images):
    """Exchanging axes 1 and 3 gives (batch, width, height, channel): every picture lies on its side."""
    return images.transpose(1, 3)


def channels_last__wrong_gray_squeezed(images):
    """For pictures with one channel the channel axis is dropped (as imshow likes it), but the statement asks for four axes."""
    out = rearrange(images, "b c h w -> b h w c")
    if out.shape[-1] == 1:
        out = out.squeeze(-1)
    return out


def channels_last__wrong_three_channels(images):
    """Only red, green and blue are kept, so every further channel is lost."""
    red_green_blue = images[:, :3]
    return rearrange(red_green_blue, "b c h w -> b h w c")


def channels_last__wrong_argument_transposed_in_place(images):
    """transpose_ with an underscore turns the axes of the caller's own tensor, so the argument comes back with another shape."""
    images.transpose_(1, 2)
    images.transpose_(2, 3)
    return images


def channels_last__wrong_scaled_for_imshow(images):
    """The values are stretched to 0..1 for the display, but only the axes were to be moved."""
    out = images.permute(0, 2, 3, 1)
    low, high = out.min(), out.max()
    return (out - low) / (high - low).clamp(min=1e-8)


def channels_last__right_stack_of_channels(images):
    """Takes the channels apart and stacks them again along a new last axis."""
    return torch.stack([images[:, c] for c in range(images.shape[1])], dim=-1)


def channels_last__right_numpy(images):
    """A round trip through numpy's moveaxis."""
    return torch.from_numpy(np.moveaxis(images.detach().cpu().numpy(), 1, -1).copy())


# ---------------------------------------------------------------- side_by_side


def side_by_side__wrong_reshape(images):
    """reshape keeps the order of the numbers in memory, so pieces of one picture land in the rows of another."""
    b, c, h, w = images.shape
    return images.reshape(c, h, b * w)


def side_by_side__wrong_columns_alternate(images):
    """(w b) instead of (b w): the columns of the pictures alternate instead of standing picture by picture."""
    return rearrange(images, "b c h w -> c h (w b)")


def side_by_side__wrong_first_on_the_right(images):
    """Each new picture is put in front of the row, so the first picture ends on the right."""
    row = images[0]
    for image in images[1:]:
        row = torch.cat([image, row], dim=-1)
    return row


def side_by_side__wrong_height_before_batch(images):
    """The batch axis is moved behind the channel only, in front of the height, so for more than one row the reshape mixes rows and pictures."""
    b, c, h, w = images.shape
    return images.permute(1, 0, 2, 3).reshape(c, h, b * w)


def side_by_side__wrong_squeeze(images):
    """squeeze() removes every axis of length 1, so a batch of one picture, or pictures with one channel, lose an axis that is needed."""
    return torch.cat(list(images.squeeze()), dim=-1)


def side_by_side__wrong_on_top_of_each_other(images):
    """The pictures are put below each other, (channel, batch * height, width), not beside each other."""
    return rearrange(images, "b c h w -> c (b h) w")


def side_by_side__right_fill(images):
    """Fills an empty wide picture slice by slice."""
    b, c, h, w = images.shape
    wide = images.new_empty(c, h, b * w)
    for i in range(b):
        wide[:, :, i * w : (i + 1) * w] = images[i]
    return wide


def side_by_side__right_index(images):
    """Computes for each wide column from which picture and which column it comes, and indexes."""
    b, c, h, w = images.shape
    wide = torch.arange(b * w)
    return images[wide // w, :, :, wide % w].permute(1, 2, 0)


# ---------------------------------------------------------------- average_pool


def average_pool__wrong_max(images):
    """Takes the largest of the four pixels, not their mean."""
    return reduce(images, "b c (h h2) (w w2) -> b c h w", "max", h2=2, w2=2)


def average_pool__wrong_sum(images):
    """Adds the four pixels but forgets to divide by four."""
    return images[:, :, ::2, ::2] + images[:, :, 1::2, ::2] + images[:, :, ::2, 1::2] + images[:, :, 1::2, 1::2]


def average_pool__wrong_far_pixels(images):
    """The 2 stands first in the parentheses, so pixels half a picture apart are averaged instead of neighbours."""
    return reduce(images, "b c (h2 h) (w2 w) -> b c h w", "mean", h2=2, w2=2)


def average_pool__wrong_stride_one(images):
    """A stride of 1 lets the squares overlap, so there are too many of them, except for pictures of 2 x 2."""
    return F.avg_pool2d(images, kernel_size=2, stride=1)


def average_pool__wrong_accumulates_in_argument(images):
    """corner is a view, so += adds the other pixels into the caller's own picture."""
    corner = images[:, :, ::2, ::2]
    corner += images[:, :, 1::2, ::2]
    corner += images[:, :, ::2, 1::2]
    corner += images[:, :, 1::2, 1::2]
    return corner / 4


def average_pool__wrong_bilinear_corners(images):
    """With align_corners=True the new pixels lie on a grid from corner to corner and are not the means of the squares."""
    h, w = images.shape[-2:]
    return F.interpolate(images, size=(h // 2, w // 2), mode="bilinear", align_corners=True)


def average_pool__wrong_pixel_dropped(images):
    """Keeps the upper left pixel of each square instead of the mean of the square."""
    return images[:, :, ::2, ::2].clone()


def average_pool__right_convolution(images):
    """A convolution with a kernel of four quarters and stride 2, each channel a batch entry of its own."""
    b, c, h, w = images.shape
    kernel = torch.full((1, 1, 2, 2), 0.25, dtype=images.dtype)
    return F.conv2d(images.reshape(b * c, 1, h, w), kernel, stride=2).reshape(b, c, h // 2, w // 2)


def average_pool__right_unfold(images):
    """Cuts the squares with Tensor.unfold and takes the mean over the two new axes."""
    return images.unfold(2, 2, 2).unfold(3, 2, 2).mean(dim=(-1, -2))


# ---------------------------------------------------------------- interleave


def interleave__wrong_concatenated(left, right):
    """Puts all of right behind all of left instead of taking them in turn."""
    return torch.cat([left, right], dim=1)


def interleave__wrong_right_first(left, right):
    """Begins with right instead of left."""
    return rearrange([right, left], "side b t d -> b (t side) d")


def interleave__wrong_features_interleaved(left, right):
    """The stack is along the features, so single numbers alternate instead of whole vectors, which is only the same for d = 1."""
    b, t, d = left.shape
    return torch.stack([left, right], dim=-1).reshape(b, 2 * t, d)


def interleave__wrong_tiled_left(left, right):
    """repeat tiles the whole of left, so on the even places stand left 0, left 2, left 4, ... instead of left 0, left 1, left 2."""
    out = left.repeat(1, 2, 1)
    out[:, 1::2] = right
    return out


def interleave__wrong_last_pair_missing(left, right):
    """The loop stops one step early, so the last two vectors stay zero."""
    b, t, d = left.shape
    out = torch.zeros(b, 2 * t, d, dtype=left.dtype)
    for i in range(t - 1):
        out[:, 2 * i] = left[:, i]
        out[:, 2 * i + 1] = right[:, i]
    return out


def interleave__wrong_right_backwards(left, right):
    """right is popped from its end, so its vectors come in reversed order."""
    stack = list(right.unbind(1))
    rows = []
    for vector in left.unbind(1):
        rows.append(vector)
        rows.append(stack.pop())
    return torch.stack(rows, dim=1)


def interleave__right_slices(left, right):
    """Writes into the even and the odd places of an empty tensor."""
    b, t, d = left.shape
    out = left.new_empty(b, 2 * t, d)
    out[:, 0::2] = left
    out[:, 1::2] = right
    return out


def interleave__right_index(left, right):
    """Concatenates first and then picks the rows in the order 0, t, 1, t + 1, ..."""
    t = left.shape[1]
    order = [i // 2 + (i % 2) * t for i in range(2 * t)]
    return torch.cat([left, right], dim=1)[:, order]


# ---------------------------------------------------------------- repeat_query


def repeat_query__wrong_numbers_repeated(query, locations):
    """repeat_interleave repeats each single number in place, so the rows are not copies of the query."""
    b, d = query.shape
    return query.repeat_interleave(locations, dim=1).reshape(b, locations, d)


def repeat_query__wrong_batches_mixed(query, locations):
    """Tiles the batch axis and then cuts it anew, so with more than one picture a picture gets the queries of the others."""
    b, d = query.shape
    return query.repeat(locations, 1).reshape(b, locations, d)


def repeat_query__wrong_one_more(query, locations):
    """The query itself and then `locations` copies: one row too many."""
    rows = [query]
    for _ in range(locations):
        rows.append(query)
    return torch.stack(rows, dim=1)


def repeat_query__wrong_only_unsqueezed(query, locations):
    """Inserts an axis of length 1 and leaves the copies to broadcasting, but the shape asked for is (batch, locations, d)."""
    return query.unsqueeze(1)


def repeat_query__wrong_axes(query, locations):
    """The new axis stands behind the features, so the shape is (batch, d, locations)."""
    return repeat(query, "b d -> b d n", n=locations)


def repeat_query__wrong_constant_of_example(query, locations):
    """The three locations of the example are written into the code and the argument is never read."""
    return query[:, None, :].expand(-1, 3, -1).clone()


def repeat_query__right_outer(query, locations):
    """An outer product with a vector of ones."""
    return torch.einsum("bd,n->bnd", query, query.new_ones(locations))


def repeat_query__right_index(query, locations):
    """Indexes the query's only row with a row of zeros."""
    return query[:, None][:, [0] * locations]


# ---------------------------------------------------------------- dot_products


def dot_products__wrong_scaled(query, key):
    """Divides by the root of d, which is the scaled product of the Transformer and was not asked for."""
    return query @ key.mT / math.sqrt(query.shape[-1])


def dot_products__wrong_other_pictures(query, key):
    """The keys' batch axis has a letter of its own that is summed away, so every query meets the keys of all pictures."""
    return einsum(query, key, "b q d, c k d -> b q k")


def dot_products__wrong_reshaped_keys(query, key):
    """reshape is not a transpose: it scrambles the numbers of the keys as soon as there are several keys of several entries."""
    b, k, d = key.shape
    return query @ key.reshape(b, d, k)


def dot_products__wrong_cosine(query, key):
    """Normalises both sides first, so this is the cosine of the angle and not the dot product."""
    return F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).mT


def dot_products__wrong_only_pairs(query, key):
    """Multiplies query i only with key i, so everything off the diagonal stays zero."""
    b, nq, _ = query.shape
    out = torch.zeros(b, nq, key.shape[1], dtype=query.dtype)
    for i in range(min(nq, key.shape[1])):
        out[:, i, i] = (query[:, i] * key[:, i]).sum(-1)
    return out


def dot_products__wrong_transposed(query, key):
    """The answer has the keys in its rows and the queries in its columns."""
    return einsum(query, key, "b q d, b k d -> b k q")


def dot_products__right_broadcast(query, key):
    """Multiplies all pairs entry by entry by broadcasting and sums the last axis."""
    return (query[:, :, None, :] * key[:, None, :, :]).sum(dim=-1)


def dot_products__right_vmap_dot(query, key):
    """torch.dot of two vectors, mapped over keys, queries and pictures by three vmaps."""
    one_query = torch.vmap(torch.dot, in_dims=(None, 0))
    one_picture = torch.vmap(one_query, in_dims=(0, None))
    return torch.vmap(one_picture)(query, key)


# ---------------------------------------------------------------- softmax


def softmax__wrong_overflow(scores, temperature):
    """The formula as it stands: the exponential of a large score overflows and gives nan."""
    e = torch.exp(scores / temperature)
    return e / e.sum(dim=-1, keepdim=True)


def softmax__wrong_global_maximum(scores, temperature):
    """Subtracts the largest score of the whole tensor, so a row far below another row underflows to 0 / 0."""
    z = (scores - scores.max()) / temperature
    e = torch.exp(z)
    return e / e.sum(dim=-1, keepdim=True)


def softmax__wrong_times_temperature(scores, temperature):
    """Multiplies by the temperature instead of dividing: a high temperature sharpens the weights instead of flattening them."""
    z = scores * temperature
    e = torch.exp(z - z.amax(dim=-1, keepdim=True))
    return e / e.sum(dim=-1, keepdim=True)


def softmax__wrong_in_place(scores, temperature):
    """-= and /= write into the caller's scores."""
    scores -= scores.amax(dim=-1, keepdim=True)
    scores /= temperature
    e = scores.exp()
    return e / e.sum(dim=-1, keepdim=True)


def softmax__wrong_absolute_maximum(scores, temperature):
    """Subtracts the largest absolute value, so a row of very negative scores is pushed down further and becomes 0 / 0."""
    z = (scores - scores.abs().amax(dim=-1, keepdim=True)) / temperature
    e = torch.exp(z)
    return e / e.sum(dim=-1, keepdim=True)


def softmax__wrong_mean_subtracted(scores, temperature):
    """Subtracts the mean instead of the maximum, so a score far above the others still overflows."""
    z = (scores - scores.mean(dim=-1, keepdim=True)) / temperature
    e = torch.exp(z)
    return e / e.sum(dim=-1, keepdim=True)


def softmax__wrong_clamped(scores, temperature):
    """Clamping keeps the exponential finite, but all scores beyond the bound become equal."""
    z = torch.clamp(scores / temperature, -80, 80)
    e = torch.exp(z)
    return e / e.sum(dim=-1, keepdim=True)


def softmax__wrong_axis_one(scores, temperature):
    """dim=1 is the last axis only of a matrix; with three axes another axis is normalised."""
    axis = 1 if scores.dim() > 1 else 0
    z = (scores - scores.amax(dim=axis, keepdim=True)) / temperature
    e = torch.exp(z)
    return e / e.sum(dim=axis, keepdim=True)


def softmax__right_pairwise_differences(scores, temperature):
    """p_i = 1 / sum_j exp((s_j - s_i) / T): an overflow to infinity gives the right weight 0."""
    difference = scores.unsqueeze(-2) - scores.unsqueeze(-1)
    return 1 / torch.exp(difference / temperature).sum(dim=-1)


def softmax__right_loop_over_rows(scores, temperature):
    """Python's own math.exp, row by row, in double precision."""
    rows = []
    for row in scores.reshape(-1, scores.shape[-1]).tolist():
        top = max(row)
        e = [math.exp((s - top) / float(temperature)) for s in row]
        total = math.fsum(e)
        rows.append([x / total for x in e])
    return torch.tensor(rows, dtype=scores.dtype).reshape(scores.shape)


# ---------------------------------------------------------------- softmax_jacobian


def softmax_jacobian__wrong_only_diagonal(weights):
    """Has p (1 - p) on the diagonal but zeros elsewhere: a score changes the other weights as well."""
    return torch.diag_embed(weights * (1 - weights))


def softmax_jacobian__wrong_sign(weights):
    """Every entry has the opposite sign."""
    return weights.unsqueeze(-1) * weights.unsqueeze(-2) - torch.diag_embed(weights)


def softmax_jacobian__wrong_softmax_again(weights):
    """Takes the argument for scores and applies a softmax first, but it is already the weights."""
    p = torch.softmax(weights, dim=-1)
    return torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)


def softmax_jacobian__wrong_two_weights(weights):
    """p_i (1 - p_i) with a minus off the diagonal: right for two weights, where 1 - p_i is the other weight, and for no more."""
    n = weights.shape[-1]
    slope = weights * (1 - weights)
    sign = 2 * torch.eye(n, dtype=weights.dtype) - 1
    return slope.unsqueeze(-1) * sign


def softmax_jacobian__wrong_no_delta(weights):
    """p_i (1 - p_j) everywhere, without the delta, so the entries off the diagonal are wrong."""
    return weights.unsqueeze(-1) * (1 - weights.unsqueeze(-2))


def softmax_jacobian__wrong_identity_instead_of_diag(weights):
    """Subtracts the outer product from the identity instead of from the diagonal matrix of the weights."""
    n = weights.shape[-1]
    return torch.eye(n, dtype=weights.dtype) - einsum(weights, weights, "... i, ... j -> ... i j")


def softmax_jacobian__wrong_first_row_for_all(weights):
    """Computes the matrix of the first row of weights and hands it out for every other row as well."""
    n = weights.shape[-1]
    p = weights.reshape(-1, n)[0]
    jacobian = torch.diag(p) - torch.outer(p, p)
    return jacobian.expand(*weights.shape, n).clone()


def softmax_jacobian__wrong_weights_overwritten(weights):
    """mul_ turns the caller's weights into p (1 - p)."""
    jacobian = -weights.unsqueeze(-1) * weights.unsqueeze(-2)
    own = weights.mul_(1 - weights)
    jacobian.diagonal(dim1=-2, dim2=-1).copy_(own)
    return jacobian


def softmax_jacobian__right_autograd(weights):
    """The logarithms of the weights are scores that give these weights: jacrev of softmax there, mapped over the rows."""
    n = weights.shape[-1]
    scores = weights.detach().double().clamp(min=1e-300).log().reshape(-1, n)
    jacobian = torch.vmap(torch.func.jacrev(lambda s: torch.softmax(s, dim=-1)))(scores)
    return jacobian.reshape(*weights.shape, n).to(weights.dtype)


def softmax_jacobian__right_loops(weights):
    """Entry by entry with a Kronecker delta, two loops over an empty tensor."""
    n = weights.shape[-1]
    jacobian = weights.new_empty(*weights.shape, n)
    for i in range(n):
        for j in range(n):
            delta = 1 if i == j else 0
            jacobian[..., i, j] = weights[..., i] * (delta - weights[..., j])
    return jacobian


# ---------------------------------------------------------------- masked_mean


def masked_mean__wrong_divides_by_time(values, mask):
    """The padding is set to zero but still counted: the sum is divided by the whole length."""
    return (values * mask.unsqueeze(-1)).mean(dim=1)


def masked_mean__wrong_empty_row_nan(values, mask):
    """A row without a position that counts is 0 / 0, which is nan and not zero."""
    m = mask.unsqueeze(-1).to(values.dtype)
    return (values * m).sum(dim=1) / m.sum(dim=1)


def masked_mean__wrong_nonzero_counted(values, mask):
    """Counts the numbers that are not zero after masking, so a value of zero that counts is left out of the count."""
    kept = torch.where(mask.unsqueeze(-1), values, torch.zeros_like(values))
    count = (kept != 0).sum(dim=1)
    return kept.sum(dim=1) / count.clamp(min=1)


def masked_mean__wrong_argument_overwritten(values, mask):
    """values[~mask] = 0 erases the padding in the caller's own tensor."""
    values[~mask] = 0
    return values.sum(dim=1) / mask.sum(dim=1, keepdim=True).clamp(min=1)


def masked_mean__wrong_softmax_of_mask(values, mask):
    """A softmax over masked scores weights the positions evenly, but in an empty row all positions get weight instead of none."""
    scores = torch.zeros_like(mask, dtype=values.dtype).masked_fill(~mask, -1e9)
    return einsum(torch.softmax(scores, dim=1), values, "b t, b t d -> b d")


def masked_mean__wrong_subtracts_the_rest(values, mask):
    """Sums everything and subtracts the padding again: with large numbers in the padding the digits of the others are lost."""
    total = values.sum(dim=1)
    padding = (values * (~mask).unsqueeze(-1)).sum(dim=1)
    count = mask.sum(dim=1, keepdim=True).clamp(min=1)
    return (total - padding) / count * mask.any(dim=1, keepdim=True)


def masked_mean__wrong_prefix_assumed(values, mask):
    """Counts the True entries and takes that many positions from the start, although the mask may have holes."""
    out = torch.zeros(values.shape[0], values.shape[2], dtype=values.dtype)
    for b, length in enumerate(mask.sum(dim=1).tolist()):
        if length > 0:
            out[b] = values[b, :length].mean(dim=0)
    return out


def masked_mean__wrong_padding_mask(values, mask):
    """Reads True as padding, as torch's key_padding_mask does; here True means that the position counts."""
    kept = values.masked_fill(mask.unsqueeze(-1), 0)
    return kept.sum(dim=1) / (~mask).sum(dim=1, keepdim=True).clamp(min=1)


def masked_mean__wrong_average_count(values, mask):
    """Divides every row by the average number of positions in the batch, so only batches of equal lengths come out right."""
    kept = values * mask.unsqueeze(-1)
    count = mask.sum(dim=1).to(values.dtype).mean().clamp(min=1)
    return kept.sum(dim=1) / count


def masked_mean__right_boolean_index(values, mask):
    """Picks the positions of each row with the mask as an index, and special-cases the empty row."""
    rows = []
    for v, m in zip(values, mask):
        rows.append(v[m].mean(dim=0) if bool(m.any()) else torch.zeros_like(v[0]))
    return torch.stack(rows)


def masked_mean__right_nanmean(values, mask):
    """Writes nan over the padding of a copy, lets nanmean skip it, and turns the nan of an empty row into zero."""
    holes = values.masked_fill(~mask[..., None], float("nan"))
    mean = holes.nanmean(dim=1)
    return torch.where(mean.isnan(), torch.zeros_like(mean), mean)
