"""Blocks of the inverse on the pattern of the factors, from the roots of the elimination tree down.

With A = (I + L D^-1) D (I + W) and Z = A^-1, (I + W) Z is lower and Z (I + L D^-1) is upper
triangular, both with D^-1 on the diagonal. Read at pivot block k and the later rows R that share
a block with it,

    Z_Rk = -Z_RR L_Rk D_k^-1,    Z_kR = -W_kR Z_RR,    Z_kk = D_k^-1 - W_kR Z_Rk,

and Z_RR is known already: its blocks lie in the panels of ancestors (Takahashi, Fagan and Chin
1973; Erisman and Tinney 1975). It is gathered for each supernode and grows by a pivot block at
a time. The products with Z_RR take twice the operations of the update L_Rk W_kR.
"""

from graphsys.kernels.base.complex_numbers import conjugate, drop_imaginary
from graphsys.kernels.base.jit import kernel
from graphsys.kernels.base.layout import (
    HERMITIAN,
    LOAD_AT,
    LOAD_FIELDS,
    LOADS,
    PANEL_FIELDS,
    STARTS_AT,
    SUPERNODES,
    SYMMETRIC,
    TARGET_FIELDS,
    WIDEST,
    targets_of,
)
from graphsys.kernels.blocks.blocks import assign_product, copy_block, subtract_product


@kernel
def selected_work_size(program):
    """Numbers of the workspace: the rows of the largest panel squared, and a pivot block's."""
    most = 0
    for s in range(program[SUPERNODES]):
        at = program[program[STARTS_AT] + s]
        most = max(most, program[at] + program[at + 1])
    return most * (most + program[WIDEST])


@kernel
def invert_selected(
    # Tables:
    program,
    # In:
    arena,
    # Work:
    work,
    # Out:
    inverse,
):
    """Z = A^-1 in panels laid out like those of its factors: Z_kk and Z_Rk lower, Z_kR upper."""
    symmetric = program[SYMMETRIC] != 0
    for s in range(program[SUPERNODES] - 1, -1, -1):
        at = program[program[STARTS_AT] + s]
        p, q, lower, upper = program[at], program[at + 1], program[at + 3], program[at + 4]
        targets, target_at = targets_of(program, s)
        pivots, m = program[at + 5], p + q
        at += PANEL_FIELDS
        for _ in range(targets):
            target_at = _gather(program, target_at, p, m, inverse, work)
        if q > 0:  # all pivots together: wide products
            known = p * m + p
            _clear(work, p, m, q, p)
            subtract_product(work, p, m, work, known, m, arena, lower + p, 1, m, q, p, q)
            if not symmetric:
                _clear(work, p * m, m, p, q)
                subtract_product(work, p * m, m, arena, upper, p, work, known, 1, m, p, q, q)
        i = p
        for b in range(pivots - 1, -1, -1):
            i -= program[at + b]
            w = program[at + b]
            _invert_pivot(arena, lower, upper, p, q, i, w, program[SYMMETRIC], work)
        copy_block(inverse, lower, m, work, 0, m, m, p)
        copy_block(inverse, upper, p, work, p * m, m, p, q)


@kernel
def _gather(program, at, p, m, inverse, work):
    """Z_RR <- its blocks in the panels of one target; returns the place after it."""
    t_lower, t_m, t_upper, t_p = program[at], program[at + 1], program[at + 2], program[at + 3]
    columns, runs = program[at + 5], program[at + 6]
    at += TARGET_FIELDS
    for c in range(columns):
        c_from, c_size, c_to = program[at + 3 * c], program[at + 3 * c + 1], program[at + 3 * c + 2]
        for r in range(runs):
            r_from, r_size = program[at + 3 * r], program[at + 3 * r + 1]
            r_to = program[at + 3 * r + 2]
            copy_block(
                work, (p + c_from) * m + p + r_from, m,
                inverse, t_lower + c_to * t_m + r_to, t_m, r_size, c_size,
            )  # fmt: skip
            if r >= columns:  # the same pivots as rows, the later ones as columns
                copy_block(
                    work, (p + r_from) * m + p + c_from, m,
                    inverse, t_upper + (r_to - t_p) * t_p + c_to, t_p, c_size, r_size,
                )  # fmt: skip
    return at + 3 * runs


@kernel
def _invert_pivot(arena, lower, upper, p, q, i, w, symmetric, work):
    """Z_Rk, Z_kR and Z_kk of the pivot block in rows i to i + w, R its own panel's rest and q rows.

    The products of the q x q part of Z_RR with L_Rk and W_kR are there already.
    """
    m = p + q
    right, rest = p - i - w, m - i - w
    d = lower + i * m + i
    outer_l, outer_w = lower + i * m + p, upper + i
    inner_l, inner_w = d + w, d + w * m
    corner = i * m + i
    below, across, known = corner + w, corner + w * m, corner + w * m + w
    if right > 0:
        _clear(work, below, m, right, w)
        subtract_product(work, below, m, work, known, m, arena, inner_l, 1, m, rest, w, right)
        if q > 0:
            z = p * m + i + w
            subtract_product(work, below, m, work, z, m, arena, outer_l, 1, m, right, w, q)
    if rest > 0:
        unscaled = m * m
        copy_block(work, unscaled, rest, work, below, m, rest, w)
        assign_product(work, below, m, work, unscaled, rest, arena, d, 1, m, rest, w, w)
    if symmetric != 0:
        for r in range(rest):
            for c in range(w):
                work[across + r * m + c] = work[below + c * m + r]
            if symmetric == HERMITIAN:
                conjugate(work, across + r * m, w)
    elif right > 0:
        _clear(work, across, m, w, right)
        subtract_product(work, across, m, arena, inner_w, m, work, known, 1, m, w, rest, right)
        if q > 0:
            z = (i + w) * m + p
            subtract_product(work, across, m, arena, outer_w, p, work, z, 1, m, w, right, q)
    copy_block(work, corner, m, arena, d, m, w, w)
    if right > 0:
        subtract_product(work, corner, m, arena, inner_w, m, work, below, 1, m, w, w, right)
    if q > 0:
        z = i * m + p
        subtract_product(work, corner, m, arena, outer_w, p, work, z, 1, m, w, w, q)
    if symmetric != 0:
        for c in range(w):
            for r in range(c):
                work[corner + c * m + r] = work[corner + r * m + c]
            if symmetric == HERMITIAN:
                conjugate(work, corner + c * m, c)
                drop_imaginary(work, corner + c * (m + 1), 1, 1)


@kernel
def _clear(work, at, ld, rows, columns):
    """C <- 0."""
    for c in range(columns):
        work[at + c * ld : at + c * ld + rows] = 0.0


@kernel
def unload(
    # Tables:
    program,
    # In:
    arena,
    # Out:
    values,
):
    """The user's blocks <- panels; of a symmetric matrix the later node's rows only."""
    at = program[LOAD_AT]
    for _ in range(program[LOADS]):
        rows = program[at + 1]
        copy_block(
            values,
            program[at],
            rows,
            arena,
            program[at + 3],
            program[at + 4],
            rows,
            program[at + 2],
        )
        at += LOAD_FIELDS


@kernel
def mirror_blocks(
    # Tables (as in BlockGraph):
    size,
    neighbor_start,
    neighbor,
    block_at,
    # Place of (j, i) among the neighbours for each (i, j), and of each node in the elimination:
    reverse,
    position,
    # In:
    hermitian,
    # Out:
    values,
):
    """Block (i, j) <- block (j, i)^T, or (j, i)^H, where node i is eliminated before node j."""
    for i in range(size.size):
        for e in range(neighbor_start[i], neighbor_start[i + 1]):
            j = neighbor[e]
            if position[i] < position[j]:
                to, source = block_at[e], block_at[reverse[e]]
                for c in range(size[j]):
                    for r in range(size[i]):
                        values[to + c * size[i] + r] = values[source + r * size[j] + c]
                if hermitian:
                    conjugate(values, to, size[i] * size[j])
