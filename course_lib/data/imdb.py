"""IMDb: film reviews that praise or blame, 25,000 to train with and 25,000 of other films to test with.

Published by Maas, Daly, Pham, Huang, Ng and Potts (2011). Each review is a file of its own in an archive of 84 MB,
whose 50,000 further reviews without a label are not unpacked.
"""

import re
from pathlib import Path
from typing import NamedTuple

from course_lib.data.downloads import Source, fetch_archive
from course_lib.data.text_files import decode_text, read_bytes
from course_lib.project import CourseError

ARCHIVE = "aclImdb_v1.tar.gz"
SOURCE = Source(
    "imdb", "https://ai.stanford.edu/~amaas/data/sentiment/", {ARCHIVE: "md5:7c2ac02c03563afcf9b574c7e56c153a"}
)
SPLITS = ("train", "test")
FOLDERS = ("neg", "pos")  # a folder's place here is the label of its reviews
_BREAKS = re.compile(r"\s*(?:<br\s*/?>\s*)+", re.IGNORECASE)


class Reviews(NamedTuple):
    """Reviews, and for each of them 1 if it praises the film and 0 if not."""

    texts: list[str]
    labels: list[int]


def load(split: str, source: Source = SOURCE) -> Reviews:
    """Return the reviews of "train" or "test" and their labels, downloaded and unpacked if need be.

    The order is fixed: by number, of one number the bad review before the good one, so that any beginning of the list
    holds about as many of either. Raises CourseError that names the file for a review that is not UTF-8 or not named
    NUMBER_STARS.txt, where a folder holds none, and as `downloads.fetch_archive` does; ValueError for a split.
    """
    if split not in SPLITS:
        raise ValueError(f"`split` is {split!r}, expected one of {', '.join(SPLITS)}")
    wanted = tuple(f"aclImdb/{part}/{folder}/" for part in SPLITS for folder in FOLDERS)
    archive = fetch_archive(*source.file(ARCHIVE), within=wanted)
    found = []
    for label, folder in enumerate(FOLDERS):
        files = list((archive / "aclImdb" / split / folder).glob("*.txt"))
        if not files:
            raise CourseError(f"{archive} holds no reviews in aclImdb/{split}/{folder}: delete it and run this again")
        found += [(_number(file), label, file) for file in files]
    found.sort()
    return Reviews([_review(file) for _, _, file in found], [label for _, label, _ in found])


def without_breaks(text: str) -> str:
    """Return a review with a space for each run of line breaks, which are HTML in this set.

    >>> without_breaks("Slow.<br /><br />Then it begins.<br>")
    'Slow. Then it begins.'
    """
    return _BREAKS.sub(" ", text).strip()


def _number(file: Path) -> int:
    number = file.name.partition("_")[0]
    if not number.isdecimal():
        raise CourseError(f"{file} is not named as a review is: expected NUMBER_STARS.txt")
    return int(number)


def _review(file: Path) -> str:
    return without_breaks(decode_text(read_bytes(file), str(file)))
