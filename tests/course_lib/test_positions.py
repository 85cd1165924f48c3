"""Positions: the codes against their formulas, and what is claimed of them."""

from math import cos, log, pi, sin

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course_lib.attention import scaled_dot_product_attention
from course_lib.cache import KeyValueCache
from course_lib.diagnostics import permutation_error
from course_lib.masks import causal_mask
from course_lib.multi_head import MultiHeadAttention
from course_lib.positions import (
    DistanceBiasedAttention,
    LearnedPositions,
    Rotation,
    angles,
    distance_bias,
    interpolated_frequencies,
    kept_rows,
    ntk_frequencies,
    rotary_attention,
    rotary_frequencies,
    rotate_by_position,
    shift_matrix,
    sinusoidal_positions,
    yarn_frequencies,
    yarn_scale,
)

even = st.integers(1, 8).map(lambda half: 2 * half)
offsets = st.integers(-50, 50)


@given(time=st.integers(1, 30), d_model=even)
def test_sinusoids_are_their_formula(time, d_model):
    codes = sinusoidal_positions(time, d_model, dtype=torch.float64)
    for t in range(time):
        for pair in range(d_model // 2):
            angle = t / 10000 ** (2 * pair / d_model)
            assert codes[t, 2 * pair].item() == pytest.approx(sin(angle), abs=1e-12)
            assert codes[t, 2 * pair + 1].item() == pytest.approx(cos(angle), abs=1e-12)


def test_far_positions_are_exact_in_float32():
    far = 1_000_000
    code = angles(torch.tensor([far]), 4)[0]
    assert code.tolist() == pytest.approx([far, far / 100], rel=1e-15)
    rotated = rotate_by_position(torch.tensor([[1.0, 0.0]]), start=far)[0]
    assert rotated.tolist() == pytest.approx([cos(far), sin(far)], abs=1e-6)


@given(d_model=even, first=offsets, second=offsets)
def test_shifts_add_up_and_turn_back(d_model, first, second):
    one, two, both = (shift_matrix(by, d_model, dtype=torch.float64) for by in (first, second, first + second))
    torch.testing.assert_close(one @ two, both)
    torch.testing.assert_close(one @ one.mT, torch.eye(d_model, dtype=torch.float64))
    torch.testing.assert_close(one.mT, shift_matrix(-first, d_model, dtype=torch.float64))


@given(d_model=even, start=st.integers(0, 40), offset=st.integers(0, 40))
def test_one_matrix_shifts_every_position(d_model, start, offset):
    codes = sinusoidal_positions(start + offset + 1, d_model, dtype=torch.float64)
    moved = shift_matrix(offset, d_model, dtype=torch.float64) @ codes[start]
    torch.testing.assert_close(moved, codes[start + offset])


@given(leading=st.lists(st.integers(1, 3), max_size=2), time=st.integers(1, 6), width=even, start=st.integers(0, 20))
def test_rotation_is_the_shift_matrix_of_each_position(leading, time, width, start):
    vectors = torch.randn(*leading, time, width, dtype=torch.float64)
    rotated = rotate_by_position(vectors, start)
    for t in range(time):
        # shift_matrix turns (sine, cosine) backwards as a pair of coordinates: its transpose turns (x, y) forwards.
        matrix = shift_matrix(start + t, width, dtype=torch.float64).mT
        torch.testing.assert_close(rotated[..., t, :], vectors[..., t, :] @ matrix.mT)
    torch.testing.assert_close(rotated.norm(dim=-1), vectors.norm(dim=-1))


@given(width=even, start=st.integers(0, 1000), seed=st.integers(0, 2**16))
def test_rotary_scores_depend_on_the_offset_alone(width, start, seed):
    generator = torch.Generator().manual_seed(seed)
    query, key = (torch.randn(5, width, dtype=torch.float64, generator=generator) for _ in range(2))
    here = rotate_by_position(query) @ rotate_by_position(key).mT
    there = rotate_by_position(query, start) @ rotate_by_position(key, start).mT
    torch.testing.assert_close(here, there, atol=1e-9, rtol=0)


def test_what_was_rotated_first_without_gradients_may_be_learned_from_later():
    """The numbers that vectors are multiplied by are kept, whoever asked for them first."""
    vectors = torch.randn(5, 34, requires_grad=True)  # a width of which nobody else asks
    with torch.inference_mode():
        first = rotate_by_position(vectors)
    again = rotate_by_position(vectors)
    again.sum().backward()
    assert torch.equal(first, again) and vectors.grad.any()


def test_a_table_is_made_once_for_all_lengths_up_to_a_power_of_two():
    made = []

    def make(length, width):
        made.append(length)
        return torch.zeros(length, width)

    assert kept_rows(make, 0, 5, 2).shape == (5, 2) and kept_rows(make, 3, 5, 2).shape == (5, 2) and made == [8]
    assert kept_rows(make, 8, 1, 2).shape == (1, 2) and kept_rows(make, 0, 1, 2).shape == (1, 2)
    assert kept_rows(make, 0, 8, 3).shape == (8, 3) and made == [8, 16, 1, 8]


def test_vectors_that_lie_as_complex_numbers_are_not_copied_for_it(monkeypatch):
    """Copying them took half of the time of a rotation in training."""
    vectors = torch.randn(2, 5, 3, 8).transpose(1, 2)  # as those of heads lie
    expected = rotate_by_position(vectors)
    monkeypatch.setattr(torch, "complex", None)  # the copying path
    assert torch.equal(rotate_by_position(vectors), expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_rotation_in_low_precision_is_that_of_high_precision_rounded(dtype):
    vectors = torch.randn(5, 8).to(dtype)
    assert torch.equal(rotate_by_position(vectors), rotate_by_position(vectors.float()).to(dtype))


def test_rotation_takes_vectors_however_they_lie_in_memory():
    vectors = torch.randn(9, 7, 3)
    for view in (vectors.mT[1:, :, 1:], vectors[..., 0, :].mT[1:, 1:], vectors[..., 1:]):
        torch.testing.assert_close(rotate_by_position(view), rotate_by_position(view.clone().contiguous()))


def test_rotation_of_a_batch_that_vmap_hides_takes_an_odd_stride():
    vectors = torch.randn(5, 25)[:, :24].unflatten(1, (3, 8))
    torch.testing.assert_close(torch.vmap(rotate_by_position)(vectors), rotate_by_position(vectors.contiguous()))


def test_rotary_scores_do_depend_on_the_offset():
    vectors = torch.ones(6, 8)
    scores = rotate_by_position(vectors) @ rotate_by_position(vectors).mT
    assert scores[0].unique().numel() == 6


@pytest.mark.parametrize("query", [6, 2, 1])
def test_heads_that_rotate_have_the_output_and_gradient_of_rotary_attention(query):
    torch.manual_seed(0)
    fused = MultiHeadAttention(8, 2, rotate=rotate_by_position).double()
    explicit = MultiHeadAttention(8, 2, attend=rotary_attention).double()
    explicit.load_state_dict(fused.state_dict())
    inputs = torch.randn(3, 6, 8, dtype=torch.float64, requires_grad=True)
    outputs = []
    for attention in (fused, explicit):
        key, value = attention.project_memory(inputs)
        outputs += [
            attention.attend_to(inputs[:, -query:], key, value, causal=True, need_weights=need_weights)[0]
            for need_weights in (False, True)
        ]
    for output in outputs[1:]:
        torch.testing.assert_close(output, outputs[0])
        gradients = (
            torch.autograd.grad(each.square().sum(), inputs, retain_graph=True)[0] for each in (output, outputs[0])
        )
        torch.testing.assert_close(*gradients)


def test_rotary_queries_are_the_last_positions():
    query, key, value = torch.randn(3, 2, 6, 4).unbind()
    whole, _ = rotary_attention(query, key, value, causal_mask(6))
    last, weights = rotary_attention(query[:, -2:], key, value, causal_mask(2, 6))
    torch.testing.assert_close(last, whole[:, -2:])
    assert weights.shape == (2, 2, 6)


def test_values_are_not_rotated():
    same, value = torch.zeros(1, 4, 2), torch.randn(1, 4, 3)  # equal scores: the mean of the values as they are
    output, _ = rotary_attention(same, same, value)
    torch.testing.assert_close(output, value.mean(dim=1, keepdim=True).expand(1, 4, 3))


@given(heads=st.integers(1, 3), reach=st.integers(0, 4), query=st.integers(1, 9), more=st.integers(0, 5))
def test_distance_bias_is_a_look_up_by_clipped_offset(heads, reach, query, more):
    table = torch.randn(heads, 2 * reach + 1)
    bias = distance_bias(table, query, query + more)
    assert bias.shape == (heads, query, query + more)
    for i in range(query):
        for j in range(query + more):
            offset = max(-reach, min(reach, j - (i + more)))
            assert torch.equal(bias[:, i, j], table[:, offset + reach])


def rotated_pair_by_pair(vectors, start, turn, scale):
    """Each pair as a loop; `turn(position, pair)` is its angle."""
    rotated = torch.empty_like(vectors)
    for t in range(vectors.shape[0]):
        for pair in range(vectors.shape[1] // 2):
            angle, (a, b) = turn(start + t, pair), vectors[t, 2 * pair : 2 * pair + 2].tolist()
            rotated[t, 2 * pair] = scale * (a * cos(angle) - b * sin(angle))
            rotated[t, 2 * pair + 1] = scale * (a * sin(angle) + b * cos(angle))
    return rotated


def yarn_turn(pair, width, factor, trained_length, base, alpha, beta):
    """What a pair turns at a step, by cases."""
    turn = base ** (-2 * pair / width)
    rotations = trained_length * turn / (2 * pi)
    if rotations >= beta:
        return turn
    if rotations <= alpha:
        return turn / factor
    stays = (log(rotations) - log(alpha)) / (log(beta) - log(alpha))
    return stays * turn + (1 - stays) * turn / factor


@given(
    time=st.integers(1, 5),
    width=st.integers(2, 8).map(lambda half: 2 * half),
    start=st.integers(0, 20),
    base=st.floats(2, 1e6),
    factor=st.floats(1, 50),
    seed=st.integers(0, 2**16),
)
def test_other_frequencies_are_their_formulas(time, width, start, base, factor, seed):
    vectors = torch.randn(time, width, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    trained = {"trained_length": 300, "alpha": 2.0, "beta": 17.0}
    stretched_base = base * factor ** (width / (width - 2))
    for frequencies, scale, turn in (
        (rotary_frequencies(width, base), 1.0, lambda t, pair: t * base ** (-2 * pair / width)),
        (interpolated_frequencies(width, factor, base), 1.0, lambda t, pair: t / factor * base ** (-2 * pair / width)),
        (ntk_frequencies(width, factor, base), 1.0, lambda t, pair: t * stretched_base ** (-2 * pair / width)),
        (
            yarn_frequencies(width, factor, base=base, **trained),
            yarn_scale(factor),
            lambda t, pair: t * yarn_turn(pair, width, factor, base=base, **trained),
        ),
    ):
        expected = rotated_pair_by_pair(vectors, start, turn, scale)
        torch.testing.assert_close(Rotation(frequencies, scale)(vectors, start), expected, atol=1e-12, rtol=0)
    assert yarn_scale(factor) == pytest.approx(0.1 * log(factor) + 1, abs=1e-12)


def of_transformers(kind, width, base, trained_length, seq_len=None, **parameters):
    """The inverse frequencies and the scale of the library `transformers`, in float32."""
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    config = LlamaConfig(
        hidden_size=2 * width,
        num_attention_heads=2,
        max_position_embeddings=trained_length,
        rope_parameters={"rope_type": kind, "rope_theta": base, **parameters},
    )
    return ROPE_INIT_FUNCTIONS[kind](config, device="cpu", seq_len=seq_len)


@pytest.mark.parametrize("width", [16, 64, 128])
@pytest.mark.parametrize("base", [10_000.0, 500_000.0])
@pytest.mark.parametrize("factor", [1.0, 4.0, 32.0])
def test_other_frequencies_are_those_of_transformers(width, base, factor):
    def same(ours, theirs):
        torch.testing.assert_close(ours.float(), theirs, atol=0, rtol=2e-6)

    trained = 4096
    same(
        interpolated_frequencies(width, factor, base), of_transformers("linear", width, base, trained, factor=factor)[0]
    )
    # Theirs is computed anew as a text grows: at `factor` times the trained length, with a factor of 1 of their own.
    longer = {"seq_len": int(factor * trained), "factor": 1.0}
    same(ntk_frequencies(width, factor, base), of_transformers("dynamic", width, base, trained, **longer)[0])
    # By default theirs rounds the ends of the blend to whole pairs.
    exact = {"factor": factor, "original_max_position_embeddings": trained, "truncate": False}
    frequencies, scale = of_transformers("yarn", width, base, trained, **exact)
    same(yarn_frequencies(width, factor, trained, base), frequencies)
    assert yarn_scale(factor) == pytest.approx(scale, abs=1e-12)


def test_the_frequencies_of_the_default_rotate_as_the_default_does_bit_by_bit():
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        vectors = torch.randn(2, 7, 12).to(dtype)
        rotated = Rotation(rotary_frequencies(12))(vectors, start=5)
        assert torch.equal(rotated, rotate_by_position(vectors, start=5)) and rotated.dtype == dtype


@pytest.mark.parametrize("scale", [1.0, 1.5])
def test_a_rotation_serves_heads_with_a_cache_and_a_compiler(scale):
    rotate = Rotation(yarn_frequencies(8, factor=4, trained_length=64), scale)
    attention = MultiHeadAttention(16, heads=2, rotate=rotate).double()
    inputs, cache = torch.randn(3, 6, 16, dtype=torch.float64), KeyValueCache()
    whole, _ = attention(inputs, causal=True)
    parts = [attention(inputs[:, [time]], cache=cache, causal=True)[0] for time in range(6)]
    torch.testing.assert_close(torch.cat(parts, dim=1), whole, atol=1e-12, rtol=0)
    compiled = torch.compile(rotate, backend="eager", fullgraph=True)
    assert torch.equal(compiled(inputs[..., :8], 3), rotate(inputs[..., :8], 3))
    assert torch.autograd.gradcheck(rotate, torch.randn(3, 8, dtype=torch.float64, requires_grad=True))


def test_two_rotations_do_not_share_a_table():
    vectors = torch.randn(4, 6)
    rotated = [
        Rotation(rotary_frequencies(6, base), scale)(vectors) for base, scale in ((10, 1.0), (20, 1.0), (10, 2.0))
    ]
    assert not torch.equal(rotated[0], rotated[1]) and torch.equal(rotated[2], 2 * rotated[0])


def test_a_table_of_zeros_changes_nothing_and_a_large_entry_draws_the_eye():
    vectors = torch.randn(3, 2, 2, 5, 4).unbind()  # query, key, value (batch, heads, time, d_head)
    attention = DistanceBiasedAttention(heads=2, reach=2)
    torch.testing.assert_close(attention(*vectors), scaled_dot_product_attention(*vectors))
    with torch.no_grad():
        attention.table[0, 1] = 100.0  # the first head: the key one before
    _, weights = attention(*vectors)
    torch.testing.assert_close(weights[:, 0, 1:, :-1], torch.eye(4).expand(2, 4, 4))
    assert attention(*vectors, causal_mask(5))[1].triu(1).abs().max() == 0


@pytest.mark.parametrize("attend", [rotary_attention, DistanceBiasedAttention(heads=2, reach=3)])
def test_order_reaches_attention_through_its_scores(attend):
    if isinstance(attend, DistanceBiasedAttention):
        torch.nn.init.normal_(attend.table)
    attention, inputs = MultiHeadAttention(8, heads=2, attend=attend), 3 * torch.randn(2, 6, 8)
    order = torch.tensor([5, 0, 3, 1, 2, 4])
    assert permutation_error(lambda x: attention(x)[0], inputs, order) > 0.01
    # Shifting the whole sequence changes nothing: what is asked is how far, not where.
    longer = torch.cat([torch.randn(2, 3, 8), inputs], dim=1)
    hidden = torch.arange(9) >= 3
    torch.testing.assert_close(attention(longer, mask=hidden.expand(9, 9))[0][:, 3:], attention(inputs)[0])


def test_learned_positions_are_rows_of_a_table_that_learn():
    positions, inputs = LearnedPositions(max_length=7, d_model=4), torch.randn(2, 5, 4)
    output = positions(inputs)
    torch.testing.assert_close(output - inputs, positions.table[:5].expand(2, 5, 4))
    output.sum().backward()
    assert torch.equal(positions.table.grad[:, 0], torch.tensor([2.0] * 5 + [0.0] * 2))


def test_gradients_are_right():
    query, key, value = (torch.randn(2, 3, 4, 2, dtype=torch.float64, requires_grad=True) for _ in range(3))
    assert torch.autograd.gradcheck(rotary_attention, (query, key, value))
    attention = DistanceBiasedAttention(heads=3, reach=1).double()
    assert torch.autograd.gradcheck(lambda table: distance_bias(table, 3, 5), attention.table)
    assert torch.autograd.gradcheck(attention, (query, key, value))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: sinusoidal_positions(3, 5), "the width is 5, expected an even number"),
        (lambda: shift_matrix(3, 5), "the width is 5, expected an even number"),
        (lambda: rotate_by_position(torch.zeros(3, 5)), "the width is 5, expected an even number"),
        (lambda: rotate_by_position(torch.zeros(3)), "expected (..., time, width)"),
        (lambda: rotate_by_position(torch.zeros(3, 4), start=-1), "`start` is -1, expected 0 or more"),
        (lambda: rotary_frequencies(5), "the width is 5, expected an even number"),
        (lambda: rotary_frequencies(4, base=1), "`base` is 1, expected a number above 1"),
        (lambda: ntk_frequencies(2, factor=4), "the width is 2, expected at least 4"),
        (lambda: interpolated_frequencies(4, factor=0.5), "`factor` is 0.5, expected 1 or more"),
        (lambda: ntk_frequencies(4, factor=0.5), "`factor` is 0.5, expected 1 or more"),
        (lambda: yarn_frequencies(4, factor=0.5, trained_length=9), "`factor` is 0.5, expected 1 or more"),
        (lambda: yarn_scale(0.5), "`factor` is 0.5, expected 1 or more"),
        (lambda: yarn_frequencies(4, 2, 9, alpha=3, beta=3), "`alpha` is 3 and `beta` 3, expected 0 < alpha < beta"),
        (lambda: Rotation(torch.ones(2, 2)), "`frequencies` has shape (2, 2), expected (pair)"),
        (
            lambda: Rotation(torch.ones(2))(torch.zeros(3, 6)),
            "`vectors` has shape (3, 6), expected (..., time, width=4)",
        ),
        (lambda: Rotation(torch.ones(2))(torch.zeros(3, 4), start=-1), "`start` is -1, expected 0 or more"),
        (lambda: LearnedPositions(4, 2)(torch.zeros(1, 5, 2)), "`inputs` has 5 positions, expected at most 4"),
        (lambda: LearnedPositions(4, 2)(torch.zeros(1, 3, 3)), "expected (..., time, d_model=2)"),
        (lambda: distance_bias(torch.zeros(2, 4), 3, 3), "`table` has 4 columns"),
        (lambda: distance_bias(torch.zeros(2, 5), 4, 3), "`query` is 4 and `key` 3"),
        (lambda: rotary_attention(*torch.zeros(2, 1, 4, 2), torch.zeros(1, 4, 2)[:, :3]), "`value` has shape"),
        (
            lambda: rotary_attention(torch.zeros(4, 2), torch.zeros(3, 2), torch.zeros(3, 2)),
            "there are 4 queries and 3 keys",
        ),
    ],
)
def test_wrong_arguments_are_named(wrong, sentence):
    with pytest.raises(ValueError) as error:
        wrong()
    assert sentence in str(error.value)
