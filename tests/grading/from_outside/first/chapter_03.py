# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501

from itertools import combinations

import torch
from einops import einsum
from torch.func import vmap

# ---------------------------------------------------------------- self_attention_with_loops


def self_attention_with_loops__wrong_scaled(inputs):
    """There is no scale in this chapter: the scores are not divided by the root of d_model."""
    n, d = inputs.shape
    out = torch.zeros(n, d)
    for i in range(n):
        s = torch.stack([inputs[i] @ inputs[j] for j in range(n)]) / d**0.5
        w = torch.softmax(s, dim=0)
        for j in range(n):
            out[i] += w[j] * inputs[j]
    return out


def self_attention_with_loops__wrong_skips_itself(inputs):
    """Every vector attends also to itself; you leave j == i out."""
    n, d = inputs.shape
    out = torch.zeros(n, d)
    for i in range(n):
        s = torch.stack([inputs[i] @ inputs[j] if j != i else torch.tensor(-1e9) for j in range(n)])
        w = torch.softmax(s, dim=0)
        for j in range(n):
            out[i] += w[j] * inputs[j]
    return out


def self_attention_with_loops__wrong_overwrites_while_reading(inputs):
    """You write y_i into the same tensor from which the later positions read, so they read averages instead of inputs."""
    x = inputs.clone()
    n = x.shape[0]
    for i in range(n):
        w = torch.softmax(torch.stack([x[i] @ x[j] for j in range(n)]), dim=0)
        y = torch.zeros(x.shape[1])
        for j in range(n):
            y = y + w[j] * x[j]
        x[i] = y
    return x


def self_attention_with_loops__wrong_in_place(inputs):
    """out = inputs is no copy: you write the averages into the caller's tensor."""
    out = inputs
    n = inputs.shape[0]
    x = [v.clone() for v in inputs]
    for i in range(n):
        w = torch.softmax(torch.stack([x[i] @ x[j] for j in range(n)]), dim=0)
        out[i] = sum(w[j] * x[j] for j in range(n))
    return out


def self_attention_with_loops__wrong_softmax_over_columns(inputs):
    """You normalize over the position that reads (i) instead of the position that is read (j)."""
    n, d = inputs.shape
    s = torch.zeros(n, n)
    for i in range(n):
        for j in range(n):
            s[i, j] = inputs[i] @ inputs[j]
    a = torch.softmax(s, dim=0)
    y = torch.zeros(n, d)
    for i in range(n):
        for j in range(n):
            y[i] += a[i, j] * inputs[j]
    return y


def self_attention_with_loops__right_by_comprehensions(inputs):
    rows = []
    for reader in inputs.double():
        scores = [sum(a * b for a, b in zip(reader, other)) for other in inputs.double()]
        top = max(scores)
        factors = [torch.exp(s - top) for s in scores]
        total = sum(factors)
        rows.append(sum(f / total * other for f, other in zip(factors, inputs.double())))
    return torch.stack(rows).to(inputs.dtype)


# ---------------------------------------------------------------- batched_self_attention


def batched_self_attention__wrong_softmax_over_rows(inputs):
    """dim=1 is the axis of the readers; each row has to sum to one, dim=-1."""
    w = torch.softmax(inputs @ inputs.mT, dim=1)
    return w @ inputs, w


def batched_self_attention__wrong_order(inputs):
    """You return the weights first; the output comes first."""
    w = torch.softmax(inputs @ inputs.transpose(1, 2), dim=-1)
    return w, w @ inputs


def batched_self_attention__wrong_einsum_mixes_batch(inputs):
    """In your einsum the second input has another batch letter that is summed away: sequences influence each other."""
    s = torch.einsum("bid,cjd->bij", inputs, inputs)
    w = s.softmax(-1)
    return torch.einsum("bij,bjd->bid", w, inputs), w


def batched_self_attention__wrong_weights_transposed_in_average(inputs):
    """In the average you sum over the reader i, it must be the position that is read, j."""
    w = einsum(inputs, inputs, "b i d, b j d -> b i j").softmax(dim=-1)
    return einsum(w, inputs, "b i j, b i d -> b j d"), w


def batched_self_attention__wrong_scaled(inputs):
    """The formula has no scale, but you divide by the root of d_model."""
    w = torch.softmax(inputs @ inputs.mT / inputs.shape[-1] ** 0.5, dim=-1)
    return w @ inputs, w


def batched_self_attention__right_by_vmap(inputs):
    def read(x, sequence):
        s = sequence @ x
        w = (s - s.logsumexp(0)).exp()
        return w @ sequence, w

    return vmap(vmap(read, in_dims=(0, None)))(inputs, inputs)


# ---------------------------------------------------------------- is_equivariant


def is_equivariant__wrong_one_flip(layer, inputs):
    """You try only one order, the reversed one, and a layer can pass with one order and fail with another."""
    return torch.allclose(layer(inputs.flip(1)), layer(inputs).flip(1), atol=1e-4)


def is_equivariant__wrong_invariant(layer, inputs):
    """You test for invariance: the output must be permuted too, not stay the same."""
    for _ in range(10):
        order = torch.randperm(inputs.shape[1])
        if not torch.allclose(layer(inputs[:, order]), layer(inputs), atol=1e-4):
            return False
    return True


def is_equivariant__wrong_exactly_equal(layer, inputs):
    """torch.equal allows no rounding, so also an equivariant layer may be rejected."""
    for _ in range(10):
        order = torch.randperm(inputs.shape[1])
        if not torch.equal(layer(inputs[:, order]), layer(inputs)[:, order]):
            return False
    return True


def is_equivariant__wrong_permutes_the_batch(layer, inputs):
    """inputs[order] permutes the examples of the batch and not the time."""
    for _ in range(10):
        order = torch.randperm(inputs.shape[0])
        if not torch.allclose(layer(inputs[order]), layer(inputs)[order], atol=1e-4):
            return False
    return True


def is_equivariant__wrong_tolerance_too_large(layer, inputs):
    """With a tolerance of 0.1 a layer with a small influence of the position passes; 0.0001 was given."""
    y = layer(inputs)
    for _ in range(10):
        order = torch.randperm(inputs.shape[1])
        if (layer(inputs[:, order]) - y[:, order]).abs().max() > 0.1:
            return False
    return True


def is_equivariant__wrong_any_order_passes(layer, inputs):
    """You return True as soon as one order agrees; all of them have to agree."""
    for _ in range(10):
        order = torch.randperm(inputs.shape[1])
        if torch.allclose(layer(inputs[:, order]), layer(inputs)[:, order], atol=1e-4):
            return True
    return False


def is_equivariant__wrong_mean_difference(layer, inputs):
    """The mean of the signed differences cancels to about zero; take the largest absolute difference."""
    for _ in range(10):
        order = torch.randperm(inputs.shape[1])
        if (layer(inputs[:, order]) - layer(inputs)[:, order]).mean().abs() > 1e-4:
            return False
    return True


def is_equivariant__wrong_swaps_only_first_two(layer, inputs):
    """Only the first two positions are exchanged, so a layer that treats a later position in its own way is not found."""
    order = list(range(inputs.shape[1]))
    order[0], order[1] = 1, 0
    return torch.allclose(layer(inputs[:, order]), layer(inputs)[:, order], atol=1e-4)


def is_equivariant__right_by_all_exchanges(layer, inputs):
    plain = layer(inputs)
    time = inputs.shape[1]
    worst = 0.0
    for i, j in combinations(range(time), 2):
        order = torch.arange(time)
        order[i], order[j] = j, i
        back = torch.argsort(order)
        worst = max(worst, (layer(inputs[:, order])[:, back] - plain).abs().max().item())
    for order in [torch.arange(time).roll(1)] + [torch.randperm(time) for _ in range(20)]:
        worst = max(worst, (layer(inputs[:, order]) - plain[:, order]).abs().max().item())
    return worst <= 1e-4


# ---------------------------------------------------------------- inputs_that_matter


def inputs_that_matter__wrong_adds_one(layer, inputs, position):
    """You add the same number to all features; a layer that takes the difference of two features doesn't notice it."""
    before = layer(inputs)[position]
    out = []
    for t in range(len(inputs)):
        x = inputs.clone()
        x[t] += 1
        out.append((layer(x)[position] != before).any())
    return torch.stack(out)


def inputs_that_matter__wrong_changes_pile_up(layer, inputs, position):
    """The copy is made once before the loop, so the changes pile up and each is compared with several inputs changed."""
    before = layer(inputs)[position]
    x = inputs.clone()
    out = []
    for t in range(len(inputs)):
        x[t] += torch.linspace(1, 2, inputs.shape[1])
        out.append((layer(x)[position] != before).any())
    return torch.stack(out)


def inputs_that_matter__wrong_no_clone(layer, inputs, position):
    """x = inputs is no copy, so you change the caller's inputs (and the changes pile up)."""
    before = layer(inputs)[position].clone()
    out = []
    for t in range(inputs.shape[0]):
        x = inputs
        x[t] += torch.linspace(1, 2, inputs.shape[1])
        out.append(bool((layer(x)[position] != before).any()))
    return torch.tensor(out)


def inputs_that_matter__wrong_all_features(layer, inputs, position):
    """.all() asks that every feature of the output changes; one is enough, .any()."""
    before = layer(inputs)[position]
    out = []
    for t in range(len(inputs)):
        x = inputs.clone()
        x[t] = x[t] + torch.linspace(1, 2, inputs.shape[1])
        out.append((layer(x)[position] != before).all())
    return torch.stack(out)


def inputs_that_matter__wrong_zeroes_the_input(layer, inputs, position):
    """You set the vector to zero instead of adding something; a vector that is zero already then seems to have no influence."""
    before = layer(inputs)[position]
    result = torch.zeros(inputs.shape[0], dtype=torch.bool)
    for t in range(inputs.shape[0]):
        x = inputs.clone()
        x[t] = 0
        result[t] = not torch.equal(layer(x)[position], before)
    return result


def inputs_that_matter__wrong_first_output_feature(layer, inputs, position):
    """You compare only feature 0 of the output."""
    step = torch.linspace(1, 2, inputs.shape[1])
    before = layer(inputs)[position, 0]
    out = []
    for t in range(len(inputs)):
        x = inputs.clone()
        x[t] += step
        out.append(layer(x)[position, 0] != before)
    return torch.stack(out)


def inputs_that_matter__wrong_turned_round(layer, inputs, position):
    """You change the input at position and look which outputs change; the question is the other way round."""
    x = inputs.clone()
    x[position] += torch.linspace(1, 2, inputs.shape[1])
    return (layer(x) != layer(inputs)).any(dim=1)


def inputs_that_matter__right_by_one_big_delta(layer, inputs, position):
    time, d = inputs.shape
    delta = torch.einsum("st,d->std", torch.eye(time), torch.linspace(1, 2, d)).to(inputs.dtype)
    before = layer(inputs.clone())[position].clone()
    answers = [not torch.equal(layer(inputs + delta[t])[position], before) for t in range(time)]
    return torch.tensor(answers, dtype=torch.bool)


# ---------------------------------------------------------------- recommend


def recommend__wrong_seen_times_zero(tastes, films, seen):
    """You set the seen films to zero, and zero is still the largest where all the others are below zero."""
    scores = tastes @ films.T
    return scores, (scores * ~seen).argmax(dim=1)


def recommend__wrong_scores_are_masked(tastes, films, seen):
    """The first answer has to be the plain scores, also of seen films; you return the masked ones."""
    scores = tastes @ films.T
    scores[seen] = -torch.inf
    return scores, scores.argmax(1)


def recommend__wrong_axis_of_argmax(tastes, films, seen):
    """argmax over dim=0 finds the best viewer for each film instead of the best film for each viewer."""
    scores = torch.einsum("vt,ft->vf", tastes, films)
    return scores, scores.masked_fill(seen, -torch.inf).argmax(dim=0)


def recommend__wrong_best_of_seen(tastes, films, seen):
    """The mask is the wrong way round: you recommend a film that the viewer has already seen."""
    scores = tastes @ films.T
    return scores, torch.where(seen, scores, -torch.inf).argmax(-1)


def recommend__wrong_score_of_best(tastes, films, seen):
    """max gives (values, indices); you return the value of the best film and not its index."""
    scores = tastes @ films.T
    best = scores.masked_fill(seen, -torch.inf).max(dim=1)[0]
    return scores, best


def recommend__right_by_python_max(tastes, films, seen):
    scores = torch.stack([torch.mv(films, taste) for taste in tastes])
    best = []
    for v in range(scores.shape[0]):
        left = [f for f in range(scores.shape[1]) if not seen[v, f]]
        best.append(max(left, key=lambda f: scores[v, f].item()))
    return scores, torch.tensor(best)
