import json

import pytest

from course_lib.claims import BrokenClaim, claim, control


def test_a_claim_that_holds_prints_one_line(capsys):
    claim("exact", 0.9912, at_least=0.95)
    control("uniform", 0.28, at_most=0.5)
    assert capsys.readouterr().out == "claim    exact: 0.991 (at least 0.95)\ncontrol  uniform: 0.28 (at most 0.5)\n"


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


def test_statements_are_recorded_where_the_ledger_asks(monkeypatch, tmp_path):
    file = tmp_path / "claims.jsonl"
    monkeypatch.setenv("COURSE_CLAIMS_FILE", str(file))
    claim("exact", 0.99, at_least=0.95)
    with pytest.raises(BrokenClaim):
        control("uniform", 0.8, at_most=0.5)
    first, second = [json.loads(line) for line in file.read_text().splitlines()]
    assert first == {"kind": "claim", "name": "exact", "value": 0.99, "at_least": 0.95, "at_most": None, "holds": True}
    assert second["kind"] == "control" and second["holds"] is False
