import json
import math

import pytest

from course_lib.authoring import measure_claims, pairs
from course_lib.authoring.ledger_entries import as_json, bound, holds, lead, read_ledger, summarise
from course_lib.authoring.notebooks import code_digest, read_notebook
from course_lib.project import CourseError

SEED = (
    "import os\nfrom course_lib.claims import claim, control, findings, opponent\nseed = int(os.environ['COURSE_SEED'])"
)
EXACT = "claim('exact', 0.96 + seed / 100, at_least=0.95)"
UNIFORM = "control('uniform', 0.3, at_most=0.5)"


def stored(course) -> dict:
    return read_ledger(course.home / "book/_data/claims.json")


def test_each_value_of_each_seed_is_recorded(course, capsys):
    text = course.chapter("02_two", SEED, EXACT, UNIFORM, title="Two of them")
    course.chapter("claims", "raise SystemError('the page without a number is not measured')")
    assert measure_claims.measure([], 3, course.home) == 0
    (number, entry), *others = stored(course).items()
    assert (number, others) == ("02", [])
    exact, uniform = entry["claims"]
    assert exact == {"kind": "claim", "name": "exact", "at_least": 0.95, "at_most": None} | {
        "values": pytest.approx([0.96, 0.97, 0.98]),
        "worst": pytest.approx(0.96),
        "spread": pytest.approx(0.02),
    }
    assert (uniform["kind"], uniform["values"], uniform["spread"]) == ("control", [0.3] * 3, 0)
    assert entry["seeds"] == [0, 1, 2]
    assert len(entry["seconds"]) == 3
    assert (entry["title"], entry["page"]) == ("Two of them", "02_two.ipynb")
    assert entry["versions"].keys() == {"python", "torch"}
    assert all((entry["processor"], entry["measured"], entry["code"]))
    assert not text.with_name("02_two.ipynb").exists()
    printed = capsys.readouterr().out
    assert "exact" in printed
    assert "BROKEN" not in printed


def test_what_was_trained_stands_beside_the_claims_and_is_trained_anew_each_time(course):
    trained = (
        "from course_lib.beforehand import trained_beforehand\n"
        "width = trained_beforehand('02', 'width 16', lambda: 3 + seed)\n"
        "claim('width 16 learns', width, at_most=9)"
    )
    course.chapter("02_two", SEED, EXACT, UNIFORM, trained)
    for _ in range(2):  # the second time, the ledger has the numbers
        assert measure_claims.measure([], 3, course.home) == 0
        entry = stored(course)["02"]
        assert entry["trained"] == {"width 16": [3, 4, 5]}
        assert [claim["values"] for claim in entry["claims"]][-1] == [3, 4, 5]


def test_two_trainings_of_one_name_are_refused(course, capsys):
    twice = (
        "from course_lib.beforehand import trained_beforehand\n"
        "for _ in range(2):\n    trained_beforehand('02', 'width 16', lambda: 3)"
    )
    course.chapter("02_two", SEED, EXACT, UNIFORM, twice)
    assert measure_claims.measure([], 2, course.home) == 1
    assert 'trains "width 16" twice' in capsys.readouterr().out


def test_an_opponent_that_wins_is_recorded_and_breaks_nothing(course, capsys):
    rival = "    opponent('one vector', 0.97, ours=0.96 + seed / 100, cases=1000)"
    course.chapter("02_two", SEED, f"with findings('On 1,000 scenes'):\n    {EXACT}\n{rival}")
    assert measure_claims.measure([], 2, course.home) == 0
    exact, one_vector = stored(course)["02"]["claims"]
    assert (exact["kind"], exact["worst"]) == ("claim", pytest.approx(0.96))
    assert one_vector == {"kind": "opponent", "name": "one vector", "higher_is_better": True} | {
        "values": [0.97, 0.97],
        "ours": [0.96, 0.97],
    }
    printed = (
        capsys.readouterr().out
    )  # in columns, which break "no clear difference (behind by 1.0 standard errors)" into lines
    assert "no clear" in printed
    assert "BROKEN" not in printed


def test_a_table_of_findings_is_kept_as_text_and_as_html(course):
    course.chapter("02_two", SEED, f"with findings('On 10 scenes'):\n    {EXACT}\n    {UNIFORM}")
    assert pairs.sync([], False, course.home) == 0
    (output,) = read_notebook(course.notebook("02_two")).cells[-1].outputs
    assert output.output_type == "display_data"
    assert output.data["text/plain"].splitlines()[0] == "On 10 scenes"
    assert output.data["text/plain"].splitlines()[1].startswith("claim ")
    assert output.data["text/html"].startswith('<table class="table findings">')


def test_sentences_and_comments_do_not_age_the_measurement_and_code_does(course):
    text = course.chapter("02_two", SEED, EXACT)
    before = code_digest(text)
    text.write_text(text.read_text().replace("# A chapter", "# Another title") + "\nOne more sentence.\n")
    assert code_digest(text) == before
    text.write_text(text.read_text().replace("at_least=0.95)", "at_least = 0.95)  # of all scenes"))
    assert code_digest(text) == before
    text.write_text(text.read_text().replace("at_least = 0.95", "at_least=0.9"))
    assert code_digest(text) != before


def test_a_broken_claim_is_recorded_and_does_not_stop_the_rest(course, capsys):
    broken = "claim('small enough', seed, at_most=0)"
    course.chapter("02_two", SEED, broken, UNIFORM)
    assert measure_claims.measure(["02"], 2, course.home) == 1
    small, uniform = stored(course)["02"]["claims"]
    assert (small["values"], small["worst"], holds(small)) == ([0, 1], 1, False)
    assert holds(uniform)
    assert "BROKEN" in capsys.readouterr().out


def test_only_measured_chapters_are_replaced_and_a_failing_one_keeps_its_entry(course, capsys):
    old = {"02": {"claims": ["old"]}, "03": {"claims": ["old"]}, "05": {"claims": ["old"]}}
    course.write("book/_data/claims.json", as_json(old))
    course.chapter("02_two", SEED, "assert seed == 0, 'a seed that does not work'")
    course.chapter("03_three", SEED, EXACT)
    assert measure_claims.measure(["02", "03"], 2, course.home) == 1
    assert "02_two under seed 1, code cell 2 (`assert seed == 0" in capsys.readouterr().out
    after = stored(course)
    assert list(after) == ["02", "03", "05"]
    assert after["02"] == after["05"] == {"claims": ["old"]}
    assert after["03"]["claims"][0]["name"] == "exact"


def test_without_a_result_nothing_is_written(course, capsys):
    course.chapter("02_two", SEED)
    assert measure_claims.measure([], 1, course.home) == 1
    assert capsys.readouterr().out.endswith("02_two states no claim\n")
    assert not (course.home / "book/_data").exists()


def test_unknown_chapter(course):
    course.chapter("02_two", SEED)
    with pytest.raises(CourseError, match="no chapter '03'"):
        measure_claims.measure(["03"], 1, course.home)


def said(name, value, kind="claim", at_least=None, at_most=None) -> dict:
    return {"kind": kind, "name": name, "value": value, "at_least": at_least, "at_most": at_most, "holds": True}


@pytest.mark.parametrize(
    ("values", "limits", "worst"),
    [
        ([0.97, 0.96, 0.99], {"at_least": 0.95}, 0.96),
        ([0.97, 0.90, 0.99], {"at_least": 0.95}, 0.90),
        ([0.2, 0.4, 0.3], {"at_most": 0.5}, 0.4),
        ([-3.0, -8.0], {"at_most": -2}, -3.0),
    ],
)
def test_the_worst_is_nearest_to_the_bound_or_beyond_it(values, limits, worst):
    (claim,) = summarise({seed: [said("a", value, **limits)] for seed, value in enumerate(values)})
    assert claim["worst"] == worst
    assert claim["spread"] == pytest.approx(max(values) - min(values))


def test_a_value_that_could_not_be_computed_is_the_worst_and_breaks_the_claim():
    (claim,) = summarise({seed: [said("a", value, at_least=0)] for seed, value in enumerate([1.0, math.nan, 2.0])})
    assert math.isnan(claim["worst"])
    assert not holds(claim)


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ([said("a", 1, at_least=0)], '"b"'),
        ([said("a", 1, at_least=0), said("b", 1, at_most=3)], '"b"'),
        ([said("a", 1, at_least=0), said("c", 1, at_most=2)], '"b", "c"'),
    ],
)
def test_seeds_that_state_different_things_are_refused(other, sentence):
    first = [said("a", 1, at_least=0), said("b", 1, at_most=2)]
    with pytest.raises(CourseError, match=f"not state the same under seeds 0 and 1: {sentence}$"):
        summarise({0: first, 1: other})


def test_a_claim_that_broke_and_stopped_its_chapter_is_named_with_its_value():
    first = [said("a", 1, at_least=0), said("b", 1, at_most=2)]
    with pytest.raises(CourseError, match=r'seeds 0 and 1: "b"; "a \(-1\)" broke$'):
        summarise({0: first, 1: [said("a", -1, at_least=0) | {"holds": False}]})


def met(values, ours, higher_is_better=True) -> str:
    """The words of the ledger on an opponent with these values under the seeds."""
    said = {"kind": "opponent", "name": "rival", "higher_is_better": higher_is_better}
    both = enumerate(zip(values, ours, strict=True))
    (opponent,) = summarise({seed: [said | {"value": rival, "ours": own}] for seed, (rival, own) in both})
    assert holds(opponent)
    return lead(opponent)


@pytest.mark.parametrize(
    ("values", "ours", "words"),
    [
        ([0.926, 0.954, 0.920], [0.994, 0.994, 0.994], "ahead by 5.8 standard errors"),
        ([0.997, 0.994, 0.992], [0.991, 0.987, 0.987], "behind by 10.4 standard errors"),
        ([0.997, 0.994, 0.992], [0.991, 0.996, 0.995], "no clear difference (behind by 0.1 standard errors)"),
        # Under each seed both have better or worse luck: only the differences count.
        ([0.10, 0.50, 0.90], [0.11, 0.52, 0.91], "ahead by 4.0 standard errors"),
        ([0.5, 0.5, 0.5], [0.7, 0.7, 0.7], "ahead by 0.2 (one run)"),
        ([0.5, 0.5], [0.5, 0.5], "no difference (one run)"),
        ([0.5], [0.25], "behind by 0.25 (one run)"),
        ([0.1, 0.2, 0.6], [0.2, 0.3, 0.7], "ahead by 0.1"),  # by chance the same lead, which rounding must not hide
    ],
)
def test_how_far_ahead_over_the_seeds(values, ours, words):
    assert met(values, ours) == words


def test_where_less_is_better_the_smaller_value_is_ahead():
    assert met([1.9, 1.8, 1.9], [1.7, 1.7, 1.7], higher_is_better=False) == "ahead by 5.0 standard errors"
    assert met([1.866], [1.868], higher_is_better=False) == "behind by 0.002 (one run)"


def test_seeds_that_disagree_which_side_wins_are_refused():
    said = {"kind": "opponent", "name": "rival", "value": 1, "ours": 2}
    with pytest.raises(CourseError, match='seeds 0 and 1: "rival"$'):
        summarise({seed: [said | {"higher_is_better": bool(seed)}] for seed in range(2)})


def test_two_claims_of_one_name_are_refused():
    with pytest.raises(CourseError, match='states "a" twice'):
        summarise({0: [said("a", 1, at_least=0), said("a", 2, at_least=0)]})


def test_one_new_value_changes_one_line_of_the_file():
    def text(value) -> list[str]:
        claims = summarise({seed: [said("a [0, 1]", number, at_least=0)] for seed, number in enumerate([1, value, 9])})
        return as_json({"02": {"claims": claims}, "00": {"claims": []}}).splitlines()

    before, after = text(2), text(3)
    assert sum(a != b for a, b in zip(before, after, strict=True)) == 1
    assert list(json.loads("\n".join(before))["chapters"]) == ["00", "02"]
    assert json.loads("\n".join(after))["chapters"]["02"]["claims"][0]["name"] == "a [0, 1]"


def test_bounds_in_characters():
    assert bound(said("a", 1, at_least=0.95)).split() == ["≥", "0.95"]
    assert bound(said("a", 1, at_most=1e-5)).split() == ["≤", "1e-05"]


def test_no_ledger_yet(tmp_path):
    with pytest.raises(CourseError, match="run `course claims`"):
        read_ledger(tmp_path / "claims.json")
