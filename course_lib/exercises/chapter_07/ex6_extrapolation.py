"""07.6: extrapolation, a bias that is looked up by distance, and so exists for every length."""

import torch

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import Check, both, difference, equals, gradients_equal, inputs_unchanged
from course_lib.grading.exercise import Case, Exercise, Property, Task
from course_lib.grading.problem import Problem


def offsets(query, key):
    """Key's position minus query's, (query, key); the queries are the last of the positions."""
    return torch.arange(key) - torch.arange(key - query, key)[:, None]


def distance_bias(table, query, key):
    """The bias of each head for each query and key, by how far they are apart."""
    reach = table.shape[1] // 2
    return table[:, offsets(query, key).clamp(-reach, reach) + reach]


def draw_bias(generator: torch.Generator) -> Case:
    """Draw a table, and queries and keys that may be far beyond its reach."""
    heads, reach, query, more = sizes(generator, 3, 3, 9, 4)
    return {"table": normal(generator, heads, 2 * reach + 1), "query": query, "key": query + more - 1}


def right(near: bool) -> Check:
    """The answer is right for all that is within reach, or for all that is beyond it."""

    def check(case: Case):
        reply = yield case
        chosen = (offsets(case["query"], case["key"]).abs() <= case["table"].shape[1] // 2) == near
        got, expected = (torch.where(chosen, each, 0.0) for each in (reply.value, reply.expected))
        return difference(case, got, expected, where=f"{'within' if near else 'beyond'} the reach")

    return check


def same_for_every_length(case: Case):
    """What a longer input is given for its last positions is what a shorter one is given for all of its own."""
    few, many = case["key"], 3 * case["table"].shape[1]  # so many that most are out of reach of each other
    lengths = {"query": few}, {"query": 1}, {"query": many, "key": many}
    short, last, long = (each.value for each in (yield [case | each for each in lengths]))
    if not short.any():
        return Problem("value", case, got="nothing but zeros", expected="the numbers of the table")
    shared = min(few, many)
    for where, one, other in (
        (f"the last {shared} of {many} positions", long[:, -shared:, -shared:], short[:, -shared:, -shared:]),
        (f"the first {shared} of {many} positions", long[:, :shared, :shared], short[:, :shared, :shared]),
        (f"the last of {few} queries alone", last[:, 0], short[:, -1]),
    ):
        if problem := difference(case, one, other, where=f"{where}, beside the same offsets of {few} positions"):
            return problem
    return None


MISTAKES = """
query less key => within reach, each offset has its own entry
- offset = (key_position - query_position).clamp(-reach, reach)
+ offset = (query_position - key_position).clamp(-reach, reach)
this takes the offset the other way round, query minus key: entry 0 of the table belongs to keys far *before* the query,
whose offset key minus query is negative

reach not added => within reach, each offset has its own entry
- return table[:, offset + reach]
+ return table[:, offset]
this looks up the offset as it is; the offset 0 is in the middle of the table, at column `reach`, and a negative
index counts from the end without an error

not clipped => beyond it, the outermost entry of that side
- offset = (key_position - query_position).clamp(-reach, reach)
+ offset = key_position - query_position
this does not clip the offset: too far ahead there is no such column, and too far back the index is negative, which
reads from the other end of the table without an error

clipped at one end => beyond it, the outermost entry of that side
+ offset = (key_position - query_position).clamp(max=reach)
this clips what lies too far ahead and not what lies too far back, where the index is negative and reads from the other
end of the table

clipped at the other end => beyond it, the outermost entry of that side
+ offset = (key_position - query_position).clamp(min=-reach)
this clips what lies too far back and not what lies too far ahead, where the table has no column

round a circle => beyond it, the outermost entry of that side
- offset = (key_position - query_position).clamp(-reach, reach)
- return table[:, offset + reach]
+ offset = key_position - query_position
+ return table[:, (offset + reach) % (2 * reach + 1)]
this wraps round the table (`%`), so that a key far before the query gets the bias of one after it; an offset beyond the
reach has the outermost entry

nothing beyond => beyond it, the outermost entry of that side
- return table[:, offset + reach]
+ beyond = (key_position - query_position).abs() > reach
+ return table[:, offset + reach].masked_fill(beyond, 0.0)
this adds 0 beyond the reach; the outermost entry of that side holds for all offsets beyond

hidden beyond => beyond it, the outermost entry of that side
+ beyond = (key_position - query_position).abs() > reach
+ return table[:, offset + reach].masked_fill(beyond, float("-inf"))
this masks keys beyond the reach; they may be attended to, with the outermost entry of that side

one short => within reach, each offset has its own entry
- offset = (key_position - query_position).clamp(-reach, reach)
+ offset = (key_position - query_position).clamp(1 - reach, reach - 1)
this clips to reach - 1, so that the outermost entries are never read; with 2 reach + 1 columns the offsets go from
-reach to reach, both included

one column off => within reach, each offset has its own entry
- offset = (key_position - query_position).clamp(-reach, reach)
- return table[:, offset + reach]
+ offset = key_position - query_position
+ return table[:, (offset + reach - 1).clamp(0, 2 * reach)]
this reads one column too far to the left: offset -reach is column 0, so offset 0 is column `reach`, not `reach - 1`

one column off, to the right => within reach, each offset has its own entry
+ offset = key_position - query_position
+ return table[:, (offset + reach + 1).clamp(0, 2 * reach)]
this reads one column too far to the right: the middle of 2 reach + 1 columns is column `reach`,
and the last query stands at the last key

reach taken for the width => within reach, each offset has its own entry
+ offset = key_position - query_position
+ return table[:, (offset + table.shape[1]).clamp(0, 2 * reach)]
this takes the whole width of the table, 2 reach + 1, for the reach and clips only the column; the middle of the table
is then not at offset 0: reach is `table.shape[1] // 2`

no direction => within reach, each offset has its own entry
- offset = (key_position - query_position).clamp(-reach, reach)
+ offset = (key_position - query_position).abs().clamp(max=reach)
this takes the distance without its sign, so that a key before the query looks like one after it

no direction, from the first column => within reach, each offset has its own entry
- offset = (key_position - query_position).clamp(-reach, reach)
- return table[:, offset + reach]
+ offset = (key_position - query_position).abs()
+ return table[:, offset.clamp(max=2 * reach)]
this reads the table by the distance without its sign, from column 0 on; the columns run from far before, over the query
itself in the middle, to far after

both counted from the first position => an offset has one bias for every length
- query_position = torch.arange(key - query, key)[:, None]
+ query_position = torch.arange(query)[:, None]
this counts queries and keys from position 0; where there are fewer queries than keys they are the *last* positions, and
query 0 stands at position key - query

both counted from the first position, the other way round => within reach, each offset has its own entry
- query_position = torch.arange(key - query, key)[:, None]
- offset = (key_position - query_position).clamp(-reach, reach)
+ query_position = torch.arange(query)[:, None]
+ offset = (query_position - key_position).clamp(-reach, reach)
this takes query minus key, where the offset is key minus query; and it counts the queries from position 0, where they
are the *last* positions

stretched to the length => an offset has one bias for every length
- offset = (key_position - query_position).clamp(-reach, reach)
+ offset = ((key_position - query_position) * reach / max(key - 1, 1)).round().long()
this spreads the table over the length of the input, so that an offset means another thing in every length; an offset
has one entry

heads last => within reach, each offset has its own entry
- return table[:, offset + reach]
+ return table[:, offset + reach].movedim(0, -1)
this is (query, key, heads); the heads come first: index the second axis of the table, `table[:, columns]`

one head for all => within reach, each offset has its own entry
+ return table[:1, offset + reach].expand(len(table), -1, -1)
here every head has the bias of the first; each has a row of the table of its own

gradient cut => each entry of the table gets its gradient
+ return table[:, offset + reach].detach()
the numbers are right and have no gradient: they were copied out of the table (`.item()`, `.tolist()`, `.detach()`,
`torch.tensor(...)`), and the table could not learn; index it instead

a reach of 1 => within reach, each offset has its own entry
- offset = (key_position - query_position).clamp(-reach, reach)
+ reach = 1
+ offset = (key_position - query_position).clamp(-reach, reach)
this takes the reach for 1, as in the example; how far a table reaches, its width says: `table.shape[1] // 2`
"""

EXERCISE = Exercise(
    title="Extrapolation",
    difficulty=2,
    minutes=25,
    tasks=(
        Task(
            function="distance_bias",
            parameters=("table", "query", "key"),
            returns="the bias that is added to the scores, shape (heads, query, key)",
            cases=draw_bias,
            examples=(
                {"table": torch.tensor([[-1.0, 0.0, 1.0]]), "query": 3, "key": 3},
                {"table": torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), "query": 1, "key": 3},
            ),
            edges=(
                {"table": torch.tensor([[2.0], [3.0]]), "query": 1, "key": 1},  # a reach of 0
                {"table": torch.tensor([[1.0, 2.0, 3.0]]), "query": 2, "key": 3},  # the reach exactly, and beyond
                {
                    "table": torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
                    "query": 1,
                    "key": 1,
                },  # the middle column alone
            ),
            reference=distance_bias,
            properties=(
                Property("within reach, each offset has its own entry", 2, right(near=True)),
                Property("beyond it, the outermost entry of that side", 2, both(right(near=False), equals())),
                Property("an offset has one bias for every length", 2, same_for_every_length),
                Property(
                    "each entry of the table gets its gradient",
                    1,
                    both(gradients_equal(), inputs_unchanged),
                    only_when_right=True,
                ),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "Which column of the table belongs to a key that stands directly before the query? Which to the query itself?",
        "Make the positions of the keys a row and those of the queries, the last of them, a column; their difference "
        "is (query, key). Clip it to the reach on both sides, and move it so that the smallest is column 0.",
        "`offset = torch.arange(key) - torch.arange(key - query, key)[:, None]`; the reach is half of the table's "
        "columns, rounded down, and `table[:, columns]` reads them all at once, columns being `offset.clamp(-reach, "
        "reach) + reach`.",
    ),
)
