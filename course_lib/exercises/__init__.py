"""The exercises of this course: chapter_05/ex2_causal_mask.py is exercise 05.2.

A module says what is verified and how people go wrong; `solutions/05_*.md` has the statement and the worked answer, and
`tests/exercises/chapter_05/ex2_causal_mask.py` right answers that are written differently. Nothing lists an exercise
anywhere: `grading.catalogue` finds it by its place. What exercises share stands in `drawing`, `operators`, `vectors`,
and for one chapter in its modules that begin with an underscore; chapters 06 and 09 also use `chapter_05._masking`.
"""

from course_lib.project import shared

SOLUTIONS = shared("solutions")
