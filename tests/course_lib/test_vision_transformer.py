import pytest
import torch
from torch import nn

from course_lib.models.vision_transformer import VisionTransformer, patchify, unpatchify


def test_patches_are_those_of_a_loop():
    images = torch.rand(2, 3, 6, 4)
    patches = patchify(images, 2)
    assert patches.shape == (2, 6, 12)
    number = 0
    for top in range(0, 6, 2):
        for left in range(0, 4, 2):
            square = images[:, :, top : top + 2, left : left + 2]
            assert torch.equal(patches[:, number], square.flatten(1))
            number += 1


@pytest.mark.parametrize("size", [1, 2, 3])
def test_there_and_back(size):
    images = torch.rand(2, 3, 6, 12)
    assert torch.equal(unpatchify(patchify(images, size), size, 3, 6, 12), images)


def test_a_linear_map_of_patches_is_a_convolution():
    """The usual way to write it: a convolution whose stride is its size."""
    convolution, images = nn.Conv2d(3, 7, kernel_size=2, stride=2), torch.rand(2, 3, 6, 4)
    linear = patchify(images, 2) @ convolution.weight.flatten(1).T + convolution.bias
    torch.testing.assert_close(linear, convolution(images).flatten(2).mT)


def test_wrong_sizes_are_named():
    with pytest.raises(ValueError, match="`size` of a patch is 4, expected a number that divides 6 and 8"):
        patchify(torch.zeros(1, 1, 6, 8), 4)
    with pytest.raises(ValueError, match="`size` of a patch is 0"):
        patchify(torch.zeros(1, 1, 6, 8), 0)
    with pytest.raises(ValueError, match=r"`patches` has shape \(1, 5, 4\), expected \(batch, patches=6, entries=4\)"):
        unpatchify(torch.zeros(1, 5, 4), 2, 1, 4, 6)
    with pytest.raises(ValueError, match="`images` has shape"):
        VisionTransformer()(torch.zeros(2, 1, 8, 10))
    with pytest.raises(ValueError, match="`pool` is 'max'"):
        VisionTransformer(pool="max")
    with pytest.raises(ValueError, match="`size` of a patch is 3"):
        VisionTransformer(patch=3)


def model(**arguments):
    torch.manual_seed(0)
    return VisionTransformer(channels=2, d_model=16, heads=2, layers=2, d_hidden=24, **arguments).double().eval()


def shuffled(images):
    """Return the pictures with their patches in another order."""
    order = torch.randperm(16, generator=torch.Generator().manual_seed(1))
    return unpatchify(patchify(images, 2)[:, order], 2, 2, 8, 8)


@pytest.mark.parametrize("pool", ["class", "mean"])
def test_only_positions_tell_where_a_patch_was(pool):
    images = torch.rand(3, 2, 8, 8, dtype=torch.float64)
    blind, seeing = model(pool=pool, positions=False), model(pool=pool)
    torch.testing.assert_close(blind(shuffled(images)), blind(images))
    assert (seeing(shuffled(images)) - seeing(images)).abs().max() > 1e-3


def test_the_class_token_is_one_more_and_stands_first():
    images = torch.rand(3, 2, 8, 8, dtype=torch.float64)
    with_class, without = model(), model(pool="mean")
    assert with_class.encode(images).shape == (3, 17, 16) and without.encode(images).shape == (3, 16, 16)
    torch.testing.assert_close(with_class(images), with_class.to_logits(with_class.encode(images)[:, 0]))
    torch.testing.assert_close(without(images), without.to_logits(without.encode(images).mean(dim=1)))
    with torch.no_grad():
        with_class.class_token += torch.randn(16, dtype=torch.float64)
        read = with_class.encode(images)
    assert (read[0, 0] - read[1, 0]).abs().max() > 1e-6  # it has read the pictures, which differ
