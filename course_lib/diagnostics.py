"""Properties that code must have, written once and measured wherever they are claimed."""

from collections.abc import Callable

import torch
from einops import reduce

from course_lib.shapes import check_shape

Layer = Callable[[torch.Tensor], torch.Tensor]


def row_sum_error(weights: torch.Tensor) -> float:
    """Return how far the worst row of weights (..., n) is from summing to one.

    >>> row_sum_error(torch.tensor([[0.5, 0.5], [0.5, 0.25]]))
    0.25
    """
    check_shape(weights, "... n", "weights")
    return (weights.sum(dim=-1) - 1).abs().max().item()


def permutation_error(layer: Layer, inputs: torch.Tensor, order: torch.Tensor) -> float:
    """Return how far `layer` is from permuting its output when its input is permuted: 0 for an equivariant layer.

    `layer` maps inputs (batch, time, d) to outputs (batch, time, d_out); `order` (time,) says which vector comes first,
    second, and so on. The largest difference of any entry is returned; for an equivariant layer, that of rounding.

    >>> inputs, order = torch.randn(2, 5, 3), torch.tensor([4, 0, 3, 1, 2])
    >>> permutation_error(torch.tanh, inputs, order)
    0.0
    >>> permutation_error(lambda each: each.cumsum(dim=1), inputs, order) > 0.1
    True
    """
    sizes = check_shape(inputs, "batch time d", "inputs")
    check_shape(order, "time", "order", time=sizes["time"])
    return (layer(inputs[:, order]) - layer(inputs)[:, order]).abs().max().item()


def causal_leak(layer: Layer, inputs: torch.Tensor) -> float:
    """Return how far an output moves when only what comes after it is replaced: 0 where the future has no influence.

    `layer` maps inputs (batch, time, d) to outputs (batch, time, d_out). After each position in turn, everything is
    replaced by the inputs of the opposite sign, plus one; the largest change of any output up to there is returned.

    >>> inputs = torch.randn(2, 5, 3)
    >>> causal_leak(lambda each: each.cumsum(dim=1), inputs)
    0.0
    >>> causal_leak(lambda each: each.flip(1).cumsum(dim=1).flip(1), inputs) > 0.1
    True
    """
    time = check_shape(inputs, "batch time d", "inputs")["time"]
    before = layer(inputs)  # (batch, time, d_out)
    leak = before.new_zeros(())
    for now in range(time - 1):
        others = torch.cat([inputs[:, : now + 1], 1 - inputs[:, now + 1 :]], dim=1)  # (batch, time, d)
        moved = (layer(others) - before)[:, : now + 1].abs().max()
        leak = torch.maximum(leak, moved)  # nan where an output is nan: that is no proof of anything
    return leak.item()


def gradient_reach(layer: Layer, inputs: torch.Tensor) -> torch.Tensor:
    """Return how strongly each input moves the last output: norms of gradients (time,), averaged over the batch.

    `layer` maps inputs (batch, time, d) to outputs (batch, time, d_out); the gradient is that of the sum of the last
    output's entries.

    >>> gradient_reach(lambda each: each.cumsum(dim=1), torch.randn(2, 3, 4))
    tensor([2., 2., 2.])
    """
    check_shape(inputs, "batch time d", "inputs")
    inputs = inputs.detach().requires_grad_()
    (gradient,) = torch.autograd.grad(layer(inputs)[:, -1].sum(), inputs)  # (batch, time, d)
    return gradient.norm(dim=-1).mean(dim=0)  # (time,)


def jacobian_blocks(layer: Layer, inputs: torch.Tensor) -> torch.Tensor:
    """Return which outputs depend on which inputs, and how much: (time_out, time_in).

    `layer` maps inputs (time, d) to outputs (time_out, d_out). Entry (i, j) is the largest absolute derivative of any
    entry of output i by any entry of input j; 0 where input j cannot move output i.

    >>> jacobian_blocks(lambda each: each.cumsum(dim=0), torch.randn(3, 2))
    tensor([[1., 0., 0.],
            [1., 1., 0.],
            [1., 1., 1.]])
    """
    check_shape(inputs, "time d", "inputs")
    jacobian = torch.autograd.functional.jacobian(layer, inputs.detach())  # (time_out, d_out, time_in, d)
    return reduce(jacobian.abs(), "time_out d_out time_in d -> time_out time_in", "max")


def receptive_field(read: Callable[[torch.Tensor], torch.Tensor], images: torch.Tensor, location: int) -> torch.Tensor:
    """Return which pixels the feature at `location` depends on: a mask (height, width), True where it does.

    `read` maps `images` (batch, 3, height, width) to features (batch, location, d_feature). A pixel counts when the
    feature has a gradient there in any of the images: random images keep a silent unit from hiding a path. A layer
    that mixes the images of a batch, such as batch normalisation in training, must be in eval mode.

    >>> from course_lib.convolution import ConvFeatures
    >>> mask = receptive_field(ConvFeatures(d_feature=64).eval(), torch.randn(4, 3, 32, 32), location=27)
    >>> mask.any(dim=0).sum().item(), mask.any(dim=1).sum().item()
    (7, 7)
    """
    check_shape(images, "batch 3 height width", "images")
    images = images.detach().requires_grad_()
    features = read(images)  # (batch, location, d_feature)
    (gradient,) = torch.autograd.grad(features[:, location].sum(), images)  # (batch, 3, height, width)
    return (gradient != 0).any(dim=0).any(dim=0)  # (height, width)


def pointing_rate(weights: torch.Tensor, masks: torch.Tensor) -> float:
    """Return the share of pictures whose largest weight lies on the object.

    `weights` is (batch, location) on a square grid, row by row; `masks` (batch, height, width) is True on the object.
    A location counts as on the object when its cell of the grid holds at least one of the object's pixels. This is the
    pointing game of Zhang et al. (2018), on exact masks.

    >>> mask = torch.zeros(1, 4, 4, dtype=torch.bool)
    >>> mask[0, :2, 2:] = True  # the upper right quarter
    >>> pointing_rate(torch.tensor([[0.1, 0.7, 0.1, 0.1]]), mask)
    1.0
    """
    on_object = cells_on_object(masks, locations=weights.shape[-1])  # (batch, location)
    check_shape(weights, "batch location", "weights", batch=len(on_object))
    looked_at = weights.argmax(dim=-1, keepdim=True)  # (batch, 1)
    return on_object.gather(1, looked_at).float().mean().item()


def cells_on_object(masks: torch.Tensor, locations: int) -> torch.Tensor:
    """Return which of the `locations` cells of a square grid touch the object: (batch, location), boolean.

    Its mean is the chance of pointing: how often a random location would hit.

    >>> mask = torch.zeros(1, 4, 4, dtype=torch.bool)
    >>> mask[0, :2, 2:] = True
    >>> cells_on_object(mask, locations=4)
    tensor([[False,  True, False, False]])
    """
    sizes = check_shape(masks, "batch height width", "masks")
    side = round(locations**0.5)
    if side**2 != locations or sizes["height"] % side or sizes["width"] % side:
        raise ValueError(
            f"`locations` is {locations}, expected a square grid that divides the masks {tuple(masks.shape)}"
        )
    pixels = masks.to(torch.uint8)
    return reduce(pixels, "batch (y dy) (x dx) -> batch (y x)", "max", y=side, x=side).bool()  # (batch, location)
