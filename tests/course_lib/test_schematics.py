import math
import re
from dataclasses import fields
from xml.etree import ElementTree

import pytest
import torch

from course_lib.blocks import TransformerBlock
from course_lib.data import patch_example
from course_lib.data.image_example import FEATURES, QUERY, TO_LOGITS
from course_lib.data.running_example import MEMORY, SOURCE_TOKENS, TOKENS, W_K, W_O, W_Q, W_V, K, Q, V, X
from course_lib.diagrams import Arrow, Part, number
from course_lib.diagrams.drawing import MARGIN
from course_lib.mixture import MixtureOfExperts
from course_lib.models.caption_transformer import Parts
from course_lib.schematics.attention import (
    attention_step_by_step,
    cycle_of_three,
    scores_of_one_and_two_matrices,
    self_and_cross_attention,
    token_of_three_parts,
)
from course_lib.schematics.axes import (
    broadcasting_two_ways,
    einsum_as_loops,
    softmax_along_two_axes,
    transpose_against_reshape,
)
from course_lib.schematics.beam import beam_as_a_tree
from course_lib.schematics.block import W_1, W_2, pre_and_post_norm, residual_stream_of_four_blocks
from course_lib.schematics.bottleneck import QUERY as FIRST_QUERY
from course_lib.schematics.bottleneck import STATES, one_vector_or_attention
from course_lib.schematics.cache_and_tiles import growing_cache, slow_and_fast_memory, softmax_in_two_tiles
from course_lib.schematics.capstone import captioner_of_parts, one_word_reads_the_picture, right_and_wrong_split
from course_lib.schematics.classification import (
    W_CLASSES,
    masked_mean_step_by_step,
    twins_with_and_without_positions,
)
from course_lib.schematics.families import (
    hidden_word_from_both_sides,
    image_as_a_sequence,
    masks_of_three_families,
    one_token_under_two_masks,
    three_models_from_one_block,
)
from course_lib.schematics.generating import context_and_targets, logits_to_a_draw, one_token_at_a_time
from course_lib.schematics.heads import right_and_wrong_halves, two_heads_step_by_step
from course_lib.schematics.induction import induction_head
from course_lib.schematics.masking import (
    causal_and_padding,
    leak_of_a_late_mask,
    mask_before_softmax,
    one_hot_or_spread,
    one_look_up,
)
from course_lib.schematics.positions import arrows_keep_their_angle, sinusoids_are_added, where_positions_enter
from course_lib.schematics.self_attention import (
    ORDER,
    self_attention_of_one_token,
    self_attention_of_permuted_rows,
    self_attention_without_parameters,
)
from course_lib.schematics.since_2017 import CHANGES, MADE, W_ROUTER, routing_to_experts, todays_block_beside_2017
from course_lib.schematics.softmax import scores_to_softmax
from course_lib.schematics.transformer import (
    chain_and_layers,
    cross_attention_step_by_step,
    decoder_block_before_norm,
    encoder_and_decoder,
    greedy_decoding_step_by_step,
    shift_right,
)
from tests.drawings import schematics_by_name

SCHEMATICS = schematics_by_name()


def words(drawing, narrow=False):
    svg = drawing._repr_html_().split("<svg")[2 if narrow else 1].split("</svg>")[0]
    texts = ElementTree.fromstring(f"<svg{svg}</svg>").iter("{http://www.w3.org/2000/svg}text")
    return ["".join(each.itertext()).replace("\u200b", "") for each in texts]


@pytest.mark.parametrize("name", SCHEMATICS)
def test_each_drawing_is_described_and_fits_the_column_of_the_book(name):
    drawing = SCHEMATICS[name]()
    assert len(drawing.description) > 150
    assert drawing.size[0] <= 688


@pytest.mark.parametrize(
    "make",
    [
        *(attention_step_by_step, self_and_cross_attention, encoder_and_decoder, cross_attention_step_by_step),
        *(mask_before_softmax, leak_of_a_late_mask, causal_and_padding, one_look_up, one_hot_or_spread),
        induction_head,
        *(growing_cache, softmax_in_two_tiles),
        *(masked_mean_step_by_step, twins_with_and_without_positions),
        *(one_token_at_a_time, logits_to_a_draw),
        *(image_as_a_sequence, hidden_word_from_both_sides, one_token_under_two_masks, three_models_from_one_block),
        one_word_reads_the_picture,
        *(right_and_wrong_split, right_and_wrong_halves),
        two_heads_step_by_step,
        *(sinusoids_are_added, arrows_keep_their_angle),
        routing_to_experts,
        *(scores_to_softmax, transpose_against_reshape, einsum_as_loops, broadcasting_two_ways, softmax_along_two_axes),
        *(pre_and_post_norm, residual_stream_of_four_blocks),
        *(self_attention_of_one_token, self_attention_without_parameters, self_attention_of_permuted_rows),
        one_vector_or_attention,
    ],
)
def test_the_narrow_arrangement_shows_the_same_numbers(make):
    def numbers(narrow):
        return sorted(word for word in words(make(), narrow) if word.strip("−0123456789.") == "")

    assert numbers(narrow=True) == numbers(narrow=False)


def test_the_numbers_of_a_step_by_step_are_computed():
    scores = Q @ K.T / 2
    weights = torch.softmax(scores, dim=-1)
    shown = words(attention_step_by_step())
    of_all = (X, W_Q, W_K, W_V, Q, K, V, Q @ K.T, scores, weights, weights @ V)
    drawn = [word for word in shown if word.strip("−0123456789.") == ""]
    assert sorted(drawn) == sorted(number(entry) for tensor in of_all for entry in tensor.flatten().tolist())


def test_a_telephone_names_every_row_of_the_step_by_step():
    of_tokens = ("X", "Q", "K", "V", "Y") + 2 * ("Q Kᵀ", "scores", "A")  # the last three in rows and columns
    shown = words(attention_step_by_step(), narrow=True)
    assert shown.count("itself") == len(of_tokens)
    for sums, places in (("la", "W_q, Q"), ("ar", "W_q, Q"), ("tr", "W_q, Q"), ("tl", "W_v, V, Y")):
        assert shown.count(sums) == len(places.split(", "))


@pytest.mark.parametrize("make", [attention_step_by_step, self_and_cross_attention, scores_of_one_and_two_matrices])
def test_the_drawings_of_chapter_4_fit_the_column_of_a_telephone(make):
    left, _, right, _ = make().narrow.bounds
    assert right - left + 2 * MARGIN <= 358


def test_on_a_telephone_what_makes_the_values_of_x_stands_beside_w_v():
    shown = words(attention_step_by_step(), narrow=True)
    assert shown.index("X (4 × 4), as above") > shown.index("weights A (4 × 4)")


def test_one_token_asks_all_four_and_averages_them():
    itself = X[3]
    weights = (X @ itself).softmax(dim=0)
    drawn = [word for word in words(self_attention_of_one_token()) if word.strip("−0123456789.") == ""]
    in_order = (itself, X, X @ itself, weights, X, weights @ X)
    assert sorted(drawn) == sorted(number(entry) for tensor in in_order for entry in tensor.flatten().tolist())


def test_without_parameters_the_rows_of_x_meet_each_other_and_are_averaged():
    scores = X @ X.T
    weights = scores.softmax(dim=-1)
    drawn = [word for word in words(self_attention_without_parameters()) if word.strip("−0123456789.") == ""]
    of_all_four = (X, scores, weights, weights @ X)
    assert sorted(drawn) == sorted(number(entry) for tensor in of_all_four for entry in tensor.flatten().tolist())


def test_permuted_rows_have_the_same_numbers_in_another_order():
    shown = words(self_attention_of_permuted_rows())
    assert {"the cat sees itself", "itself sees the cat"} <= set(shown)
    drawn = [word for word in shown if word.strip("−0123456789.") == ""]
    first, second = drawn[: len(drawn) // 2], drawn[len(drawn) // 2 :]
    assert sorted(first) == sorted(second)
    order = torch.tensor(ORDER)
    weights = (X @ X.T).softmax(dim=-1)
    permuted = (X[order], weights[order][:, order], (weights @ X)[order])
    assert second == [number(entry) for tensor in permuted for entry in tensor.flatten().tolist()]


def test_cross_attention_shows_the_numbers_of_the_memory_its_keys_and_its_values():
    shown = words(self_and_cross_attention())
    key, value = MEMORY @ W_K.T, MEMORY @ W_V.T
    weights = [torch.softmax(Q @ each.T / 2, dim=-1) for each in (K, key)]
    expected = [number(entry) for tensor in (MEMORY, key, value, *weights) for entry in tensor.flatten().tolist()]
    assert sorted(word for word in shown if word.strip("−0123456789.") == "") == sorted(expected)


@pytest.mark.parametrize("narrow", [False, True])
def test_cross_attention_names_the_rows_of_the_memory_its_keys_and_its_values(narrow):
    shown = words(self_and_cross_attention(), narrow)
    for word in SOURCE_TOKENS:
        assert shown.count(word) == len(("Z", "K, and V beside it", "A, columns"))


def test_states_scores_weights_and_context_of_the_small_encoder_are_computed():
    states = torch.stack([torch.zeros(4)] * 5)
    for step, each in enumerate(X):
        states[step + 1] = torch.tanh(each + states[step] / 2)
    torch.testing.assert_close(STATES, states[1:])
    scores = states[1:] @ FIRST_QUERY
    context = scores.softmax(dim=0) @ states[1:]
    shown = [word for word in words(one_vector_or_attention()) if word.strip("−0123456789.") == ""]
    twice = [states[1:], states[1:], FIRST_QUERY, scores, scores.softmax(dim=0), context]
    assert sorted(shown) == sorted(number(entry) for tensor in twice for entry in tensor.flatten().tolist())


@pytest.mark.parametrize("narrow", [False, True])
def test_the_decoder_begins_with_its_first_state_in_both_drawings_and_each_step_reads_a_context(narrow):
    shown = words(one_vector_or_attention(), narrow)
    # A narrow drawing shows the query beside the encoder and once more at the head of the decoder.
    assert shown.count("s0") == (3 if narrow else 2)
    assert [shown.count(f"and c{step}") for step in (1, 2, 3)] == [1, 1, 1]


def test_masking_hides_the_future_and_each_row_sums_to_1():
    shown = words(mask_before_softmax())
    assert shown.count("−∞") == 6
    sums = shown[shown.index("sum") + 1 :][:4]
    assert sums == ["1"] * 4


def test_the_row_of_the_drawing_is_the_one_of_the_pencil():
    shown = words(mask_before_softmax())
    assert {number(each) for each in (Q @ K.T)[2].tolist()} == {"2", "4", "0", "6"} <= set(shown)
    output = torch.softmax((Q @ K.T / 2).where(torch.ones(4, 4).tril().bool(), -torch.inf), dim=-1) @ V
    assert set(map(number, output.flatten().tolist())) <= set(shown)


def test_the_past_depends_on_the_future_only_where_the_mask_is_late():
    shown = words(leak_of_a_late_mask())
    assert [shown.count(each) for each in ("0.67", "0.64", "0.36", "0.92")] == [2, 1, 1, 1]
    assert shown.count("0.03") == 2  # in the softmax of all, and left by the mask


def test_a_rounded_weight_is_written_like_an_exact_one():
    shown = words(one_hot_or_spread())
    assert "0.00" not in shown and (shown.count("0"), shown.count("1")) == (5, 1)


def test_a_larger_positive_score_is_darker_and_a_negative_one_is_not_shaded():
    found = re.findall(r"fill-opacity:([.0-9]+);stroke:[^;]+;stroke-opacity:0;", one_hot_or_spread().svg())
    of_075, of_022, of_1199, of_358 = map(float, found)
    assert of_022 < of_075 < of_358 < of_1199


def test_both_masks_allow_what_each_of_them_allows():
    shown = words(causal_and_padding())
    assert shown.count("✓") == 15 + 15 + (1 + 2 + 3 + 3 + 3)
    assert shown.count("cat") == 3 * 2  # over its column and beside its row


def test_two_heads_find_what_followed_the_same_word():
    token = torch.eye(3)[[0, 1, 2, 0, 1]]  # the cat sees the cat
    mask = torch.ones(5, 5).tril().bool()
    first = (4 * torch.eye(5).roll(1, dims=0)).where(mask, -torch.inf).softmax(dim=-1)
    previous = first @ token
    scores = 4 * token @ previous.T
    second = scores.where(mask, -torch.inf).softmax(dim=-1)
    shown = [word for word in words(induction_head()) if "." in word and word.strip("0123456789.") == ""]
    drawn = [number(each) for tensor in (previous, scores[4], second @ token) for each in tensor.flatten().tolist()]
    drawn += [number(each) for weights in (first, second) for each in weights[mask].tolist()]
    assert sorted(shown) == sorted(each for each in drawn if "." in each)
    assert (second @ token)[4].argmax() == 2 and second[
        4
    ].argmax() == 2  # after "the cat" comes "sees", from position 2


def test_the_masked_mean_is_that_of_the_words_alone():
    output = torch.softmax(Q[:3] @ K[:3].T / 2, dim=-1) @ V[:3]  # as if the sentence had never been padded
    logits = output.mean(dim=0) @ W_CLASSES.T
    shown = words(masked_mean_step_by_step())
    for tensor in (X[:3], output, output.mean(dim=0), W_CLASSES, logits, logits.softmax(dim=0)):
        assert set(map(number, tensor.flatten().tolist())) <= set(shown)


def test_the_transformer_has_its_parts():
    shown = words(encoder_and_decoder())
    assert shown.count("add & norm") == 5
    assert shown.count("self-attention") == 2 and shown.count("cross-attention") == 1 and shown.count("× 6") == 2
    assert shown.count("multi-head") == 3 and shown.count("weights 5 × 3") == 1
    # What leaves the embedding, what enters the memory, and its keys and values; what enters the last layer.
    assert shown.count("3 × 4") == 3 and shown.count("5 × 4") == 2 and "Q 5 × 4" in shown and "5 × vocab" in shown


def test_cross_attention_step_by_step_shows_all_that_a_pencil_needs():
    key, value = MEMORY @ W_K.T, MEMORY @ W_V.T
    scores = Q @ key.T
    weights = torch.softmax(scores / 2, dim=-1)
    shown = words(cross_attention_step_by_step())
    for tensor in (X, MEMORY, Q, key, value, scores, scores / 2, weights, weights @ value):
        assert set(map(number, tensor.flatten().tolist())) <= set(shown)
    cat = TOKENS.index("cat")
    assert scores[cat].tolist() == [2, 2, 4] and list(map(number, weights[cat].tolist())) == ["0.21", "0.21", "0.58"]


@pytest.mark.parametrize("narrow", [False, True])
def test_a_row_of_cross_attention_is_named_after_the_token_just_read(narrow):
    shown = words(cross_attention_step_by_step(), narrow)
    of_target = 6 if narrow else 5  # X, Q, scores, weights, Y; divided scores, too, where they stand alone
    assert all(shown.count(token) == of_target for token in TOKENS)


def test_each_target_is_given_one_place_further_to_the_right():
    shown = words(shift_right())
    given, written = shown[:5], shown[5:10]
    assert given == ["<start>", "the", "cat", "sees", "itself"] and written == [*given[1:], "<end>"]
    assert shown.count("✓") == 1 + 2 + 3 + 4 + 5
    assert shown[-5:] == written  # what each row of the mask has to predict


def test_what_is_written_is_read_next():
    shown = words(greedy_decoding_step_by_step())
    steps = " ".join(shown[: shown.index("framed: what the network writes")]).split("position ")[1:]
    rows = [step.split()[1:] for step in steps]
    assert rows[0] == ["<start>", "the"] and rows[-1] == ["<start>", "the", "cat", "sees", "itself", "<end>"]
    assert all(later[:-1] == earlier for earlier, later in zip(rows, rows[1:], strict=False))


def test_the_block_has_a_norm_for_each_sublayer_and_the_names_of_the_code():
    shown = words(decoder_block_before_norm())
    for name in ("attention", "cross_attention", "feed_forward"):
        assert {name, f"{name}_norm"} <= set(shown)
    assert shown.count("+") == 3


@torch.no_grad()
@pytest.mark.parametrize(("order", "tower"), [("pre", 0), ("post", 1)])
def test_both_orders_of_the_block_end_where_the_library_ends(order, tower):
    block = TransformerBlock(d_model=4, heads=2, d_hidden=4, norm=order)
    weights = {"to_query": W_Q, "to_key": W_K, "to_value": W_V, "to_output": W_O}
    layers = [(getattr(block.attention, name), weight) for name, weight in weights.items()]
    for layer, weight in [*layers, (block.feed_forward.expand, W_1), (block.feed_forward.contract, W_2)]:
        layer.weight.copy_(weight)
        layer.bias.zero_()
    output = [number(entry) for entry in block(X.unsqueeze(0))[0, TOKENS.index("itself")].tolist()]
    shown = [word for word in words(pre_and_post_norm()) if re.fullmatch(r"−?[0-9.]+", word)]
    length = len(shown) // 2
    assert shown[tower * length : (tower + 1) * length][-4:] == output


@pytest.mark.parametrize("narrow", [False, True])
def test_the_residual_stream_is_one_straight_line_in_both_orders(narrow):
    drawn = pre_and_post_norm()
    towers = (drawn.narrow if narrow else drawn.wide).parts[:2]
    for tower, pieces in zip(towers, (4, 6), strict=True):  # to each sum and from it; in post-norm to each norm, too
        stream = [part for part in tower.parts[0].parts if isinstance(part, Part) and "stroke-width:4px" in part.draw()]
        assert len(stream) == pieces + (2 if tower is towers[1] else 0)
        assert len({part.left for part in stream}) == 1
        ends = [(part.bounds[1], part.bounds[3]) for part in stream]
        assert all(top < bottom for top, bottom in ends) and ends == sorted(ends, reverse=True)


def test_both_orders_of_the_block_have_the_same_parts_in_another_order():
    shown = words(pre_and_post_norm())
    for part, times in (("layer norm", 4), ("self-attention", 2), ("feed-forward", 2), ("+", 4), ("x of “itself”", 2)):
        assert shown.count(part) == times
    steps = [word for word in shown if word in ("layer norm", "self-attention", "feed-forward", "+")]
    assert steps[:3] == ["layer norm", "self-attention", "+"] and steps[6:9] == ["self-attention", "+", "layer norm"]


def test_which_part_of_the_stream_differs_after_each_sublayer_of_four_blocks():
    shown = [word for word in words(residual_stream_of_four_blocks()) if re.fullmatch(r"[0-9.]+", word)]
    pre, post = [1 / (1 + each / 2) for each in range(9)], [1.5**-each for each in range(9)]
    assert shown == [f"{10 * each:.1f}" for each in pre + post]  # percent, from 10 on


def test_a_chain_of_four_and_two_layers():
    shown = [each for each in words(chain_and_layers()) if each.isdigit()]
    assert sorted(shown) == sorted([*"1234", *"1111", *"2222"])


def test_the_tree_of_a_beam_keeps_the_two_most_probable_at_each_step():
    shown = words(beam_as_a_tree())
    assert [each for each in shown if each.startswith("✓")] == ["✓ 0.50", "✓ 0.40", "✓ 0.20", "✓ 0.36"]
    assert sum(each.startswith("✗") for each in shown) == 5


def test_with_one_matrix_for_both_the_longest_query_scores_itself_highest():
    shown = words(scores_of_one_and_two_matrices())
    for tensor in (Q @ K.T, Q @ Q.T):
        assert set(map(number, tensor.flatten().tolist())) <= set(shown)
    assert (Q @ K.T).argmax(dim=1).tolist() == [1, 2, 3, 1] and "every token finds another one" in shown
    assert (Q @ Q.T).argmax(dim=1).tolist() == [3, 3, 2, 3] and "all but “sees” find “itself”" in shown
    assert sorted(words(scores_of_one_and_two_matrices(), narrow=True)) == sorted(shown)


def test_what_a_query_reads_says_the_same_as_what_a_key_reads():
    for narrow in (False, True):
        shown = words(token_of_three_parts(), narrow)
        assert {"“I ask t”", "“I am t”", "“I hold 4”"} <= set(shown) and shown.count("t") == 2
        assert {"Wq", "Wk", "Wv"} <= set(shown)


def test_in_a_cycle_with_symmetric_scores_one_token_does_not_find_whom_it_asks():
    scores = torch.tensor([[0, 5, 4], [5, 0, 3], [4, 3, 0]])  # of z, t and h
    assert torch.equal(scores, scores.T) and scores.argmax(dim=1).tolist() == [1, 0, 0]
    shown = words(cycle_of_three())
    assert sum(each.endswith("✓") for each in shown) == 2 and "t: 5 with z, 3 with h: finds z ✗" in shown


def test_each_step_of_decoding_shows_one_more_key_and_value_and_ends_with_what_attention_gives():
    drawn = words(growing_cache())
    hidden = torch.ones(4, 4).triu(1).bool()
    outputs = (Q @ K.T / 2).masked_fill(hidden, -torch.inf).softmax(dim=-1) @ V
    for step, output in enumerate(outputs.tolist(), start=1):
        assert {f"K ({step} × 4)", f"V ({step} × 4)"} <= set(drawn)
        end = drawn.index(f"y{step} (1 × 4)")
        assert drawn[end - 4 : end] == [number(entry) for entry in output]


def test_two_tiles_end_with_the_output_of_the_whole_row():
    drawn = words(softmax_in_two_tiles())
    table = drawn[drawn.index("÷ 1.55") + 1 :]  # by rows of five
    output = (Q[2] @ K.T / 2).softmax(dim=0) @ V
    assert table[5 * 4 : 5 * 8][4::5] == [number(entry) for entry in output.tolist()]


def test_each_context_ends_one_token_before_its_target():
    shown = words(context_and_targets())
    assert [shown.count(each) for each in TOKENS] == [1 + 3, 1 + 2 + 1, 1 + 1 + 1, 1 + 1]  # passage, contexts, target


@pytest.mark.parametrize("narrow", [False, True])
def test_a_drawn_token_stands_at_the_end_of_the_next_context(narrow):
    shown = [word for word in words(one_token_at_a_time(), narrow) if word in TOKENS]
    first, second = TOKENS[:2], TOKENS[:3]
    assert shown == [*(*first, *TOKENS, "sees"), *(*second, *TOKENS, "itself")]
    numbers = [word for word in words(one_token_at_a_time(), narrow) if word.startswith("0.")]
    # exponentials 1, 0.37, 20.09, 1 and 2.72 of 25.17, and 7.39, 1, 0.14, 54.6 and 20.09 of 83.21
    assert numbers == [*("0.04", "0.01", "0.80", "0.04", "0.11"), *("0.09", "0.01", "0.00", "0.66", "0.24")]


@pytest.mark.parametrize("narrow", [False, True])
def test_a_draw_goes_from_logits_through_all_filters_to_a_token(narrow):
    drawn = [word for word in words(logits_to_a_draw(), narrow) if word.strip("−0123456789.") == "" and word != "."]
    logits, divided = ["2", "0", "−2", "4", "3"], ["1", "0", "−1", "2", "1.5"]
    assert drawn == [
        *(*logits, *divided, "0.17", "0.06", "0.02", "0.46", "0.28"),  # 2.72, 1, 0.37, 7.39 and 4.48 of 15.96
        *("0.19", "0.51", "0.31", "0.62", "0.38", "0.62", "1"),  # of 0.914 and of 0.814; 0.7 lies between the last two
    ]
    assert "next token: “.”" in words(logits_to_a_draw(), narrow)


def test_each_of_three_models_predicts_above_its_own_token():
    drawing = three_models_from_one_block()
    for narrow, groups in ((False, drawing.wide.parts[0].parts), (True, drawing.narrow.parts[0].parts)):
        assert words(drawing, narrow).count("✓") == 16 + 10 + 25
        for group, places in zip(groups, ([1], [0, 1, 2, 3], [0]), strict=True):  # gap, every token, class token
            arrows = [part for part in group.parts if isinstance(part, Arrow) and part.role == "value"]
            tokens = group.parts[0].parts
            assert [part.end.middle[0] for part in arrows] == pytest.approx([tokens[at].middle[0] for at in places])


def test_only_the_encoder_of_a_family_reads_the_future():
    for narrow in (False, True):
        shown = words(masks_of_three_families(), narrow)
        assert shown.count("✓") == 16 + 10 + (9 + 12 + 10)


@pytest.mark.parametrize("narrow", [False, True])
def test_one_token_has_two_outputs_under_two_masks(narrow):
    scores = (Q @ K.T / 2)[TOKENS.index("sees")]
    expected = list(V.flatten())
    for seen in (4, 3):  # without a mask, and with the causal mask
        exponentials = scores[:seen].exp()
        weights = exponentials / exponentials.sum()
        expected += [*scores[:seen], *weights, *(weights @ V[:seen])]
    rounded = ["2.7", "7.4", "1", "20.1", "2.7", "7.4", "1"]
    drawn = [word for word in words(one_token_under_two_masks(), narrow) if re.fullmatch(r"[\d.]+", word)]
    assert sorted(drawn) == sorted([*rounded, *(number(float(each)) for each in expected)])
    assert {"÷ 31.2", "÷ 11.1"} <= set(words(one_token_under_two_masks(), narrow))


def test_an_image_becomes_the_rows_that_a_pencil_gives():
    image = patch_example.IMAGE[0, 0]
    squares = [image[y : y + 2, x : x + 2].flatten() for y in (0, 2) for x in (0, 2)]
    vectors = [[square.sum(), square[1] + square[3] - square[0] - square[2]] for square in squares]
    tokens = torch.tensor([patch_example.CLASS_TOKEN[0].tolist(), *vectors])
    of_all = (image, torch.stack(squares), patch_example.TO_VECTOR, tokens, patch_example.POSITIONS)
    expected = [number(entry) for each in (*of_all, tokens + of_all[-1]) for entry in each.flatten().tolist()]
    shown = words(image_as_a_sequence())
    assert sorted(word for word in shown if re.fullmatch("−?[0-9.]+", word)) == sorted(expected)
    assert (tokens + of_all[-1])[2].tolist() == [6, 5]


@pytest.mark.parametrize("narrow", [False, True])
def test_a_hidden_word_is_certain_only_where_both_sides_are_read(narrow):
    shown = words(hidden_word_from_both_sides(), narrow)
    assert [each for each in shown if each.startswith("p̂")] == ["p̂(eight) = 1", "p̂(eight) = 1/9"]
    assert {"= −ln(1) = 0", "= −ln(1/9) = 2.20", "1 word fits:", "9 words fit:", "one, …, nine"} <= set(shown)
    # In the text of both panels and in the input of one: what stands behind the gap is not written under a causal mask.
    assert [shown.count(each) for each in ("sixty", "<mask>", "|", "acht", "sechzig")] == [4, 2, 3, 3, 3]


def test_under_the_causal_mask_only_what_stands_up_to_the_gap_has_an_arrow():
    panels = hidden_word_from_both_sides().wide.parts[0].parts
    prediction = [[each for each in panel.parts if isinstance(each, Arrow) and not each.label] for panel in panels]
    assert [len(arrows) - 1 for arrows in prediction] == [6, 2]  # and one from the prediction to the loss
    assert all(len({each.end for each in arrows[:-1]}) == 1 for arrows in prediction)


def test_only_with_positions_do_twins_have_two_means():
    vectors = {"good": [2.0, 0.0], "but": [0.0, 1.0], "not": [1.0, 1.0], "bad": [0.0, 2.0]}
    means, outputs = [], []
    for step in (0, 1):
        for twin in ("good but not bad", "bad but not good"):
            x = torch.tensor([vectors[word] for word in twin.split()])
            x[:, 0] += step * torch.arange(4)
            outputs.append(torch.softmax(x @ x.T / 2**0.5, dim=-1) @ x)
            means.append(outputs[-1].mean(dim=0))
    torch.testing.assert_close(outputs[0][[3, 1, 2, 0]], outputs[1])
    torch.testing.assert_close(means[0], means[1])
    assert (means[2] - means[3]).abs().min() > 0.5
    shown = words(twins_with_and_without_positions())
    for tensor in (*outputs, *means):
        assert set(map(number, tensor.flatten().tolist())) <= set(shown)
    assert shown.count("=") == shown.count("≠") == 1


def test_the_captioner_marks_each_of_the_parts_that_can_be_exchanged():
    for narrow in (False, True):
        shown = words(captioner_of_parts(), narrow)
        marked = re.findall("◆ ([a-z-]+)", " ".join(shown))
        assert len(set(marked)) == len(fields(Parts)), marked
        assert marked.count("layer") == 4 and shown.count("+") == 4 and {"64 × 64", "6 × 12"} <= set(shown)


def test_one_word_reads_the_picture_with_all_that_a_pencil_needs():
    scores = FEATURES @ QUERY
    weights = torch.softmax(scores / 2, dim=0)
    read = weights @ FEATURES
    shown = words(one_word_reads_the_picture())
    for tensor in (QUERY, FEATURES, scores, scores / 2, weights, read, QUERY + read, TO_LOGITS[:, :4] @ (QUERY + read)):
        assert set(map(number, tensor.flatten().tolist())) <= set(shown)
    assert list(map(number, weights.tolist())) == ["0.28", "0.46", "0.10", "0.17"]


def test_the_wrong_split_gives_later_words_to_position_1():
    vectors = torch.arange(1, 7).repeat_interleave(64).reshape(6, 64)  # the number of its word, everywhere
    wrong = vectors.reshape(4, 6, 16)[:, 0, 0].tolist()
    assert wrong == [1, 2, 4, 5]
    for narrow in (False, True):
        shown = words(right_and_wrong_split(), narrow)
        assert [each for each in shown if re.fullmatch(r"\d [✓✗]", each)] == ["1 ✗"] * 3  # of the words 2, 4 and 5
        read = ["start", "red", "circle", "beside", "blue", "square"]
        gets = [each for each in shown if each in read]
        assert gets == [*read, *["start"] * 4, *read, "start", "red", "beside", "blue"]  # beside a table, below it
        assert "✗ “red”, “beside” and “blue” come later:" in shown  # the mark says what it is
        assert "✗: for position 1, but from a later word" in shown


def test_the_wrong_split_counts_its_positions_in_reading_order():
    shown = [each[0] for each in words(right_and_wrong_split()) if re.fullmatch(r"\d( ✗)?", each)]
    right, wrong = shown[:24], [each for each in shown[24:] if each.isdigit()][:24]
    assert right == [str(row) for row in range(1, 7) for _ in range(4)]
    assert wrong == [*"123456"] * 4


def test_a_view_alone_gives_each_head_two_words():
    shown = [word for word in words(right_and_wrong_halves()) if word in TOKENS]
    right, wrong = shown[:12], shown[12:]
    assert right == [*TOKENS] * 3  # the rows, and what each head reads
    assert wrong[4:] == [word for word in TOKENS for _ in range(2)]


def test_two_heads_show_all_that_a_pencil_needs_and_each_its_own_average():
    weights = [torch.softmax(Q[:, own] @ K[:, own].T / 2**0.5, dim=-1) for own in (slice(2), slice(2, 4))]
    found = [weights[0] @ V[:, :2], weights[1] @ V[:, 2:]]
    joined = torch.cat(found, dim=-1)
    drawn = (X, Q, K, V, Q, K, V, *weights, *found, joined, W_O, joined @ W_O.T)  # Q, K and V whole and in halves
    shown = [word for word in words(two_heads_step_by_step()) if word.strip("−0123456789.") == ""]
    assert sorted(shown) == sorted(number(entry) for tensor in drawn for entry in tensor.flatten().tolist())
    assert [number(each) for each in joined[3].tolist()] == ["2.38", "0.40", "1.52", "0.41"]
    last = joined @ W_O.T  # each matrix is drawn as it is multiplied: [Y₁ Y₂] W_oᵀ = Y
    in_order = [number(entry) for tensor in (joined, W_O.T, last) for entry in tensor.flatten().tolist()]
    assert shown[-len(in_order) :] == in_order


def test_the_two_memories_hold_and_move_what_the_page_counts():
    n, d, tile = 8192, 64, 64
    plain, tiles = 4 * n * d + 4 * n * n, 2 * n * d + n // tile * 2 * n * d  # as under "Memory traffic"
    for narrow in (False, True):
        shown = words(slow_and_fast_memory(), narrow)
        assert [each for each in shown if each.startswith("moved")] == [
            f"moved: {4 * each // 2**20:,} MiB" for each in (plain, tiles)
        ]
        assert shown.count(f"{4 * n * n // 2**20}") == shown.count("S") + shown.count("A") == 2
        assert {"64 × 64: 16 KiB", "tiles of Q, K, V: 48 KiB", "16.5 KiB", "fast memory: 192 KiB"} <= set(shown)
        assert shown.count("128 ×") == 2 and shown.count("2") == 8


@pytest.mark.parametrize("narrow", [False, True])
def test_what_was_exchanged_has_its_letter_in_both_blocks_and_the_rest_is_the_same(narrow):
    """On a telephone, today's block stands alone, with what is gone since 2017 as dashed boxes in its place."""
    drawn = todays_block_beside_2017()
    shown = words(drawn, narrow)
    towers = 1 if narrow else 2
    of_2017 = [2, 0, 1, 0, 0] if narrow else [2, 1, 1, 1, 1]
    today = [3, 2, 1 if narrow else 2, 1, 1]
    expected = [1 + before + after for before, after in zip(of_2017, today, strict=True)]
    assert [shown.count(each) for each in "ABCDE"] == expected
    assert [shown.count(each) for each in ("LayerNorm", "RMSNorm", "QK-norm", "RoPE", "sinusoids")] == [2, 3, 2, 1, 1]
    assert (shown.count("1 2"), shown.count("3 4")) == (3, 2)  # keys and values, and what that means
    exchanged = [shown.index(each) for pair in CHANGES.values() for each in pair]
    assert exchanged == sorted(exchanged) and exchanged[-1] < shown.index("causal softmax attention")  # it is first
    for kept in ("causal softmax attention", "N blocks", "token", "embedding", "logits"):
        assert shown.count(kept) == towers
    assert shown.count("+") == (2 if narrow else 3 + 2)  # today nothing is added to the tokens


def test_on_a_telephone_what_is_gone_since_2017_is_dashed_and_the_drawing_is_short():
    drawn = todays_block_beside_2017()
    dashed = [each for each in re.findall(r"<g style.*?</text>", drawn.narrow.draw()) if "dasharray" in each]
    assert len(dashed) == 1 + 2 + 1  # the sign that explains them, two norms and the sinusoids
    assert drawn.narrow.bounds[3] < 1200


@pytest.mark.parametrize("narrow", [False, True])
def test_a_token_goes_where_a_mixture_of_experts_sends_it(narrow):
    mixture = MixtureOfExperts(d_model=4, d_hidden=1, experts=4, chosen=2)
    outputs = torch.randn(4, 4).index_copy(0, torch.tensor([1, 2]), MADE)  # (expert, d_model): for "sees"
    mixture.experts = torch.nn.ModuleList(Constant(each) for each in outputs)
    with torch.no_grad():
        mixture.router.to_logits.weight.copy_(W_ROUTER)
        _, chosen, shares = mixture.router(X)
        result = mixture(X)[TOKENS.index("sees")]
    assert chosen.tolist() == [[2, 1], [0, 3], [1, 2], [2, 0]]
    shown = words(routing_to_experts(), narrow)
    drawn = [word for word in shown if re.fullmatch(r"−?[0-9.]+", word)]
    expected = (X, W_ROUTER.T, X @ W_ROUTER.T, shares, MADE, result)
    assert sorted(drawn) == sorted(number(entry) for each in expected for entry in each.flatten().tolist())
    assert {"hatched: not computed", "E3 computes 3 tokens,", "E4 computes 1"} <= set(shown)


@pytest.mark.parametrize("narrow", [False, True])
def test_scores_become_weights_at_each_temperature_with_all_that_a_pencil_needs(narrow):
    shown = words(scores_to_softmax(), narrow)
    assert [each for each in shown if each in TOKENS][:4] == list(TOKENS)
    drawn = [word for word in shown if re.fullmatch(r"[0-9.]+", word)]
    exponentials = ["1", "7.39", "4.48", "2.72", "1", "54.6", "20.1", "7.39", "1", "2981", "403", "54.6"]
    scores = torch.tensor([0.0, 4.0, 3.0, 2.0])
    weights = [number(each) for at in (2, 1, 0.5) for each in torch.softmax(scores / at, dim=0).tolist()]
    assert sorted(drawn) == sorted(["0", "4", "3", "2", *exponentials, *weights])
    assert all(any(total in each for each in shown) for total in ("÷ sum 15.6", "÷ sum 83.1", "÷ sum 3440")) or narrow
    assert all(any(total in each for each in shown) for total in ("÷ 15.6", "÷ 83.1", "÷ 3440")) or not narrow


@pytest.mark.parametrize("narrow", [False, True])
def test_a_transpose_reads_the_memory_in_another_order_and_a_reshape_cuts_it(narrow):
    shown = [word for word in words(transpose_against_reshape(), narrow) if re.fullmatch(r"\d+ \d+", word)]
    tokens, right, wrong = shown[:6], shown[6:12], shown[12:]
    assert tokens == wrong == ["0 1", "2 3", "4 5", "6 7", "8 9", "10 11"]  # in reading order, the same memory
    assert right == [token for pair in zip(tokens[:3], tokens[3:], strict=True) for token in pair]
    assert [word for word in words(transpose_against_reshape(), narrow) if word.isdigit()] == [*map(str, range(12))]


@pytest.mark.parametrize("narrow", [False, True])
def test_the_einsum_shows_both_factors_and_all_sums(narrow):
    queries = Q[2:]  # sees, itself
    shown = [word for word in words(einsum_as_loops(), narrow) if word.isdigit()]
    assert shown == [number(each) for tensor in (queries, K, queries @ K.T) for each in tensor.flatten().tolist()]
    assert "0 · 0 + 2 · 2 + 2 · 2 + 3 · 0 = 8" in words(einsum_as_loops(), narrow)


@pytest.mark.parametrize("narrow", [False, True])
def test_a_softmax_of_each_row_and_one_of_each_column_differ_in_what_sums_to_one(narrow):
    scores = Q[2:] @ K.T / 2  # (query, key): sees, itself
    rows, columns = scores.softmax(dim=1), scores.softmax(dim=0)  # (query, key) each
    expected = (scores, rows, torch.ones(2), columns, columns.sum(dim=1), torch.ones(4))
    shown = [word for word in words(softmax_along_two_axes(), narrow) if re.fullmatch(r"[0-9.]+", word)]
    assert shown == [number(each) for tensor in expected for each in tensor.flatten().tolist()]


@pytest.mark.parametrize("narrow", [False, True])
def test_broadcasting_repeats_along_the_axis_that_the_title_says(narrow):
    shown = [int(word) for word in words(broadcasting_two_ways(), narrow) if word.isdigit()]
    x, v = torch.arange(1, 10).reshape(3, 3), torch.tensor([10, 20, 30])
    for panel, added in ((shown[:27], v.expand(3, 3)), (shown[27:], v[:, None].expand(3, 3))):
        assert panel == torch.stack([x, added, x + added]).flatten().tolist()


class Constant(torch.nn.Module):
    def __init__(self, output):
        super().__init__()
        self.output = output

    def forward(self, inputs):
        return self.output.expand_as(inputs)


@pytest.mark.parametrize("narrow", [False, True])
def test_each_kind_of_position_stands_beside_what_it_changes(narrow):
    shown = words(where_positions_enter(), narrow)
    boxes = ["tokens X", "X + P", "Q", "K", "Q turned", "K turned", "scores", "scores + b", "weights A"]
    assert set(boxes) <= set(shown)
    assert [each for each in shown if each[0] in "①②③"] == ["① sinusoids,", "② RoPE: queries", "③ ALiBi, relative"]


@pytest.mark.parametrize("layout", ["wide", "narrow"])
def test_the_places_of_which_a_model_uses_one_are_dashed(layout):
    boxes = [part for part in getattr(where_positions_enter(), layout).parts if isinstance(part, Part)]
    dashed = [re.search(r">([^<>]+)</text>", part.draw())[1] for part in boxes if "dasharray" in part.draw()]
    assert sorted(dashed) == ["K turned", "Q turned", "X + P", "scores + b"]


@pytest.mark.parametrize("narrow", [False, True])
def test_each_token_gets_the_sinusoids_of_its_position(narrow):
    angle = torch.arange(4)[:, None] * torch.tensor([1.0, 0.01])  # (position, pair)
    positions = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)  # (position, 4)
    shown = [word for word in words(sinusoids_are_added(), narrow) if word.strip("−0123456789.") == ""]
    expected = [number(each) for tensor in (X, positions, X + positions) for each in tensor.flatten().tolist()]
    assert sorted(shown) == sorted(expected)
    assert {"0.91", "−0.42", "2.02"} <= set(shown)  # the row of the pencil


def test_turned_by_their_positions_two_vectors_keep_their_product():
    shown = words(arrows_keep_their_angle())
    assert [each for each in shown if each.startswith("q · k")] == ["q · k = 4"] + ["q · k = −1.66"] * 3
    assert shown.count("angle 2 rad") == 3
    assert abs(4 * math.cos(2) + 1.66) < 0.005  # the number of the pencil
