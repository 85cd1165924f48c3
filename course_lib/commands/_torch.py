"""How a subcommand imports torch."""

import contextlib
import gc
import signal
from collections.abc import Iterator


@contextlib.contextmanager
def importing_torch() -> Iterator[None]:
    """Import torch at less than its price.

    It leaves so many objects that collecting garbage, during the import and at the end, would take a fifth of the time
    of a command. And Ctrl-C waits until it is there: half an import ends in messages that nobody can use.
    """
    pressed: list[int] = []
    earlier = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
        signal.signal(signal.SIGINT, earlier)
    if pressed:
        raise KeyboardInterrupt
