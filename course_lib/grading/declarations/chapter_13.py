"""Exercises of chapter 13, doing it cheaply."""

from course_lib.grading.declarations.chapter_13_attention import TILED
from course_lib.grading.declarations.chapter_13_online import ONLINE
from course_lib.grading.declarations.chapter_13_rooms import ROOMS
from course_lib.grading.declarations.chapter_13_windows import WINDOWS
from course_lib.grading.declarations.chapter_13_writing import COSTS

EXERCISES = (ONLINE, TILED, ROOMS, WINDOWS, COSTS)
