"""Factorization and solution of one symmetric matrix whose arrays are in a frame: for C.

A frame (`graphsys.kernels.base.address_table`) lists the arrays of `FRAME` in that order. The
functions have C's calling convention, take ``(frame, length, numbers, length)``, and need no GIL.
"""

from graphsys.kernels.base.address_table import doubles, indices, integers
from graphsys.kernels.base.jit import kernel
from graphsys.kernels.frontal.front import LARGEST
from graphsys.kernels.frontal.multifrontal import INFO, STOPPED, factorize_fronts
from graphsys.kernels.frontal.pivots import LEAST, NEGATIVE, count_signs
from graphsys.kernels.frontal.substitution import solve_fronts

#: Names of the arrays of a frame: tables and factors of `Fronts`; bounds of pivots; workspace;
#: factors of the rows by which the matrix is scaled, which begin with 0 where it is not.
FRAME = (
    "program", "start", "source", "target",
    "front", "stack", "headers", "place", "factors", "names", "table",
    "info", "signs", "bounds", "y", "x", "part", "scale",
)  # fmt: skip
(
    PROGRAM, START, SOURCE, TARGET, FRONT, STACK, HEADERS, PLACE, FACTORS, NAMES, TABLE,
    INFO_AT, SIGNS, BOUNDS, Y, X, PART, SCALE,
) = range(len(FRAME))  # fmt: skip
#: Bounds: pivots relative to their columns, good ones and weak ones; products l d l^T; pivots
#: relative to the terms that they are sums of; number of delayed pivots. `RESUMES` is not zero
#: for one call that goes on with the same matrix after an array was too short.
GOOD, WEAK, MOST, SMALLEST, DELAYS, RESUMES = range(6)
#: What a factorization returns instead of a count where the factors are doubtful. Where an array is
#: too short, it returns one less than `factorize_fronts` does.
DOUBTFUL = -1


@kernel
def factorize_framed(frame, values):
    """Number of negative eigenvalues of A = L D L^T; `DOUBTFUL`, or less: an array is too short."""
    info, bounds = doubles(frame, INFO_AT, values), doubles(frame, BOUNDS, values)
    signs, factors = doubles(frame, SIGNS, values), doubles(frame, FACTORS, values)
    table = integers(frame, TABLE, values)
    if bounds[RESUMES] == 0.0:
        for field in range(INFO):
            info[field] = 0.0
    bounds[RESUMES] = 0.0
    status = factorize_fronts(
        indices(frame, PROGRAM, values), integers(frame, START, values),
        integers(frame, SOURCE, values), integers(frame, TARGET, values),
        values, bounds[GOOD], bounds[WEAK], bounds[DELAYS], bounds[MOST],
        doubles(frame, FRONT, values), doubles(frame, STACK, values),
        integers(frame, HEADERS, values), integers(frame, PLACE, values),
        factors, integers(frame, NAMES, values), table, info,
    )  # fmt: skip
    if status > 0 or status == STOPPED:
        return DOUBTFUL
    if status < 0:
        return status - 1
    count_signs(
        table, integers(frame, NAMES, values), factors, doubles(frame, Y, values), signs
    )  # fmt: skip
    if info[LARGEST] < bounds[MOST] and signs[LEAST] >= bounds[SMALLEST]:
        return int(signs[NEGATIVE])
    return DOUBTFUL


@kernel
def solve_framed(frame, b):
    """B <- A^-1 b."""
    scale = doubles(frame, SCALE, b)
    is_scaled = scale[0] != 0.0
    if is_scaled:
        for i in range(b.size):
            b[i] *= scale[i]
    solve_fronts(
        indices(frame, PROGRAM, b), integers(frame, TABLE, b), integers(frame, NAMES, b),
        doubles(frame, FACTORS, b), b, 1, False, doubles(frame, Y, b), doubles(frame, X, b),
        doubles(frame, PART, b), b,
    )  # fmt: skip
    if is_scaled:
        for i in range(b.size):
            b[i] *= scale[i]
    return 0
