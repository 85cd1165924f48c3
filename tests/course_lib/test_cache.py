"""A cache is a memory of a function: it may save time and must not change an answer."""

import pytest
import torch

from course_lib.attention import scaled_dot_product_attention
from course_lib.blocks import TransformerBlock
from course_lib.cache import BlockCache, CachedDecoder, KeyValueCache
from course_lib.decoding import beam_search, generate, greedy_decode
from course_lib.masks import causal_mask
from course_lib.models.encoder_decoder import EncoderDecoder
from course_lib.models.language_model import LanguageModel, learned_positions

END = 2
POSITIONS = {
    "rotary": {},
    "explicit": {"attend": lambda *arguments: scaled_dot_product_attention(*arguments)},  # which no kernel is known for
    "learned": {"make_positions": learned_positions, "rotate": None},
}


def shaken(model):
    """Give every parameter random entries, so that the model speaks up and its positions differ."""
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.4 * torch.randn_like(parameter))
    return model.eval()


def language_model(positions="rotary", max_length=40):
    return shaken(LanguageModel(11, max_length, d_model=16, heads=2, **POSITIONS[positions]))


def encoder_decoder():
    return shaken(EncoderDecoder(vocab_size=11, d_model=16, heads=2, d_hidden=24))


def close(one, other):
    torch.testing.assert_close(one, other, atol=1e-5, rtol=0)


# ---------------------------------------------------------------- the capacity


def test_what_goes_in_comes_out_in_order_and_room_is_made_as_needed():
    cache, key, value = KeyValueCache(capacity=2), torch.randn(2, 3, 9, 4), torch.randn(2, 3, 9, 4)
    ends = (0, 2, 3, 8, 9)
    capacities = []
    for start, end in zip(ends, ends[1:], strict=False):
        contents = cache.append(key[:, :, start:end], value[:, :, start:end])
        assert torch.equal(contents[0], key[:, :, :end]) and torch.equal(contents[1], value[:, :, :end])
        capacities.append(cache.capacity)
    assert capacities == [2, 4, 8, 16] and cache.length == 9 and cache.numel == 2 * 2 * 3 * 16 * 4


def test_room_is_made_once_and_not_at_every_step():
    cache = KeyValueCache(capacity=16)
    places = {cache.append(torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 1, 2))[0].data_ptr() for _ in range(16)}
    assert len(places) == 1


def test_the_cache_is_no_alias_of_what_was_given():
    cache, key = KeyValueCache(), torch.zeros(1, 1, 2, 3)
    cache.append(key, key)
    key += 1
    assert not cache.contents[0].any()


def test_selected_rows_go_on_each_for_itself():
    cache, key = KeyValueCache(), torch.randn(3, 1, 2, 4)
    cache.append(key, -key)
    cache.select(torch.tensor([2, 0, 0]))
    assert torch.equal(cache.contents[0], key[[2, 0, 0]]) and torch.equal(cache.contents[1], -key[[2, 0, 0]])
    cache.append(torch.ones(3, 1, 1, 4), torch.arange(12.0).view(3, 1, 1, 4))
    assert cache.contents[1][1, 0, 2].tolist() == [4, 5, 6, 7] and cache.contents[1][2, 0, 2].tolist() == [8, 9, 10, 11]


@pytest.mark.parametrize("length", [0, 2, 5])
def test_what_is_forgotten_is_written_again_in_the_same_place(length):
    cache, key, new = KeyValueCache(capacity=8), torch.randn(2, 3, 5, 4), torch.randn(2, 3, 2, 4)
    cache.append(key, -key)
    cache.truncate(length)
    assert cache.length == length and torch.equal(cache.contents[0], key[:, :, :length])
    found, value = cache.append(new, -new)
    assert torch.equal(found, torch.cat([key[:, :, :length], new], dim=2)) and torch.equal(value, -found)
    assert cache.capacity == 8
    for wrong in (-1, length + 3):
        with pytest.raises(ValueError, match=f"`length` is {wrong}, expected 0 to {length + 2}"):
            cache.truncate(wrong)


def test_wrong_shapes_are_named():
    cache = KeyValueCache()
    cache.append(torch.zeros(2, 3, 4, 5), torch.zeros(2, 3, 4, 5))
    with pytest.raises(ValueError, match=r"`key` .* \(1, 3, 1, 5\), expected \(batch=2, heads=3, new, d_head=5\)"):
        cache.append(torch.zeros(1, 3, 1, 5), torch.zeros(1, 3, 1, 5))
    with pytest.raises(ValueError, match="`value` has shape"):
        cache.append(torch.zeros(2, 3, 1, 5), torch.zeros(2, 3, 2, 5))
    with pytest.raises(ValueError, match="`capacity` is 0"):
        KeyValueCache(capacity=0)


# ---------------------------------------------------------------- a block


def test_a_block_reads_a_memory_once():
    torch.manual_seed(0)
    block = TransformerBlock(8, 2, 16, d_memory=6).eval()
    inputs, memory, cache = torch.randn(2, 5, 8), torch.randn(2, 7, 6), BlockCache()
    computed = []
    block.cross_attention.to_key.register_forward_hook(lambda module, inputs, output: computed.append(inputs[0].shape))
    whole = block(inputs, memory, causal_mask(5))
    computed.clear()
    parts = [
        block(inputs[:, start:end], memory, causal_mask(end - start, end), None, cache)
        for start, end in ((0, 3), (3, 4), (4, 5))
    ]
    close(torch.cat(parts, dim=1), whole)
    assert computed == [(2, 7, 6)] and cache.length == 5 and cache.memory.length == 7
    cache.truncate(3)  # own tokens alone: the memory is read in whole again
    close(block(inputs[:, 3:], memory, causal_mask(2, 5), None, cache), whole[:, 3:])
    assert computed == [(2, 7, 6)] and cache.memory.length == 7


# ---------------------------------------------------------------- whole models


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("prompt", [1, 5])
def test_a_language_model_scores_alike_with_and_without(positions, prompt):
    model, tokens = language_model(positions), torch.randint(11, (3, 20))
    writer = model.next_token_scorer()
    for time in range(prompt, 21):
        close(writer(tokens[:, :time]), model.next_token_logits(tokens[:, :time]))


@pytest.mark.parametrize("positions", POSITIONS)
def test_texts_of_unequal_length_do_not_disturb_each_other(positions):
    model = language_model(positions)
    texts = [torch.randint(11, (1, length)) for length in (9, 4, 1)]
    starts = torch.tensor([0, 5, 8])
    rows = [torch.cat([torch.randint(11, (1, 9 - text.shape[1])), text], dim=1) for text in texts]
    writer, tokens = model.next_token_scorer(starts), torch.cat(rows)
    for _ in range(6):
        logits = writer(tokens)
        close(logits, model.next_token_logits(tokens, starts))
        for row, text in enumerate(texts):
            close(logits[row : row + 1], model.next_token_logits(text))
        new = logits.argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
        texts = [torch.cat([text, new[row : row + 1]], dim=1) for row, text in enumerate(texts)]


def test_a_text_may_outgrow_the_longest_that_is_read():
    model, tokens = language_model(max_length=8), torch.randint(11, (2, 20))
    starts = torch.tensor([0, 3])
    writer, padded = model.next_token_scorer(), model.next_token_scorer(starts)
    for time in range(4, 21):
        close(writer(tokens[:, :time]), model(tokens[:, max(0, time - 8) : time])[:, -1])
        close(padded(tokens[:, :time])[1:], model(tokens[1:, max(3, time - 8) : time])[:, -1])


@pytest.mark.parametrize("sources", [1, 4])
def test_an_encoder_decoder_scores_alike_with_and_without(sources):
    model, words = encoder_decoder(), torch.randint(1, 11, (4, 9))
    source = torch.randint(1, 11, (sources, 6))
    source[-1, 4:] = 0
    cached, anew = model.next_token_scorer(source), model.next_token_scorer(source, cached=False)
    for time in range(1, 10):
        close(cached(words[:, :time]), anew(words[:, :time]))
        close(anew(words[:, :time]), model(source.expand(4, -1), words[:, :time])[:, -1])


def test_rows_may_change_places_as_in_a_beam():
    model, source = encoder_decoder(), torch.randint(1, 11, (3, 6))
    source[1, 3:] = 0
    cached = model.next_token_scorer(source)
    words = torch.randint(1, 11, (3, 3))
    cached(words)
    order = torch.tensor([2, 0, 0, 1])
    words = torch.cat([words[order], torch.tensor([[1], [2], [3], [4]])], dim=1)
    close(cached(words), model(source[order], words)[:, -1])


def test_rows_that_change_places_keep_their_beginning():
    model, starts = language_model("learned"), torch.tensor([0, 3])
    tokens = torch.randint(11, (2, 6))
    writer = model.next_token_scorer(starts)
    writer(tokens)
    order = torch.tensor([1, 1, 0])
    tokens = torch.cat([tokens[order], torch.tensor([[1], [2], [3]])], dim=1)
    close(writer(tokens), model.next_token_logits(tokens, starts[order]))


def test_nothing_is_kept_for_gradients():
    model, source = encoder_decoder(), torch.randint(1, 11, (1, 6))
    assert not model.next_token_scorer(source)(torch.ones(1, 2, dtype=torch.long)).requires_grad
    assert not language_model().next_token_scorer()(torch.ones(1, 2, dtype=torch.long)).requires_grad


def test_the_same_sequences_are_written_and_found():
    model, source = encoder_decoder(), torch.randint(1, 11, (3, 6))
    prompt = torch.ones(3, 1, dtype=torch.long)
    one = greedy_decode(model.next_token_scorer(source), prompt, END, 12)
    assert torch.equal(one, greedy_decode(model.next_token_scorer(source, cached=False), prompt, END, 12))
    for width in (1, 3):
        found = beam_search(model.next_token_scorer(source[:1]), prompt[:1], END, width, 8)
        anew = beam_search(model.next_token_scorer(source[:1], cached=False), prompt[:1], END, width, 8)
        assert [each.tokens for each in found] == [each.tokens for each in anew]
    model, prompt = language_model(), torch.randint(11, (2, 5))
    texts = [
        generate(logits, prompt, 30, torch.Generator().manual_seed(3))
        for logits in (model.next_token_scorer(), model.next_token_logits)
    ]
    assert torch.equal(*texts)


def test_only_what_is_new_is_read():
    model = language_model()
    seen = read_by(model)
    generate(model.next_token_scorer(), torch.randint(11, (2, 5)), 4, torch.Generator().manual_seed(0))
    assert seen == [(2, 5), (2, 1), (2, 1), (2, 1)]


def read_by(model):
    """The number of rows and of positions of each reading of a model, as they come."""
    seen = []
    model.embed.register_forward_hook(lambda module, inputs, output: seen.append(tuple(inputs[0].shape)))
    return seen


@pytest.mark.parametrize("positions", POSITIONS)
def test_the_last_positions_are_scored_alike_wherever_a_text_is_written_anew(positions):
    model, anew = language_model(positions).double(), language_model(positions).double()
    last_logits, seen = model.last_logits_scorer(), read_by(model)
    texts = [
        ([[1, 2, 3, 4], [5, 6, 7, 8]], 2, (2, 4)),
        ([[1, 2, 3, 4, 9], [5, 6, 7, 8, 9]], 1, (2, 1)),
        ([[1, 2, 3, 4, 9], [5, 6, 7, 8, 9]], 1, (2, 1)),  # the same text: its last position is asked for
        ([[1, 2, 3, 4, 9], [5, 6, 7, 8, 9]], 5, (2, 5)),
        ([[1, 2, 3, 4, 9, 1, 2], [5, 6, 7, 0, 9, 1, 2]], 2, (2, 4)),  # from where one row is another
        ([[1, 2, 3], [5, 6, 7]], 1, (2, 1)),
        ([[1, 2, 3], [5, 6, 7]], 3, (2, 3)),
        ([[9, 2, 3, 4], [5, 6, 7, 8]], 1, (2, 4)),
        ([[5, 6, 7, 8], [9, 2, 3, 4]], 1, (2, 4)),  # rows stay in their places
        ([[5, 6, 7, 8, 1], [9, 2, 3, 4, 1], [9, 2, 3, 4, 2]], 3, (3, 5)),  # another number of rows
    ]
    for rows, last, read in texts:
        tokens = torch.tensor(rows)
        torch.testing.assert_close(last_logits(tokens, last), anew(tokens)[:, -last:], atol=1e-12, rtol=0)
        assert seen.pop() == read and not seen


def test_the_last_positions_of_a_text_that_has_outgrown_the_model_have_each_a_window_of_their_own():
    model, tokens = language_model(max_length=8), torch.randint(11, (2, 20))
    last_logits = model.last_logits_scorer()
    for time in (5, 8, 9, 12, 7, 20):
        expected = [model.next_token_logits(tokens[:, :end]) for end in range(time - 2, time + 1)]
        close(last_logits(tokens[:, :time], 3), torch.stack(expected, dim=1))


def test_the_last_positions_are_some_of_the_text():
    last_logits = language_model().last_logits_scorer()
    for last in (0, 4):
        with pytest.raises(ValueError, match=f"`last` is {last}, expected 1 to 3"):
            last_logits(torch.tensor([[1, 2, 3]]), last)
    with pytest.raises(ValueError, match=r"`tokens` has shape \(3,\), expected \(batch, time\)"):
        last_logits(torch.tensor([1, 2, 3]), 1)
    assert not last_logits(torch.tensor([[1, 2, 3]]), 1).requires_grad


def test_another_text_is_read_from_its_beginning():
    model = language_model()
    writer = model.next_token_scorer()
    for rows in ([[1, 2, 3]], [[1, 2, 3]], [[1, 2, 4, 5]], [[1, 2]], [[3, 2, 1], [4, 5, 6]]):
        tokens = torch.tensor(rows)
        close(writer(tokens), model.next_token_logits(tokens))


def test_a_decoder_may_step_back_over_all_that_it_has_read():
    read = []
    cached = CachedDecoder(lambda tokens, *_: read.append(tokens.tolist()) or torch.zeros(1, 5), layers=1)
    for last in (1, 3, 7):  # as much as the text, or more
        cached.step_back(torch.tensor([[1, 2, 3]]), last)
        cached(torch.tensor([[1, 2, 3]]))
    assert read == [[[1, 2, 3]]] * 3


def test_a_cached_function_takes_tokens_only():
    cached = CachedDecoder(lambda *_: None, layers=1)
    for take in (cached, cached.step_back):
        with pytest.raises(ValueError, match=r"`tokens` has shape \(3,\), expected \(batch, time\)"):
            take(torch.zeros(3))


def test_without_a_causal_mask_a_cache_would_lie():
    """The reason for all this: where the past may read the future, what was kept is wrong."""
    torch.manual_seed(0)
    block = TransformerBlock(8, 2, 16).eval()
    inputs, caches = torch.randn(1, 4, 8), (BlockCache(), BlockCache())
    vectors = inputs
    for cache in caches:
        vectors = torch.cat([block(vectors[:, t : t + 1], cache=cache) for t in range(4)], dim=1)
    assert (vectors[:, -1] - block(block(inputs))[:, -1]).abs().max() > 1e-3
    close(vectors, block(block(inputs, mask=causal_mask(4)), mask=causal_mask(4)))
