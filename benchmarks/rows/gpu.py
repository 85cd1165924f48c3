"""One step of training a model of GPT-2's smallest size, 124 million parameters, in bfloat16 on one GPU."""

import time
from collections.abc import Callable, Iterator

import torch
from torch import nn

from benchmarks.flops import matrix_product, utilisation
from benchmarks.implementations import Sizes, Trainable, gather
from benchmarks.measuring import Candidate, interleave, ratio_of, summarise
from benchmarks.results import Goal, Row
from course_lib.runs.task import losses_in_float32
from course_lib.training import MAX_GRAD_NORM, Training

TITLE = "A step of 124 million parameters on a GPU"
ASKED_FOR = True
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
    tokens = torch.randint(SIZES.vocab, (BATCH, SIZES.context + 1), device="cuda")
    batch = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()  # each (batch, time)
    made, notes = gather("language_model", SIZES)
    models = {name: model for name, model in made.items() if name in COMPARED}
    for model in models.values():
        model.module.to("cuda")
    steps = {name: _step(model, *batch) for name, model in models.items()}
    steps["ours"] = _course_step(models["ours"].module, models["ours"].module, losses_in_float32, *batch)
    # Compiled, the same weights are trained on: what a step costs does not depend on them.
    compiled, compiled_losses = (
        torch.compile(each, fullgraph=True) for each in (models["ours"].module, losses_in_float32)
    )
    steps["ours, compiled"] = _course_step(models["ours"].module, compiled, compiled_losses, *batch)
    if "nanoGPT" in models:
        compiled = torch.compile(models["nanoGPT"].module)
        steps["nanoGPT, compiled"] = _step(
            Trainable(models["nanoGPT"].module, lambda inputs, targets: compiled(inputs, targets)[1]), *batch
        )
    candidates = [Candidate(name, step) for name, step in steps.items()]
    product = matrix_product(SIDE, "cuda", torch.bfloat16)
    for each in candidates:  # compiling belongs to no round
        each.turn(_finished)
    times = interleave([*candidates, product], SECONDS, clock=_finished, title=title)
    row = Row(title, summarise(times, beside=list(steps)), notes=[note for note in notes if "nanoGPT" in note])
    row.measured.remove(row.find(product.name))
    row.notes.append(f"On one {torch.cuda.get_device_name()}, by the clock on the wall, after all work is done.")
    peak, rates, used = min(times[product.name]), [], []
    for each in row.measured:
        parameters = sum(parameter.numel() for parameter in models[each.name.partition(",")[0]].module.parameters())
        rates.append(f"{each.name}: {BATCH * SIZES.context / each.seconds.median:,.0f}")
        share = utilisation(parameters, SIZES, BATCH, SIZES.context, each.seconds.median, peak, SIDE)
        used.append(f"{each.name}: {share:.0%}")
    row.notes.append(f"Tokens a second. {'; '.join(rates)}.")
    row.notes.append(
        f"Utilisation. {'; '.join(used)}; of the {2 * SIDE**3 / peak / 1e12:.0f} trillion operations a second of a "
        "large product of matrices."
    )
    if "nanoGPT" in times:
        for kind in ("", ", compiled"):
            slower = ratio_of(times[f"ours{kind}"], times[f"nanoGPT{kind}"]).median
            row.goals.append(Goal(f"ours{kind}, to nanoGPT{kind}", slower, 1.0))
    yield row


def _finished() -> float:
    """Return the time when the GPU has done what it was given: it works on while Python goes ahead."""
    torch.cuda.synchronize()
    return time.perf_counter()


def _step(model: Trainable, *batch: torch.Tensor) -> Callable[[], None]:
    """Return one step as nanoGPT takes it on a GPU: the loss under autocast, and one kernel that updates all."""
    optimiser = torch.optim.AdamW(model.module.parameters(), lr=1e-4, weight_decay=0.01, fused=True)
    model.module.train()

    def step() -> None:
        optimiser.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16):
            loss = model.loss(*batch)
        loss.backward()
        nn.utils.clip_grad_norm_(model.module.parameters(), MAX_GRAD_NORM)
        optimiser.step()

    return step


def _course_step(
    model: nn.Module, net: Callable, losses_of: Callable, inputs: torch.Tensor, targets: torch.Tensor
) -> Callable[[], object]:
    """Return the step of `course train --bf16`; `net` is the model, or what the compiler has made of it."""

    def losses(generator: torch.Generator):
        with torch.autocast("cuda", torch.bfloat16):
            each = losses_of(net(inputs), targets)  # (batch, time)
            total = each.sum()
        yield total, each.numel()

    return Training(model, losses, steps=10**6, learning_rate=1e-4, seed=0, weight_decay=0.01).advance
