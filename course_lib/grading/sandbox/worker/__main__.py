"""The fork_server: it imports torch once, then forks a worker for each submission.

It holds neither cases nor answers. What a worker is to run arrives after the fork, so no submission is ever in memory
that another one inherits.
"""

import gc

gc.disable()  # torch leaves so many objects that collecting garbage would take a tenth of a start

# ruff: noqa: E402  (what follows is what takes the time)
import contextlib
import importlib
import io
import json
import linecache
import os
import signal
import socket
import sys
import sysconfig
import tempfile
import time
import types
from typing import Any

import cells
import einops
import frames
import huge_pages
import lockdown
import numpy
import torch
import worker
from torch._functorch.vmap import lazy_load_decompositions

# Slow to import, and so before the lock. The first serve all workers; matplotlib needs a folder to write to. With the
# last come torch's operators in Python, which others may have to do without: only the worker that asks for it has it.
WELCOME = ("matplotlib.pyplot", "torch.fx.experimental.symbolic_shapes")
WELCOME_IN_ONE = ("torch._dynamo",)


def serve(control: socket.socket, lock: dict[str, Any]) -> None:
    """Fork a worker for each request, and end it when the grader says so; end with the grader."""
    children = set()
    control.send(b"ready")
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 4096, 3)
        if not message:
            for child in children:
                end(child)
            os._exit(0)
        request = json.loads(message)
        if request["do"] == "fork":
            for name in request["preload"]:
                if name in WELCOME:
                    importlib.import_module(name)
            child = os.fork()
            if child == 0:
                try:
                    control.close()
                    for name in request["preload"]:
                        if name in WELCOME_IN_ONE:
                            importlib.import_module(name)
                    worker.work(*descriptors, lock)
                except BaseException as error:
                    # Before the lock is shut there is nobody else's code here: say what is wrong with the machine.
                    with contextlib.suppress(BaseException):
                        frames.write(descriptors[1], frames.pack({"locked": False} | cells.told(error), {}))
                finally:
                    os._exit(1)
            for descriptor in descriptors:
                os.close(descriptor)
            children.add(child)
            control.send(json.dumps({"child": child}).encode())
        elif request["do"] == "gather":
            huge_pages.gather()
            control.send(b"gathered")
        elif request["child"] in children:
            children.remove(request["child"])
            control.send(json.dumps({"status": end(request["child"], request["patience"])}).encode())


def end(child: int, patience: float = 0.0) -> int | None:
    """End a worker and all that it started; return its exit status where it ends by itself in time, else None."""
    latest = time.monotonic() + patience
    found, status = os.waitpid(child, os.WNOHANG)
    while not found and time.monotonic() < latest:  # it hangs up a moment before it is gone
        time.sleep(0.001)
        found, status = os.waitpid(child, os.WNOHANG)
    for kill in (os.killpg, os.kill):  # its group, and itself: a worker so young that it has no group yet
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(child, signal.SIGKILL)
    if found:
        return os.waitstatus_to_exitcode(status)
    os.waitpid(child, 0)
    return None


def main() -> None:
    """Become the fork_server: argument 1 is the number of the control socket, argument 2 the lock, in JSON."""
    control, lock = socket.socket(fileno=int(sys.argv[1])), json.loads(sys.argv[2])
    lockdown.end_with_parent()
    lockdown.hide_memory()
    # An answer's notebook imports these; here they have nothing to say. There is no more of the course than this.
    course, grading = types.ModuleType("course_lib"), types.ModuleType("course_lib.grading")
    course.grading = grading
    grading.check = grading.hint = grading.progress = lambda *arguments: None
    sys.modules |= {"course_lib": course, "course_lib.grading": grading}
    torch.set_num_threads(1)
    tempfile.tempdir = "/tmp"  # known, so that nobody tries to write there to find out: parts of torch ask at import
    for seed in (numpy.random.seed, torch.manual_seed):
        seed(0)  # each worker inherits this: the same submission gives the same answers, random ones too
    # What their first calls would import later, when it may be forbidden, or take longer than a call may: vmap its
    # decompositions, einsum its planner, a gradient nested tensors from torch 2.15 on, einops torch._dynamo where torch
    # is older than 2.8, and sysconfig a module that is named after this machine.
    lazy_load_decompositions()
    sysconfig.get_config_vars()
    importlib.import_module("torch.nested._internal.nested_tensor")
    einops.rearrange(torch.ones(2, 2), "row column -> column row")
    torch.einsum("ij,jk->ik", torch.ones(2, 2), torch.ones(2, 2))
    frames.unpack(*split(frames.pack({}, {"warm": torch.ones(2, 2) @ torch.ones(2, 2)})))
    str(torch.ones(1)), list(torch.utils.data.DataLoader([0])), torch.save(0, io.BytesIO())
    with contextlib.suppress(ImportError):  # where a later torch has done away with it
        importlib.import_module("functorch")
    # Made here once for all workers. Another lock than Landlock shows all of them the same files: to hide torch's texts
    # from those in which an operator is forbidden, it takes Landlock as well, where there is any.
    shown = lock["readable"], lock["listable"]
    lock["rules"] = lockdown.rules(*shown) if lock["landlock"] else None
    hiding = lock["landlock"] or (lock["privileges"] and lockdown.has_landlock())
    lock["rules_without_texts"] = lockdown.rules(*lockdown.without_texts(*shown)) if hiding else None
    lock["editions"] = lockdown.other_editions()
    linecache.clearcache()  # in which texts of torch may stand
    gc.freeze()
    gc.enable()
    serve(control, lock)


def split(frame: bytes) -> tuple[bytes, bytes]:
    """Return the two parts of a whole frame."""
    head, _ = frames.LENGTHS.unpack_from(frame)
    start = frames.LENGTHS.size
    return frame[start : start + head], frame[start + head :]


if __name__ == "__main__":
    main()
