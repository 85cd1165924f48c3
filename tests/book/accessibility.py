"""What axe finds on an open page, in the light and in the dark."""

from pathlib import Path

import axe_playwright_python
from playwright.sync_api import Page

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
MARK = "data-contrast-is-judged"
TEXTS_TO_JUDGE = Path(__file__).with_name("texts_to_judge.js").read_text(encoding="utf-8")
AS_PLAIN_TEXT = Path(__file__).with_name("as_plain_text.js").read_text(encoding="utf-8")
# Colours that fade from one scheme to the other are judged where they end, without waiting for it.
AT_ONCE = "*, ::before, ::after { transition-duration: 0s !important; animation-duration: 0s !important }"
# preload would fetch the style sheets once more, and complain in the console
OPTIONS = {"preload": False, "resultTypes": ["violations"]}
# In the dark the elements are the same, but for their colours and for pictures that are shown there alone.
IN_THE_DARK = {"runOnly": ["color-contrast", "link-in-text-block", "image-alt", "svg-img-alt", "role-img-alt"]}


def violations(page: Page) -> dict[str, list[str]]:
    """Return, by colour scheme, what breaks a rule, as "rule: element"; takes from the page what axe need not judge."""
    page.add_style_tag(content=AT_ONCE)
    for scheme in ("light", "dark"):
        _show(page, scheme)
        page.evaluate(TEXTS_TO_JUDGE, MARK)
    page.evaluate(AS_PLAIN_TEXT, MARK)
    page.evaluate(AXE)
    page.evaluate("(mark) => axe.configure({rules: [{id: 'color-contrast', selector: `[${mark}]`}]})", MARK)
    dark = _broken(page, OPTIONS | IN_THE_DARK)
    _show(page, "light")
    return {"light": _broken(page, OPTIONS), "dark": dark}


def _show(page: Page, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    # The theme's own switch follows the scheme; a page without one follows by its style sheet.
    page.wait_for_function(f"[undefined, '{scheme}'].includes(document.documentElement.dataset.theme)")


def _broken(page: Page, options: dict) -> list[str]:
    found = page.evaluate("(options) => axe.run(options)", options)["violations"]
    return [f"{each['id']}: {node['html']}" for each in found for node in each["nodes"]]
