"""Right answers to 16.6 that are written in other ways."""

import torch


def features(vectors):
    return torch.where(vectors > 0, vectors + 1, vectors.clamp(max=0).exp())


def in_parallel_by_running_sums(query, key, value):
    """The states after all tokens at once, as a running sum."""
    keys = features(key)
    totals = (keys.unsqueeze(-1) * value.unsqueeze(-2)).cumsum(dim=1)
    normalisers = keys.cumsum(dim=1)
    asking = features(query)
    sums = torch.einsum("btk,btkv->btv", asking, totals)
    return sums / (asking * normalisers).sum(-1, keepdim=True)


def in_parallel_pair_by_pair(query, key, value):
    asking, keys, outputs = features(query), features(key), torch.zeros_like(value)
    for row in range(query.shape[0]):
        for position in range(query.shape[1]):
            weights = torch.stack([asking[row, position] @ keys[row, before] for before in range(position + 1)])
            outputs[row, position] = (weights / weights.sum()) @ value[row, : position + 1]
    return outputs


def in_parallel_divided_at_last(query, key, value):
    time = query.shape[1]
    hidden = torch.ones(time, time).triu(1).bool()
    products = torch.bmm(features(query), features(key).transpose(1, 2)).masked_fill(hidden, 0.0)
    return torch.bmm(products, value) / products.sum(-1, keepdim=True)


def read_token_by_matrices(total, normaliser, query, key, value):
    asking, keys = features(query), features(key)
    total = torch.baddbmm(total, keys.unsqueeze(2), value.unsqueeze(1))
    normaliser = keys + normaliser
    sums = torch.bmm(asking.unsqueeze(1), total).squeeze(1)
    return sums / torch.bmm(asking.unsqueeze(1), normaliser.unsqueeze(2)).squeeze(1), total, normaliser


def read_token_row_by_row(total, normaliser, query, key, value):
    outputs, totals, normalisers = [], [], []
    for old, sums, *token in zip(total, normaliser, query, key, value, strict=True):
        asking, keys = features(token[0]), features(token[1])
        totals.append(old + torch.outer(keys, token[2]))
        normalisers.append(sums + keys)
        outputs.append(asking @ totals[-1] / (asking @ normalisers[-1]))
    return torch.stack(outputs), torch.stack(totals), torch.stack(normalisers)


def read_token_with_the_own_token_apart(total, normaliser, query, key, value):
    """What was before and the own token are read apart, and added."""
    asking, keys = features(query), features(key)
    own = (asking * keys).sum(-1, keepdim=True)
    sums = (asking[:, :, None] * total).sum(1) + own * value
    weight = (asking * normaliser).sum(-1, keepdim=True) + own
    return sums / weight, total + keys[:, :, None] * value[:, None], normaliser + keys


def token_by_token_with_ones(query, key, value):
    """A value of 1 beside the others: its total is the normaliser."""
    wide = torch.cat([value, torch.ones_like(value[..., :1])], dim=-1)
    total, outputs = 0.0, []
    for asking, keys, one in zip(features(query).unbind(1), features(key).unbind(1), wide.unbind(1), strict=True):
        total = total + torch.einsum("bk,bv->bkv", keys, one)
        read = torch.einsum("bk,bkv->bv", asking, total)
        outputs.append(read[:, :-1] / read[:, -1:])
    return torch.stack(outputs, 1)


def token_by_token_in_place(query, key, value):
    asking, keys = features(query), features(key)
    output, total = torch.empty_like(value), torch.zeros(query.shape[0], query.shape[2], value.shape[2])
    normaliser = torch.zeros_like(key[:, 0])
    for step in range(query.shape[1]):
        total += keys[:, step, :, None] * value[:, step, None, :]
        normaliser += keys[:, step]
        output[:, step] = (asking[:, step, :, None] * total).sum(1) / (asking[:, step] * normaliser).sum(1)[:, None]
    return output


def token_by_token_in_double(query, key, value):
    asking, keys, values = features(query.double()), features(key.double()), value.double()
    totals = torch.einsum("btk,btv->btkv", keys, values).cumsum(1)
    weights = torch.einsum("btk,btk->bt", asking, keys.cumsum(1))
    return (torch.einsum("btk,btkv->btv", asking, totals) / weights[..., None]).float()
