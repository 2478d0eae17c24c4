"""Poses and velocities of the bodies of a tree at the nodes of a step (Fan 2018, Algorithm 1)."""

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.quaternion import cross, load3
from dynamics.kernels.tree.algebra import ad, apply, exponential, load6, load9, product, store6
from dynamics.kernels.tree.layout import (
    AXIS,
    BODY,
    CENTER,
    HOME_ORIGIN,
    HOME_ROTATION,
    MASS,
    MOMENTUM,
    ORIGIN,
    RECORD,
    REST,
    ROTATION,
    SPEED,
    STIFFNESS,
    TURN,
    TWIST,
    VELOCITY,
)


@kernel
def evaluate_motion(tree, rule, h, q, motion):
    """g, S, v, dS/dt of every body at every node, dq/dt^a = sum_b b^ab q^b / h."""
    parent, body, _ = tree
    weights, slope = rule[0], rule[1]
    n, nodes = parent.size, weights.size
    for i in range(n):
        for a in range(nodes):
            speed = 0.0
            for b in range(nodes):
                speed += slope[a * nodes + b] * q[b * n + i]
            place(parent[i], body, i, a, nodes, q[a * n + i], speed / h, motion)


@kernel
def move_at(tree, q, speed, motion):
    """g, S, v, dS/dt of every body at one node from q and dq/dt."""
    parent, body, _ = tree
    for i in range(parent.size):
        place(parent[i], body, i, 0, 1, q[i], speed[i], motion)


@kernel
def move_at_all(tree, q, still, motion):
    """g, S of every body at many configurations at rest, a record of each after the other."""
    n = tree[0].size
    for k in range(q.size // n):
        move_at(tree, q[k * n : (k + 1) * n], still, motion[k * n * RECORD : (k + 1) * n * RECORD])


@kernel
def place(up, body, i, a, nodes, q, speed, motion):
    """g_i = g_up g_up,i(0) exp(S_i q), S = Ad_g S_i, v_i = v_up + S dq/dt, dS/dt = ad_v S."""
    at = i * BODY
    out = (i * nodes + a) * RECORD
    turn, origin = exponential(body, at + TWIST, q)
    home = load9(body, at + HOME_ROTATION)
    x, y, z = apply(home, origin)
    origin = (
        x + body[at + HOME_ORIGIN],
        y + body[at + HOME_ORIGIN + 1],
        z + body[at + HOME_ORIGIN + 2],
    )
    turn = product(home, turn)
    v = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    if up >= 0:
        above = (up * nodes + a) * RECORD
        home = load9(motion, above + ROTATION)
        x, y, z = apply(home, origin)
        origin = (
            x + motion[above + ORIGIN],
            y + motion[above + ORIGIN + 1],
            z + motion[above + ORIGIN + 2],
        )
        turn = product(home, turn)
        v = load6(motion, above + VELOCITY)
    s = apply(turn, load3(body, at + TWIST))
    x, y, z = cross(origin, s)
    d, e, f = apply(turn, load3(body, at + TWIST + 3))
    axis = (s[0], s[1], s[2], x + d, y + e, z + f)
    v = (
        v[0] + axis[0] * speed, v[1] + axis[1] * speed, v[2] + axis[2] * speed,
        v[3] + axis[3] * speed, v[4] + axis[4] * speed, v[5] + axis[5] * speed,
    )  # fmt: skip
    for k in range(9):
        motion[out + ROTATION + k] = turn[k]
    motion[out + ORIGIN] = origin[0]
    motion[out + ORIGIN + 1] = origin[1]
    motion[out + ORIGIN + 2] = origin[2]
    store6(axis, motion, out + AXIS)
    store6(v, motion, out + VELOCITY)
    store6(ad(v, axis), motion, out + TURN)
    motion[out + SPEED] = speed
    for k in range(MOMENTUM, SPEED):  # momentum, impulse and wrench are summed up from zero
        motion[out + k] = 0.0


@kernel
def point(motion, record, body, at):
    """x = p + R c in the world's frame, for the point c at ``body[at:at + 3]`` of a body."""
    x, y, z = apply(load9(motion, record + ROTATION), load3(body, at))
    return (
        x + motion[record + ORIGIN],
        y + motion[record + ORIGIN + 1],
        z + motion[record + ORIGIN + 2],
    )


@kernel
def potential(tree, q, motion):
    """V = sum_i -m g . x_i + k (q_i - rest)^2 / 2, for a motion of one node."""
    parent, body, gravity = tree
    energy = 0.0
    for i in range(parent.size):
        at = i * BODY
        x, y, z = point(motion, i * RECORD, body, at + CENTER)
        energy -= body[at + MASS] * (gravity[0] * x + gravity[1] * y + gravity[2] * z)
        stretch = q[i] - body[at + REST]
        energy += 0.5 * body[at + STIFFNESS] * stretch * stretch
    return energy
