"""What several tests of the command line share: a course in an empty folder, and a way to call `course` in it."""

import sys

import nbformat
import pytest


@pytest.fixture(scope="module")
def started():
    """Start one fork server for all tests of a file; the real command starts its own, which takes a second."""
    from course_lib.grading.sandbox import fork_server  # not above: many tests of the book do without torch

    started = fork_server.start_strongest()
    yield started
    started.close()


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Make a course without notebooks in a temporary folder; return a function that writes one into it."""
    for folder in ("exercises", "my_exercises"):
        (tmp_path / folder).mkdir()
    monkeypatch.setattr("course_lib.project.root", lambda: tmp_path)
    monkeypatch.chdir(tmp_path)

    def write(path, *sources):
        cells = [nbformat.v4.new_code_cell(source) for source in sources]
        (tmp_path / path).write_text(nbformat.writes(nbformat.v4.new_notebook(cells=cells)), encoding="utf-8")
        return tmp_path / path

    return write


@pytest.fixture
def run(started, monkeypatch, capsys):
    """Call `course` with these arguments, in this process; return exit code, output and errors."""
    from course_lib import __main__ as course
    from course_lib.grading.sandbox import fork_server

    monkeypatch.setattr(fork_server, "start_strongest", lambda: started)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["course", *arguments])
        with pytest.raises(SystemExit) as end:
            course.main()
        said = capsys.readouterr()
        return end.value.code or 0, said.out, said.err

    return run
