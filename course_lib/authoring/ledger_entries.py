"""What stands in the ledger of claims (book/_data/claims.json): each statement of a chapter with its value per seed."""

import json
import math
import re
import statistics
from pathlib import Path

from course_lib.measurements import side, standing
from course_lib.project import CourseError


def read_ledger(path: str | Path) -> dict[str, dict]:
    """Return the chapters of the ledger at `path`: for each number ("02") its claims and how they were measured.

    Raises CourseError where nothing was measured yet.
    """
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))["chapters"]
    except FileNotFoundError:
        raise CourseError(f"there is no {path} yet: run `course claims`") from None


def claims_of(chapters: dict[str, dict], page: str) -> list[dict]:
    """Return the claims of a page of the book such as "book/05_scaling_and_masking"; of what is no chapter, none.

    >>> claims_of({"05": {"claims": [{"name": "scaled"}]}}, "book/05_scaling_and_masking")
    [{'name': 'scaled'}]
    """
    chapter = re.match(r"book/(\d\d)_", page)
    return chapters.get(chapter[1], {}).get("claims", []) if chapter else []


def as_json(chapters: dict[str, dict]) -> str:
    """Return the file that holds `chapters`, one line a list of numbers, so that one new value changes one line."""
    text = json.dumps({"chapters": dict(sorted(chapters.items()))}, indent=1, ensure_ascii=False)
    return re.sub(r"\[[^\[\]{}]*\]", lambda numbers: re.sub(r"\n\s*", " ", numbers[0]), text) + "\n"


def summarise(seeds: dict[int, list[dict]]) -> list[dict]:
    """Return the claims of a chapter from the statements it made under each seed, in the order of the chapter.

    Raises CourseError where seeds made different statements: then their values cannot be compared. A claim that broke
    has stopped its cell, and what came after it is missing, so it is named first.

    >>> said = {"kind": "claim", "name": "exact", "at_least": 0.9, "at_most": None, "holds": True}
    >>> (claim,) = summarise({0: [said | {"value": 0.95}], 1: [said | {"value": 0.97}]})
    >>> claim["values"], claim["worst"], round(claim["spread"], 2)
    ([0.95, 0.97], 0.95, 0.02)

    Of an opponent there are the rival's values and ours, and nothing that has to hold.

    >>> said = {"kind": "opponent", "name": "rival", "higher_is_better": True, "ours": 0.95}
    >>> (opponent,) = summarise({0: [said | {"value": 0.92}], 1: [said | {"value": 0.96}]})
    >>> opponent["values"], opponent["ours"]
    ([0.92, 0.96], [0.95, 0.95])
    """
    seeds = {seed: [each for each in said if each["kind"] != "trained"] for seed, said in seeds.items()}
    first_seed, first = next(iter(seeds.items()))
    if not first:
        raise CourseError("states no claim")
    names = [statement["name"] for statement in first]
    if twice := {name for name in names if names.count(name) > 1}:
        raise CourseError(f"states {_quoted(twice)} twice: each claim needs a name of its own")
    expected = [_identity(statement) for statement in first]
    for seed, statements in seeds.items():
        identities = [_identity(statement) for statement in statements]
        if identities != expected:
            differing = {each["name"] for each in expected + identities if (each in expected) != (each in identities)}
            broken = {
                f"{each['name']} ({each['value']:.4g})" for each in first + statements if not each.get("holds", True)
            }
            first_of_all = f"; {_quoted(broken)} broke" if broken else ""
            raise CourseError(
                f"does not state the same under seeds {first_seed} and {seed}: {_quoted(differing)}{first_of_all}"
            )
    return [_summary([statements[index] for statements in seeds.values()]) for index in range(len(first))]


def trained_by_seed(statements: list[list[dict]]) -> dict[str, list[float]]:
    """Return the numbers that `trained_beforehand` has measured in a chapter: for each name one of each seed.

    Raises CourseError where two numbers of one seed have one name, and where seeds have other names.

    >>> said = {"kind": "trained", "name": "width 16"}
    >>> trained_by_seed([[said | {"value": 3.25}], [said | {"value": 3.5}]])
    {'width 16': [3.25, 3.5]}
    """
    seeds = [[each for each in said if each["kind"] == "trained"] for said in statements]
    names = [[each["name"] for each in trained] for trained in seeds]
    if twice := {name for name in names[0] if names[0].count(name) > 1}:
        raise CourseError(f"trains {_quoted(twice)} twice: each number needs a name of its own")
    if differing := set().union(*(set(names[0]) ^ set(of_seed) for of_seed in names)):
        raise CourseError(f"does not train the same under all seeds: {_quoted(differing)}")
    values = [[_rounded(each["value"]) for each in trained] for trained in seeds]
    return {name: list(of_seeds) for name, of_seeds in zip(names[0], zip(*values, strict=True), strict=True)}


def holds(claim: dict, value: float | None = None) -> bool:
    """Return whether `value`, by default the worst one, keeps to the bound of the claim; an opponent has none to keep.

    >>> holds({"kind": "claim", "at_least": 0.95, "at_most": None, "worst": 0.97})
    True
    """
    if claim["kind"] == "opponent":
        return True
    return _margin(claim, claim["worst"] if value is None else value) >= 0


def bound(claim: dict) -> str:
    """Return the bound of a claim in characters, with a space that does not break.

    >>> bound({"at_least": None, "at_most": 0.5}).split()
    ['≤', '0.5']
    """
    sign, limit = ("≥", claim["at_least"]) if claim["at_least"] is not None else ("≤", claim["at_most"])
    return f"{sign}\N{NO-BREAK SPACE}{limit:g}"


def lead(opponent: dict) -> str:
    """Return in words how we stand to a rival over all seeds, in standard errors of the mean difference.

    Both were measured under the same seeds, so it is the differences seed by seed that count. Where each of the two
    has the same value under every seed, nothing was repeated: that is one run.

    >>> lead({"higher_is_better": True, "values": [0.92, 0.95, 0.93], "ours": [0.99, 0.99, 1.0]})
    'ahead by 6.0 standard errors'
    >>> lead({"higher_is_better": False, "values": [1.866, 1.866], "ours": [1.868, 1.868]})
    'behind by 0.002 (one run)'
    """
    return standing(*_lead(opponent)) + (" (one run)" if _is_one_run(opponent) else "")


def rival(opponent: dict) -> str:
    """Return in a word or three how a rival stands to us over all seeds; nothing where they are one run.

    >>> rival({"higher_is_better": True, "values": [0.92, 0.95, 0.93], "ours": [0.99, 0.99, 1.0]})
    'worse'
    >>> rival({"higher_is_better": True, "values": [491, 498, 491], "ours": [497, 496, 498]})
    'no clear difference'
    """
    stands = side(*_lead(opponent))
    return "" if _is_one_run(opponent) else {"ahead": "worse", "behind": "better"}.get(stands, stands)


def _lead(opponent: dict) -> tuple[float, float]:
    """Return by how much ours is better, the mean over all seeds, and the standard error of that mean."""
    sign = 1 if opponent["higher_is_better"] else -1
    pairs = zip(opponent["ours"], opponent["values"], strict=True)
    differences = [_rounded(sign * (ours - theirs)) for ours, theirs in pairs]
    error = statistics.stdev(differences) / math.sqrt(len(differences)) if len(differences) > 1 else 0
    return statistics.fmean(differences), error


def _is_one_run(opponent: dict) -> bool:
    return len(set(zip(opponent["ours"], opponent["values"], strict=True))) == 1


def _identity(statement: dict) -> dict:
    sides = ("higher_is_better",) if statement["kind"] == "opponent" else ("at_least", "at_most")
    return {key: statement[key] for key in ("kind", "name", *sides)}


def _quoted(names: set[str]) -> str:
    return ", ".join(f'"{name}"' for name in sorted(names))


def _summary(statements: list[dict]) -> dict:
    values = [_rounded(statement["value"]) for statement in statements]
    claim = _identity(statements[0])
    if claim["kind"] == "opponent":
        return claim | {"values": values, "ours": [_rounded(statement["ours"]) for statement in statements]}
    worst = min(values, key=lambda value: _margin(claim, value))
    return claim | {"values": values, "worst": worst, "spread": max(values) - min(values)}


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")  # what float32 has; the rest is noise


def _margin(claim: dict, value: float) -> float:
    """Return how far `value` is on the right side of the bound; a value that could not be computed is beyond any."""
    margin = value - claim["at_least"] if claim["at_least"] is not None else claim["at_most"] - value
    return -math.inf if math.isnan(margin) else margin
