"""02.2: attention weights from additive scores."""

import torch

from course_lib.exercises.drawing import normal, sizes
from course_lib.exercises.responding import made_once, responds_to
from course_lib.grading.checks import both, equals, inputs_unchanged, not_moved_by, sums_to
from course_lib.grading.exercise import Case, Exercise, Property, Task


def additive_weights(query, keys, query_weight, key_weight, score_weight):
    """Softmax of the additive scores over the locations."""
    hidden = (query @ query_weight.mT)[:, None] + keys @ key_weight.mT  # (batch, location, d_hidden)
    return (hidden.tanh() @ score_weight).softmax(1)


def draw_query_and_keys(generator: torch.Generator) -> Case:
    """Draw a query and keys of different widths, and the three parameters."""
    batch, location, d_query, d_key, d_hidden = sizes(generator, 4, 5, 4, 5, 4, least=2)
    return {
        "query": normal(generator, batch, d_query),
        "keys": normal(generator, batch, location, d_key),
        "query_weight": normal(generator, d_hidden, d_query),
        "key_weight": normal(generator, d_hidden, d_key),
        "score_weight": normal(generator, d_hidden),
    }


def other_last_picture(case: Case) -> Case:
    """Give the last picture of the batch another query and other keys."""
    query, keys = _other_last(case["query"], case["keys"])
    return case | {"query": query, "keys": keys}


@made_once
def _other_last(query: torch.Tensor, keys: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    query, keys = query.clone(), keys.clone()
    query[-1] += 1
    keys[-1] = 1 - keys[-1]
    return query, keys


def other_last_where_wide(case: Case) -> Case | None:
    """Do so where the query is wider than in our examples, in which a sum or a score may stay what it was."""
    return other_last_picture(case) if case["query"].shape[-1] > 1 else None


LAST_REPLACED = "the last picture replaced"
RESPONDS = responds_to(other_last_where_wide, LAST_REPLACED)


def example(query: list, keys: list, score_weight: float = 2.1972) -> Case:
    """A query and keys of width 1, and parameters of one number each."""
    projections = {"query_weight": torch.tensor([[1.0]]), "key_weight": torch.tensor([[1.0]])}
    given = {"query": torch.tensor(query), "keys": torch.tensor(keys)}
    return given | projections | {"score_weight": torch.tensor([score_weight])}


MISTAKES = """
softmax over the batch => the weights of each picture sum to one
- return scores.softmax(dim=1)
+ return scores.softmax(dim=0)
this is what a softmax over the batch (dim=0) gives: pictures compete, not the locations of one

softmax over everything => one picture has no influence on another
+ return scores.flatten().softmax(dim=0).view(scores.shape)
this is a softmax over all numbers of the batch at once: each picture needs its own

softmax forgotten => the weights of each picture sum to one
+ return scores
these are the scores: the softmax that turns them into weights, which sum to one, is missing

no guard against overflow => softmax of the additive scores
- return scores.softmax(dim=1)
+ return scores.exp() / scores.exp().sum(dim=1, keepdim=True)
this takes exp of the scores as they are, and exp(100) is infinite in float32; subtract the largest score of the picture
first, as in 00.2, or use `torch.softmax`

one maximum for all pictures => softmax of the additive scores
+ grown = (scores - scores.max()).exp()
+ return grown / grown.sum(dim=1, keepdim=True)
this subtracts the largest score of all pictures: where a picture has far smaller scores all its exp are 0, and 0 / 0 is
nan; subtract from each picture its own largest score

query without an axis for the locations => one picture has no influence on another
- scores = torch.tanh(from_query[:, None, :] + from_keys) @ score_weight
+ scores = torch.tanh(from_query + from_keys) @ score_weight
the projected query is (batch, d_hidden), the projected keys are (batch, location, d_hidden): the query lacks the axis
of the locations; `[:, None, :]` makes it (batch, 1, d_hidden)

weights not transposed => softmax of the additive scores
- from_query = query @ query_weight.T
- from_keys = keys @ key_weight.T
+ from_query = query @ query_weight
+ from_keys = keys @ key_weight
query_weight is (d_hidden, d_query) and a query (batch, d_query): their product is `query @ query_weight.T`, and
likewise `keys @ key_weight.T`

no tanh => softmax of the additive scores
- scores = torch.tanh(from_query[:, None, :] + from_keys) @ score_weight
+ scores = (from_query[:, None, :] + from_keys) @ score_weight
this is the answer without the tanh: the query then adds the same to every score, the softmax removes it, and every
word gets the same weights

tanh too late => softmax of the additive scores
+ scores = torch.tanh((from_query[:, None, :] + from_keys) @ score_weight)
this applies tanh to the score, after score_weight; it belongs to the hidden layer, before it

dot product => softmax of the additive scores
+ scores = einsum(from_query, from_keys, "batch hidden, batch location hidden -> batch location")
this is the dot product of the projected query and key; here they are added

query forgotten => softmax of the additive scores
+ scores = torch.tanh(from_keys) @ score_weight
this depends on the keys alone: the query was left out, or was added outside the tanh of the keys, where it adds the
same number to the score of every location

not summed over the hidden layer => the weights of each picture sum to one
- scores = torch.tanh(from_query[:, None, :] + from_keys) @ score_weight
+ scores = torch.tanh(from_query[:, None, :] + from_keys) * score_weight
`*` multiplies entry by entry and leaves an axis of d_hidden numbers; the score of a location is one number, their sum,
as `@ score_weight` makes it

softmax before the sum => the weights of each picture sum to one
- scores = torch.tanh(from_query[:, None, :] + from_keys) @ score_weight
- return scores.softmax(dim=1)
+ scores = torch.tanh(from_query[:, None, :] + from_keys) * score_weight
+ return scores.softmax(dim=1).sum(dim=-1)
this takes a softmax for each hidden entry and adds them up; the score of a location comes first, the sum over its
hidden entries, then one softmax over the locations

every axis of length 1 dropped (1) => softmax of the additive scores
- scores = torch.tanh(from_query[:, None, :] + from_keys) @ score_weight
- return scores.softmax(dim=1)
+ return (torch.tanh(from_query[:, None, :] + from_keys) @ score_weight).squeeze().softmax(dim=-1)
`squeeze()` without an axis removes every axis of length 1, also the batch or the locations; the weights always have two
axes, (batch, location)

every axis of length 1 dropped (2) => softmax of the additive scores
+ return (torch.tanh(from_query[:, None, :] + from_keys) @ score_weight).squeeze().softmax(dim=1)

queries mixed => one picture has no influence on another
- scores = torch.tanh(from_query[:, None, :] + from_keys) @ score_weight
+ from_query = from_query.repeat(keys.shape[1], 1).view(from_keys.shape)
+ scores = torch.tanh(from_query + from_keys) @ score_weight
this repeats all the queries of the batch and cuts them anew, so that one picture is given another's query;
`[:, None, :]` makes the query (batch, 1, d_hidden), which fits every location of its own picture

scaled => softmax of the additive scores
- return scores.softmax(dim=1)
+ return (scores / score_weight.shape[0] ** 0.5).softmax(dim=1)
this divides the scores by the root of the width, as dot products will be later; additive scores are not divided
"""

EXERCISE = Exercise(
    title="Additive attention weights",
    difficulty=3,
    minutes=30,
    tasks=(
        Task(
            function="additive_weights",
            parameters=("query", "keys", "query_weight", "key_weight", "score_weight"),
            returns="the weights of the locations, shape (batch, location)",
            cases=draw_query_and_keys,
            examples=(
                example(query=[[0.5493]], keys=[[[-0.5493], [0.0]]]),
                example(query=[[1.0], [-1.0]], keys=[[[-1.0], [0.0]], [[1.0], [3.0]]]),
            ),
            edges=(
                example(query=[[1.0], [-1.0]], keys=[[[2.0]], [[0.5]]]),  # one location has all the weight
                example(query=[[0.5]], keys=[[[1.0], [1.0]]]),  # equal keys
                # Scores of 152, whose exponentials are infinite, and below -152, far from those of the other picture.
                example(query=[[1.0], [-1.0]], keys=[[[0.0], [0.0]], [[0.0], [-1.0]]], score_weight=200.0),
            ),
            reference=additive_weights,
            properties=(
                Property("the weights of each picture sum to one", 1, both(sums_to(1), RESPONDS)),
                Property(
                    "one picture has no influence on another",
                    2,
                    both(not_moved_by(other_last_picture, LAST_REPLACED, lambda weights: weights[:-1]), RESPONDS),
                ),
                Property("softmax of the additive scores", 3, both(equals(), inputs_unchanged)),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "Which axis holds the locations of one picture? The weights along that axis sum to one.",
        "Project the query to (batch, 1, d_hidden) and the keys to (batch, location, d_hidden); add them by "
        "broadcasting; tanh; a product with score_weight leaves one score for each location; softmax over the "
        "locations.",
        "`hidden = torch.tanh((query @ query_weight.T)[:, None, :] + keys @ key_weight.T)`; the scores are "
        "`hidden @ score_weight`.",
    ),
)
