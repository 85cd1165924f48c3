"""The pages of the book, in the order of its table of contents (_toc.yml)."""


def pages(part: dict) -> list[str]:
    """Return the pages that `part` of a table of contents names, without suffix, in order.

    >>> chapter = {"file": "book/00.ipynb", "sections": [{"file": "exercises/00.ipynb"}]}
    >>> pages({"root": "book/intro", "parts": [{"caption": "I", "chapters": [chapter]}]})
    ['book/intro', 'book/00', 'exercises/00']
    """
    own = [part[key].removesuffix(".ipynb").removesuffix(".md") for key in ("root", "file") if key in part]
    below = part.get("parts", []) + part.get("chapters", []) + part.get("sections", [])
    return own + [page for each in below for page in pages(each)]
