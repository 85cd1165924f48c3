"""Exercises of chapter 15, the captioner: a memory, a layer, writing, judging."""

from course_lib.grading.declarations.chapter_15_judging import JUDGING
from course_lib.grading.declarations.chapter_15_layer import DECODER_LAYER
from course_lib.grading.declarations.chapter_15_memory import PICTURE_MEMORY
from course_lib.grading.declarations.chapter_15_writing import WRITING

EXERCISES = (PICTURE_MEMORY, DECODER_LAYER, WRITING, JUDGING)
