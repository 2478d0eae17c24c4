"""Numeric factorization of supernodes that are one small node each: the first-touch program.

The same factors in the same arena as `ldu` makes, without a pass that clears and loads the panels:
the first update of a block reads the user's block and writes the panel, and a block that nothing
updates is read where it is. Chains, trees, ladders and small nets spend as long in loading as in
arithmetic otherwise. It takes the first ``nodes`` supernodes, which are all or those at the bottom
of the elimination tree: these update loaded panels of the others, too. Where all are single rows,
`scalar_ldu` has tables of its own.

The program of one node, in addition to its panel, read forwards:

=========  =====================================================================================
node       p, q, first, lower and upper of its panel; (neighbours, diagonal)
neighbour  (rows, place among the q rows, first row, source of L, source of U)
update     (source, its leading dimension, destination, its leading dimension) for each pair of
           neighbours (i, j), j outermost, i >= j only when symmetric: A_ij <- source - L_i W_j
=========  =====================================================================================

A source is a place in values, or -1 - a place in the arena: the panel itself, or zeros for fill-in.
"""

import numpy as np

from graphsys.kernels.base.jit import inlined, lazy
from graphsys.kernels.base.layout import (
    FIRST,
    GROWTH,
    NEIGHBOUR_FIELDS,
    NODAL_AT,
    NODE_FIELDS,
    NODES,
    PIVOT_RATIO,
    REFINED,
    REPEATED,
    ROWS,
    STARTS_AT,
    SUPERNODES,
    SYMMETRIC,
    UPDATE_FIELDS,
    WEAK_BLOCK,
    WEAKEST,
    WORK_AT,
)
from graphsys.kernels.base.pointers import pointer
from graphsys.kernels.blocks.blocks import invert_small
from graphsys.kernels.blocks.growth import pivot_growth
from graphsys.kernels.blocks.nodes import eliminate_node
from graphsys.kernels.blocks.prefetch import AHEAD, fetch_block, is_far
from graphsys.kernels.blocks.weak import is_weak, scale_weak_node


@inlined
def factorize_nodal(
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
    # In and out:
    x,
):
    """L, D^-1, W of A = L D W; as `ldu.factorize`, for real numbers.

    Unless x, a vector in elimination order, is None it becomes D^-1 L^-1 x, L having D on its
    diagonal.
    """
    rule = program[REFINED]
    return factorize_by(program, rule, values, tolerance, magnitude, arena, info, x)


@inlined
def factorize_by(program, rule, values, tolerance, magnitude, arena, info, x):
    """`factorize_nodal` with a rule of its own for weak pivot blocks: see `weak.is_weak`."""
    rows = program[ROWS]
    table, largest, original = pointer(program, 0), pointer(magnitude, 0), pointer(magnitude, rows)
    ratios = pointer(magnitude, 2 * rows)
    starts, count, own = program[STARTS_AT], program[NODES], rows
    if count < program[SUPERNODES]:
        own = program[program[starts + count] + FIRST]
    for k in range(own):
        largest[k] = 0.0
        original[k] = np.inf
    symmetric = program[SYMMETRIC] != 0
    zeros, block = program[WORK_AT], program[WORK_AT] + WEAK_BLOCK
    arena[zeros : zeros + 8] = 0.0
    smallest = 1.0
    info[WEAKEST], info[GROWTH] = 0.0, 0.0
    at = program[NODAL_AT]
    far = is_far(values.size + arena.size, arena)
    ahead, waiting = at, count if far else 0
    for step in range(count):
        while waiting > 0 and count - waiting < step + AHEAD:
            ahead = _fetch_node(program, ahead + REPEATED, table[ahead], values, symmetric)
            waiting -= 1
        panel = at
        at += REPEATED
        neighbours, source = table[at], table[at + 1]
        w, first, lower = table[panel], table[panel + 2], table[panel + 3]
        m = w + table[panel + 1]
        if source >= 0:
            ratio = invert_small(
                arena, lower, m, values, source, w, arena, block, magnitude, first, w
            )
        else:
            ratio = invert_small(
                arena, lower, m, arena, lower, m, arena, block, magnitude, first, w
            )
        if not (ratio > tolerance):
            info[PIVOT_RATIO] = ratio
            return first + 1
        ratios[first] = ratio  # for `partial_update`
        if ratio < smallest:
            smallest = ratio
            info[WEAKEST] = first
        scaled = neighbours > 0 and is_weak(rule, ratio, arena, lower, m, w, zeros)
        if scaled:
            scale_weak_node(arena, values, program, panel, at, symmetric)
        eliminate_node(arena, values, program, panel, at, magnitude, rows, symmetric, scaled, x)
        pairs = neighbours * (neighbours + 1) // 2 if symmetric else neighbours * neighbours
        at += NODE_FIELDS + NEIGHBOUR_FIELDS * neighbours + UPDATE_FIELDS * pairs
    info[PIVOT_RATIO], info[GROWTH] = smallest, pivot_growth(program, magnitude)
    return 0


@lazy("int")
def _fetch_node(program, at, w, values, symmetric):
    """Ask for the user's blocks that a node of w rows reads; returns the place of the next node."""
    count = program[at]
    fetch_block(values, program[at + 1], w * w)
    at += NODE_FIELDS
    last = at + NEIGHBOUR_FIELDS * count
    update = last
    for j in range(at, last, NEIGHBOUR_FIELDS):
        fetch_block(values, program[j + 3], w * program[j])
        if not symmetric:
            fetch_block(values, program[j + 4], w * program[j])
        for i in range(j if symmetric else at, last, NEIGHBOUR_FIELDS):
            fetch_block(values, program[update], program[i] * program[j])
            update += UPDATE_FIELDS
    return update
