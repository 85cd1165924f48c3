"""Measuring the claims of the chapters under several seeds, side by side on the cores of this machine."""

import asyncio
import datetime
import importlib.metadata
import json
import platform
import re
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from course_lib.authoring.execution import execute, one_kernel_a_core, progress_bars
from course_lib.authoring.ledger_entries import as_json, bound, holds, lead, read_ledger, summarise, trained_by_seed
from course_lib.authoring.notebooks import code_digest, find_texts, read_text
from course_lib.files import write_atomically
from course_lib.project import CourseError, root

NUMBERED = re.compile(r"\d\d_")  # a chapter; the page that shows the ledger has no number and claims nothing


def measure(chapters: list[str], seeds: int, home: Path | None = None) -> int:
    """Execute chapters under the seeds 0, 1, ... and write what they claim to the ledger; return 1 if a claim breaks.

    A broken claim does not stop its chapter. Another error does: it is printed, that chapter keeps what the ledger had,
    and 1 is returned. Raises CourseError for an unknown chapter. `home` is the folder of the course, for tests.
    """
    home = home or root()
    texts = [text for text in find_texts(home / "book/text", chapters) if NUMBERED.match(text.name)]
    measured, failures = asyncio.run(_measure_all(texts, seeds, home))
    if measured:
        path = home / "book/_data/claims.json"
        stored = read_ledger(path) if path.exists() else {}
        write_atomically(path, as_json(stored | measured))
        Console().print(_table(measured))
    for failure in failures:
        print(failure)
    broken = any(not holds(claim) for entry in measured.values() for claim in entry["claims"])
    return 1 if broken or failures else 0


async def _measure_all(texts: list[Path], seeds: int, home: Path) -> tuple[dict[str, dict], list[str]]:
    """Return the new entries of the ledger by chapter, and a sentence for each chapter that failed."""
    core = one_kernel_a_core()
    with progress_bars() as progress:
        chapters = [_measure_chapter(text, seeds, home, core, progress) for text in texts]
        results = await asyncio.gather(*chapters)
    measured = {text.name[:2]: entry for text, entry in zip(texts, results, strict=True) if isinstance(entry, dict)}
    return measured, [str(result) for result in results if isinstance(result, CourseError)]


async def _measure_chapter(text: Path, seeds: int, home: Path, core, progress: Progress) -> dict | CourseError:
    cells = len(read_text(text).cells)
    bar = progress.add_task(text.stem, total=cells * seeds)
    runs = [_run(text, seed, home, core, lambda: progress.advance(bar)) for seed in range(seeds)]
    results = await asyncio.gather(*runs, return_exceptions=True)
    for result in results:
        if isinstance(result, CourseError):
            return result
        if isinstance(result, BaseException):
            raise result
    try:
        claims = summarise({seed: statements for seed, (_, statements) in enumerate(results)})
        trained = trained_by_seed([statements for _, statements in results])
    except CourseError as error:
        return CourseError(f"{text.stem} {error}")
    return {
        "title": _title(text),
        "page": f"{text.stem}.ipynb",
        "code": code_digest(text),
        "seeds": list(range(seeds)),
        "seconds": [seconds for seconds, _ in results],
        "measured": datetime.date.today().isoformat(),
        "processor": _processor(),
        "versions": {"python": platform.python_version(), "torch": importlib.metadata.version("torch")},
        **({"trained": trained} if trained else {}),
        "claims": claims,
    }


async def _run(text: Path, seed: int, home: Path, core, after_cell) -> tuple[float, list[dict]]:
    """Execute one chapter under one seed; return the seconds it took and the statements it made."""
    async with core:
        with tempfile.TemporaryDirectory() as folder:
            statements = Path(folder) / "claims.jsonl"
            environment = {"COURSE_SEED": str(seed), "COURSE_CLAIMS_FILE": str(statements)}
            start = time.monotonic()
            await execute(
                f"{text.stem} under seed {seed}", read_text(text), home, after_cell, environment, "BrokenClaim"
            )
            seconds = round(time.monotonic() - start, 1)
            lines = statements.read_text(encoding="utf-8").splitlines() if statements.exists() else []
    return seconds, [json.loads(line) for line in lines]


def _title(text: Path) -> str:
    heading = re.search(r"^# (.+)$", text.read_text(encoding="utf-8"), re.MULTILINE)
    return heading[1] if heading else text.stem


def _table(measured: dict[str, dict]) -> Table:
    table = Table("chapter", "kind", "claim", "bound, or ours", "worst, or rival's", "spread", "")
    for chapter, entry in measured.items():
        for claim in entry["claims"]:
            if claim["kind"] == "opponent":
                ours, theirs = (f"{statistics.fmean(claim[whose]):.4g}" for whose in ("ours", "values"))
                figures, verdict = (ours, theirs, ""), lead(claim)
            else:
                figures = (bound(claim), f"{claim['worst']:.4g}", f"{claim['spread']:.2g}")
                verdict = "holds" if holds(claim) else "[bold red]BROKEN[/]"
            table.add_row(chapter, claim["kind"], escape(claim["name"]), *figures, verdict)
    return table


def _processor() -> str:
    """Return the name of this machine's processor as its maker sells it, or at least its architecture."""
    name = ""
    if platform.system() == "Linux":
        information = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        found = re.search(r"^model name\s*:\s*(.+)$", information, re.MULTILINE)  # not there on ARM
        name = found[1] if found else ""
    elif platform.system() == "Darwin":
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        name = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return name or platform.processor() or platform.machine()
