import itertools

import torch

from tests.grading.honest.registry import honest

# ---------------------------------------------------------------- 10.1 masked pooling


@honest("mean_pooling")
def _(vectors, present):
    rows = []
    for row, here in zip(vectors, present, strict=True):
        rows.append(row[here].mean(0) if here.any() else torch.zeros(row.shape[1]))
    return torch.stack(rows)


@honest("mean_pooling")
def _(vectors, present):
    counts = present.sum(dim=1).clamp(min=1).to(vectors.dtype)
    shares = present / counts[:, None]
    return torch.einsum("bt,btd->bd", shares, torch.where(present[..., None], vectors, 0.0))


@honest("mean_pooling")
def _(vectors, present):
    left = torch.where(present.unsqueeze(2), vectors.double(), torch.zeros((), dtype=torch.float64))
    total = left.sum(dim=1)
    number = present.sum(dim=1, keepdim=True)
    number = torch.where(number == 0, torch.ones_like(number), number)
    return (total / number).float()


@honest("mean_pooling")
def _(vectors, present):
    copy = vectors.clone()
    copy[~present] = 0
    return copy.sum(1) / (present.sum(1)[:, None] + 1e-9)


@honest("max_pooling")
def _(vectors, present):
    rows = []
    for row, here in zip(vectors, present, strict=True):
        rows.append(row[here].max(dim=0).values if here.any() else torch.zeros(row.shape[1]))
    return torch.stack(rows)


@honest("max_pooling")
def _(vectors, present):
    left = torch.where(present[:, :, None], vectors, float("-inf"))
    greatest, _ = left.max(dim=1)
    return torch.where(present.any(dim=1)[:, None], greatest, 0.0)


@honest("max_pooling")
def _(vectors, present):
    batch, time, d_model = vectors.shape
    greatest = torch.full((batch, d_model), -torch.inf)
    for place in range(time):
        here = vectors[:, place].masked_fill(~present[:, place, None], -torch.inf)
        greatest = torch.where(here > greatest, here, greatest)
    return torch.nan_to_num(greatest, neginf=0.0)


@honest("max_pooling")
def _(vectors, present):
    copy = vectors.clone()
    copy[~present] = torch.finfo(vectors.dtype).min
    chosen = copy.argmax(1, keepdim=True)
    pooled = copy.gather(1, chosen).squeeze(1)
    pooled = pooled.clone()
    pooled[present.sum(1) == 0] = 0
    return pooled


# ---------------------------------------------------------------- 10.2 padding invariance


@honest("scores_of_each")
def _(classify, words):
    scores = []
    for row in words:
        length = int((row != 0).sum())
        scores.append(classify(row[:length].unsqueeze(0))[0])
    return torch.stack(scores)


@honest("scores_of_each")
def _(classify, words):
    scores = None
    for number, row in enumerate(words.tolist()):
        alone = classify(torch.tensor([[word for word in row if word]]))
        if scores is None:
            scores = torch.zeros(len(words), alone.shape[1])
        scores[number] = alone
    return scores


@honest("scores_of_each")
def _(classify, words):
    """Sentences of one length together, put back in their order."""
    lengths = (words > 0).sum(1)
    order, scores = [], []
    for length in lengths.unique():
        rows = (lengths == length).nonzero()[:, 0]
        order.append(rows)
        scores.append(classify(words[rows, :length]))
    return torch.cat(scores)[torch.cat(order).argsort()]


@honest("ignores_padding")
def _(classify, words):
    for row, scores in zip(words, classify(words), strict=True):
        if not torch.allclose(classify(row[row > 0][None])[0], scores, atol=1e-4):
            return False
    return True


@honest("ignores_padding")
def _(classify, words):
    """Every sentence with none, one and many places of padding, one by one."""
    gap = 0.0
    for row in words:
        alone = row[row > 0]
        scores = [classify(torch.nn.functional.pad(alone, (0, more))[None]) for more in (0, 1, 4, 9)]
        gap = max(gap, max((each - scores[0]).abs().max().item() for each in scores))
    return gap < 1e-3


@honest("ignores_padding")
def _(classify, words):
    """Sentences of its own, of every length."""
    generator = torch.Generator().manual_seed(0)
    moved = []
    for length in range(1, 9):
        alone = torch.randint(1, 90, (3, length), generator=generator)
        padded = torch.cat([alone, torch.zeros(3, 6, dtype=torch.long)], dim=1)
        moved.append((classify(padded) - classify(alone)).abs().max())
    return torch.stack(moved).max() <= 2e-4


@honest("ignores_padding")
def _(classify, words):
    scores = classify(words).double()
    for number in range(len(words)):
        length = words[number].count_nonzero()
        alone = classify(words[number : number + 1, :length]).double()
        if torch.linalg.vector_norm(alone - scores[number]) > 1e-3:
            return torch.tensor(False)
    return torch.tensor(True)


# ---------------------------------------------------------------- 10.3 occlusion against attention


@honest("occlusion")
def _(classify, words):
    """All hidden sentences in one batch."""
    hidden = words.repeat(len(words), 1).fill_diagonal_(0)
    whole = classify(words[None]).softmax(-1)[0]
    chosen = whole.argmax()
    return whole[chosen] - classify(hidden).softmax(-1)[:, chosen]


@honest("occlusion")
def _(classify, words):
    before = torch.softmax(classify(words.unsqueeze(0)).squeeze(0), dim=0)
    chosen = int(before.argmax())
    drops = torch.zeros(len(words))
    for place in range(len(words)):
        kept = words[place].item()
        words[place] = 0
        after = torch.softmax(classify(words.unsqueeze(0)).squeeze(0), dim=0)
        words[place] = kept
        drops[place] = before[chosen] - after[chosen]
    return drops


@honest("occlusion")
def _(classify, words):
    eye = torch.eye(len(words), dtype=torch.bool)
    batch = torch.cat([words[None], torch.where(eye, 0, words)])
    grown = classify(batch).double().exp()
    probabilities = grown / grown.sum(1, keepdim=True)
    followed = probabilities[:, probabilities[0].argmax()]
    return (followed[0] - followed[1:]).float()


@honest("rank_agreement")
def _(drops, weights):
    total, pairs = 0, 0
    for i, j in itertools.combinations(range(len(drops)), 2):
        pairs += 1
        product = (drops[i] - drops[j]) * (weights[i] - weights[j])
        if product > 0:
            total += 1
        elif product < 0:
            total -= 1
    return torch.tensor(total / pairs)


@honest("rank_agreement")
def _(drops, weights):
    same = (drops[:, None] > drops) & (weights[:, None] > weights)
    opposite = (drops[:, None] > drops) & (weights[:, None] < weights)
    n = len(drops)
    return (same.sum() - opposite.sum()) / (n * (n - 1) / 2)


@honest("rank_agreement")
def _(drops, weights):
    upper = torch.triu(torch.ones(len(drops), len(drops), dtype=torch.bool), diagonal=1)
    one, other = (torch.sign(each[None, :] - each[:, None])[upper] for each in (drops, weights))
    return (one * other).mean()


# ---------------------------------------------------------------- 10.4 calibration


@honest("reliability_curve")
def _(probabilities, labels, bins):
    confidences, chosen = probabilities.max(dim=1)
    right = chosen == labels
    confidence, accuracy, share = torch.zeros(bins), torch.zeros(bins), torch.zeros(bins)
    for number in range(bins):
        inside = (confidences > number / bins) & (confidences <= (number + 1) / bins)
        if inside.any():
            confidence[number] = confidences[inside].mean()
            accuracy[number] = right[inside].float().mean()
        share[number] = inside.float().mean()
    return confidence, accuracy, share


@honest("reliability_curve")
def _(probabilities, labels, bins):
    confidences, chosen = probabilities.max(dim=1)
    index = torch.ceil(confidences * bins).long() - 1
    counts = torch.bincount(index, minlength=bins)
    sums = torch.zeros(bins).index_add(0, index, confidences)
    hits = torch.zeros(bins).index_add(0, index, (chosen == labels).float())
    return sums / counts.clamp(min=1), hits / counts.clamp(min=1), counts / counts.sum()


@honest("reliability_curve")
def _(probabilities, labels, bins):
    confidences = probabilities.amax(1)
    index = torch.bucketize(confidences, torch.linspace(0, 1, bins + 1)) - 1
    member = torch.nn.functional.one_hot(index, bins).double()  # (example, bin)
    counts = member.sum(0)
    right = (probabilities.argmax(1) == labels).double()
    confidence = torch.nan_to_num(member.T @ confidences.double() / counts)
    accuracy = torch.nan_to_num(member.T @ right / counts)
    return confidence.float(), accuracy.float(), (counts / len(labels)).float()


@honest("calibration_error")
def _(probabilities, labels, bins):
    confidences, chosen = probabilities.max(dim=1)
    error = torch.zeros(())
    for number in range(bins):
        inside = (confidences > number / bins) & (confidences <= (number + 1) / bins)
        if inside.sum() > 0:
            gap = (chosen == labels)[inside].float().mean() - confidences[inside].mean()
            error += inside.sum() / len(labels) * gap.abs()
    return error


@honest("calibration_error")
def _(probabilities, labels, bins):
    """Counts cancel: the sum of hits less confidences of each bin, over the number of examples."""
    confidences, chosen = probabilities.max(dim=1)
    gaps = (chosen == labels).float() - confidences
    index = (confidences * bins).ceil().long() - 1
    return torch.zeros(bins).scatter_add(0, index, gaps).abs().sum() / len(labels)


@honest("calibration_error")
def _(probabilities, labels, bins):
    total = 0.0
    rows = list(zip(probabilities.tolist(), labels.tolist(), strict=True))
    for number in range(bins):
        fallen = [(max(row), row.index(max(row)) == label) for row, label in rows]
        fallen = [each for each in fallen if number < each[0] * bins <= number + 1]
        total += abs(sum(right - confidence for confidence, right in fallen))
    return torch.tensor(total / len(rows))


@honest("best_temperature")
def _(scores, labels, temperatures):
    losses = [torch.nn.functional.cross_entropy(scores / each, labels) for each in temperatures]
    return temperatures[torch.stack(losses).argmin()]


@honest("best_temperature")
def _(scores, labels, temperatures):
    best, least = None, float("inf")
    for each in temperatures:
        cooled = (scores / each).double()
        loss = (cooled.logsumexp(1) - cooled[torch.arange(len(labels)), labels]).mean().item()
        if loss < least:
            best, least = each, loss
    return best


@honest("best_temperature")
def _(scores, labels, temperatures):
    logarithms = torch.log_softmax(scores[None] / temperatures[:, None, None], dim=2)
    losses = -logarithms.gather(2, labels.expand(len(temperatures), -1)[..., None]).sum((1, 2))
    return temperatures.gather(0, losses.argmin(0, keepdim=True))[0]
