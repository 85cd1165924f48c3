import re

import pytest

from course_lib.authoring.light_pages import FORMULAS, lighten
from course_lib.authoring.style_sheets import names_used

HEAD = """<head>
  <link href="../_static/styles/theme.css?digest=1" rel="stylesheet" />
  <link rel="stylesheet" type="text/css" href="../_static/course.css?v=2" />
  <script defer src="../_static/scripts/fontawesome.js?digest=1"></script>
  <script src="../_static/options.js"></script>
  <script>window.MathJax = {"options": {}}</script>
  <script defer="defer" src="../_static/mathjax/tex-chtml.js"></script>
  <script>DOCUMENTATION_OPTIONS.pagename = 'book/page';</script>
  <script defer="defer" src="../_static/explorers.js?v=3"></script>
  <script defer="defer" src="../_static/heads_explorer.js?v=4"></script>
  <script defer="defer" src="../_static/text_explorer.js?v=5"></script>
</head><body id="top"><div class="heads-explorer explorer"></div>
  <script>choice.className = "Choice"</script></body>"""
COLOURS = """.explorer, .gone { color: red }
.gone > a { color: green }
a:not(.gone) { color: blue }
#top .opened { color: grey }
.Choice { color: pink }
@media print { .gone { color: white } .explorer { color: black } }
@media screen { .gone { color: white } }
@font-face { font-family: icons }"""


@pytest.fixture
def page(tmp_path):
    styles = tmp_path / "_static/styles"
    styles.mkdir(parents=True)
    (tmp_path / "_static/basic.css").write_text("a { background: url(file.png) }")
    (styles / "theme.css").write_text('@import "../basic.css";\nb { src: url("../fonts/b.woff2"), url(data:image/x) }')
    (tmp_path / "_static/course.css").write_text(COLOURS)
    (tmp_path / "_static/explorers.js").write_text("fold.classList.add('opened')")
    file = tmp_path / "book/page.html"
    file.parent.mkdir()
    file.write_text(HEAD)
    lighten(file, names_used(tmp_path))
    return file


def sheet_of(page):
    (link,) = re.findall(r'<link[^>]*href="([^"]*)"', page.read_text())
    return page.parent / link


def test_style_sheets_become_one_that_finds_its_files(page):
    styles = sheet_of(page).read_text()
    assert re.findall(r"url\(.*?\)", styles) == ["url(../file.png)", "url(../fonts/b.woff2)", "url(data:image/x)"]
    assert sheet_of(page).parent.name == "styles"  # as seen from there


def test_rules_stay_for_what_is_on_a_page_or_in_a_script(page):
    styles = sheet_of(page).read_text()
    colours = ["red", "blue", "grey", "pink", "black"]  # in this order, which decides between rules of one weight
    assert re.findall(r"color: (\w+)", styles) == colours
    assert ".explorer{" in styles and "@media print {" in styles and "font-family: icons" in styles


def test_what_the_page_does_not_need_is_left_out(page):
    scripts = re.findall(r'src="[^"]*/(\w+)\.js', page.read_text())
    assert scripts == ["options", "explorers", "heads_explorer"]
    assert "MathJax" not in page.read_text()


def test_no_script_is_waited_for(page):
    assert all("defer" in tag for tag in re.findall("<script[^>]*src=[^>]*>", page.read_text()))
    assert "Loaded\", () => { DOCUMENTATION_OPTIONS.pagename = 'book/page'" in page.read_text()


def test_formulas_come_after_the_text(page):
    page.write_text(HEAD.replace("</div>", '<span class="math">x</span></div>'))
    lighten(page, frozenset())
    text = page.read_text()
    assert text.index("window.MathJax = {") < text.index('src: "../_static/mathjax/tex-') and not FORMULAS.search(text)


def test_a_file_that_is_no_page_of_the_theme_stays(tmp_path):
    file = tmp_path / "report.html"
    file.write_text("<p>none</p>")
    lighten(file, frozenset())
    assert file.read_text() == "<p>none</p>"
