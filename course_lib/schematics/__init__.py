"""The drawn mechanisms of the book, each a function: all numbers in them are computed from the running example."""

from course_lib.schematics.attention import attention_step_by_step, self_and_cross_attention
from course_lib.schematics.beam import beam_as_a_tree
from course_lib.schematics.masking import mask_before_softmax
from course_lib.schematics.transformer import encoder_and_decoder, shift_right

__all__ = [
    "attention_step_by_step",
    "beam_as_a_tree",
    "encoder_and_decoder",
    "mask_before_softmax",
    "self_and_cross_attention",
    "shift_right",
]
