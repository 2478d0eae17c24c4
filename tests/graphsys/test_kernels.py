"""Every compiled block kernel against its NumPy twin, for all sizes and types."""

import numpy as np
import pytest
from numba import njit

import graphsys as gs
from graphsys import kernels
from graphsys.families import random_system
from graphsys.kernels.base.layout import NODAL_AT
from graphsys.kernels.blocks import blocks, reference
from graphsys.kernels.blocks.large import invert_large
from graphsys.kernels.blocks.medium import MEDIUM_WORK, invert_medium
from graphsys.kernels.blocks.wide import PANEL, invert_wide

TYPES = [
    np.float64, np.float32, np.complex128, pytest.param(np.complex64, marks=pytest.mark.slow),
]  # fmt: skip
SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 14, 16, 17, 31, 32, 33, 40, 41]


def numbers(rng, count, dtype):
    x = rng.normal(size=count)
    return (
        x + 1j * rng.normal(size=count) if dtype in (np.complex64, np.complex128) else x
    ).astype(dtype)


def tolerance(dtype, terms):
    # |computed - exact| <= terms * eps * sum |a b|, entries of size 1, a few standard deviations
    return 16 * terms * float(np.finfo(dtype).eps)


@njit
def compiled_subtract(c, ldc, a, lda, b, row_step, column_step, m, n, k):
    blocks.subtract_product(c, 3, ldc, a, 2, lda, b, 1, row_step, column_step, m, n, k)


@njit
def compiled_add(c, ldc, a, lda, b, row_step, column_step, m, n, k):
    blocks.add_product(c, 3, ldc, a, 2, lda, b, 1, row_step, column_step, m, n, k)


@njit
def compiled_assign(c, ldc, a, lda, b, row_step, column_step, m, n, k):
    blocks.assign_product(c, 3, ldc, a, 2, lda, b, 1, row_step, column_step, m, n, k)


@njit
def compiled_conjugate(c, ldc, a, lda, b, row_step, column_step, m, n, k):
    blocks.assign_product_of(c, 3, ldc, a, 2, lda, b, 1, row_step, column_step, m, n, k, True)


@njit
def compiled_in_place(c, ldc, a, m, n):
    blocks.assign_product(c, 3, ldc, a, 0, m, c, 3, 1, ldc, m, n, m)


@njit
def compiled_transposed(c, ldc, a, lda, b, ldb, m, n, k):
    blocks.subtract_transposed(c, 1, ldc, a, 2, lda, b, 3, ldb, m, n, k)


@njit
def compiled_magnitude(s, a, lda, m, n):
    blocks.raise_magnitude(s, 1, a, 2, lda, m, n)


@njit
def compiled_sum(s, a, lda, m, n):
    blocks.add_magnitude(s, 1, a, 2, lda, m, n)


@njit
def compiled_largest(a, lda, m, n):
    return blocks.largest_of(a, 2, lda, m, n)


@njit
def compiled_beyond(s, t, limit, n):
    return blocks.any_beyond(s, 1, t, 2, limit, n)


@njit
def compiled_copy(b, ldb, a, lda, m, n):
    blocks.copy_block(b, 1, ldb, a, 2, lda, m, n)


@njit
def compiled_block_sum(b, ldb, a, lda, m, n):
    blocks.add_block(b, 1, ldb, a, 2, lda, m, n)


@njit
def compiled_invert(d, ldd, s, n):
    return blocks.invert_small(d, 5, ldd, d, 5, ldd, np.empty(n * n, d.dtype), 0, s, 2, n)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    ("compiled", "twin"),
    [
        (compiled_subtract, reference.subtract_product),
        (compiled_add, reference.add_product),
        (compiled_assign, reference.assign_product),
        (compiled_conjugate, lambda *given: reference.assign_product_of(*given, True)),
    ],
)
def test_products_of_all_sizes_equal_numpy_and_touch_nothing_else(dtype, compiled, twin):
    rng = np.random.default_rng(0)
    for m in SIZES:
        for n in [0, 1, 2, 5, 6, 7, 8, 9, 13, 14]:
            for k in [1, 2, 3, 4, 5, 6, 7, 8, 13, 48]:
                ldc, lda = m + 2, m + 1
                a = numbers(rng, lda * k + 4, dtype)
                b = numbers(rng, (k + 1) * (n + 1) + 4, dtype)
                c = numbers(rng, ldc * n + 9, dtype)
                for steps in [(1, k + 1), (n + 1, 1)]:
                    expected, result = c.copy(), c.copy()
                    twin(expected, 3, ldc, a, 2, lda, b, 1, *steps, m, n, k)
                    compiled(result, ldc, a, lda, b, *steps, m, n, k)
                    inside = np.zeros(c.size, bool)
                    for j in range(n):
                        inside[3 + j * ldc : 3 + j * ldc + m] = True
                    assert np.array_equal(result[~inside], c[~inside])
                    assert np.allclose(result, expected, rtol=0, atol=tolerance(dtype, k + 1))


@pytest.mark.parametrize("dtype", TYPES)
def test_a_product_of_up_to_eight_rows_may_overwrite_its_right_factor(dtype):
    rng = np.random.default_rng(1)
    for m in range(1, 9):
        for n in [1, 3, 6, 8, 9, 20]:
            a, c = numbers(rng, m * m, dtype), numbers(rng, (m + 2) * n + 8, dtype)
            expected = c.copy()
            reference.assign_product(expected, 3, m + 2, a, 0, m, c, 3, 1, m + 2, m, n, m)
            compiled_in_place(c, m + 2, a, m, n)
            assert np.allclose(c, expected, rtol=0, atol=tolerance(dtype, m + 1))


@pytest.mark.parametrize("dtype", TYPES)
def test_transposed_products_magnitudes_and_copies_equal_numpy(dtype):
    rng = np.random.default_rng(2)
    for m in [0, *SIZES]:
        for n in [0, 1, 2, 5, 8, 13]:
            a = numbers(rng, (m + 1) * n + 3, dtype)
            for columns in (0, 1, 3):
                b = numbers(rng, (m + 2) * columns + 3, dtype)
                c = numbers(rng, (n + 3) * columns + 2, dtype)
                sizes, before, expected = (n, columns, m), c.copy(), c.copy()
                reference.subtract_transposed(expected, 1, n + 3, a, 2, m + 1, b, 3, m + 2, *sizes)
                compiled_transposed(c, n + 3, a, m + 1, b, m + 2, *sizes)
                assert np.allclose(c, expected, rtol=0, atol=tolerance(dtype, m + 1))
                assert np.array_equal(c[expected == before], before[expected == before])

            s = np.abs(numbers(rng, m + 2, dtype)).astype(np.zeros(0, dtype).real.dtype)
            expected = s.copy()
            reference.raise_magnitude(expected, 1, a, 2, m + 1, m, n)
            compiled_magnitude(s, a, m + 1, m, n)
            assert np.allclose(s, expected, rtol=4 * np.finfo(dtype).eps)
            reference.add_magnitude(expected, 1, a, 2, m + 1, m, n)
            compiled_sum(s, a, m + 1, m, n)
            assert np.allclose(s, expected, rtol=(n + 5) * np.finfo(dtype).eps)

            close = {"rtol": 8 * np.finfo(dtype).eps}
            found = compiled_largest(a, m + 1, m, n)
            assert np.isclose(found, reference.largest_of(a, 2, m + 1, m, n), **close)

            target = numbers(rng, (m + 3) * n + 2, dtype)
            expected = target.copy()
            reference.copy_block(expected, 1, m + 3, a, 2, m + 1, m, n)
            compiled_copy(target, m + 3, a, m + 1, m, n)
            assert np.array_equal(target, expected)
            target = expected.copy()
            reference.add_block(expected, 1, m + 3, a, 2, m + 1, m, n)
            compiled_block_sum(target, m + 3, a, m + 1, m, n)
            assert np.array_equal(target, expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_one_number_beyond_its_limit_is_found_wherever_it_is(dtype):
    for n in (0, 1, 7, 8, 9, 20):
        s, t = np.full(n + 3, 6.0, dtype), np.full(n + 4, 2.0, dtype)
        for found in (compiled_beyond, lambda s, t, x, n: reference.any_beyond(s, 1, t, 2, x, n)):
            assert not found(s, t, dtype(3.0), n) and bool(found(s, t, dtype(2.5), n)) == (n > 0)
            for k in range(n):
                s[1 + k] = 6.5
                assert found(s, t, dtype(3.0), n)
                s[1 + k] = 6.0
            t[2:] = np.inf
            assert not found(s, t, dtype(1.0), n)
            t[2:] = 2.0


@pytest.mark.parametrize("dtype", TYPES)
def test_the_largest_of_a_block_with_a_nan_is_a_nan(dtype):
    for place in (0, 5, 11):
        a = np.ones(14, dtype)
        a[2 + place] = np.nan
        assert np.isnan(compiled_largest(a, 3, 3, 4))
        assert np.isnan(reference.largest_of(a, 2, 3, 3, 4))


def inverse_cases(rng, n, dtype):
    """Blocks that need no exchange of rows, every one, and one that is a permutation."""
    yield numbers(rng, (n, n), dtype) + 3 * n * np.eye(n, dtype=dtype)
    for _ in range(10):
        yield numbers(rng, (n, n), dtype)
    yield np.eye(n, dtype=dtype)[rng.permutation(n)]
    yield np.eye(n, dtype=dtype)[::-1] * dtype(-0.5)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", range(1, 9))
def test_small_inverse_pivots_like_the_plain_loops(dtype, n):
    rng = np.random.default_rng(n)
    for block in inverse_cases(rng, n, dtype):
        ldd = n + 2
        d = numbers(rng, 5 + ldd * n, dtype)
        view = reference._matrix(d, 5, ldd, n, n)
        view[...] = block
        outside = d.copy()
        s = np.ones(n + 2, np.zeros(0, dtype).real.dtype)
        s[2:] = np.abs(block).max(axis=1)
        plain, plain_s = d.copy(), s.copy()

        ratio = compiled_invert(d, ldd, s, n)
        plain_ratio = invert_large(plain, 5, ldd, plain, 5, ldd, plain_s, 2, n)

        bound = 64 * n * np.finfo(dtype).eps * np.linalg.cond(block)
        assert np.abs(view @ block - np.eye(n)).max() < bound
        assert np.abs(reference._matrix(plain, 5, ldd, n, n) @ block - np.eye(n)).max() < bound
        # the diagonal is kept while no multiplier exceeds 10: pivots may be 10 times smaller a step
        assert plain_ratio * 10.0**-n < ratio <= 1
        if np.count_nonzero(block) == n:  # one entry a row: there is no choice
            assert ratio == s.dtype.type(plain_ratio)
        mask = np.ones(d.size, bool)
        for j in range(n):
            mask[5 + j * ldd : 5 + j * ldd + n] = False
        assert np.array_equal(d[mask], outside[mask])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", range(9, 17))
def test_medium_inverse_is_the_inverse_in_place_or_not(dtype, n):
    rng = np.random.default_rng(n)
    for block in inverse_cases(rng, n, dtype):
        s = np.zeros(n + 3, np.zeros(0, dtype).real.dtype)
        work = numbers(rng, MEDIUM_WORK + 16, dtype)
        a, d = numbers(rng, (n + 1) * n + 20, dtype), numbers(rng, (n + 2) * n + 20, dtype)
        reference._matrix(a, 4, n + 1, n, n)[...] = block
        kept, around = a.copy(), d.copy()
        ratio = invert_medium(d, 5, n + 2, a, 4, n + 1, s, 3, n, work, 7)
        bound = 64 * n * np.finfo(dtype).eps * np.linalg.cond(block)
        inverse = reference._matrix(d, 5, n + 2, n, n)
        assert np.abs(inverse @ block - np.eye(n)).max() < bound
        assert 0 < ratio <= 1
        assert np.array_equal(a, kept)
        reference._matrix(around, 5, n + 2, n, n)[...] = inverse
        assert np.array_equal(d, around)  # nothing else was touched
        s[:] = 0
        assert invert_medium(a, 4, n + 1, a, 4, n + 1, s, 3, n, work, 7) == ratio
        assert np.array_equal(reference._matrix(a, 4, n + 1, n, n), inverse)


def test_a_medium_block_with_a_singular_corner_is_inverted_whole():
    n, corner = 12, np.zeros((6, 6))
    block = np.block([[corner, np.eye(6)], [2 * np.eye(6), corner]])
    d, s, work = block.ravel(order="F").copy(), np.zeros(n), np.zeros(MEDIUM_WORK + 8)
    assert invert_medium(d, 0, n, d, 0, n, s, 0, n, work, 0) == 1.0
    assert np.array_equal(d.reshape(n, n, order="F") @ block, np.eye(n))
    d[:] = 0.0
    assert not invert_medium(d, 0, n, d, 0, n, np.zeros(n), 0, n, work, 0) > 0


@pytest.mark.parametrize("n", [9, 12, 20, 50])
def test_large_inverse_is_the_inverse(n):
    rng = np.random.default_rng(n)
    for block in inverse_cases(rng, n, np.float64):
        d, s = block.ravel(order="F").copy(), np.abs(block).max(axis=1)
        assert invert_large(d, 0, n, d, 0, n, s, 0, n) > 0
        error = np.abs(d.reshape(n, n, order="F") @ block - np.eye(n)).max()
        assert error < 64 * n * np.finfo(float).eps * np.linalg.cond(block)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [9, 16, 17, 24, 31, 50])
def test_wide_inverse_is_the_inverse_in_place(dtype, n):
    rng = np.random.default_rng(n)
    for block in inverse_cases(rng, n, dtype):
        s = np.abs(np.pad(block, (2, 0))).max(axis=1)
        work, d = numbers(rng, PANEL * n + 7, dtype), numbers(rng, (n + 2) * n + 20, dtype)
        view = reference._matrix(d, 5, n + 2, n, n)
        view[...] = block
        plain, plain_s, outside = d.copy(), s.copy(), d.copy()
        ratio = invert_wide(d, 5, n + 2, s, 2, n, work, 7)
        plain_ratio = invert_large(plain, 5, n + 2, plain, 5, n + 2, plain_s, 2, n)

        bound = 64 * n * np.finfo(dtype).eps * np.linalg.cond(block)
        assert np.abs(view @ block - np.eye(n)).max() < bound
        assert 0 < ratio <= 1  # rounding may choose other pivots than the plain loops do
        if np.count_nonzero(block) == n:  # one entry a row: there is no choice
            assert ratio == plain_ratio
        reference._matrix(outside, 5, n + 2, n, n)[...] = view
        assert np.array_equal(d, outside)  # nothing else was touched


def test_wide_blocks_that_have_no_inverse():
    n, last = 20, np.eye(20)
    last[17] = last[18]
    overflows = np.diag(np.full(n, 1e-310))
    for block in (np.zeros((n, n)), np.ones((n, n)), last, np.full((n, n), np.nan), overflows):
        d, s, work = block.ravel(order="F").copy(), np.ones(n), np.zeros(PANEL * n)
        with np.errstate(all="ignore"):
            assert not invert_wide(d, 0, n, s, 0, n, work, 0) > 1e-14


@pytest.mark.parametrize("n", range(1, 9))
def test_singular_and_nan_blocks_are_told_by_the_ratio(n):
    singular = np.ones((n, n)) if n > 1 else np.zeros((1, 1))
    for block in [np.zeros((n, n)), singular, np.full((n, n), np.nan)]:
        for invert in [compiled_invert, None]:
            d, s = np.zeros(n * n + 16), np.ones(n + 2)
            d[5 : 5 + n * n] = block.ravel()
            if invert:
                ratio = invert(d, n, s, n)
            else:
                ratio = invert_large(d, 5, n, d, 5, n, s, 2, n)
            assert not ratio > 1e-14


def test_a_pivot_is_compared_with_what_its_own_row_held():
    # Rows in different units lose nothing; a row that held 1 and is left with 1e-12 lost 12 digits.
    for invert in [compiled_invert, lambda d, n, s, m: invert_large(d, 5, n, d, 5, n, s, 2, m)]:
        d = np.zeros(5 + 4)
        d[5:9] = [1e6, 0.0, 0.0, 1e-6]
        assert invert(d, 2, np.array([1, 1, 1e6, 1e-6]), 2) == pytest.approx(1.0)
        d[5:9] = [1.0, 0.0, 0.0, 1e-12]
        assert invert(d, 2, np.ones(4), 2) == pytest.approx(1e-12)


@pytest.mark.parametrize("size", [2, 20])
def test_kernels_for_users_solve_systems_of_small_and_of_large_nodes(size):
    system = random_system(gs.chain(30), size)
    program = system.analyze().program
    assert (program[NODAL_AT] != 0) == (size == 2)  # its own loops for small nodes
    n = system.shape[0]
    arena_size, magnitudes, solve_size = kernels.work_sizes(program, 1)
    arena, magnitude, info = np.empty(arena_size), np.empty(magnitudes), np.zeros(3)
    b, work, x = np.arange(1.0, n + 1.0), np.empty(solve_size), np.empty(n)
    matrix = system.to_dense()
    room = 16 * n * np.finfo(float).eps * np.linalg.cond(matrix) * np.abs(b).max()

    assert kernels.factorize(program, system.values, 1e-14, magnitude, arena, info) == 0
    assert kernels.solve(program, arena, b, 1, work, x) == 0
    assert np.abs(matrix @ x - b).max() < room
    assert kernels.solve_transposed(program, arena, b, 1, work, x) == 0
    assert np.abs(matrix.T @ x - b).max() < room
    assert 0.0 < info[0] <= 1.0


def test_kernels_refuse_tables_of_another_version():
    # a user's code, cached by numba before an update, contains the kernels of then
    system = random_system(gs.chain(3), 2)
    symbolic = system.analyze()
    arena_size, magnitudes, solve_size = kernels.work_sizes(symbolic.program, 1)
    arena, magnitude, info = np.full(arena_size, 7.0), np.full(magnitudes, 7.0), np.zeros(3)
    b, x, out = np.ones(6), np.empty(solve_size), np.full(6, 7.0)
    other = symbolic.program.copy()
    other[0] += 1
    assert kernels.factorize(other, system.values, 1e-14, magnitude, arena, info) == -2
    assert kernels.solve(other, arena, b, 1, x, out) == -2
    assert kernels.solve_transposed(other, arena, b, 1, x, out) == -2
    assert (
        kernels.factorize_and_solve(other, system.values, b, 1e-14, magnitude, x, arena, info, out)
        == -2
    )
    assert (arena == 7.0).all() and (magnitude == 7.0).all() and (out == 7.0).all()
