"""The name that was meant, where a name is wrong."""

from collections.abc import Iterable
from difflib import get_close_matches

ALIKE = 0.8  # of two names that are nearly the same, such as with a letter too many


def nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the known name that is most like this one, whatever the case of its letters; nothing where none is.

    >>> nearest("Weigh", ["name", "weight", "due"])
    'weight'
    """
    lowered = {each.lower(): each for each in known}
    found = get_close_matches(name.lower(), lowered, n=1, cutoff=cutoff)
    return lowered[found[0]] if found else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question to put behind a sentence about a wrong name; without a near one, all names where they are few.

    >>> did_you_mean("weights", ["name", "weight", "due"])
    ' (did you mean weight?)'
    >>> did_you_mean("x", ["name", "weight", "due"])
    ' (there are: name, weight, due)'
    """
    known = list(known)
    if near := nearest(name, known):
        return f" (did you mean {near}?)"
    return f" (there are: {', '.join(known)})" if 0 < len(known) <= 12 else ""
