# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110
import torch
from einops import rearrange
from torch.nn import functional as F


def _fit_and_judge(vectors, labels, new_vectors, new_labels):
    targets = F.one_hot(labels).float()
    linear = torch.linalg.lstsq(vectors, targets).solution
    return ((new_vectors @ linear).argmax(dim=1) == new_labels).float().mean()


def previous_token_score__wrong_all_positions(weights):
    """Divides by the number of all positions, the first one included."""
    batch, heads, time, _ = weights.shape
    score = torch.zeros(heads)
    for i in range(1, time):
        score += weights[:, :, i, i - 1].sum(dim=0)
    return score / (batch * time)


def induction_score__wrong_mean_of_means(weights, periods):
    """Averages each example first and then the examples, so positions of long periods count more."""
    means = []
    for b, p in enumerate(periods.tolist()):
        rows = range(p, weights.shape[-1])
        if len(rows):
            means.append(torch.stack([weights[b, :, i, i - p + 1] for i in rows]).mean(dim=0))
    return torch.stack(means).mean(dim=0)


def induction_score__wrong_one_period(weights, periods):
    """Takes the period of the first example for all of them."""
    p = int(periods[0])
    stripe = torch.diagonal(weights, offset=1 - p, dim1=2, dim2=3)
    return stripe[:, :, 1:].mean(dim=(0, 2))


def induction_score__right_mask(weights, periods):
    """Right: a mask of the entries that count, and a sum over them by einsum."""
    time = weights.shape[-1]
    i = torch.arange(time)[:, None]
    j = torch.arange(time)[None, :]
    p = periods[:, None, None]
    mask = ((i >= p) & (j == i - p + 1)).to(weights.dtype)
    return torch.einsum("bhij,bij->h", weights, mask) / mask.sum()


def zero_ablation__wrong_merge(found, output_weight, output_bias, ablated):
    """Merges with the heads innermost, which shows where heads are wider than 1."""
    kept = found.masked_fill(ablated[:, None, None], 0.0)
    return rearrange(kept, "b h t d -> b t (d h)") @ output_weight.T + output_bias


def zero_ablation__wrong_in_place(found, output_weight, output_bias, ablated):
    """Writes the zeros into what the caller's heads found."""
    found[:, ablated] = 0.0
    merged = found.transpose(1, 2).flatten(2)
    return F.linear(merged, output_weight, output_bias)


def mean_ablation__wrong_own_example(found, output_weight, output_bias, ablated):
    """Takes the mean over the positions of each example instead of all examples."""
    mean = found.mean(dim=2, keepdim=True)
    replaced = torch.where(ablated[None, :, None, None], mean, found)
    return replaced.transpose(1, 2).flatten(2) @ output_weight.T + output_bias


def mean_ablation__wrong_one_number(found, output_weight, output_bias, ablated):
    """Replaces a head by one number, the mean over its width too."""
    mean = found.mean(dim=(0, 2, 3), keepdim=True)
    replaced = torch.where(ablated[None, :, None, None], mean, found)
    return rearrange(replaced, "b h t d -> b t (h d)") @ output_weight.mT + output_bias


def mean_ablation__right_after_the_projection(found, output_weight, output_bias, ablated):
    """Right: projects each head by itself and averages what an ablated head adds to the output."""
    batch, heads, time, d_head = found.shape
    output = output_bias.expand(batch, time, -1).clone()
    for m in range(heads):
        added = found[:, m] @ output_weight[:, m * d_head : (m + 1) * d_head].T
        if ablated[m]:
            added = added.mean(dim=(0, 1))
        output += added
    return output


def direct_contributions__wrong_own_root(parts, gain, bias, epsilon, logit_weight, logit_bias):
    """Divides each part by its own root, not by that of the whole stream."""
    centred = parts - parts.mean(dim=-1, keepdim=True)
    root = (parts.var(dim=-1, correction=0, keepdim=True) + epsilon).sqrt()
    return (centred / root * gain) @ logit_weight.T, logit_weight @ bias + logit_bias


def direct_contributions__wrong_correction(parts, gain, bias, epsilon, logit_weight, logit_bias):
    """Divides by d - 1 under the root, as var does by default."""
    stream = parts.sum(dim=0)
    root = torch.sqrt(stream.var(dim=-1, keepdim=True) + epsilon)
    centred = parts - parts.mean(dim=-1, keepdim=True)
    return (gain * centred / root) @ logit_weight.T, logit_weight @ bias + logit_bias


def direct_contributions__wrong_epsilon(parts, gain, bias, epsilon, logit_weight, logit_bias):
    """Adds epsilon to the root and not under it."""
    root = parts.sum(dim=0).std(dim=-1, correction=0, keepdim=True) + epsilon
    centred = parts - parts.mean(dim=-1, keepdim=True)
    return (gain * centred / root) @ logit_weight.T, logit_weight @ bias + logit_bias


def direct_contributions__right_one_matrix(parts, gain, bias, epsilon, logit_weight, logit_bias):
    """Right: gain, centring and output weight in one matrix, the quotient afterwards."""
    d = parts.shape[-1]
    matrix = (logit_weight * gain) @ (torch.eye(d) - 1 / d)
    stream = parts.sum(dim=0)
    root = torch.sqrt(((stream - stream.mean(-1, keepdim=True)) ** 2).mean(-1) + epsilon)
    added = torch.einsum("pbtd,vd->pbtv", parts, matrix) / root[None, :, :, None]
    return added, logit_weight @ bias + logit_bias


def tree_distances__wrong_through_the_root(parents):
    """Goes all the way through the root, also where two nodes meet below it."""
    n = len(parents)
    depth = torch.zeros(n, dtype=torch.int64)
    for i in range(1, n):
        depth[i] = depth[parents[i]] + 1
    distances = depth[:, None] + depth[None, :]
    return distances.fill_diagonal_(0)


def tree_distances__wrong_levels(parents):
    """Takes the difference of the depths for the distance."""
    depth = [0] * len(parents)
    for node, parent in enumerate(parents.tolist()):
        if parent >= 0:
            depth[node] = depth[parent] + 1
    depth = torch.tensor(depth)
    return (depth[:, None] - depth[None, :]).abs()


def tree_distances__right_shorter_ways(parents):
    """Right: begins with the edges and shortens ways through every node."""
    n = len(parents)
    d = torch.full((n, n), n)
    d.fill_diagonal_(0)
    for child, parent in enumerate(parents.tolist()):
        if parent >= 0:
            d[child, parent] = d[parent, child] = 1
    for k in range(n):
        d = torch.minimum(d, d[:, k : k + 1] + d[k : k + 1, :])
    return d


def tree_embedding__wrong_axis_by_depth(parents):
    """Gives all edges of one depth the same axis, so siblings coincide."""
    n = len(parents)
    vectors = torch.zeros(n, n - 1)
    depth = [0] * n
    for node in range(1, n):
        parent = int(parents[node])
        depth[node] = depth[parent] + 1
        vectors[node] = vectors[parent]
        vectors[node, depth[node] - 1] += 1
    return vectors


def tree_embedding__wrong_growing_steps(parents):
    """Makes the step as long as the root of the depth, so deep edges are too long."""
    n = len(parents)
    vectors = torch.zeros(n, n - 1)
    depth = torch.zeros(n)
    for node in range(1, n):
        parent = parents[node]
        depth[node] = depth[parent] + 1
        vectors[node] = vectors[parent]
        vectors[node, node - 1] = depth[node].sqrt()
    return vectors


def tree_embedding__right_scaling(parents):
    """Right: classical scaling, by the eigenvectors of the centred distances."""
    n = len(parents)
    steps = torch.zeros(n, n, dtype=torch.float64)
    for node in range(1, n):
        steps[node, :node] = steps[parents[node], :node] + 1
        steps[:node, node] = steps[node, :node]
    centre = torch.eye(n, dtype=torch.float64) - 1 / n
    products = -0.5 * centre @ steps @ centre
    values, axes = torch.linalg.eigh(products)
    return (axes[:, 1:] * values[1:].clamp(min=0).sqrt()).float()


def probe_accuracy__wrong_with_bias(vectors, labels, new_vectors, new_labels):
    """Gives the probe a bias, by a column of ones."""
    x = torch.cat([vectors, torch.ones(len(vectors), 1)], dim=1)
    new_x = torch.cat([new_vectors, torch.ones(len(new_vectors), 1)], dim=1)
    linear = torch.linalg.pinv(x) @ F.one_hot(labels).float()
    return ((new_x @ linear).argmax(dim=1) == new_labels).float().mean()


def probe_accuracy__wrong_labels_as_numbers(vectors, labels, new_vectors, new_labels):
    """Fits one column to the numbers of the classes and rounds."""
    linear = torch.linalg.pinv(vectors) @ labels.float()
    predicted = (new_vectors @ linear).round().clamp(0, int(labels.max())).long()
    return (predicted == new_labels).float().mean()


def probe_accuracy__wrong_all_examples(vectors, labels, new_vectors, new_labels):
    """Judges by the old examples too."""
    linear = torch.linalg.pinv(vectors) @ F.one_hot(labels).float()
    x = torch.cat([vectors, new_vectors])
    y = torch.cat([labels, new_labels])
    return ((x @ linear).argmax(dim=1) == y).float().mean()


def probe_accuracy__right_class_by_class(vectors, labels, new_vectors, new_labels):
    """Right: a least-squares fit for each class by the normal equations in float64."""
    x = vectors.double()
    scores = []
    for c in range(int(labels.max()) + 1):
        w = torch.linalg.solve(x.T @ x, x.T @ (labels == c).double())
        scores.append(new_vectors.double() @ w)
    predicted = torch.stack(scores).argmax(dim=0)
    return (predicted == new_labels).sum() / len(new_labels)


def selectivity__wrong_judged_by_truth(vectors, words, labels, new_vectors, new_words, new_labels, random_labels):
    """Judges the second probe by the true labels."""
    true = _fit_and_judge(vectors, labels, new_vectors, new_labels)
    control = _fit_and_judge(vectors, random_labels[words], new_vectors, new_labels)
    return true - control


def selectivity__wrong_by_example(vectors, words, labels, new_vectors, new_words, new_labels, random_labels):
    """Looks the random labels up by the number of the example instead of its word."""
    vocab = len(random_labels)
    old = random_labels[torch.arange(len(words)) % vocab]
    new = random_labels[torch.arange(len(new_words)) % vocab]
    true = _fit_and_judge(vectors, labels, new_vectors, new_labels)
    targets = F.one_hot(old, int(random_labels.max()) + 1).float()
    guess = (new_vectors @ torch.linalg.pinv(vectors) @ targets).argmax(dim=1)
    return true - (guess == new).float().mean()


def selectivity__wrong_never_negative(vectors, words, labels, new_vectors, new_words, new_labels, random_labels):
    """Sets a selectivity below 0 to 0."""
    true = _fit_and_judge(vectors, labels, new_vectors, new_labels)
    control = _fit_and_judge(vectors, random_labels[words], new_vectors, random_labels[new_words])
    return (true - control).clamp(min=0)


def selectivity__right_one_fit(vectors, words, labels, new_vectors, new_words, new_labels, random_labels):
    """Right: fits both probes at once, with their targets side by side."""
    control = random_labels[words]
    targets = torch.cat([F.one_hot(labels), F.one_hot(control)], dim=1).float()
    logits = new_vectors @ (torch.linalg.pinv(vectors) @ targets)
    classes = int(labels.max()) + 1
    hits = (logits[:, :classes].argmax(dim=1) == new_labels).float()
    random_hits = (logits[:, classes:].argmax(dim=1) == random_labels[new_words]).float()
    return hits.mean() - random_hits.mean()
