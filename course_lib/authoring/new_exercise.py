"""The three files of a new exercise, with their skeletons: `course new-exercise 03.6 "Double it"`.

A skeleton is an exercise that keeps all rules, so that its form can be seen, but for what stands in `<<...>>`: that is
for its author to write, and a rule asks for it.
"""

import re
from pathlib import Path

from course_lib.files import write_atomically
from course_lib.grading.catalogue import NUMBER, Catalogue
from course_lib.project import CourseError

MODULE = '''"""{id}: {title_small}."""

import torch

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import equals, inputs_unchanged
from course_lib.grading.exercise import Case, Exercise, Property, Task


def {name}(inputs):
    """The reference: right, and written in another way than the worked answer."""
    return inputs + inputs


def draw(generator: torch.Generator) -> Case:
    """Draw one random case from the generator that is given, and from nothing else."""
    return {{"inputs": normal(generator, *sizes(generator, 4, 5))}}


# How people go wrong, a paragraph each: `name => property that it loses`; lines of the worked answer (-, by default
# those of the paragraph above), what becomes of them (+), and a sentence for the learner. See
# `course_lib.grading.mistakes`.
MISTAKES = """
<<a name>> => the values
- return 2 * inputs
+ return -inputs
this <<does what; what to do instead>>

<<another name>> => the values
+ return inputs + 1
this <<does what; what to do instead>>

inputs overwritten => inputs unchanged
+ result = 2 * inputs
+ inputs.zero_()
+ return result
this writes into the caller's own inputs; make a new tensor for the result
"""

EXERCISE = Exercise(
    title="{title}",
    difficulty=1,
    minutes=10,
    tasks=(
        Task(
            function="{name}",
            parameters=("inputs",),
            returns="<<what, and its shape>>",
            cases=draw,
            examples=({{"inputs": torch.tensor([[1.0, 2.0]])}},),
            edges=({{"inputs": torch.tensor([[0.0]])}},),  # what chance hardly ever draws
            reference={name},
            properties=(
                Property("the values", 2, equals()),
                Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "<<a nudge: what to look at>>",
        "<<a plan: the steps, in words>>",
        "<<nearly the line: which function of torch does it>>",
    ),
)
'''
VARIANTS = '''"""Right answers to {id} that are written in other ways: their names begin with that of the function."""

import torch


def {name}_by_loops(inputs):
    return torch.stack([2 * row for row in inputs])  # <<your answer, with loops>>


def {name}_in_double(inputs):
    return (2 * inputs.double()).float()  # <<your answer, in other numbers>>


def {name}_by_other_functions(inputs):
    return inputs.add(inputs)  # <<your answer, by other functions of torch>>
'''
PAGE = """
+++

## {id}

Write `{name}(inputs)`: <<what it takes, with shapes; what it returns; one example small enough to check by hand; what
is verified>>.

```{{code-cell}} ipython3
:tags: [answer]

def {name}(inputs):
    \"\"\"<<Inputs (...) -> what, in which shape>>.\"\"\"
    # BEGIN SOLUTION
    return 2 * inputs
    # END SOLUTION
```

```{{code-cell}} ipython3
:tags: [not-graded]

check({name})
```

<!-- BEGIN SOLUTION -->
<<What explains the answer.>>
<!-- END SOLUTION -->
"""


def write(course: Catalogue, home: Path, id: str, title: str) -> list[Path]:
    """Write module and honest variants of a new exercise, append its section to the solutions, and return the files.

    Raises CourseError for a number that is taken or is none, and for a title of which no name can be made.
    """
    number = NUMBER.fullmatch(id)
    if not number:
        raise CourseError(f"{id!r} is no exercise: write the chapter, a dot and a number, such as 03.6")
    id = f"{number[1].zfill(2)}.{number[2]}"
    if id in course.ids:
        raise CourseError(f"there is an exercise {id} already: {course.find(id).title}")
    name = "_".join(re.findall(r"[a-z0-9]+", title.lower()))
    if not name.isidentifier():
        raise CourseError(f"no name of a function can be made of the title {title!r}: expected words, a letter first")
    words = {"id": id, "title": title.replace('"', "'"), "title_small": title[:1].lower() + title[1:], "name": name}
    page = course.page(id[:2])
    chapter, module = f"chapter_{id[:2]}", f"ex{number[2]}_{name}.py"
    files = {
        course.folder / chapter / module: MODULE.format(**words),
        home / "tests/exercises" / chapter / module: VARIANTS.format(**words),
        page: page.read_text(encoding="utf-8").rstrip("\n") + "\n" + PAGE.format(**words),
    }
    for path, text in files.items():
        write_atomically(path, text)
    package = course.folder / chapter / "__init__.py"
    if not package.exists():
        write_atomically(package, f'"""Exercises of chapter {id[:2]}."""\n')
    return list(files)
