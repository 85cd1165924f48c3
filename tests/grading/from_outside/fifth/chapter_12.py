# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110
import torch
from einops import rearrange
from torch import nn


def mask_words__wrong_special_tokens(
    tokens,
    selection,
    corruption,
    replacements,
    vocab_size,
    mask_id,
    first_word,
    mask_rate,
):
    """Selects special tokens like words."""
    selected = selection < mask_rate
    words = first_word + (replacements * (vocab_size - first_word)).long()
    inputs = torch.where(selected & (corruption >= 0.8) & (corruption < 0.9), words, tokens)
    inputs = torch.where(selected & (corruption < 0.8), mask_id, inputs)
    return inputs, torch.where(selected, tokens, -100)


def mask_words__wrong_kept_words(
    tokens,
    selection,
    corruption,
    replacements,
    vocab_size,
    mask_id,
    first_word,
    mask_rate,
):
    """A selected word that is kept gets no target, since the targets are made where the inputs have changed."""
    selected = (selection < mask_rate) & (tokens >= first_word)
    words = first_word + (replacements * (vocab_size - first_word)).long()
    inputs = tokens.clone()
    sampled = selected & (corruption >= 0.8) & (corruption < 0.9)
    inputs[sampled] = words[sampled]
    inputs[selected & (corruption < 0.8)] = mask_id
    targets = torch.full_like(tokens, -100)
    targets[inputs != tokens] = tokens[inputs != tokens]
    return inputs, targets


def mask_words__wrong_last_word(
    tokens,
    selection,
    corruption,
    replacements,
    vocab_size,
    mask_id,
    first_word,
    mask_rate,
):
    """Counts one word too few, so the last word of the vocabulary is never sampled."""
    selected = (selection < mask_rate) & (tokens >= first_word)
    words = (replacements * (vocab_size - first_word - 1)).floor().to(tokens.dtype) + first_word
    inputs = torch.where(corruption < 0.8, mask_id, torch.where(corruption < 0.9, words, tokens))
    inputs = torch.where(selected, inputs, tokens)
    targets = tokens.masked_fill(~selected, -100)
    return inputs, targets


def mask_words__wrong_in_place(
    tokens,
    selection,
    corruption,
    replacements,
    vocab_size,
    mask_id,
    first_word,
    mask_rate,
):
    """Writes the masks into the tokens of the caller."""
    selected = (selection < mask_rate) & (tokens >= first_word)
    targets = tokens.masked_fill(~selected, -100)
    words = (replacements * (vocab_size - first_word)).long() + first_word
    masked = selected & (corruption < 0.8)
    sampled = selected & (corruption >= 0.8) & (corruption < 0.9)
    tokens[masked] = mask_id
    tokens[sampled] = words[sampled]
    return tokens, targets


def mask_words__right_loops(
    tokens,
    selection,
    corruption,
    replacements,
    vocab_size,
    mask_id,
    first_word,
    mask_rate,
):
    """Right: position by position, in two loops."""
    batch, time = tokens.shape
    inputs = tokens.clone()
    targets = torch.full_like(tokens, -100)
    for b in range(batch):
        for t in range(time):
            if tokens[b, t] < first_word or selection[b, t] >= mask_rate:
                continue
            targets[b, t] = tokens[b, t]
            if corruption[b, t] < 0.8:
                inputs[b, t] = mask_id
            elif corruption[b, t] < 0.9:
                inputs[b, t] = first_word + int(replacements[b, t] * (vocab_size - first_word))
    return inputs, targets


def patchify__wrong_channels_last(images, size):
    """Within a patch the channels of each pixel lie side by side."""
    return rearrange(images, "b c (h p1) (w p2) -> b (h w) (p1 p2 c)", p1=size, p2=size)


def patchify__wrong_column_by_column(images, size):
    """Goes through the squares from top to bottom, column by column."""
    height, width = images.shape[2:]
    patches = []
    for x in range(0, width, size):
        for y in range(0, height, size):
            patches.append(images[:, :, y : y + size, x : x + size].flatten(1))
    return torch.stack(patches, dim=1)


def patchify__right_unfold_method(images, size):
    """Right: cuts the two axes by the method unfold of a tensor."""
    cut = images.unfold(2, size, size).unfold(3, size, size)
    return cut.permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)


def unpatchify__wrong_rows_and_columns(patches, size, channels, height, width):
    """Takes the number of columns for the number of rows, which shows where the image is no square."""
    batch = patches.shape[0]
    out = patches.reshape(batch, width // size, height // size, channels, size, size)
    out = out.permute(0, 3, 1, 4, 2, 5)
    return out.reshape(batch, channels, height, width)


def unpatchify__right_writing(patches, size, channels, height, width):
    """Right: writes each patch in its square of an empty image."""
    images = patches.new_zeros(len(patches), channels, height, width)
    columns = width // size
    for n in range(patches.shape[1]):
        y, x = n // columns * size, n % columns * size
        images[:, :, y : y + size, x : x + size] = patches[:, n].reshape(-1, channels, size, size)
    return images


class ClassToken__wrong_at_the_end(nn.Module):
    """Puts the token behind the patches."""

    def __init__(self, patches, d_model):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(d_model))
        self.positions = nn.Parameter(0.02 * torch.randn(patches + 1, d_model))

    def forward(self, vectors):
        token = self.token.expand(vectors.shape[0], 1, -1)
        return torch.cat([vectors, token], dim=1) + self.positions


class ClassToken__wrong_no_position_zero(nn.Module):
    """Adds positions to the patches alone, so the token gets no row 0."""

    def __init__(self, patches, d_model):
        super().__init__()
        self.token = nn.Parameter(torch.randn(d_model))
        self.positions = nn.Parameter(torch.randn(patches + 1, d_model))

    def forward(self, vectors):
        vectors = vectors + self.positions[1:]
        token = self.token[None, None, :].repeat(len(vectors), 1, 1)
        return torch.cat([token, vectors], dim=1)


class ClassToken__wrong_one_image(nn.Module):
    """Does not stretch the token over the batch, so it works for a single image only."""

    def __init__(self, patches, d_model):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(d_model))
        self.positions = nn.Parameter(torch.zeros(patches + 1, d_model))

    def forward(self, vectors):
        return torch.cat([self.token[None, None], vectors], dim=1) + self.positions


class ClassToken__wrong_token_data(nn.Module):
    """Copies the token by its data, so no gradient arrives at it."""

    def __init__(self, patches, d_model):
        super().__init__()
        self.token = nn.Parameter(torch.randn(d_model) * 0.02)
        self.positions = nn.Parameter(torch.randn(patches + 1, d_model) * 0.02)

    def forward(self, vectors):
        batch, patches, d_model = vectors.shape
        out = torch.zeros(batch, patches + 1, d_model)
        out[:, 0] = self.token.data
        out[:, 1:] = vectors
        return out + self.positions


class ClassToken__right_two_sums(nn.Module):
    """Right: adds the positions to the token and to the patches first and joins afterwards."""

    def __init__(self, patches, d_model):
        super().__init__()
        self.token = nn.Parameter(torch.randn(d_model))
        self.positions = nn.Parameter(torch.zeros(patches + 1, d_model))

    def forward(self, vectors):
        first = self.token + self.positions[0]
        rest = vectors + self.positions[1:]
        return torch.stack([torch.cat([first[None], image]) for image in rest])


def class_or_mean__wrong_mean_of_all(vectors, weight, bias):
    """The class token has a part in the mean."""
    return vectors[:, 0] @ weight.T + bias, vectors.mean(dim=1) @ weight.T + bias


def class_or_mean__wrong_one_too_many(vectors, weight, bias):
    """Divides the sum of the patches by the number of positions, the class token included."""
    by_class = vectors[:, 0] @ weight.T + bias
    by_mean = vectors[:, 1:].sum(dim=1) / vectors.shape[1] @ weight.T + bias
    return by_class, by_mean


def family_mask__wrong_swapped(direction, time):
    """Takes the upper triangle for the model from left to right."""
    ones = torch.ones(time, time, dtype=torch.bool)
    if direction == 1:
        return ones.triu()
    if direction == -1:
        return ones.tril()
    return ones


def family_mask__wrong_not_itself(direction, time):
    """In the bidirectional mask no position attends to itself."""
    if direction == 0:
        return ~torch.eye(time, dtype=torch.bool)
    i = torch.arange(time)[:, None]
    j = torch.arange(time)
    return j <= i if direction == 1 else j >= i


def family_targets__wrong_selected_always(tokens, selected, direction):
    """A model with one direction gets targets at selected positions only."""
    targets = torch.full_like(tokens, -100)
    if direction == 1:
        targets[:, :-1] = tokens[:, 1:]
    elif direction == -1:
        targets[:, 1:] = tokens[:, :-1]
    else:
        targets = tokens
    return targets.masked_fill(~selected, -100)


def family_targets__wrong_no_padding(tokens, selected, direction):
    """Takes token 0 for padding and gives it no target at a selected position."""
    none = torch.full_like(tokens[:, :1], -100)
    if direction > 0:
        return torch.cat([tokens[:, 1:], none], dim=1)
    if direction < 0:
        return torch.cat([none, tokens[:, :-1]], dim=1)
    return torch.where(selected & (tokens != 0), tokens, -100)


def family_targets__right_flat_roll(tokens, selected, direction):
    """Right: moves the flattened tokens and overwrites the column where rows run into each other."""
    if direction == 0:
        return tokens.masked_fill(~selected, -100)
    targets = tokens.roll(-direction)
    targets[:, -1 if direction == 1 else 0] = -100
    return targets


def read_from_the_right__wrong_not_back(model, tokens):
    """Does not turn the logits round again."""
    return model(tokens.flip(1))


def read_from_the_right__right_suffixes(model, tokens):
    """Right: calls the model for every suffix, reversed, and keeps the last logits."""
    logits = [model(tokens[:, t:].flip(1))[:, -1] for t in range(tokens.shape[1])]
    return torch.stack(logits, dim=1)


def nearest_mean__wrong_classes_counted(features, labels, questions):
    """Returns the number of the mean among those seen instead of its label."""
    means = torch.stack([features[labels == c].mean(dim=0) for c in labels.unique()])
    return torch.cdist(questions, means).argmin(dim=1)


def nearest_mean__wrong_mean_at_zero(features, labels, questions):
    """A class without examples has a mean of zeros, which may be nearest."""
    classes = int(labels.max()) + 1
    one_hot = nn.functional.one_hot(labels, classes).to(features.dtype)
    means = one_hot.T @ features / one_hot.sum(0).clamp(min=1)[:, None]
    return (questions[:, None] - means).norm(dim=-1).argmin(dim=1)


def nearest_mean__wrong_sum_of_differences(features, labels, questions):
    """Measures by the sum of absolute differences instead of the ordinary distance."""
    seen = labels.unique()
    means = torch.stack([features[labels == c].mean(0) for c in seen])
    return seen[(questions[:, None, :] - means[None]).abs().sum(-1).argmin(1)]


def nearest_mean__right_infinite(features, labels, questions):
    """Right: sums by index_add and puts the unseen classes infinitely far away."""
    classes = int(labels.max()) + 1
    counts = torch.bincount(labels, minlength=classes)
    sums = features.new_zeros(classes, features.shape[1]).index_add(0, labels, features)
    means = sums / counts.clamp(min=1)[:, None]
    distances = ((questions[:, None, :] - means) ** 2).sum(dim=-1)
    return distances.masked_fill(counts == 0, torch.inf).argmin(dim=1)


def accuracy_by_number__wrong_mean_of_all(classifier, features, labels, held_out, held_out_labels, order, numbers):
    """Subtracts the mean of all examples, also of those not yet seen."""
    mean = features.mean(dim=0)
    answers = []
    for n in numbers:
        seen = order[:n]
        guess = classifier(features[seen] - mean, labels[seen], held_out - mean)
        answers.append((guess == held_out_labels).float().mean())
    return torch.stack(answers)


def accuracy_by_number__wrong_own_mean(classifier, features, labels, held_out, held_out_labels, order, numbers):
    """Takes off the held-out features their own mean."""
    answers = []
    for n in numbers.tolist():
        seen = order[:n]
        train = features[seen] - features[seen].mean(dim=0, keepdim=True)
        test = held_out - held_out.mean(dim=0, keepdim=True)
        answers.append((classifier(train, labels[seen], test) == held_out_labels).float().mean())
    return torch.stack(answers)


def accuracy_by_number__wrong_one_mean(classifier, features, labels, held_out, held_out_labels, order, numbers):
    """Subtracts one number, the mean over all features, instead of a mean for each feature."""
    curve = torch.zeros(len(numbers))
    for k, n in enumerate(numbers.tolist()):
        seen = order[:n]
        mean = features[seen].mean()
        right = classifier(features[seen] - mean, labels[seen], held_out - mean) == held_out_labels
        curve[k] = right.float().mean()
    return curve


def accuracy_by_number__right_one_question(classifier, features, labels, held_out, held_out_labels, order, numbers):
    """Right: asks one question after the other and counts the right answers."""
    curve = []
    for n in numbers.tolist():
        x = torch.stack([features[i] for i in order[:n].tolist()])
        y = torch.stack([labels[i] for i in order[:n].tolist()])
        mean = x.mean(dim=0)
        right = 0
        for question, label in zip(held_out, held_out_labels):
            answer = classifier(x - mean, y, (question - mean)[None])
            right += int(answer[0] == label)
        curve.append(right / len(held_out))
    return torch.tensor(curve)
