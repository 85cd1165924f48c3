# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110
import torch
from einops import rearrange


def picture_memory__wrong_codes_swapped(images, size, weight, codes):
    """Adds the column's code to the first half and the row's to the second."""
    patches = rearrange(images, "b c (r y) (q x) -> b r q (c y x)", y=size, x=size)
    vectors = patches @ weight.T
    rows, columns = vectors.shape[1:3]
    half = codes.shape[1]
    first = vectors[..., :half] + codes[:columns]
    second = vectors[..., half:] + codes[:rows, None]
    return torch.cat([first, second], dim=-1).flatten(1, 2)


def picture_memory__wrong_interleaved(images, size, weight, codes):
    """Adds the row's code to the even entries and the column's to the odd ones, not to two halves."""
    patches = rearrange(images, "b c (r y) (q x) -> b r q (c y x)", y=size, x=size)
    vectors = patches @ weight.T
    rows, columns = vectors.shape[1:3]
    row = codes[:rows, None].expand(rows, columns, -1)
    column = codes[None, :columns].expand(rows, columns, -1)
    both = torch.stack([row, column], dim=-1).flatten(2)
    return (vectors + both).flatten(1, 2)


def picture_memory__wrong_square(images, size, weight, codes):
    """Takes every picture for a square, so rows and columns are mixed up where it is none."""
    batch, channels, height, width = images.shape
    patches = images.unfold(2, size, size).unfold(3, size, size)
    patches = patches.permute(0, 2, 3, 1, 4, 5).reshape(batch, -1, channels * size * size)
    rows = height // size
    number = torch.arange(patches.shape[1])
    places = torch.cat([codes[number // rows], codes[number % rows]], dim=1)
    return patches @ weight.T + places


def picture_memory__right_convolution(images, size, weight, codes):
    """Right: projects the patches by a convolution whose steps are as wide as a patch."""
    channels = images.shape[1]
    kernels = weight.reshape(-1, channels, size, size)
    maps = torch.nn.functional.conv2d(images, kernels, stride=size)
    rows, columns = maps.shape[2:]
    row = codes[:rows].T[:, :, None].expand(-1, rows, columns)
    column = codes[:columns].T[:, None, :].expand(-1, rows, columns)
    return (maps + torch.cat([row, column])).flatten(2).transpose(1, 2)


def decoder_layer__wrong_post_norm(
    vectors,
    memory,
    self_attention,
    cross_attention,
    feed_forward,
    self_norm,
    cross_norm,
    feed_forward_norm,
):
    """Normalises after each sum, as the decoder of 2017 does."""
    time = vectors.shape[1]
    mask = torch.ones(time, time, dtype=torch.bool).tril()
    x = self_norm(vectors + self_attention(vectors, mask))
    found, weights = cross_attention(x, memory)
    x = cross_norm(x + found)
    x = feed_forward_norm(x + feed_forward(x))
    return x, weights


def decoder_layer__wrong_norm_of_memory(
    vectors,
    memory,
    self_attention,
    cross_attention,
    feed_forward,
    self_norm,
    cross_norm,
    feed_forward_norm,
):
    """Normalises the memory too."""
    time = vectors.shape[1]
    mask = torch.ones(time, time).tril() == 1
    x = vectors + self_attention(self_norm(vectors), mask)
    found, weights = cross_attention(cross_norm(x), cross_norm(memory))
    x = x + found
    x = x + feed_forward(feed_forward_norm(x))
    return x, weights


def decoder_layer__wrong_in_place(
    vectors,
    memory,
    self_attention,
    cross_attention,
    feed_forward,
    self_norm,
    cross_norm,
    feed_forward_norm,
):
    """Adds in place, so the caller's vectors become the output."""
    time = vectors.shape[1]
    mask = torch.tril(torch.ones(time, time, dtype=torch.bool))
    vectors += self_attention(self_norm(vectors), mask)
    found, weights = cross_attention(cross_norm(vectors), memory)
    vectors += found
    vectors += feed_forward(feed_forward_norm(vectors))
    return vectors, weights


def decoder_layer__right_sublayers(
    vectors,
    memory,
    self_attention,
    cross_attention,
    feed_forward,
    self_norm,
    cross_norm,
    feed_forward_norm,
):
    """Right: a list of the three sublayers with their norms, gone through in a loop."""
    places = torch.arange(vectors.shape[1])
    mask = places[None, :] <= places[:, None]
    kept = []

    def cross(x):
        found, weights = cross_attention(x, memory)
        kept.append(weights)
        return found

    steps = [
        (self_norm, lambda x: self_attention(x, mask)),
        (cross_norm, cross),
        (feed_forward_norm, feed_forward),
    ]
    stream = vectors
    for norm, sublayer in steps:
        stream = stream + sublayer(norm(stream))
    return stream, kept[0]


def write_captions__wrong_stops_early(next_token_logits, memory, start, end, max_length):
    """Returns fewer columns where all captions have ended before."""
    words = torch.full((len(memory), 1), start)
    ended = torch.zeros(len(memory), dtype=torch.bool)
    for _ in range(max_length):
        best = next_token_logits(memory, words).argmax(dim=-1)
        best = torch.where(ended, end, best)
        words = torch.cat([words, best[:, None]], dim=1)
        ended = ended | (best == end)
        if ended.all():
            break
    return words[:, 1:], ended


def write_captions__wrong_start_ends(next_token_logits, memory, start, end, max_length):
    """Looks for the end in all words, the start too, so nothing is written where both are the same integer."""
    words = torch.full((len(memory), 1), start)
    for _ in range(max_length):
        ended = (words == end).any(dim=1)
        best = next_token_logits(memory, words).argmax(dim=-1)
        words = torch.cat([words, torch.where(ended, end, best)[:, None]], dim=1)
    return words[:, 1:], (words == end).any(dim=1)


def write_captions__right_one_picture(next_token_logits, memory, start, end, max_length):
    """Right: one picture after the other, asking no more after its end."""
    captions, ended = [], []
    for picture in memory:
        read = [start]
        while len(read) <= max_length:
            if len(read) > 1 and read[-1] == end:
                break
            logits = next_token_logits(picture[None], torch.tensor([read]))
            read.append(int(logits[0].argmax()))
        written = read[1:]
        ended.append(end in written)
        captions.append(written + [end] * (max_length - len(written)))
    return torch.tensor(captions), torch.tensor(ended)


def caption_report__wrong_end_of_written(written, targets, end):
    """Lets the end that the model wrote say what counts."""
    after = (written == end).cumsum(dim=1) - (written == end).long()
    counts = after == 0
    right = written == targets
    exact = (right | ~counts).all(dim=1).float().mean()
    return exact, (right & counts).float().sum(dim=0) / counts.float().sum(dim=0).clamp(min=1)


def caption_report__wrong_all_captions(written, targets, end):
    """Divides by all captions at each position, also by those in which it does not count."""
    ends = (targets == end).long()
    counts = ends.cumsum(dim=1) - ends == 0
    right = (written == targets) & counts
    return (right.sum(1) == counts.sum(1)).float().mean(), right.float().mean(dim=0)


def caption_report__right_loops(written, targets, end):
    """Right: caption by caption, word by word, up to the first end of the target."""
    time = targets.shape[1]
    hits, seen, exact = [0] * time, [0] * time, 0
    for caption, target in zip(written.tolist(), targets.tolist()):
        last = target.index(end)
        exact += caption[: last + 1] == target[: last + 1]
        for t in range(last + 1):
            seen[t] += 1
            hits[t] += caption[t] == target[t]
    return torch.tensor(exact / len(targets)), torch.tensor([h / s for h, s in zip(hits, seen)])


def pointing_accuracy__wrong_all_words(weights, regions):
    """Divides by all words, also by those without a region."""
    best = weights.argmax(dim=-1, keepdim=True)
    return regions.gather(-1, best).float().mean()


def pointing_accuracy__wrong_weight_inside(weights, regions):
    """Lets a word point where more than half of its weight lies in the region."""
    inside = (weights * regions).sum(dim=-1)
    has = regions.any(dim=-1)
    return (inside > 0.5)[has].float().mean()


def pointing_accuracy__wrong_mean_of_captions(weights, regions):
    """Averages each caption first, so words of short captions count more."""
    hit = regions.gather(-1, weights.argmax(-1, keepdim=True)).squeeze(-1).float()
    has = regions.any(dim=-1).float()
    some = has.sum(1) > 0
    return ((hit * has).sum(1)[some] / has.sum(1)[some]).mean()


def pointing_accuracy__right_two_maxima(weights, regions):
    """Right: compares the greatest weight inside the region with the greatest outside."""
    inside = weights.masked_fill(~regions, -torch.inf).amax(dim=-1)
    outside = weights.masked_fill(regions, -torch.inf).amax(dim=-1)
    points = inside > outside
    return points.sum() / regions.any(dim=-1).sum()
