"""One matrix and one right-hand side in as few and short calls as possible.

`factorize_and_solve` is for compiled code, the others are for Python, and are given a `frame`.
What Python would take long to check of ``values`` and ``b`` is checked here, and a single number
comes back: the pivot ratio where all is well, its negative where it is so small, or pivot blocks
have grown so much, that solutions are to be refined, and otherwise one of the numbers below.
"""

from typing import Any

import numpy as np

from graphsys.kernels.base.address_table import doubles, enter, indices, leave, numbers, reals
from graphsys.kernels.base.jit import DISABLE_JIT, inlined, kernel
from graphsys.kernels.base.layout import NARROW_AT, ORDER_AT, ROWS
from graphsys.kernels.single.ldu import factorize_supernodes
from graphsys.kernels.single.nodal_ldu import factorize_narrow
from graphsys.kernels.single.scalar_ldu import backward_scalars, factorize_scalars
from graphsys.kernels.single.substitution import backward_narrow, gather, scatter, solve

#: Nothing was done: an array has another size, or gaps.
MISFIT = -2.0
#: The solution is not finite.
OVERFLOW = -3.0
#: Nothing was done: another thread is at work on the same factor.
BUSY = -4.0
#: Less the row of a singular pivot block.
SINGULAR = -5.0

#: Places in ``info``, behind what factorizations tell.
TOLERANCE, ENOUGH, NNZ, INFO = 3, 4, 5, 6


def entry(function: Any, misfit: Any, *arguments: Any) -> Any:
    """Callable for arguments of just the types of these; ``misfit`` is its answer to others."""
    if not DISABLE_JIT:
        return function.entry(misfit, *arguments)

    def kind(x):
        array = type(x) is np.ndarray
        return (x.dtype, x.ndim, x.flags.c_contiguous) if array else type(x)

    kinds = [kind(argument) for argument in arguments]
    return lambda *given: function(*given) if [*map(kind, given)] == kinds else misfit


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
        order = program[program[ORDER_AT] : program[ORDER_AT] + program[ROWS]]
        gather(b, order, 1, x)
        failed = factorize_narrow(program, values, tolerance, magnitude, arena, info, x)
        if failed != 0:
            return failed
        backward_narrow(program, arena, x)
        return -scatter(x, order, 1, out)
    failed = factorize_supernodes(program, values, tolerance, magnitude, arena, info)
    return failed if failed != 0 else -solve(program, arena, b, 1, x, out)


@inlined
def _unpacked(frame, like):
    """Program, arena, magnitudes, workspace and ``info`` of a frame.

    ``info`` is that of `factorize`, and behind it what is named above.
    """
    return (
        indices(frame, 0, like), numbers(frame, 1, like), reals(frame, 2, like),
        numbers(frame, 3, like), doubles(frame, 4, like),
    )  # fmt: skip


@kernel
def factors(frame, values):
    """Factors by `ldu`; the ratio is negative where below what is enough."""
    program, arena, magnitude, _, info = _unpacked(frame, values)
    if _misfit(values, info[NNZ]):
        return MISFIT
    if not enter(frame):
        return BUSY
    failed = factorize_supernodes(program, values, info[TOLERANCE], magnitude, arena, info)
    ratio = _verdict(failed, info)
    leave(frame)
    return ratio


@kernel
def factors_and_solution(frame, values, b, out):
    """`factors`, then A out = b unless that had to be refined."""
    program, arena, magnitude, x, info = _unpacked(frame, values)
    if _misfit(values, info[NNZ]) or _misfit(b, program[ROWS]):
        return MISFIT
    if not enter(frame):
        return BUSY
    failed = factorize_supernodes(program, values, info[TOLERANCE], magnitude, arena, info)
    ratio = _verdict(failed, info)
    if ratio >= 0.0 and solve(program, arena, b, 1, x, out) != 0:
        ratio = OVERFLOW
    leave(frame)
    return ratio


@kernel
def narrow_factors(frame, values):
    """`factors` by `narrow`."""
    return _factors(frame, values, factorize_narrow)


@kernel
def narrow_factors_and_solution(frame, values, b, out):
    """`factors_and_solution` by `narrow`."""
    return _factors_and_solution(frame, values, b, out, factorize_narrow, backward_narrow)


@kernel
def scalar_factors(frame, values):
    """`factors` by `scalars`."""
    return _factors(frame, values, factorize_scalars)


@kernel
def scalar_factors_and_solution(frame, values, b, out):
    """`factors_and_solution` by `scalars`."""
    return _factors_and_solution(frame, values, b, out, factorize_scalars, backward_scalars)


@inlined
def _factors(frame, values, factorize):
    """`factors` by a function like `factorize_narrow`."""
    program, arena, magnitude, _, info = _unpacked(frame, values)
    if _misfit(values, info[NNZ]):
        return MISFIT
    if not enter(frame):
        return BUSY
    failed = factorize(program, values, info[TOLERANCE], magnitude, arena, info, None)
    ratio = _verdict(failed, info)
    leave(frame)
    return ratio


@inlined
def _factors_and_solution(frame, values, b, out, factorize, backward):
    """`factors_and_solution`, where forward substitution goes along with the factorization."""
    program, arena, magnitude, x, info = _unpacked(frame, values)
    if _misfit(values, info[NNZ]) or _misfit(b, program[ROWS]):
        return MISFIT
    if not enter(frame):
        return BUSY
    order = program[program[ORDER_AT] : program[ORDER_AT] + program[ROWS]]
    gather(b, order, 1, x)
    failed = factorize(program, values, info[TOLERANCE], magnitude, arena, info, x)
    ratio = _verdict(failed, info)
    if ratio >= 0.0:
        backward(program, arena, x)
        if scatter(x, order, 1, out) != 0:
            ratio = OVERFLOW
    leave(frame)
    return ratio


@kernel
def _misfit(array, size):
    """Whether an array has another size, or gaps."""
    return array.size != size or (size > 1 and array.strides[0] != array.itemsize)


@kernel
def _verdict(failed, info):
    """The pivot ratio, negative where solutions are to be refined; or `SINGULAR` less a row."""
    if failed != 0:
        return SINGULAR - (failed - 1)
    doubtful = info[0] < info[ENOUGH] or (info[2] > 0.0 and info[ENOUGH] > 0.0)
    return -info[0] if doubtful else info[0]
