"""Right answers to 16.7 that are written in other ways."""

import math
from collections import Counter

import torch


def most_frequent_pair_by_counter(tokens):
    ids = tokens.tolist()
    counts = Counter(zip(ids[:-1], ids[1:], strict=True))
    pair, count = min(counts.items(), key=lambda item: (-item[1], item[0]))
    return torch.tensor(pair), torch.tensor(count)


def most_frequent_pair_by_a_table(tokens):
    """A table of counts, with a row for each first token and a column for each second."""
    size = int(tokens.max()) + 1
    table = torch.zeros(size, size, dtype=torch.long)
    table.index_put_((tokens[:-1], tokens[1:]), torch.ones(len(tokens) - 1, dtype=torch.long), accumulate=True)
    best = int(table.flatten().argmax())
    return torch.tensor([best // size, best % size]), table.max()


def most_frequent_pair_pair_by_pair(tokens):
    best, most = None, 0
    pairs = [tokens[place : place + 2].tolist() for place in range(len(tokens) - 1)]
    for pair in pairs:
        if pairs.count(pair) > most or (pairs.count(pair) == most and pair < best):
            best, most = pair, pairs.count(pair)
    return torch.tensor(best), torch.tensor(most)


def merge_pair_with_a_stack(tokens, pair, new):
    merged = []
    for token in tokens.tolist():
        if merged and [merged[-1], token] == pair.tolist():
            merged[-1] = new
        else:
            merged.append(token)
    return torch.tensor(merged)


def merge_pair_by_marks(tokens, pair, new):
    """First which tokens are the second of a merged pair, then all at once."""
    second = torch.zeros(len(tokens), dtype=torch.bool)
    for place in range(1, len(tokens)):
        second[place] = tokens[place - 1] == pair[0] and tokens[place] == pair[1] and not second[place - 1]
    first = torch.cat([second[1:], second.new_zeros(1)])
    return torch.where(first, new, tokens)[~second]


def merge_pair_as_a_text(tokens, pair, new):
    """Each token as a character: `replace` goes from left to right, too."""
    text = "".join(map(chr, tokens.tolist()))
    return torch.tensor(list(map(ord, text.replace("".join(map(chr, pair.tolist())), chr(new)))))


def learn_merges_in_python(text, merges):
    ids, learned = list(text.encode("utf-8")), []
    while len(learned) < merges:
        counts = Counter(zip(ids, ids[1:], strict=False))
        most = max(counts.values(), default=0)
        if most < 2:
            break
        first, second = min(pair for pair, count in counts.items() if count == most)
        learned.append([first, second])
        fresh = []
        while ids:
            token = ids.pop(0)
            if token == first and ids and ids[0] == second:
                ids.pop(0)
                token = 255 + len(learned)
            fresh.append(token)
        ids = fresh
    return torch.tensor(learned)


def learn_merges_as_a_text(text, merges):
    """Each token as a character."""
    letters, learned = text.encode().decode("latin-1"), []
    for new in range(256, 256 + merges):
        pairs = [letters[place : place + 2] for place in range(len(letters) - 1)]
        best = min(pairs, key=lambda each: (-pairs.count(each), each), default="")
        if pairs.count(best) <= 1:
            break
        learned.append([ord(letter) for letter in best])
        letters = letters.replace(best, chr(new))
    return torch.tensor(learned)


def learn_merges_by_itself(text, merges):
    """The merges but for the last one, and then one more."""
    learned = learn_merges_by_itself(text, merges - 1) if merges > 1 else torch.zeros(0, 2, dtype=torch.long)
    tokens = torch.tensor(list(text.encode()))
    for number, pair in enumerate(learned):
        tokens = merge_pair_with_a_stack(tokens, pair, 256 + number)
    pair, count = most_frequent_pair_by_counter(tokens) if len(tokens) > 1 else (None, 0)
    return torch.cat([learned, pair[None]]) if count >= 2 else learned


def bits_per_byte_by_the_mean(losses, text):
    return losses.mean() * len(losses) / len(text.encode("utf-8")) * math.log2(math.e)


def bits_per_byte_token_by_token(losses, text):
    return torch.tensor(sum(loss / math.log(2) for loss in losses.tolist()) / len(bytes(text, "utf-8")))


def bits_per_byte_of_the_whole(losses, text):
    return (losses / torch.log(torch.tensor(2.0))).sum().div(sum(1 for _ in text.encode()))
