"""The locks that this machine offers, and the command that starts a fork_server behind one of them.

A tier is a name: "bubblewrap" (namespaces of its own: no network, no processes but its own, a file system that holds
the interpreter and nothing else), "landlock" (the same by rules of the kernel, without any privilege), or "process" (a
process of its own, and limits; no lock). Both locked tiers also filter system calls: nothing can be written anywhere.
"""

import json
import os
import shutil
import site
import sys
import sysconfig
from pathlib import Path

import course_lib
from course_lib.grading.sandbox.worker.folders import around

BUBBLEWRAP, LANDLOCK, PROCESS = "bubblewrap", "landlock", "process"
TIERS = (BUBBLEWRAP, LANDLOCK, PROCESS)  # the strongest first

WORKER = Path(__file__).parent / "worker"
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
# All that a worker's environment holds; and the order of a set is the same in every run.
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "HOME": "/tmp",
    "OMP_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "MPLBACKEND": "agg",
}


def lock(tier: str) -> dict:
    """Return what a worker of this tier has to do to itself, for `worker.lockdown`."""
    readable, listable = around(_needed(), _hidden())
    return {
        "privileges": tier != PROCESS,
        "landlock": tier == LANDLOCK,
        "calls": tier != PROCESS,
        # Without a lock, root can at least become nobody, where nobody may read what Python needs.
        "nobody": tier == PROCESS and os.geteuid() == 0 and all(map(_open_to_all, _needed())),
        "readable": [str(WORKER), *map(str, readable), *(path for path in DEVICES if Path(path).exists())],
        "listable": list(map(str, listable)),
    }


def command(tier: str, control: int, scratch: Path) -> list[str]:
    """Return the command that starts a fork_server whose control socket has the number `control`.

    `scratch` is an empty folder that the fork_server may write to, before there is anybody else's code.
    """
    # -s: no packages from the user's home. Not -I, which would also ignore PYTHONHASHSEED.
    start = [sys.executable, "-s", "-B", str(WORKER), str(control), json.dumps(lock(tier))]
    if tier != BUBBLEWRAP:
        return start
    mounts = {path: ["--ro-bind", str(path), str(path)] for path in [*_needed(), WORKER]}
    mounts |= {path: ["--tmpfs", str(path)] for path in _hidden() if any(path.is_relative_to(each) for each in mounts)}
    return [
        "bwrap",
        # As process 1 the fork_server is the only one, and its memory is not to be read; bubblewrap's own would be.
        *["--unshare-all", "--as-pid-1", "--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL"],
        *["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"],
        # The deeper path later, so that what is inside a hidden folder can be shown again.
        *(word for path in sorted(mounts, key=lambda path: len(path.parts)) for word in mounts[path]),
        *["--bind", str(scratch), str(scratch), "--chdir", "/tmp"],
        *(word for name, value in environment(scratch).items() for word in ("--setenv", name, value)),
        *["--", *start],
    ]


def environment(scratch: Path) -> dict[str, str]:
    """Return the environment of a fork_server: nothing of the grader's own."""
    # A folder that is there, since torch's optimisers want one when they are imported, and none can be made.
    return ENVIRONMENT | {"MPLCONFIGDIR": str(scratch), "TORCHINDUCTOR_CACHE_DIR": str(scratch)}


def possible(tier: str) -> bool:
    """Tell whether it is worth trying to start this tier here; `fork_server.ForkServer` then tries it in earnest."""
    if tier == PROCESS:
        return hasattr(os, "fork")
    return sys.platform == "linux" and (tier != BUBBLEWRAP or shutil.which("bwrap") is not None)


def _open_to_all(path: Path) -> bool:
    return all(each.stat().st_mode & 0o001 for each in path.resolve().parents)


def _needed() -> list[Path]:
    """Return what has to be read to run Python and torch."""
    python = [sys.prefix, sys.base_prefix, sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    system = ["/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", os.path.realpath(sys.executable)]
    # A folder that another one holds is left out; a link, such as /lib, is kept by its own name.
    found = sorted({Path(path) for path in [*python, *system] if Path(path).exists()})
    return [path for path in found if not any(path != other and path.is_relative_to(other) for other in found)]


def _hidden() -> list[Path]:
    """Return the answer keys: this package, wherever it is installed, and the repository that it may lie in."""
    libraries = [Path(folder) for folder in [*site.getsitepackages(), sysconfig.get_path("purelib")]]
    package = Path(course_lib.__file__).resolve().parent
    repository = [] if package.parent in libraries else [package.parent]
    installed = [library / package.name for library in libraries]
    return sorted({package, *repository, *filter(Path.is_dir, installed)})
