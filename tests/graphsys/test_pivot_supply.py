"""Pivot supply: rows that blocks lack, nodes that fill them, groups that share a pivot."""

import networkx as nx
import numpy as np
import pytest

import graphsys as gs
from graphsys.analysis.pivot_supply import WEAK, find_precedence, missing_rank, missing_rows
from graphsys.families import random_graph
from graphsys.kernels.analysis.pivot_supply import release_lists


def lacking(blocks, size=1, graph=None):
    """`missing_rank` of a chain of two nodes, or of another graph."""
    system = gs.System(graph or gs.chain(2), size, blocks=blocks)
    return missing_rank(system.graph, system.values).tolist()


def precedence(graph, demand, sizes=1, after_all=()):
    """`find_precedence`, and {node: whom it waits for}."""
    system = gs.System(graph, sizes)
    found = find_precedence(system.graph, np.array(demand), frozenset(after_all))
    waits = {j: [] for j in range(len(demand))}
    for i in range(len(demand)):
        for j in found.release[found.release_start[i] : found.release_start[i + 1]].tolist():
            waits[j].append(i)
    assert [len(waits[j]) for j in waits] == found.waits.tolist()
    return found, waits


# ---------------------------------------------------------------- rows that blocks lack, by hand


def test_a_zero_lacks_a_row():
    assert lacking({(0, 0): 1.0, (0, 1): 1.0, (1, 0): 1.0}) == [0, 1]
    assert lacking({(0, 1): 1.0, (1, 0): 1.0}) == [1, 1]
    assert lacking({(0, 0): 1.0, (1, 1): 1.0}) == [0, 0]
    assert lacking({}) == [0, 0]  # no values yet


def test_a_block_with_zeros_on_its_diagonal_may_lack_nothing():
    exchange, one = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([[1.0, 1.0], [0.0, 0.0]])
    assert lacking({(0, 0): exchange, (1, 1): np.eye(2)}, 2) == [0, 0]
    assert lacking({(0, 0): one, (1, 1): np.eye(2)}, 2) == [1, 0]
    assert lacking({(0, 0): np.zeros((2, 2)), (1, 1): exchange}, 2) == [2, 0]
    assert lacking({(0, 0): exchange * [1.0, 0.0], (1, 1): np.eye(2)}, 2) == [1, 0]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_tiny_pivot_lacks_its_row_if_it_is_tiny_in_row_and_column(sign):
    tiny = sign * 0.1 * WEAK
    assert lacking({(0, 0): tiny, (0, 1): 1.0, (1, 0): 1.0, (1, 1): 1.0}) == [1, 0]
    # scaled, these are 1 and 1: a pivot that is large in its column, or in its row
    assert lacking({(0, 0): tiny, (0, 1): 1.0, (1, 0): tiny, (1, 1): 1.0}) == [0, 0]
    assert lacking({(0, 0): tiny, (0, 1): tiny, (1, 0): 1.0, (1, 1): 1.0}) == [0, 0]
    assert lacking({(0, 0): 20 * WEAK, (0, 1): 1.0, (1, 0): 1.0, (1, 1): 1.0}) == [0, 0]


@pytest.mark.parametrize("row", [0.1 * WEAK, 1.0])
def test_weak_rows_are_those_that_are_tiny_in_row_and_column(row):
    # nodes 0 and 1 have such a row, node 2 is tiny in its row or in its column alone
    tiny = 0.1 * WEAK
    blocks = {(0, 0): tiny, (0, 1): 1.0, (1, 0): 1.0, (1, 1): 1.0}
    blocks |= {(2, 2): tiny, (2, 3): row, (3, 2): tiny / row, (3, 3): 1.0}
    assert lacking(blocks, graph=gs.chain(4)) == [1, 0, 0, 0]


def test_a_block_next_to_singular_lacks_the_rows_of_its_small_singular_values():
    weak, full = np.diag([1.0, 1e-3 * WEAK]), np.ones((2, 2))
    assert lacking({(0, 0): weak, (0, 1): full, (1, 0): full, (1, 1): np.eye(2)}, 2) == [1, 0]
    weak = 1e-3 * WEAK * np.eye(2)
    assert lacking({(0, 0): weak, (0, 1): full, (1, 0): full, (1, 1): np.eye(2)}, 2) == [2, 0]


def test_zeros_and_tiny_pivots_of_one_matrix_count_both():
    blocks = {(i, i): 1.0 for i in range(4)} | {(0, 0): 0.1 * WEAK, (3, 3): 0.0}
    blocks |= {(i, j): 1.0 for i, j in ((0, 1), (1, 0), (2, 3), (3, 2))}
    assert lacking(blocks, graph=gs.chain(4)) == [1, 0, 0, 1]


def test_rows_whose_sums_overflow_are_not_judged():
    big = 1.5e308
    blocks = {(0, 0): 1.0, (0, 1): big, (1, 0): big, (1, 1): 1.0, (1, 2): big, (2, 1): big}
    assert lacking(blocks | {(2, 2): 1.0}, graph=gs.chain(3)) == [0, 0, 0]


def test_named_nodes_lack_all_their_rows():
    graph = gs.System(gs.chain(2), [2, 3]).graph
    assert missing_rows(graph, [1], None).tolist() == [0, 3]
    assert missing_rows(graph, None, None).tolist() == [0, 0]
    with pytest.raises(gs.UnknownNodeError, match="'x'"):
        missing_rows(graph, ["x"], None)


# ---------------------------------------------------------------- who supplies, by hand


def test_nobody_waits_where_nothing_lacks():
    found, waits = precedence(gs.chain(3), [0, 0, 0])
    assert waits == {0: [], 1: [], 2: []} and not found.needy.any() and not found.short.size


def test_a_node_waits_for_the_neighbour_that_fills_it():
    found, waits = precedence(gs.chain(2), [0, 1])
    assert waits == {0: [], 1: [0]} and found.needy.tolist() == [False, True]


def test_supplies_are_passed_on_along_a_path():
    # Needy 0, 1, 2 beside regular 3, 4, 5, as a cycle without the edge 0-5: each takes the next.
    graph = nx.Graph([(0, 3), (3, 1), (1, 4), (4, 2), (2, 5)])
    found, waits = precedence(graph, demand_of(graph, {0: 1, 1: 1, 2: 1}))
    index = list(graph)
    served = {index[j]: [index[i] for i in waits[j]] for j in waits if waits[j]}
    assert served == {0: [3], 1: [4], 2: [5]} and not found.short.size


def demand_of(graph, demand):
    """Demand in the order of the graph's nodes."""
    return [demand.get(node, 0) for node in graph]


def test_a_node_that_nobody_can_fill_comes_after_its_neighbours():
    # a star of two needy leaves: its centre fills one of them
    graph = nx.Graph([("centre", "a"), ("centre", "b")])
    found, waits = precedence(graph, [0, 1, 1])
    assert waits == {0: [], 1: [0], 2: [0]} and found.short.size == 1


def test_two_empty_neighbours_share_a_pivot_block():
    found, waits = precedence(gs.chain(2), [1, 1])
    assert found.joined == ((0, 1),) and not found.short.size
    assert waits == {0: [], 1: []}
    # of different sizes, or not adjacent, they do not
    assert precedence(gs.chain(2), [1, 2], [1, 2])[0].joined == ()
    assert precedence(nx.empty_graph(2), [1, 1])[0].short.tolist() == [0, 1]


def test_who_has_the_fewest_partners_chooses_first():
    # a path of four empty nodes: the ends have one neighbour each, so both pairs are found
    assert precedence(gs.chain(4), [1, 1, 1, 1])[0].joined == ((0, 1), (2, 3))


def test_a_node_whose_pivot_failed_comes_after_all_its_neighbours():
    found, waits = precedence(gs.chain(3), [0, 0, 0], after_all={1})
    assert waits == {0: [], 1: [0, 2], 2: []} and found.needy.tolist() == [False, True, False]
    # two of them do not wait for each other
    assert precedence(gs.chain(3), [0, 0, 0], after_all={0, 1})[1] == {0: [], 1: [2], 2: []}


def test_what_a_group_waits_for_all_its_nodes_wait_for():
    # 1 and 2 are empty and adjacent, 0 fills one of them: the other finds nobody and is alone
    found, waits = precedence(gs.chain(3), [0, 1, 1])
    assert found.joined == () and found.short.tolist() == [2]
    assert waits == {0: [], 1: [0], 2: [1]}


# ---------------------------------------------------------------- laws


@pytest.mark.parametrize("seed", range(20))
def test_as_many_rows_as_possible_are_filled(seed):
    """Who goes without is as few as a maximum matching leaves, and none of a free neighbour."""
    rng = np.random.default_rng(seed)
    graph = random_graph(30, 2.0 + 0.1 * seed, seed=seed)
    demand = (rng.random(30) < 0.6).astype(int)
    found, waits = precedence(graph, demand)
    needy = np.flatnonzero(demand).tolist()
    nodes = list(graph)
    two_sides = nx.Graph()
    two_sides.add_nodes_from(needy)
    two_sides.add_edges_from(
        (j, nodes.index(i)) for j in needy for i in graph[nodes[j]] if not demand[nodes.index(i)]
    )
    matching = nx.bipartite.maximum_matching(two_sides, top_nodes=needy)
    inside = {j for group in found.joined for j in group}
    filled = [j for j in needy if j not in inside and j not in found.short]
    assert len(filled) == len(matching) // 2
    givers = [waits[j][0] for j in filled]
    assert all(len(waits[j]) == 1 for j in filled) and len({*givers}) == len(givers)
    assert all(graph.has_edge(nodes[waits[j][0]], nodes[j]) for j in filled)


@pytest.mark.parametrize("seed", range(20))
def test_suppliers_are_large_enough(seed):
    """As many rows as a maximum flow fills, where all can be filled; no supplier gives more."""
    rng = np.random.default_rng(seed)
    graph = random_graph(20, 2.0 + 0.2 * seed, seed=seed)
    sizes = rng.integers(1, 7, 20)
    demand = np.where(rng.random(20) < 0.35, rng.integers(0, sizes + 1), 0)
    found, waits = precedence(graph, demand, sizes.tolist())
    nodes = list(graph)

    def flow(pairs):
        network = nx.DiGraph()
        network.add_nodes_from(("source", "sink"))
        network.add_edges_from(("source", i, {"capacity": int(sizes[i])}) for i in range(20))
        network.add_edges_from((i, ("to", j)) for i, j in pairs)
        network.add_edges_from((("to", j), "sink", {"capacity": int(demand[j])}) for j in served)
        return nx.maximum_flow_value(network, "source", "sink")

    inside = {j for group in found.joined for j in group}
    served = [j for j in range(20) if demand[j] and j not in inside and j not in found.short]
    assert flow([(i, j) for j in served for i in waits[j]]) == demand[served].sum()
    assert all(demand[i] == 0 for j in served for i in waits[j])
    if len(served) < np.count_nonzero(demand):
        served = np.flatnonzero(demand).tolist()
        free = [
            (nodes.index(u), j) for j in served for u in graph[nodes[j]]
            if demand[nodes.index(u)] == 0
        ]  # fmt: skip
        assert flow(free) < demand.sum()  # indeed not all can be filled


# ---------------------------------------------------------------- lists of who waits


def lists_of(n, supplier, served):
    """`release_lists` of pairs of nodes."""
    supplier, served = np.array(supplier, np.int64), np.array(served, np.int64)
    waits, start, release = np.empty(n, np.int64), np.empty(n + 1, np.int64), served.copy()
    place, by_served = np.empty(n, np.int64), np.empty_like(served)
    release_lists(supplier, served, place, by_served, waits, start, release)
    return waits.tolist(), start.tolist(), release.tolist()


def test_lists_of_who_waits_by_hand():
    # 2 supplies 1 and 0, 3 supplies 1: node 1 waits for both
    assert lists_of(4, [2, 3, 2], [1, 1, 0]) == ([1, 2, 0, 0], [0, 0, 0, 2, 3], [0, 1, 1])
    assert lists_of(2, [], []) == ([0, 0], [0, 0, 0], [])


@pytest.mark.parametrize("seed", range(5))
def test_lists_of_who_waits_are_ascending(seed):
    rng = np.random.default_rng(seed)
    i, j = np.unique(rng.integers(0, 20, (60, 2)), axis=0)[rng.permutation(20)].T
    order = np.lexsort((j, i))

    waits, start, release = lists_of(20, i, j)
    assert waits == np.bincount(j, minlength=20).tolist()
    assert np.diff(start).tolist() == np.bincount(i, minlength=20).tolist()
    assert release == j[order].tolist()
