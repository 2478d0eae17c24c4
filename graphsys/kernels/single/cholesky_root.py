"""Cholesky factor from pivot blocks D^-1 and rows of W, and solves with it."""

from graphsys.kernels.base.complex_numbers import conjugate
from graphsys.kernels.base.jit import kernel


@kernel
def block_roots(
    # Tables:
    at,
    ld,
    size,
    # In:
    arena,
    # Out:
    roots,
    diagonal,
):
    """D^-1 = U U^H of all pivot blocks, column-major; the first row that has none, else -1.

    ``diagonal`` gets 1 / U_kk, the diagonal of L.
    """
    row = place = 0
    for b in range(size.size):
        w, a, m = size[b], at[b], ld[b]
        for j in range(w - 1, -1, -1):
            for i in range(j, -1, -1):
                total = 0.5 * (arena[a + i + m * j] + arena[a + j + m * i].conjugate())
                for k in range(j + 1, w):
                    total -= roots[place + i + w * k] * roots[place + j + w * k].conjugate()
                if i == j:
                    square = total.real
                    if not square > 0.0:
                        return row + j
                    roots[place + j + w * j] = square**0.5
                    diagonal[row + j] = 1.0 / square**0.5
                else:
                    roots[place + i + w * j] = total * diagonal[row + j]
        row += w
        place += w * w
    return -1


@kernel
def write_lower(
    # Tables:
    size,
    start,
    column,
    upper,
    lower_start,
    # In:
    roots,
    factors,
    # Work:
    inverse,
    # Out:
    index,
    data,
):
    """L = (I + W^H) U^-H by columns, rows ascending; ``inverse`` has room for a pivot block."""
    row = place = 0
    for b in range(size.size):
        w = size[b]
        for j in range(w):  # U^-1
            for i in range(j, -1, -1):
                total = 1.0 if i == j else 0.0
                for k in range(i + 1, j + 1):
                    total -= roots[place + i + w * k] * inverse[k + w * j]
                inverse[i + w * j] = total / roots[place + i + w * i]
        for j in range(w):
            p = lower_start[row + j]
            for i in range(j, w):
                index[p], data[p] = row + i, inverse[j + w * i]
                p += 1
            first, count = start[row + j], start[row + j + 1] - start[row + j]
            for t in range(count):
                index[p + t], data[p + t] = column[first + t], 0.0
            for i in range(j, w):
                factor, first = inverse[j + w * i], start[row + i]
                for t in range(count):
                    data[p + t] += factor * factors[upper[first + t]]
        row += w
        place += w * w
    conjugate(data, 0, data.size)


@kernel
def solve_lower(
    # In:
    start,
    index,
    data,
    transposed,
    # In and out:
    x,
):
    """x <- L^-1 x or L^-H x for the columns of x, which lies by rows."""
    n = start.size - 1
    count = x.size // n if n > 0 else 0
    for step in range(n):
        k = n - 1 - step if transposed else step
        at, end = start[k], start[k + 1]
        inverse = 1.0 / data[at]
        if count == 1:
            total = x[k]
            if transposed:
                for e in range(at + 1, end):
                    total -= data[e].conjugate() * x[index[e]]
                x[k] = total * inverse
            else:
                total *= inverse
                x[k] = total
                for e in range(at + 1, end):
                    x[index[e]] -= data[e] * total
            continue
        own = k * count
        if not transposed:
            for c in range(count):
                x[own + c] *= inverse
        for e in range(at + 1, end):
            other, factor = index[e] * count, data[e]
            if transposed:
                factor = factor.conjugate()
                for c in range(count):
                    x[own + c] -= factor * x[other + c]
            else:
                for c in range(count):
                    x[other + c] -= factor * x[own + c]
        if transposed:
            for c in range(count):
                x[own + c] *= inverse
