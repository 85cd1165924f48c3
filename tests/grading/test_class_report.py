"""The class report: what it counts, whom it shows, and that what students wrote stays text."""

import re
from html.parser import HTMLParser

import pytest

from course_lib.grading.catalogue import catalogue
from course_lib.grading.gradebook import Gradebook
from course_lib.grading.records import GRADED, STOPPED, UNGRADED, UNREADABLE, Finding, Record
from course_lib.grading.reports import class_report
from course_lib.grading.reports.class_report import Words, anonymous, mistakes, unnamed, write_report

SUM = "it is the weighted sum of the values"
MEAN = """def attend(weights, values):
    # by Anna Lindqvist
    '''Written by anna.'''
    annas_product = weights[..., None] * values
    return annas_product.mean(1)
"""


def record(name, *failed, mistake="", kind="value", problem="got 1, expected 2", status=GRADED, reason="", source=""):
    """Make a record on 02.3 and 02.4 in which the properties `failed` gave no points."""
    findings = []
    for exercise in map(catalogue().find, ("02.3", "02.4")):
        for task in exercise.tasks:
            for each in task.properties:
                wrong = each.name in failed
                words = (kind, problem, mistake) if wrong else ("", "", "")
                findings.append(
                    Finding(exercise.id, task.function, each.name, 0 if wrong else each.points, each.points, *words)
                )
    return Record(name, "", status, reason, tuple(findings), source)


PROPERTIES = {
    exercise: [each.name for each in catalogue().find(exercise).tasks[0].properties] for exercise in ("02.3", "02.4")
}
MISTAKES = [each.name for each in catalogue().find("02.3").tasks[0].mistakes]


class Page(HTMLParser):
    """What a browser would make of the page: elements with their attributes, and the text."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.text = [], ""
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data


@pytest.fixture
def page(tmp_path):
    """Return a function that writes a report and reads it."""

    def page(records, facts=None, **options):
        write_report(records, facts or {"seed": "7"}, tmp_path / "report.html", **options)
        return Page((tmp_path / "report.html").read_text(encoding="utf-8"))

    return page


# ---------------------------------------------------------------- what the class believes


def test_mistakes_come_most_frequent_first_and_count_students_once():
    first, second = MISTAKES[:2]
    two = PROPERTIES["02.3"][:2]
    records = [record(f"a{number}", *two, mistake=second) for number in range(3)]
    records += [record(f"b{number}", *two, mistake=first) for number in range(2)] + [record("c")]
    found = mistakes(records, set(), Words(catalogue(), "https://example.org/book/"))
    assert [(each.name, each.students) for each in found] == [(second, 3), (first, 2)]
    declared = {each.name: each.sentence for each in catalogue().find("02.3").tasks[0].mistakes}
    assert found[0].sentence.lower() == declared[second].lower()
    assert (found[0].exercise, found[0].title, found[0].function) == ("02.3", "Attend", "attend")
    assert found[0].page == "https://example.org/book/book/02_attention_in_image_captioning.html"
    assert mistakes(records, set(), Words(catalogue(), ""))[0].page == "02_attention_in_image_captioning.html"


def test_every_declared_mistake_finds_its_sentence():
    for chapter in ("00", "02"):
        for exercise in catalogue().exercises(chapter):
            for task in exercise.tasks:
                for each in task.mistakes:
                    finding = Finding(exercise.id, task.function, each.breaks, 0, 1, "value", "wrong", each.name)
                    (found,) = mistakes([Record("a", "", GRADED, "", (finding,))], set(), Words(catalogue(), ""))
                    assert found.sentence and found.page.startswith(chapter)


def test_a_mistake_that_is_no_longer_declared_is_shown_by_its_name(page):
    gone = [
        Finding("02.3", "attend", "x", 0, 1, "value", "wrong", "old name"),
        Finding("99.1", "f", "x", 0, 1, "value", "wrong", "older"),
    ]
    text = page([Record("a", "", GRADED, "", tuple(gone))]).text
    assert "old name" in text and "older" in text


def test_the_example_is_the_commonest_form_and_says_how_many_wrote_it():
    property, mistake = PROPERTIES["02.3"][0], MISTAKES[0]
    short = "def attend(weights, values):\n    return values.mean(1)"
    sources = [MEAN, MEAN.replace("annas_product", "p"), short, ""]
    records = [record(f"s{n}", property, mistake=mistake, source=source) for n, source in enumerate(sources)]
    (found,) = mistakes(records, set(), Words(catalogue(), ""))
    assert found.students == 4 and found.example.students == 2
    assert found.example.code == (
        "def attend(weights, values):\n    p = weights[..., None] * values\n    return p.mean(1)"
    )


def test_an_unwritten_or_stopped_answer_is_no_mistake_without_a_name():
    name = PROPERTIES["02.3"][2]
    ways = [
        {"kind": "unwritten"},
        {"kind": "missing"},
        {"kind": "later"},
        {"mistake": MISTAKES[0]},
        {"status": STOPPED},
    ]
    records = [record(f"{n}{m}", name, **way) for n, way in enumerate(ways) for m in range(3)]
    assert not unnamed(records, set(), Words(catalogue(), ""))


def test_failures_without_a_name_come_with_the_commonest_problem():
    one, two = PROPERTIES["02.3"][0], PROPERTIES["02.4"][0]
    records = [record(f"a{n}", one, problem="got 0, expected 4") for n in range(2)] + [record("b", one)]
    records += [record(f"c{n}", two, one) for n in range(2)] + [record("d", PROPERTIES["02.3"][1])]
    found = unnamed(records, set(), Words(catalogue(), ""))
    assert [(each.name, each.students) for each in found] == [(one, 5), (two, 2)]  # one student alone is no pattern
    assert found[0].sentence == "got 1, expected 2"
    many = records + [record(f"e{n}") for n in range(40)]
    assert [each.name for each in unnamed(many, set(), Words(catalogue(), ""))] == [one]  # a tenth of the class


# ---------------------------------------------------------------- who is shown


def test_examples_betray_nobody(page):
    words = ["Lindqvist", "anna", "Written"]
    records = [record("anna_lindqvist", PROPERTIES["02.3"][0], mistake=MISTAKES[0], source=MEAN)]
    shown = page(records)
    code = re.search(r"def attend\(.*mean\(1\)", shown.text, re.DOTALL)[0]
    assert not any(word.lower() in code.lower() for word in words)
    assert "anna_lindqvist" in shown.text  # in the table, which is the teacher's


def test_words_that_many_use_are_shown():
    code = "hidden = torch.tanh(annas_input)\nlabel = 'anna b l'"
    assert anonymous(code, {"hidden"}) == "hidden = torch.tanh(word_1)\nword_2 = 'word_3 b l'"
    sources = ["annas_input hidden shared", "berts_input hidden shared", "carls_input hidden twice twice twice"]
    known = class_report._words_of_many([record(str(n), source=each) for n, each in enumerate(sources)])
    assert known == {"hidden"}


def test_a_long_example_is_cut():
    shown = anonymous("\n".join(["x = " + "1 + " * 100] * 100))
    assert len(shown.splitlines()) == class_report.LONGEST_EXAMPLE
    assert max(map(len, shown.splitlines())) == class_report.WIDEST_EXAMPLE


# ---------------------------------------------------------------- the page

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'; alert(1); '",
    "</title></style></script><h1>mine</h1>",
    "{{ 7 * 7 }}{% raw %}",
    "`<b>`",
    "javascript:alert(1)",
    "\u202egnp.exe\x00\x1b[2J\ud800",
    "a" * 5000,
]


@pytest.mark.parametrize("text", HOSTILE)
def test_what_students_wrote_stays_text(page, text):
    source = f"def attend(weights, values):\n    x = {text!r}\n    return '''{text}'''"
    records = [
        record(text, *PROPERTIES["02.3"], problem=text, status=UNREADABLE, reason=text, source=source),
        *(record(f"{text}{n}", *PROPERTIES["02.3"], problem=text, source=source) for n in range(3)),
        record(f"{text}4", *PROPERTIES["02.3"], mistake=MISTAKES[0], source=source),
    ]
    hostile, plain = page(records), None
    harmless = [Record(f"n{n}", "", each.status, each.reason and "r", each.findings) for n, each in enumerate(records)]
    plain = page(harmless)
    ignored = {"details", "summary", "pre", "span", "code"}  # an example is there where there is code
    tags = [[tag for tag, _ in each.elements if tag not in ignored] for each in (hostile, plain)]
    assert tags[0] == tags[1]
    for tag, attributes in hostile.elements:
        assert not any(name.startswith("on") for name in attributes)
        assert tag != "a" or attributes["href"].startswith(("#", "02_"))
    assert "49" not in re.sub(r"\d\d–\d\d|\d+/\d+", "", hostile.text) and "\x1b" not in hostile.text
    assert max(len(line) for line in hostile.text.splitlines()) < 500


def test_each_cell_says_points_and_what_failed(page):
    property = PROPERTIES["02.3"][0]
    points = catalogue().find("02.3").tasks[0].properties[0].points
    rest = catalogue().find("02.3").points - points
    shown = page([record("bert"), record("carla", property)])
    cells = [attributes for tag, attributes in shown.elements if tag == "td" and "data-points" in attributes]
    assert len(cells) == 2 * 3 and all(cell["title"] for cell in cells)
    assert cells[4]["title"] == f"02.3 Attend: {rest} of {rest + points} points. {property}"
    assert cells[4]["data-points"] == str(rest) and cells[1]["class"] == "s4"
    assert f"{rest}/{rest + points}" in shown.text


def test_the_teacher_is_told_what_needs_an_eye(page):
    records = [record("anna"), record("bert", status=UNREADABLE, reason="the file is no notebook"), record("carla")]
    shown = page(records)
    assert "These need your eye" in shown.text and "1 of 3 submissions were not graded to the end" in shown.text
    assert re.search(r"bert\s*: unreadable: the file is no notebook", shown.text)
    assert "These need your eye" not in page([record("anna")]).text


@pytest.mark.parametrize("size", [0, 1, 2])
def test_a_small_class_has_a_page(page, size):
    shown = page([record(f"a{number}") for number in range(size)])
    assert f"The class: {size} submissions" in shown.text


def test_the_page_loads_nothing(page):
    shown = page(
        [record("anna", PROPERTIES["02.3"][0], mistake=MISTAKES[0], source=MEAN)], book="https://example.org/book/"
    )
    sources = {"src", "srcset", "data", "poster", "background", "action", "ping"}
    assert not any(sources & attributes.keys() for _, attributes in shown.elements)
    assert not [attributes for tag, attributes in shown.elements if tag in ("link", "iframe", "img", "object", "base")]
    policy = next(attributes for _, attributes in shown.elements if "http-equiv" in attributes)
    assert policy["content"].startswith("default-src 'none'")


def test_the_same_records_give_the_same_bytes(tmp_path):
    records = [record(f"a{n}", *PROPERTIES["02.3"], mistake=MISTAKES[n % 3], source=MEAN) for n in range(9)]
    pages = []
    for order in (records, records[::-1]):
        write_report(sorted(order, key=lambda each: each.submission), {"seed": "1", "tier": "x"}, tmp_path / "r.html")
        pages.append((tmp_path / "r.html").read_bytes())
    assert pages[0] == pages[1]


def test_the_command_writes_into_the_folder_of_grades(tmp_path):
    with Gradebook.create(tmp_path / "gradebook.sqlite", {"seed": "81723"}) as gradebook:
        gradebook.add(record("anna", PROPERTIES["02.3"][0], mistake=MISTAKES[0]))
    path = class_report.report(tmp_path, "https://example.org/here/")
    text = path.read_text(encoding="utf-8")
    assert path == tmp_path / "class_report.html" and "81723" in text
    assert 'href="https://example.org/here/book/02_' in text
    assert 'href="../02_' not in text and "../book/02_" in class_report.report(tmp_path, "..").read_text(
        encoding="utf-8"
    )


def test_what_is_ungraded_is_no_mark_and_counts_for_nothing(page):
    ungraded = Record("bert", "", UNGRADED, "a fault of the grader: KeyError: ours", ())
    shown = page([record("anna"), record("carla"), ungraded])
    assert re.search(r"bert\s*: ungraded: a fault of the grader", shown.text)
    assert f"Half of them have {record('anna').points} of" in shown.text
    cells = [
        attributes for tag, attributes in shown.elements if tag == "td" and attributes.get("title") == "not graded"
    ]
    assert [cell["data-points"] for cell in cells] == ["-1"]
    assert sum(count for _, count in class_report.distribution([record("anna"), ungraded])) == 1


# ---------------------------------------------------------------- the roster


def test_the_roster_says_who_is_missing_what_is_nobody_s_and_who_was_late(page):
    roster = "name,secret\n<b>Bo Lee,not for the page\nAnn Doe,x\n"
    found = page([record("doeann_LATE_12"), record("zoe <i>")], {"seed": "7", "roster": roster})
    text = " ".join(found.text.split())
    assert "1 of 2 people handed something in." in text and "1 without a submission <b>Bo Lee" in text
    assert "1 entered for nobody zoe <i>: nobody of the roster" in text
    assert "doeann_LATE_12 (late)" in text and text.count("(late)") == 1
    assert "not for the page" not in text and "i" not in [tag for tag, _ in found.elements]
    assert "handed something in" not in page([record("ann")]).text
