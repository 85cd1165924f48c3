# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# (A wrong answer to 12.1 is left out: it compares in double precision, and no number stands so close to a bound.)
# ruff: noqa: B905, E501

import math

import numpy
import torch
from einops import rearrange, reduce, repeat
from torch import nn
from torch.nn import functional as F

# ---------------------------------------------------------------- 12.1 mask_words


def mask_words__wrong_order_of_chapter(
    tokens, selection, corruption, replacements, vocab_size, mask_id, first_word, mask_rate
):
    """From 0.8 to 0.9 you keep the word and from 0.9 on you sample, as in the chapter's loop; the exercise says it the other way round."""
    chosen = (selection < mask_rate) & (tokens >= first_word)
    sampled = first_word + (replacements * (vocab_size - first_word)).long()
    inputs = torch.where(chosen & (corruption < 0.8), torch.full_like(tokens, mask_id), tokens)
    inputs = torch.where(chosen & (corruption >= 0.9), sampled, inputs)
    return inputs, torch.where(chosen, tokens, torch.full_like(tokens, -100))


def mask_words__wrong_selects_specials(
    tokens, selection, corruption, replacements, vocab_size, mask_id, first_word, mask_rate
):
    """Padding and separators are selected too; only tokens from first_word on may be."""
    chosen = selection < mask_rate
    sampled = first_word + (replacements * (vocab_size - first_word)).long()
    inputs = tokens.clone()
    inputs = inputs.masked_fill(chosen & (corruption < 0.8), mask_id)
    inputs = torch.where(chosen & (corruption >= 0.8) & (corruption < 0.9), sampled, inputs)
    return inputs, tokens.masked_fill(~chosen, -100)


def mask_words__wrong_targets_only_changed(
    tokens, selection, corruption, replacements, vocab_size, mask_id, first_word, mask_rate
):
    """A selected word that is kept (or replaced by itself) loses its target; every selected position has one."""
    chosen = (selection < mask_rate) & (tokens >= first_word)
    sampled = first_word + (replacements * (vocab_size - first_word)).long()
    inputs = torch.where(corruption < 0.8, mask_id, torch.where(corruption < 0.9, sampled, tokens))
    inputs = torch.where(chosen, inputs, tokens)
    targets = torch.where(inputs != tokens, tokens, -100)
    return inputs, targets


def mask_words__wrong_first_word_is_special(
    tokens, selection, corruption, replacements, vocab_size, mask_id, first_word, mask_rate
):
    """The token first_word itself is a word, but `>` treats it as special and never selects it."""
    chosen = (selection < mask_rate) & (tokens > first_word)
    sampled = first_word + (replacements * (vocab_size - first_word)).long()
    inputs = torch.where(corruption < 0.8, mask_id, torch.where(corruption < 0.9, sampled, tokens))
    return torch.where(chosen, inputs, tokens), torch.where(chosen, tokens, -100)


def mask_words__wrong_rounds_replacement(
    tokens, selection, corruption, replacements, vocab_size, mask_id, first_word, mask_rate
):
    """The fraction is to be cut off, not rounded; rounding can even give the token vocab_size, which does not exist."""
    chosen = (selection < mask_rate) & (tokens >= first_word)
    sampled = first_word + torch.round(replacements * (vocab_size - first_word)).long()
    inputs = torch.where(corruption < 0.8, mask_id, torch.where(corruption < 0.9, sampled, tokens))
    return torch.where(chosen, inputs, tokens), torch.where(chosen, tokens, -100)


def mask_words__right_bucketize(
    tokens, selection, corruption, replacements, vocab_size, mask_id, first_word, mask_rate
):
    """bucketize turns corruption into 0, 1, 2, and gather picks from a stack of the three possible inputs."""
    kind = torch.bucketize(corruption, torch.tensor([0.8, 0.9]), right=True)
    sampled = torch.floor(replacements * (vocab_size - first_word)).to(tokens.dtype) + first_word
    options = torch.stack([torch.full_like(tokens, mask_id), sampled, tokens])
    picked = options.gather(0, kind[None])[0]
    chosen = ((selection < mask_rate) & (tokens >= first_word)).to(tokens.dtype)
    return chosen * picked + (1 - chosen) * tokens, chosen * tokens - 100 * (1 - chosen)


def mask_words__right_loop_of_numpy_scalars(
    tokens, selection, corruption, replacements, vocab_size, mask_id, first_word, mask_rate
):
    """Position by position in numpy, where a float32 scalar meets bounds that were made float32 by hand."""
    low, high, rate = numpy.float32(0.8), numpy.float32(0.9), numpy.float32(mask_rate)
    text, new = tokens.numpy(), tokens.numpy().copy()
    goal = numpy.full_like(text, -100)
    chance, change, which = selection.numpy(), corruption.numpy(), replacements.numpy()
    for place in numpy.ndindex(*text.shape):
        if text[place] >= first_word and chance[place] < rate:
            goal[place] = text[place]
            if change[place] < low:
                new[place] = mask_id
            elif change[place] < high:
                new[place] = first_word + int(which[place] * numpy.float32(vocab_size - first_word))
    return torch.from_numpy(new), torch.from_numpy(goal)


# ---------------------------------------------------------------- 12.2 patchify


def patchify__wrong_channels_last(images, size):
    """Within a patch you put the channels of each pixel together; the first channel's pixels must all come first."""
    return rearrange(images, "b c (h p) (w q) -> b (h w) (p q c)", p=size, q=size)


def patchify__wrong_column_by_column(images, size):
    """The patches come column by column; they must come row by row."""
    return rearrange(images, "b c (h p) (w q) -> b (w h) (c p q)", p=size, q=size)


def patchify__wrong_pixels_transposed(images, size):
    """Inside each patch the pixels run column by column, since the two unfolded axes are exchanged."""
    tiles = images.unfold(3, size, size).unfold(2, size, size)
    batch, channels, rows, columns = tiles.shape[:4]
    return tiles.permute(0, 2, 3, 1, 4, 5).reshape(batch, rows * columns, channels * size * size)


def patchify__wrong_strided(images, size):
    """Your patches take every h-th pixel (a dilated grid), since (p h) splits the axis the wrong way round."""
    return rearrange(images, "b c (p h) (q w) -> b (h w) (c p q)", p=size, q=size)


def patchify__wrong_square_images_only(images, size):
    """Height serves for the width too, so only square images are cut as they should be."""
    batch, channels, height, _ = images.shape
    patches = []
    for i in range(0, height, size):
        for j in range(0, height, size):
            patches.append(images[:, :, i : i + size, j : j + size].reshape(batch, -1))
    return torch.stack(patches, dim=1)


def patchify__wrong_squeezes(images, size):
    """squeeze also removes the batch or the patch axis where there is only one image or one patch."""
    tiles = images.unfold(2, size, size).unfold(3, size, size)
    tiles = tiles.permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)
    return tiles.squeeze()


def patchify__right_slices(images, size):
    """Slices in a list comprehension, each flattened and stacked."""
    _, _, height, width = images.shape
    return torch.stack(
        [
            images[:, :, i : i + size, j : j + size].flatten(1)
            for i in range(0, height, size)
            for j in range(0, width, size)
        ],
        dim=1,
    )


def patchify__right_index_arithmetic(images, size):
    """The number of each wanted pixel in the flat image is computed, and all are read with one index."""
    batch, channels, height, width = images.shape
    rows, columns = height // size, width // size
    patch = torch.arange(rows * columns)[:, None]
    pixel = torch.arange(channels * size * size)[None]
    channel, inside = pixel // (size * size), pixel % (size * size)
    y = patch // columns * size + inside // size
    x = patch % columns * size + inside % size
    return images.reshape(batch, -1)[:, (channel * height + y) * width + x]


def patchify__right_splits(images, size):
    """torch.split along one axis, then along the other, without any transposition."""
    pieces = [
        square.flatten(start_dim=1)
        for stripe in torch.split(images, size, dim=-2)
        for square in torch.split(stripe, size, dim=-1)
    ]
    return torch.cat([piece.unsqueeze(1) for piece in pieces], 1)


# ---------------------------------------------------------------- 12.2 unpatchify


def unpatchify__wrong_rows_for_columns(patches, size, channels, height, width):
    """Rows and columns of patches are exchanged: width // size is the number of columns, not of rows."""
    return rearrange(patches, "b (h w) (c p q) -> b c (h p) (w q)", h=width // size, p=size, q=size)


def unpatchify__wrong_channels_last(patches, size, channels, height, width):
    """You read the pixels of a patch as if the channels came last."""
    return rearrange(patches, "b (h w) (p q c) -> b c (h p) (w q)", h=height // size, p=size, q=size, c=channels)


def unpatchify__wrong_only_reshape(patches, size, channels, height, width):
    """A reshape gives the right shape, but the pixels of one patch stand in one row behind each other."""
    count = patches.shape[1]
    pixels = patches.reshape(patches.shape[0], count, channels, size * size)
    return pixels.transpose(1, 2).reshape(patches.shape[0], channels, height, width)


def unpatchify__wrong_column_by_column(patches, size, channels, height, width):
    """The patches are laid out down the columns; n % rows and n // rows must be divmod by the number of columns."""
    rows = height // size
    images = patches.new_zeros(patches.shape[0], channels, height, width)
    for n in range(patches.shape[1]):
        y, x = n % rows * size, n // rows * size
        images[:, :, y : y + size, x : x + size] = patches[:, n].reshape(-1, channels, size, size)
    return images


def unpatchify__wrong_pixels_transposed(patches, size, channels, height, width):
    """Each patch is laid out transposed: its rows become columns."""
    cells = patches.view(patches.shape[0], height // size, width // size, channels, size, size)
    return cells.permute(0, 3, 1, 5, 2, 4).reshape(patches.shape[0], channels, height, width)


def unpatchify__wrong_mixes_the_batch(patches, size, channels, height, width):
    """The batch axis is split off at the wrong place, so several images are mixed; with one image it works."""
    batch = patches.shape[0]
    cells = patches.reshape(height // size, width // size, batch, channels, size, size)
    return cells.permute(2, 3, 0, 4, 1, 5).reshape(batch, channels, height, width)


def unpatchify__right_concatenation(patches, size, channels, height, width):
    """Patches are glued to rows, and the rows to images, with cat."""
    columns = width // size
    squares = [patch.unflatten(1, (channels, size, size)) for patch in patches.unbind(1)]
    stripes = [torch.cat(squares[n : n + columns], dim=3) for n in range(0, len(squares), columns)]
    return torch.cat(stripes, dim=2)


def unpatchify__right_inverse_permutation(patches, size, channels, height, width):
    """The numbers of the pixels are patchified once, and the inverse of this permutation is read off with argsort."""
    numbers = torch.arange(channels * height * width).reshape(1, channels, height, width)
    order = patchify__right_slices(numbers, size).flatten()
    return patches.flatten(1)[:, order.argsort()].reshape(-1, channels, height, width)


# ---------------------------------------------------------------- 12.3 ClassToken


class ClassToken__wrong_token_without_position(nn.Module):
    """The token gets no position, though row 0 of the positions belongs to it."""

    def __init__(self, patches, d_model):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(d_model))
        self.positions = nn.Parameter(torch.zeros(patches + 1, d_model))

    def forward(self, vectors):
        token = repeat(self.token, "d -> b 1 d", b=len(vectors))
        return torch.cat([token, vectors + self.positions[1:]], dim=1)


class ClassToken__wrong_token_detached(nn.Module):
    """`.data` cuts the token off, so no gradient arrives at it and it is never trained."""

    def __init__(self, patches, d_model):
        super().__init__()
        self.token = nn.Parameter(torch.randn(d_model))
        self.positions = nn.Parameter(torch.randn(patches + 1, d_model))

    def forward(self, vectors):
        token = self.token.data.expand(len(vectors), 1, -1)
        return torch.cat((token, vectors), 1) + self.positions


class ClassToken__wrong_last_row_for_token(nn.Module):
    """The rows of the positions are shifted: the token gets the last row and the first patch gets row 0."""

    def __init__(self, patches, d_model):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(d_model))
        self.positions = nn.Parameter(0.02 * torch.randn(patches + 1, d_model))

    def forward(self, vectors):
        count = vectors.shape[1]
        token = (self.token + self.positions[count]).expand(len(vectors), 1, -1)
        return torch.cat([token, vectors + self.positions[:count]], dim=1)


class ClassToken__wrong_in_place(nn.Module):
    """`vectors +=` changes the vectors of the caller."""

    def __init__(self, patches, d_model):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(d_model))
        self.positions = nn.Parameter(torch.zeros(patches + 1, d_model))

    def forward(self, vectors):
        vectors += self.positions[1:]
        token = (self.token + self.positions[0]).expand(len(vectors), 1, -1)
        return torch.cat([token, vectors], dim=1)


class ClassToken__wrong_first_image_only(nn.Module):
    """Only the first image of the batch gets the token; the others get zeros there."""

    def __init__(self, patches, d_model):
        super().__init__()
        self.token = nn.Parameter(torch.randn(d_model))
        self.positions = nn.Parameter(torch.randn(patches + 1, d_model))

    def forward(self, vectors):
        padded = F.pad(vectors, (0, 0, 1, 0))
        padded[0, 0] = self.token
        return padded + self.positions


class ClassToken__wrong_dropout(nn.Module):
    """The dropout after the positions, copied from a library, is not part of the exercise and makes the answer random."""

    def __init__(self, patches, d_model):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(d_model))
        self.positions = nn.Parameter(torch.zeros(patches + 1, d_model))
        self.dropout = nn.Dropout(0.1)

    def forward(self, vectors):
        token = self.token[None, None].expand(vectors.shape[0], -1, -1)
        return self.dropout(torch.cat([token, vectors], dim=1) + self.positions[None])


class ClassToken__right_pad_and_outer_product(nn.Module):
    """Zeros are padded in front, and the token is added there by an outer product with 1 0 0 ... ."""

    def __init__(self, patches, d_model):
        super().__init__()
        self.positions = nn.Parameter(torch.empty(patches + 1, d_model).uniform_(-0.1, 0.1))
        self.token = nn.Parameter(torch.ones(d_model))

    def forward(self, vectors):
        first = torch.zeros(self.positions.shape[0], dtype=vectors.dtype)
        first[0] = 1
        return F.pad(vectors, (0, 0, 1, 0)) + torch.outer(first, self.token) + self.positions


class ClassToken__right_vmap(nn.Module):
    """One image is handled by a function of its own, and vmap spreads it over the batch."""

    def __init__(self, patches, d_model):
        super().__init__()
        self.register_parameter("token", nn.Parameter(torch.randn(d_model) / math.sqrt(d_model)))
        self.register_parameter("positions", nn.Parameter(torch.randn(patches + 1, d_model) / 10))

    def forward(self, vectors):
        def one(image):
            return torch.vstack([self.token, image]) + self.positions

        return torch.vmap(one)(vectors)


# ---------------------------------------------------------------- 12.3 class_or_mean


def class_or_mean__wrong_mean_with_class(vectors, weight, bias):
    """The class token takes part in your mean; only the patches should."""
    return F.linear(vectors[:, 0], weight, bias), F.linear(vectors.mean(dim=1), weight, bias)


def class_or_mean__wrong_divided_by_all(vectors, weight, bias):
    """The sum runs over the patches, but you divide by the number of all positions, one too many."""
    mean = vectors[:, 1:].sum(dim=1) / vectors.shape[1]
    return vectors[:, 0] @ weight.T + bias, mean @ weight.T + bias


def class_or_mean__wrong_bias_once(vectors, weight, bias):
    """The bias is missing in the logits by the mean."""
    by_class = torch.einsum("bd,cd->bc", vectors[:, 0], weight) + bias
    by_mean = torch.einsum("bd,cd->bc", vectors[:, 1:].mean(1), weight)
    return by_class, by_mean


def class_or_mean__wrong_mean_over_batch(vectors, weight, bias):
    """The mean runs over the images of the batch as well, so all images get the same logits."""
    mean = vectors[:, 1:].mean(dim=(0, 1), keepdim=True)[:, 0].expand(len(vectors), -1)
    return F.linear(vectors[:, 0], weight, bias), F.linear(mean, weight, bias)


def class_or_mean__wrong_class_zeroed_in_place(vectors, weight, bias):
    """The class token of the caller's vectors is overwritten by zeros."""
    patches = vectors.shape[1] - 1
    by_class = F.linear(vectors[:, 0].clone(), weight, bias)
    vectors[:, 0] = 0
    return by_class, F.linear(vectors.sum(1) / patches, weight, bias)


def class_or_mean__wrong_max_pooling(vectors, weight, bias):
    """This is the maximum over the patches, not their mean."""
    return F.linear(vectors[:, 0], weight, bias), F.linear(vectors[:, 1:].amax(dim=1), weight, bias)


def class_or_mean__right_mean_of_logits(vectors, weight, bias):
    """The layer is affine, so the mean of all patches' logits is the logits of their mean."""
    logits = torch.einsum("btd,cd->btc", vectors, weight) + bias
    return logits.select(1, 0), reduce(logits[:, 1:], "b t c -> b c", "mean")


def class_or_mean__right_pooling_matrix(vectors, weight, bias):
    """A (2, patches + 1) matrix of weights takes both vectors at once."""
    count = vectors.shape[1] - 1
    pool = torch.full((2, count + 1), 1 / count, dtype=vectors.dtype)
    pool[:, 0] = torch.tensor([1.0, 0.0])
    pool[0, 1:] = 0
    both = pool @ vectors
    return tuple(torch.addmm(bias, both[:, k], weight.t()) for k in range(2))


# ---------------------------------------------------------------- 12.4 family_mask


def family_mask__wrong_strict(direction, time):
    """In your directed masks no position attends to itself."""
    full = torch.ones(time, time, dtype=torch.bool)
    if direction == 1:
        return full.tril(-1)
    if direction == -1:
        return full.triu(1)
    return full


def family_mask__wrong_directions_swapped(direction, time):
    """Left to right and right to left are exchanged."""
    full = torch.ones(time, time, dtype=torch.bool)
    return {1: full.triu(), -1: full.tril(), 0: full}[direction]


def family_mask__wrong_any_direction_is_causal(direction, time):
    """-1 is true in Python, so the model from right to left gets the causal mask."""
    mask = torch.ones(time, time).bool()
    if direction:
        mask = torch.tril(mask)
    return mask


def family_mask__wrong_true_is_hidden(direction, time):
    """This is the opposite convention (that of nn.MultiheadAttention): your True hides, it should permit."""
    if direction == 0:
        return torch.zeros(time, time, dtype=torch.bool)
    above = torch.triu(torch.ones(time, time, dtype=torch.bool), diagonal=1)
    return above if direction == 1 else above.T


def family_mask__wrong_bert_without_itself(direction, time):
    """For the direction 0 you forbid each position to attend to itself; every position may."""
    i, j = torch.meshgrid(torch.arange(time), torch.arange(time), indexing="ij")
    if direction == 0:
        return i != j
    return (i - j) * direction >= 0


def family_mask__wrong_one_axis_flipped(direction, time):
    """Flipping one axis of the causal mask gives a triangle over the other diagonal; both must be flipped."""
    causal = torch.ones(time, time, dtype=torch.bool).tril()
    if direction == 0:
        return torch.ones_like(causal)
    return causal if direction == 1 else causal.flip(0)


def family_mask__right_one_inequality(direction, time):
    """One inequality for the three directions, broadcast."""
    place = torch.arange(time)
    return direction * (place[None, :] - place[:, None]) <= 0


def family_mask__right_list_of_lists(direction, time):
    """Python truth values in a nested list, made a tensor at the end."""
    allowed = {1: lambda i, j: j <= i, -1: lambda i, j: j >= i, 0: lambda i, j: True}[direction]
    return torch.tensor([[allowed(i, j) for j in range(time)] for i in range(time)], dtype=torch.bool)


# ---------------------------------------------------------------- 12.4 family_targets


def family_targets__wrong_wraps_around(tokens, selected, direction):
    """roll brings the first word round to the last position, which should have no target."""
    if direction == 0:
        return torch.where(selected, tokens, -100)
    return torch.roll(tokens, -direction, dims=1)


def family_targets__wrong_selected_everywhere(tokens, selected, direction):
    """The selection matters in masked language modelling only; the directed models have a target at every position but the last."""
    targets = torch.full_like(tokens, -100)
    if direction == 1:
        targets[:, :-1] = tokens[:, 1:]
    elif direction == -1:
        targets[:, 1:] = tokens[:, :-1]
    else:
        targets = tokens.clone()
    return targets.masked_fill(~selected, -100)


def family_targets__wrong_zero_at_the_end(tokens, selected, direction):
    """The last position gets the target 0, a token like any other, where -100 belongs."""
    if direction == 0:
        return torch.where(selected, tokens, -100)
    if direction == 1:
        return F.pad(tokens[:, 1:], (0, 1))
    return F.pad(tokens[:, :-1], (1, 0))


def family_targets__wrong_in_place(tokens, selected, direction):
    """For the direction 0 the caller's tokens are overwritten by -100."""
    if direction == 0:
        tokens[~selected] = -100
        return tokens
    if direction == 1:
        return F.pad(tokens[:, 1:], (0, 1), value=-100)
    return F.pad(tokens[:, :-1], (1, 0), value=-100)


def family_targets__wrong_token_zero_lost(tokens, selected, direction):
    """Zero marks 'nothing here' in your products, so a selected token 0 loses its target."""
    if direction == 0:
        kept = tokens * selected
        return torch.where(kept > 0, kept, -100)
    if direction == 1:
        return F.pad(tokens[:, 1:], (0, 1), value=-100)
    return F.pad(tokens[:, :-1], (1, 0), value=-100)


def family_targets__wrong_stays_reversed(tokens, selected, direction):
    """For -1 the targets stay in the reversed order of reading; they must be turned back to the positions of the text."""
    if direction == 0:
        return torch.where(selected, tokens, -100)
    text = tokens if direction == 1 else tokens.flip(1)
    return torch.cat([text[:, 1:], torch.full_like(text[:, :1], -100)], dim=1)


def family_targets__right_flip_twice(tokens, selected, direction):
    """Right to left is left to right of the flipped text, flipped back."""
    if direction < 0:
        return family_targets__right_flip_twice(tokens.flip(1), selected.flip(1), -direction).flip(1)
    if direction > 0:
        return F.pad(tokens, (0, 1), value=-100).narrow(1, 1, tokens.shape[1])
    return tokens.masked_fill(selected.logical_not(), -100)


def family_targets__right_lists(tokens, selected, direction):
    """Row by row over Python lists, with an explicit test for the ends."""
    answer = []
    for words, flags in zip(tokens.tolist(), selected.tolist()):
        row = []
        for t in range(len(words)):
            near = t + direction
            seen = 0 <= near < len(words) and (direction != 0 or flags[t])
            row.append(words[near] if seen else -100)
        answer.append(row)
    return torch.tensor(answer, dtype=tokens.dtype)


# ---------------------------------------------------------------- 12.4 read_from_the_right


def read_from_the_right__wrong_not_turned_back(model, tokens):
    """The logits are in the order of reading; they have to be flipped back to the positions of the words."""
    return model(tokens.flip(1))


def read_from_the_right__wrong_vocabulary_flipped(model, tokens):
    """The last axis of the logits is the vocabulary; you flipped the words of the vocabulary, not the positions."""
    return model(tokens.flip(-1)).flip(-1)


def read_from_the_right__wrong_rest_read_forwards(model, tokens):
    """The model reads the right words, but from left to right: only for a model that just counts is it the same."""
    time = tokens.shape[1]
    return torch.stack([model(tokens[:, t:])[:, -1] for t in range(time)], dim=1)


def read_from_the_right__wrong_difference_of_counts(model, tokens):
    """Whole text less what came before is right for a model that counts, but not for any other model."""
    logits = model(tokens)
    before = torch.cat([torch.zeros_like(logits[:, :1]), logits[:, :-1]], dim=1)
    return logits[:, -1:] - before


def read_from_the_right__wrong_in_place(model, tokens):
    """The tokens are turned round in place, and the caller finds a reversed text."""
    tokens.copy_(tokens.flip(1))
    return model(tokens).flip(1)


def read_from_the_right__wrong_shifted(model, tokens):
    """The logits stand one position too far left, where the next word is predicted; they belong at the word that was read last."""
    logits = model(tokens.flip(1)).flip(1)
    return torch.roll(logits, -1, dims=1)


def read_from_the_right__right_suffixes(model, tokens):
    """For each position its suffix is reversed and read on its own, and the last logits are taken."""
    time = tokens.shape[1]
    return torch.stack([model(tokens[:, t:].flip(1))[:, -1, :] for t in range(time)], dim=1)


def read_from_the_right__right_index_select(model, tokens):
    """One descending index for the tokens, and the same one for the logits."""
    back = torch.arange(tokens.shape[1] - 1, -1, -1)
    return torch.index_select(model(torch.index_select(tokens, 1, back)), 1, back)


# ---------------------------------------------------------------- 12.5 nearest_mean


def nearest_mean__wrong_empty_class_at_zero(features, labels, questions):
    """A class without examples gets the mean 0 and may then be the answer."""
    classes = int(labels.max()) + 1
    sums = torch.zeros(classes, features.shape[1], dtype=features.dtype).index_add_(0, labels, features)
    counts = torch.bincount(labels, minlength=classes).clamp(min=1)
    return torch.cdist(questions, sums / counts[:, None]).argmin(dim=1)


def nearest_mean__wrong_nan_wins(features, labels, questions):
    """A class without examples has the mean 0/0, and argmin takes NaN for the smallest."""
    hot = F.one_hot(labels).to(features.dtype)
    means = hot.T @ features / hot.sum(0)[:, None]
    return ((questions[:, None] - means[None]) ** 2).sum(-1).argmin(1)


def nearest_mean__wrong_number_among_seen(features, labels, questions):
    """The answer is the number of the class among those seen; its label was asked for."""
    seen = labels.unique()
    means = torch.stack([features[labels == label].mean(0) for label in seen])
    return torch.cdist(questions, means).argmin(dim=1)


def nearest_mean__wrong_manhattan(features, labels, questions):
    """Sums of absolute differences are another distance; the ordinary one is the root of the squares."""
    seen = labels.unique()
    means = torch.stack([features[labels == label].mean(0) for label in seen])
    return seen[(questions[:, None] - means).abs().sum(dim=-1).argmin(dim=1)]


def nearest_mean__wrong_half_forgotten(features, labels, questions):
    """Expanding the square gives q.m less HALF of m.m; without the half long means are punished twice."""
    seen = labels.unique()
    means = torch.stack([features[labels == label].mean(0) for label in seen])
    return seen[(questions @ means.T - means.pow(2).sum(1)).argmax(dim=1)]


def nearest_mean__wrong_counts_distinct_labels(features, labels, questions):
    """You go through as many labels as there are distinct ones, from 0: where one is missing the last class is never tried."""
    best = torch.full((len(questions),), float("inf"), dtype=questions.dtype)
    answer = torch.zeros(len(questions), dtype=torch.long)
    for label in range(len(set(labels.tolist()))):
        if (labels == label).any():
            distance = (questions - features[labels == label].mean(0)).norm(dim=1)
            answer = torch.where(distance < best, label, answer)
            best = torch.minimum(best, distance)
    return answer


def nearest_mean__right_dictionary_loop(features, labels, questions):
    """A dictionary of means, and for each question Python's min over it."""
    means = {label: features[labels == label].double().mean(0) for label in set(labels.tolist())}
    return torch.tensor(
        [min(means, key=lambda c: torch.dist(q.double(), means[c]).item()) for q in questions], dtype=labels.dtype
    )


def nearest_mean__right_one_hot_infinite(features, labels, questions):
    """All labels up to the greatest have a column, and those of empty classes are set to infinity."""
    hot = F.one_hot(labels).double()
    count = hot.sum(0)
    means = torch.einsum("ec,ed->cd", hot, features.double()) / count.clamp(min=1).unsqueeze(1)
    squares = (questions.double().unsqueeze(1) - means).square().sum(2)
    return squares.masked_fill(count == 0, float("inf")).min(dim=1).indices


# ---------------------------------------------------------------- 12.5 accuracy_by_number


def accuracy_by_number__wrong_mean_of_all(classifier, features, labels, held_out, held_out_labels, order, numbers):
    """The mean is taken over all examples, also those not yet seen."""
    mean = features.mean(0)
    answer = []
    for n in numbers.tolist():
        seen = order[:n]
        guess = classifier(features[seen] - mean, labels[seen], held_out - mean)
        answer.append((guess == held_out_labels).float().mean())
    return torch.stack(answer)


def accuracy_by_number__wrong_own_mean_held_out(
    classifier, features, labels, held_out, held_out_labels, order, numbers
):
    """From the held-out features their own mean is subtracted, so each answer depends on the other held-out examples."""
    answer = []
    for n in numbers:
        seen = order[:n]
        guess = classifier(features[seen] - features[seen].mean(0), labels[seen], held_out - held_out.mean(0))
        answer.append((guess == held_out_labels).float().mean().item())
    return torch.tensor(answer)


def accuracy_by_number__wrong_subtracts_again_and_again(
    classifier, features, labels, held_out, held_out_labels, order, numbers
):
    """held_out is overwritten in the loop, so from the second number on the earlier means have been subtracted as well."""
    answer = []
    for n in numbers.tolist():
        x = features[order[:n]]
        mean = x.mean(dim=0)
        held_out = held_out - mean
        answer.append((classifier(x - mean, labels[order[:n]], held_out) == held_out_labels).float().mean())
    return torch.stack(answer)


def accuracy_by_number__wrong_one_mean_for_all_features(
    classifier, features, labels, held_out, held_out_labels, order, numbers
):
    """mean() without an axis gives one number for all features; it should be taken feature by feature."""
    answer = []
    for n in numbers.tolist():
        x = features[order[:n]]
        guess = classifier(x - x.mean(), labels[order[:n]], held_out - x.mean())
        answer.append((guess == held_out_labels).float().mean())
    return torch.stack(answer)


def accuracy_by_number__wrong_order_read_as_ranks(
    classifier, features, labels, held_out, held_out_labels, order, numbers
):
    """`order` holds the numbers of examples; you read it as the rank of each, which is the inverse permutation."""
    answer = []
    for n in numbers.tolist():
        seen = order < n
        mean = features[seen].mean(0)
        guess = classifier(features[seen] - mean, labels[seen], held_out - mean)
        answer.append((guess == held_out_labels).float().mean())
    return torch.stack(answer)


def accuracy_by_number__wrong_labels_unshuffled(
    classifier, features, labels, held_out, held_out_labels, order, numbers
):
    """The features are shuffled and the labels are not, so examples get the labels of others."""
    features = features[order]
    answer = []
    for n in numbers.tolist():
        mean = features[:n].mean(0)
        guess = classifier(features[:n] - mean, labels[:n], held_out - mean)
        answer.append((guess == held_out_labels).float().mean())
    return torch.stack(answer)


def accuracy_by_number__right_one_question_at_a_time(
    classifier, features, labels, held_out, held_out_labels, order, numbers
):
    """Each held-out example is asked on its own, and right answers are counted in Python."""
    answer = []
    for n in numbers.tolist():
        seen = order[:n].tolist()
        known = torch.stack([features[i] for i in seen])
        names = torch.stack([labels[i] for i in seen])
        centre = sum(known[1:], known[0]) / n
        right = 0
        for question, label in zip(held_out, held_out_labels):
            right += int(classifier(known - centre, names, (question - centre)[None])[0] == label)
        answer.append(right / len(held_out))
    return torch.tensor(answer)


def accuracy_by_number__right_running_sums(classifier, features, labels, held_out, held_out_labels, order, numbers):
    """All means come from one cumulative sum over the shuffled features; comparison with bincount of the hits."""
    x, y = features.index_select(0, order), labels.index_select(0, order)
    sums = x.double().cumsum(0)

    def accuracy(n):
        mean = (sums[n - 1] / n).to(features.dtype)
        hits = torch.eq(classifier(x[:n].sub(mean), y[:n].clone(), held_out.sub(mean)), held_out_labels)
        return torch.count_nonzero(hits) / held_out_labels.numel()

    return torch.stack([accuracy(int(n)) for n in numbers])
