"""Who does the grading: this process, several of them, or a cluster."""

import contextlib
import multiprocessing
import os
import signal
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor

from course_lib.project import CourseError

CONNECT_WITHIN = 10  # seconds


@contextlib.contextmanager
def workers_for(jobs: int, scheduler: str | None, executor: Executor | None) -> Iterator[Executor | None]:
    """Yield what does the work, and end what was started for it; None where this process is to do it."""
    if executor is not None:
        yield executor
    elif scheduler is not None:
        with _cluster(scheduler) as client:
            yield client.get_executor()
    elif jobs > 1:
        # Not by fork: this process may have threads. A fork server was not faster, and there is none on some systems.
        pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _end_with_the_parent)
        # All are started here, and Ctrl-C, which the terminal sends to each of them, is left to this process.
        earlier = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        for _ in range(jobs):
            pool.submit(os.getpid)
        signal.pthread_sigmask(signal.SIG_SETMASK, earlier)
        try:
            yield pool
        finally:
            pool.shutdown(cancel_futures=True)
    else:
        yield None


def _end_with_the_parent() -> None:
    """End this process when its parent has, even by a kill: a pool's processes would wait for work for ever."""

    def watch() -> None:
        multiprocessing.parent_process().join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def _cluster(address: str) -> Iterator:
    """Yield a client of the Dask cluster whose scheduler has this address."""
    try:
        from distributed import Client
        from distributed.comm import get_address_host_port
    except ImportError as error:
        raise CourseError("--scheduler needs Dask: pip install 'course_lib[dask]'") from error
    try:
        # Asked first whether somebody is there, since a client that finds nobody complains again while it is deleted.
        socket.create_connection(get_address_host_port(address), CONNECT_WITHIN).close()
        client = Client(address, timeout=CONNECT_WITHIN, set_as_default=False)
    except (OSError, ValueError) as error:
        raise CourseError(f"no Dask scheduler answers at {address!r}: expected one such as tcp://host:8786") from error
    with client:
        yield client
