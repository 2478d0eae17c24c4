"""What sensors read at many states: places on bodies, their velocities, specific forces, wrenches.

A place is a body, -1 for the world, with a point (from the centre of mass, body frame) and an
orientation in its frame. Forces act at the start of the last interval, beyond order 2 (``middle``)
in its middle.
"""

import math

from dynamics.kernels.base.jit import kernel, pointer
from dynamics.kernels.base.layout import (
    BODIES,
    FIRST_ROW,
    GROUP_AT,
    GROUP_FIELDS,
    N_ROWS,
    POSE,
    TWIST,
    A,
    B,
)
from dynamics.kernels.base.quaternion import cross, load3, load4, multiply, rotate, rotate_back
from dynamics.kernels.observables.measure import placed
from dynamics.kernels.rows.poses import rotation_matrix
from dynamics.kernels.rows.rows import evaluate

#: Length of an interval, s, below which there was none.
NO_INTERVAL = 1e-12


@kernel
def added(a, h, b):
    """A + h b."""
    return a[0] + h * b[0], a[1] + h * b[1], a[2] + h * b[2]


@kernel
def pose_of(state, body):
    """Position and orientation of a body or the world."""
    if body < 0:
        return (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
    return load3(state, POSE * body), load4(state, POSE * body + 3)


@kernel
def turn_of(h, omega):
    """Turn [s, phi] in an interval of length h: theory/step (1)."""
    x, y, z = 0.5 * h * omega[0], 0.5 * h * omega[1], 0.5 * h * omega[2]
    return math.sqrt(max(0.0, 1.0 - x * x - y * y - z * z)), x, y, z


@kernel
def swept(q, turn, a):
    """Q(q) (Q(turn) - 1) a, without cancellation."""
    v = turn[1], turn[2], turn[3]
    x, y, z = cross(v, a)
    u = cross(v, (x, y, z))
    s = turn[0]
    return rotate(q, (2.0 * (s * x + u[0]), 2.0 * (s * y + u[1]), 2.0 * (s * z + u[2])))


@kernel
def interval_twists(n, state, body):
    """V and omega of the last interval, and of the one before it."""
    at = (POSE + TWIST) * n + TWIST * body
    before = at + TWIST * n
    return load3(state, at), load3(state, at + 3), load3(state, before), load3(state, before + 3)


@kernel
def pose_at_force(n, state, body, length, middle):
    """Position and orientation where the forces of the last interval act."""
    x, q = pose_of(state, body)
    v, omega, v_before, before = interval_twists(n, state, body)
    if middle:
        v, omega = added(v, 1.0, v_before), added(omega, 1.0, before)
        length *= 0.25
    return added(x, -length, v), multiply(q, turn_of(-length, omega))


@kernel
def poses(states, body, point, orientation, out):
    """out[k] <- position and orientation of a place."""
    arm, turned = load3(point, 0), load4(orientation, 0)
    for k in range(states.shape[0]):
        x, q = pose_of(states[k], body)
        place, q = added(x, 1.0, rotate(q, arm)), multiply(q, turned)
        for i in range(3):
            out[k, i] = place[i]
        for i in range(4):
            out[k, 3 + i] = q[i]


@kernel
def velocities(states, twists, body, point, orientation, local, out):
    """out[k] <- velocity and angular velocity of a place, along its own axes or the world's."""
    arm, turned = load3(point, 0), load4(orientation, 0)
    for k in range(states.shape[0]):
        v = omega = (0.0, 0.0, 0.0)
        if body >= 0:
            _, q = pose_of(states[k], body)
            v, omega = load3(twists[k], TWIST * body), load3(twists[k], TWIST * body + 3)
            v = added(v, 1.0, rotate(q, cross(omega, arm)))
            if local:
                v, omega = rotate_back(multiply(q, turned), v), rotate_back(turned, omega)
            else:
                omega = rotate(q, omega)
        for i in range(3):
            out[k, i], out[k, 3 + i] = v[i], omega[i]


@kernel
def specific_forces(
    # In:
    n,
    states,
    intervals,
    middle,
    body,
    point,
    orientation,
    gravity,
    # Out:
    out,
):  # fmt: skip
    """out[k] <- acceleration minus gravity of a place on one of n bodies, along its axes."""
    arm, turned, g = load3(point, 0), load4(orientation, 0), load3(gravity, 0)
    for k in range(states.shape[0]):
        f, q = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
        if body >= 0:
            length, spacing = intervals[k, 0], intervals[k, 1]
            _, now = pose_of(states[k], body)
            _, q = pose_at_force(n, states[k], body, length, middle)
            v, omega, v_before, before = interval_twists(n, states[k], body)
            if middle:  # Velocities at both ends of the interval
                spacing = length
                first = multiply(now, turn_of(-0.5 * length, added(omega, 1.0, before)))
                v = added(v, 1.0, rotate(now, cross(omega, arm)))
                v_before = added(v_before, 1.0, rotate(first, cross(before, arm)))
            else:  # Mean velocities of both intervals
                v = added(v, 1.0 / length, swept(q, turn_of(length, omega), arm))
                earlier = 2.0 * spacing - length
                if abs(earlier) > NO_INTERVAL:
                    way = swept(q, turn_of(-earlier, before), arm)
                    v_before = added(v_before, -1.0 / earlier, way)
                else:
                    v_before = added(v_before, 1.0, rotate(q, cross(before, arm)))
            v = added(v, -1.0, v_before)
            f = v[0] / spacing, v[1] / spacing, v[2] / spacing
        f = rotate_back(multiply(q, turned), added(f, -1.0, g))
        for i in range(3):
            out[k, i] = f[i]


@kernel
def wrenches(
    # Tables:
    plan,
    constant,
    group,
    # In:
    states,
    intervals,
    middle,
    forces,
    place,
    # Work:
    node,
    # Out:
    out,
):  # fmt: skip
    """out[k] <- force and torque of a joint's rows on its child, at a place on it.

    ``place`` is a point and an orientation, ``forces`` are those of its rows at each state.
    """
    pose, matrix, g, G = node
    plan, constant = pointer(plan, 0), pointer(constant, 0)
    pose, matrix, g, G = pointer(pose, 0), pointer(matrix, 0), pointer(g, 0), pointer(G, 0)
    n, at = plan[BODIES], plan[GROUP_AT] + group * GROUP_FIELDS
    arm, turned = load3(place, 0), load4(place, 3)
    for k in range(states.shape[0]):
        placed(n, states[k], pose, matrix)
        for side in range(2):
            body = plan[at + A] if side == 0 else plan[at + B]
            if body < n:
                x, q = pose_at_force(n, states[k], body, intervals[k, 0], middle)
                for i in range(3):
                    pose[POSE * body + i] = x[i]
                for i in range(4):
                    pose[POSE * body + 3 + i] = q[i]
                rotation_matrix(pose, POSE * body + 3, matrix, 9 * body)
        evaluate(plan, constant, group, group + 1, pose, matrix, g, G)
        for j in range(6):
            out[k, j] = 0.0
        for i in range(plan[at + N_ROWS]):
            for j in range(6):
                out[k, j] += forces[k, i] * G[12 * (plan[at + FIRST_ROW] + i) + 6 + j]
        force = rotate_back(load4(pose, POSE * plan[at + B] + 3), load3(out[k], 0))
        torque = rotate_back(turned, added(load3(out[k], 3), -1.0, cross(arm, force)))
        force = rotate_back(turned, force)
        for i in range(3):
            out[k, i], out[k, 3 + i] = force[i], torque[i]
