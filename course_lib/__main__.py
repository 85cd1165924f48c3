"""The `course` command."""

import sys

if sys.version_info < (3, 11):
    print("The course needs Python 3.11 or later; this is Python %d.%d." % sys.version_info[:2], file=sys.stderr)
    sys.exit(2)

import importlib
import importlib.metadata
from typing import Annotated

import typer

from course_lib.project import CourseError

UsageError = typer.BadParameter.__base__  # click's, or that of the copy of click which newer versions of typer bring

# Behind each stands a module of `course_lib.commands`; the help shows them in this order.
COMMANDS = {
    "For learners": ["start", "check", "hint", "progress", "train", "evaluate", "sample"],
    "For instructors": ["grade", "judge", "total", "report", "feedback", "similarity", "gradescope-zip"],
    "For authors": ["new-exercise", "check-exercise", "make-exercises", "sync", "claims", "publish"],
}

application = typer.Typer(
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
for panel, names in COMMANDS.items():
    for name in names:
        module = importlib.import_module(f"course_lib.commands.{name.replace('-', '_')}")
        examples = "\n\n".join(("Examples:", *module.EXAMPLES))
        application.command(name, rich_help_panel=panel, epilog=examples)(module.run)


def show_version(wanted: bool) -> None:
    """Print the version and leave, where that is wanted."""
    if wanted:
        typer.echo(f"course {importlib.metadata.version('course_lib')}")
        raise typer.Exit()


@application.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Work on the course: start exercises, check them, build and verify the chapters."""


def main() -> None:
    """Run the command; a CourseError or a mistyped command becomes one sentence and exit code 2."""
    try:
        sys.exit(application(prog_name="course", standalone_mode=False))
    except CourseError as error:
        # A terminal would obey what the name of a file may hold.
        typer.echo("".join(each if each.isprintable() or each == "\n" else "\ufffd" for each in str(error)), err=True)
        sys.exit(2)
    except UsageError as error:
        if said := error.format_message():  # nothing where `course` alone has shown its help
            typer.echo(f"{said} (help: {error.ctx.command_path} --help)", err=True)
        sys.exit(2)
    except typer.Abort:  # Ctrl-C
        sys.exit(130)


if __name__ == "__main__":
    main()
