from functools import partial

import pytest
import torch
from torch import nn

from course_lib import training
from course_lib.training import train


def fit(seed):
    torch.manual_seed(0)
    model = nn.Linear(2, 1)
    x = torch.randn(64, 2)

    def batch_loss(generator):
        chosen = torch.randint(64, (8,), generator=generator)
        return ((model(x[chosen]) - x[chosen].sum(dim=1, keepdim=True)) ** 2).mean()

    return model, train(model, batch_loss, steps=100, learning_rate=0.1, seed=seed)


def test_learns_and_ends_in_eval_mode():
    model, losses = fit(seed=0)
    assert len(losses) == 100 and losses[-1] < 1e-2 < losses[0]
    assert not model.training


def test_the_seed_decides_the_batches():
    assert fit(seed=0)[1] == fit(seed=0)[1]
    assert fit(seed=0)[1] != fit(seed=1)[1]


def test_one_step_is_enough_to_be_called():
    model = nn.Linear(1, 1)
    assert len(train(model, lambda generator: model(torch.ones(1)).sum(), steps=1, learning_rate=0.1, seed=0)) == 1


def test_a_loss_that_is_not_finite_stops_at_once():
    model = nn.Linear(1, 1)
    with pytest.raises(ValueError, match="the loss is nan at step 0"):
        train(model, lambda generator: model(torch.ones(1)).sum() * float("nan"), steps=5, learning_rate=0.1, seed=0)


def test_long_gradients_are_cut():
    """The first step of a huge loss moves no further than the learning rate allows, and the schedule warms up."""
    model = nn.Linear(1, 1, bias=False)
    start = model.weight.item()
    train(model, lambda generator: 1e9 * model(torch.ones(1)).sum(), steps=40, learning_rate=0.01, seed=0)
    assert abs(model.weight.item() - start) <= 40 * 0.01


def test_the_bar_is_drawn_when_it_is_due_and_not_at_each_step(monkeypatch, capsys):
    """A notebook whose every step draws sends more messages than a test of it can hold."""
    monkeypatch.setattr(training, "tqdm", partial(training.tqdm, mininterval=1e9))  # never due
    line = nn.Linear(1, 1)
    train(line, lambda generator: line(torch.ones(1)).square().sum(), steps=50, learning_rate=0.1, seed=0)
    assert 1 <= capsys.readouterr().err.count("\r") <= 5


def rates(steps, **arguments):
    """Return the learning rates of each step: Adam under a constant gradient moves by exactly its rate."""
    model, places = nn.Linear(1, 1, bias=False).double(), []

    def batch_loss(generator):
        places.append(model.weight.item())
        return model.weight.sum()

    train(model, batch_loss, steps, learning_rate=0.1, seed=0, **arguments)
    return [before - after for before, after in zip(places, [*places[1:], model.weight.item()], strict=True)]


def test_the_rate_climbs_as_long_as_it_is_told_and_then_falls():
    assert rates(4, warm_up=0.0) == pytest.approx([0.1, 0.075, 0.05, 0.025], rel=1e-6)
    assert rates(4, warm_up=0.5) == pytest.approx([0.05, 0.1, 2 / 3 * 0.1, 1 / 3 * 0.1], rel=1e-6)
    assert rates(40)[:3] == pytest.approx([0.05, 0.1, 38 / 39 * 0.1], rel=1e-6)  # a twentieth: two steps


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_outside_0_to_1_is_refused(share):
    with pytest.raises(ValueError, match="`warm_up` is"):
        rates(2, warm_up=share)
