"""What was found wrong with an answer, as data; `grading.wording` makes sentences of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# Every kind of problem, by what the gradebook writes. Those of the first line are found by checks.
FOUND = ("value", "sum", "range", "moved", "gradient", "changed")
KINDS = (
    *FOUND,
    *("shape", "numbers", "outputs"),  # not the kind of answer that is asked for
    *("idle", "unsteady", "later"),  # one number throughout; two answers to one question; not counted yet
    *("unwritten", "missing", "signature", "parameters", "crash", "time", "stopped"),  # no answer at all
    *("no value", "layout", "no gradient", "forbidden", "incomparable"),
)


@dataclass(frozen=True, eq=False)
class Problem:
    """One thing that is wrong: its kind, the case on which it shows, and what was found there.

    after: what was done to the case before the call, in words, such as "the last vector replaced". where: the part of
    the answer that this is about. got, expected: values, or words for them; `at` is where in a large tensor they
    stand, `differ` says how many entries are wrong, of how many, and `whole` holds both tensors. note: what else is to
    be said. fault: what is known of a call that gave no value, as the worker tells it. asked: the arguments of all
    calls that the property looked at, in order; cotangent: what weighed the entries of the output, where gradients were
    asked for. Raises ValueError for an unknown kind.
    """

    kind: str
    case: Mapping[str, Any] | None = None
    after: str = ""
    where: str = ""
    got: Any = None
    expected: Any = None
    at: tuple[int, ...] | None = None
    differ: tuple[int, int] | None = None
    whole: tuple[Any, Any] | None = None
    note: str = ""
    fault: Mapping[str, Any] = field(default_factory=dict)
    asked: tuple[Mapping[str, Any], ...] = ()
    cotangent: Any = None

    def __post_init__(self):
        if self.kind not in KINDS:
            raise ValueError(f"`kind` is {self.kind!r}, expected one of {', '.join(KINDS)}")
