"""Exercises of chapter 11, generating text."""

from course_lib.grading.declarations.chapter_11_draws import SAMPLING
from course_lib.grading.declarations.chapter_11_overfit import OVERFIT
from course_lib.grading.declarations.chapter_11_start import START
from course_lib.grading.declarations.chapter_11_targets import SHIFT
from course_lib.grading.declarations.chapter_11_tying import TYING

EXERCISES = (SHIFT, START, SAMPLING, TYING, OVERFIT)
