"""16.4: a mixture of experts: the two best for each token, their outputs by shares, and the balance loss."""

import math

import torch
from torch.nn.functional import one_hot

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import both, equals, gradients_equal, inputs_unchanged, of_output, on, sums_to
from course_lib.grading.exercise import Case, Exercise, Given, Property, Task


def route(logits):
    """The last two of each sorted row, and how likely the better one is against the other."""
    order = logits.argsort(dim=-1)
    chosen = order[:, [-1, -2]]
    ahead = logits.gather(1, chosen[:, :1]) - logits.gather(1, chosen[:, 1:])
    return chosen, torch.cat([torch.sigmoid(ahead), torch.sigmoid(-ahead)], 1)


def draw_logits(generator: torch.Generator) -> Case:
    """Draw logits that differ from one another by a tenth or more, for two to six experts; in some rows all negative.

    So nothing is a tie, and a gradient is not too small to be seen.
    """
    tokens, experts = sizes(generator, 5, 6, least=2)
    steps = torch.stack([torch.randperm(experts, generator=generator) for _ in range(tokens)])
    shift = torch.randint(-5, 2, (tokens, 1), generator=generator)
    return {"logits": (0.2 + 0.5 * torch.rand((), generator=generator)) * steps + shift}


def thousands(case: Case) -> Case:
    """Let the logits be a thousand times as large, but for the last row, which is moved as far."""
    logits = 1000 * case["logits"]
    logits[-1] = case["logits"][-1] + 4096
    return {"logits": logits}


ROUTE_MISTAKES = """
the worst two => the two experts, the best first
- best, chosen = logits.topk(2, dim=-1)
+ best, chosen = logits.topk(2, dim=-1, largest=False)
these are the two experts with the *smallest* logits; take the largest

the worst two, by argsort => the two experts, the best first
+ chosen = logits.argsort(dim=-1)[:, :2].flip(1)
+ best = logits.gather(1, chosen)
these are the two experts with the *smallest* logits: `argsort` begins with the smallest, unless `descending=True`

the best last => the two experts, the best first
+ best, chosen = (each.flip(1) for each in logits.topk(2, dim=-1))
these are the right experts in the wrong order: the best comes first

by their numbers => the two experts, the best first
+ chosen = logits.topk(2, dim=-1).indices.sort(dim=-1).values
+ best = logits.gather(1, chosen)
the experts are sorted by their numbers here; the best comes first

shares not moved with the experts => the shares
+ best, chosen = logits.topk(2, dim=-1)
+ best = logits.gather(1, chosen.sort(dim=-1).values)
the shares are in the order of the experts' numbers here; they belong to `chosen`, the best first

zero for the best => the two experts, the best first
+ first = logits.argmax(dim=-1, keepdim=True)
+ second = logits.scatter(1, first, 0.0).argmax(dim=-1, keepdim=True)
+ chosen = torch.cat([first, second], dim=1)
+ best = logits.gather(1, chosen)
this sets the best logit to 0 to find the second; where all other logits are negative the first is found again: set it
to minus infinity

the best twice => the two experts, the best first
+ chosen = logits.argmax(dim=-1, keepdim=True).expand(-1, 2)
+ best = logits.gather(1, chosen)
this is the best expert twice; the second expert is another one

best and worst => the two experts, the best first
+ chosen = logits.argsort(dim=-1, descending=True)[:, [0, -1]]
+ best = logits.gather(1, chosen)
these are the best and the worst expert; asked are the best two

second and third => the two experts, the best first
+ order = logits.argsort(dim=-1, descending=True)
+ chosen = torch.cat([order, order], dim=1)[:, 1:3]
+ best = logits.gather(1, chosen)
this leaves the best expert out: index 0 is the best

tokens for each expert => the two experts, the best first
+ best, chosen = logits.topk(2, dim=0)
this chooses tokens for each expert (dim=0), as expert-choice routing does; each token chooses experts: dim=-1

shares of all => the shares sum to one
- return chosen, best.softmax(dim=-1)
+ return chosen, logits.softmax(dim=-1).gather(1, chosen)
these are the shares among *all* experts, and those of the two do not sum to one; take the softmax of the two logits
alone, or divide by the sum of both

shares of all, by topk of the probabilities => the shares sum to one
- best, chosen = logits.topk(2, dim=-1)
- return chosen, best.softmax(dim=-1)
+ shares, chosen = logits.softmax(dim=-1).topk(2, dim=-1)
+ return chosen, shares
these are the shares among *all* experts, and those of the two do not sum to one; take the softmax of the two logits
alone, or divide by the sum of both

logits for shares => the shares sum to one
- return chosen, best.softmax(dim=-1)
+ return chosen, best
these are the logits; the shares are their softmax

logits divided by their sum => the shares
+ return chosen, best / best.sum(dim=-1, keepdim=True)
this divides the logits by their sum, which is negative or 0 for some; the shares are their softmax

sigmoid => the shares sum to one
+ return chosen, best.sigmoid()
these are sigmoids, each by itself; the shares are the softmax of the two logits

sigmoids divided by their sum => the shares
+ return chosen, best.sigmoid() / best.sigmoid().sum(dim=-1, keepdim=True)
these are sigmoids divided by their sum, as in DeepSeek-V3; here the shares are the softmax of the two logits

halves => the shares
+ return chosen, torch.full_like(best, 0.5)
both experts have the share 1/2 here; the shares are the softmax of the two logits

softmax twice => the shares
+ return chosen, logits.softmax(dim=-1).gather(1, chosen).softmax(dim=-1)
this is the softmax of probabilities; the shares are the softmax of the two logits

softmax over the tokens => the shares sum to one
+ return chosen, best.softmax(dim=0)
the softmax is taken over the tokens (dim=0); each token has shares of its own: dim=-1

exponentials by hand => shares of logits of thousands
+ exponentials = best.exp()
+ return chosen, exponentials / exponentials.sum(dim=-1, keepdim=True)
the exponential of a large logit is infinite in float32, and infinity by infinity is nan; `softmax` subtracts the
maximum first

shares of all, divided by their sum, by hand => shares of logits of thousands
+ exponentials = logits.exp()
+ exponentials = exponentials / exponentials.sum(dim=-1, keepdim=True)
+ return chosen, exponentials.gather(1, chosen) / exponentials.gather(1, chosen).sum(dim=-1, keepdim=True)
the exponential of a large logit is infinite in float32, and infinity by infinity is nan; `softmax` subtracts the
maximum first

a share for every expert => the shares
+ return chosen, torch.zeros_like(logits).scatter(1, chosen, best.softmax(dim=-1))
this has a share for every expert, 0 for most; asked are the two shares, in the order of `chosen`

exchanged => the two experts, the best first
+ return best.softmax(dim=-1), chosen
the two are in the wrong order: first the experts, then the shares

experts as floats => the two experts, the best first
+ return chosen.float(), best.softmax(dim=-1)
the numbers of the experts are floats here; they are integers, torch.int64

logits overwritten => inputs unchanged
- best, chosen = logits.topk(2, dim=-1)
- return chosen, best.softmax(dim=-1)
+ best, chosen = logits.topk(2, dim=-1)
+ logits.scatter_(1, chosen[:, :1], -torch.inf)
+ return chosen, best.softmax(dim=-1)
this writes into the caller's own logits, to hide the best before the second is looked for; work on a copy
"""


def curved(experts: int) -> Given:
    """Return experts that differ from one another and are not linear."""
    source = (
        "[lambda vectors, number=number: (vectors * (1 + number / 2)).sin() + number - vectors "
        f"for number in range({experts})]"
    )
    return Given(f"{experts} experts: expert n returns sin((1 + n / 2) x) + n - x", source)


def factors(experts: int) -> Given:
    """Return experts that multiply by their number and 1."""
    source = f"[lambda vectors, factor=factor: factor * vectors for factor in range(1, {experts} + 1)]"
    return Given(f"{experts} experts: expert n multiplies by n + 1", source)


def alike(experts: int) -> Given:
    """Return the same expert so many times."""
    return Given(f"{experts} times the same expert, 1 - x", f"[lambda vectors: 1 - vectors] * {experts}")


def watchful(experts: int) -> Given:
    """Return experts that return nan unless entry n of every vector is 1: the mark of the tokens of expert n."""
    source = (
        "[lambda vectors, number=number: "
        "(number + 2) * vectors * torch.where((vectors[..., number] == 1).all(), 1.0, torch.nan) "
        f"for number in range({experts})]"
    )
    return Given(f"{experts} experts: expert n returns nan unless entry n is 1", source)


def mix(inputs, logits, experts):
    """Token by token."""
    functions = experts.made() if isinstance(experts, Given) else experts
    chosen, shares = route(logits)
    rows = []
    for vector, numbers, parts in zip(inputs, chosen.tolist(), shares, strict=True):
        rows.append(sum(part * functions[number](vector[None])[0] for number, part in zip(numbers, parts, strict=True)))
    return torch.stack(rows)


def draw_mixture(generator: torch.Generator) -> Case:
    """Draw tokens, their logits, and experts."""
    logits = draw_logits(generator)["logits"]
    tokens, experts = logits.shape
    return {
        "inputs": normal(generator, tokens, *sizes(generator, 4)),
        "logits": logits,
        "experts": curved(experts),
    }


def one_function(case: Case) -> Case:
    """Make all experts alike."""
    return case | {"experts": alike(case["logits"].shape[1])}


def marked(case: Case) -> Case:
    """Mark each token for the experts that it has chosen, by ones; the others are 0.5."""
    experts = case["logits"].shape[1]
    own = one_hot(route(case["logits"])[0], experts).sum(1)  # (tokens, experts)
    return case | {"inputs": 0.5 + 0.5 * own, "experts": watchful(experts)}


MIX_MISTAKES = """
assigned, not added => the outputs of both experts, by their shares
- outputs[own] += share * expert(inputs[own])
+ outputs[own] = share * expert(inputs[own])
the second expert of a token overwrites what the first has written (`=`); the outputs of both are added (`+=`)

best alone => the outputs of both experts, by their shares
+ outputs[own] += (rearrange(place, "own -> own 1") == 0) * expert(inputs[own])
this is the best expert alone; each token has two

second alone => the outputs of both experts, by their shares
+ outputs[own] += share * expert(inputs[own]) * rearrange(place, "own -> own 1")
the best expert is missing, and the second has its share; add up both

best alone, with its share => the outputs of both experts, by their shares
+ outputs[own] += share * expert(inputs[own]) * (rearrange(place, "own -> own 1") == 0)
the second expert is missing, and the best has its share; add up both

no shares => if all experts are alike: like one of them
+ outputs[own] += expert(inputs[own])
the outputs of both experts are added without their shares

mean of both => the outputs of both experts, by their shares
+ outputs[own] += expert(inputs[own]) / 2
this is the mean of both outputs; each has its share

inputs weighted => if all experts are alike: like one of them
+ outputs[own] += expert(share * inputs[own])
this multiplies the *inputs* of the experts by the shares; it is their outputs that are multiplied

residual added => if all experts are alike: like one of them
- outputs = torch.zeros_like(inputs)
+ outputs = inputs.clone()
this begins with the inputs and adds to them: the block does that, around this layer; begin with zeros

inputs overwritten => if all experts are alike: like one of them
+ outputs = inputs
this writes the outputs into the caller's own inputs, and later experts read what earlier ones have written; begin with
`torch.zeros_like(inputs)`

shares exchanged => the outputs of both experts, by their shares
- share = rearrange(shares[own, place], "own -> own 1")
+ share = rearrange(shares[own, 1 - place], "own -> own 1")
the shares of the best and the second are exchanged

share of the best for both => if all experts are alike: like one of them
+ share = rearrange(shares[own, 0], "own -> own 1")
both experts have the share of the best here; the second choice has the second share: `shares[own, place]`

shares of all => if all experts are alike: like one of them
+ share = rearrange(logits.softmax(dim=-1)[own, number], "own -> own 1")
these are shares among *all* experts, and those of the two do not sum to one; `route` gives the shares of the two

logits for shares => if all experts are alike: like one of them
+ share = rearrange(logits[own, number], "own -> own 1")
the outputs are multiplied by the logits; `route` gives the shares

expert counted from one => the outputs of both experts, by their shares
- for number, expert in enumerate(experts):
+ for number, expert in enumerate(experts[-1:] + experts[:-1]):
each token gets the neighbours of its experts: expert `number` stands at `experts[number]`, counted from 0

all experts, all tokens => each expert is called with its own tokens alone
- outputs = torch.zeros_like(inputs)
- for number, expert in enumerate(experts):
- own, place = torch.nonzero(chosen == number, as_tuple=True)
- share = rearrange(shares[own, place], "own -> own 1")
- outputs[own] += share * expert(inputs[own])
- return outputs
+ every = torch.stack([expert(inputs) for expert in experts], dim=1)
+ taken = every[rearrange(torch.arange(len(inputs)), "token -> token 1"), chosen]
+ return (rearrange(shares, "token two -> token two 1") * taken).sum(dim=1)
the values are right, but every expert computes every token; call each with its own tokens alone, `inputs[own]`

all experts, all tokens, the others by a share of 0 => each expert is called with its own tokens alone
+ outputs = torch.zeros_like(inputs)
+ for number, expert in enumerate(experts):
+     share = (shares * (chosen == number)).sum(dim=1, keepdim=True)
+     outputs = outputs + share * expert(inputs)
+ return outputs
the values are right, but every expert computes every token, and most outputs get the share 0; call each expert with
its own tokens alone, `inputs[own]`

all experts mixed => the outputs of both experts, by their shares
+ every = torch.stack([expert(inputs) for expert in experts], dim=1)
+ return (rearrange(logits.softmax(dim=-1), "token expert -> token expert 1") * every).sum(dim=1)
this mixes the outputs of all experts by the softmax of all logits; each token has two experts, and the others are not
called

shares cut from the graph => gradients reach the inputs and the logits
- chosen, shares = route(logits)
+ chosen, shares = route(logits.detach())
the numbers are right and the gradient is not: the shares were cut out of the graph (`.detach()`, `.tolist()`,
`.item()`), and through them alone the router learns

outputs cut from the graph => gradients reach the inputs and the logits
- outputs[own] += share * expert(inputs[own])
+ outputs[own] += share * expert(inputs[own].detach())
the numbers are right and the gradient is not: the inputs of the experts were cut out of the graph (`.detach()`)
"""


def balance_loss(logits, chosen):
    """The mean, over choices, of the mean probability of the chosen expert, times the number of experts."""
    probabilities = logits.softmax(-1).mean(0)
    return logits.shape[1] * probabilities[chosen].mean()


def draw_choices(generator: torch.Generator) -> Case:
    """Draw logits, and one to three experts for each token, most often those with the largest logits."""
    tokens, experts = sizes(generator, 6, 6, least=2)
    logits = 2 * normal(generator, tokens, experts)
    (choices,) = sizes(generator, min(3, experts))
    return {"logits": logits, "chosen": (logits + normal(generator, tokens, experts)).topk(choices).indices}


def no_preference(case: Case) -> Case:
    """Give all experts of a token the same logit."""
    return case | {"logits": case["logits"][:, :1].expand_as(case["logits"]).clone()}


def one_for_all(case: Case) -> Case:
    """Let every token choose the last expert alone, with all of its probability."""
    last = case["logits"].shape[1] - 1
    logits = torch.zeros_like(case["logits"])
    logits[:, last] = 60.0
    return {"logits": logits, "chosen": torch.full_like(case["chosen"][:, :1], last)}


BALANCE_MISTAKES = """
number of experts missing => 1, where all probabilities are equal
- return experts * (counts / chosen.numel() * probabilities).sum()
+ return (counts / chosen.numel() * probabilities).sum()
the factor is missing, the number of experts (or the mean over the experts cancels it): with it a balanced router has
the loss 1, however many experts there are

counts not divided => 1, where all probabilities are equal
+ return experts * (counts * probabilities).sum()
these are counts; c is the part of all choices, the count divided by their number

divided by the tokens => 1, where all probabilities are equal
+ return experts * (counts / len(chosen) * probabilities).sum()
the counts are divided by the number of tokens; where a token makes several choices, the parts then sum to more than one

without probabilities => 1, where all probabilities are equal
+ return experts * (counts / chosen.numel()).square().sum()
the squares of the parts are summed here, without the probabilities, and a count has no gradient

without counts => the loss
+ return experts * probabilities.square().sum()
the squares of the mean probabilities are summed here; the formula has the product of the part of the choices and the
mean probability

multiplied by the number of tokens => 1, where all probabilities are equal
- probabilities = logits.softmax(dim=-1).mean(dim=0)
+ probabilities = logits.softmax(dim=-1).sum(dim=0)
the probabilities are summed over the tokens; the formula has their mean

softmax over the tokens => the number of experts, where one expert gets everything
+ probabilities = logits.softmax(dim=0).mean(dim=0)
the softmax is taken over the tokens (dim=0); a token's probabilities sum to one over the experts, dim=-1

softmax of the mean logits => the loss
+ probabilities = logits.mean(dim=0).softmax(dim=-1)
this averages the logits and then takes the softmax; the probabilities of each token come first, then their mean

logits for probabilities => 1, where all probabilities are equal
+ probabilities = logits.mean(dim=0)
these are the mean logits; the formula has the mean probabilities, after a softmax

softmax of the chosen alone => 1, where all probabilities are equal
+ shares = logits.gather(1, chosen).softmax(dim=-1)
+ probabilities = torch.zeros_like(logits).scatter(1, chosen, shares).mean(dim=0)
these are the shares of the chosen experts; the formula has the softmax over all experts, so that the others get a
gradient too

logarithms => 1, where all probabilities are equal
+ probabilities = logits.log_softmax(dim=-1).mean(dim=0)
these are logarithms of probabilities; the formula has the probabilities

first choices alone => the loss
- counts = torch.bincount(chosen.flatten(), minlength=experts)
- return experts * (counts / chosen.numel() * probabilities).sum()
+ counts = torch.bincount(chosen[:, 0], minlength=experts)
+ return experts * (counts / len(chosen) * probabilities).sum()
this counts the first choice of each token alone; every choice counts

largest logits for choices => the loss
+ counts = torch.bincount(logits.argmax(dim=-1), minlength=experts)
+ return experts * (counts / len(chosen) * probabilities).sum()
this counts the largest logits; `chosen` says what was chosen, which may be other experts, and several for a token

chosen or not => the loss
+ counts = (torch.bincount(chosen.flatten(), minlength=experts) > 0).float()
+ return experts * (counts / counts.sum() * probabilities).sum()
this asks whether an expert was chosen at all; c says how often

experts that nobody chose left out => the loss
+ counts = torch.bincount(chosen.flatten(), minlength=experts)
+ used = counts > 0
+ return used.sum() * (counts / chosen.numel() * probabilities).sum()
this multiplies by the number of experts that were chosen at all; the formula has the number of all experts

token by token => the loss
- probabilities = logits.softmax(dim=-1).mean(dim=0)
- counts = torch.bincount(chosen.flatten(), minlength=experts)
- return experts * (counts / chosen.numel() * probabilities).sum()
+ return experts * logits.softmax(dim=-1).gather(1, chosen).mean()
this is the mean probability of what each token chose itself, which is large where the router is sure, balanced or not;
average counts and probabilities over the tokens first, and multiply then

variation of the choices => 1, where all probabilities are equal
+ counts = torch.bincount(chosen.flatten(), minlength=experts).float()
+ return counts.var(correction=0) / counts.mean().square()
this is the squared coefficient of variation, an older balance loss; asked is the sum of parts times mean probabilities

gradient cut => the gradient for the logits
- probabilities = logits.softmax(dim=-1).mean(dim=0)
+ probabilities = logits.softmax(dim=-1).mean(dim=0).detach()
the number is right and has no gradient: the probabilities were cut out of the graph (`.detach()`, `.item()`,
`torch.no_grad()`), and they are the only path on which the loss reaches the router
"""

# Of the first token the experts 1 and 0 differ by ln 3, of the second the experts 2 and 0 by ln 2.
TWO_TOKENS = torch.tensor([[0.0, math.log(3), -1.0], [2.0, -1.0, 2 + math.log(2)]])

EXERCISE = Exercise(
    title="Route to the top two experts",
    difficulty=3,
    minutes=40,
    tasks=(
        Task(
            function="route",
            parameters=("logits",),
            returns="the two experts of each token, (tokens, 2), integers, and their shares, (tokens, 2)",
            cases=draw_logits,
            examples=({"logits": TWO_TOKENS},),
            edges=(
                {"logits": torch.tensor([[1.0, 3.0]])},  # one token, two experts
                {"logits": torch.tensor([[-1.0, -3.0, -2.0], [-4.0, -1.5, -3.0]])},  # all below zero
                {"logits": torch.tensor([[2.0, 0.0, 1.0, -1.0]])},  # more experts than are chosen, one token
            ),
            reference=route,
            properties=(
                Property("the two experts, the best first", 1, of_output(0, equals())),
                Property("the shares sum to one", 1, of_output(1, sums_to(1))),
                Property("the shares", 1, of_output(1, equals())),
                Property("shares of logits of thousands", 1, on(thousands, of_output(1, equals()))),
                Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
            ),
            mistakes=ROUTE_MISTAKES,
            outputs=("chosen", "shares"),
        ),
        Task(
            function="mix",
            parameters=("inputs", "logits", "experts"),
            returns="an output for each token, (tokens, d_model)",
            cases=draw_mixture,
            examples=(
                {
                    "inputs": torch.tensor([[4.0, 8.0], [3.0, 0.0]]),
                    "logits": TWO_TOKENS,
                    "experts": factors(3),
                },
            ),
            edges=(
                {  # one token, one feature, two experts
                    "inputs": torch.tensor([[2.0]]),
                    "logits": torch.tensor([[0.0, 0.5]]),
                    "experts": curved(2),
                },
                {  # most experts have no token
                    "inputs": torch.tensor([[1.0, -2.0]]),
                    "logits": torch.tensor([[0.0, 2.0, -1.0, 1.5, -2.0]]),
                    "experts": curved(5),
                },
                {  # all tokens choose the same experts, in different orders
                    "inputs": torch.tensor([[1.0, 0.5], [-1.0, 2.0], [0.0, 3.0]]),
                    "logits": torch.tensor([[1.0, 0.5, -1.0], [0.5, 1.0, -2.0], [3.0, 2.0, 1.0]]),
                    "experts": curved(3),
                },
            ),
            reference=mix,
            properties=(
                Property("if all experts are alike: like one of them", 1, on(one_function, equals())),
                Property("the outputs of both experts, by their shares", 2, both(equals(), inputs_unchanged)),
                Property("each expert is called with its own tokens alone", 1, on(marked, equals())),
                Property("gradients reach the inputs and the logits", 1, gradients_equal()),
            ),
            mistakes=MIX_MISTAKES,
        ),
        Task(
            function="balance_loss",
            parameters=("logits", "chosen"),
            returns="the balance loss, a tensor without axes",
            cases=draw_choices,
            examples=(
                {
                    "logits": torch.tensor([[3.0, 2.0, 1.0], [1.0, 3.0, 2.0]]).log(),
                    "chosen": torch.tensor([[0, 1], [1, 2]]),
                },
            ),
            edges=(
                {  # one token; the expert with the highest number was not chosen
                    "logits": torch.tensor([[2.0, 0.0, 1.0, -1.0]]),
                    "chosen": torch.tensor([[0, 2]]),
                },
                {  # one choice for each token, all alike
                    "logits": torch.tensor([[0.5, 1.0], [-1.0, 0.0], [2.0, 2.5]]),
                    "chosen": torch.tensor([[1], [1], [1]]),
                },
            ),
            reference=balance_loss,
            properties=(
                Property("1, where all probabilities are equal", 1, on(no_preference, equals())),
                Property("the number of experts, where one expert gets everything", 1, on(one_for_all, equals())),
                Property("the loss", 1, equals()),
                Property("the gradient for the logits", 1, gradients_equal()),
            ),
            mistakes=BALANCE_MISTAKES,
        ),
    ),
    hints=(
        "Between which logits is the softmax taken? Which tokens does expert 0 have to compute, and with which share "
        "does each of them enter? How often does a token occur in the loop over the experts?",
        "Router: `topk`, then the softmax of its values. Layer: for each expert find the tokens that have chosen it, "
        "and as which choice; call it with these; add its outputs, times the shares, in their rows. Balance: count the "
        "choices of each expert, average the probabilities over the tokens, multiply.",
        "`torch.nonzero(chosen == number, as_tuple=True)` gives rows and columns, that is, tokens and choices; "
        "`shares[rows, columns]` are the shares. `torch.bincount` counts; its `minlength` makes room for experts that "
        "nobody chose.",
    ),
)
