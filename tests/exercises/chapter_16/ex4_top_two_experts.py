"""Right answers to 16.4 that are written in other ways."""

import torch
from einops import einsum
from torch.nn.functional import one_hot


def _choose(logits):
    """Two experts and their shares, from the softmax of all logits."""
    shares, chosen = logits.softmax(dim=-1).topk(2)
    return chosen, shares / shares.sum(dim=-1, keepdim=True)


def route_by_argsort(logits):
    chosen = torch.argsort(logits, dim=1, descending=True)[:, :2]
    best = torch.take_along_dim(logits, chosen, dim=1)
    exponentials = torch.exp(best - best[:, :1])
    return chosen, exponentials / exponentials.sum(1, keepdim=True)


def route_by_two_argmaxes(logits):
    first = logits.argmax(-1)
    rest = logits.masked_fill(one_hot(first, logits.shape[1]).bool(), float("-inf"))
    second = rest.argmax(-1)
    rows = torch.arange(len(logits))
    ahead = torch.sigmoid(logits[rows, first] - logits[rows, second])
    return torch.stack([first, second], 1), torch.stack([ahead, 1 - ahead], 1)


def route_by_hiding_the_others(logits):
    """The others at minus infinity, then one softmax over all."""
    chosen = logits.topk(2).indices
    left = torch.full_like(logits, -torch.inf).scatter(1, chosen, logits.gather(1, chosen))
    return chosen, left.softmax(1).gather(1, chosen)


def route_by_the_softmax_of_all(logits):
    return _choose(logits)


def mix_token_by_token(inputs, logits, experts):
    chosen, shares = logits.topk(2).indices, logits.topk(2).values.softmax(-1)
    rows = []
    for token, (one, other) in enumerate(chosen.tolist()):
        vector = inputs[token : token + 1]
        rows.append(shares[token, 0] * experts[one](vector) + shares[token, 1] * experts[other](vector))
    return torch.cat(rows)


def mix_by_index_add(inputs, logits, experts):
    """Only experts that have tokens are called, once for each choice."""
    values, chosen = logits.topk(2, dim=1)
    shares, outputs = values.softmax(1), torch.zeros_like(inputs)
    for choice in range(2):
        for number in chosen[:, choice].unique().tolist():
            own = torch.where(chosen[:, choice] == number)[0]
            outputs = outputs.index_add(0, own, shares[own, choice, None] * experts[number](inputs[own]))
    return outputs


def mix_by_masks(inputs, logits, experts):
    """A share for every expert, 0 for most, and masks."""
    values, chosen = logits.topk(2, dim=1)
    shares = torch.zeros_like(logits).scatter(1, chosen, values.softmax(1))
    outputs = torch.zeros_like(inputs)
    for number, expert in enumerate(experts):
        own = (chosen == number).any(dim=1)
        if own.any():
            computed = torch.zeros_like(inputs).masked_scatter(own[:, None], expert(inputs[own]))
            outputs = outputs + shares[:, number, None] * computed
    return outputs


def mix_sorted_by_expert(inputs, logits, experts):
    """Every token twice, all in the order of the experts, as kernels have them."""
    chosen, shares = _choose(logits)
    order = chosen.flatten().argsort(stable=True)
    tokens, sizes = order // 2, torch.bincount(chosen.flatten(), minlength=len(experts))
    parts = [expert(part) for expert, part in zip(experts, inputs[tokens].split(sizes.tolist()), strict=True)]
    both = torch.empty_like(torch.cat(parts)).index_copy(0, order, torch.cat(parts)).unflatten(0, (-1, 2))
    return einsum(both, shares, "token two feature, token two -> token feature")


def balance_loss_by_one_hot(logits, chosen):
    experts = logits.shape[1]
    parts = one_hot(chosen, experts).float().mean(dim=(0, 1))
    return experts * parts @ logits.softmax(1).mean(0)


def balance_loss_expert_by_expert(logits, chosen):
    tokens, experts = logits.shape
    probabilities = torch.exp(logits - logits.logsumexp(1, keepdim=True))
    total = torch.zeros(())
    for expert in range(experts):
        total = total + (chosen == expert).sum() / chosen.numel() * probabilities[:, expert].sum() / tokens
    return experts * total


def balance_loss_choice_by_choice(logits, chosen):
    mean = logits.softmax(dim=-1).mean(dim=0)
    return sum(mean[expert] for expert in chosen.flatten().tolist()) * len(mean) / chosen.numel()
