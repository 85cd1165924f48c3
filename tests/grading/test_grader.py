"""From files to a record: every submission gets one, whole, and the same twice."""

import dataclasses
import time
from types import SimpleNamespace

import jupytext
import pytest

from course_lib.grading import collect, grader
from course_lib.grading.archives import DEEPEST
from course_lib.grading.catalogue import catalogue
from course_lib.grading.collect import chapters_answered, find_submissions
from course_lib.grading.grader import LONGEST_PROBLEM, Settings, digest, grade_submission
from course_lib.grading.records import GRADED, STOPPED, UNGRADED, UNREADABLE
from course_lib.grading.sandbox import fork_server, probe, tiers
from course_lib.grading.sandbox.limits import Limits
from course_lib.grading.session import SandboxedSession
from course_lib.project import CourseError, find_chapter, root

EVERYTHING = tuple(exercise.id for chapter in catalogue().chapters for exercise in catalogue().exercises(chapter))
TIERS = [
    pytest.param(tier, marks=pytest.mark.skipif(not probe.works(tier), reason=f"{tier} does not work here"))
    for tier in (tiers.BUBBLEWRAP, tiers.LANDLOCK)
]
RIGHT = "def attend(weights, values):\n    return (weights[..., None] * values).sum(1)\n"
WRONG = "def attend(weights, values):\n    return values.sum(1)\n"


SHORT = Limits(wall=5.0, step=0.5)
LONG = Limits(wall=60.0, step=20.0)  # where nothing hangs, and much is imported or asked on a machine that is busy


def settings(*exercises, tier=tiers.PROCESS, limits=SHORT):
    return Settings(1, exercises or ("02.3",), limits, tier)


@pytest.fixture
def hand_in(tmp_path):
    """Write the files of one submission; return the record that they get."""

    def hand_in(files: dict[str, str | bytes], *exercises, **options):
        for name, content in files.items():
            path = tmp_path / name
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        paths = tuple(str(tmp_path / name) for name in sorted(files))
        return grade_submission("student", paths, settings(*exercises, **options))

    return hand_in


BY_BROADCAST_SHAPES = """import torch
def scaled_dot_product_attention(query, key, value, mask):
    leading = torch.broadcast_shapes(query.shape[:-2], key.shape[:-2])
    scores = (query @ key.mT / key.shape[-1] ** 0.5).expand(*leading, *mask.shape)
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    assert torch.broadcast_shapes(3, (2, 1)) == torch.broadcast_shapes((2, 3)) == (2, 3)
    return weights @ value, weights
"""


def test_what_torch_writes_by_an_edition_that_is_taken_away_works_all_the_same(hand_in):
    assert hand_in({"a.py": BY_BROADCAST_SHAPES}, "05.1", limits=LONG).earned == 10


def test_a_file_takes_one_worker_for_all_exercises_that_forbid_the_same(hand_in, monkeypatch):
    forked, fork = [], fork_server.ForkServer.fork
    monkeypatch.setattr(fork_server.ForkServer, "fork", lambda self, *given: forked.append(given) or fork(self, *given))
    exercises = catalogue().exercises("06")
    # In the order of the chapter they alternate, and each worker ends before the next begins.
    record = hand_in({"a.py": RIGHT}, *(exercise.id for exercise in exercises), limits=LONG)
    assert list(dict.fromkeys(each.exercise for each in record.findings)) == [exercise.id for exercise in exercises]
    assert len(forked) == len({tuple(sorted(exercise.forbidden.items())) for exercise in exercises}) == 2


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("chapter", catalogue().chapters)
def test_worked_answers_earn_full_marks_and_stubs_none_behind_a_lock(tier, chapter, tmp_path):
    """On one seed: what holds on others, `right_answers_pass` asks without a lock, and `make soak` behind one."""
    ids = tuple(exercise.id for exercise in catalogue().exercises(chapter))
    notebook = tmp_path / f"{chapter}_worked.ipynb"
    jupytext.write(jupytext.read(find_chapter(root() / "solutions", chapter, ".md")), notebook)
    record = grade_submission("worked", (str(notebook),), settings(*ids, tier=tier, limits=LONG))
    assert record.status == GRADED and record.reason == "" and record.events == ()
    assert record.earned == record.points == sum(catalogue().find(each).points for each in ids)
    stub = find_chapter(root() / "exercises", chapter, ".ipynb")
    record = grade_submission("stub", (str(stub),), settings(*ids, tier=tier, limits=LONG))
    assert record.status == GRADED and record.earned == 0 and record.events == ()
    assert all("not written yet" in each.problem or "once the values" in each.problem for each in record.findings)


def test_a_record_has_every_property_whatever_was_handed_in(hand_in):
    everything = [
        (exercise.id, task.function, each.name, each.points)
        for exercise in map(catalogue().find, EVERYTHING)
        for task in exercise.tasks
        for each in task.properties
    ]
    for name, content in {
        "a.py": RIGHT,
        "b.py": "",
        "c.py": "def broken(:",
        "d.ipynb": "no notebook",
        "e.py": b"\xff\xfe\x00",
        "f.py": "import os; os._exit(0)",
        "g.py": "raise SystemExit",
        "h.py": "(" * 100_000,
        "i.py": "x = 1\0",
    }.items():
        record = hand_in({name: content}, *EVERYTHING, limits=LONG)
        assert [(each.exercise, each.function, each.property, each.points) for each in record.findings] == everything
        assert all(each.problem or each.earned == each.points for each in record.findings)
        assert record.reason.isprintable() and all(each.problem.isprintable() for each in record.findings)


def test_the_status_says_what_became_of_it(hand_in):
    assert hand_in({"a.py": WRONG}).status == GRADED
    unreadable = hand_in({"b.ipynb": "{"})
    assert unreadable.status == UNREADABLE and unreadable.reason.startswith("b.ipynb cannot be read as a notebook")
    stopped = hand_in({"c.py": RIGHT + "import os; os._exit(7)"})
    assert stopped.status == STOPPED and "exit code 7" in stopped.reason and stopped.earned == 0
    nothing = grade_submission("empty", (), settings())
    assert nothing.status == UNREADABLE and "no notebook" in nothing.reason


def test_a_mistake_is_named_at_what_it_breaks(hand_in):
    summed = hand_in({"a.py": "def attend(weights, values):\n    return (weights[..., None] * values).mean(1)\n"})
    assert {each.mistake for each in summed.findings if each.problem} != {""}
    assert all(each.mistake == "" for each in summed.findings if not each.problem)


def test_of_several_files_the_best_counts_for_each_exercise(hand_in):
    rows = "def map_to_rows(feature_map):\n    return feature_map.flatten(2).transpose(1, 2)\n"
    record = hand_in({"1.py": WRONG + rows, "2.ipynb": "damaged", "3.py": RIGHT}, "02.1", "02.3")
    assert record.earned == record.points and record.status == GRADED
    assert hand_in({"1.py": RIGHT, "2.py": WRONG}).earned == 6


def test_the_same_seed_gives_the_same_record_and_another_other_cases(hand_in):
    def plain(record):
        return dataclasses.replace(record, seconds=0.0)

    random = "import torch, random\n" + RIGHT.replace("return", "return torch.rand(()) + random.random() +")
    assert plain(hand_in({"a.py": random})) == plain(hand_in({"a.py": random}))
    assert plain(hand_in({"a.py": WRONG})) == plain(hand_in({"a.py": WRONG}))


def test_a_worker_that_was_killed_is_replaced(hand_in):
    first = fork_server.for_tier(tiers.PROCESS)
    first._process.kill()
    first._process.wait()
    assert hand_in({"a.py": RIGHT}).earned == 6
    assert fork_server.for_tier(tiers.PROCESS) is not first


def test_a_fault_of_ours_is_no_mark(hand_in, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(grader, "judge_task", broken)
    record = hand_in({"a.py": RIGHT})
    assert record.status == UNGRADED and "ZeroDivisionError: ours" in record.reason
    assert record.earned is None and record.findings == ()


def test_what_was_printed_and_written_is_kept_without_what_a_terminal_obeys(hand_in):
    record = hand_in({"a.py": "print('\\x1b[2Jhello')\n" + RIGHT})
    assert "hello" in record.output and "\x1b" not in record.output and "def attend" in record.source


def test_the_digest_is_that_of_names_and_contents(tmp_path):
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_text(RIGHT)
    two.write_text(RIGHT)
    assert digest((str(one),)) == digest((str(one),)) != digest((str(two),))
    before = digest((str(one),))
    one.write_text(WRONG)
    assert digest((str(one),)) != before and digest((str(tmp_path / "gone.py"),))


# ---------------------------------------------------------------- what is in a folder


def test_a_folder_or_a_file_for_each_student(tmp_path):
    for name in ("ada/02_mine.ipynb", "ada/deep/more.py", "bo.py", "cy/nothing.txt", "roster.csv", ".hidden/a.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(RIGHT)
    for name in ("ada/.ipynb_checkpoints/02_mine.ipynb", "__MACOSX/ada/x.py", "grades/x.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text(RIGHT)
    (tmp_path / "linked").symlink_to(tmp_path / "ada")
    collected = find_submissions(tmp_path, tmp_path / "grades")
    names = {each.name: [path.removeprefix(f"{tmp_path}/") for path in each.paths] for each in collected.found}
    assert names == {"ada": ["ada/02_mine.ipynb", "ada/deep/more.py"], "bo.py": ["bo.py"], "cy": ["cy/nothing.txt"]}
    assert collected.left == ["linked", "roster.csv"]


def test_a_folder_without_submissions_is_told_so(tmp_path):
    with pytest.raises(CourseError, match="holds no submission"):
        find_submissions(tmp_path, tmp_path / "grades")
    with pytest.raises(CourseError, match="is no folder and no zip"):
        find_submissions(tmp_path / "nowhere", tmp_path / "grades")


def test_a_folder_is_searched_as_deep_as_an_archive_may_be(tmp_path):
    place = tmp_path / "submissions"
    for _ in range(60):
        place = place / "a"
        place.mkdir(parents=True)
        (place / "02.py").write_text(RIGHT)
    (found,) = find_submissions(tmp_path / "submissions", tmp_path / "grades").found
    names = [path.removeprefix(f"{tmp_path}/submissions/a") for path in found.paths]
    assert sorted(names, key=len) == ["/a" * folders + "/02.py" for folders in range(DEEPEST)]


def test_what_goes_wrong_with_one_submission_hides_no_chapter_of_the_others(tmp_path, monkeypatch):
    def no_memory(archive, into):
        raise MemoryError

    monkeypatch.setattr(collect, "unpack", no_memory)
    (tmp_path / "a.zip").touch()
    (tmp_path / "b.py").write_text(RIGHT)
    found = find_submissions(tmp_path, tmp_path / "grades").found
    assert len(found) == 2 and chapters_answered(catalogue(), found) == ["02"]


def test_the_chapters_that_somebody_answered(tmp_path):
    (tmp_path / "a.py").write_text("def soft(x): pass")
    (tmp_path / "b.py").write_text(RIGHT)
    found = find_submissions(tmp_path, tmp_path / "grades").found
    assert chapters_answered(catalogue(), found) == ["02"]


# ---------------------------------------------------------------- what a clever student found


def test_several_files_share_the_time_of_one_submission(hand_in):
    """Two loops that nothing interrupts cost no more than one."""
    loop = "from signal import *\nfor each in (SIGALRM, SIGPROF): signal(each, SIG_IGN)\nwhile True: pass"
    record = hand_in({"1.py": loop, "2.py": loop, "3.py": loop})
    assert record.status == STOPPED and record.seconds < 2 * settings().limits.wall


def test_after_the_time_of_a_submission_no_further_file_is_run(hand_in, monkeypatch):
    run, now = [], [time.monotonic()]

    class Long(SandboxedSession):
        def __exit__(self, *error):
            super().__exit__(*error)
            run.append(self._path)
            now[0] += LONG.wall / 2 + 1

    monkeypatch.setattr(grader, "SandboxedSession", Long)
    monkeypatch.setattr(grader, "time", SimpleNamespace(monotonic=lambda: now[0]))
    record = hand_in({f"{number}.py": RIGHT for number in range(4)}, limits=LONG)
    assert record.status == STOPPED and run == ["0.py", "1.py"] and record.earned == 6
    assert record.reason == "2 of 4 files were not run: the submission took longer than 60 seconds"
    record = hand_in({"a.py": RIGHT}, limits=Limits(wall=-1.0))
    assert record.status == UNREADABLE
    assert record.reason == "a.py is not read: the submission took longer than -1 seconds"


def test_of_very_many_files_the_first_are_run(hand_in, monkeypatch):
    monkeypatch.setattr(grader, "MOST_ANSWERS", 2)
    record = hand_in({"1.py": WRONG, "2.py": RIGHT})
    assert record.status == GRADED and record.earned == 6
    record = hand_in({"1.py": WRONG, "2.py": WRONG, "3.py": RIGHT})
    assert record.status == STOPPED and record.earned < 6
    assert record.reason == "1 of 3 files were not run: 2 are the most"


def test_the_reason_is_short_however_many_files_cannot_be_read(hand_in):
    record = hand_in({f"{number}.ipynb": "{" for number in range(100)})
    assert record.status == UNREADABLE and len(record.reason) == LONGEST_PROBLEM


def test_among_files_that_earn_nothing_the_sentence_is_about_the_one_that_tries(hand_in):
    record = hand_in({"00_shapes.py": "def softmax(scores, temperature): pass", "02_mine.py": WRONG})
    assert not any("not found" in each.problem for each in record.findings)


def test_one_number_over_and_over_earns_nothing(hand_in):
    """Equal weights sum to one, and no picture has influence on another; but nothing was solved."""
    signature = "query, keys, query_weight, key_weight, score_weight"
    equal = f"def additive_weights({signature}):\n    return keys[..., 0] * 0 + 1 / keys.shape[1]\n"
    assert hand_in({"a.py": equal}, "02.2").earned == 0


def test_a_notebook_of_unreasonably_many_cells_is_refused(hand_in):
    cell = '{"cell_type": "code", "source": "", "metadata": {}}'
    content = f'{{"nbformat": 4, "cells": [{", ".join([cell] * 1001)}]}}'
    record = hand_in({"a.ipynb": content})
    assert record.status == UNREADABLE and "more than 1,000 code cells" in record.reason


def test_a_link_to_itself_does_not_stop_the_run(tmp_path):
    (tmp_path / "me.py").symlink_to(tmp_path / "me.py")
    (tmp_path / "bo.py").write_text(RIGHT)
    found = find_submissions(tmp_path, tmp_path / "grades").found
    records = [grade_submission(each.name, each.paths, settings()) for each in found]
    assert [record.status for record in records] == [GRADED, UNREADABLE]


def test_an_optimiser_and_a_picture_may_stand_in_the_notebook(hand_in):
    """Parts of torch and matplotlib want a folder to write to when they are imported, and there is none."""
    beside = "import torch\nimport matplotlib.pyplot as plt\nplt.plot([1])\ntorch.optim.Adam([torch.zeros(1)])\n"
    assert hand_in({"a.py": beside + RIGHT}, tier=probe.strongest(unsafe=True), limits=LONG).earned == 6
