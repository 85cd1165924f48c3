"""How long Python takes until the first line of one's own: importing the library, and the commands of `course`."""

import subprocess
import sys
from collections.abc import Iterator

from benchmarks.measuring import Candidate, Spread, children_too, interleave, ratio_of, summarise
from benchmarks.results import Goal, Row
from course_lib.project import root

TITLE = "Starting"
SECONDS = 45
TORCH, LIBRARY, HELP, CHECK = "import torch", "import torch and the library", "course --help", "course check 02.2"
MODULES = "attention, blocks, decoding, masks, training, models.language_model, models.encoder_decoder"
COMMANDS = {
    TORCH: ["-c", "import torch"],
    LIBRARY: ["-c", "import torch\nimport " + ", ".join(f"course_lib.{each}" for each in MODULES.split(", "))],
    HELP: ["-m", "course_lib", "--help"],
    CHECK: ["-m", "course_lib", "check", "02.2"],
}


def rows() -> Iterator[Row]:
    """Measure the commands, each in a process of its own."""
    candidates = [Candidate(name, _running(arguments)) for name, arguments in COMMANDS.items()]
    times = interleave(candidates, SECONDS, clock=children_too, title=TITLE)
    beyond = Spread.of([both - torch for both, torch in zip(times[LIBRARY], times[TORCH], strict=True)]).median
    goals = [
        Goal("seconds of the library beyond torch", beyond, 0.1),
        Goal("seconds of `course --help`", Spread.of(times[HELP]).median, 0.3),
        Goal("`course check`, to `import torch`", ratio_of(times[CHECK], times[TORCH]).median, 1.2),
    ]
    notes = [f"The library takes {beyond:.2f} s beyond torch ({MODULES})."]
    yield Row("Python and imports", summarise(times), False, goals, notes)


def _running(arguments: list[str]):
    def call() -> None:
        # A check that fails has exit code 1.
        subprocess.run([sys.executable, *arguments], cwd=root(), stdout=subprocess.DEVNULL, check=False)

    return call
