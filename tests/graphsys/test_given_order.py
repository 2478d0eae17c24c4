"""Programs of given orders in one call are those of `gs.System.analyze`."""

import networkx as nx
import numpy as np
import pytest

import graphsys as gs
from graphsys.kernels.program import given_order

GRAPHS = {
    "one node": gs.chain(1), "chain": gs.chain(12), "ring": nx.cycle_graph(9),
    "grid": nx.grid_2d_graph(6, 6),
}  # fmt: skip


def written(graph, order, room):
    """Tables of a graph and program of an order, as compiled code writes them."""
    i, j = graph.pairs()
    ends, n = np.stack([i[i < j], j[i < j]]), graph.size.size
    m = ends.shape[1]
    row_start, start, diagonal_at = (np.zeros(n + k, np.int64) for k in (1, 1, 0))
    neighbor, block_at, bucket = np.zeros((3, 2 * m), np.int64)
    program, found = np.zeros(10**5, np.int64), np.zeros(given_order.FOUND_SIZE, np.int64)
    given_order.lay_graph(
        np.ascontiguousarray(ends), graph.size, bucket, room, row_start, start, neighbor,
        diagonal_at, block_at, found,
    )  # fmt: skip
    tables = graph.size, row_start, start, neighbor, diagonal_at, block_at
    given_order.program_in_order(tables, order, room, program, found)
    return tables, program, found


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("dims", [1, 3, 6, 14, "mixed"])
def test_program_in_order_is_that_of_analyze(name, dims):
    rng = np.random.default_rng(0)
    nodes = list(GRAPHS[name])
    sizes = rng.integers(1, 9, len(nodes)) if dims == "mixed" else dims
    system = gs.System(GRAPHS[name], sizes if dims != "mixed" else sizes.tolist())
    order = rng.permutation(len(nodes))
    labels = [system.graph.labels[k] for k in order]
    symbolic = system.analyze(labels, ())
    graph = system.graph
    room = given_order.room_of(len(nodes), 100, 1000, graph.rows)
    tables, program, found = written(graph, order, room)

    for mine, theirs in zip(tables, graph.tables(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert found.tolist() == [
        graph.neighbor.size, graph.nnz, symbolic.front.size, symbolic.program.size
    ]  # fmt: skip
    np.testing.assert_array_equal(program[: symbolic.program.size], symbolic.program)


def test_what_does_not_fit_is_counted_and_not_written():
    system = gs.System(nx.grid_2d_graph(6, 6), 2)
    symbolic = system.analyze(list(system.graph.labels), ())
    order = np.arange(36)
    small = given_order.room_of(36, 100, symbolic.front.size - 1, 72)
    _, program, found = written(system.graph, order, small)
    assert found[given_order.FRONTS] == symbolic.front.size and found[given_order.LENGTH] == 0
    assert not program.any()

    room = given_order.room_of(36, 100, symbolic.front.size, 72)
    tables, _, _ = written(system.graph, order, room)
    short, found = np.zeros(10, np.int64), np.zeros(given_order.FOUND_SIZE, np.int64)
    given_order.program_in_order(tables, order, room, short, found)
    assert 10 < found[given_order.LENGTH] <= symbolic.program.size and not short.any()
