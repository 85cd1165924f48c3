"""The report card of a caption transformer: what is demanded of it, and scenes to look at."""

from dataclasses import dataclass

import torch

from course_lib.capstone.measures import (
    MAX_LENGTH,
    MOVED,
    cache_gap,
    causal_leak,
    exact_rate,
    operations,
    picture_padding_leak,
    word_padding_leak,
    write_captions,
)
from course_lib.capstone.practice import fresh_scenes, unseen_scenes
from course_lib.data import scenes
from course_lib.diagnostics import pointing_rate
from course_lib.models.caption_transformer import CaptionTransformer

WORDS = ("first colour", "first shape", "relation", "second colour", "second shape", "<end>")
NAMING = tuple(word for word, which in enumerate(scenes.OBJECT_OF_WORD) if which is not None)  # words for an object


@dataclass(frozen=True)
class Measure:
    """One line of a report card: what was measured, and what is demanded, if anything is.

    >>> str(Measure("exact captions", 0.5, at_least=0.95))
    'fails  exact captions: 0.5 (at least 0.95)'
    """

    name: str
    value: float
    at_least: float | None = None
    at_most: float | None = None

    @property
    def demanded(self) -> bool:
        """Whether this line can fail."""
        return self.at_least is not None or self.at_most is not None

    @property
    def holds(self) -> bool:
        """Whether the value keeps to its bounds; one that is nan keeps to none."""
        least = self.at_least is None or self.value >= self.at_least
        return least and (self.at_most is None or self.value <= self.at_most)

    def __str__(self) -> str:
        sign = ("holds" if self.holds else "fails") if self.demanded else "     "
        value = f"{self.value:,.0f}" if self.value >= 1000 else f"{self.value:.3g}"
        bound = f" (at least {self.at_least:g})" if self.at_least is not None else ""
        bound += f" (at most {self.at_most:g})" if self.at_most is not None else ""
        return f"{sign}  {self.name}: {value}{bound}"


@dataclass(frozen=True)
class Example:
    """A scene with what was written and where the model looked: image (3, 32, 32), weights (6, location)."""

    image: torch.Tensor
    shows: str
    written: str
    weights: torch.Tensor

    @property
    def right(self) -> bool:
        """Whether the caption is right, word for word."""
        return self.shows == self.written


@dataclass(frozen=True)
class ReportCard:
    """What `report_card` found: lines, and scenes to look at."""

    measures: tuple[Measure, ...]
    examples: tuple[Example, ...]

    @property
    def passed(self) -> bool:
        """Whether all that is demanded holds."""
        return all(measure.holds for measure in self.measures)

    def __getitem__(self, name: str) -> float:
        """Return the value of the line `name`; KeyError if there is none."""
        return {measure.name: measure.value for measure in self.measures}[name]

    def __str__(self) -> str:
        failed = sum(not measure.holds for measure in self.measures)
        verdict = "all that is demanded holds" if self.passed else f"{failed} of the lines fail"
        return "\n".join([*map(str, self.measures), f"       {verdict}"])


@torch.no_grad()
def report_card(model: CaptionTransformer, seed: int = 0, number: int = 500) -> ReportCard:
    """Measure `model` on `number` fresh scenes, and on as many of unseen combinations, both drawn with `seed`.

    Pointing is demanded at the words for a colour only: a shape may have been fetched with the colour, and be carried
    on by self-attention.
    """
    model.eval()
    fresh, unseen = fresh_scenes(number, seed), unseen_scenes(number, seed)
    few = scenes.Scenes(fresh.images[:40], fresh.captions[:40], fresh.masks[:40])
    written, written_unseen = write_captions(model, fresh.images), write_captions(model, unseen.images)
    by_beam = torch.stack([model.beam_decode(image, scenes.START, scenes.END, 3, MAX_LENGTH) for image in few.images])
    right = (written == fresh.captions[:, 1:]).float().mean(dim=0)  # (6,)
    right_unseen = (written_unseen == unseen.captions[:, 1:]).float().mean(dim=0)  # (6,)
    looks = model(fresh.images, fresh.captions[:, :-1])[1]  # (scene, 6, location)
    looks_unseen = model(unseen.images, unseen.captions[:, :-1])[1]  # (scene, 6, location)
    counts = operations(model, fresh.images[0])
    measures = [Measure("exact captions, fresh scenes", exact_rate(written, fresh), at_least=0.95)]
    measures += [Measure(f"right: {word}", share.item()) for word, share in zip(WORDS, right, strict=True)]
    measures += [
        Measure("exact captions, beam of 3, 40 scenes", exact_rate(by_beam, few), at_least=0.9),
        *(
            Measure(
                f"pointing: {WORDS[word]}",
                pointing_rate(looks[:, word], fresh.masks[:, scenes.OBJECT_OF_WORD[word]]),
                at_least=0.8 if "colour" in WORDS[word] else None,
            )
            for word in NAMING
        ),
        Measure("a later word moves a logit by", causal_leak(model, few), at_most=MOVED),
        Measure("padding of the picture moves a logit by", picture_padding_leak(model, few), at_most=MOVED),
        Measure("padding of the words moves the loss by", word_padding_leak(model, few), at_most=MOVED),
        Measure("writing word by word moves a logit by", cache_gap(model, few), at_most=MOVED),
        *(Measure(f"multiplications a caption, {way}", count) for way, count in counts.items()),
        Measure("open challenge: exact captions, unseen combinations", exact_rate(written_unseen, unseen)),
        *(Measure(f"unseen, right: {WORDS[word]}", right_unseen[word].item()) for word in NAMING),
        *(
            Measure(
                f"unseen, pointing: {WORDS[word]}",
                pointing_rate(looks_unseen[:, word], unseen.masks[:, scenes.OBJECT_OF_WORD[word]]),
            )
            for word in NAMING
        ),
    ]
    good = _examples(model, fresh, written, right=True)
    bad = _examples(model, fresh, written, right=False) + _examples(model, unseen, written_unseen, right=False)
    examples = (good[: max(3, 6 - len(bad))] + bad)[:6]
    return ReportCard(tuple(measures), tuple(examples))


def _examples(model: CaptionTransformer, test: scenes.Scenes, written: torch.Tensor, right: bool) -> list[Example]:
    """Return up to six scenes of which the captions `written` (scene, 6) are right, or are not."""
    exact = (written == test.captions[:, 1:]).all(dim=1)  # (scene,)
    found = []
    for scene in (exact == right).nonzero()[:6, 0].tolist():
        read = torch.cat([torch.tensor([scenes.START]), written[scene, :-1]])  # (6,): its own words, one later
        _, looks = model(test.images[scene : scene + 1], read.unsqueeze(0))  # (1, 6, location)
        shows, said = scenes.words(test.captions[scene]), scenes.words(written[scene])
        found.append(Example(test.images[scene], shows, said, looks[0]))
    return found
