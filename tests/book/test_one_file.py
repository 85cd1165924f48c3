"""The programmes of book/one_file: they run, need torch alone, are short, and compute what the library computes."""

import ast
import functools
import importlib.util
import json
import re
import subprocess
import sys
from functools import partial

import pytest
import torch

from course_lib import decoding, masks
from course_lib.attention import SelfAttention, attend, scaled_dot_product_attention
from course_lib.blocks import SwiGLU, TransformerBlock, gated_d_hidden
from course_lib.grouped_query_attention import GroupedQueryAttention
from course_lib.models.classifier import SequenceClassifier
from course_lib.models.encoder_decoder import EncoderDecoder
from course_lib.models.language_model import LanguageModel
from course_lib.multi_head import MultiHeadAttention
from course_lib.normalisation import RMSNorm
from course_lib.project import root

FOLDER = root() / "book/one_file"
LINES = {
    "04_self_attention": 35,
    "05_causal_attention": 50,
    "06_multi_head_attention": 60,
    "08_transformer_block": 90,
    "09_transformer": 170,
    "10_classifier": 110,
    "11_language_model": 150,
    "13_key_value_cache": 120,
    "16_since_2017": 150,
}
every_file = pytest.mark.parametrize("name", LINES)

# As `python FILE` would run each, one after another, in a process of its own that imports torch once.
RUN_ALL = """
import contextlib, io, json, runpy, sys, traceback
said = {}
for path in sys.argv[1:]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            runpy.run_path(path, run_name="__main__")
        except BaseException:
            traceback.print_exc(file=out)
    said[path] = out.getvalue()
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def said():
    """What each file prints when it is run."""
    paths = {name: str(FOLDER / f"{name}.py") for name in LINES}
    command = [sys.executable, "-I", "-c", RUN_ALL, *paths.values()]
    run = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True)
    outputs = json.loads(run.stdout)
    return {name: outputs[path] for name, path in paths.items()}


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@functools.cache
def module(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def test_each_file_has_its_bound():
    assert sorted(path.stem for path in FOLDER.glob("*.py")) == sorted(LINES)


@every_file
def test_it_is_short(name):
    lines = (FOLDER / f"{name}.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= LINES[name]
    assert max(map(len, lines)) <= 74, "the page cuts off what is wider"


@every_file
def test_it_needs_torch_alone(name):
    tree = ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {"." * node.level + (node.module or "") for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {each.partition(".")[0] for each in imported} - set(sys.stdlib_module_names) == {"torch"}


@every_file
def test_the_page_of_its_chapter_shows_it_and_offers_it(name):
    (chapter,) = (root() / "book/text").glob(f"{name[:2]}_*.md")
    text = chapter.read_text(encoding="utf-8")
    assert f"```{{literalinclude}} one_file/{name}.py\n:language: python\n```" in text
    assert f"{{download}}`{name}.py <one_file/{name}.py>`" in text


@every_file
def test_it_prints_a_few_lines(said, name):
    assert 2 <= len(said[name].splitlines()) <= 5, said[name]


def test_04_a_query_finds_the_key_that_it_is_like(said):
    assert said["04_self_attention"].splitlines() == [
        "self  weights [[0.5, 0.5], [0.0, 1.0]]",
        "cross weights [[0.0, 1.0, 0.0], [0.5, 0.5, 0.0]]",
    ]


def test_05_the_future_and_the_padding_have_no_weight(said):
    rows = re.findall(r"\d\.\d+, +\d\.\d+, +\d\.\d+", said["05_causal_attention"])
    shown = [[float(number) for number in row.split(",")] for row in rows]
    assert [[weight > 0 for weight in row] for row in shown] == [[1, 0, 0], [1, 1, 0], [1, 1, 0]]
    assert "changes: [True, True, False]" in said["05_causal_attention"]


def test_06_it_is_what_torch_computes(said):
    assert "as torch's: True" in said["06_multi_head_attention"]


def test_08_the_blocks_learn(said):
    first, *_, last = map(float, re.findall(r"loss (\S+)", said["08_transformer_block"]))
    assert last < 0.1 < 2 < first


def test_09_it_reverses_digits(said):
    *pairs, summary = said["09_transformer"].splitlines()
    assert int(summary.split()[0]) >= 450
    backwards = [json.loads(source)[::-1] == json.loads(written) for source, written in (p.split(" → ") for p in pairs)]
    assert sum(backwards) >= 2


def test_10_it_tells_praise_from_blame(said):
    assert re.search(r"^\w+ not \w+ <pad>: (praise|blame)|^not \w+ but \w+: (praise|blame)", said["10_classifier"])
    assert int(said["10_classifier"].splitlines()[-1].split()[0]) >= 450


def test_11_it_learns_and_writes(said):
    first, last = map(float, re.findall(r"(\S+) bits", said["11_language_model"]))
    assert last < 0.6 < 3 < first
    plain, hot, filtered = said["11_language_model"].splitlines()[2:]
    words = {"the", "that", *module("11_language_model").NOUNS, *module("11_language_model").VERBS}

    def right(line):  # without the first word and the last, which may be cut off, and the settings
        written = line.partition("{")[0].replace(".", "").split()[1:-1]
        return sum(word in words for word in written) / len(written)

    assert right(plain) > 0.9 and right(filtered) > 0.8 and right(hot) < right(filtered)


def test_13_the_cache_changes_what_is_read_and_not_what_is_written(said):
    (read, written), (read_anew, written_anew) = re.findall(r"(\d+) read, (.*)", said["13_key_value_cache"])
    assert (int(read), int(read_anew)) == (8 + 23, sum(range(8, 32)))
    assert written == written_anew and len(set(written.split())) > 5


def test_16_it_repeats(said):
    assert int(said["16_since_2017"].splitlines()[-1].split()[0]) >= 450


# The same numbers as the library.

close = partial(torch.testing.assert_close, atol=1e-5, rtol=0)


def shaken(library):
    """Move every parameter away from where it begins, since gains of 1 and biases of 0 would hide a mistake."""
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in library.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return library.eval()


def torchs_names(library):
    """Return the weights under the names of torch's own LayerNorm and Sequential, which the later files use."""
    renamed = {
        "norm.gain": "norm.weight",
        "feed_forward.expand": "feed_forward.0",
        "feed_forward.contract": "feed_forward.2",
    }
    state = {}
    for name, tensor in library.state_dict().items():
        for old, new in renamed.items():
            name = name.replace(old, new)
        state[name] = tensor
    return state


def test_04_equals_the_library():
    library = shaken(SelfAttention(d_model=6, d_key=4, d_value=5))
    ours = module("04_self_attention").Attention(d_model=6, d_key=4, d_value=5)
    ours.load_state_dict(library.state_dict())
    inputs, memory = torch.randn(2, 3, 6), torch.randn(2, 7, 6)
    close(ours(inputs), library(inputs))
    keys, values = library.to_key(memory), library.to_value(memory)
    close(ours(inputs, memory), attend(library.to_query(inputs), keys, values))


def test_05_equals_the_library():
    ours = module("05_causal_attention")
    for sizes in ((4,), (2, 5), (1, 3)):
        assert torch.equal(ours.causal_mask(*sizes), masks.causal_mask(*sizes))
    lengths = torch.tensor([5, 0, 3])  # one text without any token
    assert torch.equal(ours.padding_mask(lengths, 5), masks.padding_mask(lengths, 5))
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 2, 4), torch.randn(3, 5, 4), torch.randn(3, 5, 6)
    for mask in (None, masks.causal_mask(2, 5), masks.causal_mask(2, 5) & masks.padding_mask(lengths, 5)):
        close(
            ours.scaled_dot_product_attention(query, key, value, mask),
            scaled_dot_product_attention(query, key, value, mask),
        )
    query.requires_grad_()
    ours.scaled_dot_product_attention(query, key, value, mask)[0].sum().backward()
    assert query.grad.isfinite().all()


def test_06_equals_the_library():
    library = shaken(MultiHeadAttention(d_model=8, heads=2))
    ours = module("06_multi_head_attention").MultiHeadAttention(d_model=8, heads=2)
    ours.load_state_dict(library.state_dict())
    inputs, memory = torch.randn(3, 4, 8), torch.randn(3, 5, 8)
    close(ours(inputs), library(inputs))
    close(ours(inputs, mask=masks.causal_mask(4)), library(inputs, mask=masks.causal_mask(4)))
    present = masks.padding_mask(torch.tensor([5, 1, 3]), 5)
    close(ours(inputs, memory, present), library(inputs, memory, present))


def test_08_equals_the_library():
    library = shaken(TransformerBlock(d_model=8, heads=2, d_hidden=12))
    ours = module("08_transformer_block").TransformerBlock(d_model=8, heads=2, d_hidden=12)
    ours.load_state_dict(library.state_dict())
    inputs = 3 * torch.randn(3, 4, 8)
    close(ours(inputs), library(inputs))


def test_09_equals_the_library():
    file = module("09_transformer")
    torch.manual_seed(1)
    library = shaken(EncoderDecoder(vocab_size=13, d_model=16, heads=2, d_hidden=24))
    with torch.no_grad():  # so that some rows end early, and others do not
        library.decoder_norm.bias += 2 * library.embed.table[file.END]
    ours = file.Transformer(vocab_size=13, d_model=16, heads=2, d_hidden=24)
    ours.load_state_dict(torchs_names(library))
    torch.manual_seed(2)
    source, target = file.draw_pairs(100)
    assert (source == 0).any()  # padding
    close(ours(source, target), library(source, target))
    starts = torch.full((100, 1), file.START)
    written = decoding.greedy_decode(library.next_token_scorer(source), starts, file.END, max_length=6)[:, 1:]
    ends = (written == file.END).any(dim=1)
    assert ends.any() and not ends.all()
    behind_the_end = (written == file.END).cumsum(dim=1) > 1  # the library goes on with ends, the file with padding
    assert torch.equal(
        file.greedy_decode(ours, source, longest=written.shape[1]), written.masked_fill(behind_the_end, 0)
    )


def test_10_equals_the_library():
    library = shaken(SequenceClassifier(vocab_size=13, classes=3))
    ours = module("10_classifier").Classifier(vocab_size=13, classes=3)
    state = torchs_names(library)
    state["embed.weight"] = state.pop("embed.table") * 48**0.5  # the library multiplies by it when a row is read
    ours.load_state_dict(state)
    words = torch.randint(1, 13, (5, 7)).masked_fill(~masks.padding_mask(torch.tensor([7, 1, 3, 5, 6]), 7)[:, 0], 0)
    close(ours(words), library(words))


def test_11_equals_the_library():
    library = shaken(LanguageModel(vocab_size=13, max_length=20, d_model=16, heads=2))
    ours = module("11_language_model").LanguageModel(vocab_size=13, d_model=16, heads=2)
    ours.load_state_dict(torchs_names(library))
    tokens = torch.randint(13, (3, 20))
    close(ours(tokens), library(tokens))


@pytest.mark.parametrize(
    "settings",
    [{}, {"temperature": 0}, {"temperature": 0.5}, {"top_k": 3}, {"top_p": 0.6}]
    + [{"temperature": 2, "top_k": 5, "top_p": 0.7}, {"top_k": 1}, {"top_p": 0.01}],
)
def test_11_draws_from_the_probabilities_of_the_library(settings):
    logits = torch.randn(50, 9, generator=torch.Generator().manual_seed(0))
    ours = module("11_language_model").sampling_probabilities(logits, **settings)
    close(ours, decoding.sampling_probabilities(logits, **settings))


def in_steps(model, caches, tokens):
    """Return the logits of all tokens (batch, time): a prompt of four at once, and then one after another."""
    with torch.no_grad():
        return torch.cat([model(new, caches) for new in (tokens[:, :4], *tokens[:, 4:].split(1, dim=1))], dim=1)


def test_13_equals_the_library_at_every_step():
    file = module("13_key_value_cache")
    library = shaken(LanguageModel(vocab_size=13, max_length=20, d_model=16, heads=2))
    ours = file.LanguageModel(vocab_size=13, d_model=16, heads=2)
    ours.load_state_dict(torchs_names(library))
    tokens = torch.randint(13, (3, 20))
    close(in_steps(ours, [file.Cache(), file.Cache()], tokens), library(tokens).detach())


def test_16_equals_the_library_at_every_step():
    file = module("16_since_2017")
    exchanged = {
        "make_norm": RMSNorm,
        "make_attention": partial(MultiHeadAttention, key_value_heads=2, normalise_heads=RMSNorm, bias=False),
        "make_feed_forward": SwiGLU,
    }
    sizes = {"d_model": 24, "heads": 6}
    library = shaken(LanguageModel(13, max_length=20, d_hidden=gated_d_hidden(4 * 24), **sizes, **exchanged))
    ours = file.LanguageModel(vocab_size=13, groups=2, **sizes)
    ours.load_state_dict(library.state_dict())
    tokens = torch.randint(13, (3, 20))
    close(ours(tokens), library(tokens))
    close(in_steps(ours, [file.Cache(), file.Cache()], tokens), library(tokens).detach())
    likeliest = decoding.greedy_decode(library.next_token_scorer(), tokens[:, :5], end=None, max_length=8)
    assert torch.equal(file.generate(ours, tokens[:, :5], 8), likeliest)


def test_16_its_attention_is_that_of_the_page():
    file = module("16_since_2017")
    library = shaken(GroupedQueryAttention(d_model=24, heads=6, groups=2))
    ours = file.GroupedQueryAttention(d_model=24, heads=6, groups=2)
    ours.load_state_dict(library.state_dict())
    inputs = torch.randn(3, 7, 24)
    close(ours(inputs, file.Cache()), library(inputs))
