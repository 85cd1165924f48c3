"""The small example of Chapter 12: an image of four by four pixels that becomes a sequence of five vectors.

The image is a digit, a seven. It is cut into four patches of two by two pixels. TO_VECTOR makes two numbers of each
patch: how much ink it has, and how much more ink stands on its right than on its left. POSITIONS has a row for the
class token and one for each patch: in which row and in which column of patches it stands.

>>> from course_lib.models.vision_transformer import patchify
>>> patches = patchify(IMAGE, 2)[0]  # (patch, pixel)
>>> patches.int().tolist()
[[1, 1, 0, 0], [1, 2, 0, 2], [0, 0, 0, 2], [2, 0, 0, 0]]
>>> vectors = patches @ TO_VECTOR.T  # (patch, d_model)
>>> vectors.int().tolist()
[[2, 0], [5, 3], [2, 2], [2, -2]]

The class token stands before the patches, and each row of the sequence gets its row of POSITIONS:

>>> import torch
>>> (torch.cat([CLASS_TOKEN, vectors]) + POSITIONS).int().tolist()
[[1, 0], [3, 1], [6, 5], [4, 3], [4, 0]]
"""

import torch

IMAGE = torch.tensor([[[[1.0, 1, 1, 2], [0, 0, 0, 2], [0, 0, 2, 0], [0, 2, 0, 0]]]])  # (batch, channels, height, width)
FEATURES = ("ink", "right − left")

TO_VECTOR = torch.tensor([[1.0, 1, 1, 1], [-1, 1, -1, 1]])  # (d_model, pixel)
CLASS_TOKEN = torch.tensor([[1.0, 0]])  # (1, d_model)
POSITIONS = torch.tensor([[0.0, 0], [1, 1], [1, 2], [2, 1], [2, 2]])  # (1 + patches, d_model)
