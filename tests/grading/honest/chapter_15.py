import torch
from einops import rearrange
from torch.nn import functional

from tests.grading.honest.registry import honest

# ---------------------------------------------------------------- 15.1


@honest("picture_memory")
def _(images, size, weight, codes):
    """A convolution whose windows do not overlap."""
    kernel = rearrange(weight, "d (channel y x) -> d channel y x", y=size, x=size)
    grid = functional.conv2d(images, kernel, stride=size)
    rows, columns = grid.shape[2:]
    half = codes.shape[1]
    grid[:, :half] = grid[:, :half] + codes[:rows].T[:, :, None]
    grid[:, half:] = grid[:, half:] + codes[:columns].T[:, None, :]
    return grid.flatten(2).transpose(1, 2)


@honest("picture_memory")
def _(images, size, weight, codes):
    """Patch by patch."""
    memory = []
    for row in range(images.shape[2] // size):
        for column in range(images.shape[3] // size):
            patch = images[:, :, row * size : (row + 1) * size, column * size : (column + 1) * size]
            memory.append(patch.flatten(1) @ weight.T + torch.cat((codes[row], codes[column])))
    return torch.stack(memory, 1)


@honest("picture_memory")
def _(images, size, weight, codes):
    """Unfold, and numbers of locations taken apart."""
    pieces = functional.unfold(images, size, stride=size)
    place = torch.arange(pieces.shape[2])
    columns = images.shape[3] // size
    where = torch.cat([codes[place // columns], codes[place % columns]], dim=-1)
    return torch.einsum("bpn,dp->bnd", pieces, weight) + where


# ---------------------------------------------------------------- 15.2


@honest("decoder_layer")
def _(vectors, memory, self_attention, cross_attention, feed_forward, self_norm, cross_norm, feed_forward_norm):
    """One name for each step."""
    places = torch.arange(vectors.shape[1])
    mask = places[None, :] <= places[:, None]
    spoken = vectors + self_attention(self_norm(vectors), mask)
    seen, weights = cross_attention(cross_norm(spoken), memory)
    both = spoken + seen
    return both + feed_forward(feed_forward_norm(both)), weights


@honest("decoder_layer")
def _(vectors, memory, self_attention, cross_attention, feed_forward, self_norm, cross_norm, feed_forward_norm):
    """A loop over the sublayers."""
    time, kept = vectors.shape[1], []
    mask = ~torch.ones(time, time).triu(diagonal=1).bool()

    def look(words):
        found, weights = cross_attention(words, memory)
        kept.append(weights)
        return found

    sublayers = (lambda words: self_attention(words, mask), look, feed_forward)
    for sublayer, norm in zip(sublayers, (self_norm, cross_norm, feed_forward_norm), strict=True):
        vectors = vectors + sublayer(norm(vectors))
    return vectors, kept[0]


@honest("decoder_layer")
def _(vectors, memory, self_attention, cross_attention, feed_forward, self_norm, cross_norm, feed_forward_norm):
    """Sums of all that was added, on a copy, and a mask with an axis for the batch."""
    road = vectors.clone()
    mask = torch.tensor([[[key <= query for key in range(road.shape[1])] for query in range(road.shape[1])]])
    road += self_attention(self_norm(road), mask)
    found, weights = cross_attention(cross_norm(road), memory)
    road += found
    road += feed_forward(feed_forward_norm(road))
    return road, weights


# ---------------------------------------------------------------- 15.3


@honest("write_captions")
def _(next_scores, memory, start, end, longest):
    """Picture by picture, in lists."""
    rows, over = [], []
    for picture in memory:
        words = [start]
        while len(words) <= longest and end not in words[1:]:
            words.append(int(next_scores(picture[None], torch.tensor([words]))[0].argmax()))
        over.append(end in words[1:])
        rows.append(words[1:] + [end] * (longest + 1 - len(words)))
    return torch.tensor(rows), torch.tensor(over)


@honest("write_captions")
def _(next_scores, memory, start, end, longest):
    """Only captions that are open are written on."""
    words = torch.full((len(memory), longest + 1), end)
    words[:, 0] = start
    is_open = torch.ones(len(memory), dtype=torch.bool)
    for step in range(1, longest + 1):
        if not is_open.any():
            break
        new = next_scores(memory[is_open], words[is_open, :step]).max(-1).indices
        words[is_open, step] = new
        is_open[is_open.clone()] = new != end
    return words[:, 1:], ~is_open


@honest("write_captions")
def _(next_scores, memory, start, end, longest):
    """All written to the last, and what follows an end replaced afterwards."""
    words = torch.full((len(memory), 1), start)
    for _ in range(longest):
        words = torch.hstack([words, next_scores(memory, words).topk(1).indices])
    words = words[:, 1:]
    is_end = words == end
    return words.masked_fill(is_end.cumsum(1) > 1, end).masked_fill(is_end.cummax(1).values.bool(), end), is_end.any(1)


# ---------------------------------------------------------------- 15.4


@honest("caption_report")
def _(written, due, end):
    """Caption by caption."""
    exact, right, there = [], [0.0] * due.shape[1], [0.0] * due.shape[1]
    for said, asked in zip(written.tolist(), due.tolist(), strict=True):
        length = asked.index(end) + 1
        exact.append(float(said[:length] == asked[:length]))
        for place in range(length):
            right[place] += said[place] == asked[place]
            there[place] += 1
    return torch.tensor(exact).mean(), torch.tensor(right) / torch.tensor(there)


@honest("caption_report")
def _(written, due, end):
    """What does not count set to nan."""
    last = (due == end).int().argmax(1)
    counts = torch.arange(due.shape[1]) <= last[:, None]
    right = (written == due).float()
    exact = ((right * counts).sum(1) == counts.sum(1)).float().mean()
    return exact, right.masked_fill(~counts, torch.nan).nanmean(0)


@honest("caption_report")
def _(written, due, end):
    """Mistakes counted."""
    before = torch.nn.functional.pad((due == end).cumsum(1)[:, :-1], (1, 0))
    wrong = (written != due) & (before == 0)
    return 1 - wrong.any(1).float().mean(), 1 - wrong.sum(0) / (before == 0).sum(0)


@honest("pointing_share")
def _(weights, regions):
    """Word by word."""
    found = []
    for looks, things in zip(weights.flatten(0, 1), regions.flatten(0, 1), strict=True):
        if things.any():
            found.append(float(things[looks.argmax()]))
    return torch.tensor(found).mean()


@honest("pointing_share")
def _(weights, regions):
    """The greatest weight inside and the greatest of all."""
    inside = weights.masked_fill(~regions, -1.0).amax(-1)
    has = regions.any(-1)
    return ((inside == weights.amax(-1)) & has).sum() / has.sum()


@honest("pointing_share")
def _(weights, regions):
    """One-hot."""
    best = functional.one_hot(weights.argmax(2), weights.shape[2])
    has = regions.sum(2) > 0
    return (best * regions).sum(2)[has].double().mean().float()
