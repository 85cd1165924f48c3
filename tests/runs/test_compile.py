"""A model can be compiled as one graph, its losses as another, and learns the same from it."""

import dataclasses
import functools

import pytest
import torch

from course_lib.models.recipes import RECIPES
from course_lib.project import CourseError
from course_lib.runs import settings
from course_lib.runs.settings import OF_THE_TASK, on_device, settle
from course_lib.runs.tasks import make_task

RUNS = [(name, {}) for name in OF_THE_TASK["compile"]] + [("language-model", {"recipe": each}) for each in RECIPES]


@pytest.mark.parametrize(("name", "given"), RUNS)
def test_a_model_is_one_graph_with_the_same_losses_and_gradients(name, given, monkeypatch):
    graph_alone = functools.partial(torch.compile, backend="eager")  # the graph, without the compiler behind it
    monkeypatch.setattr(torch, "compile", graph_alone)
    monkeypatch.setattr(settings, "can_compile", lambda device: True)  # no compiler is needed for that
    small = {"width": 8} if name == "captioner" else {"width": 8, "heads": 2, "layers": 1}
    chosen = settle(name, device="cpu", compile=True, **small, **given)
    task, plain = make_task(chosen), make_task(dataclasses.replace(chosen, compile=False))
    assert task.token_losses != plain.token_losses
    torch.manual_seed(0)
    model = task.make_model()
    compiled = torch.compile(model, fullgraph=True)
    for seed in range(2):  # batches of two lengths
        batch = task.draw(4, torch.Generator().manual_seed(seed))
        results = []
        for losses, net in ((plain.losses, model), (task.losses, compiled)):
            torch.manual_seed(1)  # dropout
            loss = losses(net, batch)[0]
            results.append([loss, *torch.autograd.grad(loss, list(model.parameters()))])
        torch.testing.assert_close(*results)
    torch.compiler.reset()


def test_without_a_compiler_it_is_said_at_once(monkeypatch):
    monkeypatch.setattr(settings.shutil, "which", lambda name: None)
    with pytest.raises(CourseError, match="`--compile` needs a C\\+\\+ compiler"):
        settle("language-model", device="cpu", compile=True)
    with pytest.raises(CourseError, match="`--compile` is not for the classifier"):
        settle("classifier", device="cpu", compile=True)


def test_a_compiled_run_goes_on_where_there_is_no_compiler(monkeypatch):
    monkeypatch.setattr(settings.shutil, "which", lambda name: f"/usr/bin/{name}")
    begun = settle("language-model", device="cpu", compile=True)
    assert on_device(begun, None) == begun
    monkeypatch.setattr(settings.shutil, "which", lambda name: None)
    assert on_device(begun, None) == dataclasses.replace(begun, compile=False)
