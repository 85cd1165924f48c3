import nbformat
import pytest

from course_lib.authoring.dependencies import dependencies


@pytest.fixture
def home(course):
    course.write("course_lib/softmax.py", "")
    course.write("course_lib/attention.py", "def f():\n    from course_lib.softmax import softmax\n")
    course.write("course_lib/models/__init__.py", "")
    course.write("course_lib/models/captioner.py", "from ..attention import attend\nfrom . import parts\n")
    course.write("course_lib/models/parts.py", "import torch\n")
    course.write("course_lib/declarations/__init__.py", "import importlib\nimportlib.import_module(__name__ + name)\n")
    course.write("course_lib/declarations/chapter_00.py", "import course_lib.softmax\n")
    return course.home


def found(home, *cells) -> set[str]:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    return {name.removeprefix("course_lib/") for name in dependencies(notebook, home)}


CAPTIONER = {
    "__init__.py",
    "models/__init__.py",
    "models/captioner.py",
    "models/parts.py",
    "attention.py",
    "softmax.py",
}


@pytest.mark.parametrize(
    ("cell", "names"),
    [
        ("import torch, einops.layers", set()),
        ("import course_lib.softmax as s", {"__init__.py", "softmax.py"}),
        ("from course_lib import softmax", {"__init__.py", "softmax.py"}),
        ("from course_lib.attention import attend", {"__init__.py", "attention.py", "softmax.py"}),
        ("from course_lib.models.captioner import A", CAPTIONER),
        ("from course_lib.models import captioner", CAPTIONER),
        (
            "from course_lib.declarations import exercises",  # which imports a chapter by name
            {"__init__.py", "declarations/__init__.py", "declarations/chapter_00.py", "softmax.py"},
        ),
        ("from course_lib import *", {"__init__.py"}),
        ("%matplotlib inline\nimport course_lib.softmax\n!ls", {"__init__.py", "softmax.py"}),
        ("def f(:", set()),
        ("# import course_lib.softmax", set()),
    ],
)
def test_imports_are_followed(home, cell, names):
    assert found(home, cell) == names


def test_all_cells_count_and_a_notebook_without_code_depends_on_nothing(home):
    assert found(home, "import course_lib.softmax", "import course_lib.models") == {
        "__init__.py",
        "softmax.py",
        "models/__init__.py",
    }
    assert found(home) == set()
