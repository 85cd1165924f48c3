import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.data import corpora
from course_lib.data.downloads import Source
from course_lib.project import CourseError
from tests.course_lib import serving
from tests.course_lib.serving import closed_port, kept, says, zip_of

cache, server = serving.cache, serving.server

TEXT = "".join(chr(ord("a") + number % 26) for number in range(200))


def serve(server, name, content):
    content = content.encode() if isinstance(content, str) else content
    file = {"input.txt": content} if name == "tiny-shakespeare" else {"enwik8.zip": zip_of({"enwik8": content})}
    return server.source(name, file)


@pytest.mark.parametrize("name", corpora.SOURCES)
def test_the_parts_are_90_5_and_5_hundredths(server, name):
    source = serve(server, name, TEXT)
    assert [corpora.load(name, split, source) for split in corpora.SPLITS] == [TEXT[:180], TEXT[180:190], TEXT[190:]]
    assert len(server.seen) == 1


@pytest.mark.parametrize("length", [40, 41, 59, 60, 61])
@pytest.mark.parametrize("name", corpora.SOURCES)
def test_no_character_is_cut_lost_or_in_two_parts(server, name, length):
    text = ("aï語😀" * length)[:length]
    source = serve(server, name, text)
    assert "".join(corpora.load(name, split, source) for split in corpora.SPLITS) == text


def test_a_character_cut_off_at_the_end_of_the_file_is_dropped(server):
    source = serve(server, "enwik8", (TEXT + "語").encode()[:-1])
    assert TEXT.endswith(corpora.load("enwik8", "test", source))


@given(st.text(), st.integers(0, 200))
def test_whole_characters(text, length):
    raw = text.encode()
    length = min(length, len(raw))
    whole = corpora.whole_characters(raw, length)
    assert 0 <= length - whole <= 3
    assert raw[:whole].decode() == raw[:length].decode("utf-8", "ignore")  # as many as there are


def test_the_real_sources():
    assert corpora.SOURCES["tiny-shakespeare"].file("input.txt") == (
        "tiny-shakespeare/input.txt",
        "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
        "sha256:86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
    )
    assert corpora.SOURCES["enwik8"].file("enwik8.zip") == (
        "enwik8/enwik8.zip",
        "http://mattmahoney.net/dc/enwik8.zip",
        "sha256:547994d9980ebed1288380d652999f38a14fe291a6247c157c3d33d4932534bc",
    )


@pytest.mark.parametrize("name", corpora.SOURCES)
def test_what_is_not_utf_8_is_named(server, name):
    source = serve(server, name, b"a line\n" * 20 + b"10 \xa3 is a line\n" + b"a line\n" * 20)
    with pytest.raises(CourseError) as error:
        corpora.load(name, "train", source)
    says(error, name, "(train)", "line 21", "Latin-1")


def test_an_archive_without_its_file_and_a_text_without_parts(server):
    source = server.source("enwik8", {"enwik8.zip": zip_of({"readme": b"."})})
    with pytest.raises(CourseError) as error:
        corpora.load("enwik8", "train", source)
    says(error, "enwik8", "cannot be read")
    with pytest.raises(CourseError) as error:
        corpora.load("tiny-shakespeare", "val", serve(server, "tiny-shakespeare", "short"))
    says(error, "input.txt has only 5 bytes")


@pytest.mark.parametrize("name", corpora.SOURCES)
def test_failed_downloads_leave_nothing(server, cache, name):
    source = serve(server, name, TEXT)
    (file,) = source.checksums
    server.cut[file] = 9
    with pytest.raises(CourseError, match="broke off"):
        corpora.load(name, "train", source)
    with pytest.raises(CourseError, match="no answer"):
        corpora.load(name, "train", Source(name, closed_port(), source.checksums))
    assert not kept(cache) - {name}
    server.cut.clear()
    assert corpora.load(name, "train", source) == TEXT[:180]


@pytest.mark.parametrize(("name", "split"), [("enwik9", "train"), ("enwik8", "dev")])
def test_names_and_splits_that_are_none(name, split):
    with pytest.raises(ValueError, match="expected one of"):
        corpora.load(name, split)
