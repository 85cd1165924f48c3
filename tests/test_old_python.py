import runpy
import sys

import pytest


def test_an_old_python_is_told_so_in_one_sentence(monkeypatch, capsys):
    monkeypatch.setattr(sys, "version_info", (3, 9, 18, "final", 0))
    with pytest.raises(SystemExit) as stop:
        runpy.run_module("course_lib", run_name="__main__")
    assert stop.value.code == 2
    assert capsys.readouterr().err == "The course needs Python 3.11 or later; this is Python 3.9.\n"
