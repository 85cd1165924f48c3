"""How long a learner waits for `course check`, compared with the time to import torch (target: 1.2 times as long).

Run `python benchmarks/cold_check.py` on a machine that does nothing else. The two commands take turns, so that what
else the machine does meets both.
"""

import statistics
import subprocess
import sys
import time

REPEATS = 11

commands = {
    "import torch": [sys.executable, "-c", "import torch"],
    "course check": [sys.executable, "-m", "course_lib", "check", "02.2"],
}
times: dict[str, list[float]] = {name: [] for name in commands}
for _ in range(REPEATS):
    for name, command in commands.items():
        start = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=False)  # a check that fails has exit code 1
        times[name].append(time.perf_counter() - start)
for name, measured in times.items():
    print(f"{name}  median {statistics.median(measured):.2f} s  (from {min(measured):.2f} to {max(measured):.2f} s)")
torch, check = (statistics.median(measured) for measured in times.values())
print(f"ratio of the medians: {check / torch:.2f}")
