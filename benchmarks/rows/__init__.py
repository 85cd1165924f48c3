"""One module for each kind of work. Each has a TITLE, and `rows()`, which measures and yields one table after another.

ASKED_FOR: measured only when it is named, because it takes minutes of its own, or a GPU.
NAMES: in the order of the page.
"""

NAMES = (
    "attention",
    "language_model",
    "writing",
    "encoder_decoder",
    "shakespeare",
    "shakespeare_run",
    "gpu",
    "grading",
    "checking",
    "starting",
    "book",
)
