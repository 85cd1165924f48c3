"""What five seeds found, beside what the page found: a column of the tables of findings, filled from the ledger."""

import html
import math
import re
from itertools import islice

from course_lib.authoring.ledger_entries import rival
from course_lib.findings import HEADINGS
from course_lib.measurements import in_digits

TABLE = re.compile(r'<table class="table findings">.*?</table>', re.DOTALL)
HEAD = re.compile(r"(<tr>(?:<th scope=\"col\"[^>]*>.*?</th>){2})", re.DOTALL)
ROW = re.compile(
    r'(?P<start><tr><th scope="row"[^>]*>(?P<name>.*?)</th><td[^>]*>(?P<value>.*?)</td>)'
    r"(?:(?P<before><td[^>]*>)(?P<verdict>.*?)(?=</td>))?",
    re.DOTALL,
)
VALUE = re.compile(r"[-\u2212]?\d[\d,]*(?:\.(\d+))?(?![\d.,e]| of )")
NUMBER = re.compile(r"[-\u2212]?\d[\d,]*(?:\.\d+)?(?:e[+-]\d+)?")
COUNT = re.compile(r"([\d,]+) of ([\d,]+)")
KIND = re.compile(r"^<strong>\w+:</strong> ")
SEEDS = "Range over the seeds"
VERDICT = HEADINGS[-1]
RULE = f'<a href="claims.html#when-a-baseline-is-called-better">{VERDICT}</a>'  # the section that defines the verdict
LEFT = 'style="text-align: left"'


def with_seeds(page: str, claims: list[dict]) -> str:
    """Return the HTML of a page whose tables of findings have a column with the lowest and highest value of all seeds.

    The verdict on a baseline is that of all seeds, too: one training says little about two that are close. Its heading
    leads to the rule on the page of claims. The row with which baselines are compared is marked as ours. `claims` are
    those of its chapter in the ledger. A table of which the ledger knows no row stays as it is.

    >>> from course_lib.findings import Findings, Statement
    >>> table = Findings("On 500 scenes", [Statement("claim", "exact", "0.996", "at least 0.95", holds=True)])
    >>> shown = with_seeds(table._repr_html_(), [{"name": "exact", "values": [0.996, 0.988, 0.99]}])
    >>> SEEDS in shown and "<td " + LEFT + ">0.988 to 0.996</td>" in shown
    True
    """
    known = {claim["name"]: claim for claim in claims}

    def column(table: re.Match) -> str:
        rows = {name: known[name] for row in ROW.finditer(table[0]) if (name := _name(row["name"])) in known}
        if not rows:
            return table[0]
        ours = _ours(rows)
        headed = HEAD.sub(rf'\1<th scope="col" {LEFT}>{SEEDS}</th>', table[0], count=1)
        return ROW.sub(lambda row: _with_seeds(row, ours), headed.replace(f">{VERDICT}<", f">{RULE}<", 1))

    def _with_seeds(row: re.Match, ours: set[str]) -> str:
        name = _name(row["name"])
        claim = known.get(name, {"values": []})
        verdict = (rival(claim) if "ours" in claim else "") or row["verdict"]
        last = "" if row["before"] is None else row["before"] + verdict
        start = _marked(row) if name in ours else row["start"]
        return f"{start}<td {LEFT}>{_range(claim['values'], row['value'])}</td>{last}"

    return TABLE.sub(column, page)


def _ours(rows: dict[str, dict]) -> set[str]:
    """Return the names of the rows whose values are those with which the baselines of their table are compared.

    >>> rows = {"new": {"values": [0.9, 0.8]}, "by chance": {"values": [0.9, 0.8]}}
    >>> _ours(rows | {"old": {"values": [0.5, 0.6], "ours": [0.9, 0.8]}})
    {'new'}
    """
    found = set()
    for each in rows.values():
        own = (name for name, row in rows.items() if "ours" not in row and row["values"] == each.get("ours"))
        found.update(islice(own, 1))  # the first one is what the table is about
    return found


def _marked(row: re.Match) -> str:
    """Return the start of a row whose name is marked as ours, beside its other mark if it has one."""
    place = row.start("name") - row.start("start")
    before, name = row["start"][:place], row["start"][place:]
    if KIND.match(name):
        return before + name.replace(":</strong>", ", ours:</strong>", 1)
    return f"{before}<strong>ours:</strong> {name}"


def _name(cell: str) -> str:
    return html.unescape(KIND.sub("", cell)).replace("±\N{NO-BREAK SPACE}", "± ")


def _range(values: list[float], shown: str) -> str:
    """Return the lowest and the highest value as they would be read: once where they look alike.

    Both are rounded outwards, to as many decimals as the value `shown` beside them has. That value is one of them: the
    page may have been executed on another machine than the ledger's seeds, where a training takes another way.

    >>> _range([0.6335, 0.7949], "0.633 ± 0.011"), _range([0.9825, 1.0], "500 of 500"), _range([32, 32], "32")
    ('0.633 to 0.795', '491 to 500', '32')
    >>> _range([0.992, 0.996], "0.988 ± 0.003"), _range([2.52e6, 2.728e6], "2,770,000")
    ('0.988 to 0.996', '2,520,000 to 2,770,000')
    >>> _range([0.4744, 0.4744], "0.47 ± 0.01")  # what does not depend on the seed
    '0.47'
    >>> _range([0.9999, 1.0], "1"), _range([31.96, 32.5], "32")  # a value whose last zeros are not shown
    ('0.999 to 1.000', '31.96 to 32.50')
    """
    if not values:
        return ""
    if counted := COUNT.fullmatch(shown):
        right, cases = (int(number.replace(",", "")) for number in counted.groups())
        counts = [right, *(round(value * cases) for value in values)]
        return _once(f"{min(counts):,}", f"{max(counts):,}")
    value = VALUE.match(shown)
    decimals = len(value[1] or "") if value else None
    if decimals == 0 and not all(float(each).is_integer() for each in values):
        decimals = max(0, 4 - sum(map(str.isdigit, value[0])))
    if decimals is not None and min(values) == max(values) and not float(values[0]).is_integer():
        return f"{values[0]:,.{decimals}f}"
    if number := NUMBER.match(shown):
        values = [*values, float(number[0].replace(",", "").replace("\u2212", "-"))]
    low, high = in_digits(min(values), 4), in_digits(max(values), 4)
    if decimals is not None and not all(float(each).is_integer() for each in values):
        unit = 10**decimals
        low = f"{math.floor(round(min(values) * unit, 6)) / unit:,.{decimals}f}"
        high = f"{math.ceil(round(max(values) * unit, 6)) / unit:,.{decimals}f}"
    return _once(low, high)


def _once(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"
