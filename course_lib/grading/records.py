"""What is known of one graded submission: plain values only, fit for a table, a file or another process."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

# What became of a submission. The last is a fault of ours, which is never a mark: the instructor is told, and
# `course grade --resume` tries again.
GRADED, UNREADABLE, STOPPED, UNGRADED = "graded", "unreadable", "stopped", "ungraded"


# Why a teacher should look at a submission: a small edit may rescue points; it tried what the sandbox refuses; a cell
# did not come to its end.
RESCUE, REFUSED, ENDLESS = "rescue", "refused", "endless"


@dataclass(frozen=True)
class Judgement:
    """What a person decided about one property, one exercise (no `property`) or a submission (no `exercise` either)."""

    exercise: str  # "02.3"
    function: str
    property: str
    points: int | None  # None: a comment, and the points of the machine stay
    comment: str
    by: str  # a name
    at: str  # "2026-11-03 14:05 UTC"

    @property
    def place(self) -> tuple[str, str, str]:
        """What it is about, within the submission."""
        return self.exercise, self.function, self.property


@dataclass(frozen=True)
class Event:
    """Something that a teacher should see, in a sentence, with the exercise where it belongs to one, and the file."""

    kind: str  # RESCUE, REFUSED or ENDLESS
    exercise: str
    sentence: str
    file: str  # the path that was graded


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
    judgement: Judgement | None = None  # by hand; `earned` are then the points that count
    machine: int | None = None  # the points of the machine, where a hand gave others or the same

    @property
    def failed(self) -> bool:
        """Whether the property counts as broken: a person's points are the last word."""
        return bool(self.problem) if self.machine is None else self.earned < self.points


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
    events: tuple[Event, ...] = ()
    judgements: tuple[Judgement, ...] = ()  # all of this submission, also those that no finding shows

    @property
    def earned(self) -> int | None:
        """The points of all findings; None where nothing was graded."""
        return None if self.status == UNGRADED else sum(finding.earned for finding in self.findings)

    @property
    def points(self) -> int:
        """The points that could be earned."""
        return sum(finding.points for finding in self.findings)

    @property
    def comments(self) -> tuple[Judgement, ...]:
        """What a person said of the whole submission or of an exercise."""
        return tuple(each for each in self.judgements if not each.property)

    @property
    def outdated(self) -> tuple[Judgement, ...]:
        """What a person decided about properties that are no longer there, or no longer have so many points."""
        shown = {each.judgement.place for each in self.findings if each.judgement}
        return tuple(each for each in self.judgements if each.property and each.place not in shown)


def numbered(findings: Iterable[Finding]) -> list[tuple[str, Finding]]:
    """Give each finding a number: that of its exercise, and its place in it.

    >>> [number for number, _ in numbered([Finding("02.3", "attend", name, 1, 1) for name in ("shape", "values")])]
    ['02.3.1', '02.3.2']
    """
    places, given = Counter(), []
    for finding in findings:
        places[finding.exercise] += 1
        given.append((f"{finding.exercise}.{places[finding.exercise]}", finding))
    return given
