"""Settings for every test, of the library, of the book's notebooks and of the built book."""

import os
import random
import secrets
import sys

import pytest
from hypothesis import settings

from tests.seed import SEED, USUAL

# As `course sync` does: the workers share the cores, and sums are added in one order. Read when torch is imported,
# which is later than this file, and by the kernels that nbval starts.
os.environ.setdefault("OMP_NUM_THREADS", "1")

settings.register_profile("course", deadline=None, derandomize=SEED == USUAL)
settings.load_profile("course")

# Its modules import each other by their bare names, and run in a process of their own.
collect_ignore = [f"course_lib/grading/sandbox/worker/{name}.py" for name in ("worker", "lockdown")]


def pytest_configure(config):
    if SEED != USUAL and config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = SEED


def pytest_collectstart(collector):
    """Notebooks are kept without their error streams, so nbval has nothing to compare one with.

    What a library writes there depends on the machine: torch, for one, says where a processor is too old for NNPACK.
    """
    if collector.nodeid.endswith(".ipynb"):
        collector.skip_compare += ("stderr",)


def pytest_report_header():
    return f"what is random comes from seed {SEED} (COURSE_TEST_SEED={SEED} repeats it)"


def seed_all():
    random.seed(SEED)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(SEED % 2**32)
    if "torch" in sys.modules:  # to import it takes longer than many a test that does without
        sys.modules["torch"].manual_seed(SEED)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    seed_all()  # for the fixtures that several tests share


@pytest.fixture(autouse=True)
def seeded(monkeypatch):
    """A test draws the same every time, whichever tests ran before it: also what the grader draws anew at each run."""
    seed_all()
    drawn = random.Random(SEED)
    monkeypatch.setattr(secrets, "randbelow", drawn.randrange)
    monkeypatch.setattr(secrets, "randbits", drawn.getrandbits)
