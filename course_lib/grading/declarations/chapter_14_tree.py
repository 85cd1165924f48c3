"""Exercise 14.4, tree embedding: the distances of a tree, and vectors whose squared distances they are."""

from collections.abc import Callable

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.drawing import sizes
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import Judge, answer_like, both, differs, equals, inputs_unchanged, on
from course_lib.grading.wording import describe, describe_case

# ---------------------------------------------------------------- distances


def tree_distances(parents):
    """Every node is one further from all before it than its parent is."""
    distances = torch.zeros(len(parents), len(parents), dtype=torch.long)
    for node in range(1, len(parents)):
        distances[node, :node] = distances[:node, node] = distances[parents[node], :node] + 1
    return distances


def depths(parents):
    """How far every node is from the root."""
    return tree_distances(parents)[0]


def with_the_roots_parent(parents):
    """Shortest ways, with an edge from the root to the last node."""
    distances = tree_distances(parents)
    return torch.minimum(distances, detour(distances, 0, -1))


def detour(distances, one, other):
    """Ways that take an edge between two nodes, in the shorter direction."""
    there = distances[:, one, None] + 1 + distances[other]
    return torch.minimum(there, there.T)


def adjacent(parents):
    """1 between a node and its parent."""
    return (tree_distances(parents) == 1).long()


def two_steps(parents):
    """Nothing further than 2 is found."""
    return tree_distances(parents).clamp(max=2)


def nodes_on_the_way(parents):
    """Nodes counted, both ends included."""
    return tree_distances(parents) + 1


def up_alone(parents):
    """0 unless one of the two is above the other."""
    distances = tree_distances(parents)
    related = distances == (distances[0][:, None] - distances[0]).abs()
    return torch.where(related, distances, 0)


def draw_tree(generator: torch.Generator) -> Case:
    """Draw a tree in which every parent stands before its children."""
    [number] = sizes(generator, 9, least=2)
    return {"parents": grown(generator, number)}


def draw_small_or_large(generator: torch.Generator) -> Case:
    """Draw a tree, which may be a root alone."""
    [number] = sizes(generator, 9)
    return {"parents": grown(generator, number)}


def grown(generator: torch.Generator, number: int) -> torch.Tensor:
    """Return parents: of each node, any one before it."""
    return torch.tensor([-1, *(sizes(generator, node)[0] - 1 for node in range(1, number))])


def chain(case: Case) -> Case:
    """Put all nodes one below the other, and one or two more, so that there are four or more."""
    return {"parents": torch.arange(-1, max(3, len(case["parents"])))}


def star(case: Case) -> Case:
    """Put all nodes below the root, at least three of them, and one more below each."""
    arms = max(3, len(case["parents"]) // 2)
    return {"parents": torch.cat([torch.tensor([-1]), torch.zeros(arms, dtype=torch.long), torch.arange(1, arms + 1)])}


BY_HAND = torch.tensor([-1, 0, 0, 1])

LINE, ARMS = "along a chain, each step counts one", "from arm to arm of a star the way leads over the root"
PAIRS = "the distance between any two nodes"

DISTANCES = Task(
    function="tree_distances",
    parameters=("parents",),
    returns="how many edges lie between any two nodes, whole numbers of shape (node, node)",
    cases=draw_small_or_large,
    examples=({"parents": BY_HAND},),
    reference=tree_distances,
    properties=(
        Property(LINE, 1, on(chain, equals(tree_distances))),
        Property(ARMS, 1, on(star, equals(tree_distances))),
        Property(PAIRS, 2, both(equals(tree_distances), inputs_unchanged)),
    ),
    misconceptions=(
        Misconception(
            "always over the root",
            "this adds the depths of both nodes, as if every way led over the root; it turns at the lowest node that "
            "is above both, or is one of them",
            lambda parents: (depths(parents)[:, None] + depths(parents)).fill_diagonal_(0),
            breaks=LINE,
        ),
        Misconception(
            "always over the root, to oneself too",
            "this adds the depths of both nodes, as if every way led over the root, that from a node to itself too; it "
            "turns at the lowest node that is above both, or is one of them",
            lambda parents: depths(parents)[:, None] + depths(parents),
            breaks=LINE,
        ),
        Misconception(
            "difference of depths",
            "this is the difference of the depths, which is right only where one node is above the other; two children "
            "of one parent are 2 apart, not 0",
            lambda parents: (depths(parents)[:, None] - depths(parents)).abs(),
            breaks=ARMS,
        ),
        Misconception(
            "difference of numbers",
            "this is how far the numbers of the nodes are apart; count the edges on the way from one to the other",
            lambda parents: (torch.arange(len(parents))[:, None] - torch.arange(len(parents))).abs(),
            breaks=ARMS,
        ),
        Misconception(
            "the root's parent",
            "the -1 of the root is read as the last node, which Python finds at index -1, so that an edge leads from "
            "the root to it; begin the loop at node 1",
            with_the_roots_parent,
            breaks=LINE,
        ),
        Misconception(
            "edges alone",
            "this is 1 for parent and child and 0 for all others: the edges, not the distances",
            adjacent,
            breaks=LINE,
        ),
        Misconception(
            "two steps at most",
            "no distance is greater than 2 here; ways may be as long as there are edges",
            two_steps,
            breaks=LINE,
        ),
        Misconception(
            "nodes counted",
            "this counts the nodes on the way, both ends included; count the edges, one less",
            nodes_on_the_way,
            breaks=PAIRS,
        ),
        Misconception(
            "nodes counted, but for oneself",
            "this counts the nodes on the way, both ends included; count the edges, one less",
            lambda parents: nodes_on_the_way(parents).fill_diagonal_(0),
            breaks=LINE,
        ),
        Misconception(
            "up alone",
            "this finds ways up or down only, and 0 between two branches; there the way goes up and then down",
            up_alone,
            breaks=ARMS,
        ),
        Misconception(
            "squared",
            "these are the squares of the distances; it is in the embedding that squares are taken",
            lambda parents: tree_distances(parents) ** 2,
            breaks=LINE,
        ),
        Misconception(
            "one triangle",
            "half of the table is empty; a way is as long there as back, so fill in both (i, j) and (j, i)",
            lambda parents: tree_distances(parents).tril(),
            breaks=PAIRS,
        ),
        Misconception(
            "the other triangle",
            "half of the table is empty; a way is as long there as back, so fill in both (i, j) and (j, i)",
            lambda parents: tree_distances(parents).triu(),
            breaks=PAIRS,
        ),
    ),
)

# ---------------------------------------------------------------- the embedding

Step = Callable[[torch.Tensor, torch.Tensor, int], torch.Tensor]


def walk(step: Step) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return an embedding with the root at 0 and every other node at `step(rows so far, parents, node)`."""

    def embed(parents):
        rows = torch.zeros(len(parents), len(parents) - 1)
        for node in range(1, len(parents)):
            rows[node] = step(rows, parents, node)
        return rows

    return embed


def along(rows, axis):
    """The vector of length 1 along one axis."""
    return torch.eye(rows.shape[1])[int(axis)]


def squared_distances(rows):
    """Between all pairs of rows."""
    return (rows[:, None] - rows).square().sum(-1)


tree_embedding = walk(lambda rows, parents, node: rows[parents[node]] + along(rows, node - 1))


def squares_are(which: Callable[[torch.Tensor], torch.Tensor]) -> Judge:
    """The squared distances are those of the tree, for the pairs at which `which(distances)` is True."""

    def judge(call: Call, case: Case) -> str | None:
        rows, _ = answer_like(tree_embedding, call, case)
        due = tree_distances(case["parents"])
        came, wanted = squared_distances(rows.double()).float(), due.float()
        wrong = which(due) & differs(came, wanted)
        if not wrong.any():
            return None
        one, other = sorted(wrong.nonzero()[0].tolist())
        between = f"nodes {one} and {other}" if one != other else f"node {one} and itself"
        number = describe(came[one, other].item())
        return f"{describe_case(case)}: between {between}, squared distance {number}, expected {due[one, other]}"

    return judge


EVERY = squares_are(lambda due: due >= 0)
PARENT, SIBLINGS = "a child is one away from its parent", "in a star, two children of the root are 2 apart, squared"
CHAIN = "along a chain, squared distances grow by one with each step"
ALL = "squared distance = tree distance, for all pairs"

EMBEDDING = Task(
    function="tree_embedding",
    parameters=("parents",),
    returns="a vector for every node, shape (node, node - 1), whose squared distances are the distances in the tree",
    cases=draw_tree,
    examples=({"parents": BY_HAND},),
    reference=tree_embedding,
    properties=(
        Property(PARENT, 1, both(squares_are(lambda due: due == 1), on(chain, squares_are(lambda due: due == 1)))),
        Property(SIBLINGS, 1, on(star, EVERY)),
        Property(CHAIN, 1, on(chain, EVERY)),
        Property(ALL, 2, both(EVERY, inputs_unchanged)),
    ),
    misconceptions=(
        Misconception(
            "one axis for a node, and no more",
            "every node stands on an axis of its own, at 1, and all but the root are equally far from each other; a "
            "child begins where its parent stands: take the parent's row, then one step",
            walk(lambda rows, parents, node: along(rows, node - 1)),
            breaks=PARENT,
        ),
        Misconception(
            "only one generation",
            "the child's row has the step of its parent and its own, but not those of the nodes further up; take the "
            "whole row of the parent",
            walk(
                lambda rows, parents, node: (
                    along(rows, node - 1) + (along(rows, parents[node] - 1) if parents[node] > 0 else 0)
                )
            ),
            breaks=PARENT,
        ),
        Misconception(
            "one axis for a depth",
            "all nodes of one depth step along the same axis, so that children of one parent stand on each other; "
            "every edge needs an axis of its own",
            walk(lambda rows, parents, node: rows[parents[node]] + along(rows, depths(parents)[node] - 1)),
            breaks=SIBLINGS,
        ),
        Misconception(
            "one axis for a parent",
            "all children of a node step along the same axis, and stand on each other; every edge needs an axis of its "
            "own",
            walk(lambda rows, parents, node: rows[parents[node]] + along(rows, parents[node])),
            breaks=SIBLINGS,
        ),
        Misconception(
            "on a line",
            "every edge is a step along the same axis; the *distance* on a line is then that of a chain, and its "
            "square is not: steps at right angles add up their squares",
            walk(lambda rows, parents, node: rows[parents[node]] + along(rows, 0)),
            breaks=CHAIN,
        ),
        Misconception(
            "opposite siblings",
            "two children step in opposite directions along one axis: they are 4 apart, squared, where the tree has 2; "
            "steps must be at right angles",
            walk(
                lambda rows, parents, node: rows[parents[node]] + (-1) ** node * along(rows, depths(parents)[node] - 1)
            ),
            breaks=SIBLINGS,
        ),
        Misconception(
            "steps of a root of two",
            "the steps are too long: each has the square 2, and an edge should have 1",
            walk(lambda rows, parents, node: rows[parents[node]] + 2**0.5 * along(rows, node - 1)),
            breaks=PARENT,
        ),
        Misconception(
            "steps that are halved",
            "the steps are too short: each has the square 1/2, and an edge should have 1",
            walk(lambda rows, parents, node: rows[parents[node]] + 0.5**0.5 * along(rows, node - 1)),
            breaks=PARENT,
        ),
        Misconception(
            "steps that grow with the depth",
            "the step is as long as the node is deep; every edge has the length 1",
            walk(lambda rows, parents, node: rows[parents[node]] + depths(parents)[node] * along(rows, node - 1)),
            breaks=PARENT,
        ),
        Misconception(
            "less the parent",
            "the parent's row is taken off; a child stands one step *from* its parent, so add the step to that row",
            walk(lambda rows, parents, node: along(rows, node - 1) - rows[parents[node]]),
            breaks=PARENT,
        ),
        Misconception(
            "all at one place",
            "all nodes are at the same place: the step from the parent is missing",
            walk(lambda rows, parents, node: rows[parents[node]]),
            breaks=PARENT,
        ),
        Misconception(
            "the node before",
            "every node steps on from the one *before* it, as if the tree were a chain; step on from its parent",
            walk(lambda rows, parents, node: rows[node - 1] + along(rows, node - 1)),
            breaks=SIBLINGS,
        ),
        Misconception(
            "rows of distances",
            "these are the distances to the other nodes, taken for coordinates; rows of a table of distances are not "
            "as far apart as the nodes",
            lambda parents: tree_distances(parents)[:, 1:].float(),
            breaks=ALL,
        ),
    ),
)

TREE = Exercise(
    id="14.4",
    title="Tree embedding",
    difficulty=3,
    minutes=35,
    tasks=(DISTANCES, EMBEDDING),
    hints=(
        "Hang a new node below one that is there already. How far is it from each of the others, if you know how far "
        "its parent is? And what is the square of a distance when one more step is taken at a right angle to all "
        "that came before?",
        "Go through the nodes from 1 on: their parents come first. Distances: the row of the parent, and one more, for "
        "all nodes so far; then the column. Vectors: the root at 0; a child has its parent's row, and 1 on an axis "
        "that no other edge uses.",
        "With `parent = parents[node]`, the new distances are `distances[parent, :node] + 1`, which go into the row "
        "and the column of the node, up to itself. There are node - 1 edges and as many axes: the edge above node i "
        "can have axis i - 1.",
    ),
)
