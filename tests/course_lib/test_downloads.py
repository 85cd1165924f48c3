import errno
import os
import random
import tarfile
from contextlib import contextmanager

import pytest

from course_lib.data import downloads
from course_lib.data.downloads import fetch, fetch_archive, fetch_gzip
from course_lib.project import CourseError
from tests.course_lib import serving
from tests.course_lib.serving import checksum, closed_port, gz_of, kept, says, tar_of, zip_of

cache, server = serving.cache, serving.server

CONTENT = random.Random(0).randbytes(100_000)
FILES = {"set/one.txt": b"one\n", "set/deep/two.txt": CONTENT[:20_000]}


@contextmanager
def room_for(size):
    """Let no file grow beyond so many bytes, as on a disk that is full."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("kind", ["md5", "sha256"])
def test_a_file_is_downloaded_once(server, cache, kind):
    server.files["it"] = CONTENT
    for _ in range(3):
        path = fetch("set/it", server.url + "it", checksum(CONTENT, kind))
    assert path == cache / "set" / "it" and path.read_bytes() == CONTENT
    assert server.seen == ["it"] and kept(cache) == {"set/it"}


def test_another_folder_than_the_cache(server, cache, tmp_path):
    server.files["it"] = CONTENT
    assert fetch("it", server.url + "it", checksum(CONTENT), tmp_path / "here").parent == tmp_path / "here"
    assert not cache.exists()


@pytest.mark.parametrize("kind", ["md5", "sha256"])
def test_another_file_than_expected_is_refused_and_not_kept(server, cache, kind):
    server.files["it"] = CONTENT + b"!"
    with pytest.raises(CourseError) as error:
        fetch("set/it", server.url + "it", checksum(CONTENT, kind))
    says(error, "set/it", server.url, checksum(CONTENT, kind), "was not kept", "run this again")
    assert not kept(cache) - {"set"}
    server.files["it"] = CONTENT
    assert fetch("set/it", server.url + "it", checksum(CONTENT, kind)).read_bytes() == CONTENT


@pytest.mark.parametrize("cut", [0, 1, 70_000, len(CONTENT) - 1])
def test_a_download_that_breaks_off_is_not_kept(server, cache, cut):
    server.files["it"], server.cut["it"] = CONTENT, cut
    with pytest.raises(CourseError) as error:
        fetch("set/it", server.url + "it", checksum(CONTENT))
    says(error, "set/it", "broke off", "run this again")
    assert not kept(cache) - {"set"}
    server.cut.clear()
    assert fetch("set/it", server.url + "it", checksum(CONTENT)).read_bytes() == CONTENT


def test_what_the_server_answers_is_named(server, cache):
    with pytest.raises(CourseError) as error:
        fetch("set/it", server.url + "it", checksum(CONTENT))
    says(error, "404 (Not Found)", server.url + "it")
    assert not kept(cache) - {"set"}


def test_no_network(server, cache):
    address = closed_port()
    with pytest.raises(CourseError) as error:
        fetch("set/it", address + "it", checksum(CONTENT))
    says(error, f"no answer from {address.split('/')[2]}", "check the network", str(cache / "set" / "it"))
    # As the sentence says: the file may come in another way.
    (cache / "set" / "it").write_bytes(CONTENT)
    assert fetch("set/it", address + "it", checksum(CONTENT)).read_bytes() == CONTENT


def test_a_damaged_file_in_the_cache_is_downloaded_again(server, cache):
    server.files["it"] = CONTENT
    (cache / "set").mkdir(parents=True)
    (cache / "set" / "it").write_bytes(CONTENT[:500])
    assert fetch("set/it", server.url + "it", checksum(CONTENT)).read_bytes() == CONTENT


def test_a_cache_that_cannot_be_written(server, cache):
    cache.write_text("a file where a folder should be")
    with pytest.raises(CourseError) as error:
        fetch("set/it", server.url + "it", checksum(CONTENT))
    says(error, str(cache), "cannot be written", "COURSE_DATA")


def test_a_cache_that_may_not_be_written(server, cache, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "makedirs", refuse)  # the tests may run as root, who may write everywhere
    with pytest.raises(CourseError) as error:
        fetch("set/it", server.url + "it", checksum(CONTENT))
    says(error, f"the cache {cache / 'set'} cannot be written (Permission denied): make room")


def test_a_full_disk(server, cache):
    server.files["it"] = CONTENT
    with room_for(50_000), pytest.raises(CourseError) as error:
        fetch("set/it", server.url + "it", checksum(CONTENT))
    says(error, str(cache), "cannot be written", "make room", "COURSE_DATA")
    assert not kept(cache) - {"set"}
    assert fetch("set/it", server.url + "it", checksum(CONTENT)).read_bytes() == CONTENT


def test_the_cache_is_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    assert downloads.cache_folder() == tmp_path
    monkeypatch.setenv("COURSE_DATA", "")
    assert "attention-course" in downloads.cache_folder().parts


@pytest.mark.parametrize("wrong", ["0123", "crc32:0123"])
def test_a_checksum_says_its_kind(cache, wrong):
    with pytest.raises(ValueError, match="`checksum`"):
        fetch("it", closed_port(), wrong)


def test_gzip(server, cache):
    content = gz_of(CONTENT)
    server.files["it.gz"] = content
    assert fetch_gzip("it.gz", server.url + "it.gz", checksum(content)) == CONTENT
    assert fetch_gzip("it.gz", server.url + "it.gz", checksum(content)) == CONTENT and server.seen == ["it.gz"]


@pytest.mark.parametrize(
    "damaged", [gz_of(CONTENT)[:-9], gz_of(CONTENT)[:5000], b"no gzip", gz_of("a" * 99)[:-4] + b"!!!!"]
)
def test_a_damaged_gzip_is_refused_and_removed(server, cache, damaged):
    server.files["it.gz"] = damaged
    with pytest.raises(CourseError) as error:
        fetch_gzip("it.gz", server.url + "it.gz", checksum(damaged))
    says(error, str(cache / "it.gz"), "cut off or damaged", "removed")
    assert not kept(cache)


def test_a_gzip_bomb(server, cache, monkeypatch):
    monkeypatch.setattr(downloads, "LARGEST", 10_000)
    for size, fits in ((10_000, True), (10_001, False)):
        bomb = gz_of(b"0" * size)
        server.files["it.gz"] = bomb
        if fits:
            assert len(fetch_gzip("it.gz", server.url + "it.gz", checksum(bomb))) == size
        else:
            with pytest.raises(CourseError, match="more than 10,000 bytes"):
                fetch_gzip("it.gz", server.url + "it.gz", checksum(bomb))
            assert not kept(cache)


def unpacked(server, name, content, **options):
    server.files[name] = content
    return fetch_archive(f"set/{name}", server.url + name, checksum(content), **options)


ARCHIVES = {
    "it.tar": tar_of(FILES, ""),
    "it.tar.gz": tar_of(FILES, "gz"),
    "it.tar.bz2": tar_of(FILES, "bz2"),
    "it.tar.xz": tar_of(FILES, "xz"),
    "it.zip": zip_of(FILES),
    "from_windows.zip": zip_of(FILES, mode=0),
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_is_unpacked_once(server, cache, name):
    folder = unpacked(server, name, ARCHIVES[name])
    assert {file: (folder / file).read_bytes() for file in kept(folder)} == FILES
    (cache / "set" / name).unlink()  # what is unpacked is enough
    assert unpacked(server, name, ARCHIVES[name]) == folder and server.seen == [name]


def test_folders_links_within_and_odd_beginnings(server, cache):
    content = tar_of({"./set/one.txt": b"one\n", "other/two.txt": b"two\n"}, set={"type": tarfile.DIRTYPE})
    assert kept(unpacked(server, "it.tar.gz", content)) == {"set/one.txt", "other/two.txt"}
    assert kept(unpacked(server, "it.tar.gz", content, within=("set/",))) == {"set/one.txt"}


def test_another_version_of_an_archive_is_unpacked_anew(server, cache):
    first = unpacked(server, "it.zip", zip_of({"a": b"1"}))
    second = unpacked(server, "it.zip", zip_of({"a": b"2"}))
    assert (first / "a").read_bytes() == b"1" and (second / "a").read_bytes() == b"2"


OUTSIDE = ["../out", "set/../../out", "/tmp/out", "..\\out", "C:\\out", "C:out", "\\\\host\\share\\out", "o\tut"]
HOSTILE = (
    [(f"{name!r} in a tar", "it.tar.gz", tar_of(FILES | {name: b"!"}), "would leave") for name in OUTSIDE]
    + [(f"{name!r} in a zip", "it.zip", zip_of(FILES | {name: b"!"}), "would leave") for name in OUTSIDE]
    + [
        (f"{kind} in a tar", "it.tar.gz", tar_of(FILES, out={"type": kind, "linkname": target}), "a link or a device")
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE)
        for target in ("../../out", "set/one.txt")
    ]
    + [("a link in a zip", "it.zip", zip_of({"out": b"../../out"}, mode=0o120777), "a link or a device")]
)


@pytest.mark.parametrize(("name", "content", "why"), [case[1:] for case in HOSTILE], ids=[case[0] for case in HOSTILE])
def test_a_member_that_would_write_elsewhere(server, cache, tmp_path, name, content, why):
    with pytest.raises(CourseError) as error:
        unpacked(server, name, content, within=("set/",))  # unwanted members count too
    says(error, f"set/{name}", why, "removed")
    assert not list(tmp_path.rglob("*out*")) and not kept(cache) - {"set"}
    assert kept(unpacked(server, name, ARCHIVES[name])) == set(FILES)


@pytest.mark.parametrize("name", ["it.tar", "it.tar.gz", "it.tar.bz2", "it.tar.xz", "it.zip"])
@pytest.mark.parametrize("share", [0, 0.1, 0.4, 0.6])
def test_an_archive_that_is_cut_off(server, cache, name, share):
    whole = ARCHIVES[name]
    with pytest.raises(CourseError) as error:
        unpacked(server, name, whole[: int(len(whole) * share)])
    says(error, f"set/{name}", "cut off or damaged", "removed")
    assert not kept(cache) - {"set"}
    assert kept(unpacked(server, name, whole)) == set(FILES)


@pytest.mark.parametrize("name", ["it.tar.gz", "it.tar.bz2", "it.tar.xz", "it.zip"])
def test_a_damaged_archive_raises_nothing_but_one_sentence(server, cache, name):
    """Whether it is the right file, the checksum has told; some formats do not look at all of their bytes."""
    draw = random.Random(0)
    refused = 0
    for _ in range(15):
        content = bytearray(ARCHIVES[name])
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        try:
            folder = unpacked(server, name, bytes(content))
        except CourseError as error:
            refused += 1
            assert "\n" not in str(error) and not (cache / "set" / name).exists()
        else:
            assert len(kept(folder)) <= len(FILES)
    assert refused and not list((cache / "set").glob(".*.part"))


@pytest.mark.parametrize(("largest", "most", "fits"), [(20_004, 2, True), (20_003, 2, False), (20_004, 1, False)])
@pytest.mark.parametrize("name", ["it.tar.gz", "it.zip"])
def test_an_archive_bomb(server, cache, monkeypatch, name, largest, most, fits):
    monkeypatch.setattr(downloads, "LARGEST", largest)
    monkeypatch.setattr(downloads, "MOST_MEMBERS", most)
    if fits:
        assert kept(unpacked(server, name, ARCHIVES[name])) == set(FILES)
    else:
        with pytest.raises(CourseError, match="unpacks to more than"):
            unpacked(server, name, ARCHIVES[name], within=("none of them",))
        assert not kept(cache) - {"set"}


@pytest.mark.parametrize("pack", [tar_of, zip_of])
def test_a_disk_that_is_full_while_unpacking(server, cache, pack):
    content = pack({"one.txt": b"one\n", "two.txt": b"two\n" * 5000})
    with room_for(10_000), pytest.raises(CourseError) as error:  # packed, it fits
        unpacked(server, "it.zip" if pack is zip_of else "it.tar.gz", content)
    says(error, str(cache), "cannot be written", "make room")
    (archive,) = kept(cache)
    assert kept(unpacked(server, archive.removeprefix("set/"), content)) == {"one.txt", "two.txt"}
    assert len(server.seen) == 1


@pytest.mark.parametrize("pack", [tar_of, zip_of])
@pytest.mark.parametrize("name", ["a" * 300, "one.txt/below_a_file"])
def test_names_that_no_disk_can_hold(server, cache, pack, name):
    with pytest.raises(CourseError, match="cut off or damaged"):
        unpacked(server, "it.zip" if pack is zip_of else "it.tar.gz", pack({"one.txt": b"one\n", name: b"!"}))
    assert not kept(cache) - {"set"}


def test_two_at_once(server, cache, monkeypatch):
    unpack = downloads._unpack

    def after_another(*arguments):
        monkeypatch.setattr(downloads, "_unpack", unpack)
        unpacked(server, "it.zip", ARCHIVES["it.zip"])
        unpack(*arguments)

    monkeypatch.setattr(downloads, "_unpack", after_another)
    assert kept(unpacked(server, "it.zip", ARCHIVES["it.zip"])) == set(FILES)
    assert not list((cache / "set").glob(".*.part"))
