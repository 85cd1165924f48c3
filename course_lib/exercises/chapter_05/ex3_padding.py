"""05.3: attention over the first keys of each example, of which there may be none."""

import torch

from course_lib.exercises.chapter_05._masking import FAR, scaled_scores
from course_lib.exercises.drawing import normal, sizes
from course_lib.exercises.operators import ATTENTION
from course_lib.exercises.responding import opposite, responds_to
from course_lib.grading.checks import both, difference, equals, gradients_equal, inputs_unchanged, moved, on
from course_lib.grading.exercise import Case, Exercise, Property, Task


def is_read(key, lengths):
    """True for the keys that count, (batch, 1, key)."""
    return (torch.arange(key.shape[1]) < lengths[:, None])[:, None]


def padded_attention(query, key, value, lengths):
    """Attention over the first keys of each example; nothing is infinite on the way, so no gradient is nan."""
    mask = is_read(key, lengths)
    scores = scaled_scores(query, key).masked_fill(~mask, torch.finfo(query.dtype).min)
    return (scores.softmax(-1) * mask) @ value


def draw_padded(generator: torch.Generator) -> Case:
    """Draw a batch of which the first example has keys and padding."""
    batch, query, key, d_key, d_value = sizes(generator, 4, 4, 5, 4, 4, least=2)
    lengths = torch.randint(1, key + 1, (batch,), generator=generator)
    lengths[0] = torch.randint(1, key, (), generator=generator)
    return {
        "query": normal(generator, batch, query, d_key),
        "key": normal(generator, batch, key, d_key),
        "value": normal(generator, batch, key, d_value),
        "lengths": lengths,
    }


def none_empty(case: Case) -> Case:
    """Give every example at least one key, as in all cases but the example of the statement."""
    return case if case["lengths"].all() else case | {"lengths": case["lengths"].clamp(min=1)}


def last_empty(case: Case) -> Case:
    """Make the last example empty, of length 0."""
    lengths = case["lengths"].clone()
    lengths[-1] = 0
    return case | {"lengths": lengths}


def opposite_query(case: Case) -> Case | None:
    """Turn every query round, where one of them reads several keys."""
    return case | {"query": opposite(case["query"])} if case["lengths"].max() > 1 else None


RESPONDS = responds_to(opposite_query, "every query turned into its opposite")


def padding_has_no_influence(case: Case):
    """Put other numbers, huge ones among the keys, where the padding is; nothing may move."""
    padding = ~is_read(case["key"], case["lengths"]).mT
    key = torch.where(padding, FAR * case["query"][:, :1].sign(), case["key"])
    value = torch.where(padding, 100 - case["value"], case["value"])
    before, after = yield [case, case | {"key": key, "value": value}]
    return moved(case, before.value, after.value, after="other keys (up to 1e30) and values in the padding")


def padding_hides_across_gaps(case: Case):
    """Lower what counts to -3e30 and less, each key lower than the one before, so that the first has all the weight."""
    query, key = torch.zeros_like(case["query"]), case["key"].clone()
    query[..., 0] = 1.0
    below = -FAR * torch.arange(3, key.shape[1] + 3)
    key[..., 0] = torch.where(is_read(key, case["lengths"])[:, 0], below, key[..., 0])
    reply = yield case | {"query": query, "key": key}
    told = "the dot products with all that counts made -3e30 and less"
    return difference(case, reply.value, reply.expected, after=told)


def zeros_where_empty(case: Case):
    """Look at the last example alone, which is empty."""
    reply = yield case
    return difference(case, reply.value[-1], reply.expected[-1], where="the last example, which is empty")


MISTAKES = """
nan for nothing => a length of 0 gives zeros
- visible = scores.masked_fill(~(mask | empty), float("-inf"))
- weights = visible.softmax(dim=-1) * mask
+ visible = scores.masked_fill(~mask, float("-inf"))
+ weights = visible.softmax(dim=-1)
where a length is 0 every score is minus infinity, and the softmax of that is 0 / 0, nan; such a row needs finite scores
before the softmax and zeros after it

nan covered up => the gradients are right and never nan
+ visible = scores + torch.where(mask, 0.0, float("-inf"))
+ weights = visible.softmax(dim=-1).nan_to_num()
the output is right, but not the gradient: the weights of an empty row were nan and were replaced afterwards
(`nan_to_num`, `where`); the gradient still passes there, and 0 times nan is nan; do not give the softmax a row in which
every score is minus infinity

-1e9 put in => a length of 0 gives zeros
+ visible = scores.masked_fill(~mask, -1e9)
+ weights = visible.softmax(dim=-1)
this puts a large finite number such as -1e9 for padding: where a length is 0, all scores are equal and the answer is
the mean of the padding; it should be zeros there

-1e9 put in, and the mask after the softmax => padding is hidden also where all other keys score -1e30 or less
+ visible = scores.masked_fill(~mask, -1e9)
+ weights = visible.softmax(dim=-1) * mask
this puts a large finite number such as -1e9 for padding and clears its weights afterwards: where the scores of all
other keys are lower still, the padding has got the whole weight by then, and nothing is left; `float("-inf")` is lower
than every score, and the empty rows need care

-1e9 added => padding has exactly no influence
+ visible = scores - 1e9 * ~mask
+ weights = visible.softmax(dim=-1)
this adds a large finite number such as -1e9 to the scores of the padding: scores of 1e30 there still get weight, and in
an empty row the padding is read as if it were not padding

zero for a score => padding has exactly no influence
+ weights = (scores * mask).softmax(dim=-1)
this sets the scores of the padding to 0, and exp(0) is 1: the padding keeps some weight

padding set to zero => attention over the first lengths[b] keys
- empty = rearrange(lengths == 0, "batch -> batch 1 1")
+ key, value = key * mask.mT, value * mask.mT
+ mask = empty = torch.ones_like(mask)
this sets the keys and values of the padding to zero and then reads them: a zero key has the score 0, which is not minus
infinity, and takes part of the weight

mask after the softmax => attention over the first lengths[b] keys
- visible = scores.masked_fill(~(mask | empty), float("-inf"))
- weights = visible.softmax(dim=-1) * mask
+ weights = scores.softmax(dim=-1) * mask
this sets the weights of the padding to zero after the softmax: the padding has got part of the weight by then, and the
rest sums to less than one

lengths ignored => padding has exactly no influence
+ weights = scores.softmax(dim=-1)
this reads the padding like anything else: the lengths were not used

one too many => padding has exactly no influence
- counts = torch.arange(key.shape[1]) < lengths[:, None]
+ lengths = lengths + 1
+ counts = torch.arange(key.shape[1]) < lengths[:, None]
this reads one key too many: keys are counted from 0, so those that count are `< length`

one too many, or one where the length is 0 => padding has exactly no influence
- counts = torch.arange(key.shape[1]) < lengths[:, None]
+ counts = torch.arange(key.shape[1]) <= lengths[:, None]

one too many, and zeros where the length is 0 => padding has exactly no influence
- visible = scores.masked_fill(~(mask | empty), float("-inf"))
- weights = visible.softmax(dim=-1) * mask
+ mask = torch.arange(key.shape[1]) <= lengths[:, None, None]
+ weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1) * ~empty

the longest length for all => padding has exactly no influence
+ mask = torch.arange(key.shape[1]) < lengths.max()
+ weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1) * ~empty
this lets every example read as many keys as the longest one has; each example has a length of its own

padding read where the length is 0 => a length of 0 gives zeros
+ weights = scores.masked_fill(~(mask | empty), float("-inf")).softmax(dim=-1)
where the length is 0 this reads the padding; the output should be zeros there

mask turned round => padding has exactly no influence
- visible = scores.masked_fill(~(mask | empty), float("-inf"))
- weights = visible.softmax(dim=-1) * mask
+ visible = scores.masked_fill(mask, float("-inf"))
+ weights = visible.softmax(dim=-1)
this reads the padding and hides the rest

queries hidden => attention over the first lengths[b] keys
+ rows = torch.arange(query.shape[1])[:, None] < lengths[:, None, None]
+ weights = scores.masked_fill(~rows, float("-inf")).softmax(dim=-1)
this hides queries, the last axis but one of the scores; the lengths count keys, the last axis

queries hidden after the softmax => attention over the first lengths[b] keys
+ rows = torch.arange(query.shape[1])[:, None] < lengths[:, None, None]
+ weights = scores.softmax(dim=-1) * rows

mask without an axis for the queries => attention over the first lengths[b] keys
+ visible = scores.masked_fill(~counts, float("-inf"))
+ weights = visible.softmax(dim=-1)
a mask of shape (batch, key) lacks the axis of the queries, and beside scores (batch, query, key) its batch is taken for
theirs; `[:, None, :]` makes it (batch, 1, key)

no scale => attention over the first lengths[b] keys
- scores = einsum(query, key, "batch query d, batch key d -> batch query key") / key.shape[-1] ** 0.5
+ scores = einsum(query, key, "batch query d, batch key d -> batch query key")
this leaves out the division by the root of d_key

inputs overwritten => inputs unchanged
- empty = rearrange(lengths == 0, "batch -> batch 1 1")
+ value *= mask.mT
+ empty = rearrange(lengths == 0, "batch -> batch 1 1")
this writes zeros into the caller's own tensor, which other code may still use

mask without an axis for the queries, and after the softmax => attention over the first lengths[b] keys
- visible = scores.masked_fill(~(mask | empty), float("-inf"))
- weights = visible.softmax(dim=-1) * mask
+ weights = scores.masked_fill(~counts, torch.finfo(scores.dtype).min).softmax(dim=-1) * counts
a mask of shape (batch, key) lacks the axis of the queries, and beside scores (batch, query, key) its batch is taken for
theirs; `[:, None, :]` makes it (batch, 1, key)

maximum with the padding => padding has exactly no influence
+ grown = (scores - scores.amax(dim=-1, keepdim=True)).exp() * mask
+ weights = grown / (grown.sum(dim=-1, keepdim=True) + 1e-9)
this subtracts the largest score of a row with the padding included: where that of the padding is 1e30, the exp of all
other keys are 0; put minus infinity for the padding before the maximum is taken, or use `softmax`

queries cut as well => attention over the first lengths[b] keys
- weights = visible.softmax(dim=-1) * mask
+ rows = torch.arange(query.shape[1])[:, None] < lengths[:, None, None]
+ weights = visible.softmax(dim=-1) * mask * rows
this makes the outputs from query `lengths[b]` on zero; the lengths count keys, and every query has an output

nan covered up in the output => the gradients are right and never nan
- visible = scores.masked_fill(~(mask | empty), float("-inf"))
- weights = visible.softmax(dim=-1) * mask
- return einsum(weights, value, "batch query key, batch key d -> batch query d")
+ weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)
+ return (weights @ value).nan_to_num()
the output is right, but not the gradient: the weights of an empty row are nan, and so is every gradient that passes
them; do not give the softmax a row in which every score is minus infinity

the lowest number put in => a length of 0 gives zeros
- visible = scores.masked_fill(~(mask | empty), float("-inf"))
- weights = visible.softmax(dim=-1) * mask
+ weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(dim=-1)
this puts the lowest finite number for padding: where a length is 0, all scores are equal and the answer is the mean of
the padding; it should be zeros there

-1e9 put in, and zeros where the length is 0 => padding is hidden also where all other keys score -1e30 or less
- visible = scores.masked_fill(~(mask | empty), float("-inf"))
- weights = visible.softmax(dim=-1) * mask
+ visible = scores.masked_fill(~mask, -1e9)
+ weights = visible.softmax(dim=-1) * ~empty
this puts a large finite number such as -1e9 for padding: where the scores of all other keys are lower still, the
padding gets the whole weight; `float("-inf")` is lower than every score, and the empty rows need care
"""

EXERCISE = Exercise(
    title="Padding and empty rows",
    difficulty=3,
    minutes=30,
    forbidden=ATTENTION,
    tasks=(
        Task(
            function="padded_attention",
            parameters=("query", "key", "value", "lengths"),
            returns="the output, shape (batch, query, d_value)",
            cases=draw_padded,
            examples=(
                {
                    "query": torch.tensor([[[1.0]], [[1.0]]]),
                    "key": torch.tensor([[[0.0], [1.0986], [7.0]], [[2.0], [3.0], [4.0]]]),
                    "value": torch.tensor([[[0.0], [4.0], [100.0]], [[5.0], [6.0], [7.0]]]),
                    "lengths": torch.tensor([2, 0]),
                },
            ),
            edges=(
                {  # no key, one and all of them; one query, widths of one
                    "query": torch.tensor([[[1.0]], [[2.0]], [[-1.0]]]),
                    "key": torch.tensor([[[1.0], [2.0]], [[0.0], [1.0]], [[1.0], [3.0]]]),
                    "value": torch.tensor([[[1.0], [2.0]], [[3.0], [4.0]], [[5.0], [6.0]]]),
                    "lengths": torch.tensor([0, 1, 2]),
                },
                {  # a single key
                    "query": torch.tensor([[[1.0], [2.0]], [[3.0], [1.0]]]),
                    "key": torch.tensor([[[1.0]], [[2.0]]]),
                    "value": torch.tensor([[[3.0]], [[4.0]]]),
                    "lengths": torch.tensor([1, 1]),
                },
            ),
            reference=padded_attention,
            properties=(
                Property("attention over the first lengths[b] keys", 2, on(none_empty, equals())),
                Property(
                    "padding has exactly no influence", 2, on(none_empty, both(padding_has_no_influence, RESPONDS))
                ),
                Property(
                    "padding is hidden also where all other keys score -1e30 or less",
                    1,
                    on(none_empty, both(padding_hides_across_gaps, RESPONDS)),
                ),
                Property(
                    "a length of 0 gives zeros", 2, both(on(last_empty, zeros_where_empty), on(none_empty, RESPONDS))
                ),
                Property(
                    "the gradients are right and never nan", 2, on(last_empty, gradients_equal()), only_when_right=True
                ),
                Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "What is the softmax of a row in which every score is minus infinity? If the nan is replaced after the "
        "softmax, the output is right. Are the gradients right as well? It depends on how the minus infinity got "
        "there.",
        "Make the mask (batch, 1, key) by comparing `torch.arange` with the lengths. Let an empty row keep its finite "
        "scores, so that its softmax is harmless, and multiply the weights by the mask afterwards.",
        "`empty = ~mask.any(dim=-1, keepdim=True)`; the fill goes where `~mask & ~empty` is True; what comes out of "
        "the softmax is multiplied by `mask`, which turns the empty row into zeros.",
    ),
)
