"""Exercises of chapter 10, classifying sequences."""

from course_lib.grading.declarations.chapter_10_calibration import CALIBRATION
from course_lib.grading.declarations.chapter_10_occlusion import OCCLUSION
from course_lib.grading.declarations.chapter_10_padding import PADDING
from course_lib.grading.declarations.chapter_10_pooling import POOLING

EXERCISES = (POOLING, PADDING, OCCLUSION, CALIBRATION)
