"""What attention costs: multiplications, and numbers that must be held."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode


@dataclass(frozen=True)
class Cost:
    """The cost of one layer of attention for one sequence.

    Multiply-adds: `projections` for queries, keys, values and output; `scores`; `averages` of the values.
    `score_numbers` is how many scores there are, all heads together.
    """

    projections: int
    scores: int
    averages: int
    score_numbers: int

    @property
    def multiply_adds(self) -> int:
        """All multiplications, each with the addition that follows it."""
        return self.projections + self.scores + self.averages


def attention_cost(query: int, key: int, d_model: int, heads: int) -> Cost:
    """Count what it costs that `query` new positions read `key` positions, of which they are the last.

    Keys and values are computed for the new positions only: without a cache, all are new. The heads share the
    width, so that their number changes the scores that are held and not the multiplications. Raises ValueError for more
    queries than keys, for less than one of anything, and where d_model does not divide by the heads.

    >>> attention_cost(query=10, key=10, d_model=64, heads=4)
    Cost(projections=163840, scores=6400, averages=6400, score_numbers=400)
    >>> attention_cost(query=1, key=10, d_model=64, heads=4).multiply_adds
    17664
    """
    if not 1 <= query <= key or d_model < 1 or heads < 1 or d_model % heads:
        raise ValueError(
            f"`query` is {query}, `key` {key}, `d_model` {d_model} and `heads` {heads}, expected at least 1 of each, "
            "no more queries than keys, and heads that divide d_model"
        )
    return Cost(
        projections=4 * query * d_model * d_model,
        scores=query * key * d_model,
        averages=query * key * d_model,
        score_numbers=heads * query * key,
    )


def count_multiply_adds(function: Callable, *arguments, **named) -> int:
    """Return how many multiply-adds the matrix products and convolutions of a call take, without gradients.

    Torch's counter sees nothing of the fused attention kernel of a CPU. So plain products do its work meanwhile: also
    those with keys that a causal mask hides.

    >>> count_multiply_adds(torch.nn.Linear(3, 5), torch.zeros(2, 3))
    30
    """
    plain = sdpa_kernel(SDPBackend.MATH)
    with FlopCounterMode(display=False) as counter, plain, torch.no_grad():
        function(*arguments, **named)
    return counter.get_total_flops() // 2  # a multiplication and an addition are counted as two
