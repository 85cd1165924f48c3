"""What a wheel needs beside the package: the worked answers, of which the known mistakes are edits."""

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WithWorkedAnswers(BuildHookInterface):
    """Put `solutions` into the wheel; an editable installation finds them in the repository."""

    def initialize(self, version, build_data):
        """Add the folder to a wheel that is no link to the repository."""
        if version == "standard":
            build_data["force_include"]["solutions"] = "course_lib/exercises/solutions"
