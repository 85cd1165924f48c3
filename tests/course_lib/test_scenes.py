import pytest
import torch

from course_lib.data import scenes


@pytest.fixture(scope="module")
def sample():
    return scenes.make_scenes(200, seed=3)


def test_the_same_seed_draws_the_same_scenes():
    first, again, other = (scenes.make_scenes(5, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(first.images, again.images) and torch.equal(first.captions, again.captions)
    assert not torch.equal(first.images, other.images)


def test_shapes_and_ranges(sample):
    assert len(sample) == 200
    assert sample.images.shape == (200, 3, 32, 32) and sample.captions.shape == (200, 7)
    assert sample.masks.shape == (200, 2, 32, 32) and sample.masks.dtype == torch.bool
    assert (sample.captions[:, 0] == scenes.START).all() and (sample.captions[:, -1] == scenes.END).all()


def test_the_mask_of_an_object_holds_its_colour(sample):
    for which, word in ((0, 1), (1, 4)):
        for image, mask, caption in zip(sample.images, sample.masks[:, which], sample.captions, strict=True):
            colour = torch.tensor(scenes.COLOURS[scenes.VOCABULARY[caption[word]]])
            painted = image[:, mask].median(dim=1).values
            torch.testing.assert_close(painted, colour, atol=0.02, rtol=0)


def test_the_shape_word_is_the_shape_drawn(sample):
    """A square fills its bounding box, a circle about 0.79 and a triangle about half of it, on average."""
    for which, word in ((0, 2), (1, 5)):
        filled = {shape: [] for shape in scenes.SHAPES}
        for mask, caption in zip(sample.masks[:, which], sample.captions, strict=True):
            height, width = mask.any(dim=1).sum(), mask.any(dim=0).sum()
            filled[scenes.VOCABULARY[caption[word]]].append((mask.sum() / (height * width)).item())
        mean = {shape: sum(shares) / len(shares) for shape, shares in filled.items()}
        assert min(filled["square"]) == 1 > max(filled["circle"])
        assert 0.75 < mean["circle"] < 0.87 and 0.5 < mean["triangle"] < 0.65


def test_the_upper_or_left_object_comes_first(sample):
    line = torch.arange(32.0)
    for masks, caption in zip(sample.masks, sample.captions, strict=True):
        y, x = [(masks.sum(dim=axis).float() @ line) / masks.sum(dim=(1, 2)) for axis in (2, 1)]
        if scenes.VOCABULARY[caption[3]] == "above":
            assert y[0] < y[1] and (y[1] - y[0]) > (x[0] - x[1]).abs()
        else:
            assert x[0] < x[1] and (x[1] - x[0]) > (y[0] - y[1]).abs()


def test_objects_do_not_hide_each_other(sample):
    assert not (sample.masks[:, 0] & sample.masks[:, 1]).any()


def combinations_in(captions):
    return {(scenes.VOCABULARY[row[at]], scenes.VOCABULARY[row[at + 1]]) for row in captions for at in (1, 4)}


def test_withheld_combinations_stay_withheld_and_their_parts_do_not():
    seen = combinations_in(scenes.make_scenes(400, seed=0, combinations=scenes.SEEN).captions)
    unseen = combinations_in(scenes.make_scenes(100, seed=0, combinations=scenes.UNSEEN).captions)
    assert seen == set(scenes.SEEN) and unseen == set(scenes.UNSEEN) and not seen & unseen
    assert {colour for colour, _ in unseen} <= {colour for colour, _ in seen}
    assert {shape for _, shape in unseen} <= {shape for _, shape in seen}


@pytest.mark.parametrize(("number", "combinations"), [(0, scenes.SEEN), (3, []), (3, [("pink", "square")])])
def test_bad_arguments_are_named(number, combinations):
    with pytest.raises(ValueError, match="`number`|`combinations`"):
        scenes.make_scenes(number, seed=0, combinations=combinations)
