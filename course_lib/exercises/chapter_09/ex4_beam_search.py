"""09.4: several candidates are kept at every step, and the best of all are extended."""

import torch

from course_lib import decoding
from course_lib.exercises.drawing import sizes
from course_lib.grading.checks import ROUNDING, both, equals, inputs_unchanged, of_output, on
from course_lib.grading.exercise import Case, Exercise, Given, Property, Task
from course_lib.grading.problem import Problem

# Word 0 is the end. What follows depends on the last word alone; row 3 is what follows the start.
PROMISE = Given(
    "a first word that promises much and keeps little",
    "lambda tokens: torch.tensor([[0.4, 0.3, 0.3], [0.4, 0.3, 0.3], [0.9, 0.05, 0.05], [0.1, 0.5, 0.4]])"
    "[tokens[:, -1]].log()",
)
EARLY_END = Given(
    "an end that is likely at once",
    "lambda tokens: torch.tensor([[0.05, 0.9, 0.05], [0.1, 0.8, 0.1], [0.3, 0.4, 0.3], [0.4, 0.35, 0.25]])"
    "[tokens[:, -1]].log()",
)
SECOND_BEST = Given(
    "a first word whose second best continuation is the best",
    "lambda tokens: torch.tensor([[0.1, 0.45, 0.45], [0.05, 0.5, 0.45], [0.9, 0.05, 0.05], [0.1, 0.7, 0.2]])"
    "[tokens[:, -1]].log()",
)
FOUR_WORDS, THREE_WORDS = (
    Given(
        f"a model of {said} words",
        f"lambda tokens: ({spread} * torch.sin(((tokens + 1.37).double() * torch.arange(1.0, tokens.shape[1] + 1)"
        f".double().sqrt()).sum(1, keepdim=True) * torch.arange(2.0, {size + 2}.0).double().square()))"
        ".log_softmax(-1).float()",
    )
    for said, size, spread in (("four", 4, 1.0), ("three", 3, 1.2))
)
FOUND_BY_SEARCH: Case = {"next_log_probabilities": FOUR_WORDS}
SIZE = {PROMISE: 3, EARLY_END: 3, SECOND_BEST: 3, FOUR_WORDS: 4, THREE_WORDS: 3}


def beam_search(next_log_probabilities, prompt, end, width, max_length):
    """What the library finds, filled up with ends."""
    best = decoding.beam_search(next_log_probabilities, prompt[None], end, width, max_length)[0]
    words = [*best.tokens, *[end] * (max_length - len(best.tokens))]
    return torch.tensor(words), torch.tensor(best.log_probability)


def draw_prompt(generator: torch.Generator) -> Case:
    """Draw a model, a prompt, a width of at least two and a length."""
    model = (FOUR_WORDS, THREE_WORDS)[int(torch.randint(2, (), generator=generator))]
    time, width, max_length = sizes(generator, 3, 3, 4, least=2)
    end = int(torch.randint(1, SIZE[model], (), generator=generator))  # not 0, as in the examples
    others = torch.randint(1, SIZE[model], (time - 1,), generator=generator)
    prompt = (end + others) % SIZE[model]  # without the end
    return {"next_log_probabilities": model, "prompt": prompt, "end": end, "width": width, "max_length": max_length}


def after_the_start(model: Given, width: int, max_length: int) -> Case:
    """Return the case of a model whose start is the word 3, and whose end is 0."""
    start = torch.tensor([3])
    return {"next_log_probabilities": model, "prompt": start, "end": 0, "width": width, "max_length": max_length}


def told_truly(case: Case):
    """The log probability is that of the words that came with it, up to their first end."""
    words, total = (yield case).value
    model, tokens, steps = case["next_log_probabilities"], case["prompt"], 0.0
    for word in words.tolist():
        if not 0 <= word < SIZE[model]:
            return Problem("value", case, where="a word", got=word, expected=f"0 to {SIZE[model] - 1}")
        steps += float(model(tokens[None])[0, word])
        tokens = torch.cat([tokens, tokens.new_tensor([word])])
        if word == case["end"]:
            break
    if abs(steps - float(total)) <= 10 * ROUNDING * (1 + abs(steps)):
        return None
    where = f"the log probability of the words {words.tolist()}"
    return Problem("value", case, where=where, got=float(total), expected=steps, note="what the steps add up to")


right = both(of_output(0, equals()), of_output(1, equals(10 * ROUNDING)))
# What has ended is filled up with ends and stays in the competition; models that end early show it.
right_at_an_end = both(
    on(lambda case: after_the_start(EARLY_END, case["width"], 4), right),
    on(lambda case: after_the_start(PROMISE, case["width"], 3), right),
)


def width_that_drops_nothing(case: Case) -> Case:
    """Make the beam as wide as there are continuations."""
    return case | {"width": SIZE[case["next_log_probabilities"]] ** min(case["max_length"], 3)}


MISTAKES = """
greedy => a beam wide enough to drop nothing finds the most probable of all
- beam = sorted(candidates, key=lambda candidate: candidate[1], reverse=True)[:width]
+ beam = sorted(candidates, key=lambda candidate: candidate[1], reverse=True)[:1]
this is what the best word at every step gives, whatever the width: one candidate is kept, or `width` equal copies of
it, which stay equal; begin with the prompt once

the best word of each candidate => a beam wide enough to drop nothing finds the most probable of all
- candidates += [(words + [word], total + step) for word, step in enumerate(steps)]
+ extended = [(words + [word], total + step) for word, step in enumerate(steps)]
+ candidates += [max(extended, key=lambda candidate: candidate[1])] if words else extended
this extends each candidate by its own best word; the best are to be chosen among all extensions of all candidates, and
both may come from one

the last step alone => the log probability is that of the words
+ candidates += [(words + [word], step) for word, step in enumerate(steps)]
this ranks candidates by the log probability of their last word; it is to be added to what the words before it have

multiplied => the log probability is that of the words
+ candidates += [(words + [word], total * step if words else step) for word, step in enumerate(steps)]
this multiplies log probabilities; probabilities are multiplied, their logarithms are added

the end is always 0 => a beam wide enough to drop nothing finds the most probable of all
- beam = [([], 0.0)]
+ beam, end = [([], 0.0)], 0
this takes the word 0 for the end; the end is the argument `end`, which may be any word

probability => the log probability is that of the words
- return torch.tensor(words + [end] * (max_length - len(words))), torch.tensor(total)
+ return torch.tensor(words + [end] * (max_length - len(words))), torch.tensor(total).exp()
the words are right, but what came with them is their probability; its logarithm was asked for

sign turned => the log probability is that of the words
+ return torch.tensor(words + [end] * (max_length - len(words))), torch.tensor(-total)
the words are right, but what came with them is minus their log probability

finished candidates extended => candidates that have ended stay as they are, and still compete
- candidates = [(words, total) for words, total in beam if end in words]
- for words, total in beam:
- if end in words:
- continue
+ candidates = []
+ for words, total in beam:
this goes on adding log probabilities after the end: a candidate that has ended is extended no further, and its log
probability stays

finished candidates dropped => candidates that have ended stay as they are, and still compete
- candidates = [(words, total) for words, total in beam if end in words]
+ candidates = []
+ if all(end in words for words, total in beam):
+     break
this loses candidates that have ended: they stay in the beam, and may be the best at last

stopped at the first end => candidates that have ended stay as they are, and still compete
- beam = sorted(candidates, key=lambda candidate: candidate[1], reverse=True)[:width]
+ beam = sorted(candidates, key=lambda candidate: candidate[1], reverse=True)[:width]
+ beam = [(words, total) for words, total in beam if end in words] or beam
this stops as soon as a candidate has ended; one that goes on may still be more probable

the end for nothing => candidates that have ended stay as they are, and still compete
- candidates += [(words + [word], total + step) for word, step in enumerate(steps)]
+ candidates += [(words + [word], total + step * (word != end)) for word, step in enumerate(steps)]
the log probability of the end itself is missing: the end is a word like any other, and its log probability is added too

per word => candidates that have ended stay as they are, and still compete
- beam = sorted(candidates, key=lambda candidate: candidate[1], reverse=True)[:width]
+ beam = sorted(candidates, key=lambda candidate: candidate[1] / len(candidate[0]), reverse=True)[:width]
this ranks candidates by their log probability over their number of words; here the log probability itself counts

rows not chosen => the log probability is that of the words
+ best = sorted(candidates, key=lambda candidate: candidate[1], reverse=True)[:width]
+ if len(best) == len(beam):
+     best = [(row + words[-1:], total) for (row, _), (words, total) in zip(beam, best)]
+ beam = best
the words were written behind whatever row stood there: with the best extensions come the rows that they extend,
`rows[parent]`, before the new word is added

the last of the beam => the best candidate of the beam
- words, total = beam[0]
+ words, total = beam[-1]
this returns the last candidate of the beam; the best was asked for

prompt returned => the log probability is that of the words
- return torch.tensor(words + [end] * (max_length - len(words))), torch.tensor(total)
+ words = torch.tensor(words + [end] * (max_length - len(words)))
+ return torch.cat([prompt, words]), torch.tensor(total)
the prompt stands in front of the words; the words without it were asked for

log probability first => the log probability is that of the words
+ return torch.tensor(total), torch.tensor(words + [end] * (max_length - len(words)))
this returns (log probability, words); the words come first

worst extensions => a width of one is greedy
- beam = sorted(candidates, key=lambda candidate: candidate[1], reverse=True)[:width]
+ beam = sorted(candidates, key=lambda candidate: candidate[1])[:width]
this keeps the least probable candidates, as a sort does that begins with the smallest

finished candidates put aside => the best candidate of the beam
- beam = [([], 0.0)]
- for _ in range(max_length):
- candidates = [(words, total) for words, total in beam if end in words]
- for words, total in beam:
- if end in words:
- continue
- tokens = torch.cat([prompt, prompt.new_tensor(words)])
- steps = next_log_probabilities(rearrange(tokens, "time -> 1 time"))[0].tolist()
- candidates += [(words + [word], total + step) for word, step in enumerate(steps)]
- beam = sorted(candidates, key=lambda candidate: candidate[1], reverse=True)[:width]
- words, total = beam[0]
+ beam, ended = [([], 0.0)], []
+ for _ in range(max_length):
+     candidates = []
+     for words, total in beam:
+         tokens = torch.cat([prompt, prompt.new_tensor(words)])
+         steps = next_log_probabilities(rearrange(tokens, "time -> 1 time"))[0].tolist()
+         candidates += [(words + [word], total + step) for word, step in enumerate(steps)]
+     ended += [(words, total) for words, total in candidates if words[-1] == end]
+     going = [(words, total) for words, total in candidates if words[-1] != end]
+     beam = sorted(going, key=lambda candidate: candidate[1], reverse=True)[:width]
+ words, total = max(ended + beam, key=lambda candidate: candidate[1])
candidates that have ended are put aside and take no place in the beam, so that more than `width` are kept; they stay
among the candidates and compete with the others

finished candidates of the beam put aside => the best candidate of the beam
+ beam, ended = [([], 0.0)], []
+ for _ in range(max_length):
+     candidates = []
+     for words, total in beam:
+         tokens = torch.cat([prompt, prompt.new_tensor(words)])
+         steps = next_log_probabilities(rearrange(tokens, "time -> 1 time"))[0].tolist()
+         candidates += [(words + [word], total + step) for word, step in enumerate(steps)]
+     best = sorted(candidates, key=lambda candidate: candidate[1], reverse=True)[:width]
+     ended += [(words, total) for words, total in best if words[-1] == end]
+     beam = [(words, total) for words, total in best if words[-1] != end]
+ words, total = max(ended + beam, key=lambda candidate: candidate[1])
a candidate that has ended is put aside, takes no place in the beam any more, and can no longer be dropped; it competes
with the others at every step, and is dropped when `width` others are more probable

per word, at the end => candidates that have ended stay as they are, and still compete
- words, total = beam[0]
+ words, total = max(beam, key=lambda candidate: candidate[1] / len(candidate[0]))
at the end this chooses by the log probability over the number of words; here the log probability itself counts

an ended one before all others => the best candidate of the beam
+ words, total = next((candidate for candidate in beam if end in candidate[0]), beam[0])
this returns a candidate that has ended even where one that has not is more probable; the most probable one is asked
for, ended or not

an end in the prompt => the best candidate of the beam
- candidates = [(words, total) for words, total in beam if end in words]
- for words, total in beam:
- if end in words:
- continue
+ given = prompt.tolist()
+ candidates = [(words, total) for words, total in beam if end in given + words]
+ for words, total in beam:
+     if end in given + words:
+         continue
this looks for the end in the whole row, prompt included; an end in the prompt ends nothing, so look at the words after
it

filled up with zeros => the best candidate of the beam
- return torch.tensor(words + [end] * (max_length - len(words))), torch.tensor(total)
+ return torch.tensor(words + [0] * (max_length - len(words))), torch.tensor(total)
this fills the answer up with 0; it is to be filled up with `end`, which may be another word

no wider than the vocabulary => a beam wide enough to drop nothing finds the most probable of all
- beam = sorted(candidates, key=lambda candidate: candidate[1], reverse=True)[:width]
+ beam = sorted(candidates, key=lambda candidate: candidate[1], reverse=True)[: min(width, len(steps))]
this keeps no more candidates than there are words; several candidates together have more extensions than that: keep
`width` of all

the end added again and again => candidates that have ended stay as they are, and still compete
- candidates = [(words, total) for words, total in beam if end in words]
- for words, total in beam:
- if end in words:
- continue
- tokens = torch.cat([prompt, prompt.new_tensor(words)])
- steps = next_log_probabilities(rearrange(tokens, "time -> 1 time"))[0].tolist()
+ candidates = []
+ for words, total in beam:
+     tokens = torch.cat([prompt, prompt.new_tensor(words)])
+     steps = next_log_probabilities(rearrange(tokens, "time -> 1 time"))[0].tolist()
+     if end in words:
+         candidates.append((words + [end], total + steps[end]))
+         continue
this extends a candidate that has ended by the end again and again, and adds its log probability each time; the end
counts once, and then the log probability stays

finished candidates extended, cut at the end => the log probability is that of the words
- beam = [([], 0.0)]
- for _ in range(max_length):
- candidates = [(words, total) for words, total in beam if end in words]
- for words, total in beam:
- if end in words:
- continue
- tokens = torch.cat([prompt, prompt.new_tensor(words)])
- steps = next_log_probabilities(rearrange(tokens, "time -> 1 time"))[0].tolist()
- candidates += [(words + [word], total + step) for word, step in enumerate(steps)]
- beam = sorted(candidates, key=lambda candidate: candidate[1], reverse=True)[:width]
- words, total = beam[0]
+ beam = [([], 0.0)]
+ for _ in range(max_length):
+     candidates = []
+     for words, total in beam:
+         tokens = torch.cat([prompt, prompt.new_tensor(words)])
+         steps = next_log_probabilities(rearrange(tokens, "time -> 1 time"))[0].tolist()
+         candidates += [(words + [word], total + step) for word, step in enumerate(steps)]
+     beam = sorted(candidates, key=lambda candidate: candidate[1], reverse=True)[:width]
+ words, total = beam[0]
+ words = words[: words.index(end)] if end in words else words
this goes on after the end and cuts the best row there when all is over: what came after the end has changed its log
probability, and with it the place in the beam; a candidate that has ended is extended no further

the end as the prompt's last word => the best candidate of the beam
- candidates = [(words, total) for words, total in beam if end in words]
- for words, total in beam:
- if end in words:
- continue
+ given = prompt.tolist()
+ candidates = [(words, total) for words, total in beam if (given + words)[-1] == end]
+ for words, total in beam:
+     if (given + words)[-1] == end:
+         continue
this asks whether the last word of the whole row is the end, and before the first step that is the last word of the
prompt; an end in the prompt ends nothing, so look at the words after it
"""

EXERCISE = Exercise(
    title="Beam search",
    difficulty=4,
    minutes=45,
    tasks=(
        Task(
            function="beam_search",
            parameters=("next_log_probabilities", "prompt", "end", "width", "max_length"),
            returns="the words, shape (max_length,), integers, and their log probability, a tensor without axes",
            outputs=("words", "log_probability"),
            cases=draw_prompt,
            examples=(
                after_the_start(PROMISE, width=2, max_length=2),
                after_the_start(SECOND_BEST, width=2, max_length=3),
                after_the_start(EARLY_END, width=2, max_length=3),
            ),
            edges=(
                # Found by search: pruning each candidate, stopping early, or dropping what has ended is seen.
                FOUND_BY_SEARCH | {"prompt": torch.tensor([2, 1]), "end": 1, "width": 3, "max_length": 5},
                FOUND_BY_SEARCH | {"prompt": torch.tensor([0]), "end": 1, "width": 2, "max_length": 3},
                FOUND_BY_SEARCH | {"prompt": torch.tensor([0, 3]), "end": 0, "width": 4, "max_length": 3},
                # Found by search: to compare log probabilities per word, at every step or at the end, is seen.
                FOUND_BY_SEARCH | {"prompt": torch.tensor([2]), "end": 3, "width": 2, "max_length": 3},
                # The end is the start, too; one word.
                FOUND_BY_SEARCH | {"prompt": torch.tensor([2]), "end": 2, "width": 9, "max_length": 1},
            ),
            reference=beam_search,
            properties=(
                Property("the log probability is that of the words", 1, told_truly),
                Property("a width of one is greedy", 1, on(lambda case: case | {"width": 1}, right)),
                Property("the best candidate of the beam", 2, both(right, inputs_unchanged)),
                Property("candidates that have ended stay as they are, and still compete", 2, right_at_an_end),
                Property(
                    "a beam wide enough to drop nothing finds the most probable of all",
                    2,
                    on(width_that_drops_nothing, right),
                ),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "With a width of one this is greedy decoding. What has to be remembered of each candidate when there are "
        "several? And among how many extensions are the next candidates chosen?",
        "Keep a list of candidates, each with its words and the sum of its log probabilities; begin with one, no words "
        "and 0. At every step make the list of all extensions of those that have not ended, add those that have, sort, "
        "and keep the first `width`.",
        "A candidate can be a pair `(words, total)`; its extension by `word` is `(words + [word], total + ...)`. "
        "`sorted(..., key=lambda pair: pair[1], reverse=True)[:width]` keeps the best. At the end, "
        "`[end] * (max_length - len(words))` fills up.",
    ),
)
