"""What 01.1 and 01.2 share: the cells of torch, which are refused, parameters, and gates that are held open or shut."""

import torch

from course_lib.exercises.drawing import normal
from course_lib.grading.exercise import Case

# Torch's own cells leave these in the dispatcher: the cells themselves, and what they are made of, which nothing else
# uses.
TORCH_CELLS = {
    "aten::gru_cell": "torch.nn.GRUCell",
    "aten::gru": "torch.nn.GRU",
    "aten::lstm_cell": "torch.nn.LSTMCell",
    "aten::lstm": "torch.nn.LSTM",
    "aten::rnn_tanh_cell": "torch.nn.RNNCell",  # with half of each number, and one added, it is a gate
    "aten::rnn_relu_cell": "torch.nn.RNNCell",
    "aten::rnn_tanh": "torch.nn.RNN",
    "aten::rnn_relu": "torch.nn.RNN",
    "aten::unsafe_split": "a recurrent cell of torch",
    "aten::mkldnn_rnn_layer": "a recurrent layer of torch",
}


def draw_parameters(generator: torch.Generator, blocks: int, d_input: int, d_hidden: int) -> Case:
    """Draw the four parameters of a cell, so far from zero that no part of it goes unseen."""
    return {
        "weight_ih": normal(generator, blocks * d_hidden, d_input),
        "weight_hh": normal(generator, blocks * d_hidden, d_hidden),
        "bias_ih": normal(generator, blocks * d_hidden),
        "bias_hh": normal(generator, blocks * d_hidden),
    }


def with_gates(case: Case, *gates: float | None) -> Case:
    """Set gates, in the order of their blocks, to 0 or 1 for good, through their biases; None leaves one alone."""
    biases = list(case["bias_ih"].chunk(len(case["bias_ih"]) // case["hidden"].shape[1]))
    for block, gate in enumerate(gates):
        if gate is not None:
            biases[block] = torch.full_like(biases[block], 100.0 if gate else -100.0)
    return case | {"bias_ih": torch.cat(biases)}
