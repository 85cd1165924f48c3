# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B007, B905, E501, E731, SIM108

import torch
import torch.nn.functional as F
from einops import einsum, reduce
from torch import nn

# ---------------------------------------------------------------- layer_norm


def layer_norm__right_float64_and_centering_matrix(inputs, gain, bias, epsilon):
    d = inputs.shape[-1]
    x = inputs.to(torch.float64)
    eye = torch.eye(d, dtype=torch.float64)
    centre = eye - torch.full((d, d), 1.0 / d, dtype=torch.float64)
    x = einsum(x, centre, "... i, i j -> ... j")
    var = einsum(x, x, "... i, ... i -> ...") / d
    y = x * torch.rsqrt(var + epsilon).unsqueeze(-1)
    y = y * gain.double() + bias.double()
    return y.to(inputs.dtype)


def layer_norm__wrong_unbiased_variance(inputs, gain, bias, epsilon):
    """The variance is divided by d - 1, because that is the default of torch's var; asked is the biased variance."""
    mean = inputs.mean(dim=-1, keepdim=True)
    var = inputs.var(dim=-1, keepdim=True)
    return gain * (inputs - mean) / torch.sqrt(var + epsilon) + bias


def layer_norm__wrong_epsilon_outside_root(inputs, gain, bias, epsilon):
    """Epsilon is added to the standard deviation, but it must be added to the variance, under the root."""
    mu = reduce(inputs, "... d -> ... 1", "mean")
    centered = inputs - mu
    sigma = centered.pow(2).mean(-1, keepdim=True).sqrt()
    return centered / (sigma + epsilon) * gain + bias


def layer_norm__wrong_square_of_mean_formula(inputs, gain, bias, epsilon):
    """The variance as E[x^2] - E[x]^2 loses all its digits where features are large and differ by little."""
    mean = inputs.mean(dim=-1, keepdim=True)
    mean_of_squares = (inputs * inputs).mean(dim=-1, keepdim=True)
    var = torch.relu(mean_of_squares - mean * mean)
    return (inputs - mean) / (var + epsilon) ** 0.5 * gain + bias


def layer_norm__wrong_statistics_of_whole_tensor(inputs, gain, bias, epsilon):
    """Mean and variance are taken over all numbers of the tensor, so the vectors influence each other."""
    mean = inputs.mean()
    var = ((inputs - mean) ** 2).mean()
    out = (inputs - mean) / torch.sqrt(var + epsilon)
    return out * gain + bias


def layer_norm__wrong_inputs_changed_in_place(inputs, gain, bias, epsilon):
    """The mean is subtracted from the caller's own tensor with -=, so the inputs are changed."""
    with torch.no_grad():
        inputs -= inputs.mean(dim=-1, keepdim=True)
    var = (inputs**2).mean(dim=-1, keepdim=True)
    return gain * inputs / torch.sqrt(var + epsilon) + bias


def layer_norm__wrong_variance_detached(inputs, gain, bias, epsilon):
    """Mean and variance are detached, so the gradient treats them as constants."""
    mean = inputs.mean(dim=-1, keepdim=True).detach()
    var = inputs.var(dim=-1, keepdim=True, correction=0).detach()
    return gain * ((inputs - mean) / (var + epsilon).sqrt()) + bias


# ---------------------------------------------------------------- FeedForward


class FeedForward__right_by_einsum_and_where(nn.Module):
    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.expand = nn.Linear(d_model, d_hidden)
        self.contract = nn.Linear(d_hidden, d_model)

    def forward(self, inputs):
        h = einsum(inputs, self.expand.weight, "b t m, h m -> b t h") + self.expand.bias
        h = torch.where(h > 0, h, torch.zeros((), dtype=h.dtype))
        return einsum(h, self.contract.weight, "b t h, m h -> b t m") + self.contract.bias


class FeedForward__wrong_second_relu_at_the_end(nn.Module):
    """There is a second ReLU behind contract, so no output can be below zero."""

    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.expand = nn.Linear(d_model, d_hidden)
        self.contract = nn.Linear(d_hidden, d_model)

    def forward(self, inputs):
        x = F.relu(self.expand(inputs))
        x = F.relu(self.contract(x))
        return x


class FeedForward__wrong_gelu(nn.Module):
    """GELU as in GPT stands between the layers, but the statement asks for ReLU."""

    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.expand = nn.Linear(d_model, d_hidden)
        self.contract = nn.Linear(d_hidden, d_model)

    def forward(self, inputs):
        return self.contract(F.gelu(self.expand(inputs)))


class FeedForward__wrong_adds_the_residual(nn.Module):
    """The inputs are added to the output, but the residual connection belongs to the block."""

    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.expand = nn.Linear(d_model, d_hidden)
        self.contract = nn.Linear(d_hidden, d_model)

    def forward(self, inputs):
        hidden = self.expand(inputs).clamp(min=0)
        return inputs + self.contract(hidden)


class FeedForward__wrong_contract_without_bias(nn.Module):
    """The bias of contract is never added."""

    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.expand = nn.Linear(d_model, d_hidden)
        self.contract = nn.Linear(d_hidden, d_model)

    def forward(self, inputs):
        hidden = torch.relu(self.expand(inputs))
        return hidden @ self.contract.weight.T


class FeedForward__wrong_relu_before_expand(nn.Module):
    """ReLU is applied to the inputs and not to the hidden numbers between the two layers."""

    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.expand = nn.Linear(d_model, d_hidden)
        self.contract = nn.Linear(d_hidden, d_model)

    def forward(self, inputs):
        return self.contract(self.expand(torch.relu(inputs)))


# ---------------------------------------------------------------- transformer_block


def transformer_block__right_by_loop_over_pairs(
    inputs, attention, feed_forward, attention_norm, feed_forward_norm, order
):
    identity = lambda x: x
    stream = inputs
    for sub, norm in zip([attention, feed_forward], [attention_norm, feed_forward_norm]):
        before, after = {"pre": (norm, identity), "post": (identity, norm)}[order]
        # a copy is read, so that a careless sublayer cannot touch the stream
        stream = after(torch.add(stream, sub(before(stream.clone()))))
    return stream


def transformer_block__wrong_pre_adds_normalised(
    inputs, attention, feed_forward, attention_norm, feed_forward_norm, order
):
    """In pre-norm the normalised vectors are added to the sublayer's output, and not the vectors as they were."""
    if order == "pre":
        x = attention_norm(inputs)
        x = x + attention(x)
        y = feed_forward_norm(x)
        return y + feed_forward(y)
    x = attention_norm(inputs + attention(inputs))
    return feed_forward_norm(x + feed_forward(x))


def transformer_block__wrong_post_norm_inside_sum(
    inputs, attention, feed_forward, attention_norm, feed_forward_norm, order
):
    """In post-norm only the sublayer's output is normalised, and not the sum with the residual."""

    def sublayer(x, s, n):
        if order == "pre":
            return x + s(n(x))
        return x + n(s(x))

    x = sublayer(inputs, attention, attention_norm)
    return sublayer(x, feed_forward, feed_forward_norm)


def transformer_block__wrong_second_residual_from_inputs(
    inputs, attention, feed_forward, attention_norm, feed_forward_norm, order
):
    """The second residual connection adds the inputs of the block, and not the result of the attention sublayer."""
    if order == "pre":
        x = inputs + attention(attention_norm(inputs))
        x = inputs + feed_forward(feed_forward_norm(x))
    else:
        x = attention_norm(inputs + attention(inputs))
        x = feed_forward_norm(inputs + feed_forward(x))
    return x


def transformer_block__wrong_one_norm_for_both(
    inputs, attention, feed_forward, attention_norm, feed_forward_norm, order
):
    """The norm of the attention is used for the feed-forward sublayer too; feed_forward_norm is never called."""
    x = inputs
    for s in (attention, feed_forward):
        if order == "pre":
            x = x + s(attention_norm(x))
        else:
            x = attention_norm(x + s(x))
    return x


def transformer_block__wrong_orders_exchanged(
    inputs, attention, feed_forward, attention_norm, feed_forward_norm, order
):
    """What is called pre-norm is computed for "post", and the other way round."""
    if order == "post":
        x = inputs + attention(attention_norm(inputs))
        return x + feed_forward(feed_forward_norm(x))
    else:
        x = attention_norm(inputs + attention(inputs))
        return feed_forward_norm(x + feed_forward(x))


def transformer_block__wrong_stream_in_place(inputs, attention, feed_forward, attention_norm, feed_forward_norm, order):
    """In pre-norm the stream is the caller's tensor, and += writes the result into it."""
    x = inputs
    if order == "pre":
        x += attention(attention_norm(x))
        x += feed_forward(feed_forward_norm(x))
        return x
    x = attention_norm(x + attention(x))
    return feed_forward_norm(x + feed_forward(x))


# ---------------------------------------------------------------- gradient_norms


def gradient_norms__right_by_vjp_recursion(layer, inputs, depth, residual):
    def step(x):
        return x + layer(x) if residual else layer(x)

    def down(x, left):
        """gradient at x, and the norms from here on"""
        if left == 0:
            return torch.ones_like(x), []
        out, pull = torch.func.vjp(step, x)
        above, norms = down(out, left - 1)
        (here,) = pull(above)
        return here, [(here * here).sum().sqrt()] + norms

    return torch.stack(down(inputs.detach(), depth)[1])


def gradient_norms__wrong_mean_of_output(layer, inputs, depth, residual):
    """The gradient is taken of the mean of the output, but S is the sum of all entries."""
    xs = [inputs.clone().requires_grad_()]
    for _ in range(depth):
        y = layer(xs[-1])
        xs.append(xs[-1] + y if residual else y)
    grads = torch.autograd.grad(xs[-1].mean(), xs[:-1])
    return torch.stack([g.norm() for g in grads])


def gradient_norms__wrong_shifted_by_one(layer, inputs, depth, residual):
    """The gradients are those for the outputs of the layers, so the lowest is missing and the last is that of S itself."""
    x = inputs.clone().requires_grad_()
    hidden = []
    for i in range(depth):
        if residual:
            x = x + layer(x)
        else:
            x = layer(x)
        hidden.append(x)
    grads = torch.autograd.grad(x.sum(), hidden)
    return torch.stack([torch.linalg.vector_norm(g) for g in grads])


def gradient_norms__wrong_residual_from_the_bottom(layer, inputs, depth, residual):
    """The residual adds the inputs of the whole stack at every layer, and not the input of that layer."""
    hidden = [inputs.clone().requires_grad_()]
    for _ in range(depth):
        out = layer(hidden[-1])
        if residual:
            out = out + hidden[0]
        hidden.append(out)
    grads = torch.autograd.grad(hidden[-1].sum(), hidden[:-1])
    return torch.stack([(g**2).sum() ** 0.5 for g in grads])


def gradient_norms__wrong_top_layer_first(layer, inputs, depth, residual):
    """The norms come in the order of the backward pass, the top layer first; the lowest must come first."""
    x = inputs.clone().requires_grad_()
    kept = []
    for _ in range(depth):
        kept.append(x)
        x = x + layer(x) if residual else layer(x)
    grads = torch.autograd.grad(x.sum(), kept[::-1])
    return torch.stack([g.norm() for g in grads])


def gradient_norms__wrong_no_root(layer, inputs, depth, residual):
    """The sums of the squares are returned without the square root."""
    hidden = [inputs.clone().requires_grad_()]
    for _ in range(depth):
        hidden.append(layer(hidden[-1]) + (hidden[-1] if residual else 0))
    grads = torch.autograd.grad(hidden[-1].sum(), hidden[:-1])
    return torch.stack([reduce(g**2, "t d ->", "sum") for g in grads])


def gradient_norms__wrong_each_layer_alone(layer, inputs, depth, residual):
    """Each layer is measured in its own graph, so the gradient does not come through the layers above."""
    x = inputs
    norms = []
    for _ in range(depth):
        x = x.detach().requires_grad_()
        y = x + layer(x) if residual else layer(x)
        (g,) = torch.autograd.grad(y.sum(), x)
        norms.append(g.norm())
        x = y
    return torch.stack(norms)


# ---------------------------------------------------------------- numerical_gradient


def numerical_gradient__right_by_unit_vectors(function, inputs, step):
    x = inputs.detach().double()
    n = x.numel()
    units = step * torch.eye(n, dtype=torch.float64).reshape((n,) + tuple(x.shape))
    slopes = [(float(function(x + u)) - float(function(x - u))) / (2 * step) for u in units]
    return torch.tensor(slopes, dtype=torch.float64).reshape(x.shape)


def numerical_gradient__wrong_forward_difference(function, inputs, step):
    """This is the one-sided difference from x to x + h, and not the central one."""
    x = inputs.double()
    base = function(x)
    grad = torch.zeros_like(x)
    for i in range(x.numel()):
        ahead = x.clone()
        ahead.view(-1)[i] += step
        grad.view(-1)[i] = (function(ahead) - base) / step
    return grad


def numerical_gradient__wrong_divided_by_one_step(function, inputs, step):
    """The difference over two steps is divided by one step, so everything is twice too large."""
    x = inputs.double()
    result = []
    for i in range(x.numel()):
        a, b = x.clone().flatten(), x.clone().flatten()
        a[i] += step
        b[i] -= step
        result.append((function(a.reshape(x.shape)) - function(b.reshape(x.shape))) / step)
    return torch.stack(result).reshape(x.shape)


def numerical_gradient__wrong_float64_only_at_the_end(function, inputs, step):
    """The function is computed in the dtype of the inputs, and only the finished gradient is made double."""
    grad = torch.zeros_like(inputs)
    for i in range(inputs.numel()):
        ahead = inputs.clone()
        behind = inputs.clone()
        ahead.view(-1)[i] += step
        behind.view(-1)[i] -= step
        grad.view(-1)[i] = (function(ahead) - function(behind)) / (2 * step)
    return grad.double()


def numerical_gradient__wrong_entry_not_put_back(function, inputs, step):
    """One copy serves for all entries, and an entry that was moved back by two steps is never put back."""
    x = inputs.double().clone()
    grad = torch.zeros_like(x)
    for i in range(x.numel()):
        x.view(-1)[i] += step
        plus = function(x)
        x.view(-1)[i] -= 2 * step
        minus = function(x)
        grad.view(-1)[i] = (plus - minus) / (2 * step)
    return grad


def numerical_gradient__wrong_whole_rows_move(function, inputs, step):
    """The loop goes over the first axis only, so with a matrix a whole row is moved at once."""
    x = inputs.double()
    grad = torch.zeros_like(x)
    for i in range(len(x)):
        e = torch.zeros_like(x)
        e[i] = 1
        grad[i] = (function(x + step * e) - function(x - step * e)) / (2 * step)
    return grad


def numerical_gradient__wrong_autograd(function, inputs, step):
    """This is the derivative by autograd; asked is the central difference, which with a wide step is another number."""
    x = inputs.detach().double().clone().requires_grad_()
    return torch.autograd.grad(function(x), x)[0]


# ---------------------------------------------------------------- gradient_is_right


def gradient_is_right__right_entry_by_entry(function, gradient, inputs):
    h = 0.00001
    x = inputs.detach().to(torch.float64)
    claimed = gradient(x.clone()).reshape(-1).tolist()
    flat = x.reshape(-1)
    for i, claim in enumerate(claimed):
        ahead, behind = flat.clone(), flat.clone()
        ahead[i] += h
        behind[i] -= h
        slope = (function(ahead.reshape(x.shape)) - function(behind.reshape(x.shape))).item() / (2 * h)
        if not abs(slope - claim) <= 0.000001:
            return False
    return True


def _central(function, inputs, step):
    x = inputs.double()
    out = torch.zeros_like(x)
    for i in range(x.numel()):
        e = torch.zeros(x.numel(), dtype=x.dtype)
        e[i] = step
        e = e.reshape(x.shape)
        out.view(-1)[i] = (function(x + e) - function(x - e)) / (2 * step)
    return out


def gradient_is_right__wrong_no_absolute_value(function, gradient, inputs):
    """Without the absolute value a claimed entry that is too large is never found."""
    difference = _central(function, inputs, 1e-5) - gradient(inputs.double())
    return bool(difference.max() <= 1e-6)


def gradient_is_right__wrong_mean_difference(function, gradient, inputs):
    """The mean of the differences is compared with the millionth, so that one wrong entry can hide among right ones."""
    difference = (_central(function, inputs, 1e-5) - gradient(inputs.double())).abs()
    return difference.mean().item() <= 1e-6


def gradient_is_right__wrong_allclose_relative(function, gradient, inputs):
    """allclose has a relative tolerance and its own absolute one, and neither is the millionth of the statement."""
    return torch.allclose(_central(function, inputs, 0.00001), gradient(inputs.double()), rtol=1e-4)


def gradient_is_right__wrong_float32_gradient(function, gradient, inputs):
    """The claimed gradient is computed in float32, so its rounding makes right gradients look wrong."""
    claimed = gradient(inputs).double()
    gap = (_central(function, inputs, 1e-5) - claimed).abs().max()
    return bool(gap <= 1e-6)


def gradient_is_right__wrong_compares_norms(function, gradient, inputs):
    """Only the lengths of the two gradients are compared, so a wrong sign is not found."""
    a = _central(function, inputs, 1e-5)
    b = gradient(inputs.double())
    return abs(a.norm().item() - b.norm().item()) <= 1e-6


def gradient_is_right__wrong_step_too_wide(function, gradient, inputs):
    """The step is a hundredth, and then the central difference itself is off by more than a millionth."""
    numeric = _central(function, inputs, 0.01)
    claimed = gradient(inputs.double())
    return bool(((numeric - claimed).abs() <= 1e-6).all())
