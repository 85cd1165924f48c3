"""A worker answers questions, keeps to its limits, and is believed only what can be true."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from course_lib.grading.catalogue import catalogue
from course_lib.grading.engine import ASKED_AGAIN, judge_task, plan_for
from course_lib.grading.grader import Settings, grade_submission
from course_lib.grading.notebook_file import Cell
from course_lib.grading.records import GRADED
from course_lib.grading.sandbox import probe, tiers
from course_lib.grading.sandbox.conversation import Conversation, WorkerStopped
from course_lib.grading.sandbox.fork_server import CannotStart, ForkServer, for_tier
from course_lib.grading.sandbox.limits import Limits
from course_lib.grading.sandbox.worker import frames
from course_lib.grading.sandbox.worker.folders import around
from course_lib.grading.session import SandboxedSession
from course_lib.grading.wording import PARAMETER, sentence
from course_lib.project import root

TIERS = [
    pytest.param(tier, marks=pytest.mark.skipif(not probe.works(tier), reason=f"{tier} does not work here"))
    for tier in (tiers.BUBBLEWRAP, tiers.LANDLOCK)
]
each_tier = pytest.mark.parametrize("tier", TIERS)
ATTEND = catalogue().find("02.3")
SHORT = Limits(wall=5.0, step=0.5)
RIGHT = "def attend(weights, values):\n    return (weights[..., None] * values).sum(1)"


def judged(tier, *sources, exercise=ATTEND, limits=SHORT):
    """Return the result on the first function of `exercise`, and the session, after its end."""
    cells = [Cell(f"code cell {number}", source) for number, source in enumerate(sources, start=1)]
    (task,) = exercise.tasks
    with SandboxedSession(for_tier(tier), "mine.ipynb", cells, [task.function], limits) as session:
        return judge_task(exercise, task, session.answerer(exercise, task), 0), session


def problem(result):
    return next(sentence(verdict.problem, result.task) for verdict in result.verdicts if verdict.problem)


@each_tier
def test_the_lock_of_a_tier_is_tight(tier):
    assert probe.what_is_possible(tier) == []


def test_without_a_lock_the_probe_finds_all_that_is_possible():
    # Root becomes nobody where nobody can read Python, and nobody has no right to the grader's files and process.
    to_nobody = {"read a file of the grader's", "write a file", "signal another process"}
    refused = to_nobody if tiers.lock(tiers.PROCESS)["nobody"] else set()
    assert probe.what_is_possible(tiers.PROCESS) == [attempt for attempt in probe.FORBIDDEN if attempt not in refused]


def test_grading_without_a_sandbox_is_refused_unless_it_is_asked_for(monkeypatch):
    monkeypatch.setattr(probe, "works", lambda tier: False)
    with pytest.raises(Exception, match="--unsafe"):
        probe.strongest()
    assert probe.strongest(unsafe=True) == tiers.PROCESS


@each_tier
def test_a_right_answer_is_right_behind_a_lock_too(tier):
    result, session = judged(tier, RIGHT)
    assert result.earned == result.task.points and session.endings == []


@each_tier
def test_a_wrong_answer_is_told_in_the_words_of_a_check_in_the_notebook(tier):
    wrong = RIGHT.replace("sum(1)", "sum(0)")
    names = {}
    exec(compile(wrong, "<cell 0>", "exec"), names)
    from course_lib.grading.call import in_process

    here = judge_task(ATTEND, ATTEND.tasks[0], in_process(names["attend"], ATTEND.tasks[0]), 0)
    there, _ = judged(tier, wrong)
    for one, other in zip(there.verdicts, here.verdicts, strict=True):
        assert sentence(one.problem, ATTEND.tasks[0]) == sentence(other.problem, ATTEND.tasks[0])
    assert there.mistake is here.mistake


@each_tier
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("while True: pass", "attend did not end in time, still in line 2 (`while True: pass`)"),
        ("import os; os._exit(3)", "attend was stopped: it ended with exit code 3"),
        ("import ctypes; ctypes.string_at(0)", "it crashed (segmentation fault)"),
        ("import os; os.abort()", "it crashed (abort)"),
        ("print('x' * 3_000_000); return values", "it printed more than 1 MB"),
        ("return weights.new_zeros(1_000_000)", "it replied with more than 16 MB"),
        ("import torch; return torch.zeros(1 << 33)", "attend stopped with RuntimeError"),
        (
            "import os\n    for n in range(3, 64):\n        try: os.write(n, b'x' * 8)\n        except OSError: pass",
            "it replied",
        ),
        ("return weights.to_sparse()", "expected an ordinary one"),
        ("import torch; return torch.zeros(2, dtype=torch.complex128)", "got a tensor of complex128"),
        ("raise ValueError('\\x1b[2J' * 9)", "ValueError"),
        ("return None", "is `return` missing?"),
    ],
)
def test_whatever_an_answer_does_there_is_a_verdict(tier, body, said):
    result, _ = judged(tier, f"def attend(weights, values):\n    {body}")
    assert result.earned == 0
    assert said in problem(result) and "\x1b" not in problem(result)


@each_tier
def test_an_answer_that_turns_the_alarm_off_meets_the_wall(tier):
    loop = """import signal
def attend(weights, values):
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.setitimer(signal.ITIMER_PROF, 0)
    while True: pass"""
    start = time.monotonic()
    result, session = judged(tier, loop, limits=Limits(wall=1.5, step=0.3))
    assert re.search("it (took longer than 1.5 seconds|computed for longer than it may)", problem(result))
    assert session.endings and time.monotonic() - start < 10


@each_tier
def test_what_torch_imports_for_its_transforms_is_not_the_time_of_an_answer(tier):
    answer = """import torch
from torch.func import grad
def attend(weights, values):
    return (weights[..., None] * values * grad(torch.sum)(values)).sum(1)"""
    told, session = judged(tier, answer, limits=Limits(step=0.5))  # the import takes three times as long
    assert told.earned == sum(each.points for each in told.task.properties) and not session.endings


@each_tier
def test_one_function_that_kills_its_worker_does_not_cost_the_others(tier):
    first, second = catalogue().find("02.3"), catalogue().find("02.1")
    cells = [
        Cell("code cell 1", "import os\ndef attend(weights, values):\n    os._exit(1)"),
        Cell("code cell 2", "def map_to_rows(feature_map):\n    return feature_map.flatten(2).transpose(1, 2)"),
    ]
    with SandboxedSession(for_tier(tier), "mine.ipynb", cells, ["attend", "map_to_rows"], Limits()) as session:
        lost = judge_task(first, first.tasks[0], session.answerer(first, first.tasks[0]), 0)
        kept = judge_task(second, second.tasks[0], session.answerer(second, second.tasks[0]), 0)
    assert lost.earned == 0 and kept.earned == second.points
    assert len(session.endings) == 1


@each_tier
def test_cells_that_stop_hide_no_other_and_are_told(tier):
    with SandboxedSession(
        for_tier(tier),
        "mine.ipynb",
        [
            Cell("code cell 1", "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])"),
            Cell("code cell 2", "undefined"),
            Cell("code cell 3", "def attend(:"),
            Cell("code cell 4", "while True: pass"),
            Cell("code cell 5", "from course_lib.grading import check\nimport einops\n" + RIGHT + "\ncheck(attend)"),
        ],
        ["attend"],
        Limits(step=0.3),
    ) as session:
        told = session.submission(ATTEND)
    assert told.defined == {"attend"}
    assert [stop.cell.name for stop in told.stops] == ["code cell 2", "code cell 3", "code cell 4"]
    assert [stop.broken for stop in told.stops] == [False, True, False]
    assert "did not end in time" in told.stops[2].sentence


@each_tier
def test_the_course_is_not_to_be_imported_and_not_to_be_read(tier):
    sources = [
        "import course_lib.softmax",
        f"open({str(root() / 'solutions' / '02_attention_in_image_captioning.md')!r})",
        f"open({str(Path(tiers.__file__))!r})",
        "import sys\nsys.path.append('.')\nimport course_lib.exercises",
    ]
    cells = [Cell(f"code cell {number}", source) for number, source in enumerate(sources)]
    with SandboxedSession(for_tier(tier), "mine.ipynb", cells, [], Limits()) as session:
        assert len(session.submission(ATTEND).stops) == len(sources)


@each_tier
def test_no_worker_of_a_file_lives_beside_another(tier, monkeypatch):
    """Two would see each other's threads, and that in which softmax is allowed would compute it for the other."""
    forked, ended = [], []
    fork, end = ForkServer.fork, ForkServer.end
    monkeypatch.setattr(ForkServer, "fork", lambda self, *given: forked.append(list(ended)) or fork(self, *given))
    monkeypatch.setattr(ForkServer, "end", lambda self, child, *given: ended.append(child) or end(self, child, *given))
    exercises = [ATTEND, catalogue().find_task("softmax")[0], ATTEND, catalogue().find("02.1")]
    with SandboxedSession(for_tier(tier), "mine.ipynb", [Cell("code cell 1", "")], [], Limits()) as session:
        for exercise in exercises:
            session.submission(exercise)
    assert [len(each) for each in forked] == [0, 1, 2] and len(ended) == 3


WITHOUT_HOOK = """import os, sys, torch
sys.__dict__["mod" + "ules"]["lockdown"].TORCH = sys.__dict__["mod" + "ules"]["lockdown"].MACHINE_CODE
path = os.path.join(os.path.dirname(torch.__file__), "nn", "functional.py")
read = getattr(globals()["__buil" + "tins__"], "op" + "en")
torch.from_file(path, False, 9, dtype=torch.uint8) if BY_TORCH else read(path).close()"""


@each_tier
@pytest.mark.parametrize("by_torch", [True, False])
def test_where_an_operator_is_forbidden_the_kernel_hides_torch_s_texts(tier, by_torch):
    softmax, _ = catalogue().find_task("softmax")
    for exercise, hidden in ((softmax, True), (ATTEND, False)):
        source = WITHOUT_HOOK.replace("BY_TORCH", str(by_torch))
        cells = [Cell("code cell 1", source if hidden else source.replace(source.splitlines()[1], ""))]
        with SandboxedSession(for_tier(tier), "mine.ipynb", cells, [], Limits()) as session:
            stops = session.submission(exercise).stops
        assert bool(stops) == hidden
        assert not hidden or "ermission denied" in stops[0].sentence, stops[0].sentence


@each_tier
def test_no_file_is_opened_by_a_name_within_a_folder_that_is_open(tier):
    cells = [
        Cell("code cell 1", "import os, sys\nfolder = os.open(sys.prefix, os.O_RDONLY)"),
        Cell("code cell 2", "os.open('lib', os.O_RDONLY, dir_fd=folder)"),
        Cell("code cell 3", "os.open(os.path.join(sys.prefix, 'lib'), os.O_RDONLY)"),
    ]
    with SandboxedSession(for_tier(tier), "mine.ipynb", cells, [], Limits()) as session:
        assert [stop.cell.name for stop in session.submission(ATTEND).stops] == ["code cell 2"]


FIRST_CALLS = [
    "print(x)",
    "torch.autograd.grad(2 * x, x, torch.ones(3))",
    "torch.autograd.functional.jacobian(lambda x: x * x, x)",
    "(2 * x).backward(torch.ones(3))",
    "list(torch.utils.data.DataLoader([1, 2]))",
    "torch.broadcast_shapes((2, 1), (3,))",
    "torch.vmap(torch.sin)(x)",
    "from torch.nn.utils.rnn import pad_sequence",
    "from functorch import vmap; vmap(torch.sin)(x)",
    "from einops.layers.torch import Rearrange; Rearrange('a -> a 1')(x)",
    "from IPython.display import HTML, display; display(HTML('<b>x</b>'))",
    "import matplotlib.animation, PIL.Image, tqdm.auto, sympy",
    "import pydoc, statistics, typing_extensions, numpy.testing; numpy.linalg.svd(numpy.eye(2))",
]


@each_tier
def test_where_an_operator_is_forbidden_what_is_called_for_the_first_time_is_there(tier):
    exercise, _ = catalogue().find_task("softmax")
    begin = Cell("code cell 0", "import torch\nx = torch.ones(3, requires_grad=True)")
    cells = [begin, *(Cell(f"code cell {number}", each) for number, each in enumerate(FIRST_CALLS, start=1))]
    with SandboxedSession(for_tier(tier), "mine.ipynb", cells, [], Limits()) as session:
        assert [stop.sentence for stop in session.submission(exercise).stops] == []


@each_tier
@pytest.mark.parametrize("name", ["softmax_from_another_library", "softmax_from_a_library_named_in_a_text"])
def test_the_softmax_of_another_library_earns_nothing_however_long_its_import_may_take(tier, name, tmp_path):
    """The limits of the battery are so short that an import of scipy alone would be stopped."""
    path = tmp_path / "mine.py"
    path.write_text((Path(__file__).parent / "battery" / f"{name}.py.txt").read_text(encoding="utf-8"))
    record = grade_submission("mine.py", (str(path),), Settings(1, ("00.2",), Limits(wall=30.0, step=15.0), tier))
    assert (record.status, record.earned) == (GRADED, 0)


@each_tier
def test_a_library_that_computes_is_imported_only_where_no_operator_is_forbidden(tier):
    exercise, _ = catalogue().find_task("softmax")
    sources = ["import own", "import threadpoolctl", "import pkgutil; pkgutil.resolve_name('threadpoolctl:register')"]
    cells = [Cell(f"code cell {number}", source) for number, source in enumerate(sources, start=1)]
    for asked, stopped in ((ATTEND, []), (exercise, ["code cell 2", "code cell 3"])):
        with SandboxedSession(for_tier(tier), "mine.ipynb", cells, [], Limits(), modules={"own": "x = 1"}) as session:
            stops = session.submission(asked).stops
        assert [stop.cell.name for stop in stops] == stopped, stops
    assert "threadpoolctl is not to be imported where an operator of torch is forbidden" in stops[0].sentence
    assert "is not to be read where an operator of torch is forbidden" in stops[1].sentence


@each_tier
def test_an_answer_that_changes_its_mind_earns_nothing(tier):
    wavering = "import random\n" + RIGHT + " + random.choice([0, 1e-3])"
    assert judged(tier, wavering)[0].earned == 0
    asked = len(plan_for(ATTEND.tasks[0], 0).round.questions) - ASKED_AGAIN  # right as long as nothing is asked again
    counting = "n = [0]\n" + RIGHT.replace("return", f"n[0] += 1; return (n[0] <= {asked}) *")
    result, _ = judged(tier, counting)
    assert result.earned == 0 and "two different answers" in problem(result)


@each_tier
def test_a_submission_leaves_nothing_for_the_next(tier):
    judged(tier, "import torch, builtins, sys\nbuiltins.left = 1\ntorch.left = 1\nsys.modules['left'] = 1\n" + RIGHT)
    result, session = judged(
        tier, "import builtins, torch\nassert not hasattr(builtins, 'left') and not hasattr(torch, 'left')\n" + RIGHT
    )
    assert result.earned == result.task.points


def test_a_tier_that_this_machine_has_not_cannot_start(monkeypatch):
    monkeypatch.setattr(tiers.shutil, "which", lambda name: None)
    with pytest.raises(CannotStart, match="bubblewrap is not to be had"):
        ForkServer(tiers.BUBBLEWRAP)


def test_a_fork_server_that_does_not_come_up_says_its_last_word(monkeypatch):
    monkeypatch.setattr(tiers, "command", lambda *_: [sys.executable, "-c", "import sys; sys.exit('no torch here')"])
    started = ForkServer(tiers.PROCESS)
    for _ in range(2):  # a check of two files asks twice
        with pytest.raises(CannotStart, match="no torch here"):
            started.wait()


def test_a_fork_server_ends_with_the_grader_and_takes_its_workers_along():
    """Also when the grader is killed in the middle of an endless loop."""
    script = """
import time, torch
from course_lib.grading.sandbox.fork_server import ForkServer
from course_lib.grading.sandbox.conversation import Conversation
from course_lib.grading.sandbox.worker.frames import pack
from course_lib.grading.sandbox.limits import Limits
limits = Limits(wall=60, step=60)
fork_server = ForkServer("process").wait()
with Conversation(fork_server, limits, time.monotonic() + 60, []) as talk:
    job = {"cells": ["while True: pass"], "modules": {}, "functions": [], "forbidden": {}}
    talk.send(pack(job | {"memory": 1 << 30, "seconds": 60, "step": 60, "main": True}, {}))
    talk.receive()
    print(fork_server._process.pid, talk._child, flush=True)
    talk.receive()
"""
    grader = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    numbers = [int(each) for each in grader.stdout.readline().split()]
    grader.send_signal(signal.SIGKILL)
    grader.wait()
    grader.stdout.close()
    latest = time.monotonic() + 20
    while any(_runs(number) for number in numbers) and time.monotonic() < latest:
        time.sleep(0.05)
    assert not any(_runs(number) for number in numbers)


def _runs(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().split(") ")[1][0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    "reply",
    [
        b"\xff" * 8,
        frames.LENGTHS.pack(1 << 31, 0),
        frames.LENGTHS.pack(10, 0) + b"not json!!",
        frames.LENGTHS.pack(100_000, 0) + b"[" * 100_000,
        frames.LENGTHS.pack(2, 9) + b"{}" + b"\xff" * 9,
        frames.LENGTHS.pack(2, 16) + b"{}" + b"\xff" * 8 + b"{}      ",
        frames.LENGTHS.pack(4, 0) + b"null",
        frames.pack({"fault": 7}, {}),
        frames.pack({"fault": {"line": {"a": 1}}, "parts": -5}, {}),
        frames.pack({"fault": None, "parts": "many"}, {}),
        frames.pack({"fault": None, "parts": 3}, {"value.0": torch.ones(2)}),
        frames.pack({"fault": None, "parts": 0}, {"value.0": torch.ones(2, 1)}),
        frames.pack(
            {"fault": {"kind": "raised", "error": "\ud800", "message": "\x1b]0;x\x07", "line": 1, "text": ""}}, {}
        ),
    ],
)
def test_a_forged_reply_is_a_verdict(reply):
    body = f"""import os
    for n in range(3, 64):
        try: os.write(n, {reply!r})
        except OSError: pass
    os._exit(0)"""
    result, _ = judged(tiers.PROCESS, f"def attend(weights, values):\n    {body}")
    assert result.earned == 0 and problem(result).isprintable()


def test_the_answer_key_is_hidden_also_where_the_course_lies_among_what_is_shown(tmp_path):
    """As in an installed package, or a course unpacked below /usr."""
    packages, key = tmp_path / "packages", tmp_path / "packages" / "course_lib"
    for folder in (key / "deep", packages / "torch"):
        folder.mkdir(parents=True)
    (packages / "lib64").symlink_to(packages)
    (packages / "deep").symlink_to(key / "deep")
    readable, listable = around([tmp_path], [key])
    assert packages / "torch" in readable and packages in listable and tmp_path in listable
    assert not any(path.resolve() == key or path.resolve().is_relative_to(key) for path in readable)
    assert not any(key.is_relative_to(path.resolve()) for path in readable)


def test_a_grader_forked_from_another_starts_a_fork_server_of_its_own():
    first = for_tier(tiers.PROCESS)
    child = os.fork()
    if child == 0:
        os._exit(0 if for_tier.cache_info().currsize == 0 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert for_tier(tiers.PROCESS) is first and first.alive


def test_a_worker_that_has_gone_is_noticed_while_a_question_is_written():
    limits = Limits()
    with Conversation(for_tier(tiers.PROCESS), limits, time.monotonic() + 5, []) as talk:
        job = {"cells": ["import os; os._exit(0)"], "modules": {}, "functions": [], "forbidden": {}}
        talk.send(frames.pack(job | {"memory": limits.memory, "seconds": 5, "step": 5, "main": True}, {}))
        talk.receive()
        time.sleep(0.2)
        with pytest.raises(WorkerStopped, match="exit code 0"):
            talk.send(frames.pack({}, {"large": torch.zeros(100_000)}))


@each_tier
@pytest.mark.parametrize(
    ("made", "said"),
    [
        ("hidden.to(torch.float8_e4m3fn)", "tensor of float8"),
        ("torch.zeros((1,) * 65)", "65 axes"),
        ("hidden[:0]", "shape"),
    ],
)
def test_a_part_of_an_odd_kind_is_a_verdict_and_no_fault_of_ours(tier, made, said):
    """One part of the tuple is right, so properties hold, and what ails the whole answer is asked."""
    source = f"""import torch
def lstm_step(inputs, hidden, memory, weight_ih, weight_hh, bias_ih, bias_hh):
    gates = inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh
    i, f, g, o = gates.chunk(4, dim=1)
    memory = f.sigmoid() * memory + i.sigmoid() * g.tanh()
    return {made}, memory"""
    exercise, task = catalogue().find_task("lstm_step")
    cells = [Cell("code cell 1", source)]
    with SandboxedSession(for_tier(tier), "mine.py", cells, ["lstm_step"], Limits()) as session:
        session.submission(exercise)
        result = judge_task(exercise, task, session.answerer(exercise, task), 0)
    assert result.earned < task.points and said in " ".join(
        sentence(each.problem, task) for each in result.verdicts if each.problem
    )


def test_a_very_long_name_takes_no_time_in_the_grader():
    names = ", ".join("a" * 40_000 for _ in range(3))
    assert PARAMETER.findall(names) == [] and PARAMETER.findall("to_key.bias (2,), to_key.weight (2, 4)") == [
        "to_key.bias (2,)",
        "to_key.weight (2, 4)",
    ]
