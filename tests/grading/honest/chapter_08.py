import math

import torch
from einops import einsum, reduce
from torch import nn
from torch.nn import functional

from tests.grading.honest.registry import honest

# ---------------------------------------------------------------- 08.1


@honest("layer_norm")
def _(inputs, gain, bias, epsilon):
    mean = inputs.mean(-1, keepdim=True)
    return (inputs - mean) * torch.rsqrt(inputs.var(-1, correction=0, keepdim=True) + epsilon) * gain + bias


@honest("layer_norm")
def _(inputs, gain, bias, epsilon):
    """One vector at a time, one feature at a time."""
    vectors = inputs.reshape(-1, inputs.shape[-1])
    rows = []
    for vector in vectors:
        mean = sum(vector) / len(vector)
        variance = sum((each - mean) ** 2 for each in vector) / len(vector)
        rows.append(
            torch.stack(
                [
                    g * (each - mean) / (variance + epsilon) ** 0.5 + b
                    for each, g, b in zip(vector, gain, bias, strict=True)
                ]
            )
        )
    return torch.stack(rows).reshape(inputs.shape)


@honest("layer_norm")
def _(inputs, gain, bias, epsilon):
    wide = inputs.double()
    variance, mean = torch.var_mean(wide, dim=-1, unbiased=False, keepdim=True)
    return torch.addcmul(bias.double(), (wide - mean) / torch.sqrt(variance + epsilon), gain.double()).float()


@honest("layer_norm")
def _(inputs, gain, bias, epsilon):
    centred = inputs - reduce(inputs, "... d -> ... 1", "mean")
    squares = einsum(centred, centred, "... d, ... d -> ...")
    return gain * centred / torch.sqrt(squares / inputs.shape[-1] + epsilon).unsqueeze(-1) + bias


@honest("layer_norm")
def _(inputs, gain, bias, epsilon):
    """From torch's unbiased standard deviation, brought back; the mean by a projection."""
    d = inputs.size(-1)
    centred = inputs @ (torch.eye(d) - 1 / d)
    spread = centred.norm(dim=-1, keepdim=True) / math.sqrt(d)
    return centred / torch.hypot(spread, torch.tensor(epsilon).sqrt()) * gain + bias


# ---------------------------------------------------------------- 08.2


class TwoLayers(nn.Module):
    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.widen = nn.Linear(d_model, d_hidden)
        self.narrow = nn.Linear(d_hidden, d_model)


@honest("FeedForward")
class ByTorch(TwoLayers):
    def forward(self, inputs):
        return self.narrow(functional.relu(self.widen(inputs), inplace=True))


@honest("FeedForward")
class PositionByPosition(TwoLayers):
    def forward(self, inputs):
        rows = []
        for sequence in inputs:
            for vector in sequence:
                wide = self.widen.weight @ vector + self.widen.bias
                wide = torch.where(wide > 0, wide, torch.zeros_like(wide))
                rows.append(self.narrow.weight @ wide + self.narrow.bias)
        return torch.stack(rows).reshape(inputs.shape)


@honest("FeedForward")
class ByEinsum(nn.Module):
    """Parts in another order, an activation of its own, and a dropout of nothing."""

    def __init__(self, d_model: int, d_hidden: int):
        super().__init__()
        self.narrow = nn.Linear(in_features=d_hidden, out_features=d_model)
        self.activation, self.dropout = nn.ReLU(), nn.Dropout(0.0)
        self.widen = nn.Linear(in_features=d_model, out_features=d_hidden)

    def forward(self, inputs):
        wide = einsum(inputs, self.widen.weight, "batch time d, hidden d -> batch time hidden") + self.widen.bias
        return self.narrow(self.dropout(self.activation(wide)))


@honest("FeedForward")
class InDouble(TwoLayers):
    def forward(self, inputs):
        flat = inputs.flatten(0, 1).double()
        wide = torch.addmm(self.widen.bias.double(), flat, self.widen.weight.double().T).clamp(min=0)
        narrow = wide @ self.narrow.weight.double().T + self.narrow.bias.double()
        return narrow.float().unflatten(0, inputs.shape[:2])


# ---------------------------------------------------------------- 08.3


@honest("transformer_block")
def _(inputs, attention, feed_forward, attention_norm, feed_forward_norm, order):
    if order == "pre":
        gathered = inputs + attention(attention_norm(inputs))
        return gathered + feed_forward(feed_forward_norm(gathered))
    gathered = attention_norm(inputs + attention(inputs))
    return feed_forward_norm(gathered + feed_forward(gathered))


@honest("transformer_block")
def _(inputs, attention, feed_forward, attention_norm, feed_forward_norm, order):
    """In place, on a copy."""
    before, after = (lambda norm, x: norm(x), lambda norm, x: x)[:: 1 if order == "pre" else -1]
    road = inputs.clone()
    road += attention(before(attention_norm, road))
    road = after(attention_norm, road).clone()
    road += feed_forward(before(feed_forward_norm, road))
    return after(feed_forward_norm, road)


@honest("transformer_block")
def _(inputs, attention, feed_forward, attention_norm, feed_forward_norm, order):
    """In double."""

    def wrap(road, sublayer, norm):
        return {"pre": lambda: road + sublayer(norm(road)), "post": lambda: norm(torch.add(road, sublayer(road)))}[
            order
        ]()

    return wrap(wrap(inputs.double(), attention, attention_norm), feed_forward, feed_forward_norm).float()


@honest("transformer_block")
def _(inputs, attention, feed_forward, attention_norm, feed_forward_norm, order):
    """One sequence of the batch at a time."""
    rows = []
    for one in inputs.split(1):
        for sublayer, norm in zip((attention, feed_forward), (attention_norm, feed_forward_norm), strict=True):
            one = sublayer(norm(one)) + one if order == "pre" else norm(sublayer(one) + one)
        rows.append(one)
    return torch.cat(rows)


# ---------------------------------------------------------------- 08.4


@honest("gradient_norms")
def _(layer, inputs, depth, residual):
    """By .grad, kept at every step."""
    current, kept = inputs.detach().clone().requires_grad_(), []
    for _ in range(depth):
        current.retain_grad()
        kept.append(current)
        current = current + layer(current) if residual else layer(current)
    current.sum().backward()
    return torch.tensor([each.grad.square().sum().sqrt().item() for each in kept])


@honest("gradient_norms")
def _(layer, inputs, depth, residual):
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


@honest("gradient_norms")
def _(layer, inputs, depth, residual):
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


@honest("gradient_norms")
def _(layer, inputs, depth, residual):
    """The caller's tensor itself told to keep track; the norms keep their graph."""
    inputs.requires_grad_(True)
    states = [inputs]
    while len(states) <= depth:
        states += [states[-1] + layer(states[-1])] if residual else [layer(states[-1])]
    *wanted, top = states
    found = torch.autograd.grad(torch.sum(top), wanted, retain_graph=True)
    return torch.stack([torch.linalg.norm(each.flatten()) for each in found])


# ---------------------------------------------------------------- 08.5


@honest("numerical_gradient")
def _(function, inputs, step):
    wide, slopes = inputs.to(torch.float64), []
    for direction in torch.eye(wide.numel(), dtype=torch.float64):
        nudge = step * direction.reshape(wide.shape)
        slopes.append((function(wide + nudge) - function(wide - nudge)) / (2 * step))
    return torch.stack(slopes).reshape(wide.shape)


@honest("numerical_gradient")
def _(function, inputs, step):
    """The number put back as it was, in a copy."""
    wide = inputs.double().clone()
    flat, gradient = wide.view(-1), []
    for number, was in enumerate(flat.tolist()):
        flat[number] = was + step
        ahead = function(wide).item()
        flat[number] = was - step
        gradient.append((ahead - function(wide).item()) / 2 / step)
        flat[number] = was
    return torch.tensor(gradient, dtype=torch.float64).view(inputs.shape)


@honest("numerical_gradient")
def _(function, inputs, step):
    """The mean of the differences ahead and behind."""
    wide = inputs.detach().double()
    here, gradient = function(wide), torch.empty_like(wide)
    for place in torch.cartesian_prod(*[torch.arange(size) for size in wide.shape]).reshape(wide.numel(), -1).tolist():
        nudge = torch.zeros_like(wide)
        nudge[tuple(place)] = step
        gradient[tuple(place)] = ((function(wide + nudge) - here) / step + (here - function(wide - nudge)) / step) * 0.5
    return gradient


def central(function, inputs):
    nudges = 1e-5 * torch.eye(inputs.numel(), dtype=torch.float64).reshape(-1, *inputs.shape)
    slopes = [(function(inputs.double() + each) - function(inputs.double() - each)) / 2e-5 for each in nudges]
    return torch.stack(slopes).reshape(inputs.shape)


@honest("gradient_is_right")
def _(function, gradient, inputs):
    return torch.allclose(gradient(inputs.double()), central(function, inputs), rtol=0, atol=1e-6)


@honest("gradient_is_right")
def _(function, gradient, inputs):
    """With the largest difference, as a number."""
    return (central(function, inputs) - gradient(inputs.double())).abs().max().item() <= 1e-6


@honest("gradient_is_right")
def _(function, gradient, inputs):
    """Entry by entry, with an early end."""
    wide = inputs.double()
    claimed = gradient(wide)
    for place in range(wide.numel()):
        ahead, behind = wide.flatten().clone(), wide.flatten().clone()
        ahead[place] += 1e-5
        behind[place] -= 1e-5
        slope = (function(ahead.reshape(wide.shape)) - function(behind.reshape(wide.shape))) / 2e-5
        if abs(slope.item() - claimed.flatten()[place].item()) > 1e-6:
            return False
    return True


@honest("gradient_is_right")
def _(function, gradient, inputs):
    """How many entries are off, as a tensor."""
    claimed, found = gradient(inputs.double()), central(function, inputs)
    return ((claimed - found).abs() > 1e-6).sum() == 0
