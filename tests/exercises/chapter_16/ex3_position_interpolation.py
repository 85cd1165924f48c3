"""Right answers to 16.3 that are written in other ways: their names begin with that of the function."""

import torch


def rope_with_position_interpolation_by_loops(inputs):
    return torch.stack([2 * row for row in inputs])  # <<your answer, with loops>>


def rope_with_position_interpolation_in_double(inputs):
    return (2 * inputs.double()).float()  # <<your answer, in other numbers>>


def rope_with_position_interpolation_by_other_functions(inputs):
    return inputs.add(inputs)  # <<your answer, by other functions of torch>>
