"""The grader's end of a fork_server: start it behind a lock, have it fork workers, end them."""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import weakref
from functools import cache, cached_property
from pathlib import Path

from course_lib.grading.sandbox import tiers

PATIENCE = 120  # seconds; torch is read from a disk, which may be a slow one


class CannotStart(Exception):
    """A fork_server of this tier does not start here; the message says why."""


class ForkServer:
    """A process that forks workers, behind the lock `tier`; raises CannotStart where this machine has no such lock."""

    def __init__(self, tier: str):
        if not tiers.possible(tier):
            raise CannotStart(f"{tier} is not to be had on this machine")
        self.tier, self._ready = tier, False
        scratch = Path(tempfile.mkdtemp(prefix="course-"))
        ours, theirs = socket.socketpair()  # one message at a time, each way: they need no frame
        with theirs:
            self._process = subprocess.Popen(
                tiers.command(tier, theirs.fileno(), scratch),
                pass_fds=[theirs.fileno()],
                env=tiers.environment(scratch),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C is for the grader, who then ends it
            )
        self._control = ours
        self._control.settimeout(PATIENCE)
        # Also when nobody closes it by hand: at the end of the grader, or when it is forgotten.
        self.close = weakref.finalize(self, _end, self._process, ours, scratch)

    def wait(self) -> "ForkServer":
        """Wait until torch is imported; raises CannotStart where the process ended instead."""
        if not self._ready and self._receive() != b"ready":
            raise CannotStart(f"{self.tier} does not start: {self._last_words}")
        self._ready = True
        return self

    def gather(self) -> "ForkServer":
        """Gather its memory in huge pages: half a second, which a class saves again and one learner would not."""
        self._control.send(json.dumps({"do": "gather"}).encode())
        self._receive()
        return self

    def fork(self, descriptors: list[int], preload: list[str]) -> int:
        """Fork a worker that holds these three descriptors: questions, replies, output. Returns its number."""
        request = json.dumps({"do": "fork", "preload": preload}).encode()
        socket.send_fds(self._control, [request], descriptors)
        return json.loads(self._receive())["child"]

    def end(self, child: int, patience: float = 0.0) -> int | None:
        """End a worker; return its exit status where it ends by itself within `patience` seconds, else None."""
        self._control.send(json.dumps({"do": "end", "child": child, "patience": patience}).encode())
        return json.loads(self._receive())["status"]

    @property
    def alive(self) -> bool:
        """Tell whether the process still runs."""
        return self._process.poll() is None

    @cached_property  # can be read once, and a check of several files asks at each of them
    def _last_words(self) -> str:
        said = self._process.communicate()[1].decode(errors="replace").strip().splitlines()
        return said[-1] if said else "it ended without a word"

    def _receive(self) -> bytes:
        try:
            return self._control.recv(4096)
        except (TimeoutError, ConnectionError) as error:
            raise CannotStart(f"the fork_server of {self.tier} does not answer") from error


def _end(process: subprocess.Popen, control: socket.socket, scratch: Path) -> None:
    control.close()  # it ends its workers and itself
    try:
        process.wait(2)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stderr.close()
    shutil.rmtree(scratch, ignore_errors=True)


def start_strongest() -> ForkServer | None:
    """Start a server for the strongest lock there may be, without waiting for it; None where no process can be forked.

    Whoever starts it early and imports torch meanwhile waits for both only as long as for one.
    """
    return next((ForkServer(tier) for tier in tiers.TIERS if tiers.possible(tier)), None)


def first_that_starts(started: ForkServer) -> ForkServer:
    """Return `started` once it is ready, or a fork_server behind the next weaker lock where it does not start."""
    for tier in tiers.TIERS[tiers.TIERS.index(started.tier) :]:
        try:
            return (started if tier == started.tier else ForkServer(tier)).wait()
        except CannotStart as error:
            reason = error
    raise reason


@cache
def for_tier(tier: str) -> ForkServer:
    """Return this process's fork_server of a tier, for many submissions: started at the first call and kept."""
    return ForkServer(tier).wait().gather()


def forget() -> None:
    """Start anew at the next call, as a process must that was forked from one that has a fork_server."""
    for_tier.cache_clear()


if hasattr(os, "register_at_fork"):  # not on Windows, where no process is forked
    os.register_at_fork(after_in_child=forget)
