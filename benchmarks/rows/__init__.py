"""One module for each kind of work. Each has a TITLE, and `rows()`, which measures and yields one table after another.

ASKED_FOR: measured only when it is named, because it takes minutes of its own.
"""

NAMES = (
    "attention",
    "language_model",
    "writing",
    "encoder_decoder",
    "shakespeare",
    "grading",
    "checking",
    "starting",
    "shakespeare_run",
    "book",
)
