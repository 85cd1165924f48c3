"""The pages for teachers and students: Jinja templates that lie beside their modules and escape all that they show."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def environment() -> Environment:
    """Return what finds a template by the name of its file; a name that is not given is an error."""
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
