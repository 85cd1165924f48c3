"""Whom a submission belongs to."""

import re


def student_of(submission: str) -> str:
    """Return the student of a submission: its name, without the kind of file.

    >>> student_of("ann_lee.ipynb"), student_of("ann_lee")
    ('ann_lee', 'ann_lee')
    """
    return re.sub(r"\.(ipynb|py)$", "", submission, flags=re.IGNORECASE)
