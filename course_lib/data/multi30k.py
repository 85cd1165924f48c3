"""Multi30k: captions of photographs in English, and in German as translators put them.

29,000 pairs to train with, 1,014 to choose by (val) and the 1,000 of the test of 2016, as published by Elliott, Frank,
Sima'an and Specia (2016) at github.com/multi30k/dataset, untouched: not lower-cased and not tokenized.
"""

from course_lib.data.downloads import Source, fetch_gzip
from course_lib.data.text_files import Pairs, decode_text
from course_lib.project import CourseError

SOURCE = Source(
    "multi30k",
    "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw/",
    {
        "train.en.gz": "sha256:d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
        "train.de.gz": "sha256:726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
        "val.en.gz": "sha256:14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
        "val.de.gz": "sha256:f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
        "test_2016_flickr.en.gz": "sha256:611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
        "test_2016_flickr.de.gz": "sha256:9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    },
)
SPLITS = {"train": "train", "val": "val", "test": "test_2016_flickr"}


def load(split: str, source: Source = SOURCE) -> Pairs:
    """Return the pairs (English, German) of "train", "val" or "test" in the order of the files, downloaded if need be.

    Spaces at either end of a caption are dropped. A pair of which one side is empty is left out and counted in
    `left_out`, since nothing can be learned from it. Raises CourseError that names the file, and the line if there is
    one, for what is not UTF-8, for files of unequal length, and as `downloads.fetch` does; ValueError for a split.
    """
    if split not in SPLITS:
        raise ValueError(f"`split` is {split!r}, expected one of {', '.join(SPLITS)}")
    english, german = (_lines(source, f"{SPLITS[split]}.{language}.gz") for language in ("en", "de"))
    if len(english) != len(german):
        raise CourseError(
            f"{source.name}/{SPLITS[split]}.en.gz has {len(english):,} lines and {SPLITS[split]}.de.gz has "
            f"{len(german):,}: expected as many of the one as of the other"
        )
    pairs = tuple(pair for pair in zip(english, german, strict=True) if all(pair))
    return Pairs(pairs, left_out=len(english) - len(pairs))


def _lines(source: Source, name: str) -> list[str]:
    # Not splitlines, which also divides at characters that are part of a caption.
    text = decode_text(fetch_gzip(*source.file(name)), f"{source.name}/{name}")
    return [line.strip() for line in text.removesuffix("\n").split("\n")]
