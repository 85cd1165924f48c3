"""Which folders are named in rules that show some of them and hide others within."""

from collections.abc import Iterable
from pathlib import Path


def around(shown: Iterable[Path], hidden: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """Return `shown` without what lies in `hidden`: what may be read whole, and what may only be listed.

    A rule on a link is one on where it leads, such as from `lib64` of an environment to `lib`. So no link is taken that
    leads into what is hidden, or to what has a part that is: where that is shown, it has a name of its own.
    """
    secret = [path.resolve() for path in hidden]
    readable, listable = [], []
    for path in shown:
        real = path.resolve()
        if real in secret or not real.exists():
            continue
        if not any(each.is_relative_to(real) for each in secret):
            readable.append(path)
            continue
        listable.append(path)
        inside = [each for each in sorted(real.iterdir()) if not (each.is_symlink() and _touches(each, secret))]
        for found, within in zip((readable, listable), around(inside, secret), strict=True):
            found += within
    return readable, listable


def _touches(path: Path, hidden: list[Path]) -> bool:
    real = path.resolve()
    return any(real.is_relative_to(each) or each.is_relative_to(real) for each in hidden)
