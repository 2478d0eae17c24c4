"""Steps of the dual-quaternion variational integrator: Newton's method, half kicks, whole runs.

A pose is seven numbers at ``pose[at]``: position in the world, quaternion; a momentum six at
``p[at]``: angular about the reference point and linear, along the body's axes.
"""

import math

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.quaternion import cross, dot, load3, load4, multiply, normalized, rotate
from dynamics.kernels.dual_quaternion.equations import (
    ANCHOR,
    CHANGE,
    CHI,
    CLOSE,
    DRAG,
    IMPLICIT,
    ITERATIONS,
    MATRIX,
    NODE,
    NOISE,
    NOT_FINITE,
    POINT,
    RESIDUAL,
    SOLVED,
    TARGET,
    TOO_LARGE,
    UNSOLVED,
    ZETA,
    M,
    W,
    Z,
    energy_norm,
    jacobian,
    joint_gap,
    joint_slope,
    limit_turn,
    momentum,
    node_wrench,
    product6,
    relative_pose,
    solve_pivoted,
    translation,
)


@kernel
def target(table, h, p, p_at, work):
    """(h/2) (p_k + (h/2) (w_k - D W p_k)): the right-hand side, at ``work[TARGET]``."""
    product6(table, W, p, p_at, work, CHI)
    product6(table, DRAG, work, CHI, work, TARGET)
    for i in range(6):
        work[TARGET + i] = 0.5 * h * (p[p_at + i] + 0.5 * h * (work[NODE + i] - work[TARGET + i]))


@kernel
def equations(table, jointed, position, orientation, work):
    """[A; B](z) - target - G^T nu, and g(z), at ``work[CHANGE]``; their Jacobian after these."""
    n = 9 if jointed else 6
    momentum(table, work, Z, 1.0, work, ZETA, work, CHANGE)
    jacobian(table, work, Z, work, ZETA, work, MATRIX, n)
    for i in range(6):
        work[CHANGE + i] -= work[TARGET + i]
    if jointed:
        a, nu = load3(table, POINT), load3(work, Z + 6)
        moment = cross(a, nu)  # G = [-S(a), I] along the axes of the step's start
        for i in range(3):
            work[CHANGE + i] -= moment[i]
            work[CHANGE + 3 + i] -= nu[i]
        for i in range(9):
            for k in range(6, 9):
                work[MATRIX + 9 * i + k] = -1.0 if k == i + 3 else 0.0
        work[MATRIX + 7], work[MATRIX + 8] = a[2], -a[1]
        work[MATRIX + 15], work[MATRIX + 17] = -a[2], a[0]
        work[MATRIX + 24], work[MATRIX + 25] = a[1], -a[0]
        joint_gap(table, position, orientation, work, Z, work, CHANGE + 6)
        joint_slope(table, work, Z, work, MATRIX + 54, 9)
    return n


@kernel
def rounding_of_joint(table, position):
    """x^T M x of changes x by which rounding alone may miss the joint."""
    a, c = load3(table, POINT), load3(table, ANCHOR)
    reach = dot(a, a) + dot(c, c) + dot(position, position)
    total = 0.0
    for i in range(6):
        total += (1.0 if i < 3 else reach) * table[M + 7 * i]
    return total * NOISE * NOISE


@kernel
def newton(table, jointed, position, orientation, work):
    """z of [A; B](z) = target + G^T nu, g(z) = 0; status and iterations."""
    product6(table, W, work, TARGET, work, Z)  # (5.11): exact where nothing turns
    work[Z + 6], work[Z + 7], work[Z + 8] = 0.0, 0.0, 0.0
    if not math.isfinite(energy_norm(table, work, Z)):
        return NOT_FINITE, 0
    phi = load3(work, Z)
    if dot(phi, phi) >= 1.0:
        return TOO_LARGE, 0
    limit_turn(work, Z)
    floor = rounding_of_joint(table, position) if jointed else 0.0
    for iteration in range(1, ITERATIONS + 1):
        n = equations(table, jointed, position, orientation, work)
        sign = solve_pivoted(n, work, MATRIX, work, CHANGE)
        for i in range(n):
            work[Z + i] -= work[CHANGE + i]
        limit_turn(work, Z)
        change, size = energy_norm(table, work, CHANGE), energy_norm(table, work, Z)
        work[RESIDUAL] = math.sqrt(change / size) if size > 0.0 else 0.0
        if change <= CLOSE * CLOSE * size + floor:
            # Beyond the fold of the momenta of a step the determinant is negative.
            return (SOLVED if sign > 0.0 else TOO_LARGE), iteration
        if sign == 0.0:
            return UNSOLVED, iteration
    return UNSOLVED, ITERATIONS


@kernel
def advance(
    # Tables:
    table, jointed, h,
    # In:
    pose, at, p, p_at,
    # Work, with the wrench of the node at `work[NODE]`:
    work,
    # Out:
    next_at, p_next_at,
):  # fmt: skip
    """Pose of the next node and P^+(z) = (2/h) [A'; B'], the momentum before its half kick."""
    position, orientation = load3(pose, at), load4(pose, at + 3)
    target(table, h, p, p_at, work)
    status, iterations = newton(table, jointed, position, orientation, work)
    if status != SOLVED:
        return status, iterations
    f_a, f_b = relative_pose(work, Z)
    moved = rotate(orientation, translation(f_a, f_b))
    q = normalized(multiply(orientation, f_a))
    for i in range(3):
        pose[next_at + i] = position[i] + moved[i]
    for i in range(4):
        pose[next_at + 3 + i] = q[i]
    momentum(table, work, Z, -1.0, work, ZETA, p, p_next_at)
    for i in range(6):
        p[p_next_at + i] *= 2.0 / h
    return status, iterations


@kernel
def run(
    # Tables:
    table, jointed, n_forces, n_springs, h,
    # In and out: row k is node k, row 0 is given
    pose, p, iterations,
    # Work:
    work,
):  # fmt: skip
    """p_k+1 = (I + h D W / 2)^-1 (P^+(z_k) + (h/2) w_k+1) for all nodes; steps made, status."""
    node_wrench(table, n_forces, n_springs, load3(pose, 0), load4(pose, 3), work, NODE)
    for k in range(iterations.size):
        at, p_at = 7 * (k + 1), 6 * (k + 1)
        status, iterations[k] = advance(
            table, jointed, h, pose, at - 7, p, p_at - 6, work, at, p_at
        )
        if status != SOLVED:
            return k, status
        node_wrench(table, n_forces, n_springs, load3(pose, at), load4(pose, at + 3), work, NODE)
        for i in range(6):
            work[TARGET + i] = p[p_at + i] + 0.5 * h * work[NODE + i]
        product6(table, IMPLICIT, work, TARGET, p, p_at)
    return iterations.size, SOLVED
