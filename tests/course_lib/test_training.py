from functools import partial

import pytest
import torch
from torch import nn

from course_lib import training
from course_lib.training import Training, train


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


def sentences():
    """A model with dropout, and a batch of eight rows of unequal length that comes in `parts`."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(9, 6), nn.Dropout(0.0), nn.Linear(6, 9)).double()

    def batch_losses(generator, parts=1):
        tokens = torch.randint(9, (8, 5), generator=generator)
        lengths = torch.randint(1, 6, (8, 1), generator=generator)
        present = torch.arange(5) < lengths
        for rows in torch.arange(8).chunk(parts):
            losses = nn.functional.cross_entropy(model(tokens[rows]).mT, tokens[rows].flip(1), reduction="none")
            yield losses[present[rows]].sum(), int(present[rows].sum())

    return model, batch_losses


def weights(model):
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


@pytest.mark.parametrize("parts", [2, 4, 8])
def test_a_batch_in_parts_makes_the_same_step(parts):
    model, batch_losses = sentences()
    whole = Training(model, batch_losses, steps=10, learning_rate=0.1, seed=0)
    other, other_losses = sentences()
    cut = Training(other, lambda generator: other_losses(generator, parts), steps=10, learning_rate=0.1, seed=0)
    for _ in range(10):
        one, two = whole.advance(), cut.advance()
        assert one.loss == pytest.approx(two.loss, abs=1e-12) and one.predictions == two.predictions
    torch.testing.assert_close(weights(model), weights(other), rtol=0, atol=1e-10)


def test_a_run_that_was_interrupted_ends_where_the_other_does_bit_for_bit():
    def new(dropout=0.3):
        model, batch_losses = sentences()
        model[1].p = dropout
        return model, Training(model, batch_losses, steps=12, learning_rate=0.1, seed=3, weight_decay=0.1)

    model, whole = new()
    losses = [whole.advance().loss for _ in range(12)]
    _, first = new()
    early = [first.advance().loss for _ in range(5)]
    state = {name: tensor.clone() for name, tensor in first.state().items()}
    resumed, second = new()
    second.restore(state)
    assert second.step == 5
    assert early + [second.advance().loss for _ in range(7)] == losses
    assert torch.equal(weights(resumed), weights(model))


def test_dropout_differs_from_step_to_step_and_from_seed_to_seed_and_disturbs_nobody():
    def drawn(seed):
        model, masks = nn.Linear(1, 1), []

        def batch_losses(generator):
            masks.append(torch.rand(3))
            yield model(torch.ones(1)).sum(), 1

        training = Training(model, batch_losses, steps=3, learning_rate=0.1, seed=seed)
        for _ in range(3):
            training.advance()
        return torch.stack(masks)

    one, again, other = drawn(0), drawn(0), drawn(1)
    assert torch.equal(one, again) and not torch.equal(one, other) and not torch.equal(one[0], one[1])

    model = nn.Linear(1, 1)
    training = Training(model, lambda generator: [(model(torch.rand(1)).sum(), 1)], 1, 0.1, seed=0)
    before = torch.get_rng_state()
    training.advance()
    assert torch.equal(torch.get_rng_state(), before)


def test_weights_decay_by_themselves():
    model = nn.Linear(1, 1, bias=False)
    start = model.weight.item()
    training = Training(
        model, lambda generator: [(0 * model.weight.sum(), 1)], 1, 0.1, seed=0, warm_up=0.0, weight_decay=0.5
    )
    training.advance()
    assert model.weight.item() == pytest.approx(start * (1 - 0.1 * 0.5))


def test_a_state_of_another_model_is_refused():
    training = Training(nn.Linear(2, 1), lambda generator: [], 1, 0.1, seed=0)
    with pytest.raises(RuntimeError, match="size mismatch"):
        training.restore(Training(nn.Linear(3, 1), lambda generator: [], 1, 0.1, seed=0).state())


@pytest.mark.parametrize(("slope", "due"), [(0.5, 0.5), (40.0, 1.0)])
def test_the_step_is_taken_with_the_mean_gradient_of_a_prediction_cut_to_length_1(slope, due):
    model = nn.Linear(1, 1, bias=False)
    parts = lambda generator: ((slope * number * model.weight.sum(), number) for number in (3, 5))  # noqa: E731
    Training(model, parts, 1, 0.1, seed=0).advance()
    assert model.weight.grad.item() == pytest.approx(due)
