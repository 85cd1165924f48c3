"""Exercise 09.4, beam search: several candidates are kept at every step, and the best of all are extended."""

from collections.abc import Callable

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.drawing import sizes
from course_lib.grading.exercise import Case, Exercise, Given, Misconception, Property, Task
from course_lib.grading.judges import ROUNDING, Judge, both, equals, inputs_unchanged, of_output, on
from course_lib.grading.wording import describe, describe_case

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
SIZE = {PROMISE: 3, EARLY_END: 3, SECOND_BEST: 3, FOUR_WORDS: 4, THREE_WORDS: 3}

Candidate = tuple[list[int], float]  # the words without the prompt, and what is added up for them


def search(
    next_log_probabilities,
    prompt,
    end,
    width,
    longest,
    add: Callable[[float, float], float] = lambda total, step: total + step,
    finished: str = "kept",
    per_beam: bool = False,
    count_end: bool = True,
    rank: Callable[[Candidate], float] = lambda candidate: candidate[1],
    stop_at_first: bool = False,
) -> list[Candidate]:
    """Return the candidates that are left, best first; the options are ways to go wrong."""
    beam, begin = [([], 0.0)], prompt.tolist()
    for step in range(longest):
        open_ones = [each for each in beam if finished == "extended" or end not in each[0]]
        if not open_ones:
            break
        tokens = torch.tensor([begin + words for words, _ in open_ones])
        table = next_log_probabilities(tokens).tolist()
        grown = [
            [(words + [word], add(total, each) if count_end or word != end else total) for word, each in enumerate(row)]
            for (words, total), row in zip(open_ones, table, strict=True)
        ]
        new = [each for row in grown for each in ([max(row, key=rank)] if per_beam and step else row)]
        if finished == "kept":
            new += [each for each in beam if end in each[0]]
        new = sorted(new, key=rank, reverse=True)
        beam = new[:width]
        if stop_at_first and any(end in words for words, _ in beam):
            beam = [each for each in beam if end in each[0]]
            break
    return sorted(beam, key=rank, reverse=True)


def as_tensors(candidate: Candidate, end: int, longest: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return words filled up with ends, and the log probability."""
    words, total = candidate
    return torch.tensor(words + [end] * (longest - len(words))), torch.tensor(total)


def by(**options) -> Callable:
    """Return the search with options."""

    def answer(next_log_probabilities, prompt, end, width, longest):
        found = search(next_log_probabilities, prompt, end, width, longest, **options)
        return as_tensors(found[0], end, longest)

    return answer


def then(change: Callable) -> Callable:
    """Return the right search of whose answer change(words, total, case) makes something else."""
    return lambda **named: change(*beam_search(**named), named)


beam_search = by()


def greedy(next_log_probabilities, prompt, end, width, longest):
    """A beam of one."""
    return beam_search(next_log_probabilities, prompt, end, 1, longest)


def end_is_zero(next_log_probabilities, prompt, end, width, longest):
    """The word 0 for the end."""
    return beam_search(next_log_probabilities, prompt, 0, width, longest)


def worst_kept(next_log_probabilities, prompt, end, width, longest):
    """The last of the beam."""
    return as_tensors(search(next_log_probabilities, prompt, end, width, longest)[-1], end, longest)


def without_parents(next_log_probabilities, prompt, end, width, longest):
    """New words written behind whatever row stands there."""
    rows, totals = prompt[None], torch.zeros(1)
    for _ in range(longest):
        over = (rows[:, len(prompt) :] == end).any(1)
        step = next_log_probabilities(rows)
        step[over] = -torch.inf
        step[over, end] = 0.0
        every = (totals[:, None] + step).flatten()
        totals, place = every.topk(min(width, len(every)))
        if len(rows) < len(place):
            rows = rows[:1].repeat(len(place), 1) if len(rows) == 1 else rows[place // step.shape[1]]
        rows = torch.cat([rows[: len(place)], (place % step.shape[1])[:, None]], 1)
    return rows[0, len(prompt) :], totals[0]


def per_word(candidate: Candidate) -> float:
    """Log probability over the number of words."""
    return candidate[1] / max(1, len(candidate[0]))


def draw_prompt(generator: torch.Generator) -> Case:
    """Draw a model, a prompt, a width of at least two and a length."""
    model = (FOUR_WORDS, THREE_WORDS)[int(torch.randint(2, (), generator=generator))]
    time, width, longest = sizes(generator, 3, 3, 4, least=2)
    end = int(torch.randint(1, SIZE[model], (), generator=generator))  # not 0, as in the examples
    others = torch.randint(1, SIZE[model], (time - 1,), generator=generator)
    prompt = (end + others) % SIZE[model]  # without the end
    return {"next_log_probabilities": model, "prompt": prompt, "end": end, "width": width, "longest": longest}


def told_truly(call: Call, case: Case) -> str | None:
    """The log probability is that of the words that came with it, up to their first end."""
    words, total = call(case)
    due, _ = call.expected(beam_search, case)
    if words.shape != due.shape or words.dtype != due.dtype or total.shape:
        return (
            f"{describe_case(case)}: came words of shape {tuple(words.shape)} and a log probability of shape "
            f"{tuple(total.shape)}, expected integers of shape {tuple(due.shape)} and one number"
        )
    tokens, sum_of_steps = case["prompt"], 0.0
    for word in words.tolist():
        if not 0 <= word < SIZE[case["next_log_probabilities"]]:
            return f"{describe_case(case)}: came the word {word}, which there is not"
        sum_of_steps += float(case["next_log_probabilities"](tokens[None])[0, word])
        tokens = torch.cat([tokens, tokens.new_tensor([word])])
        if word == case["end"]:
            break
    if abs(sum_of_steps - float(total)) <= 10 * ROUNDING * (1 + abs(sum_of_steps)):
        return None
    return (
        f"{describe_case(case)}: came {describe(words)} with a log probability of {describe(float(total))}, but the "
        f"steps of these words add up to {describe(sum_of_steps)}"
    )


def of_width(width: Callable[[Case], int]) -> Judge:
    """The answer is right for this width."""
    judge = both(of_output(0, equals(beam_search)), of_output(1, equals(beam_search, 10 * ROUNDING)))
    return on(lambda case: case | {"width": width(case)}, judge)


def ends(call: Call, case: Case) -> str | None:
    """What has ended is filled up with ends and stays in the competition; a model that ends early shows it."""
    for model, prompt, longest in ((EARLY_END, 3, 4), (PROMISE, 3, 3)):
        asked = case | {
            "next_log_probabilities": model,
            "prompt": torch.tensor([prompt]),
            "end": 0,
            "longest": longest,
            "width": case["width"],
        }
        for number in (0, 1):
            found = of_output(number, equals(beam_search, 10 * ROUNDING))(call, asked)
            if found:
                return found
    return None


TRUE = "the log probability is that of the words"
GREEDY = "a width of one is greedy"
BEST = "the best candidate of the beam"
ENDED = "what has ended stays as it is, and in the competition"
ALL = "a width that drops nothing finds the most probable of all"

BEAM_SEARCH = Exercise(
    id="09.4",
    title="Beam search",
    difficulty=4,
    minutes=45,
    tasks=(
        Task(
            function="beam_search",
            parameters=("next_log_probabilities", "prompt", "end", "width", "longest"),
            returns="the words, shape (longest,), integers, and their log probability, a tensor without axes",
            outputs=("words", "log_probability"),
            cases=draw_prompt,
            examples=(
                {
                    "next_log_probabilities": PROMISE,
                    "prompt": torch.tensor([3]),
                    "end": 0,
                    "width": 2,
                    "longest": 2,
                },
                {
                    "next_log_probabilities": SECOND_BEST,
                    "prompt": torch.tensor([3]),
                    "end": 0,
                    "width": 2,
                    "longest": 3,
                },
                {
                    "next_log_probabilities": EARLY_END,
                    "prompt": torch.tensor([3]),
                    "end": 0,
                    "width": 2,
                    "longest": 3,
                },
            ),
            reference=beam_search,
            properties=(
                Property(TRUE, 1, told_truly),
                Property(GREEDY, 1, of_width(lambda case: 1)),
                Property(BEST, 2, both(of_width(lambda case: case["width"]), inputs_unchanged)),
                Property(ENDED, 2, ends),
                Property(
                    ALL, 2, of_width(lambda case: SIZE[case["next_log_probabilities"]] ** min(case["longest"], 3))
                ),
            ),
            misconceptions=(
                Misconception(
                    "greedy",
                    "this is what the best word at every step gives, whatever the width: one candidate is kept, or "
                    "`width` equal copies of it, which stay equal; begin with the prompt once",
                    greedy,
                    breaks=ALL,
                ),
                Misconception(
                    "the best word of each candidate",
                    "this extends each candidate by its own best word; the best are to be chosen among all "
                    "extensions of all candidates, and both may come from one",
                    by(per_beam=True),
                    breaks=ALL,
                ),
                Misconception(
                    "the last step alone",
                    "this ranks candidates by the log probability of their last word; it is to be added to what the "
                    "words before it have",
                    by(add=lambda total, step: step),
                    breaks=TRUE,
                ),
                Misconception(
                    "multiplied",
                    "this multiplies log probabilities; probabilities are multiplied, their logarithms are added",
                    by(add=lambda total, step: total * step if total else step),
                    breaks=TRUE,
                ),
                Misconception(
                    "the end is always 0",
                    "this takes the word 0 for the end; the end is the argument `end`, which may be any word",
                    end_is_zero,
                    breaks=ALL,
                ),
                Misconception(
                    "probability",
                    "the words are right, but what came with them is their probability; its logarithm was asked for",
                    then(lambda words, total, case: (words, total.exp())),
                    breaks=TRUE,
                ),
                Misconception(
                    "sign turned",
                    "the words are right, but what came with them is minus their log probability",
                    then(lambda words, total, case: (words, -total)),
                    breaks=TRUE,
                ),
                Misconception(
                    "finished candidates extended",
                    "this goes on adding log probabilities after the end: a candidate that has ended is extended no "
                    "further, and its log probability stays",
                    by(finished="extended"),
                    breaks=ENDED,
                ),
                Misconception(
                    "finished candidates dropped",
                    "this loses candidates that have ended: they stay in the beam, and may be the best at last",
                    by(finished="dropped"),
                    breaks=ENDED,
                ),
                Misconception(
                    "stopped at the first end",
                    "this stops as soon as a candidate has ended; one that goes on may still be more probable",
                    by(stop_at_first=True),
                    breaks=ENDED,
                ),
                Misconception(
                    "the end for nothing",
                    "the log probability of the end itself is missing: to end is a word like any other, and has its "
                    "price",
                    by(count_end=False),
                    breaks=ENDED,
                ),
                Misconception(
                    "per word",
                    "this ranks candidates by their log probability over their number of words; here the log "
                    "probability itself counts",
                    by(rank=per_word),
                    breaks=ENDED,
                ),
                Misconception(
                    "rows not chosen",
                    "the words were written behind whatever row stood there: with the best extensions come the rows "
                    "that they extend, `rows[parent]`, before the new word is added",
                    without_parents,
                    breaks=TRUE,
                ),
                Misconception(
                    "the last of the beam",
                    "this returns the last candidate of the beam; the best was asked for",
                    worst_kept,
                    breaks=BEST,
                ),
                Misconception(
                    "prompt returned",
                    "the prompt stands in front of the words; the words without it were asked for",
                    then(lambda words, total, case: (torch.cat([case["prompt"], words]), total)),
                    breaks=TRUE,
                ),
                Misconception(
                    "log probability first",
                    "this returns (log probability, words); the words come first",
                    then(lambda words, total, case: (total, words)),
                    breaks=TRUE,
                ),
                Misconception(
                    "worst extensions",
                    "this keeps the least probable candidates, as a sort does that begins with the smallest",
                    by(rank=lambda candidate: -candidate[1]),
                    breaks=GREEDY,
                ),
            ),
        ),
    ),
    hints=(
        "With a width of one this is greedy writing. What has to be remembered of each candidate when there are "
        "several? And among how many extensions are the next ones chosen?",
        "Keep a list of candidates, each with its words and the sum of its log probabilities; begin with one, no words "
        "and 0. At every step make the list of all extensions of those that have not ended, add those that have, sort, "
        "and keep the first `width`.",
        "A candidate can be a pair `(words, total)`; its extension by `word` is `(words + [word], total + ...)`. "
        "`sorted(..., key=lambda pair: pair[1], reverse=True)[:width]` keeps the best. At the end, "
        "`[end] * (longest - len(words))` fills up.",
    ),
)
