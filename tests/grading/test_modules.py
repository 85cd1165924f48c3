"""Classes of nn.Module and functions that return a tuple as answers: in this process and through a worker."""

import linecache
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from course_lib.grading import notebook
from course_lib.grading.call import in_process
from course_lib.grading.checks import as_function, equals, gradients_equal, inputs_unchanged, of_output, sums_to
from course_lib.grading.engine import judge_task
from course_lib.grading.exercise import Exercise, Given, Mistake, Property, Task
from course_lib.grading.notebook_file import WHOLE_FILE, Cell
from course_lib.grading.reports import learner
from course_lib.grading.sandbox.fork_server import start_strongest
from course_lib.grading.sandbox.limits import Limits
from course_lib.grading.session import SandboxedSession
from course_lib.grading.wording import sentence

# ---------------------------------------------------------------- a class: Scaled(d_model)(inputs)


class Reference(nn.Module):
    """Each feature times its own weight, plus its own bias."""

    def __init__(self, d_model):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, inputs):
        return inputs * self.weight + self.bias


scaled = as_function(Reference, ("d_model",))


def draw_scaled(generator):
    batch, d_model = (int(torch.randint(2, 6, (), generator=generator)) for _ in range(2))
    state = {name: torch.randn(d_model, generator=generator) for name in ("weight", "bias")}
    return {"d_model": d_model, "state": state, "inputs": torch.randn(batch, d_model, generator=generator)}


EXAMPLE = {
    "d_model": 2,
    "state": {"weight": torch.tensor([2.0, 3.0]), "bias": torch.tensor([0.5, 0.0])},
    "inputs": torch.tensor([[1.0, 10.0]]),
}
SCALED = Exercise(
    id="99.1",
    title="Scale and shift",
    difficulty=1,
    minutes=5,
    tasks=(
        Task(
            function="Scaled",
            parameters=("inputs",),
            returns="inputs times weight plus bias, in the shape of inputs",
            cases=draw_scaled,
            examples=(EXAMPLE,),
            reference=scaled,
            properties=(
                Property("every feature scaled and shifted", 2, equals()),
                Property("gradients for inputs and parameters", 3, gradients_equal()),
                Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
            ),
            mistakes=(
                Mistake(
                    "bias forgotten",
                    breaks="every feature scaled and shifted",
                    sentence="this forgets the bias",
                    make=lambda: lambda d_model, state, inputs: inputs * state["weight"],
                ),
            ),
            constructor=("d_model",),
        ),
    ),
    hints=("Two parameters, one number a feature each.",),
)

MADE = """import torch
from torch import nn
class Scaled(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
    def forward(self, inputs):
        """
RIGHT = "return inputs * self.weight + self.bias"


# ---------------------------------------------------------------- a tuple: look_up(scores, values)


def look_up(scores, values):
    weights = scores.softmax(-1)
    return weights @ values, weights


LOOK_UP = Exercise(
    id="99.2",
    title="Look up",
    difficulty=1,
    minutes=5,
    tasks=(
        Task(
            function="look_up",
            parameters=("scores", "values"),
            returns="the weighted values, and the weights",
            cases=lambda generator: {
                "scores": torch.randn(3, 4, generator=generator),
                "values": torch.randn(4, int(torch.randint(2, 4, (), generator=generator)), generator=generator),
            },
            examples=({"scores": torch.zeros(1, 2), "values": torch.tensor([[1.0], [3.0]])},),
            reference=look_up,
            properties=(
                Property("the weighted values", 2, of_output(0, equals())),
                Property("weights sum to one", 1, of_output(1, sums_to(1))),
                Property("gradients", 1, gradients_equal()),
            ),
            mistakes=(
                Mistake(
                    "softmax over the queries",
                    breaks="weights sum to one",
                    sentence="this is what a softmax over the queries gives",
                    make=lambda: lambda scores, values: (scores.softmax(0) @ values, scores.softmax(0)),
                ),
            ),
            outputs=("output", "weights"),
        ),
    ),
    hints=("A softmax, then a product.",),
)


# ---------------------------------------------------------------- a function given, a truth value back


def keeps_order(layer, inputs):
    outputs = layer(inputs)
    return bool((outputs[1:] >= outputs[:-1]).all())


LAYERS = (Given("a running sum", "lambda each: each.cumsum(0)"), Given("the opposite", "lambda each: -torch.abs(each)"))

KEEPS_ORDER = Exercise(
    id="99.3",
    title="Keep the order",
    difficulty=1,
    minutes=5,
    tasks=(
        Task(
            function="keeps_order",
            parameters=("layer", "inputs"),
            returns="whether the outputs never fall",
            cases=lambda generator: {
                "layer": LAYERS[int(torch.randint(2, (), generator=generator))],
                "inputs": torch.rand(int(torch.randint(3, 6, (), generator=generator)), generator=generator).sort()[0],
            },
            examples=({"layer": LAYERS[0], "inputs": torch.tensor([1.0, 2.0])},),
            reference=lambda **named: torch.tensor(keeps_order(**named)),
            properties=(Property("rising and falling layers", 2, equals()),),
            mistakes=(
                Mistake(
                    "always",
                    breaks="rising and falling layers",
                    sentence="this says yes to every layer",
                    make=lambda: lambda layer, inputs: torch.tensor(True),
                ),
            ),
        ),
    ),
    hints=("Look at neighbours.",),
)


# ---------------------------------------------------------------- both ways to judge


@pytest.fixture(scope="module")
def fork_server():
    started = start_strongest().wait()
    yield started
    started.close()


@pytest.fixture(params=["in this process", "through a worker"])
def judged(request, fork_server):
    """Return a function that judges one source text of an answer; the two ways give the same verdicts."""

    def here(exercise, source, seed):
        (task,), names = exercise.tasks, {"__name__": "answers"}
        linecache.cache["<answer>"] = (len(source), None, source.splitlines(keepends=True), "<answer>")
        exec(compile(source, "<answer>", "exec"), names)
        return judge_task(exercise, task, in_process(names[task.function], task), seed)

    def there(exercise, source, seed):
        (task,) = exercise.tasks
        cells = [Cell(WHOLE_FILE, source)]
        with SandboxedSession(fork_server, "mine.py", cells, [task.function], Limits()) as session:
            session.submission(exercise)
            return judge_task(exercise, task, session.answerer(exercise, task), seed)

    judge = here if request.param == "in this process" else there
    return lambda exercise, source, seed=0: judge(exercise, source, seed)


def problems(result):
    """Return what is wrong, by the name of the property."""
    found = (verdict for verdict in result.verdicts if verdict.problem)
    return {verdict.property.name: sentence(verdict.problem, result.task) for verdict in found}


@pytest.mark.parametrize(
    "source",
    [
        MADE + RIGHT,
        MADE + "return torch.addcmul(self.bias, inputs, self.weight)",
        MADE + "return torch.einsum('bd,d->bd', inputs.double(), self.weight.double()).float() + self.bias",
        MADE + "return torch.stack([row * self.weight + self.bias for row in inputs])",
        MADE.replace("torch.ones(d_model)", "torch.randn(d_model)") + RIGHT,  # what it starts with is its own affair
        MADE.replace("(self, d_model)", "(self, d_model, *, gain=1.0)") + RIGHT,
    ],
)
def test_honest_modules_earn_full_marks(judged, source):
    for seed in range(3):
        assert problems(judged(SCALED, source, seed)) == {}


VALUES, GRADIENTS, UNCHANGED = (each.name for each in SCALED.tasks[0].properties)


@pytest.mark.parametrize(
    ("source", "broken", "said"),
    [
        (MADE + "raise NotImplementedError", VALUES, "not written yet: write Scaled(d_model)(inputs), which returns"),
        (MADE.replace("d_model", "width") + RIGHT, VALUES, "expected the signature Scaled(d_model)(inputs), got"),
        (MADE.replace("bias", "shift") + RIGHT.replace("bias", "shift"), VALUES, "bias"),
        (MADE.replace("nn.Parameter(torch.zeros(d_model))", "torch.zeros(d_model)") + RIGHT, VALUES, "bias"),
        (MADE + "return inputs * self.weight", VALUES, "expected [[2.5, 30.0]]"),
        (MADE + "return", VALUES, "got nothing (is `return` missing?)"),
        (MADE + f"{RIGHT}, inputs", VALUES, "got a tuple of 2 tensors, expected a tensor"),
        (MADE + "return (inputs * self.weight + self.bias).detach()", GRADIENTS, "the answer has no gradient"),
        (MADE + f"with torch.no_grad(): {RIGHT}", GRADIENTS, "the answer has no gradient"),
        (MADE + "return inputs * self.weight.detach() + self.bias", GRADIENTS, "weight: got [0.0, 0.0], expected ["),
        (MADE + "return inputs.detach() * self.weight + self.bias", GRADIENTS, "inputs: got [[0.0, 0.0]], expected ["),
        (MADE + "return inputs * self.weight.exp().log() + self.bias * 2 - self.bias.detach()", GRADIENTS, "gradient"),
        (MADE + "inputs += 0; inputs[0] = 0; return inputs", VALUES, "got [[0.0, 0.0]]"),
    ],
)
def test_wrong_modules_lose_the_points_of_what_is_wrong(judged, source, broken, said):
    for seed in range(2):
        found = problems(judged(SCALED, source, seed))
        assert broken in found and (broken == VALUES or VALUES not in found)
        assert said in found[broken] and "\n" not in found[broken]
        assert found[UNCHANGED] == "counts once the values are right"


def test_the_mistake_of_a_module_is_named(judged):
    result = judged(SCALED, MADE + "return inputs * self.weight")
    assert result.mistake.name == "bias forgotten"
    said = " ".join(learner.render(SCALED, [result]).split())
    assert "inputs [[ 1.0, 10.0]]" in said and "got [[ 2.0*, 30.0 ]] expected [[ 2.5*, 30.0 ]]" in said
    assert said.index("this forgets the bias") < said.index("FAIL")  # the diagnosis comes first


def test_a_gradient_cannot_be_right_by_chance(judged):
    """The gradient of the plain sum is one; the weights of the entries are not told, and change with the seed."""
    source = (
        MADE
        + """class Sum(torch.autograd.Function):
            @staticmethod
            def forward(context, inputs, weight, bias):
                context.save_for_backward(inputs, weight)
                return inputs * weight + bias
            @staticmethod
            def backward(context, cotangent):
                inputs, weight = context.saved_tensors
                ones = torch.ones_like(cotangent)
                return ones * weight, (ones * inputs).sum(0), ones.sum(0)
        return Sum.apply(inputs, self.weight, self.bias)"""
    )
    assert problems(judged(SCALED, source)).keys() == {GRADIENTS, UNCHANGED}
    right = source.replace("torch.ones_like(cotangent)", "cotangent")
    assert problems(judged(SCALED, right)) == {}


def test_a_class_is_checked_in_a_notebook(monkeypatch, capsys):
    found = {"Scaled": (SCALED, SCALED.tasks[0])}
    monkeypatch.setattr(notebook, "catalogue", lambda package: SimpleNamespace(find_task=found.get))
    names = {}
    exec(MADE + RIGHT, names)
    notebook.check(names["Scaled"])
    out = capsys.readouterr().out
    assert out.startswith("99.1  Scale and shift\n  ok     every feature") and "6/6    all right" in out


OUTPUT, WEIGHTS, TUPLE_GRADIENTS = (each.name for each in LOOK_UP.tasks[0].properties)
WRITTEN = "import torch\ndef look_up(scores, values):\n    weights = scores.softmax(-1)\n    return "


@pytest.mark.parametrize(
    "source",
    [
        WRITTEN + "weights @ values, weights",
        WRITTEN + "torch.einsum('qk,kd->qd', weights, values), weights.clone()",
        WRITTEN.replace("scores.softmax(-1)", "torch.exp(scores - scores.logsumexp(-1, keepdim=True))")
        + "tuple([weights.double() @ values.double(), weights])".replace(" @ values.double()", ".float() @ values"),
    ],
)
def test_honest_tuples_earn_full_marks(judged, source):
    for seed in range(3):
        assert problems(judged(LOOK_UP, source, seed)) == {}


@pytest.mark.parametrize(
    ("end", "broken", "said"),
    [
        ("weights @ values", {OUTPUT, WEIGHTS, TUPLE_GRADIENTS}, "got one tensor, expected a tuple (output, weights)"),
        ("weights @ values, weights, 1 * weights", {OUTPUT, WEIGHTS, TUPLE_GRADIENTS}, "got a tuple of 3 tensors"),
        ("[weights @ values, weights]", {OUTPUT, WEIGHTS, TUPLE_GRADIENTS}, "got a list, expected a tuple (output"),
        ("weights @ values, None", {OUTPUT, WEIGHTS, TUPLE_GRADIENTS}, "got None inside the tuple"),
        ("weights @ values, scores.exp()", {WEIGHTS}, "a row [1.0, 1.0] sums to 2.0, expected 1"),
        ("weights.detach() @ values, weights", {TUPLE_GRADIENTS}, "gradient for scores"),
    ],
)
def test_wrong_tuples_lose_the_points_of_what_is_wrong(judged, end, broken, said):
    found = problems(judged(LOOK_UP, WRITTEN + end))
    assert found.keys() == broken and all(said in found[name] for name in broken)


def test_the_mistake_of_a_tuple_is_named(judged):
    result = judged(LOOK_UP, WRITTEN.replace("-1", "0") + "weights @ values, weights")
    assert result.mistake.name == "softmax over the queries"


@pytest.mark.parametrize(
    "end", ["bool((y[1:] >= y[:-1]).all())", "(y.diff() >= 0).all()", "all(bool(a <= b) for a, b in zip(y, y[1:]))"]
)
def test_a_given_function_is_called_and_a_truth_value_counts(judged, end):
    source = f"def keeps_order(layer, inputs):\n    y = layer(inputs)\n    return {end}"
    for seed in range(3):
        assert problems(judged(KEEPS_ORDER, source, seed)) == {}


def test_a_report_names_a_given_function_and_a_learner_is_not_told_its_name(judged):
    result = judged(KEEPS_ORDER, "def keeps_order(layer, inputs):\n    return not hasattr(layer, 'title')")
    (problem,) = problems(result).values()
    assert "layer = the opposite" in problem and "got True, expected False" in problem
    assert result.mistake.name == "always"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            (MADE + RIGHT).replace("self.bias", "self.offset"),
            "Scaled lacks bias (2,), and has parameters that nobody asked for: offset (2,)",
        ),
        (
            MADE.replace("zeros(d_model)", "zeros(1)") + RIGHT,
            "Scaled lacks bias (2,), and has parameters that nobody asked for: bias (1,)",
        ),
        (MADE.replace("self.bias = nn.Parameter", "self.bias = ") + RIGHT, "Scaled lacks bias (2,)"),
        (
            MADE.replace("        self.bias", "        self.spare = nn.Parameter(torch.zeros(2, 3))\n        self.bias")
            + RIGHT,
            "Scaled has parameters that nobody asked for: spare (2, 3)",
        ),
    ],
)
def test_parameters_of_another_name_or_shape_are_said(judged, source, said):
    assert said in problems(judged(SCALED, source))["every feature scaled and shifted"]
