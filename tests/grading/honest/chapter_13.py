import itertools
import math

import torch
from einops import einsum
from torch.nn import functional

from tests.grading.honest.registry import honest

# ---------------------------------------------------------------- 13.1


@honest("add_piece")
def _(maximum, total, scores):
    """The old sum as one more exponential."""
    new = torch.cat([maximum[:, None], scores], dim=1).max(dim=1).values
    sizes = torch.cat([total[:, None], torch.ones_like(scores)], dim=1)
    return new, (sizes * (torch.cat([maximum[:, None], scores], dim=1) - new[:, None]).exp()).sum(1)


@honest("add_piece")
def _(maximum, total, scores):
    """Score by score, row by row, in double."""
    maxima, totals = [], []
    for m, s, row in zip(maximum.tolist(), total.tolist(), scores.tolist(), strict=True):
        for score in row:
            if score > m:
                m, s = score, s * math.exp(m - score) + 1.0
            elif score > -math.inf:
                s += math.exp(score - m)
        maxima.append(m)
        totals.append(s)
    return torch.tensor(maxima), torch.tensor(totals)


@honest("add_piece")
def _(maximum, total, scores):
    """The piece from its own maximum, with care for one that is hidden."""
    own = scores.amax(-1)
    safe = torch.where(own.isinf(), torch.zeros_like(own), own)
    piece = torch.exp(scores - safe[:, None]).sum(-1)
    new = torch.where(own > maximum, own, maximum)
    return new, torch.exp(maximum - new) * total + torch.exp(own - new) * piece


@honest("add_piece")
def _(maximum, total, scores):
    """By logarithms, measured from the new maximum."""
    new = scores.amax(1).maximum(maximum)
    before = total.log() + (maximum - new).nan_to_num(neginf=-torch.inf)
    return new, torch.logaddexp(before, torch.logsumexp(scores - new.unsqueeze(1), dim=1)).exp()


@honest("merge_halves")
def _(maximum, total, output, other_maximum, other_total, other_output):
    """Stacked, with the softmax of maxima and logarithms of sums for weights."""
    maxima, totals = torch.stack([maximum, other_maximum]), torch.stack([total, other_total])
    new = maxima.amax(0)
    weights = ((maxima - new) + totals.log()).softmax(0)
    both = weights[:, :, None] * torch.stack([output, other_output])
    return new, (totals * (maxima - new).exp()).sum(0), both.sum(0)


@honest("merge_halves")
def _(maximum, total, output, other_maximum, other_total, other_output):
    """The greater half first."""
    swap = other_maximum > maximum
    high, low = torch.where(swap, other_maximum, maximum), torch.where(swap, maximum, other_maximum)
    more, less = torch.where(swap, other_total, total), torch.where(swap, total, other_total)
    above = torch.where(swap[:, None], other_output, output)
    below = torch.where(swap[:, None], output, other_output)
    shrunk = less * (low - high).exp()
    both = more + shrunk
    return high, both, above + (below - above) * (shrunk / both).unsqueeze(-1)


@honest("merge_halves")
def _(maximum, total, output, other_maximum, other_total, other_output):
    """Text by text, in double."""
    rows = []
    for m, s, out, n, t, other in zip(
        *(each.double() for each in (maximum, total, output, other_maximum, other_total, other_output)), strict=True
    ):
        new = max(m, n)
        one, two = s * math.exp(m - new), t * math.exp(n - new)
        rows.append((new, one + two, (one * out + two * other) / (one + two)))
    return tuple(torch.stack(each).float() for each in zip(*rows, strict=True))


# ---------------------------------------------------------------- 13.2


@honest("tiled_attention")
def _(query, key, value, tile, causal, compare):
    """Each tile by torch's softmax and logsumexp, merged by the logarithms of the sums."""
    offset, outputs = key.shape[1] - query.shape[1], []
    for rows in torch.arange(query.shape[1]).split(tile):
        whole, found = None, None
        for columns in torch.arange(key.shape[1]).split(tile):
            scores = compare(query[:, rows], key[:, columns])
            if causal:
                if columns[0] > rows[-1] + offset:
                    break  # all of it lies in the future
                scores = torch.where(columns > rows[:, None] + offset, -1e30, scores)
            log, mean = scores.logsumexp(-1, keepdim=True), scores.softmax(-1) @ value[:, columns]
            if whole is None:
                whole, found = log, mean
            else:
                both = torch.logaddexp(whole, log)
                whole, found = both, found * (whole - both).exp() + mean * (log - both).exp()
        outputs.append(found)
    return torch.cat(outputs, dim=1)


@honest("tiled_attention")
def _(query, key, value, tile, causal, compare):
    """The loops the other way round: all queries keep their state, tiles of keys outside."""
    queries, keys = query.shape[1], key.shape[1]
    pieces = list(query.split(tile, dim=1))
    maxima = [piece.new_full((*piece.shape[:2],), -torch.inf) for piece in pieces]
    totals = [torch.zeros_like(each) for each in maxima]
    outputs = [value.new_zeros(*piece.shape[:2], value.shape[2]) for piece in pieces]
    for start in range(0, keys, tile):
        some, read = key[:, start : start + tile], value[:, start : start + tile]
        for number, piece in enumerate(pieces):
            scores = compare(piece, some)
            if causal:
                places = torch.arange(piece.shape[1]) + number * tile + keys - queries
                later = torch.arange(start, start + some.shape[1])[None] > places[:, None]
                scores = scores.masked_fill(later, -torch.inf)
            new = torch.maximum(maxima[number], scores.max(dim=2).values)
            factor = (maxima[number] - new).exp()
            grown = (scores - new.unsqueeze(2)).exp()
            totals[number] = totals[number] * factor + grown.sum(2)
            outputs[number] = outputs[number] * factor[..., None] + torch.einsum("bqk,bkv->bqv", grown, read)
            maxima[number] = new
    return torch.cat([out / total[..., None] for out, total in zip(outputs, totals, strict=True)], dim=1)


@honest("tiled_attention")
def _(query, key, value, tile, causal, compare):
    """Place by place, one query and one key at a time, the average kept instead of the sum."""
    ahead = key.shape[1] - query.shape[1]
    rows = []
    for i in range(query.shape[1]):
        asking = query[:, i : i + 1]
        maximum = compare(asking, key[:, :1])
        total, average = torch.ones_like(maximum), value[:, :1]
        for j in range(1, i + ahead + 1 if causal else key.shape[1]):
            score = compare(asking, key[:, j : j + 1])
            new = torch.maximum(maximum, score)
            shrunk, weight = total * (maximum - new).exp(), (score - new).exp()
            total = shrunk + weight
            average = average + (value[:, j : j + 1] - average) * weight / total
            maximum = new
        rows.append(average)
    return torch.cat(rows, 1)


@honest("tiled_attention")
def _(query, key, value, tile, causal, compare):
    """Two passes: the maxima first, detached; then sums and outputs, measured from them, written in place."""
    queries, keys = query.shape[1], key.shape[1]
    mask = torch.ones(queries, keys, dtype=torch.bool)
    mask = mask.tril(keys - queries) if causal else mask

    def scores(i, j):
        hidden = ~mask[i : i + tile, j : j + tile]
        return compare(query[:, i : i + tile], key[:, j : j + tile]).masked_fill(hidden, float("-inf"))

    output = torch.empty(query.shape[0], queries, value.shape[2], dtype=value.dtype)
    for i in range(0, queries, tile):
        tiles = range(0, keys, tile)
        maximum = torch.stack([scores(i, j).amax(-1) for j in tiles]).amax(0).detach()
        total = sum((scores(i, j) - maximum[..., None]).exp().sum(-1) for j in tiles)
        found = sum((scores(i, j) - maximum[..., None]).exp() @ value[:, j : j + tile] for j in tiles)
        output[:, i : i + tile] = found / total[..., None]
    return output


# ---------------------------------------------------------------- 13.3


@honest("cached_attention")
def _(query, key, value, key_room, value_room, length, starts):
    """Text by text and query by query, slices only."""
    key_room, value_room = key_room.clone(), value_room.clone()
    output = torch.zeros_like(value)
    for row in range(query.shape[0]):
        for number in range(query.shape[1]):
            here, start = length + number, int(starts[row])
            key_room[row, here], value_room[row, here] = key[row, number], value[row, number]
            if start <= here:
                scores = key_room[row, start : here + 1] @ query[row, number] / query.shape[2] ** 0.5
                output[row, number] = scores.softmax(0) @ value_room[row, start : here + 1]
    return output, key_room, value_room


@honest("cached_attention")
def _(query, key, value, key_room, value_room, length, starts):
    """Rooms put together of three parts, what is written cut off, a causal mask of the last rows."""
    new = query.shape[1]
    end = length + new
    keys = torch.cat([key_room[:, :length], key, key_room[:, end:]], dim=1)
    values = torch.cat([value_room[:, :length], value, value_room[:, end:]], dim=1)
    causal = torch.ones(new, end, dtype=torch.bool).tril(length)
    mask = causal & (torch.arange(end) >= starts[:, None])[:, None]
    grown = torch.exp(einsum(query, keys[:, :end], "b q d, b k d -> b q k") * query.shape[2] ** -0.5) * mask
    total = grown.sum(-1, keepdim=True)
    weights = grown / torch.where(total == 0, torch.ones_like(total), total)
    return weights @ values[:, :end], keys, values


@honest("cached_attention")
def _(query, key, value, key_room, value_room, length, starts):
    """By torch's attention, with a mask of the whole room; by index for what is written."""
    places = torch.arange(length, length + query.shape[1])
    keys, values = key_room.index_copy(1, places, key), value_room.index_copy(1, places, value)
    room = torch.arange(keys.shape[1])
    mask = (room[None, None] <= places[None, :, None]) & (room[None, None] >= starts[:, None, None])
    output = functional.scaled_dot_product_attention(query, keys, values, attn_mask=mask)
    return torch.where(mask.any(-1, keepdim=True), output, 0.0), keys, values


@honest("cached_attention")
def _(query, key, value, key_room, value_room, length, starts):
    """Token by token."""
    room_of_keys, room_of_values, outputs = key_room + 0, value_room + 0, []
    for number in range(key.shape[1]):
        place = length + number
        room_of_keys[:, place] = key[:, number]
        room_of_values[:, place] = value[:, number]
        scores = (room_of_keys[:, : place + 1] * query[:, number, None]).sum(-1) / math.sqrt(key.shape[2])
        scores = scores.masked_fill(torch.arange(place + 1) < starts[:, None], -torch.inf)
        weights = scores.softmax(1).nan_to_num(0.0)
        outputs.append((weights[..., None] * room_of_values[:, : place + 1]).sum(1))
    return torch.stack(outputs, 1), room_of_keys, room_of_values


# ---------------------------------------------------------------- 13.4


@honest("window_mask")
def _(query, key, window):
    """Two triangles."""
    ones = torch.ones(query, key, dtype=torch.bool)
    return ones.tril(key - query) & ones.triu(key - query - window + 1)


@honest("window_mask")
def _(query, key, window):
    """Place by place."""
    mask = torch.zeros(query, key, dtype=torch.bool)
    for row in range(query):
        own = key - query + row
        mask[row, max(0, own - window + 1) : own + 1] = True
    return mask


@honest("window_mask")
def _(query, key, window):
    """The last rows of a square mask."""
    own = torch.arange(key)
    square = (own[None] <= own[:, None]) & (own[None] > own[:, None] - window)
    return square[-query:]


@honest("reach_through_layers")
def _(windows, time):
    """By the sum of all steps."""
    back = torch.arange(time)[:, None] - torch.arange(time)[None]
    return (back >= 0) & (back <= (windows.sum() - len(windows)))


@honest("reach_through_layers")
def _(windows, time):
    """Sets of places, the highest layer first."""
    rows = []
    for place in range(time):
        reached = {place}
        for window in reversed(windows.tolist()):
            reached = {each - step for each, step in itertools.product(reached, range(window)) if each >= step}
        rows.append([each in reached for each in range(time)])
    return torch.tensor(rows)


@honest("reach_through_layers")
def _(windows, time):
    """By gradients through layers of means."""
    inputs = torch.ones(time, requires_grad=True)
    vectors = inputs
    for window in windows:
        back = torch.arange(time)[:, None] - torch.arange(time)
        vectors = ((back >= 0) & (back < window)).float() @ vectors
    return torch.stack([torch.autograd.grad(each, inputs, retain_graph=True)[0] > 0 for each in vectors])


# ---------------------------------------------------------------- 13.5


@honest("layer_costs")
def _(query, key, d_model, heads):
    """Matrix by matrix."""

    def product(rows, inner, columns):
        return rows * inner * columns

    d_head = d_model // heads
    return torch.tensor(
        [
            sum(product(query, d_model, d_model) for _ in range(4)),
            sum(product(query, d_head, key) for _ in range(heads)),
            sum(product(query, key, d_head) for _ in range(heads)),
            sum(query * key for _ in range(heads)),
        ]
    )


@honest("layer_costs")
def _(query, key, d_model, heads):
    pairs = torch.tensor(query * key)
    return torch.stack([torch.tensor(4 * query) * d_model**2, pairs * d_model, pairs * d_model, pairs * heads])


@honest("layer_costs")
def _(query, key, d_model, heads):
    counts = torch.zeros(4, dtype=torch.long)
    counts[0] = 2 * d_model * query * 2 * d_model
    counts[1:3] = query * key * (d_model // heads) * heads
    counts[3] = query * key * heads
    return counts


@honest("numbers_kept")
def _(batch, time, d_model, heads, groups, layers):
    one_token = 2 * groups * (d_model // heads)
    return torch.tensor(one_token * time * batch * layers)


@honest("numbers_kept")
def _(batch, time, d_model, heads, groups, layers):
    """All heads, divided by how many share."""
    return torch.tensor(2 * batch * time * d_model * layers // (heads // groups))


@honest("numbers_kept")
def _(batch, time, d_model, heads, groups, layers):
    return torch.prod(torch.tensor([2, batch, time, layers, groups, d_model // heads]))


@honest("costs_of_writing")
def _(prompt, new, d_model):
    """Sums in closed form."""

    def first(n):
        return n * (n + 1) // 2

    def squares(n):
        return n * (n + 1) * (2 * n + 1) // 6

    last, before = prompt + new - 1, prompt - 1
    cached = 4 * d_model**2 * last + 2 * d_model * (prompt**2 + first(last) - first(prompt))
    plain = 4 * d_model**2 * (first(last) - first(before)) + 2 * d_model * (squares(last) - squares(before))
    return torch.tensor(cached), torch.tensor(plain)


@honest("costs_of_writing")
def _(prompt, new, d_model):
    """All calls in tensors."""
    time = torch.arange(prompt, prompt + new)
    query = torch.ones_like(time)
    query[0] = prompt
    return tuple((4 * each * d_model**2 + 2 * each * time * d_model).sum() for each in (query, time))


@honest("costs_of_writing")
def _(prompt, new, d_model):
    """A loop, the prompt with everything else."""
    sums = [0, 0]
    for step in range(new):
        length = prompt + step
        for number, asking in enumerate((prompt if step == 0 else 1, length)):
            sums[number] += asking * d_model * (4 * d_model + 2 * length)
    return torch.tensor(sums[0]), torch.tensor(sums[1])
