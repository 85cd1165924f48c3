"""The one seed of all that is random in the tests: always the same, unless COURSE_TEST_SEED says another."""

import os

USUAL = 0
SEED = int(os.environ.get("COURSE_TEST_SEED", USUAL))
