"""What is known of one graded submission: plain values only, fit for a table, a file or another process."""

from dataclasses import dataclass

# What became of a submission. The last is a fault of ours, which is never a mark: the instructor is told, and
# `course grade --resume` tries again.
GRADED, UNREADABLE, STOPPED, UNGRADED = "graded", "unreadable", "stopped", "ungraded"


@dataclass(frozen=True)
class Finding:
    """The verdict on one property: `kind` and `problem` are empty where it holds; `mistake` is a known one, by name."""

    exercise: str  # "02.3"
    function: str  # "attend"
    property: str  # "one-hot weights return the exact value"
    earned: int
    points: int
    kind: str = ""  # one of `problem.KINDS`
    problem: str = ""  # the sentence
    mistake: str = ""  # the name that the exercise gives it; it stands at every failed property of the task
    explanation: str = ""  # what that mistake is to be told, and a second one behind it


@dataclass(frozen=True)
class Record:
    """One submission: `status` is one of the four above, and `reason` a sentence for all but the first.

    Findings are there for every property that was asked for, but for a submission that is ungraded, which has none.
    Nothing that is written for others depends on `seconds` or `output`: the same submissions and the same seed give
    the same files.
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
    def earned(self) -> int | None:
        """The points of all findings; None where nothing was graded."""
        return None if self.status == UNGRADED else sum(finding.earned for finding in self.findings)

    @property
    def points(self) -> int:
        """The points that could be earned."""
        return sum(finding.points for finding in self.findings)
