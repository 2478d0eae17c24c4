"""One matrix and one right-hand side in as few and short calls as possible.

`factorize_and_solve` is for compiled code, the others are for Python, with an `address_table`.
They check what Python would take long to check of ``values`` and ``b``, and return one of the
statuses below; the pivot ratio and the weakest row are in ``info``.
"""

from typing import Any

import numpy as np

from graphsys.kernels.base.address_table import doubles, enter, indices, leave, numbers, reals
from graphsys.kernels.base.complex_numbers import is_real
from graphsys.kernels.base.jit import DISABLE_JIT, inlined, kernel, lazy
from graphsys.kernels.base.layout import (
    GROWTH,
    ORDER_AT,
    PIVOT_RATIO,
    PROGRAM_VERSION,
    ROWS,
    STALE,
    VERSION,
    WEAKEST,
    only_nodes,
    only_scalars,
)
from graphsys.kernels.single.ldu import factorize
from graphsys.kernels.single.nodal_ldu import factorize_nodal
from graphsys.kernels.single.permutation import gather, scatter
from graphsys.kernels.single.refinement import refine_solution
from graphsys.kernels.single.scalar_ldu import backward_scalars, factorize_scalars
from graphsys.kernels.single.substitution import backward_nodal, solve

#: Status of a factorization:
#: `DONE`: factors, and the solution if one was asked for.
#: `REFINE`: factors whose pivot ratio is below ``info[REFINE_BELOW]``, or whose pivot blocks grew.
#: `SINGULAR`: the pivot block whose first row is ``info[WEAKEST]`` is singular.
#: `OVERFLOW`: factors, and a solution that is not finite.
#: `MISFIT`: nothing was computed; an array has another type or size, or gaps.
#: `BUSY`: nothing was computed; another thread factorizes in the same arrays.
#: `REFINED`: as `REFINE`, with a solution that is refined and good.
DONE, REFINE, SINGULAR, OVERFLOW, MISFIT, BUSY, REFINED = range(7)

#: Places in ``info`` after the result of a factorization: least pivot ratio of a regular block,
#: pivot ratio below which solutions are refined, length of ``values``. Then the length of ``info``.
TOLERANCE, REFINE_BELOW, NNZ, INFO = range(GROWTH + 1, GROWTH + 5)
#: Places in ``report`` after what `refine` writes: machine epsilon, floor of the error, most steps;
#: and its length.
EPSILON, LEAST, MOST, REPORT = range(3, 7)


def entry(function: Any, misfit: Any, *arguments: Any) -> Any:
    """Callable for arguments of the types of these; it returns ``misfit`` for others."""
    if not DISABLE_JIT:
        return function.entry(misfit, *arguments)

    def kind(x):
        array = type(x) is np.ndarray
        return (x.dtype, x.ndim, x.flags.c_contiguous) if array else type(x)

    kinds = [kind(argument) for argument in arguments]

    def call(*given):
        with np.errstate(all="ignore"):  # compiled code does not warn
            return function(*given) if [*map(kind, given)] == kinds else misfit

    return call


def solution_entry(function: Any, *arguments: Any) -> Any:
    """Callable for arguments of these types without the last, a vector as long as the one before.

    It makes this vector, and gives it where the function's status is `DONE`, else None.
    """
    if not DISABLE_JIT:
        return function.solution_entry(*arguments)
    code = entry(function, MISFIT, *arguments)

    def call(*given):
        x = np.empty(np.shape(given[-1]), arguments[-1].dtype)
        return x if code(*given, x) == DONE else None

    return call


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
    if program[PROGRAM_VERSION] != VERSION:
        return STALE
    if only_scalars(program) and is_real(arena):
        return _factorize_and_solve_scalars(
            program, values, b, tolerance, magnitude, x, arena, info, out
        )
    if only_nodes(program) and is_real(arena):
        order = program[program[ORDER_AT] : program[ORDER_AT] + program[ROWS]]
        gather(b, order, 1, x)
        failed = factorize_nodal(program, values, tolerance, magnitude, arena, info, x)
        if failed != 0:
            return failed
        backward_nodal(program, arena, x)
        return -scatter(x, order, 1, out)
    failed = factorize(program, values, tolerance, magnitude, arena, info)
    return failed if failed != 0 else -solve(program, arena, b, 1, x, out)


@lazy("int")
def _factorize_and_solve_scalars(program, values, b, tolerance, magnitude, x, arena, info, out):
    """`factorize_and_solve` by `scalar_ldu`."""
    order = program[program[ORDER_AT] : program[ORDER_AT] + program[ROWS]]
    gather(b, order, 1, x)
    failed = factorize_scalars(program, values, tolerance, magnitude, arena, info, x)
    if failed != 0:
        return failed
    backward_scalars(program, arena, x)
    return -scatter(x, order, 1, out)


@inlined
def _unpacked(frame, like):
    """Program, arena, magnitudes, workspace and ``info`` of a frame.

    ``info`` is that of `factorize`, followed by the places named above.
    """
    return (
        indices(frame, 0, like), numbers(frame, 1, like), reals(frame, 2, like),
        numbers(frame, 3, like), doubles(frame, 4, like),
    )  # fmt: skip


@inlined
def _refine_with(frame, values, b, out):
    """Refine a solution with a copy of its matrix; a status.

    A frame of a factorization that refines has four more arrays: tables of the graph, joined; the
    copy of the values, without numbers in other frames; workspace of `refine`; and its report.
    """
    program, arena, _, _, _ = _unpacked(frame, values)
    joined, kept = indices(frame, 5, values), numbers(frame, 6, values)
    work, report = numbers(frame, 7, values), doubles(frame, 8, values)
    if kept.size != values.size:
        return REFINE
    for i in range(kept.size):
        kept[i] = values[i]
    steps = refine_solution(
        joined,
        program,
        arena,
        kept,
        b,
        report[EPSILON],
        report[LEAST],
        int(report[MOST]),
        work,
        report,
        out,
    )
    return REFINED if steps >= 0 else REFINE


@kernel
def factors(frame, values):
    """Factors by `ldu`; a status."""
    program, arena, magnitude, _, info = _unpacked(frame, values)
    if _misfit(values, info[NNZ]):
        return MISFIT
    if not enter(frame):
        return BUSY
    failed = factorize(program, values, info[TOLERANCE], magnitude, arena, info)
    status = _status(failed, info)
    leave(frame)
    return status


@kernel
def factors_and_solution(frame, values, b, out):
    """`factors`, then A out = b if the status is `DONE` or `REFINED`."""
    program, arena, magnitude, x, info = _unpacked(frame, values)
    if _misfit(values, info[NNZ]) or _misfit(b, program[ROWS]):
        return MISFIT
    if not enter(frame):
        return BUSY
    failed = factorize(program, values, info[TOLERANCE], magnitude, arena, info)
    status = _status(failed, info)
    if status == DONE or (status == REFINE and numbers(frame, 6, values).size > 0):
        if solve(program, arena, b, 1, x, out) != 0:
            status = OVERFLOW
        elif status == REFINE:
            status = _refine_with(frame, values, b, out)
    leave(frame)
    return status


@kernel
def nodal_factors(frame, values):
    """`factors` by `nodal_ldu`."""
    return _factors(frame, values, factorize_nodal)


@kernel
def nodal_factors_and_solution(frame, values, b, out):
    """`factors_and_solution` by `nodal_ldu`."""
    return _factors_and_solution(frame, values, b, out, factorize_nodal, backward_nodal)


@kernel
def scalar_factors(frame, values):
    """`factors` by `scalar_ldu`."""
    return _factors(frame, values, factorize_scalars)


@kernel
def scalar_factors_and_solution(frame, values, b, out):
    """`factors_and_solution` by `scalar_ldu`."""
    return _factors_and_solution(frame, values, b, out, factorize_scalars, backward_scalars)


@inlined
def _factors(frame, values, factorize):
    """`factors` by a function like `factorize_nodal`."""
    program, arena, magnitude, _, info = _unpacked(frame, values)
    if _misfit(values, info[NNZ]):
        return MISFIT
    if not enter(frame):
        return BUSY
    failed = factorize(program, values, info[TOLERANCE], magnitude, arena, info, None)
    status = _status(failed, info)
    leave(frame)
    return status


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
    status = _status(failed, info)
    if status == DONE or (status == REFINE and numbers(frame, 6, values).size > 0):
        backward(program, arena, x)
        if scatter(x, order, 1, out) != 0:
            status = OVERFLOW
        elif status == REFINE:
            status = _refine_with(frame, values, b, out)
    leave(frame)
    return status


@kernel
def _misfit(array, size):
    """True if an array has another size, or gaps."""
    return array.size != size or (size > 1 and array.strides[0] != array.itemsize)


@kernel
def _status(failed, info):
    """`DONE`, `REFINE` or `SINGULAR` for what a factorization returned."""
    if failed != 0:
        info[WEAKEST] = failed - 1
        return SINGULAR
    refine_below = info[REFINE_BELOW]
    grown = info[GROWTH] > 0.0 and refine_below > 0.0
    return REFINE if info[PIVOT_RATIO] < refine_below or grown else DONE
