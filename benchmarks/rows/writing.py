"""Writing 256 tokens greedily, and one token at the beginning and at the end of the context."""

from collections.abc import Callable, Iterator

import torch

from benchmarks.implementations import Sizes, gather, ours
from benchmarks.measuring import Candidate, interleave, ratio_of, summarise
from benchmarks.results import Goal, Row

TITLE = "Writing text"
SIZES = Sizes(vocab=96, width=192, heads=6, layers=4, context=512)
LENGTH = 256
SECONDS = 40
FEW = 16  # tokens are written at each end of the context
ANEW = "ours, without cache"


def rows() -> Iterator[Row]:
    """Measure a whole text, and a token at each end."""
    yield _text()
    yield _ends()


def _text() -> Row:
    writers, notes = gather("writer", SIZES)
    torch.manual_seed(0)  # the same weights as "ours"
    writers[ANEW] = ours.writer_without_cache(SIZES)
    prompt = torch.tensor([[1]])
    check_same({name: writers[name] for name in ("ours", ANEW, "bare loop")}, SIZES.vocab)
    candidates = [Candidate(name, write, lambda: (prompt, LENGTH)) for name, write in writers.items()]
    title = f"{LENGTH} tokens"
    times = interleave(candidates, SECONDS, title=title)
    row = Row(f"{title}, one text, width {SIZES.width}, {SIZES.layers} layers", summarise(times), notes=notes)
    row.notes.append("Ours, with and without cache, and the bare loop wrote the same tokens.")
    each = row.find("ours").seconds.median / LENGTH
    row.notes.append(f"One token of ours took {1000 * each:.2f} ms.")
    row.goals.append(Goal("ours, to the bare loop", ratio_of(times["ours"], times["bare loop"]).median, 1.3))
    if "nanoGPT" in times:
        row.goals.append(Goal("nanoGPT, to ours", ratio_of(times["nanoGPT"], times["ours"]).median, 5.5, True))
    return row


def check_same(writers: dict[str, Callable], vocab: int) -> None:
    """Raise ValueError unless all of them go on in the same way after several beginnings, and not always in one way."""
    prompts = torch.randint(vocab, (12, 1, 20), generator=torch.Generator().manual_seed(1))
    texts = {name: [write(prompt, 12)[0, 20:].tolist() for prompt in prompts] for name, write in writers.items()}
    for name, text in texts.items():
        if text != texts["ours"]:
            raise ValueError(f"{name} writes other tokens than ours")
    if len({token for text in texts["ours"] for token in text}) < 10:
        raise ValueError("ours writes hardly any different tokens, so that equal texts mean nothing")


def _ends() -> Row:
    torch.manual_seed(0)
    model = ours.writing_model(SIZES)
    tokens = torch.randint(SIZES.vocab, (1, SIZES.context), generator=torch.Generator().manual_seed(0))

    def continued_from(start: int) -> Callable[[], tuple]:
        def prepare() -> tuple:
            scorer = model.next_token_scorer()
            scorer(tokens[:, :start])  # reads all that stands before; not timed
            return scorer, start

        return prepare

    def read_on(scorer: Callable, start: int) -> None:
        for end in range(start + 1, start + FEW + 1):
            scorer(tokens[:, :end])

    first, last = f"tokens 2 to {FEW + 1}", f"tokens {SIZES.context - FEW + 1} to {SIZES.context}"
    candidates = [
        Candidate(first, read_on, continued_from(1)),
        Candidate(last, read_on, continued_from(SIZES.context - FEW)),
    ]
    title = "Our cached loop, at the beginning and at the end of the context"
    times = interleave(candidates, SECONDS / 8, title=title)
    goal = Goal("a token at the end, to one at the beginning", ratio_of(times[last], times[first]).median, 1.6)
    return Row(title, summarise(times), goals=[goal])
