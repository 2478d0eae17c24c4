"""Arrays that compiled code finds by one array of addresses."""

import numpy as np
import pytest

from graphsys.kernels.base.address_table import doubles, indices, new_frame, numbers, reals
from graphsys.kernels.base.jit import kernel


@kernel
def double_all(frame, like):
    """Each number of four arrays twice; sum of the integers."""
    table = indices(frame, 0, like)
    total = 0
    for k in range(table.size):
        total += table[k]
    own, real, wide = numbers(frame, 1, like), reals(frame, 2, like), doubles(frame, 3, like)
    for k in range(own.size):
        own[k] *= 2
    for k in range(real.size):
        real[k] *= 2
    for k in range(wide.size):
        wide[k] *= 2
    return total


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_arrays_of_a_frame_are_those_it_was_made_of(dtype):
    table, own = np.array([3, 5, 2**40]), np.arange(4.0).astype(dtype)
    real, wide = np.arange(3.0).astype(own.real.dtype), np.arange(2.0) + 1e-12
    frame = new_frame(table, own, real, wide)

    assert double_all(frame, np.zeros(1, dtype)) == 8 + 2**40
    assert np.array_equal(own, 2 * np.arange(4.0)) and np.array_equal(real, 2 * np.arange(3.0))
    assert np.array_equal(wide, 2 * (np.arange(2.0) + 1e-12))


def test_arrays_without_numbers_have_none():
    empty = np.empty(0)
    frame = new_frame(np.empty(0, np.int64), empty, empty, empty)

    assert double_all(frame, np.zeros(1)) == 0
