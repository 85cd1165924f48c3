"""The capstone: train a picture writer, keep its weights, measure it, and give it a report card."""

from course_lib.capstone.card import Example, Measure, ReportCard, report_card
from course_lib.capstone.measures import (
    LONGEST,
    MOVED,
    cache_gap,
    causal_leak,
    exact_rate,
    operations,
    picture_padding_leak,
    word_padding_leak,
    write_captions,
)
from course_lib.capstone.practice import (
    PADDING,
    REFERENCE,
    fresh_scenes,
    load_picture_writer,
    save_picture_writer,
    train_picture_writer,
    unseen_scenes,
)

__all__ = [
    "LONGEST",
    "MOVED",
    "PADDING",
    "REFERENCE",
    "Example",
    "Measure",
    "ReportCard",
    "cache_gap",
    "causal_leak",
    "exact_rate",
    "fresh_scenes",
    "load_picture_writer",
    "operations",
    "picture_padding_leak",
    "report_card",
    "save_picture_writer",
    "train_picture_writer",
    "unseen_scenes",
    "word_padding_leak",
    "write_captions",
]
