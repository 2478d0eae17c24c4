"""Growth of pivot blocks: largest magnitudes of their rows relative to those of the matrix.

An update A_ij <- A_ij - L_i W_j carries rounding errors of the size of |L_i| |W_j|. Where that is
far larger than row i of the pivot block in the matrix, the errors are larger than the matrix's own
entries, and only a residual reveals if they matter (N. J. Higham, Accuracy
and Stability of Numerical Algorithms, SIAM, 2002, ch. 9). Rows that began as zeros outgrow them by
any factor. The measure does not change when rows are scaled.

Updates that cancel each other, up to rounding, do not show in it. They do cancel where a node is
short of pivots: its neighbours have given all theirs to others, and its own tiny block is left.

``magnitude`` (3 rows,) holds, for the rows in elimination order: the largest magnitude each ever
had in its pivot block; the one it has in the matrix, infinity where nothing updates it; and at the
first row of each pivot block its smallest pivot relative to the former.
"""

import numpy as np

from graphsys.kernels.base.jit import kernel
from graphsys.kernels.base.layout import ROWS, SHORT
from graphsys.kernels.base.widths import GROWN
from graphsys.kernels.blocks.blocks import any_beyond


@kernel
def pivot_growth(program, magnitude):
    """max_i largest_i / original_i where beyond `GROWN`, else 0; inf where nodes are short."""
    rows = program[ROWS]
    if program[SHORT] > 0:
        return np.inf
    if any_beyond(magnitude, 0, magnitude, rows, GROWN, rows) == 0:
        return 0.0
    growth = 0.0
    for i in range(rows):
        largest, original = magnitude[i], magnitude[rows + i]
        if largest > 0.0:
            growth = max(growth, largest / original if original > 0.0 else np.inf)
    return growth
