"""Exercises of chapter 12, BERT, GPT-2, ViT."""

from course_lib.grading.declarations.chapter_12_families import FAMILIES
from course_lib.grading.declarations.chapter_12_masking import MASKING
from course_lib.grading.declarations.chapter_12_numbers import NUMBERS
from course_lib.grading.declarations.chapter_12_patches import PATCHES
from course_lib.grading.declarations.chapter_12_reading import READING

EXERCISES = (MASKING, PATCHES, READING, FAMILIES, NUMBERS)
