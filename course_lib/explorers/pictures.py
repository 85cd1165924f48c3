"""Pictures whose pixels stand in the page itself."""

from base64 import b64encode
from html import escape
from io import BytesIO

import torch
from einops import rearrange
from matplotlib.image import imsave

from course_lib.shapes import check_shape


def picture(image: torch.Tensor, alternative: str, width: int = 140) -> str:
    """Return an image (3, height, width) from 0 to 1 as an element of HTML, `width` pixels wide.

    >>> picture(torch.zeros(3, 4, 4), "black")[:27], picture(torch.zeros(3, 4, 4), "black")[-13:]
    ('<img src="data:image/png;ba', ' alt="black">')
    """
    check_shape(image, "3 height width", "image")
    file = BytesIO()
    # No version of a library in the file: the same pixels give the same page.
    imsave(file, rearrange(image.clamp(0, 1), "rgb y x -> y x rgb").numpy(), format="png", metadata={"Software": None})
    source = f"data:image/png;base64,{b64encode(file.getvalue()).decode()}"
    return f'<img src="{source}" width="{width}" style="image-rendering: pixelated" alt="{escape(alternative)}">'
