import pytest
import torch

from course_lib.models.classifier import SequenceClassifier


def classifier(**arguments):
    torch.manual_seed(0)
    return SequenceClassifier(vocab_size=11, classes=3, d_model=8, heads=2, **arguments).double().eval()


WORDS = torch.tensor([[3, 4, 5, 6, 0, 0], [7, 8, 9, 10, 3, 4]])


@pytest.mark.parametrize("pool", ["mean", "max", "first"])
def test_padding_has_no_influence(pool):
    model = classifier(pool=pool)
    longer = torch.cat([WORDS, torch.zeros(2, 4, dtype=torch.long)], dim=1)
    torch.testing.assert_close(model(longer), model(WORDS), rtol=0, atol=1e-12)
    torch.testing.assert_close(model(WORDS[:1, :4]), model(WORDS)[:1], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "tells"),
    [({}, True), ({"positions": False}, False), ({"layers": 0, "positions": False}, False), ({"pool": "max"}, True)],
)
def test_orders_are_told_apart_by_positions_alone(arguments, tells):
    model = classifier(**arguments)
    turned = WORDS[1:, [0, 3, 2, 1, 4, 5]]
    difference = (model(turned) - model(WORDS[1:])).abs().max()
    assert difference > 1e-6 if tells else difference < 1e-12


def test_the_pools_differ_and_the_first_reads_all_through_attention():
    outputs = [classifier(pool=pool)(WORDS) for pool in ("mean", "max", "first")]
    assert not any(torch.allclose(outputs[i], outputs[j]) for i, j in ((0, 1), (0, 2), (1, 2)))
    changed = WORDS.clone()
    changed[0, 3] = 9
    assert (classifier(pool="first")(changed)[0] - outputs[2][0]).abs().max() > 1e-9


def test_a_pool_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="`pool` is .sum., expected one of .mean., .max., .first."):
        SequenceClassifier(vocab_size=11, classes=2, pool="sum")


def test_vectors_before_pooling():
    model = classifier()
    assert model.encode(WORDS).shape == (2, 6, 8)
    torch.testing.assert_close(model(WORDS)[1], model.to_logits(model.encode(WORDS)[1].mean(dim=0)))


def test_dropout_reaches_every_road():
    model = classifier(dropout=1.0).train()
    assert (model.encode(WORDS) == 0).all() and torch.equal(model(WORDS)[0], model.to_logits.bias)
