"""Which names some code makes, and which it takes from elsewhere."""

import symtable

from course_lib.authoring.digests import plain_python


def names(source: str) -> tuple[set[str], set[str]]:
    """Return the names that a cell binds (an import binds, too), and those that it takes from elsewhere.

    >>> names("root = sqrt(2)")
    ({'root'}, {'sqrt'})
    """
    table = symtable.symtable(plain_python(source), "cell", "exec")
    bound = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    used, scopes = set(), [table]
    while scopes:
        scope = scopes.pop()
        scopes += scope.get_children()
        used |= {each.get_name() for each in scope.get_symbols() if each.is_referenced() and each.is_global()}
    return bound, used - bound
