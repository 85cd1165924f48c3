"""The package has floors, and imports run downward only."""

import ast
from pathlib import Path

from course_lib.project import root

FLOORS = [
    "__init__ project shapes seeding claims ranks",
    "softmax attention fused_attention tiling costs trees masks positions losses pooling",
    "recurrence convolution embedding multi_head normalisation blocks torch_conversion cache decoding",
    "models",
    "training checkpoints evaluation data pretrained",
    "properties inspection figures explorers capstone",
    "grading authoring runs __main__",
]
FLOOR = {module: floor for floor, modules in enumerate(FLOORS) for module in modules.split()}


def imported_modules(file: Path, package: Path):
    """Yield the line and the dotted name of all that `file` imports from the package, wherever the import stands."""
    within = file.relative_to(package.parent).with_suffix("").parts
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = ".".join(within[: -node.level]) + "." if node.level else ""
            names = [f"{start}{node.module or ''}.{alias.name}".replace("..", ".") for alias in node.names]
        else:
            continue
        yield from ((node.lineno, name) for name in names if name.split(".")[0] == package.name)


def upward_imports(package: Path) -> list[str]:
    """Return one sentence for each import that runs upward, and for each module that has no floor."""
    faults = []
    for file in sorted(package.rglob("*.py")):
        path = file.relative_to(package.parent)
        module = path.with_suffix("").parts[1]
        if module not in FLOOR:
            faults.append(f"{path} has no floor: add {module!r} to FLOORS in {Path(__file__).name}")
            continue
        for line, name in imported_modules(file, package):
            below = (name.split(".") + ["__init__"])[1]
            # What is no module of ours is a name that the package itself holds.
            below = below if below in FLOOR or (package / f"{below}.py").exists() else "__init__"
            if FLOOR.get(below, 0) > FLOOR[module]:
                faults.append(
                    f"{path}:{line} (floor {FLOOR[module]}) imports {name} (floor {FLOOR[below]}): imports run downward"
                )
    return faults


def test_imports_run_downward():
    assert not upward_imports(root() / "course_lib")


def test_upward_imports_are_named_however_they_are_written(tmp_path):
    package = tmp_path / "course_lib"
    (package / "models").mkdir(parents=True)
    (package / "__init__.py").write_text('__version__ = "1"\n')
    (package / "shapes.py").write_text("def f():\n    from course_lib.softmax import softmax\n")
    (package / "softmax.py").write_text("import torch\nimport course_lib.models.captioner as c\nfrom . import shapes\n")
    (package / "attention.py").write_text("from . import softmax, training\nfrom course_lib import __version__\n")
    (package / "models" / "captioner.py").write_text("from ..figures import draw\nfrom ..attention import attend\n")
    (package / "novelty.py").write_text("")
    faults = upward_imports(package)
    assert [fault.split(":")[0] for fault in faults] == [
        "course_lib/attention.py",
        "course_lib/models/captioner.py",
        "course_lib/novelty.py has no floor",
        "course_lib/shapes.py",
        "course_lib/softmax.py",
    ]
    assert "imports course_lib.training (floor 4)" in faults[0]
    assert "imports course_lib.figures.draw (floor 5)" in faults[1]
