"""Trees in space: a point for every node, so that distances in the tree can be read off with a ruler."""

import torch

from course_lib.shapes import check_shape


def tree_distances(parents: torch.Tensor) -> torch.Tensor:
    """Return how many edges lie between any two nodes of a tree: (node, node), integers.

    `parents` (node,) holds the parent of each node; the root comes first and has -1, and every parent comes before its
    children. Raises ValueError where that is not so.

    >>> tree_distances(torch.tensor([-1, 0, 0, 1]))
    tensor([[0, 1, 1, 2],
            [1, 0, 2, 1],
            [1, 2, 0, 3],
            [2, 1, 3, 0]])
    """
    steps = _edges_on_path(parents)  # (node, edge)
    return (steps[:, None] != steps[None]).sum(dim=-1)  # (node, node)


def tree_embedding(parents: torch.Tensor) -> torch.Tensor:
    """Return a point for every node, (node, node - 1), such that squared distances are distances in the tree.

    Every edge gets a direction of its own, at right angles to all others; a node stands at the sum of the edges from
    the root to it. Between two nodes lie as many directions as edges, each a step of length 1: the squared distance
    counts them, after Pythagoras (Coenen et al., 2019). Parents are as in `tree_distances`.

    >>> points = tree_embedding(torch.tensor([-1, 0, 0, 1]))
    >>> (points[2] - points[3]).square().sum()
    tensor(3.)
    """
    return _edges_on_path(parents).float()


def _edges_on_path(parents: torch.Tensor) -> torch.Tensor:
    """Return which edges lead from the root to each node, (node, node - 1), as bool; edge i ends in node i + 1."""
    nodes = check_shape(parents, "node", "parents")["node"]
    before = parents < torch.arange(nodes, device=parents.device)  # (node,)
    if not nodes or parents[0] != -1 or (parents[1:] < 0).any() or not before.all():
        raise ValueError(f"`parents` is {parents.tolist()}, expected -1 first, then for each node one that came before")
    on_path = torch.zeros(nodes, nodes - 1, dtype=torch.bool, device=parents.device)  # (node, edge)
    for node, parent in enumerate(parents.tolist()[1:], start=1):
        on_path[node] = on_path[parent]
        on_path[node, node - 1] = True
    return on_path
