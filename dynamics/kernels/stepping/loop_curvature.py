"""Change of velocities that rotating constraints of loops cause, theory/loops (4).

On a tree, velocities change with the turns of the bodies. Near a change point, a loop moves its
bodies much faster: its rows rotate by (G_next - G) u, and the impulses nu that follow them,

    [M  -G^T] [dv]   [      0       ]
    [G    0 ] [nu] = [(G_next - G) u]

change velocities by dv with the energy nu^T (G_next - G) u / 2. The factors are those that Newton's
method left. The criterion is symmetric in time, and so are the substeps that it causes: energy does
not drift. (The change of velocities at both ends is not: substeps by that criterion gave a double
pendulum more than half of its energy in an hour.)
"""

from dynamics.kernels.base.jit import inlined, kernel, lazy
from dynamics.kernels.base.layout import (
    BODIES,
    BODY_SIZE,
    EQUATION,
    FIRST_ROW,
    GROUP_AT,
    GROUP_FIELDS,
    INERTIA,
    JOINTS,
    MASS,
    N_ROWS,
    REGULARIZATION,
    ROW_CONSTANT_AT,
    ROW_SIZE,
    ROWS,
    TWIST,
    A,
    B,
)
from dynamics.kernels.base.quaternion import dot, load3, multiply_matrix
from dynamics.kernels.interval.planar import solve_system
from dynamics.kernels.rows.forces import inner

#: Part of the kinetic energy above which the change of velocities has an interval cut.
LARGEST_ROTATION_ENERGY = 0.05
#: Part of the largest turn below which the criterion is not evaluated: four-bar windows take 1.1 to
#: 1.16 times as long if it always is.
CHECKED_TURN = 0.5


@kernel
def on_loop(constant, plan, row):
    """True for a row of a rigid loop; only these are regularized."""
    return constant[plan[ROW_CONSTANT_AT] + row * ROW_SIZE + REGULARIZATION] > 0.0


@lazy("bool")
def rotated_constraints(plan, constant, G, G_next, u, r):
    """r <- (0, (G_next - G) u) for rows on loops, 0 for others; whether there are any."""
    n = plan[BODIES]
    start, found = TWIST * n, False
    for i in range(start + plan[ROWS]):
        r[i] = 0.0
    for k in range(plan[JOINTS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        a, b = plan[group + A], plan[group + B]
        row, equation = plan[group + FIRST_ROW], plan[group + EQUATION]
        if not on_loop(constant, plan, equation):
            continue
        found = True
        for i in range(plan[group + N_ROWS]):
            at, to = 12 * (row + i), start + equation + i
            if a < n:
                r[to] += inner(G_next, at, u, TWIST * a) - inner(G, at, u, TWIST * a)
            if b < n:
                r[to] += inner(G_next, at + 6, u, TWIST * b) - inner(G, at + 6, u, TWIST * b)
    return found


@inlined
def rotation_energy(plan, constant, program, node, trial, u, solver):
    """dv^T M dv / u^T M u of an interval with velocities u; the factors are those of its matrix."""
    rhs, solution = solver.rhs, solver.solution
    if not rotated_constraints(plan, constant, node.G, trial.G, u, rhs):
        return 0.0
    solve_system(program, solver, rhs, solution)
    change = energy = 0.0
    n = plan[BODIES]
    for i in range(TWIST * n, TWIST * n + plan[ROWS]):
        change += solution[i] * rhs[i]
    for i in range(n):
        c = i * BODY_SIZE
        v, omega = load3(u, TWIST * i), load3(u, TWIST * i + 3)
        energy += constant[c + MASS] * dot(v, v)
        energy += dot(omega, multiply_matrix(constant, c + INERTIA, omega))
    return change / energy
