# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110
import torch


def add_piece__wrong_overflow(maximum, total, scores):
    """Measures from no maximum in between, which overflows where scores are large."""
    new = torch.maximum(maximum, scores.max(dim=-1).values)
    everything = total * torch.exp(maximum) + torch.exp(scores).sum(dim=-1)
    return new, everything * torch.exp(-new)


def add_piece__wrong_hidden_block(maximum, total, scores):
    """Measures the block from its own maximum first, which makes nan of a block that is hidden as a whole."""
    own = scores.amax(dim=-1)
    own_total = (scores - own[:, None]).exp().sum(dim=-1)
    new = torch.maximum(maximum, own)
    return new, total * (maximum - new).exp() + own_total * (own - new).exp()


def add_piece__wrong_in_place(maximum, total, scores):
    """Rescales the caller's sum in place."""
    new = torch.maximum(maximum, scores.amax(dim=-1))
    total *= torch.exp(maximum - new)
    total += torch.exp(scores - new[:, None]).sum(dim=-1)
    return new, total


def add_piece__right_one_column(maximum, total, scores):
    """Right: lays the old maximum before the scores as one more score that counts total times."""
    everything = torch.cat([maximum[:, None], scores], dim=1)
    times = torch.cat([total[:, None], torch.ones_like(scores)], dim=1)
    new = everything.amax(dim=1)
    return new, (times * torch.exp(everything - new[:, None])).sum(dim=1)


def merge_halves__wrong_totals_as_weights(maximum, total, output, other_maximum, other_total, other_output):
    """Weighs the outputs by the sums as they came, measured from different maxima."""
    new = torch.maximum(maximum, other_maximum)
    both = total * (maximum - new).exp() + other_total * (other_maximum - new).exp()
    merged = total[:, None] * output + other_total[:, None] * other_output
    return new, both, merged / (total + other_total)[:, None]


def merge_halves__wrong_from_the_other(maximum, total, output, other_maximum, other_total, other_output):
    """Measures both from the other maximum, which is infinite where the other half has seen no key."""
    factor = torch.exp(maximum - other_maximum)
    both = total * factor + other_total
    merged = ((total * factor)[:, None] * output + other_total[:, None] * other_output) / both[:, None]
    new = torch.maximum(maximum, other_maximum)
    return new, both * torch.exp(other_maximum - new), merged


def merge_halves__right_softmax(maximum, total, output, other_maximum, other_total, other_output):
    """Right: a softmax of two, the logarithms of the rescaled sums."""
    new = torch.maximum(maximum, other_maximum)
    logs = torch.stack([maximum - new + total.log(), other_maximum - new + other_total.log()])
    shares = logs.softmax(dim=0)
    outputs = torch.stack([output, other_output])
    return new, logs.exp().sum(dim=0), (shares[:, :, None] * outputs).sum(dim=0)


def tiled_attention__wrong_position_of_queries(query, key, value, tile, causal, compare):
    """Counts the causal positions of the queries from 0, also where there are more keys."""
    outputs = []
    for a in range(0, query.shape[1], tile):
        q = query[:, a : a + tile]
        m = torch.full_like(q[:, :, :1], -torch.inf)
        l = torch.zeros_like(m)
        o = 0.0
        for b in range(0, key.shape[1], tile):
            s = compare(q, key[:, b : b + tile])
            if causal:
                i = torch.arange(a, a + s.shape[1])[:, None]
                j = torch.arange(b, b + s.shape[2])
                s = s.masked_fill(j > i, -torch.inf)
            new = torch.maximum(m, s.amax(-1, keepdim=True))
            e = (s - new).exp()
            f = (m - new).exp()
            l = l * f + e.sum(-1, keepdim=True)
            o = o * f + e @ value[:, b : b + tile]
            m = new
        outputs.append(o / l)
    return torch.cat(outputs, dim=1)


def tiled_attention__wrong_whole_tiles(query, key, value, tile, causal, compare):
    """Leaves out the last keys where the tile does not divide their number."""
    batch, n, _ = query.shape
    keys = key.shape[1]
    out = torch.zeros(batch, n, value.shape[2], dtype=value.dtype)
    width = min(tile, keys)
    for a in range(0, n, tile):
        q = query[:, a : a + tile]
        rows = torch.arange(a, a + q.shape[1]) + keys - n
        top = torch.full((batch, q.shape[1]), -torch.inf, dtype=query.dtype)
        total = torch.zeros_like(top)
        average = torch.zeros(batch, q.shape[1], value.shape[2], dtype=value.dtype)
        for number in range(keys // width):
            part = slice(number * width, (number + 1) * width)
            scores = compare(q, key[:, part])
            if causal:
                columns = torch.arange(keys)[part]
                scores = scores.masked_fill(columns[None, :] > rows[:, None], -torch.inf)
            new = torch.maximum(top, scores.amax(dim=2))
            weights = torch.exp(scores - new[:, :, None])
            total = total * torch.exp(top - new) + weights.sum(dim=2)
            average = average * torch.exp(top - new)[:, :, None] + weights @ value[:, part]
            top = new
        out[:, a : a + tile] = average / total[:, :, None]
    return out


def tiled_attention__wrong_all_keys(query, key, value, tile, causal, compare):
    """Cuts the queries alone and compares each tile of them with all keys in one call."""
    offset = key.shape[1] - query.shape[1]
    outputs = []
    for a in range(0, query.shape[1], tile):
        scores = compare(query[:, a : a + tile], key)
        if causal:
            i = torch.arange(a, a + scores.shape[1])[:, None] + offset
            scores = scores.masked_fill(torch.arange(key.shape[1]) > i, -torch.inf)
        outputs.append(scores.softmax(dim=-1) @ value)
    return torch.cat(outputs, dim=1)


def tiled_attention__wrong_single_precision(query, key, value, tile, causal, compare):
    """Collects the output in float32, also where all tensors are float64."""
    batch, n, _ = query.shape
    offset = key.shape[1] - n
    out = torch.zeros(batch, n, value.shape[-1])
    for a in range(0, n, tile):
        q = query[:, a : a + tile]
        m = torch.full((batch, q.shape[1], 1), -torch.inf)
        total = torch.zeros(batch, q.shape[1], 1)
        acc = torch.zeros(batch, q.shape[1], value.shape[-1])
        for b in range(0, key.shape[1], tile):
            s = compare(q, key[:, b : b + tile])
            if causal:
                i = offset + a + torch.arange(s.shape[1])
                j = b + torch.arange(s.shape[2])
                s = s.masked_fill(j[None, :] > i[:, None], -torch.inf)
            new = torch.maximum(m, s.amax(dim=-1, keepdim=True))
            p = torch.exp(s - new)
            r = torch.exp(m - new)
            total = total * r + p.sum(dim=-1, keepdim=True)
            acc = acc * r + p @ value[:, b : b + tile]
            m = new
        out[:, a : a + tile] = acc / total
    return out


def tiled_attention__right_detached_maximum(query, key, value, tile, causal, compare):
    """Right: one query at a time, tiles of keys that are wholly hidden skipped, and no gradient through the maximum, which cancels."""
    n, k = query.shape[1], key.shape[1]
    rows = []
    for i in range(n):
        q = query[:, i : i + 1]
        end = k - n + i + 1 if causal else k
        m = total = output = None
        for b in range(0, end, tile):
            stop = min(b + tile, end)
            s = compare(q, key[:, b:stop])
            top = s.detach().amax(dim=-1, keepdim=True)
            new = top if m is None else torch.maximum(m, top)
            e = torch.exp(s - new)
            t = e.sum(dim=-1, keepdim=True)
            o = torch.einsum("bqk,bkd->bqd", e, value[:, b:stop])
            if m is not None:
                t = t + total * torch.exp(m - new)
                o = o + output * torch.exp(m - new)
            m, total, output = new, t, o
        rows.append(output / total)
    return torch.cat(rows, dim=1)


def cached_attention__wrong_sees_new_tokens(query, key, value, key_cache, value_cache, length, starts):
    """Every new token attends to all new tokens, also to those after it."""
    new = query.shape[1]
    keys, values = key_cache.clone(), value_cache.clone()
    keys[:, length : length + new] = key
    values[:, length : length + new] = value
    places = torch.arange(keys.shape[1])
    rows = torch.arange(length, length + new)[:, None]
    mask = (places < length + new) & (places >= starts[:, None, None]) & (rows >= starts[:, None, None])
    scores = torch.einsum("bnd,bmd->bnm", query, keys) / keys.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1).nan_to_num(0.0)
    return weights @ values, keys, values


def cached_attention__wrong_padding_average(query, key, value, key_cache, value_cache, length, starts):
    """Hides by a large negative score, so a query in the padding reads the average of everything instead of 0."""
    new = query.shape[1]
    keys, values = key_cache.clone(), value_cache.clone()
    keys[:, length : length + new] = key
    values[:, length : length + new] = value
    places = torch.arange(keys.shape[1])
    mask = (places[None, None, :] >= starts[:, None, None]) & (
        places[None, None, :] <= torch.arange(length, length + new)[None, :, None]
    )
    scores = query @ keys.transpose(1, 2) / query.shape[-1] ** 0.5
    weights = torch.softmax(scores.masked_fill(~mask, -1e9), dim=-1)
    return weights @ values, keys, values


def cached_attention__wrong_start_hidden(query, key, value, key_cache, value_cache, length, starts):
    """Hides the position at which the text begins."""
    new = query.shape[1]
    keys = torch.cat([key_cache[:, :length], key, key_cache[:, length + new :]], dim=1)
    values = torch.cat([value_cache[:, :length], value, value_cache[:, length + new :]], dim=1)
    places = torch.arange(keys.shape[1])
    mask = (places > starts[:, None, None]) & (places <= torch.arange(length, length + new)[:, None])
    scores = query @ keys.mT / query.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
    return weights.nan_to_num() @ values, keys, values


def cached_attention__wrong_width_of_values(query, key, value, key_cache, value_cache, length, starts):
    """Divides the scores by the root of d_value."""
    new = query.shape[1]
    keys = key_cache.clone()
    values = value_cache.clone()
    keys[:, length : length + new] = key
    values[:, length : length + new] = value
    places = torch.arange(keys.shape[1])
    mask = (places >= starts[:, None, None]) & (places <= torch.arange(length, length + new)[:, None])
    scores = query @ keys.mT / values.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0.0)
    return weights @ values, keys, values


def cached_attention__right_row_by_row(query, key, value, key_cache, value_cache, length, starts):
    """Right: query by query, with the keys that it may read cut out."""
    batch, new, d_key = query.shape
    keys = torch.cat([key_cache[:, :length], key, key_cache[:, length + new :]], dim=1)
    values = torch.cat([value_cache[:, :length], value, value_cache[:, length + new :]], dim=1)
    output = value.new_zeros(value.shape)
    for b in range(batch):
        start = int(starts[b])
        for i in range(new):
            here = length + i
            if here < start:
                continue
            scores = keys[b, start : here + 1] @ query[b, i] / d_key**0.5
            output[b, i] = scores.softmax(dim=0) @ values[b, start : here + 1]
    return output, keys, values


def window_mask__wrong_one_more(query, key, window):
    """Reaches window positions back instead of window - 1."""
    back = torch.arange(key - query, key)[:, None] - torch.arange(key)
    return (back >= 0) & (back <= window)


def reach_through_layers__wrong_first_window(windows, time):
    """Takes the first window for every layer."""
    reach = len(windows) * (int(windows[0]) - 1)
    back = torch.arange(time)[:, None] - torch.arange(time)[None, :]
    return (back >= 0) & (back <= reach)


def reach_through_layers__right_products(windows, time):
    """Right: multiplies the masks of the layers as matrices."""
    reach = torch.eye(time)
    back = torch.arange(time)[:, None] - torch.arange(time)
    for window in windows.tolist():
        layer = ((back >= 0) & (back < window)).float()
        reach = (layer @ reach > 0).float()
    return reach.bool()


def layer_costs__wrong_keys_of_all(query, key, d_model, heads):
    """Computes keys and values for all positions, as if there were no cache."""
    projections = 2 * query * d_model**2 + 2 * key * d_model**2
    each = query * key * d_model
    return torch.tensor([projections, each, each, heads * query * key])


def layer_costs__wrong_one_head(query, key, d_model, heads):
    """Counts scores and averages of a single head."""
    width = d_model // heads
    return torch.tensor(
        [
            4 * query * d_model**2,
            query * key * width,
            query * key * width,
            heads * query * key,
        ]
    )


def numbers_kept__wrong_every_head(batch, time, d_model, heads, groups, layers):
    """Keeps keys and values for every head, also where heads share them."""
    return torch.tensor(2 * layers * batch * time * heads * (d_model // heads))


def costs_of_writing__wrong_keys_stay(prompt, new, d_model):
    """With the cache every later call compares with the prompt alone, since the keys do not grow."""
    cached = 4 * prompt * d_model**2 + 2 * prompt**2 * d_model
    cached += (new - 1) * (4 * d_model**2 + 2 * prompt * d_model)
    plain = 0
    for t in range(prompt, prompt + new):
        plain += 4 * t * d_model**2 + 2 * t * t * d_model
    return torch.tensor(cached), torch.tensor(plain)


def costs_of_writing__wrong_rounded(prompt, new, d_model):
    """Adds up in float32, which rounds large numbers."""
    t = torch.arange(prompt, prompt + new).float()
    plain = (4 * t * d_model**2 + 2 * t * t * d_model).sum()
    q = torch.ones(new)
    q[0] = prompt
    cached = (4 * q * d_model**2 + 2 * q * t * d_model).sum()
    return cached.long(), plain.long()


def costs_of_writing__right_closed_form(prompt, new, d_model):
    """Right: without loops, by the formulas for sums of numbers and of squares."""
    last = prompt + new - 1
    numbers = last * (last + 1) // 2 - prompt * (prompt - 1) // 2
    squares = last * (last + 1) * (2 * last + 1) // 6 - (prompt - 1) * prompt * (2 * prompt - 1) // 6
    plain = 4 * d_model**2 * numbers + 2 * d_model * squares
    cached = 4 * d_model**2 * last + 2 * d_model * (prompt**2 + numbers - prompt)
    return torch.tensor(cached), torch.tensor(plain)
