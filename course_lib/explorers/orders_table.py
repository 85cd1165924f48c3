"""The losses that `explore_orders` shows: stacks of four kinds, depths and learning rates, each trained three times."""

import json
from itertools import product
from pathlib import Path

import torch

from course_lib.blocks import TransformerBlock
from course_lib.deepnorm import DeepNormBlock, begin_as_deepnorm
from course_lib.files import write_atomically
from course_lib.rings import WIDTH, RingStack, train_on_rings
from course_lib.seeding import start_reproducibly

TABLE = Path(__file__).with_suffix(".json")
HEADS, EVERY = 2, 10
SEEDS = (0, 1, 2)
DEPTHS = (2, 4, 8, 16)
LEARNING_RATES = (0.003, 0.01, 0.03)
ORDERS = ("pre-norm", "post-norm", "post-norm, DeepNorm", "pre-norm, DeepNorm's weights")


def make_stack(order: str, depth: int) -> RingStack:
    """Return the network of Chapter 8 with `depth` blocks in one of the ORDERS.

    >>> make_stack("post-norm, DeepNorm", depth=2).blocks[0].factor  # the fourth root of 4 sublayers
    1.4142135623730951
    """

    def make_block() -> TransformerBlock:
        if order == "post-norm, DeepNorm":
            return DeepNormBlock(WIDTH, HEADS, 2 * WIDTH, depth)
        return TransformerBlock(WIDTH, HEADS, 2 * WIDTH, norm="pre" if order.startswith("pre") else "post")

    stack = RingStack(depth, make_block)
    if "DeepNorm" in order:
        for block in stack.blocks:
            begin_as_deepnorm(block, depth)
    return stack


def measure(order: str, depth: int, learning_rate: float, seed: int) -> list[float]:
    """Train one stack on rings, as Chapter 8 does; return the mean loss of each ten steps, in nats.

    >>> len(measure("pre-norm", depth=1, learning_rate=0.01, seed=0))
    15
    """
    torch.manual_seed(seed)
    losses = torch.tensor(train_on_rings(make_stack(order, depth), learning_rate, seed))
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
