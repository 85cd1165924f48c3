"""Make one target after the other, and say at the end how long each took: `python tests/timed.py TARGET...`.

Stops at the first that fails, says so, and exits as it did.
"""

import os
import subprocess
import sys
import time


def clock(seconds: float) -> str:
    return f"{int(seconds) // 60:3}:{int(seconds) % 60:02}"


def main(targets: list[str]) -> int:
    lines, begin, code = [], time.monotonic(), 0
    for target in targets:
        start = time.monotonic()
        code = subprocess.run([os.environ.get("MAKE", "make"), "--no-print-directory", target], check=False).returncode
        lines.append(f"{clock(time.monotonic() - start)}  {target}{'' if code == 0 else ', which failed'}")
        if code:
            break
    lines.append(f"{clock(time.monotonic() - begin)}  {'All of it passed.' if code == 0 else 'Not all of it passed.'}")
    print("", *lines, sep="\n", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
