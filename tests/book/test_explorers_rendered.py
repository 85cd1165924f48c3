"""Each explorer in a real browser: it says what torch says, answers to the keyboard, and can be read by everyone."""

import re

import pytest
import torch
import yaml

from course_lib import pretrained
from course_lib.attention import attend, scaled_dot_product_attention, simple_self_attention
from course_lib.cache import KeyValueCache
from course_lib.capstone import load_caption_transformer, write_captions
from course_lib.costs import count_multiply_adds
from course_lib.data import negations, scenes
from course_lib.data import python_reference as reference
from course_lib.data.number_names import START, VOCABULARY, held_out, names
from course_lib.data.running_example import FEATURES, TOKENS, W_K, W_O, W_Q, W_V, K, Q, V, X
from course_lib.decoding import sampling_probabilities
from course_lib.diagrams import number as as_drawn
from course_lib.explorers.cache import explore_cache
from course_lib.explorers.captions import draw_scene, explore_captions
from course_lib.explorers.heads import explore_heads
from course_lib.explorers.hiding import explore_hiding
from course_lib.explorers.induction import LETTERS, explore_induction
from course_lib.explorers.looking import explore_looking
from course_lib.explorers.masking import explore_masking
from course_lib.explorers.orders import explore_orders, steps_until_learned, when_learned
from course_lib.explorers.orders_table import read_table
from course_lib.explorers.permutation import explore_permutation
from course_lib.explorers.positions import explore_positions
from course_lib.explorers.query import PIXELS, explore_query
from course_lib.explorers.routing import explore_routing
from course_lib.explorers.speculation import explore_speculation
from course_lib.explorers.text import explore_text
from course_lib.explorers.translation import explore_translation
from course_lib.inspection import induction_score, record_attention
from course_lib.masks import causal_mask
from course_lib.models.attention_only import AttentionOnly
from course_lib.models.classifier import SequenceClassifier
from course_lib.models.encoder_decoder import EncoderDecoder
from course_lib.multi_head import MultiHeadAttention
from course_lib.positions import rotate_by_position, sinusoidal_positions
from course_lib.project import root
from tests.book.accessibility import violations
from tests.book.page_of_the_book import open_page

pytestmark = pytest.mark.rendered
GENERATOR = torch.Generator().manual_seed(7)
QUERIES, KEYS = torch.randn(2, 6, 1024, generator=GENERATOR)  # (token, d_key) each

BIAS = -0.25 * (torch.arange(24) - torch.arange(24).unsqueeze(1)).abs()  # (query, key)

REVIEWS = negations.draw_reviews(20, GENERATOR).words  # (review, time)
WRITTEN = ["the", "cat", "saw", "itself", "in", "the", "mirror", "and", "ran"]
OF_ROUTERS = torch.Generator().manual_seed(16)
TEXT = "def sum(numbers):\n    total = 0\n    for each in numbers:\n"
ROUTINGS = {  # a text's characters in three layers, as two routers send them that nobody trained
    name: [
        [list(zip(*each, strict=True)) for each in zip(chosen.tolist(), shares.tolist(), strict=True)]
        for chosen, shares in (
            (logits.topk(2).indices, logits.topk(2).values.softmax(dim=-1))
            for logits in scale * torch.randn(3, 1, 8, generator=OF_ROUTERS)
            + torch.randn(3, len(TEXT), 8, generator=OF_ROUTERS)
        )
    ]
    for name, scale in (("with balancing", 0.1), ("without balancing", 2.0))
}
ROUNDS = (  # of speculative decoding: one rejects its third draft, one keeps all, one rejects the first of two
    (
        (("sees ", 0.6, 0.72, 0.91), ("it", 0.4, 0.3, 0.52), ("s ", 0.7, 0.14, 0.63), ("ear", 0.5, 0.5, 0.2)),
        "self ",
    ),
    ((("in ", 0.9, 0.8, 0.1), ("the ", 0.8, 0.9, 0.99), ("mirr", 0.056, 0.042, 0.6), ("or", 1.0, 1.0, 0.999)), "\n"),
    (((" ", 0.8, 0.0, 0.0), ("and ", 0.2, 0.7, 0.4)), "<end>"),
)
CAPTIONER = load_caption_transformer()
with torch.no_grad():
    for each in CAPTIONER.parameters():
        each.mul_(1.001)  # as one that was trained on the page, no longer exact in float16
SHIPPED, _ = pretrained.load("python_reference")


def network() -> EncoderDecoder:
    """A network whose logits are as large as those of a trained one."""
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = EncoderDecoder(len(VOCABULARY))
    with torch.no_grad():
        model.decoder_norm.gain.mul_(4)
    return model


def classifier(**how) -> SequenceClassifier:
    """A classifier whose logits are as large as those of a trained one."""
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = SequenceClassifier(len(negations.VOCABULARY), classes=2, **how).eval()
    with torch.no_grad():
        model.to_logits.weight.mul_(8)
    return model


def attention_only() -> AttentionOnly:
    """A model whose logits are as large as those of a trained one, and whose heads look at single positions."""
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = AttentionOnly(vocab_size=32, max_length=32, heads=4).eval()
    with torch.no_grad():
        model.unembed.weight.mul_(8)
        for attention in model.attentions:
            attention.to_query.weight.mul_(4)
    return model


EXPLORERS = {
    "cache": lambda: explore_cache(WRITTEN, prompt=3, d_model=128, heads=4),
    "captions": lambda: explore_captions(CAPTIONER, "red circle above yellow triangle"),
    "heads": lambda: explore_heads(Q, K, V, W_O, TOKENS),
    "hiding": lambda: explore_hiding(classifier(), REVIEWS),
    "induction": lambda: explore_induction(attention_only(), "attention0attent"),
    "looking": lambda: explore_looking(torch.rand(2, 3, 8, 8), [["a", "b"]] * 2, torch.full((2, 2, 4), 0.25)),
    "masking": lambda: explore_masking(QUERIES, KEYS),
    "orders": explore_orders,
    "permutation": lambda: explore_permutation(X, TOKENS, FEATURES),
    "positions": lambda: explore_positions(X[[3, 1]], W_Q, W_K, BIAS),
    "query": lambda: explore_query(Q[3, :2], K[:, :2], V[:, :2], TOKENS),
    "routing": lambda: explore_routing(TEXT, ROUTINGS, experts=8),
    "speculation": lambda: explore_speculation("the cat ", ROUNDS),
    "text": lambda: explore_text(SHIPPED, 'The "with" statement and the "wi', layer=3, head=2),
    "translation": lambda: explore_translation(network(), 947_863),
}
DRAWN = "svg path.arrow, :is(.orders-explorer, .positions-explorer) path"  # what the script draws anew
SHARED = ("explorers.js", "forward_pass.js")
READ_TEXT = "(tokens) => document.querySelector('.text-explorer').model.read(tokens)"
SOFTMAX = '<div class="softmax-explorer" data-scores="0.5,2,1"><p>A figure with a slider.</p></div>'


@pytest.fixture(scope="module")
def open_explorer(browser):
    pages = {}

    def open_once(kind):
        if kind not in pages:
            shown = EXPLORERS[kind]().data if kind in EXPLORERS else SOFTMAX
            pages[kind] = open_page(browser, shown, (*SHARED, f"{kind}_explorer.js"))
        return pages[kind]

    yield open_once
    for page in pages.values():
        page.close()


def bars(page):
    return torch.tensor([float(share) for share in page.locator("td.bar").all_inner_texts()])


@pytest.mark.parametrize("kind", [*EXPLORERS, "softmax"])
def test_it_can_be_read_by_everyone_at_both_widths(open_explorer, kind):
    page = open_explorer(kind)
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") == width
        inner = "(all) => all.filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.className)"
        assert not page.locator("[class*=-explorer]").evaluate_all(inner)
        small = "(all) => all.filter((each) => each.innerText && parseFloat(getComputedStyle(each).fontSize) < 13)"
        assert page.locator("[class*=-explorer] *").evaluate_all(f"(all) => ({small})(all).length") == 0
    assert violations(page) == {"light": [], "dark": []}


@pytest.mark.parametrize(
    "kind",
    [
        *("cache", "captions", "heads", "hiding", "induction", "masking", "orders", "permutation", "positions"),
        *("query", "routing", "speculation", "text"),
    ],
)
def test_the_figure_without_script_is_the_one_that_the_script_begins_with(browser, open_explorer, kind):
    with open_page(browser, EXPLORERS[kind]().data) as still:
        assert "is interactive" in still.locator(".hint").inner_text()
        before = [still.locator(each).all_inner_texts() for each in ("td", "svg text")]
        drawn = still.locator(DRAWN).evaluate_all("(all) => all.map((each) => each.getAttribute('d'))")
    page = open_explorer(kind)
    page.evaluate("document.querySelector('input')?.dispatchEvent(new Event('input', { bubbles: true }))")
    assert [page.locator(each).all_inner_texts() for each in ("td", "svg text")] == before
    assert page.locator(DRAWN).evaluate_all("(all) => all.map((each) => each.getAttribute('d'))") == drawn


def test_the_scripts_of_the_book_live_together_on_one_page(browser):
    settings = yaml.safe_load((root() / "_config.yml").read_text(encoding="utf-8"))["sphinx"]["config"]
    scripts = [script for script, _ in settings["html_js_files"]]
    assert all(attributes == {"defer": "defer"} for _, attributes in settings["html_js_files"])  # the text comes first
    assert [*SHARED, *(f"{kind}_explorer.js" for kind in sorted([*EXPLORERS, "softmax"]))] == scripts[1:-2]
    shown = "".join(make().data for kind, make in EXPLORERS.items() if kind != "text")  # which has many weights
    with open_page(browser, shown, tuple(scripts)) as page:
        assert page.locator(".explorer").count() == len(EXPLORERS) - 1
        assert page.locator(".hint").count() == 0  # each script has taken its own away
        assert page.locator(".explorer:has(button, input)").count() == len(EXPLORERS) - 1


def test_a_query_is_moved_by_the_keyboard_and_by_hand(open_explorer):
    page = open_explorer("query")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.get_by_label("first entry of q").focus()
    for _ in range(15):
        page.keyboard.press("ArrowRight")
    _, weights = attend(torch.tensor([[1.5, 2.0]]), K[:, :2], V[:, :2])
    torch.testing.assert_close(bars(page), weights[0], atol=0.006, rtol=0)
    assert "(1.5, 2)" in page.get_by_role("status").inner_text()

    page.locator(".handle").hover()
    x, y = page.locator("svg.keys").evaluate("(svg) => [svg.getBoundingClientRect().x, svg.getBoundingClientRect().y]")
    side = page.locator("svg.keys").evaluate("(svg) => svg.clientWidth")
    page.mouse.down()
    page.mouse.move(x + side / 2 + 2 * PIXELS, y + side / 2 + PIXELS)  # 2 to the right, 1 down
    page.mouse.up()
    output, weights = attend(torch.tensor([[2.0, -1.0]]), K[:, :2], V[:, :2])
    torch.testing.assert_close(bars(page), weights[0], atol=0.006, rtol=0)
    place = page.locator("circle.output").evaluate("(dot) => [dot.getAttribute('cx'), dot.getAttribute('cy')]")
    torch.testing.assert_close(torch.tensor([float(each) for each in place]), output[0], atol=0.01, rtol=0)


def test_outputs_follow_their_tokens_unless_a_mask_makes_the_order_count(open_explorer):
    page = open_explorer("permutation")
    page.get_by_role("button", name="exchange “the” and “cat”").press("Enter")
    page.get_by_role("button", name="exchange “the” and “sees”").click()
    permuted = X[[1, 2, 0, 3]]  # cat sees the itself
    output, weights = simple_self_attention(permuted)

    def entries():
        return page.locator("table").last.locator("td:not(:empty)").all_inner_texts()

    torch.testing.assert_close(bars(page), weights.flatten(), atol=0.006, rtol=0)
    assert entries() == [as_drawn(entry) for entry in output.flatten().tolist()]
    assert "“cat sees the itself”. Each token has the same output" in page.get_by_role("status").inner_text()
    assert page.locator("td.moved").count() == 0

    page.get_by_label("itself and earlier tokens").check()
    output, weights = attend(permuted, permuted, permuted, causal_mask(4))
    torch.testing.assert_close(bars(page), weights.flatten(), atol=0.006, rtol=0)
    assert entries() == [as_drawn(entry) for entry in output.flatten().tolist()]
    assert "The output has changed for “cat”, “sees”, “the”." in page.get_by_role("status").inner_text()
    page.get_by_role("button", name="first order").click()
    assert page.locator("td.moved").count() == 0


@pytest.mark.parametrize(("panel", "code"), [(0, "sinusoids"), (1, "RoPE"), (2, "ALiBi")])
def test_what_positions_add_is_what_torch_says_wherever_query_and_key_stand(open_explorer, panel, code):
    page = open_explorer("positions")
    tokens = X[[3, 1]].double()  # (2, d_model): "itself" asks, and "cat" is read
    if code == "sinusoids":
        codes = sinusoidal_positions(24, 4, torch.float64)  # (time, d_model)
        scores = (tokens[0] + codes) @ W_Q.double().T @ ((tokens[1] + codes) @ W_K.double().T).T / 2
    else:
        query, key = Q[3].double().expand(24, -1), K[1].double().expand(24, -1)  # (time, d_key) each
        turned = [rotate_by_position(each) if code == "RoPE" else each for each in (query, key)]
        scores = turned[0] @ turned[1].T / 2 + (BIAS if code == "ALiBi" else 0)
    position, offset = page.get_by_label("query at i"), page.get_by_label("offset j − i")
    position.focus()
    page.keyboard.press("Home")  # position 6: a quarter of 24 positions have to be before it
    page.keyboard.press("ArrowRight")
    for delta in (-6, -2, 0, 5):
        offset.fill(str(delta))
        everywhere = scores.diagonal(delta)[6 + min(delta, 0) : 18 + min(delta, 0)]  # of the queries 6 to 17
        assert len(everywhere) == 12 and torch.equal(everywhere[1], scores[7, 7 + delta])
        expected = torch.stack([everywhere[1], everywhere.min(), everywhere.max()])
        row = page.locator("tr", has=page.get_by_role("rowheader", name=code))
        cells = [float(each.replace("−", "-")) for each in row.locator("td").all_inner_texts()]
        torch.testing.assert_close(torch.tensor(cells), expected.float(), atol=0.006, rtol=0)
        said = page.get_by_role("status").inner_text()
        assert f"Query at 7, key at {7 + delta}:" in said
        assert (f"{code} {as_drawn(expected[0].item())} (the same for all queries)" in said) == (code != "sinusoids")
        drawn = page.locator("svg").nth(panel).locator("path.here").get_attribute("d")
        here = drawn.removesuffix("h0").removeprefix("M").split()
        torch.testing.assert_close(
            torch.tensor([float(each) for each in here]), torch.tensor([delta, expected[0]]).float(), atol=1e-3, rtol=0
        )


@pytest.mark.parametrize(("width", "rows"), [(1280, 1), (390, 3)])
def test_the_panels_of_positions_stand_side_by_side_or_below_one_another(open_explorer, width, rows):
    page = open_explorer("positions")
    page.set_viewport_size({"width": width, "height": 900})
    tops = page.locator("svg").evaluate_all("(all) => all.map((each) => each.getBoundingClientRect().top)")
    assert len(tops) == 3 and len(set(tops)) == rows


def test_the_losses_of_a_stack_are_those_that_were_measured(open_explorer):
    page = open_explorer("orders")
    depth, rate = page.get_by_label("blocks"), page.get_by_label("learning rate")
    assert (depth.get_attribute("aria-valuetext"), rate.get_attribute("aria-valuetext")) == ("16", "0.01")
    rate.focus()
    page.keyboard.press("End")
    for place, blocks in enumerate((2, 4, 8, 16)):
        depth.fill(str(place))
        rows = [row for row in read_table() if (row["depth"], row["learning_rate"]) == (blocks, 0.03)]
        for kind, row in enumerate(rows):  # whichever is drawn below the others
            paths = page.locator(f"path.training.kind-{kind}")
            drawn = paths.evaluate_all("(all) => all.map((each) => each.getAttribute('d'))")
            curves = [[float(point.split()[1]) for point in each.removeprefix("M").split("L")] for each in drawn]
            assert curves == row["losses"]
        assert page.locator("th[scope=row]").all_inner_texts() == [row["order"] for row in rows]
        cells = page.locator("td:not(:empty)").all_inner_texts()
        assert cells[1::2] == [when_learned(row["losses"]) for row in rows]
        for cell, row in zip(cells[::2], rows, strict=True):
            last = [losses[-1] for losses in row["losses"]]
            low, *_, high = [float(each) for each in cell.split(" to ") * 2]
            assert (low, high) == pytest.approx((min(last), max(last)), abs=0.0051)
        said = page.get_by_role("status").inner_text()
        assert f"{blocks} blocks, learning rate 0.03. " in said
        for row in rows:
            learned = sum(steps_until_learned(losses) is not None for losses in row["losses"])
            assert f"{learned} of 3 with {row['order']}" in said


@torch.no_grad()
def test_heads_add_to_the_output_what_the_layer_says(open_explorer):
    page = open_explorer("heads")
    layer = MultiHeadAttention(d_model=4, heads=2, bias=False)
    for projection, weight in zip(
        (layer.to_query, layer.to_key, layer.to_value, layer.to_output), (W_Q, W_K, W_V, W_O), strict=True
    ):
        projection.weight.copy_(weight)
    inputs = X.unsqueeze(0)

    def entries():
        rows = page.locator("table").last.locator("tr").all()[1:]
        return [row.locator("td").all_inner_texts() for row in rows]

    def drawn(numbers):
        return [as_drawn(entry) for entry in numbers.tolist()]

    for token, name in enumerate(TOKENS):
        page.get_by_role("group", name="output of").get_by_label(name).check()
        output, weights = layer(inputs)
        assert entries()[-1] == drawn(output[0, token]) and page.locator("tr.chosen th").inner_text() == name
        for head in range(2):
            page.get_by_role("group", name="weights of").get_by_label(f"head {1 + head}").check()
            torch.testing.assert_close(bars(page), weights[0, head].flatten(), atol=0.006, rtol=0)
            box = page.get_by_role("group", name="switched on").get_by_label(f"head {2 - head}")  # the other one
            box.press("Space")
            layer.to_output.weight.copy_(W_O)
            layer.to_output.weight[:, 2 * (1 - head) : 2 * (1 - head) + 2] = 0
            alone = layer(inputs)[0][0, token]
            layer.to_output.weight.copy_(W_O)
            assert entries()[-1] == entries()[1 + head] == drawn(alone) and entries()[2 - head] == 4 * ["0"]
            assert page.locator("td.moved").count() == ((alone - output[0, token]).abs() > 0.005).sum()
            assert f"Without head {2 - head}, " in page.get_by_role("status").inner_text()
            box.press("Space")
    page.get_by_label("nothing").check()
    side_by_side, *added, output = entries()
    assert output == side_by_side and added == [[*output[:2], "0", "0"], ["0", "0", *output[2:]]]
    page.get_by_label("W_o", exact=True).check()


def test_names_that_share_the_largest_weight_are_all_said(open_explorer):
    page = open_explorer("query")
    for entry, value in (("first", 1), ("second", 2)):
        page.get_by_label(f"{entry} entry of q").fill(str(value))
    assert "of its weight to each of “cat” and “itself”; the output" in page.get_by_role("status").inner_text()


@pytest.mark.parametrize(
    ("place", "row_sums"), [("none", True), ("before the softmax", True), ("after the softmax", False)]
)
def test_scores_are_scaled_and_masked_as_torch_does_it(open_explorer, place, row_sums):
    page = open_explorer("masking")
    page.get_by_label("d_k", exact=True).fill("3")  # 4 ** 3 = 64
    page.get_by_label("scores divided by").fill("0.5")  # the exponent
    page.get_by_label(place).check()
    query, key = QUERIES[:, :64], KEYS[:, :64]
    causal = torch.ones(6, 6, dtype=torch.bool).tril()
    _, weights = scaled_dot_product_attention(query, key, key, causal if place.startswith("before") else None)
    expected = weights * causal if place.startswith("after") else weights
    torch.testing.assert_close(bars(page), expected.flatten(), atol=0.006, rtol=0)
    sums = torch.tensor([float(each) for each in page.locator("td.sum").all_inner_texts()])
    torch.testing.assert_close(sums, expected.sum(dim=-1), atol=0.006, rtol=0)
    assert ("Every row sums to 1" in page.get_by_role("status").inner_text()) == row_sums


@pytest.mark.parametrize(("place", "of_the_past"), [("before the softmax", False), ("after the softmax", True)])
def test_another_last_token_moves_weights_of_the_past_only_where_the_mask_is_late(open_explorer, place, of_the_past):
    page = open_explorer("masking")
    page.get_by_label("d_k", exact=True).fill("1")  # 4 ** 1 = 4
    page.get_by_label("scores divided by").fill("0.5")
    page.get_by_label(place).check()
    page.get_by_label("changed").check()
    query, key = QUERIES[:, :4].clone(), KEYS[:, :4].clone()
    query[-1], key[-1] = -query[-1], -key[-1]
    causal = torch.ones(6, 6, dtype=torch.bool).tril()
    _, weights = scaled_dot_product_attention(query, key, key, None if of_the_past else causal)
    torch.testing.assert_close(bars(page), (weights * causal).flatten(), atol=0.006, rtol=0)
    moved = page.locator("td.bar").evaluate_all("(all) => all.map((each) => each.classList.contains('moved'))")
    assert any(moved[:-6]) == of_the_past and any(moved[-6:])
    page.get_by_label("as it is").check()
    assert page.locator("td.moved").count() == 0


def test_without_a_scale_wide_vectors_prefer_one_key(open_explorer):
    page = open_explorer("masking")
    page.get_by_label("d_k", exact=True).fill("5")
    page.get_by_label("none").check()

    def largest():
        return float(re.search(r"weight of a row is (\S+) on average", page.get_by_role("status").inner_text())[1])

    page.get_by_label("scores divided by").fill("0.5")
    scaled = largest()
    page.get_by_label("scores divided by").fill("0")
    assert largest() > 0.9 > 0.6 > scaled


@torch.no_grad()
def test_the_model_in_the_page_says_what_torch_says(open_explorer):
    page, model = open_explorer("translation"), network()
    numbers = [0, 7, 13, 20, 100, 999, 1000, 100_000, 947_863, 999_999, *held_out().numbers[:10].tolist()]
    for number in numbers:
        pair = names(torch.tensor([number]))
        tokens = pair.words[0].tolist()
        assert tokens[0] == START
        logits = page.evaluate(
            """([number, tokens]) => {
                const { translator } = document.querySelector(".translation-explorer");
                return translator.decode(tokens, translator.encode(translator.read(number))).logits;
            }""",
            [number, tokens],
        )
        torch.testing.assert_close(torch.tensor(logits), model(pair.source, pair.words)[0], atol=5e-3, rtol=0)


def test_a_number_is_typed_and_translated_token_by_token(open_explorer):
    page = open_explorer("translation")
    field = page.get_by_label("a number below a million")
    field.fill("49")
    field.press("Enter")
    assert page.locator("th[scope=col]").all_inner_texts() == ["forty", "nine"]
    assert page.get_by_role("status").inner_text().startswith(("Done", "Written so far"))
    field.fill("12,345")
    one = page.get_by_role("button", name="one token at a time")
    one.click()
    one.click()
    assert page.locator("th[scope=row]").count() == 2
    field.fill("a dozen")
    field.press("Enter")
    assert "in digits" in page.get_by_role("status").inner_text()


def test_a_word_is_chosen_by_the_keyboard(open_explorer):
    page = open_explorer("looking")
    page.get_by_role("button", name="b", exact=True).focus()
    assert page.get_by_role("img", name="when the captioner wrote “b”").count() == 1


@torch.no_grad()
def test_the_language_model_in_the_page_says_what_torch_says(open_explorer):
    page = open_explorer("text")
    passages = reference.encode(reference.text(held_out=True)).unfold(0, 250, 1500)[:20]  # (passage, 250)
    for passage, length in zip(passages, 4 * [1, 2, 30, SHIPPED.max_length, 250], strict=True):
        tokens = passage[:length]
        logits = page.evaluate(READ_TEXT, tokens.tolist())["logits"]
        expected = SHIPPED.next_token_logits(tokens.unsqueeze(0))[0]
        torch.testing.assert_close(
            torch.tensor(logits), expected, atol=1e-3, rtol=0
        )  # float16 holds its weights exactly
    begun, longer, other = passages[0, :40], passages[0, :41], passages[1, :41]
    for tokens in (begun, longer, begun, torch.cat([begun[:20], other[:21]])):  # what was kept is read where it fits
        logits = page.evaluate(READ_TEXT, tokens.tolist())["logits"]
        torch.testing.assert_close(torch.tensor(logits), SHIPPED(tokens.unsqueeze(0))[0, -1], atol=1e-3, rtol=0)


@pytest.mark.parametrize(
    ("temperature", "top_k", "top_p"),
    [(1, 96, 1), (0.5, 96, 1), (2, 5, 1), (1, 96, 0.6), (1.5, 10, 0.5), (0, 96, 1), (0, 3, 0.2), (1, 1, 0.05)],
)
def test_next_characters_are_drawn_with_the_probabilities_of_the_library(open_explorer, temperature, top_k, top_p):
    page = open_explorer("text")
    logits = (3 * torch.randn(96, generator=torch.Generator().manual_seed(5))).round(decimals=1)  # some are equal
    expected = sampling_probabilities(logits, temperature, top_k, top_p)
    call = "([logits, ...cuts]) => samplingProbabilities(logits, ...cuts)"
    found = page.evaluate(call, [logits.tolist(), temperature, top_k, top_p])
    torch.testing.assert_close(torch.tensor(found).float(), expected, atol=1e-5, rtol=0)


def test_a_draw_follows_its_probabilities_and_its_seed(open_explorer):
    page = open_explorer("text")
    draws = """(seed) => {
        const next = generatorOf(seed);
        return [...Array(4000)].map(() => draw([0.5, 0.2, 0, 0.3], next));
    }"""
    first = page.evaluate(draws, 1)
    shares = torch.tensor(first).bincount(minlength=4) / 4000
    torch.testing.assert_close(shares, torch.tensor([0.5, 0.2, 0.0, 0.3]), atol=0.03, rtol=0)
    assert page.evaluate(draws, 1) == first != page.evaluate(draws, 2)


@torch.no_grad()
def test_the_text_is_shaded_by_the_head_that_is_chosen(open_explorer):
    page = open_explorer("text")
    page.get_by_label("the text that the model reads").fill("if x is\nnot")
    page.get_by_role("group", name="layer").get_by_label("4").check()
    page.get_by_role("group", name="head").get_by_label("2").check()
    with record_attention(SHIPPED) as maps:
        probabilities = SHIPPED(reference.encode("if x is\nnot").unsqueeze(0))[0, -1].softmax(dim=-1)
    weights = maps["blocks.3.attention"][0, 1, -1]
    shades = page.locator(".shaded span").evaluate_all(
        "(all) => all.map((each) => Number(each.style.getPropertyValue('--weight-here')))"
    )
    torch.testing.assert_close(torch.tensor(shades), weights / weights.max(), atol=2e-3, rtol=0)
    names = page.locator("tr th[scope=row]").all_inner_texts()[:10]
    best = [reference.CHARACTERS[token] for token in probabilities.argsort(descending=True)[:10]]
    assert names == [{" ": "space", "\n": "new line"}.get(each, each) for each in best]
    torch.testing.assert_close(bars(page)[:20:2], probabilities.sort(descending=True).values[:10], atol=0.006, rtol=0)
    page.get_by_label("top-k").fill("3")
    assert "3 of 96 characters can be drawn" in page.get_by_role("status").inner_text()
    assert (bars(page)[1::2] > 0).sum() == 3
    page.get_by_label("top-k").fill("96")


def test_a_text_is_written_on_and_is_the_same_again(open_explorer):
    page = open_explorer("text")
    page.get_by_label("the text that the model reads").fill("The value of é ")
    assert "does not know é and reads a space" in page.get_by_role("status").inner_text()
    one = page.get_by_role("button", name="write one character")

    def write():
        page.get_by_role("button", name="start again").click()
        one.focus()
        for _ in range(12):
            page.keyboard.press("Enter")
        return page.locator(".shaded").text_content()

    first = write()
    assert first.startswith("The value of   ") and len(first) >= 15 + 12
    assert write() == first
    page.get_by_label("seed").fill("2")
    assert write() != first
    page.get_by_role("button", name="start again").click()
    page.get_by_role("button", name="write 40 characters").click()
    page.get_by_role("button", name="write 40 characters").wait_for()  # it reads "stop" until then
    assert page.locator(".shaded .written").count() == 40
    page.get_by_label("the text that the model reads").fill("")
    assert "at least one character" in page.get_by_role("status").inner_text() and one.is_disabled()
    page.get_by_label("the text that the model reads").fill("if ")
    assert one.is_enabled()


def judged(page, tokens, present):
    call = "([tokens, present]) => document.querySelector('.hiding-explorer').classifier.judge(tokens, present)"
    return torch.tensor(page.evaluate(call, [tokens.tolist(), present.tolist()]))


@torch.no_grad()
def test_the_classifier_in_the_page_says_what_torch_says(browser, open_explorer):
    others = [classifier(layers=0, positions=False), classifier(positions=False)]
    pages = [
        open_page(browser, explore_hiding(model, REVIEWS).data, (*SHARED, "hiding_explorer.js")) for model in others
    ]
    for page, model in zip([open_explorer("hiding"), *pages], [classifier(), *others], strict=True):
        for row in REVIEWS:
            tokens = row[row != negations.PADDING]
            present = torch.rand(len(tokens), generator=GENERATOR) < 0.7
            present[-1] = True
            for each in (torch.ones_like(present), present):
                expected = model(torch.where(each, tokens, negations.PADDING).unsqueeze(0))[0]
                torch.testing.assert_close(judged(page, tokens, each), expected, atol=5e-3, rtol=0)
    for page in pages:
        page.close()


@torch.no_grad()
def test_words_are_hidden_by_the_keyboard_and_shown_again(open_explorer):
    page, model = open_explorer("hiding"), classifier()
    words = page.get_by_role("group", name="words of the review").get_by_role("button")
    tokens = REVIEWS[0, : words.count()]
    before = model(tokens.unsqueeze(0))[0]
    for position in (1, words.count() - 1):
        words.nth(position).focus()
        page.keyboard.press("Space")
        tokens = tokens.index_fill(0, torch.tensor(position), negations.PADDING)
        assert words.nth(position).get_attribute("aria-pressed") == "true"
    now = model(tokens.unsqueeze(0))[0]
    praise = torch.stack([now, before]).softmax(dim=-1)[:, 1]
    torch.testing.assert_close(bars(page), praise, atol=0.006, rtol=0)
    for row, (blame, praised) in zip(page.locator("tr").all()[1:], (now.tolist(), before.tolist()), strict=True):
        shown = [float(each.replace("−", "-")) for each in row.locator("td").all_inner_texts()[:3]]
        assert shown == pytest.approx([blame, praised, praised - blame], abs=0.012)
    said = page.get_by_role("status").inner_text()
    assert f"the probability of praise is {praise[0]:.2f}, with all words {praise[1]:.2f}" in said
    for position in range(words.count()):
        if words.nth(position).get_attribute("aria-pressed") == "false":
            words.nth(position).click()
    assert "no mean of nothing" in page.get_by_role("status").inner_text()
    page.get_by_role("button", name="show all words").click()
    assert page.locator("[aria-pressed=true]").count() == 0
    page.get_by_role("button", name="another review").click()
    assert " ".join(words.all_inner_texts()) == negations.review(REVIEWS[1])


def test_a_decode_goes_step_by_step_and_costs_what_the_counter_counts(open_explorer):
    page = open_explorer("cache")
    attention, cache = MultiHeadAttention(d_model=128, heads=4), KeyValueCache()
    inputs = torch.randn(1, len(WRITTEN), 128)
    rows, costs = page.locator("table").all()
    back, forth = (page.get_by_role("button", name=name) for name in ("step back", "next step"))
    back.focus()
    for _ in WRITTEN:
        page.keyboard.press("Enter")  # no further than the first step
    forth.focus()
    so_far = [0, 0]
    for time in range(3, len(WRITTEN) + 1):
        new = inputs[:, cache.length : time]
        without = count_multiply_adds(attention, inputs[:, :time], mask=causal_mask(time))
        cached = count_multiply_adds(attention, new, mask=causal_mask(new.shape[1], time), cache=cache)
        so_far = [so_far[0] + without, so_far[1] + cached]
        shown = [
            [int(cell.replace(",", "")) for cell in row.locator("td").all_inner_texts()]
            for row in costs.locator("tr").all()[1:]
        ]
        assert shown[2] == [without, cached] and shown[3] == so_far
        assert [sum(column) for column in zip(*shown[:2], strict=True)] == shown[2]
        assert rows.locator("td:nth-child(2)").all_inner_texts() == time * ["computed"] + (len(WRITTEN) - time) * [""]
        kept = time - new.shape[1]
        expected = kept * ["read"] + new.shape[1] * ["computed"] + (len(WRITTEN) - time) * [""]
        assert rows.locator("td:nth-child(3)").all_inner_texts() == expected
        assert f"{without / cached:.1f} times" in page.get_by_role("status").inner_text() or time == 3
        page.keyboard.press("Enter")
    assert forth.get_attribute("aria-disabled") == "true" and rows.locator("caption").inner_text().startswith("Step 7:")


def letters_of(tokens):
    return "".join(LETTERS[token] for token in tokens.tolist())


@torch.no_grad()
def test_the_model_of_attention_alone_in_the_page_says_what_torch_says(open_explorer):
    page, model = open_explorer("induction"), attention_only()
    for length in [1, 2, 32, *torch.randint(3, 32, (17,), generator=GENERATOR).tolist()]:
        tokens = torch.randint(32, (1, length), generator=GENERATOR)
        call = "(tokens) => document.querySelector('.induction-explorer').model.read(tokens)"
        found = page.evaluate(call, tokens[0].tolist())
        with record_attention(model) as maps:
            logits = model(tokens)[0]
        torch.testing.assert_close(torch.tensor(found["logits"]), logits, atol=5e-3, rtol=0)
        for layer, weights in enumerate(maps.values()):
            torch.testing.assert_close(torch.tensor(found["maps"][layer]).float(), weights[0], atol=2e-3, rtol=0)


@torch.no_grad()
def test_the_map_of_a_head_and_its_score_are_those_of_the_library(open_explorer):
    page, model = open_explorer("induction"), attention_only()
    segment = torch.randperm(32, generator=GENERATOR)[:10]
    tokens = segment.repeat(2)[None, :17]
    page.get_by_label("letters that the model reads").fill(letters_of(tokens[0]).upper())
    page.get_by_role("group", name="layer").get_by_label("1").check()
    page.get_by_role("group", name="head").get_by_label("3").check()
    with record_attention(model) as maps:
        probabilities = model(tokens)[0, -1].softmax(dim=-1)
    shown = page.locator(".map i").evaluate_all(
        "(all) => all.map((each) => [Number(each.style.getPropertyValue('--weight-here')), each.className === 'match'])"
    )
    weights, outlined = torch.tensor(shown).T
    torch.testing.assert_close(weights.view(17, 17), maps["attentions.0"][0, 2], atol=2e-3, rtol=0)
    assert outlined.view(17, 17).nonzero().tolist() == [[query, query - 9] for query in range(10, 17)]
    scores = torch.cat([induction_score(each, torch.tensor([10])) for each in maps.values()])
    best = probabilities.sort(descending=True)
    torch.testing.assert_close(bars(page), torch.cat([scores, best.values[:5]]), atol=0.006, rtol=0)
    page.get_by_role("button", name="write the next letter").focus()
    page.keyboard.press("Enter")
    written = page.get_by_label("letters that the model reads").input_value()
    assert written[17:] == LETTERS[best.indices[0]]


def test_letters_without_a_repetition_and_strange_ones_are_told(open_explorer):
    page = open_explorer("induction")
    field, status = page.get_by_label("letters that the model reads"), page.get_by_role("status")
    field.fill("ab c")
    assert "Only the letters" in status.inner_text() and "No letter has come twice" in status.inner_text()
    field.fill("")
    assert "Type some letters" in status.inner_text()
    field.fill(32 * "a")
    page.get_by_role("button", name="write the next letter").focus()
    page.keyboard.press("Enter")
    assert field.input_value() == 32 * "a"


FIELDS = ("first colour", "first shape", "relation", "second colour", "second shape")


def compose(page, caption):
    for name, word in zip(FIELDS, caption.split(), strict=True):
        page.get_by_label(name).select_option(word)


@torch.no_grad()
def test_the_captioner_in_the_page_says_what_torch_says(open_explorer):
    page = open_explorer("captions")
    for drawn in scenes.make_scenes(20, seed=5).captions:
        caption = scenes.words(drawn)
        compose(page, caption)
        words = drawn[:-1]  # from <start> to the last shape
        live = page.evaluate("(words) => document.querySelector('.captions-explorer').live(words)", words.tolist())
        image = torch.tensor(live["planes"]).view(3, scenes.SIDE, scenes.SIDE)
        torch.testing.assert_close(image, draw_scene(*caption.split()), atol=3e-3, rtol=0)  # a byte for each pixel
        logits, looks = CAPTIONER(image.unsqueeze(0), words.unsqueeze(0))
        torch.testing.assert_close(torch.tensor(live["logits"]), logits[0], atol=5e-3, rtol=0)
        torch.testing.assert_close(torch.tensor(live["looks"]), looks[0], atol=2e-3, rtol=0)


@pytest.mark.parametrize("caption", ["purple square beside green circle", "red square above blue circle"])
def test_a_caption_is_written_word_by_word_and_judged(open_explorer, caption):
    page, status = open_explorer("captions"), open_explorer("captions").get_by_role("status")
    compose(page, caption)
    expected = scenes.words(write_captions(CAPTIONER, draw_scene(*caption.split()).unsqueeze(0))[0]).split()
    assert page.locator("th[scope=row]").all_inner_texts() == [*expected, "end"]  # a new scene is read at once
    page.get_by_role("button", name="begin again").click()
    assert "written nothing yet" in status.inner_text() and page.locator("th[scope=row]").count() == 0
    page.get_by_role("button", name="write the next word").focus()
    for number in range(1, 4):
        page.keyboard.press("Enter")
        assert page.locator("th[scope=row]").all_inner_texts() == expected[:number]
    page.get_by_role("button", name="write the caption").click()
    assert page.locator("th[scope=row]").all_inner_texts() == [*expected, "end"]
    assert ("The caption is right" in status.inner_text()) == (expected == caption.split())
    never = "Training never showed a red square or a blue circle."
    assert (never in status.inner_text()) == caption.startswith("red square")
    page.locator("th[scope=row] button").nth(1).focus()
    page.keyboard.press("Space")
    assert page.get_by_role("img", name=f"when the captioner wrote “{expected[1]}”").count() == 1
    assert page.locator("th[scope=row] button").nth(1).evaluate("(button) => button === document.activeElement")
    assert status.inner_text().split("“")[-1].startswith(f"{expected[1]}”")


def test_a_speculation_goes_draft_by_draft_and_counts_what_it_took(open_explorer):
    page = open_explorer("speculation")
    table, costs = page.locator("table").all()
    back, forth, skip = (page.get_by_role("button", name=name) for name in ("step back", "next step", "next round"))

    def digits(share):
        return f"{share:.2g}" if 0 < share < 0.1 else f"{share:.2f}"

    def columns():
        lines = [line.locator("td").all_inner_texts() for line in table.locator("tr:visible").all()[1:-1]]
        return [[cell for cell in column if cell] for column in zip(*lines, strict=True)]

    def reckoned():
        return [row.locator("td").all_inner_texts() for row in costs.locator("tr").all()[1:]]

    def looks():
        spans = page.locator(".shaded span").evaluate_all(
            "(all) => all.map((each) => [each.className, each.textContent])"
        )
        return [(look, word) for look, word in spans if look]

    back.focus()
    for _ in range(30):
        page.keyboard.press("Enter")  # no further than the first step
    forth.focus()
    past, calls, kept_so_far, drafted_so_far = [], 0, 0, 0
    for drafts, token in ROUNDS:
        drafted = [word.strip() or "space" for word, *_ in drafts]
        chances = [min(1, p / q) for _, q, p, _ in drafts]
        verdicts = [number < chance for chance, (*_, number) in zip(chances, drafts, strict=True)]
        kept = (verdicts + [False]).index(False)
        asked = min(kept + 1, len(drafts))
        for number in range(1, len(drafts) + 1):
            assert columns()[:3] == [drafted[:number], [digits(q) for _, q, _, _ in drafts[:number]], []]
            assert looks() == [*past, *(("draft", word) for word, *_ in drafts[:number])]
            page.keyboard.press("Enter")
        calls, drafted_so_far = calls + 1, drafted_so_far + len(drafts)
        assert columns()[2:4] == [[digits(p) for _, _, p, _ in drafts], []] and reckoned()[1][0] == str(calls)
        page.keyboard.press("Enter")
        for number in range(1, asked + 1):
            answers = (kept == number - 1) * ["no"] + (kept == number - 1) * (len(drafts) - number) * ["dropped"]
            assert columns()[3] == [f"{chance:.2f}" for chance in chances[:number]]
            assert columns()[5] == min(number, kept) * ["yes"] + answers
            assert (f"kept with probability {chances[number - 1]:.2f}") in page.get_by_role("status").inner_text()
            page.keyboard.press("Enter")
        kept_so_far += kept
        past += [("kept", word) for word, *_ in drafts[:kept]] + [("large", token)]
        assert looks() == [*past, *(("rejected", word) for word, *_ in drafts[kept:])]
        written = str(kept_so_far + calls)
        assert reckoned() == [[written] * 2, [str(calls), written], [f"{kept_so_far} of {drafted_so_far}", ""]]
        place = f"in place of draft {kept + 1}" if kept < len(drafts) else "after the last draft"
        assert place in table.locator("td[colspan]").inner_text()
        page.keyboard.press("Enter")
    assert forth.get_attribute("aria-disabled") == "true" and table.locator("caption").inner_text().startswith(
        "Round 3:"
    )
    page.get_by_label("step", exact=True).fill("1")
    assert looks() == [("draft", ROUNDS[0][0][0][0])]
    skip.focus()
    for number in (1, 2, 3, 3):
        page.keyboard.press("Enter")
        assert table.locator("caption").inner_text().startswith(f"Round {number}:") and looks()[-1][0] != "draft"


@pytest.mark.parametrize(("name", "layer"), [("with balancing", 0), ("without balancing", 2)])
def test_an_expert_shades_the_tokens_that_it_gets(open_explorer, name, layer):
    page = open_explorer("routing")
    page.get_by_role("group", name="training").get_by_label(name, exact=True).check()
    page.get_by_role("group", name="layer").get_by_label(str(1 + layer)).check()
    routing = [dict(pairs) for pairs in ROUTINGS[name][layer]]
    loads = [sum(expert in given for given in routing) for expert in range(8)]
    assert page.locator("td:nth-child(2)").all_inner_texts() == [f"{load} of {len(TEXT)}" for load in loads]
    lengths = (
        "(all) => all.map((each) => ['--share', '--tick'].map((name) => Number(each.style.getPropertyValue(name))))"
    )
    shares = [[load / len(TEXT), 2 / 8] for load in loads]
    found = page.locator("td:nth-child(2)").evaluate_all(lengths)
    torch.testing.assert_close(torch.tensor(found), torch.tensor(shares), atol=1e-4, rtol=0)
    for expert in (0, loads.index(min(loads)), loads.index(max(loads))):
        page.get_by_role("button", name=f"expert {1 + expert}").focus()
        page.keyboard.press("Space")
        assert page.locator("[aria-pressed=true]").all_inner_texts() == [f"expert {1 + expert}"]
        shades, given = zip(
            *page.locator(".shaded span").evaluate_all(
                "(all) => all.map((each) => "
                "[Number(each.style.getPropertyValue('--weight-here')), each.classList.contains('given')])"
            ),
            strict=True,
        )
        expected = torch.tensor([float(each.get(expert, 0)) for each in routing])
        torch.testing.assert_close(torch.tensor(shades).float(), expected, atol=1e-4, rtol=0)
        assert list(given) == [expert in each for each in routing]
        said = page.get_by_role("status").inner_text()
        assert f"Layer {1 + layer}, {name}: expert {1 + expert} gets {loads[expert]} of {len(TEXT)} tokens" in said
        assert f"would get {2 * len(TEXT) / 8:g}; here they get from {min(loads)} to {max(loads)}" in said


def test_a_token_is_chosen_by_the_slider_and_by_hand(open_explorer):
    page = open_explorer("routing")
    page.get_by_role("group", name="training").get_by_label("without balancing", exact=True).check()
    page.get_by_role("group", name="layer").get_by_label("2").check()

    def is_told(position):
        given = ROUTINGS["without balancing"][1][position]
        shown = page.locator("td:nth-child(3)").all_inner_texts()
        assert [(expert, share) for expert, share in enumerate(shown) if share] == sorted(
            (expert, f"{round(share, 4):.2f}") for expert, share in given
        )
        assert page.locator("th[scope=col]").last.inner_text() == f"share of token {1 + position}"
        assert page.locator(".chosen").inner_text().replace("⏎", "").strip() == TEXT[position].strip()
        return page.get_by_role("status").inner_text()

    slider = page.get_by_label("token", exact=True)
    slider.focus()
    page.keyboard.press("Home")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert "Token 4, “space”, goes to expert" in is_told(3)
    page.locator(".shaded span").nth(17).click()
    assert "Token 18, “new line”, goes to expert" in is_told(TEXT.index("\n")) and slider.input_value() == "18"
