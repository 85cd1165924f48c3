"""How fast submissions are graded, for one exercise and for a chapter, on one core and on two; memory of the grader.

Run `python benchmarks/grading.py` on a machine that does nothing else (targets: a median of 60 ms a submission; 1,500 a
minute on one core, 2,500 on two, for one exercise). The class is of 300: worked answers, answers with a known mistake,
and untouched stubs.
"""

import contextlib
import io
import multiprocessing
import os
import resource
import statistics
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from course_lib.grading.catalogue import catalogue
from course_lib.grading.grade_command import grade
from course_lib.grading.gradebook import Gradebook
from course_lib.grading.sandbox import probe, tiers

STUDENTS = 300
ANSWERS = {
    "map_to_rows": [
        "return feature_map.flatten(2).transpose(1, 2)",
        "return feature_map.flatten(2)",
        "raise NotImplementedError",
    ],
    "additive_weights": [
        "h = (query @ query_weight.T)[:, None] + keys @ key_weight.T\n    return (h.tanh() @ score_weight).softmax(1)",
        "h = (query @ query_weight.T)[:, None] + keys @ key_weight.T\n    return (h.tanh() @ score_weight).softmax(0)",
        "raise NotImplementedError",
    ],
    "attend": [
        "return (weights[..., None] * values).sum(1)",
        "return (weights[..., None] * values).mean(1)",
        "raise NotImplementedError",
    ],
    "coverage_penalty": [
        "return ((1 - weights.sum(1)) ** 2).sum(1)",
        "return ((1 - weights.sum(2)) ** 2).sum(1)",
        "raise NotImplementedError",
    ],
    "hard_attention_gradient": [
        "one = torch.eye(scores.shape[1])[index]\n    return (one - scores.softmax(1)) * (reward - baseline)[:, None]",
        "one = torch.eye(scores.shape[1])[index]\n    return (one - scores.softmax(1)) * reward[:, None]",
        "raise NotImplementedError",
    ],
}


def write_class(folder: Path) -> None:
    """Write one file for each student; a third is right, a third has a mistake, a third is not written."""
    tasks = [task for exercise in catalogue().exercises("02") for task in exercise.tasks]
    for student in range(STUDENTS):
        lines = ["import torch", "from course_lib.grading import check"]
        for number, task in enumerate(tasks):
            lines.append(f"def {task.signature}:\n    {ANSWERS[task.function][(student + number) % 3]}\n")
        (folder / f"student_{student:03}.py").write_text("\n".join(lines))


def main() -> None:
    """Grade the class in every way and print one line for each."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "class"
        folder.mkdir()
        write_class(folder)
        for tier in filter(probe.works, (tiers.BUBBLEWRAP, tiers.LANDLOCK)):
            probe.strongest = lambda unsafe=False, tier=tier: tier
            for only in (("02.3",), ("02",)):
                for cores in (1, 2):
                    measure(folder, Path(place) / f"{tier}_{only[0]}_{cores}", tier, only, cores)
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory of the parent: {megabytes:.0f} MB")


def measure(folder: Path, out: Path, tier: str, only: tuple[str, ...], cores: int) -> None:
    """Grade the class on so many cores, processes already started, and print the throughput."""
    with contextlib.ExitStack() as stack:
        executor = None
        if cores == 1:
            os.sched_setaffinity(0, {0})
        else:
            os.sched_setaffinity(0, set(range(os.cpu_count())))
            context = multiprocessing.get_context("spawn")
            executor = stack.enter_context(ProcessPoolExecutor(cores, mp_context=context))
        for name in ("warm", "timed"):  # starting a pool and its sandboxes takes seconds, once
            start = time.perf_counter()
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                grade(folder, out.with_name(f"{out.name}_{name}"), jobs=cores, seed=1, only=only, executor=executor)
            seconds = time.perf_counter() - start
    with Gradebook.open(out.with_name(f"{out.name}_timed") / "gradebook.sqlite") as gradebook:
        each = [1000 * record.seconds for record in gradebook.records()]
    what = "one exercise" if "." in only[0] else "a chapter of five"
    print(
        f"{tier:10}  {what:17}  {cores} core{'s' if cores > 1 else ' '}  median {statistics.median(each):4.0f} ms"
        f"  {60 * STUDENTS / seconds:5.0f} a minute"
    )
    sys.stdout.flush()


if __name__ == "__main__":
    main()
