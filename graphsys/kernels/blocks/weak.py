"""Rows to the right of a weak pivot block: W = D^-1 U with a small residual.

A product with an inverse has an error of eps |D^-1| |U|, whatever |W| is. A stiff contact of two
bodies puts K n n^T into D and K n m^T into U, and the error of the updates L W is eps K^2.
Substitution with factors of D would leave eps K (N. J. Higham, Accuracy and Stability of Numerical
Algorithms, SIAM, 2002, sec. 14.1). So does one step of refinement, W <- W + D^-1 (U - D W).

Where one triangle is stored, W is computed again and again, and back substitution computes
D^-1 (L^T x): both from a copy of D.
"""

import numpy as np

from graphsys.kernels.base.jit import inlined, kernel, lazy
from graphsys.kernels.base.layout import (
    BY_CONDITION,
    BY_PIVOTS,
    NEIGHBOUR_FIELDS,
    NODE_FIELDS,
    WEAK_BLOCK,
    WEAK_COLUMNS,
    WORK_AT,
)
from graphsys.kernels.base.pointers import pointer
from graphsys.kernels.blocks.blocks import (
    add_product,
    assign_product,
    copy_block,
    subtract_product,
)

#: Pivot relative to its row below which a pivot block is weak, and the inverse of D_kk X_kk.
WEAK = 1e-4
#: In the place of the copy of a pivot block that is not weak.
NO_COPY = np.inf


@kernel
def scale_weak(arena, to, ld, d, m, w, columns, work_at):
    """W <- D^-1 U with U in the workspace, which loses it; D^-1 at ``d``, D in the workspace."""
    u, block = work_at + WEAK_COLUMNS, work_at + WEAK_BLOCK
    assign_product(arena, to, ld, arena, d, m, arena, u, 1, w, w, columns, w)
    subtract_product(arena, u, w, arena, block, w, arena, to, 1, ld, w, columns, w)
    add_product(arena, to, ld, arena, d, m, arena, u, 1, w, w, columns, w)


@kernel
def is_weak(rule, ratio, arena, d, m, w, work_at):
    """Whether a pivot block of such a ratio is weak by a rule; D^-1 at ``d``, D in the workspace.

    D_kk X_kk, X = D^-1, does not depend on units: its inverse is the part of D_kk that is left once
    the other rows of the block are eliminated.
    """
    if rule != BY_CONDITION:
        return rule == BY_PIVOTS and ratio < WEAK
    for k in range(w):
        left = arena[work_at + WEAK_BLOCK + k * (w + 1)] * arena[d + k * (m + 1)]
        if WEAK * abs(left) > 1.0:
            return True
    return False


@inlined
def keep_weak(arena, to, w, weak, work_at):
    """Copy of a pivot block, out of the workspace, where it is weak; else `NO_COPY`."""
    if weak:
        copy_block(arena, to, w, arena, work_at + WEAK_BLOCK, w, w, w)
    else:
        arena[to] = NO_COPY


@inlined
def recall_weak(arena, copy, w, work_at):
    """True if a pivot block was weak; its copy is back in the workspace."""
    weak = arena[copy] != NO_COPY
    if weak:
        copy_block(arena, work_at + WEAK_BLOCK, w, arena, copy, w, w, w)
    return weak


@lazy("None")
def add_weak(x, at, work, s, u, arena, d, m, copy, w):
    """x <- x + v with D v = s to a small residual; loses s, and u for v."""
    assign_product(work, u, w, arena, d, m, work, s, 1, w, w, 1, w)
    subtract_product(work, s, w, arena, copy, w, work, u, 1, w, w, 1, w)
    add_product(work, u, w, arena, d, m, work, s, 1, w, w, 1, w)
    for k in range(w):
        x[at + k] += work[u + k]


@lazy("None")
def scale_weak_node(arena, values, program, panel, at, symmetric):
    """W_j of all neighbours of a node of `nodal_ldu`."""
    table, work_at = pointer(program, 0), program[WORK_AT]
    w, lower, upper = table[panel], table[panel + 3], table[panel + 4]
    m, u, count = w + table[panel + 1], work_at + WEAK_COLUMNS, table[at]
    first = at + NODE_FIELDS
    for j in range(first, first + NEIGHBOUR_FIELDS * count, NEIGHBOUR_FIELDS):
        columns, place, source = table[j], table[j + 1], table[j + 3 if symmetric else j + 4]
        step = (columns if source >= 0 else m) if symmetric else w
        for c in range(columns):
            for k in range(w):
                at = c + step * k if symmetric else k + step * c
                entry = values[source + at] if source >= 0 else arena[~source + at]
                arena[u + k + w * c] = entry
        scale_weak(arena, upper + place * w, w, lower, m, w, columns, work_at)
