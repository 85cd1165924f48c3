"""The examples of the statements: they run in the notebook for learners, and what comes out is what is expected."""

import pytest
import torch

from course_lib.authoring.notebooks import read_notebook
from course_lib.authoring.statement_examples import LONGEST_FUNCTION, MOST_LINES, WIDTH, example_cell, example_of_answer
from course_lib.grading.catalogue import catalogue
from course_lib.grading.sandbox.worker.attempt import Given

COURSE = catalogue()
HALF_A_DIGIT = 0.5e-4 + 1e-7  # four decimals are shown


def close(got, expected):
    if isinstance(expected, tuple):
        return all(map(close, got, expected))
    return torch.allclose(
        torch.as_tensor(got).double(), torch.as_tensor(expected).double(), rtol=1e-6, atol=HALF_A_DIGIT
    )


@pytest.mark.parametrize("chapter", COURSE.chapters)
def test_what_goes_in_gives_what_has_to_come_out(chapter):
    page = COURSE.page(chapter)
    cells = read_notebook(page.parent.parent / "exercises" / f"{page.stem}.ipynb").cells
    sources = [cell.source for cell in cells if cell.cell_type == "code"]
    names = {}
    exec(sources[0], names)  # the imports
    asked_for = {task.function for exercise in COURSE.exercises(chapter) for task in exercise.tasks}
    for exercise in COURSE.exercises(chapter):
        for task in exercise.tasks:
            cell = example_cell(exercise, task)
            if not cell:
                continue
            assert cell in sources
            assert cell.count("\n") <= MOST_LINES and max(map(len, cell.splitlines())) <= WIDTH
            shown = cell.split("\n# Example ")
            for number, source in enumerate(shown):
                exec(f"# Example {source}", names)
                case = task.examples[number]
                assert close(task.reference(**{name: names[name] for name in case}), names["expected"])
            assert not asked_for & set(task.examples[0])  # an example must not hide an answer


def test_an_example_that_nobody_reads_or_that_stands_there_already_is_left_out():
    first, second, *_ = COURSE.find("05.4").tasks
    assert example_cell(COURSE.find("05.4"), first) and not example_cell(COURSE.find("05.4"), second)
    exercise = COURSE.find("09.3")
    model = exercise.tasks[0].examples[0]["model"]
    assert isinstance(model, Given) and len(model.source) > LONGEST_FUNCTION
    assert not example_cell(exercise, exercise.tasks[0])


def test_the_example_of_an_answer_is_that_of_the_function_it_defines():
    exercise = COURSE.find("06.1")
    cell = example_of_answer(exercise, "import torch\n\ndef merge_heads(vectors):\n    pass\n")
    assert cell == example_cell(exercise, exercise.tasks[1]) != example_cell(exercise, exercise.tasks[0])
    assert example_of_answer(exercise, "def helper():\n    pass\n") == ""
