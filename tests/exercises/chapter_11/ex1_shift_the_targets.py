"""Right answers to 11.1 that are written in other ways."""

import math

import torch
from torch.nn import functional


def cut_passages_by_slices(tokens, starts, length):
    """Slices, one start at a time."""
    passages = torch.stack([tokens[start : start + length + 1] for start in starts.tolist()])
    return passages[:, :-1], passages[:, 1:]


def cut_passages_by_windows(tokens, starts, length):
    """All windows of the text, of which the starts are picked."""
    windows = tokens.unfold(0, length + 1, 1)[starts]
    return windows[:, :length], windows[:, 1:]


def cut_passages_by_two_texts(tokens, starts, length):
    """Two texts, the second one position on, and a loop over the positions."""
    after = tokens[1:]
    positions = [starts + step for step in range(length)]
    return (
        torch.stack([tokens[position] for position in positions], dim=1),
        torch.stack([torch.take(after, position) for position in positions], dim=1),
    )


def bits_per_character_by_gather(logits, targets):
    return -logits.log_softmax(-1).gather(2, targets.unsqueeze(-1)).mean() / math.log(2)


def bits_per_character_in_double(logits, targets):
    """Position by position, in double."""
    bits = [
        (row.double().logsumexp(0) - row[target].double()) / torch.log(torch.tensor(2.0, dtype=torch.float64))
        for row, target in zip(logits.flatten(0, 1), targets.flatten().tolist(), strict=True)
    ]
    return (sum(bits) / len(bits)).float()


def bits_per_character_by_transposing(logits, targets):
    return functional.cross_entropy(logits.transpose(1, 2), targets) * math.log2(math.e)


def bits_per_character_by_one_hot(logits, targets):
    grown = logits - logits.amax(2, keepdim=True)
    logs = (grown - grown.exp().sum(2, keepdim=True).log()) / math.log(2)
    return -(logs * functional.one_hot(targets, logits.shape[2])).sum() / targets.numel()
