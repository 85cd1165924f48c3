"""Training a language model. The rows of its data sets are texts: "train", "val" and "test" are one each."""

import math
from functools import cached_property
from itertools import pairwise

import torch

from course_lib.decoding import generate
from course_lib.evaluation import bits_per_character
from course_lib.models.language_model import LanguageModel
from course_lib.models.n_gram import NGram
from course_lib.models.recipes import make_language_model
from course_lib.project import CourseError
from course_lib.runs.task import Batch, Measured, TrainingTask

PIECES, PIECE = 10, 1000  # so many pieces of so many characters are read at each evaluation
WRITTEN = 120  # tokens of a sample
COUNTED = 1_000_000  # characters: n-grams of a longer text take too much memory
ORDERS = range(2, 11)


class LanguageModelling(TrainingTask):
    """Predict the next token of a text."""

    unit = "bits a character"

    @cached_property
    def texts(self) -> dict[str, str]:
        """The text to train on, "train", to look at on the way, "val", and for the thorough measurement, "test"."""
        texts = dict(self.dataset.load())
        for split, least in (("train", self.settings.context + 2), ("val", 2), ("test", 2)):
            if len(texts[split]) < least:
                has = f"{len(texts[split])} characters for {split}"
                raise CourseError(f"{self.settings.data} is too short: {has}, expected at least {least}")
        return texts

    def training_texts(self) -> list[str]:
        """Return the text to train on."""
        return [self.texts["train"]]

    @cached_property
    def training(self) -> torch.Tensor:
        """The training text as tokens (token,)."""
        tokens = torch.tensor(self.vocabulary.encode(self.texts["train"]))  # (token,)
        if len(tokens) < self.settings.context + 2:
            raise CourseError(
                f"{self.settings.data} is too short: {len(tokens)} tokens to train with, expected at least "
                f"{self.settings.context + 2}, two more than the context"
            )
        return tokens

    def make_model(self) -> LanguageModel:
        """Return an untrained model."""
        return make_language_model(len(self.vocabulary), **self.configuration())

    def configuration(self) -> dict:
        """Return the arguments of the model, apart from the size of the vocabulary."""
        settings = self.settings
        return {
            "max_length": settings.context,
            "d_model": settings.width,
            "heads": settings.heads,
            "layers": settings.layers,
            "dropout": settings.dropout,
            "recipe": settings.recipe,
        }

    def amount(self) -> str:
        """Return in words how much text there is."""
        tokens = len(self.training)
        how = "" if tokens == len(self.texts["train"]) else f" ({tokens:,} tokens of {len(self.vocabulary):,} kinds)"
        return f"{len(self.texts['train']):,} characters{how} to train with, {len(self.texts['val']):,} held out"

    def draw(self, number: int, generator: torch.Generator) -> Batch:
        """Return passages (number, context + 1) that begin anywhere in the training text."""
        starts = torch.randint(len(self.training) - self.settings.context, (number, 1), generator=generator)
        return (self.training[starts + torch.arange(self.settings.context + 1)],)

    def losses(self, model, batch: Batch) -> tuple[torch.Tensor, int]:
        """Return the summed losses of passages (row, time + 1), each token but the first given those before it."""
        (passages,) = batch
        logits = model(passages[:, :-1])  # (row, time, vocab)
        losses = self.token_losses(logits, passages[:, 1:])  # (row, time)
        return losses.sum(), losses.numel()

    def measure(self, model, thorough: bool = False) -> Measured:
        """Return bits a character of the held-out text: of pieces from all over it, or of all of it."""
        return Measured(self.bits(model, self.texts["test"] if thorough else pieces(self.texts["val"])))

    def bits(self, model: LanguageModel, text: str) -> float:
        """Return bits a character of `text`, whatever the tokens are."""
        tokens = torch.tensor(self.vocabulary.encode(text))  # (token,)
        if len(tokens) < 2:
            raise CourseError(f"{self.settings.data} holds out a single token: a longer text is needed")
        first = len(self.vocabulary.decode(tokens[:1].tolist()))
        return bits_per_character(model, tokens, characters=max(1, len(text) - first))

    def in_units(self, loss: float) -> float:
        """Return nats a token as bits a character of the training text."""
        return loss / math.log(2) * len(self.training) / len(self.texts["train"])

    def samples(self, model) -> str:
        """Return how the model goes on from the start of the held-out text."""
        prompt = self.texts["val"][: min(40, self.settings.context)]
        return prompt + self.written(model, prompt, WRITTEN, torch.Generator().manual_seed(0), temperature=0.8)

    def written(self, model, prompt: str, length: int, generator: torch.Generator, **how) -> str:
        """Return `length` tokens that go on from `prompt`, drawn as `decoding.generate` does."""
        device = next(model.parameters()).device
        tokens = torch.tensor([self.vocabulary.encode(prompt) or self.vocabulary.encode("\n")])  # (1, time)
        if not tokens.numel():
            raise CourseError("the prompt is empty: begin the text with `--prompt`")
        writer = model.next_token_scorer()
        ever = generate(lambda tokens: writer(tokens.to(device)).cpu(), tokens, length, generator, **how)
        return self.vocabulary.decode(ever[0, tokens.shape[1] :].tolist())

    def best_n_gram(self) -> tuple[int, float] | None:
        """Return the order and the bits a character of the n-gram that predicts the held-out text best.

        None where the text is too long to count in, or where the tokens are not characters.
        """
        if len(self.texts["train"]) > COUNTED:
            return None
        characters = "".join(sorted(set(self.texts["train"]) | set(self.texts["test"])))
        measured = []
        for order in ORDERS:
            model = NGram(self.texts["train"], order, characters)
            measured.append((model.bits_per_character(self.texts["test"]), order))
            if len(measured) > 1 and any(second[0] > first[0] for first, second in pairwise(measured)):
                break  # longer contexts are seen ever more rarely
        bits, order = min(measured)
        return order, bits


def pieces(text: str) -> str:
    """Return PIECES pieces of a text, at even distances and put together; a short text is returned whole.

    The beginning alone may be easier, or harder, than the rest. At the seams a few characters get a wrong context.

    >>> len(pieces("x" * 123_456)), len(pieces("x" * 500))
    (10000, 500)
    """
    if len(text) <= PIECES * PIECE:
        return text
    distance = (len(text) - PIECE) // (PIECES - 1)
    return "".join(text[number * distance :][:PIECE] for number in range(PIECES))
