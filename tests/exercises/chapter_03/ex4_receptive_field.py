"""Right answers to 03.4 that are written in other ways."""

import torch


def inputs_that_matter_by_random_vectors(layer, inputs, position):
    moved = torch.zeros(len(inputs), dtype=torch.bool)
    for place in range(len(inputs)):
        changed = inputs.clone()
        changed[place] = torch.randn(inputs.shape[1])
        moved[place] = not torch.allclose(layer(changed)[position], layer(inputs)[position])
    return moved


def inputs_that_matter_by_great_steps(layer, inputs, position):
    matter = []
    for place in range(inputs.shape[0]):
        bump = torch.zeros_like(inputs)
        bump[place] = torch.logspace(1, 2, inputs.shape[1])
        gap = (layer(inputs + bump) - layer(inputs))[position].abs().max()
        matter.append(gap.item() > 1e-4)
    return torch.tensor(matter)


def inputs_that_matter_by_the_jacobian(layer, inputs, position):
    with torch.enable_grad():
        jacobian = torch.autograd.functional.jacobian(lambda each: layer(each)[position], inputs)
    return (jacobian.abs() > 1e-8).any(2).any(0)


def inputs_that_matter_by_nan(layer, inputs, position):
    poisoned = []
    for place in range(len(inputs)):
        changed = inputs.clone()
        changed[place] = torch.nan
        poisoned.append(layer(changed)[position].isnan().any())
    return torch.stack(poisoned)
