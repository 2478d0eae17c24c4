"""Holonomic constraints of a tree (Fan 2018, sec. 3.3): values, slopes and impulses."""

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.quaternion import cross
from dynamics.kernels.tree.algebra import add6, dot6, load6
from dynamics.kernels.tree.layout import AT_POINT, AXIS, PIN, PIN_A, PIN_B, RECORD, WRENCH
from dynamics.kernels.tree.motion import point
from dynamics.kernels.tree.residual import add_fixed_force


@kernel
def constraint(tree, pins, c, nodes, a, q, motion):
    """h_c(q^a): axis . (x_a - x_b), or ratio_a q_a + ratio_b q_b - constant."""
    kind, ends, pin = pins
    at = c * PIN
    first, second = ends[2 * c], ends[2 * c + 1]
    n = tree[0].size
    if kind[c] != AT_POINT:
        value = pin[at] * q[a * n + first] - pin[at + 2]
        return value + pin[at + 1] * q[a * n + second] if second >= 0 else value
    x, y, z = _end(first, nodes, a, pin, at + PIN_A, motion)
    u, v, w = _end(second, nodes, a, pin, at + PIN_B, motion)
    return pin[at] * (x - u) + pin[at + 1] * (y - v) + pin[at + 2] * (z - w)


@kernel
def _end(i, nodes, a, pin, at, motion):
    """A point of a body, or of the world, in the world's frame."""
    if i < 0:
        return pin[at], pin[at + 1], pin[at + 2]
    return point(motion, (i * nodes + a) * RECORD, pin, at)


@kernel
def add_slope(tree, pins, c, nodes, a, motion, scale, out, at):
    """out <- out + scale dh_c/dq at node a, up the ancestors of the constraint's bodies."""
    kind, ends, pin = pins
    place = c * PIN
    if kind[c] != AT_POINT:
        out[at + ends[2 * c]] += scale * pin[place]
        if ends[2 * c + 1] >= 0:
            out[at + ends[2 * c + 1]] += scale * pin[place + 1]
        return
    parent = tree[0]
    for end in range(2):
        i = ends[2 * c + end]
        if i < 0:
            continue
        f = (pin[place], pin[place + 1], pin[place + 2])
        x = _end(i, nodes, a, pin, place + (PIN_A if end == 0 else PIN_B), motion)
        u, v, w = cross(x, f)
        wrench = (u, v, w, f[0], f[1], f[2])
        sign = scale if end == 0 else -scale
        while i >= 0:
            axis = load6(motion, (i * nodes + a) * RECORD + AXIS)
            out[at + i] += sign * dot6(axis, wrench)
            i = parent[i]


@kernel
def add_constraint_wrenches(tree, pins, multiplier, s, nodes, motion, r):
    """F and r of nodes 0..s - 1 <- F and r + (dh/dq)^T lambda, as wrenches on the bodies (6)."""
    kind, ends, pin = pins
    n, m = tree[0].size, kind.size
    for c in range(m):
        at = c * PIN
        for a in range(s):
            impulse = multiplier[a * m + c]
            if kind[c] != AT_POINT:
                add_slope(tree, pins, c, nodes, a, motion, impulse, r, a * n)
                continue
            for end in range(2):
                i = ends[2 * c + end]
                if i >= 0:
                    sign = impulse if end == 0 else -impulse
                    f = (sign * pin[at], sign * pin[at + 1], sign * pin[at + 2])
                    place = at + (PIN_A if end == 0 else PIN_B)
                    x, y, z = cross(_end(i, nodes, a, pin, place, motion), f)
                    record = (i * nodes + a) * RECORD
                    add6((x, y, z, f[0], f[1], f[2]), motion, record + WRENCH)


@kernel
def add_push_slopes(pins, multiplier, first, s, nodes, motion, out, stride, at, step, width):
    """W <- W + [x^ f^ 0; f^ 0] of the constraints' impulses, at nodes first..s - 1.

    The block of body i at node a starts at ``i * stride + at + a * step``.
    """
    kind, ends, pin = pins
    m = kind.size
    for c in range(m):
        if kind[c] != AT_POINT:
            continue
        place = c * PIN
        for end in range(2):
            i = ends[2 * c + end]
            if i < 0:
                continue
            for a in range(first, s):
                impulse = multiplier[a * m + c]
                sign = impulse if end == 0 else -impulse
                f = (sign * pin[place], sign * pin[place + 1], sign * pin[place + 2])
                x = _end(i, nodes, a, pin, place + (PIN_A if end == 0 else PIN_B), motion)
                add_fixed_force(x, f, out, i * stride + at + a * step, width)


@kernel
def factorize_dense(x, n, rows):
    """P A = L U in place, row-major, with partial pivoting; false where a pivot is lost."""
    largest = 0.0
    for j in range(n * n):
        largest = max(largest, abs(x[j]))
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(x[i * n + k]) > abs(x[best * n + k]):
                best = i
        rows[k] = best
        if best != k:
            for j in range(n):
                kept = x[k * n + j]
                x[k * n + j] = x[best * n + j]
                x[best * n + j] = kept
        if not abs(x[k * n + k]) > 1e-14 * largest:
            return False
        for i in range(k + 1, n):
            x[i * n + k] /= x[k * n + k]
            ratio = x[i * n + k]
            for j in range(k + 1, n):
                x[i * n + j] -= ratio * x[k * n + j]
    return True


@kernel
def solve_dense(x, n, rows, b):
    """b <- A^-1 b with the factors of `factorize_dense`."""
    for k in range(n):
        kept = b[rows[k]]
        b[rows[k]] = b[k]
        b[k] = kept
    for k in range(n):
        for j in range(k):
            b[k] -= x[k * n + j] * b[j]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            b[k] -= x[k * n + j] * b[j]
        b[k] /= x[k * n + k]
