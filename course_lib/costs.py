"""What attention costs: multiplications, and numbers that must be held."""

from dataclasses import dataclass


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
    """Count what it costs that `query` new places read `key` places, of which they are the last.

    Keys and values are computed for the new places only: without a cache, all places are new. The heads share the
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
