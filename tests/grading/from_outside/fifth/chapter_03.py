# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110
import torch
from einops import einsum


def self_attention_with_loops__wrong_reads_averages(inputs):
    """Writes the averages into the copy that it reads, so later positions read averages and not inputs."""
    result = inputs.clone()
    for i in range(len(result)):
        scores = torch.stack([result[i] @ result[j] for j in range(len(result))])
        weights = torch.softmax(scores, dim=0)
        total = torch.zeros_like(result[i])
        for j in range(len(result)):
            total = total + weights[j] * result[j]
        result[i] = total
    return result


def self_attention_with_loops__wrong_overflow(inputs):
    """Divides exponentials without a shift, which gives nan where dot products are in the hundreds."""
    n = inputs.shape[0]
    result = torch.zeros_like(inputs)
    for i in range(n):
        total = 0
        for j in range(n):
            e = torch.exp(inputs[i] @ inputs[j])
            result[i] += e * inputs[j]
            total += e
        result[i] /= total
    return result


def self_attention_with_loops__wrong_up_to_itself(inputs):
    """Lets a position read only itself and those before it."""
    outputs = []
    for i in range(inputs.shape[0]):
        scores = torch.stack([inputs[i] @ inputs[j] for j in range(i + 1)])
        weights = scores.softmax(0)
        outputs.append(sum(weights[j] * inputs[j] for j in range(i + 1)))
    return torch.stack(outputs)


def self_attention_with_loops__right_running_maximum(inputs):
    """Right: one pass over j with a running maximum, by which sum and average are scaled down when it grows."""
    rows = []
    for x in inputs:
        highest = x @ inputs[0]
        total = torch.tensor(1.0)
        average = inputs[0].clone()
        for other in inputs[1:]:
            score = x @ other
            new = torch.maximum(highest, score)
            down, e = torch.exp(highest - new), torch.exp(score - new)
            total = total * down + e
            average = average * down + e * other
            highest = new
        rows.append(average / total)
    return torch.stack(rows)


def batched_self_attention__wrong_columns(inputs):
    """Takes the softmax along each column of the scores."""
    weights = (inputs @ inputs.mT).softmax(dim=1)
    return weights @ inputs, weights


def batched_self_attention__wrong_one_maximum(inputs):
    """Shifts by the maximum of all scores, so a row whose scores are hundreds below it becomes 0 / 0."""
    scores = einsum(inputs, inputs, "b i d, b j d -> b i j")
    e = torch.exp(scores - scores.max())
    weights = e / e.sum(dim=-1, keepdim=True)
    return weights @ inputs, weights


def batched_self_attention__wrong_clamped(inputs):
    """Clamps the scores at 50 against overflow, which makes large scores equal."""
    scores = torch.bmm(inputs, inputs.transpose(1, 2)).clamp(max=50)
    weights = torch.exp(scores) / torch.exp(scores).sum(2, keepdim=True)
    return torch.bmm(weights, inputs), weights


def batched_self_attention__right_broadcast(inputs):
    """Right: multiplies all pairs by broadcasting and takes the softmax by each row's own maximum."""
    scores = (inputs[:, :, None, :] * inputs[:, None, :, :]).sum(-1)
    e = torch.exp(scores - scores.amax(dim=2, keepdim=True))
    weights = e / e.sum(dim=2, keepdim=True)
    return (weights[..., None] * inputs[:, None]).sum(dim=2), weights


def is_equivariant__wrong_one_order(layer, inputs):
    """Tries one order alone, the reversed one, with which layers pass that treat both ends alike."""
    flipped = inputs.flip(1)
    return bool(((layer(flipped) - layer(inputs).flip(1)).abs() < 1e-4).all())


def is_equivariant__wrong_exactly_equal(layer, inputs):
    """Asks for equality to the last digit and so rejects self-attention for its rounding."""
    generator = torch.Generator().manual_seed(0)
    for _ in range(10):
        order = torch.randperm(inputs.shape[1], generator=generator)
        if not torch.equal(layer(inputs[:, order]), layer(inputs)[:, order]):
            return False
    return True


def is_equivariant__wrong_mean_difference(layer, inputs):
    """Compares by the mean difference, in which a small difference at a single position disappears."""
    generator = torch.Generator().manual_seed(7)
    for _ in range(30):
        order = torch.randperm(inputs.shape[1], generator=generator)
        difference = layer(inputs[:, order]) - layer(inputs)[:, order]
        if difference.abs().mean() > 1e-2:
            return False
    return True


def is_equivariant__wrong_rotations(layer, inputs):
    """Tries only rotations of the sequence, with which a layer passes that mixes neighbours in a circle."""
    output = layer(inputs)
    for shift in range(1, inputs.shape[1]):
        a = layer(inputs.roll(shift, dims=1))
        if (a - output.roll(shift, dims=1)).abs().max() > 1e-4:
            return False
    return True


def is_equivariant__wrong_last_order_counts(layer, inputs):
    """Overwrites the answer in the loop, so that only the last order counts, an exchange of the last two positions."""
    n = inputs.shape[1]
    result = True
    for i in range(n - 1):
        order = list(range(n))
        order[i], order[i + 1] = order[i + 1], order[i]
        gap = (layer(inputs[:, order]) - layer(inputs)[:, order]).abs().max()
        result = bool(gap <= 1e-4)
    return result


def is_equivariant__right_undone(layer, inputs):
    """Right: permutes, applies the layer, undoes the order by argsort and compares, for forty random orders and the reversed one."""
    n = inputs.shape[1]
    generator = torch.Generator().manual_seed(12345)
    orders = [torch.randperm(n, generator=generator) for _ in range(40)]
    orders.append(torch.arange(n - 1, -1, -1))
    output = layer(inputs)
    worst = 0.0
    for order in orders:
        back = layer(inputs[:, order])[:, order.argsort()]
        worst = max(worst, (back - output).abs().max().item())
    return worst <= 1e-4


def inputs_that_matter__wrong_adds_one(layer, inputs, position):
    """Adds 1 to every feature, so a layer that reads a difference of features seems to read nothing."""
    before = layer(inputs)[position]
    result = []
    for i in range(inputs.shape[0]):
        changed = inputs.clone()
        changed[i] += 1
        result.append((layer(changed)[position] != before).any())
    return torch.stack(result)


def inputs_that_matter__wrong_scaled(layer, inputs, position):
    """Multiplies the vector by the numbers and so does not change a vector of zeros."""
    n, d = inputs.shape
    before = layer(inputs)[position]
    matters = torch.zeros(n, dtype=torch.bool)
    for i in range(n):
        changed = inputs.clone()
        changed[i] = changed[i] * (1 + torch.linspace(1, 2, d))
        matters[i] = not torch.equal(layer(changed)[position], before)
    return matters


def inputs_that_matter__wrong_changes_pile_up(layer, inputs, position):
    """Keeps the earlier changes, so that every position behind the first that matters seems to matter."""
    changed = inputs.clone()
    before = layer(inputs)[position]
    answer = []
    for i in range(inputs.shape[0]):
        changed[i] += torch.linspace(1, 2, inputs.shape[1])
        answer.append(bool((layer(changed)[position] != before).any()))
    return torch.tensor(answer)


def inputs_that_matter__wrong_all_features(layer, inputs, position):
    """Asks that every feature of the output changed, where one is enough."""
    before = layer(inputs)[position]
    delta = torch.linspace(1, 2, inputs.shape[1])
    out = []
    for i in range(len(inputs)):
        x = inputs.clone()
        x[i] += delta
        out.append(bool((layer(x)[position] != before).all()))
    return torch.tensor(out)


def inputs_that_matter__wrong_put_back(layer, inputs, position):
    """Changes the caller's inputs and subtracts the change again, which rounds their last digits."""
    before = layer(inputs)[position].clone()
    step = torch.linspace(1, 2, inputs.shape[1])
    answer = torch.zeros(inputs.shape[0], dtype=torch.bool)
    for i in range(inputs.shape[0]):
        inputs[i] += step
        answer[i] = (layer(inputs)[position] != before).any()
        inputs[i] -= step
    return answer


def inputs_that_matter__wrong_outputs_reached(layer, inputs, position):
    """Changes the input at position and says which outputs change, the question the other way round."""
    before = layer(inputs)
    changed = inputs.clone()
    changed[position] += torch.linspace(1, 2, inputs.shape[1])
    return (layer(changed) != before).any(dim=1)


def inputs_that_matter__right_masked_sum(layer, inputs, position):
    """Right: adds the change times one row of the identity matrix, and compares the largest difference with 0."""
    n, d = inputs.shape
    step = torch.linspace(1, 2, d)
    before = layer(inputs)[position]
    gaps = [(layer(inputs + row[:, None] * step)[position] - before).abs().max() for row in torch.eye(n)]
    return torch.stack(gaps) > 0


def recommend__wrong_seen_are_zero(tastes, films, seen):
    """Gives a film that was seen the score 0, which wins where all the others are below zero."""
    scores = tastes @ films.T
    return scores, (scores * ~seen).argmax(dim=1)


def recommend__wrong_index_of_the_rest(tastes, films, seen):
    """Returns the index among the films that are left, not among all films."""
    scores = tastes @ films.T
    best = [row[~s].argmax() for row, s in zip(scores, seen)]
    return scores, torch.stack(best)


def recommend__wrong_scores_masked(tastes, films, seen):
    """Puts minus infinity into the scores that it returns."""
    scores = einsum(tastes, films, "viewer trait, film trait -> viewer film")
    scores[seen] = -torch.inf
    return scores, scores.argmax(dim=1)


def recommend__wrong_smallest_score(tastes, films, seen):
    """Gives a seen film the smallest score of all, so it may tie with the one film that is left."""
    scores = tastes @ films.T
    hidden = torch.where(seen, scores.min(), scores)
    return scores, hidden.argmax(dim=-1)


def recommend__right_sorted(tastes, films, seen):
    """Right: sorts the films of each viewer and takes the first that was not seen."""
    scores = torch.einsum("vt,ft->vf", tastes, films)
    order = torch.argsort(scores, dim=1, descending=True)
    best = []
    for v in range(len(tastes)):
        for f in order[v].tolist():
            if not seen[v, f]:
                best.append(f)
                break
    return scores, torch.tensor(best)
