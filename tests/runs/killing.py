"""Run as a programme: train in FOLDER once in peace, and again and again with a killing in the middle, then go on.

Every training is a process of its own, forked from this one, so that torch is imported once.
"""

import os
import random
import signal
import sys
from pathlib import Path

import tokenizers  # noqa: F401  imported here, and not once in every process
import torch

from course_lib import files
from course_lib.runs import loop, train, translation  # noqa: F401
from course_lib.runs.folder import RunFolder
from tests.seed import SEED

STEPS, EVERY = 13, 5
SETTINGS = {"batch": 4, "width": 8, "layers": 1, "heads": 2, "vocabulary": "words", "dropout": 0.1}


def in_a_child(work):
    """Return the exit code of a process that does `work`, or minus the signal that ended it."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            code = work()
        finally:
            sys.stdout.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def counting(place, name, call, number, after=False):
    """Make the call `call` (from 1) of a function of `place` send this process a signal before, or after, it works."""
    original, calls = getattr(place, name), [0]

    def counted(*arguments, **options):
        calls[0] += 1
        result = original(*arguments, **options) if after or calls[0] != call else None
        if calls[0] == call:
            os.kill(os.getpid(), number)
            result = result if after else original(*arguments, **options)
        return result

    setattr(place, name, counted)


def main(folder: Path, file: str):
    parameter = torch.nn.Parameter(torch.zeros(1))
    parameter.grad = torch.zeros(1)
    torch.optim.AdamW([parameter]).step()  # imports much that torch puts off until then
    step = random.Random(SEED).randint(1, STEPS - 1)
    kill, stop = signal.SIGKILL, signal.SIGINT
    ways = {
        "whole": None,
        "step": (loop.Loop, "step", step, kill, True),
        "samples": (RunFolder, "append_samples", 2, kill, True),
        # Vocabulary and configuration settle first. Then, at each evaluation, the tensors of the checkpoint, the facts
        # that name them, and the curves.
        "tensors": (files, "_settle", 9, kill, False),
        "facts": (files, "_settle", 9, kill, True),
        "old": (files, "_settle", 10, kill, True),
        "stopped": (loop.Loop, "step", step, stop, True),
    }
    for way, place in ways.items():

        def begin(way=way, place=place):
            if place:
                counting(*place)
                loop.draw_curves = lambda *_: b""  # the picture takes longer than all the rest
            return train.train("translation", data=file, steps=STEPS, every=EVERY, out=folder / way, **SETTINGS)

        def go_on(way=way):
            loop.draw_curves = lambda *_: b""
            return train.train(None, resume=folder / way)

        code = in_a_child(begin)
        expected = 0 if place is None else -kill if place[3] == kill else 130
        assert code == expected, f"{way} at step {step}: {code}, expected {expected}"
        if place:
            code = in_a_child(go_on)
            assert code == 0, f"{way} at step {step}, to go on: {code}"


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
