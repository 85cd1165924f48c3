"""Zip files of strangers: what is in them is found, and nothing of them lands elsewhere."""

import errno
import io
import stat
import struct
import zipfile
from pathlib import Path

import pytest

from course_lib.grading import archives
from course_lib.grading.archives import Bounds, folder_of, unpack
from course_lib.grading.collect import find_submissions, opened
from course_lib.grading.grader import Settings, grade_submission
from course_lib.grading.notebook_file import LARGEST
from course_lib.grading.records import GRADED, UNGRADED, UNREADABLE
from course_lib.grading.sandbox import tiers
from course_lib.grading.sandbox.limits import Limits
from course_lib.project import CourseError

RIGHT = "def attend(weights, values):\n    return (weights[..., None] * values).sum(1)\n"
SETTINGS = Settings(1, ("02.3",), Limits(), tiers.PROCESS)


def zipped(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_what_is_read_is_written_whole_and_of_the_rest_the_names(tmp_path):
    archive = zipped(
        tmp_path / "a.zip", {"ada/02.py": RIGHT, "ada/essay.pdf": "long", "ada\\old\\03.py": "x", "bo/": ""}
    )
    unpack(archive, tmp_path / "into")
    assert below(tmp_path / "into") == ["ada", "ada/02.py", "ada/essay.pdf", "ada/old", "ada/old/03.py", "bo"]
    assert (tmp_path / "into/ada/02.py").read_text() == RIGHT
    assert (tmp_path / "into/ada/essay.pdf").read_bytes() == b""


@pytest.mark.parametrize("name", ["../02.py", "a/../../02.py", "/02.py", "..\\02.py", "C:\\02.py", "c:/02.py"])
def test_no_path_leads_out(tmp_path, name):
    with pytest.raises(CourseError, match="leads out of it"):
        unpack(zipped(tmp_path / "a.zip", {"fine.py": "", name: RIGHT}), tmp_path / "deep" / "into")
    assert below(tmp_path) == ["a.zip"]


def test_a_link_is_not_unpacked(tmp_path):
    link = zipfile.ZipInfo("02.py")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with pytest.raises(CourseError, match="'02.py' is a link"):
        unpack(zipped(tmp_path / "a.zip", {link: "/etc/passwd"}), tmp_path / "into")
    (tmp_path / "linked.zip").symlink_to(tmp_path / "a.zip")
    with pytest.raises(CourseError, match="is a link or no ordinary file"):
        unpack(tmp_path / "linked.zip", tmp_path / "into")


def test_an_archive_keeps_to_its_bounds(tmp_path):
    bomb = zipped(tmp_path / "bomb.zip", {"02.py": b" " * (200 << 20)})
    with pytest.raises(CourseError, match="would become 200 MB"):  # of one file, no more is read
        unpack(bomb, tmp_path / "into")
    many = zipped(tmp_path / "many.zip", {f"{number}.txt": "" for number in range(2_001)})
    with pytest.raises(CourseError, match="holds more than 2,000 files"):
        unpack(many, tmp_path / "into")
    large = zipped(tmp_path / "large.zip", {"02.py": RIGHT})
    with pytest.raises(CourseError, match="would become"):
        unpack(large, tmp_path / "into", Bounds(10, len(RIGHT) - 1))
    assert not (tmp_path / "into").exists()
    unpack(zipped(tmp_path / "dense.zip", {"02.py": " " * 1_000_000}), tmp_path / "into")


def test_folders_are_counted_and_not_deep(tmp_path):
    """A few entries can make very many folders, and of deep ones Python itself cannot dispose."""
    fine = "a/" * (archives.DEEPEST - 1)
    unpack(zipped(tmp_path / "fine.zip", {f"{fine}02.py": RIGHT}), tmp_path / "into")
    for name, files in {"deep": ["02.py", f"a/{fine}x"], "far": [f"a/{fine}02.py"], "empty": ["a/" * 1_600]}.items():
        with pytest.raises(CourseError, match="nested more than 32 deep"):
            unpack(zipped(tmp_path / f"{name}.zip", dict.fromkeys(files, RIGHT)), tmp_path / "other")
    wide = zipped(tmp_path / "wide.zip", {f"{number}/{fine}"[:-2]: "" for number in range(70)})
    with pytest.raises(CourseError, match="more than 2,000 files and folders"):
        unpack(wide, tmp_path / "other")
    assert not (tmp_path / "other").exists()
    unpack(wide, tmp_path / "other", Bounds(70 * (archives.DEEPEST - 1), 1))


def that_says(path, entries, told):
    """Write an archive of so many files whose end tells another number of them."""
    zipped(path, {f"{number}.txt": "" for number in range(entries)})
    content = bytearray(path.read_bytes())
    end = content.rindex(b"PK\x05\x06")
    content[end + 8 : end + 12] = struct.pack("<HH", told, told)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("told", [0, 1, 2_001])
def test_a_long_list_of_contents_is_refused_before_it_is_read(tmp_path, monkeypatch, told):
    archive = that_says(tmp_path / "list.zip", 2_001, told)
    monkeypatch.setattr(zipfile, "ZipInfo", lambda *_: pytest.fail("it is read"))
    with pytest.raises(CourseError, match="holds more than 2,000 files"):
        unpack(archive, tmp_path / "into")


def test_a_list_of_as_many_files_as_there_may_be_is_read_also_in_the_form_for_large_archives(tmp_path):
    archive = zipped(tmp_path / "large.zip", {f"{number}/": "" for number in range(70_000)})
    with pytest.raises(CourseError, match="holds more than 69,999 files"):
        unpack(archive, tmp_path / "into", Bounds(69_999, 1 << 20))
    with archives._ListBounded(io.FileIO(archive)) as file, file.opened(70_000) as opened:
        assert len(opened.infolist()) == 70_000


@pytest.mark.parametrize("before", [b"", b"# not the beginning"])
def test_what_looks_like_a_list_within_one_archive_does_not_keep_the_class_from_being_graded(tmp_path, before):
    work = before + archives.ENTRY + (bytes(42) + archives.ENTRY) * 100_001
    with zipfile.ZipFile(tmp_path / "class.zip", "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("ada/02.py", RIGHT)
        archive.writestr("mallory/work.zip", work)
    unpack(tmp_path / "class.zip", tmp_path / "into", archives.WHOLE_CLASS)
    assert (tmp_path / "into" / "ada" / "02.py").read_text() == RIGHT


def test_of_one_large_file_no_more_is_read_than_is_needed_to_refuse_it(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "RATIO", 10_000)
    unpack(zipped(tmp_path / "a.zip", {"02.py": b" " * (2 * LARGEST)}), tmp_path / "into")
    assert (tmp_path / "into" / "02.py").stat().st_size == LARGEST + 1


def encrypted(path):
    zipped(path, {"02.py": RIGHT})
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)


def damaged(path):
    zipped(path, {"02.py": RIGHT * 100})
    content = bytearray(path.read_bytes())
    content[40:60] = bytes(20)
    path.write_bytes(content)


def unusual(path):
    zipped(path, {"02.py": RIGHT})
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 10] = 98
    path.write_bytes(content)


def twice(path):
    with zipfile.ZipFile(path, "w") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("02.py", "x = 1")
        archive.writestr("02.py", RIGHT)


BROKEN = {
    "it is encrypted": encrypted,
    r"it is broken \(File is not a zip file\)": lambda path: path.touch(),
    "it is broken": damaged,
    r"is not a zip file\)": lambda path: path.write_text("no archive"),
    "compressed in an unusual way": unusual,
    "holds two files '02.py'": twice,
    "File name too long": lambda path: zipped(path, {"a" * 300 + ".py": RIGHT}),
    "cannot be unpacked: ": lambda path: zipped(path, {"a": "x", "a/02.py": RIGHT}),
}


@pytest.mark.parametrize("said", BROKEN)
def test_what_cannot_be_unpacked_is_one_sentence_and_a_verdict(tmp_path, said):
    archive = tmp_path / "work.zip"
    BROKEN[said](archive)
    with pytest.raises(CourseError, match=said) as refusal:
        unpack(archive, tmp_path / "into")
    assert "\n" not in str(refusal.value)
    record = grade_submission("ada", (str(archive),), SETTINGS)
    assert record.status == UNREADABLE and record.earned == 0 and record.reason.startswith("work.zip ")
    assert "/" not in record.reason.replace("/work.zip", "")


def test_a_full_disk_is_no_fault_of_a_student(tmp_path, monkeypatch):
    archive = zipped(tmp_path / "work.zip", {"02.py": RIGHT})

    def mkdir(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(Path, "mkdir", mkdir)
        assert grade_submission("ada", (str(archive),), SETTINGS).status == UNGRADED


def test_a_student_s_archive_is_graded_and_one_within_it_stays_closed(tmp_path):
    inner = zipped(tmp_path / "inner.zip", {"02.py": RIGHT})
    archive = zipped(
        tmp_path / "work.zip", {"work/02.ipynb.json": "{}", "work/03.py": RIGHT, "work/inner.zip": inner.read_bytes()}
    )
    assert grade_submission("ada", (str(archive),), SETTINGS).earned == 6
    nested = zipped(tmp_path / "nested.zip", {"inner.zip": inner.read_bytes(), "a.PDF": "", "b.pdf": ""})
    record = grade_submission("ada", (str(nested),), SETTINGS)
    assert record.reason.endswith("no module (.py); it holds 2 files of kind .pdf and 1 of .zip")
    with opened([str(archive), str(tmp_path / "x.py")]) as (files, faults):
        assert [path.name for path in files] == ["02.ipynb.json", "03.py", "inner.zip", "x.py"] and not faults
        place = files[0].parent
    assert not place.exists()


# ---------------------------------------------------------------- of the whole class


def test_a_zip_of_the_class_is_a_folder_while_it_is_graded(tmp_path):
    work = zipped(tmp_path / "work.zip", {"02.py": RIGHT}).read_bytes()
    files = {"ada/02.py": RIGHT, "bo/work.zip": work, "cy/essay.pdf": "x", "dee/": "", "notes.txt": "x"}
    archive, out = zipped(tmp_path / "class.zip", files), tmp_path / "grades"
    for wrapped in (archive, zipped(tmp_path / "outer.zip", {f"week 3/{name}": each for name, each in files.items()})):
        with folder_of(wrapped, out) as folder:
            collected = find_submissions(folder, out)
            assert [each.name for each in collected.found] == ["ada", "bo", "cy", "dee"]
            assert collected.left == ["notes.txt"] and folder.is_relative_to(out)
            records = [grade_submission(each.name, each.paths, SETTINGS) for each in collected.found]
        assert [record.status for record in records] == [GRADED, GRADED, UNREADABLE, UNREADABLE]
        assert [record.earned for record in records] == [6, 6, 0, 0] and not out.exists()


def test_what_one_student_nests_too_deeply_is_left_out_of_the_class(tmp_path):
    deep = "a/" * 1_600
    files = {"ada/02.py": RIGHT, "eve/02.py": RIGHT, f"eve/{deep}03.py": RIGHT, f"mallory/{deep}": "", "x" * 40: ""}
    with folder_of(zipped(tmp_path / "class.zip", files), tmp_path / "grades") as folder:
        found = find_submissions(folder, tmp_path / "grades").found
        assert {each.name: len(each.paths) for each in found} == {"ada": 1, "eve": 1, "mallory": 0}
    assert not (tmp_path / "grades").exists()


def test_a_folder_is_what_it_is_and_of_one_student_s_download_nothing_is_taken_off(tmp_path):
    with folder_of(tmp_path, tmp_path / "grades") as folder:
        assert folder == tmp_path
    name = "Ada Lovelace_1234567_assignsubmission_file_"
    with folder_of(zipped(tmp_path / "class.zip", {f"{name}/02.py": RIGHT}), tmp_path / "grades") as folder:
        (found,) = find_submissions(folder, tmp_path / "grades").found
        assert found.name == name


def test_grades_that_are_there_stay_and_what_a_killed_run_left_is_cleared_away(tmp_path):
    out = tmp_path / "grades"
    (out / ".unpacked" / "zoe").mkdir(parents=True)
    (out / "grades.csv").write_text("kept")
    with folder_of(zipped(tmp_path / "class.zip", {"ada.py": RIGHT}), out) as folder:
        assert [path.name for path in folder.iterdir()] == ["ada.py"]
    assert below(out) == ["grades.csv"]
    with pytest.raises(CourseError, match="leads out"), folder_of(zipped(tmp_path / "b.zip", {"../a": ""}), out):
        pass
    assert below(out) == ["grades.csv"]
