"""Exercises of chapter 09, encoder and decoder."""

from course_lib.grading.declarations.chapter_09_beam import BEAM_SEARCH
from course_lib.grading.declarations.chapter_09_cross_attention import CROSS_ATTENTION
from course_lib.grading.declarations.chapter_09_loss import SHIFT_AND_LOSS
from course_lib.grading.declarations.chapter_09_perturbations import THREE_TESTS
from course_lib.grading.declarations.chapter_09_smoothing import LABEL_SMOOTHING

EXERCISES = (CROSS_ATTENTION, SHIFT_AND_LOSS, THREE_TESTS, BEAM_SEARCH, LABEL_SMOOTHING)
