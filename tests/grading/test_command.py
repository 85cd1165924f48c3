"""`course check` and `course hint` as a learner meets them: targets, exit codes, the report."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from functools import partial

import psutil
import pytest

from course_lib import __main__ as course
from course_lib.grading import check, command, notebook
from course_lib.grading.call import in_process
from course_lib.grading.catalogue import catalogue
from course_lib.grading.engine import TaskResult, Verdict, judge_task
from course_lib.grading.problem import Problem
from course_lib.grading.reports import evidence, learner
from course_lib.grading.sandbox import fork_server
from course_lib.grading.sandbox.limits import Limits
from course_lib.grading.wording import sentence
from course_lib.project import find_chapter, root

POINTS = {
    chapter: sum(exercise.points for exercise in catalogue().exercises(chapter)) for chapter in catalogue().chapters
}
TOTAL = sum(POINTS.values())
RIGHT = "def attend(weights, values):\n    return (weights[..., None] * values).sum(1)"
WRONG_AXIS = """import torch
def additive_weights(query, keys, query_weight, key_weight, score_weight):
    hidden = torch.tanh((query @ query_weight.T)[:, None] + keys @ key_weight.T)
    return torch.softmax(hidden @ score_weight, dim=0)"""
PENALTY = "def coverage_penalty(weights):\n    return ((1 - weights.sum(1)) ** 2).sum(-1)"
COURSE = [sys.executable, "-m", "course_lib"]
STUBS = [
    f"def {task.signature}:\n    raise NotImplementedError"
    for exercise in catalogue().exercises("02")
    for task in exercise.tasks
]


def flat(text):
    """Return a report without its line breaks."""
    return " ".join(text.split())


def test_untouched_stubs_fail_by_name_and_say_what_to_write(project, run):
    project("my_exercises/02_words.ipynb", *STUBS)
    code, out, err = run("check", "02", "--all", "--seed", "1")
    assert code == 1 and err == ""
    for exercise in catalogue().exercises("02"):
        assert exercise.id in out and exercise.title in out
        for task in exercise.tasks:
            assert f"write {task.signature}, which returns" in " ".join(out.split())
            assert re.search(rf"  to do  {task.function} +0/{task.points}\n", out)  # one line, and none for a property
            assert not any(each.name in out for each in task.properties)
    assert "  ok " not in out and "checked on" not in out
    assert out.splitlines()[-1] == "0/28    repeat with: course check 02 --seed 1"


@pytest.mark.parametrize(("chapter", "points"), POINTS.items())
def test_the_exercises_as_the_course_hands_them_out_can_be_checked(run, chapter, points):
    code, out, err = run("check", str(find_chapter(root() / "exercises", chapter, ".ipynb")), "--all")
    assert code == 1 and err == "" and "  ok " not in out
    assert out.count("not written yet: write") == sum(
        len(exercise.tasks) for exercise in catalogue().exercises(chapter)
    )
    assert out.splitlines()[-1].startswith(f"0/{points}    repeat with")


def test_right_answers_end_with_full_marks_and_exit_code_0(run):
    for chapter, points in POINTS.items():
        code, out, err = run("check", str(find_chapter(root() / "solutions", chapter, ".md")))
        assert code == 0 and err == "" and "FAIL" not in out and "hint" not in out
        assert re.match(rf"{points}/{points}    all right", out.splitlines()[-1])


def test_a_learner_s_route_wrong_axis_message_mended_passes(project, run):
    project("my_exercises/02_words.ipynb", WRONG_AXIS)
    project("exercises/02_words.ipynb", *STUBS)  # the learner's own file is the one that counts
    code, out, _ = run("check", "02.2")
    assert code == 1
    lines = out.splitlines()
    assert lines[0].split() == ["02.2", "Additive", "attention", "weights", "my_exercises/02_words.ipynb"]
    failing = lines.index(next(line for line in lines if "FAIL   the weights of each picture sum to one" in line))
    assert "a row [1.0, 1.0] sums to 2.0, expected 1" in " ".join(" ".join(lines[failing : failing + 4]).split())
    assert "this is what a softmax over the batch (dim=0) gives" in " ".join(out.split())
    assert "hint: course hint 02.2" in out
    assert "2 fixed examples, " in out and " and 10 fresh random cases" in out
    seed = re.fullmatch(r"0/6    repeat with: course check 02\.2 --seed (\d+)", lines[-1]).group(1)
    assert run("check", "02.2", "--seed", seed)[1] == out  # the same again, to the letter

    project("my_exercises/02_words.ipynb", WRONG_AXIS.replace("dim=0", "dim=1"))
    code, out, _ = run("check", "02.2")
    assert code == 0 and "6/6    all right" in out and "FAIL" not in out


def test_wide_output_is_cut(project, run):
    project(
        "my_exercises/02_words.ipynb", WRONG_AXIS, "def attend(weights, values):\n    raise ValueError('long ' * 500)"
    )
    _, out, _ = run("check", "02", "--all")
    assert max(len(line) for line in out.splitlines()) <= 88
    assert "attend stopped with ValueError in line 2" in " ".join(out.split())
    assert 0 < out.count("long") < 60


def test_a_long_problem_takes_four_lines_at_most():
    exercise = catalogue().exercises("02")[2]
    task = exercise.tasks[0]
    told = (Problem("missing", note=f"{each.name}: " + "word " * 500) for each in task.properties)
    verdicts = tuple(map(Verdict, task.properties, told))
    lines = learner.render(exercise, [TaskResult(task, verdicts, None)]).splitlines()
    assert len(lines) <= 3 + 5 * len(verdicts) and "…" in lines[5]


def test_a_path_is_checked_by_its_name_or_by_what_it_defines(project, run, tmp_path):
    (tmp_path / "answers.py").write_text(RIGHT, encoding="utf-8")
    code, out, _ = run("check", "answers.py")
    assert code == 0 and "02.3  Attend" in out and "02.2" not in out
    project("02_handed_in.ipynb", RIGHT)
    code, out, err = run("check", "02_handed_in.ipynb")
    assert code == 2 and "02.1" in out and "02.5" in out  # the whole chapter
    (tmp_path / "other.py").write_text("x = 1", encoding="utf-8")
    code, out, err = run("check", "other.py")
    assert code == 2 and out == "" and "other.py does not define a function that any exercise asks for" in err


def test_a_copy_that_jupyter_made_is_not_taken_for_the_learner_s_own(project, run):
    project("my_exercises/02_words-Copy1.ipynb", *STUBS)
    project("my_exercises/02_words.ipynb", RIGHT)
    assert run("check", "02.3")[0] == 0


def test_a_missing_function_is_named_with_the_cell_that_stopped_and_the_rest_is_judged(project, run):
    project("my_exercises/02_words.ipynb", "undefined\ndef map_to_rows(feature_map): pass", RIGHT)
    code, out, err = run("check", "02", "--all")
    assert code == 2
    assert err.count("\n") == 1
    assert "code cell 1 (`def map_to_rows`) stopped in line 1 with NameError" in err
    assert "so map_to_rows is not defined; it does not define additive_weights or coverage_penalty" in err
    assert "  ok     the sum of the weighted values" in out and "FAIL   pixels in reading order" in out
    code, out, err = run("check", "02.3")
    assert code == 0 and err == ""  # what was asked is there


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check", "02.9"], "there is no exercise 02.9 (exercises of this chapter: 02.1, 02.2"),
        (["check", "77"], "there are no exercises for chapter '77'"),
        (["check", "00"], "there is no notebook of chapter 00 in "),
        (["check", "2.9"], "there is no exercise 02.9"),
        (["check", "123"], "'123' is no exercise and no file"),
        (["check", "nowhere.ipynb"], "'nowhere.ipynb' is no exercise and no file"),
        (["check", "exercises"], "'exercises' is no exercise and no file"),
        (["check", ""], "'' is no exercise and no file"),
        (["check", "02_damaged.ipynb"], "02_damaged.ipynb cannot be read as a notebook"),
        (["check", "02_broken.py"], "02_broken.py: the file is not Python in line 1"),
        (["hint", "02.9"], "there is no exercise 02.9"),
        (["hint", "02"], "'02' is no exercise"),
        (["hint", "02.3", "4"], "exercise 02.3 has hints 1 to 3, not 4"),
        (["hint", "02.3", "0"], "exercise 02.3 has hints 1 to 3, not 0"),
        (["hint", "02.3", "x"], "Invalid value for 'number'"),
        (["hint"], "Missing argument 'exercise'. (help: course hint --help)"),
        (["checks"], "No such command 'checks'. Did you mean 'check', 'check-exercise'? (help: course --help)"),
        (["check", "02", "--sed", "1"], "No such option: --sed"),
    ],
)
def test_bad_input_is_one_plain_sentence_and_exit_code_2(project, run, tmp_path, arguments, said):
    project("my_exercises/02_words.ipynb", RIGHT)
    (tmp_path / "02_damaged.ipynb").write_text("{", encoding="utf-8")
    (tmp_path / "02_broken.py").write_text("def f(:", encoding="utf-8")
    code, out, err = run(*arguments)
    assert code == 2 and said in err and out == ""
    assert err.count("\n") == 1 and "Traceback" not in err


def test_a_chapter_may_be_written_with_one_digit(project, run):
    project("my_exercises/02_words.ipynb", *STUBS[:2], RIGHT, *STUBS[3:])
    code, out, _ = run("check", "2.3")
    assert code == 0 and out.startswith("02.3  Attend") and "6/6    all right" in out
    assert (
        run("check", "2", "--seed", "1")[1].splitlines()[:-1] == run("check", "02", "--seed", "1")[1].splitlines()[:-1]
    )
    assert run("hint", "2.3", "1") == run("hint", "02.3", "1")


def test_a_syntax_error_elsewhere_does_not_keep_an_exercise_from_its_check(project, run):
    project(
        "my_exercises/02_words.ipynb", "def map_to_rows(feature_map):\n    return (", *STUBS[1:2], RIGHT, *STUBS[3:]
    )
    said = "my_exercises/02_words.ipynb: code cell 1 (`def map_to_rows`) is not Python in line 2 (`return (`)"
    code, out, err = run("check", "02.3")
    assert code == 0 and err == "" and "6/6    all right" in out
    assert out.splitlines()[-1].startswith(f"left out, and not needed for 02.3: {said}")
    code, out, err = run("check", "02.1")
    assert code == 2 and err.startswith(said) and err.endswith("; so map_to_rows is not defined\n")
    code, out, err = run("check", "02", "--all")
    assert code == 2 and err.startswith(said) and "  ok     the sum of the weighted values" in out


def test_a_broken_cell_beside_the_answers_is_told_where_the_whole_file_is_checked(project, run):
    project("02_mine.ipynb", *STUBS, "x = =")
    code, out, err = run("check", "02_mine.ipynb")
    assert (
        code == 2 and "02.5" in out and err.startswith("02_mine.ipynb: code cell 6 (`x = =`) is not Python in line 1")
    )


def test_learners_find_their_commands_before_the_authors(run):
    code, out, _ = run("--help")
    assert code == 0
    assert sorted(
        ["For learners", "start", "check ", "hint ", "For authors", "make-exercises", "claims"], key=out.rindex
    ) == [*("For learners", "start", "check ", "hint ", "For authors", "make-exercises", "claims")]


def test_course_alone_shows_its_help_and_nothing_else(run):
    code, out, err = run()
    assert code == 2 and "For learners" in out and err == ""


def test_hints_come_one_at_a_time_and_the_last_one_stays(project, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    code, out, err = run("hint", "02.3")
    assert code == 0 and err == "" and out.startswith("hint 1 of 3 for 02.3: If one weight is 1")
    assert all(len(line) <= 60 for line in out.splitlines())
    assert out.splitlines()[-1] == "the next says more: course hint 02.3"
    assert run("hint", "02.3")[1].startswith("hint 2 of 3 for 02.3: Give the weights a last axis")
    assert run("hint", "02.2")[1].startswith("hint 1 of 3 for 02.2")  # each exercise counts by itself
    third = run("hint", "2.3")[1]
    assert third.startswith("hint 3 of 3") and "(weights[..., None] * values).sum(dim=1)" in " ".join(third.split())
    assert "the next" not in third and run("hint", "02.3")[1] == third


def test_an_earlier_hint_is_shown_again_and_does_not_set_back_the_next(project, run):
    run("hint", "02.3"), run("hint", "02.3")
    assert run("hint", "02.3", "1")[1].splitlines()[-1] == "the next says more: course hint 02.3 2"
    assert run("hint", "02.3")[1].startswith("hint 3 of 3")


# ---------------------------------------------------------------- what is printed of several


def test_a_chapter_is_a_line_for_each_exercise_and_details_for_the_first_that_fails(project, run):
    project("my_exercises/02_words.ipynb", *STUBS[:2], RIGHT.replace("sum(1)", "mean(1)"), *STUBS[3:])
    _, out, _ = run("check", "02", "--seed", "1")
    lines = out.splitlines()
    marks = [(line[2:7], line[9:13]) for line in lines[:5]]
    assert marks == [("FAIL " if number == 3 else "to do", f"02.{number}") for number in range(1, 6)]
    assert (
        "02.1  Map to rows" in out and "FAIL   the sum of the weighted values" in out and "not written yet" not in out
    )
    assert run("check", "02", "--all", "--seed", "1")[1].count("not written yet") == 4


def test_several_targets_are_checked_one_after_the_other(project, run):
    project("my_exercises/02_words.ipynb", WRONG_AXIS, RIGHT)
    code, out, err = run("check", "02.3", "02.2", "--seed", "1")
    assert code == 1 and err == "" and out.index("6/6    all right") < out.index("0/6    repeat with")
    code, out, err = run("check", "02.9", "02.3")
    assert code == 2 and "there is no exercise 02.9" in err and "6/6    all right" in out
    code, out, err = run("check", "02.3", "02.2", "--json")
    assert code == 1 and re.findall(r'^ "target": "(.*)"', out, re.MULTILINE) == ["02.3", "02.2"]


def test_the_case_that_fails_is_printed_as_code(project, run):
    project("my_exercises/02_words.ipynb", WRONG_AXIS)
    _, out, _ = run("check", "02.2", "--seed", "1", "--show")
    names = {}
    exec(WRONG_AXIS, names)
    code = out.partition("to paste below your answer:\n\n")[2].rpartition("\n0/6")[0]
    exec(code, names)
    assert names["got"].shape == names["query"].shape[:1] + names["keys"].shape[1:2]


def test_help_and_version_have_the_short_ways_that_people_try(run):
    assert run("-h")[1] == run("--help")[1]
    assert run("--version")[1].startswith("course ") and run("--version")[0] == 0
    for names in course.COMMANDS.values():
        for name in names:
            code, out, _ = run(name, "-h")
            assert code == 0 and out.count(f"course {name}") >= 2, name  # two examples


# ---------------------------------------------------------------- progress


def test_progress_is_noted_for_the_learner_s_own_file_only(project, run, tmp_path):
    kept = tmp_path / "my_exercises" / ".progress.json"
    (tmp_path / "answers.py").write_text(RIGHT, encoding="utf-8")
    assert run("check", "answers.py")[0] == 0 and not kept.exists()
    project("my_exercises/02_words.ipynb", RIGHT.replace("sum(1)", "mean(1)"))
    assert run("check", "02.3", "--seed", "1")[0] == 1
    assert [json.loads(kept.read_text())["checks"]["02.3"][name] for name in ("earned", "best")] == [0, 0]
    project("my_exercises/02_words.ipynb", RIGHT)
    assert run("check", "my_exercises/02_words.ipynb")[0] == 2  # the other exercises are not there
    assert json.loads(kept.read_text())["checks"]["02.3"]["earned"] == 6
    assert json.loads(kept.read_text())["checks"]["02.1"]["earned"] == 0


def test_course_progress_shows_what_was_checked_and_what_is_next(project, run):
    project("my_exercises/02_words.ipynb", *STUBS[:2], RIGHT, *STUBS[3:])
    run("check", "02.3"), run("hint", "02.1")
    code, out, err = run("progress")
    assert code == 0 and err == "" and "next: write 02.1 (Map to rows), then: course check 02.1" in out
    assert re.search(r"02\.3 +Attend +6/6 +6 +0/3 +\d{4}-\d\d-\d\d *\n", out)
    assert re.search(r"02\.1 +Map to rows +-/3 +- +1/3 +- *\n", out) and re.search(rf"total +6/{TOTAL} +6 *\n", out)
    found = json.loads(run("progress", "--json")[1])
    assert (found["earned"], found["points"]) == (6, TOTAL) and found["next"].startswith("write 02.1")


def test_without_a_copy_the_next_thing_is_to_start(project, run, tmp_path):
    (tmp_path / "my_exercises").rmdir()
    assert run("progress")[1].splitlines()[-1] == "next: begin chapter 00 with: course start 00"
    assert run("hint", "02.3")[0] == 0 and run("hint", "02.3")[1].startswith("hint 2 of 3")


def test_a_damaged_record_of_progress_stops_nothing(project, run, tmp_path):
    project("my_exercises/02_words.ipynb", RIGHT)
    (tmp_path / "my_exercises" / ".progress.json").write_text("{")
    code, out, err = run("check", "02.3", "--json")
    assert code == 0 and json.loads(out)["earned"] == 6
    assert err.count("\n") == 1 and "your progress begins anew" in err
    assert run("progress")[2] == ""


def test_what_waits_for_the_values_does_not_read_like_a_fault(project, run):
    project("02_mine.ipynb", *STUBS[:2], "def attend(weights, values):\n    return values.mean(dim=1)", PENALTY)
    _, out, _ = run("check", "02_mine.ipynb", "--all")
    assert re.search(r"\n  later  inputs unchanged +0/1\n +counts once the values are right ", out)


# ---------------------------------------------------------------- answers that do not behave


def test_an_endless_loop_fails_with_its_line_and_the_others_are_judged(project, run, monkeypatch):
    monkeypatch.setattr(command, "LIMITS", Limits(wall=5.0, step=0.3))
    project("02_mine.ipynb", *STUBS[:2], "def attend(weights, values):\n    while True:\n        weights + 1", PENALTY)
    code, out, err = run("check", "02_mine.ipynb", "--all")
    assert code == 2 and "does not define hard_attention_gradient" in err
    assert re.search(r"attend did not end in time, still in line [23] \(`(while True:|weights \+ 1)`\)", flat(out))
    assert "FAIL   the sum of the weighted values" in out and "5/28    repeat with" in out
    assert out.count("did not end in time") == 1  # what ails every property is said once


def test_the_worker_is_told_all_questions_at_once(project, run, monkeypatch):
    """An answer that hangs is then waited for once; questions that come one by one would each take their time."""
    frames = []

    class Recording(command.SandboxedSession):
        def _ask(self, exercise, asked):
            frames.append(asked)
            return super()._ask(exercise, asked)

    monkeypatch.setattr(command, "SandboxedSession", Recording)
    project("my_exercises/02_words.ipynb", RIGHT)
    assert run("check", "02.3", "--seed", "5")[0] == 0 and len(frames) == 1


def test_an_endless_loop_alone_ends_with_exit_code_1(project, run, monkeypatch):
    monkeypatch.setattr(command, "LIMITS", Limits(wall=5.0, step=0.3))
    project("my_exercises/02_words.ipynb", "def attend(weights, values):\n    while True: pass")
    code, out, err = run("check", "02.3")
    assert code == 1 and err == "" and "still in line 2 (`while True: pass`)" in flat(out)


def test_a_loop_that_catches_everything_does_not_use_up_the_time_of_the_others(project, run, monkeypatch):
    monkeypatch.setattr(command, "LIMITS", Limits(wall=1.0, step=0.3))
    stubborn = """def attend(weights, values):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass"""
    project("02_mine.ipynb", *STUBS[:2], stubborn, PENALTY, *STUBS[4:])
    code, out, err = run("check", "02_mine.ipynb", "--all")
    assert code == 1 and err == "" and "attend was stopped: it took longer than 1 seconds" in flat(out)
    assert "5/28    repeat with" in out


def test_an_endless_loop_in_a_cell_is_left_behind(project, run, monkeypatch):
    monkeypatch.setattr(command, "LIMITS", Limits(wall=5.0, step=0.3))
    project("my_exercises/02_words.ipynb", "while True: pass", RIGHT)
    code, out, err = run("check", "02.3")
    assert code == 0 and err == "" and "6/6    all right" in out
    project("my_exercises/02_words.ipynb", RIGHT + "\nwhile True: pass", PENALTY)
    code, out, err = run("check", "02.3")
    assert code == 0  # it was there before the loop began
    project("my_exercises/02_words.ipynb", "while True: pass\n" + RIGHT, PENALTY)
    code, out, err = run("check", "02.3")
    said = "code cell 1 (`def attend`) did not end in time; so attend is not defined"
    assert (code, out, err) == (2, "", f"my_exercises/02_words.ipynb: {said}\n")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("__import__('os')._exit(3)", "attend was stopped: it ended with exit code 3"),
        ("while True: print('x' * 10_000)", "attend was stopped: it printed more than 1 MB"),
        ("__import__('ctypes').string_at(0)", "attend was stopped: it crashed (segmentation fault)"),
    ],
)
def test_an_answer_that_ends_its_process_costs_itself_and_no_other(project, run, line, said):
    project("02_mine.ipynb", *STUBS[:2], f"def attend(weights, values):\n    {line}", PENALTY, *STUBS[4:])
    code, out, err = run("check", "02_mine.ipynb", "--all")
    assert code == 1 and err == "" and said in flat(out) and "5/28    repeat with" in out


def test_cells_that_end_their_process_are_one_sentence(project, run):
    project("my_exercises/02_words.ipynb", RIGHT, "import os; os._exit(0)")
    said = "my_exercises/02_words.ipynb: while its cells ran, it ended with exit code 0\n"
    assert run("check", "02.3") == (2, "", said)


def test_what_an_answer_prints_is_not_shown(project, run):
    project("my_exercises/02_words.ipynb", "print('cell')", RIGHT.replace("return", "print('call'); return"))
    code, out, err = run("check", "02.3")
    assert code == 0 and err == "" and "cell" not in out and "call" not in out


def test_a_lock_that_does_not_close_gives_way_to_a_weaker_one(project, run, started, monkeypatch):
    """Also without any lock there is a process of its own, so that an endless loop ends."""
    monkeypatch.setattr(command, "LIMITS", Limits(wall=5.0, step=0.3))
    tiers = []

    class Loose(command.SandboxedSession):
        def submission(self, exercise):
            tiers.append(self._fork_server.tier)
            if len(set(tiers)) == 1:
                raise fork_server.CannotStart("the lock does not close")
            return super().submission(exercise)

    monkeypatch.setattr(command, "SandboxedSession", Loose)
    project("my_exercises/02_words.ipynb", "def attend(weights, values):\n    while True: pass")
    code, out, err = run("check", "02.3")
    assert code == 1 and err == "" and "still in line 2" in flat(out)
    assert tiers[0] == started.tier and tiers[-1] != started.tier


def test_without_processes_the_file_runs_here(project, run, monkeypatch):
    monkeypatch.setattr(fork_server, "start_strongest", lambda: None)
    project("my_exercises/02_words.ipynb", RIGHT)
    assert run("check", "02.3")[0] == 0


# ---------------------------------------------------------------- the command in a process of its own


def test_the_command_itself_checks_a_file_and_prints_json_alone(tmp_path):
    (tmp_path / "answers.py").write_text(RIGHT, encoding="utf-8")
    done = subprocess.run(
        [*COURSE, "check", "answers.py", "--json", "--seed", "1"], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0 and done.stderr == ""
    assert json.loads(done.stdout)["earned"] == 6


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C reaches a group of processes in another way")
def test_ctrl_c_leaves_no_process_behind(tmp_path):
    (tmp_path / "answers.py").write_text("def attend(weights, values):\n    while True: pass", encoding="utf-8")
    with subprocess.Popen(
        [*COURSE, "check", "answers.py", "--seed", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        start_new_session=True,  # a group of its own, to which the signal goes as from a terminal
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # what runs in the background ignores it
    ) as running:
        below, computing = [], False
        while not computing and running.poll() is None:
            time.sleep(0.05)
            with contextlib.suppress(psutil.NoSuchProcess):  # between two looks one may end
                below = psutil.Process(running.pid).children(recursive=True)
                parents = {each.ppid() for each in below}
                last = [each for each in below if each.pid not in parents and each.ppid() != running.pid]
                computing = any(each.cpu_times().user > 0.5 for each in last)
        os.killpg(running.pid, signal.SIGINT)
        out, err = running.communicate()
    assert running.returncode == 130 and out == b"" and b"Traceback" not in err
    assert psutil.wait_procs(below, timeout=10)[1] == []


# ---------------------------------------------------------------- for other programmes


def test_json_holds_what_the_report_says(project, run):
    project("my_exercises/02_words.ipynb", WRONG_AXIS, RIGHT)
    code, out, err = run("check", "02.2", "--seed", "5", "--json")
    found = json.loads(out)
    assert code == 1 and err == "" and "error" not in found
    top = [found[name] for name in ("target", "file", "seed", "earned", "points", "left_out")]
    assert top == ["02.2", "my_exercises/02_words.ipynb", 5, 0, 6, ""]
    (exercise,) = found["exercises"]
    assert [exercise[name] for name in ("exercise", "title", "earned", "points")] == [
        "02.2",
        "Additive attention weights",
        0,
        6,
    ]
    (function,) = exercise["functions"]
    assert function["function"] == "additive_weights" and function["points"] == 6
    assert function["mistake"].startswith("this is what a softmax over the batch (dim=0) gives")
    assert sum(each["points"] for each in function["properties"]) == 6
    first = function["properties"][0]
    assert first["property"] == "the weights of each picture sum to one" and first["earned"] == 0
    assert "a row [1.0, 1.0] sums to 2.0, expected 1" in first["problem"]
    (right,) = json.loads(run("check", "02.3", "--json")[1])["exercises"][0]["functions"]
    assert right["mistake"] is None and {each["problem"] for each in right["properties"]} == {None}


def test_json_says_what_is_wrong_and_keeps_what_was_judged(project, run):
    project("my_exercises/02_words.ipynb", RIGHT)
    code, out, err = run("check", "02", "--json")
    found = json.loads(out)
    assert code == 2 and err == ""
    assert "does not define map_to_rows or additive_weights" in found["error"] and found["earned"] == 6
    for arguments in (["check", "77"], ["check", "nowhere.ipynb"], ["hint", "02.9"], ["hint", "02.3", "7"]):
        code, out, err = run(*arguments, "--json")
        assert code == 2 and err == "" and json.loads(out)["error"]
    found = json.loads(run("check", "77", "--json")[1])
    assert found == {
        "target": "77",
        "error": f"there are no exercises for chapter '77' (chapters: {', '.join(catalogue().chapters)})",
    }


def test_a_hint_in_json(project, run):
    run("hint", "02.3", "--json")
    found = json.loads(run("hint", "2.3", "--json")[1])
    assert found.pop("hint").startswith("Give the weights a last axis")
    assert found == {"exercise": "02.3", "number": 2, "hints": 3, "hints_seen": 2}


# ---------------------------------------------------------------- colour, and what a terminal would obey


def test_colour_appears_on_a_terminal_only(project, run, monkeypatch):
    project("my_exercises/02_words.ipynb", RIGHT)
    assert "\033" not in run("check", "02.3")[1]
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(learner.sys.stdout, "isatty", lambda: True, raising=False)
    assert "\033[32mok\033[0m" in learner.coloured("02.3  Attend\n  ok     sums to one")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\033" not in learner.coloured("02.3  Attend\n  ok     sums to one")


# Sets the title of the window; what sets a colour would be taken out by `typer.echo`, which is no help on a terminal.
TITLE, BACK = "\033]0;mine\a", "\u202e"


@pytest.mark.parametrize(
    "cells",
    [
        [f"def attend(weights, values):\n    raise ValueError('{TITLE}{BACK}')"],
        [f"def attend(weights, values):\n    raise type('{TITLE}{BACK}', (Exception,), {{}})()"],
        [f"def attend(weights, values):\n    return 1 / 0  # {TITLE}{BACK}"],
        [f"def attend(weights, values, more='{TITLE}{BACK}', other=1, *, last):\n    return values"],
        [f"def attend(weights, values):\n    return type('{TITLE}{BACK}', (), {{}})()"],
        [f"def attend(weights, values):\n    print('{TITLE}{BACK}')"],
        [f"raise ValueError('{TITLE}{BACK}')\n{RIGHT}"],
        [f"x = = '{TITLE}{BACK}'", RIGHT],
        [f"'{TITLE}{BACK}' + 1", STUBS[0], f"x = '{TITLE}{BACK}"],
    ],
)
def test_a_learner_s_text_cannot_steer_the_terminal(project, run, cells):
    project("02_mine.ipynb", *cells)
    code, out, err = run("check", "02_mine.ipynb", "--seed", "1")
    assert code == 2 and "\033" not in out + err and BACK not in out + err
    found = json.dumps(json.loads(run("check", "02_mine.ipynb", "--seed", "1", "--json")[1]), ensure_ascii=False)
    assert "\\u001b]" not in found and BACK not in found


def test_the_name_of_a_file_cannot_steer_the_terminal(project, run):
    project(f"02_{TITLE}.ipynb", *STUBS)
    code, out, err = run("check", f"02_{TITLE}.ipynb")
    assert code == 1 and err == "" and "\033" not in out


def test_the_smallest_case_that_fails_is_shown_in_a_shell_and_in_a_notebook(run, tmp_path, monkeypatch, capsys):
    source = (
        "def dot_products(query, key):\n    return (query @ key.mT).flatten(0, 1).view(len(query), len(query[0]), -1)"
    )
    wrong = source.replace("query @ key.mT", "query @ key.mT + (len(query[0]) > 3)")
    (tmp_path / "mine.py").write_text(wrong, encoding="utf-8")
    exercise, names = catalogue().exercises("00")[0], {}
    (task,) = [task for task in exercise.tasks if task.function == "dot_products"]
    exec(wrong, names)
    answer = in_process(names["dot_products"], task)
    drawn, shown = (judge_task(exercise, task, answer, 3, search=search) for search in (False, True))
    (drawn,), (smaller,) = ([sentence(each.problem, task) for each in found.verdicts] for found in (drawn, shown))
    assert drawn != smaller
    found = json.loads(run("check", str(tmp_path / "mine.py"), "--seed", "3", "--json")[1])
    (function,) = [each for each in found["exercises"][0]["functions"] if each["function"] == "dot_products"]
    assert [each["problem"] for each in function["properties"]] == [smaller]
    monkeypatch.setattr(notebook, "fresh_seed", lambda: 3)
    check(names["dot_products"])
    out = capsys.readouterr().out
    (verdict,) = shown.verdicts
    assert all(line.rstrip() in out for line in evidence.text(verdict.problem))


# ---------------------------------------------------------------- in a notebook


def test_check_in_a_notebook_prints_the_report_and_returns_nothing(capsys):
    names = {}
    exec(RIGHT, names)
    assert check(names["attend"]) is None
    out = capsys.readouterr().out
    assert out.startswith("02.3  Attend\n  ok     one-hot weights return the exact value")
    assert re.search(r"checked on 2 fixed examples, \d edge cases and 10 fresh random cases", " ".join(out.split()))
    assert out.splitlines()[-1].startswith("6/6    all right")


def test_check_names_the_one_puzzle_that_it_was_given(capsys):
    def side_by_side(images):
        return images.reshape(images.shape[1], images.shape[2], -1)

    check(side_by_side)
    out = capsys.readouterr().out
    assert "FAIL   side_by_side: every number in its place" in out and "channels_last" not in out
    assert "this is what `reshape` gives" in out and out.splitlines()[-1].startswith("0/2    repeat with: course check")


def test_check_draws_fresh_cases_each_time(capsys):
    def attend(weights, values):
        raise NotImplementedError

    seeds = set()
    for _ in range(5):
        check(attend)
        seeds.add(capsys.readouterr().out.split()[-1])
    assert len(seeds) > 1


@pytest.mark.parametrize("thing", [lambda x: x, len, 3, None, "attend", [1]])
def test_check_of_something_that_no_exercise_asks_for_is_one_sentence(thing, capsys):
    check(thing)
    out = capsys.readouterr().out
    assert out.startswith("No exercise asks for") and out.count("\n") == 1


def test_a_misspelt_name_is_recognised(project, run, capsys):
    def attends(weights, values):
        return values

    check(attends)
    assert capsys.readouterr().out == "No exercise asks for attends: did you mean attend?\n"
    project("02_mine.ipynb", *STUBS[:2], RIGHT.replace("attend", "atend"), PENALTY, *STUBS[4:])
    code, _, err = run("check", "02_mine.ipynb")
    assert code == 2 and "does not define attend (perhaps atend is meant for attend)" in err


def test_check_waits_for_torch_only():
    """Neither the readers of notebooks nor torch's compiler, which a dispatch mode would import, are loaded."""
    programme = """
import subprocess
import sys
from course_lib.grading import check
def softmax(scores, temperature):
    return scores
check(softmax)
print([name for name in ("nbformat", "jupytext", "typer", "torch._dynamo", "matplotlib") if name in sys.modules])
"""
    out = subprocess.run([sys.executable, "-c", programme], capture_output=True, text=True, check=True, cwd=root())
    assert out.stdout.splitlines()[-1] == "[]"


ATTEND = "def attend(weights, values):\n    {}\n    return (weights[..., None] * values).sum(1)"


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([ATTEND.format("exit()")], "attend stopped in line 2 (`exit()`): `exit()` ends the programme: leave it out"),
        ([ATTEND.format("input()")], "attend stopped in line 2 (`input()`): `input()` waits for somebody to type"),
        (["import torch", ATTEND.format("torch.save(values, 'x.pt')")], "it writes a file, or asks for the network"),
        ([ATTEND.format("open('x.txt', 'w')")], "it writes a file, or asks for the network"),
        (
            [
                "import nowhere\nfrom einops import einsum",
                ATTEND.format("einsum(weights, values, 'b l, b l d -> b d')"),
            ],
            "name 'einsum' is not defined, since code cell 1 (`import nowhere`) stopped in line 1: "
            "No module named 'nowhere', where answers are checked",
        ),
        (
            ["scale = float(open('scale.txt').read())", ATTEND.format("values = scale * values")],
            "name 'scale' is not defined, since code cell 1",
        ),
        (["class attend:\n    pass"], "expected the signature attend(weights, values), got attend, which is a class"),
    ],
)
def test_a_cause_is_told_and_not_its_consequence(project, run, started, cells, said):
    if "writes a file" in said and started.tier == "process":
        pytest.skip("no lock closes here")
    project("my_exercises/02_words.ipynb", *cells)
    code, out, _ = run("check", "02.3")
    assert code == 1 and said in flat(out)


def test_a_forbidden_operator_is_named_first(project, run):
    project(
        "my_exercises/00_words.ipynb",
        "import torch\ndef softmax(scores, temperature):\n    return torch.softmax(scores / temperature, -1)",
    )
    _, out, _ = run("check", "00.2")
    assert "         softmax used torch.softmax (aten::_softmax): here it is to be written by hand" in out.splitlines()


@pytest.mark.parametrize(
    "made",
    [
        "attend = lambda weights, values: (weights[..., None] * values).sum(1)",
        "from functools import partial\ndef along(axis, weights, values):\n"
        "    return (weights[..., None] * values).sum(axis)\nattend = partial(along, 1)",
        "from torch import nn\nclass Attend(nn.Module):\n    def forward(self, weights, values):\n"
        "        return (weights[..., None] * values).sum(1)\nattend = Attend()",
    ],
)
def test_a_lambda_a_partial_and_a_module_are_answers_as_well(project, run, capsys, made):
    project("my_exercises/02_words.ipynb", made)
    assert run("check", "my_exercises/02_words.ipynb", "--json")[0] == 2  # of five functions, one is there
    assert run("check", "02.3")[0] == 0
    names = {"check": check}
    exec(f"{made}\ncheck(attend)", names)
    assert "6/6    all right" in capsys.readouterr().out


def test_without_an_own_notebook_the_way_to_one_is_named(project, run, tmp_path):
    code, out, err = run("check", "02.3")
    assert code == 2 and out == "" and "`course start 02` puts one there" in err
    project("empty.ipynb")
    code, out, err = run("check", str(tmp_path / "empty.ipynb"))
    assert code == 2 and "holds no code: the answers go into a copy of the exercises" in err


def test_details_are_of_the_first_that_was_written(project, run):
    project("my_exercises/02_words.ipynb", *STUBS[:2], ATTEND.format("weights = 2 * weights"), *STUBS[3:])
    _, out, _ = run("check", "02")
    assert "  to do  02.1" in out and "  FAIL   02.3" in out
    assert "FAIL   the sum of the weighted values" in out and "not written yet" not in out
