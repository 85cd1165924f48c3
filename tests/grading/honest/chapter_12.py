import torch
from einops import rearrange, reduce, repeat
from torch import nn
from torch.nn import functional

from tests.grading.honest.registry import honest

# ---------------------------------------------------------------- 12.1


@honest("mask_words")
def _(tokens, lots, fates, draws, vocabulary, mask, first_word, share):
    """Place by place, as one reads the rule."""
    inputs, targets = tokens.clone(), torch.full_like(tokens, -100)
    for row in range(tokens.shape[0]):
        for place in range(tokens.shape[1]):
            if tokens[row, place] < first_word or lots[row, place] >= share:
                continue
            targets[row, place] = tokens[row, place]
            if fates[row, place] < 0.8:
                inputs[row, place] = mask
            elif fates[row, place] < 0.9:
                inputs[row, place] = first_word + int(draws[row, place] * (vocabulary - first_word))
    return inputs, targets


@honest("mask_words")
def _(tokens, lots, fates, draws, vocabulary, mask, first_word, share):
    """Written by truth values into copies."""
    chosen = tokens.ge(first_word) & lots.lt(share)
    targets = tokens.masked_fill(~chosen, -100)
    inputs = tokens.clone()
    masked = chosen & (fates < 0.8)
    swapped = chosen & ~masked & (fates < 0.9)
    words = torch.floor(draws * (vocabulary - first_word)).to(torch.int64) + first_word
    inputs[swapped] = words[swapped]
    inputs[masked] = mask
    return inputs, targets


@honest("mask_words")
def _(tokens, lots, fates, draws, vocabulary, mask, first_word, share):
    """Everything swapped first, <mask> laid over it, and what is kept put back."""
    words = (draws * (vocabulary - first_word)).int() + first_word
    changed = torch.where(fates < 0.8, torch.full_like(tokens, mask), words.to(tokens.dtype))
    changed = torch.where(fates >= 0.9, tokens, changed)
    chosen = torch.logical_and(lots < share, tokens >= first_word)
    return torch.where(chosen, changed, tokens), torch.where(chosen, tokens, torch.full_like(tokens, -100))


@honest("mask_words")
def _(tokens, lots, fates, draws, vocabulary, mask, first_word, share):
    """One of three by number."""
    words = first_word + (draws * (vocabulary - first_word)).long()
    fate = (fates >= 0.8).long() + (fates >= 0.9).long()
    candidates = torch.stack([torch.full_like(tokens, mask), words, tokens])
    read = candidates.gather(0, fate[None])[0]
    chosen = ((lots < share) & (tokens >= first_word)).long()
    return chosen * read + (1 - chosen) * tokens, chosen * tokens - 100 * (1 - chosen)


# ---------------------------------------------------------------- 12.2


@honest("patchify")
def _(images, size):
    return rearrange(images, "batch c (rows i) (columns j) -> batch (rows columns) (c i j)", i=size, j=size)


@honest("patchify")
def _(images, size):
    """Square by square."""
    _, _, height, width = images.shape
    squares = [
        images[:, :, top : top + size, left : left + size].flatten(1)
        for top in range(0, height, size)
        for left in range(0, width, size)
    ]
    return torch.stack(squares, dim=1)


@honest("patchify")
def _(images, size):
    """By windows that do not overlap."""
    windows = images.unfold(2, size, size).unfold(3, size, size)  # (batch, channels, rows, columns, size, size)
    windows = windows.movedim(1, 3)
    return windows.reshape(windows.shape[0], windows.shape[1] * windows.shape[2], -1)


@honest("patchify")
def _(images, size):
    """By a table of pixel numbers."""
    batch, channels, height, width = images.shape
    pixels = torch.arange(channels * height * width).view(channels, height, width)
    squares = [part.reshape(-1) for rows in pixels.split(size, dim=1) for part in rows.split(size, dim=2)]
    return images.reshape(batch, -1)[:, torch.stack(squares)]


@honest("unpatchify")
def _(patches, size, channels, height, width):
    pattern = "batch (rows columns) (c i j) -> batch c (rows i) (columns j)"
    return rearrange(patches, pattern, rows=height // size, columns=width // size, i=size, j=size)


@honest("unpatchify")
def _(patches, size, channels, height, width):
    """Square by square into a picture of zeros."""
    images = torch.zeros(patches.shape[0], channels, height, width)
    for number in range(patches.shape[1]):
        row, column = divmod(number, width // size)
        top, left = row * size, column * size
        square = patches[:, number].reshape(-1, channels, size, size)
        images[:, :, top : top + size, left : left + size] = square
    return images


@honest("unpatchify")
def _(patches, size, channels, height, width):
    """Rows of squares joined, then rows joined."""
    squares = patches.unflatten(-1, (channels, size, size)).unbind(1)
    columns = width // size
    rows = [torch.cat(squares[first : first + columns], dim=-1) for first in range(0, len(squares), columns)]
    return torch.cat(rows, dim=-2)


@honest("unpatchify")
def _(patches, size, channels, height, width):
    """Pixel by pixel, which patch and where in it."""
    y, x = torch.arange(height)[:, None], torch.arange(width)[None]
    patch = (y // size) * (width // size) + x // size  # (height, width)
    inside = (y % size) * size + x % size
    return torch.stack([patches[:, patch, channel * size * size + inside] for channel in range(channels)], dim=1)


# ---------------------------------------------------------------- 12.3


@honest("ClassToken")
class ByExpand(nn.Module):
    def __init__(self, patches, d_model):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(d_model))
        self.positions = nn.Parameter(0.02 * torch.randn(patches + 1, d_model))

    def forward(self, vectors):
        token = repeat(self.token, "d -> batch 1 d", batch=vectors.shape[0])
        return torch.concatenate((token, vectors), dim=1) + self.positions[None]


@honest("ClassToken")
class AddedFirst(nn.Module):
    """The positions added to each part before they are joined."""

    def __init__(self, patches: int, d_model: int):
        super().__init__()
        self.positions = nn.Parameter(torch.empty(1 + patches, d_model).normal_())
        self.token = nn.Parameter(torch.empty(d_model).normal_())

    def forward(self, vectors):
        first = (self.token + self.positions[0]).repeat(len(vectors), 1, 1)
        return torch.cat([first, vectors + self.positions[1:]], dim=-2)


@honest("ClassToken")
class PictureByPicture(nn.Module):
    def __init__(self, patches, d_model):
        super().__init__()
        self.token = nn.Parameter(torch.randn(d_model))
        self.positions = nn.Parameter(torch.randn(patches + 1, d_model))

    def forward(self, vectors):
        return torch.stack([torch.vstack([self.token, *picture]) + self.positions for picture in vectors])


@honest("ClassToken")
class WithRoomInFront(nn.Module):
    """A row of zeros in front, to which the token is added."""

    def __init__(self, patches, d_model):
        super().__init__()
        self.token = nn.Parameter(torch.ones(d_model))
        self.positions = nn.Parameter(torch.ones(patches + 1, d_model))

    def forward(self, vectors):
        first = functional.one_hot(torch.tensor(0), vectors.shape[1] + 1).to(vectors.dtype)
        return functional.pad(vectors, (0, 0, 1, 0)) + torch.outer(first, self.token) + self.positions


@honest("class_or_mean")
def _(vectors, weight, bias):
    return vectors[:, 0] @ weight.T + bias, vectors[:, 1:].mean(dim=1) @ weight.T + bias


@honest("class_or_mean")
def _(vectors, weight, bias):
    """The mean of the scores of all patches: the layer is linear, and the order makes no difference."""
    scores = functional.linear(vectors, weight, bias)
    return scores.select(1, 0), scores.narrow(1, 1, vectors.size(1) - 1).mean(1)


@honest("class_or_mean")
def _(vectors, weight, bias):
    """The sum of all less the class token, divided by the number of patches; einsum."""
    first = vectors[:, 0, :]
    others = (vectors.sum(1) - first) / (vectors.shape[1] - 1)
    return tuple(torch.einsum("bd,cd->bc", each, weight) + bias for each in (first, others))


@honest("class_or_mean")
def _(vectors, weight, bias):
    first, rest = vectors.split([1, vectors.shape[1] - 1], dim=1)
    mean = reduce(rest, "batch patches d -> batch d", "mean")
    return torch.addmm(bias, first.squeeze(1), weight.mT), torch.addmm(bias, mean, weight.mT)


# ---------------------------------------------------------------- 12.4


@honest("family_mask")
def _(direction, time):
    """By the difference of the places."""
    places = torch.arange(time)
    return (places[None, :] - places[:, None]) * direction <= 0


@honest("family_mask")
def _(direction, time):
    mask = torch.ones(time, time, dtype=torch.bool)
    if direction == 0:
        return mask
    return torch.tril(mask) if direction > 0 else torch.tril(mask).T


@honest("family_mask")
def _(direction, time):
    """Mirrored in both axes."""
    causal = torch.tril(torch.ones(time, time)) == 1
    return {0: causal | ~causal, 1: causal, -1: causal.flip(0, 1)}[direction]


@honest("family_mask")
def _(direction, time):
    """Entry by entry."""
    rows = [
        [
            direction == 0 or (direction == 1 and read <= place) or (direction == -1 and read >= place)
            for read in range(time)
        ]
        for place in range(time)
    ]
    return torch.tensor(rows)


@honest("family_targets")
def _(tokens, chosen, direction):
    targets = torch.full_like(tokens, -100)
    if direction == 0:
        targets[chosen] = tokens[chosen]
    elif direction == 1:
        targets[:, :-1] = tokens[:, 1:]
    else:
        targets[:, 1:] = tokens[:, :-1]
    return targets


@honest("family_targets")
def _(tokens, chosen, direction):
    """Rolled, and the edge filled."""
    if direction == 0:
        return tokens.masked_fill(~chosen, -100)
    targets = tokens.roll(-direction, dims=1)
    targets[:, -1 if direction == 1 else 0] = -100
    return targets


@honest("family_targets")
def _(tokens, chosen, direction):
    """Reading from the right is reading from the left, mirrored."""
    if direction == 0:
        return torch.where(chosen, tokens, -100)
    if direction == -1:
        return functional.pad(tokens.flip(1)[:, 1:], (0, 1), value=-100).flip(1)
    return torch.cat([tokens[:, 1:], tokens.new_full((len(tokens), 1), -100)], dim=1)


@honest("family_targets")
def _(tokens, chosen, direction):
    """Place by place."""
    batch, time = tokens.shape
    targets = -100 * torch.ones(batch, time, dtype=torch.long)
    for row in range(batch):
        for place in range(time):
            due = place + direction
            if 0 <= due < time and (direction != 0 or chosen[row, place]):
                targets[row, place] = tokens[row, due]
    return targets


@honest("read_from_the_right")
def _(model, tokens):
    return torch.flip(model(torch.flip(tokens, [1])), [1])


@honest("read_from_the_right")
def _(model, tokens):
    """By an order of the places, and the order that undoes it."""
    backwards = torch.arange(tokens.shape[1] - 1, -1, -1)
    return model(tokens[:, backwards])[:, backwards.argsort()]


@honest("read_from_the_right")
def _(model, tokens):
    """One text at a time."""
    return torch.cat([model(text.flip(0)[None]).flip(1) for text in tokens])


@honest("read_from_the_right")
def _(model, tokens):
    """One place at a time: what stands from it on, turned round, and its last scores."""
    places = [model(tokens[:, place:].fliplr())[:, -1] for place in range(tokens.shape[1])]
    return torch.stack(places, dim=1)


# ---------------------------------------------------------------- 12.5


@honest("nearest_mean")
def _(features, labels, questions):
    classes = labels.unique()
    means = torch.stack([features[labels == each].mean(dim=0) for each in classes])
    return classes[torch.cdist(questions, means).argmin(dim=1)]


@honest("nearest_mean")
def _(features, labels, questions):
    """Question by question, class by class."""
    answers = []
    for question in questions:
        distance = {
            label: (question - features[labels == label].mean(0)).norm().item() for label in set(labels.tolist())
        }
        answers.append(min(distance, key=distance.get))
    return torch.tensor(answers)


@honest("nearest_mean")
def _(features, labels, questions):
    """Means of all classes up to the greatest, and an infinite distance where there is none."""
    number = int(labels.max()) + 1
    count = torch.bincount(labels, minlength=number)
    total = torch.zeros(number, features.shape[1]).index_add_(0, labels, features)
    means = total / count.clamp(min=1)[:, None]
    distance = (questions[:, None, :] - means[None]).pow(2).sum(-1)
    return distance.masked_fill(count == 0, float("inf")).argmin(-1)


@honest("nearest_mean")
def _(features, labels, questions):
    """The square multiplied out: the question's own square is the same for all classes."""
    seen = torch.unique(labels)
    belongs = (labels[None] == seen[:, None]).float()
    means = (belongs / belongs.sum(1, keepdim=True)) @ features
    return seen[(questions @ means.T - means.square().sum(1) / 2).argmax(1)]


@honest("accuracy_by_number")
def _(classifier, features, labels, held_out, held_out_labels, order, numbers):
    accuracies = torch.zeros(len(numbers))
    for place, number in enumerate(numbers):
        seen = order[: int(number)]
        middle = features[seen].mean(dim=0, keepdim=True)
        answers = classifier(features[seen] - middle, labels[seen], held_out - middle)
        accuracies[place] = (answers == held_out_labels).sum() / len(held_out_labels)
    return accuracies


@honest("accuracy_by_number")
def _(classifier, features, labels, held_out, held_out_labels, order, numbers):
    """The file put in order first; the mean by a sum; names for arguments."""
    features, labels = features[order], labels[order]
    running = features.cumsum(0)
    shares = []
    for number in numbers.tolist():
        middle = running[number - 1] / number
        said = classifier(questions=held_out - middle, features=features[:number] - middle, labels=labels[:number])
        shares.append(said.eq(held_out_labels).double().mean().item())
    return torch.tensor(shares)


@honest("accuracy_by_number")
def _(classifier, features, labels, held_out, held_out_labels, order, numbers):
    """By truth values, which leaves the seen ones in the order of the file; questions one by one."""
    shares = []
    for number in numbers:
        seen = torch.zeros(len(features), dtype=torch.bool)
        seen[order[:number]] = True
        middle = features[seen].sum(0) / seen.sum()
        right = [
            classifier(features[seen] - middle, labels[seen], question[None] - middle)[0] == due
            for question, due in zip(held_out, held_out_labels, strict=True)
        ]
        shares.append(torch.stack(right).float().mean())
    return torch.stack(shares)
