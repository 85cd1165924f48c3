"""What a wheel needs of the repository beside the package."""

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# The exercises that `course start` copies; the worked answers, of which the known mistakes are edits; the versions that
# `course gradescope-zip` asks for. `course_lib.project.shared` finds them.
SHARED = ("exercises", "solutions", "pyproject.toml", "requirements.txt")


class WithTheCourse(BuildHookInterface):
    """Put them into the wheel; an editable installation finds them in the repository."""

    def initialize(self, version, build_data):
        """Add them to a wheel that is no link to the repository."""
        if version == "standard":
            build_data["force_include"] |= {name: f"course_lib/shared/{name}" for name in SHARED}
