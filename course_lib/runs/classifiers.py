"""Training a classifier of sequences. The rows of its data sets are pairs (label, text): "train" and "test"."""

from collections.abc import Iterator
from functools import cached_property

import torch
from torch.nn.utils.rnn import pad_sequence

from course_lib.data.vocabularies import PADDING, UNKNOWN
from course_lib.models.classifier import SequenceClassifier
from course_lib.runs.task import Batch, Measured, TrainingTask

QUICK = 500  # texts are looked at in each evaluation
TOGETHER = 50  # texts are read at once
SHOWN = 8


class Classification(TrainingTask):
    """Tell of which class a text is."""

    unit, right = "nats a text", "texts"

    @cached_property
    def examples(self) -> dict[str, list[tuple[str, str]]]:
        """The texts with their labels, (label, text): "train", unless they are drawn, and "test"."""
        return dict(self.dataset.load())

    @property
    def labels(self) -> list[str]:
        """The names of the classes."""
        if self._labels is None:
            some = self.examples["test" if self.dataset.draw else "train"]
            self._labels = sorted({label for label, _ in some})
        return self._labels

    def training_texts(self) -> Iterator[str]:
        """Return the texts to train with, without their labels."""
        return (text for _, text in self.examples["train"])

    def encoded(self, text: str) -> torch.Tensor:
        """Return the tokens (time,) of a text, cut to the longest sequence; one UNKNOWN for a text with none."""
        return torch.tensor(self.vocabulary.encode(text)[: self.settings.context] or [UNKNOWN])

    @cached_property
    def training(self) -> tuple[list[torch.Tensor], torch.Tensor]:
        """The training texts as tokens, and the numbers of their labels (text,)."""
        examples = self.examples["train"]
        return [self.encoded(text) for _, text in examples], torch.tensor(
            [self.labels.index(each) for each, _ in examples]
        )

    def make_model(self) -> SequenceClassifier:
        """Return an untrained model."""
        settings = self.settings
        return SequenceClassifier(
            len(self.vocabulary),
            len(self.labels),
            settings.width,
            settings.heads,
            settings.layers,
            d_hidden=2 * settings.width,
            positions=settings.layers > 0,  # without layers: a bag of words
            dropout=settings.dropout,
        )

    def amount(self) -> str:
        """Return in words how much data there is."""
        held_out = f"{len(self.examples['test']):,}"
        if self.dataset.draw:
            return self.dataset.amount.format(held_out=held_out)
        texts, _ = self.training
        return f"{len(texts):,} texts of {len(self.labels)} classes to train with, {held_out} held out"

    def draw(self, number: int, generator: torch.Generator) -> Batch:
        """Return words (number, time), padded, and the numbers of their classes (number,)."""
        if self.dataset.draw:
            return self.dataset.draw(number, generator)
        texts, labels = self.training
        chosen = torch.randint(len(texts), (number,), generator=generator)  # (number,)
        return _padded([texts[index] for index in chosen.tolist()]), labels[chosen]

    def losses(self, model, batch: Batch) -> tuple[torch.Tensor, int]:
        """Return the summed losses of texts (row, time) with classes (row,), one prediction for each."""
        words, classes = batch
        return self.token_losses(model(words), classes).sum(), len(words)

    @torch.no_grad()
    def measure(self, model, thorough: bool = False) -> Measured:
        """Return the loss of held-out texts and the fraction that is told right."""
        examples = self.examples["test"] if thorough else self.examples["test"][:QUICK]
        device, total, right = next(model.parameters()).device, 0.0, 0
        for first in range(0, len(examples), TOGETHER):
            some = examples[first : first + TOGETHER]
            logits = model(_padded([self.encoded(text) for _, text in some]).to(device))  # (row, class)
            classes = torch.tensor([self.labels.index(label) for label, _ in some], device=device)  # (row,)
            total += self.token_losses(logits, classes).sum().item()
            right += (logits.argmax(dim=-1) == classes).sum().item()
        return Measured(total / len(examples), right / len(examples))

    @torch.no_grad()
    def probabilities(self, model, text: str) -> dict[str, float]:
        """Return how likely each class is for a text, the likeliest first."""
        device = next(model.parameters()).device
        probabilities = model(self.encoded(text).unsqueeze(0).to(device)).softmax(dim=-1)[0].tolist()
        return dict(sorted(zip(self.labels, probabilities, strict=True), key=lambda each: -each[1]))

    def samples(self, model) -> str:
        """Return some held-out texts with what the model makes of them."""
        lines = []
        for label, text in self.examples["test"][:SHOWN]:
            best, probability = next(iter(self.probabilities(model, text).items()))
            verdict = "right" if best == label else f"but it is {label}"
            lines.append(f"{text[:100]}\n  {best} ({probability:.0%}), {verdict}")
        return "\n".join(lines)


def _padded(rows: list[torch.Tensor]) -> torch.Tensor:
    return pad_sequence(rows, batch_first=True, padding_value=PADDING)  # (row, time)
