"""Noting which operators of torch a function used, whatever it called them.

Every call of an operator passes torch's dispatcher, which goes through a list of keys (gradients, processor, ...) and
takes the first for which the operator has a kernel. One key is there for trying things out, and off. It is turned on
here, with kernels for the operators to look out for: they make a note and pass the call on. Any other operator falls
through to the next key, in the same time as ever; a `TorchDispatchMode` would have Python called for each of them.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache

import torch

from course_lib.grading.sandbox.worker import refusals

FREE_KEY = "TESTING_ONLY_GenericMode"

_noted: set[str] = set()


@contextmanager
def operators_used(operators: Iterable[str]) -> Iterator[set[str]]:
    """Give the set of those `operators` ("aten::_softmax") that this thread uses inside the `with` statement.

    It may hold others too, for which somebody looked out before. It fills and nothing is raised: a function could catch
    an exception, but it cannot undo a note. Read it before the next call.

    >>> with operators_used(["aten::_softmax"]) as used:
    ...     weights = torch.zeros(2).softmax(0)
    >>> "aten::_softmax" in used
    True
    """
    for name in operators:
        _look_out_for(name)
    _noted.clear()
    with torch._C._IncludeDispatchKeyGuard(_free_key()):
        yield _noted


@contextmanager
def functions_refused(forbidden: Mapping[str, str]) -> Iterator[None]:
    """Have the functions that torch writes in Python, and that are named among `forbidden`, refuse inside the `with`.

    The dispatcher is told of none of them. Each is a path, such as "torch.nn.functional.normalize", with what people
    call it; operators are passed over.
    """
    found = [(refusals.in_python(path), refusals.sentence(path, said)) for path, said in forbidden.items()]
    before = {function: refusals.refuse(function, message) for function, message in found if function}
    try:
        yield
    finally:
        for function, code in before.items():
            function.__code__ = code


@cache
def _look_out_for(name: str) -> None:
    """Put a kernel that makes a note under the free key, for every form of an operator (one writes to `out`)."""
    packet = getattr(torch.ops.aten, name.removeprefix("aten::"), None)
    if packet is None:
        return  # a torch that is older than the operator, as 2.6 is than `_fused_rms_norm`
    later_keys = torch._C._dispatch_keyset_full_after(_free_key())
    for form in (getattr(packet, each) for each in packet.overloads()):

        def note(keys, *arguments, form=form, **options):
            _noted.add(name)
            return form.redispatch(keys & later_keys, *arguments, **options)

        _library("aten").impl(form, note, FREE_KEY, with_keyset=True)


@cache
def _free_key() -> torch._C.DispatchKey:
    """Return the free key, which every operator without a kernel of its own there falls through."""
    _library("_").fallback(torch.library.fallthrough_kernel, FREE_KEY)
    return torch._C._dispatch_key_parse(FREE_KEY)


@cache
def _library(namespace: str) -> torch.library.Library:
    """Return what registers kernels of a namespace, kept: they go when it goes."""
    return torch.library.Library(namespace, "IMPL")
