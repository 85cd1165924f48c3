"""16.6: causal linear attention, all positions at once and token by token with a state of fixed size."""

import torch

from course_lib import linear_attention as library
from course_lib.exercises.drawing import normal, sizes
from course_lib.exercises.operators import ATTENTION
from course_lib.grading.checks import both, difference, equals, inputs_unchanged, not_moved_by, of_output, on
from course_lib.grading.exercise import Case, Exercise, Property, Task

FAR = 25.0  # in float32, elu(x) + 1 is exactly 0 from about -17 on


def in_parallel(query, key, value):
    """What the library computes under a causal mask."""
    time = key.shape[1]
    return library.linear_attention(query, key, value, torch.ones(time, time, dtype=torch.bool).tril())[0]


def draw_sequences(generator: torch.Generator) -> Case:
    """Draw queries, keys and values of a few tokens, as wide as each other or not."""
    batch, time, d_key, d_value = sizes(generator, 3, 5, 4, 4)
    return {
        "query": 1.5 * normal(generator, batch, time, d_key),
        "key": 1.5 * normal(generator, batch, time, d_key),
        "value": normal(generator, batch, time, d_value) + 0.5,
    }


def longer(case: Case) -> Case:
    """At least two tokens: the first one once more, moved a little, behind the last."""
    return {name: torch.cat([each, 0.7 - each[:, :1]], dim=1) for name, each in case.items()}


def all_ones(case: Case) -> Case:
    """Values of 1: where weights sum to 1, so does every output."""
    return case | {"value": torch.ones_like(case["value"])}


def far_below(*names: str):
    """Return the change that moves these far below 0."""
    return lambda case: case | {name: case[name] - FAR for name in names}


def another_future(case: Case) -> Case:
    """Another key and another value at the last position."""
    moved = {}
    for name in ("key", "value"):
        moved[name] = case[name].clone()
        moved[name][:, -1] = 3.0 - moved[name][:, -1]
    return case | moved


nothing_of_the_future = on(
    longer, not_moved_by(another_future, "key and value of the last position changed", lambda output: output[:, :-1])
)

PARALLEL_MISTAKES = """
no mask => a later key and value change nothing
- products = einsum(asking, keys, "batch i d, batch j d -> batch i j").tril()
+ products = einsum(asking, keys, "batch i d, batch j d -> batch i j")
every query reads all keys here, also later ones; the attention is causal: a query reads the keys up to its own position

mask turned round => a later key and value change nothing
+ products = einsum(asking, keys, "batch i d, batch j d -> batch i j").triu()
each query reads the keys from its own position *on*, the future (`triu`); it reads those up to its own, `tril`

own position hidden => values of 1 give outputs of 1
+ products = einsum(asking, keys, "batch i d, batch j d -> batch i j").tril(-1)
a query reads the keys before its own position and not its own; it reads its own too, and the first position has nothing
else

hidden with minus infinity => values of 1 give outputs of 1
+ products = einsum(asking, keys, "batch i d, batch j d -> batch i j")
+ products = products.masked_fill(torch.ones_like(products).triu(1) > 0, -torch.inf)
this hides with minus infinity, as before a softmax; no exponential follows here, so the product of a hidden key has to
be 0

softmax of the products => queries and keys weighed by their features
- weights = products / products.sum(dim=-1, keepdim=True)
+ weights = products.masked_fill(torch.ones_like(products).triu(1) > 0, -torch.inf).softmax(dim=-1)
this takes a softmax of the products of features; linear attention has no softmax: the products themselves are divided
by their sum

softmax of the products over the root => queries and keys weighed by their features
+ scaled = products / key.shape[-1] ** 0.5
+ weights = scaled.masked_fill(torch.ones_like(products).triu(1) > 0, -torch.inf).softmax(dim=-1)

softmax attention => queries and keys weighed by their features
- asking, keys = (torch.where(each > 0, each + 1, each.exp()) for each in (query, key))
- products = einsum(asking, keys, "batch i d, batch j d -> batch i j").tril()
- weights = products / products.sum(dim=-1, keepdim=True)
+ scores = query @ key.mT / key.shape[-1] ** 0.5
+ weights = scores.masked_fill(torch.ones_like(scores).triu(1) > 0, -torch.inf).softmax(dim=-1)
this is attention with a softmax; here the weights are products of features, divided by their sum

softmax without the root => queries and keys weighed by their features
+ scores = query @ key.mT
+ weights = scores.masked_fill(torch.ones_like(scores).triu(1) > 0, -torch.inf).softmax(dim=-1)

not divided => values of 1 give outputs of 1
- weights = products / products.sum(dim=-1, keepdim=True)
+ weights = products
the products are not divided by their sum, so the output grows with the number of keys; divide each row by its sum

divided by the number of keys => values of 1 give outputs of 1
+ weights = products / torch.arange(1.0, products.shape[1] + 1)[:, None]
each row is divided by the number of its keys; divide it by the sum of its products, so that its weights sum to 1

divided by the root => values of 1 give outputs of 1
+ weights = products / key.shape[-1] ** 0.5
the products are divided by the root of d_key, as scores are before a softmax; here each row is divided by its sum, and
a common factor would cancel

divided along the queries => values of 1 give outputs of 1
+ weights = products / products.sum(dim=-2, keepdim=True)
this divides by the sum over the *queries* (dim=-2); the products of one query are divided by their sum over the keys,
dim=-1

divided by the sum of all keys => values of 1 give outputs of 1
+ weights = products / (asking @ keys.mT).sum(dim=-1, keepdim=True)
the mask comes after the sum here: each row is divided by the sum over all keys, also hidden ones, and its weights sum
to less than 1; set hidden products to 0 first

a small number added => entries far below 0
+ weights = products / (products.sum(dim=-1, keepdim=True) + 1e-6)
this adds a small number to the sum, or keeps the sum above one; where all features are small, that number is the
greater one, and the weights no longer sum to 1: the sum is above 0 by itself

a smaller number added => entries far below 0
+ weights = products / (products.sum(dim=-1, keepdim=True) + 1e-8)

elu(x) + 1 as it stands => entries far below 0
- asking, keys = (torch.where(each > 0, each + 1, each.exp()) for each in (query, key))
+ asking, keys = (torch.nn.functional.elu(each) + 1 for each in (query, key))
elu(x) + 1 is rounded to 0 in float32 where x is below -17, and a query or key of zeros is divided by 0; write exp(x)
where x is below 0

no 1 added => values of 1 give outputs of 1
+ asking, keys = (torch.where(each > 0, each, each.exp() - 1) for each in (query, key))
these are elu(x), which may be below 0, and so may be the weights; the features are elu(x) + 1

elu of the key alone => queries and keys weighed by their features
+ asking, keys = query, torch.where(key > 0, key + 1, key.exp())
the features of the keys were taken, and the queries left as they are; both go through the features

features of the query alone => queries and keys weighed by their features
+ asking, keys = torch.where(query > 0, query + 1, query.exp()), key
the features of the queries were taken, and the keys left as they are; both go through the features

no features => queries and keys weighed by their features
+ asking, keys = query, key
no features were taken: products of the entries themselves may be below 0; take elu(x) + 1 of every entry

relu => queries and keys weighed by their features
+ asking, keys = query.relu(), key.relu()
these features are relu(x), which is 0 below 0: a key of which all entries are below 0 could never be read; take
elu(x) + 1

exponentials => queries and keys weighed by their features
+ asking, keys = query.exp(), key.exp()
these features are exp(x) everywhere; above 0 they are x + 1

1 added everywhere => queries and keys weighed by their features
+ asking, keys = query + 1, key + 1
these features are x + 1 everywhere; below 0 they are exp(x), which stays positive

features of the values => queries and keys weighed by their features
- return weights @ value
+ return weights @ torch.where(value > 0, value + 1, value.exp())
the values went through the features, too; they are averaged as they are

query and key exchanged => queries and keys weighed by their features
- products = einsum(asking, keys, "batch i d, batch j d -> batch i j").tril()
+ products = einsum(keys, asking, "batch i d, batch j d -> batch i j").tril()
queries and keys are exchanged: row i belongs to the query of position i, column j to the key of position j

the last output alone => queries and keys weighed by their features
- return weights @ value
+ return (weights @ value)[:, -1:]
this returns the output of the last position; every position has one

the weights => queries and keys weighed by their features
+ return weights
these are the weights, (batch, time, time); with them the values are still to be averaged

query overwritten => queries and keys weighed by their features
- asking, keys = (torch.where(each > 0, each + 1, each.exp()) for each in (query, key))
+ asking, keys = (each.copy_(torch.where(each > 0, each + 1, each.exp())) for each in (query, key))
the output is right, and the caller's own queries and keys hold their features afterwards; make new tensors
"""

PARALLEL = Task(
    function="in_parallel",
    parameters=("query", "key", "value"),
    returns="the outputs of all positions, shape (batch, time, d_value)",
    cases=draw_sequences,
    examples=(
        {
            "query": torch.tensor([[[0.0], [2.0]]]),
            "key": torch.tensor([[[0.0], [2.0]]]),
            "value": torch.tensor([[[4.0], [8.0]]]),
        },
        {  # entries below 0: exp(-0.6931) = 1/2
            "query": torch.tensor([[[0.0, 1.0], [-0.6931, 1.0]]]),
            "key": torch.tensor([[[1.0, -0.6931], [0.0, 0.0]]]),
            "value": torch.tensor([[[3.0], [8.0]]]),
        },
    ),
    edges=(
        {
            "query": torch.tensor([[[-3.0]]]),
            "key": torch.tensor([[[0.0]]]),
            "value": torch.tensor([[[5.0]]]),
        },  # one position
        {
            "query": torch.tensor([[[0.5]], [[-1.0]]]),
            "key": torch.tensor([[[1.0]], [[2.0]]]),
            "value": torch.tensor([[[5.0, 1.0]], [[-2.0, 0.0]]]),
        },  # one position in each of two sequences
        {  # the same number of positions, of entries of a key, and of entries of a value
            "query": torch.tensor([[[0.5, -1.0], [2.0, 0.0]]]),
            "key": torch.tensor([[[1.0, 0.0], [-2.0, 1.0]]]),
            "value": torch.tensor([[[1.0, 5.0], [3.0, -2.0]]]),
        },
    ),
    reference=in_parallel,
    properties=(
        Property("values of 1 give outputs of 1", 1, on(longer, on(all_ones, equals()))),
        Property("a later key and value change nothing", 1, nothing_of_the_future),
        Property(
            "queries and keys weighed by their features",
            2,
            both(both(equals(), on(longer, equals())), inputs_unchanged),
        ),
        Property(
            "entries far below 0",
            1,
            both(on(far_below("query"), equals()), on(far_below("query", "key"), equals())),
        ),
    ),
    mistakes=PARALLEL_MISTAKES,
)


def read_token(total, normaliser, query, key, value):
    """One step of the library."""
    state = library.LinearState(total, normaliser)
    output, state = library.linear_attention_step(query, key, value, state)
    return output, state.total, state.normaliser


def draw_state(generator: torch.Generator) -> Case:
    """Draw the state after a few tokens, and one token more."""
    batch, d_key, d_value, before = sizes(generator, 3, 4, 4, 3)
    features = library.positive_features(1.5 * normal(generator, batch, before, d_key))
    return {
        "total": features.mT @ (normal(generator, batch, before, d_value) + 0.5),
        "normaliser": features.sum(1),
        "query": 1.5 * normal(generator, batch, d_key),
        "key": 1.5 * normal(generator, batch, d_key),
        "value": normal(generator, batch, d_value) + 0.5,
    }


def nothing_read(case: Case) -> Case:
    """The state before the first token."""
    return case | {name: torch.zeros_like(case[name]) for name in ("total", "normaliser")}


def several_tokens(case: Case):
    """Five tokens one after the other, each with the state that is due before it: the last output is the parallel one.

    What is asked is made of the case, so that the same case asks the same.
    """
    asked, state = [], nothing_read(case)
    for number in range(5):
        moved = {name: (case[name] + number * 0.9).sin() * 1.5 for name in ("query", "key", "value")}
        asked.append(state | moved)
        _, total, normaliser = read_token(**asked[-1])
        state = state | {"total": total, "normaliser": normaliser}
    replies = yield asked
    rows = {name: torch.stack([each[name] for each in asked], dim=1) for name in ("query", "key", "value")}
    due = in_parallel(**rows)
    for number, reply in enumerate(replies):
        where = f"the output of token {number + 1} of 5"
        if problem := difference(reply.arguments, reply.value[0], due[:, number], where=where):
            return problem
    return None


of_the_output = of_output(0, equals())

STEP_MISTAKES = """
read before it is written => nothing was read before: the output is the value
- output = einsum(asking, total, "batch k, batch k v -> batch v")
- weight = einsum(asking, normaliser, "batch k, batch k -> batch")
+ output = einsum(asking, total - written, "batch k, batch k v -> batch v")
+ weight = einsum(asking, normaliser - keys, "batch k, batch k -> batch")
the query reads the state before the token's own key and value are in it; add them first, because a position reads its
own as well, and the first has nothing else

state not returned => the state after the token
- return output / rearrange(weight, "batch -> batch 1"), total, normaliser
+ old = total - written, normaliser - keys
+ return output / rearrange(weight, "batch -> batch 1"), *old
the output is right, and the state came back as it was: the next token will not find this one in it

total replaced => the state after the token
- total = total + written
- normaliser = normaliser + keys
+ total = written
+ normaliser = keys
the state holds this token alone, and what was read before is lost: *add* the product and the features

total replaced alone => the state after the token
- total = total + written
+ total = written
`total` holds the product of this token alone, and what was read before is lost: *add* it

normaliser not grown => the state after the token
- normaliser = normaliser + keys
+ normaliser = normaliser + 0
the normaliser stays as it was; the features of each key are added to it, so that it is the sum over all of them

normaliser replaced => the state after the token
+ normaliser = keys
the normaliser holds the features of this key alone: *add* them to those of the keys before

normaliser counts => the state after the token
+ normaliser = normaliser + 1
the normaliser counts the tokens here; it sums the features of the keys

query in the normaliser => the state after the token
+ normaliser = normaliser + asking
the features of the *query* are added to the normaliser; it holds the sum of the features of the keys, and the query
reads it

running mean => the state after the token
- total = total + written
- normaliser = normaliser + keys
+ total = (total + written) / 2
+ normaliser = (normaliser + keys) / 2
this halves the state with each token, so that tokens long ago count less; here all count alike: add, and nothing else

query written => the state after the token
- written = einsum(keys, value, "batch k, batch v -> batch k v")
+ written = einsum(asking, value, "batch k, batch v -> batch k v")
this writes the value under the features of the *query*; it is written under those of its key, and the query reads

values not under keys => the state after the token
+ written = rearrange(value, "batch v -> batch 1 v")
this adds the value to every row of the total, whatever its key; the row of each feature gets the value times that
feature of the key

key by itself => the state after the token
+ written = einsum(key, value, "batch k, batch v -> batch k v")
this writes the value under the key itself; it is written under the features of the key, elu(x) + 1

no features => the state after the token
- asking, keys = (torch.where(each > 0, each + 1, each.exp()) for each in (query, key))
+ asking, keys = query, key
no features were taken of query and key; take elu(x) + 1 of every entry

query by itself => the output
+ asking, keys = query, torch.where(key > 0, key + 1, key.exp())
the query reads without its features; it goes through elu(x) + 1 as the keys do

relu => the state after the token
+ asking, keys = query.relu(), key.relu()
these features are relu(x); they are x + 1 above 0 and exp(x) below

exponentials => the state after the token
+ asking, keys = query.exp(), key.exp()
these features are exp(x) everywhere; above 0 they are x + 1

no 1 added => the state after the token
+ asking, keys = (torch.where(each > 0, each, each.exp() - 1) for each in (query, key))
these features are elu(x); the 1 is missing, without which they may be below 0

elu(x) + 1 as it stands => entries far below 0
+ asking, keys = (torch.nn.functional.elu(each) + 1 for each in (query, key))
elu(x) + 1 is rounded to 0 in float32 where x is below -17, and a query or key of zeros is divided by 0; write exp(x)
where x is below 0

not divided => nothing was read before: the output is the value
- return output / rearrange(weight, "batch -> batch 1"), total, normaliser
+ return output, total, normaliser
the output is not divided by the sum of the weights, which is the product of the query's features and the normaliser

divided by the sum of the normaliser => five tokens give what the parallel form gives
+ return output / normaliser.sum(dim=-1, keepdim=True), total, normaliser
this divides by the sum of the normaliser's entries; the query weighs them: divide by the dot product of its features
and the normaliser

divided inside the state => the state after the token
+ means = total / rearrange(normaliser, "batch k -> batch k 1")
+ return output / rearrange(weight, "batch -> batch 1"), means, normaliser
the total that comes back was divided by the normaliser; both stay plain sums, and only the output is divided

a small number added => entries far below 0
+ return output / (rearrange(weight, "batch -> batch 1") + 1e-6), total, normaliser
this adds a small number to what the output is divided by; where all features are small, that number is the greater one:
the weight is above 0 by itself

softmax of the read => the output
+ return torch.einsum("bk,bkv->bv", asking.softmax(dim=-1), total), total, normaliser
this takes a softmax over the features of the query; there is none: divide by the dot product of the query's features
and the normaliser

state before the output => nothing was read before: the output is the value
+ return total, normaliser, output / rearrange(weight, "batch -> batch 1")
this returns the state first; the output comes first, then the total, then the normaliser

normaliser and total exchanged => the state after the token
+ return output / rearrange(weight, "batch -> batch 1"), normaliser, total
this returns the normaliser before the total; the total comes first

a state that grows => the state after the token
- total = total + written
- normaliser = normaliser + keys
- output = einsum(asking, total, "batch k, batch k v -> batch v")
- weight = einsum(asking, normaliser, "batch k, batch k -> batch")
- return output / rearrange(weight, "batch -> batch 1"), total, normaliser
+ output = einsum(asking, total + written, "batch k, batch k v -> batch v")
+ weight = einsum(asking, normaliser + keys, "batch k, batch k -> batch")
+ grown = torch.cat([total, written], dim=1), torch.cat([normaliser, keys], dim=1)
+ return output / rearrange(weight, "batch -> batch 1"), *grown
the state grows with each token, as a key-value cache does; the state of linear attention keeps its size: add what is
new to the sums

total overwritten => the state stays as it was
- total = total + written
+ total += written
`total += ...` writes into the caller's own state, and two continuations of one text would share it; `total = total +
...` makes a new one

normaliser overwritten => the state stays as it was
- normaliser = normaliser + keys
+ normaliser += keys
`normaliser += ...` writes into the caller's own state, and two continuations of one text would share it;
`normaliser = normaliser + ...` makes a new one

both overwritten => the state stays as it was
- total = total + written
- normaliser = normaliser + keys
+ total += written
+ normaliser += keys
`+=` writes into the caller's own state, and two continuations of one text would share it; `total = total + ...` makes a
new one
"""

STEP = Task(
    function="read_token",
    parameters=("total", "normaliser", "query", "key", "value"),
    returns="the output (batch, d_value), and the next state: total (batch, d_key, d_value), normaliser (batch, d_key)",
    outputs=("output", "total", "normaliser"),
    cases=draw_state,
    examples=(
        {
            "total": torch.tensor([[[4.0]]]),
            "normaliser": torch.tensor([[1.0]]),
            "query": torch.tensor([[2.0]]),
            "key": torch.tensor([[2.0]]),
            "value": torch.tensor([[8.0]]),
        },
        {
            "total": torch.zeros(1, 2, 1),
            "normaliser": torch.zeros(1, 2),
            "query": torch.tensor([[0.0, 1.0]]),
            "key": torch.tensor([[1.0, -0.6931]]),
            "value": torch.tensor([[3.0]]),
        },
    ),
    edges=(
        {  # as many entries in a key as in a value, and two sequences
            "total": torch.tensor([[[4.0, 1.0], [0.0, 2.0]], [[1.0, 1.0], [3.0, 0.0]]]),
            "normaliser": torch.tensor([[1.0, 2.0], [2.0, 0.5]]),
            "query": torch.tensor([[2.0, -1.0], [0.0, 1.0]]),
            "key": torch.tensor([[-2.0, 0.5], [1.0, 0.0]]),
            "value": torch.tensor([[8.0, -1.0], [0.0, 2.0]]),
        },
    ),
    reference=read_token,
    properties=(
        Property("nothing was read before: the output is the value", 1, on(nothing_read, of_the_output)),
        Property("the state after the token", 2, both(of_output(1, equals()), of_output(2, equals()))),
        Property("the output", 1, of_the_output),
        Property("five tokens give what the parallel form gives", 1, several_tokens),
        Property("entries far below 0", 1, on(nothing_read, on(far_below("query", "key"), of_the_output))),
        Property("the state stays as it was", 1, inputs_unchanged, only_when_right=True),
    ),
    mistakes=STEP_MISTAKES,
)


def token_by_token(query, key, value):
    """The recurrence of the library, a chunk of one token at a time."""
    return library.linear_attention_in_chunks(query, key, value, chunk=1)[0]


def first_token(case: Case) -> Case:
    """The first position alone."""
    return {name: each[:, :1] for name, each in case.items()}


def agrees(case: Case):
    """The recurrence and the parallel form give the same outputs."""
    reply = yield case
    return difference(case, reply.value, in_parallel(**case), where="beside the parallel form")


LOOP_MISTAKES = """
state begun anew => both forms agree to 0.00001
- for step in range(query.shape[1]):
- output, total, normaliser = read_token(total, normaliser, query[:, step], key[:, step], value[:, step])
+ for step in range(query.shape[1]):
+     total, normaliser = torch.zeros_like(total), torch.zeros_like(normaliser)
+     output, total, normaliser = read_token(total, normaliser, query[:, step], key[:, step], value[:, step])
each output is its own value, because the state begins anew with every token: make the zeros once, before the loop, and
give each call the state that the call before returned

total alone passed on => both forms agree to 0.00001
+ for step in range(query.shape[1]):
+     output, total, _ = read_token(total, normaliser, query[:, step], key[:, step], value[:, step])
the total is passed on and the normaliser is not: the output is divided by the features of the last key alone

state of ones => the first output is the first value
- normaliser = key.new_zeros(key.shape[0], key.shape[2])
+ normaliser = key.new_ones(key.shape[0], key.shape[2])
the normaliser begins with ones, as if keys had been read before the first; it begins with zeros

total of ones => the first output is the first value
- total = key.new_zeros(key.shape[0], key.shape[2], value.shape[2])
+ total = key.new_ones(key.shape[0], key.shape[2], value.shape[2])
the total begins with ones, as if something had been read before the first token; it begins with zeros

last output alone => both forms agree to 0.00001
- return torch.stack(outputs, dim=1)
+ return outputs[-1].unsqueeze(1)
this returns the output of the last token; every token has one

time first => both forms agree to 0.00001
+ return torch.stack(outputs, dim=0)
the outputs are stacked along a first axis, (time, batch, d_value); time is axis 1: `torch.stack(outputs, dim=1)`

side by side => both forms agree to 0.00001
+ return torch.cat(outputs, dim=-1)
the outputs are put side by side in one row for each sequence; they want an axis of their own, `torch.stack(outputs,
dim=1)`

read from the end => both forms agree to 0.00001
- for step in range(query.shape[1]):
+ for step in reversed(range(query.shape[1])):
this reads the tokens from the last to the first; a text is read from its beginning

read from the end, put in order => both forms agree to 0.00001
- for step in range(query.shape[1]):
- output, total, normaliser = read_token(total, normaliser, query[:, step], key[:, step], value[:, step])
- outputs.append(output)
+ for step in reversed(range(query.shape[1])):
+     output, total, normaliser = read_token(total, normaliser, query[:, step], key[:, step], value[:, step])
+     outputs.insert(0, output)
this reads the tokens from the last to the first, so each output is made of the future; a text is read from its
beginning

written all, then read => both forms agree to 0.00001
+ for step in range(query.shape[1]):
+     _, total, normaliser = read_token(total, normaliser, query[:, step], key[:, step], value[:, step])
+ for step in range(query.shape[1]):
+     asking = torch.where(query[:, step] > 0, query[:, step] + 1, query[:, step].exp())
+     output = torch.einsum("bk,bkv->bv", asking, total) / (asking * normaliser).sum(dim=-1, keepdim=True)
+     outputs.append(output)
every query reads all tokens here, also later ones, as where all are written before the first query reads; each query
reads the state as it is right after its own token

last query for all => both forms agree to 0.00001
- output, total, normaliser = read_token(total, normaliser, query[:, step], key[:, step], value[:, step])
+ output, total, normaliser = read_token(total, normaliser, query[:, -1], key[:, step], value[:, step])
the query of the last token reads at every step; each token has its own

first token twice => both forms agree to 0.00001
+ output, total, normaliser = read_token(total, normaliser, query[:, step], key[:, 0], value[:, 0])
the key and value of the first token are read at every step; take those at `step`

key and query exchanged => both forms agree to 0.00001
+ output, total, normaliser = read_token(total, normaliser, key[:, step], query[:, step], value[:, step])
queries and keys are exchanged on the way: `read_token` takes the query before the key

one token short => both forms agree to 0.00001
- for step in range(query.shape[1]):
+ for step in range(query.shape[1] - 1):
the loop ends one token too early: `range(time)` counts from 0 to time - 1

batch for time => both forms agree to 0.00001
+ for step in range(query.shape[0]):
the loop counts the sequences of the batch; the tokens stand on axis 1, `query.shape[1]`

outputs averaged => both forms agree to 0.00001
- return torch.stack(outputs, dim=1)
+ outputs = torch.stack(outputs, dim=1)
+ return outputs.cumsum(dim=1) / torch.arange(1.0, outputs.shape[1] + 1)[:, None]
the outputs are averaged over the steps; each one is the average over all tokens so far already
"""

LOOP = Task(
    function="token_by_token",
    parameters=("query", "key", "value"),
    returns="the outputs of all tokens, shape (batch, time, d_value)",
    cases=draw_sequences,
    examples=PARALLEL.examples,
    edges=PARALLEL.edges,
    reference=token_by_token,
    properties=(
        Property("the first output is the first value", 1, on(first_token, equals())),
        Property("both forms agree to 0.00001", 2, both(both(agrees, on(longer, agrees)), inputs_unchanged)),
    ),
    mistakes=LOOP_MISTAKES,
)

EXERCISE = Exercise(
    title="Linear attention, both forms",
    difficulty=2,
    minutes=40,
    tasks=(PARALLEL, STEP, LOOP),
    hints=(
        "A softmax makes three things of scores: positive numbers, zeros where something is hidden, and rows that sum "
        "to 1. Which of them do the features do, and which are left for you? And what does a sum over keys know of the "
        "query, if the query stands in front of the sum?",
        "In parallel: features of queries and keys, all products of them, zeros behind the query's own position, each "
        "row divided by its sum, an average of the values. Token by token: the product of each feature of the key with "
        "each entry of the value is added to the total, the features to the normaliser; then the query's features "
        "multiply both, and the first result is divided by the second.",
        "`torch.where` chooses between x + 1 and exp(x). `tril()` sets to 0 what stands behind the query's own "
        "position. The product of each entry of one vector with each of another is `a[:, :, None] * b[:, None, :]`. "
        "The loop begins with zeros of the shapes of the state, and stacks the outputs along axis 1.",
    ),
    forbidden=ATTENTION,
)
