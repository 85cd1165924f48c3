"""Right answers to 12.1 that are written in other ways."""

import torch


def mask_words_position_by_position(tokens, lots, fates, draws, vocab_size, mask_id, first_word, share):
    """Position by position, as one reads the rule."""
    inputs, targets = tokens.clone(), torch.full_like(tokens, -100)
    for row in range(tokens.shape[0]):
        for position in range(tokens.shape[1]):
            if tokens[row, position] < first_word or lots[row, position] >= share:
                continue
            targets[row, position] = tokens[row, position]
            if fates[row, position] < 0.8:
                inputs[row, position] = mask_id
            elif fates[row, position] < 0.9:
                inputs[row, position] = first_word + int(draws[row, position] * (vocab_size - first_word))
    return inputs, targets


def mask_words_by_truth_values(tokens, lots, fates, draws, vocab_size, mask_id, first_word, share):
    """Written by truth values into copies."""
    chosen = tokens.ge(first_word) & lots.lt(share)
    targets = tokens.masked_fill(~chosen, -100)
    inputs = tokens.clone()
    masked = chosen & (fates < 0.8)
    swapped = chosen & ~masked & (fates < 0.9)
    words = torch.floor(draws * (vocab_size - first_word)).to(torch.int64) + first_word
    inputs[swapped] = words[swapped]
    inputs[masked] = mask_id
    return inputs, targets


def mask_words_swapped_then_put_back(tokens, lots, fates, draws, vocab_size, mask_id, first_word, share):
    """Everything swapped first, <mask> laid over it, and what is kept put back."""
    words = (draws * (vocab_size - first_word)).int() + first_word
    changed = torch.where(fates < 0.8, torch.full_like(tokens, mask_id), words.to(tokens.dtype))
    changed = torch.where(fates >= 0.9, tokens, changed)
    chosen = torch.logical_and(lots < share, tokens >= first_word)
    return torch.where(chosen, changed, tokens), torch.where(chosen, tokens, torch.full_like(tokens, -100))


def mask_words_one_of_three(tokens, lots, fates, draws, vocab_size, mask_id, first_word, share):
    """One of three by number."""
    words = first_word + (draws * (vocab_size - first_word)).long()
    fate = (fates >= 0.8).long() + (fates >= 0.9).long()
    candidates = torch.stack([torch.full_like(tokens, mask_id), words, tokens])
    read = candidates.gather(0, fate[None])[0]
    chosen = ((lots < share) & (tokens >= first_word)).long()
    return chosen * read + (1 - chosen) * tokens, chosen * tokens - 100 * (1 - chosen)
