"""Right answers to 02.5 that are written in other ways."""

import torch


def hard_attention_gradient_by_index(scores, index, reward, baseline):
    estimate = -scores.softmax(1)
    estimate[torch.arange(len(index)), index] += 1
    return estimate * (reward - baseline).unsqueeze(1)


def hard_attention_gradient_by_autograd(scores, index, reward, baseline):
    scores = scores.double().requires_grad_()
    chosen = scores.log_softmax(1).gather(1, index[:, None])[:, 0]
    ((reward - baseline) * chosen).sum().backward()
    return scores.grad.float()


def hard_attention_gradient_row_by_row(scores, index, reward, baseline):
    rows = []
    for row, i, r in zip(scores, index, reward, strict=True):
        weights = row.exp() / row.exp().sum()
        rows.append(torch.stack([(r - baseline) * (int(at == i) - weights[at]) for at in range(len(row))]))
    return torch.stack(rows)
