"""The linearized friction cone: m directions across the normal, evenly, the cone their hull.

With d_i the directions, beta = sum of b_i d_i, and (Bruedigam et al. 2023, Appendix C)

    eta_i = d_i . T u + psi,   b_i eta_i = kappa,   s = mu gamma - sum of b_i,   s psi = kappa.

Every pair is kept on the central path. The numbers of a cone are beta, the least of psi and all
eta_i, and eta, which is T u where the interval is solved; in its tail b_i and s. So eta_i lose no
digits where the cone slides.
"""

import math

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.layout import ETA, ETA0

#: Most iterations of `polygon_path`: some dozen are usual.
INNER = 60


@kernel
def facet_turn(m):
    """(cos, sin) from one direction to the next."""
    return math.cos(2.0 * math.pi / m), math.sin(2.0 * math.pi / m)


@kernel
def strength(m, b0, b1):
    """Head of the smallest cone that holds beta: its length, or the sum of b_i for m directions."""
    size = math.sqrt(b0 * b0 + b1 * b1)
    if m == 0 or size == 0.0:
        return size
    half = math.pi / m
    angle = math.atan2(b1, b0) % (2.0 * half) - half
    return size * math.cos(angle) / math.cos(half)


@kernel
def polygon_centre(m, head, kappa, x, y, c, q, tail):
    """Every pair on the central path at T u = (x, y): psi solves sum of b_i + s = mu gamma."""
    cos, sin = facet_turn(m)
    low, _ = lowest_facet(m, x, y)
    over = kappa / head  # psi + low; too little, since one b_i alone is all of mu gamma there
    for _ in range(50):
        total, slope = kappa / (over - low), kappa / (over - low) ** 2
        a, b = 1.0, 0.0
        for _ in range(m):
            eta = a * x + b * y - low + over
            total += kappa / eta
            slope += kappa / (eta * eta)
            a, b = cos * a - sin * b, sin * a + cos * b
        # Newton's method on 1 / total, which is nearly straight
        step = (total - head) * total / (head * slope)
        over += step
        if step <= 1e-8 * over:
            break
    c[q + ETA0], c[q + ETA], c[q + ETA + 1] = over, x, y
    c[tail + m] = kappa / (over - low)
    a, b = 1.0, 0.0
    for i in range(m):
        c[tail + i] = kappa / (a * x + b * y - low + over)
        a, b = cos * a - sin * b, sin * a + cos * b
    polygon_force(m, c, q, tail)


@kernel
def polygon_force(m, c, q, tail):
    """Beta <- sum of b_i d_i."""
    cos, sin = facet_turn(m)
    a, b = 1.0, 0.0
    c[q], c[q + 1] = 0.0, 0.0
    for i in range(m):
        c[q] += c[tail + i] * a
        c[q + 1] += c[tail + i] * b
        a, b = cos * a - sin * b, sin * a + cos * b


@kernel
def lowest_facet(m, x, y):
    """min(0, all d_i . eta), and the direction that has it; -1 where it is 0."""
    cos, sin = facet_turn(m)
    low, which, a, b = 0.0, -1, 1.0, 0.0
    for i in range(m):
        if a * x + b * y < low:
            low, which = a * x + b * y, i
        a, b = cos * a - sin * b, sin * a + cos * b
    return low, which


@kernel
def polygon_path(m, head, kappa, mass, z0, z1, c, q, tail):
    """The point of the central path with beta - mass eta = z: an interior-point method of its own.

    It starts where beta = 0 has mass eta = -z, and its equations but for the products hold.
    """
    cos, sin = facet_turn(m)
    x, y = -z0 / mass, -z1 / mass
    low, which = lowest_facet(m, x, y)
    psi = 1.1 * math.sqrt(x * x + y * y) + kappa * (m + 1) / head
    over = psi + low
    for i in range(m + 1):
        c[tail + i] = head / (m + 1)
    for _ in range(INNER):
        s = c[tail + m]
        product = s * psi
        a, b = 1.0, 0.0
        for i in range(m):
            product += c[tail + i] * (a * x + b * y - low + over)
            a, b = cos * a - sin * b, sin * a + cos * b
        target = max(kappa, 0.1 * product / (m + 1))
        # db_i = free_i - w_i (d_i . dv + dpsi), sum of all db = 0, mass dv = sum of db_i d_i
        total, lack = s / psi, target / psi - head
        p0, p1, m00, m01, m11 = 0.0, 0.0, mass, 0.0, mass
        r0, r1 = -z0 - mass * x, -z1 - mass * y
        for i in range(m):
            eta = a * x + b * y - low + over
            w = c[tail + i] / eta
            total += w
            lack += target / eta
            p0 += w * a
            p1 += w * b
            m00 += w * a * a
            m01 += w * a * b
            m11 += w * b * b
            r0 += target / eta * a
            r1 += target / eta * b
            a, b = cos * a - sin * b, sin * a + cos * b
        m00 -= p0 * p0 / total
        m01 -= p0 * p1 / total
        m11 -= p1 * p1 / total
        r0 -= p0 * lack / total
        r1 -= p1 * lack / total
        scale = 1.0 / (m00 * m11 - m01 * m01)
        dx, dy = scale * (m11 * r0 - m01 * r1), scale * (m00 * r1 - m01 * r0)
        dpsi = (lack - p0 * dx - p1 * dy) / total
        ds = target / psi - s - s / psi * dpsi
        part = min(reach(psi, dpsi), reach(s, ds))
        for i in range(m):
            eta, force = a * x + b * y - low + over, c[tail + i]
            way = a * dx + b * dy + dpsi
            step = target / eta - force - force / eta * way
            part = min(part, min(reach(eta, way), reach(force, step)))
            a, b = cos * a - sin * b, sin * a + cos * b
        for i in range(m):
            eta, force = a * x + b * y - low + over, c[tail + i]
            c[tail + i] += part * (target / eta - force - force / eta * (a * dx + b * dy + dpsi))
            a, b = cos * a - sin * b, sin * a + cos * b
        c[tail + m] += part * ds
        x += part * dx
        y += part * dy
        psi += part * dpsi
        last = which
        low, which = lowest_facet(m, x, y)
        if which == last:  # the same difference, without its rounding
            turn = 2.0 * math.pi / m * which
            fall = math.cos(turn) * dx + math.sin(turn) * dy if which >= 0 else 0.0
            over += part * (dpsi + fall)
        else:
            over = psi + low
        small = 1e-9 * over + 1e-14 * (abs(x) + abs(y))
        if target == kappa and part == 1.0 and abs(dx) + abs(dy) + abs(dpsi) < small:
            break
    c[q + ETA0], c[q + ETA], c[q + ETA + 1] = over, x, y
    polygon_force(m, c, q, tail)


@kernel
def reach(value, step):
    """Part of a step, at most 1, that leaves a hundredth of a positive value."""
    return 1.0 if step >= -0.99 * value else -0.99 * value / step


@kernel
def on_path(product, z):
    """p > 0 with p - product / p = z."""
    root = math.sqrt(z * z + 4.0 * product)
    return 0.5 * (root + z) if z > 0.0 else 2.0 * product / (root - z)


@kernel
def polygon_law(m, head, target, x, y, c, q, tail):
    """As `friction_law`: beta step = free + by_head d(head) + by_speed d(T u), T u = (x, y).

    With w_i = b_i / eta_i, p = sum of w_i d_i and S = sum of w_i + s / psi, d(psi) takes p / S.
    """
    cos, sin = facet_turn(m)
    low, _ = lowest_facet(m, c[q + ETA], c[q + ETA + 1])
    over, a, b = c[q + ETA0], 1.0, 0.0
    psi, s = over - low, c[tail + m]
    p0, p1, m00, m01, m11, g0, g1 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    total, lack = s / psi, target / psi - head
    ex, ey = x - c[q + ETA], y - c[q + ETA + 1]
    for i in range(m):
        force = c[tail + i]
        eta = a * c[q + ETA] + b * c[q + ETA + 1] - low + over
        w = force / eta
        free = target / eta - w * (a * ex + b * ey)
        total += w
        lack += free
        p0 += w * a
        p1 += w * b
        m00 += w * a * a
        m01 += w * a * b
        m11 += w * b * b
        g0 += (free - force) * a
        g1 += (free - force) * b
        a, b = cos * a - sin * b, sin * a + cos * b
    h0, h1 = p0 / total, p1 / total
    return (
        g0 - h0 * lack,
        g1 - h1 * lack,
        h0,
        h1,
        h0 * p0 - m00,
        h0 * p1 - m01,
        h0 * p1 - m01,
        h1 * p1 - m11,
    )
