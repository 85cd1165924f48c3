import torch
from einops import einsum, rearrange
from torch import nn
from torch.nn import functional

from tests.grading.honest.registry import honest

# ---------------------------------------------------------------- 09.1


class ThreeLayers(nn.Module):
    def __init__(self, d_model, d_memory, d_key):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_key)
        self.to_key = nn.Linear(d_memory, d_key)
        self.to_value = nn.Linear(d_memory, d_model)


@honest("CrossAttention")
class ByProducts(ThreeLayers):
    def forward(self, vectors, memory, present):
        query, key, value = self.to_query(vectors), self.to_key(memory), self.to_value(memory)
        scores = torch.bmm(query / key.shape[2] ** 0.5, key.transpose(1, 2))
        weights = torch.softmax(torch.where(present.unsqueeze(1), scores, float("-inf")), dim=2)
        return torch.bmm(weights, value), weights


@honest("CrossAttention")
class ByLoops(ThreeLayers):
    def forward(self, vectors, memory, present):
        outputs, rows = [], []
        for asking, read, there in zip(vectors, memory, present, strict=True):
            for vector in asking:
                query = self.to_query(vector)
                scores = torch.stack([query @ self.to_key(each) for each in read]) / len(query) ** 0.5
                weights = torch.zeros(len(read))
                weights[there] = scores[there].softmax(0)
                rows.append(weights)
                outputs.append(weights @ self.to_value(read))
        shape = vectors.shape[:2]
        return torch.stack(outputs).unflatten(0, shape), torch.stack(rows).unflatten(0, shape)


@honest("CrossAttention")
class ByEinsum(ThreeLayers):
    """A large negative number added, and the exponentials by hand."""

    def forward(self, vectors, memory, present):
        scores = einsum(self.to_query(vectors), self.to_key(memory), "b t d, b n d -> b t n")
        scores = scores * self.to_key.out_features**-0.5 + (~present)[:, None].float() * -1e9
        grown = (scores - scores.amax(-1, keepdim=True).detach()).exp()
        weights = grown / grown.sum(-1, keepdim=True)
        return einsum(weights, self.to_value(memory), "b t n, b n d -> b t d"), weights


# ---------------------------------------------------------------- 09.2


@honest("shift_right")
def _(targets, start, padding):
    words = functional.pad(targets[:, :-1], (1, 0), value=start)
    return words, targets.ne(padding)


@honest("shift_right")
def _(targets, start, padding):
    """Rolled, and the first place written over."""
    words = targets.roll(1, 1)
    words[:, 0] = start
    return words, ~(targets == padding)


@honest("shift_right")
def _(targets, start, padding):
    """In lists."""
    rows = targets.tolist()
    words = [[start, *row[:-1]] for row in rows]
    return torch.tensor(words), torch.tensor([[word != padding for word in row] for row in rows])


@honest("loss_at_every_step")
def _(scores, targets, counts):
    right = functional.one_hot(targets, scores.shape[-1])
    losses = (scores.logsumexp(-1) - (scores * right).sum(-1)) * counts
    return losses.sum() / counts.float().sum(), losses


@honest("loss_at_every_step")
def _(scores, targets, counts):
    """The mean of a row of those that count."""
    losses = -torch.log_softmax(scores, 2).gather(2, targets.unsqueeze(2)).squeeze(2)
    return losses[counts].mean(), losses.masked_fill(~counts, 0)


@honest("loss_at_every_step")
def _(scores, targets, counts):
    """Step by step."""
    rows = []
    for row, words, there in zip(scores, targets, counts, strict=True):
        for step, word, counted in zip(row, words, there, strict=True):
            top = step.max()
            rows.append(((step - top).exp().sum().log() + top - step[word]) * counted)
    losses = torch.stack(rows).reshape(targets.shape)
    return losses.sum() / int(counts.sum()), losses


# ---------------------------------------------------------------- 09.3


@honest("hides_the_future")
def _(model, source, words):
    """Cut off in place of replaced."""
    whole = model(source, words)
    cut = (model(source, words[:, :step]) for step in range(1, words.shape[1]))
    return all(torch.allclose(each, whole[:, : each.shape[1]], atol=1e-4) for each in cut)


@honest("hides_the_future")
def _(model, source, words):
    """One word at a time, by padding."""
    before, time = model(source, words), words.shape[1]
    for place in range(1, time):
        other = words.clone()
        other[:, place] = 0
        if bool(((model(source, other) - before)[:, :place].abs() > 1e-4).any()):
            return False
    return True


@honest("hides_the_future")
def _(model, source, words):
    """The word after, beyond the vocabulary too."""
    gaps = []
    for step in range(words.shape[1]):
        later = torch.arange(words.shape[1]) > step
        gap = model(source, words + later) - model(source, words)
        gaps.append(gap[:, step].abs().max())
    return torch.stack(gaps).max() < 1e-3


@honest("reads_the_source")
def _(model, source, words):
    before, (batch, places) = model(source, words), source.shape
    for row in range(batch):
        for place in range(places):
            if source[row, place] == 0:
                continue
            other = source.clone()
            other[row, place] = 1 if source[row, place] != 1 else 2
            if torch.allclose(model(other, words)[row], before[row], atol=1e-4):
                return False
    return True


@honest("reads_the_source")
def _(model, source, words):
    """Every other word tried."""
    before, moved = model(source, words), []
    for row, place in torch.argwhere(source > 0):
        gaps = []
        for word in range(1, before.shape[2]):
            other = source.clone()
            other[row, place] = word
            gaps.append((model(other, words)[row] - before[row]).abs().max())
        moved.append(max(gaps) > 1e-3)
    return torch.stack(moved).all()


@honest("reads_the_source")
def _(model, source, words):
    """One sentence of the batch at a time in another's company."""
    before = model(source, words)
    return not any(
        torch.equal(before[row], model(source + torch.eye(source.numel()).long()[cell].view_as(source), words)[row])
        for cell in range(source.numel())
        for row in [cell // source.shape[1]]
        if source.flatten()[cell]
    )


@honest("ignores_the_padding")
def _(model, source, words):
    longer = torch.cat([source, torch.zeros_like(source[:, :1])], 1)
    return torch.allclose(model(longer, words), model(source, words), rtol=0, atol=1e-4)


@honest("ignores_the_padding")
def _(model, source, words):
    longer = source.new_zeros(source.shape[0], source.shape[1] + 5)
    longer[:, : source.shape[1]] = source
    return (model(longer, words) - model(source, words)).abs().max() < 1e-3


@honest("ignores_the_padding")
def _(model, source, words):
    """One column more, and another."""
    before = model(source, words)
    for more in (1, 2, 3):
        if ((model(functional.pad(source, (0, more)), words) - before).abs() > 1e-4).any():
            return False
    return True


# ---------------------------------------------------------------- 09.4


@honest("beam_search")
def _(next_log_probabilities, prompt, end, width, longest):
    """All rows in one tensor, as a library does it."""
    rows, totals = prompt[None], torch.zeros(1)
    for _ in range(longest):
        over = (rows[:, len(prompt) :] == end).any(1)
        steps = next_log_probabilities(rows).clone()
        steps[over] = float("-inf")
        steps[over, end] = 0.0
        every = totals[:, None] + steps
        totals, place = every.flatten().topk(min(width, int(every.isfinite().sum())))
        parent, word = place // steps.shape[1], place % steps.shape[1]
        rows = torch.cat([rows[parent], word[:, None]], 1)
    return rows[0, len(prompt) :], totals[0]


@honest("beam_search")
def _(next_log_probabilities, prompt, end, width, longest):
    """Ends as soon as the best has ended, which nothing can overtake; one call for each step."""
    beam = [(0.0, [])]
    for _ in range(longest):
        if end in beam[0][1]:
            break
        rows = [words + [end] * (len(max(beam, key=lambda pair: len(pair[1]))[1]) - len(words)) for _, words in beam]
        tokens = torch.stack([torch.cat([prompt, torch.tensor(words, dtype=torch.long)]) for words in rows])
        table, new = next_log_probabilities(tokens), []
        for (total, words), row in zip(beam, table.tolist(), strict=True):
            new += [(total, words)] if end in words else [(total + each, [*words, w]) for w, each in enumerate(row)]
        beam = sorted(new, reverse=True)[:width]
    total, words = beam[0]
    filled = torch.full((longest,), end)
    filled[: len(words)] = torch.tensor(words, dtype=torch.long)
    return filled, torch.tensor(total)


@honest("beam_search")
def _(next_log_probabilities, prompt, end, width, longest):
    """A dictionary of rows and their totals as tensors."""
    beam = {(): torch.tensor(0.0)}
    for _ in range(longest):
        new = {}
        for words, total in beam.items():
            if words and words[-1] == end:
                new[words] = total
            else:
                row = next_log_probabilities(torch.tensor([[*prompt.tolist(), *words]]))[0]
                new |= {(*words, word): total + row[word] for word in range(len(row))}
        beam = dict(sorted(new.items(), key=lambda item: -float(item[1]))[:width])
    best = max(beam, key=beam.get)
    return torch.tensor([*best, *[end] * (longest - len(best))]), beam[best]


# ---------------------------------------------------------------- 09.5


@honest("smooth_targets")
def _(targets, vocabulary, smoothing):
    shares = torch.full((*targets.shape, vocabulary), smoothing / vocabulary)
    shares.scatter_(2, targets.unsqueeze(2), 1 - smoothing + smoothing / vocabulary)
    return shares


@honest("smooth_targets")
def _(targets, vocabulary, smoothing):
    return torch.lerp(torch.eye(vocabulary)[targets], torch.tensor(1 / vocabulary), smoothing)


@honest("smooth_targets")
def _(targets, vocabulary, smoothing):
    right = targets[..., None] == torch.arange(vocabulary)
    return torch.where(right, 1 - smoothing * (vocabulary - 1) / vocabulary, smoothing / vocabulary)


@honest("smoothed_losses")
def _(scores, targets, smoothing):
    """Two losses, mixed."""
    chances = scores.log_softmax(-1)
    right = chances.gather(-1, targets[..., None]).squeeze(-1)
    return -(1 - smoothing) * right - smoothing * chances.mean(-1)


@honest("smoothed_losses")
def _(scores, targets, smoothing):
    """From the sum of exponentials."""
    right = functional.one_hot(targets, scores.shape[-1]).to(scores.dtype)
    met = (scores * ((1 - smoothing) * right + smoothing / scores.size(-1))).sum(-1)
    return torch.logsumexp(scores, dim=-1) - met


@honest("smoothed_losses")
def _(scores, targets, smoothing):
    """Step by step, in double."""
    rows = []
    for step, word in zip(scores.flatten(0, 1).double(), targets.flatten().tolist(), strict=True):
        shares = torch.full_like(step, smoothing / len(step))
        shares[word] += 1 - smoothing
        rows.append(-(shares @ step.log_softmax(0)))
    return rearrange(torch.stack(rows).float(), "(batch time) -> batch time", batch=len(scores))
