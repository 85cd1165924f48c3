"""Running a stranger's code in a process of its own, and asking it questions.

`tiers` has the locks that a machine may offer and `probe` finds the strongest; `fork_server` starts a process that
imports torch once and forks a worker for each submission; `conversation` is what the grader says to a worker and hears
from it. `worker` holds what runs on the other side: it knows neither answers nor cases nor seeds, and imports nothing
of `course_lib`.
"""
