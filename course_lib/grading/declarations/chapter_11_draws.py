"""Exercise 11.3, sampling: its last part, a token drawn by a uniform number, and the exercise as a whole."""

from collections.abc import Callable

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.chapter_11_nucleus import NUCLEUS
from course_lib.grading.declarations.chapter_11_top import TOP_K
from course_lib.grading.declarations.drawing import shares, sizes
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import answer_like, both, equals, inputs_unchanged, on
from course_lib.grading.wording import describe, describe_case

ROOM = 1e-3  # no uniform number is so close to a running sum that rounding could decide
GRID = 100
BELOW_ONE = 1 - 2.0**-24  # the greatest number below 1 that torch.rand can give


def running_sums(probabilities):
    """The sum of all probabilities up to each token, the last of them exactly 1."""
    running = probabilities.cumsum(-1)
    return running / running[:, -1:]


def draw_tokens(probabilities, uniform):
    """How many running sums the number has reached."""
    return (running_sums(probabilities) <= uniform[:, None]).sum(-1)


def draw_probabilities(generator: torch.Generator) -> Case:
    """Draw probabilities, some of them 0, as a cut leaves them, and uniform numbers."""
    batch, vocabulary = sizes(generator, 5, 7, least=2)
    probabilities = shares(generator, batch, vocabulary + 1)
    kept = torch.rand(batch, vocabulary + 1, generator=generator) < 0.7
    kept[:, 0] |= ~kept.any(-1)
    probabilities = probabilities * kept
    probabilities = probabilities / probabilities.sum(-1, keepdim=True)
    while True:
        uniform = torch.rand(batch, generator=generator)
        if ((running_sums(probabilities) - uniform[:, None]).abs() > ROOM).all():
            return {"probabilities": probabilities, "uniform": uniform}


def at_the_edges(case: Case) -> Case:
    """Numbers that are running sums themselves, exactly, with tokens of probability 0 before, between and behind."""
    row = torch.tensor([0.0, 0.25, 0.5, 0.0, 0.25, 0.0])
    return {"probabilities": row.expand(4, 6).clone(), "uniform": torch.tensor([0.0, 0.25, 0.75, 0.5])}


def short_of_one(case: Case) -> Case:
    """Sums that end at two millionths below 1, tokens of probability 0 at the end, and the greatest number there is."""
    probabilities = torch.nn.functional.pad(case["probabilities"] * (1 - 2e-6), (0, 1))
    return {"probabilities": probabilities, "uniform": torch.full_like(case["uniform"], BELOW_ONE)}


def fair(call: Call, case: Case) -> str | None:
    """Of numbers that are spread evenly, each token is drawn by as many as its probability says, but for one."""
    row = case["probabilities"][-1]
    grid = (torch.arange(GRID) + 0.5) / GRID
    even = {"probabilities": row.expand(GRID, -1).clone(), "uniform": grid}
    answer, _ = answer_like(draw_tokens, call, even)
    if answer.min() < 0 or answer.max() >= len(row):
        return f"{describe_case(case)}: a token {int(answer.max())} was drawn of {len(row)}, which count from 0"
    counts, due = torch.bincount(answer, minlength=len(row)), GRID * row
    wrong = (counts - due).abs() > 1.01
    if not wrong.any():
        return None
    token = int(wrong.nonzero()[0])
    return (
        f"of {GRID} numbers spread evenly from 0 to 1, with the probabilities {describe(row)} each time: token {token} "
        f"was drawn {int(counts[token])} times, expected about {due[token].item():.0f}"
    )


def by_running_sums(count: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]):
    """Return the answer `count(running, uniform)`, the uniform numbers a column."""
    return lambda probabilities, uniform: count(running_sums(probabilities), uniform[:, None])


def undivided(count: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]):
    """Return the same, of running sums as rounding leaves them."""
    return lambda probabilities, uniform: count(probabilities.cumsum(-1), uniform[:, None])


def reached(running, uniform):
    """How many running sums the number has reached."""
    return (running <= uniform).sum(-1)


def from_the_most_probable(probabilities, uniform):
    """Places in the sorted row."""
    return draw_tokens(probabilities.sort(dim=-1, descending=True).values, uniform)


def from_the_most_probable_and_back(probabilities, uniform):
    """The tokens that stand at those places."""
    order = probabilities.argsort(dim=-1, descending=True, stable=True)
    return order.gather(-1, from_the_most_probable(probabilities, uniform)[:, None])[:, 0]


def from_the_end(probabilities, uniform):
    """Running sums from the last token to the first."""
    return probabilities.shape[-1] - 1 - draw_tokens(probabilities.flip(-1), uniform)


FAIR, FIRST, EDGES, SHORT = (
    f"fair: of {GRID} numbers spread evenly, each token is drawn by its share",
    "the first token whose running sum exceeds the number",
    "a number that is a running sum itself; a token of probability 0 is never drawn",
    "sums that rounding leaves short of 1",
)

DRAWS = Task(
    function="draw_tokens",
    parameters=("probabilities", "uniform"),
    returns="one token for each row, shape (batch,), integers",
    cases=draw_probabilities,
    examples=(
        {
            "probabilities": torch.tensor([[0.5, 0.0, 0.25, 0.25], [0.5, 0.0, 0.25, 0.25]]),
            "uniform": torch.tensor([0.6, 0.4]),
        },
    ),
    reference=draw_tokens,
    properties=(
        Property(FAIR, 1, fair),
        Property(FIRST, 1, both(equals(draw_tokens), inputs_unchanged)),
        Property(EDGES, 1, on(at_the_edges, equals(draw_tokens))),
        Property(SHORT, 1, on(short_of_one, equals(draw_tokens))),
    ),
    misconceptions=(
        Misconception(
            "the most probable",
            "this takes the most probable token, whatever the number: that is greedy, and no draw",
            lambda probabilities, uniform: probabilities.argmax(-1),
            breaks=FAIR,
        ),
        Misconception(
            "all tokens alike",
            "this draws every token equally often, whatever its probability: the number has to be compared with "
            "running sums of the probabilities",
            lambda probabilities, uniform: (uniform * probabilities.shape[-1]).long(),
            breaks=FAIR,
        ),
        Misconception(
            "one token further",
            "this is the token after the right one: how many running sums the number has reached is, counted from 0, "
            "already the token",
            by_running_sums(lambda running, uniform: reached(running, uniform) + 1),
            breaks=FAIR,
        ),
        Misconception(
            "one token before",
            "this is the token before the right one, the last whose running sum the number has reached; asked is the "
            "first whose running sum *exceeds* it",
            by_running_sums(lambda running, uniform: reached(running, uniform) - 1),
            breaks=FAIR,
        ),
        Misconception(
            "probabilities for running sums",
            "this counts the *probabilities* that the number has reached; it has to be compared with their running "
            "sums, `cumsum(dim=-1)`",
            lambda probabilities, uniform: reached(probabilities, uniform[:, None]),
            breaks=FAIR,
        ),
        Misconception(
            "one number for all",
            "every row was drawn with the first number: row b has its own, `uniform[b]`",
            lambda probabilities, uniform: draw_tokens(probabilities, uniform[:1].expand_as(uniform)),
            breaks=FAIR,
        ),
        Misconception(
            "one row for all",
            "every token was drawn from the first row: row b has probabilities of its own",
            lambda probabilities, uniform: draw_tokens(probabilities[:1].expand_as(probabilities), uniform),
            breaks=FIRST,
        ),
        Misconception(
            "from the most probable",
            "this returns places in a sorted row for tokens: sorting is not needed, the running sums may be taken in "
            "the order of the vocabulary",
            from_the_most_probable,
            breaks=FIRST,
        ),
        Misconception(
            "from the most probable and back",
            "this is fair, and takes the running sums in sorted order, so that a given number gives another token; "
            "here they are taken in the order of the vocabulary",
            from_the_most_probable_and_back,
            breaks=FIRST,
        ),
        Misconception(
            "from the end",
            "this is fair, and takes the running sums from the last token to the first; here they begin with token 0",
            from_the_end,
            breaks=FIRST,
        ),
        Misconception(
            "a column",
            "this has an axis too many, (batch, 1): one token for each row is asked for, (batch,)",
            lambda probabilities, uniform: draw_tokens(probabilities, uniform)[:, None],
            breaks=FIRST,
        ),
        Misconception(
            "reached for exceeded",
            "this takes the first token whose running sum *reaches* the number: at the number 0 that may be a token of "
            "probability 0; it has to exceed it (`searchsorted` needs `right=True`)",
            by_running_sums(lambda running, uniform: (running < uniform).sum(-1)),
            breaks=EDGES,
        ),
        Misconception(
            "reached for exceeded, short sums not mended",
            "this takes the first token whose running sum *reaches* the number (it has to exceed it; `searchsorted` "
            "needs `right=True`), and a number above all running sums, which rounding may leave short of 1, gives a "
            "token that does not exist: divide the sums by the last of them",
            undivided(lambda running, uniform: (running < uniform).sum(-1)),
            breaks=EDGES,
        ),
        Misconception(
            "beyond the vocabulary",
            "where rounding leaves the last running sum short of 1, a number may be above them all, and this returns a "
            "token that does not exist: divide the running sums by the last of them",
            undivided(reached),
            breaks=SHORT,
        ),
        Misconception(
            "back to the first",
            "where rounding leaves the last running sum short of 1, a number may be above them all, and this returns "
            "token 0 (`argmax` of nothing but False); divide the running sums by the last of them",
            undivided(lambda running, uniform: (running > uniform).int().argmax(-1)),
            breaks=SHORT,
        ),
        Misconception(
            "the last of the vocabulary",
            "where a number is above all running sums this returns the last token of the vocabulary, whose probability "
            "may be 0; divide the running sums by the last of them, and the last token that *has* a probability "
            "is drawn",
            undivided(lambda running, uniform: reached(running, uniform).clamp(max=running.shape[-1] - 1)),
            breaks=SHORT,
        ),
    ),
)

SAMPLING = Exercise(
    id="11.3",
    title="Sampling",
    difficulty=3,
    minutes=45,
    tasks=(TOP_K, NUCLEUS, DRAWS),
    hints=(
        "Which score has the exponential 0? In a sorted row, what do you have to know of a token to say whether the "
        "nucleus needs it: the sum with it, or the sum before it? And where does a number between 0 and 1 fall, if the "
        "tokens lie side by side, each as wide as its probability?",
        "Top-k: give each token its place in the sorted row, and minus infinity to all whose place is k or more. "
        "Nucleus: sort the probabilities, take running sums, subtract each token's own, keep where that is below p, "
        "and bring the decision back to the tokens' places. Draw: count how many running sums the number has reached.",
        "`argsort(dim=-1, descending=True)` says which token stands at each place, and the `argsort` of that, which "
        "place each token has. In the sorted row `running - falling` is the sum before each token. For the draw, "
        "divide the running sums by their last entry, and compare them with `uniform[:, None]`.",
    ),
    forbidden={"aten::multinomial": "torch.multinomial"},
)
