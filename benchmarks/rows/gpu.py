"""One step of training a model of GPT-2's smallest size, 124 million parameters, in bfloat16 on one GPU."""

import time
from collections.abc import Callable, Iterator

import torch

from benchmarks.flops import matrix_product, utilisation
from benchmarks.implementations import Sizes, Trainable, gather
from benchmarks.measuring import Candidate, interleave, ratio_of, summarise
from benchmarks.results import Goal, Row
from benchmarks.rows.language_model import course_step, plain_step
from course_lib.runs.task import losses_in_float32

TITLE = "A step of 124 million parameters on a GPU"
ASKED_FOR = True
DEVICE = "cuda"
SIZES = Sizes(vocab=50304, width=768, heads=12, layers=12, context=1024)
BATCH = 16
SIDE = 8192  # of the matrices whose product is the peak of a GPU
SECONDS = 60
COMPARED = ("ours", "torch", "nanoGPT")


def rows() -> Iterator[Row]:
    """Measure the step of each as its authors write it, and that of ours and nanoGPT's compiled."""
    title = f"{SIZES.context} positions, batch of {BATCH}, bfloat16"
    if not torch.cuda.is_available():
        yield Row(title, [], notes=["Not measured: there is no GPU here."])
        return
    made, notes = gather("language_model", SIZES)
    models = {name: model for name, model in made.items() if name in COMPARED}
    candidates = [Candidate(name, step) for name, step in _steps(models).items()]
    for each in candidates:  # compiling belongs to no round
        each.turn(_finished)
    product = matrix_product(SIDE, DEVICE, torch.bfloat16)
    times = interleave([*candidates, product], SECONDS, clock=_finished, title=title)
    measured = summarise(times, beside=[each.name for each in candidates])
    row = Row(title, measured, notes=[note for note in notes if "nanoGPT" in note])
    row.measured.remove(row.find(product.name))
    row.notes.append(f"On one {torch.cuda.get_device_name()}, by the clock on the wall, after all work is done.")
    peak, rates, used = min(times[product.name]), [], []
    for each in row.measured:
        module, step = models[each.name.partition(",")[0]].module, each.seconds.median
        parameters = sum(parameter.numel() for parameter in module.parameters())
        rates.append(f"{each.name}: {BATCH * SIZES.context / step:,.0f}")
        used.append(f"{each.name}: {utilisation(parameters, SIZES, BATCH, SIZES.context, step, peak, SIDE):.0%}")
    row.notes.append(f"Tokens a second. {'; '.join(rates)}.")
    row.notes.append(
        f"Utilisation. {'; '.join(used)}; of the {2 * SIDE**3 / peak / 1e12:.0f} trillion operations a second of a "
        "large product of matrices."
    )
    if "nanoGPT" in models:
        for kind in ("", ", compiled"):
            slower = ratio_of(times[f"ours{kind}"], times[f"nanoGPT{kind}"]).median
            row.goals.append(Goal(f"ours{kind}, to nanoGPT{kind}", slower, 1.0))
    yield row


def _steps(models: dict[str, Trainable]) -> dict[str, Callable[[], object]]:
    """Return by name a step of each model, in half precision, and what the compiler makes of ours and nanoGPT's.

    Compiled or not, a model's own weights are trained on: what a step costs does not depend on them.
    """
    half = torch.autocast(DEVICE, torch.bfloat16)
    tokens = torch.randint(SIZES.vocab, (BATCH, SIZES.context + 1), device=DEVICE)
    batch = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()  # each (batch, time)
    steps = {}
    for name, model in models.items():
        model.module.to(DEVICE)
        steps[name] = plain_step(Trainable(model.module, half(model.loss)), *batch, fused=True)
    ours = models["ours"].module

    def ours_with(net: Callable, losses: Callable) -> Callable[[], object]:
        return course_step(ours, *batch, half(lambda inputs, targets: losses(net(inputs), targets)))

    steps["ours"] = ours_with(ours, losses_in_float32)
    compiled = [torch.compile(each, fullgraph=True) for each in (ours, losses_in_float32)]
    steps["ours, compiled"] = ours_with(*compiled)
    if "nanoGPT" in models:
        net = torch.compile(models["nanoGPT"].module)
        loss = half(lambda inputs, targets: net(inputs, targets)[1])
        steps["nanoGPT, compiled"] = plain_step(Trainable(models["nanoGPT"].module, loss), *batch, fused=True)
    return steps


def _finished() -> float:
    """Return the time when the GPU has done what it was given: it works on while Python goes ahead."""
    torch.cuda.synchronize()
    return time.perf_counter()
