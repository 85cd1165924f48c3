"""Every schematic of the book: the public functions of the modules in course_lib.schematics."""

import inspect
import pkgutil
from collections.abc import Callable
from importlib import import_module

from course_lib import schematics


def schematics_by_name() -> dict[str, Callable]:
    modules = [
        import_module(f"course_lib.schematics.{found.name}") for found in pkgutil.iter_modules(schematics.__path__)
    ]
    return {
        name: function
        for module in modules
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_")
    }
