"""Pivots of the fronts, one after another, and the signs of D."""

import numpy as np

from graphsys.kernels.base.jit import kernel
from graphsys.kernels.base.pointers import pointer
from graphsys.kernels.frontal.multifrontal import FACTORS, FRONT_FIELDS, NAMES, PIVOTS, SIZE

#: Fields of ``signs``.
POSITIVE, NEGATIVE, LEAST = range(3)


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


@kernel
def count_signs(
    # Tables:
    fronts,
    # In:
    factors,
    # Out:
    signs,
):
    """Positive and negative eigenvalues of D, and the least magnitude of one, nearly."""
    positive = negative = 0
    smallest = np.inf
    for at in range(0, fronts.size, FRONT_FIELDS):
        m, pivots = fronts[at + SIZE], fronts[at + PIVOTS]
        diagonal = pointer(factors, fronts[at + FACTORS] + m * pivots)
        k = 0
        while k < pivots:
            first, between = diagonal[2 * k], diagonal[2 * k + 1]
            size = abs(first)
            if between == 0.0:
                positive += first > 0.0
                negative += first < 0.0
                k += 1
            else:
                second = diagonal[2 * k + 2]
                # The determinant over ``between``: a product of both could overflow.
                over = first / between * second - between
                larger = max(size, abs(second), abs(between))
                size = abs(over) / larger * abs(between)
                # Of a negative determinant, one eigenvalue of each sign, or its sign is theirs.
                apart = over * between < 0.0
                positive += 1 if apart else 2 * (first > 0.0)
                negative += 1 if apart else 2 * (first < 0.0)
                k += 2
            if not size >= smallest:
                smallest = size
    signs[POSITIVE], signs[NEGATIVE], signs[LEAST] = positive, negative, smallest
