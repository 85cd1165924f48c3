"""What the book adds to a page of worked answers: the titles of its exercises, and what goes wrong in each."""

import re

from course_lib.grading.catalogue import Catalogue
from course_lib.grading.exercise import Exercise, Mistake

HEADING = re.compile(r"^## (\d\d\.\d+)$", re.MULTILINE)


def completed(text: str, course: Catalogue) -> str:
    """Return a page as readers see it, from its source and what the modules of its exercises say."""
    start, *sections = HEADING.split(text)
    pages = [start]
    for id, section in zip(sections[::2], sections[1::2], strict=True):
        exercise = course.find(id)
        pages.append(f"## {id} {exercise.title}{section.rstrip().removesuffix('+++').rstrip()}\n\n")
        pages.append(what_goes_wrong(exercise) + "\n+++\n\n")
    return "".join(pages)


def what_goes_wrong(exercise: Exercise) -> str:
    """Return an unfolding box with the mistakes that one edit of a worked answer makes, each as that edit."""
    parts = []
    for task in exercise.tasks:
        shown = [mistake for mistake in task.mistakes if mistake.before]
        if shown and len(exercise.tasks) > 1:
            parts.append(f"In `{task.function}`:")
        parts += map(_shown, shown)
    if not parts:
        return ""
    return "\n\n".join(["::::{dropdown} What goes wrong here", *parts, "::::\n"])


def _shown(mistake: Mistake) -> str:
    name, sentence = (text[:1].upper() + text[1:] for text in (mistake.name, mistake.sentence))
    lines = [f"- {line}" for line in mistake.before] + [f"+ {line}" for line in mistake.after]
    edit = "\n".join(lines)
    return f"**{name}.** {sentence.rstrip('.')}.\n\n```diff\n{edit}\n```"
