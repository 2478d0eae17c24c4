"""Callers of the compiled interface that are compiled code themselves.

numba does not keep them: it would not see that kernels have changed since.
"""

from numba import njit

from graphsys import kernels


@njit
def in_turn(program, values, b, tolerance, magnitude, work, arena, info, x):
    """x <- A^-1 b by a factorization and a solve; their status."""
    failed = kernels.factorize(program, values, tolerance, magnitude, arena, info)
    if failed != 0:
        return failed
    return kernels.solve(program, arena, b, 1, work, x)


@njit
def at_once(program, values, b, tolerance, magnitude, work, arena, info, x):
    """x <- A^-1 b in one call; its status."""
    return kernels.factorize_and_solve(
        program, values, b, tolerance, magnitude, work, arena, info, x
    )
