import torch

from course_lib.attention import scaled_dot_product_attention
from course_lib.data import running_example as example
from course_lib.data.running_example import MEMORY, SOURCE_TOKENS, TOKENS, W_K, W_O, W_Q, W_V, K, Q, V, X
from course_lib.masks import causal_mask

THE, CAT, SEES, ITSELF = range(4)


def weights_of(query, key, mask=None):
    return scaled_dot_product_attention(query, key, key, mask)[1]


def test_a_pencil_is_enough():
    for name in ("X", "MEMORY", "W_Q", "W_K", "W_V", "W_O", "Q", "K", "V"):
        tensor = getattr(example, name)
        assert (tensor == tensor.round()).all() and tensor.abs().max() <= 3, name
    assert Q.shape[-1] ** 0.5 == 2
    assert (Q @ K.T).max() <= 9
    assert len(TOKENS) == len(X) and len(SOURCE_TOKENS) == len(MEMORY) and len(example.FEATURES) == X.shape[1]


def test_each_row_has_one_answer_and_no_two_rows_are_alike():
    for mask in (None, causal_mask(4)):
        weights = weights_of(Q, K, mask)
        largest, second = weights.topk(2).values.T
        assert (largest - second).min() > 0.2
        assert torch.cdist(weights, weights)[~torch.eye(4, dtype=torch.bool)].min() > 0.15


def test_itself_finds_the_cat_and_the_mask_turns_sees_back_to_it():
    free, causal = weights_of(Q, K), weights_of(Q, K, causal_mask(4))
    assert free.argmax(dim=-1).tolist() == [CAT, SEES, ITSELF, CAT]
    assert causal.argmax(dim=-1).tolist() == [THE, THE, CAT, CAT]
    assert causal[ITSELF].equal(free[ITSELF])


def test_a_transposed_or_exchanged_matrix_gives_other_numbers():
    scores = Q @ K.T
    assert not scores.equal(scores.T) and not (Q @ Q.T).equal(scores) and not (K @ K.T).equal(scores)
    for matrix in (W_Q, W_K, W_V, W_O):
        assert not matrix.equal(matrix.T)
        assert not (X @ matrix).equal(X @ matrix.T)
    assert not (W_O @ W_V).equal(torch.eye(4)) and not V.equal(X)
    assert not weights_of(Q, K).equal(torch.softmax(scores / 2, dim=-2))


def test_two_heads_look_at_different_tokens():
    first, second = weights_of(Q[:, :2], K[:, :2]), weights_of(Q[:, 2:], K[:, 2:])
    assert (first.argmax(dim=-1)[ITSELF], second.argmax(dim=-1)[ITSELF]) == (CAT, SEES)
    assert (first - second).abs().amax(dim=-1).min() > 0.2


def test_cross_attention_looks_for_what_is_written_next():
    weights = weights_of(Q, MEMORY @ W_K.T)
    looked_at = [SOURCE_TOKENS[column] for column in weights.argmax(dim=-1)]
    assert looked_at[:3] == ["feles", "videt", "se"]  # cat, sees, itself
    assert weights.shape == (4, 3)
