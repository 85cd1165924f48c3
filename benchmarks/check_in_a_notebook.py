"""How long `check(function)` takes in a notebook, for every worked answer, printing included (target: 10 ms, median).

Run `python benchmarks/check_in_a_notebook.py` on a machine that does nothing else.
"""

import contextlib
import io
import statistics
import time

from course_lib.grading import check
from course_lib.grading.catalogue import catalogue
from course_lib.grading.notebook_file import read_cells
from course_lib.grading.session import InProcessSession
from course_lib.project import find_chapter, root

REPEATS = 21

medians = []
for chapter in catalogue().chapters:
    answers = InProcessSession(chapter, read_cells(find_chapter(root() / "solutions", chapter, ".md"))).names
    for exercise in catalogue().exercises(chapter):
        for task in exercise.tasks:
            times = []
            for _ in range(REPEATS):
                start = time.perf_counter()
                with contextlib.redirect_stdout(io.StringIO()):
                    check(answers[task.function])
                times.append(1000 * (time.perf_counter() - start))
            medians.append(statistics.median(times))
            print(f"{exercise.id}  {task.function:26} {medians[-1]:6.1f} ms")
print(f"median of all {len(medians)} functions: {statistics.median(medians):.1f} ms")
