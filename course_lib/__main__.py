"""The `course` command."""

import sys

if sys.version_info < (3, 11):
    print("The course needs Python 3.11 or later; this is Python %d.%d." % sys.version_info[:2], file=sys.stderr)
    sys.exit(2)

from typing import Annotated

import typer

from course_lib.project import CourseError

UsageError = typer.BadParameter.__base__  # click's, or that of the copy of click which newer versions of typer bring

# Each command imports what it needs when it runs: `course --help` must not wait for torch.
application = typer.Typer(
    help="Work on the course: start exercises, check them, build and verify the chapters.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Chapters = Annotated[
    list[str] | None, typer.Argument(metavar="[CHAPTER]...", help="Chapters such as 02; all by default.")
]


@application.command(rich_help_panel="For learners")
def start(chapters: Chapters = None) -> None:
    """Copy the exercises into my_exercises/ without touching work that is already there."""
    from course_lib.authoring import stubs

    stubs.start(chapters or [])


@application.command(rich_help_panel="For learners")
def check(
    target: Annotated[str, typer.Argument(help="A chapter (02), an exercise (02.3), or the path of a notebook.")],
    seed: Annotated[int | None, typer.Option(help="Repeat the random cases of an earlier check.")] = None,
) -> None:
    """Check exercises and say what is wrong with them."""
    from course_lib.grading import command

    raise typer.Exit(command.check(target, seed))


@application.command(rich_help_panel="For learners")
def hint(
    exercise: Annotated[str, typer.Argument(help="An exercise such as 02.3.")],
    number: Annotated[int, typer.Argument(help="Which hint; each says more than the one before.")] = 1,
) -> None:
    """Show one hint for an exercise."""
    from course_lib.grading import command

    command.hint(exercise, number)


@application.command(rich_help_panel="For authors")
def sync(
    chapters: Chapters = None,
    check: Annotated[bool, typer.Option("--check", help="Execute nothing; fail where a pair differs.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Execute even where nothing changed.")] = False,
) -> None:
    """Turn book/text/*.md into executed notebooks."""
    from course_lib.authoring import pairs

    raise typer.Exit(pairs.check(chapters or []) if check else pairs.sync(chapters or [], force))


@application.command("make-exercises", rich_help_panel="For authors")
def make_exercises(
    check: Annotated[bool, typer.Option("--check", help="Write nothing; fail on drift or a leaked answer.")] = False,
) -> None:
    """Derive exercises/*.ipynb from solutions/*.md."""
    from course_lib.authoring import stubs

    raise typer.Exit(stubs.check() if check else stubs.make())


@application.command(rich_help_panel="For authors")
def claims(
    chapters: Chapters = None,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds, counted from 0.")] = 5,
) -> None:
    """Execute chapters under several seeds and write the ledger of claims."""
    from course_lib.authoring import ledger

    raise typer.Exit(ledger.measure(chapters or [], seeds))


def main() -> None:
    """Run the command; a CourseError or a mistyped command becomes one sentence and exit code 2."""
    try:
        sys.exit(application(prog_name="course", standalone_mode=False))
    except CourseError as error:
        typer.echo(str(error), err=True)
        sys.exit(2)
    except UsageError as error:
        if said := error.format_message():  # nothing where `course` alone has shown its help
            typer.echo(f"{said} (help: {error.ctx.command_path} --help)", err=True)
        sys.exit(2)
    except typer.Abort:  # Ctrl-C
        sys.exit(130)


if __name__ == "__main__":
    main()
