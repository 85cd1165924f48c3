# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110

import math

import torch
import torch.nn.functional as F
from einops import rearrange, reduce
from torch import nn

# ------------------------------------------------------------------ mask_words


def mask_words__wrong_random_from_whole_vocabulary(
    tokens, selection, corruption, replacements, vocab_size, mask_id, first_word, mask_rate
):
    """Samples the random token from all tokens of the vocabulary, special ones too."""
    selected = (selection < mask_rate) & (tokens >= first_word)
    random_tokens = (replacements * vocab_size).long()
    inputs = torch.where(selected & (corruption < 0.9), random_tokens, tokens)
    inputs = torch.where(selected & (corruption < 0.8), mask_id, inputs)
    targets = torch.where(selected, tokens, -100)
    return inputs, targets


def mask_words__wrong_order_of_the_chapter(
    tokens, selection, corruption, replacements, vocab_size, mask_id, first_word, mask_rate
):
    """Keeps the word from 0.8 to 0.9 and samples from 0.9 on, as in the chapter's loop."""
    selected = (selection < mask_rate) & (tokens >= first_word)
    random_tokens = first_word + (replacements * (vocab_size - first_word)).long()
    inputs = tokens.clone()
    masked = selected & (corruption < 0.8)
    swapped = selected & (corruption >= 0.9)
    inputs[masked] = mask_id
    inputs[swapped] = random_tokens[swapped]
    targets = torch.full_like(tokens, -100)
    targets[selected] = tokens[selected]
    return inputs, targets


def mask_words__wrong_float_inputs(
    tokens, selection, corruption, replacements, vocab_size, mask_id, first_word, mask_rate
):
    """floor() leaves the random tokens float32, and torch.where makes the inputs floats, not integers."""
    selected = (selection < mask_rate) & (tokens >= first_word)
    random_tokens = first_word + torch.floor(replacements * (vocab_size - first_word))
    inputs = torch.where(selected & (corruption >= 0.8) & (corruption < 0.9), random_tokens, tokens)
    inputs = torch.where(selected & (corruption < 0.8), mask_id, inputs)
    targets = torch.where(selected, tokens, -100)
    return inputs, targets


def mask_words__wrong_tokens_changed(
    tokens, selection, corruption, replacements, vocab_size, mask_id, first_word, mask_rate
):
    """inputs = tokens is no copy, so the tokens that came in are masked too."""
    selected = (selection < mask_rate) & (tokens >= first_word)
    targets = torch.where(selected, tokens, -100)
    words = first_word + (replacements * (vocab_size - first_word)).long()
    inputs = tokens
    replace = selected & (corruption >= 0.8) & (corruption < 0.9)
    inputs[replace] = words[replace]
    inputs[selected & (corruption < 0.8)] = mask_id
    return inputs, targets


def mask_words__right_arithmetic(
    tokens, selection, corruption, replacements, vocab_size, mask_id, first_word, mask_rate
):
    """Right: truth values as the numbers 0 and 1, the three kinds of input added up."""
    selected = ((selection < mask_rate) & (tokens >= first_word)).long()
    hidden = selected * (corruption < 0.8).long()
    kept = selected * (corruption >= 0.9).long()
    sampled = selected - hidden - kept
    words = vocab_size - first_word
    random_tokens = first_word + torch.trunc(replacements * words).long()
    inputs = hidden * mask_id + sampled * random_tokens + (1 - hidden - sampled) * tokens
    targets = selected * tokens + (1 - selected) * -100
    return inputs, targets


# -------------------------------------------------------------------- patchify


def patchify__wrong_reshape_only(images, size):
    """A reshape without moving axes: what it calls a patch is a stretch of an image row, not a square."""
    batch, channels, height, width = images.shape
    n = (height // size) * (width // size)
    return images.reshape(batch, n, channels * size * size)


def patchify__wrong_channels_last(images, size):
    """Within a patch the channels of one pixel come together, instead of the first channel as a whole."""
    return rearrange(images, "b c (r y) (q x) -> b (r q) (y x c)", y=size, x=size)


def patchify__wrong_functional_unfold(images, size):
    """The right patches, but by torch.nn.functional.unfold, which may not be used."""
    return F.unfold(images, kernel_size=size, stride=size).transpose(1, 2)


def patchify__right_method_unfold(images, size):
    """Right: the tensor's own unfold, once for each of the two axes."""
    squares = images.unfold(2, size, size).unfold(3, size, size)
    return squares.permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)


# ------------------------------------------------------------------ unpatchify


def unpatchify__wrong_as_many_rows_as_columns(patches, size, channels, height, width):
    """Takes the root of the number of patches for both rows and columns, right for square images only."""
    side = int(math.sqrt(patches.shape[1]))
    return rearrange(patches, "b (r q) (c y x) -> b c (r y) (q x)", r=side, y=size, x=size, c=channels)


def unpatchify__wrong_axes_not_interleaved(patches, size, channels, height, width):
    """permute leaves rows and columns of patches beside each other, before the pixel axes."""
    batch = patches.shape[0]
    six = patches.reshape(batch, height // size, width // size, channels, size, size)
    return six.permute(0, 3, 1, 2, 4, 5).reshape(batch, channels, height, width)


def unpatchify__right_glued_strips(patches, size, channels, height, width):
    """Right: glues the squares of each row side by side, then the strips one below the other."""
    columns = width // size
    strips = []
    for r in range(height // size):
        squares = [patches[:, r * columns + q].reshape(-1, channels, size, size) for q in range(columns)]
        strips.append(torch.cat(squares, dim=3))
    return torch.cat(strips, dim=2)


# ------------------------------------------------------------------ ClassToken


class ClassToken__wrong_one_image_only(nn.Module):
    """Does not stretch the token over the batch, which works for a batch of one image only."""

    def __init__(self, patches, d_model):
        super().__init__()
        self.token = nn.Parameter(torch.randn(d_model))
        self.positions = nn.Parameter(torch.randn(patches + 1, d_model))

    def forward(self, vectors):
        x = torch.cat([self.token[None, None, :], vectors], dim=1)
        return x + self.positions


class ClassToken__wrong_token_without_gradient(nn.Module):
    """Writes the token's data into a buffer, so no gradient arrives at the token."""

    def __init__(self, patches, d_model):
        super().__init__()
        self.token = nn.Parameter(torch.randn(d_model) * 0.02)
        self.positions = nn.Parameter(torch.randn(patches + 1, d_model) * 0.02)

    def forward(self, vectors):
        batch, n, d_model = vectors.shape
        first = torch.zeros(batch, 1, d_model)
        first[:, 0] = self.token.data
        return torch.cat([first, vectors], dim=1) + self.positions


class ClassToken__right_padded(nn.Module):
    """Right: a row of zeros in front of the patches, to which the token is added by an outer product."""

    def __init__(self, patches, d_model):
        super().__init__()
        self.token = nn.Parameter(torch.empty(d_model).normal_(std=0.02))
        self.positions = nn.Parameter(torch.zeros(patches + 1, d_model))

    def forward(self, vectors):
        padded = F.pad(vectors, (0, 0, 1, 0))
        is_first = torch.zeros(padded.shape[1], dtype=vectors.dtype)
        is_first[0] = 1
        return padded + self.positions + torch.outer(is_first, self.token)


# --------------------------------------------------------------- class_or_mean


def class_or_mean__wrong_token_in_the_mean(vectors, weight, bias):
    """The mean is over all positions, the class token among them."""
    by_class = vectors[:, 0] @ weight.T + bias
    by_mean = vectors.mean(dim=1) @ weight.T + bias
    return by_class, by_mean


def class_or_mean__wrong_divided_by_one_more(vectors, weight, bias):
    """The sum over the patches is divided by the number of all positions."""
    by_class = F.linear(vectors[:, 0], weight, bias)
    mean = vectors[:, 1:].sum(dim=1) / vectors.shape[1]
    return by_class, F.linear(mean, weight, bias)


def class_or_mean__right_mean_of_logits(vectors, weight, bias):
    """Right: the layer is linear, so the mean of the patches' logits are the logits of their mean."""
    logits = torch.einsum("bpd,cd->bpc", vectors, weight) + bias
    return logits[:, 0], reduce(logits[:, 1:], "b p c -> b c", "mean")


# ----------------------------------------------------------------- family_mask


def family_mask__wrong_zero_as_minus_one(direction, time):
    """Has two cases only, so the bidirectional model gets the mask from right to left."""
    ones = torch.ones(time, time, dtype=torch.bool)
    if direction == 1:
        return ones.tril()
    else:
        return ones.triu()


def family_mask__wrong_numbers(direction, time):
    """Ones and zeros as float32, not truth values."""
    if direction == 0:
        return torch.ones(time, time)
    mask = torch.tril(torch.ones(time, time))
    return mask if direction == 1 else mask.T


def family_mask__right_one_comparison(direction, time):
    """Right: (key - query) * direction <= 0 covers all three directions."""
    position = torch.arange(time)
    return (position[None, :] - position[:, None]) * direction <= 0


# -------------------------------------------------------------- family_targets


def family_targets__wrong_rolled_round(tokens, selected, direction):
    """torch.roll puts the token of the other end where no target is."""
    if direction == 0:
        return tokens.masked_fill(~selected, -100)
    return tokens.roll(-direction, dims=1)


def family_targets__wrong_selected_everywhere(tokens, selected, direction):
    """Keeps targets at the selected positions only, for a model with one direction too."""
    none = torch.full_like(tokens[:, :1], -100)
    if direction == 1:
        targets = torch.cat([tokens[:, 1:], none], dim=1)
    elif direction == -1:
        targets = torch.cat([none, tokens[:, :-1]], dim=1)
    else:
        targets = tokens
    return torch.where(selected, targets, -100)


def family_targets__right_loop(tokens, selected, direction):
    """Right: asks every position for the one whose token it has to predict."""
    batch, time = tokens.shape
    targets = torch.full_like(tokens, -100)
    for b in range(batch):
        for t in range(time):
            source = t + direction
            if direction == 0 and not selected[b, t]:
                continue
            if 0 <= source < time:
                targets[b, t] = tokens[b, source]
    return targets


# -------------------------------------------------------- read_from_the_right


def read_from_the_right__wrong_not_turned_back(model, tokens):
    """The logits stay in reversed order and stand at the wrong words."""
    return model(tokens.flip(1))


def read_from_the_right__wrong_vocabulary_flipped(model, tokens):
    """flip(-1) on the logits turns the vocabulary round, not the time."""
    return model(tokens.flip(-1)).flip(-1)


def read_from_the_right__right_suffix_by_suffix(model, tokens):
    """Right: for each position the model reads the reversed suffix, and its last logits are taken."""
    columns = []
    for t in range(tokens.shape[1]):
        columns.append(model(tokens[:, t:].flip(1))[:, -1])
    return torch.stack(columns, dim=1)


# ---------------------------------------------------------------- nearest_mean


def nearest_mean__wrong_number_of_mean(features, labels, questions):
    """Returns which of the seen means is nearest, counted from 0, and not its label."""
    means = torch.stack([features[labels == c].mean(dim=0) for c in labels.unique()])
    return torch.cdist(questions, means).argmin(dim=1)


def nearest_mean__wrong_unseen_class_at_zero(features, labels, questions):
    """A class without examples gets the mean 0 (its count is clamped to 1) and may be the answer."""
    classes = int(labels.max()) + 1
    hot = F.one_hot(labels, classes).to(features.dtype)
    counts = hot.sum(dim=0).clamp(min=1)
    means = hot.T @ features / counts[:, None]
    distances = ((questions[:, None] - means[None]) ** 2).sum(dim=-1)
    return distances.argmin(dim=1)


def nearest_mean__wrong_sum_of_differences(features, labels, questions):
    """Uses the sum of absolute differences, which is the ordinary distance in one dimension only."""
    seen = labels.unique()
    means = torch.stack([features[labels == c].mean(0) for c in seen])
    distances = (questions[:, None, :] - means[None, :, :]).abs().sum(-1)
    return seen[distances.argmin(dim=1)]


def nearest_mean__right_infinite_distance(features, labels, questions):
    """Right: sums by index_add, and an infinite distance to the classes that have no example."""
    classes = int(labels.max()) + 1
    sums = features.new_zeros(classes, features.shape[1]).index_add(0, labels, features)
    counts = torch.bincount(labels, minlength=classes)
    means = sums / counts.clamp(min=1)[:, None]
    distances = (questions[:, None] - means).square().sum(-1).sqrt()
    distances[:, counts == 0] = torch.inf
    return distances.argmin(dim=1)


# ---------------------------------------------------------- accuracy_by_number


def accuracy_by_number__wrong_order_as_rank(classifier, features, labels, held_out, held_out_labels, order, numbers):
    """Takes the examples whose entry in order is below the number, as if order held ranks."""
    accuracies = []
    for n in numbers:
        seen = order < n
        mean = features[seen].mean(dim=0)
        answers = classifier(features[seen] - mean, labels[seen], held_out - mean)
        accuracies.append((answers == held_out_labels).float().mean())
    return torch.stack(accuracies)


def accuracy_by_number__wrong_held_out_by_its_own_mean(
    classifier, features, labels, held_out, held_out_labels, order, numbers
):
    """Centres the held-out features by their own mean, so answers depend on the other held-out examples."""
    accuracies = torch.zeros(len(numbers))
    for i, n in enumerate(numbers):
        seen = order[: int(n)]
        train = features[seen] - features[seen].mean(dim=0)
        test = held_out - held_out.mean(dim=0)
        answers = classifier(train, labels[seen], test)
        accuracies[i] = (answers == held_out_labels).float().mean()
    return accuracies


def accuracy_by_number__wrong_subtracted_in_place(
    classifier, features, labels, held_out, held_out_labels, order, numbers
):
    """held_out -= mean changes the argument, and the means of all numbers pile up in it."""
    accuracies = []
    for n in numbers.tolist():
        seen = order[:n]
        train = features[seen]
        mean = train.mean(dim=0)
        train -= mean
        held_out -= mean
        answers = classifier(train, labels[seen], held_out)
        accuracies.append((answers == held_out_labels).float().mean().item())
    return torch.tensor(accuracies)


def accuracy_by_number__right_one_question_at_a_time(
    classifier, features, labels, held_out, held_out_labels, order, numbers
):
    """Right: asks the classifier each question by itself and counts."""
    accuracies = []
    for n in numbers.tolist():
        seen = order[:n]
        mean = features[seen].sum(dim=0) / n
        right = 0
        for question, label in zip(held_out, held_out_labels):
            answer = classifier(features[seen] - mean, labels[seen], (question - mean)[None])
            right += int(answer[0] == label)
        accuracies.append(right / len(held_out))
    return torch.tensor(accuracies)
