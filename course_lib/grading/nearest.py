"""The name that was meant, where a name is wrong."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question to put behind a sentence about a wrong name; without a near one, all names where they are few.

    >>> did_you_mean("wieght", ["name", "weight", "due"])
    ' (did you mean weight?)'
    >>> did_you_mean("x", ["name", "weight", "due"])
    ' (there are: name, weight, due)'
    """
    known = list(known)
    lowered = {each.lower(): each for each in known}
    if near := get_close_matches(name.lower(), lowered, n=1, cutoff=0.6):
        return f" (did you mean {lowered[near[0]]}?)"
    return f" (there are: {', '.join(known)})" if 0 < len(known) <= 12 else ""
