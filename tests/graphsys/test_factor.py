"""Numeric factorization and solves: by hand, against dense, all types, refusals."""

import copy
import pickle
import threading
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
import scipy.sparse.linalg
from hypothesis import given
from hypothesis import strategies as st

import graphsys as gs
from graphsys.families import random_system
from graphsys.kernels.single.determinant import definite_signs, log_determinant
from graphsys.numeric import measures

TYPES = [
    np.float64, np.float32, np.complex128, pytest.param(np.complex64, marks=pytest.mark.slow),
]  # fmt: skip
#: For a path whose kernels take long to compile for one more type: in every run that path is
#: compiled for float64, and run as plain Python for all types (`test_compiled`).
SLOW_TYPES = [
    np.float64,
    *(pytest.param(t, marks=pytest.mark.slow) for t in (np.float32, np.complex128, np.complex64)),
]


def backward_error(matrix, x, b):
    """|A x - b| / (|A| |x| + |b|) in the maximum norm, the worst of all columns."""
    r, x, b = (np.abs(v).max(axis=0) for v in (matrix @ x - b, x, b))
    return np.max(r / (np.abs(matrix).sum(axis=1).max() * x + b))


def right_hand_side(system, columns=None, seed=0):
    rng = np.random.default_rng(seed)
    shape = system.shape[:1] if columns is None else (system.shape[0], columns)
    b = rng.normal(size=shape)
    return (b + 1j * rng.normal(size=shape) if system.dtype.kind == "c" else b).astype(system.dtype)


def test_two_nodes_by_hand():
    # [2 1; 1 3] x = [3; 5]: x = (4/5, 7/5), det = 5
    system = gs.System(nx.path_graph(["u", "v"]), 1, blocks={("u", "u"): 2, ("v", "v"): 3})
    system["u", "v"] = system["v", "u"] = 1
    factor = system.factorize()

    assert factor.solve({"u": [3], "v": [5]})["v"] == pytest.approx([1.4])
    assert factor.solve([3, 5]) == pytest.approx([0.8, 1.4])
    assert factor.slogdet() == pytest.approx((1.0, np.log(5)))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("ordering", ["auto", "dfs", "amd", "nd"])
@pytest.mark.parametrize("dims", [1, 2, 3, 6, 8, 9, 20])
def test_families_solve_to_rounding(dtype, ordering, dims):
    # well conditioned (dominant diagonal): 1e-14 in double, as much in units of eps in single
    bound = 45 * np.finfo(dtype).eps
    for graph in (gs.chain(7), gs.random_tree(12), gs.ladder(5), gs.net(4), nx.complete_graph(6)):
        system = random_system(graph, dims, dtype=dtype)
        factor = system.factorize(system.analyze(ordering))
        matrix = system.to_dense()
        for columns in (None, 1, 3, 11):
            b = right_hand_side(system, columns)
            for trans, operator in (("N", matrix), ("T", matrix.T), ("H", matrix.conj().T)):
                x = factor.solve(b, trans)
                assert x.shape == b.shape and x.dtype == dtype
                assert backward_error(operator, x, b) < bound


@given(data=st.data())
def test_any_graph_with_any_sizes_equals_dense(data):
    n = data.draw(st.integers(1, 12))
    graph = nx.gnm_random_graph(n, data.draw(st.integers(0, 2 * n)), seed=data.draw(st.integers(0)))
    size = data.draw(st.lists(st.integers(0, 12), min_size=n, max_size=n))
    system = random_system(graph, size, seed=data.draw(st.integers(0, 99)), dominance=20.0)
    symbolic = system.analyze(data.draw(st.sampled_from(["auto", "dfs", "amd", "nd"])))
    b = right_hand_side(system, data.draw(st.sampled_from([None, 0, 1, 4])))

    x = system.factorize(symbolic).solve(b)
    assert x.shape == b.shape
    if x.size:
        assert backward_error(system.to_dense(), x, b) < 1e-14


@pytest.mark.parametrize("seed", range(5))
def test_blocks_that_are_not_dominant_are_refined_to_rounding(seed):
    for graph in (gs.chain(60), gs.ladder(30), gs.net(8), gs.crystal(4)):
        system = random_system(graph, 6, seed=seed, dominance=0.0)
        factor = system.factorize()
        b = right_hand_side(system)
        x = factor.solve(b)

        assert backward_error(system.to_dense(), x, b) < 1e-15
        assert factor.report.refinements <= 2
        error = factor.report.backward_error
        # row by row an error is no smaller than in the norm of the whole, but for rounding
        rounding = float(np.finfo(float).eps)
        assert error is None or factor.backward_error(x, b) <= error + rounding <= 6 * rounding


def symmetric_system(graph, dims, dtype=float, seed=0):
    return random_system(graph, dims, seed=seed, dtype=dtype, symmetric=True)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("dims", [1, 3, 6, 12])
def test_symmetric_systems_solve_alike_with_half_the_updates(dtype, dims):
    for graph in (gs.chain(9), gs.net(5), nx.complete_graph(7)):
        system = symmetric_system(graph, dims, dtype)
        general = gs.System(graph, dims, dtype=dtype)
        general.values = system.values
        b = right_hand_side(system, 2)
        symbolic = system.analyze("amd")
        fronts = np.split(symbolic.front, symbolic.front_start[1:-1])
        saved = sum(dims**3 * (front.size**2 - front.size) for front in fronts)
        assert symbolic.operations == general.analyze("amd").operations - saved
        for trans in "NTH":
            x = system.factorize(symbolic).solve(b, trans)
            operator = system.to_dense().conj() if trans == "H" else system.to_dense()
            assert backward_error(operator, x, b) < 45 * np.finfo(dtype).eps


def test_a_symmetric_refactorization_reads_one_triangle_only():
    system = symmetric_system(gs.net(4), 3)
    symbolic = system.analyze()
    b = right_hand_side(system)
    expected = system.factorize(symbolic).solve(b)
    step = {node: k for k, node in enumerate(symbolic.order)}
    values = system.values.copy()
    for u, v in gs.net(4).edges:
        earlier, later = sorted((u, v), key=step.__getitem__)
        at = system.graph.edge_at(earlier, later)
        values[at : at + 9] = np.nan

    factor = gs.Factor(symbolic, system.values, refine=False)
    assert np.array_equal(factor.refactorize(values).solve(b), expected)


def test_a_solution_by_labels_goes_into_no_array():
    factor = random_system(gs.chain(2), 1).factorize()
    with pytest.raises(ValueError, match="out goes with an array b, not with one by labels"):
        factor.solve({0: [1.0], 1: [2.0]}, out=np.zeros(2))


def test_a_system_without_unknowns_has_no_backward_error():
    factor = gs.System(gs.chain(3), 0).factorize()

    assert factor.solve(np.zeros(0)).shape == (0,)
    assert factor.backward_error(np.zeros(0), np.zeros(0)) == 0.0


@pytest.mark.parametrize("dims", [1, 6, 11])
def test_inertia_counts_the_signs_of_the_eigenvalues(dims):
    system = symmetric_system(gs.net(4), dims, seed=3)
    shift = 8.0 * np.random.default_rng(0).choice([-1, 1], size=16)
    for node in range(16):
        system[node, node] += (shift[node] - 10.0) * np.eye(dims)
    eigenvalues = np.linalg.eigvalsh(system.to_dense())

    expected = (int((eigenvalues > 0).sum()), int((eigenvalues < 0).sum()))
    assert system.factorize().inertia() == expected


def factors_of(inverse, monkeypatch):
    """Factors with one pivot block, as `measures` reads them."""
    w = len(inverse)
    monkeypatch.setattr(measures, "pivot_blocks", lambda _: np.array([[0], [w], [w]]))
    return SimpleNamespace(fronts=None, program=None, arena=inverse.ravel("F"), eps=2.0**-52)


@pytest.mark.parametrize("negative", [0, 2])
def test_inertia_of_inverses_with_rounding_on_one_side(monkeypatch, negative):
    # lambda_min = 1e-10 lies far above the rounding of the block, 6 eps: every sign is certain
    for seed in range(30):
        rng = np.random.default_rng(seed)
        basis, _ = np.linalg.qr(rng.standard_normal((6, 6)))
        eigenvalues = np.logspace(-10, 0, 6) * np.repeat([-1.0, 1.0], [negative, 6 - negative])
        block = basis * eigenvalues @ basis.T
        rounding = 1e-6 * rng.uniform(-1.0, 1.0, (6, 6))  # as LU leaves it, eps cond
        inverse = np.linalg.inv(block) @ (np.eye(6) + rounding)
        assert measures.inertia(factors_of(inverse, monkeypatch)) == (6 - negative, negative)


def test_inertia_of_blocks_with_rows_of_different_size(monkeypatch):
    # D B D has the signs of B, whatever the diagonal D is; its eigenvalues alone do not show them
    wrong = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        basis, _ = np.linalg.qr(rng.standard_normal((4, 4)))
        block = basis * np.array([-2.0, -1.0, 1.0, 2.0]) @ basis.T
        scale = np.exp2(rng.permutation([-120, -30, 0, 60]))
        found = scale[:, None] * (block + block.T) * scale
        assert measures.inertia(factors_of(found, monkeypatch)) == (2, 2)
        wrong += (np.linalg.eigvalsh(found) > 0.0).sum() != 2
    assert wrong > 0


def test_signs_that_rounding_may_have_changed_do_not_count(monkeypatch):
    inverse = np.array([[1.0, 1.0], [1.0, 1.0 + 2.0**-52]])  # eigenvalues 2 and 2^-53
    with monkeypatch.context() as patch:
        assert measures.inertia(factors_of(inverse, patch)) == (1, 0)

    monkeypatch.setattr(measures, "definite_signs", lambda *_: None)
    monkeypatch.setattr(measures, "pivot_inverses", lambda *_: [inverse[None]])
    system = gs.System(gs.chain(2), 1, symmetric=True, blocks={(0, 0): 1.0, (1, 1): 1.0})
    with pytest.raises(gs.SingularPivotError, match="the signs of 1 eigenvalues are uncertain"):
        system.factorize().inertia()


@pytest.mark.parametrize(("dtype", "symmetric"), [(np.float64, False), (np.complex128, True)])
def test_inertia_is_that_of_real_symmetric_systems_alone(dtype, symmetric):
    units = {(0, 0): 1.0, (1, 1): 1.0}
    system = gs.System(gs.chain(2), 1, dtype=dtype, symmetric=symmetric, blocks=units)
    with pytest.raises(ValueError, match="inertia needs a real system made with symmetric=True"):
        system.factorize().inertia()


def test_definite_blocks_are_shown_by_hand():
    # the block [[1, a], [a, 1]] has the eigenvalues 1 - a and 1 + a, its negative their negatives
    sign, block = np.empty(1, np.int64), np.empty(4)
    for a, scale, shown in (
        (0.5, 1.0, 1), (0.5, -1.0, -1), (1.5, 1.0, 0), (1.0, 1.0, 0), (0.9995, 1.0, 0),
        (0.998, 1.0, 1), (0.998, -1e-200, -1), (np.nan, 1.0, 0), (0.5, 0.0, 0),
    ):  # fmt: skip
        arena = scale * np.array([1.0, a, 0.0, a, 1.0])  # column-major, 3 rows apart
        definite_signs(np.array([[0], [3], [2]]), arena, 1e-3, block, sign)
        assert sign[0] == shown, (a, scale)
    apart = np.array([1.0, 0.5, 0.0, 0.502, 1.0])  # triangles that differ by more than 1e-3 / 2
    definite_signs(np.array([[0], [3], [2]]), apart, 1e-3, block, sign)
    assert sign[0] == 0


def test_hermitian_blocks_are_shown_by_hand():
    # the block [[1, a], [conj a, 1]] has the eigenvalues 1 - |a| and 1 + |a|
    sign, block = np.empty(1, np.int64), np.empty(4, complex)
    for a, first, shown in (
        (0.5j, 1.0, 1), (-0.6 + 0.7j, 1.0, 1), (1.5j, 1.0, 0), (0.8 - 0.7j, 1.0, 0),
        (0.0, 1.0 + 0.1j, 0),  # no Hermitian block
    ):  # fmt: skip
        for scale in (1.0, -1e-200):
            arena = scale * np.array([first, np.conj(a), 0.0, a, 1.0])
            definite_signs(np.array([[0], [3], [2]]), arena, 1e-3, block, sign)
            assert sign[0] == shown * np.sign(scale), (a, scale)
    symmetric = np.array([1.0, 0.5j, 0.0, 0.5j, 1.0])  # [[1, a], [a, 1]]
    definite_signs(np.array([[0], [3], [2]]), symmetric, 1e-3, block, sign)
    assert sign[0] == 0


@pytest.mark.parametrize("dtype", [float, complex])
@given(st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_blocks_are_shown_definite_by_their_least_eigenvalue(dtype, n, seed):
    rng = np.random.default_rng(seed)
    half = rng.standard_normal((n, n + 1)).astype(dtype)
    if dtype is complex:
        half += 1j * rng.standard_normal((n, n + 1))
    found = half @ half.conj().T
    diagonal = np.diag(found).real
    unit = found / np.sqrt(np.outer(diagonal, diagonal))
    sign = np.empty(1, np.int64)
    scale = np.ldexp(1.0, rng.integers(-300, 300, n))
    scaled = -found * np.outer(scale, scale)
    definite_signs(np.array([[0], [n], [n]]), scaled.ravel("F"), 1e-3, np.empty(n * n, dtype), sign)
    least = np.linalg.eigvalsh(unit)[0]
    if abs(least - 1e-3) > 1e-10:
        assert sign[0] == (-1 if least > 1e-3 else 0)


def test_determinants_of_blocks_by_hand():
    # blocks that a supernode of 3 rows may have: [5], [[0, 2], [3, 0]], and [[0, 1j], [2, 0]]
    arena, places = np.zeros(9, complex), np.array([[0, 4], [3, 3], [1, 2]])
    arena[[0, 5, 7]] = 5.0, 3.0, 2.0
    work, sign = (np.empty(4, complex), np.empty(2, np.int64)), np.empty(1, complex)
    assert log_determinant(places, arena, *work, sign) == pytest.approx(np.log(30.0))
    assert sign[0] == -1.0
    arena[[5, 7]] = 2.0, 1.0j
    assert log_determinant(places, arena, *work, sign) == pytest.approx(np.log(10.0))
    assert sign[0] == -1.0j
    arena[7] = 0.0
    assert log_determinant(places, arena, *work, sign) == -np.inf and sign[0] == 0.0


@given(st.permutations(range(12)), st.sampled_from([1, 2, 12]))
def test_sign_of_a_permutation(order, dims):
    system = gs.System(nx.complete_graph(12 // dims), dims)
    system.set_from_scipy(scipy.sparse.csr_array(2.0 * np.eye(12)[order]))
    assert system.factorize().slogdet() == pytest.approx(
        (np.linalg.det(np.eye(12)[order]), 12.0 * np.log(2.0))
    )


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_slogdet_and_rcond_equal_dense(dtype):
    for dims in (1, 4, 10, 20):
        system = random_system(gs.ladder(6), dims, dtype=dtype, dominance=4.0)
        factor, matrix = system.factorize(), system.to_dense()
        sign, logarithm = factor.slogdet()
        expected = np.linalg.slogdet(matrix)
        assert sign == pytest.approx(expected.sign)
        assert logarithm == pytest.approx(expected.logabsdet)
        # the estimate of |A^-1| is a lower bound, seldom off by more than 3
        exact = 1 / np.linalg.cond(matrix, 1)
        assert exact * (1 - 1e-10) <= factor.rcond() <= 3 * exact


@pytest.mark.parametrize(
    "rows",
    [
        [[-7, 8, 7], [-8, 9, 8], [-3, -9, 2]],
        [[0, -8, 2], [-6, -1, -4], [8, 8, 4]],
        [[-9, 1, -9], [3, -2, 7], [4, 4, -7]],
    ],
)
def test_rcond_of_entries_next_to_the_largest_number(rows):
    # a right-hand side as large as A overflows in the substitution, whose solution is in range
    system = gs.System(nx.complete_graph(3), 1)
    A = np.ldexp(np.array(rows, float), np.array([[1019], [328], [614]]))
    for i, j in np.ndindex(3, 3):
        system[i, j] = A[i, j]
    small = np.ldexp(A, -600)
    exact = 1 / (np.linalg.norm(small, 1) * np.linalg.norm(np.linalg.inv(small), 1))
    assert exact * (1 - 1e-10) <= system.factorize().rcond() <= 4 * exact


def test_single_precision_is_no_loss_of_digits():
    system = random_system(gs.ladder(6), 3, dtype=np.float32)
    sign, logarithm = system.factorize().slogdet()  # a warning is an error here

    expected = np.linalg.slogdet(system.to_dense().astype(float))
    assert (sign, logarithm) == pytest.approx((expected.sign, expected.logabsdet), rel=1e-5)


def test_refactorize_reuses_everything_and_equals_a_new_factor():
    system, other = (random_system(gs.net(6), 6, seed=seed) for seed in (0, 1))
    factor = system.factorize()
    symbolic, b = factor.symbolic, right_hand_side(system)

    assert factor.refactorize(other.values) is factor
    assert factor.symbolic is symbolic
    assert np.array_equal(factor.solve(b), other.factorize(symbolic).solve(b))
    factor.refactorize(system.values)
    assert np.array_equal(factor.solve(b), system.factorize(symbolic).solve(b))


def test_solutions_keep_the_kind_and_layout_of_what_was_given():
    system = random_system(gs.chain(5), 3)
    factor, b = system.factorize(), right_hand_side(system, 4)
    x = factor.solve(b)

    assert np.array_equal(factor.solve(np.asfortranarray(b)), x)
    assert np.array_equal(factor.solve(np.repeat(b, 2, axis=0)[::2]), x)
    assert np.allclose(np.stack([factor.solve(c) for c in b.T], axis=1), x, rtol=0, atol=1e-14)
    assert np.array_equal(system.join(factor.solve(system.split(b))), x)
    out = np.empty_like(b)
    assert factor.solve(b, out=out) is out and np.array_equal(out, x)
    assert np.allclose(factor.solve(b.tolist()), x)
    z = factor.solve(b[:, 0] + 1j * b[:, 1])
    assert np.allclose(z, x[:, 0] + 1j * x[:, 1])
    assert system.solve(b) == pytest.approx(x)


def test_nothing_that_was_given_is_changed():
    system = random_system(gs.net(4), 3, dominance=0.0)
    values, b = system.values.copy(), right_hand_side(system, 2)
    kept = b.copy()
    system.factorize().solve(b)

    assert np.array_equal(system.values, values) and np.array_equal(b, kept)


def test_linear_operator_preconditions_a_nearby_matrix():
    system = random_system(gs.net(6), 4)
    operator = system.factorize().as_linear_operator()
    nearby = system.to_scipy() + 0.01 * scipy.sparse.eye_array(system.shape[0])
    b = right_hand_side(system)
    counted = []
    x, failed = scipy.sparse.linalg.gmres(
        nearby, b, M=operator, rtol=1e-12, callback=counted.append, callback_type="pr_norm"
    )

    assert failed == 0 and len(counted) <= 8
    assert np.linalg.norm(nearby @ x - b) < 1e-11 * np.linalg.norm(b)
    dense = np.linalg.inv(system.to_dense())
    assert np.allclose(operator @ np.eye(system.shape[0]), dense, atol=1e-13)
    assert np.allclose(operator.H @ b, dense.T @ b, atol=1e-13)


def test_factors_pickle_and_copy():
    system = random_system(gs.net(4), 3, dominance=0.0)
    factor, b = system.factorize(), right_hand_side(system)
    for other in (pickle.loads(pickle.dumps(factor)), copy.deepcopy(factor)):
        assert np.array_equal(other.solve(b), factor.solve(b))
        assert other.symbolic.order == factor.symbolic.order
        assert not other.symbolic.program.flags.writeable


def test_threads_share_a_factor():
    system = random_system(gs.net(10), 6)
    factor = system.factorize()
    columns = [right_hand_side(system, seed=seed) for seed in range(8)]
    expected, found = [factor.solve(b) for b in columns], [None] * 8

    def work(i):
        for _ in range(20):
            found[i] = factor.solve(columns[i])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


def test_residual_and_backward_error_are_what_they_say():
    system = random_system(gs.ladder(4), 3)
    factor, b = system.factorize(), right_hand_side(system, 2)
    x = np.ones_like(b)

    assert np.allclose(factor.residual(x, b), b - system.to_dense() @ x, atol=1e-13)
    assert factor.backward_error(x, b) == pytest.approx(backward_error(system.to_dense(), x, b))
    z = x + 2j * b
    assert np.allclose(factor.residual(z, b), b - system.to_dense() @ z, atol=1e-13)
    assert factor.backward_error(z, b) == pytest.approx(backward_error(system.to_dense(), z, b))


def test_singular_matrix_names_node_step_and_remedy():
    system = random_system(nx.path_graph(["a", "b", "c"]), 2)
    for u, v in [("b", "a"), ("a", "b"), ("b", "c"), ("c", "b")]:
        system[u, v] = np.zeros((2, 2))
    system["b", "b"] = [[1, 2], [2, 4]]
    with pytest.raises(
        gs.SingularPivotError, match=r"node 'b' is singular \(elimination step"
    ) as e:
        system.factorize()
    assert e.value.node == "b" and isinstance(e.value, np.linalg.LinAlgError)
    assert "add to its diagonal" in str(e.value)


def test_an_order_of_the_users_stays_and_its_missing_pivots_are_delayed():
    # sizes that cannot share a pivot block, where rows would be exchanged
    system = gs.System(nx.path_graph(["a", "b"]), 6)
    system["a", "b"] = system["b", "a"] = system["b", "b"] = np.eye(6)
    factor = system.factorize(system.analyze(["a", "b"]))
    assert factor.symbolic.order == ("a", "b")
    assert factor.solve([1.0] * 6 + [3.0] * 6) == pytest.approx([2.0] * 6 + [1.0] * 6)


def test_a_failed_refactorize_cannot_solve_until_the_next():
    system = random_system(gs.chain(4), 2)
    factor, b = system.factorize(), right_hand_side(system)
    with pytest.raises(gs.SingularPivotError):
        factor.refactorize(np.zeros_like(system.values))
    with pytest.raises(ValueError, match="last refactorize failed"):
        factor.solve(b)
    for told in (factor.slogdet, factor.rcond, factor.selected_inverse):
        with pytest.raises(ValueError, match="last refactorize failed"):
            told()
    x = factor.refactorize(system.values).solve(b)
    assert backward_error(system.to_dense(), x, b) < 1e-14


def test_values_that_are_not_finite_are_named():
    for bad in (np.nan, np.inf):
        system = random_system(nx.path_graph(["a", "b", "c"]), 2)
        system.values[system.graph.edge_at(1, 2)] = bad  # compiled code writes unchecked
        with pytest.raises(ValueError, match=r"'b', 'c'"):
            system.factorize()


def test_right_hand_sides_are_checked():
    system = random_system(nx.path_graph(["a", "b", "c"]), 2)
    factor = system.factorize()
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="b is not finite at node 'c'"):
            factor.solve([0, 0, 0, 0, bad, 0])
    with pytest.raises(ValueError, match=r"shape \(5,\), it must be \(6,\) or \(6, k\)"):
        factor.solve(np.zeros(5))
    with pytest.raises(ValueError, match=r"shape \(6, 1, 1\)"):
        factor.solve(np.zeros((6, 1, 1)))
    with pytest.raises(TypeError, match="numbers"):
        factor.solve(["x"] * 6)
    with pytest.raises(ValueError, match="'X', it must be 'N', 'T' or 'H'"):
        factor.solve(np.zeros(6), "X")
    with pytest.raises(ValueError, match="node 'c' has no vector"):
        factor.solve({"a": [0, 0], "b": [0, 0]})
    with pytest.raises(ValueError, match="out has shape"):
        factor.solve(np.zeros(6), out=np.zeros(5))
    with pytest.raises(TypeError, match="out must be a numpy array, not a list"):
        factor.solve(np.zeros(6), out=[0.0] * 6)
    with pytest.raises(ValueError, match="values has shape"):
        factor.refactorize(np.zeros(3))


def test_a_solution_beyond_the_largest_number_is_refused():
    system = gs.System(gs.chain(1), 1, blocks={(0, 0): 1e-300})
    with pytest.raises(OverflowError, match="scale"):
        system.solve([1e300])


@pytest.mark.parametrize("block", [1, 2, 6])
def test_complex_numbers_may_be_larger_than_any_real_one(block):
    system = gs.System(gs.chain(2), block, dtype=complex)
    for i in range(2):
        system[i, i] = np.eye(block)
    b = np.full(2 * block, 1.5e308 * (1 + 1j))  # its magnitude overflows
    assert np.array_equal(system.solve(b), b)


def test_one_node_no_nodes_and_no_rows():
    for graph, size in ((nx.empty_graph(0), 3), (gs.chain(3), 0), (nx.empty_graph(1), 2)):
        system = random_system(graph, size)
        factor = system.factorize()
        b = right_hand_side(system)
        assert factor.solve(b).shape == b.shape
        assert factor.slogdet()[1] == pytest.approx(np.linalg.slogdet(system.to_dense())[1])
        assert 0 < factor.rcond() <= 1


def test_repr_is_one_line():
    assert repr(random_system(gs.net(3), 2).factorize()).startswith("Factor(18 unknowns, ")


def test_a_symbolic_factorization_belongs_to_its_system():
    system = random_system(gs.chain(3), 2)
    for other in (random_system(gs.chain(4), 2), random_system(gs.chain(3), 2, symmetric=True)):
        with pytest.raises(ValueError, match="is not of this system"):
            system.factorize(other.analyze())
    assert system.factorize(system.copy().analyze()).shape == (6, 6)
    assert system.factorize(random_system(gs.chain(3), 2).analyze()).shape == (6, 6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scale", [1.0, 2.0**40])
def test_no_columns_have_no_solutions(dtype, scale):
    # of factors of each kind: as they are, refined, mixed, scaled, redundant; and of no rows
    system = random_system(gs.chain(4), 2, dtype=dtype)
    system[0, 0] = np.eye(2) / scale
    system[1, 1] = np.ones((2, 2)) / scale
    kinds = [{}, {"refine": True}, {"redundant": True}]
    if dtype is np.float64:
        kinds.append({"precision": "mixed"})
    none = np.zeros((8, 0), dtype)
    for options in kinds:
        factor = system.factorize(**options)
        for trans in "NTH":
            assert factor.solve(none, trans).shape == (8, 0)
        x, found = factor.solve(none, report=True)
        assert x.shape == (8, 0)
        assert found == gs.Certificate(0.0, 1.0, 0.0)
    factor = gs.System(nx.empty_graph(0), 1).factorize()
    for shape in ((0,), (0, 0), (0, 2)):
        x, found = factor.solve(np.zeros(shape), report=True)
        assert x.shape == shape
        assert found.forward_error == 0.0


def test_matrices_in_the_other_byte_order_are_those_of_the_native_one():
    system = random_system(gs.chain(4), 2)
    symbolic, b, A = system.analyze(), np.arange(8.0), system.to_scipy()
    values, right, entries = (v.astype(v.dtype.newbyteorder()) for v in (system.values, b, A.data))
    x = gs.Factor(symbolic, system.values).solve(b)

    assert gs.Factor(symbolic, values).solve(right).tolist() == x.tolist()
    other = scipy.sparse.csr_array((entries, A.indices, A.indptr), A.shape)
    assert gs.System.from_scipy(other).dtype == np.dtype(float)
    assert gs.System.from_scipy(other).to_dense().tolist() == A.toarray().tolist()
    for solve in (gs.spsolve(other, right), gs.splu(other).solve(right)):
        assert solve == pytest.approx(x)
    kept = gs.condense(system, [0])
    swapped = gs.Condensation(kept.symbolic, values, (0,))
    assert swapped.schur().tolist() == kept.schur().tolist()
    definite = scipy.sparse.csr_array(A @ A.T)
    other = definite.copy()
    other.data = other.data.astype(other.data.dtype.newbyteorder())
    assert gs.cholesky(other)(right) == pytest.approx(gs.cholesky(definite)(b))


def test_rcond_of_rows_that_repeat_each_other():
    # A^-1 = (0, 0, 0; 0, -1, 1; 0, 1, -1) / (2 delta) and numbers about 1: its columns cancel
    for delta in (1e-6, 1e-10):
        A = np.array([[1.0, 1.0, 1.0], [1.0, -delta, 0.0], [1.0, 0.0, -delta]])
        found = gs.System.from_scipy(scipy.sparse.csr_array(A), 1).factorize().rcond()
        assert found == pytest.approx(delta / 3.0, rel=1e-5)


@pytest.mark.parametrize("dtype, small", [(np.complex64, 1e-21), (np.complex128, 1e-160)])
def test_rcond_of_inverses_with_subnormal_numbers(dtype, small):
    # the first column of A^-1 is (10, -10 small, 10 small^2), whose reciprocals overflow
    system = gs.System(gs.chain(3), 1, dtype=dtype)
    system[0, 0] = 0.1j
    system[1, 1] = system[2, 2] = 1.0
    system[1, 0] = system[2, 1] = small
    assert system.factorize().rcond() == pytest.approx(0.1)


def test_threads_may_ask_for_the_matrix_at_the_same_time(monkeypatch):
    system = random_system(gs.chain(3), 2)
    factor = system.factorize()
    expected = system.factorize().rcond()
    graph = factor.graph

    def of_another_thread(self):  # which was in between
        if not isinstance(self._values, measures.Matrix):
            self._values = measures.Matrix(graph, system.values)
        return graph

    monkeypatch.setattr(gs.Factor, "graph", property(of_another_thread))
    assert factor.rcond() == expected
