"""A browser for the tests and for the book as a PDF: an installed Chromium or Chrome, else Playwright's, else Debian's.

`python -m course_lib.authoring.browser` makes sure that there is one; `make test` does so once.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Error, Playwright, sync_playwright

INSTALLED = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge"]
ON_A_MAC = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
FLAGS = [
    # What a browser asks of the network by itself is none of our pages' business ...
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--no-first-run",
    # ... and what a page asks of another host is counted, and goes nowhere.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]


def launch(playwright: Playwright) -> Browser:
    """Start the first browser that starts; raises LookupError when there is none."""
    for path in _candidates(playwright):
        try:
            return playwright.chromium.launch(executable_path=path, args=FLAGS)
        except Error:  # a wrapper without its browser, or a system library that is missing
            continue
    raise LookupError(
        "no Chromium or Chrome that starts: run `python -m course_lib.authoring.browser`, or install one yourself"
    )


def _candidates(playwright: Playwright) -> Iterator[str]:
    yield from filter(None, map(shutil.which, INSTALLED))
    yield from (str(path) for path in (ON_A_MAC, Path(playwright.chromium.executable_path)) if path.exists())


def _version() -> str | None:
    with sync_playwright() as playwright:
        try:
            browser = launch(playwright)
        except LookupError:
            return None
        return browser.version


def _ways_to_install() -> Iterator[list[str]]:
    yield [sys.executable, "-m", "playwright", "install", "chromium"]
    if shutil.which("apt-get"):
        root = [] if os.geteuid() == 0 else ["sudo", "--non-interactive"]
        yield [*root, "apt-get", "update"]
        yield [*root, "apt-get", "install", "--yes", "--no-install-recommends", "chromium"]


def main() -> None:
    """Install a browser where none starts; say which one the tests will use."""
    version = _version()
    for command in _ways_to_install() if version is None else []:
        print("No browser that starts yet:", " ".join(command), flush=True)
        try:
            subprocess.run(command, timeout=600, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            print(error)
        if version := _version():
            break
    if version is None:
        sys.exit("No browser could be installed. Install Chromium or Chrome yourself, then run `make test` again.")
    print(f"The tests use Chromium {version}.")


if __name__ == "__main__":
    main()
