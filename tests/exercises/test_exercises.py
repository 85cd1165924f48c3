"""Every exercise keeps the rules: `make check-exercise ID=03.6` asks the same ones about one of them."""

import os
import re

import pytest

from course_lib.authoring import exercise_rules as rules
from course_lib.authoring.notebooks import read_text
from course_lib.grading.catalogue import catalogue

COURSE = catalogue()
# One seed here. `make soak` takes more, and fresh ones.
SEEDS = range(*map(int, os.environ.get("COURSE_SEEDS", "0,1").split(",")))
each_exercise = pytest.mark.parametrize("id", COURSE.ids)


@each_exercise
@pytest.mark.parametrize("rule", rules.RULES, ids=lambda rule: rule.__name__)
def test_an_exercise_keeps_a_rule(id, rule):
    # Right answers are few and must not lose a point by chance; mistakes are many. `make soak` draws fresh seeds.
    seeds = range(3) if rule is rules.right_answers_pass else SEEDS
    assert list(rule(COURSE, COURSE.find(id), seeds)) == []


def test_no_two_exercises_ask_for_functions_of_one_name():
    functions = [task.function for exercise in COURSE for task in exercise.tasks]
    assert len(set(functions)) == len(functions)


@pytest.mark.parametrize("chapter", COURSE.chapters)
def test_a_page_of_solutions_has_the_exercises_of_its_chapter_in_order_and_no_label(chapter):
    page = COURSE.page(chapter)
    assert re.findall(r"^## (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE) == [
        exercise.id for exercise in COURSE.exercises(chapter)
    ]
    # A label would stand twice: on this page and on that of the exercises.
    assert not any(re.search(r"^\([\w-]+\)=", cell.source, re.MULTILINE) for cell in read_text(page).cells)


@pytest.mark.parametrize("chapter", COURSE.chapters)
def test_a_file_of_honest_variants_belongs_to_an_exercise(chapter):
    wanted = {rules.variants_file(COURSE, exercise.id).name for exercise in COURSE.exercises(chapter)}
    folder = rules.root() / "tests/exercises" / f"chapter_{chapter}"
    assert {path.name for path in folder.glob("ex*.py")} == wanted
