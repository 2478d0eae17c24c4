"""Numeric factorization where every supernode is one small node: the first-touch program.

The same factors in the same arena as `ldu` makes, without a pass that clears and loads the panels:
the first update of a block reads the user's block and writes the panel, and a block that nothing
updates is read where it is. Chains, trees, ladders and small nets spend as long in loading as in
arithmetic otherwise.

The program of one node, read forwards:

=========  =====================================================================================
node       (p, q, first, lower, upper, neighbours, diagonal, watched)
neighbour  (rows, place among the q rows, first row, source of L, source of U, watched)
update     (source, its leading dimension, destination, its leading dimension) for each pair of
           neighbours (i, j), i outermost, j <= i only when symmetric: A_ij <- source - L_i W_j
=========  =====================================================================================

A source is a place in values, `HERE` for the panel itself, or `NOTHING` for fill-in.
"""

from .blocks import (
    assign_product,
    copy_block,
    invert_small,
    product_from,
    product_from_diagonal,
)
from .jit import kernel
from .noise import largest_entry, raise_noise, suspicion
from .program import NARROW_AT, ROWS, SUPERNODES, SYMMETRIC, WORK_AT

HERE, NOTHING = -1, -2
NODE_FIELDS, NEIGHBOUR_FIELDS, UPDATE_FIELDS = 8, 6, 4


@kernel
def factorize_narrow(
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
    """L, D^-1, W of A = L D W; as `ldu.factorize`, for real numbers."""
    magnitude[:] = 0.0
    symmetric = program[SYMMETRIC] != 0
    zeros, noise, scratch = program[WORK_AT], program[ROWS], 2 * program[ROWS]
    worst = 1.0 / tolerance
    info[2] = 0.0
    arena[zeros : zeros + 8] = 0.0
    smallest = 1.0
    info[1] = 0.0
    at = program[NARROW_AT]
    for _ in range(program[SUPERNODES]):
        w, q, first = program[at], program[at + 1], program[at + 2]
        lower, upper, neighbours = program[at + 3], program[at + 4], program[at + 5]
        source, watched = program[at + 6], program[at + 7] != 0
        m = w + q
        at += NODE_FIELDS
        if source >= 0:
            ratio = invert_small(arena, lower, m, values, source, w, magnitude, first, w)
        else:
            ratio = invert_small(arena, lower, m, arena, lower, m, magnitude, first, w)
        if not (ratio > tolerance):
            info[0] = ratio
            return first + 1
        magnitude[first] = ratio  # of use no more, but for `changed`
        if ratio < smallest:
            smallest = ratio
            info[1] = first
        if watched:
            doubt = suspicion(magnitude, noise + first, arena, lower, m, w)
            magnitude[noise + first] = doubt
            if doubt > worst:
                worst = doubt
                info[2] = first + 1
        update = at + NEIGHBOUR_FIELDS * neighbours
        for entry in range(at, update, NEIGHBOUR_FIELDS):
            rows, place = program[entry], program[entry + 1]
            left, right = lower + w + place, upper + place * w
            source = program[entry + 3]
            if source >= 0:
                copy_block(arena, left, m, values, source, rows, rows, w)
            source = program[entry + 4]
            if symmetric:  # W = D^-1 L^T
                assign_product(arena, right, w, arena, lower, m, arena, left, m, 1, w, rows, w)
            elif source >= 0:
                assign_product(arena, right, w, arena, lower, m, values, source, 1, w, w, rows, w)
            else:
                assign_product(arena, right, w, arena, lower, m, arena, right, 1, w, w, rows, w)
        last = update
        largest = 0.0  # among the entries of D^-1
        for row in range(at, last, NEIGHBOUR_FIELDS):
            rows, left = program[row], lower + w + program[row + 1]
            if program[row + 5] != 0:
                if largest == 0.0:
                    largest = largest_entry(magnitude, scratch, arena, lower, m, w)
                raise_noise(
                    magnitude, noise + program[row + 2], scratch, arena, left, m, rows, w, largest
                )
            for column in range(at, row + 1 if symmetric else last, NEIGHBOUR_FIELDS):
                columns, right = program[column], upper + program[column + 1] * w
                source, lds = program[update], program[update + 1]
                to, ld = program[update + 2], program[update + 3]
                update += UPDATE_FIELDS
                if source >= 0:
                    _update(
                        arena, to, ld, values, source, lds, left, m, right, w, rows, columns,
                        row == column, magnitude, program[row + 2],
                    )  # fmt: skip
                else:
                    place = to if source == HERE else zeros
                    _update(
                        arena, to, ld, arena, place, lds, left, m, right, w, rows, columns,
                        row == column, magnitude, program[row + 2],
                    )  # fmt: skip
        at = update
    info[0] = smallest
    return 0


@kernel
def _update(
    arena, to, ld, s, s_at, lds, left, m, right, w, rows, columns, diagonal, magnitude, first
):  # fmt: skip
    """A_ij <- source - L_i W_j; on the diagonal the magnitude of the source as well."""
    if diagonal:
        product_from_diagonal(
            arena, to, ld, s, s_at, lds, arena, left, m, arena, right, 1, w,
            rows, columns, w, magnitude, first,
        )  # fmt: skip
    else:
        product_from(
            arena, to, ld, s, s_at, lds, arena, left, m, arena, right, 1, w, rows, columns, w
        )  # fmt: skip
