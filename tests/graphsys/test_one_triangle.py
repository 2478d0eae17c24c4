"""Symmetric factors of one triangle: what they store, and results as from both triangles."""

import pickle

import networkx as nx
import numpy as np
import pytest

import graphsys as gs
from graphsys import kernels
from graphsys.families import random_system
from graphsys.kernels.base.layout import (
    ARENA_SIZE,
    BELOW,
    BLOCKS,
    LOWER,
    ONE_TRIANGLE,
    PANEL_FIELDS,
    PIVOTS,
    STARTS_AT,
    SUPERNODES,
    UPPER,
)
from graphsys.kernels.blocks.weak import NO_COPY
from graphsys.kernels.program.supernodal import (
    BELOW_ONE_TRIANGLE,
    PIVOT_ROWS,
)
from graphsys.numeric.both_triangles import wide_factors, wide_program
from graphsys.symbolic import analyze
from tests.graphsys.test_weak_pivots import EPS, WEAK, stiff, system_of

TYPES = [
    np.float64, np.float32, np.complex128, pytest.param(np.complex64, marks=pytest.mark.slow),
]  # fmt: skip


def panels(program):
    """Places of all panels in the program."""
    return program[program[STARTS_AT] :][: program[SUPERNODES]]


def halved(program):
    """Supernodes that store one triangle."""
    return np.flatnonzero(program[panels(program) + UPPER] < 0)


def pivot_sizes(program, s):
    at = panels(program)[s] + PANEL_FIELDS
    return program[at : at + program[at - PANEL_FIELDS + BLOCKS]]


def mixed(graph, seed=0, sizes=(1, 2, 3, 4, 5, 6)):
    """Sizes of nodes, in no order."""
    return np.random.default_rng(seed).choice(sizes, len(graph)).tolist()


def indefinite(system, seed=0):
    """The same system with the signs of some nodes' rows and columns of -1: not definite."""
    rng = np.random.default_rng(seed)
    for node in system.labels:
        if rng.uniform() < 0.4:
            system[node, node] = -np.asarray(system[node, node])
    return system


FAMILIES = {
    "crystal, scalars": (gs.crystal(8), 1),
    "net, mixed": (gs.net(9), mixed(gs.net(9))),
    "crystal, mixed": (gs.crystal(4), mixed(gs.crystal(4))),
    "crystal, six": (gs.crystal(4), 6),
    "net, twelve": (gs.net(5), 12),
    "net, one to twelve": (gs.net(7), mixed(gs.net(7), sizes=(1, 6, 12))),
    "random": (nx.gnm_random_graph(40, 90, seed=1), 4),
    "complete": (nx.complete_graph(18), 5),
}


def made(name, dtype=np.float64, definite=True):
    graph, size = FAMILIES[name]
    # rows of up to 17 neighbours of 12 normal numbers each: sums of magnitudes below the dominance
    system = random_system(graph, size, dtype=dtype, symmetric=True, dominance=25.0)
    return system if definite else indefinite(system)


def rounding(A, dtype):
    # error of Gaussian elimination, growth of 2 at most in a diagonally dominant matrix (Higham
    # 2002, theorem 9.4)
    return 8 * len(A) * float(np.finfo(dtype).eps) * np.linalg.cond(A)


# What is stored.


def test_two_nodes_by_hand():
    # 8 + 48 rows do not fit one supernode of 48: panels of 56 x 8 and 48 x 48, a copy of one pivot
    # block of 8 rows, none of the last supernode's, which has nothing below it
    graph = gs.System(gs.chain(2), [8, 48]).graph
    program = analyze(graph, [0, 1], symmetric=True).program
    assert program[SUPERNODES] == 2 and program[ONE_TRIANGLE] == 1
    assert program[ARENA_SIZE] == 56 * 8 + 48 * 48 + 8 * 8
    assert analyze(graph, [0, 1]).program[ARENA_SIZE] == 56 * 8 + 48 * 48 + 8 * 48


def test_large_pivot_blocks_have_no_copy():
    graph = gs.System(gs.chain(2), [30, 30]).graph
    program = analyze(graph, [0, 1], symmetric=True).program
    assert program[ARENA_SIZE] == 60 * 30 + 30 * 30


@pytest.mark.parametrize(
    "graph, size, share",
    # of the factors that store both; panels of scalars are narrow, and some store both triangles
    [(gs.net(100), 6, 0.58), (gs.crystal(15), 6, 0.54), (gs.crystal(15), 1, 0.65)],
)
def test_memory_is_half_of_both_triangles_and_diagonal_blocks(graph, size, share):
    blocks = gs.System(graph, size).graph
    symbolic = analyze(blocks, "amd", symmetric=True)
    program, panel = symbolic.program, panels(symbolic.program)
    both = analyze(blocks, symbolic.order).program
    p, q, half = program[panel + PIVOTS], program[panel + BELOW], halved(program)

    assert np.array_equal(program[panel + PIVOTS], both[panels(both) + PIVOTS])
    assert both[ARENA_SIZE] == (p * (p + 2 * q)).sum()
    kept = np.ones(p.size, bool)
    kept[half] = False
    assert np.array_equal(kept, q < BELOW_ONE_TRIANGLE)
    copies = [(w[w <= PIVOT_ROWS] ** 2).sum() for w in (pivot_sizes(program, s) for s in half)]
    # half of L, D and U together, with half of the supernodes' square blocks more
    lower = (both[ARENA_SIZE] + (p * p).sum()) / 2
    assert program[ARENA_SIZE] == lower + (p * q)[kept].sum() + sum(copies)
    assert sum(copies) <= PIVOT_ROWS * p[half].sum()
    assert program[ARENA_SIZE] <= share * both[ARENA_SIZE]
    assert symbolic.arena_size <= (share + 0.01) * both[ARENA_SIZE]  # with the workspace


def test_unsymmetric_and_nodal_factors_store_both_triangles():
    net, chain = gs.System(gs.net(12), 6).graph, gs.System(gs.chain(200), 6).graph
    assert (
        analyze(net).program[ONE_TRIANGLE] == 0 < analyze(net, symmetric=True).program[ONE_TRIANGLE]
    )
    assert analyze(chain, symmetric=True).program[ONE_TRIANGLE] == 0


# Results.


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("definite", [True, False])
@pytest.mark.parametrize("dtype", TYPES)
def test_solutions_equal_dense_ones(name, dtype, definite):
    system = made(name, dtype, definite)
    A = system.to_dense()
    factor = system.factorize()
    assert factor.symbolic.program[ONE_TRIANGLE] > 0
    b = np.random.default_rng(1).normal(size=(len(A), 9)).astype(dtype)
    x = np.linalg.solve(A, b)
    bound = rounding(A, dtype) * np.abs(x).max()
    for trans in "NT":
        assert np.abs(factor.solve(b[:, 0], trans=trans) - x[:, 0]).max() <= bound
        assert np.abs(factor.solve(b[:, :3], trans=trans) - x[:, :3]).max() <= bound
        assert np.abs(factor.solve(b, trans=trans) - x).max() <= bound


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("definite", [True, False])
def test_determinant_inertia_and_selected_inverse_equal_dense_ones(name, definite):
    system = made(name, definite=definite)
    A, factor = system.to_dense(), system.factorize()
    inverse, values = np.linalg.inv(A), np.linalg.eigvalsh(A)
    bound = rounding(A, float) * np.abs(inverse).max()

    assert factor.inertia() == ((values > 0).sum(), (values < 0).sum())
    sign, logarithm = factor.slogdet()
    dense_sign, dense_logarithm = np.linalg.slogdet(A)
    assert sign == dense_sign
    assert abs(logarithm - dense_logarithm) <= rounding(A, float) * (1.0 + abs(logarithm))
    selected = factor.selected_inverse()
    row = system.graph.row_start
    for u, v in [(u, u) for u in system.labels] + list(FAMILIES[name][0].edges):
        i, j = system.graph.node(u), system.graph.node(v)
        block = inverse[row[i] : row[i + 1], row[j] : row[j + 1]]
        assert np.abs(selected[u, v] - block).max(initial=0.0) <= bound


@pytest.mark.parametrize("name", FAMILIES)
def test_square_roots_equal_dense_ones(name):
    system = made(name)
    A = system.to_dense()
    root = gs.cholesky(system.to_scipy())
    L, order = root.L().toarray(), root.P()
    assert root._trusted().tables.program[ONE_TRIANGLE] > 0
    bound = rounding(A, float) * np.abs(A).max()
    assert np.abs(L @ L.T - A[np.ix_(order, order)]).max() <= bound
    b = np.random.default_rng(2).normal(size=len(A))
    assert np.abs(L @ root.solve_L(b, use_LDLt_decomposition=False) - b).max() <= bound
    assert np.abs(L.T @ root.solve_Lt(b, use_LDLt_decomposition=False) - b).max() <= bound


@pytest.mark.parametrize("count", [1, 8, 13])
@pytest.mark.parametrize("name", ["crystal, scalars", "net, mixed"])
def test_batches_equal_dense_solutions(name, count):
    system, rng = made(name), np.random.default_rng(3)
    A, scale = system.to_dense(), rng.uniform(0.5, 2.0, (count, 1))
    values = scale * system.values
    b = rng.normal(size=(count, len(A), 2))
    x = np.linalg.solve(A, b) / scale[:, :, None]
    bound = rounding(A, float) * np.abs(x).max()
    batch = gs.Batch(system.analyze())
    assert np.abs(batch.solve_once(values, b) - x).max() <= bound
    batch.refactorize(values)
    for trans in "NT":
        assert np.abs(batch.solve(b, trans=trans) - x).max() <= bound


@pytest.mark.parametrize("name", ["net, mixed", "crystal, six", "net, one to twelve"])
def test_eight_columns_side_by_side_equal_dense_solutions(name):
    system = made(name)
    A, symbolic = system.to_dense(), system.analyze()
    size, held, _ = kernels.work_sizes(symbolic.program, 8)
    arena, rows = np.empty(size), len(A)
    kernels.factorize(symbolic.program, system.values, 1e-14, np.empty(held), arena, np.empty(3))
    place, supernode = np.empty((2, rows), np.int64)
    kernels.row_places(symbolic.program, place, supernode)
    b = np.random.default_rng(4).normal(size=(rows, 8))
    x = np.empty((rows, 8))
    x[place] = b
    flat = x.ravel()

    kernels.solve_side_by_side(symbolic.program, 0, 0, arena, np.empty(8 * rows), flat)

    expected = np.linalg.solve(A, b)
    bound = rounding(A, float) * np.abs(expected).max()
    assert np.abs(flat.reshape(rows, 8)[place] - expected).max() <= bound


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("dtype", TYPES)
def test_upper_panels_are_the_inverse_pivot_blocks_times_the_lower_ones(name, dtype):
    factor = made(name, dtype).factorize()
    program = factor.symbolic.program
    arena, wide = factor._factorization.arena, wide_program(program)
    both = wide_factors(program, wide, arena)
    stored = program[ARENA_SIZE]  # the workspace after it may hold anything
    assert wide[ONE_TRIANGLE] == 0 and np.array_equal(both[:stored], arena[:stored])
    for s in halved(program):
        p, q, lower = (program[panels(program)[s] + k] for k in (PIVOTS, BELOW, LOWER))
        upper = wide[panels(wide)[s] + UPPER]
        panel = arena[lower : lower + (p + q) * p].reshape(p, p + q).T
        W = both[upper : upper + p * q].reshape(q, p).T
        i = 0
        for w in pivot_sizes(program, s):
            inverse, L = panel[i : i + w, i : i + w], panel[p:, i : i + w]
            # sums of w products
            bound = 2 * w * np.finfo(dtype).eps * (np.abs(inverse) @ np.abs(L.T))
            assert (np.abs(W[i : i + w] - inverse @ L.T) <= bound).all()
            i += w


@pytest.mark.parametrize("name", ["crystal, six", "net, one to twelve"])
def test_pickled_factors_solve_alike(name):
    factor = made(name).factorize()
    b = np.ones(factor.symbolic.graph.rows)
    assert np.array_equal(pickle.loads(pickle.dumps(factor)).solve(b), factor.solve(b))


# Weak pivot blocks.


def weak(size, seed=0):
    """Light masses and stiff springs: the system and its matrix."""
    graph = nx.gnm_random_graph(30, 80, seed=1)
    A = stiff(graph, 30.0 / WEAK, True, size, seed)
    return system_of(graph, A, True, size), A


def copies_of(factor):
    """Whether each pivot block of one triangle has a copy."""
    program, arena = factor.symbolic.program, factor._factorization.arena
    found = []
    for s in halved(program):
        place = -1 - program[panels(program)[s] + UPPER]
        for w in pivot_sizes(program, s):
            found.append(arena[place] != NO_COPY)
            place += w * w
    return np.array(found)


@pytest.mark.parametrize("size", [6, 8])
@pytest.mark.parametrize("seed", range(3))
def test_residuals_of_weak_blocks_do_not_grow_with_the_stiffness(size, seed):
    system, A = weak(size, seed)
    factor = system.factorize(refine=False)
    assert copies_of(factor).any()

    b = np.random.default_rng(seed).normal(size=(len(A), 8))
    for x in (factor.solve(b[:, :1]), factor.solve(b), factor.solve(b, trans="T")):
        error = np.abs(A @ x - b[:, : x.shape[1]]).max()
        scale = np.abs(A).sum(axis=1).max() * np.abs(x).max() + np.abs(b).max()
        assert error <= 200 * EPS * scale  # as in `test_weak_pivots`


def test_weak_blocks_side_by_side():
    system, A = weak(6)
    symbolic, rows = system.analyze(), len(A)
    size, held, _ = kernels.work_sizes(symbolic.program, 8)
    arena = np.empty(size)
    kernels.factorize(symbolic.program, system.values, 1e-14, np.empty(held), arena, np.empty(3))
    place, supernode = np.empty((2, rows), np.int64)
    kernels.row_places(symbolic.program, place, supernode)
    b = np.random.default_rng(4).normal(size=(rows, 8))
    x = np.empty((rows, 8))
    x[place] = b
    flat = x.ravel()
    kernels.solve_side_by_side(symbolic.program, 0, 0, arena, np.empty(8 * rows), flat)
    x = flat.reshape(rows, 8)[place]
    scale = np.abs(A).sum(axis=1).max() * np.abs(x).max() + np.abs(b).max()
    assert np.abs(A @ x - b).max() <= 200 * EPS * scale


def test_partial_updates_of_weak_blocks_equal_a_full_factorization():
    system, _ = weak(6)
    factor = system.factorize(refine=False)
    other = system.copy()
    other[0, 0] = 1.5 * np.asarray(system[0, 0])
    other[20, 20] = 1.25 * np.asarray(system[20, 20])
    factor.refactorize(other.values, changed=[0, 20])
    full = gs.Factor(factor.symbolic, other.values, refine=False)
    assert copies_of(full).any()
    size = factor.symbolic.program[ARENA_SIZE]
    for made in (factor, full):
        assert made._factorization.arena.size >= size
    assert np.array_equal(factor._factorization.arena[:size], full._factorization.arena[:size])
