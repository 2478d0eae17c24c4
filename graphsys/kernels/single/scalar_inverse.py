"""Selected inverse of single rows, by the program of `scalar_ldu` (Takahashi's equations)."""

from graphsys.kernels.base.jit import kernel
from graphsys.kernels.base.layout import NODAL_AT, ROWS, SYMMETRIC
from graphsys.kernels.base.pointers import pointer


@kernel
def invert_selected_scalars(
    # Tables:
    program,
    # In:
    arena,
    # Work, as long as the factors:
    inverse,
    # Out:
    values,
):
    """Z = A^-1 where A has entries: Z_Fk = -Z_FF L_Fk D_k^-1, Z_kF = -W_kF Z_FF, F the front of k.

    In the layout of the values of A; of a symmetric matrix, the entries that the program reads.
    Each pair of rows in F is an update of k, whose destination is the place of their entry.
    """
    rows, at = program[ROWS], program[NODAL_AT]
    entries, symmetric = program[at + rows], program[SYMMETRIC] != 0
    starts, upper = pointer(program, at), rows + entries
    at += rows + entries + 2
    diagonal, lefts = pointer(program, at), pointer(program, at + rows)
    at += rows
    rights = pointer(program, at if symmetric else at + entries)
    update = pointer(program, at + (entries if symmetric else 2 * entries))
    f, z, out = pointer(arena, 0), pointer(inverse, 0), pointer(values, 0)
    pair = 0
    for k in range(rows):
        count = starts[k + 1] - starts[k]
        pair += count * (count + 1) // 2 if symmetric else count * count
    for k in range(rows - 1, -1, -1):
        begin, end = starts[k], starts[k + 1]
        count, left, right = end - begin, k + 1, upper
        for e in range(begin, end):
            z[left + e] = z[right + e] = 0.0
        pair -= count * (count + 1) // 2 if symmetric else count * count
        at = 2 * pair
        for j in range(begin, end):
            for i in range(j if symmetric else begin, end):
                known = z[update[at + 1]]
                if update[at] >= 0:
                    out[update[at]] = known
                at += 2
                z[left + i] += known * f[left + j]
                if not symmetric:
                    z[right + j] += known * f[right + i]
                elif i != j:
                    z[left + j] += known * f[left + i]
        pivot = f[k + begin]
        total = pivot
        for e in range(begin, end):
            z[left + e] *= -pivot
            z[right + e] = z[left + e] if symmetric else -z[right + e]
            total -= f[right + e] * z[left + e]
            if lefts[e] >= 0:
                out[lefts[e]] = z[left + e]
            if not symmetric and rights[e] >= 0:
                out[rights[e]] = z[right + e]
        z[k + begin] = total
        if diagonal[k] >= 0:
            out[diagonal[k]] = total
