"""Right answers to 01.5 that are written in other ways."""

import torch


def gradient_reach_by_backward(inputs, weight_ih, weight_hh):
    """By backward, in float64, with a list of leaves."""
    leaves = [each.double().requires_grad_() for each in inputs]
    hidden = torch.zeros(len(weight_hh), dtype=torch.float64)
    for leaf in leaves:
        hidden = (weight_ih.double() @ leaf + weight_hh.double() @ hidden).tanh()
    hidden.sum().backward()
    return torch.stack([leaf.grad.norm() for leaf in leaves]).float()


def gradient_reach_by_the_chain_rule(inputs, weight_ih, weight_hh):
    """By the chain rule, from the last step to the first."""
    states = [torch.zeros(weight_hh.shape[0])]
    for x in inputs:
        states.append(torch.tanh(x @ weight_ih.T + states[-1] @ weight_hh.T))
    gradient, reach = torch.ones(weight_hh.shape[0]), []
    for hidden in reversed(states[1:]):
        gradient = gradient * (1 - hidden * hidden)
        reach.insert(0, (gradient @ weight_ih).square().sum().sqrt())
        gradient = gradient @ weight_hh
    return torch.stack(reach)


def gradient_reach_by_jacobians(inputs, weight_ih, weight_hh):
    """By Jacobians, multiplied on from the first step to the last."""
    hidden, by_inputs = torch.zeros(len(weight_hh)), []
    for x in inputs:
        hidden = torch.tanh(weight_ih @ x + weight_hh @ hidden)
        slope = torch.diag(1 - hidden**2)
        by_inputs = [slope @ weight_hh @ jacobian for jacobian in by_inputs] + [slope @ weight_ih]
    return torch.stack([jacobian.sum(0).norm() for jacobian in by_inputs])


def gradient_reach_by_torch_func(inputs, weight_ih, weight_hh):
    """By torch's own network and torch.func."""
    network = torch.nn.RNN(inputs.shape[1], len(weight_hh), bias=False)
    parameters = {"weight_ih_l0": weight_ih, "weight_hh_l0": weight_hh}

    def last(read):
        return torch.func.functional_call(network, parameters, (read,))[0][-1].sum()

    return torch.func.grad(last)(inputs).norm(dim=1)
