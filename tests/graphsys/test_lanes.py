"""Every kernel for eight systems at once against its NumPy twin, for all sizes."""

import numpy as np
import pytest
from numba import njit

from graphsys.kernels import batch_blocks

EPS = np.finfo(float).eps


@njit
def compiled_subtract(c, ldc, a, lda, b, steps, sizes):
    batch_blocks.subtract_lanes(c, 8, ldc, a, 16, lda, b, 8, *steps, *sizes)


@njit
def compiled_transposed(c, ldc, a, lda, b, steps, sizes):
    batch_blocks.subtract_lanes_transposed(c, 8, ldc, a, 16, lda, b, 8, *steps, *sizes)


@njit
def compiled_invert(d, ldd, s, ratio, n):
    batch_blocks.invert_lanes(d, 8, ldd, s, 8, ratio, 3, n)


@njit
def compiled_load(b, ldb, a, stride, m, n):
    batch_blocks.load_lanes(b, 8, ldb, a, 5, stride, m, n)


def test_products_of_all_sizes_equal_numpy_and_touch_nothing_else():
    rng = np.random.default_rng(0)
    for m in (1, 2, 5, 7, 8, 9, 17):
        for n in (0, 1, 2, 3, 4, 7):
            for k in (1, 3, 8):
                ldc, lda = m + 2, max(m, k) + 1
                a, b = rng.normal(size=(2, 8 * (lda * (m + k) + (k + 1) * (n + 1) + 9)))
                c = rng.normal(size=8 * (ldc * n + 3))
                for steps in ((1, k + 1), (n + 1, 1)):
                    for transposed, compiled in enumerate((compiled_subtract, compiled_transposed)):
                        expected, result = c.copy(), c.copy()
                        twin = batch_blocks._product_twin("subtract", bool(transposed))
                        twin(expected, 8, ldc, a, 16, lda, b, 8, *steps, m, n, k)
                        compiled(result, ldc, a, lda, b, steps, (m, n, k))
                        assert np.allclose(result, expected, rtol=0, atol=16 * (k + 1) * EPS)
                        assert np.array_equal(result != c, expected != c)


@pytest.mark.parametrize("n", range(1, 9))
def test_inverses_pivot_in_each_lane(n):
    rng = np.random.default_rng(n)
    for dominance in (3 * n, 0):
        blocks = rng.normal(size=(8, n, n)) + dominance * np.eye(n)
        if not dominance:
            blocks[0] = np.eye(n)[rng.permutation(n)]
            blocks[1] = np.eye(n)[::-1] * -0.5
        d, s, ratio = np.zeros(8 * ((n + 1) * n + 2)), np.zeros(8 * (n + 1)), np.ones(12)
        view = batch_blocks._block(d, 8, 1, n + 1, n, n)
        view[...] = blocks.transpose(1, 2, 0)
        compiled_invert(d, n + 1, s, ratio, n)

        for lane, block in enumerate(blocks):
            bound = 64 * n * EPS * np.linalg.cond(block)
            assert np.abs(view[:, :, lane] @ block - np.eye(n)).max() < bound
        assert (ratio[3:11] > 0).all() and (ratio <= 1).all()


def test_a_singular_lane_is_told_by_its_ratio_alone():
    for n in range(1, 9):
        for exchange in (False, True):
            d, s, ratio = np.zeros(8 * (n * n + 1)), np.ones(8 * (n + 1)), np.ones(12)
            view = batch_blocks._block(d, 8, 1, n, n, n)
            view[...] = (np.eye(n)[::-1] if exchange else np.eye(n))[:, :, None]
            view[:, :, 2], view[:, :, 5] = 0.0, np.nan
            compiled_invert(d, n, s, ratio, n)
            good = np.delete(np.arange(8), [2, 5])
            assert (ratio[3 + good] == 1.0).all() and np.isnan(ratio[[5, 8]]).all()
            assert np.array_equal(view[:, :, 7], np.eye(n)[::-1] if exchange else np.eye(n))


def test_blocks_are_loaded_from_eight_systems():
    a = np.arange(8 * 70.0)
    for m in range(1, 9):
        for n in range(9):
            b = np.full(8 * ((m + 2) * n + 2), -1.0)
            expected = b.copy()
            batch_blocks._load_twin(expected, 8, m + 2, a, 5, 70, m, min(n, 64 // m))
            compiled_load(b, m + 2, a, 70, m, min(n, 64 // m))
            assert np.array_equal(b, expected)
