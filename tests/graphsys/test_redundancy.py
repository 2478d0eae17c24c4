"""Redundant constraints: bounded multipliers where consistent, a label where not."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import graphsys as gs
from graphsys.numeric.regularization import regularization

EPS = np.finfo(float).eps


def saddle(graph, rows, mass, *, symmetric=False):
    """System of bodies with diagonal masses, and of joints with rows {(joint, body): G}."""
    dims = {v: len(mass[v]) if v in mass else None for v in graph}
    for (joint, _), block in rows.items():
        dims[joint] = len(block)
    system = gs.System(graph, dims, symmetric=symmetric)
    for body, diagonal in mass.items():
        system[body, body] = np.diag(diagonal)
    for (joint, body), block in rows.items():
        system[joint, body] = block
        system[body, joint] = block.T if symmetric else -block.T
    return system


def skew(r):
    return np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])


def planar_four_bar(*, symmetric=False, masses=(1.0, 1.0, 1.0)):
    """Four revolute joints with parallel axes on three bodies: 20 rows of rank 17."""
    points = np.array([[0, 0, 0], [0, 1, 0], [2, 1.5, 0], [2, 0, 0]], float)
    graph, rows = nx.Graph(), {}
    for j in range(4):
        for i, sign in ((j - 1, 1.0), (j, -1.0)):
            if 0 <= i < 3:
                arm = points[j] - (points[i] + points[i + 1]) / 2
                block = np.zeros((5, 6))
                block[:3, :3], block[:3, 3:] = np.eye(3), -skew(arm)
                block[3, 3] = block[4, 4] = 1.0
                graph.add_edge(("joint", j), ("body", i))
                rows[("joint", j), ("body", i)] = sign * block
    mass = {("body", i): m * np.array([1, 1, 1, 0.1, 0.2, 0.3]) for i, m in enumerate(masses)}
    return saddle(graph, rows, mass, symmetric=symmetric)


def parts(system, x):
    """Body part and multipliers of a solution."""
    body = [v for v in system.labels if v[0] == "body"]
    x = system.split(x)
    others = [x[v] for v in system.labels if v not in body]
    return np.concatenate([x[v] for v in body]), np.concatenate(others)


def assert_solves(system, x, b, body=1e-10):
    """Compare with a solution of minimum norm: equal bodies, least multipliers in their scales."""
    matrix = system.to_dense()
    least = np.linalg.lstsq(matrix, b, rcond=1e-11)[0]
    v, multipliers = parts(system, x)
    v_least, multipliers_least = parts(system, least)
    # rounding of the product itself, and two units of what refinement stops at
    size = np.abs(matrix).sum(axis=1).max() * np.abs(x).max() + np.abs(b).max()
    assert np.abs(matrix @ x - b).max() <= 16 * EPS * size
    assert np.abs(v - v_least).max() <= body * max(np.abs(v_least).max(), 1.0)
    # each weighed by what its pivots scale with, ours are the least: no solution has smaller ones
    scale = np.sqrt(parts(system, regularization(system.graph, system.values, 1e-10)[0])[1])
    assert np.linalg.norm(scale * multipliers) <= 1.001 * np.linalg.norm(scale * multipliers_least)


def test_the_same_constraint_twice_shares_the_multiplier():
    # m v + lam_1 + lam_2 = f, v = 0 twice: lam_1 = lam_2 = f / 2, the least of all solutions
    graph = nx.path_graph(["one", "body", "two"])
    one = np.ones((1, 1))
    rows = {("one", "body"): one, ("two", "body"): one}
    system = saddle(graph, rows, {"body": [2.0]}, symmetric=True)
    with pytest.raises(gs.SingularPivotError, match=r"factorize\(redundant=True\)"):
        system.factorize()
    factor = system.factorize(redundant=True)
    x = factor.solve({"one": [0.0], "body": [3.0], "two": [0.0]})

    assert x["body"] == pytest.approx([0.0], abs=1e-15)
    # regularization errs by 9e-8, rounding by eps over it
    assert x["one"] == pytest.approx([1.5], abs=1e-6) and x["two"] == pytest.approx([1.5], abs=1e-6)
    assert sum(factor.redundant.values()) == 1 and set(factor.redundant) < {"one", "two"}
    assert factor.report.redundant == factor.redundant
    assert "1 constraint row of this matrix depend" in gs.explain(factor)


def test_regularization_has_the_sign_and_size_of_the_schur_complement():
    # row g on mass 4: g^2 / 4 = 9 / 4; with G and -G^T the Schur complement is positive
    graph = nx.path_graph(["body", "joint"])
    for symmetric, sign in ((True, -1.0), (False, 1.0)):
        rows = {("joint", "body"): np.array([[3.0]])}
        system = saddle(graph, rows, {"body": [4.0]}, symmetric=symmetric)
        scale, change = regularization(system.graph, system.values, 1e-10)
        assert scale == pytest.approx([4.0, 2.25])
        assert change == pytest.approx([0.0, sign * 2.25e-10])


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("ordering", ["auto", "dfs", "amd"])
def test_a_planar_four_bar_has_three_redundant_rows(ordering, symmetric):
    system = planar_four_bar(symmetric=symmetric)
    matrix = system.to_dense()
    assert np.linalg.matrix_rank(matrix) == matrix.shape[0] - 3
    with pytest.raises(gs.SingularPivotError):
        system.factorize()
    factor = system.factorize(system.analyze(ordering), redundant=True)
    for seed in range(5):
        b = matrix @ np.random.default_rng(seed).normal(size=matrix.shape[0])
        x = factor.solve(b)
        assert_solves(system, x, b)
        least = np.linalg.lstsq(matrix, b, rcond=1e-11)[0]
        assert np.abs(parts(system, x)[1]).max() <= 3 * np.abs(parts(system, least)[1]).max()
        assert_solves(system, factor.solve(np.column_stack([b, -2 * b]))[:, 1], -2 * b)
    assert sum(factor.redundant.values()) == 3
    assert factor.report.redundant == factor.redundant
    assert factor.report.backward_error < 20 * EPS
    b = matrix.T @ np.ones(matrix.shape[0])
    x = factor.solve(b, "T")
    assert np.abs(matrix.T @ x - b).max() < 1e-13


def test_masses_far_apart_change_nothing():
    system = planar_four_bar(masses=(1.0, 1e-3, 1e3))
    b = system @ np.random.default_rng(0).normal(size=system.shape[0])
    assert_solves(system, system.factorize(redundant=True).solve(b), b)


def test_regular_systems_have_nothing_redundant_and_the_same_solution():
    from graphsys.families import body_joint_tree, random_saddle_system

    system = random_saddle_system(body_joint_tree(20))
    b = np.random.default_rng(0).normal(size=system.shape[0])
    factor = system.factorize(redundant=True)
    x = factor.solve(b)

    assert factor.redundant == {} and "dependent" not in gs.explain(factor)
    expected = np.linalg.solve(system.to_dense(), b)
    # condition numbers of random loops are up to 1e5
    assert np.abs(x - expected).max() < 1e-10 * np.abs(expected).max()


def test_refactorize_stays_in_the_mode_and_tells_of_other_values():
    system = planar_four_bar()
    factor = system.factorize(redundant=True)
    b = system @ np.ones(system.shape[0])
    other = planar_four_bar(masses=(2.0, 3.0, 5.0))
    factor.refactorize(other.values)
    b = other @ np.ones(other.shape[0])

    assert_solves(other, factor.solve(b), b)
    assert sum(factor.redundant.values()) == 3
    x = factor.refactorize(system.values, changed=[("body", 0)]).solve(system @ np.ones(38))
    assert_solves(system, x, system @ np.ones(38))


@pytest.mark.parametrize("size", [1.0, 1e-5])
def test_contradicting_constraints_are_refused_with_a_label(size):
    system = planar_four_bar()
    factor = system.factorize(redundant=True)
    b = system @ np.random.default_rng(0).normal(size=system.shape[0])
    v = system.split(b)
    v["joint", 0][2] += size  # out of the plane, where the loop is redundant
    with pytest.raises(gs.SingularPivotError, match="contradict") as caught:
        factor.solve(b)
    assert caught.value.node[0] == "joint"


def held_chain(bodies, size, seed):
    """A chain without a degree of freedom, whose first body is fixed twice."""
    rng = np.random.default_rng(seed)
    rows, mass = {}, {}
    for i in range(bodies):
        mass["body", i] = rng.uniform(1, 3, size=size)
        rows[("joint", i), ("body", i)] = rng.normal(size=(size, size))
        if i:
            rows[("joint", i), ("body", i - 1)] = rng.normal(size=(size, size))
    rows[("joint", bodies), ("body", 0)] = rows[("joint", 0), ("body", 0)]
    return saddle(nx.Graph(list(rows)), rows, mass, symmetric=True), rng


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("bodies", [2, 3, 5])
def test_bodies_that_constraints_hold_wholly_are_at_rest_whichever_is_pushed(bodies, size):
    """Rounding errors of forces are no contradiction."""
    system, rng = held_chain(bodies, size, bodies)
    factor = system.factorize(redundant=True)
    for i in range(bodies):
        b = np.zeros(system.shape[0])
        system.split(b)["body", i][:] = rng.normal(size=size)
        assert_solves(system, factor.solve(b), b)
        assert factor.report.backward_error < 20 * EPS
        for apart in (1.0, 1e-5):  # of one place
            other = b.copy()
            system.split(other)["joint", bodies][0] += apart
            with pytest.raises(gs.SingularPivotError, match="contradict"):
                factor.solve(other)


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("bodies", [2, 3, 5])
@pytest.mark.parametrize("seed", range(10))
def test_bodies_at_rest_behind_one_whose_motion_is_prescribed_contradict_nothing(
    bodies, size, seed
):
    """Rounding errors of the motion pass on to bodies whose own is zero."""
    system, rng = held_chain(bodies, size, seed)
    factor = system.factorize(redundant=True)
    moving = np.zeros(system.shape[0])
    system.split(moving)["body", 0][:] = rng.normal(size=size)
    b = system @ moving

    x = factor.solve(b)

    matrix = system.to_dense()
    largest = np.abs(matrix).sum(axis=1).max() * np.abs(x).max() + np.abs(b).max()
    assert np.abs(matrix @ x - b).max() <= 16 * EPS * largest
    for apart in (1.0, 1e-5):  # of the place where the first body is fixed twice
        other = b.copy()
        system.split(other)["joint", bodies][0] += apart
        with pytest.raises(gs.SingularPivotError, match="contradict"):
            factor.solve(other)


@pytest.mark.parametrize("mass", [1.0, 1e30])
def test_the_energy_of_heavy_bodies_hides_no_contradiction(mass):
    # A heavy body moves freely in its second direction; a light one is put to two places.
    graph = nx.Graph([("a", "light"), ("b", "light"), ("c", "light"), ("c", "heavy")])
    one = np.eye(1)
    rows = {("a", "light"): one, ("b", "light"): one}
    rows |= {("c", "light"): one, ("c", "heavy"): np.array([[-1.0, 0.0]])}
    system = saddle(graph, rows, {"light": [1e-4], "heavy": [mass, mass]}, symmetric=True)
    factor = system.factorize(redundant=True)
    b = {"a": 0.0, "b": 0.0, "c": 0.0, "light": 0.0, "heavy": [0.0, mass]}
    assert factor.solve(b)["heavy"] == pytest.approx([0.0, 1.0], abs=1e-12)
    for apart in (1.0, 1e-5):
        with pytest.raises(gs.SingularPivotError, match="contradict"):
            factor.solve(b | {"b": apart})


@pytest.mark.parametrize("angle", [1e-2, 1e-3, 1e-4, 1e-5])
@pytest.mark.parametrize("count", [1, 3])
def test_a_force_between_nearly_parallel_rows_takes_large_multipliers(angle, count):
    # rows (1, 0) and (1, a), the second twice: (0, f) = G^T y with y = f / a (-1, 1/2, 1/2)
    graph = nx.Graph([("a", "body"), ("b", "body"), ("c", "body")])
    along, across = np.array([[1.0, 0.0]]), np.array([[1.0, angle]])
    rows = {("a", "body"): along, ("b", "body"): across, ("c", "body"): across}
    system = saddle(graph, rows, {"body": [1.0, 1.0]}, symmetric=True)
    b = np.zeros((system.shape[0], count))
    for k in range(count):
        system.split(b[:, k])["body"][1] = k + 1.0

    x = system.factorize(redundant=True).solve(b[:, 0] if count == 1 else b)

    passed = 1e4 * EPS  # residuals that are let through, see `graphsys.numeric.regularization`
    for k, of_one in enumerate(x.reshape(-1, count).T):
        found, force = system.split(of_one.copy()), k + 1.0
        np.testing.assert_allclose(found["body"], 0.0, atol=passed * force / angle)
        expected = force / angle * np.array([-1.0, 0.5, 0.5])
        y = [found[label][0] for label in "abc"]
        np.testing.assert_allclose(y, expected, atol=4.0 * passed * abs(expected[0]))


@pytest.mark.parametrize(
    "size,bodies,seed",
    [(1, 8, 9), (1, 20, 6), (2, 2, 9), (2, 5, 1), (2, 12, 7), (3, 5, 2), (3, 12, 14), (6, 3, 14)],
)
def test_chains_with_nearly_dependent_rows_are_solved(size, bodies, seed):
    """The last but one singular value is 1e-9 to 1e-11 of the largest: far above rounding."""
    system, rng = held_chain(bodies, size, seed)
    factor, matrix = system.factorize(redundant=True), system.to_dense()
    refused = gs.SingularPivotError, gs.InaccurateSolutionWarning
    pushed = np.zeros(system.shape[0])
    system.split(pushed)["body", seed % bodies][:] = rng.normal(size=size)
    for b in (pushed, matrix @ rng.normal(size=pushed.size)):
        x = factor.solve(b)
        largest = np.abs(matrix).sum(axis=1).max() * np.abs(x).max() + np.abs(b).max()
        assert np.abs(matrix @ x - b).max() <= 16 * EPS * largest
        for apart in (1.0, 1e-5):
            other = b.copy()
            system.split(other)["joint", bodies][0] += apart
            with pytest.raises(refused, match="contradict"):
                factor.solve(other)


def chain_of_masses_far_apart(bodies, size, seed):
    """A regular chain; rows look redundant whose pivots are small in their scale."""
    rng = np.random.default_rng([bodies, size, seed])
    rows, mass = {}, {}
    for k in range(bodies):
        mass["body", k] = 10.0 ** rng.uniform(-8.0, 8.0, size)
        rows[("joint", k), ("body", k)] = rng.normal(size=(1, size))
        if k:
            rows[("joint", k), ("body", k - 1)] = rng.normal(size=(1, size))
    system = saddle(nx.Graph(list(rows)), rows, mass, symmetric=True)
    return system, rng.normal(size=system.shape[0])


@pytest.mark.parametrize("bodies,size,seed", [(5, 1, 6), (8, 1, 6), (20, 2, 5), (20, 2, 39)])
def test_regular_systems_with_masses_far_apart_are_exact(bodies, size, seed):
    system, b = chain_of_masses_far_apart(bodies, size, seed)
    x = system.factorize(redundant=True).solve(b)

    # 32 epsilons end refinement; a residual of five products adds some roundings
    matrix = system.to_dense()
    size_of_rows = np.abs(matrix) @ np.abs(x) + np.abs(b)
    assert (np.abs(matrix @ x - b) <= 48 * EPS * size_of_rows).all()


def test_numbers_that_change_after_the_factorization_change_no_solution():
    system, b = chain_of_masses_far_apart(5, 1, 6)
    expected = system.factorize(redundant=True).solve(b)
    values = system.values.copy()
    factor = gs.Factor(system.analyze(), values, redundant=True)
    values[:] = 0.0
    assert np.array_equal(factor.solve(b), expected)
    assert np.array_equal(factor.refactorize(system.values).solve(b), expected)


def test_residuals_of_single_precision_do_not_pass_as_rounding():
    # regular, of condition 5e4: a residual of 1e4 epsilons, 1e-3, gave x[0] = -0.15
    A = np.array(
        [
            [0.0, -0.174, 0.006, 0.0, 0.0],
            [-0.174, 0.02, 11.0, 0.084, 0.0],
            [0.006, 11.0, 0.1, -0.034, -1.2e-4],
            [0.0, 0.084, -0.034, 0.0, 0.004],
            [0.0, 0.0, -1.2e-4, 0.004, 0.0],
        ],
        np.float32,
    )
    expected = np.array([0.3, -0.25, 0.16, 0.37, 1.0], np.float32)
    system = gs.System.from_scipy(sparse.csc_array(A), symmetric=True)

    x = system.factorize(redundant=True).solve(A @ expected)

    # two errors of the right-hand side and the solution, times the condition
    eps, condition = np.finfo(np.float32).eps, np.linalg.cond(A.astype(float))
    assert np.abs(x - expected).max() <= 8 * eps * condition


def test_constraints_that_contradict_a_little_are_warned_of():
    system = planar_four_bar()
    factor = system.factorize(redundant=True)
    b = system @ np.random.default_rng(0).normal(size=system.shape[0])
    system.split(b)["joint", 0][2] += 1e-9
    with pytest.warns(gs.InaccurateSolutionWarning, match=r"'joint', \d.*contradict"):
        x = factor.solve(b)
    # 1e-9 over a regularization of 9e-8 is what a step of refinement adds
    assert np.abs(x).max() < 10


def test_a_singular_body_is_an_error_still():
    graph = nx.path_graph(["body", "joint"])
    system = saddle(graph, {("joint", "body"): np.eye(1, 6)}, {"body": np.ones(6)})
    system["body", "body"] = np.ones((6, 6))
    with pytest.raises(gs.SingularPivotError):
        system.factorize(redundant=True)


def test_a_row_that_nothing_holds_counts_and_is_refused_where_it_is_pushed():
    graph = nx.path_graph(["body", "joint"])
    system = saddle(graph, {("joint", "body"): np.eye(1, 6)}, {"body": [1, 1, 1, 1, 1, 0.0]})
    factor = system.factorize(redundant=True)
    assert factor.redundant == {"body": 1}
    assert factor.solve([1, 1, 1, 1, 1, 0, 0]) == pytest.approx([0, 1, 1, 1, 1, 0, -1])
    with pytest.raises(gs.SingularPivotError, match="'body'.*contradict"):
        factor.solve([1, 1, 1, 1, 1, 1, 0])


@given(
    seed=st.integers(0, 10**6),
    bodies=st.integers(2, 8),
    joints=st.integers(1, 10),
    copies=st.integers(1, 3),
    symmetric=st.booleans(),
)
def test_random_loops_with_dependent_rows(seed, bodies, joints, copies, symmetric):
    # joints of random rows; then some whose rows combine those of one joint: consistent or refused
    rng = np.random.default_rng(seed)
    graph, rows, mass = nx.Graph(), {}, {}
    for i in range(bodies):
        graph.add_node(("body", i))
        mass["body", i] = rng.uniform(1, 3, size=6)
    for j in range(joints):
        for i in rng.choice(bodies, size=2, replace=False):
            rows[("joint", j), ("body", int(i))] = rng.normal(size=(2, 6))
    for c in range(copies):
        source, mix = int(rng.integers(joints)), rng.normal(size=(1, 2))
        for (joint, body), block in list(rows.items()):
            if joint == ("joint", source):
                rows[("joint", joints + c), body] = mix @ block
    graph.add_edges_from(rows)
    system = saddle(graph, rows, mass, symmetric=symmetric)
    matrix = system.to_dense()
    singular = np.linalg.svd(matrix, compute_uv=False)
    kept = singular[singular > 1e-10 * singular[0]]
    if kept[-1] < 1e-3 * kept[0]:
        return  # nearly dependent by chance
    b = matrix @ rng.normal(size=matrix.shape[0])
    factor = system.factorize(redundant=True)
    assert_solves(system, factor.solve(b), b)
    assert sum(factor.redundant.values()) == singular.size - kept.size

    null = np.linalg.svd(matrix.T)[2][-1]
    with pytest.raises(gs.SingularPivotError, match="contradict"):
        factor.solve(b + null * np.abs(b).max())


def test_a_light_body_that_would_leave_the_range_of_numbers_alone():
    # m x + lam = b and x = 0, where b / m = 1e310
    system = gs.System(gs.chain(2), 1, symmetric=True, blocks={(0, 0): 1e-300, (0, 1): 1.0})
    x = system.factorize(redundant=True).solve([1e10, 0.0])
    assert x[1] == pytest.approx(1e10)
    assert abs(1e-300 * x[0]) <= EPS * 1e10


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_entries_that_are_not_finite_are_refused_in_one_sentence(bad):
    system = gs.System(gs.chain(2), 1, symmetric=True, blocks={(0, 0): 2.0, (0, 1): 1.0})
    factor = system.factorize(redundant=True)
    values = system.values.copy()
    for place in range(values.size):
        wrong = values.copy()
        wrong[place] = bad
        with pytest.raises(ValueError, match="every entry must be finite"):
            factor.refactorize(wrong)
        x = factor.refactorize(values).solve([2.0, 1.0])
        assert x == pytest.approx([1.0, 0.0], abs=1e-14)


def test_a_regular_matrix_whose_substitution_overflows_is_solved_all_the_same():
    # x_0 = 2^100, and x_0 2^1000 on the way to x_1 = 1 - x_0
    large = 2.0**1000
    system = gs.System(gs.chain(2), 1, blocks={(0, 0): 1.0, (1, 0): large, (1, 1): large})
    factor = gs.Factor(system.analyze([0, 1]), system.values, redundant=True)
    assert factor.solve([2.0**100, large]).tolist() == [2.0**100, -(2.0**100)]
    assert factor.redundant == {}
    tiny = gs.System(gs.chain(1), 1, blocks={(0, 0): 1e-300}).factorize(redundant=True)
    with pytest.raises(OverflowError, match="scale the matrix"):
        tiny.solve([1e10])


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("n", [2, 20, 60])
def test_laplacians_are_singular_with_and_without_the_option(n, symmetric):
    # Their rank is n^2 - 1, and no row has a zero diagonal block. Weights as of finite elements.
    grid = nx.grid_2d_graph(n, n)
    rng = np.random.default_rng(0)
    system = gs.System(grid, 1, symmetric=symmetric)
    for u, v in grid.edges:
        weight = rng.uniform(0.5, 2.0)
        system[u, v] = system[v, u] = -weight
        system[u, u] += weight
        system[v, v] += weight
    with pytest.raises(gs.SingularPivotError, match="add to its diagonal block") as caught:
        system.factorize()
    assert "redundant=True" not in str(caught.value)
    with pytest.raises(gs.SingularPivotError, match="with a zero diagonal block only") as caught:
        system.factorize(redundant=True)
    assert "allow them with" not in str(caught.value)
    assert caught.value.node in grid
