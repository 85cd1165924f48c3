# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110

import itertools
import math

import torch
from einops import einsum, reduce
from torch import nn

# ---------------------------------------------------------------- layer_norm


def layer_norm__wrong_unbiased(inputs, gain, bias, epsilon):
    """Uses torch's default variance, which divides by d - 1."""
    mean = inputs.mean(dim=-1, keepdim=True)
    variance = inputs.var(dim=-1, keepdim=True)
    return gain * (inputs - mean) / torch.sqrt(variance + epsilon) + bias


def layer_norm__wrong_epsilon_outside(inputs, gain, bias, epsilon):
    """Adds epsilon to the standard deviation, outside the root."""
    mean = inputs.mean(dim=-1, keepdim=True)
    deviation = inputs.std(dim=-1, keepdim=True, correction=0)
    return gain * (inputs - mean) / (deviation + epsilon) + bias


def layer_norm__wrong_difference_of_squares(inputs, gain, bias, epsilon):
    """Computes the variance as the mean of squares minus the square of the mean, which loses all digits near 4096."""
    mean = inputs.mean(dim=-1, keepdim=True)
    variance = (inputs**2).mean(dim=-1, keepdim=True) - mean**2
    return gain * (inputs - mean) / (variance + epsilon).sqrt() + bias


def layer_norm__wrong_statistics_without_gradient(inputs, gain, bias, epsilon):
    """Computes mean and variance under no_grad, so that the gradient treats them as constants."""
    with torch.no_grad():
        mean = reduce(inputs, "... d -> ... 1", "mean")
        variance = reduce((inputs - mean) ** 2, "... d -> ... 1", "mean")
    return gain * (inputs - mean) / (variance + epsilon).sqrt() + bias


def layer_norm__wrong_forbidden_call(inputs, gain, bias, epsilon):
    """Calls torch's own layer norm, which the statement forbids."""
    return nn.functional.layer_norm(inputs, inputs.shape[-1:], gain, bias, epsilon)


def layer_norm__right_var_mean(inputs, gain, bias, epsilon):
    """Right: torch.var_mean with correction 0, and the reciprocal root."""
    variance, mean = torch.var_mean(inputs, dim=-1, correction=0, keepdim=True)
    return torch.addcmul(bias, (inputs - mean) * torch.rsqrt(variance + epsilon), gain)


def layer_norm__right_norm_of_centred(inputs, gain, bias, epsilon):
    """Right: with everything times the root of d, from the sum of squares d (variance + epsilon), by einsum in float64."""
    d = inputs.shape[-1]
    exact = inputs.double()
    centred = exact - torch.einsum("...d->...", exact)[..., None] / d
    squares = torch.einsum("...d,...d->...", centred, centred)[..., None]
    normalised = math.sqrt(d) * centred / (squares + d * epsilon) ** 0.5
    return (normalised * gain + bias).to(inputs.dtype)


# ---------------------------------------------------------------- FeedForward


class FeedForward__wrong_residual(nn.Module):
    """Adds the inputs to the output, although the block adds the residual."""

    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.expand = nn.Linear(d_model, d_hidden)
        self.contract = nn.Linear(d_hidden, d_model)

    def forward(self, inputs):
        return inputs + self.contract(torch.relu(self.expand(inputs)))


class FeedForward__wrong_gelu(nn.Module):
    """Uses GELU, as newer models do, and not ReLU."""

    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.expand = nn.Linear(d_model, d_hidden)
        self.contract = nn.Linear(d_hidden, d_model)

    def forward(self, inputs):
        return self.contract(nn.functional.gelu(self.expand(inputs)))


class FeedForward__wrong_sequential_names(nn.Module):
    """Puts the layers into a Sequential, so that they do not have the names expand and contract."""

    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(d_model, d_hidden), nn.ReLU(), nn.Linear(d_hidden, d_model))

    def forward(self, inputs):
        return self.layers(inputs)


class FeedForward__right_written_out(nn.Module):
    """Right: multiplies by the weights with einsum and keeps what is above zero with where."""

    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.expand = nn.Linear(d_model, d_hidden)
        self.contract = nn.Linear(d_hidden, d_model)

    def forward(self, inputs):
        hidden = einsum(inputs, self.expand.weight, "b t m, h m -> b t h") + self.expand.bias
        hidden = torch.where(hidden > 0, hidden, 0.0)
        return einsum(hidden, self.contract.weight, "b t h, m h -> b t m") + self.contract.bias


# ---------------------------------------------------------------- transformer_block


def transformer_block__wrong_residual_after_norm(
    inputs, attention, feed_forward, attention_norm, feed_forward_norm, order
):
    """Adds the sublayer's output to the normalised vectors in pre-norm, so that the stream passes through the norms."""
    if order == "pre":
        normed = attention_norm(inputs)
        stream = normed + attention(normed)
        normed = feed_forward_norm(stream)
        return normed + feed_forward(normed)
    stream = attention_norm(inputs + attention(inputs))
    return feed_forward_norm(stream + feed_forward(stream))


def transformer_block__wrong_norm_of_sublayer(
    inputs, attention, feed_forward, attention_norm, feed_forward_norm, order
):
    """Normalises only the sublayer's output in post-norm, x + N(s(x)), and not the sum."""
    if order == "pre":
        stream = inputs + attention(attention_norm(inputs))
        return stream + feed_forward(feed_forward_norm(stream))
    stream = inputs + attention_norm(attention(inputs))
    return stream + feed_forward_norm(feed_forward(stream))


def transformer_block__wrong_second_residual(inputs, attention, feed_forward, attention_norm, feed_forward_norm, order):
    """Adds the block's inputs again in the second half instead of the result of the first."""
    if order == "pre":
        hidden = inputs + attention(attention_norm(inputs))
        return inputs + feed_forward(feed_forward_norm(hidden))
    hidden = attention_norm(inputs + attention(inputs))
    return feed_forward_norm(inputs + feed_forward(hidden))


def transformer_block__wrong_adds_in_place(inputs, attention, feed_forward, attention_norm, feed_forward_norm, order):
    """Adds in place to what a sublayer returns, which in post-norm may be the caller's own tensor."""
    if order == "pre":
        stream = attention(attention_norm(inputs)) + inputs
        return stream + feed_forward(feed_forward_norm(stream))
    stream = attention(inputs)
    stream += inputs
    stream = attention_norm(stream)
    return feed_forward_norm(stream + feed_forward(stream))


def transformer_block__right_closure(inputs, attention, feed_forward, attention_norm, feed_forward_norm, order):
    """Right: wraps each sublayer with its norm in the asked order and applies one after the other."""

    def wrapped(sublayer, norm):
        return {
            "pre": lambda x: torch.add(sublayer(norm(x)), x),
            "post": lambda x: norm(torch.add(sublayer(x), x)),
        }[order]

    return wrapped(feed_forward, feed_forward_norm)(wrapped(attention, attention_norm)(inputs))


# ---------------------------------------------------------------- gradient_norms


def gradient_norms__wrong_outputs_of_layers(layer, inputs, depth, residual):
    """Returns the gradients with respect to the outputs of the layers, x_1 to x_L, and not to their inputs."""
    hidden = [inputs.clone().requires_grad_()]
    for _ in range(depth):
        x = hidden[-1]
        hidden.append(x + layer(x) if residual else layer(x))
    grads = torch.autograd.grad(hidden[-1].sum(), hidden[1:])
    return torch.stack([grad.norm() for grad in grads])


def gradient_norms__wrong_spectral_norm(layer, inputs, depth, residual):
    """Writes torch.linalg.norm(grad, 2), which for a matrix is its greatest singular value."""
    hidden = [inputs.clone().requires_grad_()]
    for _ in range(depth):
        x = hidden[-1]
        hidden.append(x + layer(x) if residual else layer(x))
    grads = torch.autograd.grad(hidden[-1].sum(), hidden[:-1])
    return torch.stack([torch.linalg.norm(grad, 2) for grad in grads])


def gradient_norms__wrong_adds_the_first_input(layer, inputs, depth, residual):
    """Adds x_0 at every layer as the residual and not the input of that layer."""
    start = inputs.clone().requires_grad_()
    hidden = [start]
    for _ in range(depth):
        new = layer(hidden[-1])
        if residual:
            new = new + start
        hidden.append(new)
    grads = torch.autograd.grad(hidden[-1].sum(), hidden[:-1])
    return torch.stack([grad.norm() for grad in grads])


def gradient_norms__right_layer_by_layer(layer, inputs, depth, residual):
    """Right: runs forwards without a graph, then multiplies the gradient by one layer's Jacobian after the other."""
    inputs_of_layers = []
    x = inputs.detach().clone()
    for _ in range(depth):
        inputs_of_layers.append(x)
        with torch.no_grad():
            x = layer(x) + x if residual else layer(x)
    gradient = torch.ones_like(x)
    norms = []
    for x in reversed(inputs_of_layers):
        x = x.clone().requires_grad_()
        (through,) = torch.autograd.grad(layer(x), x, gradient)
        gradient = through + gradient if residual else through
        norms.insert(0, gradient.square().sum().sqrt())
    return torch.stack(norms)


# ---------------------------------------------------------------- numerical_gradient


def numerical_gradient__wrong_double_is_no_copy(function, inputs, step):
    """Relies on .double() to copy, but for float64 inputs it returns the same tensor, so both copies are one."""
    result = torch.zeros(inputs.shape, dtype=torch.float64)
    for i in range(inputs.numel()):
        ahead, behind = inputs.double(), inputs.double()
        ahead.view(-1)[i] += step
        behind.view(-1)[i] -= step
        result.view(-1)[i] = (function(ahead) - function(behind)) / (2 * step)
    return result


def numerical_gradient__wrong_double_at_the_end(function, inputs, step):
    """Computes in the dtype of the inputs and converts only the result to float64."""
    result = torch.zeros_like(inputs)
    for i in range(inputs.numel()):
        ahead, behind = inputs.clone(), inputs.clone()
        ahead.view(-1)[i] += step
        behind.view(-1)[i] -= step
        result.view(-1)[i] = (function(ahead) - function(behind)) / (2 * step)
    return result.double()


def numerical_gradient__wrong_rows_only(function, inputs, step):
    """Loops over the first axis alone, so that with two axes a whole row is moved at once."""
    x = inputs.double()
    result = torch.zeros_like(x)
    for i in range(len(x)):
        ahead, behind = x.clone(), x.clone()
        ahead[i] += step
        behind[i] -= step
        result[i] = (function(ahead) - function(behind)) / (2 * step)
    return result


def numerical_gradient__wrong_autograd(function, inputs, step):
    """Asks autograd for the true derivative, which is not the central difference for a wide step."""
    x = inputs.detach().double().clone().requires_grad_()
    (result,) = torch.autograd.grad(function(x), x)
    return result


def numerical_gradient__right_index_tuples(function, inputs, step):
    """Right: goes through all index tuples with itertools and shifts by a tensor of zeros with one entry."""
    x = inputs.detach().to(torch.float64)
    result = torch.empty(x.shape, dtype=torch.float64)
    for index in itertools.product(*(range(size) for size in x.shape)):
        shift = torch.zeros(x.shape, dtype=torch.float64)
        shift[index] = step
        result[index] = (function(x + shift) - function(x - shift)) / (2 * step)
    return result


# ---------------------------------------------------------------- gradient_is_right


def gradient_is_right__wrong_allclose(function, gradient, inputs):
    """Uses allclose with its relative tolerance, which forgives a hundred-thousandth in entries above 1."""
    x = inputs.double()
    numerical = torch.zeros_like(x)
    for i in range(x.numel()):
        ahead, behind = x.clone(), x.clone()
        ahead.view(-1)[i] += 1e-5
        behind.view(-1)[i] -= 1e-5
        numerical.view(-1)[i] = (function(ahead) - function(behind)) / 2e-5
    return torch.allclose(gradient(x), numerical, atol=1e-6)


def gradient_is_right__wrong_mean_difference(function, gradient, inputs):
    """Compares the mean of the differences with the tolerance, so that one slightly wrong entry is averaged away."""
    x = inputs.double()
    numerical = torch.zeros_like(x)
    for i in range(x.numel()):
        ahead, behind = x.clone(), x.clone()
        ahead.view(-1)[i] += 1e-5
        behind.view(-1)[i] -= 1e-5
        numerical.view(-1)[i] = (function(ahead) - function(behind)) / 2e-5
    return bool((gradient(x) - numerical).abs().mean() <= 1e-6)


def gradient_is_right__wrong_claim_in_float32(function, gradient, inputs):
    """Calls the claimed gradient with float32, whose rounding makes right gradients fail."""
    x = inputs.double()
    numerical = torch.zeros_like(x)
    for i in range(x.numel()):
        ahead, behind = x.clone(), x.clone()
        ahead.view(-1)[i] += 1e-5
        behind.view(-1)[i] -= 1e-5
        numerical.view(-1)[i] = (function(ahead) - function(behind)) / 2e-5
    return bool((gradient(inputs) - numerical).abs().max() <= 1e-6)


def gradient_is_right__right_entry_by_entry(function, gradient, inputs):
    """Right: goes through the entries and gives up at the first that is off by more than a millionth."""
    x = inputs.detach().double()
    claimed = gradient(x.clone()).reshape(-1)
    for i in range(x.numel()):
        values = []
        for sign in (1, -1):
            moved = x.clone().reshape(-1)
            moved[i] += sign * 1e-5
            values.append(function(moved.reshape(x.shape)))
        if abs(claimed[i].item() - (values[0] - values[1]).item() / 2e-5) > 1e-6:
            return False
    return True
