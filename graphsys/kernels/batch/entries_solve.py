"""Solves for the entries of many matrices of single rows with good pivots: for C.

A *plan* is a frame (`graphsys.kernels.base.address_table`) of the arrays below. C calls it as
`graphsys.kernels.single.keyed_solve` is called: the entries are (count, nz), b and x
(count, n, columns); b may be (n, columns) for all matrices. Nothing is kept: to factorize again
takes less time than to compare and copy the entries would.
"""

from graphsys.kernels.base.address_table import doubles, indices, integers, numbers
from graphsys.kernels.base.jit import kernel
from graphsys.kernels.base.widths import LANES
from graphsys.kernels.batch.scalar_ldu import solve_group, start
from graphsys.kernels.single.fused_solve import DONE, MISFIT, REFINE
from graphsys.kernels.single.keyed_solve import MISSES, TRANSPOSED

#: Arrays of a plan: tables and places as in `batch.scalar_ldu`, also of the transposed matrices;
#: step of each row; vector in x of each number of b; work arrays; pivot ratio below which solutions
#: are refined; state, as in `keyed_solve`.
TABLE, PLACE, TRANSPOSED_TABLE, TRANSPOSED_PLACE, STEPS, RIGHT, MAGNITUDE, X, V, STATE = range(10)
BELOW, COUNTS = 10, 11


@kernel
def solve_entries_of_many(plan, call, like):
    """A_i x_i = b_i, or A_i^T x_i = b_i; x is of use where the status is `DONE`."""
    steps, right = indices(plan, STEPS, like), integers(plan, RIGHT, like)
    place, table = indices(plan, PLACE, like), indices(plan, TABLE, like)
    if call[TRANSPOSED] != 0:
        place = indices(plan, TRANSPOSED_PLACE, like)
        table = indices(plan, TRANSPOSED_TABLE, like)
    magnitude, x = numbers(plan, MAGNITUDE, like), numbers(plan, X, like)
    v, state = numbers(plan, V, like), numbers(plan, STATE, like)
    below, counts = doubles(plan, BELOW, like)[0], integers(plan, COUNTS, like)
    data, b, out = numbers(call, 0, like), numbers(call, 1, like), numbers(call, 2, like)
    rows, nz = steps.size, place.size
    if rows == 0 or nz == 0:
        return MISFIT
    count = data.size // nz
    columns = out.size // max(rows * count, 1)
    length = rows * columns
    if length == 0 or count * nz != data.size or count * length != out.size:
        return MISFIT
    if length > right.size or (b.size != out.size and b.size != length):
        return MISFIT
    right = right[:length]
    for i in range(rows):
        for j in range(columns):
            right[i * columns + j] = steps[i] + rows * j
    start(state)
    for system in range(0, count, LANES):
        solve_group(
            table, place, right, data, count, system, b, length if b.size == out.size else 0,
            magnitude, x, v, state, out,
        )  # fmt: skip
        for lane in range(LANES):
            ratio = 1.0 / state[lane] + state[2 * LANES + lane] + state[5 * LANES + lane]
            if not (ratio >= below) or state[LANES + lane] > 0.0:
                counts[MISSES] += 1
                return REFINE
    counts[MISSES] = 0
    return DONE
