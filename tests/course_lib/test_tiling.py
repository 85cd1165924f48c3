import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from course_lib.attention import scaled_dot_product_attention
from course_lib.masks import causal_mask
from course_lib.tiling import attend_in_tiles


def draw(query=13, key=29, batch=(2, 3)):
    torch.manual_seed(0)
    shapes = (*batch, query, 5), (*batch, key, 5), (*batch, key, 7)
    return tuple(3 * torch.randn(shape, dtype=torch.float64) for shape in shapes)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("tile", [1, 4, 13, 29, 64])
@pytest.mark.parametrize(("query", "key"), [(13, 29), (29, 29), (1, 5), (1, 1)])
def test_it_is_the_same_output(tile, causal, query, key):
    inputs = draw(query, key)
    mask = causal_mask(query, key) if causal else None
    expected, _ = scaled_dot_product_attention(*inputs, mask)
    torch.testing.assert_close(attend_in_tiles(*inputs, tile, causal), expected)


def test_single_precision_is_exact_to_rounding_and_no_approximation():
    inputs = draw(100, 200)
    exact, _ = scaled_dot_product_attention(*inputs)
    single, _ = scaled_dot_product_attention(*(each.float() for each in inputs))
    tiled = attend_in_tiles(*(each.float() for each in inputs), tile=16)
    # As far from the truth as the ordinary way is, and no further.
    assert (tiled - exact).abs().max() < 2 * (single - exact).abs().max()


@pytest.mark.parametrize("largest_first", [True, False])
def test_large_scores_neither_overflow_nor_vanish(largest_first):
    key = torch.tensor([[200.0], [100.0], [-100.0], [0.0]])
    key = key if largest_first else key.flip(0)
    query, value = torch.tensor([[50.0]]), torch.eye(4)
    expected, _ = scaled_dot_product_attention(query, key, value)
    assert torch.equal(attend_in_tiles(query, key, value, tile=1), expected)


def test_gradients_are_the_same():
    inputs = [each.requires_grad_() for each in draw(6, 9, batch=())]
    weights = torch.randn(6, 7, dtype=torch.float64)
    tiled = torch.autograd.grad((attend_in_tiles(*inputs, tile=4, causal=True) * weights).sum(), inputs)
    plain, _ = scaled_dot_product_attention(*inputs, causal_mask(6, 9))
    for one, other in zip(tiled, torch.autograd.grad((plain * weights).sum(), inputs), strict=True):
        torch.testing.assert_close(one, other)


class _Largest(TorchDispatchMode):
    """Note the largest tensor that any operator makes, and how many scores are computed."""

    largest = products = 0

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        result = operator(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.largest = max(self.largest, result.numel())
            if operator is torch.ops.aten.exp.default and result.shape[-1] > 1:
                self.products += result.numel()
        return result


def measure(call):
    with _Largest() as found:
        call()
    return found.largest, found.products


def test_no_tensor_is_as_large_as_all_scores():
    inputs = tuple(torch.randn(256, 8) for _ in range(3))
    assert measure(lambda: scaled_dot_product_attention(*inputs))[0] == 256 * 256
    assert measure(lambda: attend_in_tiles(*inputs, tile=16))[0] == 256 * 8


def test_tiles_that_lie_in_the_future_are_not_computed():
    inputs = tuple(torch.randn(64, 8) for _ in range(3))
    assert measure(lambda: attend_in_tiles(*inputs, tile=16))[1] == 16 * 256
    assert measure(lambda: attend_in_tiles(*inputs, tile=16, causal=True))[1] == 10 * 256


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="`tile` is 0"):
        attend_in_tiles(*draw(), tile=0)
    with pytest.raises(ValueError, match="29 queries and 13 keys"):
        attend_in_tiles(*draw(29, 13), causal=True)
    with pytest.raises(ValueError, match="`key` has d_key = 5"):
        attend_in_tiles(torch.zeros(3, 4), torch.zeros(3, 5), torch.zeros(3, 4))
