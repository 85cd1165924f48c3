import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from course_lib import files
from course_lib.checkpoints import write_checkpoint
from course_lib.files import complete_or_absent, write_atomically
from course_lib.grading.gradebook import Gradebook
from course_lib.grading.gradescope import write_archive
from course_lib.model_files import save_model


def test_whoever_reads_meanwhile_sees_the_old_file(tmp_path):
    path = tmp_path / "note.txt"
    write_atomically(path, "old")
    with complete_or_absent(path) as part:
        part.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_what_raises_leaves_the_old_file_and_nothing_beside_it(tmp_path, monkeypatch, error):
    path = tmp_path / "note.txt"
    write_atomically(path, "old")
    with monkeypatch.context() as full_disk, pytest.raises(error):
        full_disk.setattr(os, "fsync", lambda number: (_ for _ in ()).throw(error))
        write_atomically(path, "new")
    with pytest.raises(error), complete_or_absent(path) as part:
        part.mkdir()
        (part / "half.txt").write_text("new")
        raise error
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_a_folder_appears_when_it_is_full(tmp_path):
    with complete_or_absent(tmp_path / "new" / "set") as part:
        part.mkdir()
        (part / "one.txt").write_text("one")
        assert not (tmp_path / "new" / "set").exists()
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["set"]
    assert (tmp_path / "new" / "set" / "one.txt").read_text() == "one"


def test_two_that_write_at_once_do_not_mix(tmp_path, monkeypatch):
    path, settle, both = tmp_path / "note.txt", files._settle, threading.Barrier(2)

    def settle_together(part, path):
        both.wait(10)  # both parts are written, and neither has its name
        settle(part, path)

    monkeypatch.setattr(files, "_settle", settle_together)
    contents = [letter * 100_000 for letter in "ab"]
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(write_atomically, [path, path], contents))
    assert path.read_text() in contents and list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such rights")
@pytest.mark.parametrize(("umask", "file", "folder"), [(0o022, 0o644, 0o755), (0o077, 0o600, 0o700)])
def test_the_rights_are_those_that_the_user_gives_to_new_files(tmp_path, umask, file, folder):
    before = os.umask(umask)
    try:
        write_atomically(tmp_path / "new" / "note.txt", "x")
        write_checkpoint(tmp_path / "new" / "run", {"weight": torch.ones(2)}, {"step": 7})
        save_model(torch.nn.LayerNorm(3), tmp_path / "new" / "norm", {"normalized_shape": 3}, {})
        write_archive(tmp_path / "new" / "autograder.zip", ["02.3"])
        with Gradebook.create(tmp_path / "new" / "gradebook.sqlite", {}):
            pass
        with complete_or_absent(tmp_path / "new" / "set") as part:
            part.mkdir()
    finally:
        os.umask(before)
    found = list((tmp_path / "new").rglob("*"))
    assert len(found) == 9
    for path in found:
        assert path.stat().st_mode & 0o777 == (folder if path.is_dir() else file), path


def test_an_old_file_that_was_written_anew_is_as_a_new_one(tmp_path):
    (tmp_path / "note.txt").write_text("x")
    (tmp_path / "note.txt").chmod(0o600)
    (tmp_path / "theirs.txt").write_text("x")
    write_atomically(tmp_path / "note.txt", "y")
    assert (tmp_path / "note.txt").stat().st_mode == (tmp_path / "theirs.txt").stat().st_mode
