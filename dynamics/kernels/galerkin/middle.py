"""Newton's method of a Galerkin-Lobatto step from one matrix of the size of order 2.

With the inertia M at rest and the rows' slopes G from the middle of the interval for all stages,
the matrix of a step is

    [K (x) M, -1 (x) G^T; 1 (x) G, 0],     K^bg = -sum_a w^a b^ab b^ag.

Taking K^-1 to the equations of bodies leaves the matrix of order 2, [M, -G^T; G, 0], with s
right-hand sides; it gives impulses nu, and ``mu^b = sum_g K^bg nu^g``. What is left out is of the
size of the angle that bodies turn in half an interval: that part of the error an iteration leaves.

Source: J. C. Butcher, On the implementation of implicit Runge-Kutta methods, BIT 16 (1976), for
stages that share a matrix; K^-1 is that of Fan, Schultz and Murphey (see `tree.newton`).
"""

from dynamics.kernels.base.jit import kernel, pointer
from dynamics.kernels.base.layout import BODIES, ROWS, TWIST
from dynamics.kernels.galerkin.body import node
from dynamics.kernels.interval.matrix import assemble, relax
from dynamics.kernels.rows.wrench import add_user_slopes
from graphsys.kernels import factorize, solve

#: Regularization of loops in units of that of order 2.
FIRMER = 1e3


@kernel
def factorize_middle(plan, constant, program, s, h, x, nodes, f, solver):
    """Factors of the matrix of order 2 in the middle; 0, or 1 + the row of a singular pivot."""
    values, magnitude, arena, _, status, _ = solver
    early, late = node(plan, nodes, s // 2), node(plan, nodes, (s + 1) // 2)
    assemble(plan, constant, h / s, x, early.g, early.G, late.G, values)
    add_user_slopes(plan, h / s, f, values)
    relax(plan, constant, FIRMER, values)
    return factorize(program, values, 1e-15, magnitude, arena, status)


@kernel
def solve_middle(plan, program, s, stages, r, solver, dx):
    """The change dx of all stages for the residual r."""
    inertia, inverse, theta = stages
    _, _, arena, work, _, mixed = solver
    n, rows = TWIST * plan[BODIES], plan[ROWS]
    unknowns = n + rows
    for g in range(s):
        to, part = pointer(mixed, g * unknowns), inverse[g * s]
        for i in range(n):
            to[i] = part * r[i]
        for b in range(1, s):
            left, part = pointer(r, b * unknowns), inverse[g * s + b]
            for i in range(n):
                to[i] += part * left[i]
        to, left = pointer(to, n), pointer(r, g * unknowns + n)
        for i in range(rows):
            to[i] = theta[i] * left[i]
    solve(program, arena, mixed, s, work, mixed)
    for b in range(s):
        to, found = pointer(dx, b * unknowns), pointer(mixed, b * unknowns)
        for i in range(n):
            to[i] = found[i]
        to, part = pointer(to, n), inertia[b * s]
        for i in range(rows):
            to[i] = part * mixed[n + i]
        for g in range(1, s):
            found, part = pointer(mixed, g * unknowns + n), inertia[b * s + g]
            for i in range(rows):
                to[i] += part * found[i]
        for i in range(rows):
            to[i] *= theta[i]
