"""The list of exercises that a chapter shows."""

import json
import re

from IPython.display import Markdown, display

from course_lib.project import find_chapter, shared

STAR, EMPTY = "●", "○"
# How `course make-exercises` heads an exercise. Read from there, and not from the declarations: a chapter would depend
# on the whole of the grading, and be executed again for every change of a judge.
HEADING = re.compile(
    r"^## (\d\d\.\d+) (.+)\n\n\*Difficulty (\d) of 4 · about (\d+) minutes · (\d+) points\*$", re.MULTILINE
)


def show_exercises(chapter: str) -> None:
    """Show the exercises of one chapter ("02") as a table: number, title, difficulty, minutes and points.

    Raises CourseError for a chapter without exercises.
    """
    display(Markdown(table(chapter)))


def table(chapter: str) -> str:
    """Return the exercises of one chapter as a table in Markdown.

    >>> print(table("02").splitlines()[2])
    | 02.1 | Map to rows | ●○○○ | 10 | 3 |
    """
    page = json.loads(find_chapter(shared("exercises"), chapter, ".ipynb").read_text(encoding="utf-8"))
    text = "\n\n".join("".join(cell["source"]) for cell in page["cells"] if cell["cell_type"] == "markdown")
    rows = ["| number | exercise | difficulty | minutes | points |", "|---|---|---|---|---|"]
    for number, title, difficulty, minutes, points in HEADING.findall(text):
        bar = STAR * int(difficulty) + EMPTY * (4 - int(difficulty))
        rows.append(f"| {number} | {title} | {bar} | {minutes} | {points} |")
    return "\n".join(rows)
