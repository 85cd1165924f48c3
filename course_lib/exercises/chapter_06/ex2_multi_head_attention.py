"""06.2: several attentions side by side."""

import torch

from course_lib.exercises.chapter_05._masking import draw_mask, masked_softmax, scaled_scores, seen_or_lost
from course_lib.exercises.chapter_06._heads import four_sizes, merge, split
from course_lib.exercises.drawing import normal
from course_lib.exercises.operators import ATTENTION
from course_lib.grading.checks import both, equals, gradients_equal, inputs_unchanged, of_output, sums_to
from course_lib.grading.exercise import Case, Exercise, Property, Task
from course_lib.grading.problem import Problem

LAYERS = "to_query", "to_key", "to_value", "to_output"


def linear(state, layer, vectors):
    """Apply one of the linear layers."""
    return vectors @ state[f"{layer}.weight"].mT + state[f"{layer}.bias"]


def attention(d_model, heads, state, inputs, mask):
    """Every head attends by itself; their outputs are merged and projected."""
    query, key, value = (split(linear(state, layer, inputs), heads) for layer in LAYERS[:3])
    weights = masked_softmax(scaled_scores(query, key), mask.unsqueeze(-3))
    return linear(state, "to_output", merge(weights @ value)), weights


def draw_module(generator: torch.Generator) -> Case:
    """Draw parameters, inputs, and a mask with a batch or without.

    In a third of the cases all sizes are different, in a third all are the same, in a third there are as many examples
    as heads, so that a mask without an axis for the heads broadcasts along the wrong axis without an error.
    """
    batch, heads, time, d_head = four_sizes(generator)
    if time == 1:  # then a mask would have nothing to hide
        batch, time = time, batch
    if torch.rand((), generator=generator) < 0.5:
        batch = heads
    d_model = heads * d_head
    state = {}
    for layer in LAYERS:
        state[f"{layer}.weight"] = 1.4 * normal(generator, d_model, d_model) / d_model**0.5
        state[f"{layer}.bias"] = normal(generator, d_model) / 2
    masks = [draw_mask(generator, time, time) for _ in range(batch)]
    mask = masks[0] if torch.rand((), generator=generator) < 0.4 else torch.stack(masks)
    inputs = normal(generator, batch, time, d_model)
    return {"d_model": d_model, "heads": heads, "state": state, "inputs": inputs, "mask": mask}


def hidden_weigh_nothing(case: Case):
    """What the mask hides has the weight 0 to the last digit."""
    weights = (yield case).value
    wrong = ~case["mask"].unsqueeze(-3) & (weights != 0)  # so that nan counts
    if not wrong.any():
        return None
    batch, head, query, key = wrong.nonzero()[0].tolist()
    where = f"in example {batch}, head {head}, the weight of key {key}, hidden from query {query}"
    return Problem("value", case, where=where, got=weights[wrong][0].item(), expected="exactly 0")


def far_apart(case: Case) -> Case:
    """Hide the last position from all, its score far above, all others far below, whatever the heads are.

    A single position is not hidden, since it would leave nothing to attend to.
    """
    state, inputs, mask = dict(case["state"]), torch.zeros_like(case["inputs"]), torch.ones_like(case["mask"])
    mask[..., -1] = mask.shape[-1] == 1
    inputs[:, -1, 0] = 1.0
    for layer, weight, bias in (("to_query", 0.0, 1e5), ("to_key", 2e5, -1e5)):
        state[f"{layer}.weight"] = torch.zeros_like(state[f"{layer}.weight"])
        state[f"{layer}.weight"][:, 0] = weight
        state[f"{layer}.bias"] = torch.full_like(state[f"{layer}.bias"], bias)
    return case | {"state": state, "inputs": inputs, "mask": mask}


def hides_across_gaps(case: Case):
    """A hidden key has no weight, however far its scores are from those of the others."""
    far = far_apart(case)
    reply = yield far
    told = "the last position hidden from all, its scores made 1e10 and more, all others -1e10 and less"
    return seen_or_lost(case, reply.value, ~far["mask"].unsqueeze(-3), after=told)


BY_HAND = {
    "d_model": 2,
    "heads": 2,
    "state": {
        "to_query.weight": torch.tensor([[1.0986, 0.0], [0.0, 0.0]]),
        "to_query.bias": torch.tensor([0.0, 1.0986]),
        "to_key.weight": torch.tensor([[0.0, 1.0], [1.0, 0.0]]),
        "to_key.bias": torch.tensor([0.0, 0.0]),
        "to_value.weight": torch.tensor([[4.0, 8.0], [0.0, 4.0]]),
        "to_value.bias": torch.tensor([0.0, 0.0]),
        "to_output.weight": torch.tensor([[1.0, 1.0], [1.0, -1.0]]),
        "to_output.bias": torch.tensor([0.0, 10.0]),
    },
}

ONE_WIDE = {  # one head of one number
    "d_model": 1,
    "heads": 1,
    "state": {
        "to_query.weight": torch.tensor([[2.0]]),
        "to_query.bias": torch.tensor([0.5]),
        "to_key.weight": torch.tensor([[-1.0]]),
        "to_key.bias": torch.tensor([0.25]),
        "to_value.weight": torch.tensor([[3.0]]),
        "to_value.bias": torch.tensor([-1.0]),
        "to_output.weight": torch.tensor([[0.5]]),
        "to_output.bias": torch.tensor([2.0]),
    },
}

MISTAKES = """
no scale => the weights of each head are those of its own queries and keys
- scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
+ scores = query @ key.transpose(-2, -1)
this is the softmax of the bare dot products: each is still to be divided by the root of d_head

scaled by d_model => the weights of each head are those of its own queries and keys
+ scores = query @ key.transpose(-2, -1) / inputs.shape[-1] ** 0.5
this divides by the root of d_model; the dot product of one head has d_head terms, so the root of d_head, d_model //
heads, is its standard deviation

width for its root => the weights of each head are those of its own queries and keys
+ scores = query @ key.transpose(-2, -1) / query.shape[-1]
this divides by d_head; the spread of a dot product is the root of d_head

scaled by the heads => the weights of each head are those of its own queries and keys
+ scores = query @ key.transpose(-2, -1) / self.heads**0.5
this divides by the root of the number of heads; a dot product has d_head terms

scaled by the time => the weights of each head are those of its own queries and keys
+ scores = query @ key.transpose(-2, -1) / query.shape[-2] ** 0.5
this divides by the root of the number of positions; d_head is the last size of the queries

mask without an axis for the heads (-inf) => what the mask hides has weight exactly 0, in every head
- weights = scores.masked_fill(~allowed, float("-inf")).softmax(dim=-1)
+ weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)
the mask has no axis for the heads (none, or one in front, `mask[None]`): a mask (batch, time, time) then meets scores
(batch, heads, time, time) with its batch on their heads; where both sizes are equal there is no error, and head i gets
the mask of example i; `mask.unsqueeze(-3)` adds the axis of the heads

mask without an axis for the heads (-1000000000.0) => what the mask hides has weight exactly 0, in every head
+ weights = scores.masked_fill(~mask, -1e9).softmax(dim=-1)

axis for the heads counted from the front (-inf) => what the mask hides has weight exactly 0, in every head
+ weights = scores.masked_fill(~mask.unsqueeze(1), float("-inf")).softmax(dim=-1)
`mask[:, None]`, or `unsqueeze(1)`, makes room for the heads only in a mask that has a batch; of (time, time) it makes
(time, 1, time); counted from the end, `mask.unsqueeze(-3)`, it is right for both

axis for the heads counted from the front (-1000000000.0) => what the mask hides has weight exactly 0, in every head
+ weights = scores.masked_fill(~mask.unsqueeze(1), -1e9).softmax(dim=-1)

mask turned round (-inf) => what the mask hides has weight exactly 0, in every head
+ weights = scores.masked_fill(allowed, float("-inf")).softmax(dim=-1)
this hides what may be attended to: True means allowed; the fill goes where `~mask` is True

mask turned round (-1000000000.0) => what the mask hides has weight exactly 0, in every head
+ weights = scores.masked_fill(allowed, -1e9).softmax(dim=-1)

mask transposed => what the mask hides has weight exactly 0, in every head
+ weights = scores.masked_fill(~allowed.mT, float("-inf")).softmax(dim=-1)
this applies the mask with its last two axes exchanged: a row of it says which keys one query may attend to

mask ignored => what the mask hides has weight exactly 0, in every head
+ weights = scores.softmax(dim=-1)
every position attends to every other: the mask was not used

mask for the first head alone => what the mask hides has weight exactly 0, in every head
- allowed = mask.unsqueeze(-3)
+ allowed = mask.unsqueeze(-3) | (torch.arange(self.heads) > 0)[:, None, None]
this masks the first head and lets the others attend to all keys; the mask holds for every head

mask after the softmax => the weights of each query sum to one, in every head
- weights = scores.masked_fill(~allowed, float("-inf")).softmax(dim=-1)
+ weights = scores.softmax(dim=-1) * allowed
this masks after the softmax: the hidden keys have already got part of the weight, and the rest sums to less than one

mask after the softmax, divided by the sum => hidden weights are exactly 0, also where scores differ by 1e10
+ weights = scores.softmax(dim=-1) * allowed
+ weights = weights / weights.sum(dim=-1, keepdim=True)
this masks after the softmax and divides by what is left: where a hidden score is far above the others nothing is left
to divide; mask the scores, before the softmax

-1e9 put in => hidden weights are exactly 0, also where scores differ by 1e10
+ weights = scores.masked_fill(~allowed, -1e9).softmax(dim=-1)
this puts a large finite number such as -1e9 for a hidden score, or adds it: where all others are lower still, it gets
the whole weight; `float("-inf")` never does

nan from 0 times infinity => the weights of each query sum to one, in every head
+ weights = (scores + ~allowed * float("-inf")).softmax(dim=-1)
this multiplies the mask by minus infinity, and 0 times infinity is nan; `masked_fill` or `torch.where` put it only
where it belongs

zero for a score => what the mask hides has weight exactly 0, in every head
+ weights = (scores * allowed).softmax(dim=-1)
this sets the hidden scores to 0: a score of 0 is not hidden, since exp(0) is 1; only minus infinity gets no weight

softmax over the queries => the weights of each query sum to one, in every head
+ weights = scores.masked_fill(~allowed, float("-inf")).softmax(dim=-2)
this is a softmax over the queries (dim=-2): they compete for a key; the keys are to compete for each query, along the
last axis

softmax over the queries, nan replaced => the weights of each query sum to one, in every head
+ weights = scores.masked_fill(~allowed, float("-inf")).softmax(dim=-2).nan_to_num()

softmax over the heads => the weights of each query sum to one, in every head
+ weights = scores.masked_fill(~allowed, float("-inf")).softmax(dim=1)
this is a softmax over the heads (dim=1): they compete for each pair of positions; with a fourth axis, that of the keys
is dim=-1

attention among the heads, heads moved back: False => the weights of each head are those of its own queries and keys
- query = split_heads(self.to_query(inputs), self.heads)
+ split_heads, merge_heads = lambda each, heads: each.unflatten(2, (heads, -1)), lambda each: each.flatten(2)
+ query = split_heads(self.to_query(inputs), self.heads)
here the heads of one position attend to each other: after the split they are still the last but one axis, (batch, time,
heads, d_head), where the time should be; exchange the two, `transpose(1, 2)`, before the dot products

attention among the heads, heads moved back: True => the weights of each head are those of its own queries and keys
+ split_heads = lambda each, heads: each.unflatten(2, (heads, -1))
+ query = split_heads(self.to_query(inputs), self.heads)

cut and joined by view => the weights of each head are those of its own queries and keys
+ split_heads = lambda each, heads: each.reshape(len(each), heads, -1, each.shape[-1] // heads)
+ merge_heads = lambda each: each.reshape(inputs.shape)
+ query = split_heads(self.to_query(inputs), self.heads)
`view(batch, heads, time, d_head)` moves no number: the first head gets whole vectors of the first positions, and
joining by `view` puts it all back as if nothing had happened; cut the last axis in two, then exchange heads and time,
as in 06.1

cut by view => the weights of each head are those of its own queries and keys
+ split_heads = lambda each, heads: each.reshape(len(each), heads, -1, each.shape[-1] // heads)
+ query = split_heads(self.to_query(inputs), self.heads)
`view(batch, heads, time, d_head)` moves no number: the first head gets whole vectors of the first positions; cut
the last axis in two, then exchange heads and time, as in 06.1

joined without moving the axis back => the output projects the merged heads
- merged = merge_heads(weights @ value)
+ merged = (weights @ value).reshape(inputs.shape)
the weights are right, and `reshape` joined the wrong axes: the outputs of the heads are (batch, heads, time, d_head),
and heads and time are to be exchanged before they are merged, as in 06.1

heads as the fast axis => the weights of each head are those of its own queries and keys
- query = split_heads(self.to_query(inputs), self.heads)
+ split_heads = lambda each, heads: rearrange(each, "b t (d h) -> b h t d", h=heads)
+ merge_heads = lambda each: rearrange(each, "b h t d -> b t (d h)")
+ query = split_heads(self.to_query(inputs), self.heads)
this gives the numbers of a query to the heads in turn; a head has d_head numbers side by side, "(heads d_head)", as in
06.1

joined with heads as the fast axis => the output projects the merged heads
- merged = merge_heads(weights @ value)
+ merged = rearrange(weights @ value, "batch heads time d_head -> batch time (d_head heads)")
the weights are right, and the heads were joined one number from each in turn; they are to stand side by side, "(heads
d_head)", as they were cut

keys reshaped => the weights of each head are those of its own queries and keys
- scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
+ scores = query @ key.reshape(key.mT.shape) / query.shape[-1] ** 0.5
`reshape` can give the keys the shape of their transpose and moves no number, it only cuts them elsewhere; exchange the
last two axes, `key.transpose(-2, -1)`

one head => the weights of each head are those of its own queries and keys
- return self.to_output(merged), weights
+ query, key, value = self.to_query(inputs), self.to_key(inputs), self.to_value(inputs)
+ weights = (query @ key.mT / query.shape[-1] ** 0.5).masked_fill(~mask, float("-inf")).softmax(dim=-1)
+ return self.to_output(weights @ value), weights
this is attention with a single head, as wide as the inputs: queries, keys and values are to be cut into heads, and
every head has weights of its own

to_output forgotten => the output projects the merged heads
+ return merged, weights
these are the outputs of the heads, side by side; `to_output` was not used, and nothing mixes the heads

weights averaged => the weights of each head are those of its own queries and keys
+ return self.to_output(merged), weights.mean(dim=1)
this averages the weights over the heads, as torch's own module does unless it is told not to; return those of each
head, (batch, heads, time, time)

all heads with the mean of the weights => the weights of each head are those of its own queries and keys
- merged = merge_heads(weights @ value)
+ weights = weights.mean(dim=1, keepdim=True).expand(weights.shape)
+ merged = merge_heads(weights @ value)
this averages the weights over the heads before the values are read: then all heads attend to the same positions, and
one would be enough

all heads with the sum of the scores => the weights of each head are those of its own queries and keys
- allowed = mask.unsqueeze(-3)
+ scores = scores.sum(dim=1, keepdim=True).expand(scores.shape)
+ allowed = mask.unsqueeze(-3)
this adds the scores of all heads up before the softmax, so that all heads attend to the same positions: each head is to
have its own softmax

queries and keys exchanged => the weights of each head are those of its own queries and keys
- scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
+ scores = key @ query.transpose(-2, -1) / query.shape[-1] ** 0.5
here the keys are in the role of the queries: row i of the scores belongs to query i

to_key for to_query => the weights of each head are those of its own queries and keys
- query = split_heads(self.to_query(inputs), self.heads)
+ query = split_heads(self.to_key(inputs), self.heads)
`to_query` was not used, and `to_key` twice: look at the lines that were copied

to_query for to_key => the weights of each head are those of its own queries and keys
- key = split_heads(self.to_key(inputs), self.heads)
+ key = split_heads(self.to_query(inputs), self.heads)
`to_key` was not used, and `to_query` twice: look at the lines that were copied

to_key for to_value => the output projects the merged heads
- value = split_heads(self.to_value(inputs), self.heads)
+ value = split_heads(self.to_key(inputs), self.heads)
`to_value` was not used, and `to_key` twice: look at the lines that were copied

to_value for to_output => the output projects the merged heads
- return self.to_output(merged), weights
+ return self.to_value(merged), weights
`to_output` was not used, and `to_value` twice: look at the lines that were copied

inputs for values => the output projects the merged heads
- value = split_heads(self.to_value(inputs), self.heads)
+ value = split_heads(inputs, self.heads)
this averages the inputs: `to_value` was not used

inputs added => the output projects the merged heads
- return self.to_output(merged), weights
+ return self.to_output(merged) + inputs, weights
this adds the inputs to the output; that is a residual connection, which does not belong here

weights first => the output projects the merged heads
+ return weights, self.to_output(merged)
this returns (weights, output); the output comes first

masked scores returned => the weights of each query sum to one, in every head
+ return self.to_output(merged), scores.masked_fill(~allowed, float("-inf"))
the output is right, but the second answer is the scores, before the softmax; return the weights

bare scores returned => the weights of each query sum to one, in every head
+ return self.to_output(merged), scores

no way back => gradients reach the inputs and all four layers
+ return self.to_output(merged).detach(), weights
the values are right, but the gradient is not: somewhere the graph is cut, as by `.detach()`, `.data` or
`torch.no_grad()`, and what lies before the cut cannot learn
"""

EXERCISE = Exercise(
    title="Multi-head attention",
    difficulty=3,
    minutes=40,
    forbidden=ATTENTION,
    tasks=(
        Task(
            function="MultiHeadAttention",
            parameters=("inputs", "mask"),
            returns="the output, shape (batch, time, d_model), and the weights, shape (batch, heads, time, time)",
            outputs=("output", "weights"),
            constructor=("d_model", "heads"),
            cases=draw_module,
            examples=(
                BY_HAND | {"inputs": torch.eye(2)[None], "mask": torch.tensor([[True, True], [False, True]])},
                BY_HAND
                | {
                    "inputs": torch.eye(2).repeat(2, 1, 1),
                    "mask": torch.tensor([[[True, True], [False, True]], [[True, False], [True, True]]]),
                },
            ),
            edges=(
                BY_HAND
                | {
                    "inputs": torch.tensor([[[1.0, 0.5]], [[-1.0, 2.0]]]),
                    "mask": torch.tensor([[True]]),
                },  # one position
                ONE_WIDE
                | {"inputs": torch.tensor([[[1.0], [-2.0]]]), "mask": torch.tensor([[[False, True], [True, True]]])},
            ),
            reference=attention,
            properties=(
                Property("the weights of each query sum to one, in every head", 1, of_output(1, sums_to(1))),
                Property(
                    "what the mask hides has weight exactly 0, in every head", 2, of_output(1, hidden_weigh_nothing)
                ),
                Property("the weights of each head are those of its own queries and keys", 2, of_output(1, equals())),
                Property("the output projects the merged heads", 2, of_output(0, both(equals(), inputs_unchanged))),
                Property(
                    "hidden weights are exactly 0, also where scores differ by 1e10", 1, of_output(1, hides_across_gaps)
                ),
                Property("gradients reach the inputs and all four layers", 2, gradients_equal(), only_when_right=True),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "What are the lines for one head, in Chapter 5? Which of them change when there is one more axis, and which do "
        "not?",
        "Project the inputs three times; cut each of the three into heads, (batch, heads, time, d_head); attend, with "
        "the root of d_head and with an axis for the heads in the mask; merge the outputs of the heads; project them.",
        "A function of 06.1 that you trust may be called here. With `query`, `key` and `value` cut, the scores are "
        "`query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5`; `mask.unsqueeze(-3)` has room for the heads whether "
        "it has a batch or not; `self.to_output` comes last.",
    ),
)
