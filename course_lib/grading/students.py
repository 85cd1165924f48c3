"""Whom a submission belongs to, in every assignment of a course."""

from course_lib.grading import downloads
from course_lib.grading.matching import ENDING


def student_of(submission: str) -> str:
    """Return the student of a submission: its name, without the kind of file and what a platform adds to it.

    Canvas gives a user one number in all assignments; the number that Moodle gives is another one in each.

    >>> student_of("ann_lee.ipynb"), student_of("ann_lee")
    ('ann_lee', 'ann_lee')
    >>> student_of("leeann_LATE_12345"), student_of("leeann_12345"), student_of("Ann Lee_7_assignsubmission_file_")
    ('leeann_12345', 'leeann_12345', 'Ann Lee')
    """
    told = downloads.read(submission)
    if told.platform == downloads.MOODLE:
        return told.name
    if told.platform == downloads.CANVAS and told.name:
        return f"{told.name}_{told.number}"
    return ENDING.sub("", submission)
