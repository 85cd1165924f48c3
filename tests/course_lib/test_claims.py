import json
import math

import pytest

from course_lib.claims import BrokenClaim, claim, control, findings, opponent


def test_a_claim_that_holds_prints_one_line(capsys):
    claim("exact", 0.9912, at_least=0.95)
    control("uniform", 0.28, at_most=0.5)
    assert capsys.readouterr().out == "claim    exact: 0.991 (at least 0.95)\ncontrol  uniform: 0.28 (at most 0.5)\n"


@pytest.mark.parametrize("state", [claim, control])
def test_a_value_is_stated_with_its_standard_error(capsys, state):
    state("exact", 0.316, at_most=0.5, cases=500)
    state("bits", 1.8664, at_most=2, error=0.0133)
    first, second = capsys.readouterr().out.splitlines()
    assert first.endswith(" exact: 0.316 ± 0.021 (at most 0.5)")
    assert second.endswith(" bits: 1.866 ± 0.013 (at most 2)")
    with pytest.raises(BrokenClaim, match="0.316 ± 0.021 is not at least 0.5"):
        state("exact", 0.316, at_least=0.5, cases=500)


@pytest.mark.parametrize("state", [claim, control])
@pytest.mark.parametrize(
    ("value", "bound"), [(0.94, {"at_least": 0.95}), (0.51, {"at_most": 0.5}), (float("nan"), {"at_most": 1.0})]
)
def test_a_statement_that_does_not_hold_stops_the_chapter(state, value, bound):
    with pytest.raises(BrokenClaim, match=r'"exact" does not hold: \S+ is not at'):
        state("exact", value, **bound)


@pytest.mark.parametrize("bounds", [{}, {"at_least": 0.1, "at_most": 0.9}])
def test_a_statement_needs_one_bound(bounds):
    with pytest.raises(ValueError, match="exactly one bound"):
        claim("exact", 0.5, **bounds)


@pytest.mark.parametrize(
    ("value", "ours", "more", "line"),
    [
        (0.926, 0.994, {}, "rival: 0.926 (ours 0.994, ahead by 0.068)"),
        (0.997, 0.991, {}, "rival: 0.997 (ours 0.991, behind by 0.006)"),
        (0.5, 0.5, {}, "rival: 0.5 (ours 0.5, no difference)"),
        (1.866, 1.868, {"higher_is_better": False}, "rival: 1.866 (ours 1.868, behind by 0.002, lower is better)"),
        (2.0, 1.9, {"higher_is_better": False}, "rival: 2 (ours 1.9, ahead by 0.1, lower is better)"),
        (
            0.5,
            0.6,
            {"cases": 50},
            "rival: 0.500 ± 0.071 (ours 0.600 ± 0.069, no clear difference (ahead by 1.0 standard errors))",
        ),
        (0.5, 1.0, {"cases": 50}, "rival: 0.500 ± 0.071 (ours 50 of 50, ahead by 7.1 standard errors)"),
        (
            5,
            1,
            {"error": 0.6, "our_error": 0.8},
            "rival: 5.00 ± 0.60 (ours 1.00 ± 0.80, behind by 4.0 standard errors)",
        ),
    ],
)
def test_an_opponent_is_stated_whoever_wins(capsys, value, ours, more, line):
    opponent("rival", value, ours=ours, **more)
    assert capsys.readouterr().out == f"opponent {line}\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"value": math.nan, "ours": 1}, "value got nan, expected a finite number"),
        ({"value": 1, "ours": math.nan}, "ours got nan, expected a finite number"),
        ({"value": math.inf, "ours": 1}, "value got inf"),
        ({"value": 1, "ours": 1, "error": 0.1}, "got one of error and our_error"),
        ({"value": 1, "ours": 1, "our_error": 0.1}, "got one of error and our_error"),
        ({"value": 0.9, "ours": 99, "cases": 500}, "value got 99, expected a share"),
    ],
)
def test_an_opponent_without_a_result_is_refused_and_not_recorded(monkeypatch, tmp_path, arguments, sentence):
    monkeypatch.setenv("COURSE_CLAIMS_FILE", str(tmp_path / "claims.jsonl"))
    with pytest.raises(ValueError, match=sentence):
        opponent("rival", **arguments)
    assert not list(tmp_path.iterdir())


def test_statements_are_recorded_where_the_ledger_asks(monkeypatch, tmp_path):
    file = tmp_path / "claims.jsonl"
    monkeypatch.setenv("COURSE_CLAIMS_FILE", str(file))
    claim("exact", 0.99, at_least=0.95)
    opponent("rival", 0.997, ours=0.99)
    with pytest.raises(BrokenClaim), findings("a table"):
        control("uniform", 0.8, at_most=0.5, cases=10)
    first, second, third = [json.loads(line) for line in file.read_text().splitlines()]
    assert first == {"kind": "claim", "name": "exact", "value": 0.99, "at_least": 0.95, "at_most": None, "holds": True}
    assert second == {"kind": "opponent", "name": "rival", "value": 0.997, "ours": 0.99, "higher_is_better": True}
    assert third["kind"] == "control" and third["holds"] is False


def test_a_broken_claim_shows_the_whole_table_and_then_stops(capsys):
    both = 'claim "exact" does not hold: 0.2 is not at least 0.95; control "uniform" does not hold: 0.8 is not at most'
    with pytest.raises(BrokenClaim, match=both), findings("On 500 scenes"):
        claim("exact", 0.2, at_least=0.95)
        control("uniform", 0.8, at_most=0.5)
        claim("measured all the same", 0.5, at_least=0)
    shown = capsys.readouterr().out
    assert shown.count("✗") == 2 and "measured all the same" in shown
    claim("after it", 1, at_least=0)
    assert capsys.readouterr().out == "claim    after it: 1 (at least 0)\n"


def test_another_error_shows_the_table_too_and_is_not_covered_by_ours(capsys):
    with pytest.raises(ZeroDivisionError), findings("On 500 scenes"):
        claim("exact", 0.991, at_least=0.95)
        claim("a mean of nothing", 0 / 0, at_least=0.95)
    assert "0.991" in capsys.readouterr().out
    with pytest.raises(ZeroDivisionError), findings("On no scenes"):
        claim("a mean of nothing", 0 / 0, at_least=0.95)
    assert capsys.readouterr().out == ""


def test_tables_that_say_nothing_or_stand_inside_one_another_are_refused(capsys):
    with pytest.raises(ValueError, match='findings "empty" has no claim, control or opponent'), findings("empty"):
        pass
    with pytest.raises(ValueError, match="caption got an empty text"), findings(" "):
        claim("exact", 1, at_least=0.95)
    inside = 'findings "inner" stands inside of findings "outer": end that one first'
    with pytest.raises(ValueError, match=inside), findings("outer"), findings("inner"):
        claim("exact", 1, at_least=0.95)
    assert capsys.readouterr().out == ""
