"""Exercise 08.3, both orders: a block made of sublayers and norms that are handed over, pre-norm or post-norm."""

from collections.abc import Callable

import torch

from course_lib.grading.declarations.chapter_03_permutations import RUNNING_MEAN, SELF_ATTENTION
from course_lib.grading.declarations.drawing import normal, sizes
from course_lib.grading.exercise import Case, Exercise, Given, Misconception, Property, Task
from course_lib.grading.judges import Judge, equals, inputs_unchanged, on

Layer = Callable[[torch.Tensor], torch.Tensor]
# Of the inputs, attention and feed-forward layer, and the norm of each.
Block = Callable[[torch.Tensor, Layer, Layer, Layer, Layer], torch.Tensor]

FIRST_EVERYWHERE = Given("the first vector at every position", "lambda inputs: inputs[:, :1].expand_as(inputs).clone()")
CUT_OFF = Given("what is below zero becomes 0", "lambda inputs: inputs.relu()")
SUMMED_AND_CUT_OFF = Given(
    "the running sum of the features, 0 where it is below", "lambda inputs: inputs.cumsum(-1).relu()"
)
LAYER_NORM = Given("layer norm", "lambda inputs: torch.nn.functional.layer_norm(inputs, inputs.shape[-1:])")
TWICE_LAYER_NORM = Given(
    "twice layer norm", "lambda inputs: 2 * torch.nn.functional.layer_norm(inputs, inputs.shape[-1:])"
)
LAYER_NORM_AND_A_RISE = Given(
    "layer norm, and a bias that rises from 0 to 1",
    "lambda inputs: torch.nn.functional.layer_norm(inputs, inputs.shape[-1:]) "
    "+ torch.linspace(0, 1, inputs.shape[-1], dtype=inputs.dtype)",
)
SILENT = Given("zeros", "lambda inputs: torch.zeros_like(inputs)")

ATTENTIONS = (FIRST_EVERYWHERE, SELF_ATTENTION, RUNNING_MEAN)
FEED_FORWARDS = (CUT_OFF, SUMMED_AND_CUT_OFF)
NORMS = (LAYER_NORM, TWICE_LAYER_NORM, LAYER_NORM_AND_A_RISE)
ROOM = 1e-4  # a norm magnifies rounding where the features lie close together


def pre(x, attend, feed, norm, other_norm):
    """Each sublayer reads a normalised copy."""
    x = x + attend(norm(x))
    return x + feed(other_norm(x))


def post(x, attend, feed, norm, other_norm):
    """Each sum is normalised."""
    x = norm(x + attend(x))
    return other_norm(x + feed(x))


def in_order(of_pre: Block, of_post: Block) -> Callable[..., torch.Tensor]:
    """Return the answer that does `of_pre` where the order is "pre", else `of_post`."""

    def answer(inputs, attention, feed_forward, attention_norm, feed_forward_norm, order):
        block = of_pre if order == "pre" else of_post
        return block(inputs, attention, feed_forward, attention_norm, feed_forward_norm)

    return answer


transformer_block = in_order(pre, post)


def draw_parts(generator: torch.Generator) -> Case:
    """Draw a batch, one of each kind of sublayer, two norms that differ, and the order."""
    batch, time, d_model = (least + size for least, size in zip((0, 1, 2), sizes(generator, 3, 4, 4), strict=True))
    first, second = torch.randperm(len(NORMS), generator=generator)[:2].tolist()
    attention, feed_forward, order = (
        kinds[int(torch.randint(len(kinds), (), generator=generator))]
        for kinds in (ATTENTIONS, FEED_FORWARDS, ("pre", "post"))
    )
    return {
        "inputs": 2 * normal(generator, batch, time, d_model),
        "attention": attention,
        "feed_forward": feed_forward,
        "attention_norm": NORMS[first],
        "feed_forward_norm": NORMS[second],
        "order": order,
    }


def asked_for(order: str) -> Judge:
    """The answer is right where this order is asked for."""
    return on(lambda case: case if case["order"] == order else case | {"order": order}, equals(transformer_block, ROOM))


def silent(case: Case) -> Case:
    """Let both sublayers return zeros."""
    return case | {"attention": SILENT, "feed_forward": SILENT}


def wrong(
    name: str, said: str, of_pre: Block | None, of_post: Block | None, breaks: str = ""
) -> tuple[Misconception, ...]:
    """One mistake, made in one order or in both, where there is a way to make it; each loses what its order is for."""
    made = [(name, of_pre, of_post)]
    if of_pre and of_post:
        made += [(f"{name}, in pre-norm", of_pre, None), (f"{name}, in post-norm", None, of_post)]
    return tuple(
        Misconception(title, said, in_order(one or pre, other or post), breaks=breaks or (PRE if one else POST))
        for title, one, other in made
    )


def norm_on_the_road(first: bool, second: bool) -> Block:
    """Return pre-norm in which the first or the second sum, or each, carries the normalised vector."""

    def block(x, attend, feed, norm, other_norm):
        x = (norm(x) if first else x) + attend(norm(x))
        return (other_norm(x) if second else x) + feed(other_norm(x))

    return block


def norm_of_what_is_added(x, attend, feed, norm, other_norm):
    """Each sublayer's output normalised, before it is added."""
    x = x + norm(attend(x))
    return x + other_norm(feed(x))


def pre_and_a_norm_at_the_end(x, attend, feed, norm, other_norm):
    """Pre-norm, and what comes out normalised once more."""
    return other_norm(pre(x, attend, feed, norm, other_norm))


def added_in_place(inputs, attention, feed_forward, attention_norm, feed_forward_norm, order):
    """The sums written over the inputs."""
    if order == "pre":
        inputs += attention(attention_norm(inputs))
        inputs += feed_forward(feed_forward_norm(inputs))
        return inputs
    inputs += attention(inputs)
    inputs = attention_norm(inputs)
    return feed_forward_norm(inputs + feed_forward(inputs))


SILENT_PARTS = "sublayers that return zeros: pre-norm hands its inputs on, post-norm normalises them"
PRE = "pre-norm: each sublayer reads a normalised copy"
POST = "post-norm: each sum is normalised"

BOTH_ORDERS = Exercise(
    id="08.3",
    title="Both orders",
    difficulty=2,
    minutes=25,
    tasks=(
        Task(
            function="transformer_block",
            parameters=("inputs", "attention", "feed_forward", "attention_norm", "feed_forward_norm", "order"),
            returns="what leaves the block, in the shape of inputs, (batch, time, d_model)",
            cases=draw_parts,
            examples=tuple(
                {
                    "inputs": torch.tensor([[[0.0, 4.0], [3.0, 1.0]]]),
                    "attention": FIRST_EVERYWHERE,
                    "feed_forward": CUT_OFF,
                    "attention_norm": LAYER_NORM,
                    "feed_forward_norm": TWICE_LAYER_NORM,
                    "order": order,
                }
                for order in ("pre", "post")
            ),
            reference=transformer_block,
            properties=(
                Property(SILENT_PARTS, 1, on(silent, equals(transformer_block, ROOM))),
                Property(PRE, 3, asked_for("pre")),
                Property(POST, 3, asked_for("post")),
                Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
            ),
            misconceptions=(
                Misconception(
                    "pre-norm whatever is asked",
                    'this is pre-norm in both orders: for "post", the norm comes after the sum',
                    in_order(pre, pre),
                    breaks=POST,
                ),
                Misconception(
                    "post-norm whatever is asked",
                    'this is post-norm in both orders: for "pre", the norm comes before the sublayer, and the sum is '
                    "not normalised",
                    in_order(post, post),
                    breaks=PRE,
                ),
                Misconception(
                    "the two orders exchanged",
                    'this is post-norm for "pre" and pre-norm for "post": the word says where the norm stands, before '
                    "the sublayer or after the sum",
                    in_order(post, pre),
                    breaks=PRE,
                ),
                *(
                    Misconception(
                        f"the norm on the road{where}",
                        f"in pre-norm the normalised vector was carried on{where}: `x = norm(x)` and then "
                        "`x + sublayer(x)`; only the sublayer reads the normalised copy, and the sum begins with the "
                        "vector as it was, `x + sublayer(norm(x))`",
                        in_order(norm_on_the_road(*halves), post),
                        breaks=SILENT_PARTS,
                    )
                    for where, halves in (
                        ("", (True, True)),
                        (", at attention", (True, False)),
                        (", at the feed-forward layer", (False, True)),
                    )
                ),
                *wrong(
                    "a norm at the end of pre-norm",
                    "in pre-norm the last sum was normalised once more; nothing on the road is normalised inside the "
                    "block (a stack has one norm after its last block)",
                    pre_and_a_norm_at_the_end,
                    None,
                    breaks=SILENT_PARTS,
                ),
                *wrong(
                    "the norm of what is added",
                    "this normalises what the sublayer returns and then adds it, `x + norm(sublayer(x))`: that is "
                    "neither order; pre-norm is `x + sublayer(norm(x))`, post-norm `norm(x + sublayer(x))`",
                    norm_of_what_is_added,
                    norm_of_what_is_added,
                ),
                *wrong(
                    "the feed-forward layer reads the inputs",
                    "the feed-forward layer was given the block's inputs; it reads what the attention sublayer left",
                    lambda x, a, f, n, m: x + a(n(x)) + f(m(x)),
                    lambda x, a, f, n, m: m(n(x + a(x)) + f(x)),
                ),
                *wrong(
                    "the second sum begins with the inputs",
                    "the second sum begins again with the block's inputs, so that what attention added is lost on the "
                    "road; it begins with the result of the first sublayer",
                    lambda x, a, f, n, m: x + f(m(x + a(n(x)))),
                    lambda x, a, f, n, m: m(x + f(n(x + a(x)))),
                ),
                *wrong(
                    "the attention's norm twice",
                    "`attention_norm` was used for both sublayers: each has a norm of its own, with its own gain and "
                    "bias, and the second is `feed_forward_norm`",
                    lambda x, a, f, n, m: pre(x, a, f, n, n),
                    lambda x, a, f, n, m: post(x, a, f, n, n),
                ),
                *wrong(
                    "the feed-forward's norm twice",
                    "`feed_forward_norm` was used for both sublayers: each has a norm of its own, with its own gain "
                    "and bias, and the first is `attention_norm`",
                    lambda x, a, f, n, m: pre(x, a, f, m, m),
                    lambda x, a, f, n, m: post(x, a, f, m, m),
                ),
                *wrong(
                    "the norms exchanged",
                    "the two norms were exchanged: `attention_norm` belongs to the first sublayer, `feed_forward_norm` "
                    "to the second",
                    lambda x, a, f, n, m: pre(x, a, f, m, n),
                    lambda x, a, f, n, m: post(x, a, f, m, n),
                ),
                *wrong(
                    "no norm for attention",
                    "`attention_norm` was not used: each of the two sublayers has its norm",
                    lambda x, a, f, n, m: pre(x, a, f, torch.clone, m),
                    lambda x, a, f, n, m: post(x, a, f, torch.clone, m),
                ),
                *wrong(
                    "no norm for the feed-forward layer",
                    "`feed_forward_norm` was not used: each of the two sublayers has its norm",
                    lambda x, a, f, n, m: pre(x, a, f, n, torch.clone),
                    lambda x, a, f, n, m: post(x, a, f, n, torch.clone),
                ),
                *wrong(
                    "no residual around attention",
                    "what attention returns replaces the vectors; it is to be added to them",
                    lambda x, a, f, n, m: (h := a(n(x))) + f(m(h)),
                    lambda x, a, f, n, m: m((h := n(a(x))) + f(h)),
                ),
                *wrong(
                    "no residual around the feed-forward layer",
                    "what the feed-forward layer returns replaces the vectors; it is to be added to them",
                    lambda x, a, f, n, m: f(m(x + a(n(x)))),
                    lambda x, a, f, n, m: m(f(n(x + a(x)))),
                ),
                *wrong(
                    "no residual",
                    "nothing is added: what a sublayer returns replaces the vectors; each sum begins with what the "
                    "sublayer was given to work on",
                    lambda x, a, f, n, m: f(m(a(n(x)))),
                    lambda x, a, f, n, m: m(f(n(a(x)))),
                ),
                *wrong(
                    "one residual around both",
                    "one sum spans both sublayers; there are two, one around each, and the second begins with the "
                    "result of the first",
                    lambda x, a, f, n, m: x + f(m(a(n(x)))),
                    lambda x, a, f, n, m: m(x + f(n(a(x)))),
                ),
                *wrong(
                    "the feed-forward layer first",
                    "here the feed-forward layer comes first: attention gathers, then each position works on what it "
                    "has gathered",
                    lambda x, a, f, n, m: pre(x, f, a, m, n),
                    lambda x, a, f, n, m: post(x, f, a, m, n),
                ),
                Misconception(
                    "added in place",
                    "`inputs += ...` writes the sum over the caller's own inputs; `inputs = inputs + ...` makes a new "
                    "tensor",
                    added_in_place,
                    breaks="inputs unchanged",
                ),
            ),
        ),
    ),
    hints=(
        "Draw the road from the inputs to the output as one line. In which of the two orders does it pass through a "
        "norm?",
        'Two sublayers, and the same two steps for each. For "pre": normalise a copy, let the sublayer read it, add '
        'what it returns to the vectors as they were. For "post": let the sublayer read the vectors, add, normalise '
        "the sum. What leaves the first sublayer enters the second.",
        "With one name for the road: `road = inputs + attention(attention_norm(inputs))` is the first half of "
        "pre-norm, and `road = attention_norm(inputs + attention(inputs))` that of post-norm. The second half says the "
        "same of `road`, `feed_forward` and `feed_forward_norm`.",
    ),
)
