"""One step of training a language model of 1.8 million parameters: forward, backward, clipping, AdamW."""

from collections.abc import Callable, Iterator

import torch
from torch import nn

from benchmarks.flops import matrix_product, utilisation
from benchmarks.implementations import Sizes, Trainable, gather
from benchmarks.measuring import Candidate, interleave, ratio_of, summarise
from benchmarks.results import Goal, Row
from course_lib.losses import token_losses
from course_lib.training import MAX_GRAD_NORM, Training

TITLE = "A step of a language model"
SIZES = Sizes(vocab=96, width=192, heads=6, layers=4, context=512)
TOKENS = 2048  # in a batch
SECONDS = 50
SAME_LOOP = "ours, in the others' loop"


def rows() -> Iterator[Row]:
    """Measure a step at two lengths, and in half precision where the processor is made for it."""
    for time in (128, 512):
        row, times, used = training_row(SIZES, TOKENS // time, time, SECONDS)
        row.goals.extend(
            [
                Goal("ours, to the fastest", row.find("ours").ratio.median, 1.03),
                Goal(
                    "torch's nn.TransformerEncoder, to ours", ratio_of(times["torch"], times["ours"]).median, 1.15, True
                ),
                Goal("utilisation of the matrix-product peak", used, 0.55, True),
            ]
        )
        yield row
    yield _half_precision()


def training_row(sizes: Sizes, batch: int, time: int, seconds: float) -> tuple[Row, dict[str, list[float]], float]:
    """Measure one step of every implementation with the same batch; return our utilisation, too.

    The row has one goal so far: to be no slower than nanoGPT, where it is there.
    """
    models, notes = gather("language_model", sizes)
    tokens = torch.randint(sizes.vocab, (batch, time + 1), generator=torch.Generator().manual_seed(0))
    inputs, targets = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()  # each (batch, time)
    models[SAME_LOOP] = gather("language_model", sizes)[0]["ours"]
    steps = {name: plain_step(model, inputs, targets) for name, model in models.items()}
    steps["ours"] = course_step(models["ours"].module, inputs, targets)
    candidates = [Candidate(name, step) for name, step in steps.items()]
    title = f"{time} positions, batch of {batch}"
    product = matrix_product()
    times = interleave([*candidates, product], seconds, title=title)
    row = Row(f"{title}, width {sizes.width}, {sizes.layers} layers", summarise(times, beside=list(steps)), notes=notes)
    row.measured.remove(row.find(product.name))
    peak = min(times[product.name])
    used = {}
    for each in row.measured:
        parameters = sum(parameter.numel() for parameter in models[each.name].module.parameters())
        used[each.name] = utilisation(parameters, sizes, batch, time, each.seconds.median, peak)
    row.notes.append(f"Utilisation: {', '.join(f'{name} {share:.0%}' for name, share in used.items())}.")
    if "nanoGPT" in times:
        row.goals.append(Goal("ours, to nanoGPT", ratio_of(times["ours"], times["nanoGPT"]).median, 1.0))
    return row, times, used["ours"]


def plain_step(model: Trainable, *batch: torch.Tensor, fused: bool | None = None) -> Callable[[], None]:
    """Return one step as most projects write it: clipping as nanoGPT's, and AdamW as torch chooses it, or `fused`."""
    optimiser = torch.optim.AdamW(model.module.parameters(), lr=1e-4, weight_decay=0.01, fused=fused)
    model.module.train()

    def step() -> None:
        optimiser.zero_grad(set_to_none=True)
        model.loss(*batch).backward()
        nn.utils.clip_grad_norm_(model.module.parameters(), MAX_GRAD_NORM)
        optimiser.step()

    return step


def course_step(
    model: nn.Module, inputs: torch.Tensor, targets: torch.Tensor, losses_of: Callable | None = None
) -> Callable[[], object]:
    """Return one step of the course's own loop, with all that it does beside: `course train` takes such steps.

    `losses_of(inputs, targets)` gives the losses (batch, time) in another way than the model as it is.
    """

    def losses(generator: torch.Generator):
        each = losses_of(inputs, targets) if losses_of else token_losses(model(inputs), targets)  # (batch, time)
        yield each.sum(), each.numel()

    return Training(model, losses, steps=10**6, learning_rate=1e-4, seed=0, weight_decay=0.01).advance


def _half_precision() -> Row:
    """Measure our step in float32 and under autocast to bfloat16, where the CPU multiplies bfloat16 in tiles (AMX)."""
    title = "bfloat16 beside float32, 128 positions"
    if not torch.cpu._is_amx_tile_supported():
        return Row(title, [], notes=["Not measured: this processor has no AMX, without which bfloat16 gains nothing."])
    names = "ours, float32", "ours, bfloat16"
    tokens = torch.randint(SIZES.vocab, (16, 129), generator=torch.Generator().manual_seed(0))
    candidates = []
    for name in names:
        model = gather("language_model", SIZES)[0]["ours"]
        step = course_step(model.module, tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous())
        candidates.append(Candidate(name, _under_autocast(step) if "bfloat16" in name else step))
    times = interleave(candidates, SECONDS, title=title)
    faster = ratio_of(times[names[0]], times[names[1]]).median
    return Row(title, summarise(times), goals=[Goal("float32, to bfloat16", faster, 2.0, True)])


def _under_autocast(step: Callable[[], object]) -> Callable[[], None]:
    def call() -> None:
        with torch.autocast("cpu", torch.bfloat16):
            step()

    return call
