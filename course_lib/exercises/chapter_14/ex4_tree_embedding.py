"""14.4: the distances of a tree, and vectors whose squared distances they are."""

from collections.abc import Callable

import torch

from course_lib.exercises.drawing import sizes
from course_lib.grading.checks import both, differs, equals, inputs_unchanged, on
from course_lib.grading.exercise import Case, Check, Exercise, Property, Task
from course_lib.grading.problem import Problem


def tree_distances(parents):
    """Every node is one further from all before it than its parent is."""
    distances = torch.zeros(len(parents), len(parents), dtype=torch.long)
    for node in range(1, len(parents)):
        distances[node, :node] = distances[:node, node] = distances[parents[node], :node] + 1
    return distances


def tree_embedding(parents):
    """The root at 0, and every other node one step from its parent, along an axis of its own."""
    rows, steps = torch.zeros(len(parents), len(parents) - 1), torch.eye(len(parents) - 1)
    for node in range(1, len(parents)):
        rows[node] = rows[parents[node]] + steps[node - 1]
    return rows


def draw_tree(generator: torch.Generator) -> Case:
    """Draw a tree in which every parent stands before its children."""
    return {"parents": grown(generator, sizes(generator, 9, least=2)[0])}


def draw_small_or_large(generator: torch.Generator) -> Case:
    """Draw a tree, which may be a root alone."""
    return {"parents": grown(generator, sizes(generator, 9)[0])}


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


def squares_are(which: Callable[[torch.Tensor], torch.Tensor]) -> Check:
    """The squared distances are those of the tree, for the pairs at which `which(distances)` is True."""

    def check(case: Case):
        reply = yield case
        rows, distances = reply.value.double(), tree_distances(case["parents"])
        got, expected = (rows[:, None] - rows).square().sum(-1).float(), distances.float()
        wrong = which(distances) & differs(got, expected)
        if not wrong.any():
            return None
        one, other = sorted(wrong.nonzero()[0].tolist())
        where = f"the squared distance between node {one} and {f'node {other}' if one != other else 'itself'}"
        return Problem("value", case, where=where, got=got[one, other].item(), expected=expected[one, other].item())

    return check


every_pair, child_and_parent = squares_are(lambda distances: distances >= 0), squares_are(lambda each: each == 1)
BY_HAND = torch.tensor([-1, 0, 0, 1])

DISTANCES_MISTAKES = """
always over the root => along a chain, each step counts one
- return distances
+ return (distances[0] + distances[:, :1]).fill_diagonal_(0)
this adds the depths of both nodes, as if every way led over the root; it turns at the lowest node that is above both,
or is one of them

always over the root, to oneself too => along a chain, each step counts one
+ return distances[0] + distances[:, :1]
this adds the depths of both nodes, as if every way led over the root, that from a node to itself too; it turns at the
lowest node that is above both, or is one of them

difference of depths => from arm to arm of a star the way leads over the root
+ return (distances[0] - distances[:, :1]).abs()
this is the difference of the depths, which is right only where one node is above the other; two children of one parent
are 2 apart, not 0

difference of numbers => from arm to arm of a star the way leads over the root
+ return (torch.arange(nodes)[:, None] - torch.arange(nodes)).abs()
this is how far the numbers of the nodes are apart; count the edges on the way from one to the other

the root's parent => along a chain, each step counts one
+ over_that_edge = distances[:, :1] + 1 + distances[-1]
+ return torch.minimum(distances, torch.minimum(over_that_edge, over_that_edge.T))
the -1 of the root is read as the last node, which Python finds at index -1, so that an edge leads from the root to it;
begin the loop at node 1

edges alone => along a chain, each step counts one
+ return (distances == 1).long()
this is 1 for parent and child and 0 for all others: the edges, not the distances

two steps at most => along a chain, each step counts one
+ return distances.clamp(max=2)
no distance here is greater than a fixed number of steps; ways may be as long as there are edges

three steps at most => along a chain, each step counts one
+ return distances.clamp(max=3)

four steps at most => along a chain, each step counts one
+ return distances.clamp(max=4)

nodes counted => the distance between any two nodes
+ return distances + 1
this counts the nodes on the way, both ends included; count the edges, one less

nodes counted, but for oneself => along a chain, each step counts one
+ return (distances + 1).fill_diagonal_(0)

up alone => from arm to arm of a star the way leads over the root
+ return torch.where(distances == (distances[0] - distances[:, :1]).abs(), distances, 0)
this finds ways up or down only, and 0 between two branches; there the way goes up and then down

squared => along a chain, each step counts one
+ return distances**2
these are the squares of the distances; it is in the embedding that squares are taken

one triangle => the distance between any two nodes
+ return distances.tril()
half of the table is empty; a way is as long there as back, so fill in both (i, j) and (j, i)

the other triangle => the distance between any two nodes
+ return distances.triu()
"""

EMBEDDING_MISTAKES = """
one axis for a node, and no more => a child is one away from its parent
- vectors[node] = vectors[parents[node]]
every node stands on an axis of its own, at 1, and all but the root are equally far from each other; a child begins
where its parent stands: take the parent's row, then one step

only one generation => a child is one away from its parent
+ if parents[node] > 0:
+     vectors[node, parents[node] - 1] = 1.0
the child's row has the step of its parent and its own, but not those of the nodes further up; take the whole row of the
parent

one axis for a depth => in a star, two children of the root are 2 apart, squared
- vectors[node, node - 1] = 1.0
+ vectors[node, int(vectors[node].sum())] = 1.0
all nodes of one depth step along the same axis, so that children of one parent stand on each other; every edge needs an
axis of its own

one axis for a parent => in a star, two children of the root are 2 apart, squared
+ vectors[node, parents[node]] += 1.0
all children of a node step along the same axis, and stand on each other; every edge needs an axis of its own

on a line => along a chain, squared distances grow by one with each step
+ vectors[node, 0] += 1.0
every edge is a step along the same axis; the *distance* on a line is then that of a chain, and its square is not: steps
at right angles add up their squares

opposite siblings => in a star, two children of the root are 2 apart, squared
+ vectors[node, int(vectors[node].abs().sum())] = (-1.0) ** node
two children step in opposite directions along one axis: they are 4 apart, squared, where the tree has 2; steps must be
at right angles

the root's step => a child is one away from its parent
- for node in range(1, nodes):
+ for node in range(nodes):
the root takes a step as well, along axis 0 - 1 = -1, which Python reads as the last one and which belongs to the last
node; begin the loop at node 1

steps of a root of two => a child is one away from its parent
- vectors[node, node - 1] = 1.0
+ vectors[node, node - 1] = 2**0.5
the steps are too long: each has the square 2, and an edge should have 1

steps that are halved => a child is one away from its parent
+ vectors[node, node - 1] = 0.5**0.5
the steps are too short: each has the square 1/2, and an edge should have 1

steps that grow with the depth => a child is one away from its parent
+ vectors[node, node - 1] = vectors[node].max() + 1.0
the step is as long as the node is deep; every edge has the length 1

less the parent => a child is one away from its parent
- vectors[node] = vectors[parents[node]]
+ vectors[node] = -vectors[parents[node]]
the parent's row is taken off; a child stands one step *from* its parent, so add the step to that row

all at one point => a child is one away from its parent
- vectors[node, node - 1] = 1.0
all nodes are at the same point: the step from the parent is missing

the node before => in a star, two children of the root are 2 apart, squared
- vectors[node] = vectors[parents[node]]
+ vectors[node] = vectors[node - 1]
every node steps on from the one *before* it, as if the tree were a chain; step on from its parent

rows of distances => squared distance = tree distance, for all pairs
- return vectors
+ return tree_distances(parents)[:, 1:].float()
these are the distances to the other nodes, taken for coordinates; rows of a table of distances are not as far apart as
the nodes

squares of squares => a child is one away from its parent
- vectors = torch.zeros(nodes, nodes - 1)
- for node in range(1, nodes):
- vectors[node] = vectors[parents[node]]
- vectors[node, node - 1] = 1.0
- return vectors
+ centring = torch.eye(nodes, dtype=torch.float64) - 1 / nodes
+ values, axes = torch.linalg.eigh(-0.5 * centring @ tree_distances(parents).double() ** 2 @ centring)
+ return (axes * values.clamp(min=0).sqrt())[:, 1:].float()
the distances in the tree are squared here before they are scaled (classical multidimensional scaling); they are the
squares already

eigenvalues without a root => a child is one away from its parent
+ centring = torch.eye(nodes, dtype=torch.float64) - 1 / nodes
+ values, axes = torch.linalg.eigh(-0.5 * centring @ tree_distances(parents).double() @ centring)
+ return (axes * values)[:, 1:].float()
the eigenvectors are multiplied by the eigenvalues; multiply them by the *roots* of these, since squares of the
coordinates make the distances

the parent moved too => a child is one away from its parent
- vectors[node] = vectors[parents[node]]
- vectors[node, node - 1] = 1.0
+ row = vectors[parents[node]]
+ row[node - 1] += 1.0
+ vectors[node] = row
a row that is taken out of a tensor is a view of it, so that the step moves the parent as well; take a copy of the row

steps that grow with the root of the depth => a child is one away from its parent
- vectors[node, node - 1] = 1.0
+ vectors[node, node - 1] = (vectors[node].square().max() + 1.0).sqrt()
the step is as long as the root of the node's depth; every edge has the length 1, however deep it lies
"""

EXERCISE = Exercise(
    title="Tree embedding",
    difficulty=3,
    minutes=35,
    tasks=(
        Task(
            function="tree_distances",
            parameters=("parents",),
            returns="how many edges lie between any two nodes, whole numbers of shape (node, node)",
            cases=draw_small_or_large,
            examples=({"parents": BY_HAND},),
            edges=(
                {"parents": torch.tensor([-1])},  # the root alone
                {"parents": torch.tensor([-1, 0])},
                {"parents": torch.tensor([-1, 0, 1, 1, 0, 4, 3, 5])},  # two arms that fork and are deep
            ),
            reference=tree_distances,
            properties=(
                Property("along a chain, each step counts one", 1, on(chain, equals())),
                Property("from arm to arm of a star the way leads over the root", 1, on(star, equals())),
                Property("the distance between any two nodes", 2, both(equals(), inputs_unchanged)),
            ),
            mistakes=DISTANCES_MISTAKES,
        ),
        Task(
            function="tree_embedding",
            parameters=("parents",),
            returns="a vector for every node, shape (node, node - 1), whose squared distances are the distances in the "
            "tree",
            cases=draw_tree,
            examples=({"parents": BY_HAND},),
            edges=(
                {"parents": torch.tensor([-1, 0])},  # a single edge
                {"parents": torch.tensor([-1, 0, 1, 1, 0, 4, 3, 5])},  # two arms that fork and are deep
                {"parents": torch.arange(-1, 29)},  # a long chain
            ),
            reference=tree_embedding,
            properties=(
                Property("a child is one away from its parent", 1, both(child_and_parent, on(chain, child_and_parent))),
                Property("in a star, two children of the root are 2 apart, squared", 1, on(star, every_pair)),
                Property("along a chain, squared distances grow by one with each step", 1, on(chain, every_pair)),
                Property("squared distance = tree distance, for all pairs", 2, both(every_pair, inputs_unchanged)),
            ),
            mistakes=EMBEDDING_MISTAKES,
        ),
    ),
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
