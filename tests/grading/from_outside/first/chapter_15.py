# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501

import functools

import torch
from einops import rearrange

# ---------------------------------------------------------------- 15.1 picture_memory


def picture_memory__wrong_row_and_column_codes_swapped(images, size, weight, codes):
    """The code of the row belongs to the first half and that of the column to the second; yours are swapped."""
    rows, columns = images.shape[2] // size, images.shape[3] // size
    patches = rearrange(images, "b c (r y) (q x) -> b (r q) (c y x)", y=size, x=size)
    row_codes = codes[:rows].repeat_interleave(columns, dim=0)
    column_codes = codes[:columns].repeat(rows, 1)
    return patches @ weight.T + torch.cat([column_codes, row_codes], dim=-1)


def picture_memory__wrong_row_number_by_rows(images, size, weight, codes):
    """The row of patch number k is k // columns, you divide by the number of rows, which is right only for squares."""
    b, c, h, w = images.shape
    rows, columns = h // size, w // size
    x = images.reshape(b, c, rows, size, columns, size).permute(0, 2, 4, 1, 3, 5)
    x = x.reshape(b, rows * columns, -1) @ weight.T
    k = torch.arange(rows * columns)
    return x + torch.cat([codes[k // rows], codes[k % rows]], dim=1)


def picture_memory__wrong_codes_by_reading_order(images, size, weight, codes):
    """Each location has two codes, one of its row and one of its column; you add the code of its number to both halves."""
    patches = rearrange(images, "b c (r y) (q x) -> b (r q) (c y x)", y=size, x=size)
    vectors = torch.einsum("bnp,dp->bnd", patches, weight)
    code = codes[: patches.shape[1]]
    return vectors + torch.cat((code, code), dim=-1)


def picture_memory__wrong_pixels_with_channels_last(images, size, weight, codes):
    """The weight expects the pixels in the order channel, row, column; you bring the channel last."""
    rows, columns = images.shape[-2] // size, images.shape[-1] // size
    patches = rearrange(images, "b c (r y) (q x) -> b (r q) (y x c)", y=size, x=size)
    grid = torch.cat([codes[:rows, None].expand(-1, columns, -1), codes[None, :columns].expand(rows, -1, -1)], -1)
    return patches @ weight.T + grid.flatten(0, 1)


def picture_memory__wrong_image_only_reshaped(images, size, weight, codes):
    """A reshape cuts the image into strips along its rows and not into squares, so patches have foreign pixels."""
    b, c, h, w = images.shape
    rows, columns = h // size, w // size
    patches = images.reshape(b, rows * columns, c * size * size)
    out = patches @ weight.T
    half = codes.shape[1]
    out[..., :half] += codes[:rows].repeat_interleave(columns, 0)
    out[..., half:] += codes[:columns].repeat(rows, 1)
    return out


def picture_memory__right_by_loops(images, size, weight, codes):
    locations = []
    for row, band in enumerate(images.split(size, dim=2)):
        for column, square in enumerate(band.split(size, dim=3)):
            where = torch.hstack([codes[row], codes[column]])
            locations.append(torch.nn.functional.linear(square.flatten(1), weight, where))
    return torch.stack(locations, dim=1)


def picture_memory__right_by_convolution(images, size, weight, codes):
    kernel = weight.reshape(len(weight), images.shape[1], size, size)
    grid = torch.nn.functional.conv2d(images, kernel, stride=size)
    rows, columns = grid.shape[-2:]
    down = codes[:rows].T[:, :, None].expand(-1, rows, columns)
    across = codes[:columns].T[:, None, :].expand(-1, rows, columns)
    return rearrange(grid + torch.cat([down, across]), "b d r q -> b (r q) d")


# ---------------------------------------------------------------- 15.2 decoder_layer


def decoder_layer__wrong_post_norm(
    vectors, memory, self_attention, cross_attention, feed_forward, self_norm, cross_norm, feed_forward_norm
):
    """In pre-norm the sublayer reads the normalised copy; you normalise after the sum."""
    time = vectors.shape[1]
    mask = torch.ones(time, time, dtype=torch.bool).tril()
    x = self_norm(vectors + self_attention(vectors, mask))
    found, weights = cross_attention(x, memory)
    x = cross_norm(x + found)
    return feed_forward_norm(x + feed_forward(x)), weights


def decoder_layer__wrong_normalised_copy_is_the_stream(
    vectors, memory, self_attention, cross_attention, feed_forward, self_norm, cross_norm, feed_forward_norm
):
    """What a sublayer returns is added to the vectors as they were, you add it to the normalised copy."""
    time = vectors.shape[1]
    mask = torch.tril(torch.ones(time, time)).bool()
    x = self_norm(vectors)
    x = x + self_attention(x, mask)
    x = cross_norm(x)
    found, weights = cross_attention(x, memory)
    x = x + found
    x = feed_forward_norm(x)
    return x + feed_forward(x), weights


def decoder_layer__wrong_mask_upside_down(
    vectors, memory, self_attention, cross_attention, feed_forward, self_norm, cross_norm, feed_forward_norm
):
    """True means may read, and a word reads itself and those before: the lower triangle, not the upper one."""
    n = vectors.shape[1]
    mask = torch.ones(n, n, dtype=torch.bool).triu()
    x = vectors + self_attention(self_norm(vectors), mask)
    found, weights = cross_attention(cross_norm(x), memory)
    x = x + found
    return x + feed_forward(feed_forward_norm(x)), weights


def decoder_layer__wrong_memory_normalised(
    vectors, memory, self_attention, cross_attention, feed_forward, self_norm, cross_norm, feed_forward_norm
):
    """The memory is read as it is, you put it through the norm, too."""
    n = vectors.shape[1]
    mask = torch.arange(n)[:, None] >= torch.arange(n)[None, :]
    x = vectors + self_attention(self_norm(vectors), mask)
    found, weights = cross_attention(cross_norm(x), cross_norm(memory))
    x = x + found
    x = x + feed_forward(feed_forward_norm(x))
    return x, weights


def decoder_layer__wrong_vectors_changed_in_place(
    vectors, memory, self_attention, cross_attention, feed_forward, self_norm, cross_norm, feed_forward_norm
):
    """With += you change the vectors of the caller; write vectors = vectors + ..."""
    time = vectors.shape[1]
    mask = torch.ones(time, time, dtype=torch.bool).tril()
    vectors += self_attention(self_norm(vectors), mask)
    found, weights = cross_attention(cross_norm(vectors), memory)
    vectors += found
    vectors += feed_forward(feed_forward_norm(vectors))
    return vectors, weights


def decoder_layer__wrong_cross_attention_without_norm(
    vectors, memory, self_attention, cross_attention, feed_forward, self_norm, cross_norm, feed_forward_norm
):
    """Cross-attention must read a normalised copy, too; you give it the stream itself."""
    time = vectors.shape[1]
    mask = torch.ones(time, time, dtype=torch.bool).tril()
    x = vectors + self_attention(self_norm(vectors), mask)
    found, weights = cross_attention(x, memory)
    x = x + found
    return x + feed_forward(feed_forward_norm(x)), weights


def decoder_layer__right_by_reduce(
    vectors, memory, self_attention, cross_attention, feed_forward, self_norm, cross_norm, feed_forward_norm
):
    time = vectors.size(1)
    mask = torch.tensor([[column <= row for column in range(time)] for row in range(time)])
    kept = []

    def look(words):
        found, weights = cross_attention(words, memory)
        kept.append(weights)
        return found

    sublayers = [
        (self_norm, lambda words: self_attention(words, mask)),
        (cross_norm, look),
        (feed_forward_norm, feed_forward),
    ]
    output = functools.reduce(lambda stream, pair: stream + pair[1](pair[0](stream)), sublayers, vectors)
    return output, kept[0]


# ---------------------------------------------------------------- 15.3 write_captions


def write_captions__wrong_goes_on_after_the_end(next_token_logits, memory, start, end, max_length):
    """After its end a caption must hold end and nothing else, yours goes on writing."""
    words = torch.full((len(memory), 1), start)
    for _ in range(max_length):
        best = next_token_logits(memory, words).argmax(dim=-1, keepdim=True)
        words = torch.cat([words, best], dim=1)
    words = words[:, 1:]
    return words, (words == end).any(dim=1)


def write_captions__wrong_start_in_the_answer(next_token_logits, memory, start, end, max_length):
    """The start is no part of the answer; you return it and lose the last word."""
    words = torch.full((len(memory), 1), start)
    ended = torch.zeros(len(memory), dtype=torch.bool)
    while words.shape[1] < max_length:
        new = next_token_logits(memory, words).argmax(-1)
        new[ended] = end
        ended = ended | (new == end)
        words = torch.cat([words, new[:, None]], dim=1)
    return words, ended


def write_captions__wrong_shorter_when_all_have_ended(next_token_logits, memory, start, end, max_length):
    """The answer has max_length columns, also when all captions have ended before; fill up with end."""
    words = torch.full((len(memory), 1), start)
    ended = torch.zeros(len(memory), dtype=torch.bool)
    for _ in range(max_length):
        best = torch.where(ended, end, next_token_logits(memory, words).argmax(dim=-1))
        ended = ended | (best == end)
        words = torch.cat([words, best[:, None]], dim=1)
        if ended.all():
            break
    return words[:, 1:], ended


def write_captions__wrong_all_end_with_the_first(next_token_logits, memory, start, end, max_length):
    """Each caption ends by itself; you stop them all as soon as one has ended."""
    batch = len(memory)
    words = torch.full((batch, max_length + 1), end)
    words[:, 0] = start
    for t in range(max_length):
        words[:, t + 1] = next_token_logits(memory, words[:, : t + 1]).argmax(-1)
        if (words[:, t + 1] == end).any():
            break
    words = words[:, 1:]
    return words, (words == end).any(dim=-1)


def write_captions__wrong_model_reads_only_last_word(next_token_logits, memory, start, end, max_length):
    """The model must read all words before, you give it only the last one."""
    last = torch.full((len(memory), 1), start)
    ended = torch.zeros(len(memory), dtype=torch.bool)
    columns = []
    for _ in range(max_length):
        best = next_token_logits(memory, last).argmax(dim=-1)
        best = torch.where(ended, torch.full_like(best, end), best)
        ended = ended | best.eq(end)
        columns.append(best)
        last = best[:, None]
    return torch.stack(columns, dim=1), ended


def write_captions__wrong_memory_of_other_pictures(next_token_logits, memory, start, end, max_length):
    """When some captions have ended, the memory must be picked with the same rows as the words; you take the first ones."""
    n = len(memory)
    words = torch.full((n, 1), start)
    ended = torch.zeros(n, dtype=torch.bool)
    for _ in range(max_length):
        new = torch.full((n,), end)
        alive = (~ended).nonzero().flatten()
        if len(alive) > 0:
            new[alive] = next_token_logits(memory[: len(alive)], words[alive]).argmax(dim=-1)
        ended = ended | (new == end)
        words = torch.cat([words, new.unsqueeze(1)], dim=1)
    return words[:, 1:], ended


def write_captions__right_one_picture_at_a_time(next_token_logits, memory, start, end, max_length):
    captions, ended = [], []
    for picture in range(len(memory)):
        caption = []
        while len(caption) < max_length and end not in caption:
            words = torch.tensor([[start] + caption])
            caption.append(int(next_token_logits(memory[picture : picture + 1], words)[0].argmax()))
        ended.append(end in caption)
        captions.append(caption + [end] * (max_length - len(caption)))
    return torch.tensor(captions), torch.tensor(ended)


def write_captions__right_only_those_that_go_on(next_token_logits, memory, start, end, max_length):
    words = torch.full((len(memory), max_length + 1), end)
    words[:, 0] = start
    going = torch.arange(len(memory))
    for t in range(max_length):
        if not len(going):
            break
        best = next_token_logits(memory[going], words[going, : t + 1]).argmax(dim=-1)
        words[going, t + 1] = best
        going = going[best != end]
    ended = torch.ones(len(memory), dtype=torch.bool)
    ended[going] = False
    return words[:, 1:].clone(), ended


# ---------------------------------------------------------------- 15.4 caption_report


def caption_report__wrong_counts_after_the_end(written, targets, end):
    """What stands after the first end doesn't count, you compare whole rows."""
    right = written == targets
    return right.all(dim=1).float().mean(), right.float().mean(dim=0)


def caption_report__wrong_end_does_not_count(written, targets, end):
    """The first end counts, too: a caption must stop at the right place; you count only the words before."""
    counts = targets != end
    right = (written == targets) & counts
    exact = (right | ~counts).all(dim=1).float().mean()
    return exact, right.sum(0) / counts.sum(0).clamp(min=1)


def caption_report__wrong_length_from_written(written, targets, end):
    """The target says how long a caption is, you take the first end of what was written."""
    seen = (written == end).long().cumsum(dim=1)
    counts = (seen == 0) | ((seen == 1) & (written == end))
    right = written == targets
    exact = (right | ~counts).all(dim=1).float().mean()
    return exact, (right & counts).sum(dim=0) / counts.sum(dim=0).clamp(min=1)


def caption_report__wrong_divided_by_whole_batch(written, targets, end):
    """At each position divide by the captions in which it counts, not by all of the batch."""
    before = torch.cumsum(targets == end, dim=1) - (targets == end).long()
    counts = before == 0
    right = (written == targets) & counts
    exact = (right.sum(1) == counts.sum(1)).float().mean()
    return exact, right.float().mean(dim=0)


def caption_report__wrong_fraction_of_words_for_exact_match(written, targets, end):
    """The exact match is the fraction of captions that are right as a whole, you give the fraction of right words."""
    counts = (targets == end).cumsum(1) <= 1
    right = (written == targets) & counts
    return right.sum() / counts.sum(), right.sum(0) / counts.sum(0)


def caption_report__right_by_lists(written, targets, end):
    perfect = []
    hits, asked = [0] * targets.shape[1], [0] * targets.shape[1]
    for guess, truth in zip(written.tolist(), targets.tolist()):
        length = truth.index(end) + 1
        perfect.append(guess[:length] == truth[:length])
        for t in range(length):
            asked[t] += 1
            hits[t] += guess[t] == truth[t]
    return torch.tensor(sum(perfect) / len(perfect)), torch.tensor([h / a for h, a in zip(hits, asked)])


# ---------------------------------------------------------------- 15.4 pointing_accuracy


def pointing_accuracy__wrong_words_without_region_count(weights, regions):
    """Words without a region must be left out, you count them as words that do not point."""
    best = weights.argmax(dim=-1, keepdim=True)
    return regions.gather(-1, best).float().mean()


def pointing_accuracy__wrong_weight_in_region(weights, regions):
    """A word points or it does not, by its greatest weight; you measure how much weight lies in the region."""
    has = regions.any(dim=-1)
    inside = (weights * regions).sum(dim=-1)
    return inside[has].mean()


def pointing_accuracy__wrong_mean_of_captions(weights, regions):
    """Every word with a region counts the same, you take a mean for each caption first."""
    hit = regions.gather(-1, weights.argmax(-1, keepdim=True)).squeeze(-1)
    has = regions.any(dim=-1)
    parts = [h[k].float().mean() for h, k in zip(hit, has) if k.any()]
    return torch.stack(parts).mean()


def pointing_accuracy__wrong_only_first_location_of_region(weights, regions):
    """The greatest weight may lie anywhere in the region, you compare it with the first location of it only."""
    has = regions.any(-1)
    same = weights.argmax(-1) == regions.float().argmax(-1)
    return (same & has).sum() / has.sum()


def pointing_accuracy__wrong_argmax_over_words(weights, regions):
    """The location of the greatest weight is searched for each word, over the last axis; you search over the words."""
    best = weights == weights.amax(dim=1, keepdim=True)
    hit = (best & regions).any(dim=-1)
    has = regions.any(dim=-1)
    return hit[has].float().mean()


def pointing_accuracy__right_by_sorting(weights, regions):
    points = []
    for row, region in zip(weights.flatten(0, 1).tolist(), regions.flatten(0, 1).tolist()):
        if any(region):
            best = sorted(range(len(row)), key=row.__getitem__)[-1]
            points.append(float(region[best]))
    return torch.tensor(points).mean()
