# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110

import math

import torch
from einops import einsum

# ------------------------------------------------------------------- add_piece


def add_piece__wrong_factor_upside_down(maximum, total, scores):
    """The old sum is multiplied by exp(new - old), which lets it grow where it has to shrink."""
    new = torch.maximum(maximum, scores.amax(dim=-1))
    total = total * torch.exp(new - maximum) + torch.exp(scores - new[:, None]).sum(dim=-1)
    return new, total


def add_piece__wrong_nan_for_hidden_block(maximum, total, scores):
    """Measures the block from its own maximum first; for a block that is hidden as a whole that is -inf - -inf = nan."""
    block_maximum = scores.amax(dim=-1)
    block_total = (scores - block_maximum[:, None]).exp().sum(dim=-1)
    new = torch.maximum(maximum, block_maximum)
    total = total * (maximum - new).exp() + block_total * (block_maximum - new).exp()
    return new, total


def add_piece__wrong_exponentials_not_measured(maximum, total, scores):
    """Goes back to exp(maximum) * total, which overflows (or vanishes) for scores around 10,000 and -10,000."""
    whole = total * torch.exp(maximum) + torch.exp(scores).sum(dim=-1)
    new = torch.maximum(maximum, scores.max(dim=-1).values)
    return new, whole / torch.exp(new)


def add_piece__right_logsumexp(maximum, total, scores):
    """Right: the old sum enters a logsumexp as one more score."""
    new = torch.maximum(maximum, scores.max(dim=1).values)
    old = (maximum - new) + total.log()
    both = torch.cat([old[:, None], scores - new[:, None]], dim=1)
    return new, torch.logsumexp(both, dim=1).exp()


def add_piece__right_score_by_score(maximum, total, scores):
    """Right: one score after the other; a hidden one leaves the row as it is."""
    for s in scores.unbind(dim=1):
        new = torch.where(s > maximum, s, maximum)
        updated = total * (maximum - new).exp() + (s - new).exp()
        total = torch.where(s == -torch.inf, total, updated)
        maximum = new
    return maximum, total


# ---------------------------------------------------------------- merge_halves


def merge_halves__wrong_outputs_as_sums(maximum, total, output, other_maximum, other_total, other_output):
    """Treats the outputs as not yet divided: the sums do not weigh them."""
    new = torch.maximum(maximum, other_maximum)
    a = torch.exp(maximum - new)
    b = torch.exp(other_maximum - new)
    new_total = a * total + b * other_total
    merged = (a[:, None] * output + b[:, None] * other_output) / new_total[:, None]
    return new, new_total, merged


def merge_halves__wrong_sums_not_rescaled(maximum, total, output, other_maximum, other_total, other_output):
    """Adds and weighs by the two sums as they came, though they are measured from different maxima."""
    new = torch.maximum(maximum, other_maximum)
    new_total = total + other_total
    merged = (total[:, None] * output + other_total[:, None] * other_output) / new_total[:, None]
    return new, new_total, merged


def merge_halves__wrong_weights_without_axis(maximum, total, output, other_maximum, other_total, other_output):
    """The weights (batch,) get no axis for d_value, which is right for a batch of one only."""
    new = torch.maximum(maximum, other_maximum)
    first = total * (maximum - new).exp()
    second = other_total * (other_maximum - new).exp()
    both = first + second
    return new, both, (first * output + second * other_output) / both


def merge_halves__right_sigmoid(maximum, total, output, other_maximum, other_total, other_output):
    """Right: the share of the first half is the sigmoid of the difference of the two log sums."""
    new = torch.maximum(maximum, other_maximum)
    share = torch.sigmoid((maximum - other_maximum) + (total.log() - other_total.log()))[:, None]
    merged_total = total * (maximum - new).exp() + other_total * (other_maximum - new).exp()
    return new, merged_total, share * output + (1 - share) * other_output


# ------------------------------------------------------------- tiled_attention


def tiled_attention__wrong_queries_start_at_zero(query, key, value, tile, causal, compare):
    """The causal mask puts query i at position i, though the queries are the last of the positions."""
    queries, keys = query.shape[1], key.shape[1]
    parts = []
    for i in range(0, queries, tile):
        q = query[:, i : i + tile]
        maximum = q.new_full((q.shape[0], q.shape[1], 1), float("-inf"))
        total = torch.zeros_like(maximum)
        output = q.new_zeros(q.shape[0], q.shape[1], value.shape[2])
        for j in range(0, keys, tile):
            scores = compare(q, key[:, j : j + tile])
            if causal:
                rows = torch.arange(i, i + scores.shape[1])
                columns = torch.arange(j, j + scores.shape[2])
                scores = scores.masked_fill(columns[None, :] > rows[:, None], float("-inf"))
            new = torch.maximum(maximum, scores.amax(dim=-1, keepdim=True))
            factor = torch.exp(maximum - new)
            e = torch.exp(scores - new)
            total = total * factor + e.sum(dim=-1, keepdim=True)
            output = output * factor + e @ value[:, j : j + tile]
            maximum = new
        parts.append(output / total)
    return torch.cat(parts, dim=1)


def tiled_attention__wrong_divided_once_more(query, key, value, tile, causal, compare):
    """Divides what compare returns by the root of d_key again (in the examples d_key is 1)."""
    batch, queries, d_key = query.shape
    keys = key.shape[1]
    position = torch.arange(keys - queries, keys)
    answer = torch.zeros(batch, queries, value.shape[-1], dtype=value.dtype)
    for i in range(0, queries, tile):
        q = query[:, i : i + tile]
        m = q.new_full((batch, q.shape[1], 1), -torch.inf)
        s, o = 0.0, 0.0
        for j in range(0, keys, tile):
            scores = compare(q, key[:, j : j + tile]) / d_key**0.5
            if causal:
                later = torch.arange(keys)[j : j + tile] > position[i : i + tile, None]
                scores = scores.masked_fill(later, -torch.inf)
            new = torch.maximum(m, scores.amax(-1, keepdim=True))
            factor = torch.exp(m - new)
            e = torch.exp(scores - new)
            s = s * factor + e.sum(-1, keepdim=True)
            o = o * factor + e @ value[:, j : j + tile]
            m = new
        answer[:, i : i + tile] = o / s
    return answer


def tiled_attention__wrong_all_keys_at_once(query, key, value, tile, causal, compare):
    """Cuts only the queries into tiles and compares each tile with all keys at once."""
    queries, keys = query.shape[1], key.shape[1]
    mask = torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)
    out = []
    for i in range(0, queries, tile):
        scores = compare(query[:, i : i + tile], key)
        if causal:
            scores = scores.masked_fill(~mask[i : i + tile], -torch.inf)
        out.append(scores.softmax(dim=-1) @ value)
    return torch.cat(out, dim=1)


def tiled_attention__wrong_softmax_in_each_tile(query, key, value, tile, causal, compare):
    """Averages over each tile by its own softmax, which is nan where the mask hides a tile as a whole."""
    batch, queries, _ = query.shape
    keys = key.shape[1]
    outputs = []
    for i in range(0, queries, tile):
        q = query[:, i : i + tile]
        log_total, found = [], []
        for j in range(0, keys, tile):
            scores = compare(q, key[:, j : j + tile])
            if causal:
                rows = torch.arange(i, i + q.shape[1]) + keys - queries
                columns = torch.arange(j, j + scores.shape[-1])
                scores = torch.where(columns <= rows[:, None], scores, -torch.inf)
            log_total.append(scores.logsumexp(dim=-1))
            found.append(scores.softmax(dim=-1) @ value[:, j : j + tile])
        shares = torch.stack(log_total).softmax(dim=0)
        outputs.append((shares[..., None] * torch.stack(found)).sum(dim=0))
    return torch.cat(outputs, dim=1)


def tiled_attention__right_two_passes(query, key, value, tile, causal, compare):
    """Right: a first pass over the keys for the maximum alone, a second one, which compares anew, for the sums."""
    batch, queries, _ = query.shape
    keys = key.shape[1]

    def scores_of(i, j):
        scores = compare(query[:, i : i + tile], key[:, j : j + tile])
        if causal:
            rows = torch.arange(i, i + scores.shape[1]) + keys - queries
            columns = torch.arange(j, j + scores.shape[2])
            scores = scores.masked_fill(columns > rows[:, None], -torch.inf)
        return scores

    outputs = []
    for i in range(0, queries, tile):
        maximum = None
        for j in range(0, keys, tile):
            here = scores_of(i, j).detach().amax(dim=-1, keepdim=True)
            maximum = here if maximum is None else torch.maximum(maximum, here)
        total, output = 0, 0
        for j in range(0, keys, tile):
            e = torch.exp(scores_of(i, j) - maximum)
            total = total + e.sum(dim=-1, keepdim=True)
            output = output + e @ value[:, j : j + tile]
        outputs.append(output / total)
    return torch.cat(outputs, dim=1)


# ------------------------------------------------------------ cached_attention


def cached_attention__wrong_caches_changed(query, key, value, key_cache, value_cache, length, starts):
    """Writes the new keys and values into the caches that came in."""
    new = query.shape[1]
    key_cache[:, length : length + new] = key
    value_cache[:, length : length + new] = value
    positions = torch.arange(key_cache.shape[1])
    own = torch.arange(length, length + new)[:, None]
    mask = (positions >= starts[:, None, None]) & (positions <= own)
    scores = query @ key_cache.mT / query.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1).masked_fill(~mask, 0.0)
    return weights @ value_cache, key_cache, value_cache


def cached_attention__wrong_new_tokens_see_each_other(query, key, value, key_cache, value_cache, length, starts):
    """Every query attends to all positions that are filled, also to the new tokens after its own."""
    new = query.shape[1]
    keys, values = key_cache.clone(), value_cache.clone()
    keys[:, length : length + new] = key
    values[:, length : length + new] = value
    positions = torch.arange(keys.shape[1])
    mask = (positions >= starts[:, None]) & (positions < length + new)
    mask = mask[:, None, :].expand(-1, new, -1)
    scores = query @ keys.transpose(1, 2) / math.sqrt(query.shape[-1])
    weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1)
    return torch.nan_to_num(weights) @ values, keys, values


def cached_attention__wrong_padding_gets_a_mean(query, key, value, key_cache, value_cache, length, starts):
    """Hides by -1e9, so a query in the padding averages over the whole cache instead of giving 0."""
    new = query.shape[1]
    key_cache = key_cache.clone()
    value_cache = value_cache.clone()
    key_cache[:, length : length + new] = key
    value_cache[:, length : length + new] = value
    position = torch.arange(key_cache.shape[1])
    own = torch.arange(length, length + new)
    mask = (position >= starts[:, None, None]) & (position <= own[:, None])
    scores = query @ key_cache.mT / query.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -1e9).softmax(dim=-1)
    return weights @ value_cache, key_cache, value_cache


def cached_attention__wrong_scores_not_divided(query, key, value, key_cache, value_cache, length, starts):
    """The scores are not divided by the root of d_key (in the first example it is 1)."""
    n = query.shape[1]
    end = length + n
    keys = torch.cat([key_cache[:, :length], key, key_cache[:, end:]], dim=1)
    values = torch.cat([value_cache[:, :length], value, value_cache[:, end:]], dim=1)
    p = torch.arange(keys.shape[1])
    hidden = (p < starts[:, None, None]) | (p > torch.arange(length, end)[:, None])
    scores = einsum(query, keys, "b q d, b k d -> b q k")
    weights = scores.masked_fill(hidden, -torch.inf).softmax(-1).nan_to_num(0.0)
    return einsum(weights, values, "b q k, b k d -> b q d"), keys, values


def cached_attention__right_row_by_row(query, key, value, key_cache, value_cache, length, starts):
    """Right: cuts, for each row and each query, the stretch of the cache that it may see."""
    batch, new, d_key = query.shape
    end = length + new
    keys = torch.cat([key_cache[:, :length], key, key_cache[:, end:]], dim=1)
    values = torch.cat([value_cache[:, :length], value, value_cache[:, end:]], dim=1)
    output = torch.zeros_like(value)
    for b in range(batch):
        first = int(starts[b])
        for i in range(new):
            own = length + i
            if own < first:
                continue
            scores = keys[b, first : own + 1] @ query[b, i] / math.sqrt(d_key)
            output[b, i] = torch.softmax(scores, dim=0) @ values[b, first : own + 1]
    return output, keys, values


# ----------------------------------------------------------------- window_mask


def window_mask__wrong_one_too_wide(query, key, window):
    """Lets each query attend to window positions before its own, so to window + 1 in all."""
    positions = torch.arange(key - query, key)[:, None]
    back = positions - torch.arange(key)
    return (back >= 0) & (back <= window)


def window_mask__wrong_both_directions(query, key, window):
    """Takes the absolute distance, so later positions are visible too."""
    rows = torch.arange(key - query, key).unsqueeze(1)
    columns = torch.arange(key).unsqueeze(0)
    return (rows - columns).abs() < window


def window_mask__right_two_triangles(query, key, window):
    """Right: a lower triangle cut once more by an upper one."""
    offset = key - query
    return torch.ones(query, key, dtype=torch.bool).tril(offset).triu(offset - window + 1)


# -------------------------------------------------------- reach_through_layers


def reach_through_layers__wrong_windows_added(windows, time):
    """Adds up the windows, not the windows less 1, and subtracts 1 once."""
    reach = int(windows.sum()) - 1
    back = torch.arange(time)[:, None] - torch.arange(time)
    return (back >= 0) & (back <= reach)


def reach_through_layers__wrong_first_window_for_all(windows, time):
    """Counts every layer with the window of the first."""
    steps = len(windows) * (int(windows[0]) - 1)
    return torch.ones(time, time, dtype=torch.bool).tril().triu(-steps)


def reach_through_layers__right_product_of_masks(windows, time):
    """Right: multiplies the masks of the layers and asks where a path is left."""
    position = torch.arange(time)
    back = position[:, None] - position
    reach = torch.eye(time)
    for window in windows:
        layer = ((back >= 0) & (back < window)).float()
        reach = (layer @ reach > 0).float()
    return reach.bool()


# ----------------------------------------------------------------- layer_costs


def layer_costs__wrong_keys_projected_anew(query, key, d_model, heads):
    """Projects keys and values for all positions, also for those in the cache."""
    projections = 2 * query * d_model**2 + 2 * key * d_model**2
    scores = query * key * d_model
    return torch.tensor([projections, scores, scores, heads * query * key])


def layer_costs__wrong_float_answer(query, key, d_model, heads):
    """Divides d_model / heads with /, so the whole answer is float32, not integers."""
    d_head = d_model / heads
    scores = heads * query * key * d_head
    return torch.tensor([4 * query * d_model**2, scores, scores, heads * query * key])


# ---------------------------------------------------------------- numbers_kept


def numbers_kept__wrong_no_groups(batch, time, d_model, heads, groups, layers):
    """Counts keys and values of every head (d_model numbers), as if none were shared."""
    return torch.tensor(2 * layers * batch * time * d_model)


def numbers_kept__right_empty_tensor(batch, time, d_model, heads, groups, layers):
    """Right: asks a tensor without storage how many elements it has."""
    cache = torch.empty(2, layers, batch, groups, time, d_model // heads, device="meta")
    return torch.tensor(cache.numel())


# ------------------------------------------------------------ costs_of_writing


def costs_of_writing__wrong_one_call_more(prompt, new, d_model):
    """Calls the model once more, on the last generated token, which nobody reads."""

    def cost(q, k):
        return 4 * q * d_model**2 + 2 * q * k * d_model

    cached = cost(prompt, prompt)
    plain = cost(prompt, prompt)
    for i in range(1, new + 1):
        cached += cost(1, prompt + i)
        plain += cost(prompt + i, prompt + i)
    return torch.tensor(cached), torch.tensor(plain)


def costs_of_writing__wrong_float32_sum(prompt, new, d_model):
    """Adds up in float32 tensors, so the answers are no integers and great ones are rounded."""
    cached = torch.zeros(())
    plain = torch.zeros(())
    for i in range(new):
        n = prompt + i
        q = prompt if i == 0 else 1
        cached += 4 * q * d_model**2 + 2 * q * n * d_model
        plain += 4 * n * d_model**2 + 2 * n * n * d_model
    return cached, plain


def costs_of_writing__right_closed_form(prompt, new, d_model):
    """Right: the sums of n and of n squared by their formulas, in whole numbers."""

    def first(m):
        return m * (m + 1) // 2

    def second(m):
        return m * (m + 1) * (2 * m + 1) // 6

    last = prompt + new - 1
    cached = 4 * last * d_model**2 + 2 * d_model * (prompt**2 + first(last) - first(prompt))
    lengths = first(last) - first(prompt - 1)
    squares = second(last) - second(prompt - 1)
    plain = 4 * d_model**2 * lengths + 2 * d_model * squares
    return torch.tensor(cached), torch.tensor(plain)
