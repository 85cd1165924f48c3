# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# (A right answer to 13.5, which counts products one by one, is left out: it does not end on the edge case of large numbers.)
# ruff: noqa: B905, E501, UP033

import functools
import math

import torch
from einops import einsum, rearrange

# ---------------------------------------------------------------- 13.1 add_piece


def add_piece__wrong_old_sum_not_rescaled(maximum, total, scores):
    """When the maximum grows the old sum must be multiplied by exp(old - new); you add to it as it is."""
    new = torch.maximum(maximum, scores.amax(dim=1))
    return new, total + torch.exp(scores - new[:, None]).sum(dim=1)


def add_piece__wrong_rescaled_the_wrong_way(maximum, total, scores):
    """The factor for the old sum is exp(old - new), yours is the inverse of it."""
    new = torch.maximum(maximum, scores.max(dim=-1).values)
    factor = torch.exp(new - maximum)
    return new, total * factor + torch.exp(scores - new.unsqueeze(-1)).sum(-1)


def add_piece__wrong_maximum_of_block_only(maximum, total, scores):
    """The new maximum is the larger of the old one and that of the block; you forget the old one."""
    new = scores.max(dim=1)[0]
    total = total * (maximum - new).exp() + (scores - new[:, None]).exp().sum(1)
    return new, total


def add_piece__wrong_exponentials_unprotected(maximum, total, scores):
    """You go back to the exponentials themselves, and those of 10,000 are infinite; measure from the maximum."""
    new = torch.maximum(maximum, scores.amax(1))
    everything = total * torch.exp(maximum) + torch.exp(scores).sum(1)
    return new, everything / torch.exp(new)


def add_piece__wrong_one_maximum_for_batch(maximum, total, scores):
    """Each row has its own maximum, scores.max() without an axis takes it over the whole batch."""
    new = torch.clamp(maximum, min=scores.max().item())
    return new, total * torch.exp(maximum - new) + torch.exp(scores - new[:, None]).sum(-1)


def add_piece__right_score_by_score(maximum, total, scores):
    maxima, totals = [], []
    for m, t, row in zip(maximum.tolist(), total.tolist(), scores.tolist()):
        for s in row:
            if s == -math.inf:
                continue
            if s > m:
                m, t = s, t * math.exp(m - s) + 1
            else:
                t = t + math.exp(s - m)
        maxima.append(m)
        totals.append(t)
    return (torch.tensor(maxima, dtype=maximum.dtype), torch.tensor(totals, dtype=total.dtype))


# ---------------------------------------------------------------- 13.1 merge_halves


def merge_halves__wrong_plain_mean_of_outputs(maximum, total, output, other_maximum, other_total, other_output):
    """The outputs must be averaged with the sums as weights; you take the plain mean of the two."""
    m = torch.maximum(maximum, other_maximum)
    t = total * torch.exp(maximum - m) + other_total * torch.exp(other_maximum - m)
    return m, t, (output + other_output) / 2


def merge_halves__wrong_outputs_weighted_by_raw_sums(maximum, total, output, other_maximum, other_total, other_output):
    """The sums must be measured from one maximum before they weight the outputs; you use them as they came."""
    m = torch.maximum(maximum, other_maximum)
    a = total * torch.exp(maximum - m)
    b = other_total * torch.exp(other_maximum - m)
    w = (total / (total + other_total))[:, None]
    return m, a + b, w * output + (1 - w) * other_output


def merge_halves__wrong_not_divided_by_new_sum(maximum, total, output, other_maximum, other_total, other_output):
    """The output must be divided by the sum of both halves at the end."""
    m = torch.stack([maximum, other_maximum]).max(dim=0).values
    a, b = (maximum - m).exp() * total, (other_maximum - m).exp() * other_total
    return m, a + b, a[:, None] * output + b[:, None] * other_output


def merge_halves__wrong_outputs_taken_as_sums(maximum, total, output, other_maximum, other_total, other_output):
    """The outputs are divided already, so they must be multiplied by their sums before you add them."""
    m = torch.maximum(maximum, other_maximum)
    f, g = torch.exp(maximum - m), torch.exp(other_maximum - m)
    t = f * total + g * other_total
    return m, t, (f[:, None] * output + g[:, None] * other_output) / t[:, None]


def merge_halves__wrong_exponentials_overflow(maximum, total, output, other_maximum, other_total, other_output):
    """The exponential of a maximum of 10,000 is infinite; take the exponential of the difference from the larger maximum."""
    m = torch.maximum(maximum, other_maximum)
    a, b = total * maximum.exp(), other_total * other_maximum.exp()
    out = (a[:, None] * output + b[:, None] * other_output) / (a + b)[:, None]
    return m, (a + b) / m.exp(), out


def merge_halves__right_by_softmax_of_logs(maximum, total, output, other_maximum, other_total, other_output):
    dtype = output.dtype
    maxima = torch.stack([maximum, other_maximum]).double()
    logs = maxima + torch.stack([total, other_total]).double().log()
    outputs = torch.stack([output, other_output]).double()
    largest = maxima.amax(dim=0)
    merged = einsum(torch.softmax(logs, dim=0), outputs, "half batch, half batch d -> batch d")
    return largest.to(dtype), torch.exp(torch.logsumexp(logs, dim=0) - largest).to(dtype), merged.to(dtype)


# ---------------------------------------------------------------- 13.2 tiled_attention


def tiled_attention__wrong_all_queries_at_once(query, key, value, tile, causal, compare):
    """You cut only the keys; compare takes at most tile queries, so the queries need a loop as well."""
    batch, n, _ = query.shape
    k = key.shape[1]
    m = query.new_full((batch, n), -math.inf)
    total = query.new_zeros(batch, n)
    out = query.new_zeros(batch, n, value.shape[-1])
    where = torch.arange(n) + k - n
    for j in range(0, k, tile):
        s = compare(query, key[:, j : j + tile])
        if causal:
            s = s.masked_fill(torch.arange(j, min(j + tile, k)) > where[:, None], -math.inf)
        new = torch.maximum(m, s.amax(-1))
        f = torch.exp(m - new)
        p = torch.exp(s - new[..., None])
        total = total * f + p.sum(-1)
        out = out * f[..., None] + p @ value[:, j : j + tile]
        m = new
    return out / total[..., None]


def tiled_attention__wrong_causal_without_offset(query, key, value, tile, causal, compare):
    """The queries are the last positions, so query i stands at keys - queries + i; you compare the key with i."""
    outputs = []
    for i in range(0, query.shape[1], tile):
        q = query[:, i : i + tile]
        m, total, out = -math.inf, 0.0, 0.0
        for j in range(0, key.shape[1], tile):
            k = key[:, j : j + tile]
            s = compare(q, k)
            if causal:
                rows = i + torch.arange(q.shape[1])[:, None]
                cols = j + torch.arange(k.shape[1])[None, :]
                s = s.masked_fill(cols > rows, -math.inf)
            new = torch.maximum(torch.as_tensor(m, dtype=s.dtype), s.max(dim=-1, keepdim=True).values)
            f = torch.exp(m - new)
            p = torch.exp(s - new)
            total = f * total + p.sum(-1, keepdim=True)
            out = f * out + p @ value[:, j : j + tile]
            m = new
        outputs.append(out / total)
    return torch.cat(outputs, dim=1)


def tiled_attention__wrong_softmax_in_each_tile(query, key, value, tile, causal, compare):
    """A softmax of each tile by itself gives every tile the same weight; the sums of the tiles must be joined first."""
    nq, nk = query.shape[1], key.shape[1]
    rows = []
    for i in range(nq):
        end = nk - nq + i + 1 if causal else nk
        parts = []
        for j in range(0, end, tile):
            s = compare(query[:, i : i + 1], key[:, j : min(j + tile, end)])
            parts.append(torch.softmax(s, dim=-1) @ value[:, j : min(j + tile, end)])
        rows.append(sum(parts) / len(parts))
    return torch.cat(rows, dim=1)


def tiled_attention__wrong_without_maximum(query, key, value, tile, causal, compare):
    """Without the running maximum the exponential of a score of 10,000 is infinite, and the answer is nan."""
    nq, nk = query.shape[1], key.shape[1]
    rows = []
    for i in range(0, nq, tile):
        q = query[:, i : i + tile]
        pos = torch.arange(i, i + q.shape[1]) + nk - nq
        num, den = 0, 0
        for j in range(0, nk, tile):
            e = compare(q, key[:, j : j + tile]).exp()
            if causal:
                e = e * (torch.arange(j, j + e.shape[-1]) <= pos[:, None])
            num = num + e @ value[:, j : j + tile]
            den = den + e.sum(-1, keepdim=True)
        rows.append(num / den)
    return torch.cat(rows, 1)


def tiled_attention__wrong_last_small_tile_left_out(query, key, value, tile, causal, compare):
    """Where tile doesn't divide the number of keys, the smaller last tile must be read too."""
    nq, nk = query.shape[1], key.shape[1]
    full = max(1, nk // tile)
    rows = []
    for i in range(0, nq, tile):
        q = query[:, i : i + tile]
        pos = torch.arange(i, i + q.shape[1]) + nk - nq
        m = q.new_full((q.shape[0], q.shape[1], 1), -math.inf)
        num, den = 0, 0
        for t in range(full):
            j = t * tile
            s = compare(q, key[:, j : j + tile])
            if causal:
                s = s.masked_fill(torch.arange(j, j + s.shape[-1]) > pos[:, None], -math.inf)
            new = torch.maximum(m, s.amax(-1, keepdim=True))
            p = (s - new).exp()
            num = num * (m - new).exp() + p @ value[:, j : j + tile]
            den = den * (m - new).exp() + p.sum(-1, keepdim=True)
            m = new
        rows.append(num / den)
    return torch.cat(rows, 1)


def tiled_attention__wrong_output_not_rescaled(query, key, value, tile, causal, compare):
    """When the maximum grows the output so far must shrink like the sum; you rescale only the sum."""
    nq, nk = query.shape[1], key.shape[1]
    rows = []
    for i in range(0, nq, tile):
        q = query[:, i : i + tile]
        m = q.new_full((q.shape[0], q.shape[1], 1), -math.inf)
        num = q.new_zeros(q.shape[0], q.shape[1], value.shape[-1])
        den = torch.zeros_like(m)
        for j in range(0, nk, tile):
            s = compare(q, key[:, j : j + tile])
            if causal:
                seen = torch.ones(nq, nk, dtype=torch.bool).tril(nk - nq)[i : i + tile, j : j + tile]
                s = s.masked_fill(~seen, -math.inf)
            new = torch.maximum(m, s.amax(-1, keepdim=True))
            p = (s - new).exp()
            num = num + p @ value[:, j : j + tile]
            den = den * (m - new).exp() + p.sum(-1, keepdim=True)
            m = new
        rows.append(num / den)
    return torch.cat(rows, 1)


def tiled_attention__right_one_query_at_a_time(query, key, value, tile, causal, compare):
    queries, keys = query.shape[1], key.shape[1]
    rows = []
    for i in range(queries):
        end = keys - queries + i + 1 if causal else keys
        log_sum = out = None
        for left in range(0, end, tile):
            right = min(left + tile, end)
            scores = compare(query[:, i : i + 1], key[:, left:right])
            here = torch.logsumexp(scores, dim=-1, keepdim=True)
            average = torch.softmax(scores, dim=-1) @ value[:, left:right]
            if out is None:
                log_sum, out = here, average
            else:
                share = torch.sigmoid(here - log_sum)
                out = out * torch.sigmoid(log_sum - here) + average * share
                log_sum = torch.logaddexp(log_sum, here)
        rows.append(out)
    return torch.cat(rows, dim=1)


def tiled_attention__right_two_passes(query, key, value, tile, causal, compare):
    queries, keys = query.shape[1], key.shape[1]

    def tiles(i):
        for j in range(0, keys, tile):
            some = query[:, i : i + tile]
            scores = compare(some, key[:, j : j + tile])
            if causal:
                position = keys - queries + i + torch.arange(some.shape[1])[:, None]
                scores = scores.masked_fill(j + torch.arange(scores.shape[2]) > position, -math.inf)
            yield scores, value[:, j : j + tile]

    outputs = []
    for i in range(0, queries, tile):
        largest = None
        for scores, _ in tiles(i):
            here = scores.detach().amax(dim=-1, keepdim=True)
            largest = here if largest is None else torch.maximum(largest, here)
        total = out = 0
        for scores, values in tiles(i):
            weights = torch.exp(scores - largest)
            total = total + weights.sum(dim=-1, keepdim=True)
            out = out + weights @ values
        outputs.append(out / total)
    return torch.cat(outputs, dim=1)


# ---------------------------------------------------------------- 13.3 cached_attention


def _attend_to_cache(query, keys, values, allowed):
    scores = query @ keys.transpose(1, 2) / math.sqrt(query.shape[-1])
    scores = scores.masked_fill(~allowed, -math.inf)
    weights = torch.nan_to_num(torch.softmax(scores, dim=-1))
    return weights @ values


def _allowed(new, max_length, length, starts):
    column = torch.arange(max_length)
    position = length + torch.arange(new)
    return (column <= position[:, None]) & (column >= starts[:, None, None])


def cached_attention__wrong_writes_into_old_caches(query, key, value, key_cache, value_cache, length, starts):
    """You write into the caches that came; another continuation of the text would find them changed, so clone them."""
    new = key.shape[1]
    key_cache[:, length : length + new] = key
    value_cache[:, length : length + new] = value
    allowed = _allowed(new, key_cache.shape[1], length, starts)
    return _attend_to_cache(query, key_cache, value_cache, allowed), key_cache, value_cache


def cached_attention__wrong_padding_is_attended(query, key, value, key_cache, value_cache, length, starts):
    """What stands before the start of a row is padding, and you attend to it."""
    new = key.shape[1]
    keys, values = key_cache.clone(), value_cache.clone()
    keys[:, length : length + new] = key
    values[:, length : length + new] = value
    allowed = torch.arange(keys.shape[1]) <= length + torch.arange(new)[:, None]
    return _attend_to_cache(query, keys, values, allowed), keys, values


def cached_attention__wrong_new_tokens_see_the_later_ones(query, key, value, key_cache, value_cache, length, starts):
    """Several new tokens at once need a causal mask: each may attend only up to its own position."""
    n = key.shape[1]
    end = length + n
    keys = torch.cat([key_cache[:, :length], key, key_cache[:, end:]], dim=1)
    values = torch.cat([value_cache[:, :length], value, value_cache[:, end:]], dim=1)
    col = torch.arange(keys.shape[1])
    ok = (col < end) & (col >= starts[:, None])
    ok = ok[:, None, :] & (length + torch.arange(n)[None, :, None] >= starts[:, None, None])
    return _attend_to_cache(query, keys, values, ok), keys, values


def cached_attention__wrong_nan_in_padding(query, key, value, key_cache, value_cache, length, starts):
    """A query in the padding has no key, its softmax is nan; its output must be 0."""
    new = key.shape[1]
    keys, values = key_cache.clone(), value_cache.clone()
    keys[:, length : length + new], values[:, length : length + new] = key, value
    scores = einsum(query, keys, "b q d, b k d -> b q k") / query.shape[-1] ** 0.5
    scores = scores.masked_fill(~_allowed(new, keys.shape[1], length, starts), float("-inf"))
    return scores.softmax(-1) @ values, keys, values


def cached_attention__wrong_large_negative_fill(query, key, value, key_cache, value_cache, length, starts):
    """With -1e9 for -inf a query in the padding gets the mean of all values, but its output must be 0."""
    new = key.shape[1]
    keys, values = key_cache.clone(), value_cache.clone()
    keys[:, length : length + new] = key
    values[:, length : length + new] = value
    scores = query @ keys.mT / math.sqrt(keys.shape[-1])
    scores = torch.where(_allowed(new, keys.shape[1], length, starts), scores, torch.tensor(-1e9))
    return torch.softmax(scores, dim=-1) @ values, keys, values


def cached_attention__wrong_not_scaled(query, key, value, key_cache, value_cache, length, starts):
    """The scores must be divided by the root of d_key."""
    new = key.shape[1]
    keys, values = key_cache.clone(), value_cache.clone()
    keys[:, length : length + new] = key
    values[:, length : length + new] = value
    scores = (query @ keys.transpose(-1, -2)).masked_fill(~_allowed(new, keys.shape[1], length, starts), -math.inf)
    return torch.nan_to_num(scores.softmax(dim=-1)) @ values, keys, values


def cached_attention__wrong_mask_starts_at_zero(query, key, value, key_cache, value_cache, length, starts):
    """New token i stands at position length + i, your mask treats it as if it stood at i."""
    new = key.shape[1]
    keys, values = key_cache.clone(), value_cache.clone()
    keys[:, length : length + new] = key
    values[:, length : length + new] = value
    return _attend_to_cache(query, keys, values, _allowed(new, keys.shape[1], 0, starts)), keys, values


def cached_attention__right_by_loops(query, key, value, key_cache, value_cache, length, starts):
    keys, values, outputs = [], [], []
    new = query.shape[1]
    for b in range(query.shape[0]):
        k = torch.cat([key_cache[b, :length], key[b], key_cache[b, length + new :]])
        v = torch.cat([value_cache[b, :length], value[b], value_cache[b, length + new :]])
        start = int(starts[b])
        for t in range(new):
            end = length + t + 1
            if end <= start:
                outputs.append(torch.zeros_like(v[0]))
            else:
                weights = torch.softmax(k[start:end] @ query[b, t] / query.shape[-1] ** 0.5, dim=0)
                outputs.append(weights @ v[start:end])
        keys.append(k)
        values.append(v)
    return rearrange(outputs, "(b t) d -> b t d", t=new), torch.stack(keys), torch.stack(values)


# ---------------------------------------------------------------- 13.4 window_mask


def window_mask__wrong_first_positions(query, key, window):
    """The queries are the last of the positions, so query i stands at key - query + i; you put it at i."""
    i = torch.arange(query)[:, None]
    j = torch.arange(key)[None, :]
    return (j <= i) & (j > i - window)


def window_mask__wrong_one_too_many(query, key, window):
    """The window counts the own position, so only window - 1 others are seen; you let one more in."""
    i = torch.arange(query)[:, None] + key - query
    j = torch.arange(key)
    return (j <= i) & (i - j <= window)


def window_mask__wrong_both_sides(query, key, window):
    """A position attends only to itself and those before; your window opens to both sides."""
    distance = torch.arange(key - query, key)[:, None] - torch.arange(key)[None]
    return distance.abs() < window


def window_mask__wrong_start_below_zero(query, key, window):
    """Where the window is wider than the text its start is below 0, and the slice then counts from the end."""
    mask = torch.zeros(query, key, dtype=torch.bool)
    for i in range(query):
        position = key - query + i
        mask[i, position - window + 1 : position + 1] = True
    return mask


def window_mask__right_two_triangles(query, key, window):
    everything = torch.ones(query, key, dtype=torch.bool)
    return everything.tril(key - query) ^ everything.tril(key - query - window)


# ---------------------------------------------------------------- 13.4 reach_through_layers


def reach_through_layers__wrong_windows_added_up(windows, time):
    """Each layer reaches window - 1 positions further back, you add the whole windows."""
    i, j = torch.arange(time)[:, None], torch.arange(time)[None]
    return (j <= i) & (i - j < windows.sum())


def reach_through_layers__wrong_only_widest_window(windows, time):
    """The layers follow one another, so their reaches add up; you take only the widest one."""
    d = torch.arange(time)[:, None] - torch.arange(time)
    return (d >= 0) & (d < windows.max())


def reach_through_layers__wrong_same_window_for_all_layers(windows, time):
    """Every layer has a window of its own; you use the first one for all."""
    reach = len(windows) * (int(windows[0]) - 1)
    mask = torch.zeros(time, time, dtype=torch.bool)
    for i in range(time):
        mask[i, max(0, i - reach) : i + 1] = True
    return mask


def reach_through_layers__wrong_masks_multiplied_by_element(windows, time):
    """The masks of the layers must be multiplied as matrices; element by element only the smallest window remains."""
    full = torch.ones(time, time, dtype=torch.bool)
    reach = full
    for w in windows.tolist():
        reach = reach * (full.tril() & full.triu(1 - w))
    return reach


def reach_through_layers__right_sets_of_positions(windows, time):
    @functools.lru_cache(maxsize=None)
    def inputs(position, layer):
        if layer < 0:
            return {position}
        first = max(0, position - sizes[layer] + 1)
        return set().union(*(inputs(p, layer - 1) for p in range(first, position + 1)))

    sizes = windows.tolist()
    reached = [inputs(i, len(sizes) - 1) for i in range(time)]
    return torch.tensor([[j in seen for j in range(time)] for seen in reached])


# ---------------------------------------------------------------- 13.5 layer_costs


def layer_costs__wrong_keys_projected_again(query, key, d_model, heads):
    """Keys and values of the positions before come from the cache; only the new positions are projected."""
    projections = 2 * query * d_model**2 + 2 * key * d_model**2
    return torch.tensor([projections, query * key * d_model, query * key * d_model, heads * query * key])


def layer_costs__wrong_scores_times_heads(query, key, d_model, heads):
    """Each head is only d_model / heads wide, so all heads together take query * key * d_model, not heads times that."""
    scores = heads * query * key * d_model
    return torch.tensor([4 * query * d_model * d_model, scores, scores, heads * query * key])


def layer_costs__wrong_elements_of_one_head(query, key, d_model, heads):
    """Every head has a score matrix of its own; you count the elements of one."""
    a = query * key * d_model
    return torch.tensor([4 * query * d_model**2, a, a, query * key])


def layer_costs__wrong_output_projection_forgotten(query, key, d_model, heads):
    """There are four projections, the one of the output too; you count three."""
    d_head = d_model // heads
    return torch.tensor(
        [3 * query * d_model * d_model, heads * query * key * d_head, heads * query * d_head * key, heads * query * key]
    )


def layer_costs__wrong_hidden_scores_not_counted(query, key, d_model, heads):
    """What the mask hides is computed all the same and counts; you count only the visible pairs."""
    pairs = sum(key - query + i + 1 for i in range(query))
    return torch.tensor([4 * query * d_model**2, pairs * d_model, pairs * d_model, heads * pairs])


# ---------------------------------------------------------------- 13.5 numbers_kept


def numbers_kept__wrong_values_forgotten(batch, time, d_model, heads, groups, layers):
    """Keys and values are kept, so there is a factor of 2."""
    return torch.tensor(layers * batch * groups * time * (d_model // heads))


def numbers_kept__wrong_every_head_its_own(batch, time, d_model, heads, groups, layers):
    """Heads of one group share their keys and values; you keep them for every head."""
    return torch.tensor(2 * layers * batch * time * heads * (d_model // heads))


def numbers_kept__wrong_group_as_wide_as_model(batch, time, d_model, heads, groups, layers):
    """The keys of a group are as wide as one head, d_model // heads; you divide the model by the groups."""
    return torch.tensor(2 * layers * batch * time * groups * (d_model // groups))


def numbers_kept__wrong_one_text_only(batch, time, d_model, heads, groups, layers):
    """The cache holds all texts of the batch, you count one."""
    head = d_model // heads
    return torch.tensor(2 * head * groups * time * layers)


def numbers_kept__right_from_empty_tensors(batch, time, d_model, heads, groups, layers):
    cache = torch.empty(layers, 2, batch, groups, time, d_model // heads, device="meta")
    return torch.tensor(cache.numel())


# ---------------------------------------------------------------- 13.5 costs_of_writing


def _layer(query, key, d):
    return 4 * query * d * d + 2 * query * key * d


def costs_of_writing__wrong_one_call_too_many(prompt, new, d_model):
    """The first new token comes from the prefill, so new - 1 calls follow; you call the model once more."""
    cached = _layer(prompt, prompt, d_model)
    plain = _layer(prompt, prompt, d_model)
    for i in range(1, new + 1):
        cached += _layer(1, prompt + i, d_model)
        plain += _layer(prompt + i, prompt + i, d_model)
    return torch.tensor(cached), torch.tensor(plain)


def costs_of_writing__wrong_keys_do_not_grow(prompt, new, d_model):
    """With every token the cache grows by one key; you let each query attend to the prompt only."""
    cached = _layer(prompt, prompt, d_model) + (new - 1) * _layer(1, prompt, d_model)
    plain = sum(_layer(prompt + i, prompt + i, d_model) for i in range(new))
    return torch.tensor(cached), torch.tensor(plain)


def costs_of_writing__wrong_projections_of_whole_text_with_cache(prompt, new, d_model):
    """With the cache only the new token is projected, you project the whole text at every call."""
    with_cache, without = 0, 0
    for i in range(new):
        n = prompt + i
        q = prompt if i == 0 else 1
        with_cache += 4 * n * d_model**2 + 2 * q * n * d_model
        without += 4 * n * d_model**2 + 2 * n * n * d_model
    return torch.tensor(with_cache), torch.tensor(without)


def costs_of_writing__wrong_outputs_swapped(prompt, new, d_model):
    """First comes the cost with the cache and then without; yours are the other way round."""
    n = torch.arange(prompt, prompt + new)
    without = (4 * n * d_model**2 + 2 * n * n * d_model).sum()
    q = torch.ones_like(n)
    q[0] = prompt
    with_cache = (4 * q * d_model**2 + 2 * q * n * d_model).sum()
    return without, with_cache


def costs_of_writing__wrong_key_without_new_token(prompt, new, d_model):
    """The new token attends to itself too, so the first call after the prefill has prompt + 1 keys and not prompt."""
    cached = _layer(prompt, prompt, d_model) + sum(_layer(1, prompt + i, d_model) for i in range(new - 1))
    plain = sum(_layer(n, n, d_model) for n in range(prompt, prompt + new))
    return torch.tensor(cached), torch.tensor(plain)


def costs_of_writing__right_by_closed_form(prompt, new, d_model):
    last = prompt + new - 1

    def texts(n):
        return n * (n + 1) // 2

    def squares(n):
        return n * (n + 1) * (2 * n + 1) // 6

    with_cache = 4 * last * d_model**2 + 2 * d_model * (prompt**2 + texts(last) - texts(prompt))
    without = 4 * d_model**2 * (texts(last) - texts(prompt - 1)) + 2 * d_model * (squares(last) - squares(prompt - 1))
    return torch.tensor(with_cache), torch.tensor(without)
