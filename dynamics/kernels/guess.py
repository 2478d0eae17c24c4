"""Velocities at which Newton's method starts: those of the last intervals, gone on.

They go on in a line, bent by parts of the last second and third differences and of the velocities
themselves: the parts that would have been best an interval ago (least squares), near those of a
parabola where few bodies tell. Where Newton's method was slow its equations may have a second
solution near by, and shaking that goes on would lead there: then only slope and bend are fitted,
and neither grows.
"""

from .jit import kernel
from .newton import CONTRACTION

# info of a step
LENGTH = 28  # of the last interval, 0 where it was a part of a step
ALIKE = 29  # velocities of intervals of that length; with TERMS + 1 there are parts
PARTS = 31  # of the velocity and its first three differences

TERMS = 4
#: Contraction of Newton's method above which slope and bend alone are fitted.
SLOW = 0.05
#: What holds the parts to those of a parabola, beside what the velocities say.
RIDGE = 1e-8


@kernel
def differences(i, u, past):
    """Velocity i and its first three differences."""
    u_prev, u_before, u_third = past
    one, two, three = u[i] - u_prev[i], u_prev[i] - u_before[i], u_before[i] - u_third[i]
    bend = one - two
    return u[i], one, bend, bend - (two - three)


@kernel
def guess(n, whole, h, info, u, past, x):
    """x <- velocities u as they went on in the last intervals, where these were as long."""
    if info[LENGTH] == h and info[ALIKE] > TERMS:
        p, q, r, s = info[PARTS], info[PARTS + 1], info[PARTS + 2], info[PARTS + 3]
        for i in range(n):
            a, b, c, d = differences(i, u, past)
            x[i] = p * a + q * b + r * c + s * d
    elif whole or info[LENGTH] == h:
        u_prev = past[0]
        for i in range(n):
            x[i] = 2.0 * u[i] - u_prev[i]
    else:
        for i in range(n):
            x[i] = u[i]


@kernel
def fit_bend(n, info, x, u, past):
    """Parts of the first two differences that come nearest to x, at most whole ones."""
    bb = bc = cc = bx = cx = 0.0
    for i in range(n):
        a, b, c, d = differences(i, u, past)
        left = x[i] - a
        bb += b * b
        bc += b * c
        cc += c * c
        bx += b * left
        cx += c * left
    slope, bend, determinant = 1.0, 0.0, bb * cc - bc * bc
    if determinant > RIDGE * bb * cc:
        slope = max(0.0, min(1.0, (cc * bx - bc * cx) / determinant))
    if cc > 0.0:
        bend = max(-1.0, min(1.0, (cx - slope * bc) / cc))
    info[PARTS], info[PARTS + 1], info[PARTS + 2], info[PARTS + 3] = 1.0, slope, bend, 0.0


@kernel
def fit(n, info, x, u, past):
    """Parts of the velocity and its differences that come nearest to x."""
    aa = ab = ac = ad = bb = bc = bd = cc = cd = dd = 0.0
    ax = bx = cx = dx = 0.0
    for i in range(n):
        a, b, c, d = differences(i, u, past)
        left = x[i] - (a + b + c)
        aa += a * a
        ab += a * b
        ac += a * c
        ad += a * d
        bb += b * b
        bc += b * c
        bd += b * d
        cc += c * c
        cd += c * d
        dd += d * d
        ax += a * left
        bx += b * left
        cx += c * left
        dx += d * left
    # L D L^T of the normal equations
    tiny, more = 1e-300, 1.0 + RIDGE
    aa = aa * more + tiny
    l1, l2, l3 = ab / aa, ac / aa, ad / aa
    bb = bb * more + tiny - l1 * ab
    bc -= l1 * ac
    bd -= l1 * ad
    m2, m3 = bc / bb, bd / bb
    cc = cc * more + tiny - l2 * ac - m2 * bc
    cd -= l2 * ad + m2 * bd
    k3 = cd / cc
    dd = dd * more + tiny - l3 * ad - m3 * bd - k3 * cd
    bx -= l1 * ax
    cx -= l2 * ax + m2 * bx
    dx -= l3 * ax + m3 * bx + k3 * cx
    d = dx / dd
    c = cx / cc - k3 * d
    b = bx / bb - m2 * c - m3 * d
    a = ax / aa - l1 * b - l2 * c - l3 * d
    info[PARTS], info[PARTS + 1], info[PARTS + 2], info[PARTS + 3] = 1.0 + a, 1.0 + b, 1.0 + c, d


@kernel
def shift(n, h, info, x, u, past):
    """(u, *past) <- (x, u, *past), and the parts that would have guessed x best."""
    u_prev, u_before, u_third = past
    if h > 0.0 and info[LENGTH] == h:
        if info[ALIKE] >= TERMS:
            if info[CONTRACTION] > SLOW:
                fit_bend(n, info, x, u, past)
            elif info[CONTRACTION] > 0.0 or info[ALIKE] == TERMS:
                fit(n, info, x, u, past)
        info[ALIKE] = min(info[ALIKE] + 1.0, TERMS + 1.0)
    else:
        info[ALIKE] = 1.0
    info[LENGTH] = h
    for i in range(n):
        u_third[i] = u_before[i]
        u_before[i] = u_prev[i]
        u_prev[i] = u[i]
        u[i] = x[i]
