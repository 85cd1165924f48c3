# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110

import torch


def add_piece__wrong_plain_exponentials(maximum, total, scores):
    """Everything is brought back to plain exponentials first, which are infinite for scores around 10,000."""
    new = torch.maximum(maximum, scores.max(dim=1).values)
    plain = total * torch.exp(maximum) + torch.exp(scores).sum(dim=1)
    return new, plain / torch.exp(new)


def add_piece__wrong_in_place(maximum, total, scores):
    """The caller's total is overwritten."""
    new = torch.maximum(maximum, scores.amax(dim=1))
    total *= torch.exp(maximum - new)
    total += torch.exp(scores - new[:, None]).sum(dim=1)
    return new, total


def add_piece__right_one_weighted_score(maximum, total, scores):
    """What was read is one more score, the old maximum, that counts `total` times."""
    every = torch.cat([maximum[:, None], scores], dim=1)
    times = torch.cat([total[:, None], torch.ones_like(scores)], dim=1)
    new, _ = every.max(dim=1)
    return new, torch.linalg.vecdot(times, torch.exp(every - new[:, None]))


def merge_halves__wrong_measured_from_the_first(maximum, total, output, other_maximum, other_total, other_output):
    """Everything is measured from the first half's maximum, which overflows where the other is far above it, and is nan where the first has seen nothing."""
    factor = torch.exp(other_maximum - maximum)
    both = total + other_total * factor
    merged = (total[:, None] * output + (other_total * factor)[:, None] * other_output) / both[:, None]
    new = torch.maximum(maximum, other_maximum)
    return new, both * torch.exp(maximum - new), merged


def merge_halves__wrong_plain_exponentials(maximum, total, output, other_maximum, other_total, other_output):
    """The sums are turned into sums of plain exponentials, infinite around 10,000 and 0 around -10,000."""
    a = total * maximum.exp()
    b = other_total * other_maximum.exp()
    new = torch.maximum(maximum, other_maximum)
    merged = (a[:, None] * output + b[:, None] * other_output) / (a + b)[:, None]
    return new, (a + b) / new.exp(), merged


def tiled_attention__wrong_keys_only(query, key, value, tile, causal, compare):
    """Only the keys are cut into tiles; all queries are compared at once, more than `tile` of them."""
    batch, n, _ = query.shape
    m = torch.full((batch, n, 1), -torch.inf, dtype=query.dtype)
    total = torch.zeros(batch, n, 1, dtype=query.dtype)
    output = torch.zeros(batch, n, value.shape[-1], dtype=query.dtype)
    position = torch.arange(key.shape[1] - n, key.shape[1])[:, None]
    for j in range(0, key.shape[1], tile):
        scores = compare(query, key[:, j : j + tile])
        if causal:
            later = torch.arange(j, j + scores.shape[-1]) > position
            scores = scores.masked_fill(later, -torch.inf)
        new = torch.maximum(m, scores.amax(-1, keepdim=True))
        p = torch.exp(scores - new)
        shrink = torch.exp(m - new)
        total = total * shrink + p.sum(-1, keepdim=True)
        output = output * shrink + p @ value[:, j : j + tile]
        m = new
    return output / total


def tiled_attention__wrong_no_maximum(query, key, value, tile, causal, compare):
    """The exponentials are added up without a maximum, and scores of 10,000 make them infinite."""
    n, keys = query.shape[1], key.shape[1]
    rows = []
    for i in range(0, n, tile):
        q = query[:, i : i + tile]
        total, output = 0.0, 0.0
        for j in range(0, keys, tile):
            e = torch.exp(compare(q, key[:, j : j + tile]))
            if causal:
                position = keys - n + i + torch.arange(q.shape[1])[:, None]
                e = e * (torch.arange(j, j + e.shape[-1]) <= position)
            total = total + e.sum(dim=-1, keepdim=True)
            output = output + e @ value[:, j : j + tile]
        rows.append(output / total)
    return torch.cat(rows, dim=1)


def tiled_attention__right_halves_merged(query, key, value, tile, causal, compare):
    """Divide and conquer: the keys are halved until a tile is left, and the halves are merged on the way back."""
    first = key.shape[1] - query.shape[1]

    def safe(m):
        return torch.where(m == -torch.inf, torch.zeros_like(m), m)

    def part(q, at, low, high):
        tiles = -(-(high - low) // tile)
        if tiles == 1:
            scores = compare(q, key[:, low:high])
            if causal:
                scores = scores.masked_fill(torch.arange(low, high) > at, -torch.inf)
            m = scores.detach().amax(-1, keepdim=True)
            e = torch.exp(scores - safe(m))
            return m, e.sum(-1, keepdim=True), e @ value[:, low:high]
        middle = low + tiles // 2 * tile
        m1, t1, o1 = part(q, at, low, middle)
        m2, t2, o2 = part(q, at, middle, high)
        m = torch.maximum(m1, m2)
        a, b = torch.exp(m1 - safe(m)), torch.exp(m2 - safe(m))
        return m, a * t1 + b * t2, a * o1 + b * o2

    outputs = []
    for i, q in zip(range(0, query.shape[1], tile), query.split(tile, dim=1)):
        at = first + i + torch.arange(q.shape[1])[:, None]
        _, total, output = part(q, at, 0, key.shape[1])
        outputs.append(output / total)
    return torch.cat(outputs, dim=1)


def cached_attention__wrong_caches_in_place(query, key, value, key_cache, value_cache, length, starts):
    """The new keys and values are written into the caller's caches."""
    new = query.shape[1]
    key_cache[:, length : length + new] = key
    value_cache[:, length : length + new] = value
    at = torch.arange(length, length + new)[:, None]
    k = torch.arange(key_cache.shape[1])
    mask = (k <= at) & (k >= starts[:, None, None])
    scores = query @ key_cache.mT / query.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1).nan_to_num(0.0)
    return weights @ value_cache, key_cache, value_cache


def cached_attention__wrong_mask_after_softmax(query, key, value, key_cache, value_cache, length, starts):
    """The softmax sees what an earlier text left in the cache; where such a score is far above the others all that is left is 0 / 0, which then counts as padding."""
    new = query.shape[1]
    key_cache, value_cache = key_cache.clone(), value_cache.clone()
    key_cache[:, length : length + new] = key
    value_cache[:, length : length + new] = value
    at = torch.arange(length, length + new)[:, None]
    k = torch.arange(key_cache.shape[1])
    mask = (k <= at) & (k >= starts[:, None, None])
    weights = (query @ key_cache.mT / query.shape[-1] ** 0.5).softmax(-1) * mask
    weights = (weights / weights.sum(-1, keepdim=True)).nan_to_num(0.0)
    return weights @ value_cache, key_cache, value_cache


def window_mask__wrong_floats(query, key, window):
    """The mask has ones and zeros as floats and is not boolean."""
    mask = torch.zeros(query, key)
    for i in range(query):
        position = key - query + i
        mask[i, max(0, position - window + 1) : position + 1] = 1
    return mask


def window_mask__wrong_window_below_key(query, key, window):
    """A wide window is cut to key - 1, one too few: the last query no longer reads the first key."""
    window = min(window, key - 1)
    position = torch.arange(key - query, key)[:, None]
    distance = position - torch.arange(key)
    return (distance >= 0) & (distance < window)


def window_mask__right_two_triangles(query, key, window):
    """A triangle of ones without the triangle of those that are too old."""
    ones = torch.ones(query, key, dtype=torch.bool)
    last = key - query
    return ones.tril(last) ^ ones.tril(last - window)


def reach_through_layers__wrong_first_window_for_all(windows, time):
    """The window of the first layer is used for all layers."""
    reach = 1 + len(windows) * (int(windows[0]) - 1)
    i, j = torch.arange(time)[:, None], torch.arange(time)
    return (j <= i) & (j > i - reach)


def reach_through_layers__wrong_sum_minus_one(windows, time):
    """The windows are added and 1 is subtracted once, which is right for two layers and for no other number."""
    reach = int(windows.sum()) - 1
    distance = torch.arange(time)[:, None] - torch.arange(time)
    return (distance >= 0) & (distance < reach)


def layer_costs__wrong_two_heads(query, key, d_model, heads):
    """A head is taken to be half of d_model wide, which is so with two heads only."""
    d_head = d_model // 2
    scores = heads * query * key * d_head
    return torch.tensor([4 * query * d_model * d_model, scores, scores, heads * query * key])


def layer_costs__wrong_floats(query, key, d_model, heads):
    """d_model / heads is a float, and so are all answers; above 2 ** 24 they are rounded."""
    d_head = d_model / heads
    projections = 4 * query * d_model**2
    scores = heads * query * key * d_head
    return torch.tensor([projections, scores, scores, heads * query * key])


def layer_costs__right_meta_tensors(query, key, d_model, heads):
    """The loops of each product are the axes of a tensor on the meta device, and its elements are counted."""

    def count(*axes):
        return torch.empty(axes, device="meta").numel()

    wide = d_model // heads
    return torch.tensor(
        [
            count(4, query, d_model, d_model),
            count(heads, query, key, wide),
            count(heads, query, wide, key),
            count(heads, query, key),
        ]
    )


def numbers_kept__wrong_one_text(batch, time, d_model, heads, groups, layers):
    """The number of texts is forgotten; in both examples it is 1."""
    return torch.tensor(2 * layers * groups * time * (d_model // heads))


def numbers_kept__wrong_axis(batch, time, d_model, heads, groups, layers):
    """The answer has an axis of length 1 where it should have none."""
    kept = batch * time * layers * groups * (d_model // heads)
    return torch.tensor([2 * kept])


def numbers_kept__right_shape_of_the_cache(batch, time, d_model, heads, groups, layers):
    """The shape of the whole cache is written down and its product taken."""
    shape = torch.Size((2, layers, batch, groups, time, d_model // heads))
    return torch.tensor(shape.numel())


def costs_of_writing__wrong_floats(prompt, new, d_model):
    """The sums are closed formulas with /, so that the answers are floats and not integers."""
    last = prompt + new - 1
    keys = (last * (last + 1) - prompt * (prompt + 1)) / 2
    cached = 4 * last * d_model**2 + 2 * d_model * (prompt**2 + keys)
    first = prompt - 1
    ones = (last * (last + 1) - first * prompt) / 2
    squares = (last * (last + 1) * (2 * last + 1) - first * prompt * (2 * first + 1)) / 6
    plain = 4 * d_model**2 * ones + 2 * d_model * squares
    return torch.tensor(cached), torch.tensor(plain)


def costs_of_writing__wrong_last_token_read(prompt, new, d_model):
    """After the prefill there are `new` more calls, so that the last token is read too, which nobody needs."""

    def cost(q, k):
        return 4 * q * d_model**2 + 2 * q * k * d_model

    cached, plain = cost(prompt, prompt), cost(prompt, prompt)
    for i in range(1, new + 1):
        cached += cost(1, prompt + i)
        plain += cost(prompt + i, prompt + i)
    return torch.tensor(cached), torch.tensor(plain)


def costs_of_writing__right_integer_tensors(prompt, new, d_model):
    """All calls at once as integer tensors of queries and keys, the two ways with one formula."""
    keys = prompt + torch.arange(new)
    ones = torch.ones_like(keys)
    ones[0] = prompt
    return tuple((4 * q * d_model * d_model + 2 * q * keys * d_model).sum() for q in (ones, keys))
