"""Right answers to 10.3 that are written in other ways."""

import itertools

import torch


def occlusion_in_one_batch(classify, words):
    """All hidden sentences in one batch."""
    hidden = words.repeat(len(words), 1).fill_diagonal_(0)
    whole = classify(words[None]).softmax(-1)[0]
    chosen = whole.argmax()
    return whole[chosen] - classify(hidden).softmax(-1)[:, chosen]


def occlusion_in_position(classify, words):
    before = torch.softmax(classify(words.unsqueeze(0)).squeeze(0), dim=0)
    chosen = int(before.argmax())
    drops = torch.zeros(len(words))
    for position in range(len(words)):
        kept = words[position].item()
        words[position] = 0
        after = torch.softmax(classify(words.unsqueeze(0)).squeeze(0), dim=0)
        words[position] = kept
        drops[position] = before[chosen] - after[chosen]
    return drops


def occlusion_by_exp(classify, words):
    eye = torch.eye(len(words), dtype=torch.bool)
    batch = torch.cat([words[None], torch.where(eye, 0, words)])
    grown = classify(batch).double().exp()
    probabilities = grown / grown.sum(1, keepdim=True)
    followed = probabilities[:, probabilities[0].argmax()]
    return (followed[0] - followed[1:]).float()


def rank_agreement_by_combinations(drops, weights):
    total, pairs = 0, 0
    for i, j in itertools.combinations(range(len(drops)), 2):
        pairs += 1
        if (drops[i] > drops[j] and weights[i] > weights[j]) or (drops[i] < drops[j] and weights[i] < weights[j]):
            total += 1
        elif drops[i] != drops[j] and weights[i] != weights[j]:
            total -= 1
    return torch.tensor(total / pairs)


def rank_agreement_by_comparisons(drops, weights):
    same = (drops[:, None] > drops) & (weights[:, None] > weights)
    opposite = (drops[:, None] > drops) & (weights[:, None] < weights)
    n = len(drops)
    return (same.sum() - opposite.sum()) / (n * (n - 1) / 2)


def rank_agreement_by_triangle(drops, weights):
    upper = torch.triu(torch.ones(len(drops), len(drops), dtype=torch.bool), diagonal=1)
    one, other = (torch.sign(each[None, :] - each[:, None])[upper] for each in (drops, weights))
    return (one * other).mean()
