"""Factors of eight matrices whose entries lie side by side, as `dynamics` assembles them."""

import networkx as nx
import numpy as np
import pytest

import graphsys as gs
from graphsys.kernels.base.layout import ROWS, SYMMETRIC
from graphsys.kernels.batch.ldu import factorize_eight, schedule, solve_eight
from graphsys.kernels.batch.substitution import panel_room
from graphsys.matrix.vectors import aligned

LANES = 8


def vectors(count):
    made = aligned(LANES * count, np.dtype(np.float64))
    made[:] = 0.0
    return made


GRAPHS = {
    "chain": nx.path_graph(7),
    "tree": nx.balanced_tree(2, 3),
    "loop": nx.cycle_graph(6),
    "net": nx.convert_node_labels_to_integers(nx.grid_2d_graph(3, 4)),
}


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("graph", GRAPHS)
def test_solutions_are_those_of_each_matrix(graph, symmetric):
    rng = np.random.default_rng(0)
    sizes = {node: int(rng.integers(1, 6)) for node in GRAPHS[graph]}
    systems = []
    for _ in range(LANES):
        system = gs.System(GRAPHS[graph], sizes, symmetric=symmetric)
        for u, v in GRAPHS[graph].edges:
            system[u, v] = rng.normal(size=(sizes[u], sizes[v]))
            if not symmetric:
                system[v, u] = rng.normal(size=(sizes[v], sizes[u]))
        for node, size in sizes.items():
            block = rng.normal(size=(size, size))
            system[node, node] = block + block.T + 20.0 * np.eye(size)
        systems.append(system)
    symbolic = systems[0].analyze()
    program = symbolic.in_postorder.supernodal_program
    rows = int(program[ROWS])
    assert bool(program[SYMMETRIC]) == symmetric
    values = vectors(systems[0].values.size)
    values.reshape(-1, LANES)[:] = np.transpose([system.values for system in systems])
    b, out = vectors(rows), vectors(rows)
    b[:] = rng.normal(size=b.size)
    magnitude, x = vectors(2 * rows), vectors(rows + panel_room(program))
    arena, ratio = vectors(symbolic.in_postorder.arena_size), vectors(1)
    factorize_eight(program, schedule(program), values, 0, 0, 0, magnitude, x, arena, 0, ratio, 0)
    solve_eight(program, arena, b, x, out)
    for lane, system in enumerate(systems):
        dense = system.to_scipy().toarray()
        wanted = np.linalg.solve(dense, b.reshape(-1, LANES)[:, lane])
        np.testing.assert_allclose(out.reshape(-1, LANES)[:, lane], wanted, rtol=0, atol=1e-12)
    assert (ratio > 1e-3).all()
