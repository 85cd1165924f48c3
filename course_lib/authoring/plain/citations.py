"""Works as a text names them, by authors and year, and as a list at its end names them in full."""

import re
from collections.abc import Iterable
from pathlib import Path

from pybtex.database import Entry, parse_file
from pybtex.plugin import find_plugin
from pybtex.richtext import Text

from course_lib.project import CourseError

MARKDOWN = find_plugin("pybtex.backends", "markdown")()
STYLE = find_plugin("pybtex.style.formatting", "plain")


class Bibliography:
    """The works of a file in the format of BibTeX."""

    def __init__(self, path: Path):
        self.path, self.works = path, parse_file(path)

    def textual(self, keys: list[str]) -> str:
        """Return the works as part of a sentence: Vaswani et al. (2017)."""
        return ", ".join(f"{_authors(work)} ({work.fields['year']})" for work in map(self._find, keys))

    def parenthetical(self, keys: list[str]) -> str:
        """Return the works behind a sentence: (Vaswani et al., 2017; Ba et al., 2016)."""
        named = [f"{_authors(work)}, {work.fields['year']}" for work in map(self._find, keys)]
        return f"({'; '.join(named)})"

    def listed(self, keys: Iterable[str]) -> str:
        """Return the works as a list in Markdown, in the order of their authors."""
        works = STYLE().format_bibliography(self.works, sorted(keys))
        return "\n".join(f"- {_rendered(work.text)}" for work in works)

    def _find(self, key: str) -> Entry:
        if key not in self.works.entries:
            raise CourseError(f"{key!r} is cited, and is not in {self.path.name}")
        return self.works.entries[key]


def _authors(work: Entry) -> str:
    surnames = [" ".join(person.prelast_names + person.last_names) for person in work.persons["author"]]
    surnames = [_rendered(Text.from_latex(surname)) for surname in surnames]
    return f"{surnames[0]} et al." if len(surnames) > 2 else " and ".join(surnames)


def _rendered(text: Text) -> str:
    r"""Return `text` in Markdown, in one line; pybtex would also escape what needs it nowhere but at its beginning."""
    return re.sub(r"\\([-.,:;!(){}#+])", r"\1", text.render(MARKDOWN)).replace("\n", " ")
