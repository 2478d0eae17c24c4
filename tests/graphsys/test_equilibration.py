"""Equilibration by powers of two: exact, idempotent, and right at the ends of the range."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import graphsys as gs
from graphsys.families import random_system
from graphsys.kernels.analysis.equilibration import SMALL_STEP, balance, sweep
from graphsys.matrix.equilibration import Scaling, _Entries, _least_squares, matched, scaled
from graphsys.matrix.from_scipy import coordinates


def spread(matrix):
    """Largest magnitudes of rows and columns."""
    size = np.abs(matrix)
    return np.concatenate([size.max(axis=1), size.max(axis=0)])


@pytest.mark.parametrize("symmetric", [False, True])
def test_rows_and_columns_of_any_scale_end_up_near_one(symmetric):
    system = random_system(gs.net(3), 2, symmetric=symmetric)
    rng = np.random.default_rng(0)
    r, c = rng.integers(-300, 300, (2, 18))
    i, j = coordinates(system.graph)
    system.values = scaled(system.values, r[i] + (r if symmetric else c)[j])
    found = Scaling.of(system.graph, system.values, symmetric)
    equilibrated = gs.System(system.graph)
    equilibrated.values = found.matrix(system.values)

    sizes = spread(equilibrated.to_dense())
    assert sizes.max() <= 4.0 and sizes.min() >= 0.25  # each sweep ends within a factor of two
    assert not symmetric or found.row is found.column


def swept(entries, symmetric, sweeps):
    """Logarithms r and c that scale three rows and columns of {(row, column): logarithm}."""
    (row, column), size = np.array([*entries]).T, np.array([*entries.values()])
    r, c = np.zeros((2, 3))
    c = r if symmetric else c
    sweep(row, column, size, symmetric, sweeps, r, c, *np.empty((2, 3)))
    return r.tolist(), c.tolist()


def test_sweeps_by_hand():
    # 2^4 4      2^4 and 1 are the largest of the rows, 2^4 and 2^2 of the columns: after one sweep
    #  1  .      1, 1/2 in the first row and 1/4 below; after another 1, 2^-1/2 and 1/2, which is
    #            within a factor of two. A third row of zeros stays as it is.
    entries = {(0, 0): 4.0, (0, 1): 2.0, (1, 0): 0.0}
    assert swept(entries, False, 0) == ([0, 0, 0], [0, 0, 0])
    assert swept(entries, False, 1) == ([-2, 0, 0], [-2, -1, 0])
    for sweeps in (2, 12):
        assert swept(entries, False, sweeps) == ([-2, 1, 0], [-2, -0.5, 0])


def test_sweeps_of_a_symmetric_matrix_by_hand():
    # the lower triangle alone: its rows are columns too
    entries = {(0, 0): 4.0, (1, 0): 0.0}
    assert swept(entries, True, 1)[0] == [-2, 0, 0]
    for sweeps in (2, 12):
        assert swept(entries, True, sweeps)[0] == [-2, 1, 0]
    assert swept({(1, 0): 6.0}, True, 12)[0] == [-3, -3, 0]


def test_scaling_rounds_nothing_and_comes_back():
    x = np.array([1.0 + 2.0**-52, -3.0, 0.0, 1e-300, 1e300])
    exponent = np.array([500, -600, 7, 200, -1000])
    for numbers in (x, x - 1j * x):
        assert np.array_equal(scaled(scaled(numbers, exponent), -exponent), numbers)


def test_a_row_of_zeros_stays_as_it_is():
    system = gs.System(gs.chain(2), 1)
    system[0, 0] = 2.0**40
    found = Scaling.of(system.graph, system.values, False)
    assert found.row.tolist() == [-20, 0] and found.column.tolist() == [-20, 0]


def test_a_matching_by_hand():
    # logarithms  4 2   the product of the second diagonal, 2^(2 + 1), beats that of the first,
    #             1 .   which a zero spoils: r_0 + c_1 = -2 and r_1 + c_0 = -1, r_0 + c_0 <= -4
    i, j, size = np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([4.0, 2.0, 1.0])
    r, c = matched(i, j, size, 2)
    assert r[0] + c[1] == -2.0 and r[1] + c[0] == -1.0 and r[0] + c[0] <= -4.0
    assert r.sum() == pytest.approx(c.sum())


def test_no_matching_where_a_row_finds_no_column():
    i, j = np.array([0, 1]), np.array([0, 0])
    assert matched(i, j, np.zeros(2), 2) is None
    system = gs.System(gs.chain(2), 1, blocks={(0, 0): 4.0, (1, 0): 2.0})
    swept = Scaling.of_sweeps(system.graph, system.values)
    first = Scaling.of(system.graph, system.values, False)
    assert np.array_equal(first.row, swept.row) and np.array_equal(first.column, swept.column)


@pytest.mark.parametrize("seed", range(5))
def test_of_the_scales_of_a_matching_those_near_the_means_are_taken(seed):
    """A triangle of ones has one matching, and all r_1 >= ... >= r_n, c = -r as its scales."""
    rng, n = np.random.default_rng(seed), 20
    r, c = rng.integers(-200, 200, (2, n))
    wide = sp.csr_array(np.ldexp(np.ldexp(np.tril(np.ones((n, n))), r[:, None]), c))
    system = gs.System.from_scipy(wide, 1)
    found = Scaling.of(system.graph, system.values, False)
    assert np.ptp(found.row + r) <= 2 and np.ptp(found.column + c) <= 2


@pytest.mark.parametrize("symmetric", [False, True])
def test_balanced_entries_have_geometric_means_of_one(symmetric):
    rng, n = np.random.default_rng(0), 6
    i, j = np.nonzero(np.ones((n, n)))
    r, c = rng.uniform(-40.0, 40.0, (2, n))
    c = r if symmetric else c
    size = rng.uniform(-3.0, 3.0, (n, n))
    size = (size + size.T if symmetric else size).ravel() - r[i] - c[j]
    found = np.empty((2, n))
    found = (found[0], found[0] if symmetric else found[1])
    balance(i, j, size, symmetric, 40, *found, *np.empty((3, n)))
    left = (size + found[0][i] + found[1][j]).reshape(n, n)
    most = 2 * n * SMALL_STEP  # of the means of rows and columns after the last two steps
    assert np.abs(left.sum(axis=1)).max() <= most
    assert np.abs(left.sum(axis=0)).max() <= most


@pytest.mark.parametrize("seed", range(5))
def test_a_matching_leaves_no_entry_above_one(seed):
    """Duals of the assignment problem: feasible, and tight along a permutation."""
    rng, n = np.random.default_rng(seed), 12
    pattern = (rng.random((n, n)) < 0.2) | np.eye(n, dtype=bool)[rng.permutation(n)]
    pattern[:6, 6:] = pattern[6:, :6] = False  # parts that share no row and no column
    pattern |= np.eye(n, dtype=bool)
    i, j = np.nonzero(pattern)
    size = rng.uniform(-300.0, 300.0, i.size)
    r, c = matched(i, j, size, n)
    left = size + r[i] + c[j]
    rounding = 100 * n * 300.0 * 2.0**-52
    assert left.max() <= rounding
    tight = sp.csr_array((np.ones(i.size), (i, j)), shape=(n, n))
    tight.data = (left >= -rounding).astype(float)
    tight.eliminate_zeros()
    assert sp.csgraph.structural_rank(tight) == n
    for part in (slice(0, 6), slice(6, 12)):  # components, or unions of them
        assert r[part].sum() == pytest.approx(c[part].sum(), abs=100 * n * rounding)


@pytest.mark.parametrize("symmetric", [False, True])
def test_least_squares_finds_the_scales_of_a_matrix_of_ones(symmetric):
    rng, n = np.random.default_rng(0), 6
    i, j = np.nonzero(np.ones((n, n)))
    r, c = rng.uniform(-40.0, 40.0, (2, n))
    c = r if symmetric else c
    found = _least_squares(i, j, -(r[i] + c[j]), n, symmetric)
    assert np.allclose(found[0][i] + found[1][j], r[i] + c[j], atol=1e-4)  # of `lsqr`: 1e-6


def test_nodes_left_out_stay_as_they_are():
    system = gs.System(gs.chain(3), 2)
    for i in range(3):
        system[i, i] = 2.0**40 * np.eye(2)
    found = Scaling.of(system.graph, system.values, False, frozenset({1}))
    assert found.row.tolist() == found.column.tolist() == [-20, -20, 0, 0, -20, -20]


def test_symmetric_matrices_start_at_the_mean_of_both_scales():
    system = gs.System(nx.complete_graph(3), 1, symmetric=True)
    scale = np.array([10, -40, 3])
    i, j = coordinates(system.graph)
    system.values = np.ldexp(1.0, -scale[i] - scale[j])
    entries = _Entries.of(system.graph, system.values, True, frozenset())
    found = entries.swept(scale + 50.0, scale - 50.0)  # ones: nothing is left for sweeps
    assert (
        found.row.tolist() == scale.tolist()
        and found.entry.tolist() == (scale[i] + scale[j]).tolist()
    )


@pytest.mark.parametrize("number", [3.0, 3.0 + 4.0j])
def test_zeros_are_no_entries(number):
    system = gs.System(gs.chain(2), 1, dtype=type(number))
    system[0, 1] = number
    entries = _Entries.of(system.graph, system.values, False, frozenset())
    place, (size,) = [x.tolist() for x in entries.some[:2]], entries.some[2]
    assert place == [[0], [1]] and size == np.log2(max(number.real, number.imag))


def test_a_scaling_fits_where_rows_and_columns_of_another_matrix_are_moderate():
    system = gs.System(gs.chain(2), 1)

    def fits(matrix):
        system.values = np.zeros(system.values.size)
        for u, v in np.ndindex(2, 2):
            system[u, v] = matrix[u][v]
        zero = np.zeros(2, np.int64)
        one = Scaling(zero, zero, np.zeros(system.values.size, np.int64))
        return one.fits(system.graph, system.values)

    small, large = 2.0**-9, 2.0**9
    assert fits([[1.0, 0.0], [0.0, 1.0]]) and fits([[100.0, 0.01], [0.01, 100.0]])
    assert not fits([[1.0, small], [1.0, small]])  # a column alone
    assert not fits([[1.0, 1.0], [small, small]])  # a row alone
    assert not fits([[large, large], [1.0, 1.0]])
    assert fits([[1.0, 1.0], [0.0, 0.0]])  # zeros have no scale


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_right_hand_sides_one_after_another(columns):
    found = Scaling(np.array([1, 2]), np.array([3, 4]), np.zeros(0, np.int64))
    x = np.ones(2 * columns)
    for transposed, right, solution in (False, [2, 4], [8, 16]), (True, [8, 16], [2, 4]):
        b, shift = found.right_hand_side(x, transposed)
        assert shift == 0 and b.tolist() == right * columns
        assert found.solution(x, transposed, 0).tolist() == solution * columns
    assert found.logarithm() == pytest.approx(10 * np.log(2.0))


@pytest.mark.parametrize("exponent", [[-1100, -50], [1100, 50]])
def test_scaled_right_hand_sides_that_leave_the_range_get_a_common_exponent(exponent):
    exponent = np.array(exponent)
    found = Scaling(exponent, -exponent, np.zeros(0, np.int64))
    x = np.array([3.0, 5.0])
    b, shift = found.right_hand_side(x, False)
    assert np.log2(np.abs(b).max()) <= 0.9 * 1024 + 1 and (np.abs(b) > 2.0**-1022).all()
    assert found.solution(b, False, shift).tolist() == x.tolist()


@pytest.mark.parametrize("solver", [gs.splu, lambda A: gs.System.from_scipy(A).factorize()])
@pytest.mark.parametrize("exponent", [-990, 850, 930, 990])
def test_columns_of_any_scale_beside_rows_without_others(solver, exponent):
    """Rows and columns of one entry let a scaling choose between rows and columns freely."""
    rng = np.random.default_rng(0)
    A = sp.random_array((300, 300), density=0.01, rng=rng) + 20.0 * sp.eye_array(300)
    column = exponent * (np.arange(300) % 2)
    x = rng.integers(1, 9, 300).astype(float)
    wide = A.toarray()
    factors = solver(sp.csr_array(np.ldexp(wide, column)))
    for got in (
        np.ldexp(factors.solve(wide @ x), column),
        factors.solve(np.ldexp(x @ wide, column), "T"),
    ):
        assert np.abs(got - x).max() <= 300 * 2.0**-52 * 9.0  # A is dominated by its diagonal


@pytest.mark.parametrize("block", [1, 2])
@pytest.mark.parametrize("exponent", [-1000, -530, 530, 1000])
def test_a_matrix_at_the_ends_of_the_range_is_solved(block, exponent):
    matrix = np.array([[4.0, 1.0], [1.0, 3.0]]) * 2.0**exponent
    graph = nx.path_graph(2 // block)
    system = gs.System(graph, block)
    if block == 2:
        system[0, 0] = matrix
    else:
        for u in range(2):
            for v in range(2):
                system[u, v] = matrix[u, v]
    b = np.array([1.0, 2.0]) * 2.0 ** (exponent // 2)
    x = system.factorize().solve(b) * 2.0 ** (exponent - exponent // 2)
    assert np.allclose(x, [1 / 11, 7 / 11], rtol=1e-15)


def test_a_pivot_whose_reciprocal_overflows_is_no_obstacle():
    system = gs.System(nx.empty_graph(2), 1, blocks={(0, 0): 1e-310, (1, 1): 1.0})
    assert np.allclose(system.solve([1e-310, 1e-310]), [1.0, 1e-310], rtol=1e-12)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("exponent", [40, 150, 300])
def test_rows_and_columns_may_have_any_scale(exponent, symmetric):
    """x is small integers, so that scaled right-hand sides and solutions are exact."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(4, 30))
        matrix = sp.random_array((n, n), density=4 / n, rng=rng, data_sampler=rng.standard_normal)
        matrix = (matrix + matrix.T if symmetric else matrix).toarray()
        matrix += np.diag(rng.standard_normal(n))
        condition = np.linalg.cond(matrix)
        if condition > 1e8:
            continue
        r, c = rng.integers(-exponent, exponent, (2, n))
        c = r if symmetric else c
        wide = np.ldexp(np.ldexp(matrix, r[:, None]), c)
        x = rng.integers(-9, 9, n).astype(float)
        got = gs.System.from_scipy(sp.csr_array(wide), 1).solve(np.ldexp(matrix @ x, r))
        error = np.abs(np.ldexp(got, c) - x).max()
        # the accuracy of a backward-stable method, n units of rounding in each entry
        assert error <= 10 * n * condition * 2.0**-52 * 9.0


def test_a_matrix_that_one_scaling_makes_singular_is_solved_in_another():
    # Ruiz' sweeps leave no small entry here, but two rows that agree to 14 digits
    big = 2.0**40
    matrix = np.array([[1.0, big, 0.0], [1.0, 1.0, big], [big, 0.0, 1.0]])
    system = gs.System.from_scipy(sp.csr_array(matrix), 1)
    assert system.solve(matrix @ np.ones(3)) == pytest.approx(np.ones(3))


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize(("dtype", "exponent"), [(np.float64, -100), (np.float32, -40)])
def test_the_scaling_of_an_earlier_matrix_hides_no_errors(dtype, exponent, symmetric):
    """Unknowns of node 0 and rows of node 1 are 2^exponent as large as the others.

    Rows and columns of the first matrix and of the second have entries near 1, so the scaling of
    the first one, if it has any, fits; in it, the second is singular to working precision.
    """
    system = gs.System(nx.path_graph(2), [2, 3], dtype=dtype, symmetric=symmetric)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        a, c, d, e = (rng.integers(-9, 10, s) for s in [(2, 2), (2, 3), (3, 2), (3, 3)])
        if symmetric:
            a, d, e = a + a.T, c.T, e + e.T
        even = np.block([[np.ldexp(a, exponent), c], [d, e]])  # the second matrix, scaled
        condition = np.linalg.cond(even)
        if condition > 1e3:
            continue
        first, second = system.copy(), system.copy()
        for some, last in ((first, e), (second, np.ldexp(e.astype(dtype), exponent))):
            some[0, 0], some[1, 0], some[0, 1], some[1, 1] = a, d, c, last
        first[0, 0] = a * (seed % 2)  # zero: a scaling is chosen
        b = rng.integers(-9, 10, 5)
        for order in ([0, 1], [1, 0]):
            factor = gs.Factor(system.analyze(order), first.values.copy())
            factor.refactorize(second.values)
            got = factor.solve(np.r_[b[:2], np.ldexp(b[2:], exponent)])
            x = np.linalg.solve(even, b)
            error = np.abs(np.r_[np.ldexp(got[:2], -exponent), got[2:]] - x).max()
            assert error <= 10 * 5 * condition * np.finfo(dtype).eps * np.abs(x).max()
