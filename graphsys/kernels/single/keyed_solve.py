"""Solve for the entries of a matrix, by the last factors where the entries are the same: for C.

A *plan* is a frame (`graphsys.kernels.base.address_table`) of the arrays below. C calls it with
``(plan, length, call, length, like, length)``: ``call`` lists addresses and lengths of the entries,
of b and of x, then 1 for the transposed matrix or 0, and the number of columns if b and x have rows
of so many numbers, else 0: vectors one after another. ``like`` is an array of their type.
"""

from graphsys.kernels.base.address_table import indices, integers, numbers
from graphsys.kernels.base.complex_numbers import is_real
from graphsys.kernels.base.jit import inlined, kernel
from graphsys.kernels.base.layout import ROWS, only_nodes, only_scalars
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
#: there is none; blocks; entries of the last factors; for more right-hand sides than one, workspace
#: of `solve`, and b and x as vectors one after another; state.
FRAME, SOURCE, VALUES, LAST, WORK, RIGHT, LEFT, STATE = range(8)
#: Places in the state: whether there are factors, and how many matrices in turn had none.
VALID, MISSES, STATE_SIZE = range(3)
#: Places in the call after the entries, b and x.
TRANSPOSED, COLUMNS = 6, 7


@kernel
def solve_entries(plan, call, like):
    """A x = b, or A^T x = b; a status of `fused_solve`, and x is of use where it is `DONE`."""
    frame, source = integers(plan, FRAME, like), indices(plan, SOURCE, like)
    values, last = numbers(plan, VALUES, like), numbers(plan, LAST, like)
    state = integers(plan, STATE, like)
    data, b, x = numbers(call, 0, like), numbers(call, 1, like), numbers(call, 2, like)
    program, arena, work = indices(frame, 0, like), numbers(frame, 1, like), numbers(frame, 3, like)
    rows, right, left = program[ROWS], numbers(plan, RIGHT, like), numbers(plan, LEFT, like)
    count = b.size // max(rows, 1)
    if data.size != last.size or b.size != x.size or count * rows != b.size or count == 0:
        return MISFIT
    if count > 1 and (b.size > right.size or (call[COLUMNS] > 0 and call[COLUMNS] != count)):
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
        alone = call[TRANSPOSED] != 0 or count > 1
        status = _factorize(program, frame, values, b, alone, x)
        state[MISSES] = 0 if status == DONE else state[MISSES] + 1
        if status != DONE:
            return status
        state[VALID] = 1
        if not alone:
            return DONE
    if count == 1:
        return _substitute(program, arena, b, 1, call, work, x)
    if call[COLUMNS] == 0:
        return _substitute(program, arena, b, count, call, numbers(plan, WORK, like), x)
    for i in range(rows):
        for j in range(count):
            right[j * rows + i] = b[i * count + j]
    status = _substitute(program, arena, right, count, call, numbers(plan, WORK, like), left)
    for i in range(rows):
        for j in range(count):
            x[i * count + j] = left[j * rows + i]
    return status


@inlined
def _substitute(program, arena, b, count, call, work, x):
    """Solution with the factors; a status."""
    if call[TRANSPOSED] != 0:
        failed = solve_transposed(program, arena, b, count, work, x)
    else:
        failed = solve(program, arena, b, count, work, x)
    return DONE if failed == 0 else OVERFLOW


@kernel
def _factorize(program, frame, values, b, alone, x):
    """Factors, and the solution unless they are asked for alone."""
    if not only_nodes(program) or not is_real(values):
        return factors(frame, values) if alone else factors_and_solution(frame, values, b, x)
    if only_scalars(program):
        if alone:
            return scalar_factors(frame, values)
        return scalar_factors_and_solution(frame, values, b, x)
    return (
        nodal_factors(frame, values) if alone else nodal_factors_and_solution(frame, values, b, x)
    )
