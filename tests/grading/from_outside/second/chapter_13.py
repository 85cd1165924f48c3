# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731

import math

import torch
from einops import einsum
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

# ---------------------------------------------------------------- 13.1 add_piece


def add_piece__wrong_old_sum_not_rescaled(maximum, total, scores):
    """The old sum is measured from the old maximum; it must be rescaled when the maximum grows."""
    new = torch.maximum(maximum, scores.amax(dim=1))
    return new, total + torch.exp(scores - new[:, None]).sum(dim=1)


def add_piece__wrong_overflow(maximum, total, scores):
    """Exponentials of the scores themselves overflow around 10,000; measure them from the maximum first."""
    new = torch.maximum(maximum, scores.amax(dim=1))
    plain = total * torch.exp(maximum) + torch.exp(scores).sum(dim=1)
    return new, plain / torch.exp(new)


def add_piece__wrong_one_maximum_for_the_batch(maximum, total, scores):
    """scores.max() is one number for all rows; each row has a maximum of its own."""
    new = torch.maximum(maximum, scores.max())
    return new, total * torch.exp(maximum - new) + torch.exp(scores - new[:, None]).sum(dim=1)


def add_piece__wrong_hidden_block_nan(maximum, total, scores):
    """Where the whole block is hidden its own maximum is minus infinity, and the difference of two infinities is NaN."""
    piece = scores.max(dim=1).values
    piece_total = torch.exp(scores - piece[:, None]).sum(dim=1)
    new = torch.maximum(maximum, piece)
    return new, total * torch.exp(maximum - new) + piece_total * torch.exp(piece - new)


def add_piece__wrong_hidden_is_a_number(maximum, total, scores):
    """-10000 in place of minus infinity is no longer hidden when the other scores are as low as that."""
    scores = scores.masked_fill(torch.isinf(scores), -1e4)
    new = torch.maximum(maximum, scores.amax(dim=1))
    return new, total * torch.exp(maximum - new) + torch.exp(scores - new[:, None]).sum(dim=1)


def add_piece__wrong_maximum_of_block(maximum, total, scores):
    """The maximum is that of the block alone; it must not fall below the one of the scores read before."""
    new = scores.amax(dim=1)
    return new, total * torch.exp(maximum - new) + torch.exp(scores - new[:, None]).sum(dim=1)


def add_piece__right_old_as_one_more_score(maximum, total, scores):
    """What was read before is one more score, the old maximum, that counts `total` times."""
    everything = torch.cat([maximum[:, None], scores], dim=1)
    often = torch.cat([total[:, None], torch.ones_like(scores)], dim=1)
    new = everything.max(dim=1).values
    return new, torch.einsum("bs,bs->b", often, torch.exp(everything - new.unsqueeze(1)))


def add_piece__right_python_floats(maximum, total, scores):
    """Score by score in Python's double precision, row by row."""
    answer = []
    for m, t, row in zip(maximum.tolist(), total.tolist(), scores.tolist()):
        for s in row:
            if s == -math.inf:
                continue
            if s > m:
                m, t = s, (t * math.exp(m - s) if t else 0.0) + 1.0
            else:
                t += math.exp(s - m)
        answer.append((m, t))
    both = torch.tensor(answer, dtype=scores.dtype)
    return both[:, 0], both[:, 1]


def add_piece__right_logsumexp_of_differences(maximum, total, scores):
    """log of the old sum joins the scores, all are shifted, and logsumexp adds them in double precision."""
    new = torch.fmax(maximum, scores.amax(-1))
    shifted = torch.cat([(maximum - new + total.log()).unsqueeze(-1), scores - new.unsqueeze(-1)], -1)
    return new, shifted.double().logsumexp(-1).exp().to(total.dtype)


# ---------------------------------------------------------------- 13.1 merge_halves


def merge_halves__wrong_plain_average(maximum, total, output, other_maximum, other_total, other_output):
    """The outputs must be weighted by the sums behind them, not averaged half and half."""
    new = torch.maximum(maximum, other_maximum)
    both = total * torch.exp(maximum - new) + other_total * torch.exp(other_maximum - new)
    return new, both, (output + other_output) / 2


def merge_halves__wrong_sums_not_rescaled(maximum, total, output, other_maximum, other_total, other_output):
    """The two sums are measured from different maxima and cannot be added as they are."""
    new = torch.maximum(maximum, other_maximum)
    both = total + other_total
    return new, both, (total[:, None] * output + other_total[:, None] * other_output) / both[:, None]


def merge_halves__wrong_outputs_taken_for_sums(maximum, total, output, other_maximum, other_total, other_output):
    """The outputs have been divided already; before adding them each must be multiplied by its sum again."""
    new = torch.maximum(maximum, other_maximum)
    a, b = torch.exp(maximum - new), torch.exp(other_maximum - new)
    both = a * total + b * other_total
    return new, both, (a[:, None] * output + b[:, None] * other_output) / both[:, None]


def merge_halves__wrong_measured_from_first(maximum, total, output, other_maximum, other_total, other_output):
    """exp(other - first) overflows where the other maximum is much larger, or where the first half saw no key."""
    ratio = torch.exp(other_maximum - maximum)
    both = total + other_total * ratio
    merged = (total[:, None] * output + (other_total * ratio)[:, None] * other_output) / both[:, None]
    new = torch.maximum(maximum, other_maximum)
    return new, both * torch.exp(maximum - new), merged


def merge_halves__wrong_logs_of_large_numbers(maximum, total, output, other_maximum, other_total, other_output):
    """maximum + log(sum) loses most digits in float32 when the maximum is around 10,000."""
    first, second = maximum + total.log(), other_maximum + other_total.log()
    whole = torch.logaddexp(first, second)
    new = torch.maximum(maximum, other_maximum)
    merged = torch.exp(first - whole)[:, None] * output + torch.exp(second - whole)[:, None] * other_output
    return new, torch.exp(whole - new), merged


def merge_halves__wrong_empty_for_whole_batch(maximum, total, output, other_maximum, other_total, other_output):
    """If one row of the batch saw no key in one half, you return the other half for all rows."""
    if torch.isinf(maximum).any():
        return other_maximum, other_total, other_output
    if torch.isinf(other_maximum).any():
        return maximum, total, output
    new = torch.maximum(maximum, other_maximum)
    a, b = total * torch.exp(maximum - new), other_total * torch.exp(other_maximum - new)
    return new, a + b, (a[:, None] * output + b[:, None] * other_output) / (a + b)[:, None]


def merge_halves__right_softmax_of_two(maximum, total, output, other_maximum, other_total, other_output):
    """A softmax over the two halves, of log sums measured from the common maximum."""
    new = torch.maximum(maximum, other_maximum)
    logs = torch.stack([maximum - new + total.log(), other_maximum - new + other_total.log()], dim=-1)
    merged = torch.einsum("bh,bhd->bd", logs.softmax(-1), torch.stack([output, other_output], dim=1))
    return new, logs.exp().sum(-1), merged


def merge_halves__right_row_by_row(maximum, total, output, other_maximum, other_total, other_output):
    """Row by row in double precision, an empty half by a branch of its own."""
    rows = []
    for m, t, o, n, u, p in zip(
        maximum.double(),
        total.double(),
        output.double(),
        other_maximum.double(),
        other_total.double(),
        other_output.double(),
    ):
        if t == 0:
            rows.append((n, u, p))
        elif u == 0:
            rows.append((m, t, o))
        elif m < n:
            scaled = t * (m - n).exp()
            rows.append((n, scaled + u, o + (p - o) * u / (scaled + u)))
        else:
            scaled = u * (n - m).exp()
            rows.append((m, t + scaled, o + (p - o) * scaled / (t + scaled)))
    return tuple(torch.stack(column).to(output.dtype) for column in zip(*rows))


# ---------------------------------------------------------------- 13.2 tiled_attention


def _hidden(query, key, first_query, first_key, rows, columns):
    """True where a query of this tile must not see a key of it."""
    position = torch.arange(first_query, first_query + rows)[:, None] + key.shape[1] - query.shape[1]
    return torch.arange(first_key, first_key + columns)[None] > position


def tiled_attention__wrong_output_not_rescaled(query, key, value, tile, causal, compare):
    """When the maximum grows you rescale the sum, but not the output gathered so far."""
    outputs = []
    for i in range(0, query.shape[1], tile):
        q = query[:, i : i + tile]
        m = q.new_full(q.shape[:2], -math.inf)
        total = q.new_zeros(q.shape[:2])
        out = q.new_zeros(*q.shape[:2], value.shape[-1])
        for j in range(0, key.shape[1], tile):
            s = compare(q, key[:, j : j + tile])
            if causal:
                s = s.masked_fill(_hidden(query, key, i, j, *s.shape[1:]), -math.inf)
            new = torch.maximum(m, s.amax(-1))
            w = torch.exp(s - new[..., None])
            total = total * torch.exp(m - new) + w.sum(-1)
            out = out + w @ value[:, j : j + tile]
            m = new
        outputs.append(out / total[..., None])
    return torch.cat(outputs, dim=1)


def tiled_attention__wrong_queries_from_position_zero(query, key, value, tile, causal, compare):
    """With fewer queries than keys the queries are the last positions; your causal mask lets query 0 stand at position 0."""
    outputs = []
    for i in range(0, query.shape[1], tile):
        q = query[:, i : i + tile]
        m = q.new_full(q.shape[:2], -math.inf)
        total = q.new_zeros(q.shape[:2])
        out = q.new_zeros(*q.shape[:2], value.shape[-1])
        for j in range(0, key.shape[1], tile):
            s = compare(q, key[:, j : j + tile])
            if causal:
                rows = torch.arange(i, i + s.shape[1])[:, None]
                columns = torch.arange(j, j + s.shape[2])[None]
                s = s.masked_fill(columns > rows, -math.inf)
            new = torch.maximum(m, s.amax(-1))
            w, shrink = torch.exp(s - new[..., None]), torch.exp(m - new)
            total = total * shrink + w.sum(-1)
            out = out * shrink[..., None] + w @ value[:, j : j + tile]
            m = new
        outputs.append(out / total[..., None])
    return torch.cat(outputs, dim=1)


def tiled_attention__wrong_last_tile_lost(query, key, value, tile, causal, compare):
    """key // tile drops the keys of the last, smaller tile where tile does not divide their number."""
    whole = max(key.shape[1] // tile, 1)
    outputs = []
    for i in range(0, query.shape[1], tile):
        q = query[:, i : i + tile]
        m = q.new_full(q.shape[:2], -math.inf)
        total = q.new_zeros(q.shape[:2])
        out = q.new_zeros(*q.shape[:2], value.shape[-1])
        for n in range(whole):
            j = n * tile
            s = compare(q, key[:, j : j + tile])
            if causal:
                s = s.masked_fill(_hidden(query, key, i, j, *s.shape[1:]), -math.inf)
            new = torch.maximum(m, s.amax(-1))
            w, shrink = torch.exp(s - new[..., None]), torch.exp(m - new)
            total = total * shrink + w.sum(-1)
            out = out * shrink[..., None] + w @ value[:, j : j + tile]
            m = new
        outputs.append(out / total[..., None])
    return torch.cat(outputs, dim=1)


def tiled_attention__wrong_tiles_of_keys_only(query, key, value, tile, causal, compare):
    """The queries are not cut into tiles: compare gets all of them at once, more than `tile`."""
    m = query.new_full(query.shape[:2], -math.inf)
    total = query.new_zeros(query.shape[:2])
    out = query.new_zeros(*query.shape[:2], value.shape[-1])
    for j in range(0, key.shape[1], tile):
        s = compare(query, key[:, j : j + tile])
        if causal:
            s = s.masked_fill(_hidden(query, key, 0, j, *s.shape[1:]), -math.inf)
        new = torch.maximum(m, s.amax(-1))
        w, shrink = torch.exp(s - new[..., None]), torch.exp(m - new)
        total = total * shrink + w.sum(-1)
        out = out * shrink[..., None] + w @ value[:, j : j + tile]
        m = new
    return out / total[..., None]


def tiled_attention__wrong_factor_detached(query, key, value, tile, causal, compare):
    """The output is right, but the rescaling factor is detached while the maximum is not, so the gradients are wrong."""
    outputs = []
    for i in range(0, query.shape[1], tile):
        q = query[:, i : i + tile]
        m = q.new_full(q.shape[:2], -math.inf)
        total = q.new_zeros(q.shape[:2])
        out = q.new_zeros(*q.shape[:2], value.shape[-1])
        for j in range(0, key.shape[1], tile):
            s = compare(q, key[:, j : j + tile])
            if causal:
                s = s.masked_fill(_hidden(query, key, i, j, *s.shape[1:]), -math.inf)
            new = torch.maximum(m, s.amax(-1))
            with torch.no_grad():
                shrink = torch.exp(m - new)
            w = torch.exp(s - new[..., None])
            total = total * shrink + w.sum(-1)
            out = out * shrink[..., None] + w @ value[:, j : j + tile]
            m = new
        outputs.append(out / total[..., None])
    return torch.cat(outputs, dim=1)


def tiled_attention__wrong_skips_diagonal_tile(query, key, value, tile, causal, compare):
    """A tile that begins exactly at the position of the last query is skipped, though that query may see its first key."""
    before = key.shape[1] - query.shape[1]
    outputs = []
    for i in range(0, query.shape[1], tile):
        q = query[:, i : i + tile]
        m = q.new_full(q.shape[:2], -math.inf)
        total = q.new_zeros(q.shape[:2])
        out = q.new_zeros(*q.shape[:2], value.shape[-1])
        for j in range(0, key.shape[1], tile):
            if causal and j > 0 and j >= before + i + q.shape[1] - 1:
                break
            s = compare(q, key[:, j : j + tile])
            if causal:
                s = s.masked_fill(_hidden(query, key, i, j, *s.shape[1:]), -math.inf)
            new = torch.maximum(m, s.amax(-1))
            w, shrink = torch.exp(s - new[..., None]), torch.exp(m - new)
            total = total * shrink + w.sum(-1)
            out = out * shrink[..., None] + w @ value[:, j : j + tile]
            m = new
        outputs.append(out / total[..., None])
    return torch.cat(outputs, dim=1)


def tiled_attention__wrong_float32_table(query, key, value, tile, causal, compare):
    """The table for the answer is float32, so from float64 tensors only seven digits are left."""
    answer = torch.empty(query.shape[0], query.shape[1], value.shape[-1])
    for i in range(0, query.shape[1], tile):
        q = query[:, i : i + tile]
        m, total, out = torch.tensor(-math.inf), 0, 0
        for j in range(0, key.shape[1], tile):
            s = compare(q, key[:, j : j + tile])
            if causal:
                s = s.masked_fill(_hidden(query, key, i, j, *s.shape[1:]), -math.inf)
            new = torch.maximum(m, s.amax(-1, keepdim=True))
            w, shrink = torch.exp(s - new), torch.exp(m - new)
            total = total * shrink + w.sum(-1, keepdim=True)
            out = out * shrink + w @ value[:, j : j + tile]
            m = new
        answer[:, i : i + tile] = out / total
    return answer


def tiled_attention__right_online(query, key, value, tile, causal, compare):
    """split() makes the tiles, and the column of ones beside the values carries the sum."""
    with_ones = torch.cat([value, torch.ones_like(value[..., :1])], dim=-1)
    outputs, place = [], key.shape[1] - query.shape[1]
    for q in query.split(tile, dim=1):
        rows = torch.arange(place, place + q.shape[1])
        top, gathered, column = None, None, 0
        for k, v in zip(key.split(tile, dim=1), with_ones.split(tile, dim=1)):
            s = compare(q, k)
            if causal:
                s = torch.where(torch.arange(column, column + k.shape[1]) <= rows[:, None], s, -math.inf)
            highest = s.detach().amax(-1, keepdim=True)
            if top is None:
                top, gathered = highest, torch.exp(s - highest) @ v
            else:
                new = torch.maximum(top, highest)
                gathered = gathered * torch.exp(top - new) + torch.exp(s - new) @ v
                top = new
            column += k.shape[1]
        outputs.append(gathered[..., :-1] / gathered[..., -1:])
        place += q.shape[1]
    return torch.cat(outputs, dim=1)


def tiled_attention__right_two_passes(query, key, value, tile, causal, compare):
    """Each query alone: a first pass finds its maximum, a second compares again and adds up."""
    answer = []
    for i in range(query.shape[1]):
        q = query[:, i : i + 1]
        last = key.shape[1] - query.shape[1] + i + 1 if causal else key.shape[1]
        pieces = [slice(j, min(j + tile, last)) for j in range(0, last, tile)]
        with torch.no_grad():
            top = None
            for piece in pieces:
                here = compare(q, key[:, piece]).amax(-1, keepdim=True)
                top = here if top is None else torch.maximum(top, here)
        total, out = 0, 0
        for piece in pieces:
            w = (compare(q, key[:, piece]) - top).exp()
            total = total + w.sum(-1, keepdim=True)
            out = out + torch.bmm(w, value[:, piece])
        answer.append(out / total)
    return torch.cat(answer, 1)


# ---------------------------------------------------------------- 13.3 cached_attention


def _attend(query, key_cache, value_cache, seen):
    """Attention with a mask (batch, new, max_length); 0 where nothing is seen."""
    scores = query @ key_cache.transpose(1, 2) / math.sqrt(query.shape[-1])
    weights = torch.softmax(scores.masked_fill(~seen, -math.inf), dim=-1)
    return torch.nan_to_num(weights, nan=0.0) @ value_cache


def _write(new, cache, length):
    """A copy of the cache with the new vectors from `length` on."""
    cache = cache.clone()
    cache[:, length : length + new.shape[1]] = new
    return cache


def cached_attention__wrong_in_place(query, key, value, key_cache, value_cache, length, starts):
    """The caches that came are written into; two continuations that share them disturb each other."""
    new = key.shape[1]
    key_cache[:, length : length + new] = key
    value_cache[:, length : length + new] = value
    j = torch.arange(key_cache.shape[1])
    i = length + torch.arange(new)
    seen = (j <= i[:, None]) & (j >= starts[:, None, None])
    return _attend(query, key_cache, value_cache, seen), key_cache, value_cache


def cached_attention__wrong_leftovers_seen(query, key, value, key_cache, value_cache, length, starts):
    """What an earlier text left behind is not masked: the last query sees all positions of the cache."""
    keys, values = _write(key, key_cache, length), _write(value, value_cache, length)
    new, everything = key.shape[1], key_cache.shape[1]
    causal = torch.ones(new, everything, dtype=torch.bool).tril(everything - new)
    seen = causal & (torch.arange(everything) >= starts[:, None, None])
    return _attend(query, keys, values, seen), keys, values


def cached_attention__wrong_new_tokens_see_later_ones(query, key, value, key_cache, value_cache, length, starts):
    """All new queries see all new keys; with more than one new token there has to be a causal mask among them."""
    keys, values = _write(key, key_cache, length), _write(value, value_cache, length)
    j = torch.arange(keys.shape[1])
    i = length + torch.arange(key.shape[1])
    filled = (j < length + key.shape[1])[None, None] & (j >= starts[:, None, None])
    seen = filled & (i[None, :, None] >= starts[:, None, None])
    return _attend(query, keys, values, seen), keys, values


def cached_attention__wrong_starts_ignored(query, key, value, key_cache, value_cache, length, starts):
    """The padding on the left is attended to: starts is not used."""
    keys, values = _write(key, key_cache, length), _write(value, value_cache, length)
    j = torch.arange(keys.shape[1])
    seen = (j <= length + torch.arange(key.shape[1])[:, None]).expand(len(query), -1, -1)
    return _attend(query, keys, values, seen), keys, values


def cached_attention__wrong_padding_average(query, key, value, key_cache, value_cache, length, starts):
    """With -1e9 for hidden scores, a query in the padding averages everything; its output must be 0."""
    keys, values = _write(key, key_cache, length), _write(value, value_cache, length)
    j = torch.arange(keys.shape[1])
    seen = (j <= length + torch.arange(key.shape[1])[:, None]) & (j >= starts[:, None, None])
    scores = torch.einsum("bqd,bkd->bqk", query, keys) / query.shape[-1] ** 0.5
    return torch.where(seen, scores, -1e9).softmax(-1) @ values, keys, values


def cached_attention__wrong_start_excluded(query, key, value, key_cache, value_cache, length, starts):
    """The position `starts` itself belongs to the text; `>` leaves it out."""
    keys, values = _write(key, key_cache, length), _write(value, value_cache, length)
    j = torch.arange(keys.shape[1])
    seen = (j <= length + torch.arange(key.shape[1])[:, None]) & (j > starts[:, None, None])
    return _attend(query, keys, values, seen), keys, values


def cached_attention__right_slices_row_by_row(query, key, value, key_cache, value_cache, length, starts):
    """No mask at all: each query reads exactly the slice of the cache that it may read."""
    new = key.shape[1]
    keys = torch.cat([key_cache[:, :length], key, key_cache[:, length + new :]], dim=1)
    values = torch.cat([value_cache[:, :length], value, value_cache[:, length + new :]], dim=1)
    rows = []
    for b, start in enumerate(starts.tolist()):
        row = []
        for i in range(new):
            end = length + i + 1
            if start >= end:
                row.append(torch.zeros_like(value[b, i]))
            else:
                scores = keys[b, start:end] @ query[b, i] * query.shape[-1] ** -0.5
                row.append(scores.softmax(0) @ values[b, start:end])
        rows.append(torch.stack(row))
    return torch.stack(rows), keys, values


def cached_attention__right_exponentials_by_hand(query, key, value, key_cache, value_cache, length, starts):
    """Exponentials are multiplied by the mask; the sum of a row without keys is raised to one before dividing."""
    place = torch.arange(length, length + key.shape[1])
    keys = key_cache.index_copy(1, place, key)
    values = value_cache.index_copy(1, place, value)
    j = torch.arange(keys.shape[1]).view(1, 1, -1)
    seen = (j <= place.view(1, -1, 1)) * (j >= starts.view(-1, 1, 1))
    scores = einsum(query, keys, "b q d, b k d -> b q k") / math.sqrt(key.shape[-1])
    scores = scores.masked_fill(~seen, torch.finfo(scores.dtype).min)
    powers = torch.exp(scores - scores.amax(-1, keepdim=True)) * seen
    total = powers.sum(-1, keepdim=True)
    return (powers / (total + (total == 0))) @ values, keys, values


def cached_attention__right_library(query, key, value, key_cache, value_cache, length, starts):
    """scaled_dot_product_attention with a mask that lets idle queries see themselves, and zeros afterwards."""
    keys = torch.slice_scatter(key_cache, key, 1, length, length + key.shape[1])
    values = torch.slice_scatter(value_cache, value, 1, length, length + key.shape[1])
    i = torch.arange(length, length + key.shape[1])[None, :, None]
    j = torch.arange(keys.shape[1])[None, None, :]
    start = starts[:, None, None]
    seen = (start <= j) & (j <= i)
    filled = torch.arange(keys.shape[1])[:, None] < length + key.shape[1]
    output = F.scaled_dot_product_attention(
        query, torch.where(filled, keys, 0.0), torch.where(filled, values, 0.0), attn_mask=seen | (i == j)
    )
    return torch.where(i >= start, output, torch.zeros_like(output)), keys, values


# ---------------------------------------------------------------- 13.4 window_mask


def window_mask__wrong_one_too_many(query, key, window):
    """Own position and `window` before it are one too many; the own position counts among the window."""
    i = torch.arange(query)[:, None] + key - query
    j = torch.arange(key)[None]
    return (j <= i) & (j >= i - window)


def window_mask__wrong_own_position_missing(query, key, window):
    """The position itself is left out: `<` in place of `<=`."""
    i = torch.arange(key - query, key)[:, None]
    j = torch.arange(key)
    return (j < i) & (i - j < window)


def window_mask__wrong_queries_first(query, key, window):
    """The queries are the last of the positions, not the first; with fewer queries than keys the mask is shifted."""
    full = torch.ones(query, key, dtype=torch.bool)
    return full.tril() & full.triu(1 - window)


def window_mask__wrong_both_sides(query, key, window):
    """The window reaches to the right as well; only the own position and those before may be seen."""
    i = torch.arange(key - query, key)[:, None]
    j = torch.arange(key)[None]
    return (i - j).abs() < window


def window_mask__wrong_negative_slice(query, key, window):
    """Near the beginning of the text the slice starts at a negative number, which counts from the end in Python."""
    mask = torch.zeros(query, key, dtype=torch.bool)
    for i in range(query):
        position = key - query + i
        mask[i, position - window + 1 : position + 1] = True
    return mask


def window_mask__wrong_window_cut_to_queries(query, key, window):
    """A window wider than the number of queries is cut to that number, though there are more keys."""
    window = min(window, query)
    ones = torch.ones(key, key, dtype=torch.bool)
    return (ones.tril() & ~ones.tril(-window))[-query:]


def window_mask__right_band_of_two_triangles(query, key, window):
    """One triangle less another: exclusive or of two calls of tril."""
    full = torch.ones((query, key), dtype=torch.bool)
    return torch.logical_xor(full.tril(key - query), full.tril(key - query - window))


def window_mask__right_nested_lists(query, key, window):
    """Python ranges: a key is seen if it is in the range of the query."""
    rows = []
    for position in range(key - query, key):
        near = range(position - window + 1, position + 1)
        rows.append([j in near for j in range(key)])
    return torch.tensor(rows, dtype=torch.bool).reshape(query, key)


# ---------------------------------------------------------------- 13.4 reach_through_layers


def reach_through_layers__wrong_sum_of_windows(windows, time):
    """The windows are simply added, but each layer adds only window - 1 positions before."""
    return window_mask__right_band_of_two_triangles(time, time, int(windows.sum()))


def reach_through_layers__wrong_widest_layer(windows, time):
    """This is the reach of the widest layer alone."""
    return window_mask__right_band_of_two_triangles(time, time, int(windows.max()))


def reach_through_layers__wrong_first_window_for_all(windows, time):
    """You take the first layer's window for all layers; they may have windows of their own."""
    reach = len(windows) * (int(windows[0]) - 1) + 1
    return window_mask__right_band_of_two_triangles(time, time, reach)


def reach_through_layers__wrong_off_by_one(windows, time):
    """The own position is forgotten: after all layers the reach is the sum of window - 1, and one more."""
    i, j = torch.arange(time)[:, None], torch.arange(time)[None]
    return (i >= j) & ((i - j < (windows - 1).sum()) | (i == j))


def reach_through_layers__wrong_counts_of_paths(windows, time):
    """The product of the masks counts the ways from one position to another; truth values were asked for."""
    reach = torch.eye(time)
    for window in windows.tolist():
        reach = window_mask__right_band_of_two_triangles(time, time, window).float() @ reach
    return reach


def reach_through_layers__wrong_last_two_layers(windows, time):
    """In the loop the first masks are overwritten, so only the last two layers are connected."""
    masks = [window_mask__right_nested_lists(time, time, w).long() for w in windows.tolist()]
    reach = masks[0]
    for below, above in zip(masks, masks[1:]):
        reach = above @ below
    return reach > 0


def reach_through_layers__right_matrix_product(windows, time):
    """Masks multiplied as matrices of numbers, made truth values after every layer."""
    reach = torch.eye(time)
    for window in windows.tolist():
        mask = torch.ones(time, time).tril().triu(1 - window)
        reach = (mask @ reach).clamp(max=1)
    return reach > 0.5


def reach_through_layers__right_gradients(windows, time):
    """A toy network of moving sums is differentiated; what has a gradient can be depended on."""

    def network(x):
        for window in windows.tolist():
            x = torch.stack([x[max(0, i - window + 1) : i + 1].mean() for i in range(time)])
        return x

    return torch.func.jacrev(network)(torch.ones(time, dtype=torch.float64)) != 0


def reach_through_layers__right_sets(windows, time):
    """Sets of positions, which grow layer by layer."""
    rows = []
    for i in range(time):
        seen = {i}
        for window in windows.tolist():
            seen = {p for q in seen for p in range(max(0, q - window + 1), q + 1)}
        rows.append([j in seen for j in range(time)])
    return torch.tensor(rows)


# ---------------------------------------------------------------- 13.5 layer_costs


def layer_costs__wrong_all_keys_projected(query, key, d_model, heads):
    """Keys and values are computed for the new positions only; the others are in the cache."""
    projections = 2 * query * d_model**2 + 2 * key * d_model**2
    return torch.tensor([projections, query * key * d_model, query * key * d_model, heads * query * key])


def layer_costs__wrong_every_head_full_width(query, key, d_model, heads):
    """A head is d_model / heads wide; all heads together take query * key * d_model multiplications."""
    return torch.tensor(
        [4 * query * d_model**2, heads * query * key * d_model, heads * query * key * d_model, heads * query * key]
    )


def layer_costs__wrong_one_score_matrix(query, key, d_model, heads):
    """Every head has a score matrix of its own; you count the elements of one."""
    return torch.tensor([4 * query * d_model * d_model, query * key * d_model, query * key * d_model, query * key])


def layer_costs__wrong_hidden_not_counted(query, key, d_model, heads):
    """What the causal mask hides is computed all the same and has to be counted."""
    pairs = sum(key - query + i + 1 for i in range(query))
    return torch.tensor([4 * query * d_model**2, pairs * d_model, pairs * d_model, heads * pairs])


def layer_costs__wrong_output_projection_missing(query, key, d_model, heads):
    """There are four projections; that of the output is missing."""
    return torch.tensor([3 * query * d_model**2, query * key * d_model, query * key * d_model, heads * query * key])


def layer_costs__wrong_one_head_only(query, key, d_model, heads):
    """Scores and averages are those of a single head; there are `heads` of them."""
    width = d_model // heads
    return torch.tensor([4 * query * d_model**2, query * key * width, query * key * width, heads * query * key])


def layer_costs__right_measured(query, key, d_model, heads):
    """The multiplications of matrices without contents are counted by torch's own counter, and halved."""
    x, width = torch.empty(query, d_model, device="meta"), d_model // heads
    w = torch.empty(d_model, d_model, device="meta")
    q = torch.empty(heads, query, width, device="meta")
    k = torch.empty(heads, key, width, device="meta")
    counts = []
    for work in (
        lambda: [x @ w for _ in range(4)],
        lambda: q @ k.transpose(1, 2),
        lambda: torch.empty(heads, query, key, device="meta") @ k,
    ):
        counter = FlopCounterMode(display=False)
        with counter:
            work()
        counts.append(counter.get_total_flops() // 2)
    return torch.tensor(counts + [(q @ k.transpose(1, 2)).numel()])


def layer_costs__right_products_of_a_table(query, key, d_model, heads):
    """A table of factors, one row for each answer, multiplied along its rows."""
    width = d_model // heads
    return torch.tensor(
        [
            [4, query, d_model, d_model, 1],
            [heads, query, key, width, 1],
            [heads, query, width, key, 1],
            [heads, query, key, 1, 1],
        ]
    ).prod(dim=1)


# ---------------------------------------------------------------- 13.5 numbers_kept


def numbers_kept__wrong_values_forgotten(batch, time, d_model, heads, groups, layers):
    """Keys and values are kept, twice as many numbers."""
    return torch.tensor(layers * batch * time * groups * (d_model // heads))


def numbers_kept__wrong_all_heads(batch, time, d_model, heads, groups, layers):
    """Shared keys and values are kept once for each group, not once for each head."""
    return torch.tensor(2 * layers * batch * time * d_model)


def numbers_kept__wrong_width_by_groups(batch, time, d_model, heads, groups, layers):
    """The width is d_model // heads also when heads share their keys, not d_model // groups."""
    width = d_model // groups
    return torch.tensor(2 * layers * batch * time * heads * width)


def numbers_kept__wrong_groups_upside_down(batch, time, d_model, heads, groups, layers):
    """heads // groups is how many heads share one group; the cache contains `groups` keys and values."""
    return torch.tensor(2 * layers * batch * time * (heads // groups) * (d_model // heads))


def numbers_kept__wrong_one_layer(batch, time, d_model, heads, groups, layers):
    """Every layer has a cache of its own; you count a single one."""
    return torch.tensor(2 * batch * time * groups * (d_model // heads))


def numbers_kept__wrong_bytes(batch, time, d_model, heads, groups, layers):
    """These are bytes of float32; the question was how many numbers."""
    return torch.tensor(4 * 2 * layers * batch * time * groups * (d_model // heads))


def numbers_kept__right_built(batch, time, d_model, heads, groups, layers):
    """The caches are made without memory (on the meta device), and their elements counted."""
    shape = (batch, groups, time, d_model // heads)
    kept = [[torch.empty(shape, device="meta") for _ in ("key", "value")] for _ in range(layers)]
    return torch.tensor(sum(cache.numel() for pair in kept for cache in pair))


def numbers_kept__right_product(batch, time, d_model, heads, groups, layers):
    """math.prod over all factors."""
    return torch.as_tensor(math.prod([layers, 2, groups, d_model // heads, batch, time]), dtype=torch.int64)


# ---------------------------------------------------------------- 13.5 costs_of_writing


def _cost(query, key, d_model):
    """Projections, scores and averages of one call."""
    return 4 * query * d_model**2 + 2 * query * key * d_model


def costs_of_writing__wrong_last_token_read(prompt, new, d_model):
    """The last new token is generated and never read; you count one call too many."""
    with_cache = _cost(prompt, prompt, d_model) + sum(_cost(1, prompt + i, d_model) for i in range(1, new + 1))
    without = sum(_cost(prompt + i, prompt + i, d_model) for i in range(new + 1))
    return torch.tensor(with_cache), torch.tensor(without)


def costs_of_writing__wrong_own_key_missing(prompt, new, d_model):
    """A token that is read attends to itself too: the second call has prompt + 1 keys, not prompt."""
    with_cache = _cost(prompt, prompt, d_model) + sum(_cost(1, prompt + i, d_model) for i in range(new - 1))
    without = sum(_cost(prompt + i, prompt + i, d_model) for i in range(new))
    return torch.tensor(with_cache), torch.tensor(without)


def costs_of_writing__wrong_prompt_token_by_token(prompt, new, d_model):
    """With the cache the prompt is read at once, each of its queries with all its keys, and not token by token."""
    with_cache = sum(_cost(1, i, d_model) for i in range(1, prompt + new))
    without = sum(_cost(prompt + i, prompt + i, d_model) for i in range(new))
    return torch.tensor(with_cache), torch.tensor(without)


def costs_of_writing__wrong_one_query_without_cache(prompt, new, d_model):
    """Without a cache the whole text is read anew, so all its positions are queries, not only the last."""
    with_cache = _cost(prompt, prompt, d_model) + sum(_cost(1, prompt + i, d_model) for i in range(1, new))
    without = 0
    for i in range(new):
        text = prompt + i
        without += 4 * text * d_model**2 + 2 * (text if i == 0 else 1) * text * d_model
    return torch.tensor(with_cache), torch.tensor(without)


def costs_of_writing__wrong_averages_missing(prompt, new, d_model):
    """The averages of the values are not counted; they cost as much as the scores."""

    def cost(query, key):
        return 4 * query * d_model**2 + query * key * d_model

    with_cache = cost(prompt, prompt) + sum(cost(1, prompt + i) for i in range(1, new))
    without = sum(cost(prompt + i, prompt + i) for i in range(new))
    return torch.tensor(with_cache), torch.tensor(without)


def costs_of_writing__wrong_one_call_without_cache(prompt, new, d_model):
    """Without a cache you count one reading of the final text; the model reads it anew in every call."""
    with_cache = _cost(prompt, prompt, d_model) + sum(_cost(1, prompt + i, d_model) for i in range(1, new))
    text = prompt + new - 1
    return torch.tensor(with_cache), torch.tensor(_cost(text, text, d_model))


def costs_of_writing__right_closed_form(prompt, new, d_model):
    """Formulas for sums of numbers and of squares, no loop."""
    p, n, d = prompt, new, d_model
    s1 = n * p + n * (n - 1) // 2
    s2 = n * p * p + p * n * (n - 1) + (n - 1) * n * (2 * n - 1) // 6
    with_cache = 4 * d * d * (p + n - 1) + 2 * d * (p * p + s1 - p)
    return torch.tensor(with_cache), torch.tensor(4 * d * d * s1 + 2 * d * s2)


def costs_of_writing__right_tensors(prompt, new, d_model):
    """Vectors of queries and keys, one entry for each call."""
    keys = torch.arange(prompt, prompt + new)
    queries = torch.ones_like(keys)
    queries[0] = prompt
    cost = lambda q, k: (4 * d_model * d_model * q + 2 * d_model * q * k).sum()
    return cost(queries, keys), cost(keys, keys)
