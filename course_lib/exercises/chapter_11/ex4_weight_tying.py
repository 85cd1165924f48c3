"""11.4: one table for embedding and output, and its two gradients."""

import torch

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import both, equals, gradients_equal, inputs_unchanged, of_output
from course_lib.grading.exercise import Case, Exercise, Given, Property, Task
from course_lib.grading.problem import Problem

AS_THEY_ARE = Given("what comes in", "lambda vectors: vectors")
RUNNING_MEAN = Given(
    "the mean of all vectors so far",
    "lambda vectors: vectors.cumsum(1) / torch.arange(1, vectors.shape[1] + 1)[:, None]",
)
ONES = Given("ones", "lambda vectors: torch.ones_like(vectors)")
NO_ZEROS = Given(  # whatever numbers a table holds, the logits are 0; of a table of zeros they are nan
    "0, or nan where all vectors are 0",
    "lambda vectors: torch.zeros_like(vectors) if vectors.any() else torch.full_like(vectors, float('nan'))",
)
BENT = Given("the sine of the running sum of the features", "lambda vectors: vectors.cumsum(-1).sin()")


def tied(vocab_size, d_model, tokens, body, state=None):
    """Logits by one table; a new one, of any numbers but zeros, where there is no state."""
    table = state["table"] if state else torch.ones(vocab_size, d_model)
    return body(table[tokens]) @ table.T


def draw_model(generator: torch.Generator) -> Case:
    """Draw a table, a batch of tokens, and a body."""
    vocab_size, d_model, batch, time = (
        least + size for least, size in zip((2, 1, 0, 0), sizes(generator, 4, 4, 3, 4), strict=True)
    )
    return {
        "vocab_size": vocab_size,
        "d_model": d_model,
        "state": {"table": normal(generator, vocab_size, d_model)},
        "tokens": torch.randint(vocab_size, (batch, time), generator=generator),
        "body": (RUNNING_MEAN, BENT)[int(torch.randint(2, (), generator=generator))],
    }


def by_no_other_numbers(case: Case):
    """Where the table is 0 and the vectors are not, every logit is 0."""
    zero = case | {"state": {"table": torch.zeros_like(case["state"]["table"])}, "body": ONES}
    answer = (yield zero).value
    if not answer.any() or torch.allclose(answer, torch.full_like(answer, 1 / answer.shape[-1])):
        return None  # equal probabilities are those of equal logits: another property says that logits are asked for
    note = "the vectors are not compared with `table` (a copy made in `__init__` keeps what the table held then)"
    said = {"after": "the table filled with zeros", "where": "a logit", "note": note}
    return Problem("value", zero, got=answer[answer != 0][0].item(), expected=0, **said)


def not_zeros(case: Case):
    """A new module, with its table as it was made, embeds every token: one of the vectors is not 0."""
    fresh = {name: each for name, each in case.items() if name != "state"}
    answer = (yield fresh | {"tokens": torch.arange(case["vocab_size"])[None], "body": NO_ZEROS}).value
    if not answer.isnan().any():
        return None
    return Problem("value", fresh, where="a number of the new table", got=0, expected="not 0 everywhere")


MODEL_MISTAKES = """
an output of its own => the output layer has no parameters of its own
- return vectors @ self.table.T
+ own = torch.linspace(1, 2, self.table.numel()).sin().view_as(self.table)
+ return vectors @ own.T
the logits are made by a matrix that is not `table`: the output of a tied model *is* the table

body left out => the logits, by the table of the embedding
+ return self.table[tokens] @ self.table.T
`body` was not used: the logits are made of what the body returns for the embedded tokens

embedding added once more => the logits, by the table of the embedding
+ return (self.table[tokens] + vectors) @ self.table.T
this adds the embedded tokens to what the body returns; what stands between the two ends is the body's own affair

vectors for scores => the logits, by the table of the embedding
+ return vectors
these are the vectors that the body returns, (batch, time, d_model); each is still to be compared with every row of the
table

probabilities => the logits, by the table of the embedding
+ return (vectors @ self.table.T).softmax(dim=-1)
this takes the softmax: logits are asked for, and the loss takes the softmax itself

divided by the root of the width => the logits, by the table of the embedding
+ return vectors @ self.table.T / self.table.shape[1] ** 0.5
this divides the logits by the root of `d_model`, as attention does; here they are plain dot products

embedding scaled by the root of the width => the logits, by the table of the embedding
- vectors = body(self.table[tokens])
+ vectors = body(self.table[tokens] * self.table.shape[1] ** 0.5)
this multiplies the embedded tokens by the root of `d_model`, as some models do; here the rows go in as they are

cosines => the logits, by the table of the embedding
- return vectors @ self.table.T
+ return vectors @ (self.table / self.table.norm(dim=1, keepdim=True)).T
this divides the rows of the table by their norms before comparing; here they are plain dot products

the last position only => the logits, by the table of the embedding
+ return vectors[:, -1] @ self.table.T
these are the logits after the last token; each position predicts what follows it: (batch, time, vocab)

a copy => the gradient of the table is the sum through embedding and output
+ return vectors @ self.table.detach().T
the logits are right, and the table does not learn by both its ends: one of them uses a copy that is cut out of the
graph (`.detach()`, `.data`, `torch.tensor(...)`, `torch.no_grad()`); use `self.table` itself, twice

reshaped for transposed => the logits, by the table of the embedding
- return vectors @ self.table.T
+ return vectors @ self.table.reshape(self.table.shape[1], self.table.shape[0])
`view` and `reshape` leave the numbers in their order and mix the rows of the table; transpose it, so that every column
is the row of one token

no gradient for token 0 => the gradient of the table is the sum through embedding and output
- vectors = body(self.table[tokens])
+ vectors = body(nn.functional.embedding(tokens, self.table, padding_idx=0))
the logits are right, but with `padding_idx=0` the row of token 0 gets no gradient through the embedding; here 0 is a
token like any other

a table of zeros => a new table is not all zeros
- self.table = nn.Parameter(torch.randn(vocab_size, d_model) / d_model**0.5)
+ self.table = nn.Parameter(torch.zeros(vocab_size, d_model))
the table begins as zeros: then every vector and every logit is 0, the gradient of the table is 0 as well, and the model
never learns; draw random numbers, such as `torch.randn`
"""

MODEL = Task(
    function="TiedModel",
    parameters=("tokens", "body"),
    returns="logits of every token at every position, shape (batch, time, vocab)",
    cases=draw_model,
    examples=(
        {
            "vocab_size": 3,
            "d_model": 2,
            "state": {"table": torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])},
            "tokens": torch.tensor([[1, 2]]),
            "body": AS_THEY_ARE,
        },
    ),
    edges=(
        {  # one position, two sequences
            "vocab_size": 3,
            "d_model": 2,
            "state": {"table": torch.tensor([[1.0, -1.0], [0.5, 2.0], [3.0, 1.0]])},
            "tokens": torch.tensor([[2], [0]]),
            "body": BENT,
        },
        {  # a single feature, a token twice
            "vocab_size": 2,
            "d_model": 1,
            "state": {"table": torch.tensor([[1.0], [-2.0]])},
            "tokens": torch.tensor([[1, 1]]),
            "body": RUNNING_MEAN,
        },
    ),
    reference=tied,
    properties=(
        Property("a new table is not all zeros", 1, not_zeros),
        Property("the output layer has no parameters of its own", 1, by_no_other_numbers),
        Property("the logits, by the table of the embedding", 1, both(equals(), inputs_unchanged)),
        Property("the gradient of the table is the sum through embedding and output", 2, gradients_equal()),
    ),
    mistakes=MODEL_MISTAKES,
    constructor=("vocab_size", "d_model"),
)


def table_gradients(tokens, embedded_gradient, vectors, logit_gradient):
    """Through the embedding, and through the output."""
    vocab_size, d_model = logit_gradient.shape[-1], vectors.shape[-1]
    by_embedding = torch.zeros(vocab_size, d_model).index_add(0, tokens.flatten(), embedded_gradient.flatten(0, 1))
    return by_embedding, logit_gradient.flatten(0, 1).T @ vectors.flatten(0, 1)


def draw_gradients(generator: torch.Generator) -> Case:
    """Draw tokens of which the first and the last are the same, and what the graph would hold at both ends."""
    d_model, batch, time, vocab_size = (
        least + size for least, size in zip((1, 0, 1, 2), sizes(generator, 4, 3, 4, 4), strict=True)
    )
    tokens = torch.randint(vocab_size - 1, (batch, time), generator=generator)
    tokens[:, -1] = tokens[:, 0]
    return {
        "tokens": tokens,
        "embedded_gradient": normal(generator, batch, time, d_model),
        "vectors": normal(generator, batch, time, d_model),
        "logit_gradient": normal(generator, batch, time, vocab_size),
    }


GRADIENTS_MISTAKES = """
overwritten => through the embedding: every position adds to the row of its token
- by_embedding.index_add_(0, tokens.flatten(), embedded_gradient.flatten(0, 1))
+ for token, each in zip(tokens.flatten(), embedded_gradient.flatten(0, 1), strict=True):
+     by_embedding[token] = each
where a token stands at several positions, the last one alone counts: `gradient[tokens] += ...` reads all rows, adds,
and writes them back, each over the one before; `index_add` (or a sum by one-hot rows, or a loop) adds them all

averaged => through the embedding: every position adds to the row of its token
+ by_embedding.index_add_(0, tokens.flatten(), embedded_gradient.flatten(0, 1))
+ by_embedding /= torch.bincount(tokens.flatten(), minlength=vocab_size).clamp(1)[:, None]
this divides by how often a token occurs; a parameter that is used twice receives the *sum* of two gradients

first sequence only => through the embedding: every position adds to the row of its token
+ by_embedding.index_add_(0, tokens[0], embedded_gradient[0])
this takes the first sequence of the batch alone for the embedding

as wide as the largest token => through the embedding: every position adds to the row of its token
+ by_embedding.index_add_(0, tokens.flatten(), embedded_gradient.flatten(0, 1))
+ by_embedding = by_embedding[: tokens.max() + 1]
this has as many rows as the largest token of the batch needs; the table has a row for every token of the vocabulary,
`num_classes=logit_gradient.shape[-1]`

the gradients exchanged => through the embedding: every position adds to the row of its token
- return by_embedding, by_output
+ return by_output, by_embedding
the two gradients are exchanged: first through the embedding, then through the output

the sum twice => through the embedding: every position adds to the row of its token
+ return by_embedding + by_output, by_embedding + by_output
both are the sum of the two gradients; here each is asked for by itself

divided by the batch => through the embedding: every position adds to the row of its token
+ return by_embedding / tokens.numel(), by_output / tokens.numel()
this divides by the number of positions; if the loss is a mean, that is in the given gradients already

width first => through the embedding: every position adds to the row of its token
+ return by_embedding.T, by_output.T
these are transposed, (d_model, vocab): the table has one row for each token

only what was read => through the output: every position adds to every row
+ read = torch.bincount(tokens.flatten(), minlength=vocab_size) > 0
+ return by_embedding, by_output * read[:, None]
through the output this reaches only the rows of the tokens that were read; at every position *every* token has a logit,
and so every row of the table has a part in the loss

gradients for vectors => through the output: every position adds to every row
- by_output = logit_gradient.flatten(0, 1).T @ vectors.flatten(0, 1)
+ by_output = logit_gradient.flatten(0, 1).T @ embedded_gradient.flatten(0, 1)
through the output this uses the gradient of the embedded tokens; the logit of a token is the dot product of its row
with the *vector* of the position, so the row's gradient is made of that vector

vectors for gradients => through the embedding: every position adds to the row of its token
- by_embedding.index_add_(0, tokens.flatten(), embedded_gradient.flatten(0, 1))
+ by_embedding.index_add_(0, tokens.flatten(), vectors.flatten(0, 1))
through the embedding this adds up the vectors; what arrives at a row is the *gradient* of the position

the last place only => through the output: every position adds to every row
- by_output = logit_gradient.flatten(0, 1).T @ vectors.flatten(0, 1)
+ by_output = logit_gradient[:, -1].T @ vectors[:, -1]
through the output this uses the last position alone; every position of every sequence adds

the output averaged over the batch => through the output: every position adds to every row
- by_output = logit_gradient.flatten(0, 1).T @ vectors.flatten(0, 1)
+ by_output = (logit_gradient.transpose(1, 2) @ vectors).mean(dim=0)
through the output this averages over the batch; the table is used at every position of every sequence, and the
gradients of all uses are summed

the output at the own token alone => through the output: every position adds to every row
+ own = logit_gradient.gather(2, tokens[..., None]) * vectors
+ by_output = torch.zeros(vocab_size, d_model).index_add(0, tokens.flatten(), own.flatten(0, 1))
through the output this changes the row of the token at the position alone; the vector is compared with every row of the
table there, and each comparison has a logit

averaged over the sequences => through the embedding: every position adds to the row of its token
- return by_embedding, by_output
+ return by_embedding / len(tokens), by_output / len(tokens)
both gradients are averaged over the sequences of the batch; the table is used at every position of every sequence, and
the gradients of all uses are summed

nothing for token 0 => through the embedding: every position adds to the row of its token
+ by_embedding[0] = 0.0
+ return by_embedding, by_output
row 0 gets no gradient through the embedding, as with `padding_idx=0`; here 0 is a token like any other
"""

GRADIENTS_BY_HAND = Task(
    function="table_gradients",
    parameters=("tokens", "embedded_gradient", "vectors", "logit_gradient"),
    returns="the gradient of the table through the embedding and through the output, each of shape (vocab, d_model)",
    cases=draw_gradients,
    examples=(
        {
            "tokens": torch.tensor([[0, 0]]),
            "embedded_gradient": torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]),
            "vectors": torch.tensor([[[1.0, 0.0], [0.0, 2.0]]]),
            "logit_gradient": torch.tensor([[[5.0, -5.0], [-1.0, 1.0]]]),
        },
    ),
    edges=(
        {  # one position, the last token
            "tokens": torch.tensor([[1]]),
            "embedded_gradient": torch.tensor([[[2.0]]]),
            "vectors": torch.tensor([[[3.0]]]),
            "logit_gradient": torch.tensor([[[0.5, -1.0]]]),
        },
        {  # one position, the same token in both sequences
            "tokens": torch.tensor([[2], [2]]),
            "embedded_gradient": torch.tensor([[[2.0, 1.0]], [[-1.0, 4.0]]]),
            "vectors": torch.tensor([[[3.0, 0.0]], [[1.0, 2.0]]]),
            "logit_gradient": torch.tensor([[[0.5, -1.0, 0.5]], [[1.0, 1.0, -2.0]]]),
        },
    ),
    reference=table_gradients,
    properties=(
        Property(
            "through the embedding: every position adds to the row of its token",
            2,
            of_output(0, both(equals(), inputs_unchanged)),
        ),
        Property("through the output: every position adds to every row", 2, of_output(1, equals())),
    ),
    mistakes=GRADIENTS_MISTAKES,
    outputs=("by_embedding", "by_output"),
)

EXERCISE = Exercise(
    title="Weight tying",
    difficulty=3,
    minutes=35,
    tasks=(MODEL, GRADIENTS_BY_HAND),
    hints=(
        "How many tensors does the module own? If a number is used twice in a computation, what is the "
        "derivative with respect to it? And which rows of the table does a single token of the text touch at the "
        "input, and which at the output?",
        "Index the table with the tokens, let the body work, and multiply by the transposed table: the same tensor "
        "both times. By hand: each position adds its gradient to the row of its own token; and each position adds its "
        "vector to every row, multiplied by the gradient of that row's logit.",
        "In the module, `self.table` is an `nn.Parameter` of shape (vocab, d_model); `self.table[tokens]` has the "
        "shape (batch, time, d_model). By hand, `index_add(0, ...)` on zeros takes the flat tokens and the gradients "
        "of shape (batch * time, d_model); the gradient through the output sums a product over batch and time.",
    ),
)
