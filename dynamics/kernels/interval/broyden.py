"""Broyden's method with the factors of an older matrix, which it leaves as they are.

Each iteration with factors kept leaves about the same part of the error, along a few directions.
The changes since the factorization span these: the next one is corrected along them. Without it,
chains of 100 links take 1.28 times the iterations and 1.14 times as long (`benchmarks.step`). The
inner product is that of velocities, whatever their units: any would do.

Source: C. T. Kelley, Solving Nonlinear Equations with Newton's Method, SIAM 2003, section 4.2.
"""

from dynamics.kernels.base.jit import kernel, natural
from dynamics.kernels.base.layout import STORED
from dynamics.kernels.base.six import inner_product

#: The last change is made longer or shorter by at most this part of the next.
MOST = 0.5
#: Least square of a change.
TINY = 1e-300


@kernel
def accelerate(n, stage, unknowns, stored, held, dx):
    """dx <- the step of Broyden's method, stored after ``stored`` others; the new number of these.

    The first vector of ``held`` is not read; the changes follow it. Each ``stage`` of the unknowns
    begins with n velocities.
    """
    if stored == STORED - 1:
        stored = 0
    for j in range(1, stored + 1):
        at = natural(j * unknowns)
        top = bottom = 0.0
        for b in range(0, unknowns, stage):
            top += inner_product(n, held, at + b, dx, b)
            bottom += inner_product(n, held, at + b, held, at + b)
        part = top / max(bottom, TINY)
        if j < stored:
            for i in range(unknowns):
                dx[i] += part * held[at + unknowns + i]
        else:
            part = 1.0 / (1.0 - max(-MOST, min(MOST, part)))
            for i in range(unknowns):
                dx[i] *= part
    at = natural((stored + 1) * unknowns)
    for i in range(unknowns):
        held[at + i] = dx[i]
    return stored + 1
