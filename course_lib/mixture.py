"""A mixture of experts: many feed-forward networks, of which a router chooses a few for each token."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import nn

from course_lib.blocks import SwiGLU
from course_lib.shapes import check_shape
from course_lib.softmax import softmax


class Routing(NamedTuple):
    """Where tokens go: the router's `logits` (..., experts), the numbers of the `chosen` experts (..., chosen), the
    best first, and the `shares` (..., chosen) with which their outputs are added up.
    """

    logits: torch.Tensor
    chosen: torch.Tensor
    shares: torch.Tensor


class Router(nn.Module):
    """Choose experts for each vector by one linear map, a logit for each expert.

    The `chosen` experts with the largest logits get the vector, and the softmax of these logits alone are their shares,
    as in Mixtral (Jiang et al., 2024). `choice_bias` (experts,) is added for the choice only, and is 0 unless
    `rebalance` moves it. Raises ValueError unless `chosen` is from 1 to `experts`.

    >>> router = Router(d_model=8, experts=4, chosen=2)
    >>> logits, chosen, shares = router(torch.zeros(2, 5, 8))
    >>> logits.shape, chosen.shape, shares[0, 0].tolist()
    (torch.Size([2, 5, 4]), torch.Size([2, 5, 2]), [0.5, 0.5])
    """

    def __init__(self, d_model: int, experts: int, chosen: int):
        super().__init__()
        if not 1 <= chosen <= experts:
            raise ValueError(f"`chosen` is {chosen}, expected from 1 to `experts` = {experts}")
        self.chosen = chosen
        self.to_logits = nn.Linear(d_model, experts, bias=False)
        self.register_buffer("choice_bias", torch.zeros(experts))

    def forward(self, inputs: torch.Tensor) -> Routing:
        """Return where each of the inputs (..., d_model) goes."""
        check_shape(inputs, "... d_model", "inputs", d_model=self.to_logits.in_features)
        logits = self.to_logits(inputs)  # (..., experts)
        chosen = (logits + self.choice_bias).topk(self.chosen).indices  # (..., chosen)
        return Routing(logits, chosen, softmax(logits.gather(-1, chosen)))

    @torch.no_grad()
    def rebalance(self, chosen: torch.Tensor, step: float = 0.001) -> None:
        """Move the bias of each expert by `step`: up if it was chosen too rarely in `chosen` (..., chosen), else down.

        Called after each batch, it evens out how often the experts are chosen without a part in the loss, so that no
        gradient works against the task. After DeepSeek-AI (2024), whose step this is, and who add the biases to
        sigmoids of the logits.

        >>> router = Router(d_model=8, experts=3, chosen=1)
        >>> router.rebalance(torch.tensor([[0], [0], [1]]))
        >>> router.choice_bias
        tensor([-0.0010,  0.0000,  0.0010])
        """
        choices = count_choices(chosen, len(self.choice_bias))  # (experts,)
        # The number of all choices is the mean times the number of experts: so whole numbers are compared.
        self.choice_bias += step * (choices.sum() - len(choices) * choices).sign()


class MixtureOfExperts(nn.Module):
    """Work on each position alone, with the `chosen` of the `experts` that a router gives it to, each with its share.

    It stands where a `FeedForward` stands, and has the parameters of all experts; but each expert computes only the
    tokens that are given to it, and so a token costs what `chosen` experts cost. `make_expert(d_model, d_hidden)` makes
    one expert. After Shazeer et al. (2017), with the shares of Jiang et al. (2024). `record_routing` shows what the
    router does; `balance_loss` or `Router.rebalance` keeps it from giving all tokens to the same experts. Raises
    ValueError unless `chosen` is from 1 to `experts`.

    >>> mixture = MixtureOfExperts(d_model=8, d_hidden=21, experts=4, chosen=2)
    >>> mixture(torch.zeros(2, 5, 8)).shape
    torch.Size([2, 5, 8])
    """

    def __init__(
        self,
        d_model: int,
        d_hidden: int,
        experts: int = 8,
        chosen: int = 2,
        make_expert: Callable[[int, int], nn.Module] = SwiGLU,
    ):
        super().__init__()
        self.router = Router(d_model, experts, chosen)
        self.experts = nn.ModuleList(make_expert(d_model, d_hidden) for _ in range(experts))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return outputs (..., d_model) of inputs (..., d_model)."""
        _, chosen, shares = self.router(inputs)  # each (..., chosen)
        tokens, chosen, shares = (each.reshape(-1, each.shape[-1]) for each in (inputs, chosen, shares))  # (token, ...)
        outputs = torch.zeros_like(tokens)  # (token, d_model)
        for number, expert in enumerate(self.experts):
            own, place = (chosen == number).nonzero(as_tuple=True)  # each (own,): which tokens, as which choice
            outputs[own] += shares[own, place].unsqueeze(-1) * expert(tokens[own])  # (own, d_model)
        return outputs.view_as(inputs)


def count_choices(chosen: torch.Tensor, experts: int) -> torch.Tensor:
    """Return how often each of the `experts` was chosen in `chosen` (..., chosen): whole numbers (experts,).

    >>> count_choices(torch.tensor([[0, 2], [2, 1]]), experts=4)
    tensor([1, 1, 2, 0])
    """
    return torch.bincount(chosen.flatten(), minlength=experts)


def balance_loss(router_logits: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
    """Return how unevenly a router works: 1 if all experts are chosen alike, the number of experts if one alone is.

    It is the number of experts times the sum, over the experts, of the part of all choices that falls on an expert
    times its mean probability. The probabilities are the softmax of all router_logits (..., experts), and the gradient
    flows through them; the choices are `chosen` (..., chosen). A small part of it, such as 0.01 of it for each layer,
    is added to the loss. After Fedus, Zoph and Shazeer (2022), who choose one expert for each token.

    >>> logits = torch.tensor([[9.0, 0.0], [0.0, 9.0]])
    >>> balance_loss(logits, logits.argmax(dim=-1, keepdim=True)).item()
    1.0
    """
    experts = check_shape(router_logits, "... experts", "router_logits")["experts"]
    check_shape(chosen, "... chosen", "chosen")
    if chosen.shape[:-1] != router_logits.shape[:-1]:
        raise ValueError(
            f"`chosen` has shape {tuple(chosen.shape)}, expected the leading axes of `router_logits` "
            f"{tuple(router_logits.shape)}"
        )
    probabilities = softmax(router_logits).reshape(-1, experts).mean(dim=0)  # (experts,)
    return experts * (count_choices(chosen, experts) * probabilities).sum() / chosen.numel()


@contextmanager
def record_routing(model: nn.Module) -> Iterator[dict[str, Routing]]:
    """Record where every mixture of experts that runs inside the `with` sends its tokens, under the name of its module.

    The logits keep their gradient, for `balance_loss`; of a module that runs twice, the last routing stays.

    >>> model = nn.Sequential(MixtureOfExperts(d_model=8, d_hidden=21, experts=4))
    >>> with record_routing(model) as routings:
    ...     _ = model(torch.zeros(2, 5, 8))
    >>> {name: balance_loss(routing.logits, routing.chosen).item() for name, routing in routings.items()}
    {'0': 1.0}
    """
    routings: dict[str, Routing] = {}

    def recorder(name: str):
        def record(module: nn.Module, inputs: tuple, routing: Routing) -> None:
            routings[name] = routing

        return record

    mixtures = [(name, each) for name, each in model.named_modules() if isinstance(each, MixtureOfExperts)]
    hooks = [mixture.router.register_forward_hook(recorder(name)) for name, mixture in mixtures]
    try:
        yield routings
    finally:
        for hook in hooks:
            hook.remove()
