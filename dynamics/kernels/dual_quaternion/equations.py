"""Dual-quaternion variational integrator: momenta of a step, their Jacobian, joint, wrench, step.

The unknown of a step is ``z = [Phi; Psi]`` of the relative pose f = [s, Phi] + eps [t, Psi] with
s = sqrt(1 - Phi . Phi) and t = -Phi . Psi / s (eq. 4.29 of Xu and Halse 2016). M is the 6 x 6
inertia about the reference point, row-major at ``table[M]``; docs/theory/dual_quaternion.md has
the equations.
"""

import math

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.quaternion import cross, dot, load3, multiply, rotate, rotate_back

# Statuses of a step.
SOLVED, UNSOLVED, NOT_FINITE, TOO_LARGE = 0, 1, 2, 3

# Places in the table of a body: M, W (twist = W momentum), drag D, (I + h D W / 2)^-1, constant
# wrench, body point and world point of the joint, then world forces and springs.
M, W, DRAG, IMPLICIT, WRENCH, POINT, ANCHOR, FORCES = 0, 36, 72, 108, 144, 150, 153, 156
FORCE_SIZE, SPRING_SIZE = 6, 8  # force and point; stiffness, length, point and anchor

# Places in the work array: z and the joint's impulse, their change, right-hand side, node wrench,
# zeta, twist, matrix of up to 9 x 9, relative size of the last change.
Z, CHANGE, TARGET, NODE, ZETA, CHI, MATRIX, RESIDUAL, WORK_SIZE = 0, 9, 18, 24, 30, 36, 42, 123, 124

MOST_TURN = 0.95  # largest |Phi| that Newton's method may try
CLOSE = 1e-8  # relative change after which the error is its square: rounding
NOISE = 8 * 2.0**-52  # a change of the pose that rounding makes
ITERATIONS = 30


@kernel
def product6(table, at, x, x_at, y, y_at):
    """y = A x for the 6 x 6 matrix A at ``table[at]``."""
    for i in range(6):
        total = 0.0
        for k in range(6):
            total += table[at + 6 * i + k] * x[x_at + k]
        y[y_at + i] = total


@kernel
def energy_norm(table, x, x_at):
    """x^T M x."""
    total = 0.0
    for i in range(6):
        row = 0.0
        for k in range(6):
            row += table[M + 6 * i + k] * x[x_at + k]
        total += row * x[x_at + i]
    return total


@kernel
def scaled_turn(s, sign, phi, a):
    """(s I + sign S(Phi)) a."""
    x, y, z = cross(phi, a)
    return s * a[0] + sign * x, s * a[1] + sign * y, s * a[2] + sign * z


@kernel
def momentum(table, z, z_at, sign, zeta, zeta_at, out, at):
    """[A; B] of (4.31), (4.32) for sign 1, and of the step's end, (4.33), (4.34), for sign -1."""
    product6(table, M, z, z_at, zeta, zeta_at)
    phi, psi = load3(z, z_at), load3(z, z_at + 3)
    zeta_a, zeta_b = load3(zeta, zeta_at), load3(zeta, zeta_at + 3)
    s = math.sqrt(1.0 - dot(phi, phi))
    t = -dot(phi, psi) / s
    u, v = scaled_turn(t, sign, psi, zeta_b), scaled_turn(s, sign, phi, zeta_a)
    out[at], out[at + 1], out[at + 2] = u[0] + v[0], u[1] + v[1], u[2] + v[2]
    out[at + 3], out[at + 4], out[at + 5] = scaled_turn(s, sign, phi, zeta_b)


@kernel
def jacobian(table, z, z_at, zeta, zeta_at, matrix, at, stride):
    """d[A; B]/dz column by column: (5.2) to (5.5), corrected."""
    phi, psi = load3(z, z_at), load3(z, z_at + 3)
    zeta_a, zeta_b = load3(zeta, zeta_at), load3(zeta, zeta_at + 3)
    s = math.sqrt(1.0 - dot(phi, phi))
    t = -dot(phi, psi) / s
    bend = cross(phi, cross(phi, psi))
    for k in range(6):
        column = M + k  # of M, hence of zeta's derivative
        da = (table[column], table[column + 6], table[column + 12])
        db = (table[column + 18], table[column + 24], table[column + 30])
        r = k % 3
        e = (1.0 * (r == 0), 1.0 * (r == 1), 1.0 * (r == 2))
        # What zeta's change does is the same in all columns.
        p, q = scaled_turn(t, 1.0, psi, db), scaled_turn(s, 1.0, phi, da)
        x = (p[0] + q[0], p[1] + q[1], p[2] + q[2])
        y = scaled_turn(s, 1.0, phi, db)
        if k < 3:  # Phi changes s, t and S(Phi); printed with the wrong sign of Psi in dt
            ds, dt = -phi[r] / s, -(bend[r] + psi[r]) / s**3
            p, q = scaled_turn(ds, 1.0, e, zeta_a), scaled_turn(ds, 1.0, e, zeta_b)
            x = (
                x[0] + p[0] + dt * zeta_b[0],
                x[1] + p[1] + dt * zeta_b[1],
                x[2] + p[2] + dt * zeta_b[2],
            )
            y = (y[0] + q[0], y[1] + q[1], y[2] + q[2])
        else:  # Psi changes t and S(Psi)
            p = scaled_turn(-phi[r] / s, 1.0, e, zeta_b)
            x = (x[0] + p[0], x[1] + p[1], x[2] + p[2])
        for i in range(3):
            matrix[at + stride * i + k] = x[i]
            matrix[at + stride * (i + 3) + k] = y[i]


@kernel
def relative_pose(z, z_at):
    """f_a and f_b of (4.29)."""
    phi, psi = load3(z, z_at), load3(z, z_at + 3)
    s = math.sqrt(1.0 - dot(phi, phi))
    return (s, phi[0], phi[1], phi[2]), (-dot(phi, psi) / s, psi[0], psi[1], psi[2])


@kernel
def translation(f_a, f_b):
    """2 V(f_b conj(f_a)): where f puts the origin."""
    twice = multiply(f_b, (f_a[0], -f_a[1], -f_a[2], -f_a[3]))
    return 2.0 * twice[1], 2.0 * twice[2], 2.0 * twice[3]


@kernel
def joint_gap(table, position, orientation, z, z_at, out, at):
    """g(z) = l' + Q' a - c in the axes of the step's start."""
    f_a, f_b = relative_pose(z, z_at)
    moved, turned = translation(f_a, f_b), rotate(f_a, load3(table, POINT))
    c = load3(table, ANCHOR)
    l = position  # noqa: E741 - the position's letter
    away = rotate_back(orientation, (l[0] - c[0], l[1] - c[1], l[2] - c[2]))
    for i in range(3):
        out[at + i] = away[i] + moved[i] + turned[i]


@kernel
def joint_slope(table, z, z_at, matrix, at, stride):
    """dg/dz = 2 Q(f_a) V(f_a' df_b + f_b' df_a - a x f_a' df_a)."""
    phi, psi = load3(z, z_at), load3(z, z_at + 3)
    f_a, f_b = relative_pose(z, z_at)
    s = f_a[0]
    bend = cross(phi, cross(phi, psi))
    back_a, back_b = (s, -f_a[1], -f_a[2], -f_a[3]), (f_b[0], -f_b[1], -f_b[2], -f_b[3])
    a = load3(table, POINT)
    for k in range(6):
        r = k % 3
        x, y, w = 1.0 * (r == 0), 1.0 * (r == 1), 1.0 * (r == 2)
        if k < 3:
            da = (-phi[r] / s, x, y, w)
            db = (-(bend[r] + psi[r]) / s**3, 0.0, 0.0, 0.0)
        else:
            da = (0.0, 0.0, 0.0, 0.0)
            db = (-phi[r] / s, x, y, w)
        theta, p, q = multiply(back_a, da), multiply(back_a, db), multiply(back_b, da)
        turn = cross(a, (theta[1], theta[2], theta[3]))
        slope = rotate(f_a, (p[1] + q[1] - turn[0], p[2] + q[2] - turn[1], p[3] + q[3] - turn[2]))
        for i in range(3):
            matrix[at + stride * i + k] = 2.0 * slope[i]


@kernel
def solve_pivoted(n, matrix, at, x, x_at):
    """x <- A^-1 x by rows pivoted in place; gives the sign of det A, 0 where it is singular."""
    sign = 1.0
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(matrix[at + n * i + k]) > abs(matrix[at + n * best + k]):
                best = i
        pivot = matrix[at + n * best + k]
        if not abs(pivot) > 0.0:  # also where it is not a number
            return 0.0
        if best != k:
            sign = -sign
            for j in range(k, n):
                held = matrix[at + n * k + j]
                matrix[at + n * k + j] = matrix[at + n * best + j]
                matrix[at + n * best + j] = held
            held = x[x_at + k]
            x[x_at + k] = x[x_at + best]
            x[x_at + best] = held
        if pivot < 0.0:
            sign = -sign
        for i in range(k + 1, n):
            ratio = matrix[at + n * i + k] / pivot
            for j in range(k + 1, n):
                matrix[at + n * i + j] -= ratio * matrix[at + n * k + j]
            x[x_at + i] -= ratio * x[x_at + k]
    for k in range(n - 1, -1, -1):
        total = x[x_at + k]
        for j in range(k + 1, n):
            total -= matrix[at + n * k + j] * x[x_at + j]
        x[x_at + k] = total / matrix[at + n * k + k]
    return sign


@kernel
def limit_turn(z, z_at):
    """Phi <- Phi min(1, 0.95 / |Phi|): within the half turn of the parameters (5.11)."""
    phi = load3(z, z_at)
    length = math.sqrt(dot(phi, phi))
    if length > MOST_TURN:
        for i in range(3):
            z[z_at + i] *= MOST_TURN / length


@kernel
def node_wrench(table, n_forces, n_springs, position, orientation, out, at):
    """Wrench of the built-in forces about the reference point, along the body's axes."""
    for i in range(6):
        out[at + i] = table[WRENCH + i]
    for k in range(n_forces + n_springs):
        if k < n_forces:
            place = FORCES + FORCE_SIZE * k
            a, force = load3(table, place + 3), load3(table, place)
        else:
            place = FORCES + FORCE_SIZE * n_forces + SPRING_SIZE * (k - n_forces)
            a, c = load3(table, place + 2), load3(table, place + 5)
            b = rotate(orientation, a)
            d = (c[0] - position[0] - b[0], c[1] - position[1] - b[1], c[2] - position[2] - b[2])
            length = math.sqrt(dot(d, d))
            pull = table[place]
            if table[place + 1] != 0.0:  # a spring of length 0 has a direction everywhere
                pull *= 1.0 - table[place + 1] / length
            force = (pull * d[0], pull * d[1], pull * d[2])
        f = rotate_back(orientation, force)
        torque = cross(a, f)
        for i in range(3):
            out[at + i] += torque[i]
            out[at + 3 + i] += f[i]
