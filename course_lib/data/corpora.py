"""Long texts for language models: tiny Shakespeare, and the first hundred million bytes of an English Wikipedia.

Tiny Shakespeare, 1.1 million characters of his plays, was put together by Karpathy (2015); enwik8 is that of Mahoney's
compression benchmark (2006), with the markup of the encyclopedia, downloaded as an archive of 36 MB.
"""

from course_lib.data.downloads import Source, fetch, fetch_archive
from course_lib.data.text_files import decode_text, read_bytes
from course_lib.project import CourseError

SOURCES = {
    "tiny-shakespeare": Source(
        "tiny-shakespeare",
        "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/",
        {"input.txt": "sha256:86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"},
    ),
    "enwik8": Source(
        "enwik8",
        "http://mattmahoney.net/dc/",
        {"enwik8.zip": "sha256:547994d9980ebed1288380d652999f38a14fe291a6247c157c3d33d4932534bc"},
    ),
}
# Where each part begins and ends, in hundredths of the file's bytes.
SPLITS = {"train": (0, 90), "val": (90, 95), "test": (95, 100)}


def load(name: str, split: str, source: Source | None = None) -> str:
    """Return the part "train", "val" or "test" of "tiny-shakespeare" or "enwik8", downloaded if need be.

    The first 90 hundredths of the bytes are for training, the next 5 to choose by and the last 5 for the test: of
    enwik8, 90, 5 and 5 million, the division of published figures (which count bits per byte, not per character). A
    character that such a boundary would cut belongs to the later part; one cut off at the end of the file is dropped.
    Raises CourseError as `downloads.fetch` does, and for what is not UTF-8; ValueError for a name or a split.
    """
    if name not in SOURCES:
        raise ValueError(f"`name` is {name!r}, expected one of {', '.join(SOURCES)}")
    if split not in SPLITS:
        raise ValueError(f"`split` is {split!r}, expected one of {', '.join(SPLITS)}")
    source = source or SOURCES[name]
    if name == "enwik8":
        path = fetch_archive(*source.file("enwik8.zip"), within=("enwik8",)) / "enwik8"
    else:
        path = fetch(*source.file("input.txt"))
    raw = read_bytes(path)
    start, end = (whole_characters(raw, len(raw) * share // 100) for share in SPLITS[split])
    if start == end:
        raise CourseError(f"{path} has only {len(raw)} bytes, too few for a part {split!r}")
    return decode_text(raw[start:end], f"{path} ({split})")


def whole_characters(raw: bytes, length: int) -> int:
    """Return `length`, or up to three bytes less, so that the first so many bytes of UTF-8 cut no character in two.

    >>> whole_characters("naïve".encode(), 3), whole_characters("naïve".encode(), 4)
    (2, 4)
    """
    for back in range(1, min(3, length) + 1):
        byte = raw[length - back]
        if byte >= 0b11000000:  # the first byte of a character, which says how many there are
            whole = 2 + (byte >= 0b11100000) + (byte >= 0b11110000)
            return length if whole <= back else length - back
        if byte < 0b10000000:
            break
    return length
