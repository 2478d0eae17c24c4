"""Single rows of eight systems at once: by hand, against dense matrices, twins and bad lanes."""

import networkx as nx
import numpy as np
import pytest

import graphsys as gs
from graphsys.families import random_system
from graphsys.kernels.base.jit import kernel
from graphsys.kernels.base.layout import NODAL_AT
from graphsys.kernels.base.widths import LANES
from graphsys.kernels.batch.scalar_ldu import STATE, solve_scalars_once
from graphsys.kernels.blocks import scalar_lanes as blocks
from graphsys.numeric.batch_engines import ScalarLanes
from graphsys.numeric.scalar_lanes import ScalarTables
from tests.graphsys.test_factor import backward_error
from tests.graphsys.test_scalars import GRAPHS, ORDERS

EPS = np.finfo(float).eps


def systems(name, count, symmetric=False, dtype=float):
    """Symbolic factorization of a graph, values of many systems, and their dense matrices."""
    made = [
        random_system(GRAPHS[name], 1, seed=seed, symmetric=symmetric, dtype=dtype)
        for seed in range(count)
    ]
    symbolic = made[0].analyze(ORDERS.get(name, "auto"))
    values = np.stack([system.values for system in made])
    return symbolic, values, [system.to_dense() for system in made]


def test_a_chain_of_three_by_hand():
    # see `test_scalars`: pivots 2, 9/2 and 10/3, of which the last one was 4; x = (1, 1, 1)
    system = gs.System(nx.path_graph(["a", "b", "c"]), 1)
    for (u, v), entry in {
        "aa": 2.0, "bb": 5.0, "cc": 4.0, "ab": 1.0, "ba": 1.0, "bc": 1.0, "cb": 3.0,
    }.items():  # fmt: skip
        system[u, v] = [[entry]]
    symbolic = system.analyze(["a", "b", "c"])
    tables = ScalarTables.of(symbolic.program, system.values.size)
    # 3 rows, 8 vectors: 3 pivots, 2 of U, 2 of L, one that nothing reads. a has the neighbour b,
    # whose pivot, vector 3, it updates first; b has c with vector 6; c has none.
    header, nodes = [3, 0, 8, 0, 18], [11, 0, 14, 3, 17, 6]
    assert tables.table.tolist() == [*header, *nodes, 2, 1, ~3, 3, 2, ~6, 1]
    assert sorted(tables.place.tolist()) == list(range(7)) and tables.row.tolist() == [0, 1, 2]
    scales = np.linspace(1.0, 2.0, 11)
    batch = gs.Batch(symbolic)
    x = batch.solve_once(scales[:, None] * system.values, np.tile([3.0, 7.0, 7.0], (11, 1)))
    assert isinstance(batch._engine, ScalarLanes)
    assert x == pytest.approx(np.repeat(1.0 / scales[:, None], 3, axis=1), rel=4 * EPS)
    assert batch.pivot_ratio == pytest.approx(np.full(11, (10 / 3) / 4), rel=4 * EPS)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_solutions_are_those_of_the_dense_matrices(name, symmetric, dtype):
    bound = 8 * np.finfo(dtype).eps
    for count in (1, 7, 8, 19):
        symbolic, values, dense = systems(name, count, symmetric, dtype)
        batch, once = gs.Batch(symbolic, values), gs.Batch(symbolic)
        assert isinstance(batch._engine, ScalarLanes)
        rng = np.random.default_rng(0)
        for shape in ((), (1,), (3,), (0,)):
            b = rng.normal(size=(*values.shape[:1], symbolic.graph.rows, *shape)).astype(dtype)
            found = batch.solve(b), batch.solve(b, "T"), once.solve_once(values, b)
            assert all(x.shape == b.shape and x.dtype == dtype for x in found)
            for i, A in enumerate(dense if b.size else []):
                for x, matrix in zip(found, (A, A.T, A), strict=True):
                    assert backward_error(matrix, x[i], b[i]) < bound
        assert set(batch.status) == {"batch"} == set(once.status)
        assert np.allclose(batch.pivot_ratio, once.pivot_ratio, rtol=bound)
        alone = [gs.Factor(symbolic, one).pivot_ratio for one in values]
        assert np.allclose(batch.pivot_ratio, alone, rtol=64 * np.finfo(dtype).eps)


@kernel
def compiled(table, v, x, magnitude, state):
    blocks.factorize_rows_solving(table, v, 0, x, magnitude, state)


@kernel
def compiled_substitution(table, v, x):
    blocks.forward_plain(table, v, 0, x)
    blocks.backward_plain(table, v, 0, x)
    blocks.forward_transposed(table, v, 0, x)
    blocks.backward_transposed(table, v, 0, x)
    blocks.forward_symmetric(table, v, 0, x)


@kernel
def compiled_exchange(v, place, values, out, state):
    blocks.load_rows(v, 8, place, place.size, values, place.size, 1, 4)
    blocks.unload_rows(v[8:], place, place.size, out, place.size, 1, 4, state)


@pytest.mark.parametrize("name", ["filled", "star", "one"])
@pytest.mark.parametrize("symmetric", [False, True])
def test_compiled_code_equals_its_twins(name, symmetric):
    symbolic, values, _ = systems(name, LANES, symmetric)
    tables = ScalarTables.of(symbolic.program, values.shape[1])
    rng = np.random.default_rng(0)
    results = []
    for twin in (False, True):
        own = tables.new_arrays(np.dtype(float), 1)
        for array in own:
            array[:] = 0.0
        own.state[4 * LANES : 5 * LANES] = np.inf  # nothing to compare with
        own.v.reshape(-1, LANES)[tables.place] = values.T
        own.x[:] = rng.normal(size=own.x.size) if not results else results[0][-1]
        start = own.x.copy()
        factorize, substitute = compiled, compiled_substitution
        if twin:
            factorize = lambda *a: blocks._factorize_twin(True)(*a[:2], 0, *a[2:])  # noqa: E731
            substitute = twins_of_substitution
        factorize(tables.table, own.v, own.x, own.magnitude, own.state)
        substitute(tables.table, own.v, own.x)
        results.append((*(array.copy() for array in own), start))
    for one, other in zip(*results, strict=True):
        # fused products are rounded once, at most 9 of them in a row
        assert np.allclose(
            one, other, rtol=64 * EPS, atol=64 * EPS * np.abs(one[np.isfinite(one)]).max()
        )


def twins_of_substitution(table, v, x):
    for forward, backward in (("plain", "plain"), ("transposed", "transposed")):
        blocks._forward_twin(forward)(table, v, 0, x)
        blocks._backward_twin(backward)(table, v, 0, x)
    blocks._forward_twin("symmetric")(table, v, 0, x)


@pytest.mark.parametrize("count", [1, 3, 4, 6, 9])
def test_entries_are_transposed_with_the_last_system_again(count):
    # systems 1 to 4 of five, and the last one four times more
    rng = np.random.default_rng(count)
    place, values = rng.permutation(count + 2)[:count], rng.normal(size=5 * count)
    v, out = np.zeros(8 * (count + 3)), np.zeros(5 * count)
    state = np.zeros(8)
    compiled_exchange(v, place, values, out, state)
    wanted = values.reshape(5, count)
    vectors = v[8:].reshape(-1, 8)
    assert np.array_equal(vectors[place].T, wanted[[1, 2, 3, 4, 4, 4, 4, 4]])
    assert not np.delete(vectors, place, axis=0).any() and not state.any()
    assert np.array_equal(out.reshape(5, count)[1:], wanted[1:]) and not out[:count].any()
    again, other = np.zeros_like(v), np.zeros_like(out)
    blocks._load_twin(again, 8, place, count, values, count, 1, 4)
    blocks._unload_twin(again[8:], place, count, other, count, 1, 4, state)
    assert np.array_equal(again, v) and np.array_equal(other, out)
    values[2 * count - 1] = np.inf
    compiled_exchange(v, place, values, out, state)
    assert np.isnan(state).tolist() == [True] + [False] * 7


def bad_lanes(n=12, count=20):
    """Pattern of a chain, entries of many matrices, and which of them have no good pivots."""
    k = np.arange(n - 1)
    rows, cols = np.concatenate([np.arange(n), k, k + 1]), np.concatenate([np.arange(n), k + 1, k])
    rng = np.random.default_rng(3)
    mixed = rng.permutation(rows.size)
    pattern = gs.Pattern(rows[mixed], cols[mixed])
    data = rng.uniform(-1.0, 1.0, (count, rows.size))
    data[:, mixed < n] += 4.0
    dense = np.zeros((count, n, n))
    dense[:, pattern.rows, pattern.columns] = data
    step = [int(u) for u in pattern._analyzed(data[0]).order]
    first, second = next((i, j) for i, j in zip(step, step[1:], strict=False) if abs(i - j) == 1)
    return pattern, data, dense, first, second


def at(pattern, i, j):
    """Place of an entry."""
    return int(np.flatnonzero((pattern.rows == i) & (pattern.columns == j))[0])


def test_only_lanes_with_bad_pivots_go_another_way(monkeypatch):
    pattern, data, dense, i, j = bad_lanes()
    changes = {
        2: (1e-9, 1.0),  # grows: the next pivot is far larger than its row of the matrix
        9: (0.0, 1.0),  # singular pivot of a regular matrix
        13: (1.0, 1.0 + 1e-3),  # nearly cancels
    }
    for lane, (pivot, other) in changes.items():
        for entry, number in (((i, i), pivot), ((j, j), other), ((i, j), 1.0), ((j, i), 1.0)):
            data[lane, at(pattern, *entry)] = dense[(lane, *entry)] = number
    asked = []
    alone = pattern._alone
    monkeypatch.setattr(
        pattern, "_alone", lambda *given: (asked.append(given[0]), alone(*given))[1]
    )
    b = np.random.default_rng(1).normal(size=(20, 12, 2))
    for trans in ("N", "T"):
        x = pattern.solve(data, b, trans)
        matrices = dense if trans == "N" else dense.swapaxes(1, 2)
        for lane, A in enumerate(matrices):
            assert backward_error(A, x[lane], b[lane]) < 1e-14
    assert np.array_equal(asked, data[2 * list(changes)])


@np.errstate(all="ignore")  # as compiled code does
def test_lanes_that_are_singular_overflow_or_are_not_finite():
    pattern, data, dense, *_ = bad_lanes()
    b = np.ones((20, 12))
    data[4, pattern.rows == 7] = 0.0
    data[6, 3] = np.nan
    b[11, 2] = np.inf
    with pytest.raises(gs.SingularPivotError, match="matrix 4 of 20: the matrix is singular"):
        pattern.solve(data, b)
    data[4], b[4] = 1e-200 * data[5], 1e200
    with pytest.raises(OverflowError, match="matrix 4 of 20"):
        pattern.solve(data, b)
    x = pattern.solve(data, b, singular="nan")
    assert np.flatnonzero(~np.isfinite(x).all(axis=1)).tolist() == [4, 6, 11]
    assert np.isnan(x[4]).all() and np.isnan(x[6]).all()
    for lane in set(range(20)) - {4, 6, 11}:
        assert backward_error(dense[lane], x[lane], b[lane]) < 1e-14


def test_no_lane_is_sure_where_nodes_are_short_of_pivots():
    symbolic, values, _ = systems("chain", 3)
    tables = ScalarTables.of(symbolic.program, values.shape[1])
    own = tables.new_arrays(np.dtype(float), 1)
    b, out = np.ones(3 * 40), np.empty(3 * 40)
    for short in (False, True):
        ratio, growth = np.zeros(3), np.zeros(3)
        solve_scalars_once(
            tables.table, tables.place, tables.vectors_of(1), values.ravel(), 3, 0, 1, short, b,
            own.magnitude, own.x, own.v, own.state, ratio, growth, out,
        )  # fmt: skip
        assert (growth == (np.inf if short else 0.0)).all() and (ratio > 0.5).all()
    assert own.state.size == LANES * STATE and symbolic.program[NODAL_AT] > 0


@pytest.mark.parametrize("n", [60, 12_000])
def test_rows_stay_in_their_order_where_the_factors_of_eight_stay_in_the_second_cache(n):
    system = random_system(gs.random_tree(n, seed=2), 1, seed=3)
    values = np.stack([system.values, 2.0 * system.values])
    batch = gs.Batch(system.analyze(), values)
    assert (batch._engine.symbolic is batch.symbolic) == (n == 60)
    b = np.random.default_rng(0).normal(size=(2, n))
    x = batch.solve(b)
    np.testing.assert_allclose(system @ x[0], b[0], rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(2.0 * (system @ x[1]), b[1], rtol=0.0, atol=1e-13)
