import asyncio
import json
import os
import shutil
import sys

import nbformat
import pytest
from jupytext.cli import jupytext

from course_lib.authoring import pairs
from course_lib.project import CourseError, root


@pytest.fixture
def executed(course, monkeypatch) -> list[str]:
    """The names of the chapters that were executed, in order; nothing is executed really, which takes no time."""
    names = []

    async def remember(name, notebook, home, after_cell, environment=None, go_on_after=""):
        names.append(name)
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.execution_count = len(names)

    monkeypatch.setattr(pairs, "execute", remember)
    return names


def outputs(path) -> list:
    cells = nbformat.read(path, as_version=4).cells
    return [output for cell in cells if cell.cell_type == "code" for output in cell.outputs]


def test_a_chapter_becomes_a_notebook_with_outputs_and_nothing_that_differs_from_run_to_run(course, monkeypatch):
    other_python = {"argv": ["/no/such/python"], "display_name": "Python 3", "language": "python"}
    course.write("elsewhere/kernels/python3/kernel.json", json.dumps(other_python))
    monkeypatch.setenv("JUPYTER_PATH", str(course.home / "elsewhere"))
    course.write("course_lib/numbers.py", "ANSWER = 42\n")
    noise = "import sys\nprint('a', flush=True)\nprint('noise', file=sys.stderr, flush=True)\nprint('b')"
    this_python = "import sys; print(sys.executable)"
    course.chapter("01_one", "from course_lib.numbers import ANSWER", noise, "ANSWER", this_python)
    assert pairs.sync([], False, course.home) == 0

    first = course.notebook("01_one").read_bytes()
    notebook = nbformat.reads(first.decode(), as_version=4)
    nbformat.validate(notebook)
    assert [cell.id for cell in notebook.cells] == ["c0", "c1", "c2", "c3", "c4"]
    assert notebook.metadata.kernelspec.name == "python3"
    assert "language_info" not in notebook.metadata
    assert [output.get("text") or output.data["text/plain"] for output in outputs(course.notebook("01_one"))] == [
        "a\nb\n",
        "42",
        f"{sys.executable}\n",  # the kernel is this Python, whatever is installed elsewhere
    ]
    assert not any(key in cell.metadata for cell in notebook.cells for key in ("execution", "collapsed"))

    assert pairs.sync([], True, course.home) == 0
    assert course.notebook("01_one").read_bytes() == first


def test_the_kernel_starts_in_the_folder_of_the_notebooks_with_seed_0_and_inline_figures(course, monkeypatch):
    monkeypatch.setenv("COURSE_SEED", "7")
    monkeypatch.setenv("COURSE_CLAIMS_FILE", "/nowhere/claims")
    monkeypatch.setenv("MPLBACKEND", "agg")
    folder = "import os; print(os.path.basename(os.getcwd()))"
    show = "print(*map(os.environ.get, ('COURSE_SEED', 'COURSE_CLAIMS_FILE', 'OMP_NUM_THREADS')))"
    course.chapter("01_one", folder, show, "print(os.environ['MPLBACKEND'])")
    assert pairs.sync([], False, course.home) == 0
    texts = [output.text for output in outputs(course.notebook("01_one"))]
    assert texts[:2] == ["book\n", "0 None 1\n"]
    assert "inline" in texts[2]


@pytest.mark.parametrize(("tag", "folded"), [("hide-input", True), ("remove-input", True), ("claim", False)])
def test_code_that_the_book_folds_is_folded_in_jupyterlab(course, executed, tag, folded):
    course.chapter("01_one", f":tags: [{tag}]\n\nx = 1")
    pairs.sync([], False, course.home)
    _, cell = nbformat.read(course.notebook("01_one"), as_version=4).cells
    assert cell.metadata == {"tags": [tag]} | ({"jupyter": {"source_hidden": True}} if folded else {})


def test_a_text_that_jupyterlab_saves_does_not_say_what_is_folded(course, executed):
    text = course.chapter("01_one", ":tags: [hide-input]\n\nx = 1")
    shutil.copy(root() / "jupytext.toml", course.home)
    pairs.sync([], False, course.home)
    os.utime(course.notebook("01_one"), (later := text.stat().st_mtime + 10, later))
    jupytext([str(course.notebook("01_one")), "--sync", "--quiet"])
    assert "format_name: myst" in text.read_text()  # it was written by jupytext
    assert "source_hidden" not in text.read_text()


def test_nothing_changed_means_nothing_executed(course, executed):
    course.chapter("01_one", "1")
    assert pairs.sync([], False, course.home) == 0
    before = course.notebook("01_one").stat().st_mtime_ns
    assert pairs.sync([], False, course.home) == 0
    assert executed == ["01_one"]
    assert course.notebook("01_one").stat().st_mtime_ns == before
    assert pairs.sync([], True, course.home) == 0
    assert executed == ["01_one", "01_one"]


def test_changed_code_executes_that_chapter_only(course, executed):
    course.chapter("01_one", "1")
    course.chapter("02_two", "2")
    pairs.sync([], False, course.home)
    course.chapter("02_two", "3")
    pairs.sync([], False, course.home)
    assert executed == ["01_one", "02_two", "02_two"]


REWORDED = [
    ("# A chapter", "# Another title\n\nA sentence."),
    ("print(x)", "# shown to the reader\nprint( x )"),
    ("ipython3\nx = 1", "ipython3\n:tags: [claim]\n\nx = 1"),
]


@pytest.mark.parametrize(("old", "new"), REWORDED, ids=["a sentence", "a comment", "a tag"])
def test_other_words_around_the_same_code_are_written_without_executing_it(course, capsys, old, new):
    text = course.chapter("01_one", "x = 1", "print(x)")
    pairs.sync([], False, course.home)
    text.write_text(text.read_text().replace(old, new))
    assert pairs.check([], course.home) == 1
    capsys.readouterr()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs, "execute", None)
        assert pairs.sync([], False, course.home) == 0
    assert capsys.readouterr().out == "01_one: text updated, nothing executed\n1 text updated\n"
    assert pairs.check([], course.home) == 0

    rewritten = course.notebook("01_one").read_text()
    assert new.splitlines()[-1] in rewritten
    pairs.sync([], True, course.home)
    assert course.notebook("01_one").read_text() == rewritten


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        (["1", "22", "3"], "code changed: cell 2 (`22`)"),
        (["1", "2", "3", "4"], "code changed: cell 4 (`4`)"),
        (["0\n5", "1", "3"], "code changed: cell 1 (`0`); code removed: cell 2 (`2`)"),
        (["1", "2"], "code removed: cell 3 (`3`)"),
        (["1", "2", "3;"], "code changed: cell 3 (`3;`)"),
    ],
)
def test_check_names_the_cells_whose_code_changed(course, executed, capsys, cells, reason):
    course.chapter("01_one", "1", "2", "3")
    pairs.sync([], False, course.home)
    course.chapter("01_one", *cells)
    capsys.readouterr()
    assert pairs.check([], course.home) == 1
    assert capsys.readouterr().out == f"book/01_one.ipynb: {reason}\n"
    pairs.sync([], False, course.home)
    assert executed == ["01_one", "01_one"]


def test_windows_line_ends_are_no_change(course, executed):
    text = course.chapter("01_one", "1")
    pairs.sync([], False, course.home)
    text.write_bytes(text.read_bytes().replace(b"\n", b"\r\n"))
    assert pairs.check([], course.home) == 0


def test_a_changed_module_executes_only_the_chapters_that_import_it_also_at_second_hand(course, executed, capsys):
    course.write("course_lib/low.py", "x = 1\n")
    course.write("course_lib/high.py", "from course_lib.low import x\n")
    course.chapter("01_direct", "from course_lib import low")
    course.chapter("02_second_hand", "from course_lib.high import x")
    course.chapter("03_neither", "import math")
    pairs.sync([], False, course.home)
    course.write("course_lib/low.py", "x = 2\n")
    capsys.readouterr()
    assert pairs.check([], course.home) == 1
    assert capsys.readouterr().out.splitlines() == [
        "book/01_direct.ipynb: library changed: course_lib/low.py",
        "book/02_second_hand.ipynb: library changed: course_lib/low.py",
    ]
    pairs.sync([], False, course.home)
    assert executed[3:] == ["01_direct", "02_second_hand"]
    assert pairs.check([], course.home) == 0


def test_a_comment_in_the_library_executes_only_the_page_that_shows_it(course, executed, capsys):
    module = course.write("course_lib/low.py", "def f():\n    return 1  # one\n\n\ndef g():\n    pass\n")
    course.chapter("01_uses", "from course_lib.low import f")
    course.chapter("02_shows", "import inspect\nfrom course_lib.low import f as it\nprint(inspect.getsource(it))")
    pairs.sync([], False, course.home)
    module.write_text('"""Low."""\n\n' + module.read_text().replace("pass", '"""Nothing."""\n    pass  # yet'))
    assert pairs.check([], course.home) == 0
    module.write_text(module.read_text().replace("# one", "# the first number"))
    capsys.readouterr()
    pairs.check([], course.home)
    assert capsys.readouterr().out == "book/02_shows.ipynb: library changed: f as shown\n"
    pairs.sync([], False, course.home)
    assert executed[2:] == ["02_shows"]


def test_only_the_chapters_asked_for(course, executed):
    course.chapter("01_one", "1")
    course.chapter("claims", "2")
    pairs.sync(["claims"], False, course.home)
    assert executed == ["claims"]
    pairs.sync(["01"], False, course.home)
    assert executed == ["claims", "01_one"]
    for command in (lambda: pairs.sync(["07"], False, course.home), lambda: pairs.check(["07"], course.home)):
        with pytest.raises(CourseError, match="no chapter '07' .* 01"):
            command()


def test_a_failing_cell_is_named_and_the_old_notebook_stays_byte_for_byte(course, capsys):
    course.chapter("01_one", "1")
    course.chapter("02_two", "2")
    assert pairs.sync([], False, course.home) == 0
    before = course.notebook("01_one").read_bytes()
    course.chapter("01_one", "x = 1", "y = x / 0\nprint(y)")
    course.chapter("02_two", "22")
    capsys.readouterr()
    assert pairs.sync([], False, course.home) == 1
    message = capsys.readouterr().out
    assert "01_one, code cell 2 (`y = x / 0`): ZeroDivisionError: division by zero" in message
    assert "Traceback" not in message
    assert course.notebook("01_one").read_bytes() == before
    assert outputs(course.notebook("02_two"))[0].data["text/plain"] == "22"
    assert sorted(path.name for path in (course.home / "book").iterdir()) == ["01_one.ipynb", "02_two.ipynb", "text"]


@pytest.mark.parametrize(
    ("cell", "error"),
    [("def f(:", "SyntaxError"), ("import os; os._exit(3)", "Python died")],
)
def test_other_ways_to_fail_are_sentences_too(course, capsys, cell, error):
    course.chapter("01_one", cell)
    assert pairs.sync([], False, course.home) == 1
    assert f"01_one, code cell 1 (`{cell}`): {error}" in capsys.readouterr().out
    assert not course.notebook("01_one").exists()


def test_as_many_chapters_run_side_by_side_as_there_are_cores(course, monkeypatch):
    running, counts = set(), []

    async def look_around(name, notebook, home, after_cell):
        running.add(name)
        await asyncio.sleep(0)  # whoever may start as well does so now
        counts.append(len(running))
        running.remove(name)
        if name == "02_two":
            raise CourseError("02_two cannot be executed")
        notebook.cells[1].execution_count = 1

    monkeypatch.setattr(pairs, "execute", look_around)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    for stem in ("01_one", "02_two", "03_three"):
        course.chapter(stem, "1")
    assert pairs.sync([], False, course.home) == 1
    assert max(counts) == 2
    assert [course.notebook(stem).exists() for stem in ("01_one", "02_two", "03_three")] == [True, False, True]


def test_a_fault_of_ours_is_not_taken_for_one_of_the_chapter(course, monkeypatch):
    async def break_down(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(pairs, "execute", break_down)
    course.chapter("01_one", "1")
    with pytest.raises(ZeroDivisionError):
        pairs.sync([], False, course.home)


def test_check_says_what_was_done_to_a_notebook(course, capsys):
    course.chapter("01_one", "print(1)")
    pairs.sync([], False, course.home)
    path = course.notebook("01_one")
    original = path.read_text(encoding="utf-8")

    def reason_after(change) -> str:
        notebook = json.loads(original)
        change(notebook)
        path.write_text(json.dumps(notebook), encoding="utf-8")
        capsys.readouterr()
        return f"{pairs.check([], course.home)} {capsys.readouterr().out}"

    assert reason_after(lambda notebook: None) == "0 all 1 pairs in step\n"
    by_hand = "1 book/01_one.ipynb: notebook edited by hand\n"
    assert reason_after(lambda notebook: notebook["cells"][1].update(source="print(2)")) == by_hand
    assert reason_after(lambda notebook: notebook["cells"][1]["outputs"][0].update(text="2\n")) == by_hand
    assert reason_after(lambda notebook: notebook["cells"][0].update(source="# Another title")) == by_hand
    never = "1 book/01_one.ipynb: outputs missing, never executed by `course sync 01_one`\n"
    assert reason_after(lambda notebook: notebook["cells"][1].update(execution_count=None, outputs=[])) == never
    assert reason_after(lambda notebook: notebook["metadata"].pop("course")) == never

    assert pairs.sync([], False, course.home) == 0
    assert path.read_text(encoding="utf-8") == original


def test_text_edited_while_the_chapter_runs_is_noticed(course, monkeypatch):
    course.chapter("01_one", "1")

    async def slow(name, notebook, *_):
        course.chapter("01_one", "2")
        notebook.cells[1].execution_count = 1

    monkeypatch.setattr(pairs, "execute", slow)
    pairs.sync([], False, course.home)
    assert pairs.check([], course.home) == 1


def test_check_finds_missing_orphaned_changed_and_unreadable_notebooks(course, executed, capsys):
    course.chapter("01_one", "1")
    course.chapter("02_two", "2")
    pairs.sync([], False, course.home)
    course.chapter("02_two", "3")
    course.chapter("03_three", "3")
    course.write("book/04_four.ipynb", "{}")
    capsys.readouterr()
    assert pairs.check([], course.home) == 1
    assert capsys.readouterr().out.splitlines() == [
        "book/02_two.ipynb: code changed: cell 1 (`3`)",
        "book/03_three.ipynb: missing, run `course sync 03_three`",
        "book/04_four.ipynb: no text, book/text/04_four.md is missing",
    ]
    assert pairs.check(["01"], course.home) == 0
    course.notebook("01_one").write_text("<<<<<<< HEAD", encoding="utf-8")
    capsys.readouterr()
    assert pairs.check(["01"], course.home) == 1
    assert capsys.readouterr().out.startswith("book/01_one.ipynb: not a notebook")
    pairs.sync(["01"], False, course.home)
    assert pairs.check(["01"], course.home) == 0


def test_a_page_that_reads_the_ledger_is_executed_when_the_ledger_changes(course, executed):
    course.chapter("01_one", "1")
    course.chapter("claims", "open('_data/claims.json')")
    course.write("book/_data/claims.json", "{}")
    pairs.sync([], False, course.home)
    course.write("book/_data/claims.json", '{"chapters": {}}')
    pairs.sync([], False, course.home)
    assert executed == ["01_one", "claims", "claims"]
