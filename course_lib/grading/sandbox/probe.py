"""Trying the lock of a tier before anybody relies on it."""

import tempfile
import time
from functools import cache
from pathlib import Path

from course_lib.grading.sandbox import tiers
from course_lib.grading.sandbox.conversation import Conversation, WorkerStopped
from course_lib.grading.sandbox.fork_server import CannotStart, for_tier
from course_lib.grading.sandbox.limits import Limits
from course_lib.grading.sandbox.worker.frames import pack
from course_lib.project import CourseError

# Each of these must be refused. They do no harm where they are not.
FORBIDDEN = {
    "read a file of the grader's": "open({canary!r}).read()",
    "write a file": "open({canary!r} + '.written', 'w').write('x')",
    "open a connection": "import socket; socket.socket(socket.AF_INET, socket.SOCK_STREAM)",
    "start a process": "import os\nif os.fork() == 0:\n    os._exit(0)",
    "signal another process": "import os; os.kill(os.getppid(), 0)",
}


def what_is_possible(tier: str) -> list[str]:
    """Return which forbidden things a submission can do behind the lock of this tier: none, where it is tight.

    Raises CannotStart where there is no such lock on this machine.
    """
    with tempfile.TemporaryDirectory(prefix="course-canary-") as folder:
        canary = Path(folder) / "canary"
        canary.write_text("not for you")
        cells = [attempt.format(canary=str(canary)) for attempt in FORBIDDEN.values()]
        limits = Limits(wall=30.0)
        job = {"cells": cells, "modules": {}, "functions": [], "forbidden": {}}
        job |= {"memory": limits.memory, "seconds": limits.wall, "step": limits.step, "main": True}
        try:
            with Conversation(for_tier(tier), limits, time.monotonic() + limits.wall, []) as conversation:
                conversation.send(pack(job, {}))
                locked, _ = conversation.receive()
                if locked.get("locked") is not True:
                    raise CannotStart(f"{tier}: {locked.get('message')}")
                stopped = {stop["cell"] for stop in conversation.receive()[0]["stops"]}
        except WorkerStopped as error:
            raise CannotStart(f"{tier}: the probe did not come to its end: {error}") from error
    return [name for number, name in enumerate(FORBIDDEN) if number not in stopped]


@cache
def works(tier: str) -> bool:
    """Tell whether this tier starts on this machine and lets nothing through."""
    try:
        return not what_is_possible(tier)
    except CannotStart:
        return False


def strongest(unsafe: bool = False) -> str:
    """Return the strongest lock that works here; with `unsafe`, no lock where none works; else raises CourseError."""
    for tier in (tiers.BUBBLEWRAP, tiers.LANDLOCK):
        if tiers.possible(tier) and works(tier):
            return tier
    if not tiers.possible(tiers.PROCESS):
        raise CourseError(
            "no process can be forked here, and strangers' files would run in the grader itself: grade on Linux, which "
            "Windows has in WSL, or let Gradescope do it (`course gradescope-zip`)"
        )
    if unsafe:
        return tiers.PROCESS
    raise CourseError(
        "no sandbox works here, and strangers' files would run with your rights: use Linux with bubblewrap, or with "
        "Landlock and libseccomp; --unsafe grades all the same, each file in a process of its own"
    )
