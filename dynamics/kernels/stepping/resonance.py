"""Substeps against numerical resonance of chains.

The method of an interval is stable for linear vibrations with h omega below 2. From sqrt(2) on it
carries energy from slow motions to fast ones if these are not linear (resonance of fourth order:
Schlick, Mandziuk, Skeel, Srinivas, J. Comput. Phys. 140, 1998). A taut chain of many links then
vibrates more and more, and substeps that follow failures of Newton's method feed the vibration.

We estimate omega by the Rayleigh quotient of the geometric stiffness, which forces have because
their points rotate with the bodies, along the last change of the accelerations. Fast vibrations
dominate that change. The estimate is a mean over all vibrations, below the fastest.
"""

from dynamics.kernels.base.jit import kernel, lazy
from dynamics.kernels.base.lanes import every
from dynamics.kernels.base.layout import (
    BODIES,
    BODY_SIZE,
    CONTACTS,
    EQUATION,
    FIRST_ROW,
    GROUP_AT,
    GROUP_CONSTANT_AT,
    GROUP_FIELDS,
    GROUP_SIZE,
    INERTIA,
    JOINTS,
    MASS,
    N_ROWS,
    NEXT,
    POINT_B,
    POSE,
    TWIST,
    A,
    B,
)
from dynamics.kernels.base.quaternion import dot, load3, multiply_matrix
from dynamics.kernels.base.step_info import CONTRACTION, EQUAL_LENGTHS, STEP_HALVINGS
from dynamics.kernels.interval.predictor import SLOW

#: (h omega)^2 of the intervals above which the next step begins with halves of them, the same where
#: Newton's method has failed, and that of doubled intervals below which it goes back to them.
CALM = 1.0
TROUBLED = 0.5
#: Halvings at which steps begin, at most. If all begin with one interval, chains of 200 links take
#: 1.75 times the factorizations, and their energy grows (tests/dynamics/test_resonance.py).
MOST = 4
#: Least mass, so that velocities that do not change have no frequency.
TINY = 1e-300


@kernel
def second_difference(at, u, past):
    """Three numbers of the second difference of velocities."""
    u_prev, u_before = past[0], past[1]
    return (
        u[at] - 2.0 * u_prev[at] + u_before[at],
        u[at + 1] - 2.0 * u_prev[at + 1] + u_before[at + 1],
        u[at + 2] - 2.0 * u_prev[at + 2] + u_before[at + 2],
    )


@kernel
def geometric_stiffness(matrix, body, force, arm, u, past):
    """Stiffness of a force against a body's turn: (f . r) |theta|^2 - (f . theta) (r . theta)."""
    theta = multiply_matrix(matrix, 9 * body, second_difference(TWIST * body + 3, u, past))
    return dot(force, arm) * dot(theta, theta) - dot(force, theta) * dot(arm, theta)


@lazy("float")
def squared_frequency(plan, constant, h, node, mu, u, past):
    """(h omega)^2 of the bodies' last change of acceleration, joints' forces being G^T mu."""
    pose, matrix, G = node.pose, node.matrix, node.G
    n = plan[BODIES]
    mass = stiffness = 0.0
    for i in range(n):
        c = i * BODY_SIZE
        v, w = second_difference(TWIST * i, u, past), second_difference(TWIST * i + 3, u, past)
        mass += constant[c + MASS] * dot(v, v) + dot(w, multiply_matrix(constant, c + INERTIA, w))
    for k in range(plan[JOINTS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        if plan[group + NEXT] != k:  # forces of a user's function of many bodies have no points
            continue
        a, b = plan[group + A], plan[group + B]
        at, equation = 12 * plan[group + FIRST_ROW] + 6, plan[group + EQUATION]
        x = y = z = 0.0
        for i in range(plan[group + N_ROWS]):
            part, row = mu[equation + i], load3(G, at + 12 * i)
            x += part * row[0]
            y += part * row[1]
            z += part * row[2]
        force = (x, y, z)
        point = load3(constant, plan[GROUP_CONSTANT_AT] + k * GROUP_SIZE + POINT_B)
        arm = multiply_matrix(matrix, 9 * b, point)
        if b < n:
            stiffness += geometric_stiffness(matrix, b, force, arm, u, past)
        if a < n:
            there = (
                pose[POSE * b] + arm[0] - pose[POSE * a],
                pose[POSE * b + 1] + arm[1] - pose[POSE * a + 1],
                pose[POSE * b + 2] + arm[2] - pose[POSE * a + 2],
            )
            stiffness -= geometric_stiffness(matrix, a, force, there, u, past)
    return h * h * stiffness / max(mass, TINY)


@kernel
def choose_halvings(plan, constant, h, failed, node, motion, past, info):
    """info[STEP_HALVINGS] <- halvings that the next step h, or a failed one, begins with."""
    level = int(info[STEP_HALVINGS])
    if plan[CONTACTS] > 0 or info[EQUAL_LENGTHS] < 3.0:
        return
    if level == 0 and not failed and every(info[CONTRACTION] < SLOW):
        return
    rate = squared_frequency(plan, constant, h / (1 << level), node, motion.mu, motion.u, past)
    if rate > (TROUBLED if failed else CALM):
        info[STEP_HALVINGS] = min(level + 1, MOST)
    elif level > 0 and not failed and 4.0 * rate < TROUBLED:
        info[STEP_HALVINGS] = level - 1
