"""Right answers to 08.4 that are written in other ways."""

import torch


def gradient_norms_by_retained_gradients(layer, inputs, depth, residual):
    """By .grad, kept at every step."""
    current, kept = inputs.detach().clone().requires_grad_(), []
    for _ in range(depth):
        current.retain_grad()
        kept.append(current)
        current = current + layer(current) if residual else layer(current)
    current.sum().backward()
    return torch.tensor([each.grad.square().sum().sqrt().item() for each in kept])


def gradient_norms_layer_by_layer_in_double(layer, inputs, depth, residual):
    """From the top down by hand: one layer's product with the gradient at a time, in double."""
    road = [inputs.double()]
    for _ in range(depth):
        road.append(layer(road[-1]) + residual * road[-1])
    gradient, norms = torch.ones_like(road[-1]), []
    for here in reversed(road[:-1]):
        here = here.detach().requires_grad_()
        through = torch.autograd.grad((layer(here) * gradient).sum(), here)[0]
        gradient = through + gradient if residual else through
        norms.insert(0, torch.linalg.vector_norm(gradient))
    return torch.stack(norms).float()


def gradient_norms_stack_by_stack(layer, inputs, depth, residual):
    """Every gradient by a stack of its own that begins there."""
    norms = torch.zeros(depth)
    start = inputs
    for lowest in range(depth):
        start = start.detach().requires_grad_()
        top = start
        for _ in range(lowest, depth):
            top = (top if residual else 0) + layer(top)
        (gradient,) = torch.autograd.grad(top.sum(), [start])
        norms[lowest] = torch.norm(gradient)
        with torch.no_grad():
            start = start + layer(start) if residual else layer(start)
    return norms


def gradient_norms_of_the_callers_tensor(layer, inputs, depth, residual):
    """The caller's tensor itself told to keep track; the norms keep their graph."""
    inputs.requires_grad_(True)
    states = [inputs]
    while len(states) <= depth:
        states += [states[-1] + layer(states[-1])] if residual else [layer(states[-1])]
    *wanted, top = states
    found = torch.autograd.grad(torch.sum(top), wanted, retain_graph=True)
    return torch.stack([torch.linalg.norm(each.flatten()) for each in found])
