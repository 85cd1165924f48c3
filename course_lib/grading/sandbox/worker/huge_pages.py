"""Memory in pages of 2 MB, so that a process that is forked often is forked fast.

A fork copies no memory, but it copies the list of pages, and when the child ends that list is taken down again. Torch
and Python fill 150 MB: 37,000 pages of 4 kB. Gathered in huge pages they are a hundred, and a fork with its end takes a
third of the time.
"""

import ctypes
import sys
from pathlib import Path

COLLAPSE = 25  # madvise(2): gather these addresses in huge pages now; since Linux 6.1
HUGE = 1 << 21  # bytes


def gather() -> None:
    """Gather the memory of this process in huge pages, as far as the kernel does so; takes some half a second."""
    if sys.platform != "linux":
        return
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for line in Path("/proc/self/maps").read_text().splitlines():
        addresses, rights, _, _, _, *name = line.split()
        first, end = (int(each, 16) for each in addresses.split("-"))
        if rights == "rw-p" and end - first >= HUGE and name in ([], ["[heap]"]):
            advise(first, end - first, COLLAPSE)  # a refusal costs nothing: the pages stay as they are
