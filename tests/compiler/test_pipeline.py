"""Kernels keep Python's meaning of variables and indices in our own lowering."""

import numpy as np
import pytest
from numba.core import ir, ir_utils
from numba.core.compiler import run_frontend

from graphsys.compiler import DISABLE_JIT, numba_speed
from graphsys.kernels.base.jit import inlined, kernel

pytestmark = pytest.mark.skipif(DISABLE_JIT, reason="kernels are plain Python")


@kernel
def fibonacci(n):
    """Two variables that take each other's value in a loop."""
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


@kernel
def changes(x):
    """How often neighbours differ: one assignment, used in the pass of the loop after it."""
    count, before = 0, x[0]
    for i in range(x.size):
        if i > 0 and x[i] != before:
            count += 1
        before = x[i]
    return count


@kernel
def since_first(x):
    """Sum of differences to the first: assigned once, but not on every path to its use."""
    total = 0.0
    for i in range(x.size):
        if i == 0:
            first = x[i]
        else:
            total += x[i] - first
    return total


@inlined
def clipped(x, low, high):
    """x between two bounds; several returns."""
    if x < low:
        return low
    if x > high:
        return high
    return x


@kernel
def clip_all(x, low, high):
    """Inlined twice, and its own argument changes."""
    for i in range(x.size):
        low = min(low, clipped(x[i], low, high))
        x[i] = clipped(2 * x[i], low, high)


@kernel
def branches(x, upwards):
    """A variable that either branch assigns, and one that only one of them needs."""
    if upwards:
        step = x[0] + 1.0
        found = step * step
    else:
        found = -x[0]
    return found + x[-1]


@kernel
def ends(x, i, out):
    """Indices from the end, by constants and by variables, and numbers of other types."""
    out[0] = x[-1]
    out[-1] = x[i]
    out[1] = x[i - 1] + 0.75


@kernel
def matrix_ends(a, i):
    """Arrays that are no plain vectors take numba's way."""
    row = a[i]
    return a[-1, -2] + a[i, i] + row[-1]


def test_variables_that_change_together():
    assert [fibonacci(n) for n in range(8)] == [0, 1, 1, 2, 3, 5, 8, 13]


def test_a_value_of_the_pass_before():
    assert changes(np.array([1.0, 1.0, 2.0, 2.0, 1.0])) == 2
    assert since_first(np.array([1.0, 2.0, 3.0, 5.0])) == 1.0 + 2.0 + 4.0


def test_inlined_functions_with_several_returns():
    x = np.array([1.0, 5.0, -3.0, 2.0])
    expected, low = [], 0.5
    for value in x:
        low = min(low, min(max(value, low), 4.0))
        expected.append(min(max(2 * value, low), 4.0))
    clip_all(x, 0.5, 4.0)
    assert x.tolist() == expected


def test_variables_of_branches():
    x = np.array([2.0, 7.0])
    assert branches(x, True) == 9.0 + 7.0
    assert branches(x, False) == -2.0 + 7.0


@pytest.mark.parametrize("index", [0, 2, -1, -3])
def test_indices_from_the_end(index):
    x = np.array([1.5, 2.5, 3.5, 4.5])
    for kind in (np.float64, np.float32, np.int64, np.int8):
        out = np.zeros(5, kind)
        expected = out.copy()
        ends(x, index, out)
        expected[0], expected[-1] = x[-1], x[index]
        expected[1] = x[(index - 1) % 4] + 0.75
        assert out.tolist() == expected.tolist()


def test_arrays_that_are_no_plain_vectors():
    a = np.arange(12.0).reshape(3, 4)
    assert matrix_ends(a, 1) == a[-1, -2] + a[1, 1] + a[1, -1]
    assert matrix_ends(a[:, ::-1], 1) == a[-1, 1] + a[1, 2] + a[1, 0]
    z = np.array([1.0 + 2.0j, 3.0])
    assert branches(np.array([2.0, 7.0], np.float32), True) == 16.0
    assert branches(z, False) == -z[0] + z[1]


def reassigned(x, n):
    """Variables with several assignments in loops and reassigned; one is not on every path."""
    total, last = 0.0, 0
    for i in range(n):
        if x[i] > 0.0:
            total += x[i]
            last = i
        elif i > 2:
            found = total
            total = found - x[i]
        while last > 0:
            last -= 1
            if last == 3:
                break
    return total, last


def text_of(blocks):
    """Statements of numba's blocks."""
    return {label: [str(one) for one in block.body] for label, block in blocks.items()}


def test_single_assignments_are_those_of_numba():
    numba, ours = (
        text_of(run(run_frontend(reassigned).blocks))
        for run in (numba_speed.RUN_SSA, numba_speed._run_ssa)
    )
    assert ours == numba
    assert sum(one.count("phi(") for block in ours.values() for one in block) >= 4


def test_a_copy_of_blocks_can_be_changed():
    blocks = run_frontend(reassigned).blocks
    before = text_of(blocks)
    copies = {label: numba_speed._copied(block) for label, block in blocks.items()}
    assert text_of(copies) == before
    some = next(one.target for one in blocks[0].body if isinstance(one, ir.Assign))
    names = {name for block in blocks.values() for name in _names(block)}
    ir_utils.replace_vars(copies, {name: some for name in names})
    assert text_of(copies) != before
    assert text_of(blocks) == before


def _names(block):
    return {variable.name for one in block.body for variable in one.list_vars()}
