# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110

import torch
import torch.nn.functional as F
from einops import rearrange

# -------------------------------------------------------- previous_token_score


def previous_token_score__wrong_next_token(weights):
    """offset=1 is the diagonal of the weights on the position after."""
    return torch.diagonal(weights, offset=1, dim1=-2, dim2=-1).mean(dim=(0, 2))


def previous_token_score__wrong_first_wraps_round(weights):
    """Counts position 0 too, whose 'position before', -1, is the last position in Python."""
    time = weights.shape[-1]
    i = torch.arange(time)
    return weights[:, :, i, i - 1].mean(dim=(0, 2))


def previous_token_score__right_sum_over_a_shifted_identity(weights):
    """Right: an einsum with the matrix that is 1 just below the diagonal, divided by what counts."""
    batch, heads, time, _ = weights.shape
    below = torch.ones(time - 1, dtype=weights.dtype).diag(-1)
    return torch.einsum("bhij,ij->h", weights, below) / (batch * (time - 1))


# ------------------------------------------------------------- induction_score


def induction_score__wrong_on_the_copy(weights, periods):
    """Looks at the earlier copy itself, i - p, not at the token after it."""
    batch, heads, time, _ = weights.shape
    total, count = torch.zeros(heads), 0
    for b in range(batch):
        p = int(periods[b])
        for i in range(p, time):
            total = total + weights[b, :, i, i - p]
            count += 1
    return total / count


def induction_score__wrong_mean_of_examples(weights, periods):
    """Averages each example by itself and then the examples, so not every position counts the same."""
    time = weights.shape[-1]
    scores = []
    for b, p in enumerate(periods.tolist()):
        if p == time:
            continue
        rows = torch.arange(p, time)
        scores.append(weights[b][:, rows, rows - p + 1].mean(dim=-1))
    return torch.stack(scores).mean(dim=0)


def induction_score__wrong_begins_one_early(weights, periods):
    """The whole diagonal begins at position p - 1, one before the first repetition."""
    stripes = []
    for b, p in enumerate(periods.tolist()):
        stripes.append(torch.diagonal(weights[b], offset=1 - p, dim1=-2, dim2=-1))
    return torch.cat(stripes, dim=-1).mean(dim=-1)


def induction_score__right_mask(weights, periods):
    """Right: a mask (batch, time, time) of the entries that count, without a loop."""
    time = weights.shape[-1]
    i = torch.arange(time)[:, None]
    j = torch.arange(time)[None, :]
    p = periods[:, None, None]
    counts = ((j == i - p + 1) & (i >= p)).to(weights.dtype)
    return torch.einsum("bhij,bij->h", weights, counts) / counts.sum()


# --------------------------------------------------------------- zero_ablation


def zero_ablation__wrong_the_others(found, output_weight, output_bias, ablated):
    """Multiplies by the truth values themselves, so the ablated heads stay and the others are gone."""
    kept = found * ablated[None, :, None, None]
    merged = kept.transpose(1, 2).flatten(2)
    return merged @ output_weight.T + output_bias


def zero_ablation__wrong_heads_interleaved(found, output_weight, output_bias, ablated):
    """Merges as (d_head, heads): the first number of every head comes first, which is right for width 1 only."""
    kept = found.masked_fill(ablated[:, None, None], 0.0)
    merged = rearrange(kept, "b h t d -> b t (d h)")
    return merged @ output_weight.T + output_bias


def zero_ablation__wrong_found_overwritten(found, output_weight, output_bias, ablated):
    """Writes the zeros into found itself."""
    found[:, ablated] = 0
    merged = found.transpose(1, 2).flatten(2)
    return F.linear(merged, output_weight, output_bias)


def zero_ablation__right_head_by_head(found, output_weight, output_bias, ablated):
    """Right: adds to the bias what each head that is left sends through its own columns of the weight."""
    batch, heads, time, width = found.shape
    output = output_bias.expand(batch, time, -1).clone()
    for h in range(heads):
        if not ablated[h]:
            output += found[:, h] @ output_weight[:, h * width : (h + 1) * width].T
    return output


# --------------------------------------------------------------- mean_ablation


def mean_ablation__wrong_mean_of_each_example(found, output_weight, output_bias, ablated):
    """Takes the mean over the positions of each example, not over the whole batch."""
    mean = found.mean(dim=2, keepdim=True)
    replaced = torch.where(ablated[:, None, None], mean, found)
    return replaced.transpose(1, 2).flatten(2) @ output_weight.T + output_bias


def mean_ablation__wrong_mean_over_width(found, output_weight, output_bias, ablated):
    """Averages over d_head too, so a head gets one number instead of a vector (the examples have width 1)."""
    mean = found.mean(dim=(0, 2, 3), keepdim=True)
    replaced = torch.where(ablated[None, :, None, None], mean, found)
    merged = rearrange(replaced, "b h t d -> b t (h d)")
    return F.linear(merged, output_weight, output_bias)


def mean_ablation__right_mean_through_the_weight(found, output_weight, output_bias, ablated):
    """Right: the zero ablation, plus the means of the ablated heads, sent through the weight once."""
    width = found.shape[-1]
    per_head = output_weight.unflatten(1, (-1, width))
    kept = (~ablated).to(found.dtype)
    output = torch.einsum("bhtd,ehd,h->bte", found, per_head, kept)
    constant = torch.einsum("hd,ehd,h->e", found.mean(dim=(0, 2)), per_head, 1 - kept)
    return output + constant + output_bias


# -------------------------------------------------------- direct_contributions


def direct_contributions__wrong_own_root(parts, gain, bias, epsilon, logit_weight, logit_bias):
    """Divides each part by its own root, as if each went through the layer norm alone."""
    centred = parts - parts.mean(dim=-1, keepdim=True)
    rho = (parts.var(dim=-1, correction=0, keepdim=True) + epsilon).sqrt()
    contributions = (gain * centred / rho) @ logit_weight.T
    return contributions, logit_weight @ bias + logit_bias


def direct_contributions__wrong_epsilon_outside(parts, gain, bias, epsilon, logit_weight, logit_bias):
    """Adds epsilon to the root and not below it (0 in the example)."""
    stream = parts.sum(dim=0)
    rho = stream.std(dim=-1, correction=0, keepdim=True) + epsilon
    centred = parts - parts.mean(dim=-1, keepdim=True)
    contributions = (gain * centred / rho) @ logit_weight.T
    return contributions, logit_weight @ bias + logit_bias


def direct_contributions__wrong_mean_of_stream(parts, gain, bias, epsilon, logit_weight, logit_bias):
    """Takes the mean of the whole stream off every part, instead of each part's own."""
    stream = parts.sum(dim=0)
    mean = stream.mean(dim=-1, keepdim=True)
    rho = ((stream - mean).square().mean(dim=-1, keepdim=True) + epsilon).sqrt()
    contributions = torch.einsum("pbtd,vd->pbtv", gain * (parts - mean) / rho, logit_weight)
    return contributions, logit_weight @ bias + logit_bias


def direct_contributions__right_centred_weight(parts, gain, bias, epsilon, logit_weight, logit_bias):
    """Right: takes the mean off by a matrix that is multiplied into the weight beforehand."""
    d = parts.shape[-1]
    centring = torch.eye(d, dtype=parts.dtype) - 1 / d
    through = (logit_weight * gain) @ centring
    stream = parts.sum(dim=0) @ centring
    rho = (stream.pow(2).mean(dim=-1) + epsilon).sqrt()
    contributions = torch.einsum("pbtd,vd->pbtv", parts, through) / rho[..., None]
    return contributions, (logit_weight * bias).sum(dim=1) + logit_bias


# -------------------------------------------------------------- tree_distances


def tree_distances__wrong_difference_of_depths(parents):
    """The difference of the depths, which is the distance only where one node lies above the other."""
    depth = torch.zeros(len(parents), dtype=torch.int64)
    for node in range(1, len(parents)):
        depth[node] = depth[parents[node]] + 1
    return (depth[:, None] - depth[None, :]).abs()


def tree_distances__wrong_root_hangs_on_last_node(parents):
    """Includes the root in the edges; its parent, -1, is the last node for an index."""
    n = len(parents)
    d = torch.full((n, n), n)
    nodes = torch.arange(n)
    d[nodes, parents] = 1
    d[parents, nodes] = 1
    d[nodes, nodes] = 0
    for k in range(n):
        d = torch.minimum(d, d[:, k, None] + d[None, k, :])
    return d


def tree_distances__wrong_float(parents):
    """Right distances, but in float32 and not in int64."""
    n = len(parents)
    distances = torch.zeros(n, n)
    for node in range(1, n):
        row = distances[parents[node], :node] + 1
        distances[node, :node] = row
        distances[:node, node] = row
    return distances


def tree_distances__right_common_ancestors(parents):
    """Right: both depths less twice the number of edges that the ways to the root share."""
    n = len(parents)
    above = torch.zeros(n, n, dtype=torch.int64)
    for node in range(1, n):
        above[node] = above[parents[node]]
        above[node, node] = 1
    depth = above.sum(dim=1)
    shared = (above[:, None, :] * above[None, :, :]).sum(dim=-1)
    return depth[:, None] + depth[None, :] - 2 * shared


# -------------------------------------------------------------- tree_embedding


def tree_embedding__wrong_axis_of_depth(parents):
    """The edge above a node gets the axis of its depth, so siblings get the same vector."""
    n = len(parents)
    vectors = torch.zeros(n, n - 1)
    depth = [0] * n
    for node in range(1, n):
        parent = int(parents[node])
        depth[node] = depth[parent] + 1
        vectors[node] = vectors[parent]
        vectors[node, depth[node] - 1] += 1
    return vectors


def tree_embedding__wrong_parents_row_changed(parents):
    """The parent's row is a view, and the step to the child is written into the parent as well."""
    n = len(parents)
    vectors = torch.zeros(n, n - 1)
    for node in range(1, n):
        row = vectors[parents[node]]
        row[node - 1] = 1
        vectors[node] = row
    return vectors


def tree_embedding__right_scaling(parents):
    """Right: classical multidimensional scaling of the distances, by the eigenvectors of the centred matrix."""
    n = len(parents)
    d = torch.zeros(n, n, dtype=torch.float64)
    for node in range(1, n):
        d[node, :node] = d[int(parents[node]), :node] + 1
        d[:node, node] = d[node, :node]
    centring = torch.eye(n, dtype=torch.float64) - 1 / n
    values, axes = torch.linalg.eigh(-0.5 * centring @ d @ centring)
    return (axes[:, 1:] * values[1:].clamp(min=0).sqrt()).float()


# -------------------------------------------------------------- probe_accuracy


def probe_accuracy__wrong_with_bias(vectors, labels, new_vectors, new_labels):
    """Fits a bias as well, by a column of ones."""
    ones = torch.ones(len(vectors), 1)
    targets = F.one_hot(labels).float()
    probe = torch.linalg.pinv(torch.cat([vectors, ones], dim=1)) @ targets
    new = torch.cat([new_vectors, torch.ones(len(new_vectors), 1)], dim=1)
    return ((new @ probe).argmax(dim=1) == new_labels).float().mean()


def probe_accuracy__wrong_label_as_a_number(vectors, labels, new_vectors, new_labels):
    """Fits the label as one number and rounds, instead of a column for each class."""
    probe = torch.linalg.pinv(vectors) @ labels.float()
    predicted = (new_vectors @ probe).round().long()
    return (predicted == new_labels).float().mean()


def probe_accuracy__wrong_single_new_example(vectors, labels, new_vectors, new_labels):
    """squeeze() takes the axis of the examples away where there is only one, and argmax(dim=1) stops."""
    targets = F.one_hot(labels).float()
    probe = torch.linalg.lstsq(vectors, targets).solution
    logits = (new_vectors @ probe).squeeze()
    return (logits.argmax(dim=1) == new_labels).float().mean()


def probe_accuracy__right_qr(vectors, labels, new_vectors, new_labels):
    """Right: least squares by a QR decomposition and a triangular solve."""
    classes = labels.unique()
    targets = (labels[:, None] == classes[None, :]).to(vectors.dtype)
    q, r = torch.linalg.qr(vectors)
    probe = torch.linalg.solve_triangular(r, q.T @ targets, upper=True)
    predicted = classes[(new_vectors @ probe).max(dim=1).indices]
    return (predicted == new_labels).sum() / len(new_labels)


# ----------------------------------------------------------------- selectivity


def selectivity__wrong_control_judged_by_true_labels(
    vectors, words, labels, new_vectors, new_words, new_labels, random_labels
):
    """The second probe is fitted to random labels but judged by the true ones."""

    def accuracy(train_labels, test_labels):
        probe = torch.linalg.pinv(vectors) @ F.one_hot(train_labels).float()
        return ((new_vectors @ probe).argmax(dim=1) == test_labels).float().mean()

    return accuracy(labels, new_labels) - accuracy(random_labels[words], new_labels)


def selectivity__wrong_control_judged_on_seen(
    vectors, words, labels, new_vectors, new_words, new_labels, random_labels
):
    """The second probe is judged by the examples that it was fitted to, not by the new ones."""
    inverse = torch.linalg.pinv(vectors)
    control = random_labels[words]
    by_true = (new_vectors @ inverse @ F.one_hot(labels).float()).argmax(dim=1) == new_labels
    by_random = (vectors @ inverse @ F.one_hot(control).float()).argmax(dim=1) == control
    return by_true.float().mean() - by_random.float().mean()


def selectivity__right_both_probes_at_once(vectors, words, labels, new_vectors, new_words, new_labels, random_labels):
    """Right: one least-squares fit with the columns of both tasks side by side, split afterwards."""
    true_targets = F.one_hot(labels).float()
    random_targets = F.one_hot(random_labels[words]).float()
    both = torch.cat([true_targets, random_targets], dim=1)
    columns = new_vectors @ torch.linalg.lstsq(vectors, both).solution
    split = true_targets.shape[1]
    true_right = columns[:, :split].argmax(dim=1) == new_labels
    random_right = columns[:, split:].argmax(dim=1) == random_labels[new_words]
    return (true_right.float() - random_right.float()).mean()
