import codecs

import pytest

from course_lib.data import multi30k
from course_lib.data.downloads import Source
from course_lib.project import CourseError
from tests.course_lib import serving
from tests.course_lib.serving import closed_port, gz_of, kept, says

cache, server = serving.cache, serving.server

ENGLISH = "A man.\n  Two dogs run \nA bush.\n"
GERMAN = "Ein Mann.\nZwei Hunde laufen\nEin Busch in München.\n"
PAIRS = [("A man.", "Ein Mann."), ("Two dogs run", "Zwei Hunde laufen"), ("A bush.", "Ein Busch in München.")]


def serve(server, english=ENGLISH, german=GERMAN, split="train"):
    return server.source("multi30k", {f"{split}.en.gz": gz_of(english), f"{split}.de.gz": gz_of(german)})


@pytest.mark.parametrize(("split", "file"), [("train", "train"), ("val", "val"), ("test", "test_2016_flickr")])
def test_a_split_is_downloaded_once(server, cache, split, file):
    source = serve(server, split=file)
    for _ in range(2):
        pairs = multi30k.load(split, source)
        assert list(pairs) == PAIRS and pairs.left_out == 0
    assert server.seen == [f"{file}.en.gz", f"{file}.de.gz"]
    assert kept(cache) == {f"multi30k/{file}.en.gz", f"multi30k/{file}.de.gz"}


def test_the_real_source_has_both_sides_of_every_split():
    files = {f"{file}.{language}.gz" for file in multi30k.SPLITS.values() for language in ("en", "de")}
    assert set(multi30k.SOURCE.checksums) == files and len(set(multi30k.SOURCE.checksums.values())) == 6
    assert multi30k.SOURCE.file("val.de.gz")[1].endswith("/multi30k/dataset/master/data/task1/raw/val.de.gz")


def test_a_pair_with_an_empty_side_is_left_out_and_counted(server):
    pairs = multi30k.load("train", serve(server, "a\n\nc\nd\n \n", "A\nB\n \nD\n\n"))
    assert list(pairs) == [("a", "A"), ("d", "D")] and pairs.left_out == 3


def test_no_end_at_the_last_line_and_other_ends(server):
    german = codecs.BOM_UTF8 + GERMAN.replace("\n", "\r\n").encode()
    assert list(multi30k.load("train", serve(server, ENGLISH.removesuffix("\n"), german))) == PAIRS


def test_only_ends_of_lines_divide_captions(server):
    source = serve(server, "one\u2028two\x85three\x0cfour\nlast\n", "eins\nletzte\n")
    assert list(multi30k.load("train", source)) == [("one\u2028two\x85three\x0cfour", "eins"), ("last", "letzte")]


def test_sides_of_unequal_length(server):
    with pytest.raises(CourseError) as error:
        multi30k.load("val", serve(server, ENGLISH, GERMAN + "Noch einer.\n", split="val"))
    says(error, "multi30k/val.en.gz has 3 lines", "val.de.gz has 4")


@pytest.mark.parametrize(
    ("german", "parts"),
    [
        (GERMAN.encode("latin-1"), ["line 3", "Latin-1"]),
        (GERMAN.encode("utf-16"), ["UTF-16"]),
        (GERMAN.encode()[:-8], ["line 3", "ends inside a character"]),
    ],
)
def test_what_is_not_utf_8_is_named(server, german, parts):
    with pytest.raises(CourseError) as error:
        multi30k.load("train", serve(server, german=german))
    says(error, "multi30k/train.de.gz", *parts)


def test_a_truncated_side_leaves_the_other_whole(server, cache):
    source = serve(server)
    server.cut["train.de.gz"] = 40
    with pytest.raises(CourseError) as error:
        multi30k.load("train", source)
    says(error, "multi30k/train.de.gz", "broke off")
    assert kept(cache) == {"multi30k/train.en.gz"}
    server.cut.clear()
    assert list(multi30k.load("train", source)) == PAIRS and server.seen.count("train.en.gz") == 1


def test_no_network_and_another_file(server):
    source = serve(server)
    with pytest.raises(CourseError) as error:
        multi30k.load("train", Source("multi30k", closed_port(), source.checksums))
    says(error, "multi30k/train.en.gz", "no answer")
    server.files["train.en.gz"] = gz_of("something else\n")
    with pytest.raises(CourseError) as error:
        multi30k.load("train", source)
    says(error, "multi30k/train.en.gz", "was not kept")


def test_a_split_that_is_none():
    with pytest.raises(ValueError, match="`split` is 'valid', expected one of train, val, test"):
        multi30k.load("valid")
