"""11.3: from logits to a token, by temperature, top-k, the nucleus and a uniform number."""

import torch

from course_lib.exercises.drawing import normal, probabilities, sizes, uniform
from course_lib.grading.checks import both, equals, inputs_unchanged, on
from course_lib.grading.exercise import Case, Exercise, Property, Task
from course_lib.grading.problem import Problem

MARGIN = 2e-3  # nothing that is compared is so close to a running sum that rounding could decide


def draw_logits(generator: torch.Generator, scale: float, most: int) -> torch.Tensor:
    """Draw logits of 3 to 7 tokens, with up to two axes of `most` or fewer rows before them."""
    axes = int(torch.randint(1, 4, (), generator=generator))
    return scale * normal(generator, *sizes(generator, *[most] * (axes - 1)), *sizes(generator, 7, least=3))


def draw_temperature(generator: torch.Generator) -> float:
    """Draw a temperature that is not near 1."""
    low = uniform(generator, 0.4, 0.8)
    return low if torch.rand((), generator=generator) < 0.5 else 1 / low


def ranks(logits):
    """The rank of each logit when they are sorted, the greatest first, counted from 0."""
    return logits.argsort(dim=-1, descending=True, stable=True).argsort(dim=-1)


def all_alike(case: Case) -> Case:
    """Give all tokens the same logit."""
    return case | {"logits": torch.ones_like(case["logits"])}


def top_k_probabilities(logits, temperature, k):
    """The softmax at this temperature of all whose rank is below k."""
    return (logits / temperature).masked_fill(ranks(logits) >= k, float("-inf")).softmax(-1)


def draw_logits_and_k(generator: torch.Generator) -> Case:
    """Draw logits with one to three axes, a temperature, and k below the number of tokens."""
    logits = draw_logits(generator, 2, 4)
    (k,) = sizes(generator, logits.shape[-1] - 1)
    return {"logits": logits, "temperature": draw_temperature(generator), "k": k}


def all_allowed(case: Case) -> Case:
    """Let k be greater than the number of tokens."""
    return case | {"k": case["logits"].shape[-1] + 2}


def far_apart(case: Case) -> Case:
    """Let the logits differ by thousands, at a temperature that divides them without rounding.

    Else a right answer that takes the greatest off before it divides would differ from one that does so afterwards.
    """
    return case | {"logits": 1000 * case["logits"], "temperature": 0.5}


def k_of_them(case: Case):
    """In each row k tokens are above 0, whichever, and all others exactly 0."""
    for reply in (yield [case, all_alike(case)]):
        left = (reply.value != 0).sum(-1).flatten()
        if (left != case["k"]).any():
            got, where = left[left != case["k"]][0].item(), "the number of tokens that are left in a row"
            return Problem("value", reply.arguments, where=where, got=got, expected=case["k"])
    return None


TOP_K_MISTAKES = """
multiplied by the temperature => k greater than the number of tokens: the softmax at this temperature
- allowed = (logits / temperature).masked_fill(rank >= k, float("-inf"))
+ allowed = (logits * temperature).masked_fill(rank >= k, float("-inf"))
this multiplies the logits by the temperature; divided by a small one, differences grow, and the choice becomes sharp

temperature not used => k greater than the number of tokens: the softmax at this temperature
+ allowed = logits.masked_fill(rank >= k, float("-inf"))
`temperature` was not used: these are the probabilities at temperature 1

k not used => exactly k tokens are left, also where all logits are equal
+ allowed = logits / temperature
`k` was not used: every token is still allowed

ties all kept => exactly k tokens are left, also where all logits are equal
+ least = logits.topk(min(k, logits.shape[-1]), dim=-1).values[..., -1:]
+ allowed = (logits / temperature).masked_fill(logits < least, float("-inf"))
this keeps every token whose logit is not below the k-th greatest, and where logits are equal at the edge that is more
than k; choose the k by their *ranks* in the sorted row

ties all kept, and no more than there are => exactly k tokens are left, also where all logits are equal
+ least = logits.topk(k, dim=-1).values[..., -1:]
+ allowed = (logits / temperature).masked_fill(logits < least, float("-inf"))
this keeps every token whose logit is not below the k-th greatest, and where logits are equal at the edge that is more
than k; and it stops where k is greater than the number of tokens, where all are to be left

ties all dropped => exactly k tokens are left, also where all logits are equal
+ falling = logits.sort(dim=-1, descending=True).values
+ first_out = falling[..., k : k + 1] if k < logits.shape[-1] else float("-inf")
+ allowed = (logits / temperature).masked_fill(logits <= first_out, float("-inf"))
this keeps the tokens that are above the one of rank k + 1, and where logits are equal at the edge that is fewer than k,
or none (nan); choose the k by their *ranks* in the sorted row

no more than there are => k greater than the number of tokens: the softmax at this temperature
- allowed = (logits / temperature).masked_fill(rank >= k, float("-inf"))
- return allowed.softmax(dim=-1)
+ values, tokens = torch.topk(logits, k)
+ return torch.zeros_like(logits).scatter(-1, tokens, (values / temperature).softmax(dim=-1))
this stops where k is greater than the number of tokens, as `torch.topk` does; then all are left:
`min(k, logits.shape[-1])`

one more than k => exactly k tokens are left, also where all logits are equal
- allowed = (logits / temperature).masked_fill(rank >= k, float("-inf"))
+ allowed = (logits / temperature).masked_fill(rank > k, float("-inf"))
this leaves k + 1 tokens: ranks are counted from 0, so those that stay have a rank *below* k

one less than k => exactly k tokens are left, also where all logits are equal
+ allowed = (logits / temperature).masked_fill(rank >= k - 1, float("-inf"))
this leaves k - 1 tokens (none at all for k = 1): ranks are counted from 0, so rank k - 1 still stays

the least probable => the k most probable sum to one
- order = logits.argsort(dim=-1, descending=True)
+ order = logits.argsort(dim=-1)
this leaves the k *least* probable tokens: sort the greatest first, `descending=True`

places not brought back => the k most probable sum to one
- rank = order.argsort(dim=-1)
+ rank = order
this looks at where the sorted logits come *from*, not at which rank each token has: `argsort` gives the first;
`argsort` of that gives the second, and `scatter` with it also does

not renormalised => the k most probable sum to one
- return allowed.softmax(dim=-1)
+ return (logits / temperature).softmax(dim=-1) * (rank < k)
the probabilities of the tokens that are left do not sum to one: they are those they had among all; divide by their sum,
or set the logits of the others to minus infinity *before* the softmax

zeros for scores => exactly k tokens are left, also where all logits are equal
- allowed = (logits / temperature).masked_fill(rank >= k, float("-inf"))
+ allowed = (logits / temperature).masked_fill(rank >= k, 0.0)
this gives the logit 0 to what is to be left out; 0 is a logit like any other, above many: minus infinity is the one
whose exponential is 0

plain exponentials => the k most probable sum to one
- return allowed.softmax(dim=-1)
+ exponentials = (logits / temperature).exp() * (rank < k)
+ return exponentials / exponentials.sum(dim=-1, keepdim=True)
this divides exponentials of the logits as they are, infinite (or all 0) where logits are large, and the quotient is
nan; `softmax` takes off the greatest logit first

only the k => the k most probable sum to one
+ return allowed.sort(dim=-1, descending=True).values[..., :k].softmax(dim=-1)
this returns k probabilities, sorted; asked is one for *every* token, in its own position, 0 where it is out

one threshold for all rows => exactly k tokens are left, also where all logits are equal
- allowed = (logits / temperature).masked_fill(rank >= k, float("-inf"))
+ least = logits.topk(min(k, logits.shape[-1]), dim=-1).values.min()
+ allowed = (logits / temperature).masked_fill(logits < least, float("-inf"))
this takes one threshold for all rows: every row of logits has its own k most probable

scores divided in place => the k most probable sum to one
+ logits /= temperature
+ allowed = logits.masked_fill(rank >= k, float("-inf"))
this writes into the caller's own logits, as `logits /= temperature` does; `logits / temperature` makes new ones

not renormalised, by topk => the k most probable sum to one
- order = logits.argsort(dim=-1, descending=True)
- rank = order.argsort(dim=-1)
- allowed = (logits / temperature).masked_fill(rank >= k, float("-inf"))
- return allowed.softmax(dim=-1)
+ probabilities = (logits / temperature).softmax(dim=-1)
+ values, places = probabilities.topk(min(k, logits.shape[-1]), dim=-1)
+ return torch.zeros_like(probabilities).scatter(-1, places, values)
the probabilities of the tokens that are left do not sum to one: they are those they had among all; divide by their sum,
or take the softmax of the k logits alone

multiplied by the temperature, by topk => k greater than the number of tokens: the softmax at this temperature
+ values, places = (logits * temperature).topk(min(k, logits.shape[-1]), dim=-1)
+ return torch.zeros_like(logits).scatter(-1, places, values.softmax(dim=-1))
this multiplies the logits by the temperature; divided by a small one, differences grow, and the choice becomes sharp

temperature not used, by topk => k greater than the number of tokens: the softmax at this temperature
+ values, places = logits.topk(min(k, logits.shape[-1]), dim=-1)
+ return torch.zeros_like(logits).scatter(-1, places, values.softmax(dim=-1))
`temperature` was not used: these are the probabilities at temperature 1

filled with -1000 => the k most probable sum to one
- allowed = (logits / temperature).masked_fill(rank >= k, float("-inf"))
+ allowed = (logits / temperature).masked_fill(rank >= k, -1000.0)
this gives a low logit to what is to be left out, and the logits that are left may be lower still; minus infinity is
below every number

filled with -100 => the k most probable sum to one
+ allowed = (logits / temperature).masked_fill(rank >= k, -100.0)

filled with -10000 => the k most probable sum to one
+ allowed = (logits / temperature).masked_fill(rank >= k, -10000.0)

never all of them => k greater than the number of tokens: the softmax at this temperature
+ allowed = (logits / temperature).masked_fill(rank >= max(1, min(k, logits.shape[-1] - 1)), float("-inf"))
this always leaves one token out; where `k` is as great as the vocabulary, or greater, all are left:
`min(k, logits.shape[-1])`

plain exponentials, by topk => the k most probable sum to one
- order = logits.argsort(dim=-1, descending=True)
- rank = order.argsort(dim=-1)
- allowed = (logits / temperature).masked_fill(rank >= k, float("-inf"))
- return allowed.softmax(dim=-1)
+ values, places = (logits / temperature).topk(min(k, logits.shape[-1]), dim=-1)
+ exponentials = torch.zeros_like(logits).scatter(-1, places, values.exp())
+ return exponentials / exponentials.sum(dim=-1, keepdim=True)
this divides exponentials of the logits as they are, infinite (or all 0) where logits are large, and the quotient is
nan; `softmax` takes off the greatest logit first

filled with -1000, by topk => the k most probable sum to one
+ values, places = (logits / temperature).topk(min(k, logits.shape[-1]), dim=-1)
+ return torch.full_like(logits, -1000.0).scatter(-1, places, values).softmax(dim=-1)
this gives a low logit to what is to be left out, and the logits that are left may be lower still; minus infinity is
below every number

never all of them, by topk => k greater than the number of tokens: the softmax at this temperature
+ values, places = (logits / temperature).topk(max(1, min(k, logits.shape[-1] - 1)), dim=-1)
+ return torch.zeros_like(logits).scatter(-1, places, values.softmax(dim=-1))
this always leaves one token out; where `k` is as great as the vocabulary, or greater, all are left:
`min(k, logits.shape[-1])`

one mask for all rows => exactly k tokens are left, also where all logits are equal
- allowed = (logits / temperature).masked_fill(rank >= k, float("-inf"))
+ kept = torch.zeros(logits.shape[-1], dtype=torch.bool)
+ kept[logits.topk(min(k, logits.shape[-1])).indices] = True
+ allowed = (logits / temperature).masked_fill(~kept, float("-inf"))
here all rows share one mask, so that each keeps the best tokens of the others too; give the mask the shape of the
logits, and let `scatter` set the indices of each row in that row
"""

TOP_K = Task(
    function="top_k_probabilities",
    parameters=("logits", "temperature", "k"),
    returns="the probabilities of all tokens, 0 for all but k of them, in the shape of logits",
    cases=draw_logits_and_k,
    examples=({"logits": torch.tensor([0.0, 0.6931, -1.0]), "temperature": 0.5, "k": 2},),
    edges=(
        {"logits": torch.tensor([[3.0, 1.0, 2.0]]), "temperature": 2.0, "k": 1},  # one token is left; one row
        {
            "logits": torch.tensor([[2.0, 0.0, 2.0], [0.0, -9.0, 5.0]]),
            "temperature": 0.5,
            "k": 2,
        },  # equal ones are left
        {"logits": torch.tensor([[[1.0, 0.0, 0.0, 4.0]]]), "temperature": 1.0, "k": 2},  # equal ones are cut
        {"logits": torch.tensor([[0.5], [2.0]]), "temperature": 0.5, "k": 1},  # a single token
        {  # all below zero, and some rows far below: only minus infinity is less than every logit
            "logits": torch.tensor([[-0.3, -0.5, -0.4], [-3.0, -5.0, -4.0], [-30.0, -50.0, -40.0]]),
            "temperature": 0.5,
            "k": 1,
        },
    ),
    reference=top_k_probabilities,
    properties=(
        Property("k greater than the number of tokens: the softmax at this temperature", 1, on(all_allowed, equals())),
        Property("exactly k tokens are left, also where all logits are equal", 1, k_of_them),
        Property("the k most probable sum to one", 1, both(both(equals(), inputs_unchanged), on(far_apart, equals()))),
    ),
    mistakes=TOP_K_MISTAKES,
)


def nucleus_probabilities(logits, temperature, p):
    """Each token is kept while those that are more probable do not have p together."""
    probabilities = (logits / temperature).softmax(-1)
    falling = probabilities.sort(dim=-1, descending=True, stable=True).values
    before = (falling.cumsum(-1) - falling).gather(-1, ranks(probabilities))
    kept = probabilities * (before < p)
    return kept / kept.sum(-1, keepdim=True)


def far_enough(logits, temperature, p) -> bool:
    """Tell whether no running sum, also one at temperature 1 or of equal probabilities, is close to p."""
    running = ((logits / t).softmax(-1).sort(dim=-1, descending=True).values.cumsum(-1) for t in (temperature, 1.0))
    even = torch.arange(1, logits.shape[-1] + 1) / logits.shape[-1]
    return all(bool(((sums - p).abs() > MARGIN).all()) for sums in (*running, even))


def draw_logits_and_p(generator: torch.Generator) -> Case:
    """Draw logits with one to three axes, a temperature, and p."""
    while True:
        logits = draw_logits(generator, 1.5, 3)
        case = {"logits": logits, "temperature": draw_temperature(generator), "p": uniform(generator, 0.35, 0.95)}
        if far_enough(**case):
            return case


def reached_exactly(case: Case) -> Case:
    """Give four tokens a quarter each, which is exact in binary, so that two of them have exactly p."""
    return case | {"logits": torch.zeros_like(case["logits"][..., :1]).expand(*case["logits"].shape[:-1], 4), "p": 0.5}


def kept_together(reply) -> tuple[torch.Tensor, torch.Tensor]:
    """Return for each row what its kept tokens had together, and what they had without the least of them."""
    probabilities, kept = (reply.arguments["logits"] / reply.arguments["temperature"]).softmax(-1), reply.value > 0
    together = (probabilities * kept).sum(-1)
    return together, together - probabilities.masked_fill(~kept, 2.0).amin(-1)


def enough(reply) -> Problem | None:
    """The kept tokens reach p."""
    p, (together, _) = reply.arguments["p"], kept_together(reply)
    if not (together < p).any():
        return None
    got, where = together[together < p][0].item(), "the probability of the tokens that are left of a row"
    return Problem("value", reply.arguments, where=where, got=got, expected=f"at least {p:.4g}")


def minimal(reply) -> Problem | None:
    """Without the least of the kept tokens there is not enough."""
    p, (_, without) = reply.arguments["p"], kept_together(reply)
    if not (without >= p).any():
        return None
    where = "the probability of the tokens that are left of a row, without the least of them"
    return Problem(
        "value", reply.arguments, where=where, got=without[without >= p][0].item(), expected=f"less than {p:.4g}"
    )


def at_least_p(case: Case):
    """What is left of every row reaches p."""
    return enough((yield case))


def no_more_than_needed(case: Case):
    """What is left is minimal; where all logits are equal, any choice of so many tokens is right."""
    drawn, *even = yield [case, all_alike(case), reached_exactly(case)]
    return minimal(drawn) or next(filter(None, (enough(each) or minimal(each) for each in even)), None)


NUCLEUS_MISTAKES = """
the token that crosses p dropped => what is left had a probability of p or more
- kept = torch.where(before < p, falling, 0.0)
+ kept = torch.where(before + falling <= p, falling, 0.0)
this drops the token with which the sum reaches p, and what is left has *less* than p (where the first token alone
reaches it, nothing is left, and 0 / 0 is nan); ask of each token whether the sum *before* it is below p

the token that crosses p dropped, unless it is the first => what is left had a probability of p or more
+ allowed = before + falling <= p
+ allowed[..., 0] = True
+ kept = torch.where(allowed, falling, 0.0)
this drops the token with which the sum reaches p, except where it is the first, and what is left has *less* than p; ask
of each token whether the sum *before* it is below p

one too many => minimal: without its least token, what is left had less than p
+ kept = torch.where(before - falling.roll(1, -1) < p, falling, 0.0)
this leaves one token more than needed: the one with which the sum reaches p is the last

one more where p is reached exactly => minimal: without its least token, what is left had less than p
+ kept = torch.where(before <= p, falling, 0.0)
where the sum reaches p exactly, this leaves one token more than needed: that is enough already, so ask of each token
whether the sum before it is *below* p, `<` and not `<=`

p not used => minimal: without its least token, what is left had less than p
+ kept = falling
`p` was not used: every token is still allowed

all but p => what is left had a probability of p or more
+ kept = torch.where(before < 1 - p, falling, 0.0)
this leaves a probability of 1 - p, and cuts off p; p is what is *left*

the least probable first => the most probable are left, and sum to one
- falling, order = probabilities.sort(dim=-1, descending=True)
+ falling, order = probabilities.sort(dim=-1)
this adds up from the least probable token on: sort the greatest first, `descending=True`

not sorted => the most probable are left, and sum to one
+ falling, order = probabilities, torch.arange(probabilities.shape[-1]).expand_as(probabilities)
the running sums were taken in the order of the vocabulary; sort the probabilities first, the greatest in front, and
bring the result back to the positions of the tokens

left sorted => the most probable are left, and sum to one
- return torch.zeros_like(renormalised).scatter(-1, order, renormalised)
+ return renormalised
the right probabilities belong to the wrong tokens: they are still in sorted order; `scatter` along the order of the
sort, or `gather` along its inverse, brings them back to their positions

a wrong way back => the most probable are left, and sum to one
- kept = torch.where(before < p, falling, 0.0)
- renormalised = kept / kept.sum(dim=-1, keepdim=True)
- return torch.zeros_like(renormalised).scatter(-1, order, renormalised)
+ kept = torch.where((before < p).gather(-1, order), probabilities, 0.0)
+ return kept / kept.sum(dim=-1, keepdim=True)
what was decided on the sorted row was brought back by the wrong permutation: `order` says where each sorted entry comes
from; `scatter` with it, or `gather` with `order.argsort()`

shared, and a wrong way back => the most probable are left, and sum to one
- return torch.zeros_like(renormalised).scatter(-1, order, renormalised)
+ return renormalised.gather(-1, order)
what was computed on the sorted row was brought back by the wrong permutation: `order` says where each sorted entry
comes from; `scatter` with it, or `gather` with `order.argsort()`

not renormalised => the most probable are left, and sum to one
- renormalised = kept / kept.sum(dim=-1, keepdim=True)
+ renormalised = kept
the probabilities of the tokens that are left do not sum to one: divide by their sum

the nucleus at temperature 1 => the most probable are left, and sum to one
- before = falling.cumsum(dim=-1) - falling
+ falling_at_one = logits.softmax(dim=-1).gather(-1, order)
+ before = falling_at_one.cumsum(dim=-1) - falling_at_one
the nucleus was chosen at temperature 1 and the temperature applied afterwards; a high temperature spreads the
probability over more tokens, and the nucleus is made of *those*: divide by the temperature first

multiplied by the temperature => the most probable are left, and sum to one
- probabilities = (logits / temperature).softmax(dim=-1)
+ probabilities = (logits * temperature).softmax(dim=-1)
this multiplies the logits by the temperature; they are divided

temperature not used => the most probable are left, and sum to one
+ probabilities = logits.softmax(dim=-1)
`temperature` was not used: this is the nucleus at temperature 1

a threshold of p => what is left had a probability of p or more
- kept = torch.where(before < p, falling, 0.0)
+ kept = torch.where(falling >= p, falling, 0.0)
this leaves the tokens that have a probability of p or more *each*; it is their sum that has to reach p

a threshold of 1 - p => the most probable are left, and sum to one
+ kept = torch.where(falling > 1 - p, falling, 0.0)
this leaves every token with a probability above 1 - p; it is the sum of what is left that has to reach p

a share of the greatest => the most probable are left, and sum to one
+ kept = torch.where(falling >= p * falling[..., :1], falling, 0.0)
this leaves every token that has p times the greatest probability or more (which is called min-p); here the *sum* of
what is left has to reach p

zeros for scores => the most probable are left, and sum to one
- kept = torch.where(before < p, falling, 0.0)
- renormalised = kept / kept.sum(dim=-1, keepdim=True)
+ kept = torch.where(before < p, (logits / temperature).gather(-1, order), 0.0)
+ renormalised = kept.softmax(dim=-1)
this gives the logit 0 to what is to be left out; 0 is a logit like any other: minus infinity is the one whose
exponential is 0

scores divided in place => the most probable are left, and sum to one
- probabilities = (logits / temperature).softmax(dim=-1)
+ logits /= temperature
+ probabilities = logits.softmax(dim=-1)
this writes into the caller's own logits, as `logits /= temperature` does; `logits / temperature` makes new ones

no way back => the most probable are left, and sum to one
- kept = torch.where(before < p, falling, 0.0)
- renormalised = kept / kept.sum(dim=-1, keepdim=True)
- return torch.zeros_like(renormalised).scatter(-1, order, renormalised)
+ kept = torch.where(before < p, probabilities, 0.0)
+ return kept / kept.sum(dim=-1, keepdim=True)
what was decided about the sorted row is used as if the tokens stood in that order; bring it back to the positions of
the tokens first

a threshold of 1 - p, and the greatest => the most probable are left, and sum to one
- kept = torch.where(before < p, falling, 0.0)
+ kept = torch.where((falling >= 1 - p) | (falling == falling[..., :1]), falling, 0.0)
this compares each token by itself with 1 - p; it is the *sum* of what is left that has to reach p

all that are equal to the least => minimal: without its least token, what is left had less than p
- kept = torch.where(before < p, falling, 0.0)
+ least = torch.where(before < p, falling, 2.0).amin(dim=-1, keepdim=True)
+ kept = torch.where(falling >= least, falling, 0.0)
this also keeps tokens outside the nucleus that are as probable as its least one, and then it is not the smallest set;
choose by *ranks* in the sorted row
"""

NUCLEUS = Task(
    function="nucleus_probabilities",
    parameters=("logits", "temperature", "p"),
    returns="the probabilities of all tokens, 0 outside the nucleus, in the shape of logits",
    cases=draw_logits_and_p,
    examples=({"logits": torch.tensor([0.0, 1.3863, 0.6931, 0.0]), "temperature": 1.0, "p": 0.7},),
    edges=(
        # Nuclei of one token, of two and of all, in one batch.
        {
            "logits": torch.tensor([[[9.0, 0.0, 0.0]], [[2.0, 0.0, 1.5]], [[0.2, 0.0, 0.1]]]),
            "temperature": 1.0,
            "p": 0.8,
        },
        {"logits": torch.tensor([[1.0, 3.0]]), "temperature": 2.0, "p": 0.01},  # the greatest alone is always left
        {"logits": torch.tensor([2.0, 0.0, 2.0, -3.0]), "temperature": 1.0, "p": 0.75},  # equal ones are left
        {"logits": torch.tensor([[0.5], [2.0]]), "temperature": 0.5, "p": 0.5},  # a single token
    ),
    reference=nucleus_probabilities,
    properties=(
        Property("what is left had a probability of p or more", 1, at_least_p),
        Property("minimal: without its least token, what is left had less than p", 1, no_more_than_needed),
        Property("the most probable are left, and sum to one", 1, both(equals(), inputs_unchanged)),
    ),
    mistakes=NUCLEUS_MISTAKES,
)

GRID = 100


def running_sums(probabilities):
    """The sum of all probabilities up to each token, the last of them exactly 1."""
    running = probabilities.cumsum(-1)
    return running / running[:, -1:]


def draw_tokens(probabilities, uniform):
    """How many running sums the number has reached."""
    return (running_sums(probabilities) <= uniform[:, None]).sum(-1)


def draw_probabilities(generator: torch.Generator) -> Case:
    """Draw probabilities, some of them 0, as a cut leaves them, and uniform numbers."""
    batch, others = sizes(generator, 5, 7, least=2)
    drawn = probabilities(generator, batch, others + 1)
    kept = torch.rand(batch, others + 1, generator=generator) < 0.7
    kept[:, 0] |= ~kept.any(-1)
    drawn = drawn * kept
    drawn = drawn / drawn.sum(-1, keepdim=True)
    while True:
        uniform = torch.rand(batch, generator=generator)
        if ((running_sums(drawn) - uniform[:, None]).abs() > MARGIN / 2).all():
            return {"probabilities": drawn, "uniform": uniform}


def at_the_edges(case: Case) -> Case:
    """Numbers that are running sums themselves, exactly, with tokens of probability 0 before, between and behind."""
    row = torch.tensor([0.0, 0.25, 0.5, 0.0, 0.25, 0.0])
    return {"probabilities": row.expand(4, 6).clone(), "uniform": torch.tensor([0.0, 0.25, 0.75, 0.5])}


def short_of_one(case: Case) -> Case:
    """Sums that end at two millionths below 1, tokens of probability 0 at the end, and the greatest of torch.rand."""
    probabilities = torch.nn.functional.pad(case["probabilities"] * (1 - 2e-6), (0, 1))
    return {"probabilities": probabilities, "uniform": torch.full_like(case["uniform"], 1 - 2.0**-24)}


def fair(case: Case):
    """Of numbers that are spread evenly, each token is drawn by as many as its probability says, but for one."""
    row = case["probabilities"][-1]
    grid = (torch.arange(GRID) + 0.5) / GRID
    reply = yield {"probabilities": row.expand(GRID, -1).clone(), "uniform": grid}
    counts, expected = (reply.value[:, None] == torch.arange(len(row))).sum(0), GRID * row
    wrong = (counts - expected).abs() > 1.01
    if not wrong.any() and counts.sum() == GRID:
        return None
    where = f"how often each token was drawn by {GRID} numbers spread evenly from 0 to 1"
    return Problem("value", {"probabilities": row}, where=where, got=counts, expected=expected)


DRAWS_MISTAKES = """
the most probable => fair: of 100 numbers spread evenly, each token is drawn by its probability
- return (running <= uniform[:, None]).sum(dim=-1)
+ return probabilities.argmax(dim=-1)
this takes the most probable token, whatever the number: that is greedy, and no draw

all tokens alike => fair: of 100 numbers spread evenly, each token is drawn by its probability
+ return (uniform * probabilities.shape[-1]).long()
this draws every token equally often, whatever its probability: the number has to be compared with running sums of the
probabilities

one token further => fair: of 100 numbers spread evenly, each token is drawn by its probability
+ return (running <= uniform[:, None]).sum(dim=-1) + 1
this is the token after the right one: how many running sums the number has reached is, counted from 0, already the
token

one token before => fair: of 100 numbers spread evenly, each token is drawn by its probability
+ return (running <= uniform[:, None]).sum(dim=-1) - 1
this is the token before the right one, the last whose running sum the number has reached; asked is the first whose
running sum *exceeds* it

probabilities for running sums => fair: of 100 numbers spread evenly, each token is drawn by its probability
+ return (probabilities <= uniform[:, None]).sum(dim=-1)
this counts the *probabilities* that the number has reached; it has to be compared with their running sums,
`cumsum(dim=-1)`

one number for all => fair: of 100 numbers spread evenly, each token is drawn by its probability
+ return (running <= uniform[0]).sum(dim=-1)
every row was drawn with the first number: row b has its own, `uniform[b]`

one row for all => the first token whose running sum exceeds the number
+ return (running[0] <= uniform[:, None]).sum(dim=-1)
every token was drawn from the first row: row b has probabilities of its own

from the most probable => the first token whose running sum exceeds the number
- running = probabilities.cumsum(dim=-1)
+ running = probabilities.sort(dim=-1, descending=True).values.cumsum(dim=-1)
this returns positions in a sorted row for tokens: sorting is not needed, the running sums may be taken in the order of
the vocabulary

from the most probable and back => the first token whose running sum exceeds the number
- running = probabilities.cumsum(dim=-1)
- running = running / running[:, -1:]
- return (running <= uniform[:, None]).sum(dim=-1)
+ falling, order = probabilities.sort(dim=-1, descending=True, stable=True)
+ running = falling.cumsum(dim=-1)
+ running = running / running[:, -1:]
+ return order.gather(-1, (running <= uniform[:, None]).sum(dim=-1, keepdim=True))[:, 0]
this is fair, and takes the running sums in sorted order, so that a given number gives another token; here they are
taken in the order of the vocabulary

from the end => the first token whose running sum exceeds the number
+ running = probabilities.flip(-1).cumsum(dim=-1)
+ running = running / running[:, -1:]
+ return probabilities.shape[-1] - 1 - (running <= uniform[:, None]).sum(dim=-1)
this is fair, and takes the running sums from the last token to the first; here they begin with token 0

a column => the first token whose running sum exceeds the number
- return (running <= uniform[:, None]).sum(dim=-1)
+ return (running <= uniform[:, None]).sum(dim=-1, keepdim=True)
this has an axis too many, (batch, 1): one token for each row is asked for, (batch,)

reached for exceeded => a number that is a running sum; a token of probability 0 is never drawn
+ return (running < uniform[:, None]).sum(dim=-1)
this takes the first token whose running sum *reaches* the number: at the number 0 that may be a token of probability 0;
it has to exceed it (`searchsorted` needs `right=True`)

reached for exceeded, short sums not mended => a number that is a running sum; a token of probability 0 is never drawn
- running = running / running[:, -1:]
- return (running <= uniform[:, None]).sum(dim=-1)
+ return (running < uniform[:, None]).sum(dim=-1)
this takes the first token whose running sum *reaches* the number (it has to exceed it; `searchsorted` needs
`right=True`), and a number above all running sums, which rounding may leave short of 1, gives a token that does not
exist: divide the sums by the last of them

beyond the vocabulary => sums that rounding leaves short of 1
+ return (running <= uniform[:, None]).sum(dim=-1)
where rounding leaves the last running sum short of 1, a number may be above them all, and this returns a token that
does not exist: divide the running sums by the last of them

back to the first => sums that rounding leaves short of 1
+ return (running > uniform[:, None]).int().argmax(dim=-1)
where rounding leaves the last running sum short of 1, a number may be above them all, and this returns token 0
(`argmax` of nothing but False); divide the running sums by the last of them

the last of the vocabulary => sums that rounding leaves short of 1
+ return (running <= uniform[:, None]).sum(dim=-1).clamp(max=running.shape[-1] - 1)
where a number is above all running sums this returns the last token of the vocabulary, whose probability may be 0;
divide the running sums by the last of them, and the last token that *has* a probability is drawn

from the most probable and back, by the whole sum => the first token whose running sum exceeds the number
- running = probabilities.cumsum(dim=-1)
- running = running / running[:, -1:]
- return (running <= uniform[:, None]).sum(dim=-1)
+ falling, order = probabilities.sort(dim=-1, descending=True)
+ running = falling.cumsum(dim=-1) / falling.sum(dim=-1, keepdim=True)
+ place = (running <= uniform[:, None]).sum(dim=-1, keepdim=True).clamp(max=running.shape[-1] - 1)
+ return order.gather(-1, place)[:, 0]
this is fair, and takes the running sums in sorted order, so that a given number gives another token; here they are
taken in the order of the vocabulary

one token before, none before the first => fair: of 100 numbers spread evenly, each token is drawn by its probability
- return (running <= uniform[:, None]).sum(dim=-1)
+ return ((running <= uniform[:, None]).sum(dim=-1) - 1).clamp(min=0)
this is the token before the right one; asked is the first whose running sum *exceeds* the number

probabilities overwritten => the first token whose running sum exceeds the number
- running = probabilities.cumsum(dim=-1)
+ running = probabilities.cumsum_(dim=-1)
this writes the running sums over the caller's own probabilities; make a new tensor

divided by the greatest of the batch => sums that rounding leaves short of 1
- running = running / running[:, -1:]
- return (running <= uniform[:, None]).sum(dim=-1)
+ return (running / running.max() <= uniform[:, None]).sum(dim=-1)
this divides the running sums of all rows by the greatest of the batch, and the other rows still end short of 1; divide
each row by its own last sum

divided by the greatest of the batch, cut off => sums that rounding leaves short of 1
+ return (running / running.max() <= uniform[:, None]).sum(dim=-1).clamp(max=running.shape[-1] - 1)
"""

DRAWS = Task(
    function="draw_tokens",
    parameters=("probabilities", "uniform"),
    returns="one token for each row, shape (batch,), integers",
    cases=draw_probabilities,
    examples=(
        {
            "probabilities": torch.tensor([[0.5, 0.0, 0.25, 0.25], [0.5, 0.0, 0.25, 0.25]]),
            "uniform": torch.tensor([0.6, 0.4]),
        },
    ),
    edges=(
        {"probabilities": torch.tensor([[0.25, 0.75]]), "uniform": torch.tensor([0.5])},  # one row
        {"probabilities": torch.tensor([[1.0]]), "uniform": torch.tensor([0.0])},  # one row, one token
        # All for one token, which is the first, the last or between.
        {"probabilities": torch.eye(3), "uniform": torch.tensor([0.9, 0.0, 0.5])},
    ),
    reference=draw_tokens,
    properties=(
        Property("fair: of 100 numbers spread evenly, each token is drawn by its probability", 1, fair),
        Property("the first token whose running sum exceeds the number", 1, both(equals(), inputs_unchanged)),
        Property(
            "a number that is a running sum; a token of probability 0 is never drawn",
            1,
            on(at_the_edges, equals()),
        ),
        Property("sums that rounding leaves short of 1", 1, on(short_of_one, equals())),
    ),
    mistakes=DRAWS_MISTAKES,
)

EXERCISE = Exercise(
    title="Sampling",
    difficulty=3,
    minutes=45,
    tasks=(TOP_K, NUCLEUS, DRAWS),
    hints=(
        "Which logit has the exponential 0? In a sorted row, what do you have to know of a token to say whether the "
        "nucleus needs it: the sum with it, or the sum before it? And where does a number between 0 and 1 fall, if the "
        "tokens lie side by side, each as wide as its probability?",
        "Top-k: give each token its rank in the sorted row, and minus infinity to all whose rank is k or more. "
        "Nucleus: sort the probabilities, take running sums, subtract each token's own, keep where that is below p, "
        "and bring the decision back to the tokens' positions. Draw: count how many running sums the number has "
        "reached.",
        "`argsort(dim=-1, descending=True)` says which token has each rank, and the `argsort` of that, which rank "
        "each token has. In the sorted row `running - falling` is the sum before each token. For the draw, divide the "
        "running sums by their last entry, and compare them with `uniform[:, None]`.",
    ),
    forbidden={"aten::multinomial": "torch.multinomial"},
)
