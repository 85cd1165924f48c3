"""The source of the library as a page shows it."""

import ast

import pytest

from course_lib.attention import AdditiveAttention, SelfAttention, attend
from course_lib.authoring import shown_source
from course_lib.convolution import ConvFeatures
from course_lib.masks import causal_mask, masked_softmax
from course_lib.models.captioner import CaptionDecoder
from course_lib.models.encoder_decoder import EncoderDecoder
from course_lib.models.look_up import LookUpModel
from course_lib.shapes import check_shape

SHOWN = [AdditiveAttention, SelfAttention, attend, causal_mask, masked_softmax, LookUpModel, EncoderDecoder.decode]


def shown(definition):
    return shown_source.show_source(definition).data.removeprefix("```python\n").removesuffix("\n```")


@pytest.mark.parametrize("definition", [*SHOWN, CaptionDecoder.step], ids=lambda each: each.__qualname__)
def test_what_is_shown_is_python_that_fits_the_page_without_hints_and_checks(definition):
    source = shown(definition)
    for node in ast.walk(ast.parse(source)):
        assert getattr(node, "annotation", None) is None and getattr(node, "returns", None) is None
        assert not isinstance(node, ast.Raise) and "check_" not in getattr(node, "id", "")
    assert max(map(len, source.splitlines())) <= shown_source.WIDTH


def test_of_each_docstring_the_first_paragraph_is_shown():
    source = shown(SelfAttention)
    assert "three linear maps\n    decide" in source or "three linear maps decide" in source
    assert ">>>" not in source and "an experiment or a learner" not in source
    assert "Return the output" in source  # the docstring of a method


def test_defaults_and_comments_stay():
    assert "def attend(query, key, value, mask=None, scale=1.0, bias=None):" in shown(attend)
    comments = [line.strip() for line in shown(masked_softmax).splitlines() if line.strip().startswith("#")]
    assert (
        " ".join(comments)
        .replace(" # ", " ")
        .startswith("# An empty row would give 0/0 = nan. So an empty row is not masked")
    )


def test_a_comment_that_does_not_fit_beside_its_line_stands_above_it_and_breaks_no_code():
    above = "        # (batch, location)\n        scores = self.score(torch.tanh(hidden)).squeeze(-1)"
    assert above in shown(AdditiveAttention)


def test_without_ruff_the_code_is_shown_as_it_stands(monkeypatch):
    narrow = shown(CaptionDecoder.step)
    monkeypatch.setattr(shown_source.shutil, "which", lambda *_, **__: None)
    wide = shown(CaptionDecoder.step)
    assert wide != narrow and ast.dump(ast.parse(wide)) == ast.dump(ast.parse(narrow))


def measured(images):
    sizes = check_shape(images, "batch side side", "images")
    widths = check_shape(images, "batch height width", "images", batch=sizes["batch"])
    if widths["width"] % 4:
        raise ValueError("no")
    return sizes["side"]


def test_sizes_that_only_checks_need_are_not_shown():
    assert "sizes" not in shown(ConvFeatures.forward)
    assert "    sizes = check_shape(" in shown(measured) and "widths" not in shown(measured)


def test_a_method_stands_below_the_first_line_of_its_class():
    assert shown(ConvFeatures.forward).startswith("class ConvFeatures(nn.Module):  # in part\n    def forward(self,")
