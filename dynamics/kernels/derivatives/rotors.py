"""Changes of the impulses of rotors and stiff forces: see `rows.rotor`, `rows.stiff_forces`."""

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.layout import (
    ARMATURE,
    BODIES,
    CONTROL,
    FIRST_ROW,
    GAIN,
    GROUP_AT,
    GROUP_FIELDS,
    IMPLICIT_DAMPING,
    IMPLICIT_STIFFNESS,
    JOINTS,
    N_ROWS,
    ROTORS,
    ROW_AT,
    ROW_CONSTANT_AT,
    ROW_FIELDS,
    ROW_SIZE,
    TWIST,
    A,
    B,
)
from dynamics.kernels.derivatives.interval_parts import add_force_change, row_rate
from dynamics.kernels.rows.curvature import hessian
from dynamics.kernels.rows.rotor import way
from dynamics.kernels.rows.stiff_forces import part_of, stiff_force


@kernel
def spin_changes(
    # Tables:
    plan,
    constant,
    # In:
    h,
    node,
    trial,
    end,
    dz,
    dz_next,
    dc,
    # Work:
    curvature,
    # Out:
    out,
    length,
):  # fmt: skip
    """out <- out + scale d(a (way / h) G^T) along dz, dz_next and dc; scale is -1, 1 at the end.

    At the start the impulses -h f G^T of `stiff_forces` are there, too.

    Column k of ``out`` starts at ``k length``.
    """
    n, columns, scale = plan[BODIES], dz.shape[0], 1.0 if end else -1.0
    work, H, along = curvature.work, curvature.H, curvature.along
    G, G_next = node.G, trial.G
    for j in range(12):
        along[j] = 0.0
    for k in range(plan[JOINTS], plan[JOINTS] + plan[ROTORS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        a, b = plan[group + A], plan[group + B]
        for row in range(plan[group + FIRST_ROW], plan[group + FIRST_ROW] + plan[group + N_ROWS]):
            c, at = plan[ROW_CONSTANT_AT] + row * ROW_SIZE, 12 * row
            inertia = scale * constant[c + ARMATURE] / h
            force = inertia * way(constant, c, node.g[row], trial.g[row])
            hard = soft = aimed = 0.0
            if not end:
                push, cut = stiff_force(plan, constant, h, row, node.g, trial.g)
                part = scale * part_of(plan, h, node.g)
                force -= part * push
                if cut == 0.0:
                    soft = part / h * constant[c + IMPLICIT_DAMPING]
                    hard = part * constant[c + IMPLICIT_STIFFNESS]
                    aimed = -part * constant[c + GAIN]
            inertia += soft
            if inertia == 0.0 and hard == 0.0 and force == 0.0:
                continue
            index = plan[plan[ROW_AT] + row * ROW_FIELDS + CONTROL]
            pose, matrix = (trial.pose, trial.matrix) if end else (node.pose, node.matrix)
            hessian(plan, constant, k, row, pose, matrix, work, H)
            for col in range(columns):
                change = row_rate(G_next, at, a, b, n, dz_next[col]) - row_rate(
                    G, at, a, b, n, dz[col]
                )
                here, slopes = (dz_next[col], G_next) if end else (dz[col], G)
                add_force_change(a, b, n, H, slopes, at, force, along, here, col * length, out)
                part = inertia * change + hard * row_rate(G_next, at, a, b, n, dz_next[col])
                if aimed != 0.0 and index >= 0 and dc.shape[1] > 0:
                    part += aimed * dc[col, index]
                for i in range(12):
                    body = a if i < 6 else b
                    if body < n:
                        out[col * length + TWIST * body + i % 6] += part * slopes[at + i]
