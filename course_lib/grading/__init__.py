"""Checking exercises: the engine, which knows no course and is given a catalogue of exercises.

`exercise` is the form of one, `catalogue` finds them by their places, `mistakes` reads how people go wrong, and
`solutions` has the worked answers. `call` is the seam between a verdict and the code that it is about; `checks` are
shared by exercises; `engine` asks and judges, finds each `problem` as data, and `wording` makes sentences of it.
`notebook_file` reads what is handed in, `session` asks it, and `sandbox` runs it where it can do no harm. `notebook` is
the way in from Jupyter, `command` a learner's from a shell, `grade_command` an instructor's; `collect` finds what is
handed in, `grader` turns it into a record, `gradebook` keeps the records, `exports` and `reports` read them.
"""

from importlib import import_module


def __getattr__(name: str):
    """Give `check`, `hint` and `progress`, which are imported when they are wanted.

    A command that starts a worker does so before it imports torch; and a chapter that lists its exercises does not
    depend on how they are graded.
    """
    if name in ("check", "hint", "progress"):
        return getattr(import_module("course_lib.grading.notebook"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
