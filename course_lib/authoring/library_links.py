"""Names of the library in the code of a page lead to the page that explains them.

sphinx-codeautolink does it for more kinds of code, and was tried: it took minutes, and warned of doctests.
"""

import ast
import re
from collections.abc import Callable, Iterable

PACKAGE = "course_lib"
CODE = re.compile(r'(?<=<div class="highlight">)<pre>.*?</pre>', re.DOTALL)
# Not an attribute of something else, and not an argument or a variable of that name.
NAME = re.compile(r'(?<!<span class="o">\.</span>)<span class="n">(\w+)</span>(?!<span class="o">=</span>)')


def imported(cells: Iterable[str]) -> dict[str, str]:
    """Return the names that code cells import from the library, each with its full name.

    >>> imported(["from course_lib.masks import causal_mask as mask", "import torch", "%matplotlib inline"])
    {'mask': 'course_lib.masks.causal_mask'}
    """
    names = {}
    for cell in cells:
        try:
            tree = ast.parse(cell)
        except SyntaxError:  # a command of IPython
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE:
                names |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
    return names


def with_links(page: str, names: dict[str, str], address: Callable[[str], str | None]) -> str:
    """Return the HTML of a page in whose code each of `names` is a link, where its full name has an address.

    >>> code = '<div class="highlight"><pre><span class="n">mask</span></pre>'
    >>> with_links(code, {"mask": "course_lib.masks.causal_mask"}, lambda name: "library.html#mask")
    '<div class="highlight"><pre><a class="library" href="library.html#mask"><span class="n">mask</span></a></pre>'
    """
    addresses = {name: found for name, full in names.items() if (found := address(full))}

    def link(name: re.Match) -> str:
        return f'<a class="library" href="{addresses[name[1]]}">{name[0]}</a>' if name[1] in addresses else name[0]

    return CODE.sub(lambda code: NAME.sub(link, code[0]), page)
