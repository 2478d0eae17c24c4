"""Compiler options of every kernel: those of `graphsys`, and no reference counts.

Kernels here allocate nothing, and hand no array back to Python, so nobody has to count: for one
body the counting was a quarter of a step. What they call is compiled the same way.
"""

from numba import njit

from graphsys.kernels.jit import DISABLE_JIT, OPTIONS

__all__ = ["DISABLE_JIT", "inlined", "kernel"]

kernel = njit(**OPTIONS, _nrt=False)
inlined = njit(**OPTIONS, _nrt=False, inline="always")
