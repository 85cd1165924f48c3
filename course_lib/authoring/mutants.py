r"""Every single edit of a worked answer: which of them would still earn full marks?

A mutant is the worked answer with one thing changed: an operator, a constant by one, an axis, `min` for `max`, two
arguments exchanged, a line left out. A checker that gives it full marks either lacks a case, or the mutant is
equivalent, which is to say, right as well. Those are written down with their reasons beside the honest variants of the
exercise, in exN_name.equivalent.txt, in paragraphs:

    attend
    - return (weights.unsqueeze(2) * values).sum(dim=1)
    + return (weights.unsqueeze(2) * values).sum(dim=-2)
    the values have three axes here, always

The lines with `-` and `+` are the worked answer's and the mutant's, as `ast.unparse` writes them; a paragraph may have
several edits for one reason.
"""

import ast
import copy
import difflib
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from course_lib.grading.call import in_process
from course_lib.grading.engine import earns_full_marks
from course_lib.grading.exercise import Exercise, Task
from course_lib.grading.solutions import WorkedAnswers
from course_lib.project import CourseError

SEEDS = range(3)  # a mutant survives that earns full marks on all of them
SECONDS = 4  # a mutant that takes longer never ends: a worked answer takes a fraction of a second
EDITED = ("- ", "+ ")

OPERATORS = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
}
STATEMENTS = (ast.Assign, ast.AugAssign, ast.Expr, ast.Return, ast.If, ast.For, ast.Break, ast.Continue)
ORDERED = (ast.Sub, ast.Div, ast.Pow, ast.MatMult, ast.FloorDiv, ast.Mod)  # a - b is not b - a
PAIRS = (
    *("min max", "amin amax", "argmin argmax", "minimum maximum", "mean sum", "any all", "tril triu", "sin cos"),
    *("zeros ones", "zeros_like ones_like", "sqrt square", "softmax log_softmax", "var std", "sigmoid tanh"),
    *("floor ceil", "cumsum sum", "prod sum", "repeat_interleave repeat", "rsqrt sqrt", "relu tanh"),
)
NAMES: dict[str, list[str]] = {}  # what a function or method may be taken for
for one, other in map(str.split, PAIRS):
    NAMES.setdefault(one, []).append(other)
    NAMES.setdefault(other, []).append(one)


@dataclass(frozen=True)
class Mutant:
    """A worked answer with one edit: its source, and the lines that were changed."""

    source: str
    before: tuple[str, ...]
    after: tuple[str, ...]

    def __str__(self) -> str:
        """The edit as equivalent.txt has it."""
        return "\n".join([*(f"- {line}" for line in self.before), *(f"+ {line}" for line in self.after)])


def mutants(source: str) -> Iterator[Mutant]:
    r"""Yield every mutant of a source once.

    >>> for each in mutants("def f(x):\n    return x + 1"):
    ...     print(each.after[-1])
    return (x + 1).squeeze()
    pass
    return x - 1
    return x + 2
    return x + 0
    """
    tree = ast.parse(source)
    original = ast.unparse(tree)
    seen = {original}
    for number, node in enumerate(ast.walk(tree)):
        for edited in _edits(node):
            text = ast.unparse(_replaced(tree, number, edited))
            if text not in seen:
                seen.add(text)
                yield Mutant(text, *_changed_lines(original, text))


def survives(mutant: Mutant, answers: WorkedAnswers, exercise: Exercise, task: Task) -> bool:
    """Tell whether a mutant of the worked answer earns full marks on every seed of `SEEDS`."""
    before = signal.signal(signal.SIGALRM, _stop)
    signal.alarm(SECONDS)
    try:
        answer = in_process(answers.function(task.function, mutant.source), task, exercise.forbidden)
        return all(earns_full_marks(exercise, task, answer, seed) for seed in SEEDS)
    except (Exception, _TooLong):  # it cannot even be defined, or does not end
        return False
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def read_equivalent(path: Path) -> dict[tuple[str, str], str]:
    """Return the reasons why mutants are equivalent, by function and edit; none where there is no such file.

    Raises CourseError for a paragraph of another form.
    """
    reasons: dict[tuple[str, str], str] = {}
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    for paragraph in filter(None, map(str.strip, text.split("\n\n"))):
        function, *lines = paragraph.splitlines()
        edits = [line for line in lines if line.startswith(EDITED)]
        reason = " ".join(line for line in lines if not line.startswith(EDITED))
        if not function.isidentifier() or not reason or not edits or not edits[0].startswith("- "):
            raise CourseError(f"{path}: expected a function, lines with `-` and `+`, and a reason, got {paragraph!r}")
        edit: list[str] = []
        for line in [*edits, "- "]:
            if line.startswith("- ") and edit and edit[-1].startswith("+ "):  # the next edit of the same reason
                reasons[function, "\n".join(edit)] = reason
                edit = []
            edit.append(line)
    return reasons


class _TooLong(BaseException):
    """Not an Exception: an answer that raises one is judged on the next question."""


def _stop(signal_number, frame):
    raise _TooLong


# ---------------------------------------------------------------- the edits


def _edits(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what may stand in the place of a node; `pass` leaves a statement out."""
    if isinstance(node, ast.BinOp | ast.BoolOp | ast.Compare):
        yield from _other_operators(node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ORDERED):
        yield ast.BinOp(node.right, node.op, node.left)
    if isinstance(node, ast.UnaryOp):
        yield node.operand
    if isinstance(node, ast.Constant):
        yield from _other_constants(node.value)
    if isinstance(node, ast.Call):
        yield from _other_calls(node)
    if isinstance(node, ast.IfExp):
        yield from (node.body, node.orelse)
    if isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Tuple):
        yield ast.Return(ast.Call(ast.Attribute(node.value, "squeeze", ast.Load()), [], []))
    if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
        yield ast.Return(ast.Tuple(node.value.elts[::-1], ast.Load()))
    if isinstance(node, ast.If | ast.While):
        yield _with(node, test=ast.UnaryOp(ast.Not(), node.test))
    docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    if isinstance(node, STATEMENTS) and not docstring:
        yield ast.Pass()


def _other_operators(node) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare):
        for other in OPERATORS.get(type(node.ops[0]), ()):
            yield _with(node, ops=[other(), *node.ops[1:]])
    else:
        for other in OPERATORS.get(type(node.op), ()):
            yield _with(node, op=other())


def _other_constants(value) -> Iterator[ast.AST]:
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        yield from (ast.Constant(value + 1), ast.Constant(value - 1))
    elif isinstance(value, float):
        yield from (ast.Constant(value + 1), ast.Constant(value / 2))


def _other_calls(node: ast.Call) -> Iterator[ast.AST]:
    method = isinstance(node.func, ast.Attribute)
    name = node.func.attr if method else getattr(node.func, "id", "")
    for other in NAMES.get(name, ()):
        yield _with(node, func=_with(node.func, **{"attr" if method else "id": other}))
    if len(node.args) >= 2 and not any(isinstance(each, ast.Starred) for each in node.args):
        for first in range(len(node.args) - 1):
            args = list(node.args)
            args[first], args[first + 1] = args[first + 1], args[first]
            yield _with(node, args=args)
    for number in range(len(node.keywords)):
        yield _with(node, keywords=[each for at, each in enumerate(node.keywords) if at != number])
    if method and not (isinstance(node.func.value, ast.Name) and node.func.value.id in ("torch", "functional", "nn")):
        yield node.func.value  # the call left out, as in x.clone() or x.unsqueeze(1)
        if name == "squeeze" and node.args:
            yield _with(node, args=[])
    elif len(node.args) >= 1 and not isinstance(node.args[0], ast.Starred) and method:
        yield node.args[0]  # torch.exp(x) becomes x


def _with(node: ast.AST, **fields) -> ast.AST:
    """Return a copy of a node with other fields."""
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _replaced(tree: ast.AST, number: int, edited: ast.AST) -> ast.AST:
    """Return a copy of the tree with `edited` in the place of the node of this number in `ast.walk`."""
    # The memo keeps `edited` apart from the tree that it was made of.
    edited, whole = copy.deepcopy(edited), copy.deepcopy(tree)
    target = next(node for at, node in enumerate(ast.walk(whole)) if at == number)

    class Replace(ast.NodeTransformer):
        def visit(self, node):
            return edited if node is target else self.generic_visit(node)

    return ast.fix_missing_locations(Replace().visit(whole))


def _changed_lines(one: str, other: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the lines, without indentation, that only one of two texts has."""
    lines = list(difflib.ndiff(one.splitlines(), other.splitlines()))
    return tuple(
        tuple(line[2:].strip() for line in lines if line.startswith(mark) and line[2:].strip()) for mark in ("- ", "+ ")
    )
