import pytest
import torch

from course_lib.attention import UniformAttention
from course_lib.data import scenes
from course_lib.models.captioner import Captioner


@pytest.fixture(scope="module")
def captioner():
    torch.manual_seed(0)
    return Captioner(len(scenes.VOCABULARY)).eval()


@pytest.fixture(scope="module")
def sample():
    return scenes.make_scenes(6, seed=0)


def test_writing_equals_teacher_forcing_on_its_own_words(captioner, sample):
    written, weights = captioner.greedy_decode(sample.images, scenes.START, length=6)
    fed_back = torch.cat([torch.full((6, 1), scenes.START), written[:, :-1]], dim=1)
    logits, forced_weights = captioner(sample.images, fed_back)
    assert torch.equal(logits.argmax(dim=-1), written)
    torch.testing.assert_close(forced_weights, weights)


def test_a_word_has_no_influence_on_earlier_steps(captioner, sample):
    words = sample.captions[:, :-1]
    changed = words.clone()
    changed[:, 4] = (changed[:, 4] + 1) % len(scenes.VOCABULARY)
    before, after = captioner(sample.images, words)[0], captioner(sample.images, changed)[0]
    assert torch.equal(before[:, :4], after[:, :4])
    assert not torch.equal(before[:, 4], after[:, 4])


def test_another_attention_enters_by_argument(sample):
    _, weights = Captioner(len(scenes.VOCABULARY), attention=UniformAttention())(sample.images, sample.captions[:, :-1])
    assert torch.equal(weights, torch.full_like(weights, 1 / 64))


@pytest.mark.parametrize(
    ("images", "words", "culprit"), [((2, 3, 32), (2, 6), "`images`"), ((2, 3, 32, 32), (3, 6), "`words`")]
)
def test_wrong_shapes_are_named(captioner, images, words, culprit):
    with pytest.raises(ValueError, match=culprit):
        captioner(torch.zeros(images), torch.zeros(words, dtype=torch.long))
