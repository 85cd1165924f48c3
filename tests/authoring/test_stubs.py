from types import SimpleNamespace

import nbformat
import pytest
from nbformat.v4 import new_markdown_cell, new_notebook

from course_lib.authoring import stubs
from course_lib.project import CourseError

SOLUTIONS = '''---
kernelspec:
  name: python3
  display_name: Python 3
---

# Solutions: Shapes

Read the statement, then write.

```{code-cell} ipython3
import torch
from course_lib.grading import check
```

## 07.1

Write `half(x)`, for `x` of shape (n,). Example: `half([2, 4])` is `[1, 2]`.

```python
one = torch.ones(3) * example_of_the_statement
```

```{code-cell} ipython3
:tags: [answer]

def half(x):
    """Return half of x (n,)."""
    # BEGIN SOLUTION
    one = torch.ones(3) * example_of_the_statement
    total = x.sum() - x.sum()  # ()
    return x * 0.5 + total
    # END SOLUTION
```

```{code-cell} ipython3
:tags: [not-graded]

check(half)
```

+++

<!-- BEGIN SOLUTION -->
Multiplying keeps the shape; a division by two would have done as well.
<!-- END SOLUTION -->

+++

## 07.2

```{code-cell} ipython3
:tags: [answer]

class Longer:
    """Twice as long."""

    def __init__(self):
        self.length = 2 * len("given")

    def forward(self, x):
        """Return x twice."""
        # BEGIN SOLUTION
        if x.ndim == 0:
            x = x.reshape(1, -1)
        return torch.cat([x, x])
        # END SOLUTION
```
'''


def find_exercise(id):
    title, hints = "Half of it" if id == "07.1" else "The longer one", ("Look.", "Plan **it**.", f"Nearly {id}.")
    return SimpleNamespace(title=title, difficulty=2, minutes=10, points=5, hints=hints, tasks=())


@pytest.fixture
def solutions(course):
    """Write the solutions, with replacements if need be, into the course."""

    def write(*replacements):
        content = SOLUTIONS
        for old, new in replacements:
            assert old in content
            content = content.replace(old, new)
        return course.write("solutions/07_shapes.md", content)

    write()
    return write


def stub(course) -> nbformat.NotebookNode:
    return nbformat.read(course.home / "exercises/07_shapes.ipynb", as_version=4)


def test_a_stub_holds_statement_hints_and_signature_and_no_answer(course, solutions):
    assert stubs.make(course.home, find_exercise) == 0
    notebook = stub(course)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert notebook.metadata.kernelspec.name == "python3"
    assert [cell.id for cell in notebook.cells] == [f"c{index}" for index in range(len(notebook.cells))]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in notebook.cells if "outputs" in cell)

    title, imports, statement, hints, half, ask, second, _, longer = (cell.source for cell in notebook.cells)
    assert title.startswith("# Exercises: Shapes\n")
    assert "import torch" in imports
    assert statement.startswith("## 07.1 Half of it\n\n*Difficulty 2 of 4 · about 10 minutes · 5 points*\n\nWrite")
    assert hints.count("<details>") == hints.count("</details>") == 3
    assert "<details><summary>Hint 2</summary>\n\nPlan **it**.\n\n</details>" in hints
    assert half == 'def half(x):\n    """Return half of x (n,)."""\n    raise NotImplementedError'
    assert ask == "check(half)"
    assert second.startswith("## 07.2 The longer one")  # the explanation before it is gone, and its cell with it
    assert '        """Return x twice."""\n        raise NotImplementedError' in longer
    assert 'self.length = 2 * len("given")' in longer
    assert [cell.metadata.get("tags") for cell in notebook.cells[4:6]] == [["answer"], ["not-graded"]]


def test_making_twice_gives_the_same_bytes(course, solutions):
    stubs.make(course.home, find_exercise)
    path = course.home / "exercises/07_shapes.ipynb"
    first = path.read_bytes()
    stubs.make(course.home, find_exercise)
    assert path.read_bytes() == first
    assert stubs.check(course.home, find_exercise) == 0


def test_check_finds_missing_drifted_and_left_over_exercises(course, solutions, capsys):
    assert stubs.check(course.home, find_exercise) == 1
    assert "exercises/07_shapes.ipynb: missing" in capsys.readouterr().out

    stubs.make(course.home, find_exercise)
    solutions(("Write `half(x)`", "Please write `half(x)`"))
    assert stubs.check(course.home, find_exercise) == 1
    assert "exercises/07_shapes.ipynb: differs" in capsys.readouterr().out

    solutions()
    course.write("exercises/08_gone.ipynb", "{}")
    assert stubs.check(course.home, find_exercise) == 1
    assert capsys.readouterr().out.startswith("exercises/08_gone.ipynb: left over")

    stubs.make(course.home, find_exercise)
    assert stubs.check(course.home, find_exercise) == 0
    assert not (course.home / "exercises/08_gone.ipynb").exists()


def test_changed_hints_are_drift(course, solutions, capsys):
    stubs.make(course.home, find_exercise)
    changed = SimpleNamespace(title="Half of it", difficulty=3, minutes=10, points=5, hints=("Look.",), tasks=())
    assert stubs.check(course.home, lambda id: changed) == 1
    assert "differs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("    # BEGIN SOLUTION\n    one", "    one"), "an answer of exercise 07.1 has no"),
        (("total\n    # END SOLUTION", "total"), "an answer of exercise 07.1 has no"),
        (("well.\n<!-- END SOLUTION -->", "well."), "a marker without its partner in exercise 07.1"),
        (("[answer]\n\ndef half(x):", "[other]\n\ndef half(x):"), "a marker without its partner in exercise 07.1"),
        (("[answer]\n\nclass", "[other]\n\nclass"), "a marker without its partner in exercise 07.2"),
    ],
)
def test_markers_that_are_not_as_they_must_be_stop_everything(course, solutions, change, sentence):
    stubs.make(course.home, find_exercise)
    path = course.home / "exercises/07_shapes.ipynb"
    before = path.read_bytes()
    solutions(change)
    with pytest.raises(CourseError, match=f"solutions/07_shapes.md: {sentence}"):
        stubs.make(course.home, find_exercise)
    assert path.read_bytes() == before


def test_an_exercise_needs_a_cell_for_its_answer(course, solutions):
    solutions(("## 07.2\n", "## 07.2\n\n+++\n\n## 07.3\n"))
    with pytest.raises(CourseError, match=r"exercise 07\.2 has no code cell tagged `answer`"):
        stubs.make(course.home, find_exercise)


def leaks(course, capsys, find=find_exercise) -> list[str]:
    stubs.make(course.home, find)
    capsys.readouterr()
    stubs.check(course.home, find)
    return [line.partition("answer: ")[2] for line in capsys.readouterr().out.splitlines() if "answer: " in line]


@pytest.mark.parametrize(
    ("change", "leaked"),
    [
        (("    # BEGIN SOLUTION\n    one", "    doubled = x + x\n    # BEGIN SOLUTION\n    one"), "doubled = x + x"),
        (("Example:", "Think of `x * 0.5 + total`. Example:"), "x * 0.5 + total"),
        (("check(half)", "check(half)  # total = x.sum() - x.sum()"), "total = x.sum() - x.sum()"),
        (("Example:", "x = x.reshape(1,   -1)\n\nExample:"), "x = x.reshape(1, -1)"),
        (
            ("Example:", "Multiplying keeps the shape; a division by two would have done as well.\n\nExample:"),
            "Multiplying keeps the shape; a division by two would have done as well.",
        ),
    ],
    ids=["before the marker", "in a sentence", "in a comment", "another exercise's", "the explanation"],
)
def test_a_line_of_an_answer_that_can_be_read_in_the_stub_is_a_leak(course, solutions, capsys, change, leaked):
    solutions(change)
    assert leaks(course, capsys) == [leaked]


def test_a_hint_may_be_nearly_the_line_and_not_the_line(course, solutions, capsys):
    def hinting(hint):
        return lambda id: SimpleNamespace(
            title="Half of it", difficulty=1, minutes=1, points=1, hints=(hint,), tasks=()
        )

    assert leaks(course, capsys, hinting("`x * 0.5 + ...`")) == []
    assert leaks(course, capsys, hinting("Write `return x * 0.5 + total`.")) == ["x * 0.5 + total"]


def test_what_is_shown_on_purpose_is_no_leak(course, solutions, capsys):
    """The fence of the statement holds a line of the answer; conditions and calls stand in many functions."""
    returned = ("return torch.cat([x, x])", "return x.cumsum(dim=0)")
    solutions(returned, ("Example:", "Mind `if x.ndim == 0:` and `2 * x.cumsum(dim=0)`. Example:"))
    assert leaks(course, capsys) == []
    solutions(returned, ("Example:", "Write `return x.cumsum(dim=0)`. Example:"))
    assert leaks(course, capsys) == ["return x.cumsum(dim=0)"]


def test_the_line_with_which_every_module_begins_is_no_leak(course, solutions, capsys):
    docstring = '    """Return half of x (n,)."""\n'
    solutions((docstring, f"{docstring}    super().__init__()\n"))
    assert leaks(course, capsys) == []


def test_an_answer_pasted_into_the_committed_stub_is_found(course, solutions, capsys):
    stubs.make(course.home, find_exercise)
    path = course.home / "exercises/07_shapes.ipynb"
    path.write_text(path.read_text().replace("    raise NotImplementedError", "    return x * 0.5 + total", 1))
    capsys.readouterr()
    assert stubs.check(course.home, find_exercise) == 1
    drift, leak = capsys.readouterr().out.splitlines()
    assert "differs" in drift
    assert leak.endswith("shows a line of an answer: x * 0.5 + total")


@pytest.fixture
def exercises(course):
    course.write("exercises/05_five.ipynb", "five")
    course.write("exercises/06_six.ipynb", "six")
    return course.home


def test_start_copies_and_never_overwrites(exercises, capsys):
    mine = exercises / "my_exercises/05_five.ipynb"
    stubs.start(["05"], exercises)
    assert mine.read_text() == "five"
    assert list(mine.parent.iterdir()) == [mine]
    copied, where, following, then = capsys.readouterr().out.splitlines()
    assert copied.split()[:2] == ["copied", "my_exercises/05_five.ipynb"]
    assert where.split() == ["where", str(mine.parent)]
    assert f"jupyter lab {mine.parent}" in following  # the learner stands elsewhere
    assert "course check 05" in then

    mine.write_text("my work")
    stubs.start([], exercises)
    assert mine.read_text() == "my work"
    assert (mine.parent / "06_six.ipynb").read_text() == "six"
    kept, copied, *_ = capsys.readouterr().out.splitlines()
    assert kept.split()[:2] == ["kept", "my_exercises/05_five.ipynb"]
    assert copied.split()[:2] == ["copied", "my_exercises/06_six.ipynb"]


def test_start_writes_the_texts_beside_the_exercises_for_who_wants_them(exercises, capsys):
    course = "title: A book\nrepository: {url: 'https://git.test', branch: main}\nhtml: {baseurl: 'https://book.test'}"
    (exercises / "_config.yml").write_text(course)
    (exercises / "_toc.yml").write_text("root: book/05_five")
    cells = [new_markdown_cell("# Five\n\n$$ a $$ (eq-a)")]
    chapter = new_notebook(cells=cells, metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}})
    (exercises / "book").mkdir()
    (exercises / "book/references.bib").write_text("")
    nbformat.write(chapter, exercises / "book/05_five.ipynb")
    stubs.start(["05"], exercises, with_texts=True)
    text = exercises / "my_exercises/chapters/05_five.ipynb"
    assert "tag{5.1}" in nbformat.read(text, as_version=4).cells[1].source
    assert capsys.readouterr().out.splitlines()[1].split() == ["copied", "my_exercises/chapters/05_five.ipynb"]

    text.write_text("my notes")
    stubs.start(["05"], exercises, with_texts=True)
    assert text.read_text() == "my notes"


def test_start_refuses_an_unknown_chapter_before_it_copies_anything(exercises):
    with pytest.raises(CourseError, match="no chapter '09' .* 05, 06"):
        stubs.start(["05", "09"], exercises)
    assert not (exercises / "my_exercises").exists()


def test_a_title_in_a_heading_is_refused_since_the_module_has_it(course, solutions):
    solutions(("## 07.1\n", "## 07.1 Half of it\n"))
    with pytest.raises(CourseError, match="'## 07.1 Half of it': write the number alone, the module has the title"):
        stubs.make(course.home, find_exercise)
