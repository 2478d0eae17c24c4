"""Where Newton's method starts in a Galerkin-Lobatto step: unknowns of the last steps, gone on.

A run keeps the last step's unknowns x and their backward differences ``d^j x`` in a table; the sum
of the first p of them goes on as a polynomial of degree p - 1 does. Its error a step ago was
``d^p x``, which says the p to use: many in smooth motion, few where it shakes or differences are
round-off. No equation says how redundant rows of a loop share their impulses, and polynomials
through the round-off in that grow without bound. There a part of two differences goes on, such that
what was off grows by roots of (z - 1) (z^2 - 1.75 z + 0.8), below 0.9 but for the one. Where there
is no table yet, velocities go on from both ends of the last interval.
"""

from .jit import kernel, natural
from .layout import (
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
    TWIST,
)

#: Differences kept, and steps that a table needs.
DIFFERENCES = 8
FEWEST = 4
#: Parts of the first two differences that impulses of loops go on with.
LOOPS = (0.95, 0.8)

# info of a step: steps in the table
SEEN = 9


@kernel
def from_ends(plan, rule, h, bend, last, x):
    """x from the velocities at both ends of the last interval and its mean forces."""
    weights, place = rule[0], rule[2]
    u, u_prev, mu = last
    n, s = plan[BODIES], weights.size - 1
    for i in range(n):
        t = TWIST * i
        for a in range(1, s + 1):
            c, to = place[a], TWIST * (s * i + a - 1)
            for j in range(TWIST):
                x[to + j] = c * u[t + j] + 0.5 * bend * c * c * (u[t + j] - u_prev[t + j])
    at = TWIST * s * n
    for k in range(plan[JOINTS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        first, rows = plan[group + FIRST_ROW], plan[group + N_ROWS]
        if plan[group + EQUATION] != first:
            break  # second halves of couplings come last
        for b in range(s):
            part = h * (weights[b] + (weights[s] if b == 0 else 0.0))
            for i in range(rows):
                x[at + s * first + b * rows + i] = part * mu[first + i]


@kernel
def square(x, first, last):
    """Sum of x_i^2, first <= i < last: eight sums side by side, since each waits for its last."""
    a, b, c, d, e, f, g, h = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    whole = last - (last - first) % 8
    for k in range(first, whole, 8):
        i = natural(k)
        a += x[i] * x[i]
        b += x[i + 1] * x[i + 1]
        c += x[i + 2] * x[i + 2]
        d += x[i + 3] * x[i + 3]
        e += x[i + 4] * x[i + 4]
        f += x[i + 5] * x[i + 5]
        g += x[i + 6] * x[i + 6]
        h += x[i + 7] * x[i + 7]
    for k in range(whole, last):
        a += x[k] * x[k]
    return ((a + b) + (c + d)) + ((e + f) + (g + h))


@kernel
def gone_on(first, last, seen, table, x):
    """x[first:last] <- sum of the first p differences, p those that missed least a step ago."""
    best, least = 1, 1e300
    for p in range(1, seen):
        size = square(table[p], first, last)
        if size < least:
            best, least = p, size
    for i in range(first, last):
        x[i] = table[0, i]
    for p in range(1, best):
        for i in range(first, last):
            x[i] += table[p, i]


@kernel
def go_on_in_loops(plan, constant, s, table, x):
    """Impulses of joints on loops <- as two differences lead, both a little damped."""
    at = TWIST * s * plan[BODIES]
    for k in range(plan[JOINTS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        first, rows = plan[group + FIRST_ROW], plan[group + N_ROWS]
        if plan[group + EQUATION] != first:
            break  # second halves of couplings come last
        if constant[plan[ROW_CONSTANT_AT] + first * ROW_SIZE + REGULARIZATION] > 0.0:
            for i in range(at + s * first, at + s * (first + rows)):
                x[i] = table[0, i] + LOOPS[0] * table[1, i] + LOOPS[1] * table[2, i]


@kernel
def remember(seen, x, now, table):
    """Table <- that with x as the last step's unknowns; steps in it."""
    for i in range(x.size):
        now[i] = x[i]
    kept = min(seen, table.shape[0] - 1)
    for p in range(kept):
        for i in range(x.size):
            before, table[p, i] = table[p, i], now[i]
            now[i] -= before
    for i in range(x.size):
        table[kept, i] = now[i]
    return kept + 1
