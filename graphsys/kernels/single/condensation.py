"""Condensation: solves with factors that stop before the last nodes, and what is left of these.

``program`` is one whose supernodes end before those of the last nodes; ``kept`` are their rows,
``place`` (kept,) says where the user wants each of them, in elimination order.
"""

from graphsys.kernels.base.complex_numbers import drop_imaginary
from graphsys.kernels.base.jit import kernel
from graphsys.kernels.base.layout import (
    HERMITIAN,
    ORDER_AT,
    PANEL_FIELDS,
    ROWS,
    STARTS_AT,
    SUPERNODES,
    SYMMETRIC,
)
from graphsys.kernels.single.permutation import gather, scatter
from graphsys.kernels.single.substitution import backward, forward


@kernel
def read_schur(
    # Tables:
    program,
    supernodes,
    place,
    # In:
    arena,
    # Out:
    schur,
):
    """S = A_nn - A_ne A_ee^-1 A_en, out of the panels that all of e have updated.

    ``supernodes`` counts all of the graph; ``schur`` is kept x kept, column-major, flat.
    """
    schur[:] = 0.0
    kept = place.size
    eliminated = program[ROWS] - kept
    symmetric, hermitian = program[SYMMETRIC] != 0, program[SYMMETRIC] == HERMITIAN
    for s in range(program[SUPERNODES], supernodes):
        at = program[program[STARTS_AT] + s]
        p, first, lower, upper = program[at], program[at + 2], program[at + 3], program[at + 4]
        m = p + program[at + 1]
        runs = program[at + 6]
        run_at = at + PANEL_FIELDS + program[at + 5]
        for c in range(p):
            column = place[first + c - eliminated]
            for r in range(c if symmetric else 0, p):
                row = place[first + r - eliminated]
                entry = arena[lower + c * m + r]
                schur[column * kept + row] = entry
                if symmetric:
                    schur[row * kept + column] = entry.conjugate() if hermitian else entry
            for run in range(run_at, run_at + 3 * runs, 3):
                for r in range(program[run + 1]):
                    q = program[run] + r
                    row = place[program[run + 2] + r - eliminated]
                    entry = arena[lower + c * m + p + q]
                    schur[column * kept + row] = entry
                    if hermitian:
                        entry = entry.conjugate()
                    schur[row * kept + column] = entry if symmetric else arena[upper + q * p + c]
    if hermitian:  # rounding errors of the diagonal
        drop_imaginary(schur, 0, kept + 1, kept)


@kernel
def reduce(
    # Tables:
    program,
    place,
    # In:
    arena,
    b,
    count,
    # Work:
    x,
    # Out:
    out,
):
    """out = b_n - A_ne A_ee^-1 b_e for ``count`` right-hand sides, by columns."""
    rows, kept = program[ROWS], place.size
    order = program[program[ORDER_AT] : program[ORDER_AT] + rows]
    gather(b, order, count, x)
    forward(program, arena, count, x)
    for j in range(count):
        for i in range(kept):
            out[j * kept + place[i]] = x[j * rows + rows - kept + i]


@kernel
def expand(
    # Tables:
    program,
    place,
    # In:
    arena,
    b,
    known,
    count,
    # Work:
    x,
    # Out:
    out,
):
    """x_e = A_ee^-1 (b_e - A_en x_n) and the x_n that are known, by columns."""
    rows, kept = program[ROWS], place.size
    order = program[program[ORDER_AT] : program[ORDER_AT] + rows]
    gather(b, order, count, x)
    forward(program, arena, count, x)
    for j in range(count):
        for i in range(kept):
            x[j * rows + rows - kept + i] = known[j * kept + place[i]]
    backward(program, arena, count, x, out)
    scatter(x, order, count, out)
