"""Sweeps over rows and columns that scale them by their largest entries, or by geometric means."""

from graphsys.kernels.base.jit import kernel

#: Sweeps over rows and columns. Each halves the logarithm of what is left, so 12 bring any range of
#: double precision down to a factor of two.
SWEEPS = 12
#: Logarithm to base 2 of changes of scales, in two steps, that end `balance`.
SMALL_STEP = 0.125


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


@kernel
def balance(
    # Tables:
    row,
    column,
    # In:
    size,
    symmetric,
    sweeps,
    # Out:
    r,
    c,
    # Work:
    sums,
    of_rows,
    of_columns,
):
    """r and c of nearly the least sum of (size + r_i + c_j)^2, by columns and rows in turn.

    Arguments are those of `sweep`. Symmetric matrices take steps of the half length.
    """
    for i in range(r.size):
        of_rows[i] = of_columns[i] = r[i] = c[i] = 0.0
    for e in range(row.size):
        of_rows[row[e]] += 1.0
        of_columns[column[e]] += 1.0
    before = 1.0
    for half in range(2 * sweeps):
        for i in range(r.size):
            sums[i] = 0.0
        for e in range(row.size):
            left = size[e] + r[row[e]] + c[column[e]]
            if symmetric or half % 2 == 0:
                sums[column[e]] += left
            if symmetric or half % 2 == 1:
                sums[row[e]] += left
        change = 0.0
        for i in range(r.size):
            if symmetric:
                step = 0.5 * sums[i] / max(of_rows[i] + of_columns[i], 1.0)
                r[i] -= step
            elif half % 2 == 0:
                step = sums[i] / max(of_columns[i], 1.0)
                c[i] -= step
            else:
                step = sums[i] / max(of_rows[i], 1.0)
                r[i] -= step
            change = max(change, abs(step))
        if max(change, before) <= SMALL_STEP:
            return
        before = change
