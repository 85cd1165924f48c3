"""Training the captioner of Chapter 2. Its data sets draw pictures and captions; some are held out as "test".

Captions begin with the first entry of the vocabulary, end with the second, and are all of one length.
"""

from functools import cached_property

import torch

from course_lib.models.captioner import Captioner
from course_lib.runs.task import Batch, Measured, TrainingTask

QUICK = 200  # pictures are looked at in each evaluation
SHOWN = 6
START, END = 0, 1


class Captioning(TrainingTask):
    """Say what is in a picture."""

    unit, right = "nats a word", "captions"

    @cached_property
    def held_out(self) -> Batch:
        """Pictures (picture, 3, 32, 32) and captions (picture, time) that are not trained on."""
        return self.dataset.load()["test"]

    def make_model(self) -> Captioner:
        """Return an untrained model."""
        return Captioner(len(self.vocabulary), d_hidden=self.settings.width)

    def amount(self) -> str:
        """Return in words how much data there is."""
        return self.dataset.amount.format(held_out=f"{len(self.held_out[0]):,}")

    def draw(self, number: int, generator: torch.Generator) -> Batch:
        """Return pictures (number, 3, 32, 32) and captions (number, time)."""
        return self.dataset.draw(number, generator)

    def losses(self, model, batch: Batch) -> tuple[torch.Tensor, int]:
        """Return the summed losses of all words but <start>, each given those before it."""
        images, captions = batch
        logits, _ = model(images, captions[:, :-1])  # (row, time, vocab)
        losses = self.token_losses(logits, captions[:, 1:])  # (row, time)
        return losses.sum(), losses.numel()

    @torch.no_grad()
    def measure(self, model, thorough: bool = False) -> Measured:
        """Return the loss of held-out words, and the fraction of captions without a mistake."""
        number, device = None if thorough else QUICK, next(model.parameters()).device
        images, captions = (rows[:number].to(device) for rows in self.held_out)
        loss, predictions = self.losses(model, (images, captions))
        right = sum(own == true for own, true in zip(self.written(model, images), self.spoken(captions), strict=True))
        return Measured(loss.item() / predictions, right / len(images))

    def written(self, model, images: torch.Tensor) -> list[str]:
        """Return the captions that the model writes to pictures (picture, 3, 32, 32)."""
        length = self.held_out[1].shape[1] - 1  # without START
        return self.spoken(model.greedy_decode(images, START, length)[0].cpu())

    def spoken(self, captions: torch.Tensor) -> list[str]:
        """Return captions (picture, time) as text, each up to its END."""
        ended = (captions == END).cumsum(dim=1) > 0  # (picture, time)
        return [self.vocabulary.decode(row) for row in captions.masked_fill(ended, END).tolist()]

    def samples(self, model) -> str:
        """Return captions of some held-out scenes."""
        images, captions = (rows[:SHOWN] for rows in self.held_out)
        written = self.written(model, images.to(next(model.parameters()).device))
        pairs = zip(written, self.spoken(captions), strict=True)
        return "\n".join(f"{true}\n  written: {own}" for own, true in pairs)
