"""Right answers to 13.1 that are written in other ways."""

import math

import torch


def add_piece_with_the_old_sum_as_one_more_exponential(maximum, total, scores):
    new = torch.cat([maximum[:, None], scores], dim=1).max(dim=1).values
    sizes = torch.cat([total[:, None], torch.ones_like(scores)], dim=1)
    return new, (sizes * (torch.cat([maximum[:, None], scores], dim=1) - new[:, None]).exp()).sum(1)


def add_piece_score_by_score_in_double(maximum, total, scores):
    maxima, totals = [], []
    for m, s, row in zip(maximum.tolist(), total.tolist(), scores.tolist(), strict=True):
        for score in row:
            if score > m:
                m, s = score, s * math.exp(m - score) + 1.0
            elif score > -math.inf:
                s += math.exp(score - m)
        maxima.append(m)
        totals.append(s)
    return torch.tensor(maxima), torch.tensor(totals)


def add_piece_from_its_own_maximum_with_care(maximum, total, scores):
    own = scores.amax(-1)
    safe = torch.where(own.isinf(), torch.zeros_like(own), own)
    block = torch.exp(scores - safe[:, None]).sum(-1)
    new = torch.where(own > maximum, own, maximum)
    return new, torch.exp(maximum - new) * total + torch.exp(own - new) * block


def add_piece_by_logarithms(maximum, total, scores):
    new = scores.amax(1).maximum(maximum)
    before = total.log() + (maximum - new).nan_to_num(neginf=-torch.inf)
    return new, torch.logaddexp(before, torch.logsumexp(scores - new.unsqueeze(1), dim=1)).exp()


def merge_halves_stacked(maximum, total, output, other_maximum, other_total, other_output):
    maxima, totals = torch.stack([maximum, other_maximum]), torch.stack([total, other_total])
    new = maxima.amax(0)
    weights = ((maxima - new) + totals.log()).softmax(0)
    both = weights[:, :, None] * torch.stack([output, other_output])
    return new, (totals * (maxima - new).exp()).sum(0), both.sum(0)


def merge_halves_greater_half_first(maximum, total, output, other_maximum, other_total, other_output):
    swap = other_maximum > maximum
    high, low = torch.where(swap, other_maximum, maximum), torch.where(swap, maximum, other_maximum)
    more, less = torch.where(swap, other_total, total), torch.where(swap, total, other_total)
    above = torch.where(swap[:, None], other_output, output)
    below = torch.where(swap[:, None], output, other_output)
    shrunk = less * (low - high).exp()
    both = more + shrunk
    return high, both, above + (below - above) * (shrunk / both).unsqueeze(-1)


def merge_halves_text_by_text_in_double(maximum, total, output, other_maximum, other_total, other_output):
    rows = []
    for m, s, out, n, t, other in zip(
        *(each.double() for each in (maximum, total, output, other_maximum, other_total, other_output)), strict=True
    ):
        new = max(m, n)
        one, two = s * math.exp(m - new), t * math.exp(n - new)
        rows.append((new, one + two, (one * out + two * other) / (one + two)))
    return tuple(torch.stack(each).float() for each in zip(*rows, strict=True))
