import pytest
import torch
from torch import nn

from course_lib.embedding import TokenEmbedding
from course_lib.positions import sinusoidal_positions


def test_a_vector_is_its_row_at_the_size_of_a_position_and_its_position():
    embed = TokenEmbedding(vocab_size=7, d_model=16).double()
    tokens = torch.tensor([[3, 0, 6], [1, 1, 2]])
    rows = embed.table.detach()[tokens] * 4  # the root of 16
    torch.testing.assert_close(embed(tokens).detach(), rows + sinusoidal_positions(3, 16, torch.float64))
    embed.positions = False
    torch.testing.assert_close(embed(tokens).detach(), rows)


def test_positions_go_on_where_tokens_were_read_before():
    embed, tokens = TokenEmbedding(vocab_size=7, d_model=6), torch.tensor([[3, 0, 6, 1, 2]])
    torch.testing.assert_close(embed(tokens[:, 3:], start=3), embed(tokens)[:, 3:], rtol=0, atol=0)


def test_positions_are_there_after_a_model_without_numbers():
    with torch.device("meta"):  # as one asks for shapes alone
        TokenEmbedding(vocab_size=7, d_model=22)(torch.zeros(1, 3, dtype=torch.long))
    assert TokenEmbedding(vocab_size=7, d_model=22)(torch.zeros(1, 3, dtype=torch.long)).isfinite().all()


def test_a_start_before_the_first_position_is_refused():
    with pytest.raises(ValueError, match="`start` is -2, expected 0 or more"):
        TokenEmbedding(vocab_size=7, d_model=6)(torch.zeros(1, 3, dtype=torch.long), start=-2)


def test_the_output_is_the_same_table():
    embed, vectors = TokenEmbedding(vocab_size=7, d_model=4), torch.randn(2, 5, 4)
    torch.testing.assert_close(embed.to_logits(vectors), nn.functional.linear(vectors, embed.table))
    assert [tuple(each.shape) for each in embed.parameters()] == [(7, 4)]


def test_it_begins_with_rows_of_length_1_and_entries_of_the_size_of_a_sine():
    torch.manual_seed(0)
    embed = TokenEmbedding(vocab_size=2000, d_model=64, positions=False)
    assert 0.98 < embed.table.square().sum(dim=1).mean() < 1.02
    assert 0.98 < embed(torch.arange(2000).unsqueeze(0)).square().mean() < 1.02
