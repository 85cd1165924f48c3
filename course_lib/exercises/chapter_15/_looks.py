"""How chapter 15's model is looked at when it is made of somebody's parts: each look gives what got, and a problem.

A right part is compared with the library's under the same weights, so that no look depends on how well those caption.
"""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from course_lib import capstone
from course_lib.data import scenes
from course_lib.diagnostics import pointing_rate
from course_lib.grading.checks import differs
from course_lib.grading.exercise import Given
from course_lib.grading.wording import shorten
from course_lib.models.caption_transformer import CaptionTransformer, Parts

if TYPE_CHECKING:
    from course_lib.exercises.chapter_15.whole import Own

SCENES, FEW = 24, 3  # neither is another size of the model: a wrong axis is then a wrong shape
LEAST = {"exact": 0.95, "pointing": 0.8}
ADVICE = "train on, or anew if a part was wrong when they were trained"
SAME = 1e-3  # between logits of one model made of two people's parts; they are of the order of ten
BEAM = {"prompt": torch.tensor([scenes.START]), "end": scenes.END, "width": 3, "max_length": capstone.MAX_LENGTH}
UNSURE = (1.0, 4.0, 10.0)  # logits are divided by these for the beam: where a model is sure, all searches agree


class Looks:
    """The ways in which a model is looked at, those first that show most for the least; and its scenes and weights."""

    titles = (
        "logits and loss are those of the library's parts",
        "no word sees a later one",
        "hidden locations of the picture have no influence",
        "padding behind the captions has no influence on the loss",
        "the beam finds what is best by logits made unsure",
        f"exact match: captions of {SCENES} fresh scenes",
        "pointing accuracy: colour words and their object",
    )

    def __init__(self, seed: int, base: Path):
        self._base, self._seed = base, seed
        self._all = capstone.fresh_scenes(SCENES, seed)
        self._few = scenes.Scenes(*(each[:FEW] for each in (self._all.images, self._all.captions, self._all.masks)))
        self._library = self._model({})
        self._looks = (self._logits, self._future, self._hidden, self._padding, self._beam, self._exact, self._pointing)

    @torch.no_grad()
    def at(self, owned: dict[str, "Own"], number: int) -> tuple[str, str | None]:
        """Return what got of one look at the model made of these parts, and None or the problem.

        Where a part fails on the way, the library's takes its place, and the look is taken again.
        """
        failed = [own.failed for own in owned.values()]
        try:
            got = self._looks[number](self._model(owned))
        except (RuntimeError, TypeError, ValueError, IndexError) as error:
            got = "", f"the parts do not fit together: {shorten(str(error), 160)}"
        return got if [own.failed for own in owned.values()] == failed else self.at(owned, number)

    def weights_alone(self) -> tuple[str, str, str | None]:
        """Return what a learner's own weights do with the library's parts."""
        test = capstone.fresh_scenes(500, self._seed + 1)
        rate = capstone.exact_rate(capstone.write_captions(self._library, test.images, cached=True), test)
        problem = None if rate >= LEAST["exact"] else f"got {rate:.3f}, expected at least {LEAST['exact']}: {ADVICE}"
        return "your weights with the library's parts, on 500 scenes", f"{rate:.3f}", problem

    def _model(self, owned: dict[str, "Own"]) -> CaptionTransformer:
        return capstone.load_caption_transformer(Parts(**{name: own.part() for name, own in owned.items()}), self._base)

    def _logits(self, model: CaptionTransformer) -> tuple[str, str | None]:
        pairs = zip(self._told(model), self._expected, strict=True)
        gaps = [(got - expected).abs().max() for got, expected in pairs]
        return _at_most(max(torch.inf if gap.isnan() else gap.item() for gap in gaps), SAME, "they part by")

    @cached_property
    def _expected(self) -> tuple[torch.Tensor, ...]:
        return self._told(self._library)

    def _told(self, model: CaptionTransformer) -> tuple[torch.Tensor, ...]:
        # The loss of captions of other scenes, of several lengths: a trained model has next to none on its own.
        over = torch.arange(capstone.MAX_LENGTH) > 2 + torch.arange(FEW)[:, None]
        targets = self._few.captions[:, 1:].roll(1, 0).masked_fill(over, capstone.PADDING)
        logits, weights = model(self._few.images, self._few.captions[:, :-1])
        return logits, weights, model.loss(self._few.images, targets, scenes.START, capstone.PADDING)

    def _future(self, model: CaptionTransformer) -> tuple[str, str | None]:
        words = self._few.captions[:1, :-1].repeat(capstone.MAX_LENGTH, 1)
        for step in range(1, len(words)):  # row 0 stays
            words[step, step:] = (words[step, step:] + 3) % len(scenes.VOCABULARY)
        logits = model(self._few.images[:1].expand(len(words), -1, -1, -1), words)[0]
        leaks = [(logits[step] - logits[0])[:step].abs().max() for step in range(1, len(words))]
        return _at_most(torch.stack(leaks).max().item(), capstone.MOVED, "it moves their logits by")

    def _hidden(self, model: CaptionTransformer) -> tuple[str, str | None]:
        return _at_most(capstone.picture_padding_leak(model, self._few), capstone.MOVED, "they move the logits by")

    def _padding(self, model: CaptionTransformer) -> tuple[str, str | None]:
        return _at_most(capstone.word_padding_leak(model, self._few), capstone.MOVED, "it moves the loss by")

    def _beam(self, model: CaptionTransformer) -> tuple[str, str | None]:
        for given, best, expected in self._tables:
            words, total = model.parts.beam_search(next_log_probabilities=given, **BEAM)
            if not torch.equal(words, best) or differs(total, expected, 1e-4).any():
                got, wanted = (f"{scenes.words(each)!r}" for each in (words, best))
                return "", f"got {got} ({float(total):.3f}), expected {wanted} ({float(expected):.3f})"
        return "", None

    @cached_property
    def _tables(self) -> list[tuple[Given, torch.Tensor, torch.Tensor]]:
        """For each picture, made unsure in some degrees: a function to search, and what is to be found."""
        found = []
        for image in self._few.images:
            next_token_logits = self._library.next_token_scorer(image[None])
            for unsure in UNSURE:
                rows: dict[tuple, list] = {}

                def note(
                    tokens: torch.Tensor, unsure=unsure, next_token_logits=next_token_logits, rows=rows
                ) -> torch.Tensor:
                    got = (next_token_logits(tokens) / unsure).log_softmax(-1)
                    rows.update(zip(map(tuple, tokens.tolist()), got.tolist(), strict=True))
                    return got

                words, total = self._library.parts.beam_search(note, **BEAM)
                even = [-2.5] * len(scenes.VOCABULARY)  # what only a wider search asks for, or a wrong one
                source = f"lambda tokens: torch.tensor([({rows}).get(tuple(row), {even}) for row in tokens.tolist()])"
                found.append((Given("the model's logits of the next word", source), words, total))
        return found

    def _exact(self, model: CaptionTransformer) -> tuple[str, str | None]:
        return _at_least(self._exact_rate(model), self._exact_expected, LEAST["exact"])

    @cached_property
    def _exact_expected(self) -> float:
        return self._exact_rate(self._library)

    def _exact_rate(self, model: CaptionTransformer) -> float:
        return capstone.exact_rate(capstone.write_captions(model, self._all.images), self._all)

    def _pointing(self, model: CaptionTransformer) -> tuple[str, str | None]:
        return _at_least(self._pointing_rate(model), self._pointing_expected, LEAST["pointing"])

    @cached_property
    def _pointing_expected(self) -> float:
        return self._pointing_rate(self._library)

    def _pointing_rate(self, model: CaptionTransformer) -> float:
        looks = model(self._all.images, self._all.captions[:, :-1])[1]
        colours = ((0, 0), (3, 1))  # the word, and the object that it speaks of
        return sum(pointing_rate(looks[:, word], self._all.masks[:, which]) for word, which in colours) / 2


def _at_most(got: float, most: float, said: str) -> tuple[str, str | None]:
    return "", None if got <= most else f"{said} {got:.3g}, expected at most {most:g}"


def _at_least(got: float, library: float, least: float) -> tuple[str, str | None]:
    bound = min(least, library)
    beside = "" if library >= least else f", the library's {library:.2f}"
    return f"{got:.2f}{beside}", None if got >= bound else f"got {got:.2f}, expected at least {bound:.2f}"
