"""Second part of exercise 11.3: the nucleus, the fewest tokens whose probabilities make up a given share."""

from collections.abc import Callable

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.chapter_11_top import all_alike, cool_or_hot, ranks
from course_lib.grading.declarations.drawing import normal, sizes, uniform
from course_lib.grading.exercise import Case, Misconception, Property, Task
from course_lib.grading.judges import Judge, answer_like, both, equals, inputs_unchanged, on
from course_lib.grading.wording import describe, describe_case

Keep = Callable[[torch.Tensor, float], torch.Tensor]
ROOM = 2e-3  # no running sum is so close to p that rounding could decide


def in_their_places(sorted_values, probabilities):
    """Bring what was computed on sorted rows back to the places of the tokens."""
    return sorted_values.gather(-1, ranks(probabilities))


def sorted_and_before(probabilities):
    """The sorted probabilities, the greatest first, and for each the sum of those before it."""
    falling = probabilities.sort(dim=-1, descending=True, stable=True).values
    return falling, falling.cumsum(-1) - falling


def renormalised(keep: Keep):
    """Return the answer that keeps where `keep(probabilities, p)` is True."""

    def answer(scores, temperature, p):
        probabilities = (scores / temperature).softmax(-1)
        kept = probabilities * keep(probabilities, p)
        return kept / kept.sum(-1, keepdim=True)

    return answer


def nucleus(probabilities, p):
    """Where what comes before is not enough."""
    return in_their_places(sorted_and_before(probabilities)[1] < p, probabilities)


nucleus_probabilities = renormalised(nucleus)


def far_enough(scores, temperature, p) -> bool:
    """Tell whether no running sum, also one of equal probabilities, is close to p."""
    running = (scores / temperature).softmax(-1).sort(dim=-1, descending=True).values.cumsum(-1)
    even = torch.arange(1, scores.shape[-1] + 1) / scores.shape[-1]
    plain = scores.softmax(-1).sort(dim=-1, descending=True).values.cumsum(-1)
    return all(bool(((sums - p).abs() > ROOM).all()) for sums in (running, even, plain))


def draw_scores_and_p(generator: torch.Generator) -> Case:
    """Draw scores with one to three axes, a temperature, and a share."""
    while True:
        axes = int(torch.randint(1, 4, (), generator=generator))
        scores = 1.5 * normal(generator, *sizes(generator, *[3] * (axes - 1)), *sizes(generator, 7, least=3))
        case = {"scores": scores, "temperature": cool_or_hot(generator), "p": uniform(generator, 0.35, 0.95)}
        if far_enough(**case):
            return case


def reached_exactly(case: Case) -> Case:
    """Give four tokens a quarter each, which is exact in binary, so that two of them have exactly p."""
    return case | {"scores": torch.zeros_like(case["scores"][..., :1]).expand(*case["scores"].shape[:-1], 4), "p": 0.5}


def of_the_kept(judged: Callable[[torch.Tensor, torch.Tensor, float], tuple[torch.Tensor, str]]) -> Judge:
    """Return the judge that asks `judged(probabilities, kept, p)` which rows are wrong, and what to say of them."""

    def judge(call: Call, case: Case) -> str | None:
        answer, _ = answer_like(nucleus_probabilities, call, case)
        probabilities = (case["scores"] / case["temperature"]).softmax(-1).reshape(-1, answer.shape[-1])
        kept = (answer > 0).reshape(probabilities.shape)
        wrong, said = judged(probabilities, kept, case["p"])
        if not wrong.any():
            return None
        row = int(wrong.nonzero()[0])
        mass = describe((probabilities[row] * kept[row]).sum().item())
        return f"{describe_case(case)}: what is left of a row had {mass} in all, {said}"

    return judge


def too_little(probabilities, kept, p):
    """The kept tokens do not reach p."""
    return (probabilities * kept).sum(-1) < p, f"expected at least {describe(p)}"


def too_much(probabilities, kept, p):
    """Without the least of the kept tokens there is still enough."""
    least = probabilities.masked_fill(~kept, 2.0).amin(-1)
    return (probabilities * kept).sum(-1) - least >= p, f"and without its least token still {describe(p)} or more"


def by_running_sum(keep_sorted: Callable[[torch.Tensor, torch.Tensor, float], torch.Tensor]) -> Keep:
    """Keep where `keep_sorted(falling, before, p)` is True on the sorted rows."""
    return lambda probabilities, p: in_their_places(keep_sorted(*sorted_and_before(probabilities), p), probabilities)


def first_always(falling, before, p):
    """The running sum including the token itself, and the first in any case."""
    keep = before + falling <= p
    keep[..., 0] = True
    return keep


def rising(probabilities, p):
    """From the least probable on."""
    climbing = probabilities.sort(dim=-1, stable=True).values
    keep = climbing.cumsum(-1) - climbing < p
    return keep.gather(-1, probabilities.argsort(dim=-1, stable=True).argsort(dim=-1))


def left_sorted(scores, temperature, p):
    """The greatest first, whatever token it is of."""
    return nucleus_probabilities(scores, temperature, p).sort(dim=-1, descending=True).values


def shared_and_gathered_back(scores, temperature, p):
    """What was renormalised on the sorted row, picked by the order of the sort."""
    order = scores.argsort(dim=-1, descending=True, stable=True)
    return left_sorted(scores, temperature, p).gather(-1, order)


def cut_before_the_temperature(scores, temperature, p):
    """The nucleus of the probabilities at temperature 1."""
    return (scores / temperature).masked_fill(~nucleus(scores.softmax(-1), p), float("-inf")).softmax(-1)


def cut_by_unsorted_sums(probabilities, p):
    """Running sums in the order of the vocabulary."""
    return probabilities.cumsum(-1) - probabilities < p


def zeros_for_scores(scores, temperature, p):
    """A score of 0 where a token is to be left out."""
    scaled = scores / temperature
    return scaled.masked_fill(~nucleus(scaled.softmax(-1), p), 0.0).softmax(-1)


def scores_divided_in_place(scores, temperature, p):
    """The caller's scores divided."""
    scores /= temperature
    return nucleus_probabilities(scores, 1.0, p)


ENOUGH, MINIMAL, SHARED = (
    "what is left had a share of p or more",
    "minimal: without its least token, what is left had less than p",
    "the most probable are left, and share the whole",
)

NUCLEUS = Task(
    function="nucleus_probabilities",
    parameters=("scores", "temperature", "p"),
    returns="the probabilities of all tokens, 0 outside the nucleus, in the shape of scores",
    cases=draw_scores_and_p,
    examples=({"scores": torch.tensor([0.0, 1.3863, 0.6931, 0.0]), "temperature": 1.0, "p": 0.7},),
    reference=nucleus_probabilities,
    properties=(
        Property(ENOUGH, 1, of_the_kept(too_little)),
        # Where all scores are equal, any choice of so many tokens is right.
        Property(
            MINIMAL,
            1,
            both(
                of_the_kept(too_much),
                both(
                    on(all_alike, both(of_the_kept(too_little), of_the_kept(too_much))),
                    on(reached_exactly, both(of_the_kept(too_little), of_the_kept(too_much))),
                ),
            ),
        ),
        Property(SHARED, 1, both(equals(nucleus_probabilities), inputs_unchanged)),
    ),
    misconceptions=(
        Misconception(
            "the token that crosses p dropped",
            "this drops the token with which the sum reaches p, and what is left has *less* than p (where the first "
            "token alone reaches it, nothing is left, and 0 / 0 is nan); ask of each token whether the sum *before* it "
            "is below p",
            renormalised(by_running_sum(lambda falling, before, p: before + falling <= p)),
            breaks=ENOUGH,
        ),
        Misconception(
            "the token that crosses p dropped, unless it is the first",
            "this drops the token with which the sum reaches p, except where it is the first, and what is left has "
            "*less* than p; ask of each token whether the sum *before* it is below p",
            renormalised(by_running_sum(first_always)),
            breaks=ENOUGH,
        ),
        Misconception(
            "one too many",
            "this leaves one token more than needed: the one with which the sum reaches p is the last",
            renormalised(by_running_sum(lambda falling, before, p: before - falling.roll(1, -1) < p)),
            breaks=MINIMAL,
        ),
        Misconception(
            "one more where p is reached exactly",
            "where the sum reaches p exactly, this leaves one token more than needed: that is enough already, so ask "
            "of each token whether the sum before it is *below* p, `<` and not `<=`",
            renormalised(by_running_sum(lambda falling, before, p: before <= p)),
            breaks=MINIMAL,
        ),
        Misconception(
            "p not used",
            "`p` was not used: every token is still allowed",
            renormalised(lambda probabilities, p: torch.ones_like(probabilities, dtype=torch.bool)),
            breaks=MINIMAL,
        ),
        Misconception(
            "all but p",
            "this leaves a share of 1 - p, and cuts off p; p is what is *left*",
            lambda scores, temperature, p: nucleus_probabilities(scores, temperature, 1 - p),
            breaks=ENOUGH,
        ),
        Misconception(
            "the least probable first",
            "this adds up from the least probable token on: sort the greatest first, `descending=True`",
            renormalised(rising),
            breaks=SHARED,
        ),
        Misconception(
            "not sorted",
            "the running sums were taken in the order of the vocabulary; sort the probabilities first, the greatest in "
            "front, and bring the result back to the places of the tokens",
            renormalised(cut_by_unsorted_sums),
            breaks=SHARED,
        ),
        Misconception(
            "left sorted",
            "the right probabilities belong to the wrong tokens: they are still in sorted order; `scatter` along the "
            "order of the sort, or `gather` along its inverse, brings them back to their places",
            left_sorted,
            breaks=SHARED,
        ),
        Misconception(
            "a wrong way back",
            "what was decided on the sorted row was brought back by the wrong permutation: `order` says where each "
            "sorted entry comes from; `scatter` with it, or `gather` with `order.argsort()`",
            renormalised(
                lambda probabilities, p: (sorted_and_before(probabilities)[1] < p).gather(
                    -1, probabilities.argsort(dim=-1, descending=True, stable=True)
                )
            ),
            breaks=SHARED,
        ),
        Misconception(
            "shared, and a wrong way back",
            "what was computed on the sorted row was brought back by the wrong permutation: `order` says where each "
            "sorted entry comes from; `scatter` with it, or `gather` with `order.argsort()`",
            shared_and_gathered_back,
            breaks=SHARED,
        ),
        Misconception(
            "not renormalised",
            "the tokens that are left do not share the whole: divide by the sum of their probabilities",
            lambda scores, temperature, p: (
                (scores / temperature).softmax(-1) * nucleus((scores / temperature).softmax(-1), p)
            ),
            breaks=SHARED,
        ),
        Misconception(
            "the nucleus at temperature 1",
            "the nucleus was chosen at temperature 1 and the temperature applied afterwards; a hot softmax spreads its "
            "probability over more tokens, and the nucleus is made of *those*: divide by the temperature first",
            cut_before_the_temperature,
            breaks=SHARED,
        ),
        Misconception(
            "multiplied by the temperature",
            "this multiplies the scores by the temperature; they are divided",
            lambda scores, temperature, p: nucleus_probabilities(scores, 1 / temperature, p),
            breaks=SHARED,
        ),
        Misconception(
            "temperature not used",
            "`temperature` was not used: this is the nucleus at temperature 1",
            lambda scores, temperature, p: nucleus_probabilities(scores, 1.0, p),
            breaks=SHARED,
        ),
        Misconception(
            "a threshold of p",
            "this leaves the tokens that have a probability of p or more *each*; it is their sum that has to reach p",
            renormalised(lambda probabilities, p: probabilities >= p),
            breaks=ENOUGH,
        ),
        Misconception(
            "a threshold of 1 - p",
            "this leaves every token with a probability above 1 - p; it is the sum of what is left that has to reach p",
            renormalised(lambda probabilities, p: probabilities > 1 - p),
            breaks=SHARED,
        ),
        Misconception(
            "a share of the greatest",
            "this leaves every token that has p times the greatest probability or more (which is called min-p); here "
            "the *sum* of what is left has to reach p",
            renormalised(lambda probabilities, p: probabilities >= p * probabilities.amax(-1, keepdim=True)),
            breaks=SHARED,
        ),
        Misconception(
            "zeros for scores",
            "this gives the score 0 to what is to be left out; 0 is a score like any other: minus infinity is the one "
            "whose exponential is 0",
            zeros_for_scores,
            breaks=SHARED,
        ),
        Misconception(
            "scores divided in place",
            "`scores /= temperature` divides the caller's own scores; `scores / temperature` makes new ones",
            scores_divided_in_place,
            breaks=SHARED,
        ),
    ),
)
