import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.data.text_files import decode_text, read_pairs, read_text
from course_lib.project import CourseError
from tests.course_lib.serving import says

TEXT = "one\nnaïve\nthree\n"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "mine.txt"


def test_a_text_is_read_as_it_is(path):
    path.write_bytes(b"  one \n\n\ttwo")
    assert read_text(path) == read_text(str(path)) == "  one \n\n\ttwo"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
def test_all_ends_of_lines_and_a_byte_order_mark(path, end, mark):
    path.write_bytes(mark + TEXT.replace("\n", end).encode())
    assert read_text(path) == TEXT


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
def test_what_is_not_utf_8_is_named_with_its_line_and_byte(path, end, mark):
    before = mark + f"één{end}two{end}na".encode()
    path.write_bytes(before + b"\xefve" + end.encode())
    with pytest.raises(CourseError) as error:
        read_text(path)
    says(error, str(path), f"line 3, byte {len(before) + 1} ", "Latin-1", "save it as UTF-8")


def test_a_file_that_ends_inside_a_character(path):
    path.write_bytes("one\nnaï".encode()[:-1])
    with pytest.raises(CourseError) as error:
        read_text(path)
    says(error, "line 2, byte 7 ", "ends inside a character", "download it again")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"])
def test_utf_16_is_recognised_with_and_without_its_mark(path, encoding):
    path.write_bytes("The first citizen:\nspeak, speak\n".encode(encoding))
    with pytest.raises(CourseError) as error:
        read_text(path)
    says(error, str(path), encoding[:6].upper() if "-" not in encoding[6:] else "UTF-16", "save it as UTF-8")


def test_a_byte_zero_in_a_text_is_no_reason_to_refuse_it(path):
    path.write_bytes(b"a long line with one \0 in it\n")
    assert "\0" in read_text(path)


@pytest.mark.parametrize("content", [b"", codecs.BOM_UTF8, b" \r\n\n"])
def test_an_empty_file(path, content):
    path.write_bytes(content)
    for read in (read_text, read_pairs):
        with pytest.raises(CourseError) as error:
            read(path)
        says(error, f"{path} is empty")


def test_a_file_that_is_not_there_and_one_that_is_a_folder(path):
    for there in (path, path.parent):
        with pytest.raises(CourseError) as error:
            read_text(there)
        says(error, f"{there} cannot be read")


@given(st.binary())
def test_any_bytes_are_a_text_or_one_sentence(raw):
    try:
        text = decode_text(raw, "it")
    except CourseError as error:
        assert str(error).startswith("it ") and "\n" not in str(error)
    else:
        assert "\r" not in text and raw.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n") == text


def test_pairs(path):
    path.write_bytes(codecs.BOM_UTF8 + "good\tA fine  film. \r\n\r\n bad\tNo.\r\n\t \r\nhm\tÄ\u2028b\x85".encode())
    pairs = read_pairs(path)
    # The last has two characters at which `splitlines` would divide it; only one of them is in its middle.
    assert list(pairs) == [("good", "A fine  film."), ("bad", "No."), ("hm", "Ä\u2028b")]
    assert pairs.left_out == 2 and len(pairs) == 3 and pairs[1] == ("bad", "No.")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("no column", "line 3 has no tab"),
        ("one\ttwo\tthree", "line 3 has 2 tabs"),
        ("one\t\ttwo", "line 3 has 2 tabs"),
        ("\ttwo", "line 3 has nothing before its tab"),
        ("one\t ", "line 3 has nothing after its tab"),
    ],
)
def test_lines_that_are_no_pair_are_named(path, line, why):
    path.write_text(f"a\tb\n\n{line}\nc\td\n", encoding="utf-8")
    with pytest.raises(CourseError) as error:
        read_pairs(path)
    says(error, f"{path} {why}")
