"""The list of exercises that a chapter shows."""

from IPython.display import Markdown, display

from course_lib.grading.declarations import exercises

STAR, EMPTY = "●", "○"


def show_exercises(chapter: str) -> None:
    """Show the exercises of one chapter ("02") as a table: number, title, difficulty, minutes and points.

    Raises CourseError for a chapter without exercises.
    """
    rows = ["| number | exercise | difficulty | minutes | points |", "|---|---|---|---|---|"]
    for exercise in exercises(chapter):
        difficulty = STAR * exercise.difficulty + EMPTY * (4 - exercise.difficulty)
        rows.append(f"| {exercise.id} | {exercise.title} | {difficulty} | {exercise.minutes} | {exercise.points} |")
    display(Markdown("\n".join(rows)))
