"""08.3: a block made of sublayers and norms that are handed over, pre-norm or post-norm."""

import torch

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import equals, inputs_unchanged, on
from course_lib.grading.exercise import Case, Check, Exercise, Given, Property, Task

FIRST_EVERYWHERE = Given("the first vector at every position", "lambda inputs: inputs[:, :1].expand_as(inputs).clone()")
CUT_OFF = Given("what is below zero becomes 0", "lambda inputs: inputs.relu()")
LAYER_NORM = Given("layer norm", "lambda inputs: torch.nn.functional.layer_norm(inputs, inputs.shape[-1:])")
TWICE_LAYER_NORM = Given(
    "twice layer norm", "lambda inputs: 2 * torch.nn.functional.layer_norm(inputs, inputs.shape[-1:])"
)
UNCHANGED = Given("what comes in, the same tensor", "lambda inputs: inputs")
SILENT = Given("zeros", "lambda inputs: torch.zeros_like(inputs)")

ATTENTIONS = (
    FIRST_EVERYWHERE,
    Given("self-attention", "lambda inputs: (inputs @ inputs.mT).softmax(-1) @ inputs"),
    Given(
        "the mean of all vectors so far",
        "lambda inputs: inputs.cumsum(-2) / torch.arange(1, inputs.shape[-2] + 1)[:, None]",
    ),
)
FEED_FORWARDS = (
    CUT_OFF,
    Given("the running sum of the features, 0 where it is below zero", "lambda inputs: inputs.cumsum(-1).relu()"),
)
NORMS = (
    LAYER_NORM,
    TWICE_LAYER_NORM,
    Given(
        "layer norm, and a bias that rises from 0 to 1",
        "lambda inputs: torch.nn.functional.layer_norm(inputs, inputs.shape[-1:]) "
        "+ torch.linspace(0, 1, inputs.shape[-1], dtype=inputs.dtype)",
    ),
)
TOLERANCE = 1e-4  # a norm magnifies rounding where the features lie close together


def transformer_block(inputs, attention, feed_forward, attention_norm, feed_forward_norm, order):
    """Each sublayer reads a normalised copy, or each sum is normalised."""
    if order == "pre":
        inputs = inputs + attention(attention_norm(inputs))
        return inputs + feed_forward(feed_forward_norm(inputs))
    inputs = attention_norm(inputs + attention(inputs))
    return feed_forward_norm(inputs + feed_forward(inputs))


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


def asked_for(order: str) -> Check:
    """The answer is right where this order is asked for."""
    return on(lambda case: case if case["order"] == order else case | {"order": order}, equals(TOLERANCE))


MISTAKES = """
pre-norm whatever is asked => post-norm: each sum is normalised
- stream = stream + sublayer(norm(stream)) if order == "pre" else norm(stream + sublayer(stream))
+ stream = stream + sublayer(norm(stream))
this is pre-norm in both orders: for "post", the norm comes after the sum

post-norm whatever is asked => pre-norm: each sublayer reads a normalised copy
+ stream = norm(stream + sublayer(stream))
this is post-norm in both orders: for "pre", the norm comes before the sublayer, and the sum is not normalised

the two orders exchanged => pre-norm: each sublayer reads a normalised copy
+ stream = norm(stream + sublayer(stream)) if order == "pre" else stream + sublayer(norm(stream))
this is post-norm for "pre" and pre-norm for "post": the word says where the norm stands, before the sublayer or after
the sum

the norm on the road => zeros to add: pre-norm hands its inputs on, post-norm normalises them
+ stream = norm(stream) + sublayer(norm(stream)) if order == "pre" else norm(stream + sublayer(stream))
in pre-norm the normalised vector was carried on: `x = norm(x)` and then `x + sublayer(x)`; only the sublayer reads the
normalised copy, and the sum begins with the vector as it was, `x + sublayer(norm(x))`

the norm on the road, at attention => zeros to add: pre-norm hands its inputs on, post-norm normalises them
+ kept = norm(stream) if norm is attention_norm else stream
+ stream = kept + sublayer(norm(stream)) if order == "pre" else norm(stream + sublayer(stream))
in pre-norm the normalised vector was carried on, at attention: `x = norm(x)` and then `x + sublayer(x)`; only the
sublayer reads the normalised copy, and the sum begins with the vector as it was, `x + sublayer(norm(x))`

the norm on the road, at the feed-forward layer => zeros to add: pre-norm hands its inputs on, post-norm normalises them
+ kept = norm(stream) if norm is feed_forward_norm else stream
+ stream = kept + sublayer(norm(stream)) if order == "pre" else norm(stream + sublayer(stream))
in pre-norm the normalised vector was carried on, at the feed-forward layer: `x = norm(x)` and then `x + sublayer(x)`;
only the sublayer reads the normalised copy, and the sum begins with the vector as it was, `x + sublayer(norm(x))`

a norm at the end of pre-norm => zeros to add: pre-norm hands its inputs on, post-norm normalises them
- return stream
+ return feed_forward_norm(stream) if order == "pre" else stream
in pre-norm the last sum was normalised once more; nothing in the residual stream is normalised inside the block (a
stack has one norm after its last block)

the norm of what is added => pre-norm: each sublayer reads a normalised copy
- stream = stream + sublayer(norm(stream)) if order == "pre" else norm(stream + sublayer(stream))
+ stream = stream + norm(sublayer(stream))
this normalises what the sublayer returns and then adds it, `x + norm(sublayer(x))`: that is neither order; pre-norm is
`x + sublayer(norm(x))`, post-norm `norm(x + sublayer(x))`

the norm of what is added, in pre-norm => pre-norm: each sublayer reads a normalised copy
+ stream = stream + norm(sublayer(stream)) if order == "pre" else norm(stream + sublayer(stream))

the norm of what is added, in post-norm => post-norm: each sum is normalised
+ stream = stream + sublayer(norm(stream)) if order == "pre" else stream + norm(sublayer(stream))

the feed-forward layer reads the inputs => pre-norm: each sublayer reads a normalised copy
+ stream = stream + sublayer(norm(inputs)) if order == "pre" else norm(stream + sublayer(inputs))
the feed-forward layer was given the block's inputs; it reads what the attention sublayer left

the feed-forward layer reads the inputs, in pre-norm => pre-norm: each sublayer reads a normalised copy
+ stream = stream + sublayer(norm(inputs)) if order == "pre" else norm(stream + sublayer(stream))

the feed-forward layer reads the inputs, in post-norm => post-norm: each sum is normalised
+ stream = stream + sublayer(norm(stream)) if order == "pre" else norm(stream + sublayer(inputs))

the second sum begins with the inputs => pre-norm: each sublayer reads a normalised copy
+ stream = inputs + sublayer(norm(stream)) if order == "pre" else norm(inputs + sublayer(stream))
the second sum begins again with the block's inputs, so that what attention added is lost; it begins with
the result of the first sublayer

the second sum begins with the inputs, in pre-norm => pre-norm: each sublayer reads a normalised copy
+ stream = inputs + sublayer(norm(stream)) if order == "pre" else norm(stream + sublayer(stream))

the second sum begins with the inputs, in post-norm => post-norm: each sum is normalised
+ stream = stream + sublayer(norm(stream)) if order == "pre" else norm(inputs + sublayer(stream))

the attention's norm twice => pre-norm: each sublayer reads a normalised copy
+ stream = stream + sublayer(attention_norm(stream)) if order == "pre" else attention_norm(stream + sublayer(stream))
`attention_norm` was used for both sublayers: each has a norm of its own, with its own gain and bias, and the second is
`feed_forward_norm`

the attention's norm twice, in pre-norm => pre-norm: each sublayer reads a normalised copy
+ stream = stream + sublayer(attention_norm(stream)) if order == "pre" else norm(stream + sublayer(stream))

the attention's norm twice, in post-norm => post-norm: each sum is normalised
+ stream = stream + sublayer(norm(stream)) if order == "pre" else attention_norm(stream + sublayer(stream))

the feed-forward's norm twice => pre-norm: each sublayer reads a normalised copy
+ norm = feed_forward_norm
+ stream = stream + sublayer(norm(stream)) if order == "pre" else norm(stream + sublayer(stream))
`feed_forward_norm` was used for both sublayers: each has a norm of its own, with its own gain and bias, and the first
is `attention_norm`

the feed-forward's norm twice, in pre-norm => pre-norm: each sublayer reads a normalised copy
+ stream = stream + sublayer(feed_forward_norm(stream)) if order == "pre" else norm(stream + sublayer(stream))

the feed-forward's norm twice, in post-norm => post-norm: each sum is normalised
+ stream = stream + sublayer(norm(stream)) if order == "pre" else feed_forward_norm(stream + sublayer(stream))

the norms exchanged => pre-norm: each sublayer reads a normalised copy
- stream = inputs
+ stream = inputs
+ attention_norm, feed_forward_norm = feed_forward_norm, attention_norm
the two norms were exchanged: `attention_norm` belongs to the first sublayer, `feed_forward_norm` to the second

the norms exchanged, in pre-norm => pre-norm: each sublayer reads a normalised copy
+ stream = inputs
+ if order == "pre":
+     attention_norm, feed_forward_norm = feed_forward_norm, attention_norm

the norms exchanged, in post-norm => post-norm: each sum is normalised
+ stream = inputs
+ if order == "post":
+     attention_norm, feed_forward_norm = feed_forward_norm, attention_norm

no norm for attention => pre-norm: each sublayer reads a normalised copy
+ stream, attention_norm = inputs, torch.clone
`attention_norm` was not used: each of the two sublayers has its norm

no norm for attention, in pre-norm => pre-norm: each sublayer reads a normalised copy
+ stream, attention_norm = inputs, torch.clone if order == "pre" else attention_norm

no norm for attention, in post-norm => post-norm: each sum is normalised
+ stream, attention_norm = inputs, torch.clone if order == "post" else attention_norm

no norm for the feed-forward layer => pre-norm: each sublayer reads a normalised copy
+ stream, feed_forward_norm = inputs, torch.clone
`feed_forward_norm` was not used: each of the two sublayers has its norm

no norm for the feed-forward layer, in pre-norm => pre-norm: each sublayer reads a normalised copy
+ stream, feed_forward_norm = inputs, torch.clone if order == "pre" else feed_forward_norm

no norm for the feed-forward layer, in post-norm => post-norm: each sum is normalised
+ stream, feed_forward_norm = inputs, torch.clone if order == "post" else feed_forward_norm

no residual around attention => pre-norm: each sublayer reads a normalised copy
- stream = stream + sublayer(norm(stream)) if order == "pre" else norm(stream + sublayer(stream))
+ kept = 0 if norm is attention_norm else stream
+ stream = kept + sublayer(norm(stream)) if order == "pre" else norm(kept + sublayer(stream))
what attention returns replaces the vectors; it is to be added to them

no residual around attention, in pre-norm => pre-norm: each sublayer reads a normalised copy
+ kept = 0 if norm is attention_norm else stream
+ stream = kept + sublayer(norm(stream)) if order == "pre" else norm(stream + sublayer(stream))

no residual around attention, in post-norm => post-norm: each sum is normalised
+ kept = 0 if norm is attention_norm else stream
+ stream = stream + sublayer(norm(stream)) if order == "pre" else norm(kept + sublayer(stream))

no residual around the feed-forward layer => pre-norm: each sublayer reads a normalised copy
+ kept = 0 if norm is feed_forward_norm else stream
+ stream = kept + sublayer(norm(stream)) if order == "pre" else norm(kept + sublayer(stream))
what the feed-forward layer returns replaces the vectors; it is to be added to them

no residual around the feed-forward layer, in pre-norm => pre-norm: each sublayer reads a normalised copy
+ kept = 0 if norm is feed_forward_norm else stream
+ stream = kept + sublayer(norm(stream)) if order == "pre" else norm(stream + sublayer(stream))

no residual around the feed-forward layer, in post-norm => post-norm: each sum is normalised
+ kept = 0 if norm is feed_forward_norm else stream
+ stream = stream + sublayer(norm(stream)) if order == "pre" else norm(kept + sublayer(stream))

no residual => pre-norm: each sublayer reads a normalised copy
+ stream = sublayer(norm(stream)) if order == "pre" else norm(sublayer(stream))
nothing is added: what a sublayer returns replaces the vectors; each sum begins with what the sublayer was given to work
on

no residual, in pre-norm => pre-norm: each sublayer reads a normalised copy
+ stream = sublayer(norm(stream)) if order == "pre" else norm(stream + sublayer(stream))

no residual, in post-norm => post-norm: each sum is normalised
+ stream = stream + sublayer(norm(stream)) if order == "pre" else norm(sublayer(stream))

one residual around both => pre-norm: each sublayer reads a normalised copy
+ kept = inputs if norm is feed_forward_norm else 0
+ stream = kept + sublayer(norm(stream)) if order == "pre" else norm(kept + sublayer(stream))
one sum spans both sublayers; there are two, one around each, and the second begins with the result of the first

one residual around both, in pre-norm => pre-norm: each sublayer reads a normalised copy
+ kept = inputs if norm is feed_forward_norm else 0
+ stream = kept + sublayer(norm(stream)) if order == "pre" else norm(stream + sublayer(stream))

one residual around both, in post-norm => post-norm: each sum is normalised
+ kept = inputs if norm is feed_forward_norm else 0
+ stream = stream + sublayer(norm(stream)) if order == "pre" else norm(kept + sublayer(stream))

the feed-forward layer first => pre-norm: each sublayer reads a normalised copy
- for sublayer, norm in ((attention, attention_norm), (feed_forward, feed_forward_norm)):
+ for sublayer, norm in ((feed_forward, feed_forward_norm), (attention, attention_norm)):
here the feed-forward layer comes first: attention gathers, then each position works on what it has gathered

the feed-forward layer first, in pre-norm => pre-norm: each sublayer reads a normalised copy
+ parts = ((attention, attention_norm), (feed_forward, feed_forward_norm))
+ for sublayer, norm in reversed(parts) if order == "pre" else parts:

the feed-forward layer first, in post-norm => post-norm: each sum is normalised
+ parts = ((attention, attention_norm), (feed_forward, feed_forward_norm))
+ for sublayer, norm in parts if order == "pre" else reversed(parts):

added in place => inputs unchanged
- stream = stream + sublayer(norm(stream)) if order == "pre" else norm(stream + sublayer(stream))
+ stream += sublayer(norm(stream) if order == "pre" else stream)
+ stream = stream if order == "pre" else norm(stream)
this adds in place: `inputs += ...` writes the sum over the caller's own inputs, and so does `+=` on what a sublayer
returned, where that is the very tensor that it got; `inputs = inputs + ...` makes a new tensor
"""

EXERCISE = Exercise(
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
            edges=(
                {  # one position, two sequences
                    "inputs": torch.tensor([[[0.0, 4.0, -1.0]], [[3.0, 1.0, -2.0]]]),
                    "attention": ATTENTIONS[1],
                    "feed_forward": CUT_OFF,
                    "attention_norm": LAYER_NORM,
                    "feed_forward_norm": NORMS[2],
                    "order": "pre",
                },
                {  # the same, the other way round
                    "inputs": torch.tensor([[[0.0, 4.0, -1.0]], [[3.0, 1.0, -2.0]]]),
                    "attention": ATTENTIONS[2],
                    "feed_forward": FEED_FORWARDS[1],
                    "attention_norm": NORMS[2],
                    "feed_forward_norm": TWICE_LAYER_NORM,
                    "order": "post",
                },
                {  # a single feature, of which a norm leaves 0
                    "inputs": torch.tensor([[[2.0], [-1.0]]]),
                    "attention": FIRST_EVERYWHERE,
                    "feed_forward": CUT_OFF,
                    "attention_norm": LAYER_NORM,
                    "feed_forward_norm": TWICE_LAYER_NORM,
                    "order": "pre",
                },
                {  # attention returns the very tensor that it got: to add in place is to write into the inputs
                    "inputs": torch.tensor([[[0.0, 4.0], [3.0, 1.0]]]),
                    "attention": UNCHANGED,
                    "feed_forward": CUT_OFF,
                    "attention_norm": LAYER_NORM,
                    "feed_forward_norm": TWICE_LAYER_NORM,
                    "order": "post",
                },
            ),
            reference=transformer_block,
            properties=(
                Property(
                    "zeros to add: pre-norm hands its inputs on, post-norm normalises them",
                    1,
                    on(lambda case: case | {"attention": SILENT, "feed_forward": SILENT}, equals(TOLERANCE)),
                ),
                Property("pre-norm: each sublayer reads a normalised copy", 3, asked_for("pre")),
                Property("post-norm: each sum is normalised", 3, asked_for("post")),
                Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "Draw the residual stream from the inputs to the output as one line. In which of the two orders does it pass "
        "through a norm?",
        'Two sublayers, and the same two steps for each. For "pre": normalise a copy, let the sublayer read it, add '
        'what it returns to the vectors as they were. For "post": let the sublayer read the vectors, add, normalise '
        "the sum. What leaves the first sublayer enters the second.",
        "With one name for the residual stream: `stream = inputs + attention(attention_norm(inputs))` is the first "
        "half of pre-norm, and `stream = attention_norm(inputs + attention(inputs))` that of post-norm. The second "
        "half does the same with `stream`, `feed_forward` and `feed_forward_norm`.",
    ),
)
