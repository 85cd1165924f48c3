"""`python -m benchmarks [NAME ...]`: measure, show, and write what the book's page is made of.

Without names, everything is measured but what takes minutes of its own. What is measured replaces what the result file
had of the same name; the rest stays.
"""

import argparse
import importlib
import os
import sys
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch is imported

from tqdm import tqdm

from benchmarks import report, results
from benchmarks.rows import NAMES


def main(arguments: list[str]) -> int:
    """Measure what is asked for; return the exit code, which says nothing of goals."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page's tables and plots again")
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.names) - set(NAMES)):
        parser.error(f"there is no {', '.join(unknown)} to measure (there are: {', '.join(NAMES)})")
    if not options.page:
        _measure(options.names)
    report.write_page(results.read())
    return 0


def _measure(names: list[str]) -> None:
    """Measure what is named, show each table as it comes, and write the result after each family."""
    import torch

    from benchmarks.implementations import commits

    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")  # of the peers, about themselves
    conditions = results.conditions()
    modules = {name: importlib.import_module(f"benchmarks.rows.{name}") for name in NAMES}
    chosen = names or [name for name in NAMES if not getattr(modules[name], "ASKED_FOR", False)]
    for name in tqdm(chosen, desc="benchmarks", unit="family"):
        rows = []
        for row in modules[name].rows():
            tqdm.write(report.text(modules[name].TITLE, row), file=sys.stdout)
            rows.append(row)
        known = results.read()
        known[name] = results.Family(modules[name].TITLE, rows, conditions | {"peers": commits()})
        results.write({each: known[each] for each in NAMES if each in known})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
