"""Checking exercises: declarations say what is right, judges look at answers, a report says what was seen.

`exercise` holds the form of a declaration and `declarations/` one file of them for each chapter; `call` is the seam
between a verdict and the code it is about; `judges` are shared by the declarations; `judging` draws the cases;
`report` words the result. `submission` reads what is handed in, and `isolation` runs it where it can do no harm.
`notebook` is the way in from Jupyter, `command` a learner's from a shell, `grade_command` an instructor's; `grader`
turns one submission into a record, `gradebook` keeps the records, `exports`, `class_report` and `similarity` read them.
"""

from importlib import import_module


def __getattr__(name: str):
    """Give `check`, which is imported when it is wanted.

    A command that starts a worker does so before it imports torch; and a chapter that lists its exercises does not
    depend on how they are graded.
    """
    if name == "check":
        return import_module("course_lib.grading.notebook").check
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
