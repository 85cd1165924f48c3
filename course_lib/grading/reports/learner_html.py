"""The report on one exercise as HTML, for Jupyter: what `reports.learner` says in text, with tensors as small tables.

Text takes the colours of the page around it; green and red are of a middle tone that can be seen on light and on dark,
and a sign beside each says the same.
"""

import html
import re

import torch

from course_lib.grading.engine import TaskResult, Verdict
from course_lib.grading.exercise import Exercise
from course_lib.grading.problem import Problem
from course_lib.grading.reports import as_code, evidence, learner
from course_lib.grading.wording import finding, in_short

GREEN, RED = "#2f8f5b", "#d1495b"
STYLE = f"""
.course-check {{ max-width: 46rem; line-height: 1.5; }}
.course-check .title {{ display: flex; justify-content: space-between; font-weight: bold; }}
.course-check .diagnosis {{ margin: 0.5rem 0; padding: 0.3rem 0.7rem; border-left: 4px solid {RED}; }}
.course-check details.property {{ margin: 0.2rem 0; padding-left: 0.6rem; border-left: 4px solid {GREEN}; }}
.course-check details.broken {{ border-left-color: {RED}; }}
.course-check details.waits {{ border-left-color: gray; }}
.course-check summary {{ cursor: pointer; }}
.course-check summary .points {{ float: right; }}
.course-check .numbers {{ display: flex; flex-wrap: wrap; gap: 0.6rem 1.4rem; margin: 0.5rem 0; }}
.course-check figure {{ margin: 0; max-width: 100%; overflow-x: auto; }}
.course-check figcaption {{ font-family: monospace; }}
.course-check table {{ border-collapse: collapse; margin: 0 0 0.3rem; }}
.course-check td {{ padding: 0.1rem 0.45rem; text-align: right; font-family: monospace; border: 1px solid #8886; }}
.course-check td.wrong {{ outline: 2px solid {RED}; outline-offset: -2px; font-weight: bold; }}
.course-check pre {{ overflow-x: auto; padding: 0.4rem; border: 1px solid #8886; }}
""".strip()


def report(exercise: Exercise, results: list[TaskResult], closing: str, printed: str = "") -> str:
    """Return the report; `closing` is its last line, `printed` what the answer printed on the case that is shown."""
    points = f"{learner.earned(results)}/{learner.total(results)}"
    parts = [f'<div class="title"><span>{exercise.id} {_escaped(exercise.title)}</span><span>{points}</span></div>']
    for result in results:
        prefix = f"<code>{result.task.function}</code>: " if len(exercise.tasks) > 1 else ""
        parts += [f'<p class="diagnosis">{prefix}{_marked_up(told)}</p>' for told in learner.diagnosis(result)]
        shown = learner.shown_problem(result)
        if learner.unwritten(result):
            parts.append(f"<p>{prefix}{_escaped(finding(result.verdicts[0].problem, result.task))}</p>")
            continue
        parts += [_property(verdict, result, shown, prefix, printed) for verdict in result.verdicts]
    if learner.earned(results) < learner.total(results):
        closing += f'    for help: hint("{exercise.id}")'
    parts.append(f"<div>{' · '.join(_escaped(each) for each in closing.split('    '))}</div>")
    return f'<style>{STYLE}</style><div class="course-check">{"".join(parts)}</div>'


def _property(verdict: Verdict, result: TaskResult, shown: Problem | None, prefix: str, printed: str) -> str:
    """Return one property, which unfolds; the first that fails is open, with the numbers of its call."""
    problem = verdict.problem
    kind, sign = ("broken", "✗") if problem else ("", "✓")
    if problem and problem.kind == "later":
        kind, sign = "waits", "…"
    points = f"{verdict.earned}/{verdict.property.points}"
    name = f'{sign} {prefix}{_escaped(verdict.property.name)}<span class="points">{points}</span>'
    if problem is None:
        body = "holds on every case"
    elif problem is shown:
        after = f"after {problem.after}: " if problem.after else ""
        body = f"<p>{_with_code(after + in_short(problem, result.task))}</p>{_numbers(problem)}"
        body += f"<p>Your function printed:</p><pre>{_escaped(printed)}</pre>" if printed else ""
        code = as_code.code(problem, result.task)
        body += f"<details><summary>this case as code</summary><pre>{_escaped(code)}</pre></details>"
    else:
        body = _with_code(learner.told_beside(problem, shown, result) if shown else finding(problem, result.task))
    # What is said of every property, such as a missing function, is not hidden behind a click either.
    unfolded = " open" if problem is not None and problem is (shown or result.verdicts[0].problem) else ""
    return f'<details class="property {kind}"{unfolded}><summary>{name}</summary>{body}</details>'


def _numbers(problem: Problem) -> str:
    shown = [*evidence.arguments(problem), *evidence.comparison(problem)]
    return f'<div class="numbers">{"".join(map(_figure, shown))}</div>'


def _figure(shown: evidence.Shown) -> str:
    """Return a tensor as a table with its name and shape above it, anything else as text."""
    value = shown.value
    if not torch.is_tensor(value) or not 0 < value.numel() <= evidence.SHOWN:
        return f"<figure><figcaption>{shown.name}</figcaption>{_escaped(' '.join(evidence.lines(shown)))}</figure>"
    shape = f" {tuple(value.shape)}" if value.dim() else ""
    wrong = torch.zeros_like(value, dtype=torch.bool) if shown.wrong is None else shown.wrong
    # Each matrix of a larger tensor is a table of its own.
    matrices = value.reshape(-1, *((1, 1, *value.shape)[-2:]))
    tables = zip(matrices, wrong.reshape(matrices.shape), strict=True)
    return (
        f"<figure><figcaption>{shown.name}{shape}</figcaption>"
        + "".join(_table(matrix, marks, shown.digits) for matrix, marks in tables)
        + "</figure>"
    )


def _table(matrix: torch.Tensor, wrong: torch.Tensor, digits: int) -> str:
    rows = "".join(
        f"<tr>{''.join(_cell(entry, mark, digits) for entry, mark in zip(row, marks, strict=True))}</tr>"
        for row, marks in zip(matrix.tolist(), wrong.tolist(), strict=True)
    )
    return f"<table>{rows}</table>"


def _cell(entry: float, wrong: bool, digits: int) -> str:
    mark = ' class="wrong" title="differs"' if wrong else ""
    return f"<td{mark}>{evidence.number(entry, digits)}{'*' if wrong else ''}</td>"


def _escaped(text: str) -> str:
    return html.escape(text)


def _with_code(text: str) -> str:
    """Return a sentence with what stands between backticks as code."""
    parts = _escaped(text).split("`")
    return "".join(f"<code>{part}</code>" if place % 2 else part for place, part in enumerate(parts))


def _marked_up(text: str) -> str:
    """Return a sentence with what stands between backticks as code, and *between stars* with emphasis."""
    parts = _escaped(text).split("`")
    return "".join(
        f"<code>{part}</code>" if place % 2 else re.sub(r"\*(\w[^*]*)\*", r"<em>\1</em>", part)
        for place, part in enumerate(parts)
    )
