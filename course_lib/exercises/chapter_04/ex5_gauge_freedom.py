"""04.5: what no score can tell of the two projections."""

import torch

from course_lib.exercises.chapter_04._examples import tensors
from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import difference, equals, inputs_unchanged, of_output
from course_lib.grading.exercise import Case, Exercise, Property, Task


def other_weights(query_weight, key_weight, change):
    """R W_q, and the inverse of R transposed times W_k."""
    return change @ query_weight, torch.linalg.solve(change.mT, key_weight)


def draw_change(generator: torch.Generator) -> Case:
    """Draw two projections, and a change that stretches no direction by more than 2 and none by less than 0.5."""
    d_key, d_model = sizes(generator, 4, 4, least=2)
    left, right = (torch.linalg.qr(normal(generator, d_key, d_key))[0] for _ in range(2))
    stretch = torch.exp2(2 * torch.rand(d_key, generator=generator) - 1)
    return {
        "query_weight": normal(generator, d_key, d_model),
        "key_weight": normal(generator, d_key, d_model),
        "change": left * stretch @ right,
    }


def same_scores(case: Case):
    """The scores are what they were, whatever the inputs: they depend on one product alone."""
    queries, keys = (yield case).value
    got, expected = queries.mT @ keys, case["query_weight"].mT @ case["key_weight"]
    # 1e-4: the learner divides by `change` in float32, by whatever way.
    return difference(case, got, expected, 1e-4, where="the scores, with the unit vectors as inputs")


MISTAKES = """
not transposed => the scores stay what they were
- undone = torch.linalg.inv(change).T
+ undone = torch.linalg.inv(change)
this takes the inverse of `change` for the keys where its transpose is needed too: in the scores `change` stands
transposed between the two weights

the same change for both => the scores stay what they were
+ undone = change
this changes the keys as it does the queries: that keeps the scores only for a rotation, which equals its own inverse
transposed

transposed and not inverted => the scores stay what they were
+ undone = change.T
this takes the transpose of `change` for the keys; only of a rotation it is the inverse

keys left alone => the scores stay what they were
- return change @ query_weight, undone @ key_weight
+ return change @ query_weight, key_weight
the keys are as they were: the change of the queries is not undone

one over each entry => the scores stay what they were
- undone = torch.linalg.inv(change).T
+ undone = 1 / change
`1 / change` and `change ** -1` invert every entry by itself; the inverse matrix is `torch.linalg.inv(change)`

one over each entry, transposed => the scores stay what they were
+ undone = 1 / change.T

nothing changed => the new query_weight is change @ query_weight
- return change @ query_weight, undone @ key_weight
+ return query_weight, key_weight
these are the weights that were given: the scores are the same, and so is everything else

change transposed => the new query_weight is change @ query_weight
+ return change.T @ query_weight, torch.linalg.inv(change) @ key_weight
this keeps the scores, and changes the queries by `change.T`; they were to be changed by `change`

roles exchanged => the new query_weight is change @ query_weight
+ return undone @ query_weight, change @ key_weight
this keeps the scores, and gives `change` to the keys; it was meant for the queries

pair exchanged => the new query_weight is change @ query_weight
+ return undone @ key_weight, change @ query_weight
the two are in the other order: the new query_weight is the first

change on the right of both (inverse) => the new query_weight is change @ query_weight
+ return query_weight @ change, key_weight @ torch.linalg.inv(change)
this multiplies from the right, where d_model is; a change acts on the d_key numbers of a query or key, which are the
rows of a weight: it stands on the left, `change @ query_weight`

change on the right of the keys (inverse) => the scores stay what they were
+ return change @ query_weight, key_weight @ torch.linalg.inv(change)

change on the right of both (inverse transposed) => the new query_weight is change @ query_weight
+ return query_weight @ change, key_weight @ undone

change on the right of the keys (inverse transposed) => the scores stay what they were
+ return change @ query_weight, key_weight @ undone

query_weight overwritten => inputs unchanged
+ query_weight.copy_(change @ query_weight)
+ return query_weight, undone @ key_weight
this writes the new query weights over the caller's own
"""

EXERCISE = Exercise(
    title="Gauge freedom",
    difficulty=3,
    minutes=20,
    tasks=(
        Task(
            function="other_weights",
            parameters=("query_weight", "key_weight", "change"),
            returns="the new query_weight and the new key_weight, each of shape (d_key, d_model)",
            cases=draw_change,
            examples=(
                tensors(query_weight=[[1], [2]], key_weight=[[3], [4]], change=[[1, 1], [0, 1]]),
                tensors(query_weight=[[1, 0], [2, 1]], key_weight=[[3, 1], [4, -1]], change=[[1, 2], [-1, 2]]),
            ),
            edges=(
                tensors(query_weight=[[3]], key_weight=[[5]], change=[[2]]),  # one of everything
                tensors(query_weight=[[3, 1]], key_weight=[[5, 2]], change=[[-1]]),  # one key
            ),
            reference=other_weights,
            properties=(
                Property("the new query_weight is change @ query_weight", 2, of_output(0, equals())),
                Property("the scores stay what they were", 3, same_scores),
                Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
            ),
            mistakes=MISTAKES,
            outputs=("query_weight", "key_weight"),
        ),
    ),
    hints=(
        "Write all scores as one product of four matrices, from the inputs on the left to the inputs on the right. "
        "Which two of them stand in the middle?",
        "The middle is the transposed query weights times the key weights. Put `change @ query_weight` in, transpose, "
        "and see what stands before the new key weights: they have to undo it.",
        "The keys are multiplied from the left, and by the inverse of the *transposed* change: "
        "`torch.linalg.inv(change.T)`.",
    ),
)
