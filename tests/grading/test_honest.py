"""Right answers that are written differently from the reference earn full marks, whatever the random cases."""

import pytest
import torch
from einops import rearrange, reduce, repeat

from course_lib.grading.call import in_process
from course_lib.grading.declarations import chapters, exercises
from course_lib.grading.judging import judge_task

SEEDS = range(20)
VARIANTS: dict[str, list] = {}


def honest(task: str):
    """Register a right answer to `task`."""

    def register(function):
        VARIANTS.setdefault(task, []).append(function)
        return function

    return register


# ---------------------------------------------------------------- 00.1


@honest("channels_last")
def _(images):
    return images.movedim(1, -1)


@honest("channels_last")
def _(images):
    return torch.stack(images.unbind(1), dim=-1)


@honest("channels_last")
def _(images):
    return torch.einsum("bchw->bhwc", images.double()).float().contiguous()


@honest("side_by_side")
def _(images):
    return images.permute(1, 2, 0, 3).reshape(images.shape[1], images.shape[2], -1)


@honest("side_by_side")
def _(images):
    wide = torch.zeros(images.shape[1], images.shape[2], images.shape[0] * images.shape[3])
    for number, image in enumerate(images):
        wide[:, :, number * images.shape[3] : (number + 1) * images.shape[3]] = image
    return wide


@honest("side_by_side")
def _(images):
    return rearrange(images.double(), "b c h w -> c h (b w)").float()


@honest("average_pool")
def _(images):
    return (images[..., ::2, ::2] + images[..., 1::2, ::2] + images[..., ::2, 1::2] + images[..., 1::2, 1::2]) / 4


@honest("average_pool")
def _(images):
    return images.double().unfold(2, 2, 2).unfold(3, 2, 2).mean((-1, -2)).float()


@honest("average_pool")
def _(images):
    return reduce(images, "b c (h i) (w j) -> b c h w", "sum", i=2, j=2) * 0.25


@honest("interleave")
def _(left, right):
    both = torch.empty(left.shape[0], 2 * left.shape[1], left.shape[2])
    both[:, 0::2], both[:, 1::2] = left, right
    return both


@honest("interleave")
def _(left, right):
    return torch.cat([torch.stack([left[:, t], right[:, t]], 1) for t in range(left.shape[1])], 1)


@honest("interleave")
def _(left, right):
    return torch.cat([left, right], -1).view(left.shape[0], -1, left.shape[-1])


@honest("repeat_query")
def _(query, locations):
    return torch.stack([query] * locations, dim=1)


@honest("repeat_query")
def _(query, locations):
    return query.unsqueeze(1).repeat(1, locations, 1)


@honest("repeat_query")
def _(query, locations):
    return repeat(query, "b d -> b l d", l=locations) + torch.zeros(())


@honest("dot_products")
def _(query, key):
    return torch.einsum("bqd,bkd->bqk", query, key)


@honest("dot_products")
def _(query, key):
    return (query[:, :, None].double() * key[:, None].double()).sum(-1).float()


@honest("dot_products")
def _(query, key):
    rows = [[[torch.dot(q, k) for k in key[b]] for q in query[b]] for b in range(len(query))]
    return torch.stack([torch.stack([torch.stack(row) for row in table]) for table in rows])


# ---------------------------------------------------------------- 00.2 to 00.4


@honest("softmax")
def _(scores, temperature):
    scaled = scores / temperature
    return (scaled - scaled.logsumexp(-1, keepdim=True)).exp()


@honest("softmax")
def _(scores, temperature):
    scaled = scores.double() / temperature
    grown = torch.exp(scaled - scaled.max(-1, keepdim=True).values)
    return (grown / grown.sum(-1, keepdim=True)).to(scores.dtype)


@honest("softmax")
def _(scores, temperature):
    rows = scores.reshape(-1, scores.shape[-1])
    answers = []
    for row in rows:
        grown = ((row - row.max()) / temperature).exp()
        answers.append(grown / grown.sum())
    return torch.stack(answers).reshape(scores.shape)


@honest("softmax")
def _(scores, temperature):
    # One over the sum of exp(difference): no division of one exponential by another.
    return 1 / ((scores[..., None, :] - scores[..., :, None]) / temperature).exp().sum(-1)


@honest("softmax_jacobian")
def _(weights):
    return weights[..., :, None] * (torch.eye(weights.shape[-1]) - weights[..., None, :])


@honest("softmax_jacobian")
def _(weights):
    n = weights.shape[-1]
    jacobian = torch.zeros(*weights.shape, n)
    for i in range(n):
        for j in range(n):
            jacobian[..., i, j] = weights[..., i] * (int(i == j) - weights[..., j])
    return jacobian


@honest("softmax_jacobian")
def _(weights):
    wide = weights.double()
    return (torch.diag_embed(wide) - torch.einsum("...i,...j->...ij", wide, wide)).float()


@honest("softmax_jacobian")
def _(weights):
    # By autograd: the logarithm of the weights is one set of scores that gives them.
    rows = weights.reshape(-1, weights.shape[-1])
    jacobians = [torch.autograd.functional.jacobian(lambda s: s.softmax(-1), row.log()) for row in rows]
    return torch.stack(jacobians).reshape(*weights.shape, weights.shape[-1])


@honest("masked_mean")
def _(values, mask):
    answer = torch.zeros(values.shape[0], values.shape[2])
    for row in range(len(values)):
        if mask[row].any():
            answer[row] = values[row][mask[row]].mean(0)
    return answer


@honest("masked_mean")
def _(values, mask):
    return (torch.einsum("btd,bt->bd", values.double(), mask.double()) / mask.sum(1).clamp(min=1)[:, None]).float()


@honest("masked_mean")
def _(values, mask):
    kept = values.masked_fill(~mask[:, :, None], 0)
    count = mask.sum(1)[:, None]
    return torch.where(count > 0, kept.sum(1) / count, torch.zeros(()))


@honest("masked_mean")
def _(values, mask):
    return values.masked_fill(~mask[..., None], float("nan")).nanmean(1).nan_to_num(0)


# ---------------------------------------------------------------- 02.1 to 02.5


@honest("map_to_rows")
def _(feature_map):
    return feature_map.permute(0, 2, 3, 1).reshape(feature_map.shape[0], -1, feature_map.shape[1])


@honest("map_to_rows")
def _(feature_map):
    height, width = feature_map.shape[2:]
    return torch.stack([feature_map[:, :, row, column] for row in range(height) for column in range(width)], 1)


@honest("map_to_rows")
def _(feature_map):
    return torch.einsum("bfhw->bhwf", feature_map.double()).flatten(1, 2).float()


@honest("additive_weights")
def _(query, keys, query_weight, key_weight, score_weight):
    batch, location, _ = keys.shape
    scores = torch.zeros(batch, location)
    for b in range(batch):
        for place in range(location):
            scores[b, place] = score_weight @ torch.tanh(query_weight @ query[b] + key_weight @ keys[b, place])
    return torch.stack([row.softmax(0) for row in scores])


@honest("additive_weights")
def _(query, keys, query_weight, key_weight, score_weight):
    from_query = torch.einsum("bq,hq->bh", query.double(), query_weight.double())
    from_keys = torch.einsum("blk,hk->blh", keys.double(), key_weight.double())
    hidden = (from_query.unsqueeze(1) + from_keys).tanh()
    return torch.einsum("blh,h->bl", hidden, score_weight.double()).softmax(-1).float()


@honest("additive_weights")
def _(query, keys, query_weight, key_weight, score_weight):
    pairs = torch.cat([query[:, None].expand(-1, keys.shape[1], -1), keys], -1)
    hidden = torch.nn.functional.linear(pairs, torch.cat([query_weight, key_weight], 1)).tanh()
    grown = (hidden * score_weight).sum(-1).exp()
    return grown / grown.sum(1, keepdim=True)


@honest("attend")
def _(weights, values):
    return (weights.unsqueeze(-1) * values).sum(dim=1)


@honest("attend")
def _(weights, values):
    return torch.stack([sum(w * v for w, v in zip(*pair, strict=True)) for pair in zip(weights, values, strict=True)])


@honest("attend")
def _(weights, values):
    return torch.bmm(weights.double().unsqueeze(1), values.double()).squeeze(1).float()


@honest("coverage_penalty")
def _(weights):
    return torch.einsum("btl->bl", weights).sub(1).pow(2).sum(-1)


@honest("coverage_penalty")
def _(weights):
    gaps = torch.ones(weights.shape[0], weights.shape[2], dtype=torch.float64)
    for t in range(weights.shape[1]):
        gaps -= weights[:, t]
    return gaps.norm(dim=1).pow(2).float()


@honest("coverage_penalty")
def _(weights):
    return torch.stack([sum((1 - column.sum()) ** 2 for column in picture.T) for picture in weights])


@honest("hard_attention_gradient")
def _(scores, index, reward, baseline):
    estimate = -scores.softmax(1)
    estimate[torch.arange(len(index)), index] += 1
    return estimate * (reward - baseline).unsqueeze(1)


@honest("hard_attention_gradient")
def _(scores, index, reward, baseline):
    scores = scores.double().requires_grad_()
    chosen = scores.log_softmax(1).gather(1, index[:, None])[:, 0]
    ((reward - baseline) * chosen).sum().backward()
    return scores.grad.float()


@honest("hard_attention_gradient")
def _(scores, index, reward, baseline):
    rows = []
    for row, i, r in zip(scores, index, reward, strict=True):
        weights = row.exp() / row.exp().sum()
        rows.append(torch.stack([(r - baseline) * (int(place == i) - weights[place]) for place in range(len(row))]))
    return torch.stack(rows)


ALL = [(exercise, task) for chapter in chapters() for exercise in exercises(chapter) for task in exercise.tasks]


@pytest.mark.parametrize(("exercise", "task"), ALL, ids=[task.function for _, task in ALL])
def test_an_honest_variant_earns_full_marks(exercise, task):
    variants = VARIANTS[task.function]
    assert len(variants) >= 3
    for number, variant in enumerate(variants):
        for seed in SEEDS:
            result = judge_task(exercise, task, in_process(variant, task, exercise.forbidden), seed)
            problems = [verdict.problem for verdict in result.verdicts if verdict.problem]
            assert result.earned == task.points, f"variant {number}, seed {seed}: {problems}"
