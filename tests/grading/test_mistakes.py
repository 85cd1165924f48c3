"""Mistakes are read from a text and laid on the worked answer; what is wrong is told with file and line."""

import importlib.util
import textwrap

import pytest

from course_lib.grading.mistakes import patched, read_mistakes
from course_lib.grading.solutions import WorkedAnswers
from course_lib.project import CourseError

MODULE = '''"""99.1: double."""

from types import SimpleNamespace

PROPERTY = SimpleNamespace(name="doubled")


def tripled(numbers):
    return 3 * numbers


TASK = SimpleNamespace(function="double", properties=(PROPERTY,), mistakes="""
{mistakes}
""")
'''
PAGE = """# Solutions: Numbers

```{code-cell} ipython3
FACTOR = 2
```

```{code-cell} ipython3
:tags: [answer]

def double(numbers):
    \"\"\"Twice each number.\"\"\"
    # BEGIN SOLUTION
    factor = FACTOR  # so often
    if numbers is None:
        return None
    return factor * numbers
    # END SOLUTION
```

```{code-cell} ipython3
:tags: [not-graded]

raise RuntimeError("this cell is not run")
```
"""
BEFORE = 12  # lines of the file that stand before the text


@pytest.fixture
def read(tmp_path):
    (tmp_path / "99_numbers.md").write_text(PAGE, encoding="utf-8")

    def read(mistakes, answers=True):
        path = tmp_path / "ex1_double.py"
        path.write_text(MODULE.replace("{mistakes}", textwrap.dedent(mistakes).strip("\n")), encoding="utf-8")
        spec = importlib.util.spec_from_file_location("ex1_double", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return read_mistakes(module.TASK, module, WorkedAnswers(tmp_path / "99_numbers.md") if answers else None)

    return read


def test_a_patch_an_expression_and_what_is_taken_from_above(read):
    mistakes = read(
        """
        as it is => doubled
        - factor = FACTOR
        + factor = 1
        this leaves the numbers
        as they are

        tripled => doubled
        = tripled
        this is thrice

        zero => doubled
        + factor = 0

        nothing returned => doubled
        - return factor * numbers
        this returns nothing
        """
    )
    assert [mistake.name for mistake in mistakes] == ["as it is", "tripled", "zero", "nothing returned"]
    assert [mistake.implementation(5) for mistake in mistakes] == [5, 15, 0, None]
    assert mistakes[0].sentence == "this leaves the numbers as they are" and mistakes[2].sentence == "this is thrice"
    assert (mistakes[2].before, mistakes[2].after) == (("factor = FACTOR",), ("factor = 0",))
    assert mistakes[1].before == () and {mistake.breaks for mistake in mistakes} == {"doubled"}


def test_a_patch_of_several_lines_keeps_how_they_are_indented(read):
    (mistake,) = read(
        """
        turned round => doubled
        - if numbers is None:
        -     return None
        + if numbers is not None:
        +     return -numbers
        this turns the sign
        """
    )
    assert mistake.implementation(5) == -5


def test_without_worked_answers_only_functions_are_known(read):
    text = "a => doubled\n- factor = FACTOR\nthis is no edit of anything\n\nb => doubled\n= tripled"
    assert [mistake.name for mistake in read(text, answers=False)] == ["b"]
    assert read(text, answers=False)[0].sentence == "this is no edit of anything"


def test_a_patch_of_lines_that_stand_twice_or_never_is_refused():
    source = "def f(x):\n    x = x + 1\n    x = x + 1\n    return x"
    with pytest.raises(ValueError, match="stands 2 times in the worked answer, expected once"):
        patched(source, ("x = x + 1",), ())
    with pytest.raises(ValueError, match="does not stand in the worked answer"):
        patched(source, ("x = x + 2",), ())
    assert patched(source, ("x = x + 1", "return x"), ("return x",)) == "def f(x):\n    x = x + 1\n    return x"


@pytest.mark.parametrize(
    ("mistakes", "line", "said"),
    [
        ("no arrow\n- factor = FACTOR\nsentence", 1, "expected `name => property`, got 'no arrow'"),
        ("a => b\n- factor = FACTOR\nsentence", 1, "double has no property 'b' (doubled)"),
        ("a => doubled\n= tripled\ns\n\na => doubled\n= tripled", 5, "a second mistake of double is called 'a'"),
        ("a => doubled\n- factor = FACTOR", 1, "the mistake 'a' has no sentence"),
        ("a => doubled\nsentence", 1, "'a' needs either lines with `-` and `+`, or lines with `=`"),
        ("a => doubled\n+ factor = 1\nsentence", 1, "'a' needs either"),
        ("a => doubled\n- factor = FACTOR\n= tripled\nsentence", 1, "'a' needs either"),
    ],
)
def test_a_text_of_another_form_is_told_with_file_and_line(read, mistakes, line, said):
    with pytest.raises(CourseError) as error:
        read(mistakes)
    assert f"ex1_double.py, line {BEFORE + line}: {said}" in str(error.value)


@pytest.mark.parametrize(
    ("mistakes", "said"),
    [
        ("a => doubled\n= no_such_name\nsentence", "NameError: name 'no_such_name' is not defined"),
        ("a => doubled\n= 3\nsentence", "expected a function after `=`, got 3"),
        ("a => doubled\n- facto = FACTOR\nsentence", "`facto = FACTOR` does not stand in the worked answer"),
        ("a => doubled\n- factor = FACTOR\n+ factor =\nsentence", "invalid syntax"),
    ],
)
def test_a_patch_that_does_not_fit_is_told_with_file_and_line_when_it_is_wanted(read, mistakes, said):
    (mistake,) = read(mistakes)
    with pytest.raises(CourseError) as error:
        _ = mistake.implementation
    assert f"ex1_double.py, line {BEFORE + 2}: " in str(error.value) and said in str(error.value)


def test_a_page_without_the_answer_or_with_a_cell_that_stops_is_told(tmp_path):
    page = tmp_path / "99_numbers.md"
    with pytest.raises(CourseError, match="99_numbers.md cannot be read: no such file"):
        WorkedAnswers(page).source("double")
    page.write_text(PAGE.replace("FACTOR = 2", "FACTOR = 2 / 0"), encoding="utf-8")
    with pytest.raises(ValueError, match="has no cell tagged `answer` that defines triple"):
        WorkedAnswers(page).source("triple")
    with pytest.raises(CourseError, match="code cell 1: ZeroDivisionError"):
        WorkedAnswers(page).function("double")
