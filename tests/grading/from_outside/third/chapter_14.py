# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110

import torch


def previous_token_score__wrong_all_positions(weights):
    """Divides by the number of all positions, the first one included."""
    b, h, t, _ = weights.shape
    return weights.diagonal(offset=-1, dim1=2, dim2=3).sum((0, 2)) / (b * t)


def previous_token_score__wrong_batch_summed(weights):
    """Takes the mean over the positions but the sum over the examples."""
    return weights.diagonal(offset=-1, dim1=2, dim2=3).mean(-1).sum(0)


def previous_token_score__right_gather(weights):
    """Without the first row, gathers from row i the column i - 1, and averages the rest."""
    b, h, t, _ = weights.shape
    index = torch.arange(t - 1).view(1, 1, t - 1, 1).expand(b, h, t - 1, 1)
    return weights[:, :, 1:].gather(3, index).transpose(0, 1).reshape(h, -1).mean(1)


def induction_score__wrong_mean_of_means(weights, periods):
    """Averages each example first, so the positions of a long period count more than those of a short one."""
    t = weights.shape[-1]
    scores = []
    for w, p in zip(weights, periods.tolist()):
        if p < t:
            i = torch.arange(p, t)
            scores.append(w[:, i, i - p + 1].mean(-1))
    return torch.stack(scores).mean(0)


def induction_score__wrong_first_period(weights, periods):
    """Uses the period of the first example that repeats for all examples."""
    t = weights.shape[-1]
    p = int(periods[periods < t][0])
    i = torch.arange(p, t)
    return weights[:, :, i, i - p + 1].mean((0, 2))


def zero_ablation__wrong_in_place(found, output_weight, output_bias, ablated):
    """Writes the zeros into the caller's tensor."""
    found[:, ablated] = 0
    return found.transpose(1, 2).flatten(2) @ output_weight.T + output_bias


def zero_ablation__wrong_tiled_mask(found, output_weight, output_bias, ablated):
    """Repeats the mask as a whole, 0 1 0 1, where the merged vector has 0 0 1 1, so wrong columns are removed."""
    keep = (~ablated).repeat(found.shape[-1])
    merged = found.transpose(1, 2).flatten(2)
    return torch.nn.functional.linear(merged * keep, output_weight, output_bias)


def zero_ablation__right_sum_of_heads(found, output_weight, output_bias, ablated):
    """Starts with the bias and adds the contributions of the heads that remain, one after the other."""
    b, h, t, d = found.shape
    output = output_bias.expand(b, t, -1).clone()
    for m in (~ablated).nonzero().flatten().tolist():
        output = output + found[:, m] @ output_weight[:, m * d : (m + 1) * d].T
    return output


def mean_ablation__wrong_per_example(found, output_weight, output_bias, ablated):
    """Takes the mean over the positions of each example by itself and not over the batch."""
    mean = found.mean(2, keepdim=True)
    mixed = torch.where(ablated[None, :, None, None], mean, found)
    return mixed.transpose(1, 2).flatten(2) @ output_weight.T + output_bias


def mean_ablation__wrong_one_number(found, output_weight, output_bias, ablated):
    """Averages over the width of the head too, so the mean is a number and not a vector."""
    mean = found.mean((0, 2, 3), keepdim=True)
    mixed = torch.where(ablated[None, :, None, None], mean, found)
    return mixed.transpose(1, 2).flatten(2) @ output_weight.T + output_bias


def mean_ablation__right_mean_of_outputs(found, output_weight, output_bias, ablated):
    """Computes the contribution of each head to the output, and averages those of the ablated heads."""
    b, h, t, d = found.shape
    weight = output_weight.reshape(-1, h, d)
    parts = torch.einsum("bhtd,ohd->hbto", found, weight)
    means = parts.mean((1, 2), keepdim=True).expand_as(parts)
    return torch.where(ablated[:, None, None, None], means, parts).sum(0) + output_bias


def direct_contributions__wrong_epsilon_outside(parts, gain, bias, epsilon, logit_weight, logit_bias):
    """Adds epsilon to the root and not under it."""
    stream = parts.sum(0)
    rho = stream.var(-1, keepdim=True, unbiased=False).sqrt() + epsilon
    centred = parts - parts.mean(-1, keepdim=True)
    return (gain * centred / rho) @ logit_weight.T, logit_weight @ bias + logit_bias


def direct_contributions__wrong_one_root_for_all(parts, gain, bias, epsilon, logit_weight, logit_bias):
    """Computes one root from all positions of the batch; each position has its own."""
    centred = parts - parts.mean(-1, keepdim=True)
    rho = torch.sqrt((centred.sum(0) ** 2).mean() + epsilon)
    return (gain * centred / rho) @ logit_weight.T, logit_weight @ bias + logit_bias


def direct_contributions__right_linear_map(parts, gain, bias, epsilon, logit_weight, logit_bias):
    """Folds centring, gain and output weight into one matrix in float64, and divides by the root at the end."""
    dtype = parts.dtype
    parts = parts.double()
    centring = torch.eye(parts.shape[-1], dtype=parts.dtype) - 1 / parts.shape[-1]
    matrix = centring @ (logit_weight * gain).double().T
    stream = parts.sum(0)
    root = ((stream @ centring).square().mean(-1) + epsilon).sqrt()
    return (parts @ matrix / root[..., None]).to(dtype), (logit_weight * bias).sum(1) + logit_bias


def tree_distances__wrong_through_the_root(parents):
    """Where neither node is above the other it goes through the root, not the nearest common ancestor."""
    parents = parents.tolist()
    n = len(parents)
    above = []
    for i in range(n):
        way = [i]
        while parents[way[-1]] != -1:
            way.append(parents[way[-1]])
        above.append(way)
    out = torch.zeros(n, n, dtype=torch.long)
    for i in range(n):
        for j in range(n):
            a, b = len(above[i]) - 1, len(above[j]) - 1
            out[i, j] = abs(a - b) if i in above[j] or j in above[i] else a + b
    return out


def tree_distances__wrong_few_steps(parents):
    """Looks at ways of up to four edges only; the distances of nodes further apart stay 0."""
    n = len(parents)
    edges = torch.zeros(n, n, dtype=torch.long)
    for i in range(1, n):
        edges[i, parents[i]] = edges[parents[i], i] = 1
    out = torch.zeros(n, n, dtype=torch.long)
    seen = torch.eye(n, dtype=torch.bool)
    ways = torch.eye(n, dtype=torch.long)
    for step in range(1, 5):
        ways = ways @ edges
        new = (ways > 0) & ~seen
        out[new] = step
        seen |= new
    return out


def tree_embedding__wrong_column_of_depth(parents):
    """Uses one column for each depth, so all children of a node get the same vector."""
    n = len(parents)
    out = torch.zeros(n, n - 1)
    depth = [0] * n
    for i in range(1, n):
        p = int(parents[i])
        depth[i] = depth[p] + 1
        out[i] = out[p]
        out[i, depth[i] - 1] += 1
    return out


def tree_embedding__wrong_three_dimensions(parents):
    """Finds vectors by eigenvalues but keeps only the three greatest, as many as the example has columns."""
    n = len(parents)
    above = torch.eye(n, dtype=torch.float64)
    for i in range(1, n):
        above[i] += above[parents[i]]
    distance = (above[:, None] != above[None]).sum(-1).double()
    centring = torch.eye(n, dtype=torch.float64) - 1 / n
    values, vectors = torch.linalg.eigh(-0.5 * centring @ distance @ centring)
    k = min(3, n - 1)
    x = vectors[:, -k:] * values[-k:].clamp(min=0).sqrt()
    return torch.cat([x, torch.zeros(n, n - 1 - k, dtype=torch.float64)], 1).float()


def tree_embedding__right_ancestors(parents):
    """A table of who is above whom, as the inverse of identity less parent links, without the root's column."""
    n = len(parents)
    links = torch.zeros(n, n)
    links[torch.arange(1, n), parents[1:]] = 1
    above = torch.linalg.solve_triangular(torch.eye(n) - links, torch.eye(n), upper=False)
    return above[:, 1:].round()


def probe_accuracy__wrong_bias(vectors, labels, new_vectors, new_labels):
    """Appends a column of ones, so the probe has a bias."""
    one = torch.ones(len(vectors), 1)
    targets = torch.nn.functional.one_hot(labels).float()
    probe = torch.linalg.pinv(torch.cat([vectors, one], 1)) @ targets
    guess = torch.cat([new_vectors, torch.ones(len(new_vectors), 1)], 1) @ probe
    return (guess.argmax(1) == new_labels).float().mean()


def probe_accuracy__wrong_ridge(vectors, labels, new_vectors, new_labels):
    """Adds the identity to X^T X so that it can be inverted; this is ridge, not the least squared error."""
    targets = torch.nn.functional.one_hot(labels).float()
    gram = vectors.T @ vectors + torch.eye(vectors.shape[1])
    probe = torch.linalg.solve(gram, vectors.T @ targets)
    return ((new_vectors @ probe).argmax(1) == new_labels).float().mean()


def probe_accuracy__right_qr(vectors, labels, new_vectors, new_labels):
    """Least squares by QR in float64; targets by a comparison with all classes."""
    targets = (labels[:, None] == torch.arange(int(labels.max()) + 1)).double()
    q, r = torch.linalg.qr(vectors.double())
    probe = torch.linalg.solve_triangular(r, q.T @ targets, upper=True)
    return torch.eq((new_vectors.double() @ probe).max(1).indices, new_labels).float().mean()


def selectivity__wrong_random_label_of_label(vectors, words, labels, new_vectors, new_words, new_labels, random_labels):
    """For fitting it looks the random labels up by the class of an example and not by its word."""

    def accuracy(fit, judge):
        targets = torch.nn.functional.one_hot(fit, int(max(fit.max(), judge.max())) + 1).float()
        probe = torch.linalg.pinv(vectors) @ targets
        return ((new_vectors @ probe).argmax(1) == judge).float().mean()

    control = random_labels[labels % len(random_labels)]
    return accuracy(labels, new_labels) - accuracy(control, random_labels[new_words])


def selectivity__wrong_control_judged_on_old(vectors, words, labels, new_vectors, new_words, new_labels, random_labels):
    """Judges the control probe by the examples to which it was fitted, not by the new ones."""

    def accuracy(fit, questions, judge):
        targets = torch.nn.functional.one_hot(fit).float()
        probe = torch.linalg.lstsq(vectors, targets).solution
        return ((questions @ probe).argmax(1) == judge).float().mean()

    control = random_labels[words]
    return accuracy(labels, new_vectors, new_labels) - accuracy(control, vectors, control)
