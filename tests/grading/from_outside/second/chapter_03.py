# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501

import itertools
import math

import numpy as np
import torch
import torch.nn.functional as F
from einops import einsum

# ---------------------------------------------------------------- self_attention_with_loops

_BUFFERS = {}


def self_attention_with_loops__wrong_scaled(inputs):
    """Divides the dot products by the root of the width, which this chapter does not do yet."""
    n, d = inputs.shape
    out = torch.zeros_like(inputs)
    for i in range(n):
        scores = torch.stack([inputs[i] @ inputs[j] for j in range(n)]) / math.sqrt(d)
        weights = torch.softmax(scores, dim=0)
        for j in range(n):
            out[i] += weights[j] * inputs[j]
    return out


def self_attention_with_loops__wrong_not_itself(inputs):
    """Leaves out j = i, but every vector attends to itself too."""
    n = inputs.shape[0]
    out = torch.zeros_like(inputs)
    for i in range(n):
        others = [j for j in range(n) if j != i] or [i]
        weights = torch.softmax(torch.stack([inputs[i] @ inputs[j] for j in others]), dim=0)
        for w, j in zip(weights, others):
            out[i] += w * inputs[j]
    return out


def self_attention_with_loops__wrong_causal(inputs):
    """Position i reads only the positions up to i, as in a decoder."""
    n = inputs.shape[0]
    out = torch.zeros_like(inputs)
    for i in range(n):
        weights = torch.softmax(torch.stack([inputs[i] @ inputs[j] for j in range(i + 1)]), dim=0)
        for j in range(i + 1):
            out[i] += weights[j] * inputs[j]
    return out


def self_attention_with_loops__wrong_softmax_over_readers(inputs):
    """The softmax runs over the positions that read, so the columns of the weights sum to one and the rows do not."""
    n = inputs.shape[0]
    scores = torch.zeros(n, n, dtype=inputs.dtype)
    for i in range(n):
        for j in range(n):
            scores[i, j] = inputs[i] @ inputs[j]
    weights = torch.softmax(scores, dim=0)
    rows = []
    for i in range(n):
        rows.append(sum(weights[i, j] * inputs[j] for j in range(n)))
    return torch.stack(rows)


def self_attention_with_loops__wrong_in_place(inputs):
    """Writes each average into the inputs, so the caller's vectors change and the later positions read averages."""
    n = inputs.shape[0]
    for i in range(n):
        weights = torch.softmax(torch.stack([inputs[i] @ inputs[j] for j in range(n)]), dim=0)
        inputs[i] = sum(weights[j] * inputs[j] for j in range(n))
    return inputs


def self_attention_with_loops__wrong_overflow(inputs):
    """The exponential of a large dot product overflows, and the weights become nan."""
    n, d = inputs.shape
    out = torch.zeros_like(inputs)
    for i in range(n):
        total = torch.zeros((), dtype=inputs.dtype)
        for j in range(n):
            e = torch.exp(torch.dot(inputs[i], inputs[j]))
            total = total + e
            out[i] += e * inputs[j]
        out[i] = out[i] / total
    return out


def self_attention_with_loops__wrong_total_not_reset(inputs):
    """The vector that collects the sum is made before the outer loop, so every position adds to what the positions before it left there."""
    n, d = inputs.shape
    y = torch.zeros(d, dtype=inputs.dtype)
    rows = []
    for i in range(n):
        weights = torch.softmax(torch.stack([inputs[i] @ inputs[j] for j in range(n)]), dim=0)
        for j in range(n):
            y = y + weights[j] * inputs[j]
        rows.append(y)
    return torch.stack(rows)


def self_attention_with_loops__wrong_buffer_kept(inputs):
    """The tensor that collects the sums is kept for each shape and not set to zero again, so a second call adds to the averages of the first."""
    n = inputs.shape[0]
    out = _BUFFERS.setdefault(inputs.shape, torch.zeros_like(inputs))
    for i in range(n):
        weights = torch.softmax(torch.stack([inputs[i] @ inputs[j] for j in range(n)]), dim=0)
        for j in range(n):
            out[i] += weights[j] * inputs[j]
    return out


def self_attention_with_loops__right_running(inputs):
    """One pass over j with a running maximum, so that no list of scores is kept."""
    out = torch.empty_like(inputs)
    for i, x in enumerate(inputs):
        top, total, y = x @ inputs[0], torch.ones((), dtype=inputs.dtype), inputs[0]
        for z in inputs[1:]:
            score = x @ z
            new_top = torch.maximum(top, score)
            old, new = torch.exp(top - new_top), torch.exp(score - new_top)
            total, y, top = total * old + new, y * old + z * new, new_top
        out[i] = y / total
    return out


def self_attention_with_loops__right_python_floats(inputs):
    """Nested Python lists and math.exp, in double precision."""
    rows = inputs.tolist()
    out = []
    for x in rows:
        scores = []
        for z in rows:
            scores.append(math.fsum(a * b for a, b in zip(x, z)))
        top = max(scores)
        e = [math.exp(s - top) for s in scores]
        total = math.fsum(e)
        out.append([math.fsum(w * z[k] for w, z in zip(e, rows)) / total for k in range(len(x))])
    return torch.tensor(out, dtype=inputs.dtype)


# ---------------------------------------------------------------- batched_self_attention


def batched_self_attention__wrong_scaled(inputs):
    """Divides the scores by the root of the width, which the formula of this chapter does not do."""
    weights = torch.softmax(inputs @ inputs.mT / math.sqrt(inputs.shape[-1]), dim=-1)
    return weights @ inputs, weights


def batched_self_attention__wrong_returned_order(inputs):
    """Returns the weights first and the output second."""
    weights = torch.softmax(inputs @ inputs.mT, dim=-1)
    return weights, weights @ inputs


def batched_self_attention__wrong_axis_one(inputs):
    """dim=1 are the rows' positions: each column of the weights sums to one instead of each row."""
    weights = torch.softmax(inputs @ inputs.mT, dim=1)
    return weights @ inputs, weights


def batched_self_attention__wrong_reshape(inputs):
    """reshape is not a transpose and scrambles the vectors before the product."""
    b, t, d = inputs.shape
    weights = torch.softmax(inputs @ inputs.reshape(b, d, t), dim=-1)
    return weights @ inputs, weights


def batched_self_attention__wrong_all_sequences_together(inputs):
    """The softmax runs over the positions of all sequences of the batch before each keeps its own block, so with more than one the rows sum to less than one."""
    b, t, d = inputs.shape
    flat = inputs.flatten(0, 1)
    everything = torch.softmax(flat @ flat.T, dim=-1).reshape(b, t, b, t)
    weights = torch.stack([everything[i, :, i] for i in range(b)])
    return weights @ inputs, weights


def batched_self_attention__wrong_scores_returned(inputs):
    """The second answer is the scores before the softmax instead of the weights."""
    scores = einsum(inputs, inputs, "b i d, b j d -> b i j")
    output = einsum(scores.softmax(dim=-1), inputs, "b i j, b j d -> b i d")
    return output, scores


def batched_self_attention__wrong_library_scale(inputs):
    """torch's scaled_dot_product_attention divides by the root of d by default, so the output does not fit the weights unless d is 1."""
    output = F.scaled_dot_product_attention(inputs, inputs, inputs)
    weights = torch.softmax(inputs @ inputs.mT, dim=-1)
    return output, weights


def batched_self_attention__wrong_global_maximum(inputs):
    """Subtracts the largest score of the whole batch, so a sequence of short vectors beside one of long vectors becomes 0 / 0."""
    scores = inputs @ inputs.mT
    e = torch.exp(scores - scores.max())
    weights = e / e.sum(dim=-1, keepdim=True)
    return weights @ inputs, weights


def batched_self_attention__wrong_normalised_in_place(inputs):
    """Normalises the vectors to length 1, and with /= in the caller's own tensor."""
    inputs /= inputs.norm(dim=-1, keepdim=True).clamp(min=1e-8)
    weights = torch.softmax(inputs @ inputs.mT, dim=-1)
    return weights @ inputs, weights


def batched_self_attention__right_identity_as_values(inputs):
    """torch's attention with scale 1, once with the inputs as values and once with the identity, which returns the weights."""
    b, t, _ = inputs.shape
    identity = torch.eye(t, dtype=inputs.dtype).expand(b, t, t)
    output = F.scaled_dot_product_attention(inputs, inputs, inputs, scale=1.0)
    weights = F.scaled_dot_product_attention(inputs, inputs, identity, scale=1.0)
    return output, weights


def batched_self_attention__right_vmap(inputs):
    """The formula of one sequence, with .T, mapped over the batch in double precision."""

    def one(x):
        scores = x @ x.T
        a = torch.exp(scores - torch.logsumexp(scores, dim=1, keepdim=True))
        return a @ x, a

    output, weights = torch.vmap(one)(inputs.double())
    return output.to(inputs.dtype), weights.to(inputs.dtype)


# ---------------------------------------------------------------- is_equivariant


def _close(a, b):
    """The largest difference is at most the rounding that the statement accepts."""
    return bool((a - b).abs().max() <= 1e-4)


def is_equivariant__wrong_one_order(layer, inputs):
    """Tries a single random order, and a layer may pass with one order and fail with the next."""
    order = torch.randperm(inputs.shape[1])
    return _close(layer(inputs[:, order]), layer(inputs)[:, order])


def is_equivariant__wrong_only_reversed(layer, inputs):
    """Only turns the sequence round, so a layer that treats both directions alike, such as a symmetric window, passes."""
    return _close(layer(inputs.flip(1)), layer(inputs).flip(1))


def is_equivariant__wrong_invariance(layer, inputs):
    """Compares with the output that was not permuted, which tests invariance: self-attention itself is rejected."""
    before = layer(inputs)
    for _ in range(20):
        order = torch.randperm(inputs.shape[1])
        if not _close(layer(inputs[:, order]), before):
            return False
    return True


def is_equivariant__wrong_batch_permuted(layer, inputs):
    """Permutes the sequences of the batch instead of the positions, so every layer passes."""
    before = layer(inputs)
    for _ in range(20):
        order = torch.randperm(inputs.shape[0])
        if not _close(layer(inputs[order]), before[order]):
            return False
    return True


def is_equivariant__wrong_exact(layer, inputs):
    """Asks for exactly equal numbers, so the rounding of a sum in another order gets an equivariant layer rejected."""
    before = layer(inputs)
    for _ in range(20):
        order = torch.randperm(inputs.shape[1])
        if not torch.equal(layer(inputs[:, order]), before[:, order]):
            return False
    return True


def is_equivariant__wrong_tolerance(layer, inputs):
    """A tolerance of a tenth lets layers through whose outputs differ by a few hundredths."""
    before = layer(inputs)
    for _ in range(20):
        order = torch.randperm(inputs.shape[1])
        if not torch.allclose(layer(inputs[:, order]), before[:, order], rtol=0, atol=0.1):
            return False
    return True


def is_equivariant__wrong_mean_difference(layer, inputs):
    """Looks at the mean difference, in which a small difference at a single position drowns."""
    before = layer(inputs)
    for _ in range(20):
        order = torch.randperm(inputs.shape[1])
        if (layer(inputs[:, order]) - before[:, order]).mean().abs() > 1e-4:
            return False
    return True


def is_equivariant__wrong_first_five(layer, inputs):
    """Tries all orders of the first five positions and never moves the others, so a special last position goes unnoticed in longer sequences."""
    rest = list(range(5, inputs.shape[1]))
    before = layer(inputs)
    for first in itertools.permutations(range(5)):
        order = list(first) + rest
        if not _close(layer(inputs[:, order]), before[:, order]):
            return False
    return True


def is_equivariant__wrong_cyclic_shifts(layer, inputs):
    """Tries cyclic shifts only, so a circular convolution passes, which is equivariant to shifts but not to other orders."""
    before = layer(inputs)
    for shift in range(1, inputs.shape[1]):
        if not _close(layer(inputs.roll(shift, dims=1)), before.roll(shift, dims=1)):
            return False
    return True


def is_equivariant__wrong_inverse_order(layer, inputs):
    """Permutes the old output by the inverse order, which agrees only for orders that undo themselves."""
    before = layer(inputs)
    for _ in range(20):
        order = torch.randperm(inputs.shape[1])
        if not _close(layer(inputs[:, order]), before[:, order.argsort()]):
            return False
    return True


def is_equivariant__wrong_any_order(layer, inputs):
    """Is content if any one of the orders agrees; all of them have to."""
    before = layer(inputs)
    results = []
    for _ in range(20):
        order = torch.randperm(inputs.shape[1])
        results.append(_close(layer(inputs[:, order]), before[:, order]))
    return any(results)


def is_equivariant__right_undo(layer, inputs):
    """Permutes, applies the layer and permutes back by the inverse order, for fifty random orders."""
    before = layer(inputs.clone())
    time = inputs.shape[1]
    for _ in range(50):
        order = torch.randperm(time)
        undone = layer(inputs[:, order]).index_select(1, torch.argsort(order))
        if torch.max(torch.abs(undone - before)).item() > 1e-4:
            return False
    return True


def is_equivariant__right_shifted_shuffles(layer, inputs):
    """Shuffles by numpy and takes every cyclic shift of each shuffle, so that every vector visits every position; permutation matrices do the permuting."""
    before = layer(inputs.clone())
    time = inputs.shape[1]
    identity = torch.eye(time, dtype=inputs.dtype)
    rng = np.random.default_rng()
    agree = True
    for _ in range(6):
        shuffle = rng.permutation(time)
        for shift in range(time):
            matrix = identity[torch.from_numpy(np.roll(shuffle, shift).copy())]
            agree = agree and torch.allclose(layer(matrix @ inputs), matrix @ before, rtol=0, atol=1e-4)
    return bool(agree)


# ---------------------------------------------------------------- inputs_that_matter


def inputs_that_matter__wrong_constant(layer, inputs, position):
    """Adds 1 to every feature, so a layer that reads the difference of two features does not notice."""
    before = layer(inputs)[position]
    answer = torch.zeros(inputs.shape[0], dtype=torch.bool)
    for j in range(inputs.shape[0]):
        changed = inputs.clone()
        changed[j] += 1
        answer[j] = not torch.equal(layer(changed)[position], before)
    return answer


def inputs_that_matter__wrong_first_feature(layer, inputs, position):
    """Compares only the first feature of the output."""
    before = layer(inputs)[position, 0]
    bump = torch.linspace(1, 2, inputs.shape[1])
    answer = torch.zeros(inputs.shape[0], dtype=torch.bool)
    for j in range(inputs.shape[0]):
        changed = inputs.clone()
        changed[j] += bump
        answer[j] = layer(changed)[position, 0] != before
    return answer


def inputs_that_matter__wrong_in_place(layer, inputs, position):
    """Changes the caller's vectors and takes the change off again, which does not give back the very same numbers."""
    before = layer(inputs).clone()[position]
    bump = torch.linspace(1, 2, inputs.shape[1])
    answer = []
    for j in range(inputs.shape[0]):
        inputs[j] += bump
        answer.append(bool((layer(inputs)[position] - before).abs().max() > 1e-5))
        inputs[j] -= bump
    return torch.tensor(answer)


def inputs_that_matter__wrong_changes_pile_up(layer, inputs, position):
    """The copy is made once before the loop, so from the first position that matters on all later ones seem to matter too."""
    before = layer(inputs)[position]
    changed = inputs.clone()
    bump = torch.linspace(1, 2, inputs.shape[1])
    answer = []
    for j in range(inputs.shape[0]):
        changed[j] += bump
        answer.append(not torch.equal(layer(changed)[position], before))
    return torch.tensor(answer)


def inputs_that_matter__wrong_whole_output(layer, inputs, position):
    """Looks for a change anywhere in the output instead of at the one position."""
    before = layer(inputs)
    bump = torch.linspace(1, 2, inputs.shape[1])
    answer = []
    for j in range(inputs.shape[0]):
        changed = inputs.clone()
        changed[j] += bump
        answer.append(not torch.equal(layer(changed), before))
    return torch.tensor(answer)


def inputs_that_matter__wrong_set_to_zero(layer, inputs, position):
    """Sets the vector to zero instead of adding to it, so a vector that is zero already never seems to matter."""
    before = layer(inputs)[position]
    answer = []
    for j in range(inputs.shape[0]):
        changed = inputs.clone()
        changed[j] = 0
        answer.append(not torch.equal(layer(changed)[position], before))
    return torch.tensor(answer)


def inputs_that_matter__wrong_sum_compared(layer, inputs, position):
    """Compares the sums of the output's entries, where a rise in one feature and a fall in another cancel."""
    before = layer(inputs)[position].sum()
    bump = torch.linspace(1, 2, inputs.shape[1])
    answer = []
    for j in range(inputs.shape[0]):
        changed = inputs.clone()
        changed[j] += bump
        answer.append(bool((layer(changed)[position].sum() - before).abs() > 1e-5))
    return torch.tensor(answer)


def inputs_that_matter__wrong_change_from_zero(layer, inputs, position):
    """linspace(0, 1, d) leaves the first feature as it is, and for d = 1 changes nothing at all."""
    before = layer(inputs)[position]
    bump = torch.linspace(0, 1, inputs.shape[1])
    answer = []
    for j in range(inputs.shape[0]):
        changed = inputs.clone()
        changed[j] += bump
        answer.append(not torch.equal(layer(changed)[position], before))
    return torch.tensor(answer)


def inputs_that_matter__wrong_only_past(layer, inputs, position):
    """Tries only the positions up to the output's own, as if no layer could read the future."""
    before = layer(inputs)[position]
    bump = torch.linspace(1, 2, inputs.shape[1])
    answer = torch.zeros(inputs.shape[0], dtype=torch.bool)
    for j in range(position + 1):
        changed = inputs.clone()
        changed[j] += bump
        answer[j] = not torch.equal(layer(changed)[position], before)
    return answer


def inputs_that_matter__right_difference(layer, inputs, position):
    """Builds each changed sequence from an outer product with a unit vector and looks at the largest difference, above rounding."""
    time, d = inputs.shape
    bump = torch.linspace(1, 2, d, dtype=inputs.dtype)
    before = layer(inputs.clone())[position].clone()
    largest = []
    for unit in torch.eye(time, dtype=inputs.dtype):
        after = layer(inputs + torch.outer(unit, bump))[position]
        largest.append((after - before).abs().max())
    return torch.stack(largest) > 1e-6


def inputs_that_matter__right_where(layer, inputs, position):
    """A list comprehension over torch.where, with numpy's array_equal for the comparison."""
    where = torch.arange(inputs.shape[0]).unsqueeze(1)
    bumped = inputs + torch.linspace(1, 2, inputs.shape[1])
    before = layer(inputs.clone())[position].detach().numpy().copy()
    return torch.tensor(
        [
            not np.array_equal(layer(torch.where(where == j, bumped, inputs))[position].detach().numpy(), before)
            for j in range(inputs.shape[0])
        ],
        dtype=torch.bool,
    )


# ---------------------------------------------------------------- recommend


def recommend__wrong_scores_masked(tastes, films, seen):
    """The films that were seen get minus infinity in the scores that are returned too, but those were asked for as they are."""
    scores = tastes @ films.T
    scores[seen] = float("-inf")
    return scores, scores.argmax(dim=-1)


def recommend__wrong_zero_for_seen(tastes, films, seen):
    """A score of 0 for the films that were seen wins where all the others score below zero."""
    scores = tastes @ films.T
    return scores, (scores * ~seen).argmax(dim=-1)


def recommend__wrong_mask_reversed(tastes, films, seen):
    """Chooses among the films that were seen instead of the others."""
    scores = tastes @ films.T
    return scores, scores.masked_fill(~seen, float("-inf")).argmax(dim=-1)


def recommend__wrong_seen_ignored(tastes, films, seen):
    """Takes the film with the largest score, whether it was seen or not."""
    scores = einsum(tastes, films, "v t, f t -> v f")
    return scores, scores.argmax(dim=-1)


def recommend__wrong_minus_hundred(tastes, films, seen):
    """Minus 100 is not low enough where the scores of the films that are left are lower still."""
    scores = tastes @ films.T
    return scores, torch.where(seen, torch.full_like(scores, -100.0), scores).argmax(dim=-1)


def recommend__wrong_index_among_the_rest(tastes, films, seen):
    """The index counts only the films that are left, not all films."""
    scores = tastes @ films.T
    best = [s[~m].argmax() for s, m in zip(scores, seen)]
    return scores, torch.stack(best)


def recommend__wrong_filled_with_minimum(tastes, films, seen):
    """Films that were seen get the lowest score of all, which ties with the only film left if that one is the lowest."""
    scores = tastes @ films.T
    return scores, scores.masked_fill(seen, scores.min().item()).argmax(dim=-1)


def recommend__wrong_seen_inverted_in_place(tastes, films, seen):
    """logical_not_ with an underscore inverts the caller's table of seen films."""
    scores = tastes @ films.T
    unseen = seen.logical_not_()
    return scores, scores.masked_fill(~unseen, float("-inf")).argmax(dim=-1)


def recommend__wrong_cosine(tastes, films, seen):
    """Normalises tastes and films, which gives cosines; long films should score higher."""
    scores = F.normalize(tastes, dim=-1) @ F.normalize(films, dim=-1).T
    return scores, scores.masked_fill(seen, float("-inf")).argmax(dim=-1)


def recommend__wrong_best_score_returned(tastes, films, seen):
    """The second answer is the best score, not the index of the film that has it."""
    scores = tastes @ films.T
    return scores, scores.masked_fill(seen, float("-inf")).max(dim=-1).values


def recommend__right_sorted(tastes, films, seen):
    """Sorts the films of each viewer by score and takes the first in this order that was not seen."""
    scores = (tastes[:, None] * films[None]).sum(dim=-1)
    order = scores.argsort(dim=1, descending=True)
    first = (~seen).gather(1, order).int().argmax(dim=1, keepdim=True)
    return scores, order.gather(1, first).squeeze(1)


def recommend__right_python_max(tastes, films, seen):
    """Python's max over the indices that are left, with the score as the key."""
    scores = torch.stack([films @ taste for taste in tastes])
    best = [
        max((f for f, s in enumerate(row) if not s), key=scores[v].tolist().__getitem__)
        for v, row in enumerate(seen.tolist())
    ]
    return scores, torch.tensor(best)
