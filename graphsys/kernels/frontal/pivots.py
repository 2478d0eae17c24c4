"""Pivots of the fronts, one after another."""

from graphsys.kernels.base.jit import kernel
from graphsys.kernels.frontal.multifrontal import FACTORS, FRONT_FIELDS, NAMES, PIVOTS, SIZE


@kernel
def gather_pivots(
    # Tables:
    fronts,
    names,
    # In:
    factors,
    symmetric,
    # Out:
    pivot,
    below,
    row,
    column,
):
    """Diagonal of U, or diagonal and subdiagonal of D, and the rows and columns of pivots.

    ``below`` is not zero at the first of the two of a 2 x 2 pivot.
    """
    k = 0
    for at in range(0, fronts.size, FRONT_FIELDS):
        m, pivots = fronts[at + SIZE], fronts[at + PIVOTS]
        place, name = fronts[at + FACTORS], fronts[at + NAMES]
        if symmetric:
            place, step = place + m * pivots, 2
        else:
            step = m + 1
        for i in range(pivots):
            pivot[k] = factors[place + i * step]
            below[k] = factors[place + i * step + 1] if symmetric else 0.0
            row[k], column[k] = names[name + i], names[name + m + i]
            k += 1
