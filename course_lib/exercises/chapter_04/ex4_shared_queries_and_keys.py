"""04.4: the symmetric and the antisymmetric part of the scores."""

import torch

from course_lib.exercises.chapter_04._examples import tensors
from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import both, difference, inputs_unchanged
from course_lib.grading.exercise import Case, Exercise, Property, Task


def split_scores(inputs, query_weight, key_weight):
    """Both parts of the scores."""
    scores = (inputs @ query_weight.mT) @ (inputs @ key_weight.mT).mT
    return (scores + scores.mT) / 2, (scores - scores.mT) / 2


def draw_self_scores(generator: torch.Generator) -> Case:
    """Draw sequences and two projections."""
    batch, time, d_model, d_key = sizes(generator, 3, 4, 4, 4, least=2)
    return {
        "inputs": normal(generator, batch, time, d_model),
        "query_weight": normal(generator, d_key, d_model),
        "key_weight": normal(generator, d_key, d_model),
    }


def add_up(case: Case):
    """The two parts, added, are the scores."""
    reply = yield case
    return difference(case, sum(reply.value), sum(reply.expected), where="the parts added")


def symmetries(case: Case):
    """With rows and columns exchanged, the first part is itself, and the second its negative."""
    first, second = (yield case).value
    return difference(case, first.mT, first, where="the first part, transposed") or difference(
        case, second.mT, -second, where="the second part, transposed"
    )


def nothing_left(case: Case):
    """With one projection for both, the second part is 0."""
    alike = case | {"key_weight": case["query_weight"].clone()}
    second = (yield alike).value[1]
    return difference(alike, second, torch.zeros_like(second), 1e-4, where="the second part")


MISTAKES = """
not halved => the parts add up to the scores
- return (scores + transposed) / 2, (scores - transposed) / 2
+ return scores + transposed, scores - transposed
these are twice the parts: the scores plus and minus their transpose are to be halved

sign turned => the parts add up to the scores
+ return (scores + transposed) / 2, (transposed - scores) / 2
the second part has the wrong sign: it is the scores minus their transpose, and the scores are query by key, `q @ k.mT`

parts exchanged => shared projections make the second part 0
+ return (scores - transposed) / 2, (scores + transposed) / 2
the two parts are in the other order: the symmetric one is the first

triangles, lower first => transposed, the first stays and the second changes sign
+ return scores.tril(), scores.triu(1)
these are the two triangles of the scores: they add up, but they are not symmetric and antisymmetric

triangles, upper first => transposed, the first stays and the second changes sign
+ return scores.triu(), scores.tril(-1)

first part not halved => the parts add up to the scores
+ return scores + transposed, (scores - transposed) / 2
the first part is twice what it should be: both the sum and the difference are to be halved

second part not halved => the parts add up to the scores
+ return (scores + transposed) / 2, scores - transposed
the second part is twice what it should be: both the sum and the difference are to be halved

softmax first => shared projections make the second part 0
- scores = einsum(query, key, "batch i d, batch j d -> batch i j")
+ scores = einsum(query, key, "batch i d, batch j d -> batch i j").softmax(dim=-1)
these are the parts of the weights: the softmax divides each row by its own sum, and even symmetric scores become
weights that are not; it is the scores that are to be split

one projection for both => the parts add up to the scores
- query, key = inputs @ query_weight.T, inputs @ key_weight.T
+ query, key = inputs @ query_weight.T, inputs @ query_weight.T
these are the scores with the queries instead of the keys: key_weight was not used, and the second part is always 0

inputs not projected => the parts add up to the scores
+ query, key = inputs, inputs
these are the scores of the inputs themselves: the two projections were not used

weights not transposed => the parts add up to the scores
+ query, key = inputs @ query_weight, inputs @ key_weight
query_weight is (d_key, d_model) and the inputs are (batch, time, d_model): their product is `inputs @ query_weight.T`,
and likewise for the keys

keys not transposed => the parts add up to the scores
- scores = einsum(query, key, "batch i d, batch j d -> batch i j")
+ scores = query @ key
`query @ key` sums the width of a query against the positions of the keys; a dot product sums width against width,
`query @ key.transpose(1, 2)`

batch exchanged too => transposed, the first stays and the second changes sign
- transposed = rearrange(scores, "batch i j -> batch j i")
+ transposed = scores.permute(2, 1, 0)
this reverses all three axes, the batch as well; only the last two are to be exchanged, `scores.transpose(1, 2)`

first two axes exchanged => transposed, the first stays and the second changes sign
+ transposed = scores.transpose(0, 1)
`transpose(0, 1)` exchanges the batch with the queries; the queries and keys are axes 1 and 2

mean of the weights => transposed, the first stays and the second changes sign
- query, key = inputs @ query_weight.T, inputs @ key_weight.T
- scores = einsum(query, key, "batch i d, batch j d -> batch i j")
- transposed = rearrange(scores, "batch i j -> batch j i")
- return (scores + transposed) / 2, (scores - transposed) / 2
+ query, key = inputs @ query_weight.T, inputs @ key_weight.T
+ mean = (query + key) / 2
+ return mean @ mean.mT, query @ key.mT - mean @ mean.mT
this takes the scores with the mean of the two weights for the symmetric part; that part is the mean of the scores
and their transpose

lower triangle mirrored => transposed, the first stays and the second changes sign
- return (scores + transposed) / 2, (scores - transposed) / 2
+ symmetric = scores.tril() + scores.tril(-1).mT
+ return symmetric, scores - symmetric
this mirrors one triangle of the scores on the diagonal; the symmetric part is the mean of s_ij and s_ji

upper triangle mirrored => transposed, the first stays and the second changes sign
+ symmetric = scores.triu() + scores.triu(1).mT
+ return symmetric, scores - symmetric

symmetric part for the scores => the parts add up to the scores
+ scores += transposed.clone()
+ scores /= 2
+ return scores, scores - scores
the second part is always 0: the scores were overwritten by their symmetric part before it was subtracted from them
(`symmetric = scores` makes no copy)
"""

EXERCISE = Exercise(
    title="Shared queries and keys",
    difficulty=2,
    minutes=20,
    tasks=(
        Task(
            function="split_scores",
            parameters=("inputs", "query_weight", "key_weight"),
            returns="the symmetric and the antisymmetric part of the scores, each of shape (batch, time, time)",
            cases=draw_self_scores,
            examples=(
                tensors(inputs=[[[1, 0], [0, 1]]], query_weight=[[1, 3]], key_weight=[[2, 4]]),
                tensors(inputs=[[[1, 0], [2, 1]]], query_weight=[[1, 2], [0, 1]], key_weight=[[0, 1], [1, -1]]),
            ),
            edges=(
                tensors(
                    inputs=[[[1]], [[2]]], query_weight=[[2]], key_weight=[[3]]
                ),  # one vector: nothing antisymmetric
                tensors(
                    inputs=[[[1], [2]]], query_weight=[[2]], key_weight=[[3]]
                ),  # one sequence, one feature: symmetric as it is
            ),
            reference=split_scores,
            properties=(
                Property("the parts add up to the scores", 2, both(add_up, inputs_unchanged)),
                Property("transposed, the first stays and the second changes sign", 2, symmetries),
                Property("shared projections make the second part 0", 2, nothing_left),
            ),
            mistakes=MISTAKES,
            outputs=("symmetric", "antisymmetric"),
        ),
    ),
    hints=(
        "The score in row i and column j says how well the key of j fits the query of i. Where in the matrix is the "
        "score of j with i? What is their mean, and what is half of their difference?",
        "Project, and take all dot products: (batch, time, time). Exchange the last two axes. The mean of the two "
        "matrices is symmetric; the rest of the scores is antisymmetric.",
        "`transposed = scores.transpose(1, 2)`; half of the sum is the first part, half of the difference the second.",
    ),
)
