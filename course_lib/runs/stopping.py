"""Ctrl-C and SIGTERM end a run after the step that is being taken, in every process after the same one."""

import os
import signal
import threading
from types import FrameType

import torch

from course_lib.ranks import sum_over_ranks, world_size

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopping:
    """While it is entered, a signal is remembered instead of obeyed; `wanted` says whether any process got one.

    In a run of one process, a second signal is obeyed at once.
    """

    def __enter__(self) -> "Stopping":
        self.signal: int | None = None
        self.earlier = {}
        if threading.current_thread() is threading.main_thread():  # elsewhere, Python takes no signals
            self.earlier = {number: signal.signal(number, self._remember) for number in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, earlier in self.earlier.items():
            signal.signal(number, earlier)

    def wanted(self) -> bool:
        """Return whether to stop; all processes must ask at the same point, and hear the same."""
        return bool(sum_over_ranks(torch.tensor(float(self.signal is not None))))

    def _remember(self, number: int, _: FrameType | None) -> None:
        if self.signal is not None and world_size() == 1:
            signal.signal(number, signal.SIG_DFL if number != signal.SIGINT else signal.default_int_handler)
            os.kill(os.getpid(), number)
        self.signal = number
