"""Files of the reader's own: `TASK.py` makes a data set of one, for each task that reads files."""

ONE_IN = 10  # lines is held out


def divided(rows: list) -> tuple[list, list]:
    """Return the rows to train with, and every tenth, or the last of a few, to hold out.

    >>> divided(list("abcdefghijkl"))
    (['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'k', 'l'], ['j'])
    >>> divided(["a", "b"])
    (['a'], ['b'])
    """
    if len(rows) < ONE_IN:
        return rows[:-1], rows[-1:]
    return [row for number, row in enumerate(rows, start=1) if number % ONE_IN], rows[ONE_IN - 1 :: ONE_IN]
