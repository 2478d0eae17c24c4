"""Substitution with the factors of eight systems at once; see `batch.ldu`.

``x`` holds, for each right-hand side and row in elimination order, a vector of eight systems; then
comes the room of `panel_room`.
"""

from graphsys.kernels.base.jit import inlined, kernel
from graphsys.kernels.base.layout import (
    ONE_TRIANGLE,
    ORDER_AT,
    ROWS,
    STARTS_AT,
    SUPERNODES,
    UPPER,
)
from graphsys.kernels.base.widths import LANES
from graphsys.kernels.blocks.batch_blocks import (
    assign_lanes,
    assign_lanes_transposed,
    gather_lanes,
    scatter_lanes,
    subtract_lanes,
    subtract_lanes_transposed,
)
from graphsys.kernels.blocks.blocks import copy_block
from graphsys.kernels.blocks.supernodes import (
    backward_one_triangle,
    backward_supernode,
    backward_transposed_supernode,
    forward_supernode,
    forward_transposed_supernode,
)


@inlined
def _apply_inverse(x, at, rows, arena, d, m, count, w, work):
    """x_k <- D_k^-1 x_k in every lane."""
    assign_lanes(x, at, rows, arena, d, m, x, at, 1, rows, w, count, w)


@inlined
def _apply_inverse_transposed(x, at, rows, arena, d, m, count, w, work):
    """x_k <- D_k^-T x_k in every lane."""
    assign_lanes_transposed(x, at, rows, arena, d, m, x, at, 1, rows, w, count, w)


@inlined
def _add_inverse(x, at, rows, work, s, lds, arena, d, m, copy, w, count):
    """X <- X + D^-1 S in every lane."""
    for j in range(count):
        for i in range(s + LANES * j * lds, s + LANES * (j * lds + w)):
            work[i] = -work[i]
    subtract_lanes(x, at, rows, arena, d, m, work, s, 1, lds, w, count, w)


@kernel
def panel_room(program):
    """Vectors after all of x that `backward_eight` needs for each column: a panel's rows."""
    room = 0
    for s in range(program[SUPERNODES] if program[ONE_TRIANGLE] > 0 else 0):
        at = program[program[STARTS_AT] + s]
        room = max(room, program[at] + program[at + 1])
    return room


@kernel
def forward_eight(program, at, arena, base, count, x):
    """z_k = D_k^-1 x_k, x_i <- x_i - L_ik z_k for the supernode whose panel begins at ``at``."""
    forward_supernode(
        program, at, arena, base, x, program[ROWS], count, 0, LANES, LANES,
        subtract_lanes, _apply_inverse,
    )  # fmt: skip


@kernel
def backward_eight(program, arena, base, count, x):
    """x_k = z_k - sum_j W_kj x_j."""
    rows = program[ROWS]
    for s in range(program[SUPERNODES] - 1, -1, -1):
        at = program[program[STARTS_AT] + s]
        if program[at + UPPER] >= 0:
            backward_supernode(
                program, at, arena, base, x, rows, count, LANES, LANES, subtract_lanes
            )
            continue
        backward_one_triangle(
            program, at, arena, base, x, rows, count, x[LANES * rows * count :], LANES, LANES,
            copy_block, subtract_lanes, subtract_lanes_transposed, _add_inverse,
        )  # fmt: skip


@kernel
def forward_transposed_eight(program, arena, base, count, x):
    """x_j <- x_j - W_kj^T x_k, every node before its ancestors."""
    for s in range(program[SUPERNODES]):
        at = program[program[STARTS_AT] + s]
        forward_transposed_supernode(
            program, at, arena, base, x, program[ROWS], count, LANES, LANES,
            subtract_lanes_transposed,
        )  # fmt: skip


@kernel
def backward_transposed_eight(program, arena, base, count, x):
    """x_k = D_k^-T (x_k - sum_i L_ik^T x_i)."""
    for s in range(program[SUPERNODES] - 1, -1, -1):
        at = program[program[STARTS_AT] + s]
        backward_transposed_supernode(
            program, at, arena, base, x, program[ROWS], count, 0, LANES, LANES,
            subtract_lanes_transposed, _apply_inverse_transposed,
        )  # fmt: skip


@kernel
def gather_eight(program, b, first, stride, count, x):
    """X <- b of eight systems in elimination order; b has ``count`` numbers a row, `x` columns."""
    rows, order = program[ROWS], program[ORDER_AT]
    for j in range(count):
        gather_lanes(x, LANES * j * rows, b, first + j, stride, program, order, count, rows)


@kernel
def scatter_eight(program, x, first, stride, count, out):
    """Out <- x, as `gather_eight`."""
    rows, order = program[ROWS], program[ORDER_AT]
    for j in range(count):
        scatter_lanes(x, LANES * j * rows, out, first + j, stride, program, order, count, rows)
