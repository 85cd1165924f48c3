"""Right answers to 09.4 that are written in other ways."""

import torch


def beam_search_in_one_tensor(next_log_probabilities, prompt, end, width, max_length):
    """All rows in one tensor, as a library does it."""
    rows, totals = prompt[None], torch.zeros(1)
    for _ in range(max_length):
        over = (rows[:, len(prompt) :] == end).any(1)
        steps = next_log_probabilities(rows).clone()
        steps[over] = float("-inf")
        steps[over, end] = 0.0
        every = totals[:, None] + steps
        totals, place = every.flatten().topk(min(width, int(every.isfinite().sum())))
        parent, word = place // steps.shape[1], place % steps.shape[1]
        rows = torch.cat([rows[parent], word[:, None]], 1)
    return rows[0, len(prompt) :], totals[0]


def beam_search_until_the_best_has_ended(next_log_probabilities, prompt, end, width, max_length):
    """Ends as soon as the best has ended, which nothing can overtake; one call for each step."""
    beam = [(0.0, [])]
    for _ in range(max_length):
        if end in beam[0][1]:
            break
        rows = [words + [end] * (len(max(beam, key=lambda pair: len(pair[1]))[1]) - len(words)) for _, words in beam]
        tokens = torch.stack([torch.cat([prompt, torch.tensor(words, dtype=torch.long)]) for words in rows])
        table, new = next_log_probabilities(tokens), []
        for (total, words), row in zip(beam, table.tolist(), strict=True):
            new += [(total, words)] if end in words else [(total + each, [*words, w]) for w, each in enumerate(row)]
        beam = sorted(new, reverse=True)[:width]
    total, words = beam[0]
    filled = torch.full((max_length,), end)
    filled[: len(words)] = torch.tensor(words, dtype=torch.long)
    return filled, torch.tensor(total)


def beam_search_in_a_dictionary(next_log_probabilities, prompt, end, width, max_length):
    """A dictionary of rows and their totals as tensors."""
    beam = {(): torch.tensor(0.0)}
    for _ in range(max_length):
        new = {}
        for words, total in beam.items():
            if words and words[-1] == end:
                new[words] = total
            else:
                row = next_log_probabilities(torch.tensor([[*prompt.tolist(), *words]]))[0]
                new |= {(*words, word): total + row[word] for word in range(len(row))}
        beam = dict(sorted(new.items(), key=lambda item: -float(item[1]))[:width])
    best = max(beam, key=beam.get)
    return torch.tensor([*best, *[end] * (max_length - len(best))]), beam[best]
