import torch
from sklearn.datasets import load_digits

from course_lib.data.digits import digits


def test_the_two_parts_are_all_pictures_once():
    parts = [digits(), digits(held_out=True)]
    rows = torch.cat([torch.cat([each.images.flatten(1) * 16, each.labels[:, None]], dim=1) for each in parts])
    loaded = load_digits()
    whole = torch.cat([torch.tensor(loaded.data), torch.tensor(loaded.target)[:, None]], dim=1).float()
    assert sorted(map(tuple, rows.tolist())) == sorted(map(tuple, whole.tolist()))


def test_ink_is_1_and_every_digit_is_in_both_parts():
    for part in (digits(), digits(held_out=True)):
        assert part.images.min() == 0 and part.images.max() == 1 and part.images.dtype == torch.float32
        assert (part.labels.bincount() / len(part)).min() > 0.07 and len(part.labels.bincount()) == 10
