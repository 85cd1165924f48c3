"""Deriving the exercises that learners fill in (exercises/*.ipynb) from their solutions (solutions/*.md)."""

import re
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from course_lib.authoring.leaks import leaked_lines
from course_lib.authoring.notebooks import as_json, find_texts, number_cells, read_notebook, read_text
from course_lib.files import write_atomically
from course_lib.project import OWN_FOLDER, CourseError, find_chapter, own_folder, root, shared

CODE_ANSWER = re.compile(r"^([ \t]*)# BEGIN SOLUTION\n.*?^[ \t]*# END SOLUTION$", re.MULTILINE | re.DOTALL)
TEXT_ANSWER = re.compile(r"^<!-- BEGIN SOLUTION -->$.*?^<!-- END SOLUTION -->$", re.MULTILINE | re.DOTALL)
MARKER = re.compile("(BEGIN|END) SOLUTION")
HEADING = re.compile(r"^## (\d\d\.\d+)$", re.MULTILINE)  # the title stands in the exercise's module
TITLED = re.compile(r"^## \d\d\.\d+[ \t]+\S.*$", re.MULTILINE)


def make(home: Path | None = None, find_exercise: Callable | None = None) -> int:
    """Write exercises/*.ipynb and return 0; raises CourseError where markers or cells are not as they must be.

    `home` is the folder of the course and `find_exercise` finds a declaration by its id, such as "02.3"; tests give
    their own.
    """
    home, find_exercise = home or root(), find_exercise or _declared
    # All are derived before the first is written: a mistake in one leaves the folder as it was.
    wanted = {_stub(text): as_json(derive(text, find_exercise)) for text in find_texts(home / "solutions", [])}
    for path, content in wanted.items():
        write_atomically(path, content)
    for path in _left_over(home):
        path.unlink()
        print(f"removed exercises/{path.name}, which has no solutions")
    print(f"{len(wanted)} written to exercises/")
    return 0


def check(home: Path | None = None, find_exercise: Callable | None = None) -> int:
    """Print which exercises are missing, left over, not what `make` would write, or show an answer; return 1 if any."""
    home, find_exercise = home or root(), find_exercise or _declared
    texts = find_texts(home / "solutions", [])
    problems = [problem for text in texts for problem in _problems(text, find_exercise)]
    problems += [f"exercises/{path.name}: left over, solutions/{path.stem}.md is missing" for path in _left_over(home)]
    print("\n".join(problems) or f"all {len(texts)} exercises in step, no answer leaked")
    return 1 if problems else 0


def start(chapters: list[str], home: Path | None = None, with_texts: bool = False) -> None:
    """Copy exercises to the learner's folder, keep every file that is already there, and say what to do next.

    `with_texts` writes the plain form of each chapter beside its exercises, in my_exercises/chapters. Raises
    CourseError for an unknown chapter, and for texts where only the package is installed.
    """
    folder, own = (home / "exercises", home / OWN_FOLDER) if home else (shared("exercises"), own_folder())
    names = chapters or [path.stem[:2] for path in sorted(folder.glob("*.ipynb"))]
    sources = [find_chapter(folder, name, ".ipynb") for name in names]
    contents = {source.name: partial(source.read_text, encoding="utf-8") for source in sources}
    if with_texts:
        from course_lib.authoring.plain.notebook import Index, plain_page  # reads all of the book

        index = Index(home or root())
        contents |= {f"chapters/{source.name}": partial(plain_page, f"book/{source.stem}", index) for source in sources}
    for name, content in contents.items():
        _give(own, name, content)
    if sources:
        here = Path.cwd()
        shown = own.relative_to(here) if own != here and own.is_relative_to(here) else own
        print(f"where   {own.absolute()}")
        print(f"next    {_how_to_open()} " + (f'"{shown}"' if " " in str(shown) else str(shown)))
        print(f"then    course check {sources[0].stem[:2]}")


def _how_to_open() -> str:
    """Return the command that opens notebooks; the package, which needs no JupyterLab, does not bring it."""
    return "jupyter lab" if find_spec("jupyterlab") else "pip install jupyterlab, then: jupyter lab"


def _give(own: Path, name: str, content: Callable[[], str]) -> None:
    """Write a file for a learner, or say that it is there already."""
    if (own / name).exists():
        print(f"kept    {OWN_FOLDER}/{name} (it may hold your work; move it away to start afresh)")
    else:
        write_atomically(own / name, content())
        print(f"copied  {OWN_FOLDER}/{name}")


def derive(text: Path, find_exercise: Callable) -> NotebookNode:
    """Return the notebook for learners: answers taken out; difficulty, examples and hints put in.

    Raises CourseError for an answer without its markers, and for an exercise without a cell for the answer.
    """
    from course_lib.authoring.statement_examples import example_of_answer  # brings torch, as `_declared` does

    notebook = read_text(text)
    cells, exercise, declared, hints = [], None, None, ()
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = TEXT_ANSWER.sub("", cell.source).strip().replace("# Solutions: ", "# Exercises: ", 1)
            if titled := TITLED.search(cell.source):
                said = f"{titled[0]!r}: write the number alone, the module has the title"
                raise CourseError(f"solutions/{text.name}: {said}")
            for heading in HEADING.finditer(cell.source):
                _require(not hints, text, f"exercise {exercise} has no code cell tagged `answer`")
                exercise, declared = heading[1], find_exercise(heading[1])
                hints = declared.hints
                head = f"{heading[0]} {declared.title}\n\n{_effort(declared)}"
                cell.source = cell.source.replace(heading[0], head, 1)
        elif "answer" in cell.metadata.get("tags", []):
            if example := example_of_answer(declared, cell.source):
                cells.append(new_code_cell(example, metadata={"tags": ["not-graded"]}))
            if hints:
                cells.append(new_markdown_cell(_folded(hints)))
                hints = ()
            cell.source, answers = CODE_ANSWER.subn(r"\1raise NotImplementedError", cell.source)
            _require(answers, text, f"an answer of exercise {exercise} has no `# BEGIN SOLUTION` ... `# END SOLUTION`")
        _require(not MARKER.search(cell.source), text, f"a marker without its partner in exercise {exercise}")
        if cell.source:
            cells.append(cell)
    _require(not hints, text, f"exercise {exercise} has no code cell tagged `answer`")
    notebook.cells = cells
    number_cells(notebook)
    return notebook


def _require(condition: object, text: Path, sentence: str) -> None:
    if not condition:
        raise CourseError(f"solutions/{text.name}: {sentence}")


def _declared(exercise: str):
    from course_lib.grading.catalogue import catalogue  # brings torch, for which `course start` need not wait

    return catalogue().find(exercise)


def _effort(exercise) -> str:
    return f"*Difficulty {exercise.difficulty} of 4 · about {exercise.minutes} minutes · {exercise.points} points*"


def _folded(hints: tuple[str, ...]) -> str:
    """Return the hints, each behind a line to click; the empty lines make Markdown of what stands between the tags."""
    return "\n\n".join(
        f"<details><summary>Hint {number}</summary>\n\n{hint}\n\n</details>" for number, hint in enumerate(hints, 1)
    )


def _problems(text: Path, find_exercise: Callable) -> list[str]:
    path = _stub(text)
    if not path.exists():
        return [f"exercises/{path.name}: missing, run `course make-exercises`"]
    problems = []
    if path.read_text(encoding="utf-8") != as_json(derive(text, find_exercise)):
        problems.append(f"exercises/{path.name}: differs from its solutions, run `course make-exercises`")
    leaked = leaked_lines(read_text(text), read_notebook(path))
    return problems + [f"exercises/{path.name}: shows a line of an answer: {line}" for line in leaked]


def _stub(text: Path) -> Path:
    return text.parent.parent / "exercises" / f"{text.stem}.ipynb"


def _left_over(home: Path) -> list[Path]:
    stubs = {_stub(text) for text in find_texts(home / "solutions", [])}
    return sorted(set((home / "exercises").glob("*.ipynb")) - stubs)
