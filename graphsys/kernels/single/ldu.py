"""Numeric block LDU factorization: supernodes of the elimination tree, right-looking.

Every supernode inverts its pivot blocks (rows pivoted within a block), scales the rows to their
right, and subtracts L W from the panels of its ancestors: theory/elimination (2) (Bruedigam et al.
2023, Algorithms 1 and 3, with L left unscaled: all solves become products).
"""

import numpy as np

from graphsys.kernels.base.complex_numbers import conjugate, is_real
from graphsys.kernels.base.jit import inlined, kernel, lazy
from graphsys.kernels.base.layout import (
    ARENA_SIZE,
    FIRST,
    GROWTH,
    LOAD_AT,
    LOAD_FIELDS,
    LOADS,
    LOWER,
    NODES,
    PANEL_FIELDS,
    PIVOT_RATIO,
    PROGRAM_VERSION,
    REFINED,
    ROWS,
    STALE,
    STARTS_AT,
    SUPERNODES,
    SYMMETRIC,
    UPPER,
    VERSION,
    WEAK_BLOCK,
    WEAK_COLUMNS,
    WEAKEST,
    WORK_AT,
    WORK_COLUMNS,
    only_scalars,
    targets_of,
)
from graphsys.kernels.base.pointers import pointer
from graphsys.kernels.base.widths import SMALL
from graphsys.kernels.blocks.blocks import (
    assign_product,
    assign_product_of,
    copy_block,
    invert_small,
    raise_magnitude,
    subtract_product,
)
from graphsys.kernels.blocks.growth import pivot_growth
from graphsys.kernels.blocks.medium import MEDIUM, invert_medium
from graphsys.kernels.blocks.supernodes import (
    FAILED,
    FINE,
    IS_WEAK,
    eliminate_supernode,
    scale_columns,
    update_target,
)
from graphsys.kernels.blocks.weak import is_weak, keep_weak, recall_weak, scale_weak
from graphsys.kernels.blocks.wide import invert_wide
from graphsys.kernels.single.nodal_ldu import factorize_by
from graphsys.kernels.single.scalar_ldu import factorize_rows


@inlined
def upper_place(program, at):
    """Place of the upper panel, or of what is stored in its place, of the panel ``at``."""
    upper = program[at + UPPER]
    return upper if upper >= 0 else -1 - upper


@inlined
def load(
    # Tables:
    program,
    # In:
    values,
    # Out:
    arena,
):
    """Panels of all but the first ``nodes`` supernodes <- the user's blocks, zero elsewhere."""
    table, given, loaded = pointer(program, 0), pointer(values, 0), pointer(arena, 0)
    lower = upper = end = 0
    if program[NODES] > 0:  # all lower panels come first
        at, starts = program[STARTS_AT] + program[NODES], program[STARTS_AT]
        lower, upper = program[program[at] + LOWER], upper_place(program, program[at])
        end = upper_place(program, program[starts])
    arena[lower:end] = 0.0
    arena[upper : program[ARENA_SIZE]] = 0.0
    at = program[LOAD_AT]
    for _ in range(program[LOADS]):
        rows, columns = table[at + 1], table[at + 2]
        if rows == 1 and columns == 1:
            loaded[table[at + 3]] = given[table[at]]
        else:
            copy_block(
                arena, table[at + 3], table[at + 4], values, table[at], rows, rows, columns
            )  # fmt: skip
        at += LOAD_FIELDS


@kernel
def factorize(
    # Tables:
    program,
    # In:
    values,
    tolerance,
    # Work:
    magnitude,
    # Out:
    arena,
    info,
):
    """L, D^-1, W of A = L D W; 0, or 1 + row of a pivot block that is singular.

    ``info[PIVOT_RATIO]`` is the smallest pivot relative to the largest magnitude that its row ever
    had in its pivot block; it must stay above ``tolerance``. ``info[WEAKEST]`` is the first row of
    that block. ``info[GROWTH]`` is the `growth` of the pivot blocks if it exceeds `growth.GROWN`,
    else 0. ``magnitude`` (3 rows,) is described there.
    """
    if program[PROGRAM_VERSION] != VERSION:
        return STALE
    if program[NODES] > 0:
        if not is_real(arena):
            return STALE
        if only_scalars(program):
            return factorize_rows(program, values, tolerance, magnitude, arena, info)
        return _factorize_nodal(program, values, tolerance, magnitude, arena, info)
    return factorize_supernodes(program, values, tolerance, magnitude, arena, info)


@lazy("int")
def _factorize_nodal(program, values, tolerance, magnitude, arena, info):
    """`factorize_nodal`, without a vector; then the other supernodes."""
    rest = program[NODES] < program[SUPERNODES]
    if rest:
        _load_rest(program, values, magnitude, arena)
    rule = program[REFINED]
    failed = factorize_by(program, rule, values, tolerance, magnitude, arena, info, None)
    if rest and failed == 0:
        failed = _eliminate_rest(program, tolerance, magnitude, arena, info)
    return failed


@lazy("None")
def _load_rest(program, values, magnitude, arena):
    """`load_supernodes`, compiled for graphs that need it."""
    load_supernodes(program, values, magnitude, arena)


@lazy("int")
def _eliminate_rest(program, tolerance, magnitude, arena, info):
    """`eliminate_supernodes`, compiled for graphs that need it."""
    return eliminate_supernodes(program, tolerance, magnitude, arena, info)


@lazy("int")
def factorize_supernodes(
    # Tables:
    program,
    # In:
    values,
    tolerance,
    # Work:
    magnitude,
    # Out:
    arena,
    info,
):
    """`factorize` without the program of `nodal_ldu`."""
    load_supernodes(program, values, magnitude, arena)
    info[PIVOT_RATIO], info[WEAKEST], info[GROWTH] = 1.0, 0.0, 0.0
    return eliminate_supernodes(program, tolerance, magnitude, arena, info)


@inlined
def load_supernodes(program, values, magnitude, arena):
    """Panels and magnitudes of all but the first ``nodes`` supernodes."""
    load(program, values, arena)
    starts, first, rows = program[STARTS_AT], program[NODES], program[ROWS]
    own = program[program[starts + first] + FIRST] if first > 0 else 0
    magnitude[own:rows] = 0.0
    magnitude[rows + own : 2 * rows] = np.inf  # of rows that are not eliminated
    for s in range(first, program[SUPERNODES]):
        given_magnitudes(program, program[starts + s], magnitude, arena)


@inlined
def eliminate_supernodes(program, tolerance, magnitude, arena, info):
    """`factorize` of all but the first ``nodes`` supernodes, whose result is in ``info``."""
    count, failed = program[SUPERNODES] - program[NODES], 0
    if count > 0:
        s, work_at = program[NODES], program[WORK_AT]
        failed = eliminate(program, s, count, True, work_at, tolerance, magnitude, arena, info)
    if failed == 0:
        info[GROWTH] = pivot_growth(program, magnitude)
    return failed


@inlined
def given_magnitudes(program, at, magnitude, arena):
    """Magnitudes of the rows of a supernode, at place ``at``, whose panel was just loaded."""
    table, rows = pointer(program, 0), program[ROWS]
    p, first, lower = table[at], table[at + 2], table[at + 3]
    m, i = p + table[at + 1], 0
    for k in range(first, first + p):
        magnitude[k] = magnitude[rows + k] = 0.0
    for b in range(table[at + 5]):
        w = table[at + PANEL_FIELDS + b]
        raise_magnitude(magnitude, rows + first + i, arena, lower + i * m + i, m, w, w)
        i += w


@inlined
def eliminate(program, first, count, push, work_at, tolerance, magnitude, arena, info):
    """D^-1, L and W of ``count`` supernodes from the ``first`` on, their panels loaded.

    They update their ancestors' panels if ``push`` is set. The workspace is
    ``arena[work_at:]``.
    """
    table = pointer(program, 0)
    symmetric = program[SYMMETRIC] != 0
    context = 2 * program[ROWS], tolerance, work_at, info, program
    starts = program[STARTS_AT]
    for s in range(first, first + count):
        panel = table[starts + s]
        failed = eliminate_supernode(
            program, panel, arena, 0, magnitude, 1, work_at, context,
            _invert, _scale, keep_weak, subtract_product, raise_magnitude,
        )  # fmt: skip
        if failed != 0:
            return failed
        if not push:
            continue
        targets, target_at = targets_of(program, s)
        for _ in range(targets):
            target_at = update_target(
                program, target_at, arena, 0, panel, symmetric, magnitude, 1, work_at,
                write_columns, subtract_product, raise_magnitude,
            )  # fmt: skip
    return 0


@inlined
def _invert(arena, d, m, magnitude, row, w, context):
    """D^-1 of a pivot block, with the checks of `factorize`."""
    ratios, tolerance, work_at, info, program = context
    scratch = ratios + row
    small = w <= SMALL and is_real(arena)  # in registers
    if small:
        ratio = invert_small(
            arena, d, m, arena, d, m, arena, work_at + WEAK_BLOCK, magnitude, row, w
        )
    else:
        _invert_wide(arena, d, m, magnitude, row, scratch, w, work_at)
        ratio = magnitude[scratch]
    if not (ratio > tolerance):
        info[PIVOT_RATIO] = ratio
        return FAILED
    magnitude[scratch] = ratio
    if ratio < info[PIVOT_RATIO]:
        info[PIVOT_RATIO], info[WEAKEST] = ratio, row
    if small and is_weak(program[REFINED], ratio, arena, d, m, w, work_at):
        return IS_WEAK
    return FINE


@lazy("None")
def _invert_wide(arena, d, m, magnitude, first, scratch, w, work_at):
    """D^-1 of a pivot block beyond registers, its pivot ratio to ``magnitude[scratch]``."""
    raise_magnitude(magnitude, first, arena, d, m, w, w)
    for k in range(w):
        magnitude[scratch + k] = magnitude[first + k]
    if SMALL < w <= MEDIUM:
        ratio = invert_medium(arena, d, m, arena, d, m, magnitude, scratch, w, arena, work_at)
    else:
        ratio = invert_wide(arena, d, m, magnitude, scratch, w, arena, work_at)
    magnitude[scratch] = ratio


@lazy("None")
def write_columns(program, panel, arena, base, to, first, columns, work_at):
    """W <- D^-1 L^T, or D^-1 L^H, for some rows below as columns."""
    scale_columns(program, panel, arena, base, to, first, columns, 1, work_at, _scale, recall_weak)


@inlined
def _scale(arena, to, ld, d, m, w, u, row_step, column_step, columns, weak, hermitian, work_at):
    """B <- D^-1 U, or D^-1 conj(U), for the w rows of a pivot block; U is B itself or apart."""
    if columns == 0:
        return
    if not weak and (w <= SMALL or u != to):
        assign_product_of(
            arena, to, ld, arena, d, m, arena, u, row_step, column_step, w, columns, w, hermitian
        )  # fmt: skip
        return
    for first in range(0, columns, WORK_COLUMNS):
        count, here = min(WORK_COLUMNS, columns - first), to + first * ld
        at = work_at + (WEAK_COLUMNS if weak else 0)
        if row_step == 1:
            copy_block(arena, at, w, arena, u + first * column_step, column_step, w, count)
        else:
            for c in range(first, first + count):
                for k in range(w):
                    arena[at + (c - first) * w + k] = arena[u + k * row_step + c * column_step]
        if hermitian:
            conjugate(arena, at, w * count)
        if weak:
            scale_weak(arena, here, ld, d, m, w, count, work_at)
        else:
            assign_product(arena, here, ld, arena, d, m, arena, at, 1, w, w, count, w)
