"""Running code of others while nobody watches."""

import contextlib
import io
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def unattended() -> Iterator[None]:
    """Let code print and warn to nobody, and find nobody at the keyboard.

    >>> with unattended():
    ...     print("asked ten times")
    """
    keyboard, sys.stdin = sys.stdin, io.StringIO()
    try:
        with Path(os.devnull).open("w") as nowhere, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
                yield
    finally:
        sys.stdin = keyboard
