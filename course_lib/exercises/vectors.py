"""What exercises on the normalisation of vectors share: one vector that is replaced, and all others."""

import torch

from course_lib.grading.exercise import Case


def last_vector_replaced(case: Case) -> Case:
    """Replace the very last vector."""
    inputs = case["inputs"].clone()
    last = inputs.view(-1, inputs.shape[-1])[-1]
    last += 3 * torch.arange(len(last)).cos()
    return case | {"inputs": inputs}


def all_but_the_last(output: torch.Tensor) -> torch.Tensor:
    """Every vector but the very last."""
    return output.flatten(0, -2)[:-1] if output.dim() > 1 else output[:0]
