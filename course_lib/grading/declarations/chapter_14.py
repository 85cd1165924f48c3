"""Exercises of chapter 14, looking inside."""

from course_lib.grading.declarations.chapter_14_ablation import ABLATION
from course_lib.grading.declarations.chapter_14_induction import INDUCTION
from course_lib.grading.declarations.chapter_14_selectivity import SELECTIVITY
from course_lib.grading.declarations.chapter_14_stream import STREAM
from course_lib.grading.declarations.chapter_14_tree import TREE

EXERCISES = (INDUCTION, ABLATION, STREAM, TREE, SELECTIVITY)
