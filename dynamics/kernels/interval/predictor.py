"""Predictor: initial guess of velocities by extrapolation of the last intervals.

It extrapolates linearly and adds parts of the last second and third differences and of the
velocities themselves. Least squares over the last interval give the parts; a ridge keeps them near
those of a parabola if few bodies determine them. If Newton's method was slow, its equations may
have a second solution nearby, to which extrapolated vibrations would lead. Then only slope and
curvature are fitted, and neither grows.
"""

from dynamics.kernels.base.copying import copy_numbers
from dynamics.kernels.base.jit import inlined, kernel, lazy, pointer
from dynamics.kernels.base.lanes import some, where
from dynamics.kernels.base.layout import BODIES, BODY_SIZE, PACE, TWIST
from dynamics.kernels.base.six import load_six, minus, multiplied, nothing, total_of
from dynamics.kernels.base.step_info import (
    CONTRACTION,
    DIFFERENCE_WEIGHTS,
    DIFFERENCE_WEIGHTS_SIZE,
    EQUAL_LENGTHS,
    LAST_LENGTH,
)

#: Contraction of Newton's method above which slope and bend alone are fitted
#: (test_shaking_goes_on_only_where_newton_is_fast).
SLOW = 0.05
#: Part of the last change of velocities, squared, that the one before may leave unexplained with
#: contacts (test_an_impact_does_not_go_on). 0.05 and 0.7 take as many iterations.
ALIKE = 0.25
#: Ridge of the least-squares fit: it keeps the parts near those of a parabola.
RIDGE = 1e-8
#: Least square of a difference.
TINY = 1e-300


@kernel
def differences(i, u, past):
    """Velocity i and its first three differences."""
    u_prev, u_before, u_third = past
    one, two, three = u[i] - u_prev[i], u_prev[i] - u_before[i], u_before[i] - u_third[i]
    bend = one - two
    return u[i], one, bend, bend - (two - three)


@kernel
def predict(n, whole, h, info, u, past, x):
    """x <- velocities extrapolated from the last intervals, if these were as long."""
    if info[LAST_LENGTH] == h and info[EQUAL_LENGTHS] > DIFFERENCE_WEIGHTS_SIZE:
        weights = pointer(info, DIFFERENCE_WEIGHTS)
        p, q, r, s = weights[0], weights[1], weights[2], weights[3]
        for i in range(n):
            a, b, c, d = differences(i, u, past)
            x[i] = p * a + q * b + r * c + s * d
    elif whole or info[LAST_LENGTH] == h:
        u_prev = past[0]
        for i in range(n):
            x[i] = 2.0 * u[i] - u_prev[i]
    else:
        for i in range(n):
            x[i] = u[i]


@inlined
def six_differences(i, u, past):
    """`differences` of six velocities from the i-th on."""
    u_prev, u_before, u_third = past
    now, prev, before = load_six(u, i), load_six(u_prev, i), load_six(u_before, i)
    one, two = minus(now, prev), minus(prev, before)
    bend = minus(one, two)
    return now, one, bend, minus(bend, minus(two, minus(before, load_six(u_third, i))))


@lazy("None")
def fit_bend(n, info, x, u, past):
    """Parts of the first two differences that come nearest to x, at most whole ones."""
    sum_bb = sum_bc = sum_cc = sum_bx = sum_cx = nothing()
    for i in range(0, n, TWIST):
        a, b, c, _ = six_differences(i, u, past)
        left = minus(load_six(x, i), a)
        sum_bb, sum_bc = multiplied(sum_bb, b, b), multiplied(sum_bc, b, c)
        sum_cc, sum_bx = multiplied(sum_cc, c, c), multiplied(sum_bx, b, left)
        sum_cx = multiplied(sum_cx, c, left)
    bb, bc, cc = total_of(sum_bb), total_of(sum_bc), total_of(sum_cc)
    bx, cx = total_of(sum_bx), total_of(sum_cx)
    determinant = bb * cc - bc * bc
    fitted = max(0.0, min(1.0, (cc * bx - bc * cx) / max(determinant, TINY)))
    slope = where(determinant > RIDGE * bb * cc, fitted, 1.0)
    bend = max(-1.0, min(1.0, (cx - slope * bc) / max(cc, TINY)))
    weights = pointer(info, DIFFERENCE_WEIGHTS)
    weights[0], weights[1], weights[2], weights[3] = 1.0, slope, bend, 0.0


@kernel
def fit(n, info, x, u, past):
    """Parts of the velocity and its differences that come nearest to x."""
    sum_aa = sum_ab = sum_ac = sum_ad = sum_ax = nothing()
    sum_bb = sum_bc = sum_bd = sum_bx = nothing()
    sum_cc = sum_cd = sum_cx = sum_dd = sum_dx = nothing()
    for i in range(0, n, TWIST):
        a, b, c, d = six_differences(i, u, past)
        left = minus(minus(minus(load_six(x, i), a), b), c)
        sum_aa, sum_ab = multiplied(sum_aa, a, a), multiplied(sum_ab, a, b)
        sum_ac, sum_ad = multiplied(sum_ac, a, c), multiplied(sum_ad, a, d)
        sum_bb, sum_bc = multiplied(sum_bb, b, b), multiplied(sum_bc, b, c)
        sum_bd, sum_cc = multiplied(sum_bd, b, d), multiplied(sum_cc, c, c)
        sum_cd, sum_dd = multiplied(sum_cd, c, d), multiplied(sum_dd, d, d)
        sum_ax, sum_bx = multiplied(sum_ax, a, left), multiplied(sum_bx, b, left)
        sum_cx, sum_dx = multiplied(sum_cx, c, left), multiplied(sum_dx, d, left)
    aa, ab, ac, ad = total_of(sum_aa), total_of(sum_ab), total_of(sum_ac), total_of(sum_ad)
    bb, bc, bd = total_of(sum_bb), total_of(sum_bc), total_of(sum_bd)
    cc, cd, dd = total_of(sum_cc), total_of(sum_cd), total_of(sum_dd)
    ax, bx, cx, dx = total_of(sum_ax), total_of(sum_bx), total_of(sum_cx), total_of(sum_dx)
    # L D L^T of the normal equations
    more = 1.0 + RIDGE
    aa = aa * more + TINY
    l1, l2, l3 = ab / aa, ac / aa, ad / aa
    bb = bb * more + TINY - l1 * ab
    bc -= l1 * ac
    bd -= l1 * ad
    m2, m3 = bc / bb, bd / bb
    cc = cc * more + TINY - l2 * ac - m2 * bc
    cd -= l2 * ad + m2 * bd
    k3 = cd / cc
    dd = dd * more + TINY - l3 * ad - m3 * bd - k3 * cd
    bx -= l1 * ax
    cx -= l2 * ax + m2 * bx
    dx -= l3 * ax + m3 * bx + k3 * cx
    d = dx / dd
    c = cx / cc - k3 * d
    b = bx / bb - m2 * c - m3 * d
    a = ax / aa - l1 * b - l2 * c - l3 * d
    weights = pointer(info, DIFFERENCE_WEIGHTS)
    weights[0], weights[1], weights[2], weights[3] = 1.0 + a, 1.0 + b, 1.0 + c, d


@kernel
def advance_history(n, h, info, x, u, past):
    """(u, *past) <- (x, u, *past), and the parts that would have guessed x best.

    ``h`` is negative with contacts.
    """
    u_prev, u_before, u_third = past
    if h > 0.0 and info[LAST_LENGTH] == h:
        if info[EQUAL_LENGTHS] >= DIFFERENCE_WEIGHTS_SIZE:
            if some(info[CONTRACTION] > SLOW):
                fit_bend(n, info, x, u, past)
            # test_a_compliant_distance_is_an_implicit_spring_that_no_stiffness_upsets
            elif info[EQUAL_LENGTHS] == DIFFERENCE_WEIGHTS_SIZE or some(info[CONTRACTION] > 0.0):
                fit(n, info, x, u, past)
        info[EQUAL_LENGTHS] = min(info[EQUAL_LENGTHS] + 1.0, DIFFERENCE_WEIGHTS_SIZE + 1.0)
    elif h < 0.0 and info[LAST_LENGTH] == h:
        info[EQUAL_LENGTHS] = min(info[EQUAL_LENGTHS] + 1.0, DIFFERENCE_WEIGHTS_SIZE + 1.0)
    else:
        info[EQUAL_LENGTHS] = 1.0
    info[LAST_LENGTH] = h
    copy_numbers(u_before, 0, u_third, 0, n)
    copy_numbers(u_prev, 0, u_before, 0, n)
    copy_numbers(u, 0, u_prev, 0, n)
    copy_numbers(x, 0, u, 0, n)


@kernel
def part_of_change(plan, constant, u, past):
    """Part of the last change of velocities that is likely to follow: its ratio to the one before.

    At most 1; 0 where the one before does not explain the last one.
    """
    u_prev, u_before, _ = past
    sum_aa = sum_ab = sum_bb = nothing()
    for i in range(plan[BODIES]):
        pace, t = load_six(constant, i * BODY_SIZE + PACE), TWIST * i
        prev = load_six(u_prev, t)
        a = multiplied(nothing(), pace, minus(load_six(u, t), prev))
        b = multiplied(nothing(), pace, minus(prev, load_six(u_before, t)))
        sum_aa, sum_ab = multiplied(sum_aa, a, a), multiplied(sum_ab, a, b)
        sum_bb = multiplied(sum_bb, b, b)
    aa, ab, bb = total_of(sum_aa), total_of(sum_ab), total_of(sum_bb)
    part = max(0.0, min(1.0, ab / (bb + TINY)))
    return part if aa - 2.0 * part * ab + part * part * bb <= ALIKE * aa else 0.0
