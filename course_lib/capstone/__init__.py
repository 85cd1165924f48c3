"""The capstone: train a caption transformer, keep its weights, measure it, and give it a report card."""

from course_lib.capstone.card import Example, Measure, ReportCard, report_card
from course_lib.capstone.measures import (
    MAX_LENGTH,
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
    load_caption_transformer,
    save_caption_transformer,
    train_caption_transformer,
    unseen_scenes,
)

__all__ = [
    "MAX_LENGTH",
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
    "load_caption_transformer",
    "operations",
    "picture_padding_leak",
    "report_card",
    "save_caption_transformer",
    "train_caption_transformer",
    "unseen_scenes",
    "word_padding_leak",
    "write_captions",
]
