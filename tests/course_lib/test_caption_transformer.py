import inspect
import re
from dataclasses import FrozenInstanceError, fields, replace

import pytest
import torch

from course_lib import decoding
from course_lib.attention import scaled_dot_product_attention
from course_lib.capstone import load_caption_transformer
from course_lib.data import scenes
from course_lib.grading.catalogue import catalogue
from course_lib.models.caption_transformer import (
    CaptionTransformer,
    CrossAttention,
    Parts,
    beam_search,
    layer_norm,
    shift_right,
)
from course_lib.multi_head import split_heads
from course_lib.normalisation import LayerNorm

VOCABULARY = len(scenes.VOCABULARY)
NAMES = [part.name for part in fields(Parts)]
CHAPTER = dict(zip(NAMES, ("05", "06", "06", "07", "08", "08", "09", "09", "09", "09"), strict=True))


@pytest.fixture(scope="module")
def sample():
    return scenes.make_scenes(6, seed=0)


@pytest.fixture(scope="module")
def worked_answers():
    """The parts as the solutions of Chapters 05 to 09 write them."""
    return Parts(**{name: catalogue().answers(chapter).function(name) for name, chapter in CHAPTER.items()})


def writer_of(parts=None, **sizes):
    """An untrained writer whose weights do not depend on its parts, gains and biases among them."""
    model = CaptionTransformer(VOCABULARY, parts, **sizes)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for _, parameter in sorted(model.named_parameters()):
            drawn = torch.randn(parameter.shape, generator=generator)
            if parameter.dim() > 1:
                parameter.copy_(drawn / parameter[0].numel() ** 0.5)
            else:
                parameter.copy_(0.5 + 0.3 * drawn)
    return model.eval()


def test_the_comment_at_each_part_names_the_exercise_that_asks_for_it():
    written = dict(re.findall(r"^ +(\w+): Callable = .*# (\d\d\.\d)$", inspect.getsource(Parts), re.MULTILINE))
    assert list(written) == NAMES
    for name, exercise in written.items():
        assert name in [task.function for task in catalogue().find(exercise).tasks]


@torch.no_grad()
def everything(model, sample):
    """Logits, weights, loss with padding, a beam's caption: what all the parts have a hand in."""
    targets = sample.captions[:, 1:].clone()
    targets[0, 4:] = scenes.START
    logits, weights = model(sample.images, sample.captions[:, :-1])
    loss = model.loss(sample.images, targets, scenes.START, scenes.START)
    caption = model.beam_decode(sample.images[0], scenes.START, scenes.END, width=3, max_length=6)
    return {"logits": logits, "weights": weights, "loss": loss, "caption": caption}


def test_the_worked_answers_make_the_same_model(worked_answers, sample):
    ours, theirs = (everything(writer_of(parts), sample) for parts in (Parts(), worked_answers))
    assert ours["logits"].std() > 0.1  # weights that say something
    for name, value in ours.items():
        torch.testing.assert_close(theirs[name], value, rtol=1e-5, atol=1e-5, msg=name)


def test_the_trained_weights_load_into_the_worked_answers(worked_answers, sample):
    ours, theirs = (everything(load_caption_transformer(parts), sample) for parts in (Parts(), worked_answers))
    largest = ours["logits"].abs().max().item()
    for name, value in ours.items():
        torch.testing.assert_close(theirs[name], value, rtol=1e-5, atol=1e-5 * largest, msg=name)
    assert scenes.words(theirs["caption"]) == scenes.words(sample.captions[0])


@pytest.mark.parametrize("name", NAMES)
def test_each_part_enters_by_argument_and_is_used(name, sample):
    class Broken(RuntimeError):
        pass

    def broken(*positional, **named):
        raise Broken

    with pytest.raises(Broken):
        everything(writer_of(Parts(**{name: broken})), sample)


def test_the_names_of_the_parameters_do_not_depend_on_the_parts(worked_answers):
    assert list(writer_of(worked_answers).state_dict()) == list(writer_of().state_dict())


def test_parts_cannot_be_changed_behind_a_model():
    with pytest.raises(FrozenInstanceError):
        Parts().layer_norm = None


@pytest.mark.parametrize("time", [1, 4, 6])
def test_a_word_has_no_influence_on_earlier_steps(time, sample):
    def moved(model):
        words = sample.captions[:, :time]
        changed = words.clone()
        changed[:, -1] = (changed[:, -1] + 1) % VOCABULARY
        return (model(sample.images, words)[0] - model(sample.images, changed)[0]).abs().amax(dim=(0, 2))  # (time,)

    sound = moved(writer_of())
    assert (sound[:-1] == 0).all() and sound[-1] > 1e-3

    def unmasked(query, key, value, mask):
        return scaled_dot_product_attention(query, key, value)

    if time > 1:
        assert (moved(writer_of(Parts(scaled_dot_product_attention=unmasked))) > 1e-4).all()


def test_heads_are_split_and_not_only_counted(sample):
    with torch.no_grad():
        several, one = (writer_of(heads=heads)(sample.images, sample.captions[:, :-1])[0] for heads in (4, 1))
    assert (several - one).abs().max() > 1e-3


@pytest.mark.parametrize("cached", [False, True])
def test_writing_word_by_word_gets_the_scores_of_the_whole(cached, sample):
    model, words = writer_of(), sample.captions[:, :-1]
    with torch.no_grad():
        logits, _ = model(sample.images, words)
    next_token_logits = model.next_token_scorer(sample.images, cached)
    for time in range(1, words.shape[1] + 1):
        torch.testing.assert_close(next_token_logits(words[:, :time]), logits[:, time - 1], rtol=1e-4, atol=1e-5)


def test_kept_keys_spare_the_part_that_makes_them(sample):
    asked = []

    class Counting(CrossAttention):
        def forward(self, vectors, memory, present):
            asked.append(1)
            return super().forward(vectors, memory, present)

    model = writer_of(Parts(CrossAttention=Counting))
    for cached, calls in ((True, 0), (False, 2)):
        asked.clear()
        model.next_token_scorer(sample.images, cached)(sample.captions[:, :3])
        assert len(asked) == calls


@pytest.mark.parametrize("cached", [False, True])
def test_one_picture_serves_any_number_of_rows(cached, sample):
    model, words = writer_of(), sample.captions[:, :3]
    shared = model.next_token_scorer(sample.images[:1], cached)(words)
    repeated = model.next_token_scorer(sample.images[:1].expand(6, -1, -1, -1), cached)(words)
    torch.testing.assert_close(shared, repeated)


@torch.no_grad()
def test_what_is_not_present_has_no_influence(sample):
    model, words = writer_of(), sample.captions[:, :-1]
    present = (torch.arange(64) % 8 < 7).expand(6, -1)
    changed = sample.images.clone()
    changed[..., -4:] += 1
    logits, weights = model(sample.images, words, present)
    assert torch.equal(model(changed, words, present)[0], logits)
    assert (weights[..., ~present[0]] == 0).all()
    assert (model(changed, words)[0] - model(sample.images, words)[0]).abs().max() > 1e-3


@torch.no_grad()
def test_weights_are_shares_and_come_from_all_blocks(sample):
    model, words = writer_of(layers=3), sample.captions[:, :-1]
    seen = []
    for block in model.blocks:
        block.register_forward_hook(lambda module, inputs, output: seen.append(output[1]))
    weights = model(sample.images, words)[1]
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(6, 6))
    torch.testing.assert_close(weights, torch.stack(seen).mean(dim=0))


@torch.no_grad()
def test_the_loss_counts_the_end_and_no_padding(sample):
    model, targets = writer_of(), sample.captions[:, 1:]
    logits, _ = model(sample.images, sample.captions[:, :-1])
    every = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
    torch.testing.assert_close(model.loss(sample.images, targets, scenes.START, scenes.START), every)
    longer = torch.nn.functional.pad(targets, (0, 3), value=scenes.START)
    torch.testing.assert_close(model.loss(sample.images, longer, scenes.START, scenes.START), every)


def test_the_adapter_of_layer_norm_is_the_layer():
    layer = LayerNorm(5, epsilon=0.1)
    torch.nn.init.normal_(layer.gain), torch.nn.init.normal_(layer.bias)
    inputs = torch.randn(2, 3, 5)
    torch.testing.assert_close(layer_norm(inputs, layer.gain, layer.bias, 0.1), layer(inputs))


def test_a_norm_of_the_model_is_the_layer_of_the_library():
    layer, norm = LayerNorm(64), writer_of().norm
    layer.load_state_dict(norm.state_dict())
    inputs = 0.01 * torch.randn(2, 3, 64)  # so small that epsilon counts
    torch.testing.assert_close(norm(inputs), layer(inputs))


def test_the_adapter_of_beam_search_fills_up_with_the_end():
    def ends_at_once(words):
        return torch.tensor([[0.1, 0.2, 0.7]]).log().expand(len(words), -1)

    words, total = beam_search(ends_at_once, torch.tensor([0]), end=2, width=2, max_length=4)
    assert words.tolist() == [2, 2, 2, 2]
    torch.testing.assert_close(total, torch.tensor(0.7).log())


def test_the_adapter_of_shift_right_looks_at_targets_alone():
    words, counts = shift_right(torch.tensor([[4, 5, 1, 0]]), start=0, padding=0)
    assert words.tolist() == [[0, 4, 5, 1]] and counts.tolist() == [[True, True, True, False]]


@torch.no_grad()
def test_the_adapter_of_beam_search_is_greedy_at_width_one(sample):
    next_token_logits = writer_of().next_token_scorer(sample.images[:1])

    def next_log_probabilities(words):
        return next_token_logits(words).log_softmax(dim=-1)

    words, total = beam_search(next_log_probabilities, torch.tensor([scenes.START]), scenes.END, width=1, max_length=6)
    greedy = decoding.greedy_decode(next_token_logits, torch.tensor([[scenes.START]]), scenes.END, 6)[0, 1:]
    assert words.tolist() == greedy.tolist() + [scenes.END] * (6 - len(greedy))
    told, paid = [scenes.START], 0.0
    for word in greedy.tolist():
        paid += next_log_probabilities(torch.tensor([told]))[0, word]
        told.append(word)
    torch.testing.assert_close(total, paid, rtol=1e-4, atol=1e-4)


def test_another_split_is_another_model(sample):
    def by_shape(vectors, heads):
        return vectors.reshape(split_heads(vectors, heads).shape)

    model, broken = writer_of(), writer_of(replace(Parts(), split_heads=by_shape))
    gap = model(sample.images, sample.captions[:, :-1])[0] - broken(sample.images, sample.captions[:, :-1])[0]
    assert gap.abs().max() > 0.01


@pytest.mark.parametrize(
    ("images", "words", "culprit"), [((2, 3, 32), (2, 6), "`images`"), ((2, 3, 32, 32), (3, 6), "`words`")]
)
def test_wrong_shapes_are_named(images, words, culprit):
    with pytest.raises(ValueError, match=culprit):
        writer_of()(torch.zeros(images), torch.zeros(words, dtype=torch.long))
