import json

import pytest

from course_lib import beforehand
from course_lib.beforehand import trained_beforehand
from course_lib.project import CourseError


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    """A ledger in which a number of Chapter 16 has the values 2.5 and 2.75 under the seeds 0 and 1."""
    (tmp_path / "book/_data").mkdir(parents=True)
    entry = {"trained": {"width 16": [2.5, 2.75]}}
    (tmp_path / "book/_data/claims.json").write_text(json.dumps({"chapters": {"16": entry, "02": {}}}))
    monkeypatch.setattr(beforehand, "root", lambda: tmp_path)
    beforehand._ledger.cache_clear()
    yield tmp_path
    beforehand._ledger.cache_clear()


def never():
    raise AssertionError("this was trained, although its number is known")


@pytest.mark.parametrize(("seed", "value"), [("0", 2.5), ("1", 2.75)])
def test_a_known_number_is_read(ledger, monkeypatch, seed, value):
    monkeypatch.setenv("COURSE_SEED", seed)
    assert trained_beforehand("16", "width 16", never) == value


@pytest.mark.parametrize(
    ("chapter", "name", "seed"), [("16", "width 24", 0), ("02", "width 16", 0), ("16", "width 16", 2)]
)
def test_what_nobody_has_measured_is_trained(ledger, monkeypatch, chapter, name, seed):
    monkeypatch.setenv("COURSE_SEED", str(seed))
    assert trained_beforehand(chapter, name, lambda: 3.0) == 3.0


def test_who_wants_it_anew_gets_it_anew(ledger):
    assert trained_beforehand("16", "width 16", lambda: 3.0, again=True) == 3.0


def test_the_ledger_measures_anew_and_hears_of_it(ledger, monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_CLAIMS_FILE", str(tmp_path / "claims.jsonl"))
    assert trained_beforehand("16", "width 16", lambda: 3.0) == 3.0
    assert json.loads((tmp_path / "claims.jsonl").read_text()) == {"kind": "trained", "name": "width 16", "value": 3.0}


def test_a_copy_without_the_repository_trains(ledger, monkeypatch):
    def no_repository():
        raise CourseError("only the package is installed here")

    monkeypatch.setattr(beforehand, "root", no_repository)
    assert trained_beforehand("16", "width 16", lambda: 3.0) == 3.0
