import pytest
import torch

from course_lib.attention import UniformAttention
from course_lib.data import reversal
from course_lib.models.seq2seq import Seq2Seq

KINDS = [None, "additive", "dot"]


def model(attention, **options):
    torch.manual_seed(0)
    return Seq2Seq(vocab_size=21, attention=attention, d_hidden=8, d_word=4, **options).double()


@pytest.mark.parametrize("attention", KINDS)
@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(("n", "time"), [(1, 1), (5, 3), (3, 7)])
def test_shapes_at_unequal_lengths(attention, bidirectional, n, time):
    source, words = torch.randint(20, (2, n)), torch.randint(20, (2, time))
    logits, weights = model(attention, bidirectional=bidirectional)(source, words)
    assert logits.shape == (2, time, 21)
    if attention is None:
        assert weights is None
    else:
        assert weights.shape == (2, time, n)
        torch.testing.assert_close(weights.sum(-1), torch.ones(2, time, dtype=torch.float64))


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("attention", KINDS)
def test_equals_the_same_model_made_of_torchs_parts(attention, bidirectional):
    network = model(attention, bidirectional=bidirectional)
    source, words = torch.randint(20, (3, 5)), torch.randint(20, (3, 4))
    half = 4 if bidirectional else 8
    reader = torch.nn.GRU(4, half, batch_first=True, bidirectional=bidirectional).double()
    ways = {"": network.encoder_forward} | ({"_reverse": network.encoder_backward} if bidirectional else {})
    parameters = {f"{name}_l0{way}": each for way, cell in ways.items() for name, each in cell.named_parameters()}
    writer = torch.nn.GRUCell(4 if attention is None else 12, 8).double()

    embedded = network.embed(source)
    states, last = torch.func.functional_call(reader, parameters, (embedded,))  # last: (direction, batch, half)
    hidden = torch.tanh(network.hand_over(torch.cat(list(last), dim=-1)))
    expected = []
    for word in words.T:
        parts = [network.embed(word)]
        if attention is not None:
            logits = {
                "additive": lambda hidden: network.attention.score(
                    torch.tanh(network.attention.project_query(hidden)[:, None] + network.attention.project_key(states))
                )[..., 0],
                "dot": lambda hidden: (states * hidden[:, None]).sum(-1),
            }[attention](hidden)
            parts.append((logits.softmax(-1)[..., None] * states).sum(1))
        hidden = torch.func.functional_call(
            writer, dict(network.cell.named_parameters()), (torch.cat(parts, -1), hidden)
        )
        expected.append(network.to_logits(torch.cat([hidden, *parts[1:]], -1)))
    expected = torch.stack(expected, dim=1)
    came, _ = network(source, words)
    torch.testing.assert_close(came, expected)
    cotangent = torch.randn_like(came)
    names, leaves = zip(*network.named_parameters(), strict=True)
    for name, mine, due in zip(
        names,
        torch.autograd.grad(came, leaves, cotangent),
        torch.autograd.grad(expected, leaves, cotangent),
        strict=True,
    ):
        torch.testing.assert_close(mine, due, msg=lambda text, name=name: f"{name}: {text}")


@pytest.mark.parametrize("attention", KINDS)
def test_teacher_forcing_on_its_own_words_gives_what_it_writes(attention):
    network, source = model(attention), torch.randint(20, (3, 5))
    written, weights = network.greedy_decode(source, reversal.START, length=6)
    before = torch.cat([torch.full((3, 1), reversal.START), written[:, :-1]], dim=1)
    logits, forced = network(source, before)
    assert torch.equal(logits.argmax(-1), written)
    if attention is not None:
        torch.testing.assert_close(weights, forced)


@pytest.mark.parametrize("attention", KINDS)
def test_a_word_has_no_influence_on_scores_before_it_and_every_letter_has_on_the_first(attention):
    network, source, words = model(attention), torch.randint(19, (1, 5)), torch.randint(19, (1, 4))
    logits, _ = network(source, words)
    changed = words.clone()
    changed[:, 2] += 1
    after, _ = network(source, changed)
    assert torch.equal(logits[:, :2], after[:, :2]) and not torch.allclose(logits[:, 2:], after[:, 2:])
    for place in range(5):
        other = source.clone()
        other[:, place] += 1
        assert not torch.equal(network(other, words)[0][:, 0], logits[:, 0])


def test_without_attention_all_that_passes_is_one_vector():
    network, words = model(None), torch.randint(20, (2, 4))
    states, handed_over = network.encode(torch.randint(20, (2, 7)))
    assert handed_over.shape == (2, 8)
    _, _, hidden = network.step(words[:, 0], handed_over, states)
    _, _, blind = network.step(words[:, 0], handed_over, torch.zeros_like(states))
    assert torch.equal(hidden, blind)


def test_another_attention_can_be_passed():
    network, source, words = model(UniformAttention()), torch.randint(20, (2, 5)), torch.randint(20, (2, 3))
    _, weights = network(source, words)
    torch.testing.assert_close(weights, torch.full((2, 3, 5), 0.2, dtype=torch.float64))


def test_a_forward_state_knows_nothing_of_what_follows_and_a_two_way_state_does():
    source = torch.randint(19, (1, 6))
    changed = source.clone()
    changed[:, 3:] += 1
    for bidirectional, moves in ((False, False), (True, True)):
        network = model("additive", bidirectional=bidirectional)
        before, after = (network.encode(each)[0][:, :3] for each in (source, changed))
        assert torch.equal(before, after) != moves


@pytest.mark.parametrize(
    ("options", "said"),
    [({"attention": "multiplicative"}, "`attention` is 'multiplicative'"), ({"d_hidden": 7}, "`d_hidden` is 7")],
)
def test_what_cannot_be_built_is_named(options, said):
    with pytest.raises(ValueError, match=said):
        Seq2Seq(vocab_size=21, **options)


def test_a_wrong_batch_is_named():
    with pytest.raises(ValueError, match="`words`"):
        model("dot")(torch.zeros(2, 5, dtype=torch.long), torch.zeros(3, 4, dtype=torch.long))
