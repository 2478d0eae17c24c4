"""Forces on bodies: impulses of springs, dampers, controls and constraints on their momenta."""

from dynamics.kernels.base.jit import kernel, lazy, natural
from dynamics.kernels.base.lanes import every, where
from dynamics.kernels.base.layout import (
    BODIES,
    BODY_SIZE,
    CONTROL,
    DAMPING,
    DRAG,
    DRAG_THETA,
    DRAGGED,
    EQUATION,
    FIRST_ROW,
    GAIN,
    GRAVITY,
    GROUP_AT,
    GROUP_FIELDS,
    GROUPS,
    IMPLICIT_DAMPING,
    IMPLICIT_STIFFNESS,
    JOINTS,
    LEAST,
    MASS,
    MOST,
    N_ROWS,
    PULL,
    ROW_AT,
    ROW_CONSTANT_AT,
    ROW_FIELDS,
    ROW_SIZE,
    SOFT,
    SPIN_DRAG,
    STIFFNESS,
    THETA,
    TWIST,
    A,
    B,
)
from dynamics.kernels.base.six import add, nothing, plus, products, total_of


@kernel
def inner(G, at, u, t):
    """G[at:at + 6] . u[t:t + 6]."""
    at, t = natural(at), natural(t)
    return (
        G[at] * u[t]
        + G[at + 1] * u[t + 1]
        + G[at + 2] * u[t + 2]
        + G[at + 3] * u[t + 3]
        + G[at + 4] * u[t + 4]
        + G[at + 5] * u[t + 5]
    )


@kernel
def add_multiple(r, t, scale, G, at):
    """r[t:t + 6] <- r[t:t + 6] + scale G[at:at + 6]."""
    add(r, t, plus(nothing(), scale, G, at))


@kernel
def damp(plan, constant, start, end, G, u, r):
    """r <- r + (theta start + (1 - theta) end) c G^T G u for the dampers of forces, and drag."""
    if plan[DRAGGED] > 0:
        drag(plan, constant, start, end, u, r)
    if plan[GROUPS] > plan[JOINTS]:
        damp_rows(plan, constant, start, end, G, u, r)


@lazy("None")
def drag(plan, constant, start, end, u, r):
    """`damp` by the drag of bodies."""
    for i in range(plan[BODIES]):
        c, t = i * BODY_SIZE, TWIST * i
        scale = end + constant[c + DRAG_THETA] * (start - end)
        for j in range(3):
            r[t + j] += scale * constant[c + DRAG] * u[t + j]
            r[t + 3 + j] += scale * constant[c + SPIN_DRAG] * u[t + 3 + j]


@lazy("None")
def damp_rows(plan, constant, start, end, G, u, r):
    """`damp` by the dampers of forces."""
    n = plan[BODIES]
    for k in range(plan[JOINTS], plan[GROUPS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        a, b = plan[group + A], plan[group + B]
        on_a, on_b = nothing(), nothing()
        for row in range(plan[group + FIRST_ROW], plan[group + FIRST_ROW] + plan[group + N_ROWS]):
            c = plan[ROW_CONSTANT_AT] + row * ROW_SIZE
            damping = constant[c + DAMPING]
            if damping == 0.0:
                continue
            damping *= end + constant[c + THETA] * (start - end)
            sums = nothing()
            if a < n:
                sums = products(sums, G, 12 * row, u, TWIST * a)
            if b < n:
                sums = products(sums, G, 12 * row + 6, u, TWIST * b)
            force = damping * total_of(sums)
            on_a, on_b = plus(on_a, force, G, 12 * row), plus(on_b, force, G, 12 * row + 6)
        if a < n:
            add(r, TWIST * a, on_a)
        if b < n:
            add(r, TWIST * b, on_b)


@kernel
def push(plan, constant, end, G, mu, scale, r):
    """r <- r + scale (theta or, at the ``end`` of an interval, 1 - theta) G^T mu."""
    soft = plan[SOFT] > 0
    if end and not soft:
        return
    n, groups, constants = plan[BODIES], plan[GROUP_AT], plan[ROW_CONSTANT_AT] + THETA
    for k in range(plan[JOINTS]):
        group = natural(groups + k * GROUP_FIELDS)
        a, b = plan[group + A], plan[group + B]
        row, equation = plan[group + FIRST_ROW], plan[group + EQUATION]
        on_a, on_b = nothing(), nothing()
        for i in range(plan[group + N_ROWS]):
            part = scale * mu[equation + i]
            if soft:
                theta = constant[constants + (row + i) * ROW_SIZE]
                part *= 1.0 - theta if end else theta
            at = natural(12 * (row + i))
            on_a, on_b = plus(on_a, part, G, at), plus(on_b, part, G, at + 6)
        if a < n:
            add(r, TWIST * a, on_a)
        if b < n:
            add(r, TWIST * b, on_b)


@kernel
def conservative(plan, constant, G, g, f):
    """f <- gravity and springs, -(k g + pull) G^T, at a node."""
    n = plan[BODIES]
    for i in range(n):
        c, t = i * BODY_SIZE, TWIST * i
        for j in range(3):
            f[t + j] = constant[c + MASS] * constant[c + GRAVITY + j]
            f[t + 3 + j] = 0.0
    if plan[GROUPS] > plan[JOINTS]:
        pull(plan, constant, G, g, f)


@lazy("None")
def pull(plan, constant, G, g, f):
    """f <- f - (k g + pull) G^T of springs."""
    n = plan[BODIES]
    for k in range(plan[JOINTS], plan[GROUPS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        a, b = plan[group + A], plan[group + B]
        for row in range(plan[group + FIRST_ROW], plan[group + FIRST_ROW] + plan[group + N_ROWS]):
            c = plan[ROW_CONSTANT_AT] + row * ROW_SIZE
            force = -constant[c + STIFFNESS] * g[row] - constant[c + PULL]
            if every(force == 0.0):
                continue
            if a < n:
                add_multiple(f, TWIST * a, force, G, 12 * row)
            if b < n:
                add_multiple(f, TWIST * b, force, G, 12 * row + 6)


@kernel
def bounded(constant, c, force):
    """Force of a control within the limits of its row; NaN stays."""
    force = where(force < constant[c + LEAST], constant[c + LEAST], force)
    return where(force > constant[c + MOST], constant[c + MOST], force)


@kernel
def drive(plan, constant, scale, G, control, wrench, f):
    """f <- f + scale (wrenches + G^T control), at a node; controls within their limits."""
    for i in range(wrench.size):
        f[i] += scale * wrench[i]
    if control.size > 0:
        control_rows(plan, constant, scale, G, control, f)


@lazy("None")
def control_rows(plan, constant, scale, G, control, f):
    """f <- f + scale G^T control, controls within their limits."""
    n = plan[BODIES]
    for k in range(plan[JOINTS], plan[GROUPS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        a, b = plan[group + A], plan[group + B]
        for row in range(plan[group + FIRST_ROW], plan[group + FIRST_ROW] + plan[group + N_ROWS]):
            index = plan[plan[ROW_AT] + row * ROW_FIELDS + CONTROL]
            if index < 0:
                continue
            c = plan[ROW_CONSTANT_AT] + row * ROW_SIZE
            asked, gain = control[index], constant[c + GAIN]
            if gain != 0.0:  # a servo
                if constant[c + IMPLICIT_STIFFNESS] != 0.0 or constant[c + IMPLICIT_DAMPING] != 0.0:
                    continue  # see `stiff_forces`
                asked *= gain
            part = scale * bounded(constant, c, asked)
            if a < n:
                add_multiple(f, TWIST * a, part, G, 12 * row)
            if b < n:
                add_multiple(f, TWIST * b, part, G, 12 * row + 6)
