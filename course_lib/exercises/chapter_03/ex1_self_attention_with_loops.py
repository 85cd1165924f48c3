"""03.1: self-attention with loops."""

import torch

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import equals, inputs_unchanged, on
from course_lib.grading.exercise import Case, Exercise, Property, Task


def self_attention_with_loops(inputs):
    """Average of all vectors, weighted by the softmax of the dot products."""
    return (inputs @ inputs.mT).softmax(-1) @ inputs


def draw_sequence(generator: torch.Generator) -> Case:
    """Draw one sequence of at least two vectors."""
    return {"inputs": normal(generator, *sizes(generator, 5, 4, least=2))}


def all_alike(case: Case) -> Case:
    """Put the first vector at every position."""
    return {"inputs": case["inputs"][:1].repeat(len(case["inputs"]), 1)}


MISTAKES = """
softmax forgotten => equal vectors come back as they are
- weights = scores.softmax(dim=0)
+ weights = scores
this weighs by the scores themselves: the softmax that turns them into weights of sum one is missing

exponentials without their sum => equal vectors come back as they are
+ weights = scores.exp()
this weighs by exp(score) and does not divide by the sum of them: the weights do not sum to one

divided twice => equal vectors come back as they are
- return outputs
+ return outputs / len(inputs)
this divides by the number of vectors after weighting; the weights already sum to one

shares of the scores => the average weighted by similarity
- weights = scores.softmax(dim=0)
+ weights = scores / scores.sum()
this divides the scores by their sum; scores can be negative, hence the exp of the softmax

no guard against overflow => the average weighted by similarity
+ weights = scores.exp() / scores.exp().sum()
this takes exp of the dot products as they are, and exp(100) is infinite in float32; subtract the largest of a row
first, as in 00.2, or use `torch.softmax`

softmax over the wrong places => the average weighted by similarity
+ weights = (inputs @ inputs.T).softmax(dim=0)[i]
this takes the softmax over the positions that read (dim=0); the weights of one position that reads sum to one over the
positions that are read, so each row sums to one

products not summed => the average weighted by similarity
- scores = torch.zeros(len(inputs))
- for j in range(len(inputs)):
- scores[j] = inputs[i] @ inputs[j]
+ scores = torch.zeros_like(inputs)
+ for j in range(len(inputs)):
+     scores[j] = inputs[i] * inputs[j]
this multiplies two vectors entry by entry and leaves it at that, so every feature has weights of its own; a dot product
sums over the features: one score for a pair of vectors

itself left out => the average weighted by similarity
- weights = scores.softmax(dim=0)
+ scores[i] = float("-inf")
+ weights = scores.softmax(dim=0)
this leaves out the vector at its own position; it attends to itself as well

later places left out => the average weighted by similarity
+ scores[i + 1 :] = float("-inf")
+ weights = scores.softmax(dim=0)
this lets no position read a later one; here every position reads every position

scaled => the average weighted by similarity
+ weights = (scores / inputs.shape[1] ** 0.5).softmax(dim=0)
this divides the scores by the root of d_model, as chapter 5 will; here nothing is scaled

cosine => the average weighted by similarity
- scores[j] = inputs[i] @ inputs[j]
+ scores[j] = inputs[i] @ inputs[j] / (inputs[i].norm() * inputs[j].norm())
this divides the vectors by their norms before comparing them; the score is the plain dot product, in which a vector of
large norm counts for more

the mean of all => the average weighted by similarity
- weights = scores.softmax(dim=0)
+ weights = torch.full_like(scores, 1 / len(inputs))
this is the same mean at every position: the similarity was not used

the weights => the average weighted by similarity
- return outputs
+ return (inputs @ inputs.T).softmax(dim=1)
these are the weights, (time, time); with them the vectors are still to be averaged

written into what is still read => the average weighted by similarity
- for j in range(len(inputs)):
- outputs[i] += weights[j] * inputs[j]
+ outputs[i] = weights @ inputs
+ inputs[i] = outputs[i]
this writes each result over its input, and the positions after it then read what was written; collect the results in a
tensor of their own, such as `torch.zeros_like(inputs)`

written into a copy that is still read => the average weighted by similarity
+ outputs[i] = weights @ inputs
+ inputs = inputs.clone()
+ inputs[i] = outputs[i]

added to what is still read => equal vectors come back as they are
- outputs = torch.zeros_like(inputs)
+ outputs = inputs
these sums begin with the caller's inputs (`outputs = inputs` is no copy): begin with zeros, `torch.zeros_like(inputs)`

added to a copy of the inputs => equal vectors come back as they are
+ outputs = inputs.clone()
each sum here begins with the vector itself and not with zeros: the average is added to it

inputs overwritten => inputs unchanged
- return outputs
+ inputs[...] = outputs
+ return outputs
this puts the result into the caller's inputs (`inputs[...] = `), and they are gone

sum carried on => equal vectors come back as they are
- return outputs
+ return outputs.cumsum(dim=0)
each position here adds to the sum of the positions before it: begin the sum with zeros anew for each i, inside the
outer loop

itself left out, unless it is alone => the average weighted by similarity
- weights = scores.softmax(dim=0)
+ if len(inputs) > 1:
+     scores[i] = float("-inf")
+ weights = scores.softmax(dim=0)
this leaves out the vector at its own position; it attends to itself as well
"""

EXERCISE = Exercise(
    title="Self-attention with loops",
    difficulty=1,
    minutes=15,
    tasks=(
        Task(
            function="self_attention_with_loops",
            parameters=("inputs",),
            returns="one averaged vector for each position, shape (time, d_model)",
            cases=draw_sequence,
            examples=(
                {"inputs": torch.tensor([[1.0481, 0.0], [0.0, 1.4823]])},
                {"inputs": torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, -1.0]])},
            ),
            edges=(
                {"inputs": torch.tensor([[2.0]])},  # one vector, one feature
                {"inputs": torch.tensor([[1.0, 0.0]])},  # one vector
                {"inputs": torch.tensor([[2.0], [2.0], [-2.0]])},  # a tie, and scores of 4
                {"inputs": torch.tensor([[10.0, 0.0], [10.0, 1.0], [0.0, -10.0]])},  # exp(100) is infinite
                {"inputs": torch.tensor([[3.0, 0.0], [40.0, 0.0]])},  # the largest score is not that with itself
            ),
            reference=self_attention_with_loops,
            properties=(
                Property("equal vectors come back as they are", 1, on(all_alike, equals())),
                Property("the average weighted by similarity", 3, equals()),
                Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "One position at a time: what does it need to know of every other position before it can average?",
        "For each position i: a loop over j collects the scores `inputs[i] @ inputs[j]`; a softmax turns them into "
        "weights; a second loop over j adds up weight times `inputs[j]`. Write the result into a fresh tensor.",
        "`scores = torch.stack([vector @ inputs[i] for vector in inputs])`, and `torch.softmax(scores, dim=0)`; "
        "begin the sum with zeros of shape (d_model,).",
    ),
)
