"""The loop that every experiment shares: draw a batch, measure the loss, step downhill."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import nn
from tqdm.auto import tqdm

from course_lib.ranks import rank, sum_over_ranks, world_size

MAX_GRAD_NORM = 1.0


@dataclass(frozen=True)
class StepResult:
    """One step that was taken: the mean loss of a prediction, and how many predictions there were."""

    loss: float
    predictions: int


class Training:
    """A model on its way: everything that one step needs, and that must be kept to go on later as if never stopped.

    `batch_losses(generator)` draws one batch with the generator, which `seed` starts, and gives for each part of it the
    sum of the losses and the number of predictions that it sums over. Parts make a large batch out of what fits into
    memory; the step divides by the predictions of all parts, and of all processes if there are several, so it is the
    same step however the batch is cut. `warm_up` is the fraction of the steps over which the learning rate rises; then
    it falls linearly to 0. A gradient whose norm is above 1 is clipped to norm 1. The optimiser is AdamW: Adam (Kingma
    and Ba, 2015) with the weight decay of Loshchilov and Hutter (2019).
    """

    def __init__(
        self,
        model: nn.Module,
        batch_losses: Callable[[torch.Generator], Iterable[tuple[torch.Tensor, int]]],
        steps: int,
        learning_rate: float,
        seed: int,
        warm_up: float = 0.05,
        weight_decay: float = 0.0,
    ):
        if not 0 <= warm_up <= 1:
            raise ValueError(f"`warm_up` is {warm_up}, expected a fraction of the steps, from 0 to 1")
        self.model, self.batch_losses, self.steps, self.seed = model, batch_losses, steps, seed
        self.learning_rate = learning_rate
        self.warmup_steps = max(1, int(warm_up * steps))
        self.parameters = list(model.parameters())
        self.devices = sorted({each.device.index for each in self.parameters if each.device.type == "cuda"})
        self.generator = torch.Generator().manual_seed(seed)
        # Fused: one operation updates all weights, where a processor would otherwise need a dozen for each of them.
        self.optimiser = torch.optim.AdamW(self.parameters, lr=learning_rate, weight_decay=weight_decay, fused=True)
        self.step = 0

    def advance(self) -> StepResult:
        """Take one step; raises ValueError as soon as a loss is not finite.

        >>> line = nn.Linear(1, 1)
        >>> training = Training(line, lambda generator: [(line(torch.ones(1)).square().sum(), 1)], 10, 0.1, seed=0)
        >>> training.advance().predictions, training.step
        (1, 1)
        """
        self.model.train()
        self.optimiser.zero_grad()
        loss, predictions = torch.zeros((), dtype=torch.float64), 0
        # What a step draws at random on its own, such as dropout, depends on the seed, the step and the process alone:
        # so a run that is resumed draws it again, and nobody else's random numbers are disturbed.
        with torch.random.fork_rng(self.devices):
            self._seed_all_draws(hash((self.seed, self.step, rank())))
            for part_loss, part_predictions in self.batch_losses(self.generator):
                part_loss.backward()
                loss += part_loss.detach().double().cpu()
                predictions += part_predictions
        loss, predictions = sum_over_ranks(torch.stack([loss, torch.tensor(float(predictions)).double()])).tolist()
        if not torch.tensor(loss).isfinite():
            raise ValueError(f"the loss is {loss} at step {self.step}: lower the learning rate or look at the batch")
        for parameter in self.parameters:
            if parameter.grad is not None:
                # DistributedDataParallel leaves the mean over the processes, of which the sum is wanted here.
                parameter.grad.mul_(world_size() / predictions)
        nn.utils.clip_grad_norm_(self.parameters, MAX_GRAD_NORM)
        for group in self.optimiser.param_groups:
            group["lr"] = self.learning_rate * self._learning_rate_factor()
        self.optimiser.step()
        self.step += 1
        return StepResult(loss / predictions, int(predictions))

    def _seed_all_draws(self, seed: int) -> None:
        """Start torch's own generators, of the processor and of the devices in use.

        `torch.manual_seed` also notes for each kind of device from where it was called, which takes a tenth of a small
        step.
        """
        torch.default_generator.manual_seed(seed)
        for device in self.devices:
            torch.cuda.default_generators[device].manual_seed(seed)

    def _learning_rate_factor(self) -> float:
        """Return the fraction of the learning rate that this step is taken with."""
        return min((self.step + 1) / self.warmup_steps, (self.steps - self.step) / (self.steps - self.warmup_steps + 1))

    def state(self) -> dict[str, torch.Tensor]:
        """Return all that changes from step to step: weights, the optimiser's memory, the generator, the step."""
        state = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        for number, memory in self.optimiser.state_dict()["state"].items():
            state |= {f"optimiser.{number}.{name}": tensor for name, tensor in memory.items()}
        return state | {"generator": self.generator.get_state(), "step": torch.tensor(self.step)}

    def restore(self, state: dict[str, torch.Tensor]) -> None:
        """Go back to what `state` returned; raises RuntimeError, from torch, if it belongs to another model."""
        self.model.load_state_dict(
            {name.removeprefix("model."): tensor for name, tensor in state.items() if name.startswith("model.")}
        )
        memories: dict[int, dict[str, torch.Tensor]] = {}
        for name, tensor in state.items():
            if name.startswith("optimiser."):
                _, number, part = name.split(".")
                memories.setdefault(int(number), {})[part] = tensor
        self.optimiser.load_state_dict(self.optimiser.state_dict() | {"state": memories})
        self.generator.set_state(state["generator"])
        self.step = int(state["step"])


def train(
    model: nn.Module,
    batch_loss: Callable[[torch.Generator], torch.Tensor],
    steps: int,
    learning_rate: float,
    seed: int,
    warm_up: float = 0.05,
) -> list[float]:
    """Train `model` in place for `steps` steps and return the loss of each step; the model ends in eval mode.

    `batch_loss(generator)` draws a batch and returns its loss, a scalar. The rest is as in `Training`, which takes the
    steps.

    >>> line = nn.Linear(1, 1)
    >>> x = torch.linspace(-1, 1, 16).unsqueeze(1)
    >>> losses = train(line, lambda generator: ((line(x) - 3 * x) ** 2).mean(), steps=200, learning_rate=0.1, seed=0)
    >>> losses[-1] < 1e-3 < losses[0]
    True
    """
    training = Training(model, lambda generator: [(batch_loss(generator), 1)], steps, learning_rate, seed, warm_up)
    losses = []
    progress = tqdm(range(steps), desc="training", unit="step", leave=False)
    for _ in progress:
        losses.append(training.advance().loss)
        # Shown when the bar is drawn next: to draw it at each step would flood whoever runs the notebook with messages.
        progress.set_postfix(loss=f"{losses[-1]:.3f}", refresh=False)
    model.eval()
    return losses
