# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110

import itertools

import torch
from torch import nn


def layer_norm__wrong_mean_of_squares(inputs, gain, bias, epsilon):
    """Takes the mean of the squares less the square of the mean, which float32 cannot do near 4,096."""
    mean = inputs.mean(-1, keepdim=True)
    variance = (inputs**2).mean(-1, keepdim=True) - mean**2
    return gain * (inputs - mean) / torch.sqrt(variance.clamp(min=0) + epsilon) + bias


def layer_norm__wrong_detached(inputs, gain, bias, epsilon):
    """Treats mean and variance as constants, so the gradients are wrong."""
    with torch.no_grad():
        mean = inputs.mean(-1, keepdim=True)
        root = (inputs.var(-1, keepdim=True, unbiased=False) + epsilon).sqrt()
    return (inputs - mean) / root * gain + bias


def layer_norm__right_pairs(inputs, gain, bias, epsilon):
    """Everything from the differences of all pairs of features; the mean is never computed."""
    pairs = inputs[..., :, None] - inputs[..., None, :]
    variance = pairs.square().mean((-2, -1))[..., None] / 2
    return torch.addcmul(bias, gain, pairs.mean(-1) * (variance + epsilon).rsqrt())


class FeedForward__wrong_relu_twice(nn.Module):
    """Applies ReLU to the output as well."""

    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.expand = nn.Linear(d_model, d_hidden)
        self.contract = nn.Linear(d_hidden, d_model)

    def forward(self, inputs):
        return torch.relu(self.contract(torch.relu(self.expand(inputs))))


class FeedForward__wrong_dropout(nn.Module):
    """Adds the dropout of the paper, so in training mode the output is random and not the formula's."""

    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.expand = nn.Linear(d_model, d_hidden)
        self.contract = nn.Linear(d_hidden, d_model)
        self.dropout = nn.Dropout(0.1)

    def forward(self, inputs):
        return self.contract(self.dropout(torch.relu(self.expand(inputs))))


def transformer_block__wrong_in_place(inputs, attention, feed_forward, attention_norm, feed_forward_norm, order):
    """Adds with +=, which changes the caller's inputs."""
    x = inputs
    if order == "pre":
        x += attention(attention_norm(x))
        x += feed_forward(feed_forward_norm(x))
    else:
        x += attention(x)
        x = attention_norm(x)
        x = feed_forward_norm(x + feed_forward(x))
    return x


def transformer_block__wrong_norm_before_sum(inputs, attention, feed_forward, attention_norm, feed_forward_norm, order):
    """In post-norm it normalises the sublayer's output alone, before the sum and not after it."""
    x = inputs
    for layer, norm in ((attention, attention_norm), (feed_forward, feed_forward_norm)):
        if order == "pre":
            x = x + layer(norm(x))
        else:
            x = x + norm(layer(x))
    return x


def transformer_block__right_two_functions(inputs, attention, feed_forward, attention_norm, feed_forward_norm, order):
    """A norm before and a norm after, of which one is the identity; the two sublayers by a helper."""
    same = lambda x: x

    def sublayer(x, layer, norm):
        before, after = {"pre": (norm, same), "post": (same, norm)}[order]
        return after(torch.add(x, layer(before(x))))

    return sublayer(sublayer(inputs, attention, attention_norm), feed_forward, feed_forward_norm)


def gradient_norms__wrong_powers(layer, inputs, depth, residual):
    """Measures the factor of one layer at the inputs and takes its powers, which holds for a multiple of x only."""
    x = inputs.clone().requires_grad_()
    out = x + layer(x) if residual else layer(x)
    (g,) = torch.autograd.grad(out.sum(), x)
    one = inputs.numel() ** 0.5
    factor = g.norm() / one
    return torch.stack([one * factor ** (depth - l) for l in range(depth)])


def gradient_norms__wrong_product_of_sums(layer, inputs, depth, residual):
    """Multiplies the gradients of the layers' own sums number by number, which is wrong if positions are mixed."""
    x, local = inputs, []
    for _ in range(depth):
        x = x.detach().requires_grad_()
        out = x + layer(x) if residual else layer(x)
        local.append(torch.autograd.grad(out.sum(), x)[0])
        x = out
    g, norms = torch.ones_like(inputs), []
    for each in reversed(local):
        g = g * each
        norms.append(g.norm())
    return torch.stack(norms[::-1])


def numerical_gradient__wrong_float32_step(function, inputs, step):
    """Adds the step in the dtype of the inputs and turns only the result into float64."""
    out = torch.zeros(inputs.shape, dtype=torch.float64).reshape(-1)
    for i in range(inputs.numel()):
        up, down = inputs.clone().reshape(-1), inputs.clone().reshape(-1)
        up[i] += step
        down[i] -= step
        out[i] = (function(up.reshape(inputs.shape)) - function(down.reshape(inputs.shape))).double() / (2 * step)
    return out.reshape(inputs.shape)


def numerical_gradient__wrong_flat_argument(function, inputs, step):
    """Calls the function with a flat vector and not with a tensor of the shape of the inputs."""
    flat = inputs.double().reshape(-1)
    eye = torch.eye(len(flat), dtype=torch.float64)
    values = [(function(flat + step * e) - function(flat - step * e)) / (2 * step) for e in eye]
    return torch.stack(values).reshape(inputs.shape)


def numerical_gradient__right_set_entries(function, inputs, step):
    """Walks over the indices and sets one entry of a copy to its old value more and less the step."""
    x = inputs.detach().clone().double()
    out = torch.empty_like(x)
    for index in itertools.product(*map(range, x.shape)):
        old, ends = x[index].item(), []
        for sign in (1.0, -1.0):
            moved = x.clone()
            moved[index] = old + sign * step
            ends.append(float(function(moved)))
        out[index] = (ends[0] - ends[1]) / (2 * step)
    return out


def gradient_is_right__wrong_allclose(function, gradient, inputs):
    """Leaves the relative tolerance of allclose at its default, so large entries may be wrong by more."""
    x, h = inputs.double(), 1e-5
    numeric = torch.zeros_like(x)
    for i in range(x.numel()):
        e = torch.zeros_like(x)
        e.view(-1)[i] = h
        numeric.view(-1)[i] = (function(x + e) - function(x - e)) / (2 * h)
    return torch.allclose(gradient(x), numeric, atol=1e-6)


def gradient_is_right__wrong_no_abs(function, gradient, inputs):
    """Forgets the absolute value, so a claimed gradient that is too large passes."""
    x, h = inputs.double(), 1e-5
    numeric = torch.zeros_like(x)
    for i in range(x.numel()):
        e = torch.zeros_like(x)
        e.view(-1)[i] = h
        numeric.view(-1)[i] = (function(x + e) - function(x - e)) / (2 * h)
    return bool((numeric - gradient(x)).max() <= 1e-6)
