"""Speculative decoding: every way in which its draws can come out, and what they come to together."""

import itertools
import math
from collections import defaultdict
from copy import deepcopy

import pytest
import torch

from course_lib.decoding import greedy_decode, sampling_probabilities
from course_lib.models.language_model import LanguageModel
from course_lib.models.recipes import todays_language_model
from course_lib.speculative import speculative_decode

END = 0


def tables(seed, vocab_size=3):
    """Two languages of which the next token depends on the last two: a small model and a large one."""
    generator = torch.Generator().manual_seed(seed)
    small, large = 1.5 * torch.randn(2, vocab_size, vocab_size, vocab_size, generator=generator).double()

    def draft_logits(tokens):
        return small[tokens[:, -2], tokens[:, -1]]

    def last_logits(tokens, last):
        return large[tokens[:, -last - 1 : -1], tokens[:, -last:]]

    return draft_logits, last_logits


def next_of(last_logits):
    return lambda tokens: last_logits(tokens, 1)[:, -1]


def every_outcome(monkeypatch, run):
    """Yield what `run` returns for each way in which its draws can come out, with the probability of that way."""
    pending = [()]
    while pending:
        prefix, taken, probability = pending.pop(), [], 1.0

        def choose(weights, prefix=prefix, taken=taken):
            nonlocal probability
            if len(taken) < len(prefix):
                choice = prefix[len(taken)]
            else:
                choice, *others = (option for option, weight in enumerate(weights) if weight > 0)
                pending.extend((*taken, other) for other in others)
            taken.append(choice)
            probability *= weights[choice] / sum(weights)
            return choice

        def multinomial(weights, number, generator, choose=choose):
            return torch.tensor(choose(weights.flatten().tolist())).expand(*weights.shape[:-1], 1)

        class Chance:
            """A number from 0 to 1 that has not been drawn: it is below another one as the choice comes out."""

            def __lt__(self, bound, choose=choose):
                return choose([1 - bound.item(), bound.item()])

        with monkeypatch.context() as patches:
            patches.setattr(torch, "multinomial", multinomial)
            patches.setattr(torch, "rand", lambda size, dtype, generator, new=Chance: new())
            outcome = run()
        yield outcome, probability


def of_the_large_model(last_logits, prompt, max_length, end, **settings):
    """The probability of each text that the large model alone may write."""
    due = {(): 1.0}
    for _ in range(max_length):
        longer = defaultdict(float)
        for text, probability in due.items():
            if end is not None and text[-1:] == (end,):
                longer[text] += probability
                continue
            so_far = torch.cat([prompt, torch.tensor([text], dtype=torch.long)], dim=1)
            shares = sampling_probabilities(next_of(last_logits)(so_far)[0], **settings)
            for token, share in enumerate(shares.tolist()):
                if share > 0:
                    longer[(*text, token)] += probability * share
        due = longer
    return due


@pytest.mark.parametrize("drafts", [1, 2, 3])
@pytest.mark.parametrize("end", [None, END])
@pytest.mark.parametrize("settings", [{}, {"temperature": 0.6, "top_k": 2}, {"top_p": 0.8}, {"min_p": 0.4}])
def test_each_text_is_as_likely_as_with_the_large_model_alone(monkeypatch, drafts, end, settings):
    (draft_logits, last_logits), prompt = tables(seed=drafts), torch.tensor([[1, 2]])
    found = defaultdict(float)

    def run():
        return speculative_decode(draft_logits, last_logits, prompt, 3, None, drafts=drafts, end=end, **settings)

    for outcome, probability in every_outcome(monkeypatch, run):
        found[tuple(outcome.tokens[0, 2:].tolist())] += probability
    assert dict(found) == pytest.approx(of_the_large_model(last_logits, prompt, 3, end, **settings), abs=1e-12)
    assert sum(found.values()) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_a_draft_is_accepted_as_often_as_the_two_models_agree(monkeypatch, seed):
    (draft_logits, last_logits), prompt = tables(seed), torch.tensor([[1, 2]])
    p, q = (each.softmax(dim=-1)[0] for each in (next_of(last_logits)(prompt), draft_logits(prompt)))
    run = lambda: speculative_decode(draft_logits, last_logits, prompt, 2, None, drafts=1)  # noqa: E731
    first = sum(probability * outcome.accepted for outcome, probability in every_outcome(monkeypatch, run))
    assert first == pytest.approx(torch.minimum(p, q).sum().item(), abs=1e-12)


def test_texts_come_as_often_as_their_probabilities_say():
    (draft_logits, last_logits), prompt = tables(seed=0), torch.tensor([[1, 2]])
    generator, counts = torch.Generator().manual_seed(0), defaultdict(int)
    for _ in range(2000):
        written = speculative_decode(draft_logits, last_logits, prompt, 2, generator, drafts=2).tokens
        counts[tuple(written[0, 2:].tolist())] += 1
    due = of_the_large_model(last_logits, prompt, 2, None)
    # Above 26.1, chi-square with 8 degrees of freedom comes once in a thousand seeds; this seed is not one of them.
    assert sum((counts[text] - 2000 * share) ** 2 / (2000 * share) for text, share in due.items()) < 26.1


@pytest.mark.parametrize("end", [None, END])
@pytest.mark.parametrize("seed", range(8))
def test_at_temperature_0_it_writes_what_greedy_decoding_writes(seed, end):
    (draft_logits, last_logits), prompt = tables(seed, vocab_size=5), torch.tensor([[1, 2]])
    for drafts, max_length in itertools.product((1, 3, 9), (1, 2, 7)):
        outcome = speculative_decode(
            draft_logits, last_logits, prompt, max_length, torch.Generator(), drafts=drafts, temperature=0, end=end
        )
        assert torch.equal(outcome.tokens, greedy_decode(next_of(last_logits), prompt, end, max_length))


def counted(last_logits):
    asked = []

    def counting(tokens, last):
        asked.append(last)
        return last_logits(tokens, last)

    return counting, asked


@pytest.mark.parametrize("max_length", [1, 5, 10, 12])
@pytest.mark.parametrize("drafts", [1, 4, 20])
def test_a_draft_by_the_large_model_itself_is_accepted_whole_and_saves_calls(drafts, max_length):
    _, last_logits = tables(seed=0)
    last_logits, asked = counted(last_logits)
    draft_logits = next_of(tables(seed=0)[1])
    outcome = speculative_decode(
        draft_logits, last_logits, torch.tensor([[1, 2]]), max_length, torch.Generator().manual_seed(0), drafts=drafts
    )
    assert outcome.calls == len(asked) == math.ceil(max_length / (drafts + 1))
    assert outcome.accepted == outcome.drafted == max_length - outcome.calls
    assert outcome.tokens.shape == (1, 2 + max_length) and max(asked) <= drafts + 1


def test_a_draft_that_is_always_wrong_costs_a_call_for_each_token():
    always = lambda token: torch.nn.functional.one_hot(torch.tensor(token), 3).double()  # noqa: E731
    last_logits, asked = counted(lambda tokens, last: always(2).expand(1, last, 3))
    outcome = speculative_decode(
        lambda tokens: always(1)[None], last_logits, torch.tensor([[1]]), 6, torch.Generator(), drafts=2, temperature=0
    )
    assert outcome.tokens.tolist() == [[1] + 6 * [2]] and outcome.accepted == 0
    assert outcome.calls == 6 and asked == [3, 3, 3, 3, 2, 1] and outcome.drafted == 2 * 4 + 1


def test_nothing_is_drafted_or_written_behind_the_end():
    counts_down = lambda tokens: torch.nn.functional.one_hot((tokens - 1).clamp(min=0), 9).double()  # noqa: E731
    outcome = speculative_decode(
        lambda tokens: counts_down(tokens[:, -1]),
        lambda tokens, last: counts_down(tokens[:, -last:]),
        torch.tensor([[4]]),
        max_length=20,
        generator=torch.Generator(),
        drafts=10,
        temperature=0,
        end=END,
    )
    assert outcome.tokens.tolist() == [[4, 3, 2, 1, 0]]
    assert (outcome.drafted, outcome.accepted, outcome.calls) == (4, 4, 1)


def test_two_language_models_write_what_the_large_one_would_and_repeat_it_under_one_seed():
    torch.manual_seed(0)
    small, large = (LanguageModel(7, 32, d_model=width, heads=2, layers=1).double() for width in (8, 16))
    for parameter in (*small.parameters(), *large.parameters()):
        torch.nn.init.normal_(parameter, std=0.5)
    prompt, last_logits = torch.tensor([[1, 2, 3]]), lambda tokens, last: large(tokens)[:, -last:]

    def write(seed, temperature):
        generator = torch.Generator().manual_seed(seed)
        # The cached writer of the small model is asked to take back what was rejected.
        draft_logits = small.next_token_scorer()
        return speculative_decode(draft_logits, last_logits, prompt, 20, generator, temperature=temperature)

    greedy = greedy_decode(large.next_token_logits, prompt, None, 20)
    outcome = write(0, temperature=0)
    assert torch.equal(outcome.tokens, greedy) and 0 < outcome.accepted < outcome.drafted
    assert torch.equal(write(3, 1.0).tokens, write(3, 1.0).tokens)
    assert any(not torch.equal(write(3, 1.0).tokens, write(seed, 1.0).tokens) for seed in (4, 5))


@pytest.mark.parametrize("temperature", [0, 1.0])
@pytest.mark.parametrize("drafts", [1, 4])
@pytest.mark.parametrize("make", [LanguageModel, todays_language_model])
def test_after_a_rejected_draft_both_models_go_on_from_their_caches(make, drafts, temperature):
    torch.manual_seed(5)
    large = make(7, 40, d_model=16, heads=2, layers=1).double()
    for parameter in large.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    small = deepcopy(large)  # of the same size, for once: another one that is often right
    for parameter in small.parameters():
        parameter.data += 0.07 * torch.randn_like(parameter)
    prompt, read, rounds = torch.tensor([[1, 2, 3]]), {small: 0, large: 0}, []

    def write(draft_logits, last_logits):
        generator = torch.Generator().manual_seed(0)
        settings = {"drafts": drafts, "temperature": temperature}
        return speculative_decode(draft_logits, last_logits, prompt, 30, generator, **settings)

    anew = write(small.next_token_logits, lambda tokens, last: large(tokens)[:, -last:])
    for model in (small, large):

        def count(module, inputs, output, model=model):
            read[model] += inputs[0].shape[1]

        model.embed.register_forward_hook(count)
    of_small, of_large = small.last_logits_scorer(), large.last_logits_scorer()

    def last_logits(tokens, last):
        rounds.append((tokens.shape[1] - last + 1, last - 1))  # how long the text was, and how much was drafted
        return of_large(tokens, last)

    cached = write(lambda tokens: of_small(tokens, 1)[:, -1], last_logits)
    assert torch.equal(cached.tokens, anew.tokens)
    assert (cached.drafted, cached.accepted, cached.calls) == (anew.drafted, anew.accepted, anew.calls)
    assert 0 < cached.accepted < cached.drafted
    # In each round but the first, the large model reads its own last token and the guesses. The small one reads all
    # guesses but the last, and that one as well where the round before was accepted whole and it goes on behind it.
    assert read[large] == 3 + cached.drafted + cached.calls - 1
    whole = 0
    for (before, guesses), (after, more_guesses) in zip(rounds, rounds[1:], strict=False):
        whole += after - before == guesses + 1 and more_guesses > 0
    assert whole > 0
    assert read[small] == 3 + cached.drafted - 1 + whole


def test_logits_of_low_precision_are_compared_in_high_precision(monkeypatch):
    (draft_logits, last_logits), prompt = tables(seed=0), torch.tensor([[1, 2]])
    short = lambda logits: logits.to(torch.bfloat16)  # noqa: E731
    found = defaultdict(float)

    def run():
        arguments = lambda tokens: short(draft_logits(tokens)), lambda tokens, last: short(last_logits(tokens, last))
        return speculative_decode(*arguments, prompt, 2, None, drafts=1)

    for outcome, probability in every_outcome(monkeypatch, run):
        found[tuple(outcome.tokens[0, 2:].tolist())] += probability
    due = of_the_large_model(lambda tokens, last: short(last_logits(tokens, last)).double(), prompt, 2, None)
    assert dict(found) == pytest.approx(due, abs=1e-12)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"drafts": 0}, "`drafts` is 0, expected at least 1"),
        ({"temperature": -1}, "`temperature` is -1"),
        ({"min_p": 0}, "`min_p` is 0"),
        ({"prompt": torch.tensor([[1, 2], [1, 2]])}, "`prompt` has shape (2, 2), expected (1, time)"),
        (
            {"last_logits": lambda tokens, last: torch.zeros(1, tokens.shape[1], 3)},
            "`last_logits(tokens, last)` has shape (1, 6, 3), expected (1, last=5, vocab)",
        ),
    ],
)
def test_wrong_arguments_are_named(wrong, sentence):
    draft_logits, last_logits = tables(seed=0)
    arguments = {"last_logits": last_logits, "prompt": torch.tensor([[1, 2]])} | wrong
    with pytest.raises(ValueError) as error:
        speculative_decode(draft_logits, max_length=9, generator=torch.Generator(), **arguments)
    assert sentence in str(error.value)
