"""`course check` and `course hint` as a learner meets them: targets, exit codes, the report."""

import re
import subprocess
import sys

import nbformat
import pytest

from course_lib import __main__ as course
from course_lib.grading import check, command, report
from course_lib.grading.declarations import exercises
from course_lib.grading.judging import TaskResult, Verdict
from course_lib.project import find_chapter, root

RIGHT = "def attend(weights, values):\n    return (weights[..., None] * values).sum(1)"
WRONG_AXIS = """import torch
def additive_weights(query, keys, query_weight, key_weight, score_weight):
    hidden = torch.tanh((query @ query_weight.T)[:, None] + keys @ key_weight.T)
    return torch.softmax(hidden @ score_weight, dim=0)"""
STUBS = [
    f"def {task.signature}:\n    raise NotImplementedError" for exercise in exercises("02") for task in exercise.tasks
]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Make an empty course in a temporary folder; return a function that writes a notebook into it."""
    (tmp_path / "exercises").mkdir()
    (tmp_path / "my_exercises").mkdir()
    monkeypatch.setattr(command, "root", lambda: tmp_path)
    monkeypatch.chdir(tmp_path)

    def write(path, *sources):
        cells = [nbformat.v4.new_code_cell(source) for source in sources]
        (tmp_path / path).write_text(nbformat.writes(nbformat.v4.new_notebook(cells=cells)), encoding="utf-8")

    return write


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command line; return exit code, output and errors."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["course", *arguments])
        with pytest.raises(SystemExit) as end:
            course.main()
        said = capsys.readouterr()
        return end.value.code or 0, said.out, said.err

    return run


def test_untouched_stubs_fail_by_name_and_say_what_to_write(project, run):
    project("exercises/02_words.ipynb", *STUBS)
    code, out, err = run("check", "02", "--seed", "1")
    assert code == 1 and err == ""
    for exercise in exercises("02"):
        assert exercise.id in out and exercise.title in out
        for task in exercise.tasks:
            assert f"write {task.signature}, which returns" in " ".join(out.split())
            for each in task.properties:
                assert re.search(rf"  FAIL   {re.escape(each.name)} +0/{each.points}\n", out)
    assert "  ok " not in out
    assert out.splitlines()[-1] == "0/28    repeat with: course check 02 --seed 1"


@pytest.mark.parametrize(("chapter", "points"), [("00", 31), ("02", 28)])
def test_the_exercises_as_the_course_hands_them_out_can_be_checked(run, chapter, points):
    code, out, err = run("check", str(find_chapter(root() / "exercises", chapter, ".ipynb")))
    assert code == 1 and err == "" and "  ok " not in out
    assert out.count("not written yet: write") == sum(len(exercise.tasks) for exercise in exercises(chapter))
    assert out.splitlines()[-1].startswith(f"0/{points}    repeat with")


def test_right_answers_end_with_full_marks_and_exit_code_0(run):
    for chapter, points in (("00", 31), ("02", 28)):
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
    assert "examples of the statement and 10 fresh random cases" in out
    seed = re.fullmatch(r"0/6    repeat with: course check 02\.2 --seed (\d+)", lines[-1]).group(1)
    assert run("check", "02.2", "--seed", seed)[1] == out  # the same again, to the letter

    project("my_exercises/02_words.ipynb", WRONG_AXIS.replace("dim=0", "dim=1"))
    code, out, _ = run("check", "02.2")
    assert code == 0 and "6/6    all right" in out and "FAIL" not in out


def test_wide_output_is_cut(project, run):
    project("exercises/02_words.ipynb", WRONG_AXIS, "def attend(weights, values):\n    raise ValueError('long ' * 500)")
    _, out, _ = run("check", "02")
    assert max(len(line) for line in out.splitlines()) <= 88
    assert "attend stopped with ValueError in line 2" in " ".join(out.split())
    assert 0 < out.count("long") < 60


def test_a_long_problem_takes_four_lines_at_most():
    exercise = exercises("02")[2]
    task = exercise.tasks[0]
    verdicts = tuple(Verdict(each, f"{each.name}: " + "word " * 500) for each in task.properties)
    lines = report.render(exercise, [TaskResult(task, verdicts, None)]).splitlines()
    assert len(lines) <= 3 + 5 * len(verdicts) and "…" in lines[6]


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


def test_a_missing_function_is_named_with_the_cell_that_stopped_and_the_rest_is_judged(project, run):
    project("exercises/02_words.ipynb", "undefined\ndef map_to_rows(feature_map): pass", RIGHT)
    code, out, err = run("check", "02")
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
        (["check", "00"], "there is no chapter '00' in exercises/"),
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
        (["checks"], "No such command 'checks'. Did you mean 'check'? (help: course --help)"),
        (["check", "02", "--sed", "1"], "No such option: --sed"),
    ],
)
def test_bad_input_is_one_plain_sentence_and_exit_code_2(project, run, tmp_path, arguments, said):
    project("exercises/02_words.ipynb", RIGHT)
    (tmp_path / "02_damaged.ipynb").write_text("{", encoding="utf-8")
    (tmp_path / "02_broken.py").write_text("def f(:", encoding="utf-8")
    code, out, err = run(*arguments)
    assert code == 2 and said in err and out == ""
    assert err.count("\n") == 1 and "Traceback" not in err


def test_a_chapter_may_be_written_with_one_digit(project, run):
    project("exercises/02_words.ipynb", *STUBS[:2], RIGHT, *STUBS[3:])
    code, out, _ = run("check", "2.3")
    assert code == 0 and out.startswith("02.3  Attend") and "6/6    all right" in out
    assert (
        run("check", "2", "--seed", "1")[1].splitlines()[:-1] == run("check", "02", "--seed", "1")[1].splitlines()[:-1]
    )
    assert run("hint", "2.3") == run("hint", "02.3")


def test_a_syntax_error_elsewhere_does_not_keep_an_exercise_from_its_check(project, run):
    project("exercises/02_words.ipynb", "def map_to_rows(feature_map):\n    return (", *STUBS[1:2], RIGHT, *STUBS[3:])
    said = "exercises/02_words.ipynb: code cell 1 (`def map_to_rows`) is not Python in line 2 (`return (`)"
    code, out, err = run("check", "02.3")
    assert code == 0 and err == "" and "6/6    all right" in out
    assert out.splitlines()[-1].startswith(f"left out, and not needed for 02.3: {said}")
    code, out, err = run("check", "02.1")
    assert code == 2 and err.startswith(said) and err.endswith("; so map_to_rows is not defined\n")
    code, out, err = run("check", "02")
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


def test_hints_come_one_at_a_time(run):
    code, out, _ = run("hint", "02.3")
    assert code == 0 and out.startswith("hint 1 of 3 for 02.3: If one weight is 1")
    assert out.splitlines()[-1] == "the next says more: course hint 02.3 2"
    _, out, _ = run("hint", "02.3", "3")
    assert "(weights[..., None] * values).sum(dim=1)" in out and "the next" not in out


def test_colour_appears_on_a_terminal_only(project, run, monkeypatch):
    project("exercises/02_words.ipynb", RIGHT)
    assert "\033" not in run("check", "02.3")[1]
    monkeypatch.setattr(report.sys.stdout, "isatty", lambda: True, raising=False)
    assert "\033[32mok\033[0m" in report.coloured("02.3  Attend\n  ok     sums to one")


# ---------------------------------------------------------------- in a notebook


def test_check_in_a_notebook_prints_the_report_and_returns_nothing(capsys):
    names = {}
    exec(RIGHT, names)
    assert check(names["attend"]) is None
    out = capsys.readouterr().out
    assert out.startswith("02.3  Attend\n  ok     one-hot weights return the exact value")
    assert "checked on the example of the statement and 10 fresh random cases" in out
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
