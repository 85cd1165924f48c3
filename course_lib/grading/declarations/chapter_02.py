"""Exercises of chapter 02, attention in image captioning."""

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.drawing import normal, shares, sizes, uniform
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import (
    answer_like,
    both,
    difference,
    equals,
    in_convex_hull,
    inputs_unchanged,
    not_moved_by,
    on,
    sums_to,
)
from course_lib.grading.wording import describe_case

# ---------------------------------------------------------------- 02.1 map to rows


def map_to_rows(feature_map):
    """One row of features for each pixel."""
    return feature_map.flatten(2).transpose(1, 2)


def draw_feature_map(generator: torch.Generator) -> Case:
    """Draw a feature map with at least two of everything."""
    return {"feature_map": normal(generator, *sizes(generator, 3, 4, 4, 4, least=2))}


def moves_one_row(call: Call, case: Case) -> str | None:
    """Change the pixel in the first row and second column of the map; exactly one row of the answer may move."""
    changed = {"feature_map": case["feature_map"].clone()}
    changed["feature_map"][:, :, 0, 1] += 1
    before, after = (answer_like(map_to_rows, call, each)[0] for each in (case, changed))
    rows = (before != after).any(-1).sum(1)
    if (rows == 1).all():
        return None
    return f"{describe_case(case)}, then the pixel [0, 1] changed: {rows.max()} rows moved, expected 1"


MAP_TO_ROWS = Exercise(
    id="02.1",
    title="Map to rows",
    difficulty=1,
    minutes=10,
    tasks=(
        Task(
            function="map_to_rows",
            parameters=("feature_map",),
            returns="one row for each pixel, shape (batch, height * width, d_feature)",
            cases=draw_feature_map,
            examples=({"feature_map": torch.tensor([[[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]])},),
            reference=map_to_rows,
            properties=(
                Property("changing one pixel changes one row", 1, moves_one_row),
                Property("pixels in reading order", 2, both(equals(map_to_rows), inputs_unchanged)),
            ),
            misconceptions=(
                Misconception(
                    "reshape alone",
                    "this is what `reshape` gives without moving the feature axis to the end: each row holds one "
                    "feature of several pixels instead of all features of one",
                    lambda feature_map: feature_map.reshape(len(feature_map), -1, feature_map.shape[1]),
                    breaks="changing one pixel changes one row",
                ),
                Misconception(
                    "column by column",
                    "this reads the picture column by column, `(width height)`; reading order is `(height width)`",
                    lambda feature_map: feature_map.transpose(2, 3).flatten(2).transpose(1, 2),
                    breaks="pixels in reading order",
                ),
                Misconception(
                    "features first",
                    "this leaves the features before the pixels: the last two axes are still to be exchanged",
                    lambda feature_map: feature_map.flatten(2),
                    breaks="pixels in reading order",
                ),
            ),
        ),
    ),
    hints=(
        "Which axis has to be last, so that a row is everything that is known about one pixel?",
        "Move the features to the end, and join height and width into one axis in which the width runs fastest.",
        "`rearrange(feature_map, 'batch feature height width -> batch (height width) feature')`.",
    ),
)

# ---------------------------------------------------------------- 02.2 additive weights


def additive_hidden(query, keys, query_weight, key_weight):
    """Projected query plus projected keys: (batch, location, d_hidden)."""
    return (query @ query_weight.mT)[:, None] + keys @ key_weight.mT


def additive_scores(query, keys, query_weight, key_weight, score_weight):
    """One score a location, before the softmax."""
    return additive_hidden(query, keys, query_weight, key_weight).tanh() @ score_weight


def additive_weights(query, keys, query_weight, key_weight, score_weight):
    """Softmax of the additive scores over the locations."""
    return additive_scores(query, keys, query_weight, key_weight, score_weight).softmax(1)


def draw_query_and_keys(generator: torch.Generator) -> Case:
    """Draw a query and keys of different widths, and the three parameters."""
    batch, location, d_query, d_key, d_hidden = sizes(generator, 4, 5, 4, 5, 4, least=2)
    return {
        "query": normal(generator, batch, d_query),
        "keys": normal(generator, batch, location, d_key),
        "query_weight": normal(generator, d_hidden, d_query),
        "key_weight": normal(generator, d_hidden, d_key),
        "score_weight": normal(generator, d_hidden),
    }


def other_last_picture(case: Case) -> Case:
    """Give the last picture of the batch another query and other keys."""
    query, keys = case["query"].clone(), case["keys"].clone()
    query[-1] += 1
    keys[-1] = 1 - keys[-1]
    return case | {"query": query, "keys": keys}


def weights_by_dot_product(query, keys, query_weight, key_weight, score_weight):
    """Weights from the dot product of the projections."""
    return ((keys @ key_weight.mT) @ (query @ query_weight.mT)[..., None])[..., 0].softmax(1)


def weights_without_new_axis(query, keys, query_weight, key_weight, score_weight):
    """Weights from a projected query that is added to the keys as it is, (batch, d_hidden)."""
    hidden = query @ query_weight.mT + keys @ key_weight.mT
    return (hidden.tanh() @ score_weight).softmax(1)


ONE_NUMBER_EACH = {
    "query": torch.zeros(1, 1),
    "keys": torch.zeros(1, 1, 1),
    "query_weight": torch.tensor([[1.0]]),
    "key_weight": torch.tensor([[1.0]]),
    "score_weight": torch.tensor([2.1972]),
}

ADDITIVE_WEIGHTS = Exercise(
    id="02.2",
    title="Additive attention weights",
    difficulty=3,
    minutes=30,
    tasks=(
        Task(
            function="additive_weights",
            parameters=("query", "keys", "query_weight", "key_weight", "score_weight"),
            returns="the weights of the locations, shape (batch, location)",
            cases=draw_query_and_keys,
            examples=(
                ONE_NUMBER_EACH | {"query": torch.tensor([[0.5493]]), "keys": torch.tensor([[[-0.5493], [0.0]]])},
                ONE_NUMBER_EACH
                | {"query": torch.tensor([[1.0], [-1.0]]), "keys": torch.tensor([[[-1.0], [0.0]], [[1.0], [3.0]]])},
            ),
            reference=additive_weights,
            properties=(
                Property("the weights of each picture sum to one", 1, sums_to(1, additive_weights)),
                Property(
                    "one picture has no influence on another",
                    2,
                    not_moved_by(
                        other_last_picture,
                        "the last picture replaced",
                        additive_weights,
                        lambda weights: weights[:-1],
                    ),
                ),
                Property("softmax of the additive scores", 3, both(equals(additive_weights), inputs_unchanged)),
            ),
            misconceptions=(
                Misconception(
                    "softmax over the batch",
                    "this is what a softmax over the batch (dim=0) gives: pictures compete, not the locations of one",
                    lambda **named: additive_scores(**named).softmax(0),
                    breaks="the weights of each picture sum to one",
                ),
                Misconception(
                    "softmax over everything",
                    "this is a softmax over all numbers of the batch at once: each picture needs its own",
                    lambda **named: additive_scores(**named).flatten().softmax(0).view(named["keys"].shape[:2]),
                    breaks="one picture has no influence on another",
                ),
                Misconception(
                    "softmax forgotten",
                    "these are the scores: the softmax that turns them into shares of one is missing",
                    additive_scores,
                    breaks="the weights of each picture sum to one",
                ),
                Misconception(
                    "query without an axis for the locations",
                    "the projected query is (batch, d_hidden), the projected keys are (batch, location, d_hidden): "
                    "the query lacks the axis of the locations; `[:, None, :]` makes it (batch, 1, d_hidden)",
                    weights_without_new_axis,
                    breaks="one picture has no influence on another",
                ),
                Misconception(
                    "weights not transposed",
                    "query_weight is (d_hidden, d_query) and a query (batch, d_query): their product is `query @ "
                    "query_weight.T`, and likewise `keys @ key_weight.T`",
                    lambda query_weight, key_weight, **named: additive_weights(
                        query_weight=query_weight.T, key_weight=key_weight.T, **named
                    ),
                    breaks="softmax of the additive scores",
                ),
                Misconception(
                    "no tanh",
                    "this is what comes without the tanh: the query then adds the same to every score, the softmax "
                    "takes it out, and every word looks at the same place",
                    lambda score_weight, **named: (additive_hidden(**named) @ score_weight).softmax(1),
                    breaks="softmax of the additive scores",
                ),
                Misconception(
                    "tanh too late",
                    "this applies tanh to the score, after score_weight; it belongs to the hidden layer, before it",
                    lambda score_weight, **named: (additive_hidden(**named) @ score_weight).tanh().softmax(1),
                    breaks="softmax of the additive scores",
                ),
                Misconception(
                    "dot product",
                    "this is the dot product of the projected query and key; here they are added",
                    weights_by_dot_product,
                    breaks="softmax of the additive scores",
                ),
                Misconception(
                    "query forgotten",
                    "this depends on the keys alone: the query was not added",
                    lambda **named: additive_weights(**(named | {"query": torch.zeros_like(named["query"])})),
                    breaks="softmax of the additive scores",
                ),
            ),
        ),
    ),
    hints=(
        "Which axis holds the locations of one picture? The weights along that axis are shares of one whole.",
        "Project the query to (batch, 1, d_hidden) and the keys to (batch, location, d_hidden); add them by "
        "broadcasting; tanh; a product with score_weight leaves one score a location; softmax over the locations.",
        "`hidden = torch.tanh((query @ query_weight.T)[:, None, :] + keys @ key_weight.T)`; the scores are "
        "`hidden @ score_weight`.",
    ),
)

# ---------------------------------------------------------------- 02.3 attend


def attend(weights, values):
    """Sum of the values, each times its weight."""
    return (weights[:, None] @ values)[:, 0]


def draw_weights_and_values(generator: torch.Generator) -> Case:
    """Draw shares and values."""
    batch, location, d_value = sizes(generator, 4, 5, 4, least=2)
    return {"weights": shares(generator, batch, location), "values": normal(generator, batch, location, d_value)}


def one_hot(case: Case) -> Case:
    """Put all weight on the location that has most."""
    return case | {"weights": (case["weights"] == case["weights"].amax(1, keepdim=True)).float()}


def values_near_ten(case: Case) -> Case:
    """Move the values away from zero, so that an average which does not sum to one leaves their hull."""
    return case | {"values": case["values"] + 10}


def attend_in_place(weights, values):
    """Attend, overwriting the values."""
    values *= weights[..., None]
    return values.sum(1)


ATTEND = Exercise(
    id="02.3",
    title="Attend",
    difficulty=1,
    minutes=10,
    tasks=(
        Task(
            function="attend",
            parameters=("weights", "values"),
            returns="the context, shape (batch, d_value)",
            cases=draw_weights_and_values,
            examples=(
                {
                    "weights": torch.tensor([[0.25, 0.75], [0.9, 0.1]]),
                    "values": torch.tensor([[[0.0], [4.0]], [[10.0], [20.0]]]),
                },
            ),
            reference=attend,
            properties=(
                Property("one-hot weights return the exact value", 2, on(one_hot, equals(attend, tolerance=0))),
                Property("the context lies among the values", 1, on(values_near_ten, in_convex_hull("values", attend))),
                Property("the sum of the weighted values", 2, equals(attend)),
                Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
            ),
            misconceptions=(
                Misconception(
                    "mean for sum",
                    "this divides by the number of locations after weighting; the weights already sum to one",
                    lambda weights, values: (weights[..., None] * values).mean(1),
                    breaks="the context lies among the values",
                ),
                Misconception(
                    "the best location only",
                    "this returns the value of the greatest weight and drops the rest: that is hard attention",
                    lambda weights, values: attend(**one_hot({"weights": weights, "values": values})),
                    breaks="the sum of the weighted values",
                ),
                Misconception(
                    "a second softmax",
                    "this takes the softmax of the weights, which are shares already: it flattens them",
                    lambda weights, values: attend(weights.softmax(1), values),
                    breaks="one-hot weights return the exact value",
                ),
                Misconception(
                    "weights ignored",
                    "this is the plain mean of the values: the weights were not used",
                    lambda weights, values: values.mean(1),
                    breaks="one-hot weights return the exact value",
                ),
                Misconception(
                    "not summed",
                    "these are the weighted values before they are summed over the locations",
                    lambda weights, values: weights[..., None] * values,
                    breaks="the sum of the weighted values",
                ),
                Misconception(
                    "values overwritten",
                    "this multiplies the caller's values in place (`values *= ...`)",
                    attend_in_place,
                    breaks="inputs unchanged",
                ),
            ),
        ),
    ),
    hints=(
        "If one weight is 1 and the others 0, what must come out? Which axis disappears?",
        "Give the weights a last axis, so that each multiplies the whole value of its location, and sum over the "
        "locations.",
        "`(weights[..., None] * values).sum(dim=1)`, or an einsum that sums over `location` and keeps `batch`.",
    ),
)

# ---------------------------------------------------------------- 02.4 coverage penalty


def coverage_penalty(weights):
    """Squared gap between 1 and the attention that a location receives in all, summed over locations."""
    return (1 - weights.sum(1)).square().sum(1)


def draw_weights_over_time(generator: torch.Generator) -> Case:
    """Draw shares for each time."""
    return {"weights": shares(generator, *sizes(generator, 4, 5, 5, least=2))}


def evenly_covered(case: Case) -> Case:
    """Scale the weights of each location so that they sum to one over time."""
    weights = case["weights"] + 0.1  # a location that is never read could not be scaled
    return {"weights": weights / weights.sum(1, keepdim=True)}


COVERAGE_PENALTY = Exercise(
    id="02.4",
    title="Coverage penalty",
    difficulty=2,
    minutes=15,
    tasks=(
        Task(
            function="coverage_penalty",
            parameters=("weights",),
            returns="one penalty for each picture, shape (batch,)",
            cases=draw_weights_over_time,
            examples=(
                {"weights": torch.tensor([[[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]])},
                {"weights": torch.tensor([[[0.9, 0.1], [0.3, 0.7]], [[0.5, 0.5], [0.5, 0.5]]])},
            ),
            reference=coverage_penalty,
            properties=(
                Property("zero when all is read exactly once", 2, on(evenly_covered, equals(coverage_penalty))),
                Property("the sum of squared gaps", 3, both(equals(coverage_penalty), inputs_unchanged)),
            ),
            misconceptions=(
                Misconception(
                    "axes exchanged",
                    "this sums over the locations first, where the weights always sum to one; sum over time first",
                    lambda weights: (1 - weights.sum(2)).square().sum(1),
                    breaks="the sum of squared gaps",
                ),
                Misconception(
                    "squared too early",
                    "this squares 1 - weight at every time; first sum over time, then take it from 1 and square",
                    lambda weights: (1 - weights).square().sum((1, 2)),
                    breaks="zero when all is read exactly once",
                ),
                Misconception(
                    "not squared",
                    "this adds the gaps without squaring them: too much here makes up for too little there",
                    lambda weights: (1 - weights.sum(1)).sum(1),
                    breaks="the sum of squared gaps",
                ),
                Misconception(
                    "mean for sum",
                    "this is the mean over the locations; the penalty is their sum",
                    lambda weights: (1 - weights.sum(1)).square().mean(1),
                    breaks="the sum of squared gaps",
                ),
                Misconception(
                    "summed over the batch",
                    "this is one number for the whole batch; each picture has its own penalty",
                    lambda weights: coverage_penalty(weights).sum(),
                    breaks="the sum of squared gaps",
                ),
            ),
        ),
    ),
    hints=(
        "How much attention has one location received over the whole sentence? Which axis is that sum over?",
        "Sum over time, take the result from 1, square, and sum over the locations; the batch stays.",
        "`gaps = 1 - weights.sum(dim=1)`, shape (batch, location); then the squares of `gaps`, summed over dim=1.",
    ),
)

# ---------------------------------------------------------------- 02.5 the gradient of hard attention


def hard_attention_gradient(scores, index, reward, baseline):
    """Advantage times (one-hot minus softmax)."""
    surprise = torch.nn.functional.one_hot(index, scores.shape[1]) - scores.softmax(1)
    return (reward - baseline)[:, None] * surprise


def draw_sample(generator: torch.Generator) -> Case:
    """Draw scores, a sampled location, a reward and a baseline."""
    batch, location = sizes(generator, 4, 5, least=2)
    return {
        "scores": normal(generator, batch, location),
        "index": torch.randint(location, (batch,), generator=generator),
        "reward": normal(generator, batch),
        "baseline": uniform(generator, 0.5, 2.0),
    }


def unbiased(call: Call, case: Case) -> str | None:
    """The mean of the estimate over the location that is sampled is autograd's gradient of the expected reward.

    Every location of every picture is one row of a single call: the mean is a sum and no sample is drawn.
    """
    batch, location = case["scores"].shape
    rewards = torch.linspace(-1, 1, location) * case["reward"][:, None] + torch.arange(location) / 2
    every = {
        "scores": case["scores"].repeat_interleave(location, 0),
        "index": torch.arange(location).repeat(batch),
        "reward": rewards.flatten(),
        "baseline": case["baseline"],
    }
    # An estimate has the shape of the scores; what it should be for a single sample is no matter here.
    estimates = answer_like(lambda scores, **rest: scores, call, every)[0].view(batch, location, location)
    scores = case["scores"].clone().requires_grad_()
    with torch.enable_grad():
        weights = scores.softmax(1)
        (gradient,) = torch.autograd.grad((weights * rewards).sum(), scores)
    mean = (weights.detach()[:, None] @ estimates)[:, 0]
    found = difference(mean, gradient)
    return f"{describe_case(every)}: weighted by the softmax and summed over index, {found}" if found else None


def gradient_in_place(scores, index, reward, baseline):
    """The right estimate, overwriting the scores."""
    scores -= scores.amax(1, keepdim=True)
    return hard_attention_gradient(scores, index, reward, baseline)


def one_hot_alone(scores, index, reward, baseline):
    """The estimate without the softmax."""
    return (reward - baseline)[:, None] * torch.nn.functional.one_hot(index, scores.shape[1])


def sampled_probability(scores, index):
    """The probability of the location that was sampled."""
    return scores.softmax(1).gather(1, index[:, None])


HARD_ATTENTION = Exercise(
    id="02.5",
    title="The gradient of hard attention",
    difficulty=4,
    minutes=40,
    tasks=(
        Task(
            function="hard_attention_gradient",
            parameters=("scores", "index", "reward", "baseline"),
            returns="the estimate of the gradient by the scores, shape (batch, location)",
            cases=draw_sample,
            examples=(
                {
                    "scores": torch.tensor([[0.0, 3.0], [1.0, 0.0]]).log1p(),
                    "index": torch.tensor([0, 0]),
                    "reward": torch.tensor([3.0, 2.0]),
                    "baseline": 1.0,
                },
            ),
            reference=hard_attention_gradient,
            properties=(
                Property("the estimate from one sample", 3, equals(hard_attention_gradient)),
                Property("unbiased, whatever the baseline", 3, unbiased),
                Property("each row sums to zero", 1, sums_to(0, hard_attention_gradient)),
                Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
            ),
            misconceptions=(
                Misconception(
                    "weights not taken off",
                    "this pays the sampled location and takes nothing from the rest: minus softmax(scores) is missing",
                    one_hot_alone,
                    breaks="each row sums to zero",
                ),
                Misconception(
                    "one-hot without a width",
                    "`one_hot(index)` is only as wide as the largest index of the batch; `num_classes=scores.shape[1]` "
                    "makes it (batch, location)",
                    lambda scores, index, reward, baseline: (
                        (reward - baseline)[:, None] * (torch.nn.functional.one_hot(index) - scores.softmax(1))
                    ),
                    breaks="the estimate from one sample",
                ),
                Misconception(
                    "sign turned",
                    "this is the negative: a reward above the baseline must raise the score of the sampled location",
                    lambda **named: -hard_attention_gradient(**named),
                    breaks="unbiased, whatever the baseline",
                ),
                Misconception(
                    "baseline added",
                    "this adds the baseline to the reward; it is subtracted",
                    lambda baseline, **named: hard_attention_gradient(baseline=-baseline, **named),
                    breaks="the estimate from one sample",
                ),
                Misconception(
                    "baseline ignored",
                    "this leaves the baseline out: right on average, but not the estimate that was asked for",
                    lambda baseline, **named: hard_attention_gradient(baseline=0, **named),
                    breaks="the estimate from one sample",
                ),
                Misconception(
                    "probability counted twice",
                    "this multiplies by the probability of the sample; sampling has already counted it",
                    lambda **named: (
                        hard_attention_gradient(**named) * sampled_probability(named["scores"], named["index"])
                    ),
                    breaks="unbiased, whatever the baseline",
                ),
                Misconception(
                    "scores for weights",
                    "this takes the scores off instead of their softmax",
                    lambda scores, index, reward, baseline: (
                        one_hot_alone(scores, index, reward, baseline) - (reward - baseline)[:, None] * scores
                    ),
                    breaks="each row sums to zero",
                ),
                Misconception(
                    "scores overwritten",
                    "this subtracts the maximum from the caller's scores in place (`scores -= ...`)",
                    gradient_in_place,
                    breaks="inputs unchanged",
                ),
            ),
        ),
    ),
    hints=(
        "log p of the sampled location is its score minus the logarithm of a sum. What is the derivative by that score "
        "itself, and what by any other? The example shows both.",
        "The gradient of log softmax(scores)[index] by the scores is one_hot(index) - softmax(scores). Multiply it by "
        "what the reward says beyond the baseline.",
        "`advantage = (reward - baseline)[:, None]`, shape (batch, 1); it multiplies "
        "`one_hot(index, scores.shape[1]) - scores.softmax(dim=1)`.",
    ),
)

EXERCISES = (MAP_TO_ROWS, ADDITIVE_WEIGHTS, ATTEND, COVERAGE_PENALTY, HARD_ATTENTION)
