from functools import partial

import pytest
import torch

from course_lib.blocks import TransformerBlock
from course_lib.normalisation import LayerNorm
from course_lib.rings import SYMBOLS, RingStack, draw_rings, right_on_rings, ring_loss, train_on_rings


def new_stack(depth, **how):
    torch.manual_seed(0)
    return RingStack(depth, partial(TransformerBlock, 32, heads=2, d_hidden=64, **how))


def test_the_target_is_the_symbol_three_places_before_in_the_ring():
    rings, targets = draw_rings(4, torch.Generator().manual_seed(0))
    for place in range(6):
        assert targets[:, place].equal(rings[:, (place - 3) % 6])


@pytest.mark.parametrize(("norm", "last"), [("pre", LayerNorm), ("post", torch.nn.Identity), (None, torch.nn.Identity)])
def test_only_a_pre_norm_stack_has_one_more_norm_at_its_end(norm, last):
    assert type(new_stack(2, norm=norm).last) is last


def test_a_stack_learns_the_rings_that_it_has_not_seen():
    stack = new_stack(1)
    losses = train_on_rings(stack, learning_rate=0.01, seed=0)
    fresh = draw_rings(200, torch.Generator().manual_seed(1))
    assert right_on_rings(stack, *fresh) > 0.9
    assert losses[0] > 2 and ring_loss(stack, *fresh) < 0.5


def test_what_is_right_is_counted_at_each_position():
    rings, targets = draw_rings(100, torch.Generator().manual_seed(0))
    half = targets.clone()
    half[:, :3] = (half[:, :3] + 1) % SYMBOLS
    assert right_on_rings(lambda _: torch.nn.functional.one_hot(half, SYMBOLS), rings, targets) == 0.5
