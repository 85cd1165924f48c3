"""Right answers to 09.3 that are written in other ways."""

import torch
from torch.nn import functional


def hides_the_future_cut_off(model, source, words):
    """Cut off instead of replaced."""
    whole = model(source, words)
    cut = (model(source, words[:, :step]) for step in range(1, words.shape[1]))
    return all(torch.allclose(each, whole[:, : each.shape[1]], atol=1e-4) for each in cut)


def hides_the_future_one_word_at_a_time_by_padding(model, source, words):
    """One word at a time, by padding."""
    before, time = model(source, words), words.shape[1]
    for position in range(1, time):
        other = words.clone()
        other[:, position] = 0
        if bool(((model(source, other) - before)[:, :position].abs() > 1e-4).any()):
            return False
    return True


def hides_the_future_by_the_word_after(model, source, words):
    """The word after, beyond the vocabulary too."""
    gaps = []
    for step in range(words.shape[1]):
        later = torch.arange(words.shape[1]) > step
        gap = model(source, words + later) - model(source, words)
        gaps.append(gap[:, step].abs().max())
    return torch.stack(gaps).max() < 1e-3


def reads_the_source_by_loops(model, source, words):
    before, (batch, positions) = model(source, words), source.shape
    for row in range(batch):
        for position in range(positions):
            if source[row, position] == 0:
                continue
            other = source.clone()
            other[row, position] = 1 if source[row, position] != 1 else 2
            if torch.allclose(model(other, words)[row], before[row], atol=1e-4):
                return False
    return True


def reads_the_source_every_other_word_tried(model, source, words):
    """Every other word tried."""
    before, moved = model(source, words), []
    for row, position in torch.argwhere(source > 0):
        gaps = []
        for word in range(1, before.shape[2]):
            other = source.clone()
            other[row, position] = word
            gaps.append((model(other, words)[row] - before[row]).abs().max())
        moved.append(max(gaps) > 1e-3)
    return torch.stack(moved).all()


def reads_the_source_one_cell_at_a_time(model, source, words):
    """One sentence of the batch at a time in another's company."""
    before = model(source, words)
    return not any(
        torch.dist(before[row], model(source + torch.eye(source.numel()).long()[cell].view_as(source), words)[row])
        < 2e-3
        for cell in range(source.numel())
        for row in [cell // source.shape[1]]
        if source.flatten()[cell]
    )


def ignores_the_padding_one_column(model, source, words):
    longer = torch.cat([source, torch.zeros_like(source[:, :1])], 1)
    return torch.allclose(model(longer, words), model(source, words), rtol=0, atol=1e-4)


def ignores_the_padding_five_columns(model, source, words):
    longer = source.new_zeros(source.shape[0], source.shape[1] + 5)
    longer[:, : source.shape[1]] = source
    return (model(longer, words) - model(source, words)).abs().max() < 1e-3


def ignores_the_padding_column_by_column(model, source, words):
    """One column more, and another."""
    before = model(source, words)
    for more in (1, 2, 3):
        if ((model(functional.pad(source, (0, more)), words) - before).abs() > 1e-4).any():
            return False
    return True
