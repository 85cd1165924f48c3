"""A layer of causal attention with its projections, forward and backward; and attention alone, in tiles and at once."""

from collections.abc import Callable, Iterator

import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks.implementations import Sizes, gather, ours
from benchmarks.measuring import Candidate, interleave, ratio_of, summarise
from benchmarks.results import Goal, Row
from course_lib.attention import scaled_dot_product_attention
from course_lib.fused_attention import fused_attention
from course_lib.tiling import attend_in_tiles

TITLE = "A layer of attention"
BATCH, WIDTH, HEADS = 4, 256, 4
SECONDS = {128: 8, 256: 8, 1024: 20}  # by the number of positions
WITH_WEIGHTS = "ours, with weights"


def rows() -> Iterator[Row]:
    """Measure the layer at three lengths, and attention alone at one."""
    for time in (128, 256, 1024):
        yield _layer(time)
    yield _alone(1024)


def _layer(time: int) -> Row:
    sizes = Sizes(vocab=96, width=WIDTH, heads=HEADS, layers=1, context=time)
    layers, notes = gather("attention_layer", sizes)
    torch.manual_seed(0)  # the same weights as "ours"
    layers[WITH_WEIGHTS] = ours.attention_layer_with_weights(sizes)
    inputs = torch.randn(BATCH, time, WIDTH, requires_grad=True)
    torch.testing.assert_close(layers["ours"](inputs), layers[WITH_WEIGHTS](inputs), rtol=0, atol=1e-5)
    candidates = [Candidate(name, _forward_and_backward(layer, inputs)) for name, layer in layers.items()]
    title = f"Forward and backward, {time} positions"
    times = interleave(candidates, SECONDS[time], title=title)
    row = Row(
        f"{title} ({BATCH} sequences, width {WIDTH}, {HEADS} heads)",
        summarise(times, beside=[name for name in times if name != WITH_WEIGHTS]),
        notes=[*notes, _memory(candidates)],
    )
    row.goals.append(Goal("ours, to the fastest", row.find("ours").ratio.median, 1.05))
    if time <= 256:
        with_weights = ratio_of(times[WITH_WEIGHTS], times["ours"]).median
        row.goals.append(Goal("with weights, to without", with_weights, 1.3))
    return row


def _forward_and_backward(layer: Callable, inputs: torch.Tensor) -> Callable[[], None]:
    def call() -> None:
        layer(inputs).sum().backward()

    return call


def _memory(candidates: list[Candidate]) -> str:
    """Return in a sentence how much memory each candidate asks for in a turn, whether it is given back or not."""
    parts = []
    for candidate in candidates:
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as watched:
            candidate.call()
        asked_for = sum(max(0, event.self_cpu_memory_usage) for event in watched.events())
        parts.append(f"{candidate.name} {asked_for / 2**20:.0f} MiB")
    return f"Memory asked for in one turn: {', '.join(parts)}."


def _alone(time: int) -> Row:
    ways = {
        "all scores at once": lambda *tensors: scaled_dot_product_attention(*tensors)[0],
        "in tiles (Chapter 13)": attend_in_tiles,
        "torch's kernel": fused_attention,
    }
    tensors = [torch.randn(8, time, 64) for _ in range(3)]
    for way in ways.values():
        torch.testing.assert_close(way(*tensors), ways["all scores at once"](*tensors))
    candidates = [Candidate(name, way, lambda: tensors) for name, way in ways.items()]
    title = f"Forward only, without mask and projections, {time} positions (8 heads of width 64)"
    return Row(title, summarise(interleave(candidates, SECONDS[128], title=title)))
