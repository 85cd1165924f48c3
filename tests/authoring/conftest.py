"""A course of a few lines in a temporary folder: its own small `course_lib`, so that no kernel has to load torch."""

from pathlib import Path

import pytest

HEADER = """---
kernelspec:
  name: python3
  display_name: Python 3
---

"""
COURSE_LIB = Path(__file__).resolve().parents[2] / "course_lib"
# The modules with which a chapter states what it found; the module of the seed is written anew, without torch.
STATING = ("beforehand", "claims", "findings", "measurements", "project")
SEEDING = "import os\n\n\ndef course_seed():\n    return int(os.environ['COURSE_SEED'])\n"


class Course:
    """The folder of a course and the few ways in which tests change it."""

    def __init__(self, home: Path):
        self.home = home
        self.write("course_lib/__init__.py", "")
        for module in STATING:
            self.write(f"course_lib/{module}.py", (COURSE_LIB / f"{module}.py").read_text(encoding="utf-8"))
        self.write("course_lib/seeding.py", SEEDING)

    def write(self, path: str, content: str) -> Path:
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
        return file

    def chapter(self, stem: str, *cells: str, title: str = "A chapter") -> Path:
        """Write book/text/`stem`.md with one code cell for each of `cells`."""
        code = "\n\n".join(f"```{{code-cell}} ipython3\n{cell}\n```" for cell in cells)
        return self.write(f"book/text/{stem}.md", f"{HEADER}# {title}\n\n{code}\n")

    def notebook(self, stem: str) -> Path:
        return self.home / f"book/{stem}.ipynb"


@pytest.fixture
def course(tmp_path) -> Course:
    return Course(tmp_path)
