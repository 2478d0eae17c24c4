"""`nodal_ldu` where every node is a single row: the same program, each block a number."""

import numpy as np

from graphsys.kernels.base.jit import inlined, kernel
from graphsys.kernels.base.layout import (
    GROWTH,
    NEIGHBOUR_FIELDS,
    NODAL_AT,
    NODE_FIELDS,
    ORDER_AT,
    PANEL_FIELDS,
    PIVOT_RATIO,
    ROWS,
    STARTS_AT,
    SUPERNODES,
    SYMMETRIC,
    UPDATE_FIELDS,
    UPPER,
    WEAKEST,
    WORK_AT,
)
from graphsys.kernels.base.pointers import pointer
from graphsys.kernels.blocks.growth import pivot_growth
from graphsys.kernels.single.substitution import gather, scatter


@inlined
def factorize_scalars(
    # Tables:
    program,
    # In:
    values,
    tolerance,
    # Work:
    magnitude,
    # Out:
    arena,
    info,
    # In and out:
    x,
):
    """L, D^-1, W of A = L D W, as `nodal_ldu.factorize_nodal`."""
    table, a = pointer(program, program[NODAL_AT]), pointer(values, 0)
    rows = program[ROWS]
    largest, original, f = pointer(magnitude, 0), pointer(magnitude, rows), pointer(arena, 0)
    ratios = pointer(magnitude, 2 * rows)
    for k in range(rows):
        largest[k] = 0.0
        original[k] = np.inf
    f[program[WORK_AT]] = 0.0  # what is read where nothing was
    symmetric = program[SYMMETRIC] != 0
    info[GROWTH] = 0.0
    smallest, weakest, at = 1.0, 0, 0
    lower, upper = 0, program[program[program[STARTS_AT]] + UPPER]  # panels one after another
    for first in range(rows):
        begin = at + NODE_FIELDS
        count = table[at]
        end = begin + NEIGHBOUR_FIELDS * count
        source = table[at + 1]
        pivot = a[source] if source >= 0 else f[lower]
        size = abs(pivot)
        if size > largest[first]:
            largest[first] = size
        ratio = size / largest[first]
        if not (ratio > tolerance):
            info[PIVOT_RATIO], info[WEAKEST] = ratio, first
            return first + 1
        ratios[first] = ratio
        if ratio < smallest:
            smallest, weakest = ratio, first
        f[lower] = 1.0 / pivot
        inverse = f[lower]  # in the precision of the factors
        if not (abs(inverse) < np.inf):
            info[PIVOT_RATIO], info[WEAKEST] = np.nan, first
            return first + 1
        if x is not None:
            z = inverse * x[first]
            x[first] = z
        at = end
        for j in range(begin, end, NEIGHBOUR_FIELDS):
            source = table[j + 3] if symmetric else table[j + 4]
            right = inverse * (a[source] if source >= 0 else f[~source])
            f[upper + table[j + 1]] = right
            for i in range(j if symmetric else begin, end, NEIGHBOUR_FIELDS):
                source, row = table[i + 3], table[i + 2]
                left = a[source] if source >= 0 else f[~source]
                if j == begin:
                    f[lower + 1 + table[i + 1]] = left
                    if x is not None:
                        x[row] -= left * z
                source = table[at]
                old = a[source] if source >= 0 else f[~source]
                f[table[at + 2]] = old - left * right
                if i == j:
                    if abs(old) > largest[row]:
                        largest[row] = abs(old)
                    if source >= 0:
                        original[row] = abs(old)
                at += UPDATE_FIELDS
        lower += 1 + count
        upper += count
    info[PIVOT_RATIO], info[WEAKEST], info[GROWTH] = (
        smallest,
        weakest,
        pivot_growth(program, magnitude),
    )
    return 0


@kernel
def solve_scalars(
    # Tables:
    program,
    # In:
    arena,
    b,
    # Work:
    x,
    # Out:
    out,
):
    """`substitution.solve` for one vector."""
    order = program[program[ORDER_AT] : program[ORDER_AT] + program[ROWS]]
    gather(b, order, 1, x)
    forward_scalars(program, arena, x)
    backward_scalars(program, arena, x)
    return scatter(x, order, 1, out)


@inlined
def forward_scalars(program, arena, x):
    """z_k = D_k^-1 x_k, x_i <- x_i - L_ik z_k."""
    starts, table = pointer(program, program[STARTS_AT]), pointer(program, 0)
    f, z = pointer(arena, 0), pointer(x, 0)
    for s in range(program[SUPERNODES]):
        at = starts[s]
        first, lower, runs = table[at + 2], table[at + 3], table[at + 6]
        entry = f[lower] * z[first]
        z[first] = entry
        at += PANEL_FIELDS + 1
        for run in range(at, at + 3 * runs, 3):
            place, row = lower + 1 + table[run], table[run + 2]
            for k in range(table[run + 1]):
                z[row + k] -= f[place + k] * entry


@inlined
def backward_scalars(program, arena, x):
    """x_k = z_k - sum_j W_kj x_j."""
    starts, table = pointer(program, program[STARTS_AT]), pointer(program, 0)
    f, z = pointer(arena, 0), pointer(x, 0)
    for s in range(program[SUPERNODES] - 1, -1, -1):
        at = starts[s]
        first, upper, runs = table[at + 2], table[at + 4], table[at + 6]
        total = z[first]
        at += PANEL_FIELDS + 1
        for run in range(at, at + 3 * runs, 3):
            place, row = upper + table[run], table[run + 2]
            for k in range(table[run + 1]):
                total -= f[place + k] * z[row + k]
        z[first] = total
