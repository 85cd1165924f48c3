"""Grading on Gradescope: the archive that an instructor uploads, and what runs there for each submission.

Gradescope unpacks the archive into /autograder/source, runs setup.sh once, as root, and copies run_autograder one level
up. For each submission it starts a container from what then is there, puts the student's files into
/autograder/submission, what it knows of them into /autograder/submission_metadata.json, runs run_autograder and reads
/autograder/results/results.json.
"""

import argparse
import hashlib
import json
import re
import secrets
import sys
import time
import tomllib
import traceback
import zipfile
from collections.abc import Sequence
from pathlib import Path

import course_lib
from course_lib.files import complete_or_absent, write_atomically
from course_lib.project import CourseError, shared

SETTINGS = "settings.json"
METADATA = "submission_metadata.json"
PACKAGE = Path(course_lib.__file__).resolve().parent
SHARED = "shared/solutions"  # where an installed package has the worked answers, below its own folder
DATE = (1980, 1, 1, 0, 0, 0)  # of every file: the same settings give the same bytes
PYTHON, UV = "3.11", "0.13.9"
TELL = "Please tell your instructor; this is not your fault."

SETUP = f"""#!/usr/bin/env bash
# Runs once, as root, when Gradescope builds the image. The course stays in this folder and is not installed: it is the
# answer key, and settings.json holds the seed of the cases. What students' code may read is the environment.
set -euo pipefail
cd /autograder/source
apt-get update
apt-get install --yes --no-install-recommends bubblewrap libseccomp2 python3-pip
# uv brings the Python that the course needs; that of the image may be older.
python3 -m pip install --target /opt/uv "uv=={UV}"
export UV_PYTHON_INSTALL_DIR=/opt/python
/opt/uv/bin/uv venv --python {PYTHON} --python-preference only-managed /autograder/environment
/opt/uv/bin/uv pip install --no-cache --python /autograder/environment/bin/python --torch-backend cpu \\
    --requirement requirements.txt
chown -R root:root .
chmod -R go= .
"""
RUN = """#!/usr/bin/env bash
# Runs for each submission. Whatever the submission does, results/results.json is there and valid afterwards.
here="$(cd "$(dirname "$0")" && pwd)"
cd "$here/source" && exec "$here/environment/bin/python" -m course_lib.grading.gradescope --root "$here"
"""


# ---------------------------------------------------------------- the archive


def archive(out: Path, only: Sequence[str] = (), unsafe: bool = False, seed: int | None = None) -> None:
    """Write the archive and say what to do with it; `only` names chapters and exercises, all where none is named."""
    from course_lib.grading.catalogue import catalogue
    from course_lib.grading.grade_command import exercises_named

    course = catalogue()
    exercises = exercises_named(course, only or course.chapters).split()
    write_archive(out, exercises, unsafe, seed)
    points = sum(course.find(each).points for each in exercises)
    print(f"written: {out}, for {', '.join(exercises)} ({points} points)")
    print("Upload it at Gradescope as the autograder. It holds the answers and the seed: keep it to yourself.")


def write_archive(
    out: Path,
    exercises: list[str],
    unsafe: bool = False,
    seed: int | None = None,
    package: Path = PACKAGE,
) -> None:
    """Write the archive for these exercises ("02.1"); the seed is drawn where none is given.

    It holds `package` as an installation without the repository does. With `unsafe`, submissions are graded there also
    where no sandbox works.
    """
    settings = {"exercises": exercises, "seed": secrets.randbits(63) if seed is None else seed, "unsafe": unsafe}
    texts = {
        "setup.sh": SETUP,
        "run_autograder": RUN,
        "requirements.txt": requirements(shared("pyproject.toml"), shared("requirements.txt")),
        SETTINGS: json.dumps(settings, indent=2) + "\n",
    }
    contents = {name: text.encode() for name, text in texts.items()}
    for path in package.rglob("*"):
        name = path.relative_to(package.parent).as_posix()
        if path.is_file() and not re.search(r"/(\.|__pycache__|shared/)", name):
            contents[name] = path.read_bytes()
    for path in shared("solutions").glob("*.md"):
        contents[f"{package.name}/{SHARED}/{path.name}"] = path.read_bytes()
    with complete_or_absent(out) as part, zipfile.ZipFile(part, "w") as opened:
        for name in sorted(contents):
            entry = zipfile.ZipInfo(name, DATE)
            entry.create_system = 3  # Unix, whatever this machine is: the permissions count
            entry.external_attr = (0o100755 if name in ("setup.sh", "run_autograder") else 0o100644) << 16
            opened.writestr(entry, contents[name])


def requirements(project: Path, pins: Path) -> str:
    """Return the lines of `pins`, a requirements.txt, for what the package itself needs, as `project` says."""
    needed = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["dependencies"]
    names = {re.match(r"[\w.-]+", each)[0] for each in needed}
    pinned = pins.read_text(encoding="utf-8").splitlines()
    found = {match[0]: line for line in pinned if (match := re.match(r"[\w.-]+(?===)", line)) and match[0] in names}
    if missing := sorted(names - found.keys()):
        raise CourseError(f"requirements.txt does not pin {', '.join(missing)}, which pyproject.toml asks for")
    return "".join(f"{line.partition('  #')[0].rstrip()}\n" for line in found.values())


# ---------------------------------------------------------------- in the container


def grade(folder: Path) -> int:
    """Grade what is in `folder`/submission and write `folder`/results/results.json, valid from the first moment on.

    Returns the exit code: 1 where there is no mark. The file then has no score, and Gradescope says that it failed.
    """
    start = time.monotonic()

    def say(results: dict) -> None:
        content = json.dumps(results | {"execution_time": round(time.monotonic() - start, 3)}, indent=2)
        write_atomically(folder / "results" / "results.json", content)

    say(_no_verdict(f"The grading was begun and did not come to its end. {TELL}"))
    try:
        results = _results(folder)
        say(results)
        return 0 if "score" in results else 1
    except CourseError as error:
        print(f"Not graded: {error}")
        say(_no_verdict(f"Not graded: {error}. {TELL}"))
    except Exception:
        traceback.print_exc(file=sys.stdout)  # what is printed here, Gradescope shows to instructors only
        say(_no_verdict(f"The grading failed. {TELL}"))
    return 1


def _results(folder: Path) -> dict:
    from course_lib.grading.collect import files_inside
    from course_lib.grading.exports import gradescope_results
    from course_lib.grading.grader import Settings, grade_submission
    from course_lib.grading.records import UNGRADED
    from course_lib.grading.sandbox import probe, tiers
    from course_lib.grading.sandbox.limits import Limits

    settings = json.loads((folder / "source" / SETTINGS).read_text(encoding="utf-8"))
    try:
        tier = probe.strongest(settings["unsafe"])
    except CourseError as error:
        why = "each submission has a container of its own here, and `course gradescope-zip --unsafe` lets that suffice"
        raise CourseError(f"{error}; {why}") from error
    if tier == tiers.PROCESS:
        print("No sandbox works in this container; the archive allows to do without (--unsafe).")
    # Gradescope's smallest container has half a core.
    limits = Limits(wall=60.0, step=10.0)
    paths = tuple(map(str, files_inside(folder / "submission")))
    seed = seed_of_submission(settings["seed"], folder / METADATA)
    record = grade_submission("submission", paths, Settings(seed, tuple(settings["exercises"]), limits, tier))
    print(f"{record.status}: {record.earned} of {record.points} points; sandbox: {tier}; seed: {seed}; {record.reason}")
    if record.status == UNGRADED:
        raise CourseError(record.reason)
    return gradescope_results(record)


def seed_of_submission(seed: int, metadata: Path) -> int:
    """Return the seed of the cases for the submission that Gradescope tells of in the file `metadata`.

    Its number is of this submission alone, whoever hands in and how often: a verdict shows expected answers, which
    the next submission could bring along by heart if it got the same cases. To grade the same submission again gives
    the same seed. Without that file it is the `seed` of the archive.
    """
    try:
        number = json.loads(metadata.read_text(encoding="utf-8"))["id"]
    except (OSError, ValueError, LookupError, TypeError):
        return seed
    return int.from_bytes(hashlib.sha256(f"{seed} {number}".encode()).digest()[:8], "big") >> 1


def _no_verdict(output: str) -> dict:
    return {"output": output, "visibility": "visible", "stdout_visibility": "hidden", "tests": []}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=grade.__doc__)
    parser.add_argument("--root", type=Path, required=True, help="the folder that holds source and submission")
    sys.exit(grade(parser.parse_args().root))
