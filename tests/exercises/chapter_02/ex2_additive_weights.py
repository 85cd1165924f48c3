"""Right answers to 02.2 that are written in other ways."""

import torch


def additive_weights_location_by_location(query, keys, query_weight, key_weight, score_weight):
    batch, location, _ = keys.shape
    scores = torch.zeros(batch, location)
    for b in range(batch):
        for at in range(location):
            scores[b, at] = score_weight @ torch.tanh(query_weight @ query[b] + key_weight @ keys[b, at])
    return torch.stack([row.softmax(0) for row in scores])


def additive_weights_by_einsum_in_double(query, keys, query_weight, key_weight, score_weight):
    from_query = torch.einsum("bq,hq->bh", query.double(), query_weight.double())
    from_keys = torch.einsum("blk,hk->blh", keys.double(), key_weight.double())
    hidden = (from_query.unsqueeze(1) + from_keys).tanh()
    return torch.einsum("blh,h->bl", hidden, score_weight.double()).softmax(-1).float()


def additive_weights_by_concatenation(query, keys, query_weight, key_weight, score_weight):
    pairs = torch.cat([query[:, None].expand(-1, keys.shape[1], -1), keys], -1)
    hidden = torch.nn.functional.linear(pairs, torch.cat([query_weight, key_weight], 1)).tanh()
    scores = (hidden * score_weight).sum(-1)
    grown = (scores - scores.amax(1, keepdim=True)).exp()
    return grown / grown.sum(1, keepdim=True)
