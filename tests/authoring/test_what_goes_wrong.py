"""The page of worked answers that readers see has titles, and what goes wrong in each exercise."""

from course_lib.authoring.what_goes_wrong import completed, what_goes_wrong
from course_lib.grading.catalogue import catalogue


def test_a_page_is_completed_from_the_modules_of_its_exercises():
    page = catalogue().page("05").read_text(encoding="utf-8")
    shown = completed(page, catalogue())
    assert "## 05.2 Causal mask\n" in shown and "## 05.2\n" not in shown
    section = shown.partition("## 05.2 Causal mask")[2].partition("## 05.3")[0]
    assert section.count("{dropdown} What goes wrong here") == 1
    assert "+ future = torch.ones(time, time, dtype=torch.bool).triu(diagonal=0)" in section
    # Nothing of the page itself is lost.
    kept = {line for line in page.splitlines() if line.strip() and not line.startswith(("## ", "+++"))}
    assert kept <= set(shown.splitlines())


def test_a_mistake_is_shown_as_its_edit_with_its_sentence():
    shown = what_goes_wrong(catalogue().find("05.2"))
    assert "**No mask.** This is the plain softmax" in shown and "+ return scores.softmax(dim=-1)\n```" in shown
    functions = [mistake for mistake in catalogue().find("07.4").tasks[0].mistakes if not mistake.before]
    shown = what_goes_wrong(catalogue().find("07.4"))
    assert functions and not any(mistake.name[1:] in shown for mistake in functions)  # the first letter is a capital


def test_an_exercise_without_patches_has_no_box():
    exercise = catalogue().find("07.4")
    task = exercise.tasks[0]
    functions = tuple(mistake for mistake in task.mistakes if not mistake.before)
    assert functions
    without = type(exercise)(**vars(exercise) | {"tasks": (type(task)(**vars(task) | {"mistakes": functions}),)})
    assert what_goes_wrong(without) == ""
