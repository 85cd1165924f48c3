"""The encoder and decoder, 3 + 3 layers of width 128: a step of training, and writing greedily for 1 and 16 sources."""

from collections.abc import Iterator

import torch

from benchmarks.implementations import PADDING, START, Sizes, bare, gather, ours
from benchmarks.measuring import Candidate, interleave, ratio_of, summarise
from benchmarks.results import Goal, Row
from benchmarks.rows.language_model import plain_step
from course_lib.losses import token_losses
from course_lib.training import Training

TITLE = "Encoder and decoder"
SIZES = Sizes(vocab=512, width=128, heads=4, layers=3, context=128)
BATCH, SOURCE, TARGET = 32, 32, 32
WRITTEN = 48
SECONDS = 30
SAME_LOOP = "ours, in the others' loop"


def rows() -> Iterator[Row]:
    """Measure a step, then writing."""
    yield _training()
    for batch, least in ((1, 2.0), (16, 3.4)):
        yield _writing(batch, least)


def _batch(rows: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return source (row, n), words (row, m) and targets (row, m); lengths from half to all, padded at the end."""
    generator = torch.Generator().manual_seed(0)
    source = torch.randint(START + 1, SIZES.vocab, (rows, SOURCE), generator=generator)
    targets = torch.randint(START + 1, SIZES.vocab, (rows, TARGET), generator=generator)
    for tokens in (source, targets):
        lengths = torch.linspace(tokens.shape[1] / 2, tokens.shape[1], rows).ceil()  # (row,)
        tokens[torch.arange(tokens.shape[1]) >= lengths[:, None]] = PADDING
    words = torch.cat([torch.full((rows, 1), START), targets[:, :-1]], dim=1)
    return source, words, targets


def _training() -> Row:
    models, notes = gather("encoder_decoder", SIZES)
    batch = _batch(BATCH)
    models[SAME_LOOP] = gather("encoder_decoder", SIZES)[0]["ours"]
    steps = {name: plain_step(model, *batch) for name, model in models.items()}
    steps["ours"] = _course_step(models["ours"].module, *batch)
    title = f"One step, {BATCH} pairs of at most {SOURCE} and {TARGET} tokens"
    times = interleave([Candidate(name, step) for name, step in steps.items()], SECONDS, title=title)
    row = Row(title, summarise(times), notes=notes)
    row.goals.append(Goal("ours, to the fastest", row.find("ours").ratio.median, 1.05))
    return row


def _course_step(model, source, words, targets):
    present = targets != PADDING  # (batch, m)

    def losses(generator):
        each = token_losses(model(source, words), targets)  # (batch, m)
        yield each.masked_fill(~present, 0.0).sum(), int(present.sum())

    return Training(model, losses, steps=10**6, learning_rate=1e-4, seed=0, weight_decay=0.01).advance


def _writing(batch: int, least: float) -> Row:
    models, notes = gather("encoder_decoder", SIZES)
    for model in models.values():
        model.module.eval()
    own = models["ours"].module
    ours.talkative(own, own.decoder_norm)
    writers = {name: model.write for name, model in models.items()}
    writers["bare loop"] = bare.translator(SIZES, own)
    source = _batch(16)[0]  # (16, n)
    expected = models["ours"].write(source, WRITTEN, cached=False)  # (16, WRITTEN)
    for name in ("ours", "bare loop"):
        if not torch.equal(writers[name](source, WRITTEN), expected):
            raise ValueError(f"{name} writes other tokens than ours without a cache")
    source = source[-batch:]  # (batch, n)
    candidates = [Candidate(name, write, lambda: (source, WRITTEN)) for name, write in writers.items()]
    title = f"{WRITTEN} tokens for {batch} {'sources' if batch > 1 else 'source'}"
    times = interleave(candidates, SECONDS, title=title)
    row = Row(title, summarise(times), notes=notes)
    row.notes.append("Ours, with and without cache, and the bare loop wrote the same tokens.")
    row.goals.extend(
        [
            Goal("ours, to the fastest", row.find("ours").ratio.median, 1.3),
            Goal("torch's nn.Transformer, to ours", ratio_of(times["torch"], times["ours"]).median, least, True),
        ]
    )
    return row
