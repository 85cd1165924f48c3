# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501

import math

import torch
from einops import rearrange, repeat
from torch.nn import functional as F

# ---------------------------------------------------------------- 15.1 picture_memory


def _patches(images, size):
    """(batch, rows * columns, channels * size * size), reading order; pixels by channel, row, column."""
    return rearrange(images, "b c (h p) (w q) -> b (h w) (c p q)", p=size, q=size)


def picture_memory__wrong_halves_exchanged(images, size, weight, codes):
    """The code of the column is in the first half and that of the row in the second; it is the other way round."""
    rows, columns = images.shape[2] // size, images.shape[3] // size
    vectors = _patches(images, size) @ weight.T
    row = repeat(codes[:rows], "h d -> (h w) d", w=columns)
    column = repeat(codes[:columns], "w d -> (h w) d", h=rows)
    return vectors + torch.cat([column, row], dim=-1)


def picture_memory__wrong_one_number_per_patch(images, size, weight, codes):
    """The patches are numbered through and one code says both; the row and the column need a code each."""
    vectors = _patches(images, size) @ weight.T
    code = codes[: vectors.shape[1]]
    return vectors + torch.cat([code, code], dim=-1)


def picture_memory__wrong_channels_last(images, size, weight, codes):
    """The pixels of a patch are laid out with the channels last; the weight expects channel, row, column."""
    rows, columns = images.shape[2] // size, images.shape[3] // size
    vectors = rearrange(images, "b c (h p) (w q) -> b (h w) (p q c)", p=size, q=size) @ weight.T
    code = torch.cat([codes[:rows].repeat_interleave(columns, 0), codes[:columns].repeat(rows, 1)], dim=1)
    return vectors + code


def picture_memory__wrong_reading_order(images, size, weight, codes):
    """The locations are listed column by column; reading order is row by row."""
    rows, columns = images.shape[2] // size, images.shape[3] // size
    vectors = rearrange(images, "b c (h p) (w q) -> b (w h) (c p q)", p=size, q=size) @ weight.T
    code = torch.cat([codes[:rows].repeat(columns, 1), codes[:columns].repeat_interleave(rows, 0)], dim=1)
    return vectors + code


def picture_memory__wrong_rows_for_columns(images, size, weight, codes):
    """The number of a patch is divided by the number of rows, not of columns; this is right for square pictures only."""
    rows = images.shape[2] // size
    vectors = _patches(images, size) @ weight.T
    n = torch.arange(vectors.shape[1])
    return vectors + torch.cat([codes[n // rows], codes[n % rows]], dim=1)


def picture_memory__wrong_codes_detached(images, size, weight, codes):
    """The codes are copied into a new table through .data, so no gradient arrives at them."""
    rows, columns = images.shape[2] // size, images.shape[3] // size
    vectors = _patches(images, size) @ weight.T
    half = codes.shape[1]
    table = torch.zeros(rows, columns, 2 * half, dtype=vectors.dtype)
    table[..., :half] = codes.data[:rows, None]
    table[..., half:] = codes.data[None, :columns]
    return vectors + table.reshape(rows * columns, -1)


def picture_memory__right_convolution(images, size, weight, codes):
    """A convolution whose stride is the size of a patch cuts and projects at once; codes by two broadcast pads."""
    kernel = weight.reshape(weight.shape[0], images.shape[1], size, size)
    field = F.conv2d(images, kernel, stride=size)
    half = weight.shape[0] // 2
    rows, columns = field.shape[2:]
    field = (
        field + F.pad(codes[:rows].T, (0, 0, 0, half))[:, :, None] + F.pad(codes[:columns].T, (0, 0, half, 0))[:, None]
    )
    return field.flatten(2).transpose(1, 2)


def picture_memory__right_patch_by_patch(images, size, weight, codes):
    """Two loops over rows and columns; each vector is put together from two halves."""
    half = codes.shape[-1]
    memory = []
    for r, stripe in enumerate(images.split(size, dim=2)):
        for c, patch in enumerate(stripe.split(size, dim=3)):
            vector = F.linear(patch.flatten(1), weight)
            memory.append(torch.cat([vector[:, :half] + codes[r], vector[:, half:] + codes[c]], dim=1))
    return torch.stack(memory, 1)


# ---------------------------------------------------------------- 15.2 decoder_layer


def decoder_layer__wrong_post_norm(
    vectors, memory, self_attention, cross_attention, feed_forward, self_norm, cross_norm, feed_forward_norm
):
    """This is post-norm, the original Transformer: the norm stands after the sum. In pre-norm the sublayer reads the normalised copy."""
    time = vectors.shape[1]
    mask = torch.ones(time, time, dtype=torch.bool).tril()
    x = self_norm(vectors + self_attention(vectors, mask))
    found, weights = cross_attention(x, memory)
    x = cross_norm(x + found)
    return feed_forward_norm(x + feed_forward(x)), weights


def decoder_layer__wrong_skip_of_the_copy(
    vectors, memory, self_attention, cross_attention, feed_forward, self_norm, cross_norm, feed_forward_norm
):
    """What a sublayer returns is added to the normalised copy; it must be added to the vectors as they were."""
    time = vectors.shape[1]
    mask = torch.ones(time, time, dtype=torch.bool).tril()
    x = self_norm(vectors)
    x = x + self_attention(x, mask)
    x = cross_norm(x)
    found, weights = cross_attention(x, memory)
    x = feed_forward_norm(x + found)
    return x + feed_forward(x), weights


def decoder_layer__wrong_no_mask(
    vectors, memory, self_attention, cross_attention, feed_forward, self_norm, cross_norm, feed_forward_norm
):
    """The mask permits everything, so a word can read those after it."""
    time = vectors.shape[1]
    x = vectors + self_attention(self_norm(vectors), torch.ones(time, time, dtype=torch.bool))
    found, weights = cross_attention(cross_norm(x), memory)
    x = x + found
    return x + feed_forward(feed_forward_norm(x)), weights


def decoder_layer__wrong_memory_normalised(
    vectors, memory, self_attention, cross_attention, feed_forward, self_norm, cross_norm, feed_forward_norm
):
    """The memory goes through a norm as well; it is to be read as it is."""
    mask = torch.ones(vectors.shape[1], vectors.shape[1], dtype=torch.bool).tril()
    x = vectors + self_attention(self_norm(vectors), mask)
    found, weights = cross_attention(cross_norm(x), cross_norm(memory))
    x = x + found
    return x + feed_forward(feed_forward_norm(x)), weights


def decoder_layer__wrong_parallel(
    vectors, memory, self_attention, cross_attention, feed_forward, self_norm, cross_norm, feed_forward_norm
):
    """All three sublayers read the vectors at the beginning; each should read the sum so far."""
    mask = torch.ones(vectors.shape[1], vectors.shape[1], dtype=torch.bool).tril()
    found, weights = cross_attention(cross_norm(vectors), memory)
    own = self_attention(self_norm(vectors), mask)
    return vectors + own + found + feed_forward(feed_forward_norm(vectors)), weights


def decoder_layer__wrong_in_place(
    vectors, memory, self_attention, cross_attention, feed_forward, self_norm, cross_norm, feed_forward_norm
):
    """`+=` writes the residual stream into the caller's vectors."""
    mask = torch.ones(vectors.shape[1], vectors.shape[1], dtype=torch.bool).tril()
    vectors += self_attention(self_norm(vectors), mask)
    found, weights = cross_attention(cross_norm(vectors), memory)
    vectors += found
    vectors += feed_forward(feed_forward_norm(vectors))
    return vectors, weights


def decoder_layer__wrong_feed_forward_unnormalised(
    vectors, memory, self_attention, cross_attention, feed_forward, self_norm, cross_norm, feed_forward_norm
):
    """The feed-forward layer reads the stream as it is; its norm comes after it in yours, before it in pre-norm."""
    mask = torch.ones(vectors.shape[1], vectors.shape[1], dtype=torch.bool).tril()
    x = vectors + self_attention(self_norm(vectors), mask)
    found, weights = cross_attention(cross_norm(x), memory)
    x = x + found
    return x + feed_forward_norm(feed_forward(x)), weights


def decoder_layer__right_list_of_parts(
    vectors, memory, self_attention, cross_attention, feed_forward, self_norm, cross_norm, feed_forward_norm
):
    """The parts of the residual stream are kept in a list and summed whenever somebody reads."""
    place = torch.arange(vectors.shape[-2])
    parts = [vectors]
    parts.append(self_attention(self_norm(sum(parts[1:], parts[0])), place[:, None] >= place))
    found, weights = cross_attention(cross_norm(torch.stack(parts).sum(0)), memory)
    parts.append(found)
    parts.append(feed_forward(feed_forward_norm(torch.stack(parts).sum(0))))
    return torch.stack(parts).sum(0), weights


def decoder_layer__right_loop_of_closures(
    vectors, memory, self_attention, cross_attention, feed_forward, self_norm, cross_norm, feed_forward_norm
):
    """One wrapper for norm and skip, three sublayers with the same face, the weights left in a list by the way."""
    time, kept = vectors.shape[1], []
    mask = torch.tensor([[j <= i for j in range(time)] for i in range(time)])

    def look(x):
        found, weights = cross_attention(x, memory)
        kept.append(weights)
        return found

    stream = vectors.clone()
    for norm, sublayer in (
        (self_norm, lambda x: self_attention(x, mask)),
        (cross_norm, look),
        (feed_forward_norm, feed_forward),
    ):
        stream = torch.add(stream, sublayer(norm(stream)))
    return stream, kept[0]


# ---------------------------------------------------------------- 15.3 write_captions


def write_captions__wrong_start_ends(next_token_logits, memory, start, end, max_length):
    """Where start and end are the same integer you take the start for the end, and every caption has ended before it began."""
    words = torch.full((len(memory), 1), start)
    for _ in range(max_length):
        ended = (words == end).any(dim=1)
        word = next_token_logits(memory, words).argmax(-1).masked_fill(ended, end)
        words = torch.cat([words, word[:, None]], dim=1)
    return words[:, 1:], (words == end).any(dim=1)


def write_captions__wrong_shorter_answer(next_token_logits, memory, start, end, max_length):
    """When all captions have ended the loop stops and the answer is shorter than max_length."""
    words = torch.full((len(memory), 1), start)
    ended = torch.zeros(len(memory), dtype=torch.bool)
    for _ in range(max_length):
        word = next_token_logits(memory, words).argmax(-1)
        word = torch.where(ended, end, word)
        words = torch.cat([words, word[:, None]], dim=1)
        ended = ended | (word == end)
        if ended.all():
            break
    return words[:, 1:], ended


def write_captions__wrong_last_word_not_seen(next_token_logits, memory, start, end, max_length):
    """Whether a caption has ended is asked before its new word is written, so an end in the last column is missed."""
    words = torch.full((len(memory), 1), start)
    ended = torch.zeros(len(memory), dtype=torch.bool)
    for step in range(max_length):
        if step > 0:
            ended = ended | (words[:, -1] == end)
        word = torch.where(ended, end, next_token_logits(memory, words).argmax(-1))
        words = torch.cat([words, word[:, None]], dim=1)
    return words[:, 1:], ended


def write_captions__wrong_all_stop_with_the_first(next_token_logits, memory, start, end, max_length):
    """As soon as one caption has ended all others are filled up with `end`, too."""
    words = torch.full((len(memory), max_length), end)
    ended = torch.zeros(len(memory), dtype=torch.bool)
    read = torch.full((len(memory), 1), start)
    for step in range(max_length):
        word = next_token_logits(memory, read).argmax(-1)
        words[:, step] = word
        read = torch.cat([read, word[:, None]], dim=1)
        ended |= word == end
        if ended.any():
            break
    return words, ended


def write_captions__wrong_only_last_word_read(next_token_logits, memory, start, end, max_length):
    """The model is given the last word only; it must read all words so far, from the start on."""
    last = torch.full((len(memory),), start)
    ended = torch.zeros(len(memory), dtype=torch.bool)
    words = []
    for _ in range(max_length):
        last = next_token_logits(memory, last[:, None]).argmax(-1)
        last = torch.where(ended, end, last)
        ended = ended | (last == end)
        words.append(last)
    return torch.stack(words, dim=1), ended


def write_captions__wrong_memory_rows_shifted(next_token_logits, memory, start, end, max_length):
    """The unfinished captions are asked with the first rows of the memory, not with their own."""
    words = torch.full((len(memory), max_length + 1), end)
    words[:, 0] = start
    ended = torch.zeros(len(memory), dtype=torch.bool)
    for step in range(max_length):
        going = (~ended).nonzero()[:, 0]
        if len(going) == 0:
            break
        logits = next_token_logits(memory[: len(going)], words[going, : step + 1])
        words[going, step + 1] = logits.argmax(-1)
        ended[going] = words[going, step + 1] == end
    return words[:, 1:], ended


def write_captions__right_one_picture_at_a_time(next_token_logits, memory, start, end, max_length):
    """Each picture by itself, in a Python list that stops at the end and is filled up afterwards."""
    rows, finished = [], []
    for n in range(len(memory)):
        words = []
        while len(words) < max_length and end not in words:
            logits = next_token_logits(memory[n : n + 1], torch.tensor([[start] + words]))
            words.append(int(logits[0].argmax()))
        finished.append(end in words)
        rows.append(words + [end] * (max_length - len(words)))
    return torch.tensor(rows), torch.tensor(finished)


def write_captions__right_recursion(next_token_logits, memory, start, end, max_length):
    """The captions that have not ended are written on by recursion; only they are asked for."""
    words = torch.full((len(memory), max_length), end)
    ended = torch.zeros(len(memory), dtype=torch.bool)

    def go_on(rows, step):
        if step == max_length or rows.numel() == 0:
            return
        read = torch.cat([torch.full((len(rows), 1), start), words[rows, :step]], dim=1)
        words[rows, step] = next_token_logits(memory[rows], read).max(dim=-1).indices
        done = words[rows, step] == end
        ended[rows[done]] = True
        go_on(rows[~done], step + 1)

    go_on(torch.arange(len(memory)), 0)
    return words, ended


def write_captions__right_cut_afterwards(next_token_logits, memory, start, end, max_length):
    """Everything is written first, as if there were no end, and what follows the first end is replaced afterwards."""
    text = torch.full((len(memory), 1), start)
    for _ in range(max_length):
        text = torch.hstack([text, next_token_logits(memory, text).topk(1).indices])
    words = text[:, 1:]
    is_end = (words == end).long()
    after = is_end.cumsum(1) - is_end > 0
    return words.masked_fill(after, end), is_end.sum(1) > 0


# ---------------------------------------------------------------- 15.4 caption_report


def caption_report__wrong_end_not_counted(written, targets, end):
    """The first end of the target counts too; with `targets != end` it is left out."""
    counts = targets != end
    right = (written == targets) & counts
    return (right | ~counts).all(dim=1).float().mean(), right.sum(0) / counts.sum(0).clamp(min=1)


def caption_report__wrong_end_of_the_written(written, targets, end):
    """You stop at the first end of what was written; the target says which positions count."""
    ends = (written == end).long()
    counts = ends.cumsum(1) - ends == 0
    right = written == targets
    exact = (right | ~counts).all(dim=1).float().mean()
    return exact, (right & counts).sum(0) / counts.sum(0).clamp(min=1)


def caption_report__wrong_divided_by_batch(written, targets, end):
    """The right words of a position are divided by all captions; captions in which it does not count must be left out."""
    ends = (targets == end).long()
    counts = ends.cumsum(1) - ends == 0
    right = (written == targets) & counts
    return (right | ~counts).all(1).float().mean(), right.float().mean(0)


def caption_report__wrong_positions_after_end_right(written, targets, end):
    """Positions that do not count are taken for right in the per-position accuracy, and raise it."""
    ends = (targets == end).long()
    counts = ends.cumsum(1) - ends == 0
    right = (written == targets) | ~counts
    return right.all(1).float().mean(), right.float().mean(0)


def caption_report__wrong_share_of_words(written, targets, end):
    """The first answer is the mean share of right words; a caption with a single mistake is not an exact match."""
    ends = (targets == end).long()
    counts = ends.cumsum(1) - ends == 0
    right = (written == targets) & counts
    return (right.sum(1) / counts.sum(1)).mean(), right.sum(0) / counts.sum(0)


def caption_report__wrong_in_place(written, targets, end):
    """What stands after the end is overwritten in the caller's captions."""
    ends = (targets == end).long()
    counts = ends.cumsum(1) - ends == 0
    written[~counts] = end
    right = written == targets
    return right.all(dim=1).float().mean(), (right & counts).sum(0) / counts.sum(0)


def caption_report__right_python_lists(written, targets, end):
    """Lists and index(): each target is cut after its first end, and hits are counted by position."""
    time = targets.shape[1]
    hits, asked, whole = [0] * time, [0] * time, 0
    for mine, reference in zip(written.tolist(), targets.tolist()):
        length = reference.index(end) + 1
        for t in range(length):
            hits[t] += mine[t] == reference[t]
            asked[t] += 1
        whole += mine[:length] == reference[:length]
    return torch.tensor(whole / len(targets)), torch.tensor([h / a for h, a in zip(hits, asked)])


def caption_report__right_nan_mean(written, targets, end):
    """What does not count is NaN; nanmean and nan-blind minima do the rest."""
    first = (targets == end).int().argmax(dim=1, keepdim=True)
    right = torch.where(torch.arange(targets.shape[1]) <= first, (written == targets).float(), math.nan)
    return right.nan_to_num(nan=1.0).amin(dim=1).mean(), right.nanmean(dim=0)


def caption_report__right_cumprod(written, targets, end):
    """A running product stays 1 until an end has been passed; errors are counted and not hits."""
    going = F.pad((targets != end).long().cumprod(1)[:, :-1], (1, 0), value=1)
    errors = going * written.ne(targets)
    return errors.sum(1).eq(0).double().mean().float(), 1 - errors.sum(0) / going.sum(0)


# ---------------------------------------------------------------- 15.4 pointing_accuracy


def pointing_accuracy__wrong_all_words(weights, regions):
    """You divide by all words; those without a region (relations, the end) do not count."""
    place = weights.argmax(dim=-1, keepdim=True)
    return regions.gather(-1, place).float().mean()


def pointing_accuracy__wrong_majority(weights, regions):
    """More than half of the weight in the region is another criterion; only the greatest weight decides."""
    has = regions.any(dim=-1)
    return ((weights * regions).sum(-1) > 0.5)[has].float().mean()


def pointing_accuracy__wrong_first_location_of_region(weights, regions):
    """argmax of the region is its first location only; the greatest weight may lie at any location of it."""
    has = regions.any(dim=-1)
    hit = weights.argmax(-1) == regions.int().argmax(-1)
    return hit[has].float().mean()


def pointing_accuracy__wrong_mean_of_captions(weights, regions):
    """The fraction is taken for each caption and then averaged; captions with more words that have a region must count more."""
    has = regions.any(dim=-1)
    hit = regions.gather(-1, weights.argmax(-1, keepdim=True)).squeeze(-1) & has
    with_some = has.any(1)
    return (hit.sum(1)[with_some] / has.sum(1)[with_some]).mean()


def pointing_accuracy__wrong_mean_in_region_greater(weights, regions):
    """You compare mean weights within and outside the region; the one greatest weight decides."""
    has = regions.any(dim=-1)
    inside = (weights * regions).sum(-1) / regions.sum(-1).clamp(min=1)
    outside = (weights * ~regions).sum(-1) / (~regions).sum(-1).clamp(min=1)
    return (inside > outside)[has].float().mean()


def pointing_accuracy__wrong_axis_of_time(weights, regions):
    """The maximum is taken over the words of a caption; each word's greatest weight is over the locations."""
    has = regions.any(dim=-1)
    greatest = weights == weights.amax(dim=1, keepdim=True)
    return (greatest & regions).any(-1)[has].float().mean()


def pointing_accuracy__right_two_maxima(weights, regions):
    """No argmax: the greatest weight within the region is compared with the greatest of all."""
    inside = weights.masked_fill(~regions, -math.inf).amax(-1)
    points = inside == weights.amax(-1)
    has = regions.any(-1)
    return (points & has).sum() / has.sum()


def pointing_accuracy__right_loops(weights, regions):
    """Python loops over captions and words, with max over indices."""
    points = words = 0
    for rows, region in zip(weights.tolist(), regions.tolist()):
        for row, shown in zip(rows, region):
            if any(shown):
                words += 1
                points += shown[max(range(len(row)), key=row.__getitem__)]
    return torch.tensor(points / words)
