# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501

from collections import deque

import numpy
import torch
from einops import rearrange
from torch.nn import functional as F

# ---------------------------------------------------------------- 14.1 previous_token_score


def previous_token_score__wrong_next_token(weights):
    """This is the diagonal above, the weight on the position after; the one before lies below the main diagonal."""
    return weights.diagonal(offset=1, dim1=-2, dim2=-1).mean(dim=(0, 2))


def previous_token_score__wrong_first_position_counts(weights):
    """You divide by all positions; the first one has none before it and does not count."""
    batch, heads, time, _ = weights.shape
    total = torch.diagonal(weights, -1, 2, 3).sum(dim=(0, 2))
    return total / (batch * time)


def previous_token_score__wrong_own_position(weights):
    """This is the weight on the position itself, not on the one before."""
    return torch.diagonal(weights, dim1=2, dim2=3)[..., 1:].mean(dim=(0, 2))


def previous_token_score__wrong_heads_averaged(weights):
    """The heads are averaged as well; each head should have a score of its own."""
    score = torch.diagonal(weights, -1, 2, 3).mean()
    return score.expand(weights.shape[1])


def previous_token_score__wrong_wraps_around(weights):
    """roll lets the first position look at the last one; with a causal mask this adds nothing, without one it does."""
    batch, heads, time, _ = weights.shape
    shifted = torch.roll(torch.eye(time, dtype=weights.dtype), -1, dims=1)
    return (weights * shifted).sum(dim=(0, 2, 3)) / (batch * (time - 1))


def previous_token_score__wrong_how_often_greatest(weights):
    """You count how often the position before has the greatest weight; the mean of the weight itself was asked for."""
    time = weights.shape[-1]
    hit = weights[:, :, 1:].argmax(-1) == torch.arange(time - 1)
    return hit.float().mean(dim=(0, 2))


def previous_token_score__right_eye_einsum(weights):
    """The stripe is cut out by a shifted identity in an einsum."""
    time = weights.shape[-1]
    stripe = torch.eye(time, dtype=weights.dtype)[:-1]
    total = torch.einsum("bhij,ij->h", weights[:, :, 1:].double(), stripe.double())
    return (total / (len(weights) * (time - 1))).to(weights.dtype)


def previous_token_score__right_loops(weights):
    """A loop over positions, each with its own column."""
    time = weights.shape[-1]
    columns = [weights[:, :, i, i - 1] for i in range(1, time)]
    return torch.stack(columns, dim=-1).mean(-1).mean(0)


# ---------------------------------------------------------------- 14.1 induction_score


def induction_score__wrong_the_copy_itself(weights, periods):
    """This is the weight on the earlier copy, i - p; an induction head looks at the token after it, i - p + 1."""
    total, count = 0, 0
    for w, p in zip(weights, periods.tolist()):
        stripe = w.diagonal(-p, 1, 2) if p < w.shape[-1] else w[:, 0, :0]
        total, count = total + stripe.sum(-1), count + stripe.shape[-1]
    return total / count


def induction_score__wrong_mean_of_means(weights, periods):
    """You average within each example first; every position counts the same, so long stripes must weigh more."""
    means = []
    for w, p in zip(weights, periods.tolist()):
        stripe = w.diagonal(1 - p, 1, 2)[:, 1:]
        if stripe.shape[1]:
            means.append(stripe.mean(-1))
    return torch.stack(means).mean(0)


def induction_score__wrong_one_position_early(weights, periods):
    """The whole diagonal starts at position p - 1, which has no earlier copy; the first to count is p."""
    total, count = 0, 0
    for w, p in zip(weights, periods.tolist()):
        stripe = w.diagonal(1 - p, 1, 2)
        total, count = total + stripe.sum(-1), count + stripe.shape[-1]
    return total / count


def induction_score__wrong_first_period_for_all(weights, periods):
    """Every example has its own period; you use that of the first for all."""
    p = min(int(periods[0]), weights.shape[-1] - 1)
    return weights.diagonal(1 - p, 2, 3)[..., 1:].mean(dim=(0, 2))


def induction_score__wrong_example_without_repetition(weights, periods):
    """An example that repeats nothing has an empty mean, NaN, and spoils the score of the whole batch."""
    time = weights.shape[-1]
    counts = time - periods
    means = torch.stack([w.diagonal(1 - int(p), 1, 2)[:, 1:].mean(-1) for w, p in zip(weights, periods)])
    return (means * counts[:, None]).sum(0) / counts.sum()


def induction_score__wrong_position_after_period_only(weights, periods):
    """`i > p` leaves out position p, the first one that has an earlier copy."""
    time = weights.shape[-1]
    i = torch.arange(time)[None, :, None]
    j = torch.arange(time)[None, None, :]
    p = periods[:, None, None]
    stripe = ((j == i - p + 1) & (i > p)).to(weights.dtype)
    return torch.einsum("bhij,bij->h", weights, stripe) / stripe.sum().clamp(min=1)


def induction_score__right_gather(weights, periods):
    """gather reads for each position one weight; the positions that do not count are multiplied by 0."""
    batch, heads, time, _ = weights.shape
    i = torch.arange(time).expand(batch, time)
    counts = i >= periods[:, None]
    column = (i - periods[:, None] + 1).clamp(0, time - 1)
    index = column[:, None, :, None].expand(batch, heads, time, 1)
    looked = weights.gather(3, index).squeeze(3) * counts[:, None]
    return looked.sum(dim=(0, 2)) / counts.sum()


def induction_score__right_list_of_positions(weights, periods):
    """All positions that count are listed with Python loops, and their weights averaged at once."""
    time = weights.shape[2]
    places = [(b, i, i - p + 1) for b, p in enumerate(periods.tolist()) for i in range(p, time)]
    b, i, j = (torch.tensor(column) for column in zip(*places))
    return weights[b, :, i, j].mean(0)


# ---------------------------------------------------------------- 14.2 zero_ablation


def zero_ablation__wrong_in_place(found, output_weight, output_bias, ablated):
    """found is overwritten by zeros and the caller has lost what the heads found."""
    found[:, ablated] = 0
    return F.linear(rearrange(found, "b h t d -> b t (h d)"), output_weight, output_bias)


def zero_ablation__wrong_merged_without_transposing(found, output_weight, output_bias, ablated):
    """A reshape alone mixes heads and positions; time must come before the heads first."""
    batch, heads, time, width = found.shape
    kept = found.masked_fill(ablated[:, None, None], 0)
    return F.linear(kept.reshape(batch, time, heads * width), output_weight, output_bias)


def zero_ablation__wrong_bias_ablated(found, output_weight, output_bias, ablated):
    """When all heads are ablated you return zeros; the bias belongs to no head and stays."""
    batch, heads, time, width = found.shape
    if bool(ablated.all()):
        return torch.zeros(batch, time, len(output_bias))
    kept = torch.where(ablated[:, None, None], torch.zeros_like(found), found)
    return F.linear(kept.transpose(1, 2).flatten(2), output_weight, output_bias)


def zero_ablation__wrong_rescaled(found, output_weight, output_bias, ablated):
    """As in dropout you scale the remaining heads up; an ablation leaves them as they are."""
    left = (~ablated).float()
    kept = found * left[:, None, None] * (len(left) / left.sum().clamp(min=1))
    return F.linear(kept.transpose(1, 2).flatten(2), output_weight, output_bias)


def zero_ablation__wrong_weight_not_transposed(found, output_weight, output_bias, ablated):
    """A linear layer keeps its weight as (out, in), so it has to be transposed; your product fits square weights only."""
    kept = found * (~ablated)[:, None, None]
    merged = rearrange(kept, "b h t d -> b t (h d)")
    return merged @ output_weight + output_bias


def zero_ablation__wrong_heads_interleaved(found, output_weight, output_bias, ablated):
    """In the merged vector all numbers of the first head come first; yours come in turns."""
    kept = found * (~ablated)[:, None, None]
    return F.linear(rearrange(kept, "b h t d -> b t (d h)"), output_weight, output_bias)


def zero_ablation__right_columns_of_the_weight(found, output_weight, output_bias, ablated):
    """The columns of the weight that read an ablated head are set to 0, and found is merged as it is."""
    columns = (~ablated).to(output_weight.dtype).repeat_interleave(found.shape[-1])
    return found.transpose(1, 2).flatten(2) @ (output_weight * columns).T + output_bias


def zero_ablation__right_sum_over_heads(found, output_weight, output_bias, ablated):
    """The output is summed head by head, and ablated heads are left out of the loop."""
    batch, heads, time, width = found.shape
    output = output_bias.repeat(batch, time, 1)
    for head, block in enumerate(output_weight.split(width, dim=1)):
        if not ablated[head]:
            output = output + torch.einsum("btd,md->btm", found[:, head], block)
    return output


# ---------------------------------------------------------------- 14.2 mean_ablation


def mean_ablation__wrong_mean_of_each_example(found, output_weight, output_bias, ablated):
    """The mean is taken over the positions of each example by itself, so it still depends on the input."""
    mean = found.mean(dim=2, keepdim=True)
    mixed = torch.where(ablated[:, None, None], mean, found)
    return F.linear(rearrange(mixed, "b h t d -> b t (h d)"), output_weight, output_bias)


def mean_ablation__wrong_mean_of_each_position(found, output_weight, output_bias, ablated):
    """The mean runs over the examples only; every position keeps a mean of its own."""
    mean = found.mean(dim=0, keepdim=True)
    mixed = torch.where(ablated[:, None, None], mean, found)
    return F.linear(rearrange(mixed, "b h t d -> b t (h d)"), output_weight, output_bias)


def mean_ablation__wrong_one_number(found, output_weight, output_bias, ablated):
    """The mean runs over d_head as well and is one number for a head; it should be a vector."""
    mean = found.mean(dim=(0, 2, 3), keepdim=True)
    mixed = torch.where(ablated[:, None, None], mean, found)
    return F.linear(rearrange(mixed, "b h t d -> b t (h d)"), output_weight, output_bias)


def mean_ablation__wrong_mean_over_heads(found, output_weight, output_bias, ablated):
    """The ablated heads get the mean over all heads; each should get its own."""
    mean = found.mean(dim=(0, 1, 2), keepdim=True)
    mixed = torch.where(ablated[:, None, None], mean, found)
    return F.linear(rearrange(mixed, "b h t d -> b t (h d)"), output_weight, output_bias)


def mean_ablation__wrong_in_place(found, output_weight, output_bias, ablated):
    """The means are written into found itself, which should be left as it was."""
    for head in range(found.shape[1]):
        if ablated[head]:
            found[:, head] = found[:, head].mean(dim=(0, 1))
    return F.linear(rearrange(found, "b h t d -> b t (h d)"), output_weight, output_bias)


def mean_ablation__wrong_mean_of_the_output(found, output_weight, output_bias, ablated):
    """You replace the merged vector as a whole by its mean as soon as one head is ablated."""
    merged = rearrange(found, "b h t d -> b t (h d)")
    if ablated.any():
        merged = merged.mean(dim=(0, 1), keepdim=True).expand_as(merged)
    return F.linear(merged, output_weight, output_bias)


def mean_ablation__right_mean_of_contributions(found, output_weight, output_bias, ablated):
    """Each head's contribution to the output is computed, and that of an ablated head averaged afterwards."""
    blocks = rearrange(output_weight, "m (h d) -> h m d", h=found.shape[1])
    parts = torch.einsum("bhtd,hmd->hbtm", found, blocks)
    output = output_bias
    for part, gone in zip(parts, ablated.tolist()):
        output = output + (part.mean(dim=(0, 1)) if gone else part)
    return output.expand(found.shape[0], found.shape[2], -1).clone()


def mean_ablation__right_interpolation(found, output_weight, output_bias, ablated):
    """lerp goes all the way from found to its mean where a head is ablated, in double precision."""
    exact = found.double()
    mean = exact.sum((0, 2), keepdim=True).div(exact.shape[0] * exact.shape[2]).expand_as(exact)
    gone = ablated.double().view(1, -1, 1, 1).expand_as(exact)
    mixed = exact * (1 - gone) + mean * gone
    merged = torch.cat(mixed.unbind(1), dim=-1)
    return (merged @ output_weight.double().mT + output_bias.double()).to(found.dtype)


# ---------------------------------------------------------------- 14.3 direct_contributions


def direct_contributions__wrong_own_root(parts, gain, bias, epsilon, logit_weight, logit_bias):
    """Each part is divided by a root of its own; the root is that of the whole stream."""
    centred = parts - parts.mean(-1, keepdim=True)
    root = (centred.pow(2).mean(-1, keepdim=True) + epsilon + 1e-12).sqrt()
    return (gain * centred / root) @ logit_weight.T, logit_weight @ bias + logit_bias


def direct_contributions__wrong_unbiased_variance(parts, gain, bias, epsilon, logit_weight, logit_bias):
    """var of torch divides by d - 1 unless told otherwise; the layer norm divides by d."""
    stream = parts.sum(0)
    root = (stream.var(-1, keepdim=True) + epsilon).sqrt()
    centred = parts - parts.mean(-1, keepdim=True)
    return (gain * centred / root) @ logit_weight.T, logit_weight @ bias + logit_bias


def direct_contributions__wrong_epsilon_outside(parts, gain, bias, epsilon, logit_weight, logit_bias):
    """epsilon belongs under the root, not beside it."""
    stream = parts.sum(0)
    root = stream.std(-1, correction=0, keepdim=True) + epsilon
    centred = parts - parts.mean(-1, keepdim=True)
    return (gain * centred / root) @ logit_weight.T, logit_weight @ bias + logit_bias


def direct_contributions__wrong_constant_without_norm_bias(parts, gain, bias, epsilon, logit_weight, logit_bias):
    """The constant is only the bias of the output layer; the bias of the layer norm, seen through W, is missing."""
    stream = parts.sum(0)
    root = (stream.var(-1, correction=0, keepdim=True) + epsilon).sqrt()
    centred = parts - parts.mean(-1, keepdim=True)
    return (gain * centred / root) @ logit_weight.T, logit_bias.clone()


def direct_contributions__wrong_mean_of_stream_shared(parts, gain, bias, epsilon, logit_weight, logit_bias):
    """The sum is right, but each part loses an equal share of the stream's mean in place of its own mean."""
    stream = parts.sum(0)
    root = (stream.var(-1, correction=0, keepdim=True) + epsilon).sqrt()
    centred = parts - stream.mean(-1, keepdim=True) / parts.shape[0]
    return (gain * centred / root) @ logit_weight.T, logit_weight @ bias + logit_bias


def direct_contributions__wrong_default_epsilon(parts, gain, bias, epsilon, logit_weight, logit_bias):
    """1e-5, the default of nn.LayerNorm, stands where the argument epsilon should."""
    stream = parts.sum(0)
    root = torch.sqrt(stream.var(-1, correction=0, keepdim=True) + 1e-5)
    centred = parts - parts.mean(-1, keepdim=True)
    return F.linear(gain * centred / root, logit_weight), logit_weight @ bias + logit_bias


def direct_contributions__right_one_matrix(parts, gain, bias, epsilon, logit_weight, logit_bias):
    """Centring, gain and W are one matrix, through which all parts go before the division."""
    d = parts.shape[-1]
    centring = torch.eye(d, dtype=parts.dtype) - 1 / d
    matrix = logit_weight @ torch.diag(gain) @ centring
    stream = parts.sum(0) @ centring
    root = torch.sqrt(stream.square().sum(-1) / d + epsilon)
    return torch.einsum("vd,pbtd->pbtv", matrix, parts) / root[None, ..., None], torch.mv(
        logit_weight, bias
    ) + logit_bias


def direct_contributions__right_jacobian_vector(parts, gain, bias, epsilon, logit_weight, logit_bias):
    """With the root frozen the logits are affine in the stream: the constant is their value at 0, each part the directional derivative."""
    exact = [x.double() for x in (parts, gain, bias, logit_weight, logit_bias)]
    parts64, gain64, bias64, weight64, offset64 = exact
    whole = parts64.sum(0)
    root = ((whole - whole.mean(-1, keepdim=True)) ** 2).mean(-1, keepdim=True).add(epsilon).sqrt()

    def logits(stream):
        return F.linear(gain64 * (stream - stream.mean(-1, keepdim=True)) / root + bias64, weight64, offset64)

    added = torch.stack([torch.func.jvp(logits, (whole,), (part,))[1] for part in parts64])
    constant = F.linear(bias64, weight64, offset64)
    return added.to(parts.dtype), constant.to(parts.dtype)


# ---------------------------------------------------------------- 14.4 tree_distances


def tree_distances__wrong_difference_of_depths(parents):
    """The difference of the depths is the distance along one branch only; brothers would have the distance 0."""
    depth = [0] * len(parents)
    for node in range(1, len(parents)):
        depth[node] = depth[int(parents[node])] + 1
    depth = torch.tensor(depth)
    return (depth[:, None] - depth[None]).abs()


def tree_distances__wrong_always_through_the_root(parents):
    """The way need not lead through the root; two nodes of one branch meet lower down."""
    depth = torch.zeros(len(parents), dtype=torch.int64)
    for node in range(1, len(parents)):
        depth[node] = depth[parents[node]] + 1
    return (depth[:, None] + depth[None]).fill_diagonal_(0)


def tree_distances__wrong_root_has_a_parent(parents):
    """parents[0] is -1, which Python takes for the last node, so the root gets an edge to it."""
    n = len(parents)
    distance = torch.full((n, n), n)
    for node in range(n):
        distance[node, parents[node]] = distance[parents[node], node] = 1
    distance.fill_diagonal_(0)
    for k in range(n):
        distance = torch.minimum(distance, distance[:, k, None] + distance[None, k])
    return distance


def tree_distances__wrong_fractions(parents):
    """The numbers are right but of the type float32; whole numbers (torch.int64) were asked for."""
    n = len(parents)
    above = torch.eye(n)
    for node in range(1, n):
        above[node] += above[parents[node]]
    return torch.cdist(above, above, p=1)


def tree_distances__wrong_four_steps(parents):
    """Ways longer than four edges are never found: the powers must go on to the longest way."""
    n = len(parents)
    edges = torch.eye(n)
    child = torch.arange(1, n)
    edges[child, parents[1:]] = edges[parents[1:], child] = 1
    reached, distance = torch.eye(n), torch.zeros(n, n, dtype=torch.int64)
    for _ in range(4):
        distance += reached == 0
        reached = ((reached @ edges) > 0).float()
    return distance


def tree_distances__wrong_one_direction(parents):
    """Only the way from a node up to its ancestors is filled in; cousins and the way down keep 0."""
    n = len(parents)
    distance = torch.zeros(n, n, dtype=torch.int64)
    for node in range(n):
        above, steps = int(parents[node]), 1
        while above >= 0:
            distance[node, above] = distance[above, node] = steps
            above, steps = int(parents[above]), steps + 1
    return distance


def tree_distances__right_ancestors(parents):
    """Two nodes are as far apart as the number of nodes that are above (or equal to) one and not the other."""
    above = torch.eye(len(parents), dtype=torch.int64)
    for node in range(1, len(parents)):
        above[node] |= above[parents[node]]
    return (above[:, None, :] ^ above[None, :, :]).sum(-1)


def tree_distances__right_breadth_first(parents):
    """A breadth-first search from every node, over lists of neighbours."""
    neighbours = [[] for _ in parents]
    for child, parent in enumerate(parents.tolist()):
        if parent >= 0:
            neighbours[child].append(parent)
            neighbours[parent].append(child)
    rows = []
    for start in range(len(neighbours)):
        steps, queue = {start: 0}, deque([start])
        while queue:
            here = queue.popleft()
            for near in neighbours[here]:
                if near not in steps:
                    steps[near] = steps[here] + 1
                    queue.append(near)
        rows.append([steps[node] for node in range(len(neighbours))])
    return torch.tensor(rows, dtype=torch.int64)


def tree_distances__right_row_of_parent(parents):
    """A new node is one further from every earlier node than its parent is; the table grows by a row and a column."""
    table = torch.zeros(1, 1, dtype=torch.int64)
    for parent in parents[1:].tolist():
        row = table[parent] + 1
        table = torch.cat([torch.cat([table, row[None]]), torch.cat([row, row.new_zeros(1)])[:, None]], dim=1)
    return table


# ---------------------------------------------------------------- 14.4 tree_embedding


def tree_embedding__wrong_own_coordinate_only(parents):
    """Each node has only its own coordinate; it must take over its parent's vector too."""
    n = len(parents)
    x = torch.zeros(n, n - 1)
    for node in range(1, n):
        x[node, node - 1] = 1
    return x


def tree_embedding__wrong_coordinate_of_the_level(parents):
    """Nodes of one level share a coordinate, so brothers stand at the same point."""
    n = len(parents)
    x, depth = torch.zeros(n, n - 1), [0] * n
    for node in range(1, n):
        parent = int(parents[node])
        depth[node] = depth[parent] + 1
        x[node] = x[parent]
        x[node, depth[node] - 1] = 1
    return x


def tree_embedding__wrong_number_of_the_last(parents):
    """The root is not at zero: coordinate 0 - 1 is the last one, which belongs to the last node."""
    n = len(parents)
    x = torch.zeros(n, n - 1)
    for node in range(n):
        if node > 0:
            x[node] = x[parents[node]]
        x[node, node - 1] = 1
    return x


def tree_embedding__wrong_scaling_of_squares(parents):
    """The distances of the tree are squared before the scaling; they are the squared distances already."""
    d = tree_distances__right_ancestors(parents).double() ** 2
    n = len(d)
    centring = torch.eye(n, dtype=torch.float64) - 1 / n
    values, axes = torch.linalg.eigh(-0.5 * centring @ d @ centring)
    return (axes * values.clamp(min=0).sqrt())[:, 1:].float()


def tree_embedding__wrong_root_of_values_forgotten(parents):
    """The eigenvectors are to be multiplied by the ROOT of the eigenvalues."""
    d = tree_distances__right_ancestors(parents).double()
    n = len(d)
    centring = torch.eye(n, dtype=torch.float64) - 1 / n
    values, axes = torch.linalg.eigh(-0.5 * centring @ d @ centring)
    return (axes * values)[:, 1:].float()


def tree_embedding__wrong_three_dimensions(parents):
    """Only the three greatest eigenvalues are kept, which is exact for trees of up to four nodes only."""
    d = tree_distances__right_ancestors(parents).double()
    n = len(d)
    centring = torch.eye(n, dtype=torch.float64) - 1 / n
    values, axes = torch.linalg.eigh(-0.5 * centring @ d @ centring)
    values = values.clamp(min=0)
    if n > 4:
        values[:-3] = 0
    return (axes * values.sqrt())[:, 1:].float()


def tree_embedding__right_cholesky(parents):
    """The scalar products that put the root at 0 are known from the distances; Cholesky gives vectors with these products."""
    d = tree_distances__right_ancestors(parents).double()
    products = (d[1:, :1] + d[:1, 1:] - d[1:, 1:]) / 2
    return torch.cat([torch.zeros(1, len(d) - 1), torch.linalg.cholesky(products).float()])


def tree_embedding__right_multidimensional_scaling(parents):
    """Classical scaling in double precision: eigenvectors times roots of eigenvalues."""
    d = tree_distances__right_ancestors(parents).double()
    centred = d - d.mean(0, keepdim=True) - d.mean(1, keepdim=True) + d.mean()
    values, axes = torch.linalg.eigh(-centred / 2)
    return (axes[:, 1:] * values[1:].clamp(min=0).sqrt()).float()


def tree_embedding__right_inverse_of_edges(parents):
    """Each row of (identity - child-to-parent) takes the step of one edge; its inverse adds the steps up. Signs alternate, which changes nothing."""
    n = len(parents)
    steps = torch.eye(n, dtype=torch.float64)
    for child in range(1, n):
        steps[child, parents[child]] -= 1
    signs = torch.tensor([(-1.0) ** k for k in range(n - 1)])
    return torch.linalg.inv(steps)[:, 1:].round().float() * signs


# ---------------------------------------------------------------- 14.5 probe_accuracy


def _accuracy_of_probe(vectors, labels, new_vectors, new_labels):
    """The accuracy of a linear probe, by lstsq in double precision."""
    targets = F.one_hot(labels).double()
    probe = torch.linalg.lstsq(vectors.double(), targets).solution
    return ((new_vectors.double() @ probe).argmax(1) == new_labels).float().mean()


def probe_accuracy__wrong_with_bias(vectors, labels, new_vectors, new_labels):
    """A column of ones gives the probe a bias; it should have none."""
    ones = torch.ones(len(vectors), 1)
    probe = torch.linalg.pinv(torch.cat([vectors, ones], dim=1)) @ F.one_hot(labels).float()
    guess = torch.cat([new_vectors, torch.ones(len(new_vectors), 1)], dim=1) @ probe
    return (guess.argmax(1) == new_labels).float().mean()


def probe_accuracy__wrong_regression_to_numbers(vectors, labels, new_vectors, new_labels):
    """The number of the class is fitted and rounded; each class needs a column of its own."""
    probe = torch.linalg.lstsq(vectors, labels.float()[:, None]).solution
    guess = (new_vectors @ probe)[:, 0].round().long()
    return (guess == new_labels).float().mean()


def probe_accuracy__wrong_judged_by_old_examples(vectors, labels, new_vectors, new_labels):
    """The accuracy is measured on the examples that the probe was fitted to."""
    probe = torch.linalg.lstsq(vectors, F.one_hot(labels).float()).solution
    return ((vectors @ probe).argmax(1) == labels).float().mean()


def probe_accuracy__wrong_fitted_to_everything(vectors, labels, new_vectors, new_labels):
    """The new examples take part in the fit, so the probe has seen the answers."""
    x, y = torch.cat([vectors, new_vectors]), torch.cat([labels, new_labels])
    probe = torch.linalg.pinv(x) @ F.one_hot(y).float()
    return ((new_vectors @ probe).argmax(1) == new_labels).float().mean()


def probe_accuracy__wrong_ridge(vectors, labels, new_vectors, new_labels):
    """The penalty added for stability makes it another map than the one with the least squared error."""
    d = vectors.shape[1]
    targets = F.one_hot(labels).float()
    probe = torch.linalg.solve(vectors.T @ vectors + torch.eye(d), vectors.T @ targets)
    return ((new_vectors @ probe).argmax(1) == new_labels).float().mean()


def probe_accuracy__wrong_centred(vectors, labels, new_vectors, new_labels):
    """Subtracting the mean of the vectors first gives another probe; the vectors are to be read as they are."""
    mean = vectors.mean(0)
    probe = torch.linalg.pinv(vectors - mean) @ F.one_hot(labels).float()
    return (((new_vectors - mean) @ probe).argmax(1) == new_labels).float().mean()


def probe_accuracy__right_qr(vectors, labels, new_vectors, new_labels):
    """QR decomposition and a triangular system, one class after the other."""
    q, r = torch.linalg.qr(vectors.double())
    scores = []
    for c in range(int(labels.max()) + 1):
        target = (labels == c).double()[:, None]
        column = torch.linalg.solve_triangular(r, q.T @ target, upper=True)
        scores.append((new_vectors.double() @ column).squeeze(1))
    return torch.stack(scores).max(dim=0).indices.eq(new_labels).sum() / new_labels.numel()


def probe_accuracy__right_numpy(vectors, labels, new_vectors, new_labels):
    """numpy's lstsq, and a mean of Python truth values."""
    targets = numpy.eye(int(labels.max()) + 1)[labels.numpy()]
    probe = numpy.linalg.lstsq(vectors.numpy().astype(float), targets, rcond=None)[0]
    guesses = [int(numpy.argmax(v @ probe)) for v in new_vectors.numpy().astype(float)]
    right = [g == y for g, y in zip(guesses, new_labels.tolist())]
    return torch.tensor(sum(right) / len(right))


def probe_accuracy__right_plus_and_minus_one(vectors, labels, new_vectors, new_labels):
    """The targets are 1 and -1: every column is doubled and moved by the same vector, so the greatest column stays the greatest."""
    targets = 2 * F.one_hot(labels).double() - 1
    probe = torch.linalg.pinv(vectors.double()) @ targets
    return torch.mean(((new_vectors.double() @ probe).argmax(1) == new_labels).float())


# ---------------------------------------------------------------- 14.5 selectivity


def selectivity__wrong_order(vectors, words, labels, new_vectors, new_words, new_labels, random_labels):
    """The difference is the wrong way round: the control task is subtracted from the true one."""
    true = _accuracy_of_probe(vectors, labels, new_vectors, new_labels)
    control = _accuracy_of_probe(vectors, random_labels[words], new_vectors, random_labels[new_words])
    return control - true


def selectivity__wrong_control_judged_by_true_labels(
    vectors, words, labels, new_vectors, new_words, new_labels, random_labels
):
    """The second probe is fitted to random labels but judged by the true ones."""
    true = _accuracy_of_probe(vectors, labels, new_vectors, new_labels)
    return true - _accuracy_of_probe(vectors, random_labels[words], new_vectors, new_labels)


def selectivity__wrong_true_probe_in_control(vectors, words, labels, new_vectors, new_words, new_labels, random_labels):
    """In the control task a second probe is fitted, to the random labels; you judge the first one by random labels."""
    true = _accuracy_of_probe(vectors, labels, new_vectors, new_labels)
    return true - _accuracy_of_probe(vectors, labels, new_vectors, random_labels[new_words])


def selectivity__wrong_label_of_each_example(vectors, words, labels, new_vectors, new_words, new_labels, random_labels):
    """random_labels has one entry for each word of the vocabulary, not for each example; look it up by the word."""
    size = len(random_labels)
    old = random_labels[torch.arange(len(words)) % size]
    new = random_labels[torch.arange(len(new_words)) % size]
    true = _accuracy_of_probe(vectors, labels, new_vectors, new_labels)
    return true - _accuracy_of_probe(vectors, old, new_vectors, new)


def selectivity__wrong_absolute(vectors, words, labels, new_vectors, new_words, new_labels, random_labels):
    """The selectivity may be below 0; the absolute value hides that."""
    true = _accuracy_of_probe(vectors, labels, new_vectors, new_labels)
    control = _accuracy_of_probe(vectors, random_labels[words], new_vectors, random_labels[new_words])
    return (true - control).abs()


def selectivity__wrong_judged_by_old_examples(
    vectors, words, labels, new_vectors, new_words, new_labels, random_labels
):
    """The control task is judged by the examples that the probe was fitted to; it should be the new ones."""
    true = _accuracy_of_probe(vectors, labels, new_vectors, new_labels)
    return true - _accuracy_of_probe(vectors, random_labels[words], vectors, random_labels[words])


def selectivity__right_both_at_once(vectors, words, labels, new_vectors, new_words, new_labels, random_labels):
    """The pseudo-inverse is computed once, and both probes are one matrix with the columns side by side."""
    inverse = torch.linalg.pinv(vectors.double())
    control = random_labels.index_select(0, words)
    true_columns, control_columns = F.one_hot(labels).double(), F.one_hot(control).double()
    scores = new_vectors.double() @ inverse @ torch.cat([true_columns, control_columns], dim=1)
    first, second = scores.tensor_split([true_columns.shape[1]], dim=1)
    hits = (first.argmax(1) == new_labels).float() - (second.argmax(1) == random_labels[new_words]).float()
    return hits.mean()


def selectivity__right_normal_equations(vectors, words, labels, new_vectors, new_words, new_labels, random_labels):
    """Normal equations in double precision, and a loop over the two tasks."""
    x, new = vectors.double(), new_vectors.double()
    answer = 0.0
    for sign, known, asked in (
        (1, labels, new_labels),
        (-1, torch.take(random_labels, words), torch.take(random_labels, new_words)),
    ):
        targets = torch.stack([(known == c).double() for c in range(int(known.max()) + 1)], dim=1)
        probe = torch.linalg.solve(x.T @ x, x.T @ targets)
        answer += sign * (torch.topk(new @ probe, 1).indices[:, 0] == asked).double().mean()
    return answer.float()
