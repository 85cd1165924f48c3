import pytest
import torch

from course_lib.recurrence import LSTMCell


def test_equals_torch_in_value_and_gradient():
    ours, theirs = LSTMCell(3, 5).double(), torch.nn.LSTMCell(3, 5).double()
    theirs.load_state_dict(ours.state_dict())
    inputs = torch.randn(4, 6, 3, dtype=torch.float64)  # (time, batch, d_input)

    def loss(cell):
        state = (torch.ones(6, 5, dtype=torch.float64), torch.zeros(6, 5, dtype=torch.float64))
        for step in inputs:
            state = cell(step, state)
        return (state[0] ** 2).sum() + state[1].sum()

    losses = [loss(cell) for cell in (ours, theirs)]
    torch.testing.assert_close(*losses)
    for mine, reference in zip(
        torch.autograd.grad(losses[0], ours.parameters()),
        torch.autograd.grad(losses[1], theirs.parameters()),
        strict=True,
    ):
        torch.testing.assert_close(mine, reference)


@pytest.mark.parametrize(
    ("shapes", "culprit"),
    [
        (((2, 4), (2, 5), (2, 5)), "`inputs`"),
        (((2, 3), (2, 4), (2, 5)), "`hidden`"),
        (((2, 3), (2, 5), (1, 5)), "`memory`"),
    ],
)
def test_a_wrong_shape_is_named(shapes, culprit):
    inputs, hidden, memory = (torch.zeros(shape) for shape in shapes)
    with pytest.raises(ValueError, match=culprit):
        LSTMCell(3, 5)(inputs, (hidden, memory))
