"""The whole of chapter 15: right parts make a right model; a faulty part is found among ten, and no other blamed."""

import json
import re

import pytest
import torch

from course_lib import capstone as library
from course_lib.exercises.chapter_15 import _looks, whole
from course_lib.grading import command
from course_lib.grading.call import Answer, in_process
from course_lib.grading.catalogue import catalogue
from course_lib.grading.notebook_file import read_cells
from course_lib.grading.problem import Problem
from course_lib.grading.sandbox.limits import Limits
from course_lib.models.caption_transformer import CaptionTransformer
from course_lib.project import find_chapter, root

SEED = 4
CHAPTERS = ("05", "06", "07", "08", "09", "15")
ANSWERS = {
    chapter: [cell.source for cell in read_cells(find_chapter(root() / "solutions", chapter, ".md"))]
    for chapter in CHAPTERS
}


def task_of(name):
    exercise = catalogue().find(whole.EXERCISES[name])
    return exercise, next(task for task in exercise.tasks if task.function == name)


def asking(name, function):
    """Ask a function in this process, as the worker would be asked."""
    return in_process(function, task_of(name)[1])


def mistake(name, title):
    return next(each.implementation for each in task_of(name)[1].mistakes if each.name == title)


def worked():
    """Return the worked answers, by name."""
    names = {"__name__": "answers", "check": print}
    for chapter in CHAPTERS[:-1]:
        for source in ANSWERS[chapter]:
            exec(source.replace("from course_lib.grading import check, hint, progress", ""), names)
    return {name: names[name] for name in whole.EXERCISES}


RIGHT = {name: asking(name, function) for name, function in worked().items()}


def examined(**faulty):
    return whole.examine(RIGHT | {name: asking(name, each) for name, each in faulty.items()}, {}, SEED)


def failing(found):
    return {title for title, _, problem in found.lines if problem}


# ---------------------------------------------------------------- which part is to blame


def test_right_parts_make_a_right_model_on_any_seed():
    for seed in (0, SEED):
        found = whole.examine(RIGHT, {}, seed)
        assert found.right and not found.blamed and not failing(found) and len(found.lines) == 7
        assert found.own == list(whole.EXERCISES) and found.library == {}
        assert found.lines[-2][1] == "1.00"


LOGITS = "logits and loss are those of the library's parts"
FUTURE = "no word sees a later one"
HIDDEN = "hidden locations of the picture have no influence"
LOSS = "padding behind the captions has no influence on the loss"
BEAM = "the beam finds what is best by logits made unsure"

FAULTS = [
    ("scaled_dot_product_attention", "no scale", LOGITS),
    ("split_heads", "view", LOGITS),
    ("split_heads", "heads as the fast axis", LOGITS),
    ("merge_heads", "reshape alone", LOGITS),
    ("sinusoidal_positions", "halves side by side", LOGITS),
    ("sinusoidal_positions", "positions from one", LOGITS),
    ("layer_norm", "unbiased variance", LOGITS),
    ("layer_norm", "over time", FUTURE),
    ("CrossAttention", "padding read", HIDDEN),
    ("shift_right", "not shifted", LOGITS),
    ("shift_right", "every step counts", LOSS),
    ("loss_at_every_step", "mean over all steps", LOGITS),
    ("loss_at_every_step", "bits", LOGITS),
    ("beam_search", "greedy", BEAM),
    ("beam_search", "finished candidates dropped", BEAM),
]


@pytest.mark.parametrize(("name", "title", "look"), FAULTS, ids=[f"{name}: {title}" for name, title, _ in FAULTS])
def test_a_faulty_part_is_found_and_no_other_is_blamed(name, title, look):
    found = examined(**{name: mistake(name, title)})
    assert list(found.blamed) == [name] and look in failing(found) and not found.right


def test_a_part_that_refuses_what_is_not_finite_is_not_blamed_for_the_one_that_made_it():
    right = worked()

    def careful_loss(logits, targets, counts):
        assert torch.isfinite(logits).all(), "logits must be finite"
        return right["loss_at_every_step"](logits, targets, counts)

    def careful_norm(inputs, gain, bias, epsilon):
        assert not inputs.isnan().any()
        return right["layer_norm"](inputs, gain, bias, epsilon)

    spoiling = mistake("scaled_dot_product_attention", "nan from 0 times infinity")
    parts = {"scaled_dot_product_attention": spoiling, "loss_at_every_step": careful_loss, "layer_norm": careful_norm}
    assert list(examined(**parts).blamed) == ["scaled_dot_product_attention"]
    assert examined(loss_at_every_step=careful_loss, layer_norm=careful_norm).right


def test_a_faulty_module_is_found():
    wrong = task_of("FeedForward")[1].mistakes[0]
    found = examined(FeedForward=wrong.implementation)
    assert list(found.blamed) == ["FeedForward"] and LOGITS in failing(found)


def test_two_faulty_parts_are_both_named():
    for titles in (
        {"merge_heads": "heads as the fast axis", "layer_norm": "no gain"},
        {"split_heads": "view", "beam_search": "sign turned"},
    ):
        found = examined(**{name: mistake(name, title) for name, title in titles.items()})
        assert set(found.blamed) == set(titles) and not found.right
        assert all("alone" in why for why in found.blamed.values())


def test_two_faults_that_undo_each_other_nearly_are_both_named():
    """Heads made of every fourth feature, and merged alike: the model that was trained has them otherwise."""
    found = examined(
        split_heads=lambda vectors, heads: vectors.unflatten(2, (-1, heads)).permute(0, 3, 1, 2),
        merge_heads=lambda vectors: vectors.permute(0, 2, 3, 1).flatten(2),
    )
    assert set(found.blamed) == {"split_heads", "merge_heads"}


# ---------------------------------------------------------------- parts that give nothing, or nothing that fits


def test_a_part_that_crashes_is_named_with_its_error_and_the_others_are_judged():
    def crashing(vectors):
        raise KeyError("heads")

    found = examined(merge_heads=crashing, beam_search=mistake("beam_search", "sign turned"))
    assert list(found.blamed) == ["merge_heads", "beam_search"]
    assert "merge_heads stopped with KeyError" in found.blamed["merge_heads"]
    assert failing(found) == {BEAM}  # with the library's merge_heads, the rest is right


@pytest.mark.parametrize(
    "title", ["heads in front of the batch", "time and width exchanged", "everything to everybody"]
)
def test_a_part_of_the_wrong_shape_is_named_with_both_shapes(title):
    found = examined(split_heads=mistake("split_heads", title))
    assert list(found.blamed) == ["split_heads"] and not found.right and failing(found) == set()
    assert re.match(r"got shape \(.+\) of float32, expected shape \(3, 4, 6, 16\)", found.blamed["split_heads"])


def test_a_part_that_fails_late_is_blamed_alone():
    """Only where 24 pictures are captioned at once: what earlier looks saw was right."""
    right = worked()["layer_norm"]

    def late(inputs, gain, bias, epsilon):
        return right(inputs, gain, bias, epsilon) if len(inputs) < _looks.SCENES else inputs[:1]

    found = examined(layer_norm=late)
    assert list(found.blamed) == ["layer_norm"] and "got shape (1," in found.blamed["layer_norm"]


def test_what_a_part_spoiled_before_it_failed_is_looked_at_again():
    """As many pictures as heads make the shape right, and the numbers wrong."""
    right = worked()["layer_norm"]

    def spoiling(inputs, gain, bias, epsilon):
        return right(inputs, gain, bias, epsilon)[: _looks.FEW] * 2

    found = examined(layer_norm=spoiling)
    assert list(found.blamed) == ["layer_norm"] and not failing(found)


def test_parts_that_are_missing_or_not_written_are_the_library_s_and_not_blamed():
    def unwritten(**arguments):
        raise NotImplementedError

    asks = {"layer_norm": RIGHT["layer_norm"], "split_heads": asking("split_heads", unwritten)}
    found = whole.examine(asks, {"merge_heads": "there is no notebook of chapter 06"}, SEED)
    assert found.right and found.own == ["layer_norm"]
    assert found.library == {"merge_heads": "there is no notebook of chapter 06", "split_heads": "not written yet"}
    assert "split_heads (not written yet)" in " ".join(found.render().split())


def test_with_no_part_of_one_s_own_nothing_is_said_to_be_right():
    unwritten = Problem("unwritten", fault={"kind": "unwritten"})
    asks = dict.fromkeys(whole.EXERCISES, lambda asked: [Answer(problem=unwritten)])
    for found in (whole.examine({}, {}, SEED), whole.examine(asks, {}, SEED)):
        assert found.right and found.lines == [] and found.own == []
        assert "ok" not in found.render()


def test_weights_that_are_not_trained_are_no_part_s_fault(tmp_path):
    torch.manual_seed(0)
    base = tmp_path / "caption_transformer"
    library.save_caption_transformer(CaptionTransformer(vocab_size=12, d_model=32), base)
    found = whole.examine(RIGHT, {}, SEED, base)
    assert not found.right and not found.blamed and found.weights == "your own weights"
    assert failing(found) == {"your weights with the library's parts, on 500 scenes"}
    faulty = RIGHT | {"merge_heads": asking("merge_heads", mistake("merge_heads", "heads as the fast axis"))}
    assert list(whole.examine(faulty, {}, SEED, base).blamed) == ["merge_heads"]


def test_in_a_notebook_the_whole_is_asked_of_functions(capsys):
    right = worked()
    whole.whole(right["layer_norm"], right["CrossAttention"])
    assert "yours: layer_norm, CrossAttention" in capsys.readouterr().out

    def merge_heads(vectors):
        return vectors.mean(1)

    whole.whole(right["split_heads"], merge_heads)
    out = capsys.readouterr().out
    assert "to blame: merge_heads: got shape" in out and "split_heads: " not in out
    whole.whole(examined)
    assert capsys.readouterr().out.startswith("examined is no part of the model; these are: scaled_dot")


# ---------------------------------------------------------------- course check 15


@pytest.fixture
def project(project):
    """Make a course with the worked answers in my_exercises; return a function that rewrites a notebook."""

    def write(chapter, old="", new="", folder="my_exercises"):
        sources = [source.replace(old, new) for source in ANSWERS[chapter]]
        assert not old or sources != ANSWERS[chapter]
        return project(f"{folder}/{chapter}_answers.ipynb", *sources)

    for chapter in CHAPTERS:
        write(chapter)
    return write


@pytest.fixture
def run(run):
    """Call `course`, which has nothing to say on the error stream."""

    def quiet(*arguments):
        code, out, err = run(*arguments)
        assert err == ""
        return code, out

    return quiet


def test_all_right_parts_are_green_and_end_with_exit_code_0(project, run):
    points = sum(exercise.points for exercise in catalogue().exercises("15"))
    code, out = run("check", "15", "--all", "--seed", "1")
    assert code == 0 and "FAIL" not in out and "to blame" not in out and "the library's: " not in out
    assert out.count("  ok     ") == 7 + sum(
        len(task.properties) for each in catalogue().exercises("15") for task in each.tasks
    )
    assert out.splitlines()[-1] == f"{points}/{points}    all right    same cases again: course check 15 --seed 1"
    assert max(len(line) for line in out.splitlines()) <= 88


def test_a_fault_in_another_chapter_s_notebook_is_named_with_the_exercise_to_go_back_to(project, run):
    project(
        "06",
        "batch heads time d_head -> batch time (heads d_head)",
        "batch heads time d_head -> batch time (d_head heads)",
    )
    code, out = run("check", "15", "--seed", "1")
    assert code == 1 and "FAIL   logits and loss are those of the library's parts" in out
    assert re.search(
        r"to blame: merge_heads: with the library's in its place, these lines are right\s+see: course check 06.1", out
    )
    assert out.count("to blame") == 1 and "32/32    repeat with: course check 15" in out


def test_the_same_in_json(project, run):
    project("07", "torch.stack([angle.sin(), angle.cos()], dim=-1)", "torch.stack([angle.cos(), angle.sin()], dim=-1)")
    code, out = run("check", "15", "--json")
    found = json.loads(out)
    assert code == 1 and found["earned"] == found["points"] and not found["whole"]["right"]
    assert [(each["function"], each["exercise"]) for each in found["whole"]["blamed"]] == [
        ("sinusoidal_positions", "07.1")
    ]


def test_an_exercise_alone_does_not_ask_for_the_whole(project, run):
    project("06", "    return rearrange", "    return 0 * rearrange")
    code, out = run("check", "15.1")
    assert code == 0 and "the whole" not in out


def test_hanging_ending_and_missing_parts_in_workers(project, run, monkeypatch, tmp_path):
    monkeypatch.setattr(command, "LIMITS", Limits(step=0.5))
    project("07", "    frequency = ", "    while True: pass\n    frequency = ")
    project("08", "    centred = inputs", "    import os; os._exit(3)\n    centred = inputs")
    (tmp_path / "my_exercises" / "05_answers.ipynb").unlink()
    project("09", "def shift_right", "def shifted_right")
    found = json.loads(run("check", "15", "--seed", "2", "--json")[1])["whole"]
    blamed = {each["function"]: each["reason"] for each in found["blamed"]}
    assert list(blamed) == ["sinusoidal_positions", "layer_norm"]
    assert "sinusoidal_positions did not end in time" in blamed["sinusoidal_positions"]
    assert "layer_norm was stopped: it ended with exit code 3" in blamed["layer_norm"]
    assert set(found["library"]) == {"scaled_dot_product_attention", "shift_right"}
    assert "there is no notebook of chapter 05" in found["library"]["scaled_dot_product_attention"]
    assert "does not define shift_right" in found["library"]["shift_right"]
    assert not any(each["problem"] for each in found["lines"])


def test_damaged_weights_are_one_sentence(project, run, tmp_path):
    for suffix in (".json", ".safetensors"):
        (tmp_path / "my_exercises" / whole.OWN_WEIGHTS).with_suffix(suffix).write_text("{}")
    code, out = run("check", "15", "--json")
    assert code == 2 and "no weights of this model" in json.loads(out)["error"]


def test_of_a_file_elsewhere_the_notebooks_beside_it_are_taken(project, run, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    path = project("15", folder="elsewhere")
    code, out = run("check", str(path))
    assert code == 0 and "none of the functions of chapters 05 to 09 is written yet" in out
    project("08", "hidden = torch.relu(self.expand(inputs))", "hidden = self.expand(inputs)", folder="elsewhere")
    code, out = run("check", str(path))
    assert code == 1 and "to blame: FeedForward" in out and "yours: layer_norm, FeedForward" in out


def test_a_learner_s_own_weights_are_taken_where_they_were_saved(project, run, tmp_path):
    library.save_caption_transformer(library.load_caption_transformer(), tmp_path / "my_exercises" / whole.OWN_WEIGHTS)
    code, out = run("check", "15")
    assert code == 0 and re.search("the whole: .+ your own weights\n", out)
    assert "your weights with the library's parts, on 500 scenes" in out
