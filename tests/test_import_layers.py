"""The package has import layers, and imports run downward only."""

import ast
from pathlib import Path

from course_lib.project import root

LAYERS = [
    "__init__ project shapes seeding measurements findings claims beforehand files ranks",
    "softmax attention fused_attention linear_attention tiling costs trees masks positions losses pooling",
    "recurrence state_space convolution embedding multi_head grouped_query_attention latent_attention sinks "
    "normalisation blocks deepnorm mixture torch_conversion cache decoding speculative",
    "models",
    "training checkpoints model_files evaluation data pretrained rings",
    "diagnostics inspection figures explorers diagrams schematics capstone",
    "grading exercises authoring runs",
    "commands __main__",
]
LAYER_OF = {module: layer for layer, modules in enumerate(LAYERS) for module in modules.split()}


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
    """Return one sentence for each import that runs upward, and for each module that is in no layer."""
    faults = []
    for file in sorted(package.rglob("*.py")):
        path = file.relative_to(package.parent)
        module = path.with_suffix("").parts[1]
        if module not in LAYER_OF:
            faults.append(f"{path} is in no layer: add {module!r} to LAYERS in {Path(__file__).name}")
            continue
        for line, name in imported_modules(file, package):
            below = (name.split(".") + ["__init__"])[1]
            # What is no module of ours is a name that the package itself holds.
            below = below if below in LAYER_OF or (package / f"{below}.py").exists() else "__init__"
            if LAYER_OF.get(below, 0) > LAYER_OF[module]:
                layers = f"(layer {LAYER_OF[module]}) imports {name} (layer {LAYER_OF[below]})"
                faults.append(f"{path}:{line} {layers}: imports run downward")
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
        "course_lib/novelty.py is in no layer",
        "course_lib/shapes.py",
        "course_lib/softmax.py",
    ]
    assert "imports course_lib.training (layer 4)" in faults[0]
    assert "imports course_lib.figures.draw (layer 5)" in faults[1]
