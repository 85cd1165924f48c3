"""Reading answers from files: what counts, what is left out, and what is said of a damaged file."""

import json
import os
import re

import nbformat
import pytest

from course_lib.grading.notebook_file import LARGEST, MOST_NAMES, Cell, after_running, read_cells
from course_lib.grading.sandbox.limits import Limits
from course_lib.grading.session import InProcessSession
from course_lib.project import CourseError


class Ran:
    """A file of ours, read and run in this process: its names, and what is known of it."""

    def __init__(self, path):
        here = InProcessSession(str(path), read_cells(path), Limits())
        self.names = here.names
        self.told = here.submission(None)


read = Ran


@pytest.fixture
def notebook(tmp_path):
    """Write a notebook from code cells; a cell is its source, or its source and its tags."""

    def write(*cells, name="02_mine.ipynb"):
        made = [nbformat.v4.new_markdown_cell("# Exercises")]
        for cell in cells:
            source, tags = (cell, []) if isinstance(cell, str) else cell
            made.append(nbformat.v4.new_code_cell(source, metadata={"tags": tags} if tags else {}))
        path = tmp_path / name
        path.write_text(nbformat.writes(nbformat.v4.new_notebook(cells=made)), encoding="utf-8")
        return path

    return write


WRITTEN = """def first(x): pass
  class Second: pass
third = fourth = 5
fifth

   = 6
sixth == 7
  seventh = 8
def eighth_and_more(): pass
async def ninth(): pass
# def tenth
def\televenth(): pass
"""


def test_what_a_cell_defines_is_read_once_from_its_text(monkeypatch):
    """Each function of the course is looked for in each file that is handed in."""
    cell = Cell("code cell 1", WRITTEN)
    assert cell.defines("first")
    for search in ("search", "findall"):
        monkeypatch.setattr(re, search, lambda *_: pytest.fail("the text is searched again"))
    others = ["fourth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "fir"]
    assert all(map(cell.defines, ["Second", "third", "fifth", "eighth_and_more"]))
    assert not any(map(cell.defines, others))


def test_cells_run_in_order_and_share_their_names(notebook):
    names = read(notebook("a = 1", "def f():\n    return a", "a = 2")).names
    assert names["f"]() == 2


@pytest.mark.parametrize(
    "magic",
    [
        "%matplotlib inline",
        "!pip install torch",
        "files = !ls",
        "where = %pwd",
        "?print",
        "print?",
        "torch.nn??",
        "if True:\n    %time",
        "%%bash\nls -l | grep notebook",
        "%%html\n<b>bold</b>",
    ],
)
def test_magics_are_left_out_and_the_rest_of_the_file_counts(notebook, magic):
    submission = read(notebook(magic, "kept = 1"))
    assert submission.names["kept"] == 1 and submission.told.stops == ()


def test_code_beside_a_magic_and_below_a_timing_magic_counts(notebook):
    names = read(notebook("%load_ext autoreload\nbeside = 1\n!ls", "%%time\nbelow = 2")).names
    assert (names["beside"], names["below"]) == (1, 2)


def test_a_line_of_python_that_begins_like_a_magic_is_kept(notebook):
    assert read(notebook("rest = (7\n        % 4)")).names["rest"] == 3


def test_cells_tagged_not_graded_are_left_out(notebook):
    submission = read(notebook(("left_out = 1 +", ["not-graded"]), ("kept = 1", ["answer"])))
    assert "left_out" not in submission.names and submission.names["kept"] == 1


def test_a_cell_that_raises_does_not_hide_the_others_and_is_named_where_a_function_is_missing(notebook):
    submission = read(
        notebook("x = 1\nundefined + 1\ndef lost(): pass", "import sys; sys.exit(3)", "def found(): pass")
    )
    assert "found" in submission.names
    why = "code cell 1 (`def lost`) stopped in line 2 with NameError: name 'undefined' is not defined"
    assert submission.told.why_missing("lost") == f"{submission.told.path}: {why}; so lost is not defined"
    other = "code cell 2 (`import sys; sys.exit(3)`) stopped in line 1: `exit()` ends the programme: leave it out"
    assert submission.told.why_missing("absent") == f"{submission.told.path}: {why}; {other}; it does not define absent"
    both = submission.told.why_missing("lost", "absent")
    assert both == f"{submission.told.path}: {why}; {other}; so lost is not defined; it does not define absent"


def test_where_no_cell_stopped_a_missing_function_is_missing(notebook):
    submission = read(notebook("def found(): pass"))
    assert submission.told.why_missing("lost", "gone") == f"{submission.told.path} does not define lost or gone"


def test_a_cell_may_print_ask_and_draw_without_anybody_there(notebook, capsys):
    submission = read(
        notebook("print('a' * 1000)", "input('name? ')", "import matplotlib.pyplot as plt\nplt.plot([1]); plt.show()")
    )
    assert capsys.readouterr() == ("", "")
    assert len(submission.told.stops) == 1 and "`input()` waits" in submission.told.stops[0].sentence


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("a = 1\nb = = 2", ["code cell 2 (`a = 1`) is not Python in line 2", "`b = = 2`"]),
        ("%time\n\ndef f(:\n    pass", ["code cell 2 (`def f`) is not Python in line 3", "`def f(:`"]),
        ("def f():\nreturn 1", ["in line 2", "expected an indented block"]),
        ("text = 'open", ["in line 1", "unterminated string"]),
        ("# a note\na = (1,", ["code cell 2 (`a = (1,`)", "in line 2", "never closed"]),
        ("a = 1\0", ["code cell 2", "null bytes"]),
    ],
)
def test_a_syntax_error_names_cell_and_line_and_hides_no_other_cell(notebook, source, said):
    submission = read(notebook("fine = 1", source, "also_fine = 2"))
    assert {"fine", "also_fine"} <= submission.names.keys()
    (stop,) = submission.told.broken
    for part in said:
        assert part in stop.sentence


def test_a_file_without_any_python_names_its_cells(notebook):
    told = read(notebook("a = =", "b = =")).told
    assert len(told.broken) == 2 and told.defined == {"__name__"}
    assert "02_mine.ipynb: code cell 1 (`a = =`) is not Python in line 1" in told.why_missing("attend")


def test_a_module_and_a_text_notebook_are_read_too(tmp_path):
    module = tmp_path / "answers.py"
    module.write_text("def attend(weights, values):\n    return 1\n", encoding="utf-8")
    assert "attend" in read(module).names
    text = tmp_path / "02_mine.md"
    text.write_text(
        "---\njupytext:\n  text_representation:\n    format_name: myst\n---\n# Mine\n\n"
        "```{code-cell} ipython3\na = 1\n```\n\n```{code-cell} ipython3\n:tags: [not-graded]\n\nb = 1\n```\n",
        encoding="utf-8",
    )
    assert read(text).names["a"] == 1 and "b" not in read(text).names
    module.write_text("x = 1\n\ndef attend(:\n", encoding="utf-8")
    (stop,) = read(module).told.broken
    assert stop.sentence.startswith("the file is not Python in line 3 (`def attend(:`)")


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"", "02_empty.ipynb"),
        (b"not json", "02_words.ipynb"),
        (b'{"cells": [', "02_cut.ipynb"),
        (b"[]", "02_list.ipynb"),
        (b"{}", "02_object.ipynb"),
        (b'{"cells": 3, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}', "02_number.ipynb"),
        (json.dumps({"cells": [{"cell_type": "code"}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode(),)
        + ("02_cell.ipynb",),
        (b'{"cells": [7], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}', "02_seven.ipynb"),
        (b'{"worksheets": [], "metadata": {}, "nbformat": 3, "nbformat_minor": 0}', "02_old.ipynb"),
        (b"\xff\xfe\x00 not text", "02_bytes.ipynb"),
        (b"hello", "02_page.txt"),
        (b"\x89PNG", "02_picture.png"),
    ],
)
def test_an_unreadable_file_is_one_plain_sentence(tmp_path, content, name):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(CourseError) as error:
        read(path)
    assert name in str(error.value) and "\n" not in str(error.value)


def test_a_folder_is_not_a_notebook(tmp_path):
    with pytest.raises(CourseError, match="is no notebook"):
        read(tmp_path)


def test_a_notebook_of_another_format_is_told_so(tmp_path):
    path = tmp_path / "02_old.ipynb"
    path.write_text('{"cells": [], "metadata": {}, "nbformat": 3, "nbformat_minor": 0}', encoding="utf-8")
    with pytest.raises(CourseError, match="it is not a notebook of format 4"):
        read(path)


def test_a_link_and_a_pipe_are_not_followed(tmp_path):
    secret = tmp_path / "secret.ipynb"
    secret.write_text("hidden", encoding="utf-8")
    link, pipe = tmp_path / "link.ipynb", tmp_path / "pipe.py"
    link.symlink_to(secret)
    os.mkfifo(pipe)
    for path in (link, pipe):
        with pytest.raises(CourseError, match="it is a link or no ordinary file"):
            read_cells(path)


def test_a_file_of_unreasonable_size_is_not_read(tmp_path):
    path = tmp_path / "large.py"
    with path.open("wb") as file:
        file.truncate(LARGEST + 1)
    with pytest.raises(CourseError, match="it has more than 32 MB"):
        read_cells(path)


def test_a_notebook_of_very_many_values_is_not_read(tmp_path, monkeypatch):
    path = tmp_path / "wide.ipynb"
    path.write_text('{"nbformat": 4, "cells": [' + "[]," * 500_000 + "[]]}")
    monkeypatch.setattr(json, "loads", lambda text: pytest.fail("it is read"))
    with pytest.raises(CourseError, match="it holds more than 1,000,000 values"):
        read_cells(path)


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path):
    path = tmp_path / "marked.py"
    path.write_bytes(b"\xef\xbb\xbfkept = 1")
    assert read(path).names["kept"] == 1


def test_a_text_that_is_made_to_be_searched_for_hours_is_searched_at_once():
    """Patterns that try again at each letter would not end within the time of a test."""
    from course_lib.grading.helpers import imported
    from course_lib.grading.notebook_file import Cell

    assert imported("from " + "a" * 500_000) == set()
    assert not Cell("code cell 1", "from " + " import " * 60_000 + "x").gives("attend")
    assert Cell("code cell 1", "from einops import rearrange, einsum as e").gives("einsum")


def test_a_name_that_was_meant_is_looked_for_among_the_first_of_very_many():
    def told(many):
        source = "".join(f"def attend_{number}(): 0\n" for number in range(many)) + "def atend(): 0\n"
        return after_running("mine.py", [Cell("the file", source)], [f"attend_{n}" for n in range(many)], [])

    assert told(MOST_NAMES - 1).why_missing("attend").endswith("(perhaps atend is meant for attend)")
    assert told(MOST_NAMES).why_missing("attend").endswith("does not define attend")
