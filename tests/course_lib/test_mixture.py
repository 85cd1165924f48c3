"""A mixture of experts: held to a loop over tokens, to Mixtral, and to what balances it."""

from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course_lib.blocks import FeedForward, SwiGLU, TransformerBlock
from course_lib.diagnostics import causal_leak
from course_lib.masks import causal_mask
from course_lib.mixture import MixtureOfExperts, Router, balance_loss, count_choices, record_routing
from course_lib.models.language_model import LanguageModel
from tests.course_lib.parameters import start_anywhere


def mixture(d_model=6, d_hidden=5, **how):
    torch.manual_seed(0)
    return start_anywhere(MixtureOfExperts(d_model, d_hidden, **how)).double()


def token_by_token(layer, inputs):
    """The formula, for one vector after another."""
    outputs = []
    for vector in inputs.reshape(-1, inputs.shape[-1]):
        logits = layer.router.to_logits.weight @ vector
        order = sorted(range(len(logits)), key=lambda expert: -(logits + layer.router.choice_bias)[expert].item())
        best = order[: layer.router.chosen]
        whole = sum(logits[expert].exp() for expert in best)
        outputs.append(sum(logits[expert].exp() / whole * layer.experts[expert](vector) for expert in best))
    return torch.stack(outputs).view_as(inputs)


@given(
    leading=st.lists(st.integers(1, 4), max_size=3),
    experts=st.integers(1, 5),
    chosen=st.integers(1, 5),
    biased=st.booleans(),
    seed=st.integers(0, 2**16),
)
def test_equals_a_loop_over_tokens_in_value_and_gradient(leading, experts, chosen, biased, seed):
    layer = mixture(experts=experts, chosen=min(chosen, experts))
    torch.manual_seed(seed)
    if biased:
        layer.router.choice_bias.copy_(torch.randn(experts))
    inputs = torch.randn(*leading, 6, dtype=torch.float64, requires_grad=True)
    output, expected = layer(inputs), token_by_token(layer, inputs)
    torch.testing.assert_close(output, expected)
    cotangent = torch.randn_like(inputs)
    wanted = [inputs, *layer.parameters()]
    mine, due = (
        torch.autograd.grad(each, wanted, cotangent, materialize_grads=True, retain_graph=True)
        for each in (output, expected)
    )
    torch.testing.assert_close(mine, due)


@pytest.mark.parametrize("make_expert", [SwiGLU, FeedForward])
def test_one_expert_that_is_always_chosen_is_the_expert(make_expert):
    layer, inputs = mixture(experts=1, chosen=1, make_expert=make_expert), torch.randn(2, 3, 6, dtype=torch.float64)
    assert isinstance(layer.experts[0], make_expert)
    torch.testing.assert_close(layer(inputs), layer.experts[0](inputs), rtol=0, atol=0)


def test_equals_mixtral_and_its_balance_loss():
    mixtral = pytest.importorskip("transformers.models.mixtral.modeling_mixtral")
    configuration = mixtral.MixtralConfig(
        hidden_size=6, intermediate_size=5, num_attention_heads=2, num_local_experts=4, num_experts_per_tok=2
    )
    configuration._experts_implementation = "eager"
    theirs, ours = mixtral.MixtralSparseMoeBlock(configuration), mixture(experts=4, chosen=2).float()
    with torch.no_grad():
        theirs.gate.weight.copy_(ours.router.to_logits.weight)
        for number, expert in enumerate(ours.experts):
            theirs.experts.gate_up_proj[number] = torch.cat([expert.gate.weight, expert.expand.weight])
            theirs.experts.down_proj[number] = expert.contract.weight
    inputs = torch.randn(3, 7, 6)
    torch.testing.assert_close(ours(inputs), theirs(inputs))
    logits, chosen, _ = ours.router(inputs)
    for number in (1, 2):  # they count choices for each token, and so get as many times our loss
        theirs_of_all = mixtral.load_balancing_loss_func((logits.flatten(0, 1),), 4, top_k=number)
        torch.testing.assert_close(number * balance_loss(logits, logits.topk(number).indices), theirs_of_all)
    assert torch.equal(chosen, logits.topk(2).indices)


def test_each_expert_computes_only_the_tokens_that_chose_it():
    layer, inputs = mixture(experts=4, chosen=2), torch.randn(3, 7, 6, dtype=torch.float64)
    rows = []
    for expert in layer.experts:
        expert.register_forward_hook(lambda module, inputs, output: rows.append(len(inputs[0])))
    layer(inputs)
    assert rows == count_choices(layer.router(inputs).chosen, 4).tolist() and sum(rows) == 2 * 3 * 7


def test_the_bias_changes_who_is_chosen_and_not_with_which_share():
    router, inputs = start_anywhere(Router(6, experts=4, chosen=2)), torch.randn(5, 6)
    logits, chosen, _ = router(inputs)
    router.choice_bias[3] = 100.0
    biased = router(inputs)
    assert (biased.chosen[:, 0] == 3).all() and not (chosen[:, 0] == 3).all()
    assert torch.equal(biased.logits, logits)
    torch.testing.assert_close(biased.shares, logits.gather(-1, biased.chosen).softmax(dim=-1))


def loss_by_hand(logits, chosen):
    """The formula of Fedus, Zoph and Shazeer, with a count for every expert."""
    logits, chosen = logits.reshape(-1, logits.shape[-1]), chosen.reshape(-1, chosen.shape[-1])
    experts, total = logits.shape[-1], 0.0
    for expert in range(experts):
        fraction = sum(choice == expert for row in chosen.tolist() for choice in row) / chosen.numel()
        total = total + fraction * sum(row.softmax(-1)[expert] for row in logits) / len(logits)
    return experts * total


@pytest.mark.parametrize("number", [1, 2])
def test_the_balance_loss_is_its_formula(number):
    logits = torch.randn(3, 4, 5, dtype=torch.float64, requires_grad=True)
    chosen = logits.topk(number).indices
    loss, expected = balance_loss(logits, chosen), loss_by_hand(logits, chosen)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(*(torch.autograd.grad(each, logits, retain_graph=True) for each in (loss, expected)))


@given(experts=st.integers(1, 9))
def test_the_balance_loss_is_1_for_an_even_router_and_the_number_of_experts_for_a_collapsed_one(experts):
    even = 50.0 * torch.eye(experts, dtype=torch.float64)
    collapsed = even[:1].expand(7, experts)
    for logits, expected in ((even, 1.0), (collapsed, float(experts))):
        loss = balance_loss(logits, logits.topk(1).indices)
        assert loss.item() == pytest.approx(expected, abs=1e-9)


def evenness(choices):
    """The smallest number of choices of an expert as a share of what it would have if all were chosen alike."""
    return (choices.min() * len(choices) / choices.sum()).item()


def collapsed_router():
    """A router that gives nearly everything to its first expert, and vectors that it could tell apart."""
    torch.manual_seed(0)
    router, inputs = Router(6, experts=4, chosen=1), torch.randn(400, 6)
    inputs[:, 0] = 1.0  # so that the first column of the weights is a bias
    with torch.no_grad():
        router.to_logits.weight[0, 0] += 3
    assert evenness(count_choices(router(inputs).chosen, 4)) < 0.05
    return router, inputs


def test_the_balance_loss_opens_a_collapsed_router():
    router, inputs = collapsed_router()
    optimiser = torch.optim.SGD(router.parameters(), lr=0.5)
    for _ in range(200):
        logits, chosen, _ = router(inputs)
        optimiser.zero_grad()
        balance_loss(logits, chosen).backward()
        optimiser.step()
    assert evenness(count_choices(router(inputs).chosen, 4)) > 0.6


def test_the_biases_open_a_collapsed_router_and_leave_its_weights():
    router, inputs = collapsed_router()
    before = router(inputs).logits
    for _ in range(400):
        router.rebalance(router(inputs).chosen, step=0.01)
    assert evenness(count_choices(router(inputs).chosen, 4)) > 0.9
    assert torch.equal(router(inputs).logits, before)


def test_a_bias_moves_by_one_step_towards_the_mean():
    router = Router(3, experts=4, chosen=2)
    chosen = torch.tensor([[[0, 1], [0, 1]], [[0, 2], [0, 1]]])  # 4, 3, 1 and 0 of 8: the mean is 2
    router.rebalance(chosen, step=0.25)
    router.rebalance(chosen[:1, :, :1].expand(2, 2, 1))
    torch.testing.assert_close(router.choice_bias, torch.tensor([-0.251, -0.249, 0.251, 0.251]))
    even = router.choice_bias.clone()
    router.rebalance(torch.tensor([[0, 1], [3, 2]]))
    assert torch.equal(router.choice_bias, even)
    assert "choice_bias" in router.state_dict() and "choice_bias" not in dict(router.named_parameters())


EXPERTS = partial(MixtureOfExperts, experts=4, chosen=2)


def test_it_stands_where_a_feed_forward_stands():
    block = start_anywhere(TransformerBlock(6, 2, 5, make_feed_forward=EXPERTS)).double()
    inputs = torch.randn(2, 5, 6, dtype=torch.float64)
    middle = inputs + block.attention(block.attention_norm(inputs), mask=causal_mask(5))[0]
    expected = middle + token_by_token(block.feed_forward, block.feed_forward_norm(middle))
    torch.testing.assert_close(block(inputs, causal=True), expected)
    assert causal_leak(lambda x: block(x, mask=causal_mask(5)), inputs) == 0


def test_a_language_model_of_mixtures_writes_with_a_cache():
    language_model = start_anywhere(LanguageModel(11, 9, 8, 2, make_feed_forward=EXPERTS)).double().eval()
    tokens, writer = torch.randint(11, (3, 9)), language_model.next_token_scorer()
    for time in range(1, 10):
        expected = language_model.next_token_logits(tokens[:, :time])
        torch.testing.assert_close(writer(tokens[:, :time]), expected)


def test_who_records_gets_the_routing_of_every_layer_and_can_train_with_it():
    language_model, tokens = LanguageModel(11, 9, 8, 2, make_feed_forward=EXPERTS), torch.randint(11, (3, 9))
    with record_routing(language_model) as routings:
        output = language_model(tokens)
    assert list(routings) == ["blocks.0.feed_forward", "blocks.1.feed_forward"]
    for name, (logits, chosen, shares) in routings.items():
        assert logits.shape == (3, 9, 4) and chosen.shape == shares.shape == (3, 9, 2)
        torch.testing.assert_close(shares.sum(dim=-1), torch.ones(3, 9))
        balance_loss(logits, chosen).backward(retain_graph=True)
        assert language_model.get_submodule(name).router.to_logits.weight.grad.abs().max() > 0
    kept = dict(routings)
    torch.testing.assert_close(language_model(tokens), output)
    assert all(routings[name] is kept[name] for name in kept)  # after the `with`, nothing is recorded


def test_half_the_bits_are_enough():
    layer, inputs = MixtureOfExperts(6, 5, experts=4), torch.randn(3, 7, 6)
    expected = layer(inputs)
    with torch.autocast("cpu", torch.bfloat16):
        assert (layer(inputs) - expected).abs().max() < 0.1
    assert layer.bfloat16()(inputs.bfloat16()).dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: Router(8, experts=2, chosen=3), "`chosen` is 3, expected from 1 to `experts` = 2"),
        (lambda: MixtureOfExperts(8, 16, chosen=0), "`chosen` is 0, expected from 1 to `experts` = 8"),
        (lambda: EXPERTS(8, 16)(torch.zeros(2, 6)), "`inputs` has shape (2, 6), expected (..., d_model=8)"),
        (
            lambda: balance_loss(torch.zeros(2, 3, 4), torch.zeros(3, 2, 1, dtype=torch.long)),
            "`chosen` has shape (3, 2, 1), expected the leading axes of `router_logits` (2, 3, 4)",
        ),
    ],
)
def test_wrong_arguments_are_named(wrong, sentence):
    with pytest.raises(ValueError) as error:
        wrong()
    assert sentence in str(error.value)
