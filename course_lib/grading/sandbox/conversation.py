"""What the grader says to a worker, and what it believes of what it hears: nothing but data, within bounds."""

import os
import select
import time
from contextlib import suppress

import torch

from course_lib.grading.sandbox.fork_server import ForkServer
from course_lib.grading.sandbox.limits import Limits
from course_lib.grading.sandbox.worker import frames

KEPT_OUTPUT = 4000  # of what was printed, the last so many bytes are kept


class WorkerStopped(Exception):
    """The worker is no longer to be talked to; the message says why, in words for a report."""


class Conversation:
    """One worker, which holds one submission; use it in a `with` statement.

    Raises WorkerStopped from any call when the worker breaks a limit, ends, or says what is no frame.
    """

    def __init__(self, fork_server: ForkServer, limits: Limits, deadline: float, preload: list[str]):
        self._fork_server, self._limits, self._deadline = fork_server, limits, deadline
        (theirs_in, self._to), (self._from, theirs_out), (self._printed, theirs_printed) = (os.pipe() for _ in range(3))
        try:
            self._child = fork_server.fork([theirs_in, theirs_out, theirs_printed], preload)
        finally:
            for descriptor in (theirs_in, theirs_out, theirs_printed):
                os.close(descriptor)
        for descriptor in (self._to, self._from, self._printed):  # the worker may take away what was announced
            os.set_blocking(descriptor, False)
        self._listening = [self._printed]  # until the other side closes it
        self._amount, self._ended, self.output = 0, False, b""

    def __enter__(self) -> "Conversation":
        return self

    def __exit__(self, *error) -> None:
        with suppress(OSError, WorkerStopped):  # what was printed last
            while self._listening and select.select(self._listening, [], [], 0)[0]:
                self._drain()
        if not self._ended:
            self._fork_server.end(self._child)
        for descriptor in (self._to, self._from, self._printed):
            os.close(descriptor)

    def send(self, frame: bytes) -> None:
        """Send a frame; the worker may print meanwhile, and may not listen."""
        rest = memoryview(frame)
        while rest:
            if self._ready([], [self._to]):
                try:
                    rest = rest[os.write(self._to, rest) :]
                except BlockingIOError:
                    continue
                except BrokenPipeError:
                    raise self._gone() from None

    def receive(self) -> tuple[dict, dict[str, torch.Tensor]]:
        """Return the next frame."""
        head, body = frames.LENGTHS.unpack(self._read(frames.LENGTHS.size))
        if head > frames.LONGEST_HEAD or body > self._limits.reply:
            raise WorkerStopped(f"it replied with more than {self._limits.reply >> 20} MB")
        try:
            found, tensors = frames.unpack(self._read(head), self._read(body))
        except WorkerStopped:
            raise
        except Exception:  # whatever json and safetensors raise at what a stranger made up
            raise WorkerStopped("it replied with something that is no reply") from None
        if not isinstance(found, dict):
            raise WorkerStopped("it replied with something that is no reply")
        return found, tensors

    def _read(self, length: int) -> bytes:
        received = bytearray()
        while len(received) < length:
            if self._ready([self._from], []):
                with suppress(BlockingIOError):
                    piece = os.read(self._from, length - len(received))
                    if not piece:
                        raise self._gone()
                    received += piece
        return bytes(received)

    def _ready(self, reading: list[int], writing: list[int]) -> bool:
        """Wait for one of the descriptors, or for something printed; tell whether it was one of them."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise WorkerStopped(f"it took longer than {self._limits.wall:g} seconds")
        readable, writable, _ = select.select(reading + self._listening, writing, [], left)
        if self._printed in readable:
            self._drain()
        return bool(writable) or any(each in readable for each in reading)

    def _drain(self) -> None:
        try:
            piece = os.read(self._printed, 1 << 16)
        except BlockingIOError:
            return
        if not piece:
            self._listening = []
        self._amount += len(piece)
        self.output = (self.output + piece)[-KEPT_OUTPUT:]
        if self._amount > self._limits.output:
            raise WorkerStopped(f"it printed more than {self._limits.output >> 20} MB")

    def _gone(self) -> WorkerStopped:
        """Say how the worker ended."""
        status, self._ended = self._fork_server.end(self._child, patience=1.0), True
        return WorkerStopped(
            _ENDINGS.get(status, "its process ended" if status is None else f"it ended with exit code {status}")
        )


_ENDINGS = {
    -6: "it crashed (abort)",
    -7: "it crashed (bus error)",
    -8: "it crashed (arithmetic)",
    -9: "it was ended by the system, out of memory or time",
    -11: "it crashed (segmentation fault)",
    -24: "it computed for longer than it may",
    -25: "it wrote a file",
    -31: "it made a forbidden system call",
}
