"""Public implementations, imported from the folder that the environment variable PEERS_DIR names; nothing is copied.

    PEERS_DIR/nanoGPT              a checkout of github.com/karpathy/nanoGPT, and so on: see `implementations`
    PEERS_DIR/packages             packages that the peers import and the course does not need, if there are any

A checkout without git, such as `git archive` makes, says in a file COMMIT which commit it is.
"""

import ast
import importlib
import os
import re
import sys
from collections.abc import Collection
from pathlib import Path
from types import ModuleType


class AbsentError(Exception):
    """An implementation that cannot be measured here; the message says why."""


def folder(name: str) -> Path:
    """Return where the peer `name` is; raises AbsentError where there is none."""
    if "PEERS_DIR" not in os.environ:
        raise AbsentError("PEERS_DIR names no folder")
    path = Path(os.environ["PEERS_DIR"]).expanduser() / name
    if not path.is_dir():
        raise AbsentError(f"no {name} in PEERS_DIR")
    return path


def module(peer: str, name: str, within: str = ".") -> ModuleType:
    """Import the module `name` of a peer, found from the folder `within` it; raises AbsentError where it cannot be."""
    for path in (folder(peer) / within, folder(peer).parent / "packages"):
        if str(path) not in sys.path:
            sys.path.append(str(path))  # at the end: what the course has installed comes first
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise AbsentError(f"{peer} cannot be imported: {error}") from error


def definitions(peer: str, file: str, names: Collection[str], given: ModuleType, fence: str | None = None) -> None:
    """Execute the classes and functions `names` of one file of a peer, and nothing else of it, in the module `given`.

    For files that import, or do, far more than the model needs. In a Markdown file, code is what stands in blocks that
    begin with the line `fence`. Raises AbsentError where the file, or one of the names, is not there.
    """
    path = folder(peer) / file
    if not path.exists():
        raise AbsentError(f"no {file} in {peer}")
    source = path.read_text(encoding="utf-8")
    if fence is not None:
        source = "\n".join(re.findall(rf"^```[^\n]*\n{re.escape(fence)}\n(.*?)^```$", source, re.MULTILINE | re.DOTALL))
    wanted = [node for node in ast.parse(source).body if getattr(node, "name", None) in names]
    if missing := set(names) - {node.name for node in wanted}:
        raise AbsentError(f"{peer} has no {', '.join(sorted(missing))} in {file}")
    exec(compile(ast.Module(wanted, type_ignores=[]), str(path), "exec"), given.__dict__)
