"""Install the pinned packages, with the build of torch that suits this machine: `python install.py requirements.txt`.

On Linux, PyPI's torch brings several gigabytes of CUDA packages; without a graphics card, the CPU build does the same
in a tenth of them. The Python that runs this is the one that is installed into. The makefile calls it before anything
is installed, so it uses the standard library alone.
"""

import argparse
import platform
import re
import subprocess
import sys
from pathlib import Path

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
PATIENCE = ("--timeout", "5", "--retries", "0")  # a closed network is found out soon
LONGEST = 30  # seconds for one question to pip
# About how many gigabytes pip downloads, and how many they take on the disk.
SIZES = {
    ("requirements.txt", "CPU"): (0.5, 2.1),
    ("requirements.txt", "CUDA"): (3.0, 6.6),
    ("requirements-start.txt", "CPU"): (0.4, 1.6),
    ("requirements-start.txt", "CUDA"): (2.9, 6.1),
}


def main(arguments: list[str]) -> int | str:
    """Say how much will be downloaded, install, and return pip's exit code, or a sentence that says why not."""
    parser = argparse.ArgumentParser(prog="install.py", description=__doc__.splitlines()[0])
    parser.add_argument("requirements", type=Path, help="requirements.txt or requirements-start.txt")
    parser.add_argument("torch", choices=["auto", "cpu", "cuda"], nargs="?", default="auto", help="the build of torch")
    asked = parser.parse_args(arguments)
    version = re.search(r"^torch==(\S+)", asked.requirements.read_text(encoding="utf-8"), re.MULTILINE)[1]
    try:
        build, options, reason = choose(asked.torch, version)
    except LookupError as error:
        return str(error)
    download, disk = SIZES[asked.requirements.name, build]
    print(f"Installing {asked.requirements.name} with the {build} build of torch {version}, {reason}.")
    print(f"That is about {download} GB to download, {disk} GB on disk, and takes minutes the first time.", flush=True)
    return pip("install", "--quiet", "--requirement", str(asked.requirements), *options).returncode


def choose(asked: str, version: str) -> tuple[str, list[str], str]:
    """Return which build of torch it will be, what pip must be told for that, and why it is that one.

    Raises LookupError where there is none.
    """
    system = platform.system()
    offered = versions()
    if version not in {each.partition("+")[0] for each in offered}:
        machine = f"{system} on {platform.machine()} with Python {platform.python_version()}"
        raise LookupError(
            f"pip finds no torch {version} for {machine}: see whether there is a network, "
            "and the table in README.md, which says what can be installed where."
        )
    if system != "Linux":
        if asked == "cuda":
            raise LookupError(
                f"PyPI has torch with CUDA for Linux only: leave TORCH=cuda out, and for {system} see pytorch.org."
            )
        return "CPU", [], f"which is the one for {system}"
    if asked == "cuda":
        return "CUDA", [f"torch==={version}"], "as you asked"  # === is this very one, not 2.13.0+cpu
    if f"{version}+cpu" in offered:
        return "CPU", [f"torch==={version}+cpu"], "which pip finds by its own configuration"
    if asked == "auto" and has_gpu():
        return "CUDA", [], "because nvidia-smi shows a graphics card (TORCH=cpu takes the small one)"
    if f"{version}+cpu" in versions("--extra-index-url", CPU_INDEX, *PATIENCE):
        why = "as you asked" if asked == "cpu" else "because nvidia-smi shows no graphics card"
        return "CPU", ["--extra-index-url", CPU_INDEX, f"torch==={version}+cpu"], why
    return "CUDA", [], f"because {CPU_INDEX} did not answer or has no CPU build for this machine"


def has_gpu() -> bool:
    """Return whether nvidia-smi answers with a graphics card."""
    try:
        answer = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=LONGEST, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.returncode == 0 and "GPU " in answer.stdout


def versions(*options: str) -> set[str]:
    """Return which versions of torch pip would take for this machine; nothing is downloaded."""
    try:
        answer = pip("index", "versions", "torch", *options, capture_output=True, text=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return set()
    return set(re.findall(r"[\w.+]+", "".join(re.findall(r"^Available versions: (.*)", answer.stdout, re.MULTILINE))))


def pip(*arguments: str, **how) -> subprocess.CompletedProcess:
    """Run the pip of this Python."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    return subprocess.run(command, check=False, **how)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
