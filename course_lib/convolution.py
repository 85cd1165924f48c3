"""From a picture to a list of feature vectors, one for each location, that attention can read."""

import torch
from einops import rearrange
from torch import nn

from course_lib.shapes import check_shape


class ConvFeatures(nn.Module):
    """Read pictures (batch, 3, H, W) into features (batch, location, d_feature) on a grid of (H/4) × (W/4) locations.

    Two 3 × 3 convolutions, each halving height and width, then a 1 × 1 convolution: of the picture, a feature sees a
    window of 7 × 7 pixels and nothing else, so a weight on a location is a statement about that window. (In training,
    batch normalisation lets the rest of the batch in as well.) A linear function of row and column is added last; but
    for the padding at the border, only it tells equal windows at different locations apart. Locations run row by row.

    >>> features = ConvFeatures(d_feature=64)(torch.zeros(2, 3, 32, 32))
    >>> features.shape
    torch.Size([2, 64, 64])
    """

    def __init__(self, d_feature: int):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 24, kernel_size=3, stride=2, padding=1),
            nn.BatchNorm2d(24),
            nn.ReLU(),
            nn.Conv2d(24, 48, kernel_size=3, stride=2, padding=1),
            nn.BatchNorm2d(48),
            nn.ReLU(),
            nn.Conv2d(48, d_feature, kernel_size=1),
            nn.BatchNorm2d(d_feature),
            nn.ReLU(),
        )
        self.position = nn.Linear(2, d_feature)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the features (batch, location, d_feature).

        Raises ValueError unless `images` has three colours and sides divisible by 4.
        """
        sizes = check_shape(images, "batch 3 height width", "images")
        if sizes["height"] % 4 or sizes["width"] % 4:
            raise ValueError(f"`images` has shape {tuple(images.shape)}, expected height and width divisible by 4")
        feature_map = self.layers(images)  # (batch, d_feature, height/4, width/4)
        features = rearrange(
            feature_map, "batch d_feature y x -> batch (y x) d_feature"
        )  # (batch, location, d_feature)
        grid = grid_coordinates(*feature_map.shape[-2:]).to(features)  # (location, 2)
        return features + self.position(grid)  # (batch, location, d_feature)


def grid_coordinates(height: int, width: int) -> torch.Tensor:
    """Return the (y, x) of every location of a grid, from -1 to 1, row by row: (height * width, 2).

    >>> grid_coordinates(2, 2)
    tensor([[-1., -1.],
            [-1.,  1.],
            [ 1., -1.],
            [ 1.,  1.]])
    """
    y, x = torch.meshgrid(torch.linspace(-1, 1, height), torch.linspace(-1, 1, width), indexing="ij")
    return rearrange(torch.stack([y, x]), "coordinate y x -> (y x) coordinate")  # (location, 2)
