"""The drawn mechanisms of the book, each a function: all numbers in them are computed from the running example."""

from course_lib.schematics.attention import attention_step_by_step, self_and_cross_attention
from course_lib.schematics.masking import masking
from course_lib.schematics.transformer import shift_right, transformer

__all__ = ["attention_step_by_step", "masking", "self_and_cross_attention", "shift_right", "transformer"]
