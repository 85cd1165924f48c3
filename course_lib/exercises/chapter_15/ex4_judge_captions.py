"""15.4: the exact match of captions, the accuracy at each position, and whether the attention weights point."""

import torch

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import both, difference, equals, inputs_unchanged, not_moved_by, of_output, on
from course_lib.grading.exercise import Case, Exercise, Property, Task


def counted(targets, end):
    """True up to and including the first end of each caption."""
    return ((targets == end).cumsum(1) - (targets == end).long()) == 0


def caption_report(written, targets, end):
    """The fraction of captions that are right up to their end, and of right words at each position."""
    right, counts = written == targets, counted(targets, end)
    return (right | ~counts).all(1).float().mean(), (right & counts).float().sum(0) / counts.sum(0)


def draw_captions(generator: torch.Generator) -> Case:
    """Draw target captions of several lengths, one as long as can be, and what was written: mostly the same."""
    batch, time, words = (least + size for least, size in zip((1, 1, 2), sizes(generator, 4, 4, 3), strict=True))
    end = sizes(generator, words - 1)[0]
    lengths = torch.randint(1, time + 1, (batch, 1), generator=generator)
    lengths[0] = time
    others = (end + torch.randint(1, words, (batch, time), generator=generator)) % words
    targets = others.where(torch.arange(time) < lengths - 1, end)
    drawn = torch.randint(words, (batch, time), generator=generator)
    written = targets.where(torch.rand(batch, time, generator=generator) < 0.75, drawn)
    written[0] = targets[0]  # one is right, so that not every fraction is zero
    after = torch.arange(time) >= lengths
    noise = torch.rand(batch, 1, generator=generator) < 0.5
    return {"written": torch.where(after & noise, drawn, written), "targets": targets, "end": end}


def other_after_the_end(case: Case) -> Case:
    """Write other words where the target caption is over."""
    over = ~counted(case["targets"], case["end"])
    return case | {"written": torch.where(over, case["written"] + 1, case["written"])}


def never_stopped(case: Case) -> Case:
    """Write the targets, but for their ends."""
    targets, end = case["targets"], case["end"]
    return case | {"written": torch.where(targets == end, end + 1, targets)}


def stopped_at_once(case: Case) -> Case:
    """Write ends alone."""
    return case | {"written": torch.full_like(case["targets"], case["end"])}


nothing_after_the_end = not_moved_by(other_after_the_end, "other words after it", lambda each: each)


def pointing_accuracy(weights, regions):
    """The fraction of words whose greatest weight lies in their region, of those that have one."""
    hits = regions.gather(-1, weights.argmax(-1, keepdim=True))[..., 0]
    return hits[regions.any(-1)].float().mean()


def draw_weights(generator: torch.Generator) -> Case:
    """Draw weights, and where the thing is that each word speaks of: nowhere for some words, never for the last."""
    batch, time, locations = (least + size for least, size in zip((1, 2, 3), sizes(generator, 3, 3, 4), strict=True))
    regions = torch.rand(batch, time, locations, generator=generator) < 0.4
    regions &= torch.rand(batch, time, 1, generator=generator) < 0.7
    regions[0, 0, int(torch.randint(locations, (), generator=generator))] = True
    regions[:, -1] = False
    weights = normal(generator, batch, time, locations) + 0.8 * regions
    return {"weights": (1.5 * weights).softmax(-1), "regions": regions}


def one_word(case: Case):
    """Where every word but one that speaks of something has no region left, the answer is 0 or 1."""
    words, asked = case["regions"].any(-1).nonzero()[:3].tolist(), []
    for picture, word in words:
        regions = torch.zeros_like(case["regions"])
        regions[picture, word] = case["regions"][picture, word]
        asked.append(case | {"regions": regions})
    for (picture, word), reply in zip(words, (yield asked), strict=True):
        after = f"every region emptied but that of picture {picture}, word {word}"
        if problem := difference(case, reply.value, reply.expected, after=after):
            return problem
    return None


REPORT_MISTAKES = """
words for captions => exact match: captions that are right to their end
- exact = (right | ~counts).all(dim=1).float().mean()
+ exact = (right & counts).sum() / counts.sum()
the first number is the fraction of right *words*; the exact match is the fraction of captions in which every word is
right

mean of the captions' accuracies => exact match: captions that are right to their end
+ exact = ((right & counts).sum(dim=1) / counts.sum(dim=1)).mean()
the first number is the mean of the accuracies of the captions; for an exact match, a caption with one wrong word
counts as 0

product of the accuracies => exact match: captions that are right to their end
+ exact = ((right & counts).sum(dim=0) / counts.sum(dim=0)).prod()
the first number is the product of the per-position accuracies: that would be right if mistakes had nothing to do with
each other; count the captions that are right

how many captions => exact match: captions that are right to their end
+ exact = (right | ~counts).all(dim=1).float().sum()
the first number is how many captions are right; asked for is the fraction

any word => exact match: captions that are right to their end
+ exact = (right & counts).any(dim=1).float().mean()
this takes a caption for right where any of its words is right; all of them have to be

everything counts => what is written after the end has no influence
- counts = ends_before == 0
+ counts = torch.ones_like(is_end)
this compares what stands after the end as well: what a model fills up with after its last word is no part of the
caption

everything counts for the whole => what is written after the end has no influence
- exact = (right | ~counts).all(dim=1).float().mean()
+ exact = right.all(dim=1).float().mean()
for the whole caption this compares what stands after the end as well; it is over with the end of the target

the end does not count => per-position accuracy: right words at each position
- counts = ends_before == 0
+ counts = ~is_end
this leaves out the end: a caption that should stop and does not would count as right

the end does not count for the whole => exact match: captions that are right to their end
- exact = (right | ~counts).all(dim=1).float().mean()
+ exact = (right | is_end).all(dim=1).float().mean()
for the whole caption this leaves out the end: a caption that should stop and does not would count as right

counted by what was written => per-position accuracy: right words at each position
- is_end = targets == end
+ is_end = written == end
this counts the positions up to the end that was *written*: a caption that stops too early would be let off the words
that it lacks; the target says what counts

divided by all captions => per-position accuracy: right words at each position
- return exact, (right & counts).sum(dim=0) / counts.sum(dim=0)
+ return exact, (right & counts).float().mean(dim=0)
the counts at the positions are divided by the number of all captions; some have no word there: divide by how many have

what does not count is right => per-position accuracy: right words at each position
+ return exact, (right | ~counts).float().mean(dim=0)
in the per-position accuracy, positions that do not count are taken for right and raise it: leave them out, above and
below the line

by caption => per-position accuracy: right words at each position
+ return exact, (right & counts).sum(dim=1) / counts.sum(dim=1)
this is the accuracy of each caption, (batch,); asked for is that of each position, (time,): the mean goes over the
captions

right so far => per-position accuracy: right words at each position
+ return exact, (right & counts).cumprod(dim=1).sum(dim=0) / counts.sum(dim=0)
a word counts here only where all words before it are right too; each position is judged by itself

mistakes => per-position accuracy: right words at each position
+ return exact, 1 - (right & counts).sum(dim=0) / counts.sum(dim=0)
these are the fractions of *wrong* words at the positions: the error rates, not the accuracies

the two exchanged => exact match: captions that are right to their end
+ return (right & counts).sum(dim=0) / counts.sum(dim=0), exact
this returns the per-position accuracy first; the exact match comes first

the end does not count, and 0 for nothing => exact match: captions that are right to their end
- counts = ends_before == 0
- right = written == targets
- exact = (right | ~counts).all(dim=1).float().mean()
- return exact, (right & counts).sum(dim=0) / counts.sum(dim=0)
+ counts = ~is_end
+ right = written == targets
+ exact = (right | ~counts).all(dim=1).float().mean()
+ return exact, (right & counts).sum(dim=0) / counts.sum(dim=0).clamp(min=1)
this leaves out the end: a caption that should stop and does not would count as right

counted by what was written, and 0 for nothing => per-position accuracy: right words at each position
- is_end = targets == end
- ends_before = is_end.cumsum(dim=1) - is_end.long()
- counts = ends_before == 0
- right = written == targets
- exact = (right | ~counts).all(dim=1).float().mean()
- return exact, (right & counts).sum(dim=0) / counts.sum(dim=0)
+ is_end = written == end
+ counts = is_end.cumsum(dim=1) - is_end.long() == 0
+ right = written == targets
+ exact = (right | ~counts).all(dim=1).float().mean()
+ return exact, (right & counts).sum(dim=0) / counts.sum(dim=0).clamp(min=1)
this counts the positions up to the end that was *written*: a caption that stops too early would be let off the words
that it lacks; the target says what counts
"""

POINTING_MISTAKES = """
all words => one word points, or it does not
- return hit[counts].float().mean()
+ return hit.float().mean()
this divides by the number of all words; those that speak of nothing in the picture cannot point, and do not count

words without a region are right => pointing accuracy, over all words with a region
+ return (hit | ~counts).float().mean()
a word that speaks of nothing counts here as one that points: leave it out, above and below the line

weight inside => one word points, or it does not
+ return (weights * regions).sum(dim=-1)[counts].mean()
this is how much weight lies in the region, on average; asked for is how often the *greatest* weight does

more than half of the weight => pointing accuracy, over all words with a region
+ return ((weights * regions).sum(dim=-1) > 0.5)[counts].float().mean()
this asks whether more than half of the weight lies in the region; asked for is where the greatest one lies

more weight inside, on average => one word points, or it does not
+ inside = (weights * regions).sum(dim=-1) / regions.sum(dim=-1).clamp(min=1)
+ outside = (weights * ~regions).sum(dim=-1) / (~regions).sum(dim=-1).clamp(min=1)
+ return (inside > outside)[counts].float().mean()
this asks whether the weights in the region are greater on average than those beside it; asked for is where the greatest
one lies

the greatest over the words => one word points, or it does not
- hit = rearrange(regions.gather(2, best), "batch time 1 -> batch time")
+ hit = (regions & (weights == weights.amax(dim=1, keepdim=True))).any(dim=-1)
this takes the greatest weight of each *location* over the words (dim=1); each word looks for its own, along the last
axis

the least weight => one word points, or it does not
- best = weights.argmax(dim=-1, keepdim=True)
+ best = weights.argmin(dim=-1, keepdim=True)
this looks where the smallest weight lies

mean of the captions' means => pointing accuracy, over all words with a region
- return hit[counts].float().mean()
+ means = (hit & counts).sum(dim=1) / counts.sum(dim=1)
+ return means.nanmean()
this takes the fraction of each caption first and then their mean: every word weighs the same, in whichever caption it
stands

how many => pointing accuracy, over all words with a region
+ return (hit & counts).float().sum()
this is how many words point; asked for is the fraction

those that do not => one word points, or it does not
+ return 1 - hit[counts].float().mean()
this is the fraction of the words that do *not* point

the first location of a region => one word points, or it does not
- best = weights.argmax(dim=-1, keepdim=True)
- hit = rearrange(regions.gather(2, best), "batch time 1 -> batch time")
+ hit = weights.argmax(dim=-1) == regions.float().argmax(dim=-1)
this compares the greatest weight with the *first* location of the region; a word points wherever in its region the
greatest weight lies

the mean of each caption first => pointing accuracy, over all words with a region
- return hit[counts].float().mean()
+ return ((hit & counts).sum(dim=1) / counts.sum(dim=1).clamp(min=1)).mean()
this takes the fraction of each caption and then their mean, so a word of a short caption counts more; take one mean
over all words with a region
"""

EXERCISE = Exercise(
    title="Judging captions",
    difficulty=2,
    minutes=30,
    tasks=(
        Task(
            function="caption_report",
            parameters=("written", "targets", "end"),
            returns="the exact match, a tensor without axes, and the accuracy at each position, shape (time,)",
            outputs=("exact_match", "accuracy"),
            cases=draw_captions,
            examples=(
                {
                    "written": torch.tensor([[4, 5, 2], [4, 2, 5], [4, 5, 2], [4, 4, 2]]),
                    "targets": torch.tensor([[4, 5, 2], [4, 2, 2], [5, 5, 2], [4, 5, 2]]),
                    "end": 2,
                },
            ),
            edges=(
                {
                    "written": torch.tensor([[3], [2]]),
                    "targets": torch.tensor([[2], [2]]),
                    "end": 2,
                },  # one position: the ends
                {
                    "written": torch.tensor([[4, 0, 0]]),
                    "targets": torch.tensor([[4, 5, 0]]),
                    "end": 0,
                },  # one caption, the end is 0
                # Right at one position more than counts; ends that are written too late, and never.
                {
                    "written": torch.tensor([[4, 4, 2], [4, 2, 2], [4, 4, 5]]),
                    "targets": torch.tensor([[4, 2, 2], [2, 2, 2], [4, 4, 2]]),
                    "end": 2,
                },
            ),
            reference=caption_report,
            properties=(
                Property(
                    "exact match: captions that are right to their end",
                    2,
                    of_output(0, both(equals(), on(never_stopped, equals()))),
                ),
                Property(
                    "per-position accuracy: right words at each position",
                    2,
                    of_output(1, both(both(equals(), on(stopped_at_once, equals())), inputs_unchanged)),
                ),
                Property(
                    "what is written after the end has no influence",
                    1,
                    both(of_output(0, nothing_after_the_end), of_output(1, nothing_after_the_end)),
                ),
            ),
            mistakes=REPORT_MISTAKES,
        ),
        Task(
            function="pointing_accuracy",
            parameters=("weights", "regions"),
            returns="the fraction of the words with a region whose greatest weight lies in it, a tensor without axes",
            cases=draw_weights,
            examples=(
                {
                    "weights": torch.tensor([[[0.6, 0.3, 0.1], [0.2, 0.3, 0.5], [0.4, 0.5, 0.1]]]),
                    "regions": torch.tensor([[[True, True, False], [True, True, False], [False, False, False]]]),
                },
                {  # the greatest weight, and less than half of the whole
                    "weights": torch.tensor([[[0.4, 0.35, 0.25], [0.2, 0.5, 0.3]]]),
                    "regions": torch.tensor([[[True, False, False], [False, False, False]]]),
                },
            ),
            edges=(
                {
                    "weights": torch.tensor([[[1.0]], [[1.0]]]),
                    "regions": torch.tensor([[[True]], [[False]]]),
                },  # one word, one location
                # Regions of all locations, and of the only one that is missed; every word has one.
                {
                    "weights": torch.tensor([[[0.25, 0.75], [0.25, 0.75]]]),
                    "regions": torch.tensor([[[True, True], [True, False]]]),
                },
            ),
            reference=pointing_accuracy,
            properties=(
                Property("one word points, or it does not", 1, one_word),
                Property(
                    "pointing accuracy, over all words with a region",
                    2,
                    both(equals(), inputs_unchanged),
                ),
            ),
            mistakes=POINTING_MISTAKES,
        ),
    ),
    hints=(
        "For the captions: which of the two, what was written or the target, says how many words a caption has? For "
        "pointing: how many words of a caption speak of something that can be pointed at?",
        "A mask of what counts first: True up to and including the first end of the target. A caption is an exact "
        "match where every position is right or does not count; the accuracy at a position is right words that count "
        "over words that count. Pointing: the location of the greatest weight of each word, whether the region is True "
        "there, and the mean over the words that have a region at all.",
        "`(targets == end).cumsum(dim=1)` is 0 before the first end and 1 at it. `regions.gather(-1, ...)` looks up "
        "the region at `weights.argmax(dim=-1, keepdim=True)`, and `regions.any(dim=-1)` says which words count.",
    ),
)
