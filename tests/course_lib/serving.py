"""Small files served on loopback, well and badly, so that no test of a download needs a network."""

import gzip
import hashlib
import http.server
import io
import socket
import tarfile
import threading
import zipfile
from pathlib import Path

import pytest

from course_lib.data.downloads import Source


class Server:
    """Serves `files` (name to bytes); of those named in `cut` only so many bytes; `seen` lists what was asked for."""

    def __init__(self):
        self.files, self.cut, self.seen = {}, {}, []
        serving = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                name = self.path.removeprefix("/")
                serving.seen.append(name)
                if name not in serving.files:
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(len(serving.files[name])))
                self.end_headers()
                self.wfile.write(serving.files[name][: serving.cut.get(name)])

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,))
        self.thread.start()

    def close(self):
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()

    def source(self, name: str, files: dict[str, bytes]) -> Source:
        """Serve these files, and return the source whose checksums are theirs."""
        self.files |= files
        return Source(name, self.url, {file: checksum(content) for file, content in files.items()})


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """The folder of downloads, empty."""
    monkeypatch.setenv("COURSE_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def server(cache, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = Server()
    yield server
    server.close()


def closed_port() -> str:
    """Return an address at which nothing answers."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}/"


def checksum(content: bytes, kind: str = "sha256") -> str:
    return f"{kind}:{hashlib.new(kind, content).hexdigest()}"


def kept(folder: Path) -> set[str]:
    """Return all files below a folder, and its empty folders."""
    there = [path for path in folder.rglob("*") if path.is_file() or not any(path.iterdir())]
    return {path.relative_to(folder).as_posix() for path in there}


def tar_of(files: dict[str, bytes], kind: str = "gz", **members: dict) -> bytes:
    """Pack files; `members` are further entries: a name, and attributes such as type=tarfile.SYMTYPE."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode=f"w:{kind}") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        for name, attributes in members.items():
            entry = tarfile.TarInfo(name)
            for attribute, value in attributes.items():
                setattr(entry, attribute, value)
            archive.addfile(entry)
    return written.getvalue()


def zip_of(files: dict[str, bytes], mode: int = 0o100644) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = mode << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return written.getvalue()


def gz_of(content: str | bytes) -> bytes:
    return gzip.compress(content.encode() if isinstance(content, str) else content, mtime=0)


def says(error: pytest.ExceptionInfo, *parts: str) -> None:
    """One sentence for the user, which holds these parts."""
    sentence = str(error.value)
    assert "\n" not in sentence and "Traceback" not in sentence and len(sentence) < 500
    assert not [part for part in parts if part not in sentence], sentence
