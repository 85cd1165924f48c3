"""01.3: the context vector, an average of the states."""

import torch
from torch.nn.functional import one_hot

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import both, equals, in_convex_hull, inputs_unchanged, not_moved_by, on
from course_lib.grading.exercise import Case, Exercise, Property, Task


def context_vector(states, scores):
    """Average of the states, weighted by the softmax of the scores."""
    return torch.einsum("bn,bnd->bd", scores.softmax(1), states)


def draw_states_and_scores(generator: torch.Generator) -> Case:
    """Draw the states of a few sentences, and scores that are far enough from equal."""
    batch, length, d_hidden = sizes(generator, 3, 5, 4, least=2)
    return {"states": normal(generator, batch, length, d_hidden), "scores": 2 * normal(generator, batch, length)}


def one_far_above(case: Case) -> Case:
    """Raise the least score of each sentence, one of them, by 1,000."""
    scores = case["scores"]
    return case | {"scores": scores + 1000 * one_hot(scores.argmin(1), scores.shape[1])}


def all_raised(case: Case) -> Case:
    """Add 2 to all scores of the first sentence, 4 to those of the second, and so on."""
    scores = case["scores"]
    return case | {"scores": scores + 2 * torch.arange(1, len(scores) + 1)[:, None]}


def states_near_ten(case: Case) -> Case:
    """Move the states away from zero, so that a sum which is no average leaves their hull."""
    return case | {"states": case["states"] + 10}


MISTAKES = """
the last state => one score far above: that state
- return einsum(weights, states, "batch n, batch n d_hidden -> batch d_hidden")
+ return states[:, -1]
this is the last state of each sentence, the one fixed vector that the chapter wants to get away from: scores and other
states were not used

the plain mean => one score far above: that state
+ return states.mean(dim=1)
this is the mean of the states: the scores were not used

the best state only => the states, averaged by the softmax
+ return states[torch.arange(len(states)), scores.argmax(dim=1)]
this fetches the state of the greatest score and drops the rest: no gradient reaches the scores

scores for weights => a constant added to all scores changes nothing
- weights = torch.softmax(scores, dim=1)
+ weights = scores
this multiplies the states by the scores themselves: the softmax that makes weights of them is missing

scores over their sum => a constant added to all scores changes nothing
+ weights = scores / scores.sum(dim=1, keepdim=True)
this divides the scores by their sum; scores may be negative and then so are the weights: take the softmax

softmax over the batch => a constant added to all scores changes nothing
+ weights = torch.softmax(scores, dim=0)
this is a softmax over the batch (dim=0): sentences compete, not the states of one sentence

softmax over everything => the context lies between the states
+ weights = torch.softmax(scores.flatten(), dim=0).view(scores.shape)
this is one softmax over all scores of the batch: each sentence needs weights of its own

mean for sum => the context lies between the states
- return einsum(weights, states, "batch n, batch n d_hidden -> batch d_hidden")
+ return einsum(weights, states, "batch n, batch n d_hidden -> batch d_hidden") / states.shape[1]
this divides by the number of states after weighting; the weights already sum to one

exp not divided => the context lies between the states
- weights = torch.softmax(scores, dim=1)
+ weights = torch.exp(scores)
this weighs by exp(score) and does not divide by the sum: the weights do not sum to one

no guard against overflow => one score far above: that state
+ weights = torch.exp(scores) / torch.exp(scores).sum(dim=1, keepdim=True)
exp(1000) is infinite, and infinite by infinite is nan: subtract the row's maximum first, or let `softmax` do it

axis lost in the sum => one score far above: that state
+ weights = torch.exp(scores) / torch.exp(scores).sum(dim=1)
the sum of (batch, n) along the last axis has one axis less, and is then not matched sentence by sentence;
`keepdim=True` leaves (batch, 1), or `softmax` does it all

one axis too many => the states, averaged by the softmax
- return einsum(weights, states, "batch n, batch n d_hidden -> batch d_hidden")
+ return weights[:, None] @ states
this leaves an axis of length 1, (batch, 1, d_hidden): take it away, `[:, 0]`, or let an einsum do without it

every axis of length 1 dropped => the states, averaged by the softmax
+ return (weights[:, None] @ states).squeeze()
`squeeze()` without an axis removes every axis of length 1, also the batch or the entries; the answer always has two
axes, (batch, d_hidden)

every sentence with every other => the states, averaged by the softmax
+ return weights @ states
`weights @ states` multiplies the weights of all sentences with the states of each, (batch, batch, d_hidden); every
sentence has weights of its own

weights without an axis for the entries => the states, averaged by the softmax
+ return (weights * states).sum(dim=1)
the weights are (batch, n), the states (batch, n, d_hidden): the weights lack the axis of the entries; `[..., None]`
makes them (batch, n, 1)

summed over the entries => the states, averaged by the softmax
+ return (weights[..., None] * states).sum(dim=2)
this sums over d_hidden, the last axis, one number for each state; sum over the states, dim=1

not summed => the states, averaged by the softmax
+ return weights[..., None] * states
these are the weighted states before they are summed over the sentence

one maximum for all sentences => a constant added to all scores changes nothing
- weights = torch.softmax(scores, dim=1)
+ grown = (scores - scores.max()).exp()
+ weights = grown / grown.sum(dim=1, keepdim=True)
this subtracts the largest score of the whole batch: in a sentence far below it all exp are 0, and 0 / 0 is nan;
subtract from each sentence its own largest score, `scores.amax(dim=1, keepdim=True)`
"""

EXERCISE = Exercise(
    title="The context vector",
    difficulty=1,
    minutes=15,
    tasks=(
        Task(
            function="context_vector",
            parameters=("states", "scores"),
            returns="the context, shape (batch, d_hidden)",
            cases=draw_states_and_scores,
            examples=(
                {"states": torch.tensor([[[4.0, 0.0], [0.0, 8.0]]]), "scores": torch.tensor([[0.0, 1.0986]])},
                {"states": torch.tensor([[[1.0], [5.0]]]), "scores": torch.tensor([[2.0, 2.0]])},
            ),
            edges=(
                {
                    "states": torch.tensor([[[1.0]], [[2.0]]]),
                    "scores": torch.tensor([[3.0], [-1.0]]),
                },  # one state, one feature
                {
                    "states": torch.tensor([[[1.0], [2.0]], [[3.0], [5.0]]]),
                    "scores": torch.tensor([[0.0, 200.0], [0.0, 0.0]]),
                },  # far apart, tied
            ),
            reference=context_vector,
            properties=(
                Property("one score far above: that state", 2, on(one_far_above, equals())),
                Property(
                    "a constant added to all scores changes nothing",
                    1,
                    not_moved_by(
                        all_raised, "2 added to the scores of sentence 0, 4 to those of 1, ...", lambda context: context
                    ),
                ),
                Property("the context lies between the states", 1, on(states_near_ten, in_convex_hull("states"))),
                Property("the states, averaged by the softmax", 2, both(equals(), inputs_unchanged)),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "The weights of the states of one sentence sum to one. Along which axis do they lie, in `scores` and in "
        "`states`?",
        "Softmax over axis 1 of the scores; then multiply every state by its weight, all entries of a state by the "
        "same one, and sum over the states of a sentence.",
        "With `weights = scores.softmax(dim=1)`, an einsum of weights and states, `batch n, batch n d_hidden -> ...`; "
        "or `weights[..., None]`, a product, and a sum over dim=1.",
    ),
)
