"""`course grade --regrade`: all is graded again, what a hand decided stays, what changed is said; also in pieces."""

import csv

import pytest

from course_lib.grading import grade_command, regrade
from course_lib.grading.gradebook import Gradebook
from course_lib.grading.grader import digest
from course_lib.grading.records import GRADED, UNGRADED, Finding, Judgement, Record
from course_lib.project import CourseError

HAND = Judgement("02.3", "attend", "values", 1, "half right", "Ada", "2026-11-03 14:05 UTC")


class Exercise:
    """An exercise that can be mended: which points who gets for which property; and how often it was graded."""

    def __init__(self):
        self.names, self.rewarded, self.graded, self.stop_after = ("shape", "values"), {"ann": 1}, [], None
        self.seeds, self.faulty = [], ()

    def grade(self, name, paths, settings):
        if self.stop_after == len(self.graded):
            raise OSError("broken disk")
        self.graded.append(name)
        self.seeds.append(settings.seed)
        student = name.removesuffix(".py")
        if student in self.faulty:
            return Record(name, digest(paths), UNGRADED, "a fault", ())
        found = [Finding("02.3", "attend", each, self.rewarded.get(student, 0), 2) for each in self.names]
        return Record(name, digest(paths), GRADED, "", tuple(found))


@pytest.fixture
def exercise(monkeypatch):
    exercise = Exercise()
    monkeypatch.setattr(grade_command, "grade_submission", exercise.grade)
    monkeypatch.setattr(grade_command.probe, "strongest", lambda unsafe: "landlock")
    return exercise


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "submissions"
    folder.mkdir()
    for name in ("ann", "bob", "cleo"):
        (folder / f"{name}.py").write_text(f"# {name}")
    return folder


@pytest.fixture
def out(exercise, folder, tmp_path, capsys):
    """Grade once, and judge one property by hand; return the folder of the grades."""
    assert grade(folder, tmp_path / "grades", seed=7) == 0
    with Gradebook.open(tmp_path / "grades" / grade_command.GRADEBOOK) as gradebook:
        gradebook.judge("bob.py", HAND)
    exercise.graded.clear()
    exercise.seeds.clear()
    capsys.readouterr()
    return tmp_path / "grades"


def grade(folder, out, **options):
    return grade_command.grade(folder, out, **{"only": ["02.3"], "formats": ["csv"]} | options)


def changed(out):
    with (out / regrade.CHANGED).open(encoding="utf-8", newline="") as file:
        return [tuple(row.values()) for row in csv.DictReader(file)]


def records(out):
    with Gradebook.open(out / grade_command.GRADEBOOK) as gradebook:
        return {each.submission: each for each in gradebook.records()}


def test_all_is_graded_again_with_the_same_seed_and_what_changed_is_said(exercise, folder, out, capsys, monkeypatch):
    monkeypatch.setattr(grade_command.course_lib, "__version__", "9.9")  # a mended exercise comes with an edition
    exercise.rewarded = {"ann": 2, "bob": 2}
    assert grade(folder, out, again=True) == 0
    assert exercise.graded == ["ann.py", "bob.py", "cleo.py"] and exercise.seeds == [7, 7, 7]
    by_hand = "by hand: 1 of 2 points, not 2 (Ada): half right"
    assert changed(out) == [
        ("ann.py", "02.3", "attend", "shape", "1", "2", "2", "4", ""),
        ("ann.py", "02.3", "attend", "values", "1", "2", "2", "4", ""),
        ("bob.py", "02.3", "attend", "shape", "0", "2", "1", "3", ""),
        ("bob.py", "02.3", "attend", "values", "1", "1", "1", "3", by_hand),
    ]
    said = capsys.readouterr().out
    assert f"marks that changed: those of 2 of 3 submissions; all are in {out / 'changed.csv'}" in said
    assert "ann.py: 2 to 4 points in all\n    02.3 shape: 1 to 2\n" in said and by_hand in said
    assert records(out)["bob.py"].earned == 3 and "bob.py,3,4" in (out / "grades.csv").read_text()
    with Gradebook.open(out / "gradebook_before_1.sqlite") as before:
        assert [record.earned for record in before.records()] == [2, 1, 0]
    with Gradebook.open(out / grade_command.GRADEBOOK) as gradebook:
        assert gradebook.facts["course"] == "9.9" and regrade.COPY not in gradebook.facts


def test_where_nothing_changed_the_list_is_empty(exercise, folder, out, capsys):
    grade(folder, out, again=True)
    assert changed(out) == [] and "those of 0 of 3 submissions" in capsys.readouterr().out


@pytest.mark.parametrize("count", range(4))
@pytest.mark.parametrize("again", [False, True])
def test_an_interrupted_regrade_goes_on_and_ends_as_if_undisturbed(exercise, folder, out, tmp_path, count, again):
    exercise.rewarded = {"ann": 2, "bob": 2}
    exercise.stop_after = count
    if count < 3:
        with pytest.raises(CourseError, match="with --resume goes on from there"):
            grade(folder, out, again=True)
        assert not (out / regrade.CHANGED).exists() and "ann.py,2,4" in (out / "grades.csv").read_text()
        with Gradebook.open(out / "gradebook_before_1.sqlite") as before:
            assert [record.earned for record in before.records()] == [2, 1, 0]
        exercise.stop_after = None
        assert grade(folder, out, resume=True, again=again) == 0
    else:
        grade(folder, out, again=True)
    assert exercise.graded == ["ann.py", "bob.py", "cleo.py"]  # each once
    assert len(changed(out)) == 4 and "ann.py,4,4" in (out / "grades.csv").read_text()
    assert len(list(out.glob("gradebook_before_*"))) == 1


def test_begun_anew_in_between_it_is_still_compared_with_the_first(exercise, folder, out):
    exercise.rewarded, exercise.stop_after = {"ann": 0}, 2
    with pytest.raises(CourseError):
        grade(folder, out, again=True)
    exercise.rewarded, exercise.stop_after = {"ann": 2}, None  # mended once more
    grade(folder, out, again=True)
    assert [row[4:6] for row in changed(out)] == [("1", "2"), ("1", "2")]
    assert len(list(out.glob("gradebook_before_*"))) == 1 and len(exercise.graded) == 2 + 3


def test_a_renamed_property_is_told_and_its_judgement_kept(exercise, folder, out):
    exercise.names = ("shape", "the values")
    grade(folder, out, again=True)
    rows = {(row[0], row[3]): row[4:] for row in changed(out)}
    assert rows["bob.py", "values"] == ("1", "", "1", "0", "this property is gone")
    assert rows["bob.py", "the values"] == ("", "0", "1", "0", "a new property")
    assert records(out)["bob.py"].outdated == (HAND,)


def test_a_fault_of_ours_is_compared_again_when_it_is_gone(exercise, folder, out):
    exercise.faulty = ("ann",)
    assert grade(folder, out, again=True) == 1
    assert changed(out) == [("ann.py", "", "", "", "2", "", "2", "", "not graded now")]
    exercise.faulty, exercise.rewarded = (), {"ann": 2}
    assert grade(folder, out, resume=True) == 0
    assert [row[4:8] for row in changed(out)] == [("1", "2", "2", "4")] * 2


def test_who_came_and_who_went_and_who_handed_in_anew(exercise, folder, out):
    (folder / "cleo.py").unlink()
    (folder / "=dan.py").write_text("# dan")
    (folder / "ann.py").write_text("# ann, better")
    exercise.rewarded = {"ann": 2}
    grade(folder, out, again=True)
    assert changed(out) == [
        ("'=dan.py", "", "", "", "", "0", "", "0", "handed in since"),
        ("ann.py", "02.3", "attend", "shape", "1", "2", "2", "4", "handed in anew"),
        ("ann.py", "02.3", "attend", "values", "1", "2", "2", "4", "handed in anew"),
        ("cleo.py", "", "", "", "0", "", "0", "", "no longer there"),
    ]


@pytest.mark.parametrize(("options", "said"), [({"seed": 8}, "seed 7, not 8"), ({"only": ["02.4"]}, "not 02.4")])
def test_other_settings_are_refused_and_nothing_is_touched(exercise, folder, out, options, said):
    before = {path: path.read_bytes() for path in out.iterdir()}
    with pytest.raises(CourseError, match=said):
        grade(folder, out, again=True, **options)
    assert {path: path.read_bytes() for path in out.iterdir()} == before and exercise.graded == []


def test_another_folder_is_refused_before_anything_is_touched(exercise, out, tmp_path):
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "zoe.py").write_text("")
    before = (out / "gradebook.sqlite").read_bytes()
    with pytest.raises(CourseError, match="holds none of the submissions"):
        grade(tmp_path / "others", out, again=True)
    assert (out / "gradebook.sqlite").read_bytes() == before


def test_without_a_gradebook_there_is_nothing_to_grade_again(exercise, folder, tmp_path):
    with pytest.raises(CourseError, match="leave out --regrade"):
        grade(folder, tmp_path / "new", again=True)
    assert not (tmp_path / "new").exists()


def test_a_copy_that_somebody_removed_is_told_and_stops_nothing(exercise, folder, out, capsys):
    exercise.stop_after = 1
    with pytest.raises(CourseError):
        grade(folder, out, again=True)
    (out / "gradebook_before_1.sqlite").unlink()
    exercise.stop_after = None
    assert grade(folder, out, resume=True) == 0
    assert "what changed is not known, since" in capsys.readouterr().err


def test_marks_of_two_editions_of_an_exercise_are_not_mixed(exercise, folder, out, monkeypatch):
    monkeypatch.setattr(grade_command.Catalogue, "edition", lambda self, ids: f"mended {' '.join(ids)}")
    with pytest.raises(CourseError, match="an exercise was changed since .* was begun: add --regrade"):
        grade(folder, out, resume=True)
    assert exercise.graded == []
    assert grade(folder, out, again=True) == 0 and len(exercise.graded) == 3
    assert grade(folder, out, resume=True) == 0 and len(exercise.graded) == 3


def test_an_edition_is_that_of_the_modules_that_are_graded():
    course = grade_command.catalogue()
    assert course.edition(["02.3", "02.1"]) == course.edition(["02.1", "02.3"]) != course.edition(["02.1"])
