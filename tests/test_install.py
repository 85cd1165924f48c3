"""Which build of torch install.py chooses, on machines that are simulated; the index is a server of this test."""

import contextlib
import os
import platform
import shutil
import socket
import subprocess
import threading
import tomllib
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import install

ROOT = Path(__file__).parents[1]
VERSION = "2.13.0"
CPU = f"{VERSION}+cpu"


@pytest.fixture
def machine(monkeypatch):
    """Return a function that sets what install.py finds: system, graphics card, torch by itself and with the index."""

    def machine(system="Linux", gpu=False, own=(VERSION,), index=(VERSION, CPU)):
        monkeypatch.setattr(platform, "system", lambda: system)
        monkeypatch.setattr(install, "has_gpu", lambda: gpu)
        monkeypatch.setattr(install, "versions", lambda *options: set(index if install.CPU_INDEX in options else own))

    return machine


@pytest.mark.parametrize(
    ("asked", "found", "build", "options", "reason"),
    [
        ("auto", {}, "CPU", [f"torch==={CPU}"], "no graphics card"),
        ("auto", {"index": ()}, "CUDA", [], "did not answer"),
        ("auto", {"gpu": True}, "CUDA", [], "shows a graphics card"),
        ("auto", {"own": (VERSION, CPU)}, "CPU", [f"torch==={CPU}"], "own configuration"),
        ("auto", {"own": (VERSION, CPU), "gpu": True}, "CPU", [f"torch==={CPU}"], "own configuration"),
        ("cpu", {"gpu": True}, "CPU", [f"torch==={CPU}"], "as you asked"),
        ("cpu", {"index": ()}, "CUDA", [], "did not answer"),
        ("cuda", {}, "CUDA", [f"torch==={VERSION}"], "as you asked"),
        ("cuda", {"own": (VERSION, CPU)}, "CUDA", [f"torch==={VERSION}"], "as you asked"),
        ("auto", {"system": "Darwin", "index": ()}, "CPU", [], "for Darwin"),
        ("auto", {"system": "Windows", "gpu": True}, "CPU", [], "for Windows"),
    ],
)
def test_the_build_suits_the_machine(machine, asked, found, build, options, reason):
    machine(**found)
    chosen, told, why = install.choose(asked, VERSION)
    assert (chosen, [each for each in told if each.startswith("torch")]) == (build, options)
    assert reason in why
    took_the_index = build == "CPU" and found.get("system", "Linux") == "Linux" and CPU not in found.get("own", ())
    assert (install.CPU_INDEX in told) == took_the_index


@pytest.mark.parametrize(
    ("asked", "found", "sentence"),
    [
        ("auto", {"own": ("2.2.2",), "system": "Darwin"}, "pip finds no torch 2.13.0 for Darwin"),
        ("auto", {"own": ()}, "whether there is a network"),
        ("cuda", {"system": "Windows"}, "for Linux only"),
    ],
)
def test_what_cannot_be_had_is_said_in_one_sentence_and_nothing_is_installed(
    machine, monkeypatch, asked, found, sentence
):
    machine(**found)
    monkeypatch.setattr(install, "pip", None)
    said = install.main([str(ROOT / "requirements-start.txt"), asked])
    assert sentence in said and said.count(". ") == 0


@pytest.mark.parametrize(
    ("name", "gigabytes"), [("requirements.txt", ("0.5", "2.1")), ("requirements-start.txt", ("0.4", "1.6"))]
)
def test_the_size_is_said_before_pip_begins(machine, monkeypatch, capsys, name, gigabytes):
    machine()
    commands = []

    def pip(*command, **how):
        assert "about {} GB to download, {} GB on disk".format(*gigabytes) in capsys.readouterr().out
        commands.append(command)
        return subprocess.CompletedProcess(command, 3)

    monkeypatch.setattr(install, "pip", pip)
    assert install.main([str(ROOT / name)]) == 3
    assert commands == [
        ("install", "--quiet", "--requirement", str(ROOT / name), "--extra-index-url", install.CPU_INDEX)
        + (f"torch==={CPU}",)
    ]


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (subprocess.CompletedProcess([], 0, "GPU 0: NVIDIA H200 (UUID: GPU-1)\n"), True),
        (subprocess.CompletedProcess([], 0, "No devices found.\n"), False),
        (subprocess.CompletedProcess([], 9, "NVIDIA-SMI has failed: no GPU driver\n"), False),
        (FileNotFoundError(), False),
        (subprocess.TimeoutExpired("nvidia-smi", 30), False),
    ],
)
def test_a_graphics_card_is_one_that_nvidia_smi_shows(monkeypatch, answer, found):
    def run(command, **how):
        assert command[0] == "nvidia-smi"
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(subprocess, "run", run)
    assert install.has_gpu() is found


# ---------------------------------------------------------------- what pip answers


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture
def index(tmp_path, monkeypatch):
    """Serve an index that has torch and one that has its CPU build as well; pip knows the first alone."""
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_CERT", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    for name, version in (("pypi", VERSION), ("cpu", CPU)):
        folder = tmp_path / name / "torch"
        folder.mkdir(parents=True)
        file = f"torch-{version}-py3-none-any.whl"
        (folder / "index.html").write_text(f'<!DOCTYPE html><a href="{file.replace("+", "%2B")}">{file}</a>')
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setenv("PIP_INDEX_URL", f"{address}/pypi")
    yield address
    server.shutdown()
    server.server_close()


def test_pip_says_what_an_index_has(index):
    assert install.versions() == {VERSION}
    assert install.versions("--extra-index-url", f"{index}/cpu", *install.PATIENCE) == {VERSION, CPU}


def test_an_index_that_refuses_or_is_silent_does_not_keep_us_waiting(index, monkeypatch):
    assert install.versions("--extra-index-url", "http://127.0.0.1:9/cpu", *install.PATIENCE) == {VERSION}
    monkeypatch.setattr(install, "PATIENCE", ("--timeout", "1", *install.PATIENCE[2:]))
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/cpu"
        assert install.versions("--extra-index-url", address, *install.PATIENCE) == {VERSION}


def test_a_pip_that_does_not_end_has_found_nothing(monkeypatch):
    def pip(*command, timeout, **how):
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(install, "pip", pip)
    assert install.versions() == set()


# ---------------------------------------------------------------- what make does


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
@pytest.mark.parametrize(
    ("named_before", "words", "installs"),
    [
        (None, [], "install.py requirements.txt"),
        ("", [], None),
        ("", ["TORCH=cuda"], "install.py requirements.txt cuda"),
        ("cuda", ["TORCH=cuda"], None),
        ("cuda", [], None),
        ("cuda", ["TORCH=cpu"], "install.py requirements.txt cpu"),
        ("cuda", ["--what-if=requirements.txt"], "install.py requirements.txt cuda"),
    ],
)
def test_make_installs_again_when_another_build_is_named(tmp_path, named_before, words, installs):
    for name in ("Makefile", "pyproject.toml", "requirements.txt", "install.py"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv/.created").touch()
    if named_before is not None:
        (tmp_path / ".venv/.installed").write_text(f"{named_before}\n")
    command = ["make", "--dry-run", *words, ".venv/.installed"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    lines = [line.strip() for line in said.splitlines() if "install.py" in line]
    assert lines == ([f".venv/bin/python {installs}"] if installs else [])


# ---------------------------------------------------------------- the two lists of pins


def test_a_student_gets_the_versions_of_the_book_and_no_more_than_the_package_needs():
    def pins(name: str) -> dict[str, str]:
        lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
        found = [line.partition("  #")[0].strip() for line in lines if "==" in line and not line.startswith("#")]
        return {line.partition("==")[0]: line for line in found}

    needed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    names = {line.partition(";")[0].partition(">=")[0] for line in needed}
    book, start = pins("requirements.txt"), pins("requirements-start.txt")
    assert start.keys() == names | {"jupyterlab"}
    assert start == {name: book[name] for name in start}
