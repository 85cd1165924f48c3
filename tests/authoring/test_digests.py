import pytest

from course_lib.authoring.digests import cell_digest, module_digest

MODULE = '''"""What it is for."""

import math


class Circle:
    """Round."""

    radius: float = 1.0

    def area(self, scale: float = 2) -> float:
        """Its area."""
        return scale * math.pi * self.radius**2


def empty():
    """Nothing else."""
'''
SAME = {
    "docstring": ('"""Round."""', '"""As round as can be."""'),
    "docstring gone": ('        """Its area."""\n', ""),
    "comment": ("import math", "import math  # for pi"),
    "line of its own": ("    radius", "    # in metres\n    radius"),
    "formatting": ("scale * math.pi * self.radius**2", "(\n            scale * math.pi * self.radius ** 2\n        )"),
    "empty lines": ("\n\n\ndef", "\n\n\n\ndef"),
    "quotes": ('"""Nothing else."""', "'Nothing.'"),
}
OTHER = {
    "number": ("1.0", "1.5"),
    "kind of number": ("scale: float = 2", "scale: float = 2.0"),
    "operator": ("radius**2", "radius*2"),
    "name": ("area", "surface"),
    "annotation": ("radius: float", "radius: int"),
    "order": ("scale * math.pi", "math.pi * scale"),
    "import": ("import math", "import math, os"),
    "statement": ("def empty():", "def empty():\n    return None\n\n\ndef other():"),
    "string that is no docstring": ("    radius", "    name = ''\n    radius"),
}


@pytest.mark.parametrize(("old", "new"), SAME.values(), ids=SAME)
def test_what_python_does_not_see_leaves_the_digest_of_a_module(old, new):
    assert old in MODULE
    assert module_digest(MODULE.replace(old, new)) == module_digest(MODULE)


@pytest.mark.parametrize(("old", "new"), OTHER.values(), ids=OTHER)
def test_other_code_is_another_digest(old, new):
    assert old in MODULE
    assert module_digest(MODULE.replace(old, new)) != module_digest(MODULE)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("def f():\n    return 1", 'def f():\n    """One."""\n    return 1  # one', True),
        ("print( 1 )", "# a comment\nprint(1)\n", True),
        ("%time f(1)", "%time  f(1)  # how long?", False),  # the line is handed to IPython as it stands
        ("%matplotlib inline\nx=1", "%matplotlib inline\nx = 1", True),
        ("'shown'", "'shown too'", False),  # the value of a cell, not a docstring
        ("x", "x;", False),
        ("x;", "x ;  # nothing to see", True),
        ("def f(:", "def f( :", False),
        ("'é'", "'\\u00e9'", True),
        ("None", "", False),
    ],
)
def test_cells(one, other, same):
    assert (cell_digest(one) == cell_digest(other)) == same


def test_every_python_finds_the_same_digest():
    source = """
async def f(x: int | None = None):
    'About f.'
    print(f'{x:>{x}} {x:{x}}', b'', 'é', 1e-3, [*x], lambda: ...)
"""
    assert module_digest(source).startswith("388c2c032b5ad682")
