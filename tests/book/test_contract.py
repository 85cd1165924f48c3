"""What every chapter keeps to. CONTRIBUTING.md says the same in words."""

import functools
import json
import math
import re

import nbformat
import pytest

from course_lib.authoring import pairs
from course_lib.authoring.notebooks import code_digest
from course_lib.authoring.seeds_in_tables import KIND, ROW, TABLE
from course_lib.grading.catalogue import catalogue
from course_lib.project import root

CHAPTERS = sorted(path.stem for path in (root() / "book" / "text").glob("[0-9][0-9]_*.md"))
pytestmark = pytest.mark.parametrize("stem", CHAPTERS)


@functools.cache
def notebook(stem):
    return nbformat.read(root() / "book" / f"{stem}.ipynb", as_version=4)


def markdown(stem):
    return "\n\n".join(cell.source for cell in notebook(stem).cells if cell.cell_type == "markdown")


def code_cells(stem):
    return [cell for cell in notebook(stem).cells if cell.cell_type == "code"]


READ = ("admonition", "margin", "note", "tip")  # directives whose text a reader reads


def words(text):
    """Return the words that a reader reads, without code, formulas, and the frames of directives and roles."""
    lines, hidden = [], None
    for line in text.splitlines():
        fence = re.match(r"(`{3,})(?:\{([\w-]+)\})?", line)
        if hidden:
            hidden = None if fence and fence[0] == line == hidden else hidden
        elif not fence:
            lines.append(line)
        elif fence[0] != line or fence[2]:  # not the closing fence of something that is read
            hidden = None if fence[2] in READ else fence[1]
    text = re.sub(r"\$\$.*?\$\$|\$[^$\n]+\$|<[^>]+>|\{[\w:-]+\}`[^`]*`", " ", "\n".join(lines), flags=re.S)
    text = re.sub(r"^\s*:{3,}.*$|^:[\w-]+:.*$", " ", text, flags=re.M)
    return re.findall(r"[^\W\d_][\w'’-]*", text)


@functools.cache
def ledger():
    return json.loads((root() / "book" / "_data" / "claims.json").read_text(encoding="utf-8"))["chapters"]


def test_notebook_is_in_step_with_its_text(stem):
    assert (reason := pairs.out_of_step(root() / "book" / "text" / f"{stem}.md", root())) is None, reason


@pytest.mark.parametrize("kind", ["claim", "control"])
def test_chapter_states_its_claim_and_its_control(stem, kind):
    tagged = [cell for cell in notebook(stem).cells if kind in cell.metadata.get("tags", [])]
    assert tagged, f"no cell has the tag `{kind}`"


@pytest.mark.parametrize("kind", ["claim", "control", "opponent"])
def test_below_a_tagged_cell_stands_what_it_states(stem, kind):
    for cell in (cell for cell in notebook(stem).cells if kind in cell.metadata.get("tags", [])):
        assert re.search(rf"\b{kind}\(", cell.source), f"a cell tagged `{kind}` does not call {kind}(...)"
        # A table of findings has its plain text beside the HTML.
        shown = [output.get("text", "") or output.get("data", {}).get("text/plain", "") for output in cell.outputs]
        assert re.search(rf"^{kind}\s", "\n".join(shown), flags=re.M), (
            f"a cell tagged `{kind}` has no line of {kind}(...) below it"
        )


def test_statements_stand_in_tagged_cells(stem):
    for cell in code_cells(stem):
        called = set(re.findall(r"^\s*(claim|control|opponent)\(", cell.source, flags=re.M))
        assert called <= set(cell.metadata.get("tags", [])), f"{sorted(called)} called in a cell without that tag"


def test_each_statement_has_a_name_of_its_own(stem):
    # `course claims` refuses others, after all the seeds.
    page = "".join(output.get("data", {}).get("text/html", "") for cell in code_cells(stem) for output in cell.outputs)
    names = [KIND.sub("", row["name"]) for table in TABLE.findall(page) for row in ROW.finditer(table)]
    assert names and {name for name in names if names.count(name) > 1} == set()


def test_claims_were_measured_on_five_seeds_and_hold(stem):
    assert stem[:2] in ledger(), f"the ledger does not know this chapter: run `course claims {stem[:2]}`"
    entry = ledger()[stem[:2]]
    measured = entry["code"] == code_digest(root() / "book" / "text" / f"{stem}.md")
    assert measured, f"the code changed since its claims were measured: run `course claims {stem[:2]}`"
    assert len(set(entry["seeds"])) >= 5
    assert {claim["kind"] for claim in entry["claims"]} >= {"claim", "control"}
    assert all(len(values) == len(entry["seeds"]) for values in entry.get("trained", {}).values())
    for claim in entry["claims"]:
        assert len(claim["values"]) == len(entry["seeds"]), claim["name"]
        if claim["kind"] == "opponent":  # it may win
            assert len(claim["ours"]) == len(entry["seeds"]), claim["name"]
            continue
        least = -math.inf if claim["at_least"] is None else claim["at_least"]
        most = math.inf if claim["at_most"] is None else claim["at_most"]
        assert all(least <= value <= most for value in claim["values"]), f"{claim['name']} does not hold: {claim}"


def shows(cell, pattern):
    """Whether an output of the cell has data whose kind, or whose HTML, matches the pattern."""
    outputs = [output.get("data", {}) for output in cell.get("outputs", [])]
    return any(re.search(pattern, kind + data.get("text/html", "")) for data in outputs for kind in data)


def test_figures_have_alternative_text_and_a_caption(stem):
    figures = [cell for cell in notebook(stem).cells if shows(cell, r"^image/(?!svg)")]
    drawings = [
        cell for cell in notebook(stem).cells if shows(cell, r"<svg\b")
    ]  # they carry their title and description
    assert figures, "no cell draws a figure"
    for cell in figures + drawings:
        first_line = cell.source.partition("\n")[0]
        options = cell.metadata.get("mystnb", {})
        for group, key in [("image", "alt")] * (cell in figures) + [("figure", "caption"), ("figure", "name")]:
            assert str(options.get(group, {}).get(key, "")).strip(), f"`{first_line}`: no mystnb: {group}: {key}"


def test_chapter_takes_a_misconception_seriously(stem):
    assert re.search(r"^:class:.*\bmisconception\b", markdown(stem), flags=re.M), "no admonition of class misconception"


def test_chapter_lists_its_exercises_and_links_their_page(stem):
    assert re.search(rf"/exercises/{stem}\b", markdown(stem)), f"no link to exercises/{stem}"
    outputs = [output for cell in notebook(stem).cells for output in cell.get("outputs", []) if "data" in output]
    shown = markdown(stem) + "".join(output.data.get("text/markdown", "") for output in outputs)
    missing = [exercise.id for exercise in catalogue().exercises(stem[:2]) if exercise.id not in shown]
    assert not missing, f"the list leaves out {missing}"


def test_the_list_of_exercises_is_the_present_one(stem):
    shown = [
        output["data"]["text/markdown"]
        for cell in notebook(stem).cells
        if "show_exercises(" in cell.source
        for output in cell.outputs
    ]
    declared = [
        f"| {each.id} | {each.title} | {('●' * each.difficulty).ljust(4, '○')} | {each.minutes} | {each.points} |"
        for each in catalogue().exercises(stem[:2])
    ]
    assert [table.splitlines()[2:] for table in shown] == [declared], f"run `course sync {stem[:2]}`"


def test_chapter_cites_at_least_five_works_that_are_in_the_bibliography(stem):
    roles = re.findall(r"\{cite(?::\w+)?\}`([^`]+)`", markdown(stem))
    cited = {key.strip() for keys in roles for key in keys.split(",")}
    entries = set(re.findall(r"^@\w+\{\s*([^,\s]+)", (root() / "book/references.bib").read_text("utf-8"), flags=re.M))
    assert cited <= entries, f"not in references.bib: {sorted(cited - entries)}"
    assert len(cited) >= 5, f"only {sorted(cited)}"


def test_chapter_has_the_length_of_a_chapter(stem):
    assert 1800 <= len(words(markdown(stem))) <= 3800
