"""The loop that every experiment shares: draw a batch, measure the loss, step downhill."""

from collections.abc import Callable

import torch
from torch import nn
from tqdm.auto import tqdm


def train(
    model: nn.Module,
    batch_loss: Callable[[torch.Generator], torch.Tensor],
    steps: int,
    learning_rate: float,
    seed: int,
    warm_up: float = 0.05,
) -> list[float]:
    """Train `model` in place for `steps` steps of Adam and return the loss of each step; the model ends in eval mode.

    `batch_loss(generator)` draws a batch with the generator, which `seed` starts, and returns its scalar loss. The
    learning rate climbs over the first part of the steps, of which `warm_up` is the share (0: it begins at its full
    height), and then falls linearly to nothing; gradients longer than 1 are cut to length 1. Adam is by Kingma and
    Ba (2015). Raises ValueError as soon as a loss is not finite, and for a share outside 0 to 1.

    >>> line = nn.Linear(1, 1)
    >>> x = torch.linspace(-1, 1, 16).unsqueeze(1)
    >>> losses = train(line, lambda generator: ((line(x) - 3 * x) ** 2).mean(), steps=200, learning_rate=0.1, seed=0)
    >>> losses[-1] < 1e-3 < losses[0]
    True
    """
    if not 0 <= warm_up <= 1:
        raise ValueError(f"`warm_up` is {warm_up}, expected a share of the steps, from 0 to 1")
    generator = torch.Generator().manual_seed(seed)
    optimiser = torch.optim.Adam(model.parameters(), lr=learning_rate)
    climb = max(1, int(warm_up * steps))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min((step + 1) / climb, (steps - step) / (steps - climb + 1))
    )
    model.train()
    losses = []
    progress = tqdm(range(steps), desc="training", unit="step", leave=False)
    for step in progress:
        loss = batch_loss(generator)  # a scalar
        if not loss.isfinite():
            raise ValueError(f"the loss is {loss.item()} at step {step}: lower the learning rate or look at the batch")
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimiser.step()
        schedule.step()
        losses.append(loss.item())
        # Shown when the bar is drawn next: to draw it at each step would flood whoever runs the notebook with messages.
        progress.set_postfix(loss=f"{losses[-1]:.3f}", refresh=False)
    model.eval()
    return losses
