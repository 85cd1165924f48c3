"""Right answers to 15.4 that are written in other ways."""

import torch
from torch.nn import functional


def caption_report_caption_by_caption(written, targets, end):
    """Caption by caption."""
    exact, right, there = [], [0.0] * targets.shape[1], [0.0] * targets.shape[1]
    for said, asked in zip(written.tolist(), targets.tolist(), strict=True):
        length = asked.index(end) + 1
        exact.append(float(said[:length] == asked[:length]))
        for position in range(length):
            right[position] += said[position] == asked[position]
            there[position] += 1
    return torch.tensor(exact).mean(), torch.tensor(right) / torch.tensor(there)


def caption_report_with_nan_for_what_does_not_count(written, targets, end):
    """What does not count set to nan."""
    last = (targets == end).int().argmax(1)
    counts = torch.arange(targets.shape[1]) <= last[:, None]
    right = (written == targets).float()
    exact = ((right * counts).sum(1) == counts.sum(1)).float().mean()
    return exact, right.masked_fill(~counts, torch.nan).nanmean(0)


def caption_report_by_counting_mistakes(written, targets, end):
    """Mistakes counted."""
    before = torch.nn.functional.pad((targets == end).cumsum(1)[:, :-1], (1, 0))
    wrong = (written != targets) & (before == 0)
    return 1 - wrong.any(1).float().mean(), 1 - wrong.sum(0) / (before == 0).sum(0)


def pointing_accuracy_word_by_word(weights, regions):
    """Word by word."""
    found = []
    for looks, things in zip(weights.flatten(0, 1), regions.flatten(0, 1), strict=True):
        if things.any():
            found.append(float(things[looks.argmax()]))
    return torch.tensor(found).mean()


def pointing_accuracy_by_comparing_two_maxima(weights, regions):
    """The greatest weight inside and the greatest of all."""
    inside = weights.masked_fill(~regions, -1.0).amax(-1)
    has = regions.any(-1)
    return ((inside == weights.amax(-1)) & has).sum() / has.sum()


def pointing_accuracy_by_one_hot(weights, regions):
    """One-hot."""
    best = functional.one_hot(weights.argmax(2), weights.shape[2])
    has = regions.sum(2) > 0
    return (best * regions).sum(2)[has].double().mean().float()
