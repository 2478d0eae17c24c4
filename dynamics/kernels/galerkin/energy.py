"""Energy balance of orders 4 and 6: between ends of intervals, work by Lobatto quadrature."""

import math

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.layout import (
    BODIES,
    BODY_SIZE,
    CONTROLS,
    FIRST_ROW,
    GRAVITY,
    GROUP_AT,
    GROUP_FIELDS,
    GROUPS,
    JOINTS,
    MASS,
    N_ROWS,
    POSE,
    PULL,
    ROW_CONSTANT_AT,
    ROW_SIZE,
    STIFFNESS,
    TWIST,
    WRENCHES,
)
from dynamics.kernels.base.quaternion import dot, load3
from dynamics.kernels.base.settings import BARRIER, ENERGY_SHARE
from dynamics.kernels.base.step_info import HELD, KINETIC, LARGEST_WORK, UNEXPLAINED_INTERVALS
from dynamics.kernels.galerkin.body import node
from dynamics.kernels.interval.energy_balance import kinetic, rises, unseen
from dynamics.kernels.rows.forces import drive
from dynamics.kernels.rows.wrench import add_user_impulses


@kernel
def potential(plan, constant, g):
    """Energy of springs and users' potentials at a node."""
    total = 0.0
    for k in range(plan[JOINTS], plan[GROUPS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        for row in range(plan[group + FIRST_ROW], plan[group + FIRST_ROW] + plan[group + N_ROWS]):
            c = plan[ROW_CONSTANT_AT] + row * ROW_SIZE
            total += (0.5 * constant[c + STIFFNESS] * g[row] + constant[c + PULL]) * g[row]
    return total


@kernel
def put_in(plan, constant, rule, time, h, inputs, nodes, f):
    """Work of controls, given wrenches and users' functions in an interval."""
    m, total = TWIST * plan[BODIES], 0.0
    for a in range(rule.s + 1):
        here = node(plan, nodes, a)
        for i in range(m):
            f[i] = 0.0
        drive(plan, constant, 1.0, here.G, inputs.control[a], inputs.wrench, f)
        if plan[WRENCHES] > 0:
            f[m] = time + rule.place[a] * h
            add_user_impulses(plan, 1.0, here.pose, f, here.speed, f)
        power = 0.0
        for i in range(m):
            power += f[i] * here.speed[i]
        total += h * rule.weights[a] * power
    return total


@kernel
def energy_rises(plan, constant, settings, rule, inputs, part, nodes, p, f, info):
    """Whether an interval, or all up to it, give more than the bound; p are momenta at its end.

    Of velocities V + d, off by d as slopes of polynomials are at their ends, and p = M V + G^T nu
    the kinetic energy is (V + d) . p - T(V + d) = T(V) - T(d), up to nu . G d.
    """
    n, h, given = plan[BODIES], part.length, 0.0
    first, last = node(plan, nodes, 0), node(plan, nodes, rule.s)
    if plan[CONTROLS] > 0 or plan[WRENCHES] > 0 or inputs.wrench.size > 0:
        given = put_in(plan, constant, rule, part.time, h, inputs, nodes, f)
    for i in range(n):
        weight = load3(constant, i * BODY_SIZE + GRAVITY)
        way = dot(weight, load3(last.pose, POSE * i)) - dot(weight, load3(first.pose, POSE * i))
        given += constant[i * BODY_SIZE + MASS] * way
    after, _ = kinetic(plan, constant, 0.0, last.G, last.speed, f)
    before, after = info[KINETIC], -after
    for i in range(TWIST * n):
        after += p[i] * last.speed[i]
    held = after + potential(plan, constant, last.g)
    if part.moving:
        gain = held - given - info[HELD]
        explained = unseen(plan, constant, settings[BARRIER])
        if gain > abs(settings[ENERGY_SHARE]) * (after + before) + explained:
            if settings[ENERGY_SHARE] > 0.0 or not part.last:
                return True
            info[UNEXPLAINED_INTERVALS] += 1.0
        info[LARGEST_WORK] = max(info[LARGEST_WORK], gain)
    return rises(plan, constant, settings, part, after, held - given, held, math.inf, info)
