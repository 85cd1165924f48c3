"""The class report in a real browser: a class of 300 with hostile names, wide and narrow, light and dark."""

import pytest

from course_lib.grading.catalogue import catalogue
from course_lib.grading.records import GRADED, STOPPED, Finding, Record
from course_lib.grading.reports.class_report import write_report
from tests.book.accessibility import violations

NAMES = ["<script>alert(1)</script>", "<img src=https://example.org/x>", "anna lindqvist", "دانا", "x" * 90]
CODE = "def {}(a):\n    return '''<script>alert(1)</script>''' + '" + "long " * 100 + "'\n"
TASKS = [
    (exercise, task)
    for chapter in ("00", "02")
    for exercise in catalogue().exercises(chapter)
    for task in exercise.tasks
]

pytestmark = pytest.mark.rendered


def student(number: int) -> Record:
    findings = []
    for place, (exercise, task) in enumerate(TASKS):
        mistaken = (number * (place + 3)) % 7 == 0 and task.mistakes
        name = task.mistakes[number % len(task.mistakes)].name if mistaken else ""
        for each in task.properties:
            wrong = mistaken or (number + place) % 9 == 0
            kind, problem = ("value", "got <b>1</b>, expected 2") if wrong else ("", "")
            earned = 0 if wrong else each.points
            findings.append(Finding(exercise.id, task.function, each.name, earned, each.points, kind, problem, name))
    status, reason = (STOPPED, "the time ran out") if number % 50 == 0 else (GRADED, "")
    source = "".join(CODE.format(task.function) for _, task in TASKS)
    return Record(f"{NAMES[number % 5]} {number:03}", "", status, reason, tuple(findings), source)


@pytest.fixture
def page(browser, tmp_path, request):
    """The page of a class, opened; its `complaints` are requests, what its scripts said, and what popped up."""
    path = tmp_path / "class_report.html"
    write_report([student(number) for number in range(request.param)], {"seed": "7"}, path)
    page = browser.new_page()
    page.complaints = []
    page.on("request", lambda each: each.url == path.as_uri() or page.complaints.append(each.url))
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("dialog", lambda dialog: (page.complaints.append("a dialog"), dialog.dismiss()))
    page.goto(path.as_uri())
    yield page
    page.close()


@pytest.mark.parametrize("page", [1, 300], indirect=True)
def test_the_report_asks_nobody_says_nothing_and_fits(page):
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true })")
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") == width
    assert not page.complaints


@pytest.mark.parametrize("page", [8], indirect=True)
def test_the_report_can_be_read_by_all_in_light_and_dark(page):
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true })")
    assert violations(page) == {"light": [], "dark": []}


@pytest.mark.parametrize("page", [300], indirect=True)
def test_the_table_is_sorted_and_its_names_stay_in_sight(page):
    page.set_viewport_size({"width": 390, "height": 900})

    def column(number):
        return page.locator(f"#students tbody tr > :nth-child({number})").all_inner_texts()

    def points():
        return [int(each.split("/")[0]) for each in column(2)]

    names = column(1)
    for direction in ("ascending", "descending"):
        page.get_by_role("button", name="Points").click()
        assert points() == sorted(points(), reverse=direction == "descending")
        assert page.locator("th[aria-sort]").get_attribute("aria-sort") == direction
    page.get_by_role("button", name="Student").click()
    assert sorted(column(1)) == sorted(names) and points() != sorted(points(), reverse=True)
    page.locator(".scroll").evaluate("(each) => each.scrollTo(300, 400)")
    left, top = page.locator(".scroll").evaluate(
        "(each) => { const inside = each.querySelector('tbody th').getBoundingClientRect(),"
        " head = each.querySelector('thead th').getBoundingClientRect(), box = each.getBoundingClientRect();"
        " return [inside.left - box.left, head.top - box.top] }"
    )
    assert 0 <= left <= 2 and 0 <= top <= 2


def test_without_scripts_the_report_is_whole(browser, tmp_path):
    write_report([student(number) for number in range(9)], {}, tmp_path / "class_report.html")
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto((tmp_path / "class_report.html").as_uri())
        assert page.locator("#students tbody tr").count() == 9
        assert page.locator("button").count() == 0 and page.get_by_text("Points", exact=True).count()
