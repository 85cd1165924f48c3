import re

import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.ttLib import TTFont
from fontTools.ttLib.tables._g_l_y_f import Glyph
from pygments.styles import get_style_by_name
from pygments.token import STANDARD_TYPES, Token

from course_lib.authoring.light_pages import FORMULAS, lighten
from course_lib.authoring.style_sheets import names_used, one_sheet

STANDARD = {short: token for token, short in STANDARD_TYPES.items()}
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
    config, script = text.index("window.MathJax = {"), text.index('defer src="../_static/formulas.js"')
    assert config < script and 'data-mathjax="../_static/mathjax/tex-chtml.js"' in text and not FORMULAS.search(text)


def test_the_first_figure_is_fetched_first_and_code_says_how_long_it_is(page):
    code = '<span class="k">for</span><span class="w"> </span><span class="n">x</span>\n<span class="c1">two</span>'
    figures = '<figure id="a">\n<img src="a.png"/></figure><figure><img src="b.png"/></figure>'
    page.write_text(HEAD.replace("</div>", f'{figures}<pre id="c">{code}\n</pre></div>'))
    lighten(page, frozenset())
    text = page.read_text()
    assert text.count("fetchpriority") == 1 and '<img fetchpriority="high" src="a.png"/>' in text
    light = '<span class="k">for</span> x\n<span class="c1">two</span>\n'
    assert f'<pre style="--lines: 2" id="c">{light}</pre>' in text


@pytest.mark.parametrize("style", ["a11y-high-contrast-light", "a11y-high-contrast-dark"])  # those of _config.yml
def test_what_loses_its_element_has_the_colour_of_all_text(style):
    colours = {token: look["color"] for token, look in get_style_by_name(style)}
    assert {colours[STANDARD[short]] for short in ("n", "nn", "p", "w")} == {colours[Token.Text]}


def test_a_font_of_icons_keeps_the_icons_that_rules_show(page):
    fonts = page.parents[1] / "_static/fonts"
    fonts.mkdir()
    builder = FontBuilder(1000)
    builder.setupGlyphOrder([".notdef", "shown", "other"])
    builder.setupCharacterMap({0xF002: "shown", 0xF003: "other"})
    builder.setupGlyf(dict.fromkeys((".notdef", "shown", "other"), Glyph()))
    builder.setupHorizontalMetrics(dict.fromkeys((".notdef", "shown", "other"), (500, 0)))
    builder.setupHorizontalHeader()
    builder.setupOS2()
    builder.setupPost()
    builder.save(fonts / "fa-solid.ttf")
    formats = 'url(../fonts/fa-solid.woff2) format("woff2"), url(../fonts/fa-solid.ttf) format("truetype")'
    sheet = page.parents[1] / "_static/styles/theme.css"
    icons = '.icon:before { content: "\\f002" }\n.gone { content: "\uf003" }'
    sheet.write_text(f"@font-face {{ src: {formats} }}\n{icons}")
    page.write_text(HEAD)
    one_sheet.cache_clear()
    lighten(page, frozenset({"icon"}))
    assert 'src: url(../fonts/fa-solid.woff) format("woff")' in sheet_of(page).read_text()
    assert set(TTFont(fonts / "fa-solid.woff").getBestCmap()) == {0xF002}


def test_a_file_that_is_no_page_of_the_theme_stays(tmp_path):
    file = tmp_path / "report.html"
    file.write_text("<p>none</p>")
    lighten(file, frozenset())
    assert file.read_text() == "<p>none</p>"
