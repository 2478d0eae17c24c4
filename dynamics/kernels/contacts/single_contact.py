"""One contact that only itself answers: its impulses on the central path, exactly.

Its velocities are w + D lambda, D the 3 x 3 block of the Delassus operator. D is far from a number
times the identity where joints hold a body in some directions, and couples normal and tangents:
fixed points that take it for one, row by row, creep or go round in circles there.
"""

import math

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.contacts.linear_cone import on_path

#: Newton steps of each of the two nested equations at most, and the part that ends them: the next
#: change would be its square.
MOST = 50
CLOSE = 1e-6


@kernel
def cone_alone(head, kappa, D, at, rows, w0, w1, t):
    """(beta, t) of the path where w + D beta = eta = -t beta, eta0 = t head, from a guess of t.

    What is left is t (head^2 - |(D + t I)^-1 w|^2) = kappa, which rises where |beta| < head. D is
    the block at ``at`` by columns of ``rows``.
    """
    a, b, c, d = D[at], D[at + rows], D[at + 1], D[at + rows + 1]
    low, square = kappa / (head * head), (w0 * w0 + w1 * w1) / (head * head)
    high = 0.5 * (low + math.sqrt(low * low + 4.0 * square))  # the root if D were 0
    if not low < t < high:
        t = high
    for _ in range(MOST):
        scale = 1.0 / ((a + t) * (d + t) - b * c)
        x, y = scale * (b * w1 - (d + t) * w0), scale * (c * w0 - (a + t) * w1)
        room = head * head - x * x - y * y
        value = t * room - kappa
        if value > 0.0:
            high = t
        else:
            low = t
        # d beta / dt = -(D + t I)^-1 beta
        slope = room + 2.0 * t * scale * (x * ((d + t) * x - b * y) + y * ((a + t) * y - c * x))
        step = value / slope
        if abs(step) <= CLOSE * t:
            t -= step
            break
        t = t - step if low < t - step < high else math.sqrt(low * high)
    scale = 1.0 / ((a + t) * (d + t) - b * c)
    return scale * (b * w1 - (d + t) * w0), scale * (c * w0 - (a + t) * w1), t


@kernel
def cone_slope(head, D, at, rows, beta, t, dhead, dw0, dw1):
    """Change of beta of `cone_alone` with its head and w."""
    a, b, c, d = D[at], D[at + rows], D[at + 1], D[at + rows + 1]
    x, y = beta
    scale = 1.0 / ((a + t) * (d + t) - b * c)
    p0, p1 = scale * (b * dw1 - (d + t) * dw0), scale * (c * dw0 - (a + t) * dw1)
    q0, q1 = scale * (b * y - (d + t) * x), scale * (c * x - (a + t) * y)
    room = head * head - x * x - y * y
    dt = 2.0 * t * (x * p0 + y * p1 - head * dhead) / (room - 2.0 * t * (x * q0 + y * q1))
    return p0 + q0 * dt, p1 + q1 * dt


@kernel
def contact_alone(friction, kappa, soft, D, at, rows, w, gamma, t):
    """(gamma, beta, t) of a contact whose velocities without impulses are w; 0 where none is found.

    gamma s = kappa is solved as it is, with the velocity that friction leaves linear in gamma: at
    once where the contact sticks, or slides as before.
    """
    one, two = at + rows, at + 2 * rows
    low, high, found = 0.0, math.inf, False
    for _ in range(MOST):
        head = friction * gamma
        x, y, t = cone_alone(
            head, kappa, D, one + 1, rows, w[1] + D[at + 1] * gamma, w[2] + D[at + 2] * gamma, t
        )
        if found:
            return gamma, x, y, t
        speed = w[0] + (D[at] + soft) * gamma + D[one] * x + D[two] * y
        if gamma * speed > kappa:
            high = gamma
        else:
            low = gamma
        dx, dy = cone_slope(head, D, one + 1, rows, (x, y), t, friction, D[at + 1], D[at + 2])
        slope = D[at] + soft + D[one] * dx + D[two] * dy
        new, rise = 0.0, speed + gamma * slope
        if slope > 0.0:
            new = on_path(kappa / slope, gamma - speed / slope)
        elif rise > 0.0:  # friction pulls it down faster than it is pushed out: Newton's method
            new = gamma - (gamma * speed - kappa) / rise
        found = abs(new - gamma) <= CLOSE * gamma
        if not (found or low < new < high):
            new = math.sqrt(max(low, 0.01 * gamma) * min(high, 100.0 * gamma))
        gamma = new
    return 0.0, 0.0, 0.0, 0.0
