"""Exercise 11.4, weight tying: one table at both ends of a model, and the two roads by which it learns."""

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.drawing import normal, sizes
from course_lib.grading.exercise import Case, Exercise, Given, Misconception, Property, Task
from course_lib.grading.judges import answer_like, both, difference, equals, inputs_unchanged, of_output
from course_lib.grading.wording import describe, describe_case

AS_THEY_ARE = Given("what comes in", "lambda vectors: vectors")
RUNNING_MEAN = Given(
    "the mean of all vectors so far",
    "lambda vectors: vectors.cumsum(1) / torch.arange(1, vectors.shape[1] + 1)[:, None]",
)
ONES = Given("ones", "lambda vectors: torch.ones_like(vectors)")
BENT = Given("the sine of the running sum of the features", "lambda vectors: vectors.cumsum(-1).sin()")

# ---------------------------------------------------------------- the module


def between(table_in, table_out, tokens, body):
    """Scores by two tables."""
    return body(table_in[tokens]) @ table_out.T


def built(make):
    """Return what `make(table, tokens, body)` makes of the parameter, as a function of a case."""

    def function(vocabulary, d_model, state, tokens, body):
        return make(state["table"], tokens, body)

    return function


tied = built(lambda table, tokens, body: between(table, table, tokens, body))


def draw_model(generator: torch.Generator) -> Case:
    """Draw a table, a batch of tokens, and a body."""
    vocabulary, d_model, batch, time = (
        least + size for least, size in zip((2, 1, 0, 0), sizes(generator, 4, 4, 3, 4), strict=True)
    )
    return {
        "vocabulary": vocabulary,
        "d_model": d_model,
        "state": {"table": normal(generator, vocabulary, d_model)},
        "tokens": torch.randint(vocabulary, (batch, time), generator=generator),
        "body": (RUNNING_MEAN, BENT)[int(torch.randint(2, (), generator=generator))],
    }


def by_no_other_numbers(call: Call, case: Case) -> str | None:
    """Where the table is 0 and the vectors are not, every score is 0."""
    silent = case | {"state": {"table": torch.zeros_like(case["state"]["table"])}, "body": ONES}
    answer, _ = answer_like(tied, call, silent)
    if not answer.any() or torch.allclose(answer, torch.full_like(answer, 1 / answer.shape[-1])):
        return None  # even probabilities are those of even scores: SCORES says that scores are asked for
    came = describe(answer[answer != 0][0].item())
    return (
        f"{describe_case(silent)}, the table filled with zeros: came a score of {came}, expected 0: what the vectors "
        "are compared with is not `table` (a copy made in `__init__` keeps what the table held then)"
    )


def other_output(table, tokens, body):
    """A matrix at the output that the table knows nothing of."""
    fixed = torch.linspace(1, 2, table.numel()).sin().reshape(table.shape)
    return between(table, fixed, tokens, body)


def both_roads(call: Call, case: Case) -> str | None:
    """The gradient of the table is the sum of what comes by the output and what comes by the embedding."""
    cotangent, came = call.gradients(case, call.expected(tied, case))
    table = case["state"]["table"]
    if "state.table" not in came or came["state.table"].shape != table.shape:
        return f"{describe_case(case)}: no gradient came for table"
    with torch.enable_grad():
        ends = [table.clone().requires_grad_() for _ in range(2)]
        roads = torch.autograd.grad((between(*ends, case["tokens"], case["body"]) * cotangent).sum(), ends)
    found = difference(came["state.table"], roads[0] + roads[1], 1e-4)
    if not found:
        return None
    for here, there, road in ((0, "embedding", roads[1]), (1, "output", roads[0])):
        if difference(came["state.table"], road, 1e-4) is None:
            other = ("embedding", "output")[1 - here]
            return (
                f"{describe_case(case)}: only the gradient by the {other} arrives at the table, that by the {there} is "
                "cut off"
            )
    return f"{describe_case(case)}: gradient for table: {found}"


SAME, SCORES, ROADS = (
    "the output has no numbers of its own",
    "the scores, by the table of the embedding",
    "the gradient of the table is the sum of both roads",
)

MODEL = Task(
    function="TiedModel",
    parameters=("tokens", "body"),
    returns="scores of every token at every position, shape (batch, time, vocabulary)",
    cases=draw_model,
    examples=(
        {
            "vocabulary": 3,
            "d_model": 2,
            "state": {"table": torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])},
            "tokens": torch.tensor([[1, 2]]),
            "body": AS_THEY_ARE,
        },
    ),
    reference=tied,
    properties=(
        Property(SAME, 1, by_no_other_numbers),
        Property(SCORES, 1, both(equals(tied), inputs_unchanged)),
        Property(ROADS, 2, both_roads),
    ),
    misconceptions=(
        Misconception(
            "an output of its own",
            "the scores are made by a matrix that is not `table`: the output of a tied model *is* the table",
            built(other_output),
            breaks=SAME,
        ),
        Misconception(
            "body left out",
            "`body` was not used: the scores are made of what the body returns for the embedded tokens",
            built(lambda table, tokens, body: table[tokens] @ table.T),
            breaks=SCORES,
        ),
        Misconception(
            "embedding added once more",
            "this adds the embedded tokens to what the body returns; what stands between the two ends is the body's "
            "own affair",
            built(lambda table, tokens, body: (table[tokens] + body(table[tokens])) @ table.T),
            breaks=SCORES,
        ),
        Misconception(
            "vectors for scores",
            "these are the vectors that the body returns, (batch, time, d_model); each is still to be compared with "
            "every row of the table",
            built(lambda table, tokens, body: body(table[tokens])),
            breaks=SCORES,
        ),
        Misconception(
            "probabilities",
            "this takes the softmax: scores are asked for, and the loss takes the softmax itself",
            built(lambda table, tokens, body: between(table, table, tokens, body).softmax(-1)),
            breaks=SCORES,
        ),
        Misconception(
            "divided by the root of the width",
            "this divides the scores by the root of `d_model`, as attention does; here they are plain dot products",
            built(lambda table, tokens, body: between(table, table, tokens, body) / table.shape[1] ** 0.5),
            breaks=SCORES,
        ),
        Misconception(
            "embedding scaled by the root of the width",
            "this multiplies the embedded tokens by the root of `d_model`, as some models do; here the rows go in as "
            "they are",
            built(lambda table, tokens, body: between(table * table.shape[1] ** 0.5, table, tokens, body)),
            breaks=SCORES,
        ),
        Misconception(
            "cosines",
            "this divides the rows of the table by their lengths before comparing; here they are plain dot products",
            built(
                lambda table, tokens, body: between(table, table / table.norm(dim=1, keepdim=True), tokens, body),
            ),
            breaks=SCORES,
        ),
        Misconception(
            "the last position only",
            "these are the scores after the last token; each position predicts what follows it: (batch, time, "
            "vocabulary)",
            built(lambda table, tokens, body: between(table, table, tokens, body)[:, -1]),
            breaks=SCORES,
        ),
        Misconception(
            "a copy",
            "the scores are right, and the table does not learn by both its ends: one of them uses a copy that is cut "
            "out of the graph (`.detach()`, `.data`, `torch.tensor(...)`, `torch.no_grad()`); use `self.table` itself, "
            "twice",
            built(lambda table, tokens, body: between(table, table.detach(), tokens, body)),
            breaks=ROADS,
        ),
    ),
    constructor=("vocabulary", "d_model"),
)

# ---------------------------------------------------------------- the two roads by hand


def two_roads(tokens, embedded_gradient, vectors, score_gradient):
    """By the embedding, and by the output."""
    vocabulary, d_model = score_gradient.shape[-1], vectors.shape[-1]
    by_embedding = torch.zeros(vocabulary, d_model).index_add(0, tokens.flatten(), embedded_gradient.flatten(0, 1))
    return by_embedding, score_gradient.flatten(0, 1).T @ vectors.flatten(0, 1)


def draw_gradients(generator: torch.Generator) -> Case:
    """Draw tokens of which the first and the last are the same, and what the graph would hold at both ends."""
    d_model, batch, time, vocabulary = (
        least + size for least, size in zip((1, 0, 1, 2), sizes(generator, 4, 3, 4, 4), strict=True)
    )
    tokens = torch.randint(vocabulary - 1, (batch, time), generator=generator)
    tokens[:, -1] = tokens[:, 0]
    return {
        "tokens": tokens,
        "embedded_gradient": normal(generator, batch, time, d_model),
        "vectors": normal(generator, batch, time, d_model),
        "score_gradient": normal(generator, batch, time, vocabulary),
    }


def other_embedding_road(change):
    """Return the right output road beside the embedding road `change(tokens, embedded_gradient, vocabulary)`."""

    def answer(tokens, embedded_gradient, vectors, score_gradient):
        _, by_output = two_roads(tokens, embedded_gradient, vectors, score_gradient)
        return change(tokens, embedded_gradient, score_gradient.shape[-1]), by_output

    return answer


def overwritten(tokens, gradient, vocabulary):
    """One occurrence after the other written over the last; `+=` by an index does the same."""
    table = torch.zeros(vocabulary, gradient.shape[-1])
    for token, each in zip(tokens.flatten().tolist(), gradient.flatten(0, 1), strict=True):
        table[token] = each
    return table


def summed(tokens, gradient, vocabulary):
    """Every occurrence added."""
    return torch.nn.functional.one_hot(tokens, vocabulary).float().flatten(0, 1).T @ gradient.flatten(0, 1)


def averaged(tokens, gradient, vocabulary):
    """The mean of the occurrences."""
    return (
        summed(tokens, gradient, vocabulary) / torch.bincount(tokens.flatten(), minlength=vocabulary).clamp(1)[:, None]
    )


def as_wide_as_the_largest(tokens, gradient, vocabulary):
    """One-hot rows without a width."""
    return summed(tokens, gradient, int(tokens.max()) + 1)


def only_what_was_read(tokens, embedded_gradient, vectors, score_gradient):
    """The output road for the tokens of the batch alone."""
    by_embedding, by_output = two_roads(tokens, embedded_gradient, vectors, score_gradient)
    read = torch.bincount(tokens.flatten(), minlength=len(by_output)) > 0
    return by_embedding, by_output * read[:, None]


def roads(change):
    """Return what `change` makes of the right answers."""
    return lambda **named: change(*two_roads(**named))


EMBEDDING, OUTPUT = (
    "by the embedding: every place adds to the row of the token that stands there",
    "by the output: every place adds to every row",
)

ROADS_BY_HAND = Task(
    function="two_roads",
    parameters=("tokens", "embedded_gradient", "vectors", "score_gradient"),
    returns="the gradient of the table by the embedding and by the output, each of shape (vocabulary, d_model)",
    cases=draw_gradients,
    examples=(
        {
            "tokens": torch.tensor([[0, 0]]),
            "embedded_gradient": torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]),
            "vectors": torch.tensor([[[1.0, 0.0], [0.0, 2.0]]]),
            "score_gradient": torch.tensor([[[5.0, -5.0], [-1.0, 1.0]]]),
        },
    ),
    reference=two_roads,
    properties=(
        Property(EMBEDDING, 2, both(of_output(0, equals(two_roads)), inputs_unchanged)),
        Property(OUTPUT, 2, of_output(1, equals(two_roads))),
    ),
    misconceptions=(
        Misconception(
            "overwritten",
            "where a token stands at several places, the last one alone counts: `gradient[tokens] += ...` reads all "
            "rows, adds, and writes them back, each over the one before; `index_add` (or a sum by one-hot rows, or a "
            "loop) adds them all",
            other_embedding_road(overwritten),
            breaks=EMBEDDING,
        ),
        Misconception(
            "averaged",
            "this divides by how often a token occurs; a parameter that is used twice receives the *sum* of two "
            "gradients",
            other_embedding_road(averaged),
            breaks=EMBEDDING,
        ),
        Misconception(
            "first sequence only",
            "this takes the first sequence of the batch alone for the embedding",
            other_embedding_road(lambda tokens, gradient, size: summed(tokens[:1], gradient[:1], size)),
            breaks=EMBEDDING,
        ),
        Misconception(
            "as wide as the largest token",
            "this has as many rows as the largest token of the batch needs; the table has a row for every token of the "
            "vocabulary, `num_classes=score_gradient.shape[-1]`",
            other_embedding_road(as_wide_as_the_largest),
            breaks=EMBEDDING,
        ),
        Misconception(
            "the roads exchanged",
            "the two roads are exchanged: first by the embedding, then by the output",
            roads(lambda first, second: (second, first)),
            breaks=EMBEDDING,
        ),
        Misconception(
            "the sum twice",
            "both are the sum of the two roads; here each is asked for by itself",
            roads(lambda first, second: (first + second, first + second)),
            breaks=EMBEDDING,
        ),
        Misconception(
            "divided by the batch",
            "this divides by the number of places; if the loss is a mean, that stands in the gradients that came "
            "already",
            lambda **named: tuple(each / named["tokens"].numel() for each in two_roads(**named)),
            breaks=EMBEDDING,
        ),
        Misconception(
            "width first",
            "these are transposed, (d_model, vocabulary): the table has one row for each token",
            roads(lambda first, second: (first.T, second.T)),
            breaks=EMBEDDING,
        ),
        Misconception(
            "only what was read",
            "by the output this reaches only the rows of the tokens that were read; at every place *every* token has a "
            "score, and so every row of the table has a part in the loss",
            only_what_was_read,
            breaks=OUTPUT,
        ),
        Misconception(
            "gradients for vectors",
            "by the output this uses the gradient of the embedded tokens; the score of a token is the dot product of "
            "its row with the *vector* of the place, so the row's gradient is made of that vector",
            lambda tokens, embedded_gradient, vectors, score_gradient: two_roads(
                tokens, embedded_gradient, embedded_gradient, score_gradient
            ),
            breaks=OUTPUT,
        ),
        Misconception(
            "vectors for gradients",
            "by the embedding this adds up the vectors; what arrives at a row is the *gradient* of the place",
            lambda tokens, embedded_gradient, vectors, score_gradient: two_roads(
                tokens, vectors, vectors, score_gradient
            ),
            breaks=EMBEDDING,
        ),
        Misconception(
            "the last place only",
            "by the output this uses the last place alone; every place of every sequence adds",
            lambda tokens, embedded_gradient, vectors, score_gradient: (
                two_roads(tokens, embedded_gradient, vectors, score_gradient)[0],
                score_gradient[:, -1].T @ vectors[:, -1],
            ),
            breaks=OUTPUT,
        ),
    ),
    outputs=("by_embedding", "by_output"),
)

TYING = Exercise(
    id="11.4",
    title="Weight tying",
    difficulty=3,
    minutes=35,
    tasks=(MODEL, ROADS_BY_HAND),
    hints=(
        "How many tensors does the module own? If a number is used at two places of a computation, what is the "
        "derivative by it? And which rows of the table does a single token of the text touch at the input, and which "
        "at the output?",
        "Index the table with the tokens, let the body work, and multiply by the transposed table: the same tensor "
        "both times. By hand: each place adds its gradient to the row of its own token; and each place adds its vector "
        "to every row, multiplied by the gradient of that row's score.",
        "In the module, `self.table` is an `nn.Parameter` of shape (vocabulary, d_model); `self.table[tokens]` has the "
        "shape (batch, time, d_model). By hand, `index_add(0, ...)` on zeros takes the flat tokens and the gradients "
        "of shape (batch * time, d_model); the other road sums a product over batch and time.",
    ),
)
