"""A catalogue: a package of exercises, each found by its place.

    my_catalogue/
      __init__.py
      chapter_01/
        __init__.py
        ex1_double_it.py         the exercise 01.1, a module with one `EXERCISE`
        _shared.py               what exercises of the chapter share: a leading underscore
      solutions/01_numbers.md    its statement and worked answer

Nothing lists an exercise anywhere.
"""

import hashlib
import importlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from course_lib.grading.exercise import Exercise, Task
from course_lib.grading.mistakes import read_mistakes
from course_lib.grading.solutions import WorkedAnswers
from course_lib.project import CourseError

OWN = "course_lib.exercises"  # the catalogue of this course, which is taken where no other is named
CHAPTER, MODULE = re.compile(r"chapter_(\d\d)"), re.compile(r"ex(\d+)_\w+")
NUMBER = re.compile(r"(\d{1,2})\.(\d+)")


class Catalogue:
    """The exercises of one package. Each is loaded when it is asked for.

    Raises CourseError for a package that cannot be found or holds no exercise.
    """

    def __init__(self, package: str = OWN):
        self.package = package
        try:
            spec = find_spec(package)
        except ModuleNotFoundError:
            spec = None
        if spec is None or not spec.submodule_search_locations:
            raise CourseError(f"there is no catalogue {package!r}: expected the name of a package of exercises")
        self.folder = Path(next(iter(spec.submodule_search_locations)))
        places = list(_places(self.folder))
        self._places = dict(places)
        if len(self._places) < len(places):
            twice = next(id for id, path in places if self._places[id] != path)
            raise CourseError(f"{self.folder} holds two exercises {twice}: rename the module of one of them")
        if not self._places:
            raise CourseError(f"{self.folder} holds no exercise: expected chapter_01/ex1_name.py and so on")
        self._loaded: dict[str, Exercise] = {}
        self._answers: dict[str, WorkedAnswers] = {}
        self._asked_for: dict[str, tuple[Exercise, Task] | None] = {}

    @property
    def chapters(self) -> list[str]:
        """The chapters that have exercises: "00", "01", ..."""
        return sorted({id[:2] for id in self._places})

    @property
    def ids(self) -> list[str]:
        """The numbers of all exercises, in order: "00.1", ..."""
        return list(self._places)

    def __iter__(self) -> Iterator[Exercise]:
        """Yield all exercises, in order."""
        return map(self.find, self.ids)

    def edition(self, ids: Iterable[str]) -> str:
        """Return a mark of how these exercises are written: another one where one of their modules was changed."""
        texts = [self._places[id].read_bytes() for id in sorted(ids)]
        return hashlib.sha256(b"\0".join(texts)).hexdigest()[:16]

    def exercises(self, chapter: str) -> tuple[Exercise, ...]:
        """Return the exercises of one chapter ("02"), in order; raises CourseError for a chapter that has none."""
        if chapter not in self.chapters:
            raise CourseError(f"there are no exercises for chapter {chapter!r} (chapters: {', '.join(self.chapters)})")
        return tuple(self.find(id) for id in self.ids if id[:2] == chapter)

    def find(self, id: str) -> Exercise:
        """Return one exercise by its number, "02.3" or "2.3"; raises CourseError naming those there are."""
        number = NUMBER.fullmatch(id)
        if not number:
            raise CourseError(f"{id!r} is no exercise: write the chapter, a dot and a number, such as 02.3")
        id = f"{number[1].zfill(2)}.{number[2]}"
        if id not in self._places:
            of_chapter = [each for each in self.ids if each[:2] == id[:2]]
            if not of_chapter:
                return self.exercises(id[:2])[0]  # which says which chapters there are
            raise CourseError(f"there is no exercise {id} (exercises of this chapter: {', '.join(of_chapter)})")
        if id not in self._loaded:
            self._loaded[id] = self._load(id)
        return self._loaded[id]

    def find_task(self, function: str) -> tuple[Exercise, Task] | None:
        """Return the exercise and the task that ask for a function of this name, if one does."""
        if function not in self._asked_for:
            self._asked_for[function] = self._look_for(function)
        return self._asked_for[function]

    def _look_for(self, function: str) -> tuple[Exercise, Task] | None:
        for id, words in self._words.items():
            if function in words:  # cheaper than loading every exercise on the way
                for task in self.find(id).tasks:
                    if task.function == function:
                        return self.find(id), task
        return None

    @cached_property
    def _words(self) -> dict[str, frozenset[str]]:
        """The words of each exercise's module, read when a function is looked for the first time."""
        return {
            id: frozenset(re.findall(r"\w+", path.read_text(encoding="utf-8"))) for id, path in self._places.items()
        }

    def answers(self, chapter: str) -> WorkedAnswers:
        """Return the worked answers of a chapter."""
        if chapter not in self._answers:
            self._answers[chapter] = WorkedAnswers(self.page(chapter))
        return self._answers[chapter]

    def page(self, chapter: str) -> Path:
        """Return the page of solutions of a chapter; raises CourseError where there is none."""
        folder = self.solutions
        found = sorted(folder.glob(f"{chapter}_*.md"))
        if not found:
            raise CourseError(f"there is no page of worked answers {folder / chapter}_*.md")
        return found[0]

    @property
    def solutions(self) -> Path:
        """The folder of the worked answers: the package's `SOLUTIONS`, or `solutions` inside it."""
        return getattr(importlib.import_module(self.package), "SOLUTIONS", self.folder / "solutions")

    def check_whole(self, chapter: str) -> Callable | None:
        """Return what looks at all parts of a chapter together, if the chapter defines a `check_whole`."""
        return getattr(importlib.import_module(f"{self.package}.chapter_{chapter}"), "check_whole", None)

    def module(self, id: str) -> ModuleType:
        """Return the module of an exercise; raises CourseError for one that does not say what an exercise says."""
        path = self._places[id]
        module = importlib.import_module(f"{self.package}.{path.parent.name}.{path.stem}")
        if not isinstance(getattr(module, "EXERCISE", None), Exercise):
            raise CourseError(f"{path} defines no EXERCISE: expected `EXERCISE = Exercise(title=..., ...)`")
        return module

    def _load(self, id: str) -> Exercise:
        module = self.module(id)
        answers = self.answers(id[:2]) if self.solutions.is_dir() else None
        tasks = (replace(task, mistakes=read_mistakes(task, module, answers)) for task in module.EXERCISE.tasks)
        return replace(module.EXERCISE, id=id, tasks=tuple(tasks))


@cache
def catalogue(package: str = OWN) -> Catalogue:
    """Return the catalogue of a package, which may also lie in the current folder.

    >>> catalogue().find("2.3").title
    'Attend'
    """
    here = str(Path.cwd())
    if package != OWN and here not in sys.path:
        sys.path.insert(0, here)
    return Catalogue(package)


def _places(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the number of every exercise and the file of its module, in order."""
    for chapter in sorted(folder.iterdir()):
        if named := CHAPTER.fullmatch(chapter.name):
            modules = [(int(found[1]), path) for path in chapter.glob("*.py") if (found := MODULE.fullmatch(path.stem))]
            for number, path in sorted(modules):
                yield f"{named[1]}.{number}", path
