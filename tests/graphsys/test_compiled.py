"""The compiled interface from other compiled code, and the kernels without a compiler."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numba import njit

import graphsys as gs
from graphsys import kernels
from graphsys.families import random_system
from tests.graphsys.test_factor import backward_error, right_hand_side


@njit
def newton(program, diagonal_at, size, values, targets, arena, magnitude, info, work, b, x):
    """Solve A y + y^3 = target (by entries): assemble, factorize, solve, never back in Python."""
    original = values.copy()
    x[:] = 0.0
    for iteration in range(50):
        values[:] = original
        row = 0
        largest = 0.0
        for i in range(size.size):
            for r in range(size[i]):
                values[diagonal_at[i] + r * (size[i] + 1)] += 3.0 * x[row] ** 2
                row += 1
        failed = kernels.factorize(program, values, 1e-14, magnitude, arena, info)
        if failed != 0:
            return -failed
        for k in range(x.size):
            b[k] = targets[k] + 2.0 * x[k] ** 3  # A' x - f(x) + target
        kernels.solve(program, arena, b, 1, work[: work.size // 2], work[work.size // 2 :])
        for k in range(x.size):
            new = work[work.size // 2 + k]
            largest = max(largest, abs(new - x[k]))
            x[k] = new
        if largest < 1e-13:
            return iteration
    return 50


def test_a_newton_iteration_runs_in_compiled_code():
    system = random_system(gs.ladder(10), 4)
    symbolic = system.analyze()
    arena_size, held, work_size = kernels.work_sizes(symbolic.program, 1)
    target = right_hand_side(system)
    x, b = np.empty((2, target.size))
    iterations = newton(
        symbolic.program,
        system.graph.diagonal_at,
        system.graph.size,
        system.values.copy(),
        target,
        np.empty(arena_size),
        np.empty(held),
        np.empty(3),
        np.empty(2 * work_size),
        b,
        x,
    )

    assert 2 <= iterations <= 20
    assert np.abs(system.to_dense() @ x + x**3 - target).max() < 1e-12


def test_a_failed_factorization_returns_the_row_of_its_pivot_block():
    system = random_system(gs.chain(3), 6)
    system[1, 1] = np.zeros((6, 6))
    system[0, 1], system[2, 1] = np.zeros((2, 6, 6))
    symbolic = system.analyze([0, 2, 1])
    arena_size, held, _ = kernels.work_sizes(symbolic.program, 1)
    info = np.empty(3)
    arguments = (np.empty(held), np.empty(arena_size), info)

    assert kernels.factorize(symbolic.program, system.values, 1e-14, *arguments) == 1 + 12
    assert not info[0] > 1e-14


def test_a_factorization_allocates_nothing_and_reads_what_it_was_given():
    system = random_system(gs.net(5), 3)
    symbolic = system.analyze()
    arena_size, held, work_size = kernels.work_sizes(symbolic.program, 2)
    values, b = system.values.copy(), right_hand_side(system, 2).ravel(order="F")
    kept = b.copy()
    arena, x = np.full(arena_size, np.nan), np.full(b.size, np.nan)
    kernels.factorize(symbolic.program, values, 1e-14, np.empty(held), arena, np.empty(3))
    for kernel, matrix in (
        (kernels.solve, system.to_dense()),
        (kernels.solve_transposed, system.to_dense().T),
    ):
        kernel(symbolic.program, arena, b, 2, np.empty(work_size), x)
        x2, b2 = (v.reshape(-1, 2, order="F") for v in (x, b))
        assert backward_error(matrix, x2, b2) < 1e-14
    assert np.array_equal(values, system.values) and np.array_equal(b, kept)


WITHOUT_COMPILER = """
import itertools
import numpy as np
import graphsys as gs
import graphsys.kernels
from graphsys.families import random_saddle_system, random_system, body_joint_tree
from numba import config
assert config.DISABLE_JIT
for system in (
    random_system(gs.net(3), 2), random_system(gs.ladder(3), 10), random_system(gs.chain(4), 3,
    dtype=complex), random_system(gs.crystal(2), 3, symmetric=True), random_system(gs.chain(3), 2,
    dtype=np.float32), random_saddle_system(body_joint_tree(5)),
):
    factor = system.factorize()
    matrix, b = system.to_dense(), np.arange(1.0, system.shape[0] + 1).astype(system.dtype)
    for trans, operator in (("N", matrix), ("T", matrix.T), ("H", matrix.conj().T)):
        x = factor.solve(b, trans)
        bound = 100 * np.finfo(system.dtype).eps * np.abs(b).max()
        assert np.abs(operator @ x - b).max() < bound * max(1, np.abs(x).max()), (system, trans)
    assert np.array_equal(factor.refactorize_and_solve(system.values, b), factor.solve(b))

def error(matrix, x, b):
    # backward error in the maximum norm, in units of the type's rounding
    r, x, b = (np.abs(v).max() for v in (matrix @ x - b, x, b))
    return r / (np.abs(matrix).sum(axis=1).max() * x + b) / np.finfo(matrix.dtype).eps

for dtype, dims, symmetric in itertools.product(("f8", "f4", "c16"), (2, 9), (False, True)):
    # batches, in lanes and one after another; part of a factorization; all in one call
    options = {"dtype": dtype, "symmetric": symmetric}
    system, other = (random_system(gs.ladder(3), dims, seed=s, **options) for s in (0, 1))
    symbolic = system.analyze()
    b = np.arange(1.0, 6 * dims + 1).astype(dtype) * (1 + 2j if dtype == "c16" else 1)
    both, matrix = [system.values, other.values], system.to_dense()
    batch = gs.Batch(symbolic, both, refine=True)
    for trans, operator in (("N", matrix), ("T", matrix.T), ("H", matrix.conj().T)):
        assert error(operator, batch.solve([b, b], trans)[0], b) < 45
        once = gs.Batch(symbolic).solve_once(both, [b, b], trans)[0]
        assert error(operator, once, b) < 45
    factor, changed = system.factorize(symbolic), system.copy()
    changed[2, 2] = 2 * changed[2, 2]
    x = factor.refactorize(changed.values, changed=[2]).solve(b)
    assert error(changed.to_dense(), x, b) < 45
    arena, held, work = gs.kernels.work_sizes(symbolic.program, 1)
    out, info, work = np.empty_like(b), np.zeros(3), np.empty(work, dtype)
    assert not gs.kernels.factorize_and_solve(
        symbolic.supernodal_program if dtype == "c16" else symbolic.program,
        system.values, b, 1e-14, np.empty(held, b.real.dtype), work,
        np.empty(arena, dtype), info, out,
    )
    assert error(matrix, out, b) < 45
print("solved")
"""


def test_everything_runs_without_a_compiler():
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_COMPILER],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "solved"


@njit
def solve_apart(program, arena, b, x, out):
    return kernels.solve(program, arena, b[::2], 1, x, out[::3])


@pytest.mark.parametrize("size", [1, 3, 9])
def test_compiled_code_may_solve_with_arrays_that_have_gaps(size):
    system = random_system(gs.chain(5), size)
    program, rows = system.analyze().program, system.shape[0]
    arena, magnitude, work = (np.empty(k) for k in kernels.work_sizes(program, 1))
    b, out = np.random.default_rng(0).normal(size=2 * rows), np.zeros(3 * rows)
    assert not kernels.factorize(program, system.values, 1e-14, magnitude, arena, np.zeros(3))

    assert solve_apart(program, arena, b, work, out) == 0
    x = system.factorize(system.analyze()).solve(b[::2])
    assert out[::3] == pytest.approx(x, rel=1e-12) and not out[1::3].any() and not out[2::3].any()
