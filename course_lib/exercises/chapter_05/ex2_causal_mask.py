"""05.2: causal attention weights."""

import torch

from course_lib.exercises.chapter_05._masking import FAR, masked_softmax, seen_or_lost
from course_lib.exercises.drawing import normal, sizes
from course_lib.exercises.responding import made_once, responds_to
from course_lib.grading.checks import both, difference, equals, inputs_unchanged, moved, sums_to
from course_lib.grading.exercise import Case, Exercise, Property, Task


def past(scores):
    """What a query may attend to: itself and earlier positions, True on and below the diagonal."""
    return torch.ones_like(scores, dtype=torch.bool).tril()


def causal_weights(scores):
    """Softmax over the past and the present."""
    return masked_softmax(scores, past(scores))


def draw_square_scores(generator: torch.Generator) -> Case:
    """Draw scores of equally many queries and keys, with no leading axis, one or two."""
    axes = int(torch.randint(3, (), generator=generator))
    (time,) = sizes(generator, 5, least=2)
    return {"scores": 2 * normal(generator, *sizes(generator, *[3] * axes), time, time)}


@made_once
def _turned(scores: torch.Tensor) -> torch.Tensor:
    return torch.arange(scores.shape[-1]) - scores


def other_scores(case: Case) -> Case | None:
    """Give other scores, from three positions on: with fewer, a mask one step off leaves one key to each row."""
    return {"scores": _turned(case["scores"])} if case["scores"].shape[-1] > 2 else None


RESPONDS = responds_to(other_scores, "every score subtracted from the number of its column")


def future_has_no_influence(case: Case):
    """Raise the scores of each time's whole future, one time after the other: its row may not move at all."""
    changed = []
    for time in range(case["scores"].shape[-1] - 1):
        scores = case["scores"].clone()
        scores[..., time, time + 1 :] += 3
        changed.append({"scores": scores})
    before, *replies = yield [case, *changed]
    for time, after in enumerate(replies):
        said = {"after": f"3 added to row {time} from column {time + 1} on", "where": f"row {time}"}
        if problem := moved(case, before.value[..., time, :], after.value[..., time, :], **said):
            return problem
    return None


def causal_across_gaps(case: Case):
    """The future has weight 0, and the rest its softmax, however far apart the scores of both are.

    In rows 0, 2, ... the future is raised, what is last in it most. In rows 1, 3, ... past and present are lowered, the
    present least: all the weight is then on that.
    """
    seen, times = past(case["scores"]), torch.arange(case["scores"].shape[-1])
    steps = (times - times[:, None]).abs() + 1
    raised = torch.where(seen, case["scores"], FAR * steps)
    lowered = torch.where(seen, -FAR * steps, case["scores"])
    reply = yield {"scores": torch.where(times[:, None] % 2 == 0, raised, lowered)}
    told = "the future of rows 0, 2, ... raised to 1e30 and more, the rest of rows 1, 3, ... lowered to -1e30 and less"
    lost = seen_or_lost(case, reply.value, ~seen, after=told)
    return lost or difference(case, reply.value, reply.expected, after=told)


MISTAKES = """
the present hidden => rows sum to one
- future = torch.ones(time, time, dtype=torch.bool).triu(diagonal=1)
+ future = torch.ones(time, time, dtype=torch.bool).triu(diagonal=0)
this hides the diagonal too: the first row then has no visible key, and its softmax is 0 / 0, nan; a position may attend
to itself

the present hidden, by -1e9 => the rest is the softmax of the visible scores
- future = torch.ones(time, time, dtype=torch.bool).triu(diagonal=1)
- return scores.masked_fill(future, float("-inf")).softmax(dim=-1)
+ future = torch.ones(time, time, dtype=torch.bool).triu(diagonal=0)
+ return scores.masked_fill(future, -1e9).softmax(dim=-1)
this hides the diagonal too: the first row then has no visible key, and its weights are spread over all keys; a position
may attend to itself

nothing but the future => rows sum to one
- future = torch.ones(time, time, dtype=torch.bool).triu(diagonal=1)
+ future = torch.ones(time, time, dtype=torch.bool).tril()
this hides past and present and leaves the future: in a boolean `tril` True means visible, and the fill goes where it is
False

one matrix only => the rest is the softmax of the visible scores
- time = scores.shape[-1]
+ time = len(scores)
this takes the length from the first axis, `len(scores)`; with leading axes (..., time, time) it is the last size,
`scores.shape[-1]`

one step too far => the future has no influence
- future = torch.ones(time, time, dtype=torch.bool).triu(diagonal=1)
+ future = torch.ones(time, time, dtype=torch.bool).triu(diagonal=2)
this lets each position attend to the next one as well: the triangle ends on the diagonal

the other triangle => the future has no influence
- future = torch.ones(time, time, dtype=torch.bool).triu(diagonal=1)
+ future = torch.ones(time, time, dtype=torch.bool).tril(diagonal=-1)
this hides the past and leaves the future: a row belongs to a query, a column to a key, so the visible part is the lower
triangle

no mask => the future has no influence
- return scores.masked_fill(future, float("-inf")).softmax(dim=-1)
+ return scores.softmax(dim=-1)
this is the plain softmax: every position attends to every other

mask after the softmax => rows sum to one
+ return scores.softmax(dim=-1).masked_fill(future, 0.0)
this is what masking *after* the softmax gives: the future is in the divisor, and the rows no longer sum to one

mask after the softmax, divided by the sum and 0.0 => future weights are exactly 0, also where scores differ by 1e30
+ weights = scores.softmax(dim=-1).tril()
+ return weights / weights.sum(dim=-1, keepdim=True)
this masks after the softmax and divides by what is left: where the future's scores are far above the others nothing is
left to divide; mask the scores, before the softmax

mask after the softmax, divided by the sum and 1e-09 => future weights are exactly 0, also where scores differ by 1e30
+ weights = scores.softmax(dim=-1).tril()
+ return weights / (weights.sum(dim=-1, keepdim=True) + 1e-9)

-1e9 put in => future weights are exactly 0, also where scores differ by 1e30
+ return scores.masked_fill(future, -1e9).softmax(dim=-1)
this puts a large finite number such as -1e9 in place of the future's scores: where those of the past are lower still,
the future gets the whole weight; `float("-inf")` never does

-1e9 added => future weights are exactly 0, also where scores differ by 1e30
+ return (scores - 1e9 * future).softmax(dim=-1)
this adds a large finite number such as -1e9 to the future's scores: a future score of 1e30 still gets weight;
`float("-inf")` leaves none

zero for a score => the rest is the softmax of the visible scores
+ return scores.tril().softmax(dim=-1)
this sets the future's scores to 0 (`tril` of the scores, or a product with the mask): exp(0) is 1, so the future keeps
some weight; only a score of minus infinity has none

softmax over the queries => rows sum to one
+ return scores.masked_fill(future, float("-inf")).softmax(dim=-2)
this is a softmax down the columns (dim=-2): each row is to sum to one, dim=-1

nan from 0 times infinity => rows sum to one
+ return (scores + future * float("-inf")).softmax(dim=-1)
this multiplies the mask by minus infinity, and 0 times infinity is nan; `masked_fill` or `torch.where` put it only
where it belongs

scores times minus infinity => rows sum to one
+ return (scores * torch.where(future, float("-inf"), 1.0)).softmax(dim=-1)
this multiplies the scores by a mask of ones and minus infinities: a negative score becomes plus infinity, and the row
nan; replace the score by minus infinity, or add it

scores overwritten => inputs unchanged
+ return scores.masked_fill_(future, float("-inf")).softmax(dim=-1)
this writes minus infinity into the caller's own scores (`masked_fill_`, or `scores[...] = ...`)

the present hidden, nan to 0 => rows sum to one
- future = torch.ones(time, time, dtype=torch.bool).triu(diagonal=1)
- return scores.masked_fill(future, float("-inf")).softmax(dim=-1)
+ future = torch.ones(time, time, dtype=torch.bool).triu(diagonal=0)
+ return scores.masked_fill(future, float("-inf")).softmax(dim=-1).nan_to_num()
this hides the diagonal too, and the nan of the first row, which then has no visible key, were replaced by 0; a position
may attend to itself

one maximum for all rows => the rest is the softmax of the visible scores
- return scores.masked_fill(future, float("-inf")).softmax(dim=-1)
+ visible = scores.masked_fill(future, float("-inf"))
+ grown = (visible - visible.max()).exp()
+ return grown / grown.sum(dim=-1, keepdim=True)
this subtracts the largest score of the whole tensor: in a row far below it all exp are 0, and 0 / 0 is nan; subtract
from each row its own largest visible score, or use `softmax`

a score of 0 hidden => the rest is the softmax of the visible scores
+ visible = scores.tril()
+ return visible.masked_fill(visible == 0, float("-inf")).softmax(dim=-1)
this hides every score that is 0 after `tril`, also a visible one that is 0 itself; make the mask of positions, as
`triu` of ones, and not of scores
"""

EXERCISE = Exercise(
    title="Causal mask",
    difficulty=2,
    minutes=20,
    tasks=(
        Task(
            function="causal_weights",
            parameters=("scores",),
            returns="causal weights, 0 above the diagonal, shape (..., time, time)",
            cases=draw_square_scores,
            examples=({"scores": torch.tensor([[5.0, 9.0, 9.0], [0.0, 1.0986, 9.0], [0.0, 0.0, 0.6931]])},),
            edges=(
                {"scores": torch.tensor([[[3.0]], [[-1.0]]])},  # one position
                {"scores": torch.tensor([[[2.0, 9.0], [-200.0, 200.0]]])},  # one sequence, far apart
            ),
            reference=causal_weights,
            properties=(
                Property("rows sum to one", 1, both(sums_to(1), RESPONDS)),
                Property("the future has no influence", 3, both(future_has_no_influence, RESPONDS)),
                Property("the rest is the softmax of the visible scores", 2, equals()),
                Property("future weights are exactly 0, also where scores differ by 1e30", 2, causal_across_gaps),
                Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "In row t, which columns are the future? And is it too late to hide them once the softmax has been taken?",
        "Make a boolean (time, time) that is True above the diagonal; put minus infinity into the scores there; take "
        "the softmax along each row.",
        "`torch.ones(time, time, dtype=torch.bool).triu(diagonal=1)` is True where the future is; `masked_fill` puts "
        '`float("-inf")` there and gives a new tensor.',
    ),
)
