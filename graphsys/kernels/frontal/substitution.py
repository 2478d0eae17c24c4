"""Forward and back substitution with the factors of fronts.

A name of a row or column is its place in elimination order. Pivots pair a row with a column:
y = L^-1 b has the names of rows, x = U^-1 y those of columns.
"""

from graphsys.kernels.base.complex_numbers import conjugate
from graphsys.kernels.base.jit import inlined, kernel
from graphsys.kernels.base.layout import HERMITIAN, ORDER_AT, ROWS, SUPERNODES, SYMMETRIC
from graphsys.kernels.base.pointers import pointer
from graphsys.kernels.base.widths import LANES
from graphsys.kernels.blocks.blocks import subtract_product, subtract_transposed
from graphsys.kernels.frontal.multifrontal import FACTORS, FRONT_FIELDS, NAMES, PIVOTS, SIZE

#: Rows up to which a loop over a front takes less time than a call of a product, and pivots up to
#: which a loop takes less than `LANES` of them at a time: late control of 3 + 1 1.24 without.
FEW = 16


@kernel
def solve_fronts(
    # Tables:
    program, fronts, names,
    # In:
    factors, b, count, transposed,
    # Work:
    y, x, part,
    # Out:
    out,
):  # fmt: skip
    """A out = b, or A^T out = b, for ``count`` columns; ``part`` has room for the largest front."""
    rows, symmetric = program[ROWS], program[SYMMETRIC] != 0
    hermitian = program[SYMMETRIC] == HERMITIAN
    order = program[program[ORDER_AT] : program[ORDER_AT] + rows]
    fronts_of = range(program[SUPERNODES])
    for c in range(count):
        for i in range(rows):
            y[i] = b[c * rows + order[i]]
        if hermitian and transposed:  # A^T = conj(A)
            conjugate(y, 0, rows)
        for s in fronts_of:
            if symmetric or not transposed:
                _forward(fronts, s, names, factors, y, part)
            else:
                _forward_transposed(fronts, s, names, factors, y, part)
        for s in range(program[SUPERNODES] - 1, -1, -1):
            if symmetric:
                _backward_symmetric(fronts, s, names, factors, hermitian, y, x, part)
            elif not transposed:
                _backward(fronts, s, names, factors, y, x, part)
            else:
                _backward_transposed(fronts, s, names, factors, y, x, part)
        if hermitian and transposed:
            conjugate(x, 0, rows)
        for i in range(rows):
            out[c * rows + order[i]] = x[i]


@inlined
def _forward(fronts, s, names, factors, y, part):
    """Y <- L^-1 y for the rows of a front."""
    at = FRONT_FIELDS * s
    m, pivots, lower = fronts[at + SIZE], fronts[at + PIVOTS], fronts[at + FACTORS]
    rows, given, local = pointer(names, fronts[at + NAMES]), pointer(y, 0), pointer(part, 0)
    column = pointer(factors, lower)
    if pivots <= FEW:
        below = m if m <= FEW else pivots
        for k in range(below):  # sums of terms in the order in which these are known
            total = given[rows[k]]
            for i in range(min(k, pivots)):
                total -= column[i * m + k] * local[i]
            local[k] = given[rows[k]] = total
        if below < m:
            for i in range(pivots, m):
                local[i] = given[rows[i]]
            subtract_product(
                part, pivots, m, factors, lower + pivots, m, part, 0, 1, m, m - pivots, 1, pivots
            )
            for i in range(pivots, m):
                given[rows[i]] = local[i]
        return
    for k in range(m):
        local[k] = given[rows[k]]
    for begin in range(0, pivots, LANES):
        end = min(begin + LANES, pivots)
        for k in range(begin, end):
            total = local[k]
            for i in range(begin, k):
                total -= column[i * m + k] * local[i]
            local[k] = total
        if end < pivots:
            subtract_product(
                part, end, m, factors, lower + begin * m + end, m, part, begin, 1, m,
                pivots - end, 1, end - begin,
            )  # fmt: skip
    if pivots < m:
        subtract_product(
            part, pivots, m, factors, lower + pivots, m, part, 0, 1, m, m - pivots, 1, pivots
        )
    for k in range(m):
        given[rows[k]] = local[k]


@inlined
def _backward(fronts, s, names, factors, y, x, part):
    """X <- U^-1 y for the columns of a front."""
    at = FRONT_FIELDS * s
    m, pivots, lower, rows = (
        fronts[at + SIZE],
        fronts[at + PIVOTS],
        fronts[at + FACTORS],
        fronts[at + NAMES],
    )
    columns = rows + m
    for k in range(pivots):
        part[k] = y[names[rows + k]]
    for k in range(pivots, m):
        part[k] = x[names[columns + k]]
    if pivots < m:
        subtract_product(
            part,
            0,
            m,
            factors,
            lower + m * pivots,
            pivots,
            part,
            pivots,
            1,
            m,
            pivots,
            1,
            m - pivots,
        )
    for k in range(pivots - 1, -1, -1):
        column = factors[lower + k * m : lower + k * m + pivots]
        z = part[k] / column[k]
        x[names[columns + k]] = z
        for i in range(k):
            part[i] -= column[i] * z


@inlined
def _forward_transposed(fronts, s, names, factors, y, part):
    """Y <- U^-T y for the columns of a front."""
    at = FRONT_FIELDS * s
    m, pivots, lower = fronts[at + SIZE], fronts[at + PIVOTS], fronts[at + FACTORS]
    columns = fronts[at + NAMES] + m
    for k in range(m):
        part[k] = y[names[columns + k]]
    for k in range(pivots):
        column = factors[lower + k * m : lower + k * m + pivots]
        total = part[k]
        for i in range(k):
            total -= column[i] * part[i]
        part[k] = total / column[k]
    if pivots < m:
        subtract_transposed(
            part, pivots, m, factors, lower + m * pivots, pivots, part, 0, m,
            m - pivots, 1, pivots,
        )  # fmt: skip
    for k in range(m):
        y[names[columns + k]] = part[k]


@inlined
def _backward_transposed(fronts, s, names, factors, y, x, part):
    """X <- L^-T y for the rows of a front."""
    at = FRONT_FIELDS * s
    m, pivots, lower, rows = (
        fronts[at + SIZE],
        fronts[at + PIVOTS],
        fronts[at + FACTORS],
        fronts[at + NAMES],
    )
    columns = rows + m
    for k in range(pivots):
        part[k] = y[names[columns + k]]
    _solve_unit_transposed(names, rows, factors, lower, m, pivots, False, x, part)


@inlined
def _backward_symmetric(fronts, s, names, factors, hermitian, y, x, part):
    """X <- L^-T D^-1 y, or L^-H D^-1 y, for the rows of a front."""
    at = FRONT_FIELDS * s
    m, pivots, lower = fronts[at + SIZE], fronts[at + PIVOTS], fronts[at + FACTORS]
    rows, given, local = pointer(names, fronts[at + NAMES]), pointer(y, 0), pointer(part, 0)
    diagonal, k = pointer(factors, lower + m * pivots), 0
    while k < pivots:
        pivot, beside = diagonal[2 * k], diagonal[2 * k + 1]
        one = given[rows[k]]
        if beside == 0:
            local[k] = one / pivot
            k += 1
            continue
        other = given[rows[k + 1]]
        across = beside.conjugate() if hermitian else beside
        upper, below = pivot / beside, diagonal[2 * k + 2] / across
        rest = upper * below - 1.0
        left, right = 1.0 / (beside * rest), 1.0 / (across * rest)
        local[k], local[k + 1] = (below * one - other) * left, (upper * other - one) * right
        k += 2
    _solve_unit_transposed(
        names, fronts[at + NAMES], factors, lower, m, pivots, hermitian, x, part
    )  # fmt: skip


@inlined
def _solve_unit_transposed(names, at, factors, lower, m, pivots, conjugated, x, part):
    """X <- L^-T of ``part``, or L^-H, with the rows that follow as they are in x."""
    rows, found, local = pointer(names, at), pointer(x, 0), pointer(part, 0)
    for i in range(pivots, m):
        local[i] = found[rows[i]]
    if conjugated:
        conjugate(part, 0, m)
    if pivots < m and m > FEW:
        subtract_transposed(
            part, 0, m, factors, lower + pivots, m, part, pivots, m, pivots, 1, m - pivots
        )
    end = pivots
    while end > 0:
        begin, last = 0, end if m > FEW else m
        if pivots > FEW:
            begin = (end - 1) & -LANES
            if end < pivots:
                subtract_transposed(
                    part, begin, m, factors, lower + begin * m + end, m, part, end, m,
                    end - begin, 1, pivots - end,
                )  # fmt: skip
        for k in range(end - 1, begin - 1, -1):
            column = pointer(factors, lower + k * m)
            total = local[k]
            for i in range(last - 1, k, -1):  # the last one known comes last
                total -= column[i] * local[i]
            local[k] = total
            found[rows[k]] = total
        end = begin
    if conjugated:
        conjugate(part, 0, pivots)
        for k in range(pivots):
            found[rows[k]] = local[k]
