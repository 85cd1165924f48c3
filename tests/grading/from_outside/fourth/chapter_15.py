# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110

import torch
import torch.nn.functional as F
from einops import rearrange, repeat

# -------------------------------------------------------------- picture_memory


def picture_memory__wrong_halves_swapped(images, size, weight, codes):
    """Adds the code of the column to the first half and that of the row to the second."""
    rows, columns = images.shape[2] // size, images.shape[3] // size
    patches = rearrange(images, "b c (r y) (q x) -> b (r q) (c y x)", y=size, x=size)
    by_row = codes[:rows].repeat_interleave(columns, dim=0)
    by_column = codes[:columns].repeat(rows, 1)
    return patches @ weight.T + torch.cat([by_column, by_row], dim=-1)


def picture_memory__wrong_repeats_swapped(images, size, weight, codes):
    """Counts the codes as if the patches came column by column: rows repeated, columns interleaved."""
    rows, columns = images.shape[2] // size, images.shape[3] // size
    patches = rearrange(images, "b c (r y) (q x) -> b (r q) (c y x)", y=size, x=size)
    by_row = codes[:rows].repeat(columns, 1)
    by_column = codes[:columns].repeat_interleave(rows, dim=0)
    return patches @ weight.T + torch.cat([by_row, by_column], dim=-1)


def picture_memory__wrong_channels_last(images, size, weight, codes):
    """Lays the pixels of a patch out in the order row, column, channel."""
    b, c, height, width = images.shape
    rows, columns = height // size, width // size
    x = images.reshape(b, c, rows, size, columns, size)
    patches = x.permute(0, 2, 4, 3, 5, 1).reshape(b, rows * columns, c * size * size)
    place = torch.cat(
        [repeat(codes[:rows], "r d -> (r q) d", q=columns), repeat(codes[:columns], "q d -> (r q) d", r=rows)],
        dim=1,
    )
    return patches @ weight.T + place


def picture_memory__right_convolution(images, size, weight, codes):
    """Right: the projection as a convolution with a stride of size, the codes added on the grid."""
    d_model, channels = weight.shape[0], images.shape[1]
    grid = F.conv2d(images, weight.reshape(d_model, channels, size, size), stride=size)
    rows, columns = grid.shape[2:]
    by_row = codes[:rows].T[:, :, None].expand(-1, -1, columns)
    by_column = codes[:columns].T[:, None, :].expand(-1, rows, -1)
    return (grid + torch.cat([by_row, by_column])).flatten(2).transpose(1, 2)


# --------------------------------------------------------------- decoder_layer


def decoder_layer__wrong_post_norm(
    vectors, memory, self_attention, cross_attention, feed_forward, self_norm, cross_norm, feed_forward_norm
):
    """Post-norm: normalises the sum after each sublayer instead of a copy before it."""
    time = vectors.shape[1]
    mask = torch.ones(time, time, dtype=torch.bool).tril()
    x = self_norm(vectors + self_attention(vectors, mask))
    found, weights = cross_attention(x, memory)
    x = cross_norm(x + found)
    x = feed_forward_norm(x + feed_forward(x))
    return x, weights


def decoder_layer__wrong_skip_from_the_norm(
    vectors, memory, self_attention, cross_attention, feed_forward, self_norm, cross_norm, feed_forward_norm
):
    """The sum is with the normalised copy, so the stream itself is normalised."""
    time = vectors.shape[1]
    mask = torch.tril(torch.ones(time, time)).bool()
    x = self_norm(vectors)
    x = x + self_attention(x, mask)
    x = cross_norm(x)
    found, weights = cross_attention(x, memory)
    x = x + found
    x = feed_forward_norm(x)
    x = x + feed_forward(x)
    return x, weights


def decoder_layer__wrong_memory_normalised(
    vectors, memory, self_attention, cross_attention, feed_forward, self_norm, cross_norm, feed_forward_norm
):
    """Normalises the memory too, which is to be read as it is."""
    n = vectors.shape[1]
    mask = torch.ones(n, n, dtype=torch.bool).tril()
    x = vectors + self_attention(self_norm(vectors), mask)
    found, weights = cross_attention(cross_norm(x), cross_norm(memory))
    x = x + found
    return x + feed_forward(feed_forward_norm(x)), weights


def decoder_layer__wrong_vectors_added_to(
    vectors, memory, self_attention, cross_attention, feed_forward, self_norm, cross_norm, feed_forward_norm
):
    """Uses +=, which adds the sublayers into the vectors that came in."""
    time = vectors.shape[1]
    mask = torch.ones(time, time, dtype=torch.bool).tril()
    vectors += self_attention(self_norm(vectors), mask)
    found, weights = cross_attention(cross_norm(vectors), memory)
    vectors += found
    vectors += feed_forward(feed_forward_norm(vectors))
    return vectors, weights


def decoder_layer__right_list_of_sublayers(
    vectors, memory, self_attention, cross_attention, feed_forward, self_norm, cross_norm, feed_forward_norm
):
    """Right: a loop over three pairs of norm and sublayer, the mask by a comparison."""
    kept = []
    position = torch.arange(vectors.shape[1])

    def read_self(x):
        return self_attention(x, position[None, :] <= position[:, None])

    def read_picture(x):
        found, weights = cross_attention(x, memory)
        kept.append(weights)
        return found

    stream = vectors
    for norm, sublayer in (
        (self_norm, read_self),
        (cross_norm, read_picture),
        (feed_forward_norm, feed_forward),
    ):
        stream = stream + sublayer(norm(stream))
    return stream, kept[0]


# -------------------------------------------------------------- write_captions


def write_captions__wrong_stops_when_all_ended(next_token_logits, memory, start, end, max_length):
    """Stops as soon as all captions have ended, so the answer can have fewer than max_length columns."""
    words = torch.full((len(memory), 1), start)
    ended = torch.zeros(len(memory), dtype=torch.bool)
    for _ in range(max_length):
        best = next_token_logits(memory, words).argmax(dim=-1)
        best = torch.where(ended, end, best)
        ended = ended | (best == end)
        words = torch.cat([words, best[:, None]], dim=1)
        if ended.all():
            break
    return words[:, 1:], ended


def write_captions__wrong_start_may_end(next_token_logits, memory, start, end, max_length):
    """Looks for the end in all words, the start too, so nothing is written where start and end are the same."""
    words = torch.full((memory.shape[0], 1), start)
    for _ in range(max_length):
        ended = (words == end).any(dim=1)
        best = next_token_logits(memory, words).argmax(dim=1)
        best[ended] = end
        words = torch.cat([words, best.unsqueeze(1)], dim=1)
    words = words[:, 1:]
    return words, (words == end).any(dim=1)


def write_captions__wrong_last_word_only(next_token_logits, memory, start, end, max_length):
    """Gives the model only the last word, which is all that the model of the example looks at."""
    last = torch.full((len(memory),), start)
    ended = torch.zeros(len(memory), dtype=torch.bool)
    columns = []
    for _ in range(max_length):
        last = next_token_logits(memory, last[:, None]).argmax(dim=-1)
        last = torch.where(ended, end, last)
        ended = ended | (last == end)
        columns.append(last)
    return torch.stack(columns, dim=1), ended


def write_captions__wrong_memory_of_other_pictures(next_token_logits, memory, start, end, max_length):
    """Asks only for captions that go on, but with the first rows of the memory, not with theirs."""
    batch = len(memory)
    words = torch.full((batch, 1), start)
    ended = torch.zeros(batch, dtype=torch.bool)
    for _ in range(max_length):
        column = torch.full((batch,), end)
        going = ~ended
        if going.any():
            open_words = words[going]
            column[going] = next_token_logits(memory[: len(open_words)], open_words).argmax(dim=-1)
        ended = ended | (column == end)
        words = torch.cat([words, column[:, None]], dim=1)
    return words[:, 1:], ended


def write_captions__right_cut_afterwards(next_token_logits, memory, start, end, max_length):
    """Right: lets the model write on and puts the end over all that follows a first end afterwards."""
    words = torch.full((len(memory), 1), start)
    for _ in range(max_length):
        best = next_token_logits(memory, words).argmax(dim=-1, keepdim=True)
        words = torch.cat([words, best], dim=1)
    words = words[:, 1:]
    over = (words == end).cumsum(dim=1) > 0
    return words.masked_fill(over, end), over.any(dim=1)


def write_captions__right_picture_by_picture(next_token_logits, memory, start, end, max_length):
    """Right: writes each caption by itself until its end and fills it up."""
    captions, has_ended = [], []
    for i in range(len(memory)):
        caption = []
        while len(caption) < max_length and end not in caption:
            so_far = torch.tensor([[start] + caption])
            caption.append(int(next_token_logits(memory[i : i + 1], so_far)[0].argmax()))
        has_ended.append(end in caption)
        captions.append(caption + [end] * (max_length - len(caption)))
    return torch.tensor(captions), torch.tensor(has_ended)


# -------------------------------------------------------------- caption_report


def caption_report__wrong_end_does_not_count(written, targets, end):
    """Counts the positions before the end only, so a caption that never ends is right too."""
    counts = targets != end
    right = (written == targets) & counts
    exact = (right == counts).all(dim=1).float().mean()
    return exact, right.sum(dim=0) / counts.sum(dim=0)


def caption_report__wrong_all_captions_at_each_position(written, targets, end):
    """Divides the right words of a position by all captions, not by those in which it counts."""
    is_end = (targets == end).long()
    counts = is_end.cumsum(dim=1) - is_end == 0
    right = (written == targets) & counts
    exact = (right | ~counts).all(dim=1).float().mean()
    return exact, right.float().mean(dim=0)


def caption_report__wrong_end_of_the_written(written, targets, end):
    """Cuts at the first end of what was written, not at that of the target."""
    is_end = (written == end).long()
    counts = is_end.cumsum(dim=1) - is_end == 0
    right = (written == targets) & counts
    exact = (right | ~counts).all(dim=1).float().mean()
    return exact, right.sum(dim=0) / counts.sum(dim=0)


def caption_report__right_caption_by_caption(written, targets, end):
    """Right: counts in Python, caption by caption, up to the first end of the target."""
    batch, time = targets.shape
    exact, right, counted = 0, [0] * time, [0] * time
    for mine, truth in zip(written.tolist(), targets.tolist()):
        length = truth.index(end) + 1
        exact += mine[:length] == truth[:length]
        for t in range(length):
            counted[t] += 1
            right[t] += mine[t] == truth[t]
    return torch.tensor(exact / batch), torch.tensor([r / c for r, c in zip(right, counted)])


# ----------------------------------------------------------- pointing_accuracy


def pointing_accuracy__wrong_all_words(weights, regions):
    """The mean is over all words, those without a region too."""
    best = weights.argmax(dim=-1, keepdim=True)
    return regions.gather(-1, best).float().mean()


def pointing_accuracy__wrong_mean_of_captions(weights, regions):
    """Takes the fraction of each caption first and then the mean, so words of short captions count more."""
    best = weights.argmax(dim=-1, keepdim=True)
    points = regions.gather(-1, best).squeeze(-1).float()
    has_region = regions.any(dim=-1)
    fractions = points.sum(dim=1) / has_region.sum(dim=1).clamp(min=1)
    return fractions.mean()


def pointing_accuracy__wrong_weight_in_region(weights, regions):
    """Adds up the weight in the region, where a word either points or does not."""
    has_region = regions.any(dim=-1)
    inside = (weights * regions).sum(dim=-1)
    return inside[has_region].mean()


def pointing_accuracy__right_greatest_inside(weights, regions):
    """Right: a word points where the greatest weight inside its region is the greatest of all."""
    inside = weights.masked_fill(~regions, -torch.inf).amax(dim=-1)
    points = inside == weights.amax(dim=-1)
    has_region = regions.any(dim=-1)
    return points[has_region].float().mean()
