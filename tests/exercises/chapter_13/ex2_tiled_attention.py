"""Right answers to 13.2 that are written in other ways."""

import torch


def tiled_attention_by_logsumexp(query, key, value, tile, causal, compare):
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


def tiled_attention_with_loops_exchanged(query, key, value, tile, causal, compare):
    queries, keys = query.shape[1], key.shape[1]
    blocks = list(query.split(tile, dim=1))
    maxima = [block.new_full((*block.shape[:2],), -torch.inf) for block in blocks]
    totals = [torch.zeros_like(each) for each in maxima]
    outputs = [value.new_zeros(*block.shape[:2], value.shape[2]) for block in blocks]
    for start in range(0, keys, tile):
        some, read = key[:, start : start + tile], value[:, start : start + tile]
        for number, block in enumerate(blocks):
            scores = compare(block, some)
            if causal:
                positions = torch.arange(block.shape[1]) + number * tile + keys - queries
                later = torch.arange(start, start + some.shape[1])[None] > positions[:, None]
                scores = scores.masked_fill(later, -torch.inf)
            new = torch.maximum(maxima[number], scores.max(dim=2).values)
            factor = (maxima[number] - new).exp()
            grown = (scores - new.unsqueeze(2)).exp()
            totals[number] = totals[number] * factor + grown.sum(2)
            outputs[number] = outputs[number] * factor[..., None] + torch.einsum("bqk,bkv->bqv", grown, read)
            maxima[number] = new
    return torch.cat([out / total[..., None] for out, total in zip(outputs, totals, strict=True)], dim=1)


def tiled_attention_key_by_key(query, key, value, tile, causal, compare):
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


def tiled_attention_in_two_passes(query, key, value, tile, causal, compare):
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
