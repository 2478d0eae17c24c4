"""Pivots of the fronts, one after another, and the signs of D."""

import numpy as np

from graphsys.kernels.base.complex_numbers import magnitude
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
def largest_pivot(fronts, factors, symmetric):
    """Largest magnitude of the diagonal of U, or of D; NaN where there is one."""
    largest = 0.0
    for at in range(0, fronts.size, FRONT_FIELDS):
        m, pivots, place = fronts[at + SIZE], fronts[at + PIVOTS], fronts[at + FACTORS]
        if symmetric:
            place, step = place + m * pivots, 2
        else:
            step = m + 1
        for i in range(pivots):
            size = magnitude(factors[place + i * step])
            if not size <= largest and largest == largest:
                largest = size
    return largest


@kernel
def count_signs(
    # Tables:
    fronts,
    names,
    # In:
    factors,
    # Work:
    sums,
    # Out:
    signs,
):
    """Positive and negative eigenvalues of D; the least pivot relative to |L| |D| |L^T|.

    ``sums`` becomes the diagonal of that product: rounding errors of a pivot are as large as it,
    times machine epsilon. A pair is relative to the change of its determinant. D is symmetric and
    real, or Hermitian.
    """
    total = pointer(sums, 0)
    positive = negative = 0
    least = 1.0
    for i in range(sums.size):
        total[i] = 0.0
    for at in range(0, fronts.size, FRONT_FIELDS):
        m, pivots, lower = fronts[at + SIZE], fronts[at + PIVOTS], fronts[at + FACTORS]
        rows, diagonal = pointer(names, fronts[at + NAMES]), pointer(factors, lower + m * pivots)
        k = 0
        while k < pivots:
            column = pointer(factors, lower + k * m)
            first, between = diagonal[2 * k].real, abs(diagonal[2 * k + 1])
            size = abs(first)
            total[rows[k]] += size
            if between == 0.0:
                positive += first > 0.0
                negative += first < 0.0
                ratio = size / total[rows[k]]
                for i in range(k + 1, m):
                    x = abs(column[i])
                    total[rows[i]] += x * (x * size)  # x * x could underflow
                k += 1
            else:
                other, second = pointer(factors, lower + (k + 1) * m), diagonal[2 * k + 2].real
                # The determinant over ``between``: a product of both could overflow.
                over = first / between * second - between
                # Of a negative determinant, one eigenvalue of each sign, or its sign is theirs.
                apart = over < 0.0
                positive += 1 if apart else 2 * (first > 0.0)
                negative += 1 if apart else 2 * (first < 0.0)
                last = abs(second)
                total[rows[k + 1]] += last
                here, there = total[rows[k]] / between, total[rows[k + 1]] / between
                change = last / between * here + size / between * there
                change += 2.0 * np.sqrt(here) * np.sqrt(there)
                ratio = abs(over) / between / max(change, 1.0)
                for i in range(k + 2, m):
                    x, y = abs(column[i]), abs(other[i])
                    total[rows[i]] += x * (x * size + 2.0 * (y * between)) + y * (y * last)
                k += 2
            if not ratio >= least:
                least = ratio if ratio > 0.0 else 0.0  # NaN: numbers overflowed
    signs[POSITIVE], signs[NEGATIVE], signs[LEAST] = positive, negative, least
