# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E712

import math

import torch
from einops import rearrange
from torch import nn

# ---------------------------------------------------------------- 12.1 mask_words


def mask_words__wrong_random_and_kept_swapped(
    tokens, selection, corruption, replacements, vocab_size, mask_id, first_word, mask_rate
):
    """From 0.8 to 0.9 the word must be replaced by a random one and from 0.9 on kept; you have it the other way round."""
    chosen = (selection < mask_rate) & (tokens >= first_word)
    words = first_word + (replacements * (vocab_size - first_word)).long()
    inputs = torch.where(chosen & (corruption < 0.8), mask_id, tokens)
    inputs = torch.where(chosen & (corruption >= 0.9), words, inputs)
    targets = torch.where(chosen, tokens, -100)
    return inputs, targets


def mask_words__wrong_no_target_for_kept_words(
    tokens, selection, corruption, replacements, vocab_size, mask_id, first_word, mask_rate
):
    """A selected word that is kept has a target too; you give it -100."""
    chosen = (selection < mask_rate) & (tokens >= first_word)
    inputs = tokens.clone()
    inputs[chosen & (corruption < 0.8)] = mask_id
    rand = chosen & (corruption >= 0.8) & (corruption < 0.9)
    new = (first_word + replacements * (vocab_size - first_word)).long()
    inputs[rand] = new[rand]
    targets = tokens.clone()
    targets[~(chosen & (corruption < 0.9))] = -100
    return inputs, targets


def mask_words__wrong_random_from_whole_vocabulary(
    tokens, selection, corruption, replacements, vocab_size, mask_id, first_word, mask_rate
):
    """The random token must be one of the words, but you draw it from the whole vocabulary, special tokens too."""
    chosen = (selection < mask_rate) & (tokens >= first_word)
    words = (replacements * vocab_size).long()
    inputs = torch.where(chosen & (corruption < 0.9), words, tokens)
    inputs = torch.where(chosen & (corruption < 0.8), mask_id, inputs)
    return inputs, torch.where(chosen, tokens, torch.full_like(tokens, -100))


def mask_words__wrong_first_word_is_never_selected(
    tokens, selection, corruption, replacements, vocab_size, mask_id, first_word, mask_rate
):
    """The token first_word is a word already, so the comparison has to be >= and not >."""
    inputs, targets = tokens.clone(), torch.full_like(tokens, -100)
    batch, time = tokens.shape
    for b in range(batch):
        for t in range(time):
            if selection[b, t] < mask_rate and tokens[b, t] > first_word:
                targets[b, t] = tokens[b, t]
                if corruption[b, t] < 0.8:
                    inputs[b, t] = mask_id
                elif corruption[b, t] < 0.9:
                    inputs[b, t] = first_word + int(replacements[b, t] * (vocab_size - first_word))
    return inputs, targets


def mask_words__wrong_writes_into_tokens(
    tokens, selection, corruption, replacements, vocab_size, mask_id, first_word, mask_rate
):
    """You write the masks into the tokens of the caller; make a copy first."""
    chosen = (selection < mask_rate) & (tokens >= first_word)
    targets = tokens.masked_fill(~chosen, -100)
    new = first_word + torch.floor(replacements * (vocab_size - first_word)).long()
    rand = chosen & (corruption >= 0.8) & (corruption < 0.9)
    tokens[rand] = new[rand]
    tokens[chosen & (corruption < 0.8)] = mask_id
    return tokens, targets


def mask_words__right_by_loops(tokens, selection, corruption, replacements, vocab_size, mask_id, first_word, mask_rate):
    inputs, targets = [], []
    for row, sel, cor, rep in zip(tokens, selection, corruption, replacements):
        for token, s, c, r in zip(row, sel, cor, rep):
            token = int(token)
            if token < first_word or not bool(s < mask_rate):
                inputs.append(token)
                targets.append(-100)
                continue
            targets.append(token)
            if bool(c < 0.8):
                inputs.append(mask_id)
            elif bool(c < 0.9):
                inputs.append(first_word + int(r * (vocab_size - first_word)))
            else:
                inputs.append(token)
    return (
        torch.tensor(inputs, dtype=tokens.dtype).reshape(tokens.shape),
        torch.tensor(targets, dtype=tokens.dtype).reshape(tokens.shape),
    )


def mask_words__right_plain_python_numbers(
    tokens, selection, corruption, replacements, vocab_size, mask_id, first_word, mask_rate
):
    def one(token, s, c, r):
        if s >= mask_rate or token < first_word:
            return token, -100
        if c < 0.8:
            return mask_id, token
        if c < 0.9:
            return first_word + int(r * (vocab_size - first_word)), token
        return token, token

    rows = zip(tokens.tolist(), selection.tolist(), corruption.tolist(), replacements.tolist())
    pairs = torch.tensor([[one(*numbers) for numbers in zip(*row)] for row in rows])
    return pairs[..., 0], pairs[..., 1]


# ---------------------------------------------------------------- 12.2 patchify


def patchify__wrong_only_reshape(images, size):
    """A reshape alone keeps reading along the image row; a patch must be a square, so split the axes and permute."""
    batch, channels, height, width = images.shape
    return images.reshape(batch, (height // size) * (width // size), channels * size * size)


def patchify__wrong_column_by_column(images, size):
    """The patches must come row by row, yours come column by column."""
    return rearrange(images, "b c (h i) (w j) -> b (w h) (c i j)", i=size, j=size)


def patchify__wrong_channels_last(images, size):
    """Within a patch all pixels of the first channel come first; you put the channels of each pixel together."""
    b, c, h, w = images.shape
    x = images.reshape(b, c, h // size, size, w // size, size)
    x = x.permute(0, 2, 4, 3, 5, 1)
    return x.reshape(b, -1, c * size * size)


def patchify__wrong_pixels_transposed(images, size):
    """Inside a patch the pixels must be read row by row, you read them column by column."""
    out = []
    for y in range(0, images.shape[2], size):
        for x in range(0, images.shape[3], size):
            out.append(images[:, :, y : y + size, x : x + size].transpose(2, 3).flatten(1))
    return torch.stack(out, dim=1)


def patchify__right_list_of_squares(images, size):
    height, width = images.shape[-2:]
    squares = [
        images[:, :, y : y + size, x : x + size].flatten(start_dim=1)
        for y in range(0, height, size)
        for x in range(0, width, size)
    ]
    return torch.stack(squares, dim=1)


def patchify__right_indices_of_pixels(images, size):
    batch, channels, height, width = images.shape
    number = torch.arange(channels * height * width)
    c, y, x = number // (height * width), number // width % height, number % width
    patch = (y // size) * (width // size) + x // size
    place = c * size * size + (y % size) * size + x % size
    where = torch.empty_like(number)
    where[patch * channels * size * size + place] = number
    return images.flatten(1)[:, where].reshape(batch, -1, channels * size * size)


def patchify__right_tensor_unfold_twice(images, size):
    squares = images.unfold(2, size, size).unfold(3, size, size)
    return rearrange(squares, "b c h w i j -> b (h w) (c i j)")


# ---------------------------------------------------------------- 12.2 unpatchify


def unpatchify__wrong_only_reshape(patches, size, channels, height, width):
    """The numbers of a patch must go to a square of the image; reshape puts them one after the other along the rows."""
    return patches.reshape(len(patches), channels, height, width)


def unpatchify__wrong_square_grid(patches, size, channels, height, width):
    """The image isn't always square: the grid has height / size rows, not the root of the number of patches."""
    n = int(math.sqrt(patches.shape[1]))
    m = patches.shape[1] // n
    return rearrange(patches, "b (h w) (c i j) -> b c (h i) (w j)", h=n, w=m, c=channels, i=size, j=size)


def unpatchify__wrong_grid_read_by_columns(patches, size, channels, height, width):
    """The second patch belongs to the right of the first, you put it below."""
    return rearrange(patches, "b (w h) (c i j) -> b c (h i) (w j)", h=height // size, c=channels, i=size, j=size)


def unpatchify__wrong_permute_of_sizes(patches, size, channels, height, width):
    """After the permute the axes are (rows, columns, size, size), so the reshape mixes rows of different patches."""
    b = patches.shape[0]
    x = patches.reshape(b, height // size, width // size, channels, size, size)
    x = x.permute(0, 3, 1, 2, 4, 5)
    return x.reshape(b, channels, height, width)


def unpatchify__right_fills_squares(patches, size, channels, height, width):
    images = patches.new_zeros(len(patches), channels, height, width)
    number = 0
    for top in range(0, height, size):
        for left in range(0, width, size):
            images[:, :, top : top + size, left : left + size] = patches[:, number].reshape(-1, channels, size, size)
            number += 1
    return images


def unpatchify__right_cat_of_cats(patches, size, channels, height, width):
    columns = width // size
    squares = [p.reshape(-1, channels, size, size) for p in patches.unbind(1)]
    bands = [torch.cat(squares[k : k + columns], dim=-1) for k in range(0, len(squares), columns)]
    return torch.cat(bands, dim=-2)


# ---------------------------------------------------------------- 12.3 ClassToken


class ClassToken__wrong_token_at_the_end(nn.Module):
    """The token must stand before the patches, you put it behind them."""

    def __init__(self, patches, d_model):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(d_model))
        self.positions = nn.Parameter(torch.randn(patches + 1, d_model))

    def forward(self, vectors):
        token = self.token.expand(vectors.shape[0], 1, -1)
        return torch.cat([vectors, token], dim=1) + self.positions


class ClassToken__wrong_token_without_position(nn.Module):
    """Row 0 of the positions has to be added to the token; you add positions to the patches only."""

    def __init__(self, patches, d_model):
        super().__init__()
        self.token = nn.Parameter(torch.randn(d_model))
        self.positions = nn.Parameter(torch.randn(patches + 1, d_model))

    def forward(self, vectors):
        batch, n, d = vectors.shape
        vectors = vectors + self.positions[1:]
        return torch.cat([self.token.view(1, 1, d).repeat(batch, 1, 1), vectors], 1)


class ClassToken__wrong_positions_shifted(nn.Module):
    """The first patch gets row 1 of the positions, row 0 is for the token; you start with row 0 at the patches."""

    def __init__(self, patches, d_model):
        super().__init__()
        self.token = nn.Parameter(torch.randn(d_model) * 0.02)
        self.positions = nn.Parameter(torch.randn(patches + 1, d_model) * 0.02)

    def forward(self, vectors):
        n = vectors.shape[1]
        patches = vectors + self.positions[:n]
        token = (self.token + self.positions[n]).expand(len(vectors), 1, -1)
        return torch.cat([token, patches], dim=1)


class ClassToken__wrong_no_gradient_for_token(nn.Module):
    """With .data the token is cut from the graph and never learns."""

    def __init__(self, patches, d_model):
        super().__init__()
        self.token = nn.Parameter(torch.randn(d_model))
        self.positions = nn.Parameter(torch.zeros(patches + 1, d_model))

    def forward(self, vectors):
        tokens = torch.stack([self.token.data] * vectors.shape[0]).unsqueeze(1)
        return torch.cat((tokens, vectors), dim=1) + self.positions


class ClassToken__wrong_batch_of_one_only(nn.Module):
    """The token must be stretched over the batch; as it is, cat works for a single image only."""

    def __init__(self, patches, d_model):
        super().__init__()
        self.token = nn.Parameter(torch.randn(d_model))
        self.positions = nn.Parameter(torch.zeros(patches + 1, d_model))

    def forward(self, vectors):
        return torch.cat((self.token[None, None, :], vectors), dim=1) + self.positions


class ClassToken__right_by_vmap(nn.Module):
    def __init__(self, patches, d_model):
        super().__init__()
        self.token = nn.Parameter(torch.randn(d_model))
        self.positions = nn.Parameter(torch.randn(patches + 1, d_model))

    def forward(self, vectors):
        return torch.vmap(lambda image: torch.vstack([self.token, image]) + self.positions)(vectors)


# ---------------------------------------------------------------- 12.3 class_or_mean


def class_or_mean__wrong_mean_with_class_token(vectors, weight, bias):
    """The class token has no part in the mean, you average over all positions."""
    return vectors[:, 0] @ weight.T + bias, vectors.mean(dim=1) @ weight.T + bias


def class_or_mean__wrong_sum_for_mean(vectors, weight, bias):
    """Mean pooling divides by the number of patches, you only add them up."""
    a = torch.nn.functional.linear(vectors[:, 0, :], weight, bias)
    b = torch.nn.functional.linear(vectors[:, 1:, :].sum(1), weight, bias)
    return a, b


def class_or_mean__wrong_outputs_swapped(vectors, weight, bias):
    """First come the logits of the class token and then those of the mean; you return them in the other order."""
    logits = torch.einsum("bnd,kd->bnk", vectors, weight) + bias
    return logits[:, 1:].mean(1), logits[:, 0]


def class_or_mean__wrong_squeeze_drops_batch(vectors, weight, bias):
    """A bare squeeze removes every axis of size one, so a batch of one image or a single class loses its axis."""
    cls, patches = torch.split(vectors, [1, vectors.shape[1] - 1], dim=1)
    mean = patches.mean(dim=1, keepdim=True)
    return (cls @ weight.T + bias).squeeze(), (mean @ weight.T + bias).squeeze()


def class_or_mean__wrong_bias_added_per_patch(vectors, weight, bias):
    """The bias is added once to the logits of the mean; you add it for every patch before you divide by their number plus one."""
    logits = vectors @ weight.T + bias
    return logits[:, 0], logits[:, 1:].sum(1) / logits.shape[1]


def class_or_mean__right_mean_of_logits(vectors, weight, bias):
    logits = torch.einsum("bpd,cd->pbc", vectors, weight) + bias
    first, *others = logits
    return first, sum(others) / len(others)


# ---------------------------------------------------------------- 12.4 family_mask


def family_mask__wrong_directions_swapped(direction, time):
    """Left to right means the lower triangle; you give it the upper one."""
    ones = torch.ones(time, time, dtype=torch.bool)
    if direction == 1:
        return ones.triu()
    if direction == -1:
        return ones.tril()
    return ones


def family_mask__wrong_without_itself(direction, time):
    """Every position may attend to itself, so the diagonal must be True."""
    i = torch.arange(time)[:, None]
    j = torch.arange(time)[None, :]
    if direction == 0:
        return torch.ones(time, time, dtype=torch.bool)
    return j < i if direction == 1 else j > i


def family_mask__wrong_bidirectional_hides_own_word(direction, time):
    """A bidirectional model sees all positions, its own too: the word there is hidden by <mask> and not by the attention mask."""
    full = torch.ones((time, time), dtype=torch.bool)
    if direction > 0:
        return torch.tril(full)
    elif direction < 0:
        return torch.triu(full)
    return ~torch.eye(time, dtype=torch.bool)


def family_mask__wrong_true_means_hidden(direction, time):
    """True must mean that the position may be attended to; in your mask it means hidden."""
    m = torch.zeros(time, time, dtype=torch.bool)
    for i in range(time):
        for j in range(time):
            if direction == 1 and j > i or direction == -1 and j < i:
                m[i, j] = True
    return m


def family_mask__right_one_inequality(direction, time):
    return torch.tensor([[(key - query) * direction <= 0 for key in range(time)] for query in range(time)])


# ---------------------------------------------------------------- 12.4 family_targets


def family_targets__wrong_roll_wraps_round(tokens, selected, direction):
    """After the roll the last position in the direction has the word from the other end; it must have -100."""
    if direction == 0:
        return torch.where(selected, tokens, -100)
    return torch.roll(tokens, -direction, dims=1)


def family_targets__wrong_selected_for_all_families(tokens, selected, direction):
    """For the models with one direction every position has a target, whether selected or not."""
    targets = torch.full_like(tokens, -100)
    if direction == 0:
        targets[:] = tokens
    elif direction == 1:
        targets[:, :-1] = tokens[:, 1:]
    else:
        targets[:, 1:] = tokens[:, :-1]
    targets[~selected] = -100
    return targets


def family_targets__wrong_shift_to_the_other_side(tokens, selected, direction):
    """The target is the next word in the direction, yours is the word before."""
    none = torch.full_like(tokens[:, :1], -100)
    if direction == 1:
        return torch.cat([none, tokens[:, :-1]], dim=1)
    if direction == -1:
        return torch.cat([tokens[:, 1:], none], dim=1)
    return tokens.masked_fill(~selected, -100)


def family_targets__wrong_tokens_overwritten(tokens, selected, direction):
    """You write -100 into the tokens that you were given; make a new tensor."""
    if direction == 0:
        targets = tokens
        targets[selected == False] = -100
        return targets
    targets = torch.full_like(tokens, -100)
    if direction == 1:
        targets[:, :-1] = tokens[:, 1:]
    if direction == -1:
        targets[:, 1:] = tokens[:, :-1]
    return targets


def family_targets__right_lists(tokens, selected, direction):
    rows = []
    for row, chosen in zip(tokens.tolist(), selected.tolist()):
        if direction == 0:
            rows.append([word if c else -100 for word, c in zip(row, chosen)])
        elif direction == 1:
            rows.append(row[1:] + [-100])
        else:
            rows.append([-100] + row[:-1])
    return torch.tensor(rows, dtype=tokens.dtype)


# ---------------------------------------------------------------- 12.4 read_from_the_right


def read_from_the_right__wrong_logits_not_turned_back(model, tokens):
    """The logits come in the order of the reversed text; they must be turned round again."""
    return model(tokens.flip(1))


def read_from_the_right__wrong_only_logits_turned(model, tokens):
    """You reverse only the logits, so the model has still read the text from the left."""
    return model(tokens).flip(1)


def read_from_the_right__wrong_vocab_reversed(model, tokens):
    """flip(-1) of the logits reverses the vocabulary and not the positions."""
    return model(tokens.flip(-1)).flip(-1)


def read_from_the_right__wrong_without_own_word(model, tokens):
    """The logits at a position are those after its own word was read; yours are from one position before that."""
    logits = model(torch.flip(tokens, dims=[1]))
    logits = torch.cat([torch.zeros_like(logits[:, :1]), logits[:, :-1]], dim=1)
    return torch.flip(logits, dims=[1])


def read_from_the_right__right_suffix_by_suffix(model, tokens):
    columns = []
    for start in range(tokens.shape[1]):
        backwards = torch.stack([tokens[:, t] for t in reversed(range(start, tokens.shape[1]))], dim=1)
        columns.append(model(backwards)[:, -1])
    return torch.stack(columns, dim=1)


# ---------------------------------------------------------------- 12.5 nearest_mean


def nearest_mean__wrong_number_among_seen_classes(features, labels, questions):
    """You return the number of the mean and not the label of its class; they differ where a class has no example."""
    means = torch.stack([features[labels == c].mean(0) for c in labels.unique()])
    return torch.cdist(questions, means).argmin(dim=1)


def nearest_mean__wrong_empty_classes_at_zero(features, labels, questions):
    """A class without an example gets the mean 0 here and can be the answer; it never may."""
    k = int(labels.max()) + 1
    sums = torch.zeros(k, features.shape[1], dtype=features.dtype).index_add(0, labels, features)
    counts = torch.bincount(labels, minlength=k).clamp(min=1)
    means = sums / counts[:, None]
    dist = ((questions[:, None] - means[None]) ** 2).sum(-1)
    return dist.argmin(1)


def nearest_mean__wrong_nearest_example(features, labels, questions):
    """You look for the nearest example, but asked is the class whose mean is nearest."""
    d = (questions[:, None, :] - features[None, :, :]).norm(dim=-1)
    return labels[d.argmin(dim=1)]


def nearest_mean__wrong_sum_of_absolute_differences(features, labels, questions):
    """The ordinary distance is the root of the sum of squares, you add up absolute differences."""
    classes = labels.unique()
    means = torch.stack([features[labels == c].mean(dim=0) for c in classes])
    dist = (questions.unsqueeze(1) - means.unsqueeze(0)).abs().sum(dim=2)
    return classes[dist.argmin(dim=1)]


def nearest_mean__wrong_largest_dot_product(features, labels, questions):
    """The largest product with a mean isn't the nearest mean: a long mean wins too often."""
    classes = torch.unique(labels)
    means = torch.stack([features[labels == c].mean(dim=0) for c in classes])
    return classes[(questions @ means.T).argmax(dim=-1)]


def nearest_mean__right_by_dictionary(features, labels, questions):
    groups = {}
    for x, c in zip(features.double(), labels.tolist()):
        groups.setdefault(c, []).append(x)
    means = {c: sum(xs) / len(xs) for c, xs in groups.items()}
    answers = [min(means, key=lambda c: float(((q - means[c]) ** 2).sum())) for q in questions.double()]
    return torch.tensor(answers, dtype=labels.dtype)


# ---------------------------------------------------------------- 12.5 accuracy_by_number


def accuracy_by_number__wrong_order_ignored(classifier, features, labels, held_out, held_out_labels, order, numbers):
    """You take the first examples as they stand, but they must be the first ones of order."""
    acc = []
    for n in numbers.tolist():
        x, y = features[:n], labels[:n]
        m = x.mean(dim=0)
        acc.append((classifier(x - m, y, held_out - m) == held_out_labels).float().mean())
    return torch.stack(acc)


def accuracy_by_number__wrong_mean_of_all_examples(
    classifier, features, labels, held_out, held_out_labels, order, numbers
):
    """The mean may come from the seen examples only, yours knows all of them."""
    mean = features.mean(0)
    features, held_out = features - mean, held_out - mean
    result = []
    for n in numbers:
        seen = order[:n]
        answer = classifier(features[seen], labels[seen], held_out)
        result.append((answer == held_out_labels).float().mean().item())
    return torch.tensor(result)


def accuracy_by_number__wrong_held_out_own_mean(
    classifier, features, labels, held_out, held_out_labels, order, numbers
):
    """From the held-out features the mean of the seen ones must be subtracted, not their own mean."""
    out = torch.zeros(len(numbers))
    for k, n in enumerate(numbers):
        idx = order[:n]
        x = features[idx]
        pred = classifier(x - x.mean(0), labels[idx], held_out - held_out.mean(0))
        out[k] = (pred == held_out_labels).sum() / len(held_out)
    return out


def accuracy_by_number__wrong_one_mean_for_all_features(
    classifier, features, labels, held_out, held_out_labels, order, numbers
):
    """The mean is taken feature by feature, but mean() without an axis gives a single number for all."""
    result = []
    for n in numbers.tolist():
        seen = order[:n]
        x = features[seen]
        m = x.mean()
        hits = classifier(x - m, labels[seen], held_out - m) == held_out_labels
        result.append(hits.sum().item() / hits.numel())
    return torch.tensor(result)


def accuracy_by_number__wrong_one_example_too_few(
    classifier, features, labels, held_out, held_out_labels, order, numbers
):
    """The classifier has to learn from n examples, the slice up to n - 1 gives it one less."""
    result = []
    for n in numbers.tolist():
        seen = order[: n - 1]
        m = features[seen].mean(dim=0, keepdim=True)
        a = classifier(features[seen] - m, labels[seen], held_out - m)
        result.append((a == held_out_labels).float().mean())
    return torch.stack(result)


def accuracy_by_number__right_one_question_at_a_time(
    classifier, features, labels, held_out, held_out_labels, order, numbers
):
    def accuracy(number):
        seen = order.tolist()[:number]
        x = torch.stack([features[k] for k in seen])
        y = torch.stack([labels[k] for k in seen])
        centre = x.sum(dim=0) / number
        right = 0
        for question, label in zip(held_out, held_out_labels):
            right += int(classifier(x - centre, y, (question - centre)[None])[0] == label)
        return right / len(held_out)

    return torch.tensor([accuracy(number) for number in numbers.tolist()])
