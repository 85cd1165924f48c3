import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course_lib.pooling import max_pool, mean_pool

size = st.integers(1, 5)


@pytest.mark.parametrize(("pool", "alone"), [(mean_pool, torch.mean), (max_pool, torch.amax)])
@given(batch=size, time=size, d=size, seed=st.integers(0, 2**16))
def test_each_sequence_is_pooled_as_if_it_were_alone_and_not_padded(pool, alone, batch, time, d, seed):
    generator = torch.Generator().manual_seed(seed)
    vectors = torch.randn(batch, time, d, generator=generator, dtype=torch.float64, requires_grad=True)
    lengths = torch.randint(1, time + 1, (batch,), generator=generator)
    present = torch.arange(time) < lengths[:, None]
    pooled = pool(vectors, present)
    due = torch.stack([alone(row[:length], dim=0) for row, length in zip(vectors, lengths, strict=True)])
    torch.testing.assert_close(pooled, due)
    torch.testing.assert_close(
        *(torch.autograd.grad(each.square().sum(), vectors, retain_graph=True)[0] for each in (pooled, due))
    )


@pytest.mark.parametrize("pool", [mean_pool, max_pool])
def test_what_is_absent_has_no_influence_whatever_it_is(pool):
    vectors = torch.randn(1, 3, 2)
    present = torch.tensor([[True, False, True]])
    before = pool(vectors, present)
    for strange in (1e30, -torch.inf, torch.nan):
        vectors[0, 1] = strange
        assert torch.equal(pool(vectors, present), before)


@pytest.mark.parametrize("pool", [mean_pool, max_pool])
def test_wrong_arguments_are_named(pool):
    with pytest.raises(ValueError, match="a row without a token"):
        pool(torch.zeros(2, 3, 4), torch.tensor([[True, True, True], [False, False, False]]))
    with pytest.raises(ValueError, match="`present` has shape"):
        pool(torch.zeros(2, 3, 4), torch.ones(2, 4, dtype=torch.bool))
    with pytest.raises(TypeError, match="`present` is of torch.float32"):
        pool(torch.zeros(2, 3, 4), torch.ones(2, 3))
