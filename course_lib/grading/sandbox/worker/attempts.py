"""What a submission tried that the lock refuses, whether or not it caught the error: a teacher should see it.

So should a teacher where a cell reads the code of a function, which nothing can refuse: of one that it was handed to
try out, for instance.

Python itself tells of each attempt (an audit hook). This is for the eye and not a lock: code that rewrites its own
process can hide what it does, and what is told is as little to be believed as all that comes from here.
"""

import os
import sys

MOST, LONGEST = 20, 100  # attempts that are kept, characters of each
ACTS = {
    "os.fork os.forkpty os.posix_spawn os.spawn os.exec os.system subprocess.Popen": "start a process",
    "socket.__new__ socket.getaddrinfo socket.gethostbyname socket.connect socket.bind": "open a connection",
    "os.kill os.killpg": "send a signal",
    "os.remove os.rename os.rmdir os.mkdir os.chmod os.chown os.link os.symlink os.truncate": "change a file",
}
ACT = {event: act for events, act in ACTS.items() for event in events.split()}
FOR_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
OF_THE_SYSTEM = ("/proc", "/sys", "/dev", "/etc", "/usr", "/lib")  # what libraries look up by themselves

_seen: dict[str, None] = {}  # in the order in which they came


def watch(readable: list[str]) -> None:
    """Note from now on what is tried; reading below these paths, and what Python reads of the system, is no attempt."""
    known = tuple(f"{path}/" for path in (*readable, *OF_THE_SYSTEM))

    def hook(event: str, arguments: tuple) -> None:
        try:
            if event == "open":
                act = _opening(*arguments, known)
                about = arguments[0]
            elif event == "object.__getattr__" and arguments[1] == "__code__":
                # Of this attribute only: to ask a frame for its `f_code` is such an event, too.
                act, about = _reading_code(sys._getframe(1).f_code.co_filename), ""
            else:
                act, about = ACT.get(event), arguments[0] if arguments else ""
            if act is not None and len(_seen) < MOST:
                about = os.fsdecode(about) if isinstance(about, (str, bytes)) else ""
                _seen[f"{act} {about[:LONGEST]}".strip()] = None
        except Exception:  # whatever a stranger calls these functions with: they are told so by the functions
            return

    sys.addaudithook(hook)


def taken() -> list[str]:
    """Return what was tried so far."""
    return list(_seen)


def _opening(path: str | bytes | int, mode: str | None, flags: int, known: tuple[str, ...]) -> str | None:
    """Return what it is to open this file; None where it is nothing to tell."""
    if isinstance(path, int):  # a file that is open already
        return None
    where = os.path.abspath(os.fsdecode(path))  # noqa: PTH100 (`..` goes away, and nobody asks the disk)
    if flags & FOR_WRITING and where != os.devnull:
        return "write the file"
    own = os.path.basename(where).startswith("<")  # noqa: PTH119 (a cell, of which Python looks for the text)
    return None if own or where.startswith(known) else "read the file"


def _reading_code(file: str) -> str | None:
    """Return what it is when code of this file asks an object for its code; None unless that is a cell."""
    return "read the code of a function" if file.startswith("<cell ") else None
