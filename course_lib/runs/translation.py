"""Training an encoder and decoder: on number names, on Multi30k, or on pairs of lines of the reader's own."""

from functools import cached_property

import torch
from torch.nn.utils.rnn import pad_sequence

from course_lib.data import multi30k, number_names
from course_lib.data.text_files import read_pairs
from course_lib.data.vocabularies import END, PADDING, START, learn_vocabulary
from course_lib.decoding import beam_search, greedy_decode
from course_lib.losses import token_losses
from course_lib.models.encoder_decoder import EncoderDecoder
from course_lib.project import CourseError
from course_lib.runs.task import Batch, Measured, Task, divided, full
from course_lib.runs.vocabularies import Listed, Vocabulary

QUICK = 200  # pairs are looked at in each evaluation
TOGETHER = 100  # pairs are read at once
SHOWN = 5


class Translation(Task):
    """Write in one language what is said in another."""

    unit, right = "nats a token", "translations"

    @cached_property
    def pairs(self) -> dict[str, list[tuple[str, str]]]:
        """The pairs (source, target) to train on, "train", to look at on the way, "val", and for the "test"."""
        name = self.settings.data
        if name == "multi30k":
            return {split: list(multi30k.load(split)) for split in ("train", "val", "test")}
        if name == "number-names":
            held_out = number_names.held_out()
            rows = zip(held_out.source, held_out.target, strict=True)
            pairs = [(self.vocabulary.decode(source), self.vocabulary.decode(target)) for source, target in rows]
            return {"train": [], "val": pairs, "test": pairs}  # what is trained on is drawn as numbers
        pairs = list(read_pairs(name))
        if len(pairs) < 2:
            raise CourseError(f"{name} has a single pair, expected at least 2: one to train with and one held out")
        kept, held_out = divided(pairs)
        return {"train": kept, "val": held_out, "test": held_out}

    def make_vocabulary(self) -> Listed | Vocabulary:
        """Return the words of the number names, or one vocabulary for both languages."""
        if self.settings.data == "number-names":
            return Listed(number_names.VOCABULARY, separator=" ", silent=END + 1)
        texts = (text for pair in self.pairs["train"] for text in pair)
        return learn_vocabulary(self.settings.vocabulary, texts, self.settings.entries)

    @cached_property
    def training(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """The training pairs as tokens."""
        return [self.encoded(*pair) for pair in self.pairs["train"]]

    def encoded(self, source: str, target: str) -> tuple[torch.Tensor, torch.Tensor]:
        """Return source (n,) and target (m,), which ends with END, both cut to the longest sequence."""
        longest = self.settings.context
        target = [*self.vocabulary.encode(target)[: longest - 1], END]
        return torch.tensor(self.vocabulary.encode(source)[:longest]), torch.tensor(target)

    def make_model(self) -> EncoderDecoder:
        """Return an untrained model."""
        settings = self.settings
        return EncoderDecoder(
            len(self.vocabulary),
            settings.width,
            settings.heads,
            settings.layers,
            d_hidden=(2 if settings.data == "number-names" else 4) * settings.width,
            dropout=settings.dropout,
        )

    def amount(self) -> str:
        """Return in words how much data there is."""
        held_out = f"{len(self.pairs['val']):,} held out"
        if self.settings.data == "number-names":
            return f"{number_names.TRAINING:,} numbers in two languages to train with, {held_out}"
        return f"{len(self.training):,} pairs to train with, {held_out}; {len(self.vocabulary):,} kinds of tokens"

    def draw(self, number: int, generator: torch.Generator) -> Batch:
        """Return sources (number, n) and targets (number, m), padded."""
        if self.settings.data == "number-names":
            drawn = number_names.draw_number_names(number, generator)
            return drawn.source, drawn.target
        chosen = torch.randint(len(self.training), (number,), generator=generator)  # (number,)
        return _together([self.training[index] for index in chosen.tolist()])

    def losses(self, model, batch: Batch, smoothing: float | None = None) -> tuple[torch.Tensor, int]:
        """Return the summed losses of the tokens of the targets, END among them, and how many there are."""
        source, target = batch  # (row, n), (row, m)
        start = torch.full_like(target[:, :1], START)  # (row, 1)
        words = torch.cat([start, target[:, :-1]], dim=1)  # (row, m): what stands before each token
        smoothing = self.settings.smoothing if smoothing is None else smoothing
        losses = token_losses(full(model(source, words)), target, smoothing)  # (row, m)
        present = target != PADDING  # (row, m)
        return losses.masked_fill(~present, 0.0).sum(), int(present.sum())

    @torch.no_grad()
    def measure(self, model, thorough: bool = False) -> Measured:
        """Return the loss of held-out tokens, without smoothing, and the share of translations without a mistake."""
        pairs = self.pairs["test"] if thorough else self.pairs["val"][:QUICK]
        device = next(model.parameters()).device
        total = predictions = 0
        for first in range(0, len(pairs), TOGETHER):
            rows = _together([self.encoded(*pair) for pair in pairs[first : first + TOGETHER]])
            loss, number = self.losses(model, tuple(row.to(device) for row in rows), smoothing=0.0)
            total, predictions = total + loss.item(), predictions + number
        written = self.translated(model, [source for source, _ in pairs])
        right = sum(own == target for own, (_, target) in zip(written, pairs, strict=True))
        others = {"BLEU": _bleu(written, [target for _, target in pairs])} if thorough else {}
        return Measured(total / predictions, right / len(pairs), others)

    @torch.no_grad()
    def translated(self, model, sources: list[str]) -> list[str]:
        """Return a translation of each source, each time with the most probable word."""
        device, texts = next(model.parameters()).device, []
        for first in range(0, len(sources), TOGETHER):
            rows = [self.encoded(source, "") for source in sources[first : first + TOGETHER]]
            source = _together(rows)[0].to(device)  # (row, n)
            prompt = torch.full((len(source), 1), START, device=device)  # (row, 1)
            longest = min(self.settings.context, 2 * source.shape[1] + 10)
            tokens = greedy_decode(model.writer(source), prompt, END, longest)  # (row, 1 + new)
            texts += [self.vocabulary.decode(row) for row in tokens.tolist()]
        return texts

    @torch.no_grad()
    def searched(self, model, source: str, width: int) -> list[tuple[str, float]]:
        """Return up to `width` translations with their log probabilities, the most probable first."""
        row = self.encoded(source, "")[0].unsqueeze(0)  # (1, n)
        if not row.numel():
            raise CourseError("there is nothing to translate: say what with `--prompt`")
        candidates = beam_search(model.writer(row), torch.tensor([[START]]), END, width, self.settings.context)
        return [(self.vocabulary.decode(candidate.tokens), candidate.log_probability) for candidate in candidates]

    def samples(self, model) -> str:
        """Return some held-out pairs and what the model makes of them."""
        pairs = self.pairs["val"][:SHOWN]
        written = self.translated(model, [source for source, _ in pairs])
        return "\n".join(
            f"{source}\n  expected: {target}\n  written:  {own}"
            for (source, target), own in zip(pairs, written, strict=True)
        )


def _together(rows: list[tuple[torch.Tensor, torch.Tensor]]) -> Batch:
    """Return sources (row, n) and targets (row, m), padded at the end."""
    sources, targets = zip(*rows, strict=True)
    return (
        pad_sequence(sources, batch_first=True, padding_value=PADDING),
        pad_sequence(targets, batch_first=True, padding_value=PADDING),
    )


def _bleu(written: list[str], expected: list[str]) -> float:
    """Return BLEU (Papineni et al., 2002), from 0 to 100, as sacrebleu (Post, 2018) counts it."""
    from sacrebleu import corpus_bleu

    return corpus_bleu(written, [expected]).score
