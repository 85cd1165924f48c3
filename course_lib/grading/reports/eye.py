"""What needs a teacher's eye, with the commands to look closer and to judge by hand."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from course_lib.grading.archives import in_archive
from course_lib.grading.catalogue import OWN
from course_lib.grading.judgements import outdated_in_words
from course_lib.grading.records import ENDLESS, REFUSED, RESCUE, Record

OUTDATED = "outdated"
TITLES = {  # in the order in which they are shown
    RESCUE: "A small edit may bring points back",
    REFUSED: "It tried what the sandbox refuses",
    ENDLESS: "A cell did not come to its end",
    OUTDATED: "A judgement by hand no longer applies",
}
SENTENCES = 4  # of one kind about one file
LONGEST_WORD = 400  # characters of a word in a command


@dataclass(frozen=True)
class Look:
    """One thing to look at: whose it is, what it is, in a sentence, and the commands, as far as there are any."""

    kind: str
    submission: str
    exercise: str
    sentence: str
    commands: tuple[str, ...]


def looks(records: list[Record], facts: Mapping[str, str], grades: Path) -> list[Look]:
    """Return what is to be looked at, kind by kind, each by the name of the submission."""
    found = []
    again = ("--seed", facts["seed"]) if "seed" in facts else ()
    own = facts.get("catalogue", OWN)
    others = () if own == OWN else ("--catalogue", own)
    for record in records:
        for (kind, exercise, file), events in groupby(record.events, attrgetter("kind", "exercise", "file")):
            gone = in_archive(file)
            check = "" if gone else command("check", file, "--all", "--show", *again, *others)
            judge = command("judge", str(grades), record.submission, *filter(None, [exercise]))
            commands = tuple(filter(None, [check, judge]))
            sentences = [event.sentence for event in events]
            more = [f"and {len(sentences) - SENTENCES} more"] if len(sentences) > SENTENCES else []
            where = [f"to check {Path(file).name}, unpack its archive first"] if gone else []
            said = "; ".join([*sentences[:SENTENCES], *more, *where])
            found.append(Look(kind, record.submission, exercise, said, commands))
        for judgement in record.outdated:
            commands = tuple(filter(None, [command("judge", str(grades), record.submission)]))
            said = outdated_in_words(judgement)
            found.append(Look(OUTDATED, record.submission, judgement.exercise, said, commands))
    order = list(TITLES)
    return sorted(found, key=lambda each: order.index(each.kind))  # otherwise they stay in their order


def command(*words: str) -> str:
    """Return a command to paste into a shell; nothing where a word is not fit for that, since students choose names.

    >>> command("judge", "grades", "ann; rm -rf .py")
    "course judge grades 'ann; rm -rf .py'"
    >>> command("judge", "grades", "\\x1b[2J"), command("judge", "grades", "-x")
    ('', '')
    """
    options = {"--all", "--show", "--seed", "--catalogue"}
    for word in words:
        if not word.isprintable() or len(word) > LONGEST_WORD or (word.startswith("-") and word not in options):
            return ""
    return shlex.join(["course", *words])
