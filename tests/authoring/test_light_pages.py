import re

import pytest

from course_lib.authoring.light_pages import FORMULAS, lighten

HEAD = """<head>
  <link href="../_static/styles/theme.css?digest=1" rel="stylesheet" />
  <link rel="stylesheet" type="text/css" href="../_static/course.css?v=2" />
  <script defer src="../_static/scripts/fontawesome.js?digest=1"></script>
  <script defer="defer" src="../_static/mathjax/tex-chtml.js"></script>
  <script defer="defer" src="../_static/explorers.js?v=3"></script>
  <script defer="defer" src="../_static/heads_explorer.js?v=4"></script>
  <script defer="defer" src="../_static/text_explorer.js?v=5"></script>
</head><body><div class="heads-explorer explorer"></div></body>"""


@pytest.fixture
def page(tmp_path):
    styles = tmp_path / "_static/styles"
    styles.mkdir(parents=True)
    (tmp_path / "_static/basic.css").write_text("a { background: url(file.png) }")
    (styles / "theme.css").write_text('@import "../basic.css";\nb { src: url("../fonts/b.woff2"), url(data:image/x) }')
    (tmp_path / "_static/course.css").write_text("c { color: red }")
    file = tmp_path / "book/page.html"
    file.parent.mkdir()
    file.write_text(HEAD)
    lighten(file)
    return file


def test_style_sheets_become_one_that_finds_its_files(page):
    (link,) = re.findall(r'<link[^>]*href="([^"]*)"', page.read_text())
    styles = (page.parent / link).read_text()
    assert re.findall(r"url\(.*?\)", styles) == ["url(../file.png)", "url(../fonts/b.woff2)", "url(data:image/x)"]
    assert "color: red" in styles
    assert (page.parent / link).parent.name == "styles"  # as seen from there


def test_what_the_page_does_not_need_is_left_out(page):
    scripts = re.findall(r'src="[^"]*/(\w+)\.js', page.read_text())
    assert scripts == ["explorers", "heads_explorer"]


def test_formulas_come_after_the_text(page):
    assert 'src: "../_static/mathjax/tex-chtml.js"' in page.read_text() and not FORMULAS.search(page.read_text())


def test_a_file_that_is_no_page_of_the_theme_stays(tmp_path):
    file = tmp_path / "report.html"
    file.write_text("<p>none</p>")
    lighten(file)
    assert file.read_text() == "<p>none</p>"
