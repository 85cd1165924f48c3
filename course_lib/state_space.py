"""A selective state space: a recurrence without a nonlinearity, which can therefore be computed in parallel.

The state h of each step is a share of the state before plus something new, h_t = a_t * h_(t-1) + b_t, entry by entry.
Both the decay a_t, the share that is kept, and the update b_t depend on the input alone. Two such steps in a row are
again one step of this kind.
"""

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional

from course_lib.shapes import check_shape

SMALLEST, LARGEST = 0.001, 0.1  # between them lie the step sizes of an untrained layer


def scan_step_by_step(decay: torch.Tensor, update: torch.Tensor) -> torch.Tensor:
    """Return every state (batch, time, ...) of h_t = a_t * h_(t-1) + b_t, which begins with h_0 = b_0.

    `decay` (batch, time, ...) holds the shares a_t, and `update`, of the same shape, what is added, b_t. Raises
    ValueError where their shapes differ.

    >>> scan_step_by_step(torch.tensor([[0.5, 0.5, 0.5]]), torch.tensor([[8.0, 0.0, 1.0]]))
    tensor([[8., 4., 3.]])
    """
    _check_scan(decay, update)
    states = [update[:, 0]]  # each (batch, ...)
    for a, b in zip(decay.unbind(dim=1)[1:], update.unbind(dim=1)[1:], strict=True):  # each (batch, ...)
        states.append(a * states[-1] + b)
    return torch.stack(states, dim=1)  # (batch, time, ...)


def scan_by_doubling(decay: torch.Tensor, update: torch.Tensor) -> torch.Tensor:
    """Return what `scan_step_by_step` does in log2(time) rounds, each of which works on all positions at once.

    After a round, every position has gathered twice as many steps: its own, and those of the position that stands as
    far before as it had gathered. The step (a, b) and then the step (a', b') are the one step (a a', a' b + b'). After
    Hillis and Steele (1986); Blelloch (1990) needs fewer products. A round has as many products as the whole loop, so
    this is for devices that compute all positions in the time of one; on a single core, the loop is faster.

    >>> scan_by_doubling(torch.tensor([[0.5, 0.5, 0.5]]), torch.tensor([[8.0, 0.0, 1.0]]))
    tensor([[8., 4., 3.]])
    """
    time = _check_scan(decay, update)
    gathered = 1
    while gathered < time:
        # The first positions have gathered all there is, and stay as they are.
        later = decay[:, gathered:]  # (batch, time - gathered, ...)
        joined_update = later * update[:, :-gathered] + update[:, gathered:]  # (batch, time - gathered, ...)
        joined_decay = later * decay[:, :-gathered]  # (batch, time - gathered, ...)
        update = torch.cat([update[:, :gathered], joined_update], dim=1)  # (batch, time, ...)
        decay = torch.cat([decay[:, :gathered], joined_decay], dim=1)  # (batch, time, ...)
        gathered *= 2
    return update


class SelectiveStateSpace(nn.Module):
    """Carry `d_state` numbers for each entry of the vectors; each input decides what is kept, written and read.

    An input sets for every entry a step size, which is positive: a large one forgets the state and writes the input, a
    small one passes it by. Of what the state holds, the input chooses what is read, and a gate lets through what the
    next layer gets. What is kept for writing on is the state, (batch, d_model, d_state) whatever the time. `scan`
    computes the states of a whole sequence: another one is `scan_by_doubling`. After Gu and Dao (2023), whose layer
    also widens the vectors and begins with a short convolution.

    >>> SelectiveStateSpace(d_model=8, d_state=4)(torch.zeros(2, 5, 8)).shape
    torch.Size([2, 5, 8])
    """

    def __init__(self, d_model: int, d_state: int, scan: Callable = scan_step_by_step):
        super().__init__()
        self.d_model, self.d_state, self.scan = d_model, d_state, scan
        self.to_step_size = nn.Linear(d_model, d_model)
        self.to_input_matrix = nn.Linear(d_model, d_state, bias=False)  # B of the paper: what enters the state
        self.to_output_matrix = nn.Linear(d_model, d_state, bias=False)  # its C: what is read of the state
        self.to_gate = nn.Linear(d_model, d_model)
        self.to_output = nn.Linear(d_model, d_model)
        self.skip = nn.Parameter(torch.ones(d_model))
        # The numbers of one state forget at rates 1, 2, ..., d_state; as logarithms, for a rate must stay positive.
        self.log_rate = nn.Parameter(torch.arange(1.0, d_state + 1).log().repeat(d_model, 1))  # (d_model, d_state)
        sizes = SMALLEST * (LARGEST / SMALLEST) ** torch.rand(d_model)  # (d_model,)
        with torch.no_grad():
            self.to_step_size.bias.copy_(sizes.expm1().log())  # of which softplus gives the sizes back

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return outputs (batch, time, d_model) of inputs (batch, time, d_model), which see no later input."""
        check_shape(inputs, "batch time d_model", "inputs", d_model=self.d_model)
        states = self.scan(*self._decay_and_update(inputs))  # (batch, time, d_model, d_state)
        return self._read(states, inputs)

    def step(self, inputs: torch.Tensor, state: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the outputs (batch, d_model) and the state (batch, d_model, d_state) after inputs (batch, d_model).

        `state` is the one before, None at the first step.
        """
        batch = check_shape(inputs, "batch d_model", "inputs", d_model=self.d_model)["batch"]
        decay, state_now = self._decay_and_update(inputs)  # each (batch, d_model, d_state)
        if state is not None:
            sizes = {"batch": batch, "d_model": self.d_model, "d_state": self.d_state}
            check_shape(state, "batch d_model d_state", "state", **sizes)
            state_now = decay * state + state_now
        return self._read(state_now, inputs), state_now

    def _decay_and_update(self, inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the decay and the update, each (..., d_model, d_state), of inputs (..., d_model)."""
        step_size = functional.softplus(self.to_step_size(inputs)).unsqueeze(-1)  # (..., d_model, 1)
        decay = (-step_size * self.log_rate.exp()).exp()  # (..., d_model, d_state)
        return decay, step_size * inputs.unsqueeze(-1) * self.to_input_matrix(inputs).unsqueeze(-2)

    def _read(self, state: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
        """Return the outputs (..., d_model) that inputs (..., d_model) read of a state (..., d_model, d_state)."""
        found = (state @ self.to_output_matrix(inputs).unsqueeze(-1)).squeeze(-1)  # (..., d_model)
        gate = functional.silu(self.to_gate(inputs))  # (..., d_model)
        return self.to_output(gate * (found + self.skip * inputs))  # (..., d_model)


def _check_scan(decay: torch.Tensor, update: torch.Tensor) -> int:
    """Return the time of `decay` and `update`; raise ValueError unless both are (batch, time, ...) of one shape."""
    if decay.dim() < 2 or decay.shape != update.shape or not decay.shape[1]:
        raise ValueError(
            f"`decay` has shape {tuple(decay.shape)} and `update` {tuple(update.shape)}, expected one shape "
            "(batch, time, ...), of at least one step"
        )
    return decay.shape[1]
