"""What takes longer to import than a call may take, and so is imported before the time of an answer begins."""

import re
from collections.abc import Iterable

# torch.func imports the second at its first call; torch.autograd.grad the third, for an output of several numbers.
FIGURES, TRANSFORMS, SHAPES = "matplotlib.pyplot", "torch._dynamo", "torch.fx.experimental.symbolic_shapes"
_NEEDED_BY = {
    FIGURES: re.compile(r"^[ \t]*(?:import|from)[ \t]+matplotlib", re.MULTILINE),
    TRANSFORMS: re.compile(
        r"\btorch\.func\b|\bfunctorch\b|^[ \t]*from[ \t]+torch[ \t]+import\b.*\bfunc\b", re.MULTILINE
    ),
    SHAPES: re.compile(r"\bautograd\b"),
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
