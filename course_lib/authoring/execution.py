"""Running a notebook in a kernel of this very Python, and keeping only what a reader should see of it."""

import asyncio
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import ipykernel.kernelspec
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from course_lib.project import CourseError

SECONDS_A_CELL = 1800  # a whole chapter has 90 seconds: a cell that takes twenty times as long hangs


class _ThisPython(KernelSpecManager):
    """Starts the running interpreter, whatever a `python3` kernel elsewhere on the machine points to."""

    def get_kernel_spec(self, kernel_name):
        this_python = ipykernel.kernelspec.get_kernel_dict()
        return self.kernel_spec_class(resource_dir=ipykernel.kernelspec.RESOURCES, **this_python)


def one_kernel_a_core() -> asyncio.Semaphore:
    """Return what lets as many kernels run side by side as there are cores: each computes on one thread."""
    return asyncio.Semaphore(os.cpu_count() or 1)


def progress_bars() -> Progress:
    """Return the display to which each chapter adds a bar over its cells."""
    return Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())


async def execute(
    name: str,
    notebook: NotebookNode,
    home: Path,
    after_cell: Callable[[], None],
    environment: dict[str, str] | None = None,
    go_on_after: str = "",
) -> None:
    """Execute all cells of `notebook` in the folder `home`/book and store their outputs in it.

    `after_cell` is called after every cell; `environment` is added to that of the kernel. An error of the class named
    `go_on_after` does not stop the cells that follow. Any other raises CourseError with `name`, the number of the code
    cell (the one that Jupyter shows in brackets), its first line and the error.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        manager = AsyncKernelManager(kernel_spec_manager=_ThisPython())
        client = NotebookClient(notebook, km=manager, timeout=SECONDS_A_CELL, coalesce_streams=True)
        client.extra_arguments = ["--IPKernelApp.log_level=ERROR"]  # its warnings would land in our progress bar
        variables = _kernel_environment(home, profile) | (environment or {})
        try:
            await client.async_start_new_kernel(cwd=str(home / "book"), env=variables)
            await client.async_start_new_kernel_client()
            number = 0
            for index, cell in enumerate(notebook.cells):
                number += cell.cell_type == "code"
                try:
                    await client.async_execute_cell(cell, index, execution_count=number)
                except CellExecutionError as error:
                    if error.ename != go_on_after:
                        raise _failure(name, number, cell, f"{error.ename}: {error.evalue}") from None
                except DeadKernelError:
                    raise _failure(name, number, cell, "Python died (was there enough memory?)") from None
                except CellTimeoutError:
                    raise _failure(name, number, cell, f"still running after {SECONDS_A_CELL} s") from None
                _tidy(cell)
                after_cell()
        finally:
            if client.kc is not None:
                client.kc.stop_channels()
            if manager.has_kernel:
                await manager.shutdown_kernel(now=True)


def _kernel_environment(home: Path, profile: str) -> dict[str, str]:
    """Return what the kernel inherits: nothing that would make one author's outputs differ from another's."""
    variables = dict(os.environ)
    for name in ("COURSE_CLAIMS_FILE", "MPLBACKEND"):  # the second would take the figures out of the notebook
        variables.pop(name, None)
    paths = [str(home), variables.get("PYTHONPATH")]
    return variables | {
        "COURSE_SEED": "0",
        "IPYTHONDIR": profile,  # the author's own start-up files stay outside
        "OMP_NUM_THREADS": "1",  # several kernels run side by side; and sums are added in one order
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # a warning of the debugger, which nobody uses here
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),  # this checkout's course_lib, installed or not
    }


def _failure(name: str, number: int, cell: NotebookNode, error: str) -> CourseError:
    first_line = cell.source.strip().partition("\n")[0]
    return CourseError(f"{name}, code cell {number} (`{first_line}`): {error}")


def _tidy(cell: NotebookNode) -> None:
    """Drop what differs from run to run: time stamps, and warnings and progress bars on the error stream."""
    cell.metadata.pop("execution", None)
    if cell.cell_type == "code":
        cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
