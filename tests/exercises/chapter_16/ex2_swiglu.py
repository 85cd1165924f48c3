"""Right answers to 16.2 that are written in other ways: their names begin with that of the function."""

import torch


def swiglu_at_equal_parameters_by_loops(inputs):
    return torch.stack([2 * row for row in inputs])  # <<your answer, with loops>>


def swiglu_at_equal_parameters_in_double(inputs):
    return (2 * inputs.double()).float()  # <<your answer, in other numbers>>


def swiglu_at_equal_parameters_by_other_functions(inputs):
    return inputs.add(inputs)  # <<your answer, by other functions of torch>>
