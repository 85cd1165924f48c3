"""Right answers to 11.5 that are written in other ways."""

import torch
from torch import nn
from torch.nn import functional


def overfit_one_batch_by_backward(model, tokens, weights, rate, steps):
    """By .backward(), the gradient set back, the weights moved in place."""
    theta = weights.detach().clone().requires_grad_(True)
    losses = torch.zeros(steps)
    for step in range(steps):
        logits = model(tokens[:, :-1], theta)
        loss = functional.cross_entropy(logits.transpose(1, 2), tokens[:, 1:])
        loss.backward()
        losses[step] = loss.item()
        with torch.no_grad():
            theta -= rate * theta.grad
        theta.grad = None
    return theta, losses


def overfit_one_batch_by_hand(model, tokens, weights, rate, steps):
    """The loss by hand, with a graph of its own for each step."""
    inputs, targets, losses = tokens[:, :-1], tokens[:, 1:, None], []
    for _ in range(steps):
        weights = weights.detach().clone().requires_grad_()
        loss = -model(inputs, weights).log_softmax(dim=-1).gather(2, targets).mean()
        losses += [loss.detach()]
        weights = weights - rate * torch.autograd.grad(loss, weights)[0]
    return weights, torch.stack(losses)


def overfit_one_batch_by_parameter(model, tokens, weights, rate, steps):
    """By an nn.Parameter and one long graph of losses."""
    theta, losses = nn.Parameter(weights.clone()), []
    for _ in range(steps):
        logits = model(tokens[:, :-1], theta)
        losses.append(functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), tokens[:, 1:].reshape(-1)))
        theta.grad = None
        losses[-1].backward()
        theta.data.sub_(theta.grad, alpha=rate)
    return theta.data, torch.tensor([each.item() for each in losses])
