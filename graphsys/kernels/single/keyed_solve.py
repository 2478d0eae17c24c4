"""Solve for the entries of a matrix, by the last factors where the entries are the same: for C.

A *plan* is a frame (`graphsys.kernels.base.address_table`) of the arrays below. C calls it with
``(plan, length, call, length, like, length)``: ``call`` lists addresses and lengths of the entries,
of b and of x, then 1 for the transposed matrix or 0. ``like`` is an array of their type.
"""

from graphsys.kernels.base.address_table import indices, integers, numbers
from graphsys.kernels.base.complex_numbers import is_real
from graphsys.kernels.base.jit import kernel
from graphsys.kernels.base.layout import NODAL_AT, ROWS, WIDEST
from graphsys.kernels.single.fused_solve import (
    DONE,
    MISFIT,
    OVERFLOW,
    factors,
    factors_and_solution,
    nodal_factors,
    nodal_factors_and_solution,
    scalar_factors,
    scalar_factors_and_solution,
)
from graphsys.kernels.single.substitution import solve, solve_transposed

#: Arrays of a plan: a frame as of `fused_solve`; the entry of each place in the blocks, -1 where
#: there is none; blocks; entries of the last factors; state.
FRAME, SOURCE, VALUES, LAST, STATE = range(5)
#: Places in the state: whether there are factors, and how many matrices in turn had none.
VALID, MISSES, STATE_SIZE = range(3)
#: Place in the call after the entries, b and x.
TRANSPOSED = 6


@kernel
def solve_entries(plan, call, like):
    """A x = b, or A^T x = b; a status of `fused_solve`, and x is of use where it is `DONE`."""
    frame, source = integers(plan, FRAME, like), indices(plan, SOURCE, like)
    values, last = numbers(plan, VALUES, like), numbers(plan, LAST, like)
    state = integers(plan, STATE, like)
    data, b, x = numbers(call, 0, like), numbers(call, 1, like), numbers(call, 2, like)
    program, arena, work = indices(frame, 0, like), numbers(frame, 1, like), numbers(frame, 3, like)
    if data.size != last.size or b.size != program[ROWS] or b.size != x.size:
        return MISFIT
    same = state[VALID] != 0
    if same:
        for k in range(data.size):
            if data[k] != last[k]:
                same = False
                break
    if not same:
        state[VALID] = 0
        for k in range(data.size):
            last[k] = data[k]
        for k in range(values.size):
            values[k] = data[source[k]] if source[k] >= 0 else 0.0
        status = _factorize(program, frame, values, b, call[TRANSPOSED] != 0, x)
        state[MISSES] = 0 if status == DONE else state[MISSES] + 1
        if status != DONE:
            return status
        state[VALID] = 1
        if call[TRANSPOSED] == 0:
            return DONE
    if call[TRANSPOSED] != 0:
        failed = solve_transposed(program, arena, b, 1, work, x)
    else:
        failed = solve(program, arena, b, 1, work, x)
    return DONE if failed == 0 else OVERFLOW


@kernel
def _factorize(program, frame, values, b, alone, x):
    """Factors, and the solution unless they are asked for alone."""
    if program[NODAL_AT] == 0 or not is_real(values):
        return factors(frame, values) if alone else factors_and_solution(frame, values, b, x)
    if program[WIDEST] == 1:
        if alone:
            return scalar_factors(frame, values)
        return scalar_factors_and_solution(frame, values, b, x)
    return (
        nodal_factors(frame, values) if alone else nodal_factors_and_solution(frame, values, b, x)
    )
