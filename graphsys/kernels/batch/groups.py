"""Solves of many systems of one graph, and factorizations of large ones one after another.

Arrays hold system after system: ``values`` (count nnz,), ``b`` and ``out`` (count rows columns,).
"""

import numpy as np

from graphsys.kernels.base.jit import kernel
from graphsys.kernels.base.layout import (
    ARENA_TOTAL,
    GROWTH,
    ONE_TRIANGLE,
    PIVOT_RATIO,
    ROWS,
    STARTS_AT,
    SUPERNODES,
    WEAKEST,
)
from graphsys.kernels.base.widths import LANES
from graphsys.kernels.batch.substitution import (
    backward_eight,
    backward_transposed_eight,
    forward_eight,
    forward_transposed_eight,
    gather_eight,
    scatter_eight,
)
from graphsys.kernels.single.fused_solve import factorize_and_solve
from graphsys.kernels.single.ldu import factorize
from graphsys.kernels.single.matrix import widest_node
from graphsys.kernels.single.refinement import FLOOR, refine_solution, residual_error
from graphsys.kernels.single.substitution import solve, solve_transposed


@kernel
def solve_groups(
    # Tables:
    program,
    # In:
    arena,
    count,
    groups,
    first,
    last,
    transposed,
    b,
    columns,
    # Work:
    x,
    # Out:
    out,
):
    """out <- A^-1 b, or A^-T b, for ``groups[first:last]``, numbered as by `factorize_groups`."""
    length = program[ROWS] * columns
    for g in groups[first:last]:
        start, base = min(LANES * g, count - LANES) * length, LANES * g * program[ARENA_TOTAL]
        gather_eight(program, b, start, length, columns, x)
        if transposed and program[ONE_TRIANGLE] == 0:  # else A^T = A
            forward_transposed_eight(program, arena, base, columns, x)
            backward_transposed_eight(program, arena, base, columns, x)
        else:
            for s in range(program[SUPERNODES]):
                panel = program[program[STARTS_AT] + s]
                forward_eight(program, panel, arena, base, columns, x)
            backward_eight(program, arena, base, columns, x)
        scatter_eight(program, x, start, length, columns, out)


@kernel
def backward_errors(
    tables, program, values, nnz, systems, transposed, b, x, eps, sizes, r, errors
):  # fmt: skip
    """r <- b - A x, or b - A^T x, of the chosen systems, with its backward errors.

    b, x and r are (systems columns rows,), ``errors`` (2, systems columns), with and without the
    floor of `refinement`; ``sizes`` is the workspace of `residual_error`, ``tables`` as of
    `BlockGraph.tables`.
    """
    rows, columns = program[ROWS], errors.shape[1] // systems.size
    widest = widest_node(tables[0])
    for k in range(systems.size * columns):
        s, first, last = systems[k // columns], k * rows, (k + 1) * rows
        errors[0, k], errors[1, k] = residual_error(
            tables, widest, values[s * nnz : (s + 1) * nnz], transposed,
            b[first:last], 1, x[first:last], eps, eps**FLOOR, np.inf, sizes, r[first:last],
        )  # fmt: skip


@kernel
def factorize_each(
    # Tables:
    program,
    # In:
    values,
    count,
    first,
    last,
    tolerance,
    # Work:
    magnitude,
    info,
    # Out:
    arena,
    ratio,
    growth,
    weakest,
):
    """Factors of the systems first:last, one after another, at ``arena[s arena_total:]``."""
    nnz, length = values.size // count, program[ARENA_TOTAL]
    for s in range(first, last):
        failed = factorize(
            program, values[s * nnz : (s + 1) * nnz], tolerance, magnitude,
            arena[s * length : (s + 1) * length], info,
        )  # fmt: skip
        ratio[s] = info[PIVOT_RATIO] if failed == 0 else np.nan
        growth[s], weakest[s] = info[GROWTH], info[WEAKEST]


@kernel
def refine_each(
    # Tables (of BlockGraph, joined; then the program):
    joined,
    program,
    # In:
    values,
    count,
    first,
    last,
    tolerance,
    below,
    b,
    eps,
    most,
    # Work:
    magnitude,
    work,
    arena,
    info,
    # Out:
    ratio,
    growth,
    error,
    out,
):
    """out <- A^-1 b for the systems first:last, refined where pivots are doubtful; their errors.

    ``error`` is that of `refine`, NaN where pivots are good, infinite where the solution is not.
    """
    nnz, rows = values.size // count, program[ROWS]
    for s in range(first, last):
        mine, right = values[s * nnz : (s + 1) * nnz], b[s * rows : (s + 1) * rows]
        x = out[s * rows : (s + 1) * rows]
        failed = factorize_and_solve(
            program, mine, right, tolerance, magnitude, work, arena, info, x
        )
        ratio[s] = info[PIVOT_RATIO] if failed <= 0 else np.nan
        growth[s], error[s] = info[GROWTH], np.inf if failed != 0 else np.nan
        if failed == 0 and (ratio[s] < below or (growth[s] > 0.0 and below > 0.0)):
            steps = refine_solution(
                joined, program, arena, mine, right, eps, eps**FLOOR, most, work, info, x
            )
            error[s] = info[1] if steps >= 0 else np.inf


@kernel
def solve_each(
    # Tables:
    program,
    # In:
    arena,
    first,
    last,
    transposed,
    b,
    columns,
    # Work:
    x,
    # Out:
    out,
):
    """out <- A^-1 b, or A^-T b, for the systems first:last; b and out by columns."""
    rows, total = program[ROWS] * columns, program[ARENA_TOTAL]
    for s in range(first, last):
        mine, place = arena[s * total : (s + 1) * total], s * rows
        if transposed:
            solve_transposed(
                program, mine, b[place : place + rows], columns, x, out[place : place + rows]
            )
        else:
            solve(program, mine, b[place : place + rows], columns, x, out[place : place + rows])
