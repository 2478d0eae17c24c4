"""Condensation onto chosen nodes: by hand, against dense, structure, refusals."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphsys as gs
from graphsys.families import body_joint_chain, random_saddle_system, random_system

TYPES = [
    np.float64, np.float32, np.complex128, pytest.param(np.complex64, marks=pytest.mark.slow),
]  # fmt: skip


def dominant(graph, dims, **options):
    """A system whose diagonal is about twice as large as the spectral radius of the rest."""
    degree = max((degree for _, degree in graph.degree), default=0) + 1
    return random_system(graph, dims, dominance=10 + 2 * (degree * np.max(dims)) ** 0.5, **options)


def dense_parts(condensed, matrix):
    """Schur complement by numpy, and the condition number of the eliminated part."""
    n = condensed.rows
    e = np.setdiff1d(np.arange(len(matrix)), n)
    inside = matrix[np.ix_(e, e)]
    schur = matrix[np.ix_(n, n)]
    if e.size:
        schur = schur - matrix[np.ix_(n, e)] @ np.linalg.solve(inside, matrix[np.ix_(e, n)])
    return schur, np.linalg.cond(inside, np.inf) if e.size else 1.0


def assert_equals_dense(system, condensed, columns=2):
    matrix = system.to_dense()
    if not matrix.size:
        assert condensed.schur().shape == (0, 0)
        return
    expected, condition = dense_parts(condensed, matrix)
    eps, scale = np.finfo(system.dtype).eps, np.abs(matrix).max()
    found = condensed.schur()
    assert found.shape == expected.shape and found.dtype == system.dtype
    assert np.abs(found - expected).max(initial=0) <= 10 * condition * eps * scale

    rng = np.random.default_rng(0)
    b = rng.normal(size=(len(matrix), columns)).astype(system.dtype)
    reduced = condensed.reduce(b)
    known = np.linalg.solve(found, reduced) if len(found) else reduced
    x = condensed.expand(known, b)
    exact = np.linalg.solve(matrix, b)
    bound = 10 * np.linalg.cond(matrix, np.inf) * condition * eps
    assert x.shape == b.shape and np.abs(x - exact).max(initial=0) <= (
        bound * np.abs(exact).max(initial=0)
    )
    assert np.array_equal(x[condensed.rows], known)


def test_three_nodes_by_hand():
    # u - w - v with 2, 4, 2 on the diagonal and -1, -2 beside it, w eliminated:
    # S = [2 0; 0 2] - [1; 2] [1 2] / 4
    system = gs.System(nx.path_graph(["u", "w", "v"]), 1, symmetric=True)
    system["u", "u"] = system["v", "v"] = 2
    system["w", "w"], system["u", "w"], system["w", "v"] = 4, -1, -2
    condensed = gs.condense(system, ["u", "v"])

    assert condensed.schur() == pytest.approx(np.array([[1.75, -0.5], [-0.5, 1.0]]))
    assert condensed.reduce({"u": 0, "w": 4, "v": 0}) == pytest.approx([1, 2])
    # x_w = (0 + x_u + 2 x_v) / 4, rows u, w, v
    assert condensed.expand([2.0, 1.0]) == pytest.approx([2, 1, 1])
    assert condensed.rows.tolist() == [0, 2] and condensed.nodes == ("u", "v")


def test_rows_come_in_the_order_of_the_nodes():
    system = dominant(nx.path_graph(["a", "b", "c"]), [1, 2, 2])
    ac, ca = gs.condense(system, ["a", "c"]).schur(), gs.condense(system, ["c", "a"]).schur()

    assert ca[2:, 2:] == pytest.approx(ac[:1, :1])
    assert ca[:2, 2:] == pytest.approx(ac[1:, :1])


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("dims", [1, 3, 6, 11])
def test_families_equal_dense(dims, dtype, symmetric):
    rng = np.random.default_rng(dims)
    for graph in (gs.chain(9), gs.ladder(4), gs.net(4), gs.crystal(3), nx.star_graph(5)):
        system = dominant(graph, dims, dtype=dtype, symmetric=symmetric)
        for count in (1, 4):
            nodes = rng.permutation(len(graph))[:count].tolist()
            for ordering in ("auto", "amd", "dfs", "nd", list(graph)):
                assert_equals_dense(system, gs.condense(system, nodes, ordering))


@given(data=st.data())
def test_any_nodes_of_any_graph_with_any_sizes_equal_dense(data):
    n = data.draw(st.integers(1, 12))
    graph = nx.gnm_random_graph(n, data.draw(st.integers(0, 2 * n)), seed=data.draw(st.integers(0)))
    size = data.draw(st.lists(st.integers(0, 12), min_size=n, max_size=n))
    symmetric = data.draw(st.booleans())
    system = dominant(graph, size, seed=data.draw(st.integers(0, 99)), symmetric=symmetric)
    nodes = data.draw(st.lists(st.integers(0, n - 1), unique=True))
    ordering = data.draw(st.sampled_from(["auto", "dfs", "amd", "nd"]))

    columns = data.draw(st.sampled_from([0, 1, 3]))
    assert_equals_dense(system, gs.condense(system, nodes, ordering), columns)


@pytest.mark.parametrize("graph", [gs.net(3), gs.chain(9)])
@pytest.mark.parametrize("size", [1, 2])
def test_all_nodes_and_no_nodes(graph, size):
    system = dominant(graph, size)
    everything = gs.condense(system, list(graph)[::-1])
    assert np.array_equal(
        everything.schur(), system.to_dense()[np.ix_(everything.rows, everything.rows)]
    )
    nothing = gs.condense(system, [])
    b = np.ones(9 * size)
    assert nothing.schur().shape == (0, 0) and nothing.reduce(b).shape == (0,)
    assert nothing.expand(np.zeros(0), b) == pytest.approx(system.solve(b))


def test_a_floating_structure_condenses_although_it_is_singular():
    # the Laplacian of a connected graph: S is that of a smaller one, singular for constants
    graph = gs.net(5)
    system = gs.System(graph, 1, symmetric=True)
    for u in graph:
        system[u, u] = graph.degree[u]
    for u, v in graph.edges:
        system[u, v] = -1
    schur = gs.condense(system, [0, 4, 20, 24]).schur()

    assert schur @ np.ones(4) == pytest.approx(np.zeros(4), abs=1e-14)
    assert np.linalg.matrix_rank(schur) == 3


def test_of_a_symmetric_system_it_is_exactly_symmetric():
    schur = gs.condense(dominant(gs.net(5), 3, symmetric=True), [3, 7, 21]).schur()

    assert np.array_equal(schur, schur.T)


def test_joints_find_their_bodies_among_the_eliminated():
    # every joint between two bodies must be paired with the one that is eliminated
    system = random_saddle_system(body_joint_chain(6))
    bodies = [u for u in system.labels if u[0] == "body"]
    for kept in bodies[1:]:
        try:
            condensed = gs.condense(system, [kept])
        except gs.SingularPivotError:  # fixed ends: what is left of the chain is overdetermined
            matrix = system.to_dense()
            i = system.graph.index[kept]
            rows = np.arange(system.graph.row_start[i], system.graph.row_start[i + 1])
            inside = np.delete(np.delete(matrix, rows, 0), rows, 1)
            assert np.linalg.cond(inside) > 1e12
        else:
            assert_equals_dense(system, condensed)


def test_other_values_reuse_the_analysis():
    system, other = (dominant(gs.net(5), 3, seed=seed) for seed in (0, 1))
    condensed = gs.condense(system, [0, 24])
    symbolic = condensed.symbolic

    assert condensed.refactorize(other.values) is condensed
    assert condensed.symbolic is symbolic
    assert np.array_equal(condensed.schur(), gs.condense(other, [0, 24]).schur())


def test_chosen_nodes_come_last_in_supernodes_of_their_own():
    system = dominant(gs.net(6), 2)
    for ordering in ("auto", "dfs", "amd", "nd"):
        symbolic = gs.condense(system, [7, 8, 14], ordering).symbolic
        assert set(symbolic.order[-3:]) == {7, 8, 14}
        assert 33 in symbolic.super_start


def test_far_nodes_of_a_chain_cost_no_more_than_the_chain():
    # two ends kept: the chain fills nothing but a column to the nearer kept node
    counts = [
        gs.condense(dominant(gs.chain(n), 2), [0, n - 1]).symbolic.operations for n in (50, 100)
    ]
    assert counts[1] < 2.2 * counts[0]


def test_a_singular_inside_is_named_by_label():
    system = dominant(nx.path_graph(["a", "b", "c"]), 2)
    system["b", "b"] = [[1, 2], [2, 4]]
    with pytest.raises(gs.SingularPivotError, match="node 'b' is singular") as error:
        gs.condense(system, ["a", "c"])
    assert error.value.node == "b"
    condensed = gs.condense(system, ["b", "c"])
    assert_equals_dense(system, condensed)
    with pytest.raises(gs.SingularPivotError, match="'a'"):
        condensed.refactorize(np.zeros_like(system.values))
    with pytest.raises(ValueError, match="last refactorize failed"):
        condensed.schur()
    condensed.refactorize(system.values)
    assert_equals_dense(system, condensed)


def test_nodes_and_vectors_are_checked():
    system = dominant(nx.path_graph(["a", "b", "c"]), 2)
    with pytest.raises(gs.UnknownNodeError, match="'d'"):
        gs.condense(system, ["a", "d"])
    with pytest.raises(ValueError, match="node 'a' is given twice"):
        gs.condense(system, ["a", "b", "a"])
    condensed = gs.condense(system, ["a"])
    with pytest.raises(ValueError, match=r"vector has shape \(5,\)"):
        condensed.reduce(np.zeros(5))
    with pytest.raises(ValueError, match=r"x has shape \(6,\), it must be \(2,\) or \(2, k\)"):
        condensed.expand(np.zeros(6))
    with pytest.raises(ValueError, match=r"b has shape \(6, 2\), with this x it must be \(6,\)"):
        condensed.expand(np.zeros(2), np.zeros((6, 2)))
    with pytest.raises(ValueError, match="values has shape"):
        condensed.refactorize(np.zeros(3))
    with pytest.raises(TypeError, match="system is a csr_array: give a System; gs.System.from_sci"):
        gs.condense(system.to_scipy(), ["a"])
    system.values[:] = np.nan
    with pytest.raises(ValueError, match="finite"):
        gs.condense(system, ["a"])
    assert repr(condensed) == "Condensation(2 of 6 unknowns kept, dfs order, float64)"


def test_vectors_that_are_not_finite_are_refused_by_label():
    system = random_system(nx.path_graph(["a", "b", "c"]), 2)
    condensed = gs.condense(system, ["c"])
    for bad in (np.nan, np.inf):
        b = [0, 0, 0, bad, 0, 0]
        with pytest.raises(ValueError, match="b is not finite at node 'b'"):
            condensed.reduce(b)
        with pytest.raises(ValueError, match="b is not finite at node 'b'"):
            condensed.expand([0.0, 0.0], b)
        with pytest.raises(ValueError, match="x is not finite"):
            condensed.expand([0.0, bad])


@pytest.mark.parametrize("symmetric", [True, False])
def test_a_schur_complement_next_to_a_nearly_singular_block_is_backward_stable(symmetric):
    # D = Q diag(1 ... 1e-11) Q^T is close to singular, but A_en = D X with X of size 1 is not large
    # on its weak vectors: S = 2 I - X^T D X moves by |X| |dD| |X| when D moves by rounding, not by
    # |D^-1| times as much
    rng = np.random.default_rng(3)
    q = np.linalg.qr(rng.normal(size=(8, 8)))[0]
    d = q * np.logspace(0, -11, 8) @ q.T
    x = rng.normal(size=(8, 3))
    u = (d + d.T) / 2 @ x
    system = gs.System(nx.path_graph(["in", "out"]), {"in": 8, "out": 3}, symmetric=symmetric)
    system["in", "in"], system["out", "out"] = (d + d.T) / 2, 2 * np.eye(3)
    system["in", "out"] = u
    if not symmetric:
        system["out", "in"] = u.T
    condensed = gs.condense(system, ["out"])
    exact = 2 * np.eye(3) - x.T @ u
    # rounding of u moves X by D^-1 times as much, and U^T D^-1 (du) = X^T du is small again
    growth = (1 + np.abs(x).sum(axis=1).max()) * (1 + np.abs(x.T).sum(axis=1).max())
    bound = 11**2 * np.finfo(float).eps * growth
    assert np.abs(condensed.schur() - exact).max() <= bound

    # and so are right-hand sides A_ee y with y of size 1, and solutions for them
    y, known = rng.normal(size=8), rng.normal(size=3)
    b = np.zeros(11)
    b[:8] = (d + d.T) / 2 @ y
    assert np.abs(condensed.reduce(b) + u.T @ y).max() <= bound * np.abs(y).max()
    b[:8] += u @ known
    residual = system.to_dense()[:8] @ condensed.expand(known, b) - b[:8]
    assert np.abs(residual).max() <= bound


def test_columns_of_any_size_show_what_a_schur_complement_lost():
    # the same with columns of A_en 1e100 apart, the larger one harmless
    d = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-9]])
    system = gs.System(nx.path_graph(3), {0: 1, 1: 2, 2: 1})
    system[0, 0] = system[2, 2] = 1.0
    system[1, 1], system[0, 1], system[2, 1] = d, [[0.0, 0.0]], (d @ [1.0, 2.0])[None]
    system[1, 0], system[1, 2] = 1e100 * d @ [[0.0], [1.0]], (d @ [1.0, 2.0])[:, None]
    exact = 1.0 - np.array([1.0, 2.0]) @ d @ [1.0, 2.0]
    schur = gs.condense(system, [2, 0]).schur()
    assert abs(schur[0, 0] - exact) <= 100 * np.finfo(float).eps * 9


def test_a_schur_complement_next_to_the_largest_number():
    # [[7, 6], [6, 7]] / 4 - [1, 1]^T [1, 1] / 4 = [[6, 5], [5, 6]] / 4, in units of 2^1023
    system = gs.System(nx.complete_graph(3), 1, symmetric=True)
    for i, row in enumerate([[1.75, 0.5, 1.5], [0.5, 1.0, 0.5], [1.5, 0.5, 1.75]]):
        for j, entry in enumerate(row):
            system[i, j] = entry * 2.0**1023
    schur = gs.condense(system, [0, 2]).schur()
    assert (schur / 2.0**1023).tolist() == [[1.5, 1.25], [1.25, 1.5]]


@pytest.mark.parametrize("small", [1e-100, 1e-300])
def test_a_schur_complement_beyond_the_range_of_numbers_is_refused(small):
    blocks = {(0, 0): small, (0, 1): 1e150, (1, 0): 1e150, (1, 1): 1.0}
    system = gs.System(gs.chain(2), 1, blocks=blocks)
    with pytest.raises(OverflowError, match="overflows: scale the matrix"):
        gs.condense(system, [1]).schur()


@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.complex64, marks=pytest.mark.slow)])
def test_single_precision_carries_what_leaves_its_range_on_the_way(dtype):
    # S = 1 - 2^-120 2^133, A_ee^-1 A_en = 2^133; then x_n = 1 / S, x_e = 2^66 b_e - 2^133 x_n
    small = 2.0**-66
    blocks = {(0, 0): small, (0, 1): 1 / small * 2.0, (1, 0): 2.0**-120, (1, 1): 1.0}
    condensed = gs.condense(gs.System(gs.chain(2), 1, dtype=dtype, blocks=blocks), [1])
    schur = 1.0 - 2.0**13
    b = np.array([0.0, 1.0], dtype)

    assert condensed.schur().dtype == dtype and condensed.schur() == [[schur]]
    assert condensed.reduce(b).tolist() == [1.0] and condensed.reduce(b).dtype == dtype
    x = condensed.expand(np.array([2.0**-20], dtype), b)
    assert x.dtype == dtype and x.tolist() == [-(2.0**113), 2.0**-20]
    with pytest.raises(OverflowError, match="overflows"):
        condensed.expand(np.array([1.0], dtype), b)


@pytest.mark.parametrize("dtype", TYPES)
def test_nothing_to_eliminate_leaves_nothing_in_doubt(dtype):
    # magnitudes of rows are from before: memory, or other values
    system = random_system(gs.chain(3), 2, dtype=dtype)
    condensed = gs.condense(system, [0, 1, 2])
    condensed._partial.magnitude[:6] = 1e10
    condensed._partial.magnitude[6:12] = 1e-10
    condensed.refactorize(system.values)
    assert condensed._eliminated is condensed._partial
    assert condensed.schur().tolist() == system.to_dense().tolist()
