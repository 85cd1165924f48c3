"""Right answers to 08.5 that are written in other ways."""

import torch


def numerical_gradient_by_unit_vectors(function, inputs, step):
    wide, slopes = inputs.to(torch.float64), []
    for direction in torch.eye(wide.numel(), dtype=torch.float64):
        nudge = step * direction.reshape(wide.shape)
        slopes.append((function(wide + nudge) - function(wide - nudge)) / (2 * step))
    return torch.stack(slopes).reshape(wide.shape)


def numerical_gradient_in_one_copy_put_back(function, inputs, step):
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


def numerical_gradient_as_mean_of_both_sides(function, inputs, step):
    """The mean of the differences ahead and behind."""
    wide = inputs.detach().double()
    here, gradient = function(wide), torch.empty_like(wide)
    for position in (
        torch.cartesian_prod(*[torch.arange(size) for size in wide.shape]).reshape(wide.numel(), -1).tolist()
    ):
        nudge = torch.zeros_like(wide)
        nudge[tuple(position)] = step
        gradient[tuple(position)] = (
            (function(wide + nudge) - here) / step + (here - function(wide - nudge)) / step
        ) * 0.5
    return gradient


def _central(function, inputs):
    nudges = 1e-5 * torch.eye(inputs.numel(), dtype=torch.float64).reshape(-1, *inputs.shape)
    slopes = [(function(inputs.double() + each) - function(inputs.double() - each)) / 2e-5 for each in nudges]
    return torch.stack(slopes).reshape(inputs.shape)


def gradient_is_right_by_allclose(function, gradient, inputs):
    return torch.allclose(gradient(inputs.double()), _central(function, inputs), rtol=0, atol=1e-6)


def gradient_is_right_by_largest_difference(function, gradient, inputs):
    """With the largest difference, as a number."""
    return (_central(function, inputs) - gradient(inputs.double())).abs().max().item() <= 1e-6


def gradient_is_right_entry_by_entry(function, gradient, inputs):
    """Entry by entry, with an early end."""
    wide = inputs.double()
    claimed = gradient(wide)
    for position in range(wide.numel()):
        ahead, behind = wide.flatten().clone(), wide.flatten().clone()
        ahead[position] += 1e-5
        behind[position] -= 1e-5
        slope = (function(ahead.reshape(wide.shape)) - function(behind.reshape(wide.shape))) / 2e-5
        if abs(slope.item() - claimed.flatten()[position].item()) > 1e-6:
            return False
    return True


def gradient_is_right_by_count(function, gradient, inputs):
    """How many entries are off, as a tensor."""
    claimed, found = gradient(inputs.double()), _central(function, inputs)
    return ((claimed - found).abs() > 1e-6).sum() == 0
