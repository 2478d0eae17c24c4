"""Every kernel for eight systems at once against its NumPy twin, for all sizes."""

import numpy as np
import pytest
from numba import njit

from graphsys.kernels.blocks import batch_blocks

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


@njit
def compiled_steps(d, ldd, s, ratio, n, steps):
    return batch_blocks.steps_lanes(d, 8, ldd, s, 8, ratio, 3, n, steps, 16)


@njit
def compiled_scale(w, ldw, steps, source, row_step, column_step, n, columns):
    batch_blocks.scale_lanes_stored(
        w, 8, ldw, steps, 16, source, 24, row_step, column_step, n, columns
    )


@njit
def compiled_scale_values(w, ldw, steps, source, stride, n, columns):
    batch_blocks.scale_lanes_values(w, 8, ldw, steps, 16, source, 5, 1, stride, n, columns)


@njit
def compiled_update(c, ldc, source, step, a, lda, b, ldb, m, n, k, raises, s):
    batch_blocks.update_lanes_stored(
        c, 8, ldc, source, 16, step, a, 16, lda, b, 8, ldb, m, n, k, raises, s, 8
    )


@njit
def compiled_update_values(c, ldc, source, stride, a, lda, b, ldb, m, n, k, raises, s):
    batch_blocks.update_lanes_values(
        c, 8, ldc, source, 5, stride, a, 16, lda, b, 8, ldb, m, n, k, raises, s, 8
    )


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


@pytest.mark.parametrize("n", range(1, 9))
def test_elimination_steps_are_the_inverse(n):
    rng = np.random.default_rng(n)
    blocks = rng.normal(size=(8, n, n)) + 3 * n * np.eye(n)
    d, s, source = np.zeros(8 * ((n + 1) * n + 2)), np.zeros(8 * (n + 1)), rng.normal(size=700)
    view = batch_blocks._block(d, 8, 1, n + 1, n, n)
    view[...] = blocks.transpose(1, 2, 0)
    kept, ratios = d.copy(), []
    for compiled in (False, True):
        steps, ratio = np.zeros(8 * (n * n + 2)), np.full(12, 2.0)
        if compiled:
            tame = compiled_steps(d, n + 1, s, ratio, n, steps)
        else:
            tame = batch_blocks._steps_twin(d, 8, n + 1, s, 8, ratio, 3, n, steps, 16)
        assert tame == 1 and np.array_equal(d, kept)
        ratios.append(ratio)
        for columns in range(6):
            u = rng.normal(size=8 * (8 * n + 80))
            for row_step, column_step in ((1, n + 1), (columns + 2, 1)):
                w, stored = np.zeros((2, 8 * ((n + 2) * (columns + 1) + 2)))
                compiled_scale(w, n + 2, steps, u, row_step, column_step, n, columns)
                twin = batch_blocks._scale_twin(True)
                twin(stored, 8, n + 2, steps, 16, u, 24, row_step, column_step, n, columns)
                assert np.allclose(w, stored, rtol=0, atol=1e-14)
                held = batch_blocks._block(u, 24, row_step, column_step, n, columns)
                solved = batch_blocks._block(w, 8, 1, n + 2, n, columns)
                back = np.einsum("lij,jkl->ikl", blocks, solved)
                assert np.allclose(back, held, rtol=0, atol=1e-13)
            w, values = np.zeros((2, 8 * ((n + 2) * (columns + 1) + 2)))
            compiled_scale_values(w, n + 2, steps, source, 80, n, columns)
            twin = batch_blocks._scale_twin(False)
            twin(values, 8, n + 2, steps, 16, source, 5, 1, 80, n, columns)
            assert np.allclose(w, values, rtol=0, atol=1e-14)
    inverse, ratio = d.copy(), np.full(12, 2.0)
    compiled_invert(inverse, n + 1, s, ratio, n)
    assert all(np.allclose(other, ratio, rtol=1e-12) for other in ratios)


def test_a_large_multiplier_in_one_lane_asks_for_exchanges():
    for n in range(2, 9):
        for entry in (1e-3, 0.0, np.nan):
            d, s, ratio = np.zeros(8 * (n * n + 1)), np.ones(8 * (n + 1)), np.full(12, 2.0)
            view = batch_blocks._block(d, 8, 1, n, n, n)
            view[...] = np.eye(n)[:, :, None]
            view[:2, :2, 6] = [[entry, 1.0], [1.0, 0.0]]
            steps = np.zeros(8 * (n * n + 2))
            tame = compiled_steps(d, n, s, ratio, n, steps)
            assert tame == (entry != entry)  # no exchange can help a NaN
            assert np.isnan(ratio[9]) if tame else (ratio == 2.0).all()


def test_updates_load_what_they_update_and_raise_the_magnitudes():
    rng = np.random.default_rng(0)
    for m in range(1, 9):
        for n in (0, 1, 2, 3, 5, 8):
            for k in (1, 3, 6, 8):
                a, b, source = rng.normal(size=(3, 8 * 100))
                for raises in (0, 1):
                    for stored, update in enumerate((compiled_update_values, compiled_update)):
                        step = (90, m + 1)[stored]
                        c, expected = np.zeros((2, 8 * ((m + 2) * n + 2)))
                        s = rng.uniform(0.0, 2.0, 8 * (m + 2))
                        held = s.copy()
                        update(c, m + 2, source, step, a, m + 1, b, k + 1, m, n, k, raises, s)
                        twin = batch_blocks._update_twin(bool(stored))
                        twin(
                            expected, 8, m + 2, source, (5, 16)[stored], step, a, 16, m + 1,
                            b, 8, k + 1, m, n, k, raises, held, 8,
                        )  # fmt: skip
                        assert np.allclose(c, expected, rtol=0, atol=16 * (k + 1) * EPS)
                        assert np.array_equal(s, held)
