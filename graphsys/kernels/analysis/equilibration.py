"""Ruiz's sweeps: rows and columns are divided by the square roots of their largest entries."""

from graphsys.kernels.base.jit import kernel

#: Sweeps over rows and columns. Each halves the logarithm of what is left, so 12 bring any range of
#: double precision down to a factor of two.
SWEEPS = 12


@kernel
def sweep(
    # Tables:
    row,
    column,
    # In:
    size,
    symmetric,
    sweeps,
    # In and out:
    r,
    c,
    # Work:
    of_rows,
    of_columns,
):
    """Change the scaling, logarithms r and c, until the largest of all rows and columns are small.

    ``row``, ``column`` and ``size`` are places and logarithms of entries. For symmetric matrices r
    and c are the same array.
    """
    for _ in range(sweeps):
        for i in range(r.size):
            of_rows[i] = of_columns[i] = -1e300
        for e in range(row.size):
            left = size[e] + r[row[e]] + c[column[e]]
            of_rows[row[e]] = max(of_rows[row[e]], left)
            of_columns[column[e]] = max(of_columns[column[e]], left)
        worst = 0.0
        for i in range(r.size):
            if symmetric:
                of_rows[i] = max(of_rows[i], of_columns[i])
            elif of_columns[i] > -1e300:
                worst = max(worst, abs(of_columns[i]))
            if of_rows[i] > -1e300:
                worst = max(worst, abs(of_rows[i]))
        if worst <= 1.0:
            return
        for i in range(r.size):
            if of_rows[i] > -1e300:
                r[i] -= 0.5 * of_rows[i]
            if not symmetric and of_columns[i] > -1e300:
                c[i] -= 0.5 * of_columns[i]
