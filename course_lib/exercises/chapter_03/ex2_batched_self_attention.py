"""03.2: self-attention with one batched product."""

from collections.abc import Callable

import torch

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import (
    Check,
    both,
    difference,
    equals,
    inputs_unchanged,
    not_moved_by,
    of_output,
    sums_to,
)
from course_lib.grading.exercise import Case, Exercise, Property, Task


def batched_self_attention(inputs):
    """Every sequence of the batch at once."""
    weights = (inputs @ inputs.mT).softmax(-1)
    return weights @ inputs, weights


def draw_sequences(generator: torch.Generator) -> Case:
    """Draw a batch of sequences with at least two of everything."""
    return {"inputs": normal(generator, *sizes(generator, 3, 5, 4, least=2))}


def other_last_sequence(case: Case) -> Case:
    """Put another sequence at the end of the batch."""
    inputs = case["inputs"].clone()
    inputs[-1] = 1 - inputs[-1]
    return {"inputs": inputs}


FIRST_ONES_STAY = not_moved_by(other_last_sequence, "the last sequence replaced", lambda each: each[:-1])


def permuted_by(permute: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Check:
    """Permuting the inputs along time changes the answer as `permute(answer, order)` does.

    Odd positions come first: neither their own order, nor that backwards, nor that round a circle (from four positions
    on).
    """

    def check(case: Case):
        time = case["inputs"].shape[1]
        order = torch.cat([torch.arange(1, time, 2), torch.arange(0, time, 2)])
        before, after = yield [case, {"inputs": case["inputs"][:, order]}]
        expected = permute(before.value, order)
        return difference(case, after.value, expected, after=f"read in the order {order.tolist()}")

    return check


MISTAKES = """
softmax over the queries => each row of weights sums to one
- weights = scores.softmax(dim=-1)
+ weights = scores.softmax(dim=1)
this is a softmax over dim=1, the positions that read: the columns sum to one; it belongs over the last axis, the
positions that are read

softmax over the batch => one sequence has no influence on another
+ weights = scores.softmax(dim=0)
this is a softmax over dim=0: the weights sum to one over the sequences of the batch, not over the positions

softmax forgotten => each row of weights sums to one
+ weights = scores
these weights are the scores: the softmax over the last axis is missing

no guard against overflow => weights: softmax of the dot products
+ weights = scores.exp() / scores.exp().sum(dim=-1, keepdim=True)
this takes exp of the dot products as they are, and exp(100) is infinite in float32; subtract the largest of each row
first, as in 00.2, or use `torch.softmax`

one maximum for all rows => weights: softmax of the dot products
+ grown = (scores - scores.max()).exp()
+ weights = grown / grown.sum(dim=-1, keepdim=True)
this subtracts the largest score of the whole batch: in a row far below it all exp are 0, and 0 / 0 is nan; subtract
from each row its own largest score, `scores.amax(dim=-1, keepdim=True)`

one long sequence => one sequence has no influence on another
- scores = einsum(inputs, inputs, "batch query d, batch key d -> batch query key")
- weights = scores.softmax(dim=-1)
- return weights @ inputs, weights
+ rows = inputs.flatten(0, 1)
+ weights = (rows @ rows.mT).softmax(dim=-1)
+ return (weights @ rows).view(inputs.shape), weights.unflatten(0, inputs.shape[:2])
this lays the sequences of the batch end to end, and every position reads them all; `.mT` exchanges the last two axes
and leaves the batch alone

two names for the batch => one sequence has no influence on another
- scores = einsum(inputs, inputs, "batch query d, batch key d -> batch query key")
+ scores = einsum(inputs, inputs, "batch query d, other key d -> batch query key")
this gives the batch two names in the einsum and so sums the scores over all sequences; a query is compared with the
keys of its own sequence

reshape for transpose => weights: softmax of the dot products
- scores = einsum(inputs, inputs, "batch query d, batch key d -> batch query key")
+ scores = inputs @ inputs.reshape(len(inputs), inputs.shape[2], -1)
`reshape` (or `view`) to (batch, d_model, time) has the right shape and cuts the vectors up; the axes are exchanged by
`.mT`, `transpose(1, 2)` or einops

features compared => weights: softmax of the dot products
- weights = scores.softmax(dim=-1)
- return weights @ inputs, weights
+ weights = (inputs.mT @ inputs).softmax(dim=-1)
+ return inputs @ weights, weights
this compares features with features, (batch, d_model, d_model); the positions are to be compared: the transposed factor
stands on the right

later places left out => permuted inputs, output permuted in the same way
- weights = scores.softmax(dim=-1)
+ later = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)
+ weights = scores.masked_fill(later, float("-inf")).softmax(dim=-1)
this lets no position read a later one; the first position then differs from the others, and order matters: here every
position reads every position

place added => permuted inputs, output permuted in the same way
- scores = einsum(inputs, inputs, "batch query d, batch key d -> batch query key")
+ inputs = inputs + torch.arange(inputs.shape[1])[:, None]
+ scores = inputs @ inputs.mT
this adds the number of the position to the vectors; here a vector's position is to have no influence

scaled => weights: softmax of the dot products
- weights = scores.softmax(dim=-1)
+ weights = (scores / inputs.shape[-1] ** 0.5).softmax(dim=-1)
this divides the scores by the root of d_model, as chapter 5 will; here nothing is scaled

weights transposed in the average => output: the weighted average
- return weights @ inputs, weights
+ return weights.mT @ inputs, weights
the weights are right, and the average takes them by columns: a row holds the weights with which one position reads, so
the product is `weights @ inputs`

weights first => output: the weighted average
+ return weights, weights @ inputs
these are the weights and then the output; the output comes first

inputs overwritten => inputs unchanged
+ output = weights @ inputs
+ inputs.copy_(output)
+ return output, weights
this writes the output into the caller's inputs, and they are gone

scores for the second answer => weights: softmax of the dot products
- return weights @ inputs, weights
+ return weights @ inputs, scores
the output is right, but the second tensor holds the scores, before the softmax; the weights are wanted

output by torch's attention => output: the weighted average
+ return torch.nn.functional.scaled_dot_product_attention(inputs, inputs, inputs), weights
the weights are right; but `scaled_dot_product_attention` divides the scores by the root of d_model unless it is given
`scale=1`, and here nothing is scaled

scores cut off => weights: softmax of the dot products
- weights = scores.softmax(dim=-1)
+ weights = scores.clamp(max=50).softmax(dim=-1)
this cuts off large scores, so that all scores above the bound get the same weight; subtract the largest of each row,
which changes no weight, or use `torch.softmax`
"""

EXERCISE = Exercise(
    title="Self-attention with one batched product",
    difficulty=2,
    minutes=20,
    tasks=(
        Task(
            function="batched_self_attention",
            parameters=("inputs",),
            returns="the output, shape (batch, time, d_model), and the weights, shape (batch, time, time)",
            outputs=("output", "weights"),
            cases=draw_sequences,
            examples=(
                {"inputs": torch.tensor([[[1.0481], [0.0]]])},
                {"inputs": torch.tensor([[[1.0, 0.0], [1.0, 1.0], [0.0, -1.0]], [[0.5, 0.0], [0.0, 0.5], [1.0, 2.0]]])},
            ),
            edges=(
                {"inputs": torch.tensor([[[2.0]], [[3.0]]])},  # one vector, one feature
                {"inputs": torch.tensor([[[2.0], [2.0], [-2.0]]])},  # a tie, and scores of 4
                # Scores of 400, whose exponentials are infinite, beside a row and a sequence with far lower ones.
                {"inputs": torch.tensor([[[20.0], [0.5]], [[1.0], [-1.0]]])},
                {"inputs": torch.tensor([[[16.0], [15.9375]]])},  # scores of 256 and 255: large, and not equal
            ),
            reference=batched_self_attention,
            properties=(
                Property("each row of weights sums to one", 1, of_output(1, sums_to(1))),
                Property(
                    "one sequence has no influence on another",
                    1,
                    both(of_output(0, FIRST_ONES_STAY), of_output(1, FIRST_ONES_STAY)),
                ),
                Property(
                    "permuted inputs, output permuted in the same way",
                    2,
                    both(
                        of_output(0, permuted_by(lambda output, order: output[:, order])),
                        of_output(1, permuted_by(lambda weights, order: weights[:, order][:, :, order])),
                    ),
                ),
                Property("weights: softmax of the dot products", 2, of_output(1, equals())),
                Property("output: the weighted average", 2, of_output(0, equals())),
                Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "The scores of one sequence are a matrix times its own transpose. What is the shape of that product, and which "
        "of its axes holds the positions that are read?",
        "Exchange the last two axes of the inputs and multiply: `@` works on each matrix of a batch by itself. Softmax "
        "over the last axis, and the weights times the inputs are the output.",
        "`weights = torch.softmax(inputs @ inputs.mT, dim=-1)`, or an einsum that keeps `batch` and sums over the "
        "features; return the average and the weights as a tuple.",
    ),
)
