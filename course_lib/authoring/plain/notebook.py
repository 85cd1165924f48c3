"""A notebook of the book in its plain form."""

import base64
import copy
import mimetypes
import re
from string import Template

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from course_lib.authoring.names import names
from course_lib.authoring.notebooks import as_json, is_folded, number_cells, read_notebook
from course_lib.authoring.plain.index import Index, figure_label
from course_lib.authoring.plain.quizzes import as_markdown, questions_of
from course_lib.authoring.plain.text import EXPLORER, Writer
from course_lib.authoring.seeds_in_tables import with_seeds

TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)
# The tag keeps the cell out of what a grader executes; `%pip` installs into the Python that runs the notebook.
INSTALL = Template("""\
# "$title", of the book "$book",
# in a form that JupyterLab, GitHub and Colab show. This cell installs the code of the course, where it is missing.
try:
    import course_lib
except ImportError:
    %pip install --quiet "course_lib @ git+$repository@$branch\"""")


def plain_page(page: str, index: Index) -> str:
    """Return the file of the plain form of `page`, such as "book/05_scaling_and_masking"."""
    return as_json(plain_notebook(read_notebook(index.home / f"{page}.ipynb"), page, index))


def plain_notebook(notebook: NotebookNode, page: str, index: Index) -> NotebookNode:
    """Return what any notebook viewer shows of `notebook`, with its code and its outputs.

    Raises CourseError where a text has something that has no plain form, or refers to what is not there.
    """
    writer = Writer(page, index)
    plain = NotebookNode(
        cells=[_install(page, index)],
        metadata=NotebookNode(kernelspec=notebook.metadata.kernelspec, language_info={"name": "python"}),
        nbformat=4,
        nbformat_minor=5,
    )
    cells = copy.deepcopy(notebook.cells)
    for number, cell in enumerate(cells):
        plain.cells += _plain_cells(cell, cells[number + 1 :], writer)
    if writer.cited:
        plain.cells.append(new_markdown_cell(f"## References\n\n{index.bibliography.listed(writer.cited)}"))
    number_cells(plain)
    return plain


def _install(page: str, index: Index) -> NotebookNode:
    named = {"title": index.pages[page].words, "book": index.title}
    source = INSTALL.substitute(named, repository=index.repository, branch=index.branch)
    return new_code_cell(source, metadata={"tags": ["not-graded"]})


def _plain_cells(cell: NotebookNode, later: list[NotebookNode], writer: Writer) -> list[NotebookNode]:
    """Return what becomes of a cell before the `later` ones; the caption of a figure is a cell of its own."""
    if cell.cell_type == "markdown":
        return [_text_cell(cell, writer)]
    if questions := questions_of(cell.source):
        return [new_markdown_cell(as_markdown(number, question)) for number, question in enumerate(questions, 1)]
    label, options = figure_label(cell), cell.metadata.pop("mystnb", {})
    outputs = [_plain_output(output, writer) for output in cell.outputs]
    cell.outputs = [output for output in outputs if output]
    tags = cell.metadata.get("tags", [])
    says_text_alone = all("text/markdown" in output.get("data", {}) for output in cell.outputs)
    if "remove-input" in tags and says_text_alone and not _is_needed(cell, later):
        text = "\n\n".join(output.data["text/markdown"] for output in cell.outputs)
        return [new_markdown_cell(text)] if text else []
    if is_folded(cell):
        cell.metadata["cellView"] = "form"  # how Colab folds a cell, which shows its title then
        cell.source = f"# @title {'Code of the figure' if label else 'Code'}\n{cell.source}"
    return [cell, _caption_cell(label, options, writer)] if label else [cell]


def _is_needed(cell: NotebookNode, later: list[NotebookNode]) -> bool:
    """Return whether one of the later cells reads a name that this one makes."""
    made, _ = names(cell.source)
    return any(made & names(each.source)[1] for each in later if each.cell_type == "code")


def _caption_cell(label: str, options: dict, writer: Writer) -> NotebookNode:
    """Return what stands under a figure, and its description for who cannot see it: no viewer shows one beside it."""
    caption = writer.caption(label, options["figure"]["caption"])
    said = options.get("image", {}).get("alt")
    folded = f"\n\n<details><summary>The picture in words</summary>\n\n{said}\n\n</details>" if said else ""
    return new_markdown_cell(caption + folded)


def _text_cell(cell: NotebookNode, writer: Writer) -> NotebookNode:
    writer.pictures.clear()
    cell.source = writer.text(cell.source)
    for picture in writer.pictures:
        content = base64.b64encode((writer.index.home / picture).read_bytes()).decode()
        name, kind = picture.rpartition("/")[2], mimetypes.guess_type(picture)[0]
        cell.setdefault("attachments", {})[name] = {kind: content}
    return cell


def _as_picture(drawing: str) -> str:
    """Return HTML that shows a drawing as a picture: of inline SVG, a viewer that trusts nobody keeps the letters."""
    title = TITLE.search(drawing)
    address = f"data:image/svg+xml;base64,{base64.b64encode(drawing.encode()).decode()}"
    return f'<img alt="{title[1] if title else ""}" src="{address}">'


def _plain_output(output: NotebookNode, writer: Writer) -> NotebookNode | None:
    """Return an output that needs no script of the book, None where it is nothing but a script."""
    data = output.get("data", {})
    if data.pop("application/javascript", None) and set(data) <= {"text/plain"}:
        return None
    if "text/markdown" in data:
        data["text/markdown"] = writer.text(data["text/markdown"])
    if "image/svg+xml" in data and "<svg" in data.get("text/html", ""):
        data["text/html"] = _as_picture(data["image/svg+xml"])
    if EXPLORER.search(data.get("text/html", "")):
        data["text/html"] = writer.explorer(data["text/html"])
    if "text/html" in data:
        data["text/html"] = with_seeds(data["text/html"], writer.index.claims(writer.page))
    return output
