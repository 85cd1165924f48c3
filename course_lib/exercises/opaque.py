"""Functions that an exercise hands over for an answer to try out, and whose code is not to tell what they do."""

from functools import cache

from course_lib.grading.exercise import Given


@cache  # a plan asks about one function once, whoever hands it over
def opaque(given: Given) -> Given:
    """Return the same function behind another one, whose code is the same for all: no word and no constant of its own.

    An answer that looks for the original has to walk into the closure, and has then read the function, not tried it.

    >>> one, other = (opaque(Given("", source)).made() for source in ("lambda x: x.flip(0)", "lambda x: 2 * x"))
    >>> one.__code__ == other.__code__, one.__code__.co_names, other(21)
    (True, (), 42)
    """
    names = given.source.removeprefix("lambda ").partition(":")[0]
    return Given(given.title, f"(lambda hidden: lambda {names}: hidden({names}))({given.source})")
