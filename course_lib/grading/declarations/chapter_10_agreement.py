"""The second half of exercise 10.3: whether two lists of numbers put words in the same order."""

from collections.abc import Callable

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.drawing import normal, shares, sizes
from course_lib.grading.exercise import Case, Misconception, Property, Task
from course_lib.grading.judges import answer_like, both, difference, equals, inputs_unchanged, on
from course_lib.grading.wording import describe_case


def signs(each: torch.Tensor) -> torch.Tensor:
    """Which of two is greater, for every i and j (time, time)."""
    return (each[:, None] - each).sign()


def rank_agreement(drops, weights):
    """Pairs in the same order less pairs in opposite orders, over all pairs."""
    pairs = len(drops) * (len(drops) - 1)  # each counted twice, as in the sum
    return (signs(drops) * signs(weights)).sum() / pairs


TIED = (
    ((0.5, 0.5, 0.25, 0.75), (0.25, 0.5, 0.75, 0.75)),
    ((0.25, -0.25, -0.25, 1.0, 1.0), (0.25, 0.5, 0.5, 0.125, 0.75)),
    ((0.5, 0.5, 0.25), (0.75, 0.5, 0.25)),
)


def draw_two_lists(generator: torch.Generator) -> Case:
    """Draw drops of both signs and weights that are related to them, and no ties."""
    time = sizes(generator, 7)[0] + 1
    drops = normal(generator, time) / 4
    weights = (3 * drops + normal(generator, time)).softmax(0) if time % 2 else shares(generator, time)
    return {"drops": drops, "weights": weights}


def right_with_ties(call: Call, case: Case) -> str | None:
    """Lists in which some numbers are equal, in one list or in both; all are asked before the first is judged."""
    size = case["weights"].max()
    tied = [{"drops": size * torch.tensor(one), "weights": size * torch.tensor(other)} for one, other in TIED]
    for asked, (answer, expected) in [(each, answer_like(rank_agreement, call, each)) for each in tied]:
        if found := difference(answer, expected):
            return f"{describe_case(asked)}: {found}"
    return None


def stretched(case: Case) -> Case:
    """Exchange the numbers for others in the same order."""
    return {"drops": (8 * case["drops"]).exp() - 2, "weights": case["weights"].sqrt().sqrt()}


def counted(count: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Return what `count` makes of the two signs of every pair i < j (pair,)."""

    def answer(drops, weights):
        i, j = torch.triu_indices(len(drops), len(drops), 1)
        return count((drops[i] - drops[j]).sign(), (weights[i] - weights[j]).sign())

    return answer


def correlation(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Of the numbers themselves."""
    one, other = one - one.mean(), other - other.mean()
    return (one * other).sum() / (one.norm() * other.norm())


def ranks(each: torch.Tensor) -> torch.Tensor:
    """From 0; of two equal ones, the first comes first."""
    return each.argsort(stable=True).argsort(stable=True).float()


PAIRS, ORDER = "pairs in the same order less pairs in opposite orders", "the order alone counts, not how far apart"
TIES = "a pair of equal numbers counts for neither"

AGREEMENT = Task(
    function="rank_agreement",
    parameters=("drops", "weights"),
    returns="how far both agree on the order of the words, from -1 to 1, a tensor of shape ()",
    cases=draw_two_lists,
    examples=(
        {"drops": torch.tensor([0.4, 0.1, -0.2]), "weights": torch.tensor([0.3, 0.5, 0.2])},
        {"drops": torch.tensor([0.25, -0.15, 0.5, 0.25]), "weights": torch.tensor([0.25, 0.125, 0.25, 0.375])},
    ),
    reference=rank_agreement,
    properties=(
        Property(PAIRS, 2, both(equals(rank_agreement), inputs_unchanged)),
        Property(ORDER, 1, on(stretched, equals(rank_agreement))),
        Property(TIES, 1, right_with_ties),
    ),
    misconceptions=(
        Misconception(
            "the numbers correlated",
            "this is the correlation of the numbers, to which it matters how far apart they are; the agreement asks "
            "of each pair only which one is greater",
            lambda drops, weights: correlation(drops, weights),
            breaks=ORDER,
        ),
        Misconception(
            "the cosine",
            "this is the cosine of the two lists; the agreement asks of each pair only which one is greater",
            lambda drops, weights: (drops * weights).sum() / (drops.norm() * weights.norm()),
            breaks=ORDER,
        ),
        Misconception(
            "differences multiplied",
            "this multiplies the differences of a pair; take the sign of each first",
            lambda drops, weights: (
                ((drops[:, None] - drops) * (weights[:, None] - weights)).sum() / (len(drops) * (len(drops) - 1))
            ),
            breaks=ORDER,
        ),
        Misconception(
            "ranks correlated",
            "this is the correlation of the ranks (Spearman's); the agreement here counts pairs (Kendall's)",
            lambda drops, weights: correlation(ranks(drops), ranks(weights)),
            breaks=PAIRS,
        ),
        Misconception(
            "share of the pairs",
            "this is the share of pairs in the same order, from 0 to 1; the pairs in opposite orders are to be taken "
            "off",
            counted(lambda one, other: (one * other > 0).float().mean()),
            breaks=PAIRS,
        ),
        Misconception(
            "share of the pairs, equal ones included",
            "this is the share of pairs that are not in opposite orders, from 0 to 1; count those in the same order, "
            "and take off those in opposite orders",
            counted(lambda one, other: (one * other >= 0).float().mean()),
            breaks=PAIRS,
        ),
        Misconception(
            "pairs counted twice",
            "the sum meets every pair twice, as i, j and as j, i, and the divisor counts it once: the greatest "
            "agreement would be 2",
            lambda drops, weights: 2 * rank_agreement(drops, weights),
            breaks=PAIRS,
        ),
        Misconception(
            "pairs counted once, divided by twice as many",
            "the sum meets every pair once, and the divisor n (n - 1) counts it twice: the greatest agreement would "
            "be a half",
            lambda drops, weights: rank_agreement(drops, weights) / 2,
            breaks=PAIRS,
        ),
        Misconception(
            "each word with itself",
            "this divides by all n times n pairs, a word with itself included; n words have n (n - 1) / 2 pairs",
            lambda drops, weights: (signs(drops) * signs(weights)).mean(),
            breaks=PAIRS,
        ),
        Misconception(
            "not divided",
            "this is the number of pairs in the same order less that in opposite orders; divide by the number of pairs",
            counted(lambda one, other: (one * other).sum()),
            breaks=PAIRS,
        ),
        Misconception(
            "neighbours only",
            "this compares each word with the next one alone; all pairs count",
            lambda drops, weights: (drops.diff().sign() * weights.diff().sign()).mean(),
            breaks=PAIRS,
        ),
        Misconception(
            "absolute drops",
            "this takes the absolute value of the drops; a word below zero speaks against the class and comes last",
            lambda drops, weights: rank_agreement(drops.abs(), weights),
            breaks=PAIRS,
        ),
        Misconception(
            "the sign turned round",
            "this takes the pairs in the same order off those in opposite orders: two equal lists would have -1",
            lambda drops, weights: -rank_agreement(drops, weights),
            breaks=PAIRS,
        ),
        Misconception(
            "argsort taken for ranks",
            "`argsort` tells which word comes first, which second; that is not the rank of each word: compare the "
            "numbers themselves",
            lambda drops, weights: rank_agreement(drops.argsort(stable=True), weights.argsort(stable=True)),
            breaks=PAIRS,
        ),
        Misconception(
            "the same places",
            "this compares the words place by place in the sorted lists; ask of each pair of words which is greater",
            lambda drops, weights: (drops.argsort(stable=True) == weights.argsort(stable=True)).float().mean(),
            breaks=PAIRS,
        ),
        Misconception(
            "equal ones put in order",
            "this puts equal numbers in an order, as `argsort` twice does, or `drops[i] > drops[j]` where equal looks "
            "like less; a pair of equal numbers counts for neither side",
            lambda drops, weights: rank_agreement(ranks(drops), ranks(weights)),
            breaks=TIES,
        ),
        Misconception(
            "equal ones as agreement",
            "this counts a pair of equal numbers as one in the same order; it counts for neither side",
            counted(lambda one, other: torch.where(one * other >= 0, 1.0, -1.0).mean()),
            breaks=TIES,
        ),
        Misconception(
            "equal ones as disagreement",
            "this counts a pair of equal numbers as one in opposite orders; it counts for neither side",
            counted(lambda one, other: torch.where(one * other > 0, 1.0, -1.0).mean()),
            breaks=TIES,
        ),
        Misconception(
            "two equal ones taken for the greater",
            "this compares truth values, `drops[i] < drops[j]` with `weights[i] < weights[j]`, in which equal looks "
            "like more; a pair of equal numbers counts for neither side",
            counted(lambda one, other: torch.where((one < 0) == (other < 0), 1.0, -1.0).mean()),
            breaks=TIES,
        ),
        Misconception(
            "equal ones not among the pairs",
            "this divides by the pairs that are not equal; divide by all of them, so that a list of equal numbers "
            "agrees with nothing",
            counted(lambda one, other: (one * other).sum() / (one * other != 0).sum()),
            breaks=TIES,
        ),
        Misconception(
            "equal ones allowed for, list by list",
            "this divides by less where numbers are equal, as `scipy.stats.kendalltau` does; divide by the number of "
            "all pairs",
            counted(lambda one, other: (one * other).sum() / (one.abs().sum() * other.abs().sum()).sqrt()),
            breaks=TIES,
        ),
    ),
)
