"""Right answers to 10.4 that are written in other ways."""

import torch


def reliability_curve_by_edges(probabilities, labels, bins):
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


def reliability_curve_by_index_add(probabilities, labels, bins):
    confidences, chosen = probabilities.max(dim=1)
    index = torch.ceil(confidences * bins).long() - 1
    counts = torch.bincount(index, minlength=bins)
    sums = torch.zeros(bins).index_add(0, index, confidences)
    hits = torch.zeros(bins).index_add(0, index, (chosen == labels).float())
    return sums / counts.clamp(min=1), hits / counts.clamp(min=1), counts / counts.sum()


def reliability_curve_by_bucketize(probabilities, labels, bins):
    confidences = probabilities.amax(1)
    index = torch.bucketize(confidences, torch.linspace(0, 1, bins + 1)) - 1
    member = torch.nn.functional.one_hot(index, bins).double()  # (example, bin)
    counts = member.sum(0)
    right = (probabilities.argmax(1) == labels).double()
    confidence = torch.nan_to_num(member.T @ confidences.double() / counts)
    accuracy = torch.nan_to_num(member.T @ right / counts)
    return confidence.float(), accuracy.float(), (counts / len(labels)).float()


def calibration_error_bin_by_bin(probabilities, labels, bins):
    confidences, chosen = probabilities.max(dim=1)
    error = torch.zeros(())
    for number in range(bins):
        inside = (confidences > number / bins) & (confidences <= (number + 1) / bins)
        if inside.sum() > 0:
            gap = (chosen == labels)[inside].float().mean() - confidences[inside].mean()
            error += inside.sum() / len(labels) * gap.abs()
    return error


def calibration_error_by_sums(probabilities, labels, bins):
    """Counts cancel: the sum of hits less confidences of each bin, over the number of examples."""
    confidences, chosen = probabilities.max(dim=1)
    gaps = (chosen == labels).float() - confidences
    index = (confidences * bins).ceil().long() - 1
    return torch.zeros(bins).scatter_add(0, index, gaps).abs().sum() / len(labels)


def calibration_error_by_lists(probabilities, labels, bins):
    total = 0.0
    rows = list(zip(probabilities.tolist(), labels.tolist(), strict=True))
    for number in range(bins):
        fallen = [(max(row), row.index(max(row)) == label) for row, label in rows]
        fallen = [each for each in fallen if number < each[0] * bins <= number + 1]
        total += abs(sum(right - confidence for confidence, right in fallen))
    return torch.tensor(total / len(rows))


def best_temperature_by_cross_entropy(logits, labels, temperatures):
    losses = [torch.nn.functional.cross_entropy(logits / each, labels) for each in temperatures]
    return temperatures[torch.stack(losses).argmin()]


def best_temperature_by_search(logits, labels, temperatures):
    best, least = None, float("inf")
    for each in temperatures:
        cooled = (logits / each).double()
        loss = (cooled.logsumexp(1) - cooled[torch.arange(len(labels)), labels]).mean().item()
        if loss < least:
            best, least = each, loss
    return best


def best_temperature_at_once(logits, labels, temperatures):
    logarithms = torch.log_softmax(logits[None] / temperatures[:, None, None], dim=2)
    losses = -logarithms.gather(2, labels.expand(len(temperatures), -1)[..., None]).sum((1, 2))
    return temperatures.gather(0, losses.argmin(0, keepdim=True))[0]
