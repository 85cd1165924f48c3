"""What a wrong prediction costs: minus the logarithm of the probability that the right token was given."""

import torch

from course_lib.shapes import check_shape


def token_losses(logits: torch.Tensor, targets: torch.Tensor, smoothing: float = 0.0) -> torch.Tensor:
    """Return the cross-entropy of each target (...) under logits (..., vocab), in nats.

    With `smoothing`, the target is no longer one token: this share of the probability is spread evenly over the whole
    vocabulary, the right token among them (Szegedy et al., 2016). Raises ValueError where the shapes do not fit and for
    a share outside 0 to 1.

    >>> token_losses(torch.tensor([[0.0, 0.0, 0.0, 0.0]]), torch.tensor([2]))  # the logarithm of 4
    tensor([1.3863])
    """
    if not 0 <= smoothing <= 1:
        raise ValueError(f"`smoothing` is {smoothing}, expected a share from 0 to 1")
    check_shape(logits, "... vocab", "logits")
    if targets.shape != logits.shape[:-1]:
        raise ValueError(f"`targets` has shape {tuple(targets.shape)}, expected {tuple(logits.shape[:-1])}")
    normaliser = logits.logsumexp(dim=-1)  # (...): what all tokens together weigh
    right = logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1)  # (...)
    losses = normaliser - right  # (...)
    if smoothing:  # the mean is another pass over the vocabulary, which others need not pay for
        losses = losses + smoothing * (right - logits.mean(dim=-1))  # (...)
    return losses
