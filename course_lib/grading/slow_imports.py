"""What takes longer to import than a call may take, and so is imported before the time of an answer begins."""

import re
from collections.abc import Iterable

FIGURES, TRANSFORMS = "matplotlib.pyplot", "torch._dynamo"  # torch.func imports the second at its first call
_NEEDED_BY = {
    FIGURES: re.compile(r"^[ \t]*(?:import|from)[ \t]+matplotlib", re.MULTILINE),
    TRANSFORMS: re.compile(
        r"\btorch\.func\b|\bfunctorch\b|^[ \t]*from[ \t]+torch[ \t]+import\b.*\bfunc\b", re.MULTILINE
    ),
}


def slow_imports(sources: Iterable[str]) -> list[str]:
    """Return the modules that these texts of cells or files need and that are slow to import.

    >>> slow_imports(["import torch", "from torch.func import grad"])
    ['torch._dynamo']
    >>> slow_imports(["import torch.nn.functional as F"])
    []
    """
    texts = list(sources)
    return [name for name, needed in _NEEDED_BY.items() if any(map(needed.search, texts))]
