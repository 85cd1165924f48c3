"""The losses that `explore_orders` shows: stacks of four kinds, depths and learning rates, each trained three times."""

import json
from itertools import product
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

from course_lib.blocks import TransformerBlock
from course_lib.files import write_atomically
from course_lib.normalisation import LayerNorm
from course_lib.positions import LearnedPositions
from course_lib.seeding import start_reproducibly
from course_lib.training import train

TABLE = Path(__file__).with_suffix(".json")
SYMBOLS, WIDTH, HEADS, LENGTH = 12, 32, 2, 6
STEPS, EVERY = 150, 10
SEEDS = (0, 1, 2)
DEPTHS = (2, 4, 8, 16)
LEARNING_RATES = (0.003, 0.01, 0.03)
ORDERS = ("pre-norm", "post-norm", "post-norm, DeepNorm", "pre-norm, DeepNorm's weights")


class ScaledSum(TransformerBlock):
    """A post-norm block that multiplies the stream by `factor` before each sum, as DeepNorm does."""

    factor = 1.0

    def _after(self, vectors, change, normalise):
        return super()._after(self.factor * vectors, change, normalise)


def begin_as_deepnorm(block: TransformerBlock, depth: int) -> None:
    """Draw the matrices of `block` as DeepNorm does in an encoder of `depth` blocks (Wang et al., 2022, Figure 2).

    >>> block = TransformerBlock(4, 2, 8)
    >>> begin_as_deepnorm(block, depth=2)
    >>> block.feed_forward.expand.bias.tolist() == [0.0] * 8
    True
    """
    small = (8 * depth) ** -0.25
    attention, feed_forward = block.attention, block.feed_forward
    for layer, scale in (
        (attention.to_query, 1.0),
        (attention.to_key, 1.0),
        (attention.to_value, small),
        (attention.to_output, small),
        (feed_forward.expand, small),
        (feed_forward.contract, small),
    ):
        nn.init.xavier_normal_(layer.weight, gain=scale)
        nn.init.zeros_(layer.bias)


def make_stack(order: str, depth: int) -> nn.Sequential:
    """Return the network of Chapter 8: embedding, positions, `depth` blocks in one of the ORDERS, logits of symbols.

    >>> make_stack("pre-norm", depth=2)(torch.zeros(3, 6, dtype=torch.long)).shape  # (batch, time, symbol)
    torch.Size([3, 6, 12])
    """
    pre = order.startswith("pre")
    embed, place = nn.Embedding(SYMBOLS, WIDTH), LearnedPositions(max_length=LENGTH, d_model=WIDTH)
    blocks = [ScaledSum(WIDTH, HEADS, 2 * WIDTH, norm="pre" if pre else "post") for _ in range(depth)]
    last = LayerNorm(WIDTH) if pre else nn.Identity()
    stack = nn.Sequential(embed, place, *blocks, last, nn.Linear(WIDTH, SYMBOLS))
    if "DeepNorm" in order:
        for block in blocks:
            begin_as_deepnorm(block, depth)
            block.factor = 1.0 if pre else (2 * depth) ** 0.25
    return stack


def measure(order: str, depth: int, learning_rate: float, seed: int) -> list[float]:
    """Train one stack on rings, as Chapter 8 does; return the mean loss of each ten steps, in nats.

    >>> len(measure("pre-norm", depth=1, learning_rate=0.01, seed=0))
    15
    """
    torch.manual_seed(seed)
    stack = make_stack(order, depth)

    def batch_loss(generator: torch.Generator) -> torch.Tensor:
        rings = torch.randint(SYMBOLS, (64, LENGTH), generator=generator)
        return functional.cross_entropy(stack(rings).flatten(0, 1), rings.roll(3, dims=1).flatten())

    losses = torch.tensor(train(stack, batch_loss, STEPS, learning_rate, seed, 0.0))
    return [round(loss, 3) for loss in losses.view(-1, EVERY).mean(dim=1).tolist()]


def read_table() -> list[dict]:
    """Return what was measured: {order, depth, learning_rate, losses: for each seed the mean of each ten steps}."""
    return json.loads(TABLE.read_text(encoding="utf-8"))


if __name__ == "__main__":  # python -m course_lib.explorers.orders_table
    start_reproducibly(0)
    rows = [
        {
            "order": order,
            "depth": depth,
            "learning_rate": rate,
            "losses": [measure(order, depth, rate, s) for s in SEEDS],
        }
        for order, depth, rate in product(ORDERS, DEPTHS, LEARNING_RATES)
    ]
    write_atomically(TABLE, "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
