"""Right answers to 00.4 that are written in other ways."""

import torch


def masked_mean_row_by_row(values, mask):
    answer = torch.zeros(values.shape[0], values.shape[2])
    for row in range(len(values)):
        if mask[row].any():
            answer[row] = values[row][mask[row]].mean(0)
    return answer


def masked_mean_by_einsum_in_double(values, mask):
    return (torch.einsum("btd,bt->bd", values.double(), mask.double()) / mask.sum(1).clamp(min=1)[:, None]).float()


def masked_mean_by_where(values, mask):
    kept = values.masked_fill(~mask[:, :, None], 0)
    count = mask.sum(1)[:, None]
    return torch.where(count > 0, kept.sum(1) / count, torch.zeros(()))


def masked_mean_by_nanmean(values, mask):
    return values.masked_fill(~mask[..., None], float("nan")).nanmean(1).nan_to_num(0)
