"""Entries of the inverse on the pattern of the matrix, from the roots of the fronts down.

What a front does not eliminate, its parent knows: Z_RR, with the columns of the front as rows and
its rows as columns. With L and U of its pivots and what lies below and right of them,

    Z_Rk = -Z_RR L_Rk L_kk^-1,    Z_kR = -U_kk^-1 U_kR Z_RR,
    Z_kk = U_kk^-1 L_kk^-1 - U_kk^-1 U_kR Z_Rk

(A. M. Erisman, W. F. Tinney, On computing certain elements of the inverse of a sparse matrix,
Comm. ACM 18, 1975). Of a symmetric matrix U is D L^T, of a
Hermitian one D L^H. Fronts are numbered in a postorder, so that
from the last one down each needs the inverses of its ancestors only: they lie on a stack.
"""

from graphsys.kernels.base.complex_numbers import conjugate
from graphsys.kernels.base.jit import inlined, kernel
from graphsys.kernels.base.layout import FIRST, HERMITIAN, STARTS_AT, SUPERNODES, SYMMETRIC
from graphsys.kernels.base.layout import PIVOTS as PANEL_PIVOTS
from graphsys.kernels.base.pointers import pointer
from graphsys.kernels.blocks.blocks import assign_product, subtract_product, subtract_transposed
from graphsys.kernels.frontal.multifrontal import FACTORS, FRONT_FIELDS, NAMES, PIVOTS, SIZE


@kernel
def stack_inverses(
    # Tables:
    program, fronts, names,
    # Work:
    front_of,
    # Out:
    parent, place,
):  # fmt: skip
    """Parent of each front, -1 at a root, and the place of its inverse on the stack.

    Returns numbers of the stack and of the workspace of `invert_fronts`. ``front_of`` has room for
    all rows.
    """
    count = program[SUPERNODES]
    for s in range(count):
        first, end = _rows_of(program, s)
        for row in range(first, end):
            front_of[row] = s
    stack = space = 0
    for s in range(count - 1, -1, -1):
        m, e, name = _front(fronts, s)
        _, end = _rows_of(program, s)
        following = front_of.size
        for k in range(name + e, name + m):  # those below are delayed
            if end <= names[k] < following:
                following = names[k]
        parent[s], place[s] = -1, 0
        if e < m and following < front_of.size:
            above = front_of[following]
            parent[s] = above
            place[s] = place[above] + fronts[FRONT_FIELDS * above + SIZE] ** 2
        stack = max(stack, place[s] + m * m)
        space = max(space, 2 * e * m)
    return stack, space


@inlined
def _rows_of(program, s):
    """First row of a supernode, and the one after its last."""
    panel = program[program[STARTS_AT] + s]
    first = program[panel + FIRST]
    return first, first + program[panel + PANEL_PIVOTS]


@inlined
def _front(fronts, s):
    """Rows, pivots and place of the names of a front."""
    at = FRONT_FIELDS * s
    return fronts[at + SIZE], fronts[at + PIVOTS], fronts[at + NAMES]


@kernel
def list_inverse_entries(
    # Tables:
    fronts, names,
    # In:
    i, j,
    # Work:
    of_row, of_column,
    # Out:
    start, entry,
):  # fmt: skip
    """Entries of the inverse, at rows i and columns j, that each front gives.

    Those of front s are ``entry[start[s]:start[s + 1]]``: their first pivot is its own.
    """
    count = start.size - 1
    for s in range(count):
        m, e, name = _front(fronts, s)
        for k in range(name, name + e):
            of_row[names[k]] = of_column[names[m + k]] = s
        start[s] = 0
    start[count] = 0
    for t in range(i.size):
        start[min(of_column[i[t]], of_row[j[t]]) + 1] += 1
    for s in range(count):
        start[s + 1] += start[s]
    for t in range(i.size - 1, -1, -1):
        s = min(of_column[i[t]], of_row[j[t]]) + 1
        start[s] -= 1
        entry[start[s]] = t
    for s in range(count):  # each is now where its own entries begin
        start[s] = start[s + 1]
    start[count] = i.size


@kernel
def invert_fronts(
    # Tables:
    program, fronts, names, stacked, listed,
    # In:
    factors, i, j,
    # Work:
    place_row, place_column, stack, work,
    # Out:
    values,
):  # fmt: skip
    """Entries (i, j) of the inverse; ``stacked`` and ``listed`` are as the kernels above write."""
    (parent, place), (start, entry) = stacked, listed
    symmetric, hermitian = program[SYMMETRIC] != 0, program[SYMMETRIC] == HERMITIAN
    for s in range(program[SUPERNODES] - 1, -1, -1):
        m, e, name = _front(fronts, s)
        at, above = place[s], parent[s]
        if above >= 0:
            size, _, its_name = _front(fronts, above)
            _number(names, its_name, size, place_row, place_column)
            known, column = pointer(stack, place[above]), pointer(names, name + m)
            for c in range(e, m):
                source = size * place_row[names[name + c]]
                target = at + m * c
                for r in range(e, m):
                    stack[target + r] = known[source + place_column[column[r]]]
        lower = fronts[FRONT_FIELDS * s + FACTORS]
        _invert_front(factors, lower, m, e, symmetric, hermitian, work, stack, at)
        _number(names, name, m, place_row, place_column)
        for t in range(start[s], start[s + 1]):
            k = entry[t]
            values[k] = stack[at + m * place_row[j[k]] + place_column[i[k]]]


@inlined
def _number(names, name, m, place_row, place_column):
    """Places of the rows and columns of a front in it."""
    for k in range(m):
        place_row[names[name + k]] = k
        place_column[names[name + m + k]] = k


@kernel
def _invert_front(factors, lower, m, e, symmetric, hermitian, work, z, at):
    """Z_Rk, Z_kR and Z_kk of a front around its Z_RR, m x m at ``z[at:]``."""
    q, below, right = m - e, lower + e, lower + m * e
    left, upper, scaled = 0, e * e, 2 * e * e  # L^-1, U^-1 and L_Rk L^-1 or U^-1 U_kR
    rest, corner = at + m * e + e, at + e
    _invert_unit_lower(factors, lower, m, e, work, left)
    if symmetric:
        _scale_transposed(factors, right, e, hermitian, work, left, upper)
    else:
        _invert_upper(factors, lower, m, e, work, upper)
    assign = at, m
    for c in range(e):  # Z_kk and Z_Rk
        for r in range(e, m):
            z[at + m * c + r] = 0.0
    _multiply(z, assign, work, upper, e, work, left, e, e, e, e)
    if q == 0:
        return
    _multiply(work, (scaled, q), factors, below, m, work, left, e, q, e, e)
    subtract_product(z, corner, m, z, rest, m, work, scaled, 1, q, q, e, q)
    if symmetric:
        for c in range(e):
            for r in range(q):
                entry = z[corner + m * c + r]
                z[at + m * (e + r) + c] = entry.conjugate() if hermitian else entry
        if hermitian:
            conjugate(work, scaled, q * e)
        subtract_transposed(z, at, m, work, scaled, q, z, corner, m, e, e, q)
        return
    _multiply(work, (scaled, e), work, upper, e, factors, right, e, e, q, e)
    for c in range(e, m):
        for r in range(e):
            z[at + m * c + r] = 0.0
    subtract_product(z, at + m * e, m, work, scaled, e, z, rest, 1, m, e, q, q)
    subtract_product(z, at, m, work, scaled, e, z, corner, 1, m, e, e, q)


@inlined
def _multiply(c, place, a, a_at, lda, b, b_at, ldb, m, n, k):
    """C <- A B; C is none of the others."""
    c_at, ldc = place
    assign_product(c, c_at, ldc, a, a_at, lda, b, b_at, 1, ldb, m, n, k)


@inlined
def _invert_unit_lower(factors, lower, m, e, work, to):
    """L^-1 of the pivots, column by column."""
    for k in range(e):
        x = pointer(work, to + e * k)
        for i in range(e):
            x[i] = 0.0
        x[k] = 1.0
        for j in range(k, e - 1):
            column, factor = pointer(factors, lower + m * j), x[j]
            for i in range(j + 1, e):
                x[i] -= column[i] * factor


@inlined
def _invert_upper(factors, lower, m, e, work, to):
    """U^-1 of the pivots, column by column."""
    for k in range(e):
        x = pointer(work, to + e * k)
        for i in range(e):
            x[i] = 0.0
        x[k] = 1.0
        for j in range(k, -1, -1):
            column = pointer(factors, lower + m * j)
            x[j] /= column[j]
            factor = x[j]
            for i in range(j):
                x[i] -= column[i] * factor


@inlined
def _scale_transposed(factors, diagonal, e, hermitian, work, left, to):
    """L^-T D^-1 of the pivots, some of which are 2 x 2; L^-H D^-1 if ``hermitian``."""
    for k in range(e):
        for i in range(e):
            entry = work[left + e * i + k]
            work[to + e * k + i] = entry.conjugate() if hermitian else entry
    k = 0
    while k < e:
        pivot, below = factors[diagonal + 2 * k], factors[diagonal + 2 * k + 1]
        if below == 0:
            for i in range(e):
                work[to + e * k + i] /= pivot
            k += 1
            continue
        above = below.conjugate() if hermitian else below
        one, other = pivot / below, factors[diagonal + 2 * k + 2] / above
        scale = 1.0 / (one * other - 1.0)
        for i in range(e):
            first, second = work[to + e * k + i], work[to + e * (k + 1) + i]
            work[to + e * k + i] = (other * first / below - second / above) * scale
            work[to + e * (k + 1) + i] = (one * second / above - first / below) * scale
        k += 2
