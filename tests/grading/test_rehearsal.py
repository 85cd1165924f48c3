"""What the judges will ask is known beforehand, for tensors of every layout."""

import torch

from course_lib.grading.rehearsal import fingerprint


def test_a_tensor_of_one_element_and_an_odd_stride_has_a_fingerprint():
    odd = torch.arange(6.0).reshape(2, 3)[:1, 1:2].mT.as_strided((1, 1), (3, 7))
    assert fingerprint({"scores": odd}, None) == fingerprint({"scores": torch.tensor([[odd.item()]])}, None)


def test_other_numbers_and_other_shapes_have_another_fingerprint():
    prints = [fingerprint({"scores": each}, None) for each in (torch.zeros(2), torch.ones(2), torch.zeros(2, 1))]
    assert len(set(prints)) == 3
