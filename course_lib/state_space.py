"""A selective state space: a recurrence without a nonlinearity, which can therefore be computed in parallel.

The state h of each step is a share of the state before plus something new, h_t = keep_t * h_(t-1) + write_t, entry by
entry. Both `keep` and `write` depend on the input alone, and two such steps in a row are again one step of this kind.
"""

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional

from course_lib.shapes import check_shape

SMALLEST, LARGEST = 0.001, 0.1  # between them lie the step sizes of an untrained layer


def scan_step_by_step(keep: torch.Tensor, write: torch.Tensor) -> torch.Tensor:
    """Return every state (batch, time, ...) of h_t = keep_t * h_(t-1) + write_t, which begins with h_0 = write_0.

    `keep` and `write` are (batch, time, ...). Raises ValueError where their shapes differ.

    >>> scan_step_by_step(torch.tensor([[0.5, 0.5, 0.5]]), torch.tensor([[8.0, 0.0, 1.0]]))
    tensor([[8., 4., 3.]])
    """
    _check_scan(keep, write)
    states = [write[:, 0]]  # each (batch, ...)
    for kept, written in zip(keep.unbind(dim=1)[1:], write.unbind(dim=1)[1:], strict=True):
        states.append(kept * states[-1] + written)
    return torch.stack(states, dim=1)  # (batch, time, ...)


def scan_by_doubling(keep: torch.Tensor, write: torch.Tensor) -> torch.Tensor:
    """Return what `scan_step_by_step` does in log2(time) rounds, each of which works on all positions at once.

    After a round, every position has gathered twice as many steps: its own, and those of the position that stands as
    far before as it had gathered. Steps (keep, write) then (keep', write') are the one step (keep keep', keep' write +
    write'). After Hillis and Steele (1986); Blelloch (1990) needs fewer products. A round has as many products as the
    whole loop, so this is for devices that compute all positions in the time of one; on a single core, the loop is
    faster.

    >>> scan_by_doubling(torch.tensor([[0.5, 0.5, 0.5]]), torch.tensor([[8.0, 0.0, 1.0]]))
    tensor([[8., 4., 3.]])
    """
    time = _check_scan(keep, write)
    gathered = 1
    while gathered < time:
        # The first positions have gathered all there is, and stay as they are.
        joined_write = keep[:, gathered:] * write[:, :-gathered] + write[:, gathered:]  # (batch, time - gathered, ...)
        joined_keep = keep[:, gathered:] * keep[:, :-gathered]  # (batch, time - gathered, ...)
        write = torch.cat([write[:, :gathered], joined_write], dim=1)  # (batch, time, ...)
        keep = torch.cat([keep[:, :gathered], joined_keep], dim=1)  # (batch, time, ...)
        gathered *= 2
    return write


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
        self.to_write = nn.Linear(d_model, d_state, bias=False)
        self.to_read = nn.Linear(d_model, d_state, bias=False)
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
        states = self.scan(*self._keep_and_write(inputs))  # (batch, time, d_model, d_state)
        return self._read(states, inputs)

    def step(self, inputs: torch.Tensor, state: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the outputs (batch, d_model) and the state (batch, d_model, d_state) after inputs (batch, d_model).

        `state` is the one before, None at the first step.
        """
        batch = check_shape(inputs, "batch d_model", "inputs", d_model=self.d_model)["batch"]
        keep, state_now = self._keep_and_write(inputs)  # each (batch, d_model, d_state)
        if state is not None:
            sizes = {"batch": batch, "d_model": self.d_model, "d_state": self.d_state}
            check_shape(state, "batch d_model d_state", "state", **sizes)
            state_now = keep * state + state_now
        return self._read(state_now, inputs), state_now

    def _keep_and_write(self, inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the share that is kept and what is written, each (..., d_model, d_state), of inputs (..., d_model)."""
        step_size = functional.softplus(self.to_step_size(inputs)).unsqueeze(-1)  # (..., d_model, 1)
        keep = (-step_size * self.log_rate.exp()).exp()  # (..., d_model, d_state)
        return keep, step_size * inputs.unsqueeze(-1) * self.to_write(inputs).unsqueeze(-2)

    def _read(self, state: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
        """Return the outputs (..., d_model) that inputs (..., d_model) read of a state (..., d_model, d_state)."""
        found = (state @ self.to_read(inputs).unsqueeze(-1)).squeeze(-1)  # (..., d_model)
        gate = functional.silu(self.to_gate(inputs))  # (..., d_model)
        return self.to_output(gate * (found + self.skip * inputs))  # (..., d_model)


def _check_scan(keep: torch.Tensor, write: torch.Tensor) -> int:
    """Return the time of `keep` and `write`; raise ValueError unless both are (batch, time, ...) of one shape."""
    if keep.dim() < 2 or keep.shape != write.shape or not keep.shape[1]:
        raise ValueError(
            f"`keep` has shape {tuple(keep.shape)} and `write` {tuple(write.shape)}, expected one shape "
            "(batch, time, ...), of at least one step"
        )
    return keep.shape[1]
