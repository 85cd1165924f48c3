import shutil

import pytest

from course_lib.data import imdb
from course_lib.data.downloads import Source
from course_lib.project import CourseError
from tests.course_lib import serving
from tests.course_lib.serving import closed_port, kept, says, tar_of

cache, server = serving.cache, serving.server

FILES = {
    "README": b"Large Movie Review Dataset",
    "train/unsup/0_0.txt": b"without a label",
    "train/labeledBow.feat": b"9 0:9",
    "train/pos/10_9.txt": b"Ten.",
    "train/pos/2_10.txt": "Très bien.<br /><br />Really.".encode(),
    "train/neg/10_1.txt": b"Not ten.",
    "train/neg/2_3.txt": b"Bad.",
    "train/neg/11_2.txt": b"Dull <br>and<BR/> long.",
    "test/pos/0_7.txt": b"Fine.",
    "test/neg/0_4.txt": b"Poor.",
}


def serve(server, files=FILES):
    packed = tar_of({f"aclImdb/{name}": content for name, content in files.items()})
    return server.source("imdb", {imdb.ARCHIVE: packed})


def test_reviews_come_with_their_labels_in_a_fixed_order(server):
    for files in (FILES, dict(reversed(FILES.items()))):
        texts, labels = imdb.load("train", serve(server, files))
        assert texts == ["Bad.", "Très bien. Really.", "Not ten.", "Ten.", "Dull and long."]
        assert labels == [0, 1, 0, 1, 0]
    assert imdb.load("test", serve(server)) == (["Poor.", "Fine."], [0, 1])


def test_both_splits_are_downloaded_and_unpacked_once(server, cache):
    source = serve(server)
    for split in ("train", "test", "train"):
        imdb.load(split, source)
    assert server.seen == [imdb.ARCHIVE]
    (folder,) = [path for path in (cache / "imdb").iterdir() if path.is_dir()]
    labelled = {f"aclImdb/{name}" for name in FILES if "/pos/" in name or "/neg/" in name}
    assert kept(folder) == labelled


def test_the_real_source():
    assert imdb.SOURCE.file(imdb.ARCHIVE) == (
        "imdb/aclImdb_v1.tar.gz",
        "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
        "md5:7c2ac02c03563afcf9b574c7e56c153a",
    )


def test_a_review_that_is_not_utf_8_is_named(server):
    source = serve(server, FILES | {"test/pos/3_7.txt": b"good\ntr\xe8s"})
    with pytest.raises(CourseError) as error:
        imdb.load("test", source)
    says(error, "aclImdb/test/pos/3_7.txt", "line 2, byte 8 ")
    assert len(imdb.load("train", source).texts) == 5


def test_files_that_are_missing_or_not_named_as_reviews(server, cache):
    source = serve(server)
    imdb.load("train", source)
    (folder,) = [path for path in (cache / "imdb").iterdir() if path.is_dir()]
    shutil.rmtree(folder / "aclImdb" / "train" / "pos")
    with pytest.raises(CourseError) as error:
        imdb.load("train", source)
    says(error, str(folder), "aclImdb/train/pos", "delete it")
    shutil.rmtree(folder)
    assert len(imdb.load("train", source).texts) == 5 and server.seen == [imdb.ARCHIVE]
    with pytest.raises(CourseError) as error:
        imdb.load("test", serve(server, FILES | {"test/neg/notes.txt": b"?"}))
    says(error, "aclImdb/test/neg/notes.txt", "NUMBER_STARS.txt")


def test_an_archive_that_would_write_elsewhere(server, cache, tmp_path):
    with pytest.raises(CourseError) as error:
        imdb.load("train", serve(server, FILES | {"../../../out": b"!"}))
    says(error, imdb.ARCHIVE, "would leave the folder")
    assert not list(tmp_path.rglob("out")) and not kept(cache) - {"imdb"}


def test_a_download_that_breaks_off_and_no_network(server, cache):
    source = serve(server)
    server.cut[imdb.ARCHIVE] = 200
    with pytest.raises(CourseError) as error:
        imdb.load("train", source)
    says(error, imdb.ARCHIVE, "broke off")
    with pytest.raises(CourseError) as error:
        imdb.load("train", Source("imdb", closed_port(), source.checksums))
    says(error, imdb.ARCHIVE, "no answer")
    assert not kept(cache) - {"imdb"}
    server.cut.clear()
    assert len(imdb.load("train", source).texts) == 5


def test_a_split_that_is_none():
    with pytest.raises(ValueError, match="`split` is 'val', expected one of train, test"):
        imdb.load("val")
