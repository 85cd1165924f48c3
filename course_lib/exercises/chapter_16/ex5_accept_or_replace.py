"""16.5: speculative sampling: a guess is kept or replaced, and several guesses are judged at once."""

import torch

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import both, difference, equals, inputs_unchanged, of_output, on
from course_lib.grading.exercise import Case, Exercise, Property, Task
from course_lib.grading.problem import Problem

# Every probability is so many twelfths, and every number of chance an odd one of 64ths: so no number is ever so close
# to an acceptance or to a running sum that rounding could decide, and what is summed over all guesses is exact.
WHOLE, PARTS = 12, 64
DRAWN = 2000  # tokens of the chi-square test
FAR = 50.0  # the statistic of five tokens is greater by chance once in two thousand million times


def draw_rows(generator: torch.Generator, rows: int, vocab: int) -> torch.Tensor:
    """Draw rows of probabilities (rows, vocab) in twelfths, some of them 0."""
    drawn = torch.multinomial((1.2 * normal(generator, rows, vocab)).softmax(-1), WHOLE, True, generator=generator)
    return (drawn[..., None] == torch.arange(vocab)).sum(1) / WHOLE


def draw_numbers(generator: torch.Generator, *shape: int) -> torch.Tensor:
    """Draw numbers from 0 to 1 that lie between all acceptances and running sums."""
    return (2 * torch.randint(PARTS // 2, shape, generator=generator) + 1) / PARTS


def is_accepted(p, q, guess, uniform):
    """True where the number, times the probability with the small model, is below that with the large one."""
    at = guess[:, None]
    return uniform * q.gather(1, at)[:, 0] < p.gather(1, at)[:, 0]


def too_little(p, q):
    """The positive part of the difference, divided by its sum; where both are equal, p."""
    rest = (p - q).relu()
    total = rest.sum(-1, keepdim=True)
    return torch.where(total > 0, rest / total, p)


def accept_or_replace(p, q, guess, accept_uniform, replace_uniform):
    """The guess, or the first token whose running sum of what is left exceeds the second number."""
    running = too_little(p, q).double().cumsum(-1)
    other = (running / running[:, -1:] > replace_uniform[:, None]).int().argmax(-1)
    return torch.where(is_accepted(p, q, guess, accept_uniform), guess, other)


def draw_guesses(generator: torch.Generator) -> Case:
    """Draw a few guesses, each with probabilities of its own."""
    batch, vocab = sizes(generator, 5, 5, least=2)
    p, q = draw_rows(generator, batch, vocab), draw_rows(generator, batch, vocab)
    return {
        "p": p,
        "q": q,
        "guess": torch.multinomial(q, 1, generator=generator)[:, 0],
        "accept_uniform": draw_numbers(generator, batch),
        "replace_uniform": draw_numbers(generator, batch),
    }


def both_alike(case: Case) -> Case:
    """Let the large model have the probabilities of the small one."""
    return case | {"p": case["q"].clone()}


def kept_or_not(case: Case):
    """What is kept, and what is not. A token that is drawn in place of a guess is never the guess itself."""
    reply = yield case
    got, due = reply.value == case["guess"], is_accepted(case["p"], case["q"], case["guess"], case["accept_uniform"])
    return difference(case, got, due, where="which guesses are kept")


def counted(case: Case):
    """Of each guess so many rows as its twelfths; their numbers are spread evenly, and the tokens are counted."""
    p, q = case["p"][-1], case["q"][-1]
    twelfths, lacking = (WHOLE * q).round().long(), int((WHOLE * (p - q).relu()).round().sum()) or 1
    guess = torch.arange(len(q)).repeat_interleave(twelfths)  # (12,)
    first = torch.cat([(torch.arange(each) + 0.5) / each for each in twelfths.tolist()])  # (12,)
    second = (torch.arange(lacking) + 0.5) / lacking  # (lacking,)
    rows = WHOLE * lacking
    reply = yield {
        "p": p.expand(rows, -1).clone(),
        "q": q.expand(rows, -1).clone(),
        "guess": guess.repeat_interleave(lacking),
        "accept_uniform": first.repeat_interleave(lacking),
        "replace_uniform": second.repeat(WHOLE),
    }
    got = (reply.value[:, None] == torch.arange(len(p))).sum(0) / rows
    where = "how often each token comes out, over all guesses and numbers spread evenly"
    return difference({"p": p, "q": q}, got, p, where=where)


def by_chance(case: Case):
    """Pearson's chi-square test of many tokens; all that is random has one seed, always."""
    p, q, generator = case["p"][-1], case["q"][-1], torch.Generator().manual_seed(16)
    reply = yield {
        "p": p.expand(DRAWN, -1).clone(),
        "q": q.expand(DRAWN, -1).clone(),
        "guess": torch.multinomial(q, DRAWN, True, generator=generator),
        "accept_uniform": torch.rand(DRAWN, generator=generator),
        "replace_uniform": torch.rand(DRAWN, generator=generator),
    }
    counts, due = (reply.value[:, None] == torch.arange(len(p))).sum(0), DRAWN * p
    statistic = ((counts - due).square() / due.where(p > 0, 1.0)).sum()
    if statistic < FAR and counts.sum() == DRAWN:
        return None
    where = f"how often each token comes out in {DRAWN} draws"
    note = "farther apart than chance makes them"
    return Problem("value", {"p": p, "q": q}, where=where, got=counts, expected=due, note=note)


REPLACE_MISTAKES = """
every guess kept => a chi-square test of 2000 tokens
- return torch.where(accept_uniform < acceptance, guess, replacement)
+ return guess.clone()
every guess is kept here, so the text has the probabilities of the small model; a guess is kept only where its number is
below p / q

guess not used => a guess is kept with the probability min(1, p / q)
+ running = p.cumsum(dim=-1)
+ return (running / running[:, -1:] <= replace_uniform[:, None]).sum(dim=-1)
this draws every token from p and uses no guess: the probabilities are right, but nothing that the small model wrote is
kept; keep the guess where its number is below p / q

drawn from p => what comes out has exactly the probabilities p, summed over all guesses
- lacking = (p - q).clamp(min=0)
+ lacking = p
in place of a rejected guess this draws from p, and then tokens that the small model likes come out too often: they have
had their chance as guesses; draw from the positive part of p - q

guess left out of p => what comes out has exactly the probabilities p, summed over all guesses
+ lacking = p.clone()
+ lacking[torch.arange(len(guess)), guess] = 0
in place of a rejected guess this draws from p without the guess; that leaves in all other tokens of which the small
model gives enough, or too much; draw from the positive part of p - q

absolute difference => the token in place of a rejected guess
+ lacking = (p - q).abs()
this takes the absolute difference of p and q; where q is greater, the small model has given too much already, and
nothing is to be added: set negative differences to 0

q less p => the token in place of a rejected guess
+ lacking = (q - p).clamp(min=0)
this draws from the positive part of q - p, the tokens of which the small model gave too *much*; draw from those of
which it gave too little, p - q

negative differences kept => the token in place of a rejected guess
+ lacking = p - q
negative differences stay in the running sums here, which then rise and fall, and sum to 0; set negative differences
to 0 first

softmax of the difference => the token in place of a rejected guess
+ lacking = (p - q).softmax(dim=-1)
this takes a softmax of p - q, which gives every token a probability, also those of which q has too much; divide the
positive part of p - q by its sum

smallest share for all => a number of 0, and one just below 1
+ lacking = (p - q).clamp(min=1e-6)
this leaves every token a small number in place of 0, so that a token with p = 0 can come out; clamp at 0

not divided by the sum => the token in place of a rejected guess
- running = lacking.cumsum(dim=-1)
- running = running / running[:, -1:]
+ running = lacking.cumsum(dim=-1)
the positive part of p - q does not sum to 1, and was not divided by its sum: a number above that sum finds no token

not divided by the sum, cut off => the token in place of a rejected guess
- running = lacking.cumsum(dim=-1)
- running = running / running[:, -1:]
- replacement = (running <= replace_uniform[:, None]).sum(dim=-1)
+ running = lacking.cumsum(dim=-1)
+ replacement = (running <= replace_uniform[:, None]).sum(dim=-1).clamp(max=p.shape[-1] - 1)
the positive part of p - q does not sum to 1, and was not divided by its sum: every number above that sum draws the last
token here

the most lacking => the token in place of a rejected guess
- replacement = (running <= replace_uniform[:, None]).sum(dim=-1)
+ replacement = lacking.argmax(dim=-1)
in place of a rejected guess this takes the token with the greatest p - q, whatever the number; it is to be *drawn*,
each token with its share of the positive part

the most probable of p => the token in place of a rejected guess
+ replacement = p.argmax(dim=-1)
in place of a rejected guess this takes the most probable token of p: greedy decoding; draw from the positive part of
p - q, divided by its sum

one number for both => the token in place of a rejected guess
+ replacement = (running <= accept_uniform[:, None]).sum(dim=-1)
this draws the new token with the number that has rejected the guess; such a number is never small, so the first tokens
come out too seldom: use `replace_uniform`

numbers exchanged => a guess is kept with the probability min(1, p / q)
- replacement = (running <= replace_uniform[:, None]).sum(dim=-1)
- return torch.where(accept_uniform < acceptance, guess, replacement)
+ replacement = (running <= accept_uniform[:, None]).sum(dim=-1)
+ return torch.where(replace_uniform < acceptance, guess, replacement)
the two numbers are exchanged: `accept_uniform` decides on the guess, `replace_uniform` draws the token in its place

running sum reached => a number of 0, and one just below 1
- replacement = (running <= replace_uniform[:, None]).sum(dim=-1)
+ replacement = (running < replace_uniform[:, None]).sum(dim=-1)
this takes the first token whose running sum *reaches* the number; a number of 0 then draws token 0 even where its share
is 0: the running sum has to exceed the number

kept at equality => a number of 0, and one just below 1
- return torch.where(accept_uniform < acceptance, guess, replacement)
+ return torch.where(accept_uniform <= acceptance, guess, replacement)
a number that is equal to p / q keeps the guess here, so a number of 0 keeps a token with p = 0, which the large model
never writes; keep it only where the number is *below* p / q

turned round => p and q equal: every guess is kept
+ return torch.where(accept_uniform < acceptance, replacement, guess)
this keeps the guesses that are to be rejected, and the other way round: a guess is kept where its number is below p / q

q by p => a guess is kept with the probability min(1, p / q)
- acceptance = p[rows, guess] / q[rows, guess]
+ acceptance = q[rows, guess] / p[rows, guess]
this divides q by p; a guess that the small model likes *too much*, q above p, is the one to be rejected at times: p / q

p alone => p and q equal: every guess is kept
+ acceptance = p[rows, guess]
this keeps a guess with the probability p; the guess was drawn with the probability q already, so both together would be
p q: divide by q

product => p and q equal: every guess is kept
+ acceptance = p[rows, guess] * q[rows, guess]
this keeps a guess with the probability p q; it was drawn with the probability q, and kept with p / q it comes out with
the probability p

one less the quotient => p and q equal: every guess is kept
+ acceptance = 1 - p[rows, guess] / q[rows, guess]
1 - p / q is the probability to *reject* a guess; it is kept where the number is below p / q

one less the probability of the small model => p and q equal: every guess is kept
+ acceptance = 1 - q[rows, guess]
this keeps a guess with the probability 1 - q, and p is not asked: the guess is kept where the number is below p / q

without chance => a guess is kept with the probability min(1, p / q)
- return torch.where(accept_uniform < acceptance, guess, replacement)
+ return torch.where(acceptance >= 1, guess, replacement)
this keeps a guess where p is at least q and never else; below that it is kept with the probability p / q, which the
number decides

half is enough => a guess is kept with the probability min(1, p / q)
+ return torch.where(acceptance > 0.5, guess, replacement)
this keeps a guess where p / q is above one half; the number decides, not a fixed border

most probable alone => p and q equal: every guess is kept
+ return torch.where(p.argmax(dim=-1) == guess, guess, replacement)
this keeps a guess where it is the most probable token of p: that is how greedy decoding judges; here it is kept with
the probability p / q

models exchanged => a guess is kept with the probability min(1, p / q)
- rows = torch.arange(len(guess))
+ p, q = q, p
+ rows = torch.arange(len(guess))
p and q are exchanged: the guess was drawn from q, the small model, and the text is to have the probabilities p, of the
large one

first row for all => a guess is kept with the probability min(1, p / q)
- acceptance = p[rows, guess] / q[rows, guess]
+ acceptance = p[0, guess] / q[0, guess]
the guesses of all rows are looked up in the first row of p and q; each has its own row

first number for all => a guess is kept with the probability min(1, p / q)
- return torch.where(accept_uniform < acceptance, guess, replacement)
+ return torch.where(accept_uniform[:1] < acceptance, guess, replacement)
all guesses are judged by the first number; each has its own

greatest quotient => a guess is kept with the probability min(1, p / q)
- acceptance = p[rows, guess] / q[rows, guess]
+ acceptance = p[rows, guess] / (q[rows, guess] * (p / q).nan_to_num(0, 0, 0).amax(dim=-1))
this divides by the greatest p / q of all tokens, as rejection sampling does, which rejects far more; here a rejected
guess is replaced, and p / q itself is the acceptance

p overwritten => the token in place of a rejected guess
- lacking = (p - q).clamp(min=0)
+ lacking = p.sub_(q).clamp_(min=0)
the tokens are right, and the caller's own p was changed on the way, as `p -= q` does; `p - q` makes a new tensor

q overwritten => the token in place of a rejected guess
+ lacking = q.neg_().add_(p).clamp_(min=0)
the tokens are right, and the caller's own q was changed on the way; `p - q` makes a new tensor
"""

NEARLY_ONE = 1 - 2.0**-24


def numbers_of_zero(case: Case) -> Case:
    """Both numbers 0, for every token that the small model may have guessed."""
    return with_numbers(case, 0.0)


def numbers_below_one(case: Case) -> Case:
    """Both numbers just below 1, for every token that the small model may have guessed."""
    return with_numbers(case, NEARLY_ONE)


def with_numbers(case: Case, number: float) -> Case:
    """The last row of the case, once for each token that may be guessed, with this number for all."""
    guess = case["q"][-1].nonzero()[:, 0]
    numbers = torch.full((len(guess),), number)
    rows = {name: case[name][-1:].expand(len(guess), -1).clone() for name in ("p", "q")}
    return {**rows, "guess": guess, "accept_uniform": numbers, "replace_uniform": numbers.clone()}


REPLACE = Task(
    function="accept_or_replace",
    parameters=("p", "q", "guess", "accept_uniform", "replace_uniform"),
    returns="the tokens that are written, shape (batch,), integers",
    cases=draw_guesses,
    examples=(
        {
            "p": torch.tensor([[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]]),
            "q": torch.tensor([[0.25, 0.75, 0.0], [0.25, 0.75, 0.0]]),
            "guess": torch.tensor([1, 1]),
            "accept_uniform": torch.tensor([0.3, 0.7]),
            "replace_uniform": torch.tensor([0.6, 0.6]),
        },
    ),
    edges=(
        {  # one row, one token
            "p": torch.tensor([[1.0]]),
            "q": torch.tensor([[1.0]]),
            "guess": torch.tensor([0]),
            "accept_uniform": torch.tensor([0.9]),
            "replace_uniform": torch.tensor([0.5]),
        },
        {  # the large model never writes what the small one always guesses
            "p": torch.tensor([[0.0, 0.5, 0.5]]),
            "q": torch.tensor([[1.0, 0.0, 0.0]]),
            "guess": torch.tensor([0]),
            "accept_uniform": torch.tensor([0.1]),
            "replace_uniform": torch.tensor([0.4]),
        },
        {  # zeros of q where p has none, at the first token and at the last; a row of equal probabilities between
            "p": torch.tensor([[0.25, 0.5, 0.25], [0.5, 0.5, 0.0], [0.25, 0.25, 0.5]]),
            "q": torch.tensor([[0.0, 1.0, 0.0], [0.5, 0.5, 0.0], [0.0, 1.0, 0.0]]),
            "guess": torch.tensor([1, 0, 1]),
            "accept_uniform": torch.tensor([0.6, 0.9, 0.3]),
            "replace_uniform": torch.tensor([0.7, 0.2, 0.1]),
        },
    ),
    reference=accept_or_replace,
    properties=(
        Property("p and q equal: every guess is kept", 1, on(both_alike, equals())),
        Property("a guess is kept with the probability min(1, p / q)", 1, kept_or_not),
        Property("the token in place of a rejected guess", 2, both(equals(), inputs_unchanged)),
        Property(
            "a number of 0, and one just below 1",
            1,
            both(on(numbers_of_zero, equals()), on(numbers_below_one, equals())),
        ),
        Property("what comes out has exactly the probabilities p, summed over all guesses", 2, counted),
        Property(f"a chi-square test of {DRAWN} tokens", 1, by_chance),
    ),
    mistakes=REPLACE_MISTAKES,
)


def judge(p, q, guesses, uniforms):
    """How many guesses stand before the first that is rejected, and what the token after them is drawn from."""
    accepted = is_accepted(p[:-1], q, guesses, uniforms).tolist()
    kept = (accepted + [False]).index(False)
    return torch.tensor(kept), p[-1].clone() if kept == len(q) else too_little(p[kept], q[kept])


def draw_drafts(generator: torch.Generator) -> Case:
    """Draw one to four guesses of a small model, and the probabilities of both; often a guess is likely to be kept."""
    guesses, vocab = sizes(generator, 4, 5)
    vocab = max(vocab, 2)
    p, q = draw_rows(generator, guesses + 1, vocab), draw_rows(generator, guesses, vocab)
    token, uniforms = torch.multinomial(q, 1, generator=generator)[:, 0], draw_numbers(generator, guesses)
    return {"p": p, "q": q, "guesses": token, "uniforms": uniforms / torch.tensor([1, 4])[guesses % 2]}


def all_kept(case: Case) -> Case:
    """Let the large model have the probabilities of the small one, but for the place after the guesses."""
    return case | {"p": torch.cat([case["q"], case["p"][-1:]])}


def rejected_at(place: int):
    """Return the change after which the guess at this place, or the last one, is the first to be rejected.

    What the large model gives all other tokens there is what the small one gives them, and a little more. Guesses
    behind that place would be kept.
    """

    def change(case: Case) -> Case:
        if case["q"].shape[1] == 1:
            return case  # there is no other token
        at = min(place, len(case["guesses"]) - 1)
        p = torch.cat([case["q"], case["p"][-1:]])
        guess = case["guesses"][at]
        p[at] += 2 * torch.arange(1, p.shape[1] + 1) / PARTS
        p[at, guess] = 0.0
        p[at] /= p[at].sum()
        return case | {"p": p}

    return change


def written_first(case: Case):
    """One guess: over all guesses and numbers spread evenly, the first token written has the probabilities p."""
    p, q = case["p"][:2], case["q"][0]
    asked, guessed = [], []
    for guess, twelfths in enumerate((WHOLE * q).round().long().tolist()):
        for number in range(twelfths):
            uniform = torch.tensor([(number + 0.5) / twelfths])
            asked.append({"p": p, "q": q[None], "guesses": torch.tensor([guess]), "uniforms": uniform})
            guessed.append(torch.eye(len(q))[guess])
    replies = yield asked
    got = torch.stack(
        [each if reply.value[0] else reply.value[1] for reply, each in zip(replies, guessed, strict=True)]
    ).mean(0)
    where = "the probabilities of the first token that is written, over all guesses and numbers spread evenly"
    return difference({"p": p, "q": q[None]}, got, p[0], where=where)


JUDGE_MISTAKES = """
accepted ones counted => how many guesses are kept
- kept = accepted.long().cumprod(dim=0).sum()
+ kept = accepted.sum()
this counts all guesses that pass, also those behind one that is rejected; they were made after a token that is not in
the text, so nothing behind the first rejected guess is kept

rejected one counted => how many guesses are kept
+ kept = (accepted.long().cumprod(dim=0).sum() + 1).clamp(max=len(guesses))
this counts the first rejected guess among those that are kept

number of tokens written => how many guesses are kept
- return kept, p[-1]
- lacking = (p[kept] - q[kept]).clamp(min=0)
- return kept, lacking / lacking.sum()
+ return kept + 1, p[-1]
+ lacking = (p[kept] - q[kept]).clamp(min=0)
+ return kept + 1, lacking / lacking.sum()
this counts the token of the large model as well; asked is how many *guesses* are kept

rejected ones counted => how many guesses are kept
- kept = accepted.long().cumprod(dim=0).sum()
+ kept = (~accepted).sum()
this counts the guesses that are rejected; asked is how many are kept, up to the first that is rejected

first rejected by argmax => how many guesses are kept
+ kept = (~accepted).long().argmax()
this looks for the first rejected guess by `argmax`, which is 0 also where none is rejected: then all guesses are kept

last rejected => how many guesses are kept
+ kept = torch.tensor(max([place for place, each in enumerate(accepted) if not each], default=len(guesses)))
this counts the guesses before the *last* one that is rejected; the first one ends it, because all behind it were made
after a token that is not in the text

all or nothing => how many guesses are kept
+ kept = torch.tensor(len(guesses) if accepted.all() else 0)
this keeps all guesses or none; those before the first rejected one are kept

one judged => how many guesses are kept
+ kept = accepted[0].long()
this judges the first guess alone; where it passes, the next one is judged, and so on

last row but one => all kept: the last row of p
- if kept == len(guesses):
- return kept, p[-1]
+ if kept == len(guesses):
+     return kept, p[-2]
the row of p that belongs to the last guess is returned; the token after the last guess has the last row, which is one
more than there are guesses

last difference => all kept: the last row of p
+ if kept == len(guesses):
+     kept = kept - 1
+     lacking = (p[kept] - q[kept]).clamp(min=0)
+     return kept + 1, lacking / lacking.sum()
where all guesses are kept, this takes the positive part of p - q at the last of them; nothing was rejected, so nothing
is to be made good: the next token is drawn from the last row of p

last row less the last draft => all kept: the last row of p
+ if kept == len(guesses):
+     lacking = (p[-1] - q[-1]).clamp(min=0)
+     return kept, lacking / lacking.sum()
where all guesses are kept, this takes q off the last row of p; the small model has drawn nothing there, so the row
stands as it is

drawn from p => the first token written has exactly the probabilities p, summed over all guesses
- lacking = (p[kept] - q[kept]).clamp(min=0)
- return kept, lacking / lacking.sum()
+ return kept, p[kept]
in place of the rejected guess this draws from p at that place; tokens of which the small model gives enough would come
out too often: take the positive part of p - q, divided by its sum

last row always => one rejected: the positive part of p - q at its place
+ return kept, p[-1]
the last row of p belongs to the token after *all* guesses; where one is rejected, the next token stands in its place

not divided by the sum => one rejected: the positive part of p - q at its place
- return kept, lacking / lacking.sum()
+ return kept, lacking
the positive part of p - q does not sum to 1: divide it by its sum

softmax of the difference => one rejected: the positive part of p - q at its place
+ return kept, (p[kept] - q[kept]).softmax(dim=-1)
this takes a softmax of p - q, which gives every token a probability, also those of which q has too much; divide the
positive part by its sum

absolute difference => one rejected: the positive part of p - q at its place
- lacking = (p[kept] - q[kept]).clamp(min=0)
+ lacking = (p[kept] - q[kept]).abs()
this takes the absolute difference of p and q; where q is greater nothing is to be added: set negative differences to 0

q less p => one rejected: the positive part of p - q at its place
+ lacking = (q[kept] - p[kept]).clamp(min=0)
this is the positive part of q - p, the tokens of which the small model gave too *much*; take p - q

difference at the first guess => one rejected: the positive part of p - q at its place
+ lacking = (p[0] - q[0]).clamp(min=0)
this takes p - q at the first guess; take it at the first *rejected* one

difference at the last guess => one rejected: the positive part of p - q at its place
+ lacking = (p[-2] - q[-1]).clamp(min=0)
this takes p - q at the last guess; take it at the first *rejected* one

p one place too far => one rejected: the positive part of p - q at its place
+ lacking = (p[kept + 1] - q[kept]).clamp(min=0)
row kept + 1 of p is what follows the rejected guess; the token that takes its place has row `kept`, as in q

guess left out of p => one rejected: the positive part of p - q at its place
+ lacking = p[kept].clone()
+ lacking[guesses[kept]] = 0
this is p without the rejected guess; that leaves in all other tokens of which the small model gives enough, or too
much: take the positive part of p - q

q by p => how many guesses are kept
- accepted = uniforms < p[places, guesses] / q[places, guesses]
+ accepted = uniforms < q[places, guesses] / p[places, guesses]
this divides q by p; a guess is kept where its number is below p / q

p alone => all kept: the last row of p
+ accepted = uniforms < p[places, guesses]
this keeps a guess with the probability p; the guess was drawn with the probability q already: divide by q

turned round => all kept: the last row of p
+ accepted = uniforms >= p[places, guesses] / q[places, guesses]
this keeps the guesses that are to be rejected, and the other way round: a guess is kept where its number is below p / q

without chance => how many guesses are kept
+ accepted = p[places, guesses] >= q[places, guesses]
this keeps a guess where p is at least q and never else; below that it is kept with the probability p / q, which the
number decides

most probable alone => all kept: the last row of p
+ accepted = p[places].argmax(dim=-1) == guesses
this keeps a guess where it is the most probable token of p: that is how greedy decoding judges; here it is kept with
the probability p / q

one place late => how many guesses are kept
+ accepted = uniforms < p[places + 1, guesses] / q[places, guesses]
row i + 1 of p is what follows guess i; the guess itself is judged by row i of p, as of q

first number for all => how many guesses are kept
+ accepted = uniforms[:1] < p[places, guesses] / q[places, guesses]
all guesses are judged by the first number; each has its own

first row for all => how many guesses are kept
+ accepted = uniforms < p[0, guesses] / q[0, guesses]
all guesses are looked up in the first row of p and q; each has its own row

kept at equality => how many guesses are kept
+ accepted = uniforms <= p[places, guesses] / q[places, guesses]
a number that is equal to p / q keeps the guess here, so a number of 0 keeps a token with p = 0, which the large model
never writes; keep it only where the number is *below* p / q

the two exchanged => how many guesses are kept
- return kept, p[-1]
- lacking = (p[kept] - q[kept]).clamp(min=0)
- return kept, lacking / lacking.sum()
+ return p[-1], kept
+ lacking = (p[kept] - q[kept]).clamp(min=0)
+ return lacking / lacking.sum(), kept
this returns the probabilities first; how many guesses are kept comes first

a float => how many guesses are kept
- kept = accepted.long().cumprod(dim=0).sum()
- if kept == len(guesses):
- return kept, p[-1]
- lacking = (p[kept] - q[kept]).clamp(min=0)
- return kept, lacking / lacking.sum()
+ kept = accepted.long().cumprod(dim=0).sum()
+ if kept == len(guesses):
+     return kept.float(), p[-1]
+ lacking = (p[kept] - q[kept]).clamp(min=0)
+ return kept.float(), lacking / lacking.sum()
the number of kept guesses came as a floating-point number; it is counted, and an integer

p overwritten => all arguments stay as they were
- lacking = (p[kept] - q[kept]).clamp(min=0)
+ lacking = p[kept].sub_(q[kept]).clamp_(min=0)
both answers are right, and the caller's own p was changed on the way; `p[kept] - q[kept]` makes a new tensor
"""

JUDGE = Task(
    function="judge",
    parameters=("p", "q", "guesses", "uniforms"),
    returns="how many guesses are kept, a tensor of shape (), and the probabilities of the next token, (vocab,)",
    outputs=("kept", "probabilities"),
    cases=draw_drafts,
    examples=(
        {
            "p": torch.tensor([[0.5, 0.25, 0.25], [0.5, 0.25, 0.25], [0.0, 0.5, 0.5]]),
            "q": torch.tensor([[0.25, 0.75, 0.0], [0.25, 0.75, 0.0]]),
            "guesses": torch.tensor([0, 1]),
            "uniforms": torch.tensor([0.9, 0.7]),
        },
        {
            "p": torch.tensor([[0.5, 0.25, 0.25], [0.5, 0.25, 0.25], [0.0, 0.5, 0.5]]),
            "q": torch.tensor([[0.25, 0.75, 0.0], [0.25, 0.75, 0.0]]),
            "guesses": torch.tensor([0, 1]),
            "uniforms": torch.tensor([0.9, 0.3]),
        },
    ),
    edges=(
        {  # one guess; the large model never writes it, and the number is 0
            "p": torch.tensor([[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]]),
            "q": torch.tensor([[1.0, 0.0, 0.0]]),
            "guesses": torch.tensor([0]),
            "uniforms": torch.tensor([0.0]),
        },
        {  # rejected, kept, kept, rejected
            "p": torch.tensor([[0.75, 0.25], [0.5, 0.5], [1.0, 0.0], [0.75, 0.25], [0.25, 0.75]]),
            "q": torch.tensor([[0.25, 0.75], [0.5, 0.5], [0.5, 0.5], [0.25, 0.75]]),
            "guesses": torch.tensor([1, 0, 0, 1]),
            "uniforms": torch.tensor([0.5, 0.9, 0.9, 0.5]),
        },
        {  # kept, rejected, kept
            "p": torch.tensor([[0.5, 0.5, 0.0], [0.25, 0.25, 0.5], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5]]),
            "q": torch.tensor([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.5, 0.5]]),
            "guesses": torch.tensor([0, 1, 2]),
            "uniforms": torch.tensor([0.9, 0.9, 0.9]),
        },
        {  # a single token
            "p": torch.tensor([[1.0], [1.0]]),
            "q": torch.tensor([[1.0]]),
            "guesses": torch.tensor([0]),
            "uniforms": torch.tensor([0.5]),
        },
    ),
    reference=judge,
    properties=(
        Property("how many guesses are kept", 2, of_output(0, equals())),
        Property(
            "all kept: the last row of p",
            1,
            both(on(all_kept, of_output(0, equals())), on(all_kept, of_output(1, equals()))),
        ),
        Property(
            "one rejected: the positive part of p - q at its place",
            2,
            both(
                both(on(rejected_at(0), of_output(1, equals())), on(rejected_at(1), of_output(1, equals()))),
                of_output(1, equals()),
            ),
        ),
        Property("the first token written has exactly the probabilities p, summed over all guesses", 1, written_first),
        Property("all arguments stay as they were", 1, inputs_unchanged, only_when_right=True),
    ),
    mistakes=JUDGE_MISTAKES,
)

EXERCISE = Exercise(
    title="Speculative sampling: accept or replace",
    difficulty=3,
    minutes=45,
    tasks=(REPLACE, JUDGE),
    hints=(
        "The small model draws a token with the probability q. If it is kept with the probability a, it comes out with "
        "q a. Which a makes that p where q is greater than p? And where p is greater than q, even a = 1 gives only q: "
        "how much is lacking there, token by token, and how much altogether?",
        "A quotient for each guess, p by q at the guess's own place, and a comparison with the first number. For the "
        "replacement: the difference of p and q with all negative entries set to 0, its running sums divided by the "
        "last of them, and the first that exceeds the second number. With several guesses, a guess counts only if all "
        "before it were kept; then decide whether one was rejected, and where.",
        "`p[torch.arange(len(guess)), guess]` looks up each guess in its own row. `torch.where(kept, guess, other)` "
        "chooses row by row. For several guesses the running product, `cumprod`, of the integers 1 (kept) and 0 is 1 "
        "up to the first rejected one: its sum is their number, and also the row of p and q at which the next token "
        "stands.",
    ),
    forbidden={
        "aten::multinomial": "torch.multinomial",
        "aten::bernoulli": "torch.bernoulli",
        "aten::bernoulli_": "torch.bernoulli",
        "aten::binomial": "torch.binomial",
    },
)
