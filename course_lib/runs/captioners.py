"""Training the captioner of Chapter 2 on scenes that are drawn anew for each step."""

from functools import cached_property

import torch

from course_lib.data import scenes
from course_lib.losses import token_losses
from course_lib.models.captioner import Captioner
from course_lib.runs.task import Batch, Measured, Task, full
from course_lib.runs.vocabularies import Listed

QUICK, ALL = 200, 1000  # scenes are looked at in each evaluation, and in a thorough one
SHOWN = 6
SEED_OF_HELD_OUT = 2**40  # no seed of a training batch is as large


class Captioning(Task):
    """Say what is in a picture."""

    unit, right = "nats a word", "captions"

    @cached_property
    def held_out(self) -> scenes.Scenes:
        """Scenes that are not trained on; all combinations of colour and shape occur, also the withheld ones."""
        return scenes.make_scenes(ALL, seed=SEED_OF_HELD_OUT)

    def make_vocabulary(self) -> Listed:
        """Return the words of the captions."""
        return Listed(scenes.VOCABULARY, separator=" ", silent=2)

    def make_model(self) -> Captioner:
        """Return an untrained model."""
        return Captioner(len(self.vocabulary), d_hidden=self.settings.width)

    def amount(self) -> str:
        """Return in words how much data there is."""
        withheld = len(scenes.UNSEEN)
        return f"new scenes for each step, without {withheld} combinations, and {ALL:,} scenes of all of them held out"

    def draw(self, number: int, generator: torch.Generator) -> Batch:
        """Return pictures (number, 3, 32, 32) and captions (number, 7) that leave out the withheld combinations."""
        seed = int(torch.randint(SEED_OF_HELD_OUT, (), generator=generator))
        drawn = scenes.make_scenes(number, seed, scenes.SEEN)
        return drawn.images, drawn.captions

    def losses(self, model, batch: Batch) -> tuple[torch.Tensor, int]:
        """Return the summed losses of all words but <start>, each given those before it."""
        images, captions = batch
        scores, _ = model(images, captions[:, :-1])  # (row, time, vocabulary)
        losses = token_losses(full(scores), captions[:, 1:])  # (row, time)
        return losses.sum(), losses.numel()

    @torch.no_grad()
    def measure(self, model, thorough: bool = False) -> Measured:
        """Return the loss of held-out words, and the share of captions without a mistake."""
        number, device = ALL if thorough else QUICK, next(model.parameters()).device
        images, captions = self.held_out.images[:number].to(device), self.held_out.captions[:number].to(device)
        loss, predictions = self.losses(model, (images, captions))
        right = sum(own == true for own, true in zip(self.written(model, images), _spoken(captions), strict=True))
        return Measured(loss.item() / predictions, right / number)

    def written(self, model, images: torch.Tensor) -> list[str]:
        """Return the captions that the model writes to pictures (picture, 3, 32, 32)."""
        return _spoken(model.write(images, scenes.START, scenes.CAPTION_LENGTH - 1)[0].cpu())

    def samples(self, model) -> str:
        """Return captions of some held-out scenes."""
        images = self.held_out.images[:SHOWN].to(next(model.parameters()).device)
        pairs = zip(self.written(model, images), _spoken(self.held_out.captions[:SHOWN]), strict=True)
        return "\n".join(f"{true}\n  written: {own}" for own, true in pairs)


def _spoken(captions: torch.Tensor) -> list[str]:
    return [scenes.words(caption) for caption in captions]
