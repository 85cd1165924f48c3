"""`course similarity`: answers that are alike."""

from course_lib.commands._options import AsJson, Grades

EXAMPLES = ("course similarity grades", "course similarity grades --json")


def run(grades: Grades, as_json: AsJson = False) -> None:
    """List answers that are more alike than chance would have it."""
    from course_lib.grading.reports import similarity

    similarity.similarity(grades, as_json)
