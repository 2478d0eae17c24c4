"""Programs of small nodes at the bottom of the elimination tree and supernodes above them."""

import copy
import pickle

import networkx as nx
import numpy as np
import pytest

import graphsys as gs
from graphsys import kernels
from graphsys.families import random_system
from graphsys.kernels.base.layout import (
    ARENA_SIZE,
    HEADER,
    LOADS,
    NODES,
    STALE,
    STARTS_AT,
    SUPERNODES,
    TARGETS_AT,
)
from graphsys.numeric import threads

TYPES = [np.float64, np.float32, np.complex128]
#: Rows of the nodes.
SIZES = {"one": (1,), "two": (2,), "mixed": (1, 2), "three": (3,)}
KINDS = [False, True, "hermitian"]


def network(n, meshed, seed=0):
    """Ring of meshed nodes, each next to four others, with trees and some loops of three on it."""
    rng = np.random.default_rng(seed)
    graph = nx.random_regular_graph(4, meshed, seed=seed)
    for k in range(meshed, n):
        near = int(rng.integers(0, k))
        graph.add_edge(k, near)
        if k % 3 == 0:
            graph.add_edge(k, next(iter(graph[near])))
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    return graph


def made(name, dtype=np.float64, symmetric=False, n=200, meshed=60):
    """Matrix of a network, with a program of both kinds."""
    graph, rng = network(n, meshed), np.random.default_rng(1)
    sizes = {k: int(rng.choice(SIZES[name])) for k in graph}
    system = random_system(graph, sizes, dtype=dtype, symmetric=symmetric, dominance=30.0)
    program = system.analyze().program
    assert 0 < program[NODES] < program[SUPERNODES]
    return system


def bound(A, dtype):
    """Relative error of entries of A^-1 and of solutions: all rows are diagonally dominant."""
    return 4 * len(A) * float(np.finfo(dtype).eps) * np.linalg.cond(A)


def check(A, x, b):
    expected = np.linalg.solve(A, b)
    assert np.abs(x - expected).max() <= bound(A, x.dtype) * np.abs(expected).max()


def right_hand_sides(rows, dtype, count=None):
    rng = np.random.default_rng(2)
    b = rng.normal(size=rows if count is None else (rows, count)).astype(dtype)
    return b + b[::-1] * dtype(1j) if np.dtype(dtype).kind == "c" else b


def dense(system):
    return system.to_scipy().toarray().astype(complex if system.dtype.kind == "c" else float)


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("symmetric", KINDS)
def test_results_are_those_of_the_dense_matrix(name, dtype, symmetric):
    if symmetric == "hermitian" and np.dtype(dtype).kind != "c":
        return
    system = made(name, dtype, symmetric)
    A, factor = dense(system), system.factorize()
    b, several = (right_hand_sides(len(A), dtype, count) for count in (None, 9))

    check(A, factor.solve(b), b)
    check(A, factor.solve(several), several)
    check(A.T, factor.solve(b, trans="T"), b)
    check(A.conj().T, factor.solve(several, trans="H"), several)
    check(2 * A, factor.refactorize_and_solve(2 * system.values, b), b)
    inverse, blocks = np.linalg.inv(2 * A), factor.selected_inverse().to_scipy()
    row, column = blocks.nonzero()
    error = np.abs(blocks.toarray()[row, column] - inverse[row, column]).max()
    assert error <= bound(A, dtype) * np.abs(inverse).max()
    sign, logdet = factor.slogdet()
    phase, size = np.linalg.slogdet(2 * A)
    assert abs(sign - phase) <= bound(A, dtype)
    assert abs(logdet - size) <= bound(A, dtype) * len(A)


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("symmetric", [False, True])
def test_a_partial_update_is_the_whole_factorization(name, symmetric):
    system = made(name, symmetric=symmetric)
    factor, labels = system.factorize(), system.labels
    for changed in ([labels[-1]], [labels[0], labels[100]]):
        for label in changed:
            system[label, label] = 2 * system[label, label]
        factor.refactorize(system.values, changed=changed)
        b = right_hand_sides(system.shape[0], float)
        check(dense(system), factor.solve(b), b)
        assert factor.refactorized < factor.symbolic.program[SUPERNODES]
        whole = system.factorize(factor.symbolic)
        assert factor.pivot_ratio == pytest.approx(whole.pivot_ratio, rel=1e-12)


@pytest.mark.parametrize("symmetric", [False, True])
def test_threads_and_batches_solve_alike(monkeypatch, symmetric):
    monkeypatch.setattr(threads, "WORTH_IT", 0.0)
    system = made("two", symmetric=symmetric)
    A, symbolic = dense(system), system.analyze()
    b = right_hand_sides(len(A), float)
    shared = system.factorize(symbolic, threads=2)
    assert shared._factorization._tasks is not None
    check(A, shared.solve(b), b)

    values, right = np.array([system.values, 2 * system.values]), np.array([b, b])
    for batch in (gs.Batch(symbolic, values), gs.Batch(symbolic, values, refine=True)):
        x = batch.solve(right)
        check(A, x[0], b)
        check(2 * A, x[1], b)
    check(2 * A, gs.Batch(symbolic).solve_once(values, right)[1], b)


def test_copies_and_pickles_keep_the_program():
    system = made("mixed")
    symbolic = system.analyze()
    again = pickle.loads(pickle.dumps(symbolic))
    assert np.array_equal(again.program, symbolic.program) and copy.copy(symbolic) is symbolic
    assert np.array_equal(again.supernodal_program, symbolic.supernodal_program)
    b = right_hand_sides(system.shape[0], float)
    factor = pickle.loads(pickle.dumps(system.factorize(symbolic)))
    check(dense(system), factor.solve(b), b)


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("symmetric", [False, True])
def test_both_programs_make_the_same_factors(name, symmetric):
    system = made(name, symmetric=symmetric)
    symbolic = system.analyze()
    length, magnitudes, _ = kernels.work_sizes(symbolic.program, 1)
    found = []
    for program in (symbolic.program, symbolic.supernodal_program):
        arena, magnitude, info = np.empty(length), np.empty(magnitudes), np.empty(3)
        assert kernels.factorize(program, system.values, 1e-14, magnitude, arena, info) == 0
        found.append((arena[: symbolic.program[ARENA_SIZE]], magnitude, info))

    (arena, magnitude, info), (others, their_magnitude, their_info) = found
    # sums of the same products in another order, in well-conditioned factors
    assert np.allclose(arena, others, rtol=0, atol=1e-12 * np.abs(others[others < 1e300]).max())
    rows = symbolic.graph.rows
    assert np.allclose(magnitude[:rows], their_magnitude[:rows], rtol=1e-12)
    assert info == pytest.approx(their_info, rel=1e-12)


def test_nodes_come_first_children_before_parents():
    symbolic = made("two").analyze()
    program, n = symbolic.program, symbolic.step_node.size
    nodes = int(program[NODES])

    assert sorted(symbolic.step_node.tolist()) == list(range(n))
    above = symbolic.parent >= 0
    assert (symbolic.parent[above] > np.flatnonzero(above)).all()
    assert symbolic.super_start[: nodes + 1].tolist() == list(range(nodes + 1))
    assert symbolic.in_postorder is not symbolic
    # a node's descendants are nodes, and only the others are loaded and have targets
    assert (symbolic.parent[nodes:][symbolic.parent[nodes:] >= 0] >= nodes).all()
    starts = program[program[STARTS_AT] :][: program[SUPERNODES]]
    targets = program[program[program[TARGETS_AT] :][: starts.size - nodes]]
    assert targets[:-1].all() and targets[-1] == 0
    assert 0 < program[LOADS] < symbolic.supernodal_program[LOADS]


def test_a_given_order_is_taken_as_it_is():
    system = made("two")
    symbolic = system.analyze(system.analyze().order)
    assert symbolic.program[NODES] == 0 and symbolic.supernodal_program is symbolic.program


def test_programs_with_nodes_are_not_for_complex_numbers():
    system = made("one", np.complex128)
    program = system.analyze().program
    length, magnitudes, _ = kernels.work_sizes(program, 1)
    arena, magnitude = np.empty(length, complex), np.empty(magnitudes)
    arguments = system.values, 1e-14, magnitude, arena, np.empty(3)
    assert kernels.factorize(program, *arguments) == STALE
    assert kernels.factorize(system.analyze().supernodal_program, *arguments) == 0


@pytest.mark.parametrize("step", [0, -1])  # a node, a supernode
def test_the_row_of_a_singular_pivot_comes_back(step):
    system = made("two")
    symbolic, graph = system.analyze(), system.graph
    node = int(symbolic.step_node[step])
    near = graph.neighbor[graph.neighbor_start[node] : graph.neighbor_start[node + 1]]
    label = system.labels[node]
    for other in (label, *(system.labels[i] for i in near)):
        system[label, other] = np.zeros((2, 2))
    length, magnitudes, _ = kernels.work_sizes(symbolic.program, 1)
    arguments = np.empty(magnitudes), np.empty(length), np.empty(3)
    failed = kernels.factorize(symbolic.program, system.values, 1e-14, *arguments)
    blocks = symbolic.supernodal_program
    assert failed == kernels.factorize(blocks, system.values, 1e-14, *arguments)
    row = symbolic.row_of[:-1][step]
    assert row - 8 < failed - 1 <= row  # the first row of its pivot block
    with pytest.raises(gs.SingularPivotError, match=repr(label)):
        system.factorize(symbolic)


def test_tables_of_a_tree_of_scalars_take_16_integers_a_node():
    n = 2000
    system = random_system(gs.random_tree(n, seed=1), 1)
    symbolic, graph = system.analyze(), system.graph
    # user's row, start and row of the front, pivot; L, W, an update from and to; 8 in the graph
    assert symbolic.program.size == HEADER + 4 * n + 1 + 4 * (n - 1)
    assert sum(table.size for table in graph.tables()) == 4 * n + 2 + 4 * (n - 1)
    assert symbolic.row_of is graph.row_start and symbolic.super_start is graph.row_start
    shared = "step_node", "front_start", "front", "parent"
    for name in shared:
        assert np.shares_memory(getattr(symbolic, name), symbolic.program)
    again = pickle.loads(pickle.dumps(symbolic))
    for name in (*shared, "row_of", "super_start"):
        assert np.array_equal(getattr(again, name), getattr(symbolic, name))
        assert not getattr(symbolic, name).flags.writeable


@pytest.mark.parametrize("name", SIZES)
def test_steps_alike_follow_each_other(name):
    # by levels of the tree, then by rows, neighbours and their rows
    symbolic = made(name).analyze()
    nodes, start = int(symbolic.program[NODES]), symbolic.front_start
    size = np.diff(symbolic.row_of)
    level, kinds = [0] * len(symbolic.parent), []
    for k, parent in enumerate(symbolic.parent[:nodes].tolist()):
        assert parent > k or parent == -1
        if parent >= 0:
            level[parent] = max(level[parent], level[k] + 1)
        front = symbolic.front[start[k] : start[k + 1]]
        kinds.append((level[k], int(size[k]), front.size, int(size[front].sum())))

    assert kinds == sorted(kinds)
    assert len(set(kinds)) < nodes / 2
