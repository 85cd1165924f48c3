"""What a worker gives up before it sees the first line of a submission, and cannot take back.

Three locks, one behind the other: limits of the kernel on what it may use; Landlock, which leaves it the files of the
interpreter to read and nothing to write; and a filter of system calls, a list of what is allowed, without which there
is no new process, no network, no signal to others, no open file to write.
"""

import _ctypes
import ctypes
import ctypes.util
import errno
import gc
import itertools
import mmap
import os
import platform
import resource
import struct
import sys
import warnings
from collections.abc import Collection
from pathlib import Path
from types import FunctionType

import folders
import refusals
import torch

# The library for filters of system calls is looked up through ldconfig or a compiler, and neither is in the sandbox.
_find_library = ctypes.util.find_library
ctypes.util.find_library = {"c": "libc.so.6", "seccomp": "libseccomp.so.2"}.get
try:
    import pyseccomp as seccomp
except (ImportError, OSError, RuntimeError, TypeError):
    seccomp = None
ctypes.util.find_library = _find_library

LIBC = ctypes.CDLL(None, use_errno=True)


def _address_of_ffi_call() -> int | None:
    """Return where the function is through which ctypes calls all others; None where Python does not show it."""
    try:
        found = ctypes.CDLL(getattr(_ctypes, "__file__", None)).ffi_call
    except (AttributeError, OSError):
        return None
    return ctypes.cast(found, ctypes.c_void_p).value


# Looked up before the lock. ctypes makes a function of any number, and to call that one tells no audit hook, so the
# hook of `shut_ctypes` alone does not shut it. There this function gets to return at its first instruction, which is
# machine code: on another processor than these it stays as it is, and where libffi is a part of Python, as it is in
# the builds that uv brings, nobody finds it.
FFI_CALL = _address_of_ffi_call()
RETURN = {"x86_64": b"\xc3"}.get(platform.machine())

# prctl(2)
PARENT_DEATH_SIGNAL, DUMPABLE, DROP_FROM_BOUNDING_SET, NO_NEW_PRIVILEGES, NAME_OF_THREAD = 1, 4, 24, 38, 15
LAST_CAPABILITY = 63  # more than there are; the kernel refuses the rest

# landlock(7), the same numbers on every processor
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
EXECUTE, WRITE_FILE, READ_FILE, READ_DIRECTORY = 1 << 0, 1 << 1, 1 << 2, 1 << 3
FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}  # how many kinds of access each version knows; 16 from version 5

NEW_THREAD = 0x10000  # the flag of clone(2) without which it makes a process
# What Python and torch need to compute, and no more. Anything else answers "not permitted".
ALLOWED_CALLS = """
    read readv pread64 preadv write writev close close_range lseek fstat stat lstat newfstatat statx access faccessat
    faccessat2 getdents64 readlink readlinkat getcwd dup dup2 dup3 pipe pipe2 select pselect6 poll ppoll eventfd2
    epoll_create1 epoll_ctl epoll_wait epoll_pwait
    mmap munmap mremap mprotect madvise brk msync mincore membarrier mbind get_mempolicy
    futex futex_waitv set_robust_list get_robust_list rseq set_tid_address arch_prctl sched_yield sched_getaffinity
    sched_getparam sched_getscheduler sched_get_priority_max sched_get_priority_min getcpu
    rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigsuspend rt_sigtimedwait sigaltstack pause alarm
    setitimer getitimer timer_create timer_settime timer_gettime timer_delete
    clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time times getrusage getrandom sysinfo uname umask
    getpid getppid gettid getuid geteuid getgid getegid getgroups getpgrp getpgid getsid getrlimit
    exit exit_group restart_syscall wait4 waitid
"""
# Newer forms that the C library tries first: "not there" makes it fall back to those above.
ABSENT_CALLS = "clone3 openat2"
AT_FDCWD = 0xFFFFFF9C  # in place of an open folder: a path is meant
FOR_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


def limit(memory: int, seconds: float) -> None:
    """Bound what this process may use: address space beyond what it has now, seconds of computing, open files."""
    bounds = {
        resource.RLIMIT_CPU: int(seconds) + 5,  # what packs the replies computes as well
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: 64,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
    }
    statistics = Path("/proc/self/statm")
    if statistics.exists():  # on Linux; elsewhere the kernel does not keep to such a bound
        taken = int(statistics.read_text().split()[0]) * resource.getpagesize()
        bounds[resource.RLIMIT_AS] = taken + memory
    for kind, bound in bounds.items():
        # At the first bound of computing comes a signal that names it, a second later one that does not.
        resource.setrlimit(kind, (bound, bound + 1 if kind == resource.RLIMIT_CPU else bound))


def end_with_parent() -> None:
    """Have the kernel end this process when the one that started it ends; no such promise outside Linux."""
    if sys.platform == "linux":
        LIBC.prctl(PARENT_DEATH_SIGNAL, 9, 0, 0, 0)


def hide_memory() -> None:
    """Let no process of this user read the memory of this one or follow its steps."""
    if sys.platform == "linux":
        LIBC.prctl(DUMPABLE, 0, 0, 0, 0)


def become_nobody() -> None:
    """Change from root to the user who owns nothing."""
    nobody = 65534
    os.setgroups([])
    os.setresgid(nobody, nobody, nobody)
    os.setresuid(nobody, nobody, nobody)
    end_with_parent()  # the kernel forgets that promise when the user changes


def drop_privileges() -> None:
    """Give up every privilege of root, now and for whatever would be started from here."""
    for capability in range(LAST_CAPABILITY + 1):
        LIBC.prctl(DROP_FROM_BOUNDING_SET, capability, 0, 0, 0)
    header, none = struct.pack("<Ii", 0x20080522, 0), bytes(24)
    if LIBC.capset(header, none) != 0 or LIBC.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "privileges could not be dropped")


def has_landlock() -> bool:
    """Tell whether the kernel of this machine knows Landlock."""
    return LIBC.syscall(CREATE_RULESET, None, 0, 1) >= 1


def rules(readable: list[str], listable: list[str]) -> int:
    """Return the descriptor of rules for `read_only`: these files and folders may be read, these folders listed.

    They are made once for many workers, since there may be hundreds. Raises OSError where the kernel has no Landlock.
    """
    version = LIBC.syscall(CREATE_RULESET, None, 0, 1)
    if version < 1:
        raise OSError(ctypes.get_errno(), "this kernel has no Landlock")
    every_access = (1 << FILE_RIGHTS.get(version, 16)) - 1
    network = 0b11 if version >= 4 else 0  # binding and connecting, TCP
    others = 0b11 if version >= 6 else 0  # abstract sockets and signals outside
    size = 8 if version < 4 else 16 if version < 6 else 24
    ruleset = LIBC.syscall(CREATE_RULESET, struct.pack("QQQ", every_access, network, others), size, 0)
    if ruleset < 0:
        raise OSError(ctypes.get_errno(), "Landlock made no set of rules")
    for paths, access in ((readable, EXECUTE | READ_FILE | READ_DIRECTORY), (listable, READ_DIRECTORY)):
        for path in paths:
            beneath = os.open(path, os.O_PATH)
            rights = access if Path(path).is_dir() else access & ~READ_DIRECTORY
            if LIBC.syscall(ADD_RULE, ruleset, 1, struct.pack("=QI", rights, beneath), 0) != 0:
                raise OSError(ctypes.get_errno(), f"Landlock refused a rule for {path}")
            os.close(beneath)
    return ruleset


def read_only(ruleset: int) -> None:
    """Leave this process nothing to read but what these `rules` allow, and nothing to write."""
    if LIBC.syscall(RESTRICT_SELF, ruleset, 0) != 0:
        raise OSError(ctypes.get_errno(), "Landlock did not lock")


def filter_system_calls() -> None:
    """Allow the calls of the list, files to read, threads, and a few calls on this process alone; refuse the rest.

    Raises OSError or ImportError where the kernel or the library for it is missing.
    """
    if seccomp is None:
        raise ImportError("libseccomp is not installed")
    calls = seccomp.SyscallFilter(seccomp.ERRNO(errno.EPERM))

    def allow(name: str, *conditions: seccomp.Arg) -> None:
        # An old processor's call that a new one never had is no loss.
        if seccomp.resolve_syscall(seccomp.Arch.NATIVE, name) >= 0:
            calls.add_rule(seccomp.ALLOW, name, *conditions)

    for name in ALLOWED_CALLS.split():
        allow(name)
    for name in ABSENT_CALLS.split():
        calls.add_rule(seccomp.ERRNO(errno.ENOSYS), name)
    allow("open", seccomp.Arg(1, seccomp.MASKED_EQ, FOR_WRITING, 0))
    # Only by a path, and never by a name within a folder that is open: nobody could tell which file that is.
    by_path = seccomp.Arg(0, seccomp.MASKED_EQ, 0xFFFFFFFF, AT_FDCWD)
    allow("openat", by_path, seccomp.Arg(2, seccomp.MASKED_EQ, FOR_WRITING, 0))
    allow("clone", seccomp.Arg(0, seccomp.MASKED_EQ, NEW_THREAD, NEW_THREAD))
    allow("prctl", seccomp.Arg(0, seccomp.EQ, NAME_OF_THREAD))
    allow("prlimit64", seccomp.Arg(0, seccomp.EQ, 0))
    allow("tgkill", seccomp.Arg(0, seccomp.EQ, os.getpid()))  # how a programme aborts itself
    for request in (0, 1, 2, 3, 4, 1030):  # copy, close on exec, flags; not leases, nor whom to signal
        allow("fcntl", seccomp.Arg(1, seccomp.EQ, request))
    for request in (0x5401, 0x5450, 0x5451):  # is this a terminal; keep or close over exec: what Python asks of a file
        allow("ioctl", seccomp.Arg(1, seccomp.EQ, request))
    calls.load()


# Modules in which torch writes its operators once more, in Python.
OTHER_EDITIONS = ("torch._refs", "torch._decomp", "torch.masked", "torch.distributions", "torch.ao.nn", "torch._C._te")
# The texts of all of torch are here. None is needed any more once what answers call has been imported.
TORCH = Path(torch.__file__).resolve().parent
MACHINE_CODE = TORCH / "lib"
NOT_IN_PYTHON = "torch's operators in Python are not to be used where an operator of torch is forbidden"
# What an answer may import beside Python's own modules where an operator is forbidden, and what these import when they
# are first used for something; the last line is what IPython needs. Many others compute as torch does, or call its
# machine code.
LIBRARIES = [
    Path(each).resolve()
    for each in sys.path
    if Path(each).name in ("site-packages", "dist-packages") and Path(each).is_dir()
]
IMPORTABLE = """
    torch functorch numpy einops matplotlib mpl_toolkits tqdm course_lib
    PIL pillow contourpy cycler dateutil fontTools kiwisolver packaging pyparsing six
    filelock fsspec jinja2 markupsafe mpmath networkx sympy typing_extensions
    IPython asttokens decorator executing ipython_pygments_lexers jedi matplotlib_inline parso pexpect prompt_toolkit
    psutil ptyprocess pure_eval pygments stack_data traitlets wcwidth
"""
# Every operator with its overloads, such as the one that writes to `out`.
OVERLOADS: dict[str, list[str]] = {}
for _name in torch._C._dispatch_get_all_op_names():
    OVERLOADS.setdefault(_name.partition(".")[0], []).append(_name)
KEYS = (
    "CPU",
    "AutogradCPU",
    "CompositeImplicitAutograd",
    "CompositeExplicitAutograd",
    "MkldnnCPU",
    "SparseCPU",
    "SparseCsrCPU",
    "NestedTensorCPU",
    "QuantizedCPU",
    "FuncTorchBatched",  # under vmap, which may take an operator to pieces before any other kernel is asked
    "FuncTorchBatchedDecomposition",
    "FuncTorchVmapMode",
)
# What records an operator for the way back: the first for tensors of all kinds, the second for nested ones before it.
RECORDING = ("Autograd", "AutogradNestedTensor")


def _broadcast_shapes(*shapes) -> torch.Size:
    """Do what torch's function of this name does, which calls one of the `OTHER_EDITIONS`."""
    tensors = [torch.empty(shape, device="meta") for shape in shapes]
    return torch.broadcast_tensors(*tensors)[0].shape if tensors else torch.Size()


def without_texts(readable: list[str], listable: list[str]) -> tuple[list[str], list[str]]:
    """Return for `rules` what is left of these paths without the texts of torch and what is not to be imported."""
    shown, listed = folders.around(map(Path, readable), [TORCH, *LIBRARIES])
    inside = [each for library in LIBRARIES for each in library.iterdir() if not _is_shut(each)]
    return [*map(str, [*shown, *inside]), str(MACHINE_CODE)], [*listable, *map(str, [*listed, *LIBRARIES])]


def other_editions() -> list[FunctionType]:
    """Return all functions of the `OTHER_EDITIONS` that live, in whatever table, class or function they are kept.

    Without those that are made inside of another function: they wrap one of these, which then refuses.
    """
    functions = (each for each in gc.get_objects() if type(each) is FunctionType and not each.__closure__)
    return [each for each in functions if (each.__module__ or "").startswith(OTHER_EDITIONS)]


def _is_shut(path: Path) -> bool:
    """Tell whether a file, or one within the library that it lies in, is not to be read where an operator is forbidden.

    Of torch that is all but its machine code, which is loaded already.
    """
    if path.is_relative_to(TORCH):
        return not path.is_relative_to(MACHINE_CODE)
    within = next((path.relative_to(each).parts for each in LIBRARIES if path.is_relative_to(each)), ())
    return bool(within) and within[0].partition(".")[0] not in IMPORTABLE.split()


def _keep_shut(own_modules: Collection[str]) -> None:
    """Refuse to import more of torch, and any library but the `IMPORTABLE`; and to open their files.

    `own_modules` are those that a student wrote beside the answer. Python asks this before it does so, each time.
    """
    modules = {*IMPORTABLE.split(), *sys.stdlib_module_names, *own_modules} - {"torch"}

    def refuse(event: str, arguments: tuple) -> None:
        if event == "import":
            name, file = arguments[:2]
            if name.partition(".")[0] not in modules:
                raise ImportError(f"{name} is not to be imported where an operator of torch is forbidden")
        elif event == "open" and not isinstance(arguments[0], int):
            file = arguments[0]
        else:
            return
        # A module in machine code is loaded by a name that whoever loads it may choose.
        if file and _is_shut(path := Path(os.path.realpath(os.fsdecode(file)))):
            raise PermissionError(f"{path} is not to be read where an operator of torch is forbidden")

    sys.addaudithook(refuse)


def shut_ctypes() -> None:
    """Refuse whatever ctypes does from now on; the locks are made with it, so this comes after the last of them."""
    if FFI_CALL and RETURN:
        page = ctypes.c_void_p(FFI_CALL & -mmap.PAGESIZE)
        if LIBC.mprotect(page, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC) == 0:
            ctypes.memmove(FFI_CALL, RETURN, len(RETURN))

    def refuse(event: str, arguments: tuple) -> None:
        if event.startswith("ctypes."):
            raise PermissionError("ctypes is not to be used where an operator of torch is forbidden")

    sys.addaudithook(refuse)


def _record_no_graph(library) -> None:
    """Have each operator pass over the kernel that records it for the way back.

    To refuse the functions that ask for gradients is not enough: the engine below them has many names, and the nodes
    of a graph can be called by hand. Where nothing is recorded, there is no graph.
    """
    for name, key in itertools.product(itertools.chain.from_iterable(OVERLOADS.values()), RECORDING):
        if name.startswith("aten::") and torch._C._dispatch_has_kernel_for_dispatch_key(name, key):
            library.impl(name.removeprefix("aten::"), key, torch.library.fallthrough_kernel)


def _derive_no_graph() -> None:
    """Take away what differentiates a graph of TorchScript, where no operator is asked to record anything.

    One function does so at once, some rewrite a graph for it, and some choose an executor that does so by itself.
    """
    for name in [name for name in vars(torch._C) if name.startswith(("_jit_differentiate", "_jit_pass_", "_jit_set_"))]:
        delattr(torch._C, name)


def forbid(operators: dict[str, str], editions: list[FunctionType], own_modules: Collection[str]) -> None:
    """Make torch refuse `operators`, by every name and from every thread of this process.

    `operators` maps the dispatcher's name ("aten::_softmax") to the one that people use ("torch.softmax"), or the path
    of a function that torch writes in Python. The `editions` of all operators in Python refuse to be called as well,
    and other libraries to be imported; a student's `own_modules` do not.
    Where functions of `torch.autograd` are among them, there are no graphs for the way back any more.
    """

    def refusal(operator: str, said: str):
        def refuse(*arguments, **options):
            raise RuntimeError(refusals.sentence(operator, said))

        return refuse

    # A registration is undone when its handle is collected. This handle is one that Python's collector does not know
    # of, and its count never falls to zero.
    library = torch._C._dispatch_library("IMPL", "aten", "", "lockdown.py", 1)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(library))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of every kernel that is replaced
        for operator, said in operators.items():
            for name in OVERLOADS.get(operator, ()):
                for key in KEYS:
                    if torch._C._dispatch_has_kernel_for_dispatch_key(name, key):
                        library.impl(name.removeprefix("aten::"), key, refusal(operator, said))
        for function in editions:
            refusals.refuse(function, NOT_IN_PYTHON)
        if any(path.startswith("torch.autograd.") for path in operators):
            _record_no_graph(library)
            _derive_no_graph()
    for path, said in operators.items():
        if function := refusals.in_python(path):
            refusals.refuse(function, refusals.sentence(path, said))
    for name in [name for name in sys.modules if name.startswith(OTHER_EDITIONS)]:
        holder, _, own = name.rpartition(".")
        if hasattr(sys.modules[holder], own):
            delattr(sys.modules[holder], own)
        sys.modules[name] = None  # an import is refused
    _keep_shut(own_modules)
    torch.broadcast_shapes = torch.functional.broadcast_shapes = _broadcast_shapes
