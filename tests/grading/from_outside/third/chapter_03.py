# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110

import torch


def self_attention_with_loops__wrong_plain_exponentials(inputs):
    """The softmax is written out without the maximum, so that dot products in the hundreds give inf / inf."""
    n, d = inputs.shape
    outputs = torch.zeros(n, d)
    for i in range(n):
        total = 0.0
        for j in range(n):
            e = torch.exp((inputs[i] * inputs[j]).sum())
            outputs[i] += e * inputs[j]
            total += e
        outputs[i] /= total
    return outputs


def self_attention_with_loops__wrong_own_score_as_maximum(inputs):
    """The score with itself is subtracted as if it were the maximum of the row; a longer vector in the same direction has a larger one, and its exponential may be infinite."""
    n = len(inputs)
    rows = []
    for i in range(n):
        own = inputs[i] @ inputs[i]
        e = torch.stack([torch.exp(inputs[i] @ inputs[j] - own) for j in range(n)])
        weights = e / e.sum()
        rows.append(sum(weights[j] * inputs[j] for j in range(n)))
    return torch.stack(rows)


def self_attention_with_loops__right_reciprocal_sums(inputs):
    """Each weight is 1 over the sum of the exponentials of score differences; an infinite sum gives the weight 0."""
    n = len(inputs)
    outputs = []
    for i in range(n):
        s = [torch.dot(inputs[i], inputs[k]) for k in range(n)]
        y = torch.zeros_like(inputs[i])
        for j in range(n):
            y = y + inputs[j] / sum(torch.exp(s[k] - s[j]) for k in range(n))
        outputs.append(y)
    return torch.stack(outputs)


def batched_self_attention__wrong_reshape_for_transpose(inputs):
    """reshape gives the shape of the transpose and mixes time with features, which does not show with a single feature."""
    batch, time, d = inputs.shape
    scores = inputs @ inputs.reshape(batch, d, time)
    weights = torch.softmax(scores, dim=-1)
    return weights @ inputs, weights


def batched_self_attention__wrong_scaled(inputs):
    """The scores are divided by the root of d_model, which this formula does not do."""
    scores = inputs @ inputs.mT / inputs.shape[-1] ** 0.5
    weights = scores.softmax(dim=-1)
    return weights @ inputs, weights


def is_equivariant__wrong_one_order(layer, inputs):
    """One random order is tried, and many layers that are not equivariant pass with it."""
    order = torch.randperm(inputs.shape[1])
    return bool((layer(inputs[:, order]) - layer(inputs)[:, order]).abs().max() <= 1e-4)


def is_equivariant__wrong_cyclic_shifts(layer, inputs):
    """Only cyclic shifts are tried, so that a circular convolution is accepted."""
    output = layer(inputs)
    for shift in range(1, inputs.shape[1]):
        moved = layer(inputs.roll(shift, dims=1))
        if (moved - output.roll(shift, dims=1)).abs().max() > 1e-4:
            return False
    return True


def is_equivariant__right_orders_in_the_batch(layer, inputs):
    """A hundred orders (and all exchanges of neighbours) at once, put into the batch axis, since each sequence is treated by itself."""
    batch, time, _ = inputs.shape
    orders = [torch.rand(100, time).argsort(-1)]
    swaps = torch.arange(time).repeat(time - 1, 1)
    for k in range(time - 1):
        swaps[k, k], swaps[k, k + 1] = k + 1, k
    orders = torch.cat(orders + [swaps])
    mixed = layer(inputs[:, orders].flatten(0, 1))
    wanted = layer(inputs)[:, orders].flatten(0, 1)
    return not bool(((mixed - wanted).abs() > 1e-4).any())


def inputs_that_matter__wrong_set_to_zero(layer, inputs, position):
    """The vector is replaced by zeros in place of being changed as told, so that a vector of zeros seems to have no influence."""
    old = layer(inputs)[position]
    answer = []
    for j in range(len(inputs)):
        changed = inputs.clone()
        changed[j] = 0.0
        answer.append(not torch.equal(layer(changed)[position], old))
    return torch.tensor(answer)


def inputs_that_matter__wrong_add_and_subtract(layer, inputs, position):
    """The caller's inputs are changed in place and changed back by a subtraction, which in float32 does not restore them exactly."""
    delta = torch.linspace(1, 2, inputs.shape[1])
    old = layer(inputs)[position].clone()
    answer = torch.zeros(len(inputs), dtype=torch.bool)
    for j in range(len(inputs)):
        inputs[j] += delta
        answer[j] = (layer(inputs)[position] - old).abs().max() > 1e-5
        inputs[j] -= delta
    return answer


def recommend__wrong_minus_99(tastes, films, seen):
    """Films that were seen get the score -99 and win wherever all the others score less."""
    scores = tastes @ films.T
    best = scores.masked_fill(seen, -99.0).argmax(dim=1)
    return scores, best


def recommend__wrong_second_best(tastes, films, seen):
    """If the best film was seen the second best is taken, without a look at whether that was seen too."""
    scores = tastes @ films.T
    order = scores.argsort(dim=1, descending=True)
    best = []
    for viewer in range(len(tastes)):
        film = order[viewer, 0]
        if seen[viewer, film]:
            film = order[viewer, 1]
        best.append(int(film))
    return scores, torch.tensor(best)


def recommend__right_search(tastes, films, seen):
    """A search in Python among the films that are left, with the scores as a sum over traits."""
    scores = (tastes[:, None, :] * films[None, :, :]).sum(-1)
    best = [
        max((f for f in range(len(films)) if not seen[v, f]), key=lambda f: scores[v, f].item())
        for v in range(len(tastes))
    ]
    return scores, torch.tensor(best)
