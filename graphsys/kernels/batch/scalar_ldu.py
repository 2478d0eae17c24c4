"""Factorization of eight systems of single rows, one in each lane of a vector, in place of A.

The nodal program of `single.scalar_ldu` in fewer words. Entries of eight systems are transposed
into vectors in the order of the elimination. Each node has its pivot, then U and L of its
neighbours; only L of a symmetric matrix. Factors D^-1, W and L take their places; W that of L.

Table: rows, symmetric, vectors, fills, place of the list of fills. Then two words of each node,
place in the table and vector of the pivot. There are twice the number of neighbours, and 1 more if
the pivot was updated; the row of each neighbour; then for each neighbour j the vector that becomes
A_jj - L_j W_j, ~vector for the first update of a pivot, and those of A_ij for the other neighbours
i, of a symmetric matrix i > j. Fills are vectors that begin as zeros.
"""

import numpy as np

from graphsys.kernels.base.jit import inlined, kernel
from graphsys.kernels.base.layout import (
    SCALAR_FILL_AT,
    SCALAR_FILLS,
    SCALAR_ROWS,
    SCALAR_SYMMETRIC,
    SCALAR_VECTORS,
)
from graphsys.kernels.base.widths import LANES
from graphsys.kernels.blocks.scalar_lanes import (
    backward_plain,
    backward_transposed,
    factorize_rows,
    factorize_rows_solving,
    forward_plain,
    forward_symmetric,
    forward_transposed,
    load_rows,
    unload_rows,
)

#: Vectors of the state: largest ratio of a row's magnitude to its pivot, excess of growth, NaN for
#: what is not finite; then magnitudes of a row without updates, and NaN for a solution that is not.
STATE = 6


@inlined
def _load(table, place, values, system, last, v, v_at):
    """Vectors of the factors <- entries of eight systems, and fills <- 0."""
    load_rows(v, v_at, place, place.size, values, place.size, system, last)
    first = table[SCALAR_FILL_AT]
    for k in range(first, first + table[SCALAR_FILLS]):
        at = v_at + LANES * table[k]
        for lane in range(LANES):
            v[at + lane] = 0.0


@inlined
def _report(state, system, count, short, ratio, growth):
    """Pivot ratio of each lane, NaN if a pivot is singular; growth if it is a reason to check.

    Growth is NaN if the solution is not finite.
    """
    for lane in range(min(LANES, count - system)):
        ratio[system + lane] = 1.0 / state[lane] + state[2 * LANES + lane]
        growth[system + lane] = np.inf if short else state[LANES + lane]
        growth[system + lane] += state[5 * LANES + lane]


@inlined
def start(state):
    """Magnitudes of a row without updates: none, and none in the matrix to compare with."""
    for lane in range(LANES):
        state[3 * LANES + lane] = state[5 * LANES + lane] = 0.0
        state[4 * LANES + lane] = np.inf


@kernel
def factorize_scalar_groups(
    # Tables:
    table,
    place,
    # In:
    values,
    count,
    first,
    last,
    short,
    # Work:
    magnitude,
    state,
    # Out:
    v,
    ratio,
    growth,
):
    """Factors of groups of eight systems, the last system again where there are fewer."""
    start(state)
    for g in range(first, last):
        system, v_at = LANES * g, LANES * g * table[SCALAR_VECTORS]
        _load(table, place, values, system, count - 1, v, v_at)
        factorize_rows(table, v, v_at, magnitude, magnitude, state)
        _report(state, system, count, short, ratio, growth)


@kernel
def solve_scalar_groups(
    # Tables:
    table,
    row,
    # In:
    v,
    count,
    groups,
    first,
    last,
    transposed,
    b,
    # Work:
    x,
    state,
    # Out:
    out,
):
    """out <- A^-1 b, or A^-T b, for ``groups[first:last]``; b and out are (count, rows, columns).

    ``row`` is the vector in x of each number of a right-hand side, column by column.
    """
    rows, length = table[SCALAR_ROWS], row.size
    for g in groups[first:last]:
        system, v_at = LANES * g, LANES * g * table[SCALAR_VECTORS]
        load_rows(x, 0, row, length, b, length, system, count - 1)
        for at in range(0, length, max(rows, 1)):
            _substitute(table, v, v_at, transposed, x[LANES * at :])
        unload_rows(x, row, length, out, length, system, count - 1, state)


@inlined
def _substitute(table, v, v_at, transposed, x):
    """x <- A^-1 x, or A^-T x."""
    if table[SCALAR_SYMMETRIC] != 0:
        forward_symmetric(table, v, v_at, x)
    elif transposed:
        forward_transposed(table, v, v_at, x)
    else:
        forward_plain(table, v, v_at, x)
    if transposed and table[SCALAR_SYMMETRIC] == 0:
        backward_transposed(table, v, v_at, x)
    else:
        backward_plain(table, v, v_at, x)


@inlined
def solve_group(
    # Tables:
    table,
    place,
    row,
    # In:
    values,
    count,
    system,
    b,
    step,
    # Work:
    magnitude,
    x,
    v,
    state,
    # Out:
    out,
):
    """out <- A^-1 b for eight systems from ``system`` on; ``step`` numbers lead to the next b."""
    rows, length = table[SCALAR_ROWS], row.size
    _load(table, place, values, system, count - 1, v, 0)
    load_rows(x, 0, row, length, b, step, system, count - 1)
    factorize_rows_solving(table, v, 0, x, magnitude, state)
    backward_plain(table, v, 0, x)
    for at in range(rows, length, max(rows, 1)):
        _substitute(table, v, 0, False, x[LANES * at :])
    for lane in range(LANES):
        state[5 * LANES + lane] = 0.0
    unload_rows(x, row, length, out, length, system, count - 1, state[5 * LANES :])


@kernel
def solve_scalars_once(
    # Tables:
    table,
    place,
    row,
    # In:
    values,
    count,
    first,
    last,
    short,
    b,
    # Work:
    magnitude,
    x,
    v,
    state,
    # Out:
    ratio,
    growth,
    out,
):
    """out <- A^-1 b for groups of eight systems, whose factors are not kept.

    Arguments as of `solve_scalar_groups`. Growth is NaN if the solution is not finite.
    """
    start(state)
    for g in range(first, last):
        system = LANES * g
        solve_group(
            table, place, row, values, count, system, b, row.size, magnitude, x, v, state, out
        )
        _report(state, system, count, short, ratio, growth)
