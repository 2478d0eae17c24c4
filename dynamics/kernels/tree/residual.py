"""Discrete Euler-Lagrange equations of a tree in O(n): theory/tree_integrator (2) (Fan, Alg. 1)."""

import math

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.quaternion import cross, load3
from dynamics.kernels.tree.algebra import (
    add6,
    add_block9,
    add_spatial,
    apply,
    apply_transposed,
    dot6,
    load6,
    load9,
    product,
    skew,
    transposed,
)
from dynamics.kernels.tree.layout import (
    AREA,
    AXIS,
    BODY,
    BODY_FRAME,
    CENTER,
    DAMPING,
    DRAG,
    DRAGGED,
    IMPULSE,
    INERTIA,
    MASS,
    MOMENTUM,
    NO_WRENCH,
    ORIGIN,
    RECORD,
    REST,
    ROTATION,
    SPEED,
    STIFFNESS,
    TURN,
    VELOCITY,
    WORLD_FRAME,
    WRENCH,
)
from dynamics.kernels.tree.motion import point


@kernel
def evaluate_equations(
    # Tables:
    tree, rule, loads,
    # In:
    h, k, p,
    # Work, with the constraints' wrenches in it:
    motion,
    # Out, (s + 1, n): residuals, then the next momentum; r holds the constraints' joint impulses
    q, r,
):  # fmt: skip
    """r^a = [a = 0] p + S . Omega + sum_b w^b b^ba S^b . mu^b + Q^a (7)."""
    parent, body, gravity = tree
    weights, slope = rule[0], rule[1]
    force, wrench, stride = loads
    n, nodes = parent.size, weights.size
    for i in range(n - 1, -1, -1):
        at = i * BODY
        first = i * nodes * RECORD
        up = parent[i]
        for a in range(nodes):
            m = first + a * RECORD
            add6(momentum_of(body, at, motion, m), motion, m + MOMENTUM)
            _add_wrench(
                body, at, gravity, weights[a] * h,
                wrench, k * stride[2] + a * stride[3] + 6 * i, stride[4], motion, m,
            )  # fmt: skip
            add6(load6(motion, m + WRENCH), motion, m + IMPULSE)
            if up >= 0:
                above = (up * nodes + a) * RECORD
                add6(load6(motion, m + MOMENTUM), motion, above + MOMENTUM)
                add6(load6(motion, m + IMPULSE), motion, above + IMPULSE)
        for a in range(nodes):
            m = first + a * RECORD
            wh = weights[a] * h
            spring = body[at + STIFFNESS] * (q[a * n + i] - body[at + REST])
            joint = force[k * stride[0] + a * stride[1] + i] - spring
            joint -= body[at + DAMPING] * motion[m + SPEED]
            # S . ad_v^T mu = (ad_v S) . mu
            joint += dot6(load6(motion, m + TURN), load6(motion, m + MOMENTUM))
            total = wh * joint + dot6(load6(motion, m + AXIS), load6(motion, m + IMPULSE))
            for b in range(nodes):
                other = first + b * RECORD
                total += (weights[b] * slope[b * nodes + a]) * dot6(
                    load6(motion, other + AXIS), load6(motion, other + MOMENTUM)
                )
            if a == 0:
                total += p[i]
            r[a * n + i] += total


@kernel
def momentum_of(body, at, motion, m):
    """Ad_g^-T M Ad_g^-1 v of one body."""
    turn, origin = load9(motion, m + ROTATION), load3(motion, m + ORIGIN)
    w, u = _body_velocity(turn, origin, load6(motion, m + VELOCITY))
    return _in_world(turn, origin, _multiply_inertia(body, at + INERTIA, w, u))


@kernel
def _body_velocity(turn, origin, v):
    """Ad_g^-1 v as angular and linear velocity."""
    w = (v[0], v[1], v[2])
    x, y, z = cross(origin, w)
    return (
        apply_transposed(turn, w),
        apply_transposed(turn, (v[3] - x, v[4] - y, v[5] - z)),
    )


@kernel
def _multiply_inertia(body, at, w, u):
    """M [w, u] for the 6 x 6 matrix M at ``body[at:at + 36]``."""
    v = (w[0], w[1], w[2], u[0], u[1], u[2])
    return (
        dot6(load6(body, at), v), dot6(load6(body, at + 6), v), dot6(load6(body, at + 12), v),
        dot6(load6(body, at + 18), v), dot6(load6(body, at + 24), v), dot6(load6(body, at + 30), v),
    )  # fmt: skip


@kernel
def _in_world(turn, origin, wrench):
    """Ad_g^-T F."""
    f = apply(turn, (wrench[3], wrench[4], wrench[5]))
    t = apply(turn, (wrench[0], wrench[1], wrench[2]))
    x, y, z = cross(origin, f)
    return t[0] + x, t[1] + y, t[2] + z, f[0], f[1], f[2]


@kernel
def _add_wrench(body, at, gravity, wh, wrench, wrench_at, frame, motion, m):
    """F <- F + w^a h (gravity, drag and external wrench) on one body."""
    turn, origin = load9(motion, m + ROTATION), load3(motion, m + ORIGIN)
    weight = wh * body[at + MASS]
    f = (weight * gravity[0], weight * gravity[1], weight * gravity[2])
    x, y, z = cross(point(motion, m, body, at + CENTER), f)
    add6((x, y, z, f[0], f[1], f[2]), motion, m + WRENCH)
    if body[at + DRAGGED] != 0.0:
        w, u = _body_velocity(turn, origin, load6(motion, m + VELOCITY))
        a, b, c, d, e, g = _multiply_inertia(body, at + DRAG, w, u)
        add6(
            _in_world(turn, origin, (-wh * a, -wh * b, -wh * c, -wh * d, -wh * e, -wh * g)),
            motion,
            m + WRENCH,
        )
    if body[at + AREA] != 0.0:
        w, u = _body_velocity(turn, origin, load6(motion, m + VELOCITY))
        center = load3(body, at + CENTER)
        x, y, z = cross(w, center)
        u = (u[0] + x, u[1] + y, u[2] + z)
        scale = -wh * body[at + AREA] * math.sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2])
        f = (scale * u[0], scale * u[1], scale * u[2])
        x, y, z = cross(center, f)
        add6(_in_world(turn, origin, (x, y, z, f[0], f[1], f[2])), motion, m + WRENCH)
    if frame != NO_WRENCH:
        a, b, c, d, e, g = load6(wrench, wrench_at)
        load = (wh * a, wh * b, wh * c, wh * d, wh * e, wh * g)
        if frame == BODY_FRAME:
            load = _in_world(turn, origin, load)
        else:
            x, y, z = cross(origin, (load[3], load[4], load[5]))
            load = (load[0] + x, load[1] + y, load[2] + z, load[3], load[4], load[5])
        add6(load, motion, m + WRENCH)


@kernel
def add_wrench_slopes(tree, loads, wh, k, a, i, falls, motion, m, out, slopes):
    """W and D_2 F of one body: spatial variation of F = W eta + D_2 F dv (B.3b), added to ``out``.

    ``slopes`` are where W starts, -1 to leave it out, where D_2 F starts, and the length of their
    rows; ``falls`` whether gravity counts. With F given in the world's frame at a point x,
    W = [x^ f^ 0; f^ 0].
    """
    body, gravity = tree[1], tree[2]
    by_place, by_speed, width = slopes
    at = i * BODY
    turn, origin = load9(motion, m + ROTATION), load3(motion, m + ORIGIN)
    if body[at + DRAGGED] != 0.0:
        add_spatial(body, at + DRAG, turn, origin, -wh, out, by_speed, width)
    if body[at + AREA] != 0.0:
        _add_area_slope(body, at, wh, turn, origin, motion, m, out, by_speed, width)
    if by_place < 0:
        return
    if falls:
        weight = wh * body[at + MASS]
        f = (weight * gravity[0], weight * gravity[1], weight * gravity[2])
        add_fixed_force(point(motion, m, body, at + CENTER), f, out, by_place, width)
    wrench, stride = loads[1], loads[2]
    if stride[4] == WORLD_FRAME:
        load = load6(wrench, k * stride[2] + a * stride[3] + 6 * i)
        f = (wh * load[3], wh * load[4], wh * load[5])
        add_fixed_force(origin, f, out, by_place, width)
        # A couple t that keeps its direction: ad^D of [t, 0]
        t = (wh * load[0], wh * load[1], wh * load[2])
        add_block9(skew(t), 1.0, out, by_place, width)


@kernel
def add_fixed_force(x, f, out, at, width):
    """out <- out + [x^ f^ 0; f^ 0]: a force that keeps its direction, on a point of the body."""
    hat = skew(f)
    add_block9(product(skew(x), hat), 1.0, out, at, width)
    add_block9(hat, 1.0, out, at + 3 * width, width)


@kernel
def _add_area_slope(body, at, wh, turn, origin, motion, m, out, by_speed, width):
    """D_2 F of F = -c |u| u at the center of mass: df = -c (|u| 1 + u u^T / |u|) du."""
    center = point(motion, m, body, at + CENTER)
    v = load6(motion, m + VELOCITY)
    x, y, z = cross((v[0], v[1], v[2]), center)
    u = (v[3] + x, v[4] + y, v[5] + z)
    size = math.sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2])
    if size == 0.0:
        return
    scale = -wh * body[at + AREA]
    e = scale / size
    C = (
        scale * size + e * u[0] * u[0], e * u[0] * u[1], e * u[0] * u[2],
        e * u[1] * u[0], scale * size + e * u[1] * u[1], e * u[1] * u[2],
        e * u[2] * u[0], e * u[2] * u[1], scale * size + e * u[2] * u[2],
    )  # fmt: skip
    # du = dv_lin - x^ dw, and F = [x^ f, f]
    hat = skew(center)
    shifted = product(hat, C)
    add_block9(product(shifted, hat), -1.0, out, by_speed, width)
    add_block9(shifted, 1.0, out, by_speed + 3, width)
    add_block9(transposed(shifted), 1.0, out, by_speed + 3 * width, width)
    add_block9(C, 1.0, out, by_speed + 3 * width + 3, width)
