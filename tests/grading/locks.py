"""The sandboxes of the grader, for its tests: `python tests/grading/locks.py` installs what is missing, where it can.

`make test` does so once. Tests of a lock that does not work on this machine are left out, and say so.
"""

import os
import shutil
import subprocess
import sys

from course_lib.grading.sandbox import probe, tiers

LOCKS = (tiers.BUBBLEWRAP, tiers.LANDLOCK)


def main() -> None:
    """Install bubblewrap and libseccomp from Debian's packages where they are wanted; say which locks work."""
    if sys.platform == "linux" and shutil.which("apt-get") and not shutil.which("bwrap"):
        administrator = [] if os.geteuid() == 0 else ["sudo", "--non-interactive"]
        for command in (["update"], ["install", "--yes", "--no-install-recommends", "bubblewrap", "libseccomp2"]):
            print("For the sandbox of the grader:", *administrator, "apt-get", *command, flush=True)
            try:
                subprocess.run([*administrator, "apt-get", "--quiet", *command], timeout=600, check=False)
            except (OSError, subprocess.TimeoutExpired) as error:
                print(error)
    for lock in LOCKS:
        print(f"{lock}: {'works here' if probe.works(lock) else 'does not work here, its tests are left out'}")


if __name__ == "__main__":
    main()
