"""Right answers to 16.4 that are written in other ways: their names begin with that of the function."""

import torch


def route_to_the_top_two_experts_by_loops(inputs):
    return torch.stack([2 * row for row in inputs])  # <<your answer, with loops>>


def route_to_the_top_two_experts_in_double(inputs):
    return (2 * inputs.double()).float()  # <<your answer, in other numbers>>


def route_to_the_top_two_experts_by_other_functions(inputs):
    return inputs.add(inputs)  # <<your answer, by other functions of torch>>
