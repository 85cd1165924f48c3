"""One call of a learner's function or class: what came of it, as plain facts that can cross to another process."""

import contextlib
import ctypes
import inspect
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from types import CodeType
from typing import Any

import torch

Value = torch.Tensor | tuple[torch.Tensor, ...]
ORDINARY = (
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64),
    *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
)
MOST_AXES = 16


_MADE: dict[str, Callable] = {}  # what `Given` made of a source for checks, which ask often; learners get their own


@dataclass(frozen=True)
class Given:
    """A function among the arguments of a call: a `title` for people, and the Python expression that makes it.

    The expression comes from an exercise, never from a learner; `torch` is in its scope.
    """

    title: str
    source: str

    def made(self) -> Callable:
        """Return a function that does what was asked for, but does not carry its title: a learner is given this.

        Its own code is the same whatever it does, so that no word and no constant of it tells. Who walks into the
        closure has read the function, not tried it.
        """
        hidden = eval(_compiled(self.source), {"torch": torch})
        if not callable(hidden):  # several functions in a list: experts, which nobody has to find out about
            return hidden
        return lambda *arguments, **named: hidden(*arguments, **named)

    def __call__(self, *arguments: Any) -> Any:
        """Call the function: a reference and a check may use what is given as it is."""
        if self.source not in _MADE:
            _MADE[self.source] = self.made()
        return _MADE[self.source](*arguments)


@cache
def _compiled(source: str) -> CodeType:
    """Return the code of an expression: reading it takes far longer than then making the function, for each call."""
    return compile(source, "<given>", "eval")


class Unfinished(BaseException):
    """A call took too long. Not an Exception, so that `except Exception` in an answer does not swallow it."""


ON_THE_CLOCK = 5  # so many times longer than computing may what an answer does take
GLANCE = 0.05  # seconds from one look at the clock to the next


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Interrupt what runs inside after so many seconds of computing, or many more on the clock.

    A busy machine does not make an answer wrong, and one that sleeps ends as well; but on Windows, and outside of the
    main thread, only what Python itself computes can be interrupted. In a worker this is a kindness: the limit that
    counts is the grader's own.
    """
    main = threading.current_thread() is threading.main_thread()
    way = _interrupted_by_a_signal if hasattr(signal, "setitimer") and main else _interrupted_by_a_thread
    computing = f"more than {seconds:g} seconds of computing"
    with way(seconds, computing, f"more than {ON_THE_CLOCK * seconds:g} seconds on the clock"):
        yield


@contextlib.contextmanager
def _interrupted_by_a_signal(seconds: float, computing: str, on_the_clock: str) -> Iterator[None]:
    def interrupt(number, frame):
        raise Unfinished(computing if number == signal.SIGPROF else on_the_clock)

    clock = signal.ITIMER_REAL, ON_THE_CLOCK * seconds
    timers = {signal.SIGPROF: (signal.ITIMER_PROF, seconds), signal.SIGALRM: clock}
    before = {number: signal.signal(number, interrupt) for number in timers}
    outer = {timer: signal.setitimer(timer, after) for timer, after in timers.values()}
    try:
        yield
    finally:
        for number, (timer, _) in timers.items():
            signal.setitimer(timer, 0)
            signal.signal(number, before[number])
            signal.setitimer(timer, *outer[timer])  # a limit around this one goes on from where it stood


@contextlib.contextmanager
def _interrupted_by_a_thread(seconds: float, computing: str, on_the_clock: str) -> Iterator[None]:
    ended, clock, processor = threading.Event(), time.monotonic(), time.process_time()
    watched, raise_in = ctypes.c_ulong(threading.get_ident()), ctypes.pythonapi.PyThreadState_SetAsyncExc

    def interrupt(why: str) -> None:
        # Python takes a class, and makes the exception itself.
        raise_in(watched, ctypes.py_object(type("Unfinished", (Unfinished,), {"__str__": lambda self: why})))

    def watch() -> None:
        while not ended.wait(GLANCE):
            if time.process_time() - processor > seconds:
                return interrupt(computing)
            if time.monotonic() - clock > ON_THE_CLOCK * seconds:
                return interrupt(on_the_clock)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
        raise_in(watched, None)  # it may have come when there was nothing left to interrupt


@dataclass
class Attempt:
    """The tensors that came, and the gradients that were asked for; or a `fault`: its kind and what is known of it."""

    value: Value | None = None
    gradients: dict[str, torch.Tensor] = field(default_factory=dict)
    fault: dict[str, Any] | None = None


def attempt(
    function: Callable,
    arguments: dict[str, Any],
    constructor: tuple[str, ...] | None = None,
    cotangent: torch.Tensor | None = None,
) -> Attempt:
    """Call `function` with `arguments`, which it may change; a truth value that it returns counts as a tensor.

    With `constructor`, `function` is a class of `nn.Module`: those arguments make the module, "state" holds its
    parameters (without it, a new module keeps its own), and the others are for `forward`. With `cotangent`, which
    weighs the entries of the (first) output, the gradient for every argument of floating point comes too, and for every
    parameter, under the name "state.name".
    """
    arguments = {name: each.made() if isinstance(each, Given) else each for name, each in arguments.items()}
    sources: dict[str, torch.Tensor] = {}
    if cotangent is not None:
        floating = {n: each for n, each in arguments.items() if torch.is_tensor(each) and each.is_floating_point()}
        sources = {name: each.requires_grad_() for name, each in floating.items()}
        if constructor is None and "state" in arguments:  # a wrong answer of an exercise, written as a function
            state = {name: each.clone().requires_grad_() for name, each in arguments["state"].items()}
            arguments["state"] = state
            sources |= {f"state.{name}": each for name, each in state.items()}
    try:
        with torch.inference_mode(False), torch.enable_grad():  # whatever a cell has set for the whole notebook
            return _called(function, arguments, constructor, cotangent, sources)
    except (Exception, SystemExit, Unfinished) as error:
        return Attempt(fault=_told(error, function, arguments, constructor))


def _called(
    function: Callable,
    arguments: dict[str, Any],
    constructor: tuple[str, ...] | None,
    cotangent: torch.Tensor | None,
    sources: dict[str, torch.Tensor],
) -> Attempt:
    """Return what comes of the call itself; raises what the answer raises."""
    if constructor is None:
        value = function(**arguments)
    else:
        module = function(**{name: arguments[name] for name in constructor})
        if "state" in arguments:
            own, expected = _shapes(module.state_dict()), _shapes(arguments["state"])
            if own != expected:
                return Attempt(fault={"kind": "parameters", "got": own, "expected": expected})
            module.load_state_dict(arguments["state"])
        given = (*constructor, "state")
        value = module(**{name: each for name, each in arguments.items() if name not in given})
    if isinstance(value, bool):
        value = torch.tensor(value)
    fault = _unfit(value)
    if fault:
        return Attempt(fault=fault)
    gradients = {}
    if cotangent is not None:
        if constructor is not None:
            sources |= {f"state.{name}": each for name, each in module.named_parameters()}
        first = value if torch.is_tensor(value) else value[0]
        if not first.requires_grad:
            return Attempt(fault={"kind": "no gradient"})
        if first.shape != cotangent.shape:
            return Attempt(fault={"kind": "value", "got": f"tensor of shape {tuple(first.shape)}"})
        # Not `grad(first, sources, cotangent)`: that imports sympy, a third of a second in every worker.
        found = torch.autograd.grad((first * cotangent).sum(), list(sources.values()), allow_unused=True)
        gradients = {
            name: torch.zeros_like(source) if each is None else each
            for (name, source), each in zip(sources.items(), found, strict=True)
        }
    # A copy: what an answer does later to a tensor that it gave is not part of the answer.
    copies = tuple(each.detach().clone() for each in ((value,) if torch.is_tensor(value) else value))
    if constructor is None and _left_behind(arguments) and not _same_again(function, arguments, copies):
        return Attempt(fault={"kind": "unsteady"})
    return Attempt(copies[0] if torch.is_tensor(value) else copies, gradients)


def _left_behind(arguments: dict[str, Any]) -> bool:
    """Tell whether the call left gradients in its caller's tensors, where a second call would add to them."""
    return any(torch.is_tensor(each) and each.grad is not None for each in arguments.values())


def _same_again(function: Callable, arguments: dict[str, Any], first: tuple[torch.Tensor, ...]) -> bool:
    """Tell whether a second call with the very same tensors gives what the first gave."""
    again = function(**arguments)
    second = [torch.tensor(each) if isinstance(each, bool) else each for each in _parts(again)]
    if len(second) != len(first) or _unfit(tuple(second)):
        return False
    return all(
        one.shape == other.shape and torch.allclose(one.double(), other.double(), rtol=1e-4, atol=1e-5, equal_nan=True)
        for one, other in zip(first, second, strict=True)
    )


def _shapes(state: dict[str, torch.Tensor]) -> str:
    """Return the names of parameters, each with its shape, in the order of the alphabet."""
    return ", ".join(f"{name} {tuple(each.shape)}" for name, each in sorted(state.items())) or "none"


def ordinary(tensor: torch.Tensor) -> bool:
    """Tell whether a tensor is of a kind that can be sent and compared; not of 8 bits in floating point, for one."""
    return tensor.dtype in ORDINARY and tensor.dim() <= MOST_AXES and not tensor.is_quantized


def _parts(value: Any) -> tuple:
    return value if isinstance(value, tuple) and value else (value,)


def _unfit(value: Any) -> dict[str, Any] | None:
    """Say what is wrong with something that is no tensor, or no tuple of tensors, of the plainest kind."""
    for each in _parts(value):
        if type(each) not in (torch.Tensor, torch.nn.Parameter):
            inside = "" if each is value else " inside the tuple"
            return {"kind": "value", "got": ("None" if each is None else type(each).__name__) + inside}
        if each.layout != torch.strided or each.device.type != "cpu" or each.is_nested:
            return {"kind": "layout", "got": f"{each.layout} tensor on {each.device}"}
        if not ordinary(each):
            axes = f" with {each.dim()} axes" if each.dim() > MOST_AXES else ""
            return {"kind": "layout", "got": f"tensor of {str(each.dtype).removeprefix('torch.')}{axes}"}
    return None


def _told(error: BaseException, function: Callable, arguments: dict, constructor: tuple[str, ...] | None) -> dict:
    """Return what is known of a call that ended in `error`."""
    try:
        message = str(error)[:2000]
    except BaseException:
        message = ""
    # The last line of the learner's own code is where they will look.
    written = getattr(function, "forward", function) if constructor is not None else function
    own_file = written.__code__.co_filename if inspect.isfunction(written) else None
    lines = [each for each in traceback.extract_tb(error.__traceback__) if _own(each.filename, own_file)]
    elsewhere = lines[-1].filename if lines and lines[-1].filename != own_file else ""
    fault = {
        "kind": "unfinished" if isinstance(error, Unfinished) else "raised",
        "error": type(error).__name__,
        "message": message,
        "line": lines[-1].lineno if lines else None,
        "text": (lines[-1].line or "")[:200] if lines else "",
        "file": elsewhere,
    }
    if isinstance(error, NotImplementedError) and not message:
        fault["kind"] = "unwritten"
    elif isinstance(error, TypeError) and constructor is None and isinstance(function, type):
        fault |= {"kind": "signature", "got": ", which is a class"}
    elif isinstance(error, TypeError) and callable(function):
        names = constructor if constructor is not None else tuple(arguments)
        if signature := _other_signature(function, names):
            fault |= {"kind": "signature", "got": signature[:200]}
    return fault


def _own(file: str, own_file: str | None) -> bool:
    """Tell whether the learner wrote a file: that of the answer, another cell, or a module beside it.

    Cells and modules of a worker have no folder; those of a notebook lie in the kernel's and in the notebook's own.
    """
    if own_file is None or file == own_file:
        return file == own_file
    if os.path.basename(file).startswith("<"):  # noqa: PTH119 (what torch or Python made of text has such names too)
        return file.startswith("<cell ")
    with contextlib.suppress(OSError):  # a notebook whose folder is gone
        return os.path.dirname(file) in (os.path.dirname(own_file), os.getcwd())  # noqa: PTH109, PTH120
    return False


def _other_signature(function: Callable, names: tuple[str, ...]) -> str:
    """Return the signature of `function` where it does not take arguments of these names, else nothing."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a function written in C may tell nobody what it takes
        return ""
    try:
        signature.bind(**dict.fromkeys(names))
    except TypeError:
        return str(signature)
    return ""
