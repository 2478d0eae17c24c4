"""Many systems at once: by hand, against dense and `Factor`, and what happens to the bad ones."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphsys as gs
from graphsys.families import body_joint_chain, random_saddle_system, random_system
from graphsys.kernels.single.refinement import FINE
from graphsys.numeric.batch_engines import Each, Lanes
from tests.graphsys.test_factor import backward_error

EPS = np.finfo(float).eps


def values_of(graph, dims, count, **options):
    """A system, and values of `count` systems like it."""
    systems = [random_system(graph, dims, seed=seed, **options) for seed in range(count)]
    return systems[0], np.stack([system.values for system in systems])


def right_hand_sides(batch, columns=None, dtype=float):
    rng = np.random.default_rng(0)
    shape = batch.shape[:2] + (() if columns is None else (columns,))
    return rng.normal(size=shape).astype(dtype)


def worst_error(system, values, x, b, trans="N"):
    """Largest backward error of all systems."""
    errors = []
    for one, x_one, b_one in zip(values, x, b, strict=True):
        system.values = one
        matrix = {"N": system.to_dense(), "T": system.to_dense().T}
        matrix["H"] = matrix["T"].conj()
        errors.append(backward_error(matrix[trans], x_one, b_one))
    return max(errors)


def test_three_systems_by_hand():
    # [2 1; 1 3] and multiples of it: x = (4/5, 7/5), halved and quartered
    system = gs.System(gs.chain(2), 1, blocks={(0, 0): 2, (1, 1): 3, (0, 1): 1, (1, 0): 1})
    batch = gs.Batch(system.analyze(), [system.values * scale for scale in (1, 2, 4)])
    x = batch.solve([[3, 5]] * 3)

    assert x == pytest.approx(np.outer([1, 0.5, 0.25], [0.8, 1.4]))
    assert batch.status.tolist() == ["batch"] * 3 and batch.failures == {}
    assert repr(batch) == "Batch(3 systems of 2 unknowns, dfs order)"


def test_rows_are_exchanged_in_each_lane_by_itself():
    # one block of 3; each system is another permutation, scaled: x_i = b_j / (lane + 1)
    system = gs.System(gs.chain(1), 3)
    system[0, 0] = np.eye(3)
    permutations = [np.eye(3)[list(p)] for p in ((0, 1, 2), (1, 0, 2), (2, 1, 0), (1, 2, 0))]
    blocks = [(k + 1) * permutations[k % 4] for k in range(8)]
    batch = gs.Batch(system.analyze("dfs"), [block.ravel(order="F") for block in blocks])
    b = np.array([1.0, 2.0, 3.0])

    for k, x in enumerate(batch.solve([b] * 8)):
        assert x == pytest.approx(permutations[k % 4].T @ b / (k + 1))
    assert (batch.pivot_ratio == 1.0).all() and set(batch.status) == {"batch"}
    once = batch.solve_once([block.ravel(order="F") for block in blocks], [b] * 8)
    expected = [permutations[k % 4].T @ b / (k + 1) for k in range(8)]
    assert np.allclose(once, expected, rtol=1e-15, atol=0.0)
    assert (batch.pivot_ratio == 1.0).all() and set(batch.status) == {"batch"}


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_families_solve_to_rounding_in_lanes(dtype, symmetric):
    bound = 45 * np.finfo(dtype).eps  # as for `Factor`
    for graph in (gs.chain(7), gs.random_tree(12), gs.ladder(5), gs.net(4), nx.complete_graph(6)):
        for dims in (1, 3, 6, 8):
            system, values = values_of(graph, dims, 11, dtype=dtype, symmetric=symmetric)
            batch = gs.Batch(system.analyze(), values)
            for columns, trans in ((None, "N"), (None, "T"), (4, "N"), (4, "T"), (1, "H")):
                b = right_hand_sides(batch, columns, dtype)
                x = batch.solve(b, trans)
                assert x.shape == b.shape and x.dtype == dtype
                assert worst_error(system, values, x, b, trans) < bound
                once = gs.Batch(batch.symbolic).solve_once(values, b, trans)
                assert worst_error(system, values, once, b, trans) < bound
            assert isinstance(batch._engine, Lanes)


@pytest.mark.parametrize(
    ("dims", "dtype"),
    [
        (12, np.float64),
        pytest.param(9, np.float32, marks=pytest.mark.slow),
        pytest.param(3, complex, marks=pytest.mark.slow),
    ],
)
def test_large_blocks_and_complex_numbers_go_one_after_another(dims, dtype):
    system, values = values_of(gs.ladder(4), dims, 5, dtype=dtype)
    batch = gs.Batch(system.analyze(), values, refine=True)
    for columns, trans in ((None, "N"), (3, "T"), (3, "H")):
        b = right_hand_sides(batch, columns).astype(dtype)
        bound = 45 * np.finfo(dtype).eps
        assert worst_error(system, values, batch.solve(b, trans), b, trans) < bound
        once = batch.solve_once(values, b, trans)
        assert worst_error(system, values, once, b, trans) < bound
        assert (batch.backward_error < bound).all()
    assert isinstance(batch._engine, Each)


@given(data=st.data())
def test_any_graph_with_any_sizes_equals_dense(data):
    n = data.draw(st.integers(1, 10))
    graph = nx.gnm_random_graph(n, data.draw(st.integers(0, 2 * n)), seed=data.draw(st.integers(0)))
    size = data.draw(st.lists(st.integers(0, 8), min_size=n, max_size=n))
    count = data.draw(st.integers(1, 18))
    system, values = values_of(graph, size, count, dominance=20.0)
    ordering = data.draw(st.sampled_from(["auto", "dfs", "amd"]))
    batch = gs.Batch(system.analyze(ordering), values, threads=data.draw(st.integers(1, 3)))
    b = right_hand_sides(batch, data.draw(st.sampled_from([None, 1, 4])))
    x = batch.solve(b)

    if x.size:
        assert worst_error(system, values, x, b) < 1e-14
        once = gs.Batch(batch.symbolic).solve_once(values, b)
        assert worst_error(system, values, once, b) < 1e-14


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("threads", [1, 3])
def test_mechanisms_are_solved_and_refined_one_by_one(dtype, threads):
    systems = [random_saddle_system(body_joint_chain(4), seed=seed) for seed in range(20)]
    values = np.stack([system.values for system in systems]).astype(dtype)
    batch, eps = gs.Batch(systems[0].analyze(), threads=threads), float(np.finfo(dtype).eps)
    b = np.random.default_rng(0).normal(size=(20, systems[0].shape[0])).astype(dtype)
    values[7] = 0.0  # singular
    values[9] = systems[9].values / 1e3
    b[11, 3] = np.inf
    results = []
    for _ in range(2):  # by lanes first, then one by one
        x = batch.solve_once(values, b)
        results.append((x, batch.status.tolist(), {i: str(e) for i, e in batch.failures.items()}))
        assert batch._mostly_doubtful
        right = np.flatnonzero(np.isfinite(x).all(axis=1))
        assert set(range(20)) - {7, 11} == set(right.tolist())
        assert (batch.backward_error[right] <= 1e3 * eps).all()
        for i in right:
            systems[0].values = values[i].astype(float)
            assert backward_error(systems[0].to_dense(), x[i], b[i]) <= 1e3 * eps
        assert np.isnan(x[7]).all() and list(batch.failures) == [7]
    assert results[0][1:] == results[1][1:]

    b[11, 3], values[7] = 1.0, values[8]
    x = batch.solve_once(values, b)
    for i, factor in enumerate(gs.Factor(batch._engine.symbolic, one) for one in values):
        if factor._factorization.plain:  # whose first factors were not replaced by others
            assert np.array_equal(x[i], factor.refactorize_and_solve(values[i], b[i]))
            assert batch.pivot_ratio[i] == factor.pivot_ratio
            assert batch.backward_error[i] == factor.report.backward_error
    good = random_system(body_joint_chain(4), "dim", dtype=dtype)
    many = np.tile(good.values, (20, 1))
    for _ in range(2):  # one by one, and by lanes again
        x = batch.solve_once(many, b)
        assert not batch._mostly_doubtful and np.isnan(batch.backward_error).all()
        assert worst_error(good, many, x, b) <= 1e3 * eps


def test_blocks_that_are_not_dominant_are_refined_as_a_factor_refines_them():
    for graph in (gs.chain(30), gs.ladder(10), gs.crystal(3)):
        system, values = values_of(graph, 6, 24, dominance=0.0)
        batch = gs.Batch(system.analyze(), values)
        b = right_hand_sides(batch, 2)
        x = batch.solve(b)

        assert (batch.pivot_ratio < 0.125).any()
        refined = batch.pivot_ratio < 0.125
        assert (batch.backward_error[refined] <= FINE * EPS).all()
        assert np.isnan(batch.backward_error[~refined]).all()
        assert worst_error(system, values[refined], x[refined], b[refined]) <= (FINE + 8) * EPS
        once = gs.Batch(batch.symbolic).solve_once(values, b)
        assert worst_error(system, values[refined], once[refined], b[refined]) <= (FINE + 8) * EPS


def test_solves_at_once_are_refined_each_time_whatever_came_before():
    # after a batch whose pivots were mostly doubtful the next one is solved one by one
    system, doubtful = values_of(gs.crystal(3), 6, 10, dominance=0.0)
    _, sure = values_of(gs.crystal(3), 6, 10, dominance=20.0)
    once = gs.Batch(system.analyze())
    for values in (doubtful, doubtful, sure, sure, doubtful):
        b = np.random.default_rng(1).normal(size=(10, 27 * 6))
        x = once.solve_once(values, b)
        assert worst_error(system, values, x, b) <= (FINE + 8) * EPS
        assert np.isfinite(once.backward_error).all() == (values is doubtful)


def test_mechanisms_with_zero_diagonal_blocks_solve_to_1e_12():
    systems = [random_saddle_system(body_joint_chain(6), seed=seed) for seed in range(19)]
    values = np.stack([system.values for system in systems])
    batch = gs.Batch(systems[0].analyze(), values)
    b = right_hand_sides(batch)

    assert worst_error(systems[0], values, batch.solve(b), b) < 1e-12
    assert worst_error(systems[0], values, batch.solve(b, "T"), b, "T") < 1e-12
    assert batch.failures == {}


def test_a_system_whose_pivot_fails_in_the_common_order_goes_alone():
    # block of node "a" singular in system 2 alone, though the matrix is regular
    system, values = values_of(nx.path_graph(["a", "b", "c"]), 6, 9)
    system.values = values[2]
    system["a", "a"] = np.ones((6, 6))
    values[2] = system.values
    batch = gs.Batch(system.analyze(["a", "b", "c"]), values)
    b = right_hand_sides(batch)

    assert batch.status.tolist() == ["batch"] * 2 + ["alone"] + ["batch"] * 6
    assert worst_error(system, values, batch.solve(b), b) < 1e-14
    assert worst_error(system, values, batch.solve_once(values, b), b) < 1e-14


def test_bad_systems_are_values_and_lose_no_other():
    system, values = values_of(nx.path_graph(["a", "b", "c"]), 3, 20)
    batch = gs.Batch(system.analyze(), values)
    b = right_hand_sides(batch)
    ways = [
        lambda: batch.refactorize(values).solve(b),
        lambda: batch.solve_once(values, b),
        lambda: gs.Batch(batch.symbolic, threads=2).solve_once(values, b),
    ]
    good = [solve() for solve in ways]
    system.values = values[4]
    for u, v in (("a", "b"), ("b", "a"), ("b", "c"), ("c", "b"), ("b", "b")):
        system[u, v] = np.zeros((3, 3))
    values[4] = system.values
    values[17, system.graph.edge_at(1, 2)] = np.nan
    b[9, 1] = np.inf
    others = np.setdiff1d(np.arange(20), [4, 9, 17])

    for solve, before in zip(ways, good, strict=True):
        x = solve()
        assert np.array_equal(x[others], before[others])
        assert np.isnan(x[[4, 17]]).all() and not np.isfinite(x[9]).all()
    for solve in ways[:2]:
        solve()
        assert sorted(batch.failures) == [4, 17]
        assert isinstance(batch.failures[4], gs.SingularPivotError)
        assert batch.failures[4].node == "b"
        assert "('b', 'c')" in str(batch.failures[17])
        assert batch.status[[3, 4, 17]].tolist() == ["batch", "failed", "failed"]


def test_a_redundant_constraint_fails_here_as_it_does_alone():
    # the same constraint twice: noise must not pass for a pivot
    graph = nx.Graph([("body", "one"), ("body", "two")])
    systems = []
    for seed in range(8):
        system = gs.System(graph, {"body": 6, "one": 3, "two": 3})
        system["body", "body"] = np.eye(6)
        for k, joint in enumerate(("one", "two")):
            rows = np.random.default_rng(seed + 100 * k * (seed != 3)).normal(size=(3, 6))
            system[joint, "body"], system["body", joint] = rows, -rows.T
        systems.append(system)
    batch = gs.Batch(systems[0].analyze(), [system.values for system in systems])

    assert list(batch.failures) == [3]
    assert batch.failures[3].node in ("one", "two")
    b = right_hand_sides(batch)
    once = gs.Batch(batch.symbolic)
    for x in (batch.solve(b), once.solve_once([system.values for system in systems], b)):
        assert np.isnan(x[3]).all() and np.isfinite(np.delete(x, 3, axis=0)).all()
    assert list(once.failures) == [3]


@pytest.mark.parametrize("symmetric", [False, True])
def test_solving_at_once_is_solving_with_kept_factors(symmetric):
    # 8 of the 20 systems need row exchanges in the middle of the chain, in one lane of a group
    # each; nodes of several sizes, and blocks that fill in
    for graph in (gs.chain(9), gs.ladder(5), gs.net(3)):
        n = graph.number_of_nodes()
        sizes = {node: 1 + place % 8 for place, node in enumerate(graph)}
        for dims in (sizes, 6, 2):
            system, values = values_of(graph, dims, 20, dominance=20.0, symmetric=symmetric)
            for i in range(0, 20, 7):
                system.values = values[i]
                node = list(graph)[n // 2]
                block = np.array(system[node, node])
                system[node, node] = np.flipud(block) if not symmetric else block[::-1, ::-1] * 3
                values[i] = system.values
            for columns in (None, 1, 3):
                batch = gs.Batch(system.analyze("dfs"), values, refine=False)
                b = right_hand_sides(batch, columns)
                x, once = batch.solve(b), gs.Batch(batch.symbolic, refine=False)
                again = once.solve_once(values, b)
                assert np.allclose(again, x, rtol=1e-10, atol=1e-12 * np.abs(x).max())
                assert np.allclose(once.pivot_ratio, batch.pivot_ratio, rtol=1e-10)
                assert once.status.tolist() == batch.status.tolist()


def test_no_right_hand_sides_still_tell_the_pivots():
    for graph in (gs.chain(3), gs.crystal(3)):
        system, values = values_of(graph, 3, 12)
        once = gs.Batch(system.analyze())
        assert once.solve_once(values, np.zeros((12, system.graph.rows, 0))).shape[2] == 0
        expected = gs.Batch(once.symbolic, values).pivot_ratio
        assert np.allclose(once.pivot_ratio, expected, rtol=1e-10)


def test_threads_share_the_systems_and_change_nothing():
    system, values = values_of(gs.ladder(4), 4, 50)
    one, two = (gs.Batch(system.analyze(), values, threads=t) for t in (1, 2))
    b = right_hand_sides(one)

    assert np.array_equal(one.solve(b), two.solve(b))
    assert np.array_equal(one.solve_once(values, b), two.solve_once(values, b))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_beyond_the_caches_are_solved_alike(dtype):
    # from 2^24 bytes on they are passed over once before; 8 does not divide the systems
    system = random_system(gs.chain(100), 6, dtype=dtype)
    count = 2**24 // system.values.nbytes + 4
    rng = np.random.default_rng(0)
    scales = rng.uniform(0.5, 2.0, size=(count, 1)).astype(dtype)
    batch = gs.Batch(system.analyze(), scales * system.values)
    b = right_hand_sides(batch, dtype=dtype)

    assert count % 8 != 0 and batch._values.nbytes > 2**24
    for x in (batch.solve(b), batch.solve_once(scales * system.values, b)):
        for i in (0, 7, 8, count // 2, count - 5, count - 1):
            error = backward_error(scales[i] * system.to_dense(), x[i], b[i])
            assert error < 20 * np.finfo(dtype).eps


def test_values_may_change_after_the_factorization():
    system, values = values_of(gs.chain(5), 3, 8, dominance=0.0)
    batch = gs.Batch(system.analyze(), values, refine=True)
    b, kept = right_hand_sides(batch), values.copy()
    values[:] = np.nan

    assert worst_error(system, kept, batch.solve(b), b) <= (FINE + 8) * EPS


def test_another_number_of_systems_and_none_at_all():
    system, values = values_of(gs.chain(3), 2, 12)
    batch = gs.Batch(system.analyze(), values)
    assert batch.shape == (12, 6, 6)
    batch.refactorize(values[:3])
    b = right_hand_sides(batch)
    assert batch.shape == (3, 6, 6) and worst_error(system, values[:3], batch.solve(b), b) < 1e-14
    assert batch.refactorize(values[:0]).solve(np.zeros((0, 6))).shape == (0, 6)
    assert batch.solve_once(values[:0], np.zeros((0, 6, 2))).shape == (0, 6, 2)


def test_other_objects_than_an_analysis_are_named():
    system = random_system(gs.chain(3), 2, seed=0)
    for wrong in (system, system.to_scipy(), 5):
        with pytest.raises(TypeError, match=f"symbolic is a {type(wrong).__name__}: give what"):
            gs.Batch(wrong)
        with pytest.raises(TypeError, match=f"symbolic is a {type(wrong).__name__}: give what"):
            system.factorize(wrong)


def test_what_does_not_fit_is_refused():
    system, values = values_of(gs.chain(3), 2, 4)
    symbolic = system.analyze()
    batch = gs.Batch(symbolic)
    with pytest.raises(ValueError, match="refactorize first"):
        batch.solve(np.zeros((4, 6)))
    with pytest.raises(ValueError, match=r"values has shape \(28,\), it must be \(count, 28\)"):
        batch.refactorize(system.values)
    with pytest.raises(TypeError, match="values is not an array of numbers"):
        batch.refactorize([["x"] * 28])
    batch.refactorize(values)
    with pytest.raises(
        ValueError, match=r"b has shape \(4, 5\), it must be \(4, 6\) or \(4, 6, k\)"
    ):
        batch.solve(np.zeros((4, 5)))
    with pytest.raises(ValueError, match="'X', it must be 'N', 'T' or 'H'"):
        batch.solve(np.zeros((4, 6)), "X")
    with pytest.raises(TypeError, match="b is complex"):
        batch.solve(np.zeros((4, 6), complex))
    with pytest.raises(ValueError, match="threads is 0"):
        gs.Batch(symbolic, threads=0)
    batch.solve_once(values, np.zeros((4, 6)))
    with pytest.raises(ValueError, match="refactorize first"):
        batch.solve(np.zeros((4, 6)))


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ("refactorize", (None,)),
        ("refactorize", (np.ones((2, 3)),)),
        ("solve_once", (np.ones((2, 3)), np.zeros((4, 6)))),
        ("solve_once", (None, np.zeros((4, 5)))),  # None: values that fit
        ("solve_once", (None, np.zeros((4, 6)), "X")),
        ("solve_once", (None, np.zeros((3, 6)))),
    ],
)
def test_what_does_not_fit_leaves_the_factors(call, arguments):
    system, values = values_of(gs.chain(3), 2, 4)
    batch, b = gs.Batch(system.analyze(), values), np.ones((4, 6))
    before = batch.solve(b)
    if call == "solve_once" and arguments[0] is None:
        arguments = values, *arguments[1:]
    with pytest.raises((TypeError, ValueError)):
        getattr(batch, call)(*arguments)
    assert np.array_equal(batch.solve(b), before) and batch.shape == (4, 6, 6)
