"""What an error means to somebody whose answer is checked: the cause, where Python names only a consequence."""

import re

REFUSED = "it writes a file, or asks for the network or another process, which is closed where answers are checked"
FORBIDDEN = re.compile(r"([\w.' ]+ \([\w.:]+\)) was used: here it is to be written by hand")
UNDEFINED = re.compile(r"name '(\w+)' is not defined")


def cause(error: str, message: str) -> str:
    """Return the cause of an error, of this kind and with this message, in one sentence; "" where it speaks for itself.

    >>> cause("EOFError", "EOF when reading a line")
    '`input()` waits for somebody to type, and nobody is there when answers are checked: leave it out'
    >>> cause("ZeroDivisionError", "division by zero")
    ''
    """
    if error == "SystemExit":
        return "`exit()` ends the programme: leave it out"
    if error == "EOFError" and "reading a line" in message:
        return "`input()` waits for somebody to type, and nobody is there when answers are checked: leave it out"
    if "peration not permitted" in message:
        return f"{REFUSED}: leave it out"
    if error == "ModuleNotFoundError" and "No module named" in message:
        return f"{message}, where answers are checked: the exercises need torch and einops, and no more"
    return ""


def forbidden_operator(message: str) -> str:
    """Return the operator that a message of the dispatcher refuses, by both of its names, or "".

    >>> forbidden_operator("torch.softmax (aten::_softmax) was used: here it is to be written by hand")
    'torch.softmax (aten::_softmax)'
    """
    found = FORBIDDEN.match(message)
    return found[1] if found else ""


def undefined_name(error: str, message: str) -> str:
    """Return the name that a NameError misses, or "".

    >>> undefined_name("NameError", "name 'einsum' is not defined")
    'einsum'
    """
    found = UNDEFINED.match(message) if error == "NameError" else None
    return found[1] if found else ""
