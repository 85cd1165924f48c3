"""Exercise 07.6, extrapolation: a bias that is looked up by distance, and so exists for every length."""

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.drawing import normal, sizes
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import answer_like, both, difference, equals, gradients_equal, inputs_unchanged
from course_lib.grading.wording import describe_case


def reach_of(table):
    """How far a table reaches to each side."""
    return table.shape[1] // 2


def offsets(query, key):
    """Key's position less query's, (query, key); the queries are the last of the positions."""
    return torch.arange(key) - torch.arange(key - query, key)[:, None]


def distance_bias(table, query, key):
    """The bias of each head for each query and key, by how far they are apart."""
    reach = reach_of(table)
    return table[:, offsets(query, key).clamp(-reach, reach) + reach]


def looked_up(column):
    """Return a bias that reads column(offsets, reach) of the table."""
    return lambda table, query, key: table[:, column(offsets(query, key), reach_of(table))]


def clipped(offset, reach):
    """Offsets no further than the reach."""
    return offset.clamp(-reach, reach)


def counted_from_the_first(table, query, key):
    """Queries and keys both counted from position 0."""
    reach = reach_of(table)
    return table[:, clipped(torch.arange(key) - torch.arange(query)[:, None], reach) + reach]


def set_beyond(value):
    """Return a bias that is `value` out of reach."""

    def bias(table, query, key):
        return distance_bias(table, query, key).masked_fill(offsets(query, key).abs() > reach_of(table), value)

    return bias


def stretched(table, query, key):
    """The table spread over the length there is."""
    reach = reach_of(table)
    return table[:, (offsets(query, key) * reach / max(key - 1, 1)).round().long() + reach]


def head_by_head(table, query, key):
    """Every head with the row of the first."""
    return distance_bias(table[:1].expand_as(table), query, key)


def draw_bias(generator: torch.Generator) -> Case:
    """Draw a table, and queries and keys that may be far beyond its reach."""
    heads, reach, query, more = sizes(generator, 3, 3, 9, 4)
    return {"table": normal(generator, heads, 2 * reach + 1), "query": query, "key": query + more - 1}


def where(near: bool):
    """The answer is right for all that is within reach, or for all that is beyond it."""

    def judge(call: Call, case: Case) -> str | None:
        answer, expected = answer_like(distance_bias, call, case)
        chosen = (offsets(case["query"], case["key"]).abs() <= reach_of(case["table"])) == near
        if found := difference(torch.where(chosen, answer, 0.0), torch.where(chosen, expected, 0.0)):
            return f"{describe_case(case)}: {'within' if near else 'beyond'} the reach: {found}"
        return None

    return judge


def longer(case: Case) -> Case:
    """Ask for so many queries and keys that most are out of reach of each other."""
    time = 3 * case["table"].shape[1]
    return case | {"query": time, "key": time}


def same_for_every_length(call: Call, case: Case) -> str | None:
    """What a longer input is given for its last positions is what a shorter one is given for all of its own."""
    asked = longer(case)
    few, many = case["key"], asked["key"]
    short = answer_like(distance_bias, call, case | {"query": few})[0]
    last = answer_like(distance_bias, call, case | {"query": 1})[0]
    long = answer_like(distance_bias, call, asked)[0]
    if not short.any():
        return f"{describe_case(case)}: came nothing but zeros"
    shared = min(few, many)
    for name, one, other in (
        (f"the last {shared} of {many} positions", long[:, -shared:, -shared:], short[:, -shared:, -shared:]),
        (f"the first {shared} of {many} positions", long[:, :shared, :shared], short[:, :shared, :shared]),
        (f"the last of {few} queries alone", last[:, 0], short[:, -1]),
    ):
        if found := difference(one, other):
            told = f"{describe_case({'table': case['table']})}, {few} positions: {name} and the same offsets there"
            return f"{told}: {found}".replace("expected", "and")
    return None


NEAR = "within reach, each offset has its own entry"
FAR = "beyond it, the outermost entry of that side"
LENGTHS = "an offset has one bias, whatever the length"
GRADIENTS = "each entry of the table gets its gradient"

BIAS = Exercise(
    id="07.6",
    title="Extrapolation",
    difficulty=2,
    minutes=25,
    tasks=(
        Task(
            function="distance_bias",
            parameters=("table", "query", "key"),
            returns="what is added to the scores, shape (heads, query, key)",
            cases=draw_bias,
            examples=(
                {"table": torch.tensor([[-1.0, 0.0, 1.0]]), "query": 3, "key": 3},
                {"table": torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), "query": 1, "key": 3},
            ),
            reference=distance_bias,
            properties=(
                Property(NEAR, 2, where(near=True)),
                Property(FAR, 2, both(where(near=False), equals(distance_bias))),
                Property(LENGTHS, 2, same_for_every_length),
                Property(GRADIENTS, 1, both(gradients_equal(distance_bias), inputs_unchanged), only_when_right=True),
            ),
            misconceptions=(
                Misconception(
                    "query less key",
                    "this takes the offset the other way round, query less key: entry 0 of the table belongs to keys "
                    "far *before* the query, whose offset key less query is negative",
                    looked_up(lambda offset, reach: clipped(-offset, reach) + reach),
                    breaks=NEAR,
                ),
                Misconception(
                    "reach not added",
                    "this looks up the offset as it is; the offset 0 stands in the middle of the table, at column "
                    "`reach`, and a negative index counts from the end without a word",
                    looked_up(lambda offset, reach: clipped(offset, reach)),
                    breaks=NEAR,
                ),
                Misconception(
                    "not clipped",
                    "this does not clip the offset: too far ahead there is no such column, and too far back the index "
                    "is negative, which reads from the other end of the table without a word",
                    looked_up(lambda offset, reach: offset + reach),
                    breaks=FAR,
                ),
                Misconception(
                    "clipped at one end",
                    "this clips what lies too far ahead and not what lies too far back, where the index is negative "
                    "and reads from the other end of the table",
                    looked_up(lambda offset, reach: offset.clamp(max=reach) + reach),
                    breaks=FAR,
                ),
                Misconception(
                    "clipped at the other end",
                    "this clips what lies too far back and not what lies too far ahead, where the table has no column",
                    looked_up(lambda offset, reach: offset.clamp(min=-reach) + reach),
                    breaks=FAR,
                ),
                Misconception(
                    "round a circle",
                    "this goes round the table (`%`), so that a key far behind is taken for one ahead; what is beyond "
                    "the reach has the outermost entry",
                    looked_up(lambda offset, reach: (offset + reach) % (2 * reach + 1)),
                    breaks=FAR,
                ),
                Misconception(
                    "nothing beyond",
                    "this adds 0 beyond the reach; the outermost entry of that side holds for all that is further away",
                    set_beyond(0.0),
                    breaks=FAR,
                ),
                Misconception(
                    "hidden beyond",
                    "this hides what is beyond the reach; it may be attended to, with the outermost entry of that side",
                    set_beyond(float("-inf")),
                    breaks=FAR,
                ),
                Misconception(
                    "one short",
                    "this clips to reach - 1, so that the outermost entries are never read; with 2 reach + 1 columns "
                    "the offsets go from -reach to reach, both included",
                    looked_up(lambda offset, reach: clipped(offset, reach - 1) + reach),
                    breaks=NEAR,
                ),
                Misconception(
                    "one column off",
                    "this reads one column too far to the left: offset -reach is column 0, so offset 0 is column "
                    "`reach`, not `reach - 1`",
                    looked_up(lambda offset, reach: (offset + reach - 1).clamp(0, 2 * reach)),
                    breaks=NEAR,
                ),
                Misconception(
                    "one column off, to the right",
                    "this reads one column too far to the right: the middle of 2 reach + 1 columns is column `reach`, "
                    "not `reach + 1`",
                    looked_up(lambda offset, reach: (offset + reach + 1).clamp(0, 2 * reach)),
                    breaks=NEAR,
                ),
                Misconception(
                    "reach taken for the width",
                    "this takes the whole width of the table, 2 reach + 1, for the reach and clips only the column; "
                    "the middle of the table is then not at offset 0: reach is `table.shape[1] // 2`",
                    looked_up(lambda offset, reach: (offset + 2 * reach + 1).clamp(0, 2 * reach)),
                    breaks=NEAR,
                ),
                Misconception(
                    "no direction",
                    "this takes the distance without its sign, so that a key before the query looks like one after it",
                    looked_up(lambda offset, reach: offset.abs().clamp(max=reach) + reach),
                    breaks=NEAR,
                ),
                Misconception(
                    "no direction, from the first column",
                    "this reads the table by the distance without its sign, from column 0 on; the columns run from far "
                    "before, over the query itself in the middle, to far after",
                    looked_up(lambda offset, reach: offset.abs().clamp(max=2 * reach)),
                    breaks=NEAR,
                ),
                Misconception(
                    "both counted from the first position",
                    "this counts queries and keys from position 0; where there are fewer queries than keys they are "
                    "the *last* positions, and query 0 stands at position key - query",
                    counted_from_the_first,
                    breaks=LENGTHS,
                ),
                Misconception(
                    "both counted from the first position, the other way round",
                    "this takes query less key, where the offset is key less query; and it counts the queries from "
                    "position 0, where they are the *last* positions",
                    lambda table, query, key: counted_from_the_first(table.flip(1), query, key),
                    breaks=NEAR,
                ),
                Misconception(
                    "stretched to the length",
                    "this spreads the table over the length of the input, so that an offset means another thing in "
                    "every length; an offset has one entry",
                    stretched,
                    breaks=LENGTHS,
                ),
                Misconception(
                    "heads last",
                    "this is (query, key, heads); the heads come first: index the second axis of the table, "
                    "`table[:, columns]`",
                    lambda table, query, key: distance_bias(table, query, key).movedim(0, -1),
                    breaks=NEAR,
                ),
                Misconception(
                    "one head for all",
                    "here every head has the bias of the first; each has a row of the table of its own",
                    head_by_head,
                    breaks=NEAR,
                ),
                Misconception(
                    "gradient cut",
                    "the numbers are right and have no gradient: they were copied out of the table (`.item()`, "
                    "`.tolist()`, `.detach()`, `torch.tensor(...)`), and the table could not learn; index it instead",
                    lambda table, query, key: distance_bias(table, query, key).detach(),
                    breaks=GRADIENTS,
                ),
            ),
        ),
    ),
    hints=(
        "Which column of the table belongs to a key that stands one place before the query? Which to the query itself?",
        "Make the positions of the keys a row and those of the queries, the last of them, a column; their difference "
        "is (query, key). Clip it to the reach on both sides, and move it so that the smallest is column 0.",
        "`offset = torch.arange(key) - torch.arange(key - query, key)[:, None]`; the reach is half of the table's "
        "columns, rounded down, and `table[:, columns]` reads them all at once, columns being `offset.clamp(-reach, "
        "reach) + reach`.",
    ),
)
