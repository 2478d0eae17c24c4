"""One matrix and one right-hand side in as few and short calls as possible.

`factorize_and_solve` is for compiled code, the others are for Python.
What Python would take long to check of ``values`` and ``b`` is checked here, and a single number
comes back: the pivot ratio where all is well, its negative where it is so small that solutions are
to be refined, and otherwise one of the numbers below.
"""

from numba import typeof

from .jit import DISABLE_JIT, inlined, kernel
from .ldu import factorize_supernodes
from .narrow import factorize_narrow
from .program import NARROW_AT, ORDER_AT, ROWS
from .substitution import backward_narrow, gather, scatter, solve

#: Nothing was done: an array has another size, or gaps.
MISFIT = -2.0
#: The solution is not finite.
OVERFLOW = -3.0
#: Less 1 + the row of a singular pivot block: see ``info``. Without one, a pivot may be noise.
DOUBTFUL = -4.0


def entry(function, *arguments: object):
    """Machine code of a kernel for arguments like these, to be called from Python.

    A kernel looks at the type of every argument in every call, which takes it longer than the call.
    This does not: who calls must know that the types are those, and that arrays are contiguous.
    """
    if DISABLE_JIT:
        return function
    return function.compile(tuple(typeof(argument) for argument in arguments))


@kernel
def factorize_and_solve(
    # Tables:
    program,
    # In:
    values,
    b,
    tolerance,
    # Work:
    magnitude,
    x,
    # Out:
    arena,
    info,
    out,
):
    """`factorize`, then `solve` for one vector; -1 where the solution is not finite."""
    if program[NARROW_AT] != 0 and arena.itemsize == magnitude.itemsize:  # real numbers
        failed = _narrow_at_once(program, values, b, tolerance, magnitude, x, arena, info)
        if failed != 0:
            return failed
        return -_narrow_backward(program, arena, x, out)
    failed = factorize_supernodes(program, values, tolerance, magnitude, arena, info)
    return failed if failed != 0 else -solve(program, arena, b, 1, x, out)


@inlined
def _narrow_at_once(program, values, b, tolerance, magnitude, x, arena, info):
    """Factors of small nodes, and x <- D^-1 L^-1 b in elimination order on the way."""
    gather(b, program[program[ORDER_AT] : program[ORDER_AT] + program[ROWS]], 1, x)
    return factorize_narrow(program, values, tolerance, magnitude, arena, info, x)


@inlined
def _narrow_backward(program, arena, x, out):
    """The rest of the solution; 1 where it is not finite, else 0."""
    backward_narrow(program, arena, x)
    return scatter(x, program[program[ORDER_AT] : program[ORDER_AT] + program[ROWS]], 1, out)


@kernel
def factors(
    # Tables:
    program,
    nnz,
    # In:
    values,
    tolerance,
    enough,
    # Work:
    magnitude,
    # Out:
    arena,
    info,
):
    """`ldu.factorize_supernodes`; the ratio is negative where below ``enough``."""
    if _misfit(values, nnz):
        return MISFIT
    failed = factorize_supernodes(program, values, tolerance, magnitude, arena, info)
    return _verdict(failed, info, enough)


@kernel
def narrow_factors(
    # Tables:
    program,
    nnz,
    # In:
    values,
    tolerance,
    enough,
    # Work:
    magnitude,
    # Out:
    arena,
    info,
):
    """`factors` by `narrow.factorize_narrow`."""
    if _misfit(values, nnz):
        return MISFIT
    failed = factorize_narrow(program, values, tolerance, magnitude, arena, info, None)
    return _verdict(failed, info, enough)


@kernel
def factors_and_solution(
    # Tables:
    program,
    nnz,
    # In:
    values,
    b,
    tolerance,
    enough,
    # Work:
    magnitude,
    x,
    # Out:
    arena,
    info,
    out,
):
    """`factors`, then A out = b unless that had to be refined."""
    if _misfit(values, nnz) or _misfit(b, program[ROWS]):
        return MISFIT
    failed = factorize_supernodes(program, values, tolerance, magnitude, arena, info)
    ratio = _verdict(failed, info, enough)
    if ratio >= 0.0 and solve(program, arena, b, 1, x, out) != 0:
        return OVERFLOW
    return ratio


@kernel
def narrow_factors_and_solution(
    # Tables:
    program,
    nnz,
    # In:
    values,
    b,
    tolerance,
    enough,
    # Work:
    magnitude,
    x,
    # Out:
    arena,
    info,
    out,
):
    """`narrow_factors`, then A out = b unless that had to be refined."""
    if _misfit(values, nnz) or _misfit(b, program[ROWS]):
        return MISFIT
    failed = _narrow_at_once(program, values, b, tolerance, magnitude, x, arena, info)
    ratio = _verdict(failed, info, enough)
    if ratio >= 0.0 and _narrow_backward(program, arena, x, out) != 0:
        return OVERFLOW
    return ratio


@kernel
def _misfit(array, size):
    """Whether an array has another size, or gaps."""
    return array.size != size or (size > 1 and array.strides[0] != array.itemsize)


@kernel
def _verdict(failed, info, enough):
    """The pivot ratio, negative where below ``enough``; or `DOUBTFUL` less ``failed``."""
    if failed != 0 or info[2] > 0.0:
        return DOUBTFUL - failed
    return info[0] if info[0] >= enough else -info[0]
