"""Settings for every test, of the library, of the book's notebooks and of the built book."""

import os

from hypothesis import settings

# As `course sync` does: the workers share the cores, and sums are added in one order. Read when torch is imported,
# which is later than this file, and by the kernels that nbval starts.
os.environ.setdefault("OMP_NUM_THREADS", "1")

settings.register_profile("course", deadline=None)
settings.load_profile("course")

# Its modules import each other by their bare names, and run in a process of their own.
collect_ignore = ["course_lib/grading/isolation/inside/worker.py"]
