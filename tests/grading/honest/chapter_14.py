import torch

from tests.grading.honest.registry import honest

# ---------------------------------------------------------------- 14.1 induction score


@honest("previous_token_score")
def _(weights):
    batch, heads, time, _ = weights.shape
    score = torch.zeros(heads)
    for head in range(heads):
        for example in range(batch):
            for place in range(1, time):
                score[head] += weights[example, head, place, place - 1]
    return score / (batch * (time - 1))


@honest("previous_token_score")
def _(weights):
    later = torch.arange(1, weights.shape[-1])
    return weights[:, :, later, later - 1].mean(-1).mean(0)


@honest("previous_token_score")
def _(weights):
    batch, heads, time, _ = weights.shape
    shifted = torch.diag(torch.ones(time - 1), -1)
    return torch.einsum("bhij,ij->h", weights, shifted) / batch / (time - 1)


@honest("previous_token_score")
def _(weights):
    lower = weights[:, :, 1:, :-1]
    return torch.stack([lower[:, head].diagonal(dim1=1, dim2=2).mean() for head in range(lower.shape[1])])


@honest("induction_score")
def _(weights, periods):
    """Indices of all places that count, at once."""
    places = torch.arange(weights.shape[2])
    example, place = (places >= periods[:, None]).nonzero(as_tuple=True)
    return weights[example, :, place, place - periods[example] + 1].mean(0)


@honest("induction_score")
def _(weights, periods):
    """A mask over pairs of places."""
    places = torch.arange(weights.shape[-1])
    offset = places[:, None] - places  # (query, key)
    asked = (offset == periods[:, None, None] - 1) & (places[:, None] >= periods[:, None, None])
    return (weights * asked[:, None]).sum((0, 2, 3)) / asked.sum()


@honest("induction_score")
def _(weights, periods):
    """A diagonal of each example, without its first entry, whose place has seen nothing twice."""
    found = [
        example.diagonal(1 - int(period), dim1=1, dim2=2)[:, 1:]
        for example, period in zip(weights, periods, strict=True)
    ]
    return torch.cat(found, dim=1).mean(1)


@honest("induction_score")
def _(weights, periods):
    """Gathered, and weighed by what counts."""
    batch, heads, time, _ = weights.shape
    places = torch.arange(time).expand(batch, time)
    targets = (places - periods.unsqueeze(1) + 1).clamp(min=0)
    picked = torch.gather(weights, 3, targets[:, None, :, None].repeat(1, heads, 1, 1)).squeeze(3)
    counts = (places >= periods.unsqueeze(1)).float()
    return torch.einsum("bht,bt->h", picked, counts) / counts.sum()


# ---------------------------------------------------------------- 14.2 ablation


@honest("zero_ablation")
def _(found, output_weight, output_bias, silent):
    """A sum of heads."""
    batch, heads, time, d_head = found.shape
    output = output_bias.expand(batch, time, -1).clone()
    for head in range(heads):
        if not silent[head]:
            output += found[:, head] @ output_weight[:, head * d_head : (head + 1) * d_head].T
    return output


@honest("zero_ablation")
def _(found, output_weight, output_bias, silent):
    """Zeros in the columns of the weight."""
    columns = silent.repeat_interleave(found.shape[3])
    merged = found.permute(0, 2, 1, 3).reshape(found.shape[0], found.shape[2], -1)
    return torch.nn.functional.linear(merged, output_weight.masked_fill(columns, 0), output_bias)


@honest("zero_ablation")
def _(found, output_weight, output_bias, silent):
    weight = output_weight.view(len(output_bias), found.shape[1], found.shape[3])
    speaks = (~silent).float()
    return torch.einsum("bhti,ohi,h->bto", found, weight, speaks) + output_bias


@honest("zero_ablation")
def _(found, output_weight, output_bias, silent):
    copy = found.clone()
    copy[:, silent] = 0
    merged = torch.cat(list(copy.unbind(1)), dim=-1)
    return merged @ output_weight.mT + output_bias


@honest("mean_ablation")
def _(found, output_weight, output_bias, silent):
    """The mean of each silent head's share of the output."""
    batch, heads, time, d_head = found.shape
    output = torch.zeros(batch, time, len(output_bias)) + output_bias
    for head in range(heads):
        given = found[:, head] @ output_weight[:, head * d_head : (head + 1) * d_head].T
        output = output + (given.mean((0, 1)) if silent[head] else given)
    return output


@honest("mean_ablation")
def _(found, output_weight, output_bias, silent):
    copy = found.clone()
    for head in silent.nonzero()[:, 0].tolist():
        copy[:, head] = found[:, head].flatten(0, 1).mean(0)
    merged = copy.transpose(1, 2).reshape(found.shape[0], found.shape[2], -1)
    return torch.nn.functional.linear(merged, output_weight, output_bias)


@honest("mean_ablation")
def _(found, output_weight, output_bias, silent):
    """Deviations from the mean, kept where a head speaks."""
    means = torch.einsum("bhti->hi", found) / (found.shape[0] * found.shape[2])
    means = means[None, :, None]
    said = means + (found - means) * (~silent)[None, :, None, None]
    weight = output_weight.unflatten(1, (found.shape[1], found.shape[3]))
    return torch.einsum("bhti,ohi->bto", said, weight) + output_bias


# ---------------------------------------------------------------- 14.3 the residual stream sums to the logits


@honest("direct_contributions")
def _(parts, gain, bias, epsilon, score_weight, score_bias):
    """Part by part, with the square written out."""
    stream = sum(parts)
    variance = ((stream - stream.mean(-1, keepdim=True)) ** 2).mean(-1, keepdim=True)
    rows = []
    for part in parts:
        normed = (part - part.mean(-1, keepdim=True)) / torch.sqrt(variance + epsilon)
        rows.append(torch.nn.functional.linear(normed * gain, score_weight))
    return torch.stack(rows), torch.nn.functional.linear(bias, score_weight, score_bias)


@honest("direct_contributions")
def _(parts, gain, bias, epsilon, score_weight, score_bias):
    """One matrix for what is linear: the centring, the gain and the output layer."""
    d_model = len(gain)
    centring = torch.eye(d_model) - 1 / d_model
    read = (score_weight * gain) @ centring  # (vocabulary, d_model)
    root = torch.sqrt(parts.sum(0).var(-1, unbiased=False) + epsilon)
    return torch.einsum("pbtd,vd->pbtv", parts, read) / root[..., None], (score_weight * bias).sum(1) + score_bias


@honest("direct_contributions")
def _(parts, gain, bias, epsilon, score_weight, score_bias):
    """The derivative of the scores along each part, with the root held fixed by hand."""
    stream = parts.sum(0)
    root = (stream.double().var(-1, correction=0, keepdim=True) + epsilon).sqrt()

    def scores(vectors):
        centred = vectors.double() - vectors.double().mean(-1, keepdim=True)
        return (centred / root * gain + bias) @ score_weight.double().T + score_bias

    nothing = scores(torch.zeros_like(stream))
    contributions = torch.stack([scores(part) - nothing for part in parts])
    return contributions.float(), nothing[0, 0].float()


# ---------------------------------------------------------------- 14.4 tree embedding


def way_up(parents, node):
    way = [node]
    while parents[way[-1]] >= 0:
        way.append(int(parents[way[-1]]))
    return way


@honest("tree_distances")
def _(parents):
    """The edges that only one of two ways to the root has."""
    edges = [set(way_up(parents, node)[:-1]) for node in range(len(parents))]
    return torch.tensor([[len(one ^ other) for other in edges] for one in edges])


@honest("tree_distances")
def _(parents):
    """Shortest ways between all pairs."""
    nodes = len(parents)
    distances = torch.full((nodes, nodes), nodes).fill_diagonal_(0)
    for node in range(1, nodes):
        distances[node, parents[node]] = distances[parents[node], node] = 1
    for middle in range(nodes):
        distances = torch.minimum(distances, distances[:, middle, None] + distances[middle])
    return distances


@honest("tree_distances")
def _(parents):
    """Depths, and the depth of the lowest node above both."""
    nodes = len(parents)
    distances = torch.zeros(nodes, nodes, dtype=torch.long)
    for i in range(nodes):
        for j in range(nodes):
            up, other = way_up(parents, i), way_up(parents, j)
            meet = next(node for node in up if node in other)
            distances[i, j] = up.index(meet) + other.index(meet)
    return distances


@honest("tree_distances")
def _(parents):
    """Breadth first from every node."""
    nodes = len(parents)
    near = torch.zeros(nodes, nodes, dtype=torch.bool)
    children = torch.arange(1, nodes)
    near[children, parents[1:]] = True
    near = near | near.T
    reached, distances = torch.eye(nodes, dtype=torch.bool), torch.zeros(nodes, nodes, dtype=torch.int64)
    for step in range(1, nodes):
        new = ((reached.float() @ near.float()) > 0) & ~reached
        distances[new] = step
        reached = reached | new
    return distances


@honest("tree_embedding")
def _(parents):
    """An axis for each edge on the way up."""
    vectors = torch.zeros(len(parents), len(parents) - 1)
    for node in range(len(parents)):
        for edge in way_up(parents, node)[:-1]:
            vectors[node, edge - 1] = 1
    return vectors


@honest("tree_embedding")
def _(parents):
    """Moved, turned, and with some steps the other way."""
    nodes = len(parents)
    generator = torch.Generator().manual_seed(nodes)
    turn = torch.linalg.qr(torch.randn(nodes - 1, nodes - 1, generator=generator)).Q
    rows = [torch.ones(nodes - 1)]
    for node in range(1, nodes):
        rows.append(rows[parents[node]] + (-1) ** node * turn[node - 1])
    return torch.stack(rows)


@honest("tree_embedding")
def _(parents):
    """Classical scaling of the distances, as squares."""
    edges = [set(way_up(parents, node)[:-1]) for node in range(len(parents))]
    squares = torch.tensor([[len(one ^ other) for other in edges] for one in edges]).double()
    centring = torch.eye(len(parents)).double() - 1 / len(parents)
    values, vectors = torch.linalg.eigh(-centring @ squares @ centring / 2)
    return (vectors * values.clamp(min=0).sqrt())[:, 1:].float()


@honest("tree_embedding")
def _(parents):
    """All sums of steps at once: the inverse of 1 less the matrix of parents."""
    nodes = len(parents)
    hangs_below = torch.zeros(nodes, nodes)
    hangs_below[torch.arange(1, nodes), parents[1:]] = 1
    return torch.linalg.inv(torch.eye(nodes) - hangs_below)[:, 1:]


# ---------------------------------------------------------------- 14.5 a probe with random labels


@honest("probe_accuracy")
def _(vectors, labels, new_vectors, new_labels):
    targets = torch.eye(int(labels.max()) + 1)[labels]
    fitted = torch.linalg.lstsq(vectors, targets).solution
    return ((new_vectors @ fitted).max(1).indices == new_labels).float().mean()


@honest("probe_accuracy")
def _(vectors, labels, new_vectors, new_labels):
    """The equations of the textbook, a class at a time."""
    columns = []
    for each in range(int(labels.max()) + 1):
        wanted = (labels == each).double()
        columns.append(torch.linalg.solve(vectors.T.double() @ vectors.double(), vectors.T.double() @ wanted))
    right = 0
    for vector, label in zip(new_vectors, new_labels, strict=True):
        scores = [float(vector.double() @ column) for column in columns]
        right += scores.index(max(scores)) == int(label)
    return torch.tensor(right / len(new_labels))


@honest("probe_accuracy")
def _(vectors, labels, new_vectors, new_labels):
    """Targets of 1 and -1 would need a bias; targets of 3 and 0 are as good as 1 and 0."""
    targets = torch.zeros(len(labels), len(labels.unique())).scatter(1, labels[:, None], 3.0)
    q, r = torch.linalg.qr(vectors)
    fitted = torch.linalg.solve_triangular(r, q.T @ targets, upper=True)
    said = torch.einsum("sd,dc->sc", new_vectors, fitted).softmax(1).argmax(1)
    return said.eq(new_labels).sum() / len(new_labels)


def accuracy(vectors, labels, new_vectors, new_labels):
    targets = torch.nn.functional.one_hot(labels).to(vectors.dtype)
    said = (new_vectors @ torch.linalg.lstsq(vectors, targets).solution).argmax(-1)
    return (said == new_labels).to(torch.float32).mean()


@honest("selectivity")
def _(vectors, words, labels, new_vectors, new_words, new_labels, random_labels):
    by_lot = accuracy(vectors, random_labels[words], new_vectors, random_labels[new_words])
    return accuracy(vectors, labels, new_vectors, new_labels) - by_lot


@honest("selectivity")
def _(vectors, words, labels, new_vectors, new_words, new_labels, random_labels):
    """Labels by lot looked up one by one."""
    control = torch.tensor([random_labels[word].item() for word in words.tolist()])
    new_control = torch.tensor([random_labels[word].item() for word in new_words.tolist()])
    pairs = ((labels, new_labels), (control, new_control))
    true, by_lot = (accuracy(vectors.double(), some, new_vectors.double(), new) for some, new in pairs)
    return true - by_lot


@honest("selectivity")
def _(vectors, words, labels, new_vectors, new_words, new_labels, random_labels):
    """One fit with the columns of both probes side by side."""
    classes = int(labels.max()) + 1
    eye = torch.eye(classes)
    targets = torch.cat([eye[labels], eye[random_labels[words]]], 1)
    scores = new_vectors @ (torch.linalg.pinv(vectors) @ targets)
    right = (scores[:, :classes].argmax(1) == new_labels).sum()
    right_by_lot = (scores[:, classes:].argmax(1) == random_labels.gather(0, new_words)).sum()
    return (right - right_by_lot) / len(new_labels)
