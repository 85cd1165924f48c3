"""Byte pairs by hand against the package `tokenizers`: what is learned, and what is encoded with it."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, trainers

from course_lib.data.byte_pairs import bits_per_byte, decode, encode, learn_merges, token_bytes
from course_lib.data.vocabularies import learn_vocabulary

TEXT = "Die Männer und die Frauen sehen den Mann, der die Frau sieht: aaaaaaa, abababa. 語語語 🙂🙂\n" * 3
MERGES = learn_merges(TEXT, 60)
repetitive = st.text(alphabet="abcü ", max_size=60)

# The package works on characters. For each byte it gets one, in the order of the bytes, so that its numbers are ours.
ALPHABET = [chr(0x4E00 + byte) for byte in range(256)]


def as_characters(piece: bytes) -> str:
    return "".join(ALPHABET[byte] for byte in piece)


def their_merges(text, merges):
    """What the package learns of the whole text as one word: pairs of the bytes of two tokens, in its order."""
    tokenizer = Tokenizer(models.BPE())
    trainer = trainers.BpeTrainer(
        vocab_size=256 + merges, min_frequency=2, initial_alphabet=ALPHABET, show_progress=False, special_tokens=[]
    )
    tokenizer.train_from_iterator([as_characters(text.encode())], trainer)
    vocabulary = tokenizer.get_vocab()
    assert [vocabulary[character] for character in ALPHABET] == list(range(256))
    pieces = sorted(vocabulary, key=vocabulary.get)
    return pieces, tokenizer


def their_tokenizer(merges):
    pieces = token_bytes(merges)
    vocabulary = {as_characters(piece): number for number, piece in enumerate(pieces)}
    return Tokenizer(models.BPE(vocabulary, [tuple(as_characters(pieces[token]) for token in pair) for pair in merges]))


THEIRS = their_tokenizer(MERGES)


@given(text=st.text() | repetitive | st.lists(st.sampled_from(TEXT.split()), max_size=8).map(" ".join))
def test_a_text_is_encoded_as_the_package_does_and_comes_back(text):
    tokens = encode(text, MERGES)
    assert tokens == THEIRS.encode(as_characters(text.encode())).ids
    assert decode(tokens, MERGES) == text


@given(text=repetitive | st.text(max_size=30), merges=st.integers(0, 30))
def test_the_package_learns_the_same_merges(text, merges):
    """Also where several pairs are as frequent, which in such short texts is the rule."""
    learned = learn_merges(text, merges)
    pieces, theirs = their_merges(text, merges)
    assert [as_characters(piece) for piece in token_bytes(learned)] == pieces
    assert encode(text, learned) == theirs.encode(as_characters(text.encode())).ids


def test_the_package_learns_the_same_merges_of_a_longer_text():
    pieces, _ = their_merges(TEXT, 60)
    assert len(MERGES) == 60 and [as_characters(piece) for piece in token_bytes(MERGES)] == pieces


def test_without_borders_of_words_it_is_the_vocabulary_of_the_course():
    """One word, so that nothing is different but the special tokens and the order of ties."""
    text = "abracadabra" * 9
    vocabulary = learn_vocabulary("byte-pairs", [text], size=260 + 5)
    merges = learn_merges(text, 5)
    assert len(encode(text, merges)) == len(vocabulary.encode(text)) < len(text)


@given(text=st.text(), more=st.integers(1, 60))
def test_a_merge_more_makes_no_text_longer(text, more):
    assert len(encode(text, MERGES[:more])) <= len(encode(text, MERGES[: more - 1])) <= len(text.encode())


@given(tokens=st.lists(st.integers(0, 255 + len(MERGES))))
def test_whatever_a_model_writes_can_be_decoded(tokens):
    text = decode(tokens, MERGES)
    whole = b"".join(token_bytes(MERGES)[token] for token in tokens)
    assert text == whole.decode(errors="replace")


def test_ties_and_runs_are_decided_as_stated():
    assert learn_merges("cbcbXabab", 1) == [(97, 98)]  # ab before cb: both twice
    assert learn_merges("adad abab", 1) == [(97, 98)]  # of those that begin with a, the smaller second
    assert learn_merges("aaa", 5) == [(97, 97)] and encode("aaaaa", [(97, 97)]) == [256, 256, 97]
    assert learn_merges("abc", 5) == learn_merges("", 5) == learn_merges("abab", 0) == []
    assert learn_merges("abab", 9) == [(97, 98)]


def test_bits_per_byte_do_not_depend_on_how_a_text_is_cut():
    nats = 36 * math.log(2)  # of the whole text, which has 12 bytes
    for tokens in (12, 6, 1):
        assert bits_per_byte(nats / tokens, tokens, 12) == pytest.approx(3.0, abs=1e-12)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: learn_merges("abab", -1), "`merges` is -1, expected 0 or more"),
        (lambda: decode([97, 257], [(97, 98)]), "`tokens` holds 257, expected 0 to 256"),
        (lambda: decode([-1], []), "`tokens` holds -1, expected 0 to 255"),
        (lambda: token_bytes([(97, 98), (257, 97)]), "`merges` makes 257 of 257 and 97, expected smaller numbers"),
        (lambda: decode([97], [(97, -1)]), "`merges` makes 256 of 97 and -1"),
        (lambda: bits_per_byte(1.0, 0, 3), "`tokens` is 0 and `text_bytes` 3"),
        (lambda: bits_per_byte(1.0, 3, 0), "expected at least 1"),
    ],
)
def test_wrong_arguments_are_named(wrong, sentence):
    with pytest.raises(ValueError) as error:
        wrong()
    assert sentence in str(error.value)
