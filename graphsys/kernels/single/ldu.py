"""Numeric block LDU factorization: supernodes of the elimination tree, right-looking.

Every supernode inverts its pivot blocks (rows pivoted within a block), scales the rows to their
right, and subtracts L W from the panels of its ancestors: theory/elimination (2) (Bruedigam et al.
2023, Algorithms 1 and 3, with L left unscaled: all solves become products).
"""

import numpy as np

from graphsys.kernels.base.jit import inlined, kernel, lazy
from graphsys.kernels.base.layout import (
    ARENA_SIZE,
    GROWTH,
    LOAD_AT,
    LOAD_FIELDS,
    LOADS,
    NODAL_AT,
    PANEL_FIELDS,
    PANELS_AT,
    PIVOT_RATIO,
    PROGRAM_VERSION,
    ROWS,
    STALE,
    STARTS_AT,
    SUPERNODES,
    SYMMETRIC,
    VERSION,
    WEAKEST,
    WORK_AT,
    WORK_COLUMNS,
)
from graphsys.kernels.base.pointers import pointer
from graphsys.kernels.base.widths import SMALL
from graphsys.kernels.blocks.blocks import (
    assign_product,
    copy_block,
    invert_small,
    raise_magnitude,
    subtract_product,
)
from graphsys.kernels.blocks.growth import pivot_growth
from graphsys.kernels.blocks.large import invert_large
from graphsys.kernels.blocks.medium import MEDIUM, invert_medium
from graphsys.kernels.blocks.supernodes import update_target
from graphsys.kernels.single.nodal_ldu import factorize_nodal


@inlined
def load(
    # Tables:
    program,
    # In:
    values,
    # Out:
    arena,
):
    """Panels <- the user's blocks, zero elsewhere."""
    table = pointer(program, 0)
    arena[: program[ARENA_SIZE]] = 0.0
    at = program[LOAD_AT]
    for _ in range(program[LOADS]):
        rows = table[at + 1]
        copy_block(
            arena,
            table[at + 3],
            table[at + 4],
            values,
            table[at],
            rows,
            rows,
            table[at + 2],
        )
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
    if program[NODAL_AT] != 0 and arena.itemsize == magnitude.itemsize:  # real numbers
        return _factorize_nodal(program, values, tolerance, magnitude, arena, info)
    return factorize_supernodes(program, values, tolerance, magnitude, arena, info)


@lazy("int")
def _factorize_nodal(program, values, tolerance, magnitude, arena, info):
    """`factorize_nodal` without a vector."""
    return factorize_nodal(program, values, tolerance, magnitude, arena, info, None)


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
    load(program, values, arena)
    rows = program[ROWS]
    magnitude[:rows] = 0.0
    magnitude[rows : 2 * rows] = np.inf  # of rows that are not eliminated
    at, count = program[PANELS_AT], program[SUPERNODES]
    for s in range(count):
        given_magnitudes(program, program[program[STARTS_AT] + s], magnitude, arena)
    info[PIVOT_RATIO], info[WEAKEST], info[GROWTH] = 1.0, 0.0, 0.0
    work_at = program[WORK_AT]
    failed = eliminate(program, at, count, True, work_at, tolerance, magnitude, arena, info)
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
def eliminate(program, at, count, push, work_at, tolerance, magnitude, arena, info):
    """D^-1, L and W of ``count`` supernodes from place ``at``; as `factorize`, their panels loaded.

    They update their ancestors' panels if ``push`` is set. The workspace is
    ``arena[work_at:]``.
    """
    table = pointer(program, 0)
    smallest = info[PIVOT_RATIO]
    symmetric, ratios = program[SYMMETRIC] != 0, 2 * program[ROWS]
    in_registers = arena.itemsize == magnitude.itemsize  # real numbers
    for _ in range(count):
        p, q, first = table[at], table[at + 1], table[at + 2]
        lower, upper = table[at + 3], table[at + 4]
        pivots, runs, targets = table[at + 5], table[at + 6], table[at + 7]
        target_at = table[at + 8]
        m = p + q
        at += PANEL_FIELDS
        i = 0
        for b in range(pivots):
            w = table[at + b]
            d = lower + i * m + i
            right = p - i - w
            if q > 0 and i > 0:  # left-looking: one pass over what has no pivots
                subtract_product(
                    arena, d - i + p, m, arena, lower + p, m, arena, lower + i * m, 1, m, q, w, i
                )
                if not symmetric:
                    subtract_product(
                        arena, upper + i, p, arena, lower + i, m, arena, upper, 1, p, w, q, i
                    )
            if symmetric:
                _mirror(arena, d, m, w)
            scratch = ratios + first + i
            if w <= SMALL and in_registers:
                ratio = invert_small(arena, d, m, arena, d, m, magnitude, first + i, w)
            else:
                _invert_wide(arena, d, m, magnitude, first + i, scratch, w, work_at)
                ratio = magnitude[scratch]
            if not (ratio > tolerance):
                info[PIVOT_RATIO] = ratio
                return first + i + 1
            magnitude[scratch] = ratio
            if ratio < smallest:
                smallest = ratio
                info[WEAKEST] = first + i
            if symmetric:
                # W = D^-1 L^T: the rows to the right are never stored before
                if right > 0:
                    assign_product(
                        arena, d + w * m, m, arena, d, m, arena, d + w, m, 1, w, right, w
                    )
                if q > 0:
                    below = d + w + right
                    assign_product(arena, upper + i, p, arena, d, m, arena, below, m, 1, w, q, w)
            else:
                _scale_rows(arena, d, m, w, d + w * m, m, right, work_at)
                _scale_rows(arena, d, m, w, upper + i, p, q, work_at)
            if right > 0:
                j = i + w
                for later in range(b + 1, pivots):
                    size = table[at + later]
                    raise_magnitude(magnitude, first + j, arena, lower + j * m + j, m, size, size)
                    j += size
                rest = d + w * m + w
                subtract_product(
                    arena, rest, m, arena, d + w, m, arena, d + w * m, 1, m, right, right, w
                )
            i += w
        at += pivots + 3 * runs
        for _ in range(targets if push else 0):
            target_at = update_target(
                program, target_at, arena, 0, p, m, lower, upper, symmetric, magnitude, 1,
                subtract_product, raise_magnitude,
            )  # fmt: skip
    info[PIVOT_RATIO] = smallest
    return 0


@lazy("None")
def _invert_wide(arena, d, m, magnitude, first, scratch, w, work_at):
    """D^-1 of a pivot block beyond registers, its pivot ratio to ``magnitude[scratch]``."""
    raise_magnitude(magnitude, first, arena, d, m, w, w)
    for k in range(w):
        magnitude[scratch + k] = magnitude[first + k]
    if SMALL < w <= MEDIUM:
        ratio = invert_medium(arena, d, m, arena, d, m, magnitude, scratch, w, arena, work_at)
    else:
        ratio = invert_large(arena, d, m, arena, d, m, magnitude, scratch, w)
    magnitude[scratch] = ratio


@inlined
def _mirror(arena, d, m, w):
    """Upper triangle of a pivot block <- its lower triangle."""
    for j in range(1, w):
        for i in range(j):
            arena[d + j * m + i] = arena[d + i * m + j]


@inlined
def _scale_rows(arena, d, m, w, rows_at, ld, columns, work_at):
    """B <- D^-1 B for the w rows of a pivot block."""
    if w <= SMALL:
        if columns > 0:
            assign_product(arena, rows_at, ld, arena, d, m, arena, rows_at, 1, ld, w, columns, w)
        return
    for first in range(0, columns, WORK_COLUMNS):
        count = min(WORK_COLUMNS, columns - first)
        at = rows_at + first * ld
        copy_block(arena, work_at, w, arena, at, ld, w, count)
        assign_product(arena, at, ld, arena, d, m, arena, work_at, 1, w, w, count, w)
