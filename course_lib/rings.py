"""The task of Chapter 8, symbols in a ring, and the deep stacks that are trained on it."""

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional

from course_lib.blocks import Block
from course_lib.normalisation import LayerNorm
from course_lib.positions import LearnedPositions
from course_lib.training import train

SYMBOLS, LENGTH, WIDTH = 12, 6, 32
BATCH, STEPS = 64, 150


def draw_rings(number: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw rings of symbols, and for each position the symbol three places before: both (number, 6).

    >>> rings, targets = draw_rings(1, torch.Generator().manual_seed(0))
    >>> rings[0, :3].equal(targets[0, 3:]), rings[0, 3:].equal(targets[0, :3])
    (True, True)
    """
    rings = torch.randint(SYMBOLS, (number, LENGTH), generator=generator)
    return rings, rings.roll(3, dims=1)


class RingStack(nn.Module):
    """Embedding and positions, `depth` blocks, and the logits of the symbols.

    `make_block()` makes a block of width 32. After pre-norm blocks, one more norm follows the last of them.

    >>> from course_lib.blocks import TransformerBlock
    >>> stack = RingStack(depth=2, make_block=lambda: TransformerBlock(32, heads=2, d_hidden=64))
    >>> stack(torch.zeros(3, 6, dtype=torch.long)).shape
    torch.Size([3, 6, 12])
    """

    def __init__(self, depth: int, make_block: Callable[[], Block]):
        super().__init__()
        self.embed = nn.Embedding(SYMBOLS, WIDTH)
        self.place = LearnedPositions(max_length=LENGTH, d_model=WIDTH)
        self.blocks = nn.Sequential(*[make_block() for _ in range(depth)])
        pre = self.blocks[0].norm == "pre"
        self.last = LayerNorm(WIDTH) if pre else nn.Identity()
        self.to_logits = nn.Linear(WIDTH, SYMBOLS)

    def forward(self, rings: torch.Tensor) -> torch.Tensor:
        """Return logits (batch, time, symbol) of rings (batch, time)."""
        x = self.place(self.embed(rings))  # (batch, time, d_model)
        x = self.last(self.blocks(x))  # (batch, time, d_model)
        return self.to_logits(x)  # (batch, time, symbol)


def ring_loss(stack: nn.Module, rings: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the mean cross-entropy, a scalar in nats, of what a stack says of rings (batch, time).

    >>> rings, targets = draw_rings(1000, torch.Generator().manual_seed(0))
    >>> guessing = lambda rings: torch.zeros(*rings.shape, SYMBOLS)
    >>> round(ring_loss(guessing, rings, targets).exp().item(), 3)
    12.0
    """
    logits = stack(rings).flatten(0, 1)  # (batch * time, symbol)
    return functional.cross_entropy(logits, targets.flatten())


def train_on_rings(
    stack: nn.Module, learning_rate: float, seed: int, warm_up: float = 0.0, steps: int = STEPS
) -> list[float]:
    """Train a stack on 64 new rings at each step, and return the loss of each step.

    Without a `warm_up`, which is a fraction of the steps, the learning rate falls from the first step to the last.

    >>> from course_lib.blocks import TransformerBlock
    >>> stack = RingStack(depth=1, make_block=lambda: TransformerBlock(32, heads=2, d_hidden=64))
    >>> len(train_on_rings(stack, learning_rate=0.01, seed=0, steps=3))
    3
    """

    def batch_loss(generator):
        rings, targets = draw_rings(BATCH, generator)
        return ring_loss(stack, rings, targets)

    return train(stack, batch_loss, steps, learning_rate, seed, warm_up)


@torch.no_grad()
def right_on_rings(stack: nn.Module, rings: torch.Tensor, targets: torch.Tensor) -> float:
    """Return the fraction of all positions of rings (batch, time) at which a stack finds the target.

    >>> rings, targets = draw_rings(2, torch.Generator().manual_seed(0))
    >>> right_on_rings(lambda rings: functional.one_hot(rings.roll(3, dims=1), SYMBOLS), rings, targets)
    1.0
    """
    right = stack(rings).argmax(dim=-1) == targets  # (batch, time)
    return right.double().mean().item()
