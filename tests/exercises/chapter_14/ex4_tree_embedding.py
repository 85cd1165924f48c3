"""Right answers to 14.4 that are written in other ways."""

import torch


def _way_up(parents, node):
    way = [node]
    while parents[way[-1]] >= 0:
        way.append(int(parents[way[-1]]))
    return way


def tree_distances_by_edges_that_one_way_has(parents):
    """The edges that only one of two ways to the root has."""
    edges = [set(_way_up(parents, node)[:-1]) for node in range(len(parents))]
    return torch.tensor([[len(one ^ other) for other in edges] for one in edges])


def tree_distances_by_shortest_ways(parents):
    """Shortest ways between all pairs."""
    nodes = len(parents)
    distances = torch.full((nodes, nodes), nodes).fill_diagonal_(0)
    for node in range(1, nodes):
        distances[node, parents[node]] = distances[parents[node], node] = 1
    for middle in range(nodes):
        distances = torch.minimum(distances, distances[:, middle, None] + distances[middle])
    return distances


def tree_distances_by_the_lowest_node_above_both(parents):
    """Depths, and the depth of the lowest node above both."""
    nodes = len(parents)
    distances = torch.zeros(nodes, nodes, dtype=torch.long)
    for i in range(nodes):
        for j in range(nodes):
            up, other = _way_up(parents, i), _way_up(parents, j)
            meet = next(node for node in up if node in other)
            distances[i, j] = up.index(meet) + other.index(meet)
    return distances


def tree_distances_breadth_first(parents):
    """Breadth first from every node."""
    nodes = len(parents)
    near = torch.zeros(nodes, nodes, dtype=torch.bool)
    children = torch.arange(1, nodes)
    near[children, parents[1:]] = True
    near = near | near.T
    reached, distances = torch.eye(nodes, dtype=torch.bool), torch.zeros(nodes, nodes, dtype=torch.int64)
    for step in range(1, nodes):
        new = ((reached.float() @ near.float()) > 0) & ~reached
        distances[new] = step
        reached = reached | new
    return distances


def tree_embedding_by_the_edges_on_the_way_up(parents):
    """An axis for each edge on the way up."""
    vectors = torch.zeros(len(parents), len(parents) - 1)
    for node in range(len(parents)):
        for edge in _way_up(parents, node)[:-1]:
            vectors[node, edge - 1] = 1
    return vectors


def tree_embedding_moved_and_turned(parents):
    """Moved, turned, and with some steps the other way."""
    nodes = len(parents)
    generator = torch.Generator().manual_seed(nodes)
    turn = torch.linalg.qr(torch.randn(nodes - 1, nodes - 1, generator=generator)).Q
    rows = [torch.ones(nodes - 1)]
    for node in range(1, nodes):
        rows.append(rows[parents[node]] + (-1) ** node * turn[node - 1])
    return torch.stack(rows)


def tree_embedding_by_classical_scaling(parents):
    """Classical scaling of the distances, as squares."""
    edges = [set(_way_up(parents, node)[:-1]) for node in range(len(parents))]
    squares = torch.tensor([[len(one ^ other) for other in edges] for one in edges]).double()
    centring = torch.eye(len(parents)).double() - 1 / len(parents)
    values, vectors = torch.linalg.eigh(-centring @ squares @ centring / 2)
    return (vectors * values.clamp(min=0).sqrt())[:, 1:].float()


def tree_embedding_by_an_inverse(parents):
    """All sums of steps at once: the inverse of 1 less the matrix of parents."""
    nodes = len(parents)
    hangs_below = torch.zeros(nodes, nodes)
    hangs_below[torch.arange(1, nodes), parents[1:]] = 1
    return torch.linalg.inv(torch.eye(nodes) - hangs_below)[:, 1:]
