import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from course_lib.losses import token_losses

size = st.integers(1, 5)


@given(leading=st.lists(size, max_size=3), vocab_size=size, smoothing=st.floats(0, 1), seed=st.integers(0, 2**16))
def test_it_is_the_cross_entropy_of_torch_in_value_and_gradient(leading, vocab_size, smoothing, seed):
    generator = torch.Generator().manual_seed(seed)
    logits = (5 * torch.randn(*leading, vocab_size, generator=generator, dtype=torch.float64)).requires_grad_()
    targets = torch.randint(vocab_size, tuple(leading), generator=generator)
    ours = token_losses(logits, targets, smoothing)
    theirs = functional.cross_entropy(
        logits.reshape(-1, vocab_size), targets.reshape(-1), reduction="none", label_smoothing=smoothing
    )
    torch.testing.assert_close(ours.reshape(-1), theirs)
    mine, due = (torch.autograd.grad(each.sum(), logits, retain_graph=True)[0] for each in (ours, theirs))
    torch.testing.assert_close(mine, due)


def test_large_scores_do_not_overflow():
    logits = torch.tensor([[1e4, 0.0], [0.0, -1e4]])
    torch.testing.assert_close(token_losses(logits, torch.tensor([1, 0])), torch.tensor([1e4, 0.0]))


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match=r"`targets` has shape \(3,\), expected \(2,\)"):
        token_losses(torch.zeros(2, 4), torch.zeros(3, dtype=torch.long))
    with pytest.raises(ValueError, match="`smoothing` is 1.5"):
        token_losses(torch.zeros(2, 4), torch.zeros(2, dtype=torch.long), smoothing=1.5)
