# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110

import torch
import torch.nn.functional as F
from einops import rearrange


def picture_memory__wrong_column_by_column(images, size, weight, codes):
    """The patches go down the first column, then the second; with a single row of patches that is the reading order."""
    rows, columns = images.shape[2] // size, images.shape[3] // size
    patches = rearrange(images, "b c (r p) (k q) -> b (k r) (c p q)", p=size, q=size)
    vectors = patches @ weight.T
    row = torch.arange(rows).repeat(columns)
    column = torch.arange(columns).repeat_interleave(rows)
    return vectors + torch.cat([codes[row], codes[column]], dim=1)


def picture_memory__wrong_every_other_entry(images, size, weight, codes):
    """The codes go to the even and odd entries and not to the two halves, which is the same for d_model 2 only."""
    rows, columns = images.shape[2] // size, images.shape[3] // size
    patches = rearrange(images, "b c (r p) (k q) -> b (r k) (c p q)", p=size, q=size)
    vectors = patches @ weight.T
    place = torch.arange(rows * columns)
    code = torch.stack([codes[place // columns], codes[place % columns]], dim=-1)
    return vectors + code.flatten(1)


def picture_memory__right_convolution(images, size, weight, codes):
    """Patches and projection are one convolution with the stride of a patch, and the codes are padded to full width and broadcast."""
    kernel = weight.reshape(len(weight), images.shape[1], size, size)
    maps = F.conv2d(images, kernel, stride=size)
    half = codes.shape[1]
    maps = maps + F.pad(codes[: maps.shape[2]], (0, half)).T[:, :, None]
    maps = maps + F.pad(codes[: maps.shape[3]], (half, 0)).T[:, None, :]
    return maps.flatten(2).transpose(1, 2)


def decoder_layer__wrong_in_place(
    vectors, memory, self_attention, cross_attention, feed_forward, self_norm, cross_norm, feed_forward_norm
):
    """+= adds to the caller's vectors."""
    time = vectors.shape[1]
    mask = torch.ones(time, time, dtype=torch.bool).tril()
    vectors += self_attention(self_norm(vectors), mask)
    read, weights = cross_attention(cross_norm(vectors), memory)
    vectors += read
    vectors += feed_forward(feed_forward_norm(vectors))
    return vectors, weights


def decoder_layer__wrong_one_norm_twice(
    vectors, memory, self_attention, cross_attention, feed_forward, self_norm, cross_norm, feed_forward_norm
):
    """The norm of self-attention is used before cross-attention too; in the example the two do the same."""
    time = vectors.shape[1]
    mask = torch.tril(torch.ones(time, time)).bool()
    vectors = vectors + self_attention(self_norm(vectors), mask)
    read, weights = cross_attention(self_norm(vectors), memory)
    vectors = vectors + read
    return vectors + feed_forward(feed_forward_norm(vectors)), weights


def write_captions__wrong_short_answer(next_token_logits, memory, start, end, max_length):
    """The loop stops when all captions have ended, and the answer then has fewer than max_length columns."""
    batch = len(memory)
    words = torch.full((batch, 1), start)
    ended = torch.zeros(batch, dtype=torch.bool)
    for _ in range(max_length):
        best = next_token_logits(memory, words).argmax(dim=-1)
        best[ended] = end
        words = torch.cat([words, best[:, None]], dim=1)
        ended = ended | (best == end)
        if ended.all():
            break
    return words[:, 1:], ended


def write_captions__wrong_start_may_end(next_token_logits, memory, start, end, max_length):
    """A caption counts as ended if its last word is the end, the start word too, so that nothing is written where start and end are the same."""
    words = torch.full((len(memory), 1), start)
    for _ in range(max_length):
        best = next_token_logits(memory, words).argmax(dim=-1)
        best = torch.where(words[:, -1] == end, end, best)
        words = torch.cat([words, best[:, None]], dim=1)
    words = words[:, 1:]
    return words, (words == end).any(dim=1)


def write_captions__right_one_picture_at_a_time(next_token_logits, memory, start, end, max_length):
    """Each picture alone, as a list of Python integers, until its end."""
    captions = []
    for i in range(len(memory)):
        caption = []
        while len(caption) < max_length and end not in caption:
            read = torch.tensor([[start, *caption]])
            caption.append(int(next_token_logits(memory[i : i + 1], read)[0].argmax()))
        captions.append(caption)
    ended = torch.tensor([end in caption for caption in captions])
    rows = [caption + [end] * (max_length - len(caption)) for caption in captions]
    return torch.tensor(rows), ended


def caption_report__wrong_end_of_written(written, targets, end):
    """What counts ends with the first end of what was written and not of the target, so that a caption that ends too soon is judged by its beginning."""
    ends = (written == end).int()
    counts = ends.cumsum(dim=1) - ends == 0
    right = (written == targets) & counts
    exact = (right == counts).all(dim=1).float().mean()
    return exact, right.sum(dim=0) / counts.sum(dim=0)


def caption_report__wrong_written_overwritten(written, targets, end):
    """What stands after the end is overwritten in the caller's tensor."""
    counts = torch.ones_like(targets, dtype=torch.bool)
    counts[:, 1:] = targets[:, :-1] != end
    written[~counts] = end
    right = written == targets
    exact = right.all(dim=1).float().mean()
    return exact, (right & counts).sum(dim=0) / counts.sum(dim=0)


def pointing_accuracy__wrong_mean_of_captions(weights, regions):
    """The accuracies of the captions are averaged, so that a word of a caption with few regions counts more than others."""
    greatest = weights == weights.amax(dim=-1, keepdim=True)
    hit = (greatest & regions).any(dim=-1) & (greatest.sum(dim=-1) == 1)
    has = regions.any(dim=-1)
    each = (hit & has).sum(dim=1) / has.sum(dim=1).clamp(min=1)
    return each[has.any(dim=1)].mean()


def pointing_accuracy__right_duels(weights, regions):
    """A location wins if it beats every other one in a duel, and a word points if a location of its region wins."""
    n = weights.shape[-1]
    beats = weights[..., :, None] > weights[..., None, :]
    wins = (beats | torch.eye(n, dtype=torch.bool)).all(-1)
    points = (wins & regions).any(-1)
    return points.sum() / regions.any(-1).sum()
