"""Right answers to 12.1 that are written in other ways."""

import torch


def mask_words_position_by_position(
    tokens, selection, corruption, replacements, vocab_size, mask_id, first_word, mask_rate
):
    """Position by position, as one reads the rule."""
    inputs, targets = tokens.clone(), torch.full_like(tokens, -100)
    for row in range(tokens.shape[0]):
        for position in range(tokens.shape[1]):
            if tokens[row, position] < first_word or selection[row, position] >= mask_rate:
                continue
            targets[row, position] = tokens[row, position]
            if corruption[row, position] < 0.8:
                inputs[row, position] = mask_id
            elif corruption[row, position] < 0.9:
                inputs[row, position] = first_word + int(replacements[row, position] * (vocab_size - first_word))
    return inputs, targets


def mask_words_by_truth_values(tokens, selection, corruption, replacements, vocab_size, mask_id, first_word, mask_rate):
    """Written by truth values into copies."""
    selected = tokens.ge(first_word) & selection.lt(mask_rate)
    targets = tokens.masked_fill(~selected, -100)
    inputs = tokens.clone()
    masked = selected & (corruption < 0.8)
    replaced = selected & ~masked & (corruption < 0.9)
    words = torch.floor(replacements * (vocab_size - first_word)).to(torch.int64) + first_word
    inputs[replaced] = words[replaced]
    inputs[masked] = mask_id
    return inputs, targets


def mask_words_replaced_then_put_back(
    tokens, selection, corruption, replacements, vocab_size, mask_id, first_word, mask_rate
):
    """Every token replaced first, then <mask>, and what is kept put back."""
    words = (replacements * (vocab_size - first_word)).int() + first_word
    changed = torch.where(corruption < 0.8, torch.full_like(tokens, mask_id), words.to(tokens.dtype))
    changed = torch.where(corruption >= 0.9, tokens, changed)
    selected = torch.logical_and(selection < mask_rate, tokens >= first_word)
    return torch.where(selected, changed, tokens), torch.where(selected, tokens, torch.full_like(tokens, -100))


def mask_words_one_of_three(tokens, selection, corruption, replacements, vocab_size, mask_id, first_word, mask_rate):
    """One of three by number."""
    words = first_word + (replacements * (vocab_size - first_word)).long()
    kind = (corruption >= 0.8).long() + (corruption >= 0.9).long()
    candidates = torch.stack([torch.full_like(tokens, mask_id), words, tokens])
    read = candidates.gather(0, kind[None])[0]
    selected = ((selection < mask_rate) & (tokens >= first_word)).long()
    return selected * read + (1 - selected) * tokens, selected * tokens - 100 * (1 - selected)
