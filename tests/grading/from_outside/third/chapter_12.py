# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import nn


def mask_words__wrong_in_place(tokens, selection, corruption, replacements, vocab_size, mask_id, first_word, mask_rate):
    """Writes the masks into the caller's tokens."""
    chosen = (selection < mask_rate) & (tokens >= first_word)
    targets = torch.where(chosen, tokens, torch.full_like(tokens, -100))
    sampled = first_word + (replacements * (vocab_size - first_word)).long()
    inputs = tokens
    inputs[chosen & (corruption < 0.8)] = mask_id
    middle = chosen & (corruption >= 0.8) & (corruption < 0.9)
    inputs[middle] = sampled[middle]
    return inputs, targets


def mask_words__wrong_only_padding_and_mask(
    tokens, selection, corruption, replacements, vocab_size, mask_id, first_word, mask_rate
):
    """Spares padding and the mask itself, but selects the other special tokens below first_word."""
    chosen = (selection < mask_rate) & (tokens != 0) & (tokens != mask_id)
    targets = tokens.masked_fill(~chosen, -100)
    sampled = first_word + (replacements * (vocab_size - first_word)).long()
    inputs = torch.where(chosen & (corruption < 0.8), torch.full_like(tokens, mask_id), tokens)
    inputs = torch.where(chosen & (corruption >= 0.8) & (corruption < 0.9), sampled, inputs)
    return inputs, targets


def patchify__wrong_channels_last(images, size):
    """Puts the channels of a pixel side by side, instead of one channel of the patch after the other."""
    return rearrange(images, "b c (h p) (w q) -> b (h w) (p q c)", p=size, q=size)


def patchify__wrong_columns_of_squares(images, size):
    """Lists the squares column by column, (w h), and not row by row."""
    return rearrange(images, "b c (h p) (w q) -> b (w h) (c p q)", p=size, q=size)


def patchify__right_slices(images, size):
    """Cuts every square out with two slices, flattens it and stacks them."""
    height, width = images.shape[2:]
    squares = [
        images[:, :, y : y + size, x : x + size].flatten(1)
        for y in range(0, height, size)
        for x in range(0, width, size)
    ]
    return torch.stack(squares, dim=1)


def unpatchify__wrong_columns_of_squares(patches, size, channels, height, width):
    """Lays the patches out downwards first."""
    return rearrange(patches, "b (w h) (c p q) -> b c (h p) (w q)", c=channels, h=height // size, p=size, q=size)


def unpatchify__wrong_patch_transposed(patches, size, channels, height, width):
    """Exchanges rows and columns inside each patch."""
    b = patches.shape[0]
    x = patches.reshape(b, height // size, width // size, channels, size, size)
    return x.permute(0, 3, 1, 5, 2, 4).reshape(b, channels, height, width)


class ClassToken__wrong_token_data(nn.Module):
    """Uses .data of the token, so no gradient arrives there."""

    def __init__(self, patches, d_model):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(d_model))
        self.positions = nn.Parameter(torch.randn(patches + 1, d_model))

    def forward(self, vectors):
        token = self.token.data.expand(vectors.shape[0], 1, -1)
        return torch.cat([token, vectors], 1) + self.positions


class ClassToken__wrong_token_last(nn.Module):
    """Puts the token behind the patches."""

    def __init__(self, patches, d_model):
        super().__init__()
        self.token = nn.Parameter(torch.randn(d_model))
        self.positions = nn.Parameter(torch.randn(patches + 1, d_model))

    def forward(self, vectors):
        token = self.token[None, None].repeat(len(vectors), 1, 1)
        return torch.cat([vectors, token], dim=1) + self.positions


class ClassToken__right_padded(nn.Module):
    """Pads the vectors with a row of zeros in front, and adds token and positions as one table."""

    def __init__(self, patches, d_model):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(d_model))
        self.positions = nn.Parameter(torch.zeros(patches + 1, d_model))

    def forward(self, vectors):
        first = torch.eye(len(self.positions), 1, dtype=self.token.dtype)
        return F.pad(vectors, (0, 0, 1, 0)) + (first * self.token + self.positions)


def class_or_mean__wrong_mean_of_all(vectors, weight, bias):
    """Takes the class token into the mean."""
    return vectors[:, 0] @ weight.T + bias, vectors.mean(1) @ weight.T + bias


def class_or_mean__wrong_order(vectors, weight, bias):
    """Returns the two in the wrong order."""
    by_class = F.linear(vectors[:, 0], weight, bias)
    by_mean = F.linear(vectors[:, 1:].mean(1), weight, bias)
    return by_mean, by_class


def class_or_mean__right_logits_first(vectors, weight, bias):
    """Computes the logits at every position and averages the logits, which is the same for a linear layer."""
    logits = F.linear(vectors, weight, bias)
    by_class, of_patches = logits.split([1, logits.shape[1] - 1], dim=1)
    return by_class.squeeze(1), of_patches.mean(1)


def family_mask__wrong_else(direction, time):
    """Asks for direction 1 only, so the bidirectional model gets the mask from right to left."""
    ones = torch.ones(time, time, dtype=torch.bool)
    return ones.tril() if direction == 1 else ones.triu()


def family_mask__wrong_bert_without_itself(direction, time):
    """Hides each position from itself in the bidirectional model."""
    i = torch.arange(time)
    if direction == 0:
        return i[:, None] != i
    return i[:, None] >= i if direction == 1 else i[:, None] <= i


def family_targets__wrong_wraps_around(tokens, selected, direction):
    """From left to right the last position gets the first token of the text, because roll goes round."""
    if direction == 0:
        return torch.where(selected, tokens, torch.full_like(tokens, -100))
    targets = tokens.roll(-direction, dims=1)
    if direction == -1:
        targets[:, 0] = -100
    return targets


def family_targets__wrong_in_place(tokens, selected, direction):
    """In masked language modelling it writes -100 into the caller's tokens."""
    if direction == 0:
        tokens[~selected] = -100
        return tokens
    none = torch.full_like(tokens[:, :1], -100)
    if direction == 1:
        return torch.cat([tokens[:, 1:], none], 1)
    return torch.cat([none, tokens[:, :-1]], 1)


def family_targets__right_one_slice(tokens, selected, direction):
    """Pads with -100 at both ends and takes one slice of it, which the direction moves."""
    candidates = tokens if direction else tokens.masked_fill(~selected, -100)
    padded = F.pad(candidates, (1, 1), value=-100)
    return padded[:, 1 + direction : 1 + direction + tokens.shape[1]].clone()


def read_from_the_right__wrong_not_back(model, tokens):
    """Reverses the text but not the logits, so these stand at the wrong positions."""
    return model(tokens.flip(1))


def read_from_the_right__wrong_suffixes(model, tokens):
    """Reads the rest of the text from each position on, but from left to right."""
    return torch.stack([model(tokens[:, i:])[:, -1] for i in range(tokens.shape[1])], 1)


def nearest_mean__wrong_empty_class_zero(features, labels, questions):
    """Classes without an example get the mean 0 and are answered near the origin."""
    one_hot = F.one_hot(labels).to(features.dtype)
    means = one_hot.T @ features / one_hot.sum(0).clamp(min=1)[:, None]
    return torch.cdist(questions, means).argmin(1)


def nearest_mean__wrong_nearest_example(features, labels, questions):
    """Answers with the label of the nearest example and computes no means."""
    return labels[torch.cdist(questions, features).argmin(1)]


def nearest_mean__right_one_by_one(features, labels, questions):
    """A dictionary of means in float64, and min with a key for each question."""
    means = {int(c): features[labels == c].double().mean(0) for c in labels.unique()}
    answers = [min(means, key=lambda c: float((q.double() - means[c]).square().sum())) for q in questions]
    return torch.tensor(answers, dtype=torch.long)


def accuracy_by_number__wrong_labels_not_in_order(
    classifier, features, labels, held_out, held_out_labels, order, numbers
):
    """Takes the features in the order and the labels as they stand."""
    out = []
    for n in numbers.tolist():
        seen = features[order[:n]]
        mean = seen.mean(0)
        answers = classifier(seen - mean, labels[:n], held_out - mean)
        out.append((answers == held_out_labels).float().mean())
    return torch.stack(out)


def accuracy_by_number__wrong_own_mean(classifier, features, labels, held_out, held_out_labels, order, numbers):
    """Subtracts from the held-out features their own mean, so an answer depends on the other held-out examples."""
    out = []
    for n in numbers.tolist():
        seen = features[order[:n]]
        answers = classifier(seen - seen.mean(0), labels[order[:n]], held_out - held_out.mean(0))
        out.append((answers == held_out_labels).float().mean())
    return torch.stack(out)
