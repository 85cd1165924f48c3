"""First part of exercise 11.3: temperature, and the k most probable tokens."""

from collections.abc import Callable

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.drawing import normal, sizes, uniform
from course_lib.grading.exercise import Case, Misconception, Property, Task
from course_lib.grading.judges import answer_like, both, equals, inputs_unchanged, on
from course_lib.grading.wording import describe_case

Keep = Callable[[torch.Tensor, int], torch.Tensor]


def ranks(scores):
    """The place of each score when they are sorted, the greatest first, counted from 0."""
    return scores.argsort(dim=-1, descending=True, stable=True).argsort(dim=-1)


def renormalised(keep: Keep):
    """Return the answer that keeps where `keep(scores, k)` is True."""

    def answer(scores, temperature, k):
        return (scores / temperature).masked_fill(~keep(scores, k), float("-inf")).softmax(-1)

    return answer


top_k_probabilities = renormalised(lambda scores, k: ranks(scores) < k)


def draw_scores_and_k(generator: torch.Generator) -> Case:
    """Draw scores with one to three axes, a temperature, and k below the number of tokens."""
    axes = int(torch.randint(1, 4, (), generator=generator))
    scores = 2 * normal(generator, *sizes(generator, *[4] * (axes - 1)), *sizes(generator, 7, least=3))
    (k,) = sizes(generator, scores.shape[-1] - 1)
    return {"scores": scores, "temperature": cool_or_hot(generator), "k": k}


def cool_or_hot(generator: torch.Generator) -> float:
    """Draw a temperature that is not near 1."""
    cool = uniform(generator, 0.4, 0.8)
    return cool if torch.rand((), generator=generator) < 0.5 else 1 / cool


def all_allowed(case: Case) -> Case:
    """Let k be greater than the number of tokens."""
    return case | {"k": case["scores"].shape[-1] + 2}


def all_alike(case: Case) -> Case:
    """Give all tokens the same score."""
    return case | {"scores": torch.ones_like(case["scores"])}


def far_apart(case: Case) -> Case:
    """Let the scores differ by thousands."""
    return case | {"scores": 1000 * case["scores"]}


def k_of_them(call: Call, case: Case) -> str | None:
    """In each row k tokens are above 0, whichever, and all others exactly 0."""
    for asked in (case, all_alike(case)):
        answer, _ = answer_like(top_k_probabilities, call, asked)
        left = (answer != 0).sum(-1).flatten()
        if (left != case["k"]).any():
            count = int(left[left != case["k"]][0])
            return f"{describe_case(asked)}: in a row {count} tokens are left, expected {case['k']}"
    return None


def kept_by_threshold(scores, k):
    """Every token that equals the k-th, or is above it."""
    return scores >= scores.sort(dim=-1, descending=True).values[..., k - 1 : k]


def zeros_for_scores(scores, temperature, k):
    """A score of 0 where a token is to be left out."""
    return (scores / temperature).masked_fill(ranks(scores) >= k, 0.0).softmax(-1)


def one_threshold_for_all_rows(scores, k):
    """The greatest k-th score of all rows."""
    return scores >= scores.sort(dim=-1, descending=True).values[..., k - 1].min()


def no_more_than_there_are(function):
    """Return the answer that stops, as `topk` does, where k is greater than the number of tokens."""

    def answer(scores, temperature, k):
        if k > scores.shape[-1]:
            raise RuntimeError("selected index k out of range")
        return function(scores, temperature, k)

    return answer


def by_topk(scores, temperature, k):
    """The best as torch gives them, each to its own place."""
    values, tokens = torch.topk(scores, k)
    return torch.zeros_like(scores).scatter(-1, tokens, (values / temperature).softmax(-1))


def plain_exponentials(scaled, kept):
    """The quotient of exponentials that nobody made small."""
    exponentials = scaled.exp() * kept
    return exponentials / exponentials.sum(-1, keepdim=True)


def scores_divided_in_place(scores, temperature, k):
    """The caller's scores divided."""
    scores /= temperature
    return top_k_probabilities(scores, 1.0, k)


ALL, COUNT, TOP = (
    "k greater than the number of tokens: the softmax at this temperature",
    "exactly k tokens are left, also where all scores are equal",
    "the k most probable share the whole",
)

TOP_K = Task(
    function="top_k_probabilities",
    parameters=("scores", "temperature", "k"),
    returns="the probabilities of all tokens, 0 for all but k of them, in the shape of scores",
    cases=draw_scores_and_k,
    examples=({"scores": torch.tensor([0.0, 0.6931, -1.0]), "temperature": 0.5, "k": 2},),
    reference=top_k_probabilities,
    properties=(
        Property(ALL, 1, on(all_allowed, equals(top_k_probabilities))),
        Property(COUNT, 1, k_of_them),
        Property(
            TOP,
            1,
            both(both(equals(top_k_probabilities), inputs_unchanged), on(far_apart, equals(top_k_probabilities))),
        ),
    ),
    misconceptions=(
        Misconception(
            "multiplied by the temperature",
            "this multiplies the scores by the temperature; divided by a small one, differences grow, and the choice "
            "becomes sharp",
            lambda scores, temperature, k: top_k_probabilities(scores, 1 / temperature, k),
            breaks=ALL,
        ),
        Misconception(
            "temperature not used",
            "`temperature` was not used: these are the probabilities at temperature 1",
            lambda scores, temperature, k: top_k_probabilities(scores, 1.0, k),
            breaks=ALL,
        ),
        Misconception(
            "k not used",
            "`k` was not used: every token is still allowed",
            lambda scores, temperature, k: (scores / temperature).softmax(-1),
            breaks=COUNT,
        ),
        Misconception(
            "ties all kept",
            "this keeps every token whose score is not below the k-th greatest, and where scores are equal at the edge "
            "that is more than k; choose the k by their *places* in the sorted row",
            renormalised(lambda scores, k: kept_by_threshold(scores, min(k, scores.shape[-1]))),
            breaks=COUNT,
        ),
        Misconception(
            "ties all kept, and no more than there are",
            "this keeps every token whose score is not below the k-th greatest, and where scores are equal at the edge "
            "that is more than k; and it stops where k is greater than the number of tokens, where all are to be left",
            no_more_than_there_are(renormalised(kept_by_threshold)),
            breaks=COUNT,
        ),
        Misconception(
            "ties all dropped",
            "this keeps the tokens that are above the one in place k + 1, and where scores are equal at the edge that "
            "is fewer than k, or none (nan); choose the k by their *places* in the sorted row",
            renormalised(
                lambda scores, k: (
                    scores > scores.sort(dim=-1, descending=True).values[..., k : k + 1]
                    if k < scores.shape[-1]
                    else torch.ones_like(scores, dtype=torch.bool)
                )
            ),
            breaks=COUNT,
        ),
        Misconception(
            "no more than there are",
            "this stops where k is greater than the number of tokens, as `torch.topk` does; then all are left: "
            "`min(k, scores.shape[-1])`",
            by_topk,
            breaks=ALL,
        ),
        Misconception(
            "one more than k",
            "this leaves k + 1 tokens: places are counted from 0, so those that stay have a place *below* k",
            renormalised(lambda scores, k: ranks(scores) <= k),
            breaks=COUNT,
        ),
        Misconception(
            "one less than k",
            "this leaves k - 1 tokens (none at all for k = 1): places are counted from 0, so place k - 1 still stays",
            renormalised(lambda scores, k: ranks(scores) < k - 1),
            breaks=COUNT,
        ),
        Misconception(
            "the least probable",
            "this leaves the k *least* probable tokens: sort the greatest first, `descending=True`",
            renormalised(lambda scores, k: ranks(-scores) < k),
            breaks=TOP,
        ),
        Misconception(
            "places not brought back",
            "this looks at where the sorted scores come *from*, not at which place each token has: `argsort` gives the "
            "first; `argsort` of that gives the second, and `scatter` with it also does",
            renormalised(lambda scores, k: scores.argsort(dim=-1, descending=True, stable=True) < k),
            breaks=TOP,
        ),
        Misconception(
            "not renormalised",
            "the tokens that are left do not share the whole: their probabilities are those they had among all; divide "
            "by their sum, or set the scores of the others to minus infinity *before* the softmax",
            lambda scores, temperature, k: (scores / temperature).softmax(-1) * (ranks(scores) < k),
            breaks=TOP,
        ),
        Misconception(
            "zeros for scores",
            "this gives the score 0 to what is to be left out; 0 is a score like any other, above many: minus infinity "
            "is the one whose exponential is 0",
            zeros_for_scores,
            breaks=COUNT,
        ),
        Misconception(
            "plain exponentials",
            "this divides exponentials of the scores as they are, infinite (or all 0) where scores are large, and the "
            "quotient is nan; `softmax` takes off the greatest score first",
            lambda scores, temperature, k: plain_exponentials(scores / temperature, ranks(scores) < k),
            breaks=TOP,
        ),
        Misconception(
            "only the k",
            "this returns k probabilities, sorted; asked is one for *every* token, in its own place, 0 where it is out",
            lambda scores, temperature, k: (
                (scores / temperature).sort(dim=-1, descending=True).values[..., :k].softmax(-1)
            ),
            breaks=TOP,
        ),
        Misconception(
            "one threshold for all rows",
            "this takes one threshold for all rows: every row of scores has its own k most probable",
            renormalised(lambda scores, k: one_threshold_for_all_rows(scores, min(k, scores.shape[-1]))),
            breaks=COUNT,
        ),
        Misconception(
            "scores divided in place",
            "`scores /= temperature` divides the caller's own scores; `scores / temperature` makes new ones",
            scores_divided_in_place,
            breaks=TOP,
        ),
    ),
)
