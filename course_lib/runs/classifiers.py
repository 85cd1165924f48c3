"""Training a classifier of sequences: on reviews with negations, on IMDb, or on labelled lines of the reader's own."""

from functools import cached_property

import torch
from torch.nn.utils.rnn import pad_sequence

from course_lib.data import imdb, negations
from course_lib.data.text_files import read_pairs
from course_lib.data.vocabularies import PADDING, UNKNOWN, learn_vocabulary
from course_lib.losses import token_losses
from course_lib.models.classifier import SequenceClassifier
from course_lib.project import CourseError
from course_lib.runs.task import ONE_IN, Batch, Measured, Task, divided, full
from course_lib.runs.vocabularies import Listed, Vocabulary

QUICK, ALL = 500, 2000  # texts are looked at in each evaluation; reviews of negations in a thorough one
TOGETHER = 50  # texts are read at once
SHOWN = 8


class Classification(Task):
    """Tell of which class a text is."""

    unit, right = "nats a text", "texts"

    @cached_property
    def examples(self) -> dict[str, list[tuple[str, str]]]:
        """The texts with their labels, (label, text): "train" and "test"."""
        name = self.settings.data
        if name == "imdb":
            return {split: _named(imdb.load(split)) for split in ("train", "test")}
        if name == "negations":
            drawn = negations.draw_reviews(ALL, torch.Generator().manual_seed(0), held_out=True)
            named = [("praise" if good else "blame") for good in drawn.sentiments.tolist()]
            texts = [negations.review(words) for words in drawn.words]
            return {"train": [], "test": list(zip(named, texts, strict=True))}  # what is trained on is drawn
        pairs = list(read_pairs(name))
        kept, held_out = divided(pairs)
        labels = {label for label, _ in kept}
        if len(labels) < 2:
            raise CourseError(f"{name} has {len(labels)} labels in the lines to train with, expected at least 2")
        strange = [label for label, _ in held_out if label not in labels]
        if strange:
            raise CourseError(
                f"{name} has the label {strange[0]!r} only in lines that are held out (every {ONE_IN}th): "
                "it needs more examples, or the lines another order"
            )
        return {"train": kept, "test": held_out}

    @property
    def labels(self) -> list[str]:
        """The names of the classes."""
        if self._labels is None:
            some = self.examples["train"] or self.examples["test"]
            self._labels = sorted({label for label, _ in some})
        return self._labels

    def make_vocabulary(self) -> Listed | Vocabulary:
        """Return the words of the negations, or what is learned from the texts."""
        if self.settings.data == "negations":
            return Listed(negations.VOCABULARY, separator=" ", silent=1)
        texts = (text for _, text in self.examples["train"])
        return learn_vocabulary(self.settings.vocabulary, texts, self.settings.entries)

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
        held_out = f"{len(self.examples['test']):,} held out"
        if self.settings.data == "negations":
            return f"reviews of 44 pairs of adjectives to train with, {held_out} of 20 other pairs"
        texts, _ = self.training
        return f"{len(texts):,} texts of {len(self.labels)} classes to train with, {held_out}"

    def draw(self, number: int, generator: torch.Generator) -> Batch:
        """Return words (number, time), padded, and the numbers of their classes (number,)."""
        if self.settings.data == "negations":
            drawn = negations.draw_reviews(number, generator)
            # Labels are in alphabetical order, "blame" before "praise", as in the data.
            return drawn.words, drawn.sentiments
        texts, labels = self.training
        chosen = torch.randint(len(texts), (number,), generator=generator)  # (number,)
        return _padded([texts[index] for index in chosen.tolist()]), labels[chosen]

    def losses(self, model, batch: Batch) -> tuple[torch.Tensor, int]:
        """Return the summed losses of texts (row, time) with classes (row,), one prediction for each."""
        words, classes = batch
        return token_losses(full(model(words)), classes).sum(), len(words)

    @torch.no_grad()
    def measure(self, model, thorough: bool = False) -> Measured:
        """Return the loss of held-out texts and the share that is told right."""
        examples = self.examples["test"] if thorough else self.examples["test"][:QUICK]
        device, total, right = next(model.parameters()).device, 0.0, 0
        for first in range(0, len(examples), TOGETHER):
            some = examples[first : first + TOGETHER]
            scores = model(_padded([self.encoded(text) for _, text in some]).to(device))  # (row, class)
            classes = torch.tensor([self.labels.index(label) for label, _ in some], device=device)  # (row,)
            total += token_losses(scores, classes).sum().item()
            right += (scores.argmax(dim=-1) == classes).sum().item()
        return Measured(total / len(examples), right / len(examples))

    @torch.no_grad()
    def probabilities(self, model, text: str) -> dict[str, float]:
        """Return how likely each class is for a text, the likeliest first."""
        device = next(model.parameters()).device
        shares = model(self.encoded(text).unsqueeze(0).to(device)).softmax(dim=-1)[0].tolist()
        return dict(sorted(zip(self.labels, shares, strict=True), key=lambda each: -each[1]))

    def samples(self, model) -> str:
        """Return some held-out texts with what the model makes of them."""
        lines = []
        for label, text in self.examples["test"][:SHOWN]:
            best, share = next(iter(self.probabilities(model, text).items()))
            lines.append(f"{text[:100]}\n  {best} ({share:.0%}), {'right' if best == label else f'but it is {label}'}")
        return "\n".join(lines)


def _named(reviews: imdb.Reviews) -> list[tuple[str, str]]:
    return [("praise" if label else "blame", text) for label, text in zip(reviews.labels, reviews.texts, strict=True)]


def _padded(rows: list[torch.Tensor]) -> torch.Tensor:
    return pad_sequence(rows, batch_first=True, padding_value=PADDING)  # (row, time)
