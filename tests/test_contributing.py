"""The lines of README.md that use the library run, and the folders of the map in CONTRIBUTING.md are there."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
README, CONTRIBUTING = ((ROOT / f"{name}.md").read_text(encoding="utf-8") for name in ("README", "CONTRIBUTING"))


def test_the_lines_that_use_the_library_run():
    (code,) = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert len(code.strip().splitlines()) <= 11
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert out.strip().endswith("torch.Size([2, 9, 11])")


def test_the_folders_of_the_map_are_there():
    folders = re.findall(r"^\| `([\w/]+)` \|", CONTRIBUTING, re.MULTILINE)
    assert len(folders) >= 9 and all((ROOT / folder).is_dir() for folder in folders)
