"""What is known of one graded submission: plain values only, fit for a table, a file or another process."""

from dataclasses import dataclass

# What became of a submission. Only the last is a fault of ours; the instructor is told, and the row is kept.
GRADED, UNREADABLE, STOPPED, FAULT = "graded", "unreadable", "stopped", "fault"


@dataclass(frozen=True)
class Finding:
    """The verdict on one property: `problem` is empty where it holds; `misconception` names the mistake, if one is."""

    exercise: str  # "02.3"
    function: str  # "attend"
    property: str  # "one-hot weights return the exact value"
    earned: int
    points: int
    problem: str = ""
    misconception: str = ""  # the name that the declaration gives it; it stands at every failed property of the task


@dataclass(frozen=True)
class Record:
    """One submission: `status` is one of the four above, and `reason` a sentence for all but the first.

    Findings are there for every property that was asked for, whatever became of the submission. Nothing that is
    written for others depends on `seconds` or `output`: the same submissions and the same seed give the same files.
    """

    submission: str  # the name of the folder or file below the folder of submissions
    digest: str  # SHA-256 of what was read
    status: str
    reason: str
    findings: tuple[Finding, ...]
    source: str = ""  # the code that was graded, as it was read
    output: str = ""  # the last that it printed
    seconds: float = 0.0

    @property
    def earned(self) -> int:
        """The points of all findings."""
        return sum(finding.earned for finding in self.findings)

    @property
    def points(self) -> int:
        """The points that could be earned."""
        return sum(finding.points for finding in self.findings)
