"""Training an encoder and decoder. The rows of its data sets are pairs (source, target): "train", "val" and "test"."""

from collections.abc import Iterator
from functools import cached_property

import torch
from torch.nn.utils.rnn import pad_sequence

from course_lib.data.vocabularies import END, PADDING, START
from course_lib.decoding import beam_search, greedy_decode
from course_lib.models.encoder_decoder import EncoderDecoder
from course_lib.project import CourseError
from course_lib.runs.task import Batch, Measured, TrainingTask

QUICK = 200  # pairs are looked at in each evaluation
TOGETHER = 100  # pairs are read at once
SHOWN = 5


class Translation(TrainingTask):
    """Write in one language what is said in another."""

    unit, right = "nats a token", "translations"

    @cached_property
    def pairs(self) -> dict[str, list[tuple[str, str]]]:
        """The pairs (source, target) to train on, "train", to look at on the way, "val", and for the "test"."""
        return dict(self.dataset.load())

    def training_texts(self) -> Iterator[str]:
        """Return the texts of both languages, which have one vocabulary."""
        return (text for pair in self.pairs["train"] for text in pair)

    @cached_property
    def training(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """The training pairs as tokens."""
        return [self.encoded(*pair) for pair in self.pairs["train"]]

    def encoded(self, source: str, target: str) -> tuple[torch.Tensor, torch.Tensor]:
        """Return source (n,) and target (m,), which ends with END, both cut to the longest sequence."""
        max_length = self.settings.context
        target = [*self.vocabulary.encode(target)[: max_length - 1], END]
        return torch.tensor(self.vocabulary.encode(source)[:max_length]), torch.tensor(target)

    def make_model(self) -> EncoderDecoder:
        """Return an untrained model."""
        settings = self.settings
        return EncoderDecoder(
            len(self.vocabulary),
            settings.width,
            settings.heads,
            settings.layers,
            d_hidden=self.dataset.expansion * settings.width,
            dropout=settings.dropout,
        )

    def amount(self) -> str:
        """Return in words how much data there is."""
        held_out = f"{len(self.pairs['val']):,}"
        if self.dataset.draw:
            return self.dataset.amount.format(held_out=held_out)
        return (
            f"{len(self.training):,} pairs to train with, {held_out} held out; {len(self.vocabulary):,} kinds of tokens"
        )

    def draw(self, number: int, generator: torch.Generator) -> Batch:
        """Return sources (number, n) and targets (number, m), padded."""
        if self.dataset.draw:
            return self.dataset.draw(number, generator)
        chosen = torch.randint(len(self.training), (number,), generator=generator)  # (number,)
        return _together([self.training[index] for index in chosen.tolist()])

    def losses(self, model, batch: Batch, smoothing: float | None = None) -> tuple[torch.Tensor, int]:
        """Return the summed losses of the tokens of the targets, END among them, and how many there are."""
        source, target = batch  # (row, n), (row, m)
        start = torch.full_like(target[:, :1], START)  # (row, 1)
        words = torch.cat([start, target[:, :-1]], dim=1)  # (row, m): what stands before each token
        smoothing = self.settings.smoothing if smoothing is None else smoothing
        losses = self.token_losses(model(source, words), target, smoothing)  # (row, m)
        present = target != PADDING  # (row, m)
        return losses.masked_fill(~present, 0.0).sum(), int(present.sum())

    @torch.no_grad()
    def measure(self, model, thorough: bool = False) -> Measured:
        """Return the loss of held-out tokens, without smoothing, and the fraction of translations without a mistake."""
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
            max_length = min(self.settings.context, 2 * source.shape[1] + 10)
            tokens = greedy_decode(model.next_token_scorer(source), prompt, END, max_length)  # (row, 1 + new)
            texts += [self.vocabulary.decode(row) for row in tokens.tolist()]
        return texts

    @torch.no_grad()
    def searched(self, model, source: str, width: int) -> list[tuple[str, float]]:
        """Return up to `width` translations with their log probabilities, the most probable first."""
        row = self.encoded(source, "")[0].unsqueeze(0)  # (1, n)
        if not row.numel():
            raise CourseError("there is nothing to translate: say what with `--prompt`")
        candidates = beam_search(
            model.next_token_scorer(row), torch.tensor([[START]]), END, width, self.settings.context
        )
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
