"""What the texts of the chapters keep to before they are executed. CONTRIBUTING.md says the same in words."""

import functools
import re
import symtable

import pytest

from course_lib.authoring.digests import plain_python
from course_lib.authoring.names import names
from course_lib.authoring.notebooks import read_text
from course_lib.project import root

CHAPTERS = sorted(path.stem for path in (root() / "book/text").glob("[0-9][0-9]_*.md"))


@functools.cache
def cells(stem):
    return read_text(root() / "book/text" / f"{stem}.md").cells


def tags(cell) -> set[str]:
    return set(cell.metadata.get("tags", []))


@pytest.mark.parametrize("stem", CHAPTERS)
def test_a_quiz_is_compared_to_the_letter(stem):
    quizzes = [cell for cell in cells(stem) if "quiz(" in cell.source and cell.cell_type == "code"]
    assert len(quizzes) == 1
    assert "show_quiz(" in quizzes[0].source, "jupyterquiz draws names at random: use course_lib.authoring.quizzes"
    assert tags(quizzes[0]) == {"remove-input"}


@pytest.mark.parametrize("stem", CHAPTERS)
def test_colours_have_names(stem):
    code = "\n".join(cell.source for cell in cells(stem) if cell.cell_type == "code")
    assert not (written := re.findall(r"#[0-9A-Fa-f]{6}\b", code)), f"take these from course_lib.figures: {written}"


@pytest.mark.parametrize("stem", CHAPTERS)
def test_no_line_of_a_text_is_a_comment_by_accident(stem):
    lines = [line for cell in cells(stem) if cell.cell_type == "markdown" for line in cell.source.splitlines()]
    assert not [line for line in lines if line.startswith("%")], "MyST swallows a line that begins with a percent sign"


HEAD_OF_A_TABLE = re.compile(r"^\|(.*)\|\n\|[-:| ]+\|$", re.MULTILINE)


@pytest.mark.parametrize("stem", CHAPTERS)
def test_the_head_of_a_column_has_a_word(stem):
    heads = [
        head for cell in cells(stem) if cell.cell_type == "markdown" for head in HEAD_OF_A_TABLE.findall(cell.source)
    ]
    alone = [each for head in heads for each in head.split("|") if re.fullmatch(r"\s*(\$[^$]+\$\s*)*", each)]
    assert not alone, "a screen reader reads nothing: it is empty, or a formula alone, which MathJax has not set yet"


FOLDED = {"hide-input", "remove-input"}
UNDERSTOOD = {"seed"}  # read by the first cell of every chapter


def imported(cell) -> set[str]:
    """Return the names that a cell imports: the library has pages of its own, and torch has, too."""
    table = symtable.symtable(plain_python(cell.source), "cell", "exec")
    return {symbol.get_name() for symbol in table.get_symbols() if symbol.is_imported()}


def named_in_code_type(markdown: str) -> set[str]:
    """Return the words that a sentence sets in backticks."""
    prose = re.sub(r"^\s*`{3,}.*$", "", markdown, flags=re.MULTILINE)  # the frames of boxes and formulas
    return {word for code in re.findall(r"`([^`]+)`", prose) for word in re.findall(r"\w+", code)}


def unexplained(cells) -> list[str]:
    """Say for each name that a visible cell takes from a folded one, and that no text before it mentions, where."""
    hidden, said, found = set(), set(UNDERSTOOD), []
    for cell in cells:
        if cell.cell_type != "code":
            said |= named_in_code_type(cell.source)
            continue
        bound, used = names(cell.source)
        if FOLDED & tags(cell):
            hidden |= bound - imported(cell)
            continue
        first_line = cell.source.strip().partition("\n")[0]
        found += [f"`{name}` in the cell `{first_line}`" for name in sorted(used & hidden - said)]
        said |= used  # once is enough
        hidden -= bound
    return found


@pytest.mark.parametrize("stem", CHAPTERS)
def test_what_a_folded_cell_defines_has_a_word_in_the_text_before_a_visible_cell_uses_it(stem):
    assert not (missing := unexplained(cells(stem))), f"say in the text what these are: {missing}"


HELPER = "```{code-cell} ipython3\n:tags: [hide-input]\n\nfrom math import pi\n\n\ndef turn(x):\n    return x * pi\n```"
USE = "```{code-cell} ipython3\nprint(turn(pi))\n```"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ([HELPER, USE], ["turn"]),
        ([HELPER, "`turn` multiplies by pi.", USE], []),
        (["`turn(x)` multiplies by pi.", HELPER, USE], []),
        ([HELPER, "Now we turn.", USE], ["turn"]),
        ([HELPER, "```{note}\nturn\n```\n\n`other`", USE], ["turn"]),
        ([HELPER, USE, "`turn` multiplies by pi."], ["turn"]),
        ([HELPER, USE, USE], ["turn"]),
        ([HELPER.replace("hide-input", "remove-input"), USE], ["turn"]),
        ([HELPER.replace("hide-input", "claim"), USE], []),
        ([HELPER, USE.replace("print", "def turn(x):\n    return x\n\n\nprint")], []),
        ([HELPER, USE.replace("turn(pi)", "[turn for turn in range(3)]")], []),
        ([HELPER, USE.replace("print", "def use(x):\n    return ")], ["turn"]),
        ([HELPER, USE.replace("print", "def use(turn):\n    return ")], []),
    ],
)
def test_which_names_want_a_word(tmp_path, text, found):
    chapter = tmp_path / "chapter.md"
    header = "---\nkernelspec:\n  name: python3\n  display_name: Python 3\n---\n\n"
    chapter.write_text(header + "\n\n".join(text) + "\n", encoding="utf-8")
    assert [sentence.split("`")[1] for sentence in unexplained(read_text(chapter).cells)] == found
