from course_lib.authoring.library_links import imported, with_links

NAMES = {"attend": "course_lib.attention.attend", "gone": "course_lib.attention.gone"}


def linked(code: str) -> str:
    def address(name):
        return {"course_lib.attention.attend": "library.html#attend"}.get(name)

    before, after = '<div class="highlight"><pre>', "</pre>"
    return with_links(before + code + after, NAMES, address).removeprefix(before).removesuffix(after)


def test_a_name_of_the_library_is_a_link_and_others_are_not():
    name = '<span class="n">attend</span>'
    link = f'<a class="library" href="library.html#attend">{name}</a>'
    assert linked(f'{name}<span class="p">(</span>') == f'{link}<span class="p">(</span>'
    for other in (
        '<span class="n">attending</span>',
        '<span class="n">gone</span>',  # not on the library's page
        f'<span class="n">x</span><span class="o">.</span>{name}',  # an attribute of something else
        f'{name}<span class="o">=</span>',  # an argument, or a variable
        '<span class="s">attend</span>',
    ):
        assert linked(other) == other


def test_text_outside_of_code_stays_as_it_is():
    text = '<p><span class="n">attend</span></p>'
    assert with_links(text, NAMES, str) == text


def test_only_what_comes_from_the_library_counts():
    cells = ["from torch import nn\nfrom course_lib import figures\nimport course_lib", "!ls", "attend = 1"]
    assert imported(cells) == {"figures": "course_lib.figures"}
