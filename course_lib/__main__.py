"""The `course` command."""

import sys

if sys.version_info < (3, 11):
    print("The course needs Python 3.11 or later; this is Python %d.%d." % sys.version_info[:2], file=sys.stderr)
    sys.exit(2)

import contextlib
import gc
import signal
from collections.abc import Iterator
from pathlib import Path
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
Only = Annotated[
    list[str] | None, typer.Option(help="A chapter (02) or an exercise (02.3); may be given more than once.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object, for other programmes.")]


@contextlib.contextmanager
def _importing() -> Iterator[None]:
    """Import torch at less than its price.

    It leaves so many objects that collecting garbage, during the import and at the end, would take a fifth of the time
    of a command. And Ctrl-C waits until it is there: half an import ends in messages that nobody can use.
    """
    pressed: list[int] = []
    earlier = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
        signal.signal(signal.SIGINT, earlier)
    if pressed:
        raise KeyboardInterrupt


@application.command(rich_help_panel="For learners")
def start(chapters: Chapters = None) -> None:
    """Copy the exercises into my_exercises/ without touching work that is already there."""
    from course_lib.authoring import stubs

    stubs.start(chapters or [])


@application.command(rich_help_panel="For learners")
def check(
    target: Annotated[str, typer.Argument(help="A chapter (02), an exercise (02.3), or the path of a notebook.")],
    seed: Annotated[int | None, typer.Option(help="Repeat the random cases of an earlier check.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check exercises and say what is wrong with them."""
    from course_lib.grading.isolation.zygote import start_strongest

    started = start_strongest()  # before torch is imported here, so that both imports go on at once
    with _importing():
        from course_lib.grading import command

    raise typer.Exit(command.check(target, seed, started, as_json))


@application.command(rich_help_panel="For learners")
def hint(
    exercise: Annotated[str, typer.Argument(help="An exercise such as 02.3.")],
    number: Annotated[int | None, typer.Argument(help="Show this one again; by default the next.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the next hint for an exercise; each says more than the one before."""
    with _importing():
        from course_lib.grading import command

    raise typer.Exit(command.hint(exercise, number, as_json))


@application.command(rich_help_panel="For learners")
def progress(as_json: AsJson = False) -> None:
    """Show the points of every exercise at its last check, and what to do next."""
    with _importing():
        from course_lib.grading import command

    raise typer.Exit(command.show_progress(as_json))


@application.command(rich_help_panel="For instructors")
def grade(
    submissions: Annotated[Path, typer.Argument(help="A folder with a folder or a file for each student.")],
    out: Annotated[Path, typer.Option(help="Where the gradebook and the tables go.")] = Path("grades"),
    only: Only = None,
    jobs: Annotated[int, typer.Option(min=1, help="How many processes.")] = 1,
    seed: Annotated[int | None, typer.Option(help="Repeat the random cases of an earlier run.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the gradebook that is there.")] = False,
    formats: Annotated[str, typer.Option("--format", help="Any of csv,jsonl,gradescope,junit.")] = "csv,jsonl",
    wall: Annotated[float | None, typer.Option(min=1, help="Seconds for one submission.")] = None,
    unsafe: Annotated[bool, typer.Option("--unsafe", help="Grade also where no sandbox works.")] = False,
    scheduler: Annotated[str | None, typer.Option(help="The address of a Dask cluster that runs.")] = None,
) -> None:
    """Grade a folder of notebooks and modules, in a sandbox."""
    from course_lib.grading import grade_command

    chosen = [each.strip() for each in formats.split(",")]
    code = grade_command.grade(submissions, out, jobs, seed, only or (), resume, chosen, wall, unsafe, scheduler)
    raise typer.Exit(code)


Grades = Annotated[Path, typer.Argument(help="A folder that `course grade` wrote.")]


@application.command(rich_help_panel="For instructors")
def report(
    grades: Grades, book: Annotated[str | None, typer.Option(help="The address of the book, for links.")] = None
) -> None:
    """Write a page about the class: points, and which misconceptions it holds."""
    from course_lib.grading import class_report

    typer.echo(f"The page is here, open it in a browser: {class_report.report(grades, book)}")


@application.command(rich_help_panel="For instructors")
def similarity(grades: Grades, as_json: AsJson = False) -> None:
    """List answers that are more alike than chance would have it."""
    from course_lib.grading import similarity

    similarity.similarity(grades, as_json)


@application.command("gradescope-zip", rich_help_panel="For instructors")
def gradescope_zip(
    out: Annotated[Path, typer.Option(help="The archive to write.")] = Path("autograder.zip"),
    only: Only = None,
    unsafe: Annotated[bool, typer.Option("--unsafe", help="Let the container be the only lock.")] = False,
    seed: Annotated[int | None, typer.Option(help="The seed of the random cases; drawn anew by default.")] = None,
) -> None:
    """Write an archive that grades on Gradescope."""
    from course_lib.grading import gradescope

    gradescope.archive(out, only or (), unsafe, seed)


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


@application.command(rich_help_panel="For learners")
def train(
    name: Annotated[
        str | None, typer.Argument(help="language-model, translation, classifier or captioner.", show_default=False)
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|PATH",
            help="multi30k, imdb, tiny-shakespeare, enwik8, or a UTF-8 file: text, or lines of source (or label), "
            "tab, and target (or text). By default, the small data of the chapter.",
        ),
    ] = None,
    steps: Annotated[int | None, typer.Option(help="How many steps.")] = None,
    batch: Annotated[int | None, typer.Option(help="Sequences a step, over all processes.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="The largest learning rate of the run.")] = None,
    width: Annotated[int | None, typer.Option(help="d_model.")] = None,
    layers: Annotated[int | None, typer.Option(help="Blocks (of each half).")] = None,
    heads: Annotated[int | None, typer.Option(help="Heads of each block.")] = None,
    context: Annotated[int | None, typer.Option(help="The longest sequence, in tokens.")] = None,
    dropout: Annotated[float | None, typer.Option(help="The share of numbers that is dropped.")] = None,
    smoothing: Annotated[float | None, typer.Option(help="Label smoothing (translation).")] = None,
    accumulate: Annotated[int | None, typer.Option(help="Cut each batch into so many parts, to save memory.")] = None,
    vocabulary: Annotated[str | None, typer.Option(help="characters, words or byte-pairs.")] = None,
    entries: Annotated[int | None, typer.Option(help="The most entries of the vocabulary.")] = None,
    every: Annotated[int | None, typer.Option(help="Steps between evaluations; by default a 20th of all.")] = None,
    seed: Annotated[int | None, typer.Option(help="Another seed is another run.")] = None,
    device: Annotated[str | None, typer.Option(help="cpu or cuda; by default cuda where there is one.")] = None,
    bf16: Annotated[bool, typer.Option("--bf16", help="Compute with half as many bits, on a GPU.")] = False,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Write numbers for TensorBoard, too.")] = False,
    out: Annotated[Path | None, typer.Option(help="The folder of the run; by default runs/NAME-DATE-TIME.")] = None,
    resume: Annotated[Path | None, typer.Option(metavar="RUN", help="Go on with a run that was stopped.")] = None,
) -> None:
    """Train a model of the course; Ctrl-C stops it, and nothing is lost."""
    given = {
        "data": data,
        "steps": steps,
        "batch": batch,
        "learning_rate": learning_rate,
        "width": width,
        "layers": layers,
        "heads": heads,
        "context": context,
        "dropout": dropout,
        "smoothing": smoothing,
        "accumulate": accumulate,
        "vocabulary": vocabulary,
        "entries": entries,
        "every": every,
        "seed": seed,
        "bf16": bf16 or None,
    }
    with _importing():
        from course_lib.runs import train

    raise typer.Exit(train.train(name, resume, out, device, tensorboard, **given))


Run = Annotated[Path, typer.Argument(metavar="RUN", help="A folder that `course train` made.")]


@application.command(rich_help_panel="For learners")
def evaluate(run: Run, device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu") -> None:
    """Measure a trained model on data that it has not seen."""
    with _importing():
        from course_lib.runs import evaluate

    evaluate.evaluate(run, device)


@application.command(rich_help_panel="For learners")
def sample(
    run: Run,
    prompt: Annotated[str | None, typer.Option(help="What to go on from, to translate, or to classify.")] = None,
    temperature: Annotated[float | None, typer.Option(help="0 takes the most probable; 1 is as trained.")] = None,
    top_k: Annotated[int | None, typer.Option(help="Draw from so many of the most probable.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Draw from the most probable that have this share.")] = None,
    length: Annotated[int | None, typer.Option(help="How many tokens to write.")] = None,
    number: Annotated[int | None, typer.Option(help="How many texts or pictures.")] = None,
    beam: Annotated[int | None, typer.Option(help="The width of the search for a translation; 4 by default.")] = None,
    seed: Annotated[int | None, typer.Option(help="Another seed writes something else.")] = None,
    out: Annotated[Path | None, typer.Option(help="The picture to write (captioner).")] = None,
) -> None:
    """Let a trained model write, translate, classify or caption."""
    with _importing():
        from course_lib.runs import sample

    sample.sample(
        run,
        prompt=prompt,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        length=length,
        number=number,
        beam=beam,
        seed=seed,
        out=out,
    )


@application.command(rich_help_panel="For authors")
def publish(
    run: Run,
    file: Annotated[Path, typer.Argument(help="Where to; .safetensors and .json are added.")],
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
) -> None:
    """Write a language model in float16, with the facts about it."""
    with _importing():
        from course_lib.runs import publish

    publish.publish(run, file, force)


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
