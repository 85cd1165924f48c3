"""Right answers to 12.4 that are written in other ways."""

import torch
from torch.nn import functional


def family_mask_by_difference(direction, time):
    """By the difference of the positions."""
    positions = torch.arange(time)
    return (positions[None, :] - positions[:, None]) * direction <= 0


def family_mask_transposed(direction, time):
    mask = torch.ones(time, time, dtype=torch.bool)
    if direction == 0:
        return mask
    return torch.tril(mask) if direction > 0 else torch.tril(mask).T


def family_mask_mirrored(direction, time):
    """Mirrored in both axes."""
    causal = torch.tril(torch.ones(time, time)) == 1
    return {0: causal | ~causal, 1: causal, -1: causal.flip(0, 1)}[direction]


def family_mask_entry_by_entry(direction, time):
    """Entry by entry."""
    rows = [
        [
            direction == 0 or (direction == 1 and read <= position) or (direction == -1 and read >= position)
            for read in range(time)
        ]
        for position in range(time)
    ]
    return torch.tensor(rows)


def family_targets_written_in(tokens, selected, direction):
    targets = torch.full_like(tokens, -100)
    if direction == 0:
        targets[selected] = tokens[selected]
    elif direction == 1:
        targets[:, :-1] = tokens[:, 1:]
    else:
        targets[:, 1:] = tokens[:, :-1]
    return targets


def family_targets_rolled(tokens, selected, direction):
    """Rolled, and the edge filled."""
    if direction == 0:
        return tokens.masked_fill(~selected, -100)
    targets = tokens.roll(-direction, dims=1)
    targets[:, -1 if direction == 1 else 0] = -100
    return targets


def family_targets_mirrored(tokens, selected, direction):
    """Reading from the right is reading from the left, mirrored."""
    if direction == 0:
        return torch.where(selected, tokens, -100)
    if direction == -1:
        return functional.pad(tokens.flip(1)[:, 1:], (0, 1), value=-100).flip(1)
    return torch.cat([tokens[:, 1:], tokens.new_full((len(tokens), 1), -100)], dim=1)


def family_targets_position_by_position(tokens, selected, direction):
    """Position by position."""
    batch, time = tokens.shape
    targets = -100 * torch.ones(batch, time, dtype=torch.long)
    for row in range(batch):
        for position in range(time):
            target = position + direction
            if 0 <= target < time and (direction != 0 or selected[row, position]):
                targets[row, position] = tokens[row, target]
    return targets


def read_from_the_right_by_torch_flip(model, tokens):
    return torch.flip(model(torch.flip(tokens, [1])), [1])


def read_from_the_right_by_order(model, tokens):
    """By an order of the positions, and the order that undoes it."""
    backwards = torch.arange(tokens.shape[1] - 1, -1, -1)
    return model(tokens[:, backwards])[:, backwards.argsort()]


def read_from_the_right_text_by_text(model, tokens):
    """One text at a time."""
    return torch.cat([model(text.flip(0)[None]).flip(1) for text in tokens])


def read_from_the_right_position_by_position(model, tokens):
    """One position at a time: what stands from it on, turned round, and its last logits."""
    positions = [model(tokens[:, position:].fliplr())[:, -1] for position in range(tokens.shape[1])]
    return torch.stack(positions, dim=1)
