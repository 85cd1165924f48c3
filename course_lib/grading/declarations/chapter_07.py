"""Exercises of chapter 07, positions."""

from course_lib.grading.declarations.chapter_07_bias import BIAS
from course_lib.grading.declarations.chapter_07_clock import CLOCK
from course_lib.grading.declarations.chapter_07_probe import PROBE
from course_lib.grading.declarations.chapter_07_rotation import ROTARY
from course_lib.grading.declarations.chapter_07_shift import SHIFT
from course_lib.grading.declarations.chapter_07_sinusoids import SINUSOIDS

EXERCISES = (SINUSOIDS, SHIFT, CLOCK, ROTARY, PROBE, BIAS)
