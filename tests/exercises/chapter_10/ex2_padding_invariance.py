"""Right answers to 10.2 that are written in other ways."""

import torch


def logits_of_each_by_slices(classify, words):
    logits = []
    for row in words:
        length = int((row != 0).sum())
        logits.append(classify(row[:length].unsqueeze(0))[0])
    return torch.stack(logits)


def logits_of_each_by_lists(classify, words):
    logits = None
    for number, row in enumerate(words.tolist()):
        alone = classify(torch.tensor([[word for word in row if word]]))
        if logits is None:
            logits = torch.zeros(len(words), alone.shape[1])
        logits[number] = alone
    return logits


def logits_of_each_by_lengths(classify, words):
    """Sentences of one length together, put back in their order."""
    lengths = (words > 0).sum(1)
    order, logits = [], []
    for length in lengths.unique():
        rows = (lengths == length).nonzero()[:, 0]
        order.append(rows)
        logits.append(classify(words[rows, :length]))
    return torch.cat(logits)[torch.cat(order).argsort()]


def ignores_padding_row_by_row(classify, words):
    for row, logits in zip(words, classify(words), strict=True):
        if not torch.allclose(classify(row[row > 0][None])[0], logits, atol=1e-4):
            return False
    return True


def ignores_padding_by_more_and_less(classify, words):
    """Every sentence with none, one and many places of padding, one by one."""
    gap = 0.0
    for row in words:
        alone = row[row > 0]
        logits = [classify(torch.nn.functional.pad(alone, (0, more))[None]) for more in (0, 1, 4, 9)]
        gap = max(gap, max((each - logits[0]).abs().max().item() for each in logits))
    return gap < 1e-3


def ignores_padding_on_other_sentences(classify, words):
    """Sentences of its own, of every length."""
    generator = torch.Generator().manual_seed(0)
    moved = []
    for length in range(1, 9):
        alone = torch.randint(1, 90, (3, length), generator=generator)
        padded = torch.cat([alone, torch.zeros(3, 6, dtype=torch.long)], dim=1)
        moved.append((classify(padded) - classify(alone)).abs().max())
    return torch.stack(moved).max() <= 2e-4


def ignores_padding_by_norm(classify, words):
    logits = classify(words).double()
    for number in range(len(words)):
        length = words[number].count_nonzero()
        alone = classify(words[number : number + 1, :length]).double()
        if torch.linalg.vector_norm(alone - logits[number]) > 1e-3:
            return torch.tensor(False)
    return torch.tensor(True)
