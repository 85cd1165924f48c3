# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731

import math

import torch

# ---------------------------------------------------------------- 14.1 previous_token_score


def previous_token_score__wrong_next_token(weights):
    """The diagonal with offset 1 is the weight on the next position, you need offset -1."""
    return torch.diagonal(weights, offset=1, dim1=-2, dim2=-1).mean(dim=(0, 2))


def previous_token_score__wrong_divided_by_all_positions(weights):
    """The first position has none before it and doesn't count, so divide by time - 1 and not by time."""
    batch, heads, time, _ = weights.shape
    total = torch.zeros(heads)
    for i in range(1, time):
        total += weights[:, :, i, i - 1].sum(dim=0)
    return total / (batch * time)


def previous_token_score__wrong_score_for_each_example(weights):
    """The mean goes over all examples as well; you return one score for each example and head."""
    return weights.diagonal(offset=-1, dim1=2, dim2=3).mean(-1)


def previous_token_score__wrong_heads_and_examples_swapped(weights):
    """The heads are axis 1, your einsum takes axis 0 for them and averages over the heads."""
    below = torch.diag(torch.ones(weights.shape[-1] - 1), -1)
    return torch.einsum("hbij,ij->h", weights, below) / (weights.shape[1] * (weights.shape[-1] - 1))


def previous_token_score__right_by_einsum(weights):
    time = weights.shape[-1]
    below = torch.ones(time - 1, dtype=torch.float64).diag(-1)
    sums = torch.einsum("bhij,ij->h", weights.double(), below)
    return (sums / (len(weights) * (time - 1))).to(weights.dtype)


# ---------------------------------------------------------------- 14.1 induction_score


def induction_score__wrong_looks_at_the_copy(weights, periods):
    """An induction head looks at the token after the earlier copy, i - p + 1; you look at the copy itself."""
    batch, heads, time, _ = weights.shape
    total, count = torch.zeros(heads), 0
    for b in range(batch):
        p = int(periods[b])
        for i in range(p, time):
            total += weights[b, :, i, i - p]
            count += 1
    return total / count


def induction_score__wrong_mean_of_means(weights, periods):
    """Every position counts the same, but you average each example first, so the long periods weigh too much."""
    time = weights.shape[-1]
    scores = []
    for w, p in zip(weights, periods.tolist()):
        if p < time:
            scores.append(torch.stack([w[:, i, i - p + 1] for i in range(p, time)]).mean(dim=0))
    return torch.stack(scores).mean(dim=0)


def induction_score__wrong_first_period_for_all(weights, periods):
    """Each example has its own period, you use that of the first one for all."""
    p = int(periods.min()) if int(periods[0]) >= weights.shape[-1] else int(periods[0])
    stripe = torch.diagonal(weights, offset=1 - p, dim1=-2, dim2=-1)[..., 1:]
    return stripe.mean(dim=(0, 2))


def induction_score__wrong_one_position_too_early(weights, periods):
    """Position p - 1 is on the stripe, too, but the repetition begins at p; take the first number of the diagonal away."""
    parts = [torch.diagonal(w, offset=1 - p, dim1=-2, dim2=-1) for w, p in zip(weights, periods.tolist())]
    return torch.cat(parts, dim=-1).mean(dim=-1)


def induction_score__wrong_divided_by_all_positions(weights, periods):
    """The mean goes over the positions from p on; you divide by all positions of all examples."""
    b, h, n, _ = weights.shape
    i = torch.arange(n)[:, None]
    j = torch.arange(n)[None, :]
    p = periods[:, None, None]
    on = ((j == i - p + 1) & (i >= p)).float()
    return torch.einsum("bhij,bij->h", weights, on) / (b * n)


def induction_score__right_all_weights_in_a_list(weights, periods):
    time = weights.shape[-1]
    places = [(b, i, i - p + 1) for b, p in enumerate(periods.tolist()) for i in range(p, time)]
    b, i, j = torch.tensor(places).T
    return weights.double()[b, :, i, j].mean(dim=0).to(weights.dtype)


# ---------------------------------------------------------------- 14.2 zero_ablation


def _merge(found):
    return found.transpose(1, 2).flatten(start_dim=2)


def zero_ablation__wrong_found_overwritten(found, output_weight, output_bias, ablated):
    """You write the zeros into found itself; work on a copy."""
    found[:, ablated] = 0
    return torch.nn.functional.linear(_merge(found), output_weight, output_bias)


def zero_ablation__wrong_true_heads_kept(found, output_weight, output_bias, ablated):
    """ablated is True for the heads that go, you keep those and zero the others."""
    kept = found * ablated[None, :, None, None]
    return _merge(kept) @ output_weight.T + output_bias


def zero_ablation__wrong_merged_without_transpose(found, output_weight, output_bias, ablated):
    """The heads must be brought beside d_head before they are merged; your reshape mixes heads with positions."""
    batch, heads, time, d_head = found.shape
    x = found.masked_fill(ablated.view(1, -1, 1, 1), 0.0)
    return x.reshape(batch, time, heads * d_head) @ output_weight.T + output_bias


def zero_ablation__wrong_heads_interleaved(found, output_weight, output_bias, ablated):
    """In the merged vector all numbers of the first head come first; in yours the first number of every head does."""
    x = torch.where(ablated[:, None, None], 0.0, found)
    x = x.permute(0, 2, 3, 1).flatten(2)
    return x @ output_weight.T + output_bias


def zero_ablation__wrong_rest_scaled_up(found, output_weight, output_bias, ablated):
    """An ablation isn't dropout: the heads that remain are not scaled up."""
    keep = (~ablated).float()
    scale = len(keep) / keep.sum().clamp(min=1)
    x = found * (keep * scale)[:, None, None]
    return _merge(x) @ output_weight.T + output_bias


def zero_ablation__wrong_bias_ablated(found, output_weight, output_bias, ablated):
    """The bias belongs to no head and stays; you share it out among the heads."""
    heads, d = found.shape[1], found.shape[-1]
    out = 0
    for h in range(heads):
        if not ablated[h]:
            out = out + found[:, h] @ output_weight[:, h * d : (h + 1) * d].T + output_bias / heads
    if isinstance(out, int):
        out = torch.zeros(found.shape[0], found.shape[2], len(output_bias))
    return out


def zero_ablation__right_weight_columns_zeroed(found, output_weight, output_bias, ablated):
    blocks = output_weight.reshape(len(output_weight), found.shape[1], found.shape[-1])
    blocks = blocks * (~ablated).to(blocks.dtype)[:, None]
    return torch.einsum("bhtd,ohd->bto", found, blocks) + output_bias


# ---------------------------------------------------------------- 14.2 mean_ablation


def mean_ablation__wrong_mean_of_each_example(found, output_weight, output_bias, ablated):
    """The mean goes over all examples of the batch, too; you take one for every example."""
    mean = found.mean(dim=2, keepdim=True)
    x = torch.where(ablated[:, None, None], mean, found)
    return _merge(x) @ output_weight.T + output_bias


def mean_ablation__wrong_mean_of_each_position(found, output_weight, output_bias, ablated):
    """The mean goes over all positions, too; with one for every position the position can still be seen."""
    mean = found.mean(dim=0, keepdim=True).expand_as(found)
    x = found.clone()
    x[:, ablated] = mean[:, ablated]
    return torch.nn.functional.linear(_merge(x), output_weight, output_bias)


def mean_ablation__wrong_one_number_for_head(found, output_weight, output_bias, ablated):
    """The mean is a vector of d_head numbers for each head, you average over those as well."""
    mean = found.mean(dim=(0, 2, 3), keepdim=True)
    x = torch.where(ablated.view(1, -1, 1, 1), mean, found)
    return _merge(x) @ output_weight.T + output_bias


def mean_ablation__wrong_mean_of_other_heads(found, output_weight, output_bias, ablated):
    """A head is replaced by its own mean; you take the mean over all heads."""
    x = found.clone()
    mean = found.mean(dim=(0, 1, 2))
    for h in range(found.shape[1]):
        if ablated[h]:
            x[:, h] = mean
    return _merge(x) @ output_weight.T + output_bias


def mean_ablation__wrong_found_overwritten(found, output_weight, output_bias, ablated):
    """You change found, which belongs to the caller."""
    for h in torch.nonzero(ablated).flatten().tolist():
        found[:, h] = found[:, h].mean(dim=(0, 1))
    return _merge(found) @ output_weight.T + output_bias


def mean_ablation__right_head_by_head(found, output_weight, output_bias, ablated):
    batch, heads, time, d_head = found.shape
    output = output_bias.expand(batch, time, -1)
    for head, columns in enumerate(output_weight.split(d_head, dim=1)):
        projected = found[:, head] @ columns.T
        if ablated[head]:
            projected = projected.flatten(0, 1).mean(dim=0).expand_as(projected)
        output = output + projected
    return output


# ---------------------------------------------------------------- 14.3 direct_contributions


def direct_contributions__wrong_root_of_each_part(parts, gain, bias, epsilon, logit_weight, logit_bias):
    """The root must be that of the whole stream; you divide every part by its own."""
    centred = parts - parts.mean(dim=-1, keepdim=True)
    rho = (centred.pow(2).mean(dim=-1, keepdim=True) + epsilon).sqrt()
    return (gain * centred / rho) @ logit_weight.T, logit_weight @ bias + logit_bias


def direct_contributions__wrong_parts_not_centred(parts, gain, bias, epsilon, logit_weight, logit_bias):
    """The mean of its entries must be taken from each part as well, or all together do not sum to the logits."""
    rho = torch.sqrt(parts.sum(0).var(dim=-1, unbiased=False, keepdim=True) + epsilon)
    return torch.einsum("pbtd,d,vd->pbtv", parts / rho, gain, logit_weight), logit_weight @ bias + logit_bias


def direct_contributions__wrong_mean_of_stream_shared_out(parts, gain, bias, epsilon, logit_weight, logit_bias):
    """From each part its own mean is subtracted; an equal share of the mean of the stream gives the right sum, but wrong contributions."""
    stream = parts.sum(dim=0)
    mean = stream.mean(-1, keepdim=True)
    rho = ((stream - mean).square().mean(-1, keepdim=True) + epsilon).sqrt()
    x = gain * (parts - mean / len(parts)) / rho
    return x @ logit_weight.T, logit_weight @ bias + logit_bias


def direct_contributions__wrong_constant_without_norm_bias(parts, gain, bias, epsilon, logit_weight, logit_bias):
    """The bias of the layer norm goes through the weight into the constant, too; you return only the bias of the output layer."""
    stream = parts.sum(dim=0)
    rho = (stream.var(dim=-1, correction=0, keepdim=True) + epsilon).sqrt()
    x = (parts - parts.mean(-1, keepdim=True)) / rho * gain
    return x @ logit_weight.T, logit_bias.clone()


def direct_contributions__wrong_bias_in_every_part(parts, gain, bias, epsilon, logit_weight, logit_bias):
    """The bias of the layer norm belongs to no part; you add it to each, so the sum has it several times."""
    stream = parts.sum(dim=0)
    rho = (stream.var(dim=-1, correction=0, keepdim=True) + epsilon).sqrt()
    x = (parts - parts.mean(-1, keepdim=True)) / rho * gain + bias
    return x @ logit_weight.T, logit_weight @ bias + logit_bias


def direct_contributions__wrong_unbiased_variance(parts, gain, bias, epsilon, logit_weight, logit_bias):
    """The layer norm divides by d and torch's var by d - 1, unless you tell it otherwise."""
    stream = parts.sum(dim=0)
    rho = torch.sqrt(stream.var(dim=-1, keepdim=True) + epsilon)
    x = gain * ((parts - parts.mean(-1, keepdim=True)) / rho)
    return torch.einsum("pbtd,vd->pbtv", x, logit_weight), logit_weight @ bias + logit_bias


def direct_contributions__right_by_jacobian(parts, gain, bias, epsilon, logit_weight, logit_bias):
    stream = parts.sum(dim=0)
    rho = torch.sqrt(stream.var(dim=-1, correction=0, keepdim=True) + epsilon)

    def logits(vectors):
        scaled = (vectors - vectors.mean(dim=-1, keepdim=True)) / rho
        return torch.nn.functional.linear(scaled * gain + bias, logit_weight, logit_bias)

    added = [torch.func.jvp(logits, (torch.zeros_like(part),), (part,))[1] for part in parts]
    return torch.stack(added), torch.mv(logit_weight, bias) + logit_bias


# ---------------------------------------------------------------- 14.4 tree_distances


def tree_distances__wrong_difference_of_depths(parents):
    """The difference of the depths is the distance only where one node is above the other; two sisters are not 0 apart."""
    n = len(parents)
    depth = torch.zeros(n, dtype=torch.int64)
    for i in range(1, n):
        depth[i] = depth[parents[i]] + 1
    return (depth[:, None] - depth[None, :]).abs()


def tree_distances__wrong_always_through_the_root(parents):
    """The way need not lead through the root: it turns at the last common ancestor."""
    depth = [0]
    for p in parents.tolist()[1:]:
        depth.append(depth[p] + 1)
    d = torch.tensor(depth)
    return (d[:, None] + d[None, :]) * (1 - torch.eye(len(d), dtype=torch.int64))


def tree_distances__wrong_root_has_last_node_for_parent(parents):
    """The -1 of the root is no node: as an index it means the last one, so you put an edge between root and last node."""
    n = len(parents)
    d = torch.full((n, n), 10**6)
    d[torch.arange(n), parents] = 1
    d[parents, torch.arange(n)] = 1
    d.fill_diagonal_(0)
    for k in range(n):
        d = torch.minimum(d, d[:, k : k + 1] + d[k : k + 1, :])
    return d


def tree_distances__wrong_only_up_and_down(parents):
    """You fill in only nodes above one another; two nodes on different branches have a distance as well."""
    n = len(parents)
    d = torch.zeros(n, n, dtype=torch.int64)
    for i in range(n):
        node, steps = i, 0
        while parents[node] >= 0:
            node, steps = int(parents[node]), steps + 1
            d[i, node] = d[node, i] = steps
    return d


def tree_distances__wrong_nodes_counted(parents):
    """Edges are asked for, you count the nodes on the way."""
    n = len(parents)
    paths = []
    for i in range(n):
        path = [i]
        while path[-1] > 0:
            path.append(int(parents[path[-1]]))
        paths.append(set(path))
    return torch.tensor([[len(a ^ b) + 1 for b in paths] for a in paths])


def tree_distances__right_climbing_from_the_later_node(parents):
    parent = parents.tolist()

    def edges(i, j):
        steps = 0
        while i != j:
            i, j = min(i, j), parent[max(i, j)]
            steps += 1
        return steps

    nodes = range(len(parent))
    return torch.tensor([[edges(i, j) for j in nodes] for i in nodes], dtype=torch.int64)


# ---------------------------------------------------------------- 14.4 tree_embedding


def tree_embedding__wrong_every_node_its_own_axis(parents):
    """A child must keep the numbers of its parent and add one; with one axis for each node all have the same distance."""
    n = len(parents)
    x = torch.zeros(n, n - 1)
    for i in range(1, n):
        x[i, i - 1] = 1.0
    return x


def tree_embedding__wrong_parent_row_is_no_copy(parents):
    """A row of a tensor is a view: by adding 1 to it you change the parent, too, so clone it."""
    n = len(parents)
    x = torch.zeros(n, n - 1)
    for i in range(1, n):
        row = x[parents[i]]
        row[i - 1] += 1
        x[i] = row
    return x


def tree_embedding__wrong_depths_on_a_line(parents):
    """On one line the squared distance grows with the square of the edges, and sisters fall together; each node needs a direction of its own."""
    n = len(parents)
    x = torch.zeros(n, n - 1)
    for i in range(1, n):
        x[i] = x[parents[i]]
        x[i, 0] += 1
    return x


def tree_embedding__wrong_one_axis_for_each_depth(parents):
    """Two sisters step along the same axis and fall together; the axis must belong to the node and not to its depth."""
    n = len(parents)
    x = torch.zeros(n, n - 1)
    depth = [0] * n
    for i in range(1, n):
        p = int(parents[i])
        depth[i] = depth[p] + 1
        x[i] = x[p].clone()
        x[i, depth[i] - 1] = 1.0
    return x


def tree_embedding__wrong_step_of_two(parents):
    """The square of the step must be 1, with a step of root two every squared distance is twice the edges."""
    x = torch.zeros(len(parents), len(parents) - 1)
    for i, p in enumerate(parents.tolist()):
        if p >= 0:
            x[i] = x[p]
            x[i, i - 1] = math.sqrt(2)
    return x


def tree_embedding__right_by_eigenvectors(parents):
    n = len(parents)
    distances = torch.zeros(n, n, dtype=torch.float64)
    for i in range(1, n):
        distances[i, :i] = distances[int(parents[i]), :i] + 1
        distances[:i, i] = distances[i, :i]
    centre = torch.eye(n, dtype=torch.float64) - 1 / n
    values, vectors = torch.linalg.eigh(-centre @ distances @ centre / 2)
    return (vectors * values.clamp(min=0).sqrt())[:, 1:].float()


def tree_embedding__right_moved_and_turned(parents):
    n = len(parents)
    rows = [torch.linspace(-1, 1, n - 1)]
    for node in range(1, n):
        step = torch.zeros(n - 1)
        step[-node] = -1.0
        rows.append(rows[int(parents[node])] + step)
    return torch.stack(rows)


# ---------------------------------------------------------------- 14.5 probe_accuracy


def probe_accuracy__wrong_judged_on_training(vectors, labels, new_vectors, new_labels):
    """The probe is judged by the new examples, you judge it by those that it was fitted to."""
    targets = torch.nn.functional.one_hot(labels).float()
    w = torch.linalg.lstsq(vectors, targets).solution
    return ((vectors @ w).argmax(dim=1) == labels).float().mean()


def probe_accuracy__wrong_labels_as_numbers(vectors, labels, new_vectors, new_labels):
    """You fit the number of the class and round; classes have no order, so give each its own column."""
    w = torch.linalg.lstsq(vectors, labels.float()[:, None]).solution
    predicted = (new_vectors @ w)[:, 0].round().long()
    return (predicted == new_labels).float().mean()


def probe_accuracy__wrong_with_bias(vectors, labels, new_vectors, new_labels):
    """The probe has no bias, and your column of ones is one."""
    one = lambda v: torch.cat([v, torch.ones(len(v), 1)], dim=1)
    targets = torch.eye(int(labels.max()) + 1)[labels]
    w = torch.linalg.pinv(one(vectors)) @ targets
    return ((one(new_vectors) @ w).argmax(-1) == new_labels).float().mean()


def probe_accuracy__wrong_not_fitted_just_correlated(vectors, labels, new_vectors, new_labels):
    """The least squares need the inverse of X^T X before X^T Y, without it the map is not the best one."""
    targets = torch.nn.functional.one_hot(labels).to(vectors.dtype)
    w = vectors.T @ targets
    return ((new_vectors @ w).argmax(dim=1) == new_labels).float().mean()


def probe_accuracy__wrong_number_of_hits(vectors, labels, new_vectors, new_labels):
    """The accuracy is a fraction, you return how many are right."""
    targets = torch.eye(int(labels.max()) + 1)[labels]
    w = torch.linalg.lstsq(vectors, targets).solution
    return ((new_vectors @ w).argmax(1) == new_labels).sum().float()


def probe_accuracy__wrong_fitted_to_new_examples(vectors, labels, new_vectors, new_labels):
    """The labels of the new examples may not be seen before; you fit the probe to both sets together."""
    x, y = torch.cat([vectors, new_vectors]), torch.cat([labels, new_labels])
    targets = torch.nn.functional.one_hot(y).float()
    w = torch.linalg.pinv(x) @ targets
    return ((new_vectors @ w).argmax(dim=1) == new_labels).float().mean()


def probe_accuracy__right_by_qr(vectors, labels, new_vectors, new_labels):
    classes = int(labels.max()) + 1
    targets = torch.stack([(labels == c).double() for c in range(classes)], dim=1)
    q, r = torch.linalg.qr(vectors.double())
    probe = torch.linalg.solve_triangular(r, q.T @ targets, upper=True)
    hits = [int((probe.T @ v).argmax()) == int(c) for v, c in zip(new_vectors.double(), new_labels)]
    return torch.tensor(sum(hits) / len(hits))


# ---------------------------------------------------------------- 14.5 selectivity


def _probe(vectors, labels, new_vectors, new_labels):
    targets = torch.eye(int(labels.max()) + 1)[labels]
    w = torch.linalg.lstsq(vectors, targets).solution
    return ((new_vectors @ w).argmax(dim=1) == new_labels).float().mean()


def selectivity__wrong_other_way_round(vectors, words, labels, new_vectors, new_words, new_labels, random_labels):
    """It is the accuracy for the true labels less that of the control task; you subtract the other way round."""
    control = _probe(vectors, random_labels[words], new_vectors, random_labels[new_words])
    return control - _probe(vectors, labels, new_vectors, new_labels)


def selectivity__wrong_control_judged_by_true_labels(
    vectors, words, labels, new_vectors, new_words, new_labels, random_labels
):
    """The second probe is judged by the random labels of the new words, you judge it by the true ones."""
    real = _probe(vectors, labels, new_vectors, new_labels)
    control = _probe(vectors, random_labels[words], new_vectors, new_labels)
    return real - control


def selectivity__wrong_control_fitted_to_true_labels(
    vectors, words, labels, new_vectors, new_words, new_labels, random_labels
):
    """In the control task a second probe is fitted to the random labels, you only judge the first probe by them."""
    a = _probe(vectors, labels, new_vectors, new_labels)
    b = _probe(vectors, labels, new_vectors, random_labels[new_words])
    return a - b


def selectivity__wrong_random_label_of_class(vectors, words, labels, new_vectors, new_words, new_labels, random_labels):
    """The random label belongs to the word, you look it up by the true label."""
    a = _probe(vectors, labels, new_vectors, new_labels)
    b = _probe(vectors, random_labels[labels], new_vectors, random_labels[new_labels])
    return a - b


def selectivity__wrong_never_negative(vectors, words, labels, new_vectors, new_words, new_labels, random_labels):
    """The selectivity may be below 0, abs takes the sign away."""
    a = _probe(vectors, labels, new_vectors, new_labels)
    b = _probe(vectors, random_labels[words], new_vectors, random_labels[new_words])
    return (a - b).abs()


def selectivity__right_by_normal_equations(vectors, words, labels, new_vectors, new_words, new_labels, random_labels):
    x, z = vectors.double(), new_vectors.double()

    def accuracy(y, new_y):
        classes = torch.arange(int(y.max()) + 1)
        table = (y[:, None] == classes).double()
        probe = torch.linalg.solve(x.T @ x, x.T @ table)
        return torch.eq(torch.topk(z @ probe, 1).indices.flatten(), new_y).float().mean()

    return accuracy(labels, new_labels) - accuracy(random_labels.take(words), random_labels.take(new_words))
