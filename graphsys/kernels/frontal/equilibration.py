"""Equilibration of one symmetric matrix whose arrays are in a frame: for C.

As for `graphsys.kernels.frontal.framed`. Entries are triplets, which are summed in the *pattern*:
both triangles, sorted by rows, with a diagonal.
"""

import numpy as np

from graphsys.kernels.analysis.equilibration import SWEEPS, sweep
from graphsys.kernels.analysis.product_matching import FAR, WORK_ROWS, match_products
from graphsys.kernels.base.address_table import doubles, integers
from graphsys.kernels.base.jit import kernel

#: Names of the arrays of a frame: rows of the pattern, its columns, and where each row begins;
#: place of each entry in the pattern, and that of its transpose; workspace; the scaling.
FRAME = ("row", "column", "start", "first", "second", "whole", "real", "scale")
ROW, COLUMN, START, FIRST, SECOND, WHOLE, REAL, SCALE = range(len(FRAME))
#: Numbers a row in ``whole``, and in ``real``, which has one more for each entry of the pattern.
WHOLE_ROWS, REAL_ROWS = WORK_ROWS + 2, 5
#: Largest power of two of a row.
MOST = 500.0


@kernel
def equilibrate_framed(frame, values):
    """Scale <- powers of two that equilibrate A; 1 where a row is zero, or an entry not finite.

    The matching with the largest product is that of rounded logarithms: many paths are equally
    short, and the search for one ends soon. It takes a third of the time, or less.
    """
    row, column, start = (
        integers(frame, ROW, values), integers(frame, COLUMN, values),
        integers(frame, START, values),
    )  # fmt: skip
    first, second = integers(frame, FIRST, values), integers(frame, SECOND, values)
    whole, real = integers(frame, WHOLE, values), doubles(frame, REAL, values)
    scale = doubles(frame, SCALE, values)
    n, count = scale.size, column.size
    u, v, of_rows, of_columns = real[:n], real[n : 2 * n], real[2 * n : 3 * n], real[3 * n : 4 * n]
    distance, size = real[4 * n : 5 * n], real[5 * n :]
    row_of, column_of = whole[WORK_ROWS * n : (WORK_ROWS + 1) * n], whole[(WORK_ROWS + 1) * n :]
    for k in range(count):
        size[k] = 0.0
    for e in range(values.size):
        size[first[e]] += values[e]
        if second[e] != first[e]:
            size[second[e]] += values[e]
    for i in range(n):
        largest = -FAR
        for k in range(start[i], start[i + 1]):
            entry = abs(size[k])
            if not entry < np.inf:
                return 1
            size[k] = np.rint(np.log2(entry)) if entry > 0.0 else -FAR
            largest = max(largest, size[k])
        if largest == -FAR:
            return 1
    failed = match_products(
        start, column, size, whole[: WORK_ROWS * n], distance, row_of, column_of, u, v,
    )  # fmt: skip
    for i in range(n):
        u[i] = 0.5 * (u[i] + v[i]) if failed == 0 else 0.0
    sweep(row, column, size, True, SWEEPS, u, u, of_rows, of_columns)
    for i in range(n):
        scale[i] = 2.0 ** min(max(np.rint(u[i]), -MOST), MOST)
    return 0
