# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110
import itertools

import torch
from torch import nn


def layer_norm__wrong_unbiased(inputs, gain, bias, epsilon):
    """Divides the sum of the squares by d - 1."""
    mean = inputs.mean(dim=-1, keepdim=True)
    variance = inputs.var(dim=-1, keepdim=True)
    return gain * (inputs - mean) / torch.sqrt(variance + epsilon) + bias


def layer_norm__wrong_mean_of_squares(inputs, gain, bias, epsilon):
    """Computes the variance as mean of the squares minus square of the mean, which float32 loses near 4,096."""
    mean = inputs.mean(dim=-1, keepdim=True)
    variance = (inputs**2).mean(dim=-1, keepdim=True) - mean**2
    return (inputs - mean) / (variance + epsilon).sqrt() * gain + bias


def layer_norm__wrong_constants(inputs, gain, bias, epsilon):
    """Treats mean and variance as constants, so that no gradient goes through them."""
    with torch.no_grad():
        mean = inputs.mean(dim=-1, keepdim=True)
        root = (inputs.var(dim=-1, keepdim=True, unbiased=False) + epsilon).sqrt()
    return gain * ((inputs - mean) / root) + bias


def layer_norm__right_double_rows(inputs, gain, bias, epsilon):
    """Right: by a loop over the vectors in float64, each scaled by its norm."""
    d = inputs.shape[-1]
    rows = []
    for x in inputs.reshape(-1, d).double().unbind(0):
        centred = x - x.sum() / d
        rows.append(centred * torch.rsqrt(centred.dot(centred) / d + epsilon))
    return torch.stack(rows).reshape(inputs.shape).to(inputs.dtype) * gain + bias


class FeedForward__wrong_relu_last(nn.Module):
    """ReLU stands behind the second layer, not between the two."""

    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.expand = nn.Linear(d_model, d_hidden)
        self.contract = nn.Linear(d_hidden, d_model)

    def forward(self, inputs):
        return torch.relu(self.contract(self.expand(inputs)))


class FeedForward__wrong_gelu(nn.Module):
    """Takes GELU for ReLU."""

    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.expand = nn.Linear(d_model, d_hidden)
        self.contract = nn.Linear(d_hidden, d_model)
        self.activation = nn.GELU()

    def forward(self, inputs):
        return self.contract(self.activation(self.expand(inputs)))


class FeedForward__right_by_hand(nn.Module):
    """Right: by the weights themselves, with where for the maximum."""

    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.expand = nn.Linear(d_model, d_hidden)
        self.contract = nn.Linear(d_hidden, d_model)

    def forward(self, inputs):
        hidden = torch.einsum("btd,hd->bth", inputs, self.expand.weight) + self.expand.bias
        hidden = torch.where(hidden > 0, hidden, torch.zeros_like(hidden))
        return torch.einsum("bth,dh->btd", hidden, self.contract.weight) + self.contract.bias


def transformer_block__wrong_inputs_again(inputs, attention, feed_forward, attention_norm, feed_forward_norm, order):
    """The second residual connection adds the inputs of the block, not those of the sublayer."""
    if order == "pre":
        stream = inputs + attention(attention_norm(inputs))
        return inputs + feed_forward(feed_forward_norm(stream))
    stream = attention_norm(inputs + attention(inputs))
    return feed_forward_norm(inputs + feed_forward(stream))


def transformer_block__wrong_stream_normalised(
    inputs, attention, feed_forward, attention_norm, feed_forward_norm, order
):
    """In pre-norm the residual stream itself is normalised."""
    x = inputs
    for sublayer, norm in (
        (attention, attention_norm),
        (feed_forward, feed_forward_norm),
    ):
        if order == "pre":
            x = norm(x)
            x = x + sublayer(x)
        else:
            x = norm(x + sublayer(x))
    return x


def transformer_block__wrong_added_in_place(inputs, attention, feed_forward, attention_norm, feed_forward_norm, order):
    """Adds into the tensor that a sublayer returned, which may be the inputs themselves."""
    if order == "pre":
        stream = attention(attention_norm(inputs))
        stream += inputs
        output = feed_forward(feed_forward_norm(stream))
        output += stream
        return output
    stream = attention(inputs)
    stream += inputs
    stream = attention_norm(stream)
    output = feed_forward(stream)
    output += stream
    return feed_forward_norm(output)


def transformer_block__right_wrapped(inputs, attention, feed_forward, attention_norm, feed_forward_norm, order):
    """Right: by functions that wrap a sublayer, put one into the other."""

    def pre(sublayer, norm):
        return lambda x: torch.add(x, sublayer(norm(x)))

    def post(sublayer, norm):
        return lambda x: norm(torch.add(x, sublayer(x)))

    wrap = {"pre": pre, "post": post}[order]
    return wrap(feed_forward, feed_forward_norm)(wrap(attention, attention_norm)(inputs))


def gradient_norms__wrong_outputs(layer, inputs, depth, residual):
    """Takes the gradients with respect to what each layer returns, not to what it reads."""
    x = inputs.clone().requires_grad_()
    hidden = []
    for _ in range(depth):
        x = x + layer(x) if residual else layer(x)
        hidden.append(x)
    gradients = torch.autograd.grad(x.sum(), hidden)
    return torch.stack([each.norm() for each in gradients])


def gradient_norms__wrong_spectral(layer, inputs, depth, residual):
    """Takes the norm of a gradient as that of a matrix, its greatest singular value, not that of its entries."""
    hidden = [inputs.clone().requires_grad_()]
    for _ in range(depth):
        below = hidden[-1]
        hidden.append(below + layer(below) if residual else layer(below))
    gradients = torch.autograd.grad(hidden[-1].sum(), hidden[:-1])
    return torch.stack([torch.linalg.norm(each, ord=2) for each in gradients])


def gradient_norms__wrong_first_residual(layer, inputs, depth, residual):
    """The residual connection adds the inputs of the stack at every layer."""
    start = inputs.clone().requires_grad_()
    hidden = [start]
    for _ in range(depth):
        new = layer(hidden[-1])
        if residual:
            new = new + start
        hidden.append(new)
    gradients = torch.autograd.grad(hidden[-1].sum(), hidden[:-1])
    return torch.stack([each.norm() for each in gradients])


def gradient_norms__right_layer_by_layer(layer, inputs, depth, residual):
    """Right: by the chain rule, one layer at a time from the top down."""

    def step(x):
        return x + layer(x) if residual else layer(x)

    hidden = [inputs.detach().clone()]
    for _ in range(depth - 1):
        hidden.append(step(hidden[-1]).detach())
    gradient = torch.ones_like(inputs)
    norms = []
    for x in reversed(hidden):
        x = x.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(step(x), x, grad_outputs=gradient)
        norms.append(gradient.square().sum().sqrt())
    return torch.stack(norms[::-1])


def numerical_gradient__wrong_same_tensor(function, inputs, step):
    """Moves the entries of the inputs themselves where these are of float64 already, and leaves them moved by rounding."""
    x = inputs.double()
    flat = x.view(-1)
    result = torch.zeros_like(x)
    for i in range(flat.numel()):
        flat[i] += step
        ahead = function(x)
        flat[i] -= 2 * step
        behind = function(x)
        flat[i] += step
        result.view(-1)[i] = (ahead - behind) / (2 * step)
    return result


def numerical_gradient__wrong_converted_late(function, inputs, step):
    """Computes in the dtype of the inputs and makes float64 of the result only."""
    result = torch.zeros(inputs.shape, dtype=torch.float64)
    for i in range(inputs.numel()):
        ahead, behind = inputs.clone(), inputs.clone()
        ahead.view(-1)[i] += step
        behind.view(-1)[i] -= step
        result.view(-1)[i] = (function(ahead) - function(behind)) / (2 * step)
    return result


def numerical_gradient__right_all_indices(function, inputs, step):
    """Right: by the tuples of all indices and tensors that are step at one of them."""
    x = inputs.to(torch.float64)
    result = torch.empty(x.shape, dtype=torch.float64)
    for index in itertools.product(*(range(size) for size in x.shape)):
        direction = torch.zeros_like(x)
        direction[index] = step
        result[index] = (function(x + direction) - function(x - direction)) / (2 * step)
    return result


def _differences(function, x, step=0.00001):
    result = torch.zeros(x.numel(), dtype=torch.float64)
    for i in range(x.numel()):
        move = torch.zeros(x.numel(), dtype=torch.float64)
        move[i] = step
        move = move.view(x.shape)
        result[i] = (function(x + move) - function(x - move)) / (2 * step)
    return result.view(x.shape)


def gradient_is_right__wrong_allclose(function, gradient, inputs):
    """Leaves the relative tolerance of allclose as it is, so that a great entry may be off by more."""
    x = inputs.double()
    return torch.allclose(gradient(x), _differences(function, x), atol=1e-6)


def gradient_is_right__wrong_signed(function, gradient, inputs):
    """Looks at the greatest difference without taking its absolute value, so that entries may be too small by any amount."""
    x = inputs.double()
    return bool((gradient(x) - _differences(function, x)).max() <= 1e-6)


def gradient_is_right__right_entry_by_entry(function, gradient, inputs):
    """Right: by plain numbers, one entry after the other, until one is off."""
    x = inputs.double().clone()
    claimed = gradient(x.clone()).reshape(-1).tolist()
    h = 0.00001
    for i in range(x.numel()):
        values = []
        for sign in (1, -1):
            moved = x.clone().reshape(-1)
            moved[i] += sign * h
            values.append(float(function(moved.reshape(x.shape))))
        if not abs(claimed[i] - (values[0] - values[1]) / (2 * h)) <= 1e-6:
            return False
    return True
