import json
import os
import subprocess
import sys

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course_lib.data.vocabularies import END, KINDS, PADDING, SPECIALS, START, UNKNOWN, Vocabulary, learn_vocabulary
from course_lib.project import CourseError
from tests.course_lib.serving import says

TEXTS = ["A man with a dog, and a man.\n", "Zwei Männer  laufen.\nA dog runs.", "", "the <end> of a <pad>"] * 3
LEARNED = {kind: learn_vocabulary(kind, TEXTS, 300) for kind in KINDS}
every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
def test_the_specials_come_first(kind):
    assert (PADDING, START, END, UNKNOWN) == (0, 1, 2, 3) == tuple(SPECIALS.index(special) for special in SPECIALS)
    vocabulary = LEARNED[kind]
    ids = vocabulary.encode("a man")
    assert min(ids) > UNKNOWN and max(ids) < len(vocabulary) <= 300
    assert vocabulary.decode([START, *ids, END, PADDING, PADDING]) == "a man"
    assert vocabulary.decode([]) == "" and vocabulary.encode("") == []


@every_kind
def test_a_text_about_specials_is_but_text(kind):
    """Otherwise whoever writes "<end>" would end the sequence."""
    for special in SPECIALS[:3]:
        assert not {PADDING, START, END} & set(LEARNED[kind].encode(f"a {special}{special} dog"))


@given(st.text())
def test_byte_pairs_give_back_any_text(text):
    vocabulary = LEARNED["byte-pairs"]
    assert vocabulary.decode(vocabulary.encode(text)) == text


@given(st.text(alphabet="A man with a dog.\n"))
def test_characters_give_back_what_they_know(text):
    vocabulary = LEARNED["characters"]
    assert vocabulary.decode(vocabulary.encode(text)) == text
    assert vocabulary.encode("語") == [UNKNOWN] and vocabulary.decode([UNKNOWN]) == "<unknown>"


def test_words_stand_apart_from_punctuation():
    vocabulary = LEARNED["words"]
    assert vocabulary.decode(vocabulary.encode("A dog,\n  a Männer.")) == "A dog , a Männer ."
    assert vocabulary.encode("A cat runs")[1] == UNKNOWN


@every_kind
def test_size_is_the_most_there_are_and_the_frequent_ones_stay(kind):
    least = {"characters": 5, "words": 5, "byte-pairs": 260}[kind]
    for size in (least, least + 3):
        vocabulary = learn_vocabulary(kind, ["z"] * 20 + ["b c d e f"] * 4, size)
        assert len(vocabulary) == size
        assert UNKNOWN not in vocabulary.encode("z")
    with pytest.raises(ValueError, match=f"`size` is {least - 1}, expected at least {least}"):
        learn_vocabulary(kind, TEXTS, least - 1)


def test_more_byte_pairs_make_a_text_shorter():
    lengths = [len(learn_vocabulary("byte-pairs", TEXTS, size).encode(TEXTS[0])) for size in (260, 270, 300)]
    assert lengths[0] == len(TEXTS[0].encode()) > lengths[1] > lengths[2]


@every_kind
def test_learning_is_deterministic(kind, tmp_path):
    """Words that are equally frequent too; another process, with another order of its sets, writes the same file."""
    texts = [" ".join(f"{letter}{number}" for letter in "abcdefgh" for number in range(40))] * 2
    here, there = tmp_path / "here.json", tmp_path / "there.json"
    learn_vocabulary(kind, texts, 280).save(here)
    program = (
        "import sys, json\nfrom course_lib.data.vocabularies import learn_vocabulary\n"
        "learn_vocabulary(sys.argv[1], json.loads(sys.argv[2]), 280).save(sys.argv[3])"
    )
    arguments = [sys.executable, "-c", program, kind, json.dumps(texts), str(there)]
    subprocess.run(
        arguments, check=True, env=os.environ | {"PYTHONHASHSEED": "7", "RAYON_NUM_THREADS": "3"}, timeout=60
    )
    assert here.read_bytes() == there.read_bytes()


@every_kind
def test_what_was_saved_is_read(kind, tmp_path):
    path = tmp_path / "vocabulary.json"
    LEARNED[kind].save(path)
    assert [file.name for file in tmp_path.iterdir()] == ["vocabulary.json"]
    for read in (Vocabulary.load(path), KINDS[kind].load(str(path))):
        assert type(read) is KINDS[kind] and len(read) == len(LEARNED[kind])
        for text in ("A man, 語 <end>\n", TEXTS[1]):
            ids = LEARNED[kind].encode(text)
            assert read.encode(text) == ids and read.decode(ids) == LEARNED[kind].decode(ids)


@every_kind
def test_another_kind_is_refused(kind, tmp_path):
    path = tmp_path / "vocabulary.json"
    LEARNED[kind].save(path)
    for other in set(KINDS) - {kind}:
        with pytest.raises(CourseError) as error:
            KINDS[other].load(path)
        says(error, str(path), f"of {kind}, expected one of {other}")
        # Nor does it help to write another kind into the file.
        renamed = tmp_path / "renamed.json"
        renamed.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | {"kind": other}))
        with pytest.raises(CourseError) as error:
            Vocabulary.load(renamed)
        says(error, str(renamed), f"damaged vocabulary of {other}")


BROKEN = ["", "[]", "null", '"kind"', "{", '{"kind": "words"}', '{"kind": [], "entries": []}', "[" * 100_000]
BROKEN += ['{"kind": "runes", "entries": []}', '{"kind": "words", "entries": {}}', '{"kind": "words", "entries": null}']
BROKEN += [
    f'{{"kind": "characters", "entries": {entries}}}' for entries in ("7", '["ab"]', "[7]", '["a", "a"]', '"ab"')
]


@pytest.mark.parametrize("content", BROKEN, ids=range(len(BROKEN)))
def test_broken_files_are_refused(tmp_path, content):
    path = tmp_path / "vocabulary.json"
    path.write_text(content)
    with pytest.raises(CourseError) as error:
        Vocabulary.load(path)
    says(error, str(path), "build it again")


@every_kind
def test_files_that_are_cut_off_missing_or_not_text(kind, tmp_path):
    path = tmp_path / "vocabulary.json"
    LEARNED[kind].save(path)
    whole = path.read_bytes()
    for content in (whole[:-3], whole[: len(whole) // 2], whole.decode().encode("utf-16")):
        path.write_bytes(content)
        with pytest.raises(CourseError, match="no vocabulary"):
            Vocabulary.load(path)
    path.unlink()
    with pytest.raises(CourseError, match="cannot be read"):
        Vocabulary.load(path)
    (tmp_path / "a file").touch()
    with pytest.raises(CourseError, match="cannot be written"):
        LEARNED[kind].save(tmp_path / "a file" / "vocabulary.json")


@pytest.mark.parametrize("kind", ["words", "byte-pairs"])
def test_a_tokenizer_whose_numbers_are_others_is_refused(kind, tmp_path):
    path = tmp_path / "vocabulary.json"
    LEARNED[kind].save(path)
    content = json.loads(path.read_text(encoding="utf-8"))
    entries = content["entries"]["model"]["vocab"]
    last = max(entries, key=entries.get)
    entries[last] += 5  # leaves a number that nothing has
    path.write_text(json.dumps(content))
    with pytest.raises(CourseError, match="damaged vocabulary"):
        Vocabulary.load(path)
    entries[last] -= 5
    del content["entries"]["model"]["type"]  # which the package guesses then
    path.write_text(json.dumps(content))
    with pytest.raises(CourseError, match="damaged vocabulary"):
        Vocabulary.load(path)


@pytest.mark.parametrize("kind", ["words", "byte-pairs"])
def test_a_tokenizer_with_its_specials_in_another_order_is_refused(kind, tmp_path):
    path = tmp_path / "vocabulary.json"
    LEARNED[kind].save(path)
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole.replace("<pad>", "<p>").replace("<start>", "<pad>").replace("<p>", "<start>"), "utf-8")
    with pytest.raises(CourseError, match="damaged vocabulary"):
        Vocabulary.load(path)


@every_kind
@pytest.mark.parametrize("strange", [-1, 1000])
def test_numbers_out_of_range(kind, strange):
    with pytest.raises(ValueError, match=f"`ids` holds {strange}, expected 0 to {len(LEARNED[kind]) - 1}"):
        LEARNED[kind].decode([5, strange])


@every_kind
def test_a_tensor_is_decoded_too(kind):
    assert LEARNED[kind].decode(torch.tensor([START, *LEARNED[kind].encode("a dog"), END])) == "a dog"


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="`kind` is 'letters', expected one of characters, words, byte-pairs"):
        learn_vocabulary("letters", TEXTS, 300)
    for kind in KINDS:
        with pytest.raises(ValueError, match="`texts` is one string"):
            learn_vocabulary(kind, "one string", 300)


def test_the_package_is_imported_when_it_is_needed():
    program = (
        "import sys\nfrom course_lib.data.vocabularies import Characters\n"
        "Characters.learn(['a'], 9)\nprint('tokenizers' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout == "False\n"


def test_learning_is_silent_where_there_is_no_terminal(capfd):
    for kind in KINDS:
        learn_vocabulary(kind, TEXTS, 300)
    assert capfd.readouterr() == ("", "")
