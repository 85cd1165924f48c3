import pytest
import torch

from course_lib.runs import loop


@pytest.fixture(autouse=True)
def as_before(tmp_path, monkeypatch):
    """A run makes torch deterministic, and writes below the folder it is started in: neither reaches other tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(loop, "draw_curves", lambda *_: b"")  # the picture takes longer than all the rest
    deterministic, threads = torch.are_deterministic_algorithms_enabled(), torch.get_num_threads()
    yield
    torch.use_deterministic_algorithms(deterministic)
    torch.set_num_threads(threads)
