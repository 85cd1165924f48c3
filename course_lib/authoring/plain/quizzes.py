"""The questions of a quiz as text, with their answers behind a line to click."""

import ast
from string import ascii_uppercase

from course_lib.project import CourseError


def questions_of(source: str) -> list[dict]:
    """Return the questions that a cell hands to `show_quiz`, none where it shows no quiz.

    >>> questions_of("show_quiz([{'question': '1 + 1?'}])")
    [{'question': '1 + 1?'}]
    """
    if "show_quiz(" not in source:
        return []
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return [each for call in calls if ast.unparse(call.func) == "show_quiz" for each in ast.literal_eval(call.args[0])]


def as_markdown(number: int, question: dict) -> str:
    """Return a question with its options; which is right, and what is said of each, is folded under *Answer*.

    Raises CourseError for another kind than multiple choice.
    """
    if question["type"] != "multiple_choice":
        raise CourseError(f"a plain notebook shows multiple choice only, not {question['type']!r}")
    options, feedback, right = [], [], []
    for letter, answer in zip(ascii_uppercase, question["answers"], strict=False):
        options.append(f"- **{letter}.** {answer['answer']}")
        feedback.append(f"- **{letter}.** {answer['feedback']}")
        right += [letter] if answer["correct"] else []
    return "\n\n".join(
        [
            f"**Question {number}.** {question['question']}",
            "\n".join(options),
            "<details><summary>Answer</summary>",
            f"Right: {', '.join(right)}.",
            "\n".join(feedback),
            "</details>",
        ]
    )
