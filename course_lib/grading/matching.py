"""Who handed in what: the submissions of a gradebook and the people of its roster, never by a guess."""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from course_lib.grading import downloads
from course_lib.grading.gradebook import Gradebook
from course_lib.grading.records import Record
from course_lib.grading.roster import Person, Roster, names_of, parse

ENDING = re.compile(r"\.(ipynb(\.json)?|py|zip)$", re.IGNORECASE)
ROSTER, ASSIGNMENT = "roster", "assignment"  # among the facts of a gradebook: what the teacher's table held


@dataclass(frozen=True)
class Class:
    """The records of a run, the roster where there is one, and which of them belong together."""

    records: list[Record]
    roster: Roster | None = None
    assignment: str = ""  # the name of the assignment, where the teacher gave one

    @cached_property
    def _found(self) -> tuple[dict[Person, Record], dict[str, str]]:
        """Each person's record, and of each submission that is nobody's why it is not."""
        by_person, unmatched = defaultdict(list), {}
        for record in self.records if self.roster else ():
            people = whose(record.submission, self.roster)
            if len(people) == 1:
                by_person[people[0]].append(record)
            else:
                names = " and ".join(each.name for each in people[:3])
                unmatched[record.submission] = f"it could be that of {names}" if people else "nobody of the roster"
        for person, records in by_person.items():
            if len(records) > 1:
                others = " and ".join(each.submission for each in records)
                unmatched |= {each.submission: f"{person.name} has several: {others}" for each in records}
        return {person: records[0] for person, records in by_person.items() if len(records) == 1}, unmatched

    @property
    def unmatched(self) -> dict[str, str]:
        """The submissions that are nobody's on the roster, each with the reason."""
        return self._found[1]

    @cached_property
    def missing(self) -> list[Person]:
        """The people of the roster of whom there is no submission, neither matched nor in doubt."""
        people = self.roster.people if self.roster else ()
        doubtful = {person for submission in self.unmatched for person in whose(submission, self.roster)}
        return [person for person in people if person not in self._found[0] and person not in doubtful]

    @property
    def rows(self) -> list[tuple[Person | None, Record | None]]:
        """The people in the order of the roster, each with the record, and after them the records that are nobody's."""
        people = [(person, self._found[0].get(person)) for person in (self.roster.people if self.roster else ())]
        matched = {record.submission for record in self._found[0].values()}
        return people + [(None, record) for record in self.records if record.submission not in matched]


def class_of(gradebook: Gradebook) -> Class:
    """Return the class of a gradebook."""
    return make_class(gradebook.records(), gradebook.facts)


def make_class(records: list[Record], facts: Mapping[str, str]) -> Class:
    """Return the class of these records, with the roster that is among the facts of a run."""
    roster = parse(facts[ROSTER]) if facts.get(ROSTER) else None
    return Class(records, roster, facts.get(ASSIGNMENT, ""))


def late(record: Record) -> bool:
    """Tell whether the platform says that a submission came late."""
    return downloads.read(record.submission).late


def whose(submission: str, roster: Roster) -> list[Person]:
    """Return the people whose this submission can be: by a number, else by login or email, else by the name.

    >>> roster = parse("name,login\\nAda Lovelace,al\\nLovelace Ada,la\\nBo Diddley,bo\\n")
    >>> [[each.keys for each in whose(name, roster)] for name in ("bo.ipynb", "Bo_Diddley", "zoe.py")]
    [[frozenset({'bo'})], [frozenset({'bo'})], []]
    >>> len(whose("ada_lovelace.ipynb", roster))
    2
    """
    download = downloads.read(submission)
    plain = ENDING.sub("", submission)
    number, names = (download.number, names_of(download.name)) if download.platform else (plain, names_of(plain))
    by_key = [person for person in roster.people if number.casefold() in person.keys]
    return by_key or [person for person in roster.people if names & person.names]
