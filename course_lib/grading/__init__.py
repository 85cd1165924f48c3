"""Checking exercises: declarations say what is right, judges look at answers, a report says what was seen.

`exercise` holds the form of a declaration and `declarations/` one file of them for each chapter; `call` is the seam
between a verdict and the code it is about; `judges` are shared by the declarations; `judging` draws the cases;
`report` words the result; `submission` reads notebooks; `command` and `notebook` are the two ways in.
"""

from course_lib.grading.notebook import check

__all__ = ["check"]
