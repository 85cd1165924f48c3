import nbformat
import pytest

from course_lib.authoring import dependencies as module
from course_lib.authoring.dependencies import dependencies
from course_lib.project import CourseError


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


LAYERS = """class Parent:
    def __call__(self):
        pass


class Layer(Parent):
    # before the method
    def forward(self):
        return 1  # inside the method

    def backward(self):
        return 2


def plain(): return 3
"""


@pytest.mark.parametrize(
    ("cell", "comment", "changed"),
    [
        ("import inspect; inspect.getsource(Layer)", "# inside", {"Layer as shown"}),
        ("import inspect; inspect.getsource(Layer.forward)", "# inside", {"Layer.forward as shown"}),
        ("from inspect import getsource; getsource(Layer.forward)", "# inside", {"Layer.forward as shown"}),
        ("import inspect; inspect.getsourcelines(Layer.backward)", "# inside", set()),
        ("import inspect; inspect.getsource(Layer.forward)", "# before", set()),
        (
            "import inspect; inspect.getsource(Layer.__call__)",
            "# inside",
            {"layers.py"},
        ),  # inherited: any text may show
        ("import inspect; inspect.getsource(type(layer))", "# before", {"layers.py"}),
        ("help(Layer)", "# before", {"layers.py"}),
        ("Layer().forward()", "# inside", set()),
    ],
)
def test_a_comment_counts_where_the_page_shows_it(course, cell, comment, changed):
    def digests() -> dict[str, str]:
        cells = [nbformat.v4.new_code_cell(code) for code in ("from course_lib.layers import Layer", cell)]
        return dependencies(nbformat.v4.new_notebook(cells=cells), course.home)

    course.write("course_lib/layers.py", LAYERS)
    before = digests()
    course.write("course_lib/layers.py", LAYERS.replace(comment, "# another word"))
    after = digests()
    assert before.keys() == after.keys()
    assert {name.removeprefix("course_lib/") for name in before if before[name] != after[name]} == changed


def test_a_page_that_shows_its_own_cells_depends_on_their_comments(home):
    assert "cells" in found(home, "def f():\n    return 1\n\n\nimport inspect; print(inspect.getsource(f))")


def test_a_page_that_lists_exercises_depends_on_what_the_list_says_and_on_nothing_else(course, monkeypatch):
    titles = {"03": "Average by similarity"}

    def table(chapter: str) -> str:
        if chapter not in titles:
            raise CourseError("there is no such chapter")
        return titles[chapter]

    def digests(cell: str) -> dict[str, str]:
        return dependencies(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)]), course.home)

    monkeypatch.setattr(module, "table", table)
    listing = course.write(f"{module.LISTING.replace('.', '/')}.py", "import course_lib.attention\n")
    listing.with_name("__init__.py").write_text("import course_lib.softmax\n")
    before = digests(f'from {module.LISTING} import show_exercises\n\nshow_exercises("03")')
    assert before.keys() == {"exercises of chapter 03"}
    titles["03"] = "Mix by similarity"
    assert digests("show_exercises('03')") != before
    assert digests("show_exercises('03')") == digests('show_exercises("03")')
    assert digests("show_exercises('16')") == {}  # executing the page fails, and says why
