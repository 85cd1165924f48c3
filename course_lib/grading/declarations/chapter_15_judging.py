"""Exercise 15.4, judging captions: how many are right, where words go wrong, and whether the weights point."""

from collections.abc import Callable

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.drawing import normal, sizes
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import both, equals, inputs_unchanged, not_moved_by, of_output
from course_lib.grading.wording import describe, describe_case


def counted_places(due, end):
    """True up to and including the first end of each caption."""
    return ((due == end).cumsum(1) - (due == end).long()) == 0


def shares(right, counts):
    """Whole captions, and the share of right words at each place, of those that count."""
    return (right | ~counts).all(1).float().mean(), (right & counts).float().sum(0) / counts.sum(0)


def caption_report(written, due, end):
    """The share of captions that are right up to their end, and of words at each place."""
    return shares(written == due, counted_places(due, end))


def with_counts(change: Callable) -> Callable:
    """Return the report in which change(written, due, end) says what counts."""
    return lambda written, due, end: shares(written == due, change(written, due, end))


def with_exact(change: Callable) -> Callable:
    """Return the report whose first part is change(right, counts)."""

    def answer(written, due, end):
        right, counts = written == due, counted_places(due, end)
        return change(right, counts), shares(right, counts)[1]

    return answer


def with_places(change: Callable) -> Callable:
    """Return the report whose second part is change(right, counts)."""

    def answer(written, due, end):
        right, counts = written == due, counted_places(due, end)
        return shares(right, counts)[0], change(right, counts)

    return answer


def draw_captions(generator: torch.Generator) -> Case:
    """Draw captions that are due, of several lengths, one as long as can be, and what was written: mostly the same."""
    batch, time, words = (least + size for least, size in zip((1, 1, 2), sizes(generator, 4, 4, 3), strict=True))
    end = sizes(generator, words - 1)[0]
    lengths = torch.randint(1, time + 1, (batch, 1), generator=generator)
    lengths[0] = time
    others = (end + torch.randint(1, words, (batch, time), generator=generator)) % words
    due = others.where(torch.arange(time) < lengths - 1, end)
    drawn = torch.randint(words, (batch, time), generator=generator)
    written = due.where(torch.rand(batch, time, generator=generator) < 0.75, drawn)
    written[0] = due[0]  # one is right, so that not every share is zero
    after = torch.arange(time) >= lengths
    noise = torch.rand(batch, 1, generator=generator) < 0.5
    return {"written": torch.where(after & noise, drawn, written), "due": due, "end": end}


def other_after_the_end(case: Case) -> Case:
    """Write other words where the caption that was due is over."""
    over = ~counted_places(case["due"], case["end"])
    return case | {"written": torch.where(over, case["written"] + 1, case["written"])}


EXACT = "the share of captions that are right to their end"
PLACES = "the share of right words at each place"
AFTER = "what is written after the end has no influence"

REPORT = Task(
    function="caption_report",
    parameters=("written", "due", "end"),
    returns="the share of exact captions, a tensor without axes, and the share of right words at each place, shape "
    "(time,)",
    outputs=("exact", "by_place"),
    cases=draw_captions,
    examples=(
        {
            "written": torch.tensor([[4, 5, 2], [4, 2, 5], [4, 5, 2], [4, 4, 2]]),
            "due": torch.tensor([[4, 5, 2], [4, 2, 2], [5, 5, 2], [4, 5, 2]]),
            "end": 2,
        },
    ),
    reference=caption_report,
    properties=(
        Property(EXACT, 2, of_output(0, equals(caption_report))),
        Property(PLACES, 2, both(of_output(1, equals(caption_report)), inputs_unchanged)),
        Property(
            AFTER,
            1,
            both(
                *(
                    of_output(
                        number,
                        not_moved_by(other_after_the_end, "other words after it", caption_report, lambda each: each),
                    )
                    for number in (0, 1)
                )
            ),
        ),
    ),
    misconceptions=(
        Misconception(
            "words for captions",
            "the first number is the share of right *words*; asked for is the share of captions in which every word "
            "is right",
            with_exact(lambda right, counts: (right & counts).sum() / counts.sum()),
            breaks=EXACT,
        ),
        Misconception(
            "mean of the captions' shares",
            "the first number is the mean of each caption's share of right words: a caption with one wrong word counts "
            "as nothing",
            with_exact(lambda right, counts: ((right & counts).sum(1) / counts.sum(1)).mean()),
            breaks=EXACT,
        ),
        Misconception(
            "product of the places",
            "the first number is the product of the shares at the places: that would be right if mistakes had nothing "
            "to do with each other; count the captions that are right",
            with_exact(lambda right, counts: shares(right, counts)[1].prod()),
            breaks=EXACT,
        ),
        Misconception(
            "how many captions",
            "the first number is how many captions are right; asked for is the share",
            with_exact(lambda right, counts: (right | ~counts).all(1).float().sum()),
            breaks=EXACT,
        ),
        Misconception(
            "any word",
            "this takes a caption for right where any of its words is right; all of them have to be",
            with_exact(lambda right, counts: (right & counts).any(1).float().mean()),
            breaks=EXACT,
        ),
        Misconception(
            "everything counts",
            "this compares what stands after the end as well: what a model fills up with after its last word is no "
            "part of the caption",
            with_counts(lambda written, due, end: torch.ones_like(due, dtype=torch.bool)),
            breaks=AFTER,
        ),
        Misconception(
            "everything counts for the whole",
            "for the whole caption this compares what stands after the end as well; it is over with the end that was "
            "due",
            with_exact(lambda right, counts: right.all(1).float().mean()),
            breaks=AFTER,
        ),
        Misconception(
            "the end does not count",
            "this leaves out the end: a caption that should stop and does not would count as right",
            with_counts(lambda written, due, end: due != end),
            breaks=PLACES,
        ),
        Misconception(
            "the end does not count for the whole",
            "for the whole caption this leaves out the end: a caption that should stop and does not would count as "
            "right",
            lambda written, due, end: (
                ((written == due) | (due == end)).all(1).float().mean(),
                caption_report(written, due, end)[1],
            ),
            breaks=EXACT,
        ),
        Misconception(
            "counted by what was written",
            "this counts the places up to the end that was *written*: a caption that stops too early would be let off "
            "the words that it lacks; the caption that was due says what counts",
            with_counts(lambda written, due, end: counted_places(written, end)),
            breaks=PLACES,
        ),
        Misconception(
            "divided by all captions",
            "the shares at the places are divided by the number of all captions; some have no word there: divide by "
            "how many have",
            with_places(lambda right, counts: (right & counts).float().mean(0)),
            breaks=PLACES,
        ),
        Misconception(
            "by caption",
            "this is the share of right words of each caption, (batch,); asked for is that of each place, (time,): the "
            "mean goes over the captions",
            with_places(lambda right, counts: (right & counts).sum(1) / counts.sum(1)),
            breaks=PLACES,
        ),
        Misconception(
            "right so far",
            "a word counts here only where all words before it are right too; each place is judged by itself",
            with_places(lambda right, counts: ((right & counts).cumprod(1)).sum(0) / counts.sum(0)),
            breaks=PLACES,
        ),
        Misconception(
            "mistakes",
            "these are the shares of *wrong* words at the places",
            with_places(lambda right, counts: 1 - shares(right, counts)[1]),
            breaks=PLACES,
        ),
        Misconception(
            "shares exchanged",
            "this returns the places first; the share of exact captions comes first",
            lambda **named: caption_report(**named)[::-1],
            breaks=EXACT,
        ),
    ),
)

# ---------------------------------------------------------------- pointing


def speaks(regions):
    """True for the words that speak of something that can be pointed at."""
    return regions.any(-1)


def hits(weights, regions):
    """True where the greatest weight of a word lies in its region."""
    return regions.gather(-1, weights.argmax(-1, keepdim=True))[..., 0]


def pointing_share(weights, regions):
    """The share of words whose greatest weight lies in their region, of those that have one."""
    return hits(weights, regions)[speaks(regions)].float().mean()


def of_words(measure: Callable) -> Callable:
    """Return the mean of measure(weights, regions), (batch, time), over the words that count."""
    return lambda weights, regions: measure(weights, regions)[speaks(regions)].float().mean()


def mean_of_means(weights, regions):
    """The share of each caption, and the mean of these."""
    counts = speaks(regions)
    found = (hits(weights, regions) & counts).sum(1) / counts.sum(1)
    return found[counts.any(1)].mean()


def draw_weights(generator: torch.Generator) -> Case:
    """Draw weights, and where the thing is that each word speaks of: nowhere for some words, never for the last."""
    batch, time, locations = (least + size for least, size in zip((1, 2, 3), sizes(generator, 3, 3, 4), strict=True))
    regions = torch.rand(batch, time, locations, generator=generator) < 0.4
    regions &= torch.rand(batch, time, 1, generator=generator) < 0.7
    regions[0, 0, int(torch.randint(locations, (), generator=generator))] = True
    regions[:, -1] = False
    weights = normal(generator, batch, time, locations) + 0.8 * regions
    return {"weights": (1.5 * weights).softmax(-1), "regions": regions}


def other_words_look_elsewhere(case: Case) -> Case:
    """Turn round the weights of the words that speak of nothing."""
    return case | {"weights": torch.where(speaks(case["regions"])[..., None], case["weights"], case["weights"].flip(2))}


def one_share(call: Call, case: Case) -> str | None:
    """Where every word but one that speaks of something has no region left, the share is 0 or 1."""
    words = speaks(case["regions"]).nonzero()
    for word in words[:3]:
        regions = torch.zeros_like(case["regions"])
        regions[*word] = case["regions"][*word]
        asked = case | {"regions": regions}
        came, due = call(asked), pointing_share(**asked)
        if came.shape != due.shape or came.dtype != due.dtype or not abs(came - due) < 1e-5:
            where = f"picture {int(word[0])}, word {int(word[1])}"
            return (
                f"{describe_case(asked)}, with a region for {where} alone: came {describe(came)}, expected "
                f"{describe(due)}"
            )
    return None


POINTS = "one word points, or it does not"
SHARE = "the share of words that point, of all words with a region"

POINTING = Task(
    function="pointing_share",
    parameters=("weights", "regions"),
    returns="the share of the words with a region whose greatest weight lies in it, a tensor without axes",
    cases=draw_weights,
    examples=(
        {
            "weights": torch.tensor([[[0.6, 0.3, 0.1], [0.2, 0.3, 0.5], [0.4, 0.5, 0.1]]]),
            "regions": torch.tensor([[[True, True, False], [True, True, False], [False, False, False]]]),
        },
    ),
    reference=pointing_share,
    properties=(
        Property(POINTS, 1, one_share),
        Property(SHARE, 2, both(equals(pointing_share), inputs_unchanged)),
    ),
    misconceptions=(
        Misconception(
            "all words",
            "this divides by the number of all words; those that speak of nothing in the picture cannot point, and do "
            "not count",
            lambda weights, regions: hits(weights, regions).float().mean(),
            breaks=POINTS,
        ),
        Misconception(
            "words without a region are right",
            "a word that speaks of nothing counts here as one that points: leave it out, above and below the line",
            lambda weights, regions: (hits(weights, regions) | ~speaks(regions)).float().mean(),
            breaks=SHARE,
        ),
        Misconception(
            "weight inside",
            "this is how much weight lies in the region, on average; asked for is how often the *greatest* weight does",
            of_words(lambda weights, regions: (weights * regions).sum(-1)),
            breaks=POINTS,
        ),
        Misconception(
            "more than half of the weight",
            "this asks whether more than half of the weight lies in the region; asked for is where the greatest one "
            "lies",
            of_words(lambda weights, regions: (weights * regions).sum(-1) > 0.5),
            breaks=SHARE,
        ),
        Misconception(
            "the greatest over the words",
            "this takes the greatest weight of each *location* over the words (dim=1); each word looks for its own, "
            "along the last axis",
            of_words(lambda weights, regions: (regions & (weights == weights.amax(1, keepdim=True))).any(-1)),
            breaks=POINTS,
        ),
        Misconception(
            "the least weight",
            "this looks where the smallest weight lies",
            of_words(lambda weights, regions: hits(-weights, regions)),
            breaks=POINTS,
        ),
        Misconception(
            "mean of the captions' means",
            "this takes the share of each caption first and then their mean: every word weighs the same, in whichever "
            "caption it stands",
            mean_of_means,
            breaks=SHARE,
        ),
        Misconception(
            "how many",
            "this is how many words point; asked for is the share",
            lambda weights, regions: (hits(weights, regions) & speaks(regions)).float().sum(),
            breaks=SHARE,
        ),
        Misconception(
            "those that do not",
            "this is the share of the words that do *not* point",
            lambda weights, regions: 1 - pointing_share(weights, regions),
            breaks=POINTS,
        ),
    ),
)

JUDGING = Exercise(
    id="15.4",
    title="Judging captions",
    difficulty=2,
    minutes=30,
    tasks=(REPORT, POINTING),
    hints=(
        "For the captions: which of the two, what was written or what was due, says how many words a caption has? For "
        "pointing: how many words of a caption speak of something that can be pointed at?",
        "A mask of what counts first: True up to and including the first end of what was due. A caption is exact where "
        "every place is right or does not count; a place's share is right words that count over words that count. "
        "Pointing: the location of the greatest weight of each word, whether the region is True there, and the mean "
        "over the words that have a region at all.",
        "`(due == end).cumsum(dim=1)` is 0 before the first end and 1 at it. `regions.gather(-1, ...)` looks up the "
        "region at `weights.argmax(dim=-1, keepdim=True)`, and `regions.any(dim=-1)` says which words count.",
    ),
)
