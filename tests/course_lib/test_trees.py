import pytest
import torch

from course_lib.trees import tree_distances, tree_embedding


def random_tree(nodes, seed):
    generator = torch.Generator().manual_seed(seed)
    parents = [int(torch.randint(node, (1,), generator=generator)) for node in range(1, nodes)]
    return torch.tensor([-1, *parents])


def by_walking(parents, one, other):
    """Return the distance of two nodes by walking up from both: the specification."""

    def up(node):
        return [node, *up(int(parents[node]))] if node >= 0 else []

    first, second = set(up(one)), set(up(other))
    return len(first ^ second)


@pytest.mark.parametrize("nodes", [1, 2, 3, 9, 30])
@pytest.mark.parametrize("seed", range(3))
def test_distances_are_those_of_a_walk_and_squares_in_space(nodes, seed):
    parents = random_tree(nodes, seed)
    distances = tree_distances(parents)
    assert distances.tolist() == [[by_walking(parents, one, other) for other in range(nodes)] for one in range(nodes)]
    places = tree_embedding(parents)
    assert places.shape == (nodes, nodes - 1)
    squares = (places[:, None] - places[None]).square().sum(dim=-1)
    assert torch.equal(squares, distances.float())


def test_no_embedding_has_distances_themselves():
    """A star with three leaves: 2 between any leaves and 1 to the middle would be three halves of one line."""
    places = tree_embedding(torch.tensor([-1, 0, 0, 0]))
    leaves = torch.cdist(places, places)[1:, 1:]
    assert torch.allclose(leaves[~torch.eye(3, dtype=torch.bool)], torch.tensor(2.0).sqrt())


@pytest.mark.parametrize("parents", [[], [0], [-1, 1], [-1, -1], [-1, 2, 0], [0, 0]])
def test_what_is_no_tree_is_refused(parents):
    with pytest.raises(ValueError, match="`parents`"):
        tree_distances(torch.tensor(parents, dtype=torch.long))
