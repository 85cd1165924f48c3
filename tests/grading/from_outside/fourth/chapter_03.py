# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110

import itertools
import math

import torch
from einops import einsum

# 03.1 self_attention_with_loops


def self_attention_with_loops__wrong_overwrites_inputs(inputs):
    """Writes each average into the inputs, so the next positions read averages and the caller's tensor changes."""
    outputs = inputs
    for i in range(inputs.shape[0]):
        scores = torch.stack([inputs[i] @ x for x in inputs])
        weights = scores.softmax(dim=0)
        average = torch.zeros(inputs.shape[1])
        for j in range(inputs.shape[0]):
            average += weights[j] * inputs[j]
        outputs[i] = average
    return outputs


def self_attention_with_loops__wrong_exp_overflow(inputs):
    """Adds up exponentials of the plain scores, which overflow for dot products in the hundreds."""
    outputs = torch.zeros_like(inputs)
    for i in range(inputs.shape[0]):
        total = 0.0
        for j in range(inputs.shape[0]):
            power = torch.exp(inputs[i] @ inputs[j])
            outputs[i] += power * inputs[j]
            total += power
        outputs[i] /= total
    return outputs


def self_attention_with_loops__right_online(inputs):
    """Right: one pass over j with a running maximum, a running total and a running sum."""
    outputs = []
    for query in inputs:
        largest = torch.tensor(-math.inf)
        total = torch.tensor(0.0)
        acc = torch.zeros(inputs.shape[1])
        for vector in inputs:
            score = torch.dot(query, vector)
            new_largest = torch.maximum(largest, score)
            shrink = torch.exp(largest - new_largest)
            power = torch.exp(score - new_largest)
            total = total * shrink + power
            acc = acc * shrink + power * vector
            largest = new_largest
        outputs.append(acc / total)
    return torch.stack(outputs)


# 03.2 batched_self_attention


def batched_self_attention__wrong_scaled(inputs):
    """Divides the scores by the root of d_model, which the formula does not and which is 1 in the example."""
    scores = inputs @ inputs.mT / math.sqrt(inputs.shape[-1])
    weights = scores.softmax(dim=-1)
    return weights @ inputs, weights


def batched_self_attention__wrong_reshaped(inputs):
    """Reshapes the inputs instead of transposing them, which is the same only for a single feature."""
    batch, time, d_model = inputs.shape
    weights = torch.softmax(inputs @ inputs.reshape(batch, d_model, time), dim=-1)
    return weights @ inputs, weights


def batched_self_attention__wrong_global_maximum(inputs):
    """Subtracts the largest score of the whole batch, so other rows become 0 / 0."""
    scores = einsum(inputs, inputs, "batch i d, batch j d -> batch i j")
    powers = torch.exp(scores - scores.max())
    weights = powers / powers.sum(dim=-1, keepdim=True)
    return weights @ inputs, weights


def batched_self_attention__right_softmax_of_transposed(inputs):
    """Right: the scores are symmetric, so a softmax along axis 1 gives the transposed weights."""
    scores = einsum(inputs, inputs, "batch i d, batch j d -> batch i j")
    columns = torch.softmax(scores.mT, dim=1)
    output = einsum(columns, inputs, "batch j i, batch j d -> batch i d")
    return output, columns.mT


# 03.3 is_equivariant


def is_equivariant__wrong_one_random_order(layer, inputs):
    """Tries one random order only, and a layer may pass with it by chance."""
    order = torch.randperm(inputs.shape[1])
    return torch.allclose(layer(inputs[:, order]), layer(inputs)[:, order], atol=1e-4)


def is_equivariant__wrong_exact(layer, inputs):
    """Demands equality to the last digit and rejects self-attention because of rounding."""
    for _ in range(20):
        order = torch.randperm(inputs.shape[1])
        if not torch.equal(layer(inputs[:, order]), layer(inputs)[:, order]):
            return False
    return True


def is_equivariant__wrong_any_order(layer, inputs):
    """Returns True as soon as one order passes, instead of asking all of them."""
    for _ in range(10):
        order = torch.randperm(inputs.shape[1])
        if torch.allclose(layer(inputs[:, order]), layer(inputs)[:, order], atol=1e-4):
            return True
    return False


def is_equivariant__wrong_only_cyclic(layer, inputs):
    """Tries all cyclic shifts and nothing else, which a circular convolution passes."""
    before = layer(inputs)
    for shift in range(1, inputs.shape[1]):
        after = layer(torch.roll(inputs, shift, dims=1))
        if (after - torch.roll(before, shift, dims=1)).abs().max() > 1e-4:
            return False
    return True


def is_equivariant__wrong_mean_difference(layer, inputs):
    """Looks at the mean difference with its sign, where deviations cancel or get lost."""
    before = layer(inputs)
    for _ in range(10):
        order = torch.randperm(inputs.shape[1])
        if (layer(inputs[:, order]) - before[:, order]).mean() > 1e-4:
            return False
    return True


def is_equivariant__wrong_tolerance(layer, inputs):
    """Accepts differences up to a tenth, though a wrong layer may differ by a hundredth only."""
    before = layer(inputs)
    for _ in range(15):
        order = torch.randperm(inputs.shape[1])
        if (layer(inputs[:, order]) - before[:, order]).abs().max().item() > 0.1:
            return False
    return True


def is_equivariant__right_inverse_order(layer, inputs):
    """Right: fifty random orders, a reversal and a shift, each undone by the inverse order."""
    time = inputs.shape[1]
    orders = [torch.randperm(time) for _ in range(50)]
    orders += [torch.arange(time).flip(0), torch.arange(time).roll(1)]
    before = layer(inputs.clone())
    for order in orders:
        inverse = torch.argsort(order)
        after = layer(inputs[:, order])[:, inverse]
        if (after - before).abs().max().item() > 1e-3:
            return False
    return True


def is_equivariant__right_pairs_and_random(layer, inputs):
    """Right: all exchanges of two positions and twenty random orders on top, with all()."""
    time = inputs.shape[1]
    orders = []
    for i, j in itertools.combinations(range(time), 2):
        order = list(range(time))
        order[i], order[j] = j, i
        orders.append(order)
    orders += [torch.randperm(time).tolist() for _ in range(20)]
    before = layer(inputs)
    return all(bool(((layer(inputs[:, order]) - before[:, order]).abs() <= 1e-4).all()) for order in orders)


# 03.4 inputs_that_matter


def inputs_that_matter__wrong_set_to_zero(layer, inputs, position):
    """Replaces the vector by zeros instead of adding, so a vector of zeros seems to have no influence."""
    before = layer(inputs)[position]
    answer = []
    for index in range(len(inputs)):
        changed = inputs.clone()
        changed[index] = 0.0
        answer.append((layer(changed)[position] != before).any())
    return torch.stack(answer)


def inputs_that_matter__wrong_adds_one(layer, inputs, position):
    """Adds 1 to every feature, which a layer that takes a difference of features does not notice."""
    before = layer(inputs)[position]
    answer = torch.zeros(inputs.shape[0], dtype=torch.bool)
    for index in range(inputs.shape[0]):
        changed = inputs.clone()
        changed[index] += 1
        answer[index] = (layer(changed)[position] != before).any()
    return answer


def inputs_that_matter__wrong_changes_pile_up(layer, inputs, position):
    """Takes the copy once before the loop, so earlier changes are still in it."""
    before = layer(inputs)[position]
    changed = inputs.clone()
    step = torch.linspace(1, 2, inputs.shape[1])
    answer = []
    for index in range(len(inputs)):
        changed[index] += step
        answer.append(bool((layer(changed)[position] != before).any()))
    return torch.tensor(answer)


def inputs_that_matter__wrong_restored_by_subtraction(layer, inputs, position):
    """Changes the caller's inputs and subtracts the step again, which leaves rounding behind."""
    before = layer(inputs)[position].clone()
    step = torch.linspace(1, 2, inputs.shape[1])
    answer = []
    for index in range(len(inputs)):
        inputs[index] += step
        answer.append(bool((layer(inputs)[position] - before).abs().max() > 5e-4))
        inputs[index] -= step
    return torch.tensor(answer)


def inputs_that_matter__wrong_sum_of_output(layer, inputs, position):
    """Compares the sums of the output features, in which changes may cancel."""
    before = layer(inputs)[position].sum()
    step = torch.linspace(1, 2, inputs.shape[1])
    answer = []
    for index in range(len(inputs)):
        changed = inputs.clone()
        changed[index] += step
        answer.append((layer(changed)[position].sum() - before).abs() > 1e-4)
    return torch.stack(answer)


def inputs_that_matter__right_one_hot_rows(layer, inputs, position):
    """Right: adds the outer product of a one-hot column and the step to the inputs."""
    time, d = inputs.shape
    step = torch.linspace(1, 2, d)
    before = layer(inputs.clone())[position].clone()
    moved = [inputs + torch.outer(row, step) for row in torch.eye(time)]
    return torch.tensor([not torch.equal(layer(x)[position], before) for x in moved])


# 03.5 recommend


def recommend__wrong_zero_for_seen(tastes, films, seen):
    """Puts 0 where a film was seen, which is the largest where all the others are below zero."""
    scores = tastes @ films.T
    return scores, (scores * ~seen).argmax(dim=1)


def recommend__wrong_second_best(tastes, films, seen):
    """Takes the film in second place, as if everybody had seen just the best one."""
    scores = tastes @ films.T
    order = scores.argsort(dim=1, descending=True)
    return scores, order[:, 1]


def recommend__wrong_scores_overwritten(tastes, films, seen):
    """Hides the seen films in place, so minus infinity is in the scores that it returns."""
    scores = tastes @ films.T
    scores.masked_fill_(seen, float("-inf"))
    return scores, scores.argmax(dim=1)


def recommend__right_loop(tastes, films, seen):
    """Right: for each viewer the list of the films that are left, and the largest of them."""
    scores = einsum(tastes, films, "viewer trait, film trait -> viewer film")
    best = []
    for row, watched in zip(scores.tolist(), seen.tolist()):
        left = [film for film in range(len(row)) if not watched[film]]
        best.append(max(left, key=lambda film: row[film]))
    return scores, torch.tensor(best)
