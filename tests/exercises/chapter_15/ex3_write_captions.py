"""Right answers to 15.3 that are written in other ways."""

import torch


def write_captions_picture_by_picture(next_token_logits, memory, start, end, max_length):
    """Picture by picture, in lists."""
    rows, over = [], []
    for picture in memory:
        words = [start]
        while len(words) <= max_length and end not in words[1:]:
            words.append(int(next_token_logits(picture[None], torch.tensor([words]))[0].argmax()))
        over.append(end in words[1:])
        rows.append(words[1:] + [end] * (max_length + 1 - len(words)))
    return torch.tensor(rows), torch.tensor(over)


def write_captions_open_captions_only(next_token_logits, memory, start, end, max_length):
    """Only captions that are open are written on."""
    words = torch.full((len(memory), max_length + 1), end)
    words[:, 0] = start
    is_open = torch.ones(len(memory), dtype=torch.bool)
    for step in range(1, max_length + 1):
        if not is_open.any():
            break
        new = next_token_logits(memory[is_open], words[is_open, :step]).max(-1).indices
        words[is_open, step] = new
        is_open[is_open.clone()] = new != end
    return words[:, 1:], ~is_open


def write_captions_mended_afterwards(next_token_logits, memory, start, end, max_length):
    """All written to the last, and what follows an end replaced afterwards."""
    words = torch.full((len(memory), 1), start)
    for _ in range(max_length):
        words = torch.hstack([words, next_token_logits(memory, words).topk(1).indices])
    words = words[:, 1:]
    is_end = words == end
    return words.masked_fill(is_end.cumsum(1) > 1, end).masked_fill(is_end.cummax(1).values.bool(), end), is_end.any(1)
