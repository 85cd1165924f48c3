"""What must be true of an exercise before a learner meets it; each rule says in sentences what is missing.

`make check-exercise ID=03.6` asks all of them about one exercise, the tests about every one.
"""

import importlib.util
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from course_lib.authoring.leaks import leaked_lines
from course_lib.authoring.mutants import mutants, read_equivalent, survives
from course_lib.authoring.notebooks import as_json, read_text
from course_lib.authoring.stubs import derive
from course_lib.grading.call import in_process
from course_lib.grading.catalogue import Catalogue
from course_lib.grading.engine import RANDOM_CASES, TaskResult, draw_cases, judge_task
from course_lib.grading.exercise import Case, Exercise, Task
from course_lib.grading.wording import finding
from course_lib.project import CourseError, root

LEFT_TO_WRITE = re.compile(r"<<[^<>]+>>")  # in the skeletons of `course new-exercise`
VARIANTS = 3  # right answers that are written in different ways, for each function
Rule = Callable[[Catalogue, Exercise, range], Iterator[str]]


def problems(of: Catalogue, id: str, seeds: range = range(3)) -> list[str]:
    """Return what is missing or wrong in one exercise, a sentence each; none where it keeps all rules."""
    try:
        exercise = of.find(id)
        return [sentence for rule in RULES for sentence in rule(of, exercise, seeds)]
    except CourseError as error:
        return [str(error)]


def is_complete(of: Catalogue, exercise: Exercise, seeds: range) -> Iterator[str]:
    """Difficulty, minutes, hints, points and mistakes are there."""
    if exercise.difficulty not in (1, 2, 3, 4):
        yield f"difficulty is {exercise.difficulty}, expected 1 to 4"
    if exercise.minutes <= 0:
        yield f"minutes is {exercise.minutes}, expected more than 0"
    if len(exercise.hints) < 3 or not all(exercise.hints):
        yield f"there are {len(exercise.hints)} hints, expected at least three: a nudge, a plan, nearly the line"
    if sum(len(task.mistakes) for task in exercise.tasks) < 3:
        yield "there are fewer than three known mistakes"
    for task in exercise.tasks:
        if task.points <= 0:
            yield f"{task.function} gives no points"
        broken = {mistake.breaks for mistake in task.mistakes}
        for each in task.properties:
            if each.name not in broken:
                yield f"no mistake of {task.function} breaks the property {each.name!r}: a check must be able to fail"


def examples_are_cases(of: Catalogue, exercise: Exercise, seeds: range) -> Iterator[str]:
    """An example or an edge case has the arguments of a case, of the same kinds, and a finite answer."""
    for task in exercise.tasks:
        made_of = () if task.constructor is None else (*task.constructor, "state")
        expected = (*made_of, *task.parameters)
        drawn = draw_cases(task, 0)[0]
        if tuple(drawn) != expected:
            yield f"a random case of {task.function} has the arguments {tuple(drawn)}, expected {expected}"
            continue
        named_cases = {f"example {number}": each for number, each in enumerate(task.examples, start=1)}
        named_cases |= {f"edge case {number}": each for number, each in enumerate(task.edges, start=1)}
        for named, example in named_cases.items():
            named = f"{named} of {task.function}"
            if tuple(example) != expected:
                yield f"{named} has the arguments {tuple(example)}, expected {expected}"
                continue
            for name in expected:
                if _kind(example[name]) != _kind(drawn[name]):
                    yield f"{named}: {name} is {_kind(example[name])}, but {_kind(drawn[name])} in a random case"
            answer = task.reference(**example)
            if not all(each.isfinite().all() for each in (answer if task.outputs else (answer,))):
                yield f"{named} has an answer that is not finite"


def cases_repeat(of: Catalogue, exercise: Exercise, seeds: range) -> Iterator[str]:
    """Cases come smallest first, repeat with their seed, and differ under another one."""
    for task in exercise.tasks:
        first, again, other = draw_cases(task, 7), draw_cases(task, 7), draw_cases(task, 8)
        if len(first) != RANDOM_CASES + len(task.examples) + len(task.edges):
            yield f"{task.function} has {len(first)} cases, expected {RANDOM_CASES}, its examples and edge cases"
        if not all(map(_same, first, again)):
            yield f"the cases of {task.function} differ under one seed: draw from the generator that `cases` is given"
        if all(map(_same, first, other)):
            yield f"the cases of {task.function} are the same under two seeds"


def stub_is_told_what_to_write(of: Catalogue, exercise: Exercise, seeds: range) -> Iterator[str]:
    """Where nothing is written yet, no property holds, and the report says what to write."""

    def stub(**arguments):
        raise NotImplementedError

    for task in exercise.tasks:
        result = judge_task(exercise, task, in_process(stub, task, exercise.forbidden), 0)
        if result.earned or result.mistake:
            yield f"a {task.function} that is not written yet earns {result.earned} points"
        for verdict in result.verdicts:
            if not verdict.problem:
                yield f"a {task.function} that is not written yet passes {verdict.property.name!r}"
            elif not verdict.property.only_when_right and task.signature not in finding(verdict.problem, task):
                yield f"a {task.function} that is not written yet is not told its signature"


def right_answers_pass(of: Catalogue, exercise: Exercise, seeds: range) -> Iterator[str]:
    """The reference, the worked answer and the honest variants earn full marks."""
    variants = honest_variants(of, exercise)
    for task in exercise.tasks:
        own = variants.get(task.function, [])
        if len(own) < VARIANTS:
            yield (
                f"{task.function} has {len(own)} honest variants in {variants_file(of, exercise.id)}, expected "
                f"at least {VARIANTS}: right answers that are written in other ways"
            )
        right = {"the reference": task.reference, "the worked answer": _worked(of, exercise, task)}
        right |= {f"honest variant {number}": each for number, each in enumerate(own, start=1)}
        for name, function in right.items():
            forbidden = {} if name == "the reference" else exercise.forbidden
            for seed in seeds:
                result = judge_task(exercise, task, in_process(function, task, forbidden), seed)
                if result.earned != task.points:
                    yield f"{name} of {task.function} fails on seed {seed}: {_broken(result)}"
                    break


def mistakes_fail_and_are_named(of: Catalogue, exercise: Exercise, seeds: range) -> Iterator[str]:
    """Every known mistake loses the property that it breaks, and is named."""
    for task in exercise.tasks:
        told = set()
        for seed in seeds:
            for mistake in task.mistakes:
                if mistake.name in told:
                    continue
                answer = in_process(mistake.implementation, task, exercise.forbidden)
                result = judge_task(exercise, task, answer, seed)
                named = result.mistake.name if result.mistake else "no known mistake"
                if mistake.breaks not in _names_of_broken(result):
                    yield f"{task.function}, {mistake.name!r}: keeps {mistake.breaks!r} on seed {seed}"
                    told.add(mistake.name)
                elif result.mistake is not mistake:
                    yield f"{task.function}, {mistake.name!r}: is taken for {named!r} on seed {seed}"
                    told.add(mistake.name)


def mutants_lose_points(of: Catalogue, exercise: Exercise, seeds: range) -> Iterator[str]:
    """A worked answer with a single edit loses points, or is written down as equivalent, with its reason."""
    file = variants_file(of, exercise.id).with_suffix(".equivalent.txt")
    equivalent, answers = read_equivalent(root() / file), of.answers(exercise.id[:2])
    for task in exercise.tasks:
        for mutant in mutants(answers.source(task.function)):
            if equivalent.pop((task.function, str(mutant)), None) is None and survives(mutant, answers, exercise, task):
                yield f"{task.function} earns full marks with this edit, which {file} does not explain:\n{mutant}"
    for function, edit in equivalent:
        yield f"{file}: there is no such edit of {function}:\n{edit}"


def page_has_its_form(of: Catalogue, exercise: Exercise, seeds: range) -> Iterator[str]:
    """Statement, answer between its markers, the check below it, and what explains the answer."""
    page = of.page(exercise.id[:2])
    cells, inside = [], False
    for cell in read_text(page).cells:
        if cell.cell_type == "markdown" and (heading := re.match(r"## (\d\d\.\d+)", cell.source)):
            inside = heading[1] == exercise.id
        cells += [cell] if inside else []
    if not cells:
        yield f"{page.name} has no heading `## {exercise.id}`"
        return
    answers = [number for number, cell in enumerate(cells) if "answer" in cell.metadata.get("tags", [])]
    if len(answers) != len(exercise.tasks):
        yield f"{page.name} has {len(answers)} cells tagged `answer` for {exercise.id}, expected {len(exercise.tasks)}"
        return
    for number, task in zip(answers, exercise.tasks, strict=True):
        source = cells[number].source
        heads = [f"def {task.signature}:"]
        if task.constructor is not None:
            heads = [f"class {task.function}(nn.Module):"]
            heads += [f"    def __init__(self, {', '.join(task.constructor)}):"]
            heads += [f"    def forward(self, {', '.join(task.parameters)}):"]
        for head in heads:
            if head + "\n" not in source:
                yield f"{page.name}: the answer to {task.function} has no line `{head.strip()}`"
        if not source.partition("\n")[2].lstrip().startswith('"""'):
            yield f"{page.name}: {task.function} has no docstring in its first line"
        markers = 1 if task.constructor is None else 2
        if [source.count(f"# {end} SOLUTION") for end in ("BEGIN", "END")] != [markers, markers]:
            yield f"{page.name}: the answer to {task.function} needs {markers} `# BEGIN SOLUTION` ... `# END SOLUTION`"
        after = cells[number + 1] if number + 1 < len(cells) else None
        if after is None or after.source != f"check({task.function})" or after.metadata.get("tags") != ["not-graded"]:
            yield f"{page.name}: below the answer, expected a cell tagged `not-graded` with `check({task.function})`"
        if f"{task.function}(" not in "".join(cell.source for cell in cells[:number] if cell.cell_type == "markdown"):
            yield f"{page.name}: the statement does not say `{task.function}(...)`"
    texts = [cell.source for cell in cells if cell.cell_type == "markdown" and "SOLUTION" in cell.source]
    if not texts:
        yield f"{page.name}: no cell between `<!-- BEGIN SOLUTION -->` and `<!-- END SOLUTION -->` explains the answer"
    for text in texts:
        if not (text.startswith("<!-- BEGIN SOLUTION -->\n") and text.endswith("\n<!-- END SOLUTION -->")):
            yield f"{page.name}: what explains the answer to {exercise.id} does not fill a cell of its own"


def stub_is_in_step(of: Catalogue, exercise: Exercise, seeds: range) -> Iterator[str]:
    """The notebook for learners is the one that the page of solutions gives, and shows no line of an answer."""
    page = of.page(exercise.id[:2])
    derived = derive(page, of.find)
    for line in leaked_lines(read_text(page), derived):
        yield f"a statement or hint of chapter {exercise.id[:2]} shows a line of an answer: {line}"
    stub = page.parent.parent / "exercises" / f"{page.stem}.ipynb"
    if not stub.exists() or stub.read_text(encoding="utf-8") != as_json(derived):
        yield f"exercises/{stub.name} is not in step with {page.name}: run `course make-exercises`"


def nothing_is_left_of_the_skeleton(of: Catalogue, exercise: Exercise, seeds: range) -> Iterator[str]:
    """What stood in `<<...>>` for the author to write is written."""
    page = of.page(exercise.id[:2])
    section = re.search(rf"^## {re.escape(exercise.id)}$.*?(?=^## |\Z)", page.read_text(encoding="utf-8"), re.M | re.S)
    texts = {page.name: section[0] if section else ""}
    for path in (Path(of.module(exercise.id).__file__), root() / variants_file(of, exercise.id)):
        if path.exists():
            texts["/".join(path.parts[-4:])] = path.read_text(encoding="utf-8")
    for name, text in texts.items():
        for left in LEFT_TO_WRITE.findall(text):
            yield f"{name}: still to be written: {' '.join(left.split())}"


RULES: tuple[Rule, ...] = (
    nothing_is_left_of_the_skeleton,
    is_complete,
    examples_are_cases,
    cases_repeat,
    page_has_its_form,
    stub_is_in_step,
    stub_is_told_what_to_write,
    right_answers_pass,
    mistakes_fail_and_are_named,
    mutants_lose_points,
)


# ---------------------------------------------------------------- honest variants


def variants_file(of: Catalogue, id: str) -> Path:
    """Return where the honest variants of an exercise stand, from the root of the repository."""
    module = of.module(id).__name__.split(".")
    return Path("tests/exercises", module[-2], f"{module[-1]}.py")


def honest_variants(of: Catalogue, exercise: Exercise) -> dict[str, list[Callable]]:
    """Return right answers written in other ways than the worked one, by the function that they answer.

    `attend_by_loops` answers `attend`: a variant has the name of the function, and how it is written after it.
    """
    path = root() / variants_file(of, exercise.id)
    if not path.exists():
        return {}
    spec = importlib.util.spec_from_file_location(f"variants_of_{exercise.id.replace('.', '_')}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    functions = sorted((task.function for task in exercise.tasks), key=len, reverse=True)  # the longest that fits
    found: dict[str, list[Callable]] = {name: [] for name in functions}
    for name, variant in vars(module).items():
        answered = next((function for function in functions if name.startswith(f"{function}_")), None)
        if answered:
            found[answered].append(variant)
    return found


def _worked(of: Catalogue, exercise: Exercise, task: Task) -> Callable:
    return of.answers(exercise.id[:2]).function(task.function)


def _names_of_broken(result: TaskResult) -> set[str]:
    return {verdict.property.name for verdict in result.verdicts if verdict.problem}


def _broken(result: TaskResult) -> str:
    return "; ".join(
        f"{verdict.property.name}: {finding(verdict.problem, result.task)}"
        for verdict in result.verdicts
        if verdict.problem
    )


def _kind(value: object) -> str:
    if isinstance(value, torch.Tensor):
        return f"a tensor of {str(value.dtype).removeprefix('torch.')}"
    return f"of type {type(value).__name__}"


def _same(one: Case, other: Case) -> bool:
    return all(_equal(one[name], other[name]) for name in one)


def _equal(one: object, other: object) -> bool:
    if isinstance(one, dict):
        return all(_equal(one[name], other[name]) for name in one)
    return torch.equal(one, other) if isinstance(one, torch.Tensor) else one == other
