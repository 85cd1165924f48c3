"""What the name of a downloaded file or folder says: whose it is, whether it came late, and how the student named it.

Moodle's "Download all submissions" makes `Ada Lovelace_1234567_assignsubmission_file_/work.ipynb`, a folder for each
student, or one file with the same beginning; the number is the participant's, as in the grading worksheet
(https://github.com/moodle/moodle/blob/MOODLE_405_STABLE/mod/assign/locallib.php). Canvas makes
`lovelaceada_12345_678901_work.ipynb` of the sortable name, the number of the user and that of the file, with LATE after
the name where it came late, and `work-1.ipynb` of what is handed in again
(https://github.com/instructure/canvas-lms/blob/master/lib/content_zipper.rb).
"""

import re
from dataclasses import dataclass
from functools import cache

MOODLE, CANVAS = "Moodle", "Canvas"
# The last number decides, since students choose what stands before it: their name may look like another one's download.
_MOODLE = re.compile(r"(?P<own>(?P<name>.+)_(?P<number>[0-9]+)_assignsubmission_[a-z]+)(?:_(?P<file>.*))?", re.DOTALL)
_CANVAS = re.compile(
    r"(?P<own>(?:(?P<anonymous>(?:LATE_)?anon_[^\W_]+)|(?P<name>[^\s.]+?)_(?P<late>LATE_)?(?P<number>[0-9]+)))"
    r"(?:_(?:(?P<upload>[0-9]{4,})_(?P<file>.+)|(?P<page>(?:text|link)\.html)))?",
    re.DOTALL,
)
_AGAIN = re.compile(r"(?P<stem>.+?)(?:-\d+)?(?P<kind>\.ipynb\.json|\.[^.]+)?", re.DOTALL)


@dataclass(frozen=True)
class Download:
    """What a name says; empty where it says nothing of the kind."""

    platform: str = ""
    submission: str = ""  # how all names of the same student begin
    name: str = ""  # of the student, as the platform writes it
    number: str = ""  # of the participant (Moodle) or the user (Canvas)
    late: bool = False
    upload: int = 0  # Canvas numbers the files of all students in the order in which they come
    file: str = ""  # the name that the student gave

    @property
    def file_at_first(self) -> str:
        """The name that the student gave, without the number that Canvas adds to what is handed in again.

        >>> read("lovelaceada_12345_678901_work-2.ipynb").file_at_first
        'work.ipynb'
        """
        parts = _AGAIN.fullmatch(self.file)
        return parts["stem"] + (parts["kind"] or "") if parts else self.file


@cache
def read(name: str) -> Download:
    """Return what the name of a file, of a folder or of a submission says.

    >>> read("Ada Lovelace_1234567_assignsubmission_file_").number
    '1234567'
    >>> read("lovelaceada_LATE_12345_678901_work.ipynb").late, read("ada.ipynb").platform
    (True, '')
    """
    if found := _MOODLE.fullmatch(name):
        if found["file"] and _MOODLE.fullmatch(found["name"]):
            return Download()  # students name their files as well: this may be the download of either of two
        return Download(MOODLE, f"{found['own']}_", found["name"], found["number"], file=found["file"] or "")
    if (found := _CANVAS.fullmatch(name)) and (found["name"] or "") == (found["name"] or "").lower():
        late = bool(found["late"]) or (found["anonymous"] or "").startswith("LATE_")
        file = found["file"] or found["page"] or ""
        return Download(
            CANVAS, found["own"], found["name"] or "", found["number"] or "", late, int(found["upload"] or 0), file
        )
    return Download()
