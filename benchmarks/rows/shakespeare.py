"""One step of nanoGPT's recipe for a CPU: tiny Shakespeare in characters, 802 thousand parameters, 12 pieces of 64."""

from collections.abc import Iterator

from benchmarks.implementations import Sizes
from benchmarks.results import Row
from benchmarks.rows.language_model import training_row

TITLE = "A step of nanoGPT's recipe for a CPU"
SIZES = Sizes(vocab=65, width=128, heads=4, layers=4, context=64)
BATCH = 12
SECONDS = 15


def rows() -> Iterator[Row]:
    """Measure a step; the characters do not matter."""
    yield training_row(SIZES, BATCH, SIZES.context, SECONDS)[0]
