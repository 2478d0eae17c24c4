"""Predictor of a Galerkin-Lobatto step: extrapolation of the unknowns of the last steps.

A run keeps the last step's unknowns x and their backward differences ``d^j x``, j < 8, in a table.
The sum of the first p of them extrapolates as a polynomial of degree p - 1. Factors of the last two
come from a least-squares fit over the last step: they predict fast oscillations ten times better
than a polynomial. If one or three differences predicted better, they are used alone, as in
vibrations. No equation determines how redundant rows of a loop share their impulses, and
polynomials through the rounding in these grow without bound. There, parts of four differences are
used, with which errors grow by the roots of (z - 1) (z - 0.85)^4. Without a table, velocities are
extrapolated from both ends of the last interval.
"""

from dynamics.kernels.base.jit import kernel, natural, pointer
from dynamics.kernels.base.layout import (
    BODIES,
    EQUATION,
    FIRST_ROW,
    GROUP_AT,
    GROUP_FIELDS,
    JOINTS,
    N_ROWS,
    REGULARIZATION,
    ROW_CONSTANT_AT,
    ROW_SIZE,
    ROWS,
    TWIST,
)
from dynamics.kernels.base.step_info import IMPULSE_TERMS, STORED_STEPS, VELOCITY_TERMS

#: Differences kept, and steps that a table needs.
DIFFERENCES = 8
FEWEST = 5
#: Parts of the first four differences that impulses of loops go on with: one less the first sums of
#: the coefficients of (0.15 + 0.85 d)^4 (test_impulses_of_loops_do_not_run_away).
LOOPS = (0.99949375, 0.98801875, 0.89048125, 0.52200625)

#: Ridge of the least-squares fit: it keeps the parts near those of a polynomial.
RIDGE = 1e-8


@kernel
def predict_from_ends(plan, rule, h, bend, motion, x):
    """x from the velocities at both ends of the last interval and its mean forces."""
    s, weights, _, place = rule
    u, u_prev, mu = motion.u, motion.u_prev, motion.mu
    n, rows = TWIST * plan[BODIES], plan[ROWS]
    for b in range(s):
        to, c = pointer(x, b * (n + rows)), place[b + 1]
        for i in range(n):
            to[i] = c * u[i] + 0.5 * bend * c * c * (u[i] - u_prev[i])
        part = h * (weights[b] + (weights[s] if b == 0 else 0.0))
        for i in range(rows):
            to[n + i] = part * mu[i]


@kernel
def begin_guess(plan, constant, rule, h, whole, guess, info, table, motion, x):
    """x <- the unknowns that are given; else `predict` after whole steps, or from the ends."""
    if guess is None:
        if whole and info[STORED_STEPS] >= FEWEST:
            predict(plan, constant, rule.s, info, table, x)
        else:
            predict_from_ends(plan, rule, h, 1.0 if whole else 0.0, motion, x)
    else:
        for i in range(rule.s * (TWIST * plan[BODIES] + plan[ROWS])):
            x[i] = guess[i]


@kernel
def update_differences(first, last, size, x, table, sums):
    """Table of x_i, first <= i < last, <- that with x as the last step's; what `choose` sums up."""
    one, three, aa, ab, bb, ae, be, ee = sums
    for k in range(first, last):
        i = natural(k)
        j = natural(i + 4 * size)
        a, b = table[j + 2 * size], table[j + 3 * size]
        x1 = x[i] - table[i]
        x2 = x1 - table[i + size]
        x3 = x2 - table[i + 2 * size]
        x4 = x3 - table[i + 3 * size]
        x5 = x4 - table[j]
        x6 = x5 - table[j + size]
        x7 = x6 - a
        e = x7 - b
        table[i], table[i + size], table[i + 2 * size], table[i + 3 * size] = x[i], x1, x2, x3
        table[j], table[j + size], table[j + 2 * size], table[j + 3 * size] = x4, x5, x6, x7
        one += x1 * x1
        three += x3 * x3
        aa += a * a
        ab += a * b
        bb += b * b
        ae += a * e
        be += b * e
        ee += e * e
    return one, three, aa, ab, bb, ae, be, ee


@kernel
def choose(sums, full, parts):
    """Parts <- terms to go on with, those that missed least, and how much of the last two."""
    one, three, aa, ab, bb, ae, be, ee = sums
    parts[0] = 1.0 if one < three else 3.0
    if not full:
        return
    # L D L^T of the normal equations
    tiny, more = 1e-300, 1.0 + RIDGE
    aa = aa * more + tiny
    ratio = ab / aa
    bb = bb * more + tiny - ratio * ab
    b = (be - ratio * ae) / bb
    a = ae / aa - ratio * b
    # test_guesses_do_not_go_on_with_what_shakes
    if ee - a * ae - b * be < min(one, three):
        parts[0], parts[1], parts[2] = DIFFERENCES, 1.0 + a, 1.0 + b


@kernel
def extrapolate(first, last, size, parts, table, x):
    """x_i, first <= i < last, <- sum of differences as `choose` says."""
    few = int(parts[0]) if parts[0] < DIFFERENCES else DIFFERENCES - 2
    for i in range(first, last):
        x[i] = table[i]
    for p in range(1, few):
        before = pointer(table, p * size)
        for i in range(first, last):
            x[i] += before[i]
    if few == DIFFERENCES - 2:
        a, b = parts[1], parts[2]
        one, two = pointer(table, few * size), pointer(table, (few + 1) * size)
        for i in range(first, last):
            x[i] += a * one[i] + b * two[i]


@kernel
def predict_loops(plan, constant, s, size, table, x):
    """Impulses of joints on loops <- as four differences lead, all damped."""
    n, rows = TWIST * plan[BODIES], plan[ROWS]
    for k in range(plan[JOINTS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        first = plan[group + FIRST_ROW]
        if plan[group + EQUATION] != first:
            break  # second halves of couplings come last
        if constant[plan[ROW_CONSTANT_AT] + first * ROW_SIZE + REGULARIZATION] > 0.0:
            for b in range(s):
                at = b * (n + rows) + n + first
                for i in range(at, at + plan[group + N_ROWS]):
                    x[i] = (
                        table[i]
                        + LOOPS[0] * table[size + i]
                        + LOOPS[1] * table[2 * size + i]
                        + LOOPS[2] * table[3 * size + i]
                        + LOOPS[3] * table[4 * size + i]
                    )


@kernel
def predict(plan, constant, s, info, table, x):
    """x <- unknowns extrapolated from the last steps."""
    n = TWIST * plan[BODIES]
    stage = n + plan[ROWS]
    for b in range(s):
        at = b * stage
        extrapolate(at, at + n, s * stage, pointer(info, VELOCITY_TERMS), table, x)
        extrapolate(at + n, at + stage, s * stage, pointer(info, IMPULSE_TERMS), table, x)
    predict_loops(plan, constant, s, s * stage, table, x)


@kernel
def store_step(plan, s, x, table, info):
    """Table <- that with x as the last step's unknowns."""
    n = TWIST * plan[BODIES]
    stage = n + plan[ROWS]
    none = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    moving, pulling = none, none
    for b in range(s):
        at = b * stage
        moving = update_differences(at, at + n, s * stage, x, table, moving)
        pulling = update_differences(at + n, at + stage, s * stage, x, table, pulling)
    full = info[STORED_STEPS] == DIFFERENCES
    choose(moving, full, pointer(info, VELOCITY_TERMS))
    choose(pulling, full, pointer(info, IMPULSE_TERMS))
    info[STORED_STEPS] = min(info[STORED_STEPS] + 1.0, DIFFERENCES)
