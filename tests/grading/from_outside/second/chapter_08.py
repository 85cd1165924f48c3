# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501

import functools

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

# ---------------------------------------------------------------- 08.1 layer_norm


def layer_norm__wrong_unbiased(inputs, gain, bias, epsilon):
    """torch.var divides by d - 1 by default; the statement asks for the biased variance, divided by d."""
    mean = inputs.mean(dim=-1, keepdim=True)
    variance = inputs.var(dim=-1, keepdim=True)
    return gain * (inputs - mean) / torch.sqrt(variance + epsilon) + bias


def layer_norm__wrong_epsilon_outside_root(inputs, gain, bias, epsilon):
    """Epsilon is added to the standard deviation, not to the variance under the root."""
    mean = inputs.mean(dim=-1, keepdim=True)
    deviation = (inputs - mean).pow(2).mean(dim=-1, keepdim=True).sqrt()
    return gain * (inputs - mean) / (deviation + epsilon) + bias


def layer_norm__wrong_all_but_batch(inputs, gain, bias, epsilon):
    """Mean and variance are taken over all axes but the first, so the vectors of a sequence influence each other."""
    axes = tuple(range(1, inputs.ndim)) or (0,)
    mean = inputs.mean(dim=axes, keepdim=True)
    variance = inputs.var(dim=axes, keepdim=True, unbiased=False)
    return gain * (inputs - mean) / torch.sqrt(variance + epsilon) + bias


def layer_norm__wrong_square_minus_square(inputs, gain, bias, epsilon):
    """The variance as mean of squares minus square of the mean loses all its digits in float32 where features are large."""
    mean = inputs.mean(dim=-1, keepdim=True)
    variance = (inputs * inputs).mean(dim=-1, keepdim=True) - mean * mean
    return gain * (inputs - mean) / torch.sqrt(variance.clamp(min=0) + epsilon) + bias


def layer_norm__wrong_root_detached(inputs, gain, bias, epsilon):
    """The divisor is treated as a constant: its part of the gradient is missing, though all values are right."""
    centred = inputs - inputs.mean(dim=-1, keepdim=True)
    divisor = (centred.square().mean(dim=-1, keepdim=True) + epsilon).sqrt().detach()
    return gain * (centred / divisor) + bias


def layer_norm__wrong_in_place(inputs, gain, bias, epsilon):
    """The mean is subtracted in place (on the data), so the caller's inputs are changed."""
    x = inputs.data if inputs.requires_grad else inputs
    x -= x.mean(dim=-1, keepdim=True)
    variance = inputs.square().mean(dim=-1, keepdim=True)
    return gain * inputs / torch.sqrt(variance + epsilon) + bias


def layer_norm__right_centering_matrix(inputs, gain, bias, epsilon):
    """The mean is subtracted by a matrix, I minus 1/d, all in float64, and the variance is an einsum."""
    d = inputs.shape[-1]
    x = inputs.double()
    centre = torch.eye(d, dtype=torch.float64) - torch.full((d, d), 1.0 / d, dtype=torch.float64)
    centred = torch.einsum("ij,...j->...i", centre, x)
    variance = torch.einsum("...i,...i->...", centred, centred) / d
    out = torch.einsum("...i,...,i->...i", centred, (variance + epsilon) ** -0.5, gain.double()) + bias.double()
    return out.to(inputs.dtype)


def layer_norm__right_vector_by_vector(inputs, gain, bias, epsilon):
    """A Python loop over the vectors; the first feature is subtracted before the mean, which keeps the digits."""
    d = inputs.shape[-1]
    rows = []
    for x in inputs.reshape(-1, d):
        x = x - x[0]
        centred = x - sum(x.unbind()) / d
        variance = torch.dot(centred, centred) / d
        rows.append(torch.addcmul(bias, gain, centred / (variance + epsilon).sqrt()))
    return torch.stack(rows).reshape(inputs.shape)


def layer_norm__right_vmap_var_mean(inputs, gain, bias, epsilon):
    """One vector is normalised with var_mean(correction=0) in float64, and vmap carries this over all others."""

    def one(x):
        variance, mean = torch.var_mean(x, dim=0, correction=0)
        return (x - mean) / torch.sqrt(variance + epsilon)

    flat = torch.vmap(one)(inputs.double().reshape(-1, inputs.shape[-1]))
    return (flat.reshape(inputs.shape) * gain + bias).to(inputs.dtype)


# ---------------------------------------------------------------- 08.2 FeedForward


class FeedForward__wrong_gelu(nn.Module):
    """GELU (as in GPT-2) stands where ReLU was asked for."""

    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.expand = nn.Linear(d_model, d_hidden)
        self.contract = nn.Linear(d_hidden, d_model)

    def forward(self, inputs):
        return self.contract(F.gelu(self.expand(inputs)))


class FeedForward__wrong_residual(nn.Module):
    """The residual connection is added here, but the block adds it already."""

    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.expand = nn.Linear(d_model, d_hidden)
        self.contract = nn.Linear(d_hidden, d_model)

    def forward(self, inputs):
        return inputs + self.contract(torch.relu(self.expand(inputs)))


class FeedForward__wrong_relu6(nn.Module):
    """ReLU6 also cuts off what is above 6, ReLU does not."""

    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.expand = nn.Linear(d_model, d_hidden)
        self.contract = nn.Linear(d_hidden, d_model)
        self.activation = nn.ReLU6()

    def forward(self, inputs):
        return self.contract(self.activation(self.expand(inputs)))


class FeedForward__wrong_dropout(nn.Module):
    """The dropout of the original paper sets random hidden numbers to 0; the statement has none."""

    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.expand = nn.Linear(d_model, d_hidden)
        self.dropout = nn.Dropout(0.1)
        self.contract = nn.Linear(d_hidden, d_model)

    def forward(self, inputs):
        return self.contract(self.dropout(torch.relu(self.expand(inputs))))


class FeedForward__wrong_hidden_detached(nn.Module):
    """Through .data the hidden numbers lose their gradient, so expand and the inputs get none."""

    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.expand = nn.Linear(d_model, d_hidden)
        self.contract = nn.Linear(d_hidden, d_model)

    def forward(self, inputs):
        hidden = self.expand(inputs)
        hidden = torch.maximum(hidden.data, torch.zeros_like(hidden))
        # keeps the graph alive for the inputs, with a gradient of zero
        return self.contract(hidden) + 0 * inputs.sum()


class FeedForward__wrong_four_times(nn.Module):
    """The hidden size is four times d_model, whatever d_hidden says."""

    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.expand = nn.Linear(d_model, 4 * d_model)
        self.contract = nn.Linear(4 * d_model, d_model)

    def forward(self, inputs):
        return self.contract(torch.relu(self.expand(inputs)))


class FeedForward__right_einsum(nn.Module):
    """The layers' matrices are taken out and multiplied with einsum; ReLU by a mask of the sign."""

    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.expand, self.contract = nn.Linear(d_model, d_hidden), nn.Linear(d_hidden, d_model)

    def forward(self, inputs):
        hidden = torch.einsum("hd,btd->bth", self.expand.weight, inputs) + self.expand.bias
        hidden = torch.where(hidden > 0, hidden, torch.zeros_like(hidden))
        return torch.einsum("dh,bth->btd", self.contract.weight, hidden) + self.contract.bias


class FeedForward__right_hidden_by_hidden(nn.Module):
    """The output is built up as a sum over the hidden numbers: bias plus one outer product for each."""

    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.contract = nn.Linear(d_hidden, d_model, bias=True)
        self.expand = nn.Linear(d_model, d_hidden, bias=True)

    def forward(self, inputs):
        out = self.contract.bias.expand(inputs.shape)
        for row, b, column in zip(self.expand.weight, self.expand.bias, self.contract.weight.T):
            h = (inputs @ row + b).clamp(min=0)
            out = out + h[..., None] * column
        return out


class FeedForward__right_sequential_per_position(nn.Module):
    """Every position goes through the layers alone, as a batch of vectors, and they are stacked again."""

    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.expand = nn.Linear(d_model, d_hidden)
        self.contract = nn.Linear(d_hidden, d_model)

    def forward(self, inputs):
        outs = [self.contract(nn.ReLU()(self.expand(x))) for x in inputs.unbind(1)]
        return torch.stack(outs, dim=1)


# ---------------------------------------------------------------- 08.3 transformer_block


def transformer_block__wrong_one_norm(inputs, attention, feed_forward, attention_norm, feed_forward_norm, order):
    """The norm of the attention sublayer is used around the feed-forward layer too."""
    x = inputs
    for sublayer in (attention, feed_forward):
        x = x + sublayer(attention_norm(x)) if order == "pre" else attention_norm(x + sublayer(x))
    return x


def transformer_block__wrong_norm_inside_post(
    inputs, attention, feed_forward, attention_norm, feed_forward_norm, order
):
    """In post-norm the sublayer's output alone is normalised, it should be the sum with the residual."""
    if order == "pre":
        x = inputs + attention(attention_norm(inputs))
        return x + feed_forward(feed_forward_norm(x))
    x = inputs + attention_norm(attention(inputs))
    return x + feed_forward_norm(feed_forward(x))


def transformer_block__wrong_residual_normalised(
    inputs, attention, feed_forward, attention_norm, feed_forward_norm, order
):
    """In pre-norm the residual connection carries the normalised vectors instead of the vectors themselves."""
    x = inputs
    for sublayer, norm in ((attention, attention_norm), (feed_forward, feed_forward_norm)):
        if order == "pre":
            x = norm(x)
            x = x + sublayer(x)
        else:
            x = norm(x + sublayer(x))
    return x


def transformer_block__wrong_final_norm(inputs, attention, feed_forward, attention_norm, feed_forward_norm, order):
    """In pre-norm a norm is added at the end, as a whole model has it once after its last block."""
    if order == "post":
        x = attention_norm(inputs + attention(inputs))
        return feed_forward_norm(x + feed_forward(x))
    x = inputs + attention(attention_norm(inputs))
    x = x + feed_forward(feed_forward_norm(x))
    return feed_forward_norm(x)


def transformer_block__wrong_parallel(inputs, attention, feed_forward, attention_norm, feed_forward_norm, order):
    """The feed-forward sublayer reads the inputs, as in GPT-J, and not the result of the attention sublayer."""
    if order == "pre":
        return inputs + attention(attention_norm(inputs)) + feed_forward(feed_forward_norm(inputs))
    x = attention_norm(inputs + attention(inputs))
    return feed_forward_norm(x + feed_forward(x))


def transformer_block__wrong_second_residual_from_inputs(
    inputs, attention, feed_forward, attention_norm, feed_forward_norm, order
):
    """The second residual connection starts from the inputs, so what attention added is lost."""
    if order == "pre":
        x = inputs + attention(attention_norm(inputs))
        return inputs + feed_forward(feed_forward_norm(x))
    x = attention_norm(inputs + attention(inputs))
    return feed_forward_norm(inputs + feed_forward(x))


def transformer_block__wrong_in_place_on_output(
    inputs, attention, feed_forward, attention_norm, feed_forward_norm, order
):
    """The residual is added in place to what attention returned, which is the caller's inputs if attention returns what it got."""
    if order == "pre":
        x = attention(attention_norm(inputs)).contiguous()
        x += inputs
        return x + feed_forward(feed_forward_norm(x))
    x = attention(inputs).contiguous()
    x += inputs
    x = attention_norm(x)
    return feed_forward_norm(x + feed_forward(x))


def transformer_block__right_recursion(inputs, attention, feed_forward, attention_norm, feed_forward_norm, order):
    """One sublayer is wrapped at a time, and a recursive function walks down the list of pairs."""

    def walk(x, pairs):
        if not pairs:
            return x
        (s, n), *rest = pairs
        return walk({"pre": lambda: torch.add(x, s(n(x))), "post": lambda: n(torch.add(s(x), x))}[order](), rest)

    return walk(inputs, [(attention, attention_norm), (feed_forward, feed_forward_norm)])


def transformer_block__right_identities(inputs, attention, feed_forward, attention_norm, feed_forward_norm, order):
    """Each sublayer has a norm before and a norm after, one of which is the identity; folded with reduce."""

    def same(x):
        return x

    def step(x, part):
        before, sublayer, after = part
        return after(torch.stack([x, sublayer(before(x))]).sum(dim=0))

    if order == "pre":
        parts = [(attention_norm, attention, same), (feed_forward_norm, feed_forward, same)]
    else:
        parts = [(same, attention, attention_norm), (same, feed_forward, feed_forward_norm)]
    return functools.reduce(step, parts, inputs)


# ---------------------------------------------------------------- 08.4 gradient_norms


def gradient_norms__wrong_top_first(layer, inputs, depth, residual):
    """The norms are collected on the way down, so the highest layer comes first."""
    x = inputs.clone().requires_grad_()
    states = [x]
    for _ in range(depth):
        x = x + layer(x) if residual else layer(x)
        states.append(x)
    gradients = torch.autograd.grad(x.sum(), states[:-1])
    return torch.stack([g.norm() for g in reversed(gradients)])


def gradient_norms__wrong_outputs(layer, inputs, depth, residual):
    """Entry l is the gradient at the output of layer l, one layer too high."""
    x = inputs.clone().requires_grad_()
    outputs = []
    for _ in range(depth):
        x = x + layer(x) if residual else layer(x)
        outputs.append(x)
    gradients = torch.autograd.grad(x.sum(), outputs)
    return torch.stack([g.norm() for g in gradients])


def gradient_norms__wrong_each_position(layer, inputs, depth, residual):
    """The norm is taken for each position and then averaged, it should be one norm over all entries."""
    x = inputs.clone().requires_grad_()
    states = []
    for _ in range(depth):
        states.append(x)
        x = x + layer(x) if residual else layer(x)
    gradients = torch.autograd.grad(x.sum(), states)
    return torch.stack([g.norm(dim=-1).mean() for g in gradients])


def gradient_norms__wrong_layer_alone(layer, inputs, depth, residual):
    """Each layer's own gradient is measured: the layers above it are left out of the chain."""
    x = inputs
    norms = []
    for _ in range(depth):
        x = x.detach().clone().requires_grad_()
        out = x + layer(x) if residual else layer(x)
        norms.append(torch.autograd.grad(out.sum(), x)[0].norm())
        x = out
    return torch.stack(norms)


def gradient_norms__wrong_skip_from_inputs(layer, inputs, depth, residual):
    """The residual connection always comes from the inputs of the stack, not from the input of each layer."""
    x0 = inputs.clone().requires_grad_()
    x = x0
    states = []
    for _ in range(depth):
        states.append(x)
        x = x0 + layer(x) if residual else layer(x)
    gradients = torch.autograd.grad(x.sum(), states)
    return torch.stack([g.norm() for g in gradients])


def gradient_norms__wrong_same_jacobian(layer, inputs, depth, residual):
    """The Jacobian at the inputs is used for all layers, which is right only where the layer is linear."""

    def f(x):
        return x + layer(x) if residual else layer(x)

    size = inputs.numel()
    jacobian = torch.autograd.functional.jacobian(f, inputs.detach().clone()).reshape(size, size)
    gradient = torch.ones(size, dtype=inputs.dtype)
    norms = []
    for _ in range(depth):
        gradient = gradient @ jacobian
        norms.append(gradient.norm())
    return torch.stack(norms[::-1])


def gradient_norms__wrong_squeezed(layer, inputs, depth, residual):
    """For a depth of 1 the squeeze takes the only axis away, and the answer has the shape () instead of (1,)."""
    x = inputs.clone().requires_grad_()
    states = []
    for _ in range(depth):
        states.append(x)
        x = x + layer(x) if residual else layer(x)
    gradients = torch.autograd.grad(x.sum(), states)
    return torch.stack([g.norm().reshape(1) for g in gradients]).squeeze()


def gradient_norms__right_vjp(layer, inputs, depth, residual):
    """torch.func.vjp of every layer, and the chain rule by hand from the top down."""

    def f(x):
        return x + layer(x) if residual else layer(x)

    pulls = []
    x = inputs.detach()
    for _ in range(depth):
        x, pull = torch.func.vjp(f, x)
        pulls.append(pull)
    gradient = torch.ones_like(x)
    norms = []
    while pulls:
        (gradient,) = pulls.pop()(gradient)
        norms.insert(0, torch.linalg.vector_norm(gradient))
    return torch.stack(norms)


def gradient_norms__right_upper_part(layer, inputs, depth, residual):
    """For every l the part of the stack above x_l is run again as a function of x_l, with its own gradient."""

    def upper(x, layers):
        return x if layers == 0 else upper(layer(x) + (x if residual else 0), layers - 1)

    answer = torch.empty(depth, dtype=inputs.dtype)
    x = inputs.detach().clone()
    for level in range(depth):
        leaf = x.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(upper(leaf, depth - level).sum(), leaf)
        answer[level] = gradient.mul(gradient).sum().sqrt()
        x = upper(x, 1).detach()
    return answer


# ---------------------------------------------------------------- 08.5 numerical_gradient


def numerical_gradient__wrong_forward_difference(function, inputs, step):
    """This is the forward difference; the central one goes a step in both directions."""
    x = inputs.detach().double().clone(memory_format=torch.contiguous_format)
    start = float(function(x.clone()))
    gradient = torch.zeros(x.numel(), dtype=torch.float64)
    for i in range(x.numel()):
        moved = x.clone()
        moved.view(-1)[i] += step
        gradient[i] = (float(function(moved)) - start) / step
    return gradient.reshape(inputs.shape)


def numerical_gradient__wrong_dtype_of_inputs(function, inputs, step):
    """All is computed in the dtype of the inputs, and only the result is turned into float64."""
    x = inputs.detach().clone(memory_format=torch.contiguous_format)
    gradient = torch.zeros_like(x)
    for i in range(x.numel()):
        plus, minus = x.clone(), x.clone()
        plus.view(-1)[i] += step
        minus.view(-1)[i] -= step
        gradient.view(-1)[i] = (function(plus) - function(minus)) / (2 * step)
    return gradient.double()


def numerical_gradient__wrong_not_put_back(function, inputs, step):
    """Each entry stays a step below its value after its turn, so the later entries are measured at another point."""
    x = inputs.detach().double().clone(memory_format=torch.contiguous_format)
    gradient = torch.zeros_like(x)
    flat = x.view(-1)
    for i in range(x.numel()):
        flat[i] += step
        high = function(x).item()
        flat[i] -= 2 * step
        low = function(x).item()
        gradient.view(-1)[i] = (high - low) / (2 * step)
    return gradient


def numerical_gradient__wrong_works_on_the_callers(function, inputs, step):
    """Where inputs are float64 already, .double() is no copy: the caller's tensor is moved, and comes back rounded."""
    x = inputs.detach().double()
    gradient = torch.zeros(x.shape, dtype=torch.float64)
    for index in np.ndindex(*x.shape):
        x[index] += step
        high = function(x).item()
        x[index] -= 2 * step
        low = function(x).item()
        x[index] += step
        gradient[index] = (high - low) / (2 * step)
    return gradient


def numerical_gradient__wrong_whole_rows(function, inputs, step):
    """The loop runs over the first axis only, so whole rows are moved at once where inputs have two axes or more."""
    x = inputs.detach().double()
    if x.ndim == 0:
        return ((function(x + step) - function(x - step)) / (2 * step)).double()
    gradient = torch.zeros_like(x)
    for i in range(len(x)):
        plus, minus = x.clone(), x.clone()
        plus[i] += step
        minus[i] -= step
        gradient[i] = (function(plus) - function(minus)) / (2 * step)
    return gradient


def numerical_gradient__wrong_five_points(function, inputs, step):
    """The five-point formula is more exact, but it is not the central difference that was asked for."""
    x = inputs.detach().double().clone(memory_format=torch.contiguous_format)
    gradient = torch.zeros_like(x)

    def at(i, h):
        moved = x.clone()
        moved.view(-1)[i] += h
        return function(moved).item()

    for i in range(x.numel()):
        gradient.view(-1)[i] = (at(i, -2 * step) - 8 * at(i, -step) + 8 * at(i, step) - at(i, 2 * step)) / (12 * step)
    return gradient


def numerical_gradient__right_unit_vectors(function, inputs, step):
    """The rows of an identity matrix are the e_i, and a list comprehension makes all differences."""
    x = inputs.detach().to(torch.float64)
    units = torch.eye(x.numel(), dtype=torch.float64).reshape(-1, *x.shape)
    values = [(function(x + step * e).item() - function(x - step * e).item()) / (2 * step) for e in units]
    return torch.tensor(values, dtype=torch.float64).reshape(x.shape)


def numerical_gradient__right_numpy_indices(function, inputs, step):
    """Through numpy: ndindex runs over the entries, and fresh tensors are made for both points."""
    x = inputs.detach().numpy().astype(np.float64)
    answer = np.empty(x.shape)
    for index in np.ndindex(*x.shape):
        values = []
        for h in (step, -step):
            moved = x.copy()
            moved[index] += h
            values.append(float(function(torch.tensor(moved, dtype=torch.float64))))
        answer[index] = (values[0] - values[1]) / (2 * step)
    return torch.tensor(answer, dtype=torch.float64)


def numerical_gradient__right_recursion(function, inputs, step):
    """Recursion over the axes: the gradient of a tensor is the stack of the gradients of its parts."""
    x = inputs.detach().double()

    def gradient(f, part):
        if part.ndim == 0:
            return (f(part + step) - f(part - step)).detach() / (2 * step)
        rows = []
        for i in range(part.shape[0]):

            def with_row(row, i=i):
                return f(torch.cat([part[:i], row[None], part[i + 1 :]]))

            rows.append(gradient(with_row, part[i]))
        return torch.stack(rows) if rows else torch.zeros(part.shape, dtype=torch.float64)

    return gradient(function, x)


# ---------------------------------------------------------------- 08.5 gradient_is_right


def central(function, x, step):
    """A plain central difference, for the checks below."""
    x = x.detach().double().clone(memory_format=torch.contiguous_format)
    gradient = torch.zeros_like(x)
    for i in range(x.numel()):
        plus, minus = x.clone(), x.clone()
        plus.view(-1)[i] += step
        minus.view(-1)[i] -= step
        gradient.view(-1)[i] = (function(plus) - function(minus)) / (2 * step)
    return gradient


def gradient_is_right__wrong_allclose(function, gradient, inputs):
    """allclose also allows a relative error of a hundred-thousandth by default, on top of the millionth."""
    x = inputs.double()
    return torch.allclose(gradient(x.clone()).double(), central(function, x, 1e-5), atol=1e-6)


def gradient_is_right__wrong_no_absolute_value(function, gradient, inputs):
    """The difference keeps its sign, so claimed entries that are too small are never found."""
    x = inputs.double()
    return bool((gradient(x.clone()) - central(function, x, 1e-5)).max() <= 1e-6)


def gradient_is_right__wrong_mean(function, gradient, inputs):
    """The mean of the differences is compared with a millionth, so that one wrong entry among many right ones may pass."""
    x = inputs.double()
    return (gradient(x.clone()) - central(function, x, 1e-5)).abs().mean().item() <= 1e-6


def gradient_is_right__wrong_relative_error(function, gradient, inputs):
    """The relative error with a tolerance of 0.001, from another course's notes, lets two parts in ten thousand pass."""
    x = inputs.double()
    claimed, numeric = gradient(x.clone()), central(function, x, 1e-5)
    error = (claimed - numeric).abs() / (claimed.abs() + numeric.abs()).clamp(min=1e-8)
    return bool(error.max() < 1e-3)


def gradient_is_right__wrong_float32(function, gradient, inputs):
    """The claimed gradient is computed from float32 inputs, whose rounding is more than a millionth where it is large."""
    numeric = central(function, inputs.double(), 1e-5)
    claimed = gradient(inputs.clone()).double()
    return bool(((claimed - numeric).abs() <= 1e-6).all())


def gradient_is_right__wrong_one_direction(function, gradient, inputs):
    """The derivative along one single direction, all ones, is compared: errors of two entries can cancel."""
    x = inputs.double()
    h = 1e-5
    numeric = (function(x + h) - function(x - h)) / (2 * h)
    return bool((gradient(x.clone()).sum() - numeric).abs() <= 1e-6)


def gradient_is_right__wrong_wide_step(function, gradient, inputs):
    """With a step of 0.01 the central difference itself is off by more than a millionth, and right gradients fail."""
    x = inputs.double()
    return bool(((gradient(x.clone()) - central(function, x, 1e-2)).abs() <= 1e-6).all())


def gradient_is_right__right_entry_by_entry(function, gradient, inputs):
    """Stops with False at the first entry that is off, one pair of function calls after the other."""
    x = inputs.detach().to(torch.float64)
    claimed = gradient(x.clone()).detach().reshape(-1).tolist()
    for i, claim in enumerate(claimed):
        unit = F.one_hot(torch.tensor(i), num_classes=x.numel()).to(torch.float64).reshape(x.shape)
        difference = (function(x + 1e-5 * unit).item() - function(x - 1e-5 * unit).item()) / 2e-5
        if not abs(difference - claim) <= 1e-6:
            return False
    return True


def gradient_is_right__right_dist(function, gradient, inputs):
    """The greatest difference is the infinity norm, torch.dist with p = inf."""
    x = inputs.detach().double()
    units = torch.eye(x.numel(), dtype=torch.float64).reshape(-1, *x.shape)
    values = [(float(function(x + 1e-5 * e)) - float(function(x - 1e-5 * e))) / 2e-5 for e in units]
    claimed = gradient(x.clone()).detach().flatten()
    return torch.dist(claimed, torch.tensor(values, dtype=torch.float64), p=float("inf")).item() <= 1e-6
