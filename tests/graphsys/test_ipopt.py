"""MA27's four symbols by ctypes, and Ipopt in CasADi with them against Ipopt with MUMPS."""

import ctypes
import shutil
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import graphsys as gs
from graphsys.c_code import build
from graphsys.interop import ipopt

#: INFO(1): an index out of range; iw or a too short; a singular matrix.
OUT_OF_RANGE, INTEGERS_TOO_SHORT, TOO_SHORT, SINGULAR = 1, -3, -4, -5

needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="there is no C compiler"
)

needs_kernels = pytest.mark.skipif(
    not hasattr(ipopt.framed.factorize_framed, "address"), reason="kernels are plain Python"
)


@pytest.fixture
def store(monkeypatch):
    """A store without patterns, whose patterns C forgets after the test."""
    lib = ctypes.CDLL(gs.ipopt.library())
    lib.graphsys_take_all()
    monkeypatch.setattr(ipopt, "STORE", ipopt.Store())
    yield ipopt.STORE
    lib.graphsys_take_all()


class MA27:
    """Calls of the documented interface for one matrix in triplets (from 1)."""

    def __init__(self, n, irn, icn, tolerance=1e-8):  # as Ipopt sets it
        self.lib = ctypes.CDLL(gs.ipopt.library())
        self.n, self.nz = ctypes.c_int(n), ctypes.c_int(len(irn))
        self.irn, self.icn = np.array(irn, np.int32), np.array(icn, np.int32)
        self.ikeep, self.iw = np.zeros(3 * max(n, 1), np.int32), np.zeros(8, np.int32)
        self.work, self.info = np.zeros(2 * max(n, 1), np.int32), np.zeros(20, np.int32)
        self.icntl, self.cntl = np.zeros(30, np.int32), np.zeros(5)
        self.one = ctypes.c_int(0)
        self.call("ma27id_", self.icntl, self.cntl)
        self.cntl[0] = tolerance or self.cntl[0]
        self.call("ma27ad_", self.n, self.nz, self.irn, self.icn, self.iw,
                  ctypes.c_int(self.iw.size), self.ikeep, self.work, self.one, self.one, self.icntl,
                  self.cntl, self.info, np.zeros(1))  # fmt: skip
        self.a, self.iw = np.full(self.info[4], np.nan), np.zeros(self.info[5], np.int32)

    def call(self, name, *arguments):
        getattr(self.lib, name)(
            *(x.ctypes.data_as(ctypes.c_void_p) if isinstance(x, np.ndarray) else ctypes.byref(x)
              for x in arguments)
        )  # fmt: skip

    def factorize(self, a, la=None):
        """INFO(1) and the number of negative eigenvalues, with longer arrays if asked for."""
        while True:
            self.a[: len(a)] = a
            size = self.a.size if la is None else la
            self.call("ma27bd_", self.n, self.nz, self.irn, self.icn, self.a, ctypes.c_int(size),
                      self.iw, ctypes.c_int(self.iw.size), self.ikeep, self.one, self.one,
                      self.work, self.icntl, self.cntl, self.info)  # fmt: skip
            if la is None and self.info[0] == TOO_SHORT:
                self.a = np.full(self.info[1], np.nan)
            elif self.info[0] == INTEGERS_TOO_SHORT:
                self.iw = np.zeros(self.info[1], np.int32)
            else:
                return int(self.info[0]), int(self.info[14])

    def solve(self, b):
        x = np.array(b, float)
        self.solve_in_place(x)
        return x

    def solve_in_place(self, x):
        sizes = ctypes.c_int(self.a.size), ctypes.c_int(self.iw.size)
        self.call("ma27cd_", self.n, self.a, sizes[0], self.iw, sizes[1], np.zeros(1), self.one, x,
                  self.work, self.one, self.icntl, self.cntl)  # fmt: skip


def saddle(n, m, seed=0):
    """Dense symmetric indefinite matrix [[H, G'], [G, 0]] with n positive eigenvalues."""
    rng = np.random.default_rng(seed)
    A = np.zeros((n + m, n + m))
    A[:n, :n] = np.diag(rng.uniform(0.5, 2.0, n))
    A[n:, :n] = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.5) + np.eye(m, n)
    return np.tril(A) + np.tril(A, -1).T


def triplets(A):
    row, column = np.nonzero(np.tril(A))
    return row + 1, column + 1, A[row, column]


@needs_compiler
def test_a_saddle_point_matrix_has_its_inertia_and_solution():
    A = saddle(12, 5)
    row, column, a = triplets(A)
    ma27 = MA27(17, row, column, tolerance=None)

    assert ma27.factorize(a) == (0, 5)
    assert ma27.cntl[0] == 0.1
    x = np.arange(17.0)
    np.testing.assert_allclose(ma27.solve(A @ x), x, atol=1e-11)


@needs_compiler
def test_repeated_entries_of_both_triangles_are_summed():
    # [[3, 1], [1, -2]]: 3 = 1 + 2 on the diagonal, 1 = 0.25 + 0.75 above and below it
    ma27 = MA27(2, [1, 1, 1, 2, 2], [1, 1, 2, 1, 2])

    assert ma27.factorize([1.0, 2.0, 0.25, 0.75, -2.0]) == (0, 1)
    np.testing.assert_allclose(ma27.solve([4.0, -1.0]), [1.0, 1.0])


@needs_compiler
def test_other_values_on_one_analysis():
    row, column, a = triplets(saddle(12, 5))
    ma27 = MA27(17, row, column)

    assert ma27.factorize(a) == (0, 5)
    assert ma27.factorize(-a) == (0, 12)


@needs_compiler
def test_a_singular_matrix_is_reported_and_the_next_one_solved():
    ma27 = MA27(3, [1, 2, 3, 3], [1, 2, 1, 2])

    assert ma27.factorize([1.0, 0.0, 0.0, 0.0])[0] == SINGULAR
    assert ma27.factorize([np.nan, 1.0, 1.0, 1.0])[0] == SINGULAR
    assert ma27.factorize([1.0, 1.0, 1.0, 1.0]) == (0, 1)


@needs_compiler
def test_an_index_out_of_range_and_too_short_workspace_are_reported():
    assert MA27(2, [1, 3], [1, 1]).info[:2].tolist() == [OUT_OF_RANGE, 1]
    ma27 = MA27(2, [1, 2], [1, 2])
    assert ma27.factorize([1.0, 1.0], la=1)[0] == -4
    assert ma27.info[1] == 2


@needs_compiler
def test_a_matrix_without_rows_is_solved():
    ma27 = MA27(0, [], [])
    assert ma27.factorize([]) == (0, 0)
    assert ma27.solve([]).size == 0


@needs_compiler
def test_instances_in_threads_do_not_meet():
    wrong = []

    def work(seed):
        A = saddle(10, 4, seed)
        row, column, a = triplets(A)
        ma27 = MA27(14, row, column)
        for k in range(1, 6):
            status = ma27.factorize(k * a)
            x = ma27.solve(k * A @ np.ones(14))
            if status != (0, 4) or abs(x - 1.0).max() > 1e-9:
                wrong.append((seed, k))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@needs_compiler
def test_a_pattern_that_others_displaced_is_analyzed_again(monkeypatch, store):
    monkeypatch.setattr(ipopt, "KEPT", 1)
    first, second = MA27(2, [1, 2], [1, 2]), MA27(2, [2, 1], [2, 1])

    assert first.factorize([1.0, -1.0]) == (0, 1)
    assert second.factorize([1.0, 1.0]) == (0, 0)


@needs_compiler
@needs_kernels
def test_python_only_sees_the_first_matrix_of_a_pattern(monkeypatch):
    A = saddle(12, 5)
    row, column, a = triplets(A)
    ma27 = MA27(17, row, column)
    assert ma27.factorize(a) == (0, 5)
    with monkeypatch.context() as away:
        for method in ("open", "instance", "get"):
            away.setattr(ipopt.STORE, method, lambda *_: pytest.fail("Python was called"))
        again = MA27(17, row, column)
        assert again.factorize(a) == (0, 5)
        assert ma27.factorize(-a) == (0, 12)
        np.testing.assert_allclose(ma27.solve(-A @ np.arange(17.0)), np.arange(17.0), atol=1e-11)
        assert ma27.factorize(a) == (0, 5)
    assert ma27.factorize([np.nan, *a[1:]])[0] == SINGULAR
    assert ma27.factorize(a) == (0, 5)


@needs_compiler
def test_other_numbers_of_rows_or_entries_than_in_the_analysis_are_refused(capfd):
    ma27 = MA27(2, [1, 2], [1, 2])
    assert ma27.factorize([1.0, 1.0]) == (0, 0)
    assert ma27.factorize([2.0, 2.0]) == (0, 0)
    ma27.n = ctypes.c_int(1)
    assert np.isnan(ma27.solve([1.0])).all()
    ma27.n, ma27.nz = ctypes.c_int(2), ctypes.c_int(1)
    assert ma27.factorize([1.0])[0] == ipopt.FAILED
    assert np.isnan(ma27.solve([1.0, 1.0])).all()
    printed = capfd.readouterr().err
    assert "ma27cd has n = 1, ma27ad 2" in printed and "ma27bd has 1 entries, ma27ad 2" in printed


@needs_compiler
def test_a_raised_pivot_tolerance_delays_weak_pivots():
    # 1e-3 under 1: taken by default, and with a tolerance above it delayed into a pair
    A = np.array([[1e-3, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 2.0]])
    row, column, a = triplets(A)
    ma27 = MA27(3, row, column)
    for ma27.cntl[0] in (1e-8, 1e-6, 0.1, 1e-8):
        assert ma27.factorize(a) == (0, int((np.linalg.eigvalsh(A) < 0).sum()))
        np.testing.assert_allclose(ma27.solve(A @ [1.0, 2.0, 3.0]), [1.0, 2.0, 3.0], atol=1e-10)


def refined(instance, A, b):
    """Solution with the one step of refinement that Ipopt always makes."""
    x = instance.solve(b)
    return x + instance.solve(b - A @ x)


@pytest.mark.parametrize("seed", range(20))
def test_inertia_is_exact_and_solutions_backward_stable_whatever_the_hessian(seed):
    # barrier terms from 1e-9 to 1e9 on a Hessian of any sign, constraints of full rank
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 30)), int(rng.integers(1, 15))
    m = min(m, n)
    A = saddle(n, m, seed)
    A[range(n), range(n)] = rng.normal(size=n) * 10.0 ** rng.uniform(-9, 9, n)
    row, column, a = triplets(A)
    instance = ipopt.Instance(ipopt.Pattern(n + m, row - 1, column - 1))
    scaled = A / np.sqrt(np.outer(abs(A).max(0), abs(A).max(0)))  # eigenvalues near 1, most
    eigenvalues = np.linalg.eigvalsh(scaled)
    if abs(eigenvalues).min() < 1e-9:
        return
    assert instance.factorize(a) == (eigenvalues < 0).sum()
    b = A @ rng.normal(size=n + m)
    x = refined(instance, A, b)
    eps = np.finfo(float).eps
    assert (abs(A @ x - b) <= 4 * (n + m) * eps * (abs(A) @ abs(x) + abs(b))).all()


def is_scaled(instance):
    """Whether the last factors are those of the equilibrated matrix."""
    return instance._last._scale[0] != 0.0


def test_no_unit_of_a_row_makes_factors_doubtful():
    # units from 1e-12 to 1e12: the least pivot is below the rounding of the largest entry
    A = saddle(10, 4)
    unit = 10.0 ** np.linspace(-12, 12, 14)
    A = unit[:, None] * A * unit
    row, column, a = triplets(A)
    instance = ipopt.Instance(ipopt.Pattern(14, row - 1, column - 1))
    assert instance.factorize(a) == 4 and not is_scaled(instance)
    x = 1.0 / unit
    np.testing.assert_allclose(instance.solve(A @ x) / x, 1.0, rtol=1e-9)


def test_a_constraint_that_depends_on_others_is_found_whatever_the_units():
    # its last pivot is rounding: mostly less than 1e-12 of the terms that it is a sum of
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        A = saddle(12, 5, seed)
        A[16, :12] = rng.normal(size=4) @ A[12:16, :12]
        A[:12, 16] = A[16, :12]
        unit = 2.0 ** rng.integers(-20, 20, 17)
        row, column, a = triplets(unit[:, None] * A * unit)
        found.append(ipopt.Instance(ipopt.Pattern(17, row - 1, column - 1)).factorize(a))
    assert found.count(None) >= 18


def test_the_scaling_of_a_matrix_by_hand():
    # the matching is of 2^40 with itself and of 2^-10 with its transpose; 3 + 5 are one entry
    pattern = ipopt.Pattern(3, np.array([0, 2, 2, 0, 0]), np.array([0, 1, 1, 1, 0]))
    scale = pattern.scaling(np.array([2.0**39, 3 * 2.0**-13, 5 * 2.0**-13, 1.0, 2.0**39]))
    assert scale[0] == 2.0**-20 and scale[1] * scale[2] == 2.0**10
    for bad in (np.array([1.0, 0.0, 0.0, 1.0, 1.0]), np.array([np.inf, 1.0, 1.0, 1.0, 1.0])):
        assert pattern.scaling(bad) is None  # the last row is zero; an entry is not finite


@pytest.mark.parametrize("seed", range(5))
def test_equilibrated_entries_are_at_most_about_1_and_some_of_each_row_is(seed):
    A = saddle(20, 8, seed)
    unit = 2.0 ** np.random.default_rng(seed).integers(-200, 200, 28)
    row, column, a = triplets(unit[:, None] * A * unit)
    scale = ipopt.Pattern(28, row - 1, column - 1).scaling(a)
    # logarithms are rounded before the sweeps, which end with less than 1, and afterwards
    largest = abs(scale[:, None] * (unit[:, None] * A * unit) * scale).max(axis=0)
    assert (abs(np.log2(largest)) <= 2.5).all()


def far(a):
    """A matrix whose products l d l^T are above 1e8."""
    return 1e9 * a


def test_doubtful_factors_are_replaced_by_those_of_the_equilibrated_matrix():
    A = saddle(10, 4)
    row, column, a = triplets(A)
    instance = ipopt.Instance(ipopt.Pattern(14, row - 1, column - 1))
    x = np.arange(14.0)
    assert instance.factorize(far(a)) == 4 and is_scaled(instance)
    np.testing.assert_allclose(instance.solve(far(A) @ x), x, atol=1e-11)
    assert instance.factorize(a) == 4 and not is_scaled(instance)
    np.testing.assert_allclose(instance.solve(A @ x), x, atol=1e-11)


@needs_compiler
@needs_kernels
def test_after_two_doubtful_matrices_the_next_ones_are_equilibrated_at_once(store):
    A, x = saddle(10, 4), np.arange(14.0)
    row, column, a = triplets(A)
    ma27 = MA27(14, row, column)
    ma27.factorize(a)  # by Python

    def pause_after(scale):
        assert ma27.factorize(scale * a) == (0, 4)
        np.testing.assert_allclose(ma27.solve(scale * (A @ x)), x, atol=1e-11)
        return int(ma27.ikeep[2]) & 255

    # after attempts number 0, 1, 3 and 7 the matrix as it is rests for 0, 1, 3 and 7 matrices
    pauses = [pause_after(1e9) for _ in range(20)]
    assert pauses[:8] == [0, 1, 0, 3, 2, 1, 0, 7] and pauses[15] == 15
    # the others are good: one is tried after the pause, and then a doubtful one is the first again
    assert [pause_after(1.0) for _ in range(12)] == [*range(10, -1, -1), 0]
    assert [pause_after(1e9) for _ in range(3)] == [0, 1, 0]


@needs_compiler
@needs_kernels
def test_a_scaling_that_no_longer_fits_is_replaced(store):
    # the units of rows change, so that the matrix with the old scaling is as doubtful as without
    A, x = saddle(10, 4), np.arange(14.0)
    row, column, a = triplets(A)
    ma27 = MA27(14, row, column)
    ma27.factorize(a)
    for seed in range(5):
        unit = 2.0 ** np.random.default_rng(seed).integers(20, 60, 14)
        B = unit[:, None] * A * unit
        assert ma27.factorize(B[row - 1, column - 1]) == (0, 4)
        np.testing.assert_allclose(ma27.solve(B @ (x / unit)) * unit, x, atol=1e-10)


@needs_compiler
@needs_kernels
def test_a_scaling_by_which_the_next_matrix_leaves_the_range_of_numbers_is_replaced(store):
    # entries of 1e-270 to 1e270, which are infinite or 0 by powers of two of another such matrix
    A = np.diag([-3.0, 3.0, 3.0, -3.0, 3.0, 3.0]) + np.eye(6, k=1) + np.eye(6, k=-1)
    row, column, a = triplets(A)
    ma27 = MA27(6, row, column)
    for seed in range(80):
        unit = 2.0 ** np.random.default_rng(seed).integers(-450, 450, 6)
        B = unit[:, None] * A * unit
        assert ma27.factorize(B[row - 1, column - 1]) == (0, 2)
        x = ma27.solve(unit * A.sum(axis=1))  # which are 1 / unit
        np.testing.assert_allclose(x * unit, 1.0, atol=1e-13)


@needs_compiler
@needs_kernels
def test_an_infinite_pivot_is_no_pivot(store):
    # 1 / inf = 0: nothing else becomes infinite
    three = MA27(3, [1, 2, 3], [1, 2, 3])
    for _ in range(2):
        assert three.factorize([1.0, -2.0, 4.0]) == (0, 1)
        for k in range(3):
            for bad in (np.inf, -np.inf, np.nan):
                a = [1.0, -2.0, 4.0]
                a[k] = bad
                assert three.factorize(a)[0] == SINGULAR


@needs_compiler
@needs_kernels
def test_equilibrated_matrices_of_one_and_two_rows_and_singular_ones(store):
    one = MA27(1, [1], [1])
    for value, found in ((1.0, (0, 0)), (-1e300, (0, 1)), (0.0, (SINGULAR, 0)), (2.0, (0, 0))):
        assert one.factorize([value]) == found
    assert one.solve([1.0]).tolist() == [0.5]
    two = MA27(2, [1, 2, 2], [1, 1, 2])
    two.factorize([1.0, 0.0, 1.0])
    assert two.factorize([1.0, 1e9, 1.0]) == (0, 1)
    np.testing.assert_allclose(two.solve([1e9 + 1.0, 1e9 + 1.0]), 1.0, rtol=1e-15)
    for a in ([0.0, 0.0, 1.0], [np.inf, 1.0, 1.0], [np.nan, 1.0, 1.0], [0.0, 0.0, 0.0]):
        assert two.factorize(a)[0] == SINGULAR
    assert two.factorize([1.0, 0.0, -1.0]) == (0, 1)


def test_too_many_delayed_pivots_end_an_attempt():
    # a star: the hub's front gets the row of each leaf, whose pivot is weak by 1e-5, but not that
    # of the last one, which shares the hub's supernode
    n = 40
    A = np.zeros((n + 1, n + 1))
    A[0, 0] = 1.0
    A[range(1, n + 1), range(1, n + 1)] = 1.0
    A[0, 1:] = A[1:, 0] = 1e-3
    row, column, a = triplets(A)
    instance = ipopt.Instance(ipopt.Pattern(n + 1, row - 1, column - 1))
    assert instance.factorize(a) == 0
    instance.fast.bounds[ipopt.framed.DELAYS] = n - 2
    a[(row == column) & (row > 1)] = 1e-9
    assert instance.fast.factorize(a) is None
    instance.fast.bounds[ipopt.framed.DELAYS] = n - 1
    A[range(1, n + 1), range(1, n + 1)] = 1e-9
    assert instance.fast.factorize(a) == (np.linalg.eigvalsh(A) < 0).sum()


def linear_control(seed, states=3, stages=15):
    """KKT matrix of stages x' = F x with small weights; triplets and the number of rows."""
    rng = np.random.default_rng(seed)
    n, m = states * stages, states * (stages - 1)
    A = np.zeros((n + m, n + m))
    A[range(n), range(n)] = rng.choice([1e-3, 1e-1], n)
    for at in range(0, m, states):
        rows = slice(n + at, n + at + states)
        A[rows, at : at + states] = rng.normal(size=(states, states)) + np.eye(states)
        A[rows, at + states : at + 2 * states] = -np.eye(states)
    return *triplets(A + np.tril(A, -1).T), n + m


def test_rows_are_ordered_where_the_first_matrix_had_their_pivots(monkeypatch):
    monkeypatch.setattr(ipopt, "MANY_DELAYED", 0.0)
    delayed = np.zeros(2)
    for seed in range(10):
        row, column, a, n = linear_control(seed)
        pattern = ipopt.Pattern(n, row - 1, column - 1)
        first = ipopt.Factors(pattern, a, True)
        found = first.factorize(a)
        instance = ipopt.Instance(ipopt.Pattern(n, row - 1, column - 1))
        assert found == instance.factorize(a) == 3 * 14
        assert sorted(first.order()) == sorted(pattern.system.graph.labels)
        delayed += first.delayed, instance.fast.delayed
        b = np.arange(float(n))
        x = [one.solve(b) for one in (first, instance)]
        np.testing.assert_allclose(x[1], x[0], atol=1e-8 * abs(x[0]).max())
    assert delayed[1] < 0.5 * delayed[0]


def test_arrays_that_were_too_short_go_on_and_are_long_enough_the_next_time():
    # no node of the chain has a pivot of its own, in pairs all have: pivots are delayed
    n = 60
    A = np.diag(np.ones(n - 1), 1)
    A += A.T
    row, column, a = triplets(np.where(A == 0.0, np.eye(n), A))
    a[row == column] = 1.0
    pattern = ipopt.Pattern(n, row - 1, column - 1)
    first = ipopt.Instance(pattern)
    first.factorize(a)  # the analysis sees a good diagonal
    a[row == column] = 0.0
    assert first.factorize(a) == n // 2
    np.testing.assert_allclose(first.solve(A @ np.arange(n)), np.arange(n), atol=1e-11)
    lengths = {name: x.size for name, x in first.fast._fronts.arrays.items()}
    second = ipopt.Instance(pattern)
    assert second.factorize(a) == n // 2
    assert lengths == {name: x.size for name, x in second.fast._fronts.arrays.items()}
    assert all(x is not first.fast._fronts.arrays[name]
               for name, x in second.fast._fronts.arrays.items())  # fmt: skip


def test_pivots_of_a_zero_hessian_are_delayed_and_their_inertia_is_exact():
    # as before Ipopt adds to it: no row of the first 8 has a pivot of its own
    A = saddle(8, 8)
    A[:8, :8] = 0.0
    row, column, a = triplets(np.where(A == 0.0, 1e-30 * np.eye(16), A))
    instance = ipopt.Instance(ipopt.Pattern(16, row - 1, column - 1))

    assert instance.factorize(a) == 8
    x = instance.solve(A @ np.ones(16))
    np.testing.assert_allclose(x, 1.0, atol=16 * np.linalg.cond(A) * np.finfo(float).eps / 0.1)


def test_rows_that_depend_on_others_are_singular_with_delayed_pivots():
    A = saddle(6, 3)
    A[8], A[:, 8] = A[7], A[:, 7]  # the last two constraints are the same
    row, column, a = triplets(A)
    instance = ipopt.Instance(ipopt.Pattern(9, row - 1, column - 1))
    assert instance.factorize(a) is None
    with pytest.raises(ValueError, match="without a factorization"):
        instance.solve(np.ones(9))


def test_without_a_compiler_the_error_names_one(monkeypatch):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with pytest.raises(RuntimeError, match=r"needs a C compiler once.*graphsys\[ipopt\]"):
        build.compiler("graphsys.ipopt.library()")


def test_a_compiler_is_the_one_named_or_one_that_is_there_or_ziglang(monkeypatch):
    monkeypatch.setenv("CC", "ccache gcc")
    assert build.compiler("this") == ["ccache", "gcc"]
    monkeypatch.delenv("CC")
    monkeypatch.setattr(shutil, "which", {"clang": "/bin/clang"}.get)
    assert build.compiler("this") == ["/bin/clang"]
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    assert build.compiler("this") == [sys.executable, "-m", "ziglang", "cc"]


@needs_compiler
def test_the_library_is_compiled_once_and_nothing_is_left_of_a_failure(monkeypatch, tmp_path):
    monkeypatch.setattr(build, "cache_folder", lambda: tmp_path / "new")
    with monkeypatch.context() as broken:
        broken.setattr(build, "compiler", lambda _: [sys.executable, "no such compiler"])
        with pytest.raises(RuntimeError, match="the C compiler failed"):
            ipopt._compiled()
    assert not list((tmp_path / "new").iterdir())

    path = ipopt._compiled()
    assert list((tmp_path / "new").iterdir()) == [path]
    assert all(hasattr(ctypes.CDLL(str(path)), f"ma27{name}d_") for name in "iabc")
    monkeypatch.setattr(build, "compiler", lambda _: pytest.fail("it is there"))
    assert ipopt._compiled() == path


@needs_compiler
def test_an_error_is_printed_and_a_status_and_never_passes_through_c(monkeypatch, capfd):
    def fail(*arguments):
        raise MemoryError

    ma27 = MA27(2, [2, 1], [2, 1])  # no other test has this pattern
    with monkeypatch.context() as broken:
        broken.setattr(ipopt.STORE, "open", fail)
        assert MA27(2, [2, 1, 1], [2, 1, 1]).info[0] == ipopt.FAILED
    with monkeypatch.context() as broken:
        broken.setattr(ipopt.STORE, "instance", fail)
        broken.setattr(ipopt.STORE, "get", fail)
        assert ma27.factorize([1.0, 1.0])[0] == ipopt.FAILED
        assert np.isnan(ma27.solve([1.0, 1.0])).all()
    assert capfd.readouterr().err.count("\nMemoryError\n") == 3
    ma27.info[0] = 0
    assert ma27.factorize([1.0, 1.0]) == (0, 0)


def once_interrupted(function, times=1):
    """The function, after as many signals of Ctrl-C as calls that fail."""
    left = [times]

    def call(*arguments):
        if left[0]:
            left[0] -= 1
            signal.raise_signal(signal.SIGINT)
        return function(*arguments)

    return call


@needs_compiler
@pytest.mark.parametrize("method", ["open", "instance"])
def test_an_interrupted_call_is_made_again_and_the_signal_comes_after_the_solution(
    monkeypatch, store, method, capfd
):
    monkeypatch.setattr(store, method, once_interrupted(getattr(store, method)))
    A = saddle(12, 5)
    row, column, a = triplets(A)
    ma27 = MA27(17, row, column)
    assert ma27.factorize(a) == (0, 5)
    x = A @ np.arange(17.0)
    with pytest.raises(KeyboardInterrupt):
        ma27.solve_in_place(x)
    np.testing.assert_allclose(x, np.arange(17.0), atol=1e-11)
    assert ma27.factorize(a) == (0, 5)
    np.testing.assert_allclose(ma27.solve(A @ np.ones(17)), 1.0, atol=1e-11)
    assert "Traceback" not in capfd.readouterr().err


@needs_compiler
def test_a_call_that_is_interrupted_twice_fails(monkeypatch, store):
    ma27 = MA27(2, [1, 2], [1, 2])
    with monkeypatch.context() as keys:
        method = once_interrupted(ipopt.STORE.instance, times=2)
        keys.setattr(ipopt.STORE, "instance", method)
        with pytest.raises(KeyboardInterrupt):
            ma27.factorize([1.0, -1.0])
    assert ma27.info[0] == ipopt.FAILED
    assert ma27.factorize([1.0, -1.0]) == (0, 1)


@needs_compiler
@pytest.mark.parametrize("when", ["analysis", "factorization", "lending"])
def test_ctrl_c_ends_a_run_of_casadi_as_with_mumps(when):
    pytest.importorskip("casadi", reason="CasADi, which brings Ipopt, is not installed")
    code = f"""
import signal, threading
from graphsys.interop import ipopt
from tests.graphsys.ipopt_problems import solver_of
from tests.graphsys.test_ipopt import once_interrupted

solver, start = solver_of("van der Pol 100", "ma27")
method = {{"analysis": "open", "factorization": "instance"}}.get({when!r}, "")
if method:
    setattr(ipopt.STORE, method, once_interrupted(getattr(ipopt.STORE, method)))
else:
    ipopt.Store.lend = once_interrupted(ipopt.Store.lend)
solver(**start)
assert solver.stats()["return_status"] == "NonIpopt_Exception_Thrown", solver.stats()
assert solver.stats()["iter_count"] == 0
solver(**start)  # as if nothing had been
assert solver.stats()["return_status"] == "Solve_Succeeded"
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode()


#: A program that solves [[3, 1], [1, -2]] x = [4, -1], and prints the status, the number of
#: negative eigenvalues and x.
PROGRAM = r"""
#include <dlfcn.h>
#include <stdio.h>
#define CALL(name, ...) ((void (*)())dlsym(library, name))(__VA_ARGS__)

int main(int count, char **words)
{
    void *library = dlopen(words[1], RTLD_NOW);
    int n = 2, nz = 3, irn[] = {1, 2, 2}, icn[] = {1, 1, 2}, ikeep[6], iw1[4];
    int steps, zero = 0, icntl[30], info[20], many = 1000;
    static int iw[1000];
    static double a[1000] = {3, 1, -2};
    double cntl[5], ops, x[] = {4, -1};
    CALL("ma27id_", icntl, cntl);
    CALL("ma27ad_", &n, &nz, irn, icn, iw, &many, ikeep, iw1, &steps, &zero, icntl, cntl, info,
         &ops);
    int analyzed = info[0];
    CALL("ma27bd_", &n, &nz, irn, icn, a, &many, iw, &many, ikeep, &steps, &zero, iw1, icntl, cntl,
         info);
    CALL("ma27cd_", &n, a, &many, iw, &many, &ops, &zero, x, iw1, &steps, icntl, cntl);
    printf("%d %d %d %.12g %.12g", analyzed, info[0], info[14], x[0], x[1]);
    return 0;
}
"""


def run_program(folder):
    """Words that the program prints, and what it writes to stderr."""
    (folder / "program.c").write_text(PROGRAM)
    command = [*build.compiler("this test"), "-w", "program.c", "-o", "program", "-ldl"]
    subprocess.run(command, cwd=folder, check=True, timeout=120)
    done = subprocess.run(
        [folder / "program", ipopt._compiled()], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), done.stderr


@needs_compiler
@pytest.mark.skipif(sys.platform != "linux", reason="the program is written for Linux")
def test_a_program_without_python_gets_one_if_there_is_a_shared_library(tmp_path, monkeypatch):
    if '#define PYTHON_LIBRARY ""' not in ipopt._definitions():
        words, printed = run_program(tmp_path)
        assert words == ["0", "0", "1", "1", "1"], printed
    monkeypatch.setattr(build, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(ipopt.sysconfig, "get_config_vars", lambda *names: [None] * len(names))
    words, printed = run_program(tmp_path)
    assert words[:2] == ["-100", "-100"]
    assert "as Python has no shared library" in printed


def test_literals_of_c_are_plain_ascii():
    assert ipopt._c_string('a "b"\\é%s\n') == r'"a \042b\042\134\303\251%s\012"'


@needs_compiler
def test_cyipopt_takes_the_steps_it_takes_with_mumps():
    cyipopt = pytest.importorskip("cyipopt", reason="cyipopt is not installed")

    class Rosenbrock:
        def objective(self, x):
            return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2

        def gradient(self, x):
            r = x[1] - x[0] ** 2
            return np.array([-2 * (1 - x[0]) - 400 * r * x[0], 200 * r])

        def hessianstructure(self):
            return np.array([0, 1, 1]), np.array([0, 0, 1])

        def hessian(self, x, lagrange, factor):
            return factor * np.array([2 - 400 * x[1] + 1200 * x[0] ** 2, -400 * x[0], 200.0])

        def intermediate(self, mode, iteration, *numbers):
            self.iterations = iteration

    iterations = []
    for solver in ("mumps", "ma27"):
        of = Rosenbrock()
        problem = cyipopt.Problem(n=2, m=0, problem_obj=of, lb=[-5.0] * 2, ub=[5.0] * 2)
        problem.add_option("print_level", 0)
        problem.add_option("linear_solver", solver)
        if solver == "ma27":
            problem.add_option("hsllib", gs.ipopt.library())
        x, info = problem.solve(np.array([-1.2, 1.0]))
        assert info["status"] == 0
        np.testing.assert_allclose(x, 1.0, atol=1e-6)
        iterations.append(of.iterations)
    assert abs(iterations[0] - iterations[1]) <= 1


@needs_compiler
@pytest.mark.parametrize("name", ["ipopt", "cyipopt"])
def test_pyomo_runs_ipopt_with_graphsys_as_a_program_and_in_this_process(name):
    pyo = pytest.importorskip("pyomo.environ", reason="Pyomo is not installed")
    solver = pyo.SolverFactory(name)
    if not solver.available(exception_flag=False):
        pytest.skip(f"Pyomo finds no {name}")  # a program; cyipopt and Pyomo's pynumero_ASL
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(initialize=-1.2), pyo.Var(initialize=1.0)
    model.f = pyo.Objective(expr=(1 - model.x) ** 2 + 100 * (model.y - model.x**2) ** 2)
    options = solver.options if name == "ipopt" else solver.config.options
    options["linear_solver"] = "ma27"
    options["hsllib"] = gs.ipopt.library()
    found = solver.solve(model, tee=True)
    assert found.solver.termination_condition == "optimal"
    assert pyo.value(model.x) == pytest.approx(1.0, abs=1e-6)


@needs_compiler
def test_a_solution_whose_factors_others_displaced_is_not_a_number(monkeypatch, store, capfd):
    monkeypatch.setattr(ipopt, "KEPT", 1)
    first, second = MA27(2, [1, 2], [1, 2]), MA27(2, [2, 1], [2, 1])
    for ma27 in (first, second, first, second):  # the first matrix by Python, the others by C
        assert ma27.factorize([1.0, 1.0]) == (0, 0)
    assert np.isnan(first.solve([1.0, 1.0])).all()
    assert "more than 1 factorizations or patterns were in use" in capfd.readouterr().err
    assert second.solve([1.0, 2.0]).tolist() == [1.0, 2.0]


@needs_compiler
@needs_kernels
def test_patterns_that_c_used_last_are_not_displaced_first(monkeypatch, store, capfd):
    monkeypatch.setattr(ipopt, "KEPT", 2)
    first, second = MA27(2, [1, 2], [1, 2]), MA27(2, [2, 1], [2, 1])
    for ma27 in (first, second, first, second):
        ma27.factorize([1.0, 1.0])
    MA27(2, [1, 2, 1], [1, 2, 1])  # displaces one, as both have been used
    used, other = (first, second) if np.isnan(second.solve([1.0, 2.0])).all() else (second, first)
    assert used.solve([1.0, 2.0]).tolist() == [1.0, 2.0]
    assert other.factorize([1.0, 1.0]) == (0, 0)


@needs_compiler
@needs_kernels
def test_as_many_runs_of_one_pattern_as_there_are_have_their_own_factors(monkeypatch, store):
    monkeypatch.setattr(ipopt, "KEPT", 2)
    MA27(2, [1, 2], [1, 2]).factorize([1.0, 1.0])
    runs = [MA27(2, [1, 2], [1, 2]) for _ in range(10)]
    for k, ma27 in enumerate(runs):
        assert ma27.factorize([1.0 + k, -1.0]) == (0, 1)
    for k, ma27 in enumerate(runs):
        assert ma27.solve([1.0 + k, 2.0]).tolist() == [1.0, -2.0]


@needs_compiler
@needs_kernels
def test_arrays_that_are_too_short_are_asked_for_and_known_the_next_time(store):
    # no node of the chain has a pivot of its own, in pairs all have: pivots are delayed
    n = 60
    A = np.diag(np.ones(n - 1), 1)
    A += A.T
    row, column, a = triplets(np.where(A == 0.0, np.eye(n), A))
    a[row == column] = 1.0
    first = MA27(n, row, column)
    first.factorize(a)  # the analysis sees a good diagonal
    a[row == column] = 0.0
    assert first.factorize(a) == (0, n // 2)
    np.testing.assert_allclose(first.solve(A @ np.arange(n)), np.arange(n), atol=1e-11)
    second = MA27(n, row, column)
    given = second.a, second.iw
    assert second.factorize(a) == (0, n // 2)
    assert second.a is given[0] and second.iw is given[1]


@needs_compiler
@needs_kernels
def test_factors_of_c_are_not_mixed_up_with_older_ones_of_python(monkeypatch, store):
    # first a matrix that Python equilibrates, then one that C factorizes, then other patterns come
    monkeypatch.setattr(ipopt, "KEPT", 2)
    A = saddle(10, 4)
    unit = 10.0 ** np.linspace(-12, 12, 14)
    row, column, a = triplets(A)
    ma27 = MA27(14, row, column)
    assert ma27.factorize(a * unit[row - 1] * unit[column - 1]) == (0, 4)
    assert ma27.factorize(a) == (0, 4)  # by Python still
    assert ma27.factorize(a) == (0, 4)
    x = np.arange(14.0)
    np.testing.assert_allclose(ma27.solve(A @ x), x, atol=1e-11)
    MA27(2, [1, 2], [1, 2]), MA27(2, [2, 1], [2, 1]), MA27(2, [1, 2, 1], [1, 2, 1])
    assert np.isnan(ma27.solve(A @ x)).all()
    assert ma27.factorize(a * unit[row - 1] * unit[column - 1]) == (0, 4)
    np.testing.assert_allclose(unit * ma27.solve(unit * (A @ x)), x, atol=1e-9)


@needs_compiler
def test_a_process_ends_while_a_thread_factorizes():
    code = """
import threading, time
import numpy as np
from tests.graphsys.test_ipopt import MA27, saddle, triplets

row, column, a = triplets(saddle(60, 20))
ma27 = MA27(80, row, column)
ma27.factorize(a)

def work():
    while True:
        ma27.factorize(a)
        ma27.solve(np.ones(80))

threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode()


@needs_compiler
def test_threads_that_displace_each_other_get_solutions_or_none(monkeypatch, store, capfd):
    monkeypatch.setattr(ipopt, "KEPT", 2)
    wrong = []

    def work(seed):
        A = saddle(10, 4, seed)
        row, column, a = triplets(A)
        for k in range(1, 20):
            ma27 = MA27(14, row, column)
            for _ in range(3):
                status = ma27.factorize(k * a)
                x = ma27.solve(k * A @ np.ones(14))
                if status[0] == ipopt.FAILED:  # displaced twice before it was factorized
                    continue
                if status != (0, 4) or not (np.isnan(x).all() or abs(x - 1.0).max() < 1e-9):
                    wrong.append((seed, k, status, x))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


#: Problems that take milliseconds; `python -m tests.graphsys.ipopt_problems` solves all.
QUICK = ("rosenbrock 10", "van der Pol 20", "hanging chain 200", "HS 7", "HS 71", "redundant rows")


@needs_compiler
@pytest.mark.parametrize("name", QUICK)
def test_ipopt_takes_the_steps_it_takes_with_mumps(name):
    pytest.importorskip("casadi", reason="CasADi, which brings Ipopt, is not installed")
    from .ipopt_problems import solve

    iterations, status, objective, _ = solve(name, "mumps")
    found = solve(name, "ma27")
    assert abs(found[0] - iterations) <= 1
    assert found[1] == status
    assert found[2] == pytest.approx(objective, rel=1e-8, abs=1e-8)
