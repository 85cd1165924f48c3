"""Right answers to 09.2 that are written in other ways."""

import torch
from torch.nn import functional


def shift_right_by_padding(targets, start, padding):
    words = functional.pad(targets[:, :-1], (1, 0), value=start)
    return words, targets.ne(padding)


def shift_right_rolled_and_written_over(targets, start, padding):
    words = targets.roll(1, 1)
    words[:, 0] = start
    return words, ~(targets == padding)


def shift_right_in_lists(targets, start, padding):
    rows = targets.tolist()
    words = [[start, *row[:-1]] for row in rows]
    return torch.tensor(words), torch.tensor([[word != padding for word in row] for row in rows])


def loss_at_every_step_by_one_hot(logits, targets, counts):
    right = functional.one_hot(targets, logits.shape[-1])
    losses = (logits.logsumexp(-1) - (logits * right).sum(-1)) * counts
    return losses.sum() / counts.float().sum(), losses


def loss_at_every_step_by_the_mean_of_a_row(logits, targets, counts):
    losses = -torch.log_softmax(logits, 2).gather(2, targets.unsqueeze(2)).squeeze(2)
    return losses[counts].mean(), losses.masked_fill(~counts, 0)


def loss_at_every_step_step_by_step(logits, targets, counts):
    rows = []
    for row, words, there in zip(logits, targets, counts, strict=True):
        for step, word, counted in zip(row, words, there, strict=True):
            top = step.max()
            rows.append(((step - top).exp().sum().log() + top - step[word]) * counted)
    losses = torch.stack(rows).reshape(targets.shape)
    return losses.sum() / int(counts.sum()), losses
